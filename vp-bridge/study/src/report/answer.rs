//! What a chart of frames/s says, in a sentence.

use super::page::Page;
use super::said::{amount, plain};
use crate::ideal::{Ideal, Trend};
use crate::knee::Knee;
use crate::layout::{Curve, Panel};
use crate::point::text;
use crate::results::{self, rounded};

/// A chart's answer: what matters, and then what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    /// `400 cycles with 64 outstanding: resnet50 on nv_large keeps 50 %`.
    pub(super) head: String,
    /// What that is a share of, what else could be had, and where the knee is.
    pub(super) rest: String,
}

impl Answer {
    /// Both in one.
    pub(super) fn sentence(&self) -> String {
        format!("{}. {}", self.head, self.rest)
    }
}

impl Page<'_> {
    /// A chart's answer; none if its chosen point did not run.
    pub(super) fn answer(&self, panel: &Panel) -> Option<Answer> {
        if self.layout.area.is_some() {
            let head = format!("{}: {}", panel.title, self.designs(panel).sentence()?);
            return Some(Answer { head, rest: String::new() });
        }
        let ideal = Ideal::of(panel, self.rows, !self.layout.names.is_empty())?;
        let frames = self.of(panel.chosen)?.frames_per_second();
        let subject = self.subject(panel);
        if !self.layout.names.is_empty() {
            return Some(self.of_words(panel, &ideal, &subject));
        }
        let runs = panel.curves.iter().flat_map(|curve| results::curve(curve, self.rows));
        let runs: Vec<f64> = runs.map(|point| point.1).collect();
        let (least, most) =
            runs.iter().fold((f64::MAX, 0.0_f64), |ends, it| (ends.0.min(*it), ends.1.max(*it)));
        if runs.len() == 1 || (ideal.trend == Trend::Flat && least > 0.99 * most) {
            return Some(self.of_no_change(panel, &subject, (least, most)));
        }
        let (x, label) = self.place_of(panel, panel.chosen)?;
        let verb = if ideal.trend == Trend::Rises { "has" } else { "keeps" };
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
        let own = panel.curves.iter().find(|curve| curve.label == label)?;
        rest += &self.knee_said(own, &ideal);
        Some(Answer { head, rest })
    }

    /// What a chart is of: `resnet50 on nv_large, batch 4`.
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

    fn x_said(&self, x: f64) -> String {
        match self.x_is_time() {
            true => format!("{} ns", plain(x)),
            false => amount(&self.layout.x, &self.place(x)),
        }
    }

    fn curve_said(&self, label: &str) -> String {
        self.layout.curves.as_deref().map_or_else(String::new, |name| amount(name, label))
    }

    /// Where a point stands on its chart: its place and its curve.
    fn place_of<'a>(&self, panel: &'a Panel, number: usize) -> Option<(f64, &'a str)> {
        panel.curves.iter().find_map(|curve| {
            let point = curve.points.iter().find(|point| point.1 == number)?;
            Some((point.0, curve.label.as_str()))
        })
    }

    fn knee_said(&self, curve: &Curve, ideal: &Ideal) -> String {
        let share = percent(self.study.report.knee);
        let points = results::curve(curve, self.rows);
        let place = |x: f64| self.x_said(x.round());
        match (ideal.knee(&points, self.study.report.knee), ideal.trend) {
            (Some(Knee::At(x)), Trend::Rises) => format!(" {share} are reached at {}.", place(x)),
            (Some(Knee::At(x)), _) => format!(" {share} are kept up to {}.", place(x)),
            (Some(Knee::Before(x)), Trend::Rises) => format!(" {share} are there from {} on.", place(x)),
            (Some(Knee::Before(_)), _) => format!(" {share} are kept nowhere."),
            (Some(Knee::Beyond(x)), Trend::Rises) => format!(" {share} are not reached up to {}.", place(x)),
            (Some(Knee::Beyond(x)), _) => format!(" {share} are kept at least up to {}.", place(x)),
            (None, _) => String::new(),
        }
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

    /// Over words: which is highest, and how far below it the others are.
    fn of_words(&self, panel: &Panel, ideal: &Ideal, subject: &str) -> Answer {
        let best = panel.curves.get(ideal.curve);
        let points = best.map_or_else(Vec::new, |curve| results::curve(curve, self.rows));
        let label = best.map_or("", |curve| curve.label.as_str());
        let others: Vec<String> = points
            .iter()
            .filter(|point| point.0 != ideal.x)
            .map(|(x, frames)| format!("{} {}", self.place(*x), percent(frames / ideal.frames)))
            .collect();
        let with = if label.is_empty() { String::new() } else { format!(" with {}", self.curve_said(label)) };
        if self.layout.x == "network" {
            // Frames of different networks are no measure for each other.
            let each: Vec<String> =
                points.iter().map(|(x, frames)| format!("{} {}", self.place(*x), rounded(*frames))).collect();
            let head = format!("Frames/s of each network{with}: {}", each.join(", "));
            return Answer { head, rest: String::new() };
        }
        let rest = match others.is_empty() {
            true => String::new(),
            false => format!("Of that{with} {}.", others.join(", ")),
        };
        let head = format!(
            "{subject}: {}{with} has the most, {} frames/s",
            self.place(ideal.x),
            rounded(ideal.frames)
        );
        Answer { head, rest }
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
