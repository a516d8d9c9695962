//! Text on what memories with a time of their own did, for people.

use crate::cli::text::{counted, grouped};
use std::io::{Result, Write};
use vp_host::{Memory, Statistics};

/// Writes a line for each cache, SRAM and DRAM channel behind the memory ports, if it did anything.
pub(in crate::cli) fn show(out: &mut impl Write, statistics: &Statistics) -> Result<()> {
    let ports = [Memory::Primary, Memory::Secondary].map(Memory::port);
    ports.iter().flat_map(|port| lines(statistics, port)).try_for_each(|line| writeln!(out, "{line}"))
}

/// A line for each cache, SRAM and DRAM channel behind a port.
pub(in crate::cli) fn lines(statistics: &Statistics, port: &str) -> Vec<String> {
    let count = |part: &str, what: &str| statistics.get(&format!("{port}.{part}.{what}")).unwrap_or(0);
    let share = |of: u64, all: u64| format!("{:.0} %", 100.0 * of as f64 / all.max(1) as f64);
    let mut lines = Vec::new();
    let cache = |what: &str| count("cache", what);
    let found = cache("hit") + cache("hit_under_miss");
    if found + cache("miss") > 0 {
        let all = found + cache("miss");
        lines.push(format!(
            "{:<10} {} of {port}, {} found ({}), {} written back",
            "cache",
            counted(all, "request"),
            grouped(found),
            share(found, all),
            grouped(cache("writeback")),
        ));
    }
    let (free, conflict) = (count("sram", "bank_free"), count("sram", "bank_conflict"));
    if free + conflict > 0 {
        let waited = share(conflict, free + conflict);
        lines.push(format!(
            "{:<10} {} of {port}, {waited} waited for their bank",
            "sram",
            counted(free + conflict, "word")
        ));
    }
    for channel in 0..channels(statistics, port) {
        let name = format!("dram{channel}");
        let of = |what: &str| count(&name, what);
        let all = of("row_hit") + of("row_miss") + of("row_conflict");
        if all == 0 {
            continue;
        }
        lines.push(format!(
            "{name:<10} {} of {port}, {} row hits ({}), {} rows opened, {} of them in place of another, refreshed {}",
            counted(all, "burst"),
            grouped(of("row_hit")),
            share(of("row_hit"), all),
            grouped(of("command.ACT")),
            grouped(of("row_conflict")),
            counted(of("command.REF") + of("command.REFB"), "time"),
        ));
    }
    lines
}

/// Returns the number of DRAM channels behind a port that have counted anything.
fn channels(statistics: &Statistics, port: &str) -> u32 {
    let prefix = format!("{port}.dram");
    let number = |name: &str| name.strip_prefix(&prefix)?.split_once('.')?.0.parse::<u32>().ok();
    let numbers = statistics.counters.iter().filter_map(|counter| number(&counter.name));
    numbers.max().map_or(0, |last| last.saturating_add(1))
}
