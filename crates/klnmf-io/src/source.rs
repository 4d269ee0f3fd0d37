//! The source of the bytes: a file that can be opened several times, or a pipe read into memory.

use crate::error::Fault;
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

/// Deflate expands data by at most 1032:1, so a stream is at most this many times longer than the file.
pub(crate) const INFLATION: u64 = 1040;

const BUFFER: usize = 1 << 17;
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The bytes of one input; readers that need two passes open it twice.
pub(crate) enum Source {
    File { path: PathBuf, len: u64 },
    Memory(Vec<u8>),
}

/// Bytes that can be read from any position.
pub(crate) trait ReadSeek: Read + Seek + Send {}
impl<R: Read + Seek + Send> ReadSeek for R {}

/// A buffered [`ReadSeek`] of either kind of source.
pub(crate) type Seekable<'a> = BufReader<Box<dyn ReadSeek + 'a>>;

/// Fails if the path is a pipe or a device, which can be read only once.
pub(crate) fn must_last(path: &Path) -> Result<(), Fault> {
    let passing = std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    let what = "this is a pipe or a device, which can be read only once: save it as a file first";
    if passing { Err(Fault::content(what)) } else { Ok(()) }
}

impl Source {
    /// Opens the path. A pipe can be read only once, so it is read here.
    pub(crate) fn new(path: &Path) -> Result<Self, Fault> {
        let file = File::open(path).map_err(Fault::Io)?;
        let metadata = file.metadata().map_err(Fault::Io)?;
        if metadata.is_dir() {
            return Err(Fault::content("this is a folder: name a file in it"));
        }
        if metadata.is_file() {
            return Ok(Source::File { path: path.to_owned(), len: metadata.len() });
        }
        let mut bytes = Vec::new();
        (&file).read_to_end(&mut bytes).map_err(Fault::Io)?;
        Ok(Source::Memory(bytes))
    }

    /// The length of the file in bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Source::File { len, .. } => *len,
            Source::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// The raw bytes.
    pub(crate) fn open(&self) -> io::Result<Seekable<'_>> {
        let raw: Box<dyn ReadSeek> = match self {
            Source::File { path, .. } => Box::new(File::open(path)?),
            Source::Memory(bytes) => Box::new(Cursor::new(bytes.as_slice())),
        };
        Ok(BufReader::with_capacity(BUFFER, raw))
    }

    /// Whether the whole file is gzipped.
    pub(crate) fn is_gzipped(&self) -> io::Result<bool> {
        Ok(self.open()?.fill_buf()?.starts_with(&GZIP))
    }

    /// The content from its beginning, decompressed if it is gzipped.
    pub(crate) fn stream(&self) -> io::Result<Stream<'_>> {
        let mut raw = self.open()?;
        if raw.fill_buf()?.starts_with(&GZIP) {
            let input = Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(raw)));
            return Ok(Stream { input, length: Length::AtMost(self.len().saturating_mul(INFLATION)) });
        }
        Ok(Stream { input: Box::new(raw), length: Length::Exactly(self.len()) })
    }
}

/// The content of a source.
pub(crate) struct Stream<'a> {
    pub(crate) input: Box<dyn BufRead + Send + 'a>,
    pub(crate) length: Length,
}

/// The length of a stream, as far as it is known before reading.
#[derive(Clone, Copy)]
pub(crate) enum Length {
    Exactly(u64),
    AtMost(u64),
}

impl Length {
    /// The largest possible number of bytes.
    pub(crate) fn bound(self) -> u64 {
        match self {
            Length::Exactly(bytes) | Length::AtMost(bytes) => bytes,
        }
    }
}
