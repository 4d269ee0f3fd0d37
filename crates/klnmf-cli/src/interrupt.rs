//! Ctrl-C: the first asks the work to end, so that the result so far can be saved; the second ends the program.
//!
//! Files that are not complete then have hidden names and nobody else to remove them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code of an interrupted program, as shells have it.
pub const EXIT_CODE: u8 = 130;

/// A flag that Ctrl-C (and a request to terminate) sets. To be called once.
pub fn flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = flag.clone();
    // Without a handler Ctrl-C just ends the program: less kind, but no reason not to work.
    let _ = ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            klnmf_io::abandon_unfinished();
            std::process::exit(EXIT_CODE.into());
        }
        eprintln!("klnmf: stopping, to save what there is; once more to quit at once");
    });
    flag
}
