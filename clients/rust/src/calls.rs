//! The calls of a client: blocking, with one request each or a few.

use std::os::fd::BorrowedFd;

use vp_protocols::native::statistics::parse_counters;
use vp_protocols::native::{
    AccessKind, Attach, Breakpoint, Capabilities, Counter, DebugCommand, DebugState, ErrorCode, MemoryRead,
    MemoryWrite, OpenRing, Port, PortId, PortKind, Posted, Range, Reaction, RegisterPeek, RegisterPoke,
    RegisterRead, RegisterWrite, Reply, Request, RequestId, Role, ShareMemory, SharedRegion, StatusReport,
    StepBy, StopReport, Time, TimeMode, Until, Why,
};
use vp_shm::ring;

use crate::{Answer, Client, Error, Handler, Ring};

/// Bytes of posted writes that are collected before they are sent without being asked for.
const COLLECTED: usize = 64 << 10;
/// Bytes of memory in a request, at most: several are to be in flight, and each is to stay in the caches on its way.
const PIECE: usize = 256 << 10;
/// Limit of requests under way that have no answer.
const IN_FLIGHT: usize = 4;

/// Counters of a platform that are read, at most: some have hundreds.
const COUNTERS: u32 = 65_536;
/// Bytes of them, at most.
const COUNTER_BYTES: usize = 16 << 20;

/// Returns true if a port is a memory, which a client may own. A memory port that takes no owner is a stream into the
/// device.
pub fn is_memory(port: &Port) -> bool {
    port.kind == PortKind::Axi && port.roles.contains(Role::Target)
}

/// Ports.
impl<H: Handler> Client<H> {
    /// All ports, with their numbers.
    pub fn ports(&self) -> impl Iterator<Item = (PortId, &Port)> {
        (0..).map(PortId).zip(&self.welcome.ports)
    }

    /// The first port of a kind.
    pub fn first(&self, kind: PortKind) -> Option<PortId> {
        self.ports().find(|(_, port)| port.kind == kind).map(|(id, _)| id)
    }

    /// The welcome's description of a port.
    pub fn port(&self, id: PortId) -> Option<&Port> {
        self.welcome.ports.get(usize::from(id.0))
    }

    /// Takes a role at a port; for a memory with only a range given, as the owner of that range.
    ///
    /// # Errors
    /// [`Error`]: among others, somebody else has it.
    pub fn attach(&mut self, port: PortId, role: Role, range: Option<Range>) -> Result<(), Error> {
        self.ask(Request::Attach(Attach { port, role, range }), &[]).map(|_| ())
    }

    /// Gives up a port.
    ///
    /// # Errors
    /// [`Error`].
    pub fn detach(&mut self, port: PortId) -> Result<(), Error> {
        self.ask(Request::Detach { port }, &[]).map(|_| ())
    }

    /// Makes the server map the memory of which this session is the target, so that the platform accesses it
    /// directly. The [`Handler`] serves addresses that no region covers.
    ///
    /// # Errors
    /// [`Error`]: among others, [`Error::Unsent`] where it was not granted.
    pub fn share_memory(
        &mut self,
        port: PortId,
        regions: Vec<SharedRegion>,
        files: &[BorrowedFd<'_>],
    ) -> Result<(), Error> {
        let count = u8::try_from(files.len()).unwrap_or(u8::MAX);
        self.ask_with(Request::ShareMemory(ShareMemory { port, files: count, regions }), files).map(|_| ())
    }
}

/// Faults.
impl<H: Handler> Client<H> {
    /// Arms faults at the platform, described by a TOML text (docs/inside.md, "Fault injection"). Either all of
    /// it is armed, or none.
    ///
    /// # Errors
    /// [`Error`]: among others, [`Error::Refused`] with the line of a fault that cannot be, and [`Error::Unsent`] where the server
    /// injects none.
    pub fn inject_faults(&mut self, faults: &str) -> Result<(), Error> {
        let Ok(length @ 1..) = u32::try_from(faults.len()) else { return Ok(()) };
        self.ask(Request::Inject { length }, faults.as_bytes()).map(|_| ())
    }
}

/// Registers.
impl<H: Handler> Client<H> {
    /// Makes accesses to the registers of a port go through a ring from now on, which also shows the level of
    /// an interrupt line. `false`: the server grants no ring, and accesses go over the stream as before.
    ///
    /// # Errors
    /// [`Error`].
    pub fn open_ring(&mut self, port: PortId, line: PortId) -> Result<bool, Error> {
        if !self.welcome.capabilities.contains(Capabilities::REGISTER_RING) {
            return Ok(false);
        }
        let Ok(client) = ring::Client::new() else { return Ok(false) };
        let watch = self.watch().map_err(|error| self.end(error.to_string()))?;
        let files = client.files();
        self.ask_with(Request::OpenRing(OpenRing { port, line }), &files)?;
        let ring = Ring::new(client, watch, self.over.clone(), [port, line]);
        self.line = Some(ring.line().clone());
        self.ring = Some(Box::new(ring));
        self.look_at_line();
        Ok(true)
    }

    /// Takes the ring out, for accesses from another thread than the one that serves the stream. From then on
    /// this client's calls use the stream.
    pub fn take_ring(&mut self) -> Option<Ring> {
        self.ring.take().map(|ring| *ring)
    }

    /// Tells the [`Handler`] the level that the ring shows now, if it is new. `false`: there is no ring.
    pub fn look_at_line(&mut self) -> bool {
        let Some(line) = self.line.clone() else { return false };
        let time = self.time();
        line.look(|level| self.handler_mut().interrupt(line.port(), level, time));
        true
    }

    /// Reads a register.
    ///
    /// # Errors
    /// [`Error`].
    pub fn read_register(&mut self, port: PortId, address: u64) -> Result<u32, Error> {
        if self.has_ring(port) {
            return self.through_ring(address, ring::Access::Read);
        }
        let read = RegisterRead { port, address, at: None };
        match self.ask(Request::RegisterRead(read), &[])?.reply {
            Reply::Value { value } => Ok(value),
            other => Err(Error::Unfit(other.name())),
        }
    }

    /// Writes a register, and waits until the write has taken effect.
    ///
    /// # Errors
    /// [`Error`].
    pub fn write_register(&mut self, port: PortId, address: u64, value: u32) -> Result<(), Error> {
        if self.has_ring(port) {
            return self.through_ring(address, ring::Access::Write(value)).map(|_| ());
        }
        let write = RegisterWrite { port, address, value, at: None };
        self.ask(Request::RegisterWrite(write), &[]).map(|_| ())
    }

    /// Writes a register without an answer. Later accesses to the port come after it. In lockstep nothing
    /// happens before a call waits, so such writes are collected and sent with the next call that waits.
    ///
    /// # Errors
    /// [`Error`].
    pub fn post_register(&mut self, port: PortId, address: u64, value: u32) -> Result<(), Error> {
        if self.has_ring(port) {
            return self.through_ring(address, ring::Access::Posted(value)).map(|_| ());
        }
        self.post(Posted::RegisterWrite(RegisterWrite { port, address, value, at: None }), &[])?;
        if self.unwritten() >= COLLECTED || self.welcome.time_mode != TimeMode::Lockstep {
            // What runs by itself must not wait for the next read.
            self.flush()?;
        }
        Ok(())
    }

    /// The contents of `count` registers from an address on, without the side effects of a read: of that
    /// register group, or otherwise of the group that accesses go to. The session need not be attached to the
    /// port.
    ///
    /// # Errors
    /// [`Error`].
    pub fn peek_registers(
        &mut self,
        port: PortId,
        address: u64,
        count: u32,
        group: Option<u8>,
    ) -> Result<Vec<u32>, Error> {
        let peek = RegisterPeek { port, address, count, group };
        let payload = self.ask(Request::RegisterPeek(peek), &[])?.payload;
        let words = payload.chunks_exact(4).filter_map(|word| word.first_chunk());
        Ok(words.map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// Writes a register at once, without the bus, with all effects of a write. The session need not be
    /// attached to the port.
    ///
    /// # Errors
    /// [`Error`].
    pub fn poke_register(&mut self, port: PortId, address: u64, value: u32) -> Result<(), Error> {
        self.ask(Request::RegisterPoke(RegisterPoke { port, address, value }), &[]).map(|_| ())
    }

    fn has_ring(&self, port: PortId) -> bool {
        self.ring.as_ref().is_some_and(|ring| ring.port == port)
    }

    /// Accesses a register through the ring, waits for the answer if there will be one, and serves the stream meanwhile.
    fn through_ring(&mut self, address: u64, access: ring::Access) -> Result<u32, Error> {
        self.check()?;
        // What was said on the stream before comes before.
        if self.unwritten() > 0 {
            self.flush()?;
        }
        let Some(mut ring) = self.ring.take() else { return Err(Error::Unfit("no ring")) };
        let accessed = self.access(&mut ring, address, access);
        let line = ring.line().port();
        if let Ok(Some(reply)) = &accessed {
            let time = Time::ps(reply.time);
            self.heard(time);
            ring.hear(reply.line, |level| self.handler_mut().interrupt(line, level, time));
        }
        self.ring = Some(ring);
        match accessed?.map_or((0, 0), |reply| (reply.code, reply.value)) {
            (0, value) => Ok(value),
            (code, _) => {
                let code = ErrorCode::from(u16::try_from(code).unwrap_or(u16::MAX));
                Err(Error::Refused { code, reason: String::new() })
            }
        }
    }

    fn access(
        &mut self,
        ring: &mut Ring,
        address: u64,
        access: ring::Access,
    ) -> Result<Option<ring::Reply>, Error> {
        let request = ring::Request { access, address, at: None };
        self.until(ring, |ring| ring.ask(request).then_some(()))?;
        match access {
            ring::Access::Posted(_) => Ok(None),
            ring::Access::Read | ring::Access::Write(_) => self.until(ring, ring::Client::answer).map(Some),
        }
    }

    /// Waits until the ring gives something.
    fn until<T>(
        &mut self,
        ring: &mut Ring,
        mut give: impl FnMut(&mut ring::Client) -> Option<T>,
    ) -> Result<T, Error> {
        // Mostly the answer is there before the clock is read.
        let (mut wait, mut is_bounded) = (ring::Wait::new(), false);
        loop {
            let stream = self.wire.stream.descriptor();
            if let Some(given) = ring.client.wait(&mut wait, stream.as_slice(), &[], &mut give) {
                return Ok(given);
            }
            self.serve()?;
            if !is_bounded || wait.over().is_some() {
                let (patience, left) = (self.check_heartbeat()?, self.left());
                if left.is_some_and(|left| left.is_zero()) {
                    return Err(self.end("the server does not answer"));
                }
                let limit = left.into_iter().chain(patience).min();
                (wait, is_bounded) = (limit.map_or_else(ring::Wait::new, ring::Wait::within), true);
            }
        }
    }
}

/// Memory.
impl<H: Handler> Client<H> {
    /// Reads memory of the platform, or of another session, without the bus, as a debugger does.
    ///
    /// # Errors
    /// [`Error`].
    pub fn read_memory(&mut self, port: PortId, address: u64, into: &mut [u8]) -> Result<(), Error> {
        let size = self.piece();
        let mut pieces = into.chunks_mut(size).zip(addresses(address, size));
        self.ask_in_flight(
            |client| {
                let Some((piece, address)) = pieces.next() else { return Ok(None) };
                let length = u32::try_from(piece.len()).unwrap_or(u32::MAX);
                let access = AccessKind::Debug;
                let read = MemoryRead { port, address, length, access, axi_id: 0, at: None };
                client.send(Request::MemoryRead(read), &[]).map(|id| Some((id, piece)))
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

    /// Writes such memory, as a loader does.
    ///
    /// # Errors
    /// [`Error`].
    pub fn write_memory(&mut self, port: PortId, address: u64, bytes: &[u8]) -> Result<(), Error> {
        let size = self.piece();
        let mut pieces = bytes.chunks(size).zip(addresses(address, size));
        self.ask_in_flight(
            |client| {
                let Some((piece, address)) = pieces.next() else { return Ok(None) };
                let write = whole_write(port, address, piece.len(), AccessKind::Debug);
                client.send(Request::MemoryWrite(write), piece).map(|id| Some((id, ())))
            },
            |(), _| true,
        )
    }

    /// Sends bytes into a stream of the platform, at most one payload at a time. They take simulated time.
    ///
    /// # Errors
    /// [`Error`].
    pub fn feed(&mut self, port: PortId, bytes: &[u8]) -> Result<(), Error> {
        let address = self.port(port).map_or(0, |port| port.base);
        let write = whole_write(port, address, bytes.len(), AccessKind::Timed);
        self.ask(Request::MemoryWrite(write), bytes).map(|_| ())
    }

    fn piece(&self) -> usize {
        (self.wire.connection.max_payload() as usize).clamp(1, PIECE)
    }

    /// Sends the requests that `next` makes, a few at a time, and gives the answers' payloads to `done` with what belongs to
    /// them: `false` says that one is not fit. After a refusal no further request is made, and those under way are seen to
    /// their end.
    fn ask_in_flight<T>(
        &mut self,
        mut next: impl FnMut(&mut Self) -> Result<Option<(RequestId, T)>, Error>,
        mut done: impl FnMut(T, &[u8]) -> bool,
    ) -> Result<(), Error> {
        // One may be kept for a Ping.
        let most = IN_FLIGHT.min(self.welcome.max_in_flight as usize - 1).max(1);
        let mut asked: Vec<(RequestId, T)> = Vec::with_capacity(most);
        let (mut refused, mut is_all) = (None, false);
        loop {
            while asked.len() < most && !is_all && refused.is_none() {
                match next(self)? {
                    Some(request) => {
                        self.flush()?;
                        asked.push(request);
                    }
                    None => is_all = true,
                }
            }
            if asked.is_empty() {
                return refused.map_or(Ok(()), Err);
            }
            // They are answered in order.
            let (id, belongs) = asked.remove(0);
            match self.answer(id) {
                Ok(answer) if done(belongs, &answer.payload) => {}
                Ok(_) => return Err(self.end("an answer of another length than asked for")),
                Err(error @ Error::Ended(_)) => return Err(error),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
    }
}

/// Addresses of pieces: those beyond the last one begin again, and are refused.
fn addresses(from: u64, size: usize) -> impl Iterator<Item = u64> {
    (0..).step_by(size).map(move |at| from.wrapping_add(at))
}

fn whole_write(port: PortId, address: u64, length: usize, access: AccessKind) -> MemoryWrite {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    MemoryWrite { port, address, length, access, axi_id: 0, strobes: false, at: None }
}

/// A debugger: simulated time stands for everybody when it says so. Needs no port, and no part in the platform
/// ([`Options::observer`](crate::Options::observer)). When the session ends its breakpoints go, and time goes on.
impl<H: Handler> Client<H> {
    /// Asks whether time is stopped, and which breakpoints there are.
    ///
    /// # Errors
    /// [`Error`].
    pub fn debug_state(&mut self) -> Result<DebugState, Error> {
        match self.debug(DebugCommand::State)?.reply {
            Reply::DebugState(state) => Ok(*state),
            other => Err(Error::Unfit(other.name())),
        }
    }

    /// Stops time, if it does not stand.
    ///
    /// # Errors
    /// [`Error`].
    pub fn debug_stop(&mut self) -> Result<StopReport, Error> {
        let answer = self.debug(DebugCommand::Stop)?;
        stopped(answer.reply)
    }

    /// Lets time go on, as far as other sessions let it move. The [`Handler`] is told when it is
    /// [stopped](Handler::stopped) again.
    ///
    /// # Errors
    /// [`Error`].
    pub fn debug_continue(&mut self) -> Result<(), Error> {
        self.debug(DebugCommand::Continue).map(|_| ())
    }

    /// Lets time go on by so many steps, and waits until it is stopped again. In lockstep another session has
    /// to let it move.
    ///
    /// # Errors
    /// [`Error`].
    pub fn debug_step(&mut self, by: StepBy, count: u32) -> Result<StopReport, Error> {
        let answer = self.debug(DebugCommand::Step { by, count })?;
        stopped(answer.reply)
    }

    /// Makes time stop at an event, and returns the breakpoint's number.
    ///
    /// # Errors
    /// [`Error`].
    pub fn debug_break(&mut self, breakpoint: Breakpoint) -> Result<u32, Error> {
        match self.debug(DebugCommand::Break(breakpoint))?.reply {
            Reply::Value { value } => Ok(value),
            other => Err(Error::Unfit(other.name())),
        }
    }

    /// Takes a breakpoint away.
    ///
    /// # Errors
    /// [`Error`].
    pub fn debug_clear(&mut self, number: u32) -> Result<(), Error> {
        self.debug(DebugCommand::Clear { number }).map(|_| ())
    }

    fn debug(&mut self, command: DebugCommand) -> Result<Answer, Error> {
        self.ask(Request::Debug { command }, &[])
    }
}

fn stopped(reply: Reply) -> Result<StopReport, Error> {
    match reply {
        Reply::Stopped(report) => Ok(*report),
        other => Err(Error::Unfit(other.name())),
    }
}

/// The platform as a whole, and its time.
impl<H: Handler> Client<H> {
    /// Lets time pass in lockstep, and returns why and when it stopped.
    ///
    /// # Errors
    /// [`Error`]: refused in other time modes.
    pub fn advance(&mut self, until: Until) -> Result<(Time, Why), Error> {
        let answer = self.ask(Request::Advance { until }, &[])?;
        match answer.reply {
            Reply::Reached { why } => Ok((answer.time, why)),
            other => Err(Error::Unfit(other.name())),
        }
    }

    /// Does in lockstep everything that is due up to a time, and returns the time of the next event.
    ///
    /// # Errors
    /// [`Error`].
    pub fn step(&mut self, to: Time) -> Result<Option<Time>, Error> {
        match self.ask(Request::Step { to }, &[])?.reply {
            Reply::Stepped { next } => Ok(next),
            other => Err(Error::Unfit(other.name())),
        }
    }

    /// Makes this session a partner: one that has a clock of its own. Ports that it attaches from then on are
    /// timed: the [`Handler`] is told what the ports [drive](Handler::driven), the program
    /// [drives](Client::drive) its side, and simulated time waits for its [promises](Client::promise).
    /// `quantum` is the delay of a link between both sides in each direction, in edges.
    ///
    /// # Errors
    /// [`Error`]: among others, a port is attached already.
    pub fn clock(&mut self, reaction: Reaction, quantum: u32) -> Result<(), Error> {
        self.ask(Request::Clock { reaction, quantum }, &[]).map(|_| ())
    }

    /// Puts the platform back to power-on. Memory on this side keeps its bytes.
    ///
    /// # Errors
    /// [`Error`].
    pub fn reset(&mut self) -> Result<(), Error> {
        self.ask(Request::Reset, &[]).map(|_| ())
    }

    /// The platform's state.
    ///
    /// # Errors
    /// [`Error`].
    pub fn status(&mut self) -> Result<StatusReport, Error> {
        match self.ask(Request::Status, &[])?.reply {
            Reply::Status(status) => Ok(*status),
            other => Err(Error::Unfit(other.name())),
        }
    }

    /// One round trip that touches no hardware.
    ///
    /// # Errors
    /// [`Error`].
    pub fn ping(&mut self) -> Result<(), Error> {
        self.ask(Request::Ping, &[]).map(|_| ())
    }

    /// The platform's statistics: counters whose names begin with the prefix; all of them if it is empty.
    ///
    /// # Errors
    /// [`Error`].
    pub fn counters(&mut self, prefix: &str) -> Result<Vec<Counter>, Error> {
        self.all_counters(|first| Request::Statistics { prefix: prefix.to_owned(), first })
    }

    /// The present state: sessions, ports, units at work. An observer that has named no platform gets the list
    /// of platforms.
    ///
    /// # Errors
    /// [`Error`].
    pub fn inspect(&mut self) -> Result<Vec<Counter>, Error> {
        self.all_counters(|first| Request::Inspect { first })
    }

    /// The platforms of the server, by the names that observers use for them; for an observer that has named
    /// none.
    ///
    /// # Errors
    /// [`Error`].
    pub fn platforms(&mut self) -> Result<Vec<String>, Error> {
        let listed = self.inspect()?;
        Ok(listed
            .iter()
            .filter_map(|counter| counter.name.strip_prefix("platform."))
            .map(str::to_owned)
            .collect())
    }

    fn all_counters(&mut self, request: impl Fn(u32) -> Request) -> Result<Vec<Counter>, Error> {
        let (mut counters, mut bytes) = (Vec::<Counter>::new(), 0);
        loop {
            let first = u32::try_from(counters.len()).unwrap_or(u32::MAX);
            let answer = self.ask(request(first), &[])?;
            let Reply::Statistics { total, count } = answer.reply else {
                return Err(Error::Unfit(answer.reply.name()));
            };
            bytes += answer.payload.len();
            if total > COUNTERS || bytes > COUNTER_BYTES {
                return Err(self.end(format!(
                    "the server says it has {total} counters, and has sent {bytes} bytes of them; {COUNTERS} and {COUNTER_BYTES} \
                     bytes are the most that is taken"
                )));
            }
            let more = parse_counters(&answer.payload, count).map_err(|error| self.end(error.to_string()))?;
            counters.extend(more);
            if count == 0 || counters.len() >= total as usize {
                return Ok(counters);
            }
        }
    }

    /// Writes the platform, saved at this time, into `into`, if it has at most `most` bytes; returns the time of the saved state.
    /// `vp serve --restore` continues from these bytes. They have what was written in the platform's memories, deflated, and at most
    /// 64 MiB of other state; only the server knows how many there are.
    ///
    /// # Errors
    /// [`Error`], such as a refusal with [`ErrorCode::NotAtRest`]; [`SaveError::TooLarge`] before anything is written, and
    /// [`SaveError::Write`], after which the session goes on.
    pub fn save(&mut self, into: &mut dyn std::io::Write, most: u64) -> Result<Time, SaveError> {
        self.read_saved(into, most, |first| Request::Save { first })
    }

    /// Waits until the platform is at rest, as far as it comes to rest without a call, for at most so long of the server's wall clock.
    ///
    /// # Errors
    /// [`Error`], such as a refusal with [`ErrorCode::NotAtRest`], whose reason says what is under way.
    pub fn await_rest(&mut self, patience: std::time::Duration) -> Result<(), Error> {
        let patience = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX);
        self.ask(Request::AwaitRest { patience }, &[]).map(|_| ())
    }

    /// Writes the platform, saved at this time without the memories outside, into `into`, as [`Client::save`] does. What
    /// [`Client::restore_device`] takes up again.
    ///
    /// # Errors
    /// As of [`Client::save`].
    pub fn save_device(&mut self, into: &mut dyn std::io::Write, most: u64) -> Result<Time, SaveError> {
        self.read_saved(into, most, |first| Request::SaveDevice { first })
    }

    /// Has the platform go on from a saved one of the same description. The memories outside are as they are. Simulated time is the
    /// later of both.
    ///
    /// # Errors
    /// [`Error`], such as a refusal with [`ErrorCode::WrongState`]: the platform is as it was then.
    pub fn restore_device(&mut self, saved: &[u8]) -> Result<(), Error> {
        let (total, mut first) = (saved.len() as u64, 0);
        for part in saved.chunks(self.piece()) {
            let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
            self.ask(Request::RestoreDevice { total, first, length }, part)?;
            first += u64::from(length);
        }
        Ok(())
    }

    fn read_saved(
        &mut self,
        into: &mut dyn std::io::Write,
        most: u64,
        request: impl Fn(u64) -> Request,
    ) -> Result<Time, SaveError> {
        let (mut first, mut saved) = (0, None);
        loop {
            let Answer { reply, time, payload, .. } = self.ask(request(first), &[])?;
            let Reply::Saved { total } = reply else { return Err(Error::Unfit(reply.name()).into()) };
            if total > most {
                return Err(SaveError::TooLarge { total, most });
            }
            let (time, of) = *saved.get_or_insert((time, total));
            let end = first + payload.len() as u64;
            if payload.is_empty() || total != of || end > total {
                let what = format!("the server sends bytes {first} to {end} of {total} that were {of}");
                return Err(self.end(what).into());
            }
            into.write_all(&payload).map_err(SaveError::Write)?;
            first = end;
            if first == total {
                return Ok(time);
            }
        }
    }
}

/// Reason for which a platform was not saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The server's refusal, or the end of the session.
    #[error(transparent)]
    Session(#[from] Error),
    /// The saved platform has more bytes than are wanted.
    #[error("the saved platform has {total} bytes: {most} are taken at most")]
    TooLarge {
        /// Size of the saved platform in bytes, as the server says.
        total: u64,
        /// The limit.
        most: u64,
    },
    /// The bytes of the saved platform cannot be written.
    #[error(transparent)]
    Write(std::io::Error),
}
