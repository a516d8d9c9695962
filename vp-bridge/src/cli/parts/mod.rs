//! A platform of this process with parts in other ones: its device, or memories with times of their own.
//!
//! Used by `vp run`, `vp serve`, `vp qemu`, `vp renode`, `vp study` and `vp compare`, which start and end
//! these programs. A part finds the platform's address in `VP_CONNECT`. The first session that is no partner
//! decides the platform's mode of time.

mod program;
mod server;

use std::fmt;
use std::str::FromStr;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use vp_client::SilenceLimit;
use vp_client::native::{Attached, Role, StatusReport};
use vp_hub::PinEvent;
use vp_models::platform::{Description, DeviceDescription, Platform};
use vp_remote::{RemoteHost, RemoteOptions};
use vp_server::remote_port::{Channels, Peer, TimeSource};
use vp_server::{Access, Options, Server};
use vp_study::OnHost;
use vp_transport::{Address, AddressError, MeetingPlace};

use super::Failure;
use super::memory_limit;
use super::observing::ObserveArgs;
use super::platform_args::{headline, headline_with};
use crate::cli::out;
pub(super) use program::CONNECT;
use program::Program;
use server::PlatformServer;
pub(super) use server::own_address;

/// Interval at which it is looked whether the parts are attached.
const LOOK: Duration = Duration::from_millis(5);
/// Number of looks without all of them after which a person is told what is waited for.
const LOOKS_IN_SILENCE: u32 = 200;

/// Options that say which parts of a platform other programs are.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Parts in other programs")]
pub(super) struct PartArgs {
    /// Program to start as the platform's device, such as a simulator of its RTL. VP_CONNECT tells it the platform's address; it is
    /// ended with the platform
    #[arg(long, value_name = "COMMAND")]
    device_command: Option<String>,

    /// Program to start as the memory behind a port, with its own timing: dbb0=COMMAND or sram0=COMMAND
    #[arg(long, value_name = "PORT=COMMAND")]
    memory_command: Vec<MemoryCommand>,

    /// Device in a program that speaks another protocol: remote-port:PLACE, with PLACE unix:PATH or tcp:HOST:PORT. Either side may
    /// listen; `listen:` or `connect:` before PLACE chooses one
    #[arg(long, value_name = "PROTOCOL:PLACE", conflicts_with = "device_command")]
    device: Option<PeerPlace>,

    /// Memory behind a port in a program that speaks another protocol: dbb0=remote-port:PLACE or sram0=remote-port:PLACE
    #[arg(long, value_name = "PORT=PROTOCOL:PLACE")]
    memory: Vec<PeerMemory>,

    #[command(flatten)]
    remote_port: RemotePortArgs,

    /// Seconds after which a part is disconnected if it is late with a promise of time, or with a memory's answer; or `none`, such as
    /// for a simulator in a debugger
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    owner_timeout: OwnerTimeout,

    /// Seconds to wait until a peer with another protocol connects, or `none`
    #[arg(long, value_name = "SECONDS", default_value = "10")]
    attach_timeout: OwnerTimeout,

    /// Allow listening where other hosts can connect though there is no authentication: everybody who reaches the port has all rights
    #[arg(long)]
    insecure: bool,
}

/// Options about peers that speak Remote-Port.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct RemotePortArgs {
    /// Remote-Port channel of each port: PORT=CHANNEL, with the channel's base address behind @, and a line's wire behind a dot. The
    /// default suits QEMU's board virt-cosim
    #[arg(long, value_name = "CHANNELS", default_value_t = Channels::default())]
    pub(super) remote_port_channels: Channels,

    /// Clock cycles that a device at Remote-Port simulates on its own; the platform sees its actions up to that much later
    #[arg(long, value_name = "CYCLES", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    remote_port_quantum: u32,
}

impl Default for RemotePortArgs {
    fn default() -> RemotePortArgs {
        RemotePortArgs { remote_port_channels: Channels::default(), remote_port_quantum: 1000 }
    }
}

/// Place at which a peer with another protocol is met.
#[derive(Debug, Clone)]
struct PeerPlace(MeetingPlace);

impl FromStr for PeerPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<PeerPlace, String> {
        let place = text
            .strip_prefix("remote-port:")
            .ok_or("write remote-port:PLACE, such as remote-port:unix:/tmp/rp.sock")?;
        place.parse().map(PeerPlace).map_err(|error: AddressError| error.to_string())
    }
}

impl fmt::Display for PeerPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "remote-port:{}", self.0)
    }
}

/// A peer with another protocol that is a memory.
#[derive(Debug, Clone)]
struct PeerMemory {
    port: String,
    place: PeerPlace,
}

impl FromStr for PeerMemory {
    type Err = String;

    fn from_str(text: &str) -> Result<PeerMemory, String> {
        match text.split_once('=') {
            Some((port @ ("dbb0" | "sram0"), place)) => {
                Ok(PeerMemory { port: port.to_owned(), place: place.parse()? })
            }
            _ => Err("write dbb0=remote-port:PLACE or sram0=remote-port:PLACE".to_owned()),
        }
    }
}

/// A program that is a memory.
#[derive(Debug, Clone)]
struct MemoryCommand {
    port: String,
    command: String,
}

impl FromStr for MemoryCommand {
    type Err = String;

    fn from_str(text: &str) -> Result<MemoryCommand, String> {
        match text.split_once('=') {
            Some((port @ ("dbb0" | "sram0"), command)) if !command.trim().is_empty() => {
                Ok(MemoryCommand { port: port.to_owned(), command: command.to_owned() })
            }
            _ => Err("write dbb0=COMMAND or sram0=COMMAND".to_owned()),
        }
    }
}

/// Time for which somebody is waited for by the wall clock; `None`: for ever.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnerTimeout(Option<Duration>);

impl Default for OwnerTimeout {
    fn default() -> OwnerTimeout {
        OwnerTimeout(Some(Options::default().owner_timeout))
    }
}

impl FromStr for OwnerTimeout {
    type Err = String;

    fn from_str(text: &str) -> Result<OwnerTimeout, String> {
        text.parse().map(|limit: SilenceLimit| OwnerTimeout(limit.duration()))
    }
}

/// Part of the platform that is in another program.
struct ExternalPart {
    /// Name of the part in what people read.
    name: String,
    /// The ports that it takes, and as what.
    ports: Vec<(&'static str, Role)>,
    origin: Origin,
}

/// Origin of a part.
enum Origin {
    /// The part is started with this command.
    Command(String),
    /// The part is met at this place.
    Place(MeetingPlace, Peer, Channels),
    /// Somebody else attaches it.
    Elsewhere,
}

/// The parts of a platform that are in other programs.
pub(super) struct ExternalParts(Vec<ExternalPart>);

impl ExternalParts {
    /// Returns true if all of the platform is in this process.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Starts the programs that are parts, and says of the others how they attach.
    pub(super) fn start(&self, address: &Address) -> Result<Vec<Program>, Failure> {
        let mut programs = Vec::new();
        for ExternalPart { name, origin, .. } in &self.0 {
            match origin {
                Origin::Command(command) => programs.push(Program::start(name, command, address)?),
                Origin::Place(..) => {}
                Origin::Elsewhere => {
                    out::eprintln!("{name} is outside: attach it, such as with `vp attach-device {address}`");
                }
            }
        }
        Ok(programs)
    }

    /// Lets a server meet the parts that speak another protocol.
    pub(super) async fn meet(&self, server: &mut Server) -> Result<(), Failure> {
        for ExternalPart { origin, .. } in &self.0 {
            if let Origin::Place(place, peer, channels) = origin {
                server.add_remote_port(place, *peer, channels.clone()).await.map_err(Failure::new)?;
            }
        }
        Ok(())
    }
}

impl PartArgs {
    /// Returns the time for which the server waits for who owes it something.
    pub(super) fn owner_timeout(&self) -> Duration {
        self.owner_timeout.0.unwrap_or(Duration::MAX)
    }

    /// Returns the rules for who may come in.
    pub(super) fn access(&self) -> Access {
        Access { insecure: self.insecure, ..Access::default() }
    }

    /// The channels of peers that speak Remote-Port.
    pub(super) fn channels(&self) -> Channels {
        self.remote_port.remote_port_channels.clone()
    }

    /// The first of these options that is given.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        match self {
            PartArgs { device_command: Some(_), .. } => Some("--device-command"),
            PartArgs { device: Some(_), .. } => Some("--device"),
            PartArgs { memory, .. } if !memory.is_empty() => Some("--memory"),
            PartArgs { memory_command, .. } if !memory_command.is_empty() => Some("--memory-command"),
            _ => None,
        }
    }

    /// The options that say which parts are in other programs, word by word.
    pub(super) fn words(&self) -> Vec<String> {
        let device = self.device_command.iter().flat_map(|it| ["--device-command".to_owned(), it.clone()]);
        let memories = self.memory_command.iter();
        let memories = memories.flat_map(|MemoryCommand { port, command }| {
            ["--memory-command".to_owned(), format!("{port}={command}")]
        });
        let peer = self.device.iter().flat_map(|place| ["--device".to_owned(), place.to_string()]);
        let peers = self.memory.iter();
        let peers =
            peers.flat_map(|PeerMemory { port, place }| ["--memory".to_owned(), format!("{port}={place}")]);
        let RemotePortArgs { remote_port_channels: channels, remote_port_quantum: quantum } =
            &self.remote_port;
        let is_peer = self.device.is_some() || !self.memory.is_empty();
        let how = [
            ["--remote-port-channels".to_owned(), channels.to_string()],
            ["--remote-port-quantum".to_owned(), quantum.to_string()],
        ];
        let how = how.into_iter().flatten().filter(|_| is_peer);
        device.chain(memories).chain(peer).chain(peers).chain(how).collect()
    }

    /// Runs something on a platform of its own, whose parts are started for it and ended; `point` says in a study where that is.
    pub(super) fn run_at(
        &self,
        point: usize,
        description: &Description,
        run: &mut OnHost<'_>,
    ) -> Result<(), String> {
        let told = |failure: Failure| failure.to_string();
        let mut description = description.clone();
        let mut parts = self.of(&mut description).map_err(told)?;
        for part in &mut parts.0 {
            part.name = format!("point {point}: {}", part.name);
        }
        let looked_at = (&ObserveArgs::default(), None);
        let (mut host, outside) =
            self.serve(&parts, description, None, memory_limit::usual(), looked_at).map_err(told)?;
        let ran = run(&mut host);
        drop(host);
        drop(outside);
        ran
    }

    /// A line on a platform with these parts.
    pub(super) fn headline(&self, description: &Description) -> String {
        match self.memories().any(|port| port == "dbb0") {
            true => headline_with(description, "the memory outside".to_owned()),
            false => headline(description),
        }
    }

    /// The ports whose memories are in other programs.
    pub(super) fn memories(&self) -> impl Iterator<Item = &str> {
        let peers = self.memory.iter().map(|memory| memory.port.as_str());
        self.memory_command.iter().map(|memory| memory.port.as_str()).chain(peers)
    }

    /// The parts of a platform that are in other programs. Its device is outside then, if one of them is that.
    pub(super) fn of(&self, description: &mut Description) -> Result<ExternalParts, Failure> {
        let is_outside = self.device_command.is_some() || self.device.is_some();
        if is_outside && !matches!(description.device, DeviceDescription::Outside(_)) {
            let outside = description.device.outside();
            description.device = DeviceDescription::Outside(Box::new(outside));
        }
        let mut parts = Vec::new();
        if let DeviceDescription::Outside(_) = description.device {
            parts.push(ExternalPart {
                name: "the device".to_owned(),
                ports: vec![("csb0", Role::Target), ("irq0", Role::Source)],
                origin: self.device_origin(),
            });
        }
        let commands = self.memory_command.iter();
        let commands =
            commands.map(|MemoryCommand { port, command }| (port, Origin::Command(command.clone())));
        let peers = self.memory.iter().map(|PeerMemory { port, place }| {
            let channel = self.remote_port.remote_port_channels.iter().find(|channel| channel.port == *port);
            let channels = Channels::memory(port, channel.map_or(0, |channel| channel.channel));
            let peer = Peer::Host { time: TimeSource::Free };
            (port, Origin::Place(place.0.clone(), peer, channels))
        });
        for (port, origin) in commands.chain(peers) {
            let port = if port == "dbb0" { "dbb0" } else { "sram0" };
            if parts.iter().any(|part: &ExternalPart| part.ports.contains(&(port, Role::Target))) {
                return Err(Failure::new(format!("the memory behind {port} is given twice")));
            }
            let platform = Platform::build(description).map_err(Failure::new)?;
            if !platform.ports().iter().any(|of| of.name == port) {
                let name = &description.name;
                return Err(Failure::new(format!(
                    "{name} has no port {port}, so nobody can be the memory behind it"
                )));
            }
            let name = format!("the memory behind {port}");
            parts.push(ExternalPart { name, ports: vec![(port, Role::Target)], origin });
        }
        Ok(ExternalParts(parts))
    }

    fn device_origin(&self) -> Origin {
        let RemotePortArgs { remote_port_channels: channels, remote_port_quantum: quantum } =
            &self.remote_port;
        match (&self.device_command, &self.device) {
            (Some(command), _) => Origin::Command(command.clone()),
            (None, Some(PeerPlace(place))) => {
                Origin::Place(place.clone(), Peer::Device { quantum: *quantum }, channels.clone())
            }
            (None, None) => Origin::Elsewhere,
        }
    }

    /// Serves a platform of which parts are in other programs, and waits until they are attached. `None`: all of it is in
    /// this process, whose RAM takes so many bytes at most. Who looks on, and who is told what is driven between platform
    /// and parts, is `looked_at`.
    pub(super) fn open(
        &self,
        description: &mut Description,
        listen: Option<&Address>,
        memory_limit: u64,
        looked_at: (&ObserveArgs, Option<Sender<PinEvent>>),
    ) -> Result<Option<(RemoteHost, PartsOutside)>, Failure> {
        let parts = self.of(description)?;
        if parts.is_empty() && listen.is_none() {
            return Ok(None);
        }
        self.serve(&parts, description.clone(), listen, memory_limit, looked_at).map(Some)
    }

    fn serve(
        &self,
        parts: &ExternalParts,
        description: Description,
        listen: Option<&Address>,
        memory_limit: u64,
        (observing, pins): (&ObserveArgs, Option<Sender<PinEvent>>),
    ) -> Result<(RemoteHost, PartsOutside), Failure> {
        let owner_timeout = self.owner_timeout();
        let (access, observe) = (self.access(), observing.of_server(&description)?);
        let options = Options {
            one_platform: true,
            owner_timeout,
            memory_limit,
            pins,
            access,
            observe,
            ..Options::default()
        };
        let server = PlatformServer::start(listen, description, options, parts)?;
        let mut host =
            RemoteHost::connect(server.address(), RemoteOptions::default()).map_err(Failure::connection)?;
        let programs = parts.start(server.address())?;
        let mut outside = PartsOutside { _server: server, programs };
        outside.wait(parts, &mut host, self.attach_timeout.0)?;
        Ok((host, outside))
    }
}

/// Parts of a platform of this process that are in other programs, and what they reach it by. They end when this is dropped.
pub(super) struct PartsOutside {
    // Ended in this order: the sessions are told, then the programs have a moment to end by themselves.
    _server: PlatformServer,
    programs: Vec<Program>,
}

impl PartsOutside {
    /// Waits until all ports are taken; for a peer that does not come no longer than `limit`.
    fn wait(
        &mut self,
        parts: &ExternalParts,
        host: &mut RemoteHost,
        limit: Option<Duration>,
    ) -> Result<(), Failure> {
        let began = Instant::now();
        for look in 0_u32.. {
            let StatusReport { attached, .. } = host.status().map_err(Failure::new)?;
            let is_attached = |&(name, role): &(&str, Role)| {
                let mut ports = host.welcome().ports.iter();
                let place = ports.position(|port| port.name == name);
                let is = |it: &Attached| place == Some(usize::from(it.port.0)) && it.role == role;
                attached.iter().any(is)
            };
            let Some(missing) = parts.0.iter().find(|part| !part.ports.iter().all(is_attached)) else {
                return Ok(());
            };
            for program in &mut self.programs {
                program.check()?;
            }
            let ExternalPart { name, origin, .. } = missing;
            if let (Origin::Place(place, ..), Some(limit)) = (origin, limit)
                && began.elapsed() >= limit
            {
                let seconds = limit.as_secs_f64();
                return Err(Failure::new(format!(
                    "{name}: no peer that speaks Remote-Port came to {place} within {seconds} s"
                ))
                .hint("start the peer first, or wait longer: --attach-timeout SECONDS, or none"));
            }
            if look == LOOKS_IN_SILENCE {
                match origin {
                    Origin::Command(command) => out::eprintln!("waiting for {name}: `{command}`"),
                    Origin::Place(place, ..) => {
                        out::eprintln!("waiting for {name} at {place} (Remote-Port)");
                    }
                    Origin::Elsewhere => {}
                }
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}
