//! Cost of an access at a hub, and whether it grows with the number of parties that are there and ask for nothing.
//!
//! `cargo bench -p vp-models --bench parties` prints a table: a party accesses registers and memory, beside others that hold the
//! memory as initiators too. A line is one kind of access, a column a number of others, and the figure nanoseconds for
//! each access: of many short measurements the shortest, in which nobody else had the processor.

use std::time::Instant;

use bytes::Bytes;
use vp_core::Time;
use vp_hub::{
    Access, AccessKind, Hub, Input, MemoryGuarantees, Operation, PartyCommand, PartyId, PortId, Role, Tag,
    TimeMode,
};
use vp_models::platform::{Description, Platform};

const OTHERS: [u64; 3] = [0, 10, 500];
/// Accesses of a measurement.
const ACCESSES: u64 = 200;
const MEASUREMENTS: usize = 500;
/// Positions of `nv_small`'s ports.
const REGISTERS: PortId = PortId(0);
const MEMORY: PortId = PortId(2);
/// `GLB.S_INTR_MASK`.
const MASK: u64 = 0x1004;
/// In the memory.
const BASE: u64 = 0x8000_0000;
const US: PartyId = PartyId(1);

/// A kind of access.
type Kind = (&'static str, fn(u64) -> Access, IsAnswered);
type IsAnswered = bool;

const KINDS: [Kind; 4] = [
    ("a read of a register", |_| register(Operation::RegisterRead { address: MASK }), true),
    (
        "a posted write of a register",
        |at| register(Operation::RegisterWrite { address: MASK, value: at as u32 }),
        false,
    ),
    ("a read of memory beside the bus", |at| memory(at, None), true),
    ("a posted write of memory beside the bus", |at| memory(at, Some(Bytes::from_static(&[0xc3]))), false),
];

fn register(operation: Operation) -> Access {
    Access { port: REGISTERS, at: None, operation }
}

fn memory(at: u64, data: Option<Bytes>) -> Access {
    let (address, kind) = (BASE + at % 4096, AccessKind::Debug);
    let operation = match data {
        Some(data) => Operation::MemoryWrite { address, data, kind, strobes: None },
        None => Operation::MemoryRead { address, length: 1, kind },
    };
    Access { port: MEMORY, at: None, operation }
}

fn enter(hub: &mut Hub, party: PartyId, ports: &[PortId]) {
    hub.handle(Input::Enter { party, name: "a party".to_owned(), memory: MemoryGuarantees::default() });
    for port in ports {
        let command = PartyCommand::Attach { port: *port, role: Role::Initiator, range: None };
        hub.handle(Input::Command { party, tag: Tag(0), command });
    }
}

/// Nanoseconds for each access.
fn measure((_, access, is_answered): Kind, others: u64) -> u64 {
    let description = Description::named("nv_small").expect("a shipped platform");
    let platform = Platform::build(&description).expect("it can be built");
    let mut hub = Hub::new(platform, TimeMode::Free);
    // Half of the others have come before.
    (2..=others / 2 + 1).for_each(|party| enter(&mut hub, PartyId(1000 + party), &[MEMORY]));
    enter(&mut hub, US, &[REGISTERS, MEMORY]);
    (others / 2 + 2..=others + 1).for_each(|party| enter(&mut hub, PartyId(1000 + party), &[MEMORY]));
    while hub.poll().is_some() {}
    let mut measurement = || {
        let began = Instant::now();
        for at in 0..ACCESSES {
            let access = access(at);
            hub.handle(match is_answered {
                true => Input::Command { party: US, tag: Tag(at), command: PartyCommand::Access(access) },
                false => Input::Posted { party: US, access },
            });
            hub.run(Time::MAX);
            while hub.poll().is_some() {}
        }
        began.elapsed().as_nanos() as u64 / ACCESSES
    };
    (0..MEASUREMENTS).map(|_| measurement()).min().unwrap_or_default()
}

#[expect(clippy::print_stdout, reason = "a table is what it is for")]
fn main() {
    let heads: String = OTHERS.map(|others| format!("{others:>8}")).concat();
    println!("ns an access, by others that are there  {heads}");
    for kind in KINDS {
        let figures = OTHERS.map(|others| format!("{:>8}", measure(kind, others)));
        println!("{:<40}{}", kind.0, figures.concat());
    }
}
