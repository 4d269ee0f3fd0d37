//! `manifest.json`: the settings of a measurement, its single numbers, and the checksums of its tables. It is
//! written last, so only a finished experiment has one.

use crate::checksum;
use anyhow::Context;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The content of `manifest.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The settings that identify the measurement.
    pub settings: Value,
    /// The machine, the command and the time that it took.
    pub machine: Value,
    /// Sizes and single numbers, by name.
    pub facts: Map<String, Value>,
    /// The tables by file name, each with its number of rows and its checksum.
    pub files: Map<String, Value>,
}

const NAME: &str = "manifest.json";
const SUM: &str = "crc32";

impl Manifest {
    /// The manifest of a folder, if its experiment is finished.
    pub fn read(folder: &Path) -> Option<Self> {
        let mut value: Value =
            serde_json::from_str(&std::fs::read_to_string(folder.join(NAME)).ok()?).ok()?;
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        Some(Self {
            settings: value.get_mut("settings")?.take(),
            machine: value.get_mut("machine")?.take(),
            facts: object(value["facts"].take()),
            files: object(value["files"].take()),
        })
    }

    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let Self { settings, machine, facts, files } = self;
        let value = json!({ "settings": settings, "machine": machine, "files": files, "facts": facts });
        let text = serde_json::to_string_pretty(&value)? + "\n";
        Ok(klnmf_io::write_text(&path(folder), &text)?)
    }

    /// The seconds that the experiment took.
    pub fn seconds(&self) -> f64 {
        self.machine["seconds"].as_f64().unwrap_or(f64::NAN)
    }

    /// Removes the manifest, which marks an experiment as finished.
    pub fn remove(folder: &Path) -> anyhow::Result<()> {
        let path = path(folder);
        if path.exists() {
            std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
        Ok(())
    }

    /// What is wrong with the tables, if they are not as they were written.
    pub fn damage(&self, folder: &Path) -> Option<String> {
        // Folders of older versions have no checksums, so changes cannot be detected.
        if self.files.is_empty() {
            return Some(format!("{NAME} has no checksums"));
        }
        self.files.iter().find_map(|(name, wanted)| {
            let Ok(bytes) = std::fs::read(folder.join(name)) else {
                return Some(format!("{name} is missing"));
            };
            let there = sum(&bytes);
            if wanted[SUM].is_null() {
                return Some(format!("{NAME} has no {SUM} for {name}"));
            }
            if there["rows"] != wanted["rows"] {
                Some(format!("{name} has {} rows instead of {}", there["rows"], wanted["rows"]))
            } else {
                (there[SUM] != wanted[SUM]).then(|| format!("{name} was changed"))
            }
        })
    }
}

/// The entry of a table: its rows without the header, and the checksum of all its bytes.
pub fn sum(bytes: &[u8]) -> Value {
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    json!({ "rows": lines.saturating_sub(1), SUM: checksum::of_bytes(bytes) })
}

fn path(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let table = |text: &str| std::fs::write(folder.path().join("a.csv"), text).unwrap();
        let text = "x,y\n1,2\n3,4\n";
        let mut manifest = Manifest {
            settings: json!({ "seed": 1 }),
            machine: json!({ "seconds": 2.5 }),
            facts: Map::new(),
            files: Map::from_iter([("a.csv".to_owned(), sum(text.as_bytes()))]),
        };
        assert!(Manifest::read(folder.path()).is_none());
        manifest.write(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), manifest);
        let damage = |manifest: &Manifest| manifest.damage(folder.path()).unwrap_or_default();
        assert_eq!(damage(&manifest), "a.csv is missing");
        table(text);
        assert_eq!(damage(&manifest), "");
        table("x,y\n1,2\n");
        assert_eq!(damage(&manifest), "a.csv has 1 rows instead of 2");
        table("x,y\n1,2\n3,5\n");
        assert_eq!(damage(&manifest), "a.csv was changed");
        manifest.files["a.csv"][SUM].take();
        table(text);
        assert_eq!(damage(&manifest), "manifest.json has no crc32 for a.csv");
        manifest.files.clear();
        assert_eq!(damage(&manifest), "manifest.json has no checksums");
        Manifest::remove(folder.path()).unwrap();
        assert!(Manifest::read(folder.path()).is_none());
    }

    #[test]
    fn the_recorded_report_is_not_damaged() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/paper/data");
        let Ok(entries) = std::fs::read_dir(&data) else {
            eprintln!("{} does not exist, as in a packaged crate: nothing to check", data.display());
            return;
        };
        let folders = entries.map(|entry| entry.unwrap().path());
        let folders: Vec<PathBuf> = folders.filter(|path| path.is_dir()).collect();
        assert!(folders.len() >= 3);
        for folder in folders {
            assert_eq!(Manifest::read(&folder).unwrap().damage(&folder), None, "{}", folder.display());
        }
    }
}
