//! Servers of vfio-user: the check is the hypervisor, and connects.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use vp_protocols::vfio_user::{
    Capabilities, Client, ClientEvent, DeviceInfo, DmaMap, DmaUnmap, Errno, MAX_DATA, Reply, Request, Rule,
    Write,
};
use vp_transport::Address;

use crate::report::Tally;
use crate::wire::{WaitResult, Wire};
use crate::{MeetError, Over, PeerRole, Report};

/// Order for a check: the peer, and what is asked of it.
#[derive(Debug, Clone)]
pub struct Check {
    /// Address at which the server listens.
    pub address: Address,
    /// A register of 4 bytes in the first window that may be read, and written with what was read.
    pub register: u64,
    /// Time for which each answer is waited for.
    pub timeout: Duration,
}

/// Region of the first window, and that of the configuration.
const WINDOW: u32 = 0;
const CONFIGURATION: u32 = 7;
/// Regions and types of interrupts that are asked for at most.
const MOST: u32 = 64;
/// A command that there is not.
const UNKNOWN: u16 = 0x7fff;
/// Memory that is mapped without a file.
const MEMORY: DmaMap =
    DmaMap { is_readable: true, is_writeable: true, offset: 0, address: 0x10_0000, size: 0x1000 };

struct Session {
    client: Client,
    wire: Wire,
    input: BytesMut,
    tally: Tally<Rule>,
    timeout: Duration,
}

impl Check {
    /// Connects to the server and checks it.
    ///
    /// # Errors
    /// [`MeetError`]: there is none.
    pub fn run(&self) -> Result<Report, MeetError> {
        let wire = Wire::connect(&self.address, None, self.timeout)?;
        let capabilities = Capabilities {
            max_msg_fds: Some(1),
            max_data_xfer_size: Some(MAX_DATA as u64),
            max_dma_maps: Some(16),
            pgsizes: Some(4096),
            write_multiple: Some(true),
        };
        let client = Client::new(capabilities);
        let (input, tally) = (BytesMut::new(), Tally::new());
        let mut session = Session { client, wire, input, tally, timeout: self.timeout };
        // How it ended is in the tally.
        let _ = session.check(self.register);
        let could_break = |rule: Rule| {
            // The others are a client's to break.
            !matches!(rule, Rule::VersionFirst | Rule::Major | Rule::Files | Rule::Transfer)
        };
        Ok(session.tally.report("vfio-user", PeerRole::Device, self.address.to_string(), could_break))
    }
}

impl Session {
    /// Returns the next event that is no access to memory.
    fn next(&mut self, asked: &str) -> Result<ClientEvent, Over> {
        let until = Instant::now() + self.timeout;
        loop {
            let output = self.client.output().split();
            self.wire.send(&output, until);
            match self.client.receive(&mut self.input) {
                Ok(Some(event @ (ClientEvent::Read { .. } | ClientEvent::Write { .. }))) => {
                    self.tally.kept(&[Rule::Size, Rule::Type, Rule::Direction, Rule::Length]);
                    self.client.answer(&event, Err(Errno::EINVAL));
                    // One that asks without end has no more time than another.
                    if Instant::now() < until {
                        continue;
                    }
                }
                Ok(Some(event)) => {
                    self.tally.kept(&[Rule::Size, Rule::Type, Rule::Answers, Rule::Answered]);
                    return Ok(event);
                }
                Ok(None) => {}
                Err(violation) => {
                    self.tally.broken(violation.rule, violation, &self.wire);
                    return Err(Over);
                }
            }
            match self.wire.receive(&mut self.input, until) {
                WaitResult::Bytes => {}
                WaitResult::End => {
                    self.tally.broken(
                        Rule::Answered,
                        format!("{asked}: it has ended the session"),
                        &self.wire,
                    );
                    return Err(Over);
                }
                WaitResult::Nothing => {
                    self.tally.broken(Rule::Answered, format!("{asked}: no reply"), &self.wire);
                    return Err(Over);
                }
            }
        }
    }

    fn ask(&mut self, request: &Request) -> Result<Result<Reply, Errno>, Over> {
        let asked = self.client.request(request);
        let what = format!("{request:?}");
        match self.next(&what)? {
            ClientEvent::Replied { id, result } if id == asked => {
                self.tally.kept(if result.is_ok() { &[Rule::ReplyLength] } else { &[Rule::Errors] });
                Ok(result)
            }
            other => {
                self.tally.broken(Rule::Answers, format!("{what}: {other:?}"), &self.wire);
                Err(Over)
            }
        }
    }

    fn check(&mut self, register: u64) -> Result<(), Over> {
        let ClientEvent::Opened(_) = self.next("the version")? else { return Err(Over) };
        self.tally.kept(&[Rule::VersionData, Rule::LowerVersion]);
        if let Ok(Reply::Device(DeviceInfo { regions, irqs })) = self.ask(&Request::DeviceInfo)? {
            for index in 0..regions.min(MOST) {
                self.ask(&Request::RegionInfo { index })?.ok();
            }
            for index in 0..irqs.min(MOST) {
                self.ask(&Request::IrqInfo { index })?.ok();
            }
        }
        for offset in (0..64).step_by(4) {
            self.ask(&Request::RegionRead { region: CONFIGURATION, offset, count: 4 })?.ok();
        }
        let read = Request::RegionRead { region: WINDOW, offset: register, count: 4 };
        let data = match self.ask(&read)? {
            Ok(Reply::Data { data, .. }) => data,
            _ => Bytes::from_static(&[0; 4]),
        };
        let write = Request::RegionWrite(Write { region: WINDOW, offset: register, data });
        self.ask(&write)?.ok();
        // No reply to this, but to what follows.
        self.client.post(&write);
        self.ask(&read)?.ok();
        let unknown = self.ask(&Request::Other { command: UNKNOWN, payload: Bytes::new() })?;
        let what = format!("command {UNKNOWN}: {unknown:?}");
        self.tally.judge(Rule::Unknown, unknown.is_err(), what, &self.wire);
        self.check_memory()?;
        self.ask(&Request::Reset)?.ok();
        Ok(())
    }

    fn check_memory(&mut self) -> Result<(), Over> {
        if self.ask(&Request::DmaMap(MEMORY))?.is_err() {
            return Ok(());
        }
        let again = self.ask(&Request::DmaMap(MEMORY))?;
        let what = format!("the same memory once more: {again:?}");
        self.tally.judge(Rule::MappedOnce, again == Err(Errno::EEXIST), what, &self.wire);
        let unmap = DmaUnmap { is_all: false, address: MEMORY.address, size: MEMORY.size };
        let gone = self.ask(&Request::DmaUnmap(unmap))?;
        let what = format!("memory that was mapped: {gone:?}");
        self.tally.judge(Rule::Unmapped, gone == Ok(Reply::Unmapped(unmap)), what, &self.wire);
        Ok(())
    }
}
