//! Time that a layer computes.
//!
//! The array multiplies `parallel_channels` input channels of `parallel_kernels` kernels a cycle; pooling, element-wise layers
//! and activations look at `parallel_elements` elements a cycle. A graph may say a layer's cycles instead.

use super::architecture::Architecture;
use super::graph::{GraphLayer, Operation, Shape, Window};

/// The cycles of a layer with this input.
pub fn cycles(architecture: &Architecture, input: Shape, layer: &GraphLayer) -> u64 {
    if let Some(cycles) = layer.cycles {
        return cycles.into();
    }
    let steps = |elements: u64, at_once: u32| elements.div_ceil(u64::from(at_once.max(1)));
    let window = |window: &Window| u64::from(window.size[0]) * u64::from(window.size[1]);
    let pixels = u64::from(layer.output.height) * u64::from(layer.output.width);
    let kernels = steps(layer.output.channels.into(), architecture.parallel_kernels);
    let work = match &layer.operation {
        Operation::Convolution { window: taps, .. } => {
            pixels * window(taps) * steps(input.channels.into(), architecture.parallel_channels) * kernels
        }
        Operation::FullyConnected { .. } => steps(input.elements(), architecture.parallel_channels) * kernels,
        Operation::Pooling { window: under, .. } => {
            steps(layer.output.elements() * window(under), architecture.parallel_elements)
        }
        Operation::Elementwise { .. } | Operation::Activation(_) => {
            steps(layer.output.elements(), architecture.parallel_elements)
        }
    };
    work + u64::from(architecture.layer_overhead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fpga_ai_suite::graph::{Activation, Converter, Graph, Pooling, Sums, Tensor};

    #[test]
    fn cycles_follow_from_the_parallelism() {
        let architecture = Architecture::default();
        let input = Shape { height: 8, width: 8, channels: 17 };
        let converter = Converter { offset: 0, scale: 1, shift: 0 };
        let sums = Sums { kernels: 40, weights: 0, bias: None, relu: false, converter };
        let window = Window { size: [2, 2], stride: [2, 2], before: [0, 0], after: [0, 0] };
        let of = |operation, said| {
            let mut graph = Graph::new(input, 1 << 20).unwrap();
            graph.add(Tensor::Input, operation, said).unwrap();
            cycles(&architecture, input, &graph.layers()[0])
        };
        // 16 pixels, 4 taps, 2 steps of 16 channels, 3 of 16 kernels.
        assert_eq!(of(Operation::Convolution { window, sums: sums.clone() }, None), 16 * 4 * 2 * 3 + 32);
        assert_eq!(of(Operation::FullyConnected { sums }, None), (8 * 8 * 17 / 16) * 3 + 32);
        assert_eq!(of(Operation::Pooling { window, method: Pooling::Max }, None), 16 * 17 * 4 / 16 + 32);
        assert_eq!(of(Operation::Activation(Activation::Relu), None), 64 * 17 / 16 + 32);
        assert_eq!(of(Operation::Activation(Activation::Relu), Some(7)), 7);
    }
}
