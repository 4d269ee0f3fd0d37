//! What is kept of a recording that is not kept in memory.

use crate::thumbnail::Thumbnail;
use klnmf::Mat;

/// The largest number of rows of the picture of a spectrogram.
const MOST_ROWS: usize = 160;

/// The data of the recording that pictures and notes need.
pub struct Scene {
    /// The waveform of the mean of the channels.
    pub wave: Thumbnail,
    pub spectrogram: Thumbnail,
    /// The row sums of H, and thumbnails of the rows.
    pub loudness: Vec<f64>,
    pub activations: Thumbnail,
    /// The largest sample of any channel.
    pub peak: f64,
    /// Samples per channel and frames that were processed: fewer if the work was interrupted.
    pub samples: usize,
    pub frames: usize,
}

impl Scene {
    /// An empty scene for spectra of `bins` frequencies and a model of `components`.
    pub fn new(bins: usize, components: usize) -> Self {
        Self {
            wave: Thumbnail::of_wave(),
            spectrogram: Thumbnail::new(bins.min(MOST_ROWS)),
            loudness: vec![0.0; components],
            activations: Thumbnail::new(components),
            peak: 0.0,
            samples: 0,
            frames: 0,
        }
    }

    /// Adds the next samples.
    pub fn hear<S: AsRef<[f64]>>(&mut self, channels: &[S]) {
        let mean = klnmf_audio::mean(channels);
        let samples = channels.iter().flat_map(|channel| channel.as_ref());
        self.peak = samples.fold(self.peak, |most, x| most.max(x.abs()));
        self.samples += mean.len();
        self.wave.add_wave(&mean);
    }

    /// Adds the next columns of the spectrogram, and their weights.
    pub fn see(&mut self, v: &Mat<f64>, h: &Mat<f64>) {
        let rows = self.spectrogram.rows();
        let part = |i: usize| i * v.rows() / rows..(i + 1) * v.rows() / rows;
        for j in 0..v.cols() {
            let column = v.col(j);
            self.spectrogram.add((0..rows).map(|i| column[part(i)].iter().copied().fold(0.0, f64::max)));
            self.loudness.iter_mut().zip(h.col(j)).for_each(|(sum, x)| *sum += x);
            self.activations.add(h.col(j).iter().copied());
        }
        self.frames += v.cols();
    }

    /// A note if the channels cancel each other, because then there is nothing to factorise.
    pub fn silent_mean(&self) -> Option<String> {
        let silent = (0..2).all(|i| self.wave.row(i).iter().all(|x| *x == 0.0));
        let cancels = silent && self.peak > 0.0;
        cancels.then(|| "the channels cancel each other, so every stem gets an even share".into())
    }
}
