//! Recordings of hubs with partners, and of memories that are accessed directly, run again to the same outputs.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use bytes::Bytes;
use proptest::prelude::*;
use vp_core::Time;
use vp_hub::{
    Access, Clock, Completion, DirectMemory, DirectRange, Hub, Input, LinkedHub, LinkedPort,
    MemoryGuarantees, Operation, Output, PartyCommand, PartyId, PortId, Reaction, Recorded, RequestId, Role,
    RunState, Tag, TimeMode, Until, replay,
};
use vp_models::bus::axi::Latency;
use vp_models::platform::{Description, DeviceDescription, Platform};
use vp_tests::effort::cases;
use vp_tests::program::Program;
use vp_tests::random::Draw;

const CSB: PortId = PortId(0);
const LINE: PortId = PortId(1);
const MEMORY: PortId = PortId(2);
const CPU: PartyId = PartyId(1);
const PARTNER: PartyId = PartyId(2);

fn hub(description: &Description, mode: TimeMode) -> Hub {
    Hub::new(Platform::build(description).unwrap(), mode)
}

/// A platform whose CPU is here, and what is recorded of it.
struct Stage {
    hub: Hub,
    recording: Rc<RefCell<Vec<Recorded>>>,
    outputs: Vec<Output>,
    /// The layer's register writes that are left.
    writes: VecDeque<(u64, u32)>,
    next_tag: u64,
}

impl Stage {
    fn new(description: &Description, mode: TimeMode, draw: &mut Draw) -> Stage {
        let layer = draw.sdp(true);
        let mut hub = hub(description, mode);
        let recording: Rc<RefCell<Vec<Recorded>>> = Rc::default();
        let told = recording.clone();
        hub.record_to(move |recorded| told.borrow_mut().push(recorded));
        let map = hub.platform().map();
        let mut program = Program::new(map);
        program.sdp(&layer, 0);
        program.enable_sdp(0);
        let address = |unit, register| u64::from(map.address(unit, register).unwrap());
        let writes = program.writes.iter().map(|write| (address(write.unit, write.register), write.value));
        let writes = writes.collect();
        let mut stage = Stage { hub, recording, outputs: Vec::new(), writes, next_tag: 0 };
        stage.enter(CPU);
        for (port, role) in [(CSB, Role::Initiator), (LINE, Role::Sink)] {
            stage.command(CPU, PartyCommand::Attach { port, role, range: None });
        }
        stage
    }

    fn enter(&mut self, party: PartyId) {
        let (name, memory) = (format!("party {}", party.0), MemoryGuarantees::default());
        self.hub.handle(Input::Enter { party, name, memory });
    }

    fn command(&mut self, party: PartyId, command: PartyCommand) {
        self.next_tag += 1;
        self.hub.handle(Input::Command { party, tag: Tag(self.next_tag), command });
    }

    fn program(&mut self, count: u8, posted: bool) {
        for (address, value) in
            self.writes.drain(..usize::from(count).min(self.writes.len())).collect::<Vec<_>>()
        {
            let operation = Operation::RegisterWrite { address, value };
            let access = Access { port: CSB, at: None, operation };
            match posted {
                true => self.hub.handle(Input::Posted { party: CPU, access }),
                false => self.command(CPU, PartyCommand::Access(access)),
            }
        }
    }

    /// The outputs since the last call.
    fn poll(&mut self) -> Vec<Output> {
        let outputs: Vec<Output> = std::iter::from_fn(|| self.hub.poll()).collect();
        self.outputs.extend_from_slice(&outputs);
        outputs
    }

    /// Checks that what is recorded runs again as it ran.
    fn runs_again_on(&mut self, description: &Description) -> Result<(), TestCaseError> {
        self.hub.handle(Input::Leave { party: CPU, why: "the end".to_owned() });
        self.poll();
        let written = postcard::to_allocvec(&*self.recording.borrow()).unwrap();
        let read: Vec<Recorded> = postcard::from_bytes(&written).unwrap();
        let mut again = hub(description, self.hub.mode());
        let outputs = replay(&mut again, &read).map_err(|error| TestCaseError::fail(error.to_string()))?;
        // What has come of attaching was taken by who attached.
        let is_told = |output: &Output| !matches!(output, Output::Completed { party: PARTNER, .. });
        let outputs: Vec<Output> = outputs.into_iter().filter(is_told).collect();
        self.outputs.retain(is_told);
        for (again, before) in outputs.iter().zip(&self.outputs) {
            prop_assert_eq!(again, before);
        }
        prop_assert_eq!(outputs.len(), self.outputs.len());
        prop_assert_eq!(again.now(), self.hub.now());
        prop_assert_eq!(again.platform().event_hash(), self.hub.platform().event_hash());
        Ok(())
    }
}

/// Next act in a run.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// The next register writes of the layer, posted or not.
    Program(u8, bool),
    Read(u16),
    Advance(bool, u16),
    Reset,
    /// Time may move so many cycles.
    Run(u16),
    /// The partner goes on.
    Partner,
    /// Arrival of a share of what the partner has said.
    Arrive(u8),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (1_u8..60, any::<bool>()).prop_map(|(count, posted)| Act::Program(count, posted)),
        2 => any::<u16>().prop_map(|address| Act::Read(address & 0xfffc)),
        2 => (any::<bool>(), 0_u16..3000).prop_map(|(line, cycles)| Act::Advance(line, cycles)),
        1 => Just(Act::Reset),
        8 => (0_u16..2_000).prop_map(Act::Run),
        8 => Just(Act::Partner),
        8 => (1_u8..40).prop_map(Act::Arrive),
    ]
}

/// A part of the platform is another hub's.
struct Cut {
    stage: Stage,
    linked: LinkedHub,
    /// Inputs that the other hub has said, and that have not arrived.
    said: VecDeque<Input>,
}

impl Cut {
    fn deliver(&mut self) {
        for output in self.stage.poll() {
            match output {
                Output::Driven { party: PARTNER, .. }
                | Output::Promised { party: PARTNER, .. }
                | Output::Request { party: PARTNER, .. } => self.linked.take(output),
                Output::Expelled { failure, .. } => panic!("{failure}"),
                _ => {}
            }
        }
    }

    fn arrive(&mut self, count: usize) {
        for input in self.said.drain(..count.min(self.said.len())) {
            self.stage.hub.handle(input);
        }
    }

    fn act(&mut self, act: Act) {
        let now = self.stage.hub.now();
        let at = |cycles: u16| now + Time::ns(1) * u64::from(cycles);
        match act {
            Act::Program(count, posted) => self.stage.program(count, posted),
            Act::Read(address) => {
                let operation = Operation::RegisterRead { address: u64::from(address) };
                self.stage.command(CPU, PartyCommand::Access(Access { port: CSB, at: None, operation }));
            }
            Act::Advance(line, cycles) => {
                let until = match line {
                    true => Until::Interrupt { port: LINE, limit: Some(at(cycles)) },
                    false => Until::Time(at(cycles)),
                };
                self.stage.command(CPU, PartyCommand::Advance(until));
            }
            Act::Reset => self.stage.command(CPU, PartyCommand::Reset),
            Act::Run(cycles) => {
                self.stage.hub.run(at(cycles));
            }
            Act::Partner => {
                self.deliver();
                self.said.extend(self.linked.run());
            }
            Act::Arrive(count) => self.arrive(usize::from(count)),
        }
    }

    /// Goes on until nothing moves any more.
    fn finish(&mut self) {
        loop {
            while matches!(self.stage.hub.run(Time::ms(1)), RunState::Again | RunState::InInstant) {}
            self.deliver();
            self.said.extend(self.linked.run());
            if self.said.is_empty() {
                return;
            }
            self.arrive(usize::MAX);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn a_recording_with_a_partner_runs_again_to_the_same_outputs_and_event_hash(
        seed: u64,
        (is_free, is_device, quantum) in (any::<bool>(), any::<bool>(), prop_oneof![Just(0_u32), Just(5)]),
        acts in prop::collection::vec(act(), 1..120),
    ) {
        let mode = if is_free { TimeMode::Free } else { TimeMode::Lockstep };
        let mut draw = Draw::new("nv_small", seed);
        let mut whole = draw.description().clone();
        (whole.dbb0.read_latency, whole.dbb0.write_latency) = (Some(Latency::Fixed(20)), Latency::Fixed(3));
        let mut here = whole.clone();
        if is_device {
            here.device = DeviceDescription::Outside(Box::new(whole.device.outside()));
        }
        let mut stage = Stage::new(&here, mode, &mut draw);
        let link = |(port, role)| LinkedPort { there: port, role, here: port };
        let ports = match is_device {
            true => vec![(CSB, Role::Target), (LINE, Role::Source), (MEMORY, Role::Initiator)],
            false => vec![(MEMORY, Role::Target)],
        };
        let clock = Clock { reaction: Reaction::NextEdge, quantum };
        let ports = ports.into_iter().map(link).collect();
        let there = hub(&whole, TimeMode::Free);
        let linked = LinkedHub::new(there, (&mut stage.hub, PARTNER), ("the part", clock), ports).unwrap();
        let mut cut = Cut { stage, linked, said: VecDeque::new() };
        acts.into_iter().for_each(|act| cut.act(act));
        cut.finish();
        cut.stage.hub.handle(Input::Leave { party: PARTNER, why: "the end".to_owned() });
        cut.stage.runs_again_on(&here)?;
    }
}

/// Bytes that a party shares.
struct Shared(RefCell<Vec<u8>>);

impl DirectMemory for Shared {
    fn read(&self, offset: u64, into: &mut [u8]) -> bool {
        let bytes = self.0.borrow();
        let part = bytes.get(offset as usize..offset as usize + into.len());
        part.is_some_and(|part| {
            into.copy_from_slice(part);
            true
        })
    }

    fn write(&self, offset: u64, from: &[u8]) -> bool {
        let mut bytes = self.0.borrow_mut();
        let part = bytes.get_mut(offset as usize..offset as usize + from.len());
        part.is_some_and(|part| {
            part.copy_from_slice(from);
            true
        })
    }
}

#[test]
fn a_recording_has_the_bytes_that_were_accessed_directly() {
    let owner = PARTNER;
    let mut draw = Draw::new("nv_small", 11);
    let description = draw.description().clone();
    let mut stage = Stage::new(&description, TimeMode::Lockstep, &mut draw);
    stage.enter(owner);
    stage.command(owner, PartyCommand::Attach { port: MEMORY, role: Role::Target, range: None });
    // What the layer reads is shared. What it writes, drawn last, is asked for and seen in the outputs.
    let image = draw.image();
    let sources = image.regions().len() - 1;
    let parts = (image.regions().iter().take(sources))
        .map(|(base, bytes)| DirectRange {
            range: *base..*base + bytes.len() as u64,
            memory: Rc::new(Shared(RefCell::new(bytes.to_vec()))),
        })
        .collect();
    stage.hub.access_directly(owner, MEMORY, parts).unwrap();
    stage.program(u8::MAX, true);
    stage.command(CPU, PartyCommand::Advance(Until::Interrupt { port: LINE, limit: Some(Time::ms(1)) }));
    let mut bytes: BTreeMap<u64, u8> = BTreeMap::new();
    let mut written = 0;
    loop {
        let ran = stage.hub.run(Time::ms(1));
        let asked: Vec<_> = (stage.poll().into_iter())
            .filter_map(|output| match output {
                Output::Request { request, access, .. } => Some((request, access)),
                _ => None,
            })
            .collect();
        if asked.is_empty() && !matches!(ran, RunState::Again | RunState::InInstant) {
            break;
        }
        for (request, access) in asked {
            let request: RequestId = request;
            let data: Bytes = match access.write {
                Some((data, _)) => {
                    written += data.len();
                    bytes.extend((access.address..).zip(data));
                    Bytes::new()
                }
                None => {
                    let byte = |at| bytes.get(&(access.address + u64::from(at))).copied().unwrap_or(0);
                    (0..access.length).map(byte).collect()
                }
            };
            stage.hub.handle(Input::Answer { party: owner, request, result: Ok(data) });
        }
    }
    assert!(written > 0, "the layer has written nothing");
    let direct = |entry: &Recorded| matches!(entry, Recorded::Accessed(Some(bytes)) if !bytes.is_empty());
    assert!(stage.recording.borrow().iter().any(direct), "nothing was read directly");
    stage.runs_again_on(&description).unwrap();
}

/// More posted writes than may wait for the bus, and a read behind them: which begins when does not depend on where a run is cut,
/// so what is recorded of a run that is cut often runs again in one piece.
#[test]
fn when_a_full_bus_has_room_again_does_not_depend_on_where_a_run_is_cut() {
    let description = Description::named("nv_small").unwrap();
    let run = |piece: Time| {
        let mut stage = Stage::new(&description, TimeMode::Free, &mut Draw::new("nv_small", 1));
        stage.poll();
        // PDP.D_SRC_LINE_STRIDE: whatever is written has no effect before the layer begins.
        let address = u64::from(stage.hub.platform().map().find("PDP.D_SRC_LINE_STRIDE").unwrap().address);
        for value in 0..70_000 {
            let operation = Operation::RegisterWrite { address, value: value * 8 };
            stage.hub.handle(Input::Posted { party: CPU, access: Access { port: CSB, at: None, operation } });
        }
        let operation = Operation::RegisterRead { address };
        stage.command(CPU, PartyCommand::Access(Access { port: CSB, at: None, operation }));
        while let Some(next) = stage.hub.next_time() {
            stage.hub.run(next + piece);
        }
        stage.poll();
        stage.runs_again_on(&description).unwrap();
        stage.outputs.iter().find_map(|output| match output {
            Output::Completed { time, result: Ok(Completion::Value(value)), .. } => Some((*time, *value)),
            _ => None,
        })
    };
    let whole = run(Time::MAX);
    assert!(whole.is_some_and(|(_, value)| value == 69_999 * 8), "{whole:?}");
    assert_eq!([32, 1_000, 7_777].map(|cycles| run(Time::ns(cycles))), [whole; 3]);
}
