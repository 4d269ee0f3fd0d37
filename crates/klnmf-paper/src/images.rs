//! Reads a folder of grey images as a matrix: PGM (P2 and P5) and PNG files of the same size, sorted by name.

use anyhow::{Context, bail, ensure};
use klnmf::Mat;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// A grey image, row by row.
#[derive(Debug, PartialEq)]
struct Image {
    width: usize,
    height: usize,
    pixels: Vec<f64>,
}

/// Maximum number of pixels of an image. A larger one is not a face but a damaged file.
const MOST: usize = 1 << 24;

/// The images as columns of pixels from 0 to 255, row by row, and their width.
pub fn read_folder(folder: &Path) -> anyhow::Result<(Mat<f64>, usize)> {
    let of_kind = |path: &PathBuf| kind(path).is_some();
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.retain(of_kind);
    paths.sort();
    let Some(first) = paths.first() else {
        bail!("{}: this folder has no .pgm or .png files", folder.display());
    };
    let (mut size, mut pixels) = (None, Vec::new());
    for path in &paths {
        let image = read(path)?;
        let (width, height) = *size.get_or_insert((image.width, image.height));
        if (image.width, image.height) != (width, height) {
            bail!(
                "{} has {} × {} pixels, but {} has {width} × {height}: all images must have the same size",
                path.display(),
                image.width,
                image.height,
                first.display()
            );
        }
        pixels.extend(image.pixels);
    }
    let (width, height) = size.unwrap_or((0, 0));
    Ok((Mat::new(width * height, paths.len(), pixels)?, width))
}

#[derive(Clone, Copy)]
enum Kind {
    Pgm,
    Png,
}

fn kind(path: &Path) -> Option<Kind> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "pgm" => Some(Kind::Pgm),
        "png" => Some(Kind::Png),
        _ => None,
    }
}

fn read(path: &Path) -> anyhow::Result<Image> {
    let about = || format!("cannot read {}", path.display());
    let image = match kind(path) {
        Some(Kind::Png) => read_png(path).with_context(about)?,
        _ => parse_pgm(&std::fs::read(path).with_context(about)?).with_context(about)?,
    };
    ensure!(!image.pixels.is_empty(), "{}: the image has no pixels", path.display());
    Ok(image)
}

fn read_png(path: &Path) -> anyhow::Result<Image> {
    let mut decoder = png::Decoder::new(BufReader::new(File::open(path)?));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info()?;
    let size = reader.output_buffer_size().filter(|size| *size <= 4 * MOST).context("image is too large")?;
    let mut bytes = vec![0; size];
    let info = reader.next_frame(&mut bytes)?;
    let (width, height) = (info.width as usize, info.height as usize);
    // Colours are averaged, and transparency is ignored.
    let channels = info.color_type.samples();
    let colours = if channels >= 3 { 3 } else { 1 };
    let grey = |pixel: &[u8]| pixel[..colours].iter().map(|x| f64::from(*x)).sum::<f64>() / colours as f64;
    let pixels = bytes[..info.buffer_size()].chunks_exact(channels).map(grey).collect();
    Ok(Image { width, height, pixels })
}

/// Parses a portable grey map: a header of words and comments, then numbers as text (P2) or as bytes (P5).
fn parse_pgm(bytes: &[u8]) -> anyhow::Result<Image> {
    let mut words = Words { bytes, at: 0 };
    let text = match words.next() {
        Some(b"P2") => true,
        Some(b"P5") => false,
        _ => bail!("not a PGM file: it does not begin with P2 or P5"),
    };
    let mut header = |name: &str| words.number().with_context(|| format!("the header has no {name}"));
    let (width, height, most) = (header("width")?, header("height")?, header("largest value")?);
    let count = width.checked_mul(height).filter(|count| *count <= MOST).context("image is too large")?;
    ensure!((1..=65_535).contains(&most), "the header has the largest value {most}, not 1 to 65535");
    let raw: Vec<usize> = if text {
        (0..count).map_while(|_| words.number()).collect()
    } else {
        // One whitespace character, then the pixels, in one or two bytes each.
        let rest = bytes.get(words.at + 1..).unwrap_or_default();
        let wide = if most > 255 { 2 } else { 1 };
        let value = |piece: &[u8]| piece.iter().fold(0, |x, byte| x << 8 | usize::from(*byte));
        rest.chunks_exact(wide).take(count).map(value).collect()
    };
    ensure!(raw.len() == count, "the file has only {} of {count} pixels", raw.len());
    if let Some(value) = raw.iter().find(|value| **value > most) {
        bail!("a pixel has the value {value}, but the header says at most {most}");
    }
    Ok(Image { width, height, pixels: raw.iter().map(|x| *x as f64 * 255.0 / most as f64).collect() })
}

/// The words of a header. A # begins a comment, which ends with the line.
struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            match self.bytes.get(self.at)? {
                b'#' => {
                    let rest = &self.bytes[self.at..];
                    self.at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                }
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => break,
            }
        }
        let start = self.at;
        let rest = &self.bytes[start..];
        self.at += rest.iter().position(|b| b.is_ascii_whitespace() || *b == b'#').unwrap_or(rest.len());
        Some(&self.bytes[start..self.at])
    }

    fn number(&mut self) -> Option<usize> {
        std::str::from_utf8(self.next()?).ok()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8]) -> String {
        parse_pgm(bytes).unwrap_err().to_string()
    }

    #[test]
    fn grey_maps_as_text_and_as_bytes_are_the_same() {
        let text = parse_pgm(b"P2\n# a comment\n3 2 # another\n255\n0 1 2\n3 4 255\n").unwrap();
        let bytes = parse_pgm(&[b"P5 3 2 255\n".as_slice(), &[0, 1, 2, 3, 4, 255]].concat()).unwrap();
        assert_eq!(text, bytes);
        assert_eq!((text.width, text.height, text.pixels[5]), (3, 2, 255.0));
        let wide = parse_pgm(&[b"P5 2 1 65535\n".as_slice(), &[0xff, 0xff, 0x80, 0x00]].concat()).unwrap();
        assert!((wide.pixels[0] - 255.0).abs() < 1e-9 && (wide.pixels[1] - 127.5).abs() < 0.01);
    }

    #[test]
    fn damaged_grey_maps_say_what_is_wrong() {
        assert!(message(b"GIF89a").contains("P2 or P5"));
        assert!(message(b"P2 3").contains("no height"));
        assert!(message(b"P2 2 2 255 1 2 3").contains("3 of 4 pixels"));
        assert!(message(b"P5 2 2 255\nab").contains("2 of 4 pixels"));
        assert!(message(b"P2 1 1 15 16").contains("value 16"));
        assert!(message(b"P2 99999999999 99999999999 255 1").contains("too large"));
        assert!(message(b"P2 1 1 0 1").contains("largest value 0"));
    }

    #[test]
    fn folders_are_read_in_the_order_of_names() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        assert!(read_folder(folder.path()).unwrap_err().to_string().contains("no .pgm"));
        write("b.pgm", b"P2 2 1 255 9 8");
        write("a.PGM", b"P2 2 1 255 7 6");
        write("notes.txt", b"not an image");
        write("c.png", &klnmf_report::picture::png(&[5, 4], 2, 1).unwrap());
        let (v, width) = read_folder(folder.path()).unwrap();
        assert_eq!((v.rows(), v.cols(), width), (2, 3, 2));
        assert_eq!(v.as_slice(), [7.0, 6.0, 9.0, 8.0, 5.0, 4.0]);
        write("d.pgm", b"P2 1 2 255 9 8");
        let message = read_folder(folder.path()).unwrap_err().to_string();
        assert!(message.contains("d.pgm has 1 × 2") && message.contains("a.PGM has 2 × 1"), "{message}");
        write("d.pgm", b"P2 1 0 255");
        assert!(format!("{:#}", read_folder(folder.path()).unwrap_err()).contains("no pixels"));
        write("c.png", b"\x89PNG nonsense");
        assert!(format!("{:#}", read_folder(folder.path()).unwrap_err()).contains("c.png"));
    }
}
