//! Section of what bounds points and layers.

use super::points::largest;
use crate::layout::{Curve, Panel};
use crate::measured::{Measured, MeasuredLayer};
use crate::report::answer::percent;
use crate::report::bars::{self, Bar};
use crate::report::cells::{bound_cells, layer_cells};
use crate::report::drawing::Error;
use crate::report::figure::{Figure, side_by_side};
use crate::report::page::{HALF, Page, WHOLE};
use crate::report::timeline;
use crate::wording::rounded;
use crate::wording::valued;
use maud::{Markup, html};
use vp_host::Bound;

impl Page<'_> {
    pub(in crate::report) fn bounds(&self) -> Result<Markup, Error> {
        let seen: Vec<_> = self.chosen().filter(|(_, measured)| measured.is_seen_inside()).collect();
        if seen.is_empty() {
            let why = "Not known: parts of the platforms are in other programs, and what goes on inside is not seen.";
            return Ok(html! { p { (why) } });
        }
        let (mut shares, mut layers) = (Vec::new(), Vec::new());
        for (panel, measured) in seen {
            shares.extend(self.shares(panel)?);
            layers.push(self.layers(panel, measured)?);
        }
        Ok(html! {
            p {
                "Each moment counts once: while datapaths have work, for the one that sets the pace, " b { "MAC array" } ", " b { "SDP" } ", " b { "PDP" } ", "
                b { "CDP" } " or " b { "RUBIK" } ", and of the array for " b { "idle MACs" } " by the share of its multipliers that have nothing to do: channels and kernels do not fill it, or weights are loaded; else "
                b { "read bandwidth" } " while data of reads moves, "
                b { "read latency" } " while reads are outstanding and none of their data moves, " b { "write" } " while writes are under way, and "
                b { "CSB" } " for the rest: registers written and read, interrupts taken."
            }
            @if !shares.is_empty() { (side_by_side(&shares)) }
            h3 { "Layer by layer, at the points that are looked at closely" }
            @for figure in &layers { (figure.wide()) }
        })
    }

    /// Along the curve of the point that is looked at closely; of designs those in front.
    fn shares(&self, panel: &Panel) -> Result<Option<Figure>, Error> {
        let has_chosen = |curve: &&Curve| curve.points.iter().any(|it| it.1 == panel.chosen);
        let Some(curve) = panel.curves.iter().find(has_chosen) else { return Ok(None) };
        let is_space = self.layout.area.is_some();
        let points: Vec<(f64, usize)> = match is_space {
            true => self.designs(panel).front().into_iter().map(|it| (it.area, it.number)).collect(),
            false => curve.points.clone(),
        };
        let bar = |&(x, number): &(f64, usize)| {
            let parts = self.of(number)?.bounds().map(|part| part as f64);
            Some((self.x_said(x), Bar { name: self.place(x), parts }))
        };
        let (places, bars): (Vec<String>, Vec<Bar>) = points.iter().filter_map(bar).unzip();
        if bars.len() < 2 {
            return Ok(None);
        }
        let said = match is_space {
            true => Some("designs that no other beats".to_owned()),
            false => self.layout.curves.as_deref().map(|name| valued(name, &curve.label)),
        };
        Ok(Some(Figure {
            title: panel.title.clone(),
            said,
            answer: self.shares_said(&places, &bars),
            svg: bars::shares(&bars, &self.along(), !self.layout.names.is_empty(), HALF)?,
            live: Some(bars::live_shares(&bars, &self.along())),
            cells: bound_cells(&self.along(), &bars),
        }))
    }

    /// The share that changes most from the first bar to the last; over words, which have no direction, what it is at each.
    fn shares_said(&self, places: &[String], bars: &[Bar]) -> Option<String> {
        let share = |bar: &Bar, at: usize| percent(bar.share(at) / 100.0);
        let spread = |at: usize| {
            let shares = || bars.iter().map(|bar| bar.share(at));
            shares().fold(0.0, f64::max) - shares().fold(f64::MAX, f64::min)
        };
        if !self.layout.names.is_empty() {
            let at = (0..Bound::ALL.len()).max_by(|a, b| spread(*a).total_cmp(&spread(*b)))?;
            let each: Vec<String> =
                places.iter().zip(bars).map(|(name, bar)| format!("{name} {}", share(bar, at))).collect();
            return Some(match spread(at) < 1.0 {
                true => "The shares hardly differ.".to_owned(),
                false => format!("The share of {}: {}.", Bound::ALL[at].name(), each.join(", ")),
            });
        }
        let (first, last) = (bars.first()?, bars.last()?);
        let change = |at: usize| (last.share(at) - first.share(at)).abs();
        let at = (0..Bound::ALL.len()).max_by(|a, b| change(*a).total_cmp(&change(*b)))?;
        let (from, to, name) = (share(first, at), share(last, at), Bound::ALL[at].name());
        Some(match change(at) < 1.0 {
            true => "The shares hardly change.".to_owned(),
            false => {
                format!(
                    "From {} to {} the share of {name} goes from {from} to {to}.",
                    places.first()?,
                    places.last()?
                )
            }
        })
    }

    fn layers(&self, panel: &Panel, measured: &Measured) -> Result<Figure, Error> {
        let (unit, scale) = timeline::unit(measured.time as f64);
        let scale = scale * f64::from(measured.frames.max(1));
        let timed: Vec<&MeasuredLayer> = measured.layers.iter().filter(|layer| layer.time > 0).collect();
        let bar = |layer: &&MeasuredLayer| Bar {
            name: layer.name.clone(),
            parts: layer.bounds.map(|part| part as f64 / scale),
        };
        let bars: Vec<Bar> = timed.iter().map(bar).collect();
        let hint = |layer: &&MeasuredLayer| {
            let [time, read, written] = [layer.time as f64 / scale, layer.read as f64, layer.written as f64];
            let share = percent(layer.time as f64 / measured.time.max(1) as f64);
            format!(
                "{} {unit}<br>the layer takes {share} of the time, reads {} bytes, writes {}",
                rounded(time),
                rounded(read),
                rounded(written)
            )
        };
        let hints: Vec<String> = timed.iter().map(hint).collect();
        let along = format!("{unit} a frame");
        Ok(Figure {
            title: panel.title.clone(),
            said: Some(self.said(panel.chosen)),
            answer: layers_said(measured, &timed),
            svg: bars::layers(&bars, &along, WHOLE)?,
            live: Some(bars::live_layers(&bars, &along, &hints)),
            cells: layer_cells(measured),
        })
    }
}

/// Says what bounds most of the time, and which layer takes the most.
fn layers_said(measured: &Measured, layers: &[&MeasuredLayer]) -> Option<String> {
    let whole = measured.time.max(1) as f64;
    let longest = layers.iter().max_by_key(|layer| layer.time)?;
    let bounds = measured.bounds();
    // The array's two parts are told as one.
    let array = bounds[Bound::MacArray as usize] + bounds[Bound::IdleMacs as usize];
    let most = array.max(*bounds.iter().max()?);
    Some(format!(
        "Bound by {} for {} of the time; {} takes the most, {}, most of that bound by {}.",
        largest(bounds),
        percent(most as f64 / bounds.iter().sum::<u64>().max(1) as f64),
        longest.name,
        percent(longest.time as f64 / whole),
        largest(longest.bounds)
    ))
}
