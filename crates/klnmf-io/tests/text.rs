//! Tables in text.

use crate::common::*;
use klnmf::Mat;
use klnmf_io::{Table, peek, read, write_csv};

fn table(name: &str, text: &str) -> Table<f64> {
    read_bytes(name, text.as_bytes()).unwrap()
}

fn two_by_two() -> Mat<f64> {
    Mat::from_rows(&[&[1.0, 2.0], &[3.0, 4.0]])
}

fn names(names: &[&str]) -> Option<Vec<String>> {
    Some(names.iter().map(|name| name.to_string()).collect())
}

#[test]
fn numbers_only() {
    for (name, text) in [
        ("a.csv", "1,2\n3,4\n"),
        ("a.csv", "1,2\n3,4"),
        ("a.CSV", "\u{feff}1,2\r\n3,4\r\n\r\n"),
        ("a.csv", "# note\n\n 1 , 2e0 \n\"3\",\"4.0\" \n"),
        ("a.csv", "1;2\n3;4\n"),
        ("a.tsv", "1\t2\n3\t4\n"),
        ("a.txt", "1\t2\n3\t4\n"),
        ("a.txt", "1,2\n3,4\n"),
        ("a.txt", "1;2\n3;4\n"),
        ("a.txt", "  1   2\n3 \t 4  \n"),
    ] {
        let table = table(name, text);
        assert_eq!((&table.row_names, &table.col_names), (&None, &None), "{text:?}");
        assert_eq!(dense(table), two_by_two(), "{text:?}");
        assert_eq!(
            dense(read_bytes::<f64>(&format!("{name}.gz"), &gzip(text.as_bytes())).unwrap()),
            two_by_two()
        );
    }
}

#[test]
fn headers_and_names() {
    for (name, text, row_names, col_names) in [
        ("a.csv", "x,y\n1,2\n3,4\n", None, names(&["x", "y"])),
        ("a.csv", "# c\nx,y\n# d\n1,2\n3,4\n", None, names(&["x", "y"])),
        ("a.csv", "gene,x,y\na,1,2\nb,3,4\n", names(&["a", "b"]), names(&["x", "y"])),
        ("a.csv", ",x,y\na,1,2\nb,3,4\n", names(&["a", "b"]), names(&["x", "y"])),
        // As pandas writes a frame without names.
        ("a.csv", ",0,1\n0,1,2\n1,3,4\n", names(&["0", "1"]), names(&["0", "1"])),
        // As R writes a matrix: the header is one cell shorter.
        ("a.txt", "\"x\" \"y\"\n\"a\" 1 2\n\"b c\" 3 4\n", names(&["a", "b c"]), names(&["x", "y"])),
        (
            "a.csv",
            "\"\",\"x, 1\",\"y \"\"q\"\"\"\n a ,1,2\nb,3,4\n",
            names(&["a", "b"]),
            names(&["x, 1", "y \"q\""]),
        ),
        ("a.tsv", "\tC>A\tgêne\na\t1\t2\nb\t3\t4\n", names(&["a", "b"]), names(&["C>A", "gêne"])),
    ] {
        let table = table(name, text);
        assert_eq!(table.row_names, row_names, "{text:?}");
        assert_eq!(table.col_names, col_names, "{text:?}");
        assert_eq!(dense(table), two_by_two(), "{text:?}");
    }
}

#[test]
fn one_column_or_one_cell() {
    assert_eq!(dense(table("a.csv", "1\n2\n")), Mat::from_rows(&[&[1.0], &[2.0]]));
    let column = table("a.csv", "x\n1\n2\n");
    assert_eq!(column.col_names, names(&["x"]));
    assert_eq!(dense(column), Mat::from_rows(&[&[1.0], &[2.0]]));
    assert_eq!(dense(table("a.txt", "7")), Mat::from_rows(&[&[7.0]]));
}

#[test]
fn special_numbers_are_for_the_core_to_judge() {
    let matrix = dense(table("a.csv", "NaN,inf\n-1,1e300\n"));
    assert!(matrix[(0, 0)].is_nan() && matrix[(0, 1)] == f64::INFINITY);
    assert_eq!((matrix[(1, 0)], matrix[(1, 1)]), (-1.0, 1e300));
}

#[test]
fn refusals() {
    for (name, text, what) in [
        (
            "a.csv",
            "x,y\n1o,2\n3,4\n",
            ", line 2, column 1: \"1o\" is not a number, but all cells below it are: correct it, or empty the first cell of the header if this column holds names",
        ),
        ("a.csv", "x,y\n,2\n3,4\n", ", line 2, column 1: the cell is empty: write 0 if you mean 0"),
        ("a.csv", "", ": the file has no lines with numbers"),
        ("a.csv", "\n# note\n", ": the file has no lines with numbers"),
        ("a.csv", "x,y\n", ": the file has a header but no lines with numbers"),
        (
            "a.csv",
            "1,2\n3,abc\n",
            ", line 2, column 2: \"abc\" is not a number: correct it, or remove its line or column",
        ),
        (
            "a.csv",
            "\n1,2\n\n# late\n",
            ", line 4, column 1: \"# late\" is not a number: correct it, or remove its line or column",
        ),
        ("a.csv", "x,y\n1,2\n,4\n", ", line 3, column 1: the cell is empty: write 0 if you mean 0"),
        (
            "a.csv",
            "1,2\n3,4,5\n",
            ", line 2: the number of cells is 3, but 2 in line 1: give every line the same number",
        ),
        (
            "a.csv",
            "1,2\n3\n",
            ", line 2: the number of cells is 1, but 2 in line 1: give every line the same number",
        ),
        (
            "a.csv",
            "x,y,z\n1\n",
            ", line 2: the number of cells is 1, but 3 in the header in line 1: give every line the same number",
        ),
        ("a.csv", "x;y\n1,5;2\n", ", line 2, column 1: \"1,5\" has a decimal comma: write a decimal point"),
        (
            "a.csv",
            "x;y\n1;2,000\n",
            ", line 2, column 2: \"2,000\" has a comma: leave it out between thousands, or write a decimal point",
        ),
        ("a.tsv", "1\t2\n1,5\t2\n", ", line 2, column 1: \"1,5\" has a decimal comma: write a decimal point"),
        (
            "a.csv",
            "x,y\n1,5;2\n",
            ", line 2, column 2: \"5;2\" is not a number: separate cells with commas only, and write decimals with a point",
        ),
        (
            "a.csv",
            "x,y\n\"a,1\n",
            ", line 2: a quote is not closed: close it; a cell cannot continue on the next line",
        ),
        // A first line of data with one wrong cell is not a header.
        (
            "a.csv",
            "1,2o,3\n4,5,6\n",
            ", line 1, column 2: \"2o\" is not a number: correct it, or remove its line or column; if this line is a \
             header, empty its first cell or rename \"1\"; if the first column holds names, add a header",
        ),
        (
            "a.csv",
            "a,1,2\nb,3,4\n",
            ", line 1, column 1: \"a\" is not a number: correct it, or remove its line or column; if this line is a \
             header, empty its first cell or rename \"1\"; if the first column holds names, add a header",
        ),
        (
            "a.csv",
            "1,,3\n4,5,6\n",
            ", line 1, column 2: the cell is empty: write 0 if you mean 0; if this line is a header, empty its first \
             cell or rename \"1\"; if the first column holds names, add a header",
        ),
        (
            "a.csv",
            "1\n\u{1}\u{7}\r2\n",
            ", line 2, column 1: \"\\u{1}\\u{7}\\r2\" is not a number: correct it, or remove its line or column",
        ),
    ] {
        assert_eq!(refused(name, text.as_bytes()), format!("{name}{what}"));
    }
    let long = format!("1\n{}\n", "x".repeat(1000));
    assert!(refused("a.csv", long.as_bytes()).len() < 200);
}

/// A number that is not 0 is not read as 0.
#[test]
fn vanishing_numbers() {
    for (name, text, place) in [
        ("a.csv", "1,2\n3,1e-400\n", ", line 2, column 2: \"1e-400\""),
        ("a.csv", "x,y\n\"2.5e-999\",2\n", ", line 2, column 1: \"2.5e-999\""),
        ("a.csv", "1e-400,1e-400\n1,2\n", ", line 1, column 1: \"1e-400\""),
        ("a.tsv", "gene\tx\na\t-1E-400\n", ", line 2, column 2: \"-1E-400\""),
    ] {
        let what = "is too small for f64 and would become 0: write 0, or multiply all numbers by a constant";
        assert_eq!(refused(name, text.as_bytes()), format!("{name}{place} {what}"));
    }
    let smallest = dense(table("a.csv", "0e-400,1e-310\n-0.0,5e-324\n"));
    assert_eq!(smallest, Mat::from_rows(&[&[0.0, 1e-310], &[0.0, 5e-324]]));
    // A name may look like any number.
    assert_eq!(table("a.csv", ",x\n1e-400,2\n").row_names, names(&["1e-400"]));
}

/// Spreadsheets save "Unicode text" in UTF-16.
#[test]
fn other_encodings_are_named() {
    let text = "gene,x\na,1\n";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for (mark, units) in [(&b"\xff\xfe"[..], &little), (b"\xfe\xff", &big), (b"", &little), (b"", &big)] {
        let bytes = [mark, units].concat();
        for (name, bytes) in [("a.csv", bytes.clone()), ("a.tsv.gz", gzip(&bytes)), ("a.mtx", bytes)] {
            let what = "the text is in UTF-16: save it in UTF-8, or convert it with iconv -f UTF-16 -t UTF-8";
            assert_eq!(refused(name, &bytes), format!("{name}: {what}"));
        }
    }
}

/// A small file can hold one endless line: it must not fill the memory with its cells.
#[test]
fn endless_lines() {
    let what =
        "the line has more than 16777216 cells: check the line ends, or save the matrix as .npy or .npz";
    for (line, before) in [(1, ""), (2, "x,y\n")] {
        let packed = gzip(format!("{before}{}", "0,".repeat(17 << 20)).as_bytes());
        assert_eq!(refused("a.csv.gz", &packed), format!("a.csv.gz, line {line}: {what}"));
    }
}

#[test]
fn cut_gzip() {
    let packed = gzip(b"1,2\n3,4\n");
    for length in 0..packed.len() {
        refused("a.csv.gz", &packed[..length]);
    }
}

#[test]
fn writing_and_reading_back() {
    let matrix = Mat::from_fn(5, 3, |i, j| 1.0 / (1 + i + 7 * j) as f64 * 10f64.powi(9 * i as i32 - 20));
    let rows: Vec<String> = ["a", "b, c", "d \"e\"", "", " f "].map(String::from).to_vec();
    let cols: Vec<String> = ["1", "2", "3"].map(String::from).to_vec();
    let file = temporary("a.csv", b"");
    for row_names in [None, Some(&rows[..])] {
        for col_names in [None, Some(&["x".to_owned(), "y".to_owned(), "z".to_owned()][..]), Some(&cols[..])]
        {
            if row_names.is_none() && col_names == Some(&cols[..]) {
                // A header of numbers above numbers is a line of data by design.
                continue;
            }
            write_csv(&file.path, &matrix, row_names, col_names).unwrap();
            let table = read::<f64>(&file.path).unwrap();
            let trimmed: Option<Vec<_>> =
                row_names.map(|names| names.iter().map(|n| n.trim().to_owned()).collect());
            assert_eq!(table.row_names, trimmed);
            let numbered = row_names.map(|_| &cols[..]);
            assert_eq!(table.col_names.as_deref(), col_names.or(numbered));
            assert_eq!(dense(table), matrix);
        }
    }
    assert!(
        message(write_csv(&file.path, &matrix, Some(&cols), None)).contains("3 row names where 5 are needed")
    );
}

proptest::proptest! {
    /// No spreadsheet executes a name, and reading gives the name back.
    #[test]
    fn names_are_harmless_and_come_back(
        rows in proptest::collection::vec("['=+@\t-]{0,3}[a-z=+\"',-]{1,5}", 3),
        cols in proptest::collection::vec("['=+@\t-]{0,3}[a-z=+\"',-]{1,5}", 2),
    ) {
        let file = temporary("a.csv", b"");
        let matrix = Mat::from_fn(3, 2, |i, j| (i + j) as f64);
        write_csv(&file.path, &matrix, Some(&rows), Some(&cols)).unwrap();
        for name in rows.iter().chain(&cols) {
            proptest::prop_assert!(!klnmf_io::harmless(name).starts_with(['=', '+', '-', '@', '\t']));
        }
        let table = read::<f64>(&file.path).unwrap();
        proptest::prop_assert_eq!(table.row_names, Some(rows));
        proptest::prop_assert_eq!(table.col_names, Some(cols));
    }
}

#[test]
fn formulas_of_names_are_marked() {
    let file = temporary("a.csv", b"");
    let names = ["=cmd()", "'=x", "-1", "o'clock"].map(String::from);
    write_csv(&file.path, &Mat::from_fn(4, 1, |_, _| -1.0), Some(&names), None).unwrap();
    let text = std::fs::read_to_string(&file.path).unwrap();
    assert_eq!(text, ",1\n\"'=cmd()\",-1\n\"''=x\",-1\n\"'-1\",-1\n\"o'clock\",-1\n");
    assert_eq!(read::<f64>(&file.path).unwrap().row_names.unwrap(), names);
}

#[test]
fn peeking() {
    let file = temporary("a.csv", b",x\na,1\nb,2\n");
    let summary = peek(&file.path).unwrap();
    assert_eq!((summary.kind.as_str(), summary.shape), ("text table", Some((2, 1))));
    assert!(summary.row_names && summary.col_names);
}

/// A first line of mistyped numbers is not a header, and a name after the header may begin like a comment.
#[test]
fn no_line_of_data_is_lost() {
    for (name, text) in [("a.tsv", "1,5\t2,5\n3\t4\n"), ("b.csv", "\"1,000\",\"2,000\"\n3,4\n")] {
        let refused = message(read::<f64>(&temporary(name, text.as_bytes()).path));
        assert!(refused.contains("line 1, column 1") && refused.contains("comma"), "{refused}");
    }
    let table = read::<f64>(&temporary("c.csv", b"# a comment\n,a,b\n#g1,1,2\ng2,3,4\n").path).unwrap();
    assert_eq!(table.row_names, Some(vec!["#g1".to_string(), "g2".into()]));
}
