//! Separation by Wiener masks.
//!
//! The components k of a model WH of the spectrogram belong to sources s. Source s gets from every entry X of every
//! channel's short-time spectra the share
//!
//! M_s = (W_s H_s)/(WH),  Σ_s M_s = 1,
//!
//! and 1/(number of sources) where WH = 0. The transform is linear, so the sources add up to the sound.
//!
//! Frames are worked in blocks; within a block each is worked by one thread, and they are added up in their order: the
//! same bits for any number of threads, and memory for one block only.

use crate::stft::{Sums, Work};
use crate::{Error, Sound, Stft};
use klnmf::Mat;
use rayon::prelude::*;
use realfft::num_complex::Complex;

/// Frames worked at a time: enough for many threads, little enough for the cache.
const BLOCK: usize = 64;

/// The sources of a sound: one of its length and channels for each group of components.
///
/// `w` (bins × components) and `h` (components × frames) are a model of the spectrogram of [`Stft::forward`]; `groups`
/// lists the components of each source, every component once.
pub fn separate(
    sound: &Sound,
    stft: &Stft,
    w: &Mat<f64>,
    h: &Mat<f64>,
    groups: &[Vec<usize>],
) -> Result<Vec<Sound>, Error> {
    let nothing =
        Sound { rate: sound.rate, channels: vec![Vec::new(); sound.channels.len()], notes: Vec::new() };
    let mut sources = vec![nothing; groups.len()];
    separate_by_blocks(sound, stft, w, h, groups, |blocks| {
        for (source, block) in sources.iter_mut().zip(blocks) {
            for (channel, piece) in source.channels.iter_mut().zip(block) {
                channel.extend_from_slice(piece);
            }
        }
        Ok::<(), Error>(())
    })?;
    Ok(sources)
}

/// As [`separate`], but gives the samples piece by piece: `give` is called with the next samples of each channel of each
/// source, `[source][channel][sample]`, so the sources never need to be in memory. Its error ends the work.
pub fn separate_by_blocks<E: From<Error>>(
    sound: &Sound,
    stft: &Stft,
    w: &Mat<f64>,
    h: &Mat<f64>,
    groups: &[Vec<usize>],
    mut give: impl FnMut(&[Vec<Vec<f64>>]) -> Result<(), E>,
) -> Result<(), E> {
    let model = Model::new(w, h, groups)?;
    model.check(sound, stft)?;
    let (channels, total, window) = (sound.channels.len(), stft.frames(sound.len()), stft.window());
    let pieces = groups.len() * channels * window;
    let mut frames = vec![0.0; pieces * BLOCK.min(total)];
    let mut sums: Vec<Vec<Sums>> =
        groups.iter().map(|_| (0..channels).map(|_| Sums::new(stft, sound.len())).collect()).collect();
    let mut blocks = vec![vec![Vec::new(); channels]; groups.len()];
    for first in (0..total).step_by(BLOCK) {
        let frames = &mut frames[..pieces * BLOCK.min(total - first)];
        frames.par_chunks_mut(pieces).enumerate().for_each_init(
            || Buffers::new(stft, &model),
            |b, (j, out)| model.frame(sound, stft, first + j, out, b),
        );
        blocks.par_iter_mut().zip(&mut sums).enumerate().for_each(|(s, (block, sums))| {
            for (c, (channel, sums)) in block.iter_mut().zip(sums).enumerate() {
                channel.clear();
                let own = frames[(s * channels + c) * window..].chunks(pieces);
                own.for_each(|piece| sums.add(&piece[..window], channel));
            }
        });
        give(&blocks)?;
    }
    Ok(())
}

/// The masks of the sources, bins × frames each; at every place they are not negative and add up to 1.
pub fn masks(w: &Mat<f64>, h: &Mat<f64>, groups: &[Vec<usize>]) -> Result<Vec<Mat<f64>>, Error> {
    let model = Model::new(w, h, groups)?;
    let bins = w.rows();
    let mut column = vec![0.0; bins * groups.len()];
    let mut masks = vec![Mat::zeros(bins, h.cols()); groups.len()];
    for j in 0..h.cols() {
        model.masks(j, &mut column);
        for (mask, shares) in masks.iter_mut().zip(column.chunks_exact(bins)) {
            mask.col_mut(j).copy_from_slice(shares);
        }
    }
    Ok(masks)
}

/// A model of the spectrogram whose components belong to sources.
struct Model<'a> {
    w: &'a Mat<f64>,
    h: &'a Mat<f64>,
    groups: &'a [Vec<usize>],
}

impl<'a> Model<'a> {
    fn new(w: &'a Mat<f64>, h: &'a Mat<f64>, groups: &'a [Vec<usize>]) -> Result<Self, Error> {
        let wrong = |what: String| Err(Error::Shape(what));
        let components = w.cols();
        if w.rows() == 0 || components != h.rows() {
            let (bins, rows) = (w.rows(), h.rows());
            return wrong(format!(
                "W is {bins} × {components} but H has {rows} rows: give factors of one model"
            ));
        }
        check_factor("W", w)?;
        check_factor("H", h)?;
        let mut owners = vec![0; components];
        for &k in groups.iter().flatten() {
            match owners.get_mut(k) {
                Some(owners) => *owners += 1,
                None => {
                    return wrong(format!("a source has component {k} (from 0) but there are {components}"));
                }
            }
        }
        match owners.iter().position(|owners| *owners != 1) {
            Some(k) => {
                wrong(format!("component {k} (from 0) is in {} sources: it must be in one", owners[k]))
            }
            None if groups.is_empty() => wrong("there are no sources: give at least one group".into()),
            None => Ok(Self { w, h, groups }),
        }
    }

    fn check(&self, sound: &Sound, stft: &Stft) -> Result<(), Error> {
        sound.check()?;
        let (model, spectra) = ((self.w.rows(), self.h.cols()), (stft.bins(), stft.frames(sound.len())));
        if model == spectra {
            return Ok(());
        }
        Err(Error::Shape(format!(
            "WH is {} × {} but the spectrogram of the sound is {} × {}: use the window and hop of the model",
            model.0, model.1, spectra.0, spectra.1
        )))
    }

    /// The masks of frame `j`, source after source.
    fn masks(&self, j: usize, masks: &mut [f64]) {
        let (bins, sources) = (self.w.rows(), self.groups.len());
        masks.fill(0.0);
        for (mask, group) in masks.chunks_exact_mut(bins).zip(self.groups) {
            for (&k, h) in group.iter().map(|k| (k, self.h[(*k, j)])) {
                mask.iter_mut().zip(self.w.col(k)).for_each(|(m, w)| *m += h * w);
            }
        }
        for i in 0..bins {
            let places = (i..bins * sources).step_by(bins);
            let sum: f64 = places.clone().map(|p| masks[p]).sum();
            // What over- or underflows says nothing about the shares either.
            let known = sum > 0.0 && sum.is_finite();
            places.for_each(|p| masks[p] = if known { masks[p] / sum } else { 1.0 / sources as f64 });
        }
    }

    /// The samples of frame `j`, for every source and channel.
    fn frame(&self, sound: &Sound, stft: &Stft, j: usize, out: &mut [f64], buffers: &mut Buffers) {
        let Buffers { masks, spectrum, masked, work } = buffers;
        let (bins, window) = (stft.bins(), stft.window());
        self.masks(j, masks);
        for (c, channel) in sound.channels.iter().enumerate() {
            stft.analyse(channel, j, spectrum, work);
            for (s, mask) in masks.chunks_exact(bins).enumerate() {
                for ((y, x), m) in masked.iter_mut().zip(&*spectrum).zip(mask) {
                    *y = x * m;
                }
                let place = (s * sound.channels.len() + c) * window;
                stft.synthesise(masked, &mut out[place..][..window], work);
            }
        }
    }
}

/// What one thread needs to work a frame.
struct Buffers {
    masks: Vec<f64>,
    spectrum: Vec<Complex<f64>>,
    masked: Vec<Complex<f64>>,
    work: Work,
}

impl Buffers {
    fn new(stft: &Stft, model: &Model) -> Self {
        let spectrum = vec![Complex::default(); stft.bins()];
        let masks = vec![0.0; stft.bins() * model.groups.len()];
        Self { masks, masked: spectrum.clone(), spectrum, work: stft.work() }
    }
}

fn check_factor(name: &'static str, factor: &Mat<f64>) -> Result<(), Error> {
    match factor.as_slice().iter().position(|x| !(x.is_finite() && *x >= 0.0)) {
        None => Ok(()),
        Some(place) => {
            let (row, col) = (place % factor.rows(), place / factor.rows());
            Err(klnmf::Error::BadFactor { name, row, col, value: factor[(row, col)] }.into())
        }
    }
}
