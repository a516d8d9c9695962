//! Plays `.cfg` scripts: memory first, then the blocks' register streams, then interrupts until all declared
//! have come.
//!
//! The streams are concurrent only in name: they run in file order in one thread, except that a stream held
//! by a `sync_wait` lets the others pass it. Time therefore moves where registers are read and interrupts are
//! waited for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::ControlFlow;
use vp_core::Time;

use super::{
    ExpectedValue, FailureKind, PlayContext, PlayError, PlayOptions, SeenInterrupt, Sum, memory, resolve,
};
use crate::trace::cfg::{CfgCommand, Extent};
use crate::trace::txn::Relation;
use crate::trace::{Line, RegisterNames, Trace};
use vp_models::nvdla::glb::Interrupt;

/// A device that raises this many interrupts nobody declared is not worth hearing further.
const MAX_UNEXPECTED: usize = 32;

pub(super) fn play<'a>(
    lines: &'a [Line<CfgCommand>],
    trace: &'a Trace,
    context: &mut PlayContext<'a>,
    names: &dyn RegisterNames,
    options: &PlayOptions,
) -> Result<(), PlayError> {
    let mut player = Player::declare(lines, trace, context, names, options)?;
    for line in lines {
        player.memory_command(line, None)?;
    }
    player.run()?;
    player.conclude();
    Ok(())
}

struct Player<'a, 'd> {
    context: &'d mut PlayContext<'a>,
    trace: &'a Trace,
    options: &'d PlayOptions,
    status: u32,
    mask: u32,
    /// Declared interrupts that have not come, oldest first.
    expected: Vec<Declared<'a>>,
    /// Memory commands and checks, by the event they come after.
    after: BTreeMap<&'a str, Vec<&'a Line<CfgCommand>>>,
    fired: BTreeSet<&'a str>,
    streams: Streams<'a>,
    unexpected: usize,
    /// Status bits that were active when the last ones had been cleared.
    active: u32,
}

struct Declared<'a> {
    interrupt: Interrupt,
    event: &'a str,
    line: u32,
}

impl<'a, 'd> Player<'a, 'd> {
    /// Looks up every register and sorts the lines by what they are; touches nothing.
    fn declare(
        lines: &'a [Line<CfgCommand>],
        trace: &'a Trace,
        context: &'d mut PlayContext<'a>,
        names: &dyn RegisterNames,
        options: &'d PlayOptions,
    ) -> Result<Self, PlayError> {
        let mut expected = Vec::new();
        let mut after: BTreeMap<&str, Vec<&Line<CfgCommand>>> = BTreeMap::new();
        let mut streams = Streams::default();
        for line in lines {
            match &line.command {
                CfgCommand::RegWrite { register, .. }
                | CfgCommand::RegRead { register, .. }
                | CfgCommand::RegReadCheck { register, .. }
                | CfgCommand::PollRegEqual { register, .. } => {
                    let address = resolve(trace, line.number, register.as_str(), names)?;
                    streams.append(register.unit(), CfgStep { line, address });
                }
                CfgCommand::SyncNotify { block, .. } | CfgCommand::SyncWait { block, .. } => {
                    streams.append(block, CfgStep { line, address: 0 });
                }
                CfgCommand::IntrNotify { interrupt, event } => {
                    expected.push(Declared { interrupt: *interrupt, event, line: line.number });
                }
                CfgCommand::MemInit { after: event, .. }
                | CfgCommand::MemLoad { after: event, .. }
                | CfgCommand::MemReserve { after: event, .. }
                | CfgCommand::MemRelease { after: event, .. } => {
                    if let Some(event) = event {
                        after.entry(event).or_default().push(line);
                    }
                }
                CfgCommand::CheckCrc { event, .. }
                | CfgCommand::CheckFile { event, .. }
                | CfgCommand::CheckNothing { event } => {
                    after.entry(event).or_default().push(line);
                }
            }
        }
        let first = lines.first().map_or(0, |line| line.number);
        let status = resolve(trace, first, "GLB.S_INTR_STATUS", names)?;
        let mask = resolve(trace, first, "GLB.S_INTR_MASK", names)?;
        Ok(Self {
            context,
            trace,
            options,
            status,
            mask,
            expected,
            after,
            fired: BTreeSet::new(),
            streams,
            unexpected: 0,
            active: 0,
        })
    }

    /// The streams as far as they get, an interrupt, the streams again, until nothing is left to come.
    fn run(&mut self) -> Result<(), PlayError> {
        loop {
            while let Some(step) = self.streams.next(&self.fired) {
                self.register_command(step)?;
            }
            // Bits still active when all declared interrupts have come belong to nobody: they are heard once
            // more.
            if self.expected.is_empty() && self.active == 0 {
                return Ok(());
            }
            self.context.line = self.expected.first().map_or(self.context.line, |declared| declared.line);
            match self.context.wait_interrupt()? {
                Ok(time) => {
                    if self.serve(time)?.is_break() {
                        return Ok(());
                    }
                }
                Err(reason) => {
                    let names: Vec<String> =
                        self.expected.iter().map(|one| one.interrupt.to_string()).collect();
                    let kind = FailureKind::Missing { interrupts: names.join(", "), reason };
                    self.context.fail(Some(self.context.line), kind);
                    return Ok(());
                }
            }
        }
    }

    fn register_command(&mut self, CfgStep { line, address }: CfgStep<'a>) -> Result<(), PlayError> {
        self.context.line = line.number;
        match &line.command {
            CfgCommand::RegWrite { value, .. } => self.context.write(address, *value)?,
            CfgCommand::RegRead { .. } => drop(self.context.read(address)?),
            CfgCommand::RegReadCheck { register, value } => {
                let verdict = self.context.expect(address, 0, &equal(register.as_str(), *value))?;
                self.context.judge(verdict);
            }
            CfgCommand::PollRegEqual { register, value } => {
                let retries = self.options.poll_reads.saturating_sub(1);
                if let Err(kind) = self.context.expect(address, retries, &equal(register.as_str(), *value))? {
                    self.context.fail(Some(line.number), kind);
                }
            }
            CfgCommand::SyncNotify { event, .. } => self.fire(event)?,
            // Streams are made of the commands above and of waits, which end by being passed.
            _ => {}
        }
        Ok(())
    }

    /// Takes the interrupts that are active, fires their events, clears them.
    fn serve(&mut self, time: Time) -> Result<ControlFlow<()>, PlayError> {
        let status = self.context.read(self.status)?;
        let mask = self.context.read(self.mask)?;
        let active = status & !mask;
        if active == 0 {
            self.context.fail(None, FailureKind::NothingActive { status, mask });
            return Ok(ControlFlow::Break(()));
        }
        for bit in (0..32).filter(|bit| active >> bit & 1 == 1) {
            let interrupt = Interrupt::from_bit(bit);
            self.context.outcome.interrupts.push(SeenInterrupt { interrupt, time });
            let declared = self.expected.iter().position(|declared| Some(declared.interrupt) == interrupt);
            match declared.map(|index| self.expected.remove(index)) {
                Some(declared) => {
                    self.context.line = declared.line;
                    self.fire(declared.event)?;
                }
                None => {
                    self.unexpected += 1;
                    let interrupt = interrupt
                        .map_or_else(|| format!("of status bit {bit}"), |interrupt| interrupt.to_string());
                    self.context.fail(None, FailureKind::Unexpected { interrupt, time });
                }
            }
        }
        self.context.write(self.status, active)?;
        let after = self.context.read(self.status)?;
        if after & active != 0 {
            self.context.fail(None, FailureKind::NotCleared { status: after, cleared: active });
            return Ok(ControlFlow::Break(()));
        }
        self.active = after & !mask;
        Ok(if self.unexpected < MAX_UNEXPECTED { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    }

    /// Fires an event: memory commands and checks after it are done at once, streams held by it go on.
    fn fire(&mut self, event: &'a str) -> Result<(), PlayError> {
        if !self.fired.insert(event) {
            let kind = FailureKind::FiredTwice { event: event.to_owned() };
            self.context.fail(Some(self.context.line), kind);
            return Ok(());
        }
        self.streams.release(event);
        let firing = self.context.line;
        for line in self.after.remove(event).unwrap_or_default() {
            self.memory_command(line, Some(event))?;
            self.check(line)?;
        }
        self.context.line = firing;
        Ok(())
    }

    /// Does a memory command whose turn it is: before everything else, or after its event.
    fn memory_command(&mut self, line: &'a Line<CfgCommand>, turn: Option<&str>) -> Result<(), PlayError> {
        self.context.line = line.number;
        match &line.command {
            CfgCommand::MemInit { memory, base, extent, pattern, after } if after.as_deref() == turn => {
                let size = match extent {
                    Extent::Bytes(size) => *size,
                    Extent::File(file) => self.trace.surface(file).extent(),
                };
                let random = (self.options.seed, u64::from(line.number));
                self.context.ask(|host| memory::fill(host, *memory, *base, size, *pattern, random))
            }
            CfgCommand::MemLoad { memory, base, file, after } if after.as_deref() == turn => {
                let surface = self.trace.surface(file);
                self.context.ask(|host| memory::place(host, *memory, *base, surface))
            }
            // Regions are the platform's to know: reserving and releasing them changes nothing here.
            _ => Ok(()),
        }
    }

    fn check(&mut self, line: &'a Line<CfgCommand>) -> Result<(), PlayError> {
        self.context.line = line.number;
        let verdict = match &line.command {
            CfgCommand::CheckCrc { memory, base, size, crc: expected, .. } => {
                let actual = self.context.ask(|host| memory::crc(host, *memory, *base, *size))?;
                let (memory, base, size, expected) = (*memory, *base, *size, *expected);
                self.context.outcome.sums.push(Sum { memory, base, size, crc: actual });
                if actual == expected {
                    Ok(())
                } else {
                    Err(FailureKind::Crc { memory, base, size, expected, actual })
                }
            }
            CfgCommand::CheckFile { memory, base, size, file, .. } => {
                let surface = (file.as_str(), self.trace.surface(file));
                self.context.ask(|host| memory::compare(host, *memory, *base, *size, surface))?
            }
            CfgCommand::CheckNothing { .. } => Ok(()),
            _ => return Ok(()),
        };
        self.context.judge(verdict);
        Ok(())
    }

    /// Records as failures what was asked for and did not happen.
    fn conclude(&mut self) {
        for (line, block, event) in self.streams.held() {
            let kind = FailureKind::Held { block: block.to_owned(), event: event.to_owned() };
            self.context.fail(Some(line), kind);
        }
        for (event, lines) in std::mem::take(&mut self.after) {
            for line in lines.into_iter().filter(|line| is_check(&line.command)) {
                self.context.fail(Some(line.number), FailureKind::NotChecked { event: event.to_owned() });
            }
        }
    }
}

fn is_check(command: &CfgCommand) -> bool {
    matches!(
        command,
        CfgCommand::CheckCrc { .. } | CfgCommand::CheckFile { .. } | CfgCommand::CheckNothing { .. }
    )
}

fn equal(register: &str, value: u32) -> ExpectedValue<'_> {
    ExpectedValue { register, relation: Relation::Equal, value, mask: u32::MAX }
}

/// A command of a stream, its register looked up.
#[derive(Clone, Copy)]
struct CfgStep<'a> {
    line: &'a Line<CfgCommand>,
    /// Byte address; 0 for the commands without a register.
    address: u32,
}

/// The register commands by block. Of the streams that may go on, the one whose next line stands first in the
/// file does.
#[derive(Default)]
struct Streams<'a> {
    streams: Vec<(&'a str, VecDeque<CfgStep<'a>>)>,
    by_block: BTreeMap<&'a str, usize>,
    /// Line and stream of those that may go on.
    ready: BTreeSet<(u32, usize)>,
    held: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Streams<'a> {
    fn append(&mut self, block: &'a str, step: CfgStep<'a>) {
        let stream = *self.by_block.entry(block).or_insert_with(|| {
            self.streams.push((block, VecDeque::new()));
            self.ready.insert((step.line.number, self.streams.len() - 1));
            self.streams.len() - 1
        });
        self.streams[stream].1.push_back(step);
    }

    fn next(&mut self, fired: &BTreeSet<&str>) -> Option<CfgStep<'a>> {
        while let Some((_, stream)) = self.ready.pop_first() {
            let queue = &mut self.streams[stream].1;
            let Some(step) = queue.front().copied() else { continue };
            if let CfgCommand::SyncWait { event, .. } = &step.line.command
                && !fired.contains(event.as_str())
            {
                self.held.entry(event).or_default().push(stream);
                continue;
            }
            queue.pop_front();
            if let Some(next) = queue.front() {
                self.ready.insert((next.line.number, stream));
            }
            return Some(step);
        }
        None
    }

    fn release(&mut self, event: &str) {
        for stream in self.held.remove(event).unwrap_or_default() {
            if let Some(step) = self.streams[stream].1.front() {
                self.ready.insert((step.line.number, stream));
            }
        }
    }

    /// Line, block and event of every stream that waits.
    fn held(&self) -> Vec<(u32, &'a str, &'a str)> {
        let held =
            self.held.iter().flat_map(|(event, streams)| streams.iter().map(move |stream| (*event, *stream)));
        held.filter_map(|(event, stream)| {
            let (block, queue) = &self.streams[stream];
            queue.front().map(|step| (step.line.number, *block, event))
        })
        .collect()
    }
}
