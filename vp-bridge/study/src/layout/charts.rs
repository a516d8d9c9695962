//! Charts as points are put into them one after the other. There may be as many charts, or curves of one, as points.

use super::{Curve, IdealPoint, Panel};
use std::collections::HashMap;

/// Charts, which are found by title, and their curves by label.
#[derive(Default)]
pub(super) struct Charts {
    panels: Vec<Panel>,
    by_title: HashMap<String, usize>,
    /// Of each chart the places of its curves.
    by_label: Vec<HashMap<String, usize>>,
}

impl Charts {
    /// Puts a point into the curve of that label, of the chart of that title: at this place along the axis, or else behind those that are
    /// there. It is looked at closely if it is nearer than the one before.
    pub(super) fn put<D: PartialOrd>(
        &mut self,
        (title, label): (String, String),
        place: Option<f64>,
        point: usize,
        distance: impl Fn(usize) -> D,
    ) {
        let at = *self.by_title.entry(title).or_insert_with_key(|title| {
            let panel = Panel { title: title.clone(), curves: Vec::new(), chosen: point, ideals: Vec::new() };
            self.panels.push(panel);
            self.by_label.push(HashMap::new());
            self.panels.len() - 1
        });
        let panel = &mut self.panels[at];
        let curve = *self.by_label[at].entry(label).or_insert_with_key(|label| {
            panel.curves.push(Curve { label: label.clone(), points: Vec::new() });
            panel.curves.len() - 1
        });
        let points = &mut panel.curves[curve].points;
        points.push((place.unwrap_or(points.len() as f64), point));
        if distance(point) < distance(panel.chosen) {
            panel.chosen = point;
        }
    }

    /// Puts a point beside the curves of a chart, at this place: it belongs to the one of that label.
    ///
    /// # Errors
    /// Nothing happens if there is no such curve.
    pub(super) fn put_ideal(&mut self, title: &str, label: &str, place: f64, point: usize) -> Option<()> {
        let at = *self.by_title.get(title)?;
        let curve = *self.by_label[at].get(label)?;
        self.panels[at].ideals.push(IdealPoint { curve, place, point });
        Some(())
    }

    /// All charts, points of their curves in the order of their places.
    pub(super) fn sorted(mut self) -> Vec<Panel> {
        for curve in self.panels.iter_mut().flat_map(|panel| &mut panel.curves) {
            curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        self.panels
    }
}
