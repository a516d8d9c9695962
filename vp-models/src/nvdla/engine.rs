//! What all engines have in common.

use super::config::Config;
use super::dma::MemoryPorts;
use super::interrupts::Interrupts;
use super::timing::Timing;
use std::rc::Rc;
use vp_core::{Sim, Time};

/// What the device gives its engines.
pub(crate) struct Surroundings<'a> {
    pub(crate) sim: &'a Sim,
    pub(crate) cycle: Time,
    pub(crate) config: &'a Config,
    pub(crate) timing: &'a Timing,
    pub(crate) ports: &'a MemoryPorts,
    pub(crate) interrupts: &'a Rc<Interrupts>,
}
