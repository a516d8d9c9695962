//! Chart of how long reads took: the share of them in each bucket of latency.

use super::drawing::{self, Error};
use super::live::{self, Live};
use super::look::{LEGEND, Look, Mark, legend, legend_height};
use super::plot::{self, Axis};
use crate::measured::Histogram;
use plotters::prelude::*;
use serde_json::json;

/// Draws a histogram for each of some runs.
pub(super) fn draw(title: &str, runs: &[(String, &Histogram)], size: (u32, u32)) -> Result<String, Error> {
    let entries: Vec<_> = Look::each(runs).map(|((label, _), look)| (label.clone(), look)).collect();
    let legends = legend_height(size.0, title, &entries, Mark::Line);
    drawing::svg((size.0, size.1 + legends - LEGEND), |root| {
        let (top, area) = root.split_vertically(legends);
        legend(&top, title, &entries, Mark::Line)?;
        let shares: Vec<Vec<(f64, f64, f64)>> = runs.iter().map(|(_, histogram)| shares(histogram)).collect();
        let all = || shares.iter().flatten();
        let x = axis(all());
        let y = Axis::up_to("% of the reads", all().map(|bucket| bucket.2).fold(0.0, f64::max));
        let mut chart = plot::chart(&area, &x, &y, 68)?;
        for (shares, look) in Look::each(&shares) {
            let boxes = shares.iter().map(|&(from, until, share)| {
                Rectangle::new(
                    [(x.place(from), 0.0), (x.place(until), share)],
                    look.colour.mix(0.35).filled(),
                )
            });
            chart.draw_series(boxes)?;
            for &(from, until, share) in shares {
                let corners = [(from, 0.0), (from, share), (until, share), (until, 0.0)];
                let places = corners.map(|(at, share)| chart.backend_coord(&(x.place(at), share)));
                look.line(root, &places, 1)?;
                if !look.is_plain() {
                    look.mark(root, ((places[1].0 + places[2].0) / 2, places[1].1))?;
                }
            }
        }
        Ok(())
    })
}

/// Along which buckets stand, each with its ends first.
fn axis<'a>(buckets: impl Iterator<Item = &'a (f64, f64, f64)>) -> Axis {
    let ends: Vec<f64> = buckets.flat_map(|&(from, until, _)| [from, until]).collect();
    let (least, most) = ends.iter().fold((f64::MAX, 0.0_f64), |all, it| (all.0.min(*it), all.1.max(*it)));
    // One latency alone would fill the whole chart.
    Axis::log(NAME, ends, if most < 3.0 * least { 2.5 } else { 1.25 })
}

/// Name of the axis.
const NAME: &str = "read latency, cycles";

/// The longest latency, if all reads of all runs are in one bucket: then there is nothing to draw.
pub(super) fn without_spread(runs: &[(String, &Histogram)]) -> Option<u64> {
    let mut buckets = runs.iter().flat_map(|(_, histogram)| histogram.0.iter().map(|(cycles, _)| *cycles));
    let first = buckets.next()?;
    buckets.all(|cycles| cycles == first).then_some(first)
}

/// Returns the chart of [`draw`] for the page's script.
pub(super) fn live(title: &str, runs: &[(String, &Histogram)]) -> Live {
    let run = |(at, (label, histogram)): (usize, &(String, &Histogram))| {
        let mut line: [Vec<f64>; 2] = Default::default();
        let mut hints = Vec::new();
        for (from, until, share) in shares(histogram) {
            for (x, y) in [(from, 0.0), (from, share), (until, share), (until, 0.0)] {
                line[0].push(live::digits(x));
                line[1].push(live::digits(y));
                hints.push(format!("{from:.0} to {until:.0} cycles: {share:.2} %"));
            }
        }
        let name = format!("{title} {label}");
        let [x, y] = line;
        json!({
            "type": "scatter", "mode": "lines", "fill": "tozeroy", "name": name.trim(), "x": x, "y": y,
            "customdata": hints, "hovertemplate": "%{customdata} of the reads",
            "line": { "color": live::series(at), "width": 1.5 },
        })
    };
    let traces = runs.iter().enumerate().map(run).collect();
    let all: Vec<(f64, f64, f64)> = runs.iter().flat_map(|(_, histogram)| shares(histogram)).collect();
    Live::new(traces, live::along(&axis(all.iter())), live::axis("% of the reads"), 380)
}

/// Each bucket's ends and its share in per cent.
fn shares(histogram: &Histogram) -> Vec<(f64, f64, f64)> {
    let whole = histogram.count().max(1) as f64;
    let bucket = |&(longest, count): &(u64, u64)| {
        let longest = longest.max(1);
        let wide = if longest < 32 { 1 } else { 1 << (longest.ilog2() - 4) };
        let from = longest / wide * wide;
        (from as f64, (from + wide) as f64, 100.0 * count as f64 / whole)
    };
    histogram.0.iter().map(bucket).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_a_box_as_high_as_its_share() {
        let histogram = Histogram(vec![(10, 3), (67, 1)]);
        assert_eq!(shares(&histogram), [(10.0, 11.0, 75.0), (64.0, 68.0, 25.0)]);
        let svg = draw("outstanding", &[("8".to_owned(), &histogram)], (500, 300)).unwrap();
        assert_eq!(svg.matches("<rect").count(), 2);
        let live = live("outstanding", &[("8".to_owned(), &histogram)]).element().into_string();
        assert!(live.contains("64 to 68 cycles: 25.00 %"), "{live}");
    }

    #[test]
    fn what_takes_the_same_everywhere_has_no_spread() {
        let (one, two) = (Histogram(vec![(50, 9)]), Histogram(vec![(50, 9), (60, 1)]));
        let of = |all: &[&Histogram]| {
            let runs: Vec<(String, &Histogram)> = all.iter().map(|it| (String::new(), *it)).collect();
            without_spread(&runs)
        };
        assert_eq!(
            [of(&[&one]), of(&[&one, &one]), of(&[&one, &two]), of(&[])],
            [Some(50), Some(50), None, None]
        );
    }
}
