//! Detectors with numbers for each cell of a grid over the input.

use super::Rectangle;
use super::candidates::Candidates;
use super::matrix::Matrix;

/// Grid over a network's input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    width: usize,
    height: usize,
    /// Width and height of a cell, in pixels.
    pub(super) cell: [f64; 2],
}

/// Activation of the classes of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClassActivation {
    /// A soft-max over all: one is right.
    Softmax,
    /// A sigmoid for each.
    Sigmoid,
}

impl Grid {
    /// The grid of a stride: the last cells may reach beyond the input.
    pub(super) fn of_stride([width, height]: [usize; 2], stride: usize) -> Grid {
        Grid { width: width.div_ceil(stride), height: height.div_ceil(stride), cell: [stride as f64; 2] }
    }

    /// The grid of so many cells across and down.
    pub(super) fn of_cells(input: [usize; 2], [width, height]: [usize; 2]) -> Grid {
        Grid { width, height, cell: [input[0] as f64 / width as f64, input[1] as f64 / height as f64] }
    }

    /// Number of cells.
    pub(super) fn cells(self) -> usize {
        self.width * self.height
    }

    /// Left upper corner of a cell, in cells.
    fn corner(self, cell: usize) -> [f64; 2] {
        [(cell % self.width) as f64, (cell / self.width) as f64]
    }
}

fn sigmoid(number: f64) -> f64 {
    1.0 / (1.0 + (-number).exp())
}

/// Adds boxes of cells with anchors, in pixels. The numbers of an anchor are planes: x, y, logarithms of width and height, any thing, and classes; all but the
/// logarithms are before their activation.
pub(super) fn anchored(
    found: &mut Candidates<'_>,
    numbers: &[f32],
    grid: Grid,
    anchors: &[[f64; 2]],
    activation: ClassActivation,
) {
    let planes = numbers.len() / anchors.len() / grid.cells();
    for (numbers, anchor) in numbers.chunks_exact(planes * grid.cells()).zip(anchors) {
        let cells = Matrix::by_columns(numbers, [planes, grid.cells()]);
        for cell in 0..grid.cells() {
            let Some((class, best)) = cells.best(cell, 5, None) else { continue };
            let share = match activation {
                ClassActivation::Softmax => {
                    let parts = (5..planes).map(|plane| f64::from(cells.at(cell, plane) - best).exp());
                    1.0 / parts.sum::<f64>()
                }
                ClassActivation::Sigmoid => sigmoid(best.into()),
            };
            let score = sigmoid(cells.at(cell, 4).into()) * share;
            found.offer(class, score as f32, || {
                let ([x, y, width, height], [column, row]) = (cells.four(cell), grid.corner(cell));
                let middle = [(column + sigmoid(x)) * grid.cell[0], (row + sigmoid(y)) * grid.cell[1]];
                Rectangle::around(middle, [anchor[0] * width.exp(), anchor[1] * height.exp()])
            });
        }
    }
}

/// Adds boxes of cells by the distance of the middle from the cell's corner and the logarithms of width and height, in strides.
pub(super) fn yolox(found: &mut Candidates<'_>, rows: Matrix<'_>, input: [usize; 2], strides: &[usize]) {
    let mut first = 0;
    for stride in strides {
        let grid = Grid::of_stride(input, *stride);
        for cell in 0..grid.cells() {
            let at = first + cell;
            let Some((class, share)) = rows.best(at, 5, None) else { continue };
            found.offer(class, rows.at(at, 4) * share, || {
                let ([x, y, width, height], [column, row]) = (rows.four(at), grid.corner(cell));
                let middle = [(x + column) * grid.cell[0], (y + row) * grid.cell[1]];
                Rectangle::around(middle, [width.exp() * grid.cell[0], height.exp() * grid.cell[1]])
            });
        }
        first += grid.cells();
    }
}

/// Adds boxes of cells by the distances from the cell's middle to the left, top, right and bottom edge: each is the mean, in strides, of a distribution whose
/// logarithms are given. One cell may have boxes of several classes.
pub(super) fn distributed(
    found: &mut Candidates<'_>,
    (scores, distances): (Matrix<'_>, Matrix<'_>),
    grid: Grid,
) {
    let steps = distances.columns / 4;
    let mean = |cell: usize, edge: usize| {
        let number = |step: usize| f64::from(distances.at(cell, edge * steps + step));
        let most = (0..steps).map(number).fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut whole) = (0.0, 0.0);
        for step in 0..steps {
            let weight = (number(step) - most).exp();
            (sum, whole) = (sum + weight * step as f64, whole + weight);
        }
        sum / whole
    };
    for cell in 0..grid.cells() {
        for class in 0..scores.columns {
            found.offer(class, scores.at(cell, class), || {
                let [left, top, right, bottom] = [0, 1, 2, 3].map(|edge| mean(cell, edge));
                let [column, row] = grid.corner(cell);
                Rectangle {
                    left: (column + 0.5 - left) * grid.cell[0],
                    top: (row + 0.5 - top) * grid.cell[1],
                    right: (column + 0.5 + right) * grid.cell[0],
                    bottom: (row + 0.5 + bottom) * grid.cell[1],
                }
            });
        }
    }
}
