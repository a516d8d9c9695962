//! How a convolution that the convolution buffer does not hold whole is cut: by the lines of its output.
//!
//! Each cut is a hardware layer of its own, which reads the input lines that its output lines need. CSC begins when all
//! of these are in the buffer, so they must have room there together, beside the weights of one group of kernels.

use super::description::{Convolution, Layer, Window};
use super::layout::entries_per_line;
use crate::nvdla::config::Config;
use std::ops::Range;

/// Some lines of a convolution's output, and what they need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
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

/// The cuts of a layer: as few as there is room for; one if all of its input has room.
pub(super) fn cuts(layer: &Layer, convolution: &Convolution, config: &Config) -> Result<Vec<Cut>, TooLarge> {
    let Weights { all, group } = Weights::of(convolution, config);
    let window = &convolution.window;
    let (height, entries) = (layer.input.height, entries_per_line(layer.input, config));
    let data_banks = |outputs: Range<u32>| {
        let lines = cut(outputs, height, window).inputs.len() as u64;
        (lines * u64::from(entries)).div_ceil(config.cbuf_entries_per_bank().into()) as u32
    };
    let room = config.cbuf_banks.saturating_sub(group);
    let (mut cuts, mut first) = (Vec::new(), 0);
    while first < layer.output.height {
        let fits = |end: &u32| data_banks(first..*end) <= room;
        let end = (first + 1..=layer.output.height).take_while(fits).last();
        let next = end.map(|end| cut(first..end, height, window)).filter(|cut| !cut.inputs.is_empty());
        // None also where padding alone lies under the windows: such a layer has no lines to read.
        let Some(next) = next else {
            return Err(TooLarge { data: data_banks(first..first + 1).max(1), weights: group });
        };
        first = next.outputs.end;
        cuts.push(next);
    }
    // The same split for all of them: weights stay in the buffer only where the banks keep their use.
    let data = cuts.iter().map(|cut| data_banks(cut.outputs.clone())).max().unwrap_or(0);
    let weights = all.min(config.cbuf_banks.saturating_sub(data)).max(group);
    let last = cuts.len() - 1;
    for (at, cut) in cuts.iter_mut().enumerate() {
        cut.buffer = BufferUse {
            data_banks: data,
            weight_banks: weights,
            weights_are_there: weights == all && at > 0,
            weights_stay: weights == all && at < last,
        };
    }
    Ok(cuts)
}

/// Banks of a convolution's weights.
struct Weights {
    /// All of them.
    all: u32,
    /// Of the kernels that are multiplied at once.
    group: u32,
}

impl Weights {
    fn of(convolution: &Convolution, config: &Config) -> Weights {
        let bank = u64::from(config.cbuf_entry_bytes()) * u64::from(config.cbuf_entries_per_bank());
        let (all, kernels) = (convolution.weights.len() as u64, convolution.kernels);
        let group = all / u64::from(kernels) * u64::from(kernels.min(config.mac_atomic_k));
        let [all, group] = [all, group].map(|bytes| bytes.div_ceil(bank) as u32);
        Weights { all, group }
    }
}

/// What output lines need of an input of that height.
fn cut(outputs: Range<u32>, height: u32, window: &Window) -> Cut {
    let (size, stride, before) = (window.size[1], window.stride[1], window.before[1]);
    // In lines of the padded input.
    let (start, end) = (outputs.start * stride, (outputs.end - 1) * stride + size);
    let inside = |line: u32| line.saturating_sub(before).min(height);
    Cut {
        inputs: inside(start)..inside(end),
        before: before.saturating_sub(start),
        after: end.saturating_sub(before + height),
        outputs,
        buffer: BufferUse::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { size: [3, 3], stride: [1, 2], before: [1, 1], after: [1, 1] };

    #[test]
    fn a_cut_reads_the_lines_under_its_windows_and_pads_where_the_input_ends() {
        // Windows of three lines every two, from line -1 on; the last one ends at line 8 of 8.
        let lines = |outputs| {
            let Cut { inputs, before, after, .. } = cut(outputs, 8, &WINDOW);
            (inputs, before, after)
        };
        assert_eq!(lines(0..2), (0..4, 1, 0));
        assert_eq!(lines(2..4), (3..8, 0, 0));
        let odd = cut(3..5, 8, &Window { after: [1, 2], ..WINDOW });
        assert_eq!((odd.inputs, odd.before, odd.after), (5..8, 0, 2));
    }
}
