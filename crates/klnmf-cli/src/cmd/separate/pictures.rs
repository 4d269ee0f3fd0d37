//! The recording, its spectrogram, the model and the stems in one picture, as in the paper's last figure.

use super::model::Sources;
use crate::panels::{LABEL, Panels, Span, WIDTH};
use klnmf::Mat;
use klnmf_audio::Sound;

/// Components that are drawn.
const MOST_ROWS: usize = 24;

/// What is drawn.
pub struct Pictures<'a> {
    pub mix: &'a Sound,
    pub v: &'a Mat<f64>,
    pub sources: &'a Sources,
    pub stems: &'a [Sound],
}

impl Pictures<'_> {
    pub fn svg(&self) -> String {
        let mut panels = Panels::new();
        let peak = peak(self.mix);
        panels.wave("recording", &self.mix.mono(), peak, 0);
        panels.image("spectrogram, dB", self.v);
        self.model(&mut panels);
        for (n, (name, stem)) in self.sources.names.iter().zip(self.stems).enumerate().take(MOST_ROWS) {
            panels.wave(name, &stem.mono(), peak, n + 1);
        }
        panels.finish("the recording, its spectrogram, spectra and activations, and the stems")
    }

    /// For the loudest components of every source the spectrum on the left and the activation on the right.
    fn model(&self, panels: &mut Panels) {
        let (left, gap) = (220.0, 16.0);
        let spans = [
            Span { x: LABEL, width: left },
            Span { x: LABEL + left + gap, width: WIDTH - LABEL - left - gap },
        ];
        let sources = self.sources;
        let ht = sources.h.transpose();
        let loudness = ht.col_sums();
        let each = (MOST_ROWS / sources.groups.len().max(1)).max(1);
        let loudest = |group: &Vec<usize>| {
            let mut group = group.clone();
            group.sort_by(|a, b| loudness[*b].total_cmp(&loudness[*a]));
            group.truncate(each);
            group
        };
        let members = sources.groups.iter().map(loudest).enumerate();
        for (s, k) in members.flat_map(|(s, group)| group.into_iter().map(move |k| (s, k))).take(MOST_ROWS) {
            // The ear hears ratios: square roots of the spectrum bring out what is faint.
            let spectrum: Vec<f64> = sources.w.col(k).iter().map(|x| x.sqrt()).collect();
            let name = format!("{} · {}", sources.names[s], k + 1);
            panels.curves(&name, [(spans[0], &spectrum), (spans[1], ht.col(k))], s + 1);
        }
        panels.skip(8.0);
    }
}

fn peak(sound: &Sound) -> f64 {
    sound.channels.iter().flatten().fold(0.0f64, |most, x| most.max(x.abs())).max(1e-12)
}
