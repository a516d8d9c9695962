//! What no unit does, and the CPU does between them.

use super::layout::Tensor;
use super::plan::Cpu;
use crate::host::DriverError;
use crate::host::bus::Bus;
use crate::host::softmax::softmax;

/// Reads, computes, writes.
pub(super) fn run(task: Cpu, from: &Tensor, to: &Tensor, bus: &mut Bus<'_>) -> Result<(), DriverError> {
    let mut bytes = vec![0; from.bytes() as usize];
    bus.fetch(from.place.memory, from.place.address, &mut bytes)?;
    let input = from.unpack(&bytes);
    let output = match task {
        Cpu::Upsampling(factor) => upsampled(&input, from, factor),
        Cpu::SoftMax(scale) => {
            let channels = from.shape.channels as usize;
            input.chunks_exact(channels.max(1)).flat_map(|scores| shares(scores, scale)).collect()
        }
    };
    // Only the tensor's own places: others of its memory may be another's.
    let mut bytes = vec![0; to.bytes() as usize];
    bus.fetch(to.place.memory, to.place.address, &mut bytes)?;
    to.pack_onto(&output, &mut bytes);
    bus.load(to.place.memory, to.place.address, &bytes)
}

fn upsampled(input: &[i8], from: &Tensor, factor: u32) -> Vec<i8> {
    let [width, height, channels, factor] =
        [from.shape.width, from.shape.height, from.shape.channels, factor].map(|size| size as usize);
    let mut output = Vec::with_capacity(input.len() * factor * factor);
    for y in 0..height * factor {
        for x in 0..width * factor {
            let at = ((y / factor) * width + x / factor) * channels;
            output.extend_from_slice(&input[at..at + channels]);
        }
    }
    output
}

/// Shares in 127ths.
fn shares(scores: &[i8], scale: u32) -> impl Iterator<Item = i8> + use<> {
    let factor = scale as f32 / 65536.0;
    let values: Vec<f32> = scores.iter().map(|&score| factor * f32::from(score)).collect();
    softmax(&values).into_iter().map(|share| (127.0 * share).round() as i8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_soft_max_make_one() {
        let shares = |scores: &[i8], scale| shares(scores, scale).collect::<Vec<_>>();
        assert_eq!(shares(&[3, 3, -128, 3], 65536), [42, 42, 0, 42]);
        assert_eq!(shares(&[127, -128], 4096 << 16), [127, 0]);
    }
}
