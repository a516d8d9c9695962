//! A client that speaks the protocol by hand.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use bytes::BytesMut;
use vp_protocols::native::{
    Attach, Connection, Event, Hello, PortId, Reply, Request, RequestId, Role, Time, TimeMode,
};
use vp_transport::Address;

pub const CSB: PortId = PortId(0);
pub const IRQ: PortId = PortId(1);
pub const DBB: PortId = PortId(2);

/// A client that does one thing at a time and nothing by itself.
pub struct Raw {
    pub stream: TcpStream,
    pub connection: Connection,
    pub input: BytesMut,
}

impl Raw {
    pub fn dial(address: &Address) -> TcpStream {
        let Address::Tcp { host, port } = address else { panic!("a TCP test") };
        let stream = TcpStream::connect((host.as_str(), *port)).unwrap();
        stream.set_nodelay(true).unwrap();
        // Only to end a test that would hang.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    pub fn open(address: &Address, platform: Option<&str>, mode: TimeMode) -> Raw {
        Raw::greet(address, Connection::hello("raw 1.0", platform, mode))
    }

    pub fn greet(address: &Address, hello: Hello) -> Raw {
        let connection = Connection::client(hello).unwrap();
        let mut raw = Raw { stream: Raw::dial(address), connection, input: BytesMut::new() };
        raw.flush();
        let event = raw.next();
        assert!(matches!(event, Event::Welcome(_)), "{event:?}");
        raw
    }

    pub fn flush(&mut self) {
        let bytes = self.connection.output().split();
        self.stream.write_all(&bytes).unwrap();
    }

    pub fn next(&mut self) -> Event {
        self.flush();
        loop {
            if let Some(event) = self.connection.receive(&mut self.input).unwrap() {
                return event;
            }
            let mut bytes = [0; 4096];
            let read = self.stream.read(&mut bytes).unwrap();
            assert!(read > 0, "the server closed the stream");
            self.input.extend_from_slice(&bytes[..read]);
        }
    }

    pub fn send(&mut self, request: Request) -> RequestId {
        self.connection.request(request, &[]).unwrap()
    }

    /// The next reply; what comes before it goes into `before`.
    pub fn reply(&mut self, before: &mut Vec<Event>) -> (RequestId, Time, Reply) {
        loop {
            match self.next() {
                Event::Reply { id, time, reply, .. } => return (id, time, reply),
                other => before.push(other),
            }
        }
    }

    pub fn ask(&mut self, request: Request) -> Reply {
        let id = self.send(request);
        let (answered, _, reply) = self.reply(&mut Vec::new());
        assert_eq!(answered, id);
        reply
    }

    pub fn attach(&mut self, port: PortId, role: Role) -> Reply {
        self.ask(Request::Attach(Attach { port, role, range: None }))
    }
}
