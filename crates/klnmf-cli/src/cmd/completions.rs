//! `klnmf completions`: what a shell needs to complete command lines.

use crate::summary;
use clap::{Args, Command};
use clap_complete::Shell;
use std::process::ExitCode;

/// Print the completion script for a shell
#[derive(Args)]
#[command(after_help = "\
Examples:
  klnmf completions bash > ~/.local/share/bash-completion/completions/klnmf
  klnmf completions fish > ~/.config/fish/completions/klnmf.fish")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub fn run(self, mut program: Command) -> anyhow::Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "klnmf", &mut script);
        summary::print(&String::from_utf8(script)?)?;
        Ok(ExitCode::SUCCESS)
    }
}
