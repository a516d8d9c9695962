//! One open session: the client, the ports that a CPU has, and the guest that answers for memory.
//!
//! Whoever holds it moves it on: a thread that waits for a register's value, or the one that listens while nobody does.

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vp_client::native::{
    Capabilities, CounterValue, ErrorCode, PortId, PortKind, Posted, RegisterRead, RegisterWrite, Request,
    RequestId, Role, SendError, SharedRegion, Time, TimeMode,
};
use vp_client::{Answer, Client, Error, Handler, Options, Refusal, is_memory, limit_in_words};

use super::{ConnectError, Guest, NoAccess, Patience, Platform, Server, SharedMemory, timeline::Timeline};
use crate::credentials;
use crate::report::say;

/// The end of a session, for people.
#[derive(Debug)]
pub(super) struct Broken(pub(super) String);

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

/// The guest, as a client's session has it.
pub(super) struct GuestSide {
    guest: Arc<dyn Guest>,
    /// The interrupt line.
    level: bool,
}

impl Handler for GuestSide {
    fn interrupt(&mut self, _: PortId, level: bool, _: Time) {
        self.level = level;
        self.guest.line(level);
    }

    fn warning(&mut self, _: Time, text: String) {
        say(format_args!("warning: {text}"));
    }

    fn read(&mut self, _: PortId, address: u64, into: &mut [u8]) -> Result<(), Refusal> {
        self.guest.read(address, into).map_err(refusal)
    }

    fn write(&mut self, _: PortId, address: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.guest.write(address, bytes).map_err(refusal)
    }
}

fn refusal(why: NoAccess) -> Refusal {
    Refusal::new(ErrorCode::DecodeError, why.to_string())
}

pub(super) struct Wire {
    pub(super) client: Client<GuestSide>,
    registers: PortId,
    pub(super) base: u64,
    pub(super) platform: Platform,
    /// The guest's time and the platform's, if they are one.
    pub(super) timeline: Option<Timeline>,
    /// Description of what is not shared though it might be, for people.
    pub(super) unshared: Option<String>,
}

impl Wire {
    /// Connects, greets, and takes the places of a CPU and its memory.
    pub(super) fn open(
        server: &Server,
        guest: Arc<dyn Guest>,
        is_coupled: bool,
        may_share: bool,
        Patience { timeout, heartbeat }: Patience,
    ) -> Result<Self, ConnectError> {
        let until = Instant::now() + timeout;
        let options = Options::new(concat!("vp-qemu ", env!("CARGO_PKG_VERSION")));
        // The thread that listens answers at any time.
        let promised = heartbeat.duration().map_or(Capabilities::NONE, |_| Capabilities::HEARTBEAT);
        let options = Options {
            platform: server.platform.clone(),
            credentials: server.credentials.clone(),
            time_mode: if is_coupled { TimeMode::Lockstep } else { TimeMode::Free },
            capabilities: options.capabilities.union(promised),
            share: may_share,
            timeout,
            heartbeat,
            ..options
        };
        let client = Client::connect(&server.address, &options, GuestSide { guest, level: false })
            .map_err(|error| ConnectError(credentials::refusal(&error, &server.credentials)))?;
        let mut wire = Self {
            client,
            registers: PortId(0),
            base: 0,
            platform: Platform::default(),
            timeline: None,
            unshared: None,
        };
        wire.client.set_deadline(Some(until));
        let settled = wire.settle(is_coupled, may_share);
        settled.map_err(|Broken(why)| ConnectError(format!("{}: {why}", server.address)))?;
        wire.client.set_deadline(None);
        Ok(wire)
    }

    fn settle(&mut self, is_coupled: bool, may_share: bool) -> Result<(), Broken> {
        let Self { client, .. } = self;
        let welcome = client.welcome().clone();
        if is_coupled {
            Timeline::check(&welcome).map_err(Broken)?;
        }
        let find = |kind, what: &str| {
            client.first(kind).ok_or_else(|| Broken(format!("the platform has no {what}")))
        };
        let registers = find(PortKind::Csb, "register port")?;
        let line = find(PortKind::Irq, "interrupt line")?;
        find(PortKind::Axi, "memory port")?;
        for (id, port) in (0..).map(PortId).zip(&welcome.ports) {
            let role = match port.kind {
                PortKind::Axi if is_memory(port) => Role::Target,
                _ if id == registers => Role::Initiator,
                _ if id == line => Role::Sink,
                _ => continue,
            };
            client.attach(id, role, None)?;
        }
        let window =
            client.port(registers).map_or(0..0, |port| port.base..port.base.saturating_add(port.size));
        (self.registers, self.base) = (registers, window.start);
        let memory = welcome.ports.iter().filter(|port| is_memory(port));
        let memory = memory.map(|port| port.base..port.base.saturating_add(port.size)).collect();
        let compatible =
            welcome.device.as_ref().map_or_else(String::new, |device| device.compatible.join("+"));
        if is_coupled {
            let Some(CounterValue::Count(period)) = self.counter("period")? else {
                return Err(Broken("the platform does not say its clock's period".into()));
            };
            self.timeline = Some(Timeline::new(welcome.time, period));
        }
        if may_share {
            self.share_memory()?;
            // Of a guest whose time is the platform's every access is one of many messages.
            if !is_coupled {
                self.open_ring(line)?;
            }
        }
        self.platform = Platform {
            name: welcome.platform,
            compatible,
            size: window.end - window.start,
            memory,
            time_mode: welcome.time_mode.to_string(),
        };
        Ok(())
    }

    /// Offers the guest's memory to the server, for the platform to reach by itself.
    fn share_memory(&mut self) -> Result<(), Broken> {
        let Some(memories) = self.client.handler().guest.shared_memory() else { return Ok(()) };
        let mut why = match memories.is_empty() {
            true => Some("it is no memory-backend-memfd with share=on".to_owned()),
            false => None,
        };
        let windows = self.client.ports().filter(|(_, port)| is_memory(port));
        let windows: Vec<_> =
            windows.map(|(id, port)| (id, port.base, port.base.saturating_add(port.size))).collect();
        for (port, base, end) in windows {
            let (mut files, mut regions) = (Vec::new(), Vec::new());
            for SharedMemory { range, file, offset } in memories.iter().take(vp_shm::descriptors::MOST) {
                let (from, to) = (range.start.max(base), range.end.min(end));
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
            why = refused(self.client.share_memory(port, regions, &files))?.or(why);
        }
        self.unshared = why.map(|why| {
            format!("the guest's memory is not shared with the server ({why}): DMA goes over the socket")
        });
        Ok(())
    }

    fn open_ring(&mut self, line: PortId) -> Result<(), Broken> {
        let opened = self.client.open_ring(self.registers, line);
        let why = match opened {
            Ok(false) => Some(NOT_TAKEN.to_owned()),
            opened => refused(opened.map(|_| ()))?,
        };
        if let Some(why) = why {
            let line = format!("registers are accessed over the socket, without a ring ({why})");
            self.unshared = Some(self.unshared.take().map_or(line.clone(), |it| format!("{it}; {line}")));
        }
        Ok(())
    }

    /// Returns what the platform says of itself under a name.
    fn counter(&mut self, name: &str) -> Result<Option<CounterValue>, Broken> {
        let counters = self.client.counters(name)?;
        Ok(counters.into_iter().find(|counter| counter.name == name).map(|counter| counter.value))
    }

    /// Sets the time that what follows may take: what the server does not read by then ends the session.
    pub(super) fn begin(&mut self, timeout: Duration) {
        self.client.set_deadline(Some(Instant::now() + timeout));
    }

    /// The interrupt line's level.
    pub(super) fn level(&self) -> bool {
        self.client.handler().level
    }

    /// Sends a request; its answer will be kept.
    pub(super) fn request(&mut self, request: Request) -> Result<RequestId, Broken> {
        let id = self.queue(request)?;
        self.client.flush()?;
        Ok(id)
    }

    /// Sends a request with a payload; its answer will be kept.
    pub(super) fn request_with(&mut self, request: Request, payload: &[u8]) -> Result<RequestId, Broken> {
        let id = self.client.send(request, payload)?;
        self.client.flush()?;
        Ok(id)
    }

    /// A request that goes out with the next one.
    pub(super) fn queue(&mut self, request: Request) -> Result<RequestId, Broken> {
        Ok(self.client.send(request, &[])?)
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
        Ok(self.client.flush()?)
    }

    /// A write that goes out with the next request.
    pub(super) fn queue_posted(&mut self, posted: Posted) -> Result<(), Broken> {
        Ok(self.client.post(posted, &[])?)
    }

    /// Waits for the answer, at most for so long; all else that comes is dealt with meanwhile.
    pub(super) fn answer(&mut self, id: RequestId, timeout: Duration) -> Result<Answer, Broken> {
        let answer = self.client.wait(Some(timeout), |client| client.take_answer(id))?;
        answer.ok_or_else(|| Broken(format!("no answer for {}", limit_in_words(timeout))))
    }
}

/// Words for a server that has not granted something.
const NOT_TAKEN: &str = "the server does not take it";

/// Returns the reason for which the server does not want something, if it does not.
fn refused(offered: Result<(), Error>) -> Result<Option<String>, Broken> {
    match offered {
        Ok(()) => Ok(None),
        Err(Error::Unsent(SendError::NotGranted { .. })) => Ok(Some(NOT_TAKEN.to_owned())),
        Err(error @ Error::Refused { .. }) => Ok(Some(error.to_string())),
        Err(error) => Err(error.into()),
    }
}
