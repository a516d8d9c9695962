//! Pictures as files: PNG, JPEG, PGM and PPM, in 8 or 16 bits a sample.
//!
//! The size in a file's header is checked before anything is taken for pixels: at most 65 535 a side, and 64 Mi (8192 x 8192) in all.
//! What EXIF says about the camera's orientation (in JPEG's APP1 and PNG's eXIf) is obeyed, as OpenCV and browsers do, so the size is that
//! of the picture as it is seen. Colour profiles and gamma are not applied, and alpha is left out where a network takes colours.

use super::netpbm::{self, NetpbmError};
use super::orientation::Orientation;
use serde::Deserialize;
use std::io::Cursor;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Most pixels of a side.
const MOST_SIDE: usize = 65_535;

/// Most pixels of a picture.
const MOST_PIXELS: usize = 64 << 20;

/// Width and height in pixels.
pub(super) type Size = [usize; 2];

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    size: Size,
    /// Samples of a pixel: luma, luma and alpha, RGB, or RGBA.
    channels: usize,
    pixels: Pixels,
}

/// Samples of a picture line by line, those of a pixel side by side.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pixels {
    /// Samples from 0 to 255.
    Bytes(Vec<u8>),
    /// Samples from 0 to 65 535.
    Words(Vec<u16>),
}

/// Colours that a network takes, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channels {
    /// Red, green, blue.
    Rgb,
    /// Blue, green, red: what networks take that were trained with Caffe or OpenCV.
    Bgr,
    /// Luma of ITU-R BT.601, as Pillow and OpenCV have it.
    Grey,
}

impl Channels {
    /// Number of channels.
    pub fn count(self) -> usize {
        match self {
            Channels::Rgb | Channels::Bgr => 3,
            Channels::Grey => 1,
        }
    }
}

/// Error of a file that begins as a picture does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    /// Another size than the one asked for.
    #[error("{} x {} pixels; the input has {} x {}", found[0], found[1], wanted[0], wanted[1])]
    Size {
        /// Width and height of the picture.
        found: [usize; 2],
        /// Width and height that it should have.
        wanted: [usize; 2],
    },
    /// A size that is not decoded.
    #[error("{} x {} pixels; 1 to {MOST_SIDE} a side and {MOST_PIXELS} in all are decoded", .0[0], .0[1])]
    Bounds([usize; 2]),
    /// A PNG that its decoder refuses.
    #[error("PNG: {0}")]
    Png(String),
    /// A JPEG that its decoder refuses.
    #[error("JPEG: {0}")]
    Jpeg(String),
    /// A PGM or PPM that is wrong.
    #[error(transparent)]
    Netpbm(#[from] NetpbmError),
}

/// Check of a size that a header says.
pub(super) type SizeCheck<'a> = &'a dyn Fn(Size) -> Result<(), PictureError>;

impl Picture {
    /// Reads a picture. `None` for what is none.
    ///
    /// # Errors
    /// When it is broken, or too large.
    pub fn decode(file: &[u8]) -> Option<Result<Picture, PictureError>> {
        decode(file, &|_| Ok(()))
    }

    /// Reads a picture of a size, which is compared before anything is taken for its pixels. `None` for what is no picture.
    ///
    /// # Errors
    /// When it is broken, or of another size.
    pub fn decode_of_size(file: &[u8], wanted: [usize; 2]) -> Option<Result<Picture, PictureError>> {
        decode(file, &|found| match found == wanted {
            true => Ok(()),
            false => Err(PictureError::Size { found, wanted }),
        })
    }

    /// A picture of bytes, line by line with the samples of a pixel side by side. `None` unless there are 1 to 4 of these for each pixel.
    pub fn of_bytes(size: [usize; 2], channels: usize, samples: Vec<u8>) -> Option<Picture> {
        Picture::of(size, channels, Pixels::Bytes(samples))
    }

    pub(super) fn of(size: Size, channels: usize, pixels: Pixels) -> Option<Picture> {
        let count = match &pixels {
            Pixels::Bytes(samples) => samples.len(),
            Pixels::Words(samples) => samples.len(),
        };
        let is_whole = within_bounds(size).is_ok() && size[0] * size[1] * channels == count;
        ((1..=4).contains(&channels) && is_whole).then_some(Picture { size, channels, pixels })
    }

    /// Width and height in pixels.
    pub fn size(&self) -> [usize; 2] {
        self.size
    }

    /// Samples of a pixel: 1 (luma), 2 (luma and alpha), 3 (RGB) or 4 (RGBA).
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Greatest value of a sample: 255 or 65 535.
    pub fn most(&self) -> u16 {
        match self.pixels {
            Pixels::Bytes(_) => 255,
            Pixels::Words(_) => u16::MAX,
        }
    }

    /// The picture's samples in bytes, so many a pixel: 1 (luma), 3 (RGB) or 4 (RGBA); `None` for another number.
    pub fn in_channels(&self, channels: usize) -> Option<Vec<u8>> {
        if !matches!(channels, 1 | 3 | 4) {
            return None;
        }
        let most = self.most();
        let byte = |sample: u16| match most {
            255 => sample as u8,
            _ => ((u32::from(sample) + 128) / 257) as u8,
        };
        let mut bytes = Vec::with_capacity(self.size[0] * self.size[1] * channels);
        for line in 0..self.size[1] {
            for pixel in self.line(line) {
                match channels {
                    1 => bytes.push(byte(luma(pixel))),
                    _ => bytes.extend(pixel.into_iter().take(channels).map(byte)),
                }
            }
        }
        Some(bytes)
    }

    /// The samples of a line in the colours that a network takes.
    pub(super) fn line_in(&self, line: usize, channels: Channels) -> Vec<u16> {
        match channels {
            Channels::Grey => self.line(line).map(luma).collect(),
            Channels::Rgb => self.line(line).flat_map(|[red, green, blue, _]| [red, green, blue]).collect(),
            Channels::Bgr => self.line(line).flat_map(|[red, green, blue, _]| [blue, green, red]).collect(),
        }
    }

    /// The pixels of a line as red, green, blue and alpha.
    fn line(&self, line: usize) -> impl Iterator<Item = [u16; 4]> + '_ {
        let opaque = self.most();
        let at = move |x: usize, channel: usize| {
            let place = (line * self.size[0] + x) * self.channels + channel;
            match &self.pixels {
                Pixels::Bytes(samples) => samples[place].into(),
                Pixels::Words(samples) => samples[place],
            }
        };
        (0..self.size[0]).map(move |x| match self.channels {
            1 => [at(x, 0), at(x, 0), at(x, 0), opaque],
            2 => [at(x, 0), at(x, 0), at(x, 0), at(x, 1)],
            3 => [at(x, 0), at(x, 1), at(x, 2), opaque],
            _ => [at(x, 0), at(x, 1), at(x, 2), at(x, 3)],
        })
    }

    /// Returns the picture as it is seen, by the camera's orientation.
    fn turned(self, orientation: Orientation) -> Picture {
        if orientation == Orientation::UPRIGHT {
            return self;
        }
        let Picture { size, channels, pixels } = self;
        let pixels = match pixels {
            Pixels::Bytes(samples) => Pixels::Bytes(orientation.turned(size, channels, &samples)),
            Pixels::Words(samples) => Pixels::Words(orientation.turned(size, channels, &samples)),
        };
        Picture { size: orientation.size(size), channels, pixels }
    }
}

/// Luma of ITU-R BT.601, in 16 bits of fraction.
fn luma([red, green, blue, _]: [u16; 4]) -> u16 {
    let weighted = u64::from(red) * 19_595 + u64::from(green) * 38_470 + u64::from(blue) * 7_471;
    ((weighted + 0x8000) >> 16) as u16
}

/// Error of a size that is not decoded.
pub(super) fn within_bounds(size: Size) -> Result<(), PictureError> {
    let is_side = |side: &usize| (1..=MOST_SIDE).contains(side);
    match size.iter().all(is_side) && size[0] * size[1] <= MOST_PIXELS {
        true => Ok(()),
        false => Err(PictureError::Bounds(size)),
    }
}

fn decode(file: &[u8], check: SizeCheck<'_>) -> Option<Result<Picture, PictureError>> {
    let check: SizeCheck<'_> = &|size| check(size).and_then(|()| within_bounds(size));
    match file {
        [0x89, b'P', b'N', b'G', ..] => Some(png(file, check)),
        [0xff, 0xd8, 0xff, ..] => Some(jpeg(file, check)),
        [b'P', kind @ b'1'..=b'7', space, ..] if space.is_ascii_whitespace() => {
            Some(netpbm::decode(*kind, &file[2..], check))
        }
        _ => None,
    }
}

fn png(file: &[u8], check: SizeCheck<'_>) -> Result<Picture, PictureError> {
    let wrong = |error: png::DecodingError| PictureError::Png(error.to_string());
    let mut decoder = png::Decoder::new(Cursor::new(file));
    decoder.set_transformations(png::Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info().map_err(wrong)?;
    let info = reader.info();
    let size = [info.width as usize, info.height as usize];
    let orientation = info.exif_metadata.as_deref().map_or(Orientation::UPRIGHT, Orientation::of_exif);
    check(orientation.size(size))?;
    let bytes = reader.output_buffer_size().ok_or(PictureError::Bounds(size))?;
    let mut samples = vec![0; bytes];
    let frame = reader.next_frame(&mut samples).map_err(wrong)?;
    samples.truncate(frame.buffer_size());
    let pixels = match frame.bit_depth {
        png::BitDepth::Sixteen => {
            let words = samples.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]]));
            Pixels::Words(words.collect())
        }
        _ => Pixels::Bytes(samples),
    };
    let picture = Picture::of(size, frame.color_type.samples(), pixels);
    let picture = picture.ok_or_else(|| PictureError::Png("its first frame is a part of it".to_owned()))?;
    Ok(picture.turned(orientation))
}

fn jpeg(file: &[u8], check: SizeCheck<'_>) -> Result<Picture, PictureError> {
    let wrong = |what: String| PictureError::Jpeg(what);
    let options = DecoderOptions::default().set_max_width(MOST_SIDE).set_max_height(MOST_SIDE);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    decoder.decode_headers().map_err(|error| wrong(error.to_string()))?;
    let (width, height) = decoder.dimensions().ok_or_else(|| wrong("its header has no size".to_owned()))?;
    let orientation = decoder.exif().map_or(Orientation::UPRIGHT, |exif| Orientation::of_exif(exif));
    check(orientation.size([width, height]))?;
    let is_grey = decoder.input_colorspace() == Some(ColorSpace::Luma);
    let (space, channels) = if is_grey { (ColorSpace::Luma, 1) } else { (ColorSpace::RGB, 3) };
    decoder.set_options(decoder.options().jpeg_set_out_colorspace(space));
    let samples = decoder.decode().map_err(|error| wrong(error.to_string()))?;
    let picture = Picture::of_bytes([width, height], channels, samples);
    let picture = picture.ok_or_else(|| wrong("it has not as many samples as it should".to_owned()))?;
    Ok(picture.turned(orientation))
}

#[cfg(test)]
#[path = "picture/tests.rs"]
pub(super) mod tests;
