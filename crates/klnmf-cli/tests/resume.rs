//! `--checkpoint` and `--resume`: a run that is stopped goes on to the same bits.

use crate::common::{Place, counts_csv};
use klnmf::Solver;
use klnmf_io::{read_checkpoint, read_model};

fn options(solver: Solver) -> &'static str {
    if matches!(solver, Solver::Admm | Solver::AdmmAuthors) { "--rho 5" } else { "" }
}

/// A run that ends at any iteration and goes on writes the bytes of one that never ended.
#[test]
fn every_solver_goes_on_to_the_same_bytes() {
    let place = Place::new();
    place.write("v.csv", counts_csv(12, 20));
    for (n, solver) in Solver::ALL.into_iter().enumerate() {
        let inner = solver.spec().inner.max(1);
        // A limit within a round would cut it short.
        let stop = inner * (1 + (7 * n + 3) % 11);
        let line =
            format!("factorize v.csv -k 3 --solver {solver} {} --tol 0 --force --quiet", options(solver));
        place.ok(&format!("{line} --max-iter 120 --out whole.npz"));
        place.ok(&format!("{line} --max-iter {stop} --checkpoint c.npz --out part.npz"));
        assert_eq!(read_checkpoint(&place.path("c.npz")).unwrap().state.iteration, stop, "{solver}");
        // The seed and the start have no effect any more.
        place.ok(&format!("{line} --max-iter 120 --seed 9 --resume c.npz --out part.npz"));
        let [whole, part] =
            ["whole", "part"].map(|name| read_model::<f64>(&place.path(&format!("{name}.npz"))).unwrap());
        assert!(whole.w == part.w && whole.h == part.h, "{solver} stopped at {stop}");
        assert_eq!(read_checkpoint(&place.path("c.npz")).unwrap().state.iteration, 120, "{solver}");
    }
}

/// A limit that cuts a round short leaves the state before that round.
#[test]
fn any_limit_leaves_a_state_of_the_whole_run() {
    let place = Place::new();
    place.write("v.csv", counts_csv(12, 20));
    for (solver, limit, stored) in [("fpa", 7, 5), ("fpa", 3, 0), ("simplex", 13, 10), ("auto", 9, 9)] {
        let line = format!("factorize v.csv -k 3 --solver {solver} --tol 0 --force --quiet");
        place.ok(&format!("{line} --max-iter 60 --out whole.npz"));
        place.ok(&format!("{line} --max-iter {limit} --checkpoint c.npz --out part.npz"));
        assert_eq!(read_checkpoint(&place.path("c.npz")).unwrap().state.iteration, stored, "{solver}");
        place.ok(&format!("{line} --max-iter 60 --resume c.npz --out part.npz"));
        let [whole, part] = ["whole.npz", "part.npz"].map(|name| std::fs::read(place.path(name)).unwrap());
        assert!(whole == part, "{solver} stopped at {limit}");
    }
}

/// What a run reads is not replaced by what it writes, and a checkpoint that cannot be written is told before
/// the work.
#[test]
fn inputs_are_kept() {
    let place = Place::new();
    place.write("v.csv", counts_csv(12, 20));
    place.ok("factorize v.csv -k 3 --max-iter 10 --tol 0 --checkpoint c.npz --out m.npz");
    let line = "factorize v.csv -k 3 --force";
    place.fails(&format!("{line} --resume c.npz --out c.npz"), 1, &["c.npz: it is an input"]);
    place.fails(&format!("{line} --init m.npz --out m.npz"), 1, &["m.npz: it is an input"]);
    place.fails(&format!("{line} --init m.npz --checkpoint m.npz --out x.npz"), 1, &["it is an input"]);
    place.fails(&format!("{line} --checkpoint c.txt"), 1, &["ends in .npz"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(place.path("c.npz"), place.path("link.npz")).unwrap();
        place.fails(&format!("{line} --resume link.npz"), 1, &["link.npz", "link"]);
    }
    read_checkpoint(&place.path("c.npz")).unwrap();
}

/// Ctrl-C writes the state before the model, and the checkpoints of a killed run are whole.
#[cfg(unix)]
#[test]
fn signals_leave_a_state_to_go_on_from() {
    let place = Place::new();
    place.write("v.csv", counts_csv(60, 200));
    let line = "factorize v.csv --rank 12 --tol 0 --quiet";
    for (signal, code) in [("-INT", Some(130)), ("-TERM", Some(130)), ("-KILL", None)] {
        let endless = format!("{line} --max-iter 100000000 --checkpoint c.npz --every 0.05s --force");
        let mut child = place.command(&endless).spawn().unwrap();
        while !place.path("c.npz").exists() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), code);
        let state = read_checkpoint(&place.path("c.npz")).unwrap().state;
        let more = state.iteration + 30;
        place.ok(&format!("{line} --max-iter {more} --resume c.npz --out part.npz --force"));
        place.ok(&format!("{line} --max-iter {more} --out whole.npz --force"));
        let bytes = |name: &str| std::fs::read(place.path(name)).unwrap();
        let recorded = |name: &str| read_model::<f64>(&place.path(name)).unwrap().metadata;
        assert_eq!(recorded("whole.npz"), recorded("part.npz"));
        assert!(bytes("whole.npz") == bytes("part.npz"), "{signal} at {}", state.iteration);
        std::fs::remove_file(place.path("c.npz")).unwrap();
    }
}

/// Given parts keep their place, although the model that gave them is not read again.
#[test]
fn given_parts_keep_their_order() {
    let place = Place::new();
    place.write("v.csv", counts_csv(12, 20));
    place.ok("factorize v.csv -k 2 --max-iter 20 --out a.npz");
    let line = "factorize v.csv --tol 0 --quiet --force";
    place.ok(&format!("{line} --init a.npz -k 5 --max-iter 60 --out whole.npz"));
    place.ok(&format!("{line} --init a.npz -k 5 --max-iter 10 --checkpoint c.npz --out part.npz"));
    std::fs::remove_file(place.path("a.npz")).unwrap();
    place.ok(&format!("{line} --max-iter 60 --resume c.npz --out part.npz"));
    let [whole, part] =
        ["whole", "part"].map(|name| read_model::<f64>(&place.path(&format!("{name}.npz"))).unwrap());
    assert!(whole.w == part.w && whole.h == part.h);
}

#[test]
fn differences_are_named() {
    let place = Place::new();
    let counts = counts_csv(12, 20);
    place.write("v.csv", &counts);
    place.write("other.csv", counts.replacen(",4", ",5", 1).replacen(",5", ",4", 1));
    place.write("small.csv", counts_csv(11, 20));
    place.ok("factorize v.csv -k 3 --solver admm --rho 2 --max-iter 10 --checkpoint c.npz");
    let refused = |line: &str, words: &[&str]| {
        place.fails(&format!("factorize {line} --resume c.npz --out x.npz"), 1, words);
    };
    let admm = "--solver admm --rho 2";
    refused(&format!("v.csv -k 4 {admm}"), &["c.npz", "rank is 3, not 4"]);
    refused(&format!("small.csv {admm}"), &["c.npz", "12 × 20", "11 × 20"]);
    refused(&format!("other.csv {admm}"), &["c.npz", "numbers of V"]);
    refused(&format!("v.csv {admm} --precision f32"), &["c.npz", "precision"]);
    refused("v.csv", &["solver admm, not auto"]);
    refused("v.csv --solver admm --rho 3", &["another rho"]);
    refused(&format!("v.csv {admm} --inner 3"), &["another inner"]);
    place.fails("factorize v.csv -k 3 --resume v.csv --out x.npz", 1, &["v.csv", "not an npz"]);
    place.fails("factorize v.csv -k 3 --resume gone.npz --out x.npz", 1, &["gone.npz"]);
    // Limits and the tolerance may change. The rank is known.
    place.ok(&format!("factorize v.csv {admm} --max-iter 20 --tol 1e-2 --resume c.npz --force"));
    assert!(place.path("v-r3.npz").exists());
}
