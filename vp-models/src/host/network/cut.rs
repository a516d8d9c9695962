//! How a convolution is cut into hardware layers: by the lines of its output where the convolution buffer does not hold
//! all of its input, and by its kernels where that lets weights stay.
//!
//! CSC begins a hardware layer when all of its input lines are in the buffer, so they must have room there together,
//! beside the weights of one group of kernels at least. Weights that all have room are read once and stay for the next cut;
//! others are read again for each. What is chosen moves the fewest bytes, a hardware layer counted as some more.

use super::description::Window;
use super::layout::WeightShape;
use crate::nvdla::config::Config;
use std::ops::Range;

/// A convolution as the buffer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    /// Input lines.
    pub(super) height: u32,
    /// Entries of the buffer that one of them takes, and bytes of memory.
    pub(super) entries: u32,
    pub(super) line_bytes: u64,
    pub(super) window: Window,
    /// Output lines.
    pub(super) outputs: u32,
    pub(super) weights: WeightShape,
    /// A cut of one line is not what it seems: of one column, SDP takes it for a cube of one pixel.
    pub(super) least_lines: u32,
}

/// Some lines of a convolution's output for some of its kernels, and what they need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Kernels.
    pub(super) kernels: Range<u32>,
    /// Output lines.
    pub(super) outputs: Range<u32>,
    /// Input lines under their windows.
    pub(super) inputs: Range<u32>,
    /// Lines of padding above these.
    pub(super) before: u32,
    /// Lines of padding below.
    pub(super) after: u32,
    /// Their use of the buffer.
    pub(super) buffer: BufferUse,
}

/// How a hardware layer uses the convolution buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BufferUse {
    /// Banks of input.
    pub(super) data_banks: u32,
    /// Banks of weights.
    pub(super) weight_banks: u32,
    /// The cut before has left its weights.
    pub(super) weights_are_there: bool,
    /// They stay for the next cut.
    pub(super) weights_stay: bool,
}

/// Banks that a layer takes at least: of one output line's input and of one group of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge {
    pub(super) data: u32,
    pub(super) weights: u32,
}

/// Bytes that a hardware layer counts as: what DBBIF could move while it is programmed and filled.
const LAYER_CYCLES: u64 = 400;

/// The cuts of a layer.
pub(super) fn cuts(work: &Work, config: &Config) -> Result<Vec<Cut>, TooLarge> {
    let layer_bytes = LAYER_CYCLES * u64::from(config.primary_width / 8);
    let group = config.mac_atomic_k;
    let groups = work.weights.kernels.div_ceil(group);
    let least = work.weight_banks(group, config);
    let mut best: Option<(u64, Vec<Cut>)> = None;
    // How many groups have room at once. Of two, one is read while the other is multiplied.
    let mut held: Vec<u32> = (1..=8).map(|parts| groups.div_ceil(parts)).chain([1, 2.min(groups)]).collect();
    held.sort_unstable();
    held.dedup();
    for held in held {
        let weight_banks = work.weight_banks(held * group, config);
        let Some(room) = config.cbuf_banks.checked_sub(weight_banks) else { break };
        let Some(lines) = work.lines(room, config) else { continue };
        // As read: of all kernels at once, and of as many as stay.
        let apart: Vec<Range<u32>> =
            (0..groups).step_by(held as usize).map(|g| g * group..(g + held).min(groups) * group).collect();
        for chunks in [std::iter::once(0..groups * group).collect::<Vec<_>>(), apart] {
            let stays = chunks.iter().all(|chunk| chunk.len() as u32 <= held * group);
            let input: u64 = lines.iter().map(|cut| cut.inputs.len() as u64 * work.line_bytes).sum();
            let weights = work.weights.bytes() * if stays { 1 } else { lines.len() as u64 };
            let layers = (chunks.len() * lines.len()) as u64;
            // With room for one group, none is read while it is multiplied: as if all were read twice.
            let stalls = if held == 1 && groups > 1 { weights } else { 0 };
            let cost = input * chunks.len() as u64 + weights + stalls + layers * layer_bytes;
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, work.all(&chunks, &lines, weight_banks, stays, config)));
            }
        }
    }
    best.map(|(_, cuts)| cuts).ok_or_else(|| {
        // None also where padding alone lies under the windows: such a layer has no lines to read.
        let data = work.data_banks(0..work.least_lines.min(work.outputs), config).max(1);
        TooLarge { data, weights: least }
    })
}

impl Work {
    fn data_banks(&self, outputs: Range<u32>, config: &Config) -> u32 {
        let lines = self.cut(outputs).inputs.len() as u64;
        (lines * u64::from(self.entries)).div_ceil(config.cbuf_entries_per_bank().into()) as u32
    }

    fn weight_banks(&self, kernels: u32, config: &Config) -> u32 {
        let bank = u64::from(config.cbuf_entry_bytes()) * u64::from(config.cbuf_entries_per_bank());
        let kernels = u64::from(kernels.min(self.weights.kernels));
        (kernels * u64::from(self.weights.kernel_bytes())).div_ceil(bank) as u32
    }

    /// The output in as few runs of lines as have room in so many banks, about as long as each other.
    fn lines(&self, banks: u32, config: &Config) -> Option<Vec<Cut>> {
        let fits = |outputs: Range<u32>| self.data_banks(outputs, config) <= banks;
        let whole = self.cut(0..self.outputs);
        if whole.inputs.is_empty() {
            return None;
        }
        if fits(0..self.outputs) {
            return Some(vec![whole]);
        }
        (2..=self.outputs).find_map(|count| {
            let each = self.outputs.div_ceil(count);
            let starts = (0..self.outputs).step_by(each as usize);
            let runs: Vec<Range<u32>> = starts.map(|start| start..(start + each).min(self.outputs)).collect();
            let right = |run: &Range<u32>| {
                run.len() as u32 >= self.least_lines.min(self.outputs)
                    && !self.cut(run.clone()).inputs.is_empty()
                    && fits(run.clone())
            };
            runs.iter().all(right).then(|| runs.into_iter().map(|run| self.cut(run)).collect())
        })
    }

    fn all(
        &self,
        chunks: &[Range<u32>],
        lines: &[Cut],
        weight_banks: u32,
        stays: bool,
        config: &Config,
    ) -> Vec<Cut> {
        let data = lines.iter().map(|cut| self.data_banks(cut.outputs.clone(), config)).max().unwrap_or(0);
        // The same split for all of them: weights stay in the buffer only where the banks keep their use. Of weights that
        // come and go more may wait there.
        let all = self.weight_banks(u32::MAX, config);
        let weights = if stays { weight_banks } else { all.min(config.cbuf_banks - data).max(weight_banks) };
        let last = lines.len() - 1;
        let of_chunk = |chunk: &Range<u32>| {
            let kernels = chunk.start..chunk.end.min(self.weights.kernels);
            let cut = move |(at, cut): (usize, &Cut)| {
                let (weights_are_there, weights_stay) = (stays && at > 0, stays && at < last);
                let buffer =
                    BufferUse { data_banks: data, weight_banks: weights, weights_are_there, weights_stay };
                Cut { kernels: kernels.clone(), buffer, ..cut.clone() }
            };
            lines.iter().enumerate().map(cut)
        };
        chunks.iter().flat_map(of_chunk).collect()
    }

    /// What output lines need.
    fn cut(&self, outputs: Range<u32>) -> Cut {
        let Window { size, stride, before, .. } = self.window;
        let (size, stride, before, height) = (size[1], stride[1], before[1], self.height);
        // In lines of the padded input.
        let (start, end) = (outputs.start * stride, (outputs.end - 1) * stride + size);
        let inside = |line: u32| line.saturating_sub(before).min(height);
        Cut {
            kernels: 0..self.weights.kernels,
            inputs: inside(start)..inside(end),
            before: before.saturating_sub(start),
            after: end.saturating_sub(before + height),
            outputs,
            buffer: BufferUse::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(height: u32, outputs: u32, after: u32) -> Work {
        Work {
            height,
            entries: 1,
            line_bytes: 8,
            window: Window { size: [3, 3], stride: [1, 2], before: [1, 1], after: [1, after] },
            outputs,
            weights: WeightShape { kernels: 8, rows: 3, columns: 3, channels: 8, rows_at_once: 1 },
            least_lines: 1,
        }
    }

    #[test]
    fn a_cut_reads_the_lines_under_its_windows_and_pads_where_the_input_ends() {
        // Windows of three lines every two, from line -1 on; the last one ends at line 8 of 8.
        let lines = |outputs| {
            let Cut { inputs, before, after, .. } = work(8, 4, 1).cut(outputs);
            (inputs, before, after)
        };
        assert_eq!(lines(0..2), (0..4, 1, 0));
        assert_eq!(lines(2..4), (3..8, 0, 0));
        let odd = work(8, 5, 2).cut(3..5);
        assert_eq!((odd.inputs, odd.before, odd.after), (5..8, 0, 2));
    }

    #[test]
    fn every_line_and_kernel_is_made_once_and_fits() {
        let config = Config::named("nv_small").unwrap();
        for (kernels, channels, entries) in [(8, 64, 448), (512, 512, 2000), (300, 96, 700), (64, 900, 300)] {
            let weights = WeightShape { kernels, rows: 3, columns: 3, channels, rows_at_once: 1 };
            let work = Work { entries, line_bytes: 9999, weights, ..work(57, 29, 1) };
            let cuts = cuts(&work, &config).unwrap();
            let made: usize = cuts.iter().map(|cut| cut.outputs.len() * cut.kernels.len()).sum();
            assert_eq!(made, 29 * kernels as usize);
            for cut in &cuts {
                let BufferUse { data_banks, weight_banks, .. } = cut.buffer;
                assert!(data_banks + weight_banks <= config.cbuf_banks);
                assert!(work.data_banks(cut.outputs.clone(), &config) <= data_banks);
            }
        }
    }
}
