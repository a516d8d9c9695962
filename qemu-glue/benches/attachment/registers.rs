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
const REGISTER: &str = "GLB.S_INTR_MASK";

struct Transport {
    name: &'static str,
    address: Address,
    share: bool,
    /// Accesses in a round.
    count: u32,
    echo: Echo,
}

pub(crate) fn measure() {
    let folder = tempfile::tempdir().expect("a folder");
    let unix = Served::at(folder.path(), "nv_small");
    let tcp = Served::start("tcp:127.0.0.1:0".parse().expect("an address"), "nv_small");
    let mut transports = [
        Transport {
            name: "TCP",
            address: tcp.address.clone(),
            share: false,
            count: 5_000,
            echo: Echo::over(echo::tcp()),
        },
        Transport {
            name: "Unix",
            address: unix.address.clone(),
            share: false,
            count: 5_000,
            echo: Echo::over(echo::unix()),
        },
        Transport {
            name: "ring",
            address: unix.address.clone(),
            share: true,
            count: 200_000,
            echo: Echo::in_memory(),
        },
    ];
    let with_guest = machine::can_run("register accesses of a guest");
    line("registers: a round trip in µs, median of 7 rounds and the least; then how many echoes that is");
    line("transport  echo           client                guest read            guest posted write");
    for transport in &mut transports {
        let (mut echoes, mut clients) = (Rounds::default(), Rounds::default());
        let (mut reads, mut writes) = (Rounds::default(), Rounds::default());
        let mut host = client(transport);
        for _ in 0..ROUNDS {
            echoes.add(transport.echo.measure(transport.count));
            clients.add(read(&mut host, transport.count));
            if with_guest {
                let (read, write) = guest(transport);
                reads.add(read);
                writes.add(write);
            }
        }
        let show = |rounds: &Rounds| {
            let ratio = times(rounds.median(), echoes.median());
            format!(
                "{:7.2} ({:6.2}) {ratio:4.1}x",
                microseconds(rounds.median()),
                microseconds(rounds.least())
            )
        };
        line(&format!(
            "{:9} {:7.2} ({:5.2})  {}  {}  {}",
            transport.name,
            microseconds(echoes.median()),
            microseconds(echoes.least()),
            show(&clients),
            show(&reads),
            show(&writes),
        ));
        line(&format!(
            "{:9} {:7.0} a second for a client, {:.0} for a guest",
            "",
            1.0 / clients.median().as_secs_f64().max(1e-12),
            1.0 / reads.median().as_secs_f64().max(1e-12),
        ));
    }
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

/// A read and a posted write, as a guest without an operating system does them.
fn guest(transport: &Transport) -> (Duration, Duration) {
    let mut script = Script::new(RegisterMap::Small).say("reads\n");
    for _ in 0..transport.count {
        script = script.read(REGISTER, 0);
    }
    script = script.say("writes\n");
    for _ in 0..transport.count {
        script = script.write(REGISTER, 0);
    }
    let share = if transport.share { "on" } else { "off" };
    let options = format!(",connect={},share={share}", transport.address);
    let mut machine = Setup::new(script.read(REGISTER, 0).say("end\n")).plugin(&options).start();
    machine.wait_for("reads");
    let began = Instant::now();
    machine.wait_for("writes");
    let read = began.elapsed() / transport.count;
    let began = Instant::now();
    machine.wait_for("end");
    let write = began.elapsed() / transport.count;
    machine.passes();
    (read, write)
}
