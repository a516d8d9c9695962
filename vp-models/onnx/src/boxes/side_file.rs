//! Files that say how a detector's outputs become boxes; their keys are in the documentation of the module `boxes`.

use super::{Background, BoxUnits, Detector, DetectorForm, FormName};
use crate::side_file;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use strum::VariantNames as _;
use toml::Value;
use vp_models::toml_text::{TextError, TomlText};

/// Most boxes that may be asked for.
const MOST_BOXES: usize = 10_000;

/// Most strides, anchors of an output, or outputs with anchors.
const MOST_LIST: usize = 64;

/// Largest side of an anchor, in cells or pixels.
const MOST_ANCHOR: f64 = 65_535.0;

/// Most classes.
const MOST_CLASSES: usize = 65_535;

/// Largest stride, in pixels.
const MOST_STRIDE: usize = 4096;

/// A file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    form: FormName,
    outputs: Option<Vec<String>>,
    threshold: Option<f64>,
    overlap: Option<f64>,
    most: Option<usize>,
    strides: Option<Vec<usize>>,
    anchors: Option<Value>,
    classes: Option<usize>,
    units: Option<BoxUnits>,
    background: Option<Value>,
    core: Option<f64>,
    grow: Option<f64>,
}

impl FormName {
    /// Least score and largest overlap, where a file says neither: as detectors of the form are commonly run.
    fn limits(self) -> [f64; 2] {
        match self {
            FormName::Corners | FormName::Picodet => [0.5, 0.5],
            FormName::Yolov2 | FormName::Yolox => [0.3, 0.45],
            FormName::Yolov3 | FormName::Yolov5 => [0.25, 0.45],
            FormName::Yolov8 => [0.25, 0.7],
            // Suppressed by the model.
            FormName::Yolov10 => [0.25, 1.0],
            // Islands do not overlap, but the boxes around them may.
            FormName::Mask => [0.5, 1.0],
        }
    }

    fn takes(self, key: &str) -> bool {
        match key {
            "strides" => matches!(self, FormName::Yolox | FormName::Picodet),
            "classes" => matches!(self, FormName::Yolov5 | FormName::Yolov8),
            "anchors" => matches!(self, FormName::Yolov2 | FormName::Yolov3),
            "units" | "background" => self == FormName::Corners,
            "core" | "grow" => self == FormName::Mask,
            "overlap" => self != FormName::Mask,
            _ => true,
        }
    }
}

impl Detector {
    /// Returns the detector of a name ([`FormName`]), or of a file.
    ///
    /// # Errors
    /// Says which file, line and key is wrong.
    pub fn load(name_or_file: &Path) -> Result<Detector, TextError> {
        match name_or_file.to_str().map(str::parse::<FormName>) {
            Some(Ok(form)) => Detector::parse(&format!("form = \"{form}\""))
                .map_err(|error| TextError::whole(format!("boxes of form {form}: {}", error.what))),
            _ => side_file::read_unnamed(name_or_file, FormName::VARIANTS, Detector::parse),
        }
    }

    /// Returns the name of the file that may lie beside a model: `model.boxes.toml` of `model.onnx`.
    pub fn file_beside(model: &Path) -> PathBuf {
        model.with_extension("boxes.toml")
    }

    /// Returns the detector of the file beside a model, if there is one.
    ///
    /// # Errors
    /// As [`load`](Detector::load).
    pub fn beside(model: &Path) -> Result<Option<Detector>, TextError> {
        side_file::read_beside(&Detector::file_beside(model), Detector::parse)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// As [`load`](Detector::load).
    pub fn parse(text: &str) -> Result<Detector, TextError> {
        let text = TomlText::parse(text)?;
        let written: Written = text.read()?;
        let name = written.form;
        if let Some((key, _)) = text.table().iter().find(|(key, _)| !name.takes(key.get_ref())) {
            let key = key.get_ref();
            return Err(text.wrong(key, format!("{key}: form {name} has none")));
        }
        let reader = Reader { text: &text };
        let [threshold, overlap] = name.limits();
        let most = written.most.unwrap_or(100);
        if !(1..=MOST_BOXES).contains(&most) {
            return reader.wrong("most", format!("a number of boxes from 1 to {MOST_BOXES}"));
        }
        Ok(Detector {
            threshold: reader.share("threshold", written.threshold, threshold)? as f32,
            overlap: reader.share("overlap", written.overlap, overlap)?,
            most,
            form: reader.form(&written)?,
            outputs: written.outputs.unwrap_or_default(),
        })
    }
}

/// Reader of the keys that have bounds or several forms.
struct Reader<'t, 'a> {
    text: &'t TomlText<'a>,
}

impl Reader<'_, '_> {
    fn wrong<T>(&self, key: &str, expected: impl Into<String>) -> Result<T, TextError> {
        Err(self.text.wrong(key, format!("{key}: expected {}", expected.into())))
    }

    fn share(&self, key: &str, given: Option<f64>, other: f64) -> Result<f64, TextError> {
        match given.unwrap_or(other) {
            share if (0.0..=1.0).contains(&share) => Ok(share),
            _ => self.wrong(key, "a number from 0 to 1"),
        }
    }

    fn form(&self, written: &Written) -> Result<DetectorForm, TextError> {
        Ok(match written.form {
            FormName::Corners => DetectorForm::Corners {
                units: written.units.unwrap_or_default(),
                background: self.background(written.background.as_ref())?,
            },
            FormName::Yolov2 => DetectorForm::Yolov2 { anchors: self.anchors(written.anchors.as_ref())? },
            FormName::Yolov3 => {
                DetectorForm::Yolov3 { anchors: self.anchor_lists(written.anchors.as_ref())? }
            }
            FormName::Yolov5 => DetectorForm::Yolov5 { classes: self.classes(written.classes)? },
            FormName::Yolov8 => DetectorForm::Yolov8 { classes: self.classes(written.classes)? },
            FormName::Yolov10 => DetectorForm::Yolov10,
            FormName::Yolox => DetectorForm::Yolox { strides: self.strides(written, &[8, 16, 32])? },
            FormName::Picodet => DetectorForm::Picodet { strides: self.strides(written, &[8, 16, 32, 64])? },
            FormName::Mask => DetectorForm::Mask {
                core: self.share("core", written.core, 0.3)? as f32,
                grow: match written.grow.unwrap_or(1.6) {
                    grow if (0.0..=100.0).contains(&grow) => grow,
                    _ => return self.wrong("grow", "a number from 0 to 100"),
                },
            },
        })
    }

    fn background(&self, given: Option<&Value>) -> Result<Background, TextError> {
        match given {
            None => Ok(Background::FirstOfSeveral),
            Some(Value::Boolean(false)) => Ok(Background::None),
            Some(Value::Integer(class @ 0..)) => Ok(Background::Class(class.unsigned_abs() as usize)),
            Some(_) => self.wrong("background", "a class from 0 on, or false"),
        }
    }

    fn classes(&self, given: Option<usize>) -> Result<Option<usize>, TextError> {
        match given {
            Some(0 | MOST_CLASSES..) => {
                self.wrong("classes", format!("a number of classes from 1 to {MOST_CLASSES}"))
            }
            given => Ok(given),
        }
    }

    fn strides(&self, written: &Written, other: &[usize]) -> Result<Vec<usize>, TextError> {
        let strides = written.strides.clone().unwrap_or_else(|| other.to_vec());
        let is_right = (1..=MOST_LIST).contains(&strides.len())
            && strides.iter().all(|stride| (1..=MOST_STRIDE).contains(stride));
        let expected =
            format!("at most {MOST_LIST} numbers of pixels from 1 to {MOST_STRIDE}, such as [8, 16, 32]");
        if is_right { Ok(strides) } else { self.wrong("strides", expected) }
    }

    /// Anchors of an output.
    fn anchors(&self, given: Option<&Value>) -> Result<Vec<[f64; 2]>, TextError> {
        let missing = "anchors are missing: [[width, height], ...] in cells, in the order of the channels";
        let given = given.ok_or_else(|| TextError::whole(missing))?;
        anchor_list(given).map_or_else(
            || self.wrong("anchors", "[[width, height], ...] in cells, above 0, 1 to 64 of them"),
            Ok,
        )
    }

    /// Anchors of several outputs.
    fn anchor_lists(&self, given: Option<&Value>) -> Result<Vec<Vec<[f64; 2]>>, TextError> {
        let missing = "anchors are missing: [[[width, height], ...], ...] in pixels, a list for each output";
        let given = given.ok_or_else(|| TextError::whole(missing))?;
        let lists = given.as_array().filter(|lists| (1..=MOST_LIST).contains(&lists.len()));
        let lists = lists.and_then(|lists| lists.iter().map(anchor_list).collect());
        let expected =
            "[[[width, height], ...], ...] in pixels, above 0, a list for each output with 1 to 64 of them";
        lists.map_or_else(|| self.wrong("anchors", expected), Ok)
    }
}

fn anchor_list(given: &Value) -> Option<Vec<[f64; 2]>> {
    let list = given.as_array().filter(|list| (1..=MOST_LIST).contains(&list.len()))?;
    let number = |value: &Value| {
        let number = value.as_float().or_else(|| value.as_integer().map(|integer| integer as f64));
        number.filter(|number| *number > 0.0 && *number <= MOST_ANCHOR)
    };
    let anchor = |value: &Value| match value.as_array()?.as_slice() {
        [width, height] => Some([number(width)?, number(height)?]),
        _ => None,
    };
    list.iter().map(anchor).collect()
}
