//! The input of `klnmf topics`: texts to be counted, or counts.

use crate::input;
use crate::names::Names;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use klnmf::{Mat, Scalar, Sparse};
use klnmf_io::{Folder, Model, Stored, Table};
use klnmf_text::{CountOptions, Documents, Frequency, ReadOptions, StopWords};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The input and how to read it.
#[derive(Args)]
pub struct Input {
    /// Folder of .txt files, a .txt, .csv, .tsv or .jsonl file, or a matrix of counts (.npz, .npy, .mtx,
    /// .klnmf; .h5ad, .h5 and 10x folders, whose cells are the documents)
    #[arg(value_name = "INPUT")]
    path: PathBuf,
    /// Column (.csv, .tsv) or field (.jsonl) that holds the texts [default: text]
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// Column or field that holds the names of the documents
    #[arg(long, value_name = "NAME")]
    id: Option<String>,
    /// File with the words of a matrix of counts, one per line; its length tells which side they name
    #[arg(long, value_name = "FILE")]
    vocabulary: Option<PathBuf>,
    /// File with the names of the documents of a matrix, one per line
    #[arg(long, value_name = "FILE")]
    titles: Option<PathBuf>,
    #[command(flatten)]
    names: Names,
    /// Read the .csv or .tsv file as a matrix of counts, with names
    #[arg(long)]
    counts: bool,
    /// Read the matrix as words × documents; cells × words in .h5ad, .h5 and 10x folders
    #[arg(long)]
    transpose: bool,
    /// Layer of an .h5ad file to read instead of X; `raw` for raw/X
    #[arg(long, value_name = "NAME")]
    layer: Option<String>,
    /// Minimum number of documents of a word, or a share such as 0.01 or 1%; rarer words are left out
    /// [default: 2; for a matrix: any]
    #[arg(long, value_name = "DOCUMENTS", conflicts_with = "model")]
    min_df: Option<String>,
    /// Maximum number of documents of a word, or a share; more common words are left out [default: 50%;
    /// for a matrix: any]
    #[arg(long, value_name = "DOCUMENTS", conflicts_with = "model")]
    max_df: Option<String>,
    /// Words to leave out: none, english, or a file with one word per line [default: none]
    #[arg(long, value_name = "WHICH", conflicts_with = "model")]
    stop_words: Option<String>,
    /// Maximum size of the vocabulary; the most frequent words are kept
    #[arg(long, value_name = "N", conflicts_with = "model")]
    max_words: Option<usize>,
}

/// Counts, words × documents, with their names and texts.
pub struct Corpus {
    pub words: Vec<String>,
    pub documents: Vec<String>,
    pub counts: Stored<f64>,
    /// Whether the words are real names, not numbers.
    pub named: bool,
    /// The texts, if they were read.
    pub texts: Option<Vec<String>>,
    /// The number of words that are not in the vocabulary of the model.
    pub unknown: usize,
    notes: Vec<String>,
}

impl Corpus {
    /// The lengths of the documents.
    pub fn lengths(&self) -> Vec<f64> {
        self.counts.view().col_sums()
    }

    /// The counts without a share of the words, and the held-out ones.
    pub fn hold_out(&self, share: f64, seed: u64) -> anyhow::Result<(Sparse<f64>, Sparse<f64>)> {
        Ok(match &self.counts {
            Stored::Sparse(counts) => klnmf_text::hold_out(counts, share, seed)?,
            Stored::Dense(counts) => klnmf_text::hold_out(&Sparse::from_dense(counts), share, seed)?,
        })
    }

    /// A description of the corpus for the terminal.
    pub fn text(&self) -> String {
        let (v, empty) = (self.counts.view(), self.lengths().iter().filter(|n| **n == 0.0).count());
        let mut text = format!(
            "corpus       {} documents with {:.0} words; vocabulary of {}\n",
            v.cols(),
            v.sum(),
            v.rows()
        );
        if empty > 0 {
            text += &format!(
                "note         {empty} documents have no words of the vocabulary; their weights are \
                     even\n"
            );
        }
        if self.unknown > 0 {
            text += &format!("note         {} words are not in the model and are left out\n", self.unknown);
        }
        for note in &self.notes {
            text += &format!("note         {note}\n");
        }
        text
    }
}

impl Input {
    /// For messages.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files that are read, as far as their names are known.
    pub fn files(&self) -> Vec<PathBuf> {
        let known = [Some(&self.path), self.vocabulary.as_ref(), self.titles.as_ref()];
        known.into_iter().flatten().chain(self.names.files()).cloned().collect()
    }

    /// The corpus of a new model.
    pub fn read(&self) -> anyhow::Result<Corpus> {
        if self.is_matrix() {
            let mut corpus = self.read_matrix()?;
            self.select_words(&mut corpus)?;
            if !corpus.named {
                corpus.notes.push("the words have no names: give them with --vocabulary".into());
            }
            return Ok(corpus);
        }
        let documents = self.read_documents()?;
        let options = self.count_options(Frequency::Documents(2), Frequency::Share(0.5))?;
        let counted = klnmf_text::Corpus::count(&documents, &options).with_context(|| self.name())?;
        let mut notes = documents.notes;
        notes.extend(left_out(&counted.dropped));
        Ok(Corpus {
            words: counted.words,
            documents: documents.names,
            counts: Stored::Sparse(counted.counts),
            named: true,
            texts: Some(documents.texts),
            unknown: 0,
            notes,
        })
    }

    /// Counts of the words of a model, in its order.
    pub fn read_known(&self, path: &Path, model: &Model<f64>) -> anyhow::Result<Corpus> {
        let names = model.row_names.as_deref();
        if self.is_matrix() {
            return self.read_matrix()?.in_order_of(names, model.w.rows(), path);
        }
        let Some(words) = names else {
            bail!(
                "{}: the model has no vocabulary, so it cannot read texts: give a matrix of counts",
                path.display()
            );
        };
        let documents = self.read_documents()?;
        let (counts, unknown) =
            klnmf_text::Corpus::count_known(&documents, words).with_context(|| self.name())?;
        if unknown > 0 && counts.nnz() == 0 {
            bail!(
                "{}: none of the words is in {}: use a model of the same language and subject",
                self.name(),
                path.display()
            );
        }
        Ok(Corpus {
            words: words.to_vec(),
            documents: documents.names,
            counts: Stored::Sparse(counts),
            named: true,
            texts: Some(documents.texts),
            unknown,
            notes: documents.notes,
        })
    }

    fn is_matrix(&self) -> bool {
        let matrix = ["npz", "npy", "mtx"].contains(&klnmf_io::extension(&self.path).as_str());
        let given = self.counts || self.vocabulary.is_some() || self.transpose || self.layer.is_some();
        klnmf_io::holds_cells(&self.path)
            || Folder::is_at(&self.path)
            || !self.path.is_dir() && (matrix || given)
    }

    /// Whether the rows of the matrix are the words, unless the vocabulary decides.
    fn rows_are_words(&self) -> bool {
        self.transpose != klnmf_io::holds_cells(&self.path)
    }

    fn read_documents(&self) -> anyhow::Result<Documents> {
        if self.titles.is_some() || self.names.files().next().is_some() {
            bail!(
                "--titles, --row-names and --column-names are for a matrix of counts: texts are named by \
                 their files, lines or --id; leave them out"
            );
        }
        let options = ReadOptions { column: self.column.clone(), id: self.id.clone() };
        Ok(klnmf_text::read_documents(&self.path, &options)?)
    }

    fn count_options(&self, min_df: Frequency, max_df: Frequency) -> anyhow::Result<CountOptions> {
        let frequency = |option: &str, text: &Option<String>, default: Frequency| match text {
            None => Ok(default),
            Some(text) => text.parse::<Frequency>().with_context(|| option.to_owned()),
        };
        Ok(CountOptions {
            min_df: frequency("--min-df", &self.min_df, min_df)?,
            max_df: frequency("--max-df", &self.max_df, max_df)?,
            stop_words: StopWords::parse(self.stop_words.as_deref().unwrap_or("none"))?,
            max_words: self.max_words,
        })
    }

    fn read_matrix(&self) -> anyhow::Result<Corpus> {
        let mut table = klnmf_io::read_layer::<f64>(&self.path, self.layer.as_deref())?;
        self.names.apply(&self.path, &mut table)?;
        table.matrix.view().check().map_err(|why| {
            let names = input::named(&why, &table);
            anyhow!("{}{names}", klnmf_io::Error::matrix(&self.path, why))
        })?;
        let words = self.vocabulary.as_deref().map(klnmf_io::read_names).transpose()?;
        let columns = table.matrix.cols();
        let table = self.words_by_documents(table, words.as_ref().map(Vec::len))?;
        let Table { matrix, row_names, col_names } = table;
        let mut notes = Vec::new();
        if !self.rows_are_words() && matrix.cols() == columns && matrix.rows() != columns {
            notes.push("the vocabulary fits the rows of the file: it is read as words × documents".into());
        }
        let numbered = |what: &str, n: usize| (1..=n).map(|i| format!("{what} {i}")).collect::<Vec<String>>();
        let titles = self.titles.as_deref().map(klnmf_io::read_names).transpose()?;
        if let Some(titles) = titles.as_ref().filter(|titles| titles.len() != matrix.cols()) {
            let file = self.titles.as_deref().unwrap_or(Path::new("")).display();
            bail!(
                "{file} has {} titles and {} has {} documents: give one title per document",
                titles.len(),
                self.name(),
                matrix.cols()
            );
        }
        let (n, m) = (matrix.rows(), matrix.cols());
        Ok(Corpus {
            named: words.is_some() || row_names.is_some(),
            words: words.or(row_names).unwrap_or_else(|| numbered("word", n)),
            documents: titles.or(col_names).unwrap_or_else(|| numbered("document", m)),
            counts: matrix,
            texts: None,
            unknown: 0,
            notes,
        })
    }

    /// Leaves words out of a matrix of counts, if there is an option that says so.
    fn select_words(&self, corpus: &mut Corpus) -> anyhow::Result<()> {
        let given = [&self.min_df, &self.max_df, &self.stop_words].into_iter().any(|option| option.is_some());
        if !given && self.max_words.is_none() {
            return Ok(());
        }
        if self.stop_words.is_some() && !corpus.named {
            bail!("--stop-words: the words of {} have no names; give its --vocabulary", self.name());
        }
        let options = self.count_options(Frequency::Documents(1), Frequency::Share(1.0))?;
        let (kept, dropped) =
            options.select(corpus.counts.view(), &corpus.words).with_context(|| self.name())?;
        let mut places = vec![None; corpus.words.len()];
        kept.iter().enumerate().for_each(|(place, &row)| places[row] = Some(place));
        corpus.pick(kept.len(), |row| places[row])?;
        corpus.words = kept.iter().map(|&row| std::mem::take(&mut corpus.words[row])).collect();
        corpus.notes.extend(left_out(&dropped));
        Ok(())
    }

    /// Transposes the matrix if needed, so that its rows are the words. The length of the vocabulary decides,
    /// if it can.
    fn words_by_documents<T: Scalar>(
        &self,
        table: Table<T>,
        words: Option<usize>,
    ) -> anyhow::Result<Table<T>> {
        let (n, m) = (table.matrix.rows(), table.matrix.cols());
        let rows_are_words = self.rows_are_words() || (words == Some(n) && words != Some(m));
        let found = if rows_are_words { n } else { m };
        if let Some(words) = words.filter(|words| *words != found) {
            let file = self.vocabulary.as_deref().unwrap_or(Path::new("")).display();
            if self.transpose && words == m {
                bail!(
                    "{file} has {words} words and {} is {n} × {m}: it fits without --transpose",
                    self.name()
                );
            }
            bail!(
                "{file} has {words} words and {} is {n} × {m}: one side must have that length; check the \
                 vocabulary",
                self.name()
            );
        }
        Ok(if rows_are_words { table } else { table.transpose() })
    }
}

impl Corpus {
    /// The counts with the rows of a model, matched by name if both have names, else by position.
    fn in_order_of(mut self, names: Option<&[String]>, n: usize, path: &Path) -> anyhow::Result<Self> {
        let Some(names) = names.filter(|names| **names != self.words[..]) else {
            if self.words.len() == n {
                return Ok(self);
            }
            bail!(
                "{} has {n} words and the input {}: give the --vocabulary of the input",
                path.display(),
                self.words.len()
            );
        };
        let place: HashMap<&str, usize> =
            names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
        let rows: Vec<Option<usize>> =
            self.words.iter().map(|word| place.get(word.as_str()).copied()).collect();
        if rows.iter().all(Option::is_none) {
            bail!("{} has none of the words of the input: give the right --vocabulary", path.display());
        }
        self.unknown += self.pick(n, |i| rows[i])?;
        self.words = names.to_vec();
        self.named = true;
        Ok(self)
    }

    /// Leaves out words that are in no topic: their probability is zero whatever the weights.
    pub fn leave_out(&mut self, topics: &Mat<f64>) -> anyhow::Result<()> {
        let sums = topics.row_sums();
        if sums.contains(&0.0) {
            self.unknown += self.pick(sums.len(), |i| (sums[i] > 0.0).then_some(i))?;
        }
        Ok(())
    }

    /// Moves every row to its position among n. Rows without a position are left out; the number of their
    /// occurrences is returned.
    fn pick(&mut self, n: usize, place: impl Fn(usize) -> Option<usize>) -> anyhow::Result<usize> {
        let (before, counts) = (self.counts.view().sum(), self.counts.view());
        let known: klnmf::Result<_> = Sparse::from_triplets(n, counts.cols(), klnmf::Order::Columns, |put| {
            let mut known = counts.entries().filter_map(|(i, j, x)| place(i).map(|row| (row, j, x)));
            known.try_for_each(|(i, j, x)| put(i, j, x))
        });
        self.counts = Stored::Sparse(known?);
        Ok((before - self.counts.view().sum()).round() as usize)
    }
}

/// How many words are left out, and why.
fn left_out(dropped: &klnmf_text::Dropped) -> Option<String> {
    let reasons = [
        (dropped.rare, "in too few documents"),
        (dropped.common, "in too many"),
        (dropped.stop_words, "stop words"),
        (dropped.surplus, "beyond --max-words"),
    ];
    let reasons: Vec<String> =
        reasons.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{n} {why}")).collect();
    (!reasons.is_empty()).then(|| format!("words left out of the vocabulary: {}", reasons.join(", ")))
}
