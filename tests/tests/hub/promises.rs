//! The hub's promises, with random parties: the same inputs at the same places give the same run, and in lockstep a run
//! depends on the commands alone.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use proptest::prelude::*;
use vp_core::Time;
use vp_core::observe::{LevelUnit, SourceKind, What};
use vp_host::Host as _;
use vp_host::LocalHost;
use vp_hub::{
    Access, AccessKind, Input, MemoryGuarantees, Operation, Output, PartyCommand, PartyId, PortId, Recorded,
    ReplayError, Role, RunState, Tag, TimeMode, replay,
};
use vp_tests::effort::cases;
use vp_tests::random::Draw;
use vp_tests::stage::{Act, Stage, hub};

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
        2 => (party(), any::<u16>(), any::<bool>()).prop_map(|(p, at, register)| Act::Beside(p, at, register)),
        1 => (party(), any::<u16>()).prop_map(|(p, cycles)| Act::Scheduled(p, cycles)),
        1 => party().prop_map(Act::Reset),
        1 => (party(), 0_u8..16, any::<u16>()).prop_map(|(p, kind, number)| Act::Inject(p, kind, number)),
        8 => (1_u8..50, prop::bool::weighted(0.05)).prop_map(|(count, refuse)| Act::Answer(count, refuse)),
        10 => (0_u16..2_000).prop_map(Act::Run),
        3 => (any::<u8>(), any::<u16>()).prop_map(|(what, value)| Act::Debugger(what, value)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn a_recording_that_was_written_down_runs_again_to_the_same_outputs_and_event_hash(
        seed: u64, is_free: bool, acts in prop::collection::vec(act(), 1..120),
    ) {
        let mode = if is_free { TimeMode::Free } else { TimeMode::Lockstep };
        let mut stage = Stage::new(seed, mode);
        acts.into_iter().for_each(|act| stage.act(act));
        stage.finish();
        stage.check_replay();
    }

    #[test]
    fn in_lockstep_a_run_depends_on_the_commands_and_not_on_when_they_or_answers_came(
        seed: u64,
        pauses in prop::collection::vec((0_u16..500, 0_u8..6), 1..60),
    ) {
        let run = |pauses: &[(u16, u8)]| {
            let mut stage = Stage::new(seed, TimeMode::Lockstep);
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
    // The platform's own memory has the latency.
    stage.act(Act::Leave(2));
    stage.act(Act::Program(1, u8::MAX, true));
    stage.act(Act::Advance(1, 3, 0));
    stage.finish();
    let recording = stage.recording.borrow().clone();
    let mut slower = Draw::new("nv_small", 3).description().clone();
    slower.dbb0.read_latency = Some(vp_models::bus::axi::Latency::Fixed(300));
    let error = replay(&mut hub(&slower, TimeMode::Lockstep), &recording).unwrap_err();
    let ReplayError::Elsewhere { entry, at, recorded } = &error else { panic!("{error}") };
    assert!(at != recorded && matches!(recording[*entry as usize], Recorded::Ran(_)), "{error}");
}

/// A process sees in the middle of an instant what has come before, in the recorded run and in the replay.
#[test]
fn inputs_in_the_middle_of_an_instant_of_many_delta_cycles_take_effect_there_again() {
    const PLACE: u64 = 0x8000_0000;
    let description = Draw::new("nv_small", 3).description().clone();
    let spinning = || {
        let hub = hub(&description, TimeMode::Free);
        let (sim, ram) = (hub.platform().sim(), hub.platform().memory("dbb0").unwrap().ram());
        let source = sim.source("seen", SourceKind::Level { bits: 8, unit: LevelUnit::None });
        sim.clone().process("spins", async move {
            for cycle in 0..90_000 {
                sim.wait(Time::ZERO).await;
                if cycle == 50_000 {
                    sim.report(source, What::Level(ram.copy(PLACE, 1).unwrap()[0].into()));
                }
            }
        });
        hub
    };
    let recording = Rc::new(RefCell::new(Vec::new()));
    let told = recording.clone();
    let mut recorded = spinning();
    recorded.record_to(move |entry| told.borrow_mut().push(entry));
    let (party, port) = (PartyId(1), PortId(2));
    recorded.handle(Input::Enter { party, name: "it".to_owned(), memory: MemoryGuarantees::default() });
    let command = |tag, command| Input::Command { party, tag: Tag(tag), command };
    recorded.handle(command(1, PartyCommand::Attach { port, role: Role::Initiator, range: None }));
    let mut pieces = 0;
    loop {
        match recorded.run(Time::ns(9)) {
            RunState::InInstant => pieces += 1,
            RunState::Again => {}
            RunState::Limit | RunState::Waiting => break,
        }
        if pieces == 3 {
            let (data, kind) = (Bytes::from_static(&[7]), AccessKind::Debug);
            let operation = Operation::MemoryWrite { address: PLACE, data, strobes: None, kind };
            recorded.handle(command(2, PartyCommand::Access(Access { port, at: None, operation })));
            pieces += 1;
        }
    }
    assert!(pieces > 4, "{pieces}");
    let hash = recorded.platform().event_hash();
    drop(recorded);
    let mut again = spinning();
    replay(&mut again, &recording.borrow()).unwrap();
    assert_eq!(again.platform().event_hash(), hash);
}

/// Warnings that repeat are told anew once they were summed up: who asks for that changes what comes after.
#[test]
fn warnings_that_a_host_asks_for_in_the_middle_of_a_run_are_asked_for_again() {
    let description = Draw::new("nv_small", 3).description().clone();
    let recording = Rc::new(RefCell::new(Vec::new()));
    let told = recording.clone();
    let mut hub_of_host = hub(&description, TimeMode::Lockstep);
    hub_of_host.record_to(move |entry| told.borrow_mut().push(entry));
    let mut host = LocalHost::at(hub_of_host);
    // A layer whose input is not in memory: each of its bursts fails.
    let source = host.map().find("SDP_RDMA.D_SRC_BASE_ADDR_LOW").unwrap().address;
    for (address, value) in Stage::new(3, TimeMode::Lockstep).writes {
        let is_source = address == u64::from(source);
        host.write(address as u32, if is_source { 0x1000 } else { value }).unwrap();
    }
    let mut warnings = 0;
    for _ in 0..12 {
        host.read(0x1000).unwrap();
        warnings += host.warnings().len();
    }
    assert!(warnings > 3, "{warnings}");
    host.read(0x1000).unwrap();
    drop(host);
    replay(&mut hub(&description, TimeMode::Lockstep), &recording.borrow()).unwrap();
}

#[test]
fn jobs_begin_round_and_round_over_the_parties_in_the_order_of_their_numbers() {
    let mut hub = hub(Draw::new("nv_small", 3).description(), TimeMode::Free);
    let port = PortId(2);
    let enter = |party| Input::Enter { party, name: "it".to_owned(), memory: MemoryGuarantees::default() };
    let command = |party, tag, command| Input::Command { party, tag: Tag(tag), command };
    for party in [5, 3, 9, 7, 4].map(PartyId) {
        hub.handle(enter(party));
        let attach = PartyCommand::Attach { port, role: Role::Initiator, range: None };
        hub.handle(command(party, 0, attach));
        let (address, at) = (0x8000_0000, Some(Time::us(1)));
        let operation = Operation::MemoryRead { address, length: 1, kind: AccessKind::Timed };
        for tag in 1..=2 {
            let access = Access { port, at, operation: operation.clone() };
            hub.handle(command(party, tag, PartyCommand::Access(access)));
        }
    }
    // What they have asked for is forgotten.
    hub.handle(Input::Leave { party: PartyId(7), why: "it goes".to_owned() });
    hub.handle(enter(PartyId(4)));
    while hub.run(Time::MAX) == RunState::Again {}
    let outputs = std::iter::from_fn(|| hub.poll());
    let order: Vec<(u64, u64)> = outputs
        .filter_map(|output| match output {
            Output::Completed { party, tag, time, .. } => (time == Time::us(1)).then_some((party.0, tag.0)),
            _ => None,
        })
        .collect();
    assert_eq!(order, [(3, 1), (5, 1), (9, 1), (3, 2), (5, 2), (9, 2)]);
}
