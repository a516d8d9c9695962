//! A peer that is the CPU of a platform, or memories of it, or both.

use std::collections::{BTreeMap, VecDeque};

use bytes::{Bytes, BytesMut};
use vp_core::Time;
use vp_hub::{
    Access as HubAccess, Completion, Failure, FailureKind, HORIZON, Input, MemoryAccess, Operation, Output,
    PartyCommand, RequestId as HubRequest, Role, Tag,
};
use vp_models::platform::PortKind;
use vp_protocols::remote_port::{
    Access, Answer, Capabilities, Connection, Event, Interrupt, Request, RequestId, ResponseCode, SendError,
    Transaction,
};

use super::routes::{Route, Routes};
use super::{Channels, TimeSource, answer_sync, code, result, stamp};
use crate::adapters::hub_inputs::HubInputs;
use crate::adapters::{Adapter, SessionEnd, SessionStart};

/// Bytes of one access to registers. QEMU's CPUs have at most 8.
const MOST_REGISTER_BYTES: u32 = 4096;
/// Bytes of one access to the peer's memory: masters of QEMU have no more.
const LONGEST: usize = 4096;
/// Of so many posted writes one is not, for the platform: the peer is to be no further ahead of it than that.
const POSTED: u32 = 64;
/// Requests of the peer that wait, before it is read no further.
const WAITING: usize = 256;
/// Requests of the peer that wait, before it is read no further, while the platform waits for an answer of the
/// peer's memory, which may stand behind them.
const HARD_WAITING: usize = 65_536;

/// The adapter.
pub(in crate::adapters) struct Host {
    connection: Connection,
    channels: Channels,
    time: TimeSource,
    routes: Routes,
    /// The simulated time at which the session began: 0 in its time stamps.
    began: Time,
    hub: HubInputs<Purpose>,
    /// Requests of the peer that wait for words of registers, by the tag of the first.
    accesses: BTreeMap<Tag, RegisterAccess>,
    /// Requests of the platform for the peer's memory that are not sent yet, because the peer has its maximum.
    outgoing: VecDeque<(u32, Transaction, PartialAccess)>,
    /// Sent.
    asked: BTreeMap<RequestId, PartialAccess>,
    /// Requests of the platform that wait for the peer's memory.
    requests: BTreeMap<HubRequest, MemoryRequest>,
    /// Posted writes since the last access that was not posted.
    posted: u32,
    /// The level that was sent to the peer.
    level: bool,
    heartbeat: Heartbeat,
}

/// Syncs for a peer whose own time does not move until a packet comes: the SystemC library reads its socket
/// within its kernel, unless it is configured otherwise. It announces no byte enables. QEMU does, and its time
/// does not wait for packets.
#[derive(Default)]
struct Heartbeat {
    /// True if the peer's hello has come, and the peer may need a heartbeat.
    is_possible: bool,
    /// True if a sync may have been what a request of the peer had waited for: then one follows each access.
    is_needed: bool,
    /// Accesses since it was tried whether the peer goes on without.
    accesses: u32,
    /// True if it is being tried whether the peer goes on without.
    is_tried: bool,
    /// The sync that is under way.
    sync: Option<RequestId>,
    /// The latest time that the peer has sent.
    time: i64,
}

/// Accesses that are followed by a sync before one is not, to see whether the peer goes on without. If not it loses a
/// millisecond.
const TRIED: u32 = 64;

/// Distance that a sync asks the peer to move, in nanoseconds. The library goes one quantum of its own at a time, at most.
const FAR: i64 = 1_000_000;

/// Purpose of a command of the hub.
enum Purpose {
    /// To take a port, of that name.
    Attach(String),
    /// For a word of an access: its tag, and the word's place among the access's bytes.
    Word { access: Tag, offset: usize },
    /// To move time to where a sync of the peer wants it.
    Sync(Request),
}

/// An access of the peer to registers: as many accesses of the platform as it has words.
struct RegisterAccess {
    request: Request,
    data: BytesMut,
    words: usize,
    began: Time,
    failed: Option<ResponseCode>,
}

/// An access of the peer's memory: the part of a request of the platform that has this place in it.
#[derive(Debug, Clone, Copy)]
struct PartialAccess {
    request: HubRequest,
    place: usize,
}

/// A request of the platform for the peer's memory.
struct MemoryRequest {
    /// Data that was read, part by part.
    data: Vec<Bytes>,
    /// Number of parts that are not answered.
    open: usize,
    failed: Option<Failure>,
}

impl MemoryRequest {
    fn result(self) -> Result<Bytes, Failure> {
        match self {
            MemoryRequest { failed: Some(failure), .. } => Err(failure),
            MemoryRequest { mut data, .. } if data.len() == 1 => Ok(data.pop().unwrap_or_default()),
            MemoryRequest { data, .. } => Ok(data.concat().into()),
        }
    }
}

impl Host {
    pub(in crate::adapters) fn new(channels: Channels, time: TimeSource) -> Host {
        Host {
            connection: Connection::new(Capabilities::PLATFORM),
            channels,
            time,
            routes: Routes::default(),
            began: Time::ZERO,
            hub: HubInputs::new(),
            accesses: BTreeMap::new(),
            outgoing: VecDeque::new(),
            asked: BTreeMap::new(),
            requests: BTreeMap::new(),
            posted: 0,
            level: false,
            heartbeat: Heartbeat::default(),
        }
    }

    /// The simulated time of a time stamp, if the peer's times count.
    fn at(&self, stamp: i64) -> Option<Time> {
        let picoseconds = u64::try_from(stamp).ok()?.checked_mul(1000)?.checked_add(self.began.as_ps())?;
        // Beyond, no time stamp is heeded.
        (self.time == TimeSource::Peer && picoseconds <= HORIZON.as_ps()).then_some(Time::ps(picoseconds))
    }

    /// Lets the peer's time move, if that waits for packets.
    fn beat(&mut self) -> Result<(), SessionEnd> {
        // In the middle of an access of the peer its time is not to move.
        if self.minds_silence() && self.accesses.is_empty() {
            let time = self.heartbeat.time.saturating_add(FAR);
            self.heartbeat.sync = super::sync(&mut self.connection, time)?;
        }
        Ok(())
    }

    // What the peer wants.

    fn request(&mut self, request: Request, now: Time) -> Result<(), SessionEnd> {
        let is_tried = std::mem::take(&mut self.heartbeat.is_tried);
        self.heartbeat.is_needed = self.heartbeat.sync.is_some() || (self.heartbeat.is_needed && !is_tried);
        self.heartbeat.time = self.heartbeat.time.max(request.transaction.time());
        let answer = match &request.transaction {
            Transaction::Read(access) | Transaction::Write(access) => {
                match self.routes.on(request.channel, PortKind::Registers).cloned() {
                    Some(route) => match words(access, &route) {
                        Ok(words) => return self.access(request, &route, words, now),
                        Err(code) => Answer::Failed(code),
                    },
                    None => Answer::Failed(ResponseCode::AddressError),
                }
            }
            Transaction::Sync { time } => match self.at(*time) {
                Some(at) if at > now => {
                    self.hub.command(PartyCommand::Advance(vp_hub::Until::Time(at)), Purpose::Sync(request));
                    return Ok(());
                }
                _ => Answer::Done,
            },
            Transaction::AtsRequest(_) => Answer::Failed(ResponseCode::Error),
            // Nothing here listens to wires, and no translations are kept.
            Transaction::Interrupt(_) | Transaction::AtsInvalidate(_) => Answer::Done,
        };
        if matches!(request.transaction, Transaction::Sync { .. }) {
            return answer_sync(&mut self.connection, request, stamp(now, self.began));
        }
        let time = request.transaction.time();
        Ok(self.connection.respond(request, time, answer)?)
    }

    /// Begins an access to registers.
    fn access(
        &mut self,
        request: Request,
        route: &Route,
        words: Vec<Word>,
        now: Time,
    ) -> Result<(), SessionEnd> {
        // The tag of its first command, if it has one.
        let access = self.hub.next_tag();
        let at = self.at(request.transaction.time()).filter(|at| *at > now);
        let length = match &request.transaction {
            Transaction::Read(access) => access.length as usize,
            _ => 0,
        };
        let (data, mut count) = (BytesMut::zeroed(length), words.len());
        let is_posted = !request.wants_response();
        for Word { offset, address, value } in words {
            let operation = match value {
                Some(value) => Operation::RegisterWrite { address, value },
                None => Operation::RegisterRead { address },
            };
            let hub_access = HubAccess { port: route.port, at, operation };
            self.posted = if is_posted { self.posted + 1 } else { 0 };
            if is_posted && self.posted < POSTED {
                let party = self.hub.party;
                self.hub.push(Input::Posted { party, access: hub_access });
                count -= 1;
                continue;
            }
            self.posted = 0;
            self.hub.command(PartyCommand::Access(hub_access), Purpose::Word { access, offset });
        }
        let access_of =
            RegisterAccess { request, data, words: count, began: at.unwrap_or(now), failed: None };
        if count == 0 {
            return self.finish(access_of, now);
        }
        self.accesses.insert(access, access_of);
        Ok(())
    }

    fn word_done(
        &mut self,
        access: Tag,
        offset: usize,
        time: Time,
        result: Result<Completion, Failure>,
    ) -> Result<(), SessionEnd> {
        let Some(of) = self.accesses.get_mut(&access) else { return Ok(()) };
        match result {
            Ok(Completion::Value(value)) => {
                if let Some(word) = of.data.get_mut(offset..offset + 4) {
                    word.copy_from_slice(&value.to_le_bytes());
                }
            }
            Ok(_) => {}
            Err(failure) => {
                of.failed.get_or_insert(code(&failure));
            }
        }
        of.words -= 1;
        if of.words == 0
            && let Some(access) = self.accesses.remove(&access)
        {
            self.finish(access, time)?;
        }
        Ok(())
    }

    /// Answers an access to registers. It took as long for the peer as it did here.
    fn finish(&mut self, access: RegisterAccess, time: Time) -> Result<(), SessionEnd> {
        let RegisterAccess { request, data, began, failed, .. } = access;
        let took = stamp(time, began);
        let time = request.transaction.time().saturating_add(took);
        let answer = match (&request.transaction, failed) {
            (_, Some(code)) => Answer::Failed(code),
            (Transaction::Read(_), None) => Answer::Data(&data),
            _ => Answer::Done,
        };
        self.connection.respond(request, time, answer)?;
        if !self.heartbeat.is_needed {
            return Ok(());
        }
        self.heartbeat.accesses += 1;
        if self.heartbeat.accesses >= TRIED {
            (self.heartbeat.accesses, self.heartbeat.is_tried) = (0, true);
            return Ok(());
        }
        self.beat()
    }

    // What the platform wants of the peer's memory.

    fn ask(
        &mut self,
        request: HubRequest,
        route: &Route,
        access: MemoryAccess,
        now: Time,
    ) -> Result<(), SessionEnd> {
        let MemoryAccess { address, length, write, at, .. } = access;
        let time = stamp(at.unwrap_or(now), self.began);
        let address = address.wrapping_add(route.place.base);
        let transactions: Vec<Transaction> = match write {
            None => pieces(length as usize)
                .map(|(from, to)| Access::read(time, address.wrapping_add(from as u64), (to - from) as u32))
                .map(Transaction::Read)
                .collect(),
            Some((data, None)) => pieces(data.len())
                .map(|(from, to)| {
                    Access::write(time, address.wrapping_add(from as u64), data.slice(from..to))
                })
                .map(Transaction::Write)
                .collect(),
            Some((data, Some(strobes))) => pieces(data.len())
                .flat_map(|(from, to)| {
                    let is_written = |at| {
                        strobes.get((from + at) / 8).is_some_and(|byte| byte >> ((from + at) % 8) & 1 == 1)
                    };
                    self.strobed(time, address.wrapping_add(from as u64), &data.slice(from..to), is_written)
                })
                .collect(),
        };
        let (open, channel) = (transactions.len(), route.place.channel);
        self.requests.insert(request, MemoryRequest { data: vec![Bytes::new(); open], open, failed: None });
        for (place, transaction) in transactions.into_iter().enumerate() {
            self.outgoing.push_back((channel, transaction, PartialAccess { request, place }));
        }
        self.send()?;
        self.answer_if_done(request);
        Ok(())
    }

    /// A write of some of its bytes: with byte enables for a peer that supports them, otherwise one write for
    /// each contiguous range.
    fn strobed(
        &self,
        time: i64,
        address: u64,
        data: &Bytes,
        is_written: impl Fn(usize) -> bool,
    ) -> Vec<Transaction> {
        if self.connection.peer().contains(Capabilities::BYTE_ENABLES.union(Capabilities::EXTENDED_LAYOUT)) {
            let enables: Vec<u8> = (0..data.len()).map(|at| if is_written(at) { 0xff } else { 0 }).collect();
            let access =
                Access { byte_enables: enables.into(), ..Access::write(time, address, data.clone()) };
            return vec![Transaction::Write(access)];
        }
        let mut writes = Vec::new();
        let mut at = 0;
        while at < data.len() {
            let end = (at..data.len()).find(|&end| is_written(end) != is_written(at)).unwrap_or(data.len());
            if is_written(at) {
                let part = Access::write(time, address.wrapping_add(at as u64), data.slice(at..end));
                writes.push(Transaction::Write(part));
            }
            at = end;
        }
        writes
    }

    /// Sends what the peer accepts.
    fn send(&mut self) -> Result<(), SessionEnd> {
        let mut left = VecDeque::new();
        for (channel, transaction, part) in std::mem::take(&mut self.outgoing) {
            match self.connection.request(channel, transaction.clone()) {
                Ok(id) => {
                    self.asked.insert(id, part);
                }
                Err(SendError::TooManyInFlight { .. }) => left.push_back((channel, transaction, part)),
                Err(error) => return Err(error.into()),
            }
        }
        self.outgoing = left;
        Ok(())
    }

    fn response(&mut self, id: RequestId, response: Transaction) -> Result<(), SessionEnd> {
        if let Transaction::Sync { time } = response {
            self.heartbeat.sync = self.heartbeat.sync.filter(|sync| *sync != id);
            self.heartbeat.time = self.heartbeat.time.max(time);
            // As long as nothing else comes the next one follows.
            return if self.heartbeat.is_tried { Ok(()) } else { self.beat() };
        }
        let Some(PartialAccess { request, place }) = self.asked.remove(&id) else { return Ok(()) };
        if let Some(of) = self.requests.get_mut(&request)
            && let Transaction::Read(access) | Transaction::Write(access) = response
        {
            of.open -= 1;
            match result(access.attributes.code()) {
                Ok(()) => of.data[place] = access.data,
                Err(failure) => of.failed = Some(failure),
            }
        }
        self.answer_if_done(request);
        self.send()
    }

    fn answer_if_done(&mut self, request: HubRequest) {
        if self.requests.get(&request).is_some_and(|of| of.open == 0)
            && let Some(of) = self.requests.remove(&request)
        {
            self.hub.answer(request, of.result());
        }
    }
}

/// The pieces of an access that is longer than peers are known to accept: their ranges.
fn pieces(length: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..length).step_by(LONGEST).map(move |from| (from, length.min(from + LONGEST)))
}

/// A word of registers that is read, or written with a value.
struct Word {
    /// Place of the word among the bytes of the access.
    offset: usize,
    address: u64,
    value: Option<u32>,
}

/// The words of an access. Those without an enabled byte are left alone.
fn words(access: &Access, route: &Route) -> Result<Vec<Word>, ResponseCode> {
    let Access { address, length, stream_width, .. } = *access;
    let address = address.checked_sub(route.place.base).ok_or(ResponseCode::AddressError)?;
    let is_whole = |bytes: u64| bytes.is_multiple_of(4);
    // The register bus has no byte enables.
    if !(is_whole(address) && is_whole(length.into()) && is_whole(stream_width.into()))
        || length > MOST_REGISTER_BYTES
    {
        return Err(ResponseCode::Error);
    }
    let mut words = Vec::new();
    for offset in (0..length as usize).step_by(4) {
        let enabled = (offset..offset + 4).filter(|&byte| access.is_enabled(byte)).count();
        match enabled {
            0 => continue,
            4 => {}
            _ => return Err(ResponseCode::Error),
        }
        let value = access
            .data
            .get(offset..offset + 4)
            .map(|bytes| bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)));
        let within = offset as u64 % u64::from(stream_width.max(4));
        let address = address.checked_add(within).ok_or(ResponseCode::AddressError)?;
        words.push(Word { offset, address, value });
    }
    Ok(words)
}

impl Adapter for Host {
    fn begin(&mut self, beginning: &SessionStart<'_>) -> Result<(), SessionEnd> {
        self.hub.party = beginning.party;
        self.began = beginning.now;
        self.routes = Routes::new(&self.channels, beginning.ports)?;
        let routes: Vec<Route> = self.routes.iter().cloned().collect();
        for Route { port, kind, place } in routes {
            let role = match kind {
                PortKind::Irq => Role::Sink,
                PortKind::Axi => Role::Target,
                PortKind::Registers | PortKind::Stream => Role::Initiator,
            };
            self.hub.command(PartyCommand::Attach { port, role, range: None }, Purpose::Attach(place.port));
        }
        Ok(())
    }

    fn is_greeted(&self, bytes: &[u8]) -> bool {
        super::is_greeted(bytes)
    }

    fn receive(&mut self, _: usize, bytes: &mut BytesMut, now: Time) -> Result<(), SessionEnd> {
        while self.takes_more() {
            match self.connection.receive(bytes)? {
                Some(Event::Request(request)) => self.request(request, now)?,
                Some(Event::Response { id, response }) => self.response(id, response)?,
                Some(Event::Hello(hello)) => {
                    let has_byte_enables = hello.announced().contains(Capabilities::BYTE_ENABLES);
                    self.heartbeat.is_possible = self.time == TimeSource::Free && !has_byte_enables;
                }
                None => return Ok(()),
            }
        }
        if self.hub.commands.len() >= HARD_WAITING {
            return Err(SessionEnd::Wrong(
                "the platform waits for an answer of the peer's memory, which stands behind too many requests".to_owned(),
            ));
        }
        Ok(())
    }

    fn tell(&mut self, output: Output, now: Time) -> Result<(), SessionEnd> {
        match output {
            Output::Completed { tag, time, result, .. } => match self.hub.commands.remove(&tag) {
                Some(Purpose::Attach(port)) => {
                    result.map(drop).map_err(|failure| SessionEnd::Wrong(format!("{port}: {failure}")))
                }
                Some(Purpose::Word { access, offset }) => self.word_done(access, offset, time, result),
                Some(Purpose::Sync(request)) => {
                    answer_sync(&mut self.connection, request, stamp(time, self.began))
                }
                None => Ok(()),
            },
            Output::Request { request, port, access, .. } => match self.routes.of(port).cloned() {
                Some(route) => self.ask(request, &route, access, now),
                None => {
                    let result = Err(Failure::new(FailureKind::Internal, "the port has no channel"));
                    self.hub.answer(request, result);
                    Ok(())
                }
            },
            Output::Level { port, level, time, .. } => {
                let place = self.routes.of(port).map(|route| route.place.clone());
                // A line is low at the beginning, for the peer as well.
                if let Some(place) = place.filter(|_| level != self.level) {
                    self.level = level;
                    let time = stamp(time, self.began);
                    let interrupt = Interrupt { time, vector: 0, line: place.wire, level };
                    self.connection.post(place.channel, Transaction::Interrupt(interrupt))?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn minds_silence(&self) -> bool {
        self.heartbeat.is_possible && self.heartbeat.sync.is_none() && !self.connection.is_over()
    }

    fn is_silent(&mut self) -> Result<(), SessionEnd> {
        self.heartbeat.is_tried = false;
        self.beat()
    }

    fn next_input(&mut self) -> Option<Input> {
        self.hub.next()
    }

    fn next_output(&mut self) -> Option<(usize, &mut BytesMut)> {
        let output = self.connection.output();
        (!output.is_empty()).then_some((0, output))
    }

    fn takes_more(&self) -> bool {
        let most = if self.asked.is_empty() { WAITING } else { HARD_WAITING };
        self.hub.commands.len() < most && !self.connection.is_backlogged()
    }

    fn owes_answers(&self) -> bool {
        // Requests of the platform to its memory would not be answered.
        self.requests.is_empty()
            && self.hub.commands.values().any(|purpose| !matches!(purpose, Purpose::Attach(_)))
    }

    fn is_under_way(&self) -> bool {
        !self.requests.is_empty() || !self.hub.commands.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sync_is_answered_before_the_time_at_which_it_was_sent() {
        for now in [Time::us(1), Time::us(9)] {
            let mut host = Host::new(Channels::memory("dbb0", 0), TimeSource::Free);
            let mut peer = Connection::new(Capabilities::PLATFORM);
            peer.request(0, Transaction::Sync { time: 5_000 }).unwrap();
            host.receive(0, &mut peer.output().split(), now).unwrap();
            let mut answers = host.connection.output().split();
            let events = std::iter::from_fn(|| peer.receive(&mut answers).unwrap());
            let times: Vec<i64> = events
                .filter_map(|event| match event {
                    Event::Response { response, .. } => Some(response.time()),
                    _ => None,
                })
                .collect();
            assert_eq!(times, [stamp(now, Time::ZERO).max(5_000)]);
        }
    }

    /// Syncs go by the channel that a memory may have, too.
    #[test]
    fn a_sync_waits_for_room_behind_accesses_to_the_peers_memory() {
        let mut host = Host::new(Channels::memory("dbb0", 0), TimeSource::Free);
        host.heartbeat.is_possible = true;
        for _ in 0..vp_protocols::remote_port::MAX_IN_FLIGHT {
            host.connection.request(0, Transaction::Read(Access::read(0, 0, 4))).unwrap();
        }
        assert!(host.minds_silence());
        host.is_silent().unwrap();
        assert!(host.minds_silence(), "none is under way");
        assert_eq!(host.connection.in_flight(), vp_protocols::remote_port::MAX_IN_FLIGHT);
    }
}
