//! `vp memory replay`: requests of a trace, played into a memory without a device.

use super::{MemoryArgs, MemoryName, gigabytes, headline};
use crate::cli::record::{self, Record};
use crate::cli::text::{counted, grouped, table};
use crate::cli::{Failure, Verdict, observing, out, standard};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use vp_core::Time;
use vp_host::Statistics;
use vp_models::bounded_file::{open_unpacked, read_line_at_most};
use vp_models::memory::{
    CommandForm, MemoryFormula, MemoryRequest, Played, PlayedRequests, Replay, RequestForm, RequestReader,
};
use vp_observers::{CommandFile, Finished};

/// Longest line of a trace.
const MOST_LINE: u64 = 4096;

/// Requests under way at a memory without a queue of its own, of a trace without clocks.
const OUTSTANDING: usize = 16;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Trace of requests, or - for standard input
    #[arg(value_name = "TRACE")]
    trace: PathBuf,

    #[command(flatten)]
    chosen: MemoryArgs,

    /// Memory that the requests are for; addresses count from its first byte
    #[arg(long, value_enum, default_value_t = MemoryName::Dbb0)]
    memory: MemoryName,

    /// Requests under way at most [default: as many as the memory has room for]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    outstanding: Option<u32>,

    /// Make requests as fast as the memory takes them, whatever clocks the trace has; latencies count from when each could be made
    #[arg(long)]
    ignore_clocks: bool,

    /// Write each command that the DRAM is given, with its clock and place
    #[arg(long, value_name = "FILE", value_parser = standard::named())]
    commands: Option<PathBuf>,

    /// Form of --commands: vp (CSV), ramulator (as its CmdTraceRecorder writes it) or dramsim3 (as its command trace)
    #[arg(long, value_name = "FORM", default_value_t, value_parser = observing::command_form, requires = "commands")]
    commands_form: CommandForm,

    /// Print JSON in place of text
    #[arg(long)]
    json: bool,
}

/// The requests of a trace: its lines, as they are wanted. What is wrong with one ends them.
struct Requests {
    lines: Box<dyn BufRead>,
    reader: RequestReader,
    number: u64,
    text: String,
    wrong: Rc<RefCell<Option<String>>>,
}

impl Requests {
    fn next_request(&mut self) -> Result<Option<MemoryRequest>, String> {
        loop {
            self.number += 1;
            let of_line = |error: &dyn std::fmt::Display| format!("{}: {error}", self.number);
            if read_line_at_most(&mut self.lines, MOST_LINE, &mut self.text)
                .map_err(|error| of_line(&error))?
                == 0
            {
                return Ok(None);
            }
            if let Some(request) = self.reader.read(&self.text).map_err(|error| of_line(&error))? {
                return Ok(Some(request));
            }
        }
    }
}

impl Iterator for Requests {
    type Item = MemoryRequest;

    fn next(&mut self) -> Option<MemoryRequest> {
        if self.wrong.borrow().is_some() {
            return None;
        }
        self.next_request().unwrap_or_else(|why| {
            *self.wrong.borrow_mut() = Some(why);
            None
        })
    }
}

fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if standard::is_standard(path) {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    open_unpacked(path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let description = args.chosen.description(None)?;
    let memory = args.memory.name();
    let described = args.memory.of(&description);
    let formula = MemoryFormula::of(&description, memory).map_err(Failure::new)?;
    let replay = Replay::of(&description, memory).map_err(Failure::new)?.with_events();
    let reader =
        RequestReader::new(replay.request_bytes(), described.model.dram.as_ref()).map_err(Failure::new)?;
    let wrong: Rc<RefCell<Option<String>>> = Rc::default();
    let (lines, text) = (open(&args.trace)?, String::new());
    let mut requests = Requests { lines, reader, number: 0, text, wrong: wrong.clone() };
    let path = args.trace.display();
    let refuse = || match wrong.take() {
        Some(why) => Err(Failure::new(format!("{path}:{why}"))),
        None => Ok(()),
    };
    // The first one tells the form, and so whether there are clocks.
    let first = requests.next();
    refuse()?;
    let (Some(first), Some(form)) = (first, requests.reader.form()) else {
        let hint = format!("a line is, for example, `{}`", RequestForm::Vp.line());
        return Err(Failure::new(format!("{path}: there is no request in it")).hint(hint));
    };
    let requests = std::iter::once(first).chain(requests);
    let observers = match &args.commands {
        Some(path) => {
            let file = CommandFile { path: path.clone(), form: args.commands_form };
            Some(file.attach(&replay.sim(), &description).map_err(Failure::new)?)
        }
        None => None,
    };
    let outstanding = args.outstanding.map(|most| most as usize);
    let played = match form.has_clocks() && !args.ignore_clocks {
        true => replay.play(requests, outstanding),
        false => {
            let has_queues = described.model.dram.is_some();
            let requests = replay.as_taken(requests);
            replay.play(requests, outstanding.or((!has_queues).then_some(OUTSTANDING)))
        }
    };
    refuse()?;
    if let Some(observers) = observers {
        let Finished { errors, .. } = observers.finish();
        if let Some(error) = errors.into_iter().next() {
            return Err(Failure::new(error));
        }
    }
    if args.json {
        record::print(&json(&played, &formula, form))?;
    } else {
        let mut out = out::stdout();
        writeln!(out, "{}", headline(&description, args.memory, &formula))?;
        show(&mut out, &played, &formula, memory)?;
    }
    Ok(Verdict::Right)
}

/// A time in clocks and nanoseconds: `37.0 clocks (30.8 ns)`.
fn clocks(time: Time, clock: Time) -> String {
    let of = |unit: f64| time.as_ps() as f64 / unit;
    format!("{:.1} clocks ({:.1} ns)", of(clock.as_ps() as f64), of(1e3))
}

/// Says how long requests took.
fn latencies(of: &PlayedRequests, clock: Time) -> Option<String> {
    let shown = |time| clocks(time, clock);
    Some(format!(
        "{} on average, half at most {}, 99 % at most {}, the longest {}",
        shown(of.latency_mean()?),
        shown(of.latency_quantile(0.5)?),
        shown(of.latency_quantile(0.99)?),
        shown(of.latency_max)
    ))
}

/// Sum of the counters whose names are a DRAM's channel and this.
fn sum(statistics: &Statistics, memory: &str, what: &str) -> u64 {
    channels(statistics, memory)
        .iter()
        .filter_map(|channel| statistics.get(&format!("{channel}.{what}")))
        .sum()
}

/// Names of the DRAM's channels that have counted anything, such as `dbb0.dram0`.
fn channels(statistics: &Statistics, memory: &str) -> Vec<String> {
    let before = format!("{memory}.dram");
    let number = |name: &str| name.strip_prefix(&before)?.split_once('.')?.0.parse::<u32>().ok();
    let numbers = statistics.counters.iter().filter_map(|counter| number(&counter.name));
    let numbers: std::collections::BTreeSet<u32> = numbers.collect();
    numbers.into_iter().map(|number| format!("{before}{number}")).collect()
}

fn show(out: &mut impl Write, played: &Played, formula: &MemoryFormula, memory: &str) -> Result<(), Failure> {
    let Played { reads, writes, clock, end, statistics, .. } = played;
    let of = |what: &str, of: &PlayedRequests| {
        format!("{} of {}", counted(of.bursts, what), counted(of.bytes, "byte"))
    };
    writeln!(out, "requests   {}, {}", of("read", reads), of("write", writes))?;
    writeln!(out, "time       {}, {end}", counted(end.as_ps().div_ceil(clock.as_ps()), "clock"))?;
    let rate = played.rate();
    let share = formula
        .peak
        .map_or_else(String::new, |peak| format!(", {:.1} % of what it can move", 100.0 * rate / peak));
    writeln!(out, "rate       {}{share}", gigabytes(rate))?;
    if let Some(text) = latencies(reads, *clock) {
        writeln!(out, "reads      {text}")?;
    }
    if let Some(text) = latencies(writes, *clock) {
        writeln!(out, "writes     accepted after {text}")?;
    }
    for line in super::lines(statistics, memory).iter().filter(|line| !line.starts_with("dram")) {
        writeln!(out, "{line}")?;
    }
    if channels(statistics, memory).is_empty() {
        return Ok(());
    }
    let all = |what: &str| sum(statistics, memory, what);
    let (hit, miss, conflict) = (all("row_hit"), all("row_miss"), all("row_conflict"));
    let percent =
        |count: u64| format!("{:.1} %", 100.0 * count as f64 / (hit + miss + conflict).max(1) as f64);
    writeln!(
        out,
        "rows       {} ({}), {} of a closed bank ({}), {} of another row ({})",
        counted(hit, "hit"),
        percent(hit),
        grouped(miss),
        percent(miss),
        grouped(conflict),
        percent(conflict)
    )?;
    let extra = [("merged", "merged into another's burst"), ("forwarded", "answered from a waiting write")];
    let extra = extra.into_iter().map(|(what, text)| (all(what), text)).filter(|(count, _)| *count > 0);
    let extra: Vec<String> = extra.map(|(count, text)| format!("{} {text}", grouped(count))).collect();
    if !extra.is_empty() {
        writeln!(out, "accesses   {}", extra.join(", "))?;
    }
    let commands: Vec<String> = commands(statistics, memory)
        .iter()
        .map(|(name, count)| format!("{name} {}", grouped(*count)))
        .collect();
    writeln!(out, "commands   {}", commands.join(", "))?;
    let channels = channels(statistics, memory);
    for channel in &channels {
        let of = |(queue, what): (&str, &str)| {
            let count = |which: &str| statistics.get(&format!("{channel}.{queue}_queue.{which}"));
            Some(format!(
                "{} {what} wait on average, {} at most",
                grouped(count("mean")?),
                grouped(count("most")?)
            ))
        };
        let waiting = [("read", "reads"), ("write", "writes")].into_iter().filter_map(of).collect::<Vec<_>>();
        let short = channel.rsplit('.').next().unwrap_or(channel);
        writeln!(out, "queues     {short}: {}", waiting.join("; "))?;
    }
    let mut banks = table(&["bank", "accesses", "hits", "read latency"], &[1, 2, 3]);
    for bank in banks_of(statistics, &channels) {
        let latency = bank.latency.map_or_else(String::new, |cycles| counted(cycles, "cycle"));
        let hits = 100.0 * bank.hits as f64 / bank.accesses.max(1) as f64;
        banks.add_row([bank.name, grouped(bank.accesses), format!("{hits:.1} %"), latency]);
    }
    writeln!(out, "\n{}", banks.trim_fmt())?;
    Ok(())
}

/// Commands that were given, by their names, most frequent first.
fn commands(statistics: &Statistics, memory: &str) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for channel in channels(statistics, memory) {
        let before = format!("{channel}.command.");
        for counter in &statistics.counters {
            if let Some(name) = counter.name.strip_prefix(&before) {
                *counts.entry(name.to_owned()).or_default() += statistics.get(&counter.name).unwrap_or(0);
            }
        }
    }
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// Figures of a bank.
struct BankFigures {
    /// Channel and bank: `dram0.bank5`.
    name: String,
    accesses: u64,
    hits: u64,
    /// Mean latency of its reads in cycles of the platform.
    latency: Option<u64>,
}

/// The banks that were accessed, in their order.
fn banks_of(statistics: &Statistics, channels: &[String]) -> Vec<BankFigures> {
    let mut banks = Vec::new();
    for channel in channels {
        let before = format!("{channel}.bank");
        let number = |name: &str| name.strip_prefix(&before)?.split_once('.')?.0.parse::<u32>().ok();
        let numbers = statistics.counters.iter().filter_map(|counter| number(&counter.name));
        let numbers: std::collections::BTreeSet<u32> = numbers.collect();
        for bank in numbers {
            let count = |what: &str| statistics.get(&format!("{before}{bank}.{what}"));
            let found = ["row_hit", "row_miss", "row_conflict"].map(|what| count(what).unwrap_or(0));
            let short = channel.rsplit('.').next().unwrap_or(channel);
            banks.push(BankFigures {
                name: format!("{short}.bank{bank}"),
                accesses: found.iter().sum(),
                hits: found[0],
                latency: count("read.latency.mean"),
            });
        }
    }
    banks
}

fn json(played: &Played, formula: &MemoryFormula, form: RequestForm) -> Record {
    let Played { reads, writes, clock, end, statistics, .. } = played;
    let ns = |time: Option<Time>| time.map(|time| time.as_ps() as f64 / 1e3);
    let of = |of: &PlayedRequests| {
        Record::default()
            .with("requests", of.bursts)
            .with("bytes", of.bytes)
            .with("latency_mean_ns", ns(of.latency_mean()))
            .with("latency_least_ns", ns(of.latency_min))
            .with("latency_p50_ns", ns(of.latency_quantile(0.5)))
            .with("latency_p99_ns", ns(of.latency_quantile(0.99)))
            .with("latency_most_ns", ns(of.latency_mean().map(|_| of.latency_max)))
    };
    Record::default()
        .with("form", form.to_string())
        .with("clock_ps", clock.as_ps())
        .with("time_ps", end.as_ps())
        .with("clocks", end.as_ps().div_ceil(clock.as_ps()))
        .with("bytes_per_second", played.rate())
        .with("peak_bytes_per_second", formula.peak)
        .with("unloaded_ns", ns(formula.unloaded))
        .with("reads", of(reads))
        .with("writes", of(writes))
        .with("counters", record::counters(&statistics.counters))
}
