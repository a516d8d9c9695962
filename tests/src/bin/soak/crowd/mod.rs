//! Speed of a good client beside many bad ones: `soak crowd`.
//!
//! A server; a client that reads a register, and now and then loads 1 MiB, one after the other; and 500 bad sessions in another
//! program. There are many short rounds, each of a phase alone and one beside the others, from their beginning on. They are compared
//! within a round, because the machine itself may be twice as fast in one minute as in the next. The bad ones are few threads with
//! bytes made beforehand, at the lowest priority: their own work is not the server's.

mod members;
mod plain_sockets;
mod times;

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum as _};
use vp_host::{Host as _, Memory};
use vp_protocols::native::TimeMode;
use vp_remote::{RemoteHost, RemoteOptions};

use crate::process::{self, text};
use crate::server::{Place, Server};
use crate::vp;

use plain_sockets::PlainSockets;
use times::{Times, line};

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
    /// Behaviour of the bad sessions [default: each, one after the other]
    #[arg(long)]
    bad: Vec<BadClient>,
    /// Seconds that each phase takes
    #[arg(long, default_value_t = 1)]
    seconds: u64,
    /// Number of pairs of phases, one alone and one beside the others
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
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
            let before = server.quiet(None)?.with_reserve();
            for _ in 0..arguments.rounds {
                let alone = phase(&mut good, arguments)?;
                let crowd = Crowd::start(&server, *bad, shared, arguments)?;
                let beside = phase(&mut good, arguments)?;
                drop(crowd);
                rounds.push([alone, beside]);
                // The next phase is one alone: what they have sent is carried out, and they are gone.
                if let Some(left) = server.quiet(Some(&before))?.leak_since(&before) {
                    return Err(format!("{bad:?}: the bad sessions have ended, and the server keeps {left}"));
                }
            }
            let whose = if shared { "on the same platform" } else { "on platforms of their own" };
            writeln!(io::stdout(), "{bad:?} {whose}, {}", line(&rounds)).map_err(text)?;
        }
    }
    Ok(())
}

fn phase(good: &mut RemoteHost, arguments: &Arguments) -> Result<Times, String> {
    let (began, bytes) = (Instant::now(), vec![0x5a; LOAD]);
    let mut sockets = PlainSockets::new(LOAD).map_err(text)?;
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
        let asked = Instant::now();
        sockets.copy(&bytes).map_err(text)?;
        times.copies.push(asked.elapsed());
    }
    Ok(times)
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
