//! One open session: its socket and the protocol's state, and the guest that answers for memory.
//!
//! Whoever holds it moves it on: a thread that waits for a register's value, or the one that listens while nobody does.
//! Interrupts, memory requests and replies are taken in the order they were sent.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes, BytesMut};
use vp_protocols::native::statistics::parse_counters;
use vp_protocols::native::{
    Attach, Capabilities, Connection, CounterValue, ErrorCode, Event, MemoryRead, MemoryWrite, Notice,
    OpenRing, Port, PortId, PortKind, Posted, RegisterRead, RegisterWrite, Reply, Request, RequestId, Role,
    SendError, ShareMemory, SharedRegion, Time, TimeMode, Welcome,
};

use vp_shm::ring::Client;

use super::ring::{Lines, RegisterRing};
use super::{ConnectError, Guest, LOOK, Platform, SharedMemory, coupled::Timeline, stream::Stream};
use crate::options::Endpoint;
use crate::report::say;

/// Looks at the socket before somebody else has the core.
const LOOKS: u32 = 4;
/// Bytes read at once, unless a payload is known to be longer.
const READ: usize = 64 << 10;
/// How long the server may take nothing of what is written.
const PATIENCE: Duration = Duration::from_secs(30);

/// The end of a session, for people.
#[derive(Debug)]
pub(super) struct Broken(pub(super) String);

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

/// A reply and what came with it.
pub(super) struct Answer {
    pub(super) reply: Reply,
    /// When the request took effect.
    pub(super) time: Time,
    payload: Bytes,
}

/// Something was read.
struct Read {
    may_have_more: bool,
}

pub(super) struct Wire {
    stream: Stream,
    connection: Connection,
    input: BytesMut,
    landing: Box<[u8]>,
    /// Mostly none, or one.
    answers: Vec<(RequestId, Answer)>,
    guest: Arc<dyn Guest>,
    registers: PortId,
    base: u64,
    pub(super) platform: Platform,
    /// The interrupt line.
    pub(super) level: bool,
    /// The guest's time and the platform's, if they are one.
    pub(super) timeline: Option<Timeline>,
    /// The ring, until somebody takes it.
    pub(super) ring: Option<RegisterRing>,
    /// The interrupt line, if the ring shows it.
    lines: Option<Arc<Lines>>,
    /// What is not shared though it might be, for people.
    pub(super) unshared: Option<String>,
    /// For who waits at the ring: whether the session is over.
    over: Arc<AtomicBool>,
}

impl Wire {
    /// Connects, greets, and takes the places of a CPU and its memory.
    pub(super) fn open(
        endpoint: &Endpoint,
        shared: Option<&str>,
        guest: Arc<dyn Guest>,
        is_coupled: bool,
        may_share: bool,
        timeout: Duration,
    ) -> Result<Self, ConnectError> {
        let agent = concat!("vp-qemu ", env!("CARGO_PKG_VERSION"));
        let mode = if is_coupled { TimeMode::Lockstep } else { TimeMode::Free };
        let mut hello = Connection::hello(agent, shared, mode);
        hello.capabilities = hello.capabilities.union(Capabilities::MEMORY_IN_ORDER);
        if may_share {
            hello.capabilities = hello.capabilities.union(Capabilities::LOCAL);
        }
        let connection = Connection::client(hello).map_err(|error| ConnectError(error.to_string()))?;
        let stream = Stream::connect(endpoint, timeout)
            .map_err(|error| ConnectError(format!("cannot connect to {endpoint}: {error}")))?;
        let mut wire = Self {
            stream,
            connection,
            input: BytesMut::new(),
            landing: vec![0; READ].into(),
            answers: Vec::new(),
            guest,
            registers: PortId(0),
            base: 0,
            platform: Platform::default(),
            level: false,
            timeline: None,
            ring: None,
            lines: None,
            unshared: None,
            over: Arc::default(),
        };
        let settled = wire.settle(Instant::now() + timeout, is_coupled, may_share);
        settled.map_err(|Broken(why)| ConnectError(format!("{endpoint}: {why}")))?;
        Ok(wire)
    }

    /// Another handle of the socket, to wait for input with.
    pub(super) fn listener(&self) -> io::Result<Stream> {
        self.stream.try_clone()
    }

    fn settle(&mut self, until: Instant, is_coupled: bool, may_share: bool) -> Result<(), Broken> {
        let welcome = self.greet(until)?;
        if is_coupled {
            Timeline::check(&welcome)?;
        }
        let find = |kind, what| {
            let place = welcome.ports.iter().position(|port| port.kind == kind);
            place.ok_or_else(|| Broken(format!("the platform has no {what}")))
        };
        let registers = find(PortKind::Csb, "register port")?;
        let line = find(PortKind::Irq, "interrupt line")?;
        find(PortKind::Axi, "memory port")?;
        for (id, port) in (0..).map(PortId).zip(&welcome.ports) {
            let role = match port.kind {
                PortKind::Axi if is_memory(port) => Role::Target,
                _ if usize::from(id.0) == registers => Role::Initiator,
                _ if usize::from(id.0) == line => Role::Sink,
                _ => continue,
            };
            self.ask(until, Request::Attach(Attach { port: id, role, range: None }))?;
        }
        let Port { base, size, .. } = welcome.ports[registers];
        self.registers = PortId(u16::try_from(registers).map_err(|_| Broken("too many ports".into()))?);
        self.base = base;
        let memory = welcome.ports.iter().filter(|port| is_memory(port));
        let memory = memory.map(|port| port.base..port.base.saturating_add(port.size)).collect();
        let compatible =
            welcome.device.as_ref().map_or_else(String::new, |device| device.compatible.join("+"));
        if is_coupled {
            let Some(CounterValue::Count(period)) = self.counter(until, "period")? else {
                return Err(Broken("the platform does not say its clock's period".into()));
            };
            self.timeline = Some(Timeline::new(welcome.time, period));
        }
        if may_share {
            self.share_memory(until, &welcome)?;
            // Of a guest whose time is the platform's every access is one of many messages.
            if !is_coupled {
                let line = PortId(u16::try_from(line).map_err(|_| Broken("too many ports".into()))?);
                self.open_ring(until, line)?;
            }
        }
        self.platform = Platform { name: welcome.platform, compatible, size, memory };
        Ok(())
    }

    /// Offers the guest's memory to the server, for the platform to reach by itself.
    fn share_memory(&mut self, until: Instant, welcome: &Welcome) -> Result<(), Broken> {
        let Some(memories) = self.guest.shared_memory() else { return Ok(()) };
        let mut why = match memories.is_empty() {
            true => Some("it is no memory-backend-memfd with share=on".to_owned()),
            false => None,
        };
        for (port, window) in (0..).map(PortId).zip(&welcome.ports) {
            if !is_memory(window) || memories.is_empty() {
                continue;
            }
            let end = window.base.saturating_add(window.size);
            let (mut files, mut regions) = (Vec::new(), Vec::new());
            for SharedMemory { range, file, offset } in memories.iter().take(vp_shm::descriptors::MOST) {
                let (from, to) = (range.start.max(window.base), range.end.min(end));
                if from < to {
                    let offset = offset + (from - range.start);
                    let number = u8::try_from(files.len()).unwrap_or(u8::MAX);
                    regions.push(SharedRegion { base: from, size: to - from, file: number, offset });
                    files.push(file.as_fd());
                }
            }
            if regions.is_empty() {
                continue;
            }
            let files_count = u8::try_from(files.len()).unwrap_or(u8::MAX);
            let request = Request::ShareMemory(ShareMemory { port, files: files_count, regions });
            why = self.offer(until, request, &files)?.err().or(why);
        }
        self.unshared = why.map(|why| {
            format!("the guest's memory is not shared with the server ({why}): DMA goes over the socket")
        });
        Ok(())
    }

    fn open_ring(&mut self, until: Instant, line: PortId) -> Result<(), Broken> {
        let Ok(client) = Client::new() else { return Ok(()) };
        let request = Request::OpenRing(OpenRing { port: self.registers, line });
        match self.offer(until, request, &client.files())? {
            Ok(()) => {
                let (stream, over) = (self.stream.try_clone()?, self.over.clone());
                let ring = RegisterRing::new(client, stream, over, self.base, self.guest.clone());
                let lines = ring.lines();
                lines.look();
                (self.ring, self.lines) = (Some(ring), Some(lines));
            }
            Err(why) => {
                let line = format!("registers are accessed over the socket, without a ring ({why})");
                self.unshared = Some(self.unshared.take().map_or(line.clone(), |it| format!("{it}; {line}")));
            }
        }
        Ok(())
    }

    /// Asks for something that the server may refuse, with files.
    fn offer(
        &mut self,
        until: Instant,
        request: Request,
        files: &[BorrowedFd<'_>],
    ) -> Result<Result<(), String>, Broken> {
        let id = match self.connection.request(request, &[]) {
            Ok(id) => id,
            Err(SendError::NotGranted { .. }) => return Ok(Err("the server does not take it".into())),
            Err(error) => return Err(Broken(error.to_string())),
        };
        // Everything before was written, so the files go with this request's bytes.
        loop {
            match self.stream.write_with(self.connection.output().chunk(), files)? {
                Some(written) => break self.connection.output().advance(written),
                None => self.stream.wait(true, Some(Duration::from_millis(100))),
            }
            if Instant::now() >= until {
                return Err(Broken("the server does not read".into()));
            }
        }
        self.flush()?;
        loop {
            match self.taken(id).map(|answer| answer.reply) {
                Some(Reply::Failed { code, reason }) => {
                    return Ok(Err(if reason.is_empty() { code.to_string() } else { reason }));
                }
                Some(_) => return Ok(Ok(())),
                None => {
                    if !self.advance()? {
                        self.read_until(until)?;
                    }
                }
            }
        }
    }

    fn greet(&mut self, until: Instant) -> Result<Welcome, Broken> {
        self.flush()?;
        loop {
            match self.connection.receive(&mut self.input) {
                Ok(Some(Event::Welcome(welcome))) => return Ok(*welcome),
                Ok(Some(Event::Refused(refused))) => {
                    return Err(Broken(format!("the server refuses: {}", refused.reason)));
                }
                Ok(Some(_)) => return Err(Broken("the server says neither welcome nor no".into())),
                Err(violation) => return Err(Broken(format!("no server of platforms: {violation}"))),
                Ok(None) => self.read_until(until)?,
            }
        }
    }

    /// What the platform says of itself under a name.
    fn counter(&mut self, until: Instant, name: &str) -> Result<Option<CounterValue>, Broken> {
        let request = Request::Statistics { prefix: name.into(), first: 0 };
        let Answer { reply, payload, .. } = self.ask(until, request)?;
        let Reply::Statistics { count, .. } = reply else { return Ok(None) };
        let counters = parse_counters(&payload, count).map_err(|error| Broken(error.to_string()))?;
        Ok(counters.into_iter().find(|counter| counter.name == name).map(|counter| counter.value))
    }

    /// Asks and waits, while the session is being settled.
    fn ask(&mut self, until: Instant, request: Request) -> Result<Answer, Broken> {
        let id = self.request(request)?;
        loop {
            match self.taken(id) {
                Some(Answer { reply: Reply::Failed { code, reason }, .. }) => {
                    let reason = if reason.is_empty() { code.to_string() } else { reason };
                    return Err(Broken(reason));
                }
                Some(answer) => return Ok(answer),
                None => {
                    if !self.advance()? {
                        self.read_until(until)?;
                    }
                }
            }
        }
    }

    fn read_until(&mut self, until: Instant) -> Result<(), Broken> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Broken("the server does not answer".into()));
        }
        self.stream.wait(false, Some(left));
        self.read().map(|_| ())
    }

    /// Sends a request; its answer will be kept.
    pub(super) fn request(&mut self, request: Request) -> Result<RequestId, Broken> {
        let id = self.queue(request)?;
        self.flush()?;
        Ok(id)
    }

    /// A request that goes out with the next one.
    pub(super) fn queue(&mut self, request: Request) -> Result<RequestId, Broken> {
        self.connection.request(request, &[]).map_err(|error| Broken(error.to_string()))
    }

    pub(super) fn read_register(&mut self, offset: u64) -> Result<RequestId, Broken> {
        self.request(Request::RegisterRead(self.register_read(offset)))
    }

    pub(super) fn register_read(&self, offset: u64) -> RegisterRead {
        let address = self.base.wrapping_add(offset);
        RegisterRead { port: self.registers, address, at: None }
    }

    /// A write that is answered once it has taken effect.
    pub(super) fn write_register(&mut self, offset: u64, value: u32) -> Result<RequestId, Broken> {
        self.request(Request::RegisterWrite(self.register_write(offset, value)))
    }

    pub(super) fn register_write(&self, offset: u64, value: u32) -> RegisterWrite {
        let address = self.base.wrapping_add(offset);
        RegisterWrite { port: self.registers, address, value, at: None }
    }

    /// Sends a write that is not answered.
    pub(super) fn post(&mut self, posted: Posted) -> Result<(), Broken> {
        self.queue_posted(posted)?;
        self.flush()
    }

    /// A write that goes out with the next request.
    pub(super) fn queue_posted(&mut self, posted: Posted) -> Result<(), Broken> {
        self.connection.post(posted, &[]).map_err(|error| Broken(error.to_string()))
    }

    /// Ends the session politely.
    pub(super) fn bye(&mut self) {
        self.connection.bye(None, "QEMU ends");
        // Whether it arrives or not, the session is over.
        _ = self.flush();
    }

    /// Waits for the answer, at most for so long; all else that comes is dealt with meanwhile.
    pub(super) fn answer(&mut self, id: RequestId, timeout: Duration) -> Result<Answer, Broken> {
        // It may have come with another's.
        if let Some(answer) = self.taken(id) {
            return Ok(answer);
        }
        let (mut began, mut moved, mut looks) = (None, None, 0_u32);
        loop {
            // What was asked for just now is not there yet, and the server may be waiting for this very core.
            if looks.is_multiple_of(LOOKS) {
                thread::yield_now();
            }
            looks = looks.wrapping_add(1);
            let advanced = self.advance();
            // What ended the session behind it is found again by who comes next.
            if let Some(answer) = self.taken(id) {
                return Ok(answer);
            }
            let (has_moved, now) = (advanced?, Instant::now());
            let waited = now - *began.get_or_insert(now);
            let Some(left) = timeout.checked_sub(waited).filter(|left| !left.is_zero()) else {
                return Err(Broken(format!("no answer for {} s", timeout.as_secs())));
            };
            if has_moved {
                moved = Some(now);
            } else if now - *moved.get_or_insert(now) >= LOOK {
                self.stream.wait(false, Some(left));
            }
        }
    }

    fn taken(&mut self, id: RequestId) -> Option<Answer> {
        let place = self.answers.iter().position(|(of, _)| *of == id)?;
        Some(self.answers.swap_remove(place).1)
    }

    /// Takes in and deals with all that is there now. `false`: nothing was.
    pub(super) fn advance(&mut self) -> Result<bool, Broken> {
        let mut moved = self.deal()?;
        while let Some(read) = self.read()? {
            moved |= self.deal()?;
            // Less than there was room for is all there was.
            if !read.may_have_more {
                break;
            }
        }
        Ok(moved)
    }

    /// Deals with what has been read; all the answers it causes go out at once.
    fn deal(&mut self) -> Result<bool, Broken> {
        let mut moved = false;
        loop {
            match self.connection.receive(&mut self.input) {
                Ok(Some(event)) => {
                    moved = true;
                    self.event(event)?;
                    // The peer lags behind: no more replies before it has taken these.
                    if self.connection.is_backlogged() {
                        self.flush()?;
                    }
                }
                Ok(None) => break,
                Err(violation) => {
                    // The parting frame says why; the session is over either way.
                    _ = self.flush();
                    return Err(Broken(format!("the server broke the protocol: {violation}")));
                }
            }
        }
        if moved {
            self.flush()?;
        }
        Ok(moved)
    }

    fn event(&mut self, event: Event) -> Result<(), Broken> {
        match event {
            Event::Reply { id, time, reply, payload } => {
                self.answers.push((id, Answer { reply, time, payload }));
            }
            Event::Notice(Notice::Interrupt { level, .. }) => {
                self.level = level;
                match &self.lines {
                    // An access may have heard of a later level.
                    Some(lines) => lines.look(),
                    None => self.guest.line(level),
                }
            }
            Event::Notice(Notice::Warning { text, .. }) => say(format_args!("warning: {text}")),
            Event::Request { id, request, payload } => self.serve(id, &request, &payload)?,
            Event::Posted { posted: Posted::MemoryWrite(write), payload } => {
                // Nobody asked to be told.
                _ = self.store(&write, &payload);
            }
            Event::Bye(bye) => return Err(Broken(format!("the server ended the session: {}", bye.reason))),
            Event::Posted { .. } | Event::Hello(_) | Event::Welcome(_) | Event::Refused(_) => {}
        }
        Ok(())
    }

    /// Answers a burst of the device out of the guest's memory.
    fn serve(&mut self, id: RequestId, request: &Request, payload: &Bytes) -> Result<(), Broken> {
        let (reply, data) = match request {
            Request::Ping => (Reply::Pong, Vec::new()),
            Request::MemoryRead(read) => match self.fetch(read) {
                Some(data) => (Reply::Data, data),
                None => (nothing_there(read.address, read.length), Vec::new()),
            },
            Request::MemoryWrite(write) => match self.store(write, payload) {
                true => (Reply::Done, Vec::new()),
                false => (nothing_there(write.address, write.length), Vec::new()),
            },
            _ => {
                let reason = "a guest has no registers for the platform".into();
                (Reply::Failed { code: ErrorCode::Unsupported, reason }, Vec::new())
            }
        };
        // Time 0: the platform's own latency says when it sees the answer.
        self.connection
            .reply(id, Time(0), reply, Bytes::from(data))
            .map_err(|error| Broken(error.to_string()))
    }

    fn fetch(&self, read: &MemoryRead) -> Option<Vec<u8>> {
        let mut data = vec![0; read.length as usize];
        self.guest.read(read.address, &mut data).then_some(data)
    }

    fn store(&self, write: &MemoryWrite, payload: &Bytes) -> bool {
        let (data, strobes) = write.split(payload);
        let Some(strobes) = strobes else { return self.guest.write(write.address, &data) };
        let is_written = |at: usize| strobes.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
        let mut at = 0;
        while at < data.len() {
            let run = (at..data.len()).take_while(|&at| is_written(at)).count();
            if run > 0 && !self.guest.write(write.address.wrapping_add(at as u64), &data[at..at + run]) {
                return false;
            }
            at += run + 1;
        }
        true
    }

    /// Writes everything. While the server takes nothing what it says is read, or both would wait for ever.
    fn flush(&mut self) -> Result<(), Broken> {
        let mut stuck: Option<Instant> = None;
        while !self.connection.output().is_empty() {
            match self.stream.write(self.connection.output())? {
                Some(_) => stuck = None,
                None => {
                    if stuck.get_or_insert_with(Instant::now).elapsed() >= PATIENCE {
                        return Err(Broken(format!("the server has read nothing for {PATIENCE:?}")));
                    }
                    if self.read()?.is_none() {
                        self.stream.wait(true, Some(Duration::from_millis(100)));
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads once. The rest of a long payload goes straight to where it stays, and nothing else is read with it.
    fn read(&mut self) -> Result<Option<Read>, Broken> {
        let lacking = self.connection.lacking(&self.input);
        let (read, room) = match lacking < READ {
            true => (self.stream.read(&mut self.landing)?, READ),
            false => (self.stream.read_onto(lacking, &mut self.input)?, lacking),
        };
        let Some(read) = read else { return Ok(None) };
        if lacking < READ {
            self.input.extend_from_slice(&self.landing[..read]);
        }
        Ok(Some(Read { may_have_more: read == room }))
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        // Ends the wait of the thread that listens, and of who waits at the ring.
        self.stream.shutdown();
    }
}

/// Whether a port is a memory of which the guest is the owner. What has no place for one is a stream.
fn is_memory(port: &Port) -> bool {
    port.kind == PortKind::Axi && port.roles.contains(Role::Target)
}

fn nothing_there(address: u64, length: u32) -> Reply {
    let reason = format!("the guest has no memory at 0x{address:x}, {length} bytes");
    Reply::Failed { code: ErrorCode::DecodeError, reason }
}
