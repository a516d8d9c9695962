//! Answer of a chart of frames/s, in a sentence.

use super::page::{Answer, Page};
use crate::ideal::{Ideal, Trend};
use crate::layout::{Curve, Panel};
use crate::point::text;
use crate::results;
use crate::wording::rounded;
use crate::wording::{amount, spoken};

impl Page<'_> {
    /// A chart's answer; none if its chosen point did not run.
    pub(super) fn answer(&self, panel: &Panel) -> Option<Answer> {
        if self.layout.area.is_some() {
            return self.designs(panel).answer(&panel.title, self.study.report.knee);
        }
        let ideal = Ideal::of(panel, self.rows, !self.layout.names.is_empty())?;
        self.of(panel.chosen)?;
        let subject = self.subject(panel);
        if !self.layout.names.is_empty() {
            return self.of_words(panel, &ideal, &subject);
        }
        let runs = panel.curves.iter().flat_map(|curve| results::curve(curve, self.rows));
        let runs: Vec<f64> = runs.map(|point| point.1).collect();
        let (least, most) =
            runs.iter().fold((f64::MAX, 0.0_f64), |ends, it| (ends.0.min(*it), ends.1.max(*it)));
        if runs.len() == 1 || (ideal.trend == Trend::Flat && least > 0.99 * most) {
            return Some(self.of_no_change(panel, &subject, (least, most)));
        }
        self.of_numbers(panel, &ideal, &subject)
    }

    /// Over numbers: how much of the ideal the chosen point has, and how far it is to be had.
    fn of_numbers(&self, panel: &Panel, ideal: &Ideal, subject: &str) -> Option<Answer> {
        let frames = self.of(panel.chosen)?.frames_per_second();
        let (x, label) = self.place_of(panel, panel.chosen)?;
        let verb = if ideal.trend == Trend::Rises { "comes to" } else { "keeps" };
        let head = format!("{}: {subject} {verb} {}", self.at(x, label), percent(frames / ideal.frames));
        let others: Vec<String> = panel
            .curves
            .iter()
            .filter(|curve| curve.label != label)
            .filter_map(|curve| {
                let number = curve.points.iter().find(|point| point.0 == x)?.1;
                let share = self.of(number)?.frames_per_second() / ideal.frames;
                Some(format!("{} {}", self.curve_said(&curve.label), percent(share)))
            })
            .collect();
        let ideal_label = panel.curves.get(ideal.curve).map_or("", |curve| curve.label.as_str());
        let mut rest = format!(
            "That is {} of the {} frames/s of the ideal, {}.",
            rounded(frames),
            rounded(ideal.frames),
            self.at(ideal.x, ideal_label)
        );
        if !others.is_empty() {
            rest += &format!(" Beside it: {}.", others.join(", "));
        }
        rest += &self.knees_said(panel, ideal, label);
        Some(Answer { head, rest })
    }

    /// Returns what a chart is of: `resnet50 on nv_large, batch 4`.
    pub(super) fn subject(&self, panel: &Panel) -> String {
        let Some(point) = self.study.points.get(panel.chosen - 1) else { return panel.title.clone() };
        let (network, platform) = (point.get("network").map_or_else(String::new, text), point.platform());
        let title =
            panel.title.replacen(&format!("{network} · {platform}"), &format!("{network} on {platform}"), 1);
        title.replace(" · ", ", ")
    }

    /// A place on a chart: `400 cycles with 64 outstanding`.
    fn at(&self, x: f64, label: &str) -> String {
        let place = self.x_said(x);
        match label {
            "" => place,
            label => format!("{place} with {}", self.curve_said(label)),
        }
    }

    fn curve_said(&self, label: &str) -> String {
        self.layout.curves.as_deref().map_or_else(String::new, |name| amount(name, label))
    }

    /// Returns where a point stands on its chart: its place and its curve.
    fn place_of<'a>(&self, panel: &'a Panel, number: usize) -> Option<(f64, &'a str)> {
        panel.curves.iter().find_map(|curve| {
            let point = curve.points.iter().find(|point| point.1 == number)?;
            Some((point.0, curve.label.as_str()))
        })
    }

    /// Says where the share that is asked for is to be had: of the ideal, and where that differs of what is good on the curve itself.
    fn knees_said(&self, panel: &Panel, ideal: &Ideal, label: &str) -> String {
        let share = percent(self.study.report.knee);
        let Some(curve) = panel.curves.iter().find(|curve| curve.label == label) else {
            return String::new();
        };
        let [common, own] = self.knee_cells(curve, ideal);
        let verb = if ideal.trend == Trend::Rises { "reached" } else { "kept" };
        let mut said = format!(" {share} are {verb} {common}");
        if own != common {
            let of = if ideal.trend == Trend::Rises { "best" } else { "first" };
            said += &format!(", and {share} of the curve's own {of} {own}");
        }
        said + "."
    }

    fn of_no_change(&self, panel: &Panel, subject: &str, (least, most): (f64, f64)) -> Answer {
        let places = || panel.curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0));
        let ends = (places().min_by(f64::total_cmp), places().max_by(f64::total_cmp));
        match ends {
            (Some(from), Some(to)) if from < to => Answer {
                head: format!("{subject}: no difference from {} to {}", self.x_said(from), self.x_said(to)),
                rest: format!("{} to {} frames/s at all points.", rounded(least), rounded(most)),
            },
            _ => Answer {
                head: format!("{subject}: {} frames/s", rounded(most)),
                rest: "One point.".to_owned(),
            },
        }
    }

    /// Over words: curves beside the first one, or words beside the best. Frames of different networks are no measure for each other.
    fn of_words(&self, panel: &Panel, ideal: &Ideal, subject: &str) -> Option<Answer> {
        if self.compares_curves() && panel.curves.len() > 1 {
            return self.beside_the_first(panel, ideal, subject);
        }
        let each: Vec<String> = panel.curves.iter().filter_map(|curve| self.beside_the_best(curve)).collect();
        let (first, others) = each.split_first()?;
        let rest: Vec<String> = others.iter().map(|other| format!("{other}.")).collect();
        Some(Answer { head: format!("{subject}: {first}"), rest: rest.join(" ") })
    }

    /// `resnet50 on nv_full, Winograd auto beside never: int8 105 %, int16 110 %`.
    fn beside_the_first(&self, panel: &Panel, ideal: &Ideal, subject: &str) -> Option<Answer> {
        let (first, others) = panel.curves.split_first()?;
        let places = results::curve(first, self.rows);
        let at_place = |&(x, frames): &(f64, f64)| {
            let of = |curve: &Curve| {
                let share = results::curve(curve, self.rows).iter().find(|it| it.0 == x)?.1 / frames;
                let label = if others.len() > 1 { format!("{} ", curve.label) } else { String::new() };
                Some(format!("{label}{}", percent(share)))
            };
            let shares: Vec<String> = others.iter().filter_map(of).collect();
            (!shares.is_empty()).then(|| format!("{} {}", self.place(x), shares.join(", ")))
        };
        let shares: Vec<String> = places.iter().filter_map(at_place).collect();
        let name = self.layout.curves.as_deref().map_or("", spoken);
        let what = match others {
            [one] => format!("{name} {} beside {}", one.label, first.label),
            _ => format!("{name} beside {}", first.label),
        };
        let rest = match self.layout.x.as_str() {
            "network" => {
                let each =
                    places.iter().map(|(x, frames)| format!("{} {}", self.place(*x), rounded(*frames)));
                format!(
                    "Frames/s with {}: {}.",
                    self.curve_said(&first.label),
                    each.collect::<Vec<_>>().join(", ")
                )
            }
            _ => {
                let label = panel.curves.get(ideal.curve).map_or("", |curve| curve.label.as_str());
                format!("Most has {}: {} frames/s.", self.at(ideal.x, label), rounded(ideal.frames))
            }
        };
        let separator = if others.len() > 1 { "; " } else { ", " };
        Some(Answer { head: format!("{subject}, {what}: {}", shares.join(separator)), rest })
    }

    /// `nv_full has the most, 900 frames/s; nv_small 20 %`, of a curve.
    fn beside_the_best(&self, curve: &Curve) -> Option<String> {
        let points = results::curve(curve, self.rows);
        let [(best, most), _] = results::ends(&points)?;
        let of = if curve.label.is_empty() {
            String::new()
        } else {
            format!("{}: ", self.curve_said(&curve.label))
        };
        if points.len() == 1 {
            return Some(format!("{of}{} frames/s, {}", rounded(most), self.place(best)));
        }
        if self.layout.x == "network" {
            let each = points.iter().map(|(x, frames)| format!("{} {}", self.place(*x), rounded(*frames)));
            return Some(format!("{of}frames/s of each network: {}", each.collect::<Vec<_>>().join(", ")));
        }
        let others = points.iter().filter(|point| point.0 != best);
        let others: Vec<String> =
            others.map(|(x, frames)| format!("{} {}", self.place(*x), percent(frames / most))).collect();
        let head = format!("{of}{} has the most, {} frames/s", self.place(best), rounded(most));
        Some(if others.is_empty() { head } else { format!("{head}; {} of that", others.join(", ")) })
    }
}

/// A share in per cent, with a digit behind the point where there are few.
pub(super) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent >= 9.95 || percent == 0.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn shares_have_a_digit_where_there_are_few() {
        assert_eq!([0.504, 0.0234, 0.0, 1.0].map(percent), ["50 %", "2.3 %", "0 %", "100 %"]);
    }
}
