//! A CPU and memory that speak Remote-Port, in a process of its own, so that it can be killed.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use bytes::BytesMut;
use rand::rngs::SmallRng;
use vp_models::memory::Ram;
use vp_protocols::remote_port::{
    Access, Answer, Capabilities, Connection, Event, Request, ResponseCode, Transaction,
};

use crate::Around;
use crate::layers::{Bus, Cpu, Layer};
use crate::process::{self, LOOK, PATIENCE};
use crate::server::ServerPlace;
use crate::tally::Party;

/// The channel of the registers (`vp serve --remote-port-channels`).
const REGISTERS: u32 = 9;

/// Runs a layer at a server as such a peer, and compares, or kills it.
pub(crate) fn work(place: &ServerPlace, random: &mut SmallRng, around: &Around<'_>) -> Result<(), String> {
    let Some(socket) = &place.remote_port else { return Ok(()) };
    let layer = around.layer(random);
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(own);
    command.arg("remote-port-peer").arg(socket).arg(layer.name());
    // It compares what the layer left itself.
    around.run_at(place, Party::RemotePort, &mut command, process::kill_time(random), |_| Ok(()))
}

/// The peer: runs a layer, and says whether it left what it should.
pub(crate) fn be(socket: &Path, layer: &str) -> Result<(), String> {
    let layer = Layer::named(layer)?;
    layer.play(&mut Cpu(Peer::connect(socket)?)).map(drop)
}

struct Peer {
    stream: UnixStream,
    connection: Connection,
    input: BytesMut,
    memory: Ram,
}

impl Peer {
    /// Connects to a server that may still be starting.
    fn connect(socket: &Path) -> Result<Peer, String> {
        let began = Instant::now();
        let stream = loop {
            match UnixStream::connect(socket) {
                Ok(stream) => break stream,
                Err(error)
                    if [ErrorKind::NotFound, ErrorKind::ConnectionRefused].contains(&error.kind())
                        && began.elapsed() < PATIENCE / 9 =>
                {
                    std::thread::sleep(LOOK);
                }
                Err(error) => return Err(error.to_string()),
            }
        };
        stream.set_read_timeout(Some(PATIENCE / 2)).map_err(|error| error.to_string())?;
        let connection = Connection::new(Capabilities::PLATFORM);
        Ok(Peer { stream, connection, input: BytesMut::new(), memory: Ram::new(0..1 << 40) })
    }

    fn next(&mut self) -> Result<Event, String> {
        loop {
            let output = self.connection.output().split();
            self.stream.write_all(&output).map_err(|error| error.to_string())?;
            if let Some(event) =
                self.connection.receive(&mut self.input).map_err(|violation| violation.to_string())?
            {
                return Ok(event);
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err("the stream ended".to_owned()),
                Ok(read) => self.input.extend_from_slice(&bytes[..read]),
                Err(error) => return Err(format!("nothing came: {error}")),
            }
        }
    }

    /// Asks, and serves what the platform asks for meanwhile.
    fn ask(&mut self, transaction: Transaction) -> Result<Access, String> {
        let id = self.connection.request(REGISTERS, transaction).map_err(|error| error.to_string())?;
        loop {
            match self.next()? {
                Event::Response {
                    id: of,
                    response: Transaction::Read(access) | Transaction::Write(access),
                } if of == id => {
                    return match access.attributes.code() {
                        ResponseCode::Ok => Ok(access),
                        code => Err(format!("{code:?} at {:#x}", access.address)),
                    };
                }
                Event::Request(request) => self.serve(request)?,
                _ => {}
            }
        }
    }

    fn serve(&mut self, request: Request) -> Result<(), String> {
        let time = request.transaction.time();
        let answered = match request.transaction.clone() {
            Transaction::Read(access) => {
                let data = self.memory.copy(access.address, access.length as usize);
                let data = data.map_err(|error| error.to_string())?;
                self.connection.respond(request, time, Answer::Data(&data))
            }
            Transaction::Write(access) => {
                let enabled = access.data.iter().enumerate().filter(|(at, _)| access.is_enabled(*at));
                for (at, byte) in enabled {
                    let written = self.memory.write(access.address + at as u64, &[*byte]);
                    written.map_err(|error| error.to_string())?;
                }
                self.connection.respond(request, time, Answer::Done)
            }
            _ => self.connection.respond(request, time, Answer::Done),
        };
        answered.map_err(|error| error.to_string())
    }
}

impl Bus for Peer {
    fn read(&mut self, address: u32) -> Result<u32, String> {
        let access = self.ask(Transaction::Read(Access::read(0, address.into(), 4)))?;
        let word = access.data[..].try_into();
        word.map(u32::from_le_bytes).map_err(|_| format!("{} bytes", access.data.len()))
    }

    fn write(&mut self, address: u32, value: u32) -> Result<(), String> {
        let write = Access::write(0, address.into(), value.to_le_bytes().to_vec());
        self.ask(Transaction::Write(write)).map(drop)
    }

    fn load(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        self.memory.write(address, bytes).map_err(|error| error.to_string())
    }

    fn fetch(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), String> {
        self.memory.read(address, bytes).map_err(|error| error.to_string())
    }
}

/// A place where such peers are met, beside the socket of a server.
pub(crate) fn place(socket: &Path) -> String {
    format!("listen:unix:{}", socket.display())
}
