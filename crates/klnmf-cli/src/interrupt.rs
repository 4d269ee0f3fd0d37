//! Ctrl-C: the first one asks the work to end, so that the result so far can be saved; the second ends the
//! program. While data are read or memory is allocated there is nothing to save, and the first one ends it.
//!
//! Ending the program also removes unfinished files, which have hidden names, because nothing else would.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// The exit code of an interrupted program, by the convention of shells.
const EXIT_CODE: u8 = 130;

/// The exit code of a verb, which saved what it had if it was interrupted.
pub fn exit_code(interrupted: bool) -> ExitCode {
    if interrupted { ExitCode::from(EXIT_CODE) } else { ExitCode::SUCCESS }
}

/// Folders that were created for results, and whether to remove their contents too.
static MADE: Mutex<Vec<(PathBuf, bool)>> = Mutex::new(Vec::new());

/// Call this when a folder has been created: it is removed if the program is ended, with its contents if
/// `whole`, else if it is empty.
pub fn made(folder: &Path, whole: bool) {
    if let Ok(mut made) = MADE.lock() {
        made.push((folder.to_owned(), whole));
    }
}

/// Call this when a folder must stay, whatever happens.
pub fn forget(folder: &Path) {
    if let Ok(mut made) = MADE.lock() {
        made.retain(|(own, _)| own != folder);
    }
}

/// Whether there would be nothing to save.
static EARLY: AtomicBool = AtomicBool::new(false);

/// Call this before data are read: from now on Ctrl-C ends the program at once.
pub fn nothing_to_save() {
    EARLY.store(true, Ordering::Relaxed);
}

/// Call this when the work has begun: from now on the first Ctrl-C saves the result so far.
pub fn something_to_save() {
    EARLY.store(false, Ordering::Relaxed);
}

/// Removes what is unfinished. The program must exit right afterwards.
fn clean_up() {
    klnmf_io::abandon_unfinished();
    for (folder, whole) in MADE.try_lock().iter().flat_map(|made| made.iter()) {
        let _ = if *whole { std::fs::remove_dir_all(folder) } else { std::fs::remove_dir(folder) };
    }
}

/// The flag that Ctrl-C (and a request to terminate) sets.
pub fn flag() -> Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    FLAG.get_or_init(watch).clone()
}

fn watch() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = flag.clone();
    // Without a handler, Ctrl-C ends the program at once. That is acceptable.
    let _ = ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) || EARLY.load(Ordering::Relaxed) {
            clean_up();
            std::process::exit(EXIT_CODE.into());
        }
        crate::cmd::complain("stopping and saving the result so far; press Ctrl-C once more to quit at once");
    });
    flag
}
