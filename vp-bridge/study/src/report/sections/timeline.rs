//! Levels over time at the points that are looked at closely.

use crate::measured::{Levels, Measured, Timeline};
use crate::report::answer::percent;
use crate::report::drawing::Error;
use crate::report::figure::Figure;
use crate::report::page::{Page, WHOLE};
use crate::report::timeline;
use crate::wording::rounded;
use maud::{Markup, html};

impl Page<'_> {
    pub(in crate::report) fn timelines(&self) -> Result<Markup, Error> {
        let mut charts = Vec::new();
        for (panel, measured) in self.chosen() {
            let Some(timeline) = &measured.timeline else { continue };
            let (unit, scale) = timeline::unit((timeline.start + measured.time) as f64);
            let mut header = vec![format!("time, {unit}")];
            header.extend(timeline.levels.iter().map(|levels| timeline::named(&levels.name)));
            let spans = timeline.levels.iter().map(|levels| levels.means.len()).max().unwrap_or(0);
            let row = |at: usize| {
                let time = rounded(at as f64 * timeline.span as f64 / scale);
                let mean = |levels: &Levels| {
                    levels.means.get(at).map_or_else(|| "0".to_owned(), |mean| rounded(*mean))
                };
                std::iter::once(time).chain(timeline.levels.iter().map(mean)).collect()
            };
            charts.push(Figure {
                title: panel.title.clone(),
                said: Some(self.said(panel.chosen)),
                answer: said(measured, timeline),
                svg: timeline::draw(measured, timeline, WHOLE)?,
                live: Some(timeline::live(measured, timeline)),
                cells: (header, (0..spans).map(row).collect()),
            });
        }
        Ok(html! {
            p { "The filled area is the mean of a span of time, the line above it the most in that span. Room in the buffer counts from when it is promised to a read." }
            @for figure in &charts { (figure.wide()) }
        })
    }
}

/// Says how many reads are outstanding on average, and how often as many as may be.
fn said(measured: &Measured, timeline: &Timeline) -> Option<String> {
    let reads = timeline.levels.iter().find(|levels| levels.name == "dbb0 reads")?;
    // Levels begin at time zero, before the first frame.
    let from = (timeline.start / timeline.span.max(1)) as usize;
    let means = reads.means.get(from..).filter(|means| !means.is_empty())?;
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let limit = measured.machine.read_outstanding;
    let full = reads.most.get(from..)?.iter().filter(|most| **most >= limit).count();
    let all = match full {
        0 => "never all of them".to_owned(),
        _ => {
            format!("all of them at some time in {} of the spans", percent(full as f64 / means.len() as f64))
        }
    };
    Some(format!("On average {} of at most {limit} reads are outstanding, {all}.", rounded(mean)))
}
