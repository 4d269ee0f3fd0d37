//! AnnData's `.h5ad`: cells × genes in `X`, in `layers` and in `raw/X`, with the names of `obs` and `var`.
//!
//! Cells are samples and genes are features, so V is the transpose, without any copying: compressed rows
//! become compressed columns.

use crate::error::{Fault, quoted};
use crate::hdf5::{self, Node, bound, find, subgroup};
use crate::held::Held;
use crate::source::Source;
use crate::table::Table;
use hdf5_reader::group::Group;
use klnmf::{Order, Scalar};

/// A matrix of an AnnData file with the names of its genes and cells.
pub(crate) struct Cells {
    pub(crate) matrix: Held,
    pub(crate) genes: Option<Vec<String>>,
    pub(crate) cells: Option<Vec<String>>,
}

impl Cells {
    /// Opens X, or the layer of this name. `raw` is `raw/X` unless a layer has that name.
    pub(crate) fn open(source: &Source, layer: Option<&str>) -> Result<Self, Fault> {
        let root = hdf5::root(source)?;
        let (parent, name, genes) = place(&root, layer)?;
        let matrix = match find(&parent, &name)? {
            Some(Node::Dataset(data)) => Held::dense(*data, bound(source))?,
            Some(Node::Group(group)) => compressed(&group, bound(source))?,
            None => return Err(missing(&root, layer)?),
        };
        let genes = names(&genes, "var", matrix.rows)?;
        Ok(Self { genes, cells: names(&root, "obs", matrix.cols)?, matrix })
    }

    pub(crate) fn table<T: Scalar>(self) -> Result<Table<T>, Fault> {
        Ok(Table { matrix: self.matrix.read()?, row_names: self.genes, col_names: self.cells })
    }
}

/// The matrices of a file besides X, as `--layer` takes them.
pub(crate) fn layers(root: &Group) -> Result<Vec<String>, Fault> {
    let mut names = match subgroup(root, "layers")? {
        Some(layers) => {
            let (groups, datasets) = layers.member_names()?;
            [groups, datasets].concat()
        }
        None => Vec::new(),
    };
    names.sort();
    if !names.iter().any(|name| name == "raw") && subgroup(root, "raw")?.is_some() {
        names.push("raw".into());
    }
    Ok(names)
}

/// The group that holds the matrix, its name there, and the group with its genes.
fn place(root: &Group, layer: Option<&str>) -> Result<(Group, String, Group), Fault> {
    let Some(layer) = layer else { return Ok((root.clone(), "X".into(), root.clone())) };
    if let Some(layers) = subgroup(root, "layers")?
        && find(&layers, layer)?.is_some()
    {
        return Ok((layers, layer.into(), root.clone()));
    }
    match subgroup(root, "raw")? {
        Some(raw) if layer == "raw" => Ok((raw.clone(), "X".into(), raw)),
        _ => Err(missing(root, Some(layer))?),
    }
}

/// The error about a matrix that the file does not hold.
fn missing(root: &Group, layer: Option<&str>) -> Result<Fault, Fault> {
    let what = layer.map_or("matrix X".into(), |layer| format!("layer {}", quoted(layer)));
    let layers = layers(root)?;
    Ok(Fault::Content(match layers.is_empty() {
        true if layer.is_some() => format!("there is no {what}, and no other: leave out --layer to read X"),
        true => format!("there is no {what}: write the file with anndata's write_h5ad"),
        false => format!("there is no {what}: choose --layer {}", layers.join(" or --layer ")),
    }))
}

/// A sparse matrix of cells × genes.
fn compressed(group: &Group, bound: u64) -> Result<Held, Fault> {
    let attribute = |names: [&str; 2]| names.into_iter().find_map(|name| group.attribute(name).ok());
    // Files of anndata before 0.7 have the names of h5sparse.
    let format = attribute(["encoding-type", "h5sparse_format"]).and_then(|text| text.read_string().ok());
    let order = match format.as_deref() {
        Some("csr_matrix" | "csr") => Order::Columns,
        Some("csc_matrix" | "csc") => Order::Rows,
        other => {
            let other = quoted(other.unwrap_or_default());
            return Err(Fault::Content(format!(
                "the matrix is encoded as {other}, which cannot be read: store it as csr_matrix or as an array"
            )));
        }
    };
    let shape = attribute(["shape", "h5sparse_shape"]).and_then(|shape| shape.read_1d::<i64>().ok());
    let shape: Option<Vec<u64>> =
        shape.and_then(|shape| shape.into_iter().map(|side| u64::try_from(side).ok()).collect());
    let Some(&[cells, genes]) = shape.as_deref() else {
        return Err(Fault::content("the shape of the matrix is missing: write the file again with anndata"));
    };
    Held::sparse(group, order, [genes, cells], bound)
}

/// The index of the data frame `obs` or `var`, which must have the given length.
fn names(parent: &Group, frame: &str, length: usize) -> Result<Option<Vec<String>>, Fault> {
    let Some(group) = subgroup(parent, frame)? else { return Ok(None) };
    let index = group.attribute("_index").and_then(|index| index.read_string());
    let index = index.unwrap_or_else(|_| "_index".into());
    let values = match find(&group, &index)? {
        Some(Node::Dataset(values)) => *values,
        // Text that may be missing has its values beside a mask.
        Some(Node::Group(group)) => hdf5::dataset(&group, "values")?,
        None => return Ok(None),
    };
    let names = hdf5::texts(&values).map_err(|fault| fault.within(frame))?;
    if names.len() != length {
        let found = names.len();
        return Err(Fault::Content(format!("{frame} has {found} names where {length} are needed")));
    }
    Ok(Some(names))
}
