//! Platforms on which a program runs: in this process, or behind a socket.

use super::Failure;
use super::alive::{self, Alive, ToldHost};
use super::memory_limit::MemoryArgs;
use super::observing::{ObserveArgs, Observed};
use super::parts::{PartArgs, PartsOutside};
use super::platform_args::{PlatformArgs, headline};
use vp_client::native::TimeMode;
use vp_client::{Credentials, SilenceLimit};
use vp_core::Time;
use vp_host::Host;
use vp_host::LocalHost;
use vp_hub::Hub;
use vp_models::platform::{Description, Platform};
use vp_remote::{MemoryPlace, RemoteHost, RemoteOptions};
use vp_transport::Address;

/// Options that say where the platform is.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct HostArgs {
    #[command(flatten)]
    pub(super) platform: PlatformArgs,

    #[command(flatten)]
    pub(super) memory: MemoryArgs,

    /// Use the platform that `vp serve` offers at this address: tcp:HOST:PORT, tls:HOST:PORT or unix:PATH
    #[arg(long, value_name = "ADDR", help_heading = "Server")]
    pub(super) connect: Option<Address>,

    /// Name of a shared platform of the server [default: a new platform of this program's own]
    #[arg(long, value_name = "NAME", requires = "connect", help_heading = "Server")]
    pub(super) shared: Option<String>,

    /// Give up after this much simulated time, such as `10 ms` [default: none]
    #[arg(long, value_name = "TIME")]
    pub(super) limit: Option<Time>,

    #[command(flatten)]
    pub(super) observing: ObserveArgs,

    #[command(flatten)]
    pub(super) parts: PartArgs,

    /// Address at which parts that are started by hand attach, as with `vp attach-device ADDR`: tcp:HOST:PORT or unix:PATH [default: a
    /// new Unix socket, which is printed]
    #[arg(long, value_name = "ADDR", conflicts_with = "connect", help_heading = "Parts in other programs")]
    pub(super) listen: Option<Address>,

    /// Way in which simulated time advances at the server: lockstep is reproducible, free is not
    #[arg(
        long,
        value_name = "MODE",
        default_value = "lockstep",
        requires = "connect",
        help_heading = "Server"
    )]
    pub(super) time_mode: WantedTimeMode,

    /// Keep the RAM in this program: the device's DMA crosses the connection
    #[arg(long, requires = "connect", help_heading = "Server")]
    pub(super) own_memory: bool,

    /// Seconds after which a silent server counts as gone, or `none`, such as for a server in a debugger
    #[arg(long, value_name = "SECONDS", default_value_t, env = SilenceLimit::VARIABLE, help_heading = "Server")]
    pub(super) heartbeat: SilenceLimit,
}

/// Way in which simulated time is to advance at a server. A shared platform that is there already keeps its own way.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum WantedTimeMode {
    /// With this program's requests only: the same run each time
    Lockstep,
    /// On its own, whenever the platform has work: times differ from run to run
    Free,
}

impl From<WantedTimeMode> for TimeMode {
    fn from(mode: WantedTimeMode) -> TimeMode {
        match mode {
            WantedTimeMode::Lockstep => TimeMode::Lockstep,
            WantedTimeMode::Free => TimeMode::Free,
        }
    }
}

/// A CPU's place at a platform, and what is known of that platform.
pub(super) struct OpenedHost {
    /// Parts of the platform in other programs, if there are any; to be dropped after the host.
    pub(super) parts: Option<PartsOutside>,
    pub(super) host: Box<dyn Host>,
    /// The platform, if it is in this process.
    pub(super) description: Option<Description>,
    /// The platform in one line.
    pub(super) headline: String,
    /// Observers that write files about the platform, if it is in this thread; to be dropped before the host.
    pub(super) observed: Option<Observed>,
}

impl HostArgs {
    /// Refuses options that contradict each other.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.connect.is_some()
            && let Some(option) = (self.platform.first_given())
                .or((self.memory.is_given() && !self.own_memory).then_some("--memory-limit"))
                .or(self.observing.first_given())
                .or(self.parts.first_given())
        {
            return Err(Failure::new(format!("{option} is the server's to say when --connect is given"))
                .hint(format!("start the server with it: vp serve {option} …")));
        }
        Ok(())
    }

    /// A fresh platform: `default` unless another one is asked for.
    pub(super) fn open(&self, default: &str) -> Result<OpenedHost, Failure> {
        self.limited(self.open_unlimited(default, false)?)
    }

    /// Opens a platform as [`HostArgs::open`] does, watched for what bounds it if it is in this process.
    pub(super) fn open_watched(&self, default: &str) -> Result<OpenedHost, Failure> {
        self.limited(self.open_unlimited(default, true)?)
    }

    /// Opens a platform as [`HostArgs::open`] does, of which no files are written: to look at the platform only.
    pub(super) fn open_unobserved(&self, default: &str) -> Result<OpenedHost, Failure> {
        HostArgs { observing: ObserveArgs::default(), ..self.clone() }.open(default)
    }

    fn limited(&self, mut place: OpenedHost) -> Result<OpenedHost, Failure> {
        if let Some(limit) = self.limit {
            place.host.set_limit(limit);
        }
        Ok(place)
    }

    fn open_unlimited(&self, default: &str, watched: bool) -> Result<OpenedHost, Failure> {
        match &self.connect {
            None => {
                let mut description = self.platform.description(default)?;
                let (listen, memory_limit) = (self.listen.as_ref(), self.memory.limit());
                let observing = (&self.observing, None);
                let opened = self.parts.open(&mut description, listen, memory_limit, observing)?;
                if let Some((host, parts)) = opened {
                    let headline = self.parts.headline(&description);
                    let host = ToldHost::new(Box::new(host), Alive::of_period(description.period));
                    let description = Some(description);
                    return Ok(OpenedHost {
                        parts: Some(parts),
                        host: Box::new(host),
                        description,
                        headline,
                        observed: None,
                    });
                }
                let platform =
                    Platform::build_within(&description, self.memory.budget()).map_err(Failure::new)?;
                let headline = headline(&description);
                let mut hub = Hub::new(platform, vp_hub::TimeMode::Lockstep);
                let observed = Some(self.observing.attach(&mut hub)?);
                let mut host = LocalHost::at(hub);
                if watched {
                    host.watch();
                }
                let (period, alive) = (description.period, Alive::of_period(description.period));
                let told = alive.clone();
                host.ask_whether(move |time| {
                    told.is_at(time);
                    Some(time + period * alive::CYCLES)
                });
                let (host, description) = (Box::new(ToldHost::new(Box::new(host), alive)), Some(description));
                Ok(OpenedHost { parts: None, host, description, headline, observed })
            }
            Some(address) => self.open_remote(address),
        }
    }

    /// A session of its own, which has a platform of its own.
    fn open_remote(&self, address: &Address) -> Result<OpenedHost, Failure> {
        let memory = if self.own_memory { MemoryPlace::Client } else { MemoryPlace::Inside };
        let options = RemoteOptions {
            memory,
            memory_limit: self.memory.limit(),
            platform: self.shared.clone(),
            time_mode: self.time_mode.into(),
            credentials: Credentials::from_environment().map_err(Failure::new)?,
            heartbeat: self.heartbeat,
            ..RemoteOptions::default()
        };
        let mut host = RemoteHost::connect(address, options).map_err(Failure::connection)?;
        if self.shared.is_none() && host.welcome().time > Time::ZERO {
            // A server's one platform, which others have used before: a program begins at power-on.
            host.reset().map_err(Failure::new)?;
        }
        let whose = if self.own_memory { ", memory on this side" } else { "" };
        let welcome = host.welcome();
        let headline = format!("{} at {address}{whose}, {}", welcome.platform, welcome.time_mode);
        let host = Box::new(ToldHost::new(Box::new(host), Alive::default()));
        Ok(OpenedHost { parts: None, host, description: None, headline, observed: None })
    }
}

/// A server's platform describes itself.
pub(super) fn described(host: &mut dyn Host) -> Result<Description, Failure> {
    let statistics = host.statistics().map_err(Failure::new)?;
    vp_remote::described(&statistics.counters).map_err(Failure::new)
}
