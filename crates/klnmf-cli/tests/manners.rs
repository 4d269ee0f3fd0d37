//! How the program speaks with people and shells.

use crate::common::{Place, counts_csv};

const VERBS: [&str; 9] =
    ["factorize", "decompose", "topics", "separate", "info", "demo", "reproduce", "completions", "man"];

#[test]
fn the_bare_program_says_what_to_type_first() {
    let text = Place::new().ok("");
    assert!(text.contains("klnmf demo") && text.contains("klnmf factorize counts.csv --rank 10"), "{text}");
    assert!(text.lines().count() < 8, "{text}");
}

#[test]
fn every_help_ends_with_examples() {
    let place = Place::new();
    for verb in VERBS {
        for help in ["-h", "--help"] {
            let text = place.ok(&format!("{verb} {help}"));
            let (_, examples) = text.rsplit_once("\nExamples:\n").expect(verb);
            assert!(examples.lines().all(|line| line.starts_with("  klnmf ")), "{verb}: {examples}");
        }
    }
}

#[test]
fn shells_and_man_get_every_verb() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.ok(&format!("completions {shell}"));
        assert!(VERBS.iter().all(|verb| script.contains(verb)) && script.contains("max-iter"), "{shell}");
    }
    let page = place.ok("man");
    assert!(page.contains(".TH klnmf 1") && VERBS.iter().all(|verb| page.contains(verb)), "{page}");
    let page = place.ok("man factorize");
    assert!(page.contains("time\\-limit") && page.contains("Examples"), "{page}");
    place.fails("man factorise", 1, &["factorise", "--help"]);
}

#[test]
fn misspelt_words_are_guessed() {
    let place = Place::new();
    place.write("counts.csv", counts_csv(6, 7));
    place.write("song.wav", "");
    place.write("texts.txt", "");
    place.fails("factorise counts.csv", 2, &["similar", "factorize"]);
    place.fails("factorize counts.csv --rnak 2", 2, &["similar", "--rank"]);
    place.fails("factorize counts.csv --rank 2 --solver newtn", 2, &["similar", "newton"]);
    place.fails("factorize count.csv --rank 2", 1, &["did you mean counts.csv?"]);
    place.fails("info ./cuonts.csv", 1, &["did you mean ./counts.csv?"]);
    place.fails("decompose counts.csv --dictionary Count.csv", 1, &["did you mean counts.csv?"]);
    place.fails("separate sogn.wav", 1, &["did you mean song.wav?"]);
    place.fails("topics text.txt --topics 2", 1, &["did you mean texts.txt?"]);
    let message = place.fails("info elsewhere.npy", 1, &["elsewhere.npy"]);
    assert!(!message.contains("did you mean"), "{message}");
}

#[test]
fn quiet_and_verbose_change_what_is_told() {
    let place = Place::new();
    place.write("v.csv", counts_csv(6, 7));
    let line = "factorize v.csv -k 2 --tol 0 --max-iter 30 --force";
    let told = |options: &str| {
        let output = place.run(&format!("{line} {options}"));
        assert!(output.status.success());
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    assert_eq!(told("--quiet"), ["", ""]);
    let [text, plain] = told("");
    assert!(text.contains("divergence") && plain.is_empty(), "{plain}");
    let [_, verbose] = told("--verbose");
    for word in ["reading v.csv", "iteration 20  divergence", "gap", "writing v-r2.npz"] {
        assert!(verbose.contains(word), "{word}: {verbose}");
    }
    place.fails(&format!("{line} --quiet --verbose"), 2, &["--verbose"]);
    let model = klnmf_io::read_metadata(&place.path("v-r2.npz")).unwrap();
    assert!(!model.contains("verbose"), "the same work gives the same bytes: {model}");
}

/// Colours are for terminals, and NO_COLOR is obeyed even where they are forced.
#[test]
fn no_color_is_obeyed() {
    let place = Place::new();
    let help = |variables: &[&str]| {
        let mut command = place.command("factorize --help");
        command.envs(variables.iter().map(|name| (name, "1")));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(help(&["CLICOLOR_FORCE"]).contains('\u{1b}'));
    assert!(!help(&["CLICOLOR_FORCE", "NO_COLOR"]).contains('\u{1b}'));
    assert!(!help(&[]).contains('\u{1b}'));
}
