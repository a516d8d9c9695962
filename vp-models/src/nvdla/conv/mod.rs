//! The convolution pipeline: CDMA, the convolution buffer, CSC, CMAC, CACC, and from there on the fly to SDP.
//!
//! Each unit takes its own register groups in their order, so CDMA may fetch a layer while CSC and CACC still
//! work on the previous one. Between them pass lines and weights through the `buffer`, sums of stripes from CSC
//! to CACC, and results through the `delivery` to SDP, which holds CSC back if it cannot take them. A layer
//! that one of them refuses ends in all of them, each with its interrupt.
//!
//! [`ConvolutionLayer`] has the registers of all five units together. [`compute`] is the arithmetic,
//! [`weights`] and [`window`] put its operands in order, and `sums` its results.

mod buffer;
pub mod cacc;
pub mod cdma;
pub mod cmac;
pub mod compute;
pub mod csc;
pub(crate) mod delivery;
pub mod elements;
mod encode;
pub mod hardware;
mod sums;
mod weight_set;
pub mod weights;
pub mod window;

use self::buffer::Buffer;
use self::cacc::Cacc;
use self::cdma::Cdma;
use self::cmac::Arrays;
use self::csc::Csc;
use self::delivery::Delivery;
use self::hardware::Hardware;
use super::control::Control;
use super::engine::EngineContext;
use crate::bus::DelayLine;
use crate::checkpoint::Remembers;
use std::rc::Rc;
use vp_core::Time;

pub use self::buffer::{Banks, Reuse};
pub use self::encode::ConvolutionLayer;

/// The registers of its units.
pub(crate) struct Controls {
    pub(crate) cdma: Rc<Control>,
    pub(crate) csc: Rc<Control>,
    pub(crate) cmac_a: Rc<Control>,
    pub(crate) cmac_b: Rc<Control>,
    pub(crate) cacc: Rc<Control>,
}

/// Starts the pipeline's processes, which own it with what comes back.
pub(crate) fn start(
    around: &EngineContext<'_>,
    controls: Controls,
    delivery: Rc<Delivery>,
) -> [Rc<dyn Remembers>; 3] {
    let sim = around.sim;
    let Controls { cdma, csc, cmac_a, cmac_b, cacc } = controls;
    let names = [cdma.name(), csc.name(), cacc.name()];
    let buffer = Buffer::new(sim, Hardware::from(around.config).entry_bytes, around.occupancy.clone());
    let sums = Rc::new(DelayLine::new(sim, "nvdla.cmac.sums", Time::ZERO));
    let arrays = Arrays { a: cmac_a, b: cmac_b };
    let cdma = Cdma::new(around, cdma, buffer.clone());
    let csc = Csc::new(around, csc, arrays, buffer, delivery.clone(), sums.clone());
    let cacc = Cacc::new(around, cacc, delivery, sums);
    let [cdma_name, csc_name, cacc_name] = names;
    sim.server(format!("{cdma_name}.report"), cdma.clone().report());
    sim.server(cdma_name, cdma.clone().run());
    sim.server(format!("{csc_name}.release"), csc.clone().release());
    sim.server(format!("{csc_name}.release_dropped"), csc.clone().release_dropped());
    sim.server(csc_name, csc.clone().run());
    sim.server(format!("{cacc_name}.report"), cacc.clone().report());
    sim.server(cacc_name, cacc.clone().run());
    [cdma, csc, cacc]
}
