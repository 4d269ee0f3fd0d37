//! Numbers in text.

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
    // Counts are the most common case. Up to fifteen digits they are exact without the full parser.
    if text.len() <= 15
        && let Some(count) = whole(text)
    {
        return Some(count as f64);
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{real, whole};

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
        assert_eq!(real(b"12345678901234567"), Some(12_345_678_901_234_567.0));
        assert!(real(b"NaN").is_some_and(f64::is_nan));
        assert_eq!(real(b"inf"), Some(f64::INFINITY));
        for bad in [&b""[..], b"abc", b"1,5", b"1 2", b"\xff", b"0x10"] {
            assert_eq!(real(bad), None);
        }
    }
}
