//! The matrices of 10x Genomics, features × cells: `.h5` files, and folders with `matrix.mtx.gz`.

use crate::error::{Error, Fault};
use crate::hdf5::{self, bound, find, subgroup, texts};
use crate::held::Held;
use crate::lines::Lines;
use crate::source::Source;
use crate::table::Table;
use hdf5_reader::group::Group;
use klnmf::{Order, Scalar};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The matrix of a `.h5` file with the names of its features and cells.
pub(crate) struct Counts {
    pub(crate) matrix: Held,
    pub(crate) features: Vec<String>,
    pub(crate) cells: Vec<String>,
}

impl Counts {
    /// Opens a file of Cell Ranger. Since version 3 the group is called `matrix`; before, it had the name of
    /// the genome.
    pub(crate) fn open(source: &Source) -> Result<Self, Fault> {
        let root = hdf5::root(source)?;
        let group = group(&root)?;
        let text = |group: &Group, name| texts(&hdf5::dataset(group, name)?);
        let (ids, names) = match subgroup(&group, "features")? {
            Some(features) => (text(&features, "id")?, text(&features, "name")?),
            None => (text(&group, "genes")?, text(&group, "gene_names")?),
        };
        let shape = hdf5::dataset(&group, "shape")?;
        hdf5::sides::<1>(&shape, bound(source))?;
        let mut sizes: Vec<i64> = Vec::new();
        hdf5::indices(
            &shape,
            u64::from(u32::MAX),
            &mut |side| sizes.push(side),
            (0, shape.shape()[0].min(3)),
        )?;
        let [rows, cols] = *sizes else {
            return Err(Fault::content("the shape is not that of a matrix: write the file again"));
        };
        let matrix = Held::sparse(&group, Order::Columns, [rows as u64, cols as u64], bound(source))?;
        let cells = text(&group, "barcodes")?;
        check("features", matrix.rows, ids.len())?;
        check("features", matrix.rows, names.len())?;
        check("barcodes", matrix.cols, cells.len())?;
        Ok(Self { matrix, features: distinct(names, &ids), cells })
    }

    pub(crate) fn table<T: Scalar>(self) -> Result<Table<T>, Fault> {
        Ok(Table { matrix: self.matrix.read()?, row_names: Some(self.features), col_names: Some(self.cells) })
    }
}

fn group(root: &Group) -> Result<Group, Fault> {
    let genomes: Vec<Group> = root.groups()?;
    let known = |group: &Group| find(group, "barcodes").is_ok_and(|found| found.is_some());
    let mut found: Vec<Group> = genomes.into_iter().filter(known).collect();
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(Fault::content(
            "this is not a matrix of 10x Genomics: it has no barcodes; AnnData files must end in .h5ad",
        )),
        _ => Err(Fault::content(
            "the file holds several genomes: read it with scanpy.read_10x_h5 and write one as .h5ad",
        )),
    }
}

fn check(what: &str, length: usize, found: usize) -> Result<(), Fault> {
    if found == length {
        return Ok(());
    }
    Err(Fault::Content(format!("{what}: {found} names where {length} are needed: write the file again")))
}

/// The names, and for those that occur twice also the identifier.
fn distinct(names: Vec<String>, ids: &[String]) -> Vec<String> {
    let mut seen = HashSet::new();
    let twice: HashSet<&String> = names.iter().filter(|name| !seen.insert(*name)).collect();
    let one = |(name, id): (&String, &String)| match twice.contains(name) {
        true => format!("{name} ({id})"),
        false => name.clone(),
    };
    names.iter().zip(ids).map(one).collect()
}

/// The file `name` or `name.gz` in a folder, if one exists.
fn member(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    let both = names.iter().flat_map(|name| [format!("{name}.gz"), (*name).to_owned()]);
    both.map(|name| folder.join(name)).find(|path| path.is_file())
}

/// The matrix in a folder, if this is a folder of Cell Ranger or STARsolo.
pub(crate) fn matrix_of(folder: &Path) -> Option<PathBuf> {
    member(folder, &["matrix.mtx"])
}

/// The files with the names of features and cells.
const FEATURES: [&str; 2] = ["features.tsv", "genes.tsv"];
const BARCODES: [&str; 1] = ["barcodes.tsv"];

/// The lists of names in a folder.
pub(crate) fn lists_of(folder: &Path) -> impl Iterator<Item = PathBuf> {
    [member(folder, &FEATURES), member(folder, &BARCODES)].into_iter().flatten()
}

/// Reads a folder, whose matrix is at `path`.
pub(crate) fn read_folder<T: Scalar>(folder: &Path, path: &Path) -> Result<Table<T>, Error> {
    let table = Source::new(path).and_then(|source| crate::mtx::read(&source));
    let table = table.map_err(|fault| fault.at(path))?;
    let (rows, cols) = (table.matrix.rows(), table.matrix.cols());
    let [row_names, col_names] = folder_names(folder, (rows, cols))?;
    Ok(Table { row_names, col_names, ..table })
}

/// The names of features and cells in a folder with a matrix of this shape.
pub(crate) fn folder_names(
    folder: &Path,
    (rows, cols): (usize, usize),
) -> Result<[Option<Vec<String>>; 2], Error> {
    let lists = [("features", &FEATURES[..], rows), ("barcodes", &BARCODES[..], cols)];
    let mut found = [None, None];
    for ((what, names, length), out) in lists.into_iter().zip(&mut found) {
        let Some(path) = member(folder, names) else { continue };
        let read = || {
            let (ids, names) = columns(&Source::new(&path)?)?;
            check(what, length, ids.len())?;
            Ok(distinct(names, &ids))
        };
        *out = Some(read().map_err(|fault: Fault| fault.at(&path))?);
    }
    Ok(found)
}

/// The first column of a table, and the second, or the first again if there is only one.
fn columns(source: &Source) -> Result<(Vec<String>, Vec<String>), Fault> {
    let (mut ids, mut names, mut lines) = (Vec::new(), Vec::new(), Lines::of(source)?);
    while let Some((_, line)) = lines.next()? {
        let text = String::from_utf8_lossy(line);
        let mut cells = text.split('\t');
        let id = cells.next().unwrap_or_default().to_owned();
        names.push(cells.next().unwrap_or(&id).to_owned());
        ids.push(id);
    }
    Ok((ids, names))
}
