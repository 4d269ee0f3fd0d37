//! Checksums of damaged files put right, so that the damage reaches what lies behind them.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Archives: the checksum of every member that is stored without compression.
pub(crate) fn zip(data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    let mut at = 0;
    while let Some(entry) = find(&data[at..], b"PK\x01\x02").map(|found| at + found) {
        at = entry + 4;
        let (Some(method), Some(size), Some(local)) =
            (number(&data, entry + 10, 2), number(&data, entry + 20, 4), number(&data, entry + 42, 4))
        else {
            break;
        };
        let lengths = number(&data, local + 26, 2).zip(number(&data, local + 28, 2));
        let Some(start) = lengths.map(|(name, extra)| local + 30 + name + extra) else { continue };
        let Some(content) = data.get(start..start.saturating_add(size)).filter(|_| method == 0) else {
            continue;
        };
        let checksum = crc32fast::hash(content).to_le_bytes();
        data[entry + 16..entry + 20].copy_from_slice(&checksum);
        data[local + 14..local + 18].copy_from_slice(&checksum);
    }
    data
}

/// The files of a folder of packed lines: the checksums of units, positions and names, and that of the
/// header.
pub(crate) fn folder(files: &[&[u8]; 7]) -> [Vec<u8>; 7] {
    let mut files = files.map(<[u8]>::to_vec);
    let header = String::from_utf8_lossy(&files[0]).into_owned();
    let fact = |key: &str| {
        let facts = header.lines().filter_map(|line| line.split_once(' '));
        facts.filter(|(name, _)| *name == key).map(|(_, value)| value).next_back().unwrap_or_default()
    };
    let origin = xxh3_64(format!("{} {} {}", fact("stamp"), fact("layer"), fact("source")).as_bytes());
    let seed = |name: &str| xxh3_64_with_seed(name.as_bytes(), origin);
    for (name, at) in [("columns", 1), ("rows", 3)] {
        let (lines, ends) = files.split_at_mut(at + 1);
        self::lines(&mut lines[at], &mut ends[0], seed(name) as u32);
    }
    let mut facts = header.rsplit_once("checksum ").map_or(header.clone(), |(facts, _)| facts.to_owned());
    for (key, name, at) in [("row_names", "row_names", 5), ("column_names", "col_names", 6)] {
        let old = format!("{key} {}\n", fact(key));
        facts = facts.replace(&old, &format!("{key} {:x}\n", xxh3_64_with_seed(&files[at], seed(name))));
    }
    files[0] = format!("{facts}checksum {:x}\n", xxh3_64(facts.as_bytes())).into_bytes();
    files
}

fn lines(lines: &mut [u8], ends: &mut Vec<u8>, seed: u32) {
    let mut start = 0;
    for (unit, end) in ends.as_chunks::<8>().0.iter().enumerate() {
        let end = u64::from_le_bytes(*end).min(lines.len() as u64) as usize;
        if let Some((checksum, unit_bytes)) =
            lines.get_mut(start..end).and_then(|line| line.split_first_chunk_mut::<4>())
        {
            *checksum = crc(unit_bytes, seed.wrapping_add(unit as u32)).to_le_bytes();
        }
        start = end;
    }
    ends.truncate(ends.len() / 8 * 8);
    let checksum = crc(ends, seed).to_le_bytes();
    ends.extend(checksum);
}

fn crc(bytes: &[u8], seed: u32) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(seed);
    hasher.update(bytes);
    hasher.finalize()
}

fn find(data: &[u8], what: &[u8]) -> Option<usize> {
    data.windows(what.len()).position(|window| window == what)
}

fn number(data: &[u8], at: usize, bytes: usize) -> Option<usize> {
    let bytes = data.get(at..at.checked_add(bytes)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}
