//! A hub with parties that do as they are told: what tests of the hub draw, and what came of it.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use bytes::Bytes;
use vp_core::Time;
use vp_hub::{
    Access, AccessKind, Accesses, BreakOn, Breakpoint, Clock, DebugCommand, Failure, FailureKind, Hub, Input,
    MemoryAccess, MemoryGuarantees, Operation, Output, PartyCommand, PartyId, PortEvent, PortId, Promise,
    Reaction, Recorded, RequestId, Role, RunState, StepBy, Tag, TimeMode, Until, replay,
};
use vp_models::bus::axi::{AxiChannel, AxiEvent};
use vp_models::platform::{Description, Platform};

use crate::program::Program;
use crate::random::Draw;

/// The platform's register port.
pub const CSB: PortId = PortId(0);
/// Interrupt line of the platform.
pub const LINE: PortId = PortId(1);
/// Memory of the platform.
pub const MEMORY: PortId = PortId(2);
const CYCLE: Time = Time::ns(1);
/// Number of the debugger, which is no party.
const DEBUGGER: PartyId = PartyId(4);

/// Next act of a random party.
#[derive(Debug, Clone, Copy)]
pub enum Act {
    /// A party comes, if there is a place.
    Enter(u8),
    /// A party goes.
    Leave(u8),
    /// A party takes one of the roles at a port, of all of it or of a part.
    Attach(u8, u8, u8, bool),
    /// A party gives up a port.
    Detach(u8, u8),
    /// The next register writes of the layer, posted or not.
    Program(u8, u8, bool),
    /// A party reads a register.
    Read(u8, u16),
    /// A party lets time move: until one of four things, or so many cycles.
    Advance(u8, u8, u16),
    /// A party steps so many cycles.
    Step(u8, u16),
    /// A party reads memory beside the bus, or writes it.
    Debug(u8, u16, bool),
    /// Somebody looks at registers and memory, and sets a register or memory, beside the buses.
    Beside(u8, u16, bool),
    /// A party reads a register in so many cycles.
    Scheduled(u8, u16),
    /// A party wants a reset.
    Reset(u8),
    /// A party injects one of several faults, with a number in it.
    Inject(u8, u8, u16),
    /// The owners answer so many of what they were asked, or refuse it.
    Answer(u8, bool),
    /// Time may move so many cycles.
    Run(u16),
    /// A party becomes a partner; whether it reacts at once, and its quantum.
    Clock(u8, bool, u8),
    /// A partner drives one of several things at a port, so many cycles from now.
    Drive(u8, u8, u8, u8, u32),
    /// A partner promises to be silent for so many cycles, having heard all but so many events.
    Promise(u8, u8, u16),
    /// A debugger wants one of all that it can: a register, a range or a time by a number.
    Debugger(u8, u16),
}

/// Time after so many cycles.
fn after(cycles: u16) -> Time {
    CYCLE * u64::from(cycles)
}

/// The party and its command, if that is what it does.
fn command_of(act: Act, now: Time) -> Option<(u8, PartyCommand)> {
    let access = |port, at, operation| PartyCommand::Access(Access { port, at, operation });
    Some(match act {
        Act::Attach(party, port, role, part) => {
            let role = [Role::Initiator, Role::Target, Role::Sink, Role::Source][usize::from(role)];
            let range = part.then_some(0x8000_0000..0x8000_0400);
            (party, PartyCommand::Attach { port: PortId(port.into()), role, range })
        }
        Act::Detach(party, port) => (party, PartyCommand::Detach { port: PortId(port.into()) }),
        Act::Read(party, address) => {
            (party, access(CSB, None, Operation::RegisterRead { address: u64::from(address) }))
        }
        Act::Scheduled(party, cycles) => {
            let at = Some(now + after(cycles));
            (party, access(CSB, at, Operation::RegisterRead { address: 0x1000 }))
        }
        Act::Debug(party, offset, write) => {
            let (address, kind) = (0x8000_0000 + u64::from(offset), AccessKind::Debug);
            let data = Bytes::copy_from_slice(&offset.to_le_bytes());
            let operation = match write {
                true => Operation::MemoryWrite { address, data, strobes: None, kind },
                false => Operation::MemoryRead { address, length: 9, kind },
            };
            (party, access(MEMORY, None, operation))
        }
        Act::Advance(party, kind, cycles) => {
            let until = match kind {
                0 => Until::Idle,
                1 => Until::Time(now + after(cycles)),
                2 => Until::Interrupt { port: LINE, limit: Some(now + after(cycles)) },
                _ => Until::Interrupt { port: LINE, limit: None },
            };
            (party, PartyCommand::Advance(until))
        }
        Act::Step(party, cycles) => (party, PartyCommand::Step { to: now + after(cycles) }),
        Act::Reset(party) => (party, PartyCommand::Reset),
        Act::Inject(party, kind, number) => {
            (party, PartyCommand::Inject { faults: fault(kind, number, now) })
        }
        Act::Clock(party, same_edge, quantum) => {
            let reaction = if same_edge { Reaction::SameEdge } else { Reaction::NextEdge };
            (party, PartyCommand::Clock(Clock { reaction, quantum: u32::from(quantum) }))
        }
        _ => return None,
    })
}

/// A hub with parties that do as they are told, and what came of it.
pub struct Stage {
    /// The hub.
    pub hub: Hub,
    /// All that it was told.
    pub recording: Rc<RefCell<Vec<Recorded>>>,
    /// All that it has said.
    pub outputs: Vec<Output>,
    /// Description of the platform; `mode` says how its time moves.
    description: Description,
    mode: TimeMode,
    /// Number of events that each partner was sent.
    sent: BTreeMap<PartyId, u64>,
    asked: VecDeque<(PartyId, RequestId, MemoryAccess)>,
    /// The bytes of all memories outside.
    pub outside: BTreeMap<u64, u8>,
    /// Register writes of the layer that are left.
    pub writes: VecDeque<(u64, u32)>,
    next_tag: u64,
}

/// One of several faults, as a text.
fn fault(kind: u8, number: u16, now: Time) -> String {
    let at = (now + CYCLE * u64::from(number)).as_ps();
    let probability = f64::from(number) / f64::from(u16::MAX);
    let fault = match kind {
        0 => format!("kind = 'error'\nport = 'dbb0'\nprobability = {probability:.3}\nseed = {number}"),
        1..6 => {
            let channel = ["ar", "r", "aw", "w", "b"][usize::from(kind) - 1];
            format!(
                "kind = 'stall'\nport = 'dbb0'\nchannel = '{channel}'\ncycles = {}\nevery = {}",
                1 + number % 300,
                1 + number % 7
            )
        }
        6 => "kind = 'stall'\nport = 'dbb0'\nchannel = 'r'\nafter = 30".to_owned(),
        7 => format!("kind = 'lost-interrupt'\nevery = {}", 1 + number % 3),
        8 => format!("kind = 'delayed-interrupt'\nevery = 1\ncycles = {}", 1 + number),
        9 => format!("kind = 'spurious-interrupt'\ncycles = 5\nat = '{at} ps'"),
        10 => format!("kind = 'memory-flip'\nport = 'dbb0'\naddress = 0x80000001\nbit = 3\nat = '{at} ps'"),
        11 => "kind = 'memory-flip'\nport = 'dbb0'\naddress = 0x80000001\nbit = 3\nevery = 1".to_owned(),
        12 => {
            format!("kind = 'register-flip'\nregister = 'SDP.D_DATA_CUBE_WIDTH'\nbit = 0\nafter = {number}")
        }
        13 => format!("kind = 'silent-partner'\nport = 'dbb0'\nafter = {}", number % 200),
        14 => format!("kind = 'failing-partner'\nport = 'dbb0'\nat = '{at} ps'"),
        _ => "kind = 'nothing'".to_owned(),
    };
    format!("[[fault]]\n{fault}\n")
}

impl Stage {
    /// A platform with a layer to be run, both drawn from a seed: parties 1 and 2 have come, and have its registers, its
    /// interrupt line and its memory.
    ///
    /// # Panics
    /// When the platform cannot be built.
    pub fn new(seed: u64, mode: TimeMode) -> Stage {
        let mut draw = Draw::new("nv_small", seed);
        let layer = draw.sdp(true);
        let description = draw.description().clone();
        let mut hub = hub(&description, mode);
        let recording: Rc<RefCell<Vec<Recorded>>> = Rc::default();
        let told = recording.clone();
        hub.record_to(move |recorded| told.borrow_mut().push(recorded));
        let mut program = Program::new(hub.platform().map());
        program.sdp(&layer, 0);
        program.enable_sdp(0);
        let map = hub.platform().map();
        let address = |unit, register| u64::from(map.address(unit, register).unwrap());
        let writes = program.writes.iter().map(|write| (address(write.unit, write.register), write.value));
        let image = draw.image();
        let bytes = image.regions().iter().flat_map(|(base, bytes)| (*base..).zip(bytes.iter().copied()));
        let outside = bytes.collect();
        let (writes, asked, outputs) = (writes.collect(), VecDeque::new(), Vec::new());
        let sent = BTreeMap::new();
        let mut stage =
            Stage { hub, recording, outputs, description, mode, sent, asked, outside, writes, next_tag: 0 };
        (1..3).for_each(|party| stage.enter(PartyId(party)));
        let ends = [(1, CSB, Role::Initiator), (1, LINE, Role::Sink), (2, MEMORY, Role::Target)];
        for (party, port, role) in ends {
            stage.command(PartyId(party), PartyCommand::Attach { port, role, range: None });
        }
        stage
    }

    fn handle(&mut self, input: Input) {
        self.hub.handle(input);
        self.poll();
    }

    fn poll(&mut self) {
        while let Some(output) = self.hub.poll() {
            match &output {
                Output::Request { party, request, access, .. } => {
                    self.asked.push_back((*party, *request, access.clone()));
                }
                Output::Driven { party, .. } => *self.sent.entry(*party).or_default() += 1,
                _ => {}
            }
            self.outputs.push(output);
        }
    }

    fn command(&mut self, party: PartyId, command: PartyCommand) {
        self.next_tag += 1;
        self.handle(Input::Command { party, tag: Tag(self.next_tag), command });
    }

    fn enter(&mut self, party: PartyId) {
        let memory = MemoryGuarantees { in_order: Some(16).filter(|_| party.0 == 2) };
        self.handle(Input::Enter { party, name: format!("party {}", party.0), memory });
    }

    fn answer(&mut self, refuse: bool) {
        let Some((party, request, access)) = self.asked.pop_front() else { return };
        let result = match access.write {
            _ if refuse => {
                Err(Failure { kind: FailureKind::SlaveError, reason: "it does not like that".to_owned() })
            }
            None => {
                let byte = |at| self.outside.get(&(access.address + u64::from(at))).copied().unwrap_or(0);
                Ok((0..access.length).map(byte).collect::<Bytes>())
            }
            Some((data, _)) => {
                self.outside.extend((access.address..).zip(data));
                Ok(Bytes::new())
            }
        };
        self.handle(Input::Answer { party, request, result });
    }

    /// Writes the next registers of its layer.
    fn program(&mut self, party: u8, count: u8, posted: bool) {
        for _ in 0..count {
            let Some((address, value)) = self.writes.pop_front() else { break };
            let operation = Operation::RegisterWrite { address, value };
            let (party, access) = (PartyId(party.into()), Access { port: CSB, at: None, operation });
            match posted {
                true => self.handle(Input::Posted { party, access }),
                false => self.command(party, PartyCommand::Access(access)),
            }
        }
    }

    /// Looks at registers and memory beside the platform, and writes there.
    fn beside(&mut self, party: u8, offset: u16, register: bool) {
        let (address, data) = (0x8000_0000 + u64::from(offset), Bytes::copy_from_slice(&[party; 5]));
        let group = Some(party).filter(|_| register);
        // They may be refused, and change nothing.
        drop(self.hub.peek_registers(CSB, u64::from(offset) * 4, 1 + u32::from(party) * 300, group));
        drop(self.hub.peek_memory(MEMORY, address, 9));
        let (port, operation) = match register {
            true => (CSB, Operation::RegisterWrite { address: (u64::from(offset) & 0x3fff) * 4, value: 1 }),
            false => {
                let kind = AccessKind::Debug;
                (MEMORY, Operation::MemoryWrite { address, data, strobes: None, kind })
            }
        };
        self.next_tag += 1;
        let access = Access { port, at: None, operation };
        self.handle(Input::Debug { party: PartyId(party.into()), tag: Tag(self.next_tag), access });
    }

    /// Does that.
    pub fn act(&mut self, act: Act) {
        match command_of(act, self.hub.now()) {
            Some((party, command)) => self.command(PartyId(party.into()), command),
            None => self.act_otherwise(act),
        }
    }

    /// Does what is no command of a party: [`command_of`] has those.
    fn act_otherwise(&mut self, act: Act) {
        let now = self.hub.now();
        match act {
            Act::Enter(party) if self.hub.parties() < 3 => {
                let party = PartyId(party.into());
                if !self.hub.has_party(party) {
                    self.enter(party);
                }
            }
            Act::Leave(party) => {
                let (party, why) = (PartyId(party.into()), "it went".to_owned());
                self.handle(Input::Leave { party, why });
            }
            Act::Program(party, count, posted) => self.program(party, count, posted),
            Act::Beside(party, offset, register) => self.beside(party, offset, register),
            Act::Answer(count, refuse) => (0..count).for_each(|_| self.answer(refuse)),
            Act::Run(cycles) => {
                // In the middle of an instant nothing may come, or no replay finds its place again.
                while self.hub.run(now + after(cycles)) == RunState::InInstant {}
                self.poll();
            }
            Act::Debugger(what, value) => {
                self.next_tag += 1;
                let command = debugger(what, value, now);
                self.handle(Input::Debugger { party: DEBUGGER, tag: Tag(self.next_tag), command });
            }
            Act::Drive(party, port, cycles, what, value) => {
                let (party, port) = (PartyId(party.into()), PortId(port.into()));
                let edge = Time::ps(now.as_ps().next_multiple_of(CYCLE.as_ps()));
                let at = edge + CYCLE * u64::from(cycles);
                self.handle(Input::Driven { party, port, at, event: driven(what, value) });
            }
            Act::Promise(party, unheard, cycles) => {
                let party = PartyId(party.into());
                let sent = self.sent.get(&party).copied().unwrap_or(0);
                let heard = sent.saturating_sub(unheard.into());
                let promise = Promise { heard, next: now + after(cycles) };
                self.handle(Input::Promised { party, promise });
            }
            _ => {}
        }
    }

    /// Answers and runs until nothing moves any more; then all go.
    pub fn finish(&mut self) {
        self.handle(Input::Leave { party: DEBUGGER, why: "the end".to_owned() });
        loop {
            let ran = self.hub.run(Time::MAX);
            self.poll();
            if !matches!(ran, RunState::Again | RunState::InInstant) && self.asked.is_empty() {
                break;
            }
            while !self.asked.is_empty() {
                self.answer(false);
            }
        }
        for party in 1..4 {
            self.handle(Input::Leave { party: PartyId(party), why: "the end".to_owned() });
        }
    }
}

impl Stage {
    /// Runs the recording, written down and read back, once more.
    ///
    /// # Panics
    /// When outputs, time or event hash are others than before.
    pub fn check_replay(&self) {
        let written = postcard::to_allocvec(&*self.recording.borrow()).expect("it can be written");
        let read: Vec<Recorded> = postcard::from_bytes(&written).expect("what was written");
        let mut again = hub(&self.description, self.mode);
        let outputs = replay(&mut again, &read).unwrap_or_else(|error| panic!("{error}"));
        for (again, before) in outputs.iter().zip(&self.outputs) {
            assert_eq!(again, before);
        }
        assert_eq!(outputs.len(), self.outputs.len());
        assert_eq!(again.now(), self.hub.now());
        assert_eq!(again.platform().event_hash(), self.hub.platform().event_hash());
    }
}

/// Command of a debugger: one of all that it can give.
fn debugger(what: u8, value: u16, now: Time) -> DebugCommand {
    let access = [Accesses::Read, Accesses::Write, Accesses::Any][usize::from(value % 3)];
    let (end, count) = (value & 8 != 0, u32::from(value >> 8 & 7));
    let on = match what >> 4 & 7 {
        0 => BreakOn::Register { address: u64::from(value) & !3, access, value: None },
        1 => BreakOn::Register { address: 0xb038, access, value: end.then_some(1) },
        2 => BreakOn::Interrupt,
        3 => BreakOn::Layer { unit: ["", "sdp", "pdp"][usize::from(value % 3)].to_owned(), end },
        4 | 5 => {
            let start = 0x8000_0000 + u64::from(value) * 64;
            BreakOn::Memory { port: MEMORY, range: start..start + 4096, access }
        }
        _ => BreakOn::Time(now + Time::ps(u64::from(value) * 250)),
    };
    match what & 15 {
        0 | 1 => DebugCommand::Stop,
        2..5 => DebugCommand::Continue,
        5 => DebugCommand::Step { by: StepBy::Cycle, count: u32::from(value) },
        6 => DebugCommand::Step { by: StepBy::Event, count },
        7 => DebugCommand::Step { by: StepBy::Layer, count },
        8 => DebugCommand::Step { by: StepBy::Access, count },
        9 => DebugCommand::Clear { number: count },
        _ => DebugCommand::Break(Breakpoint { on, skip: count >> 1, once: end }),
    }
}

/// Event that is driven at a port: one of all that can be.
fn driven(what: u8, value: u32) -> PortEvent {
    let (flag, id, address) = (value & 1 == 1, value as u16 & 7, u64::from(value >> 3));
    let beats = value as u16 >> 8 & 0xff;
    let data = |length: u8| Bytes::from(vec![value as u8; usize::from(length)]);
    let channels = [
        AxiChannel::ReadAddress,
        AxiChannel::ReadData,
        AxiChannel::WriteAddress,
        AxiChannel::WriteData,
        AxiChannel::WriteResponse,
    ];
    match what % 11 {
        0 => PortEvent::Register {
            address: value >> 8 & 0x3fffc,
            write: (what & 0x80 != 0).then_some(value),
            posted: what & 0x40 != 0,
        },
        1 => PortEvent::RegisterReady(flag),
        2 => PortEvent::RegisterAnswer(value),
        3 => PortEvent::Level(flag),
        4 => PortEvent::Reset,
        5 => PortEvent::Axi(AxiEvent::ReadAddress { id, address, beats }),
        6 => PortEvent::Axi(AxiEvent::WriteAddress { id, address, beats }),
        7 => {
            let (last, error) = (value & 8 != 0, value & 16 != 0);
            PortEvent::Axi(AxiEvent::ReadData { id, data: data(what >> 4), last, error })
        }
        8 => {
            let strobes = u64::from(value) << (what >> 6);
            PortEvent::Axi(AxiEvent::WriteData { data: data(what >> 4), strobes, last: flag })
        }
        9 => PortEvent::Axi(AxiEvent::WriteResponse { id, error: value & 8 != 0 }),
        _ => {
            let channel = channels[value as usize / 2 % channels.len()];
            PortEvent::Axi(AxiEvent::Ready { channel, ready: flag })
        }
    }
}

/// A hub around such a platform.
///
/// # Panics
/// When the platform cannot be built.
pub fn hub(description: &Description, mode: TimeMode) -> Hub {
    Hub::new(Platform::build(description).unwrap(), mode)
}
