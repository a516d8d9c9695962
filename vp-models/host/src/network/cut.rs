//! Cuts of a convolution into hardware layers: by the lines of its output where the convolution buffer does not hold
//! all of its input, and by its kernels where that lets weights stay.
//!
//! CSC begins a hardware layer when all of its input lines are in the buffer, so they must have room there together,
//! beside the weights of one group of kernels at least. Weights that all have room are read once and stay for the next cut;
//! others are read again for each. What is chosen moves the fewest bytes, a hardware layer counted as some more; so it is also
//! chosen whether weights are compressed, which takes a bank for their masks and, of the others, room for what is not zero only.
//!
//! All bytes count as DBBIF's, those of tensors that will lie in SRAM, too: what lies there follows from the traffic of the cuts, so it is not
//! known here. That input is read from SRAM would make it worth reading it again for each of several runs of kernels, so that weights come over
//! DBBIF once. But where weights are read again BDMA copies them into SRAM (`plan::placement::copied`), which spares DBBIF as many bytes without
//! more hardware layers. Without BDMA it changes no cut of the built-in networks: the buffers of nv_medium_1024_full and nv_large_master let all
//! be read once, and the SRAMIF of nv_small_256_full is as wide as its DBBIF and built for the same latency, so that a byte costs the same.

use super::compressed::NonZeroCounts;
use super::description::Window;
use super::layout::WeightShape;
use super::winograd;
use std::ops::Range;
use vp_models::nvdla::config::Config;

/// A convolution as the buffer sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Counts of weights without their zeros, if they may be compressed.
    pub(super) kept: Option<NonZeroCounts>,
    /// By Winograd's method: lines come in fours, and some are padding.
    pub(super) tiles: bool,
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
    /// Use of the convolution buffer.
    pub(super) buffer: BufferUse,
    /// Bytes that are read for them.
    pub(super) read: u64,
}

/// Use of the convolution buffer by a hardware layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BufferUse {
    /// Banks of input.
    pub(super) data_banks: u32,
    /// Banks of weights.
    pub(super) weight_banks: u32,
    /// The cut before has left its weights.
    pub(super) weights_are_there: bool,
    /// True if the weights stay for the next cut.
    pub(super) weights_stay: bool,
    /// True if the weights are compressed: the last bank is the masks'.
    pub(super) compressed: bool,
}

/// Banks that a layer takes at least: of one output line's input and of one group of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge {
    pub(super) data: u32,
    pub(super) weights: u32,
}

/// Bytes that a hardware layer counts as: what DBBIF could move while it is programmed and filled, in cycles.
pub(super) const LAYER_CYCLES: u64 = 400;

/// The cuts of a layer.
pub(super) fn cuts(work: &Work, config: &Config) -> Result<Vec<Cut>, TooLarge> {
    let forms = std::iter::once(Form::Plain).chain(work.kept.as_ref().map(Form::Compressed));
    let found = forms.filter_map(|form| work.best(form, config));
    found.min_by_key(|(cost, _)| *cost).map(|(_, cuts)| cuts).ok_or_else(|| {
        // None also where padding alone lies under the windows: such a layer has no lines to read.
        let data = work.data_banks(0..work.least_lines.min(work.outputs), config).max(1);
        TooLarge { data, weights: work.weight_banks(config.kernels_at_once(work.weights.precision), config) }
    })
}

/// Form in which weights come.
#[derive(Clone, Copy)]
enum Form<'a> {
    Plain,
    Compressed(&'a NonZeroCounts),
}

impl Form<'_> {
    /// Banks for input and weights: of compressed ones the last one is the masks' (hardware manual, "Convolution buffer").
    fn banks(self, config: &Config) -> u32 {
        match self {
            Form::Plain => config.cbuf_banks,
            Form::Compressed(_) => config.cbuf_banks - 1,
        }
    }
}

fn bank_bytes(config: &Config) -> u64 {
    u64::from(config.cbuf_entry_bytes()) * u64::from(config.cbuf_entries_per_bank())
}

impl Work {
    /// The cuts that cost least with weights in this form, and what they cost.
    fn best(&self, form: Form<'_>, config: &Config) -> Option<(u64, Vec<Cut>)> {
        let layer_bytes = LAYER_CYCLES * u64::from(config.primary_width / 8);
        let group = config.kernels_at_once(self.weights.precision);
        let groups = self.weights.kernels.div_ceil(group);
        if !self.masks_stay(form, &(0..group), config) {
            return None;
        }
        let mut best: Option<(u64, Vec<Cut>)> = None;
        // How many groups have room at once. Of two, one is read while the other is multiplied.
        let mut held: Vec<u32> =
            (1..=8).map(|parts| groups.div_ceil(parts)).chain([1, 2.min(groups)]).collect();
        held.sort_unstable();
        held.dedup();
        for held in held {
            let weight_banks = self.banks_held(form, held, config);
            let Some(room) = form.banks(config).checked_sub(weight_banks) else { break };
            let Some(lines) = self.lines(room, config) else { continue };
            // As read: of all kernels at once, and of as many as stay.
            let apart: Vec<Range<u32>> = (0..groups)
                .step_by(held as usize)
                .map(|g| g * group..(g + held).min(groups) * group)
                .collect();
            for chunks in [std::iter::once(0..groups * group).collect::<Vec<_>>(), apart] {
                let is_held = |chunk: &Range<u32>| {
                    chunk.len() as u32 <= held * group && self.masks_stay(form, chunk, config)
                };
                let stays = chunks.iter().all(is_held);
                let input: u64 = lines.iter().map(|cut| cut.inputs.len() as u64 * self.line_bytes).sum();
                let all: u64 = chunks.iter().map(|chunk| self.weight_bytes(form, chunk)).sum();
                let weights = all * if stays { 1 } else { lines.len() as u64 };
                let layers = (chunks.len() * lines.len()) as u64;
                // With room for one group, none is read while it is multiplied: as if all were read twice.
                let stalls = if held == 1 && groups > 1 { weights } else { 0 };
                let cost = input * chunks.len() as u64 + weights + stalls + layers * layer_bytes;
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    let compressed = matches!(form, Form::Compressed(_));
                    let buffer =
                        BufferUse { weight_banks, weights_stay: stays, compressed, ..BufferUse::default() };
                    best = Some((cost, self.all(&chunks, &lines, buffer, form, config)));
                }
            }
        }
        best
    }

    /// Bytes of some kernels' weights, with all that comes beside them.
    fn weight_bytes(&self, form: Form<'_>, kernels: &Range<u32>) -> u64 {
        let kernels = kernels.start..kernels.end.min(self.weights.kernels);
        match form {
            Form::Plain => kernels.len() as u64 * u64::from(self.weights.kernel_bytes()),
            Form::Compressed(kept) => kept.streams(kernels).into_iter().sum(),
        }
    }

    /// Banks that hold so many groups of kernels, whichever follow each other.
    fn banks_held(&self, form: Form<'_>, held: u32, config: &Config) -> u32 {
        let group = config.kernels_at_once(self.weights.precision);
        let Form::Compressed(kept) = form else { return self.weight_banks(held * group, config) };
        let runs = (0..self.weights.kernels).step_by((held * group) as usize);
        let bytes = runs.map(|first| {
            let [weights, ..] = kept.streams(first..(first + held * group).min(self.weights.kernels));
            // It begins anywhere in an entry.
            weights + u64::from(config.cbuf_entry_bytes())
        });
        bytes.max().unwrap_or(0).div_ceil(bank_bytes(config)) as u32
    }

    /// Returns true if the masks of these kernels have room at once, in the bank that is theirs.
    fn masks_stay(&self, form: Form<'_>, kernels: &Range<u32>, config: &Config) -> bool {
        let Form::Compressed(kept) = form else { return true };
        let [_, masks, _] = kept.streams(kernels.start..kernels.end.min(self.weights.kernels));
        masks <= bank_bytes(config)
    }

    fn data_banks(&self, outputs: Range<u32>, config: &Config) -> u32 {
        let lines = match self.tiles {
            true => outputs.len() as u64 + u64::from(winograd::MORE),
            false => self.cut(outputs).inputs.len() as u64,
        };
        (lines * u64::from(self.entries)).div_ceil(config.cbuf_entries_per_bank().into()) as u32
    }

    fn weight_banks(&self, kernels: u32, config: &Config) -> u32 {
        let kernels = u64::from(kernels.min(self.weights.kernels));
        (kernels * u64::from(self.weights.kernel_bytes())).div_ceil(bank_bytes(config)) as u32
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
            let each = if self.tiles { each.next_multiple_of(winograd::MULTIPLE) } else { each };
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
        buffer: BufferUse,
        form: Form<'_>,
        config: &Config,
    ) -> Vec<Cut> {
        let data = lines.iter().map(|cut| self.data_banks(cut.outputs.clone(), config)).max().unwrap_or(0);
        // The same split for all of them: weights stay in the buffer only where the banks keep their use. Of weights that
        // come and go more may wait there.
        let BufferUse { weight_banks, weights_stay: stays, .. } = buffer;
        let all = self.banks_held(
            form,
            self.weights.kernels.div_ceil(config.kernels_at_once(self.weights.precision)),
            config,
        );
        let weights = if stays { weight_banks } else { all.min(form.banks(config) - data).max(weight_banks) };
        let last = lines.len() - 1;
        let of_chunk = |chunk: &Range<u32>| {
            let kernels = chunk.start..chunk.end.min(self.weights.kernels);
            let cut = move |(at, cut): (usize, &Cut)| {
                let (weights_are_there, weights_stay) = (stays && at > 0, stays && at < last);
                let buffer = BufferUse {
                    data_banks: data,
                    weight_banks: weights,
                    weights_are_there,
                    weights_stay,
                    ..buffer
                };
                let weights = if weights_are_there { 0 } else { self.weight_bytes(form, &kernels) };
                let read = cut.inputs.len() as u64 * self.line_bytes + weights;
                Cut { kernels: kernels.clone(), buffer, read, ..cut.clone() }
            };
            lines.iter().enumerate().map(cut)
        };
        chunks.iter().flat_map(of_chunk).collect()
    }

    /// Returns the cut of some output lines: what they need.
    fn cut(&self, outputs: Range<u32>) -> Cut {
        let Window { stride, before, .. } = self.window;
        let (size, stride, before, height) = (self.window.extent()[1], stride[1], before[1], self.height);
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
            read: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_models::nvdla::numeric::Precision;

    fn weights(kernels: u32, channels: u32) -> WeightShape {
        WeightShape { kernels, rows: 3, columns: 3, channels, rows_at_once: 1, precision: Precision::Int8 }
    }

    fn work(height: u32, outputs: u32, after: u32) -> Work {
        Work {
            height,
            entries: 1,
            line_bytes: 8,
            window: Window {
                size: [3, 3],
                stride: [1, 2],
                dilation: [1; 2],
                before: [1, 1],
                after: [1, after],
            },
            outputs,
            weights: weights(8, 8),
            kept: None,
            tiles: false,
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
            let work =
                Work { entries, line_bytes: 9999, weights: weights(kernels, channels), ..work(57, 29, 1) };
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
