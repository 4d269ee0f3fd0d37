//! Section 4.2: parts of images, and how many steps to take on one factor.

use super::checksum;
use super::claim::{Check, Claim};
use super::decomposition;
use super::factorisation::{self, INNER, PROBLEM, with_inner};
use super::images;
use super::judge::Judge;
use super::race::{ADMM, AUTO, FPA, Lab, MUA};
use super::record::{Record, Sheet};
use super::section::{Along, Item, OTHER_SIZE, Section, sizes as sizes_sentence};
use super::size::Size;
use super::spread::Spread;
use super::starts::{At, Starts, difference};
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
const SAMPLES: &str = "figure-04-faces-samples";
const STEPS: &str = "figure-05-faces-inner";
const FIGURES: [&str; 2] = ["figure-06-faces-time", "figure-12-faces-iterations"];
const CONVEX: &str = "figure-11-faces-nd";
const PARTS: &str = "figure-13-faces-parts";
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

/// Rank, iterations, multiplicative updates for the optimum and iterations of the convex problems.
fn sizes(size: Size) -> (usize, usize, usize, usize) {
    size.pick((4, 30, 50, 30), (49, 100, 200, 100), (49, 3000, 5000, 1500))
}

fn setup(size: Size) -> factorisation::Setup<'static> {
    let (rank, accesses, _, _) = sizes(size);
    factorisation::Setup { rank, accesses, rho: RHO, inner: &OTHER_INNER, starts: size.starts() }
}

pub fn runs(size: Size) -> usize {
    setup(size).runs() + decomposition::runs()
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
    // Only generated images: those that were given are somebody's, and a report may be published.
    if faces.name.is_none() {
        let shown = faces.v.cols().min(ACROSS * ACROSS);
        let spread = Mat::from_fn(faces.v.rows(), shown, |i, k| faces.v[(i, k * faces.v.cols() / shown)]);
        note(&mut parts, DATA, &faces.upright(&spread));
    }
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
    let mut items = vec![samples_figure(record), inner_figure(record)];
    items.extend(factorisation::items(record, ID, FIGURES, ["", "", ""]));
    items.push(parts_figure(record));
    items.extend(decomposition::items(record, CONVEX));
    let mut claims = claims(record);
    claims.extend(decomposition::claims(record, CONVEX, "supplement, Figure 11", RHO_ND));
    let paper = [
        ("rows", 361),
        ("columns", 2429),
        ("rank", 49),
        ("accesses", 3000),
        ("updates", 5000),
        ("iterations", 1500),
    ];
    let given = !record.text("data").is_empty();
    Section {
        title: "Faces: parts of images",
        paper: "MIT-CBCL Face Database #1, 2429 images of 19 × 19 pixels, r = 49, 3000 iterations; FPA with 3, 5, 10 and 15 steps on one factor, ADMM \
                with ρ = 50. The convex problems: 1500 iterations, ρ = 0.1."
            .into(),
        ours: vec![data, used(record), sizes_sentence(record, "V"), factorisation::beyond(record)],
        claims,
        items,
        ..Section::default()
    }
    .judged_if(given, "not run on faces")
    .judged_if(!given || record.has(&paper), OTHER_SIZE)
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
    let charts = vec![chart("(a) objective against iterations", false), chart("(b) zoomed", true)];
    Item::charts(
        STEPS,
        "FPA with different numbers of steps on one factor before the other has its turn.",
        charts,
    )
}

fn with_name(inner: usize) -> String {
    format!("FPA inner {inner}")
}

/// The pictures of these methods, as far as there are any.
fn pictures(record: &Record, methods: &[&str]) -> Vec<String> {
    let width = record.fact("width") as usize;
    let sheet = record.sheets.get("parts");
    sheet.map_or(Vec::new(), |sheet| methods.iter().filter_map(|name| picture(sheet, name, width)).collect())
}

fn samples_figure(record: &Record) -> Item {
    let pictures = pictures(record, &[DATA]);
    let caption = match pictures.len() {
        0 => "Samples of the images are not stored: they were given, and a report may be published.",
        _ => "Some of the images.",
    };
    Item::pictures(SAMPLES, caption, pictures)
}

fn parts_figure(record: &Record) -> Item {
    let caption = "The parts that each method has learned, the columns of W; every image relative to its darkest pixel. The paper has the first three.";
    Item::pictures(PARTS, caption, pictures(record, &[MUA, ADMM, FPA, AUTO]))
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
    let claim = |paper: &str, place, figure: &str, checks| Claim::new(paper, place, figure, checks);
    let sooner = |other: &Trace| judge.leads(At::Half, judge.fpa, other);
    vec![
        claim(
            "5 steps on one factor are the best trade-off: 3 over-alternate, 15 under-alternate, 10 are good",
            "4.2, Figure 5",
            STEPS,
            best_inner(&judge.starts),
        )
        .because("With fewer steps much is spent on switching between factors, with more on a factor whose partner is still far off.", "The ends differ by little, and not in the paper's order."),
        claim("The best number of steps lies between 3 and 10", "5", STEPS, vec![between(&judge.starts)])
            .because("Fifteen steps on one factor are too many while the other is still far off.", "Fifteen steps end at least as low."),
        claim(
            "All algorithms perform similarly",
            "4.2, Figure 6a",
            FIGURES[0],
            vec![judge.ends_alike(MUA, FPA, 5.0), judge.ends_alike(ADMM, FPA, 5.0)],
        )
        .because(
            "All three end in valleys of about the same height.",
            "Not all of the three come as low in these iterations.",
        ),
        claim(
            "MUA converges slowest and FPA fastest",
            "4.2, Figure 6b",
            FIGURES[0],
            vec![
                sooner(judge.mua),
                sooner(judge.admm),
                judge.ends_below(FPA, MUA),
                judge.ends_below(ADMM, MUA),
            ],
        )
        .because("As on the convex problems: MUA takes short steps towards weights that are zero.", "The three are not in the paper's order both at half of FPA's time and at the end."),
        factorisation::rho_claim(record, ID, "4.2", RHO),
    ]
}

fn best_inner(starts: &Starts) -> Vec<Check> {
    let check = |inner: &usize| {
        let ratio = starts.ratio((PROBLEM, FPA, At::End), (PROBLEM, &with_inner(*inner), At::End));
        let text = ratio.text(difference);
        Check::settled(ratio.below(1.0), format!("at the end FPA with 5 steps against {inner} steps: {text}"))
    };
    OTHER_INNER.iter().map(check).collect()
}

/// Whether the lowest of 3, 5 and 10 steps is below 15, the only number outside that was run.
fn between(starts: &Starts) -> Check {
    let ratios: Vec<Spread> = [3, INNER, 10]
        .map(|inner| {
            starts.ratio((PROBLEM, &with_inner(inner), At::End), (PROBLEM, &with_inner(15), At::End))
        })
        .to_vec();
    let best = ratios.iter().min_by(|a, b| a.median().total_cmp(&b.median()));
    let text = best.map_or_else(String::new, |ratio| ratio.text(difference));
    Check::settled(
        best.and_then(|ratio| ratio.below(1.0)),
        format!("at the end FPA with the best of 3, 5 and 10 steps against 15 steps: {text}"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::factorisation::tests::{made_up, record};
    use super::super::starts::tests::repeat;
    use super::*;

    #[test]
    fn the_best_number_of_steps_is_found() {
        let ends = |ends: [f64; 4]| {
            let names = [3, 5, 10, 15].map(with_inner);
            let mut record =
                record(names.iter().zip(ends).map(|(name, end)| made_up(name, end, 5.0, 0.1)).collect());
            repeat(&mut record, 10);
            let starts = Starts::of(&record);
            (best_inner(&starts).iter().map(|check| check.holds).collect::<Vec<_>>(), between(&starts).holds)
        };
        assert_eq!(ends([12.0, 10.0, 10.1, 11.0]), (vec![true; 3], true));
        assert_eq!(ends([12.0, 11.0, 10.9, 10.0]), (vec![true, false, false], false));
        assert_eq!(ends([10.2, 10.3, 10.1, 10.4]), (vec![false, false, true], true));
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
