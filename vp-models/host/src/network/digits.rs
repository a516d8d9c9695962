//! A small network of handwritten digits that is built in, with samples that it was not trained on.
//!
//! What it is, and where the samples come from: `networks/digits` in the repository.

use super::{Network, Shape};

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../../../../networks/digits/", $name))
    };
}

/// Tensors by the names of their files.
const TENSORS: [(&str, &[u8]); 8] = [
    ("conv1.weights.i8", file!("conv1.weights.i8")),
    ("conv1.bias.i16", file!("conv1.bias.i16")),
    ("conv2.weights.i8", file!("conv2.weights.i8")),
    ("conv2.bias.i16", file!("conv2.bias.i16")),
    ("conv3.weights.i8", file!("conv3.weights.i8")),
    ("conv3.bias.i16", file!("conv3.bias.i16")),
    ("fc.weights.i8", file!("fc.weights.i8")),
    ("fc.bias.i16", file!("fc.bias.i16")),
];

/// An image and what it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Ink of each pixel, 0 to [`Sample::DARKEST`], line by line.
    pub pixels: Vec<i8>,
    /// The digit.
    pub label: u8,
}

impl Sample {
    /// The most ink that a pixel has.
    pub const DARKEST: i8 = 16;
}

/// The network: its outputs are ten scores, the largest of which is the answer.
///
/// # Panics
/// Never: its files are part of the program, and tests read them.
pub fn network() -> Network {
    let text = include_str!("../../../../networks/digits/network.toml");
    Network::parse(text, &mut tensor).unwrap_or_else(|error| panic!("networks/digits: {error}"))
}

/// One of its tensors, by the name of its file.
pub fn tensor(name: &str) -> Result<Vec<u8>, String> {
    let tensor = TENSORS.iter().find(|(file, _)| *file == name);
    tensor.map(|(_, bytes)| bytes.to_vec()).ok_or_else(|| format!("{name} is not built in"))
}

/// Samples that were held out when the network was trained.
pub fn samples() -> Vec<Sample> {
    let Shape { width, height, .. } = network().input;
    let images = file!("samples.i8").chunks_exact((width * height) as usize);
    let labels = file!("samples.labels.u8");
    let sample = |(pixels, label): (&[u8], &u8)| Sample {
        pixels: pixels.iter().map(|byte| *byte as i8).collect(),
        label: *label,
    };
    images.zip(labels).map(sample).collect()
}

/// The answer that these scores give: the place of the largest, of equal ones the first.
pub fn answer(scores: &[i8]) -> u8 {
    let best = scores.iter().enumerate().max_by_key(|&(place, score)| (*score, std::cmp::Reverse(place)));
    best.map_or(0, |(place, _)| place as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_and_samples_are_whole() {
        let network = network();
        assert_eq!(network.output(), Shape { width: 1, height: 1, channels: 10 });
        let samples = samples();
        assert_eq!(samples.len(), file!("samples.labels.u8").len());
        let is_sample = |sample: &Sample| {
            sample.label < 10 && sample.pixels.iter().all(|pixel| (0..=Sample::DARKEST).contains(pixel))
        };
        assert!(samples.iter().all(is_sample));
    }

    #[test]
    fn the_first_of_equal_scores_is_the_answer() {
        assert_eq!(answer(&[-3, 7, 7, 0]), 1);
    }
}
