//! Memory: what is shared beside a plain copy, what crosses a socket beside a bare stream, and a device's layer over each.

use std::time::{Duration, Instant};

use vp_host::LocalHost;
use vp_host::{Host, Memory};
use vp_models::platform::{Description, Platform};
use vp_protocols::native::TimeMode;
use vp_remote::{MemoryPlace, RemoteHost, RemoteOptions};
use vp_shm::{Region, sealed};
use vp_transport::Address;

use crate::echo;
use crate::served::Served;
use crate::{Rounds, line, times};

const ROUNDS: usize = 7;
const MEGABYTE: usize = 1 << 20;
/// Bytes that cross a socket in a round, and bytes of memory that they go to, over and over.
const STREAMED: usize = 64 * MEGABYTE;
const WINDOW: usize = 8 * MEGABYTE;
/// Addresses at which the device reads and writes.
const SOURCE: u32 = 0x8000_0000;
const TARGET: u32 = 0x8100_0000;
/// The layer: so many atoms of 8 bytes.
const WIDTH: u32 = 16;
const HEIGHT: u32 = 8192;

pub(crate) fn measure() {
    copies();
    streams();
    layers();
}

fn rate(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64().max(1e-12) / 1e6
}

/// A burst, a page and a megabyte out of shared memory, beside the same copied within the process.
fn copies() {
    line("shared memory: MB/s read and written by the platform, beside a copy within the process");
    for size in [64, 4096, MEGABYTE] {
        let file = sealed("vp-bench", (8 * MEGABYTE) as u64).expect("memory");
        let region = Region::map(&file, 0, (8 * MEGABYTE) as u64).expect("memory");
        let mut here = vec![1_u8; 8 * MEGABYTE];
        let mut part = vec![2_u8; size];
        let places = || (0..8 * MEGABYTE).step_by(size);
        let (mut read, mut written, mut copied) = (Rounds::default(), Rounds::default(), Rounds::default());
        for _ in 0..ROUNDS {
            let began = Instant::now();
            places().for_each(|at| assert!(region.read(at as u64, &mut part)));
            read.add(began.elapsed());
            let began = Instant::now();
            places().for_each(|at| assert!(region.write(at as u64, &part)));
            written.add(began.elapsed());
            let began = Instant::now();
            for at in places() {
                part.copy_from_slice(std::hint::black_box(&here[at..at + size]));
                std::hint::black_box(&mut part);
            }
            copied.add(began.elapsed());
        }
        std::hint::black_box(&mut here);
        let [read, written, copied] =
            [read, written, copied].map(|rounds| rate(8 * MEGABYTE, rounds.median()));
        line(&format!("{size:8} bytes at once: read {read:7.0}  write {written:7.0}  memcpy {copied:7.0}"));
    }
}

/// Memory of the platform filled and read back over a socket, beside a bare stream, which nobody has to do anything with.
fn streams() {
    line(
        "over a socket: MB/s into and out of the platform's memory, beside a bare stream of 128 KiB at a time",
    );
    let folder = tempfile::tempdir().expect("a folder");
    let unix = Served::at(folder.path(), "nv_small");
    let tcp = Served::start("tcp:127.0.0.1:0".parse().expect("an address"), "nv_small");
    let bytes = vec![7; MEGABYTE];
    let mut back = vec![0; MEGABYTE];
    for (name, address) in [("TCP", &tcp.address), ("Unix", &unix.address)] {
        let options = RemoteOptions { share: false, ..RemoteOptions::default() };
        let mut host = RemoteHost::connect(address, options).expect("a session");
        let places = || {
            let offsets = (0..WINDOW as u64).step_by(MEGABYTE).cycle();
            offsets.map(|offset| u64::from(SOURCE) + offset).take(STREAMED / MEGABYTE)
        };
        // The platform takes its memory from the system when it is first written.
        places().for_each(|at| host.load(Memory::Primary, at, &bytes).expect("room"));
        let (mut loads, mut fetches) = (Rounds::default(), Rounds::default());
        let mut bare = Rounds::default();
        for _ in 0..ROUNDS {
            let began = Instant::now();
            places().for_each(|at| host.load(Memory::Primary, at, &bytes).expect("room"));
            loads.add(began.elapsed());
            bare.add(match name {
                "TCP" => stream(echo::tcp()),
                _ => stream(echo::unix()),
            });
            let began = Instant::now();
            places().for_each(|at| host.fetch(Memory::Primary, at, &mut back).expect("room"));
            fetches.add(began.elapsed());
            assert!(back == bytes, "what was read is what was written");
            back.fill(0);
        }
        for (what, taken) in [("in", &loads), ("out", &fetches)] {
            line(&format!(
                "{name:5} {what:3} {:7.0}  bare {:7.0}  {:4.2} of it by medians, {:4.2} by the least",
                rate(STREAMED, taken.median()),
                rate(STREAMED, bare.median()),
                times(bare.median(), taken.median()),
                times(bare.least(), taken.least()),
            ));
        }
    }
}

/// As many bytes, written at one end and read at the other.
fn stream<S: echo::Socket>((mut near, mut far): (S, S)) -> Duration {
    const AT_ONCE: usize = 128 << 10;
    let reader = std::thread::spawn(move || {
        let mut into = vec![0; AT_ONCE];
        for _ in 0..STREAMED / AT_ONCE {
            far.read_exact(&mut into).expect("bytes");
        }
    });
    let bytes = vec![7; AT_ONCE];
    let began = Instant::now();
    for _ in 0..STREAMED / AT_ONCE {
        near.write_all(&bytes).expect("room");
    }
    reader.join().expect("no panic");
    began.elapsed()
}

/// A layer that copies a megabyte, with the memory in each place.
fn layers() {
    line("a device's layer that moves 1 MiB in and 1 MiB out: MB/s by the wall clock, simulation included");
    let folder = tempfile::tempdir().expect("a folder");
    let unix = Served::at(folder.path(), "nv_small");
    let tcp = Served::start("tcp:127.0.0.1:0".parse().expect("an address"), "nv_small");
    let connect = |address: &Address, share| {
        let (memory, time_mode) = (MemoryPlace::Client, TimeMode::Lockstep);
        let options = RemoteOptions { memory, time_mode, share, ..RemoteOptions::default() };
        Box::new(RemoteHost::connect(address, options).expect("a session")) as Box<dyn Host>
    };
    let description = Description::named("nv_small").expect("a platform");
    let local =
        || Box::new(LocalHost::new(Platform::build(&description).expect("a platform"))) as Box<dyn Host>;
    let mut hosts = [
        ("RAM in the process", local()),
        ("client's, shared", connect(&unix.address, true)),
        ("client's, over Unix", connect(&unix.address, false)),
        ("client's, over TCP", connect(&tcp.address, false)),
    ];
    let mut rounds = [const { Rounds(Vec::new()) }; 4];
    for round in 0..3 {
        for ((_, host), rounds) in hosts.iter_mut().zip(&mut rounds) {
            rounds.add(copy(&mut **host, round % 2));
        }
    }
    for ((name, _), taken) in hosts.iter().zip(&rounds) {
        let moved = 2 * (WIDTH * HEIGHT * 8) as usize;
        let slower = times(taken.median(), rounds[0].median());
        line(&format!(
            "{name:20} {:7.1}  {slower:5.2} times as long as in the process",
            rate(moved, taken.median())
        ));
    }
}

/// Copies by pooling over one element. Groups of registers take turns.
fn copy(host: &mut dyn Host, group: u32) -> Duration {
    let bytes: Vec<u8> =
        (0..WIDTH * HEIGHT * 8).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    host.load(Memory::Primary, u64::from(SOURCE), &bytes).expect("room");
    let map = host.map();
    let write = |host: &mut dyn Host, register: &str, value: u32| {
        host.write(map.find(register).expect("a register").address, value).expect("a session");
    };
    let (line, surface) = (8 * WIDTH, 8 * WIDTH * HEIGHT);
    let began = Instant::now();
    for (register, value) in [
        ("PDP.S_POINTER", group),
        ("PDP_RDMA.S_POINTER", group),
        ("PDP.D_DATA_CUBE_IN_WIDTH", WIDTH - 1),
        ("PDP.D_DATA_CUBE_IN_HEIGHT", HEIGHT - 1),
        ("PDP.D_DATA_CUBE_IN_CHANNEL", 7),
        ("PDP.D_DATA_CUBE_OUT_WIDTH", WIDTH - 1),
        ("PDP.D_DATA_CUBE_OUT_HEIGHT", HEIGHT - 1),
        ("PDP.D_DATA_CUBE_OUT_CHANNEL", 7),
        ("PDP.D_OPERATION_MODE_CFG", 0x11),
        ("PDP.D_POOLING_KERNEL_CFG", 0),
        ("PDP.D_PARTIAL_WIDTH_IN", WIDTH - 1),
        ("PDP.D_PARTIAL_WIDTH_OUT", WIDTH - 1),
        ("PDP.D_SRC_LINE_STRIDE", line),
        ("PDP.D_SRC_SURFACE_STRIDE", surface),
        ("PDP.D_SRC_BASE_ADDR_LOW", SOURCE),
        ("PDP.D_DST_BASE_ADDR_LOW", TARGET),
        ("PDP.D_DST_LINE_STRIDE", line),
        ("PDP.D_DST_SURFACE_STRIDE", surface),
        ("PDP.D_DST_RAM_CFG", 1),
        ("PDP.D_DATA_FORMAT", 0),
        ("PDP_RDMA.D_DATA_CUBE_IN_WIDTH", WIDTH - 1),
        ("PDP_RDMA.D_DATA_CUBE_IN_HEIGHT", HEIGHT - 1),
        ("PDP_RDMA.D_DATA_CUBE_IN_CHANNEL", 7),
        ("PDP_RDMA.D_FLYING_MODE", 1),
        ("PDP_RDMA.D_SRC_BASE_ADDR_LOW", SOURCE),
        ("PDP_RDMA.D_SRC_LINE_STRIDE", line),
        ("PDP_RDMA.D_SRC_SURFACE_STRIDE", surface),
        ("PDP_RDMA.D_SRC_RAM_CFG", 1),
        ("PDP_RDMA.D_DATA_FORMAT", 0),
        ("PDP_RDMA.D_POOLING_KERNEL_CFG", 0),
        ("PDP_RDMA.D_PARTIAL_WIDTH_IN", WIDTH - 1),
        ("PDP.D_OP_ENABLE", 1),
        ("PDP_RDMA.D_OP_ENABLE", 1),
    ] {
        write(host, register, value);
    }
    host.wait_interrupt().expect("an interrupt");
    let took = began.elapsed();
    // To its end: a line that is still high would be taken for the next layer's.
    let status = map.find("GLB.S_INTR_STATUS").expect("a register").address;
    host.write_acknowledged(status, !0).expect("a session");
    let mut back = vec![0; bytes.len()];
    host.fetch(Memory::Primary, u64::from(TARGET), &mut back).expect("room");
    assert!(back == bytes, "the copy differs: {:?}", host.warnings());
    back.fill(0);
    host.load(Memory::Primary, u64::from(TARGET), &back).expect("room");
    took
}
