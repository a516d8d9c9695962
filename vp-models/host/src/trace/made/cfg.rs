//! Steps as a `.cfg` script.
//!
//! Memory is there before anything runs, units have streams of their own, and interrupts fire events. What follows an interrupt waits for its
//! event, in each stream that goes on.

use std::collections::BTreeMap;

use vp_models::nvdla::glb::Interrupt;
use vp_models::nvdla::registers::{RegisterMap, Unit, cdma, glb};

use super::super::cfg::{CfgCommand, Extent, Pattern};
use super::super::{RegisterName, Surface, Trace, TraceBuilder};
use super::{Bytes, MOST_FILE, MadeError, Step};

/// Event after which memory is checked.
const END: &str = "end";

struct Script {
    builder: TraceBuilder,
    /// Events in the order in which they fired.
    events: Vec<String>,
    /// Number of events that each stream has waited for.
    waited: BTreeMap<String, usize>,
    files: usize,
}

pub(super) fn made(name: &str, steps: Vec<Step>, map: RegisterMap) -> Result<Trace, MadeError> {
    let first = steps.iter().position(|step| matches!(step, Step::Write { .. })).unwrap_or(steps.len());
    let last = steps.iter().rposition(|step| matches!(step, Step::Write { .. } | Step::Taken { .. }));
    let last = last.unwrap_or_default();
    let mut script =
        Script { builder: TraceBuilder::new(name), events: Vec::new(), waited: BTreeMap::new(), files: 0 };
    let checks = checks(&steps[last..]);
    for check in &checks {
        script.zero(check.memory, aligned(check));
    }
    for (at, step) in steps.into_iter().enumerate() {
        match step {
            Step::Load(bytes) if at < first => script.load(&bytes),
            Step::Load(bytes) if at < last => return Err(MadeError::Between { address: bytes.address }),
            Step::Load(_) | Step::Fetch(_) => {}
            Step::Write { address, value } => script.write(map, address, value)?,
            Step::Flushed { .. } => {
                script.command(register_name(Unit::Cdma, cdma::S_CBUF_FLUSH_STATUS.name), |register| {
                    CfgCommand::PollRegEqual { register, value: 1 }
                });
            }
            Step::Room { .. } => return Err(MadeError::Queue),
            Step::Taken { bits } => script.taken(bits),
        }
    }
    script.end(checks)
}

/// Checks in the end: of what was fetched, but for what the CPU has made since.
fn checks(steps: &[Step]) -> Vec<Bytes> {
    let (mut made, mut checks): (Vec<Bytes>, Vec<Bytes>) = (Vec::new(), Vec::new());
    // Destinations are fetched, too, before the CPU puts its results into them; the hardware has no part in them.
    let loads = || {
        steps.iter().filter_map(|step| match step {
            Step::Load(bytes) => Some(bytes),
            _ => None,
        })
    };
    for step in steps {
        match step {
            Step::Load(bytes) => made.push(bytes.clone()),
            Step::Fetch(bytes) => {
                let is_made = made.iter().any(|made| made.overlaps(bytes));
                let is_place =
                    loads().any(|load| (load.memory, load.address) == (bytes.memory, bytes.address));
                if !is_made && !is_place && !checks.contains(bytes) {
                    checks.push(bytes.clone());
                }
            }
            _ => {}
        }
    }
    checks
}

/// Bytes of a check to whole words, which CRCs are of: its first address and its end.
fn aligned(check: &Bytes) -> (u64, u64) {
    (check.address / 4 * 4, check.end().next_multiple_of(4))
}

fn register_name(unit: Unit, register: &str) -> Option<RegisterName> {
    RegisterName::parse(&format!("{unit}.{register}"))
}

impl Script {
    fn push(&mut self, command: CfgCommand) {
        let builder = std::mem::replace(&mut self.builder, TraceBuilder::new(""));
        self.builder = builder.command(command);
    }

    fn zero(&mut self, memory: crate::Memory, (base, end): (u64, u64)) {
        let (extent, pattern) = (Extent::Bytes(end - base), Pattern::AllZero);
        self.push(CfgCommand::MemInit { memory, base, extent, pattern, after: None });
    }

    fn load(&mut self, bytes: &Bytes) {
        if bytes.is_zero() {
            self.zero(bytes.memory, (bytes.address, bytes.end()));
            return;
        }
        for (base, part) in (bytes.address..).step_by(MOST_FILE).zip(bytes.bytes.chunks(MOST_FILE)) {
            let file = format!("load_{}.dat", self.files);
            self.files += 1;
            let builder = std::mem::replace(&mut self.builder, TraceBuilder::new(""));
            self.builder = builder.surface(&file, Surface::from_bytes(part));
            self.push(CfgCommand::MemLoad { memory: bytes.memory, base, file, after: None });
        }
    }

    /// A command of a register, behind all events so far.
    fn command(&mut self, register: Option<RegisterName>, command: impl FnOnce(RegisterName) -> CfgCommand) {
        let Some(register) = register else { return };
        self.wait(register.unit());
        self.push(command(register));
    }

    /// Has a stream wait for the events that it has not waited for.
    fn wait(&mut self, block: &str) {
        let waited = self.waited.insert(block.to_owned(), self.events.len()).unwrap_or_default();
        for at in waited..self.events.len() {
            let (block, event) = (block.to_owned(), self.events[at].clone());
            self.push(CfgCommand::SyncWait { block, event });
        }
    }

    fn write(&mut self, map: RegisterMap, address: u32, value: u32) -> Result<(), MadeError> {
        let located = map.at(address).ok_or(MadeError::NoRegister { address, map })?;
        // Who plays the script takes interrupts, and none is masked after a reset.
        if located.unit == Unit::Glb && located.register != glb::S_INTR_MASK {
            return Ok(());
        }
        let register = register_name(located.unit, located.register.name);
        self.command(register, |register| CfgCommand::RegWrite { register, value });
        Ok(())
    }

    fn taken(&mut self, bits: u32) {
        for interrupt in (0..32).filter(|bit| bits >> bit & 1 == 1).filter_map(Interrupt::from_bit) {
            let event = format!("event_{}", self.events.len());
            self.push(CfgCommand::IntrNotify { interrupt, event: event.clone() });
            self.events.push(event);
        }
    }

    fn end(mut self, checks: Vec<Bytes>) -> Result<Trace, MadeError> {
        // Any stream will do.
        let Some(block) = self.waited.keys().next().cloned() else { return Err(MadeError::Nothing) };
        self.wait(&block);
        self.push(CfgCommand::SyncNotify { block, event: END.to_owned() });
        for check in checks {
            let (base, end) = aligned(&check);
            let mut bytes = vec![0; (check.address - base) as usize];
            bytes.extend(&check.bytes);
            bytes.resize((end - base) as usize, 0);
            let (memory, size, crc) = (check.memory, end - base, crc32fast::hash(&bytes));
            self.push(CfgCommand::CheckCrc { event: END.to_owned(), memory, base, size, crc });
        }
        Ok(self.builder.build()?)
    }
}
