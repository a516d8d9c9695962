//! Read latency as it was seen at the points that are looked at closely.

use crate::layout::Curve;
use crate::measured::Histogram;
use crate::report::cells::strings;
use crate::report::drawing::Error;
use crate::report::figure::Figure;
use crate::report::latency;
use crate::report::page::{HALF, Page};
use crate::wording::spoken;
use maud::{Markup, html};

impl Page<'_> {
    pub(in crate::report) fn latencies(&self) -> Result<Markup, Error> {
        let (mut charts, mut alike) = (Vec::new(), Vec::new());
        for (panel, _) in self.chosen() {
            let at = |curve: &Curve| curve.points.iter().find(|it| it.1 == panel.chosen).map(|it| it.0);
            let Some(x) = panel.curves.iter().find_map(at) else { continue };
            // Several designs may have the same area.
            let is_space = self.layout.area.is_some();
            let runs: Vec<(String, &Histogram)> = panel
                .curves
                .iter()
                .filter_map(|curve| {
                    let is_shown = |it: &&(f64, usize)| it.0 == x && (!is_space || it.1 == panel.chosen);
                    let number = curve.points.iter().find(is_shown)?.1;
                    Some((self.curve_label(&curve.label), &self.of(number)?.port("dbb0")?.reads.latencies))
                })
                .collect();
            let said = if is_space { self.said(panel.chosen) } else { self.x_said(x) };
            if let Some(cycles) = latency::without_spread(&runs) {
                alike.push((panel.title.clone(), said, cycles));
                continue;
            }
            let title = self.layout.curves.as_deref().map_or("", spoken);
            let row = |(label, histogram): &(String, &Histogram)| {
                let percentile =
                    |share| histogram.percentile(share).map_or_else(String::new, |it| it.to_string());
                let shares = [0.5, 0.9, 0.99, 1.0].map(percentile);
                std::iter::once(label.clone()).chain([histogram.count().to_string()]).chain(shares).collect()
            };
            let header = strings([
                title,
                "reads",
                "median, cycles",
                "90 %, cycles",
                "99 %, cycles",
                "longest, cycles",
            ]);
            charts.push(Figure {
                title: panel.title.clone(),
                said: Some(said),
                answer: self.spread_said(&runs),
                svg: latency::draw(title, &runs, HALF)?,
                live: Some(latency::live(title, &runs)),
                cells: (header, runs.iter().map(row).collect()),
            });
        }
        Ok(html! {
            p { "On DBBIF, from a read's acceptance to its first data, waiting in the memory and on the bus included. Latencies of more than 32 cycles are counted in buckets a sixteenth of their power of two wide, and told by the longest that was seen in a bucket." }
            @if !alike.is_empty() {
                ul.alike {
                    @for (title, said, cycles) in &alike {
                        li { (title) " " small { (said) } ": reads took at most " b { (cycles) " cycles" } ", and none was shorter by a sixteenth. There is no spread to draw." }
                    }
                }
            }
            div.charts { @for figure in &charts { (figure.half()) } }
        })
    }

    /// How far the reads of the last curve are apart: it has the highest limit, and waits most.
    fn spread_said(&self, runs: &[(String, &Histogram)]) -> Option<String> {
        let (label, histogram) = runs.last()?;
        let of = |share| histogram.percentile(share);
        let with = match (self.layout.curves.as_deref(), label.as_str()) {
            (Some(name), label) if !label.is_empty() => format!("With {} {label}", spoken(name)),
            _ => "Here".to_owned(),
        };
        let (median, most, longest) = (of(0.5)?, of(0.99)?, of(1.0)?);
        Some(format!(
            "{with} half of the reads take at most {median} cycles, 99 % at most {most} cycles, the longest {longest} cycles."
        ))
    }
}
