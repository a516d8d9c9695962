//! How fast a good client is beside many bad ones: `soak crowd`.
//!
//! A server; a client that reads a register, and now and then loads 1 MiB, one after the other; and 500 bad sessions in another
//! program. What the good one finds alone and beside the others is measured in turn, so that what else the machine does falls on
//! both. The bad ones are few threads with bytes made beforehand, at the lowest priority: their own work is not the server's.

mod members;

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum as _};
use vp_client::{Client, ConnectError, Options};
use vp_models::host::{Host as _, Memory};
use vp_protocols::native::{Counter, CounterValue, TimeMode};
use vp_remote::{RemoteHost, RemoteOptions};

use crate::process::{self, PATIENCE, text};
use crate::server::{Place, Server};
use crate::vp;

pub(crate) use members::{BadClient, be};

/// A platform that the good client and bad ones share.
const SHARED: &str = "shared";
/// Bytes that are loaded at once.
const LOAD: usize = 1 << 20;
/// Reads between two loads.
const READS: usize = 200;
/// `GLB.S_NVDLA_HW_VERSION`.
const VERSION: u32 = 0x1000;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The program under test [default: `vp` beside this program]
    #[arg(long)]
    vp: Option<std::path::PathBuf>,
    /// Bad sessions at a time
    #[arg(long, default_value_t = 500)]
    sessions: usize,
    /// What they do; everything, one after the other, if left out
    #[arg(long)]
    bad: Vec<BadClient>,
    /// How long each of the phases takes
    #[arg(long, default_value_t = 1)]
    seconds: u64,
    /// How often a phase alone and one beside the others follow each other
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
}

/// How long the reads and the loads of a phase took, and copies of as many bytes between two plain sockets.
#[derive(Default)]
struct Times {
    reads: Vec<Duration>,
    loads: Vec<Duration>,
    copies: Vec<Duration>,
}

/// What is said of the times of a phase, in microseconds.
const FIGURES: [(&str, fn(&[Duration]) -> f64); 3] =
    [("median", |sorted| at(sorted, 500)), ("mean", mean), ("99 %", |sorted| at(sorted, 990))];

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn at(sorted: &[Duration], permille: usize) -> f64 {
    microseconds(sorted[(sorted.len() * permille / 1000).min(sorted.len() - 1)])
}

fn mean(times: &[Duration]) -> f64 {
    microseconds(times.iter().sum()) / times.len() as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Measures, and says a line for each kind of bad session.
pub(crate) fn measure(arguments: &Arguments) -> Result<(), String> {
    let program = match &arguments.vp {
        Some(program) => program.clone(),
        None => process::beside("vp", "vp-bridge")?,
    };
    let folder = tempfile::tempdir().map_err(text)?;
    let kinds = if arguments.bad.is_empty() { BadClient::value_variants() } else { &arguments.bad[..] };
    for bad in kinds {
        for shared in [false, true] {
            let mut serve = vp(&program, folder.path());
            serve.args(["serve", "--listen", "tcp:127.0.0.1:0"]);
            let server = Server::start(serve, Place::default())?;
            let mut rounds = Vec::new();
            let platform = shared.then(|| SHARED.to_owned());
            let options = RemoteOptions { platform, time_mode: TimeMode::Free, ..RemoteOptions::default() };
            let mut good = RemoteHost::connect(&server.place.parsed()?, options).map_err(text)?;
            for _ in 0..arguments.rounds {
                let alone = phase(&mut good, arguments)?;
                let crowd = Crowd::start(&server, *bad, shared, arguments)?;
                let beside = phase(&mut good, arguments)?;
                drop(crowd);
                rounds.push([alone, beside]);
                until_gone(&server)?;
            }
            say(*bad, shared, &rounds).map_err(text)?;
        }
    }
    Ok(())
}

/// Waits until the server has carried out what the bad sessions have sent, and they have left.
fn until_gone(server: &Server) -> Result<(), String> {
    let until = Instant::now() + PATIENCE;
    while bad_sessions(&server.place)? > 0 {
        if Instant::now() > until {
            return Err(format!("bad sessions are still there {PATIENCE:?} after their program has ended"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// How many of them a server has.
fn bad_sessions(place: &Place) -> Result<usize, String> {
    let address = place.parsed()?;
    let look = |platform| Client::connect(&address, &Options::observer("soak", platform), ());
    let mut sessions = 0;
    for platform in look(None).map_err(text)?.platforms().map_err(text)? {
        match look(Some(platform)) {
            Ok(mut look) => {
                // A platform that has just ended is gone at the next look.
                let Ok(seen) = look.inspect() else { return Ok(1) };
                let is_bad = |counter: &&Counter| {
                    counter.name.ends_with(".agent")
                        && counter.value == CounterValue::Text(members::AGENT.to_owned())
                };
                sessions += seen.iter().filter(is_bad).count();
            }
            // It has ended since.
            Err(ConnectError::Refused { .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(sessions)
}

fn phase(good: &mut RemoteHost, arguments: &Arguments) -> Result<Times, String> {
    let (began, bytes) = (Instant::now(), vec![0x5a; LOAD]);
    let mut copier = Copier::new().map_err(text)?;
    let mut times = Times::default();
    while times.loads.is_empty() || began.elapsed() < Duration::from_secs(arguments.seconds) {
        for _ in 0..READS {
            let asked = Instant::now();
            good.read(VERSION).map_err(text)?;
            times.reads.push(asked.elapsed());
        }
        let asked = Instant::now();
        good.load(Memory::Primary, 0x8000_0000, &bytes).map_err(text)?;
        times.loads.push(asked.elapsed());
        let began = Instant::now();
        copier.copy(&bytes).map_err(text)?;
        times.copies.push(began.elapsed());
    }
    times.reads.sort_unstable();
    times.loads.sort_unstable();
    times.copies.sort_unstable();
    Ok(times)
}

/// Copies bytes to a thread over TCP, with no server: what the system itself takes for that at this moment. When others use much of
/// its memory for sockets it may take twice as long, or more.
struct Copier(TcpStream);

impl Copier {
    fn new() -> io::Result<Copier> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let near = TcpStream::connect(listener.local_addr()?)?;
        near.set_nodelay(true)?;
        let (mut far, _) = listener.accept()?;
        // Until the other end is closed.
        std::thread::spawn(move || -> io::Result<()> {
            let mut bytes = vec![0; LOAD];
            loop {
                far.read_exact(&mut bytes)?;
                far.write_all(&[0])?;
            }
        });
        Ok(Copier(near))
    }

    fn copy(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)?;
        self.0.read_exact(&mut [0])
    }
}

/// `Storm on the same platform, 8 rounds: a read, median 13 → 15 µs (1.1; 1.0 to 1.4), mean …`: the medians of the rounds, of their
/// ratios, and the smallest and the largest of these.
///
/// A ratio is taken within a round, because the machine itself may be twice as fast in one minute as in the next.
fn say(bad: BadClient, shared: bool, rounds: &[[Times; 2]]) -> io::Result<()> {
    let whose = if shared { "on the same platform" } else { "on platforms of their own" };
    let mut line = format!("{bad:?} {whose}, {} rounds:", rounds.len());
    let kinds: [(&str, fn(&Times) -> &[Duration]); 3] = [
        ("a read", |times| &times.reads),
        ("1 MiB", |times| &times.loads),
        ("1 MiB without a server", |times| &times.copies),
    ];
    for (what, kind) in kinds {
        line += &format!(" {what}");
        for (which, figure) in FIGURES {
            let found: Vec<[f64; 2]> =
                rounds.iter().map(|round| [0, 1].map(|phase| figure(kind(&round[phase])))).collect();
            let [alone, beside] =
                [0, 1].map(|phase| median(found.iter().map(|round| round[phase]).collect()));
            let ratios: Vec<f64> = found.iter().map(|[alone, beside]| beside / alone).collect();
            let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            let most = ratios.iter().copied().fold(0.0, f64::max);
            let ratio = median(ratios);
            line += &format!(", {which} {alone:.0} → {beside:.0} µs ({ratio:.2}; {least:.2} to {most:.2})");
        }
        line += ";";
    }
    let [alone, beside] =
        [0, 1].map(|phase| rounds.iter().map(|round| round[phase].reads.len()).sum::<usize>());
    writeln!(io::stdout(), "{line} {alone} reads, then {beside}")
}

/// The bad sessions, until they are dropped.
struct Crowd(Child);

impl Crowd {
    fn start(server: &Server, bad: BadClient, shared: bool, arguments: &Arguments) -> Result<Crowd, String> {
        let own = std::env::current_exe().map_err(text)?;
        // Policy SCHED_IDLE (sched(7)): whoever wakes has the processor of one of them at once. Beside a process of nice 19 it may have to
        // wait for that one's slice.
        let mut command = Command::new("chrt");
        command.args(["--idle", "0"]).arg(own).arg("crowd-of").arg(bad.name()).arg(&server.place.address);
        command.arg(arguments.sessions.to_string());
        if shared {
            command.args(["--platform", SHARED]);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(text)?;
        let mut crowd = Crowd(child);
        let mut line = String::new();
        if let Some(said) = crowd.0.stdout.take() {
            BufReader::new(said).read_line(&mut line).map_err(text)?;
        }
        match line.trim() {
            "ready" => Ok(crowd),
            line => Err(format!("{command:?} says {line:?}")),
        }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        process::end(&mut self.0);
    }
}
