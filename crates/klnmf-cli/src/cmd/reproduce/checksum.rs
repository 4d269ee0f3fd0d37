//! Short sums of numbers and of files (FNV-1a, 64 bits): they differ when what was summed does, short of malice.

/// The sum of bytes, in hexadecimal digits.
pub fn of_bytes(bytes: impl IntoIterator<Item = u8>) -> String {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    format!("{:016x}", bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, fold))
}

/// The sum of numbers to the last bit.
pub fn of_numbers(numbers: impl Iterator<Item = f64>) -> String {
    of_bytes(numbers.flat_map(|x| x.to_bits().to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_differ_where_numbers_do() {
        let of = |numbers: &[f64]| of_numbers(numbers.iter().copied());
        assert_ne!(of(&[1.0, 2.0]), of(&[2.0, 1.0]));
        assert_eq!(of(&[1.0, 2.0]), of(&[1.0, 2.0]));
    }

    #[test]
    fn sums_are_those_of_the_published_test_vectors() {
        let of = |text: &str| of_bytes(text.bytes());
        assert_eq!(
            [of(""), of("a"), of("foobar")],
            ["cbf29ce484222325", "af63dc4c8601ec8c", "85944171f73967e8"]
        );
    }
}
