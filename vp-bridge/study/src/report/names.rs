//! Names below an axis, one a place.

use super::drawing::{self, Area, Error, FONT, TEXT, width};
use plotters::prelude::*;
use plotters::style::FontTransform;
use plotters::style::text_anchor::{HPos, VPos};

/// Names below an axis; turned by a right angle where they have no room beside each other.
pub(super) struct Below {
    names: Vec<String>,
    turned: bool,
}

/// Characters of a name at most.
const LONGEST: usize = 24;

/// Pixels of a picture's width that its axis does not have.
const MARGIN: u32 = 100;

impl Below {
    /// Words in a picture of this width.
    pub(super) fn words(names: &[&str], wide: u32) -> Below {
        let names: Vec<String> = names.iter().map(|name| shortened(name, LONGEST)).collect();
        let place = wide.saturating_sub(MARGIN) as i32 / names.len().max(1) as i32;
        let turned = names.iter().any(|name| width(name) + 6 > place);
        Below { names, turned }
    }

    /// Numbers in their order: who has some knows those between.
    pub(super) fn numbers(names: &[&str]) -> Below {
        Below { names: names.iter().map(|name| (*name).to_owned()).collect(), turned: false }
    }

    /// Pixels that they need beyond a line.
    pub(super) fn room(&self) -> u32 {
        let longest = self.names.iter().map(|name| width(name)).max().unwrap_or(0);
        if self.turned { (longest - FONT as i32).max(0) as u32 } else { 0 }
    }

    /// Writes them; what would touch the one before is left out.
    pub(super) fn draw(&self, root: &Area<'_>, place: impl Fn(usize) -> (i32, i32)) -> Result<(), Error> {
        let mut last = i32::MIN;
        for (at, name) in self.names.iter().enumerate() {
            let (middle, bottom) = place(at);
            let half = if self.turned { FONT as i32 } else { width(name) } / 2;
            if middle - half <= last {
                continue;
            }
            let style = match self.turned {
                true => drawing::style(TEXT, HPos::Right, VPos::Center).transform(FontTransform::Rotate270),
                false => drawing::style(TEXT, HPos::Center, VPos::Top),
            };
            root.draw(&Text::new(name.clone(), (middle, bottom + 6), style))?;
            last = middle + half + if self.turned { 0 } else { 6 };
        }
        Ok(())
    }
}

/// A name that is too long keeps its end, in which names differ.
pub(super) fn shortened(name: &str, most: usize) -> String {
    let count = name.chars().count();
    match count > most {
        true => format!("…{}", name.chars().skip(count - most + 1).collect::<String>()),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_their_ends() {
        assert_eq!((shortened("conv", 5), shortened("inception_3a", 5)), ("conv".into(), "…n_3a".into()));
    }

    #[test]
    fn words_turn_where_they_have_no_room() {
        let few = Below::words(&["digits", "lenet"], 600);
        assert_eq!((few.turned, few.room()), (false, 0));
        let many = Below::words(&["mobilenet_v1"; 12], 600);
        assert!(many.turned && many.room() > 60);
        let drawn =
            drawing::svg((600, 300), |root| many.draw(root, |at| (80 + 40 * at as i32, 100))).unwrap();
        assert_eq!(drawn.matches("rotate(270").count(), 12);
        // Numbers are left out instead.
        let numbers = Below::numbers(&["1000"; 12]);
        let drawn =
            drawing::svg((600, 300), |root| numbers.draw(root, |at| (80 + 20 * at as i32, 100))).unwrap();
        assert_eq!((numbers.room(), drawn.matches("<text").count()), (0, 6));
    }
}
