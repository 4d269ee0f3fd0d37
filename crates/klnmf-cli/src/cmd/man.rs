//! `klnmf man`: the help as manual pages.

use crate::summary;
use anyhow::Context;
use clap::{Args, Command};
use std::process::ExitCode;

/// Print a manual page, of klnmf or of one verb
#[derive(Args)]
#[command(after_help = "\
Examples:
  klnmf man | man -l -
  klnmf man factorize > klnmf-factorize.1")]
pub struct Man {
    /// The verb [default: none, for the page of klnmf itself]
    verb: Option<String>,
}

impl Man {
    pub fn run(self, mut program: Command) -> anyhow::Result<ExitCode> {
        program.build();
        let page = match &self.verb {
            None => program,
            Some(verb) => {
                let none = || format!("there is no verb {verb}: klnmf --help lists all of them");
                program.find_subcommand(verb).with_context(none)?.clone()
            }
        };
        let mut text = Vec::new();
        clap_mangen::Man::new(page).render(&mut text)?;
        summary::print(&String::from_utf8(text)?)?;
        Ok(ExitCode::SUCCESS)
    }
}
