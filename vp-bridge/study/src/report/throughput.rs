//! Frames a second over what is varied: over numbers a curve for each limit, its knee marked, and over words bars.

use super::drawing::{self, Area, Error};
use super::live::{self, Live};
use super::look::{LEGEND, Look, Mark, legend, legend_height};
use super::names::Below;
use super::plot::{self, Axis, Labels};
use crate::ideal::Ideal;
use crate::knee::Knee;
use crate::wording::Unit;
use plotters::prelude::*;
use serde_json::json;

/// Curves over a common axis.
pub(super) struct Curves<'a> {
    /// Name of what the curves differ in.
    pub(super) title: &'a str,
    /// Name of what is along the axis.
    pub(super) x: String,
    /// Unit in which that is counted.
    pub(super) unit: Unit,
    /// The words along it, if it has any: places are their indices.
    pub(super) names: Vec<&'a str>,
    pub(super) lines: Vec<Line>,
    /// Ideal that the curves are held against.
    pub(super) ideal: Option<Ideal>,
    /// A knee is where a curve passes this share of the ideal.
    pub(super) share: f64,
}

/// A curve.
pub(super) struct Line {
    pub(super) label: String,
    /// Places and frames/s, in order.
    pub(super) points: Vec<(f64, f64)>,
    /// Further words on each point.
    pub(super) hints: Vec<String>,
}

impl Curves<'_> {
    fn points(&self) -> impl Iterator<Item = &(f64, f64)> {
        self.lines.iter().flat_map(|line| &line.points)
    }

    /// The level whose passing is the knee.
    fn level(&self) -> Option<f64> {
        self.ideal.as_ref().map(|ideal| ideal.frames * self.share)
    }

    /// Returns where a curve passes the level, and how high it is there: on the line between two points, or at the point that has come to
    /// it.
    fn knee(&self, line: &Line) -> Option<(f64, f64)> {
        match self.ideal.as_ref()?.knee(&line.points, self.share)? {
            Knee::At(place) => {
                let point = line.points.iter().find(|point| point.0 == place).copied();
                point.or(Some((place, self.level()?)))
            }
            Knee::Before(_) | Knee::Beyond(_) => None,
        }
    }

    /// Returns what stands at a knee: whole where all points are.
    fn said(&self, place: f64) -> String {
        let is_whole = self.points().all(|point| point.0.fract() == 0.0);
        self.unit.said(if is_whole { place.round() } else { place })
    }

    fn axis(&self) -> Axis {
        let xs: Vec<f64> = self.points().map(|point| point.0).collect();
        Axis::fitting(self.x.as_str(), &xs).in_unit(self.unit)
    }
}

pub(super) fn draw(curves: &Curves<'_>, (wide, high): (u32, u32)) -> Result<String, Error> {
    let mark = if curves.names.is_empty() { Mark::Line } else { Mark::Box };
    let entries: Vec<_> = Look::each(&curves.lines).map(|(line, look)| (line.label.clone(), look)).collect();
    // One set of bars without a name needs no legend.
    let entries = if entries.iter().all(|(label, _)| label.is_empty()) { Vec::new() } else { entries };
    let legends = legend_height(wide, curves.title, &entries, mark);
    let below = Below::words(&curves.names, wide);
    drawing::svg((wide, high + legends - LEGEND + below.room()), |root| {
        let (top, area) = root.split_vertically(legends);
        legend(&top, curves.title, &entries, mark)?;
        match curves.names.is_empty() {
            true => lines(root, &area, curves, wide as i32 - 8),
            false => bars(root, &area, curves, &below),
        }
    })
}

/// Over numbers. Labels end at `edge`.
fn lines(root: &Area<'_>, area: &Area<'_>, curves: &Curves<'_>, edge: i32) -> Result<(), Error> {
    let x = curves.axis();
    let y = Axis::linear("frames/s", curves.points().map(|point| point.1));
    let mut chart = plot::chart(area, &x, &y, 68)?;
    if let Some(level) = curves.level() {
        let place = |at: f64| chart.backend_coord(&(x.place(at), level));
        plot::dashed(root, [place(x.start()), place(x.end())])?;
    }
    for (line, look) in Look::each(&curves.lines) {
        let place = |&(at, frames): &(f64, f64)| chart.backend_coord(&(x.place(at), frames));
        let places: Vec<(i32, i32)> = line.points.iter().map(place).collect();
        look.line(root, &places, 2)?;
        places.into_iter().try_for_each(|place| look.mark(root, place))?;
    }
    let mut labels = Labels::default();
    for (line, look) in Look::each(&curves.lines) {
        if let Some((at, frames)) = curves.knee(line) {
            let place = (x.place(at), frames);
            chart.draw_series([Circle::new(place, 6, look.colour.stroke_width(2))])?;
            let (right, down) = chart.backend_coord(&place);
            // Above curves there is room.
            labels.write(root, &curves.said(at), (right, down - 10), 9, edge)?;
        }
    }
    Ok(())
}

/// Over words: a group of bars for each, in it one for each curve. Words have no order, and so no knee.
fn bars(root: &Area<'_>, area: &Area<'_>, curves: &Curves<'_>, below: &Below) -> Result<(), Error> {
    let words = curves.names.len().max(1) as f64;
    let x = Axis::up_to(curves.x.as_str(), words).without_ticks().with_room(below.room());
    let y = Axis::linear("frames/s", curves.points().map(|point| point.1));
    let chart = plot::chart(area, &x, &y, 68)?;
    let share = 0.8 / curves.lines.len().max(1) as f64;
    for (at, (line, look)) in Look::each(&curves.lines).enumerate() {
        for &(word, frames) in &line.points {
            let left = word + 0.1 + share * at as f64;
            let (from, to) =
                (chart.backend_coord(&(left, frames)), chart.backend_coord(&(left + share, 0.0)));
            // Few bars are not as wide as their room.
            let wide = (to.0 - from.0).clamp(1, 60);
            let middle = (from.0 + to.0) / 2;
            let gap = i32::from(wide > 6);
            let corners = [(middle - wide / 2 + gap, from.1), (middle - wide / 2 + wide - gap, to.1)];
            look.bar(root, corners)?;
        }
    }
    below.draw(root, |at| chart.backend_coord(&(at as f64 + 0.5, 0.0)))
}

/// Returns the chart of [`draw`] for the page's script.
pub(super) fn live(curves: &Curves<'_>) -> Live {
    let y = live::axis("frames/s");
    let named = |label: &str| match (curves.title, label) {
        (_, "") => "frames/s".to_owned(),
        ("", label) => label.to_owned(),
        (title, label) => format!("{title} {label}"),
    };
    let looks = || Look::each(&curves.lines).enumerate();
    if !curves.names.is_empty() {
        let bar = |(at, (line, _)): (usize, (&Line, Look))| {
            let (x, y): (Vec<&str>, Vec<f64>) =
                line.points.iter().map(|it| (curves.names[it.0 as usize], it.1)).unzip();
            json!({
                "type": "bar", "name": named(&line.label), "x": x, "y": numbers(y), "customdata": line.hints,
                "hovertemplate": "<b>%{x}</b><br>%{y:,.4r} frames/s<br>%{customdata}",
                "marker": { "color": live::series(at) },
            })
        };
        let shown = curves.lines.len() > 1;
        let live = Live::new(looks().map(bar).collect(), live::words(&curves.x), y, HIGH);
        return live.with("barmode", "group").with("showlegend", shown);
    }
    let hover = "<b>%{y:,.4r} frames/s</b><br>%{customdata}";
    let mut traces = Vec::new();
    for (at, (line, look)) in looks() {
        let (x, y): (Vec<f64>, Vec<f64>) = line.points.iter().copied().unzip();
        let group = format!("{at}");
        traces.push(json!({
            "type": "scatter", "mode": "lines+markers", "name": named(&line.label), "legendgroup": group,
            "x": numbers(x), "y": numbers(y), "hovertemplate": hover,
            "customdata": line.points.iter().zip(&line.hints).map(|(point, hint)| format!("{}<br>{hint}", curves.unit.said(point.0))).collect::<Vec<_>>(),
            "line": { "color": live::series(at), "dash": look.dash_name() },
            "marker": { "color": live::series(at), "symbol": look.marker_name(), "size": 7 },
        }));
        if let Some((at_x, frames)) = curves.knee(line) {
            traces.push(json!({
                "type": "scatter", "mode": "markers", "legendgroup": group, "showlegend": false,
                "name": "knee", "x": [live::digits(at_x)], "y": [live::digits(frames)],
                "hovertemplate": format!("knee: {}", curves.said(at_x)),
                "marker": { "color": live::series(at), "symbol": "circle-open", "size": 13, "line": { "width": 2 } },
            }));
        }
    }
    let live = Live::new(traces, live::along(&curves.axis()), y, HIGH);
    let shown = curves.lines.len() > 1;
    match curves.level() {
        Some(level) => live.with(
            "shapes",
            json!([{
                "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": level, "y1": level,
                "line": { "color": "var(--guide)", "width": 1, "dash": "dash" },
            }]),
        ),
        None => live,
    }
    .with("showlegend", shown)
}

/// Pixels of a chart that has another beside it.
const HIGH: u32 = 380;

fn numbers(all: Vec<f64>) -> Vec<f64> {
    all.into_iter().map(live::digits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves<'a>(names: &[&'a str], curves: Vec<(String, Vec<(f64, f64)>)>) -> Curves<'a> {
        let x = if names.is_empty() { "latency, cycles" } else { "platform" };
        let all: Vec<Vec<(f64, f64)>> = curves.iter().map(|(_, points)| points.clone()).collect();
        let ideal = Ideal::among(&all, !names.is_empty());
        let line = |(label, points): (String, Vec<(f64, f64)>)| {
            let hints = points.iter().map(|_| "a hint".to_owned()).collect();
            Line { label, points, hints }
        };
        let lines = curves.into_iter().map(line).collect();
        let (title, names) = ("outstanding", names.to_vec());
        Curves { title, x: x.to_owned(), unit: Unit::Cycles, names, lines, ideal, share: 0.9 }
    }

    #[test]
    fn every_point_is_a_dot_and_every_knee_a_circle_with_its_place() {
        let falling = vec![(10.0, 100.0), (100.0, 100.0), (1000.0, 10.0)];
        let flat = vec![(10.0, 100.0), (1000.0, 100.0)];
        let curves = curves(&[], vec![("8".to_owned(), falling), ("64".to_owned(), flat)]);
        let svg = draw(&curves, (600, 400)).unwrap();
        // Five points, two marks in the legend, one knee.
        assert_eq!(svg.matches("<circle").count(), 5 + 2 + 1);
        for text in ["outstanding", "latency, cycles (log scale)", "frames/s", "200 cycles"] {
            assert!(svg.contains(text), "no `{text}`");
        }
        let live = super::live(&curves).element().into_string();
        // Two curves and a knee.
        assert_eq!(live.matches("hovertemplate").count(), 3);
        assert!(live.contains("knee: 200 cycles") && live.contains("latency, cycles (log scale)"), "{live}");
    }

    #[test]
    fn words_stand_along_the_axis_and_have_bars_and_no_knee() {
        let falling = vec![(0.0, 100.0), (1.0, 40.0), (2.0, 10.0)];
        let short = vec![(1.0, 50.0)];
        let names = ["nv_small", "nv_large", "nv_full"];
        let svg =
            draw(&curves(&names, vec![("8".to_owned(), falling), ("64".to_owned(), short)]), (600, 400));
        let svg = svg.unwrap();
        // Four bars and two boxes in the legend.
        assert_eq!((svg.matches("<rect").count(), svg.matches("<circle").count()), (4 + 2, 0));
        let texts: Vec<&str> = svg.split("<text").skip(1).filter_map(|it| it.split('\n').nth(1)).collect();
        for text in names.into_iter().chain(["platform", "frames/s"]) {
            assert!(texts.contains(&text), "no `{text}` in {texts:?}");
        }
        assert!(!texts.contains(&"1") && !texts.contains(&"2"), "{texts:?}");
    }

    #[test]
    fn the_ninth_curve_is_no_copy_of_the_first() {
        let one = |at: usize| (at.to_string(), vec![(10.0, 100.0), (1000.0, 100.0 - at as f64)]);
        let of = |count: usize| draw(&curves(&[], (0..count).map(one).collect()), (600, 400)).unwrap();
        // Eight are discs; those after them squares, and their lines dashed.
        let (eight, nine) = (of(8), of(9));
        assert_eq!(eight.matches("<circle").count(), nine.matches("<circle").count());
        assert_eq!(nine.matches("<rect").count(), 2 + 1);
        assert!(nine.matches("<polyline").count() > eight.matches("<polyline").count() + 20);
    }
}
