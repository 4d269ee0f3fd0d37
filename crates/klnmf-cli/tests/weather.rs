//! Bad weather: full disks, closed pipes, few descriptors, little memory. One line, and nothing is lost.

#![cfg(target_os = "linux")]

use crate::common::{Place, counts_csv, counts_mtx};
use std::process::{Command, Output};

/// Runs a line of a shell, in which `$K` is the program.
fn shell(place: &Place, line: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", line]).env("K", env!("CARGO_BIN_EXE_klnmf"));
    command.current_dir(place.folder.path()).output().unwrap()
}

fn place() -> Place {
    let place = Place::new();
    place.write("v.csv", counts_csv(12, 20));
    place.write("w.csv", counts_csv(12, 3));
    place
}

const FACTORIZE: &str = "$K factorize v.csv -k 2 --max-iter 5 --force";

/// The error is one line, and the exit code is 1.
fn failed(output: &Output, what: &str) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{what}: {message}");
    assert_eq!(message.lines().count(), 1, "{what}: {message}");
    assert!(message.starts_with("klnmf: ") && !message.contains("panicked"), "{what}: {message}");
}

#[test]
fn a_full_standard_output_is_an_error_after_the_model_is_saved() {
    let place = place();
    for line in ["$K info v.csv > /dev/full", &format!("{FACTORIZE} > /dev/full"), "$K man > /dev/full"] {
        let output = shell(&place, line);
        failed(&output, line);
        assert!(String::from_utf8_lossy(&output.stderr).contains("No space left"), "{line}");
    }
    assert!(klnmf_io::read_model::<f64>(&place.path("v-r2.npz")).is_ok());
}

#[test]
fn a_full_standard_output_is_an_error_for_help_too() {
    let place = place();
    for words in ["", "-h", "--help", "--version", "help factorize", "factorize --help", "completions bash"] {
        let line = format!("$K {words} > /dev/full");
        let output = shell(&place, &line);
        failed(&output, &line);
        assert!(String::from_utf8_lossy(&output.stderr).contains("No space left"), "{line}");
        for streams in ["| true", ">&-"] {
            let output = shell(&place, &format!("$K {words} {streams}"));
            assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]), "{words} {streams}");
        }
    }
}

#[test]
fn closed_and_full_streams_do_not_end_the_work() {
    let place = place();
    for streams in ["| true", ">&-", "2>&-", ">&- 2>&-", "2>/dev/full", "<&- >&- 2>&-"] {
        let _ = std::fs::remove_file(place.path("v-r15.npz"));
        // The rank is above the smaller side, so there is a note for standard error.
        let line = format!("$K factorize v.csv -k 15 --max-iter 5 --verbose {streams}");
        let output = shell(&place, &line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        let model = klnmf_io::read_model::<f64>(&place.path("v-r15.npz")).unwrap();
        assert_eq!((model.w.cols(), model.row_names.unwrap().len()), (15, 12), "{line}");
    }
    // An error has nowhere to go, but the exit code has.
    assert_eq!(shell(&place, "$K info gone.csv 2>/dev/full").status.code(), Some(1));
    assert_eq!(shell(&place, "$K info gone.csv 2>&-").status.code(), Some(1));
}

/// Nothing can be created in /proc, not even by the administrator.
#[test]
fn folders_that_cannot_be_written_are_told_before_the_work() {
    let place = place();
    for line in [
        "$K factorize gone.csv -k 2 --out /proc/m.npz",
        "$K factorize gone.csv -k 2 --csv /proc/m",
        "$K decompose gone.csv --dictionary w.csv --out /proc/m.npz",
        "$K topics gone.csv --topics 2 --out /proc/m",
        "$K separate gone.wav --out /proc/m",
        "$K demo --out /proc/m",
    ] {
        let output = shell(&place, line);
        failed(&output, line);
        assert!(String::from_utf8_lossy(&output.stderr).contains("/proc"), "{line}: {output:?}");
    }
}

#[test]
fn few_descriptors_give_a_result_or_one_line() {
    let place = place();
    let mut succeeded = 0;
    for most in 3..16 {
        let output = shell(&place, &format!("ulimit -n {most} && {FACTORIZE} --out m.npz"));
        match output.status.success() {
            true => succeeded += 1,
            // The loader of the program itself needs a descriptor for a moment.
            false if output.status.code() == Some(127) => {}
            false => failed(&output, &format!("{most} descriptors")),
        }
    }
    assert!(succeeded > 3, "{succeeded}");
    assert!(place.files().iter().all(|(path, _)| !path.to_string_lossy().contains(".klnmf-")));
}

/// A limit on the address space counts as the memory of the machine does.
#[test]
fn little_memory_is_told_before_the_work() {
    let place = place();
    place.write("wide.mtx", "%%MatrixMarket matrix coordinate real general\n100 200000 1\n1 5 2\n");
    let line = "ulimit -v 400000 && $K factorize wide.mtx --rank 60 --threads 1";
    let output = shell(&place, line);
    failed(&output, line);
    assert!(String::from_utf8_lossy(&output.stderr).contains("of memory"), "{output:?}");
}

/// Wherever memory ends, the program ends with a result or with exit code 1; 127 is the system's loader.
#[test]
fn exhausted_memory_is_no_crash() {
    let place = place();
    place.write("v.csv", counts_csv(300, 400));
    let ends = (20..250).step_by(6).map(|megabytes| {
        let line = format!("ulimit -v {megabytes}000; $K factorize v.csv -k 3 --max-iter 3 --force -q");
        let output = shell(&place, &line);
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1 | 127)), "{megabytes}: {output:?}");
        code
    });
    let failed = ends.filter(|code| *code == Some(1)).count();
    assert!(failed > 3, "{failed} runs ended for want of memory");
}

/// A limit on the size of files is an error of the file, not a signal.
#[test]
fn too_large_files_are_told() {
    let place = place();
    let output = shell(&place, &format!("ulimit -f 1; {FACTORIZE} --out m.npz"));
    failed(&output, "ulimit -f");
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write m.npz"), "{output:?}");
    assert!(place.files().iter().all(|(path, _)| !path.to_string_lossy().contains("m.npz")));
}

/// A penalty far from the scale of the data ends in numbers or in an error that says so.
#[test]
fn an_extreme_penalty_has_a_clear_end() {
    let place = place();
    for rho in ["1e300", "1e-300", "1e30", "1e-30"] {
        for solver in ["admm", "admm-authors"] {
            let line = format!("{FACTORIZE} --max-iter 50 --solver {solver} --rho {rho} --out m.npz --csv c");
            let output = shell(&place, &line.replace("--max-iter 5 ", ""));
            let text = String::from_utf8_lossy(&output.stdout).to_lowercase();
            assert!(!text.contains("nan"), "{line}: {text}");
            if text.contains("infinite") {
                assert!(text.contains("another --rho") && !text.contains("continue with"), "{line}: {text}");
            }
            if !output.status.success() {
                failed(&output, &line);
                continue;
            }
            let model = klnmf_io::read_model::<f64>(&place.path("m.npz")).unwrap();
            let numbers = model.w.as_slice().iter().chain(model.h.as_slice());
            assert!(numbers.into_iter().all(|x| x.is_finite()), "{line}");
        }
    }
}

/// Entries that f32 rounds to zero are told, whatever the format; f64 keeps them.
#[test]
fn entries_too_small_for_f32_are_told() {
    let place = Place::new();
    place.write("v.csv", "1e-60,2\n3,4e-46\n5,0\n");
    place.write(
        "v.mtx",
        "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 1e-60\n2 1 3\n3 2 1e-50\n",
    );
    let v = klnmf::Mat::from_rows(&[&[1e-60, 2.0], &[3.0, 1e-50], &[5.0, 0.0]]);
    klnmf_io::write_npy(&place.path("v.npy"), &v).unwrap();
    for file in ["v.csv", "v.mtx", "v.npy"] {
        for (precision, told) in [("f32", true), ("f64", false)] {
            let line = format!("factorize {file} -k 1 --quiet --force --precision {precision} --out m.npz");
            let said = String::from_utf8(place.command(&line).output().unwrap().stderr).unwrap();
            let warned =
                said.contains(&format!("{file}: positive entries that are too small for f32 become 0"));
            assert_eq!(warned, told, "{line}: {said}");
            assert_eq!(said.lines().count(), usize::from(told), "{said}");
        }
    }
}

/// A pipe can be read and written once, from beginning to end.
#[test]
fn pipes_are_read_and_written() {
    let place = place();
    let line = "mkfifo o.npz; cat o.npz > got.npz & \
                timeout 20 $K factorize v.csv -k 2 --max-iter 3 --out o.npz; wait";
    assert!(shell(&place, line).status.success());
    assert_eq!(klnmf_io::read_model::<f64>(&place.path("got.npz")).unwrap().w.cols(), 2);
    place.write("v.mtx", counts_mtx(4, 5));
    let line = "mkfifo p.mtx; cat v.mtx > p.mtx & timeout 20 $K factorize p.mtx -k 1 --json --out p.npz";
    let found = shell(&place, line);
    assert!(String::from_utf8_lossy(&found.stdout).contains("\"divergence\""), "{found:?}");
    failed(&shell(&place, "mkfifo q.npy; timeout 20 $K info q.npy"), "info of a pipe");
}
