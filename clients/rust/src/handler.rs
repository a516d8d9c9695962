//! The handler of a program: events that it is told, and requests that it answers, while it uses a session.

use bytes::Bytes;
use vp_protocols::native::{
    Driven, ErrorCode, MemoryWrite, PortId, Posted, Promised, Reply, Request, RequestId, StopReport, Time,
    WarningMarks,
};

/// Reason for which a request of the platform is not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Code of the error, for programs.
    pub code: ErrorCode,
    /// Reason for people: what, where, what would be right.
    pub reason: String,
}

impl Refusal {
    /// A refusal, with its reason for people.
    pub fn new(code: ErrorCode, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }
}

/// The result of a request of the platform.
#[derive(Debug, Clone, PartialEq)]
pub enum Answered {
    /// The answer.
    Now {
        /// The simulated time at which it took effect; 0 leaves it to the platform's own latencies.
        time: Time,
        /// Result of the request.
        reply: Reply,
        /// A memory's bytes; otherwise empty.
        payload: Bytes,
    },
    /// The answer is given later, with [`Client::reply`](crate::Client::reply).
    Later,
}

impl Answered {
    /// An answer without a time of its own.
    pub fn now(reply: Reply, payload: impl Into<Bytes>) -> Self {
        Self::Now { time: Time::ZERO, reply, payload: payload.into() }
    }
}

impl From<Refusal> for Answered {
    fn from(Refusal { code, reason }: Refusal) -> Self {
        Self::now(Reply::Failed { code, reason }, Bytes::new())
    }
}

/// Gets events and memory requests in the order in which the server has sent them, from the call of the
/// [`Client`](crate::Client) that receives them. It must not wait for another thread that waits for the
/// session.
///
/// A program that only accesses registers uses `()`, which ignores events and has no memory.
pub trait Handler {
    /// An interrupt line has had this level since that time. Also called with the present level on attaching.
    fn interrupt(&mut self, line: PortId, level: bool, time: Time) {
        let _ = (line, level, time);
    }

    /// A message of the platform for people.
    fn warning(&mut self, time: Time, text: String) {
        let _ = (time, text);
    }

    /// A message of the platform for people, with marks for programs.
    fn marked_warning(&mut self, time: Time, marks: WarningMarks, text: String) {
        let _ = marks;
        self.warning(time, text);
    }

    /// A debugger has stopped simulated time. Called for a session that has sent a debug command, unless its
    /// own call gets the answer. Called for every other session when a debugger stops time for the first time,
    /// or when it joins while time is stopped.
    fn stopped(&mut self, report: StopReport) {
        let _ = report;
    }

    /// Fills `into` from the memory of which this session is the target.
    ///
    /// # Errors
    /// [`Refusal`], which the device sees as an error on its bus.
    fn read(&mut self, port: PortId, address: u64, into: &mut [u8]) -> Result<(), Refusal> {
        let _ = (port, address, into);
        Err(no_memory())
    }

    /// Stores into that memory. A write with strobes comes as one call for each contiguous range of bytes.
    ///
    /// # Errors
    /// [`Refusal`].
    fn write(&mut self, port: PortId, address: u64, bytes: &[u8]) -> Result<(), Refusal> {
        let _ = (port, address, bytes);
        Err(no_memory())
    }

    /// Carries out any request of the platform. The default is what [`serve_memory`] does. A program that
    /// answers some memory accesses later must not promise the server to serve them in order
    /// ([`Options::capabilities`](crate::Options::capabilities)).
    fn request(&mut self, id: RequestId, request: &Request, payload: &Bytes) -> Answered {
        let _ = id;
        serve_memory(self, request, payload)
    }

    /// Carries out a posted write, which has no answer. By default, memory writes go to
    /// [`write`](Handler::write).
    fn posted(&mut self, posted: &Posted, payload: &Bytes) {
        if let Posted::MemoryWrite(write) = posted {
            // Nobody asked to be told.
            let _ = store(self, write, payload);
        }
    }

    /// A port drives something for this session, a [partner](crate::Client::clock); `data` has the bytes of a
    /// beat.
    fn driven(&mut self, driven: Driven, data: &Bytes) {
        let _ = (driven, data);
    }

    /// A promise of the platform to this session, a partner, to be silent.
    fn promised(&mut self, promised: Promised) {
        let _ = promised;
    }
}

impl Handler for () {}

/// Passes memory accesses to [`Handler::read`] and [`Handler::write`], and refuses everything else.
pub fn serve_memory(handler: &mut (impl Handler + ?Sized), request: &Request, payload: &Bytes) -> Answered {
    let done = match request {
        Request::MemoryRead(read) => {
            let mut data = vec![0; read.length as usize];
            handler.read(read.port, read.address, &mut data).map(|()| Answered::now(Reply::Data, data))
        }
        Request::MemoryWrite(write) => {
            store(handler, write, payload).map(|()| Answered::now(Reply::Done, Bytes::new()))
        }
        _ => Err(Refusal::new(ErrorCode::Unsupported, "this client answers for memory only")),
    };
    done.unwrap_or_else(Answered::from)
}

fn no_memory() -> Refusal {
    Refusal::new(ErrorCode::NotAttached, "no memory of this client's")
}

/// Stores what a write's strobes leave of it, run by run.
fn store(handler: &mut (impl Handler + ?Sized), write: &MemoryWrite, payload: &Bytes) -> Result<(), Refusal> {
    let (data, strobes) = write.split(payload);
    let Some(strobes) = strobes else { return handler.write(write.port, write.address, &data) };
    let is_written = |at: usize| strobes.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
    let mut at = 0;
    while at < data.len() {
        let run = (at..data.len()).take_while(|&at| is_written(at)).count();
        if run > 0 {
            handler.write(write.port, write.address.wrapping_add(at as u64), &data[at..at + run])?;
        }
        at += run + 1;
    }
    Ok(())
}
