//! Studies: a question about a platform at many points, which run on all cores.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use pyo3::prelude::*;
use vp_study::table::{self, Cell, Table};
use vp_study::{Bench, Finished, Outcome, Planned, Study};

use crate::errors;
use crate::open::{GivenUp, wait_for};

/// A table's columns: their names and cells.
type Columns<'py> = Vec<(String, Vec<Option<Bound<'py, PyAny>>>)>;

/// Runs a study, the file at `path` or a text as it would stand there, on so many threads: a row for each point, and one for each layer of each point.
#[pyfunction]
#[pyo3(signature = (text, path, jobs=None))]
pub(crate) fn study<'py>(
    py: Python<'py>,
    text: Option<String>,
    path: PathBuf,
    jobs: Option<NonZeroUsize>,
) -> PyResult<(Columns<'py>, Columns<'py>)> {
    let jobs = jobs.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let given_up = GivenUp::default();
    let is_over = given_up.flag();
    let run = move || {
        let folder = path.parent().unwrap_or(Path::new(""));
        let study = text.map_or_else(|| Study::load(&path), |text| Study::parse(&text, folder));
        tables(&study.map_err(|error| error.to_string())?, &path, jobs, &is_over)
    };
    let (points, layers) = wait_for(py, run)?.map_err(errors::description)?;
    Ok((columns(py, points)?, columns(py, layers)?))
}

/// The tables of points and layers.
fn tables(
    study: &Study,
    file: &Path,
    jobs: NonZeroUsize,
    is_over: &AtomicBool,
) -> Result<(Table, Table), String> {
    if study.search.is_some() {
        return Err("[search]: a search finds its points one after the other, by `vp study`".to_owned());
    }
    let bench = Bench::new(study);
    let planned = vp_study::plan(study, &bench, &HashSet::new());
    if let Some(why) = vp_study::none_runs(&planned) {
        return Err(format!("no point can run: {why}"));
    }
    let finished = run(&planned, &bench, jobs, is_over);
    let finished: HashMap<&str, &Finished> = finished.iter().map(|one| (one.key.as_str(), one)).collect();
    let rows = vp_study::rows(&planned, &finished, study, file);
    Ok((table::points(&rows), table::layers(&rows)))
}

fn run(planned: &[Planned], bench: &Bench, jobs: NonZeroUsize, is_over: &AtomicBool) -> Vec<Finished> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut finished = Vec::new();
        while !is_over.load(Ordering::Relaxed)
            && let Some(planned) = planned.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let outcome = match &planned.job {
                Ok(job) => bench.run(job, false),
                Err(why) => Outcome::Failed(why.clone()),
            };
            finished.push(Finished::new(&planned.key, "", &planned.point.to_string(), outcome));
        }
        finished
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.get().min(planned.len())).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).flatten().collect()
    })
}

fn columns(py: Python<'_>, table: Table) -> PyResult<Columns<'_>> {
    let cell = |cell: Cell| {
        Ok(match cell {
            Cell::Empty => None,
            Cell::Integer(number) => Some(number.into_pyobject(py)?.into_any()),
            Cell::Number(number) => Some(number.into_pyobject(py)?.into_any()),
            Cell::Boolean(is) => Some(is.into_pyobject(py)?.to_owned().into_any()),
            Cell::Text(text) => Some(text.into_pyobject(py)?.into_any()),
        })
    };
    let column = |column: table::Column| {
        let cells = column.cells.into_iter().map(cell).collect::<PyResult<_>>()?;
        Ok((column.name, cells))
    };
    table.columns.into_iter().map(column).collect()
}
