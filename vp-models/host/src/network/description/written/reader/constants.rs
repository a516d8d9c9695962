//! Constants of SDP: scales, slopes, tables, padding, and the layers that are nothing else.

use super::{Read, Reader, activation, unlike, wrong};
use crate::network::description::written::{
    Leaky, WrittenLookUp, WrittenProduct, WrittenScales, WrittenScaling, WrittenSlope,
};
use crate::network::description::{
    Activation, ChannelProduct, LookUp, Operation, Scales, Scaling, Shape, Slope, synthetic,
};
use std::ops::RangeInclusive;
use vp_models::nvdla::numeric::Precision;
use vp_models::toml_text::KeyError;

impl Reader<'_, '_> {
    /// A factor for each kernel or channel, of 16 bits.
    pub(super) fn scales(
        &mut self,
        key: &'static str,
        written: &WrittenScales,
        channels: u32,
    ) -> Result<Scales, KeyError> {
        let &WrittenScales { values: ref file, shift } = written;
        self.refuse_in_fp16([(key, shift.is_some())])
            .map_err(|_| wrong(key, format!("`{key}.shift` is of integers: in fp16 nothing is shifted")))?;
        let bytes = self.tensor(key, file, [2 * u64::from(channels)])?;
        let values = bytes.as_chunks().0.iter().map(|pair| i16::from_le_bytes(*pair)).collect();
        Ok(Scales { values, shift: shift.unwrap_or(0) })
    }

    /// The code that padding holds: of a number in fp16.
    pub(super) fn padding_value(&self, written: Option<f64>) -> Result<i16, KeyError> {
        let value = written.unwrap_or_default();
        let range = match self.network.precision {
            Precision::Fp16 => return Ok(synthetic::half(value)),
            Precision::Int8 => f64::from(i8::MIN)..=f64::from(i8::MAX),
            Precision::Int16 => f64::from(i16::MIN)..=f64::from(i16::MAX),
        };
        match range.contains(&value) && value.fract() == 0.0 {
            true => Ok(value as i16),
            false => {
                let [least, most] = [range.start(), range.end()];
                let what =
                    format!("padding_value = {value}: of {} it is {least} to {most}", self.network.precision);
                Err(wrong("padding_value", what))
            }
        }
    }

    /// The function of negative values: `relu`, `leaky` or `prelu`, which has a factor for each channel.
    pub(super) fn activation(
        &mut self,
        (relu, leaky): (bool, Option<Leaky>),
        prelu: Option<&WrittenScales>,
        channels: u32,
    ) -> Result<Activation, KeyError> {
        match prelu {
            None => Ok(activation(relu, leaky)),
            Some(_) if relu || leaky.is_some() => {
                Err(wrong("prelu", "one of `relu`, `leaky` and `prelu` says what becomes of negative values"))
            }
            Some(slopes) => Ok(Activation::PRelu(self.scales("prelu", slopes, channels)?)),
        }
    }

    /// A table: its start and its slopes are numbers in fp16.
    pub(super) fn look_up(&mut self, written: &WrittenLookUp) -> Result<LookUp, KeyError> {
        let &WrittenLookUp { ref values, start, step, below, above } = written;
        let is_float = self.network.precision == Precision::Fp16;
        let steps = if is_float { -126..=127 } else { 0..=31 };
        if !steps.contains(&step) {
            let what =
                format!("look_up.step = {step}: an exponent from {} to {}", steps.start(), steps.end());
            return Err(wrong("look_up.step", what));
        }
        let bytes = self.tensor("look_up", values, [2 * LookUp::ENTRIES as u64])?;
        Ok(LookUp {
            start: match is_float {
                true => (start as f32).to_bits().into(),
                false => whole("look_up.start", start, i32::MIN.into()..=i32::MAX.into())?,
            },
            step,
            values: bytes.as_chunks().0.iter().map(|pair| i16::from_le_bytes(*pair)).collect(),
            below: slope("look_up.below", below, is_float)?,
            above: slope("look_up.above", above, is_float)?,
        })
    }

    pub(super) fn scaling(&mut self, written: &WrittenScaling, input: Shape) -> Read {
        let WrittenScaling { bias, scales, relu, leaky, prelu, look_up, converter } = written;
        let channels = input.channels;
        let is_shifted = bias.as_ref().is_some_and(|bias| bias.shift > 0);
        self.refuse_in_fp16([("bias.shift", is_shifted)])?;
        let scaling = Scaling {
            bias: bias.as_ref().map(|bias| self.bias(bias, channels)).transpose()?,
            scales: scales.as_ref().map(|scales| self.scales("scales", scales, channels)).transpose()?,
            activation: self.activation((*relu, *leaky), prelu.as_ref(), channels)?,
            look_up: look_up.as_ref().map(|table| self.look_up(table)).transpose()?,
            converter: self.converter(*converter)?,
        };
        Ok((Operation::Scaling(scaling), input))
    }

    pub(super) fn channel_product(&mut self, written: &WrittenProduct, shapes: &[Shape]) -> Read {
        let WrittenProduct { relu, leaky, prelu, converter, .. } = written;
        let (input, factors) = (shapes[0], shapes[1]);
        if factors != (Shape { width: 1, height: 1, ..input }) {
            return Err(unlike("factors", input, factors));
        }
        let product = ChannelProduct {
            activation: self.activation((*relu, *leaky), prelu.as_ref(), input.channels)?,
            converter: self.converter(*converter)?,
        };
        Ok((Operation::ChannelProduct(product), input))
    }
}

/// An integer of a range.
fn whole(key: &'static str, value: f64, range: RangeInclusive<i64>) -> Result<i64, KeyError> {
    match value.fract() == 0.0 && range.contains(&(value as i64)) {
        true => Ok(value as i64),
        false => {
            let what = format!("{key} = {value}: an integer from {} to {}", range.start(), range.end());
            Err(wrong(key, what))
        }
    }
}

fn slope(key: &'static str, written: Option<WrittenSlope>, is_float: bool) -> Result<Slope, KeyError> {
    let Some(WrittenSlope { scale, shift }) = written else { return Ok(Slope::default()) };
    if is_float {
        return match shift {
            None => Ok(Slope { scale: synthetic::half(scale), shift: 0 }),
            Some(_) => Err(wrong(key, format!("`{key}.shift` is of integers: in fp16 nothing is shifted"))),
        };
    }
    let shift = shift.unwrap_or(0);
    if !(-16..=15).contains(&shift) {
        return Err(wrong(key, format!("{key}.shift = {shift}: from -16 to 15")));
    }
    let scale = whole(key, scale, i16::MIN.into()..=i16::MAX.into())?;
    Ok(Slope { scale: scale as i16, shift })
}
