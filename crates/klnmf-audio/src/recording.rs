//! The recording to separate: in memory, or read piece by piece.

use crate::{Error, Reader, Sound};

/// Samples per piece of a recording in memory.
const PIECE: usize = 1 << 16;

/// A recording whose samples are handed out in pieces. Create one from a [`Sound`] or a [`Reader`].
pub enum Recording {
    /// A file that is decoded as its samples are needed.
    File(Box<Reader>),
    /// A sound in memory, and the number of samples per channel that were handed out.
    Memory(Sound, usize),
}

impl From<Reader> for Recording {
    fn from(reader: Reader) -> Self {
        Recording::File(Box::new(reader))
    }
}

impl From<Sound> for Recording {
    fn from(sound: Sound) -> Self {
        Recording::Memory(sound, 0)
    }
}

impl Recording {
    /// Samples per second.
    pub fn rate(&self) -> u32 {
        match self {
            Recording::File(reader) => reader.rate(),
            Recording::Memory(sound, _) => sound.rate,
        }
    }

    /// The number of channels.
    pub fn channels(&self) -> usize {
        match self {
            Recording::File(reader) => reader.channels(),
            Recording::Memory(sound, _) => sound.channels.len(),
        }
    }

    /// Samples per channel, if known before they are read.
    pub fn promised(&self) -> Option<u64> {
        match self {
            Recording::File(reader) => reader.promised(),
            Recording::Memory(sound, _) => Some(sound.len() as u64),
        }
    }

    /// The whole sound, if it is in memory.
    pub fn sound(&self) -> Option<&Sound> {
        match self {
            Recording::File(_) => None,
            Recording::Memory(sound, _) => Some(sound),
        }
    }

    /// The next samples of every channel; none at the end.
    pub(crate) fn piece(&mut self) -> Result<Option<Vec<&[f64]>>, Error> {
        match self {
            Recording::File(reader) => {
                Ok(reader.piece()?.map(|piece| piece.iter().map(Vec::as_slice).collect()))
            }
            Recording::Memory(sound, given) => {
                let (start, end) = (*given, sound.len().min(*given + PIECE));
                *given = end;
                Ok((start < end).then(|| sound.channels.iter().map(|channel| &channel[start..end]).collect()))
            }
        }
    }

    /// Problems of the file, complete once everything has been read.
    pub fn notes(&self) -> Vec<String> {
        match self {
            Recording::File(reader) => reader.notes(),
            Recording::Memory(sound, _) => sound.notes.clone(),
        }
    }
}
