//! Conversion into a folder of packed lines: the same matrix, the same bits of a factorisation, and no half
//! results.

use crate::common::*;
use crate::hdf5::unpacked;
use klnmf::{Problem, Scalar, Settings, Solver};
use klnmf_io::{Facts, Folder, Stored, Table, convert, data_hash_text, peek, read, read_layer};
use std::fs;
use std::path::{Path, PathBuf};

/// A sparse matrix in MatrixMarket, in no order, with one entry given twice.
fn market(rows: usize, cols: usize) -> String {
    let place = |n: usize| (n * 7919 % rows + 1, n * 104_729 % cols + 1);
    let mut entries: Vec<_> = (0..rows * cols / 5).map(place).collect();
    entries.sort();
    entries.dedup();
    entries.push(entries[3]);
    entries.sort_by_key(|(i, j)| (i * 31 + j * 17) % 101);
    let lines = entries.iter().map(|(i, j)| format!("{i} {j} {}\n", (i * j) % 7 + 1));
    let count = entries.len();
    format!(
        "%%MatrixMarket matrix coordinate integer general\n{rows} {cols} {count}\n{}",
        lines.collect::<String>()
    )
}

fn converted(path: &Path, layer: Option<&str>, memory: u64) -> PathBuf {
    let to = path.with_extension(format!("{memory}.klnmf"));
    convert(path, layer, &to, memory).unwrap();
    to
}

fn bits<T: Scalar>(table: &Table<T>) -> Vec<(usize, usize, u64)> {
    let mut entries: Vec<_> =
        table.matrix.view().entries().map(|(i, j, x)| (i, j, x.to_f64().to_bits())).collect();
    entries.sort();
    entries
}

fn same(path: &Path, layer: Option<&str>, memory: u64) {
    let want = read_layer::<f64>(path, layer).unwrap();
    let folder = converted(path, layer, memory);
    let found = read::<f64>(&folder).unwrap();
    assert_eq!(bits(&found), bits(&want), "{path:?} {layer:?} {memory}");
    assert_eq!((&found.row_names, &found.col_names), (&want.row_names, &want.col_names));
    let summary = peek(&folder).unwrap();
    assert_eq!(summary.shape, Some((want.matrix.rows() as u64, want.matrix.cols() as u64)));
    assert_eq!(summary.kind.ends_with("dense"), matches!(want.matrix, Stored::Dense(_)));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_matrix_is_the_same_whatever_the_memory() {
    let file = temporary("a.mtx", market(40, 130).as_bytes());
    let array = temporary("b.mtx", b"%%MatrixMarket matrix array real general\n2 2\n1\n0.1\n0\n4\n");
    for memory in [1, 5_000, 1 << 30] {
        same(&file.path, None, memory);
        same(&array.path, None, memory);
        for name in ["csr_gzip.h5ad", "csc_lzf.h5ad", "dense_plain.h5ad"] {
            let file = temporary(name, &unpacked(name));
            [None, Some("counts"), Some("raw")].into_iter().for_each(|layer| same(&file.path, layer, memory));
        }
        let file = temporary("newest.h5ad", &unpacked("newest.h5ad"));
        same(&file.path, Some("half"), memory);
        for name in ["coo.npz", "csr.npz", "v.npz", "c_le_f8.npy"] {
            same(&temporary(name, &fs::read(fixture(name)).unwrap()).path, None, memory);
        }
        let file = temporary("tenx3.h5", &unpacked("tenx3.h5"));
        same(&file.path, None, memory);
    }
}

/// From disk as in memory, to the bit: every solver, both precisions, dense and sparse, any threads and
/// limits.
#[test]
fn factorisations_have_the_same_bits() {
    let sparse = temporary("a.mtx", market(40, 130).as_bytes());
    let dense: String = (0..30 * 70).map(|n| format!("{}\n", (n * n) % 11)).collect();
    let dense =
        temporary("b.mtx", format!("%%MatrixMarket matrix array real general\n30 70\n{dense}").as_bytes());
    for path in [&sparse.path, &dense.path] {
        for memory in [1, 1 << 30] {
            let folder = Folder::open(&converted(path, None, memory)).unwrap();
            for (solver, threads) in
                [(Solver::Auto, 1), (Solver::Mu, 2), (Solver::Fpa, 3), (Solver::Newton, 1)]
            {
                same_bits::<f32>(path, &folder, solver, threads);
                same_bits::<f64>(path, &folder, solver, threads);
            }
        }
    }
}

fn same_bits<T: Scalar>(path: &Path, folder: &Folder, solver: Solver, threads: usize) {
    let settings = Settings { solver, max_iter: 15, tol: 0.0, ..Settings::default() };
    let want = klnmf::factorize(read::<T>(path).unwrap().matrix.view(), 3, &settings).unwrap();
    let problem = Problem::<T>::from_lines(&folder.columns, &folder.rows, threads).unwrap();
    let found = problem.factorize(3, &settings).unwrap();
    assert_eq!((found.w, found.h), (want.w, want.h), "{solver} {path:?}");
}

/// Every damaged byte of a folder is found, and so is a file that is cut short.
#[test]
fn damage_is_found() {
    let file = temporary("csr_gzip.h5ad", &unpacked("csr_gzip.h5ad"));
    let folder = converted(&file.path, Some("counts"), 1 << 20);
    let files = ["header", "columns", "rows", "columns.ends", "rows.ends", "row_names.npy", "col_names.npy"];
    assert_eq!(fs::read_dir(&folder).unwrap().count(), files.len());
    for name in files {
        let good = fs::read(folder.join(name)).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x55;
            fs::write(folder.join(name), bad).unwrap();
            let found = Folder::open(&folder).map_err(|why| why.to_string()).and_then(|folder| {
                let problem = Problem::<f64>::from_lines(&folder.columns, &folder.rows, 1);
                problem.map(|_| ()).map_err(|why| why.to_string())
            });
            let message = found.expect_err(&format!("byte {at} of {name}"));
            assert!(message.contains("damaged") && message.contains("convert"), "{name} {at}: {message}");
        }
        // The end of a line that follows the checksum of the header does not matter.
        let cut = good.len() - if name == "header" { 2 } else { 1 };
        fs::write(folder.join(name), &good[..cut]).unwrap();
        assert!(Folder::open(&folder).is_err());
        fs::write(folder.join(name), good).unwrap();
    }
    for header in ["", "klnmf packed matrix, version 1\nrows 9\n", "klnmf packed matrix, version 2\nrows 9\n"]
    {
        fs::write(folder.join("header"), header).unwrap();
        assert!(message(read::<f64>(&folder)).contains("convert the data again"));
    }
}

/// Two matrices of the same shape, with as many entries in the same places: no file of one passes in the
/// other.
#[test]
fn files_of_another_folder_are_refused() {
    let other = market(9, 14).replace("general\n", "general\n%\n");
    let files = [temporary("a.mtx", market(9, 14).as_bytes()), temporary("a.mtx", other.as_bytes())];
    let [mine, theirs] = [&files[0], &files[1]].map(|file| converted(&file.path, None, 1 << 20));
    let open = |name: &str| {
        let folder = Folder::open(&mine).map_err(|why| why.to_string())?;
        let problem = Problem::<f64>::from_lines(&folder.columns, &folder.rows, 1);
        problem.map(|_| ()).map_err(|why| format!("{name} {why}"))
    };
    assert_eq!(open(""), Ok(()));
    for names in [&["header"][..], &["columns"], &["columns", "columns.ends"], &["rows", "rows.ends"]] {
        let kept: Vec<_> = names.iter().map(|name| fs::read(mine.join(name)).unwrap()).collect();
        let copied = names.iter().map(|name| fs::copy(theirs.join(name), mine.join(name)).unwrap());
        assert!(copied.sum::<u64>() > 0);
        let message = open(names[0]).expect_err(names[0]);
        assert!(message.contains("damaged"), "{message}");
        names.iter().zip(kept).for_each(|(name, bytes)| fs::write(mine.join(name), bytes).unwrap());
    }
    assert_eq!(open(""), Ok(()));
}

/// Conversions of one file at the same time all succeed, and leave one folder.
#[test]
fn conversions_at_the_same_time() {
    let file = temporary("a.mtx", market(40, 130).as_bytes());
    let to = file.folder.path().join("a.klnmf");
    for _ in 0..10 {
        std::thread::scope(|scope| {
            let convert = || convert(&file.path, None, &to, 1000).map(|folder| folder.facts);
            let all = [(); 4].map(|()| scope.spawn(convert));
            let facts = all.map(|one| one.join().unwrap().unwrap());
            assert!(facts.iter().all(|one| *one == facts[0]));
        });
        assert_eq!(fs::read_dir(file.folder.path()).unwrap().count(), 2);
        let names = fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(names.into_iter().all(|name| name != "lock"));
        fs::remove_dir_all(&to).unwrap();
    }
}

/// The header has the facts of the matrix, so that nothing else need be read.
#[test]
fn the_header_describes_the_matrix() {
    let file = temporary("csr_gzip.h5ad", &unpacked("csr_gzip.h5ad"));
    let folder = converted(&file.path, Some("counts"), 1 << 20);
    let v = read_layer::<f64>(&file.path, Some("counts")).unwrap().matrix;
    ["columns", "rows", "row_names.npy"].iter().for_each(|name| fs::remove_file(folder.join(name)).unwrap());
    let facts = Facts::read(&folder).unwrap();
    assert_eq!((facts.rows, facts.cols, facts.sparse), (v.rows(), v.cols(), true));
    assert_eq!((facts.nonzero, facts.sum), (v.view().nnz() as u64, v.view().sum()));
    assert_eq!((facts.longest, facts.empty), (v.view().longest(), v.view().empty()));
    assert_eq!(facts.hash, data_hash_text(v.view()));
    assert_eq!(facts.transposed_hash, data_hash_text(v.view().transpose()));
    assert!(peek(&folder).unwrap().row_names);
}

/// What fails leaves nothing, an existing folder is used if it is of the same data, and others are kept.
#[test]
fn whole_or_nothing() {
    let file = temporary("a.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 3\n2 2 -4\n");
    let (folder, to) = (file.folder.path(), file.folder.path().join("a.klnmf"));
    let count = || fs::read_dir(folder).unwrap().count();
    assert!(message(convert(&file.path, None, &to, 1000)).contains("[1, 1] = -4 is negative"));
    assert_eq!(count(), 1);
    fs::write(&file.path, b"%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 3\n2 2 4\n").unwrap();
    assert!(message(convert(&file.path, None, &to, 1000)).contains("ends after 2"));
    assert_eq!(count(), 1);
    fs::write(&file.path, b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 3\n2 2 4\n").unwrap();
    convert(&file.path, None, &to, 1000).unwrap();
    let written = fs::metadata(to.join("columns")).unwrap().modified().unwrap();
    convert(&file.path, None, &to, 1000).unwrap();
    assert_eq!(fs::metadata(to.join("columns")).unwrap().modified().unwrap(), written);
    assert_eq!(count(), 2);
    // What a killed conversion has left is removed, and a folder of somebody else is not.
    fs::remove_dir_all(&to).unwrap();
    for (hidden, lock) in [(".a.klnmf.Xy12", "lock"), (".a.klnmf.other", "key")] {
        fs::create_dir(folder.join(hidden)).unwrap();
        fs::write(folder.join(hidden).join(lock), b"").unwrap();
    }
    convert(&file.path, None, &to, 1000).unwrap();
    assert!(!folder.join(".a.klnmf.Xy12").exists() && folder.join(".a.klnmf.other").exists());
    let names: Vec<_> = fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.contains(&"lock".into()), "{names:?}");
    let other = temporary("b.mtx", &fs::read(&file.path).unwrap());
    let refused = message(convert(&other.path, None, &to, 1000));
    assert!(refused.contains("it holds the data of") && refused.contains("remove this folder"), "{refused}");
    // A changed file is noticed, too, by a new conversion and by the folder.
    assert!(!Folder::open(&to).unwrap().is_stale());
    fs::write(&file.path, b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 5\n2 2 4 \n").unwrap();
    assert!(Folder::open(&to).unwrap().is_stale());
    let refused = message(convert(&file.path, None, &to, 1000));
    assert!(refused.contains("has changed since this folder was made"), "{refused}");
    assert_eq!(bits(&read::<f64>(&to).unwrap()).len(), 2);
    let nowhere = folder.join("none/a.klnmf");
    assert!(message(convert(&file.path, None, &nowhere, 1000)).starts_with("cannot write"));
}

/// Numpy's arrays of text end with zeros, so such names are read without them everywhere.
#[test]
fn names_that_end_in_zeros_survive() {
    let file = temporary("a.csv", b",a\0\0,b\nx\0,1,2\n");
    let found = read::<f64>(&file.path).unwrap();
    assert_eq!((found.row_names.unwrap()[0].as_str(), found.col_names.unwrap()[0].as_str()), ("x", "a"));
    same(&file.path, None, 1 << 20);
}

#[test]
fn empty_matrices_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (folder.path().join("v.mtx"), folder.path().join("v.klnmf"));
    for shape in ["0 4", "4 0"] {
        fs::write(&path, format!("%%MatrixMarket matrix array real general\n{shape}\n")).unwrap();
        let why = convert(&path, None, &to, 1 << 20).err().unwrap().to_string();
        assert!(why.contains("the matrix is empty"), "{why}");
        assert!(!to.exists());
    }
}

/// The header holds the name of the source as text.
#[cfg(target_os = "linux")]
#[test]
fn sources_with_odd_names() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    for name in [&b"caf\xe9.mtx"[..], b"two\nlines.mtx"] {
        let file = folder.path().join(std::ffi::OsStr::from_bytes(name));
        fs::write(&file, market(6, 9)).unwrap();
        let to = folder.path().join("odd.klnmf");
        convert(&file, None, &to, 1 << 20).unwrap();
        convert(&file, None, &to, 1 << 20).unwrap();
        fs::remove_dir_all(to).unwrap();
    }
}

/// Entries that are given several times are added up before they are checked, as in memory.
#[test]
fn repeated_entries_are_checked_as_their_sum() {
    let of = |second: &str| {
        format!("%%MatrixMarket matrix coordinate real general\n2 2 3\n2 1 {second}\n1 1 1\n2 1 5\n")
    };
    same(&temporary("sum.mtx", of("-2").as_bytes()).path, None, 1 << 20);
    for (second, text) in [("-7", "V[1, 0] = -2 is negative"), ("1e999", "not a finite number")] {
        let file = temporary("bad.mtx", of(second).as_bytes());
        let refused = message(convert(&file.path, None, &file.path.with_extension("klnmf"), 1 << 20));
        assert!(refused.contains(text), "{refused}");
    }
}
