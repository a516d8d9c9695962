//! The bad sessions: two threads with non-blocking sockets.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use bytes::BytesMut;
use clap::ValueEnum;
use rustix::event::{PollFd, PollFlags, poll};
use vp_protocols::native::{
    Access, Attach, Connection, Event, MemoryWrite, Message, PortId, Posted, RegisterWrite, Reply, Request,
    RequestId, Role, TimeMode, emit,
};

use crate::process::text;

/// Behaviour of bad clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BadClient {
    /// Nothing.
    Idle,
    /// Write a register as fast as the server takes it; where another one has the registers, bytes of the memory.
    Storm,
    /// Ask for the status as fast as the server takes it, and read no answer.
    Deaf,
    /// Connect, say what is no frame, and connect again.
    Malformed,
    /// Reset their platform, again when that is done.
    Resets,
    /// Load 1 MiB, again when that is done.
    Loads,
}

impl BadClient {
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

const THREADS: usize = 2;
/// Positions of the ports of `nv_small`'s platform.
const REGISTERS: PortId = PortId(0);
const MEMORY: PortId = PortId(2);
/// Commands that are sent by one call.
const WRITES: usize = 512;
/// `GLB.S_INTR_MASK`.
const MASK: u64 = 0x1004;
/// Address at which bad clients load. The good one loads elsewhere.
const BASE: u64 = 0x8800_0000;
const PATIENCE: Duration = Duration::from_secs(60);

/// Is so many sessions, until it is killed; says when all are there.
pub(crate) fn be(
    bad: BadClient,
    address: &str,
    sessions: usize,
    platform: Option<&str>,
) -> Result<(), String> {
    let place = address.strip_prefix("tcp:").ok_or("the address is none of TCP")?;
    let script = Script::new(bad, platform.is_some())?;
    let (ready, are_ready) = channel();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (ready, script) = (ready.clone(), script.clone());
            let sessions = (thread..sessions).step_by(THREADS).len();
            scope.spawn(move || -> Result<(), String> {
                let open = || Member::open(place, platform, &script);
                let members = (0..sessions).map(|_| open()).collect::<Result<Vec<_>, _>>();
                let is_ready = members.as_ref().map(|_| ()).map_err(Clone::clone);
                ready.send(is_ready).map_err(text)?;
                go_on(members?, &open)
            });
        }
        for _ in 0..THREADS {
            are_ready.recv().map_err(text)??;
        }
        writeln!(io::stdout(), "ready").map_err(text)
    })
}

/// Bytes that a session says, and how it goes on.
#[derive(Clone)]
struct Script {
    bad: BadClient,
    /// The port that it is the initiator of.
    port: Option<PortId>,
    bytes: Arc<[u8]>,
}

impl Script {
    fn new(bad: BadClient, shares: bool) -> Result<Script, String> {
        let mut bytes = BytesMut::new();
        let id = RequestId(1);
        let mut say = |message: Message, payload: &[u8]| emit(&message, payload, &mut bytes).map_err(text);
        match bad {
            BadClient::Idle => {}
            BadClient::Storm if shares => {
                for at in 0..WRITES as u64 {
                    let write = debug_write(BASE + at, 1);
                    say(Message::Posted(Posted::MemoryWrite(write)), &[0xc3])?;
                }
            }
            BadClient::Storm => {
                for value in 0..WRITES as u32 {
                    let write = RegisterWrite { port: REGISTERS, address: MASK, value, at: None };
                    say(Message::Posted(Posted::RegisterWrite(write)), &[])?;
                }
            }
            BadClient::Deaf => {
                for id in 1..=WRITES as u32 {
                    say(Message::Request { id: RequestId(id), request: Request::Status }, &[])?;
                }
            }
            BadClient::Malformed => bytes.extend_from_slice(&[0xa5; 300]),
            BadClient::Resets => say(Message::Request { id, request: Request::Reset }, &[])?,
            BadClient::Loads => {
                let payload = vec![0xc3; 1 << 20];
                let write = debug_write(BASE, 1 << 20);
                say(Message::Request { id, request: Request::MemoryWrite(write) }, &payload)?;
            }
        }
        let port = match bad {
            BadClient::Storm if !shares => Some(REGISTERS),
            BadClient::Storm | BadClient::Loads => Some(MEMORY),
            _ => None,
        };
        Ok(Script { bad, port, bytes: bytes[..].into() })
    }
}

/// A write that takes no simulated time.
fn debug_write(address: u64, length: u32) -> MemoryWrite {
    MemoryWrite { port: MEMORY, address, length, access: Access::Debug, axi_id: 0, strobes: false, at: None }
}

struct Member {
    stream: TcpStream,
    script: Script,
    /// Bytes of the script that are sent.
    sent: usize,
}

impl Member {
    /// A session with the ports that it needs.
    fn open(place: &str, platform: Option<&str>, script: &Script) -> Result<Member, String> {
        let stream = TcpStream::connect(place).map_err(text)?;
        stream.set_nodelay(true).map_err(text)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(text)?;
        let hello = Connection::hello("bad", platform, TimeMode::Free);
        let mut connection = Connection::client(hello).map_err(text)?;
        let mut input = BytesMut::new();
        let mut member = Member { stream, script: script.clone(), sent: 0 };
        member.until(&mut connection, &mut input, |event| matches!(event, Event::Welcome(_)))?;
        if let Some(port) = script.port {
            let attach = Attach { port, role: Role::Initiator, range: None };
            connection.request(Request::Attach(attach), &[]).map_err(text)?;
            member.until(&mut connection, &mut input, |event| {
                matches!(event, Event::Reply { reply: Reply::Done, .. })
            })?;
        }
        member.stream.set_nonblocking(true).map_err(text)?;
        Ok(member)
    }

    fn until(
        &mut self,
        connection: &mut Connection,
        input: &mut BytesMut,
        is_it: impl Fn(&Event) -> bool,
    ) -> Result<(), String> {
        self.stream.write_all(&connection.output().split()).map_err(text)?;
        loop {
            while let Some(event) = connection.receive(input).map_err(text)? {
                match event {
                    event if is_it(&event) => return Ok(()),
                    Event::Notice(_) => {}
                    event => return Err(format!("{event:?}")),
                }
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes).map_err(text)? {
                0 => return Err("the server closed the connection".to_owned()),
                read => input.extend_from_slice(&bytes[..read]),
            }
        }
    }

    fn has_more(&self) -> bool {
        self.sent < self.script.bytes.len()
    }

    /// Sends what goes, and hears what is there; false when the session is over.
    fn go_on(&mut self, ready: PollFlags, rubbish: &mut [u8]) -> bool {
        if ready.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            match self.stream.read(rubbish) {
                Ok(0) => return false,
                // An answer is short, and comes whole.
                Ok(_) if !self.has_more() => self.sent = 0,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return false,
            }
        }
        if ready.contains(PollFlags::OUT) && self.has_more() {
            match self.stream.write(&self.script.bytes[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return false,
            }
            if matches!(self.script.bad, BadClient::Storm | BadClient::Deaf) && !self.has_more() {
                self.sent = 0;
            }
        }
        true
    }
}

/// All they do, for ever. One whose session is over opens another.
fn go_on(mut members: Vec<Member>, open: &dyn Fn() -> Result<Member, String>) -> Result<(), String> {
    let mut rubbish = vec![0; 64 << 10];
    loop {
        let mut files: Vec<PollFd<'_>> = (members.iter())
            .map(|member| {
                let mut flags = PollFlags::empty();
                flags.set(PollFlags::IN, member.script.bad != BadClient::Deaf);
                flags.set(PollFlags::OUT, member.has_more());
                PollFd::from_borrowed_fd(member.stream.as_fd(), flags)
            })
            .collect();
        poll(&mut files, None).map_err(text)?;
        let ready: Vec<PollFlags> = files.iter().map(PollFd::revents).collect();
        for (member, ready) in members.iter_mut().zip(ready) {
            if !ready.is_empty() && !member.go_on(ready, &mut rubbish) {
                // A server that has no room for it at this moment has later.
                if let Ok(another) = open() {
                    *member = another;
                }
            }
        }
    }
}
