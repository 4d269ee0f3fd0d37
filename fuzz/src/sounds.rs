//! The reader of sound files.

use crate::{files, outcome};

/// A sound file of any kind.
pub fn sound(data: &[u8]) {
    if let Some(sound) = outcome::result(klnmf_audio::read(&files::file("sound", data))) {
        assert!(sound.rate > 0 && !sound.is_empty());
        assert!(sound.channels.iter().all(|channel| channel.len() == sound.len()));
        assert!(sound.channels.iter().flatten().all(|x| x.is_finite()));
        assert!(!sound.notes.iter().any(|note| note.chars().any(char::is_control)));
        outcome::note(sound.notes.len());
    }
}
