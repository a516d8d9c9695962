//! Bars of what time goes into: a bar a layer, or a bar a point, its parts stacked.

use super::drawing::{self, BOUNDS, Error, TEXT};
use super::live::{self, Live};
use super::look::{LEGEND, Look, Mark, legend, legend_height};
use super::names::{Below, shortened};
use super::plot::{self, Axis};
use crate::wording::rounded;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use serde_json::{Value, json};
use vp_host::Bound;

/// A bar: its name, and its parts in the order of [`Bound::ALL`].
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) parts: [f64; Bound::COUNT],
}

impl Bar {
    pub(super) fn total(&self) -> f64 {
        self.parts.iter().sum()
    }

    /// A part's share of the whole, in per cent.
    pub(super) fn share(&self, part: usize) -> f64 {
        100.0 * self.parts[part] / self.total().max(f64::MIN_POSITIVE)
    }
}

/// Returns the bounds that at least one bar has.
fn present(bars: &[Bar]) -> impl Iterator<Item = Bound> {
    Bound::ALL.into_iter().filter(|bound| bars.iter().any(|bar| bar.parts[*bound as usize] > 0.0))
}

/// The legend.
fn names(bars: &[Bar]) -> Vec<(String, Look)> {
    present(bars).map(|bound| (bound.name().to_owned(), BOUNDS[bound as usize].into())).collect()
}

/// Pixels of a bar, and of the names before and the numbers behind.
const ROW: u32 = 17;
const ROOM: (u32, i32) = (190, 62);

/// Bars to the right, one below the other; behind each stands its length.
pub(super) fn layers(bars: &[Bar], unit: &str, wide: u32) -> Result<String, Error> {
    let names = names(bars);
    let legends = legend_height(wide, "", &names, Mark::Box);
    let high = legends + 52 + ROW * bars.len() as u32;
    drawing::svg((wide, high), |root| {
        let (top, area) = root.split_vertically(legends);
        legend(&top, "", &names, Mark::Box)?;
        // The numbers need room behind the longest bar.
        let longest = bars.iter().map(Bar::total).fold(0.0, f64::max);
        let room = f64::from(wide) / (f64::from(wide) - f64::from(ROOM.0) - f64::from(ROOM.1));
        let x = Axis::up_to(unit, if longest > 0.0 { longest * room } else { 1.0 });
        let y = Axis::up_to("", bars.len().max(1) as f64).without_ticks();
        let mut chart = plot::chart(&area, &x, &y, ROOM.0)?;
        let rows = bars.len() as f64;
        for (at, bar) in bars.iter().enumerate() {
            let (upper, lower) = (rows - at as f64 - 0.12, rows - at as f64 - 0.88);
            let mut from = 0.0;
            for (part, colour) in bar.parts.iter().zip(BOUNDS) {
                if *part > 0.0 {
                    let corners = [(from, upper), (from + part, lower)];
                    chart.draw_series([Rectangle::new(corners, colour.filled())])?;
                    from += part;
                }
            }
            let (left, middle) = chart.backend_coord(&(0.0, rows - at as f64 - 0.5));
            let (right, _) = chart.backend_coord(&(from, 0.0));
            let before = drawing::style(TEXT, HPos::Right, VPos::Center);
            root.draw(&Text::new(shortened(&bar.name, 25), (left - 7, middle), before))?;
            let behind = drawing::style(TEXT, HPos::Left, VPos::Center);
            root.draw(&Text::new(rounded(bar.total()), (right + 6, middle), behind))?;
        }
        Ok(())
    })
}

/// Bars upwards, side by side, each with its name below: shares of the whole. Numbers may be left out below, words are turned.
pub(super) fn shares(bars: &[Bar], of: &str, words: bool, size: (u32, u32)) -> Result<String, Error> {
    let all: Vec<&str> = bars.iter().map(|bar| bar.name.as_str()).collect();
    let below = if words { Below::words(&all, size.0) } else { Below::numbers(&all) };
    let names = names(bars);
    let legends = legend_height(size.0, "", &names, Mark::Box);
    drawing::svg((size.0, size.1 + legends - LEGEND + below.room()), |root| {
        let (top, area) = root.split_vertically(legends);
        legend(&top, "", &names, Mark::Box)?;
        let count = bars.len().max(1) as f64;
        let x = Axis::up_to(of, count).without_ticks().with_room(below.room());
        let y = Axis::up_to("% of the time", 100.0);
        let mut chart = plot::chart(&area, &x, &y, 68)?;
        for (at, bar) in bars.iter().enumerate() {
            let total = bar.total().max(f64::MIN_POSITIVE);
            let (left, right) = (at as f64 + 0.1, at as f64 + 0.9);
            let mut from = 0.0;
            for (part, colour) in bar.parts.iter().zip(BOUNDS) {
                let share = 100.0 * part / total;
                if share > 0.0 {
                    let corners = [(left, from), (right, from + share)];
                    chart.draw_series([Rectangle::new(corners, colour.filled())])?;
                    from += share;
                }
            }
        }
        below.draw(root, |at| chart.backend_coord(&(at as f64 + 0.5, 0.0)))
    })
}

/// Returns the chart of [`layers`] for the page's script; `said` is what else there is to say of each bar.
pub(super) fn live_layers(bars: &[Bar], unit: &str, said: &[String]) -> Live {
    let names: Vec<&str> = bars.iter().map(|bar| bar.name.as_str()).collect();
    let part = |at: usize| {
        let values: Vec<f64> = bars.iter().map(|bar| live::digits(bar.parts[at])).collect();
        let hints: Vec<String> =
            bars.iter().zip(said).map(|(bar, said)| format!("{:.1} % of {said}", bar.share(at))).collect();
        let hover = format!("<b>%{{y}}</b><br>%{{x:,.4r}} {unit}, %{{customdata}}");
        trace(
            at,
            json!({ "x": values, "y": names, "orientation": "h", "customdata": hints, "hovertemplate": hover }),
        )
    };
    let traces = present(bars).map(|bound| part(bound as usize)).collect();
    let y = json!({ "type": "category", "autorange": "reversed", "dtick": 1, "tickfont": { "size": 11 } });
    Live::new(traces, live::axis(unit), y, 90 + ROW * bars.len() as u32).with("bargap", 0.25)
}

/// Returns the chart of [`shares`] for the page's script.
pub(super) fn live_shares(bars: &[Bar], of: &str) -> Live {
    let names: Vec<&str> = bars.iter().map(|bar| bar.name.as_str()).collect();
    let part = |at: usize| {
        let values: Vec<f64> = bars.iter().map(|bar| live::digits(bar.share(at))).collect();
        let hover = format!("{of}: <b>%{{x}}</b><br>%{{y:.1f}} % of the time");
        trace(at, json!({ "x": names, "y": values, "hovertemplate": hover }))
    };
    let traces = present(bars).map(|bound| part(bound as usize)).collect();
    Live::new(traces, live::words(of), live::axis("% of the time"), 380)
}

/// A part of all bars.
fn trace(at: usize, mut trace: Value) -> Value {
    trace["type"] = "bar".into();
    trace["name"] = Bound::ALL[at].name().into();
    trace["marker"] = json!({ "color": live::variable(BOUNDS[at]) });
    trace
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars() -> Vec<Bar> {
        vec![
            Bar { name: "conv1".to_owned(), parts: [5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 1.0, 0.0] },
            Bar { name: "pool1".to_owned(), parts: [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0] },
        ]
    }

    #[test]
    fn every_part_is_a_rectangle_and_every_bar_has_its_name_and_length() {
        let svg = layers(&bars(), "µs", 800).unwrap();
        // Three parts and two, and the legend's five.
        assert_eq!(svg.matches("<rect").count(), 3 + 2 + 5);
        for text in ["conv1", "pool1", "9.00", "3.00", "read latency", "PDP", "CSB", "µs"] {
            assert!(svg.contains(text), "no `{text}` in {svg}");
        }
        assert_eq!(
            shares(&bars(), "latency", false, (500, 300)).unwrap().matches("<rect").count(),
            3 + 2 + 5
        );
        let said = ["9 µs".to_owned(), "3 µs".to_owned()];
        let live = live_layers(&bars(), "µs", &said).element().into_string();
        assert!(live.contains("55.6 % of 9 µs") && live.contains("var(--bound-7)"), "{live}");
        let live = live_shares(&bars(), "latency").element().into_string();
        assert!(live.contains("read latency") && live.contains("66.6667"), "{live}");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(layers(&[], "µs", 800).unwrap().starts_with("<svg"));
        assert!(shares(&[], "", true, (500, 300)).unwrap().starts_with("<svg"));
    }
}
