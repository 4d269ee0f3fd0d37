//! The files that a verb writes: their names if none are given, and the checks before the work.

use anyhow::bail;
use klnmf_io::{NewFile, folder_of};
use std::path::{Path, PathBuf};

/// A result: the option that names it, and its file.
pub type Output = (&'static str, PathBuf);

/// The name of a result in the current folder, made of the name of the input: `counts.csv.gz` and `-r10.npz`
/// give `counts-r10.npz`.
pub fn named_after(input: &Path, ending: &str) -> PathBuf {
    let name = input.file_name().unwrap_or("klnmf".as_ref()).to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let stem = Path::new(name).file_stem().unwrap_or(name.as_ref()).to_string_lossy();
    PathBuf::from(format!("{stem}{ending}"))
}

/// The files of W and H in CSV.
pub fn csv_names(prefix: &str) -> [PathBuf; 2] {
    let prefix = prefix.strip_suffix(".csv").unwrap_or(prefix);
    ["W", "H"].map(|factor| PathBuf::from(format!("{prefix}_{factor}.csv")))
}

/// The name of part `k`, counting from 0, if it has no other. Files and pages use the same.
pub fn part(k: usize) -> String {
    format!("part{}", k + 1)
}

/// Fails if the folder that a result is to be created in does not exist.
pub fn check_parent(path: &Path) -> anyhow::Result<()> {
    let folder = folder_of(path);
    if folder.is_dir() {
        return Ok(());
    }
    let (path, folder) = (path.display(), folder.display());
    bail!("cannot write {path}: the folder {folder} does not exist; create it first")
}

/// Fails before the work starts if a result could not be written, or would replace an input, another result
/// or, without `force`, anything at all.
pub fn check(inputs: &[PathBuf], outputs: &[Output], force: bool) -> anyhow::Result<()> {
    for (number, (option, path)) in outputs.iter().enumerate() {
        let out = path.display();
        check_parent(path)?;
        if path.is_dir() {
            bail!("cannot write {out}: it is a folder; give a file name with {option}");
        }
        if inputs.iter().any(|input| place(input) == place(path)) {
            bail!("cannot write {out}: it is an input; give another name with {option}");
        }
        if path.exists() && !path.is_file() {
            // A device or a pipe holds nothing that could be lost. Opening a pipe would wait for its reader.
            continue;
        }
        if outputs[..number].iter().any(|(_, other)| place(other) == place(path)) {
            bail!("cannot write {out} twice: give every result its own name");
        }
        if path.exists() && !force {
            bail!("{out} exists: use --force to replace it, or give another name with {option}");
        }
        // Fails if the folder is read-only or the disk is full.
        drop(NewFile::create(path)?);
    }
    Ok(())
}

/// The same for two names of one file.
fn place(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    let in_folder = |_| std::fs::canonicalize(folder_of(path)).map(|folder| folder.join(name));
    std::fs::canonicalize(path).or_else(in_folder).unwrap_or(path.into())
}

/// Fails if the model's file name, given with `option`, has the extension of another format.
pub fn check_model_name(option: &str, path: &Path) -> anyhow::Result<()> {
    if path.extension().is_none_or(|e| e.eq_ignore_ascii_case("npz")) {
        return Ok(());
    }
    let csv = if option == "--out" { ", or use --csv for CSV" } else { "" };
    bail!("{option} {}: the result is a .npz file; give a name that ends in .npz{csv}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_the_input() {
        for (input, wanted) in [
            ("data/counts.csv", "counts-r10.npz"),
            ("counts.mtx.gz", "counts-r10.npz"),
            ("a.b.npy", "a.b-r10.npz"),
            ("articles/", "articles-r10.npz"),
            ("..", "klnmf-r10.npz"),
        ] {
            assert_eq!(named_after(Path::new(input), "-r10.npz"), Path::new(wanted));
        }
    }
}
