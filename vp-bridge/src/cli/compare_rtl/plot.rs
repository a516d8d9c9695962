//! The plot of the model's cycles against the RTL's: an SVG without background, in colours that show on light and dark.

use super::{Compared, Failure, by_table};
use plotters::coord::Shift;
use plotters::prelude::*;
use std::path::Path;

/// Axes, text and guides.
const GREY: RGBColor = RGBColor(0x80, 0x88, 0x90);

/// A colour a table, all of middling lightness.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x2f, 0x81, 0xd6),
    RGBColor(0xd9, 0x6c, 0x06),
    RGBColor(0x2e, 0x9e, 0x5b),
    RGBColor(0xc7, 0x4b, 0x9b),
    RGBColor(0x8b, 0x6c, 0xd9),
    RGBColor(0xb0, 0x8a, 0x00),
    RGBColor(0x0f, 0x9b, 0xa8),
    RGBColor(0xd6, 0x4a, 0x4a),
];

/// Width and height, and how much of that is the upper chart.
const SIZE: (u32, u32) = (860, 860);
const UPPER: u32 = 560;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Error = Box<dyn std::error::Error>;

/// A row's cycles on the RTL and on the model.
type Point = (f64, f64);

/// Writes the plot of the rows that ran.
pub(super) fn write(path: &Path, compared: &[Compared<'_>]) -> Result<(), Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::new(format!("{}: {error}", path.display()));
    let svg = draw(&points(compared)).map_err(|error| wrong(&error))?;
    vp_observers::write_whole(path, svg).map_err(|error| wrong(&error))
}

fn points<'a>(compared: &'a [Compared<'a>]) -> Vec<(&'a str, Vec<Point>)> {
    let tables = by_table(compared).into_iter();
    tables
        .map(|(name, rows)| {
            let cycles = rows.into_iter().filter_map(Compared::cycles);
            (name, cycles.map(|(model, rtl)| (rtl as f64, model as f64)).collect())
        })
        .collect()
}

fn draw(tables: &[(&str, Vec<Point>)]) -> Result<String, Error> {
    let all = tables.iter().flat_map(|(_, points)| points.iter().flat_map(|&(rtl, model)| [rtl, model]));
    let (least, most) = all.fold((f64::MAX, 1.0_f64), |(least, most), x| (least.min(x), most.max(x)));
    let range = (least.min(most) * 0.8, most * 1.25);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        let (upper, lower) = root.split_vertically(UPPER);
        cycles(&upper, tables, range)?;
        errors(&lower, tables, range)?;
        root.present()?;
    }
    Ok(text)
}

/// Model against RTL, both logarithmic.
fn cycles(area: &Area<'_>, tables: &[(&str, Vec<Point>)], (least, most): (f64, f64)) -> Result<(), Error> {
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(76)
        .build_cartesian_2d((least..most).log_scale(), (least..most).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("cycles, RTL")
        .y_desc("cycles, model")
        .x_label_formatter(&|cycles| grouped(*cycles))
        .y_label_formatter(&|cycles| grouped(*cycles))
        .label_style(("sans-serif", 14).with_color(GREY))
        .axis_style(GREY)
        .bold_line_style(GREY.mix(0.25))
        .light_line_style(TRANSPARENT)
        .draw()?;
    let line = |factor: f64| PathElement::new(vec![(least, least * factor), (most, most * factor)], GREY);
    chart.draw_series([1.0, 0.8, 1.2].map(line))?;
    for ((name, points), colour) in tables.iter().zip(COLOURS.iter().cycle()) {
        let colour = *colour;
        chart
            .draw_series(points.iter().map(|&point| Circle::new(point, 3, colour.mix(0.75).filled())))?
            .label(*name)
            .legend(move |(x, y)| Circle::new((x + 8, y), 4, colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .label_font(("sans-serif", 14).with_color(GREY))
        .border_style(TRANSPARENT)
        .draw()?;
    Ok(())
}

/// The error in per cent over the RTL's cycles.
fn errors(area: &Area<'_>, tables: &[(&str, Vec<Point>)], (least, most): (f64, f64)) -> Result<(), Error> {
    let error = |(rtl, model): Point| 100.0 * (model - rtl) / rtl;
    let all = tables.iter().flat_map(|(_, points)| points.iter());
    let largest = all.map(|&point| error(point).abs()).fold(0.5, f64::max) * 1.15;
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(76)
        .build_cartesian_2d((least..most).log_scale(), -largest..largest)?;
    chart
        .configure_mesh()
        .x_desc("cycles, RTL")
        .y_desc("model less RTL, %")
        .x_label_formatter(&|cycles| grouped(*cycles))
        .y_label_formatter(&|percent| format!("{percent:.1}"))
        .y_labels(7)
        .label_style(("sans-serif", 14).with_color(GREY))
        .axis_style(GREY)
        .bold_line_style(GREY.mix(0.25))
        .light_line_style(TRANSPARENT)
        .draw()?;
    for ((_, points), colour) in tables.iter().zip(COLOURS.iter().cycle()) {
        let dots =
            points.iter().map(|&point| Circle::new((point.0, error(point)), 3, colour.mix(0.75).filled()));
        chart.draw_series(dots)?;
    }
    Ok(())
}

fn grouped(cycles: f64) -> String {
    crate::cli::text::grouped(cycles.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_dot_in_each_chart_and_every_table_has_its_name() {
        let tables =
            [("nv_small", vec![(100.0, 100.0), (5_000.0, 5_010.0)]), ("nv_large", vec![(80.0, 81.0)])];
        let svg = draw(&tables).unwrap();
        // Two charts of three dots, and a dot of the legend a table.
        assert_eq!(svg.matches("<circle").count(), 2 * 3 + 2);
        assert!(svg.contains("nv_small") && svg.contains("nv_large"));
    }

    #[test]
    fn nothing_to_draw_is_an_empty_plot() {
        assert!(draw(&[]).unwrap().starts_with("<svg"));
    }
}
