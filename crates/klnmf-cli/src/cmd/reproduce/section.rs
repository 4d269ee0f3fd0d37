//! The part of the page about one experiment.

use super::claim::Claim;
use super::race::{ADMM, AUTO, BEST_ADMM, FPA, MUA, OUR_FPA};
use super::record::Record;
use super::trace::{Place, Trace};
use crate::chart::{Chart, Line};

/// Everything that is shown of an experiment.
#[derive(Default)]
pub struct Section {
    pub title: &'static str,
    /// What the paper does, in a sentence or two.
    pub paper: String,
    /// What was done here, and what is different.
    pub ours: Vec<String>,
    pub claims: Vec<Claim>,
    /// Figures and tables, in their order.
    pub items: Vec<Item>,
}

/// A figure or a table.
pub struct Item {
    /// The name of its file and of its place on the page.
    pub id: String,
    pub caption: String,
    pub body: Body,
}

/// What is in it.
pub enum Body {
    /// Charts beside each other.
    Charts(Vec<Chart>),
    /// Pictures as SVG.
    Pictures(Vec<String>),
    /// Header and rows.
    Table(Vec<String>, Vec<Vec<String>>),
}

impl Item {
    pub fn charts(id: String, caption: String, charts: Vec<Chart>) -> Self {
        Self { id, caption, body: Body::Charts(charts) }
    }

    pub fn table(id: String, caption: String, header: &[&str], rows: Vec<Vec<String>>) -> Self {
        let header = header.iter().map(|name| (*name).to_owned()).collect();
        Self { id, caption, body: Body::Table(header, rows) }
    }
}

/// What a chart has on its x axis.
#[derive(Clone, Copy, PartialEq)]
pub enum Along {
    Iterations,
    Seconds,
}

impl Along {
    pub fn label(self) -> &'static str {
        match self {
            Along::Iterations => "accesses to the data",
            Along::Seconds => "seconds",
        }
    }

    /// How far along a place is.
    pub fn of(self, place: &Place) -> f64 {
        match self {
            Along::Iterations => place.iteration,
            Along::Seconds => place.seconds,
        }
    }

    /// A trace as points of a chart: `f` gives the height.
    pub fn points(self, trace: &Trace, f: impl Fn(&super::trace::Point) -> f64) -> Vec<(f64, f64)> {
        let x = |p: &super::trace::Point| match self {
            Along::Iterations => p.iteration as f64,
            Along::Seconds => p.seconds,
        };
        trace.points.iter().map(|p| (x(p), f(p))).collect()
    }
}

/// A line in the colour that its method has in every figure.
pub fn line(method: &str, points: Vec<(f64, f64)>) -> Line {
    let colour = match method {
        FPA => 0,
        MUA => 1,
        ADMM | BEST_ADMM => 2,
        OUR_FPA => 3,
        AUTO => 4,
        _ => 5,
    };
    let pale = if method == BEST_ADMM { 0.4 } else { 0.0 };
    Line { name: method.into(), points, colour: Some(colour), pale, ..Line::default() }
}

/// The sizes of an experiment that has the whole factorisation of a matrix and its convex problems.
pub fn sizes(record: &Record, matrix: &str) -> String {
    let fact = |name| record.fact(name);
    format!(
        "{matrix} is {} × {}, r = {}, {} accesses; the convex problems with {} multiplicative updates and {} iterations.",
        fact("rows"),
        fact("columns"),
        fact("rank"),
        fact("accesses"),
        fact("updates"),
        fact("iterations")
    )
}
