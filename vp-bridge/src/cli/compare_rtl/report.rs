//! Text for a person: a table a configuration, the distribution, the traffic, and the worst rows in detail.

use super::networks::{self, ComparedNetwork};
use super::{Compared, Failure, Verdict, by_setting, by_table, near_enough, raw};
use crate::cli::out;
use crate::cli::text::{self, counted, grouped, styled};
use std::collections::BTreeSet;
use std::io::Write;
use vp_study::rtl::run::Run;
use vp_study::rtl::table::{Row, Table};

/// Number of rows that are told in detail, and of lines of each kind of difference.
const TOLD: usize = 10;

/// Returns true if the model is as near as is asked in every group, with the RTL's traffic.
pub(super) fn is_right(networks: &[ComparedNetwork<'_>], compared: &[Compared<'_>]) -> bool {
    rows_are_right(compared) && networks.iter().all(ComparedNetwork::is_near)
}

fn rows_are_right(compared: &[Compared<'_>]) -> bool {
    let groups_hold = || by_setting(compared).into_values().all(near_enough);
    let tables_hold = || by_table(compared).into_iter().all(|(_, rows)| near_enough(rows));
    let all_run = compared.iter().all(|it| it.run.is_ok());
    let alike = compared.iter().all(|it| it.traffic.is_empty());
    near_enough(compared) && groups_hold() && tables_hold() && all_run && alike
}

/// Shows all, and says whether the model is as near as is asked in every group, with the RTL's traffic.
pub(super) fn show(
    networks: &[ComparedNetwork<'_>],
    compared: &[Compared<'_>],
    unknown: &[(&Table, &Row)],
) -> Result<Verdict, Failure> {
    let mut shown = Ok(());
    if !compared.is_empty() {
        shown = write(compared, unknown, rows_are_right(compared));
    }
    if !networks.is_empty() {
        shown = shown.and_then(|()| networks::write(networks));
    }
    match shown {
        Err(failure) if !failure.is_broken_pipe => Err(failure),
        _ => Ok(if is_right(networks, compared) { Verdict::Right } else { Verdict::Wrong }),
    }
}

fn write(compared: &[Compared<'_>], unknown: &[(&Table, &Row)], right: bool) -> Result<(), Failure> {
    let mut out = out::stdout();
    for (name, rows) in by_table(compared) {
        writeln!(out, "{}", styled(anstyle::Style::new().bold(), name))?;
        writeln!(out, "{}\n", rows_of(&rows).trim_fmt())?;
    }
    writeln!(out, "{}\n", distributions(compared).trim_fmt())?;
    traffic(&mut out, compared)?;
    not_compared(&mut out, compared, unknown)?;
    worst(&mut out, compared)?;
    let bounds = "median 3 %, 95 % of the rows 10 %, all 20 %, under 60 cycles not counted, in every group";
    let verdict = if right { styled(text::GREEN, "PASS") } else { styled(text::RED, "FAIL") };
    writeln!(out, "{verdict}  {bounds}; traffic as the RTL's; every row run")?;
    Ok(())
}

/// A line for each row.
fn rows_of(rows: &[&Compared<'_>]) -> comfy_table::Table {
    let header = ["test", "read", "write", "limit", "RTL", "model", "differs", ""];
    let mut table = text::table(&header, &[1, 2, 3, 4, 5, 6, 7]);
    for Compared { row, run, .. } in rows {
        let setting = row.setting;
        let mut cells = vec![
            row.test.clone(),
            setting.read_latency.to_string(),
            setting.write_latency.to_string(),
            setting.read_outstanding.to_string(),
            grouped(row.cycles),
        ];
        match run {
            Ok(run) => cells.extend([grouped(run.cycles), difference(run, row), percent(run, row)]),
            Err(_) => cells.push("not run".to_owned()),
        }
        table.add_row(cells);
    }
    table
}

fn difference(run: &Run, row: &Row) -> String {
    match run.off(row) {
        0 => "0".to_owned(),
        off => format!("{off:+}"),
    }
}

fn percent(run: &Run, row: &Row) -> String {
    let percent = 100.0 * run.off(row) as f64 / row.cycles.max(1) as f64;
    if run.off(row) == 0 { String::new() } else { format!("{percent:+.2} %") }
}

/// The distribution of errors: of all, of each table, of each memory.
fn distributions(compared: &[Compared<'_>]) -> comfy_table::Table {
    let mut table =
        text::table(&["error", "rows", "exact", "median", "95 % within", "largest"], &[1, 2, 3, 4, 5]);
    let mut add = |name: String, rows: &[&Compared<'_>]| {
        let errors = raw(rows.iter().copied());
        let percent = |ppm: u64| format!("{:.3} %", ppm as f64 / 10_000.0);
        let name = if near_enough(rows.iter().copied()) { name } else { styled(text::RED, name) };
        table.add_row([
            name,
            errors.rows.to_string(),
            errors.exact.to_string(),
            percent(errors.median),
            percent(errors.percentile_95),
            percent(errors.max),
        ]);
    };
    add("all".to_owned(), &compared.iter().collect::<Vec<_>>());
    for (name, rows) in by_table(compared) {
        add(name.to_owned(), &rows);
    }
    for (setting, rows) in by_setting(compared) {
        add(setting.to_string(), &rows);
    }
    table
}

/// Shows whether both sides moved the same.
fn traffic(out: &mut impl Write, compared: &[Compared<'_>]) -> Result<(), Failure> {
    let run = compared.iter().filter(|it| it.run.is_ok()).count();
    let alike = compared.iter().filter(|it| it.run.is_ok() && it.traffic.is_empty()).count();
    let logs = compared.iter().filter(|it| it.logged).count();
    let exact = |it: &&Compared<'_>| {
        let most = |run: &Run| (run.traffic.most_reads, run.traffic.most_writes);
        it.run.as_ref().is_ok_and(|run| most(run) == (it.row.traffic.most_reads, it.row.traffic.most_writes))
    };
    writeln!(
        out,
        "traffic    as the RTL's in {alike} of {} (bursts by id and bytes equal, most outstanding within a tenth; \
         equal in {})",
        counted(run as u64, "row"),
        compared.iter().filter(exact).count()
    )?;
    writeln!(out, "addresses  in the RTL's order by id, of each log that is here: {logs}")?;
    let wrong = compared.iter().flat_map(|it| it.traffic.iter().map(move |what| (it, what)));
    for (it, what) in wrong.clone().take(TOLD) {
        let name = format!("{}: {}, {}", it.table.name, it.row.test, it.row.setting);
        writeln!(out, "{} {name}: {what}", styled(text::RED, "differs:"))?;
    }
    let more = wrong.count().saturating_sub(TOLD);
    if more > 0 {
        writeln!(out, "{} {more} more like these", styled(text::RED, "differs:"))?;
    }
    let contents = compared
        .iter()
        .filter(|it| it.run.as_ref().is_ok_and(|run| it.row.right.is_some_and(|right| right != run.right)));
    for it in contents.take(TOLD) {
        let (name, test) = (&it.table.name, &it.row.test);
        let what = "memory holds the trace's golden on one side only";
        writeln!(out, "{} {name}: {test}: {what}", styled(text::YELLOW, "warning:"))?;
    }
    Ok(writeln!(out)?)
}

/// Says aloud which rows were left out, and why.
fn not_compared(
    out: &mut impl Write,
    compared: &[Compared<'_>],
    unknown: &[(&Table, &Row)],
) -> Result<(), Failure> {
    if !unknown.is_empty() {
        let tests: BTreeSet<_> = unknown.iter().map(|(table, row)| (&table.config, &row.test)).collect();
        let (rows, tests) = (counted(unknown.len() as u64, "row"), counted(tests.len() as u64, "test"));
        writeln!(out, "left out   {rows} of {tests} whose trace is not here\n")?;
    }
    let failed: BTreeSet<_> = compared
        .iter()
        .filter_map(|it| it.run.as_ref().err().map(|why| (&it.table.name, &it.row.test, why)))
        .collect();
    for (table, test, why) in &failed {
        let why = why.replace('\n', "\n       ");
        writeln!(out, "{} {table}: {test}: {why}", styled(text::RED, "not run:"))?;
    }
    if !failed.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

/// The rows that are farthest from the RTL, and where their cycles went on the model.
fn worst(out: &mut impl Write, compared: &[Compared<'_>]) -> Result<(), Failure> {
    let mut off: Vec<(&Compared<'_>, &Run)> = compared
        .iter()
        .filter_map(|it| it.run.as_ref().ok().map(|run| (it, run)))
        .filter(|(it, run)| run.off(it.row) != 0)
        .collect();
    let share =
        |(it, run): &(&Compared<'_>, &Run)| run.off(it.row).unsigned_abs() as f64 / it.row.cycles as f64;
    off.sort_by(|a, b| share(b).total_cmp(&share(a)));
    if off.is_empty() {
        return Ok(());
    }
    writeln!(out, "farthest from the RTL, and where the model's cycles went")?;
    for (it, run) in off.iter().take(TOLD) {
        let Compared { table, row, .. } = it;
        writeln!(
            out,
            "{} {}, {}: RTL {}, model {} ({}, {})",
            styled(anstyle::Style::new().bold(), &table.name),
            row.test,
            row.setting,
            grouped(row.cycles),
            grouped(run.cycles),
            difference(run, row),
            percent(run, row)
        )?;
        let or_dash = |cycle: Option<u64>| cycle.map_or_else(|| "-".to_owned(), grouped);
        writeln!(
            out,
            "  first read {} (RTL {}), last write acknowledged {}, interrupt {}",
            or_dash(run.first_read),
            or_dash(row.first_read),
            or_dash(run.last_write),
            grouped(run.cycles)
        )?;
        let busy = run.spans.iter().map(|span| {
            let end = or_dash(span.end);
            let cycles = span.end.map_or_else(String::new, |end| format!(" ({})", grouped(end - span.begin)));
            format!("{} {}–{end}{cycles}", span.unit.to_uppercase(), grouped(span.begin))
        });
        writeln!(out, "  busy: {}", busy.collect::<Vec<_>>().join(", "))?;
    }
    Ok(writeln!(out)?)
}
