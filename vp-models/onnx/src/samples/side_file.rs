//! Files that say how pictures are preprocessed; their keys are in the documentation of the module `preprocess`.

use super::picture::Channels;
use super::preprocess::{Crop, Layout, Position, Preprocess, Preset, ResizeMode};
use super::resample::Interpolation;
use crate::side_file;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use strum::VariantNames as _;
use toml::Value;
use vp_models::toml_text::{TextError, TomlText};

/// Longest side that may be given.
const MOST_SIDE: i64 = 65_535;

/// Least share of a picture that is cut out.
const LEAST_SHARE: f64 = 0.01;

/// A file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    preset: Option<Preset>,
    channels: Option<Channels>,
    resize: Option<ResizeMode>,
    size: Option<Value>,
    crop: Option<Value>,
    interpolation: Option<Interpolation>,
    position: Option<Position>,
    fill: Option<Value>,
    scale: Option<Value>,
    mean: Option<Value>,
    std: Option<Value>,
    layout: Option<Layout>,
}

impl Preprocess {
    /// Returns the preprocessing of a name ([`Preset`]), or of a file.
    ///
    /// # Errors
    /// Says which file, line and key is wrong.
    pub fn load(name_or_file: &Path) -> Result<Preprocess, TextError> {
        match name_or_file.to_str().map(str::parse::<Preset>) {
            Some(Ok(preset)) => Ok(preset.into()),
            _ => side_file::read_unnamed(name_or_file, Preset::VARIANTS, Preprocess::parse),
        }
    }

    /// Returns the name of the file that may lie beside a model: `model.preprocess.toml` of `model.onnx`.
    pub fn file_beside(model: &Path) -> PathBuf {
        model.with_extension("preprocess.toml")
    }

    /// Returns the preprocessing of the file beside a model, if there is one.
    ///
    /// # Errors
    /// As [`load`](Preprocess::load).
    pub fn beside(model: &Path) -> Result<Option<Preprocess>, TextError> {
        side_file::read_beside(&Preprocess::file_beside(model), Preprocess::parse)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// As [`load`](Preprocess::load).
    pub fn parse(text: &str) -> Result<Preprocess, TextError> {
        let text = TomlText::parse(text)?;
        let written: Written = text.read()?;
        let base = Preprocess::from(written.preset.unwrap_or(Preset::Raw));
        let channels = written.channels.or(base.channels);
        let reader = Reader { text: &text, channels };
        let std = reader.numbers("std", written.std, base.std)?;
        if std.contains(&0.0) {
            return Err(text.wrong("std", "std: 0, by which nothing is divided"));
        }
        Ok(Preprocess {
            channels,
            resize: written.resize.unwrap_or(base.resize),
            size: written.size.map(|value| reader.size("size", &value)).transpose()?.or(base.size),
            interpolation: written.interpolation.unwrap_or(base.interpolation),
            crop: written.crop.map(|value| reader.crop(&value)).transpose()?.or(base.crop),
            position: written.position.unwrap_or(base.position),
            fill: reader.numbers("fill", written.fill, base.fill)?,
            scale: written.scale.map_or(Ok(base.scale), |value| reader.scale(&value))?,
            mean: reader.numbers("mean", written.mean, base.mean)?,
            std,
            layout: written.layout.or(base.layout),
        })
    }
}

/// Reader of the keys that have several forms.
struct Reader<'t, 'a> {
    text: &'t TomlText<'a>,
    channels: Option<Channels>,
}

impl Reader<'_, '_> {
    fn wrong<T>(&self, key: &str, expected: &str) -> Result<T, TextError> {
        Err(self.text.wrong(key, format!("{key}: expected {expected}")))
    }

    fn size(&self, key: &str, value: &Value) -> Result<[usize; 2], TextError> {
        let side = |value: &Value| match value.as_integer() {
            Some(side @ 1..=MOST_SIDE) => Some(side.unsigned_abs() as usize),
            _ => None,
        };
        let size = match value {
            Value::Array(list) => match &list[..] {
                [width, height] => side(width).zip(side(height)).map(|(width, height)| [width, height]),
                _ => None,
            },
            one => side(one).map(|side| [side; 2]),
        };
        let expected = "a side from 1 to 65535, or [width, height]";
        size.map_or_else(|| self.wrong(key, expected), Ok)
    }

    fn crop(&self, value: &Value) -> Result<Crop, TextError> {
        match value {
            Value::Float(share) if (LEAST_SHARE..=1.0).contains(share) => Ok(Crop::Share(*share)),
            Value::Float(_) => self.wrong("crop", "a share from 0.01 to 1.0, a side, or [width, height]"),
            value => self.size("crop", value).map(Crop::Size),
        }
    }

    fn scale(&self, value: &Value) -> Result<f64, TextError> {
        let scale = match value {
            Value::String(quotient) => quotient.split_once('/').and_then(|(above, below)| {
                Some(above.trim().parse::<f64>().ok()? / below.trim().parse::<f64>().ok()?)
            }),
            value => number(value),
        };
        let scale = scale.filter(|scale| scale.is_finite() && *scale != 0.0);
        scale
            .map_or_else(|| self.wrong("scale", "a number other than 0, or a quotient such as \"1/255\""), Ok)
    }

    /// One number, or one for each channel.
    fn numbers(&self, key: &str, value: Option<Value>, other: Vec<f64>) -> Result<Vec<f64>, TextError> {
        let numbers = match value {
            None => return Ok(other),
            Some(Value::Array(list)) => list.iter().map(number).collect(),
            Some(one) => number(&one).map(|one| vec![one]),
        };
        let counts = self.channels.map_or(vec![1, 3], |channels| vec![1, channels.count()]);
        let numbers = numbers.filter(|numbers: &Vec<f64>| counts.contains(&numbers.len()));
        let expected = match counts[1] {
            1 => "a number",
            _ => "a number, or a list of 3, one for each channel",
        };
        numbers.map_or_else(|| self.wrong(key, expected), Ok)
    }
}

fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Integer(integer) => *integer as f64,
        Value::Float(float) => *float,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests;
