//! The sessions of an instance.

use std::os::fd::BorrowedFd;

use vp_protocols::native::SessionId;

use super::asleep::Asleep;
use super::member::{LOOKS_AWAKE, Member, MemberMap};
use super::turns::{Order, is_read_in_turn};
use super::waiting::Waiting;

/// Of so few sessions none falls asleep: to look at them takes no longer.
const FEW: usize = 8;

/// All sessions. Every access looks several times at those that are awake: mostly one or two.
#[derive(Default)]
pub(super) struct Members {
    /// In the order of their numbers.
    awake: Vec<(SessionId, Box<Member>)>,
    asleep: Asleep,
    waiting: Waiting,
    /// Sessions that have sent a part of a long message, until it is their turn to be read. They are neither
    /// awake nor asleep, because otherwise they would be woken and put to sleep again and again.
    receiving: MemberMap,
}

impl Members {
    fn place(&self, session: SessionId) -> Result<usize, usize> {
        self.awake.binary_search_by_key(&session, |(id, _)| *id)
    }

    pub(super) fn get(&self, session: SessionId) -> Option<&Member> {
        match self.place(session) {
            Ok(place) => Some(&self.awake[place].1),
            Err(_) => self.unseen().into_iter().find_map(|members| members.get(session)),
        }
    }

    /// A session that is awake from then on.
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

    /// Sessions that are not awake.
    fn unseen(&self) -> [&MemberMap; 3] {
        [self.asleep.members(), self.waiting.members(), &self.receiving]
    }

    /// Removes a session that is not awake.
    fn remove_unseen(&mut self, session: SessionId) -> Option<Box<Member>> {
        let waiting = || self.waiting.remove(session);
        self.asleep.remove(session).or_else(waiting).or_else(|| self.receiving.remove(session))
    }

    /// A session whose stream has ended and whose earlier requests are carried out; and why it ends.
    pub(super) fn ended(&self) -> Option<(SessionId, String)> {
        let mut over = self.awake().filter(|(_, member)| member.stream.asked().all == 0);
        over.find_map(|(session, member)| Some((session, member.stream.end()?.why().to_owned())))
    }

    pub(super) fn len(&self) -> usize {
        self.awake.len() + self.unseen().map(MemberMap::len).iter().sum::<usize>()
    }

    /// Sessions that are awake: they may have sent something, want something or have to be sent something.
    pub(super) fn awake(&self) -> impl Iterator<Item = (SessionId, &Member)> {
        self.awake.iter().map(|(session, member)| (*session, &**member))
    }

    pub(super) fn awake_mut(&mut self) -> impl Iterator<Item = (SessionId, &mut Member)> {
        self.awake.iter_mut().map(|(session, member)| (*session, &mut **member))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (SessionId, &Member)> {
        self.awake().chain(self.unseen().into_iter().flat_map(MemberMap::iter))
    }

    /// All of them, as they are.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (SessionId, &mut Member)> {
        let awake = self.awake.iter_mut().map(|(session, member)| (*session, &mut **member));
        let unseen = [self.asleep.members_mut(), self.waiting.members_mut(), &mut self.receiving];
        awake.chain(unseen.into_iter().flat_map(MemberMap::iter_mut))
    }

    /// The session that is next by an order, of those that wait for their turn and are not awake.
    pub(super) fn first_waiting(&self, order: Order) -> Option<(SessionId, &Member)> {
        self.waiting.first(order)
    }

    /// The session that is read next, of those that have sent a part of a long message: the first after this
    /// one.
    pub(super) fn next_to_be_read(&self, behind: SessionId) -> Option<SessionId> {
        let awake = self.awake().filter(|(_, member)| is_read_in_turn(&member.stream)).map(|(id, _)| id);
        awake.chain(self.receiving.next(behind)).min_by_key(|session| (*session <= behind, *session))
    }

    /// Returns true if a session waits to be read, and is not awake.
    pub(super) fn are_receiving(&self) -> bool {
        !self.receiving.is_empty()
    }

    /// Returns true if a session waits for its turn, and is not awake.
    pub(super) fn are_waiting(&self) -> bool {
        !self.waiting.members().is_empty()
    }

    /// Returns true if a session is asleep.
    pub(super) fn are_asleep(&self) -> bool {
        !self.asleep.members().is_empty()
    }

    /// The files to wait for: one that can be read when a sleeping session has sent something, and the others.
    pub(super) fn waited_for(&mut self) -> (Option<BorrowedFd<'_>>, impl Iterator<Item = &mut Member>) {
        (self.asleep.watch(), self.awake.iter_mut().map(|(_, member)| &mut **member))
    }

    /// Wakes the sessions that have sent something.
    pub(super) fn wake(&mut self) {
        for session in self.asleep.ready() {
            if let Some(member) = self.get_mut(session) {
                member.has_input = true;
            }
        }
    }

    /// Called after a look at each session that is awake: one that has been silent for long falls asleep, and
    /// one that asks for much waits for its turn.
    pub(super) fn let_sleep(&mut self) {
        if self.awake.len() <= FEW {
            return;
        }
        for (session, mut member) in std::mem::take(&mut self.awake) {
            member.quiet_looks = if member.may_sleep() { member.quiet_looks + 1 } else { 0 };
            if member.waits_for_turn() {
                self.waiting.insert(session, member);
            } else if member.waits_to_be_read() {
                self.receiving.insert(session, member);
            } else if member.quiet_looks < LOOKS_AWAKE {
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
        Access, Capabilities, Connection, Event, MemoryWrite, Message, Notice, Offer, PortId, Posted,
        RegisterWrite, Terms, Time, TimeMode, emit,
    };
    use vp_transport::Socket;

    use super::super::message::ToSession;
    use super::super::session_stream::SessionStream;
    use super::super::turns::{CommandCosts, Turns};
    use super::*;
    use crate::access::SessionIdentity;

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
            let member = Member::new(
                Capabilities::NONE,
                who,
                SessionIdentity::default(),
                stream,
                CommandCosts::default(),
            );
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
}
