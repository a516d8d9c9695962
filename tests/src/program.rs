//! Layers as register writes, in the order in which a driver makes them.
//!
//! Driver contract, section 6: select the group in all parts of the engine, write the layer's registers, select
//! the group once more, enable the RDMA if it takes part, then the engine.

mod conv;
mod engines;
mod float;

pub use conv::BufferUse;

use std::ops::{Deref, DerefMut};

pub use vp_host::program::Write;
use vp_models::nvdla;
use vp_models::nvdla::registers::{RegisterMap, Unit, cdp, cdp_rdma, pdp, pdp_rdma, sdp, sdp_rdma};

use crate::reference::{CdpLayer, CubePlace, Lut, PdpLayer, SdpLayer};

/// The library's register writes, with layers of the references on top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(vp_host::program::Program);

impl Deref for Program {
    type Target = vp_host::program::Program;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Program {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Program {
    /// No writes yet.
    pub fn new(map: RegisterMap) -> Program {
        Program(vp_host::program::Program::new(map))
    }

    /// Has PDP_RDMA use another group than PDP: its turns do not count the layers that SDP feeds.
    pub fn select_pdp_rdma(&mut self, group: u32) {
        let pointers = self.writes.iter_mut().filter(|write| write.register == pdp_rdma::S_POINTER);
        pointers.for_each(|write| write.value = group);
    }

    /// A layer of SDP in that group, up to the enables.
    pub fn sdp(&mut self, layer: &SdpLayer, group: u32) {
        self.select_sdp(group);
        self.encoded(&engines::sdp(layer).fields());
    }

    /// Starts the layer of SDP in that group.
    pub fn enable_sdp(&mut self, group: u32) {
        self.select_sdp(group);
        self.word(Unit::SdpRdma, sdp_rdma::D_OP_ENABLE, 1);
        self.word(Unit::Sdp, sdp::D_OP_ENABLE, 1);
    }

    fn select_sdp(&mut self, group: u32) {
        self.word(Unit::Sdp, sdp::S_POINTER, group);
        self.word(Unit::SdpRdma, sdp_rdma::S_POINTER, group);
    }

    /// A layer of PDP in that group, up to the enables.
    pub fn pdp(&mut self, layer: &PdpLayer, group: u32) {
        self.select_pdp(group);
        self.encoded(&engines::pdp(layer).fields());
    }

    /// Starts the layer of PDP in that group, which reads memory or is fed by SDP.
    pub fn enable_pdp(&mut self, layer: &PdpLayer, group: u32) {
        self.select_pdp(group);
        if layer.source.is_some() {
            self.word(Unit::PdpRdma, pdp_rdma::D_OP_ENABLE, 1);
        }
        self.word(Unit::Pdp, pdp::D_OP_ENABLE, 1);
    }

    fn select_pdp(&mut self, group: u32) {
        self.word(Unit::Pdp, pdp::S_POINTER, group);
        self.word(Unit::PdpRdma, pdp_rdma::S_POINTER, group);
    }

    /// A layer of CDP in that group, up to the enables.
    pub fn cdp(&mut self, layer: &CdpLayer, group: u32) {
        self.select_cdp(group);
        self.encoded(&engines::cdp(layer).fields());
    }

    /// Starts the layer of CDP in that group.
    pub fn enable_cdp(&mut self, group: u32) {
        self.select_cdp(group);
        self.word(Unit::CdpRdma, cdp_rdma::D_OP_ENABLE, 1);
        self.word(Unit::Cdp, cdp::D_OP_ENABLE, 1);
    }

    fn select_cdp(&mut self, group: u32) {
        self.word(Unit::Cdp, cdp::S_POINTER, group);
        self.word(Unit::CdpRdma, cdp_rdma::S_POINTER, group);
    }

    /// Loads SDP's lookup tables and says how they are used; driver contract, section 6.
    pub fn sdp_lut(&mut self, lut: &Lut) {
        self.encoded(&nvdla::sdp::lut::load(&engines::settings(lut), &engines::tables(lut)));
    }

    /// Loads CDP's lookup tables and says how they are used, as [`Program::sdp_lut`] does with SDP's.
    pub fn cdp_lut(&mut self, lut: &Lut) {
        self.encoded(&nvdla::cdp::lut::load(&engines::settings(lut), &engines::tables(lut)));
    }
}

fn low(place: CubePlace) -> u32 {
    place.base as u32
}

fn high(place: CubePlace) -> u32 {
    (place.base >> 32) as u32
}

/// The RAM type of a DMA: 1 primary, 0 secondary.
fn ram(place: CubePlace) -> u32 {
    u32::from(place.base >= 0x8000_0000)
}
