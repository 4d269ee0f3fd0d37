//! Section 4.2: parts of images, and how many steps to take on one factor.

use super::checksum;
use super::claim::{Check, Claim, compared, lower, margin};
use super::decomposition;
use super::factorisation::{self, INNER, Judge, PROBLEM, with_inner};
use super::images;
use super::race::{ADMM, AUTO, FPA, Lab, MUA};
use super::record::{Record, Sheet};
use super::section::{Along, Body, Item, Section, sizes as sizes_sentence};
use super::size::Size;
use super::trace::Trace;
use crate::chart::{Line, escape};
use crate::picture::{Grid, base64};
use crate::random::Random;
use crate::swimmer;
use anyhow::ensure;
use klnmf::Mat;
use serde_json::json;
use std::path::Path;

const ID: &str = "faces";
const RHO: f64 = 50.0;
/// ADMM's penalty for the convex problems.
const RHO_ND: f64 = 0.1;
/// Steps on one factor, besides the paper's choice.
const OTHER_INNER: [usize; 3] = [3, 10, 15];
/// The name of some of the images themselves among the pictures.
const DATA: &str = "data";
/// Images beside each other and below each other in a picture.
const ACROSS: usize = 7;

/// Images as columns, 0 to 255.
pub struct Faces {
    v: Mat<f64>,
    width: usize,
    /// The name of the file or folder; none for the built-in ones.
    name: Option<String>,
    /// Whether a column holds an image column by column.
    column_major: bool,
    /// How many images there were, and that each so-many-th of them is used.
    given: usize,
    step: usize,
}

impl Faces {
    /// What a path names, or the Swimmer images; for small sizes only some of them, from all over.
    pub fn load(path: Option<&Path>, column_major: bool, seed: u64, size: Size) -> anyhow::Result<Self> {
        let (v, width) = match path {
            None => (noisy_swimmers(seed), swimmer::SIDE),
            Some(path) if path.is_dir() => images::read_folder(path)?,
            Some(path) => read_matrix(path)?,
        };
        let most = size.pick(24, 100, usize::MAX);
        let given = v.cols();
        let step = given.div_ceil(most).max(1);
        let v = Mat::from_fn(v.rows(), v.cols().div_ceil(step), |i, j| v[(i, j * step)]);
        let name = path.map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        Ok(Self { v, width, name, column_major, given, step })
    }

    pub fn fingerprint(&self) -> String {
        let name = self.name.as_deref().unwrap_or("swimmer");
        let turned = if self.column_major { ", column-major" } else { "" };
        format!("{name}, {}{turned}", checksum::of_numbers(self.v.as_slice()))
    }

    /// Columns as images row by row.
    fn upright(&self, columns: &Mat<f64>) -> Mat<f64> {
        let (width, height) = (self.width, columns.rows() / self.width);
        if !self.column_major {
            return columns.clone();
        }
        Mat::from_fn(columns.rows(), columns.cols(), |i, k| columns[(i % width * height + i / width, k)])
    }
}

/// The Swimmer images as a camera counts them. Without noise 17 parts fit exactly: then the divergence goes to zero, and there is no
/// optimum to compare methods at.
fn noisy_swimmers(seed: u64) -> Mat<f64> {
    const DARK: f64 = 10.0;
    const BRIGHT: f64 = 200.0;
    let (clean, mut random) = (swimmer::images(), Random::new(seed ^ 0x7377_696d));
    Mat::from_fn(clean.rows(), clean.cols(), |i, j| random.poisson(DARK + (BRIGHT - DARK) * clean[(i, j)]))
}

/// A matrix of square images.
fn read_matrix(path: &Path) -> anyhow::Result<(Mat<f64>, usize)> {
    let v = klnmf_io::read_dense::<f64>(path)?;
    klnmf::Matrix::from(&v).check().map_err(|why| klnmf_io::Error::matrix(path, why))?;
    let side = (v.rows() as f64).sqrt().round() as usize;
    ensure!(
        side * side == v.rows() && side > 0 && v.cols() > 0,
        "{}: {} rows are no square image in a column: transpose the matrix, or give a folder of PGM or PNG files",
        path.display(),
        v.rows()
    );
    Ok((v, side))
}

/// Rank, accesses, multiplicative updates for the optimum and iterations of the convex problems.
fn sizes(size: Size) -> (usize, usize, usize, usize) {
    size.pick((4, 30, 50, 30), (49, 100, 200, 100), (49, 3000, 5000, 1500))
}

fn setup(size: Size) -> factorisation::Setup<'static> {
    let (rank, accesses, _, _) = sizes(size);
    factorisation::Setup { rank, accesses, rho: RHO, inner: &OTHER_INNER }
}

pub fn runs(size: Size) -> usize {
    setup(size).runs() + decomposition::RUNS
}

pub fn run(lab: &Lab, size: Size, faces: &Faces) -> anyhow::Result<Record> {
    let (rank, accesses, updates, iterations) = sizes(size);
    let facts = json!({
        "data": faces.name, "images": faces.given, "step": faces.step, "rows": faces.v.rows(), "columns": faces.v.cols(),
        "width": faces.width, "rank": rank,
        "accesses": accesses, "updates": updates, "iterations": iterations, "rho": RHO, "rho of the convex problems": RHO_ND,
    });
    let mut record = Record { facts: facts.as_object().cloned().unwrap_or_default(), ..Record::default() };
    let found = factorisation::run(lab, &faces.v, &setup(size), &mut record)?;
    let header: Vec<String> = (0..faces.v.rows()).map(|pixel| format!("p{pixel}")).collect();
    let mut names = vec!["method", "part"];
    names.extend(header.iter().map(String::as_str));
    let mut parts = Sheet::new(&names);
    let shown = faces.v.cols().min(ACROSS * ACROSS);
    // Images from all over the data, not the first few of one person.
    let spread = Mat::from_fn(faces.v.rows(), shown, |i, k| faces.v[(i, k * faces.v.cols() / shown)]);
    note(&mut parts, DATA, &faces.upright(&spread));
    for method in [MUA, ADMM, FPA, AUTO] {
        for (_, solution) in found.iter().filter(|(name, _)| name == method) {
            note(&mut parts, method, &faces.upright(&solution.w));
        }
    }
    record.sheets.insert("parts".into(), parts);
    let convex = decomposition::Setup { rank, updates, iterations, rho: RHO_ND };
    decomposition::run(lab, &faces.v, &convex, &mut record)?;
    Ok(record)
}

/// Images as grey levels from 0 to 255, each relative to its largest.
fn note(sheet: &mut Sheet, method: &str, images: &Mat<f64>) {
    for k in 0..images.cols() {
        let most = images.col(k).iter().copied().fold(0.0, f64::max);
        let level = |x: &f64| if most > 0.0 { (255.0 * x / most).round() } else { 0.0 };
        let mut row = vec![method.to_owned(), (k + 1).to_string()];
        row.extend(images.col(k).iter().map(|x| level(x).to_string()));
        sheet.rows.push(row);
    }
}

pub fn section(record: &Record) -> Section {
    let data = match record.text("data") {
        "" => "No images were given (--faces), so these are the built-in Swimmer images, generated: 32 × 32 pixels, a body with four limbs in four \
               positions each, with Poisson noise (a mean of 10 in the dark, of 200 on the swimmer). They are no faces, and what holds for them need \
               not hold for faces."
            .into(),
        name => format!("The images are those of {name}."),
    };
    let mut items = vec![inner_figure(record)];
    items.extend(factorisation::items(record, ID, ["Figure 6", "Figure 12"], ["", "", ""]));
    items.push(parts_figure(record));
    items.extend(decomposition::items(record, "faces-nd", "Figure 11"));
    let mut claims = claims(record);
    claims.extend(decomposition::claims(record, "faces-nd", "supplement, Figure 11", RHO_ND));
    Section {
        title: "Faces: parts of images",
        paper: "MIT-CBCL Face Database #1, 2429 images of 19 × 19 pixels, r = 49, 3000 accesses; FPA with 3, 5, 10 and 15 steps on one factor, ADMM \
                with ρ = 50. The convex problems: 1500 iterations, ρ = 0.1."
            .into(),
        ours: vec![
            data,
            used(record),
            sizes_sentence(record, "V"),
            factorisation::beyond(record),
        ],
        claims,
        items,
    }
}

/// Which of the images were used, if not all.
fn used(record: &Record) -> String {
    let (step, columns) = (record.fact("step"), record.fact("columns"));
    if step > 1.0 {
        format!(
            "To be quick only {columns} of the {} images are used, numbers 1, {}, {} and so on; --full uses all of them.",
            record.fact("images"),
            1.0 + step,
            1.0 + 2.0 * step
        )
    } else {
        format!("All {columns} images are used.")
    }
}

/// FPA with several numbers of steps on one factor.
fn inner_traces(record: &Record) -> Vec<&Trace> {
    let mut all = [OTHER_INNER[0], INNER].to_vec();
    all.extend(&OTHER_INNER[1..]);
    all.iter().filter_map(|inner| record.trace(PROBLEM, &with_inner(*inner))).collect()
}

fn inner_figure(record: &Record) -> Item {
    let mut traces = inner_traces(record);
    traces.extend([MUA, ADMM, AUTO].iter().filter_map(|method| record.trace(PROBLEM, method)));
    let chart = |title: &str, zoomed: bool| {
        let mut chart = factorisation::chart(&traces, Along::Iterations, title, zoomed);
        for (line, colour) in chart.lines.iter_mut().zip([3, 0, 5, 6]) {
            let name = if line.name == FPA { with_name(INNER) } else { line.name.clone() };
            *line = Line { name, colour: Some(colour), ..std::mem::take(line) };
        }
        chart
    };
    let charts = vec![chart("(a) objective against accesses to the data", false), chart("(b) zoomed", true)];
    let caption =
        "FPA with different numbers of steps on one factor before the other has its turn (paper: Figure 5).";
    Item::charts(format!("{ID}-inner"), caption.into(), charts)
}

fn with_name(inner: usize) -> String {
    format!("FPA inner {inner}")
}

fn parts_figure(record: &Record) -> Item {
    let width = record.fact("width") as usize;
    let pictures = record.sheets.get("parts").map_or(Vec::new(), |sheet| {
        [DATA, MUA, ADMM, FPA, AUTO].iter().filter_map(|method| picture(sheet, method, width)).collect()
    });
    let caption = "Some of the images, and the parts that each method has learned, the columns of W (paper: Figures 4 and 13); every image relative \
                   to its darkest pixel.";
    Item { id: format!("{ID}-parts"), caption: caption.into(), body: Body::Pictures(pictures) }
}

/// The images of a method as a picture.
fn picture(sheet: &Sheet, method: &str, width: usize) -> Option<String> {
    let rows: Vec<&Vec<String>> = sheet.rows.iter().filter(|row| row[0] == method).collect();
    let pixels = sheet.header.len() - 2;
    let images = Mat::from_fn(pixels, rows.len(), |i, k| rows[k][i + 2].parse().unwrap_or(0.0));
    if width == 0 || rows.is_empty() {
        return None;
    }
    let (png, wide, high) = Grid { images: &images, width, across: ACROSS, labels: Vec::new() }.png().ok()?;
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 -40 {wide} {}\" role=\"img\" aria-label=\"images: {}\"><style>\
         .m{{font:28px system-ui,sans-serif;fill:#5b5d66}}@media(prefers-color-scheme:dark){{.m{{fill:#b4b6c0}}}}</style>\
         <text class=\"m\" style=\"font-size:28px\" x=\"4\" y=\"-12\">{}</text>\
         <image width=\"{wide}\" height=\"{high}\" href=\"data:image/png;base64,{}\"/></svg>\n",
        high + 40,
        escape(method),
        escape(method),
        base64(&png)
    ))
}

fn claims(record: &Record) -> Vec<Claim> {
    let Some(judge) = Judge::new(record) else { return Vec::new() };
    let claim = |paper: &str, place, figure: &str, checks| Claim {
        paper: paper.into(),
        place,
        figure: format!("{ID}-{figure}"),
        checks,
    };
    let sooner = |other: &Trace| judge.leads_at(judge.fpa.seconds() / 2.0, judge.fpa, other);
    vec![
        claim(
            "5 steps on one factor are the best trade-off: 3 over-alternate, 15 under-alternate, 10 are good",
            "4.2, Figure 5",
            "inner",
            best_inner(record),
        ),
        claim("The best number of steps lies between 3 and 10", "5", "inner", vec![between(record)]),
        claim(
            "All algorithms perform similarly",
            "4.2, Figure 6a",
            "time",
            vec![judge.ends_alike(judge.mua, judge.fpa, 5.0), judge.ends_alike(judge.admm, judge.fpa, 5.0)],
        ),
        claim(
            "MUA converges slowest and FPA fastest",
            "4.2, Figure 6b",
            "time",
            vec![
                sooner(judge.mua),
                sooner(judge.admm),
                judge.ends_below(judge.fpa, judge.mua),
                judge.ends_below(judge.admm, judge.mua),
            ],
        ),
        factorisation::rho_claim(record, ID, "4.2", RHO),
    ]
}

fn best_inner(record: &Record) -> Vec<Check> {
    let five = record.trace(PROBLEM, FPA).map_or(f64::NAN, Trace::last);
    let check = |inner: &usize| {
        let other = record.trace(PROBLEM, &with_inner(*inner)).map_or(f64::NAN, Trace::last);
        let measured = format!(
            "with {inner} steps FPA ends {} that with 5 (margin {})",
            compared(other, five),
            margin()
        );
        Check::settled(lower(five, other), measured)
    };
    OTHER_INNER.iter().map(check).collect()
}

/// Whether those that end as low as the lowest are all between 3 and 10; it is open if only some are.
fn between(record: &Record) -> Check {
    let traces = inner_traces(record);
    let lowest = traces.iter().map(|trace| trace.last()).fold(f64::INFINITY, f64::min);
    let ends = |inner: &usize| record.trace(PROBLEM, &with_inner(*inner)).map_or(f64::INFINITY, Trace::last);
    let as_low = |inner: &usize| lower(lowest, ends(inner)).is_none();
    let mut best: Vec<usize> = [INNER].into_iter().chain(OTHER_INNER).filter(as_low).collect();
    best.sort_unstable();
    let inside = best.iter().filter(|inner| (3..=10).contains(*inner)).count();
    let answer = (inside == 0 || inside == best.len()).then_some(inside > 0);
    let names: Vec<String> = best.iter().map(usize::to_string).collect();
    Check::settled(
        answer,
        format!(
            "FPA ends lowest with {} steps, of 3, 5, 10 and 15 (margin {})",
            names.join(" or "),
            margin()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::factorisation::tests::{made_up, record};
    use super::*;

    #[test]
    fn the_best_number_of_steps_is_found() {
        let ends = |ends: [f64; 4]| {
            let names = [3, 5, 10, 15].map(with_inner);
            record(names.iter().zip(ends).map(|(name, end)| made_up(name, end, 5.0, 0.1)).collect())
        };
        let paper = ends([12.0, 10.0, 10.1, 11.0]);
        assert!(best_inner(&paper).iter().all(|check| check.holds) && between(&paper).holds);
        let other = ends([12.0, 11.0, 10.9, 10.0]);
        assert_eq!(best_inner(&other).iter().filter(|check| check.holds).count(), 1);
        assert!(!between(&other).holds && !between(&other).open);
        let alike = ends([10.004, 10.005, 10.1, 10.0]);
        let count = |of: fn(&Check) -> bool| best_inner(&alike).iter().filter(|check| of(check)).count();
        assert_eq!((count(|c| c.holds), count(|c| c.open)), (1, 2), "as low as 5 decides nothing");
        assert!(between(&alike).open && between(&alike).measured.contains("3 or 5 or 15 steps"));
    }

    #[test]
    fn images_stored_column_by_column_are_turned() {
        let v = Mat::new(4, 1, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
        let faces =
            |column_major| Faces { v: v.clone(), width: 2, name: None, column_major, given: 1, step: 1 };
        assert_eq!(faces(true).upright(&v).as_slice(), [1.0, 3.0, 2.0, 4.0]);
        assert_eq!(faces(false).upright(&v), v);
        assert_ne!(faces(true).fingerprint(), faces(false).fingerprint());
    }

    #[test]
    fn the_images_that_are_used_are_named() {
        let faces = Faces::load(None, false, 1, Size::Quick).unwrap();
        assert_eq!((faces.given, faces.step, faces.v.cols()), (256, 3, 86));
        let facts = |step: f64, columns: f64| {
            let facts = json!({ "images": 256.0, "step": step, "columns": columns });
            Record { facts: facts.as_object().cloned().unwrap(), ..Record::default() }
        };
        let sentence = used(&facts(3.0, 86.0));
        assert!(sentence.contains("86 of the 256 images are used, numbers 1, 4, 7 and so on"), "{sentence}");
        assert_eq!(used(&facts(1.0, 256.0)), "All 256 images are used.");
    }
}
