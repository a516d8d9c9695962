//! A study's points with what came of them: what tables and reports are made of.

use super::bench::Job;
use super::command::command;
use super::energy::{Costs, Counts, Energy};
use super::file::Study;
use super::inputs::platform_values;
use super::layout::Curve;
use super::measured::{Measured, Outcome};
use super::point::Point;
use super::run::Planned;
use super::store::Finished;
use std::collections::HashMap;
use std::path::Path;
use toml::Value;

/// A point with what came of it.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The point.
    pub point: &'a Point,
    /// Job that was to be run; none if it cannot be.
    pub job: Option<&'a Job>,
    /// All values of its platform, by their names; none if there is no such platform.
    pub parameters: Vec<(String, Value)>,
    /// Outcome of the point.
    pub outcome: &'a Outcome,
    /// Command that runs the point alone.
    pub command: Option<String>,
    /// An estimate for each layer, if the study asks for them and it is known what the platform did.
    pub energy: Option<Vec<Energy>>,
}

impl Row<'_> {
    /// The estimate of the whole run, all frames together.
    pub fn whole_energy(&self) -> Option<Energy> {
        self.energy.as_ref().map(|layers| layers.iter().copied().sum())
    }
}

/// The estimates of a run's layers.
fn estimates(measured: &Measured, costs: &Costs<'_>) -> Vec<Energy> {
    let of = |layer| Counts::of_layer(layer, measured.period, &measured.machine).energy(costs);
    measured.layers.iter().map(of).collect()
}

/// The points that are done, in the study's order; `file` is the study, as commands name it.
pub fn rows<'a>(
    points: &'a [Planned],
    finished: &HashMap<&str, &'a Finished>,
    study: &Study,
    file: &Path,
) -> Vec<Row<'a>> {
    let row = |planned: &'a Planned| {
        let finished = finished.get(planned.key.as_str())?;
        let job = planned.job.as_ref().ok();
        let parameters = job.map(|job| platform_values(&job.description)).unwrap_or_default();
        let command = command(planned, study, file);
        let seen = finished.outcome.measured().filter(|measured| measured.is_seen_inside());
        let costs = study.energy.as_ref().zip(job).map(|(known, job)| Costs::new(known, &job.description));
        let energy = seen.zip(costs).map(|(measured, costs)| estimates(measured, &costs));
        Some(Row { point: &planned.point, job, parameters, outcome: &finished.outcome, command, energy })
    };
    points.iter().filter_map(row).collect()
}

/// Frames/s along a curve, where its points ran.
pub fn curve(curve: &Curve, rows: &[Row<'_>]) -> Vec<(f64, f64)> {
    curve_points(curve, rows).into_iter().map(|(x, _, frames)| (x, frames)).collect()
}

/// Returns frames/s along a curve as [`curve`] does, with the points' numbers behind their places.
pub fn curve_points(curve: &Curve, rows: &[Row<'_>]) -> Vec<(f64, usize, f64)> {
    let frames = |number: usize| of(rows, number).map(Measured::frames_per_second);
    curve.points.iter().filter_map(|&(x, number)| Some((x, number, frames(number)?))).collect()
}

/// Returns the points of a curve where it is highest, and where lowest.
pub fn ends(curve: &[(f64, f64)]) -> Option<[(f64, f64); 2]> {
    let of = |one: &&(f64, f64), other: &&(f64, f64)| one.1.total_cmp(&other.1);
    // Of equal ones the first.
    Some([*curve.iter().rev().max_by(of)?, *curve.iter().min_by(of)?])
}

/// Returns what was measured at the point of this number.
pub(super) fn of<'a>(rows: &[Row<'a>], number: usize) -> Option<&'a Measured> {
    let at = rows.binary_search_by_key(&number, |row| row.point.number).ok()?;
    rows[at].outcome.measured()
}
