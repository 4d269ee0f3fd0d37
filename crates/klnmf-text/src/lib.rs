//! Texts as counts, for topic models.
//!
//! [`read_documents`] takes texts from a folder or a file, [`Corpus::count`] turns them into a sparse matrix of words ×
//! documents, which klnmf factorises: column k of W is a topic, column j of H says how much of each topic document j
//! holds. [`hold_out`] and [`npmi`] tell how good a model is: the first sets some occurrences aside which the model must
//! then predict, the second asks whether the first words of a topic do occur together.
//!
//! | input | documents |
//! | --- | --- |
//! | a folder | every `.txt` file in it and its subfolders |
//! | `.txt` | every line |
//! | `.csv`, `.tsv` | every row, the text in one column |
//! | `.jsonl`, `.ndjson` | every line, a JSON object with the text in one field |
//!
//! Any file may be gzipped, told by its content; a single file may then be called `.txt.gz`. Text is UTF-8, UTF-16 with a
//! byte order mark, or else Windows-1252. The same texts give the same matrix, to the bit, whatever the order in which the
//! system lists files. No input makes a reader panic: every error is one line that says what is wrong, where, and what to do.
//!
//! ```
//! use klnmf_text::{Corpus, CountOptions, ReadOptions, StopWords, read_documents};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("pets.txt");
//! std::fs::write(&path, "The cat sees the dog.\nThe dog sleeps\n\nCat! Cat! CAT!\n")?;
//! let documents = read_documents(&path, &ReadOptions::default())?;
//! assert_eq!(documents.names, ["line 1", "line 2", "line 3", "line 4"]);
//!
//! let options = CountOptions { min_df: "2".parse()?, stop_words: StopWords::English, ..Default::default() };
//! let corpus = Corpus::count(&documents, &options)?;
//! assert_eq!(corpus.words, ["cat", "dog"]);
//! assert_eq!(corpus.counts.to_dense()[(0, 3)], 3.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod coherence;
mod corpus;
mod documents;
mod error;
mod folder;
mod frequency;
mod records;
mod source;
mod split;
mod stop_words;
mod table;
mod tokens;

pub use coherence::npmi;
pub use corpus::{Corpus, CountOptions, Dropped};
pub use documents::{Documents, ReadOptions, read_documents};
pub use error::Error;
pub use frequency::Frequency;
pub use split::hold_out;
pub use stop_words::StopWords;
pub use tokens::words;
