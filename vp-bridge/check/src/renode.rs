//! Peripherals of Renode: the check is Renode, and listens.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use vp_protocols::renode::{Emulator, EmulatorEvent, MESSAGE, Rule, SendError, Socket, Width};
use vp_transport::Address;

use crate::report::Tally;
use crate::wire::{Listener, WaitResult, Wire};
use crate::{MeetError, Over, PeerRole, Report};

/// Order for a check: the peer, and what is asked of it.
#[derive(Debug, Clone)]
pub struct Check {
    /// Address at which Renode listens for main.
    pub main: Address,
    /// Address at which Renode listens for async.
    pub asynchronous: Address,
    /// A register of 4 bytes that may be read, and written with what was read.
    pub address: u64,
    /// True if a peer on another host may connect.
    pub insecure: bool,
    /// Time for which each answer is waited for: Renode's `timeout`.
    pub timeout: Duration,
}

/// Time for which more than was asked for is waited for.
const QUIET: Duration = Duration::from_millis(2);

struct Session {
    emulator: Emulator,
    main: Wire,
    asynchronous: Wire,
    inputs: [BytesMut; 2],
    tally: Tally<Rule>,
    timeout: Duration,
    /// A get or a push that is to be answered.
    bus_access: Option<EmulatorEvent>,
    /// Bytes that the peer has written to the bus, by address.
    memory: BTreeMap<u64, u8>,
    levels: BTreeMap<u64, bool>,
    is_open: bool,
}

impl Check {
    /// Waits for the peripheral and checks it.
    ///
    /// # Errors
    /// [`MeetError`]: there is none.
    pub fn run(&self) -> Result<Report, MeetError> {
        let bind = |address| Listener::bind(address, self.insecure);
        let (main, asynchronous) = (bind(&self.main)?, bind(&self.asynchronous)?);
        let main = main.accept(self.timeout)?;
        let mut tally = Tally::new();
        let address = format!("{} and {}", self.main, self.asynchronous);
        let could_break = |rule: Rule| {
            // The others are Renode's to break.
            !matches!(rule, Rule::NotForPeripheral | Rule::SilentAsync | Rule::OneRequest | Rule::OneTick)
        };
        let asynchronous = match asynchronous.accept(self.timeout) {
            Ok(asynchronous) => asynchronous,
            Err(error) => {
                tally.broken(Rule::BothSockets, error, &main);
                return Ok(tally.report("renode", PeerRole::Device, address, could_break));
            }
        };
        tally.kept(&[Rule::BothSockets]);
        let mut session = Session {
            emulator: Emulator::new(),
            main,
            asynchronous,
            inputs: [BytesMut::new(), BytesMut::new()],
            tally,
            timeout: self.timeout,
            bus_access: None,
            memory: BTreeMap::new(),
            levels: BTreeMap::new(),
            is_open: false,
        };
        // How it ended is in the tally.
        let _ = session.check(self.address);
        Ok(session.tally.report("renode", PeerRole::Device, address, could_break))
    }
}

impl Session {
    fn wire(&mut self, socket: Socket) -> (&mut Wire, &mut BytesMut) {
        let [main, asynchronous] = &mut self.inputs;
        match socket {
            Socket::Main => (&mut self.main, main),
            Socket::Async => (&mut self.asynchronous, asynchronous),
        }
    }

    fn broken(&mut self, rule: Rule, what: impl std::fmt::Display, socket: Socket) {
        let wire = if socket == Socket::Main { &self.main } else { &self.asynchronous };
        self.tally.broken(rule, what, wire);
    }

    /// Returns the next message that is an answer.
    fn answer(&mut self, asked: &str) -> Result<EmulatorEvent, Over> {
        let until = Instant::now() + self.timeout;
        loop {
            while let Some((socket, message)) = self.emulator.output().next_write() {
                self.wire(socket).0.send(&message, until);
            }
            let mut ended = 0;
            // Async first: levels come before the end of the tick in which they were.
            for socket in [Socket::Async, Socket::Main] {
                let (wire, input) = self.wire(socket);
                let soon = Instant::now() + Duration::from_millis(1);
                let came = wire.receive(input, soon);
                let (_, input) = self.wire(socket);
                let mut input = std::mem::take(input);
                let done = self.take(socket, &mut input);
                *self.wire(socket).1 = input;
                if let Some(heard) = done? {
                    return Ok(heard);
                }
                ended += u32::from(came == WaitResult::End);
                // A message of its own call is there as a whole: so it comes on one host.
                if came == WaitResult::Nothing && !self.wire(socket).1.len().is_multiple_of(MESSAGE) {
                    let what = format!("{} bytes came alone", self.wire(socket).1.len());
                    self.broken(Rule::OneSend, what, socket);
                    return Err(Over);
                }
            }
            if ended == 2 {
                self.broken(
                    Rule::Answered,
                    format!("both sockets were closed instead of {asked}"),
                    Socket::Main,
                );
                return Err(Over);
            }
            if Instant::now() >= until {
                let rule = if self.is_open { Rule::Answered } else { Rule::Handshake };
                let what = format!("no answer to {asked} in {} s", self.timeout.as_secs_f64());
                self.broken(rule, what, Socket::Main);
                return Err(Over);
            }
        }
    }

    /// Takes all that has come on a socket, up to an answer. Accesses to the bus are answered when nothing is left: one that came
    /// with another has not waited.
    fn take(&mut self, socket: Socket, input: &mut BytesMut) -> Result<Option<EmulatorEvent>, Over> {
        let answer = loop {
            let heard = match self.emulator.receive(socket, input) {
                Ok(Some(heard)) => heard,
                Ok(None) => break None,
                Err(violation) => {
                    self.broken(violation.rule, violation, socket);
                    return Err(Over);
                }
            };
            self.tally.kept(&[Rule::UnknownAction, Rule::Handshake, Rule::OneSend]);
            self.tally.kept(match socket {
                Socket::Main => &[Rule::UnexpectedAnswer, Rule::WrongAnswer, Rule::MainAnswersOnly],
                Socket::Async => &[Rule::NotForRenode],
            });
            match heard {
                EmulatorEvent::Get { .. } | EmulatorEvent::Push { .. } => {
                    self.tally.kept(&[Rule::OneBusAccess]);
                    self.bus_access = Some(heard);
                }
                EmulatorEvent::Interrupt { line, level } => {
                    let changes = self.levels.insert(line, level).unwrap_or(false) != level;
                    let what =
                        format!("line {line} was told to be {} twice", if level { "high" } else { "low" });
                    self.tally.judge(Rule::LevelsChange, changes, what, &self.asynchronous);
                }
                EmulatorEvent::Log { .. } => self.tally.kept(&[Rule::LogTooLong]),
                EmulatorEvent::GaveUp => {
                    self.broken(Rule::Answered, "it has given up", socket);
                    return Err(Over);
                }
                EmulatorEvent::Ticked { .. } => {
                    self.tally.kept(&[Rule::TickUnasked, Rule::Answered]);
                    break Some(heard);
                }
                EmulatorEvent::Connected
                | EmulatorEvent::Value { .. }
                | EmulatorEvent::Done
                | EmulatorEvent::Failed
                | EmulatorEvent::Disconnected => {
                    self.tally.kept(&[Rule::Answered]);
                    break Some(heard);
                }
            }
        };
        self.access_bus()?;
        Ok(answer)
    }

    /// Does an access to the bus: a memory that has all addresses.
    fn access_bus(&mut self) -> Result<(), Over> {
        let done = match self.bus_access.take() {
            Some(EmulatorEvent::Get { width, address, .. }) => {
                let byte = |at: u32| self.memory.get(&address.wrapping_add(at.into())).copied().unwrap_or(0);
                let value = (0..width.bytes()).rev().fold(0, |value, at| value << 8 | u64::from(byte(at)));
                self.emulator.give(value)
            }
            Some(EmulatorEvent::Push { width, address, data, .. }) => {
                for at in 0..width.bytes() {
                    self.memory.insert(address.wrapping_add(at.into()), (data >> (8 * at)) as u8);
                }
                self.emulator.confirm()
            }
            _ => return Ok(()),
        };
        done.map_err(|_| Over)
    }

    /// Asks, when nothing more has come for a while: an answer too many would be taken for that of the next request.
    fn ask(
        &mut self,
        what: &str,
        ask: impl FnOnce(&mut Emulator) -> Result<(), SendError>,
    ) -> Result<EmulatorEvent, Over> {
        let (wire, input) = self.wire(Socket::Main);
        wire.receive(input, Instant::now() + QUIET);
        let mut input = std::mem::take(input);
        // Nothing is asked: whatever comes breaks a rule.
        self.take(Socket::Main, &mut input)?;
        *self.wire(Socket::Main).1 = input;
        ask(&mut self.emulator).map_err(|_| Over)?;
        self.answer(what)
    }

    fn check(&mut self, address: u64) -> Result<(), Over> {
        self.answer("the handshake")?;
        self.is_open = true;
        let value = self.ask("a read of 32 bits", |renode| renode.read(Width::DoubleWord, address, 0))?;
        for width in Width::ALL {
            let what = format!("a read of {} bytes", width.bytes());
            self.ask(&what, |renode| renode.read(width, address, 0))?;
        }
        if let EmulatorEvent::Value { data } = value {
            self.ask("a write of 32 bits", |renode| renode.write(Width::DoubleWord, address, data, 0))?;
        }
        for ticks in [1, 1_000, 100_000] {
            self.ask(&format!("a tick of {ticks}"), |renode| renode.tick(ticks))?;
        }
        self.emulator.reset().map_err(|_| Over)?;
        self.ask("a read behind a reset", |renode| renode.read(Width::DoubleWord, address, 0))?;
        self.ask("a tick behind a reset", |renode| renode.tick(1_000))?;
        self.ask("the disconnect", Emulator::disconnect).map(drop)
    }
}
