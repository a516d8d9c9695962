//! The order of a group's kernels in the convolution buffer, and the order that the sums need.

use super::compute::float::Steps;
use super::compute::{Kernel, winograd};
use super::elements::Elements;
use super::hardware::Hardware;

/// The order of weights in a group of kernels: from slowest to fastest channel block, group of kernel rows, kernel
/// column, kernel, row of the group, channel of the block.
///
/// Direct convolutions have row groups of one row. An image's kernel row is merged into the channels, so that there
/// is one column; rows that its post-extension handles at once share a block's channels among them (architecture
/// text, "Weight layout").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Channels, of a merged row if it is one.
    pub channels: usize,
    /// Kernel columns; one if they are merged.
    pub columns: usize,
    /// Kernel rows.
    pub rows: usize,
    /// Channels of a block.
    pub block: usize,
    /// Rows of a group.
    pub row_group: usize,
}

impl Order {
    /// Of a direct convolution.
    pub fn direct(rows: u32, columns: u32, channels: u32, hardware: &Hardware) -> Order {
        Order {
            channels: channels as usize,
            columns: columns as usize,
            rows: rows as usize,
            block: hardware.block_channels as usize,
            row_group: 1,
        }
    }

    /// Of an image, with rows merged to `channels`; `at_once` rows by post-extension.
    pub fn image(rows: u32, channels: u32, at_once: u32, hardware: &Hardware) -> Order {
        Order {
            channels: channels as usize,
            columns: 1,
            rows: rows as usize,
            block: (hardware.block_channels / at_once.max(1)).max(1) as usize,
            row_group: at_once.max(1) as usize,
        }
    }

    /// For transformed kernels of 4 x 4, whose places are rows here: four channels of all of them together.
    pub fn winograd(channels: u32) -> Order {
        Order {
            channels: channels as usize,
            columns: 1,
            rows: winograd::PLACES,
            block: winograd::STEP_CHANNELS,
            row_group: winograd::PLACES,
        }
    }

    /// Weights of one kernel.
    pub fn taps(&self) -> usize {
        self.channels * self.columns * self.rows
    }

    /// Puts a group of `kernels` in the order `[kernel][row][column][channel]`.
    ///
    /// # Panics
    /// When there are fewer weights than the kernels have.
    pub fn unpack(&self, kernels: usize, packed: &Elements) -> Elements {
        match packed {
            Elements::Int8(weights) => Elements::Int8(self.reorder(kernels, weights)),
            Elements::Int16(weights) => Elements::Int16(self.reorder(kernels, weights)),
            Elements::Fp16(weights) => Elements::Fp16(self.reorder(kernels, weights)),
        }
    }

    /// The steps in which the array takes a kernel over a window of that pitch: in the order of the weights in
    /// the buffer, restricted to one kernel.
    pub fn steps(&self, kernel: &Kernel, pitch: usize) -> Steps {
        let Order { channels, columns, rows, block, row_group } = *self;
        let mut steps = Steps::default();
        for first_channel in (0..channels).step_by(block) {
            let run = first_channel..channels.min(first_channel + block);
            for first_row in (0..rows).step_by(row_group) {
                for column in 0..columns {
                    let group = first_row..rows.min(first_row + row_group);
                    steps.push(group.flat_map(|row| {
                        let pixel =
                            row * kernel.dilation.y * pitch + column * kernel.dilation.x * kernel.channels;
                        let weights = (row * columns + column) * channels;
                        run.clone().map(move |channel| (pixel + channel, weights + channel))
                    }));
                }
            }
        }
        steps
    }

    fn reorder<T: Copy + Default>(&self, kernels: usize, packed: &[T]) -> Vec<T> {
        let Order { channels, columns, rows, block, row_group } = *self;
        let mut ordered = vec![T::default(); kernels * self.taps()];
        let mut left = packed;
        for first_channel in (0..channels).step_by(block) {
            let run = block.min(channels - first_channel);
            for first_row in (0..rows).step_by(row_group) {
                for column in 0..columns {
                    for kernel in 0..kernels {
                        for row in first_row..rows.min(first_row + row_group) {
                            let (weights, rest) = left.split_at(run);
                            let at = ((kernel * rows + row) * columns + column) * channels + first_channel;
                            ordered[at..at + run].copy_from_slice(weights);
                            left = rest;
                        }
                    }
                }
            }
        }
        ordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(order: Order, kernels: usize) -> Vec<i16> {
        let packed = Elements::Int16((0..(kernels * order.taps()) as i16).collect());
        let Elements::Int16(ordered) = order.unpack(kernels, &packed) else { unreachable!() };
        ordered
    }

    #[test]
    fn a_direct_kernel_is_cut_into_blocks_of_channels_the_last_one_short() {
        // Two kernels of one row, two columns, three channels in blocks of two: k0 s0 c0 c1, k1 s0 c0 c1, s1 …
        let order = Order { channels: 3, columns: 2, rows: 1, block: 2, row_group: 1 };
        assert_eq!(unpacked(order, 2), [0, 1, 8, 4, 5, 10, 2, 3, 9, 6, 7, 11]);
    }

    #[test]
    fn post_extension_keeps_the_rows_of_a_group_with_their_kernel() {
        // Two kernels of three rows, two merged channels; two rows at once: k0 r0 r1, k1 r0 r1, k0 r2, k1 r2.
        let order = Order { channels: 2, columns: 1, rows: 3, block: 2, row_group: 2 };
        assert_eq!(unpacked(order, 2), [0, 1, 2, 3, 8, 9, 4, 5, 6, 7, 10, 11]);
    }
}
