//! A limit of the system that would end the program by a signal.

/// Call this at the start. Writing a file beyond the limit of `ulimit -f` becomes an error of that file.
pub fn soften() {
    // SAFETY: the signal has no handler yet.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
