//! Interface that a platform asks of the device that it carries.
//!
//! A device is a folder: its model, which implements [`Device`], and its description, which says how one is built. The
//! platform wires it to memories and to an interrupt line, reaches its registers through the bus that it brings, and knows
//! nothing else of it. How one more is added: `docs/adding-a-device.md` in the repository.

use crate::checkpoint::{Checkpoint, CheckpointError};
use std::num::NonZeroUsize;
use std::rc::Rc;

use crate::bus::axi::Interconnect;
use crate::bus::irq::IrqLine;
use crate::bus::register::{OutsideRegisters, RegisterBus};
use crate::bus::stream::InputStream;
use crate::counters::Statistics;
use crate::faults::FlippableRegisters;
use crate::occupancy::Occupancy;
use vp_core::{Sim, Time};

/// One of a device's memory ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInterface {
    /// Data bus width in bytes.
    pub width_bytes: u32,
    /// Longest burst, in beats.
    pub max_burst: u32,
    /// Read latency in cycles the engines' buffers are sized for, and the default of a latency model.
    pub latency: u32,
}

/// Everything that a platform gives a device.
pub struct Wiring<'a> {
    /// The simulation.
    pub sim: &'a Sim,
    /// One clock cycle.
    pub cycle: Time,
    /// Threads of the host that may share its arithmetic. Nothing that can be observed depends on it.
    pub threads: NonZeroUsize,
    /// True if it leaves the arithmetic out: nothing takes another time, and results are zeros.
    pub skips_arithmetic: bool,
    /// The primary memory interface.
    pub primary: Rc<Interconnect>,
    /// The secondary one, if the device has it.
    pub secondary: Option<Rc<Interconnect>>,
    /// The interrupt line.
    pub interrupt: IrqLine,
    /// Record that is told when its datapaths have work.
    pub occupancy: Rc<Occupancy>,
}

/// Identity of a device, for those who drive it. It follows from the device's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The kind of device: `nvdla`, `fpga-ai-suite`, or `outside` for one that the platform does not know.
    pub kind: &'static str,
    /// The names by which drivers find it in a device tree, the most special first.
    pub compatible: Vec<String>,
    /// The name of its register map, if its kind has several.
    pub register_map: Option<&'static str>,
}

/// A piece of work that a device has reported as begun (`What::Begin`) and not as ended.
#[derive(Clone, Copy, Debug)]
pub struct OpenWork<'a> {
    /// The last part of the name of the source that reported it, such as `sdp`.
    pub unit: &'a str,
    /// Number of the work ([`Device::numbering`]).
    pub number: u64,
    /// Label of the work, in the device's words.
    pub label: &'a str,
}

/// An interrupt that has been raised and not been cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingInterrupt {
    /// The field of the device's status register.
    pub name: &'static str,
    /// True if it is kept from the line.
    pub is_masked: bool,
}

/// A device, as its platform sees it.
///
/// It begins as after power-on, at whatever simulated time it is built. At a reset of the platform, and when that goes, its
/// processes are ended where they wait and what they own is dropped; another one is built in its place. So it keeps no
/// state outside of itself, and takes times that are counted from a beginning from that of its own.
pub trait Device {
    /// The bus to its registers, which is the device's own.
    fn registers(&self) -> &Rc<dyn RegisterBus>;

    /// Returns the bus to the registers, if its target is outside the platform.
    fn outside_registers(&self) -> Option<&Rc<OutsideRegisters>> {
        None
    }

    /// Bytes of its register window.
    fn window(&self) -> u32;

    /// Returns the word that stands before the number of a piece of its work, such as `layer`.
    fn numbering(&self) -> &'static str;

    /// Returns what is begun, or asked for and not begun, a phrase each: what the device must come to the end of to be quiescent. `open` is
    /// what it has reported as begun.
    fn unfinished(&self, open: &[OpenWork<'_>]) -> Vec<String>;

    /// The interrupts that are pending.
    fn pending(&self) -> Vec<PendingInterrupt> {
        Vec::new()
    }

    /// Returns what the CPU has yet to enable, such as `SDP`, before something of what it has enabled can begin or go on. `open` is as for
    /// [`unfinished`](Self::unfinished). Asked where nothing goes on by itself.
    fn awaited(&self, _open: &[OpenWork<'_>]) -> Vec<String> {
        Vec::new()
    }

    /// Returns its registers, where they are stored, if they can be made to hold something else.
    fn flippable(&self) -> Option<Rc<dyn FlippableRegisters>> {
        None
    }

    /// Adds the device's counters; `cycle` is the length of one.
    fn count(&self, cycle: Time, statistics: &mut Statistics);

    /// Saves all that outlives a piece of the device's work, or takes it up in a device that was just built and has not run. A
    /// device that does neither is not saved, and no platform with it.
    fn checkpoint(&self, _: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        Err(CheckpointError::Unsupported("the device cannot be saved".to_owned()))
    }

    /// The stream that feeds it, if it has one.
    fn input_stream(&self) -> Option<&Rc<InputStream>> {
        None
    }
}
