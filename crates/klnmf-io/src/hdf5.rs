//! HDF5 files: the container of AnnData and of 10x Genomics.
//!
//! The reader is bounded by the length of the file: compression expands data by at most [`INFLATION`], so a
//! dataset that claims more is damaged, and is refused before memory is allocated.

use crate::dtype::Dtype;
use crate::error::{Fault, quoted};
use crate::lzf;
use crate::source::{INFLATION, Source};
use hdf5_reader::group::Group;
use hdf5_reader::{
    ByteOrder, Dataset, Datatype, FileStorage, FilterRegistry, H5Type, Hdf5File, OpenOptions, SliceInfo,
    SliceInfoElem,
};
use std::fs::File;
use std::sync::Arc;

/// The number of LZF in HDF5's list of filters.
const LZF: u16 = 32000;
/// Numbers read at a time, at least.
const PIECE: u64 = 1 << 16;

/// The most bytes that the data of a file can have.
pub(crate) fn bound(source: &Source) -> u64 {
    source.len().saturating_mul(INFLATION)
}

/// Opens a file and returns its root.
pub(crate) fn root(source: &Source) -> Result<Group, Fault> {
    if source.len() == 0 {
        return Err(Fault::content("the file is empty"));
    }
    if source.is_gzipped()? {
        return Err(Fault::content("the file is compressed as a whole: unpack it with gunzip first"));
    }
    let bound = usize::try_from(bound(source)).unwrap_or(usize::MAX);
    let mut filters = FilterRegistry::new();
    let unpack = move |_: &_, bytes: &[u8], _| {
        let bad = || hdf5_reader::error::Error::DecompressionError("not LZF".into());
        lzf::decompress(bytes, bytes.len().saturating_mul(INFLATION as usize)).ok_or_else(bad)
    };
    filters.register(LZF, Box::new(unpack));
    let options = OpenOptions::default().with_filter_registry(filters).with_max_read_bytes(bound);
    let chunk = options.max_chunk_bytes.min(bound);
    let options = options.with_max_chunk_bytes(chunk);
    let file = match source {
        // Positional reads, because a memory map of a file that shrinks meanwhile ends the process.
        Source::File { path, .. } => {
            let storage = FileStorage::from_file(File::open(path).map_err(Fault::Io)?)?;
            Hdf5File::from_storage_with_options(Arc::new(storage), options)?
        }
        Source::Memory(bytes) => Hdf5File::from_vec_with_options(bytes.clone(), options)?,
    };
    Ok(file.root_group()?)
}

impl From<hdf5_reader::error::Error> for Fault {
    fn from(why: hdf5_reader::error::Error) -> Self {
        use hdf5_reader::error::Error;
        match why {
            Error::Io(why) => why.into(),
            Error::InvalidMagic => {
                Fault::content("this is not an HDF5 file: copy it again or write it again")
            }
            Error::Context { path, source } => Fault::from(*source).within(&path),
            Error::UnsupportedFilter(id) => Fault::Content(format!(
                "compressed with {id}, which cannot be read: write the file with compression=\"gzip\""
            )),
            why => Fault::Content(format!(
                "{why}: the file is damaged or of a rare kind; copy it again, or write it again with h5py"
            )),
        }
    }
}

/// A dataset of a group, with errors that name it.
pub(crate) fn dataset(group: &Group, name: &str) -> Result<Dataset, Fault> {
    match find(group, name)? {
        Some(Node::Dataset(dataset)) => Ok(*dataset),
        _ => Err(Fault::Content(format!(
            "there is no dataset {} in {}: write the file again",
            quoted(name),
            quoted(group.name())
        ))),
    }
}

/// A member of a group.
pub(crate) enum Node {
    Group(Group),
    Dataset(Box<Dataset>),
}

/// The member of this name, if there is one.
pub(crate) fn find(group: &Group, name: &str) -> Result<Option<Node>, Fault> {
    let (groups, datasets) = group.member_names()?;
    if groups.iter().any(|group| group == name) {
        return Ok(Some(Node::Group(group.group(name)?)));
    }
    if datasets.iter().any(|dataset| dataset == name) {
        return Ok(Some(Node::Dataset(Box::new(group.dataset(name)?))));
    }
    Ok(None)
}

/// The group of this name, if there is one.
pub(crate) fn subgroup(group: &Group, name: &str) -> Result<Option<Group>, Fault> {
    Ok(find(group, name)?.and_then(|node| match node {
        Node::Group(group) => Some(group),
        Node::Dataset(_) => None,
    }))
}

/// All elements of a dataset as text: strings, or whole numbers.
pub(crate) fn texts(dataset: &Dataset) -> Result<Vec<String>, Fault> {
    if !matches!(dataset.dtype(), Datatype::FixedPoint { .. }) {
        return Ok(dataset.read_strings()?);
    }
    let mut out = Vec::new();
    pieces(dataset, |range| {
        let numbers = read::<Whole>(dataset, range)?;
        out.extend(numbers.into_iter().map(|Whole(number)| number.to_string()));
        Ok(())
    })?;
    Ok(out)
}

/// The sides of a dataset of numbers with so many dimensions, whose data have at most `bound` bytes.
pub(crate) fn sides<const N: usize>(dataset: &Dataset, bound: u64) -> Result<[u64; N], Fault> {
    let fault = |what: String| Err(Fault::Content(what).within(dataset.name()));
    let Ok(sides) = <[u64; N]>::try_from(dataset.shape()) else {
        let found = dataset.ndim();
        return fault(format!("the number of dimensions is {found}, not {N}: write the file again"));
    };
    let size = numeric(dataset.dtype()).size as u64;
    let bytes = sides.iter().try_fold(size, |product, side| product.checked_mul(*side));
    if bytes.is_none_or(|bytes| bytes > bound) {
        return fault(
            "it claims more numbers than the file can hold: the file is damaged, copy it again".into(),
        );
    }
    Ok(sides)
}

/// The elements of a dataset with one dimension, as indices below `limit`.
pub(crate) fn indices<I: TryFrom<i64>>(
    dataset: &Dataset,
    limit: u64,
    each: &mut dyn FnMut(I),
    range: (u64, u64),
) -> Result<(), Fault> {
    for Whole(number) in read::<Whole>(dataset, range)? {
        let inside = u64::try_from(number).is_ok_and(|index| index < limit);
        match I::try_from(number) {
            Ok(index) if inside => each(index),
            _ => return Err(crate::npy::outside(number, limit).within(dataset.name())),
        }
    }
    Ok(())
}

/// The elements in a range of the first dimension, as numbers.
pub(crate) fn reals(dataset: &Dataset, range: (u64, u64)) -> Result<impl Iterator<Item = f64>, Fault> {
    Ok(read::<Real>(dataset, range)?.into_iter().map(|Real(number)| number))
}

/// Calls `f` with ranges of the first dimension that cover a dataset. They hold whole chunks, because a chunk
/// is decompressed as a whole.
pub(crate) fn pieces(dataset: &Dataset, f: impl FnMut((u64, u64)) -> Result<(), Fault>) -> Result<(), Fault> {
    let chunk = dataset.chunks().and_then(|sides| sides.first().copied()).map_or(1, u64::from).max(1);
    let [lines, sides @ ..] = dataset.shape() else { return Ok(()) };
    let width = sides.iter().fold(1, |product: u64, side| product.saturating_mul(*side));
    if width == 0 {
        // A damaged file may tell of any number of lines without entries.
        return Ok(());
    }
    let step = (PIECE / width).next_multiple_of(chunk).max(chunk);
    let ends = (0..*lines).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    ends.map(|begin| (begin, begin.saturating_add(step).min(*lines))).try_for_each(f)
}

/// The elements in a range of the first dimension, and all of the others.
fn read<E: H5Type>(dataset: &Dataset, (start, end): (u64, u64)) -> Result<Vec<E>, Fault> {
    // Refused before reading, where the error can say what the file holds instead.
    numeric(dataset.dtype()).check_real().map_err(|fault| fault.within(dataset.name()))?;
    let mut selections = vec![SliceInfoElem::Slice { start, end, step: 1 }];
    selections.extend(dataset.shape().iter().skip(1).map(|side| SliceInfoElem::Slice {
        start: 0,
        end: *side,
        step: 1,
    }));
    let array = dataset.read_slice::<E>(&SliceInfo { selections })?;
    Ok(array.into_raw_vec_and_offset().0)
}

/// The type in the notation of numpy.
pub(crate) fn numeric(of: &Datatype) -> Dtype {
    let order = |order: &ByteOrder| if *order == ByteOrder::BigEndian { '>' } else { '<' };
    Dtype::parse(&match of {
        Datatype::FixedPoint { size, signed, byte_order } => {
            format!("{}{}{size}", order(byte_order), if *signed { 'i' } else { 'u' })
        }
        Datatype::FloatingPoint { size, byte_order } => format!("{}f{size}", order(byte_order)),
        // Numpy's booleans.
        Datatype::Enum { base, .. } if **base == boolean() => "|b1".into(),
        Datatype::String { .. } | Datatype::VarLen { .. } => "text".into(),
        _ => "other".into(),
    })
}

fn boolean() -> Datatype {
    Datatype::FixedPoint { size: 1, signed: true, byte_order: ByteOrder::LittleEndian }
}

/// A number of any type.
#[derive(Clone)]
struct Real(f64);

/// A whole number of any type.
#[derive(Clone)]
struct Whole(i64);

/// Implements the conversion from bytes through numpy's types.
macro_rules! element {
    ($element:ident, $append:expr) => {
        impl H5Type for $element {
            fn hdf5_type() -> Datatype {
                boolean()
            }

            fn from_bytes(bytes: &[u8], dtype: &Datatype) -> hdf5_reader::error::Result<Self> {
                let found = Self::decode_vec(bytes, dtype, 1).and_then(Result::ok);
                let none = || hdf5_reader::error::Error::InvalidData("a number is cut short".into());
                found.and_then(|mut one| one.pop()).ok_or_else(none)
            }

            fn element_size(dtype: &Datatype) -> usize {
                numeric(dtype).size
            }

            fn decode_vec(
                raw: &[u8],
                dtype: &Datatype,
                count: usize,
            ) -> Option<hdf5_reader::error::Result<Vec<Self>>> {
                let (dtype, mut out) = (numeric(dtype), Vec::new());
                let bytes = raw.get(..count.checked_mul(dtype.size)?)?;
                $append(&dtype, bytes, &mut out);
                let bad = || hdf5_reader::error::Error::InvalidData("whole numbers expected".into());
                let whole = out.len() == count;
                Some(if whole { Ok(out.into_iter().map($element).collect()) } else { Err(bad()) })
            }
        }
    };
}

element!(Real, |dtype: &Dtype, bytes: &[u8], out: &mut Vec<f64>| dtype.append_reals(bytes, out));
element!(Whole, |dtype: &Dtype, bytes: &[u8], out: &mut Vec<i64>| {
    // A type that is not whole leaves the output short, which is reported.
    let _ = dtype.append_integers(bytes, out);
});
