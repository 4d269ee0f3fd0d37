//! Documents from single files.

use crate::common::*;
use klnmf_text::{ReadOptions, read_documents};
use std::path::Path;

#[test]
fn semicolons_separate_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    std::fs::write(&path, "id;text\n1;one, two\n2;three\n").unwrap();
    let options = klnmf_text::ReadOptions { column: None, id: Some("id".into()) };
    let found = klnmf_text::read_documents(&path, &options).unwrap();
    assert_eq!(
        (found.names, found.texts),
        (vec!["1".into(), "2".into()], vec!["one, two".into(), "three".into()])
    );
}

#[test]
fn a_document_per_line() {
    for text in ["one\n\nthree\n", "one\n\nthree", "one\r\n\r\nthree\r\n", "\u{feff}one\n\nthree"] {
        for (name, content) in
            [("a.txt", text.into()), ("a.TXT", text.into()), ("a.txt.gz", gzip(text.as_bytes()))]
        {
            let documents = read(name, content);
            assert_eq!(documents.texts, ["one", "", "three"], "{text:?}");
            assert_eq!(documents.names, ["line 1", "line 2", "line 3"]);
            assert!(documents.notes.is_empty());
        }
    }
    assert_eq!(read("a.txt", "\n").texts, [""]);
}

#[test]
fn gzip_is_told_by_content() {
    assert_eq!(read("a.txt", gzip(b"one\ntwo")).texts, ["one", "two"]);
    assert_eq!(read("a.txt.gz", "one\ntwo").texts, ["one", "two"]);
    // Gzip files may be put one after the other.
    assert_eq!(read("a.txt", [gzip(b"one\n"), gzip(b"two")].concat()).texts, ["one", "two"]);
    let whole = gzip(b"one\ntwo");
    assert!(refused("a.txt", &whole[..whole.len() - 4]).starts_with("a.txt: the gzip data is damaged ("));
}

#[test]
fn encodings() {
    let text = "naïve café\nЖук 😀";
    for content in [text.as_bytes().to_vec(), utf16(text, u16::to_le_bytes), utf16(text, u16::to_be_bytes)] {
        let documents = read("a.txt", content);
        assert_eq!(documents.texts, ["naïve café", "Жук 😀"]);
        assert!(documents.notes.is_empty());
    }
    let latin = read("a.txt", b"caf\xe9 \x80");
    assert_eq!(latin.texts, ["café €"]);
    assert_eq!(latin.notes, ["a.txt is not UTF-8 and was read as Windows-1252"]);
    // What says that it is UTF-8 is taken at its word.
    let damaged = read("a.txt", b"\xef\xbb\xbfcaf\xe9");
    assert_eq!((damaged.texts, damaged.notes.len()), (vec!["caf\u{fffd}".to_owned()], 0));
    assert_eq!(read("a.csv", utf16("text\nä\n", u16::to_le_bytes)).texts, ["ä"]);
    assert_eq!(read("a.jsonl", utf16("{\"text\": \"ä\"}", u16::to_be_bytes)).texts, ["ä"]);
}

#[test]
fn binary_files_are_refused() {
    for name in ["a.txt", "a.csv", "a.tsv", "a.jsonl"] {
        assert_eq!(
            refused(name, b"text\x00text"),
            format!("{name}: this is binary data, not text: save it as text in UTF-8")
        );
    }
    assert!(refused("a.txt", gzip(b"\x00")).contains("binary"));
    assert!(refused("a.txt", b"\xef\xbb\xbf\x00").contains("binary"));
}

#[test]
fn nothing_to_read() {
    for name in ["a.txt", "a.csv", "a.tsv", "a.jsonl", "a.ndjson.gz"] {
        for content in [&b""[..], b"\xef\xbb\xbf", &gzip(b"")] {
            assert_eq!(refused(name, content), format!("{name}: the file is empty"));
        }
    }
    let missing = message(read_documents(Path::new("/no/such.txt"), &ReadOptions::default()));
    assert!(missing.starts_with("such.txt: No such file"), "{missing}");
    assert!(refused("a.csv", "text\n").contains("a header but no rows"));
    assert!(refused("a.csv", "\n\n").contains("there is no column \"text\", nor any other"));
    assert!(refused("a.jsonl", "\n \n").contains("all lines are blank"));
}

#[test]
fn unknown_kinds_are_refused() {
    for name in ["a.pdf", "a", "a.gz", "txt", "a.json"] {
        let message = refused(name, "text");
        assert!(message.starts_with(&format!("{name}: unknown file format")), "{message}");
        for kind in ["folder", ".txt", ".csv", ".tsv", ".jsonl", ".ndjson", ".gz"] {
            assert!(message.contains(kind), "{message}");
        }
    }
}

#[test]
fn strange_names_give_one_line() {
    assert!(refused("a\nb.txt", "").starts_with("a\\nb.txt"));
}

#[test]
fn plain_text_has_no_columns() {
    for (column, id, option) in [(Some("x"), None, "--column"), (None, Some("x"), "--id")] {
        let message = message(read_with("a.txt", b"one", column, id));
        assert!(message.contains(&format!("leave {option} out")), "{message}");
    }
}

#[test]
fn tables() {
    let csv = "id,text,more\na,\"one, \"\"two\"\"\nthree\",x\n\nb,,y\n";
    for (name, content) in [("a.csv", csv.to_owned()), ("a.csv", csv.replace('\n', "\r\n"))] {
        let documents = read(name, &content);
        assert_eq!(documents.names, ["row 1", "row 2"]);
        assert_eq!(documents.texts[0].replace('\r', ""), "one, \"two\"\nthree");
        assert_eq!(documents.texts[1], "");
    }
    let named =
        read_with("a.tsv.gz", &gzip(b" id \tbody\n7\tone, two\n8\tthree\n"), Some("body"), Some("id"));
    let named = named.unwrap();
    assert_eq!(
        (named.names, named.texts),
        (vec!["7".into(), "8".into()], vec!["one, two".into(), "three".to_owned()])
    );
    // The only column holds the text, whatever its name.
    assert_eq!(read("a.csv", "body\none\n\"\"\n").texts, ["one", ""]);
}

#[test]
fn tables_without_the_column() {
    assert_eq!(
        refused("a.csv", "title,body\nx,y\n"),
        "a.csv: there is no column \"text\" but \"title\", \"body\": choose with --column NAME"
    );
    let message = message(read_with("a.csv", b"text\nx\n", None, Some("id")));
    assert_eq!(message, "a.csv: there is no column \"id\" but \"text\": choose with --id NAME");
    let wide: Vec<String> = (0..50).map(|number| format!("c{number}")).collect();
    let message = refused("a.csv", wide.join(","));
    assert!(message.contains("\"c19\", …: choose") && !message.contains("c20"), "{message}");
}

#[test]
fn ragged_tables() {
    let wrong =
        |line, cells| format!("a.csv, line {line}: the number of cells is {cells}, but 2 in the header");
    for (text, line, cells) in [
        ("text,id\na,b\nc\n", 3, 1),
        ("text,id\n\"a\nb\",c\n\n\nd,e,f\n", 6, 3),
        ("text,id\r\na,b\r\n\r\nc,d,e\r\n", 4, 3),
        ("text,id\na,b,c", 2, 3),
    ] {
        let message = refused("a.csv", text);
        assert!(message.starts_with(&wrong(line, cells)), "{message}");
    }
}

#[test]
fn open_quotes() {
    for (text, line) in
        [("text\na\n\"b\nc\nd\n", 3), ("text,id\na,b\n\"\"\"c\" d,\"e\nf,g\n", 3), ("\"text\na\nb\n", 1)]
    {
        let message = refused("a.csv", text);
        assert!(
            message.starts_with(&format!("a.csv, line {line}: a quote in this row is never closed")),
            "{message}"
        );
    }
    // Inches are not quotes, and a closed quote may hold a line break.
    assert_eq!(read("a.csv", "text,id\n5\" disk,1\n").texts, ["5\" disk"]);
    assert_eq!(read("a.csv", "text\n\"a\n\"\"b\"\n").texts, ["a\n\"b"]);
}

#[test]
fn json_lines() {
    let lines = "{\"text\": \"one\\ntwo\", \"id\": \"x\"}\r\n\n  \n{\"id\": 7, \"text\": null}\n";
    for (name, content) in
        [("a.jsonl", lines.into()), ("a.ndjson", lines.into()), ("a.jsonl.gz", gzip(lines.as_bytes()))]
    {
        let documents = read(name, content);
        assert_eq!(documents.texts, ["one\ntwo", ""]);
        assert_eq!(documents.names, ["line 1", "line 4"]);
    }
    let named = read_with("a.jsonl", lines.as_bytes(), None, Some("id")).unwrap();
    assert_eq!(named.names, ["x", "7"]);
    let other = read_with("a.jsonl", b"{\"body\": \"one\"}", Some("body"), None).unwrap();
    assert_eq!(other.texts, ["one"]);
}

#[test]
fn json_lines_gone_wrong() {
    for (text, line, what) in [
        (
            "{\"text\": \"a\"}\n\n{\"text\": \n",
            3,
            "not a JSON object at column 9 (EOF while parsing a value)",
        ),
        ("[1]", 1, "not a JSON object"),
        ("{\"text\": \"a\"} x", 1, "not a JSON object at column 15 (trailing characters)"),
        ("{\"b\": 1, \"a\": 2}", 1, "there is no field \"text\" but \"a\", \"b\": choose with --column NAME"),
        ("{}", 1, "there is no field \"text\", nor any other"),
        (
            "{\"text\": 7, \"b\": 1}",
            1,
            "field \"text\" is not a string: choose one of \"b\", \"text\" with --column NAME",
        ),
    ] {
        let message = refused("a.jsonl", text);
        assert!(message.starts_with(&format!("a.jsonl, line {line}: {what}")), "{message}");
    }
    for (text, what) in [
        ("{\"text\": \"a\"}", "there is no field \"id\" but \"text\": choose with --id NAME"),
        (
            "{\"text\": \"a\", \"id\": []}",
            "field \"id\" is not a string or number: choose one of \"id\", \"text\"",
        ),
    ] {
        let message = message(read_with("a.jsonl", text.as_bytes(), None, Some("id")));
        assert!(message.starts_with(&format!("a.jsonl, line 1: {what}")), "{message}");
    }
}
