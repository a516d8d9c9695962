//! Parts that pictures with axes share: axes, a chart between them, labels, knees.

use super::drawing::{Area, Error, FONT, GUIDE, LABEL, TEXT, style, width};
use super::look::pieces;
use crate::wording::{Unit, short};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

type Coordinates = Cartesian2d<Places, Places>;
pub(super) type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Coordinates>;

/// An axis: what it is of, which values, and where they stand.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    name: String,
    ends: (f64, f64),
    log: bool,
    ticks: Vec<f64>,
    /// Unit of its ticks.
    unit: Unit,
    /// Pixels for names between it and what it is of.
    room: u32,
}

impl Axis {
    /// From zero, or from the least value below it, to a round number not below the largest.
    pub(super) fn linear(name: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Axis {
        let most = values.into_iter().filter(|value| value.is_finite()).fold(0.0, f64::max);
        let most = if most > 0.0 { most } else { 1.0 };
        let step = step(most / 5.0);
        let end = (most * 1.02 / step).ceil() * step;
        let ticks = (0..=(end / step).round() as u32).map(|at| f64::from(at) * step).collect();
        Axis { name: name.into(), ends: (0.0, end), log: false, ticks, unit: Unit::Plain, room: 0 }
    }

    /// Exactly up to an end.
    pub(super) fn up_to(name: impl Into<String>, end: f64) -> Axis {
        let mut axis = Axis::linear(name, [end]);
        axis.ends.1 = end.max(f64::MIN_POSITIVE);
        axis.ticks.retain(|tick| *tick <= axis.ends.1 * 1.0001);
        axis
    }

    /// Without ticks and guides: what stands along it has names.
    pub(super) fn without_ticks(mut self) -> Axis {
        self.ticks.clear();
        self
    }

    /// Keeps pixels free below it.
    pub(super) fn with_room(mut self, pixels: u32) -> Axis {
        self.room = pixels;
        self
    }

    /// Logarithmic, around all values above zero.
    pub(super) fn log(name: impl Into<String>, values: impl IntoIterator<Item = f64>, room: f64) -> Axis {
        let above = values.into_iter().filter(|value| *value > 0.0 && value.is_finite());
        let (least, most) = above.fold((f64::MAX, 0.0_f64), |(least, most), x| (least.min(x), most.max(x)));
        let (least, most) = if most > 0.0 { (least / room, most * room) } else { (1.0, 10.0) };
        let decades = (least.log10().floor() as i32)..=(most.log10().ceil() as i32);
        let each = |factors: &[f64]| -> Vec<f64> {
            let all =
                decades.clone().flat_map(|decade| factors.iter().map(move |it| it * 10f64.powi(decade)));
            all.filter(|tick| (least..=most).contains(tick)).collect()
        };
        let ticks = match (most / least).log10() {
            ..0.7 => each(&[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0]),
            0.7..1.1 => each(&[1.0, 1.5, 2.0, 3.0, 5.0, 7.0]),
            1.1..2.4 => each(&[1.0, 2.0, 5.0]),
            2.4..4.5 => each(&[1.0, 3.0]),
            _ => each(&[1.0]),
        };
        let name: String = name.into();
        let name = if name.is_empty() { name } else { format!("{name} (log scale)") };
        Axis { name, ends: (least, most), log: true, ticks, unit: Unit::Plain, room: 0 }
    }

    /// Logarithmic where values reach over more than a decade, and are above zero.
    pub(super) fn fitting(name: impl Into<String>, values: &[f64]) -> Axis {
        match Axis::fits_log(values) {
            true => Axis::log(name, values.iter().copied(), 1.06),
            false => Axis::linear(name, values.iter().copied()),
        }
    }

    /// Returns true if values reach over more than a decade, nearly, and are above zero.
    pub(super) fn fits_log(values: &[f64]) -> bool {
        let least = values.iter().copied().fold(f64::MAX, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        least > 0.0 && most / least > 8.0
    }

    /// Returns the axis with ticks told in a unit; those of bytes stand at powers of two.
    pub(super) fn in_unit(mut self, unit: Unit) -> Axis {
        self.unit = unit;
        if unit == Unit::Bytes {
            self.ticks = binary_ticks(self.ends, self.log);
        }
        self
    }

    /// Returns true if the axis is logarithmic.
    pub(super) fn is_log(&self) -> bool {
        self.log
    }

    /// Returns the name of what the axis is of.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the axis's ticks, and what stands at each.
    pub(super) fn labelled_ticks(&self) -> impl Iterator<Item = (f64, String)> + '_ {
        self.ticks.iter().map(|tick| (*tick, self.unit.at_tick(*tick)))
    }

    /// Returns the place of a value along the axis.
    pub(super) fn place(&self, value: f64) -> f64 {
        if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value }
    }

    /// Returns the value at which the axis ends.
    pub(super) fn end(&self) -> f64 {
        self.ends.1
    }

    /// Returns the value at which the axis begins.
    pub(super) fn start(&self) -> f64 {
        self.ends.0
    }

    fn places(&self) -> Places {
        let ends = (self.place(self.ends.0), self.place(self.ends.1));
        Places { ends, ticks: self.ticks.iter().map(|tick| self.place(*tick)).collect() }
    }

    fn label(&self, place: f64) -> String {
        let value = if self.log { 10f64.powf(place) } else { place };
        // Powers of powers are not exact.
        let tick = self.ticks.iter().copied().find(|tick| (tick / value - 1.0).abs() < 1e-9);
        self.unit.at_tick(tick.unwrap_or(value))
    }
}

/// Most ticks of an axis whose labels have units.
const MOST_TICKS: f64 = 7.0;

/// Powers of two, as far apart as leaves a handful of them; along a linear axis multiples of one.
fn binary_ticks((from, to): (f64, f64), log: bool) -> Vec<f64> {
    if log {
        let (first, last) = (from.log2().ceil(), to.log2().floor());
        let apart = ((last - first) / MOST_TICKS).ceil().max(1.0);
        let all = std::iter::successors(Some(first), |at| Some(at + apart));
        return all.take_while(|at| *at <= last).map(f64::exp2).collect();
    }
    let apart = (to / MOST_TICKS).max(1.0).log2().ceil().exp2();
    std::iter::successors(Some(0.0), |at| Some(at + apart)).take_while(|at| *at <= to).collect()
}

/// Places along an axis, with ticks exactly where it has them.
pub(super) struct Places {
    ends: (f64, f64),
    ticks: Vec<f64>,
}

impl Ranged for Places {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (place - self.ends.0) / (self.ends.1 - self.ends.0);
        from + (f64::from(to - from) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // Guides are drawn at the bold ones, and labels too.
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.ends.0..self.ends.1
    }
}

impl ValueFormatter<f64> for Places {
    fn format(place: &f64) -> String {
        short(*place)
    }
}

/// A round step not below this: 1, 2 or 5 times a power of ten.
fn step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= least * 0.999);
    factor.unwrap_or(10.0) * power
}

/// Places of texts, so that none comes upon another.
#[derive(Default)]
pub(super) struct Labels(Vec<[i32; 4]>);

impl Labels {
    /// Keeps a place free of texts: left, upper, right and lower edge.
    pub(super) fn keep_free(&mut self, edges: [i32; 4]) {
        self.0.push(edges);
    }

    /// Writes a text beside a place, as far from it as this many pixels: to the right of it if there is room up to `edge`, a little above or
    /// below where something stands, with a line to its place if that is not beside it. What has no room is left out.
    pub(super) fn write(
        &mut self,
        root: &Area<'_>,
        text: &str,
        (x, y): (i32, i32),
        far: i32,
        edge: i32,
    ) -> Result<(), Error> {
        let (wide, high) = (width(text), FONT as i32);
        let shifts = [0, -1, 1, -2, 2, -3, 3, 4, 5, 6, 7, 8].map(|lines| lines * high);
        let sides = [(HPos::Left, x + far), (HPos::Right, x - far - wide)];
        let places = sides.into_iter().flat_map(|side| shifts.map(|shift| (side, y + shift)));
        for ((side, left), middle) in places {
            let own = [left, middle - high / 2, left + wide, middle + high / 2];
            let is_free = |other: &[i32; 4]| {
                own[2] <= other[0] || other[2] <= own[0] || own[3] <= other[1] || other[3] <= own[1]
            };
            if left > 0 && own[2] <= edge && self.0.iter().all(is_free) {
                self.0.push(own);
                let at = if matches!(side, HPos::Left) { left } else { own[2] };
                if (middle - y).abs() > high {
                    root.draw(&PathElement::new(vec![(x, y), (at, middle)], GUIDE))?;
                }
                root.draw(&Text::new(text.to_owned(), (at, middle), style(LABEL, side, VPos::Center)))?;
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Draws a dashed guide between two places in pixels.
pub(super) fn dashed(root: &Area<'_>, ends: [(i32, i32); 2]) -> Result<(), Error> {
    for piece in pieces(&ends, &[6, 4]) {
        root.draw(&PathElement::new(piece, GUIDE))?;
    }
    Ok(())
}

/// A chart with both axes and guides, in an area; `left` is room for the labels of the vertical one.
pub(super) fn chart<'a>(area: &Area<'a>, x: &Axis, y: &Axis, left: u32) -> Result<Chart<'a>, Error> {
    let mut chart = ChartBuilder::on(area)
        .margin_top(8)
        .margin_left(8)
        .margin_right(18)
        .margin_bottom(2)
        .x_label_area_size(x.room + if x.name.is_empty() { 22 } else { 42 })
        .y_label_area_size(left)
        .build_cartesian_2d(x.places(), y.places())?;
    let mut mesh = chart.configure_mesh();
    // An empty name would be an empty text in the picture.
    if !x.name.is_empty() {
        mesh.x_desc(x.name.as_str());
    }
    if !y.name.is_empty() {
        mesh.y_desc(y.name.as_str());
    }
    mesh.x_labels(x.ticks.len().max(1))
        .y_labels(y.ticks.len().max(1))
        .x_label_formatter(&|place| x.label(*place))
        .y_label_formatter(&|place| y.label(*place))
        .label_style(("sans-serif", FONT).with_color(TEXT))
        .axis_desc_style(("sans-serif", FONT).with_color(TEXT))
        .axis_style(TEXT)
        .bold_line_style(GUIDE.mix(0.3))
        .light_line_style(TRANSPARENT)
        .draw()?;
    Ok(chart)
}

#[cfg(test)]
mod tests {
    use super::super::drawing::svg;
    use super::*;

    #[test]
    fn axes_end_at_round_numbers_and_have_ticks() {
        let axis = Axis::linear("", [3.0, 87.0]);
        assert_eq!((axis.ends, axis.ticks.len()), ((0.0, 100.0), 6));
        let axis = Axis::log("", [10.0, 1000.0], 1.0);
        assert_eq!(axis.ticks, [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]);
        assert!(Axis::linear("", []).end() > 0.0 && Axis::log("", [], 1.0).end() > 1.0);
    }

    #[test]
    fn bytes_have_ticks_at_powers_of_two() {
        let said = |axis: Axis| axis.in_unit(Unit::Bytes).labelled_ticks().map(|it| it.1).collect::<Vec<_>>();
        let log = Axis::log("", [65536.0, 16_777_216.0], 1.0);
        assert_eq!(said(log), ["64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB"]);
        assert_eq!(said(Axis::up_to("", 2048.0)), ["0 bytes", "512 bytes", "1 KiB", "1.50 KiB", "2 KiB"]);
    }

    #[test]
    fn texts_make_room_for_each_other() {
        let mut labels = Labels::default();
        svg((300, 200), |root| {
            for text in ["one", "two", "three", "four"] {
                labels.write(root, text, (100, 100), 8, 290)?;
            }
            // Too near to the edge: to the left.
            labels.write(root, "at the edge", (285, 40), 8, 290)
        })
        .unwrap();
        let boxes = &labels.0;
        assert_eq!((boxes.len(), boxes[4][2]), (5, 277));
        for (at, one) in boxes.iter().enumerate() {
            let apart = |other: &[i32; 4]| one[3] <= other[1] || other[3] <= one[1];
            assert!(boxes[at + 1..].iter().all(apart), "{boxes:?}");
        }
    }
}
