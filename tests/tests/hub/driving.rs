//! Events at ports of another kind, or from another role: a partner that drives one is put out, and nothing else comes of it.

use bytes::Bytes;
use proptest::prelude::*;
use vp_core::Time;
use vp_hub::{
    Access, FailureKind, Input, Operation, Output, PartyCommand, PartyId, PortEvent, PortId, PortSide,
    Promise, Reaction, Role, RunState, roles,
};
use vp_models::platform::{Description, DeviceDescription, Port};
use vp_tests::effort::cases;

use crate::partners::Stage;

const CPU: PartyId = PartyId(1);
const PARTNERS: [PartyId; 3] = [PartyId(2), PartyId(3), PartyId(4)];

/// Platforms that have all kinds of ports together, with their device inside and outside.
fn descriptions() -> [Description; 3] {
    let inside = Description::named("nv_small").unwrap();
    let mut outside = inside.clone();
    outside.device = DeviceDescription::Outside(Box::new(inside.device.outside()));
    [inside, outside, Description::named("fpga-ai-suite-streaming").unwrap()]
}

/// The platforms' widest beats that go over the narrowest bus.
const BEAT: usize = 8;

/// All that a party could have changed: registers, the line, and the first bytes of each memory.
fn state(stage: &Stage) -> (Vec<u32>, bool, Vec<Option<Bytes>>) {
    let ports = stage.hub.ports();
    let registers = &ports[0];
    let words = (registers.size / 4).min(1_024) as u32;
    let registers = stage.hub.peek_registers(PortId(0), registers.base, words, None).unwrap_or_default();
    let memories = ports.iter().enumerate().filter(|(_, port)| roles(port.kind).contains(&Role::Target));
    let bytes = |(index, port): (usize, &Port)| {
        stage.hub.peek_memory(PortId(index as u16), port.base, 64).unwrap_or_default()
    };
    (registers, stage.hub.platform().irq().level(), memories.map(bytes).collect())
}

fn drive(stage: &mut Stage, party: PartyId, port: PortId, event: PortEvent) {
    stage.hub.handle(Input::Driven { party, port, at: Time::ZERO, event });
}

/// Lets everything take effect that was driven.
fn settle(stage: &mut Stage) {
    for party in PARTNERS {
        stage.hub.handle(Input::Promised { party, promise: Promise { heard: 0, next: Time::MAX } });
    }
    while stage.hub.run(Time::MAX) != RunState::Waiting {}
    stage.heard.extend(std::iter::from_fn(|| stage.hub.poll()));
}

/// Reason for which a partner was put out, if it was.
fn put_out(stage: &Stage, partner: PartyId) -> Option<&str> {
    stage.heard.iter().find_map(|output| match output {
        Output::Expelled { party, failure, .. } if *party == partner => {
            assert_eq!(failure.kind, FailureKind::ContractBroken);
            Some(failure.reason.as_str())
        }
        _ => None,
    })
}

/// A register read of the CPU, which holds the registers from now on; what comes of it without a partner's doing.
fn read(stage: &mut Stage) -> String {
    stage.enter(CPU, "the CPU");
    stage.attach(CPU, PortId(0), Role::Initiator).unwrap();
    let access = Access { port: PortId(0), at: None, operation: Operation::RegisterRead { address: 0 } };
    let tag = stage.begin(CPU, PartyCommand::Access(access));
    format!("{:?}", stage.done(CPU, tag))
}

#[test]
fn an_event_of_another_kind_of_port_or_another_role_is_refused_and_changes_nothing() {
    let partner = PARTNERS[0];
    let mut tried = 0;
    for description in descriptions() {
        let ports = Stage::of(&description).hub.ports().to_vec();
        let (untouched, value) = {
            let mut stage = Stage::of(&description);
            (state(&stage), read(&mut stage))
        };
        for (index, port) in ports.iter().enumerate() {
            for (role, event) in roles(port.kind)
                .iter()
                .flat_map(|role| PortEvent::one_of_each(BEAT).into_iter().map(move |event| (*role, event)))
            {
                let side = PortSide { kind: port.kind, role };
                let Some(driver) = event.driver().filter(|driver| *driver != side) else { continue };
                let mut stage = Stage::of(&description);
                stage.partner(partner, Reaction::NextEdge);
                let place = PortId(index as u16);
                // The device may be inside.
                if stage.attach(partner, place, role).is_err() {
                    continue;
                }
                drive(&mut stage, partner, place, event.clone());
                settle(&mut stage);
                let why = put_out(&stage, partner).unwrap_or_else(|| panic!("{event:?} as {side}"));
                assert!(why.contains(&format!("as {side}: only {driver} does")), "{why}");
                assert_eq!(state(&stage), untouched, "{event:?} as {side}");
                assert_eq!(read(&mut stage), value, "{event:?} as {side}");
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "{tried} sides and events");
}

/// An access of a CPU that waits for a device outside is not answered, nor held up, by who is the memory.
#[test]
fn a_memory_answers_no_register() {
    let [_, description, _] = descriptions();
    for event in [PortEvent::RegisterAnswer(0xdead_beef), PortEvent::RegisterReady(false)] {
        let [device, memory, _] = PARTNERS;
        let mut stage = Stage::of(&description);
        for (party, port, role) in [(device, 0, Role::Target), (memory, 2, Role::Target)] {
            stage.partner(party, Reaction::NextEdge);
            stage.attach(party, PortId(port), role).unwrap();
        }
        assert_eq!(read(&mut stage), "None", "the device owes the answer");
        drive(&mut stage, memory, PortId(2), event.clone());
        settle(&mut stage);
        assert!(put_out(&stage, memory).is_some(), "{event:?}");
        assert_eq!(put_out(&stage, device), None);
        let is_answered = |output: &Output| matches!(output, Output::Completed { party: CPU, .. });
        assert!(!stage.heard.iter().any(is_answered), "{event:?}: {:?}", stage.heard);
    }
}

/// Something that a random partner does: attach a port in a role, or drive an event at a port.
#[derive(Debug, Clone)]
enum Deed {
    Attach(usize, u16, usize),
    Drive(usize, u16, usize),
}

fn deed() -> impl Strategy<Value = Deed> {
    let (party, port) = (|| 0..PARTNERS.len(), || 0_u16..6);
    prop_oneof![
        1 => (party(), port(), 0_usize..4).prop_map(|(party, port, role)| Deed::Attach(party, port, role)),
        2 => (party(), port(), 0_usize..15).prop_map(|(party, port, event)| Deed::Drive(party, port, event)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn what_random_partners_drive_where_it_is_not_theirs_changes_nothing(
        platform in 0_usize..3, deeds in prop::collection::vec(deed(), 1..40),
    ) {
        let description = &descriptions()[platform];
        let mut stage = Stage::of(description);
        let untouched = state(&stage);
        let mut wrong = [false; PARTNERS.len()];
        PARTNERS.iter().for_each(|party| stage.partner(*party, Reaction::NextEdge));
        for deed in deeds {
            match deed {
                Deed::Attach(party, port, role) if !wrong[party] => {
                    let roles = [Role::Initiator, Role::Target, Role::Source, Role::Sink];
                    _ = stage.attach(PARTNERS[party], PortId(port), roles[role]);
                }
                Deed::Attach(..) => {}
                Deed::Drive(party, port, event) => {
                    let (party, port_index) = (PARTNERS[party], PortId(port));
                    let event = PortEvent::one_of_each(BEAT).swap_remove(event);
                    let kind = stage.hub.ports().get(usize::from(port)).map(|port| port.kind);
                    let is_own = kind.zip(event.driver()).is_none_or(|(kind, driver)| {
                        driver.kind == kind && stage.hub.holds(party, port_index, driver.role)
                    });
                    // A reset that nobody has asked for has a rule of its own.
                    if event == PortEvent::Reset || (kind.is_some() && is_own) {
                        continue;
                    }
                    drive(&mut stage, party, port_index, event);
                    wrong[usize::from(party.0 as u8 - 2)] = true;
                }
            }
        }
        settle(&mut stage);
        for (party, wrong) in PARTNERS.into_iter().zip(wrong) {
            prop_assert_eq!(put_out(&stage, party).is_some(), wrong, "partner {}", party.0);
        }
        // What well-behaved partners hold is out of sight.
        for party in PARTNERS {
            stage.hub.handle(Input::Leave { party, why: "done".to_owned() });
        }
        prop_assert_eq!(state(&stage), untouched);
    }
}
