//! "Did you mean": the file whose name is most like one that does not exist.

use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};

/// Names are alike from this similarity on: one or two wrong letters in a short name.
const ALIKE: f64 = 0.75;

/// What to add to a message about a file that does not exist.
pub fn for_error(error: &anyhow::Error) -> String {
    let found = error.chain().find_map(missing).and_then(most_alike);
    found.map_or(String::new(), |path| format!("; did you mean {}?", path.display()))
}

/// The file that could not be read because there is none.
fn missing<'e>(cause: &'e (dyn std::error::Error + 'static)) -> Option<&'e Path> {
    let file = if let Some(klnmf_text::Error::File(file)) = cause.downcast_ref() {
        file
    } else if let Some(klnmf_audio::Error::File(file)) = cause.downcast_ref() {
        file
    } else {
        cause.downcast_ref()?
    };
    match file {
        klnmf_io::Error::Read { path, why } if why.kind() == NotFound => Some(path),
        _ => None,
    }
}

fn most_alike(path: &Path) -> Option<PathBuf> {
    let wanted = path.file_name()?.to_string_lossy().to_lowercase();
    let entries = std::fs::read_dir(klnmf_io::folder_of(path)).ok()?.flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let alike = |name: &String| strsim::normalized_damerau_levenshtein(&wanted, &name.to_lowercase());
    let best = names.map(|name| (alike(&name), name)).filter(|(likeness, _)| *likeness >= ALIKE);
    best.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))).map(|(_, name)| path.with_file_name(name))
}
