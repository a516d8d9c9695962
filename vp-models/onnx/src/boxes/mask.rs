//! Detectors with a probability for each pixel: boxes around the islands of likely ones.

use super::Rectangle;
use super::candidates::Candidates;

/// Shortest side of an island, in pixels of the plane: smaller ones are noise.
const LEAST_SIDE: usize = 3;

/// Probabilities of pixels, line by line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane<'a> {
    pub(super) width: usize,
    pub(super) probabilities: &'a [f32],
}

/// Upright box around an island: columns and lines, the ends excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Island {
    left: usize,
    top: usize,
    right: usize,
    bottom: usize,
}

/// Likely pixels of a line that touch each other.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: usize,
    end: usize,
    island: usize,
}

/// Adds boxes of one class around the islands of pixels above a probability: of the mean probability within as score, grown on each side by a factor of their area
/// over their perimeter, as the cores are shrunken lines. `pixel` has the size of the plane's pixels in those of the input.
pub(super) fn boxes(found: &mut Candidates<'_>, plane: Plane<'_>, pixel: [f64; 2], (core, grow): (f32, f64)) {
    for island in plane.islands(core) {
        let Island { left, top, right, bottom } = island;
        let (width, height) = (right - left, bottom - top);
        if width.min(height) < LEAST_SIDE {
            continue;
        }
        let grown = grow * (width * height) as f64 / (2 * (width + height)) as f64;
        found.offer(0, plane.mean(island) as f32, || Rectangle {
            left: (left as f64 - grown) * pixel[0],
            top: (top as f64 - grown) * pixel[1],
            right: (right as f64 + grown) * pixel[0],
            bottom: (bottom as f64 + grown) * pixel[1],
        });
    }
}

impl Plane<'_> {
    fn mean(self, island: Island) -> f64 {
        let line = |line: usize| &self.probabilities[line * self.width..][island.left..island.right];
        let sum: f64 = (island.top..island.bottom).flat_map(line).map(|one| f64::from(*one)).sum();
        sum / ((island.right - island.left) * (island.bottom - island.top)) as f64
    }

    /// Islands of pixels above a probability that touch each other, across corners too.
    fn islands(self, core: f32) -> Vec<Island> {
        let mut islands: Vec<Island> = Vec::new();
        // The island of which each is a part; of its own if it is whole.
        let mut of: Vec<usize> = Vec::new();
        let mut above: Vec<Run> = Vec::new();
        for (line, probabilities) in self.probabilities.chunks_exact(self.width).enumerate() {
            let mut here: Vec<Run> = Vec::new();
            // Runs above that end before a run begins touch none of those behind it.
            let mut first = 0;
            let mut start = 0;
            for part in probabilities.chunk_by(|one, next| (*one > core) == (*next > core)) {
                let end = start + part.len();
                if part[0] > core {
                    let mut island = islands.len();
                    of.push(island);
                    islands.push(Island { left: start, top: line, right: end, bottom: line + 1 });
                    first += above[first..].iter().take_while(|run| run.end < start).count();
                    for run in above[first..].iter().take_while(|run| run.start <= end) {
                        island = joined(&mut of, &mut islands, island, run.island);
                    }
                    here.push(Run { start, end, island });
                }
                start = end;
            }
            above = here;
        }
        let wholes = (0..islands.len()).filter(|island| of[*island] == *island);
        wholes.map(|island| islands[island]).collect()
    }
}

/// Makes two islands one, the older of them.
fn joined(of: &mut [usize], islands: &mut [Island], one: usize, other: usize) -> usize {
    let [one, other] = [one, other].map(|island| whole(of, island));
    let (kept, gone) = (one.min(other), one.max(other));
    let (a, b) = (islands[kept], islands[gone]);
    of[gone] = kept;
    islands[kept] = Island {
        left: a.left.min(b.left),
        top: a.top.min(b.top),
        right: a.right.max(b.right),
        bottom: a.bottom.max(b.bottom),
    };
    kept
}

/// Returns the island that another has become a part of.
fn whole(of: &mut [usize], mut island: usize) -> usize {
    while of[island] != island {
        of[island] = of[of[island]];
        island = of[island];
    }
    island
}
