//! A client's register accesses through a ring, while it goes on serving the stream.

use std::time::{Duration, Instant};

use vp_core::Time;
use vp_models::host::HostError;
use vp_protocols::native::{Capabilities, ErrorCode, OpenRing, Request};
use vp_shm::ring::{self, Access, Client, Line};

use super::{RemoteHost, refusal};

/// How long to look before sleeping.
const LOOK: Duration = Duration::from_micros(50);
/// Looks at the ring before somebody else has the core: longer than an access takes if both sides have one.
const GLANCES: u32 = 32;
/// Rounds of them for each look at the stream and the clock.
const ROUNDS: u32 = 8;

/// The session's ring.
pub(super) struct Ring {
    client: Client,
    line: Line,
}

impl Ring {
    /// The line's level, if it is news.
    fn hear(&mut self, line: Line) -> Option<bool> {
        let is_news = line.is_newer(self.line);
        self.line = if is_news { line } else { self.line };
        is_news.then(|| line.level())
    }
}

impl RemoteHost {
    /// Opens a ring, if the server takes one. What it refuses goes over the stream as ever.
    pub(super) fn open_ring(&mut self) -> Result<(), HostError> {
        if !self.connection.capabilities().contains(Capabilities::REGISTER_RING) {
            return Ok(());
        }
        let Ok(client) = Client::new() else { return Ok(()) };
        let request = Request::OpenRing(OpenRing { port: self.csb, line: self.irq });
        if self.offer(request, &client.files())? {
            self.ring = Some(Ring { client, line: Line::default() });
            self.look_at_line();
        }
        Ok(())
    }

    /// Takes the line's level from the ring. `false`: there is none.
    pub(super) fn look_at_line(&mut self) -> bool {
        let Some(ring) = &mut self.ring else { return false };
        let line = ring.client.line();
        if let Some(level) = ring.hear(line) {
            self.level = level;
        }
        true
    }

    /// Accesses a register through the ring, and waits for the answer if there will be one. None: there is no ring.
    pub(super) fn through_ring(&mut self, address: u32, access: Access) -> Option<Result<u32, HostError>> {
        self.ring.as_ref()?;
        Some(match &self.broken {
            Some(broken) => Err(HostError::Transport(broken.clone())),
            None => self.access(address, access),
        })
    }

    fn access(&mut self, address: u32, access: Access) -> Result<u32, HostError> {
        // What was said on the stream before comes before.
        if !self.connection.output().is_empty() {
            self.flush()?;
        }
        let request = ring::Request { access, address: self.register(address), at: None };
        self.until(|ring| ring.ask(request).then_some(()))?;
        if let Access::Posted(_) = access {
            return Ok(0);
        }
        let reply = self.until(Client::answer)?;
        self.time = self.time.max(Time::ps(reply.time));
        if let Some(level) = self.ring.as_mut().and_then(|ring| ring.hear(reply.line)) {
            self.level = level;
        }
        match u16::try_from(reply.code) {
            Ok(0) => Ok(reply.value),
            code => Err(refusal(ErrorCode::from(code.unwrap_or(u16::MAX)), String::new())),
        }
    }

    /// Waits until the ring gives something, and serves the stream meanwhile.
    fn until<T>(&mut self, mut give: impl FnMut(&mut Client) -> Option<T>) -> Result<T, HostError> {
        let (mut began, mut glances) = (None, 0_u32);
        loop {
            let Some(ring) = &mut self.ring else { return Err(self.broken("the ring is gone")) };
            if let Some(given) = give(&mut ring.client) {
                return Ok(given);
            }
            glances += 1;
            if !glances.is_multiple_of(GLANCES) {
                std::hint::spin_loop();
                continue;
            }
            std::thread::yield_now();
            if !glances.is_multiple_of(GLANCES * ROUNDS) {
                continue;
            }
            self.serve_stream()?;
            if began.get_or_insert_with(Instant::now).elapsed() < LOOK {
                continue;
            }
            let Some(ring) = &mut self.ring else { continue };
            if ring.client.fall_asleep() {
                // A ring that is full says nothing when there is room again: so not for long.
                let timeout = (!ring.client.has_room()).then_some(LOOK);
                vp_shm::wait(&[ring.client.bell(), self.wire.file()], &[], timeout);
                ring.client.wake();
            }
        }
    }

    /// Takes what has come over the stream, without waiting.
    fn serve_stream(&mut self) -> Result<(), HostError> {
        if let Err(error) = self.wire.read_now() {
            return Err(self.broken(error.to_string()));
        }
        while let Some(event) = self.receive()? {
            // Nobody waits for an answer on the stream.
            self.event(event)?;
        }
        self.flush()
    }
}
