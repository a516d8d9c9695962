//! The server: listens, greets, and gives each session its platform.
//!
//! ```no_run
//! use vp_server::{Options, Server};
//! use vp_models::platform::Description;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let description = Description::named("nv_small")?;
//! let server = Server::bind(&"tcp:127.0.0.1:0".parse()?, description, Options::default()).await?;
//! println!("listening on {}", server.local_address());
//! server.run(async { tokio::signal::ctrl_c().await.unwrap_or_default() }).await;
//! # Ok(())
//! # }
//! ```
//!
//! A platform is one thread. A session begins as an async task, which waits for its hello, gives its socket to
//! the thread of its platform, and gets it back for the goodbye. A session that makes errors, lags or vanishes
//! takes nothing from others except what it provided.

mod access;
mod adapted;
mod adapters;
mod authentication;
mod files;
mod freed;
mod instance;
mod joined_session;
mod listener;
mod lobby;
mod meeting;
mod names;
mod observe;
mod peers;
mod registry;
mod session;
mod session_end;
mod stranger_log;
mod stream;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use bytes::Bytes;
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use vp_hub::PinEvent;
use vp_models::counters::Statistics;
use vp_models::memory::MemoryPool;
use vp_models::platform::{Description, DescriptionError, Platform};
use vp_models::toml_text::TextError;
use vp_protocols::native::{Capabilities, ErrorCode, Offer, SessionId, Terms, TimeMode};

pub use access::{Access, NoSuchGroup, Right, Rights, Role, Tokens, UserGroup};
use adapters::Adapter;
use adapters::renode::Renode;
use adapters::vfio_user::VfioUser;
pub use files::allow_files_for;
pub use freed::limit_arenas;
use instance::{Start, TimeLimits};
pub use listener::ListenError;
use listener::Listener;
use meeting::Meeting;
pub use observe::{ObservePlatforms, PlatformObserver};
use peers::{ConnectedPeer, OtherPeer};
use registry::{PlatformMemory, Registry};
use stranger_log::StrangerLog;
use vp_transport::{Address, MeetingPlace, Order};

/// Peers that speak Remote-Port: Xilinx's QEMU, and SystemC platforms with its library.
pub mod remote_port {
    pub use crate::adapters::remote_port::{Channels, ChannelsError, Peer, PortChannel, TimeSource};
}

/// Renode, with a platform as its co-simulated peripheral.
pub mod renode {
    use vp_transport::Address;

    /// The port where Renode listens for one peripheral: as long as nobody has connected, and for three seconds
    /// at most.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Sockets {
        /// Renode's requests, and all answers except those to ticks. It is connected to first.
        pub main: Address,
        /// The peripheral's requests.
        pub asynchronous: Address,
    }
}

/// Time for which a connection that cannot be accepted is left alone before the next try.
const PAUSE: Duration = Duration::from_millis(50);

/// The `tracing` target of a platform's warnings that a session has been told. A program whose session prints
/// them on the same terminal leaves this target out of its log.
pub const TOLD: &str = "vp_server::told";

/// The limits and options of a server.
#[derive(Debug, Clone)]
pub struct Options {
    /// Most connections at a time: sessions, and those that have not sent their hello or not authenticated yet. One
    /// more is told that the server is full, as far as the system takes that at once, and closed. The limit is lower
    /// where the process may not open as many files as these need ([`allow_files_for`]).
    pub max_sessions: usize,
    /// Time that a new connection may take to send its hello.
    pub handshake_timeout: Duration,
    /// Time that a session that is ended may take to read the reason.
    pub farewell_timeout: Duration,
    /// Time for which a session that owns memory may leave a request to it unanswered, in wall-clock time.
    /// Simulated time waits for the answer, so other sessions wait as well. A session that takes longer is
    /// disconnected, and the platform goes on without it. The same holds for a partner for whose promise
    /// simulated time waits so long.
    pub owner_timeout: Duration,
    /// Most bytes of the host's memory that the RAM of all platforms together takes. A client whose platform
    /// would get none is told that the server is full. A platform that needs more than is left is stopped until
    /// a reset.
    pub memory_limit: u64,
    /// Most bytes of the host's memory that the RAM of one platform takes. A write that needs more is refused.
    pub platform_memory_limit: u64,
    /// Time for which a session may be silent that has promised to answer Pings at any time
    /// ([`Capabilities::HEARTBEAT`]): it gets a Ping after a quarter of that, and is disconnected at the end.
    /// Others may be silent. Over TCP this is also how long a peer's host may be out of reach. None: no limit.
    pub heartbeat: Option<Duration>,
    /// Time for which a session may be idle, without messages in either direction and without work under way. None: no limit.
    pub idle_timeout: Option<Duration>,
    /// Delta cycles of a platform without simulated time moving on, after which its run is ended and its
    /// sessions are told ([`vp_core::Simulation::set_delta_limit`]).
    pub delta_limit: u64,
    /// True if all sessions share one platform, except those that name another one.
    pub one_platform: bool,
    /// True if time is stopped on each platform from its beginning on, until a debugger lets it go on.
    pub stopped: bool,
    /// A saved platform ([`vp_models::platform::Platform::save`]) from which each platform continues, in place
    /// of power-on.
    pub saved: Option<Bytes>,
    /// Longest payload in bytes, requests in flight, capabilities. Those for one host are granted only on Unix
    /// sockets.
    pub terms: Terms,
    /// Program and version, as sessions are told.
    pub agent: String,
    /// The access rules.
    pub access: Access,
    /// Receives the results of a platform when its last session has left. The channel is closed when all
    /// results are sent: when the server has ended too.
    pub ended: Option<Sender<EndedPlatform>>,
    /// Called with what is driven at ports that partners hold ([`vp_hub::Hub::on_driven`]).
    pub pins: Option<Sender<PinEvent>>,
    /// The observers of each platform, for as long as it exists.
    pub observe: Option<Arc<dyn ObservePlatforms>>,
    /// Faults of each platform from its beginning on ([`vp_models::faults`]), as a TOML text.
    pub faults: Option<Arc<str>>,
}

/// A platform whose last session has left.
#[derive(Debug, Clone)]
pub struct EndedPlatform {
    /// The name that its sessions had for it, or its description's.
    pub name: String,
    /// Counters of the platform.
    pub statistics: Statistics,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_sessions: 1024,
            handshake_timeout: Duration::from_secs(10),
            farewell_timeout: Duration::from_secs(2),
            owner_timeout: Duration::from_secs(30),
            memory_limit: u64::MAX,
            platform_memory_limit: u64::MAX,
            heartbeat: Some(Duration::from_secs(20)),
            idle_timeout: None,
            delta_limit: vp_core::Simulation::DELTA_LIMIT,
            one_platform: false,
            stopped: false,
            saved: None,
            terms: Terms {
                capabilities: Capabilities::ALL
                    .union(Capabilities::LOCAL)
                    .union(Capabilities::MEMORY_IN_ORDER)
                    .union(Capabilities::HEARTBEAT)
                    .union(Capabilities::OBSERVER),
                ..Terms::default()
            },
            agent: concat!("vp ", env!("CARGO_PKG_VERSION")).to_owned(),
            access: Access::default(),
            ended: None,
            pins: None,
            observe: None,
            faults: None,
        }
    }
}

impl Options {
    fn patience(&self) -> TimeLimits {
        TimeLimits {
            owner_timeout: self.owner_timeout,
            delta_limit: self.delta_limit,
            heartbeat: self.heartbeat,
            idle_timeout: self.idle_timeout,
            is_stopped: self.stopped,
        }
    }

    fn memory(&self) -> PlatformMemory {
        PlatformMemory { pool: MemoryPool::new(self.memory_limit), limit: self.platform_memory_limit }
    }

    fn listeners(&self) -> Listeners {
        let Options { ended, pins, observe, .. } = self.clone();
        Listeners { ended, pins, observe, running: TaskTracker::new() }
    }
}

/// Reason for which a server cannot start.
#[derive(Debug, Error)]
pub enum BindError {
    /// The address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The platform cannot be built.
    #[error("platform {name}: {source}")]
    Description {
        /// The platform's name.
        name: String,
        /// Fault of the description.
        source: DescriptionError,
    },
    /// A fault that cannot be armed at the platform.
    #[error(transparent)]
    Faults(#[from] TextError),
}

/// The receivers of reports about platforms.
#[derive(Debug, Clone, Default)]
struct Listeners {
    ended: Option<Sender<EndedPlatform>>,
    pins: Option<Sender<PinEvent>>,
    observe: Option<Arc<dyn ObservePlatforms>>,
    /// The platforms' threads that run.
    running: TaskTracker,
}

/// State that all sessions share.
struct ServerContext {
    options: Options,
    registry: Registry,
    /// Offer that the server makes of a platform to a session that has not authenticated.
    offer: Offer,
    strangers: StrangerLog,
    /// Log of tokens that were refused: other lines do not hide them.
    refused_tokens: StrangerLog,
    /// Connections that may still come.
    places: Arc<Semaphore>,
    shutdown: CancellationToken,
    next_session: AtomicU64,
}

impl ServerContext {
    fn next_session(&self) -> SessionId {
        SessionId(self.next_session.fetch_add(1, Ordering::Relaxed))
    }

    /// The place of one more connection, until this is dropped.
    ///
    /// # Errors
    /// There is none, in words for the client.
    fn place(&self) -> Result<OwnedSemaphorePermit, String> {
        let most = self.options.max_sessions;
        let place = self.places.clone().try_acquire_owned();
        place.map_err(|_| format!("the server has {most} connections, the most it takes"))
    }
}

/// A server that listens.
pub struct Server {
    listener: Listener,
    peers: Vec<OtherPeer>,
    connected: Vec<ConnectedPeer>,
    context: Arc<ServerContext>,
}

impl Server {
    /// Starts to listen. Connections wait until [`run`](Server::run).
    ///
    /// # Errors
    /// [`BindError`]: the address is taken or wrong, or the description cannot be built.
    pub async fn bind(
        address: &Address,
        description: Description,
        mut options: Options,
    ) -> Result<Self, BindError> {
        let name = description.name.clone();
        let platform = Platform::build(&description);
        let platform = platform.map_err(|source| BindError::Description { name, source })?;
        platform.arm(options.faults.as_deref().unwrap_or_default())?;
        let offer = instance::offer(&platform);
        Listener::check_tls(address, &options.access)?;
        let listener = Listener::bind(address, &options.access).await?;
        options.max_sessions = files::sessions_within_limit(options.max_sessions, address);
        let context = ServerContext {
            registry: Registry::new(
                Start { description, saved: options.saved.clone() },
                options.patience(),
                options.one_platform,
                options.memory(),
                options.faults.clone(),
                options.listeners(),
            ),
            offer: Offer { agent: options.agent.clone(), ..offer },
            strangers: StrangerLog::default(),
            refused_tokens: StrangerLog::default(),
            places: Arc::new(Semaphore::new(options.max_sessions.min(Semaphore::MAX_PERMITS))),
            options,
            shutdown: CancellationToken::new(),
            next_session: AtomicU64::new(1),
        };
        Ok(Self { listener, peers: Vec::new(), connected: Vec::new(), context: Arc::new(context) })
    }

    /// The address where it listens, with the real port.
    pub fn local_address(&self) -> &Address {
        self.listener.local_address()
    }

    /// Connects to a peer that speaks Remote-Port, or waits for it, once the server runs; and to others after
    /// it. Returns the address, with the real port. It shares the platform with all sessions that name none, if
    /// the server has [one platform](Options::one_platform); otherwise it has its own.
    ///
    /// # Errors
    /// The place cannot be listened on.
    pub async fn add_remote_port(
        &mut self,
        place: &MeetingPlace,
        peer: remote_port::Peer,
        channels: remote_port::Channels,
    ) -> Result<Address, ListenError> {
        let time_mode = peer.time_mode();
        let adapter = Box::new(move || peer.adapter(&channels));
        self.add_peer("Remote-Port", place, adapter, time_mode).await
    }

    /// Connects to Renode, which is served once the server runs. The memory interfaces named in `masters` are
    /// masters on its bus; the others have the platform's own memory. Returns how that session ends, and why.
    /// [`add_remote_port`](Self::add_remote_port) says which platform it gets.
    ///
    /// # Errors
    /// Renode does not listen there.
    pub async fn add_renode(
        &mut self,
        sockets: &renode::Sockets,
        masters: Vec<String>,
    ) -> std::io::Result<oneshot::Receiver<Result<String, String>>> {
        // The adapter's streams, in their order; and Renode accepts in this order.
        let streams =
            vec![meeting::connect(&sockets.main).await?, meeting::connect(&sockets.asynchronous).await?];
        let (ended, has_ended) = oneshot::channel();
        let adapter = Box::new(Renode::new(masters));
        let time_mode = TimeMode::Lockstep;
        self.connected.push(ConnectedPeer { name: "Renode", streams, adapter, time_mode, ended });
        Ok(has_ended)
    }

    /// Listens for hypervisors that speak vfio-user, which are served once the server runs: each gets the device as a PCI function of
    /// its guest. Returns the address. [`add_remote_port`](Self::add_remote_port) says which platform it gets.
    ///
    /// # Errors
    /// The address cannot be listened on, or is no Unix socket.
    pub async fn add_vfio_user(&mut self, address: &Address) -> Result<Address, ListenError> {
        if !matches!(address, Address::Unix(_)) {
            let what = "vfio-user passes files, which only Unix sockets carry: write unix:PATH";
            let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, what);
            return Err(ListenError::Io { address: address.clone(), source });
        }
        let place = MeetingPlace { order: Order::Listen, address: address.clone() };
        let adapter = || -> Box<dyn Adapter> { Box::new(VfioUser::new()) };
        self.add_peer("vfio-user", &place, Box::new(adapter), TimeMode::Free).await
    }

    async fn add_peer(
        &mut self,
        protocol: &'static str,
        place: &MeetingPlace,
        adapter: Box<dyn Fn() -> Box<dyn Adapter> + Send + Sync>,
        time_mode: TimeMode,
    ) -> Result<Address, ListenError> {
        let strangers = self.context.strangers.clone();
        let meeting = Meeting::arrange(place, &self.context.options.access, strangers).await?;
        let address = meeting.address().clone();
        self.peers.push(OtherPeer { protocol, meeting, adapter, time_mode });
        Ok(address)
    }

    /// Serves until `shutdown` is complete. Sessions are then told, and have a moment to read it.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let Self { listener, peers, connected, context } = self;
        let tasks = TaskTracker::new();
        for peer in peers {
            tasks.spawn(peer.serve(context.clone(), tasks.clone()));
        }
        for peer in connected {
            tasks.spawn(peer.serve(context.clone()));
        }
        tokio::pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                () = &mut shutdown => break,
                accepted = listener.accept() => accepted,
            };
            let (stream, origin) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    let address = listener.local_address();
                    context.strangers.add(&format!("{address}: cannot take a connection: {error}"));
                    sleep(PAUSE).await;
                    continue;
                }
            };
            let id = context.next_session();
            let name = format!("session {} ({origin})", id.0);
            let entered = match context.options.access.refusal(origin) {
                Some(why) => Err((ErrorCode::NotAuthenticated, why)),
                None => context.place().map_err(|why| (ErrorCode::ServerFull, why)),
            };
            let place = match entered {
                Ok(place) => place,
                Err((code, why)) => {
                    context.strangers.add(&format!("{name}: {why}; turned away"));
                    session::turn_away(&context, &stream, code, why);
                    continue;
                }
            };
            let context = context.clone();
            tasks.spawn(async move {
                session::run(&context, stream, (id, &name), origin).await;
                drop(place);
                // A platform that stays does not give back what its sessions have taken.
                tokio::task::spawn_blocking(freed::give_back);
            });
        }
        drop(listener);
        context.shutdown.cancel();
        tasks.close();
        tasks.wait().await;
        context.strangers.sum_up();
        context.refused_tokens.sum_up();
        if context.options.observe.is_some() {
            // Whoever looks on has something to complete.
            let running = context.registry.running();
            running.close();
            running.wait().await;
        }
    }
}
