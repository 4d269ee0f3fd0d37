//! The benchmark of klnmf: `cargo run --release -p klnmf-bench -- --help`.

mod arena;
mod cases;
mod figures;
mod memory;
mod peers;
mod picture;
mod rows;
mod speed;
mod topics;
mod trace;

use clap::Parser;
use klnmf::thread_count;
use std::path::Path;

/// Measure klnmf on this machine
///
/// With --peers, scikit-learn runs too, from the same start on as many threads, in a
/// virtual environment that is made on first use. Run this in a copy of the repository.
#[derive(Parser)]
#[command(name = "klnmf-bench", version, max_term_width = 110)]
enum Bench {
    Speed(figures::Figures),
    Arena(arena::Arena),
    Topics(topics::Topics),
}

fn main() -> anyhow::Result<()> {
    match Bench::parse() {
        Bench::Speed(figures) => figures.run(),
        Bench::Arena(arena) => arena.run(),
        Bench::Topics(topics) => topics.run(),
    }
}

/// Fails before the work if a result could not be written.
fn check_output(path: &Path) -> anyhow::Result<()> {
    let folder = klnmf_io::folder_of(path);
    anyhow::ensure!(folder.is_dir(), "cannot write {}: its folder does not exist", path.display());
    anyhow::ensure!(!path.is_dir(), "cannot write {}: it is a folder", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_fit_together() {
        Bench::command().debug_assert();
    }

    #[test]
    fn results_that_cannot_be_written_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_output(&folder.path().join("a.csv")).is_ok());
        assert!(check_output(folder.path()).is_err());
        assert!(check_output(&folder.path().join("absent/a.csv")).is_err());
    }
}
