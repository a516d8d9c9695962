//! Counters of SDP's performance registers, which are the datapath's and not a register group's.
//!
//! A counter is cleared when a layer begins that has it counted, and at each layer's end the group's register takes what it has. So where a layer
//! does not count, or does not use a read DMA, its group shows the counts of an earlier one (RTL, `NV_NVDLA_SDP_WDMA_intr.v`,
//! `NV_NVDLA_SDP_core.v`, `NV_NVDLA_SDP_CORE_Y_lut.v`, `NV_NVDLA_SDP_RDMA_ig.v`, `_MRDMA_ig.v`: `_cen`, `_clr`; `NV_NVDLA_SDP_reg.v`,
//! `dp2reg_d0_set`).

use crate::nvdla::control::Control;
use crate::nvdla::registers::RegisterRef;
use std::cell::Cell;

/// Counters of which `N` registers tell.
pub(super) struct HeldCounters<const N: usize> {
    registers: [RegisterRef; N],
    counts: Cell<[u64; N]>,
}

impl<const N: usize> HeldCounters<N> {
    pub(super) fn new(registers: [RegisterRef; N]) -> Self {
        HeldCounters { registers, counts: Cell::new([0; N]) }
    }

    /// Ends a layer of a group: sets the counters that it has counted, and shows all.
    pub(super) fn end_layer(&self, control: &Control, group: usize, counted: [Option<u64>; N]) {
        let mut counts = self.counts.get();
        for (count, counted) in counts.iter_mut().zip(counted) {
            *count = counted.unwrap_or(*count);
        }
        self.counts.set(counts);
        let shown: Vec<_> = self.registers.into_iter().zip(counts).collect();
        control.show(group, &shown);
    }

    /// Takes the counters from the registers of a unit that was restored: nothing has changed them since its last layer showed them.
    pub(super) fn restore(&self, control: &Control) {
        let registers = control.registers().borrow();
        let last = registers.group(1 - registers.consumer());
        self.counts.set(self.registers.map(|register| last.word(register).into()));
    }
}
