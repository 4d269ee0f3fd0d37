//! Ctrl-C: the first asks the work to end, so that the result so far can be saved; the second ends the program.
//!
//! Files that are not complete then have hidden names and nobody else to remove them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The exit code of an interrupted program, as shells have it.
pub const EXIT_CODE: u8 = 130;

/// Folders that were made for results.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// To be called when a folder has been made: if it is still empty when the program is ended, it is removed.
pub fn made(folder: &Path) {
    if let Ok(mut made) = MADE.lock() {
        made.push(folder.to_owned());
    }
}

/// Inner folders were made last and go first; one that holds anything is not removed.
fn remove_made() {
    for folder in MADE.try_lock().iter().flat_map(|made| made.iter().rev()) {
        let _ = std::fs::remove_dir(folder);
    }
}

/// A flag that Ctrl-C (and a request to terminate) sets. To be called once.
pub fn flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = flag.clone();
    // Without a handler Ctrl-C just ends the program: less kind, but no reason not to work.
    let _ = ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            klnmf_io::abandon_unfinished();
            remove_made();
            std::process::exit(EXIT_CODE.into());
        }
        eprintln!("klnmf: stopping, to save what there is; once more to quit at once");
    });
    flag
}
