//! A client's register accesses through a ring, while it goes on serving the stream.

use vp_core::Time;
use vp_models::host::HostError;
use vp_protocols::native::{Capabilities, ErrorCode, OpenRing, Request};
use vp_shm::ring::{self, Access, Client, Line, Wait};

use super::{RemoteHost, refusal};

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
        let mut wait = Wait::new();
        loop {
            let Some(ring) = &mut self.ring else { return Err(self.broken("the ring is gone")) };
            if let Some(given) = ring.client.wait(&mut wait, &[self.wire.file()], &[], &mut give) {
                return Ok(given);
            }
            self.serve_stream()?;
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
