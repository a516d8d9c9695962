//! The order between the sessions of a platform: round robin.
//!
//! In a round each session is served once, in the order of their numbers: its socket is written and read, and a
//! [batch](super::session_stream) of commands that have come is carried out. So a command waits for at most one
//! batch of each other session until its own session is served. A batch is bounded in commands and bytes; one
//! command beyond that is carried out whole.
//!
//! This is only the order of commands: the hub decides what a command does, and when in simulated time.

use std::ops::Bound;

use vp_protocols::native::SessionId;

use super::PlatformThread;

impl PlatformThread {
    /// Serves each session once. Says whether something has come of it that the platform has to do, or that more may come at once.
    pub(super) fn serve_round(&mut self) -> bool {
        let (mut is_busy, mut last) = (false, SessionId(0));
        while let Some((&session, _)) = self.members.range((Bound::Excluded(last), Bound::Unbounded)).next() {
            is_busy |= self.serve_session(session);
            last = session;
        }
        self.adapted.poll(self.hub.now()) || is_busy
    }

    /// Writes and reads a session's socket, and carries out the batch of commands that has come.
    fn serve_session(&mut self, session: SessionId) -> bool {
        let Some(member) = self.members.get_mut(&session) else { return false };
        member.stream.poll();
        let is_over = member.stream.end().is_some();
        if !is_over && !member.stream.has_commands() {
            return member.stream.has_buffered();
        }
        while let Some(command) = self.next_command(session) {
            self.session_command(session, command);
        }
        if let Some(member) = self.members.get_mut(&session) {
            member.stream.flush();
        }
        true
    }

    fn next_command(&mut self, session: SessionId) -> Option<super::SessionCommand> {
        self.members.get_mut(&session)?.stream.next_command()
    }

    /// Returns true if something is to be carried out.
    pub(super) fn has_commands(&self) -> bool {
        self.adapted.has_inputs() || self.members.values().any(|member| member.stream.has_commands())
    }

    /// Returns a session whose stream has ended and whose earlier commands are carried out, and why it ends.
    pub(super) fn ended_member(&self) -> Option<(SessionId, String)> {
        let mut over = self.members.iter().filter(|(_, member)| !member.stream.has_commands());
        over.find_map(|(session, member)| Some((*session, member.stream.end()?.why().to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    use bytes::BytesMut;
    use tokio::sync::oneshot;
    use vp_models::memory::MemoryBudget;
    use vp_models::platform::Description;
    use vp_protocols::native::{
        AccessKind, Attach, Connection, Decoder, MemoryWrite, Message, Phase, PortId, RegisterRead, Request,
        RequestId, Role, TimeMode, emit,
    };

    use super::super::session_stream::{BATCH_BYTES, BATCH_COMMANDS};
    use super::super::tests::joining;
    use super::super::{Inbox, Start, TimeLimits};
    use super::*;
    use crate::session_end::Ended;

    const REGISTERS: PortId = PortId(0);
    const MEMORY: PortId = PortId(2);

    /// A client, and the number of answers that it has had.
    struct Client {
        stream: UnixStream,
        decoder: Decoder,
        input: BytesMut,
        answers: usize,
        _has_ended: oneshot::Receiver<Ended>,
    }

    impl Client {
        /// A client whose requests have come with its hello: it is the initiator of a port, and these.
        fn join(thread: &mut PlatformThread, id: u64, port: PortId, more: &[(Request, Vec<u8>)]) -> Client {
            let hello = Connection::hello("test", None, TimeMode::Lockstep);
            let (mut session, stream, _has_ended) = joining(id, &mut Connection::client(hello).unwrap());
            let attach = Request::Attach(Attach { port, role: Role::Initiator, range: None });
            for (id, (request, payload)) in (1..).zip([&(attach, Vec::new())].into_iter().chain(more)) {
                let message = Message::Request { id: RequestId(id), request: request.clone() };
                emit(&message, payload, &mut session.input).unwrap();
            }
            thread.join(session);
            stream.set_nonblocking(true).unwrap();
            Client {
                stream,
                decoder: Decoder::new(Phase::Session { max_payload: 1 << 20 }),
                input: BytesMut::new(),
                answers: 0,
                _has_ended,
            }
        }

        /// Takes what has come; gives how many of its requests have been answered.
        fn answers(&mut self) -> usize {
            let mut part = [0; 4096];
            while let Ok(read @ 1..) = self.stream.read(&mut part) {
                self.input.extend_from_slice(&part[..read]);
            }
            while let Some(frame) = self.decoder.decode(&mut self.input).unwrap() {
                self.answers += usize::from(matches!(frame.message, Message::Reply { .. }));
            }
            self.answers
        }
    }

    fn thread() -> PlatformThread {
        let inbox = Arc::new(Inbox::new().unwrap());
        let start = Start::from(Description::named("nv_small").unwrap());
        let (budget, mode) = (MemoryBudget::unlimited(), TimeMode::Lockstep);
        PlatformThread::build(&inbox, &start, budget, mode, TimeLimits::default()).unwrap()
    }

    /// `count` writes of `length` bytes, which take no simulated time.
    fn writes(count: usize, length: usize) -> Vec<(Request, Vec<u8>)> {
        let (address, access, length_) = (0x8000_0000, AccessKind::Debug, u32::try_from(length).unwrap());
        let write = MemoryWrite {
            port: MEMORY,
            address,
            length: length_,
            access,
            axi_id: 0,
            strobes: false,
            at: None,
        };
        vec![(Request::MemoryWrite(write), vec![1; length]); count]
    }

    /// Beside 32 sessions that write without end, wherever its number is among theirs.
    #[test]
    fn a_register_read_waits_for_one_batch_of_each_other_session_at_most() {
        for (most, all) in [(1, writes(4, BATCH_BYTES)), (BATCH_COMMANDS, writes(3 * BATCH_COMMANDS, 1))] {
            for place in [1, 17, 33] {
                let mut thread = thread();
                let mut reader = Client::join(&mut thread, place, REGISTERS, &[]);
                let others = (1..=33).filter(|id| *id != place);
                let mut others: Vec<Client> =
                    others.map(|id| Client::join(&mut thread, id, MEMORY, &all)).collect();
                thread.serve_round();
                assert_eq!(reader.answers(), 1);
                let before: Vec<usize> = others.iter_mut().map(Client::answers).collect();
                // As late as can be: the reader has just been served.
                let request =
                    Request::RegisterRead(RegisterRead { port: REGISTERS, address: 0x1000, at: None });
                let mut read = BytesMut::new();
                emit(&Message::Request { id: RequestId(2), request }, &[], &mut read).unwrap();
                reader.stream.write_all(&read).unwrap();
                assert!(thread.serve_round());
                for (other, before) in others.iter_mut().zip(before) {
                    assert_eq!(other.answers() - before, most);
                }
                thread.advance();
                thread.tell();
                thread.flush();
                assert_eq!(reader.answers(), 2);
            }
        }
    }

    #[test]
    fn a_session_that_has_left_in_the_middle_of_a_round_is_not_served() {
        let mut thread = thread();
        let mut clients = [1, 2].map(|id| Client::join(&mut thread, id, MEMORY, &writes(2, BATCH_BYTES)));
        drop(clients[0].stream.shutdown(std::net::Shutdown::Both));
        while thread.serve_round() {
            while let Some((session, why)) = thread.ended_member() {
                thread.leave(session, &why);
            }
        }
        assert_eq!((thread.members.len(), clients[1].answers()), (1, 3));
    }
}
