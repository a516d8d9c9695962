//! Boxes of a detector, as text and as JSON.

use crate::cli::{Failure, text};
use serde_json::{Value, json};
use std::io::Write;
use vp_onnx::boxes::{Detection, ModelDetector, Rectangle};
use vp_onnx::samples::Labels;

/// Boxes that a run has found.
pub(super) struct FoundBoxes<'a> {
    pub(super) detector: &'a ModelDetector,
    pub(super) boxes: &'a [Detection],
    pub(super) labels: Option<&'a Labels>,
    /// True if they are in pixels of a picture, not of the network's input.
    pub(super) is_of_picture: bool,
}

impl FoundBoxes<'_> {
    fn label(&self, class: usize) -> Option<&str> {
        self.labels.and_then(|labels| labels.name(class))
    }

    pub(super) fn show(&self, out: &mut impl Write) -> Result<(), Failure> {
        writeln!(
            out,
            "{:<10} {} in pixels of {}: form {}, scores of at least {}",
            "boxes",
            text::counted(self.boxes.len() as u64, "detection"),
            if self.is_of_picture { "the picture" } else { "the input" },
            self.detector.form(),
            self.detector.threshold()
        )?;
        if self.boxes.is_empty() {
            return Ok(());
        }
        let header = ["class", "score", "left", "top", "right", "bottom", "label"];
        let mut table = text::table(&header, &[0, 1, 2, 3, 4, 5]);
        for Detection { class, score, rectangle } in self.boxes {
            let Rectangle { left, top, right, bottom } = rectangle;
            let mut cells = vec![class.to_string(), format!("{score:.3}")];
            cells.extend([left, top, right, bottom].map(|edge| format!("{edge:.1}")));
            cells.push(self.label(*class).unwrap_or_default().to_owned());
            table.add_row(cells);
        }
        writeln!(out, "\n{}", table.trim_fmt())?;
        Ok(())
    }

    pub(super) fn json(&self) -> Vec<Value> {
        let of = |Detection { class, score, rectangle }: &Detection| {
            json!({
                "class": class,
                "label": self.label(*class),
                "score": score,
                "left": rectangle.left,
                "top": rectangle.top,
                "right": rectangle.right,
                "bottom": rectangle.bottom,
            })
        };
        self.boxes.iter().map(of).collect()
    }
}
