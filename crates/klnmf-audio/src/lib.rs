//! Sound for klnmf: from a recording to a matrix, and back.
//!
//! * [`read`] reads a [`Sound`] from a WAV, FLAC, OGG/Vorbis or MP3 file; [`write_wav`] writes one.
//! * [`Stft`] turns a signal into short-time spectra and back, exactly.
//! * [`separate`] splits a sound into sources by Wiener masks from a model of its spectrogram; the sources
//!   add up to it.
//! * [`Reader`], [`Blocks`], [`Splitter`] and [`WavFile`] do the same piece by piece, for sounds that do not
//!   fit in memory.
//! * [`evaluate`] scores the sources with BSS Eval.
//! * [`ensemble`] plays five synthetic instruments, and [`training`] each of them alone.
//!
//! Every result has the same bits on any number of threads. Every error is one line that says what is wrong,
//! where, and what to do.
//!
//! ```
//! use klnmf_audio::{Sound, Spectrum, Stft, ensemble, evaluate, separate};
//!
//! // Two of the instruments, and their mix.
//! let parts: Vec<Vec<f64>> = ensemble(1.0, 8000, 1)?.into_iter().skip(3).map(|(_, part)| part.mono()).collect();
//! let mix = Sound::new(8000, vec![parts[0].iter().zip(&parts[1]).map(|(a, b)| a + b).collect()])?;
//!
//! // Learn a dictionary of each, then find its weights in the mix.
//! let stft = Stft::for_rate(mix.rate)?;
//! let learn = |part: &Vec<f64>| {
//!     let settings = klnmf::Settings { max_iter: 30, ..Default::default() };
//!     klnmf::factorize(&stft.spectrogram(part, Spectrum::Power), 4, &settings)
//! };
//! let (bass, percussion) = (learn(&parts[0])?.w, learn(&parts[1])?.w);
//! let w = klnmf::Mat::new(stft.bins(), 8, [bass.into_vec(), percussion.into_vec()].concat())?;
//! let spectrogram = stft.spectrogram(&mix.mono(), Spectrum::Power);
//! let found = klnmf::decompose(&spectrogram, &w, &klnmf::DecomposeSettings::default())?;
//!
//! let groups = [vec![0, 1, 2, 3], vec![4, 5, 6, 7]];
//! let sources = separate(&mix, &stft, &w, &found.h, &groups)?;
//! let sum = |i: usize| sources[0].channels[0][i] + sources[1].channels[0][i];
//! assert!((0..mix.len()).all(|i| (sum(i) - mix.channels[0][i]).abs() < 1e-12));
//!
//! let estimates: Vec<Vec<f64>> = sources.iter().map(Sound::mono).collect();
//! let scores = evaluate(&parts, &estimates, 64)?;
//! assert!(scores.iter().all(|score| score.sdr > 10.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blocks;
mod cholesky;
mod decode;
mod ensemble;
mod error;
mod evaluate;
mod resample;
mod sound;
mod spectrum;
mod stft;
mod wav;
mod wiener;

pub use blocks::{Block, Blocks};
pub use decode::{Reader, read};
pub use ensemble::{ensemble, training};
pub use error::Error;
pub use evaluate::{Score, TAPS, check_taps, evaluate, si_sdr};
pub use realfft::num_complex::Complex;
pub use sound::{Sound, mean};
pub use spectrum::Spectrum;
pub use stft::{Frames, Stft, WINDOW_MS, window_for};
pub use wav::{WavFile, WavFormat, write_wav};
pub use wiener::{Splitter, masks, separate, separate_by_blocks};
