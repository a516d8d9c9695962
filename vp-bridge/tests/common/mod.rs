//! Tools that the tests share: a layer to run, a server to run it on, a look at what it was.

#![allow(dead_code, reason = "every test file uses its own part")]
#![allow(unreachable_pub, reason = "a module of several test programs")]

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::oneshot;
use vp_host::LocalHost;
use vp_host::trace::player::{Outcome, PlayOptions, play};
use vp_host::trace::{Trace, TraceBuilder};
use vp_host::{Host, Memory, Statistics};
use vp_models::nvdla::glb::InterruptSource;
use vp_models::platform::{Description, Platform};
use vp_remote::{MemoryPlace, RemoteHost, RemoteOptions};
use vp_server::{Options, Server};
use vp_transport::Address;

pub mod beside;
pub mod process;
pub mod program;
pub mod raw;
pub mod raw_unix;
pub mod recorded;
pub mod relay;
pub mod tools;

use recorded::Recorded;

pub const SOURCE: u32 = 0x8000_0000;
pub const TARGET: u32 = 0x8008_0000;

/// A server on a thread of its own; ends with the test. Its platforms are recorded, and run again then.
pub struct Served {
    pub address: Address,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    recorded: Arc<Recorded>,
}

impl Served {
    pub fn at(address: &str, options: Options) -> Served {
        Served::with(address, options, description())
    }

    pub fn with(address: &str, options: Options, description: Description) -> Served {
        Served::with_all(address, None, options, description)
    }

    /// Serves over vfio-user too, at that address.
    pub fn with_all(
        address: &str,
        vfio_user: Option<Address>,
        mut options: Options,
        description: Description,
    ) -> Served {
        let address: Address = address.parse().unwrap();
        let recorded = Arc::new(Recorded::new());
        options.observe.get_or_insert(recorded.clone());
        let (stop, stopped) = oneshot::channel();
        let (told, tell) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build();
            runtime.unwrap().block_on(async {
                let mut server = Server::bind(&address, description, options).await.unwrap();
                if let Some(address) = vfio_user {
                    server.add_vfio_user(&address).await.unwrap();
                }
                told.send(server.local_address().clone()).unwrap();
                server.run(async { drop(stopped.await) }).await;
            });
        });
        let address = tell.recv_timeout(std::time::Duration::from_secs(60)).expect("a server that listens");
        Served { address, stop: Some(stop), thread: Some(thread), recorded }
    }

    pub fn tcp() -> Served {
        Served::at("tcp:127.0.0.1:0", Options::default())
    }

    pub fn host(&self, memory: MemoryPlace) -> RemoteHost {
        self.join(RemoteOptions { memory, ..RemoteOptions::default() })
    }

    pub fn join(&self, options: RemoteOptions) -> RemoteHost {
        RemoteHost::connect(&self.address, options).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
            self.recorded.check(false);
        }
    }
}

pub fn description() -> Description {
    Description::named("nv_small").unwrap()
}

pub fn local() -> LocalHost {
    LocalHost::new(Platform::build(&description()).unwrap())
}

/// Bytes that differ everywhere.
pub fn pattern(length: usize) -> Vec<u8> {
    (0..length as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// The register writes that start a copy of `width` × `height` × `channels` int8 by 1 × 1 max pooling.
pub fn copy_registers(width: u32, height: u32, channels: u32) -> Vec<(&'static str, u32)> {
    let (line, surface) = (8 * width, 8 * width * height);
    let mut writes = vec![("PDP.S_POINTER", 0), ("PDP_RDMA.S_POINTER", 0)];
    let sizes = [
        ("PDP.D_DATA_CUBE_IN_WIDTH", width - 1),
        ("PDP.D_DATA_CUBE_IN_HEIGHT", height - 1),
        ("PDP.D_DATA_CUBE_IN_CHANNEL", channels - 1),
        ("PDP.D_DATA_CUBE_OUT_WIDTH", width - 1),
        ("PDP.D_DATA_CUBE_OUT_HEIGHT", height - 1),
        ("PDP.D_DATA_CUBE_OUT_CHANNEL", channels - 1),
        ("PDP.D_OPERATION_MODE_CFG", 0x11),
        ("PDP.D_POOLING_KERNEL_CFG", 0),
        ("PDP.D_PARTIAL_WIDTH_IN", width - 1),
        ("PDP.D_PARTIAL_WIDTH_OUT", width - 1),
        ("PDP.D_SRC_LINE_STRIDE", line),
        ("PDP.D_SRC_SURFACE_STRIDE", surface),
        ("PDP.D_SRC_BASE_ADDR_LOW", SOURCE),
        ("PDP.D_DST_BASE_ADDR_LOW", TARGET),
        ("PDP.D_DST_LINE_STRIDE", line),
        ("PDP.D_DST_SURFACE_STRIDE", surface),
        ("PDP.D_DST_RAM_CFG", 1),
        ("PDP.D_DATA_FORMAT", 0),
        ("PDP_RDMA.D_DATA_CUBE_IN_WIDTH", width - 1),
        ("PDP_RDMA.D_DATA_CUBE_IN_HEIGHT", height - 1),
        ("PDP_RDMA.D_DATA_CUBE_IN_CHANNEL", channels - 1),
        ("PDP_RDMA.D_FLYING_MODE", 1),
        ("PDP_RDMA.D_SRC_BASE_ADDR_LOW", SOURCE),
        ("PDP_RDMA.D_SRC_LINE_STRIDE", line),
        ("PDP_RDMA.D_SRC_SURFACE_STRIDE", surface),
        ("PDP_RDMA.D_SRC_RAM_CFG", 1),
        ("PDP_RDMA.D_DATA_FORMAT", 0),
        ("PDP_RDMA.D_POOLING_KERNEL_CFG", 0),
        ("PDP_RDMA.D_PARTIAL_WIDTH_IN", width - 1),
        ("PDP.D_OP_ENABLE", 1),
        ("PDP_RDMA.D_OP_ENABLE", 1),
    ];
    writes.extend(sizes);
    writes
}

/// Returns that copy as a trace.
pub fn copy(width: u32, height: u32, channels: u32) -> Trace {
    let bytes = pattern((width * height * channels) as usize);
    let mut trace = TraceBuilder::new("copy").place(Memory::Primary, u64::from(SOURCE), "input.dat", &bytes);
    for (register, value) in copy_registers(width, height, channels) {
        trace = trace.write(register, value);
    }
    let done = InterruptSource::Pdp.of_group(0);
    trace.interrupt(done, "done").check("done", Memory::Primary, u64::from(TARGET), &bytes).build().unwrap()
}

/// Starts the copy without waiting for it; gives what must come out.
pub fn start_copy(host: &mut dyn Host, width: u32, height: u32, channels: u32) -> Vec<u8> {
    let bytes = pattern((width * height * channels) as usize);
    host.load(Memory::Primary, u64::from(SOURCE), &bytes).unwrap();
    let map = host.map();
    for (register, value) in copy_registers(width, height, channels) {
        host.write(map.find(register).unwrap().address, value).unwrap();
    }
    bytes
}

pub fn fetch_target(host: &mut dyn Host, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    host.fetch(Memory::Primary, u64::from(TARGET), &mut bytes).unwrap();
    bytes
}

/// Plays a trace, which passes.
pub fn run(trace: &Trace, host: &mut dyn Host) -> (Outcome, Statistics) {
    let map = host.map();
    let outcome = play(trace, host, &map, &PlayOptions::default()).unwrap();
    assert!(outcome.passed(), "{:?}", outcome.failures);
    let statistics = host.statistics().unwrap();
    (outcome, statistics)
}
