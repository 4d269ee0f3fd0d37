//! Section 4.3: the factorisation of a spectrogram, and its parts as sounds.

use crate::checksum;
use crate::claim::{Claim, above, signed};
use crate::decomposition;
use crate::factorisation;
use crate::judge::Judge;
use crate::race::{ADMM, Course, Entrant, FPA, Lab, MUA, Watch};
use crate::record::{Record, Sheet};
use crate::section::{Item, OTHER_SIZE, Section, caption, sizes as sizes_sentence};
use crate::size::Size;
use anyhow::{Context, ensure};
use klnmf::Mat;
use klnmf_audio::{Sound, Spectrum, Stft};
use klnmf_io::file_name;
use klnmf_report::panels::{self, LABEL, Panels, RANGE, Span, WIDTH};
use serde_json::{Value, json};
use std::path::Path;

const ID: &str = "music";
const FIGURES: [&str; 2] = ["figure-09-music-time", "figure-15-music-iterations"];
const CONVEX: &str = "figure-14-music-nd";
/// The paper's times of FPA, ADMM and MUA.
const TIMES: [&str; 3] = ["13 min", "15 min", "80 min"];
const RHO: f64 = 10.0;
/// ADMM's penalty for the convex problems.
const RHO_ND: f64 = 0.5;
/// The paper's sample rate, window and hop.
const RATE: u32 = 11_025;
const WINDOW: usize = 256;
const HOP: usize = 128;
/// The paper's number of frames, and the corresponding number of samples.
const FRAMES: usize = 9312;
const SAMPLES: usize = (FRAMES - 1) * HOP;
/// The number of columns of a waveform and of a spectrogram in the data.
const COLUMNS: usize = 400;
const BINS: usize = WINDOW / 2 + 1;
/// The methods that are also run on the power spectrogram.
const METHODS: [&str; 3] = [FPA, ADMM, MUA];

/// A recording in mono at the paper's rate.
pub struct Piece {
    sound: Sound,
    /// The name of the file; none for the built-in piece.
    name: Option<String>,
    /// Seconds of the whole recording; only its beginning may be used.
    given: f64,
}

impl Piece {
    /// Reads a recording, or generates five synthetic instruments. Keeps at most the length of the paper's
    /// excerpt, from the beginning.
    pub fn load(path: Option<&Path>, seed: u64, size: Size) -> anyhow::Result<Self> {
        let seconds = size.pick(1.0, 8.0, PIECE);
        let mut samples = match path {
            Some(path) => klnmf_audio::read(path)?.resampled(RATE)?.mono(),
            None => ensemble(seconds, seed)?,
        };
        if let Some(path) = path {
            ensure!(samples.len() >= WINDOW, "{}: shorter than a window of 23 ms", path.display());
        }
        let given = samples.len() as f64 / f64::from(RATE);
        samples.truncate((seconds * f64::from(RATE)).round() as usize);
        let silent = samples.iter().all(|x| *x == 0.0);
        ensure!(!silent, "{}: all samples are zero", path.unwrap_or(Path::new("the recording")).display());
        let name = path.map(file_name);
        Ok(Self { sound: Sound::new(RATE, vec![samples])?, name, given })
    }

    pub fn fingerprint(&self) -> String {
        let name = self.name.as_deref().unwrap_or("ensemble");
        format!("{name}, {}", checksum::of_numbers(&self.sound.mono()))
    }
}

/// Seconds of the paper's excerpt.
const PIECE: f64 = SAMPLES as f64 / RATE as f64;

/// The mix of the built-in instruments.
fn ensemble(seconds: f64, seed: u64) -> anyhow::Result<Vec<f64>> {
    let parts = klnmf_audio::ensemble(seconds, RATE, seed)?;
    let mut mix = vec![0.0; parts.first().map_or(0, |(_, part)| part.len())];
    for (_, part) in &parts {
        mix.iter_mut().zip(&part.channels[0]).for_each(|(sum, x)| *sum += x);
    }
    Ok(mix)
}

/// Sizes and settings that do not depend on the data, by the names of the facts.
fn facts(size: Size) -> Value {
    let (rank, accesses, updates, iterations) =
        size.pick((3, 30, 50, 30), (10, 400, 800, 250), (10, 5000, 5000, 2000));
    json!({
        "rank": rank, "accesses": accesses, "updates": updates, "iterations": iterations, "rho": RHO,
        "rho of the convex problems": RHO_ND,
    })
}

fn setup(size: Size) -> factorisation::Setup<'static> {
    factorisation::Setup { rho: RHO, inner: &[], starts: size.starts() }
}

pub fn runs(size: Size) -> usize {
    setup(size).runs() + decomposition::runs() + METHODS.len()
}

pub fn run(lab: &Lab, size: Size, piece: &Piece) -> anyhow::Result<Record> {
    let stft = Stft::new(WINDOW, HOP)?;
    let signal = piece.sound.mono();
    let v = stft.spectrogram(&signal, Spectrum::Magnitude);
    let mut record = Record::new(facts(size));
    record.add(json!({
        "data": piece.name, "length": piece.sound.seconds(), "length of all": piece.given,
        "rows": v.rows(), "columns": v.cols(),
    }));
    // Before the factorisation, whose last starts are not timed: until they run, the machine must be left
    // alone.
    decomposition::run(lab, &v, RHO_ND, &mut record)?;
    let found = factorisation::run(lab, &v, &setup(size), &mut record)?;
    let (_, fpa) = found.iter().find(|(name, _)| name == FPA).context("there is no result of FPA")?;

    let loudness = fpa.h.row_sums();
    let mut order: Vec<usize> = (0..loudness.len()).collect();
    order.sort_by(|a, b| loudness[*b].total_cmp(&loudness[*a]));
    let groups: Vec<Vec<usize>> = order.iter().map(|k| vec![*k]).collect();
    let stems = klnmf_audio::separate(&piece.sound, &stft, &fpa.w, &fpa.h, &groups)?;
    let mut waves = Sheet::new(["part", "column", "low", "high"]);
    note_wave(&mut waves, 0, &signal);
    stems.iter().enumerate().for_each(|(k, stem)| note_wave(&mut waves, k + 1, &stem.mono()));
    record.sheets.insert("waves".into(), waves);
    record.sheets.insert("spectra".into(), spectra(&fpa.w, &order));
    let power = stft.spectrogram(&signal, Spectrum::Power);
    record.sheets.insert("spectrogram".into(), spectrogram(&power));
    run_on_power(lab, &power, &mut record)?;
    Ok(record)
}

/// Records where the paper's methods end if V has powers in place of magnitudes.
fn run_on_power(lab: &Lab, power: &Mat<f64>, record: &mut Record) -> anyhow::Result<()> {
    let v = &lab.prepare(power)?;
    let (w, h) = lab.start(v, record.count("rank"), 0)?;
    let course = Course { problem: "powers", v, start: (&w, &h), iterations: record.count("accesses") };
    let entrants = [Entrant::fpa(FPA, factorisation::INNER), Entrant::admm(ADMM, RHO), Entrant::mua()];
    for (name, entrant) in METHODS.iter().zip(entrants) {
        let (trace, _) = lab.race(&course, &entrant, Watch::Rarely)?;
        record.note(on_power(name), trace.last());
    }
    Ok(())
}

/// The name of the fact with a method's final divergence on powers.
fn on_power(method: &str) -> String {
    format!("end of {method} on powers")
}

/// A sentence about the choice of magnitudes.
fn spectrum(record: &Record) -> String {
    let relative = |method: &str| {
        let [end, mua] = [method, MUA].map(|method| record.fact(&on_power(method)));
        signed(above(end, mua))
    };
    format!(
        "The paper does not say whether V holds magnitudes or powers. We take magnitudes, because they give \
         results like the paper's. With powers, from the first start, the final D of FPA is {} relative to \
         MUA, and that of ADMM {}.",
        relative(FPA),
        relative(ADMM)
    )
}

/// Records the envelope of the recording (part 0) or of a part.
fn note_wave(sheet: &mut Sheet, part: usize, signal: &[f64]) {
    for (column, (low, high)) in panels::envelope(signal, COLUMNS).into_iter().enumerate() {
        let cells = [part.to_string(), column.to_string(), format!("{low:.5}"), format!("{high:.5}")];
        sheet.rows.push(cells.to_vec());
    }
}

/// The columns of W, loudest first.
fn spectra(w: &Mat<f64>, order: &[usize]) -> Sheet {
    let names = (1..=order.len()).map(|k| format!("part{k}"));
    let mut sheet = Sheet::new(["bin".into()].into_iter().chain(names));
    for i in 0..w.rows() {
        let mut row = vec![i.to_string()];
        row.extend(order.iter().map(|k| format!("{:.4e}", w[(i, *k)])));
        sheet.rows.push(row);
    }
    sheet
}

/// The log-power spectrogram in whole decibels.
fn spectrogram(v: &Mat<f64>) -> Sheet {
    let levels = panels::decibels(v, (COLUMNS, BINS));
    let mut sheet = Sheet::new((0..levels.cols()).map(|j| format!("c{j}")));
    for i in 0..levels.rows() {
        sheet.rows.push((0..levels.cols()).map(|j| format!("{:.0}", levels[(i, j)])).collect());
    }
    sheet
}

pub fn section(record: &Record) -> Section {
    let data = match record.text("data") {
        "" => "No recording was given (--music), so we use a built-in synthetic piece of five instruments, \
               without the noise of an old record."
            .into(),
        name => format!("The recording is {name}."),
    };
    let mut items = pictures(record);
    items.extend(factorisation::items(record, ID, FIGURES, TIMES));
    items.extend(decomposition::items(record, CONVEX));
    items.push(parts(record));
    let mut claims = claims(record);
    claims.extend(decomposition::claims(record, CONVEX, "supplement, Figure 14", RHO_ND));
    let given = !record.text("data").is_empty();
    Section { claims, items, times: factorisation::times(record, TIMES), ..Section::new(ID, record) }
        .with([
            data,
            used(record),
            sizes_sentence(record, "The magnitude spectrogram V"),
            spectrum(record),
            "Samples lie between −1 and 1. The best ρ depends on this scale, which the paper does not state."
                .into(),
            factorisation::beyond(record),
        ])
        .judged_if(given, "not run on a recording")
        .judged_if(
            !given || record.has(facts(Size::Full)) && record.has(json!({ "rows": BINS, "columns": FRAMES })),
            OTHER_SIZE,
        )
}

/// A sentence about how much of the recording was used.
fn used(record: &Record) -> String {
    let (length, all) = (record.fact("length"), record.fact("length of all"));
    if record.text("data").is_empty() {
        format!("It has {length:.1} s at {RATE} Hz. With --full it has {PIECE:.1} s, like the paper's.")
    } else if all > length + 0.05 && length > PIECE - 0.05 {
        format!("Its first {length:.1} of {all:.1} s are used, as long as the paper's excerpt, at {RATE} Hz.")
    } else if all > length + 0.05 {
        format!(
            "To save time, only its first {length:.1} of {all:.1} s are used, at {RATE} Hz. With --full, \
             {PIECE:.1} s are used, as in the paper."
        )
    } else {
        format!("All of its {length:.1} s are used, at {RATE} Hz.")
    }
}

/// The envelope of the recording (part 0) or of a part.
fn wave(record: &Record, part: usize) -> Vec<(f64, f64)> {
    let Some(sheet) = record.sheets.get("waves") else { return Vec::new() };
    let of = |row: &&Vec<String>| sheet.number(row, "part") == part as f64;
    sheet.rows.iter().filter(of).map(|row| (sheet.number(row, "low"), sheet.number(row, "high"))).collect()
}

/// The envelope of the recording and its largest absolute value.
fn recording(record: &Record) -> (Vec<(f64, f64)>, f64) {
    let recording = wave(record, 0);
    let peak = recording.iter().fold(1e-12f64, |most, (low, high)| most.max(low.abs()).max(high.abs()));
    (recording, peak)
}

/// The figures of the recording and its spectrogram.
fn pictures(record: &Record) -> Vec<Item> {
    let (wave, peak) = recording(record);
    let mut signal = Panels::new();
    signal.wave("recording", &wave, peak, 0);
    let mut levels = Panels::new();
    if let Some(sheet) = record.sheets.get("spectrogram") {
        let power = |i: usize, j: usize| 10f64.powf(sheet.rows[i][j].parse().unwrap_or(-RANGE) / 10.0);
        levels.image("log-power, dB", &Mat::from_fn(sheet.rows.len(), sheet.header.len(), power));
    }
    let item = |id, name, panels: Panels| Item::pictures(id, name, vec![panels.finish(&caption(name))]);
    vec![
        item("figure-07-music-signal", "signal", signal),
        item("figure-08-music-spectrogram", "spectrogram", levels),
    ]
}

/// The figure of W and the recovered signals.
fn parts(record: &Record) -> Item {
    let mut panels = Panels::new();
    let (_, peak) = recording(record);
    if let Some(sheet) = record.sheets.get("spectra") {
        let (left, gap) = (260.0, 24.0);
        let spectrum = Span { x: LABEL, width: left };
        let signal = Span { x: LABEL + left + gap, width: WIDTH - LABEL - left - gap };
        panels.heads([
            (spectrum, "W over frequency bins (square root)"),
            (signal, "recovered signal over time"),
        ]);
        for part in 1..sheet.header.len() {
            let values = |row: &Vec<String>| row[part].parse::<f64>().unwrap_or(0.0).sqrt();
            let values: Vec<f64> = sheet.rows.iter().map(values).collect();
            let recovered = wave(record, part);
            panels.curve_and_wave(
                &format!("part {part}"),
                (spectrum, &values),
                (signal, &recovered, peak),
                part,
            );
        }
    }
    let picture = panels.finish("the learned spectra and the recovered signals");
    Item::pictures("figure-16-music-parts", "sources", vec![picture])
}

fn claims(record: &Record) -> Vec<Claim> {
    let Some(judge) = Judge::new(record) else { return Vec::new() };
    let [to_fpa, to_mua] = [FPA, MUA].map(|other| judge.ends_alike(ADMM, other, 1.0));
    let all = [
        ("music-times", "music-table", judge.order_of_times()),
        ("music-early", FIGURES[0], judge.mua_leads_early()),
        ("music-end", FIGURES[0], vec![judge.ends_below(FPA, MUA)]),
        ("music-admm", FIGURES[1], vec![judge.begins_above(ADMM, FPA), to_fpa, to_mua]),
    ];
    let claims = all.into_iter().map(|(name, figure, checks)| Claim::new(name, figure, checks));
    claims.chain([factorisation::rho_claim(record, ID, "§4.3", RHO)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_excerpt_has_the_frames_of_the_paper() {
        assert_eq!((Stft::new(WINDOW, HOP).unwrap().frames(SAMPLES), BINS), (FRAMES, 129));
        assert_eq!((PIECE * f64::from(RATE)).round() as usize, SAMPLES);
    }
}
