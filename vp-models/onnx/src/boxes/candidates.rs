//! Candidates: the best boxes that outputs tell of, and of those of a class that cover each other the best one.

use super::{Detection, Rectangle};

/// Most boxes that are compared with each other, the best ones.
const MOST_COMPARED: usize = 10_000;

/// Boxes of at least a score, in pixels of the network's input.
pub(super) struct Candidates {
    threshold: f32,
    /// The best so far, and what has come since they were sorted.
    found: Vec<Detection>,
}

impl Candidates {
    pub(super) fn new(threshold: f32) -> Candidates {
        Candidates { threshold, found: Vec::new() }
    }

    /// Takes a box if its score is high enough, and neither score nor place is beyond all numbers.
    pub(super) fn offer(&mut self, class: usize, score: f32, place: impl FnOnce() -> Rectangle) {
        if score.is_nan() || score < self.threshold {
            return;
        }
        let rectangle = place();
        if rectangle.is_finite() {
            self.found.push(Detection { class, score, rectangle });
        }
        if self.found.len() == 2 * MOST_COMPARED {
            self.sort();
        }
    }

    /// Puts the best first, of equal scores the one that came first, and forgets those that are too many.
    fn sort(&mut self) {
        self.found.sort_by(|one, other| other.score.total_cmp(&one.score));
        self.found.truncate(MOST_COMPARED);
    }

    /// Returns the best boxes, best first, that no better one of their class overlaps by more than a share.
    pub(super) fn kept(mut self, overlap: f64, most: usize) -> Vec<Detection> {
        self.sort();
        let mut kept: Vec<Detection> = Vec::new();
        for one in self.found {
            if kept.len() == most {
                break;
            }
            let covers = |better: &Detection| {
                better.class == one.class && better.rectangle.overlap(&one.rectangle) > overlap
            };
            if !kept.iter().any(covers) {
                kept.push(one);
            }
        }
        kept
    }
}
