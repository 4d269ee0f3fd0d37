//! File names that are made of any names.

use std::collections::HashSet;

/// The most characters and bytes of a name in a file name: file systems allow 255 bytes, and hidden names are
/// longer.
const MOST_LETTERS: usize = 60;
const MOST_BYTES: usize = 200;

/// Names of sound files. No two of them differ only in case. A file system may still take some for the
/// same, such as an accented letter and its two-character form.
pub fn sound_files(names: &[String]) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut file = |name: &String| {
        let safe = safe(name);
        let numbered = |n: usize| if n == 1 { format!("{safe}.wav") } else { format!("{safe}-{n}.wav") };
        (1..).map(numbered).find(|file| taken.insert(file.to_lowercase())).unwrap_or_default()
    };
    names.iter().map(&mut file).collect()
}

/// A name reduced to safe characters: not a path, not hidden, and not the name of a Windows device.
fn safe(name: &str) -> String {
    let mut safe = String::new();
    for c in name.trim().chars().take(MOST_LETTERS) {
        let first = safe.is_empty();
        let kept = c.is_alphanumeric() || "-_ ".contains(c) || (c == '.' && !first);
        if safe.len() + c.len_utf8() <= MOST_BYTES {
            safe.push(if kept { c } else { '_' });
        }
    }
    if safe.is_empty() || is_device(&safe) { format!("_{safe}") } else { safe }
}

/// Whether Windows treats a file with this name as a device, whatever follows the first dot.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_uppercase();
    let port = |kind: &str| {
        let number = stem.strip_prefix(kind).map(|rest| rest.chars().collect::<Vec<_>>());
        matches!(number.as_deref(), Some(['0'..='9' | '¹' | '²' | '³']))
    };
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL") || port("COM") || port("LPT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_make_safe_files() {
        let cases = [
            ("piano", "piano.wav"),
            ("a/b", "a_b.wav"),
            ("a?b", "a_b-2.wav"),
            ("A\\B", "A_B-3.wav"),
            ("..", "_..wav"),
            (".hidden", "_hidden.wav"),
            ("../../etc/x", "_._.._etc_x.wav"),
            ("no. 1", "no. 1.wav"),
            (" ", "_.wav"),
            ("con", "_con.wav"),
            ("Nul.b", "_Nul.b.wav"),
            ("COM¹", "_COM¹.wav"),
            ("lpt1 ", "_lpt1.wav"),
            ("com10", "com10.wav"),
            ("Violinen & Celli\n", "Violinen _ Celli.wav"),
        ];
        let names: Vec<String> = cases.iter().map(|(name, _)| (*name).to_owned()).collect();
        let wanted: Vec<&str> = cases.iter().map(|(_, file)| *file).collect();
        assert_eq!(sound_files(&names), wanted);
        // There is room for the rest of a hidden name.
        assert!(sound_files(&["𝒜".repeat(100)])[0].len() < 230);
    }
}
