//! Forms of detectors: which outputs they have, and what becomes of them.

use super::candidates::Candidates;
use super::cells::{ClassActivation, Grid};
use super::matrix::Matrix;
use super::{Detector, DetectorError, cells, mask, rows};
use serde::Deserialize;
use strum::{Display, EnumString, VariantNames};
use vp_tensors::{Tensor, Value};

/// Most outputs that an error tells.
const SHOWN: usize = 24;

/// Difference between the sides of cells with anchors, at most, in shares: the input of a grid may be no whole number of cells.
const MOST_OBLONG: f64 = 0.2;

/// Largest edge of a box in shares of the input: some reach beyond it.
const MOST_SHARE: f32 = 8.0;

/// Name of a detector's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Display, EnumString, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum FormName {
    /// A box a row: left, top, right, bottom; beside it a score for each class (UltraFace, SSD without its suppression).
    Corners,
    /// Cells with anchors, of which one class is the likeliest.
    Yolov2,
    /// Cells of several strides with anchors, with a probability for each class.
    Yolov3,
    /// A box a row: middle, width, height, probability of any thing, of each class (YOLOv5, YOLOv7).
    Yolov5,
    /// A box a column: middle, width, height, probability of each class (YOLOv8, 9, 11).
    Yolov8,
    /// A box a row: left, top, right, bottom, score, class (YOLOv10, exports with suppression).
    Yolov10,
    /// A cell a row: distance of the middle, logarithms of width and height, probability of any thing, of each class.
    Yolox,
    /// A cell a row: probability of each class; beside it a distribution over the distance to each edge.
    Picodet,
    /// A probability for each pixel, whose islands are the boxes (differentiable binarisation, for lines of text).
    Mask,
}

/// Class of corners that is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// Class 0, if there are others.
    #[default]
    FirstOfSeveral,
    /// A class.
    Class(usize),
    /// All are things.
    None,
}

impl Background {
    /// Returns the class, of so many.
    fn class(self, classes: usize) -> Option<usize> {
        match self {
            Background::FirstOfSeveral => (classes > 1).then_some(0),
            Background::Class(class) => Some(class),
            Background::None => None,
        }
    }
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
        background: Background,
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
    Yolov5 {
        /// Number of classes; none: all columns are classes.
        classes: Option<usize>,
    },
    /// Columns `[1, 4 + classes, boxes]`.
    Yolov8 {
        /// Number of classes; none: all columns are classes.
        classes: Option<usize>,
    },
    /// Rows `[1, boxes, 6]`.
    Yolov10,
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
            DetectorForm::Yolov5 { .. } => FormName::Yolov5,
            DetectorForm::Yolov8 { .. } => FormName::Yolov8,
            DetectorForm::Yolov10 => FormName::Yolov10,
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
        if let Some(at) = (1..named.len()).find(|at| named[..*at].contains(&named[*at])) {
            return Err(DetectorError::Twice(names[at].escape_debug().to_string()));
        }
        let shape = |place: usize| &outputs[place].shape[..];
        let is_named = !names.is_empty();
        let read = if is_named { named.clone() } else { self.of_shapes(outputs, input) };
        let shapes: Vec<&[usize]> = read.iter().map(|place| shape(*place)).collect();
        let is_fit = read.len() == self.count()
            && shapes.iter().enumerate().all(|(at, shape)| self.fits(at, shape, input, is_named))
            && self.fit_together(&shapes);
        if is_fit {
            self.check_background(&shapes)?;
            return Ok(read);
        }
        let told = |place: usize| {
            let sizes = shape(place).iter().map(usize::to_string).collect::<Vec<_>>().join("x");
            let sizes = if sizes.is_empty() { "one number".to_owned() } else { sizes };
            format!("`{}` of {sizes}", outputs[place].name.escape_debug())
        };
        let all = if is_named { named } else { (0..outputs.len()).collect() };
        let mut found: Vec<String> = all.iter().take(SHOWN).map(|place| told(*place)).collect();
        if all.len() > SHOWN {
            found.push(format!("{} more", all.len() - SHOWN));
        }
        let wanted = self.wanted(input);
        Err(DetectorError::Shapes { form: self.name(), wanted, found: found.join(", ") })
    }

    /// Places of outputs of the form's shapes, in the model's order; others may lie between them. Too few where it is not clear which are meant.
    fn of_shapes(&self, outputs: &[&Value], input: [usize; 2]) -> Vec<usize> {
        let shape = |place: usize| &outputs[place].shape[..];
        if let DetectorForm::Corners { .. } = self {
            let has_four = |place: &usize| rows_of(shape(*place)).is_some_and(|[_, columns]| columns == 4);
            let mut boxes = (0..outputs.len()).filter(has_four);
            let (Some(boxes), None) = (boxes.next(), boxes.next()) else { return Vec::new() };
            let rows = |place| rows_of(shape(place)).map(|[rows, _]| rows);
            let mut scores =
                (0..outputs.len()).filter(|place| *place != boxes && rows(*place) == rows(boxes));
            let (Some(scores), None) = (scores.next(), scores.next()) else { return Vec::new() };
            return vec![boxes, scores];
        }
        let mut left = 0..outputs.len();
        let next = |at: usize| left.find(|place| self.fits(at, shape(*place), input, false));
        let read: Vec<usize> = (0..self.count()).map_while(next).collect();
        let is_another = self.count() == 1 && left.any(|place| self.fits(0, shape(place), input, false));
        if is_another { Vec::new() } else { read }
    }

    /// Returns true if outputs have as many classes, and distances, as the others.
    fn fit_together(&self, shapes: &[&[usize]]) -> bool {
        let are_equal = |numbers: Vec<usize>| numbers.windows(2).all(|pair| pair[0] == pair[1]);
        let columns = |shapes: &[&[usize]]| {
            are_equal(shapes.iter().filter_map(|shape| shape.last()).copied().collect())
        };
        match self {
            DetectorForm::Corners { .. } => {
                let rows = |shape: &[usize]| rows_of(shape).map(|[rows, _]| rows);
                shapes[0].last() == Some(&4) && rows(shapes[0]) == rows(shapes[1])
            }
            DetectorForm::Yolov3 { anchors } => are_equal(
                shapes
                    .iter()
                    .zip(anchors)
                    .filter_map(|(shape, anchors)| Some(cube(shape)?[0] / anchors.len()))
                    .collect(),
            ),
            DetectorForm::Picodet { strides } => {
                let (scores, distances) = shapes.split_at(strides.len());
                columns(scores) && columns(distances)
            }
            _ => true,
        }
    }

    fn check_background(&self, shapes: &[&[usize]]) -> Result<(), DetectorError> {
        match (self, shapes.get(1).and_then(|shape| shape.last())) {
            (DetectorForm::Corners { background: Background::Class(class), .. }, Some(classes))
                if class >= classes =>
            {
                Err(DetectorError::Background { class: *class, last: classes - 1 })
            }
            _ => Ok(()),
        }
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

    /// Returns true if the output at a place of the form's order may have this shape. One that is not named has no more columns than rows, or the
    /// number of its classes is known: rows and columns would not be told apart.
    fn fits(&self, at: usize, shape: &[usize], input: [usize; 2], is_named: bool) -> bool {
        if shape.contains(&0) {
            return false;
        }
        let of_anchors = |anchors: &Vec<[f64; 2]>| {
            cube(shape).is_some_and(|[channels, height, width]| {
                let [cell_width, cell_height] = Grid::of_cells(input, [width, height]).cell;
                let is_square = (cell_width / cell_height - 1.0).abs() < MOST_OBLONG;
                channels.is_multiple_of(anchors.len()) && channels / anchors.len() > 5 && is_square
            })
        };
        let of_rows = |[boxes, columns]: [usize; 2], before: usize, classes: Option<usize>| match classes {
            Some(classes) => columns >= before + classes,
            None => columns > before && (is_named || columns <= boxes),
        };
        match self {
            DetectorForm::Corners { .. } => rows_of(shape).is_some(),
            DetectorForm::Yolov2 { anchors } => of_anchors(anchors),
            DetectorForm::Yolov3 { anchors } => anchors.get(at).is_some_and(of_anchors),
            DetectorForm::Yolov5 { classes } => plane(shape).is_some_and(|shape| of_rows(shape, 5, *classes)),
            DetectorForm::Yolov8 { classes } => {
                plane(shape).is_some_and(|[columns, boxes]| of_rows([boxes, columns], 4, *classes))
            }
            DetectorForm::Yolov10 => plane(shape).is_some_and(|[_, columns]| columns == 6),
            DetectorForm::Yolox { strides } => {
                let cells = cells_of(strides, input);
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
                "two outputs: boxes of 1xBOXESx4 and scores of 1xBOXESxCLASSES".to_owned()
            }
            DetectorForm::Yolov2 { anchors } => {
                let count = anchors.len();
                format!(
                    "an output of 1xCHANNELSxHEIGHTxWIDTH with {count} x (5 + CLASSES) channels and square cells"
                )
            }
            DetectorForm::Yolov3 { anchors } => {
                let each = anchors.iter().map(|anchors| format!("{} x (5 + CLASSES)", anchors.len()));
                let each = each.collect::<Vec<_>>().join(", ");
                format!("outputs of 1xCHANNELSxHEIGHTxWIDTH with {each} channels and square cells")
            }
            DetectorForm::Yolov5 { classes } => {
                format!("one output of 1xBOXESx(5 + {})", number_of(*classes))
            }
            DetectorForm::Yolov8 { classes } => {
                format!("one output of 1x(4 + {})xBOXES", number_of(*classes))
            }
            DetectorForm::Yolov10 => "one output of 1xBOXESx6".to_owned(),
            DetectorForm::Yolox { strides } => {
                let [width, height] = input;
                let cells = cells_of(strides, input);
                format!("one output of 1x{cells}x(5 + CLASSES) for an input of {width} x {height}")
            }
            DetectorForm::Picodet { strides } => {
                let cells = strides.iter().map(|stride| Grid::of_stride(input, *stride).cells().to_string());
                let cells = cells.collect::<Vec<_>>().join(", ");
                format!(
                    "outputs of 1xCELLSxCLASSES, then of 1xCELLSx(4 x DISTANCES), with {cells} cells each"
                )
            }
            DetectorForm::Mask { .. } => "one output of 1x1xHEIGHTxWIDTH".to_owned(),
        }
    }

    /// Adds the boxes that the outputs tell of, in pixels of the input.
    ///
    /// # Errors
    /// When numbers are none of the form's.
    pub(super) fn find(
        &self,
        found: &mut Candidates<'_>,
        read: &[&Tensor],
        (input, threshold): ([usize; 2], f32),
    ) -> Result<(), DetectorError> {
        match self {
            DetectorForm::Corners { units, background } => {
                let unit = match units {
                    BoxUnits::Shares => {
                        let edges = numbers(read[0]).iter().copied().filter(|edge| edge.is_finite());
                        let most = edges.fold(0.0, |most: f32, edge| most.max(edge.abs()));
                        if most > MOST_SHARE {
                            return Err(DetectorError::Corner(most));
                        }
                        input.map(|side| side as f64)
                    }
                    BoxUnits::Pixels => [1.0; 2],
                };
                let scores = matrix(read[1]);
                let background = background.class(scores.columns);
                rows::corners(found, (matrix(read[0]), scores), unit, background);
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
            DetectorForm::Yolov5 { classes } => rows::with_objectness(found, matrix(read[0]), *classes),
            DetectorForm::Yolov8 { classes } => {
                let shape = plane(&read[0].shape).expect("checked before");
                rows::with_classes(found, Matrix::by_columns(numbers(read[0]), shape), *classes);
            }
            DetectorForm::Yolov10 => rows::finished(found, matrix(read[0]), threshold)
                .map_err(|class| DetectorError::Class { form: self.name(), class })?,
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
        match found.largest() {
            score if score > Detector::MOST_SCORE => Err(DetectorError::Score { form: self.name(), score }),
            _ => Ok(()),
        }
    }
}

/// Cells of all strides.
fn cells_of(strides: &[usize], input: [usize; 2]) -> usize {
    strides.iter().map(|stride| Grid::of_stride(input, *stride).cells()).sum()
}

/// A number of classes, for people.
fn number_of(classes: Option<usize>) -> String {
    classes.map_or_else(|| "CLASSES".to_owned(), |classes| classes.to_string())
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
