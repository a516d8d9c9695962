//! Boxes: what a detector sees on a picture, by the numbers of its outputs.
//!
//! ONNX does not say how a detector's outputs are meant: a [`Detector`] does, by the name of a [`DetectorForm`] or by a file:
//!
//! ```toml
//! form = "picodet"            # corners, yolov2, yolov3, yolov5, yolov8, yolov10, yolox, picodet or mask
//! outputs = ["scores", "rows"] # names of the outputs that are read; else those of the form's shapes
//! threshold = 0.5             # least score of a box, from 0 to 1; else by the form
//! overlap = 0.5               # two boxes of a class that have more than this share of their union in common are one; not of mask
//! most = 100                  # boxes, at most
//! classes = 80                # of yolov5 and yolov8: columns behind those of classes are none (key points, masks)
//! strides = [8, 16, 32, 64]   # of yolox (8, 16, 32) and picodet: pixels between cells
//! anchors = [[1.08, 1.19]]    # of yolov2: width and height of each, in cells; of yolov3: such a list an output, in pixels
//! units = "shares"            # of corners: shares of the input's sides, or pixels
//! background = 0              # of corners: the class that is none (0 if there are others), or false
//! core = 0.3                  # of mask: probability that a pixel is above
//! grow = 1.6                  # of mask: a core grows by this times its area over its perimeter on each side
//! ```
//!
//! Of boxes the 10 000 best are compared with each other.
//!
//! Boxes are in pixels of the picture, whatever [`Preprocess`](crate::samples::Preprocess) has made of it; of an array, in pixels of the network's input.

mod candidates;
mod cells;
mod error;
mod form;
mod mask;
mod matrix;
mod rows;
mod side_file;

pub use error::DetectorError;
pub use form::{Background, BoxUnits, DetectorForm, FormName};

use self::candidates::Candidates;
use crate::samples::Placement;
use vp_tensors::{Tensor, Value};

/// Way in which a detector's outputs become boxes.
#[derive(Clone, Debug, PartialEq)]
pub struct Detector {
    /// Meaning of the outputs.
    pub form: DetectorForm,
    /// Names of the outputs that are read, in the form's order; none: those of the form's shapes, in the model's order.
    pub outputs: Vec<String>,
    /// Least score of a box, from 0 to 1.
    pub threshold: f32,
    /// Largest share of their union that two boxes of a class may have in common, from 0 to 1.
    pub overlap: f64,
    /// Number of boxes, at most.
    pub most: usize,
}

/// Part of a picture: from `left` to `right` and from `top` to `bottom`, in pixels from the left upper corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rectangle {
    /// Left edge.
    pub left: f64,
    /// Top edge.
    pub top: f64,
    /// Right edge.
    pub right: f64,
    /// Bottom edge.
    pub bottom: f64,
}

/// Box that a detector has found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detection {
    /// Place of its class among those of the output, from 0.
    pub class: usize,
    /// Score, as a rule from 0 to 1.
    pub score: f32,
    /// Place.
    pub rectangle: Rectangle,
}

impl Rectangle {
    fn around([x, y]: [f64; 2], [width, height]: [f64; 2]) -> Rectangle {
        let (half_width, half_height) = (width / 2.0, height / 2.0);
        Rectangle {
            left: x - half_width,
            top: y - half_height,
            right: x + half_width,
            bottom: y + half_height,
        }
    }

    /// Area in pixels; 0 if an edge is beyond the opposite one.
    pub fn area(&self) -> f64 {
        (self.right - self.left).max(0.0) * (self.bottom - self.top).max(0.0)
    }

    /// Returns the share of their union that two have in common.
    pub fn overlap(&self, other: &Rectangle) -> f64 {
        let both = Rectangle {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        };
        let both = both.area();
        both / (self.area() + other.area() - both).max(f64::MIN_POSITIVE)
    }

    /// Returns the part of a picture that the input shows here.
    fn in_picture(self, placement: &Placement) -> Rectangle {
        let [left, top] = placement.in_picture([self.left, self.top]);
        let [right, bottom] = placement.in_picture([self.right, self.bottom]);
        Rectangle { left, top, right, bottom }
    }

    fn is_finite(&self) -> bool {
        [self.left, self.top, self.right, self.bottom].iter().all(|edge| edge.is_finite())
    }

    fn clipped(self, [width, height]: [usize; 2]) -> Rectangle {
        let (width, height) = (width as f64, height as f64);
        Rectangle {
            left: self.left.clamp(0.0, width),
            top: self.top.clamp(0.0, height),
            right: self.right.clamp(0.0, width),
            bottom: self.bottom.clamp(0.0, height),
        }
    }
}

/// A detector whose form the outputs of a model have.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelDetector {
    detector: Detector,
    /// Width and height of the network's input.
    input: [usize; 2],
    /// Places of the outputs that are read, in the form's order.
    read: Vec<usize>,
}

impl Detector {
    /// Largest score: probabilities are at most 1, and a step of int8 more where codes round up.
    const MOST_SCORE: f32 = 1.02;

    /// Returns the detector for the outputs of a model, whose input has a width and a height.
    ///
    /// # Errors
    /// When the outputs do not have the form.
    pub fn of_model(self, outputs: &[&Value], input: [usize; 2]) -> Result<ModelDetector, DetectorError> {
        let read = self.form.outputs(&self.outputs, outputs, input)?;
        Ok(ModelDetector { detector: self, input, read })
    }
}

impl ModelDetector {
    /// Name of the form.
    pub fn form(&self) -> FormName {
        self.detector.form.name()
    }

    /// Least score of a box.
    pub fn threshold(&self) -> f32 {
        self.detector.threshold
    }

    /// Returns the boxes on a picture, best first; without a picture's placement in pixels of the network's input.
    ///
    /// # Errors
    /// When numbers are none of the form's: scores above 1, corners far beyond the input, classes that are none.
    ///
    /// # Panics
    /// When these are not tensors of the shapes of the model's outputs.
    pub fn boxes(
        &self,
        outputs: &[Tensor],
        placement: Option<&Placement>,
    ) -> Result<Vec<Detection>, DetectorError> {
        let Detector { form, threshold, overlap, most, .. } = &self.detector;
        let read: Vec<Tensor> = self
            .read
            .iter()
            .map(|&place| Tensor::floats(outputs[place].shape.clone(), outputs[place].to_floats()))
            .collect();
        let read: Vec<&Tensor> = read.iter().collect();
        let in_picture = |rectangle: Rectangle| {
            let shown = match placement {
                Some(placement) => rectangle.in_picture(placement).clipped(placement.picture()),
                None => rectangle.clipped(self.input),
            };
            (shown.area() > 0.0).then_some(shown)
        };
        let mut found = Candidates::new(*threshold, &in_picture);
        form.find(&mut found, &read, (self.input, *threshold))?;
        Ok(found.kept(*overlap, *most))
    }
}

#[cfg(test)]
mod tests;
