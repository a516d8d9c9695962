//! The sessions of an instance.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use bytes::Bytes;
use rustc_hash::FxHashMap;
use vp_models::hub::Tag;
use vp_models::platform::Warnings;
use vp_protocols::native::{Capabilities, SessionId};

use super::asleep::Asleep;
use super::share::Ring;
use super::silence::Silence;
use super::turns::{Account, Order, is_read_in_turn};
use super::waiting::Waiting;
use super::{Permit, SessionStream};
use crate::authentication::Guest;

/// A session, seen from its instance.
pub(super) struct Member {
    pub(super) capabilities: Capabilities,
    /// What the log calls it, and what it calls itself.
    pub(super) name: String,
    pub(super) agent: String,
    /// Since when it is here.
    pub(super) since: Instant,
    /// Whether it is none of the platform's parties, and looks only.
    pub(super) is_observer: bool,
    /// Who it is.
    pub(super) guest: Guest,
    /// Whether it has said that it has a clock.
    pub(super) has_clock: bool,
    pub(super) stream: SessionStream,
    pub(super) silence: Silence,
    pub(super) account: Account,
    pub(super) ring: Option<Ring>,
    /// There is one in a session's life.
    pub(super) has_had_ring: bool,
    /// Of the requests that the hub has not completed.
    pub(super) held_permits: FxHashMap<Tag, Permit>,
    /// Of the posted writes that wait for their turn, oldest first.
    pub(super) posted: VecDeque<Permit>,
    /// Posted writes that failed since the last reply.
    pub(super) failures: Warnings,
    pub(super) lost_warnings: u64,
    /// Number of consecutive looks at its stream without anything there or to be done.
    quiet_looks: usize,
    /// Whether its socket had something at the last look.
    has_input: bool,
    /// The platform, as it was saved for the session last.
    pub(super) saved: Option<Bytes>,
}

impl Member {
    pub(super) fn new(
        capabilities: Capabilities,
        (name, agent): (String, String),
        guest: Guest,
        stream: SessionStream,
        account: Account,
    ) -> Self {
        Self {
            capabilities,
            name,
            agent,
            since: Instant::now(),
            is_observer: false,
            guest,
            has_clock: false,
            stream,
            silence: Silence::default(),
            account,
            ring: None,
            has_had_ring: false,
            held_permits: FxHashMap::default(),
            posted: VecDeque::new(),
            failures: Warnings::default(),
            lost_warnings: 0,
            quiet_looks: 0,
            has_input: false,
            saved: None,
        }
    }

    /// Gives back the permits of posted writes that no longer wait, when so many of the session's jobs do.
    pub(super) fn keep_posted(&mut self, waiting: usize) {
        while self.posted.len() > waiting {
            self.posted.pop_front();
        }
    }

    /// Whether nothing can happen to it but what comes on its stream, or what somebody tells it.
    fn may_sleep(&mut self) -> bool {
        let has_nothing = self.ring.is_none() && self.posted.is_empty() && self.held_permits.is_empty();
        has_nothing && self.stream.is_quiet()
    }

    /// Whether it has nothing but its turn to wait for, with more than a little to be carried out then.
    fn waits_for_turn(&mut self) -> bool {
        self.ring.is_none() && self.ranks().next().is_some() && self.stream.is_told_all()
    }

    /// Whether it has nothing but its turn to be read to wait for.
    fn waits_to_be_read(&mut self) -> bool {
        let is_read_later = self.has_input && is_read_in_turn(&self.stream);
        is_read_later && self.ring.is_none() && self.posted.is_empty() && self.stream.is_told_all()
    }

    /// Reads once and decodes, but for what is long in one piece: that is [read in turn](Self::read_in_turn).
    pub(super) fn read_at_once(&mut self) {
        if is_read_in_turn(&self.stream) {
            self.stream.flush();
        } else {
            self.read_in_turn();
        }
    }

    /// Reads once and decodes.
    pub(super) fn read_in_turn(&mut self) {
        self.stream.poll();
        self.has_input = self.stream.has_come();
    }

    /// Its rank in each of the orders in which it waits for its turn.
    pub(super) fn ranks(&self) -> impl Iterator<Item = (Order, u64)> + use<> {
        self.account.ranks(self.stream.asked())
    }

    /// Whether it hears of all in its stream, and carries it out in that order.
    pub(super) fn is_in_order(&self) -> bool {
        is_in_order(self.capabilities)
    }
}

fn is_in_order(capabilities: Capabilities) -> bool {
    let has_other_ways = capabilities.intersection(Capabilities::LOCAL) != Capabilities::NONE;
    capabilities.contains(Capabilities::MEMORY_IN_ORDER) && !has_other_ways
}

/// Looks at a session after another at which nothing has come, after which it falls asleep: those of more than a millisecond. Where
/// more than a few are awake they fall asleep earlier, so that all such looks take no longer.
const LOOKS_AWAKE: usize = 64;
/// Of so few sessions none falls asleep: to look at them takes no longer.
const FEW: usize = 8;

/// All of them. At those who are awake every access looks several times: mostly one or two.
#[derive(Default)]
pub(super) struct Members {
    /// In the order of their numbers.
    awake: Vec<(SessionId, Box<Member>)>,
    asleep: Asleep,
    waiting: Waiting,
    /// Sessions that have sent a part of a long message, until it is their turn to be read. They are neither
    /// awake nor asleep, because otherwise they would be woken and put to sleep again and again.
    receiving: BTreeMap<SessionId, Box<Member>>,
}

impl Members {
    fn place(&self, session: SessionId) -> Result<usize, usize> {
        self.awake.binary_search_by_key(&session, |(id, _)| *id)
    }

    pub(super) fn get(&self, session: SessionId) -> Option<&Member> {
        match self.place(session) {
            Ok(place) => Some(&self.awake[place].1),
            Err(_) => {
                let receiving = || self.receiving.get(&session).map(|member| &**member);
                self.asleep.get(session).or_else(|| self.waiting.get(session)).or_else(receiving)
            }
        }
    }

    /// One who is awake from then on.
    pub(super) fn get_mut(&mut self, session: SessionId) -> Option<&mut Member> {
        let place = match self.place(session) {
            Ok(place) => place,
            Err(place) => {
                let mut member = self.remove_unseen(session)?;
                member.quiet_looks = 0;
                self.awake.insert(place, (session, member));
                place
            }
        };
        Some(&mut self.awake[place].1)
    }

    pub(super) fn contains(&self, session: SessionId) -> bool {
        self.get(session).is_some()
    }

    pub(super) fn insert(&mut self, session: SessionId, member: Member) {
        let member = Box::new(member);
        match self.place(session) {
            Ok(place) => self.awake[place].1 = member,
            Err(place) => self.awake.insert(place, (session, member)),
        }
    }

    pub(super) fn remove(&mut self, session: SessionId) -> Option<Box<Member>> {
        match self.place(session) {
            Ok(place) => Some(self.awake.remove(place).1),
            Err(_) => self.remove_unseen(session),
        }
    }

    /// One who is not awake.
    fn remove_unseen(&mut self, session: SessionId) -> Option<Box<Member>> {
        let waiting = || self.waiting.remove(session);
        self.asleep.remove(session).or_else(waiting).or_else(|| self.receiving.remove(&session))
    }

    /// One whose stream has ended, and what came before is carried out; and why.
    pub(super) fn ended(&self) -> Option<(SessionId, String)> {
        let mut over = self.awake().filter(|(_, member)| member.stream.asked().all == 0);
        over.find_map(|(session, member)| Some((session, member.stream.end()?.why().to_owned())))
    }

    pub(super) fn len(&self) -> usize {
        self.awake.len() + self.asleep.len() + self.waiting.len() + self.receiving.len()
    }

    /// Those who may have something, want something or be told something.
    pub(super) fn awake(&self) -> impl Iterator<Item = (SessionId, &Member)> {
        self.awake.iter().map(|(session, member)| (*session, &**member))
    }

    pub(super) fn awake_mut(&mut self) -> impl Iterator<Item = (SessionId, &mut Member)> {
        self.awake.iter_mut().map(|(session, member)| (*session, &mut **member))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (SessionId, &Member)> {
        let receiving = self.receiving.iter().map(|(session, member)| (*session, &**member));
        self.awake().chain(self.asleep.iter()).chain(self.waiting.iter()).chain(receiving)
    }

    /// All of them, as they are.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (SessionId, &mut Member)> {
        let awake = self.awake.iter_mut().map(|(session, member)| (*session, &mut **member));
        let receiving = self.receiving.iter_mut().map(|(session, member)| (*session, &mut **member));
        awake.chain(self.asleep.iter_mut()).chain(self.waiting.iter_mut()).chain(receiving)
    }

    /// Whose turn is next by an order, of those who wait for it and are not awake.
    pub(super) fn first_waiting(&self, order: Order) -> Option<(SessionId, &Member)> {
        self.waiting.first(order)
    }

    /// Who is read next of those of whom a part of something long has come: the first behind one.
    pub(super) fn next_to_be_read(&self, behind: SessionId) -> Option<SessionId> {
        let awake = self.awake().filter(|(_, member)| is_read_in_turn(&member.stream)).map(|(id, _)| id);
        let next = self.receiving.range((Bound::Excluded(behind), Bound::Unbounded)).next();
        let waiting = next.or_else(|| self.receiving.first_key_value()).map(|(id, _)| *id);
        awake.chain(waiting).min_by_key(|session| (*session <= behind, *session))
    }

    /// Whether somebody waits to be read, and is not awake.
    pub(super) fn are_receiving(&self) -> bool {
        !self.receiving.is_empty()
    }

    /// Whether somebody waits for its turn, and is not awake.
    pub(super) fn are_waiting(&self) -> bool {
        self.waiting.len() > 0
    }

    /// Whether somebody is asleep.
    pub(super) fn are_asleep(&self) -> bool {
        self.asleep.len() > 0
    }

    /// What to wait for: a file that can be read when something has come from somebody who is asleep, and the others.
    pub(super) fn waited_for(&mut self) -> (Option<BorrowedFd<'_>>, impl Iterator<Item = &mut Member>) {
        (self.asleep.watch(), self.awake.iter_mut().map(|(_, member)| &mut **member))
    }

    /// Wakes those from whom something has come.
    pub(super) fn wake(&mut self) {
        for session in self.asleep.ready() {
            if let Some(member) = self.get_mut(session) {
                member.has_input = true;
            }
        }
    }

    /// After a look at each who is awake: who has been silent for long falls asleep, and who asks for much waits for its turn.
    pub(super) fn let_sleep(&mut self) {
        let count = self.awake.len();
        if count <= FEW {
            return;
        }
        let looks = (LOOKS_AWAKE * FEW / count).max(1);
        for (session, mut member) in std::mem::take(&mut self.awake) {
            member.quiet_looks = if member.may_sleep() { member.quiet_looks + 1 } else { 0 };
            if member.waits_for_turn() {
                self.waiting.insert(session, member);
            } else if member.waits_to_be_read() {
                self.receiving.insert(session, member);
            } else if member.quiet_looks < looks {
                self.awake.push((session, member));
            } else if let Err(member) = self.asleep.insert(session, member) {
                self.awake.push((session, member));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    use bytes::BytesMut;
    use tokio::sync::oneshot;
    use vp_protocols::native::{
        Access, Connection, Event, MemoryWrite, Message, Notice, Offer, PortId, Posted, RegisterWrite, Terms,
        Time, TimeMode, emit,
    };
    use vp_transport::Socket;

    use super::super::message::ToSession;
    use super::super::turns::Turns;
    use super::*;

    /// Sessions, and their peers.
    fn members(count: u64) -> (Members, Vec<UnixStream>) {
        let mut members = Members::default();
        let add = |id| {
            let (near, far) = UnixStream::pair().unwrap();
            near.set_nonblocking(true).unwrap();
            let mut client = Connection::client(Connection::hello("test", None, TimeMode::Free)).unwrap();
            let mut connection = Connection::server(Terms::default());
            let mut hello = BytesMut::from(&client.output().split()[..]);
            assert!(matches!(connection.receive(&mut hello), Ok(Some(Event::Hello(_)))));
            connection.accept(Offer::default()).unwrap();
            let (socket, ended) = (Arc::new(Socket::Unix(near)), oneshot::channel().0);
            let stream = SessionStream::new(socket, connection, BytesMut::new(), ended);
            let who = ("session".to_owned(), "test".to_owned());
            let member = Member::new(Capabilities::NONE, who, Guest::default(), stream, Account::default());
            members.insert(SessionId(id), member);
            far
        };
        let peers = (0..count).map(add).collect();
        (members, peers)
    }

    fn look(members: &mut Members) {
        members.wake();
        members.awake_mut().for_each(|(_, member)| member.read_at_once());
        members.let_sleep();
    }

    fn awake(members: &Members) -> Vec<u64> {
        members.awake().map(|(session, _)| session.0).collect()
    }

    #[test]
    fn of_many_sessions_those_that_say_nothing_are_not_looked_at_until_they_do() {
        let (mut members, mut peers) = members(50);
        (0..=LOOKS_AWAKE).for_each(|_| look(&mut members));
        assert_eq!((awake(&members), members.len()), (Vec::new(), 50));
        // A part of a frame.
        peers[7].write_all(&[0]).unwrap();
        drop(peers.remove(30));
        look(&mut members);
        assert_eq!(awake(&members), [7, 30]);
        assert_eq!(members.ended().map(|(session, _)| session), Some(SessionId(30)));
        assert!(members.remove(SessionId(30)).is_some() && members.remove(SessionId(9)).is_some());
        // Who is told something is looked at as well.
        assert!(members.get_mut(SessionId(40)).is_some());
        look(&mut members);
        assert_eq!(awake(&members), [7, 40]);
        assert_eq!((members.iter().count(), members.iter_mut().count(), members.len()), (48, 48, 48));
    }

    #[test]
    fn who_does_not_read_is_not_looked_at_until_it_does() {
        let (mut members, mut peers) = members(50);
        let notice = Notice::Warning { time: Time(0), text: "x".repeat(1000) };
        for session in 0..50 {
            let stream = &mut members.get_mut(SessionId(session)).unwrap().stream;
            let mut is_full = || {
                stream.send(ToSession::Notice(notice.clone()));
                stream.permits().notice_sent();
                stream.flush();
                stream.waits_to().1
            };
            assert!((0..10_000).any(|_| is_full()));
        }
        (0..=LOOKS_AWAKE).for_each(|_| look(&mut members));
        assert_eq!(awake(&members), [0; 0]);
        peers[7].set_nonblocking(true).unwrap();
        while peers[7].read(&mut [0; 4096]).is_ok() {}
        look(&mut members);
        assert_eq!(awake(&members), [7]);
    }

    #[test]
    fn who_waits_for_its_turn_is_not_looked_at_until_then() {
        let (mut members, mut peers) = members(50);
        let turns = Turns::default();
        let write = RegisterWrite { port: PortId(0), address: 0x1004, value: 1, at: None };
        for (session, peer) in (0..).zip(&mut peers) {
            // The first three ask for little.
            let mut writes = BytesMut::new();
            for _ in 0..if session < 3 { 1 } else { 10 } {
                emit(&Message::Posted(Posted::RegisterWrite(write)), &[], &mut writes).unwrap();
            }
            peer.write_all(&writes).unwrap();
            let member = members.get_mut(SessionId(session)).unwrap();
            member.stream.poll();
            turns.look(&mut member.account, member.stream.asked());
            if session >= 40 {
                member.account.use_up();
            }
        }
        look(&mut members);
        assert_eq!((awake(&members), members.len(), members.iter().count()), (vec![0, 1, 2], 50, 50));
        let first = |members: &Members| {
            Order::ALL.map(|order| members.first_waiting(order).map(|(session, _)| session.0))
        };
        assert_eq!(first(&members), [Some(3), Some(3), Some(40)]);
        assert!(members.get_mut(SessionId(3)).is_some() && members.remove(SessionId(40)).is_some());
        assert_eq!(awake(&members), [0, 1, 2, 3]);
        assert_eq!(first(&members), [Some(4), Some(4), Some(41)]);
    }

    #[test]
    fn who_sends_what_is_long_in_one_piece_is_not_looked_at_until_it_is_read_in_turn() {
        let (mut members, mut peers) = members(50);
        let (port, length, payload) = (PortId(2), 1 << 20, vec![0; 1 << 20]);
        let write = MemoryWrite {
            port,
            address: 0,
            length,
            access: Access::Debug,
            axi_id: 0,
            strobes: false,
            at: None,
        };
        let mut load = BytesMut::new();
        emit(&Message::Posted(Posted::MemoryWrite(write)), &payload, &mut load).unwrap();
        for peer in &mut peers {
            peer.write_all(&load[..100 << 10]).unwrap();
        }
        look(&mut members);
        assert_eq!((awake(&members), members.len(), members.iter_mut().count()), (vec![], 50, 50));
        assert_eq!([7, 49].map(|behind| members.next_to_be_read(SessionId(behind)).unwrap().0), [8, 0]);
        // What has come is read; then nothing is there.
        for is_more in [true, false] {
            let member = members.get_mut(SessionId(8)).unwrap();
            member.read_in_turn();
            assert_eq!(member.stream.has_come(), is_more);
            look(&mut members);
        }
        assert_eq!(awake(&members), [8]);
        peers[8].write_all(&load[100 << 10..150 << 10]).unwrap();
        members.get_mut(SessionId(8)).unwrap().read_in_turn();
        look(&mut members);
        assert_eq!((awake(&members), members.next_to_be_read(SessionId(7))), (vec![8], Some(SessionId(8))));
        assert!(members.remove(SessionId(8)).is_some() && members.are_receiving());
    }

    #[test]
    fn of_few_sessions_none_falls_asleep() {
        let (mut members, _peers) = members(FEW as u64);
        (0..=2 * LOOKS_AWAKE).for_each(|_| look(&mut members));
        assert_eq!(awake(&members).len(), FEW);
    }

    #[test]
    fn a_ring_or_shared_memory_goes_past_the_stream() {
        let promised = Capabilities::ALL.union(Capabilities::MEMORY_IN_ORDER);
        assert!(is_in_order(promised));
        assert!(!is_in_order(Capabilities::ALL));
        for way in [Capabilities::SHARED_MEMORY, Capabilities::REGISTER_RING, Capabilities::LOCAL] {
            assert!(!is_in_order(promised.union(way)));
        }
    }
}
