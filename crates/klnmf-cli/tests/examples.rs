//! The commands in the pages and at the end of every help run as they are.

use crate::common::{Place, counts_csv, counts_mtx, sounds};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What `klnmf` is called with in a shell block, line by line. Every other command there must be known.
fn commands(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap().replace("\\\n", " ");
    let blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let lines = blocks.flat_map(str::lines).map(|line| line.split('#').next().unwrap().trim());
    let ours = |line: &str| {
        let known = ["cargo ", "pip ", "python ", "mpirun ", "srun ", "scripts/"]
            .iter()
            .any(|start| line.starts_with(start));
        assert!(line.starts_with("klnmf ") || known || line.is_empty(), "{page:?}: {line}");
        line.strip_prefix("klnmf ").map(str::to_owned)
    };
    lines.filter_map(ours).collect()
}

/// The files that the examples name.
fn prepared() -> Place {
    let place = Place::new();
    for name in ["counts.csv", "catalogue.csv"] {
        place.write(name, counts_csv(30, 40));
    }
    for name in ["cosmic.csv", "signatures.csv"] {
        place.write(name, counts_csv(30, 4).replace("sample", "SBS"));
    }
    place.write("counts.mtx.gz", gzip(counts_mtx(30, 40).as_bytes()));
    let v = klnmf_io::read::<f64>(&place.path("counts.csv")).unwrap();
    let klnmf_io::Stored::Dense(v) = v.matrix else { panic!("a table is dense") };
    for name in ["V.npy", "cells.npy", "documents.npy"] {
        klnmf_io::write_npy(&place.path(name), &v).unwrap();
    }
    for name in ["cells.h5ad", "huge.h5ad"] {
        let packed = root().join("crates/klnmf-io/tests/fixtures/hdf5/csr_gzip.h5ad.gz");
        let mut bytes = Vec::new();
        let mut plain = flate2::read::GzDecoder::new(fs::File::open(packed).unwrap());
        std::io::copy(&mut plain, &mut bytes).unwrap();
        place.write(name, bytes);
    }
    fs::create_dir(place.path("filtered_feature_bc_matrix")).unwrap();
    place.write("filtered_feature_bc_matrix/matrix.mtx.gz", gzip(counts_mtx(30, 40).as_bytes()));
    place.write("filtered_feature_bc_matrix/features.tsv.gz", gzip(lines(30, "gene").as_bytes()));
    place.write("filtered_feature_bc_matrix/barcodes.tsv.gz", gzip(lines(40, "cell").as_bytes()));
    fs::create_dir(place.path("articles")).unwrap();
    for d in 0..30 {
        let words: String = (0..40).map(|n| format!("word{} ", (d * 7 + n * n) % 60)).collect();
        place.write(&format!("articles/{d}.txt"), words);
    }
    sounds::duo(&place);
    fs::copy(place.path("mix.wav"), place.path("song.wav")).unwrap();
    place
}

fn lines(count: usize, name: &str) -> String {
    (0..count).map(|i| format!("{name}{i}\n")).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// The line with what makes it small enough for a test: the fixture of AnnData has twelve entries, an archive
/// of cells is written by other programs, and the paper's experiments have a tiny size. Fewer ranks and
/// replicates are tried.
fn small(line: &str) -> String {
    let line = if line.contains(".h5ad") || line.contains(".klnmf") {
        line.replace("--rank 20", "--rank 2").replace("--rank 30", "--rank 3")
    } else {
        line.replace("cells.npz", "cells.npy")
    };
    let line = line.replace("--to 20", "--to 8").replace("--replicates 100", "--replicates 4");
    if line.starts_with("reproduce") { format!("{line} --tiny") } else { line }
}

#[test]
fn the_pages_run_as_they_are() {
    let mut pages = vec![root().join("README.md")];
    pages.extend(fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    let mut count = 0;
    for page in pages.iter().filter(|page| page.extension().is_some_and(|ending| ending == "md")) {
        let place = prepared();
        for line in commands(page) {
            place.ok(&small(&line));
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}

/// `scripts/test` runs the example, and rustfmt decides the order of its imports.
#[test]
fn the_rust_of_the_pages_is_an_example() {
    let example = fs::read_to_string(root().join("crates/klnmf/examples/readme.rs")).unwrap();
    let example: Vec<&str> = example.lines().map(str::trim).collect();
    for page in ["README.md", "crates/klnmf/README.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let blocks: Vec<&str> =
            text.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
        assert_eq!(blocks.len(), 1, "{page}");
        for line in blocks[0].lines().map(str::trim).filter(|line| !line.starts_with("use klnmf::")) {
            assert!(example.contains(&line), "{page}: {line}");
        }
    }
}
