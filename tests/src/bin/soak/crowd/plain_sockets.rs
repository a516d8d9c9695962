//! As many bytes as a load has between two sockets with no server: what that takes under the same load of the same machine.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

/// One of two connected sockets. A thread reads at the other, and answers each copy with a byte, until this one is dropped.
pub(super) struct PlainSockets(TcpStream);

impl PlainSockets {
    /// For copies of so many bytes.
    pub(super) fn new(length: usize) -> io::Result<PlainSockets> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let near = TcpStream::connect(listener.local_addr()?)?;
        near.set_nodelay(true)?;
        let (mut far, _) = listener.accept()?;
        std::thread::spawn(move || -> io::Result<()> {
            let mut bytes = vec![0; length];
            loop {
                far.read_exact(&mut bytes)?;
                far.write_all(&[0])?;
            }
        });
        Ok(PlainSockets(near))
    }

    /// Copies the bytes, and waits until they are there.
    pub(super) fn copy(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)?;
        self.0.read_exact(&mut [0])
    }
}
