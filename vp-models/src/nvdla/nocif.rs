//! MCIF and SRAMIF: the registers that steer the memory interfaces.

use super::registers::{Group, RegisterFile, mcif};
use crate::bus::axi::{ClientId, Interconnect};

/// AXI transaction ids of the read clients (RTL: order of the clients at the interface).
pub mod read_id {
    /// SDP_RDMA, main input.
    pub const SDP: u32 = 1;
    /// PDP_RDMA.
    pub const PDP: u32 = 2;
    /// CDP_RDMA.
    pub const CDP: u32 = 3;
    /// SDP_RDMA, operands of BS.
    pub const SDP_BS: u32 = 5;
    /// SDP_RDMA, operands of BN.
    pub const SDP_BN: u32 = 6;
    /// SDP_RDMA, operands of EW.
    pub const SDP_EW: u32 = 7;
}

/// AXI transaction ids of the write clients.
pub mod write_id {
    /// SDP.
    pub const SDP: u32 = 1;
    /// PDP.
    pub const PDP: u32 = 2;
    /// CDP.
    pub const CDP: u32 = 3;
}
