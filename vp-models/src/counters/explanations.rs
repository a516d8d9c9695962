//! Explanations of the counters: the one table, from which `docs/counters.md` is made.

use std::fmt::Write as _;

/// A counter, or all that are counted in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explanation {
    /// Name of the counter. `{port}` stands for a memory interface or what is behind one, such as `dbb0` and `dbb0.cpu`; `{n}` for a
    /// number; `{unit}` for the name of a unit.
    pub name: &'static str,
    /// Unit in which it counts; empty for a text.
    pub unit: &'static str,
    /// Sentence that says what it counts.
    pub counts: &'static str,
}

macro_rules! explanations {
    ($($name:literal [$unit:literal] $counts:literal;)+) => {
        /// All counters that there are, in the order of reports.
        pub const EXPLANATIONS: &[Explanation] =
            &[$(Explanation { name: $name, unit: $unit, counts: $counts }),+];
    };
}

explanations! {
    "platform" [""] "The name of the platform's description.";
    "platform.description" [""] "The description, as TOML.";
    "time" ["ps"] "Simulated time.";
    "period" ["ps"] "One cycle of the clock.";
    "events.hash" [""] "A hash of all that was observed, in its order: equal for two runs that went the same way.";
    "events" ["events"] "What was observed, and is in the hash.";
    "kernel.activations" ["activations"] "How often the kernel has let a process run: what a run costs the host.";
    "warnings" ["warnings"] "Warnings that the models have reported, told to people or summed up.";
    "nvdla.enabled" ["ps"] "When the first write that enabled a layer was accepted on the register bus.";
    "nvdla.done" ["ps"] "When the last interrupt of a layer's end was raised, of those that are not masked if there is one.";
    "nvdla.cycles" ["cycles"] "From the one to the other: how long the device took.";
    "nvdla.cycles.until" [""] "What the end of `nvdla.cycles` is, of a device outside, whose inside is not seen.";
    "fpga_ai_suite.hash" [""] "The hash of the architecture, which the discovery ROM shows and a compiled graph must have.";
    "fpga_ai_suite.requests" ["requests"] "Descriptors that were queued.";
    "fpga_ai_suite.jobs" ["jobs"] "Jobs that were begun.";
    "fpga_ai_suite.complete" ["jobs"] "Jobs that ended with their output.";
    "fpga_ai_suite.failed" ["jobs"] "Jobs that ended without.";
    "fpga_ai_suite.interrupts" ["interrupts"] "Interrupts that have arisen: set while unmasked, or unmasked while set.";
    "fpga_ai_suite.active" ["cycles"] "Cycles in which a job was active.";
    "fpga_ai_suite.active_jobs" ["cycles"] "The same, summed over the jobs.";
    "fpga_ai_suite.input" ["words"] "Words of features that were read.";
    "fpga_ai_suite.filters" ["words"] "Words of filters that were read.";
    "fpga_ai_suite.output" ["words"] "Words of features that were written.";
    "layer.{n}" [""] "A layer or job that ran, counted from 0: its unit, its shape, and its register group or number.";
    "layer.{n}.begin" ["ps"] "When it began.";
    "layer.{n}.end" ["ps"] "When its interrupt came; not there while it runs.";
    "unit.{unit}.layers" ["layers"] "Layers that the unit began.";
    "unit.{unit}.busy" ["ps"] "How long it had one.";
    "{port}.read.bursts" ["bursts"] "Bursts that were read, as the address channel had them.";
    "{port}.read.bytes" ["bytes"] "Bytes that they asked for.";
    "{port}.read.most_outstanding" ["bursts"] "The most that were in flight at the end of a cycle.";
    "{port}.read.id{n}.bursts" ["bursts"] "Those with this transaction id, which is the client's.";
    "{port}.read.latency.least" ["cycles"] "The shortest time from a request to its first data.";
    "{port}.read.latency.mean" ["cycles"] "The mean of that time over all bursts that have ended.";
    "{port}.read.latency.most" ["cycles"] "The longest.";
    "{port}.read.latency.p50" ["cycles"] "Half of the bursts took no longer; to three digits, as the next two.";
    "{port}.read.latency.p90" ["cycles"] "90 % of them took no longer.";
    "{port}.read.latency.p99" ["cycles"] "99 % of them took no longer.";
    "{port}.write.bursts" ["bursts"] "Bursts that were written, as the address channel had them.";
    "{port}.write.bytes" ["bytes"] "Bytes of their beats.";
    "{port}.write.most_outstanding" ["bursts"] "The most that were in flight at the end of a cycle.";
    "{port}.write.id{n}.bursts" ["bursts"] "Those with this transaction id, which is the client's.";
    "{port}.write.latency.least" ["cycles"] "The shortest time from a request to its acknowledgement.";
    "{port}.write.latency.mean" ["cycles"] "The mean of that time over all bursts that have ended.";
    "{port}.write.latency.most" ["cycles"] "The longest.";
    "{port}.write.latency.p50" ["cycles"] "Half of the bursts took no longer; to three digits, as the next two.";
    "{port}.write.latency.p90" ["cycles"] "90 % of them took no longer.";
    "{port}.write.latency.p99" ["cycles"] "99 % of them took no longer.";
    "{port}.bank_free" ["times"] "An SRAM's accesses to a bank that was free.";
    "{port}.bank_conflict" ["times"] "An SRAM's accesses that waited for their bank.";
    "{port}.hit" ["times"] "Accesses to a line that the cache has.";
    "{port}.hit_under_miss" ["times"] "Accesses to a line that the cache waits for already.";
    "{port}.miss" ["times"] "Accesses to a line that the cache has to fetch.";
    "{port}.writeback" ["times"] "Lines that were written back to make room.";
    "{port}.row_hit" ["times"] "A DRAM's accesses to a row that was open.";
    "{port}.row_miss" ["times"] "A DRAM's accesses to a bank without an open row.";
    "{port}.row_conflict" ["times"] "A DRAM's accesses to a bank whose other row had to be closed.";
    "{port}.forwarded" ["times"] "Reads that were answered from a write that waits in the queue.";
    "{port}.merged" ["times"] "Accesses to a burst that waits already: one command serves them all.";
    "{port}.command.ACT" ["times"] "Commands on the DRAM's bus: a row was opened.";
    "{port}.command.RD" ["times"] "A read.";
    "{port}.command.RDA" ["times"] "A read that closes its row.";
    "{port}.command.WR" ["times"] "A write.";
    "{port}.command.WRA" ["times"] "A write that closes its row.";
    "{port}.command.PRE" ["times"] "A row was closed.";
    "{port}.command.PREA" ["times"] "All rows of a rank were closed.";
    "{port}.command.REF" ["times"] "A refresh of all banks of a rank.";
    "{port}.command.REFB" ["times"] "A refresh of one bank; of DDR5 of a bank in each group.";
    "{port}.command.CAS" ["times"] "LPDDR5's data clock was started for the read or write behind it.";
    "{port}.command.PDE" ["times"] "A rank entered power-down.";
    "{port}.command.PDX" ["times"] "A rank left power-down.";
    "{port}.command.SRE" ["times"] "A rank entered self refresh.";
    "{port}.command.SRX" ["times"] "A rank left self refresh.";
    "{port}.read_queue.mean" ["bursts"] "Bursts of the DRAM that a read found waiting in the queue of reads: the mean.";
    "{port}.read_queue.most" ["bursts"] "The most that one found.";
    "{port}.write_queue.mean" ["bursts"] "Bursts that a write found waiting in the queue of writes: the mean.";
    "{port}.write_queue.most" ["bursts"] "The most that one found.";
    "{port}.active_standby" ["clocks"] "Clocks of a DRAM's channel in which a bank was open, summed over its ranks.";
    "{port}.precharge_standby" ["clocks"] "Clocks in which none was, outside power-down.";
    "{port}.active_power_down" ["clocks"] "Clocks in power-down with an open bank.";
    "{port}.precharge_power_down" ["clocks"] "Clocks in power-down without one.";
    "{port}.self_refresh" ["clocks"] "Clocks in self refresh.";
    "{port}.bank{n}.row_hit" ["times"] "Accesses to a bank's open row; banks are numbered through the channel: ranks, in each the groups, in each its banks.";
    "{port}.bank{n}.row_miss" ["times"] "Accesses to the bank when it had no open row.";
    "{port}.bank{n}.row_conflict" ["times"] "Accesses to the bank whose other row had to be closed.";
    "{port}.bank{n}.read.latency.mean" ["cycles"] "The mean time from the arrival of a read of that bank in the queue to the end of its data.";
    "{port}.bank{n}.read.latency.p50" ["cycles"] "Half of those reads took no longer.";
    "{port}.bank{n}.read.latency.p90" ["cycles"] "90 % of them took no longer.";
    "{port}.bank{n}.read.latency.p99" ["cycles"] "99 % of them took no longer.";
    "time.mode" [""] "Who lets time move: `lockstep`, whose runs are alike, or `free`.";
}

impl Explanation {
    /// Returns true if a counter is the one, or one of those, that this explains.
    #[must_use]
    pub fn is_of(&self, counter: &str) -> bool {
        match self.name.split_once("{port}") {
            None => fits(self.name, counter),
            // A memory model's parts have dots in their names. A bank is no such part: it has sentences of its own.
            Some((_, behind)) => counter.match_indices('.').any(|(at, _)| {
                let last = counter[..at].rsplit('.').next().unwrap_or_default();
                at > 0 && !part_fits("bank{n}", last) && fits(behind, &counter[at..])
            }),
        }
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = (pattern.split('.'), name.split('.'));
    loop {
        match (parts.0.next(), parts.1.next()) {
            (None, None) => return true,
            (Some(pattern), Some(name)) if part_fits(pattern, name) => {}
            _ => return false,
        }
    }
}

fn part_fits(pattern: &str, name: &str) -> bool {
    if pattern == "{unit}" {
        return !name.is_empty();
    }
    match pattern.strip_suffix("{n}") {
        None => pattern == name,
        Some(before) => name
            .strip_prefix(before)
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())),
    }
}

/// Returns the sentence that says what a counter of that name counts.
#[must_use]
pub fn explanation(counter: &str) -> Option<&'static str> {
    EXPLANATIONS.iter().find(|it| it.is_of(counter)).map(|it| it.counts)
}

/// The page `docs/counters.md`.
#[must_use]
pub fn page() -> String {
    let mut page = "# Counters

These are the counters of `vp stats`, `vp run --json` and the request Statistics. `{port}` is a memory interface (`dbb0`, `sram0`), a master of its memory
(`dbb0.cpu`) or a part of its memory's model (`dbb0.cache`, a channel of a DRAM). All counters begin at 0 with the platform and with a reset,
except `time` and `kernel.activations`, which go on. `vp stats --explain` shows these sentences.

Made from the table in `vp-models/src/counters/explanations.rs` by `cargo run -p vp-tests --bin make-counters docs/counters.md`.

| counter | unit | what it counts |
| --- | --- | --- |
"
    .to_owned();
    for Explanation { name, unit, counts } in EXPLANATIONS {
        let _ = writeln!(page, "| `{name}` | {unit} | {counts} |");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_name_whatever_its_port_unit_or_number_is() {
        let found = |name: &str| EXPLANATIONS.iter().find(|it| it.is_of(name)).map(|it| it.name);
        assert_eq!(found("dbb0.read.bytes"), Some("{port}.read.bytes"));
        assert_eq!(found("dbb0.cpu.write.id12.bursts"), Some("{port}.write.id{n}.bursts"));
        assert_eq!(found("layer.17"), Some("layer.{n}"));
        assert_eq!(found("unit.sdp.busy"), Some("unit.{unit}.busy"));
        assert_eq!(found("dbb0.dram1.command.ACT"), Some("{port}.command.ACT"));
        for unknown in
            ["", ".ACT", "read.bytes.more", "layer.x", "layer.", "dbb0.read.idx.bursts", "unit..busy"]
        {
            assert_eq!(found(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn no_counter_is_explained_twice() {
        for (index, entry) in EXPLANATIONS.iter().enumerate() {
            let example = entry.name.replace("{port}", "dbb0").replace("{n}", "3").replace("{unit}", "sdp");
            let found: Vec<usize> =
                (0..EXPLANATIONS.len()).filter(|at| EXPLANATIONS[*at].is_of(&example)).collect();
            assert_eq!(found, [index], "{example}");
        }
    }

    #[test]
    fn the_page_is_what_is_made_of_the_table() {
        let kept = include_str!("../../../docs/counters.md");
        assert!(kept == page(), "`make-counters` of vp-tests writes docs/counters.md anew");
    }
}
