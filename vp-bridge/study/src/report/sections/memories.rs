//! Latency over bandwidth of the memories among a study's points.

use crate::memories::{MOST, StudyMemories};
use crate::report::drawing::Error;
use crate::report::memories::charts;
use crate::report::page::Page;
use maud::{Markup, html};

impl Page<'_> {
    /// None if the study does not ask for it.
    pub(in crate::report) fn memories(&self) -> Result<Option<Markup>, Error> {
        if !self.study.report.memory_curve {
            return Ok(None);
        }
        let StudyMemories { measured, more } = self.memories;
        if measured.is_empty() {
            return Ok(Some(html! { p { "No point has a DRAM or an SRAM." } }));
        }
        let charts = charts(measured)?;
        Ok(Some(html! {
            (charts)
            @if *more > 0 { p { "The first " (MOST) " memories are drawn, and " (more) " more are not." } }
        }))
    }
}
