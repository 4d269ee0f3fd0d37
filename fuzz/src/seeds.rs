//! Good inputs, made by our own writers where we have them.

use crate::mutate::Random;
use crate::{files, joined, problems};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use klnmf::{Mat, Problem, Solver};
use klnmf_audio::{Sound, WavFormat, write_wav};
use klnmf_io::{Checkpoint, Model, data_hash_text, fingerprint};
use klnmf_select::Fit;
use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// The files of tests that numpy, scipy, anndata and encoders of sound wrote.
macro_rules! fixtures {
    ($folder:literal: $($name:literal),* $(,)?) => {
        vec![$(include_bytes!(concat!("../../crates/", $folder, "/", $name)).to_vec()),*]
    };
}

/// What a writer writes to the path that it gets.
fn written<E: std::fmt::Debug>(name: &str, write: impl FnOnce(&Path) -> Result<(), E>) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("temporary folders can be made");
    let path = folder.path().join(name);
    write(&path).expect("a good value can be written");
    fs::read(&path).expect("what was written can be read")
}

fn counts() -> Mat<f64> {
    Mat::from_fn(3, 4, |i, j| ((i * 5 + j * 3) % 4) as f64)
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{prefix}{i}")).collect()
}

pub(crate) fn gzipped(all: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let gzip = |data: Vec<u8>| {
        let mut out = GzEncoder::new(Vec::new(), Compression::fast());
        out.write_all(&data).expect("memory is writable");
        out.finish().expect("memory is writable")
    };
    all.into_iter().map(gzip).collect()
}

pub(crate) fn npy() -> Vec<Vec<u8>> {
    let mut all = fixtures!("klnmf-io/tests/fixtures": "c_be_f8.npy", "c_le_f2.npy", "c_bool.npy", "f_be_i4.npy",
        "complex.npy", "record.npy", "text.npy", "vector.npy", "cube.npy", "object.npy", "scalar.npy");
    all.push(written("v.npy", |path| klnmf_io::write_npy(path, &counts())));
    all.push(written("v.npy", |path| klnmf_io::write_npy(path, &counts().cast::<f32>())));
    all
}

pub(crate) fn npz() -> Vec<Vec<u8>> {
    let mut all = fixtures!("klnmf-io/tests/fixtures": "csr.npz", "csc.npz", "coo.npz", "coo_coords.npz",
        "csr_array.npz", "csr_wide.npz", "bsr.npz", "dia.npz", "one.npz", "several.npz", "v.npz", "none.npz");
    let stored: Vec<Vec<u8>> = all.iter().map(|data| uncompressed(data)).collect();
    all.extend(stored);
    all
}

/// The same archive without compression, so that damage hits the arrays.
fn uncompressed(data: &[u8]) -> Vec<u8> {
    let mut archive = ZipArchive::new(Cursor::new(data)).expect("a good archive");
    let mut out = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for at in 0..archive.len() {
        let mut member = archive.by_index(at).expect("a good member");
        let name = member.name().expect("a good name").into_owned();
        out.start_file(name, options).expect("memory is writable");
        std::io::copy(&mut member, &mut out).expect("memory is writable");
    }
    out.finish().expect("memory is writable").into_inner()
}

pub(crate) fn mtx() -> Vec<Vec<u8>> {
    let mut all = fixtures!("klnmf-io/tests/fixtures": "sparse.mtx", "dense.mtx");
    all.push(b"%%MatrixMarket matrix coordinate pattern symmetric\n% note\n3 3 2\n2 1\n3 3\n".to_vec());
    all.push(b"%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n".to_vec());
    all.push(
        b"%%MatrixMarket matrix coordinate integer general\n4 3 4\n1 1 5\n4 3 2\n2 2 7\n1 1 1\n".to_vec(),
    );
    all
}

pub(crate) fn csv() -> Vec<Vec<u8>> {
    let (rows, cols) = (names("row", 3), names("=col", 4));
    let named = written("v.csv", |path| klnmf_io::write_csv(path, &counts(), Some(&rows), Some(&cols)));
    let texts =
        ["1,2\n3,4\n", "a b\n1 2\n", "\"x,\"\"y\";2\n3;4,5\n", "# note\n1\t2.5e3\n", "gene,a,b\ng1,0,7\r\n"];
    [named].into_iter().chain(texts.map(|text| text.as_bytes().to_vec())).collect()
}

fn unzipped(all: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let unzip = |data: Vec<u8>| {
        let mut out = Vec::new();
        GzDecoder::new(&data[..]).read_to_end(&mut out).expect("a good fixture");
        out
    };
    all.into_iter().map(unzip).collect()
}

pub(crate) fn h5ad() -> Vec<Vec<u8>> {
    unzipped(
        fixtures!("klnmf-io/tests/fixtures/hdf5": "csc_gzip.h5ad.gz", "csc_lzf.h5ad.gz", "csr_plain.h5ad.gz",
        "dense_gzip.h5ad.gz", "dense_plain.h5ad.gz", "newest.h5ad.gz", "without_x.h5ad.gz", "claims_dense.h5ad.gz",
        "claims_shape.h5ad.gz"),
    )
}

pub(crate) fn h5() -> Vec<Vec<u8>> {
    unzipped(fixtures!("klnmf-io/tests/fixtures/hdf5": "tenx2.h5.gz", "tenx3.h5.gz"))
}

pub(crate) fn tenx_folder() -> Vec<Vec<u8>> {
    let matrix = b"%%MatrixMarket matrix coordinate integer general\n3 2 3\n1 1 5\n3 2 2\n2 2 7\n".to_vec();
    let features = b"E1\tA\tGene Expression\nE2\tB\tGene Expression\nE3\tC\tGene Expression\n".to_vec();
    vec![joined(&[matrix, features, b"AAAC-1\nAAAG-1\n".to_vec()])]
}

pub(crate) fn packed_folder() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("temporary folders can be made");
    let sparse =
        b"%%MatrixMarket matrix coordinate integer general\n3 4 3\n1 1 5\n3 4 200\n2 2 70000\n".to_vec();
    let files =
        [("s.mtx", sparse), ("c.csv", csv().swap_remove(0)), ("f.csv", b",a,b\nx,0.5,1\ny,2,1e9\n".to_vec())];
    let convert = |(name, data): (&str, Vec<u8>)| {
        let (from, to) = (folder.path().join(name), folder.path().join(name).with_extension("klnmf"));
        fs::write(&from, data).expect("a temporary folder is writable");
        klnmf_io::convert(&from, None, &to, 1 << 20).expect("good data");
        joined(&files::packed_files(&to))
    };
    files.into_iter().map(convert).collect()
}

pub(crate) fn models() -> Vec<Vec<u8>> {
    let model = |named: bool| Model {
        w: Mat::from_fn(3, 2, |i, k| (i + k) as f64),
        h: Mat::from_fn(2, 4, |k, j| (k * j) as f64 + 0.5),
        metadata: "{\"seed\": 1, \"divergence\": 2.5, \"version\": \"0.1.0\"}".into(),
        row_names: named.then(|| names("row", 3)),
        col_names: named.then(|| names("col", 4)),
        part_names: named.then(|| names("part", 2)),
        columns: if named { vec![("gaps".into(), vec![0.0, 1.0, 2.0, f64::INFINITY])] } else { Vec::new() },
    };
    let written = |named| written("m.npz", |path| klnmf_io::write_model(path, &model(named)));
    [written(true), written(false)].iter().flat_map(|data| [data.clone(), uncompressed(data)]).collect()
}

pub(crate) fn fits() -> Vec<Vec<u8>> {
    let fit = |name: &str| Fit {
        job: name.parse().expect("a good name"),
        w: Mat::from_fn(3, 2, |i, k| (i + k) as f64),
        h: Mat::from_fn(2, 4, |k, j| (k * j) as f64 + 0.5),
        divergence: 1.5,
        relative_gap: 1e-3,
        iterations: 12,
        converged: true,
        held_out: if name.contains("fold") { vec![0.5; 4] } else { Vec::new() },
    };
    let stored = |name| written("f.npz", |path| klnmf_io::write_model(path, &fit(name).to_model()));
    ["r02-start001", "r02-boot007", "r02-fold1of3", "r02-fold0of2-size2.5"]
        .map(|name| uncompressed(&stored(name)))
        .into()
}

pub(crate) fn images() -> Vec<Vec<u8>> {
    let png = klnmf_report::picture::png(&[0, 50, 100, 150, 200, 255], 3, 2).expect("a good picture");
    let text = b"P2\n# note\n3 2 255\n0 1 2\n3 4 255\n".to_vec();
    vec![text, [b"P5 3 2 255\n".as_slice(), &[0, 1, 2, 3, 4, 255]].concat(), png]
}

pub(crate) fn checkpoints() -> Vec<Vec<u8>> {
    let v = files::of_checkpoints();
    let problem = Problem::new(&v, 1).expect("good data");
    let stored = |solver: Solver| {
        let settings = problems::settings(solver);
        let (w, h) = problem.init(2, &settings).expect("good settings");
        let mut run = problem.run(w, h, &settings).expect("good factors");
        run.advance();
        let fingerprint = fingerprint::<f64>(&data_hash_text((&v).into()), false);
        let checkpoint =
            Checkpoint { state: run.state(), shape: (4, 5), fingerprint, given: 0, part_names: None };
        uncompressed(&written("c.npz", |path| klnmf_io::write_checkpoint(path, &checkpoint)))
    };
    Solver::ALL.map(stored).into()
}

pub(crate) fn wav() -> Vec<Vec<u8>> {
    let wave = |c: usize| (0..60).map(|t| (t as f64 * 0.3 + c as f64).sin()).collect();
    let sound = Sound { rate: 8000, channels: vec![wave(0), wave(1)], notes: Vec::new() };
    let formats = [WavFormat::Int8, WavFormat::Int16, WavFormat::Int24, WavFormat::Int32, WavFormat::Float32];
    let file = |format| written("s.wav", |path| write_wav(path, &sound, format).map(drop));
    formats.map(file).into()
}

pub(crate) fn flac() -> Vec<Vec<u8>> {
    fixtures!("klnmf-audio/tests/data": "two.flac")
}

pub(crate) fn ogg() -> Vec<Vec<u8>> {
    fixtures!("klnmf-audio/tests/data": "two.ogg", "long.ogg")
}

pub(crate) fn mp3() -> Vec<Vec<u8>> {
    fixtures!("klnmf-audio/tests/data": "two.mp3")
}

pub(crate) fn texts() -> Vec<Vec<u8>> {
    let texts = [
        "id,text\n1,\"a cat, a dog\"\n2,the ’quoted’ bird\n",
        "id\ttext\n1\tone two\n2\tthree\n",
        "{\"id\": \"a\", \"text\": \"one two\"}\n{\"id\": 2, \"text\": \"thr\\u00e9e\\n\"}\n",
        "\u{feff}plain words\n\nmore\n",
        "naïve déjà-vu 北京 ẞ don't\r\nsecond line\r\n",
    ];
    let wide = |order: fn(u16) -> [u8; 2]| "\u{feff}wide letters\n".encode_utf16().flat_map(order).collect();
    let mut all: Vec<Vec<u8>> = texts.map(|text| text.as_bytes().to_vec()).into();
    all.extend([wide(u16::to_le_bytes), wide(u16::to_be_bytes), b"latin \xe9t\xe9\n".to_vec()]);
    all
}

pub(crate) fn problems() -> Vec<Vec<u8>> {
    let mut random = Random(1);
    (0..64).map(|_| (0..100).map(|_| (random.below(232)) as u8).collect()).collect()
}
