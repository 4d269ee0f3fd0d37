//! The klnmf program: non-negative matrix factorisation with the Kullback-Leibler divergence, from the
//! command line.

mod cmd;
mod command_line;
mod dictionary;
mod disk;
mod file_names;
mod input;
mod interrupt;
#[cfg(unix)]
mod limits;
mod names;
mod new_folder;
mod out_folder;
mod outputs;
mod progress;
mod suggestion;
mod summary;
mod thumbnail;

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(unix)]
    limits::soften();
    // Clap itself exits with 2 after a usage error.
    match cmd::run(std::env::args_os()) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let line = format!("{error:#}{}", suggestion::for_error(&error)).replace(['\n', '\r'], " ");
            // Standard error may be closed.
            let _ = writeln!(std::io::stderr(), "klnmf: {line}");
            ExitCode::FAILURE
        }
    }
}

/// A closed pipe is not a failure: in `klnmf info V.npy | head -1` the reader has read enough.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind =
        |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref::<std::io::Error>().map(|e| e.kind());
    error.chain().any(|cause| kind(cause) == Some(std::io::ErrorKind::BrokenPipe))
}
