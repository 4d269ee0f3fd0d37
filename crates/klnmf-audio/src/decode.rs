//! Reads sound files: WAV, FLAC, OGG/Vorbis and MP3, detected by content, not by name.
//!
//! Everything that can be decoded is used, and every packet keeps its position: a damaged one becomes silence
//! of the same length. The notes of the sound list the problems.

use crate::sound::not_finite;
use crate::{Error, Sound};
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use symphonia::core::audio::GenericAudioBufferRef;
use symphonia::core::codecs::audio::{AudioCodecParameters, AudioDecoder};
use symphonia::core::errors::Error as Symphonia;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::well_known::FORMAT_ID_OGG;
use symphonia::core::formats::{FormatReader, Track, TrackType};
use symphonia::core::io::{MediaSource, MediaSourceStream};
use symphonia::core::packet::Packet;

/// The longest silence for one damaged packet, in samples: a minute or two, longer than any packet. A file
/// that claims a longer gap is not trusted.
const LONGEST_GAP: u64 = 1 << 22;

/// Reads a sound file.
///
/// Encoder delay is removed if the file states it. A file that is cut short or damaged is read as far as
/// possible, with [`Sound::notes`]. If nothing can be decoded, or a sample is NaN or infinite, it is an
/// error.
pub fn read(path: &Path) -> Result<Sound, Error> {
    Reader::open(path)?.rest()
}

/// A sound file decoded piece by piece, so that it need not fit in memory. [`read`] decodes it at once.
pub struct Reader {
    path: PathBuf,
    format: Box<dyn FormatReader>,
    decoder: Box<dyn AudioDecoder>,
    id: u32,
    taken: Taken,
    ended: bool,
}

impl Reader {
    /// Opens a file and reads up to the first samples that can be decoded; a file without any is an error.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let wrong = |what: &str| klnmf_io::Error::Content { path: path.to_owned(), what: what.into() };
        let cannot = |why: io::Error| klnmf_io::Error::Read { path: path.to_owned(), why };
        let file = File::open(path).map_err(cannot)?;
        let about = file.metadata().map_err(cannot)?;
        if about.is_dir() {
            Err(wrong("this is a folder: name a sound file in it"))?;
        }
        if about.is_file() && about.len() == 0 {
            Err(wrong("the file is empty: copy it again"))?;
        }
        let mut reader = guarded(path, || Self::probe(path, file))?;
        while reader.taken.good == 0 && !reader.ended {
            reader.advance()?;
        }
        if reader.rate() == 0 {
            Err(wrong("the sample rate is 0 Hz: write the file again"))?;
        }
        if reader.taken.good == 0 {
            Err(wrong("the file holds no samples that can be decoded: copy it again"))?;
        }
        Ok(reader)
    }

    fn probe(path: &Path, file: File) -> Result<Self, Symphonia> {
        let stream = MediaSourceStream::new(Box::new(file), Default::default());
        let seekable = stream.is_seekable();
        let probe = symphonia::default::get_probe();
        let format = probe.probe(&Hint::new(), stream, Default::default(), Default::default())?;
        let track = format.default_track(TrackType::Audio).ok_or(Symphonia::Unsupported("no audio track"))?;
        let coding = track.codec_params.as_ref().and_then(|params| params.audio());
        let coding = coding.ok_or(Symphonia::Unsupported("unknown codec"))?;
        let decoder = symphonia::default::get_codecs().make_audio_decoder(coding, &Default::default())?;
        let mut taken = Taken::of(track, coding);
        // The length of an OGG file is in its last page, which is looked up in advance.
        taken.endless = seekable && taken.promised.is_none() && format.format_info().format == FORMAT_ID_OGG;
        let id = track.id;
        Ok(Self { path: path.to_owned(), format, decoder, id, taken, ended: false })
    }

    /// Samples per second.
    pub fn rate(&self) -> u32 {
        self.taken.rate
    }

    /// The number of channels.
    pub fn channels(&self) -> usize {
        self.taken.channels.len()
    }

    /// Samples per channel according to the file, which may be wrong.
    pub fn promised(&self) -> Option<u64> {
        self.taken.promised
    }

    /// The next samples of every channel; none at the end.
    pub fn piece(&mut self) -> Result<Option<&[Vec<f64>]>, Error> {
        self.taken.hand_on();
        while self.taken.pending() == 0 && !self.ended {
            self.advance()?;
        }
        self.taken.handed = true;
        let Taken { channels, before, .. } = &self.taken;
        if let Some((c, i)) = not_finite(channels) {
            let (place, value) = (before + i, channels[c][i]);
            let what = format!(
                "channel {c}, sample {place} (counting from 0) is {value}: replace it with a finite \
                     number"
            );
            Err(klnmf_io::Error::Content { path: self.path.clone(), what })?;
        }
        Ok((self.taken.pending() > 0).then_some(&self.taken.channels[..]))
    }

    /// All remaining samples.
    pub fn rest(&mut self) -> Result<Sound, Error> {
        let mut channels = vec![Vec::new(); self.channels()];
        while let Some(piece) = self.piece()? {
            channels.iter_mut().zip(piece).for_each(|(channel, samples)| channel.extend_from_slice(samples));
        }
        Ok(Sound { rate: self.rate(), channels, notes: self.notes() })
    }

    /// Problems of the file, one line each. Whether it ends too early is known only at its end.
    pub fn notes(&self) -> Vec<String> {
        self.taken.notes(self.ended)
    }

    /// Decodes one more packet.
    fn advance(&mut self) -> Result<(), Error> {
        let Self { path, format, decoder, id, taken, ended } = self;
        guarded(path, || {
            // True unless another packet follows.
            *ended = true;
            match format.next_packet() {
                Ok(None) => {}
                Ok(Some(packet)) if packet.track_id != *id => *ended = false,
                Ok(Some(packet)) => {
                    taken.stopped = taken.packet(&mut **decoder, &packet).err();
                    *ended = taken.stopped.is_some();
                }
                // Whether the end came early is checked against the stated length later.
                Err(Symphonia::IoError(why)) if why.raw_os_error().is_none() => {}
                Err(why @ Symphonia::IoError(_)) => return Err(why),
                Err(Symphonia::ResetRequired) => taken.stopped = Some("another stream follows".to_owned()),
                Err(why) => taken.stopped = Some(why.to_string()),
            }
            Ok(())
        })
    }
}

/// Runs the decoder and turns its errors and panics into one line.
fn guarded<V>(path: &Path, work: impl FnOnce() -> Result<V, Symphonia>) -> Result<V, Error> {
    let wrong = |what: String| klnmf_io::Error::Content { path: path.to_owned(), what };
    // In a development build with overflow checks, the decoders panic on some damaged headers.
    let done = catch_unwind(AssertUnwindSafe(work))
        .map_err(|_| wrong("the file is damaged and the decoder gave up: copy it again".into()))?;
    Ok(done.map_err(|why| match why {
        Symphonia::IoError(why) if why.raw_os_error().is_some() => {
            klnmf_io::Error::Read { path: path.to_owned(), why }
        }
        why => {
            // The decoder's message about an unknown format does not help users.
            let why = match why {
                Symphonia::Unsupported(_) => String::new(),
                why => format!(" ({why})"),
            };
            wrong(format!("no sound can be read{why}: give a complete WAV, FLAC, OGG/Vorbis or MP3 file"))
        }
    })?)
}

/// Samples that were decoded but not yet returned, and the state of the decoding.
struct Taken {
    rate: u32,
    /// The samples to return.
    channels: Vec<Vec<f64>>,
    /// Samples per channel before these.
    before: usize,
    /// Whether these have been returned already.
    handed: bool,
    /// The samples of the last packet.
    planes: Vec<Vec<f64>>,
    /// The number of samples that were decoded.
    good: usize,
    /// The number of packets that could not be decoded.
    damaged: usize,
    /// The time of the first sample.
    start: i64,
    /// The number of samples according to the file.
    promised: Option<u64>,
    /// Whether the file should state its length, and does not.
    endless: bool,
    /// Why decoding stopped.
    stopped: Option<String>,
}

impl Taken {
    fn of(track: &Track, coding: &AudioCodecParameters) -> Self {
        let channels = vec![Vec::new(); coding.channels.as_ref().map_or(0, |channels| channels.count())];
        let (start, promised) = (track.start_ts.get().max(0), track.num_frames);
        Self {
            rate: coding.sample_rate.unwrap_or(0),
            channels,
            before: 0,
            handed: false,
            planes: Vec::new(),
            good: 0,
            damaged: 0,
            start,
            promised,
            endless: false,
            stopped: None,
        }
    }

    /// The number of samples to return.
    fn pending(&self) -> usize {
        self.channels.first().map_or(0, Vec::len)
    }

    /// All samples so far.
    fn len(&self) -> usize {
        self.before + self.pending()
    }

    /// Drops the samples that were returned.
    fn hand_on(&mut self) {
        if std::mem::take(&mut self.handed) {
            self.before = self.len();
            self.channels.iter_mut().for_each(Vec::clear);
        }
    }

    /// Adds the next packet, or returns why decoding must stop.
    fn packet(&mut self, decoder: &mut dyn AudioDecoder, packet: &Packet) -> Result<(), String> {
        let place =
            packet.pts.get().saturating_add_unsigned(packet.trim_start.get()).saturating_sub(self.start);
        let gap = u64::try_from(place).unwrap_or(0).saturating_sub(self.len() as u64);
        // A packet may begin later than the last one ended, if its time is plausible.
        if gap > 0 && gap <= LONGEST_GAP && self.promised.is_none_or(|promised| place as u64 <= promised) {
            self.silence(gap);
        }
        match decoder.decode(packet) {
            Ok(buffer) => self.append(&buffer),
            Err(Symphonia::DecodeError(_) | Symphonia::IoError(_)) => {
                self.silence(packet.dur.get().min(LONGEST_GAP));
                Ok(())
            }
            Err(why) => Err(why.to_string()),
        }
    }

    fn append(&mut self, buffer: &GenericAudioBufferRef) -> Result<(), String> {
        let (rate, count, pending) = (buffer.spec().rate(), buffer.num_planes(), self.pending());
        if self.good > 0 && (rate, count) != (self.rate, self.channels.len()) {
            return Err("the rate or the number of channels changes".to_owned());
        }
        buffer.copy_to_vecs_planar(&mut self.planes);
        self.rate = rate;
        // Nothing has been returned before the first good packet, so the number of channels can still change.
        self.channels.resize(count, vec![0.0; pending]);
        for (channel, plane) in self.channels.iter_mut().zip(&self.planes) {
            channel.extend_from_slice(plane);
        }
        self.good += buffer.frames();
        Ok(())
    }

    /// Adds silence for a damaged packet.
    fn silence(&mut self, samples: u64) {
        let end = self.pending() + samples as usize;
        self.channels.iter_mut().for_each(|channel| channel.resize(end, 0.0));
        self.damaged += 1;
    }

    fn notes(&self, ended: bool) -> Vec<String> {
        let (len, damaged) = (self.len(), self.damaged);
        let mut notes = Vec::new();
        if damaged > 0 {
            notes.push(format!("damaged places replaced by silence: {damaged}"));
        }
        let endless = self.endless.then_some("the end of the stream was not found");
        if let Some(why) = self.stopped.as_deref().or(endless) {
            notes.push(format!("reading stopped after {len} samples: {why}"));
        } else if let Some(promised) = self.promised.filter(|promised| ended && *promised > len as u64) {
            notes
                .push(format!("only {len} of {promised} samples are left: the file is cut short or damaged"));
        }
        notes
    }
}
