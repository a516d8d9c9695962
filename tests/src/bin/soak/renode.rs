//! `vp renode` as a peripheral of a Renode that is played here. One or the other is killed, or neither.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use rand::Rng as _;
use rand::rngs::SmallRng;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use vp_models::memory::Ram;
use vp_protocols::renode::{Emulator, EmulatorEvent, Socket, Width};

use crate::Around;
use crate::layers::{Bus, Cpu};
use crate::process::{self, LOOK, PATIENCE, text};
use crate::tally::Party;

/// The peripheral's number.
const INDEX: i32 = 0;
/// Simulated nanoseconds of a tick.
const TICK: u64 = 10_000;

/// Program that is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Victim {
    Peripheral,
    Renode,
}

/// Runs a layer.
pub(crate) fn work(random: &mut SmallRng, around: &Around<'_>) -> Result<(), String> {
    around.tally.begun(Party::Renode);
    let layer = around.layer(random);
    let victim = if random.random_bool(0.5) { Victim::Peripheral } else { Victim::Renode };
    let kill = process::kill_time(random).map(|after| (Instant::now() + after, victim));
    let mut renode = Renode::start(around, kill)?;
    let greeted = renode.wait();
    let mut cpu = Cpu(renode);
    let played = greeted.and_then(|_| layer.play(&mut cpu));
    let mut renode = cpu.0;
    match (played, renode.killed) {
        (Ok(_), None) => {
            around.tally.compared(Party::Renode);
            renode.ask(Emulator::disconnect)?;
        }
        (Err(why), None) => return Err(why),
        (_, Some(_)) => around.tally.killed(Party::Renode),
    }
    renode.end()
}

struct Renode {
    child: Child,
    emulator: Emulator,
    /// The main and the async one, until Renode is gone.
    sockets: Option<[(TcpStream, BytesMut); 2]>,
    memory: Ram,
    kill: Option<(Instant, Victim)>,
    killed: Option<Victim>,
}

impl Renode {
    /// A Renode to whom its peripheral has connected.
    fn start(around: &Around<'_>, kill: Option<(Instant, Victim)>) -> Result<Renode, String> {
        let listen = || TcpListener::bind("127.0.0.1:0").map_err(text);
        let listeners = [listen()?, listen()?];
        let mut command = around.client();
        command.arg("renode");
        for listener in &listeners {
            command.arg(listener.local_addr().map_err(text)?.port().to_string());
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let [main, asynchronous] = listeners.map(|listener| accept(&listener, &command));
        let sockets = match (main, asynchronous) {
            (Ok(main), Ok(asynchronous)) => [main, asynchronous].map(|stream| (stream, BytesMut::new())),
            (Err(why), _) | (_, Err(why)) => {
                process::end(&mut child);
                return Err(why);
            }
        };
        let (emulator, memory) = (Emulator::new(), Ram::new(0..1 << 40));
        Ok(Renode { child, emulator, sockets: Some(sockets), memory, kill, killed: None })
    }

    /// Says something, and gives the answer.
    fn ask<E: ToString>(
        &mut self,
        what: impl FnOnce(&mut Emulator) -> Result<(), E>,
    ) -> Result<EmulatorEvent, String> {
        what(&mut self.emulator).map_err(text)?;
        self.wait()
    }

    /// Returns what comes next that is no business of the memory, the line or the log. What is to be killed is killed in the middle of it.
    fn wait(&mut self) -> Result<EmulatorEvent, String> {
        let given_up = Instant::now() + PATIENCE;
        loop {
            let Some(sockets) = &mut self.sockets else { return Err("Renode was killed".to_owned()) };
            while let Some((socket, message)) = self.emulator.output().next_write() {
                sockets[usize::from(socket == Socket::Async)].0.write_all(&message).map_err(text)?;
            }
            if let Some((_, victim)) = self.kill.take_if(|(when, _)| Instant::now() >= *when) {
                self.killed = Some(victim);
                match victim {
                    Victim::Peripheral => process::end(&mut self.child),
                    Victim::Renode => self.sockets = None,
                }
                continue;
            }
            match self.hear()? {
                Some(EmulatorEvent::Get { width, address, .. }) => {
                    let mut value = [0; 8];
                    let bytes = &mut value[..width.bytes() as usize];
                    self.memory.read(address, bytes).map_err(text)?;
                    self.emulator.give(u64::from_le_bytes(value)).map_err(text)?;
                }
                Some(EmulatorEvent::Push { width, address, data, .. }) => {
                    let bytes = &data.to_le_bytes()[..width.bytes() as usize];
                    self.memory.write(address, bytes).map_err(text)?;
                    self.emulator.confirm().map_err(text)?;
                }
                Some(EmulatorEvent::Interrupt { .. } | EmulatorEvent::Log { .. }) => {}
                Some(heard) => return Ok(heard),
                None if Instant::now() > given_up => return Err("nothing comes from `vp renode`".to_owned()),
                None => {}
            }
        }
    }

    /// Returns what has come, if it comes soon.
    fn hear(&mut self) -> Result<Option<EmulatorEvent>, String> {
        let Some(sockets) = &mut self.sockets else { return Ok(None) };
        // What it has said before its end is there then.
        let ended = self.child.try_wait().map_err(text)?;
        // Async first: what happened in a tick comes before its end.
        for (at, socket) in [(1, Socket::Async), (0, Socket::Main)] {
            let (stream, input) = &mut sockets[at];
            let mut bytes = [0; 4096];
            match stream.read(&mut bytes) {
                Ok(read) => input.extend_from_slice(&bytes[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(text(error)),
            }
            if let Some(heard) = self.emulator.receive(socket, input).map_err(text)? {
                return Ok(Some(heard));
            }
        }
        if let Some(status) = ended {
            return Err(format!("`vp renode` has ended: {status}"));
        }
        let [(main, _), (asynchronous, _)] = &*sockets;
        let mut streams =
            [main, asynchronous].map(|stream| PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::IN));
        let soon = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        poll(&mut streams, Some(&soon)).map_err(text)?;
        Ok(None)
    }

    /// Without a Renode it ends by itself.
    fn end(mut self) -> Result<(), String> {
        self.sockets = None;
        let began = Instant::now();
        while self.child.try_wait().map_err(text)?.is_none() {
            if began.elapsed() > PATIENCE {
                return Err("`vp renode` goes on without Renode".to_owned());
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for Renode {
    fn drop(&mut self) {
        process::end(&mut self.child);
    }
}

/// The next one who connects, who can be read without waiting.
fn accept(listener: &TcpListener, command: &Command) -> Result<TcpStream, String> {
    listener.set_nonblocking(true).map_err(text)?;
    let began = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(true).map_err(text)?;
                stream.set_nodelay(true).map_err(text)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && began.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(format!("{command:?} does not connect: {error}")),
        }
    }
}

impl Bus for Renode {
    fn read(&mut self, address: u32) -> Result<u32, String> {
        match self.ask(|emulator| emulator.read(Width::DoubleWord, address.into(), INDEX))? {
            EmulatorEvent::Value { data } => u32::try_from(data).map_err(text),
            other => Err(format!("{other:?} to a read of {address:#x}")),
        }
    }

    fn write(&mut self, address: u32, value: u32) -> Result<(), String> {
        match self.ask(|emulator| emulator.write(Width::DoubleWord, address.into(), value.into(), INDEX))? {
            EmulatorEvent::Done => Ok(()),
            other => Err(format!("{other:?} to a write of {address:#x}")),
        }
    }

    fn load(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        self.memory.write(address, bytes).map_err(text)
    }

    fn fetch(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), String> {
        self.memory.read(address, bytes).map_err(text)
    }

    fn pass(&mut self) -> Result<(), String> {
        match self.ask(|emulator| emulator.tick(TICK))? {
            EmulatorEvent::Ticked { .. } => Ok(()),
            other => Err(format!("{other:?} to a tick")),
        }
    }
}
