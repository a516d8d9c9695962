//! Servers under mixed load for as long as wanted: every kind of client at once over TCP, TLS and Unix sockets, each party killed now and then.
//!
//! ```text
//! cargo build --release -p vp-bridge
//! cargo run --release -p vp-tests --bin soak -- --seconds 7200
//! ```
//!
//! Clients run layers and a network, own the memory, are a memory with a clock, send garbage, or say nothing. What ends by itself must have
//! the event hash of the same run in process; what a server has acknowledged to a session that stays must be there to the end, whoever is killed
//! beside it; a study that was killed must go on where it was. After each round, when all clients have gone, a server must have the
//! descriptors and threads that it had after the first, and its memory must not grow. One line says what was done. The exit status is 1 if anything was
//! wrong, which is on standard error.

mod clients;
mod noise;
mod process;
mod server;
mod study;
mod witness;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use clients::Reference;
use server::{Figures, Lab, Lives, Server};
use study::Study;
use witness::Witness;

/// Servers under mixed load, with kill -9 of each party, and a look for leaks
#[derive(Debug, Parser)]
struct Arguments {
    /// For how long
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// The program under test [default: `vp` beside this program]
    #[arg(long)]
    vp: Option<PathBuf>,
    /// Clients at a time, for each server
    #[arg(long, default_value_t = 3)]
    clients: usize,
    /// What is done is drawn from this number
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What has been done, and what was wrong.
#[derive(Debug, Default)]
struct Tally {
    sessions: u64,
    killed: u64,
    checked: u64,
    servers_killed: u64,
    studies: u64,
    wrong: Vec<String>,
}

/// What all clients of a round share.
struct Around<'a> {
    vp: &'a PathBuf,
    reference: &'a Reference,
    study: &'a Study,
    lab: &'a Lab,
    tally: &'a Mutex<Tally>,
    /// Until when clients begin something new.
    until: Instant,
}

impl Around<'_> {
    fn count(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The program under test as a client, which shows what servers with TLS ask for.
    fn client(&self) -> Command {
        let mut command = Command::new(self.vp);
        command.envs(self.lab.of_client());
        command
    }

    /// Says what was wrong, once the run is over.
    fn wrong(&self, what: String) {
        self.count(|tally| tally.wrong.push(what));
    }

    /// Whether so much is wrong that more of it says nothing new.
    fn is_hopeless(&self) -> bool {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).wrong.len() > 20
    }
}

/// How long a round is: clients begin something new for so long, and then all of them end.
const ROUND: Duration = Duration::from_secs(8);

/// The rounds before the figures of a server are what later ones are compared with: allocators have their arenas then.
const WARM_UP: usize = 2;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let said = match soak(&arguments) {
        Ok((line, wrong)) => {
            let said = writeln!(io::stdout(), "{line}");
            let wrong_said = wrong.iter().try_for_each(|wrong| writeln!(io::stderr(), "wrong: {wrong}"));
            said.and(wrong_said).map(|()| ExitCode::from(u8::from(!wrong.is_empty())))
        }
        Err(why) => writeln!(io::stderr(), "error: {why}").map(|()| ExitCode::from(2)),
    };
    said.unwrap_or(ExitCode::from(2))
}

/// Rounds until the time is over; gives the line that says what was done, and what was wrong.
fn soak(arguments: &Arguments) -> Result<(String, Vec<String>), String> {
    let vp = match &arguments.vp {
        Some(vp) => vp.clone(),
        None => process::beside("vp")?,
    };
    let folder = tempfile::tempdir().map_err(|error| format!("no folder for temporary files: {error}"))?;
    let reference = Reference::take(&vp)?;
    let study = Study::new(&vp, folder.path())?;
    let lab = Lab::make(&vp, folder.path())?;
    let socket = |name: &str| format!("unix:{}", folder.path().join(name).display());
    let mut servers = [
        Server::start(&vp, "tcp:127.0.0.1:0", Lives::ToTheEnd)?,
        Server::start_tls(&vp, &lab)?,
        Server::start(&vp, &socket("steady"), Lives::ToTheEnd)?,
        Server::start(&vp, &socket("mortal"), Lives::ARound)?,
    ];
    let mut witnesses = Vec::new();
    // The protocol is the same with TLS, for which one needs to show something.
    let is_plain = |server: &&Server| server.lives == Lives::ToTheEnd && !server.address.starts_with("tls:");
    for server in servers.iter().filter(is_plain) {
        witnesses.push(Witness::new(&server.address)?);
    }
    let (begun, end) = (Instant::now(), Instant::now() + Duration::from_secs(arguments.seconds));
    let (tally, mut random) = (Mutex::new(Tally::default()), SmallRng::seed_from_u64(arguments.seed));
    let (mut first, mut last): (Option<Vec<Figures>>, _) = (None, Vec::new());
    for round in 1.. {
        let until = end.min(Instant::now() + ROUND);
        let around =
            Around { vp: &vp, reference: &reference, study: &study, lab: &lab, tally: &tally, until };
        run_round(&mut servers, &mut witnesses, arguments.clients, &mut random, &around);
        for server in &mut servers {
            server.revive(&vp)?;
        }
        let steady = servers.iter().filter(|server| server.lives == Lives::ToTheEnd);
        last = steady.clone().map(|server| server.quiet(first.as_deref())).collect::<Result<_, _>>()?;
        let is_over = Instant::now() >= end;
        if round == WARM_UP || is_over {
            first.get_or_insert_with(|| last.clone());
        }
        for ((server, first), last) in steady.zip(first.iter().flatten()).zip(&last) {
            if let Some(leak) = last.leak_since(first) {
                around.wrong(format!("round {round}, {}: {leak}", server.address));
            }
        }
        if is_over || around.is_hopeless() {
            break;
        }
    }
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    let figures: Vec<String> =
        first.iter().flatten().zip(&last).map(|(first, last)| first.to_text(last)).collect();
    let line = format!(
        "soak: {} s, {} clients ({} killed), {} servers killed, {} studies killed, {} results compared, {} wrong; {}",
        begun.elapsed().as_secs(),
        tally.sessions,
        tally.killed,
        tally.servers_killed,
        tally.studies,
        tally.checked,
        tally.wrong.len(),
        figures.join("; ")
    );
    Ok((line, tally.wrong))
}

/// Clients at all servers, who begin something new until the round is over, and end.
fn run_round(
    servers: &mut [Server],
    witnesses: &mut [Witness],
    clients: usize,
    random: &mut SmallRng,
    around: &Around<'_>,
) {
    std::thread::scope(|scope| {
        for server in servers {
            for _ in 0..clients {
                let (address, seed) = (server.address.clone(), random.random());
                scope.spawn(move || clients::work(&address, seed, around));
            }
            if server.lives == Lives::ARound {
                let when = random.random_range(0.2..0.9);
                scope.spawn(move || server.die(ROUND.mul_f64(when), around));
            }
        }
        for witness in witnesses {
            scope.spawn(move || witness.work(around));
        }
        let seed = random.random();
        scope.spawn(move || around.study.work(seed, around));
    });
}
