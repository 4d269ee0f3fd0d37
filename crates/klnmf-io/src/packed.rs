//! A line of a matrix as packed bytes.
//!
//! Entries come in groups of 128. Positions are stored as differences. Counts are stored as whole numbers. Both
//! take as many bits as the largest of the group needs. Other numbers are stored as f32 if that is exact, else
//! as f64. The `bitpacking` crate packs full groups only, and most lines of sparse data end in a short one.

use klnmf::LineBuffer;

/// Entries in a group.
const GROUP: usize = 128;
/// The kinds of values above the widths of whole numbers.
const SINGLE: u8 = 33;
const DOUBLE: u8 = 34;
/// Bytes after the data, so that eight bytes can be read at any position.
pub(crate) const PADDING: usize = 8;

/// Appends a line: the number of entries, then the groups. Without positions, the line is dense.
pub(crate) fn pack(idx: Option<&[u32]>, values: &[f64], out: &mut Vec<u8>) {
    out.extend_from_slice(&(values.len() as u32).to_le_bytes());
    let (mut next, mut whole) = (0, Vec::with_capacity(GROUP));
    for (group, values) in values.chunks(GROUP).enumerate() {
        if let Some(idx) = idx {
            let idx = &idx[group * GROUP..][..values.len()];
            whole.clear();
            whole.extend(idx.iter().map(|&i| i - std::mem::replace(&mut next, i.wrapping_add(1))));
            pack_bits(&whole, out);
        }
        pack_values(values, &mut whole, out);
    }
}

fn pack_values(values: &[f64], whole: &mut Vec<u32>, out: &mut Vec<u8>) {
    whole.clear();
    whole.extend(values.iter().map(|x| *x as u32));
    // By bits, because −0 is not a count.
    if whole.iter().zip(values).all(|(count, x)| f64::from(*count).to_bits() == x.to_bits()) {
        pack_bits(whole, out);
    } else if values.iter().all(|x| f64::from(*x as f32).to_bits() == x.to_bits()) {
        out.push(SINGLE);
        values.iter().for_each(|x| out.extend_from_slice(&(*x as f32).to_le_bytes()));
    } else {
        out.push(DOUBLE);
        values.iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()));
    }
}

/// Appends the number of bits and then the numbers.
fn pack_bits(numbers: &[u32], out: &mut Vec<u8>) {
    let width = 32 - numbers.iter().fold(0, |all, x| all | x).leading_zeros();
    out.push(width as u8);
    let (mut word, mut used) = (0u64, 0);
    for number in numbers {
        word |= u64::from(*number) << used;
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

/// Appends the line in `bytes`, which [`PADDING`] more bytes follow, to `to`. None if it is damaged.
pub(crate) fn unpack(bytes: &[u8], sparse: bool, to: &mut LineBuffer) -> Option<()> {
    let mut input = Input { bytes, at: 0 };
    let count = u32::from_le_bytes(input.take(4)?.try_into().ok()?) as usize;
    let (mut next, mut left) = (0u32, count);
    while left > 0 {
        let now = left.min(GROUP);
        if sparse {
            let width = input.byte()?;
            input.bits(width, now, |gap| {
                let i = next.wrapping_add(gap);
                next = i.wrapping_add(1);
                to.idx.push(i);
            })?;
        }
        match input.byte()? {
            SINGLE => to
                .values
                .extend(input.take(4 * now)?.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b)))),
            DOUBLE => {
                to.values.extend(input.take(8 * now)?.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)))
            }
            width => input.bits(width, now, |count| to.values.push(f64::from(count)))?,
        }
        left -= now;
    }
    if sparse {
        to.ends.push(to.values.len());
    }
    (input.at + PADDING == bytes.len()).then_some(())
}

/// Bytes that are read one after the other.
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at + count)?;
        self.at += count;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    /// Passes `count` numbers of `width` bits to `each`.
    fn bits(&mut self, width: u8, count: usize, mut each: impl FnMut(u32)) -> Option<()> {
        let width = usize::from(width);
        let bytes = self.take((width * count).div_ceil(8))?.len() + PADDING;
        let padded = self.bytes.get(self.at + PADDING - bytes..self.at + PADDING).filter(|_| width <= 32)?;
        let mask = (1u64 << width) - 1;
        for bit in (0..count).map(|n| n * width) {
            let word = padded[bit / 8..].first_chunk().map(|word| u64::from_le_bytes(*word))?;
            each((word >> (bit % 8) & mask) as u32);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(idx: Option<&[u32]>, values: &[f64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(idx, values, &mut bytes);
        bytes.extend([0; PADDING]);
        bytes
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
                let bytes = packed(sparse.then_some(&idx[..]), &values);
                let mut found = LineBuffer::default();
                unpack(&bytes, sparse, &mut found).unwrap();
                let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&found.values), bits(&values));
                if sparse {
                    assert_eq!((found.idx, found.ends), (idx, vec![count]));
                }
                for end in 0..bytes.len() {
                    let _ = unpack(&bytes[..end], sparse, &mut LineBuffer::default());
                }
            }
        }
        let last = [u32::MAX - 1, u32::MAX];
        let mut found = LineBuffer::default();
        unpack(&packed(Some(&last), &[1.0, 2.0]), true, &mut found).unwrap();
        assert_eq!(found.idx, last);
    }

    /// Single cells take about two bytes per entry: differences of some five bits and counts of two.
    #[test]
    fn counts_are_small() {
        let idx: Vec<u32> = (0..2000).map(|n| 15 * n + n % 7).collect();
        let values: Vec<f64> = (0..2000).map(|n| f64::from(1 + n % 3)).collect();
        assert!(packed(Some(&idx), &values).len() < 2000 + 200);
    }
}
