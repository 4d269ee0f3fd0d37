//! `klnmf compare` with known parts, such as published signatures, and the names of parts.

use crate::common::{Place, counts_csv};
use std::fmt::Write;

/// A model of three parts with named rows, and its parts as a table with the rows and columns reversed.
fn model(place: &Place) {
    place.write("v.csv", counts_csv(10, 15));
    let names: String = (0..10).map(|i| format!("r{i}\n")).collect();
    place.write("rows.txt", names);
    place.ok("factorize v.csv --rank 3 --row-names rows.txt --csv m --out m.npz");
    let table = std::fs::read_to_string(place.path("m_W.csv")).unwrap();
    let mut lines: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    lines.reverse();
    let mut known = String::from("channel,third,second,first\n");
    for cells in lines {
        writeln!(known, "{},{},{},{}", cells[0], cells[3], cells[2], cells[1]).unwrap();
    }
    place.write("known.csv", known);
}

#[test]
fn parts_are_compared_with_a_table_of_known_ones() {
    let place = Place::new();
    model(&place);
    let text = place.ok("compare m.npz known.csv --report page.html");
    for (part, name) in [("part1", "first"), ("part2", "second"), ("part3", "third")] {
        assert!(text.contains(&format!("{part:<12} {name:<12} cosine 1.0000")), "{text}");
    }
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(
        page.contains(">second</text>") && page.contains("<title>part2 and second: cosine 1.0000"),
        "{page}"
    );
    let found = place.json("compare m.npz known.csv");
    assert_eq!(found["pairs"][0]["names"], serde_json::json!(["part1", "first"]));
    // Rows that only one side has, and tables on their side, are refused.
    place.write("other.csv", "c,x\nr0,1\nr1,1\n");
    place.fails("compare m.npz other.csv", 1, &["other.csv has 2 rows and m.npz has 10"]);
    let renamed = std::fs::read_to_string(place.path("known.csv")).unwrap().replace("r4", "q4");
    place.write("renamed.csv", renamed);
    place.fails("compare m.npz renamed.csv", 1, &["\"r4\" of m.npz", "not in renamed.csv"]);
    place.write("turned.csv", "1,2,3,4,5,6,7,8,9,10\n");
    place.fails("compare m.npz turned.csv", 1, &["turned.csv has 1 rows", "if you transpose it"]);
}

/// The pairs as a table; names that a spreadsheet would execute are made harmless.
#[test]
fn pairs_are_written_as_a_table() {
    let place = Place::new();
    place.write("a.csv", "row,=A1,two\na,1,0\nb,0,1\nc,0,0\n");
    place.write("b.csv", "row,\"x,y\",z,u\na,0,2,0\nb,3,0,0\nc,0,0,1\n");
    place.ok("compare a.csv b.csv --csv pairs.csv");
    let table = std::fs::read_to_string(place.path("pairs.csv")).unwrap();
    assert_eq!(table, "a,b,cosine\n'=A1,z,1\ntwo,\"x,y\",1\n,u,\n");
    place.fails("compare a.csv b.csv --csv pairs.csv", 1, &["pairs.csv exists", "--force", "--csv"]);
    place.write("c.csv", "1,2\n2,1\n0,1\n");
    place.ok("compare c.csv b.csv --csv pairs.csv --force");
    assert!(std::fs::read_to_string(place.path("pairs.csv")).unwrap().contains("\npart1,"));
}

#[test]
fn parts_can_be_named_by_a_file() {
    let place = Place::new();
    model(&place);
    place.write("w.csv", "3,1\n1,0\n2,2\n1,5\n1,1\n0,2\n4,1\n1,1\n2,7\n1,0\n");
    place.write("names.txt", "SBS1\nSBS5\n");
    let text = place.ok("compare m.npz w.csv --part-names names.txt");
    assert!(text.contains("SBS1 ") && text.contains("SBS5 ") && text.contains("has no partner"), "{text}");
    let text = place.ok("decompose v.csv --dictionary w.csv --part-names names.txt --csv h.csv");
    assert!(text.contains("table        h.csv"), "{text}");
    assert!(std::fs::read_to_string(place.path("h.csv")).unwrap().contains("\n\"SBS5\","));
    let wrong = "decompose v.csv --dictionary w.csv --part-names rows.txt --out x.npz";
    place.fails(wrong, 1, &["rows.txt has 10 names and w.csv has 2 parts", "fit its rows"]);
}

#[test]
fn many_parts_without_a_partner_are_counted() {
    let place = Place::new();
    model(&place);
    let line = |i: usize| (0..15).map(|j| format!("{}", 1 + i * j % 7)).collect::<Vec<_>>().join(",");
    place.write("many.csv", (0..10).map(|i| line(i) + "\n").collect::<String>());
    let text = place.ok("compare m.npz many.csv");
    assert!(text.contains("12 parts of many.csv have no partner"), "{text}");
    assert_eq!(text.matches("no partner").count(), 1);
}

/// The assignment is one to one, so a part may be nearer to one that another part has.
#[test]
fn nearer_parts_are_told() {
    let place = Place::new();
    place.write("a.csv", "row,one,two\na,1,1\nb,0,0.2\nc,0,0\n");
    place.write("b.csv", "row,x,y\na,1,0\nb,0,0.1\nc,0,1\n");
    let text = place.ok("compare a.csv b.csv --report page.html");
    assert!(text.contains("one          x            cosine 1.0000\n"), "{text}");
    assert!(text.contains("two          y            cosine 0.0195, nearer to x (0.9806)\n"), "{text}");
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("<td>two</td><td>y</td><td>0.0195</td><td>x (0.9806)</td>"), "{page}");
}
