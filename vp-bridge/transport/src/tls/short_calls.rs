//! TLS over a stream whose calls may be partial, be interrupted, or find nothing.

use std::io::{self, Read, Write};

use super::socket::{Progress, Session};
use super::tests::Authority;
use crate::reluctant::Reluctant;

/// Bytes that one side reads, and those that it writes.
struct Ends<'a>(&'a mut Reluctant, &'a mut Reluctant);

impl Read for Ends<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for Ends<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Side {
    session: Session,
    is_open: bool,
    sent: Vec<u8>,
    /// Number of them that are written.
    written: usize,
    received: Vec<u8>,
}

impl Side {
    fn new(session: Session, first: u8) -> Side {
        let sent = (0..100_000_u32)
            .map(|at| first.wrapping_add((at.wrapping_mul(2_654_435_761) >> 24) as u8))
            .collect();
        Side { session, is_open: false, sent, written: 0, received: Vec::new() }
    }

    fn step(&mut self, ends: &mut Ends<'_>) {
        if !self.is_open {
            self.is_open = self.session.handshake(ends).unwrap() == Progress::Done;
            return;
        }
        // Not always the same bytes are shown again, but always from the same one on.
        let shown = self.written + ends.1.number(50_000);
        let mut left = &self.sent[self.written..shown.min(self.sent.len())];
        if !left.is_empty() {
            self.written += self.session.write(ends, &mut left).unwrap().unwrap_or(0);
        }
        let mut landing = vec![0; ends.0.number(20_000)];
        if let Some(read) = self.session.read(ends, &mut landing).unwrap() {
            assert!(read > 0, "nobody has ended it");
            self.received.extend_from_slice(&landing[..read]);
        }
    }
}

#[test]
fn what_is_cut_short_and_interrupted_comes_out_whole() {
    let authority = Authority::new();
    let (server, client) = (authority.server("lab", 4000, None), authority.client());
    for seed in 1..=100 {
        let mut near = Side::new(Session::client("lab", &client).unwrap(), 1);
        let mut far = Side::new(Session::server(&server).unwrap(), 77);
        let (mut there, mut back) = (Reluctant::new(seed), Reluctant::new(seed << 20));
        let mut steps = 0;
        while near.received.len() < far.sent.len() || far.received.len() < near.sent.len() {
            near.step(&mut Ends(&mut back, &mut there));
            far.step(&mut Ends(&mut there, &mut back));
            steps += 1;
            assert!(steps < 100_000, "seed {seed}: it does not go on");
        }
        assert!(near.received == far.sent && far.received == near.sent, "seed {seed}");
    }
}
