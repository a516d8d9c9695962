use super::*;
use crate::vfio_user::request::{DmaMap, IrqAction, IrqData, SetIrqs, Write};
use crate::vfio_user::{Client, ClientEvent, DeviceInfo};

fn all() -> Capabilities {
    Capabilities {
        max_msg_fds: Some(1),
        max_data_xfer_size: Some(1 << 20),
        max_dma_maps: Some(16),
        pgsizes: Some(4096),
        write_multiple: Some(true),
    }
}

/// Both sides, with the version agreed on.
fn open() -> (Client, Connection<u32>) {
    let (mut client, mut server) = (Client::new(all()), Connection::new(all()));
    assert_eq!(server.receive(client.output()), Ok(Some(Event::Opened)));
    assert_eq!(client.receive(server.output()), Ok(Some(ClientEvent::Opened(all()))));
    (client, server)
}

const MAP: DmaMap =
    DmaMap { is_readable: true, is_writeable: true, offset: 0, address: 0x4000, size: 0x1000 };

#[test]
fn a_reply_names_only_capabilities_that_were_proposed() {
    let proposed = Capabilities { max_dma_maps: Some(9), ..Capabilities::default() };
    let (mut client, mut server) = (Client::new(proposed), Connection::<u32>::new(all()));
    assert_eq!(server.receive(client.output()), Ok(Some(Event::Opened)));
    let told = Capabilities { max_dma_maps: Some(16), ..Capabilities::default() };
    assert_eq!(client.receive(server.output()), Ok(Some(ClientEvent::Opened(told))));
}

#[test]
fn commands_are_answered_by_their_numbers_in_any_order() {
    let (mut client, mut server) = open();
    let read = client.request(&Request::RegionRead { region: 0, offset: 8, count: 4 });
    let info = client.request(&Request::DeviceInfo);
    let mut tokens = Vec::new();
    while let Some(Event::Request { token, .. }) = server.receive(client.output()).unwrap() {
        tokens.push(token);
    }
    let device = DeviceInfo { regions: 9, irqs: 5 };
    server.reply(tokens[1], &Reply::Device(device));
    server.fail(tokens[0], Errno::EIO);
    let replied = |id, result| Ok(Some(ClientEvent::Replied { id, result }));
    assert_eq!(client.receive(server.output()), replied(info, Ok(Reply::Device(device))));
    assert_eq!(client.receive(server.output()), replied(read, Err(Errno::EIO)));
}

#[test]
fn a_posted_write_gets_no_reply() {
    let (mut client, mut server) = open();
    client.post(&Request::RegionWrite(Write { region: 0, offset: 0, data: Bytes::from_static(&[1, 2]) }));
    let Ok(Some(Event::Request { token, .. })) = server.receive(client.output()) else { panic!() };
    server.reply(token, &Reply::Done);
    server.fail(token, Errno::EIO);
    assert!(server.output().is_empty());
}

#[test]
fn a_file_belongs_to_the_message_whose_bytes_it_came_with() {
    let (mut client, mut server) = open();
    client.request(&Request::DeviceInfo);
    client.request(&Request::DmaMap(MAP));
    client.request(&Request::Reset);
    let mut sent = client.output().split();
    // The first two in one piece, the third in the next.
    let mut input = sent.split_to(32 + 48);
    server.add_files([7], input.len());
    input.unsplit(sent);
    let mut files = Vec::new();
    while let Some(Event::Request { files: with, .. }) = server.receive(&mut input).unwrap() {
        files.push(with);
    }
    assert_eq!(files, [vec![], vec![7], vec![]]);
}

#[test]
fn memory_is_read_and_written_by_messages() {
    let (mut client, mut server) = open();
    let read = server.read_memory(0x4000, 3).unwrap();
    let write = server.write_memory(0x5000, &[9, 8]).unwrap();
    let asked = client.receive(server.output()).unwrap().unwrap();
    assert!(matches!(asked, ClientEvent::Read { address: 0x4000, count: 3, .. }));
    client.answer(&asked, Ok(&[1, 2, 3]));
    let asked = client.receive(server.output()).unwrap().unwrap();
    assert!(matches!(&asked, ClientEvent::Write { address: 0x5000, data, .. } if data[..] == [9, 8]));
    client.answer(&asked, Err(Errno::EINVAL));
    let answered = |token, result| Ok(Some(Event::Answered { token, result }));
    assert_eq!(server.receive(client.output()), answered(read, Ok(Bytes::from_static(&[1, 2, 3]))));
    assert_eq!(server.receive(client.output()), answered(write, Err(Errno::EINVAL)));
}

#[test]
fn so_many_accesses_to_memory_wait_and_no_more() {
    let (_, mut server) = open();
    assert!((0..ASKED).all(|_| server.read_memory(0, 1).is_some()));
    assert!(server.read_memory(0, 1).is_none() && server.write_memory(0, &[1]).is_none());
}

/// A message with any header.
fn message(id: u16, command: u16, kind: Kind, payload: &[u8]) -> BytesMut {
    let mut out = BytesMut::new();
    emit(&mut out, (id, command, kind), |out| out.put_slice(payload));
    out
}

const ASKS: Kind = Kind::Command { wants_reply: true };

/// The rule that bytes break in an open session that waits for a read of 4 bytes, command 0.
fn broken(mut input: BytesMut, files: usize) -> Rule {
    let (_, mut server) = open();
    server.read_memory(0, 4).unwrap();
    server.add_files(0..files as u32, input.len());
    let violation = server.receive(&mut input).expect_err("a violation");
    let told = violation.to_string();
    assert!(told.starts_with(violation.rule.name()) && told.contains("message 2"), "{told}");
    assert_eq!(server.receive(&mut BytesMut::from(&[0; 99][..])), Ok(None));
    violation.rule
}

#[test]
fn each_rule_that_a_message_of_a_client_can_break_is_named() {
    let reply = Kind::Reply(Ok(()));
    let sized = |size: u32| {
        let mut out = message(0, 13, ASKS, &[]);
        out[4..8].copy_from_slice(&size.to_ne_bytes());
        out
    };
    assert_eq!(broken(sized(15), 0), Rule::Size);
    assert_eq!(broken(sized(MAX_MESSAGE as u32 + 1), 0), Rule::Size);
    let mut neither = sized(16);
    neither[8] = 2;
    assert_eq!(broken(neither, 0), Rule::Type);
    assert_eq!(broken(message(1, 1, ASKS, &[0; 4]), 0), Rule::VersionFirst);
    for (command, length) in [(2, 32), (3, 24), (4, 16), (5, 32), (7, 16), (9, 16), (10, 16)] {
        assert_eq!(broken(message(0, command, ASKS, &vec![0; length - 1]), 0), Rule::Length);
        assert_eq!(broken(message(0, command, ASKS, &vec![0; length + 1]), 0), Rule::Length);
    }
    // Neither a kind of data nor an action, and as many of both.
    assert_eq!(broken(message(0, 8, ASKS, &[0; 20]), 0), Rule::Length);
    assert_eq!(broken(message(0, 15, ASKS, &[0xff; 8]), 0), Rule::Length);
    assert_eq!(broken(message(9, 11, reply, &[0; 20]), 0), Rule::Answers);
    assert_eq!(broken(message(0, 12, reply, &[]), 0), Rule::Answers);
    assert_eq!(broken(message(0, 11, reply, &[0; 19]), 0), Rule::ReplyLength);
    assert_eq!(broken(message(0, 11, reply, &[0; 20]), 0), Rule::ReplyLength);
    assert_eq!(broken(message(0, 11, Kind::Reply(Err(Errno::EIO)), &[0; 1]), 0), Rule::Errors);
    assert_eq!(broken(message(0, 13, ASKS, &[]), 1), Rule::Files);
    let mut map = BytesMut::new();
    Request::DmaMap(MAP).emit(&mut map);
    assert_eq!(broken(message(0, 2, ASKS, &map), 2), Rule::Files);
    let long = [&[0; 12][..], &(MAX_DATA as u32 + 1).to_ne_bytes()].concat();
    assert_eq!(broken(message(0, 9, ASKS, &long), 0), Rule::Transfer);
    assert_eq!(broken(message(0, 11, ASKS, &[0; 16]), 0), Rule::Direction);
}

#[test]
fn a_session_begins_with_a_version_that_can_be_understood() {
    let first = |command, payload: &[u8]| {
        let mut server = Connection::<u32>::new(all());
        server.receive(&mut message(0, command, ASKS, payload)).map(drop).map_err(|broken| broken.rule)
    };
    assert_eq!(first(4, &[0; 16]), Err(Rule::VersionFirst));
    assert_eq!(first(1, &[0; 3]), Err(Rule::Length));
    assert_eq!(first(1, &1_u32.to_ne_bytes()), Err(Rule::Major));
    assert_eq!(first(1, b"\0\0\0\0{}"), Err(Rule::VersionData));
    assert_eq!(first(1, b"\0\0\0\0[\0"), Err(Rule::VersionData));
    assert_eq!(first(1, b"\0\0\0\0{\"capabilities\":{\"pgsizes\":\"x\"}}\0"), Err(Rule::VersionData));
    assert_eq!(
        first(1, &[b"\0\0\0\0", "[".repeat(100_000).as_bytes(), b"\0"].concat()),
        Err(Rule::VersionData)
    );
    for right in [&b"\0\0\0\0"[..], b"\0\0\x09\0", b"\0\0\0\0\0", b"\0\0\0\0{\"more\":[1]}\0"] {
        assert_eq!(first(1, right), Ok(()));
    }
}

#[test]
fn an_unknown_command_is_left_to_the_server_to_refuse() {
    let (_, mut server) = open();
    let told = server.receive(&mut message(3, 99, ASKS, &[1])).unwrap();
    let Some(Event::Request { request: Request::Other { command: 99, payload }, .. }) = told else {
        panic!("{told:?}")
    };
    assert_eq!(payload[..], [1]);
}

#[test]
fn files_that_no_message_wants_end_the_session_before_there_are_many() {
    let (_, mut server) = open();
    let mut input = message(0, 10, ASKS, &[0; 1000]).split_to(500);
    for length in 17..400 {
        server.add_files([1], length);
    }
    assert!(server.files.len() <= MAX_FILES);
    assert_eq!(server.receive(&mut input).map_err(|broken| broken.rule), Err(Rule::Files));
}

#[test]
fn interrupts_are_set_with_eventfds_and_without() {
    let (mut client, mut server) = open();
    for data in [IrqData::None, IrqData::Bool(vec![true, false]), IrqData::Eventfd] {
        for action in [IrqAction::Mask, IrqAction::Unmask, IrqAction::Trigger] {
            let set = SetIrqs { index: 2, start: 0, count: 2, action, data: data.clone() };
            client.request(&Request::SetIrqs(set.clone()));
            let told = server.receive(client.output()).unwrap();
            assert!(
                matches!(&told, Some(Event::Request { request: Request::SetIrqs(told), .. }) if *told == set),
                "{told:?}"
            );
        }
    }
}
