//! Charts of memories alone: latency over what is moved, and the page that has nothing else.

use super::cells::{Cells, strings};
use super::drawing::{self, Error};
use super::figure::Figure;
use super::live::{self, Live};
use super::look::{LEGEND, Look, Mark, legend, legend_height};
use super::page::{HALF, document};
use super::plot::{self, Axis, Labels};
use crate::memories::MemoryCurves;
use maud::{Markup, html};
use serde_json::json;
use vp_core::Time;
use vp_models::memory::{LoadPoint, MemoryFormula, Mix};

/// Places of guides along an axis, with their texts.
type Guides = Vec<(f64, &'static str)>;

/// Curves of one mix.
struct Chart<'a> {
    formula: &'a MemoryFormula,
    lines: Vec<(String, &'a [LoadPoint])>,
}

fn gigabytes(rate: f64) -> f64 {
    rate / 1e9
}

fn nanoseconds(time: Time) -> f64 {
    time.as_ps() as f64 / 1e3
}

impl Chart<'_> {
    fn points(&self) -> impl Iterator<Item = &LoadPoint> {
        self.lines.iter().flat_map(|(_, points)| points.iter())
    }

    /// Guides along both axes: what formulas say.
    fn guides(&self) -> (Guides, Guides) {
        let MemoryFormula { unloaded, row_hit, peak, refreshed, .. } = *self.formula;
        let mut rates: Guides = peak.map(|peak| (gigabytes(peak), "pins")).into_iter().collect();
        rates.extend(
            refreshed.filter(|rate| Some(*rate) != peak).map(|rate| (gigabytes(rate), "less refresh")),
        );
        let mut times: Guides = unloaded.map(|time| (nanoseconds(time), "closed row")).into_iter().collect();
        times.extend(
            row_hit.filter(|time| Some(*time) != unloaded).map(|time| (nanoseconds(time), "open row")),
        );
        (rates, times)
    }

    fn axes(&self) -> (Axis, Axis) {
        let (rates, times) = self.guides();
        let rates =
            self.points().map(|point| gigabytes(point.rate)).chain(rates.iter().map(|(rate, _)| *rate));
        let times = self
            .points()
            .map(|point| nanoseconds(point.read_mean))
            .chain(times.iter().map(|(time, _)| *time));
        (Axis::linear("GB/s moved", rates), Axis::log("mean read latency, ns", times, 1.2))
    }

    fn draw(&self, (wide, high): (u32, u32)) -> Result<String, Error> {
        let entries: Vec<_> = Look::each(&self.lines).map(|((name, _), look)| (name.clone(), look)).collect();
        let legends = legend_height(wide, "", &entries, Mark::Line);
        drawing::svg((wide, high + legends - LEGEND), |root| {
            let (top, area) = root.split_vertically(legends);
            legend(&top, "", &entries, Mark::Line)?;
            let (x, y) = self.axes();
            let chart = plot::chart(&area, &x, &y, 76)?;
            let place = |rate: f64, time: f64| chart.backend_coord(&(x.place(rate), y.place(time)));
            let (rates, times) = self.guides();
            for (rate, _) in &rates {
                plot::dashed(root, [place(*rate, y.start()), place(*rate, y.end())])?;
            }
            for (time, _) in &times {
                plot::dashed(root, [place(x.start(), *time), place(x.end(), *time)])?;
            }
            for ((_, points), look) in Look::each(&self.lines) {
                let at = |point: &LoadPoint| place(gigabytes(point.rate), nanoseconds(point.read_mean));
                let places: Vec<(i32, i32)> = points.iter().map(at).collect();
                look.line(root, &places, 2)?;
                places.into_iter().try_for_each(|place| look.mark(root, place))?;
            }
            let mut labels = Labels::default();
            for (rate, text) in rates {
                let (right, top) = place(rate, y.end());
                labels.write(root, text, (right, top + 8), 5, wide as i32 - 8)?;
            }
            for (time, text) in times {
                let (right, down) = place(x.end(), time);
                labels.write(root, text, (right - 90, down - 8), 5, wide as i32 - 8)?;
            }
            Ok(())
        })
    }

    fn live(&self) -> Live {
        let trace = |(at, ((name, points), look)): (usize, (&(String, &[LoadPoint]), Look))| {
            let hint = |point: &LoadPoint| {
                let kept = if point.is_saturated { "; it did not keep up" } else { "" };
                format!(
                    "99 % within {:.0} ns; {:.2} GB/s asked for{kept}",
                    nanoseconds(point.read_p99),
                    gigabytes(point.offered)
                )
            };
            json!({
                "type": "scatter", "mode": "lines+markers", "name": name,
                "x": points.iter().map(|point| live::digits(gigabytes(point.rate))).collect::<Vec<_>>(),
                "y": points.iter().map(|point| live::digits(nanoseconds(point.read_mean))).collect::<Vec<_>>(),
                "customdata": points.iter().map(hint).collect::<Vec<_>>(),
                "hovertemplate": "<b>%{y:,.4r} ns at %{x:,.4r} GB/s</b><br>%{customdata}",
                "line": { "color": live::series(at), "dash": look.dash_name() },
                "marker": { "color": live::series(at), "symbol": look.marker_name(), "size": 7 },
            })
        };
        let traces = Look::each(&self.lines).enumerate().map(trace).collect();
        let (x, y) = self.axes();
        let (rates, times) = self.guides();
        let guide = json!({ "color": "var(--guide)", "width": 1, "dash": "dash" });
        let rates = rates.iter().map(|(rate, _)| {
            json!({ "type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": rate, "x1": rate, "line": guide })
        });
        let times = times.iter().map(|(time, _)| {
            json!({ "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": time, "y1": time, "line": guide })
        });
        let shapes: Vec<_> = rates.chain(times).collect();
        Live::new(traces, live::along(&x), live::along(&y), 380)
            .with("shapes", shapes)
            .with("showlegend", true)
    }

    /// Says how much each order of addresses comes to.
    fn said(&self) -> String {
        let most = |(name, points): &(String, &[LoadPoint])| {
            let most = points.iter().map(|point| point.rate).fold(0.0, f64::max);
            let share =
                self.formula.peak.map_or_else(String::new, |peak| format!(" ({:.0} %)", 100.0 * most / peak));
            format!("{name} {:.2} GB/s{share}", gigabytes(most))
        };
        let all = self.lines.iter().map(most).collect::<Vec<_>>().join(", ");
        format!("At most: {all}.")
    }

    fn cells(&self) -> Cells {
        let header = strings([
            "addresses",
            "GB/s asked for",
            "GB/s moved",
            "% of the pins",
            "mean read latency, ns",
            "99 %, ns",
            "kept up",
        ]);
        let row = |name: &String, point: &LoadPoint| {
            let share = self
                .formula
                .peak
                .map_or_else(String::new, |peak| format!("{:.1}", 100.0 * point.rate / peak));
            vec![
                name.clone(),
                format!("{:.3}", gigabytes(point.offered)),
                format!("{:.3}", gigabytes(point.rate)),
                share,
                format!("{:.1}", nanoseconds(point.read_mean)),
                format!("{:.1}", nanoseconds(point.read_p99)),
                if point.is_saturated { "no" } else { "yes" }.to_owned(),
            ]
        };
        let rows =
            self.lines.iter().flat_map(|(name, points)| points.iter().map(move |point| row(name, point)));
        (header, rows.collect())
    }
}

/// The charts of a memory: one for each mix.
fn figures(memory: &MemoryCurves) -> Result<Vec<Figure>, Error> {
    let mut mixes: Vec<Mix> = Vec::new();
    for (curve, _) in &memory.curves {
        if !mixes.contains(&curve.mix) {
            mixes.push(curve.mix);
        }
    }
    let of_mix = |mix: Mix| {
        let of = memory.curves.iter().filter(|(curve, _)| curve.mix == mix);
        let lines = of.map(|(curve, points)| (curve.pattern.to_string(), points.as_slice())).collect();
        let chart = Chart { formula: &memory.formula, lines };
        Ok(Figure {
            title: mix.to_string(),
            said: None,
            answer: Some(chart.said()),
            svg: chart.draw(HALF)?,
            live: Some(chart.live()),
            cells: chart.cells(),
        })
    };
    mixes.into_iter().map(of_mix).collect()
}

/// Says what formulas say of a memory.
fn formula_said(formula: &MemoryFormula) -> String {
    let MemoryFormula { clock, unloaded, row_hit, peak, refreshed } = *formula;
    let time = |time: Time| {
        format!(
            "{:.1} ns ({} clocks of {clock})",
            nanoseconds(time),
            time.as_ps().div_ceil(clock.as_ps().max(1))
        )
    };
    let mut parts = Vec::new();
    parts.extend(unloaded.map(|of| format!("a read without load takes {}", time(of))));
    parts.extend(row_hit.filter(|of| Some(*of) != unloaded).map(|of| format!("of an open row {}", time(of))));
    parts.extend(peak.map(|rate| format!("the pins move {:.2} GB/s", gigabytes(rate))));
    let left = refreshed.filter(|rate| Some(*rate) != peak);
    parts.extend(left.map(|rate| format!("of which refreshes leave {:.2} GB/s", gigabytes(rate))));
    format!("By formula {}.", parts.join(", "))
}

/// Charts of memories, one below the other.
pub(super) fn charts(memories: &[MemoryCurves]) -> Result<Markup, Error> {
    let drawn = memories.iter().map(|memory| Ok((memory, figures(memory)?)));
    let drawn = drawn.collect::<Result<Vec<_>, Error>>()?;
    Ok(html! {
        p {
            "The memory alone, without a device, a cache or other masters: requests come at random times (Poisson), at one load after the other up to the first with which it does not keep up, whose latency is "
            "that of a queue that grows. Dashed: what formulas say, the latency of a read without load and what the data pins can move."
        }
        @for (memory, figures) in &drawn {
            h3 { (memory.title) }
            p { (formula_said(&memory.formula)) }
            div.charts { @for figure in figures { (figure.half()) } }
        }
    })
}

/// A page with the charts of memories alone. `build` names the program, `asked` the command.
///
/// # Errors
/// When a picture cannot be drawn.
pub fn memory_page(
    name: &str,
    memories: &[MemoryCurves],
    build: &str,
    asked: &str,
) -> Result<String, String> {
    let charts = charts(memories).map_err(|error| format!("the page cannot be drawn: {error}"))?;
    let shown = html! {
        header { h1 { (name) } }
        section id="memories" { h2 { "Latency over bandwidth" } (charts) }
        footer { p { "Made by vp " (build) ": " code { (asked) } } (live::licence()) }
    };
    Ok(document(name, &shown).into_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_models::memory::{CurvePattern, LoadCurve};

    fn memory() -> MemoryCurves {
        let formula = MemoryFormula {
            clock: Time::ps(833),
            unloaded: Some(Time::ps(29_988)),
            row_hit: Some(Time::ps(16_660)),
            peak: Some(19.2e9),
            refreshed: Some(18.3e9),
        };
        let point = |rate: f64, ns: u64, is_saturated| LoadPoint {
            offered: rate,
            rate,
            read_mean: Time::ns(ns),
            read_p99: Time::ns(3 * ns),
            is_saturated,
        };
        let points = vec![point(1e9, 31, false), point(10e9, 60, false), point(18e9, 900, true)];
        let curve = |pattern, mix| (LoadCurve { pattern, mix, requests: 10, seed: 1 }, points.clone());
        let curves = vec![
            curve(CurvePattern::Stream, Mix::Reads),
            curve(CurvePattern::Random, Mix::Reads),
            curve(CurvePattern::Stream, Mix::OneToOne),
        ];
        MemoryCurves { title: "dbb0: DDR4-2400R".to_owned(), formula, curves }
    }

    #[test]
    fn a_mix_has_a_chart_with_a_curve_for_each_order_of_addresses() {
        let figures = figures(&memory()).unwrap();
        assert_eq!(
            figures.iter().map(|figure| figure.title.as_str()).collect::<Vec<_>>(),
            ["reads", "1 read : 1 write"]
        );
        // Six points, and two marks in the legend.
        assert_eq!(figures[0].svg.matches("<circle").count(), 6 + 2);
        for text in
            ["GB/s moved", "mean read latency, ns (log scale)", "stream", "random", "pins", "closed row"]
        {
            assert!(figures[0].svg.contains(text), "no `{text}`");
        }
        assert_eq!(
            figures[0].answer.as_deref(),
            Some("At most: stream 18.00 GB/s (94 %), random 18.00 GB/s (94 %).")
        );
        assert_eq!(figures[0].cells.1[2][6], "no");
    }

    #[test]
    fn the_page_says_what_formulas_say() {
        let page = memory_page("mine", &[memory()], "1.0", "vp memory curve").unwrap();
        let said = "By formula a read without load takes 30.0 ns (36 clocks of 833 ps), of an open row 16.7 ns (20 clocks of 833 ps), the \
                    pins move 19.20 GB/s, of which refreshes leave 18.30 GB/s.";
        assert!(page.contains(said) && page.contains("dbb0: DDR4-2400R"));
    }
}
