//! The spectra of known sources.

use klnmf::Mat;

/// The spectra of some sources, side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Dictionary {
    /// bins × components.
    pub w: Mat<f64>,
    /// The source of every component.
    pub columns: Vec<String>,
}

impl Dictionary {
    /// The names of the sources, in the order of their first components.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in &self.columns {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// The components of every source.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        let of = |name: &String| (0..self.columns.len()).filter(|k| self.columns[*k] == *name).collect();
        self.names().iter().map(of).collect()
    }
}
