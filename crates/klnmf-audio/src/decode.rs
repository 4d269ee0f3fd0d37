//! Reading sound files: WAV, FLAC, OGG/Vorbis and MP3, told by their content, not by their names.
//!
//! What can be decoded is taken, and every packet keeps its place: a damaged one becomes silence of the same length. What
//! was amiss is said in the notes of the sound.

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

/// Samples of silence that one damaged place may need: more than any packet has, a minute or two. A file that claims a
/// longer gap cannot be believed.
const LONGEST_GAP: u64 = 1 << 22;

/// Reads a sound file.
///
/// Encoder delay is removed where the file states it. A file that is cut short or damaged gives what is left of it, with
/// [`Sound::notes`]; one from which nothing can be decoded is an error, as is a sample that is NaN or infinite.
pub fn read(path: &Path) -> Result<Sound, Error> {
    let mut reader = Reader::open(path)?;
    let mut channels = vec![Vec::new(); reader.channels()];
    while let Some(piece) = reader.piece()? {
        channels.iter_mut().zip(piece).for_each(|(channel, samples)| channel.extend_from_slice(samples));
    }
    Ok(Sound { rate: reader.rate(), channels, notes: reader.notes() })
}

/// A sound file that is decoded piece by piece, as [`read`] does it in one go, so that it never needs to be in memory.
pub struct Reader {
    path: PathBuf,
    format: Box<dyn FormatReader>,
    decoder: Box<dyn AudioDecoder>,
    id: u32,
    taken: Taken,
    ended: bool,
}

impl Reader {
    /// Opens a file and reads as far as the first samples that can be decoded; without any it is an error.
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
            Err(wrong("the sample rate is 0 Hz: write the file anew"))?;
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
        // The length of an OGG file stands in its last page, which a look ahead finds if it is there.
        taken.endless = seekable && taken.promised.is_none() && format.format_info().format == FORMAT_ID_OGG;
        let id = track.id;
        Ok(Self { path: path.to_owned(), format, decoder, id, taken, ended: false })
    }

    /// Samples per second.
    pub fn rate(&self) -> u32 {
        self.taken.rate
    }

    /// How many channels there are.
    pub fn channels(&self) -> usize {
        self.taken.channels.len()
    }

    /// Samples per channel that the file says it has; it may be wrong.
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
            let what =
                format!("channel {c}, sample {place} (counting from 0) is {value}: replace it by a number");
            Err(klnmf_io::Error::Content { path: self.path.clone(), what })?;
        }
        Ok((self.taken.pending() > 0).then_some(&self.taken.channels[..]))
    }

    /// What it had to put up with, one line each. Whether the end comes too early is known when it has come.
    pub fn notes(&self) -> Vec<String> {
        self.taken.notes(self.ended)
    }

    /// One packet more.
    fn advance(&mut self) -> Result<(), Error> {
        let Self { path, format, decoder, id, taken, ended } = self;
        guarded(path, || {
            // Until it turns out that there is more.
            *ended = true;
            match format.next_packet() {
                Ok(None) => {}
                Ok(Some(packet)) if packet.track_id != *id => *ended = false,
                Ok(Some(packet)) => {
                    taken.stopped = taken.packet(&mut **decoder, &packet).err();
                    *ended = taken.stopped.is_some();
                }
                // The end came early if less than promised was read, which is seen at the end.
                Err(Symphonia::IoError(why)) if why.raw_os_error().is_none() => {}
                Err(why @ Symphonia::IoError(_)) => return Err(why),
                Err(Symphonia::ResetRequired) => taken.stopped = Some("another stream follows".to_owned()),
                Err(why) => taken.stopped = Some(why.to_string()),
            }
            Ok(())
        })
    }
}

/// What the decoder does, with one line for whatever goes wrong.
fn guarded<V>(path: &Path, work: impl FnOnce() -> Result<V, Symphonia>) -> Result<V, Error> {
    let wrong = |what: String| klnmf_io::Error::Content { path: path.to_owned(), what };
    // With the checks of a development build on, the decoders overflow, and so panic, on some damaged headers.
    let done = catch_unwind(AssertUnwindSafe(work))
        .map_err(|_| wrong("the file is damaged and the decoder gave up: copy it again".into()))?;
    Ok(done.map_err(|why| match why {
        Symphonia::IoError(why) if why.raw_os_error().is_some() => {
            klnmf_io::Error::Read { path: path.to_owned(), why }
        }
        why => {
            // What the decoder says of a file that it does not know at all is of no use to people.
            let why = match why {
                Symphonia::Unsupported(_) => String::new(),
                why => format!(" ({why})"),
            };
            wrong(format!("no sound can be read{why}: give a whole WAV, FLAC, OGG/Vorbis or MP3 file"))
        }
    })?)
}

/// What has been decoded and not yet been handed on, and how far that is.
struct Taken {
    rate: u32,
    /// The samples to hand on.
    channels: Vec<Vec<f64>>,
    /// Samples per channel that came before these.
    before: usize,
    /// Whether these have been seen already.
    handed: bool,
    /// The samples of the last packet.
    planes: Vec<Vec<f64>>,
    /// Samples that were really decoded.
    good: usize,
    /// Places that could not be decoded.
    damaged: usize,
    /// The time of the first sample.
    start: i64,
    /// Samples there should be.
    promised: Option<u64>,
    /// Whether the file should have said how long it is, and did not.
    endless: bool,
    /// Why nothing more could be taken.
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

    /// Samples to hand on.
    fn pending(&self) -> usize {
        self.channels.first().map_or(0, Vec::len)
    }

    /// All samples so far.
    fn len(&self) -> usize {
        self.before + self.pending()
    }

    /// Lets go of what has been seen.
    fn hand_on(&mut self) {
        if std::mem::take(&mut self.handed) {
            self.before = self.len();
            self.channels.iter_mut().for_each(Vec::clear);
        }
    }

    /// Takes the next packet, or says why no more can be taken.
    fn packet(&mut self, decoder: &mut dyn AudioDecoder, packet: &Packet) -> Result<(), String> {
        let place =
            packet.pts.get().saturating_add_unsigned(packet.trim_start.get()).saturating_sub(self.start);
        let gap = u64::try_from(place).unwrap_or(0).saturating_sub(self.len() as u64);
        // A packet may begin later than the last one ended, if the time it states can be believed.
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
        // Before the first good packet nothing has been handed on, so that the number of channels can still change.
        self.channels.resize(count, vec![0.0; pending]);
        for (channel, plane) in self.channels.iter_mut().zip(&self.planes) {
            channel.extend_from_slice(plane);
        }
        self.good += buffer.frames();
        Ok(())
    }

    /// Silence in the place of what is damaged.
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
