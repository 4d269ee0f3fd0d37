//! A sound in memory.

use crate::Error;

/// Samples of one or more channels, nominally from −1 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sound {
    /// Samples per second.
    pub rate: u32,
    /// The samples, channel by channel; all channels have the same length.
    pub channels: Vec<Vec<f64>>,
    /// Problems of the file, one line each; empty if there were none.
    pub notes: Vec<String>,
}

impl Sound {
    /// A sound from channels of the same length.
    pub fn new(rate: u32, channels: Vec<Vec<f64>>) -> Result<Self, Error> {
        let sound = Self { rate, channels, notes: Vec::new() };
        sound.check()?;
        Ok(sound)
    }

    /// Checks the fields, which are public, before they are used.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.rate == 0 {
            return Err(Error::setting("rate", 0, "a sound needs at least 1 sample per second"));
        }
        if self.channels.is_empty() {
            return Err(Error::Shape("a sound needs at least one channel".into()));
        }
        match self.channels.iter().position(|channel| channel.len() != self.len()) {
            None => Ok(()),
            Some(c) => Err(Error::Shape(format!(
                "channel {c} (counting from 0) has {} samples but channel 0 has {}: pad the shorter one",
                self.channels[c].len(),
                self.len()
            ))),
        }
    }

    /// Samples per channel.
    pub fn len(&self) -> usize {
        self.channels.first().map_or(0, Vec::len)
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The duration.
    pub fn seconds(&self) -> f64 {
        self.len() as f64 / f64::from(self.rate)
    }

    /// The mean of the channels.
    pub fn mono(&self) -> Vec<f64> {
        mean(&self.channels)
    }
}

/// The mean of channels of the same length.
pub fn mean<S: AsRef<[f64]>>(channels: &[S]) -> Vec<f64> {
    let mut mean = vec![0.0; channels.first().map_or(0, |channel| channel.as_ref().len())];
    for channel in channels {
        mean.iter_mut().zip(channel.as_ref()).for_each(|(m, x)| *m += x);
    }
    mean.iter_mut().for_each(|m| *m /= channels.len() as f64);
    mean
}

/// Channel and position of the first sample that is NaN or infinite.
pub(crate) fn not_finite<S: AsRef<[f64]>>(channels: &[S]) -> Option<(usize, usize)> {
    let place = |(c, channel): (usize, &S)| Some((c, channel.as_ref().iter().position(|x| !x.is_finite())?));
    channels.iter().enumerate().find_map(place)
}
