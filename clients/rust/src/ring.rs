//! Register accesses through a ring in memory that the server maps too: no system call while both sides are awake.
//!
//! A [`Client`](crate::Client) with a ring uses it by itself, and serves the stream while it waits. A program
//! of several threads takes the ring out ([`Client::take_ring`](crate::Client::take_ring)). One thread then
//! accesses registers while another serves the stream; the end of the stream is the end of the ring.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;
use vp_protocols::native::PortId;
use vp_shm::ring::{Access, Client, Line, LineReader, Reply, Request, Wait};
use vp_transport::Watch;

use crate::silence::limit_in_words;

/// The interrupt line beside a ring. The ring's answers show its level, as notices on the stream do. Each level
/// has a count, so an older one that comes late is ignored.
#[derive(Debug)]
pub struct RingLine {
    port: PortId,
    newest: Mutex<Line>,
    reader: LineReader,
}

impl RingLine {
    /// Returns the line's port.
    pub fn port(&self) -> PortId {
        self.port
    }

    /// The level that it has now.
    pub fn level(&self) -> bool {
        self.reader.line().level()
    }

    /// Reports the level that an answer has shown, if it is new. One thread at a time: a later level is not
    /// reported before an earlier one.
    pub(crate) fn hear(&self, line: Line, tell: impl FnOnce(bool)) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if line.is_newer(*newest) {
            *newest = line;
            tell(line.level());
        }
    }

    /// Tells the level that the line has now, if that is news.
    pub(crate) fn look(&self, tell: impl FnOnce(bool)) {
        self.hear(self.reader.line(), tell);
    }
}

/// Reason for which a ring gives no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RingError {
    /// The session has ended, as the thread that serves the stream has noticed.
    #[error("the session is over")]
    Over,
    /// The server has closed the stream.
    #[error("the server closed the stream")]
    Closed,
    /// The server lets the ring be.
    #[error("no answer for {}", limit_in_words(*.0))]
    NoAnswer(Duration),
}

/// A session's ring.
#[derive(Debug)]
pub struct Ring {
    pub(crate) client: Client,
    pub(crate) port: PortId,
    /// The session's stream, for its end.
    watch: Watch,
    /// True if the session is over.
    over: Arc<AtomicBool>,
    line: Arc<RingLine>,
    /// The line as the last answer had it.
    seen: Line,
}

impl Ring {
    pub(crate) fn new(
        client: Client,
        watch: Watch,
        over: Arc<AtomicBool>,
        [port, line]: [PortId; 2],
    ) -> Self {
        let (seen, reader) = (Line::default(), client.line_reader());
        let line = Arc::new(RingLine { port: line, newest: Mutex::new(seen), reader });
        Self { client, port, watch, over, line, seen }
    }

    /// The interrupt line that it shows.
    pub fn line(&self) -> &Arc<RingLine> {
        &self.line
    }

    /// Returns true if the session is over.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Accesses a register while another thread serves the stream. Waits up to a time limit for room and for
    /// the answer; a posted write has no answer. `tell` gets the line's level, if the answer has a new one.
    ///
    /// # Errors
    /// [`RingError`]: the ring is of no more use.
    pub fn access(
        &mut self,
        address: u64,
        access: Access,
        timeout: Duration,
        tell: impl FnOnce(bool),
    ) -> Result<Option<Reply>, RingError> {
        let mut wait = Wait::within(timeout);
        let request = Request { access, address, at: None };
        self.until(&mut wait, |client| client.ask(request).then_some(()))?;
        if let Access::Posted(_) = access {
            return Ok(None);
        }
        let reply = self.until(&mut wait, Client::answer)?;
        self.hear(reply.line, tell);
        Ok(Some(reply))
    }

    /// Tells of a line's level that came with an answer.
    pub(crate) fn hear(&mut self, line: Line, tell: impl FnOnce(bool)) {
        if line != self.seen {
            self.seen = line;
            self.line.hear(line, tell);
        }
    }

    fn until<T>(
        &mut self,
        wait: &mut Wait,
        mut give: impl FnMut(&mut Client) -> Option<T>,
    ) -> Result<T, RingError> {
        loop {
            let stream = self.watch.descriptor();
            if let Some(given) = self.client.wait(wait, &[], stream.as_slice(), &mut give) {
                return Ok(given);
            }
            if self.is_over() {
                return Err(RingError::Over);
            }
            if let Some(limit) = wait.over() {
                return Err(RingError::NoAnswer(limit));
            }
            // Who serves the stream finds out as well, perhaps later.
            if self.watch.is_ended() {
                return Err(RingError::Closed);
            }
        }
    }
}
