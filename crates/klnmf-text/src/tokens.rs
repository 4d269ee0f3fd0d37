//! The words of a text.

use unicode_segmentation::UnicodeSegmentation;

/// The words of a text by the rules of Unicode (UAX 29), in lower case, with straight apostrophes.
///
/// Numbers are words; punctuation and emoji are not. Scripts without spaces are not segmented: every Chinese
/// character is a word.
///
/// ```
/// let words: Vec<String> = klnmf_text::words("Don’t panic: it's 3.5 °C!").collect();
/// assert_eq!(words, ["don't", "panic", "it's", "3.5", "c"]);
/// ```
pub fn words(text: &str) -> impl Iterator<Item = String> {
    text.unicode_words().map(|word| {
        let word = word.to_lowercase();
        if word.contains('’') { word.replace('’', "'") } else { word }
    })
}
