//! One document per line of JSON.

use crate::error::missing;
use crate::source::Source;
use crate::{Documents, Error, ReadOptions};
use klnmf_io::quoted;
use serde_json::{Map, Value};

/// The documents of a file with one object per line; blank lines are skipped.
pub(crate) fn read(source: &Source, options: &ReadOptions) -> Result<Documents, Error> {
    let mut documents = Documents::default();
    for (number, line) in (1..).zip(source.text.lines()) {
        if !line.trim().is_empty() {
            let (name, text) = record(line, options).map_err(|what| source.wrong_line(number, what))?;
            documents.push(name.unwrap_or_else(|| format!("line {number}")), text);
        }
    }
    if documents.texts.is_empty() {
        return Err(source.wrong("all lines are blank: every document must be a JSON object on its own line"));
    }
    Ok(documents)
}

/// Name and text of a line.
fn record(line: &str, options: &ReadOptions) -> Result<(Option<String>, String), String> {
    let fields: Map<String, Value> = serde_json::from_str(line).map_err(not_an_object)?;
    let name = options.id.as_deref().map(|id| match field(&fields, id, "--id")? {
        Value::String(name) => Ok(name.clone()),
        Value::Number(name) => Ok(name.to_string()),
        _ => Err(unfit(&fields, id, "a string or number", "--id")),
    });
    let column = options.column.as_deref().unwrap_or("text");
    let text = match field(&fields, column, "--column")? {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        _ => return Err(unfit(&fields, column, "a string", "--column")),
    };
    Ok((name.transpose()?, text))
}

fn field<'a>(fields: &'a Map<String, Value>, name: &str, option: &str) -> Result<&'a Value, String> {
    fields.get(name).ok_or_else(|| missing("field", name, fields.keys().map(String::as_str), option))
}

fn unfit(fields: &Map<String, Value>, name: &str, wanted: &str, option: &str) -> String {
    let names: Vec<String> = fields.keys().map(quoted).collect();
    format!("field {} is not {wanted}: choose one of {} with {option} NAME", quoted(name), names.join(", "))
}

fn not_an_object(why: serde_json::Error) -> String {
    let column = why.column();
    let why = why.to_string();
    // The parser sees one line at a time and reports each as line 1.
    let reason = why.split(" at line ").next().unwrap_or_default();
    format!(
        "not a JSON object at column {column} ({reason}): every line must be one, as in {{\"text\": \"…\"}}"
    )
}
