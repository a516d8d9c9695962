//! The hub's promises, with random parties: the same inputs at the same places give the same run, and in lockstep a run
//! depends on the commands alone.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use bytes::Bytes;
use proptest::prelude::*;
use vp_core::Time;
use vp_models::hub::{
    Access, AccessKind, Failure, FailureKind, Hub, Input, MemoryAccess, MemoryPromise, Operation, Output,
    PartyCommand, PartyId, PortIndex, Ran, Recorded, RequestId, Role, Tag, TimeMode, Until, replay,
};
use vp_models::platform::{Description, Platform};
use vp_tests::effort::cases;
use vp_tests::program::Program;
use vp_tests::random::Draw;

const CSB: PortIndex = PortIndex(0);
const LINE: PortIndex = PortIndex(1);
const MEMORY: PortIndex = PortIndex(2);
const CYCLE: Time = Time::ns(1);

/// What a random party does next.
#[derive(Debug, Clone, Copy)]
enum Act {
    Enter(u8),
    Leave(u8),
    Attach(u8, u8, u8, bool),
    Detach(u8, u8),
    /// The next register writes of the layer, posted or not.
    Program(u8, u8, bool),
    Read(u8, u16),
    Advance(u8, u8, u16),
    Step(u8, u16),
    Debug(u8, u16, bool),
    Scheduled(u8, u16),
    Reset(u8),
    /// The owners answer so many of what they were asked, or refuse it.
    Answer(u8, bool),
    /// Time may move so many cycles.
    Run(u16),
}

fn act() -> impl Strategy<Value = Act> {
    let party = || 1_u8..4;
    prop_oneof![
        2 => party().prop_map(Act::Enter),
        1 => party().prop_map(Act::Leave),
        4 => (party(), 0_u8..4, 0_u8..4, any::<bool>()).prop_map(|(p, port, role, part)| Act::Attach(p, port, role, part)),
        1 => (party(), 0_u8..4).prop_map(|(p, port)| Act::Detach(p, port)),
        8 => (party(), 1_u8..40, any::<bool>()).prop_map(|(p, writes, posted)| Act::Program(p, writes, posted)),
        4 => (party(), any::<u16>()).prop_map(|(p, word)| Act::Read(p, word)),
        4 => (party(), 0_u8..4, any::<u16>()).prop_map(|(p, kind, cycles)| Act::Advance(p, kind, cycles)),
        2 => (party(), any::<u16>()).prop_map(|(p, cycles)| Act::Step(p, cycles)),
        3 => (party(), any::<u16>(), any::<bool>()).prop_map(|(p, at, write)| Act::Debug(p, at, write)),
        1 => (party(), any::<u16>()).prop_map(|(p, cycles)| Act::Scheduled(p, cycles)),
        1 => party().prop_map(Act::Reset),
        8 => (1_u8..50, prop::bool::weighted(0.05)).prop_map(|(count, refuse)| Act::Answer(count, refuse)),
        10 => (0_u16..2_000).prop_map(Act::Run),
    ]
}

/// A hub with parties that do as they are told, and what came of it.
struct Stage {
    hub: Hub,
    recording: Rc<RefCell<Vec<Recorded>>>,
    outputs: Vec<Output>,
    asked: VecDeque<(PartyId, RequestId, MemoryAccess)>,
    /// The bytes of all memories outside.
    outside: BTreeMap<u64, u8>,
    /// What is left of the layer's register writes.
    writes: VecDeque<(u64, u32)>,
    next_tag: u64,
}

impl Stage {
    fn new(seed: u64, mode: TimeMode) -> Stage {
        let mut draw = Draw::new("nv_small", seed);
        let layer = draw.sdp(true);
        let mut hub = hub(draw.description(), mode);
        let recording: Rc<RefCell<Vec<Recorded>>> = Rc::default();
        let told = recording.clone();
        hub.on_input(move |recorded| told.borrow_mut().push(recorded.clone()));
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
        Stage { hub, recording, outputs, asked, outside, writes, next_tag: 0 }
    }

    fn handle(&mut self, input: Input) {
        self.hub.handle(input);
        self.poll();
    }

    fn poll(&mut self) {
        while let Some(output) = self.hub.poll() {
            if let Output::Request { party, request, access, .. } = &output {
                self.asked.push_back((*party, *request, access.clone()));
            }
            self.outputs.push(output);
        }
    }

    fn command(&mut self, party: PartyId, command: PartyCommand) {
        self.next_tag += 1;
        self.handle(Input::Command { party, tag: Tag(self.next_tag), command });
    }

    fn enter(&mut self, party: PartyId) {
        let memory = MemoryPromise { in_order: Some(16).filter(|_| party.0 == 2) };
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

    fn act(&mut self, act: Act) {
        let at = |cycles: u16| CYCLE * u64::from(cycles);
        let now = self.hub.now();
        match act {
            Act::Enter(party) if self.hub.parties() < 3 => {
                let party = PartyId(party.into());
                if !self.hub.has_party(party) {
                    self.enter(party);
                }
            }
            Act::Enter(_) => {}
            Act::Leave(party) => {
                let (party, why) = (PartyId(party.into()), "it went".to_owned());
                self.handle(Input::Leave { party, why });
            }
            Act::Attach(party, port, role, part) => {
                let role = [Role::Initiator, Role::Target, Role::Sink, Role::Source][usize::from(role)];
                let range = part.then_some(0x8000_0000..0x8000_0400);
                let command = PartyCommand::Attach { port: PortIndex(port.into()), role, range };
                self.command(PartyId(party.into()), command);
            }
            Act::Detach(party, port) => {
                self.command(PartyId(party.into()), PartyCommand::Detach { port: PortIndex(port.into()) });
            }
            Act::Program(party, count, posted) => {
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
            Act::Read(party, address) => {
                let operation = Operation::RegisterRead { address: u64::from(address) };
                let access = Access { port: CSB, at: None, operation };
                self.command(PartyId(party.into()), PartyCommand::Access(access));
            }
            Act::Advance(party, kind, cycles) => {
                let until = match kind {
                    0 => Until::Idle,
                    1 => Until::Time(now + at(cycles)),
                    2 => Until::Interrupt { port: LINE, limit: Some(now + at(cycles)) },
                    _ => Until::Interrupt { port: LINE, limit: None },
                };
                self.command(PartyId(party.into()), PartyCommand::Advance(until));
            }
            Act::Step(party, cycles) => {
                self.command(PartyId(party.into()), PartyCommand::Step { to: now + at(cycles) });
            }
            Act::Debug(party, offset, write) => {
                let (address, kind) = (0x8000_0000 + u64::from(offset), AccessKind::Debug);
                let operation = match write {
                    true => {
                        let data = Bytes::copy_from_slice(&offset.to_le_bytes());
                        Operation::MemoryWrite { address, data, strobes: None, kind }
                    }
                    false => Operation::MemoryRead { address, length: 9, kind },
                };
                let access = Access { port: MEMORY, at: None, operation };
                self.command(PartyId(party.into()), PartyCommand::Access(access));
            }
            Act::Scheduled(party, cycles) => {
                let operation = Operation::RegisterRead { address: 0x1000 };
                let access = Access { port: CSB, at: Some(now + at(cycles)), operation };
                self.command(PartyId(party.into()), PartyCommand::Access(access));
            }
            Act::Reset(party) => self.command(PartyId(party.into()), PartyCommand::Reset),
            Act::Answer(count, refuse) => (0..count).for_each(|_| self.answer(refuse)),
            Act::Run(cycles) => {
                self.hub.run(now + at(cycles));
                self.poll();
            }
        }
    }

    /// Answers and runs until nothing moves any more.
    fn finish(&mut self) {
        loop {
            let ran = self.hub.run(Time::MAX);
            self.poll();
            if !matches!(ran, Ran::Again | Ran::InInstant) && self.asked.is_empty() {
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

fn hub(description: &Description, mode: TimeMode) -> Hub {
    Hub::new(Platform::build(description).unwrap(), mode)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn a_recording_that_was_written_down_runs_again_to_the_same_outputs_and_event_hash(
        seed: u64, is_free: bool, acts in prop::collection::vec(act(), 1..120),
    ) {
        let mode = if is_free { TimeMode::Free } else { TimeMode::Lockstep };
        let mut stage = Stage::new(seed, mode);
        for party in 1..3 {
            stage.enter(PartyId(party));
        }
        let ends = [(1, CSB, Role::Initiator), (1, LINE, Role::Sink), (2, MEMORY, Role::Target)];
        for (party, port, role) in ends {
            stage.command(PartyId(party), PartyCommand::Attach { port, role, range: None });
        }
        acts.into_iter().for_each(|act| stage.act(act));
        stage.finish();
        let written = postcard::to_allocvec(&*stage.recording.borrow()).unwrap();
        let read: Vec<Recorded> = postcard::from_bytes(&written).unwrap();
        let mut again = hub(Draw::new("nv_small", seed).description(), mode);
        let outputs = replay(&mut again, &read).unwrap();
        for (again, before) in outputs.iter().zip(&stage.outputs) {
            prop_assert_eq!(again, before);
        }
        prop_assert_eq!(outputs.len(), stage.outputs.len());
        prop_assert_eq!(again.now(), stage.hub.now());
        prop_assert_eq!(again.platform().event_hash(), stage.hub.platform().event_hash());
    }

    #[test]
    fn in_lockstep_a_run_depends_on_the_commands_and_not_on_when_they_or_answers_came(
        seed: u64,
        pauses in prop::collection::vec((0_u16..500, 0_u8..6), 1..60),
    ) {
        let run = |pauses: &[(u16, u8)]| {
            let mut stage = Stage::new(seed, TimeMode::Lockstep);
            for party in 1..3 {
                stage.enter(PartyId(party));
            }
            let ends = [(1, CSB, Role::Initiator), (1, LINE, Role::Sink), (2, MEMORY, Role::Target)];
            for (party, port, role) in ends {
                stage.command(PartyId(party), PartyCommand::Attach { port, role, range: None });
            }
            let mut pauses = pauses.iter().copied().cycle();
            while !stage.writes.is_empty() {
                stage.act(Act::Program(1, 7, stage.writes.len().is_multiple_of(2)));
                for (cycles, answers) in pauses.by_ref().take(3) {
                    stage.act(Act::Run(cycles));
                    stage.act(Act::Answer(answers, false));
                }
            }
            stage.act(Act::Advance(1, 3, 0));
            stage.act(Act::Read(1, 0x100c));
            stage.finish();
            let told = |output: &Output| matches!(output, Output::Completed { .. } | Output::Level { .. });
            let outputs: Vec<Output> = stage.outputs.iter().filter(|output| told(output)).cloned().collect();
            (outputs, stage.outside, stage.hub.platform().event_hash())
        };
        let (outputs, outside, hash) = run(&pauses);
        let straight = run(&[(u16::MAX, u8::MAX)]);
        prop_assert_eq!(outputs, straight.0);
        prop_assert_eq!(outside, straight.1);
        prop_assert_eq!(hash, straight.2);
    }
}

/// The watch that a replay has: it says where it went another way.
#[test]
fn a_recording_of_another_platform_is_refused_where_the_run_goes_another_way() {
    let mut stage = Stage::new(3, TimeMode::Lockstep);
    stage.enter(PartyId(1));
    for (port, role) in [(CSB, Role::Initiator), (LINE, Role::Sink)] {
        stage.command(PartyId(1), PartyCommand::Attach { port, role, range: None });
    }
    stage.act(Act::Program(1, u8::MAX, true));
    stage.act(Act::Advance(1, 3, 0));
    stage.finish();
    let recording = stage.recording.borrow().clone();
    let mut slower = Draw::new("nv_small", 3).description().clone();
    slower.dbb0.read_latency = Some(vp_models::bus::axi::Latency::Fixed(300));
    let error = replay(&mut hub(&slower, TimeMode::Lockstep), &recording).unwrap_err();
    assert!(error.at != error.recorded && matches!(recording[error.entry], Recorded::Ran(_)), "{error}");
}
