//! Numpy's archive format: a zip file of arrays.

use crate::error::Fault;
use crate::npy::{Array, Header};
use crate::source::{INFLATION, Length, Seekable, Source};
use crate::table::{Stored, Table};
use crate::{model, scipy};
use klnmf::Scalar;
use std::io::BufRead;
use zip::ZipArchive;

/// The matrix in a `.npz` file, sparse or dense.
pub(crate) fn read<T: Scalar>(source: &Source) -> Result<Table<T>, Fault> {
    let mut archive = Archive::open(source)?;
    if model::is_model(&archive) {
        return Err(Fault::content(
            "this is a klnmf model (W and H), but a data matrix is needed: give the file of V",
        ));
    }
    let matrix = if scipy::is_sparse(&archive) {
        Stored::Sparse(scipy::read(source, &mut archive)?)
    } else {
        let name = archive.matrix_name()?;
        Stored::Dense(archive.in_array(&name, |array| array.dense())?)
    };
    let row_names = archive.names_of("row_names", matrix.rows())?;
    let col_names = archive.names_of("col_names", matrix.cols())?;
    Ok(Table { matrix, row_names, col_names })
}

/// A `.npz` file.
pub(crate) struct Archive<'s> {
    zip: ZipArchive<Seekable<'s>>,
    bytes: u64,
}

impl<'s> Archive<'s> {
    pub(crate) fn open(source: &'s Source) -> Result<Self, Fault> {
        let mut input = source.open()?;
        let start = input.fill_buf()?;
        if start.is_empty() {
            return Err(Fault::content("the file is empty"));
        }
        if !start.starts_with(b"PK") {
            return Err(Fault::content(
                "this is not an npz archive: write it with numpy.savez or scipy.sparse.save_npz",
            ));
        }
        let zip = ZipArchive::new(input).map_err(|why| {
            Fault::Content(format!(
                "the archive is cut short or damaged ({why}): copy it again or write it again"
            ))
        })?;
        Ok(Self { zip, bytes: source.len() })
    }

    /// The names of the arrays, without `.npy`.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = self.zip.file_names().filter_map(|name| name.ok());
        names.filter_map(|name| name.strip_suffix(".npy").map(str::to_owned)).collect()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{name}.npy")).is_some()
    }

    /// Opens an array.
    pub(crate) fn array(&mut self, name: &str) -> Result<Array<'_>, Fault> {
        if !self.has(name) {
            return Err(Fault::Content(format!("the archive has no array {name}: write it again")));
        }
        self.entry(name).map_err(|fault| fault.within(name))
    }

    fn entry(&mut self, name: &str) -> Result<Array<'_>, Fault> {
        let entry = self.zip.by_name(&format!("{name}.npy"))?;
        // The directory of the archive may claim any size, but the length of the file bounds it.
        let (packed, size) = (entry.compressed_size(), entry.size());
        if packed > self.bytes || size > packed.saturating_mul(INFLATION) {
            return Err(Fault::content(
                "the archive claims more bytes than the file can hold: it is damaged, copy it again",
            ));
        }
        Array::open(entry, Length::Exactly(size))
    }

    /// Opens an array and reads from it. Errors name the array.
    pub(crate) fn in_array<V>(
        &mut self,
        name: &str,
        read: impl FnOnce(Array<'_>) -> Result<V, Fault>,
    ) -> Result<V, Fault> {
        read(self.array(name)?).map_err(|fault| fault.within(name))
    }

    /// The header of an array.
    pub(crate) fn header(&mut self, name: &str) -> Result<Header, Fault> {
        self.in_array(name, |array| Ok(array.header))
    }

    /// A list of names, if the archive has one. It must have the given length.
    pub(crate) fn names_of(&mut self, name: &str, length: usize) -> Result<Option<Vec<String>>, Fault> {
        if !self.has(name) {
            return Ok(None);
        }
        let names = self.in_array(name, |array| match array.header.shape.is_empty() {
            false => array.texts(),
            true => listed(&array.texts()?.concat()),
        })?;
        if names.len() != length {
            return Err(Fault::Content(format!(
                "array {name}: {} names where {length} are needed",
                names.len()
            )));
        }
        Ok(Some(names))
    }

    /// The array that is the matrix: `V`, else `X`, else the only one with two dimensions.
    pub(crate) fn matrix_name(&mut self) -> Result<String, Fault> {
        if let Some(name) = ["V", "X"].into_iter().find(|name| self.has(name)) {
            return Ok(name.to_owned());
        }
        let mut matrices = Vec::new();
        for name in self.names() {
            if self.header(&name)?.shape.len() == 2 {
                matrices.push(name);
            }
        }
        match matrices.len() {
            0 => Err(Fault::content("the archive has no array with two dimensions: save the matrix as V")),
            1 => Ok(matrices.remove(0)),
            _ => Err(Fault::Content(format!(
                "the archive has several matrices ({}): rename the one to use to V, or save it alone",
                matrices.join(", ")
            ))),
        }
    }
}

/// The names in a JSON list, which [`Zip::names`](crate::zipped::Zip::names) writes.
fn listed(text: &str) -> Result<Vec<String>, Fault> {
    serde_json::from_str(text)
        .map_err(|why| Fault::Content(format!("one text that is not a list in JSON: {why}; write it again")))
}
