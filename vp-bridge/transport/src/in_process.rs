//! A stream between two threads of one process: two buffers behind a lock, and no descriptor.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Buf;

use crate::{Readiness, Stream};

/// Bytes that a direction holds before its reader has taken some.
const ROOM: usize = 256 << 10;

/// Two streams, each the other's peer.
pub fn pair() -> (Stream, Stream) {
    let pipes = Arc::new(Pipes::default());
    let end = |side| Stream::InProcess(PipeEnd(Pipe { pipes: pipes.clone(), side }));
    (end(0), end(1))
}

/// One end. The stream ends with it.
#[derive(Debug)]
pub struct PipeEnd(pub(crate) Pipe);

/// Bytes that an end reads and writes.
#[derive(Debug, Clone)]
pub(crate) struct Pipe {
    pipes: Arc<Pipes>,
    /// The number of this end: it reads the buffer of its number, and writes the other one.
    side: usize,
}

#[derive(Debug, Default)]
struct Pipes {
    state: Mutex<PipeState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct PipeState {
    /// Towards each side.
    buffers: [VecDeque<u8>; 2],
    is_ended: bool,
}

impl Pipe {
    fn lock(&self) -> MutexGuard<'_, PipeState> {
        self.pipes.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let mut state = self.lock();
        let is_ended = state.is_ended;
        let buffer = &mut state.buffers[self.side];
        if buffer.is_empty() {
            return Ok(is_ended.then_some(0));
        }
        let read = io::Read::read(buffer, into)?;
        self.pipes.changed.notify_all();
        Ok(Some(read))
    }

    pub(crate) fn write(&self, bytes: &mut impl Buf) -> io::Result<Option<usize>> {
        let mut state = self.lock();
        if state.is_ended {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let buffer = &mut state.buffers[1 - self.side];
        let (mut written, room) = (0, ROOM - buffer.len());
        while written < room && bytes.has_remaining() {
            let chunk = bytes.chunk();
            let part = &chunk[..chunk.len().min(room - written)];
            buffer.extend(part);
            let part = part.len();
            written += part;
            bytes.advance(part);
        }
        self.pipes.changed.notify_all();
        Ok((written > 0 || !bytes.has_remaining()).then_some(written))
    }

    pub(crate) fn wait(&self, wanted: Readiness, timeout: Option<Duration>) {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut state = self.lock();
        loop {
            let can_read = !state.buffers[self.side].is_empty() || state.is_ended;
            let can_write = wanted == Readiness::BytesOrRoom && state.buffers[1 - self.side].len() < ROOM;
            if can_read || can_write {
                return;
            }
            let changed = &self.pipes.changed;
            state = match until {
                None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return;
                    }
                    changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.lock().is_ended
    }

    pub(crate) fn shut_down(&self) {
        self.lock().is_ended = true;
        self.pipes.changed.notify_all();
    }
}

impl Drop for PipeEnd {
    fn drop(&mut self) {
        self.0.shut_down();
    }
}
