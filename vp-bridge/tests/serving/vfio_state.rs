//! State of a device over vfio-user: read of one server, taken up by another, and the pages that it writes meanwhile.

use std::os::fd::AsFd as _;

use bytes::Bytes;
use vp_host::Host as _;
use vp_protocols::vfio_user::{Errno, Feature, Reply, Request};
use vp_shm::{Region, sealed, wait};

use crate::common::{self, TARGET};
use crate::vfio_user::{
    BASE, CONFIGURATION, FROM, Hypervisor, LENGTH, PATIENCE, REGISTERS, SHAPE, SIZE, runs_by_messages,
    served, served_as,
};

/// Device states of <linux/vfio.h>.
const STOP: u32 = 1;
const RUNNING: u32 = 2;
const STOP_COPY: u32 = 3;
const RESUMING: u32 = 4;

fn feature(flags: u32, number: u16, data: &[u8]) -> Request {
    let data = Bytes::copy_from_slice(data);
    Request::Feature(Feature { most: 1 << 20, flags: flags | u32::from(number), data })
}

impl Hypervisor {
    fn set_state(&mut self, state: u32) -> Result<(), Errno> {
        let data = [state, 0].map(u32::to_ne_bytes).concat();
        let reply = self.ask(&feature(Feature::SET, Feature::DEVICE_STATE, &data), &[])?;
        let flags = Feature::SET | u32::from(Feature::DEVICE_STATE);
        assert_eq!(reply, Reply::Feature { flags, data: data.into() });
        Ok(())
    }

    fn get(&mut self, number: u16, data: &[u8]) -> Result<Bytes, Errno> {
        match self.ask(&feature(Feature::GET, number, data), &[])? {
            Reply::Feature { data, .. } => Ok(data),
            other => panic!("{other:?}"),
        }
    }

    fn state(&mut self) -> u32 {
        let data = self.get(Feature::DEVICE_STATE, &[]).unwrap();
        u32::from_ne_bytes(data[..4].try_into().unwrap())
    }

    /// All of the state, by reads of so many bytes.
    fn read_state(&mut self, count: u32) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            match self.ask(&Request::MigrationRead { most: count + 8, count }, &[]).unwrap() {
                Reply::State(data) => all.extend_from_slice(&data),
                other => panic!("{other:?}"),
            }
            if all.len() % count as usize != 0 || all.is_empty() {
                return all;
            }
        }
    }

    fn write_state(&mut self, state: &[u8]) -> Result<(), Errno> {
        for part in state.chunks(777) {
            self.ask(&Request::MigrationWrite(Bytes::copy_from_slice(part)), &[])?;
        }
        Ok(())
    }

    /// The registers that a copy writes, the configuration, and the table of MSI-X.
    fn looks(&mut self) -> (Vec<u32>, Vec<Reply>) {
        let map = common::local().map();
        let names = common::copy_registers(1, 1, 8).into_iter().map(|(name, _)| name);
        let registers = names.chain(["GLB.S_INTR_STATUS", "GLB.S_INTR_MASK", "PDP.S_STATUS"]);
        let values = registers.map(|name| {
            let address = map.find(name).unwrap().address;
            self.read_register(address.into()).unwrap()
        });
        let values = values.collect();
        let read = |region, count| Request::RegionRead { region, offset: 0, count };
        let regions = [read(CONFIGURATION, 256), read(4, 16)];
        (values, regions.map(|read| self.ask(&read, &[]).unwrap()).into())
    }

    /// Runs a copy by the second group of registers, in memory that the server has mapped.
    fn copies_by_the_second_group(&mut self, memory: &Region) {
        let bytes: Vec<u8> = common::pattern(LENGTH).into_iter().map(|byte| byte ^ 0x5a).collect();
        assert!(memory.write(0, &bytes));
        let interrupt = self.interrupt();
        let (width, height, channels) = SHAPE;
        let writes = common::copy_registers(width, height, channels).into_iter();
        self.write_registers(
            writes
                .map(|(register, value)| (register, if register.ends_with("S_POINTER") { 1 } else { value })),
        );
        assert!(wait(&[interrupt.as_fd()], &[], Some(PATIENCE)), "no interrupt");
        assert_ne!(self.take_status(), 0);
        let mut copied = vec![0; LENGTH];
        assert!(memory.read(FROM as u64, &mut copied) && copied == bytes);
    }
}

/// A hypervisor whose device has run a layer by the first group, and its memory.
fn with_a_layer(address: &vp_transport::Address) -> (Hypervisor, Region) {
    let mut one = Hypervisor::open(address);
    let file = sealed("guest", SIZE).unwrap();
    let memory = Region::map(&file, 0, SIZE).unwrap();
    one.map(Some(&file)).unwrap();
    let interrupt = one.interrupt();
    one.start_copy(SHAPE);
    assert!(wait(&[interrupt.as_fd()], &[], Some(PATIENCE)), "no interrupt");
    assert_ne!(one.take_status(), 0);
    // A driver that has set messages up, and has a group half written.
    one.write_region(4, 0, &[0, 0, 0xe0, 0xfe, 0, 0, 0, 0, 0x41, 0, 0, 0, 0, 0, 0, 0]);
    one.write_region(CONFIGURATION, 0x52, &[0, 0x80]);
    one.write_registers([("PDP.S_POINTER", 1), ("PDP.D_DATA_CUBE_IN_WIDTH", 77)]);
    (one, memory)
}

#[test]
fn a_device_goes_on_in_another_server_and_in_the_first() {
    let (_served, address, _folder) = served();
    let (_other_served, other_address, _other_folder) = served();
    let (mut one, memory) = with_a_layer(&address);
    let before = one.looks();
    assert_eq!(one.get(Feature::MIGRATION, &[]).unwrap()[..], 1_u64.to_ne_bytes(), "while it is stopped");
    assert_eq!(one.state(), RUNNING);
    one.set_state(STOP_COPY).unwrap();
    let state = one.read_state(1000);
    // It may be read again.
    one.set_state(STOP).unwrap();
    one.set_state(STOP_COPY).unwrap();
    assert!(one.read_state(1 << 20) == state);

    let mut other = Hypervisor::open(&other_address);
    let file = sealed("other guest", SIZE).unwrap();
    let other_memory = Region::map(&file, 0, SIZE).unwrap();
    other.map(Some(&file)).unwrap();
    other.set_state(RESUMING).unwrap();
    other.write_state(&state).unwrap();
    other.set_state(RUNNING).unwrap();
    assert!(other.looks() == before);
    // It has taken up that it is a bus master, too.
    other.copies_by_the_second_group(&other_memory);

    one.set_state(RUNNING).unwrap();
    assert!(one.looks() == before);
    one.copies_by_the_second_group(&memory);
    // What was taken up can be passed on.
    other.set_state(STOP_COPY).unwrap();
    assert!(other.read_state(1 << 20).len() > 1000);
}

#[test]
fn a_line_that_is_high_is_high_in_the_other_server() {
    let (_served, address, _folder) = served();
    let (mut one, _memory) = with_a_layer(&address);
    // By a write of the driver, as for a test of its handler.
    one.write_registers([("GLB.S_INTR_SET", 1)]);
    one.set_state(STOP_COPY).unwrap();
    let state = one.read_state(4096);
    let mut other = Hypervisor::open(&address);
    let interrupt = other.interrupt();
    other.set_state(RESUMING).unwrap();
    other.write_state(&state).unwrap();
    assert!(!wait(&[interrupt.as_fd()], &[], Some(std::time::Duration::ZERO)));
    other.set_state(STOP).unwrap();
    assert!(wait(&[interrupt.as_fd()], &[], Some(PATIENCE)), "no interrupt");
    other.set_state(RUNNING).unwrap();
    assert_eq!(other.take_status(), 1);
}

#[test]
fn a_device_stops_when_its_layer_has_ended() {
    let (_served, address, _folder) = served();
    let mut one = Hypervisor::open(&address);
    one.map(None).unwrap();
    let bytes = common::pattern(LENGTH);
    one.memory[..LENGTH].copy_from_slice(&bytes);
    one.start_copy(SHAPE);
    // Its accesses to memory are served meanwhile.
    one.set_state(STOP).unwrap();
    assert!(one.memory[FROM..FROM + LENGTH] == bytes && one.accesses > 0);
    one.set_state(RUNNING).unwrap();
    assert_ne!(one.take_status(), 0);
}

#[test]
fn a_device_whose_layer_cannot_end_does_not_stop_and_goes_on() {
    let (_served, address, _folder) = served();
    let mut one = Hypervisor::open(&address);
    one.map(None).unwrap();
    one.set_master();
    let (width, height, channels) = SHAPE;
    let writes = common::copy_registers(width, height, channels).into_iter();
    // PDP waits for data of SDP, which is not enabled.
    let waits = writes.filter(|(register, _)| !register.starts_with("PDP_RDMA"));
    one.write_registers(waits.map(|(register, value)| {
        (register, if register == "PDP.D_OPERATION_MODE_CFG" { value & !0x10 } else { value })
    }));
    for state in [STOP, STOP_COPY, RESUMING] {
        assert_eq!(one.set_state(state), Err(Errno::EBUSY));
        assert_eq!(one.state(), RUNNING);
    }
    assert!(one.read_register(0x1000).is_ok());
    assert_eq!(one.ask(&Request::Reset, &[]), Ok(Reply::Done));
    one.set_state(STOP).unwrap();
    one.set_state(RUNNING).unwrap();
    runs_by_messages(&mut one);
}

#[test]
fn what_is_not_this_devices_state_is_refused_and_the_device_stays() {
    let (_served, address, _folder) = served();
    let (mut one, _memory) = with_a_layer(&address);
    one.set_state(STOP_COPY).unwrap();
    let state = one.read_state(1 << 16);
    let other = common::description().with(["dbb0.read_latency=77"]).unwrap();
    let (_other_served, other_address, _other_folder) = served_as(other);
    let (mut of_another, _memory) = with_a_layer(&other_address);
    of_another.set_state(STOP_COPY).unwrap();
    let mut flipped = state.clone();
    flipped[state.len() / 2] ^= 1;
    let mut newer = state.clone();
    newer[4] += 1;
    let cut = |to: usize| state[..to].to_vec();
    let wrong = [
        ("nothing", Vec::new()),
        ("foreign", b"QEVM and more of that".to_vec()),
        ("a platform alone", state[278..].to_vec()),
        ("its beginning", cut(3)),
        ("half a header", cut(100)),
        ("no platform", cut(278)),
        ("half a platform", cut(state.len() / 2)),
        ("all but a byte", cut(state.len() - 1)),
        ("a byte too many", [&state[..], &[0]].concat()),
        ("a bit", flipped),
        ("a newer form", newer),
        ("another platform's", of_another.read_state(1 << 16)),
    ];
    let mut here = Hypervisor::open(&address);
    here.map(None).unwrap();
    for (what, bytes) in wrong {
        here.set_state(RESUMING).unwrap();
        here.write_state(&bytes).unwrap();
        for to in [STOP, RUNNING] {
            assert_eq!(here.set_state(to), Err(Errno::EINVAL), "{what}");
            assert_eq!(here.state(), RESUMING, "{what}");
        }
        // The right one may come behind it, or a reset.
        if what == "a bit" {
            here.write_state(&state).unwrap();
            here.set_state(RUNNING).unwrap();
        }
        assert_eq!(here.ask(&Request::Reset, &[]), Ok(Reply::Done));
        assert_eq!(here.state(), RUNNING);
    }
    runs_by_messages(&mut here);
}

#[test]
fn a_state_without_end_is_refused() {
    let (_served, address, _folder) = served();
    let mut one = Hypervisor::open(&address);
    one.map(None).unwrap();
    one.set_state(RESUMING).unwrap();
    let part = Request::MigrationWrite(Bytes::from(vec![0; 1 << 20]));
    for _ in 0..64 {
        assert_eq!(one.ask(&part, &[]), Ok(Reply::Done));
    }
    assert_eq!(one.ask(&part, &[]), Err(Errno::ENOSPC));
    assert_eq!(one.set_state(STOP), Err(Errno::EINVAL));
    assert_eq!(one.ask(&Request::Reset, &[]), Ok(Reply::Done));
    runs_by_messages(&mut one);
}

#[test]
fn what_does_not_go_with_the_devices_state_is_refused() {
    let (_served, address, _folder) = served();
    let mut one = Hypervisor::open(&address);
    let read = |count| Request::MigrationRead { most: u32::MAX, count };
    let write = Request::MigrationWrite(Bytes::from_static(b"VPVU"));
    for state in [RUNNING, STOP, RESUMING] {
        one.set_state(state).unwrap();
        assert_eq!(one.ask(&read(8), &[]), Err(Errno::EINVAL));
    }
    assert_eq!(one.ask(&Request::Reset, &[]), Ok(Reply::Done));
    for state in [RUNNING, STOP, STOP_COPY] {
        one.set_state(state).unwrap();
        assert_eq!(one.ask(&write, &[]), Err(Errno::EINVAL));
    }
    assert_eq!(one.ask(&read((1 << 20) + 1), &[]), Err(Errno::EINVAL));
    assert_eq!(one.ask(&Request::MigrationRead { most: 15, count: 8 }, &[]), Err(Errno::EINVAL));
    assert_eq!(one.read_register(0x1000), Err(Errno::EBUSY));
    let registers = Request::RegionWrite(vp_protocols::vfio_user::Write {
        region: REGISTERS,
        offset: 0x1000,
        data: Bytes::from_static(&[0; 4]),
    });
    assert_eq!(one.ask(&registers, &[]), Err(Errno::EBUSY));
    // States that there are not, or that nobody can ask for: an error, two for direct access between devices, one before a copy.
    for state in [0, 5, 6, 7, 8, u32::MAX] {
        assert_eq!(one.set_state(state), Err(Errno::EINVAL), "{state}");
    }
    let short = feature(Feature::SET, Feature::DEVICE_STATE, &STOP.to_ne_bytes());
    assert_eq!(one.ask(&short, &[]), Err(Errno::EINVAL));
    for (flags, number, error) in [
        (Feature::GET, 3, Errno::ENOTTY),
        (Feature::SET, Feature::MIGRATION, Errno::EINVAL),
        (Feature::PROBE | Feature::SET, Feature::MIGRATION, Errno::EINVAL),
        (Feature::GET | Feature::SET, Feature::DEVICE_STATE, Errno::EINVAL),
        (0, Feature::DEVICE_STATE, Errno::EINVAL),
        (1 << 20 | Feature::GET, Feature::DEVICE_STATE, Errno::EINVAL),
    ] {
        assert_eq!(one.ask(&feature(flags, number, &[]), &[]), Err(error), "{flags:x} {number}");
    }
    let probe = feature(Feature::PROBE | Feature::GET | Feature::SET, Feature::DEVICE_STATE, &[]);
    assert!(one.ask(&probe, &[]).is_ok());
    assert_eq!(one.state(), STOP_COPY);
    one.set_state(RUNNING).unwrap();
    assert!(one.read_register(0x1000).is_ok());
}

#[test]
fn pages_that_the_device_writes_are_logged() {
    let start = |granule: u64, ranges: &[(u64, u64)]| {
        let mut data = [&granule.to_ne_bytes()[..], &(ranges.len() as u32).to_ne_bytes(), &[0; 4]].concat();
        ranges.iter().for_each(|(start, length)| {
            data.extend([start.to_ne_bytes(), length.to_ne_bytes()].concat());
        });
        feature(Feature::SET, Feature::LOGGING_START, &data)
    };
    let report = |granule: u64| [BASE, SIZE, granule].map(u64::to_ne_bytes).concat();
    let (_served, address, _folder) = served();
    let (mut mapped, memory) = with_a_layer(&address);
    let mut kept = Hypervisor::open(&address);
    kept.map(None).unwrap();
    for one in [&mut mapped, &mut kept] {
        assert_eq!(one.get(Feature::LOGGING_REPORT, &report(4096)), Err(Errno::EINVAL), "none yet");
        for wrong in [start(0, &[]), start(3000, &[]), start(4096, &[(0, 0)]), start(4096, &[(u64::MAX, 2)])]
        {
            assert_eq!(one.ask(&wrong, &[]), Err(Errno::EINVAL), "{wrong:?}");
        }
        let Ok(Reply::Feature { data, .. }) = one.ask(&start(1 << 21, &[(BASE, SIZE)]), &[]) else {
            panic!()
        };
        assert_eq!(data[..8], 4096_u64.to_ne_bytes(), "the granule that it has");
        assert_eq!(one.ask(&start(4096, &[]), &[]), Err(Errno::EINVAL), "already");
    }
    mapped.copies_by_the_second_group(&memory);
    runs_by_messages(&mut kept);
    for one in [&mut mapped, &mut kept] {
        let length = [BASE, u64::MAX - BASE, 4096].map(u64::to_ne_bytes).concat();
        assert_eq!(one.get(Feature::LOGGING_REPORT, &length), Err(Errno::EINVAL), "no room for that");
        let mut written = |granule: u64| {
            let data = one.get(Feature::LOGGING_REPORT, &report(granule)).unwrap();
            assert_eq!(data[..24], report(granule));
            let words = data[24..].chunks(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap()));
            words.collect::<Vec<_>>()
        };
        let (first, last) = (FROM as u64 / 4096, (FROM + LENGTH - 1) as u64 / 4096);
        assert_eq!(u64::from(TARGET), BASE + FROM as u64);
        let mut expected = vec![0; SIZE as usize / 4096 / 64];
        (first..=last).for_each(|page| expected[page as usize / 64] |= 1 << (page % 64));
        assert_eq!(written(4096), expected);
        assert!(written(4096).iter().all(|word| *word == 0), "once");
        assert!(one.ask(&feature(Feature::SET, Feature::LOGGING_STOP, &[]), &[]).is_ok());
        assert_eq!(one.get(Feature::LOGGING_REPORT, &report(4096)), Err(Errno::EINVAL));
    }
}
