//! `klnmf topics` from the outside.

use crate::common::Place;
use klnmf_io::read_model;
use std::fs;

const SUBJECTS: [[&str; 8]; 3] = [
    ["violin", "orchestra", "concert", "melody", "piano", "conductor", "symphony", "choir"],
    ["galaxy", "telescope", "planet", "orbit", "comet", "astronomer", "nebula", "asteroid"],
    ["flour", "oven", "butter", "dough", "yeast", "recipe", "sugar", "bakery"],
];

/// A text about one subject for the most part, with some words that all share.
fn text(number: usize) -> String {
    let subject = number % 3;
    // Multiplicative hashing: the high bits look random.
    let hash = |i: usize| ((number * 60 + i) as u32).wrapping_mul(2_654_435_761) >> 16;
    (0..60)
        .map(|i| match hash(i) as usize {
            h if h % 10 == 0 => "the",
            h if h % 10 == 1 => SUBJECTS[(subject + 1) % 3][h / 10 % 8],
            h => SUBJECTS[subject][h / 10 % 8],
        })
        .collect::<Vec<_>>()
        .join(" ")
}

fn folder_of_texts(place: &Place, name: &str, count: usize) {
    fs::create_dir(place.path(name)).unwrap();
    (0..count).for_each(|n| fs::write(place.path(&format!("{name}/{n:03}.txt")), text(n)).unwrap());
}

fn read(place: &Place, name: &str) -> String {
    fs::read_to_string(place.path(name)).unwrap()
}

#[test]
fn a_folder_of_texts_becomes_topics() {
    let place = Place::new();
    folder_of_texts(&place, "texts", 60);
    let found = place.json("topics texts --topics 3 --max-df 90% --out topics --force");
    assert_eq!((found["documents"].as_u64(), found["topics"].as_u64()), (Some(60), Some(3)));
    assert_eq!((found["vocabulary"].as_u64(), found["unconverged"].as_u64()), (Some(24), Some(0)));
    assert!(found["held_out_perplexity"].as_f64().unwrap() > 8.0);
    assert!(found["held_out_perplexity"].as_f64().unwrap() < 20.0);
    assert!(found["largest_gap"].as_f64().unwrap() < 1e-3);

    // Every topic is about one subject, and the table says so.
    let table = read(&place, "topics/topics.csv");
    for topic in 1..=3 {
        let words: Vec<&str> = table
            .lines()
            .filter(|line| line.starts_with(&format!("{topic},")))
            .filter(|line| {
                line.split(',').nth(7).is_some_and(|rank| rank.parse().is_ok_and(|rank: u32| rank <= 5))
            })
            .map(|line| line.split(',').nth(3).unwrap())
            .collect();
        assert_eq!(words.len(), 5);
        assert!(SUBJECTS.iter().any(|subject| words.iter().all(|word| subject.contains(word))), "{words:?}");
    }
    let documents = read(&place, "topics/documents.csv");
    assert_eq!(documents.lines().count(), 61);
    for line in documents.lines().skip(1) {
        let weights: f64 = line.split(',').skip(5).map(|x| x.parse::<f64>().unwrap()).sum();
        assert!((weights - 1.0).abs() < 1e-9, "{line}");
    }
    let model = read_model::<f64>(&place.path("topics/model.npz")).unwrap();
    assert!(model.w.col_sums().iter().all(|sum| (sum - 1.0).abs() < 1e-9));
    assert_eq!(model.row_names.unwrap().len(), 24);
    let page = read(&place, "topics/report.html");
    assert!(page.contains("violin") && page.contains("Typical documents") && !page.contains("http"));
    // The same bytes again, on another number of threads.
    place.ok("topics texts --topics 3 --max-df 90% --threads 1 --out again");
    assert!(
        fs::read(place.path("again/model.npz")).unwrap() == fs::read(place.path("topics/model.npz")).unwrap()
    );
}

#[test]
fn all_forms_of_input_agree() {
    let place = Place::new();
    folder_of_texts(&place, "texts", 30);
    let texts: Vec<String> = (0..30).map(text).collect();
    place.write("lines.txt", texts.join("\n"));
    place.write(
        "table.csv",
        format!("n,body\n{}", texts.iter().map(|t| format!("1,\"{t}\"\n")).collect::<String>()),
    );
    let objects = texts.iter().map(|t| format!("{}\n", serde_json::json!({ "text": t })));
    place.write("objects.jsonl", objects.collect::<String>());
    let options = "--topics 3 --max-df 1.0 --min-df 1";
    let perplexity = |input: &str| {
        place.json(&format!("topics {input} {options} --out topics --force"))["perplexity"].clone()
    };
    let first = perplexity("texts");
    assert_eq!(perplexity("lines.txt"), first);
    assert_eq!(perplexity("table.csv --column body"), first);
    assert_eq!(perplexity("objects.jsonl"), first);

    // The counts of the same texts, in both directions.
    let model = read_model::<f64>(&place.path("topics/model.npz")).unwrap();
    let words = model.row_names.unwrap();
    place.write("words.txt", words.join("\n"));
    let count = |word: &String, text: &String| text.split(' ').filter(|w| w == word).count().to_string();
    let rows = texts.iter().map(|t| words.iter().map(|w| count(w, t)).collect::<Vec<_>>().join(",") + "\n");
    place.write("counts.csv", rows.collect::<String>());
    let columns =
        words.iter().map(|w| texts.iter().map(|t| count(w, t)).collect::<Vec<_>>().join(",") + "\n");
    place.write("turned.csv", columns.collect::<String>());
    for input in ["counts.csv", "turned.csv"] {
        let found =
            place.json(&format!("topics {input} --vocabulary words.txt --topics 3 --out topics --force"));
        assert_eq!(found["sum"].as_f64(), Some(1800.0), "{input}");
        let (a, b) = (found["perplexity"].as_f64().unwrap(), first.as_f64().unwrap());
        assert!((a - b).abs() < 1e-3 * b, "{input}: {a} {b}");
    }
    // A note says that the file was transposed, or that its words need names.
    let note = |input: &str| place.ok(&format!("topics {input} --topics 3 --out topics --force"));
    let (turned, fits) = (note("turned.csv --vocabulary words.txt"), "read as words × documents");
    assert!(turned.contains(fits) && !turned.contains("no names"), "{turned}");
    assert!(!note("counts.csv --vocabulary words.txt").contains(fits));
    assert!(note("counts.csv --counts").contains("give them with --vocabulary"));
}

#[test]
fn new_documents_are_weighed_by_a_model() {
    let place = Place::new();
    folder_of_texts(&place, "texts", 60);
    place.ok("topics texts --topics 3 --max-df 90% --out topics --force");
    place.write(
        "new.txt",
        "violin concert symphony choir zeppelin\n\ngalaxy orbit comet planet nebula orbit\n",
    );
    let found = place.json("topics new.txt --model topics/model.npz --out new");
    assert_eq!((found["documents"].as_u64(), found["unknown_words"].as_u64()), (Some(3), Some(1)));
    assert!(found["largest_gap"].as_f64().unwrap() < 1e-4);
    let table = read(&place, "new/documents.csv");
    let lines: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let weights = |line: usize| -> Vec<f64> { lines[line][5..].iter().map(|x| x.parse().unwrap()).collect() };
    assert!(weights(0).iter().any(|x| *x > 0.7) && weights(2).iter().any(|x| *x > 0.7));
    assert!(weights(1).iter().all(|x| (x - 1.0 / 3.0).abs() < 1e-12), "an empty document has even weights");
    assert_ne!(lines[0][4], lines[2][4], "they are about different things");
    place.fails("topics new.txt --model nothing.npz --out x", 1, &["nothing.npz"]);
}

#[test]
fn inputs_and_earlier_results_are_kept() {
    let place = Place::new();
    folder_of_texts(&place, "texts", 30);
    place.ok("topics texts --topics 3 --max-df 90% --quiet --out topics --force");
    let before = read(&place, "topics/documents.csv");
    place.write("new.txt", "violin concert\ngalaxy orbit\n");
    // New documents go to a folder of their own.
    place.ok("topics new.txt --model topics/model.npz --quiet --out weights --force");
    assert_eq!(read(&place, "topics/documents.csv"), before);
    assert!(place.path("weights/documents.csv").is_file());
    fs::create_dir(place.path("data")).unwrap();
    fs::write(place.path("data/documents.csv"), "text\nviolin concert\ngalaxy orbit\n").unwrap();
    place.fails(
        "topics data/documents.csv --topics 1 --min-df 1 --max-df 1.0 --out data",
        1,
        &["documents.csv", "input"],
    );
    place.fails("topics new.txt --model topics/model.npz --min-df 2 --out x", 2, &["--min-df"]);
    place.write("strange.txt", "zebra zeppelin\n");
    place.fails("topics strange.txt --model topics/model.npz --out x", 1, &["none of the words"]);
}

/// Counts of 60 texts as MatrixMarket, words × documents, with the words in words.txt.
fn matrix_of_texts(place: &Place) {
    let words: Vec<&str> = ["the"].into_iter().chain(SUBJECTS.concat()).collect();
    let entry = |j: usize, i: usize| match text(j).split(' ').filter(|word| *word == words[i]).count() {
        0 => None,
        count => Some(format!("{} {} {count}\n", i + 1, j + 1)),
    };
    let entries: Vec<String> =
        (0..60).flat_map(|j| (0..words.len()).filter_map(move |i| entry(j, i))).collect();
    let size = format!("{} 60 {}\n", words.len(), entries.len());
    place.write(
        "counts.mtx",
        format!("%%MatrixMarket matrix coordinate integer general\n{size}{}", entries.concat()),
    );
    place.write("words.txt", words.join("\n"));
}

/// The same rules as for texts; without them a matrix is used as it is.
#[test]
fn words_can_be_left_out_of_a_matrix() {
    let place = Place::new();
    matrix_of_texts(&place);
    place.write("mine.txt", "violin\ngalaxy\n");
    let input = "topics counts.mtx --vocabulary words.txt --topics 3 --force --out topics";
    let vocabulary =
        |options: &str| place.json(&format!("{input} {options}"))["vocabulary"].as_u64().unwrap();
    assert_eq!(vocabulary(""), 25);
    assert_eq!(vocabulary("--max-df 90%"), 24);
    assert_eq!(vocabulary("--stop-words english"), 24);
    assert_eq!(vocabulary("--stop-words mine.txt --max-words 10"), 10);
    let names = read_model::<f64>(&place.path("topics/model.npz")).unwrap().row_names.unwrap();
    assert!(!names.contains(&"violin".to_owned()) && names.contains(&"the".to_owned()), "{names:?}");
    let text = place.ok(&format!("{input} --stop-words english"));
    assert!(text.contains("words left out of the vocabulary: 1 stop words"), "{text}");
    place.fails(&format!("{input} --min-df 61"), 1, &["counts.mtx", "--min-df"]);
    place.fails("topics counts.mtx --transpose -k 3 --stop-words english --out x", 1, &["--vocabulary"]);
    // The counts that are left are those of the texts.
    place.ok("topics counts.mtx --row-names words.txt --transpose --topics 3 --max-df 90% --out named");
    let named = read_model::<f64>(&place.path("named/model.npz")).unwrap();
    place.ok(&format!("{input} --max-df 90%"));
    let model = read_model::<f64>(&place.path("topics/model.npz")).unwrap();
    assert_eq!((named.w, named.row_names), (model.w, model.row_names));
}

/// Words that stand in most documents are told, and do not name the topics.
#[test]
fn common_words_do_not_name_topics() {
    let place = Place::new();
    let common = "the the the the of of of of";
    let lines: Vec<String> = (0..60).map(|n| format!("{} {common} {common} {common}", text(n))).collect();
    place.write("lines.txt", lines.join("\n"));
    let output = place.run("topics lines.txt --topics 3 --max-df 1.0 --out topics --force");
    let (told, text) = (String::from_utf8(output.stderr).unwrap(), String::from_utf8(output.stdout).unwrap());
    assert!(
        told.contains("3 of 3 topics are led by words of most documents") && told.contains("\"the\""),
        "{told}"
    );
    let named =
        text.lines().filter(|line| line.contains(" % ") && line.trim_start().starts_with(['1', '2', '3']));
    let named: Vec<&str> = named.map(|line| line.split(" % ").nth(1).unwrap()).collect();
    assert_eq!(named.len(), 3, "{text}");
    for words in named {
        let first: Vec<&str> = words.split(' ').take(3).collect();
        assert!(SUBJECTS.iter().any(|subject| first.iter().all(|word| subject.contains(word))), "{text}");
    }
    let output = place.run("topics lines.txt --topics 3 --out topics --force");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(target_os = "linux")]
#[test]
fn topics_that_cannot_fit_are_refused() {
    let place = Place::new();
    place.write("wide.mtx", "%%MatrixMarket matrix coordinate real general\n9000 9000 2\n1 5 2\n2 6 1\n");
    place.fails("topics wide.mtx --topics 10000000 --out x", 1, &["wide.mtx", "more memory", "are free"]);
}

/// Without pseudo-counts, and with a limit on the time, there is a model all the same.
#[test]
fn maximum_likelihood_and_limits_end_in_a_model() {
    let place = Place::new();
    folder_of_texts(&place, "texts", 30);
    for options in ["--topic-prior 0 --word-prior 0", "--time-limit 0", "--max-iter 1"] {
        let found =
            place.json(&format!("topics texts --topics 3 --max-df 90% {options} --out topics --force"));
        assert_eq!(found["unconverged"].as_u64(), Some(0), "{options}");
        assert!(found["perplexity"].as_f64().unwrap() < 25.0, "{options}");
    }
    let text =
        place.ok("topics texts --topics 3 --max-df 90% --topic-prior 0 --word-prior 0 --out topics --force");
    assert!(text.contains("log-likelihood"), "{text}");
    assert!(place.ok("topics texts --topics 3 --max-df 90%").contains("log-posterior"));
}

#[test]
fn degenerate_input_has_a_defined_answer_or_one_line() {
    let place = Place::new();
    fs::create_dir(place.path("empty")).unwrap();
    place.fails("topics empty --topics 2 --out x", 1, &["empty", ".txt"]);
    place.write("nothing.txt", "");
    place.fails("topics nothing.txt --topics 2 --out x", 1, &["nothing.txt"]);
    place.fails("topics missing --topics 2 --out x", 1, &["missing"]);
    place.write("rare.txt", "one two\nthree four\n");
    place.fails("topics rare.txt --topics 2 --out x", 1, &["--min-df"]);
    place.write("binary.txt", [0u8, 1, 2, 3, 0, 255]);
    place.fails("topics binary.txt --topics 2 --out x", 1, &["binary.txt"]);
    place.write("table.csv", "a,b\nx,y\n");
    place.fails("topics table.csv --topics 2 --out x", 1, &["--column", "a"]);
    place.fails("topics rare.txt --topics 0 --min-df 1 --max-df 1.0 --out x", 1, &["--topics 0"]);
    place.fails("topics rare.txt --topics 2 --held-out 2 --out x", 1, &["--held-out"]);
    place.fails("topics rare.txt --topics 2 --topic-prior=-1 --out x", 1, &["topic_prior"]);
    place.fails("topics rare.txt --out x", 2, &["--topics"]);

    // One word; an empty document; more topics than words; bytes that are not UTF-8.
    place.write("one.txt", "word word\nword\n\nword\n");
    let found = place.json("topics one.txt --topics 2 --min-df 1 --max-df 1.0 --out topics --force");
    assert!((found["perplexity"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    place.json("topics rare.txt --topics 6 --min-df 1 --max-df 1.0 --out topics --force");
    place.write("latin.txt", b"caf\xe9 caf\xe9 olive\nolive caf\xe9\n");
    let text = place.ok("topics latin.txt --topics 1 --min-df 1 --max-df 1.0 --out topics --force");
    assert!(text.contains("café") && text.contains("Windows-1252"), "{text}");
}
