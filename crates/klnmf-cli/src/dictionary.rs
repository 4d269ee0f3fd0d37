//! Parts from a file: those of a model, or the columns of a matrix.

use crate::{names, outputs};
use anyhow::{anyhow, bail};
use klnmf::{Mat, Scalar};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// A dictionary with the names of its rows and its columns.
pub struct Dictionary<T> {
    pub w: Mat<T>,
    pub rows: Option<Vec<String>>,
    pub parts: Option<Vec<String>>,
}

impl<T: Scalar> Dictionary<T> {
    /// Reads W of a model, or a dense matrix; it must be finite and not negative. Names of parts in a file of
    /// their own replace those in `path`.
    pub fn read(path: &Path, part_names: Option<&Path>) -> anyhow::Result<Self> {
        let mut found = Self::read_any(path)?;
        let w = &found.w;
        let bad = |x: &T| !(x.to_f64() >= 0.0 && x.to_f64().is_finite());
        if let Some(at) = w.as_slice().iter().position(bad) {
            let (row, col, value) = (at % w.rows(), at / w.rows(), w.as_slice()[at]);
            bail!(
                "{}: the entry in row {row}, column {col} (counting from 0) is {value}, but a dictionary \
                 must be finite and not negative: remove or replace it",
                path.display()
            );
        }
        if let Some(file) = part_names {
            found.parts = Some(names::read_for(file, path, [("parts", w.cols()), ("rows", w.rows())])?);
        }
        Ok(found)
    }

    fn read_any(path: &Path) -> anyhow::Result<Self> {
        let archive = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz"));
        if archive && klnmf_io::peek(path)?.kind == "klnmf model" {
            let model = klnmf_io::read_model::<T>(path)?;
            return Ok(Self { w: model.w, rows: model.row_names, parts: model.part_names });
        }
        let table = klnmf_io::read::<T>(path)?;
        Ok(Self { w: table.matrix.into_dense(path)?, rows: table.row_names, parts: table.col_names })
    }

    /// The name of part `k`.
    pub fn name(&self, k: usize) -> String {
        self.parts.as_ref().map_or_else(|| outputs::part(k), |names| names[k].clone())
    }

    /// The first of the row names `ours` that the dictionary lacks.
    pub fn missing<'a>(&self, ours: &'a Option<Vec<String>>) -> Option<&'a String> {
        let (Some(theirs), Some(ours)) = (&self.rows, ours) else { return None };
        let theirs: HashSet<&String> = theirs.iter().collect();
        ours.iter().find(|name| !theirs.contains(name))
    }

    /// Puts the rows of this dictionary, from `file`, in the order of those of `whose` if both have names. A
    /// name that only one of them has is an error.
    pub fn align(&mut self, file: &str, ours: &Option<Vec<String>>, whose: &str) -> anyhow::Result<()> {
        let (Some(theirs), Some(ours)) = (&self.rows, ours) else { return Ok(()) };
        if theirs == ours {
            return Ok(());
        }
        let place: HashMap<&str, usize> =
            theirs.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
        let find = |name: &String| {
            let none =
                || anyhow!("row {name:?} of {whose} is not in {file}: give both files the same row names");
            place.get(name.as_str()).copied().ok_or_else(none)
        };
        let order = ours.iter().map(find).collect::<anyhow::Result<Vec<usize>>>()?;
        let used: HashSet<usize> = order.iter().copied().collect();
        for (what, all_differ) in [(file, place.len() == theirs.len()), (whose, used.len() == order.len())] {
            if !all_differ {
                bail!("{what} has two rows of the same name: rename one, or remove the names");
            }
        }
        if let Some(extra) = (0..theirs.len()).find(|i| !used.contains(i)) {
            let name = &theirs[extra];
            bail!("row {name:?} of {file} is not in {whose}: give both files the same row names");
        }
        self.w = Mat::from_fn(order.len(), self.w.cols(), |i, k| self.w[(order[i], k)]);
        Ok(())
    }
}
