//! CRC-32 checksums of numbers and files, which detect accidental changes.

/// The checksum of bytes, in hexadecimal digits.
pub fn of_bytes(bytes: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(bytes))
}

/// The checksum of the bits of numbers.
pub fn of_numbers(numbers: &[f64]) -> String {
    of_bytes(&numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_have_eight_digits_and_match_other_programs() {
        assert_eq!([of_bytes(b""), of_bytes(b"123456789")], ["00000000", "cbf43926"]);
        assert_ne!(of_numbers(&[1.0, 2.0]), of_numbers(&[2.0, 1.0]));
    }
}
