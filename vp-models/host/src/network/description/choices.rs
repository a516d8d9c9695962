//! Choices that a network's file, or who runs it, makes where hardware can do the same in several ways.

use serde::Deserialize;
use std::fmt;
use std::str::FromStr;
use strum::{Display, EnumString, VariantNames};
use vp_models::suggestion::UnknownWord;

/// Choices where hardware can do the same in several ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Choice of weights in memory without their zeros.
    pub compression: Compression,
    /// Choice of Winograd's method for convolutions.
    pub winograd: Winograd,
}

/// Choice of weights in memory without their zeros, on configurations that have weight compression. Results are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Weights lie in memory with their zeros.
    #[default]
    Never,
    /// A layer's weights lie without their zeros where that moves fewer bytes.
    Auto,
}

impl Compression {
    /// Returns the choice where nothing is said: who says how many weights are zero asks what that saves.
    pub(super) fn of(zeros: Option<Share>) -> Compression {
        match zeros {
            Some(_) => Compression::Auto,
            None => Compression::Never,
        }
    }
}

/// Choice of Winograd's method for convolutions with kernels of 3 x 3 that move pixel by pixel, on configurations that have
/// it. Results are near those of the direct method, and not the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Display, EnumString, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", parse_err_ty = UnknownWord, parse_err_fn = Winograd::unknown)]
pub enum Winograd {
    /// No convolution is computed by it.
    #[default]
    Never,
    /// Convolutions are computed by it where that is estimated to be faster.
    Auto,
    /// All such convolutions are computed by it.
    Always,
}

impl Winograd {
    fn unknown(word: &str) -> UnknownWord {
        UnknownWord::of::<Winograd>("choice of Winograd's method", word)
    }
}

/// A share of a whole: from 0 (none) to 1 (all).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize)]
#[serde(try_from = "f64")]
pub struct Share(f64);

impl Share {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Number that is no share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} is no share: it is from 0 (none) to 1 (all)")]
pub struct NoShare {
    text: String,
}

impl TryFrom<f64> for Share {
    type Error = NoShare;

    fn try_from(share: f64) -> Result<Share, NoShare> {
        match (0.0..=1.0).contains(&share) {
            true => Ok(Share(share)),
            false => Err(NoShare { text: share.to_string() }),
        }
    }
}

impl FromStr for Share {
    type Err = NoShare;

    fn from_str(text: &str) -> Result<Share, NoShare> {
        let number = text.parse::<f64>().map_err(|_| NoShare { text: format!("`{text}`") })?;
        Share::try_from(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_choices_are_read_from_words() {
        assert_eq!(["0", "0.25", "1"].map(|text| text.parse::<Share>().unwrap().get()), [0.0, 0.25, 1.0]);
        let refused = |text: &str| text.parse::<Share>().unwrap_err().to_string();
        assert_eq!(refused("1.5"), "1.5 is no share: it is from 0 (none) to 1 (all)");
        assert_eq!(refused("NaN"), "NaN is no share: it is from 0 (none) to 1 (all)");
        assert_eq!(refused("half"), "`half` is no share: it is from 0 (none) to 1 (all)");
        assert_eq!("auto".parse(), Ok(Winograd::Auto));
        let refused = "alway".parse::<Winograd>().unwrap_err().to_string();
        assert_eq!(
            refused,
            "`alway` is no choice of Winograd's method: never, auto or always; nearest: always"
        );
    }
}
