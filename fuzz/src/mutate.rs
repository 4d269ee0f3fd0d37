//! New inputs from good ones: flipped bits, other bytes, magic numbers, wrong lengths, pieces of other
//! inputs.

/// No input is longer.
const LONGEST: usize = 1 << 16;
/// Numbers at which programs tend to fail.
const MAGIC: [u64; 16] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
];
/// The same for numbers in texts.
const WORDS: [&str; 14] = [
    "-1",
    "0",
    "1",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "1e400",
    "1e-400",
    "nan",
    "inf",
    "-0",
    "999999999999",
    "0.1",
];

/// A small generator of random numbers (SplitMix64).
pub struct Random(pub u64);

impl Random {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    fn one_of<V: Copy>(&mut self, all: &[V]) -> V {
        all[self.below(all.len())]
    }

    /// A range in so many bytes, mostly a short one.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let longest = if self.below(4) == 0 { length - start } else { (length - start).min(16) };
        start..start + self.below(longest + 1)
    }
}

/// An input that is like one of `corpus`.
pub fn mutated(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut data = corpus[random.below(corpus.len())].clone();
    for _ in 0..1 << random.below(4) {
        change(&mut data, corpus, random);
    }
    data.truncate(LONGEST);
    data
}

fn change(data: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let kind = random.below(12);
    if data.is_empty() {
        data.push(random.bits() as u8);
    }
    let (length, at) = (data.len(), random.below(data.len()));
    match kind {
        0..=2 => data[at] ^= 1 << random.below(8),
        3 => data[at] = random.bits() as u8,
        4 => overwrite(data, at, random.one_of(&MAGIC), random),
        // A length that is nearly right.
        5 => overwrite(data, at, (length - at + random.below(3)) as u64 - 1, random),
        6 => drop(data.drain(random.range(length))),
        7 => {
            let copy = data[random.range(length)].to_vec();
            data.splice(at..at, copy);
        }
        8 => data.truncate(at),
        9 => {
            let other = &corpus[random.below(corpus.len())];
            let piece = other[random.range(other.len())].to_vec();
            let to = random.range(length);
            data.splice(to, piece);
        }
        10 => number(data, at, random),
        _ => {
            let bytes: Vec<u8> = (0..random.below(9)).map(|_| random.bits() as u8).collect();
            data.splice(at..at, bytes);
        }
    }
}

/// Writes a number of one to eight bytes, of either order.
fn overwrite(data: &mut [u8], at: usize, number: u64, random: &mut Random) {
    let size = 1 << random.below(4);
    let (small, big) = (number.to_le_bytes(), number.to_be_bytes());
    let bytes = if random.below(2) == 0 { &small[..size] } else { &big[8 - size..] };
    data[at..].iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
}

/// Replaces the first number in the text from a position on.
fn number(data: &mut Vec<u8>, at: usize, random: &mut Random) {
    let Some(start) = data[at..].iter().position(u8::is_ascii_digit).map(|found| at + found) else { return };
    let end =
        data[start..].iter().position(|c| !c.is_ascii_digit()).map_or(data.len(), |found| start + found);
    data.splice(start..end, random.one_of(&WORDS).bytes());
}
