//! A stretch of network that cuts everything: it has room for little, and hands on a few bytes at a time.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};

/// Room for bytes that nobody has taken yet. The system makes it a little more.
const ROOM: usize = 2048;
/// Bytes handed on at once, at most.
const MOST: usize = 700;

/// A way for one connection to an address of TCP on this host; where it begins.
pub fn relay(port: u16, mut seed: u64) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // Those who are accepted have it from there.
    set_socket_recv_buffer_size(&listener, ROOM).unwrap();
    let place = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (near, _) = listener.accept().unwrap();
        let far = TcpStream::connect(("127.0.0.1", port)).unwrap();
        for end in [&near, &far] {
            end.set_nodelay(true).unwrap();
            set_socket_recv_buffer_size(end, ROOM).unwrap();
            set_socket_send_buffer_size(end, ROOM).unwrap();
        }
        for (from, to) in [(near.try_clone(), far.try_clone()), (far.try_clone(), near.try_clone())] {
            seed = seed.wrapping_add(1);
            let (from, to) = (from.unwrap(), to.unwrap());
            thread::spawn(move || hand_on(from, to, seed));
        }
    });
    place
}

fn hand_on(mut from: TcpStream, mut to: TcpStream, mut random: u64) {
    let mut bytes = [0; MOST];
    loop {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let most = 1 + (random >> 33) as usize % MOST;
        match from.read(&mut bytes[..most]) {
            Ok(read @ 1..) if to.write_all(&bytes[..read]).is_ok() => {}
            _ => break,
        }
    }
    // The other direction ends with its own reader.
    let _ = to.shutdown(Shutdown::Write);
}
