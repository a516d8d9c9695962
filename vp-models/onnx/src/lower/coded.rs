//! Operations of drafts with their numbers in codes.

use super::codes::CubeCodes;
use super::draft::{Draft, DraftActivation, DraftKind};
use super::drafter::Reason;
use super::fit::{KernelFactors, bias, converter, factor, half, kernel_factors};
use super::function::Function;
use super::ranges::{Distribution, Ranges};
use super::view::{CubeAxis, View};
use super::{Code, Hardware};
use std::sync::Arc;
use vp_host::network::{
    self as host, Activation, Bias, ChannelProduct, Converter, CpuProgram, CubeAxes, Elementwise, Encoding,
    LookUp, Method, Normalisation, Operation, PairMethod, Pooling, Scales, Scaling, Slice, Sum,
};
use vp_models::nvdla::numeric::Precision;

/// Bits of fraction that sums keep behind factors of kernels.
const FRACTION: u32 = 10;

/// The most bits by which a cube that is added is shifted left.
pub(super) const ADDED_SHIFT: u32 = 10;

/// The largest number of fp16.
pub(super) const LARGEST_HALF: f64 = 65504.0;

/// Draft with the codes of what it reads and makes.
pub(crate) struct Coded<'a> {
    pub(crate) draft: &'a Draft,
    pub(crate) reads: Vec<Code>,
    pub(crate) makes: Code,
    pub(crate) hardware: &'a Hardware,
    ranges: &'a Ranges,
}

impl<'a> Coded<'a> {
    pub(crate) fn of(
        draft: &'a Draft,
        at: usize,
        codes: &CubeCodes,
        (hardware, ranges): (&'a Hardware, &'a Ranges),
    ) -> Coded<'a> {
        let reads = draft.sources.iter().map(|source| codes.of(*source)).collect();
        Coded { draft, reads, makes: codes.of(Some(at)), hardware, ranges }
    }

    pub(crate) fn operation(&self) -> Result<Operation, Reason> {
        match &self.draft.kind {
            DraftKind::Convolution(kernels) => {
                self.are_numbers(kernels)?;
                match self.hardware.is_integer {
                    true => self.convolution(kernels),
                    false => Ok(self.convolution_of_halves(kernels)),
                }
            }
            DraftKind::Scaling { scales, addends } => self.scaling(scales, addends),
            DraftKind::Pooling(pooling) => self.pooling(*pooling),
            DraftKind::Sum { takes_first_off } => self.sum(*takes_first_off),
            DraftKind::Pair(method) => self.pair(*method),
            DraftKind::ChannelProduct => {
                let converter = self.product()?;
                Ok(Operation::ChannelProduct(ChannelProduct { activation: Activation::None, converter }))
            }
            DraftKind::Function(function) => Ok(self.function(*function)),
            DraftKind::Concatenation => Ok(Operation::Concatenation),
            DraftKind::Normalisation(response) => {
                let of = &self.reads[0];
                if of.zero != 0 {
                    return Err("CDP squares codes, and its input has a zero point".to_owned());
                }
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
            DraftKind::Upsampling(factor) => Ok(Operation::Upsampling(*factor)),
            DraftKind::Interleaving(along) => Ok(Operation::Interleaving(*along)),
            DraftKind::Slice(from) => Ok(Operation::Slice(Slice { from: *from })),
            DraftKind::Cpu(on_cpu) => {
                let inputs =
                    on_cpu.inputs.iter().zip(&self.reads).map(|(view, code)| encoding(view, *code)).collect();
                let output = encoding(&on_cpu.output, self.makes);
                Ok(Operation::Cpu(CpuProgram { graph: Arc::new(on_cpu.graph.clone()), inputs, output }))
            }
        }
    }

    fn pooling(&self, pooling: Pooling) -> Result<Operation, Reason> {
        let pads = [pooling.window.before, pooling.window.after].concat().iter().any(|padding| *padding > 0);
        match pooling.method == Method::Average && pads && self.reads[0].zero != 0 {
            true => Err("PDP pads with the code 0, and its input has a zero point".to_owned()),
            false => Ok(Operation::Pooling(pooling)),
        }
    }

    /// The activation of an integer layer, of so many channels.
    pub(super) fn activation(&self) -> Result<Activation, Reason> {
        Ok(match &self.draft.activation {
            DraftActivation::None | DraftActivation::Table(..) => Activation::None,
            DraftActivation::Relu | DraftActivation::Limited(_) => Activation::Relu,
            DraftActivation::Leaky(slopes) => match &slopes[..] {
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

    /// The table of the draft's function, if it has one, and the converter behind it: of numbers in steps of `unit`.
    pub(super) fn finished(&self, unit: f64) -> Result<(Option<LookUp>, Converter), Reason> {
        let large = || "its factors are larger than 16 bits".to_owned();
        let (scale, zero) = (f64::from(self.makes.scale), self.makes.zero);
        let DraftActivation::Table(function, before) = self.draft.activation else {
            return Ok((None, converter(unit / scale, zero).ok_or_else(large)?));
        };
        let seen = self.ranges.get(&before).map(Distribution::seen);
        let (low, high) = function.table_of_sums(seen);
        let of = |number: f64| f64::from(function.of(number as f32));
        // Answers have 16 bits and end there: as far as the output's codes go, whatever of that lies beyond the table.
        let ends = [-128, 127].map(|code| f64::from(self.makes.number(code)).abs());
        let answer = ends[0].max(ends[1]) / 32767.0;
        let look_up = LookUp::of(of, low, high, Precision::Int8, [unit, answer]);
        Ok((Some(look_up), converter(answer / scale, zero).ok_or_else(large)?))
    }

    /// The table of the draft's function in fp16, if it has one.
    pub(super) fn look_up_of_halves(&self) -> Option<LookUp> {
        match self.draft.activation {
            DraftActivation::Table(function, _) => look_up_of_halves(function),
            _ => None,
        }
    }

    /// Factors of kernels or channels, the number that a step behind them is, which is a part of the output's, and the factors that these are.
    pub(super) fn factors(&self, factors: &[f64]) -> Option<(Scales, f64, Vec<f64>)> {
        let scale = f64::from(self.makes.scale);
        let factors: Vec<f64> = factors.iter().map(|factor| factor / scale).collect();
        let KernelFactors { scales, fraction, told } = kernel_factors(&factors, FRACTION)?;
        let told = told.into_iter().map(|factor| factor * scale).collect();
        Some((scales, scale / f64::from(fraction).exp2(), told))
    }

    /// Returns true if a converter of steps of that many numbers can add the output's zero point, which it does in such steps before it
    /// multiplies, to an eighth of a code.
    pub(super) fn tells_zero(&self, unit: f64) -> bool {
        self.makes.zero == 0 || unit.abs() <= 0.25 * f64::from(self.makes.scale)
    }

    /// Returns a reason if a bias of 16 bits and a shift is more than a step of the output from the exact one.
    pub(super) fn keeps_bias(&self, bias: &Bias, exact: &[f64], factors: &[f64]) -> Result<(), Reason> {
        let step = f64::from(bias.shift).exp2();
        let lost = |((value, exact), factor): ((&i32, &f64), &f64)| {
            (f64::from(*value) * step - exact).abs() * factor.abs()
        };
        let is_kept =
            bias.values.iter().zip(exact).zip(factors).map(lost).all(|lost| lost <= self.makes.scale.into());
        match is_kept {
            true => Ok(()),
            false if factors.windows(2).all(|pair| pair[0] == pair[1]) => {
                let largest = exact.iter().fold(0.0_f64, |most, bias| most.max(bias.abs()));
                Err(format!(
                    "SDP's biases have 16 bits and one shift for all channels, and one of {largest} steps of a product \
                     leaves others inexact by more than a step of the output"
                ))
            }
            false => {
                Err("SDP adds before it multiplies, and its factors differ too much for that".to_owned())
            }
        }
    }

    fn scaling(&self, scales: &[f64], addends: &[f64]) -> Result<Operation, Reason> {
        let activation = self.activation()?;
        if !self.hardware.is_integer {
            let is_one = scales.iter().all(|scale| *scale == 1.0);
            // SDP adds before it multiplies.
            let addends: Vec<f64> =
                addends.iter().zip(scales).map(|(addend, scale)| addend / scale).collect();
            if addends.iter().any(|addend| !addend.is_finite() || addend.abs() > LARGEST_HALF) {
                return Err("SDP adds before it multiplies, and a factor is too small for that".to_owned());
            }
            let values = scales.iter().map(|scale| half(*scale)).collect();
            return Ok(Operation::Scaling(Scaling {
                bias: halves(&addends),
                scales: (!is_one).then_some(Scales { values, shift: 0 }),
                activation,
                look_up: self.look_up_of_halves(),
                converter: Converter::NONE,
            }));
        }
        let x = self.reads[0];
        let factors: Vec<f64> = scales.iter().map(|scale| scale * f64::from(x.scale)).collect();
        let large = || "its factors are larger than 16 bits".to_owned();
        let is_one = factors.windows(2).all(|pair| pair[0] == pair[1]);
        let (scales, unit, told) = match is_one && self.tells_zero(factors[0]) {
            true => (None, factors[0], factors),
            false => {
                let (scales, unit, told) = self.factors(&factors).ok_or_else(large)?;
                (Some(scales), unit, told)
            }
        };
        let in_steps = |(factor, addend): (&f64, &f64)| (addend / factor).round() - f64::from(x.zero);
        let biases: Vec<f64> = told.iter().zip(addends).map(in_steps).collect();
        let fitted = bias(&biases);
        if biases.iter().any(|bias| !bias.is_finite()) {
            return Err("SDP adds before it multiplies, and a factor is too small for that".to_owned());
        }
        self.keeps_bias(&fitted, &biases, &told)?;
        let has_bias = biases.iter().any(|bias| *bias != 0.0);
        let (look_up, converter) = self.finished(unit)?;
        let bias = has_bias.then_some(fitted);
        Ok(Operation::Scaling(Scaling { bias, scales, activation, look_up, converter }))
    }

    fn sum(&self, takes_first_off: bool) -> Result<Operation, Reason> {
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
    fn product(&self) -> Result<Converter, Reason> {
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

    fn pair(&self, method: PairMethod) -> Result<Operation, Reason> {
        let converter = match method {
            PairMethod::Multiply => self.product()?,
            // Both have the output's codes.
            PairMethod::Maximum | PairMethod::Minimum => Converter::NONE,
        };
        Ok(Operation::Elementwise(Elementwise { method, converter }))
    }

    fn function(&self, function: Function) -> Operation {
        let (x, y) = (self.reads[0], self.makes);
        if let Function::Clip(low, high) = function
            && self.hardware.is_integer
            && x == y
        {
            return Operation::Activation(host::Function::Clamp { low: y.code(low), high: y.code(high) });
        }
        if self.hardware.is_integer {
            let answer = |code: i32| y.code(function.of(x.number(code)));
            return Operation::Activation(host::Function::Table((-128..=127).map(answer).collect()));
        }
        Operation::Scaling(Scaling {
            bias: None,
            scales: None,
            activation: Activation::None,
            look_up: look_up_of_halves(function),
            converter: Converter::NONE,
        })
    }
}

/// The function's table in fp16, if it has one.
fn look_up_of_halves(function: Function) -> Option<LookUp> {
    let (low, high) = function.table_of_halves()?;
    Some(LookUp::of(|number| f64::from(function.of(number as f32)), low, high, Precision::Fp16, [1.0; 2]))
}

/// A bias of numbers in fp16, if any is not zero.
pub(super) fn halves(values: &[f64]) -> Option<Bias> {
    let has_any = values.iter().any(|value| *value != 0.0);
    has_any.then(|| Bias { values: values.iter().map(|value| half(*value).into()).collect(), shift: 0 })
}

pub(super) fn bytes(code: i16) -> [i8; 2] {
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
