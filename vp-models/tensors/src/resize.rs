//! `Resize`: axis by axis, each element of the output a weighted sum of elements of the input.

use crate::arguments::{Tensors, Types, wrong_shape};
use crate::filling::picked;
use crate::{
    CoordinateTransformation, Elements, Interpolation, NearestMode, OperatorError, Resize, ValueType,
};
use std::collections::BTreeMap;

/// Size of an axis of the input and of the output, and the output's by the input's as the model says.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Extent {
    input: usize,
    output: usize,
    scale: f32,
}

/// Returns the extents of all axes, by sizes or else by scales.
fn extents(types: Types<'_>) -> Result<Vec<Extent>, OperatorError> {
    let input = types.required(0)?;
    let is_there = |at: usize| types.optional(at).filter(|value| value.shape != [0]);
    let fitting = |at: usize, count: usize| {
        let expected = format!("{} elements, one an axis", input.rank());
        if count == input.rank() { Ok(()) } else { Err(wrong_shape(at, &[count], expected)) }
    };
    if is_there(3).is_some() {
        let sizes = types.integers(3, "sizes")?.unwrap_or_default();
        fitting(3, sizes.len())?;
        let extent = |(&input, &size): (&usize, &i64)| {
            let output = usize::try_from(size).map_err(|_| OperatorError::Value {
                input: 3,
                found: size.to_string(),
                expected: "no negative size".into(),
            })?;
            Ok(Extent { input, output, scale: output as f32 / input as f32 })
        };
        return input.shape.iter().zip(&sizes).map(extent).collect();
    }
    types.required(2)?;
    types.floats(2)?;
    let scales = types.constant(2, "scales")?.to_floats();
    fitting(2, scales.len())?;
    let extent = |(&input, &scale): (&usize, &f32)| {
        if !(scale > 0.0 && scale.is_finite()) {
            let expected = "a number above 0".into();
            return Err(OperatorError::Value { input: 2, found: scale.to_string(), expected });
        }
        Ok(Extent { input, output: (input as f64 * f64::from(scale)).floor() as usize, scale })
    };
    input.shape.iter().zip(&scales).map(extent).collect()
}

/// Infers `Resize`.
pub(crate) fn infer(resize: &Resize, types: Types<'_>) -> Result<ValueType, OperatorError> {
    types.at_most(4)?;
    let input = match resize.interpolation {
        Interpolation::Nearest => types.required(0)?,
        _ => types.floats(0)?,
    };
    let extents = extents(types)?;
    if extents.iter().any(|extent| extent.input == 0 && extent.output > 0) {
        return Err(wrong_shape(0, &input.shape, "no empty axis".into()));
    }
    // What is resized along the first axes only may be larger than the end.
    let largest = extents.iter().map(|extent| extent.input.max(extent.output));
    ValueType::new(input.element_type, largest.collect::<Vec<_>>()).elements()?;
    let shape: Vec<usize> = extents.iter().map(|extent| extent.output).collect();
    let made = ValueType::new(input.element_type, shape);
    made.check_tables()?;
    Ok(made)
}

/// Returns where in the input an element of the output lies.
fn coordinate(transformation: CoordinateTransformation, extent: Extent, at: usize) -> f32 {
    let Extent { input, output, scale } = extent;
    let (x, length) = (at as f32, input as f32);
    match transformation {
        CoordinateTransformation::HalfPixel => (x + 0.5) / scale - 0.5,
        CoordinateTransformation::PytorchHalfPixel if output > 1 => (x + 0.5) / scale - 0.5,
        CoordinateTransformation::PytorchHalfPixel => 0.0,
        CoordinateTransformation::AlignCorners if output == 1 => 0.0,
        CoordinateTransformation::AlignCorners => x * (length - 1.0) / (output as f32 - 1.0),
        CoordinateTransformation::Asymmetric => x / scale,
        CoordinateTransformation::HalfPixelSymmetric => {
            let adjustment = output as f32 / (scale * length);
            length / 2.0 * (1.0 - adjustment) + (x + 0.5) / scale - 0.5
        }
    }
}

fn nearest(mode: NearestMode, coordinate: f32) -> f32 {
    match mode {
        NearestMode::RoundPreferFloor => (coordinate - 0.5).ceil(),
        NearestMode::RoundPreferCeil => (coordinate + 0.5).floor(),
        NearestMode::Floor => coordinate.floor(),
        NearestMode::Ceil => coordinate.ceil(),
    }
}

impl Resize {
    /// Returns true if an axis so much longer has each element of the input as often as it is longer, one after the other.
    pub fn repeats(&self, input: usize, output: usize) -> bool {
        let times = output.checked_div(input).filter(|times| *times > 0 && times * input == output);
        times.is_some_and(|times| {
            let extent = Extent { input, output, scale: times as f32 };
            self.interpolation == Interpolation::Nearest
                && (0..output).all(|at| self.place(extent, at) == at / times)
        })
    }

    /// Element of the input that is nearest to one of the output.
    fn place(&self, extent: Extent, at: usize) -> usize {
        let place = nearest(self.nearest, coordinate(self.coordinates, extent, at));
        (place.max(0.0) as usize).min(extent.input.saturating_sub(1))
    }
}

/// Runs `Resize`.
pub(crate) fn run(
    resize: &Resize,
    types: Types<'_>,
    tensors: Tensors<'_>,
) -> Result<Elements, OperatorError> {
    let input = tensors.required(0)?;
    let extents = extents(types)?;
    if resize.interpolation == Interpolation::Nearest {
        let axis = |&extent: &Extent| -> Vec<Option<usize>> {
            (0..extent.output).map(|at| Some(resize.place(extent, at))).collect()
        };
        let places: Vec<_> = extents.iter().map(axis).collect();
        return Ok(match &input.elements {
            Elements::Float(elements) => Elements::Float(picked(elements, &input.shape, &places, 0.0)),
            Elements::Int64(elements) => Elements::Int64(picked(elements, &input.shape, &places, 0)),
            Elements::Int32(elements) => Elements::Int32(picked(elements, &input.shape, &places, 0)),
            Elements::Int8(elements) => Elements::Int8(picked(elements, &input.shape, &places, 0)),
            Elements::Uint8(elements) => Elements::Uint8(picked(elements, &input.shape, &places, 0)),
            Elements::Bool(elements) => Elements::Bool(picked(elements, &input.shape, &places, false)),
        });
    }
    let mut elements = tensors.floats(0)?.to_vec();
    let mut shape = input.shape.clone();
    for (at, &extent) in extents.iter().enumerate() {
        if extent.scale != 1.0 || extent.input != extent.output {
            let taps: Vec<_> = (0..extent.output).map(|place| taps(resize, extent, place)).collect();
            elements = along(&elements, &shape, at, &taps);
            shape[at] = extent.output;
        }
    }
    Ok(Elements::Float(elements))
}

/// Places on an axis of the input, and their weights.
type Taps = Vec<(usize, f32)>;

/// Returns the taps of an element of the output. Those beyond the input are its first or last element.
fn taps(resize: &Resize, extent: Extent, at: usize) -> Taps {
    let last = extent.input.saturating_sub(1);
    let coordinate = coordinate(resize.coordinates, extent, at);
    let mut weights = BTreeMap::new();
    match resize.interpolation {
        Interpolation::Cubic { coefficient: a } => {
            let first = coordinate.floor();
            let fraction = coordinate - first;
            let near = |x: f32| ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
            let far = |x: f32| ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
            let all = [far(1.0 + fraction), near(fraction), near(1.0 - fraction), far(2.0 - fraction)];
            for (weight, offset) in all.into_iter().zip([-1.0, 0.0, 1.0, 2.0]) {
                let place = ((first + offset).max(0.0) as usize).min(last);
                *weights.entry(place).or_insert(0.0) += weight;
            }
        }
        _ => {
            let coordinate = coordinate.clamp(0.0, last as f32);
            let first = coordinate.floor();
            let (place, fraction) = (first as usize, coordinate - first);
            weights.insert(place, 1.0 - fraction);
            if fraction > 0.0 {
                *weights.entry((place + 1).min(last)).or_insert(0.0) += fraction;
            }
        }
    }
    weights.into_iter().collect()
}

/// Returns elements with one axis resized.
fn along(elements: &[f32], shape: &[usize], at: usize, taps: &[Taps]) -> Vec<f32> {
    let inner: usize = shape[at + 1..].iter().product();
    let block = shape[at] * inner;
    let mut out = Vec::with_capacity(elements.len() / shape[at].max(1) * taps.len());
    for block in elements.chunks(block.max(1)) {
        for taps in taps {
            let start = out.len();
            out.resize(start + inner, 0.0);
            for &(place, weight) in taps {
                let from = &block[place * inner..][..inner];
                out[start..].iter_mut().zip(from).for_each(|(sum, element)| *sum += weight * element);
            }
        }
    }
    out
}
