//! A long series reduced for a picture: few columns, each the maximum of many.

/// The largest number of columns, an even number; a picture is about half as wide.
const MOST: usize = 1600;

/// Columns of numbers ≥ 0, thinned as they arrive: when there are too many, every two are merged. The length
/// need not be known beforehand, and memory is bounded.
pub struct Thumbnail {
    rows: usize,
    /// Columns of the series per column of the thumbnail.
    each: usize,
    /// How many more columns the last one can take.
    room: usize,
    data: Vec<f64>,
}

impl Thumbnail {
    pub fn new(rows: usize) -> Self {
        Self { rows, each: 1, room: 0, data: Vec::new() }
    }

    /// A thumbnail of a waveform: its extent below and above zero.
    pub fn of_wave() -> Self {
        Self::new(2)
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.data.len() / self.rows.max(1)
    }

    pub fn row(&self, i: usize) -> Vec<f64> {
        (0..self.cols()).map(|j| self.at(i, j)).collect()
    }

    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.data[j * self.rows + i]
    }

    /// Adds the next column.
    pub fn add(&mut self, column: impl IntoIterator<Item = f64>) {
        self.open();
        self.merge(column, 1);
    }

    /// Adds the next samples of a waveform.
    pub fn add_wave(&mut self, mut samples: &[f64]) {
        while !samples.is_empty() {
            let (now, later) = samples.split_at(self.open().min(samples.len()));
            let (low, high) = now.iter().fold((0.0f64, 0.0f64), |(l, h), x| (l.min(*x), h.max(*x)));
            self.merge([-low, high], now.len());
            samples = later;
        }
    }

    /// Makes sure that the last column has room, and returns how much.
    fn open(&mut self) -> usize {
        if self.room == 0 {
            if self.cols() == MOST {
                self.halve();
            }
            self.data.resize(self.data.len() + self.rows, 0.0);
            self.room = self.each;
        }
        self.room
    }

    fn merge(&mut self, column: impl IntoIterator<Item = f64>, count: usize) {
        let last = self.data.len() - self.rows;
        self.data[last..].iter_mut().zip(column).for_each(|(most, x)| *most = most.max(x));
        self.room -= count;
    }

    fn halve(&mut self) {
        let rows = self.rows;
        for j in 0..MOST / 2 {
            for i in 0..rows {
                self.data[j * rows + i] = self.at(i, 2 * j).max(self.at(i, 2 * j + 1));
            }
        }
        self.data.truncate(MOST / 2 * rows);
        self.each *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_columns_hold_the_largest_of_many() {
        for len in [0, 1, 2, MOST, MOST + 1, 10 * MOST + 7, 50_000] {
            let value = |n: usize| ((n * 7919) % 1000) as f64;
            let mut thumbnail = Thumbnail::new(1);
            (0..len).for_each(|n| thumbnail.add([value(n)]));
            assert!(thumbnail.cols() <= MOST && (len <= MOST || thumbnail.cols() >= MOST / 2));
            for (j, most) in thumbnail.row(0).into_iter().enumerate() {
                let all = j * thumbnail.each..((j + 1) * thumbnail.each).min(len);
                assert_eq!(all.map(value).fold(0.0, f64::max), most);
            }
        }
    }

    #[test]
    fn a_wave_in_pieces_is_the_wave() {
        let wave: Vec<f64> = (0..20_000).map(|n| (0.37 * n as f64).sin() * n as f64).collect();
        let (mut whole, mut pieces) = (Thumbnail::of_wave(), Thumbnail::of_wave());
        whole.add_wave(&wave);
        wave.chunks(333).for_each(|piece| pieces.add_wave(piece));
        assert!(whole.data == pieces.data && whole.cols() > 800);
        assert!(whole.row(0).iter().zip(whole.row(1)).all(|(low, high)| *low >= 0.0 && high >= 0.0));
    }
}
