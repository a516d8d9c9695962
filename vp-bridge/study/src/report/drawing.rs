//! Means with which all pictures are drawn: colours, the size of text, an area to draw on. Pictures are SVG; in a page their colours are
//! its style's, so that they are light and dark with it.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use vp_host::Bound;

pub(super) type Error = Box<dyn std::error::Error>;
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Text and axes. All colours are of middling lightness: without a page's style they show on light and on dark.
pub(super) const TEXT: RGBColor = RGBColor(0x80, 0x88, 0x90);
/// Text upon lines: it has a rim in the colour of the paper.
pub(super) const LABEL: RGBColor = RGBColor(0x80, 0x88, 0x91);
/// Guides.
pub(super) const GUIDE: RGBColor = RGBColor(0x80, 0x88, 0x92);

/// One colour after the other, for what has no colour of its own.
pub(super) const SERIES: [RGBColor; 8] = [
    RGBColor(0xd9, 0x6c, 0x06),
    RGBColor(0x2f, 0x81, 0xd6),
    RGBColor(0x2e, 0x9e, 0x5b),
    RGBColor(0xc7, 0x4b, 0x9b),
    RGBColor(0x8b, 0x6c, 0xd9),
    RGBColor(0xb0, 0x8a, 0x00),
    RGBColor(0x0f, 0x9b, 0xa8),
    RGBColor(0xd6, 0x4a, 0x4a),
];

/// Colours of bounds, in the order of [`vp_host::Bound::ALL`].
pub(super) const BOUNDS: [RGBColor; Bound::COUNT] = [
    RGBColor(0x3a, 0xa0, 0x62),
    RGBColor(0xa3, 0xc9, 0x6a),
    RGBColor(0xc9, 0xa2, 0x27),
    RGBColor(0xb5, 0x5a, 0x7d),
    RGBColor(0x2a, 0xa5, 0xa0),
    RGBColor(0x6f, 0x7f, 0x3c),
    RGBColor(0xdd, 0x74, 0x18),
    RGBColor(0x3b, 0x83, 0xcf),
    RGBColor(0x92, 0x71, 0xd4),
    RGBColor(0x8a, 0x82, 0x78),
];

/// Replaces colours by the variables of a page's style: `--text`, `--series-1`, `--bound-1` and so on.
pub(super) fn themed(svg: &str) -> String {
    let hex = |RGBColor(red, green, blue): RGBColor| format!("\"#{red:02X}{green:02X}{blue:02X}\"");
    let mut text = svg.replace(&hex(TEXT), "\"var(--text)\"").replace(&hex(GUIDE), "\"var(--guide)\"");
    text = text.replace(&hex(LABEL), "\"var(--text)\" class=\"label\"");
    for (family, colours) in [("series", &SERIES[..]), ("bound", &BOUNDS[..])] {
        for (at, colour) in colours.iter().enumerate() {
            text = text.replace(&hex(*colour), &format!("\"var(--{family}-{})\"", at + 1));
        }
    }
    text
}

/// Draws a picture.
pub(super) fn svg(
    size: (u32, u32),
    draw: impl FnOnce(&Area<'_>) -> Result<(), Error>,
) -> Result<String, Error> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        draw(&root)?;
        root.present()?;
    }
    Ok(text)
}

/// Size of text.
pub(super) const FONT: u32 = 14;

/// About how wide a text is.
pub(super) fn width(text: &str) -> i32 {
    (text.chars().count() as f64 * f64::from(FONT) * 0.54).ceil() as i32
}

pub(super) fn style<'a>(colour: RGBColor, horizontal: HPos, vertical: VPos) -> TextStyle<'a> {
    ("sans-serif", FONT).into_font().color(&colour).pos(Pos::new(horizontal, vertical))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_the_pages() {
        let drawn = svg((100, 50), |area| {
            area.draw(&Circle::new((5, 5), 3, SERIES[1].filled()))?;
            area.draw(&Text::new("knee", (5, 5), style(LABEL, HPos::Left, VPos::Top)))?;
            Ok(())
        })
        .unwrap();
        let themed = themed(&drawn);
        assert!(themed.contains("var(--series-2)") && themed.contains("class=\"label\""), "{themed}");
        assert!(!themed.contains("#2F81D6"));
    }
}
