//! The command line as it is recorded in models and in JSON.

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Command};

/// Options that only say where and how results are written and how many threads work. The model does not
/// depend on them, so the record leaves them out: the same work gives the same bytes.
const WITHOUT_EFFECT: [&str; 14] = [
    "threads",
    "memory",
    "out",
    "worker",
    "force",
    "csv",
    "trace",
    "report",
    "checkpoint",
    "every",
    "resume",
    "json",
    "quiet",
    "verbose",
];

/// The verb with the options that were given, each by its long name.
pub fn record(program: &Command, matches: &ArgMatches) -> String {
    let Some((name, given)) = matches.subcommand() else { return program.get_name().into() };
    let mut words = vec![program.get_name().to_owned(), name.to_owned()];
    let arguments = program.find_subcommand(name).into_iter().flat_map(Command::get_arguments);
    for argument in arguments {
        let id = argument.get_id().as_str();
        let told = given.value_source(id) == Some(ValueSource::CommandLine);
        if !told || WITHOUT_EFFECT.contains(&id) {
            continue;
        }
        let long = argument.get_long().map(|long| format!("--{long}"));
        if matches!(argument.get_action(), ArgAction::SetTrue) {
            words.extend(long);
            continue;
        }
        for value in given.get_raw(id).into_iter().flatten() {
            words.extend(long.clone());
            words.push(quoted(&value.to_string_lossy()));
        }
    }
    words.join(" ")
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./,:=%+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
