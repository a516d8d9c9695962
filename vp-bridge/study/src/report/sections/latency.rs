//! Read latency as it was seen at the points that are looked at closely.

use crate::layout::{Curve, Panel};
use crate::measured::Histogram;
use crate::report::cells::strings;
use crate::report::drawing::Error;
use crate::report::figure::Figure;
use crate::report::latency;
use crate::report::page::{HALF, Page};
use crate::wording::spoken;
use maud::{Markup, html};

/// Memory interfaces as results name them, and as the manual does.
const INTERFACES: [(&str, &str); 2] = [("dbb0", "DBBIF"), ("sram0", "SRAMIF")];

/// The reads over one interface, of all curves of a chart at one place.
struct InterfaceReads<'a> {
    title: String,
    said: String,
    runs: Vec<(String, &'a Histogram)>,
}

impl Page<'_> {
    pub(in crate::report) fn latencies(&self) -> Result<Markup, Error> {
        let (mut charts, mut alike) = (Vec::new(), Vec::new());
        for seen in self.chosen().flat_map(|(panel, _)| self.seen(panel)) {
            match latency::without_spread(&seen.runs) {
                Some(cycles) => alike.push((seen.title, seen.said, cycles)),
                None => charts.push(self.latency_figure(seen)?),
            }
        }
        Ok(html! {
            p { "On DBBIF, and on SRAMIF where something is in SRAM: from a read's acceptance to its first data, waiting in the memory and on the bus included. Latencies of more than 32 cycles are counted in buckets a sixteenth of their power of two wide, and told by the longest that was seen in a bucket." }
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

    /// The reads of a chart's curves at the place of the point that is looked at closely, over each interface that had some.
    fn seen(&self, panel: &Panel) -> Vec<InterfaceReads<'_>> {
        let at = |curve: &Curve| curve.points.iter().find(|it| it.1 == panel.chosen).map(|it| it.0);
        let Some(x) = panel.curves.iter().find_map(at) else { return Vec::new() };
        // Several designs may have the same area.
        let is_space = self.layout.area.is_some();
        let said = if is_space { self.said(panel.chosen) } else { self.x_said(x) };
        let of_interface = |(port, interface): (&str, &str)| {
            let of_curve = |curve: &Curve| {
                let is_shown = |it: &&(f64, usize)| it.0 == x && (!is_space || it.1 == panel.chosen);
                let number = curve.points.iter().find(is_shown)?.1;
                let reads = &self.of(number)?.port(port)?.reads;
                (reads.latencies.count() > 0).then(|| (self.curve_label(&curve.label), &reads.latencies))
            };
            let runs: Vec<(String, &Histogram)> = panel.curves.iter().filter_map(of_curve).collect();
            let (title, said) = (format!("{} · {interface}", panel.title), said.clone());
            (!runs.is_empty()).then_some(InterfaceReads { title, said, runs })
        };
        INTERFACES.into_iter().filter_map(of_interface).collect()
    }

    fn latency_figure(&self, seen: InterfaceReads<'_>) -> Result<Figure, Error> {
        let InterfaceReads { title, said, runs } = seen;
        let name = self.layout.curves.as_deref().map_or("", spoken);
        let row = |(label, histogram): &(String, &Histogram)| {
            let percentile =
                |share| histogram.percentile(share).map_or_else(String::new, |it| it.to_string());
            let shares = [0.5, 0.9, 0.99, 1.0].map(percentile);
            std::iter::once(label.clone()).chain([histogram.count().to_string()]).chain(shares).collect()
        };
        let header =
            strings([name, "reads", "median, cycles", "90 %, cycles", "99 %, cycles", "longest, cycles"]);
        Ok(Figure {
            title,
            said: Some(said),
            answer: self.spread_said(&runs),
            svg: latency::draw(name, &runs, HALF)?,
            live: Some(latency::live(name, &runs)),
            cells: (header, runs.iter().map(row).collect()),
        })
    }

    /// Says how far the reads of the last curve are apart: it has the highest limit, and waits most.
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
