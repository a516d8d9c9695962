//! Register accesses: round trips over each transport, of a bare client and of a guest, beside an echo.

use std::time::{Duration, Instant};

use vp_bridge::address::Address;
use vp_bridge::client::{RemoteHost, RemoteOptions};
use vp_models::host::Host as _;
use vp_models::nvdla::registers::RegisterMap;
use vp_protocols::native::TimeMode;

use crate::echo::{self, Echo};
use crate::machine::{self, Setup};
use crate::script::Script;
use crate::served::Served;
use crate::{Rounds, line, microseconds, times};

const ROUNDS: usize = 7;
/// Turns that echo and client take, so that a host that is busy for a while disturbs both; the same for a guest's accesses.
const TURNS: u32 = 50;
/// Of a guest's, that many turns are one: when a word of it is heard varies.
const TOGETHER: u32 = 10;
/// A guest's writes for each of its reads.
const WRITES: u32 = 4;
const REGISTER: &str = "GLB.S_INTR_MASK";

struct Transport {
    name: &'static str,
    address: Address,
    share: bool,
    /// Accesses in a turn.
    count: u32,
    echo: Echo,
}

/// The servers' sockets, which live as long as this does.
struct Servers {
    unix: Served,
    tcp: Served,
    _folder: tempfile::TempDir,
}

impl Servers {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let unix = Served::at(folder.path(), "nv_small");
        let tcp = Served::start("tcp:127.0.0.1:0".parse().expect("an address"), "nv_small");
        Self { unix, tcp, _folder: folder }
    }

    fn transports(&self) -> [Transport; 3] {
        let (tcp, unix) = (&self.tcp.address, &self.unix.address);
        [
            Transport {
                name: "TCP",
                address: tcp.clone(),
                share: false,
                count: 200,
                echo: Echo::over(echo::tcp()),
            },
            Transport {
                name: "Unix",
                address: unix.clone(),
                share: false,
                count: 200,
                echo: Echo::over(echo::unix()),
            },
            Transport {
                name: "ring",
                address: unix.clone(),
                share: true,
                count: 2_000,
                echo: Echo::in_memory(),
            },
        ]
    }
}

/// Reads of a bare client.
pub(crate) fn clients() {
    let servers = Servers::start();
    line(
        "a client's register read: a round trip in µs, median and least of 350 turns, and how many echoes that is",
    );
    line("transport  echo            read             by medians  by the least");
    for mut transport in servers.transports() {
        let (mut echoes, mut reads) = (Rounds::default(), Rounds::default());
        let mut host = client(&transport);
        for _ in 0..ROUNDS * TURNS as usize {
            echoes.add(transport.echo.measure(transport.count));
            reads.add(read(&mut host, transport.count));
        }
        show(transport.name, &echoes, &reads, "read");
    }
}

/// Reads and posted writes of a guest.
pub(crate) fn guests() {
    if !machine::can_run("register accesses of a guest") {
        return;
    }
    let servers = Servers::start();
    line("a guest's register accesses: µs each, median and least of 35 turns, and how many echoes that is");
    line("transport  echo            access           by medians  by the least");
    for mut transport in servers.transports() {
        let (mut echoes, mut reads, mut writes) = (Rounds::default(), Rounds::default(), Rounds::default());
        for _ in 0..ROUNDS {
            guest(&mut transport, &mut echoes, &mut reads, &mut writes);
        }
        show(transport.name, &echoes, &reads, "read");
        show(transport.name, &echoes, &writes, "posted write");
    }
}

fn show(name: &str, echoes: &Rounds, taken: &Rounds, what: &str) {
    line(&format!(
        "{name:9} {:6.2} ({:5.2})  {:6.2} ({:5.2})  {:9.1}x  {:9.1}x   {what}, {:.0} a second",
        microseconds(echoes.median()),
        microseconds(echoes.least()),
        microseconds(taken.median()),
        microseconds(taken.least()),
        times(taken.median(), echoes.median()),
        times(taken.least(), echoes.least()),
        1.0 / taken.median().as_secs_f64().max(1e-12),
    ));
}

fn client(transport: &Transport) -> RemoteHost {
    let options =
        RemoteOptions { share: transport.share, time_mode: TimeMode::Free, ..RemoteOptions::default() };
    RemoteHost::connect(&transport.address, options).expect("a session")
}

fn read(host: &mut RemoteHost, count: u32) -> Duration {
    let address = host.map().find(REGISTER).expect("the register").address;
    let began = Instant::now();
    for _ in 0..count {
        host.read(address).expect("a value");
    }
    began.elapsed() / count
}

/// What a guest does between two words.
enum Turn {
    Reads,
    Writes,
    Rest,
}

/// Reads and posted writes, as a guest without an operating system does them: many turns, with a word between them. The guest
/// waits for nobody, so the echo has its turns between two guests.
fn guest(transport: &mut Transport, echoes: &mut Rounds, reads: &mut Rounds, writes: &mut Rounds) {
    let count = TOGETHER * transport.count;
    let mut script = Script::new(RegisterMap::Small);
    let mut words = Vec::new();
    for turn in 0..TURNS / TOGETHER {
        let [read, write, read_again] = ["r", "w", "a"].map(|kind| format!("{kind}{turn}"));
        script = script.say(&format!("{read}\n"));
        script = (0..count).fold(script, |script, _| script.read(REGISTER, 0));
        // A write takes less by far, and a word on the serial line what it takes.
        script = script.say(&format!("{write}\n"));
        script = (0..WRITES * count).fold(script, |script, _| script.write(REGISTER, 0));
        // The next turn's reads are not to wait until the platform has made these writes.
        script = script.say(&format!("{read_again}\n")).read(REGISTER, 0);
        words.extend([(read, Turn::Reads), (write, Turn::Writes), (read_again, Turn::Rest)]);
    }
    let share = if transport.share { "on" } else { "off" };
    let options = format!(",connect={},share={share}", transport.address);
    let mut machine = Setup::new(script.say("end\n")).plugin(&options).start();
    let mut before: Option<(Instant, Turn)> = None;
    for (word, turn) in words {
        machine.wait_for(&word);
        let now = Instant::now();
        match before.replace((now, turn)) {
            Some((began, Turn::Reads)) => reads.add((now - began) / count),
            Some((began, Turn::Writes)) => writes.add((now - began) / (WRITES * count)),
            _ => {}
        }
    }
    machine.passes();
    (0..TURNS).for_each(|_| echoes.add(transport.echo.measure(transport.count)));
}
