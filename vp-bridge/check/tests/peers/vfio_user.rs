//! A server for each rule of vfio-user that breaks it, and one that breaks none.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::time::Duration;

use bytes::BytesMut;
use vp_check::vfio_user::Check;
use vp_check::{Report, Verdict};
use vp_protocols::vfio_user::frame::Kind;
use vp_protocols::vfio_user::{
    Capabilities, Command, Connection, DeviceInfo, Errno, Event, HEADER, Header, IrqInfo, MAX_MESSAGE,
    RegionInfo, Reply, Request, Rule,
};
use vp_transport::Address;

/// Fault of a server.
#[derive(Clone)]
enum Wrong {
    Nothing,
    /// Says that in place of its first message.
    Greets(Vec<u8>),
    /// Says that when the device's numbers are asked for.
    Says(Vec<u8>),
    /// Answers no read.
    IsSilent,
    /// Maps over what is mapped.
    MapsTwice,
    /// Fails to unmap what is mapped.
    Keeps,
    /// Does a command that there is not.
    DoesAll,
}

fn message(id: u16, command: u16, kind: Kind, payload: &[u8]) -> Vec<u8> {
    let mut out = BytesMut::new();
    Header::new(id, command, kind, payload.len()).emit(&mut out);
    out.extend_from_slice(payload);
    out.to_vec()
}

fn answer(request: &Request, is_mapped: &mut bool, wrong: &Wrong) -> Result<Reply, Errno> {
    Ok(match request {
        Request::DeviceInfo => Reply::Device(DeviceInfo { regions: 9, irqs: 5 }),
        Request::RegionInfo { index } => Reply::Region(RegionInfo { index: *index, size: 4096 }),
        Request::IrqInfo { index } => Reply::Irq(IrqInfo { index: *index, count: 1, is_level: false }),
        Request::RegionRead { region, offset, count } => {
            Reply::Data { region: *region, offset: *offset, data: vec![7; *count as usize].into() }
        }
        Request::RegionWrite(write) => {
            Reply::Written { region: write.region, offset: write.offset, count: write.data.len() as u32 }
        }
        Request::DmaMap(_) if std::mem::replace(is_mapped, true) && !matches!(wrong, Wrong::MapsTwice) => {
            return Err(Errno::EEXIST);
        }
        Request::DmaUnmap(_) if matches!(wrong, Wrong::Keeps) => return Err(Errno::EINVAL),
        Request::DmaUnmap(unmap) => Reply::Unmapped(*unmap),
        Request::Other { .. } if !matches!(wrong, Wrong::DoesAll) => return Err(Errno::ENOSYS),
        _ => Reply::Done,
    })
}

fn serve(listener: &UnixListener, wrong: &Wrong) {
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut connection = Connection::<()>::new(Capabilities::default());
    let (mut input, mut part, mut is_mapped) = (BytesMut::new(), [0; 4096], false);
    while let Ok(read @ 1..) = stream.read(&mut part) {
        input.extend_from_slice(&part[..read]);
        while let Ok(Some(event)) = connection.receive(&mut input) {
            match (event, wrong) {
                (Event::Opened, Wrong::Greets(bytes)) => {
                    connection.output().clear();
                    connection.output().extend_from_slice(bytes);
                }
                (Event::Request { request: Request::DeviceInfo, .. }, Wrong::Says(bytes)) => {
                    connection.output().extend_from_slice(bytes);
                }
                (Event::Request { request: Request::RegionRead { .. }, .. }, Wrong::IsSilent) => {}
                (Event::Request { token, request, .. }, wrong) => {
                    match answer(&request, &mut is_mapped, wrong) {
                        Ok(reply) => connection.reply(token, &reply),
                        Err(error) => connection.fail(token, error),
                    }
                }
                _ => {}
            }
        }
        // A check that has seen enough is gone.
        _ = stream.write_all(&connection.output().split());
    }
}

fn check(wrong: Wrong) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vfio.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || serve(&listener, &wrong));
    let timeout = Duration::from_millis(500);
    let report = Check { address: Address::Unix(path), register: 0, timeout }.run().unwrap();
    server.join().unwrap();
    report
}

fn broken(wrong: Wrong) -> Vec<&'static str> {
    let rules = check(wrong).rules.into_iter();
    let broken = rules.filter(|finding| matches!(finding.verdict, Verdict::Broken { .. }));
    broken.map(|finding| finding.rule).collect()
}

#[test]
fn a_server_that_breaks_no_rule_passes() {
    let report = check(Wrong::Nothing);
    assert!(report.passed, "{report}");
    let untried = report.rules.iter().filter(|finding| finding.verdict == Verdict::Untried);
    // The codec has no occasion for them: nothing was asked of the check's memory.
    let untried: Vec<_> = untried.map(|finding| finding.rule).collect();
    assert_eq!(untried, [Rule::Length.name(), Rule::Direction.name()]);
}

#[test]
fn a_server_that_breaks_a_rule_is_told_which() {
    let told = Kind::Reply(Ok(()));
    let device = Command::DeviceInfo as u16;
    let sized = |size: u32| {
        let mut bytes = message(1, device, told, &[0; 16]);
        bytes[4..8].copy_from_slice(&size.to_ne_bytes());
        bytes
    };
    let mut kind = message(1, device, told, &[0; 16]);
    kind[8] = 7;
    let version = |payload: &[u8]| Wrong::Greets(message(0, 1, told, payload));
    let failed = Kind::Reply(Err(Errno::EIO));
    for (wrong, rule) in [
        (Wrong::Says(sized(HEADER as u32 - 1)), Rule::Size),
        (Wrong::Says(sized(MAX_MESSAGE as u32 + 1)), Rule::Size),
        (Wrong::Says(kind), Rule::Type),
        (version(b"\0\0\0\0{"), Rule::VersionData),
        (version(&[9, 0, 0, 0]), Rule::LowerVersion),
        (Wrong::Says(message(1, 12, Kind::Command { wants_reply: true }, &[0; 15])), Rule::Length),
        (Wrong::Says(message(99, device, told, &[0; 16])), Rule::Answers),
        (Wrong::Says(message(1, device, told, &[0; 15])), Rule::ReplyLength),
        (Wrong::Says(message(1, 9, Kind::Command { wants_reply: true }, &[0; 16])), Rule::Direction),
        (Wrong::Says(message(1, device, failed, &[0; 16])), Rule::Errors),
        (Wrong::IsSilent, Rule::Answered),
        (Wrong::DoesAll, Rule::Unknown),
        (Wrong::MapsTwice, Rule::MappedOnce),
        (Wrong::Keeps, Rule::Unmapped),
    ] {
        assert_eq!(broken(wrong), [rule.name()]);
    }
}

#[test]
fn a_server_that_is_gone_or_asks_without_end_is_a_finding() {
    let mut reads = Vec::new();
    for id in 0..1000 {
        let payload = [&[0; 8][..], &8_u64.to_ne_bytes()].concat();
        reads.extend(message(id, 11, Kind::Command { wants_reply: true }, &payload));
    }
    assert_eq!(broken(Wrong::Says(reads)), [Rule::Answered.name()]);
}
