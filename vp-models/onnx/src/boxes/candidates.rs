//! Candidates: the best boxes that outputs tell of, and of those of a class that cover each other the best one.

use super::{Detection, Rectangle};

/// Most boxes that are compared with each other, the best ones.
pub(super) const MOST_COMPARED: usize = 10_000;

/// Boxes of at least a score, in pixels of the network's input.
pub(super) struct Candidates<'a> {
    threshold: f32,
    /// Place in the picture of a box; none if it shows nothing of it.
    in_picture: &'a dyn Fn(Rectangle) -> Option<Rectangle>,
    /// The best so far, and what has come since they were sorted, each with its place in the picture.
    found: Vec<(Detection, Rectangle)>,
    /// Largest score that was offered.
    largest: f32,
}

impl Candidates<'_> {
    pub(super) fn new(threshold: f32, in_picture: &dyn Fn(Rectangle) -> Option<Rectangle>) -> Candidates<'_> {
        Candidates { threshold, in_picture, found: Vec::new(), largest: 0.0 }
    }

    /// Takes a box if its score is high enough, its place is a number, and some of the picture is in it.
    pub(super) fn offer(&mut self, class: usize, score: f32, place: impl FnOnce() -> Rectangle) {
        if score.is_nan() || score < self.threshold {
            return;
        }
        self.largest = self.largest.max(score);
        let rectangle = place();
        if let Some(shown) = Some(rectangle).filter(Rectangle::is_finite).and_then(self.in_picture) {
            self.found.push((Detection { class, score, rectangle }, shown));
        }
        if self.found.len() == 2 * MOST_COMPARED {
            self.sort();
        }
    }

    /// Largest score that was offered; 0 if none was.
    pub(super) fn largest(&self) -> f32 {
        self.largest
    }

    /// Puts the best first, of equal scores the one that came first, and forgets those that are too many.
    fn sort(&mut self) {
        self.found.sort_by(|(one, _), (other, _)| other.score.total_cmp(&one.score));
        self.found.truncate(MOST_COMPARED);
    }

    /// Returns the best boxes in the picture, best first, that overlap no better one of their class that is kept by more than a share.
    pub(super) fn kept(mut self, overlap: f64, most: usize) -> Vec<Detection> {
        self.sort();
        let mut kept: Vec<(Detection, Rectangle)> = Vec::new();
        for (one, shown) in self.found {
            if kept.len() == most {
                break;
            }
            let covers = |(better, _): &(Detection, Rectangle)| {
                better.class == one.class && better.rectangle.overlap(&one.rectangle) > overlap
            };
            if !kept.iter().any(covers) {
                kept.push((one, shown));
            }
        }
        kept.into_iter().map(|(one, rectangle)| Detection { rectangle, ..one }).collect()
    }
}
