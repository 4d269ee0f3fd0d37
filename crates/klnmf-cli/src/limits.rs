//! Limits of the system that would end the program by a signal: it ends with one line and exit code 1
//! instead.

use crate::interrupt;
use std::sync::Mutex;

/// Memory that is given back when there is none left, so that unfinished files can be removed.
static RESERVE: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Call this at the start. Writing a file beyond the limit of `ulimit -f` becomes an error of that file. When
/// memory is exhausted, the standard library prints one line and aborts; hidden files are then removed.
pub fn soften() {
    if let Ok(mut reserve) = RESERVE.lock() {
        // Not zeros, for which the system would reserve nothing.
        *reserve = vec![1; 1 << 16];
    }
    // SAFETY: neither signal has a handler yet, and `aborted` lives as long as the program.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        libc::signal(libc::SIGABRT, aborted as extern "C" fn(libc::c_int) as libc::sighandler_t);
    }
}

/// Runs on the thread that aborts, which holds no lock of the allocator then.
extern "C" fn aborted(_: libc::c_int) {
    // SAFETY: another abort from here on ends the program.
    unsafe { libc::signal(libc::SIGABRT, libc::SIG_DFL) };
    if let Ok(mut reserve) = RESERVE.try_lock() {
        drop(std::mem::take(&mut *reserve));
    }
    interrupt::clean_up();
    // SAFETY: this ends the program at once, without the work of other threads.
    unsafe { libc::_exit(1) }
}
