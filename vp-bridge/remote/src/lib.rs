//! A CPU-side program's way to a platform of a server: blocking calls over one stream.
//!
//! [`RemoteHost`] is a [`Host`] like that in the same process: a program written against the trait cannot tell them apart,
//! and in lockstep neither can the platform, down to the event hash. The memory may stay with the platform or with this
//! side ([`MemoryPlace`]); bursts of the device are then served while a call waits.

mod memory;
mod side;

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use vp_client::native::{
    Activity, Capabilities, Counter, Device, ErrorCode, Port, PortId, PortKind, Role, SharedRegion,
    StatusReport, TimeMode, Until, Welcome, Why, counters,
};
use vp_client::{Address, Client, Credentials, Options, SilenceLimit, is_memory};
use vp_core::Time;
use vp_host::{Host, HostError, Memory, Statistics, Warning};
use vp_models::backlog::warnings_left_out;
use vp_models::memory::{MemoryBudget, OutOfRange, usual_limit};
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::{Description, NOTHING_RUNS};

use memory::{OwnMemory, Unserved};
use side::LocalSide;

pub use memory::OwnBytes;

/// Time after which a free-running platform is asked again whether it still works, while the interrupt is waited for.
const LOOK: Duration = Duration::from_millis(20);

/// Owner of the memory behind the platform's memory ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemoryPlace {
    /// The platform, or another session of it.
    #[default]
    Inside,
    /// RAM on this side: it answers the device's bursts.
    Client,
}

/// Part that this side has in the session with the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionPart {
    /// The platform's CPU: registers, the interrupt, the memories, and the input stream if there is one.
    #[default]
    Cpu,
    /// A sender into its input stream only, beside a CPU in another session of a shared platform.
    Sender,
}

/// Options of the session that is wanted.
#[derive(Debug, Clone)]
pub struct RemoteOptions {
    /// Part that this side has.
    pub seat: SessionPart,
    /// Place of the memory.
    pub memory: MemoryPlace,
    /// Most bytes that the RAM on this side takes, unless it is shared: a write of the platform that needs more is refused. Half of
    /// what this process can have ([`usual_limit`]) unless it is set: the server decides how large a port is, and what is written.
    pub memory_limit: u64,
    /// Mode in which simulated time moves.
    pub time_mode: TimeMode,
    /// The shared platform of that name; a fresh one without.
    pub platform: Option<String>,
    /// Name and version of the program, as the server's log shows them.
    pub agent: String,
    /// Time to wait for the connection and for the welcome.
    pub timeout: Duration,
    /// Time for which the server may say nothing while a call waits ([`Options::heartbeat`]).
    pub heartbeat: SilenceLimit,
    /// Credentials that are shown to a server that wants to know who comes.
    pub credentials: Credentials,
    /// True to share with a server of the same host what can be shared: registers are then accessed through a ring, and the memory on this
    /// side is the platform's to reach by itself. Takes a Unix socket.
    pub share: bool,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            seat: SessionPart::Cpu,
            memory: MemoryPlace::Inside,
            memory_limit: usual_limit(),
            time_mode: TimeMode::Lockstep,
            platform: None,
            agent: concat!("vp ", env!("CARGO_PKG_VERSION")).to_owned(),
            credentials: Credentials::default(),
            timeout: Duration::from_secs(10),
            heartbeat: SilenceLimit::default(),
            share: true,
        }
    }
}

/// Reason for which there is no session.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The server cannot be reached, or turned us away.
    #[error(transparent)]
    Connect(#[from] vp_client::ConnectError),
    /// The session opened, and the platform is not one for a CPU.
    #[error("{address}: {source}")]
    Setup {
        /// The server.
        address: Address,
        /// Reason for which the session could not be set up.
        source: HostError,
    },
}

/// A platform behind a socket. Dropping it ends the session.
pub struct RemoteHost {
    client: Client<LocalSide>,
    csb: PortId,
    irq: PortId,
    /// The stream that feeds the device, if it has one.
    stream: Option<PortId>,
    map: RegisterMap,
    limit: Option<Time>,
}

impl RemoteHost {
    /// Opens a session and takes the CPU's place in it: registers, interrupt, and if wanted the memories.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn connect(address: &Address, options: RemoteOptions) -> Result<Self, ConnectError> {
        Self::connect_with(address, options, Vec::new())
    }

    /// Opens a session as [`connect`](RemoteHost::connect) does, where the memories behind these ports are the caller's, with
    /// [`MemoryPlace::Client`]; the others are RAM on this side.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn connect_with(
        address: &Address,
        options: RemoteOptions,
        own: Vec<(String, Box<dyn OwnBytes>)>,
    ) -> Result<Self, ConnectError> {
        let setup = |source| ConnectError::Setup { address: address.clone(), source };
        let RemoteOptions { seat, memory, memory_limit, time_mode, platform, agent, .. } = options;
        let RemoteOptions { credentials, timeout, heartbeat, share, .. } = options;
        let options =
            Options { platform, time_mode, share, credentials, timeout, heartbeat, ..Options::new(agent) };
        let client = Client::connect(address, &options, LocalSide::default())?;
        let lacks = |what: &str| setup(HostError::Refused(format!("the platform has no {what}")));
        let csb = client.first(PortKind::Csb).ok_or_else(|| lacks("register port"))?;
        let irq = client.first(PortKind::Irq).ok_or_else(|| lacks("interrupt line"))?;
        let mut host = Self { client, csb, irq, stream: None, map: RegisterMap::Full, limit: None };
        host.take_place(seat, (memory, memory_limit), own).map_err(setup)?;
        Ok(host)
    }

    fn take_place(
        &mut self,
        seat: SessionPart,
        (memory, memory_limit): (MemoryPlace, u64),
        mut own: Vec<(String, Box<dyn OwnBytes>)>,
    ) -> Result<(), HostError> {
        if seat == SessionPart::Cpu {
            self.attach(self.csb, Role::Initiator)?;
            self.attach(self.irq, Role::Sink)?;
        }
        let mut ports = self.client.ports();
        let stream = ports.find(|(_, port)| port.kind == PortKind::Axi && !is_memory(port));
        self.stream = stream.map(|(id, _)| id);
        drop(ports);
        match self.stream {
            Some(stream) => self.attach(stream, Role::Initiator)?,
            None if seat == SessionPart::Sender => {
                return Err(HostError::Refused("the platform has no input stream".to_owned()));
            }
            None => {}
        }
        if seat == SessionPart::Sender {
            self.map = RegisterMap::Foreign;
            return Ok(());
        }
        let role = match memory {
            MemoryPlace::Inside => Role::Initiator,
            MemoryPlace::Client => Role::Target,
        };
        let ports: Vec<(PortId, Port)> = (self.client.ports())
            .filter(|(_, port)| is_memory(port))
            .map(|(id, port)| (id, port.clone()))
            .collect();
        if let Some((name, _)) = own.iter().find(|(name, _)| ports.iter().all(|(_, port)| port.name != *name))
        {
            let there: Vec<String> = ports.iter().map(|(_, port)| format!("`{}`", port.name)).collect();
            let why = format!("the platform has no memory port `{name}`, it has {}", there.join(", "));
            return Err(HostError::Refused(why));
        }
        let budget = Arc::new(MemoryBudget::new(memory_limit));
        for (id, port) in ports {
            match memory {
                MemoryPlace::Inside => self.attach(id, role)?,
                MemoryPlace::Client => {
                    let range = port.base..port.base.saturating_add(port.size);
                    match own.iter().position(|(name, _)| *name == port.name) {
                        Some(place) => {
                            let ram = OwnMemory::Callers(own.swap_remove(place).1);
                            self.client.handler_mut().rams.push((id, ram));
                            self.attach(id, role)?;
                        }
                        None => self.own_memory(id, role, range, &budget)?,
                    }
                }
            }
        }
        match self.client.open_ring(self.csb, self.irq) {
            // What the server refuses goes over the stream as ever.
            Ok(_) | Err(vp_client::Error::Refused { .. } | vp_client::Error::Unsent(_)) => {}
            Err(error) => return Err(failed(error)),
        }
        self.map = register_map(self.client.welcome().device.as_ref())?;
        Ok(())
    }

    /// Becomes the target of a port, with RAM that is shared with the server if that takes it. The RAM is there before the port
    /// is: the platform's first access may come with the answer to Attach.
    fn own_memory(
        &mut self,
        port: PortId,
        role: Role,
        range: std::ops::Range<u64>,
        budget: &Arc<MemoryBudget>,
    ) -> Result<(), HostError> {
        let shares = self.client.welcome().capabilities.contains(Capabilities::SHARED_MEMORY);
        let ram = shares.then(|| OwnMemory::shared(range.clone())).flatten();
        let ram = ram.unwrap_or_else(|| OwnMemory::private(range.clone(), budget));
        let file = ram.file().and_then(|file| file.try_clone_to_owned().ok());
        self.client.handler_mut().rams.push((port, ram));
        self.attach(port, role)?;
        let Some(file) = file else { return Ok(()) };
        let region = SharedRegion { base: range.start, size: range.end - range.start, file: 0, offset: 0 };
        match self.client.share_memory(port, vec![region], &[file.as_fd()]) {
            Ok(()) | Err(vp_client::Error::Refused { .. }) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    fn attach(&mut self, port: PortId, role: Role) -> Result<(), HostError> {
        self.client.attach(port, role, None).map_err(failed)
    }

    /// The terms of the session: platform, ports, session number, time mode granted.
    pub fn welcome(&self) -> &Welcome {
        self.client.welcome()
    }

    /// Puts the platform back to power-on. Memory on this side keeps its bytes.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn reset(&mut self) -> Result<(), HostError> {
        self.client.reset().map_err(failed)
    }

    /// The platform's state.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn status(&mut self) -> Result<StatusReport, HostError> {
        self.client.status().map_err(failed)
    }

    /// One round trip that touches no hardware.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn ping(&mut self) -> Result<(), HostError> {
        self.client.ping().map_err(failed)
    }

    /// Lets time pass in lockstep, and says why it stopped.
    ///
    /// # Errors
    /// [`HostError::Refused`] in other time modes.
    pub fn advance(&mut self, until: Until) -> Result<Why, HostError> {
        match self.client.advance(until).map_err(failed)? {
            (_, Why::Stopped) => Err(stopped()),
            (_, why) => Ok(why),
        }
    }

    /// Returns true if the interrupt line is high, as far as this side knows.
    pub fn line_level(&self) -> bool {
        self.client.handler().level
    }

    /// The interrupt line, for [`Until::Interrupt`].
    pub fn line(&self) -> PortId {
        self.irq
    }

    /// Asks, while a call sleeps, whether it goes on ([`Client::ask_whether`]).
    pub fn ask_whether(&mut self, goes_on: impl FnMut() -> bool + Send + 'static) {
        self.client.ask_whether(goes_on);
    }

    /// Sends what is collected and says goodbye.
    ///
    /// # Errors
    /// [`HostError::Transport`] when posted writes may not have arrived.
    pub fn close(mut self) -> Result<(), HostError> {
        self.client.close("done").map_err(failed)
    }

    fn check_register(&self, address: u32) -> Result<(), HostError> {
        let window = self.client.port(self.csb).map_or(0, |port| port.size);
        match u64::from(address) < window && address.is_multiple_of(4) {
            true => Ok(()),
            false => Err(HostError::Refused(format!(
                "register address 0x{address:x}: registers are words (multiples of 4) below 0x{window:x}"
            ))),
        }
    }

    fn register(&self, address: u32) -> u64 {
        let base = self.client.port(self.csb).map_or(0, |port| port.base);
        base.saturating_add(u64::from(address))
    }

    fn counters(&mut self, prefix: &str) -> Result<Statistics, HostError> {
        Ok(Statistics { counters: self.client.counters(prefix).map_err(failed)? })
    }

    /// The port of a memory, if the bytes lie in it.
    fn window(&self, memory: Memory, address: u64, bytes: usize) -> Result<PortId, HostError> {
        let size = bytes as u64;
        let refuse = |holds| Err(HostError::MemoryRange { memory, address, size, holds });
        let found = self.client.ports().find(|(_, port)| port.name == memory.port());
        let Some((id, port)) = found else { return refuse("the platform has none".to_owned()) };
        let Port { base, size: window, .. } = *port;
        let end = base.saturating_add(window);
        match address >= base && address.checked_add(size).is_some_and(|last| last <= end) {
            true => Ok(id),
            false => refuse(format!("it spans 0x{base:x} to 0x{:x}", end.saturating_sub(1))),
        }
    }

    /// Waits on a platform that runs by itself.
    fn await_level(&mut self) -> Result<Time, HostError> {
        loop {
            if self.client.handler().level {
                return Ok(self.time());
            }
            // The answer stands behind every notice sent before it: idle and still low means it never comes.
            let status = self.status()?;
            if self.client.handler().level {
                return Ok(self.time());
            }
            match status.activity {
                Activity::Idle | Activity::Deadlocked => {
                    if status.activity == Activity::Deadlocked {
                        // A platform whose time stands still for good says so to whoever needs time.
                        self.read(0)?;
                    }
                    return Err(HostError::Idle { time: self.time(), report: NOTHING_RUNS.to_owned() });
                }
                _ if self.limit.is_some_and(|limit| self.time() >= limit) => return Err(self.at_limit()),
                _ => {
                    let rises = |client: &mut Client<LocalSide>| client.handler().level.then_some(());
                    self.client.wait(Some(LOOK), rises).map_err(failed)?;
                }
            }
        }
    }

    fn time(&self) -> Time {
        self.client.time()
    }

    fn at_limit(&self) -> HostError {
        let limit = self.limit.unwrap_or(Time::MAX).to_string();
        HostError::Limit { time: self.time(), limit }
    }
}

/// Name of the counter by which a server describes its platform.
pub const DESCRIPTION: &str = "platform.description";

/// Reads the description of a server's platform from its counters.
///
/// # Errors
/// There is none, or it is none that this version reads: which, for people.
pub fn described(counters: &[Counter]) -> Result<Description, String> {
    let text = counters::text(counters, DESCRIPTION).ok_or("the server does not say what its platform is")?;
    Description::parse(text).map_err(|error| format!("the server's platform: {error}"))
}

fn stopped() -> HostError {
    HostError::Refused("the platform stopped the run".to_owned())
}

/// Returns the caller's error for a failed call.
fn failed(error: vp_client::Error) -> HostError {
    use vp_client::Error;
    match error {
        Error::Ended(why) => HostError::Transport(why),
        Error::Unfit(_) => HostError::Transport(error.to_string()),
        Error::Refused { code: ErrorCode::Livelock, .. } => HostError::Livelock { report: error.to_string() },
        Error::Refused { .. } | Error::Unsent(_) => HostError::Refused(error.to_string()),
    }
}

/// The register map of the device that a server tells of.
fn register_map(device: Option<&Device>) -> Result<RegisterMap, HostError> {
    let Some(device) = device else {
        let reason =
            "the server does not say what device the platform carries: it is older than this program";
        return Err(HostError::Refused(reason.to_owned()));
    };
    let Some(name) = &device.register_map else { return Ok(RegisterMap::Foreign) };
    RegisterMap::ALL.into_iter().find(|map| map.name() == name).ok_or_else(|| {
        HostError::Refused(format!("the platform's register map `{name}` is none that this program knows"))
    })
}

impl Host for RemoteHost {
    fn write(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.check_register(address)?;
        self.client.post_register(self.csb, self.register(address), value).map_err(failed)
    }

    fn write_acknowledged(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.check_register(address)?;
        self.client.write_register(self.csb, self.register(address), value).map_err(failed)
    }

    fn read(&mut self, address: u32) -> Result<u32, HostError> {
        self.check_register(address)?;
        self.client.read_register(self.csb, self.register(address)).map_err(failed)
    }

    fn wait_interrupt(&mut self) -> Result<Time, HostError> {
        if self.welcome().time_mode != TimeMode::Lockstep {
            return self.await_level();
        }
        let until = Until::Interrupt { port: self.irq, limit: self.limit };
        let (time, why) = self.client.advance(until).map_err(failed)?;
        match why {
            Why::Interrupt => Ok(time),
            Why::Time => Err(self.at_limit()),
            Why::Idle => Err(HostError::Idle { time, report: NOTHING_RUNS.to_owned() }),
            Why::Deadlock { report } => Err(HostError::Idle { time, report }),
            Why::Stopped => Err(stopped()),
        }
    }

    fn now(&mut self) -> Result<Time, HostError> {
        Ok(self.time())
    }

    fn load(&mut self, memory: Memory, address: u64, bytes: &[u8]) -> Result<(), HostError> {
        let port = self.window(memory, address, bytes.len())?;
        if let Some(ram) = self.client.handler().ram(port) {
            return ram.write(address, bytes).map_err(|error| unserved(memory, &error));
        }
        self.client.write_memory(port, address, bytes).map_err(failed)
    }

    fn fetch(&mut self, memory: Memory, address: u64, bytes: &mut [u8]) -> Result<(), HostError> {
        let port = self.window(memory, address, bytes.len())?;
        if let Some(ram) = self.client.handler().ram(port) {
            return ram.read(address, bytes).map_err(|error| unserved(memory, &error));
        }
        self.client.read_memory(port, address, bytes).map_err(failed)
    }

    fn stream(&mut self, bytes: &[u8]) -> Result<(), HostError> {
        let refuse = |why: String| Err(HostError::Refused(why));
        let Some(port) = self.stream else { return refuse("the platform has no input stream".to_owned()) };
        let most = self.welcome().max_payload;
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        if length > most {
            return refuse(format!("{length} bytes at once: the session takes {most}"));
        }
        if length == 0 {
            return Ok(());
        }
        self.client.feed(port, bytes).map_err(failed)
    }

    fn map(&self) -> RegisterMap {
        self.map
    }

    fn device(&self) -> &str {
        self.client.welcome().device.as_ref().map_or("", |device| &device.kind)
    }

    fn inject_faults(&mut self, faults: &str) -> Result<(), HostError> {
        self.client.inject_faults(faults).map_err(failed)
    }

    fn statistics(&mut self) -> Result<Statistics, HostError> {
        self.counters("")
    }

    fn warnings(&mut self) -> Vec<Warning> {
        let (left_out, mut warnings) = self.client.handler_mut().warnings.take();
        if left_out > 0 {
            let time = warnings.first().map_or(Time::ZERO, |first| first.time);
            warnings.insert(0, Warning::new(time, warnings_left_out(left_out)));
        }
        warnings
    }

    fn set_limit(&mut self, limit: Time) {
        // Later moments cannot be named (docs/protocol.md, "Time"), and are none that a run would reach.
        self.limit = Some(limit).filter(|limit| limit.as_ps() <= 1 << 62);
    }
}

fn unserved(memory: Memory, error: &Unserved) -> HostError {
    let Unserved::OutOfRange(OutOfRange { address, bytes, start, last }) = *error else {
        return HostError::Refused(error.to_string());
    };
    let holds = format!("it spans 0x{start:x} to 0x{last:x}");
    HostError::MemoryRange { memory, address, size: bytes, holds }
}
