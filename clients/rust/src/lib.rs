//! One session with a server of virtual platforms, over any transport: registers, interrupt lines, memories, time.
//!
//! Clients in all languages, the plug-in for QEMU and the command line use [`Client`]. It has no thread and no
//! async runtime: calls block until they are answered. A call that waits also receives the server's other
//! messages and tells the program's [`Handler`]: levels of interrupt lines, warnings, accesses to the memory
//! that this side owns. A program with a loop of its own sends requests ([`Client::send`]), exchanges messages
//! without waiting ([`Client::progress`]), and takes answers when they are there ([`Client::take_answer`]).
//!
//! On one host, over a Unix socket, a client may share memory with the server ([`Client::share_memory`]) and
//! access registers through a ring without system calls ([`Client::open_ring`]). The other calls do not change.
//!
//! ```
//! # use vp_client::native::{Connection, Event, Notice, Offer, Port, Roles, Request, Reply, Terms};
//! use vp_client::native::{PortId, PortKind, Role, Time, Until};
//! use vp_client::{Client, Handler, Options};
//!
//! /// Keeps the interrupt line's level.
//! #[derive(Default)]
//! struct Line {
//!     level: bool,
//! }
//!
//! impl Handler for Line {
//!     fn interrupt(&mut self, _: PortId, level: bool, _: Time) {
//!         self.level = level;
//!     }
//! }
//!
//! # let (stream, far) = vp_transport::in_process::pair();
//! # let server = std::thread::spawn(move || {
//! #     let mut connection = Connection::server(Terms::default());
//! #     let mut input = bytes::BytesMut::new();
//! #     let port = |name: &str, kind, role| {
//! #         Port { name: name.into(), kind, roles: Roles::of(&[role]), base: 0, size: 0x1000, width: 32 }
//! #     };
//! #     loop {
//! #         while let Some(event) = connection.receive(&mut input).unwrap() {
//! #             match event {
//! #                 Event::Hello(_) => {
//! #                     let ports = vec![port("csb0", PortKind::Csb, Role::Initiator), port("irq0", PortKind::Irq, Role::Sink)];
//! #                     connection.accept(Offer { ports, ..Offer::default() }).unwrap();
//! #                 }
//! #                 Event::Bye(_) => return,
//! #                 Event::Request { id, request, .. } => {
//! #                     let reply = match request {
//! #                         Request::RegisterRead(_) => Reply::Value { value: 0x3130_3030 },
//! #                         Request::Advance { .. } => {
//! #                             let (port, level, time) = (PortId(1), true, Time::ps(9));
//! #                             connection.notify(Notice::Interrupt { port, level, time }).unwrap();
//! #                             Reply::Reached { why: vp_client::native::Why::Interrupt }
//! #                         }
//! #                         _ => Reply::Done,
//! #                     };
//! #                     connection.reply(id, Time::ps(9), reply, &[]).unwrap();
//! #                 }
//! #                 _ => {}
//! #             }
//! #         }
//! #         while !connection.output().is_empty() {
//! #             far.write(connection.output()).unwrap();
//! #         }
//! #         far.wait(vp_transport::Readiness::Bytes, None);
//! #         far.read_onto(4096, &mut input).unwrap();
//! #     }
//! # });
//! # let connect = |options: &Options, line| Client::over(stream, "example", options, line);
//! let options = Options::new("example 1.0");
//! // Mostly `Client::connect(&"tcp:127.0.0.1:7700".parse()?, &options, Line::default())`.
//! let mut client = connect(&options, Line::default())?;
//! let registers = client.first(PortKind::Csb).expect("a device");
//! let line = client.first(PortKind::Irq).expect("an interrupt line");
//! client.attach(registers, Role::Initiator, None)?;
//! client.attach(line, Role::Sink, None)?;
//!
//! assert_eq!(client.read_register(registers, 0x0)?, 0x3130_3030);
//! client.post_register(registers, 0x10, 1)?;
//! client.advance(Until::Interrupt { port: line, limit: None })?;
//! assert!(client.handler().level);
//! client.close("done")?;
//! # server.join().unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program with a clock of its own (an RTL simulator, another platform) is a partner ([`Client::clock`]): it drives pins at clock
//! edges and promises how long it is silent, as the platform does.
//!
//! `examples/registers.rs` is a program for a running server. The messages are those of `docs/protocol.md`
//! ([`native`]).

mod calls;
mod client;
mod credentials;
mod error;
mod handler;
mod ring;
mod silence;
#[cfg(test)]
mod tests;
mod wire;

pub use calls::{SaveError, is_memory};
pub use client::{Answer, Client, Options};
pub use credentials::{
    AUTHORITY, CERTIFICATE, Credentials, CredentialsError, KEY, TOKEN, TOKEN_FILE, token_of,
};
pub use error::{ConnectError, Error};
pub use handler::{Answered, Handler, Refusal, serve_memory};
pub use ring::{Ring, RingError, RingLine};
pub use silence::{SilenceLimit, limit_in_words};
pub use vp_protocols::{native, pci};
pub use vp_transport::{Address, AddressError, InClear, Readiness, Stream, UntrustedServer, Watch, tls};
