//! Cost of a clock edge to a partner, with the platform in the same process and behind a Unix socket.
//!
//! `cargo bench -p vp-bridge` prints a table: nanoseconds for an edge, with all ports of `nv_small` attached and nothing on them, and with a
//! master that reads 8 bytes of the platform's memory at each edge. In one process that is CPU time, the least of five runs; over the socket it is
//! wall-clock time, the median of five runs, with a round trip of a bare echo between two processes beside it, measured in turns.
//!
//! `-- --once NAME EDGES` runs one of them once in this process and prints nothing: for profilers.

#![expect(clippy::print_stdout, reason = "a table is what it is for")]

use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use vp_client::Address as ServerAddress;
use vp_models::platform::{Description, Platform};
use vp_partner::pins::{
    Address, Handle, LineSink, Manager, ManagerPins, RegisterInitiator, Subordinate, SubordinatePins,
};
use vp_partner::{LocalLink, Partner, PartnerOptions, PlatformLink, RemoteLink};

const EDGES: u64 = 1_000_000;
const EDGES_OVER_A_SOCKET: u64 = 20_000;
const ECHOES: u32 = 20_000;
const RUNS: usize = 5;

/// Time for which an end of the echo looks before it sleeps, as both ends of a session do.
const LOOK: Duration = Duration::from_micros(50);
/// About as long as a beat and a promise.
const ECHOED: usize = 64;

type Result<T> = std::result::Result<T, Box<dyn Error>>;
type Case = fn(&mut Partner, u64) -> Result<()>;

const CASES: [(&str, &str, Case); 2] = [
    ("idle", "registers, line and memory, with nothing on them", idle),
    ("reads", "a read at each edge", reads),
];

fn idle(partner: &mut Partner, edges: u64) -> Result<()> {
    let registers: Handle<RegisterInitiator> = partner.attach("csb0")?;
    let line: Handle<LineSink> = partner.attach("irq0")?;
    let memory: Handle<Subordinate> = partner.attach("dbb0")?;
    let pins = SubordinatePins { ar_ready: true, aw_ready: true, w_ready: true, r: None, b: None };
    for _ in 0..edges {
        partner.sample(registers, &None)?;
        partner.sample(line, &())?;
        partner.sample(memory, &pins)?;
        partner.seen(registers)?;
        partner.seen(line)?;
        partner.seen(memory)?;
    }
    Ok(())
}

fn reads(partner: &mut Partner, edges: u64) -> Result<()> {
    let registers: Handle<RegisterInitiator> = partner.attach("csb0")?;
    let memory: Handle<Manager> = partner.attach("dbb0")?;
    let mut pins = ManagerPins { r_ready: true, b_ready: true, ..ManagerPins::default() };
    let (mut next, mut beats) = (0, 0);
    for _ in 0..edges {
        pins.ar = pins.ar.or(Some(Address { id: 0, address: 0x8000_0000 + next % 4096, beats: 1 }));
        partner.sample(registers, &None)?;
        partner.sample(memory, &pins)?;
        partner.seen(registers)?;
        let seen = partner.seen(memory)?;
        if seen.ar_ready {
            (pins.ar, next) = (None, next + 8);
        }
        beats += u64::from(seen.r.is_some());
    }
    assert!(beats * 10 > edges * 9, "{beats} beats at {edges} edges");
    Ok(())
}

fn run(link: Box<dyn PlatformLink>, case: Case, edges: u64) -> Result<()> {
    case(&mut Partner::new(link, PartnerOptions::default())?, edges)
}

fn in_process() -> Result<Box<dyn PlatformLink>> {
    Ok(Box::new(LocalLink::new(Platform::build(&Description::named("nv_small")?)?)))
}

fn cpu_nanoseconds() -> nix::Result<f64> {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
    Ok(time.tv_sec() as f64 * 1e9 + time.tv_nsec() as f64)
}

/// A process that is ended with its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Reads all of `bytes`; looks first, and sleeps then. `false`: the other end is gone.
fn take(socket: &mut UnixStream, bytes: &mut [u8]) -> io::Result<bool> {
    let (mut filled, mut began) = (0, Instant::now());
    socket.set_nonblocking(true)?;
    while filled < bytes.len() {
        match socket.read(&mut bytes[filled..]) {
            Ok(0) => return Ok(false),
            Ok(read) => (filled, began) = (filled + read, Instant::now()),
            Err(error) if error.kind() == ErrorKind::WouldBlock && began.elapsed() < LOOK => {
                std::thread::yield_now();
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => socket.set_nonblocking(false)?,
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// The echo's far end: this program, started with its address.
fn echo(path: &str) -> Result<()> {
    let mut socket = UnixStream::connect(path)?;
    let mut bytes = [0; ECHOED];
    while take(&mut socket, &mut bytes)? {
        socket.write_all(&bytes)?;
    }
    Ok(())
}

/// Nanoseconds of a round trip to another process that does nothing else.
fn round_trip(socket: &mut UnixStream) -> Result<f64> {
    let mut bytes = [1; ECHOED];
    let began = Instant::now();
    for _ in 0..ECHOES {
        socket.write_all(&bytes)?;
        take(socket, &mut bytes)?;
    }
    Ok(began.elapsed().as_nanos() as f64 / f64::from(ECHOES))
}

/// Nanoseconds of an edge with a server of this address, which is a process of its own.
fn over_a_socket(path: &Path, case: Case) -> Result<f64> {
    let _ = std::fs::remove_file(path);
    let address = format!("unix:{}", path.display());
    let mut serve = Command::new(env!("CARGO_BIN_EXE_vp"));
    serve.args(["serve", "--platform", "nv_small", "--listen", &address]);
    let _server = Running(serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    let address: ServerAddress = address.parse()?;
    let link = loop {
        match RemoteLink::connect(&address, None, "edges") {
            Ok(link) => break link,
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let began = Instant::now();
    run(Box::new(link), case, EDGES_OVER_A_SOCKET)?;
    Ok(began.elapsed().as_nanos() as f64 / EDGES_OVER_A_SOCKET as f64)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match &arguments[..] {
        [word, path] if word == "--echo" => return echo(path),
        [word, name, edges] if word == "--once" => {
            let (.., case) = CASES.iter().find(|(case, ..)| case == name).ok_or("no case of that name")?;
            return run(in_process()?, *case, edges.parse()?);
        }
        _ => {}
    }
    for (name, what, case) in CASES {
        let mut least = f64::MAX;
        for _ in 0..RUNS {
            let before = cpu_nanoseconds()?;
            run(in_process()?, case, EDGES)?;
            least = least.min((cpu_nanoseconds()? - before) / EDGES as f64);
        }
        println!("{name:6} in one process:     {least:6.0} ns an edge: {what}");
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("echo");
    let listener = UnixListener::bind(&path)?;
    let _far = Running(Command::new(std::env::current_exe()?).arg("--echo").arg(&path).spawn()?);
    let mut near = listener.accept()?.0;
    for (name, _, case) in CASES {
        let (mut edges, mut echoes) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            edges.push(over_a_socket(&folder.path().join("vp"), case)?);
            echoes.push(round_trip(&mut near)?);
        }
        let ratios = edges.iter().zip(&echoes).map(|(edge, echo)| edge / echo).collect();
        let (edge, echo, ratio) = (median(edges), median(echoes), median(ratios));
        println!(
            "{name:6} over a Unix socket: {edge:6.0} ns an edge: {ratio:.2} round trips of {echo:.0} ns"
        );
    }
    Ok(())
}
