//! Sound for klnmf: from a recording to a matrix, and back.
//!
//! * [`read`] reads a [`Sound`] from a WAV, FLAC, OGG/Vorbis or MP3 file; [`write_wav`] writes one.
//! * [`Stft`] turns a signal into short-time spectra and back, exactly.
//! * [`Separator`] goes all the way: it learns sources from recordings of each alone and splits a mix into
//!   stems that add up to it.
//! * [`separate`] does the last step alone: it splits a sound by Wiener masks from a model of its
//!   spectrogram.
//! * [`Reader`], [`Blocks`], [`Splitter`] and [`WavFile`] work piece by piece, for sounds that do not fit in
//!   memory.
//! * [`evaluate`] scores the sources with BSS Eval.
//! * [`ensemble`] plays five synthetic instruments, and [`training`] each of them alone.
//!
//! Every result has the same bits on any number of threads. Every error is one line that says what is wrong,
//! where, and what to do.
//!
//! ```
//! use klnmf_audio::{Error, Recording, Separator, Sound, Stft, ensemble, evaluate, training};
//!
//! // Learn two instruments from a recording of each alone.
//! let stft = Stft::for_rate(8000)?;
//! let alone = training(4.0, 8000, 1)?.into_iter().skip(3);
//! let alone = alone.map(|(name, sound)| (name.to_owned(), sound)).collect();
//! let separator = Separator { per_source: 8, ..Separator::default() };
//! let known = separator.learn(alone, &stft, &|_| ())?.expect("nothing has stopped the work");
//! assert_eq!(known.names(), ["bass", "percussion"]);
//!
//! // Find them in a mix.
//! let parts: Vec<Vec<f64>> = ensemble(1.0, 8000, 1)?.iter().skip(3).map(|(_, part)| part.mono()).collect();
//! let mix: Vec<f64> = parts[0].iter().zip(&parts[1]).map(|(a, b)| a + b).collect();
//! let mut recording = Recording::from(Sound::new(8000, vec![mix.clone()])?);
//! let mut stems = vec![Vec::new(); 2];
//! let mut collect = |pieces: &[Vec<Vec<f64>>]| {
//!     stems.iter_mut().zip(pieces).for_each(|(stem, piece)| stem.extend_from_slice(&piece[0]));
//!     Ok::<(), Error>(())
//! };
//! let found = separator.separate(&mut recording, &stft, Some(&known), &|_| (), &mut collect)?;
//! assert!(found.relative_gap <= 0.1);
//! assert!((0..mix.len()).all(|i| (stems[0][i] + stems[1][i] - mix[i]).abs() < 1e-12));
//! assert!(evaluate(&parts, &stems, 64)?.iter().all(|score| score.sdr > 10.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blocks;
mod cholesky;
mod decode;
mod dictionary;
mod ensemble;
mod error;
mod evaluate;
mod explain;
mod groups;
mod learn;
mod listener;
mod memory;
mod online;
mod precision;
mod recording;
mod resample;
mod separator;
mod sound;
mod spectrum;
mod stft;
mod wav;
mod wiener;

pub use blocks::{Block, Blocks};
pub use decode::{Reader, read};
pub use dictionary::Dictionary;
pub use ensemble::{ensemble, training};
pub use error::Error;
pub use evaluate::{Score, TAPS, check_taps, evaluate, si_sdr};
pub use listener::{Listener, Progress, Watch};
pub use online::Frame;
pub use realfft::num_complex::Complex;
pub use recording::Recording;
pub use separator::{Separator, Sources};
pub use sound::{Sound, mean};
pub use spectrum::Spectrum;
pub use stft::{Frames, Stft, WINDOW_MS, window_for};
pub use wav::{WavFile, WavFormat, write_wav};
pub use wiener::{Splitter, masks, separate, separate_by_blocks};
