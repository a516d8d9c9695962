//! Register accesses: round trips over each transport, of a bare client and of a guest, beside an echo.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use vp_host::Host as _;
use vp_models::nvdla::registers::RegisterMap;
use vp_protocols::native::TimeMode;
use vp_remote::{RemoteHost, RemoteOptions};
use vp_transport::Address;

use crate::cores::Cores;
use crate::echo::Echo;
use crate::machine::{self, Machine, Setup};
use crate::script::Script;
use crate::served::Served;
use crate::{Pairs, line};

/// Turns that echo and client take, so that a host that is busy for a while disturbs both.
const TURNS: u32 = 200;
/// Guests, and the turns of each with the echo.
const GUESTS: usize = 5;
const GUEST_TURNS: u32 = 7;
/// A guest's turn is that many of a client's: when a word of it is heard varies.
const LONGER: u32 = 10;
/// A guest's writes for each of its reads.
const WRITES: u32 = 4;
const REGISTER: &str = "GLB.S_INTR_MASK";

/// Transport that carries accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Tcp,
    Unix,
    Ring,
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "TCP",
            Transport::Unix => "Unix",
            Transport::Ring => "ring",
        }
    }

    /// Accesses in a client's turn.
    fn count(self) -> u32 {
        match self {
            Transport::Tcp | Transport::Unix => 200,
            Transport::Ring => 2_000,
        }
    }

    fn echo(self) -> Echo {
        match self {
            Transport::Tcp => Echo::over_tcp(),
            Transport::Unix => Echo::over_unix(),
            Transport::Ring => Echo::in_memory(),
        }
    }
}

/// One transport between two ends, with a server at the far one.
struct Way {
    transport: Transport,
    cores: Cores,
    echo: Echo,
    server: Served,
    _folder: tempfile::TempDir,
}

impl Way {
    /// Every transport in every place. Both ends of a ring turn on and on, and are not put on one core.
    fn all() -> impl Iterator<Item = Way> {
        let all = [Transport::Tcp, Transport::Unix, Transport::Ring].into_iter();
        let all = all.flat_map(|transport| Cores::all().into_iter().map(move |cores| (transport, cores)));
        all.filter(|way| !matches!(way, (Transport::Ring, Cores::Together(_))))
            .map(|(transport, cores)| Way::between(transport, cores))
    }

    fn between(transport: Transport, cores: Cores) -> Way {
        let folder = tempfile::tempdir().expect("a folder");
        let (echo, server) = cores.start_far(|| {
            let server = match transport {
                Transport::Tcp => Served::start("tcp:127.0.0.1:0".parse().expect("an address"), "nv_small"),
                Transport::Unix | Transport::Ring => Served::at(folder.path(), "nv_small"),
            };
            (transport.echo(), server)
        });
        Way { transport, cores, echo, server, _folder: folder }
    }

    fn address(&self) -> &Address {
        &self.server.address
    }

    fn shares(&self) -> bool {
        self.transport == Transport::Ring
    }

    fn show(&self, pairs: &Pairs, what: &str) {
        line(&format!("{:9}  {:9}  {pairs}   {what}", self.transport.name(), self.cores));
    }
}

const COLUMNS: &str = "transport  ends on    echo            access          by pairs  by the least";

/// Reads of a bare client.
pub(crate) fn clients() {
    line(&format!(
        "a client's register read: a round trip in µs, median and least of {TURNS} turns, and how many echoes that is"
    ));
    line(COLUMNS);
    for mut way in Way::all() {
        let mut pairs = Pairs::default();
        let mut host = client(&way);
        let count = way.transport.count();
        for _ in 0..TURNS {
            pairs.add(way.echo.measure(count), read(&mut host, count));
        }
        way.show(&pairs, "read");
    }
}

/// Reads and posted writes of a guest.
pub(crate) fn guests() {
    if !machine::can_run("register accesses of a guest") {
        return;
    }
    let turns = GUESTS * GUEST_TURNS as usize;
    line(&format!(
        "a guest's register accesses: µs each, median and least of {turns} turns, and how many echoes that is"
    ));
    line(COLUMNS);
    for mut way in Way::all() {
        let (mut reads, mut writes) = (Pairs::default(), Pairs::default());
        for _ in 0..GUESTS {
            guest(&mut way, &mut reads, &mut writes);
        }
        way.show(&reads, "read");
        way.show(&writes, "posted write");
    }
}

fn client(way: &Way) -> RemoteHost {
    let options =
        RemoteOptions { share: way.shares(), time_mode: TimeMode::Free, ..RemoteOptions::default() };
    RemoteHost::connect(way.address(), options).expect("a session")
}

fn read(host: &mut RemoteHost, count: u32) -> Duration {
    let address = host.map().find(REGISTER).expect("the register").address;
    let began = Instant::now();
    for _ in 0..count {
        host.read(address).expect("a value");
    }
    began.elapsed() / count
}

/// A guest without an operating system says a word before reads, before writes, and before more reads, over and over. During
/// the latter it is stopped, and the echo has its turn: so a pair is of the same moment.
fn guest(way: &mut Way, reads: &mut Pairs, writes: &mut Pairs) {
    let count = LONGER * way.transport.count();
    let mut script = Script::new(RegisterMap::Small);
    for turn in 0..GUEST_TURNS {
        script = script.say(&format!("r{turn}\n"));
        script = (0..count).fold(script, |script, _| script.read(REGISTER, 0));
        // A write takes less by far, and a word on the serial line what it takes.
        script = script.say(&format!("w{turn}\n"));
        script = (0..WRITES * count).fold(script, |script, _| script.write(REGISTER, 0));
        script = script.say(&format!("p{turn}\n"));
        script = (0..count).fold(script, |script, _| script.read(REGISTER, 0));
    }
    let share = if way.shares() { "on" } else { "off" };
    let options = format!(",connect={},share={share}", way.address());
    let mut machine = Setup::new(script.say("end\n")).plugin(&options).start();
    for turn in 0..GUEST_TURNS {
        let [read, write, pause] = ["r", "w", "p"].map(|word| heard(&mut machine, &format!("{word}{turn}")));
        let stopped = Pid::from_raw(machine.process().cast_signed());
        kill(stopped, Signal::SIGSTOP).expect("a guest that runs");
        // First until both ends are awake.
        way.echo.measure(count / LONGER);
        let echo = way.echo.measure(count);
        kill(stopped, Signal::SIGCONT).expect("a guest that waits");
        reads.add(echo, (write - read) / count);
        writes.add(echo, (pause - write) / (WRITES * count));
    }
    machine.passes();
}

/// Waits for a word, and returns when it was heard.
fn heard(machine: &mut Machine, word: &str) -> Instant {
    machine.wait_for(word);
    Instant::now()
}
