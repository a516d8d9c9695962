//! Byte vectors of vfio-user: our own.

use crate::common::{hex, own_vectors};
use bytes::{Bytes, BytesMut};
use vp_protocols::vfio_user::frame::Kind;
use vp_protocols::vfio_user::*;

const OWN: &str = include_str!("../../vectors/vfio-user.txt");

/// A request to which a payload can be the reply.
fn request(command: u16, payload: &[u8]) -> Request {
    let number = |at: usize| u64::from_le_bytes(payload[at..at + 8].try_into().unwrap());
    match Command::new(command) {
        Some(Command::DmaUnmap) => {
            Request::DmaUnmap(DmaUnmap { is_all: false, address: number(8), size: number(16) })
        }
        Some(Command::DeviceInfo) => Request::DeviceInfo,
        Some(Command::RegionInfo) => Request::RegionInfo { index: 0 },
        Some(Command::IrqInfo) => Request::IrqInfo { index: 0 },
        Some(Command::RegionRead) => {
            Request::RegionRead { region: 0, offset: 0, count: payload.len() as u32 - 16 }
        }
        Some(Command::RegionWrite) => {
            Request::RegionWrite(Write { region: 0, offset: 0, data: Bytes::new() })
        }
        Some(Command::RegionWriteMulti) => Request::RegionWriteMulti(Vec::new()),
        Some(Command::Feature) => {
            let data = Bytes::copy_from_slice(&payload[8..]);
            Request::Feature(Feature { most: 64, flags: number(0).checked_shr(32).unwrap() as u32, data })
        }
        Some(Command::MigrationRead) => Request::MigrationRead { most: 64, count: payload.len() as u32 },
        _ => Request::Reset,
    }
}

// The numbers are in the byte order of the host.
#[cfg(target_endian = "little")]
#[test]
fn own_vectors_mean_what_they_say_and_are_written_so() {
    let mut commands = Vec::new();
    for (name, means, image) in own_vectors(OWN) {
        let (head, payload) = image.split_first_chunk::<HEADER>().expect(name);
        let header = Header::parse(head);
        assert_eq!(header.size as usize, image.len(), "{name}");
        let (mut again, mut written) = (BytesMut::new(), BytesMut::new());
        header.emit(&mut again);
        assert_eq!(hex(&again), hex(head), "{name}");
        if name.starts_with("[reply: ") {
            assert_eq!(header.kind(), Some(Kind::Reply(Ok(()))), "{name}");
            let asked = request(header.command, payload);
            let reply = Reply::parse(&asked, Bytes::copy_from_slice(payload)).expect(name);
            assert_eq!(format!("{reply:?}"), means, "{name}");
            reply.emit(&mut written);
        } else {
            let request = Request::parse(header.command, Bytes::copy_from_slice(payload)).expect(name);
            assert_eq!(format!("{request:?}"), means, "{name}");
            assert_eq!(request.command(), header.command, "{name}");
            request.emit(&mut written);
            commands.push(header.command);
        }
        assert_eq!(hex(&written), hex(payload), "{name}");
    }
    let others = [Command::Version, Command::DmaRead, Command::DmaWrite];
    let useless = [Command::RegionIoFds];
    let is_there = |command: &Command| commands.contains(&(*command as u16));
    let expected = Command::ALL.iter().filter(|of| !others.contains(of) && !useless.contains(of));
    assert!(expected.clone().all(is_there), "a vector of each command");
}

/// First message of QEMU 11.1 (hw/vfio-user/proxy.c, `caps_json`), but for the order of names.
#[test]
fn the_capabilities_of_qemu_are_understood_and_the_answer_is_no_longer() {
    let sent = br#"{"capabilities": {"migration": {"pgsize": 4096, "max_bitmap_size": 268435456}, "max_msg_fds": 16, "max_data_xfer_size": 1048576, "pgsizes": 4096, "max_dma_maps": 65535, "write_multiple": true}}"#;
    let proposed = Capabilities::parse(&[&sent[..], b"\0"].concat()).unwrap();
    assert_eq!(proposed.max_dma_maps, Some(65_535));
    let own = Capabilities { max_dma_maps: Some(256), max_msg_fds: Some(1), ..proposed };
    let told = own.among(&proposed);
    assert_eq!(Capabilities::parse(&told.emit()), Ok(told));
    // It has no more room for the answer than its own message had.
    assert!(told.emit().len() <= sent.len() + 1);
}
