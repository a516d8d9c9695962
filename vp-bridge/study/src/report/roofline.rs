//! The roofline: how fast each layer could be, by what it does with each byte that it reads, and how fast it is.

use super::look::{LEGEND, Mark, legend};
use super::plot::{self, Axis, Error, Labels, SERIES, TEXT};
use crate::measured::Measured;
use plotters::prelude::*;

/// A layer under the roof.
pub(super) struct RooflinePoint {
    pub(super) name: String,
    /// Multiplications for each byte that is read.
    pub(super) intensity: f64,
    /// Multiplications a cycle.
    pub(super) speed: f64,
    /// Its share of the time.
    pub(super) share: f64,
}

/// What bounds all layers.
pub(super) struct Roof {
    /// Multiplications a cycle at most.
    pub(super) macs: f64,
    /// Bytes that can be read a cycle.
    pub(super) bytes: f64,
    /// Bytes that can be read a cycle with so many reads outstanding at this latency, if that is less.
    pub(super) hidden: Option<f64>,
}

/// The layers that multiply, and their roof.
pub(super) fn of(measured: &Measured) -> (Roof, Vec<RooflinePoint>) {
    let whole = measured.time.max(1) as f64;
    let period = measured.period.max(1) as f64;
    let places = measured.layers.iter().filter(|layer| layer.macs > 0 && layer.read > 0 && layer.time > 0);
    let places = places.map(|layer| RooflinePoint {
        name: layer.name.clone(),
        intensity: layer.macs as f64 / layer.read as f64,
        speed: layer.macs as f64 * period / layer.time as f64,
        share: layer.time as f64 / whole,
    });
    let machine = &measured.machine;
    // Little's law: what is under way is the rate times the latency.
    let latency = measured.port("dbb0").and_then(|port| port.reads.latencies.percentile(0.5));
    let mean_burst =
        measured.port("dbb0").map_or(0.0, |port| port.reads.bytes as f64 / port.reads.bursts.max(1) as f64);
    let hidden = latency.map(|latency| machine.read_outstanding as f64 * mean_burst / latency.max(1) as f64);
    let roof = Roof {
        macs: machine.macs as f64,
        bytes: machine.read_bytes,
        hidden: hidden.filter(|hidden| *hidden < machine.read_bytes * 0.98),
    };
    (roof, places.collect())
}

/// Names are written at so many of the layers that take longest.
const NAMED: usize = 4;

pub(super) fn draw(roof: &Roof, places: &[RooflinePoint], size: (u32, u32)) -> Result<String, Error> {
    plot::svg(size, |root| {
        let (top, area) = root.split_vertically(LEGEND);
        let mut entries = vec![
            (format!("{} MACs/cycle", plot::short(roof.macs)), SERIES[2].into()),
            (format!("{} bytes/cycle", plot::short(roof.bytes)), SERIES[1].into()),
        ];
        if let Some(hidden) = roof.hidden {
            entries.push((format!("{} bytes/cycle by latency", plot::short(hidden)), SERIES[0].into()));
        }
        legend(&top, "", &entries, Mark::Line)?;
        let ridge = roof.macs / roof.hidden.unwrap_or(roof.bytes).max(f64::MIN_POSITIVE);
        let x = Axis::log(
            "MACs for each byte read",
            places.iter().map(|place| place.intensity).chain([ridge, roof.macs / roof.bytes]),
            1.8,
        );
        let y = Axis::log("MACs a cycle", places.iter().map(|place| place.speed).chain([roof.macs]), 1.6);
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
        let radius = |share: f64| (3.0 + 26.0 * share.max(0.0).sqrt()).min(24.0) as i32;
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
    }
}
