//! Rules that partners of a hub must not break: each is named when one does, and the others go on.

use bytes::Bytes;
use vp_core::Time;
use vp_hub::{
    Access, Clock, Completion, Failure, FailureKind, Hub, Input, MemoryGuarantees, Operation, Output,
    PartyCommand, PartyId, PortEvent, PortId, Promise, Reaction, Role, RunState, Tag, TimeMode, Until, Why,
};
use vp_models::bus::axi::{AxiChannel, AxiEvent};
use vp_models::platform::{Description, DeviceDescription, Platform};

const CSB: PortId = PortId(0);
const LINE: PortId = PortId(1);
const MEMORY: PortId = PortId(2);
const CPU: PartyId = PartyId(1);
const PARTNER: PartyId = PartyId(2);

pub(crate) struct Stage {
    pub(crate) hub: Hub,
    tag: u64,
    pub(crate) heard: Vec<Output>,
}

impl Stage {
    /// A platform of nv_small with a CPU; its device is outside, or inside.
    fn new(is_outside: bool) -> Stage {
        let mut description = Description::named("nv_small").unwrap();
        if is_outside {
            let outside = description.device.outside();
            description.device = DeviceDescription::Outside(Box::new(outside));
        }
        let mut stage = Stage::of(&description);
        stage.enter(CPU, "the CPU");
        stage.attach(CPU, CSB, Role::Initiator).unwrap();
        stage
    }

    /// A platform without a party.
    pub(crate) fn of(description: &Description) -> Stage {
        let hub = Hub::new(Platform::build(description).unwrap(), TimeMode::Lockstep);
        Stage { hub, tag: 0, heard: Vec::new() }
    }

    pub(crate) fn enter(&mut self, party: PartyId, name: &str) {
        self.hub.handle(Input::Enter { party, name: name.to_owned(), memory: MemoryGuarantees::default() });
    }

    pub(crate) fn partner(&mut self, party: PartyId, reaction: Reaction) {
        self.enter(party, &format!("partner {}", party.0));
        self.command(party, PartyCommand::Clock(Clock { reaction, quantum: 0 })).unwrap();
    }

    pub(crate) fn attach(&mut self, party: PartyId, port: PortId, role: Role) -> Result<Completion, Failure> {
        self.command(party, PartyCommand::Attach { port, role, range: None })
    }

    /// Gives a command, and returns its result as far as it comes without a partner's doing.
    pub(crate) fn command(&mut self, party: PartyId, command: PartyCommand) -> Result<Completion, Failure> {
        let tag = self.begin(party, command);
        self.done(party, tag).expect("an end")
    }

    pub(crate) fn begin(&mut self, party: PartyId, command: PartyCommand) -> Tag {
        self.tag += 1;
        self.hub.handle(Input::Command { party, tag: Tag(self.tag), command });
        Tag(self.tag)
    }

    fn read_begun(&mut self) -> Tag {
        let operation = Operation::RegisterRead { address: 0 };
        self.begin(CPU, PartyCommand::Access(Access { port: CSB, at: None, operation }))
    }

    /// Lets time move as far as it may; the end of a command, if it has come.
    pub(crate) fn done(&mut self, party: PartyId, tag: Tag) -> Option<Result<Completion, Failure>> {
        loop {
            self.heard.extend(std::iter::from_fn(|| self.hub.poll()));
            let is_end = |output: &Output| matches!(output, Output::Completed { party: of, tag: it, .. } if (*of, *it) == (party, tag));
            if let Some(at) = self.heard.iter().position(is_end)
                && let Output::Completed { result, .. } = self.heard.remove(at)
            {
                return Some(result);
            }
            if self.hub.run(Time::MAX) == RunState::Waiting {
                let before = self.heard.len();
                self.heard.extend(std::iter::from_fn(|| self.hub.poll()));
                if self.heard.len() == before {
                    return None;
                }
            }
        }
    }

    fn promise(&mut self, heard: u64, next: Time) {
        self.hub.handle(Input::Promised { party: PARTNER, promise: Promise { heard, next } });
    }

    fn drive(&mut self, port: PortId, at: Time, event: PortEvent) {
        self.hub.handle(Input::Driven { party: PARTNER, port, at, event });
    }

    /// Reason for which the partner was put out, if it was.
    fn expelled(&mut self) -> Option<String> {
        while self.hub.run(Time::MAX) != RunState::Waiting {}
        self.heard.extend(std::iter::from_fn(|| self.hub.poll()));
        self.heard.iter().find_map(|output| match output {
            Output::Expelled { party: PARTNER, failure, .. } => Some(failure.reason.clone()),
            _ => None,
        })
    }
}

fn refused(result: Result<Completion, Failure>) -> (FailureKind, String) {
    let failure = result.expect_err("a refusal");
    (failure.kind, failure.reason)
}

/// A partner that is the memory of a platform whose CPU is waiting for a register does this, and is put out for that reason.
fn is_put_out(does: impl Fn(&mut Stage), reason: &str) {
    let mut stage = Stage::new(false);
    stage.partner(PARTNER, Reaction::NextEdge);
    stage.attach(PARTNER, MEMORY, Role::Target).unwrap();
    does(&mut stage);
    let tag = stage.read_begun();
    let value = stage.done(CPU, tag);
    let why = stage.expelled().unwrap_or_else(|| panic!("not put out; expected: {reason}"));
    assert!(why.contains(reason), "{why}");
    assert!(matches!(value, Some(Ok(Completion::Value(_)))), "{value:?}");
    let warned = stage.heard.iter().any(|output| {
        matches!(output, Output::Warning { text, .. } if text.contains("partner 2") && text.contains(reason))
    });
    assert!(warned, "nobody was told");
}

fn axi(event: AxiEvent) -> PortEvent {
    PortEvent::Axi(event)
}

#[test]
fn a_memory_that_answers_what_nobody_asked_is_put_out() {
    let data = Bytes::from_static(&[0; 8]);
    let beat = AxiEvent::ReadData { id: 3, data, last: true, error: false };
    is_put_out(|stage| stage.drive(MEMORY, Time::ZERO, axi(beat.clone())), "R with id 3: no read of that id");
    let response = AxiEvent::WriteResponse { id: 1, error: false };
    is_put_out(
        |stage| stage.drive(MEMORY, Time::ZERO, axi(response.clone())),
        "B with id 1: no write of that id",
    );
}

#[test]
fn beats_have_the_width_of_the_bus() {
    let beat = AxiEvent::ReadData { id: 3, data: Bytes::from_static(&[0; 4]), last: true, error: false };
    is_put_out(
        |stage| stage.drive(MEMORY, Time::ZERO, axi(beat.clone())),
        "4 bytes: the bus is 8 bytes wide",
    );
}

#[test]
fn channels_are_driven_from_their_side() {
    let address = AxiEvent::ReadAddress { id: 0, address: 0, beats: 1 };
    is_put_out(
        |stage| stage.drive(MEMORY, Time::ZERO, axi(address.clone())),
        "it drives AR as the target of an AXI port: only the initiator of an AXI port does",
    );
    for port in [MEMORY, LINE, PortId(99)] {
        is_put_out(
            |stage| stage.drive(port, Time::ZERO, PortEvent::Level(true)),
            "only the source of an interrupt line does",
        );
    }
}

/// A port that a partner attached before it had a clock is accessed by requests, also where another partner drives such a port.
#[test]
fn a_port_of_requests_is_not_driven() {
    let mut stage = Stage::new(false);
    let other = PartyId(3);
    stage.partner(other, Reaction::NextEdge);
    stage.attach(other, MEMORY, Role::Initiator).unwrap();
    stage.enter(PARTNER, "partner 2");
    stage.attach(PARTNER, MEMORY, Role::Initiator).unwrap();
    stage.command(PARTNER, PartyCommand::Clock(Clock { reaction: Reaction::NextEdge, quantum: 0 })).unwrap();
    let address = AxiEvent::WriteAddress { id: 0, address: 0x8000_0000, beats: 1 };
    stage.drive(MEMORY, Time::ZERO, axi(address));
    let promise = Promise { heard: 0, next: Time::MAX };
    stage.hub.handle(Input::Promised { party: other, promise });
    let why = stage.expelled().expect("it drives a port of requests");
    assert!(why.contains("it drives AW at a port that it has not attached with a clock"), "{why}");
}

#[test]
fn promises_are_held() {
    let ready = || axi(AxiEvent::Ready { channel: AxiChannel::ReadAddress, ready: false });
    is_put_out(
        |stage| {
            stage.promise(0, Time::ns(9));
            stage.drive(MEMORY, Time::ns(8), ready());
        },
        "to be seen at 8 ns, having promised nothing before 9 ns",
    );
    is_put_out(
        |stage| {
            stage.promise(0, Time::ns(9));
            stage.promise(0, Time::ns(8));
        },
        "promises nothing before 8 ns, having promised nothing before 9 ns",
    );
    is_put_out(|stage| stage.drive(MEMORY, Time::ps(1_500), ready()), "between two clock edges of 1 ns");
    is_put_out(|stage| stage.promise(7, Time::ns(9)), "heard 7 events, and was sent 0 only");
}

/// No input follows that would have the hub run once more.
#[test]
fn what_is_driven_in_an_instant_that_is_not_over_takes_effect_at_its_end() {
    let mut stage = Stage::new(false);
    let tag = stage.read_begun();
    stage.done(CPU, tag).unwrap().unwrap();
    stage.partner(PARTNER, Reaction::NextEdge);
    stage.read_begun();
    stage.drive(CSB, stage.hub.now(), PortEvent::RegisterAnswer(0));
    let why = stage.expelled().expect("it drives a port that it does not hold");
    assert!(why.contains("csb0"), "{why}");
}

#[test]
fn a_quantum_has_an_end() {
    let mut stage = Stage::new(false);
    stage.enter(PARTNER, "a partner");
    let clock = |quantum| PartyCommand::Clock(Clock { reaction: Reaction::NextEdge, quantum });
    let (kind, reason) = refused(stage.command(PARTNER, clock(1025)));
    assert_eq!((kind, reason.as_str()), (FailureKind::Unsupported, "a quantum of 1025 edges: at most 1024"));
    stage.command(PARTNER, clock(1024)).unwrap();
}

/// With a quantum a master sees a ready late that goes low: so many addresses may wait, and no more.
#[test]
fn addresses_wait_as_many_as_a_quantum_explains() {
    for quantum in [0, 3] {
        let mut stage = Stage::new(true);
        stage.enter(PARTNER, "partner 2");
        stage.command(PARTNER, PartyCommand::Clock(Clock { reaction: Reaction::NextEdge, quantum })).unwrap();
        stage.attach(PARTNER, MEMORY, Role::Initiator).unwrap();
        let most = 2 * quantum + 1;
        for _ in 0..most {
            stage.drive(
                MEMORY,
                Time::ZERO,
                axi(AxiEvent::ReadAddress { id: 1, address: 0x8000_0000, beats: 1 }),
            );
        }
        assert_eq!(stage.expelled(), None, "{most} addresses");
        stage.drive(MEMORY, Time::ZERO, axi(AxiEvent::ReadAddress { id: 1, address: 0x8000_0000, beats: 1 }));
        assert!(stage.expelled().unwrap().contains("AR: another address"), "{most} addresses and one");
    }
}

#[test]
fn a_port_has_one_device() {
    let mut stage = Stage::new(true);
    let other = PartyId(3);
    stage.partner(PARTNER, Reaction::NextEdge);
    stage.partner(other, Reaction::NextEdge);
    for (port, role) in [(CSB, Role::Target), (LINE, Role::Source), (MEMORY, Role::Initiator)] {
        stage.attach(PARTNER, port, role).unwrap();
        let (kind, reason) = refused(stage.attach(other, port, role));
        assert_eq!(kind, FailureKind::PortBusy, "{reason}");
        assert!(reason.contains("partner 2"), "{reason}");
    }
}

/// The line of a device outside may be another partner's than its registers.
#[test]
fn a_line_may_be_cut_by_itself() {
    let mut stage = Stage::new(true);
    let line = PartyId(3);
    stage.partner(PARTNER, Reaction::NextEdge);
    stage.partner(line, Reaction::NextEdge);
    stage.attach(PARTNER, CSB, Role::Target).unwrap();
    stage.attach(line, LINE, Role::Source).unwrap();
    stage.promise(0, Time::MAX);
    let wait = PartyCommand::Advance(Until::Interrupt { port: LINE, limit: None });
    let tag = stage.begin(CPU, wait);
    assert_eq!(stage.done(CPU, tag), None);
    let (at, event) = (Time::ns(40), PortEvent::Level(true));
    stage.hub.handle(Input::Driven { party: line, port: LINE, at, event });
    assert_eq!(stage.done(CPU, tag), None, "what else is seen at that edge may be to come");
    let promise = Promise { heard: 0, next: Time::MAX };
    stage.hub.handle(Input::Promised { party: line, promise });
    assert_eq!(stage.done(CPU, tag), Some(Ok(Completion::Reached(Why::Interrupt))));
    assert_eq!(stage.hub.now(), at);
}

/// A partner listens to the line of a device inside beside a CPU without a clock.
#[test]
fn a_partner_may_listen_to_a_line() {
    let mut stage = Stage::new(false);
    stage.partner(PARTNER, Reaction::NextEdge);
    stage.attach(PARTNER, LINE, Role::Sink).unwrap();
    stage.promise(0, Time::MAX);
    // GLB.S_INTR_SET: SDP's interrupt is set by software.
    let operation = Operation::RegisterWrite { address: 0x1008, value: 1 };
    let tag = stage.begin(CPU, PartyCommand::Access(Access { port: CSB, at: None, operation }));
    assert_eq!(stage.done(CPU, tag), None, "the partner may react to the level at its edge");
    let told = |output: &Output| {
        matches!(output, Output::Driven { party: PARTNER, port: LINE, event: PortEvent::Level(true), .. })
    };
    assert!(stage.heard.iter().any(told), "{:?}", stage.heard);
    stage.promise(1, Time::MAX);
    assert_eq!(stage.done(CPU, tag), Some(Ok(Completion::Done)));
}

#[test]
fn a_device_inside_is_nobody_elses_and_one_outside_has_a_clock() {
    let mut stage = Stage::new(false);
    stage.partner(PARTNER, Reaction::NextEdge);
    let (kind, reason) = refused(stage.attach(PARTNER, CSB, Role::Target));
    assert_eq!(kind, FailureKind::WrongRole);
    assert!(reason.contains("[outside_device]"), "{reason}");
    let mut stage = Stage::new(true);
    stage.enter(PARTNER, "no partner");
    let (_, reason) = refused(stage.attach(PARTNER, CSB, Role::Target));
    assert!(reason.contains("declare a clock first"), "{reason}");
}

#[test]
fn one_side_of_a_path_is_registered() {
    let mut stage = Stage::new(true);
    let other = PartyId(3);
    stage.partner(PARTNER, Reaction::SameEdge);
    stage.partner(other, Reaction::SameEdge);
    stage.attach(PARTNER, MEMORY, Role::Initiator).unwrap();
    let (kind, reason) = refused(stage.attach(other, MEMORY, Role::Target));
    assert_eq!(kind, FailureKind::ContractBroken);
    assert!(reason.contains("dbb0") && reason.contains("partner 2"), "{reason}");
}

#[test]
fn without_a_device_the_cpu_sees_a_bus_error_and_a_device_that_goes_leaves_one() {
    let mut stage = Stage::new(true);
    let tag = stage.read_begun();
    let (kind, reason) = refused(stage.done(CPU, tag).expect("an end"));
    assert_eq!(kind, FailureKind::SlaveError);
    assert!(reason.contains("no device is attached to csb0"), "{reason}");

    stage.partner(PARTNER, Reaction::NextEdge);
    stage.attach(PARTNER, CSB, Role::Target).unwrap();
    stage.attach(PARTNER, LINE, Role::Source).unwrap();
    stage.promise(0, Time::ns(50));
    let tag = stage.read_begun();
    assert_eq!(stage.done(CPU, tag), None, "nobody has answered");
    let asked = stage.heard.iter().any(|output| {
        matches!(output, Output::Driven { event: PortEvent::Register { address: 0, write: None, .. }, .. })
    });
    assert!(asked, "{:?}", stage.heard);
    stage.hub.handle(Input::Leave { party: PARTNER, why: "it went".to_owned() });
    let (kind, reason) = refused(stage.done(CPU, tag).expect("an end"));
    assert_eq!(kind, FailureKind::SlaveError);
    assert!(reason.contains("partner 2") && reason.contains("it went"), "{reason}");
}

#[test]
fn a_device_that_does_not_answer_leaves_the_cpu_a_bus_error_in_the_end() {
    let mut stage = Stage::new(true);
    stage.partner(PARTNER, Reaction::NextEdge);
    stage.attach(PARTNER, CSB, Role::Target).unwrap();
    stage.promise(0, Time::us(60));
    let tag = stage.read_begun();
    assert_eq!(stage.done(CPU, tag), None, "it has time to answer");
    stage.promise(1, Time::us(70));
    let (kind, reason) = refused(stage.done(CPU, tag).expect("an end"));
    assert_eq!(kind, FailureKind::SlaveError);
    assert!(reason.contains("csb0: no answer within 65536 cycles from register 0x0"), "{reason}");
}

#[test]
fn an_answer_that_nobody_waits_for_ends_a_device() {
    let mut stage = Stage::new(true);
    // The first instant is over then.
    let tag = stage.read_begun();
    assert!(stage.done(CPU, tag).is_some());
    stage.partner(PARTNER, Reaction::NextEdge);
    stage.attach(PARTNER, CSB, Role::Target).unwrap();
    stage.drive(CSB, Time::ZERO, PortEvent::RegisterAnswer(1));
    assert!(stage.expelled().unwrap().contains("csb0, at 0 s: an answer to no access"));
    let tag = stage.read_begun();
    let (kind, reason) = refused(stage.done(CPU, tag).expect("an end"));
    assert_eq!(kind, FailureKind::SlaveError, "{reason}");
}
