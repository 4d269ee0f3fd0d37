//! Section 4.2: the parts of images, and the number of steps per factor.

use crate::checksum;
use crate::claim::{Check, Claim};
use crate::decomposition;
use crate::factorisation::{self, INNER, PROBLEM, with_inner};
use crate::images;
use crate::judge::Judge;
use crate::race::{ADMM, AUTO, FPA, Lab, MUA};
use crate::random::Random;
use crate::record::{Record, Sheet};
use crate::section::{Along, Item, OTHER_SIZE, Section, sizes as sizes_sentence};
use crate::size::Size;
use crate::spread::Spread;
use crate::starts::{At, Starts, difference};
use crate::swimmer;
use crate::trace::Trace;
use anyhow::ensure;
use klnmf::Mat;
use klnmf_io::file_name;
use klnmf_report::chart::Line;
use klnmf_report::html::escape;
use klnmf_report::picture::{Grid, base64};
use serde_json::{Value, json};
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
/// Other numbers of steps per factor than the paper's choice.
const OTHER_INNER: [usize; 3] = [3, 10, 15];
/// The name of the images themselves in the data.
const DATA: &str = "data";
/// Images per row and per column of a picture.
const ACROSS: usize = 7;

/// Images as columns, 0 to 255.
pub struct Faces {
    v: Mat<f64>,
    width: usize,
    /// The name of the file or folder; none for the built-in images.
    name: Option<String>,
    /// Whether images are stored column by column.
    column_major: bool,
    /// The number of images given.
    given: usize,
    /// Every `step`-th image is used.
    step: usize,
}

impl Faces {
    /// Reads images, or generates the Swimmer images. Small sizes use only every few of them.
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
        let name = path.map(file_name);
        Ok(Self { v, width, name, column_major, given, step })
    }

    pub fn fingerprint(&self) -> String {
        let name = self.name.as_deref().unwrap_or("swimmer");
        let turned = if self.column_major { ", column-major" } else { "" };
        format!("{name}, {}{turned}", checksum::of_numbers(self.v.as_slice()))
    }

    /// Converts columns to images stored row by row.
    fn upright(&self, columns: &Mat<f64>) -> Mat<f64> {
        let (width, height) = (self.width, columns.rows() / self.width);
        if !self.column_major {
            return columns.clone();
        }
        Mat::from_fn(columns.rows(), columns.cols(), |i, k| columns[(i % width * height + i / width, k)])
    }
}

/// The Swimmer images with Poisson noise. Without noise, 17 parts fit exactly and the divergence goes to
/// zero, so final divergences could not be compared.
fn noisy_swimmers(seed: u64) -> Mat<f64> {
    const DARK: f64 = 10.0;
    const BRIGHT: f64 = 200.0;
    let (clean, mut random) = (swimmer::images(), Random::new(seed ^ 0x7377_696d));
    Mat::from_fn(clean.rows(), clean.cols(), |i, j| random.poisson(DARK + (BRIGHT - DARK) * clean[(i, j)]))
}

/// Reads a matrix with a square image in every column.
fn read_matrix(path: &Path) -> anyhow::Result<(Mat<f64>, usize)> {
    let v = klnmf_io::read_dense::<f64>(path)?;
    klnmf::Matrix::from(&v).check().map_err(|why| klnmf_io::Error::matrix(path, why))?;
    let side = (v.rows() as f64).sqrt().round() as usize;
    ensure!(
        side * side == v.rows() && side > 0 && v.cols() > 0,
        "{}: the matrix has {} rows, so its columns are not square images; transpose it, or give a folder of \
         PGM or PNG files",
        path.display(),
        v.rows()
    );
    Ok((v, side))
}

/// Sizes and settings that do not depend on the data, by the names of the facts.
fn facts(size: Size) -> Value {
    let (rank, accesses, updates, iterations) =
        size.pick((4, 30, 50, 30), (49, 100, 200, 100), (49, 3000, 5000, 1500));
    json!({
        "rank": rank, "accesses": accesses, "updates": updates, "iterations": iterations, "rho": RHO,
        "rho of the convex problems": RHO_ND,
    })
}

fn setup(size: Size) -> factorisation::Setup<'static> {
    factorisation::Setup { rho: RHO, inner: &OTHER_INNER, starts: size.starts() }
}

pub fn runs(size: Size) -> usize {
    setup(size).runs() + decomposition::runs()
}

pub fn run(lab: &Lab, size: Size, faces: &Faces) -> anyhow::Result<Record> {
    let Faces { v, width, name, given, step, .. } = faces;
    let mut record = Record::new(facts(size));
    record.add(json!({
        "data": name, "images": given, "step": step, "width": width, "rows": v.rows(), "columns": v.cols(),
    }));
    // Before the factorisation, whose last starts are not timed: until they run, the machine must be left
    // alone.
    decomposition::run(lab, v, RHO_ND, &mut record)?;
    let found = factorisation::run(lab, v, &setup(size), &mut record)?;
    let pixels = (0..v.rows()).map(|pixel| format!("p{pixel}"));
    let mut parts = Sheet::new(["method".into(), "part".into()].into_iter().chain(pixels));
    // Only generated images are stored. Given images may not be free, and a report may be published.
    if name.is_none() {
        let shown = v.cols().min(ACROSS * ACROSS);
        let spread = Mat::from_fn(v.rows(), shown, |i, k| v[(i, k * v.cols() / shown)]);
        note(&mut parts, DATA, &faces.upright(&spread));
    }
    for method in [MUA, ADMM, FPA, AUTO] {
        for (_, solution) in found.iter().filter(|(name, _)| name == method) {
            note(&mut parts, method, &faces.upright(&solution.w));
        }
    }
    record.sheets.insert("parts".into(), parts);
    Ok(record)
}

/// Records images as grey levels from 0 to 255, relative to the largest value of each.
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
        "" => "No images were given (--faces), so we use the generated Swimmer images: 32 × 32 pixels, a \
               body with four limbs in four positions each, and Poisson noise (mean 10 in the background and \
               200 on the swimmer). They are not faces, and results may differ for faces."
            .into(),
        name => format!("The images are those of {name}."),
    };
    let mut items = vec![samples_figure(record), inner_figure(record)];
    items.extend(factorisation::items(record, ID, FIGURES, ["", "", ""]));
    items.push(parts_figure(record));
    items.extend(decomposition::items(record, CONVEX));
    let mut claims = claims(record);
    claims.extend(decomposition::claims(record, CONVEX, "supplement, Figure 11", RHO_ND));
    let given = !record.text("data").is_empty();
    Section { claims, items, ..Section::new(ID, record) }
        .with([data, used(record), sizes_sentence(record, "V"), factorisation::beyond(record)])
        .judged_if(given, "not run on faces")
        .judged_if(
            !given || record.has(facts(Size::Full)) && record.has(json!({ "rows": 361, "columns": 2429 })),
            OTHER_SIZE,
        )
}

/// A sentence about which images were used.
fn used(record: &Record) -> String {
    let step = record.fact("step");
    if step <= 1.0 {
        return record.fill("All {columns} images are used.");
    }
    let [second, third] = [1.0 + step, 1.0 + 2.0 * step];
    record.fill("To save time, only {columns} of the {images} images are used")
        + &format!(", numbers 1, {second}, {third} and so on. With --full, all are used.")
}

/// The traces of FPA with different numbers of steps per factor.
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
    Item::charts(STEPS, "inner", charts)
}

fn with_name(inner: usize) -> String {
    format!("FPA inner {inner}")
}

/// The pictures of these methods, if recorded.
fn pictures(record: &Record, methods: &[&str]) -> Vec<String> {
    let width = record.fact("width") as usize;
    let sheet = record.sheets.get("parts");
    sheet.map_or(Vec::new(), |sheet| methods.iter().filter_map(|name| picture(sheet, name, width)).collect())
}

fn samples_figure(record: &Record) -> Item {
    let pictures = pictures(record, &[DATA]);
    let caption = if pictures.is_empty() { "no-samples" } else { "samples" };
    Item::pictures(SAMPLES, caption, pictures)
}

fn parts_figure(record: &Record) -> Item {
    Item::pictures(PARTS, "parts", pictures(record, &[MUA, ADMM, FPA, AUTO]))
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
    let name = escape(method);
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 -40 {wide} {}\" role=\"img\" \
         aria-label=\"images: {name}\"><style>.m{{font:28px system-ui,sans-serif;fill:#5b5d66}}\
         @media(prefers-color-scheme:dark){{.m{{fill:#b4b6c0}}}}</style>\
         <text class=\"m\" style=\"font-size:28px\" x=\"4\" y=\"-12\">{name}</text>\
         <image width=\"{wide}\" height=\"{high}\" href=\"data:image/png;base64,{}\"/></svg>\n",
        high + 40,
        base64(&png)
    ))
}

fn claims(record: &Record) -> Vec<Claim> {
    let Some(judge) = Judge::new(record) else { return Vec::new() };
    let sooner = |other: &Trace| judge.leads(At::Half, judge.fpa, other);
    let alike = [MUA, ADMM].map(|other| judge.ends_alike(other, FPA, 5.0)).to_vec();
    let order =
        vec![sooner(judge.mua), sooner(judge.admm), judge.ends_below(FPA, MUA), judge.ends_below(ADMM, MUA)];
    let all = [
        ("faces-inner", STEPS, best_inner(&judge.starts)),
        ("faces-between", STEPS, vec![between(&judge.starts)]),
        ("faces-alike", FIGURES[0], alike),
        ("faces-order", FIGURES[0], order),
    ];
    let claims = all.into_iter().map(|(name, figure, checks)| Claim::new(name, figure, checks));
    claims.chain([factorisation::rho_claim(record, ID, "§4.2", RHO)]).collect()
}

fn best_inner(starts: &Starts) -> Vec<Check> {
    let check = |inner: &usize| {
        let ratio = starts.ratio((PROBLEM, FPA, At::End), (PROBLEM, &with_inner(*inner), At::End));
        let text = ratio.text(difference);
        let measured =
            format!("final D of FPA with 5 steps relative to {inner} steps: {text}; required: below 0");
        Check::settled(ratio.below(1.0), measured)
    };
    OTHER_INNER.iter().map(check).collect()
}

/// Whether the best of 3, 5 and 10 steps ends below 15, the only number outside this range that was run.
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
        format!("final D of FPA with the best of 3, 5, 10 steps relative to 15: {text}; required: below 0"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factorisation::tests::{made_up, record};
    use crate::starts::tests::repeat;

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
    fn the_sentence_names_the_images_used() {
        let faces = Faces::load(None, false, 1, Size::Quick).unwrap();
        assert_eq!((faces.given, faces.step, faces.v.cols()), (256, 3, 86));
        let facts = |step: f64, columns: f64| {
            Record::new(json!({ "images": 256.0, "step": step, "columns": columns }))
        };
        let sentence = used(&facts(3.0, 86.0));
        assert!(sentence.contains("86 of the 256 images are used, numbers 1, 4, 7 and so on"), "{sentence}");
        assert_eq!(used(&facts(1.0, 256.0)), "All 256 images are used.");
    }
}
