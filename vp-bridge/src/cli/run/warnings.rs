//! Events of a run, beside its layers: warnings, and faults that were armed.

use crate::cli::text::{self, styled};
use crate::cli::{Failure, terminal};
use std::fmt;
use std::io::Write;
use vp_host::trace::{Body, Trace};
use vp_host::{Host, Statistics, Warning};
use vp_models::nvdla::registers::RegisterMap;

/// The faults that were armed: what each is, and what it has done.
pub(super) fn show_faults(out: &mut impl Write, statistics: &Statistics) -> Result<(), Failure> {
    for line in faults(statistics) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

pub(super) fn faults(statistics: &Statistics) -> impl Iterator<Item = String> {
    (1..).map_while(|number| {
        let text = statistics.text(&format!("fault.{number}"))?;
        Some(format!("{:<10} {text}", format!("fault {number}")))
    })
}

/// The first warnings, and how many more there are.
pub(in crate::cli) fn warn(out: &mut impl Write, warnings: &[Warning]) -> Result<(), Failure> {
    for warning in lines(warnings) {
        writeln!(out, "{warning}")?;
    }
    Ok(())
}

/// The first warnings, and how many more there are, a line each.
fn lines(warnings: &[Warning]) -> impl Iterator<Item = String> {
    let most = if terminal::is_verbose() { usize::MAX } else { 8 };
    // What faults do is listed apart.
    let warnings: Vec<&Warning> =
        warnings.iter().filter(|warning| !warning.text.starts_with("faults: ")).collect();
    let more = warnings.len().saturating_sub(most);
    let more = (more > 0).then(|| format!("{more} more like these (-v shows all)"));
    let lines = warnings.into_iter().take(most).map(ToString::to_string).chain(more);
    let lines: Vec<String> = lines.collect();
    lines.into_iter().map(|line| format!("{} {line}", styled(text::YELLOW, "warning:")))
}

/// The warnings of a trace's run. A script of addresses is for one register map: where it fits another one, the advice is for who runs it.
pub(super) fn of_trace(trace: &Trace, host: &mut dyn Host) -> Vec<Warning> {
    let mut warnings = host.warnings();
    let has_addresses = matches!(trace.body(), Body::Txn { .. } | Body::Recording { .. } | Body::ScLog(_));
    for warning in warnings.iter_mut().filter(|_| has_addresses) {
        let others = warning.other_maps();
        if !others.is_empty() {
            let named = |prefix: &str| {
                others.iter().map(|map| format!("{prefix}{map}")).collect::<Vec<_>>().join(" or ")
            };
            let (name, maps, options) = (trace.name(), named(""), named("--platform "));
            warning.text.push_str(&format!("; if {name} is written for {maps}, run it with {options}"));
        }
    }
    warnings
}

/// Says in which of two ways the addresses of a script are taken, if both are possible.
pub(super) fn of_addresses(trace: &Trace, map: RegisterMap) -> Option<String> {
    let Body::Txn { doubtful: Some(address), .. } = *trace.body() else { return None };
    let name = |bytes| map.at(bytes).map_or_else(|| "no register".to_owned(), |located| located.to_string());
    let (bytes, words) = (name(address), name(address << 2));
    Some(format!(
        "{}: register addresses are taken for byte addresses, as all are multiples of 4: {address:#x} is {bytes}, and would be {words} if \
         words were counted; what counts words has 0xffff in front, {:#x}",
        trace.name(),
        0xffff_0000 | address
    ))
}

/// Says why a program could not be run to its end, and what happened until then: warnings, and faults that were injected.
pub(super) fn with_warnings(error: &dyn fmt::Display, trace: Option<&Trace>, host: &mut dyn Host) -> String {
    // Where there is no way to a server any more, there is nothing to be said of faults.
    let statistics = host.statistics().unwrap_or_default();
    // Of a server they may come behind the answer that tells of the error: now they are here.
    let warnings = match trace {
        Some(trace) => of_trace(trace, host),
        None => host.warnings(),
    };
    let happened = lines(&warnings).chain(faults(&statistics));
    std::iter::once(error.to_string()).chain(happened).collect::<Vec<_>>().join("\n")
}
