//! Estimates of energy, of points and layer by layer.

use crate::energy::said;
use crate::layout::Panel;
use crate::measured::Measured;
use crate::report::answer::percent;
use crate::report::cells::table;
use crate::report::energy::{bases, of_layers, of_points};
use crate::report::page::Answer;
use crate::report::page::Page;
use crate::wording::rounded;
use maud::{Markup, html};

impl Page<'_> {
    /// Says what a frame of each point that is looked at closely costs, and what most of that goes into.
    pub(in crate::report) fn energy_answers(&self) -> Vec<Answer> {
        let Some(coefficients) = &self.study.energy else { return Vec::new() };
        let of_panel = |(panel, measured): (&Panel, &Measured)| {
            let row = self.rows.iter().find(|row| row.point.number == panel.chosen)?;
            let energy = row.whole_energy()?;
            let frame = energy.total() / f64::from(measured.frames.max(1));
            let parts = energy.parts();
            let (part, most) = parts.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
            let share = percent(most / energy.total().max(f64::MIN_POSITIVE));
            let head =
                format!("{}: {} a frame, {share} of it {}", self.subject(panel), said(frame), part.name());
            let rest = format!(
                "An estimate ({}), at {}; {} frames/s.",
                coefficients.technology,
                self.said(panel.chosen),
                rounded(measured.frames_per_second())
            );
            Some(Answer { head, rest })
        };
        self.chosen().filter_map(of_panel).collect()
    }

    /// None if the study has no coefficients.
    pub(in crate::report) fn energy(&self) -> Option<Markup> {
        let technology = &self.study.energy.as_ref()?.technology;
        let layers_of = |view: &Page<'_>| -> Vec<_> {
            let of_chosen = |(panel, measured): (&Panel, &Measured)| {
                let row = self.rows.iter().find(|row| row.point.number == panel.chosen)?;
                Some((
                    panel.title.clone(),
                    view.said(panel.chosen),
                    of_layers(measured, row.energy.as_deref()?),
                ))
            };
            view.chosen().filter_map(of_chosen).collect()
        };
        let layers: Vec<_> = self.views().iter().flat_map(layers_of).collect();
        Some(html! {
            p {
                "No measurement: counts of the run times what one of each costs (" (technology) "). It orders designs and layers; the numbers are as good as the coefficients, "
                "which are the study's."
            }
            p { "Energies of memories follow from:" }
            ul {
                @for basis in bases(self.study, self.rows) {
                    li { (basis) }
                }
            }
            (table(&of_points(self.study, self.rows)))
            h3 { "Layer by layer, at the points that are looked at closely, all frames together" }
            @for (title, said, cells) in &layers {
                h4 { (title) " " small { (said) } }
                (table(cells))
            }
        })
    }
}
