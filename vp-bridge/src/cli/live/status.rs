//! `vp status`: what goes on at a server's platforms.

use super::super::record;
use super::super::{Failure, Verdict, text};
use super::LookArgs;
use crate::cli::out;
use std::io::Write;
use vp_client::native::counters::{self, count, real};
use vp_client::native::{Counter, CounterValue, PortKind};
use vp_core::Time;

#[derive(Debug, clap::Args)]
pub(in super::super) struct Args {
    #[command(flatten)]
    look: LookArgs,

    /// Print JSON in place of text: an object for each platform
    #[arg(long)]
    json: bool,
}

/// State of a platform, as far as it is known.
struct ServerStatus {
    /// Name that an observer has for the platform.
    name: String,
    standing: Vec<Counter>,
    /// Counters of what the platform's memory interfaces have done.
    traffic: Vec<Counter>,
    /// The names of these.
    interfaces: Vec<String>,
}

pub(in super::super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let LookArgs { connect, which } = &args.look;
    let names = match &which.shared {
        Some(name) => vec![name.clone()],
        None => which.platforms(connect)?,
    };
    let mut seen = Vec::new();
    for name in names {
        match look_at(args, &name) {
            Ok(platform) => seen.push(platform),
            // It has ended since it was listed.
            Err(failure) if which.shared.is_none() => out::eprintln!("{name}: {failure}"),
            Err(failure) => return Err(failure),
        }
    }
    let mut out = out::stdout();
    if args.json {
        let platform = |seen: &ServerStatus| {
            let all = [&seen.standing[..], &seen.traffic].concat();
            (seen.name.clone(), record::counters(&all))
        };
        writeln!(out, "{:#}", serde_json::Value::Object(seen.iter().map(platform).collect()))?;
        return Ok(Verdict::Right);
    }
    if seen.is_empty() {
        writeln!(out, "{connect} has no platform: one begins with its first session")?;
    }
    for platform in &seen {
        write_platform(&mut out, platform)?;
    }
    Ok(Verdict::Right)
}

fn look_at(args: &Args, name: &str) -> Result<ServerStatus, Failure> {
    let LookArgs { connect, which } = &args.look;
    let mut look = which.open(connect, Some(name.to_owned()))?;
    let standing = look.inspect().map_err(Failure::new)?;
    let interfaces: Vec<String> = look
        .ports()
        .filter(|(_, port)| port.kind == PortKind::Axi)
        .map(|(_, port)| port.name.clone())
        .collect();
    let mut traffic = Vec::new();
    for interface in &interfaces {
        traffic.extend(look.counters(&format!("{interface}.")).map_err(Failure::new)?);
    }
    Ok(ServerStatus { name: name.to_owned(), standing, traffic, interfaces })
}

fn write_platform(out: &mut impl Write, seen: &ServerStatus) -> std::io::Result<()> {
    let ServerStatus { name, standing, .. } = seen;
    let said = |name: &str| counters::text(standing, name).unwrap_or("?");
    let stopped = counters::text(standing, "stopped").map(|by| format!(", stopped by a debugger ({by})"));
    let activity = super::activity(standing);
    writeln!(out, "{name}: {}, {activity}{}", said("platform"), stopped.unwrap_or_default())?;
    let (time, wall) =
        (Time::ps(count(standing, "time").unwrap_or(0)), real(standing, "wall").unwrap_or(0.0));
    let simulated = time.as_ps() as f64 * 1e-12;
    let ratio = if wall > 0.0 { simulated / wall } else { 0.0 };
    writeln!(
        out,
        "  time       {time} simulated in {} of wall clock ({ratio:.3e}), {}",
        seconds(wall),
        said("time.mode")
    )?;
    let sessions = standing.iter().filter_map(|counter| {
        let number = counter.name.strip_prefix("session.")?;
        (!number.contains('.')).then_some((number, counter))
    });
    for (number, counter) in sessions {
        let of = |what: &str| counters::text(standing, &format!("session.{number}.{what}"));
        let mut line = shown(&counter.value);
        for agent in [of("agent"), of("token")].into_iter().flatten() {
            line += &format!(", {agent}");
        }
        let since = real(standing, &format!("session.{number}.since")).unwrap_or(0.0);
        line += &format!(", for {}", seconds(since));
        line += &of("observer").map_or_else(String::new, |observer| format!(": {observer}"));
        line += &of("waits").map_or_else(String::new, |waits| format!(": waits for {waits}"));
        if let Some(owes) = count(standing, &format!("session.{number}.owes")) {
            line += &format!("; owes the platform {}", text::counted(owes, "answer"));
        }
        writeln!(out, "  session    {line}")?;
    }
    for counter in standing {
        let (label, name) = match counter.name.split_once('.') {
            Some(("port", name)) => ("port", name),
            Some(("unit", name)) => ("unit", name),
            Some(("line", name)) => ("line", name),
            _ => continue,
        };
        let state = match (label, &counter.value) {
            ("line", CounterValue::Count(level)) => super::line(standing, *level),
            ("port", CounterValue::Text(holders)) if holders.is_empty() => "free".to_owned(),
            (_, value) => shown(value),
        };
        writeln!(out, "  {label:<10} {name:<10} {state}")?;
    }
    if let Some(unfinished) = counters::text(standing, "unfinished") {
        writeln!(out, "  unfinished {}", unfinished.replace("; ", "\n             "))?;
    }
    write_traffic(out, seen, time)
}

fn write_traffic(out: &mut impl Write, seen: &ServerStatus, time: Time) -> std::io::Result<()> {
    let period = count(&seen.standing, "period").unwrap_or(1).max(1);
    for interface in &seen.interfaces {
        for direction in ["read", "write"] {
            let of = |what: &str| count(&seen.traffic, &format!("{interface}.{direction}.{what}"));
            let Some(bytes) = of("bytes").filter(|bytes| *bytes > 0) else { continue };
            let a_cycle = bytes as f64 / (time.as_ps() as f64 / period as f64).max(1.0);
            let a_second = bytes as f64 / (time.as_ps() as f64 * 1e-12).max(1e-12);
            let mut line = format!(
                "{} bytes, {a_cycle:.3} a cycle ({:.3} GB/s simulated)",
                text::grouped(bytes),
                a_second * 1e-9
            );
            if let (Some(half), Some(most)) = (of("latency.p50"), of("latency.p99")) {
                let [half, most] = [half, most].map(text::grouped);
                line += &format!(", latency {half} cycles, 99 % within {most}");
            }
            writeln!(out, "  {direction:<10} {interface:<10} {line}")?;
        }
    }
    Ok(())
}

fn shown(value: &CounterValue) -> String {
    match value {
        CounterValue::Count(count) => text::grouped(*count),
        CounterValue::Real(real) => format!("{real:.3}"),
        CounterValue::Text(text) => text.clone(),
    }
}

fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.2} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
