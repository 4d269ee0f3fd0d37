//! Short sums of numbers and of files (CRC-32): they differ when what was summed does, short of malice.

/// The sum of bytes, in hexadecimal digits.
pub fn of_bytes(bytes: &[u8]) -> String {
    digits(crc32fast::hash(bytes))
}

/// The sum of numbers to the last bit.
pub fn of_numbers(numbers: &[f64]) -> String {
    let mut sum = crc32fast::Hasher::new();
    numbers.iter().for_each(|x| sum.update(&x.to_le_bytes()));
    digits(sum.finalize())
}

fn digits(sum: u32) -> String {
    format!("{sum:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_differ_where_numbers_do() {
        assert_ne!(of_numbers(&[1.0, 2.0]), of_numbers(&[2.0, 1.0]));
        assert_eq!(of_numbers(&[1.0, 2.0]), of_numbers(&[1.0, 2.0]));
    }

    #[test]
    fn sums_have_all_their_digits_and_are_those_that_other_programs_find() {
        assert_eq!([of_bytes(b""), of_bytes(b"123456789")], ["00000000", "cbf43926"]);
    }
}
