//! Jobs as text, and fits in folders: continued, shared between workers, stopped.

use crate::common::planted;
use klnmf::Mat;
use klnmf_select::{Draw, Error, Fits, Job, Rank, RankSettings, Split, Worker, rank};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn v() -> Mat<f64> {
    planted(4, (15, 24), 3, 300.0, f64::INFINITY).0
}

fn settings() -> RankSettings {
    RankSettings { ranks: vec![1, 2, 3, 4], replicates: 3, folds: 2, bootstrap: true }
}

/// The bytes of every file in a folder.
fn bytes(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(folder.join("fits")).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|f| (f.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(f).unwrap()))
        .collect()
}

/// A result as text, in which what is not a number is equal to itself.
fn told(found: &Rank) -> String {
    format!("{found:?}")
}

#[test]
fn jobs_are_texts_and_back() {
    let split = Split { folds: 5, size: f64::INFINITY };
    let draws = [
        Draw::Start(0),
        Draw::Bootstrap(123),
        Draw::Fold(3, split),
        Draw::Fold(4, Split { size: 12.3, ..split }),
        Draw::Fold(0, Split { size: 0.00123, ..split }),
    ];
    for rank in [1, 9, 40, 100] {
        for draw in draws {
            let job = Job { rank, draw };
            assert_eq!(job.to_string().parse::<Job>().unwrap(), job, "{job}");
        }
    }
    for bad in
        ["", "r", "r2", "r2-", "r2-start", "rx-start1", "r2-fold5of5", "r2-fold0of1", "r2-fold1of2-size-3"]
    {
        assert!(bad.parse::<Job>().is_err(), "{bad}");
    }
}

#[test]
fn a_fit_is_read_when_it_is_needed() {
    let (v, folder) = (v(), tempfile::tempdir().unwrap());
    let fits = Fits::in_memory((&v).into()).unwrap().in_folder(folder.path()).unwrap();
    let jobs = [0, 1].map(|number| Job { rank: 2, draw: Draw::Start(number) });
    let mut found = fits.get(&jobs).unwrap();
    assert_eq!(found.next().unwrap().unwrap().job, jobs[0]);
    std::fs::remove_file(folder.path().join("fits/r02-start001.npz")).unwrap();
    assert!(found.next().unwrap().is_err());
}

#[test]
fn a_folder_that_lost_fits_is_completed_to_the_same_bytes() {
    let (v, folder) = (v(), tempfile::tempdir().unwrap());
    let fits = || Fits::in_memory((&v).into()).unwrap().in_folder(folder.path()).unwrap();
    let whole = rank(&fits(), &settings()).unwrap();
    let before = bytes(folder.path());
    assert_eq!(before.len(), 4 * (3 + 2));
    for lost in before.keys().step_by(3) {
        std::fs::remove_file(folder.path().join("fits").join(lost)).unwrap();
    }
    assert_eq!(told(&rank(&fits(), &settings()).unwrap()), told(&whole));
    assert_eq!(bytes(folder.path()), before);
    // In memory, and on other numbers of threads, the result is the same.
    for threads in [1, 3] {
        let mut fits = Fits::in_memory((&v).into()).unwrap();
        fits.threads = threads;
        assert_eq!(told(&rank(&fits, &settings()).unwrap()), told(&whole));
    }
}

#[test]
fn workers_share_the_fits() {
    let (v, one, shared) = (v(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let fits = |folder: &Path, number, of| {
        let mut fits = Fits::in_memory((&v).into()).unwrap();
        fits.worker = Some(Worker { number, of });
        fits.in_folder(folder).unwrap()
    };
    let alone = rank(&fits(one.path(), 0, 1), &settings()).unwrap();
    for number in 0..2 {
        let found = rank(&fits(shared.path(), number, 3), &settings());
        assert!(matches!(found, Err(Error::Incomplete { missing, .. }) if !missing.is_empty()), "{number}");
    }
    assert_eq!(told(&rank(&fits(shared.path(), 2, 3), &settings()).unwrap()), told(&alone));
    assert_eq!(bytes(one.path()), bytes(shared.path()));
}

#[test]
fn other_data_and_other_settings_are_refused() {
    let (v, folder) = (v(), tempfile::tempdir().unwrap());
    let fits = || Fits::in_memory((&v).into()).unwrap();
    fits().in_folder(folder.path()).unwrap();
    let mut other = fits();
    other.settings.seed = 1;
    assert!(other.in_folder(folder.path()).is_err());
    let data = planted(5, (15, 24), 3, 300.0, f64::INFINITY).0;
    assert!(Fits::in_memory((&data).into()).unwrap().in_folder(folder.path()).is_err());
    // Another range of ranks is welcome.
    assert!(fits().in_folder(folder.path()).is_ok());
    let plan = folder.path().join("plan.json");
    let text = std::fs::read_to_string(&plan).unwrap();
    let level = klnmf::instruction_level().unwrap();
    for (old, word) in [(level, "instruction level"), (env!("CARGO_PKG_VERSION"), "version")] {
        std::fs::write(&plan, text.replace(old, "other")).unwrap();
        let error = fits().in_folder(folder.path()).err().unwrap().to_string();
        assert!(error.contains(&format!("{word} other")) && error.contains(old), "{error}");
    }
    // A plan that cannot be read is not replaced.
    std::fs::write(&plan, b"\xff").unwrap();
    assert!(fits().in_folder(folder.path()).is_err());
    assert_eq!(std::fs::read(&plan).unwrap(), b"\xff");
}

#[test]
fn a_stop_is_an_error_that_says_how_far_it_came() {
    let v = v();
    let mut fits = Fits::in_memory((&v).into()).unwrap();
    fits.settings.stop = Some(Arc::new(AtomicBool::new(true)));
    let found = rank(&fits, &RankSettings { folds: 0, ..settings() });
    assert!(matches!(found, Err(Error::Stopped { done: 0, all: 12 })), "{found:?}");
}
