//! A CPU-side program's way to a platform of a server: blocking calls over one stream.
//!
//! [`RemoteHost`] is a [`Host`] like that in the same process: a program written against the trait cannot tell them apart,
//! and in lockstep neither can the platform, down to the event hash. The memory may stay with the platform or with this
//! side ([`MemoryPlace`]); bursts of the device are then served while a call waits.

mod memory;
mod ring;
mod wire;

use std::os::fd::BorrowedFd;
use std::time::Duration;

use bytes::Bytes;
use thiserror::Error;
use vp_core::Time;
use vp_models::host::{self, Backlog, Host, HostError, Memory, Statistics, Warning, warnings_left_out};
use vp_models::memory::OutOfRange;
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::NOTHING_RUNS;
use vp_protocols::native::statistics::parse_counters;
use vp_protocols::native::{
    self, Access, Activity, Attach, Capabilities, Connection, CounterValue, ErrorCode, Event, MemoryRead,
    MemoryWrite, Notice, Port, PortId, PortKind, Posted, RegisterRead, RegisterWrite, Reply, Request,
    RequestId, Role, SendError, ShareMemory, SharedRegion, StatusReport, TimeMode, Until, Welcome, Why,
};

use memory::OwnMemory;
use ring::Ring;
use vp_shm::ring::Access as RingAccess;
use vp_transport::Address;
use wire::Wire;

/// Bytes of posted writes that are collected before they are sent without being asked for.
const COLLECTED: usize = 64 << 10;
/// Bytes of memory in a request, at most.
const PIECE: usize = 256 << 10;
/// Such requests without an answer, at most.
const IN_FLIGHT: usize = 4;
/// How often a free-running platform is asked whether it still works, while the interrupt is waited for.
const LOOK: Duration = Duration::from_millis(20);

/// Who owns the memory behind the platform's memory ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemoryPlace {
    /// The platform, or another session of it.
    #[default]
    Inside,
    /// This side: its RAM answers the device's bursts.
    Client,
}

/// What this side is to the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Seat {
    /// Its CPU: registers, the interrupt, the memories, and the input stream if there is one.
    #[default]
    Cpu,
    /// Only who sends into its input stream, beside a CPU in another session of a shared platform.
    Sender,
}

/// What kind of session is wanted.
#[derive(Debug, Clone)]
pub struct RemoteOptions {
    /// What this side is.
    pub seat: Seat,
    /// Whose memory.
    pub memory: MemoryPlace,
    /// How simulated time moves.
    pub time_mode: TimeMode,
    /// The shared platform of that name; a fresh one without.
    pub platform: Option<String>,
    /// This program and its version, as the server's log shows them.
    pub agent: String,
    /// How long to wait for the connection and for the welcome.
    pub timeout: Duration,
    /// Whether to share with a server of the same host what can be shared: registers are then accessed through a ring, and
    /// the memory on this side is the platform's to reach by itself. Takes a Unix socket.
    pub share: bool,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            seat: Seat::Cpu,
            memory: MemoryPlace::Inside,
            time_mode: TimeMode::Lockstep,
            platform: None,
            agent: concat!("vp ", env!("CARGO_PKG_VERSION")).to_owned(),
            timeout: Duration::from_secs(10),
            share: true,
        }
    }
}

/// Why there is no session.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The server cannot be reached.
    #[error("cannot connect to {address}: {source}")]
    Io {
        /// Where it should be.
        address: Address,
        /// What the system says.
        source: std::io::Error,
    },
    /// The server turned us away.
    #[error("{address} refused the session: {code}: {reason}")]
    Refused {
        /// The server.
        address: Address,
        /// Why, for programs.
        code: ErrorCode,
        /// Why, for people.
        reason: String,
    },
    /// The session opened, and the platform is not one for a CPU.
    #[error("{address}: {source}")]
    Setup {
        /// The server.
        address: Address,
        /// What went wrong.
        source: HostError,
    },
}

/// A platform behind a socket. Dropping it ends the session.
pub struct RemoteHost {
    wire: Wire,
    connection: Connection,
    welcome: Welcome,
    csb: PortId,
    irq: PortId,
    /// The stream that feeds the device, if it has one.
    stream: Option<PortId>,
    /// The RAM on this side, by port; empty if the memory is inside.
    rams: Vec<(PortId, OwnMemory)>,
    /// For register accesses, on one host.
    ring: Option<Ring>,
    map: RegisterMap,
    time: Time,
    level: bool,
    limit: Option<Time>,
    warnings: Backlog<Warning>,
    broken: Option<String>,
}

/// An answer.
struct Answer {
    time: Time,
    reply: Reply,
    payload: Bytes,
}

impl RemoteHost {
    /// Opens a session and takes the CPU's place in it: registers, interrupt, and if wanted the memories.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn connect(address: &Address, options: RemoteOptions) -> Result<Self, ConnectError> {
        let io = |source| ConnectError::Io { address: address.clone(), source };
        let setup = |source| ConnectError::Setup { address: address.clone(), source };
        let RemoteOptions { seat, memory, time_mode, platform, agent, timeout, share } = options;
        let mut hello = Connection::hello(&agent, platform.as_deref(), time_mode);
        hello.capabilities = hello.capabilities.union(Capabilities::MEMORY_IN_ORDER);
        if share && matches!(address, Address::Unix(_)) {
            hello.capabilities = hello.capabilities.union(Capabilities::LOCAL);
        }
        let mut connection = Connection::client(hello)
            .map_err(|error| setup(HostError::Refused(format!("platform or agent name: {error}"))))?;
        let mut wire = Wire::connect(address, timeout).map_err(io)?;
        let welcome = wire.greet(&mut connection, timeout).map_err(|error| match error {
            wire::GreetError::Io(source) => io(source),
            wire::GreetError::Refused(refused) => {
                let native::Refused { code, reason } = refused;
                ConnectError::Refused { address: address.clone(), code, reason }
            }
            wire::GreetError::Protocol(what) => setup(HostError::Transport(what)),
        })?;
        let find = |kind| {
            let place = welcome.ports.iter().position(|port| port.kind == kind)?;
            u16::try_from(place).ok().map(PortId)
        };
        let lacks = |what: &str| setup(HostError::Refused(format!("the platform has no {what}")));
        let csb = find(PortKind::Csb).ok_or_else(|| lacks("register port"))?;
        let irq = find(PortKind::Irq).ok_or_else(|| lacks("interrupt line"))?;
        let time = Time::ps(welcome.time.0);
        let mut host = Self {
            wire,
            connection,
            welcome,
            csb,
            irq,
            stream: None,
            rams: Vec::new(),
            ring: None,
            map: RegisterMap::Full,
            time,
            level: false,
            limit: None,
            warnings: Backlog::default(),
            broken: None,
        };
        host.take_place(seat, memory).map_err(setup)?;
        Ok(host)
    }

    fn take_place(&mut self, seat: Seat, memory: MemoryPlace) -> Result<(), HostError> {
        if seat == Seat::Cpu {
            self.attach(self.csb, Role::Initiator)?;
            self.attach(self.irq, Role::Sink)?;
        }
        // What cannot be a client's memory is a stream.
        let is_memory = |port: &Port| port.roles.contains(Role::Target);
        let ports = (0..).map(PortId).zip(&self.welcome.ports);
        let mut streams = ports.filter(|(_, port)| port.kind == PortKind::Axi && !is_memory(port));
        self.stream = streams.next().map(|(id, _)| id);
        match self.stream {
            Some(stream) => self.attach(stream, Role::Initiator)?,
            None if seat == Seat::Sender => {
                return Err(HostError::Refused("the platform has no input stream".to_owned()));
            }
            None => {}
        }
        if seat == Seat::Sender {
            self.map = RegisterMap::Foreign;
            return Ok(());
        }
        let role = match memory {
            MemoryPlace::Inside => Role::Initiator,
            MemoryPlace::Client => Role::Target,
        };
        let ports: Vec<(PortId, std::ops::Range<u64>)> = ((0..).map(PortId).zip(&self.welcome.ports))
            .filter(|(_, port)| port.kind == PortKind::Axi && is_memory(port))
            .map(|(id, port)| (id, port.base..port.base.saturating_add(port.size)))
            .collect();
        for (id, range) in ports {
            self.attach(id, role)?;
            if memory == MemoryPlace::Client {
                let ram = self.own_memory(id, range)?;
                self.rams.push((id, ram));
            }
        }
        self.open_ring()?;
        let statistics = self.counters("nvdla.map")?;
        let name = statistics.text("nvdla.map").unwrap_or_default();
        let mut maps = RegisterMap::ALL.into_iter().chain([RegisterMap::Foreign]);
        self.map = (maps.find(|map| map.name() == name)).ok_or_else(|| {
            HostError::Refused(format!(
                "the platform's register map `{name}` is none that this program knows"
            ))
        })?;
        Ok(())
    }

    /// RAM for a port of which this side is the target: shared with the server, if that takes it.
    fn own_memory(&mut self, port: PortId, range: std::ops::Range<u64>) -> Result<OwnMemory, HostError> {
        if self.connection.capabilities().contains(Capabilities::SHARED_MEMORY)
            && let Some(memory) = OwnMemory::shared(range.clone())
            && let Some(file) = memory.file()
        {
            let std::ops::Range { start: base, end } = memory.range();
            let region = SharedRegion { base, size: end - base, file: 0, offset: 0 };
            let request = ShareMemory { port, files: 1, regions: vec![region] };
            if self.offer(Request::ShareMemory(request), &[file])? {
                return Ok(memory);
            }
        }
        Ok(OwnMemory::private(range))
    }

    /// Asks for something with files. `false`: the server does not want it.
    fn offer(&mut self, request: Request, files: &[BorrowedFd<'_>]) -> Result<bool, HostError> {
        self.flush()?;
        let id = self.connection.request(request, &[]).map_err(|error| self.unsent(&error))?;
        let sent = self.wire.write_with(self.connection.output(), files);
        sent.map_err(|error| self.broken(error.to_string()))?;
        match self.wait(Some(id), None)? {
            Some(Answer { reply: Reply::Done, .. }) => Ok(true),
            _ => Ok(false),
        }
    }

    fn attach(&mut self, port: PortId, role: Role) -> Result<(), HostError> {
        self.ask(Request::Attach(Attach { port, role, range: None }), &[]).map(|_| ())
    }

    /// The terms of the session: platform, ports, session number, time mode granted.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Puts the platform back to power-on. Memory on this side keeps its bytes.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn reset(&mut self) -> Result<(), HostError> {
        self.ask(Request::Reset, &[]).map(|_| ())
    }

    /// The platform's state.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn status(&mut self) -> Result<StatusReport, HostError> {
        match self.ask(Request::Status, &[])?.reply {
            Reply::Status(status) => Ok(*status),
            other => Err(unfit(&other)),
        }
    }

    /// One round trip that touches no hardware.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn ping(&mut self) -> Result<(), HostError> {
        self.ask(Request::Ping, &[]).map(|_| ())
    }

    /// Lets time pass in lockstep, and says why it stopped.
    ///
    /// # Errors
    /// [`HostError::Refused`] in other time modes.
    pub fn advance(&mut self, until: Until) -> Result<Why, HostError> {
        match self.ask(Request::Advance { until }, &[])?.reply {
            Reply::Reached { why } => Ok(why),
            other => Err(unfit(&other)),
        }
    }

    /// Sends what is collected and says goodbye.
    ///
    /// # Errors
    /// [`HostError::Transport`] when posted writes may not have arrived.
    pub fn close(mut self) -> Result<(), HostError> {
        self.connection.bye(None, "done");
        self.flush()
    }

    // Talking.

    fn broken(&mut self, what: impl Into<String>) -> HostError {
        let what = self.broken.get_or_insert_with(|| what.into());
        HostError::Transport(what.clone())
    }

    /// Writes all that is collected. Serves the platform meanwhile, which may wait for us as we wait for it.
    fn flush(&mut self) -> Result<(), HostError> {
        if let Some(broken) = &self.broken {
            return Err(HostError::Transport(broken.clone()));
        }
        self.wire.write(self.connection.output()).map_err(|error| self.broken(error.to_string()))
    }

    /// Takes what comes until `wanted` is answered, or without one until the line is high; with a time, gives up after it.
    fn wait(
        &mut self,
        wanted: Option<RequestId>,
        patience: Option<Duration>,
    ) -> Result<Option<Answer>, HostError> {
        let is_wanted = |id| (Some(id) == wanted).then_some(());
        Ok(self.wait_for(is_wanted, wanted.is_none(), patience)?.map(|((), answer)| answer))
    }

    /// Takes what comes until an answer is wanted; gives what it is wanted as.
    fn wait_for<T>(
        &mut self,
        wanted: impl Fn(RequestId) -> Option<T>,
        or_line: bool,
        patience: Option<Duration>,
    ) -> Result<Option<(T, Answer)>, HostError> {
        self.flush()?;
        loop {
            match self.receive()? {
                Some(event) => {
                    if let Some((id, answer)) = self.event(event)?
                        && let Some(wanted) = wanted(id)
                    {
                        return Ok(Some((wanted, answer)));
                    }
                    if or_line && self.level {
                        return Ok(None);
                    }
                }
                None => {
                    // All bursts that have come are answered at once.
                    self.flush()?;
                    let lacking = self.connection.lacking(self.wire.input());
                    match self.wire.read(patience, lacking) {
                        Ok(true) => {}
                        Ok(false) if patience.is_none() => {}
                        Ok(false) => return Ok(None),
                        Err(error) => return Err(self.broken(error.to_string())),
                    }
                }
            }
        }
    }

    /// What has come next, of what was read.
    fn receive(&mut self) -> Result<Option<Event>, HostError> {
        self.connection.receive(self.wire.input()).map_err(|violation| {
            let _ = self.flush();
            self.broken(format!("the server broke the protocol: {violation}"))
        })
    }

    fn event(&mut self, event: Event) -> Result<Option<(RequestId, Answer)>, HostError> {
        match event {
            Event::Reply { id, time, reply, payload } => {
                let time = Time::ps(time.0);
                self.time = self.time.max(time);
                return Ok(Some((id, Answer { time, reply, payload })));
            }
            Event::Request { id, request, payload } => self.serve(id, &request, &payload)?,
            Event::Notice(Notice::Interrupt { level, time, .. }) => {
                // An answer in the ring may have shown a later level.
                if !self.look_at_line() {
                    self.level = level;
                }
                self.time = self.time.max(Time::ps(time.0));
            }
            Event::Notice(Notice::Warning { time, text }) => {
                self.warnings.push(Warning { time: Time::ps(time.0), text });
            }
            Event::Bye(bye) => {
                let code = bye.code.map(|code| format!("{code}: ")).unwrap_or_default();
                return Err(self.broken(format!("the server ended the session: {code}{}", bye.reason)));
            }
            Event::Posted { posted: Posted::MemoryWrite(write), payload } => {
                let _ = self.store(&write, &payload);
            }
            Event::Posted { .. } | Event::Hello(_) | Event::Welcome(_) | Event::Refused(_) => {}
        }
        Ok(None)
    }

    /// Answers the device's burst, or another session's look into this side's memory.
    fn serve(&mut self, id: RequestId, request: &Request, payload: &Bytes) -> Result<(), HostError> {
        let done = match request {
            Request::Ping => Ok((Reply::Pong, Vec::new())),
            Request::MemoryRead(read) => self.ram(read.port).and_then(|ram| {
                let mut data = vec![0; read.length as usize];
                ram.read(read.address, &mut data)
                    .map(|()| (Reply::Data, data))
                    .map_err(|error| decode_error(&error))
            }),
            Request::MemoryWrite(write) => self.store(write, payload).map(|()| (Reply::Done, Vec::new())),
            _ => Err((ErrorCode::Unsupported, "a CPU has no registers".to_owned())),
        };
        let (reply, data) =
            done.unwrap_or_else(|(code, reason)| (Reply::Failed { code, reason }, Vec::new()));
        // Time 0: the platform's own latency says when it sees the answer.
        let sent = self.connection.reply(id, native::Time(0), reply, Bytes::from(data));
        sent.map_err(|error| self.broken(error.to_string()))
    }

    fn store(&self, write: &MemoryWrite, payload: &Bytes) -> Result<(), (ErrorCode, String)> {
        let ram = self.ram(write.port)?;
        let (data, strobes) = write.split(payload);
        match strobes {
            None => ram.write(write.address, &data).map_err(|error| decode_error(&error)),
            Some(strobes) => (data.iter().enumerate())
                .filter(|(at, _)| strobes.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1))
                .try_for_each(|(at, &byte)| ram.write(write.address + at as u64, &[byte]))
                .map_err(|error| decode_error(&error)),
        }
    }

    fn ram(&self, port: PortId) -> Result<&OwnMemory, (ErrorCode, String)> {
        let found = self.rams.iter().find(|(id, _)| *id == port);
        found.map(|(_, ram)| ram).ok_or_else(|| (ErrorCode::NotAttached, "no memory of ours".to_owned()))
    }

    /// Sends a request and waits for its answer. A refusal is an error.
    fn ask(&mut self, request: Request, payload: &[u8]) -> Result<Answer, HostError> {
        if let Some(broken) = &self.broken {
            return Err(HostError::Transport(broken.clone()));
        }
        let id = self.connection.request(request, payload).map_err(|error| self.unsent(&error))?;
        match self.wait(Some(id), None)? {
            Some(Answer { reply: Reply::Failed { code, reason }, .. }) => Err(refusal(code, reason)),
            Some(answer) => Ok(answer),
            None => Err(self.broken("no answer")),
        }
    }

    /// How many bytes of memory go into a request: several are to be in flight, and each is to stay in the caches on its way.
    fn piece(&self) -> usize {
        (self.connection.max_payload() as usize).clamp(1, PIECE)
    }

    fn request(&mut self, request: Request, payload: &[u8]) -> Result<RequestId, HostError> {
        if let Some(broken) = &self.broken {
            return Err(HostError::Transport(broken.clone()));
        }
        let id = self.connection.request(request, payload).map_err(|error| self.unsent(&error))?;
        self.flush()?;
        Ok(id)
    }

    /// Sends the requests that `next` makes, a few at a time, and gives the answers' payloads to `done` with what belongs to
    /// them: `false` says that one is not fit. After a refusal no further request is made, and those under way are seen to
    /// their end.
    fn ask_in_flight<T>(
        &mut self,
        mut next: impl FnMut(&mut Self) -> Result<Option<(RequestId, T)>, HostError>,
        mut done: impl FnMut(T, &[u8]) -> bool,
    ) -> Result<(), HostError> {
        let most = IN_FLIGHT.min(self.welcome.max_in_flight as usize).max(1);
        let mut asked: Vec<(RequestId, T)> = Vec::with_capacity(most);
        let (mut refused, mut is_all) = (None, false);
        loop {
            while asked.len() < most && !is_all && refused.is_none() {
                match next(self)? {
                    Some(request) => asked.push(request),
                    None => is_all = true,
                }
            }
            if asked.is_empty() {
                return refused.map_or(Ok(()), Err);
            }
            let answered = |id| asked.iter().position(|(asked, _)| *asked == id);
            let Some((place, answer)) = self.wait_for(answered, false, None)? else { continue };
            let (_, belongs) = asked.swap_remove(place);
            match answer {
                Answer { reply: Reply::Failed { code, reason }, .. } => {
                    refused = refused.or(Some(refusal(code, reason)));
                }
                Answer { payload, .. } if !done(belongs, &payload) => {
                    return Err(self.broken("an answer of another length than asked for"));
                }
                _ => {}
            }
        }
    }

    fn unsent(&mut self, error: &SendError) -> HostError {
        match error {
            SendError::NotNow { .. } => self.broken(error.to_string()),
            _ => HostError::Refused(error.to_string()),
        }
    }

    fn check_register(&self, address: u32) -> Result<(), HostError> {
        let window = self.welcome.ports.get(usize::from(self.csb.0)).map_or(0, |port| port.size);
        match u64::from(address) < window && address.is_multiple_of(4) {
            true => Ok(()),
            false => Err(HostError::Refused(format!(
                "register address 0x{address:x}: registers are words (multiples of 4) below 0x{window:x}"
            ))),
        }
    }

    fn register(&self, address: u32) -> u64 {
        let base = self.welcome.ports.get(usize::from(self.csb.0)).map_or(0, |port| port.base);
        base.saturating_add(u64::from(address))
    }

    fn counters(&mut self, prefix: &str) -> Result<Statistics, HostError> {
        let mut statistics = Statistics::default();
        loop {
            let first = u32::try_from(statistics.counters.len()).unwrap_or(u32::MAX);
            let request = Request::Statistics { prefix: prefix.to_owned(), first };
            let Answer { reply, payload, .. } = self.ask(request, &[])?;
            let Reply::Statistics { total, count } = reply else { return Err(unfit(&reply)) };
            let counters =
                parse_counters(&payload, count).map_err(|error| HostError::Transport(error.to_string()))?;
            for native::Counter { name, unit, value } in counters {
                let value = match value {
                    CounterValue::Count(count) => host::Value::Count(count),
                    CounterValue::Real(real) => host::Value::Text(real.to_string()),
                    CounterValue::Text(text) => host::Value::Text(text),
                };
                statistics.counters.push(host::Counter { name, value, unit });
            }
            if count == 0 || statistics.counters.len() >= total as usize {
                return Ok(statistics);
            }
        }
    }

    /// The port of a memory, if the bytes lie in it.
    fn window(&self, memory: Memory, address: u64, bytes: usize) -> Result<PortId, HostError> {
        let size = bytes as u64;
        let refuse = |holds| Err(HostError::MemoryRange { memory, address, size, holds });
        let found = (0..).map(PortId).zip(&self.welcome.ports).find(|(_, port)| port.name == memory.port());
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
            if self.level {
                return Ok(self.time);
            }
            // The answer stands behind every notice sent before it: idle and still low means it never comes.
            let status = self.status()?;
            if self.level {
                return Ok(self.time);
            }
            match status.activity {
                Activity::Idle | Activity::Deadlocked => {
                    if status.activity == Activity::Deadlocked {
                        // A platform whose time stands still for good says so to whoever needs time.
                        self.read(0)?;
                    }
                    return Err(HostError::Idle { time: self.time, report: NOTHING_RUNS.to_owned() });
                }
                _ if self.limit.is_some_and(|limit| self.time >= limit) => return Err(self.at_limit()),
                _ => self.wait(None, Some(LOOK)).map(|_| ())?,
            }
        }
    }

    fn at_limit(&self) -> HostError {
        let limit = self.limit.unwrap_or(Time::MAX).to_string();
        HostError::Limit { time: self.time, limit }
    }
}

/// What a failed request means to the caller.
fn refusal(code: ErrorCode, reason: String) -> HostError {
    let why = if reason.is_empty() { code.to_string() } else { reason };
    match code {
        ErrorCode::Livelock => HostError::Livelock { report: why },
        _ => HostError::Refused(why),
    }
}

impl Drop for RemoteHost {
    fn drop(&mut self) {
        if self.broken.is_none() && self.connection.is_open() {
            self.connection.bye(None, "done");
            let _ = self.flush();
        }
    }
}

impl Host for RemoteHost {
    fn write(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.check_register(address)?;
        if let Some(broken) = &self.broken {
            return Err(HostError::Transport(broken.clone()));
        }
        if let Some(written) = self.through_ring(address, RingAccess::Posted(value)) {
            return written.map(|_| ());
        }
        let write = RegisterWrite { port: self.csb, address: self.register(address), value, at: None };
        let posted = self.connection.post(Posted::RegisterWrite(write), &[]);
        posted.map_err(|error| self.unsent(&error))?;
        if self.connection.output().len() >= COLLECTED || self.welcome.time_mode != TimeMode::Lockstep {
            // What runs by itself must not wait for our next read.
            self.flush()?;
        }
        Ok(())
    }

    fn write_acknowledged(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.check_register(address)?;
        if let Some(written) = self.through_ring(address, RingAccess::Write(value)) {
            return written.map(|_| ());
        }
        let write = RegisterWrite { port: self.csb, address: self.register(address), value, at: None };
        self.ask(Request::RegisterWrite(write), &[]).map(|_| ())
    }

    fn read(&mut self, address: u32) -> Result<u32, HostError> {
        self.check_register(address)?;
        if let Some(value) = self.through_ring(address, RingAccess::Read) {
            return value;
        }
        let read = RegisterRead { port: self.csb, address: self.register(address), at: None };
        match self.ask(Request::RegisterRead(read), &[])?.reply {
            Reply::Value { value } => Ok(value),
            other => Err(unfit(&other)),
        }
    }

    fn wait_interrupt(&mut self) -> Result<Time, HostError> {
        if self.welcome.time_mode != TimeMode::Lockstep {
            return self.await_level();
        }
        let limit = self.limit.map(|limit| native::Time(limit.as_ps()));
        let until = Until::Interrupt { port: self.irq, limit };
        let Answer { time, reply, .. } = self.ask(Request::Advance { until }, &[])?;
        let Reply::Reached { why } = reply else { return Err(unfit(&reply)) };
        match why {
            Why::Interrupt => Ok(time),
            Why::Time => Err(self.at_limit()),
            Why::Idle => Err(HostError::Idle { time, report: NOTHING_RUNS.to_owned() }),
            Why::Deadlock { report } => Err(HostError::Idle { time, report }),
            Why::Stopped => Err(HostError::Refused("the platform stopped the run".to_owned())),
        }
    }

    fn now(&mut self) -> Result<Time, HostError> {
        Ok(self.time)
    }

    fn load(&mut self, memory: Memory, address: u64, bytes: &[u8]) -> Result<(), HostError> {
        let port = self.window(memory, address, bytes.len())?;
        if let Ok(ram) = self.ram(port) {
            return ram.write(address, bytes).map_err(|error| out_of_range(memory, &error));
        }
        let size = self.piece();
        let mut pieces = bytes.chunks(size).zip((address..).step_by(size));
        let write = |(piece, address): (&[u8], u64)| {
            let length = u32::try_from(piece.len()).unwrap_or(u32::MAX);
            let (access, axi_id, strobes, at) = (Access::Debug, 0, false, None);
            MemoryWrite { port, address, length, access, axi_id, strobes, at }
        };
        self.ask_in_flight(
            |host| {
                let Some(piece) = pieces.next() else { return Ok(None) };
                host.request(Request::MemoryWrite(write(piece)), piece.0).map(|id| Some((id, ())))
            },
            |(), _| true,
        )
    }

    fn fetch(&mut self, memory: Memory, address: u64, bytes: &mut [u8]) -> Result<(), HostError> {
        let port = self.window(memory, address, bytes.len())?;
        if let Ok(ram) = self.ram(port) {
            return ram.read(address, bytes).map_err(|error| out_of_range(memory, &error));
        }
        let size = self.piece();
        let mut pieces = bytes.chunks_mut(size).zip((address..).step_by(size));
        let read = |length: usize, address| {
            let length = u32::try_from(length).unwrap_or(u32::MAX);
            let (access, axi_id, at) = (Access::Debug, 0, None);
            MemoryRead { port, address, length, access, axi_id, at }
        };
        self.ask_in_flight(
            |host| {
                let Some((piece, address)) = pieces.next() else { return Ok(None) };
                let read = Request::MemoryRead(read(piece.len(), address));
                host.request(read, &[]).map(|id| Some((id, piece)))
            },
            |piece, data| {
                let is_whole = data.len() == piece.len();
                if is_whole {
                    piece.copy_from_slice(data);
                }
                is_whole
            },
        )
    }

    fn stream(&mut self, bytes: &[u8]) -> Result<(), HostError> {
        let refuse = |why: String| Err(HostError::Refused(why));
        let Some(port) = self.stream else { return refuse("the platform has no input stream".to_owned()) };
        let (most, base) = (self.connection.max_payload(), self.welcome.ports[usize::from(port.0)].base);
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        if length > most {
            return refuse(format!("{length} bytes at once: the session takes {most}"));
        }
        if length == 0 {
            return Ok(());
        }
        let (access, axi_id, strobes, at) = (Access::Timed, 0, false, None);
        let write = MemoryWrite { port, address: base, length, access, axi_id, strobes, at };
        self.ask(Request::MemoryWrite(write), bytes).map(|_| ())
    }

    fn map(&self) -> RegisterMap {
        self.map
    }

    fn statistics(&mut self) -> Result<Statistics, HostError> {
        self.counters("")
    }

    fn warnings(&mut self) -> Vec<Warning> {
        let (left_out, mut warnings) = self.warnings.take();
        if left_out > 0 {
            let time = warnings.first().map_or(Time::ZERO, |first| first.time);
            warnings.insert(0, Warning { time, text: warnings_left_out(left_out) });
        }
        warnings
    }

    fn set_limit(&mut self, limit: Time) {
        // Later moments cannot be named (docs/protocol.md, "Time"), and are none that a run would reach.
        self.limit = Some(limit).filter(|limit| limit.as_ps() <= 1 << 62);
    }
}

fn decode_error(error: &OutOfRange) -> (ErrorCode, String) {
    (ErrorCode::DecodeError, error.to_string())
}

fn unfit(reply: &Reply) -> HostError {
    HostError::Transport(format!("{} is no answer to what was asked", reply.name()))
}

fn out_of_range(memory: Memory, error: &OutOfRange) -> HostError {
    let holds = format!("it spans 0x{:x} to 0x{:x}", error.start, error.last);
    HostError::MemoryRange { memory, address: error.address, size: error.bytes, holds }
}
