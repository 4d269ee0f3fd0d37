//! Numbers in text, and numbers in another precision.

use crate::error::quoted;
use klnmf::Scalar;
use std::sync::atomic::{AtomicBool, Ordering};

static LOST: AtomicBool = AtomicBool::new(false);

/// A number in the precision of the matrix. It is noted if a positive one becomes zero.
pub(crate) fn rounded<T: Scalar>(x: f64) -> T {
    let y = T::from_f64(x);
    if x > 0.0 && y == T::ZERO {
        LOST.store(true, Ordering::Relaxed);
    }
    y
}

/// Whether positive entries were too small for the precision, and became zero, in what this process has read
/// since the last call.
pub fn rounded_to_zero() -> bool {
    LOST.swap(false, Ordering::Relaxed)
}

/// A whole number without a sign.
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    // Nineteen digits cannot overflow, and no index is longer.
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    text.iter().try_fold(0u64, |n, byte| byte.is_ascii_digit().then(|| n * 10 + u64::from(byte - b'0')))
}

/// Any number, NaN and infinity included.
pub(crate) fn real(text: &[u8]) -> Option<f64> {
    match plain(text) {
        Some((number, length)) if length == text.len() => Some(number),
        _ => std::str::from_utf8(text).ok()?.parse().ok(),
    }
}

/// Whether the text is a number that is not 0, but too small for f64 to hold.
pub(crate) fn vanishes(text: &[u8]) -> bool {
    let digits = text.split(|byte| matches!(byte, b'e' | b'E')).next().unwrap_or_default();
    digits.iter().any(|byte| (b'1'..=b'9').contains(byte)) && real(text) == Some(0.0)
}

/// The error for a number that [`vanishes`].
pub(crate) fn too_small(text: &[u8]) -> String {
    let advice = "write 0, or multiply all numbers by a constant";
    format!("{} is too small for f64 and would become 0: {advice}", quoted(text))
}

/// [`real`] for an entry of a matrix: not a number that [`vanishes`].
pub(crate) fn entry(text: &[u8]) -> Option<f64> {
    // Hardly any number is 0 and looks different, so the text is rarely looked at twice.
    real(text).filter(|x| *x != 0.0 || !vanishes(text))
}

/// The number at the start of the text and its length, if it has no sign and at most fifteen digits, with or
/// without a decimal point. A power of ten may follow it: the caller looks at the next character.
///
/// Almost all numbers are of this kind. The digits and the power of ten are then exact in f64, and so their
/// quotient is rounded correctly.
#[inline]
pub(crate) fn plain(text: &[u8]) -> Option<(f64, usize)> {
    const POWERS: [f64; 16] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let (whole, length) = leading(text, 0);
    if text.get(length) != Some(&b'.') {
        return (1..=15).contains(&length).then_some((whole as f64, length));
    }
    let (digits, decimals) = leading(&text[length + 1..], whole);
    (1..=15).contains(&(length + decimals)).then(|| (digits as f64 / POWERS[decimals], length + 1 + decimals))
}

/// Appends the decimal digits at the start of the text to a number, and counts them. More than nineteen
/// overflow.
#[inline]
pub(crate) fn leading(text: &[u8], number: u64) -> (u64, usize) {
    let (mut number, mut length) = (number, 0);
    while let Some(digit) = text.get(length).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    (number, length)
}

#[cfg(test)]
mod tests {
    use super::{plain, real, whole};

    #[test]
    fn whole_numbers() {
        assert_eq!(whole(b"0"), Some(0));
        assert_eq!(whole(b"9999999999999999999"), Some(9_999_999_999_999_999_999));
        for bad in [&b""[..], b"-1", b"+1", b"1.0", b"1e3", b"12345678901234567890", b"1 "] {
            assert_eq!(whole(bad), None);
        }
    }

    #[test]
    fn real_numbers() {
        for (text, value) in
            [("3", 3.0), ("-3", -3.0), ("1e3", 1000.0), (".5", 0.5), ("1.", 1.0), ("+2", 2.0)]
        {
            assert_eq!(real(text.as_bytes()), Some(value));
        }
        for text in ["0.1", "123456.789012345", "999999999999999", "0.000000000000001", "1234567890.12345"] {
            assert_eq!(real(text.as_bytes()), text.parse().ok(), "{text}");
        }
        for (text, found) in [("12;3", Some((12.0, 2))), ("1.5e3", Some((1.5, 3))), (".", None), ("-1", None)]
        {
            assert_eq!(plain(text.as_bytes()), found);
        }
        for (number, power) in (0..3000u64).map(|n| (n * 333_667_001_003 % 1_000_000_000_000_000, n % 16)) {
            let digits = format!("{number:015}");
            let (whole, decimals) = digits.split_at(power as usize % 16);
            let text = format!("{whole}.{decimals}");
            assert_eq!(plain(text.as_bytes()), Some((text.parse().unwrap(), 16)), "{text}");
        }
        assert_eq!(plain(b"0123456789012345"), None);
        assert_eq!(real(b"12345678901234567"), Some(12_345_678_901_234_567.0));
        assert!(real(b"NaN").is_some_and(f64::is_nan));
        assert_eq!(real(b"inf"), Some(f64::INFINITY));
        for bad in [&b""[..], b"abc", b"1,5", b"1 2", b"\xff", b"0x10"] {
            assert_eq!(real(bad), None);
        }
    }
}
