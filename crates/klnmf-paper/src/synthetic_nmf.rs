//! Section 4.1.2: the whole factorisation of uniform random data.

use crate::claim::Claim;
use crate::factorisation::{self, Setup};
use crate::judge::Judge;
use crate::race::{ADMM, FPA, Lab, MUA};
use crate::record::Record;
use crate::section::{OTHER_SIZE, Section};
use crate::size::Size;
use crate::synthetic_nd::uniform;
use serde_json::{Value, json};

const RHO: f64 = 1.0;
const ID: &str = "synthetic-nmf";
const FIGURES: [&str; 2] = ["figure-02-synthetic-nmf-time", "figure-10-synthetic-nmf-iterations"];
/// The paper's times of FPA, ADMM and MUA.
const TIMES: [&str; 3] = ["190 s", "205 s", "473 s"];

/// Sizes and settings, by the names of the facts.
fn facts(size: Size) -> Value {
    let (n, m, rank, accesses) = size.pick((20, 40, 4, 40), (100, 600, 20, 600), (250, 2000, 50, 3000));
    json!({ "rows": n, "columns": m, "rank": rank, "accesses": accesses, "rho": RHO })
}

fn setup(size: Size) -> Setup<'static> {
    Setup { rho: RHO, inner: &[], starts: size.starts() }
}

pub fn runs(size: Size) -> usize {
    setup(size).runs()
}

pub fn run(lab: &Lab, size: Size) -> anyhow::Result<Record> {
    let mut record = Record::new(facts(size));
    let v = uniform(record.count("rows"), record.count("columns"), lab.seed);
    factorisation::run(lab, &v, &setup(size), &mut record)?;
    Ok(record)
}

pub fn section(record: &Record) -> Section {
    Section {
        claims: claims(record),
        items: factorisation::items(record, ID, FIGURES, TIMES),
        times: factorisation::times(record, TIMES),
        ..Section::new(ID, record)
    }
    .with([factorisation::beyond(record)])
    .judged_if(record.has(facts(Size::Full)), OTHER_SIZE)
}

fn claims(record: &Record) -> Vec<Claim> {
    let Some(judge) = Judge::new(record) else { return Vec::new() };
    let all = [
        ("nmf-times", "synthetic-nmf-table", judge.order_of_times()),
        ("nmf-mua", FIGURES[0], vec![judge.quick_start(MUA), judge.ends_below(FPA, MUA)]),
        (
            "nmf-fpa",
            FIGURES[1],
            vec![judge.quick_start(FPA), judge.ends_below(FPA, ADMM), judge.ends_below(FPA, MUA)],
        ),
        ("nmf-admm", FIGURES[1], vec![judge.begins_above(ADMM, FPA), judge.ends_alike(ADMM, FPA, 1.0)]),
        ("nmf-larger", FIGURES[0], judge.larger_at_the_same_time()),
    ];
    let claims = all.into_iter().map(|(name, figure, checks)| Claim::new(name, figure, checks));
    claims.chain([factorisation::rho_claim(record, ID, "§4.1.2", RHO)]).collect()
}
