//! What a platform asks of the device that it carries.
//!
//! A device is a folder: its model, which implements [`Device`], and its description, which says how one is built. The
//! platform wires it to memories and to an interrupt line, reaches its registers through the bus that it brings, and knows
//! nothing else of it. How one more is added: `docs/adding-a-device.md` in the repository.

use std::num::NonZeroUsize;
use std::rc::Rc;

use crate::bus::axi::Interconnect;
use crate::bus::irq::IrqLine;
use crate::bus::register::RegisterBus;
use crate::bus::stream::InputStream;
use crate::host::Statistics;
use crate::nvdla::registers::RegisterMap;
use crate::occupancy::Occupancy;
use crate::platform::LayerRecord;
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

/// What a platform gives a device.
pub struct Wiring<'a> {
    /// The simulation.
    pub sim: &'a Sim,
    /// One clock cycle.
    pub cycle: Time,
    /// Threads of the host that may share its arithmetic. Nothing that can be observed depends on it.
    pub threads: NonZeroUsize,
    /// Whether it leaves the arithmetic out: nothing takes another time, and results are zeros.
    pub skips_arithmetic: bool,
    /// The primary memory interface.
    pub primary: Rc<Interconnect>,
    /// The secondary one, if the device has it.
    pub secondary: Option<Rc<Interconnect>>,
    /// The interrupt line.
    pub interrupt: IrqLine,
}

/// A device, as its platform sees it.
pub trait Device {
    /// What it is: `nvdla`, `fpga-ai-suite`.
    fn kind(&self) -> &'static str;

    /// The names by which drivers find it in a device tree, the most special first.
    fn compatible(&self) -> &'static [&'static str];

    /// Bytes of its register window.
    fn window(&self) -> u32;

    /// The bus to its registers, which is the device's own.
    fn registers(&self) -> &Rc<dyn RegisterBus>;

    /// Its registers, if it is an NVDLA.
    fn map(&self) -> RegisterMap {
        RegisterMap::Foreign
    }

    /// What the number of a piece of its work is called.
    fn numbering(&self) -> &'static str;

    /// What is begun, or asked for and not begun, a phrase each; `open` is what it has reported as begun and not as
    /// ended.
    fn unfinished(&self, open: &[&LayerRecord]) -> Vec<String>;

    /// When its datapaths had work.
    fn occupancy(&self) -> &Rc<Occupancy>;

    /// Adds the device's counters.
    fn count(&self, cycle: Time, statistics: &mut Statistics);

    /// The stream that feeds it, if it has one.
    fn input_stream(&self) -> Option<&Rc<InputStream>> {
        None
    }
}
