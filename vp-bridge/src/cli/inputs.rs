//! Registers and inputs of a platform, as people read them.

use vp_hub::{
    Access, AccessKind, DebugCommand, Input, Operation, PartyCommand, PartyId, PortEvent, PortId, Recorded,
    Until,
};
use vp_models::bus::axi::AxiEvent;
use vp_models::fpga_ai_suite::registers as suite;
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::{Platform, Port};

use super::Failure;
use super::compare::Content;
use super::text::counted;

/// The names of a platform's registers and ports.
pub(super) struct Names {
    ports: Vec<Port>,
    map: RegisterMap,
    is_suite: bool,
}

impl Names {
    pub(super) fn of(platform: &Platform) -> Names {
        let is_suite = platform.identity().kind == "fpga-ai-suite";
        Names { ports: platform.ports(), map: platform.map(), is_suite }
    }

    /// The address of a register, which is named or is said by its address.
    pub(super) fn register(&self, name: &str) -> Result<u32, Failure> {
        let digits = name.strip_prefix("0x").or_else(|| name.strip_prefix("0X"));
        if let Some(digits) = digits {
            return u32::from_str_radix(digits, 16)
                .map_err(|_| Failure::new(format!("no address of a register: {name}")));
        }
        if self.is_suite {
            let plain = name.strip_prefix("CSR.").unwrap_or(name);
            let found = suite::REGISTERS.iter().find(|register| register.name == plain);
            return found.map(|register| register.offset.into()).ok_or_else(|| {
                Failure::new(format!("no register `{name}` in the FPGA AI Suite's map"))
                    .hint("see `vp regs`, or name its address, such as 0x200")
            });
        }
        self.map.find(name).map(|located| located.address).map_err(Failure::new)
    }

    /// A register's name, behind its address.
    pub(super) fn name(&self, address: u32) -> String {
        let suite = || suite::REGISTERS.iter().find(|register| u32::from(register.offset) == address);
        let name = match self.is_suite {
            true => suite().map(|register| format!("CSR.{}", register.name)),
            false => self.map.at(address).map(|located| located.to_string()),
        };
        name.map_or_else(|| format!("{address:#06x}"), |name| format!("{address:#06x} {name}"))
    }

    fn port(&self, port: PortId) -> &'static str {
        self.ports.get(usize::from(port.0)).map_or("a port that is not there", |port| port.name)
    }

    /// An entry of a recording in one line.
    pub(super) fn line(&self, entry: &Recorded) -> String {
        match entry {
            Recorded::Input(input) => self.input(input),
            Recorded::Ran(_) => "the run goes on".to_owned(),
            Recorded::Direct { party, port, ranges } => {
                let bytes = ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum();
                format!("{}: {} of {} are mapped", who(*party), counted(bytes, "byte"), self.port(*port))
            }
            Recorded::Accessed(None) => "an access to mapped memory that is not there".to_owned(),
            Recorded::Accessed(Some(data)) if data.is_empty() => "mapped memory is written".to_owned(),
            Recorded::Accessed(Some(data)) => format!("mapped memory has {}", start(data)),
            Recorded::Hash(hash) => format!("event hash {hash:016x}"),
        }
    }

    fn input(&self, input: &Input) -> String {
        match input {
            Input::Enter { party, .. } => format!("{} comes", who(*party)),
            Input::Leave { party, why } => format!("{} goes: {why}", who(*party)),
            Input::Mode(mode) => format!("time moves in {mode:?} mode").to_lowercase(),
            Input::Command { party, command, .. } => format!("{} {}", who(*party), self.command(command)),
            Input::Posted { party, access } => format!("{} {}, posted", who(*party), self.access(access)),
            Input::Answer { party, result: Ok(data), .. } if data.is_empty() => {
                format!("{} answers", who(*party))
            }
            Input::Answer { party, result: Ok(data), .. } => {
                format!("{} answers {}", who(*party), start(data))
            }
            Input::Answer { party, result: Err(failure), .. } => {
                format!("{} answers: {failure}", who(*party))
            }
            Input::Driven { party, port, at, event } => {
                format!("{} drives {} at {at}: {}", who(*party), self.port(*port), self.event(event))
            }
            Input::Promised { party, promise } => {
                format!("{} promises silence up to {}, heard {}", who(*party), promise.next, promise.heard)
            }
            Input::Debug { party, access, .. } => {
                format!("{} {}, beside the buses", who(*party), self.access(access))
            }
            Input::Debugger { party, command, .. } => format!("{} {}", who(*party), debugger(command)),
            Input::Settle { .. } => "the platform is to come to rest, to be saved".to_owned(),
            Input::SumUp => "repeated warnings are summed up".to_owned(),
            Input::Warn { text } => format!("everybody is warned: {text}"),
        }
    }

    fn command(&self, command: &PartyCommand) -> String {
        match command {
            PartyCommand::Clock(clock) => format!("has a clock, quantum {}", clock.quantum),
            PartyCommand::Attach { port, role, .. } => format!("is {} of {}", role.name(), self.port(*port)),
            PartyCommand::Detach { port } => format!("gives up {}", self.port(*port)),
            PartyCommand::Access(access) => self.access(access),
            PartyCommand::Advance(Until::Time(time)) => format!("lets time move to {time}"),
            PartyCommand::Advance(Until::Idle) => "lets time move until nothing is left to do".to_owned(),
            PartyCommand::Advance(Until::Interrupt { limit, .. }) => {
                let limit = limit.map_or_else(String::new, |limit| format!(", or {limit}"));
                format!("lets time move to the interrupt{limit}")
            }
            PartyCommand::Step { to } => format!("steps to {to}"),
            PartyCommand::Reset => "resets the platform".to_owned(),
            PartyCommand::Restore { saved } => {
                format!("has the platform go on from a saved one of {} bytes", saved.len())
            }
            PartyCommand::Inject { faults } => {
                format!("has things go wrong, in {} of TOML", counted(faults.len() as u64, "byte"))
            }
        }
    }

    fn access(&self, access: &Access) -> String {
        let port = self.port(access.port);
        let at = access.at.map_or_else(String::new, |at| format!(", not before {at}"));
        let how = |kind: &AccessKind| if *kind == AccessKind::Debug { ", beside the bus" } else { "" };
        match &access.operation {
            Operation::RegisterRead { address } => format!("reads {}{at}", self.name(*address as u32)),
            Operation::RegisterWrite { address, value } => {
                format!("writes {value:#010x} to {}{at}", self.name(*address as u32))
            }
            Operation::MemoryRead { address, length, kind } => {
                format!("reads {length} bytes at {address:#x} of {port}{}{at}", how(kind))
            }
            Operation::MemoryWrite { address, data, kind, .. } => {
                format!("writes {} at {address:#x} of {port}{}{at}", start(data), how(kind))
            }
            Operation::StreamSend { data, .. } => format!("sends {} into {port}{at}", start(data)),
        }
    }

    fn event(&self, event: &PortEvent) -> String {
        match event {
            PortEvent::Axi(AxiEvent::Ready { channel, ready }) => format!("{channel:?} ready {ready}"),
            PortEvent::RegisterReady(ready) => format!("ready {ready}"),
            PortEvent::Reset => "reset".to_owned(),
            PortEvent::Register { address, .. } => match Content::of(event) {
                Some(content) => format!("{content} ({})", self.name(*address)),
                None => self.name(*address),
            },
            event => Content::of(event).map_or_else(String::new, |content| content.to_string()),
        }
    }
}

fn debugger(command: &DebugCommand) -> String {
    match command {
        DebugCommand::Stop => "stops time".to_owned(),
        DebugCommand::Continue => "lets time go on".to_owned(),
        DebugCommand::Step { by, count } => format!("steps {count} by {by:?}").to_lowercase(),
        DebugCommand::Break(breakpoint) => format!("sets a breakpoint: {:?}", breakpoint.on),
        DebugCommand::Clear { number } => format!("removes breakpoint {number}"),
    }
}

fn who(party: PartyId) -> String {
    format!("party {}", party.0)
}

/// The first of some bytes, and how many there are.
fn start(data: &[u8]) -> String {
    const SHOWN: usize = 16;
    let bytes: String = data.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    let more = if data.len() > SHOWN { "…" } else { "" };
    format!("{} {bytes}{more}", counted(data.len() as u64, "byte"))
}
