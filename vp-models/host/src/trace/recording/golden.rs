//! Goldens of a recording: an image file of the runtime's, or a row of values in a table, that must be left in memory.

use std::fmt;
use std::path::{Path, PathBuf};

use super::super::discover::{Language, configuration_of_name};
use super::super::error::{TraceError, TraceErrorKind};
use super::super::{MAX_SCRIPT_BYTES, is_there, read_bytes, read_text};
use crate::loadable::normal;

/// Largest image read, in bytes.
const MAX_GOLDEN_BYTES: u64 = 16 << 20;

/// Data that the last layer of a recording must leave at its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Golden {
    /// A cube, as the runtime wrote it into a file.
    Image(Dimg),
    /// A few elements, back to back.
    Values {
        /// The file that says so.
        file: PathBuf,
        /// Format of the elements.
        element: Element,
        /// Values of the elements.
        values: Vec<i64>,
        /// Largest difference that each may have.
        within: u32,
    },
}

impl Golden {
    /// The file it was read from.
    #[must_use]
    pub fn file(&self) -> &Path {
        match self {
            Golden::Image(image) => &image.file,
            Golden::Values { file, .. } => file,
        }
    }

    /// Bytes at the destination that count.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match self {
            Golden::Image(image) => image.memory_bytes,
            Golden::Values { element, values, .. } => element.bytes() * values.len(),
        }
    }
}

/// The format of a golden value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A signed byte.
    Int8,
    /// Two bytes, signed.
    Int16,
    /// IEEE 754 half precision.
    Fp16,
}

impl Element {
    /// Size in memory.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Element::Int8 => 1,
            Element::Int16 | Element::Fp16 => 2,
        }
    }

    /// The values that bytes hold, rounded to integers; what is no number is none.
    #[must_use]
    pub fn values(self, bytes: &[u8]) -> Vec<Option<i64>> {
        let half = |bytes: &[u8]| u16::from_le_bytes([bytes[0], bytes[1]]);
        bytes
            .chunks_exact(self.bytes())
            .map(|element| match self {
                Element::Int8 => Some(element[0].cast_signed().into()),
                Element::Int16 => Some(half(element).cast_signed().into()),
                Element::Fp16 => rounded(half(element)),
            })
            .collect()
    }

    fn named(name: &str) -> Option<Element> {
        match name {
            "int8" => Some(Element::Int8),
            "int16" => Some(Element::Int16),
            "fp16" => Some(Element::Fp16),
            _ => None,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Element::Int8 => "int8",
            Element::Int16 => "int16",
            Element::Fp16 => "fp16",
        })
    }
}

/// The integer nearest to a half.
fn rounded(half: u16) -> Option<i64> {
    let (exponent, fraction) = (i32::from(half >> 10 & 0x1f), f64::from(half & 0x3ff));
    let magnitude = match exponent {
        0x1f => return None,
        0 => fraction * 2f64.powi(-24),
        _ => (fraction + 1024.0) * 2f64.powi(exponent - 25),
    };
    let rounded = magnitude.round() as i64;
    Some(if half >> 15 == 1 { -rounded } else { rounded })
}

/// A `.dimg` file: a header of 36 bytes, then elements by channel, line, column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimg {
    file: PathBuf,
    /// Offset of each element in memory, from the destination.
    places: Vec<usize>,
    elements: Vec<u8>,
    element: Element,
    memory_bytes: usize,
}

impl Dimg {
    /// Reads the bytes of a file.
    pub fn parse(bytes: &[u8], file: &Path) -> Result<Dimg, TraceError> {
        let refuse = |why| TraceError::whole(file, TraceErrorKind::BadGolden(why));
        let word = |at: usize| {
            let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
            word.map(|word| u32::from_le_bytes(word) as usize)
                .ok_or_else(|| refuse("shorter than its header"))
        };
        if !bytes.starts_with(b"DIMG") {
            return Err(refuse("does not begin with `DIMG`"));
        }
        let format = word(8)?;
        let [width, height, channels] = [word(12)?, word(16)?, word(20)?];
        let [line, surface, memory_bytes] = [word(24)?, word(28)?, word(32)?];
        let count = width.checked_mul(height).and_then(|area| area.checked_mul(channels));
        let elements = &bytes[36..];
        let holds = |element: Element| {
            let bytes = count.and_then(|count| count.checked_mul(element.bytes()));
            !elements.is_empty() && bytes == Some(elements.len())
        };
        let (element, atom) = match format {
            40 => (Element::Int8, 32),
            // Since May 2019 there is one more, int8 in atoms of 8 bytes, and the numbers from 41 on are one higher.
            41 if holds(Element::Int8) => (Element::Int8, 8),
            41 => (Element::Int16, 32),
            // Until then 42 was fp16, since then it is int16, which the file does not tell: it is taken for the former.
            42 | 43 => (Element::Fp16, 32),
            _ => return Err(refuse("its format is none of 40 to 43 (int8, int16 and fp16 features)")),
        };
        if !holds(element) {
            return Err(refuse("its elements are not as many as its header says"));
        }
        // The runtime of 2018 took every surface for one with atoms of 32 bytes, those of nv_small included: there it
        // saw parts of it several times, and never the rest.
        let lanes = atom / element.bytes();
        let places: Vec<usize> = (0..channels)
            .flat_map(|channel| (0..height).map(move |y| (channel, y)))
            .flat_map(|(channel, y)| (0..width).map(move |x| (channel, y, x)))
            .map(|(channel, y, x)| {
                channel / lanes * surface + y * line + x * atom + channel % lanes * element.bytes()
            })
            .collect();
        if places.iter().any(|at| at + element.bytes() > memory_bytes) {
            return Err(refuse("its strides lead beyond its memory"));
        }
        Ok(Dimg { file: file.to_owned(), places, elements: elements.to_vec(), element, memory_bytes })
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns true if there is none; a file that was read has some.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The bytes of wrong elements that differ, in the memory from the destination on: where each lies, and what it
    /// should be. As in a file, fp16 has one zero and one code for what is no number.
    pub(in super::super) fn differing<'a>(
        &'a self,
        left: &'a [u8],
    ) -> impl Iterator<Item = (usize, u8)> + 'a {
        let goldens = self.elements.chunks_exact(self.element.bytes());
        let wrong = self.places.iter().zip(goldens).filter(|&(&at, golden)| {
            match (self.element, left.get(at..at + golden.len()).unwrap_or(&[]), golden) {
                (Element::Fp16, &[low, high], &[golden_low, golden_high]) => {
                    let [left, golden] = [[low, high], [golden_low, golden_high]].map(u16::from_le_bytes);
                    normal(left) != normal(golden)
                }
                (_, left, golden) => left != golden,
            }
        });
        let bytes = wrong.flat_map(|(&at, golden)| (at..).zip(golden.iter().copied()));
        bytes.filter(|&(at, golden)| left.get(at) != Some(&golden))
    }
}

/// The golden of a recording: `NAME.dimg` beside it; that of the loadable it was recorded from, if there is a folder
/// `loadables` beside the recordings'; or a row of a table in `FORMAT.md` beside it.
pub(super) fn find(name: &str, script: &Path) -> Result<Option<Golden>, TraceError> {
    let folder = std::path::absolute(script).ok();
    let above = folder.as_deref().and_then(Path::parent).and_then(Path::parent);
    let loadable = above.map(|above| {
        above.join("loadables").join(configuration_of_name(name, Language::Recording)).join(name)
    });
    let beside = script.with_file_name(format!("{name}.dimg"));
    let files = [Some(beside), loadable.map(|folder| folder.join("o_000000.dimg"))];
    for file in files.into_iter().flatten() {
        if is_there(&file)? {
            return image(&file).map(Some);
        }
    }
    let table = script.with_file_name("FORMAT.md");
    if !is_there(&table)? {
        return Ok(None);
    }
    let text = read_text(&table, "table", MAX_SCRIPT_BYTES)?;
    Ok(text.lines().find_map(|line| row(line, name, &table)))
}

/// The golden of an image file.
pub(in super::super) fn image(file: &Path) -> Result<Golden, TraceError> {
    is_there(file)?;
    let bytes = read_bytes(file, "golden", MAX_GOLDEN_BYTES)?;
    Dimg::parse(&bytes, file).map(Golden::Image)
}

/// `| NAME (int8) | 1 -2 3 (each within 4) | … |`
fn row(line: &str, name: &str, file: &Path) -> Option<Golden> {
    let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
    let (what, cell) = (cells.next()?, cells.next()?);
    let element = what.strip_prefix(name)?.trim().strip_prefix('(')?.strip_suffix(')')?;
    let element = Element::named(element)?;
    let (values, remark) = cell.split_once('(').unwrap_or((cell, ""));
    let values: Vec<i64> = values.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let within = match remark {
        "" => 0,
        remark => remark.strip_suffix(')')?.strip_prefix("each within ")?.parse().ok()?,
    };
    (!values.is_empty()).then(|| Golden::Values { file: file.to_owned(), element, values, within })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dimg(format: u32, size: [u32; 3], strides: [u32; 3], elements: &[u8]) -> Result<Dimg, String> {
        let mut bytes = b"DIMG\0\0\0\0".to_vec();
        let words = [format].into_iter().chain(size).chain(strides);
        bytes.extend(words.flat_map(u32::to_le_bytes));
        bytes.extend(elements);
        Dimg::parse(&bytes, Path::new("g.dimg")).map_err(|error| error.to_string())
    }

    /// Returns the offsets of the bytes of a file's elements, in the file's order.
    fn places(image: &Dimg) -> Vec<usize> {
        let bytes = image.element.bytes();
        image.places.iter().flat_map(|&at| at..at + bytes).collect()
    }

    #[test]
    fn elements_lie_where_atoms_of_32_bytes_have_them() {
        for format in [41, 42, 43] {
            let image = dimg(format, [2, 1, 17], [64, 128, 256], &[0; 68]).unwrap();
            assert_eq!(image.len(), 34);
            assert_eq!(places(&image)[..6], [0, 1, 32, 33, 2, 3], "{format}");
            assert_eq!(places(&image)[64..], [128, 129, 160, 161], "{format}");
        }
        let image = dimg(40, [2, 1, 33], [64, 128, 256], &[0; 66]).unwrap();
        assert_eq!((&places(&image)[..4], &places(&image)[64..]), (&[0, 32, 1, 33][..], &[128, 160][..]));
        let small = dimg(41, [2, 1, 9], [16, 64, 128], &[0; 18]).unwrap();
        assert_eq!((&places(&small)[..4], &places(&small)[16..]), (&[0, 8, 1, 9][..], &[64, 72][..]));
    }

    #[test]
    fn halves_are_the_same_as_numbers_and_integers_as_codes() {
        // Zeros; what is no number; infinities; two numbers.
        let golden = [0x0000_u16, 0x8000, 0x7e00, 0x7e00, 0x7c00, 0x3c00].map(u16::to_le_bytes);
        let left = [0x8000_u16, 0x0000, 0xfc01, 0x7c00, 0xfc00, 0x3c01].map(u16::to_le_bytes);
        let differing = |format| {
            let image = dimg(format, [1, 1, 6], [32, 32, 32], golden.as_flattened()).unwrap();
            let mut memory = [0; 32];
            memory[..12].copy_from_slice(left.as_flattened());
            image.differing(&memory).collect::<Vec<_>>()
        };
        let halves = [(7, 0x7e), (9, 0x7c), (10, 0x00)];
        assert_eq!((differing(42), differing(43)), (halves.to_vec(), halves.to_vec()));
        let integers = [(1, 0x00), (3, 0x80), (4, 0x00), (5, 0x7e), (7, 0x7e), (9, 0x7c), (10, 0x00)];
        assert_eq!(differing(41), integers);
    }

    #[test]
    fn an_image_that_contradicts_itself_is_refused() {
        let formats = "its format is none of 40 to 43 (int8, int16 and fp16 features)";
        for (format, size, strides, elements, why) in [
            (39, [1, 1, 1], [32, 32, 32], 1, formats),
            (44, [1, 1, 1], [32, 32, 32], 2, formats),
            (40, [1, 1, 2], [32, 32, 32], 1, "its elements are not as many as its header says"),
            (42, [1, 1, 2], [32, 32, 32], 2, "its elements are not as many as its header says"),
            (40, [u32::MAX; 3], [32, 32, 32], 1, "its elements are not as many as its header says"),
            (43, [u32::MAX; 3], [32, 32, 32], 1, "its elements are not as many as its header says"),
            (40, [0, 1, 1], [32, 32, 32], 0, "its elements are not as many as its header says"),
            (40, [2, 1, 1], [32, 32, 32], 2, "its strides lead beyond its memory"),
            (42, [1, 1, 1], [32, 32, 1], 2, "its strides lead beyond its memory"),
        ] {
            let error = dimg(format, size, strides, &vec![0; elements]).unwrap_err();
            assert_eq!(error, format!("g.dimg: not a golden: {why}"));
        }
        let short = Dimg::parse(b"DIMG\0\0\0\0(\0", Path::new("g.dimg")).unwrap_err();
        assert_eq!(short.to_string(), "g.dimg: not a golden: shorter than its header");
    }

    #[test]
    fn a_row_tells_format_values_and_tolerance() {
        let file = Path::new("FORMAT.md");
        let golden = |element, values: &[i64], within| {
            Some(Golden::Values { file: file.to_owned(), element, values: values.to_vec(), within })
        };
        assert_eq!(row("| A-b (int8) | -16 7 | 7 |", "A-b", file), golden(Element::Int8, &[-16, 7], 0));
        let half = row("| A (fp16) | -502 9 (each within 2) | 7 |", "A", file);
        assert_eq!(half, golden(Element::Fp16, &[-502, 9], 2));
        for other in ["| A | 1 |", "| A (int8) | one | |", "| AB (int8) | 1 |", "| A (int8) | |", "A (int8)"]
        {
            assert_eq!(row(other, "A", file), None, "{other}");
        }
    }

    #[test]
    fn halves_are_rounded() {
        let halves = [0x3c00_u16, 0xbc00, 0x3e00, 0x0001, 0x7bff, 0xfc00, 0x7e00].map(u16::to_le_bytes);
        let values = Element::Fp16.values(halves.as_flattened());
        assert_eq!(values, [Some(1), Some(-1), Some(2), Some(0), Some(65504), None, None]);
    }
}
