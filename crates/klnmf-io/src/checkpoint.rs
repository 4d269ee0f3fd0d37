//! The state of a factorisation as one file, from which it continues to the same bits.
//!
//! The file is an archive that numpy opens. It holds `metadata` (JSON), `numbers` with `number_names`, and an
//! array `array.NAME` for every array of the state, all in f64: JSON has no infinity, and numpy has.

use crate::archive::Archive;
use crate::error::{Error, Fault};
use crate::output::Target;
use crate::source::Source;
use crate::version::{self, VERSION};
use crate::zipped;
use klnmf::{Run, Scalar, State};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const KIND: &str = "klnmf checkpoint";
/// The layout of the file. It changes when older programs could not read it.
const LAYOUT: u64 = 1;
const ARRAY: &str = "array.";

/// A stored state, and what it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The state of the run. Start and seed are not part of it: they have no effect after the start.
    pub state: State,
    /// Rows and columns of V.
    pub shape: (usize, usize),
    /// The [`fingerprint`] of V.
    pub fingerprint: String,
    /// The parts that were given at the start. The result has them first, in their order.
    pub given: usize,
    /// Names of the parts, if they were given with names.
    pub part_names: Option<Vec<String>>,
}

impl Checkpoint {
    /// The number of parts.
    pub fn rank(&self) -> usize {
        self.state.arrays.get("h").map_or(0, |h| h.rows())
    }

    /// What is different if the state belongs to another V or rank.
    pub fn difference(
        &self,
        shape: (usize, usize),
        fingerprint: &str,
        rank: Option<usize>,
    ) -> Option<String> {
        let (n, m) = self.shape;
        if shape != self.shape {
            return Some(format!("its V is {n} × {m}, and this one is {} × {}", shape.0, shape.1));
        }
        if let Some(rank) = rank.filter(|rank| *rank != self.rank()) {
            return Some(format!("its rank is {}, not {rank}", self.rank()));
        }
        let changed = fingerprint != self.fingerprint;
        changed.then(|| "the numbers of V, its storage or its precision have changed".to_owned())
    }
}

/// The hash of a matrix with its storage and precision, on which the bits of the result depend.
pub fn fingerprint<T: Scalar>(hash: &str, sparse: bool) -> String {
    format!("{hash} {} {}", if sparse { "sparse" } else { "dense" }, T::NAME)
}

/// Writes the states of a run to one file, from time to time.
pub struct Saver {
    /// The file.
    pub path: PathBuf,
    /// The time between two writes.
    pub every: Duration,
    /// Rows and columns of V.
    pub shape: (usize, usize),
    /// The [`fingerprint`] of V.
    pub fingerprint: String,
    /// The parts that were given at the start.
    pub given: usize,
    /// Names of the parts, if they were given with names.
    pub part_names: Option<Vec<String>>,
    /// Whether the first write may replace a file. Later ones replace our own.
    pub replace: bool,
    /// The time of the last write, or of the start.
    pub last: Instant,
}

impl Saver {
    /// Writes the state if it is time to, or if this is the end. It is called between two iterations, before
    /// the end too, because the end scales the factors.
    pub fn save<T: Scalar>(&mut self, run: &mut Run<'_, T>, end: bool) -> Result<(), Error> {
        // A run with a higher limit does not pass through the state after a round that was cut short, so the
        // state before it is stored.
        let (cut_next, cut_last) = run.cut();
        if cut_last || (!end && !cut_next && self.last.elapsed() < self.every) {
            return Ok(());
        }
        self.last = Instant::now();
        let (state, shape, given) = (run.state(), self.shape, self.given);
        let (fingerprint, part_names) = (self.fingerprint.clone(), self.part_names.clone());
        let checkpoint = Checkpoint { state, shape, fingerprint, given, part_names };
        write_checkpoint(Target::new(&self.path, self.replace), &checkpoint)?;
        self.replace = true;
        Ok(())
    }
}

/// Writes a checkpoint.
pub fn write_checkpoint<'p>(target: impl Into<Target<'p>>, checkpoint: &Checkpoint) -> Result<(), Error> {
    let (state, (n, m)) = (&checkpoint.state, checkpoint.shape);
    let metadata = json!({
        "kind": KIND,
        "layout": LAYOUT,
        "version": VERSION,
        "solver": state.solver.name(),
        "iteration": state.iteration,
        "seconds": state.seconds,
        "rank": checkpoint.rank(),
        "shape": [n, m],
        "fingerprint": checkpoint.fingerprint,
        "given": checkpoint.given,
    });
    let (names, numbers): (Vec<String>, Vec<f64>) = state.numbers.clone().into_iter().unzip();
    zipped::write(target.into(), |zip| {
        zip.text("metadata", &metadata.to_string())?;
        zip.names("number_names", &names)?;
        zip.numbers("numbers", &numbers)?;
        checkpoint.part_names.as_ref().map_or(Ok(()), |names| zip.names("part_names", names))?;
        state.arrays.iter().try_for_each(|(name, array)| zip.matrix(&format!("{ARRAY}{name}"), array))
    })
}

/// Whether the archive is one that [`write_checkpoint`] wrote.
pub(crate) fn is_checkpoint(archive: &Archive) -> bool {
    ["metadata", "numbers", "number_names"].into_iter().all(|name| archive.has(name))
}

/// Reads a checkpoint. One of a later version is refused.
pub fn read_checkpoint(path: &Path) -> Result<Checkpoint, Error> {
    read(path).map_err(|fault| fault.at(path))
}

fn read(path: &Path) -> Result<Checkpoint, Fault> {
    let none = || Fault::content("this is not a checkpoint: give a file that --checkpoint has written");
    let source = Source::new(path)?;
    let mut archive = Archive::open(&source)?;
    if !is_checkpoint(&archive) {
        return Err(none());
    }
    let text = archive.in_array("metadata", |array| array.texts())?.concat();
    let metadata: Value = serde_json::from_str(&text).map_err(|_| none())?;
    if metadata["kind"] != KIND {
        return Err(none());
    }
    version::check("checkpoint", &text)?;
    if metadata["layout"].as_u64() != Some(LAYOUT) {
        return Err(Fault::content(
            "another version of klnmf wrote this checkpoint: continue it with that version",
        ));
    }
    let count = |value: &Value| value.as_u64().map(|n| n as usize).ok_or_else(none);
    let numbers: Vec<f64> = archive.in_array("numbers", |mut array| array.reals())?;
    let names = archive.names_of("number_names", numbers.len())?.ok_or_else(none)?;
    let mut arrays = BTreeMap::new();
    for entry in archive.names() {
        if let Some(name) = entry.strip_prefix(ARRAY) {
            arrays.insert(name.to_owned(), archive.in_array(&entry, |array| array.dense())?);
        }
    }
    let state = State {
        solver: metadata["solver"].as_str().unwrap_or_default().parse()?,
        iteration: count(&metadata["iteration"])?,
        seconds: metadata["seconds"].as_f64().ok_or_else(none)?,
        numbers: names.into_iter().zip(numbers).collect(),
        arrays,
    };
    let mut checkpoint = Checkpoint {
        state,
        shape: (count(&metadata["shape"][0])?, count(&metadata["shape"][1])?),
        fingerprint: metadata["fingerprint"].as_str().unwrap_or_default().to_owned(),
        given: count(&metadata["given"])?,
        part_names: None,
    };
    checkpoint.part_names = archive.names_of("part_names", checkpoint.rank())?;
    Ok(checkpoint)
}
