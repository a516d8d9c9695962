//! Text of runs: one in full, many in a table.

use super::warnings::{faults, show_faults, warn};
use super::{Judged, PlayedTrace, Run, outputs, suite};
use crate::cli::out;
use crate::cli::text::{self, counted, grouped, styled};
use crate::cli::{Failure, Verdict, memory};
use std::fmt;
use std::io::Write;
use vp_core::Time;
use vp_host::Statistics;
use vp_host::loadable::Execution;
use vp_host::trace::player::{self, Left};
use vp_models::platform::DeviceDescription;

/// The verdict, which stands even if nobody reads the report to its end.
fn after(shown: Result<(), Failure>, passed: bool) -> Result<Verdict, Failure> {
    match shown {
        Err(failure) if !failure.is_broken_pipe => Err(failure),
        _ => Ok(if passed { Verdict::Right } else { Verdict::Wrong }),
    }
}

/// One trace: what it is, how long it took, what it moved, whether it is right.
pub(super) fn one(name: &str, ran: &PlayedTrace) -> Result<Verdict, Failure> {
    after(show_one(name, ran), matches!(ran.verdict(), Judged::Passed | Judged::NotCompared))
}

fn show_one(name: &str, ran: &PlayedTrace) -> Result<(), Failure> {
    let mut out = out::stdout();
    let PlayedTrace { outcome, statistics, warnings, headline, rtl, loadable, .. } = ran;
    writeln!(out, "{headline}\n{name}\n")?;
    if let Some(loadable) = loadable {
        writeln!(out, "{:<10} {loadable}", "loadable")?;
    }
    show_time(&mut out, statistics, *rtl)?;
    if statistics.get("nvdla.cycles").is_none() && ran.verdict() == Judged::NotCompared {
        let period = Time::ps(statistics.get("period").unwrap_or(1_000));
        let cycles = (outcome.finish - outcome.start).cycles(period);
        writeln!(out, "{:<10} {}, from the first line to the last", "time", counted(cycles, "cycle"))?;
    }
    if let Some(execution) = &outcome.execution {
        show_split(&mut out, execution, Time::ps(statistics.get("period").unwrap_or(1_000)))?;
        show_frames(&mut out, execution, Time::ps(statistics.get("period").unwrap_or(1_000)))?;
    }
    show_traffic(&mut out, statistics)?;
    for sum in &outcome.sums {
        let place = format!("{} bytes at {:#x} in {} memory", grouped(sum.size), sum.base, sum.memory);
        writeln!(out, "{:<10} {:#010x} of {place}", "CRC", sum.crc)?;
    }
    if let Some(execution) = &outcome.execution {
        outputs::show(&mut out, execution)?;
    }
    if let Some(left) = &outcome.result {
        show_result(&mut out, left)?;
    } else if outcome.execution.is_some() {
        writeln!(out, "{:<10} compared with nothing: there is no golden", "result")?;
    }
    show_hash(&mut out, statistics)?;
    show_faults(&mut out, statistics)?;
    warn(&mut out, warnings)?;
    for failure in &outcome.failures {
        writeln!(out, "{} {failure}", label(failure))?;
    }
    writeln!(out, "\n{}", verdict(ran.verdict()))?;
    Ok(())
}

/// Label of a failure's line. Nothing is wrong where the platform lacks something.
fn label(failure: &player::Failure) -> String {
    match failure.kind.is_of_platform() {
        true => styled(text::YELLOW, format!("{}:", word(Judged::Unsupported))),
        false => styled(text::RED, "wrong:"),
    }
}

/// A platform after others have used it: what `vp run` shows of one, without a verdict.
pub(in crate::cli) fn platform(
    headline: &str,
    device: &DeviceDescription,
    statistics: &Statistics,
) -> Result<(), Failure> {
    let mut out = out::stdout();
    writeln!(out, "{headline}")?;
    match device {
        DeviceDescription::FpgaAiSuite(_) => suite::show_jobs(&mut out, statistics)?,
        DeviceDescription::Nvdla(_) | DeviceDescription::Outside(_) => show_time(&mut out, statistics, None)?,
    }
    show_traffic(&mut out, statistics)?;
    show_hash(&mut out, statistics)?;
    show_faults(&mut out, statistics)
}

/// The layers, and how long all of it took.
fn show_time(out: &mut impl Write, statistics: &Statistics, rtl: Option<u64>) -> Result<(), Failure> {
    for layer in layers(statistics) {
        writeln!(out, "{:<10} {}", layer.unit, layer.text)?;
    }
    if let Some(cycles) = statistics.get("nvdla.cycles") {
        let period = Time::ps(statistics.get("period").unwrap_or(1_000));
        writeln!(
            out,
            "{:<10} {}, from the first enable to {} ({} at {})",
            "time",
            counted(cycles, "cycle"),
            statistics.text("nvdla.cycles.until").unwrap_or("the last interrupt"),
            period * cycles,
            text::frequency(period)
        )?;
        if let Some(rtl) = rtl {
            writeln!(
                out,
                "{:<10} {} in the vendor's RTL: {}",
                "",
                counted(rtl, "cycle"),
                difference(cycles, rtl)
            )?;
        }
    }
    Ok(())
}

/// Shows what the ports and the memories behind them moved.
fn show_traffic(out: &mut impl Write, statistics: &Statistics) -> Result<(), Failure> {
    for port in ["dbb0", "sram0"] {
        traffic(out, statistics, port, "read", "read", "latency")?;
        traffic(out, statistics, port, "write", "written", "acknowledged after")?;
        for master in masters(statistics, port) {
            traffic(out, statistics, &master, "read", "read", "latency")?;
            traffic(out, statistics, &master, "write", "written", "acknowledged after")?;
        }
        for line in memory::lines(statistics, port) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

fn show_hash(out: &mut impl Write, statistics: &Statistics) -> Result<(), Failure> {
    Ok(writeln!(out, "{:<10} {}", "event hash", statistics.text("events.hash").unwrap_or("-"))?)
}

/// Shows how long a loadable's operations ran, and how long the CPU kept them waiting.
fn show_split(out: &mut impl Write, execution: &Execution, period: Time) -> Result<(), Failure> {
    let Execution { register_writes, register_reads, interrupts, bus, time, .. } = execution;
    writeln!(
        out,
        "{:<10} {}, {}, {}: {} of {} with no operation running",
        "registers",
        counted(*register_writes, "write"),
        counted(*register_reads, "read"),
        counted(*interrupts, "interrupt"),
        grouped(bus.cycles(period)),
        counted(time.cycles(period), "cycle")
    )?;
    Ok(())
}

/// Prints the cycles of each frame of a loadable, if there are several.
fn show_frames(out: &mut impl Write, execution: &Execution, period: Time) -> Result<(), Failure> {
    let cycles: Vec<u64> = execution.frames.iter().map(|time| time.cycles(period)).collect();
    let [first, others @ ..] = &cycles[..] else { return Ok(()) };
    let (Some(least), Some(most)) = (others.iter().min(), others.iter().max()) else { return Ok(()) };
    let others =
        if least == most { grouped(*least) } else { format!("{} to {}", grouped(*least), grouped(*most)) };
    writeln!(
        out,
        "{:<10} {} without a reset: the first takes {}, the others {others}",
        "frames",
        grouped(cycles.len() as u64),
        counted(*first, "cycle")
    )?;
    Ok(())
}

/// Shows what a recording left, value by value where they are few.
fn show_result(out: &mut impl Write, left: &Left) -> Result<(), Failure> {
    let Left { golden, base, elements, values } = left;
    let place = format!("{} at {base:#x}", counted(*elements as u64, "element"));
    writeln!(out, "{:<10} {place}, compared with {}", "result", golden.display())?;
    if !values.is_empty() {
        let text = |value: &Option<i64>| value.map_or("NaN".to_owned(), |value| value.to_string());
        writeln!(out, "{:<10} {}", "", values.iter().map(text).collect::<Vec<_>>().join(" "))?;
    }
    Ok(())
}

fn traffic(
    out: &mut impl Write,
    statistics: &Statistics,
    port: &str,
    direction: &str,
    verb: &str,
    latency: &str,
) -> Result<(), Failure> {
    let get = |what: &str| statistics.get(&format!("{port}.{direction}.{what}"));
    let (Some(bytes), Some(bursts)) = (get("bytes"), get("bursts")) else { return Ok(()) };
    if bursts == 0 {
        return Ok(());
    }
    write!(out, "{verb:<10} {} in {} on {port}", counted(bytes, "byte"), counted(bursts, "burst"))?;
    if let (Some(least), Some(mean), Some(most)) =
        (get("latency.least"), get("latency.mean"), get("latency.most"))
    {
        let mean = counted(mean, "cycle");
        let spread = if least == most { String::new() } else { format!(" on average ({least} to {most})") };
        write!(out, ", {latency} {mean}{spread}")?;
    }
    writeln!(out, ", at most {} outstanding", get("most_outstanding").unwrap_or(0))?;
    Ok(())
}

/// The masters beside NVDLA at a port.
fn masters(statistics: &Statistics, port: &str) -> Vec<String> {
    let names = statistics.counters.iter().filter_map(|counter| {
        let master = counter.name.strip_prefix(port)?.strip_prefix('.')?.strip_suffix(".read.bursts")?;
        Some(format!("{port}.{master}"))
    });
    names.collect()
}

struct Layer {
    unit: String,
    text: String,
}

/// The layers a run consisted of, as its statistics tell.
fn layers(statistics: &Statistics) -> Vec<Layer> {
    let period = Time::ps(statistics.get("period").unwrap_or(1_000));
    let layer = |index: usize| {
        let name = statistics.text(&format!("layer.{index}"))?;
        let (unit, shape) = name.split_once(' ').unwrap_or((name, ""));
        let get = |what: &str| statistics.get(&format!("layer.{index}.{what}")).map(Time::ps);
        let span = match (get("begin"), get("end")) {
            (Some(begin), Some(end)) => format!(", {}", counted((end - begin).cycles(period), "cycle")),
            _ => ", not finished".to_owned(),
        };
        Some(Layer { unit: unit.to_uppercase(), text: format!("{shape}{span}") })
    };
    (0..).map_while(layer).collect()
}

/// Number of traces that came out in each way.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) not_compared: usize,
    pub(super) unsupported: usize,
}

impl Tally {
    pub(super) fn of(runs: &[Run]) -> Tally {
        let mut tally = Tally::default();
        for run in runs {
            *match run.verdict() {
                Judged::Passed => &mut tally.passed,
                Judged::Failed => &mut tally.failed,
                Judged::NotCompared => &mut tally.not_compared,
                Judged::Unsupported => &mut tally.unsupported,
            } += 1;
        }
        tally
    }
}

/// `45 passed, 0 failed, 3 not supported by the configuration`
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.not_compared > 0 {
            write!(f, ", {} with nothing compared", self.not_compared)?;
        }
        if self.unsupported > 0 {
            write!(f, ", {} not supported by the configuration", self.unsupported)?;
        }
        Ok(())
    }
}

/// Many traces: a line each, and the count. `left_out` were not run.
pub(super) fn many(runs: &[Run], left_out: usize) -> Result<Verdict, Failure> {
    let shown = show_many(runs, &Tally::of(runs), left_out);
    after(shown, verdict_of_all(runs, left_out) == Verdict::Right)
}

/// Returns the verdict on runs: right if something passed, or came to its end with nothing to compare, nothing failed, and
/// `left_out`, the number of those not run, is 0.
pub(super) fn verdict_of_all(runs: &[Run], left_out: usize) -> Verdict {
    let tally = Tally::of(runs);
    let is_right = tally.failed == 0 && tally.passed + tally.not_compared > 0 && left_out == 0;
    if is_right { Verdict::Right } else { Verdict::Wrong }
}

fn show_many(runs: &[Run], tally: &Tally, left_out: usize) -> Result<(), Failure> {
    let mut out = out::stdout();
    let with_rtl = runs.iter().any(|run| matches!(&run.result, Ok(ran) if ran.rtl.is_some()));
    let header =
        ["test", "platform", "cycles", "RTL", "differs", "bytes read", "written", "read latency", "result"];
    let shown = |column: usize| with_rtl || !(3..5).contains(&column);
    let header: Vec<&str> =
        header.iter().enumerate().filter(|(index, _)| shown(*index)).map(|(_, title)| *title).collect();
    let right: Vec<usize> = (2..header.len() - 1).collect();
    let mut table = text::table(&header, &right);
    for run in runs {
        let cells = cells(run);
        table.add_row(cells.into_iter().enumerate().filter(|(index, _)| shown(*index)).map(|(_, cell)| cell));
    }
    writeln!(out, "{}", table.trim_fmt())?;
    let warned = |run: &Run| {
        let of = |ran: &PlayedTrace| !ran.warnings.is_empty() || faults(&ran.statistics).next().is_some();
        matches!(&run.result, Ok(ran) if of(ran))
    };
    if tally.passed < runs.len() || runs.iter().any(warned) {
        writeln!(out)?;
        for run in runs {
            explain(&mut out, run)?;
        }
    }
    if left_out > 0 {
        writeln!(
            out,
            "{} {} not run: the server is gone",
            styled(text::RED, "error:"),
            counted(left_out as u64, "trace")
        )?;
    }
    writeln!(out, "\n{tally}")?;
    Ok(())
}

fn cells(run: &Run) -> [String; 9] {
    let mut cells: [String; 9] = Default::default();
    (cells[0], cells[1]) = (run.name.clone(), run.configuration.clone());
    cells[8] = verdict(run.verdict());
    let Ok(ran) = &run.result else { return cells };
    let get = |name: &str| ran.statistics.get(name);
    let cycles = get("nvdla.cycles");
    let or_dash = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), grouped);
    cells[1] = ran.platform.clone();
    cells[2] = or_dash(cycles);
    cells[3] = or_dash(ran.rtl);
    cells[4] = match (cycles, ran.rtl) {
        (Some(cycles), Some(rtl)) => difference(cycles, rtl),
        _ => "-".to_owned(),
    };
    let both = |what: &str| Some(get(&format!("dbb0.{what}"))? + get(&format!("sram0.{what}")).unwrap_or(0));
    cells[5] = or_dash(both("read.bytes"));
    cells[6] = or_dash(both("write.bytes"));
    cells[7] = or_dash(get("dbb0.read.latency.mean"));
    cells
}

/// Says what was wrong with a run that failed, a line for each thing, or what the platform lacks for it.
fn explain(out: &mut impl Write, run: &Run) -> Result<(), Failure> {
    let Run { name, configuration, result, .. } = run;
    let judged = run.verdict();
    match result {
        Ok(ran) => {
            if judged == Judged::Unsupported
                && let Some(first) = ran.warnings.iter().find(|warning| warning.marks.lacking)
            {
                let label = styled(text::YELLOW, format!("{}:", word(judged)));
                return Ok(writeln!(out, "{label} {name}: {first}")?);
            }
            if let Some(first) = ran.warnings.first() {
                let more = match ran.warnings.len() - 1 {
                    0 => String::new(),
                    more => format!(" ({} more)", counted(more as u64, "warning")),
                };
                writeln!(out, "{} {name}: {first}{more}", styled(text::YELLOW, "warning:"))?;
            }
            for fault in faults(&ran.statistics) {
                writeln!(out, "{name}: {fault}")?;
            }
            for failure in &ran.outcome.failures {
                // Names the script and the line itself.
                writeln!(out, "{} {failure}", label(failure))?;
            }
        }
        Err(failure) => {
            let label = match judged {
                Judged::Unsupported => styled(text::YELLOW, format!("{}:", word(judged))),
                _ => styled(text::RED, "error:"),
            };
            writeln!(out, "{label} {configuration}/{name}: {failure}")?;
        }
    }
    Ok(())
}

fn difference(cycles: u64, rtl: u64) -> String {
    let percent = 100.0 * (cycles as f64 - rtl as f64) / rtl.max(1) as f64;
    if cycles == rtl { "0 %".to_owned() } else { format!("{percent:+.2} %") }
}

fn word(judged: Judged) -> &'static str {
    match judged {
        Judged::Passed => "PASS",
        Judged::Failed => "FAIL",
        Judged::NotCompared => "nothing compared",
        Judged::Unsupported => "not supported",
    }
}

fn verdict(judged: Judged) -> String {
    let style = match judged {
        Judged::Passed => text::GREEN,
        Judged::Failed => text::RED,
        Judged::NotCompared | Judged::Unsupported => text::YELLOW,
    };
    styled(style, word(judged))
}
