//! Rows and steps as records, for JSON and CSV.

use super::Compared;
use super::networks::{ComparedNetwork, Figure};
use crate::cli::record::Record;
use vp_study::rtl::table::Setting;

/// A record for each row, and for each network and its steps.
pub(super) fn records(compared: &[Compared<'_>], networks: &[ComparedNetwork<'_>]) -> Vec<Record> {
    compared.iter().map(of_row).chain(networks.iter().flat_map(of_network)).collect()
}

fn place(table: &str, test: &str, setting: Setting) -> Record {
    Record::default()
        .with("table", table)
        .with("test", test)
        .with("read_latency", setting.read_latency)
        .with("write_resp_latency", setting.write_latency)
        .with("read_outstanding_limit", setting.read_outstanding)
}

fn of_row(it: &Compared<'_>) -> Record {
    let Compared { table, row, run, traffic, .. } = it;
    let done = run.as_ref().ok();
    place(&table.name, &row.test, row.setting)
        .with("rtl_cycles", row.cycles)
        .with("model_cycles", done.map(|run| run.cycles))
        .with("difference", done.map(|run| run.off(row)))
        .with("rtl_first_read", row.first_read)
        .with("model_first_read", done.and_then(|run| run.first_read))
        .with("model_last_write", done.and_then(|run| run.last_write))
        .with("traffic", traffic)
        .with("not_run", run.as_ref().err())
}

/// One for each step, and one for the whole.
fn of_network(it: &ComparedNetwork<'_>) -> Vec<Record> {
    let record = |figure: Figure<'_>| {
        place(&it.name(), figure.step.unwrap_or("in all"), it.setting())
            .with("rtl_cycles", figure.rtl)
            .with("model_cycles", figure.model)
            .with("difference", figure.model.map(|model| model as i64 - figure.rtl as i64))
            .with("not_run", it.why_not())
    };
    it.figures().into_iter().map(record).collect()
}
