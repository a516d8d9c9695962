//! Recordings as files: what is read is what was written, and nothing else is believed.

use bytes::Bytes;
use proptest::prelude::*;
use vp_core::Time;
use vp_hub::{
    Access, AccessKind, Failure, FailureKind, Hub, Input, MemoryGuarantees, Operation, PartyCommand, PartyId,
    PortEvent, PortId, Position, Promise, Recorded, RequestId, Role, Tag, TimeMode, Until,
};
use vp_models::bus::axi::AxiEvent;
use vp_models::platform::{Description, Platform};
use vp_recordings::{Header, ReadError, Reader, RecordingEnd, Writer};

use crate::reluctant::Reluctant;

const PARTY: PartyId = PartyId(3);
const PORT: PortId = PortId(2);

fn header() -> Header {
    let platform = Platform::build(&Description::named("nv_small").unwrap()).unwrap();
    Header::of(&Hub::new(platform, TimeMode::Free), "a test", Some("0123".to_owned()))
}

/// A recording of these entries, handed to the file after each for which that is said.
fn written(entries: &[(Recorded, bool)], end: Option<Option<&str>>) -> Vec<u8> {
    let mut file = Vec::new();
    write_into(&mut file, entries, end);
    file
}

/// Writes that recording into a file.
fn write_into(file: impl std::io::Write, entries: &[(Recorded, bool)], end: Option<Option<&str>>) {
    let mut writer = Writer::new(file, &header()).unwrap();
    for (entry, flush) in entries {
        writer.add(entry.clone()).unwrap();
        if *flush {
            writer.flush().unwrap();
        }
    }
    match end {
        Some(why) => writer.end(why).unwrap(),
        None => writer.flush().unwrap(),
    }
}

/// The entries up to the end, and how it ends.
fn read(file: &[u8]) -> (Vec<Recorded>, Result<RecordingEnd, ReadError>) {
    read_from(file)
}

/// Reads as [`read`] does, from a file that comes piece by piece.
fn read_from(file: impl std::io::Read) -> (Vec<Recorded>, Result<RecordingEnd, ReadError>) {
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Err(error)),
    };
    let mut entries = Vec::new();
    loop {
        match reader.next_entry() {
            Ok(Some(entry)) => entries.push(entry),
            Ok(None) => return (entries, Ok(reader.end().unwrap().clone())),
            Err(error) => return (entries, Err(error)),
        }
    }
}

fn command(tag: u64, command: PartyCommand) -> Recorded {
    Recorded::Input(Input::Command { party: PARTY, tag: Tag(tag), command })
}

fn access(operation: Operation) -> Access {
    Access { port: PORT, at: None, operation }
}

fn write(data: Bytes) -> Operation {
    Operation::MemoryWrite { address: 0x8000_0000, data, strobes: None, kind: AccessKind::Timed }
}

fn ran(time: u64, outputs: u64) -> Recorded {
    let time = Time::ps(time);
    Recorded::Ran(Position {
        time,
        stops: outputs / 2,
        outputs,
        driven: 7,
        begun: outputs / 3,
        is_instant_over: true,
        has_work_now: false,
        is_at_grant: false,
        cycles: 0,
    })
}

fn bytes() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        4 => proptest::collection::vec(any::<u8>(), 0..80).prop_map(Bytes::from),
        1 => (any::<u8>(), 0_usize..200_000).prop_map(|(byte, length)| Bytes::from(vec![byte; length])),
        1 => (any::<u64>(), 0_usize..200_000).prop_map(|(seed, length)| dense(seed, length)),
    ]
}

/// Bytes that cannot be compressed.
fn dense(seed: u64, length: usize) -> Bytes {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 56) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// Entries of all kinds, whose numbers may be any.
fn entry() -> impl Strategy<Value = Recorded> {
    let number = || prop_oneof![0_u64..1000, any::<u64>()];
    prop_oneof![
        4 => (number(), number()).prop_map(|(time, outputs)| ran(time, outputs)),
        2 => (number(), number()).prop_map(|(tag, address)| {
            let at = Some(Time::ps(address)).filter(|_| tag & 1 == 1);
            let operation = Operation::RegisterRead { address };
            command(tag, PartyCommand::Access(Access { port: PORT, at, operation }))
        }),
        2 => (number(), bytes()).prop_map(|(tag, data)| command(tag, PartyCommand::Access(access(write(data))))),
        2 => bytes().prop_map(|data| {
            Recorded::Input(Input::Posted { party: PARTY, access: access(write(data)) })
        }),
        2 => (number(), bytes(), any::<bool>()).prop_map(|(request, data, is_there)| {
            let failure = Failure::new(FailureKind::BadRange, "no such memory");
            let result = if is_there { Ok(data) } else { Err(failure) };
            Recorded::Input(Input::Answer { party: PARTY, request: RequestId(request), result })
        }),
        2 => (number(), bytes()).prop_map(|(at, data)| {
            let event = PortEvent::Axi(AxiEvent::ReadData { id: 1, data, last: true, error: false });
            Recorded::Input(Input::Driven { party: PARTY, port: PORT, at: Time::ps(at), event })
        }),
        1 => (number(), number()).prop_map(|(heard, next)| {
            let promise = Promise { heard, next: Time::ps(next) };
            Recorded::Input(Input::Promised { party: PARTY, promise })
        }),
        1 => (number(), number(), 0..4).prop_map(|(tag, time, kind)| {
            let time = Time::ps(time);
            command(tag, match kind {
                0 => PartyCommand::Advance(Until::Time(time)),
                1 => PartyCommand::Advance(Until::Interrupt { port: PORT, limit: Some(time) }),
                2 => PartyCommand::Advance(Until::Idle),
                _ => PartyCommand::Step { to: time },
            })
        }),
        1 => any::<String>().prop_map(|name| {
            let memory = MemoryGuarantees { in_order: Some(3) };
            Recorded::Input(Input::Enter { party: PARTY, name, memory })
        }),
        1 => Just(Recorded::Direct { party: PARTY, port: PORT, ranges: vec![0..7, 9..1 << 40] }),
        2 => proptest::option::of(bytes()).prop_map(Recorded::Accessed),
        1 => any::<u64>().prop_map(Recorded::Hash),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn entries_come_back_as_they_were_written_however_they_were_flushed(
        entries in proptest::collection::vec((entry(), any::<bool>()), 0..40), why in proptest::option::of("[a-z]{1,9}"),
    ) {
        let file = written(&entries, Some(why.as_deref()));
        let (again, end) = read(&file);
        prop_assert_eq!(again.len(), entries.len());
        for (again, (entry, _)) in again.iter().zip(&entries) {
            prop_assert!(again == entry, "an entry is another one");
        }
        prop_assert_eq!(end.unwrap(), why.map_or(RecordingEnd::Whole, |why| RecordingEnd::Early { why }));
    }
}

/// Entries of a run with few bytes, each in a block of its own.
fn few() -> Vec<(Recorded, bool)> {
    let attach = PartyCommand::Attach { port: PORT, role: Role::Initiator, range: None };
    let mut entries = vec![command(1, attach)];
    for at in 0..12_u64 {
        let value = 0x1234_5678 * at as u32;
        let operation = Operation::RegisterWrite { address: 0x5000 + 4 * at, value };
        entries.push(Recorded::Input(Input::Posted { party: PARTY, access: access(operation) }));
        entries.push(ran(at * 17_000, 3 * at));
        entries.push(Recorded::Accessed(Some(dense(at, 24))));
    }
    entries.into_iter().map(|entry| (entry, true)).collect()
}

#[test]
fn a_recording_cut_off_anywhere_has_all_that_was_handed_to_the_file_before() {
    let entries = few();
    let lengths: Vec<usize> =
        (0..=entries.len()).map(|count| written(&entries[..count], None).len()).collect();
    let file = written(&entries, Some(None));
    for length in 0..file.len() {
        let (again, end) = read(&file[..length]);
        let whole = lengths.iter().filter(|before| **before <= length).count();
        if length == 0 {
            assert!(matches!(end, Err(ReadError::Empty)), "{end:?}");
        } else if whole == 0 {
            assert!(matches!(end, Err(ReadError::CutOffHeader)), "{length}: {end:?}");
        } else {
            let last = lengths[whole - 1];
            assert_eq!(end.unwrap(), RecordingEnd::CutOff { bytes: (length - last) as u64 });
            assert!(again.iter().eq(entries[..whole - 1].iter().map(|(entry, _)| entry)), "{length}");
        }
    }
    assert_eq!(read(&file).1.unwrap(), RecordingEnd::Whole);
}

/// Records accesses as of bursts on a narrow bus, each of which is an entry.
#[test]
fn accesses_to_mapped_memory_cost_little_more_than_their_data() {
    let mut entries = Vec::new();
    for at in 0..3000_u64 {
        let data = if at % 3 == 2 { Bytes::new() } else { dense(at * 77, 8) };
        let is_there = at % 1000 != 999;
        entries.push((Recorded::Accessed(is_there.then_some(data)), false));
        if at % 40 == 0 {
            entries.push((ran(at * 1000, at / 7), true));
        }
    }
    let file = written(&entries, Some(None));
    let (again, end) = read(&file);
    assert!(again.iter().eq(entries.iter().map(|(entry, _)| entry)));
    assert_eq!(end.unwrap(), RecordingEnd::Whole);
    let begin = written(&[], None).len();
    assert!(file.len() - begin < 2000 * 8 * 13 / 10, "{} bytes", file.len() - begin);
}

#[test]
fn a_recording_is_the_same_where_reads_and_writes_are_cut_short_and_interrupted() {
    let mut entries = few();
    for data in [dense(5, 20_000), Bytes::from(vec![7; 20_000])] {
        entries.push((command(2, PartyCommand::Access(access(write(data)))), false));
    }
    let file = written(&entries, Some(None));
    let behind = [&file[..], &[0]].concat();
    for seed in 0..20 {
        for most in [1, 7, 1000] {
            let place = format!("seed {seed}, {most} bytes at a time");
            let mut reluctant = Reluctant::new(Vec::<u8>::new(), most, seed);
            write_into(&mut reluctant, &entries, Some(None));
            assert!(reluctant.into_inner() == file, "{place}");

            let through = |file: &[u8]| read_from(Reluctant::new(file, most, seed));
            let (again, end) = through(&file);
            assert!(again.iter().eq(entries.iter().map(|(entry, _)| entry)), "{place}");
            assert_eq!(end.unwrap(), RecordingEnd::Whole, "{place}");
            // What is none is found as well as without that.
            for cut in [1, 9, 40, file.len() - 3] {
                let found = through(&file[..cut]).1.map_err(|error| error.to_string());
                let wanted = read(&file[..cut]).1.map_err(|error| error.to_string());
                assert_eq!(found, wanted, "{place}, {cut} bytes");
            }
            let error = through(&behind).1.unwrap_err().to_string();
            assert!(error.contains("bytes behind its end"), "{place}: {error}");
        }
    }
}

#[test]
fn a_part_of_a_long_input_is_none() {
    let long = command(1, PartyCommand::Access(access(write(dense(5, 300_000)))));
    let entries = [(ran(5, 1), true), (long, true)];
    let file = written(&entries, None);
    for length in [file.len() - 1, file.len() - 100_000, file.len() - 290_000] {
        let (again, end) = read(&file[..length]);
        assert_eq!(again, [ran(5, 1)]);
        assert!(matches!(end, Ok(RecordingEnd::CutOff { .. })), "{end:?}");
    }
}

#[test]
fn no_flipped_bit_makes_an_entry_that_was_not_written() {
    let entries = few();
    let file = written(&entries, Some(None));
    let (mut found, mut cut_off) = (0, 0);
    for at in 0..file.len() {
        for bit in 0..8 {
            let mut flipped = file.clone();
            flipped[at] ^= 1 << bit;
            let (again, end) = read(&flipped);
            assert!(again.len() <= entries.len(), "byte {at}, bit {bit}");
            assert!(
                again.iter().eq(entries[..again.len()].iter().map(|(entry, _)| entry)),
                "byte {at}, bit {bit}"
            );
            match end {
                // A length that leads beyond the file.
                Ok(RecordingEnd::CutOff { .. }) | Err(ReadError::CutOffHeader) => cut_off += 1,
                Ok(end) => panic!("byte {at}, bit {bit}: {end:?}"),
                Err(_) => found += 1,
            }
        }
    }
    assert!(found > 20 * cut_off, "{found} are found, {cut_off} cut the recording off");
}

#[test]
fn what_is_behind_the_end_is_not_a_recording() {
    let mut file = written(&few(), Some(None));
    file.push(0);
    let (_, end) = read(&file);
    assert_eq!(
        end.unwrap_err().to_string(),
        format!(
            "the recording is damaged at byte {}: bytes behind its end; what is before, 37 entries, is whole",
            file.len() - 1
        )
    );
}

#[test]
fn says_what_a_file_is_that_is_no_recording_or_a_newer_one() {
    let says = |file: &[u8]| read(file).1.unwrap_err().to_string();
    assert_eq!(says(b"#!/bin/sh\n"), "no recording of vp: a file of `--record` begins with the bytes VPREC");
    let mut newer = written(&[], None);
    newer[8] = 2;
    assert_eq!(
        says(&newer),
        "a recording in version 2 of the format, and this vp reads up to 1: use a newer one"
    );
}

#[test]
fn a_header_that_says_more_than_is_known_is_refused_with_its_name() {
    let file = |text: &str| {
        let mut block = vec![b'H', text.len() as u8];
        block.extend_from_slice(text.as_bytes());
        let checksum = crc32fast::hash(&block).to_le_bytes();
        [b"VPREC\r\n\x1a\x01\0", &block[..], &checksum].concat()
    };
    let known = "program = 'x'\nmode = 'free'\ndelta_limit = 1\nplatform = ''\n";
    assert!(read(&file(known)).1.is_ok());
    let error = read(&file(&format!("{known}pace = 3\n"))).1.unwrap_err().to_string();
    assert!(error.starts_with("the recording's header: unknown field `pace`"), "{error}");
}

/// A length that is a lie costs no memory: what is not there is not made room for.
#[test]
fn what_people_are_shown_of_a_recording_has_no_control_characters() {
    let (_, end) = read(&written(&[], Some(Some("the disk\x1b[2J\nis full"))));
    assert_eq!(end.unwrap(), RecordingEnd::Early { why: "the disk?[2J?is full".to_owned() });
    let mut file = Vec::new();
    let mut header = header();
    header.program = "vp\x1b[2J".to_owned();
    Writer::new(&mut file, &header).unwrap();
    let error = Reader::new(&file[..]).err().unwrap().to_string();
    assert_eq!(error, "the recording's header: `program` has control characters");
}

#[test]
fn lengths_that_lie_are_found_before_there_is_room_for_what_they_say() {
    for lie in [
        &[0xff, 0xff, 0xff, 0xff, 0x7f][..],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff][..],
        &[0x80, 0x80, 0x80, 0x80, 4],
    ] {
        let mut file = written(&[], None);
        let begin = file.len();
        file.push(b'P');
        file.extend_from_slice(lie);
        file.extend_from_slice(&[0; 40]);
        let (_, end) = read(&file);
        assert!(matches!(end, Err(ReadError::Damaged { at, .. }) if at == begin as u64), "{end:?}");
        // The same of an entry, in a block that is right.
        let mut file = written(&[], None);
        let mut block = vec![b'P', lie.len() as u8];
        block.extend_from_slice(lie);
        let checksum = crc32fast::hash(&block);
        block.extend_from_slice(&checksum.to_le_bytes());
        file.extend_from_slice(&block);
        let (entries, end) = read(&file);
        assert!(entries.is_empty());
        let is_refused = matches!(end, Err(ReadError::Damaged { .. }));
        // 2^30 is the most that an entry may have.
        assert!(is_refused || matches!(end, Ok(RecordingEnd::CutOff { bytes: 0 })), "{end:?}");
    }
}
