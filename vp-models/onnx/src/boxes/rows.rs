//! Detectors with a row of numbers for each box.

use super::Rectangle;
use super::candidates::Candidates;
use super::matrix::Matrix;

/// Adds boxes by their corners, with scores for classes beside them. One place may have boxes of several classes.
pub(super) fn corners(
    found: &mut Candidates<'_>,
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

/// Adds boxes by middle, width and height, the probability that there is any thing, and those of so many classes, or of all columns.
pub(super) fn with_objectness(found: &mut Candidates<'_>, rows: Matrix<'_>, classes: Option<usize>) {
    for row in 0..rows.rows {
        if let Some((class, share)) = rows.best(row, 5, classes) {
            found.offer(class, rows.at(row, 4) * share, || around(rows.four(row)));
        }
    }
}

/// Adds boxes by middle, width and height, and the probabilities of so many classes, or of all columns.
pub(super) fn with_classes(found: &mut Candidates<'_>, rows: Matrix<'_>, classes: Option<usize>) {
    for row in 0..rows.rows {
        if let Some((class, score)) = rows.best(row, 4, classes) {
            found.offer(class, score, || around(rows.four(row)));
        }
    }
}

/// Adds boxes by their corners, score and class; the first number that is no class is an error.
pub(super) fn finished(found: &mut Candidates<'_>, rows: Matrix<'_>, threshold: f32) -> Result<(), f32> {
    for row in (0..rows.rows).filter(|row| rows.at(*row, 4) >= threshold) {
        let class = rows.at(row, 5);
        if !(0.0..65_536.0).contains(&class) || class.fract() != 0.0 {
            return Err(class);
        }
        found.offer(class as usize, rows.at(row, 4), || {
            let [left, top, right, bottom] = rows.four(row);
            Rectangle { left, top, right, bottom }
        });
    }
    Ok(())
}

fn around([x, y, width, height]: [f64; 4]) -> Rectangle {
    Rectangle::around([x, y], [width, height])
}
