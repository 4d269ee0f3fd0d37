//! Short checksums of numbers and of files (CRC-32), which differ when the content does, short of malice.

/// The checksum of bytes, in hexadecimal digits.
pub fn of_bytes(bytes: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(bytes))
}

/// The checksum of numbers, to the last bit.
pub fn of_numbers(numbers: &[f64]) -> String {
    of_bytes(&numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_all_their_digits_and_are_those_that_other_programs_find() {
        assert_eq!([of_bytes(b""), of_bytes(b"123456789")], ["00000000", "cbf43926"]);
        assert_ne!(of_numbers(&[1.0, 2.0]), of_numbers(&[2.0, 1.0]));
    }
}
