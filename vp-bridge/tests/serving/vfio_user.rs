//! Hypervisors that speak vfio-user: a layer in their memory, and what becomes of those that do wrong.

use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use tempfile::TempDir;
use vp_host::Host as _;
use vp_models::platform::Description;
use vp_protocols::vfio_user::{
    Capabilities, Client, ClientEvent, DmaMap, DmaUnmap, Errno, IrqAction, IrqData, Reply, Request, SetIrqs,
    Write,
};
use vp_server::Options;
use vp_shm::descriptors::send;
use vp_shm::{Region, sealed, wait};
use vp_transport::Address;

use crate::common::{self, SOURCE, Served, TARGET};

/// Only to end a test that would hang.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// The memory's first address, and its bytes.
pub(super) const BASE: u64 = SOURCE as u64;
pub(super) const SIZE: u64 = 1 << 20;
/// Numbers of the regions, and of the type of interrupts by messages.
pub(super) const REGISTERS: u32 = 0;
pub(super) const CONFIGURATION: u32 = 7;
const MSIX: u32 = 2;

/// A server, and the address at which it speaks vfio-user.
pub(super) fn served() -> (Served, Address, TempDir) {
    served_as(common::description())
}

/// A server as [`served`], of another platform.
pub(super) fn served_as(description: Description) -> (Served, Address, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let address = |name: &str| Address::Unix(folder.path().join(name));
    let place = address("vfio.sock");
    let native = address("vp.sock").to_string();
    let served = Served::with_all(&native, Some(place.clone()), Options::default(), description);
    (served, place, folder)
}

/// A hypervisor that does one thing at a time, and keeps its guest's memory here, if the server has not mapped it.
pub(super) struct Hypervisor {
    stream: UnixStream,
    client: Client,
    input: BytesMut,
    pub(super) memory: Vec<u8>,
    /// Accesses to memory by messages.
    pub(super) accesses: u32,
}

impl Hypervisor {
    pub(super) fn open(address: &Address) -> Hypervisor {
        let Address::Unix(path) = address else { panic!("a Unix socket") };
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let client = Client::new(Capabilities::default());
        let memory = vec![0; SIZE as usize];
        let mut one = Hypervisor { stream, client, input: BytesMut::new(), memory, accesses: 0 };
        one.write(&[]);
        assert!(matches!(one.next(), Some(ClientEvent::Opened(_))));
        one
    }

    fn write(&mut self, mut files: &[BorrowedFd<'_>]) {
        while !self.client.output().is_empty() {
            let sent = send(&self.stream, self.client.output().chunk(), files).unwrap();
            self.client.output().advance(sent);
            files = &[];
        }
    }

    /// The next event that is no access to memory; `None`: the end.
    fn next(&mut self) -> Option<ClientEvent> {
        loop {
            match self.client.receive(&mut self.input).unwrap() {
                Some(event @ (ClientEvent::Read { .. } | ClientEvent::Write { .. })) => self.access(&event),
                Some(event) => return Some(event),
                None => {
                    let mut part = [0; 4096];
                    match self.stream.read(&mut part).unwrap() {
                        0 => return None,
                        read => self.input.extend_from_slice(&part[..read]),
                    }
                }
            }
        }
    }

    fn access(&mut self, event: &ClientEvent) {
        self.accesses += 1;
        match event {
            ClientEvent::Read { address, count, .. } => {
                let from = (address - BASE) as usize;
                let data = self.memory[from..from + *count as usize].to_vec();
                self.client.answer(event, Ok(&data));
            }
            ClientEvent::Write { address, data, .. } => {
                let from = (address - BASE) as usize;
                self.memory[from..from + data.len()].copy_from_slice(data);
                self.client.answer(event, Ok(&[]));
            }
            _ => {}
        }
        self.write(&[]);
    }

    pub(super) fn ask(&mut self, request: &Request, files: &[BorrowedFd<'_>]) -> Result<Reply, Errno> {
        let asked = self.client.request(request);
        self.write(files);
        match self.next() {
            Some(ClientEvent::Replied { id, result }) if id == asked => result,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn map(&mut self, file: Option<&OwnedFd>) -> Result<Reply, Errno> {
        let map = DmaMap { is_readable: true, is_writeable: true, offset: 0, address: BASE, size: SIZE };
        let files: Vec<_> = file.iter().map(|file| file.as_fd()).collect();
        self.ask(&Request::DmaMap(map), &files)
    }

    pub(super) fn write_region(&mut self, region: u32, offset: u64, data: &[u8]) {
        let data = Bytes::copy_from_slice(data);
        self.ask(&Request::RegionWrite(Write { region, offset, data }), &[]).unwrap();
    }

    pub(super) fn read_register(&mut self, offset: u64) -> Result<u32, Errno> {
        match self.ask(&Request::RegionRead { region: REGISTERS, offset, count: 4 }, &[])? {
            Reply::Data { data, .. } => Ok(u32::from_le_bytes(data[..].try_into().unwrap())),
            other => panic!("{other:?}"),
        }
    }

    /// Makes the device a bus master, as its guest's driver does.
    pub(super) fn set_master(&mut self) {
        self.write_region(CONFIGURATION, 4, &[6, 0]);
    }

    /// Starts a copy of bytes from `SOURCE` to `TARGET` as its guest's driver would.
    pub(super) fn start_copy(&mut self, (width, height, channels): (u32, u32, u32)) {
        self.set_master();
        self.write_registers(common::copy_registers(width, height, channels));
    }

    pub(super) fn write_registers(&mut self, writes: impl IntoIterator<Item = (&'static str, u32)>) {
        let map = common::local().map();
        for (register, value) in writes {
            let address = map.find(register).unwrap().address;
            self.write_region(REGISTERS, address.into(), &value.to_le_bytes());
        }
    }

    /// The eventfd by which the device interrupts.
    pub(super) fn interrupt(&mut self) -> OwnedFd {
        let file = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
        let (action, data) = (IrqAction::Trigger, IrqData::Eventfd);
        let set = Request::SetIrqs(SetIrqs { index: MSIX, start: 0, count: 1, action, data });
        assert_eq!(self.ask(&set, &[file.as_fd()]), Ok(Reply::Done));
        file
    }

    /// The interrupt's status, which is read and cleared.
    pub(super) fn take_status(&mut self) -> u32 {
        let status = u64::from(common::local().map().find("GLB.S_INTR_STATUS").unwrap().address);
        let value = self.read_register(status).unwrap();
        self.write_region(REGISTERS, status, &value.to_le_bytes());
        value
    }
}

pub(super) const SHAPE: (u32, u32, u32) = (16, 16, 8);
pub(super) const LENGTH: usize = 16 * 16 * 8;
pub(super) const FROM: usize = (TARGET - SOURCE) as usize;

#[test]
fn a_layer_runs_in_memory_that_a_hypervisor_has_passed_and_interrupts_by_an_eventfd() {
    let (_served, address, _folder) = served();
    let mut one = Hypervisor::open(&address);
    let file = sealed("guest", SIZE).unwrap();
    let memory = Region::map(&file, 0, SIZE).unwrap();
    let bytes = common::pattern(LENGTH);
    assert!(memory.write(0, &bytes));
    one.map(Some(&file)).unwrap();
    let interrupt = one.interrupt();
    for _ in 0..2 {
        one.start_copy(SHAPE);
        assert!(wait(&[interrupt.as_fd()], &[], Some(PATIENCE)), "no interrupt");
        let mut count = [0; 8];
        rustix::io::read(&interrupt, &mut count).unwrap();
        assert_ne!(one.take_status(), 0);
        assert!(!wait(&[interrupt.as_fd()], &[], Some(Duration::from_millis(20))), "one interrupt a layer");
        let mut copied = vec![0; LENGTH];
        assert!(memory.read(FROM as u64, &mut copied) && copied == bytes);
        assert!(memory.write(FROM as u64, &vec![0; LENGTH]));
        // The first group of registers is in turn then.
        assert_eq!(one.ask(&Request::Reset, &[]), Ok(Reply::Done));
    }
    assert_eq!(one.accesses, 0, "no message for memory");
}

/// Runs a copy in memory that is not mapped by the server.
pub(super) fn runs_by_messages(one: &mut Hypervisor) {
    let bytes = common::pattern(LENGTH);
    one.memory[..LENGTH].copy_from_slice(&bytes);
    let interrupt = one.interrupt();
    one.start_copy(SHAPE);
    // The layer may wait for memory: it is served here.
    one.stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut part = [0; 4096];
    while !wait(&[interrupt.as_fd()], &[], Some(Duration::ZERO)) {
        if let Ok(read) = one.stream.read(&mut part) {
            assert_ne!(read, 0, "the session ends");
            one.input.extend_from_slice(&part[..read]);
        }
        while let Some(event) = one.client.receive(&mut one.input).unwrap() {
            one.access(&event);
        }
    }
    one.stream.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_ne!(one.take_status(), 0);
    assert!(one.memory[FROM..FROM + LENGTH] == bytes && one.accesses > 0);
}

#[test]
fn a_layer_runs_in_memory_that_a_hypervisor_keeps_to_itself() {
    let (_served, address, _folder) = served();
    let mut one = Hypervisor::open(&address);
    one.map(None).unwrap();
    runs_by_messages(&mut one);
}

#[test]
fn a_layer_runs_in_a_file_that_may_shrink_and_one_that_shrinks_meanwhile_ends_nobody() {
    let (_served, address, _folder) = served();
    let mut one = Hypervisor::open(&address);
    // As cloud-hypervisor has its guest's: no seal, and none can be added.
    let file = memfd_create("guest", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&file, SIZE).unwrap();
    let memory = Region::map_any(&file, 0, SIZE).unwrap();
    let bytes = common::pattern(LENGTH);
    assert!(memory.write(0, &bytes));
    one.map(Some(&file)).unwrap();
    let interrupt = one.interrupt();
    one.start_copy(SHAPE);
    assert!(wait(&[interrupt.as_fd()], &[], Some(PATIENCE)), "no interrupt");
    let mut count = [0; 8];
    rustix::io::read(&interrupt, &mut count).unwrap();
    assert_ne!(one.take_status(), 0);
    let mut copied = vec![0; LENGTH];
    assert!(memory.read(FROM as u64, &mut copied) && copied == bytes);
    assert_eq!(one.ask(&Request::Reset, &[]), Ok(Reply::Done));
    one.start_copy((512, 512, 8));
    ftruncate(&file, 0).unwrap();
    assert!(wait(&[interrupt.as_fd()], &[], Some(PATIENCE)), "the layer ends all the same");
    assert_ne!(one.take_status(), 0);
    assert_eq!(one.accesses, 0, "no message for memory");
}

#[test]
fn a_file_of_which_the_hypervisor_has_mapped_other_bytes_is_never_mapped() {
    let (_served, address, _folder) = served();
    let mut one = Hypervisor::open(&address);
    let file = sealed("guest", SIZE).unwrap();
    let _half = Region::map(&file, SIZE / 2, SIZE / 2).unwrap();
    one.map(Some(&file)).unwrap();
    runs_by_messages(&mut one);
}

#[test]
fn files_that_are_too_short_or_none_of_memory_are_never_mapped() {
    let (_served, address, folder) = served();
    let disk = std::fs::File::create_new(folder.path().join("memory")).unwrap();
    disk.set_len(SIZE).unwrap();
    // A folder of temporary files may be memory, too.
    let is_memory = Region::map_any(&disk, 0, SIZE).is_ok();
    let short = sealed("guest", SIZE / 2).unwrap();
    for file in [Some(short), (!is_memory).then(|| disk.into())].into_iter().flatten() {
        let mut one = Hypervisor::open(&address);
        one.map(Some(&file)).unwrap();
        runs_by_messages(&mut one);
    }
}

#[test]
fn memory_that_is_unmapped_while_a_layer_runs_fails_its_bursts_and_the_platform_goes_on() {
    let (_served, address, _folder) = served();
    let mut one = Hypervisor::open(&address);
    let file = sealed("guest", SIZE).unwrap();
    one.map(Some(&file)).unwrap();
    let interrupt = one.interrupt();
    one.start_copy((512, 512, 8));
    let unmap = DmaUnmap { is_all: false, address: BASE, size: SIZE };
    assert_eq!(one.ask(&Request::DmaUnmap(unmap), &[]), Ok(Reply::Unmapped(unmap)));
    // Its file may be anybody's from now on.
    let before = Region::map(&file, 0, SIZE).unwrap();
    assert!(before.write(0, &vec![0x55; SIZE as usize]));
    assert!(wait(&[interrupt.as_fd()], &[], Some(PATIENCE)), "the layer ends all the same");
    assert_ne!(one.take_status(), 0);
    let mut after = vec![0; SIZE as usize];
    assert!(before.read(0, &mut after) && after.iter().all(|byte| *byte == 0x55));
    assert_eq!(one.ask(&Request::Reset, &[]), Ok(Reply::Done));
    one.map(None).unwrap();
    runs_by_messages(&mut one);
}

#[test]
fn more_parts_of_memory_than_there_may_be_are_refused_and_those_before_stay() {
    let (_served, address, _folder) = served();
    let mut one = Hypervisor::open(&address);
    one.map(None).unwrap();
    let file = sealed("part", 4096).unwrap();
    let part = |number: u64| DmaMap {
        is_readable: true,
        is_writeable: true,
        offset: 0,
        address: BASE + SIZE + 4096 * number,
        size: 4096,
    };
    for number in 0..300 {
        // Every other part has a file, which is kept open.
        let files: &[BorrowedFd<'_>] = if number % 2 == 0 { &[file.as_fd()] } else { &[] };
        let expected = if number < 255 { Ok(Reply::Done) } else { Err(Errno::ENOSPC) };
        assert_eq!(one.ask(&Request::DmaMap(part(number)), files), expected, "{number}");
    }
    let DmaMap { address, size, .. } = part(100);
    let unmap = DmaUnmap { is_all: false, address, size };
    assert_eq!(one.ask(&Request::DmaUnmap(unmap), &[]), Ok(Reply::Unmapped(unmap)));
    assert_eq!(one.ask(&Request::DmaMap(part(299)), &[]), Ok(Reply::Done));
    runs_by_messages(&mut one);
}

#[test]
fn an_eventfd_that_is_full_and_waits_holds_nobody_up() {
    let (_served, address, _folder) = served();
    let mut one = Hypervisor::open(&address);
    let file = sealed("guest", SIZE).unwrap();
    one.map(Some(&file)).unwrap();
    let interrupt = one.interrupt();
    rustix::io::write(&interrupt, &(u64::MAX - 1).to_ne_bytes()).unwrap();
    rustix::io::ioctl_fionbio(&interrupt, false).unwrap();
    let trigger =
        SetIrqs { index: MSIX, start: 0, count: 1, action: IrqAction::Trigger, data: IrqData::None };
    for _ in 0..3 {
        assert_eq!(one.ask(&Request::SetIrqs(trigger.clone()), &[]), Ok(Reply::Done));
    }
    one.start_copy(SHAPE);
    assert!(one.read_register(0x1000).is_ok());
}

#[test]
fn a_file_of_another_kind_is_no_eventfd_and_no_memory() {
    let (_served, address, _folder) = served();
    let mut one = Hypervisor::open(&address);
    let (near, _far) = UnixStream::pair().unwrap();
    let set = SetIrqs { index: MSIX, start: 0, count: 1, action: IrqAction::Trigger, data: IrqData::Eventfd };
    assert_eq!(one.ask(&Request::SetIrqs(set), &[near.as_fd()]), Err(Errno::EINVAL));
    one.map(Some(&near.into())).unwrap();
    runs_by_messages(&mut one);
}

#[test]
fn those_who_break_a_rule_or_vanish_take_nobody_with_them() {
    let (_served, address, _folder) = served();
    let Address::Unix(path) = &address else { panic!() };
    let mut good = Hypervisor::open(&address);
    // No version; a header of nonsense; a version and half a message; files beside nothing that wants them.
    for bytes in [&[0; 64][..], &[0xff; 16], b"\0\0\x01\0\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\x0d\0"] {
        let mut bad = UnixStream::connect(path).unwrap();
        bad.write_all(bytes).unwrap();
        bad.shutdown(std::net::Shutdown::Write).unwrap();
        bad.set_read_timeout(Some(PATIENCE)).unwrap();
        bad.read_to_end(&mut Vec::new()).unwrap();
        assert!(good.read_register(0x1000).is_ok());
    }
    let mut files = Hypervisor::open(&address);
    files.client.request(&Request::Reset);
    files.write(&[sealed("test", 4096).unwrap().as_fd()]);
    assert_eq!(files.next(), None, "the session is over");
    // In the middle of a layer whose memory it keeps.
    let mut vanishes = Hypervisor::open(&address);
    vanishes.map(None).unwrap();
    vanishes.start_copy(SHAPE);
    drop(vanishes);
    let mut last = Hypervisor::open(&address);
    last.map(None).unwrap();
    runs_by_messages(&mut last);
    assert!(good.read_register(0x1000).is_ok());
}

#[test]
fn a_flood_of_commands_is_answered_one_by_one() {
    let (_served, address, _folder) = served();
    let mut one = Hypervisor::open(&address);
    for _ in 0..5000 {
        one.client.post(&Request::DeviceInfo);
        one.client.post(&Request::RegionRead { region: REGISTERS, offset: 0x1000, count: 4 });
    }
    assert!(one.read_register(0x1000).is_ok());
}
