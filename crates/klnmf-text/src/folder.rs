//! A folder with one document per `.txt` file.

use crate::source::Source;
use crate::{Documents, Error};
use std::collections::{HashSet, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The `.txt` files of the folder and its subfolders, sorted by their names relative to it.
pub(crate) fn read(root: &Path) -> Result<Documents, Error> {
    let all = files(root)?;
    let found = all.len();
    let named = |path: PathBuf| (relative(root, &path), path);
    let mut texts: Vec<(String, PathBuf)> = all.into_iter().filter(|path| is_text(path)).map(named).collect();
    texts.sort();
    if texts.is_empty() {
        let what = format!(
            "none of the {found} files in this folder ends in .txt: save each document as one, or give a \
             .csv, .tsv or .jsonl file"
        );
        return Err(Error::content(root, what));
    }
    let mut documents = Documents::default();
    match found - texts.len() {
        0 => {}
        1 => documents.notes.push("1 file that does not end in .txt is left out".into()),
        others => documents.notes.push(format!("{others} files that do not end in .txt are left out")),
    }
    let (mut binary, mut guessed) = (Vec::new(), Vec::new());
    for (name, path) in texts {
        let Some(source) = Source::try_read(&path)? else {
            binary.push(name);
            continue;
        };
        if source.guessed {
            guessed.push(name.clone());
        }
        documents.push(name, source.text);
    }
    if documents.texts.is_empty() {
        return Err(Error::content(
            root,
            "all .txt files in this folder are binary: save them as text in UTF-8",
        ));
    }
    documents.note(&binary, "is binary and is left out", "are binary and are left out");
    documents.note_guessed(&guessed);
    Ok(documents)
}

/// All files below the folder. Every folder is entered once, so circular links are harmless. Links come last,
/// so that a file appears under its own name if it has one here.
fn files(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let (mut files, mut folders, mut entered) =
        (Vec::new(), VecDeque::from([root.to_owned()]), HashSet::new());
    while let Some(folder) = folders.pop_back() {
        let failed = |why| Error::read(&folder, why);
        if !entered.insert(folder.canonicalize().map_err(failed)?) {
            continue;
        }
        let inner = fs::read_dir(&folder).map_err(failed)?.map(|entry| entry.map(|entry| entry.path()));
        let mut inner = inner.collect::<io::Result<Vec<PathBuf>>>().map_err(failed)?;
        // Systems list folders in any order. Which of two links to a folder comes first must not depend on
        // it.
        inner.sort();
        for path in inner {
            match path.is_dir() {
                false => files.push(path),
                true if path.is_symlink() => folders.push_front(path),
                true => folders.push_back(path),
            }
        }
    }
    Ok(files)
}

/// Whether this is a regular `.txt` file. Reading from a pipe could wait forever.
fn is_text(path: &Path) -> bool {
    let named = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("txt"));
    named && fs::metadata(path).map_or(true, |metadata| metadata.is_file())
}

/// The path relative to the folder, with `/` on every system.
fn relative(root: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(root).unwrap_or(path).components();
    parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}
