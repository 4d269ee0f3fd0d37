//! The recording to separate: in memory, or read piece by piece.

use klnmf_audio::{Reader, Sound};

/// Samples per piece of a recording in memory.
const PIECE: usize = 1 << 16;

/// Where the samples come from.
pub enum Recording {
    /// A file, decoded as its samples are needed.
    File(Box<Reader>),
    /// A sound that is needed as a whole.
    Memory { sound: Sound, given: usize },
}

impl Recording {
    pub fn memory(sound: Sound) -> Self {
        Recording::Memory { sound, given: 0 }
    }

    pub fn rate(&self) -> u32 {
        match self {
            Recording::File(reader) => reader.rate(),
            Recording::Memory { sound, .. } => sound.rate,
        }
    }

    pub fn channels(&self) -> usize {
        match self {
            Recording::File(reader) => reader.channels(),
            Recording::Memory { sound, .. } => sound.channels.len(),
        }
    }

    /// Samples per channel, if known before they are read.
    pub fn promised(&self) -> Option<u64> {
        match self {
            Recording::File(reader) => reader.promised(),
            Recording::Memory { sound, .. } => Some(sound.len() as u64),
        }
    }

    /// The whole sound, if it is in memory.
    pub fn sound(&self) -> Option<&Sound> {
        match self {
            Recording::File(_) => None,
            Recording::Memory { sound, .. } => Some(sound),
        }
    }

    /// The next samples of every channel; none at the end.
    pub fn piece(&mut self) -> anyhow::Result<Option<Vec<&[f64]>>> {
        match self {
            Recording::File(reader) => {
                Ok(reader.piece()?.map(|piece| piece.iter().map(Vec::as_slice).collect()))
            }
            Recording::Memory { sound, given } => {
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
            Recording::Memory { sound, .. } => sound.notes.clone(),
        }
    }
}
