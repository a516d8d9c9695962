//! Servers under mixed load for as long as wanted: clients of several kinds at once over TCP, TLS and Unix sockets. Parties that are programs of
//! their own, and one of the servers, are killed now and then.
//!
//! ```text
//! cargo build --release -p vp-bridge -p vp-qemu -p vp-c
//! cargo run --release -p vp-tests --bin soak -- --seconds 7200
//! ```
//!
//! Clients, some of them in Python, run layers and a network, own the memory, look at all platforms (`vp status`), send garbage, or say nothing;
//! memories with a clock are killed and come again; a QEMU with the library, CPUs that speak Remote-Port and peripherals of a Renode run layers;
//! debuggers have time stand, platforms are saved and restored, and a CPU in C is at the pins of one. What ends by itself must
//! leave what the same run leaves in process, where time is modelled with the same event hash; what a server has acknowledged to a session that
//! stays must be there to the end, whoever is killed beside it; a study that was killed must go on where it was, and a platform whose saver was
//! killed is whole in its file, or there is none. After each round, when all clients have gone, a server must have no more descriptors and
//! threads than after the first ones, and its memory must not grow.
//!
//! One line says what was done: how many of each party have begun, were killed, and had their results compared. What is wrong is on
//! standard error at once, with its party and time, and the line so far every few minutes. The exit status is 1 if anything was wrong.

mod around;
mod c;
mod clients;
mod debugger;
mod layers;
mod noise;
mod observer;
mod partner;
mod process;
mod python;
mod qemu;
mod remote_port;
mod renode;
mod round;
mod saver;
mod server;
mod study;
mod tally;
mod witness;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use rand::SeedableRng as _;
use rand::rngs::SmallRng;

use around::Around;
use c::C;
use clients::Reference;
use qemu::Qemu;
use round::Parties;
use server::{Figures, Lab, Lives, Server, ServerPlace};
use study::Study;
use tally::{Party, Tally};
use witness::Witness;

/// Servers under mixed load, with kill -9 of each party, and a look for leaks
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    role: Option<Role>,
    /// Seconds to run
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// The program under test [default: `vp` beside this program]
    #[arg(long)]
    vp: Option<PathBuf>,
    /// Clients at a time, for each server
    #[arg(long, default_value_t = 2)]
    clients: usize,
    /// Seed of the random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Other tasks of this program.
#[derive(Debug, Subcommand)]
enum Role {
    /// Run a layer as a peer with Remote-Port
    #[command(hide = true)]
    RemotePortPeer { socket: PathBuf, layer: String },
}

/// The program under test, and where it is.
struct Site {
    vp: PathBuf,
    /// Folder for temporary files: what programs leave there goes with it.
    temporary: PathBuf,
    lab: Lab,
}

impl Site {
    fn vp(&self) -> Command {
        vp(&self.vp, &self.temporary)
    }
}

fn vp(vp: &Path, temporary: &Path) -> Command {
    let mut command = Command::new(vp);
    command.env("TMPDIR", temporary).env("RUST_LOG", "error");
    command
}

/// Length of a round: clients begin something new for so long, and then all of them end.
const ROUND: Duration = Duration::from_secs(8);

/// The rounds before the figures of a server are what later ones are compared with: allocators have their arenas then.
const WARM_UP: usize = 2;

/// Time from one line with the counts so far to the next.
const SAY: Duration = Duration::from_secs(300);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.role {
        Some(Role::RemotePortPeer { socket, layer }) => remote_port::be(socket, layer).map(|()| true),
        None => soak(&arguments),
    };
    match done {
        Ok(is_right) => ExitCode::from(u8::from(!is_right)),
        Err(why) => {
            _ = writeln!(io::stderr(), "error: {why}");
            ExitCode::from(2)
        }
    }
}

/// Rounds until the time is over; says what was done, and gives whether nothing was wrong.
fn soak(arguments: &Arguments) -> Result<bool, String> {
    let program = match &arguments.vp {
        Some(program) => program.clone(),
        None => process::beside("vp", "vp-bridge")?,
    };
    let folder = tempfile::tempdir().map_err(|error| format!("no folder for temporary files: {error}"))?;
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).map_err(|error| format!("{}: {error}", temporary.display()))?;
    let lab = Lab::make(vp(&program, &temporary), folder.path())?;
    let site = Site { vp: program, temporary, lab };
    let tally = Tally::new();
    let reference = Reference::take(|| site.vp())?;
    let (layers, study) = (layers::all()?, Study::new(site.vp(), folder.path())?);
    let qemu = Qemu::find(folder.path().to_owned());
    let qemu = qemu.map_err(|why| tally.skipped(Party::Qemu, why)).ok();
    let c = match c::library() {
        Ok(library) => Some(C::build(&library, folder.path())?),
        Err(why) => {
            tally.skipped(Party::C, why);
            None
        }
    };
    let has_python = python::missing().map(|why| tally.skipped(Party::Python, why)).is_none();
    let mut servers = start(&site, folder.path())?;
    servers.iter().for_each(|_| tally.begun(Party::Server));
    let mut witnesses = Vec::new();
    for place in servers.iter().map(|server| &server.place) {
        for share in place.witnesses() {
            tally.begun(Party::Witness);
            witnesses.push(Witness::new(place, *share, &site.lab)?);
        }
    }
    let (end, mut random) =
        (Instant::now() + Duration::from_secs(arguments.seconds), SmallRng::seed_from_u64(arguments.seed));
    let (mut first, mut last): (Option<Vec<Figures>>, Vec<Figures>) = (None, Vec::new());
    let mut said = Instant::now();
    for round in 1.. {
        let until = end.min(Instant::now() + ROUND);
        let around = Around { site: &site, reference: &reference, layers: &layers, tally: &tally, until };
        let parties = Parties {
            study: &study,
            qemu: qemu.as_ref(),
            c: c.as_ref(),
            has_python,
            clients: arguments.clients,
        };
        round::run(&mut servers, &mut witnesses, &parties, &mut random, &around);
        servers.iter_mut().try_for_each(Server::check)?;
        let steady = servers.iter().filter(|server| server.place.is_steady());
        let before = |at: usize| first.as_ref().and_then(|first| first.get(at));
        last = (steady.clone().enumerate())
            .map(|(at, server)| server.quiet(before(at)))
            .collect::<Result<_, _>>()?;
        let is_over = Instant::now() >= end;
        if round == WARM_UP || is_over {
            first.get_or_insert_with(|| last.clone());
        }
        for ((server, first), last) in steady.zip(first.iter().flatten()).zip(&last) {
            if let Some(leak) = last.leak_since(first) {
                let what = format!("round {round}, {}: {leak}", server.place.address);
                tally.wrong(Party::Server, &what);
            }
        }
        if is_over || tally.is_hopeless() {
            break;
        }
        if said.elapsed() >= SAY {
            said = Instant::now();
            _ = writeln!(io::stderr(), "so far: {}", tally.line());
        }
    }
    let steady = servers.iter().filter(|server| server.place.is_steady());
    let figures: Vec<String> = (steady.zip(first.iter().flatten()).zip(&last))
        .map(|((server, first), last)| format!("{}: {}", server.place.name(), first.to_text(last)))
        .collect();
    let said = writeln!(io::stdout(), "soak: {}; {}", tally.line(), figures.join("; "));
    said.map_err(|error| error.to_string())?;
    Ok(tally.wrongs() == 0)
}

/// The servers: over each transport one that stays, one for guests of QEMU, and one that is killed.
fn start(site: &Site, folder: &Path) -> Result<Vec<Server>, String> {
    let at = |address: &str, more: &[&str]| {
        let mut command = site.vp();
        command.args(["serve", "--listen", address]).args(more);
        command
    };
    let socket = |name: &str| format!("unix:{}", folder.join(name).display());
    let steady = || ServerPlace::new(Lives::ToTheEnd);
    Ok(vec![
        Server::start(at("tcp:127.0.0.1:0", &[]), steady())?,
        Server::start(site.lab.serve(site.vp()), steady())?,
        Server::start(at(&socket("steady"), &[]), steady().meeting(folder.join("steady-rp")))?,
        Server::start(at(&socket("guests"), &["--guest-memory"]), ServerPlace::for_guests())?,
        Server::start(
            at(&socket("mortal"), &[]),
            ServerPlace::new(Lives::Shortly).meeting(folder.join("mortal-rp")),
        )?,
    ])
}
