//! `vp stats`: the counters of a platform that runs.

use super::super::record;
use super::super::{Failure, Verdict, text};
use super::{LookArgs, ObserverSession};
use crate::cli::out;
use std::io::Write;
use std::time::{Duration, Instant};
use vp_client::native::{Counter, CounterValue, counters};
use vp_models::counters::explanation;

#[derive(Debug, clap::Args)]
pub(in super::super) struct Args {
    /// Beginning of the names to show, such as `dbb0.read`; all counters if left out
    #[arg(default_value = "", hide_default_value = true)]
    prefix: String,

    #[command(flatten)]
    look: LookArgs,

    /// Seconds after which to show them again, with the increase of each counter, until the platform ends
    #[arg(long, value_name = "SECONDS", value_parser = interval)]
    watch: Option<Duration>,

    /// Print JSON in place of text: one object, and with --watch one in each line
    #[arg(long)]
    json: bool,

    /// Show what each counter counts
    #[arg(long, conflicts_with = "json")]
    explain: bool,
}

fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.01..=86_400.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("`{text}`: 0.01 to 86400 seconds"))
}

pub(in super::super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let mut look = args.look.which.look(&args.look.connect)?;
    let mut before = read(&mut look, args)?;
    if before.is_empty() && args.watch.is_none() {
        return Err(Failure::new(format!("no counter whose name begins with `{}` has counted", args.prefix))
            .hint("without a name all are shown; those of layers are there once one has run"));
    }
    show(args, &before, &[])?;
    let Some(interval) = args.watch else { return Ok(Verdict::Right) };
    loop {
        // Served meanwhile, so that the end of the platform is not found out late.
        let until = Instant::now() + interval;
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            std::thread::sleep(left.min(Duration::from_millis(200)));
            if look.progress().is_err() {
                break;
            }
        }
        if look.check().is_err() && look.bye().is_some() {
            out::eprintln!("{}", look.bye().map_or("", |bye| &bye.reason));
            return Ok(Verdict::Right);
        }
        let now = read(&mut look, args)?;
        show(args, &now, &before)?;
        before = now;
    }
}

fn read(look: &mut ObserverSession, args: &Args) -> Result<Vec<Counter>, Failure> {
    look.counters(&args.prefix).map_err(Failure::new)
}

fn show(args: &Args, counters: &[Counter], before: &[Counter]) -> Result<(), Failure> {
    let mut out = out::stdout();
    if args.json {
        match args.watch {
            None => writeln!(out, "{:#}", record::counters(counters))?,
            Some(_) => writeln!(out, "{}", record::counters(counters))?,
        }
        return Ok(out.flush()?);
    }
    // It is many lines, and `vp platform` shows it.
    let shown = counters.iter().filter(|counter| counter.name != "platform.description");
    for counter in shown {
        let Counter { name, unit, value } = counter;
        let line = match value {
            CounterValue::Count(count) => {
                let more = counters::count(before, name).map_or(0, |before| count.saturating_sub(before));
                let more = if more > 0 { format!("  +{}", text::grouped(more)) } else { String::new() };
                format!("{:>20} {unit:<11}{more}", text::grouped(*count))
            }
            CounterValue::Real(real) => format!("{real:>20.3} {unit}"),
            CounterValue::Text(text) => format!("  {text}"),
        };
        writeln!(out, "{name:<32} {}", line.trim_end())?;
        if args.explain {
            let explained =
                explanation(name).unwrap_or("of a server that knows more counters than this program");
            writeln!(out, "    {}", text::styled(text::DIM, explained))?;
        }
    }
    if args.watch.is_some() {
        writeln!(out)?;
    }
    Ok(out.flush()?)
}
