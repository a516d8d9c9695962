//! Convolutions of drafts in the hardware's numbers.

use super::coded::{ADDED_SHIFT, Coded, LARGEST_HALF, bytes, halves};
use super::draft::{DraftActivation, Kernels, Weights};
use super::drafter::Reason;
use super::fit::{KernelFactors, bias, half, kernel_factors};
use super::options::WeightScales;
use vp_host::network::{Converter, Convolution, Operation};

impl Coded<'_> {
    /// Returns the first weight or bias that is no number of the format as a reason.
    pub(super) fn are_numbers(&self, kernels: &Kernels) -> Result<(), Reason> {
        let most = if self.hardware.is_integer { f64::from(f32::MAX) } else { LARGEST_HALF };
        let weights = match &kernels.weights {
            Weights::Floats(floats) => &floats[..],
            Weights::Codes { scales, .. } => &scales[..],
        };
        let mut numbers = weights.iter().map(|weight| f64::from(*weight)).chain(kernels.bias.iter().copied());
        match numbers.find(|number| number.is_nan() || number.abs() > most) {
            Some(number) => Err(format!("{:?} is no number of {}", number as f32, self.hardware.precision())),
            None => Ok(()),
        }
    }

    pub(super) fn convolution(&self, kernels: &Kernels) -> Result<Operation, Reason> {
        let x = self.reads[0];
        let count = kernels.kernels as usize;
        let (weights, scales) = self.integers(kernels);
        let each = weights.len() / count.max(1);
        let of_kernel = |kernel: usize| f64::from(scales[kernel % scales.len()]) * f64::from(x.scale);
        let added = kernels.adds.then(|| self.reads[1]);
        let factors: Vec<f64> = (0..count).map(of_kernel).collect();
        let is_one = factors.windows(2).all(|pair| pair[0] == pair[1]);
        let has_slopes = matches!(&self.draft.activation, DraftActivation::Leaky(slopes) if slopes.len() > 1);
        let large = || "its factors are larger than 16 bits".to_owned();
        let (scales, shift, unit, told) = match added {
            Some(code) => {
                // Sums become steps of what is added, or parts of such steps.
                let fitted = (0..=ADDED_SHIFT).rev().find_map(|shift| {
                    let unit = f64::from(code.scale) / f64::from(shift).exp2();
                    let factors: Vec<f64> = factors.iter().map(|factor| factor / unit).collect();
                    Some((kernel_factors(&factors, 0)?, shift, unit))
                });
                let (KernelFactors { scales, told, .. }, shift, unit) = fitted.ok_or_else(large)?;
                (Some(scales), Some(shift), unit, told.into_iter().map(|factor| factor * unit).collect())
            }
            None if is_one && !has_slopes && self.tells_zero(factors[0]) => (None, None, factors[0], factors),
            None => {
                let (scales, unit, told) = self.factors(&factors).ok_or_else(large)?;
                (Some(scales), None, unit, told)
            }
        };
        // A bias is in steps of what factors make of them: of a kernel whose factor has few bits that is not the same.
        let in_steps = |(kernel, factor): (usize, &f64)| {
            let taken: i64 =
                weights[kernel * each..(kernel + 1) * each].iter().map(|weight| i64::from(*weight)).sum();
            // What is added has its own zero, which is taken off here, before the activation.
            let zero = added.map_or(0.0, |code| f64::from(code.zero) * f64::from(code.scale));
            // Of weights that are all zero the scale may be zero as well.
            let bias = kernels.bias[kernel] - zero;
            let bias = if bias == 0.0 { 0.0 } else { (bias / factor).round() };
            bias - (taken * i64::from(x.zero)) as f64
        };
        let biases: Vec<f64> = told.iter().enumerate().map(in_steps).collect();
        let (look_up, converter) = self.finished(unit)?;
        let fitted = bias(&biases);
        self.keeps_bias(&fitted, &biases, &told)?;
        let has_bias = biases.iter().any(|bias| *bias != 0.0);
        Ok(Operation::Convolution(Convolution {
            kernels: kernels.kernels,
            groups: kernels.groups,
            window: kernels.window,
            weights,
            padding: x.zero as i16,
            truncate: 0,
            bias: has_bias.then_some(fitted),
            scales,
            added: shift,
            activation: self.activation()?,
            look_up,
            converter,
        }))
    }

    /// Weights as integers, and their scales.
    fn integers(&self, kernels: &Kernels) -> (Vec<i8>, Vec<f32>) {
        let floats = match &kernels.weights {
            Weights::Codes { values, scales } => return (values.clone(), scales.clone()),
            Weights::Floats(floats) => floats,
        };
        let each = (floats.len() / kernels.kernels.max(1) as usize).max(1);
        let scales = self.weight_scales(kernels, floats.chunks(each));
        let code = |(kernel, weight): (usize, &f32)| (weight / scales[kernel % scales.len()]).round() as i8;
        let of_kernel = |(kernel, weights): (usize, &[f32])| -> Vec<i8> {
            weights.iter().map(|weight| code((kernel, weight))).collect()
        };
        (floats.chunks(each).enumerate().flat_map(of_kernel).collect(), scales)
    }

    /// Scales of the weights of these kernels.
    fn weight_scales<'b>(
        &self,
        kernels: &Kernels,
        each: impl Iterator<Item = &'b [f32]> + Clone,
    ) -> Vec<f32> {
        let (x, y) = (self.reads[0], self.makes);
        let largest = |floats: &[f32]| floats.iter().fold(0.0_f32, |most, weight| most.max(weight.abs()));
        let whole = match each.clone().map(largest).fold(0.0, f32::max) {
            0.0 => 1.0,
            most => most.max(f32::MIN_POSITIVE) / 127.0,
        };
        // Factors have 15 bits: kernels a thousand times smaller than the largest would have too few of them.
        let mut scales: Vec<f32> =
            each.clone().map(|kernel| (largest(kernel) / 127.0).max(whole / 1024.0)).collect();
        // Biases have 16 bits and one shift, which may cost an eighth of an output's step: a kernel of small weights beside a large bias
        // takes coarser ones, so that its bias has room. Its factor has five bits at least, so that a bias in its steps may be a 32nd
        // larger; and weights are rounded, whose errors, times the code of zero, are a random walk of standard deviation 1/sqrt(12).
        let step = f64::from(whole) * f64::from(x.scale) / f64::from(y.scale);
        let shift = (0.25 / step).log2().floor().clamp(0.0, 12.0);
        for ((scale, weights), bias) in scales.iter_mut().zip(each).zip(&kernels.bias) {
            let sum: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
            let bias = (bias / f64::from(x.scale) - sum * f64::from(x.zero)).abs();
            let rounded = 4.0 * (weights.len() as f64 / 12.0).sqrt() * f64::from(x.zero.abs());
            let room = 32767.0 * shift.exp2();
            let room = (room * 31.0 / 32.0 - rounded).max(room / 2.0);
            *scale = scale.max((bias / room) as f32);
        }
        match self.hardware.weight_scales {
            WeightScales::Tensor => vec![scales.into_iter().fold(whole, f32::max)],
            WeightScales::Kernel => scales,
        }
    }

    pub(super) fn convolution_of_halves(&self, kernels: &Kernels) -> Operation {
        let Weights::Floats(weights) = &kernels.weights else {
            unreachable!("integers are taken for integer networks alone")
        };
        let activation = self.activation().unwrap_or_default();
        Operation::Convolution(Convolution {
            kernels: kernels.kernels,
            groups: kernels.groups,
            window: kernels.window,
            weights: weights.iter().flat_map(|weight| bytes(half((*weight).into()))).collect(),
            padding: 0,
            truncate: 0,
            bias: halves(&kernels.bias),
            scales: None,
            added: kernels.adds.then_some(0),
            activation,
            look_up: self.look_up_of_halves(),
            converter: Converter::NONE,
        })
    }
}
