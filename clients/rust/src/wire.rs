//! One session's stream together with the protocol's state: bytes in, bytes out, the greeting.

use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use vp_protocols::native::{Connection, Event, Refused, Violation, Welcome};
use vp_transport::{Readiness, Stream};

use crate::SilenceLimit;
use crate::silence::{Silence, limit_in_words};

/// Bytes read at once, unless a payload is known to be longer.
const READ: usize = 64 << 10;
/// Time that the server may take for [`MIN_PROGRESS`] of what is written. It reads no further while the platform has much to
/// do for this session, and a memory's owner has a time limit to answer; both are shorter.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes that the server takes in that time, at least, unless there are fewer: one that takes a byte now and then would
/// hold a call for ever.
const MIN_PROGRESS: usize = 64 << 10;
/// Bytes of the server's that are kept while it takes nothing: it has more to say than it may.
const UNREAD: usize = 64 << 20;
/// Time for which a stream that takes nothing is slept at before it is looked at again.
const NAP: Duration = Duration::from_millis(100);

pub(crate) struct Wire {
    pub(crate) stream: Stream,
    pub(crate) connection: Connection,
    input: BytesMut,
    landing: Box<[u8]>,
    /// The server's silence since something last came.
    pub(crate) silence: Silence,
    /// Time since which the server has had no room, and bytes that it has taken since then.
    stuck: Option<(Instant, usize)>,
    /// True if nothing was written yet in the present call. What the server has read between two calls is not known.
    is_new_call: bool,
    patience: Option<Duration>,
    /// Time until which writing may take.
    pub(crate) deadline: Option<Instant>,
}

/// Something was read.
pub(crate) struct Read {
    pub(crate) may_have_more: bool,
}

/// Reason for which there was no welcome.
pub(crate) enum GreetError {
    Io(io::Error),
    Refused(Refused),
    Protocol(String),
}

impl Wire {
    pub(crate) fn new(stream: Stream, connection: Connection, limit: SilenceLimit) -> Self {
        let (input, landing) = (BytesMut::new(), vec![0; READ].into());
        let patience = limit.duration().map(|limit| limit.max(PATIENCE));
        let silence = Silence::new(limit);
        Self {
            stream,
            connection,
            input,
            landing,
            silence,
            stuck: None,
            is_new_call: false,
            patience,
            deadline: None,
        }
    }

    /// Waits for the server's answer to the hello.
    pub(crate) fn greet(&mut self, until: Instant) -> Result<Welcome, GreetError> {
        // A server that turns everybody away may have closed its side already: its reason is still to be read.
        let written = self.flush();
        loop {
            match self.receive() {
                Ok(Some(Event::Welcome(welcome))) => return Ok(*welcome),
                Ok(Some(Event::Refused(refused))) => return Err(GreetError::Refused(refused)),
                Ok(Some(_)) => return Err(GreetError::Protocol("neither welcome nor refusal".to_owned())),
                Err(violation) => return Err(GreetError::Protocol(violation.to_string())),
                Ok(None) => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let error = io::Error::new(ErrorKind::TimedOut, "connected, and nobody greets");
                return Err(GreetError::Io(error));
            }
            self.stream.wait(Readiness::Bytes, Some(left));
            if let Err(error) = self.read() {
                return Err(GreetError::Io(written.err().unwrap_or(error)));
            }
        }
    }

    /// Takes the next event from what was read.
    pub(crate) fn receive(&mut self) -> Result<Option<Event>, Violation> {
        self.connection.receive(&mut self.input)
    }

    /// Reads once. The rest of a long payload is read directly to its final place, and nothing else is read
    /// with it. `None`: there are no bytes.
    pub(crate) fn read(&mut self) -> io::Result<Option<Read>> {
        if self.input.len() > UNREAD {
            let what = format!("the server has sent {} bytes and reads nothing", self.input.len());
            return Err(io::Error::other(what));
        }
        let lacking = self.connection.lacking(&self.input);
        let (read, room) = match lacking < READ {
            true => (self.stream.read(&mut self.landing)?, READ),
            false => (self.stream.read_onto(lacking, &mut self.input)?, lacking),
        };
        let Some(read) = read else { return Ok(None) };
        if read == 0 {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "the server closed the stream"));
        }
        self.silence.end();
        if lacking < READ {
            self.input.extend_from_slice(&self.landing[..read]);
        }
        Ok(Some(Read { may_have_more: read == room }))
    }

    /// Writes what there is room for. `false`: there is more.
    pub(crate) fn write(&mut self) -> io::Result<bool> {
        self.is_new_call = true;
        self.write_more()
    }

    fn write_more(&mut self) -> io::Result<bool> {
        while !self.connection.output().is_empty() {
            let written = self.stream.write(self.connection.output())?;
            if !self.has_taken(written)? {
                return Ok(false);
            }
        }
        self.stuck = None;
        Ok(true)
    }

    /// Writes everything. While the server takes nothing what it says is read, or both would wait for ever.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.flush_until(None).map(drop)
    }

    /// Writes everything as [`Wire::flush`] does, but only until that instant. `false`: there is more, which is still to be written.
    pub(crate) fn flush_until(&mut self, until: Option<Instant>) -> io::Result<bool> {
        self.is_new_call = true;
        while !self.write_more()? {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(false);
            }
            self.nap(left)?;
        }
        Ok(true)
    }

    /// Writes everything, with files beside the first byte that was not written before.
    pub(crate) fn flush_with(&mut self, files: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.is_new_call = true;
        loop {
            let sent = self.stream.send_with(self.connection.output(), files)?;
            if self.has_taken(sent)? {
                return self.flush();
            }
            self.nap(None)?;
        }
    }

    /// Notes whether the server took something. It must not take next to nothing for ever.
    fn has_taken(&mut self, written: Option<usize>) -> io::Result<bool> {
        let is_new_call = std::mem::take(&mut self.is_new_call);
        if let Some(written) = written {
            let stuck = self.stuck.map(|(since, taken)| (since, taken + written));
            self.stuck = stuck.filter(|(_, taken)| *taken < MIN_PROGRESS && !is_new_call);
            return Ok(true);
        }
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Err(io::Error::new(
                ErrorKind::TimedOut,
                "the server does not read all in the time it has",
            ));
        }
        let (since, taken) = *self.stuck.get_or_insert((now, 0));
        if let Some(patience) = self.patience
            && now - since >= patience
        {
            let patience = limit_in_words(patience);
            let what = match taken {
                0 => format!("the server has read nothing for {patience}"),
                taken => format!("the server has read {taken} bytes in {patience}, and more waits for it"),
            };
            return Err(io::Error::new(ErrorKind::TimedOut, what));
        }
        Ok(false)
    }

    /// Reads what the server says, or sleeps for a moment, until the server takes more.
    fn nap(&mut self, limit: Option<Duration>) -> io::Result<()> {
        if self.read()?.is_none() {
            let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let limits = [limit, self.patience, left];
            let nap = limits.into_iter().flatten().fold(NAP, Duration::min);
            self.stream.wait(Readiness::BytesOrRoom, Some(nap));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::sync::mpsc;
    use std::thread;
    use vp_protocols::native::TimeMode;
    use vp_transport::in_process;

    /// A stream with 16 MiB to be written.
    fn wire() -> (Wire, Stream) {
        let (near, far) = in_process::pair();
        let mut connection = Connection::client(Connection::hello("test", None, TimeMode::Lockstep)).unwrap();
        connection.output().split();
        connection.output().append(Bytes::from(vec![0; 16 << 20]).into());
        (Wire::new(near, connection, SilenceLimit::default()), far)
    }

    #[test]
    fn writing_to_a_server_that_reads_nothing_ends_with_an_error() {
        let (mut wire, _far) = wire();
        wire.patience = Some(Duration::from_millis(1));
        let error = wire.flush().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(error.to_string(), "the server has read nothing for 1 ms");
    }

    /// A server that reads a byte now and then, until the sender is dropped.
    fn byte_by_byte(far: Stream) -> (mpsc::Sender<()>, thread::JoinHandle<()>) {
        let (end, ended) = mpsc::channel();
        let server = thread::spawn(move || {
            while ended.recv_timeout(Duration::from_millis(1)) == Err(mpsc::RecvTimeoutError::Timeout) {
                far.read(&mut [0; 1]).unwrap();
            }
        });
        (end, server)
    }

    #[test]
    fn writing_to_a_server_that_reads_a_byte_now_and_then_ends_with_an_error() {
        let (mut wire, far) = wire();
        wire.patience = Some(Duration::from_millis(50));
        let (end, server) = byte_by_byte(far);
        let error = wire.flush().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let told = error.to_string();
        assert!(told.starts_with("the server has read ") && told.contains(" 50 ms"), "{told}");
        drop(end);
        server.join().unwrap();
    }

    #[test]
    fn each_64_kib_that_the_server_reads_begin_a_new_time_to_wait() {
        let (mut wire, _far) = wire();
        wire.patience = Some(Duration::ZERO);
        let since = Instant::now();
        wire.stuck = Some((since, 0));
        assert!(wire.has_taken(Some(MIN_PROGRESS - 1)).unwrap());
        assert_eq!(wire.stuck, Some((since, MIN_PROGRESS - 1)));
        assert!(wire.has_taken(Some(1)).unwrap());
        assert_eq!(wire.stuck, None);
        let error = wire.has_taken(None).unwrap_err();
        assert_eq!(error.to_string(), "the server has read nothing for 0 ms");
    }

    #[test]
    fn a_server_that_has_read_while_nobody_wrote_has_a_new_time() {
        let (mut wire, _far) = wire();
        (wire.stuck, wire.is_new_call) = (Some((Instant::now(), 0)), true);
        assert!(wire.has_taken(Some(1)).unwrap());
        assert_eq!(wire.stuck, None);
    }

    #[test]
    fn writing_for_a_time_leaves_the_rest_to_be_written() {
        let (mut wire, far) = wire();
        let before = wire.connection.output().len();
        let (end, server) = byte_by_byte(far);
        assert!(!wire.flush_until(Some(Instant::now() + Duration::from_millis(20))).unwrap());
        let left = wire.connection.output().len();
        assert!((1..before).contains(&left), "{left} of {before}");
        drop(end);
        server.join().unwrap();
    }

    #[test]
    fn writing_ends_with_the_time_it_has_though_the_server_reads_now_and_then() {
        let (mut wire, far) = wire();
        wire.deadline = Some(Instant::now() + Duration::from_millis(50));
        let server = thread::spawn(move || {
            let mut bytes = [0; 1];
            while far.read(&mut bytes).is_ok_and(|read| read != Some(0)) {
                thread::yield_now();
            }
        });
        assert_eq!(wire.flush().unwrap_err().kind(), ErrorKind::TimedOut);
        drop(wire);
        server.join().unwrap();
    }

    #[test]
    fn a_server_that_talks_and_does_not_listen_fills_no_memory() {
        let (mut wire, far) = wire();
        let server = thread::spawn(move || {
            let piece = vec![0; 1 << 20];
            while far.write(&mut &piece[..]).is_ok() {}
        });
        let error = wire.flush().unwrap_err();
        assert!(error.to_string().ends_with("bytes and reads nothing"), "{error}");
        assert!(wire.input.len() < 2 * UNREAD);
        drop(wire);
        server.join().unwrap();
    }

    #[test]
    fn writing_goes_on_while_the_server_reads_and_takes_in_what_it_says() {
        let (mut wire, far) = wire();
        let server = thread::spawn(move || {
            assert_eq!(far.write(&mut &[7; 1000][..]).unwrap(), Some(1000));
            let (mut all, mut bytes) = (0, vec![0; READ]);
            while all < 16 << 20 {
                far.wait(Readiness::Bytes, None);
                all += far.read(&mut bytes).unwrap().unwrap_or(0);
            }
            far
        });
        wire.flush().unwrap();
        let _far = server.join().unwrap();
        while wire.input.len() < 1000 {
            wire.stream.wait(Readiness::Bytes, None);
            wire.read().unwrap();
        }
    }
}
