//! The version of the library that wrote a model.

use crate::error::Fault;
use serde_json::{Map, Value, json};

/// This version.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The metadata of a model that is written now: with this version, and with the instruction level of this
/// machine unless the metadata say where the model was computed. Text that is not a JSON object stays as it
/// is.
pub(crate) fn stamped(metadata: &str) -> String {
    let Ok(mut facts) = serde_json::from_str::<Map<String, Value>>(metadata) else { return metadata.into() };
    facts.insert("version".into(), json!(VERSION));
    facts.entry("instruction_level").or_insert_with(|| json!(klnmf::instruction_level().ok()));
    Value::Object(facts).to_string()
}

/// Fails if a later version wrote a file with these metadata, because this one may misunderstand it.
pub(crate) fn check(what: &str, metadata: &str) -> Result<(), Fault> {
    let facts: Value = serde_json::from_str(metadata).unwrap_or_default();
    match facts["version"].as_str() {
        Some(theirs) if numbers(theirs) > numbers(VERSION) => Err(Fault::Content(format!(
            "klnmf {theirs} wrote this {what} and this is klnmf {VERSION}: install klnmf {theirs} or \
             newer to read it"
        ))),
        _ => Ok(()),
    }
}

/// The numbers of a version. What follows them, such as `-beta`, is left out.
fn numbers(version: &str) -> Vec<u64> {
    let plain = version.split(['-', '+']).next().unwrap_or_default();
    plain.split('.').map_while(|number| number.parse().ok()).collect()
}
