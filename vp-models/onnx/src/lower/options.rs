//! Choices for making a network of a graph.

use super::RangeMethod;
use std::str::FromStr;
use vp_host::network::Winograd;
use vp_models::nvdla::numeric::Precision;

/// Number of scales that weights have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightScales {
    /// One for a layer's.
    Tensor,
    /// One for each kernel's.
    #[default]
    Kernel,
}

impl FromStr for WeightScales {
    type Err = String;

    fn from_str(text: &str) -> Result<WeightScales, String> {
        match text {
            "per-tensor" => Ok(WeightScales::Tensor),
            "per-kernel" => Ok(WeightScales::Kernel),
            _ => Err(format!("found `{text}`, expected per-kernel or per-tensor")),
        }
    }
}

/// Choices for making a network of a graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LowerOptions {
    /// Format of features and weights; if absent fp16 where the model is not quantised and the configuration has it, else int8.
    pub precision: Option<Precision>,
    /// Choice of ranges by samples.
    pub method: RangeMethod,
    /// Scales of weights that the model does not quantise itself.
    pub weights: WeightScales,
    /// Choice of Winograd's method for convolutions.
    pub winograd: Option<Winograd>,
}

impl Default for LowerOptions {
    fn default() -> LowerOptions {
        LowerOptions {
            precision: None,
            method: RangeMethod::MinMax,
            weights: WeightScales::Kernel,
            winograd: None,
        }
    }
}
