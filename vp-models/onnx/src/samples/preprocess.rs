//! Preprocessing: how the pixels of a picture become the numbers of a network's input.
//!
//! 1. The picture gets its [`Channels`] and is resized: stretched, by its shorter side, or into a box ([`ResizeMode`]).
//! 2. A part of the size of the network's input is cut out of its middle, as torchvision's `CenterCrop` does; where the picture ends before the
//!    part does, it is filled up.
//! 3. Each sample `x`, from 0 to 255 (of 16 bits too, then with fractions), becomes `(x * scale - mean) / std` of its channel, computed in
//!    64 bits and rounded to 32.
//!
//! Which it is says one of the [`Preset`]s, or a file:
//!
//! ```toml
//! preset = "imagenet"         # what the other keys are if they are not given; else "raw"
//! channels = "bgr"            # rgb, bgr or grey; else rgb or grey, by the input
//! resize = "shorter-side"     # stretch, shorter-side or letterbox
//! size = 256                  # or [width, height]; else by the input and `crop`
//! crop = 224                  # or [width, height], or a share of `size` such as 0.875; else the input
//! interpolation = "bilinear"  # nearest, linear, bilinear, bicubic, lanczos or area
//! position = "centre"         # of a smaller picture in the input, or start: left and top
//! fill = 0                    # what is around it, as samples: one, or one a channel
//! scale = "1/255"             # or a number
//! mean = [0.485, 0.456, 0.406]
//! std = [0.229, 0.224, 0.225] # one, or one a channel in the order of `channels`, as for mean and fill
//! layout = "nchw"             # or nhwc; else by the shape of the input
//! ```

use super::picture::{Channels, Picture};
use super::placement::Placement;
use super::resample::{self, Interpolation, Span};
use serde::Deserialize;
use strum::{Display, EnumString, VariantNames};
use vp_tensors::Tensor;

/// Most pixels of a network's input.
const MOST_PIXELS: usize = 16 << 20;

/// Longest side of a resized picture, of which no more is computed than the input takes.
const MOST_RESIZED: usize = 1 << 32;

/// Preprocessing of pictures.
#[derive(Clone, Debug, PartialEq)]
pub struct Preprocess {
    /// Colours that the network takes; none: by its input.
    pub channels: Option<Channels>,
    /// Way in which a picture gets its size.
    pub resize: ResizeMode,
    /// Size to which it is resized; none: by the input and `crop`.
    pub size: Option<[usize; 2]>,
    /// Choice of samples in resizing.
    pub interpolation: Interpolation,
    /// Part that is cut out; none: the network's input.
    pub crop: Option<Crop>,
    /// Place of a smaller picture in the input.
    pub position: Position,
    /// Samples around it: none (0), one, or one a channel.
    pub fill: Vec<f64>,
    /// Factor of each sample.
    pub scale: f64,
    /// Mean that is taken off: none (0), one, or one a channel.
    pub mean: Vec<f64>,
    /// Deviation by which is divided: none (1), one, or one a channel.
    pub std: Vec<f64>,
    /// Order of the input's axes; none: by its shape.
    pub layout: Option<Layout>,
}

/// Way in which a picture gets its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResizeMode {
    /// Both sides become those of the size, whatever its ratio.
    #[default]
    Stretch,
    /// The picture keeps its ratio and becomes the smallest that covers the size: of a square, its shorter side becomes the square's.
    ShorterSide,
    /// The picture keeps its ratio and becomes the largest that fits into the size.
    Letterbox,
}

/// Part of a resized picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crop {
    /// Width and height.
    Size([usize; 2]),
    /// Share of the size to which the picture is resized, from 0 to 1.
    Share(f64),
}

/// Place of a picture in a larger input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Position {
    /// In the middle.
    #[default]
    Centre,
    /// Left and top.
    Start,
}

/// Order of an input's axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// Channels before height and width.
    Nchw,
    /// Channels last.
    Nhwc,
}

/// Preprocessing with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Display, EnumString, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Preset {
    /// Of torchvision's classifiers: shorter side of 256 for an input of 224 (8 to 7 for others), red first, from 0 to 1, then ImageNet's mean and
    /// deviation.
    Imagenet,
    /// Of Caffe's classifiers: the same part of the picture, blue first, less ImageNet's mean.
    ImagenetBgrCaffe,
    /// Stretched, from 0 to 1.
    Unit,
    /// Stretched, from -1 to 1.
    Signed,
    /// Stretched, from 0 to 255.
    Raw,
}

impl From<Preset> for Preprocess {
    fn from(preset: Preset) -> Preprocess {
        let raw = Preprocess {
            channels: None,
            resize: ResizeMode::Stretch,
            size: None,
            interpolation: Interpolation::Bilinear,
            crop: None,
            position: Position::Centre,
            fill: Vec::new(),
            scale: 1.0,
            mean: Vec::new(),
            std: Vec::new(),
            layout: None,
        };
        let imagenet = |channels, scale, mean: [f64; 3], std: Vec<f64>| Preprocess {
            channels: Some(channels),
            resize: ResizeMode::ShorterSide,
            crop: Some(Crop::Share(0.875)),
            scale,
            mean: mean.to_vec(),
            std,
            ..raw.clone()
        };
        match preset {
            Preset::Imagenet => {
                imagenet(Channels::Rgb, 1.0 / 255.0, [0.485, 0.456, 0.406], vec![0.229, 0.224, 0.225])
            }
            Preset::ImagenetBgrCaffe => imagenet(Channels::Bgr, 1.0, [104.0, 117.0, 123.0], Vec::new()),
            Preset::Unit => Preprocess { scale: 1.0 / 255.0, ..raw },
            Preset::Signed => Preprocess { mean: vec![127.5], std: vec![127.5], ..raw },
            Preset::Raw => raw,
        }
    }
}

/// Error of a picture, a way to preprocess it and an input that do not fit each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreprocessError {
    /// An input that is no picture.
    #[error(
        "an input of shape {0:?} takes no picture: one of 3 or 4 axes does, in the order channels, height, width or height, width, channels, with 1 or 3 channels"
    )]
    Input(Vec<usize>),
    /// An input of several pictures.
    #[error("an input of {0} pictures; one picture is given")]
    Batch(usize),
    /// An input of another number of channels.
    #[error("`channels` are {channels}; an input of shape {shape:?} has {count}")]
    Channels {
        /// Number of channels that are made.
        channels: usize,
        /// Sizes of the input's axes.
        shape: Vec<usize>,
        /// Number of channels of the input.
        count: usize,
    },
    /// A part that is not as large as the input.
    #[error("`{key}` makes {} x {} pixels; the input has {} x {}", made[0], made[1], input[0], input[1])]
    Size {
        /// The key.
        key: &'static str,
        /// Width and height that it makes.
        made: [usize; 2],
        /// Width and height of the input.
        input: [usize; 2],
    },
    /// Values for another number of channels.
    #[error("`{key}` has {values} values; one is possible, or one for each of {channels} channels")]
    PerChannel {
        /// The key.
        key: &'static str,
        /// Number of its values.
        values: usize,
        /// Number of channels.
        channels: usize,
    },
    /// An input that is too large.
    #[error("an input of {} x {} pixels; at most {MOST_PIXELS} are made of a picture", .0[0], .0[1])]
    TooLarge([usize; 2]),
}

/// An input that takes a picture.
struct Input {
    layout: Layout,
    channels: Channels,
    size: [usize; 2],
}

impl Preprocess {
    /// Returns the tensor of a picture for an input of a shape: channels, height and width in either order, behind a 1 or nothing.
    ///
    /// # Errors
    /// When the input takes no picture, or another than this makes.
    pub fn tensor_of(&self, picture: &Picture, shape: &[usize]) -> Result<Tensor, PreprocessError> {
        let Input { layout, channels, size } = self.input(shape)?;
        let count = channels.count();
        let [fill, mean, std] =
            [("fill", &self.fill, 0.0), ("mean", &self.mean, 0.0), ("std", &self.std, 1.0)]
                .map(|(key, values, other)| per_channel(key, values, other, count));
        let [fill, mean, std] = [fill?, mean?, std?];
        let number =
            |channel: usize, sample: f64| ((sample * self.scale - mean[channel]) / std[channel]) as f32;
        // Place of a pixel's sample among the elements.
        let [pixel_stride, channel_stride] = match layout {
            Layout::Nchw => [1, size[0] * size[1]],
            Layout::Nhwc => [count, 1],
        };
        let mut elements = vec![0.0; size[0] * size[1] * count];
        let place = |pixel: usize, channel: usize| pixel * pixel_stride + channel * channel_stride;
        for pixel in 0..size[0] * size[1] {
            for channel in 0..count {
                elements[place(pixel, channel)] = number(channel, fill[channel]);
            }
        }
        let spans = self.spans(picture.size(), size)?;
        let unit = 255.0 / f64::from(picture.most());
        resample::lines(picture, channels, self.interpolation, spans, |line, samples| {
            let first = line * size[0] + spans[0].inside().start;
            for (at, sample) in samples.iter().enumerate() {
                let channel = at % count;
                elements[place(first + at / count, channel)] = number(channel, f64::from(*sample) * unit);
            }
        });
        Ok(Tensor::floats(shape, elements))
    }

    /// Returns width and height of an input of a shape.
    ///
    /// # Errors
    /// When the input takes no picture.
    pub fn size_of_input(&self, shape: &[usize]) -> Result<[usize; 2], PreprocessError> {
        Ok(self.input(shape)?.size)
    }

    /// Returns the place of a picture of a width and a height in an input of a shape.
    ///
    /// # Errors
    /// As [`tensor_of`](Self::tensor_of).
    pub fn placement(&self, picture: [usize; 2], shape: &[usize]) -> Result<Placement, PreprocessError> {
        Ok(Placement { picture, spans: self.spans(picture, self.size_of_input(shape)?)? })
    }

    fn input(&self, shape: &[usize]) -> Result<Input, PreprocessError> {
        let wrong = || PreprocessError::Input(shape.to_vec());
        let axes: [usize; 3] = match *shape {
            [1, a, b, c] | [a, b, c] => [a, b, c],
            [count, a, b, c] if a.min(b).min(c) > 0 => return Err(PreprocessError::Batch(count)),
            _ => return Err(wrong()),
        };
        let is_channels = |count: usize| match self.channels {
            Some(channels) => count == channels.count(),
            None => count == 1 || count == 3,
        };
        let layout = match self.layout {
            Some(layout) => layout,
            None if is_channels(axes[0]) => Layout::Nchw,
            None if is_channels(axes[2]) => Layout::Nhwc,
            None if [1, 3].contains(&axes[2]) && ![1, 3].contains(&axes[0]) => Layout::Nhwc,
            None => Layout::Nchw,
        };
        let (count, size) = match layout {
            Layout::Nchw => (axes[0], [axes[2], axes[1]]),
            Layout::Nhwc => (axes[2], [axes[1], axes[0]]),
        };
        let channels = match (self.channels, count) {
            (Some(channels), _) if channels.count() == count => channels,
            (Some(channels), 1 | 3) => {
                let channels = channels.count();
                return Err(PreprocessError::Channels { channels, shape: shape.to_vec(), count });
            }
            (None, 1) => Channels::Grey,
            (None, 3) => Channels::Rgb,
            _ => return Err(wrong()),
        };
        if size.contains(&0) {
            return Err(wrong());
        }
        match size[0].checked_mul(size[1]) {
            Some(..=MOST_PIXELS) => Ok(Input { layout, channels, size }),
            _ => Err(PreprocessError::TooLarge(size)),
        }
    }

    /// Returns the part of the resized picture, across and down, that is the input.
    fn spans(&self, picture: [usize; 2], input: [usize; 2]) -> Result<[Span; 2], PreprocessError> {
        let mismatch = |key, made| Err(PreprocessError::Size { key, made, input });
        let size = match (self.crop, self.size) {
            (Some(Crop::Size(crop)), _) if crop != input => return mismatch("crop", crop),
            (None, Some(size)) if size != input && self.resize != ResizeMode::ShorterSide => {
                return mismatch("size", size);
            }
            (Some(Crop::Share(share)), Some(size)) => {
                let made = size.map(|side| (side as f64 * share).round() as usize);
                if made != input {
                    return mismatch("crop", made);
                }
                size
            }
            (_, Some(size)) => size,
            (Some(Crop::Share(share)), None) => input.map(|side| (side as f64 / share).round() as usize),
            (_, None) => input,
        };
        let resized = self.resize.applied(picture, size.map(|side| side.clamp(1, MOST_RESIZED)));
        let span = |axis: usize| {
            let [resized, length] = [resized[axis], input[axis]];
            let over = resized.cast_signed() - length.cast_signed();
            let start = match (over, self.position) {
                // As Python's round does, ties to even.
                (0.., _) => (over as f64 / 2.0).round_ties_even() as isize,
                (_, Position::Centre) => -(-over / 2),
                (_, Position::Start) => 0,
            };
            Span { resized, start, length }
        };
        Ok([span(0), span(1)])
    }
}

impl ResizeMode {
    /// Returns the size that a picture gets; its other side is rounded down, as torchvision's `Resize` does, or to the nearest in a letterbox.
    fn applied(self, picture: [usize; 2], size: [usize; 2]) -> [usize; 2] {
        let [width, height] = picture.map(|side| side as u128);
        let [to_width, to_height] = size.map(|side| side as u128);
        // The ratio of widths is the larger of the two.
        let is_wider = to_width * height >= to_height * width;
        let short = |side: u128| side.clamp(1, MOST_RESIZED as u128) as usize;
        match self {
            ResizeMode::Stretch => size,
            ResizeMode::ShorterSide if is_wider => [size[0], short(height * to_width / width)],
            ResizeMode::ShorterSide => [short(width * to_height / height), size[1]],
            ResizeMode::Letterbox if is_wider => {
                [short((2 * width * to_height + height) / (2 * height)), size[1]]
            }
            ResizeMode::Letterbox => [size[0], short((2 * height * to_width + width) / (2 * width))],
        }
    }
}

fn per_channel(
    key: &'static str,
    values: &[f64],
    other: f64,
    channels: usize,
) -> Result<Vec<f64>, PreprocessError> {
    match values {
        [] => Ok(vec![other; channels]),
        [one] => Ok(vec![*one; channels]),
        all if all.len() == channels => Ok(all.to_vec()),
        all => Err(PreprocessError::PerChannel { key, values: all.len(), channels }),
    }
}

#[cfg(test)]
mod tests;
