//! Numbers as packed bytes.
//!
//! Whole numbers come in groups of 128, and each group takes as many bits per number as its largest needs.
//! Other numbers are stored as f32 if that is exact for a group, else as f64. A full group is laid out in
//! four lanes, so that four numbers are unpacked at a time; a last group of fewer numbers is one stream of
//! bits.
//!
//! Some lines of a matrix are three such lists: their numbers of entries, the differences of the positions,
//! and the values. Dense lines are their values.

use crate::number::rounded;
use klnmf::{LineBuffer, Scalar};

/// Numbers in a group.
const GROUP: usize = 128;
/// Numbers that are unpacked at a time.
const LANES: usize = 4;
/// The kinds of values above the widths of whole numbers.
const SINGLE: u8 = 33;
const DOUBLE: u8 = 34;
/// Bytes after the data, so that eight bytes can be read at any position.
pub(crate) const PADDING: usize = 8;

/// Some lines that are packed together.
#[derive(Default)]
pub(crate) struct Unit {
    counts: Vec<u32>,
    gaps: Vec<u32>,
    values: Vec<f64>,
    lines: usize,
}

impl Unit {
    /// Adds a line. Without positions, it is dense.
    pub(crate) fn push(&mut self, idx: Option<&[u32]>, values: &[f64]) {
        if let Some(idx) = idx {
            self.counts.push(values.len() as u32);
            let mut next = 0;
            self.gaps.extend(idx.iter().map(|&i| i - std::mem::replace(&mut next, i.wrapping_add(1))));
        }
        self.values.extend_from_slice(values);
        self.lines += 1;
    }

    pub(crate) fn lines(&self) -> usize {
        self.lines
    }

    /// Appends the lines to `out`, and forgets them.
    pub(crate) fn pack(&mut self, out: &mut Vec<u8>) {
        pack_numbers(&self.counts, out);
        pack_numbers(&self.gaps, out);
        pack_values(&self.values, out);
        self.counts.clear();
        self.gaps.clear();
        self.values.clear();
        self.lines = 0;
    }
}

/// Appends whole numbers.
pub(crate) fn pack_numbers(numbers: &[u32], out: &mut Vec<u8>) {
    numbers.chunks(GROUP).for_each(|group| pack_group(group, out));
}

/// Appends values.
pub(crate) fn pack_values(values: &[f64], out: &mut Vec<u8>) {
    let mut whole = Vec::with_capacity(GROUP);
    for group in values.chunks(GROUP) {
        whole.clear();
        whole.extend(group.iter().map(|x| *x as u32));
        // By bits, because −0 is not a count.
        if whole.iter().zip(group).all(|(count, x)| f64::from(*count).to_bits() == x.to_bits()) {
            pack_group(&whole, out);
        } else if group.iter().all(|x| f64::from(*x as f32).to_bits() == x.to_bits()) {
            out.push(SINGLE);
            group.iter().for_each(|x| out.extend_from_slice(&(*x as f32).to_le_bytes()));
        } else {
            out.push(DOUBLE);
            group.iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()));
        }
    }
}

/// Appends the number of bits and then the numbers.
fn pack_group(group: &[u32], out: &mut Vec<u8>) {
    let width = 32 - group.iter().fold(0, |all, x| all | x).leading_zeros();
    out.push(width as u8);
    if group.len() < GROUP {
        return pack_bits(group.iter().copied(), width, out);
    }
    let mut lanes = [const { Vec::new() }; LANES];
    for (lane, to) in lanes.iter_mut().enumerate() {
        pack_bits(group.iter().skip(lane).step_by(LANES).copied(), width, to);
    }
    let words = |lane: &Vec<u8>, word: usize| lane[4 * word..4 * word + 4].to_vec();
    (0..width as usize).for_each(|word| lanes.iter().for_each(|lane| out.extend(words(lane, word))));
}

/// Appends numbers as one stream of bits.
fn pack_bits(numbers: impl Iterator<Item = u32>, width: u32, out: &mut Vec<u8>) {
    let (mut word, mut used) = (0u64, 0);
    for number in numbers {
        word |= u64::from(number) << used;
        used += width;
        while used >= 8 {
            out.push(word as u8);
            word >>= 8;
            used -= 8;
        }
    }
    if used > 0 {
        out.push(word as u8);
    }
}

/// Packed bytes that are read one after the other. [`PADDING`] more bytes follow the last number.
pub(crate) struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Whether all bytes have been read.
    pub(crate) fn is_over(&self) -> bool {
        self.at + PADDING == self.bytes.len()
    }

    /// Appends `count` whole numbers to `to`. None if they are damaged.
    pub(crate) fn numbers(&mut self, count: usize, to: &mut Vec<u32>) -> Option<()> {
        let mut group = [0; GROUP];
        for left in lefts(count) {
            let width = self.byte()?;
            to.extend_from_slice(self.group(width, left.min(GROUP), &mut group)?);
        }
        Some(())
    }

    /// Appends `count` values to `to`. None if they are damaged.
    pub(crate) fn values<T: Scalar>(&mut self, count: usize, to: &mut Vec<T>) -> Option<()> {
        let mut group = [0; GROUP];
        for left in lefts(count) {
            let now = left.min(GROUP);
            match self.byte()? {
                SINGLE => {
                    let singles = self.take(4 * now)?.as_chunks().0.iter();
                    to.extend(singles.map(|x| T::from_f64(f32::from_le_bytes(*x).into())));
                }
                DOUBLE => {
                    let doubles = self.take(8 * now)?.as_chunks().0.iter();
                    to.extend(doubles.map(|x| rounded::<T>(f64::from_le_bytes(*x))));
                }
                width => {
                    let group = self.group(width, now, &mut group)?.iter();
                    match width {
                        32 => to.extend(group.map(|x| T::from_u32(*x))),
                        // Numbers below 2³¹ are converted by one instruction.
                        _ => to.extend(group.map(|x| T::from_u32(x & (u32::MAX >> 1)))),
                    }
                }
            }
        }
        Some(())
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    /// Unpacks a group of `count` numbers of `width` bits.
    fn group<'o>(&mut self, width: u8, count: usize, to: &'o mut [u32; GROUP]) -> Option<&'o [u32]> {
        let wide = usize::from(width);
        let unpack = LANED.get(wide)?;
        let bytes = self.take((wide * count).div_ceil(8))?;
        if count == GROUP {
            unpack(bytes, to);
            return Some(to);
        }
        let (from, mask) = (self.at - bytes.len(), (1u64 << wide) - 1);
        let padded = self.bytes.get(from..self.at + PADDING)?;
        for (n, to) in to[..count].iter_mut().enumerate() {
            let word = padded[n * wide / 8..].first_chunk().map(|word| u64::from_le_bytes(*word))?;
            *to = (word >> (n * wide % 8) & mask) as u32;
        }
        Some(&to[..count])
    }
}

/// The numbers left before every group of `count` numbers.
fn lefts(count: usize) -> impl Iterator<Item = usize> {
    (0..count).step_by(GROUP).map(move |done| count - done)
}

/// Unpacks a full group whose numbers have W bits.
fn laned<const W: usize>(bytes: &[u8], to: &mut [u32; GROUP]) {
    let mut words = [[0; LANES]; 33];
    for (word, bytes) in words[..W].iter_mut().zip(bytes.as_chunks::<{ 4 * LANES }>().0) {
        *word = std::array::from_fn(|lane| {
            u32::from_le_bytes([
                bytes[4 * lane],
                bytes[4 * lane + 1],
                bytes[4 * lane + 2],
                bytes[4 * lane + 3],
            ])
        });
    }
    let mask = ((1u64 << W) - 1) as u32;
    macro_rules! unrolled {
        ($($n:literal)*) => {$({
            let (word, shift) = ($n * W / 32, $n * W % 32);
            for lane in 0..LANES {
                let low = words[word][lane] >> shift;
                let high = if shift + W > 32 { words[word + 1][lane] << (32 - shift) } else { 0 };
                to[$n * LANES + lane] = (low | high) & mask;
            }
        })*};
    }
    unrolled!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
}

macro_rules! table {
    ($($width:literal)*) => { [$(laned::<$width>),*] };
}

/// Unpacks a full group.
type Laned = fn(&[u8], &mut [u32; GROUP]);

/// [`laned`] for every width.
static LANED: [Laned; 33] =
    table!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);

/// Appends a unit of so many lines, of this length, to `to`. None if it is damaged. [`PADDING`] more bytes
/// follow those of the unit.
pub(crate) fn unpack<T: Scalar>(
    bytes: &[u8],
    (lines, length): (usize, usize),
    sparse: bool,
    to: &mut LineBuffer<T>,
) -> Option<()> {
    let (mut input, first) = (Input::new(bytes), to.values.len());
    if !sparse {
        input.values(lines.checked_mul(length)?, &mut to.values)?;
        return input.is_over().then_some(());
    }
    let mut counts = Vec::with_capacity(lines);
    input.numbers(lines, &mut counts)?;
    let mut end = first;
    for count in &counts {
        end += *count as usize;
        to.ends.push(end);
    }
    input.numbers(end - first, &mut to.idx)?;
    input.values(end - first, &mut to.values)?;
    let mut idx = to.idx.get_mut(first..)?;
    for count in counts {
        add_up(idx.split_off_mut(..count as usize)?);
    }
    input.is_over().then_some(())
}

/// Turns the differences of a line into positions: each is the sum of the differences so far and their
/// number.
fn add_up(line: &mut [u32]) {
    let mut before = u32::MAX;
    let (fours, rest) = line.as_chunks_mut::<LANES>();
    // In a tree of additions, of which the next four wait for one only.
    for four in fours {
        let [a, b, c, d] = four.map(|gap| gap.wrapping_add(1));
        let (ab, cd) = (a.wrapping_add(b), c.wrapping_add(d));
        let sums = [a, ab, ab.wrapping_add(c), ab.wrapping_add(cd)];
        *four = sums.map(|sum| sum.wrapping_add(before));
        before = four[LANES - 1];
    }
    for gap in rest {
        before = before.wrapping_add(*gap).wrapping_add(1);
        *gap = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(lines: &[(Option<&[u32]>, &[f64])]) -> Vec<u8> {
        let (mut unit, mut bytes) = (Unit::default(), Vec::new());
        lines.iter().for_each(|(idx, values)| unit.push(*idx, values));
        unit.pack(&mut bytes);
        bytes.extend([0; PADDING]);
        bytes
    }

    fn bits(values: &[f64]) -> Vec<u64> {
        values.iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn every_line_comes_back_to_the_bit() {
        let all =
            [0.0, -0.0, 1.0, 255.0, 4_294_967_295.0, 4_294_967_296.0, 0.1, 0.5, 1e-310, 1e300, f64::MAX];
        for count in [0, 1, 2, 127, 128, 129, 1000] {
            for (kinds, step) in [(1, 1), (4, 3), (5, 40_000_000), (11, 7), (3, 1)] {
                let values: Vec<f64> = (0..count).map(|n| all[n % kinds]).collect();
                let idx: Vec<u32> = (0..count).map(|n| (n * step % 4_000_000_000 + n) as u32).collect();
                let sparse = idx.is_sorted_by(|a, b| a < b);
                let idx = sparse.then_some(&idx[..]);
                let bytes = packed(&[(idx, &values), (idx, &values)]);
                let (mut found, mut narrow) = (LineBuffer::default(), LineBuffer::default());
                unpack::<f64>(&bytes, (2, count), sparse, &mut found).unwrap();
                unpack::<f32>(&bytes, (2, count), sparse, &mut narrow).unwrap();
                assert_eq!(bits(&found.values), bits(&[&values[..], &values[..]].concat()));
                let rounded: Vec<f32> = found.values.iter().map(|x| *x as f32).collect();
                assert_eq!(narrow.values, rounded);
                if let Some(idx) = idx {
                    assert_eq!((found.idx, found.ends), ([idx, idx].concat(), vec![count, 2 * count]));
                }
                for end in 0..bytes.len() {
                    let _ = unpack::<f64>(&bytes[..end], (2, count), sparse, &mut LineBuffer::default());
                }
            }
        }
        let last = [u32::MAX - 1, u32::MAX];
        let mut found = LineBuffer::default();
        unpack::<f64>(&packed(&[(Some(&last), &[1.0, 2.0])]), (1, 0), true, &mut found).unwrap();
        assert_eq!(found.idx, last);
    }

    /// Groups of every width, full and short.
    #[test]
    fn numbers_of_every_width() {
        for width in 0..=32 {
            for count in [3, GROUP, 3 * GROUP + 5] {
                let most = ((1u64 << width) - 1) as u32;
                let numbers: Vec<u32> =
                    (0..count as u32).map(|n| n.wrapping_mul(2_654_435_761) & most).collect();
                let mut bytes = Vec::new();
                pack_numbers(&numbers, &mut bytes);
                bytes.extend([0; PADDING]);
                let (mut input, mut found) = (Input::new(&bytes), Vec::new());
                input.numbers(count, &mut found).unwrap();
                assert_eq!((found, input.is_over()), (numbers, true), "{width} {count}");
            }
        }
    }

    /// Single cells take about two bytes per entry: differences of some five bits and counts of two.
    #[test]
    fn counts_are_small() {
        let idx: Vec<u32> = (0..2000).map(|n| 15 * n + n % 7).collect();
        let values: Vec<f64> = (0..2000).map(|n| f64::from(1 + n % 3)).collect();
        assert!(packed(&[(Some(&idx), &values)]).len() < 2000 + 200);
    }
}
