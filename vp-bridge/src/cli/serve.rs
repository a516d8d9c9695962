//! `vp serve`: offers a platform to programs that connect.

use super::fault_args::FaultArgs;
use super::memory_limit::{self, MemoryArgs};
use super::observing::ObserveArgs;
use super::parts::PartArgs;
use super::platform_args::{DEFAULT_PLATFORM, PlatformArgs, headline, into_guest_memory};
use super::terminal::start_log;
use super::{Failure, Verdict, certificates, text};
use crate::cli::out;
use bytes::Bytes;
use std::fmt;
use std::io::{Cursor, ErrorKind};
use std::path::{Path, PathBuf};
use std::pin::pin;
use tokio::signal::unix::{SignalKind, signal};
use tracing::info;
use tracing::level_filters::LevelFilter;
use vp_client::{Credentials, SilenceLimit};
use vp_models::bounded_file::read_at_most;
use vp_models::memory::MemoryBudget;
use vp_models::platform::{Description, Platform};
use vp_server::remote_port::{Peer, TimeSource};
use vp_server::{Access, Options, Server, Tokens, UserGroup, allow_files_for, limit_arenas};
use vp_transport::{Address, MeetingPlace, tls};

/// Most bytes of a saved platform beside its memory: its state ([`Platform::save`]), which also leaves room for what deflating adds to bytes that
/// it cannot shorten.
const BESIDE_MEMORY: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    platform: PlatformArgs,

    /// Address to listen at: tls:HOST:PORT, tcp:HOST:PORT (port 0: any free port) or unix:PATH
    #[arg(long, value_name = "ADDR", default_value = "tcp:127.0.0.1:7700")]
    listen: Address,

    /// Start each platform from a file that `vp save` wrote, in place of power-on. The platform is the saved one; options that describe
    /// a platform must match it
    #[arg(long, value_name = "FILE", value_parser = super::standard::named())]
    restore: Option<PathBuf>,

    /// Let the memory interfaces access every address, because an emulator serves its guest's memory
    #[arg(long)]
    guest_memory: bool,

    /// Limit of connections at a time: sessions, and those that have not said hello yet. Each takes up to 6 MiB for messages, or 36 MiB if it
    /// owns a memory or has a clock, beside --memory-limit
    #[arg(long, value_name = "N", default_value_t = Options::default().max_sessions)]
    max_sessions: usize,

    #[command(flatten)]
    memory: MemoryArgs,

    /// Limit of the memory that one platform's RAM may take [default: a quarter of --memory-limit]
    #[arg(long, value_name = "SIZE", value_parser = memory_limit::size, help_heading = "Platform")]
    platform_memory_limit: Option<u64>,
    /// Seconds after which a client is disconnected if its host cannot be reached, or if it has promised to answer at any time, as QEMU
    /// does, and is silent; or `none`, such as for a client in a debugger
    #[arg(long, value_name = "SECONDS", default_value_t, env = SilenceLimit::VARIABLE)]
    heartbeat: SilenceLimit,

    /// Seconds without a message in either direction after which a session is disconnected, or `none`
    #[arg(long, value_name = "SECONDS", default_value_t = SilenceLimit::NONE)]
    idle_timeout: SilenceLimit,
    /// Server's certificate for TLS, a PEM file
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "Access")]
    certificate: Option<PathBuf>,

    /// Private key of the certificate, a PEM file that only its owner may read
    #[arg(long, value_name = "FILE", requires = "certificate", help_heading = "Access")]
    key: Option<PathBuf>,

    /// Authority, a PEM file, whose client certificates are accepted in place of a token
    #[arg(long, value_name = "FILE", requires = "certificate", help_heading = "Access")]
    client_ca: Option<PathBuf>,

    /// Write certificates and a token for a lab's server at --listen to a new folder, and exit
    #[arg(long, value_name = "DIR", help_heading = "Access")]
    make_certificates: Option<PathBuf>,

    /// Accept users of this group at Unix sockets, besides this user and root
    #[arg(long, value_name = "NAME", value_parser = UserGroup::named, help_heading = "Access")]
    group: Option<UserGroup>,

    /// TOML file of tokens, each with what its owner may do (docs/security.md) [default: the token in VP_TOKEN or in the file
    /// VP_TOKEN_FILE, with all rights; if there is none, everybody who can connect]
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    tokens: Option<PathBuf>,

    /// Connect also a CPU that speaks Remote-Port, such as Xilinx's QEMU or a SystemC platform: unix:PATH or tcp:HOST:PORT. Either side
    /// may listen; `listen:` or `connect:` in front chooses one
    #[arg(long, value_name = "PLACE")]
    remote_port: Vec<MeetingPlace>,

    /// Source of simulated time for a CPU that speaks Remote-Port
    #[arg(long, value_name = "SOURCE", default_value = "free")]
    remote_port_time: RemotePortTime,

    /// Listen also for hypervisors that speak vfio-user, such as QEMU from 10.1 on, at unix:PATH. Each has the device as a PCI function of
    /// its guest, whose memory it reads and writes: this implies --guest-memory
    #[arg(long, value_name = "ADDR", conflicts_with = "restore")]
    vfio_user: Vec<Address>,

    /// Stop simulated time at the start of each platform, until a debugger (`vp attach`) continues it
    #[arg(long)]
    stopped: bool,

    #[command(flatten)]
    observing: ObserveArgs,

    #[command(flatten)]
    parts: PartArgs,

    #[command(flatten)]
    faults: FaultArgs,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum RemotePortTime {
    /// The platform's own work: as fast as it can
    Free,
    /// The times of the peer's packets: of its syncs, and of accesses between them
    Peer,
}

impl From<RemotePortTime> for TimeSource {
    fn from(time: RemotePortTime) -> TimeSource {
        match time {
            RemotePortTime::Free => TimeSource::Free,
            RemotePortTime::Peer => TimeSource::Peer,
        }
    }
}

impl Args {
    /// Returns the rules for who may come in.
    fn access(&self) -> Result<Access, Failure> {
        let tokens = match &self.tokens {
            Some(path) => Tokens::read(path),
            None => match Credentials::from_environment().map_err(Failure::new)?.token {
                Some(token) => Tokens::of_one(&token),
                None => Ok(Tokens::default()),
            },
        };
        let tokens = tokens.map_err(Failure::new)?;
        let tls = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                Some(tls::Server::new(certificate, key, self.client_ca.as_deref()).map_err(Failure::new)?)
            }
            _ => None,
        };
        Ok(Access { tokens, tls, group: self.group.clone(), ..self.parts.access() })
    }
}

impl Args {
    /// The saved platform: what it was built from, and its bytes, from which one can be made.
    fn saved(&self, path: &Path) -> Result<(Description, Bytes), Failure> {
        let failure = |error: &dyn fmt::Display| Failure::new(format!("{}: {error}", path.display()));
        if let Some(option) = self.guest_memory.then_some("--guest-memory").or(self.parts.first_given()) {
            let what = format!("{option} puts a part of the platform outside, and a saved platform is whole");
            return Err(Failure::new(what).hint("leave it out, or start without --restore"));
        }
        let metadata = std::fs::metadata(path).map_err(|error| failure(&error))?;
        // A device may have no end, and who opens a FIFO waits for somebody who writes.
        if !metadata.is_file() {
            return Err(failure(&"it is no regular file").hint("name a file of `vp save`"));
        }
        let most = self.platform_memory_limit().saturating_add(BESIDE_MEMORY);
        let saved = read_at_most(path, most).map_err(|error| match error.kind() {
            ErrorKind::FileTooLarge => failure(&error).hint(format!(
                "a platform may have {} of memory here: --platform-memory-limit sets more",
                text::size(self.platform_memory_limit())
            )),
            _ => failure(&error),
        })?;
        let description =
            Platform::saved_description(&mut Cursor::new(&saved)).map_err(|error| failure(&error))?;
        let expected = match self.platform.first_given() {
            Some(_) => self.platform.description(DEFAULT_PLATFORM)?,
            None => description,
        };
        // What is wrong with it is told now, and not to the first who comes.
        let budget = MemoryBudget::new(self.platform_memory_limit());
        Platform::restore(&mut Cursor::new(&saved), Some(&expected), budget)
            .map_err(|error| failure(&error))?;
        Ok((expected, saved.into()))
    }

    fn platform_memory_limit(&self) -> u64 {
        self.platform_memory_limit.unwrap_or(self.memory.limit() / 4)
    }
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    start_log(LevelFilter::INFO, &[]);
    if let Some(folder) = &args.make_certificates {
        certificates::make(folder, &args.listen)?;
        return Ok(Verdict::Right);
    }
    let saved = args.restore.as_deref().map(|path| args.saved(path)).transpose()?;
    let (mut description, saved) = match saved {
        Some((description, saved)) => (description, Some(saved)),
        None => (args.platform.description(DEFAULT_PLATFORM)?, None),
    };
    if args.guest_memory || !args.vfio_user.is_empty() {
        into_guest_memory(&mut description, |_| true);
    }
    let parts = args.parts.of(&mut description)?;
    let what = headline(&description);
    let options = Options {
        memory_limit: args.memory.limit(),
        platform_memory_limit: args.platform_memory_limit(),
        max_sessions: args.max_sessions,
        owner_timeout: args.parts.owner_timeout(),
        heartbeat: args.heartbeat.duration(),
        idle_timeout: args.idle_timeout.duration(),
        one_platform: !parts.is_empty(),
        stopped: args.stopped,
        saved,
        access: args.access()?,
        observe: args.observing.of_server(&description)?,
        faults: args.faults.text()?,
        ..Options::default()
    };
    allow_files_for(args.max_sessions, &args.listen);
    limit_arenas();
    let runtime = super::runtime::builder()?.enable_all().build()?;
    let served = runtime.block_on(async {
        let bound = Server::bind(&args.listen, description, options).await;
        let mut server = bound.map_err(|error| args.faults.bind_failure(error))?;
        // Whoever has read that line may end the server.
        let mut interrupted = pin!(interrupted());
        // The line that scripts wait for, on standard output: it names the port that was really taken.
        out::println!("listening on {}", server.local_address());
        info!("serving {what}");
        tokio::select! {
            met = parts.meet(&mut server) => met?,
            () = &mut interrupted => {
                info!("stopped");
                return Ok(Verdict::Right);
            }
        }
        for place in &args.remote_port {
            let (peer, channels) = (Peer::Host { time: args.remote_port_time.into() }, args.parts.channels());
            let address = server.add_remote_port(place, peer, channels).await.map_err(Failure::new)?;
            info!("Remote-Port at {address}: {}", args.parts.channels());
        }
        for address in &args.vfio_user {
            let address = server.add_vfio_user(address).await.map_err(Failure::new)?;
            info!("vfio-user at {address}");
        }
        let _programs = parts.start(server.local_address())?;
        server.run(interrupted).await;
        info!("stopped");
        Ok(Verdict::Right)
    });
    args.observing.conclude_server(served)
}

/// Waits for Ctrl-C, or a polite request to end, from when this is called.
pub(super) fn interrupted() -> impl Future<Output = ()> {
    let signals = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    async move {
        let mut waiting = signals.map(|signal| {
            Box::pin(async move {
                match signal {
                    Ok(mut signal) => _ = signal.recv().await,
                    // It ends the program as it does without us.
                    Err(_) => std::future::pending().await,
                }
            })
        });
        let [interrupt, terminate] = &mut waiting;
        tokio::select! {
            () = interrupt => {}
            () = terminate => {}
        }
    }
}
