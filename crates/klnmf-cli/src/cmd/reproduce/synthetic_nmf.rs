//! Section 4.1.2: the whole factorisation of uniform numbers.

use super::claim::Claim;
use super::factorisation::{self, Judge, Setup};
use super::race::Lab;
use super::record::Record;
use super::section::Section;
use super::size::Size;
use super::synthetic_nd::uniform;
use serde_json::json;

const RHO: f64 = 1.0;
const ID: &str = "synthetic-nmf";

/// n, m, rank, accesses.
fn sizes(size: Size) -> (usize, usize, usize, usize) {
    size.pick((20, 40, 4, 40), (100, 600, 20, 600), (250, 2000, 50, 3000))
}

fn setup(size: Size) -> Setup<'static> {
    let (_, _, rank, accesses) = sizes(size);
    Setup { rank, accesses, rho: RHO, inner: &[] }
}

pub fn runs(size: Size) -> usize {
    setup(size).runs()
}

pub fn run(lab: &Lab, size: Size) -> anyhow::Result<Record> {
    let (n, m, rank, accesses) = sizes(size);
    let facts = json!({ "rows": n, "columns": m, "rank": rank, "accesses": accesses, "rho": RHO });
    let mut record = Record { facts: facts.as_object().cloned().unwrap_or_default(), ..Record::default() };
    factorisation::run(lab, &uniform(n, m, lab.seed), &setup(size), &mut record)?;
    Ok(record)
}

pub fn section(record: &Record) -> Section {
    let fact = |name| record.fact(name);
    Section {
        title: "Synthetic data: the whole factorisation",
        paper: "V is 250 × 2000 from the uniform distribution on (0, 750), r = 50, 3000 accesses to the data; FPA takes 5 steps on one \
                factor before the other has its turn, ADMM has ρ = 1."
            .into(),
        ours: vec![
            format!(
                "V is {} × {}, r = {}, {} accesses, the same start for all.",
                fact("rows"),
                fact("columns"),
                fact("rank"),
                fact("accesses")
            ),
            factorisation::beyond(record),
        ],
        claims: claims(record),
        items: factorisation::items(record, ID, ["Figure 2", "Figure 10"], ["190 s", "205 s", "473 s"]),
    }
}

fn claims(record: &Record) -> Vec<Claim> {
    let Some(judge) = Judge::new(record) else { return Vec::new() };
    let claim = |paper: &str, figure: &str, checks| Claim {
        paper: paper.into(),
        place: "4.1.2, Figure 2",
        figure: format!("{ID}-{figure}"),
        checks,
    };
    vec![
        claim(
            "The total time is least for FPA (190 s), then ADMM (205 s), then MUA (473 s)",
            "table",
            judge.order_of_times(),
        ),
        claim(
            "MUA has a high decrement at first, but a slow tail",
            "time",
            vec![judge.quick_start(judge.mua), judge.ends_below(judge.fpa, judge.mua)],
        ),
        claim(
            "FPA decreases dramatically in a few iterations and achieves the lowest objective",
            "iterations",
            vec![
                judge.quick_start(judge.fpa),
                judge.ends_below(judge.fpa, judge.admm),
                judge.ends_below(judge.fpa, judge.mua),
            ],
        ),
        claim(
            "ADMM has a poor initial performance, but then a value similar to that of FPA",
            "iterations",
            vec![judge.begins_above(judge.admm, judge.fpa), judge.ends_alike(judge.admm, judge.fpa, 1.0)],
        ),
        claim(
            "In FPA's running time the others have a significantly larger cost",
            "time",
            judge.larger_at_the_same_time(),
        ),
        factorisation::rho_claim(record, ID, "4.1.2", RHO),
    ]
}
