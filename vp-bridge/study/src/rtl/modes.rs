//! Modes of units: ways through the hardware, by what a unit is asked to do. Measurements and goldens are counted by them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use strum::VariantArray;
use vp_host::trace::Trace;
use vp_models::nvdla::config::{Config, DataType};
use vp_models::nvdla::registers::{Group, Located, Unit, cdma, cdp, pdp, rbk, sdp};

/// A way through the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, VariantArray)]
pub enum Mode {
    /// A direct convolution of features.
    Features,
    /// A convolution of an image.
    Image,
    /// A convolution by Winograd's transformation.
    Winograd,
    /// A convolution whose weights are compressed.
    CompressedWeights,
    /// A convolution of several inputs.
    Batches,
    /// SDP with its input from memory.
    SdpFromMemory,
    /// SDP's element-wise stage.
    SdpElementWise,
    /// SDP's lookup table.
    SdpTable,
    /// PDP with its input from memory.
    PdpFromMemory,
    /// PDP behind SDP.
    PdpBehindSdp,
    /// CDP.
    Cdp,
    /// RUBIK.
    Rubik,
    /// BDMA.
    Bdma,
    /// 16-bit integers, of any unit.
    Int16,
    /// 16-bit floating point, of any unit.
    Float16,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Mode; 15] = *Self::VARIANTS.first_chunk().unwrap();

    /// Returns the mode's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mode::Features => "convolution of features",
            Mode::Image => "convolution of an image",
            Mode::Winograd => "Winograd convolution",
            Mode::CompressedWeights => "compressed weights",
            Mode::Batches => "convolution of batches",
            Mode::SdpFromMemory => "SDP from memory",
            Mode::SdpElementWise => "SDP's EW stage",
            Mode::SdpTable => "SDP's lookup table",
            Mode::PdpFromMemory => "PDP from memory",
            Mode::PdpBehindSdp => "PDP behind SDP",
            Mode::Cdp => "CDP",
            Mode::Rubik => "RUBIK",
            Mode::Bdma => "BDMA",
            Mode::Int16 => "int16",
            Mode::Float16 => "fp16",
        }
    }

    /// The mode of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Returns true if a configuration has the mode.
    #[must_use]
    pub fn is_in(self, config: &Config) -> bool {
        match self {
            Mode::Features | Mode::Image | Mode::SdpFromMemory => true,
            Mode::Winograd => config.winograd,
            Mode::CompressedWeights => config.weight_compression,
            Mode::Batches => config.batch,
            Mode::SdpElementWise => config.sdp_ew,
            Mode::SdpTable => config.sdp_lut,
            Mode::PdpFromMemory | Mode::PdpBehindSdp => config.pdp,
            Mode::Cdp => config.cdp,
            Mode::Rubik => config.rubik,
            Mode::Bdma => config.bdma,
            Mode::Int16 => config.feature_types.contains(&DataType::Int16),
            Mode::Float16 => config.feature_types.contains(&DataType::Fp16),
        }
    }

    /// The modes of all layers of a trace.
    #[must_use]
    pub fn of_trace(trace: &Trace, config: &Config) -> BTreeSet<Mode> {
        let mut modes = BTreeSet::new();
        // Of each unit, the group that is written to, and both groups.
        let mut units = BTreeMap::<Unit, (usize, [Group; 2])>::new();
        for (Located { unit, register, .. }, value) in trace.register_writes(config.register_map) {
            let fresh = || (0, [0, 1].map(|_| Group::new(unit, config.register_map)));
            let (pointer, groups) = units.entry(unit).or_insert_with(fresh);
            match register.name {
                "S_POINTER" => *pointer = (value & 1) as usize,
                "D_OP_ENABLE" | "CFG_OP" if value & 1 == 1 => modes.extend(of_layer(&groups[*pointer])),
                _ => groups[*pointer].set_word(register, value),
            }
        }
        modes
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The modes of the layer that a unit's registers hold.
fn of_layer(registers: &Group) -> Vec<Mode> {
    let is = |field, value| registers.get(field) == value;
    let of_precision = |field| match registers.get(field) {
        1 => Some(Mode::Int16),
        2 => Some(Mode::Float16),
        _ => None,
    };
    match registers.unit() {
        Unit::Cdma => {
            let shape = match (
                registers.get(cdma::D_MISC_CFG::CONV_MODE),
                registers.get(cdma::D_DATAIN_FORMAT::DATAIN_FORMAT),
            ) {
                (1, _) => Mode::Winograd,
                (_, 1) => Mode::Image,
                _ => Mode::Features,
            };
            let more = [
                is(cdma::D_WEIGHT_FORMAT::WEIGHT_FORMAT, 1).then_some(Mode::CompressedWeights),
                (!is(cdma::D_BATCH_NUMBER::BATCHES, 0)).then_some(Mode::Batches),
                of_precision(cdma::D_MISC_CFG::PROC_PRECISION),
            ];
            [shape].into_iter().chain(more.into_iter().flatten()).collect()
        }
        Unit::Sdp => {
            let has_ew = is(sdp::D_DP_EW_CFG::EW_BYPASS, 0);
            let parts = [
                is(sdp::D_FEATURE_MODE_CFG::FLYING_MODE, 0).then_some(Mode::SdpFromMemory),
                has_ew.then_some(Mode::SdpElementWise),
                (has_ew && is(sdp::D_DP_EW_CFG::EW_LUT_BYPASS, 0)).then_some(Mode::SdpTable),
                of_precision(sdp::D_DATA_FORMAT::PROC_PRECISION),
            ];
            parts.into_iter().flatten().collect()
        }
        Unit::Pdp => {
            let from = match registers.get(pdp::D_OPERATION_MODE_CFG::FLYING_MODE) {
                0 => Mode::PdpBehindSdp,
                _ => Mode::PdpFromMemory,
            };
            [Some(from), of_precision(pdp::D_DATA_FORMAT::INPUT_DATA)].into_iter().flatten().collect()
        }
        Unit::Cdp => {
            let precision = of_precision(cdp::D_DATA_FORMAT::INPUT_DATA_TYPE);
            [Some(Mode::Cdp), precision].into_iter().flatten().collect()
        }
        Unit::Rbk => {
            let precision = of_precision(rbk::D_MISC_CFG::IN_PRECISION);
            [Some(Mode::Rubik), precision].into_iter().flatten().collect()
        }
        Unit::Bdma => vec![Mode::Bdma],
        _ => Vec::new(),
    }
}
