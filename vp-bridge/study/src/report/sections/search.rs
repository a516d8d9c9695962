//! Section of what a search has found.

use crate::explore::Finding;
use crate::measured::Measured;
use crate::report::cells::{strings, table};
use crate::report::page::Page;
use crate::search::SearchEnd;
use crate::wording::rounded;
use crate::wording::{amount, quantity};
use maud::{Markup, html};

impl Page<'_> {
    pub(in crate::report) fn search(&self) -> Markup {
        let assumption = self.findings.first().map_or("", |finding| finding.assumption.as_str());
        let names = self.study.search.as_ref().map_or(&[][..], |search| &search.names);
        let name = names.first().map_or("", String::as_str);
        let row = |finding: &Finding| {
            let frames = finding.point.and_then(|number| self.of(number)).map(Measured::frames_per_second);
            let level = match &finding.outcome {
                SearchEnd::Found { level, .. } | SearchEnd::Unreached { level, .. } => rounded(*level),
                SearchEnd::Failed { .. } => String::new(),
            };
            vec![
                if finding.case.is_empty() { "all".to_owned() } else { finding.case.clone() },
                level,
                finding
                    .value
                    .as_deref()
                    .map_or_else(|| "not reached".to_owned(), |value| quantity(name, value)),
                frames.map_or_else(String::new, rounded),
                finding.point.map_or_else(String::new, |number| number.to_string()),
                finding.ran.to_string(),
            ]
        };
        let header =
            strings(["of", "goal, frames/s", "found", "frames/s there", "point", "points that were run"]);
        html! {
            p { "Found by bisection over points that were run as they were needed. It is assumed that " (assumption) "." }
            (table(&(header, self.findings.iter().map(row).collect())))
        }
    }

    /// Says what was found, in a sentence.
    pub fn found(&self, finding: &Finding) -> String {
        let search = self.study.search.as_ref();
        let name = |place: u64| {
            search.map_or_else(String::new, |search| {
                let value = crate::point::text(&search.value(place));
                search.names.first().map_or_else(String::new, |name| amount(name, &value))
            })
        };
        let mut told = finding.clone();
        if let (Some(value), Some(name)) = (&mut told.value, search.and_then(|search| search.names.first())) {
            *value = quantity(name, value);
        }
        let sentence = told.sentence(name);
        if finding.case.is_empty() {
            format!("{sentence}.")
        } else {
            format!("{}: {sentence}.", finding.case)
        }
    }
}
