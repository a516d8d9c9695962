//! Looks that tell curves apart: colours, and where there are more curves than colours, dashes and markers too. And legends.

use super::drawing::{Area, Error, SERIES, TEXT, style, width};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Look of a curve: no two of the first 128 look the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) colour: RGBColor,
    /// Drawn and left out by turns, in pixels; nothing of either is one line.
    dash: &'static [u32],
    marker: Marker,
}

/// Marker at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marker {
    Disc,
    Square,
    Triangle,
    Diamond,
}

const MARKERS: [Marker; 4] = [Marker::Disc, Marker::Square, Marker::Triangle, Marker::Diamond];
const DASHES: [&[u32]; 4] = [&[], &[7, 4], &[2, 3], &[9, 3, 2, 3]];

impl From<RGBColor> for Look {
    fn from(colour: RGBColor) -> Look {
        Look { colour, dash: DASHES[0], marker: MARKERS[0] }
    }
}

impl Look {
    /// The look of the n-th curve, from zero.
    pub(super) fn of(at: usize) -> Look {
        // Colours change first, then dash and marker together, then the marker against the dash.
        let (colour, round) = (SERIES[at % SERIES.len()], at / SERIES.len());
        let (dash, turn) = (round % DASHES.len(), round / DASHES.len());
        Look { colour, dash: DASHES[dash], marker: MARKERS[(dash + turn) % MARKERS.len()] }
    }

    /// Each thing with the look of its place.
    pub(super) fn each<T>(things: &[T]) -> impl Iterator<Item = (&T, Look)> {
        things.iter().enumerate().map(|(at, thing)| (thing, Look::of(at)))
    }

    /// Returns true if the curve is told by its colour alone.
    pub(super) fn is_plain(self) -> bool {
        self.dash.is_empty() && self.marker == Marker::Disc
    }

    /// Returns the look's dash as plotly.js has it.
    pub(super) fn dash_name(self) -> String {
        if self.dash.is_empty() {
            return "solid".to_owned();
        }
        self.dash.iter().map(|pixels| format!("{pixels}px")).collect::<Vec<_>>().join(",")
    }

    /// Returns the look's marker as plotly.js has it.
    pub(super) fn marker_name(self) -> &'static str {
        match self.marker {
            Marker::Disc => "circle",
            Marker::Square => "square",
            Marker::Triangle => "triangle-up",
            Marker::Diamond => "diamond",
        }
    }

    /// Draws a line through places in pixels.
    pub(super) fn line(self, root: &Area<'_>, places: &[(i32, i32)], wide: u32) -> Result<(), Error> {
        for piece in pieces(places, self.dash) {
            root.draw(&PathElement::new(piece, self.colour.stroke_width(wide)))?;
        }
        Ok(())
    }

    /// Draws a marker at a place in pixels.
    pub(super) fn mark(self, root: &Area<'_>, (x, y): (i32, i32)) -> Result<(), Error> {
        let filled = self.colour.filled();
        match self.marker {
            Marker::Disc => root.draw(&Circle::new((x, y), 3, filled))?,
            Marker::Square => root.draw(&Rectangle::new([(x - 3, y - 3), (x + 3, y + 3)], filled))?,
            Marker::Triangle => {
                root.draw(&Polygon::new(vec![(x - 4, y + 3), (x, y - 4), (x + 4, y + 3)], filled))?;
            }
            Marker::Diamond => {
                let corners = vec![(x - 4, y), (x, y - 4), (x + 4, y), (x, y + 4)];
                root.draw(&Polygon::new(corners, filled))?;
            }
        }
        Ok(())
    }
}

impl Look {
    /// Draws a bar between two corners in pixels. What colour does not tell is told by a pale bar with the look's marker at its top.
    pub(super) fn bar(self, root: &Area<'_>, [upper, lower]: [(i32, i32); 2]) -> Result<(), Error> {
        if self.is_plain() {
            root.draw(&Rectangle::new([upper, lower], self.colour.filled()))?;
            return Ok(());
        }
        root.draw(&Rectangle::new([upper, lower], self.colour.mix(0.3).filled()))?;
        let corners = [lower, (lower.0, upper.1), upper, (upper.0, lower.1), lower];
        self.line(root, &corners, 1)?;
        self.mark(root, ((upper.0 + lower.0) / 2, upper.1))
    }
}

/// The pieces of a line that are drawn, dash after dash along it.
pub(super) fn pieces(places: &[(i32, i32)], dash: &[u32]) -> Vec<Vec<(i32, i32)>> {
    let Some(first) = dash.first() else { return vec![places.to_vec()] };
    let (mut all, mut at, mut left) = (Vec::new(), 0, f64::from(*first));
    let mut piece: Vec<(i32, i32)> = places.first().into_iter().copied().collect();
    for pair in places.windows(2) {
        let [from, to] = [pair[0], pair[1]].map(|(x, y)| (f64::from(x), f64::from(y)));
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let mut gone = 0.0;
        while length - gone > left {
            gone += left;
            let share = gone / length;
            let place = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
            let place = (place.0.round() as i32, place.1.round() as i32);
            // A dash ends here, or a gap.
            if at % 2 == 0 {
                piece.push(place);
                all.push(std::mem::take(&mut piece));
            } else {
                piece = vec![place];
            }
            at = (at + 1) % dash.len();
            left = f64::from(dash[at]);
        }
        left -= length - gone;
        if at % 2 == 0 {
            piece.push(pair[1]);
        }
    }
    if piece.len() > 1 {
        all.push(piece);
    }
    all
}

/// Mark of an entry in a legend.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    Line,
    Box,
}

/// Height of a legend of one line, and of each line more, in pixels.
pub(super) const LEGEND: u32 = 26;
const LINE: u32 = 20;

/// Returns where a legend's entries begin, line after line: a title first, then each entry behind its mark.
fn places<'a>(wide: u32, title: &str, entries: impl Iterator<Item = &'a str>, mark: Mark) -> Vec<(i32, i32)> {
    let begin = if title.is_empty() { 8 } else { 8 + width(title) + 14 };
    let (mut x, mut line) = (begin, 0);
    let place = |name: &str| {
        let own = mark.room() + width(name);
        if x > begin && x + own > wide as i32 {
            (x, line) = (begin, line + 1);
        }
        let place = (x, (LEGEND / 2 + 2 + line * LINE) as i32);
        x += own + 16;
        place
    };
    entries.map(place).collect()
}

impl Mark {
    /// Pixels up to the name.
    fn room(self) -> i32 {
        match self {
            Mark::Line => 21,
            Mark::Box => 16,
        }
    }
}

/// Returns the height of a legend in a picture of this width, in pixels.
pub(super) fn legend_height(wide: u32, title: &str, entries: &[(String, Look)], mark: Mark) -> u32 {
    let places = places(wide, title, entries.iter().map(|(name, _)| name.as_str()), mark);
    let last = places.last().map_or(LEGEND as i32 / 2 + 2, |place| place.1);
    last as u32 + LEGEND / 2 - 2
}

/// A legend at the top of an area, in as many lines as it needs.
pub(super) fn legend(
    area: &Area<'_>,
    title: &str,
    entries: &[(String, Look)],
    mark: Mark,
) -> Result<(), Error> {
    let text = style(TEXT, HPos::Left, VPos::Center);
    if !title.is_empty() {
        area.draw(&Text::new(title.to_owned(), (8, LEGEND as i32 / 2 + 2), text.clone()))?;
    }
    let wide = area.dim_in_pixel().0;
    let places = places(wide, title, entries.iter().map(|(name, _)| name.as_str()), mark);
    for ((name, look), (x, middle)) in entries.iter().zip(places) {
        match mark {
            Mark::Line => {
                look.line(area, &[(x, middle), (x + 16, middle)], 2)?;
                look.mark(area, (x + 8, middle))?;
            }
            Mark::Box => look.bar(area, [(x, middle - 5), (x + 11, middle + 6)])?,
        }
        area.draw(&Text::new(name.clone(), (x + mark.room(), middle), text.clone()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::drawing::svg;
    use super::*;

    #[test]
    fn many_looks_are_all_different() {
        let looks: Vec<Look> = (0..128).map(Look::of).collect();
        for (at, look) in looks.iter().enumerate() {
            assert!(!looks[at + 1..].contains(look), "{look:?} comes again after {at}");
        }
        assert!(looks[..8].iter().all(|look| look.is_plain()) && !looks[8..].iter().any(|it| it.is_plain()));
    }

    #[test]
    fn dashes_go_on_around_corners_and_cover_their_share() {
        let line = [(0, 0), (30, 0), (30, 40)];
        assert_eq!(pieces(&line, &[]), [line.to_vec()]);
        // 70 pixels: dashes at 0, 20, 40 and 60, the second around the corner.
        let dashed = pieces(&line, &[15, 5]);
        assert_eq!(
            dashed,
            [
                vec![(0, 0), (15, 0)],
                vec![(20, 0), (30, 0), (30, 5)],
                vec![(30, 10), (30, 25)],
                vec![(30, 30), (30, 40)]
            ]
        );
    }

    #[test]
    fn a_legend_breaks_before_its_edge() {
        let entries: Vec<(String, Look)> = (0..20).map(|at| (format!("limit {at}"), Look::of(at))).collect();
        let names = || entries.iter().map(|(name, _)| name.as_str());
        let places = places(600, "outstanding", names(), Mark::Line);
        for (&(x, _), name) in places.iter().zip(names()) {
            assert!(x + Mark::Line.room() + width(name) <= 600);
        }
        let lines: std::collections::BTreeSet<i32> = places.iter().map(|place| place.1).collect();
        let high = legend_height(600, "outstanding", &entries, Mark::Line);
        assert_eq!(high, LEGEND + LINE * (lines.len() as u32 - 1));
        assert!(lines.len() > 2);
        let drawn = svg((600, high), |area| legend(area, "outstanding", &entries, Mark::Line)).unwrap();
        assert_eq!(drawn.matches("<text").count(), 21);
        assert_eq!(legend_height(600, "", &entries[..1], Mark::Line), LEGEND);
    }
}
