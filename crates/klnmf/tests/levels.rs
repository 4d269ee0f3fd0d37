//! The identities at every instruction level of the processor.

use std::io::Write;
use std::process::Command;

/// The tests that run again. Each of them passes at every level or shows a kernel that is wrong.
const AGAIN: [&str; 3] = ["convex::", "identities::", "pieces::"];

/// Runs them in new processes at the levels that this process does not use. Missing levels are named on
/// standard error, which the test runner does not capture.
#[test]
fn every_level_passes() {
    let levels = klnmf::instruction_levels();
    for level in ["plain", "avx2", "avx512"] {
        if !levels.contains(&level) {
            let note = format!("note: this processor lacks {level}: its tests are skipped\n");
            std::io::stderr().write_all(note.as_bytes()).unwrap();
        } else if level != klnmf::instruction_level().unwrap() {
            let binary = std::env::current_exe().unwrap();
            let run = Command::new(binary).args(AGAIN).env("KLNMF_LEVEL", level).output().unwrap();
            let said = String::from_utf8_lossy(&run.stdout);
            assert!(run.status.success() && !said.contains(" 0 passed"), "{level}: {said}");
        }
    }
}
