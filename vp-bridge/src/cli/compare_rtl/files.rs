//! Every row as a line of CSV.

use super::networks::{ComparedNetwork, Figure};
use super::{Compared, Failure};
use std::path::Path;
use vp_observers::WholeFile;

const HEADER: [&str; 13] = [
    "table",
    "test",
    "read_latency",
    "write_resp_latency",
    "read_outstanding_limit",
    "rtl_cycles",
    "model_cycles",
    "difference",
    "rtl_first_read",
    "model_first_read",
    "model_last_write",
    "traffic",
    "not_run",
];

/// Writes the rows to a file.
pub(super) fn rows(
    path: &Path,
    compared: &[Compared<'_>],
    networks: &[ComparedNetwork<'_>],
) -> Result<(), Failure> {
    let wrong = |error: csv::Error| Failure::new(format!("{}: {error}", path.display()));
    let file = WholeFile::create(path).map_err(|error| wrong(error.into()))?;
    let mut writer = csv::Writer::from_writer(file);
    writer.write_record(HEADER).map_err(wrong)?;
    for it in compared {
        writer.write_record(cells(it)).map_err(wrong)?;
    }
    for it in networks {
        for cells in cells_of_network(it) {
            writer.write_record(cells).map_err(wrong)?;
        }
    }
    let file = writer.into_inner().map_err(|error| wrong(error.into_error().into()))?;
    file.keep().map_err(|error| wrong(error.into()))
}

fn cells(it: &Compared<'_>) -> [String; 13] {
    let Compared { table, row, run, traffic, .. } = it;
    let or_nothing = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let done = run.as_ref().ok();
    [
        table.name.clone(),
        row.test.clone(),
        row.setting.read_latency.to_string(),
        row.setting.write_latency.to_string(),
        row.setting.read_outstanding.to_string(),
        row.cycles.to_string(),
        or_nothing(done.map(|run| run.cycles)),
        done.map(|run| run.off(row).to_string()).unwrap_or_default(),
        or_nothing(row.first_read),
        or_nothing(done.and_then(|run| run.first_read)),
        or_nothing(done.and_then(|run| run.last_write)),
        traffic.join("; "),
        run.as_ref().err().cloned().unwrap_or_default(),
    ]
}

/// A line for each step, and one for the whole.
fn cells_of_network(it: &ComparedNetwork<'_>) -> Vec<[String; 13]> {
    let setting = it.setting();
    let line = |figure: Figure<'_>| {
        let model = figure.model;
        [
            it.name(),
            figure.step.unwrap_or("in all").to_owned(),
            setting.read_latency.to_string(),
            setting.write_latency.to_string(),
            setting.read_outstanding.to_string(),
            figure.rtl.to_string(),
            model.map(|model| model.to_string()).unwrap_or_default(),
            model.map(|model| (model as i64 - figure.rtl as i64).to_string()).unwrap_or_default(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            it.why_not().unwrap_or_default().to_owned(),
        ]
    };
    it.figures().into_iter().map(line).collect()
}
