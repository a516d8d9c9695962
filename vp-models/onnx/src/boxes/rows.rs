//! Detectors with a row of numbers for each box.

use super::Rectangle;
use super::candidates::Candidates;
use super::matrix::Matrix;

/// Adds boxes by their corners, with scores for classes beside them. One place may have boxes of several classes.
pub(super) fn corners(
    found: &mut Candidates,
    (boxes, scores): (Matrix<'_>, Matrix<'_>),
    unit: [f64; 2],
    background: Option<usize>,
) {
    for row in 0..scores.rows {
        for class in (0..scores.columns).filter(|class| Some(*class) != background) {
            found.offer(class, scores.at(row, class), || {
                let [left, top, right, bottom] = boxes.four(row);
                Rectangle {
                    left: left * unit[0],
                    top: top * unit[1],
                    right: right * unit[0],
                    bottom: bottom * unit[1],
                }
            });
        }
    }
}

/// Adds boxes by middle, width and height, the probability that there is any thing, and those of its classes.
pub(super) fn with_objectness(found: &mut Candidates, rows: Matrix<'_>) {
    for row in 0..rows.rows {
        if let Some((class, share)) = rows.best(row, 5) {
            found.offer(class, rows.at(row, 4) * share, || around(rows.four(row)));
        }
    }
}

/// Adds boxes by middle, width and height, and the probabilities of classes.
pub(super) fn with_classes(found: &mut Candidates, rows: Matrix<'_>) {
    for row in 0..rows.rows {
        if let Some((class, score)) = rows.best(row, 4) {
            found.offer(class, score, || around(rows.four(row)));
        }
    }
}

fn around([x, y, width, height]: [f64; 4]) -> Rectangle {
    Rectangle::around([x, y], [width, height])
}
