//! Counts the words of texts, for topic models.
//!
//! [`read_documents`] reads texts from a folder or a file. [`Corpus::count`] turns them into a sparse matrix
//! of words × documents, which klnmf factorises: column k of W is a topic, and column j of H holds the
//! weights of the topics in document j. [`hold_out`] and [`npmi`] measure a model: the first holds out some
//! occurrences for the model to predict, the second measures how often the top words of a topic occur
//! together.
//!
//! | input | documents |
//! | --- | --- |
//! | a folder | every `.txt` file in it and its subfolders |
//! | `.txt` | every line |
//! | `.csv`, `.tsv` | every row, the text in one column |
//! | `.jsonl`, `.ndjson` | every line, a JSON object with the text in one field |
//!
//! Any file may be gzipped, which is detected by content; a single file may then be named `.txt.gz`. Text is
//! UTF-8, UTF-16 with a byte order mark, or else Windows-1252. The same texts give the same matrix, bit for
//! bit, in whatever order the system lists files. No input makes a reader panic: every error is one line that
//! says what is wrong, where, and what to do.
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
