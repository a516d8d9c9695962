//! Chart of what was outstanding and how full the buffer was, over time, for one point.

use super::drawing::{self, Area, Error, LABEL, SERIES, TEXT};
use super::live::{self, Live};
use super::look::{LEGEND, Mark, legend};
use super::plot::{self, Axis};
use crate::measured::{Levels, Measured, Timeline};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use serde_json::{Value, json};

/// One strip: what it shows, up to where, and by what that is bounded.
struct Strip<'a> {
    name: &'static str,
    levels: Vec<(&'static str, &'a Levels)>,
    limit: Option<(f64, String)>,
    scale: f64,
}

const STRIP: u32 = 170;
const LAYERS: u32 = 26;

/// A level as people say it, with its unit.
pub(super) fn named(level: &str) -> String {
    let unit = if level.starts_with("buffer") { "bytes" } else { "outstanding" };
    format!("{level}, {unit}")
}

/// The strips of which there are levels, from above.
fn strips<'a>(measured: &Measured, timeline: &'a Timeline) -> Vec<Strip<'a>> {
    let of = |name: &str| timeline.levels.iter().find(|levels| levels.name == name);
    let named = |names: &[(&'static str, &str)]| -> Vec<(&'static str, &Levels)> {
        names.iter().filter_map(|&(label, name)| Some((label, of(name)?))).collect()
    };
    let limit = measured.machine.read_outstanding as f64;
    let buffer = measured.machine.buffer_bytes as f64 / 1024.0;
    let strips = [
        Strip {
            name: "outstanding",
            levels: named(&[("reads", "dbb0 reads"), ("writes", "dbb0 writes")]),
            limit: Some((limit, format!("at most {limit} reads"))),
            scale: 1.0,
        },
        Strip {
            name: "outstanding, SRAM",
            levels: named(&[("reads", "sram0 reads"), ("writes", "sram0 writes")])
                .into_iter()
                .filter(|(_, levels)| levels.most.iter().any(|most| *most > 0))
                .collect(),
            limit: None,
            scale: 1.0,
        },
        Strip {
            name: "buffer, KiB",
            levels: named(&[("data", "buffer data"), ("weights", "buffer weights")]),
            limit: Some((buffer, format!("{buffer:.0} KiB"))),
            scale: 1.0 / 1024.0,
        },
    ];
    strips.into_iter().filter(|strip| !strip.levels.is_empty()).collect()
}

pub(super) fn draw(measured: &Measured, timeline: &Timeline, wide: u32) -> Result<String, Error> {
    let strips = strips(measured, timeline);
    let high = LEGEND + LAYERS + strips.len() as u32 * (STRIP + LEGEND) + 20;
    let end = (timeline.start + measured.time) as f64;
    let (unit, scale) = unit(end);
    let along = format!("time, {unit}");
    drawing::svg((wide, high), |root| {
        let (layers_area, mut rest) = root.split_vertically(LEGEND + LAYERS);
        let mut first = None;
        for (at, strip) in strips.iter().enumerate() {
            let last = at + 1 == strips.len();
            let (own, below) = rest.split_vertically(STRIP + LEGEND + if last { 20 } else { 0 });
            rest = below;
            let x = Axis::up_to(if last { along.as_str() } else { "" }, end / scale);
            let origin = self::strip(root, &own, strip, &x, timeline.span as f64 / scale)?;
            first.get_or_insert(origin);
        }
        match first {
            Some(ends) => layers(&layers_area, timeline, end, ends),
            None => Ok(()),
        }
    })
}

/// Returns the chart of [`draw`] for the page's script: strips one below the other over one axis.
pub(super) fn live(measured: &Measured, timeline: &Timeline) -> Live {
    let strips = strips(measured, timeline);
    let end = (timeline.start + measured.time) as f64;
    let (unit, scale) = unit(end);
    let step = timeline.span as f64 / scale;
    let mut traces = vec![live_layers(timeline, end, (unit, scale))];
    // The first axis is the layers', each strip has the next one.
    let lowest = format!("y{}", strips.len() + 1);
    let x = json!({ "title": { "text": format!("time, {unit}") }, "range": [0.0, live::digits(end / scale)], "anchor": lowest });
    let y = json!({ "domain": [0.95, 1.0], "showticklabels": false, "fixedrange": true, "showgrid": false });
    let mut live = Live::new(Vec::new(), x, y, 90 + STRIP * strips.len() as u32).with("barmode", "overlay");
    let (share, mut shapes) = (0.93 / strips.len().max(1) as f64, Vec::new());
    for (at, strip) in strips.iter().enumerate() {
        let axis = at + 2;
        let top = 0.93 - share * at as f64;
        let mut y = live::axis(strip.name);
        y["domain"] = json!([live::digits(top - share + 0.04), live::digits(top)]);
        live = live.with(&format!("yaxis{axis}"), y);
        for (place, (label, levels)) in strip.levels.iter().enumerate() {
            let colour = live::series(if place == 0 { 3 } else { 2 });
            let name = format!("{}, {label}", strip.name);
            traces.extend(live_level(levels, &name, &colour, (axis, step, unit), strip.scale));
        }
        let highest = strip.levels.iter().flat_map(|(_, levels)| &levels.most).max().copied().unwrap_or(0);
        if let Some((limit, _)) = strip.limit.as_ref().filter(|it| it.0 <= highest as f64 * strip.scale * 3.0)
        {
            shapes.push(json!({
                "type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": format!("y{axis}"), "y0": limit, "y1": limit,
                "line": { "color": "var(--text)", "width": 1, "dash": "dash" },
            }));
        }
    }
    traces.into_iter().fold(live, Live::and).with("shapes", shapes)
}

/// A level's mean as an area, and its most as a line.
fn live_level(
    levels: &Levels,
    name: &str,
    colour: &str,
    (axis, step, unit): (usize, f64, &str),
    scale: f64,
) -> [Value; 2] {
    let means: Vec<f64> = levels.means.iter().map(|mean| live::digits(mean * scale)).collect();
    let most: Vec<f64> = levels.most.iter().map(|most| live::digits(*most as f64 * scale)).collect();
    let trace = |values: Vec<f64>, what: &str, fill: &str, width: f64| {
        json!({
            "type": "scatter", "mode": "lines", "name": name, "legendgroup": name, "yaxis": format!("y{axis}"),
            "x0": 0, "dx": step, "y": values, "fill": fill,
            "line": { "color": colour, "width": width, "shape": "hv" }, "showlegend": what == "mean",
            "hovertemplate": format!("{what} %{{y:,.4r}} at %{{x:,.5r}} {unit}"),
        })
    };
    [trace(means, "mean", "tozeroy", 0.5), trace(most, "most", "none", 1.2)]
}

/// Returns the layers that have their turn, as a band.
fn live_layers(timeline: &Timeline, end: f64, (unit, scale): (&str, f64)) -> Value {
    let begins: Vec<f64> = timeline.layers.iter().map(|(begin, _)| *begin as f64).collect();
    let ends = begins.iter().skip(1).copied().chain([end]);
    let lengths: Vec<f64> =
        begins.iter().zip(ends).map(|(begin, end)| live::digits((end - begin) / scale)).collect();
    let names: Vec<&str> = timeline.layers.iter().map(|(_, name)| name.as_str()).collect();
    let shade = |at: usize| if at.is_multiple_of(2) { "var(--line)" } else { "var(--guide)" };
    json!({
        "type": "bar", "orientation": "h", "name": "layers", "showlegend": false,
        "y": vec!["layers"; names.len()], "x": lengths,
        "base": begins.iter().map(|begin| live::digits(begin / scale)).collect::<Vec<f64>>(),
        "text": names, "textposition": "inside", "insidetextanchor": "middle", "constraintext": "inside",
        "hovertemplate": format!("<b>%{{text}}</b><br>from %{{base:,.5r}} {unit}, for %{{x:,.4r}} {unit}<extra></extra>"),
        "marker": { "color": (0..names.len()).map(shade).collect::<Vec<_>>() },
    })
}

/// Draws a strip; gives where its axis begins and ends.
fn strip(
    root: &Area<'_>,
    area: &Area<'_>,
    strip: &Strip<'_>,
    x: &Axis,
    span: f64,
) -> Result<(i32, i32), Error> {
    let (top, area) = area.split_vertically(LEGEND);
    let coloured = || strip.levels.iter().zip(SERIES.iter().rev().skip(4).copied());
    let entries: Vec<_> =
        coloured().map(|((label, _), colour)| ((*label).to_owned(), colour.into())).collect();
    legend(&top, "", &entries, Mark::Box)?;
    let most =
        strip.levels.iter().flat_map(|(_, levels)| levels.most.iter().map(|most| *most as f64 * strip.scale));
    let highest = most.clone().fold(0.0, f64::max);
    // A limit far above everything would leave nothing to see.
    let limit = strip.limit.as_ref().filter(|(limit, _)| *limit <= highest * 3.0);
    let y = Axis::linear(strip.name, most.chain(limit.map(|(limit, _)| *limit)));
    let mut chart = plot::chart(&area, x, &y, 68)?;
    for ((_, levels), colour) in coloured() {
        let steps = |values: Vec<f64>| {
            let corner = move |(at, value): (usize, f64)| {
                [(at as f64 * span, value), (((at + 1) as f64 * span).min(x.end()), value)]
            };
            values
                .into_iter()
                .enumerate()
                .flat_map(corner)
                .filter(|point| point.0 <= x.end())
                .collect::<Vec<_>>()
        };
        let means = steps(levels.means.iter().map(|mean| mean * strip.scale).collect());
        let highs = steps(levels.most.iter().map(|most| *most as f64 * strip.scale).collect());
        let ends = [means.first(), means.last()].map(|point| point.map_or(0.0, |point| point.0));
        let area = [vec![(ends[0], 0.0)], means, vec![(ends[1], 0.0)]].concat();
        chart.draw_series([Polygon::new(area, colour.mix(0.45))])?;
        chart.draw_series([PathElement::new(highs, colour.stroke_width(1))])?;
    }
    if let Some((limit, text)) = limit {
        chart.draw_series([PathElement::new(vec![(0.0, *limit), (x.end(), *limit)], TEXT)])?;
        let (right, height) = chart.backend_coord(&(x.end(), *limit));
        let style = drawing::style(LABEL, HPos::Right, VPos::Bottom);
        root.draw(&Text::new(text.clone(), (right - 4, height - 4), style))?;
    }
    Ok((chart.backend_coord(&(0.0, 0.0)).0, chart.backend_coord(&(x.end(), 0.0)).0))
}

/// Draws the layers that have their turn: names where there is room for them.
fn layers(area: &Area<'_>, timeline: &Timeline, end: f64, (left, right): (i32, i32)) -> Result<(), Error> {
    let place = |time: f64| left + (f64::from(right - left) * (time / end)) as i32;
    for (at, (begin, name)) in timeline.layers.iter().enumerate() {
        let until = timeline.layers.get(at + 1).map_or(end, |(next, _)| *next as f64);
        let (from, to) = (place(*begin as f64), place(until));
        let shade = TEXT.mix(if at % 2 == 0 { 0.16 } else { 0.3 });
        area.draw(&Rectangle::new([(from, 18), (to.max(from + 1), 18 + LAYERS as i32)], shade.filled()))?;
        if drawing::width(name) + 4 < to - from {
            let style = drawing::style(TEXT, HPos::Center, VPos::Center);
            area.draw(&Text::new(name.clone(), ((from + to) / 2, 18 + LAYERS as i32 / 2), style))?;
        }
    }
    let style = drawing::style(TEXT, HPos::Left, VPos::Center);
    area.draw(&Text::new("layers", (8, 18 + LAYERS as i32 / 2), style))?;
    Ok(())
}

/// The unit in which a time of so many picoseconds is told, and how many of them it is.
pub(super) fn unit(time: f64) -> (&'static str, f64) {
    match time {
        1e10.. => ("ms", 1e9),
        1e7.. => ("µs", 1e6),
        _ => ("ns", 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::Machine;

    #[test]
    fn each_level_has_a_strip_and_layers_stand_above() {
        let levels = |name: &str| Levels { name: name.to_owned(), means: vec![1.0, 2.0], most: vec![2, 4] };
        let timeline = Timeline {
            span: 500_000,
            start: 0,
            levels: vec![levels("dbb0 reads"), levels("dbb0 writes"), levels("buffer data")],
            layers: vec![(0, "conv1".to_owned()), (500_000, "pool1".to_owned())],
        };
        let machine = Machine { read_outstanding: 4, buffer_bytes: 4096, ..Machine::default() };
        let measured = Measured { period: 1000, time: 1_000_000, machine, ..Measured::default() };
        let svg = draw(&measured, &timeline, 900).unwrap();
        for text in ["conv1", "pool1", "outstanding", "buffer, KiB", "at most 4 reads"] {
            assert!(svg.contains(text), "no `{text}`");
        }
        assert!(!svg.contains("SRAM"));
        let live = live(&measured, &timeline).element().into_string();
        for text in [
            "conv1",
            "outstanding, reads",
            "buffer, KiB, data",
            "\"yaxis3\"",
            "\"anchor\":\"y3\"",
            "time, ns",
        ] {
            assert!(live.contains(text), "no `{text}` in {live}");
        }
    }
}
