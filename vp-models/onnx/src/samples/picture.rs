//! Pictures: samples of 8 or 16 bits, and the colours that networks take of them.

use super::orientation::Orientation;
use super::picture_error::within_bounds;
use serde::Deserialize;

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    size: [usize; 2],
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

impl Picture {
    /// A picture of bytes, line by line with the samples of a pixel side by side. `None` unless there are 1 to 4 of these for each pixel.
    pub fn of_bytes(size: [usize; 2], channels: usize, samples: Vec<u8>) -> Option<Picture> {
        Picture::of(size, channels, Pixels::Bytes(samples))
    }

    pub(super) fn of(size: [usize; 2], channels: usize, pixels: Pixels) -> Option<Picture> {
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
    pub(super) fn turned(self, orientation: Orientation) -> Picture {
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
