//! Plays a [`Trace`] over a [`Host`] and judges what came of it.
//!
//! A wrong CRC, a missing or an unexpected interrupt is a failure of the test: it stands in the [`Outcome`],
//! and the run goes on as far as it makes sense. What makes the run itself impossible (a register the map
//! lacks, a broken connection, a memory the platform does not have) is a [`PlayError`].
//!
//! Never spins: every poll is bounded by a count, every wait by the host.

use std::fmt;
use std::path::{Path, PathBuf};
use vp_core::Time;

use thiserror::Error;

use super::error::{TraceError, TraceErrorKind};
use super::txn::Relation;
use super::{Body, RegisterNames, Trace};
use crate::loadable::{Execution, FrameDifference, RunError};
use crate::{Host, HostError, Memory};
use vp_models::nvdla::glb::Interrupt;
use vp_models::nvdla::registers::{RegisterMap, Unit, glb};

mod cfg;
mod golden;
mod loadable;
mod log;
mod memory;
mod recording;
mod sc_log;
mod txn;

/// Most interrupts that are waited for behind the end of a script.
const MAX_LATE_INTERRUPTS: usize = 1000;
/// Fields of a register that are told one by one.
const FEW_FIELDS: usize = 4;

/// Settings for playing a trace where the trace itself does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayOptions {
    /// Most reads of one `poll_reg_equal`.
    pub poll_reads: u32,
    /// Reads that may follow the first of a `read_reg` without a plusarg.
    pub read_retries: u32,
    /// Seed of the bytes that `mem_init` draws for RANDOM and X.
    pub seed: u64,
    /// Times that a loadable runs, one after the other without a reset; at least one.
    pub frames: u32,
}

impl Default for PlayOptions {
    /// 100 000 polls, 100 retries (the most of the vendor's players), seed 1, one frame.
    fn default() -> Self {
        Self { poll_reads: 100_000, read_retries: 100, seed: 1, frames: 1 }
    }
}

/// Result of playing a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The trace's name.
    pub name: String,
    /// Checks that found what they expected: CRCs, files, events, register reads.
    pub checks_passed: usize,
    /// The regions whose CRC was taken, right or wrong.
    pub sums: Vec<Sum>,
    /// Result that a recording's last layer left, right or wrong, if it is known what it should leave.
    pub result: Option<Left>,
    /// Result of a loadable, if it ran to its end.
    pub execution: Option<Execution>,
    /// Everything that was not as it should be, in the order it was found.
    pub failures: Vec<Failure>,
    /// The interrupts that came.
    pub interrupts: Vec<SeenInterrupt>,
    /// Register writes made, the player's own to S_INTR_STATUS included.
    pub register_writes: u64,
    /// Register reads made, polls and the player's own included.
    pub register_reads: u64,
    /// Simulated time at the first command.
    pub start: Time,
    /// Simulated time after the last command.
    pub finish: Time,
}

/// A region of memory and what its CRC was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The memory.
    pub memory: Memory,
    /// First byte.
    pub base: u64,
    /// Number of bytes.
    pub size: u64,
    /// CRC-32, as zlib computes it.
    pub crc: u32,
}

/// Result of the last layer of a recording, and what it was compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The file that says what it should be.
    pub golden: PathBuf,
    /// First byte in the primary memory.
    pub base: u64,
    /// Number of elements compared.
    pub elements: usize,
    /// The elements, where they are few enough to be told one by one; none for what is no number.
    pub values: Vec<Option<i64>>,
}

impl Outcome {
    /// Returns true if every check passed, every declared interrupt came and no other.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }
}

/// The interrupt line was high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenInterrupt {
    /// Interrupt of the status bit; none where the script reads the status itself (`.txn`), or no source has that bit.
    pub interrupt: Option<Interrupt>,
    /// Simulated time at which the player saw it, in picoseconds.
    pub time: Time,
}

/// One thing that was not as it should be. Displays as one line, `file:line: what`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The script.
    pub file: PathBuf,
    /// The line that asked for it; none for what no line asked for.
    pub line: Option<u32>,
    /// Kind of failure.
    pub kind: FailureKind,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file.display(), self.kind),
            None => write!(f, "{}: {}", self.file.display(), self.kind),
        }
    }
}

impl FailureKind {
    /// Returns true if memory holds something else, and nothing more is wrong.
    #[must_use]
    pub fn is_of_memory(&self) -> bool {
        matches!(self, FailureKind::Crc { .. } | FailureKind::Bytes { .. } | FailureKind::Values { .. })
    }

    /// Returns true if a loadable does not fit the platform, and fits another one.
    #[must_use]
    pub fn is_of_platform(&self) -> bool {
        matches!(self, FailureKind::Loadable(RunError::Unfit { fitting, .. }) if !fitting.is_empty())
    }
}

/// Kind of failure: what was not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FailureKind {
    /// `check_crc`.
    #[error(
        "CRC of {memory} memory {base:#x}, {size:#x} bytes: expected {expected:#010x}, found {actual:#010x}"
    )]
    Crc {
        /// The memory.
        memory: Memory,
        /// First byte.
        base: u64,
        /// Number of bytes.
        size: u64,
        /// The script's CRC.
        expected: u32,
        /// The memory's.
        actual: u32,
    },
    /// `check_file` or `dump_mem`.
    #[error(
        "{memory} memory differs from `{file}` in {differing} bytes, first at {address:#x}: expected {expected:#04x}, found {actual:#04x}"
    )]
    Bytes {
        /// The memory.
        memory: Memory,
        /// The file with what was expected.
        file: String,
        /// Number of bytes that differ.
        differing: u64,
        /// Address of the first.
        address: u64,
        /// Byte that should be there.
        expected: u8,
        /// Byte that is there.
        actual: u8,
    },
    /// A recording's golden that is a row of values.
    #[error("{differing} of {count} values at {base:#x} are not those of `{file}`: expected{}, found{}", list(.expected), list(.actual))]
    Values {
        /// The file with what was expected.
        file: String,
        /// First byte.
        base: u64,
        /// Number of values that differ.
        differing: usize,
        /// Number of values there are.
        count: usize,
        /// Values that should be there.
        expected: Vec<Option<i64>>,
        /// Values that are there; none for what is no number.
        actual: Vec<Option<i64>>,
    },
    /// `reg_read_check`, `poll_reg_equal` or `read_reg`.
    #[error(
        "{register} after {reads} reads: expected {relation} {expected:#x} under mask {mask:#x}, found {actual:#x}{fields}"
    )]
    Register {
        /// Name of the register, or its address where the script has no name.
        register: String,
        /// Number of times that it was read.
        reads: u64,
        /// Relation in which the value should stand to the one expected.
        relation: Relation,
        /// The value expected, before the mask.
        expected: u32,
        /// The bits that count.
        mask: u32,
        /// The last value read, before the mask.
        actual: u32,
        /// The fields that differ, for people.
        fields: String,
    },
    /// Interrupts that were declared and never came.
    #[error("{interrupts} never came: {reason}")]
    Missing {
        /// Names of the interrupts.
        interrupts: String,
        /// Reason for which the wait ended.
        reason: HostError,
    },
    /// A log of registers names another register than there is at its address.
    #[error("{address:#x} is {here} here, and not {named}: a log of another register map?")]
    OtherRegister {
        /// The byte address.
        address: u32,
        /// The name in the log.
        named: String,
        /// The register that is there.
        here: String,
    },
    /// An interrupt nobody declared, or one more than were declared.
    #[error("unexpected interrupt {interrupt} at {time}")]
    Unexpected {
        /// Name of the interrupt, or the number of its status bit.
        interrupt: String,
        /// Time at which it was seen.
        time: Time,
    },
    /// The interrupt line was high for no reason.
    #[error("interrupt line high with nothing active: S_INTR_STATUS {status:#x}, S_INTR_MASK {mask:#x}")]
    NothingActive {
        /// S_INTR_STATUS.
        status: u32,
        /// S_INTR_MASK.
        mask: u32,
    },
    /// Status bits that write 1 to clear did not clear.
    #[error("S_INTR_STATUS reads {status:#x} after clearing {cleared:#x}")]
    NotCleared {
        /// Value of S_INTR_STATUS.
        status: u32,
        /// The bits that were cleared.
        cleared: u32,
    },
    /// An event that fired a second time.
    #[error("event `{event}` fires twice")]
    FiredTwice {
        /// The event.
        event: String,
    },
    /// A check whose event did not happen.
    #[error("not checked: event `{event}` did not happen")]
    NotChecked {
        /// The event.
        event: String,
    },
    /// A command stream that did not finish.
    #[error("the stream of {block} still waits for event `{event}`")]
    Held {
        /// The block.
        block: String,
        /// The event.
        event: String,
    },
    /// A loadable that did not run to its end.
    #[error("{0}")]
    Loadable(RunError),
    /// A layer of a loadable that a unit refused, in the unit's words.
    #[error("{0}")]
    Refused(String),
    /// A loadable has not the output that a golden is of.
    #[error("`{file}` is of output {number}, and the loadable has {outputs} (counted from 0)")]
    NoOutput {
        /// The golden.
        file: String,
        /// The output's number.
        number: usize,
        /// Number of outputs.
        outputs: usize,
    },
    /// A frame of a loadable left something else than the first one.
    #[error(
        "frame {} leaves other bytes than the first one, which had the same input: {} in output {}, first at {:#x}: expected {:#04x}, found {:#04x}",
        .0.frame, .0.differing, .0.output, .0.address, .0.expected, .0.actual
    )]
    Frame(FrameDifference),
    /// `wait` ended without the interrupt.
    #[error("the interrupt never came: {0}")]
    WaitEnded(HostError),
    /// The failures before ended the run.
    #[error("run ended here: {checks} checks not made")]
    Ended {
        /// Memory checks, register checks and waits behind this line.
        checks: usize,
    },
}

fn list(values: &[Option<i64>]) -> String {
    let text = |value: &Option<i64>| value.map_or(" NaN".to_owned(), |value| format!(" {value}"));
    values.iter().map(text).collect()
}

/// Reason for which a trace could not be played to its end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlayError {
    /// A register the device's map does not have.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The platform's device is no NVDLA.
    #[error("{}: written for an NVDLA, which the platform's device is not", .script.display())]
    NoNvdla {
        /// The script.
        script: PathBuf,
    },
    /// The platform could not do what a line asked.
    #[error("{}{}: {source}", .script.display(), .line.map_or_else(String::new, |line| format!(":{line}")))]
    Host {
        /// The script.
        script: PathBuf,
        /// The line; none before the first, or in a file without lines.
        line: Option<u32>,
        /// Error of the platform.
        source: HostError,
    },
}

/// Plays a trace from its first line to its last and says what came of it.
///
/// Every register name is looked up before anything is touched. The device is expected fresh from reset.
///
/// # Errors
/// Only what makes the run impossible; see [`PlayError`].
pub fn play(
    trace: &Trace,
    host: &mut dyn Host,
    names: &dyn RegisterNames,
    options: &PlayOptions,
) -> Result<Outcome, PlayError> {
    let mut context = PlayContext::new(trace, host)?;
    match &trace.body {
        Body::Cfg(lines) => cfg::play(lines, trace, &mut context, names, options)?,
        Body::Txn { lines, plusargs, .. } => {
            context.check_device()?;
            txn::play(lines, *plusargs, trace, &mut context, (names, options))?;
        }
        Body::Recording { lines, golden } => {
            context.check_device()?;
            recording::play(lines, golden.as_ref(), trace, &mut context, options)?;
        }
        Body::Log(lines) => log::play(lines, &mut context, options)?,
        Body::ScLog(log) => {
            context.check_device()?;
            sc_log::play(log, &mut context, options)?;
        }
        Body::Loadable { loadable, inputs, goldens } => {
            loadable::play(loadable, inputs, goldens, (&mut context, options))?;
        }
    }
    // A script that waits for interrupts ends with the last one, and its cycles are those up to there, as in the RTL's runs.
    let summary = trace.summary();
    let only_polls = summary.interrupts == 0 && !matches!(trace.body(), Body::Loadable { .. });
    if only_polls && context.outcome.passed() {
        // What compares something, or reads, has waited for it.
        let has_read = matches!(trace.body(), Body::Txn { .. }) && summary.register_reads_checked > 0;
        context.settle(!has_read && !trace.compares())?;
    }
    context.finish()
}

/// Context that all players share: the host, the line being played, and the outcome so far.
struct PlayContext<'a> {
    host: &'a mut dyn Host,
    script: &'a Path,
    line: u32,
    outcome: Outcome,
}

impl<'a> PlayContext<'a> {
    fn new(trace: &'a Trace, host: &'a mut dyn Host) -> Result<Self, PlayError> {
        let outcome = Outcome {
            name: trace.name.clone(),
            checks_passed: 0,
            sums: Vec::new(),
            result: None,
            execution: None,
            failures: Vec::new(),
            interrupts: Vec::new(),
            register_writes: 0,
            register_reads: 0,
            start: Time::ZERO,
            finish: Time::ZERO,
        };
        let mut context = Self { host, script: &trace.script, line: 0, outcome };
        context.outcome.start = context.ask(|host| host.now())?;
        Ok(context)
    }

    fn finish(mut self) -> Result<Outcome, PlayError> {
        self.outcome.finish = self.ask(|host| host.now())?;
        Ok(self.outcome)
    }

    /// Refuses a device that is no NVDLA: scripts with addresses would access something else.
    fn check_device(&self) -> Result<(), PlayError> {
        match self.host.map() {
            RegisterMap::Foreign => Err(PlayError::NoNvdla { script: self.script.to_owned() }),
            _ => Ok(()),
        }
    }

    /// Lets layers end that run when the script does: their interrupts come a little after what a program polls (RTL,
    /// `NV_NVDLA_SDP_WDMA_intr.v`: behind the last write's response; `D_OP_ENABLE` falls before). Interrupts that are there are cleared, so
    /// that the next one can be waited for. `has_posted` says that writes may be under way whose layers have not begun.
    fn settle(&mut self, has_posted: bool) -> Result<(), PlayError> {
        let status = self.host.map().address(Unit::Glb, glb::S_INTR_STATUS);
        let Some(status) = status else { return Ok(()) };
        if has_posted {
            self.read(status)?;
        }
        let mut may_run = has_posted;
        for _ in 0..MAX_LATE_INTERRUPTS {
            if !may_run && !self.runs_layers()? || self.wait_interrupt()?.is_err() {
                break;
            }
            may_run = false;
            match self.read(status)? {
                0 => break,
                seen => {
                    self.outcome.register_writes += 1;
                    self.ask(|host| host.write_acknowledged(status, seen))?;
                }
            }
        }
        Ok(())
    }

    /// Returns true if a layer has begun and not ended.
    fn runs_layers(&mut self) -> Result<bool, PlayError> {
        let statistics = self.ask(|host| host.statistics())?;
        let of_layers = statistics.counters.iter().filter_map(|counter| counter.name.strip_prefix("layer."));
        let (mut begun, mut ended) = (0, 0);
        for name in of_layers {
            match name.split_once('.') {
                None => begun += 1,
                Some((_, what)) => ended += usize::from(what == "end"),
            }
        }
        Ok(begun > ended)
    }

    /// Asks the host; an error gets the line being played.
    fn ask<T>(&mut self, what: impl FnOnce(&mut dyn Host) -> Result<T, HostError>) -> Result<T, PlayError> {
        what(self.host).map_err(|source| self.stopped(source))
    }

    fn stopped(&self, source: HostError) -> PlayError {
        PlayError::Host { script: self.script.to_owned(), line: self.of_line(), source }
    }

    fn write(&mut self, address: u32, value: u32) -> Result<(), PlayError> {
        self.outcome.register_writes += 1;
        self.ask(|host| host.write(address, value))
    }

    fn read(&mut self, address: u32) -> Result<u32, PlayError> {
        self.outcome.register_reads += 1;
        self.ask(|host| host.read(address))
    }

    /// Waits for the interrupt. A run that has come to rest without it is an answer, not an error.
    fn wait_interrupt(&mut self) -> Result<Result<Time, HostError>, PlayError> {
        self.host.doing(&format!("line {}", self.line));
        match self.host.wait_interrupt() {
            Ok(time) => Ok(Ok(time)),
            Err(rest @ (HostError::Idle { .. } | HostError::Limit { .. })) => Ok(Err(rest)),
            Err(source) => Err(self.stopped(source)),
        }
    }

    /// Reads up to `1 + retries` times until the value is as it should be.
    fn expect(
        &mut self,
        address: u32,
        retries: u32,
        wanted: &ExpectedValue<'_>,
    ) -> Result<Result<(), FailureKind>, PlayError> {
        let mut reads = 0;
        loop {
            let actual = self.read(address)?;
            reads += 1;
            if wanted.relation.holds(actual & wanted.mask, wanted.value & wanted.mask) {
                return Ok(Ok(()));
            }
            if reads > u64::from(retries) {
                return Ok(Err(FailureKind::Register {
                    register: wanted.register.to_owned(),
                    reads,
                    relation: wanted.relation,
                    expected: wanted.value,
                    mask: wanted.mask,
                    actual,
                    fields: differing(self.host.map(), address, wanted, actual),
                }));
            }
        }
    }

    /// Enters the result of a check.
    fn judge(&mut self, verdict: Result<(), FailureKind>) {
        match verdict {
            Ok(()) => self.outcome.checks_passed += 1,
            Err(kind) => self.fail(self.of_line(), kind),
        }
    }

    /// The line being played; none before the first, or in a file without lines.
    fn of_line(&self) -> Option<u32> {
        Some(self.line).filter(|line| *line > 0)
    }

    fn fail(&mut self, line: Option<u32>, kind: FailureKind) {
        self.outcome.failures.push(Failure { file: self.script.to_owned(), line, kind });
    }
}

/// Value that a register should read.
struct ExpectedValue<'a> {
    register: &'a str,
    relation: Relation,
    value: u32,
    mask: u32,
}

/// The fields of a register that are otherwise than wanted, to stand behind a sentence.
fn differing(map: RegisterMap, address: u32, wanted: &ExpectedValue<'_>, actual: u32) -> String {
    let Some(located) = map.at(address) else { return String::new() };
    let mut fields = located.register.fields.iter().filter_map(|field| {
        let bits = field.bits(map.family());
        let [expected, found] = [wanted.value, actual].map(|word| bits.extract(word & wanted.mask));
        (expected != found).then(|| format!("{} {found:#x} and not {expected:#x}", field.name))
    });
    let few: Vec<String> = fields.by_ref().take(FEW_FIELDS).collect();
    let more = if fields.next().is_some() { ", …" } else { "" };
    if few.is_empty() { String::new() } else { format!(" ({}{more})", few.join(", ")) }
}

/// Returns the name that a person gives the register at a byte address.
fn name_of(map: RegisterMap, address: u32) -> String {
    map.at(address).map_or_else(|| format!("register {address:#x}"), |located| located.to_string())
}

/// Looks a register up for a line of the script.
fn resolve(trace: &Trace, line: u32, register: &str, names: &dyn RegisterNames) -> Result<u32, PlayError> {
    names
        .resolve(register)
        .map_err(|unknown| trace.error(line, TraceErrorKind::UnknownRegister(unknown.message)).into())
}

#[cfg(test)]
mod tests;
