//! The section of the page about one experiment.

use crate::claim::Claim;
use crate::race::{ADMM, AUTO, BEST_ADMM, FPA, MUA, OUR_FPA, PRINTED};
use crate::record::Record;
use crate::trace::{Place, Point, Trace};
use klnmf_report::chart::{Chart, Line};

/// Everything that the page shows about an experiment.
#[derive(Default)]
pub struct Section {
    pub title: String,
    /// A summary of what the paper does.
    pub paper: String,
    /// What we did, and how it differs from the paper.
    pub ours: Vec<String>,
    pub claims: Vec<Claim>,
    /// Figures and tables, in the order of the page.
    pub items: Vec<Item>,
    /// Times of the whole factorisation: the method, the paper's time, and ours in seconds.
    pub times: Vec<(&'static str, &'static str, f64)>,
}

/// The verdict of all claims if the sizes are not the paper's.
pub const OTHER_SIZE: &str = "not run at this size";

impl Section {
    /// The texts of an experiment by its name in sections.md.
    pub fn new(name: &str, record: &Record) -> Self {
        let mut texts = paragraphs(include_str!("sections.md"), name).map(|text| record.fill(&text));
        let [title, paper] = std::array::from_fn(|_| texts.next().unwrap_or_default());
        Self { title, paper, ours: texts.collect(), ..Self::default() }
    }

    /// Adds sentences about what we did.
    pub fn with<const N: usize>(mut self, ours: [String; N]) -> Self {
        self.ours.extend(ours);
        self
    }

    /// Removes the verdicts, for the reason `why`, unless the claims apply to these sizes and data.
    pub fn judged_if(mut self, fitting: bool, why: &'static str) -> Self {
        if !fitting {
            self.claims.iter_mut().for_each(|claim| claim.not_run = Some(why));
        }
        self
    }
}

/// The paragraphs under a heading of a Markdown file, each as one line.
pub fn paragraphs<'a>(file: &'a str, heading: &str) -> impl Iterator<Item = String> + use<'a> {
    let part = file.split("\n## ").find(|part| part.lines().next() == Some(heading)).unwrap_or_default();
    part.split("\n\n").skip(1).map(|words| words.trim().replace('\n', " "))
}

/// A caption by its name in captions.md.
pub fn caption(name: &str) -> String {
    paragraphs(include_str!("captions.md"), name).next().unwrap_or_default()
}

/// A figure or a table.
pub struct Item {
    /// The name of its file and its anchor on the page. It starts with `figure-NN-` if the paper has it.
    pub id: String,
    pub caption: String,
    pub body: Body,
}

/// The content of a figure or a table.
pub enum Body {
    /// Charts side by side.
    Charts(Vec<Chart>),
    /// Pictures as SVG.
    Pictures(Vec<String>),
    /// Header and rows.
    Table(Vec<String>, Vec<Vec<String>>),
}

impl Item {
    /// Charts with the caption of this name in captions.md, as in the next two functions.
    pub fn charts(id: &str, name: &str, charts: Vec<Chart>) -> Self {
        Self { id: id.into(), caption: caption(name), body: Body::Charts(charts) }
    }

    pub fn pictures(id: &str, name: &str, pictures: Vec<String>) -> Self {
        Self { id: id.into(), caption: caption(name), body: Body::Pictures(pictures) }
    }

    pub fn table(id: &str, name: &str, header: &[&str], rows: Vec<Vec<String>>) -> Self {
        let header = header.iter().map(|name| (*name).to_owned()).collect();
        Self { id: id.into(), caption: caption(name), body: Body::Table(header, rows) }
    }

    /// The number of the figure in the paper, or that it has none.
    pub fn label(&self) -> String {
        let number = self.id.strip_prefix("figure-").and_then(|rest| rest.get(..2)?.parse::<u8>().ok());
        match (number, &self.body) {
            (Some(number), _) => format!("Figure {number}"),
            (None, Body::Table(..)) => "Table".into(),
            (None, _) => "Beyond the paper".into(),
        }
    }
}

/// The x axis of a chart.
#[derive(Clone, Copy, PartialEq)]
pub enum Along {
    Iterations,
    Seconds,
}

impl Along {
    pub fn label(self) -> &'static str {
        match self {
            Along::Iterations => "iterations",
            Along::Seconds => "seconds",
        }
    }

    /// The coordinate of a place on this axis.
    pub fn of(self, place: &Place) -> f64 {
        match self {
            Along::Iterations => place.iteration,
            Along::Seconds => place.seconds,
        }
    }

    /// A trace as points of a chart. `f` gives the y coordinate.
    pub fn points(self, trace: &Trace, f: impl Fn(&Point) -> f64) -> Vec<(f64, f64)> {
        let x = |p: &Point| match self {
            Along::Iterations => p.iteration as f64,
            Along::Seconds => p.seconds,
        };
        trace.points.iter().map(|p| (x(p), f(p))).collect()
    }
}

/// A line in the colour of its method, which is the same in every figure.
pub fn line(method: &str, points: Vec<(f64, f64)>) -> Line {
    let colour = match method {
        FPA | PRINTED => 0,
        MUA => 1,
        ADMM | BEST_ADMM => 2,
        OUR_FPA => 3,
        AUTO => 4,
        _ => 5,
    };
    let pale = if [BEST_ADMM, PRINTED].contains(&method) { 0.4 } else { 0.0 };
    Line { name: method.into(), points, colour: Some(colour), pale, ..Line::default() }
}

/// The sizes of an experiment with both the whole factorisation and the convex problems.
pub fn sizes(record: &Record, matrix: &str) -> String {
    let sentence = " is {rows} × {columns}, r = {rank}, {accesses} iterations. The convex problems use \
                    {updates} multiplicative updates and {iterations} iterations.";
    matrix.to_owned() + &record.fill(sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_numbers_of_the_paper() {
        let label = |id: &str| Item::charts(id, "", Vec::new()).label();
        assert_eq!(label("figure-02-synthetic-nmf-time"), "Figure 2");
        assert_eq!(label("figure-16-music-parts"), "Figure 16");
        assert_eq!(label("synthetic-nmf-rho"), "Beyond the paper");
        assert_eq!(Item::table("x", "", &[], Vec::new()).label(), "Table");
    }
}
