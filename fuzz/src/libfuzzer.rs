//! The targets for `cargo fuzz`: the variable `KLNMF_FUZZ_TARGET` names the one to run.
#![no_main]

use klnmf_fuzz::{TARGETS, Target};
use std::sync::LazyLock;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("KLNMF_FUZZ_TARGET").expect("KLNMF_FUZZ_TARGET names the target");
    TARGETS.iter().find(|target| target.name == name).expect("scripts/fuzz --list prints the targets")
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| (TARGET.run)(data));
