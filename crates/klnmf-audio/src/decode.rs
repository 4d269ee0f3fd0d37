//! Reading sound files: WAV, FLAC, OGG/Vorbis and MP3, told by their content, not by their names.
//!
//! What can be decoded is taken, and every packet keeps its place: a damaged one becomes silence of the same length. What
//! was amiss is said in the notes of the sound.

use crate::{Error, Sound};
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use symphonia::core::audio::GenericAudioBufferRef;
use symphonia::core::codecs::audio::{AudioCodecParameters, AudioDecoder};
use symphonia::core::errors::Error as Symphonia;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::well_known::FORMAT_ID_OGG;
use symphonia::core::formats::{Track, TrackType};
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
    let wrong = |what: String| klnmf_io::Error::Content { path: path.to_owned(), what };
    let cannot = |why: io::Error| klnmf_io::Error::Read { path: path.to_owned(), why };
    let file = File::open(path).map_err(cannot)?;
    let about = file.metadata().map_err(cannot)?;
    if about.is_dir() {
        Err(wrong("this is a folder: name a sound file in it".into()))?;
    }
    if about.is_file() && about.len() == 0 {
        Err(wrong("the file is empty: copy it again".into()))?;
    }
    // With the checks of a development build on, the decoders overflow, and so panic, on some damaged headers.
    let sound = catch_unwind(AssertUnwindSafe(|| decode(file)))
        .map_err(|_| wrong("the file is damaged and the decoder gave up: copy it again".into()))?
        .map_err(|why| match why {
            Symphonia::IoError(why) if why.raw_os_error().is_some() => cannot(why),
            why => {
                // What the decoder says of a file that it does not know at all is of no use to people.
                let why = match why {
                    Symphonia::Unsupported(_) => String::new(),
                    why => format!(" ({why})"),
                };
                wrong(format!("no sound can be read{why}: give a whole WAV, FLAC, OGG/Vorbis or MP3 file"))
            }
        })?;
    if sound.rate == 0 {
        Err(wrong("the sample rate is 0 Hz: write the file anew".into()))?;
    }
    if sound.is_empty() {
        Err(wrong("the file holds no samples that can be decoded: copy it again".into()))?;
    }
    if let Some((c, i)) = sound.not_finite() {
        let value = sound.channels[c][i];
        Err(wrong(format!("channel {c}, sample {i} (counting from 0) is {value}: replace it by a number")))?;
    }
    Ok(sound)
}

fn decode(file: File) -> Result<Sound, Symphonia> {
    let stream = MediaSourceStream::new(Box::new(file), Default::default());
    let seekable = stream.is_seekable();
    let probe = symphonia::default::get_probe();
    let mut format = probe.probe(&Hint::new(), stream, Default::default(), Default::default())?;
    let track = format.default_track(TrackType::Audio).ok_or(Symphonia::Unsupported("no audio track"))?;
    let coding = track.codec_params.as_ref().and_then(|params| params.audio());
    let coding = coding.ok_or(Symphonia::Unsupported("unknown codec"))?;
    let mut decoder = symphonia::default::get_codecs().make_audio_decoder(coding, &Default::default())?;
    let mut taken = Taken::of(track, coding);
    let id = track.id;
    let stopped = loop {
        match format.next_packet() {
            Ok(None) => break None,
            Ok(Some(packet)) if packet.track_id != id => {}
            Ok(Some(packet)) => {
                if let Err(why) = taken.packet(&mut *decoder, &packet) {
                    break Some(why);
                }
            }
            // The end came early if less than promised was read, which is seen at the end.
            Err(Symphonia::IoError(why)) if why.raw_os_error().is_none() => break None,
            Err(why @ Symphonia::IoError(_)) => return Err(why),
            Err(Symphonia::ResetRequired) => break Some("another stream follows".to_owned()),
            Err(why) => break Some(why.to_string()),
        }
    };
    // The length of an OGG file stands in its last page, which a look ahead finds if it is there.
    let cut = seekable && taken.promised.is_none() && format.format_info().format == FORMAT_ID_OGG;
    Ok(taken.finish(stopped.or(cut.then(|| "the end of the stream was not found".to_owned()))))
}

/// What has been decoded so far.
struct Taken {
    sound: Sound,
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
}

impl Taken {
    fn of(track: &Track, coding: &AudioCodecParameters) -> Self {
        let channels = vec![Vec::new(); coding.channels.as_ref().map_or(0, |channels| channels.count())];
        let sound = Sound { rate: coding.sample_rate.unwrap_or(0), channels, notes: Vec::new() };
        let (start, promised) = (track.start_ts.get().max(0), track.num_frames);
        Self { sound, planes: Vec::new(), good: 0, damaged: 0, start, promised }
    }

    /// Takes the next packet, or says why no more can be taken.
    fn packet(&mut self, decoder: &mut dyn AudioDecoder, packet: &Packet) -> Result<(), String> {
        let place =
            packet.pts.get().saturating_add_unsigned(packet.trim_start.get()).saturating_sub(self.start);
        let gap = u64::try_from(place).unwrap_or(0).saturating_sub(self.sound.len() as u64);
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
        let (rate, count, len) = (buffer.spec().rate(), buffer.num_planes(), self.sound.len());
        if self.good > 0 && (rate, count) != (self.sound.rate, self.sound.channels.len()) {
            return Err("the rate or the number of channels changes".to_owned());
        }
        buffer.copy_to_vecs_planar(&mut self.planes);
        self.sound.rate = rate;
        self.sound.channels.resize(count, vec![0.0; len]);
        for (channel, plane) in self.sound.channels.iter_mut().zip(&self.planes) {
            channel.extend_from_slice(plane);
        }
        self.good += buffer.frames();
        Ok(())
    }

    /// Silence in the place of what is damaged.
    fn silence(&mut self, samples: u64) {
        let end = self.sound.len() + samples as usize;
        self.sound.channels.iter_mut().for_each(|channel| channel.resize(end, 0.0));
        self.damaged += 1;
    }

    fn finish(mut self, stopped: Option<String>) -> Sound {
        if self.good == 0 {
            self.sound.channels.clear();
        }
        let (len, damaged) = (self.sound.len(), self.damaged);
        let notes = &mut self.sound.notes;
        if damaged > 0 {
            notes.push(format!("damaged places replaced by silence: {damaged}"));
        }
        if let Some(why) = stopped {
            notes.push(format!("reading stopped after {len} samples: {why}"));
        } else if let Some(promised) = self.promised.filter(|promised| *promised > len as u64) {
            notes
                .push(format!("only {len} of {promised} samples are left: the file is cut short or damaged"));
        }
        self.sound
    }
}
