//! Peers that speak Remote-Port.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use vp_protocols::remote_port::{
    Access, Answer, Capabilities, Connection, Event, Request, RequestId, Rule, Transaction,
};
use vp_transport::MeetingPlace;

use crate::report::Tally;
use crate::wire::{WaitResult, Wire};
use crate::{MeetError, Over, PeerRole, Report};

/// Order for a check: the peer, and what is asked of it.
#[derive(Debug, Clone)]
pub struct Check {
    /// Place at which the peer is met.
    pub place: MeetingPlace,
    /// Role of the peer.
    pub peer: PeerRole,
    /// The channel of its registers, or of its memory.
    pub channel: u32,
    /// A register of 4 bytes that may be read, and written with what was read; or 64 bytes of memory that may be written.
    pub address: u64,
    /// Capabilities that are announced to the peer. Byte enables that come without having been announced are a broken rule.
    pub announced: Capabilities,
    /// True if a peer on another host may connect.
    pub insecure: bool,
    /// Time for which each answer is waited for; and of a CPU, time for which it may be silent before it is taken to be done.
    pub timeout: Duration,
}

/// Rules of each packet that arrives.
const EACH_PACKET: [Rule; 4] =
    [Rule::UnknownCommand, Rule::UnusedCommand, Rule::PacketTooLong, Rule::PacketTooShort];
/// Rules of each access that arrives, either way.
const EACH_ACCESS: [Rule; 6] = [
    Rule::AccessTooLong,
    Rule::Width,
    Rule::StreamWidth,
    Rule::NextOffset,
    Rule::DataOutside,
    Rule::SurplusBytes,
];

struct Session {
    wire: Wire,
    connection: Connection,
    announced: Capabilities,
    input: BytesMut,
    tally: Tally<Rule>,
    timeout: Duration,
    has_greeted: bool,
    /// True if the peer has closed the stream.
    is_closed: bool,
    /// Bytes that the peer has written to us, by address.
    memory: BTreeMap<u64, u8>,
    /// The latest time that the peer has told.
    time: i64,
}

impl Check {
    /// Meets the peer and checks it.
    ///
    /// # Errors
    /// [`MeetError`]: there is none.
    pub fn run(&self) -> Result<Report, MeetError> {
        let mut session = Session {
            wire: Wire::meet(&self.place, self.insecure, self.timeout)?,
            connection: Connection::new(self.announced),
            announced: self.announced,
            input: BytesMut::new(),
            tally: Tally::new(),
            timeout: self.timeout,
            has_greeted: false,
            is_closed: false,
            memory: BTreeMap::new(),
            time: 0,
        };
        // How it ended is in the tally.
        let _ = match self.peer {
            PeerRole::Device => session.check_device(self.channel, self.address),
            PeerRole::Memory => session.check_memory(self.channel, self.address),
            PeerRole::Cpu => session.serve(),
        };
        let is_asked = self.peer != PeerRole::Cpu;
        let could_break = |rule| match rule {
            Rule::MemoryKeeps => self.peer == PeerRole::Memory,
            Rule::UnexpectedResponse
            | Rule::ResponseCommand
            | Rule::ResponseEcho
            | Rule::Answered
            | Rule::TimeOfResponse => is_asked,
            _ => true,
        };
        Ok(session.tally.report("remote-port", self.peer, self.place.address.to_string(), could_break))
    }
}

impl Session {
    // What comes.

    /// The next thing that comes by then.
    fn event(&mut self, until: Instant) -> Result<Option<Event>, Over> {
        loop {
            let output = self.connection.output().split();
            self.wire.send(&output, until);
            match self.connection.receive(&mut self.input) {
                Err(violation) => {
                    self.tally.broken(violation.rule(), violation, &self.wire);
                    return Err(Over);
                }
                Ok(Some(event)) => {
                    self.count(&event);
                    return Ok(Some(event));
                }
                Ok(None) => {}
            }
            match self.wire.receive(&mut self.input, until) {
                WaitResult::Bytes => {}
                WaitResult::Nothing => return Ok(None),
                WaitResult::End => {
                    self.is_closed = true;
                    if !self.input.is_empty() {
                        let what = format!("the stream ends after {} bytes of a packet", self.input.len());
                        self.tally.broken(Rule::PacketTooShort, what, &self.wire);
                    }
                    return Err(Over);
                }
            }
        }
    }

    /// Notes which rules an event could have broken.
    fn count(&mut self, event: &Event) {
        self.tally.kept(&EACH_PACKET);
        let is_hello = matches!(event, Event::Hello(_));
        if is_hello || !self.has_greeted {
            self.tally.judge(Rule::HelloFirst, is_hello, "something else came before it", &self.wire);
        }
        let transaction = match event {
            Event::Hello(_) => {
                self.has_greeted = true;
                return self.tally.kept(&[Rule::MajorVersion, Rule::CapabilitiesOutside, Rule::SecondHello]);
            }
            Event::Request(request) => &request.transaction,
            Event::Response { response, .. } => {
                self.tally.kept(&[Rule::UnexpectedResponse, Rule::ResponseCommand]);
                response
            }
        };
        self.time = self.time.max(transaction.time());
        let is_response = matches!(event, Event::Response { .. });
        match transaction {
            Transaction::Read(access) | Transaction::Write(access) => {
                self.tally.kept(&EACH_ACCESS);
                if is_response {
                    self.tally.kept(&[Rule::ResponseEcho]);
                } else if !access.byte_enables.is_empty() {
                    self.tally.kept(&[Rule::ByteEnablesOutside]);
                } else if !self.announced.contains(Capabilities::BYTE_ENABLES) {
                    self.tally.kept(&[Rule::ByteEnablesNotAnnounced]);
                }
            }
            Transaction::AtsRequest(_) => self.tally.kept(&[Rule::AtsNotAnnounced]),
            _ => {}
        }
    }

    /// Does what the peer asks, as a memory that has all addresses and a device without registers.
    fn do_request(&mut self, request: Request) {
        let time = request.transaction.time();
        let data;
        let answer = match &request.transaction {
            Transaction::Read(access) => {
                let byte = |at: u64| self.memory.get(&access.address.wrapping_add(at)).copied().unwrap_or(0);
                data = (0..u64::from(access.length)).map(byte).collect::<Vec<u8>>();
                Answer::Data(&data)
            }
            Transaction::Write(access) => {
                for (at, byte) in access.data.iter().enumerate().filter(|(at, _)| access.is_enabled(*at)) {
                    self.memory.insert(access.address.wrapping_add(at as u64), *byte);
                }
                Answer::Done
            }
            Transaction::AtsRequest(_) => Answer::Failed(vp_protocols::remote_port::ResponseCode::Error),
            _ => Answer::Done,
        };
        if request.wants_response() {
            // A kind of request without such an answer is left without one.
            let _ = self.connection.respond(request, time, answer);
        }
    }

    // What is asked.

    /// Waits for the answers to these requests, and does what the peer asks meanwhile.
    fn answers(&mut self, mut open: Vec<(RequestId, i64)>) -> Result<Vec<Transaction>, Over> {
        let until = Instant::now() + self.timeout;
        let mut responses = Vec::new();
        while !open.is_empty() {
            match self.event(until) {
                Ok(Some(Event::Request(request))) => self.do_request(request),
                Ok(Some(Event::Response { id, response })) => {
                    if let Some(place) = open.iter().position(|(of, _)| *of == id) {
                        let (_, asked) = open.swap_remove(place);
                        self.tally.kept(&[Rule::Answered]);
                        let time = response.time();
                        let what = format!("asked at {asked} ns, answered at {time} ns");
                        self.tally.judge(Rule::TimeOfResponse, time >= asked, what, &self.wire);
                        responses.push(response);
                    }
                }
                Ok(Some(Event::Hello(_))) => {}
                Ok(None) => {
                    let what =
                        format!("no answer in {} s to {} requests", self.timeout.as_secs_f64(), open.len());
                    self.tally.broken(Rule::Answered, what, &self.wire);
                    return Err(Over);
                }
                Err(Over) => {
                    if self.is_closed {
                        let what = format!("the stream was closed, with {} requests unanswered", open.len());
                        self.tally.broken(Rule::Answered, what, &self.wire);
                    }
                    return Err(Over);
                }
            }
        }
        Ok(responses)
    }

    fn ask(&mut self, channel: u32, transactions: Vec<Transaction>) -> Result<Vec<Transaction>, Over> {
        let mut open = Vec::new();
        for transaction in transactions {
            let time = transaction.time();
            // Few are under way: there is room.
            open.push((self.connection.request(channel, transaction).map_err(|_| Over)?, time));
        }
        self.answers(open)
    }

    /// Returns the data that a read gives; nothing if it fails.
    fn read(&mut self, channel: u32, address: u64, length: u32) -> Result<Option<Bytes>, Over> {
        let read = Transaction::Read(Access::read(self.time, address, length));
        let answers = self.ask(channel, vec![read])?;
        Ok(answers.into_iter().find_map(|answer| match answer {
            Transaction::Read(access) if access.data.len() == length as usize => Some(access.data),
            _ => None,
        }))
    }

    fn write(&mut self, channel: u32, address: u64, data: Bytes) -> Result<(), Over> {
        let write = Transaction::Write(Access::write(self.time, address, data));
        self.ask(channel, vec![write]).map(drop)
    }

    /// Waits for the hello.
    fn greet(&mut self) -> Result<(), Over> {
        let until = Instant::now() + self.timeout;
        while !self.has_greeted {
            match self.event(until) {
                Ok(Some(Event::Request(request))) => self.do_request(request),
                Ok(Some(_)) => {}
                Ok(None) => {
                    let what = format!("none came in {} s", self.timeout.as_secs_f64());
                    self.tally.broken(Rule::HelloFirst, what, &self.wire);
                    return Err(Over);
                }
                Err(Over) => {
                    if self.is_closed {
                        self.tally.broken(Rule::HelloFirst, "the stream was closed without one", &self.wire);
                    }
                    return Err(Over);
                }
            }
        }
        Ok(())
    }

    fn check_device(&mut self, channel: u32, address: u64) -> Result<(), Over> {
        self.greet()?;
        let value = self.read(channel, address, 4)?;
        // Several at a time, as a CPU without order has them.
        let read = Transaction::Read(Access::read(self.time, address, 4));
        self.ask(channel, vec![read; 5])?;
        if let Some(value) = value {
            self.write(channel, address, value.clone())?;
            // Posted: what answers it breaks RP-17.
            let posted = Transaction::Write(Access::write(self.time, address, value));
            self.connection.post(channel, posted).map_err(|_| Over)?;
        }
        self.sync()?;
        self.read(channel, address, 4).map(drop)
    }

    fn sync(&mut self) -> Result<(), Over> {
        let time = self.time + 1_000;
        self.ask(0, vec![Transaction::Sync { time }]).map(drop)
    }

    fn check_memory(&mut self, channel: u32, address: u64) -> Result<(), Over> {
        self.greet()?;
        let Some(before) = self.read(channel, address, 64)? else {
            let what = format!("64 bytes at {address:#x} on channel {channel} cannot be read");
            self.tally.broken(Rule::MemoryKeeps, what, &self.wire);
            return Err(Over);
        };
        let mut expected: Vec<u8> = before.iter().map(|byte| byte ^ 0xa5).collect();
        self.write(channel, address, Bytes::copy_from_slice(&expected))?;
        // A part of it, at no multiple of anything.
        expected[5..8].copy_from_slice(&[1, 2, 3]);
        self.write(channel, address + 5, Bytes::from_static(&[1, 2, 3]))?;
        let after = self.read(channel, address, 64)?;
        let is_kept = after.is_some_and(|after| after[..] == expected[..]);
        let what = format!("64 bytes at {address:#x} are not what was written there");
        self.tally.judge(Rule::MemoryKeeps, is_kept, what, &self.wire);
        self.write(channel, address, before)?;
        self.sync()
    }

    /// Answers a CPU until it goes, or is silent.
    fn serve(&mut self) -> Result<(), Over> {
        self.greet()?;
        while let Some(event) = self.event(Instant::now() + self.timeout)? {
            if let Event::Request(request) = event {
                self.do_request(request);
            }
        }
        Ok(())
    }
}
