//! The readers of matrices, models and checkpoints.

use crate::{outcome, pieces, problems, scratch, seal};
use klnmf::{Mat, Problem, Scalar, Settings};
use klnmf_io::{
    Folder, Table, peek, read, read_checkpoint, read_layer, read_metadata, read_model, read_names,
};
use klnmf_paper::images;
use klnmf_select::{Fit, Job};
use std::fs;
use std::path::{Path, PathBuf};

/// Writes a file of this name into the scratch folder.
pub(crate) fn file(name: &str, data: &[u8]) -> PathBuf {
    let path = scratch().join(name);
    fs::write(&path, data).expect("the scratch folder is writable");
    path
}

/// A folder of this name with these files.
fn folder(name: &str, files: &[(&str, &[u8])]) -> PathBuf {
    let path = scratch().join(name);
    fs::create_dir_all(&path).expect("the scratch folder is writable");
    files.iter().for_each(|(name, data)| fs::write(path.join(name), data).expect("a file is writable"));
    path
}

/// A file with a matrix.
pub fn matrix(name: &str, data: &[u8]) {
    let path = file(name, data);
    // Both precisions, one of them for each input.
    match data.len() % 2 {
        0 => outcome::result(read::<f64>(&path)).iter().for_each(check),
        _ => outcome::result(read::<f32>(&path)).iter().for_each(check),
    }
    outcome::result(peek(&path));
}

fn check<T: Scalar>(table: &Table<T>) {
    let view = table.matrix.view();
    assert!(table.row_names.as_ref().is_none_or(|names| names.len() == view.rows()));
    assert!(table.col_names.as_ref().is_none_or(|names| names.len() == view.cols()));
    assert!(view.rows() > 0 && view.cols() > 0);
    outcome::result(view.check());
}

/// An archive, as it is and with right checksums.
pub fn archive(data: &[u8], reader: impl Fn(&[u8])) {
    reader(data);
    let sealed = seal::zip(data);
    if sealed != data {
        reader(&sealed);
    }
}

/// A file of AnnData: X, or a layer.
pub fn h5ad(data: &[u8]) {
    let path = file("v.h5ad", data);
    let layer = [None, Some("counts"), Some("raw")][data.len() % 3];
    outcome::result(read_layer::<f64>(&path, layer)).iter().for_each(check);
    outcome::result(peek(&path));
}

/// A folder of 10x Genomics: the matrix, the features and the barcodes.
pub fn tenx_folder(data: &[u8]) {
    let [matrix, features, barcodes] = pieces(data);
    let files = [("matrix.mtx", matrix), ("features.tsv", features), ("barcodes.tsv", barcodes)];
    outcome::result(read::<f64>(&folder("cells", &files))).iter().for_each(check);
}

/// A folder of packed lines, as it is and with right checksums.
pub fn packed_folder(data: &[u8]) {
    let files: [&[u8]; 7] = pieces(data);
    read_packed(&files);
    let sealed = seal::folder(&files);
    read_packed(&sealed.each_ref().map(Vec::as_slice));
}

/// The files of a folder of packed lines.
pub(crate) const PACKED: [&str; 7] =
    ["header", "columns", "columns.ends", "rows", "rows.ends", "row_names.npy", "col_names.npy"];

fn read_packed(files: &[&[u8]; 7]) {
    let named: Vec<(&str, &[u8])> = PACKED.into_iter().zip(files.iter().copied()).collect();
    let path = folder("v.klnmf", &named);
    outcome::result(read::<f64>(&path)).iter().for_each(check);
    let Some(folder) = outcome::result(Folder::open(&path)) else { return };
    // Rows are read only by a factorisation.
    if let Some(problem) = outcome::result(Problem::<f64>::from_lines(&folder.columns, &folder.rows, 1)) {
        let settings = Settings { max_iter: 2, tol: 0.0, threads: 1, ..Settings::default() };
        outcome::result(problem.factorize(1, &settings));
    }
}

/// A conversion: the folder must hold what the file holds.
pub fn convert(name: &str, data: &[u8]) {
    let (path, to) = (file(name, data), scratch().join("converted.klnmf"));
    let direct = outcome::result(read::<f64>(&path));
    let converted = outcome::result(klnmf_io::convert(&path, None, &to, 1 << 20)).is_some();
    if converted {
        let found = read::<f64>(&to).expect("a new folder can be read");
        let whole = direct.expect("what was converted can be read");
        assert!(same(&whole, &found), "{whole:?} became {found:?}");
        fs::remove_dir_all(&to).expect("the scratch folder is writable");
    }
}

fn same(a: &Table<f64>, b: &Table<f64>) -> bool {
    let entries = |table: &Table<f64>| -> Vec<(usize, usize, u64)> {
        let view = table.matrix.view();
        let mut all: Vec<_> =
            view.entries().filter(|e| e.2 != 0.0).map(|(i, j, x)| (i, j, x.to_bits())).collect();
        all.sort_unstable();
        all
    };
    let shape = |table: &Table<f64>| (table.matrix.rows(), table.matrix.cols());
    (&a.row_names, &a.col_names) == (&b.row_names, &b.col_names)
        && shape(a) == shape(b)
        && entries(a) == entries(b)
}

/// A model.
pub fn model(data: &[u8]) {
    let path = file("model.npz", data);
    if let Some(model) = outcome::result(read_model::<f64>(&path)) {
        assert_eq!(model.w.cols(), model.h.rows());
        assert!(model.row_names.is_none_or(|names| names.len() == model.w.rows()));
        assert!(model.col_names.is_none_or(|names| names.len() == model.h.cols()));
        assert!(model.part_names.is_none_or(|names| names.len() == model.w.cols()));
        assert!(model.columns.iter().all(|(_, numbers)| numbers.len() == model.h.cols()));
    }
    outcome::result(read_metadata(&path));
    outcome::result(peek(&path));
}

/// The matrix of the checkpoints among the seeds.
pub(crate) fn of_checkpoints() -> Mat<f64> {
    Mat::from_fn(4, 5, |i, j| ((i * 7 + j * 3) % 5 + (i * j) % 4) as f64)
}

/// A checkpoint, from which the run is continued.
pub fn checkpoint(data: &[u8]) {
    let Some(stored) = outcome::result(read_checkpoint(&file("run.npz", data))) else { return };
    let v = of_checkpoints();
    let problem = Problem::new(&v, 1).expect("the matrix is sound");
    let settings = Settings {
        max_iter: stored.state.iteration.saturating_add(3),
        ..problems::settings(stored.state.solver)
    };
    let Some(run) = outcome::result(problem.resume(&stored.state, &settings)) else { return };
    let on = |_: &klnmf::Info| std::ops::ControlFlow::Continue(());
    if let Some(found) = outcome::result(run.to_end(on)) {
        assert!(problems::sound(&found.w) && problems::sound(&found.h));
    }
}

/// A stored fit of `klnmf rank` or `klnmf consensus`.
pub fn fit(data: &[u8]) {
    let found = outcome::result(read_model::<f64>(&file("fit.npz", data))).and_then(Fit::from_model);
    if let Some(fit) = found {
        assert_eq!(fit.job.to_string().parse::<Job>().expect("a name"), fit.job);
        outcome::note(fit.held_out.len());
    }
}

/// A list of names.
pub fn names(data: &[u8]) {
    if let Some(names) = outcome::result(read_names(&file("names.txt", data))) {
        assert!(names.iter().all(|name| !name.contains('\n')));
        outcome::note(names.len());
    }
}

/// A folder with one image as a grey map, or as PNG.
pub fn images(data: &[u8]) {
    let name = if data.first() == Some(&b'P') { "a.pgm" } else { "a.png" };
    let path = folder("images", &[(name, data)]);
    if let Some((v, width)) = outcome::result(images::read_folder(&path).map_err(|why| format!("{why:#}"))) {
        assert!(v.cols() == 1 && v.rows() % width == 0);
        assert!(v.as_slice().iter().all(|x| (0.0..=255.0).contains(x)));
    }
    fs::remove_file(path.join(name)).expect("the scratch folder is writable");
}

/// The files of a folder in the order of [`PACKED`].
pub(crate) fn packed_files(folder: &Path) -> Vec<Vec<u8>> {
    PACKED.iter().map(|name| fs::read(folder.join(name)).unwrap_or_default()).collect()
}
