//! Runs the program in a scratch folder.
#![allow(dead_code, missing_docs)]

pub mod sounds;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

pub struct Place {
    pub folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_klnmf"));
        command.current_dir(self.folder.path()).args(line.split_whitespace());
        command
    }

    pub fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Runs a line that must succeed; its standard output.
    pub fn ok(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a line with --json that must succeed.
    pub fn json(&self, line: &str) -> serde_json::Value {
        let output = self.ok(&format!("{line} --json"));
        assert_eq!(output.lines().count(), 1, "one object on one line");
        serde_json::from_str(&output).unwrap()
    }

    /// Runs a line that must fail with `code` and one line that contains all of `words`; nothing new may be
    /// in the folder.
    pub fn fails(&self, line: &str, code: i32, words: &[&str]) -> String {
        let before = self.files();
        let output = self.run(line);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}: {message}");
        assert!(output.stdout.is_empty(), "{line}");
        if code == 1 {
            assert_eq!(message.lines().count(), 1, "{line}: {message}");
        }
        for word in words {
            assert!(message.contains(word), "{line}: no {word:?} in {message}");
        }
        assert!(!message.contains("panicked"), "{line}: {message}");
        assert!(before == self.files(), "{line} left something behind");
        message
    }

    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files: Vec<_> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), std::fs::read(&path).unwrap_or_default()))
            .collect();
        files.sort();
        files
    }
}

/// A small matrix of counts as CSV with names.
pub fn counts_csv(rows: usize, cols: usize) -> String {
    let mut text: String = (0..cols).map(|j| format!(",sample{j}")).collect();
    text.push('\n');
    for i in 0..rows {
        text += &format!("feature{i}");
        (0..cols).for_each(|j| text += &format!(",{}", count(i, j)));
        text.push('\n');
    }
    text
}

/// The same numbers as MatrixMarket.
pub fn counts_mtx(rows: usize, cols: usize) -> String {
    let entries: Vec<String> = (0..rows)
        .flat_map(|i| (0..cols).map(move |j| (i, j)))
        .filter(|&(i, j)| count(i, j) > 0)
        .map(|(i, j)| format!("{} {} {}\n", i + 1, j + 1, count(i, j)))
        .collect();
    format!(
        "%%MatrixMarket matrix coordinate integer general\n{rows} {cols} {}\n{}",
        entries.len(),
        entries.concat()
    )
}

fn count(i: usize, j: usize) -> usize {
    let noise = (i * 7919 + j * 104_729 + i * j * 31) % 11;
    if noise < 4 { 0 } else { (i % 3) * (j % 4) + (i % 5) * (j % 2) + noise }
}

pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../klnmf/tests/golden").join(name)
}
