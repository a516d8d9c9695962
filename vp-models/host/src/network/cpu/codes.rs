//! Cubes of codes as tensors of floats, and back.

use crate::network::description::{CubeAxes, Encoding, Shape};
use half::f16;
use vp_models::nvdla::float::{Fp16, Fp32};
use vp_models::nvdla::numeric::Precision;

impl Encoding {
    /// The floats that codes stand for: `[line][column][channel]` in the order of a tensor of this shape, which is checked to be such a cube.
    pub fn decoded(&self, codes: &[i8], precision: Precision, tensor: &[usize], cube: Shape) -> Vec<f32> {
        let values = self.values(codes, precision);
        order(self.axes, tensor, cube).map(|at| values[at]).collect()
    }

    /// The codes nearest to floats in the order of a tensor of this shape: `[line][column][channel]`.
    pub fn encoded(&self, values: &[f32], precision: Precision, tensor: &[usize], cube: Shape) -> Vec<i8> {
        let mut ordered = vec![0.0; values.len()];
        order(self.axes, tensor, cube).zip(values).for_each(|(at, value)| ordered[at] = *value);
        let code = |value: &f32| {
            let code = (value / self.scale).round_ties_even() as i64;
            code.saturating_add(self.zero.into())
        };
        let two = |bytes: [u8; 2]| bytes.map(u8::cast_signed);
        match precision {
            Precision::Int8 => {
                let narrow = |code: i64| code.clamp(i8::MIN.into(), i8::MAX.into()) as i8;
                ordered.iter().map(|value| narrow(code(value))).collect()
            }
            Precision::Int16 => {
                let narrow = |code: i64| code.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
                ordered.iter().flat_map(|value| two(narrow(code(value)).to_le_bytes())).collect()
            }
            Precision::Fp16 => ordered.iter().flat_map(|value| two(nearest(*value).to_bytes())).collect(),
        }
    }

    fn values(&self, codes: &[i8], precision: Precision) -> Vec<f32> {
        let value = |code: i32| code.saturating_sub(self.zero) as f32 * self.scale;
        let pairs = || codes.chunks_exact(2).map(|pair| [pair[0] as u8, pair[1] as u8]);
        match precision {
            Precision::Int8 => codes.iter().map(|&code| value(code.into())).collect(),
            Precision::Int16 => pairs().map(|pair| value(i16::from_le_bytes(pair).into())).collect(),
            Precision::Fp16 => pairs().map(|pair| f16::from_le_bytes(pair).to_f32()).collect(),
        }
    }
}

/// The nearest number of binary16; beyond the largest that one, as everywhere in the device.
fn nearest(value: f32) -> Fp16 {
    match value.is_nan() {
        true => Fp16::from_code(0x7E00),
        false => Fp32::from_bits(value.to_bits()).to_fp16(),
    }
}

/// Of each element of a tensor, in its order, the place in `[line][column][channel]`.
fn order(axes: CubeAxes, tensor: &[usize], cube: Shape) -> impl Iterator<Item = usize> {
    let channels = cube.channels as usize;
    let steps = [(axes.width, channels), (axes.height, channels * cube.width as usize), (axes.channels, 1)];
    let mut strides = vec![0; tensor.len()];
    for (axis, step) in steps {
        if let Some(stride) = axis.and_then(|axis| strides.get_mut(axis)) {
            *stride = step;
        }
    }
    let sizes = tensor.to_vec();
    let mut index = vec![0; sizes.len()];
    let mut next = 0;
    (0..cube.elements()).map(move |_| {
        let at = next;
        for axis in (0..sizes.len()).rev() {
            index[axis] += 1;
            next += strides[axis];
            if index[axis] < sizes[axis] {
                break;
            }
            next -= strides[axis] * sizes[axis];
            index[axis] = 0;
        }
        at
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUBE: Shape = Shape { width: 2, height: 1, channels: 3 };

    fn encoding(scale: f32, zero: i32) -> Encoding {
        Encoding { axes: CubeAxes::NCHW, scale, zero }
    }

    #[test]
    fn codes_come_in_the_tensors_order_and_go_back() {
        let codes: [i8; 6] = [1, 2, 3, 4, 5, 6];
        let encoding = encoding(0.5, 1);
        let values = encoding.decoded(&codes, Precision::Int8, &[1, 3, 1, 2], CUBE);
        assert_eq!(values, [0.0, 1.5, 0.5, 2.0, 1.0, 2.5]);
        assert_eq!(encoding.encoded(&values, Precision::Int8, &[1, 3, 1, 2], CUBE), codes);
    }

    #[test]
    fn numbers_become_the_nearest_code_ties_to_even() {
        let cube = Shape { width: 1, height: 1, channels: 7 };
        let values = [0.25, 0.75, -0.25, -0.75, 1e30, -1e30, f32::NAN];
        let int8 = encoding(0.5, 3).encoded(&values, Precision::Int8, &[1, 7, 1, 1], cube);
        assert_eq!(int8, [3, 5, 3, 1, 127, -128, 3]);
        let int16 = encoding(0.5, 0).encoded(&values, Precision::Int16, &[1, 7, 1, 1], cube);
        assert_eq!(int16[8..12], [-1, 127, 0, -128]);
        // Halfway between 2048 and 2050 to the even one, and beyond the largest to that.
        let values = [2049.0, 2051.0, 65520.0, -0.0, 1e-8, 65519.0, 1.0];
        let fp16 = encoding(1.0, 0).encoded(&values, Precision::Fp16, &[1, 7, 1, 1], cube);
        let codes: Vec<u16> =
            fp16.chunks(2).map(|pair| u16::from_le_bytes([pair[0] as u8, pair[1] as u8])).collect();
        assert_eq!(codes, [0x6800, 0x6802, 0x7BFF, 0x8000, 0, 0x7BFF, 0x3C00]);
    }
}
