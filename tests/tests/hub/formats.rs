//! Recordings of earlier programs, which this one reads, one of each version, and a saved platform of the present form: saved ones of other
//! forms are refused. A change of a format fails here, and gets a version and a file of its own.
//!
//! `cargo test -p vp-tests --test hub -- --ignored saved_platform` writes a saved platform of the present form, and with `recording` in its place a
//! recording of the present version.

use std::io::Cursor;
use std::path::PathBuf;

use bytes::Bytes;
use vp_core::Time;
use vp_host::Host as _;
use vp_host::LocalHost;
use vp_host::trace::Trace;
use vp_host::trace::player::{self, PlayOptions};
use vp_hub::{
    Access, AccessKind, Accesses, BreakOn, Breakpoint, Clock, DebugCommand, Failure, FailureKind, Hub, Input,
    MemoryGuarantees, Operation, PartyCommand, PartyId, PortEvent, PortId, Position, Promise, Reaction,
    Recorded, RequestId, Role, StepBy, Tag, TimeMode, Until,
};
use vp_models::bus::axi::{AxiChannel, AxiEvent};
use vp_models::memory::MemoryBudget;
use vp_models::platform::{Description, Platform, RestoreError};
use vp_recordings::{Header, ReadError, Reader, RecordingEnd, Writer};
use vp_tests::traces;

fn place(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/formats").join(name)
}

fn kept(name: &str) -> Vec<u8> {
    let path = place(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

const RECORDING: &str = "recording-1.vprec";
const SAVED: &str = "platform-7.vpsv";

/// One of each entry, with each input, command, access and event, and each number in the place that it has.
fn entries() -> Vec<Recorded> {
    let (party, port) = (PartyId(3), PortId(2));
    let command = |tag, command| Recorded::Input(Input::Command { party, tag: Tag(tag), command });
    let access = |operation| Access { port, at: Some(Time::ns(7)), operation };
    let driven = |event| Recorded::Input(Input::Driven { party, port, at: Time::ns(9), event });
    let debugger = |command| Recorded::Input(Input::Debugger { party, tag: Tag(5), command });
    let breaks = |on| debugger(DebugCommand::Break(Breakpoint { on, skip: 2, once: true }));
    let (data, strobes) = (Bytes::from_static(b"some data"), Some(Bytes::from_static(&[0xff, 1])));
    let operations = [
        Operation::RegisterRead { address: 0x5008 },
        Operation::RegisterWrite { address: 0x500c, value: 0x1234_5678 },
        Operation::MemoryRead { address: 0x8000_0000, length: 64, kind: AccessKind::Debug },
        Operation::MemoryWrite { address: 1 << 40, data: data.clone(), strobes, kind: AccessKind::Timed },
        Operation::StreamSend { data: data.clone(), kind: AccessKind::Timed },
    ];
    let commands = [
        PartyCommand::Clock(Clock { reaction: Reaction::SameEdge, quantum: 3 }),
        PartyCommand::Attach { port, role: Role::Initiator, range: Some(16..1 << 33) },
        PartyCommand::Attach { port, role: Role::Target, range: None },
        PartyCommand::Attach { port, role: Role::Source, range: None },
        PartyCommand::Attach { port, role: Role::Sink, range: None },
        PartyCommand::Detach { port },
        PartyCommand::Advance(Until::Time(Time::us(3))),
        PartyCommand::Advance(Until::Interrupt { port, limit: Some(Time::us(4)) }),
        PartyCommand::Advance(Until::Idle),
        PartyCommand::Step { to: Time::us(5) },
        PartyCommand::Reset,
        PartyCommand::Inject { faults: "[[fault]]\nkind = 'lost-interrupt'\n".to_owned() },
        PartyCommand::Restore { saved: Bytes::from_static(b"VPSV and more") },
    ];
    let events = [
        AxiEvent::ReadAddress { id: 1, address: 0x8000_0040, beats: 8 },
        AxiEvent::ReadData { id: 2, data: data.clone(), last: true, error: false },
        AxiEvent::WriteAddress { id: 3, address: 0x8000_0080, beats: 4 },
        AxiEvent::WriteData { data: data.clone(), strobes: 0xff, last: false },
        AxiEvent::WriteResponse { id: 4, error: true },
        AxiEvent::Ready { channel: AxiChannel::ReadAddress, ready: false },
        AxiEvent::Ready { channel: AxiChannel::ReadData, ready: true },
        AxiEvent::Ready { channel: AxiChannel::WriteAddress, ready: true },
        AxiEvent::Ready { channel: AxiChannel::WriteData, ready: true },
        AxiEvent::Ready { channel: AxiChannel::WriteResponse, ready: true },
    ];
    let kinds = [
        FailureKind::NoSuchPort,
        FailureKind::WrongRole,
        FailureKind::PortBusy,
        FailureKind::NotAttached,
        FailureKind::BadRange,
        FailureKind::Misaligned,
        FailureKind::DecodeError,
        FailureKind::SlaveError,
        FailureKind::NotAccepted,
        FailureKind::WrongTimeMode,
        FailureKind::ContractBroken,
        FailureKind::Livelock,
        FailureKind::Cancelled,
        FailureKind::Unsupported,
        FailureKind::Internal,
        FailureKind::OutOfMemory,
    ];
    let memory = MemoryGuarantees { in_order: Some(16) };
    let at = Position {
        time: Time::ns(4),
        stops: 1,
        outputs: 2,
        driven: 3,
        begun: 5,
        is_instant_over: true,
        has_work_now: true,
        is_at_grant: true,
        cycles: 4,
    };
    let mut all = vec![
        Recorded::Ran(at),
        Recorded::Input(Input::Enter { party, name: "session 3".to_owned(), memory }),
        Recorded::Input(Input::Mode(TimeMode::Lockstep)),
        Recorded::Input(Input::Mode(TimeMode::Free)),
    ];
    all.extend((10..).zip(commands).map(|(tag, it)| command(tag, it)));
    all.extend(
        (40..).zip(operations.clone()).map(|(tag, it)| command(tag, PartyCommand::Access(access(it)))),
    );
    all.extend(operations.clone().map(|it| Recorded::Input(Input::Posted { party, access: access(it) })));
    let later = Position { time: Time::us(2), outputs: 90, is_instant_over: false, ..at };
    all.push(Recorded::Ran(later));
    all.push(Recorded::Input(Input::Answer { party, request: RequestId(7), result: Ok(data.clone()) }));
    all.extend((8..).map(RequestId).zip(kinds).map(|(request, kind)| {
        let result = Err(Failure::new(kind, "why"));
        Recorded::Input(Input::Answer { party, request, result })
    }));
    all.extend(events.map(|event| driven(PortEvent::Axi(event))));
    all.extend([
        driven(PortEvent::Register { address: 0x1000, write: Some(9), posted: true }),
        driven(PortEvent::RegisterReady(false)),
        driven(PortEvent::RegisterAnswer(11)),
        driven(PortEvent::Level(true)),
        driven(PortEvent::Reset),
        Recorded::Input(Input::Promised { party, promise: Promise { heard: 12, next: Time::us(8) } }),
        Recorded::Input(Input::SumUp),
        Recorded::Input(Input::Warn { text: "of somebody".to_owned() }),
        Recorded::Input(Input::Debug { party, tag: Tag(6), access: access(operations[1].clone()) }),
        debugger(DebugCommand::Stop),
        debugger(DebugCommand::Continue),
        debugger(DebugCommand::Step { by: StepBy::Cycle, count: 1 }),
        debugger(DebugCommand::Step { by: StepBy::Event, count: 2 }),
        debugger(DebugCommand::Step { by: StepBy::Layer, count: 3 }),
        debugger(DebugCommand::Step { by: StepBy::Access, count: 4 }),
        breaks(BreakOn::Register { address: 0x9038, access: Accesses::Write, value: Some(1) }),
        breaks(BreakOn::Interrupt),
        breaks(BreakOn::Layer { unit: "sdp".to_owned(), end: true }),
        breaks(BreakOn::Memory { port, range: 4..8, access: Accesses::Read }),
        breaks(BreakOn::Memory { port, range: 4..8, access: Accesses::Any }),
        breaks(BreakOn::Time(Time::us(9))),
        debugger(DebugCommand::Clear { number: 1 }),
        Recorded::Input(Input::Settle { limit: Time::us(10) }),
        Recorded::Direct { party, port, ranges: vec![0..7, 9..1 << 40] },
        Recorded::Accessed(Some(data)),
        Recorded::Accessed(Some(Bytes::new())),
        Recorded::Accessed(None),
        Recorded::Ran(Position { time: Time::us(11), ..later }),
        Recorded::Input(Input::Leave { party, why: "the end".to_owned() }),
        Recorded::Hash(0x0123_4567_89ab_cdef),
    ]);
    all
}

fn recording() -> Vec<u8> {
    let hub = Hub::new(built("nv_small"), TimeMode::Free);
    let header = Header::of(&hub, "vp 0.1.0", Some("0123456789abcdef".to_owned()));
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, &header).unwrap();
    entries().into_iter().for_each(|entry| writer.add(entry).unwrap());
    writer.end(Some("it was enough")).unwrap();
    file
}

fn built(name: &str) -> Platform {
    Platform::build(&Description::named(name).unwrap()).unwrap()
}

/// A platform that has run a layer, at rest.
fn saved() -> Vec<u8> {
    let mut host = LocalHost::new(built("nv_small"));
    let script = traces::folder().join("nv_small/sdp_prelu_5x7x13/sdp_prelu_5x7x13.cfg");
    let trace = Trace::load(&script).unwrap();
    let map = host.map();
    let outcome = player::play(&trace, &mut host, &map, &PlayOptions::default()).unwrap();
    assert_eq!(outcome.failures, []);
    let mut bytes = Vec::new();
    host.save(&mut bytes).unwrap();
    bytes
}

#[test]
#[ignore = "writes the file of the present version"]
fn writes_the_recording_of_the_present_version() {
    std::fs::write(place(RECORDING), recording()).unwrap();
}

#[test]
#[ignore = "writes the file of the present form"]
fn writes_the_saved_platform_of_the_present_form() {
    std::fs::write(place(SAVED), saved()).unwrap();
}

#[test]
fn a_recording_of_version_1_has_the_entries_that_were_written() {
    let file = kept(RECORDING);
    let mut reader = Reader::new(&file[..]).unwrap();
    assert_eq!((reader.header().program.as_str(), reader.header().mode()), ("vp 0.1.0", TimeMode::Free));
    assert_eq!(reader.header().build.as_deref(), Some("0123456789abcdef"));
    assert_eq!(reader.header().description().unwrap().name, "nv_small");
    for (number, entry) in entries().into_iter().enumerate() {
        assert_eq!(reader.next_entry().unwrap(), Some(entry), "entry {number}");
    }
    assert_eq!(reader.next_entry().unwrap(), None);
    assert_eq!(reader.end(), Some(&RecordingEnd::Early { why: "it was enough".to_owned() }));
}

#[test]
fn a_recording_is_written_in_the_version_of_the_kept_one_and_a_newer_one_is_refused_by_its_number() {
    let (kept, written) = (kept(RECORDING), recording());
    assert_eq!(kept[..10], written[..10], "magic and version: keep a recording of the new one");
    let mut newer = kept;
    newer[8] += 1;
    match Reader::new(&newer[..]).err() {
        Some(error @ ReadError::Newer { version: 2 }) => {
            assert!(error.to_string().contains("version 2 of the format, and this vp reads up to 1"));
        }
        other => panic!("{other:?}"),
    }
}

fn restored(bytes: &[u8]) -> Result<Platform, RestoreError> {
    Platform::restore(&mut Cursor::new(bytes), None, MemoryBudget::unlimited())
}

/// A failure says that what is saved has changed: the form needs a new number then.
#[test]
fn a_kept_platform_goes_on_where_it_stood() {
    let platform = restored(&kept(SAVED)).unwrap();
    assert_eq!(platform.description().name, "nv_small");
    // As it was: another model may take another time.
    let layers = platform.layers();
    assert_eq!(layers.len(), 1);
    assert_eq!((&*layers[0].unit, layers[0].shape.as_str()), ("sdp", "5x7x13"));
    assert!(layers[0].end.is_some() && platform.simulation().now() > layers[0].begin);
    let statistics = platform.statistics();
    assert!(statistics.text("events.hash").is_some_and(|hash| hash.len() == 16));
    // The layer had the first group: the other one is next.
    let mut host = LocalHost::new(platform);
    let pointer = host.map().find("SDP.S_POINTER").unwrap().address;
    assert_eq!(host.read(pointer).unwrap(), 1 << 16);
    host.save(&mut Vec::new()).unwrap();
}

#[test]
fn a_platform_is_saved_in_the_form_of_the_kept_one_and_another_is_refused_by_its_number() {
    let (kept, written) = (kept(SAVED), saved());
    assert_eq!(kept[..6], written[..6], "magic and form: keep a platform of the new one");
    let mut newer = kept;
    newer[4] += 1;
    match restored(&newer).err() {
        Some(error @ RestoreError::Form(8)) => {
            let said = "this platform was saved in form 8, and this program reads form 7: use the program that saved it";
            assert_eq!(error.to_string(), said);
        }
        other => panic!("{other:?}"),
    }
}
