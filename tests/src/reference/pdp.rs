//! PDP: every window of the input becomes one element.

use super::{Cube, CubePlace, Format, shift_rounding};

/// Method by which a window becomes an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolingMethod {
    /// Largest element of the window; what lies outside the input does not count.
    Max,
    /// Smallest element of the window; what lies outside the input does not count.
    Min,
    /// Mean of the window; elements outside the input count as `padding`.
    Average {
        /// The value outside.
        padding: i32,
    },
}

/// One layer of PDP. Pairs are horizontal, vertical.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PdpLayer {
    /// Of input and output.
    pub format: Format,
    /// Input pixels in a line.
    pub width: u32,
    /// Input lines.
    pub height: u32,
    /// Channels.
    pub channels: u32,
    /// Method by which a window becomes an element.
    pub method: PoolingMethod,
    /// Size of a window, 1 to 8.
    pub kernel: [u32; 2],
    /// Step from window to window, 1 to 16.
    pub stride: [u32; 2],
    /// Pixels, and lines, by which the first window begins outside the input.
    pub before: [u32; 2],
    /// Pixels, and lines, by which the last window may end outside the input.
    pub after: [u32; 2],
    /// The input; none when it comes from SDP.
    pub source: Option<CubePlace>,
    /// The output.
    pub destination: CubePlace,
    /// Output columns of each vertical strip the layer is cut into: the first, those between, the last. Empty:
    /// not cut.
    pub strips: Vec<u32>,
}

impl PdpLayer {
    /// Output pixels in a line.
    pub fn out_width(&self) -> u32 {
        (self.before[0] + self.width + self.after[0] - self.kernel[0]) / self.stride[0] + 1
    }

    /// Output lines.
    pub fn out_height(&self) -> u32 {
        (self.before[1] + self.height + self.after[1] - self.kernel[1]) / self.stride[1] + 1
    }

    /// Factor that averaging multiplies with for one direction: 65536 / size, rounded down so that no mean leaves the
    /// format, where the hardware's results are of no use to anybody.
    pub fn reciprocal(size: u32) -> u32 {
        65536 / size
    }

    /// The results of all lanes. Strips change only the order of the work.
    pub(super) fn results(&self, input: &Cube) -> Cube {
        let channels = self.format.whole(self.channels);
        Cube::of(self.out_width(), self.out_height(), channels, |channel, y, x| {
            let mut inside = Vec::new();
            for row in 0..self.kernel[1] {
                for column in 0..self.kernel[0] {
                    let y = (y * self.stride[1] + row).checked_sub(self.before[1]);
                    let x = (x * self.stride[0] + column).checked_sub(self.before[0]);
                    if let (Some(y), Some(x)) = (y, x)
                        && y < self.height
                        && x < self.width
                    {
                        inside.push(input.at(channel, y, x));
                    }
                }
            }
            self.reduce(&inside)
        })
    }

    fn reduce(&self, inside: &[i32]) -> i32 {
        let reduced = match self.method {
            PoolingMethod::Max => inside.iter().max().copied(),
            PoolingMethod::Min => inside.iter().min().copied(),
            PoolingMethod::Average { padding } => {
                let outside = (self.kernel[0] * self.kernel[1]) as i32 - inside.len() as i32;
                let sum = i128::from(inside.iter().sum::<i32>() + outside * padding);
                let mean = |sum: i128, size| shift_rounding(sum * i128::from(Self::reciprocal(size)), 16);
                Some(mean(mean(sum, self.kernel[0]), self.kernel[1]) as i32)
            }
        };
        reduced.expect("a window that lies inside the input in part")
    }
}
