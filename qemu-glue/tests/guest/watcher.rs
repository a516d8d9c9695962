//! A session that only looks at what a shared platform says of itself.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use bytes::BytesMut;
use vp_protocols::native::statistics::parse_counters;
use vp_protocols::native::{Connection, CounterValue, Event, Reply, Request, TimeMode};
use vp_transport::Address;

/// As long as there is one the platform stays.
pub(crate) struct Watcher {
    stream: UnixStream,
    connection: Connection,
    input: BytesMut,
}

impl Watcher {
    /// Joins the platform of that name, and makes it if there is none.
    pub(crate) fn join(address: &Address, platform: &str, mode: TimeMode) -> Watcher {
        let Address::Unix(path) = address else { panic!("a socket in a folder") };
        let stream = UnixStream::connect(path).expect("a server");
        let connection = Connection::client(Connection::hello("watcher", Some(platform), mode));
        let connection = connection.expect("a hello");
        let mut watcher = Watcher { stream, connection, input: BytesMut::new() };
        assert!(matches!(watcher.next(), Event::Welcome(_)));
        watcher
    }

    /// The counters whose name starts so.
    pub(crate) fn counters(&mut self, prefix: &str) -> HashMap<String, CounterValue> {
        let request = Request::Statistics { prefix: prefix.into(), first: 0 };
        let asked = self.connection.request(request, &[]).expect("a request");
        loop {
            if let Event::Reply { id, reply: Reply::Statistics { total, count }, payload, .. } = self.next() {
                assert!(id == asked && total == count);
                let counters = parse_counters(&payload, count).expect("counters");
                return counters.into_iter().map(|counter| (counter.name, counter.value)).collect();
            }
        }
    }

    fn next(&mut self) -> Event {
        let output = self.connection.output().split();
        self.stream.write_all(&output).expect("a server that reads");
        loop {
            if let Some(event) = self.connection.receive(&mut self.input).expect("the protocol") {
                return event;
            }
            let mut part = [0; 4096];
            let read = self.stream.read(&mut part).expect("a server");
            assert!(read > 0, "the server has gone");
            self.input.extend_from_slice(&part[..read]);
        }
    }
}
