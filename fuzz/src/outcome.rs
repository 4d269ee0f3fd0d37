//! What a run ended with. An input with a new outcome is kept, and others are made from it.

use std::cell::Cell;
use std::fmt::Display;
use std::hash::{DefaultHasher, Hash, Hasher};

thread_local! {
    static OUTCOME: Cell<u64> = const { Cell::new(0) };
}

/// Takes a number that differs between different outcomes of the last run.
pub fn take() -> u64 {
    OUTCOME.replace(0)
}

/// Adds to the outcome of this run.
pub fn note(what: impl Hash) {
    let mut hasher = DefaultHasher::new();
    (OUTCOME.get(), what).hash(&mut hasher);
    OUTCOME.set(hasher.finish());
}

/// Whether it worked. An error must be one line; its words without numbers and quotations are the outcome.
pub fn result<V, E: Display>(result: Result<V, E>) -> Option<V> {
    match result {
        Ok(value) => {
            note("fine");
            Some(value)
        }
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.chars().any(char::is_control), "not one line: {text:?}");
            let words: String = text.split('"').step_by(2).collect();
            note(words.chars().filter(|c| c.is_ascii_lowercase()).collect::<String>());
            None
        }
    }
}
