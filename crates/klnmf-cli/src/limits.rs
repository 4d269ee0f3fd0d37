//! Limits of the system that would end the program by a signal: it ends with one line and exit code 1 instead.

/// Call this at the start. Writing a file beyond the limit of `ulimit -f` becomes an error of that file. When
/// memory is exhausted, the standard library prints one line and aborts; the next run removes hidden files.
pub fn soften() {
    // SAFETY: neither signal has a handler yet, and `aborted` only ends the program.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        libc::signal(libc::SIGABRT, aborted as extern "C" fn(libc::c_int) as libc::sighandler_t);
    }
}

extern "C" fn aborted(_: libc::c_int) {
    // SAFETY: this may be called in a handler of signals.
    unsafe { libc::_exit(1) };
}
