//! AXI: this side is the subordinate, or the manager.

use bytes::Bytes;
use vp_core::Time;
use vp_hub::{PortEvent, Role};
use vp_models::bus::axi::{AxiChannel, AxiEvent};
use vp_models::platform::PortKind;

use super::{Attached, PinState, Ports, Violation};
use crate::channel::{Incoming, Outgoing};

/// AR or AW: a burst of incrementing addresses and whole beats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// AxID.
    pub id: u16,
    /// AxADDR.
    pub address: u64,
    /// AxLEN and one.
    pub beats: u16,
}

/// R: one beat of read data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beat {
    /// RID.
    pub id: u16,
    /// RDATA: as many bytes as the bus is wide, the lowest address first.
    pub data: Bytes,
    /// RLAST.
    pub last: bool,
    /// RRESP is not OKAY.
    pub error: bool,
}

/// W: one beat of write data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteBeat {
    /// WDATA, likewise.
    pub data: Bytes,
    /// WSTRB: byte *i* of the data is written if bit *i* is set.
    pub strobes: u64,
    /// WLAST.
    pub last: bool,
}

/// B: a burst is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// BID.
    pub id: u16,
    /// BRESP is not OKAY.
    pub error: bool,
}

/// The pins that a manager drives. A channel whose valid is low is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ManagerPins {
    /// AR.
    pub ar: Option<Address>,
    /// AW.
    pub aw: Option<Address>,
    /// W.
    pub w: Option<WriteBeat>,
    /// RREADY.
    pub r_ready: bool,
    /// BREADY.
    pub b_ready: bool,
}

/// The pins that a subordinate drives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubordinatePins {
    /// ARREADY.
    pub ar_ready: bool,
    /// AWREADY.
    pub aw_ready: bool,
    /// WREADY.
    pub w_ready: bool,
    /// R.
    pub r: Option<Beat>,
    /// B.
    pub b: Option<Response>,
}

fn ready(channel: AxiChannel, ready: bool) -> PortEvent {
    PortEvent::Axi(AxiEvent::Ready { channel, ready })
}

/// A beat has to be as wide as the bus.
fn check_width(channel: &'static str, data: &Bytes, width: usize) -> Result<(), Violation> {
    match data.len() == width {
        true => Ok(()),
        false => Err((channel, format!("{} bytes of data: the port is {width} bytes wide", data.len()))),
    }
}

fn unknown(event: &PortEvent) -> String {
    format!("{event:?}, which this end of the port has no pins for")
}

/// Subordinate on this side: the memory behind a port of the platform.
#[derive(Default)]
pub struct Subordinate {
    width: usize,
    ar: Incoming<Address>,
    aw: Incoming<Address>,
    w: Incoming<WriteBeat>,
    r: Outgoing<Beat>,
    b: Outgoing<Response>,
}

impl PinState for Subordinate {
    type Driven = SubordinatePins;
    type Observed = ManagerPins;
    const KIND: PortKind = PortKind::Axi;
    const ROLE: Role = Role::Target;

    fn set_width(&mut self, bytes: usize) {
        self.width = bytes;
    }

    fn sample(
        &mut self,
        _: Time,
        pins: &SubordinatePins,
        told: &mut Vec<PortEvent>,
    ) -> Result<(), Violation> {
        let of = |channel: &'static str| move |rule: &'static str| (channel, rule.to_owned());
        told.extend(self.ar.change(pins.ar_ready).map(|level| ready(AxiChannel::ReadAddress, level)));
        told.extend(self.aw.change(pins.aw_ready).map(|level| ready(AxiChannel::WriteAddress, level)));
        told.extend(self.w.change(pins.w_ready).map(|level| ready(AxiChannel::WriteData, level)));
        if let Some(Beat { id, data, last, error }) = self.r.sample(pins.r.clone()).map_err(of("R"))? {
            check_width("R", &data, self.width)?;
            told.push(PortEvent::Axi(AxiEvent::ReadData { id, data, last, error }));
        }
        if let Some(Response { id, error }) = self.b.sample(pins.b).map_err(of("B"))? {
            told.push(PortEvent::Axi(AxiEvent::WriteResponse { id, error }));
        }
        Ok(())
    }

    fn seen(&mut self, now: Time) -> ManagerPins {
        ManagerPins {
            ar: self.ar.pins(now).copied(),
            aw: self.aw.pins(now).copied(),
            w: self.w.pins(now).cloned(),
            r_ready: self.r.ready(now),
            b_ready: self.b.ready(now),
        }
    }

    fn finish(&mut self, now: Time) {
        self.ar.finish(now);
        self.aw.finish(now);
        self.w.finish(now);
        self.r.finish(now);
        self.b.finish(now);
    }

    fn take(&mut self, at: Time, event: PortEvent) -> Result<(), String> {
        match event {
            PortEvent::Axi(AxiEvent::ReadAddress { id, address, beats }) => {
                self.ar.push(at, Address { id, address, beats })?;
            }
            PortEvent::Axi(AxiEvent::WriteAddress { id, address, beats }) => {
                self.aw.push(at, Address { id, address, beats })?;
            }
            PortEvent::Axi(AxiEvent::WriteData { data, strobes, last }) => {
                self.w.push(at, WriteBeat { data, strobes, last })?;
            }
            PortEvent::Axi(AxiEvent::Ready { channel: AxiChannel::ReadData, ready }) => {
                self.r.push_ready(at, ready);
            }
            PortEvent::Axi(AxiEvent::Ready { channel: AxiChannel::WriteResponse, ready }) => {
                self.b.push_ready(at, ready);
            }
            other => return Err(unknown(&other)),
        }
        Ok(())
    }

    fn list(ports: &mut Ports) -> &mut Vec<Attached<Self>> {
        &mut ports.subordinates
    }
}

/// Manager on this side: a master of bursts to the platform's memory.
#[derive(Default)]
pub struct Manager {
    width: usize,
    ar: Outgoing<Address>,
    aw: Outgoing<Address>,
    w: Outgoing<WriteBeat>,
    r: Incoming<Beat>,
    b: Incoming<Response>,
}

impl PinState for Manager {
    type Driven = ManagerPins;
    type Observed = SubordinatePins;
    const KIND: PortKind = PortKind::Axi;
    const ROLE: Role = Role::Initiator;

    fn set_width(&mut self, bytes: usize) {
        self.width = bytes;
    }

    fn sample(&mut self, _: Time, pins: &ManagerPins, told: &mut Vec<PortEvent>) -> Result<(), Violation> {
        let of = |channel: &'static str| move |rule: &'static str| (channel, rule.to_owned());
        told.extend(self.r.change(pins.r_ready).map(|level| ready(AxiChannel::ReadData, level)));
        told.extend(self.b.change(pins.b_ready).map(|level| ready(AxiChannel::WriteResponse, level)));
        if let Some(Address { id, address, beats }) = self.ar.sample(pins.ar).map_err(of("AR"))? {
            told.push(PortEvent::Axi(AxiEvent::ReadAddress { id, address, beats }));
        }
        if let Some(Address { id, address, beats }) = self.aw.sample(pins.aw).map_err(of("AW"))? {
            told.push(PortEvent::Axi(AxiEvent::WriteAddress { id, address, beats }));
        }
        if let Some(WriteBeat { data, strobes, last }) = self.w.sample(pins.w.clone()).map_err(of("W"))? {
            check_width("W", &data, self.width)?;
            told.push(PortEvent::Axi(AxiEvent::WriteData { data, strobes, last }));
        }
        Ok(())
    }

    fn seen(&mut self, now: Time) -> SubordinatePins {
        SubordinatePins {
            ar_ready: self.ar.ready(now),
            aw_ready: self.aw.ready(now),
            w_ready: self.w.ready(now),
            r: self.r.pins(now).cloned(),
            b: self.b.pins(now).copied(),
        }
    }

    fn finish(&mut self, now: Time) {
        self.ar.finish(now);
        self.aw.finish(now);
        self.w.finish(now);
        self.r.finish(now);
        self.b.finish(now);
    }

    fn take(&mut self, at: Time, event: PortEvent) -> Result<(), String> {
        match event {
            PortEvent::Axi(AxiEvent::ReadData { id, data, last, error }) => {
                self.r.push(at, Beat { id, data, last, error })?;
            }
            PortEvent::Axi(AxiEvent::WriteResponse { id, error }) => {
                self.b.push(at, Response { id, error })?;
            }
            PortEvent::Axi(AxiEvent::Ready { channel: AxiChannel::ReadAddress, ready }) => {
                self.ar.push_ready(at, ready);
            }
            PortEvent::Axi(AxiEvent::Ready { channel: AxiChannel::WriteAddress, ready }) => {
                self.aw.push_ready(at, ready);
            }
            PortEvent::Axi(AxiEvent::Ready { channel: AxiChannel::WriteData, ready }) => {
                self.w.push_ready(at, ready);
            }
            other => return Err(unknown(&other)),
        }
        Ok(())
    }

    fn list(ports: &mut Ports) -> &mut Vec<Attached<Self>> {
        &mut ports.managers
    }
}
