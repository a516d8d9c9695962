//! The pins of ports, as C has them: a structure for each side of an interface.
//!
//! At each edge, the pins that this side drives are *sampled* and those that the platform drives are *seen*, once for each
//! port, and in that order unless outputs depend on inputs of the same edge.

#![allow(non_camel_case_types, reason = "as C names types")]

use ::vp_partner::pins::{
    Address, Beat, InitiatorPins, LineSink, LineSource, Manager, ManagerPins, PinState, RegisterAccess,
    RegisterInitiator, RegisterTarget, Response, Subordinate, SubordinatePins, TargetPins, WriteBeat,
};
use bytes::Bytes;

/// Bytes of the widest data bus.
pub const VP_WIDEST: usize = 64;

/// AR or AW.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct vp_address {
    /// AxVALID.
    pub valid: bool,
    /// AxID.
    pub id: u16,
    /// AxLEN and one: beats as wide as the bus, of incrementing addresses.
    pub beats: u16,
    /// AxADDR.
    pub address: u64,
}

/// R.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct vp_read_data {
    /// RVALID.
    pub valid: bool,
    /// RLAST.
    pub last: bool,
    /// RRESP is not OKAY.
    pub error: bool,
    /// RID.
    pub id: u16,
    /// RDATA: as many bytes as the bus is wide, the lowest address first.
    pub data: [u8; VP_WIDEST],
}

/// W.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct vp_write_data {
    /// WVALID.
    pub valid: bool,
    /// WLAST.
    pub last: bool,
    /// WSTRB: byte i is written if bit i is set.
    pub strobes: u64,
    /// WDATA, likewise.
    pub data: [u8; VP_WIDEST],
}

/// B.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct vp_response {
    /// BVALID.
    pub valid: bool,
    /// BRESP is not OKAY.
    pub error: bool,
    /// BID.
    pub id: u16,
}

/// The pins that an AXI manager drives.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct vp_axi_manager_pins {
    /// AR.
    pub ar: vp_address,
    /// AW.
    pub aw: vp_address,
    /// W.
    pub w: vp_write_data,
    /// RREADY.
    pub r_ready: bool,
    /// BREADY.
    pub b_ready: bool,
}

/// The pins that an AXI subordinate drives.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct vp_axi_subordinate_pins {
    /// R.
    pub r: vp_read_data,
    /// B.
    pub b: vp_response,
    /// ARREADY.
    pub ar_ready: bool,
    /// AWREADY.
    pub aw_ready: bool,
    /// WREADY.
    pub w_ready: bool,
}

/// The pins that the initiator of register accesses drives.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct vp_register_initiator_pins {
    /// The access is there.
    pub valid: bool,
    /// The access is a write.
    pub write: bool,
    /// A write that is not answered.
    pub posted: bool,
    /// Byte address.
    pub address: u32,
    /// The word to write.
    pub value: u32,
}

/// The pins that their target drives. Answers are pulses of one edge, in the order of the accesses.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct vp_register_target_pins {
    /// An access is taken.
    pub ready: bool,
    /// `value` is the word read.
    pub read_valid: bool,
    /// A write is over.
    pub write_complete: bool,
    /// The word read.
    pub value: u32,
}

/// A kind of port, with its pins as C has them.
pub(crate) trait Port: PinState {
    /// Pins that this side drives.
    type DrivenInC;
    /// Pins that the platform drives.
    type ObservedInC;

    /// From C, at a port whose data has so many bytes.
    fn driven(pins: &Self::DrivenInC, width: usize) -> Self::Driven;
    fn seen_in_c(seen: Self::Observed) -> Self::ObservedInC;
}

impl Port for Subordinate {
    type DrivenInC = vp_axi_subordinate_pins;
    type ObservedInC = vp_axi_manager_pins;

    fn driven(pins: &vp_axi_subordinate_pins, width: usize) -> SubordinatePins {
        let vp_axi_subordinate_pins { r, b, ar_ready, aw_ready, w_ready } = pins;
        SubordinatePins {
            ar_ready: *ar_ready,
            aw_ready: *aw_ready,
            w_ready: *w_ready,
            r: r.valid.then(|| Beat {
                id: r.id,
                data: Bytes::copy_from_slice(&r.data[..width]),
                last: r.last,
                error: r.error,
            }),
            b: b.valid.then_some(Response { id: b.id, error: b.error }),
        }
    }

    fn seen_in_c(seen: ManagerPins) -> vp_axi_manager_pins {
        let ManagerPins { ar, aw, w, r_ready, b_ready } = seen;
        let (ar, aw, w) = (c_address(ar), c_address(aw), c_write(w));
        vp_axi_manager_pins { ar, aw, w, r_ready, b_ready }
    }
}

impl Port for Manager {
    type DrivenInC = vp_axi_manager_pins;
    type ObservedInC = vp_axi_subordinate_pins;

    fn driven(pins: &vp_axi_manager_pins, width: usize) -> ManagerPins {
        let vp_axi_manager_pins { ar, aw, w, r_ready, b_ready } = pins;
        ManagerPins {
            ar: address(ar),
            aw: address(aw),
            w: w.valid.then(|| WriteBeat {
                data: Bytes::copy_from_slice(&w.data[..width]),
                strobes: w.strobes,
                last: w.last,
            }),
            r_ready: *r_ready,
            b_ready: *b_ready,
        }
    }

    fn seen_in_c(seen: SubordinatePins) -> vp_axi_subordinate_pins {
        let SubordinatePins { ar_ready, aw_ready, w_ready, r, b } = seen;
        let b =
            b.map_or_else(vp_response::default, |b| vp_response { valid: true, error: b.error, id: b.id });
        vp_axi_subordinate_pins { r: c_read(r), b, ar_ready, aw_ready, w_ready }
    }
}

impl Port for RegisterTarget {
    type DrivenInC = vp_register_target_pins;
    type ObservedInC = vp_register_initiator_pins;

    fn driven(pins: &vp_register_target_pins, _: usize) -> TargetPins {
        let vp_register_target_pins { ready, read_valid, write_complete, value } = *pins;
        TargetPins { ready, read: read_valid.then_some(value), write_complete }
    }

    fn seen_in_c(seen: InitiatorPins) -> vp_register_initiator_pins {
        seen.map_or_else(vp_register_initiator_pins::default, |access| vp_register_initiator_pins {
            valid: true,
            write: access.write.is_some(),
            posted: access.posted,
            address: access.address,
            value: access.write.unwrap_or(0),
        })
    }
}

impl Port for RegisterInitiator {
    type DrivenInC = vp_register_initiator_pins;
    type ObservedInC = vp_register_target_pins;

    fn driven(pins: &vp_register_initiator_pins, _: usize) -> InitiatorPins {
        let vp_register_initiator_pins { valid, write, posted, address, value } = *pins;
        valid.then_some(RegisterAccess { address, write: write.then_some(value), posted: write && posted })
    }

    fn seen_in_c(seen: TargetPins) -> vp_register_target_pins {
        let TargetPins { ready, read, write_complete } = seen;
        let (read_valid, value) = (read.is_some(), read.unwrap_or(0));
        vp_register_target_pins { ready, read_valid, write_complete, value }
    }
}

impl Port for LineSource {
    type DrivenInC = bool;
    type ObservedInC = ();

    fn driven(level: &bool, _: usize) -> bool {
        *level
    }

    fn seen_in_c((): ()) {}
}

impl Port for LineSink {
    type DrivenInC = ();
    type ObservedInC = bool;

    fn driven((): &(), _: usize) {}

    fn seen_in_c(level: bool) -> bool {
        level
    }
}

fn address(pins: &vp_address) -> Option<Address> {
    let vp_address { valid, id, beats, address } = *pins;
    valid.then_some(Address { id, address, beats })
}

fn c_address(pins: Option<Address>) -> vp_address {
    pins.map_or_else(vp_address::default, |Address { id, address, beats }| vp_address {
        valid: true,
        id,
        beats,
        address,
    })
}

/// The bytes of a beat, and as many zeros as there is room for.
fn c_data(data: &Bytes) -> [u8; VP_WIDEST] {
    let mut bytes = [0; VP_WIDEST];
    let length = data.len().min(VP_WIDEST);
    bytes[..length].copy_from_slice(&data[..length]);
    bytes
}

fn c_write(pins: Option<WriteBeat>) -> vp_write_data {
    match pins {
        Some(WriteBeat { data, strobes, last }) => {
            vp_write_data { valid: true, last, strobes, data: c_data(&data) }
        }
        None => vp_write_data { valid: false, last: false, strobes: 0, data: [0; VP_WIDEST] },
    }
}

fn c_read(pins: Option<Beat>) -> vp_read_data {
    match pins {
        Some(Beat { id, data, last, error }) => {
            vp_read_data { valid: true, last, error, id, data: c_data(&data) }
        }
        None => vp_read_data { valid: false, last: false, error: false, id: 0, data: [0; VP_WIDEST] },
    }
}
