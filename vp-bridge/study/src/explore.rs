//! A study's search over the points that it needs: what is to be run next, and what was found.

use super::file::Study;
use super::point::{Point, text};
use super::search::{Known, Search, SearchEnd, SearchState};
use super::sweep::Assignment;
use vp_models::units::grouped;

/// Result of the search of one combination of the sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The combination, as a person says it; empty if there is one alone.
    pub case: String,
    /// Question of the search, in words.
    pub question: String,
    /// Assumption of the search: what was taken for granted.
    pub assumption: String,
    /// Outcome of the search.
    pub outcome: SearchEnd,
    /// The value that was found, as a person writes it.
    pub value: Option<String>,
    /// True if the value is at the bad end of the range: the goal is reached everywhere in it.
    pub is_at_end: bool,
    /// The number of the point that has it.
    pub point: Option<usize>,
    /// Points that it needed.
    pub ran: usize,
}

impl Finding {
    /// Returns true if the goal is reached.
    pub fn is_found(&self) -> bool {
        matches!(self.outcome, SearchEnd::Found { .. })
    }

    /// Returns what came of the search, in a sentence.
    pub fn sentence(&self, name: impl Fn(u64) -> String) -> String {
        match (&self.outcome, &self.value) {
            (SearchEnd::Found { contradiction, .. }, Some(value)) => {
                let mut said = format!("{}: {value}", self.question);
                if self.is_at_end {
                    said += ", where the range ends: what is beyond was not asked for";
                }
                if let Some([first, second]) = contradiction {
                    said += &format!(
                        "; but not all the way {}: not from {} to {}",
                        self.assumption,
                        name(*first),
                        name(*second)
                    );
                }
                said
            }
            (SearchEnd::Unreached { place, best, level }, _) => format!(
                "{}: no value reaches {} frames/s, the best has {}, at {}",
                self.question,
                grouped(format_args!("{level:.1}")),
                grouped(format_args!("{best:.1}")),
                name(*place)
            ),
            (SearchEnd::Failed { place, why }, _) => {
                format!("{}: {} failed: {why}", self.question, name(*place))
            }
            (SearchEnd::Found { .. }, None) => self.question.clone(),
        }
    }
}

impl Study {
    /// The study with the points that its search has needed so far and those that it needs next, and what was found where it is over. A
    /// study without a search is as it was.
    pub fn explored(&self, known: impl Fn(&Point) -> Option<Known>) -> (Study, Vec<Finding>) {
        let mut study = self.clone();
        let Some(search) = &self.search else { return (study, Vec::new()) };
        study.points.clear();
        let mut findings = Vec::new();
        for case in &self.cases {
            let point = |place: u64| self.at(search, case, place);
            let progress = search.progress(|place| known(&point(place)));
            let first = study.points.len();
            let needed = match &progress.state {
                SearchState::Needs(places) => places.clone(),
                SearchState::Done(_) => Vec::new(),
            };
            let places: Vec<u64> = progress
                .visited
                .iter()
                .chain(needed.iter().filter(|place| !progress.visited.contains(place)))
                .copied()
                .collect();
            for place in &places {
                let number = study.points.len() + 1;
                study.points.push(Point { number, ..point(*place) });
            }
            if let SearchState::Done(outcome) = progress.state {
                let found = match outcome {
                    SearchEnd::Found { place, .. } => Some(place),
                    _ => None,
                };
                let at = found.and_then(|found| places.iter().position(|place| *place == found));
                findings.push(Finding {
                    case: Point::new(0, case.clone(), Vec::new()).to_string(),
                    question: search.question(),
                    assumption: search.assumption(),
                    outcome,
                    value: found.map(|place| text(&search.value(place))),
                    is_at_end: found == Some(search.ends()[0]),
                    point: at.map(|at| first + at + 1),
                    ran: progress.visited.len(),
                });
            }
        }
        (study, findings)
    }

    /// The point of a combination of the sweep at a place of the search.
    fn at(&self, search: &Search, case: &[Assignment], place: u64) -> Point {
        let value = search.value(place);
        let searched = search.names.iter().map(|name| (name.clone(), value.clone()));
        let varied: Vec<Assignment> = case.iter().cloned().chain(searched).collect();
        Point::new(0, varied, self.fixed.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const TEXT: &str = "name = 's'\n[fixed]\nnetwork = 'digits'\n[sweep]\nplatform = ['nv_small', 'nv_large']\n\
                        [search]\nleast = 'dbb0.read_outstanding'\nfrom = 1\nto = 64\nframes_per_second = 10\n";

    fn frames(point: &Point) -> f64 {
        let limit = point.get("dbb0.read_outstanding").and_then(toml::Value::as_integer).unwrap();
        // The large one never comes so far.
        if point.platform() == "nv_large" { limit as f64 / 10.0 } else { limit as f64 }
    }

    #[test]
    fn both_ends_of_each_combination_come_first() {
        let study = Study::parse(TEXT, Path::new("")).unwrap();
        let points: Vec<String> = study.points.iter().map(ToString::to_string).collect();
        assert_eq!(
            points,
            [
                "platform=nv_small dbb0.read_outstanding=64",
                "platform=nv_small dbb0.read_outstanding=1",
                "platform=nv_large dbb0.read_outstanding=64",
                "platform=nv_large dbb0.read_outstanding=1"
            ]
        );
    }

    #[test]
    fn a_search_ends_with_a_finding_for_each_combination() {
        let mut study = Study::parse(TEXT, Path::new("")).unwrap();
        let (mut ran, mut findings): (Vec<Point>, Vec<Finding>) = (Vec::new(), Vec::new());
        for _ in 0..20 {
            ran.extend(study.points.iter().cloned());
            let is_known = |point: &Point| ran.iter().any(|it| it.varied == point.varied);
            (study, findings) = study.explored(|point| is_known(point).then(|| Ok(frames(point))));
        }
        assert_eq!(findings.len(), 2);
        let [small, large] = [&findings[0], &findings[1]];
        assert_eq!((small.value.as_deref(), small.case.as_str()), (Some("10"), "platform=nv_small"));
        let point = &study.points[small.point.unwrap() - 1];
        assert_eq!(frames(point), 10.0);
        assert_eq!(small.ran + large.ran, study.points.len());
        assert!(!large.is_found());
        let sentence = large.sentence(|place| place.to_string());
        assert!(sentence.ends_with("no value reaches 10.0 frames/s, the best has 6.4, at 63"), "{sentence}");
    }
}
