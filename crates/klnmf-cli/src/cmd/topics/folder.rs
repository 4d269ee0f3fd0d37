//! The files in the folder of `klnmf topics`.

use serde_json::Value;
use std::path::Path;

pub const MODEL: &str = "model.npz";
pub const TOPICS: &str = "topics.csv";
pub const DOCUMENTS: &str = "documents.csv";
pub const REPORT: &str = "report.html";
/// The result with `--model`.
pub const WEIGHTS: &str = "weights.npz";

/// The files that a run has written into a folder, by its model; none if it has no model of topics.
pub fn written(folder: &Path) -> Vec<String> {
    let is_ours = |name: &str| {
        let facts = klnmf_io::read_metadata(&folder.join(name)).unwrap_or_default();
        serde_json::from_str::<Value>(&facts).is_ok_and(|facts| facts["kind"] == "topics")
    };
    let files: &[&str] = match (is_ours(MODEL), is_ours(WEIGHTS)) {
        (true, _) => &[MODEL, TOPICS, DOCUMENTS, REPORT],
        (_, true) => &[DOCUMENTS, WEIGHTS],
        _ => &[],
    };
    files.iter().map(|name| (*name).to_owned()).collect()
}
