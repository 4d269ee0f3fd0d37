//! The LZF compression that h5py offers: literals, and copies of earlier bytes.

/// Decompresses a chunk of at most `most` bytes. None if the input is not LZF or is longer than that.
pub(crate) fn decompress(input: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = input.iter();
    while let Some(&control) = rest.next() {
        let control = usize::from(control);
        if control < 32 {
            let literals = rest.as_slice().get(..=control)?;
            out.extend_from_slice(literals);
            rest = rest.as_slice()[control + 1..].iter();
        } else {
            let mut length = control >> 5;
            if length == 7 {
                length += usize::from(*rest.next()?);
            }
            let distance = ((control & 31) << 8 | usize::from(*rest.next()?)) + 1;
            let start = out.len().checked_sub(distance)?;
            // The copy may overlap its own end, so it goes byte by byte.
            (start..start + length + 2).for_each(|at| out.push(out[at]));
        }
        if out.len() > most {
            return None;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::decompress;

    #[test]
    fn literals_and_overlapping_copies() {
        // "ab", then nine bytes from two back: "ababababa".
        let input = [1, b'a', b'b', 7 << 5, 0, 1];
        assert_eq!(decompress(&input, 11).unwrap(), b"abababababa");
        assert_eq!(decompress(&input, 10), None);
        assert_eq!(decompress(&input[..5], 11), None);
        assert_eq!(decompress(&[1, b'a'], 11), None);
        assert_eq!(decompress(&[1 << 5, 0], 11), None, "a copy from before the beginning");
    }
}
