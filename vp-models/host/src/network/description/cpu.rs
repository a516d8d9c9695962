//! Layers that are the CPU's: any graph of tensors, between cubes of codes.

use super::Shape;
use std::sync::Arc;
use vp_tensors::{ElementType, Graph};

/// A graph that the CPU evaluates between hardware layers.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuProgram {
    /// The graph: its inputs are the layer's sources in order, and it has one output.
    pub graph: Arc<Graph>,
    /// Encodings of the inputs.
    pub inputs: Vec<Encoding>,
    /// Encoding of the output.
    pub output: Encoding,
}

/// Meaning of a cube's codes as a tensor of floats.
///
/// A code stands for `(code - zero) * scale`; a number becomes the code nearest to `number / scale + zero`, ties to the even one, or
/// the least or largest one. In fp16 codes are numbers themselves, the scale is 1 and the zero 0; numbers are rounded to the
/// nearest, ties to even, and those beyond the largest become that, as everywhere in the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encoding {
    /// Axes of the tensor.
    pub axes: CubeAxes,
    /// Value of a step of the codes.
    pub scale: f32,
    /// The code of zero.
    pub zero: i32,
}

/// The axis of a tensor that each of a cube's axes is; all other axes of the tensor have size 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CubeAxes {
    /// The axis of columns; none if there is one column.
    pub width: Option<usize>,
    /// The axis of lines; none if there is one line.
    pub height: Option<usize>,
    /// The axis of channels; none if there is one channel.
    pub channels: Option<usize>,
}

impl CubeAxes {
    /// Axes of batch, channels, lines and columns, as ONNX has them.
    pub const NCHW: CubeAxes = CubeAxes { width: Some(3), height: Some(2), channels: Some(1) };

    /// Refuses a tensor that is no such cube.
    fn check(self, tensor: &[usize], cube: Shape) -> Result<(), String> {
        let sizes = [(self.width, cube.width), (self.height, cube.height), (self.channels, cube.channels)];
        let mut left = tensor.to_vec();
        for (axis, size) in sizes {
            let found = match axis {
                Some(axis) => left.get_mut(axis).map(|size| std::mem::replace(size, 1)),
                None => Some(1),
            };
            if found != Some(size as usize) {
                return Err(format!("a tensor of {tensor:?} is no cube of {cube} by {self:?}"));
            }
        }
        match left.iter().all(|&size| size == 1) {
            true => Ok(()),
            false => Err(format!("a tensor of {tensor:?} has axes besides those of a cube of {cube}")),
        }
    }
}

impl Encoding {
    /// Refuses a scale that stands for nothing.
    fn check(&self, tensor: &[usize], cube: Shape) -> Result<(), String> {
        if !(self.scale.is_finite() && self.scale > 0.0) {
            return Err(format!("a scale of {}: above zero and finite", self.scale));
        }
        self.axes.check(tensor, cube)
    }
}

impl CpuProgram {
    /// Checks that the graph is one between cubes of these sizes.
    ///
    /// # Errors
    /// Says what does not fit.
    pub(in crate::network) fn check(&self, inputs: &[Shape], output: Shape) -> Result<(), String> {
        let graph = &self.graph;
        let [made] = graph.outputs[..] else {
            return Err(format!("its graph has {} outputs instead of one", graph.outputs.len()));
        };
        let counts = [graph.inputs.len(), self.inputs.len()];
        if counts != [inputs.len(); 2] {
            let [of_graph, encoded] = counts;
            let sources = inputs.len();
            return Err(format!("{of_graph} inputs of its graph, {encoded} encodings, {sources} sources"));
        }
        let given = graph.inputs.iter().zip(&self.inputs).zip(inputs);
        let all = given.map(|((id, encoding), cube)| (*id, encoding, *cube));
        for (id, encoding, cube) in all.chain([(made, &self.output, output)]) {
            let Some(value) = graph.values.get(id.0) else {
                return Err(format!("its graph has no value {}", id.0));
            };
            encoding.check(&value.shape, cube).map_err(|why| format!("`{}`: {why}", value.name))?;
        }
        match graph.inputs.iter().find(|id| graph.values[id.0].element_type != ElementType::Float) {
            Some(id) => Err(format!("`{}` is no tensor of floats", graph.values[id.0].name)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_those_of_a_cube_or_are_refused() {
        let cube = Shape { width: 4, height: 3, channels: 2 };
        let check = |axes: CubeAxes, tensor: &[usize]| axes.check(tensor, cube).is_ok();
        assert!(check(CubeAxes::NCHW, &[1, 2, 3, 4]));
        assert!(!check(CubeAxes::NCHW, &[2, 2, 3, 4]));
        assert!(!check(CubeAxes::NCHW, &[1, 2, 3]));
        assert!(!check(CubeAxes::NCHW, &[1, 3, 2, 4]));
        // One axis for two is none of a cube.
        assert!(!check(CubeAxes { height: Some(3), ..CubeAxes::NCHW }, &[1, 2, 3, 4]));
        let flat = Shape { width: 1, height: 1, channels: 5 };
        assert!(CubeAxes { channels: Some(0), ..CubeAxes::default() }.check(&[5], flat).is_ok());
        assert!(CubeAxes::NCHW.check(&[1, 5, 1, 1], flat).is_ok());
    }
}
