//! Images as characters, two pixels in each: one above the other.

use crate::cli::text::styled;
use anstyle::{Ansi256Color, Style};
use vp_host::network::digits::Sample;

/// The first of the greys among a terminal's 256 colours, from black to white.
const GREYS: std::ops::RangeInclusive<u8> = 232..=255;

/// The lines of an image. With colours its pixels are greys, the ink white; without, ink is there or it is not.
pub(super) fn lines(pixels: &[i8], width: usize, colours: bool) -> Vec<String> {
    let rows: Vec<&[i8]> = pixels.chunks(width).collect();
    let line = |pair: &[&[i8]]| {
        let ink =
            |row: usize, column: usize| pair.get(row).and_then(|row| row.get(column)).copied().unwrap_or(0);
        (0..width).map(|column| half_block(ink(0, column), ink(1, column), colours)).collect()
    };
    rows.chunks(2).map(line).collect()
}

/// Two pixels, the upper and the lower one.
fn half_block(upper: i8, lower: i8, colours: bool) -> String {
    if colours {
        let style = Style::new().fg_color(Some(grey(upper).into())).bg_color(Some(grey(lower).into()));
        return styled(style, '▀');
    }
    let ink = |pixel: i8| 2 * pixel > Sample::DARKEST;
    match (ink(upper), ink(lower)) {
        (false, false) => " ",
        (true, false) => "▀",
        (false, true) => "▄",
        (true, true) => "█",
    }
    .to_owned()
}

fn grey(ink: i8) -> Ansi256Color {
    let steps = u32::from(GREYS.end() - GREYS.start());
    let ink = u32::from(ink.clamp(0, Sample::DARKEST).unsigned_abs());
    Ansi256Color(GREYS.start() + (ink * steps / u32::from(Sample::DARKEST.unsigned_abs())) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_pixels_are_one_character() {
        assert_eq!(lines(&[0, 16, 0, 16, 0, 0, 16, 16], 4, false), [" ▀▄█"]);
    }

    #[test]
    fn an_odd_line_stands_alone() {
        assert_eq!(lines(&[16, 0, 0, 0, 16, 0], 2, false), ["▀ ", "▀ "]);
    }

    #[test]
    fn the_most_ink_is_white_and_none_is_black() {
        assert_eq!((grey(0), grey(Sample::DARKEST)), (Ansi256Color(232), Ansi256Color(255)));
    }
}
