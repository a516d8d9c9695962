//! Forms of detectors: which outputs they have, and what becomes of them.

use super::candidates::Candidates;
use super::cells::{ClassActivation, Grid};
use super::matrix::Matrix;
use super::{DetectorError, cells, mask, rows};
use serde::Deserialize;
use strum::{Display, EnumString, VariantNames};
use vp_tensors::{Tensor, Value};

/// Name of a detector's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Display, EnumString, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum FormName {
    /// A box a row: left, top, right, bottom; beside it a score for each class (SSD, UltraFace).
    Corners,
    /// Cells with anchors, of which one class is the likeliest.
    Yolov2,
    /// Cells of several strides with anchors, with a probability for each class.
    Yolov3,
    /// A box a row: middle, width, height, probability of any thing, of each class (YOLOv5, YOLOv7).
    Yolov5,
    /// A box a column: middle, width, height, probability of each class (YOLOv8, 9, 11).
    Yolov8,
    /// A cell a row: distance of the middle, logarithms of width and height, probability of any thing, of each class.
    Yolox,
    /// A cell a row: probability of each class; beside it a distribution over the distance to each edge.
    Picodet,
    /// A probability for each pixel, whose islands are the boxes (differentiable binarisation, for lines of text).
    Mask,
}

/// Units of corners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoxUnits {
    /// Shares of the input's width and height.
    #[default]
    Shares,
    /// Pixels of the input.
    Pixels,
}

/// Meaning of a detector's outputs.
#[derive(Clone, Debug, PartialEq)]
pub enum DetectorForm {
    /// Rows of corners and of scores.
    Corners {
        /// Units of the corners.
        units: BoxUnits,
        /// Class that is none.
        background: Option<usize>,
    },
    /// Cells with anchors: `[1, anchors x (5 + classes), height, width]`.
    Yolov2 {
        /// Width and height of each anchor, in cells.
        anchors: Vec<[f64; 2]>,
    },
    /// Cells with anchors, an output a stride.
    Yolov3 {
        /// Width and height of each anchor of each output, in pixels of the input.
        anchors: Vec<Vec<[f64; 2]>>,
    },
    /// Rows `[1, boxes, 5 + classes]`.
    Yolov5,
    /// Columns `[1, 4 + classes, boxes]`.
    Yolov8,
    /// Rows `[1, cells, 5 + classes]`.
    Yolox {
        /// Pixels between cells, in the order of the rows.
        strides: Vec<usize>,
    },
    /// Rows `[1, cells, classes]` for each stride, then as many `[1, cells, 4 x distances]`.
    Picodet {
        /// Pixels between cells, in the order of the outputs.
        strides: Vec<usize>,
    },
    /// Plane `[1, 1, height, width]`.
    Mask {
        /// Least probability of a pixel.
        core: f32,
        /// Growth of a core on each side, in its area over its perimeter.
        grow: f64,
    },
}

/// Number of rows and columns, if those numbers are the last axes behind ones.
fn plane(shape: &[usize]) -> Option<[usize; 2]> {
    match shape {
        [ones @ .., rows, columns] if ones.iter().all(|size| *size == 1) => Some([*rows, *columns]),
        _ => None,
    }
}

/// Channels, height and width, if those numbers are the last axes behind ones.
fn cube(shape: &[usize]) -> Option<[usize; 3]> {
    match shape {
        [1, channels, height, width] | [channels, height, width] => Some([*channels, *height, *width]),
        _ => None,
    }
}

/// Rows and columns of corners or scores: all axes before the last one count rows.
fn rows_of(shape: &[usize]) -> Option<[usize; 2]> {
    let (columns, rows) = shape.split_last()?;
    Some([rows.iter().product(), *columns])
}

impl DetectorForm {
    /// Name of the form.
    pub fn name(&self) -> FormName {
        match self {
            DetectorForm::Corners { .. } => FormName::Corners,
            DetectorForm::Yolov2 { .. } => FormName::Yolov2,
            DetectorForm::Yolov3 { .. } => FormName::Yolov3,
            DetectorForm::Yolov5 => FormName::Yolov5,
            DetectorForm::Yolov8 => FormName::Yolov8,
            DetectorForm::Yolox { .. } => FormName::Yolox,
            DetectorForm::Picodet { .. } => FormName::Picodet,
            DetectorForm::Mask { .. } => FormName::Mask,
        }
    }

    /// Places of the outputs that the form reads: those of these names, or without names those of its shapes.
    pub(super) fn outputs(
        &self,
        names: &[String],
        outputs: &[&Value],
        input: [usize; 2],
    ) -> Result<Vec<usize>, DetectorError> {
        let place = |name: &String| {
            outputs.iter().position(|output| output.name == *name).ok_or_else(|| DetectorError::NoOutput {
                name: name.escape_debug().to_string(),
                known: outputs.iter().map(|output| output.name.escape_debug().to_string()).collect(),
            })
        };
        let named = names.iter().map(place).collect::<Result<Vec<usize>, _>>()?;
        let places = if names.is_empty() { (0..outputs.len()).collect() } else { named };
        let shape = |place: usize| &outputs[place].shape[..];
        let read = match self {
            DetectorForm::Corners { .. } => {
                let is_box = |place: &usize| rows_of(shape(*place)).is_some_and(|[_, four]| four == 4);
                let boxes = places.iter().copied().find(is_box);
                let is_score = |place: &usize| {
                    let rows = |place| rows_of(shape(place)).map(|[rows, _]| rows);
                    Some(*place) != boxes && boxes.is_some_and(|boxes| rows(*place) == rows(boxes))
                };
                boxes.into_iter().chain(places.iter().copied().filter(is_score)).collect()
            }
            DetectorForm::Picodet { .. } | DetectorForm::Yolov3 { .. } => places.clone(),
            _ => {
                places.iter().copied().filter(|place| self.fits(0, shape(*place), input)).collect::<Vec<_>>()
            }
        };
        let fits = |(at, place): (usize, &usize)| self.fits(at, shape(*place), input);
        if read.len() == self.count() && read.iter().enumerate().all(fits) {
            return Ok(read);
        }
        let told = |place: &usize| {
            let sizes = shape(*place).iter().map(usize::to_string).collect::<Vec<_>>().join("x");
            format!("`{}` of {sizes}", outputs[*place].name.escape_debug())
        };
        let found = places.iter().take(24).map(told).collect();
        Err(DetectorError::Shapes { form: self.name(), wanted: self.wanted(input), found })
    }

    /// Number of outputs that are read.
    fn count(&self) -> usize {
        match self {
            DetectorForm::Corners { .. } => 2,
            DetectorForm::Yolov3 { anchors } => anchors.len(),
            DetectorForm::Picodet { strides } => 2 * strides.len(),
            _ => 1,
        }
    }

    /// Returns true if the output at a place of the form's order may have this shape.
    fn fits(&self, at: usize, shape: &[usize], input: [usize; 2]) -> bool {
        if shape.contains(&0) {
            return false;
        }
        let of_anchors = |anchors: &Vec<[f64; 2]>| {
            cube(shape).is_some_and(|[channels, ..]| {
                channels.is_multiple_of(anchors.len()) && channels / anchors.len() > 5
            })
        };
        match self {
            DetectorForm::Corners { .. } => rows_of(shape).is_some(),
            DetectorForm::Yolov2 { anchors } => of_anchors(anchors),
            DetectorForm::Yolov3 { anchors } => anchors.get(at).is_some_and(of_anchors),
            DetectorForm::Yolov5 => plane(shape).is_some_and(|[_, columns]| columns > 5),
            DetectorForm::Yolov8 => plane(shape).is_some_and(|[columns, _]| columns > 4),
            DetectorForm::Yolox { strides } => {
                let cells =
                    strides.iter().map(|stride| Grid::of_stride(input, *stride).cells()).sum::<usize>();
                plane(shape).is_some_and(|[rows, columns]| rows == cells && columns > 5)
            }
            DetectorForm::Picodet { strides } => {
                let is_distance = at >= strides.len();
                let cells = Grid::of_stride(input, strides[at % strides.len()]).cells();
                plane(shape).is_some_and(|[rows, columns]| {
                    rows == cells && (!is_distance || columns.is_multiple_of(4) && columns > 4)
                })
            }
            DetectorForm::Mask { .. } => cube(shape).is_some_and(|[channels, ..]| channels == 1),
        }
    }

    /// The outputs that the form has, for people.
    fn wanted(&self, input: [usize; 2]) -> String {
        match self {
            DetectorForm::Corners { .. } => {
                "two outputs: 1xBOXESx4 and 1xBOXESxCLASSES (`outputs` names them)".to_owned()
            }
            DetectorForm::Yolov2 { anchors } => {
                format!("an output of 1x{}x(5+CLASSES)xHEIGHTxWIDTH, its channels in one axis", anchors.len())
            }
            DetectorForm::Yolov3 { anchors } => {
                let each = anchors.iter().map(|anchors| format!("{} x (5+CLASSES)", anchors.len()));
                let each = each.collect::<Vec<_>>().join(", ");
                format!("outputs of 1xCHANNELSxHEIGHTxWIDTH with {each} channels (`outputs` names them)")
            }
            DetectorForm::Yolov5 => "one output of 1xBOXESx(5+CLASSES) (`outputs` names it)".to_owned(),
            DetectorForm::Yolov8 => "one output of 1x(4+CLASSES)xBOXES (`outputs` names it)".to_owned(),
            DetectorForm::Yolox { strides } => {
                let cells: usize = strides.iter().map(|stride| Grid::of_stride(input, *stride).cells()).sum();
                format!("one output of 1x{cells}x(5+CLASSES) for an input of {} x {}", input[0], input[1])
            }
            DetectorForm::Picodet { strides } => {
                let cells = strides.iter().map(|stride| Grid::of_stride(input, *stride).cells().to_string());
                let cells = cells.collect::<Vec<_>>().join(", ");
                format!("outputs of 1xCELLSxCLASSES, then of 1xCELLSx(4xDISTANCES), with {cells} cells each")
            }
            DetectorForm::Mask { .. } => "one output of 1x1xHEIGHTxWIDTH (`outputs` names it)".to_owned(),
        }
    }

    /// Adds the boxes that the outputs tell of, in pixels of the input.
    pub(super) fn find(&self, found: &mut Candidates, read: &[&Tensor], input: [usize; 2]) {
        match self {
            DetectorForm::Corners { units, background } => {
                let unit = match units {
                    BoxUnits::Shares => input.map(|side| side as f64),
                    BoxUnits::Pixels => [1.0; 2],
                };
                rows::corners(found, (matrix(read[0]), matrix(read[1])), unit, *background);
            }
            DetectorForm::Yolov2 { anchors } => {
                let grid = grid_of(read[0], input);
                let in_pixels = |anchor: &[f64; 2]| [anchor[0] * grid.cell[0], anchor[1] * grid.cell[1]];
                let anchors: Vec<[f64; 2]> = anchors.iter().map(in_pixels).collect();
                cells::anchored(found, numbers(read[0]), grid, &anchors, ClassActivation::Softmax);
            }
            DetectorForm::Yolov3 { anchors } => {
                for (output, anchors) in read.iter().zip(anchors) {
                    let grid = grid_of(output, input);
                    cells::anchored(found, numbers(output), grid, anchors, ClassActivation::Sigmoid);
                }
            }
            DetectorForm::Yolov5 => rows::with_objectness(found, matrix(read[0])),
            DetectorForm::Yolov8 => {
                let shape = plane(&read[0].shape).expect("checked before");
                rows::with_classes(found, Matrix::by_columns(numbers(read[0]), shape));
            }
            DetectorForm::Yolox { strides } => cells::yolox(found, matrix(read[0]), input, strides),
            DetectorForm::Picodet { strides } => {
                let (scores, distances) = read.split_at(strides.len());
                for ((scores, distances), stride) in scores.iter().zip(distances).zip(strides) {
                    let grid = Grid::of_stride(input, *stride);
                    cells::distributed(found, (matrix(scores), matrix(distances)), grid);
                }
            }
            DetectorForm::Mask { core, grow } => {
                let [_, height, width] = cube(&read[0].shape).expect("checked before");
                let plane = mask::Plane { width, probabilities: numbers(read[0]) };
                let pixel = Grid::of_cells(input, [width, height]).cell;
                mask::boxes(found, plane, pixel, (*core, *grow));
            }
        }
    }
}

/// Grid of an output with numbers for each cell.
fn grid_of(output: &Tensor, input: [usize; 2]) -> Grid {
    let [_, height, width] = cube(&output.shape).expect("checked before");
    Grid::of_cells(input, [width, height])
}

/// An output with a row for each box.
fn matrix(output: &Tensor) -> Matrix<'_> {
    Matrix::by_rows(numbers(output), rows_of(&output.shape).expect("checked before"))
}

fn numbers(output: &Tensor) -> &[f32] {
    output.as_floats().expect("made floats before")
}
