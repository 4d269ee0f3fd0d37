//! Documents from folders.

use crate::common::*;
use klnmf_text::{ReadOptions, read_documents};
use std::fs;

#[test]
fn a_document_per_file() {
    let folder =
        folder(&[("b.txt", "two\nlines\n"), ("a/z.TXT", "deep"), ("a.txt", ""), ("c/d/e.txt", "deeper")]);
    let documents = read_folder(folder.path()).unwrap();
    assert_eq!(documents.names, ["a.txt", "a/z.TXT", "b.txt", "c/d/e.txt"]);
    assert_eq!(documents.texts, ["", "deep", "two\nlines\n", "deeper"]);
    assert!(documents.notes.is_empty());
}

#[test]
fn other_files_are_noted() {
    let one = folder(&[("a.txt", "a"), ("b.md", "b")]);
    assert_eq!(read_folder(one.path()).unwrap().notes, ["1 file that does not end in .txt is left out"]);
    let three = folder(&[("a.txt", "a"), ("b.md", "b"), ("txt", "c"), ("d/a.txt.gz", "d")]);
    let documents = read_folder(three.path()).unwrap();
    assert_eq!(documents.names, ["a.txt"]);
    assert_eq!(documents.notes, ["3 files that do not end in .txt are left out"]);
}

#[test]
fn binary_files_are_left_out() {
    let wide = utf16("wide", u16::to_le_bytes);
    let files = [("a.txt", &b"text"[..]), ("b.txt", b"\x7fELF\x00"), ("c.txt", &wide), ("d/e.txt", b"\x00")];
    let documents = read_folder(folder(&files).path()).unwrap();
    assert_eq!(documents.texts, ["text", "wide"]);
    assert_eq!(documents.notes, ["2 files are binary and are left out, the first is b.txt"]);
    let documents = read_folder(folder(&files[..3]).path()).unwrap();
    assert_eq!(documents.notes, ["b.txt is binary and is left out"]);
    let only = message(read_folder(folder(&files[1..2]).path()));
    assert!(only.contains("all .txt files in this folder are binary"), "{only}");
}

#[test]
fn encodings_are_noted_once() {
    let files = [("a.txt", &b"a"[..]), ("x/b.txt", b"caf\xe9"), ("y.txt", &gzip(b"\xfc"))];
    let documents = read_folder(folder(&files).path()).unwrap();
    assert_eq!(documents.texts, ["a", "café", "ü"]);
    assert_eq!(
        documents.notes,
        ["2 files are not UTF-8 and were read as Windows-1252, the first is x/b.txt"]
    );
}

#[test]
fn nothing_to_read() {
    let none: [(&str, &str); 0] = [];
    let empty = message(read_folder(folder(&none).path()));
    assert!(empty.contains("none of the 0 files in this folder ends in .txt: save each"), "{empty}");
    let other = message(read_folder(folder(&[("a.md", "a"), ("b/c.pdf", "b")]).path()));
    assert!(other.contains("none of the 2 files"), "{other}");
    let column = ReadOptions { column: Some("x".into()), id: None };
    let unused = message(read_documents(folder(&[("a.txt", "a")]).path(), &column));
    assert!(unused.contains("leave --column out"), "{unused}");
}

#[cfg(unix)]
#[test]
fn links_do_no_harm() {
    use std::os::unix::fs::symlink;
    let folder = folder(&[("a/one.txt", "one"), ("b/two.txt", "two")]);
    let path = |name: &str| folder.path().join(name);
    symlink(folder.path(), path("a/back")).unwrap();
    symlink(path("b"), path("a/across")).unwrap();
    symlink(path("a"), path("b/across")).unwrap();
    symlink(path("loop.dir"), path("loop.dir")).unwrap();
    symlink(path("a/one.txt"), path("linked.txt")).unwrap();
    let documents = read_folder(folder.path()).unwrap();
    // Every folder is read once and by its own name, a linked file like any other.
    assert_eq!(documents.names, ["a/one.txt", "b/two.txt", "linked.txt"]);
    assert_eq!(documents.texts, ["one", "two", "one"]);

    let outside = crate::common::folder(&[("three.txt", "three")]);
    for link in "tsrqponmlkji".chars() {
        symlink(outside.path(), path(&link.to_string())).unwrap();
    }
    assert_eq!(read_folder(folder.path()).unwrap().names[2], "i/three.txt", "the first link counts");

    symlink(path("nowhere"), path("lost.txt")).unwrap();
    let lost = message(read_folder(folder.path()));
    assert!(lost.starts_with("lost.txt: No such file"), "{lost}");
}

#[cfg(unix)]
#[test]
fn forbidden_files_are_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder(&[("a/one.txt", "one")]);
    for (name, open) in [("a/one.txt", 0o600), ("a", 0o700)] {
        let path = folder.path().join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        // The administrator may read everything.
        if fs::read(&path).is_err_and(|why| why.kind() == std::io::ErrorKind::PermissionDenied) {
            let message = message(read_folder(folder.path()));
            assert!(message.contains("ermission denied"), "{message}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(open)).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn pipes_are_not_waited_on() {
    let folder = folder(&[("a.txt", "a")]);
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("b.txt")).status();
    if made.is_ok_and(|status| status.success()) {
        assert_eq!(read_folder(folder.path()).unwrap().names, ["a.txt"]);
    }
}
