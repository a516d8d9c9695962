//! Register accesses of a PC's guest without an operating system, beside an echo over a Unix socket: of the plug-in's function, by messages
//! and through the ring, and of the one over vfio-user, by TCG and, where it runs such a guest, by KVM; and of a bare client of vfio-user.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use vp_models::nvdla::registers::RegisterMap;
use vp_protocols::vfio_user::{Capabilities, Client, ClientEvent, Request};
use vp_transport::Address;

use crate::echo::{Echo, LOOK, Socket as _, take_some};
use crate::machine::{Accelerator, Kind, Setup, can_run_on, can_run_vfio_user};
use crate::script::Script;
use crate::served::Served;
use crate::{Pairs, line};

const TURNS: usize = 9;
const ACCESSES: u32 = 5000;
const REGISTER: &str = "GLB.S_INTR_STATUS";

/// Way from a guest to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    PlugInMessages,
    PlugInRing,
    VfioUser,
}

impl Way {
    const ALL: [Way; 3] = [Way::PlugInMessages, Way::PlugInRing, Way::VfioUser];

    fn name(self) -> &'static str {
        match self {
            Way::PlugInMessages => "plug-in, messages",
            Way::PlugInRing => "plug-in, ring",
            Way::VfioUser => "vfio-user",
        }
    }

    /// Returns the guest of this script with the device at the end of the way.
    fn setup(self, server: &Served, script: Script) -> Setup {
        let pc = Setup::pc(script, "");
        match (self, &server.vfio_user) {
            (Way::VfioUser, Some(address)) => pc.vfio_user(2100, address),
            (Way::PlugInMessages, _) => pc.plugin(&format!(",connect={},share=off", server.address)),
            _ => pc.connect(&server.address),
        }
    }
}

pub(crate) fn measure() {
    let what = "register accesses of a PC's guest";
    if !can_run_on(Kind::Function, what) {
        return;
    }
    let has_vfio_user = can_run_vfio_user(Kind::Function, what);
    line(&format!(
        "{what}: an echo over a Unix socket and {ACCESSES} accesses, µs each, median and least of {TURNS} turns, and how many echoes that is"
    ));
    let mut accelerators = vec![Accelerator::Tcg];
    match Accelerator::Kvm.runs_bare_guests() {
        Ok(()) => accelerators.push(Accelerator::Kvm),
        Err(why) => line(&format!("without KVM: {why}")),
    }
    let ways = accelerators.iter().flat_map(|accelerator| Way::ALL.map(|way| (*accelerator, way)));
    let mut ways: Vec<_> = ways
        .filter(|(_, way)| *way != Way::VfioUser || has_vfio_user)
        .map(|way| (way, Pairs::default(), Pairs::default()))
        .collect();
    // QEMU's client of vfio-user has a thread that sleeps until an answer comes; our library looks.
    let mut echo = Echo::over_unix();
    let mut sleeping_echo = Echo::over_unix_looking_for(Duration::ZERO);
    let mut bare = Pairs::default();
    for _ in 0..TURNS {
        if has_vfio_user {
            bare.add(echo.measure(ACCESSES), BareClient::open().reads() / ACCESSES);
        }
        for (way, reads, writes) in &mut ways {
            let [read, write] = turn(*way);
            let echo = if way.1 == Way::VfioUser { &mut sleeping_echo } else { &mut echo };
            // First until both ends are awake.
            echo.measure(ACCESSES / 10);
            let echo = echo.measure(ACCESSES);
            reads.add(echo, read / ACCESSES);
            writes.add(echo, write / ACCESSES);
        }
    }
    if has_vfio_user {
        line(&format!("{:24} {bare}   read", "no guest, vfio-user"));
    }
    for ((accelerator, way), reads, writes) in &ways {
        let name = format!("{accelerator:?}, {}", way.name());
        line(&format!("{name:24} {reads}   read"));
        line(&format!("{name:24} {writes}   posted write"));
    }
}

/// A client of vfio-user without a hypervisor and a guest, which looks for its answers as the echo does.
struct BareClient {
    stream: UnixStream,
    client: Client,
    input: BytesMut,
    _server: Served,
}

impl BareClient {
    fn open() -> BareClient {
        let server = Served::over_vfio_user("nv_small");
        let Some(Address::Unix(path)) = &server.vfio_user else { panic!("a Unix socket") };
        let stream = UnixStream::connect(path).expect("a server");
        stream.never_block();
        let (client, input) = (Client::new(Capabilities::default()), BytesMut::new());
        let mut client = BareClient { stream, client, input, _server: server };
        assert!(matches!(client.next(), ClientEvent::Opened(_)), "the server's version");
        client
    }

    /// Sends what there is to send, and returns what comes of it.
    fn next(&mut self) -> ClientEvent {
        let output = self.client.output().split();
        self.stream.write_all(&output).expect("a server that reads");
        loop {
            if let Some(event) = self.client.receive(&mut self.input).expect("vfio-user") {
                return event;
            }
            let mut part = [0; 4096];
            let read = take_some(&mut self.stream, LOOK, &mut part);
            assert!(read > 0, "the server lives");
            self.input.extend_from_slice(&part[..read]);
        }
    }

    /// Returns the time of all reads.
    fn reads(&mut self) -> Duration {
        let offset = RegisterMap::Small.find(REGISTER).expect("a register").address.into();
        let began = Instant::now();
        for _ in 0..ACCESSES {
            self.client.request(&Request::RegionRead { region: 0, offset, count: 4 });
            assert!(matches!(self.next(), ClientEvent::Replied { result: Ok(_), .. }), "a value");
        }
        began.elapsed()
    }
}

/// Times of the guest's reads and writes.
fn turn((accelerator, way): (Accelerator, Way)) -> [Duration; 2] {
    let server = Served::over_vfio_user("nv_small");
    let script = Script::new(RegisterMap::Small).reads(REGISTER, ACCESSES).write_often(REGISTER, ACCESSES);
    let said = way.setup(&server, script).args(accelerator.args()).start().says();
    let time = |word: &str| {
        let time = said.iter().find_map(|said| said.strip_prefix(word)?.trim().parse().ok());
        Duration::from_nanos(time.unwrap_or_else(|| panic!("no {word}: {said:?}")))
    };
    [time("reads"), time("writes")]
}
