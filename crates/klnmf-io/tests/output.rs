//! Writing is all or nothing.

use crate::common::*;
use klnmf_io::{Error, NewFile, Target, atomically};
use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_new_file_and_a_replaced_one() {
    let file = temporary("out.csv", b"old");
    let new = file.folder.path().join("new.csv");
    for path in [&file.path, &new] {
        atomically(path, |out| {
            out.write_all(b"xbc")?;
            out.seek(SeekFrom::Start(0))?;
            out.write_all(b"a")
        })
        .unwrap();
        assert_eq!(fs::read(path).unwrap(), b"abc");
    }
    assert_eq!(files(file.folder.path()).len(), 2);
}

#[test]
fn a_failure_leaves_the_old_file() {
    let file = temporary("out.csv", b"old");
    let result = atomically(&file.path, |out| {
        out.write_all(b"half")?;
        out.flush()?;
        assert_eq!(files(file.folder.path()).len(), 2);
        Err(io::Error::other("disk\nfull"))
    });
    assert!(matches!(&result, Err(Error::Write { .. })));
    assert!(message(result).ends_with("out.csv: disk\\nfull"));
    assert_eq!(fs::read(&file.path).unwrap(), b"old");
    assert_eq!(files(file.folder.path()), ["out.csv"]);
}

#[test]
fn a_panic_leaves_the_old_file() {
    let file = temporary("out.csv", b"old");
    let path = file.path.clone();
    let panicked = std::thread::spawn(move || atomically(&path, |_| panic!("on purpose"))).join();
    assert!(panicked.is_err());
    assert_eq!(fs::read(&file.path).unwrap(), b"old");
    assert_eq!(files(file.folder.path()), ["out.csv"]);
}

#[test]
fn places_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    for path in
        [folder.path().join("no/such/folder.csv"), folder.path().to_owned(), Path::new("/").join("..")]
    {
        assert!(message(atomically(&path, |out| out.write_all(b"x"))).starts_with("cannot write "));
    }
    assert!(files(folder.path()).is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn devices_are_written_to_and_stay() {
    use std::os::unix::fs::FileTypeExt;
    let full = Path::new("/dev/full");
    assert!(message(atomically(full, |out| out.write_all(b"x"))).contains("No space left"));
    assert!(fs::metadata(full).unwrap().file_type().is_char_device());
    atomically(Path::new("/dev/null"), |out| out.write_all(b"x")).unwrap();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}

#[test]
#[cfg(unix)]
fn permissions_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let file = temporary("out.csv", b"old");
    fs::set_permissions(&file.path, fs::Permissions::from_mode(0o640)).unwrap();
    atomically(&file.path, |out| out.write_all(b"new")).unwrap();
    assert_eq!(fs::metadata(&file.path).unwrap().permissions().mode() & 0o777, 0o640);
    // A new file is like any other that this process creates, not only for its owner.
    let (new, plain) = (file.folder.path().join("new"), file.folder.path().join("plain"));
    atomically(&new, |out| out.write_all(b"new")).unwrap();
    fs::write(&plain, "x").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&new), mode(&plain));
}

/// Neither the link nor the file behind it is changed, also if there is none behind it.
#[test]
#[cfg(unix)]
fn links_are_refused_but_those_to_devices() {
    use std::os::unix::fs::symlink;
    let file = temporary("out.csv", b"old");
    for (name, to) in [("link.csv", "out.csv"), ("lost.csv", "nowhere.csv")] {
        let link = file.folder.path().join(name);
        symlink(to, &link).unwrap();
        assert!(message(atomically(&link, |out| out.write_all(b"new"))).contains("it is a link"));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
    assert_eq!((fs::read(&file.path).unwrap(), files(file.folder.path()).len()), (b"old".to_vec(), 3));
    let null = file.folder.path().join("null");
    symlink("/dev/null", &null).unwrap();
    atomically(&null, |out| out.write_all(b"x")).unwrap();
    assert!(fs::symlink_metadata(&null).unwrap().is_symlink());
}

/// A file that has appeared during the work is kept, and so is the result.
#[test]
fn a_new_file_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    atomically(Target::new(&path, false), |out| out.write_all(b"one")).unwrap();
    assert_eq!((fs::read(&path).unwrap(), files(folder.path()).len()), (b"one".to_vec(), 1));
    let why = message(atomically(Target::new(&path, false), |out| out.write_all(b"two")));
    assert!(why.contains("has appeared") && why.contains("out.csv.klnmf-"), "{why}");
    assert_eq!(fs::read(&path).unwrap(), b"one");
    let kept = files(folder.path()).into_iter().find(|name| name != "out.csv").unwrap();
    assert_eq!(fs::read(folder.path().join(&kept)).unwrap(), b"two");
    // It is no leftover.
    atomically(&path, |out| out.write_all(b"three")).unwrap();
    assert!(!kept.starts_with('.') && folder.path().join(kept).exists());
}

/// What a killed program has left is removed by the next one, but nothing that is in use.
#[test]
fn leftovers_are_removed() {
    let file = temporary("out.csv", b"old");
    let used = NewFile::create(&file.path).unwrap();
    for name in [".out.csv.klnmf-abcdef", ".other.csv.klnmf-abcdef"] {
        fs::write(file.folder.path().join(name), "half").unwrap();
    }
    fs::create_dir(file.folder.path().join(".out.csv.klnmf-folder")).unwrap();
    atomically(&file.path, |out| out.write_all(b"new")).unwrap();
    let mut left = files(file.folder.path());
    left.sort();
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(!left.contains(&".out.csv.klnmf-abcdef".to_owned()), "{left:?}");
    used.writer().unwrap().write_all(b"last").unwrap();
    used.keep().unwrap();
    assert_eq!(fs::read(&file.path).unwrap(), b"last");
}

#[test]
fn long_names_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["n".repeat(255), "ü".repeat(127)] {
        let path = folder.path().join(name);
        atomically(&path, |out| out.write_all(b"x")).unwrap();
        assert!(path.exists());
    }
}

#[test]
fn a_file_that_is_filled_over_time() {
    let file = temporary("out.csv", b"old");
    let dropped = NewFile::create(&file.path).unwrap();
    dropped.writer().unwrap().write_all(b"half").unwrap();
    assert_eq!(files(file.folder.path()).len(), 2);
    drop(dropped);
    assert_eq!((fs::read(&file.path).unwrap(), files(file.folder.path()).len()), (b"old".to_vec(), 1));
    let kept = NewFile::create(&file.path).unwrap();
    for part in [b"one ", b"two."] {
        kept.writer().unwrap().write_all(part).unwrap();
        assert_eq!(fs::read(&file.path).unwrap(), b"old");
    }
    kept.keep().unwrap();
    assert_eq!((fs::read(&file.path).unwrap(), files(file.folder.path()).len()), (b"one two.".to_vec(), 1));
}

#[test]
fn files_that_are_closed_in_between() {
    let file = temporary("out.csv", b"old");
    let mut new = NewFile::create(&file.path).unwrap();
    for part in [b"one ", b"two."] {
        new.visit(|out| {
            out.seek(SeekFrom::End(0))?;
            out.write_all(part)
        })
        .unwrap();
        assert_eq!(fs::read(&file.path).unwrap(), b"old");
    }
    new.visit(|out| out.write_all(b"ONE")).unwrap();
    new.keep().unwrap();
    assert_eq!((fs::read(&file.path).unwrap(), files(file.folder.path()).len()), (b"ONE two.".to_vec(), 1));
    // What has been taken away is no longer there to be written to.
    let mut new = NewFile::create(&file.path).unwrap();
    new.visit(|out| out.write_all(b"half")).unwrap();
    let hidden = files(file.folder.path()).into_iter().find(|name| name.starts_with('.')).unwrap();
    fs::remove_file(file.folder.path().join(hidden)).unwrap();
    assert!(message(new.visit(|out| out.write_all(b"more"))).starts_with("cannot write "));
    assert_eq!(fs::read(&file.path).unwrap(), b"ONE two.");
}
