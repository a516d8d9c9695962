//! One stream, seen from either of its equal sides: hello, ids, responses, capabilities of the peer. No socket
//! and no clock.
//!
//! The owner of a socket feeds a [`Connection`] what it reads, and writes what it finds in
//! [`output`](Connection::output):
//!
//! ```
//! use vp_protocols::remote_port::*;
//!
//! let mut qemu = Connection::new(Capabilities::PLATFORM);
//! let mut platform = Connection::new(Capabilities::PLATFORM);
//!
//! // What a socket would do: everything written here is read there. A hello comes first, and nobody waits for it.
//! let id = qemu.request(9, Transaction::Read(Access::read(1_000, 0x10, 4)))?;
//! let mut wire = qemu.output().split();
//! let Some(Event::Hello(_)) = platform.receive(&mut wire)? else { panic!() };
//! let Some(Event::Request(request)) = platform.receive(&mut wire)? else { panic!() };
//! assert_eq!(request.channel, 9);
//! platform.respond(request, 1_000, Answer::Data(&[1, 2, 3, 4]))?;
//!
//! let mut wire = platform.output().split();
//! let Some(Event::Hello(_)) = qemu.receive(&mut wire)? else { panic!() };
//! let Some(Event::Response { id: answered, response }) = qemu.receive(&mut wire)? else { panic!() };
//! assert_eq!(answered, id);
//! # assert!(matches!(response, Transaction::Read(access) if access.data[..] == [1, 2, 3, 4]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The caller bounds what a peer can make it store: it takes events one at a time, takes none while the
//! connection [is backlogged](Connection::is_backlogged), and reads more only when the last
//! [`receive`](Connection::receive) gave `None`. It answers the peer's requests also while its own wait.
//!
//! A peer that breaks a rule ends the session; the protocol has no packet to tell it. Channels, addresses and
//! wires are not checked here: the owner of the channels answers an access to an unknown channel with
//! [`ResponseCode::AddressError`].

use bytes::{Bytes, BytesMut};
use thiserror::Error;

use super::ledger::{Expected, Ledger};
use super::{
    Access, Ats, Attributes, Body, Capabilities, Command, Flags, HEADER, Hello, Layout, MAX_PACKET,
    Malformed, Packet, ResponseCode, Rule, Transaction, VERSION, Violation,
};

/// Most requests of one channel that wait for a response. QEMU ends itself when it has more.
pub const MAX_IN_FLIGHT: usize = 32;

/// Identifies a request of ours until its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId {
    /// The channel.
    pub channel: u32,
    /// The id in the header.
    pub id: u32,
}

/// A request of the peer's. It is given to [`Connection::respond`], so that it is answered at most once.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The channel.
    pub channel: u32,
    /// Transaction that is asked for.
    pub transaction: Transaction,
    id: u32,
    flags: Flags,
    wants_response: bool,
}

impl Request {
    /// Returns true if the peer waits for a response. It does not for a posted request. Unless it has announced
    /// [`Capabilities::INTERRUPT_RESPONSES`], it does not for an interrupt either.
    pub fn wants_response(&self) -> bool {
        self.wants_response
    }
}

/// The answer to a request of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer<'a> {
    /// Bytes, as many as requested: the answer to a read.
    Data(&'a [u8]),
    /// Rights, physical address, bytes from there: the answer to a translation request.
    Translated {
        /// Rights granted: 1 execute, 2 read, 4 write.
        rights: u64,
        /// The physical address.
        address: u64,
        /// The number of bytes from there for which it is valid.
        length: u64,
    },
    /// Done: the answer to all others.
    Done,
    /// Not done: the answer to a read, a write or a translation request. A read gets zeros, because peers take the
    /// requested number of bytes without checking the code. A translation request has no code.
    Failed(ResponseCode),
}

/// Event that came in.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// The peer's hello. Its capabilities apply from here on; requests may have come before.
    Hello(Hello),
    /// A request of the peer's, for [`Connection::respond`].
    Request(Request),
    /// The response to [`Connection::request`].
    Response {
        /// The request's.
        id: RequestId,
        /// The answer: for a read its data, for all accesses the code in [`Access::attributes`].
        response: Transaction,
    },
}

/// The packet cannot be sent. Nothing was sent; the session is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SendError {
    /// Back-pressure: try again after a response on this channel.
    #[error("{MAX_IN_FLIGHT} requests wait on channel {channel}, the most that QEMU bears")]
    TooManyInFlight {
        /// The channel.
        channel: u32,
    },
    /// The peer has not announced that it supports this, or its hello has not come yet.
    #[error("{what}: the peer has not announced that it can take it")]
    NotAnnounced {
        /// Packet that was to be sent.
        what: &'static str,
    },
    /// A request that cannot be posted, as only writes and interrupts can.
    #[error("{} cannot be posted: only write and interrupt can", .command.name())]
    NotPostable {
        /// Command that was to be posted.
        command: Command,
    },
    /// The packet would break a rule.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The basic layout, for peers that have not announced the extended one, has 16 bits for the master id;
    /// values up to 0xfffe are allowed.
    #[error("master id {master:#x}: at most 0xfffe for a peer without the extended layout")]
    MasterId {
        /// Master that was given.
        master: u64,
    },
    /// An answer that the request cannot have.
    #[error("{answer} is no answer to {}", .command.name())]
    WrongAnswer {
        /// Command of the request.
        command: Command,
        /// Answer that was to be sent.
        answer: &'static str,
    },
    /// The peer broke a rule. The session is over, except for answers to earlier requests.
    #[error("the session is over")]
    Over,
}

/// One side of one stream.
#[derive(Debug)]
pub struct Connection {
    announced: Capabilities,
    peer: Capabilities,
    asked: Ledger,
    next_id: u32,
    packets: u64,
    is_over: bool,
    output: BytesMut,
}

impl Connection {
    /// A side that announces these capabilities; its hello is in the output.
    pub fn new(announced: Capabilities) -> Self {
        let mut connection = Self {
            announced,
            peer: Capabilities::NONE,
            asked: Ledger::default(),
            next_id: 1,
            packets: 0,
            is_over: false,
            output: BytesMut::new(),
        };
        let hello =
            Packet { id: 0, flags: Flags::NONE, channel: 0, body: Body::Hello(Hello::new(announced)) };
        let sent = hello.encode(&mut connection.output);
        debug_assert_eq!(sent, Ok(()), "a hello of known capabilities is short");
        connection
    }

    /// Bytes to be written to the peer, whole packets at each call. Write them at once, so that they arrive at
    /// once: peers do not switch off the system's delays for small writes.
    pub fn output(&mut self) -> &mut BytesMut {
        &mut self.output
    }

    /// Returns true if the peer lags behind by more than the longest packet. Take no more events until it has caught
    /// up: each may cause a response, and a peer that sends requests without reading would fill our memory with
    /// responses.
    pub fn is_backlogged(&self) -> bool {
        self.output.len() > MAX_PACKET
    }

    /// Returns true if the peer broke a rule: nothing more of it is read, and no requests are sent to it.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Requests of ours without a response.
    pub fn in_flight(&self) -> usize {
        self.asked.in_flight()
    }

    /// Returns the capabilities that the peer has announced so far.
    pub fn peer(&self) -> Capabilities {
        self.peer
    }

    /// Takes the next event off the front of `input`. `Ok(None)`: more bytes are needed. Responses to posted
    /// requests, which QEMU sends, are dropped. After the end of the session input is discarded.
    ///
    /// # Errors
    /// [`Violation`]: the peer broke a rule. The session is over, but for [answers](Self::respond) to what came before it.
    pub fn receive(&mut self, input: &mut BytesMut) -> Result<Option<Event>, Violation> {
        if self.is_over {
            input.clear();
            return Ok(None);
        }
        while let Some(&header) = input.first_chunk::<HEADER>() {
            let taken = match Packet::decode(input) {
                Ok(None) => return Ok(None),
                Ok(Some(packet)) => self.take(packet),
                Err(malformed) => Err(malformed),
            };
            self.packets += 1;
            match taken {
                Ok(None) => {}
                Ok(event) => return Ok(event),
                Err(malformed) => {
                    self.is_over = true;
                    let [.., a, b, c, d] = header;
                    let channel = u32::from_be_bytes([a, b, c, d]);
                    return Err(Violation { malformed, packet: self.packets, channel, header });
                }
            }
        }
        Ok(None)
    }

    /// `None`: there is nothing to tell.
    fn take(&mut self, packet: Packet) -> Result<Option<Event>, Malformed> {
        let Packet { id, flags, channel, body } = packet;
        let transaction = match body {
            Body::Nop | Body::Cfg(_) => {
                return Err(Malformed::new(Rule::UnusedCommand, body.command() as u32));
            }
            Body::Hello(hello) => {
                self.greet(&hello)?;
                return Ok(Some(Event::Hello(hello)));
            }
            Body::Transaction(transaction) => transaction,
        };
        let is_posted = flags.contains(Flags::POSTED);
        if flags.contains(Flags::RESPONSE) {
            if is_posted {
                return Ok(None);
            }
            self.asked.close(channel, id, &transaction)?;
            return Ok(Some(Event::Response { id: RequestId { channel, id }, response: transaction }));
        }
        let wants_response = match &transaction {
            Transaction::Read(access) | Transaction::Write(access)
                if !access.byte_enables.is_empty()
                    && !self.announced.contains(Capabilities::BYTE_ENABLES) =>
            {
                let count = access.byte_enables.len() as u64;
                return Err(Malformed::new(Rule::ByteEnablesNotAnnounced, count));
            }
            Transaction::AtsRequest(_) if !self.announced.contains(Capabilities::ATS) => {
                return Err(Malformed::new(Rule::AtsNotAnnounced, Command::AtsRequest as u32));
            }
            Transaction::Interrupt(_) => !is_posted && self.peer.contains(Capabilities::INTERRUPT_RESPONSES),
            _ => !is_posted,
        };
        Ok(Some(Event::Request(Request { channel, transaction, id, flags, wants_response })))
    }

    fn greet(&mut self, hello: &Hello) -> Result<(), Malformed> {
        if hello.major != VERSION.0 {
            return Err(Malformed::new(Rule::MajorVersion, hello.major));
        }
        if self.peer != Capabilities::NONE && hello.capabilities.as_ref().is_some_and(|list| !list.is_empty())
        {
            return Err(Malformed::new(Rule::SecondHello, self.packets + 1));
        }
        self.peer = self.peer.union(hello.announced());
        Ok(())
    }

    /// The layout in which the peer gets accesses.
    fn layout(&self) -> Layout {
        match self.peer.contains(Capabilities::EXTENDED_LAYOUT) {
            true => Layout::Extended,
            false => Layout::Basic,
        }
    }

    /// Sends a request, and returns the id that its response will have.
    ///
    /// # Errors
    /// [`SendError::TooManyInFlight`] is back-pressure. [`SendError::NotAnnounced`]: of byte enables, of a translation request, and of
    /// an interrupt, which then can be [posted](Self::post). Others are the caller's mistakes.
    pub fn request(&mut self, channel: u32, transaction: Transaction) -> Result<RequestId, SendError> {
        if matches!(transaction, Transaction::Interrupt(_)) {
            self.need(Capabilities::INTERRUPT_RESPONSES, "an interrupt with a response")?;
            // The peer answers those who announced it themselves.
            if !self.announced.contains(Capabilities::INTERRUPT_RESPONSES) {
                return Err(SendError::NotAnnounced { what: "an interrupt with a response" });
            }
        }
        if self.is_over {
            return Err(SendError::Over);
        }
        if !self.asked.has_room(channel) {
            return Err(SendError::TooManyInFlight { channel });
        }
        let id = self.send(channel, Flags::NONE, transaction)?;
        Ok(RequestId { channel, id })
    }

    /// Sends a write or an interrupt without a response.
    ///
    /// # Errors
    /// [`SendError`]: the caller's mistakes.
    pub fn post(&mut self, channel: u32, transaction: Transaction) -> Result<(), SendError> {
        let command = transaction.command();
        if !matches!(command, Command::Write | Command::Interrupt) {
            return Err(SendError::NotPostable { command });
        }
        self.send(channel, Flags::POSTED, transaction).map(drop)
    }

    fn need(&self, capability: Capabilities, what: &'static str) -> Result<(), SendError> {
        match self.peer.contains(capability) {
            true => Ok(()),
            false => Err(SendError::NotAnnounced { what }),
        }
    }

    /// Gives the id.
    fn send(&mut self, channel: u32, flags: Flags, mut transaction: Transaction) -> Result<u32, SendError> {
        match &mut transaction {
            Transaction::Read(access) | Transaction::Write(access) => {
                if !access.byte_enables.is_empty() {
                    self.need(Capabilities::BYTE_ENABLES, "byte enables")?;
                }
                // The stream width would be 0, which QEMU does not bear.
                if access.length == 0 {
                    return Err(Malformed::new(Rule::StreamWidth, 0u32).into());
                }
                let (layout, master) = (self.layout(), access.master);
                if layout == Layout::Basic && master >= 0xffff {
                    return Err(SendError::MasterId { master });
                }
                access.attributes = access.attributes.with_layout(layout).with_code(ResponseCode::Ok);
            }
            Transaction::AtsRequest(_) => self.need(Capabilities::ATS, "a translation request")?,
            _ => {}
        }
        let mut id = self.next_id;
        while self.asked.contains(channel, id) {
            id = id.wrapping_add(1);
        }
        let expected = Expected::of(&transaction);
        Packet { id, flags, channel, body: Body::Transaction(transaction) }.encode(&mut self.output)?;
        if !flags.contains(Flags::POSTED) {
            self.asked.open(channel, id, expected);
        }
        self.next_id = id.wrapping_add(1);
        Ok(id)
    }

    /// Answers a request of the peer; nothing is sent if it [wants no response](Request::wants_response).
    /// `time` is in nanoseconds of our virtual time; QEMU ignores it. Post the interrupts that an access caused
    /// before its response: QEMU handles packets before a response before its guest goes on.
    ///
    /// # Errors
    /// [`SendError`]: the caller's mistakes. The peer still waits.
    pub fn respond(&mut self, request: Request, time: i64, answer: Answer<'_>) -> Result<(), SendError> {
        let Request { channel, transaction, id, flags, wants_response } = request;
        let response = self.answered(transaction, time, answer)?;
        if !wants_response {
            return Ok(());
        }
        let flags = flags.union(Flags::RESPONSE);
        Packet { id, flags, channel, body: Body::Transaction(response) }.encode(&mut self.output)?;
        Ok(())
    }

    /// The answer, as it is sent.
    fn answered(
        &self,
        transaction: Transaction,
        time: i64,
        answer: Answer<'_>,
    ) -> Result<Transaction, SendError> {
        let command = transaction.command();
        let wrong = |answer| SendError::WrongAnswer { command, answer };
        // What is repeated of an access. Known peers leave the upper bits of the master id out.
        let echo = |access: Access, code, data| Access {
            time,
            attributes: Attributes::NONE.with_layout(self.layout()).with_code(code),
            master: access.master & 0xffff,
            data,
            byte_enables: Bytes::new(),
            ..access
        };
        Ok(match (transaction, answer) {
            (Transaction::Read(access), Answer::Data(data)) => {
                if data.len() != access.length as usize {
                    return Err(Malformed::new(Rule::DataOutside, data.len() as u64).into());
                }
                Transaction::Read(echo(access, ResponseCode::Ok, Bytes::copy_from_slice(data)))
            }
            (Transaction::Read(access), Answer::Failed(code)) => {
                let zeros = Bytes::from(vec![0; access.length as usize]);
                Transaction::Read(echo(access, code, zeros))
            }
            (Transaction::Write(access), Answer::Done) => {
                Transaction::Write(echo(access, ResponseCode::Ok, Bytes::new()))
            }
            (Transaction::Write(access), Answer::Failed(code)) => {
                Transaction::Write(echo(access, code, Bytes::new()))
            }
            (Transaction::Interrupt(interrupt), Answer::Done) => {
                Transaction::Interrupt(super::Interrupt { time, ..interrupt })
            }
            (Transaction::Sync { .. }, Answer::Done) => Transaction::Sync { time },
            (Transaction::AtsInvalidate(ats), Answer::Done) => {
                Transaction::AtsInvalidate(Ats { time, ..ats })
            }
            (Transaction::AtsRequest(_), Answer::Translated { rights, address, length }) => {
                Transaction::AtsRequest(Ats { time, rights, address, length, result: 0 })
            }
            (Transaction::AtsRequest(ats), Answer::Failed(_)) => {
                Transaction::AtsRequest(Ats { time, rights: 0, address: ats.address, length: 0, result: 1 })
            }
            (_, Answer::Data(_)) => return Err(wrong("data")),
            (_, Answer::Translated { .. }) => return Err(wrong("a translation")),
            (_, Answer::Done) => return Err(wrong("done")),
            (_, Answer::Failed(_)) => return Err(wrong("failed")),
        })
    }
}

#[cfg(test)]
mod tests;
