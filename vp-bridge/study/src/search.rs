//! The least, or the most, of a parameter at which a goal is reached: by bisection, over points that are run as they are needed.
//!
//! It is assumed that frames/s rise all the way with a parameter of which the least is searched, and fall with one of which the most is. What
//! was seen along the way tells whether that is so there.

use super::quantity::{Quantity, QuantityKind};
use super::wording::quantity;
use serde::Deserialize;
use toml::Value;
use vp_models::toml_text::KeyError;
use vp_models::units::grouped;

/// Search of a value of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// The parameters that change together.
    pub names: Vec<String>,
    /// End of the range that is good.
    pub wanted: SearchExtreme,
    /// Goal that is to be reached.
    pub goal: Goal,
    values: Steps,
}

/// Value of the parameter that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchExtreme {
    /// The least: frames/s rise with it.
    Least,
    /// The most: frames/s fall with it.
    Most,
}

/// Goal that is to be reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// A number of frames a second.
    FramesPerSecond(f64),
    /// A share of the frames/s at the good end of the range.
    Share(f64),
}

/// A search as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    least: Option<String>,
    most: Option<String>,
    from: Value,
    to: Value,
    step: Option<Value>,
    frames_per_second: Option<f64>,
    share: Option<f64>,
}

/// Most values of a range.
const MOST: u64 = 1 << 40;

/// The values of a range, which are not listed one by one. Their places count from zero.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Steps {
    from: f64,
    step: f64,
    kind: QuantityKind,
    /// The last one's place.
    last: u64,
}

/// Result of a point, where it is known: its frames/s, or why it did not run.
pub type Known = Result<f64, String>;

/// Progress of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Places of the range that were needed so far, in the order in which they were.
    pub visited: Vec<u64>,
    /// State: what is needed next, or what was found.
    pub state: SearchState,
}

/// State of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchState {
    /// Places that are to be run.
    Needs(Vec<u64>),
    /// The search is over.
    Done(SearchEnd),
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchEnd {
    /// The goal is reached at this place, and not at the one before it, if there is one.
    Found {
        /// The place.
        place: u64,
        /// The frames/s that the goal asked for.
        level: f64,
        /// Two places where frames/s do not go as assumed.
        contradiction: Option<[u64; 2]>,
    },
    /// The goal is reached nowhere: not at the good end.
    Unreached {
        /// The good end.
        place: u64,
        /// The frames/s there.
        best: f64,
        /// Frames/s that the goal asked for.
        level: f64,
    },
    /// A point that it needed did not run.
    Failed {
        /// Place of the point.
        place: u64,
        /// Reason.
        why: String,
    },
}

impl Search {
    pub(super) fn of(written: &Written) -> Result<Search, KeyError> {
        let (names, wanted) = match (&written.least, &written.most) {
            (Some(names), None) => (names, SearchExtreme::Least),
            (None, Some(names)) => (names, SearchExtreme::Most),
            _ => {
                return Err(KeyError::new(
                    "least",
                    "name the parameter whose `least` value is searched, or whose `most`: one of both",
                ));
            }
        };
        let names: Vec<String> = names.split(',').map(|name| name.trim().to_owned()).collect();
        if names.iter().any(String::is_empty) {
            return Err(KeyError::new("least", "a parameter's name, or several with commas between"));
        }
        let goal = match (written.frames_per_second, written.share) {
            (Some(frames), None) if frames > 0.0 && frames.is_finite() => Goal::FramesPerSecond(frames),
            (None, Some(share)) if share > 0.0 && share <= 1.0 => Goal::Share(share),
            (Some(_), None) => return Err(KeyError::new("frames_per_second", "a number above zero")),
            (None, Some(_)) => {
                return Err(KeyError::new(
                    "share",
                    "a share of the frames/s at the good end, above 0 and up to 1, such as 0.95",
                ));
            }
            _ => return Err(KeyError::new("share", "one goal: `share = 0.95`, or `frames_per_second = 30`")),
        };
        let values = Steps::of(written)?;
        Ok(Search { names, wanted, goal, values })
    }

    /// The value at a place.
    pub fn value(&self, place: u64) -> Value {
        self.values.value(place)
    }

    /// Places of both ends: the bad one first.
    pub fn ends(&self) -> [u64; 2] {
        [self.at(0), self.at(self.values.last)]
    }

    /// Returns what the search takes for granted, in a sentence.
    pub fn assumption(&self) -> String {
        let verb = if self.wanted == SearchExtreme::Least { "rise" } else { "fall" };
        format!("frames/s {verb} with {}", self.names.join(", "))
    }

    /// Returns what is searched, in words: `least dbb0.read_outstanding for 95 % of the frames/s at 256`.
    pub fn question(&self) -> String {
        let wanted = if self.wanted == SearchExtreme::Least { "least" } else { "most" };
        let name = self.names.first().map_or("", String::as_str);
        let [_, good] = self.ends();
        match self.goal {
            Goal::FramesPerSecond(frames) => format!("{wanted} {name} for {} frames/s", grouped(frames)),
            Goal::Share(share) => {
                let at = quantity(name, &super::point::text(&self.value(good)));
                format!("{wanted} {name} for {} % of the frames/s at {at}", 100.0 * share)
            }
        }
    }

    /// The place so many steps from the bad end; and back.
    fn at(&self, steps: u64) -> u64 {
        match self.wanted {
            SearchExtreme::Least => steps,
            SearchExtreme::Most => self.values.last - steps,
        }
    }

    /// Returns how far the search has come with what is known. It asks in the same order whatever is known, so what it has visited in the
    /// end does not depend on what was run before.
    pub fn progress(&self, known: impl Fn(u64) -> Option<Known>) -> Progress {
        let mut visited: Vec<u64> = Vec::new();
        let state = self.walk(&known, &mut visited);
        Progress { visited, state: state.unwrap_or_else(|stopped| stopped) }
    }

    fn walk(
        &self,
        known: impl Fn(u64) -> Option<Known>,
        visited: &mut Vec<u64>,
    ) -> Result<SearchState, SearchState> {
        let last = self.values.last;
        let mut seen: Vec<(u64, f64)> = Vec::new();
        // Both ends at once: they are needed in any case.
        let needed = [last, 0].map(|steps| self.at(steps));
        let unknown: Vec<u64> = needed.into_iter().filter(|place| known(*place).is_none()).collect();
        let mut frames = |steps: u64| -> Result<f64, SearchState> {
            let place = self.at(steps);
            if !visited.contains(&place) {
                visited.push(place);
            }
            match known(place) {
                Some(Ok(frames)) => {
                    seen.push((steps, frames));
                    Ok(frames)
                }
                Some(Err(why)) => Err(SearchState::Done(SearchEnd::Failed { place, why })),
                None if unknown.contains(&place) => Err(SearchState::Needs(unknown.clone())),
                None => Err(SearchState::Needs(vec![place])),
            }
        };
        let best = frames(last)?;
        let worst = frames(0)?;
        let level = match self.goal {
            Goal::FramesPerSecond(level) => level,
            Goal::Share(share) => share * best,
        };
        if best < level {
            return Ok(SearchState::Done(SearchEnd::Unreached { place: self.at(last), best, level }));
        }
        let (mut below, mut reached) = (0, if worst >= level { 0 } else { last });
        while reached - below > 1 {
            let middle = below + (reached - below) / 2;
            if frames(middle)? >= level {
                reached = middle;
            } else {
                below = middle;
            }
        }
        seen.sort_by_key(|(steps, _)| *steps);
        let contradiction = seen.windows(2).find(|pair| pair[1].1 < pair[0].1);
        let contradiction = contradiction.map(|pair| [pair[0].0, pair[1].0].map(|steps| self.at(steps)));
        Ok(SearchState::Done(SearchEnd::Found { place: self.at(reached), level, contradiction }))
    }
}

impl Steps {
    fn of(written: &Written) -> Result<Steps, KeyError> {
        let ends = [&written.from, &written.to].map(Quantity::of);
        let [Some(from), Some(to)] = ends else {
            let key = if ends[0].is_none() { "from" } else { "to" };
            return Err(KeyError::new(
                key,
                "a number, a time such as \"400 ns\", a rate such as \"10 GB/s\", or a size such as \"256 KiB\"",
            ));
        };
        let Some(kind) = from.common(to) else {
            return Err(KeyError::new("to", "of the same kind as `from`: a number, a time or a rate"));
        };
        let step = match &written.step {
            Some(step) => {
                let step = Quantity::of(step).filter(|step| step.number > 0.0 && step.common(from).is_some());
                step.ok_or_else(|| KeyError::new("step", "above zero, and of the same kind as `from`"))?
                    .number
            }
            None if kind == QuantityKind::Whole => 1.0,
            None => {
                return Err(KeyError::new(
                    "step",
                    "say how fine the search is, where values are no whole numbers",
                ));
            }
        };
        let last = ((to.number - from.number) / step + 1e-9).floor();
        if !(1.0..=MOST as f64).contains(&last) {
            return Err(KeyError::new("to", "above `from`, by at least a `step`"));
        }
        Ok(Steps { from: from.number, step, kind, last: last as u64 })
    }

    fn value(&self, place: u64) -> Value {
        self.kind.value(self.from + self.step * place as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn search(text: &str) -> Result<Search, String> {
        let written: Written = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        Search::of(&written).map_err(|wrong| format!("{}: {}", wrong.key, wrong.what))
    }

    /// Runs what is asked for until it is over; gives the outcome, and which places were run.
    fn found(search: &Search, frames: impl Fn(u64) -> Known) -> (SearchEnd, Vec<u64>) {
        let mut ran: Vec<u64> = Vec::new();
        loop {
            let progress = search.progress(|place| ran.contains(&place).then(|| frames(place)));
            match progress.state {
                SearchState::Done(outcome) => {
                    assert_eq!(progress.visited.len(), ran.len());
                    return (outcome, ran);
                }
                SearchState::Needs(places) => {
                    assert!(!places.is_empty() && places.iter().all(|place| !ran.contains(place)));
                    ran.extend(places);
                }
            }
        }
    }

    proptest! {
        /// As a look at all values one by one finds it, with few points.
        #[test]
        fn it_finds_what_a_look_at_all_values_finds(
            steps in prop::collection::vec(0u32..50, 2..200), level in 1u32..3000, most: bool
        ) {
            let mut sum = 0;
            let mut curve: Vec<f64> = steps.iter().map(|step| { sum += step; f64::from(sum) }).collect();
            if most {
                curve.reverse();
            }
            let name = if most { "most" } else { "least" };
            let text = format!("{name} = 'x'\nfrom = 0\nto = {}\nframes_per_second = {level}", curve.len() - 1);
            let search = search(&text).unwrap();
            let (outcome, ran) = found(&search, |place| Ok(curve[place as usize]));
            let reaches = |(_, frames): &(usize, &f64)| **frames >= f64::from(level);
            let expected = match most {
                false => curve.iter().enumerate().find(reaches),
                true => curve.iter().enumerate().rev().find(reaches),
            };
            match (outcome, expected) {
                (SearchEnd::Found { place, contradiction, .. }, Some((at, _))) => {
                    prop_assert_eq!((place, contradiction), (at as u64, None));
                }
                (SearchEnd::Unreached { best, .. }, None) => prop_assert!(best < f64::from(level)),
                other => prop_assert!(false, "{:?}", other),
            }
            prop_assert!(ran.len() <= 2 + curve.len().ilog2() as usize + 1, "{} of {}", ran.len(), curve.len());
        }
    }

    #[test]
    fn what_does_not_go_as_assumed_is_told() {
        let search = search("least = 'x'\nfrom = 0\nto = 4\nframes_per_second = 10").unwrap();
        let (outcome, _) = found(&search, |place| Ok([1.0, 2.0, 50.0, 3.0, 20.0][place as usize]));
        let SearchEnd::Found { place, contradiction, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!((place, contradiction), (2, Some([2, 4])));
    }

    #[test]
    fn a_share_is_of_the_good_end_and_a_point_that_fails_ends_the_search() {
        let search = search("least = 'x'\nfrom = '0 ns'\nto = '9 ns'\nstep = '1 ns'\nshare = 0.5").unwrap();
        let (outcome, _) = found(&search, |place| Ok(place as f64));
        assert_eq!(outcome, SearchEnd::Found { place: 5, level: 4.5, contradiction: None });
        assert_eq!(search.value(5), Value::String("5 ns".into()));
        assert_eq!(search.question(), "least x for 50 % of the frames/s at 9 ns");
        let (outcome, _) =
            found(&search, |place| if place == 4 { Err("no".into()) } else { Ok(place as f64) });
        assert_eq!(outcome, SearchEnd::Failed { place: 4, why: "no".into() });
    }

    #[test]
    fn refusals_name_the_key() {
        let refusal = |text: &str| search(text).unwrap_err();
        let range = "from = 1\nto = 9\n";
        assert!(refusal(&format!("{range}share = 0.9")).starts_with("least: name the parameter"));
        assert!(refusal(&format!("least = 'x'\n{range}share = 1.5")).starts_with("share: a share"));
        assert!(refusal(&format!("least = 'x'\n{range}")).starts_with("share: one goal"));
        assert!(
            refusal(&format!("least = 'x'\n{range}frames_per_second = 0.0")).starts_with("frames_per_second")
        );
        assert!(refusal("least = 'x'\nfrom = 9\nto = 1\nshare = 0.9").starts_with("to: above `from`"));
        assert!(
            refusal("least = 'x'\nfrom = 1\nto = '9 ns'\nshare = 0.9").starts_with("to: of the same kind")
        );
        assert!(refusal("least = 'x'\nfrom = 0.1\nto = 0.5\nshare = 0.9").starts_with("step: say how fine"));
        assert!(refusal("least = 'x'\nfrom = 'a'\nto = 0.5\nshare = 0.9").starts_with("from: a number"));
    }
}
