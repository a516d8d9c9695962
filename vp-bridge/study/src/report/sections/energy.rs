//! Estimates of energy, of points and layer by layer.

use crate::report::cells::table;
use crate::report::energy::{of_layers, of_points};
use crate::report::page::Page;
use maud::{Markup, html};

impl Page<'_> {
    /// None if the study has no coefficients.
    pub(in crate::report) fn energy(&self) -> Option<Markup> {
        let technology = &self.study.energy.as_ref()?.technology;
        let layers: Vec<_> = self
            .chosen()
            .filter_map(|(panel, measured)| {
                let row = self.rows.iter().find(|row| row.point.number == panel.chosen)?;
                Some((panel, of_layers(measured, row.energy.as_deref()?)))
            })
            .collect();
        Some(html! {
            p {
                "No measurement: counts of the run times what one of each costs (" (technology) "). It orders designs and layers; the numbers are as good as the coefficients, "
                "which are the study's."
            }
            (table(&of_points(self.study, self.rows)))
            h3 { "Layer by layer, at the points that are looked at closely, all frames together" }
            @for (panel, cells) in &layers {
                h4 { (panel.title) " " small { (self.said(panel.chosen)) } }
                (table(cells))
            }
        })
    }
}
