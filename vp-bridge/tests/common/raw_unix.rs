//! A client over a Unix socket that speaks the protocol by hand, and passes files.

use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use vp_protocols::native::{
    Attach, Capabilities, Connection, ErrorCode, Event, OpenRing, Reply, Request, Role, ShareMemory,
    SharedRegion, TimeMode,
};
use vp_shm::ring::Client;
use vp_transport::Address;

pub use super::raw::{CSB, DBB, IRQ};

/// Address at which the platform's memory window begins.
pub const BASE: u64 = 0x8000_0000;

/// A client that does one thing at a time, and counts what it is asked.
pub struct RawUnix {
    pub stream: UnixStream,
    pub connection: Connection,
    pub input: BytesMut,
    pub asked: u32,
}

impl RawUnix {
    pub fn open(address: &Address, platform: Option<&str>, mode: TimeMode) -> RawUnix {
        let Address::Unix(path) = address else { panic!("a Unix socket") };
        let stream = UnixStream::connect(path).unwrap();
        // Only to end a test that would hang.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut hello = Connection::hello("raw 1.0", platform, mode);
        hello.capabilities = hello.capabilities.union(Capabilities::LOCAL);
        let connection = Connection::client(hello).unwrap();
        let mut raw = RawUnix { stream, connection, input: BytesMut::new(), asked: 0 };
        raw.send(&[]);
        assert!(matches!(raw.next(), Event::Welcome(_)));
        raw
    }

    /// A CPU with its memory.
    pub fn cpu(address: &Address, mode: TimeMode) -> RawUnix {
        let mut raw = RawUnix::open(address, None, mode);
        for (port, role) in [(CSB, Role::Initiator), (IRQ, Role::Sink), (DBB, Role::Target)] {
            assert_eq!(raw.ask(Request::Attach(Attach { port, role, range: None }), &[]), Reply::Done);
        }
        raw
    }

    pub fn send(&mut self, files: &[BorrowedFd<'_>]) {
        let mut files = files;
        while !self.connection.output().is_empty() {
            let sent =
                vp_shm::descriptors::send(&self.stream, self.connection.output().chunk(), files).unwrap();
            self.connection.output().advance(sent);
            files = &[];
        }
    }

    pub fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.connection.receive(&mut self.input).unwrap() {
                return event;
            }
            let mut bytes = [0; 4096];
            let read = std::io::Read::read(&mut self.stream, &mut bytes).unwrap();
            assert!(read > 0, "the server closed the stream");
            self.input.extend_from_slice(&bytes[..read]);
        }
    }

    pub fn ask(&mut self, request: Request, files: &[BorrowedFd<'_>]) -> Reply {
        self.connection.request(request, &[]).unwrap();
        self.send(files);
        loop {
            match self.next() {
                Event::Reply { reply, .. } => return reply,
                Event::Request { .. } => self.asked += 1,
                Event::Notice(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    pub fn ring(&mut self) -> Client {
        let client = Client::new().unwrap();
        assert_eq!(self.ask(open_ring(), &client.files()), Reply::Done);
        client
    }

    /// The reason for which the session ends.
    pub fn parting(&mut self) -> Option<ErrorCode> {
        loop {
            if let Event::Bye(bye) = self.next() {
                return bye.code;
            }
        }
    }
}

pub fn open_ring() -> Request {
    Request::OpenRing(OpenRing { port: CSB, line: IRQ })
}

/// A region: base, size, file, offset.
pub type Where = (u64, u64, u8, u64);

pub fn share(regions: &[Where], files: u8) -> Request {
    let region = |&(base, size, file, offset): &_| SharedRegion { base, size, file, offset };
    Request::ShareMemory(ShareMemory { port: DBB, files, regions: regions.iter().map(region).collect() })
}
