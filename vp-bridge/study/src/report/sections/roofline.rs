//! Rooflines of the points that are looked at closely.

use crate::report::answer::percent;
use crate::report::cells::strings;
use crate::report::drawing::Error;
use crate::report::figure::{Figure, side_by_side};
use crate::report::page::{HALF, Page};
use crate::report::roofline::{self, Roof, RooflinePoint};
use crate::wording::rounded;
use maud::{Markup, html};

impl Page<'_> {
    pub(in crate::report) fn rooflines(&self) -> Result<Markup, Error> {
        let mut charts = Vec::new();
        for (panel, measured) in self.chosen() {
            let (roof, places) = roofline::of(measured);
            if places.is_empty() {
                continue;
            }
            let row = |place: &RooflinePoint| {
                vec![
                    place.name.clone(),
                    rounded(place.intensity),
                    rounded(place.speed),
                    format!("{:.1} %", 100.0 * place.share),
                ]
            };
            let header = strings(["layer", "MACs for each byte read", "MACs a cycle", "share of the time"]);
            charts.push(Figure {
                title: panel.title.clone(),
                said: Some(self.said(panel.chosen)),
                answer: Some(said(&roof, &places)),
                svg: roofline::draw(&roof, &places, HALF)?,
                live: Some(roofline::live(&roof, &places)),
                cells: (header, places.iter().map(row).collect()),
            });
        }
        Ok(html! {
            p {
                "A disc is a layer that multiplies; the larger, the more of the time it takes. No layer can be above the flat roof (all multipliers busy) or left of the slopes: "
                "what the memories can read a cycle, and, where that is less and nothing is in SRAM, what can be read with so many reads outstanding at the latency that was seen (Little's law). "
                "Weights and data are counted each time they are read, in the time of the layer that is at work: with several frames at once (" code { "batch" } ") the next one's input may be read in that of another."
            }
            (side_by_side(&charts))
        })
    }
}

/// Says how much of the time goes into layers that what is read bounds, and how near they come to their roof.
fn said(roof: &Roof, places: &[RooflinePoint]) -> String {
    let ridge = roof.macs / roof.rate().max(f64::MIN_POSITIVE);
    let left: Vec<&RooflinePoint> = places.iter().filter(|place| place.intensity < ridge).collect();
    let share: f64 = left.iter().map(|place| place.share).sum();
    let near = places.iter().filter(|place| place.speed > 0.5 * roof.limit(place.intensity)).count();
    format!(
        "Reading bounds {} of {} layers, {} of the time; {near} come to more than half of their roof.",
        left.len(),
        places.len(),
        percent(share)
    )
}
