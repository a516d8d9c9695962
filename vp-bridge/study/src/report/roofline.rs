//! The roofline: how fast each layer could be, by what it does with each byte that it reads, and how fast it is.

use super::drawing::{self, Error, SERIES, TEXT};
use super::live::{self, Live};
use super::look::{LEGEND, Mark, legend};
use super::plot::{self, Axis, Labels};
use crate::measured::Measured;
use crate::wording::short;
use plotters::prelude::*;
use serde_json::json;

/// A layer under the roof.
pub(super) struct RooflinePoint {
    pub(super) name: String,
    /// Multiplications for each byte that is read.
    pub(super) intensity: f64,
    /// Multiplications a cycle.
    pub(super) speed: f64,
    /// Share of the time that the layer takes.
    pub(super) share: f64,
}

/// Limits that bound all layers.
pub(super) struct Roof {
    /// Multiplications a cycle at most.
    pub(super) macs: f64,
    /// Bytes that can be read a cycle, over all interfaces that are used.
    pub(super) bytes: f64,
    /// True if SRAMIF is one of them.
    pub(super) has_sram: bool,
    /// Bytes that can be read a cycle with so many reads outstanding at this latency, if that is less; not where some come over SRAMIF.
    pub(super) hidden: Option<f64>,
}

/// The layers that multiply, and their roof.
pub(super) fn of(measured: &Measured) -> (Roof, Vec<RooflinePoint>) {
    let whole = measured.time.max(1) as f64;
    let period = measured.period.max(1) as f64;
    let places = measured.layers.iter().filter(|layer| layer.macs > 0 && layer.read > 0 && layer.time > 0);
    let places = places.map(|layer| RooflinePoint {
        name: layer.name.clone(),
        intensity: layer.products() as f64 / layer.read as f64,
        speed: layer.products() as f64 * period / layer.time as f64,
        share: layer.time as f64 / whole,
    });
    let machine = &measured.machine;
    // Little's law: what is under way is the rate times the latency.
    let latency = measured.port("dbb0").and_then(|port| port.reads.latencies.percentile(0.5));
    let mean_burst =
        measured.port("dbb0").map_or(0.0, |port| port.reads.bytes as f64 / port.reads.bursts.max(1) as f64);
    let hidden = latency.map(|latency| machine.read_outstanding as f64 * mean_burst / latency.max(1) as f64);
    let has_sram = measured.layers.iter().any(|layer| layer.sram_read > 0);
    let bytes = machine.read_bytes + if has_sram { machine.sram_read_bytes } else { 0.0 };
    let hidden = hidden.filter(|hidden| *hidden < bytes * 0.98 && !has_sram);
    let roof = Roof { macs: machine.macs as f64, bytes, has_sram, hidden };
    (roof, places.collect())
}

impl Roof {
    /// Returns the slope's name in the legend.
    fn slope_name(&self) -> String {
        let over = if self.has_sram { ", DBBIF and SRAM" } else { "" };
        format!("{} bytes/cycle{over}", short(self.bytes))
    }

    /// Bytes a cycle that can be read in the end.
    pub(super) fn rate(&self) -> f64 {
        self.hidden.unwrap_or(self.bytes)
    }

    /// Multiplications a cycle that a layer can come to at most.
    pub(super) fn limit(&self, intensity: f64) -> f64 {
        self.macs.min(intensity * self.rate())
    }
}

/// Names of the axes.
const NAMES: [&str; 2] = ["MACs for each byte read", "MACs a cycle"];

fn axes(roof: &Roof, places: &[RooflinePoint]) -> (Axis, Axis) {
    let ridges = [roof.macs / roof.rate().max(f64::MIN_POSITIVE), roof.macs / roof.bytes];
    let x = Axis::log(NAMES[0], places.iter().map(|place| place.intensity).chain(ridges), 1.8);
    let y = Axis::log(NAMES[1], places.iter().map(|place| place.speed).chain([roof.macs]), 1.6);
    (x, y)
}

/// Returns the chart of [`draw`] for the page's script.
pub(super) fn live(roof: &Roof, places: &[RooflinePoint]) -> Live {
    let (x, y) = axes(roof, places);
    let slope = |name: String, rate: f64, at: usize| {
        let from = x.start().max(y.start() / rate);
        let to = (roof.macs / rate).min(x.end());
        json!({
            "type": "scatter", "mode": "lines", "name": name, "line": { "color": live::series(at) },
            "x": [live::digits(from), live::digits(to)], "y": [live::digits(from * rate), live::digits(to * rate)],
            "hoverinfo": "name",
        })
    };
    let mut traces = vec![slope(roof.slope_name(), roof.bytes, 1)];
    if let Some(hidden) = roof.hidden {
        traces.push(slope(format!("{} bytes/cycle by latency", short(hidden)), hidden, 0));
    }
    let ridge = (roof.macs / roof.bytes).max(x.start());
    traces.push(json!({
        "type": "scatter", "mode": "lines", "name": format!("{} MACs/cycle", short(roof.macs)),
        "line": { "color": live::series(2) }, "x": [live::digits(ridge), live::digits(x.end())],
        "y": [roof.macs, roof.macs], "hoverinfo": "name",
    }));
    let column = |of: &dyn Fn(&RooflinePoint) -> f64| -> Vec<f64> {
        places.iter().map(|place| live::digits(of(place))).collect()
    };
    let hints: Vec<String> = places
        .iter()
        .map(|place| {
            let limit = 100.0 * place.speed / roof.limit(place.intensity).max(f64::MIN_POSITIVE);
            format!(
                "<b>{}</b><br>{:.1} % of the time, at {limit:.0} % of its roof",
                place.name,
                100.0 * place.share
            )
        })
        .collect();
    traces.push(json!({
        "type": "scatter", "mode": "markers", "name": "layers", "customdata": hints,
        "x": column(&|place| place.intensity), "y": column(&|place| place.speed),
        "hovertemplate": "%{customdata}<br>%{x:,.4r} MACs for each byte read<br>%{y:,.4r} MACs a cycle<extra></extra>",
        "marker": {
            "color": "var(--text)", "opacity": 0.45, "size": column(&|place| f64::from(2 * radius(place.share))),
            "line": { "width": 0 },
        },
    }));
    Live::new(traces, live::along(&x), live::along(&y), 400)
}

/// Returns the radius of a layer's disc, in pixels.
fn radius(share: f64) -> i32 {
    (3.0 + 26.0 * share.max(0.0).sqrt()).min(24.0) as i32
}

/// Names are written at so many of the layers that take longest.
const NAMED: usize = 4;

pub(super) fn draw(roof: &Roof, places: &[RooflinePoint], size: (u32, u32)) -> Result<String, Error> {
    drawing::svg(size, |root| {
        let (top, area) = root.split_vertically(LEGEND);
        let mut entries = vec![
            (format!("{} MACs/cycle", short(roof.macs)), SERIES[2].into()),
            (roof.slope_name(), SERIES[1].into()),
        ];
        if let Some(hidden) = roof.hidden {
            entries.push((format!("{} bytes/cycle by latency", short(hidden)), SERIES[0].into()));
        }
        legend(&top, "", &entries, Mark::Line)?;
        let (x, y) = axes(roof, places);
        let mut chart = plot::chart(&area, &x, &y, 68)?;
        let mut slope = |rate: f64, colour: RGBColor| {
            // From the left or the lower edge up to the flat roof.
            let from = x.start().max(y.start() / rate);
            let to = (roof.macs / rate).min(x.end());
            let line = [from, to].map(|at| (x.place(at), y.place(at * rate)));
            chart.draw_series([PathElement::new(line.to_vec(), colour.stroke_width(2))]).map(|_| ())
        };
        slope(roof.bytes, SERIES[1])?;
        if let Some(hidden) = roof.hidden {
            slope(hidden, SERIES[0])?;
        }
        let flat =
            [(roof.macs / roof.bytes).max(x.start()), x.end()].map(|at| (x.place(at), y.place(roof.macs)));
        chart.draw_series([PathElement::new(flat.to_vec(), SERIES[2].stroke_width(2))])?;
        let dots = places.iter().map(|place| {
            let at = (x.place(place.intensity), y.place(place.speed));
            Circle::new(at, radius(place.share), TEXT.mix(0.35).filled())
        });
        chart.draw_series(dots)?;
        let mut longest: Vec<&RooflinePoint> = places.iter().collect();
        longest.sort_by(|a, b| b.share.total_cmp(&a.share));
        let mut labels = Labels::default();
        for place in places {
            let (at, down) = chart.backend_coord(&(x.place(place.intensity), y.place(place.speed)));
            // A text may touch a disc's rim, and has no room upon it.
            let half = radius(place.share) * 2 / 3;
            labels.keep_free([at - half, down - half, at + half, down + half]);
        }
        let (edge, height) = chart.backend_coord(&(x.place(x.end()), y.place(roof.macs)));
        labels.keep_free([0, height - 1, edge, height + 1]);
        for place in longest.into_iter().take(NAMED) {
            let at = chart.backend_coord(&(x.place(place.intensity), y.place(place.speed)));
            let text = format!("{} {:.0} %", place.name, 100.0 * place.share);
            labels.write(root, &text, at, radius(place.share) + 4, size.0 as i32 - 8)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::{Direction, Histogram, Machine, MeasuredLayer, Port};

    #[test]
    fn a_layer_stands_where_its_products_and_bytes_put_it() {
        let layer =
            MeasuredLayer { name: "c".into(), time: 10_000, macs: 640, read: 64, ..MeasuredLayer::default() };
        let reads =
            Direction { bursts: 4, bytes: 256, latencies: Histogram(vec![(100, 4)]), ..Direction::default() };
        let measured = Measured {
            period: 1000,
            time: 20_000,
            machine: Machine { macs: 64, read_bytes: 8.0, read_outstanding: 4, ..Machine::default() },
            ports: vec![Port { name: "dbb0".into(), reads, ..Port::default() }],
            layers: vec![layer, MeasuredLayer::default()],
            ..Measured::default()
        };
        let (roof, places) = of(&measured);
        assert_eq!(places.len(), 1);
        assert_eq!((places[0].intensity, places[0].speed, places[0].share), (10.0, 64.0, 0.5));
        // Four bursts of 64 bytes in 100 cycles.
        assert_eq!(roof.hidden, Some(2.56));
        let svg = draw(&roof, &places, (600, 400)).unwrap();
        assert!(svg.contains("c 50 %") && svg.contains("2.56 bytes/cycle by latency"), "{svg}");
        let live = live(&roof, &places).element().into_string();
        // The flat roof, two slopes, the layers: 64 MACs a cycle of the 25.6 that ten for each of 2.56 bytes are.
        assert_eq!(live.matches("\"type\":\"scatter\"").count(), 4);
        assert!(live.contains("50.0 % of the time, at 250 % of its roof"), "{live}");
    }

    #[test]
    fn what_comes_from_sram_comes_beside_what_dbbif_reads() {
        let layer =
            MeasuredLayer { time: 10_000, macs: 640, read: 64, sram_read: 32, ..MeasuredLayer::default() };
        let machine = Machine { macs: 64, read_bytes: 8.0, sram_read_bytes: 16.0, ..Machine::default() };
        let measured =
            Measured { period: 1000, time: 20_000, machine, layers: vec![layer], ..Measured::default() };
        let (roof, _) = of(&measured);
        assert_eq!((roof.bytes, roof.hidden), (24.0, None));
        assert_eq!(roof.slope_name(), "24 bytes/cycle, DBBIF and SRAM");
    }
}
