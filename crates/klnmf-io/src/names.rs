//! Lists of names: the rows and columns of a matrix, the words of a vocabulary.

use crate::error::{Error, Fault};
use std::path::Path;

/// Fails unless there are as many names as are needed.
pub(crate) fn check_count(what: &str, names: Option<&[String]>, needed: usize) -> Result<(), Fault> {
    let wrong = names.map(<[String]>::len).filter(|count| *count != needed);
    let told = |count| Fault::Content(format!("{count} {what} names where {needed} are needed"));
    wrong.map_or(Ok(()), |count| Err(told(count)))
}

/// The lines of a small text file, without line ends.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("words.txt");
/// std::fs::write(&path, "cat\r\ndog\n")?;
/// assert_eq!(klnmf_io::read_names(&path)?, ["cat", "dog"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_names(path: &Path) -> Result<Vec<String>, Error> {
    let names = || {
        let text = String::from_utf8(std::fs::read(path).map_err(Fault::Io)?).ok();
        let text = text.filter(|text| !text.contains('\0')).ok_or_else(|| {
            Fault::content("this is not a text file in UTF-8; give one with one name per line")
        })?;
        Ok(text.trim_start_matches('\u{feff}').lines().map(|line| line.trim_end().to_owned()).collect())
    };
    names().map_err(|fault: Fault| fault.at(path))
}
