//! Report on a study when it is done.

use super::{Loaded, progress};
use crate::cli::out;
use crate::cli::text::{self, counted, grouped, styled, table};
use crate::cli::{self, Failure, Verdict};
use std::io::Write;
use std::path::Path;
use vp_host::Bound;
use vp_study::report::Page;
use vp_study::{self as study, Area, Measured, Outcome, Planned, Row, Shard, Store};

/// A number as the report has it, with the spaces of a terminal.
fn figure(number: f64) -> String {
    spaced(&study::rounded(number))
}

/// A shard: what it has.
pub(super) fn shard(
    own: &[Planned],
    store: &Store,
    program: &str,
    shard: Shard,
    folder: &Path,
) -> Result<Verdict, Failure> {
    let kept = store.of_program(program);
    let outcomes = own.iter().filter_map(|planned| kept.get(planned.key.as_str()));
    let failed = outcomes.filter(|finished| finished.outcome.measured().is_none()).count();
    let mut out = out::stdout();
    writeln!(
        out,
        "shard {shard}: {}, {failed} failed, in {}",
        counted(own.len() as u64, "point"),
        folder.join(shard.file()).display()
    )?;
    Ok(verdict(failed))
}

/// A whole study: files are written, and what matters most is said.
pub(super) fn whole(loaded: &Loaded, store: &Store, folder: &Path, file: &Path) -> Result<Verdict, Failure> {
    let kept = store.of_program(&loaded.program);
    let rows = study::rows(&loaded.points, &kept, &loaded.study, file);
    let build = build(&loaded.program);
    let Loaded { study, layout, findings, .. } = loaded;
    let memories = &progress::memories(study);
    let page = Page { study, layout, rows: &rows, findings, memories, file, build: &build };
    study::write(&page, folder).map_err(Failure::new)?;
    let failed: Vec<(&Row<'_>, &str)> = rows
        .iter()
        .filter_map(|row| match row.outcome {
            Outcome::Failed(why) => Some((row, why.as_str())),
            Outcome::Ran(_) => None,
        })
        .collect();
    let mut out = out::stdout();
    lead(&mut out, &page)?;
    match (findings.is_empty(), loaded.layout.area) {
        (true, None) => page.views().iter().try_for_each(|view| charts(&mut out, view))?,
        (true, Some(area)) => designs(&mut out, &page, area)?,
        (false, _) => {}
    }
    failures(&mut out, &failed)?;
    let files = "results.csv, layers.csv, .parquet of both and report.html";
    let (points, folder) = (counted(rows.len() as u64, "point"), folder.display());
    let done = format!("{points}, {} failed; {files} in {folder}", failed.len());
    writeln!(out, "{}", text::wrapped(&done, ""))?;
    let unreached = findings.iter().filter(|finding| !finding.is_found()).count();
    Ok(verdict(failed.len() + unreached))
}

/// Names this program: its version, its commit, and the hash that points are kept with.
fn build(program: &str) -> String {
    let commit = cli::commit().map_or_else(String::new, |commit| format!("commit {commit}, "));
    format!("{} ({commit}program {program})", cli::VERSION)
}

/// Points that failed, those for the same reason together.
fn failures(out: &mut impl Write, failed: &[(&Row<'_>, &str)]) -> Result<(), Failure> {
    let mut reasons: Vec<(&str, Vec<&Row<'_>>)> = Vec::new();
    for &(row, why) in failed {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, rows)) => rows.push(row),
            None => reasons.push((why, vec![row])),
        }
    }
    for (why, rows) in reasons {
        let Some(first) = rows.first() else { continue };
        let (number, what) = (first.point.number, styled(text::RED, "failed"));
        let others = match rows.len() - 1 {
            0 => String::new(),
            others => format!(", and {}", counted(others as u64, "other")),
        };
        writeln!(out, "point {number} ({}){others} {what}: {why}", first.point)?;
    }
    Ok(())
}

fn verdict(failed: usize) -> Verdict {
    if failed == 0 { Verdict::Right } else { Verdict::Wrong }
}

/// The designs that no other one beats: most frames/s for an area.
fn designs(out: &mut impl Write, page: &Page<'_>, area: Area) -> Result<(), Failure> {
    let mut table = table(&["", area.name(), "frames/s", "point", ""], &[1, 2, 3]);
    for panel in &page.layout.panels {
        let all: Vec<(f64, usize, f64)> =
            panel.curves.iter().flat_map(|curve| study::curve_points(curve, page.rows)).collect();
        let places: Vec<(f64, f64)> = all.iter().map(|&(area, _, frames)| (area, frames)).collect();
        for (area, number, frames) in study::front(&places).into_iter().map(|at| all[at]) {
            let what = page.study.points[number - 1].to_string();
            table.add_row([
                panel.title.clone(),
                grouped(area as u64),
                figure(frames),
                number.to_string(),
                what,
            ]);
        }
    }
    writeln!(out, "{}\nthe Pareto front over {}\n", text::fitted(table), area.name())?;
    Ok(())
}

/// Shows what the page leads with.
fn lead(out: &mut impl Write, page: &Page<'_>) -> Result<(), Failure> {
    for (_, answer) in page.lead() {
        writeln!(out, "{}", text::wrapped(&spaced(&answer.head), ""))?;
        if !answer.rest.is_empty() {
            writeln!(out, "{}", styled(text::DIM, text::wrapped(&spaced(&answer.rest), "  ")))?;
        }
    }
    Ok(writeln!(out)?)
}

/// A text of the page with the spaces of a terminal.
fn spaced(text: &str) -> String {
    text.replace(['\u{202f}', '\u{a0}'], " ")
}

/// The table that the page has below its charts.
fn charts(out: &mut impl Write, page: &Page<'_>) -> Result<(), Failure> {
    // A curve of one point has no knee, and nothing beside it.
    if page.layout.panels.iter().all(|panel| panel.curves.iter().all(|curve| curve.points.len() < 2)) {
        return Ok(());
    }
    let study::report::Table { header, rows, .. } = page.table();
    let is_number = |at: &usize| rows.iter().all(|row| row[*at].starts_with(|it: char| it.is_ascii_digit()));
    let numbers: Vec<usize> = (1..header.len()).filter(is_number).collect();
    let header: Vec<&str> = header.iter().map(|name| if name == "chart" { "" } else { name }).collect();
    let mut table = table(&header, &numbers);
    for row in &rows {
        table.add_row(row.iter().map(|cell| spaced(cell)));
    }
    writeln!(out, "{}\nover {}\n", text::fitted(table), page.layout.x)?;
    Ok(())
}

/// One point alone, run now: what it is, and its layers.
pub(super) fn point(loaded: &Loaded, number: usize) -> Result<Verdict, Failure> {
    let planned = number.checked_sub(1).and_then(|at| loaded.points.get(at)).ok_or_else(|| {
        Failure::new(format!(
            "--point {number}: the study has {}",
            counted(loaded.points.len() as u64, "point")
        ))
    })?;
    let job = planned.job.as_ref().map_err(Failure::new)?;
    let mut out = out::stdout();
    writeln!(out, "point {number}: {}", planned.point)?;
    match loaded.bench.run(job, false) {
        Outcome::Failed(why) => Err(Failure::new(why)),
        Outcome::Ran(measured) => {
            layers(&mut out, &measured)?;
            Ok(Verdict::Right)
        }
    }
}

fn layers(out: &mut impl Write, measured: &Measured) -> Result<(), Failure> {
    writeln!(
        out,
        "{} cycles a frame, {} frames/s, MACs busy {:.0} %\nevent hash {}\n",
        grouped(measured.cycles_per_frame().round() as u64),
        figure(measured.frames_per_second()),
        100.0 * measured.utilisation(),
        measured.event_hash
    )?;
    // What bounds no layer has no column.
    let whole = measured.bounds();
    let bounds: Vec<Bound> = Bound::ALL.into_iter().filter(|bound| whole[*bound as usize] > 0).collect();
    let header: Vec<&str> = ["layer", "cycles", "MACs", "read", "written"]
        .into_iter()
        .chain(bounds.iter().map(|bound| bound.name()))
        .collect();
    let numbers: Vec<usize> = (1..header.len()).collect();
    let mut table = table(&header, &numbers);
    let (all, is_seen) = (measured.layers.iter(), measured.is_seen_inside());
    for layer in all {
        let cells = [layer.time / measured.period.max(1), layer.macs].map(grouped);
        let moved = [layer.read, layer.written].map(|bytes| match is_seen {
            true => grouped(bytes),
            false => "-".to_owned(),
        });
        let bounds = bounds.iter().map(|bound| match (layer.time, layer.bounds[*bound as usize]) {
            (time @ 1.., part) if is_seen => format!("{:.0} %", 100.0 * part as f64 / time as f64),
            _ => "-".to_owned(),
        });
        table.add_row(std::iter::once(layer.named()).chain(cells).chain(moved).chain(bounds));
    }
    writeln!(out, "{}", table.trim_fmt())?;
    Ok(())
}
