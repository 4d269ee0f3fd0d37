//! `data/README.md`: the meaning and the unit of every column of every table.

use std::collections::BTreeSet;

/// The description of these files as Markdown.
pub fn text(files: &BTreeSet<String>) -> String {
    let mut parts = include_str!("dictionary.md").split("\n## ");
    let head = parts.next().unwrap_or_default().to_owned();
    let there = |part: &&str| part.lines().next().is_some_and(|file| files.contains(file));
    parts.filter(there).fold(head, |text, part| text + "\n## " + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_existing_tables_are_described() {
        let text = text(&BTreeSet::from(["rho.csv".to_owned()]));
        assert!(text.contains("## rho.csv") && text.contains("| `reached` | iterations |"));
        assert!(!text.contains("## waves.csv"));
    }
}
