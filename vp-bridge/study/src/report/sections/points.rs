//! All points, and how to run each again.

use crate::measured::Outcome;
use crate::point::text;
use crate::report::cells::is_number;
use crate::report::page::Page;
use crate::results::Row;
use crate::wording::quantity;
use crate::wording::rounded;
use maud::{Markup, html};
use vp_host::Bound;

impl Page<'_> {
    pub(in crate::report) fn points(&self) -> Markup {
        let file = self.file.display().to_string();
        // Names and values as a study has them: who reads them here writes them there.
        let value = |row: &Row<'_>, name: &str| {
            let value = row.point.get(name).map_or_else(String::new, text);
            let told = quantity(name, &value);
            if told.starts_with(&value) { told } else { format!("{value} ({told})") }
        };
        let class = |name: &String| match self.rows.iter().all(|row| is_number(&value(row, name))) {
            true => "",
            false => "text",
        };
        let varied: Vec<(&String, &str)> = self.study.varied.iter().map(|name| (name, class(name))).collect();
        html! {
            p {
                "A line's command, which is also in results.csv, runs the same again; the event hash says whether it was the same. "
                "With the study at hand, this shows a point with its layers:"
            }
            pre { code { "vp study " (file) " --point N" } }
            div.scroll {
                table {
                    thead { tr {
                        th { "point" }
                        @for (name, class) in &varied { th class=(class) { (name) } }
                        th { "frames/s" } th { "cycles a frame" } th.text { "bound by" } th.text { "event hash" } th.text.command { "command" }
                    } }
                    tbody {
                        @for row in self.rows {
                            tr {
                                td { (row.point.number) }
                                @for (name, class) in &varied { td class=(class) { (value(row, name)) } }
                                @match row.outcome {
                                    Outcome::Ran(measured) => {
                                        td { (rounded(measured.frames_per_second())) }
                                        td { (rounded(measured.cycles_per_frame())) }
                                        td.text { (largest(measured.bounds())) }
                                        td.text { code { (measured.event_hash) } }
                                        td.text.command { code { (row.command.as_deref().unwrap_or("")) } }
                                    }
                                    Outcome::Failed(why) => td.bad.text colspan="5" { (why) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the name of the largest bound.
pub(in crate::report) fn largest(bounds: [u64; Bound::COUNT]) -> &'static str {
    Bound::largest(Bound::ALL.map(|bound| (bound, bounds[bound as usize]))).map_or("", Bound::name)
}
