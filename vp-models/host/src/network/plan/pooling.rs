//! Poolings by PDP from memory to memory.
//!
//! PDP divides a sum by the size of its window, whatever of that is padding (`NV_NVDLA_PDP_CORE_cal2d.v`: two reciprocals from
//! registers). A mean that leaves padding out is therefore made region by region: one of all outputs whose windows lie in the input, and
//! others at its edges, where a window has what is left of it as its size and no padding.

use super::outline::{self, Flow};
use super::steps::Planner;
use super::task::Task;
use super::{StepOutline, Work};
use crate::network::description::{Method, NetworkLayer, Pooling, Shape, Window};
use crate::network::registers::Pool;
use crate::program::Program;
use vp_models::nvdla::encode::Encoded;
use vp_models::nvdla::glb::InterruptSource;
use vp_models::nvdla::pdp;
use vp_models::nvdla::refused::Refused;
use vp_models::nvdla::registers::Unit;

impl Planner<'_> {
    /// Steps of a pooling: one, or one for each region of a mean.
    pub(super) fn pooling(
        &mut self,
        task: &Task,
        layer: &NetworkLayer,
        pooling: &Pooling,
    ) -> Result<(), Refused> {
        if pooling.leaves_padding_out() {
            return self.mean(task, layer, pooling.window);
        }
        let &Pooling { method, window } = pooling;
        let (source, made) = (self.cube(layer.sources[0]), self.cube(Some(task.layer)));
        // Columns behind the last window do no harm.
        let (window, Shape { height, .. }) = window.ending(source.shape);
        let pool = Pool {
            precision: self.network.precision,
            input: Shape { height, ..source.shape },
            output: made.shape,
            method,
            window,
            source: Some(source.at([0, 0])),
            destination: made.at([0, 0]),
        };
        let encoded = self.pooling_registers(&pool)?;
        self.push_alone(task, (InterruptSource::Pdp, [Unit::PdpRdma, Unit::Pdp]), &encoded, None);
        Ok(())
    }

    fn mean(&mut self, task: &Task, layer: &NetworkLayer, window: Window) -> Result<(), Refused> {
        let (source, made) = (self.cube(layer.sources[0]), self.cube(Some(task.layer)));
        let [across, down] = [0, 1].map(|axis| Run::of_axis(axis, window, source.shape, made.shape));
        let regions = down.iter().flat_map(|&lines| across.iter().map(move |&columns| [columns, lines]));
        for region in regions {
            let shape = |[width, height]: [u32; 2]| Shape { width, height, ..source.shape };
            let stride = window.stride;
            let pool = Pool {
                precision: self.network.precision,
                input: shape([0, 1].map(|axis| region[axis].extent(stride[axis]))),
                output: shape(region.map(|run| run.outputs)),
                method: Method::Average,
                window: Window { size: region.map(|run| run.size), stride, ..Window::PIXEL },
                source: Some(source.at(region.map(|run| run.input))),
                destination: made.at(region.map(|run| run.output)),
            };
            self.region(task, layer, &pool)?;
        }
        Ok(())
    }

    /// A step that makes a part of the output.
    fn region(&mut self, task: &Task, layer: &NetworkLayer, pool: &Pool) -> Result<(), Refused> {
        let mut program = Program::new(self.config.register_map);
        program.encoded(&self.pooling_registers(pool)?);
        let units = vec![Unit::PdpRdma, Unit::Pdp];
        let work = Work::Hardware { units, program, done: vec![InterruptSource::Pdp], table: None };
        let (reads, writes) = (vec![self.whole(layer.sources[0])], self.whole(Some(task.layer)));
        self.push_part(task, work, reads, writes);
        let bytes = |shape: Shape| shape.elements() as u64 * pool.precision.bytes() as u64;
        let outline = StepOutline {
            input_bytes: bytes(pool.input),
            output_bytes: bytes(pool.output),
            output: Some(self.values().of_layer(task.layer).tensor.place),
            ..StepOutline::default()
        };
        let flow = Flow { pdp: pool.input.elements() as u64, ..Flow::default() };
        let cycles = outline::cycles(&outline, flow, self.config);
        self.outline(StepOutline { cycles, ..outline });
        Ok(())
    }

    pub(super) fn pooling_registers(&self, pool: &Pool) -> Result<Encoded, Refused> {
        let hardware = pdp::layer::Hardware::from(self.config);
        pool.layer(self.config.memory_atom).encode(self.config.register_map, &hardware)
    }
}

/// Returns true if windows of a pooling have no element of the input.
pub(super) fn has_empty_windows(pooling: &Pooling, layer: &NetworkLayer) -> bool {
    let along = |axis| Run::of_axis(axis, pooling.window, layer.input, layer.output);
    [0, 1].into_iter().flat_map(along).any(|run| run.size == 0)
}

/// Outputs one behind the other along an axis whose windows have as many elements of the input.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    /// First element of the first window.
    input: u32,
    /// First output.
    output: u32,
    /// Number of outputs.
    outputs: u32,
    /// Elements of a window.
    size: u32,
}

impl Run {
    /// The outputs along an axis, in their order.
    fn of_axis(axis: usize, window: Window, input: Shape, output: Shape) -> Vec<Run> {
        let [inputs, outputs] = [input, output].map(|shape| [shape.width, shape.height][axis]);
        let (size, stride, before) = (window.size[axis], window.stride[axis], window.before[axis]);
        let mut runs: Vec<Run> = Vec::new();
        for output in 0..outputs {
            // Counted from the first element of the padding.
            let start = output * stride;
            let first = start.max(before) - before;
            let end = (start + size).min(before + inputs).saturating_sub(before);
            let taken = end.saturating_sub(first);
            match runs.last_mut() {
                Some(last) if last.size == size && taken == size => last.outputs += 1,
                _ => runs.push(Run { input: first, output, outputs: 1, size: taken }),
            }
        }
        runs
    }

    /// Number of elements of the input from the first window's first to the last window's last.
    fn extent(self, stride: u32) -> u32 {
        (self.outputs - 1) * stride + self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Place and number of outputs, first element and size of a window, of each run.
    fn runs(inputs: u32, [size, stride, before]: [u32; 3], outputs: u32) -> Vec<[u32; 4]> {
        let window = Window { size: [size; 2], stride: [stride; 2], before: [before; 2], ..Window::PIXEL };
        let shape = |width| Shape { width, height: 1, channels: 1 };
        let runs = Run::of_axis(0, window, shape(inputs), shape(outputs));
        runs.iter().map(|run| [run.output, run.outputs, run.input, run.size]).collect()
    }

    #[test]
    fn windows_at_an_edge_are_runs_of_their_own() {
        assert_eq!(runs(7, [3, 1, 1], 7), [[0, 1, 0, 2], [1, 5, 0, 3], [6, 1, 5, 2]]);
        // Two windows in the padding before, one behind.
        assert_eq!(
            runs(6, [5, 2, 4], 5),
            [[0, 1, 0, 1], [1, 1, 0, 3], [2, 1, 0, 5], [3, 1, 2, 4], [4, 1, 4, 2]]
        );
        // Wider than the input on both sides.
        assert_eq!(runs(2, [5, 1, 2], 2), [[0, 1, 0, 2], [1, 1, 0, 2]]);
        assert_eq!(runs(9, [3, 3, 0], 3), [[0, 3, 0, 3]]);
    }
}
