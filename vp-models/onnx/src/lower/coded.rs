//! Operations of drafts with their numbers in codes.

use super::codes::Codes;
use super::draft::{Act, Draft, Function, Kernels, Kind, Weights};
use super::fit::{bias, converter, factor, half, kernel_factors};
use super::view::{CubeAxis, View};
use super::{Code, Hardware, WeightScales};
use std::sync::Arc;
use vp_host::network::{
    self as host, Activation, Bias, ChannelProduct, Converter, Convolution, CpuProgram, CubeAxes,
    Elementwise, Encoding, LookUp, Normalisation, Operation, PairMethod, Scales, Scaling, Slice, Sum,
};
use vp_models::nvdla::numeric::Precision;

/// Bits of fraction that sums keep behind factors of kernels.
const FRACTION: u32 = 10;

/// The most bits by which a cube that is added is shifted left.
const ADDED_SHIFT: u32 = 10;

/// Cause for which a draft has no operation.
pub(crate) type Why = String;

/// Draft with the codes of what it reads and makes.
pub(crate) struct Coded<'a> {
    pub(crate) draft: &'a Draft,
    pub(crate) reads: Vec<Code>,
    pub(crate) makes: Code,
    pub(crate) hardware: &'a Hardware,
}

impl<'a> Coded<'a> {
    pub(crate) fn of(draft: &'a Draft, at: usize, codes: &Codes, hardware: &'a Hardware) -> Coded<'a> {
        let reads = draft.sources.iter().map(|source| codes.of(*source)).collect();
        Coded { draft, reads, makes: codes.of(Some(at)), hardware }
    }

    pub(crate) fn operation(&self) -> Result<Operation, Why> {
        match &self.draft.kind {
            Kind::Convolution(kernels) if self.hardware.is_integer => self.convolution(kernels),
            Kind::Convolution(kernels) => Ok(self.convolution_of_halves(kernels)),
            Kind::Scaling { scales, addends } => self.scaling(scales, addends),
            Kind::Pooling(pooling) => Ok(Operation::Pooling(*pooling)),
            Kind::Sum { takes_first_off } => self.sum(*takes_first_off),
            Kind::Pair(method) => self.pair(*method),
            Kind::ChannelProduct => {
                let converter = self.product()?;
                Ok(Operation::ChannelProduct(ChannelProduct { activation: Activation::None, converter }))
            }
            Kind::Function(function) => Ok(self.function(*function)),
            Kind::Concatenation => Ok(Operation::Concatenation),
            Kind::Normalisation(response) => {
                let of = &self.reads[0];
                let numbers = [response.alpha, response.beta, response.bias, of.scale].map(f64::from);
                let converter = match self.hardware.is_integer {
                    true => Some(
                        converter(
                            f64::from(of.scale) / f64::from(self.makes.scale) / 32767.0,
                            self.makes.zero,
                        )
                        .ok_or("its factor is too large")?,
                    ),
                    false => None,
                };
                let made =
                    Normalisation::new(response.size as u32, numbers, self.hardware.precision(), converter);
                made.map(Operation::Normalisation).ok_or_else(|| "its factors are no numbers".to_owned())
            }
            Kind::Upsampling(factor) => Ok(Operation::Upsampling(*factor)),
            Kind::Slice(from) => Ok(Operation::Slice(Slice { from: *from })),
            Kind::Cpu(on_cpu) => {
                let inputs =
                    on_cpu.inputs.iter().zip(&self.reads).map(|(view, code)| encoding(view, *code)).collect();
                let output = encoding(&on_cpu.output, self.makes);
                Ok(Operation::Cpu(CpuProgram { graph: Arc::new(on_cpu.graph.clone()), inputs, output }))
            }
        }
    }

    /// The activation of an integer layer, of so many channels.
    fn activation(&self) -> Result<Activation, Why> {
        Ok(match &self.draft.activation {
            Act::None => Activation::None,
            Act::Relu | Act::Limited(_) => Activation::Relu,
            Act::Leaky(slopes) => match &slopes[..] {
                [slope] => {
                    let (scale, shift) = factor((*slope).into()).ok_or("its slope is too large")?;
                    Activation::Leaky { scale, shift }
                }
                slopes if self.hardware.is_integer => {
                    let slopes: Vec<f64> = slopes.iter().map(|slope| (*slope).into()).collect();
                    let factors = kernel_factors(&slopes, 0).ok_or("a slope is too large")?;
                    Activation::PRelu(factors.scales)
                }
                slopes => {
                    let values = slopes.iter().map(|slope| half((*slope).into())).collect();
                    Activation::PRelu(Scales { values, shift: 0 })
                }
            },
        })
    }

    fn convolution(&self, kernels: &Kernels) -> Result<Operation, Why> {
        let (x, y) = (self.reads[0], self.makes);
        let count = kernels.kernels as usize;
        let (weights, scales) = self.integers(&kernels.weights, count);
        let each = weights.len() / count.max(1);
        let of_kernel = |kernel: usize| f64::from(scales[kernel % scales.len()]) * f64::from(x.scale);
        let added = kernels.adds.then(|| self.reads[1]);
        let biases: Vec<f64> = (0..count)
            .map(|kernel| {
                let taken: i64 =
                    weights[kernel * each..(kernel + 1) * each].iter().map(|weight| i64::from(*weight)).sum();
                // What is added has its own zero, which is taken off here, before the activation.
                let zero = added.map_or(0.0, |code| f64::from(code.zero) * f64::from(code.scale));
                ((kernels.bias[kernel] - zero) / of_kernel(kernel)).round()
                    - (taken * i64::from(x.zero)) as f64
            })
            .collect();
        let factors: Vec<f64> = (0..count).map(of_kernel).collect();
        let is_one = factors.windows(2).all(|pair| pair[0] == pair[1]);
        let has_slopes = matches!(&self.draft.activation, Act::Leaky(slopes) if slopes.len() > 1);
        let large = || "its factors are larger than 16 bits".to_owned();
        let (scales, shift, converter) = match added {
            Some(code) => {
                // Sums become steps of what is added, or parts of such steps.
                let fitted = (0..=ADDED_SHIFT).rev().find_map(|shift| {
                    let unit = f64::from(code.scale) / f64::from(shift).exp2();
                    let factors: Vec<f64> = factors.iter().map(|factor| factor / unit).collect();
                    Some((kernel_factors(&factors, 0)?, shift, unit))
                });
                let (factors, shift, unit) = fitted.ok_or_else(large)?;
                let converter = converter(unit / f64::from(y.scale), y.zero).ok_or_else(large)?;
                (Some(factors.scales), Some(shift), converter)
            }
            None if is_one && !has_slopes => {
                let converter = converter(factors[0] / f64::from(y.scale), y.zero).ok_or_else(large)?;
                (None, None, converter)
            }
            None => {
                let factors: Vec<f64> = factors.iter().map(|factor| factor / f64::from(y.scale)).collect();
                let fitted = kernel_factors(&factors, FRACTION).ok_or_else(large)?;
                let shift = fitted.fraction;
                let converter = Converter { offset: -(y.zero << shift), scale: 1, shift };
                (Some(fitted.scales), None, converter)
            }
        };
        let has_bias = biases.iter().any(|bias| *bias != 0.0);
        Ok(Operation::Convolution(Convolution {
            kernels: kernels.kernels,
            groups: kernels.groups,
            window: kernels.window,
            weights,
            padding: x.zero as i16,
            truncate: 0,
            bias: has_bias.then(|| bias(&biases)),
            scales,
            added: shift,
            activation: self.activation()?,
            look_up: None,
            converter,
        }))
    }

    /// Weights as integers, and their scales.
    fn integers(&self, weights: &Weights, kernels: usize) -> (Vec<i8>, Vec<f32>) {
        let floats = match weights {
            Weights::Codes { values, scales } => return (values.clone(), scales.clone()),
            Weights::Floats(floats) => floats,
        };
        let largest = |floats: &[f32]| floats.iter().fold(0.0_f32, |most, weight| most.max(weight.abs()));
        let whole = largest(floats).max(f32::MIN_POSITIVE);
        let each = (floats.len() / kernels.max(1)).max(1);
        let scales: Vec<f32> = match self.hardware.weight_scales {
            WeightScales::Tensor => vec![whole / 127.0],
            // Factors have 15 bits: kernels a thousand times smaller than the largest would have too few of them.
            WeightScales::Kernel => {
                floats.chunks(each).map(|kernel| largest(kernel).max(whole / 1024.0) / 127.0).collect()
            }
        };
        let code = |(kernel, weight): (usize, &f32)| (weight / scales[kernel % scales.len()]).round() as i8;
        let of_kernel = |(kernel, weights): (usize, &[f32])| -> Vec<i8> {
            weights.iter().map(|weight| code((kernel, weight))).collect()
        };
        (floats.chunks(each).enumerate().flat_map(of_kernel).collect(), scales)
    }

    fn convolution_of_halves(&self, kernels: &Kernels) -> Operation {
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
            look_up: None,
            converter: Converter::NONE,
        })
    }

    fn scaling(&self, scales: &[f64], addends: &[f64]) -> Result<Operation, Why> {
        let activation = self.activation()?;
        if !self.hardware.is_integer {
            let is_one = scales.iter().all(|scale| *scale == 1.0);
            // SDP adds before it multiplies.
            let addends: Vec<f64> =
                addends.iter().zip(scales).map(|(addend, scale)| addend / scale).collect();
            if addends.iter().any(|addend| !addend.is_finite() || addend.abs() > 65504.0) {
                return Err("SDP adds before it multiplies, and a factor is too small for that".to_owned());
            }
            let values = scales.iter().map(|scale| half(*scale)).collect();
            return Ok(Operation::Scaling(Scaling {
                bias: halves(&addends),
                scales: (!is_one).then_some(Scales { values, shift: 0 }),
                activation,
                look_up: None,
                converter: Converter::NONE,
            }));
        }
        let (x, y) = (self.reads[0], self.makes);
        let factors: Vec<f64> =
            scales.iter().map(|scale| scale * f64::from(x.scale) / f64::from(y.scale)).collect();
        let biases: Vec<f64> = scales
            .iter()
            .zip(addends)
            .map(|(scale, addend)| (addend / (scale * f64::from(x.scale))).round() - f64::from(x.zero))
            .collect();
        let fitted = bias(&biases);
        // A bias is in steps of the input: with factors that differ much its lowest bits may count.
        let lost = 0.5
            * f64::from(1 << fitted.shift >> 1)
            * factors.iter().fold(0.0, |most: f64, f| most.max(f.abs()));
        if biases.iter().any(|bias| !bias.is_finite()) || lost > 1.0 {
            return Err("SDP adds before it multiplies, and its factors differ too much for that".to_owned());
        }
        let has_bias = biases.iter().any(|bias| *bias != 0.0);
        let large = || "its factors are larger than 16 bits".to_owned();
        let is_one = factors.windows(2).all(|pair| pair[0] == pair[1]);
        let (scales, converter) = match is_one {
            true => (None, converter(factors[0], y.zero).ok_or_else(large)?),
            false => {
                let fitted = kernel_factors(&factors, FRACTION).ok_or_else(large)?;
                let shift = fitted.fraction;
                (Some(fitted.scales), Converter { offset: -(y.zero << shift), scale: 1, shift })
            }
        };
        let bias = has_bias.then_some(fitted);
        Ok(Operation::Scaling(Scaling { bias, scales, activation, look_up: None, converter }))
    }

    fn sum(&self, takes_first_off: bool) -> Result<Operation, Why> {
        let sign = if takes_first_off { -1.0 } else { 1.0 };
        let activation = self.activation()?;
        if !self.hardware.is_integer {
            let scale = sign as i16;
            return Ok(Operation::Sum(Sum { scale, shift: 0, activation, converter: Converter::NONE }));
        }
        let ([first, second], y) = ([self.reads[0], self.reads[1]], self.makes);
        let fitted = (0..=ADDED_SHIFT).rev().find_map(|shift| {
            let unit = f64::from(second.scale) / f64::from(shift).exp2();
            let scale = (sign * f64::from(first.scale) / unit).round();
            (scale.abs() <= 32767.0).then_some((scale as i16, shift, unit))
        });
        let (scale, shift, unit) = fitted.ok_or("its inputs' scales differ too much")?;
        let mut made = converter(unit / f64::from(y.scale), y.zero).ok_or("its factor is too large")?;
        let zeros = i64::from(first.zero) * i64::from(scale) + (i64::from(second.zero) << shift);
        let mut activation = activation;
        if zeros != 0 && activation == Activation::Relu {
            // Zero is where the output's codes end: what is less ends there as well.
            if y.zero != -128 {
                return Err("its inputs have zero points, and zero is none of its output's ends".to_owned());
            }
            activation = Activation::None;
        } else if zeros != 0 && activation != Activation::None {
            return Err("its inputs have zero points before its activation".to_owned());
        }
        made.offset =
            i32::try_from(i64::from(made.offset) + zeros).map_err(|_| "its zero points are too large")?;
        Ok(Operation::Sum(Sum { scale, shift, activation, converter: made }))
    }

    /// The converter of a product.
    fn product(&self) -> Result<Converter, Why> {
        if !self.hardware.is_integer {
            return Ok(Converter::NONE);
        }
        let ([first, second], y) = ([self.reads[0], self.reads[1]], self.makes);
        if first.zero != 0 || second.zero != 0 {
            return Err("SDP multiplies codes, and its inputs have zero points".to_owned());
        }
        converter(f64::from(first.scale) * f64::from(second.scale) / f64::from(y.scale), y.zero)
            .ok_or_else(|| "its factor is too large".to_owned())
    }

    fn pair(&self, method: PairMethod) -> Result<Operation, Why> {
        let converter = match method {
            PairMethod::Multiply => self.product()?,
            // Both have the output's codes.
            PairMethod::Maximum | PairMethod::Minimum => Converter::NONE,
        };
        Ok(Operation::Elementwise(Elementwise { method, converter }))
    }

    fn function(&self, function: Function) -> Operation {
        let (x, y) = (self.reads[0], self.makes);
        if self.hardware.is_integer {
            let answer = |code: i32| y.code(function.of(x.number(code)));
            return Operation::Activation(host::Function::Table((-128..=127).map(answer).collect()));
        }
        let (low, high) = function.bend();
        let of = |number: f64| f64::from(function.of(number as f32));
        let look_up = LookUp::of(of, low, high, Precision::Fp16, [1.0; 2]);
        Operation::Scaling(Scaling {
            bias: None,
            scales: None,
            activation: Activation::None,
            look_up: Some(look_up),
            converter: Converter::NONE,
        })
    }
}

impl Function {
    /// The numbers between which it is no line: a table goes on beyond them as the function does.
    fn bend(self) -> (f64, f64) {
        match self {
            Function::Clip(low, high) => {
                let [low, high] = [low, high].map(f64::from);
                match (low.is_finite(), high.is_finite()) {
                    (true, true) => (low, high),
                    (true, false) => (low, low + 1.0),
                    (false, true) => (high - 1.0, high),
                    (false, false) => (-1.0, 1.0),
                }
            }
            Function::Unary(_) => (-8.0, 8.0),
        }
    }

    /// Value at a number.
    pub(crate) fn of(self, number: f32) -> f32 {
        match self {
            Function::Clip(low, high) => number.clamp(low, high),
            Function::Unary(unary) => unary.of(number),
        }
    }
}

/// A bias of numbers in fp16, if any is not zero.
fn halves(values: &[f64]) -> Option<Bias> {
    let has_any = values.iter().any(|value| *value != 0.0);
    has_any.then(|| Bias { values: values.iter().map(|value| half(*value).into()).collect(), shift: 0 })
}

fn bytes(code: i16) -> [i8; 2] {
    code.to_le_bytes().map(u8::cast_signed)
}

/// A tensor whose axes are those of a cube, in codes.
pub(crate) fn encoding(view: &View, code: Code) -> Encoding {
    let (axes, _) = view.apart();
    let of = |wanted: CubeAxis| axes.iter().position(|axis| *axis == wanted);
    let axes = CubeAxes {
        width: of(CubeAxis::Width),
        height: of(CubeAxis::Height),
        channels: of(CubeAxis::Channels),
    };
    Encoding { axes, scale: code.scale, zero: code.zero }
}

impl Hardware {
    /// Format of features and weights.
    pub(crate) fn precision(&self) -> Precision {
        if self.is_integer { Precision::Int8 } else { Precision::Fp16 }
    }
}
