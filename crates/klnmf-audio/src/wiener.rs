//! Separation by Wiener masks.
//!
//! The components k of a model WH of the spectrogram belong to sources s. In every entry X of every channel's
//! short-time spectra, source s gets the share
//!
//! M_s = (W_s H_s)/(WH),  Σ_s M_s = 1,
//!
//! and 1/(number of sources) where WH = 0. The transform is linear, so the sources add up to the sound.
//!
//! Frames are processed in blocks. Within a block each frame is processed by one thread, and the frames are
//! added up in order, so the result has the same bits on any number of threads, and memory holds one block
//! only.

use crate::stft::{Sums, Work};
use crate::{Block, Blocks, Error, Sound, Stft};
use klnmf::Mat;
use rayon::prelude::*;
use realfft::num_complex::Complex;
use std::borrow::Cow;

/// Frames per block: enough for many threads, few enough for the cache.
const BLOCK: usize = 64;

/// Splits a sound into sources of its length and channels, one for each group of components.
///
/// `w` (bins × components) and `h` (components × frames) are a model of the spectrogram of [`Stft::forward`];
/// `groups` lists the components of each source, every component once.
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

/// As [`separate`], but returns the samples piece by piece: `give` is called with the next samples of each
/// channel of each source, `[source][channel][sample]`, so the sources need not fit in memory. An error of
/// `give` ends the work.
pub fn separate_by_blocks<E: From<Error>>(
    sound: &Sound,
    stft: &Stft,
    w: &Mat<f64>,
    h: &Mat<f64>,
    groups: &[Vec<usize>],
    mut give: impl FnMut(&[Vec<Vec<f64>>]) -> Result<(), E>,
) -> Result<(), E> {
    check_model(w, h, groups)?;
    sound.check()?;
    let (model, spectra) = ((w.rows(), h.cols()), (stft.bins(), stft.frames(sound.len())));
    if model != spectra {
        Err(Error::Shape(format!(
            "WH is {} × {} but the spectrogram of the sound is {} × {}: use the window and hop of the model",
            model.0, model.1, spectra.0, spectra.1
        )))?;
    }
    let mut splitter = Splitter::new(stft, w, groups, sound.channels.len())?;
    let mut blocks = Blocks::new(stft, sound.channels.len(), BLOCK);
    let step = BLOCK * stft.hop();
    for start in (0..sound.len()).step_by(step) {
        let end = sound.len().min(start + step);
        let piece: Vec<&[f64]> = sound.channels.iter().map(|channel| &channel[start..end]).collect();
        blocks.push(&piece);
        while let Some(block) = blocks.block(end == sound.len()) {
            splitter.split(&block, &h.as_slice()[block.first * h.rows()..], &mut give)?;
        }
    }
    Ok(())
}

/// Splits a sound into sources block by block.
pub struct Splitter<'a> {
    stft: &'a Stft,
    model: Model<'a>,
    channels: usize,
    /// The samples of some frames, for every source and channel.
    frames: Vec<f64>,
    sums: Vec<Vec<Sums>>,
    /// The samples that are finished, `[source][channel][sample]`.
    finished: Vec<Vec<Vec<f64>>>,
}

impl<'a> Splitter<'a> {
    /// Creates a splitter for a sound of `channels` channels; `w` and `groups` are as in [`separate`].
    pub fn new(
        stft: &'a Stft,
        w: &'a Mat<f64>,
        groups: &'a [Vec<usize>],
        channels: usize,
    ) -> Result<Self, Error> {
        check_groups(w.cols(), groups)?;
        check_factor("W", w.rows(), w.as_slice())?;
        if w.rows() != stft.bins() || channels == 0 {
            let what = format!(
                "W has {} rows, the spectra {} and the sound {channels} channels: use the window of the \
                 model",
                w.rows(),
                stft.bins()
            );
            return Err(Error::Shape(what));
        }
        let sums = groups.iter().map(|_| (0..channels).map(|_| Sums::new(stft)).collect()).collect();
        let finished = vec![vec![Vec::new(); channels]; groups.len()];
        let model = Model { w: Cow::Borrowed(w), groups };
        Ok(Self { stft, model, channels, frames: Vec::new(), sums, finished })
    }

    /// Replaces the components, for the frames that follow.
    pub(crate) fn set(&mut self, w: Mat<f64>) {
        self.model.w = Cow::Owned(w);
    }

    /// Splits the next block. Its weights are in `h`, components × frames column by column; `h` may be
    /// longer. `give` is called with finished samples as in [`separate_by_blocks`].
    pub fn split<E: From<Error>>(
        &mut self,
        block: &Block<'_>,
        h: &[f64],
        mut give: impl FnMut(&[Vec<Vec<f64>>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { stft, model, channels, frames, sums, finished } = self;
        let (stft, channels, window, r) = (*stft, *channels, stft.window(), model.w.cols());
        let Some(h) = h.get(..r * block.frames).filter(|_| block.samples.len() == channels) else {
            return Err(Error::Shape(format!(
                "the block has {} frames and {} channels but {} weights for {r} components: give the \
                 weights of its frames",
                block.frames,
                block.samples.len(),
                h.len()
            ))
            .into());
        };
        check_factor("H", r, h)?;
        let pieces = model.groups.len() * channels * window;
        frames.resize(pieces * BLOCK.min(block.frames), 0.0);
        let mut left = block.finished;
        for first in (0..block.frames).step_by(BLOCK) {
            let frames = &mut frames[..pieces * BLOCK.min(block.frames - first)];
            frames.par_chunks_mut(pieces).enumerate().for_each_init(
                || Buffers::new(stft, model),
                |b, (j, out)| model.frame(block.samples, stft, first + j, &h[(first + j) * r..][..r], out, b),
            );
            finished.par_iter_mut().zip(&mut *sums).enumerate().for_each(|(s, (source, sums))| {
                for (c, (channel, sums)) in source.iter_mut().zip(sums).enumerate() {
                    channel.clear();
                    let own = frames[(s * channels + c) * window..].chunks(pieces);
                    own.for_each(|piece| sums.add(&piece[..window], channel));
                    channel.truncate(left);
                }
            });
            left -= finished[0][0].len();
            give(finished)?;
        }
        Ok(())
    }
}

/// The masks of the sources, bins × frames each. They are not negative and add up to 1 in every entry.
pub fn masks(w: &Mat<f64>, h: &Mat<f64>, groups: &[Vec<usize>]) -> Result<Vec<Mat<f64>>, Error> {
    check_model(w, h, groups)?;
    let (model, bins) = (Model { w: Cow::Borrowed(w), groups }, w.rows());
    let mut column = vec![0.0; bins * groups.len()];
    let mut masks = vec![Mat::zeros(bins, h.cols()); groups.len()];
    for j in 0..h.cols() {
        model.masks(h.col(j), &mut column);
        for (mask, shares) in masks.iter_mut().zip(column.chunks_exact(bins)) {
            mask.col_mut(j).copy_from_slice(shares);
        }
    }
    Ok(masks)
}

/// A dictionary whose components belong to sources.
struct Model<'a> {
    w: Cow<'a, Mat<f64>>,
    groups: &'a [Vec<usize>],
}

impl Model<'_> {
    /// The masks of a frame with weights `h`, source after source.
    fn masks(&self, h: &[f64], masks: &mut [f64]) {
        let (bins, sources) = (self.w.rows(), self.groups.len());
        masks.fill(0.0);
        for (mask, group) in masks.chunks_exact_mut(bins).zip(self.groups) {
            for (&k, h) in group.iter().map(|k| (k, h[*k])) {
                mask.iter_mut().zip(self.w.col(k)).for_each(|(m, w)| *m += h * w);
            }
        }
        for i in 0..bins {
            let places = (i..bins * sources).step_by(bins);
            let sum: f64 = places.clone().map(|p| masks[p]).sum();
            // The shares are also even if the sum overflows or underflows.
            let known = sum > 0.0 && sum.is_finite();
            places.for_each(|p| masks[p] = if known { masks[p] / sum } else { 1.0 / sources as f64 });
        }
    }

    /// The samples of frame `j` of a block, with weights `h`, for every source and channel.
    fn frame(
        &self,
        samples: &[Vec<f64>],
        stft: &Stft,
        j: usize,
        h: &[f64],
        out: &mut [f64],
        buffers: &mut Buffers,
    ) {
        let Buffers { masks, spectrum, masked, work } = buffers;
        let (bins, window) = (stft.bins(), stft.window());
        self.masks(h, masks);
        for (c, channel) in samples.iter().enumerate() {
            stft.analyse(channel, j, spectrum, work);
            for (s, mask) in masks.chunks_exact(bins).enumerate() {
                for ((y, x), m) in masked.iter_mut().zip(&*spectrum).zip(mask) {
                    *y = x * m;
                }
                let place = (s * samples.len() + c) * window;
                stft.synthesise(masked, &mut out[place..][..window], work);
            }
        }
    }
}

/// The buffers that one thread needs for a frame.
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

/// Fails unless these are factors of one model and every component belongs to one source.
fn check_model(w: &Mat<f64>, h: &Mat<f64>, groups: &[Vec<usize>]) -> Result<(), Error> {
    let (bins, components, rows) = (w.rows(), w.cols(), h.rows());
    if bins == 0 || components != rows {
        return Err(Error::Shape(format!(
            "W is {bins} × {components} but H has {rows} rows: give factors of one model"
        )));
    }
    check_factor("W", bins, w.as_slice())?;
    check_factor("H", rows, h.as_slice())?;
    check_groups(components, groups)
}

fn check_groups(components: usize, groups: &[Vec<usize>]) -> Result<(), Error> {
    let wrong = |what: String| Err(Error::Shape(what));
    let mut owners = vec![0; components];
    for &k in groups.iter().flatten() {
        match owners.get_mut(k) {
            Some(owners) => *owners += 1,
            None => {
                return wrong(format!(
                    "a source has component {k} (counting from 0) but there are {components}: correct the \
                     groups"
                ));
            }
        }
    }
    match owners.iter().position(|owners| *owners != 1) {
        Some(k) => wrong(format!(
            "component {k} (counting from 0) is in {} sources: put it in exactly one",
            owners[k]
        )),
        None if groups.is_empty() => wrong("there are no sources: give at least one group".into()),
        None => Ok(()),
    }
}

fn check_factor(name: &'static str, rows: usize, entries: &[f64]) -> Result<(), Error> {
    match entries.iter().position(|x| !(x.is_finite() && *x >= 0.0)) {
        None => Ok(()),
        Some(place) => {
            let entry = klnmf::Entry { row: place % rows, col: place / rows, value: entries[place] };
            Err(klnmf::Error::BadFactor { name, entry }.into())
        }
    }
}
