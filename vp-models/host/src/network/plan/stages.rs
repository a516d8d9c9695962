//! Use of SDP's stages BS and BN by a layer: which does what, and which constants each reads.

use crate::network::description::{
    Activation, Bias, ChannelProduct, Converter, Convolution, Elementwise, Function, LookUp, Operation,
    PairMethod, Scales, Scaling,
};
use crate::network::layout::{CubePlace, MemoryAddress};
use crate::network::registers::{Alu, Factor, Operand, Stage, half};
use std::borrow::Cow;
use std::ops::Range;
use vp_models::nvdla::numeric::{Precision, round_shift};
use vp_models::nvdla::sdp::layer::AluOperation;

/// Functions of the sums of a convolution, or of elements, with constants for each channel: bias, factor, another cube added,
/// activation. BS has bias and factors; BN the other cube, and what the activation multiplies where BS multiplies already.
#[derive(Clone, Copy)]
pub(super) struct Channelwise<'a> {
    bias: Option<&'a Bias>,
    scales: Option<&'a Scales>,
    activation: &'a Activation,
    /// BS multiplies by a cube of one pixel.
    product: bool,
    /// Left shift of a cube that is added.
    added: Option<u32>,
    /// Bits by which the sums are too small.
    missing: u32,
    precision: Precision,
}

/// Constants that a stage reads for each channel.
#[derive(Clone, Copy, Default)]
pub(super) struct ChannelConstants<'a> {
    bias: Option<&'a Bias>,
    factors: Option<Factors<'a>>,
}

/// Factors of a stage in memory.
#[derive(Clone, Copy)]
enum Factors<'a> {
    /// One of each channel's own.
    Own(&'a Scales),
    /// One for all channels. It is in memory because the bias is: NVIDIA's driver takes both operands of a stage from one source (`sdp.c`).
    Equal(i16),
}

impl Factors<'_> {
    fn of(self, channel: usize) -> i16 {
        match self {
            Factors::Own(scales) => scales.values[channel],
            Factors::Equal(factor) => factor,
        }
    }
}

impl ChannelConstants<'_> {
    /// The constants' name, if there are any.
    pub(super) fn name(&self) -> Option<&'static str> {
        match (self.bias, self.factors) {
            (Some(_), None) => Some("bias"),
            (None, Some(_)) => Some("factors"),
            (Some(_), Some(_)) => Some("bias and factors"),
            (None, None) => None,
        }
    }

    /// The operands of some channels, as memory holds them: 16 bits for each, of a channel the bias first. Sums that are so many bits
    /// too small take a bias as much smaller.
    pub(super) fn values(&self, channels: Range<usize>, missing: u32) -> Vec<Vec<i16>> {
        let of_channel = |channel: usize| {
            let bias = self.bias.map(|bias| {
                // They have 16 bits: `operations` refuses others.
                round_shift(bias.values[channel].into(), missing.saturating_sub(bias.shift)) as i16
            });
            bias.into_iter().chain(self.factors.map(|factors| factors.of(channel))).collect()
        };
        channels.map(of_channel).collect()
    }
}

impl<'a> Channelwise<'a> {
    /// Functions of a convolution's sums, which are so many bits too small.
    pub(super) fn of_convolution(convolution: &'a Convolution, missing: u32, precision: Precision) -> Self {
        let Convolution { bias, scales, activation, added, .. } = convolution;
        let (bias, scales) = (bias.as_ref(), scales.as_ref());
        Channelwise { bias, scales, activation, product: false, added: *added, missing, precision }
    }

    /// Functions of the elements of one cube, where a layer has constants for each channel.
    pub(super) fn of_elements(operation: &'a Operation, precision: Precision) -> Option<Self> {
        let alone = Channelwise {
            bias: None,
            scales: None,
            activation: &Activation::None,
            product: false,
            added: None,
            missing: 0,
            precision,
        };
        match operation {
            Operation::Scaling(Scaling { bias, scales, activation, .. }) => {
                Some(Channelwise { bias: bias.as_ref(), scales: scales.as_ref(), activation, ..alone })
            }
            Operation::ChannelProduct(ChannelProduct { activation, .. }) => {
                Some(Channelwise { activation, product: true, ..alone })
            }
            _ => None,
        }
    }

    /// Returns true if BS multiplies before any activation.
    fn multiplies_first(&self) -> bool {
        self.product || self.scales.is_some() || self.missing > 0
    }

    /// Returns the constants of BS, and those of BN.
    pub(super) fn constants(&self) -> [ChannelConstants<'a>; 2] {
        let scaled = match (self.scales, self.bias) {
            (Some(scales), _) => Some(Factors::Own(scales)),
            (None, Some(_)) if self.missing > 0 => Some(Factors::Equal(raising(self.missing))),
            _ => None,
        };
        let slopes = match *self.activation {
            Activation::PRelu(ref slopes) => Some(Factors::Own(slopes)),
            Activation::Leaky { scale, shift } if self.bias.is_some() && !self.is_behind() => {
                Some(Factors::Equal(leak(scale, shift, self.precision).0))
            }
            _ => None,
        };
        let factors = if self.multiplies_first() { [scaled, slopes] } else { [slopes, None] };
        [
            ChannelConstants { bias: self.bias, factors: factors[0] },
            ChannelConstants { bias: None, factors: factors[1] },
        ]
    }

    /// Returns the stages, with the places of their constants and of the cube that is added, or that multiplies.
    pub(super) fn stages(
        &self,
        [bs_constants, bn_constants]: [Option<MemoryAddress>; 2],
        second: Option<CubePlace>,
    ) -> [Stage; 2] {
        let &Channelwise { bias, scales, activation, missing, precision, .. } = self;
        let [pixel, added] = if self.product { [second, None] } else { [None, second] };
        let mut bs = Stage {
            operand: pixel.map(Operand::Pixel).or(bs_constants.map(Operand::Channels)),
            alu: bias.map(|bias| Alu::of_memory(AluOperation::Sum, bias.shift.saturating_sub(missing))),
            ..Stage::default()
        };
        if self.product {
            bs.factor = Some(Factor { register: None, prelu: false });
        } else if let Some(scales) = scales {
            // Sums that are too small are shifted as much less.
            (bs.factor, bs.shift) =
                (Some(Factor { register: None, prelu: false }), scales.shift.saturating_sub(missing));
        } else if missing > 0 {
            // They become what they should be when the bias has come.
            let register = bias.is_none().then_some(raising(missing));
            bs.factor = Some(Factor { register, prelu: false });
        }
        let mut bn = Stage {
            operand: added.map(Operand::Elements).or(bn_constants.map(Operand::Channels)),
            alu: self.added.map(|shift| Alu::of_memory(AluOperation::Sum, shift)),
            ..Stage::default()
        };
        activate(if self.is_behind() { &mut bn } else { &mut bs }, activation, precision);
        if let (Some(factor), true, false) = (&mut bs.factor, bias.is_some(), self.is_behind()) {
            factor.register = None;
        }
        [bs, bn]
    }

    /// Returns true if BN has the activation.
    fn is_behind(&self) -> bool {
        let multiplies = matches!(self.activation, Activation::Leaky { .. } | Activation::PRelu(_));
        self.added.is_some() || self.missing > 0 || self.multiplies_first() && multiplies
    }

    /// Returns true for each of BS and BN if it has something to do.
    pub(super) fn needs(&self) -> [bool; 2] {
        self.stages([None; 2], None).map(|stage| stage != Stage::default())
    }
}

/// The factor by which sums that are so many bits too small become what they should be.
fn raising(missing: u32) -> i16 {
    1 << missing.min(14)
}

/// Factor and shift of negative values. Nothing is shifted in fp16: the factor is a fraction.
fn leak(scale: i16, shift: u32, precision: Precision) -> (i16, u32) {
    match precision {
        Precision::Fp16 => (half(f32::from(scale) * (-(shift as f32)).exp2()), 0),
        Precision::Int8 | Precision::Int16 => (scale, shift),
    }
}

/// Makes a stage end with an activation; one that multiplies takes its multiplier.
fn activate(stage: &mut Stage, activation: &Activation, precision: Precision) {
    match *activation {
        Activation::None => {}
        Activation::Relu => stage.relu = true,
        Activation::Leaky { scale, shift } => {
            let (factor, shift) = leak(scale, shift, precision);
            stage.factor = Some(Factor { register: Some(factor), prelu: true });
            stage.shift = shift;
        }
        Activation::PRelu(ref slopes) => {
            stage.factor = Some(Factor { register: None, prelu: true });
            stage.shift = slopes.shift;
        }
    }
}

/// Returns the stages of SDP for elements from memory: BS has factors and activations of one cube, BN the second cube.
pub(super) fn stages_of_elements(
    operation: &Operation,
    second: Option<CubePlace>,
    precision: Precision,
) -> ([Stage; 2], Converter) {
    let operand = second.map(Operand::Elements);
    let alone = |activation| {
        let mut stage = Stage::default();
        activate(&mut stage, &activation, precision);
        ([stage, Stage::default()], Converter::NONE)
    };
    let joined = |operation| {
        let alu = Some(Alu::of_memory(operation, 0));
        Stage { operand, alu, ..Stage::default() }
    };
    match operation {
        Operation::Sum(sum) => {
            let is_float = precision == Precision::Fp16;
            let scale = if is_float { half(sum.scale.into()) } else { sum.scale };
            let factor = (sum.scale != 1).then_some(Factor { register: Some(scale), prelu: false });
            let alu = Some(Alu::of_memory(AluOperation::Sum, sum.shift));
            let (added, mut behind) = (Stage { operand, alu, ..Stage::default() }, Stage::default());
            // A stage with an operand in memory has none in a register, if there is another one.
            if factor.is_none() && matches!(sum.activation, Activation::Leaky { .. }) {
                activate(&mut behind, &sum.activation, precision);
                return ([added, behind], sum.converter);
            }
            let mut added = added;
            activate(&mut added, &sum.activation, precision);
            ([Stage { factor, ..Stage::default() }, added], sum.converter)
        }
        Operation::Elementwise(Elementwise { method, converter }) => {
            let stage = match method {
                PairMethod::Multiply => {
                    let factor = Some(Factor { register: None, prelu: false });
                    Stage { operand, factor, ..Stage::default() }
                }
                PairMethod::Maximum => joined(AluOperation::Max),
                PairMethod::Minimum => joined(AluOperation::Min),
            };
            ([Stage::default(), stage], *converter)
        }
        Operation::Activation(Function::Leaky { scale, shift }) => {
            alone(Activation::Leaky { scale: *scale, shift: *shift })
        }
        &Operation::Activation(Function::Clamp { low, high }) => {
            let bound = |operation, bound: i8| {
                let bound = if precision == Precision::Fp16 { half(bound.into()) } else { bound.into() };
                let alu = Some(Alu { operation, register: Some(bound), shift: 0 });
                Stage { alu, ..Stage::default() }
            };
            ([bound(AluOperation::Max, low), bound(AluOperation::Min, high)], Converter::NONE)
        }
        Operation::Activation(Function::Relu) => alone(Activation::Relu),
        _ => alone(Activation::None),
    }
}

/// Returns the table behind the stages, if a layer has one.
pub(super) fn look_up(operation: &Operation) -> Option<Cow<'_, LookUp>> {
    match operation {
        Operation::Convolution(Convolution { look_up, .. }) | Operation::Scaling(Scaling { look_up, .. }) => {
            look_up.as_ref().map(Cow::Borrowed)
        }
        Operation::Activation(Function::Table(answers)) => Some(Cow::Owned(LookUp::of_answers(answers))),
        _ => None,
    }
}

/// The converter of a layer with constants for each channel.
pub(super) fn converter(operation: &Operation) -> Converter {
    match operation {
        Operation::Scaling(Scaling { converter, .. })
        | Operation::ChannelProduct(ChannelProduct { converter, .. }) => *converter,
        _ => Converter::NONE,
    }
}
