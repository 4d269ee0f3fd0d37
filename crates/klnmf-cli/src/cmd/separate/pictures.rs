//! The recording, its spectrogram, the model and the stems in one picture, as in the paper's last figure.

use super::results::Results;
use super::scene::Scene;
use crate::thumbnail::Thumbnail;
use klnmf::Mat;
use klnmf_audio::Sources;
use klnmf_report::panels::{LABEL, Panels, Span, WIDTH};

/// The largest number of components that are drawn.
const MOST_ROWS: usize = 24;

/// Draws everything, for a recording of so many samples per second.
pub fn svg(results: &Results, sources: &Sources, rate: f64) -> String {
    let scene = &results.scene;
    let seconds = scene.samples as f64 / rate.max(1.0);
    let mut panels = Panels::new();
    let peak = scene.peak.max(1e-12);
    panels.wave("recording", &swings(&scene.wave), peak, 0);
    panels.image("spectrogram, dB", &matrix(&scene.spectrogram));
    panels.frequencies(rate / 2.0);
    panels.scales(&[(Span::ALL, seconds, "s")]);
    model(&mut panels, scene, sources, (rate, seconds));
    for (n, (name, stem)) in sources.names.iter().zip(&results.stems).enumerate().take(MOST_ROWS) {
        panels.wave(name, &swings(&stem.wave), peak, n + 1);
    }
    panels.scales(&[(Span::ALL, seconds, "s")]);
    panels.finish("the recording, its spectrogram, spectra and activations, and the stems")
}

/// Draws the loudest components of every source: the spectrum on the left, the activation on the right.
fn model(panels: &mut Panels, scene: &Scene, sources: &Sources, (rate, seconds): (f64, f64)) {
    let (left, gap) = (220.0, 16.0);
    let spans =
        [Span { x: LABEL, width: left }, Span { x: LABEL + left + gap, width: WIDTH - LABEL - left - gap }];
    let loudness = &scene.loudness;
    let each = (MOST_ROWS / sources.groups.len().max(1)).max(1);
    let loudest = |group: &Vec<usize>| {
        let mut group = group.clone();
        group.sort_by(|a, b| loudness[*b].total_cmp(&loudness[*a]));
        group.truncate(each);
        group
    };
    let members = sources.groups.iter().map(loudest).enumerate();
    for (s, k) in members.flat_map(|(s, group)| group.into_iter().map(move |k| (s, k))).take(MOST_ROWS) {
        // Square roots of the spectrum make faint parts visible.
        let spectrum: Vec<f64> = sources.w.col(k).iter().map(|x| x.sqrt()).collect();
        let name = format!("{} · {}", sources.names[s], k + 1);
        let activation = scene.activations.row(k);
        panels.curves(&name, [(spans[0], &spectrum), (spans[1], &activation)], s + 1);
    }
    panels.scales(&[(spans[0], rate / 2000.0, "kHz"), (spans[1], seconds, "s")]);
    panels.skip(8.0);
}

/// The lowest and highest value of each column of a waveform.
fn swings(wave: &Thumbnail) -> Vec<(f64, f64)> {
    (0..wave.cols()).map(|j| (-wave.at(0, j), wave.at(1, j))).collect()
}

fn matrix(thumbnail: &Thumbnail) -> Mat<f64> {
    Mat::from_fn(thumbnail.rows(), thumbnail.cols(), |i, j| thumbnail.at(i, j))
}
