//! MCIF and SRAMIF: the registers that control the memory interfaces.

use super::registers::{FieldRef, RegisterFile, mcif};
use super::rtl_tree::RtlTree;
use crate::bus::axi::Interconnect;
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::RefCell;
use std::rc::Rc;

/// AXI transaction ids of the read clients: their places at the interface.
pub mod read_id {
    /// BDMA.
    pub const BDMA: u32 = 0;
    /// SDP_RDMA, main input.
    pub const SDP: u32 = 1;
    /// PDP_RDMA.
    pub const PDP: u32 = 2;
    /// CDP_RDMA.
    pub const CDP: u32 = 3;
    /// RUBIK.
    pub const RUBIK: u32 = 4;
    /// SDP_RDMA, operands of BS.
    pub const SDP_BS: u32 = 5;
    /// SDP_RDMA, operands of BN.
    pub const SDP_BN: u32 = 6;
    /// SDP_RDMA, operands of EW.
    pub const SDP_EW: u32 = 7;
    /// CDMA, feature data and images.
    pub const CDMA_DATA: u32 = 8;
    /// CDMA, weights.
    pub const CDMA_WEIGHT: u32 = 9;
}

/// AXI transaction ids of the write clients.
pub mod write_id {
    /// BDMA.
    pub const BDMA: u32 = 0;
    /// SDP.
    pub const SDP: u32 = 1;
    /// PDP.
    pub const PDP: u32 = 2;
    /// CDP.
    pub const CDP: u32 = 3;
    /// RUBIK.
    pub const RUBIK: u32 = 4;
}

/// Order of the clients before the arbiters of a memory interface, and which of their weights is whose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arbitration {
    /// Transaction ids of the read clients.
    pub reads: &'static [u32],
    /// Transaction ids of the write clients.
    pub writes: &'static [u32],
    /// True if the weight of PDP's writes is CDP's, and the other way round.
    pub swaps_write_weights: bool,
}

impl Arbitration {
    /// Returns what a published tree has.
    pub fn of(tree: RtlTree) -> Arbitration {
        use {read_id as r, write_id as w};
        match tree {
            // By name; the weights of writes go to sdp, cdp, pdp, and the clients are sdp, pdp, cdp (`NV_NVDLA_partition_o.v`, client02mcif and
            // those behind it; `NV_NVDLA_NOCIF_dram.v`, client02mcif_rd_wt, client12mcif_wr_wt).
            RtlTree::NvSmall => Arbitration {
                reads: &[
                    r::BDMA,
                    r::CDMA_DATA,
                    r::CDMA_WEIGHT,
                    r::CDP,
                    r::PDP,
                    r::RUBIK,
                    r::SDP,
                    r::SDP_BS,
                    r::SDP_EW,
                    r::SDP_BN,
                ],
                writes: &[w::BDMA, w::SDP, w::PDP, w::CDP, w::RUBIK],
                swaps_write_weights: true,
            },
            // By number (`NV_NVDLA_MCIF_READ_ig.v`, `_WRITE_ig.v`, u_bpt0 and those behind it).
            RtlTree::Nvdlav1 => Arbitration {
                reads: &[
                    r::BDMA,
                    r::SDP,
                    r::PDP,
                    r::CDP,
                    r::RUBIK,
                    r::SDP_BS,
                    r::SDP_BN,
                    r::SDP_EW,
                    r::CDMA_DATA,
                    r::CDMA_WEIGHT,
                ],
                writes: &[w::BDMA, w::SDP, w::PDP, w::CDP, w::RUBIK],
                swaps_write_weights: false,
            },
            // What every build has, then what a configuration's switches add, one after the other (`NV_NVDLA_MCIF_define.h`, RDMA_NAME, WDMA_NAME).
            RtlTree::Master => Arbitration {
                reads: &[
                    r::CDMA_DATA,
                    r::CDMA_WEIGHT,
                    r::SDP,
                    r::SDP_BS,
                    r::SDP_BN,
                    r::SDP_EW,
                    r::PDP,
                    r::CDP,
                    r::RUBIK,
                    r::BDMA,
                ],
                writes: &[w::SDP, w::PDP, w::CDP, w::RUBIK, w::BDMA],
                swaps_write_weights: false,
            },
        }
    }

    /// Returns the write client that the weight of this one is for.
    fn weighted(&self, writer: u32) -> u32 {
        match writer {
            write_id::PDP if self.swaps_write_weights => write_id::CDP,
            write_id::CDP if self.swaps_write_weights => write_id::PDP,
            _ => writer,
        }
    }
}

const READ_WEIGHTS: [(u32, FieldRef); 10] = [
    (read_id::BDMA, mcif::CFG_RD_WEIGHT_0::RD_WEIGHT_BDMA),
    (read_id::SDP, mcif::CFG_RD_WEIGHT_0::RD_WEIGHT_SDP),
    (read_id::PDP, mcif::CFG_RD_WEIGHT_0::RD_WEIGHT_PDP),
    (read_id::CDP, mcif::CFG_RD_WEIGHT_0::RD_WEIGHT_CDP),
    (read_id::SDP_BS, mcif::CFG_RD_WEIGHT_1::RD_WEIGHT_SDP_B),
    (read_id::SDP_BN, mcif::CFG_RD_WEIGHT_1::RD_WEIGHT_SDP_N),
    (read_id::SDP_EW, mcif::CFG_RD_WEIGHT_1::RD_WEIGHT_SDP_E),
    (read_id::CDMA_DATA, mcif::CFG_RD_WEIGHT_1::RD_WEIGHT_CDMA_DAT),
    (read_id::CDMA_WEIGHT, mcif::CFG_RD_WEIGHT_2::RD_WEIGHT_CDMA_WT),
    (read_id::RUBIK, mcif::CFG_RD_WEIGHT_2::RD_WEIGHT_RBK),
];

const WRITE_WEIGHTS: [(u32, FieldRef); 5] = [
    (write_id::BDMA, mcif::CFG_WR_WEIGHT_0::WR_WEIGHT_BDMA),
    (write_id::SDP, mcif::CFG_WR_WEIGHT_0::WR_WEIGHT_SDP),
    (write_id::PDP, mcif::CFG_WR_WEIGHT_0::WR_WEIGHT_PDP),
    (write_id::CDP, mcif::CFG_WR_WEIGHT_0::WR_WEIGHT_CDP),
    (write_id::RUBIK, mcif::CFG_WR_WEIGHT_1::WR_WEIGHT_RBK),
];

/// The settings of one memory interface, always in force.
pub(crate) struct Nocif {
    registers: RefCell<RegisterFile>,
    interconnect: Rc<Interconnect>,
    arbitration: Arbitration,
}

impl Nocif {
    pub(crate) fn new(
        registers: RegisterFile,
        interconnect: Rc<Interconnect>,
        arbitration: Arbitration,
    ) -> Nocif {
        let nocif = Nocif { registers: RefCell::new(registers), interconnect, arbitration };
        nocif.apply();
        nocif
    }

    pub(crate) fn read(&self, offset: u32) -> u32 {
        self.show_status();
        self.registers.borrow_mut().read(offset)
    }

    pub(crate) fn peek(&self, offset: u32) -> u32 {
        self.show_status();
        self.registers.borrow().peek(offset, None)
    }

    fn show_status(&self) {
        let idle = u32::from(self.interconnect.is_idle());
        self.registers.borrow_mut().set_field(0, mcif::STATUS::IDLE, idle);
    }

    pub(crate) fn write(&self, offset: u32, value: u32) {
        self.registers.borrow_mut().write(offset, value);
        self.apply();
    }

    /// Bits of a register are others.
    pub(crate) fn flip(&self, offset: u32, mask: u32) {
        self.registers.borrow_mut().flip(0, offset, mask);
        self.apply();
    }

    fn apply(&self) {
        let registers = self.registers.borrow();
        let settings = registers.group(0);
        for (id, weight) in READ_WEIGHTS {
            self.interconnect.set_read_weight(id, settings.get(weight));
        }
        for (id, weight) in WRITE_WEIGHTS {
            self.interconnect.set_write_weight(self.arbitration.weighted(id), settings.get(weight));
        }
        // The register counts beats from zero: 255 lets 256 be outstanding.
        let limit = |field| settings.get(field) + 1;
        let (reads, writes) = (mcif::CFG_OUTSTANDING_CNT::RD_OS_CNT, mcif::CFG_OUTSTANDING_CNT::WR_OS_CNT);
        self.interconnect.set_outstanding(limit(reads), limit(writes));
    }
}

impl Nocif {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Nocif { registers, interconnect: _, arbitration: _ } = self;
        registers.borrow_mut().checkpoint(at)?;
        self.apply();
        Ok(())
    }
}
