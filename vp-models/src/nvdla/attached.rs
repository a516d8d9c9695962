//! NVDLA as the device of a platform.

use crate::checkpoint::{Checkpoint, CheckpointError};
use std::rc::Rc;

use super::description::NvdlaDescription;
use super::device::{Nvdla, Parts};
use super::registers::{RegisterMap, Unit};
use super::timing::Timing;
use crate::bus::csb::Csb;
use crate::bus::register::RegisterBus;
use crate::counters::Statistics;
use crate::device::{Device, Identity, OpenWork, PendingInterrupt, Wiring};
use crate::faults::FlippableRegisters;
use vp_core::Time;

/// The device with its register bus.
struct Attached {
    nvdla: Rc<Nvdla>,
    registers: Rc<dyn RegisterBus>,
}

impl NvdlaDescription {
    /// Returns the device's identity.
    pub(crate) fn identity(&self) -> Identity {
        let map = self.config.register_map;
        // The names by which NVIDIA's driver finds a device with this register map: kmd/port/linux/nvdla_core_callbacks.c of
        // its sources.
        let compatible: &[&str] = match map {
            RegisterMap::Full => &["nvidia,nvdla_os_initial"],
            // The second is that of the driver until April 2019, which knew no nv_large.
            RegisterMap::Small => &["nvidia,nv_small", "nvidia,nvdla_2"],
            RegisterMap::Large => &["nvidia,nv_large"],
            RegisterMap::Foreign => &[],
        };
        let compatible = compatible.iter().map(ToString::to_string).collect();
        Identity { kind: "nvdla", compatible, register_map: Some(map.name()) }
    }

    /// Builds the device and its register bus, a CSB.
    pub(crate) fn build(&self, wiring: Wiring<'_>) -> Box<dyn Device> {
        let (sim, cycle) = (wiring.sim, wiring.cycle);
        let timing = Timing::of(&self.config, self.rtl);
        let csb = timing.csb;
        let parts = Parts { config: self.config.clone(), capability_rom: self.capability_rom, timing };
        let nvdla = Nvdla::new(parts, wiring);
        let registers = Csb::new(sim, "csb0", cycle, csb, nvdla.clone());
        Box::new(Attached { nvdla, registers })
    }
}

impl Device for Attached {
    fn registers(&self) -> &Rc<dyn RegisterBus> {
        &self.registers
    }

    fn window(&self) -> u32 {
        RegisterMap::SPACE_BYTES
    }

    fn numbering(&self) -> &'static str {
        "group"
    }

    fn unfinished(&self, open: &[OpenWork<'_>]) -> Vec<String> {
        let mut parts: Vec<String> = open
            .iter()
            .map(|OpenWork { unit, number, label }| {
                format!("{unit} is in the middle of {label} (group {number})")
            })
            .collect();
        for (unit, group) in self.nvdla.enabled() {
            let name = unit.name().to_lowercase();
            // An RDMA works for its engine's layer.
            let engine = name.strip_suffix("_rdma");
            let begun = |layer: &OpenWork<'_>| {
                Some(layer.unit) == engine || (layer.unit == name && layer.number == group as u64)
            };
            if !open.iter().any(begun) {
                parts.push(format!("{name} is enabled (group {group}) and has not begun"));
            }
        }
        parts
    }

    fn pending(&self) -> Vec<PendingInterrupt> {
        self.nvdla.pending()
    }

    fn awaited(&self, open: &[OpenWork<'_>]) -> Vec<String> {
        let is_open = |unit: Unit| open.iter().any(|work| work.unit.eq_ignore_ascii_case(unit.name()));
        self.nvdla.awaited(&is_open)
    }

    fn flippable(&self) -> Option<Rc<dyn FlippableRegisters>> {
        Some(self.nvdla.clone())
    }

    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        self.nvdla.checkpoint(at)
    }

    fn count(&self, cycle: Time, statistics: &mut Statistics) {
        let Some(enabled) = self.nvdla.first_enabled() else { return };
        statistics.count("nvdla.enabled", enabled.as_ps(), "ps");
        if let Some(done) = self.nvdla.last_done() {
            statistics.count("nvdla.done", done.as_ps(), "ps");
            statistics.count("nvdla.cycles", (done - enabled).cycles(cycle), "cycles");
        }
    }
}
