//! Register accesses through a ring in memory that the server maps too: no system call while both sides are awake.
//!
//! One access at a time, whichever vCPU it is of: the bus answers in order anyhow. The session's thread goes on serving the
//! stream meanwhile; its end is the end of the ring.

use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vp_shm::ring::{Access, Client, Line, LineReader, Reply, Request, Wait};

use super::stream::Stream;
use super::wire::Broken;
use super::{AccessError, Guest, Link, Session};

/// The interrupt line of a session with a ring, of which several threads hear.
pub(super) struct Lines {
    newest: Mutex<Line>,
    reader: LineReader,
    guest: Arc<dyn Guest>,
}

impl Lines {
    /// Tells the guest, if that is news.
    fn hear(&self, line: Line) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if line.is_newer(*newest) {
            *newest = line;
            // Under the lock: a later level is not told before an earlier one.
            self.guest.line(line.level());
        }
    }

    /// Tells the guest the level that the line has now.
    pub(super) fn look(&self) {
        self.hear(self.reader.line());
    }
}

/// A session's ring.
pub(super) struct RegisterRing {
    client: Client,
    /// The session's stream, for its end.
    stream: Stream,
    /// Whether the session is over.
    over: Arc<AtomicBool>,
    /// Which session's it is.
    generation: u64,
    base: u64,
    lines: Arc<Lines>,
    /// The line as the last answer had it.
    line: Line,
}

impl RegisterRing {
    pub(super) fn new(
        client: Client,
        stream: Stream,
        over: Arc<AtomicBool>,
        base: u64,
        guest: Arc<dyn Guest>,
    ) -> Self {
        let (line, reader) = (Line::default(), client.line_reader());
        let lines = Arc::new(Lines { newest: Mutex::new(line), reader, guest });
        Self { client, stream, over, generation: 0, base, lines, line }
    }

    /// The same, of this session.
    pub(super) fn of(self, generation: u64) -> Self {
        Self { generation, ..self }
    }

    pub(super) fn lines(&self) -> Arc<Lines> {
        self.lines.clone()
    }

    /// Asks, once there is room, and waits for the answer if there will be one.
    fn access(
        &mut self,
        offset: u64,
        access: Access,
        wait: &mut Wait,
    ) -> Result<Option<Reply>, Option<Broken>> {
        let request = Request { access, address: self.base.wrapping_add(offset), at: None };
        self.until(wait, |client| client.ask(request).then_some(()))?;
        match access {
            Access::Posted(_) => Ok(None),
            Access::Read | Access::Write(_) => self.until(wait, Client::answer).map(Some),
        }
    }

    /// Waits until the ring gives something, as long as the session lives. Without a reason for the end: somebody else has said it.
    fn until<T>(
        &mut self,
        wait: &mut Wait,
        mut give: impl FnMut(&mut Client) -> Option<T>,
    ) -> Result<T, Option<Broken>> {
        loop {
            if let Some(given) = self.client.wait(wait, &[], &[self.stream.as_fd()], &mut give) {
                return Ok(given);
            }
            if self.over.load(Ordering::Acquire) {
                return Err(None);
            }
            if let Some(limit) = wait.over() {
                return Err(Some(Broken(format!("no answer for {} s", limit.as_secs()))));
            }
            // The thread that listens finds out as well, perhaps later.
            if self.stream.is_ended() {
                return Err(Some(Broken("the server closed the stream".into())));
            }
        }
    }
}

impl Session {
    /// Accesses a register through the ring. None: there is no ring.
    pub(super) fn through_ring(&self, offset: u64, access: Wanted) -> Option<Result<u32, AccessError>> {
        let mut place = self.ring();
        let ring = place.as_mut()?;
        if ring.over.load(Ordering::Acquire) {
            *place = None;
            return None;
        }
        let access = match access {
            Wanted::Value => Access::Read,
            // See `Session::write`.
            Wanted::Store(value) if ring.lines.reader.line().level() => Access::Write(value),
            Wanted::Store(value) => Access::Posted(value),
        };
        match ring.access(offset, access, &mut Wait::within(self.timeout)) {
            Ok(None) => Some(Ok(0)),
            Ok(Some(reply)) => {
                if reply.line != ring.line {
                    ring.line = reply.line;
                    ring.lines.hear(reply.line);
                }
                Some(if reply.is_done() { Ok(reply.value) } else { Err(AccessError) })
            }
            Err(why) => {
                let generation = ring.generation;
                *place = None;
                // The session's lock comes before the ring's.
                drop(place);
                if let Some(broken) = why {
                    let mut state = self.desk.lock();
                    if state.generation == generation && matches!(state.link, Link::Up(_)) {
                        self.desk.end(&mut state, &broken);
                    }
                }
                Some(Err(self.told()))
            }
        }
    }

    /// An access has failed: that is what the guest had to learn of the session's end.
    fn told(&self) -> AccessError {
        if let Link::Down { told, .. } = &mut self.desk.lock().link {
            *told = true;
        }
        AccessError
    }

    fn ring(&self) -> MutexGuard<'_, Option<RegisterRing>> {
        self.desk.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an access is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted {
    Value,
    Store(u32),
}
