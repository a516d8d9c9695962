//! A platform whose RAM may take only so much of the host's memory: what is refused is an error of the access, the run goes on,
//! and is the same each time. What other platforms have taken never changes a run: it ends it.

use bytes::Bytes;
use std::sync::Arc;
use vp_host::LocalHost;
use vp_host::{Host as _, HostError, Memory};
use vp_hub::{
    Access, AccessKind, Completion, FailureKind, Hub, Input, MemoryGuarantees, Operation, Output,
    PartyCommand, PartyId, PortId, Role, Severity, Tag, TimeMode,
};
use vp_models::memory::{MemoryBudget, MemoryPool};
use vp_models::platform::{Description, Platform};

const MIB: u64 = 1 << 20;
const DRAM: u64 = 0x8000_0000;
const PLATFORMS: &str = "the limit of 1048576 bytes for this platform's memory is reached";

fn platform(budget: MemoryBudget) -> Platform {
    Platform::build_within(&Description::named("nv_full").unwrap(), budget).unwrap()
}

fn within(pool: &Arc<MemoryPool>) -> LocalHost {
    LocalHost::new(platform(MemoryBudget::within(pool, u64::MAX).unwrap()))
}

/// Copies 2 MiB that were never written, in lines of 8 KiB, with BDMA's first group, and waits for its interrupt.
fn copy(host: &mut LocalHost) -> Result<(), HostError> {
    for (register, value) in [
        ("BDMA.CFG_SRC_ADDR_LOW", DRAM as u32),
        ("BDMA.CFG_DST_ADDR_LOW", DRAM as u32 + 0x100_0000),
        ("BDMA.CFG_LINE", 0xff),
        ("BDMA.CFG_CMD", 3),
        ("BDMA.CFG_LINE_REPEAT", 255),
        ("BDMA.CFG_SRC_LINE", 0x2000),
        ("BDMA.CFG_DST_LINE", 0x2000),
        ("BDMA.CFG_SURF_REPEAT", 0),
        ("BDMA.CFG_OP", 1),
        ("BDMA.CFG_LAUNCH0", 1),
    ] {
        let address = host.map().find(register).unwrap().address;
        host.write(address, value)?;
    }
    host.wait_interrupt().map(drop)
}

#[test]
fn a_burst_beyond_the_limit_is_an_error_on_the_bus_and_the_layer_ends_the_same_way_each_time() {
    let run = || {
        let mut host = LocalHost::new(platform(MemoryBudget::new(MIB)));
        copy(&mut host).unwrap();
        let warnings = host.warnings();
        let is_said = |text: &str| text.contains(PLATFORMS) && text.contains("data lost");
        assert!(warnings.iter().any(|warning| is_said(&warning.text)), "{warnings:?}");
        (host.platform().event_hash(), host.now().unwrap())
    };
    assert_eq!(run(), run());
    let mut unlimited = LocalHost::new(platform(MemoryBudget::unlimited()));
    copy(&mut unlimited).unwrap();
    assert_eq!(unlimited.warnings(), []);
}

#[test]
fn a_load_beyond_the_limit_is_refused_and_a_reset_gives_all_back() {
    let mut host = LocalHost::new(platform(MemoryBudget::new(MIB)));
    for _ in 0..3 {
        host.load(Memory::Primary, DRAM, &[1; 900_000]).unwrap();
        let error = host.load(Memory::Secondary, 0x5000_0000, &[1; 900_000]).unwrap_err();
        assert!(error.to_string().contains(PLATFORMS), "{error}");
        host.reset().unwrap();
    }
}

#[test]
fn a_request_fails_with_a_code_and_a_posted_write_with_a_word() {
    let mut hub = Hub::new(platform(MemoryBudget::new(MIB)), TimeMode::Free);
    let (party, port) = (PartyId(1), PortId(2));
    hub.handle(Input::Enter { party, name: "a loader".to_owned(), memory: MemoryGuarantees::default() });
    let attach = PartyCommand::Attach { port, role: Role::Initiator, range: None };
    hub.handle(Input::Command { party, tag: Tag(0), command: attach });
    let write = |bytes: usize, strobes: Option<Bytes>| {
        let data = Bytes::from(vec![1; bytes]);
        let operation = Operation::MemoryWrite { address: DRAM, data, strobes, kind: AccessKind::Debug };
        Access { port, at: None, operation }
    };
    let size = 2 * MIB as usize;
    hub.handle(Input::Command { party, tag: Tag(1), command: PartyCommand::Access(write(size, None)) });
    let strobes = Some(Bytes::from(vec![0x55; size / 8]));
    hub.handle(Input::Command { party, tag: Tag(2), command: PartyCommand::Access(write(size, strobes)) });
    hub.handle(Input::Posted { party, access: write(size, None) });
    // None was done by half.
    let operation = Operation::MemoryRead { address: DRAM, length: 4, kind: AccessKind::Debug };
    let read = PartyCommand::Access(Access { port, at: None, operation });
    hub.handle(Input::Command { party, tag: Tag(3), command: read });
    let outputs: Vec<Output> = std::iter::from_fn(|| hub.poll()).collect();
    let [Output::Completed { .. }, whole, strobed, posted, Output::Completed { result: Ok(read), .. }] =
        &outputs[..]
    else {
        panic!("{outputs:?}")
    };
    for output in [whole, strobed, posted] {
        let (Output::Completed { result: Err(failure), .. } | Output::PostedFailed { failure, .. }) = output
        else {
            panic!("{output:?}")
        };
        assert_eq!(failure.kind, FailureKind::OutOfMemory);
        assert!(failure.reason.contains(PLATFORMS), "{failure}");
    }
    assert_eq!(read, &Completion::Data(Bytes::from_static(&[0; 4])));
}

#[test]
fn who_finds_no_memory_left_by_others_stands_and_goes_on_after_a_reset_when_they_have_gone() {
    let pool = MemoryPool::new(4 * MIB);
    let (mut large, mut one) = (within(&pool), within(&pool));
    large.load(Memory::Primary, DRAM, &[1; 2 << 20]).unwrap();
    let all = "the limit of 4194304 bytes for the memory of all platforms together is reached";
    for _ in 0..2 {
        let error = copy(&mut one).unwrap_err();
        assert!(error.to_string().contains(all), "{error}");
    }
    let warnings = one.warnings();
    let stands = format!("{all}; the platform stands until a reset");
    assert!(warnings.iter().any(|warning| warning.text == stands), "{warnings:?}");
    assert!(MemoryBudget::within(&pool, MIB).is_err());
    drop(large);
    one.reset().unwrap();
    copy(&mut one).unwrap();
    drop(one);
    assert_eq!(pool.taken(), 0);
}

#[test]
fn a_posted_write_that_others_left_no_memory_for_ends_the_run_too() {
    let pool = MemoryPool::new(MIB);
    let mut hub = Hub::new(platform(MemoryBudget::within(&pool, u64::MAX).unwrap()), TimeMode::Free);
    let (party, port) = (PartyId(1), PortId(2));
    hub.handle(Input::Enter { party, name: "a loader".to_owned(), memory: MemoryGuarantees::default() });
    let attach = PartyCommand::Attach { port, role: Role::Initiator, range: None };
    hub.handle(Input::Command { party, tag: Tag(0), command: attach });
    let data = Bytes::from(vec![1; 2 << 20]);
    let operation = Operation::MemoryWrite { address: DRAM, data, strobes: None, kind: AccessKind::Debug };
    hub.handle(Input::Posted { party, access: Access { port, at: None, operation } });
    let outputs: Vec<Output> = std::iter::from_fn(|| hub.poll()).collect();
    let [.., Output::PostedFailed { .. }, Output::Warning { severity: Severity::Warning, text, .. }] =
        &outputs[..]
    else {
        panic!("{outputs:?}")
    };
    assert!(text.ends_with("the platform stands until a reset"), "{text}");
}
