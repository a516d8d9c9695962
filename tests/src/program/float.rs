//! Layers of two-byte integers turned into layers of fp16.

use vp_models::nvdla::registers::{
    FieldRef, Group, RegisterMap, RegisterRef, Unit, cacc, cdma, cdp, cdp_rdma, cmac, csc, pdp, pdp_rdma,
    sdp, sdp_rdma,
};

use super::Program;
use crate::reference::float::FloatAverage;

/// The fields that say in which format a layer is computed.
const FORMATS: [(Unit, FieldRef); 14] = [
    (Unit::Sdp, sdp::D_DATA_FORMAT::PROC_PRECISION),
    (Unit::Sdp, sdp::D_DATA_FORMAT::OUT_PRECISION),
    (Unit::SdpRdma, sdp_rdma::D_FEATURE_MODE_CFG::IN_PRECISION),
    (Unit::SdpRdma, sdp_rdma::D_FEATURE_MODE_CFG::PROC_PRECISION),
    (Unit::SdpRdma, sdp_rdma::D_FEATURE_MODE_CFG::OUT_PRECISION),
    (Unit::Pdp, pdp::D_DATA_FORMAT::INPUT_DATA),
    (Unit::PdpRdma, pdp_rdma::D_DATA_FORMAT::INPUT_DATA),
    (Unit::Cdp, cdp::D_DATA_FORMAT::INPUT_DATA_TYPE),
    (Unit::CdpRdma, cdp_rdma::D_DATA_FORMAT::INPUT_DATA),
    (Unit::Cdma, cdma::D_MISC_CFG::PROC_PRECISION),
    (Unit::Csc, csc::D_MISC_CFG::PROC_PRECISION),
    (Unit::CmacA, cmac::D_MISC_CFG::PROC_PRECISION),
    (Unit::CmacB, cmac::D_MISC_CFG::PROC_PRECISION),
    (Unit::Cacc, cacc::D_MISC_CFG::PROC_PRECISION),
];

/// The registers that say whether what is no number counts as 0, of units that have one for it.
const FLUSHES: [(Unit, RegisterRef); 3] = [
    (Unit::Pdp, pdp::D_NAN_FLUSH_TO_ZERO),
    (Unit::Cdp, cdp::D_NAN_FLUSH_TO_ZERO),
    (Unit::Cdma, cdma::D_NAN_FLUSH_TO_ZERO),
];

impl Program {
    /// Has all layers written so far compute fp16, and what SDP, PDP and CDP read be fp16.
    pub fn as_floats(&mut self) {
        FORMATS.iter().for_each(|&(unit, field)| self.change(unit, field, 2));
    }

    /// Has the input of a convolution be fp16 in memory as well.
    pub fn convolve_floats(&mut self) {
        self.change(Unit::Cdma, cdma::D_MISC_CFG::IN_PRECISION, 2);
    }

    /// Has the units that layers are written for take what is no number as 0. SDP does so whatever its input is.
    pub fn flush_nan(&mut self, with_sdp: bool) {
        if with_sdp {
            self.change(Unit::Sdp, sdp::D_FEATURE_MODE_CFG::NAN_TO_ZERO, 1);
        }
        for (unit, register) in FLUSHES {
            if self.writes.iter().any(|write| write.unit == unit) {
                self.word(unit, register, 1);
            }
        }
    }

    /// Writes what an average of PDP's multiplies with and adds.
    pub fn average_of_floats(&mut self, average: &FloatAverage) {
        use pdp::{
            D_POOLING_PADDING_VALUE_1_CFG::*, D_POOLING_PADDING_VALUE_2_CFG::*,
            D_POOLING_PADDING_VALUE_3_CFG::*, D_POOLING_PADDING_VALUE_4_CFG::*,
            D_POOLING_PADDING_VALUE_5_CFG::*, D_POOLING_PADDING_VALUE_6_CFG::*,
            D_POOLING_PADDING_VALUE_7_CFG::*, D_RECIP_KERNEL_HEIGHT::*, D_RECIP_KERNEL_WIDTH::*,
        };
        let padding = [
            PAD_VALUE_1X,
            PAD_VALUE_2X,
            PAD_VALUE_3X,
            PAD_VALUE_4X,
            PAD_VALUE_5X,
            PAD_VALUE_6X,
            PAD_VALUE_7X,
        ];
        let fields = padding.into_iter().zip(average.padding);
        let reciprocals = [RECIP_KERNEL_WIDTH, RECIP_KERNEL_HEIGHT].into_iter().zip(average.reciprocal);
        self.fields(Unit::Pdp, &fields.chain(reciprocals).collect::<Vec<_>>());
    }

    /// Gives a field another value wherever it is written.
    pub fn change(&mut self, unit: Unit, field: FieldRef, value: u32) {
        for write in &mut self.writes {
            if write.unit == unit && write.register.name == field.register {
                let mut group = Group::new(unit, RegisterMap::Full);
                group.set_word(write.register, write.value);
                group.set(field, value);
                write.value = group.word(write.register);
            }
        }
    }
}
