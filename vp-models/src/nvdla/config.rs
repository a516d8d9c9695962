//! One hardware configuration of NVDLA: everything that a model must know and that is not in the registers.
//!
//! Eight configurations are built in ([`Config::named`]). A platform description starts from one and
//! overrides single parameters:
//!
//! ```
//! use vp_models::nvdla::config::Config;
//!
//! let config: Config = toml::from_str("base = 'nv_small'\nprimary_latency = 400").unwrap();
//! assert_eq!((config.mac_atomic_c, config.primary_latency), (8, 400));
//! ```
//!
//! A configuration from outside has passed [`Config::check`]. [`capability`] has the words of the capability
//! ROM; [`builtin`] says where the built-in figures come from.

pub mod builtin;
pub mod capability;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::numeric::Precision;
use super::registers::{Family, RegisterMap, Unit, cdma};
use crate::suggestion::hint;

pub use crate::device::MemoryInterface;
pub use capability::{CapabilityDescriptor, CapabilityRom, CapabilityWord, capability_descriptors};

/// A number format of features or weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataType {
    /// 8-bit integer.
    Int8,
    /// 16-bit integer.
    Int16,
    /// 16-bit floating point.
    Fp16,
}

impl From<Precision> for DataType {
    fn from(precision: Precision) -> DataType {
        match precision {
            Precision::Int8 => DataType::Int8,
            Precision::Int16 => DataType::Int16,
            Precision::Fp16 => DataType::Fp16,
        }
    }
}

impl From<DataType> for Precision {
    fn from(format: DataType) -> Precision {
        match format {
            DataType::Int8 => Precision::Int8,
            DataType::Int16 => Precision::Int16,
            DataType::Fp16 => Precision::Fp16,
        }
    }
}

/// Declares [`Config`] once: the structure, its overrides in a description, and how the one is laid over the
/// other.
macro_rules! parameters {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty,)+) => {
        /// A hardware configuration. Parameters carry the vendor's name in their description; those of absent
        /// parts are 0.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(try_from = "Overrides")]
        pub struct Config {
            $($(#[doc = $doc])+ pub $name: $type,)+
        }

        /// Configuration as a description says it: a built-in one to start from and the parameters that differ.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Overrides {
            base: Option<String>,
            $(#[serde(default)] $name: Option<$type>,)+
        }

        impl TryFrom<Overrides> for Config {
            type Error = ConfigError;

            fn try_from(overrides: Overrides) -> Result<Self, ConfigError> {
                let config = match overrides.base {
                    Some(base) => {
                        let base = Config::named(&base)?;
                        Config { $($name: overrides.$name.unwrap_or(base.$name),)+ }
                    }
                    // Without a base everything must be said: this is how a whole configuration is written
                    // out.
                    None => Config {
                        $($name: overrides
                            .$name
                            .ok_or(ConfigError::Missing { parameter: stringify!($name) })?,)+
                    },
                };
                config.check()?;
                Ok(config)
            }
        }
    };
}

parameters! {
    /// The configuration's name; a description that overrides parameters may give its own.
    name: String,
    /// Register addresses and field layouts.
    register_map: RegisterMap,
    /// `FEATURE_DATA_TYPE`: formats of input and output data.
    feature_types: Vec<DataType>,
    /// `WEIGHT_DATA_TYPE`: formats of weights.
    weight_types: Vec<DataType>,
    /// `WEIGHT_COMPRESSION_ENABLE`: weights may be stored without their zeros.
    weight_compression: bool,
    /// `WINOGRAD_ENABLE`: the Winograd convolution mode exists.
    winograd: bool,
    /// `BATCH_ENABLE`: several inputs may share one fetch of the weights.
    batch: bool,
    /// `MAX_BATCH_SIZE`: inputs in a batch.
    max_batch: u32,
    /// `SECONDARY_MEMIF_ENABLE`: there is a second memory port (CVIF, for on-chip SRAM).
    secondary_memory: bool,
    /// `SDP_BS_ENABLE`: SDP has the bias stage X1.
    sdp_bs: bool,
    /// `SDP_BN_ENABLE`: SDP has the batch-normalisation stage X2.
    sdp_bn: bool,
    /// `SDP_EW_ENABLE`: SDP has the element-wise stage Y.
    sdp_ew: bool,
    /// `SDP_LUT_ENABLE`: stage Y has the lookup tables.
    sdp_lut: bool,
    /// `BDMA_ENABLE`: the bridge DMA exists.
    bdma: bool,
    /// `RUBIK_ENABLE`: the reshape engine exists.
    rubik: bool,
    /// `RUBIK_CONTRACT_ENABLE`: it can contract (deconvolution's last step).
    rubik_contract: bool,
    /// `RUBIK_RESHAPE_ENABLE`: it can split and merge planes.
    rubik_reshape: bool,
    /// `PDP_ENABLE`: the pooling engine exists.
    pdp: bool,
    /// `CDP_ENABLE`: the normalisation engine exists.
    cdp: bool,
    /// `RETIMING_ENABLE`: extra pipeline stages for a faster clock.
    retiming: bool,
    /// `MAC_ATOMIC_C_SIZE`: channels multiplied in one step.
    mac_atomic_c: u32,
    /// `MAC_ATOMIC_K_SIZE`: kernels multiplied in one step, both MAC arrays together.
    mac_atomic_k: u32,
    /// `MEMORY_ATOMIC_SIZE`: bytes of one atom of a surface in memory (elements at INT8).
    memory_atom: u32,
    /// `CBUF_BANK_NUMBER`: banks of the convolution buffer.
    cbuf_banks: u32,
    /// `CBUF_BANK_WIDTH`: bytes of one row of a bank.
    cbuf_bank_width: u32,
    /// `CBUF_BANK_DEPTH`: rows of a bank.
    cbuf_bank_depth: u32,
    /// `SDP_BS_THROUGHPUT`: elements per cycle.
    sdp_bs_throughput: u32,
    /// `SDP_BN_THROUGHPUT`: elements per cycle.
    sdp_bn_throughput: u32,
    /// `SDP_EW_THROUGHPUT`: elements per cycle.
    sdp_ew_throughput: u32,
    /// `PDP_THROUGHPUT`: elements per cycle.
    pdp_throughput: u32,
    /// `CDP_THROUGHPUT`: elements per cycle.
    cdp_throughput: u32,
    /// Width of the pooling line buffer, as the vendor's build derives it.
    pdp_line_buffer_width: u32,
    /// Depth of the pooling line buffer, as the vendor's build derives it: 14 for each element per cycle.
    pdp_line_buffer_depth: u32,
    /// `PRIMARY_MEMIF_WIDTH`: data bits of the primary memory port (DBB).
    primary_width: u32,
    /// `PRIMARY_MEMIF_MAX_BURST_LENGTH`: beats.
    primary_max_burst: u32,
    /// `PRIMARY_MEMIF_LATENCY`: cycles.
    primary_latency: u32,
    /// `SECONDARY_MEMIF_WIDTH`: data bits of the secondary memory port.
    secondary_width: u32,
    /// `SECONDARY_MEMIF_MAX_BURST_LENGTH`: beats.
    secondary_max_burst: u32,
    /// `SECONDARY_MEMIF_LATENCY`: cycles.
    secondary_latency: u32,
    /// `MEM_ADDRESS_WIDTH`: bits of a byte address on both ports.
    address_bits: u32,
    /// `NUM_DMA_READ_CLIENTS`: read clients of the memory interface.
    dma_read_clients: u32,
    /// `NUM_DMA_WRITE_CLIENTS`: write clients of the memory interface.
    dma_write_clients: u32,
}

/// Reason for which a configuration cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No built-in configuration of that name.
    #[error("no configuration `{name}`{}; there are {}", hint(name, Config::NAMES), Config::NAMES.join(", "))]
    Unknown {
        /// Name that was asked for.
        name: String,
    },
    /// No base is given, nor this parameter.
    #[error("parameter `{parameter}` is missing; give it, or a `base` to start from: {}", Config::NAMES.join(", "))]
    Missing {
        /// The parameter.
        parameter: &'static str,
    },
    /// A parameter is out of its range.
    #[error("{parameter} = {value} is impossible: {rule}")]
    OutOfRange {
        /// The parameter.
        parameter: &'static str,
        /// Value of the parameter.
        value: u32,
        /// Rule that the value breaks.
        rule: Rule,
    },
    /// A list of data types is empty.
    #[error("{parameter} is empty; name at least one of int8, int16, fp16")]
    NoDataType {
        /// The parameter.
        parameter: &'static str,
    },
    /// A part is enabled that the register map has no slot for.
    #[error("{parameter} needs {unit}, which the {map} register map lacks; use nv_large or nv_full")]
    NoSlot {
        /// The parameter that enables the part.
        parameter: &'static str,
        /// The unit it needs.
        unit: Unit,
        /// The configuration's map.
        map: RegisterMap,
    },
    /// A part is enabled without the part it belongs to.
    #[error("{parameter} needs {needs}")]
    Alone {
        /// The parameter that enables the part.
        parameter: &'static str,
        /// The parameter that must be on too.
        needs: &'static str,
    },
}

/// Condition that a parameter must meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Within these bounds.
    Between(u32, u32),
    /// A power of two within these bounds.
    PowerOfTwo(u32, u32),
    /// A multiple of another parameter, given with its value.
    MultipleOf(&'static str, u32),
    /// As large as another parameter, given with its value.
    EqualTo(&'static str, u32),
    /// As large as another parameter, given with its value, or twice or four times as large.
    OnceTwiceOrFourTimes(&'static str, u32),
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Between(least, most) => write!(f, "must be {least} to {most}"),
            Self::PowerOfTwo(least, most) => write!(f, "must be a power of two, {least} to {most}"),
            Self::MultipleOf(parameter, value) => write!(f, "must be a multiple of {parameter} ({value})"),
            Self::EqualTo(parameter, value) => write!(f, "must be as large as {parameter} ({value})"),
            Self::OnceTwiceOrFourTimes(parameter, value) => {
                write!(f, "must be as large as {parameter} ({value}), or twice or four times as large")
            }
        }
    }
}

impl Rule {
    fn admits(self, value: u32) -> bool {
        match self {
            Self::Between(least, most) => (least..=most).contains(&value),
            Self::PowerOfTwo(least, most) => value.is_power_of_two() && (least..=most).contains(&value),
            Self::MultipleOf(_, of) => of != 0 && value.is_multiple_of(of),
            Self::EqualTo(_, of) => value == of,
            Self::OnceTwiceOrFourTimes(_, of) => {
                [1, 2, 4].contains(&(value / of.max(1))) && value.is_multiple_of(of.max(1))
            }
        }
    }
}

impl Config {
    /// Checks that the parameters describe hardware that models can be.
    pub fn check(&self) -> Result<(), ConfigError> {
        let rule = |parameter, value, rule: Rule| {
            if rule.admits(value) { Ok(()) } else { Err(ConfigError::OutOfRange { parameter, value, rule }) }
        };
        for (parameter, types) in
            [("feature_types", &self.feature_types), ("weight_types", &self.weight_types)]
        {
            if types.is_empty() {
                return Err(ConfigError::NoDataType { parameter });
            }
        }
        for (parameter, enabled, unit) in [
            ("secondary_memory", self.secondary_memory, Unit::Cvif),
            ("bdma", self.bdma, Unit::Bdma),
            ("rubik", self.rubik, Unit::Rbk),
        ] {
            if enabled && self.register_map.base(unit).is_none() {
                return Err(ConfigError::NoSlot { parameter, unit, map: self.register_map });
            }
        }
        for (parameter, enabled, needs, present) in [
            ("sdp_lut", self.sdp_lut, "sdp_ew", self.sdp_ew),
            ("rubik_contract", self.rubik_contract, "rubik", self.rubik),
            ("rubik_reshape", self.rubik_reshape, "rubik", self.rubik),
        ] {
            if enabled && !present {
                return Err(ConfigError::Alone { parameter, needs });
            }
        }
        rule("mac_atomic_c", self.mac_atomic_c, Rule::PowerOfTwo(4, 256))?;
        rule("mac_atomic_k", self.mac_atomic_k, Rule::PowerOfTwo(4, 256))?;
        rule("memory_atom", self.memory_atom, Rule::PowerOfTwo(4, 64))?;
        rule("mac_atomic_c", self.mac_atomic_c, Rule::MultipleOf("memory_atom", self.memory_atom))?;
        // CACC hands SDP an atom of each position at once: a result of each kernel.
        rule("mac_atomic_k", self.mac_atomic_k, Rule::EqualTo("memory_atom", self.memory_atom))?;
        // An entry's address is the bank's number above the row's, each as wide as its logarithm (spec/defs/projects.spec,
        // NVDLA_CBUF_DEPTH_LOG2; NV_NVDLA_CBUF.h, CBUF_BANK_SLICE), and entries are counted around the end of the last bank. The register
        // that splits the buffer must be able to name every bank.
        let bank_bits = cdma::D_BANK::DATA_BANK.bits(self.register_map.family()).width();
        rule("cbuf_banks", self.cbuf_banks, Rule::PowerOfTwo(2, 1 << bank_bits))?;
        rule("cbuf_bank_width", self.cbuf_bank_width, Rule::PowerOfTwo(4, 256))?;
        // CSC reads what a MAC cell multiplies at once (spec/defs/projects.spec, NVDLA_CBUF_ENTRY_WIDTH, and each published configuration).
        rule("cbuf_bank_width", self.cbuf_bank_width, Rule::EqualTo("mac_atomic_c", self.mac_atomic_c))?;
        // Stripes, CACC's buffer and the banks' RAMs are defined for these ratios alone (NV_NVDLA_CSC.h, NV_NVDLA_CACC.h, NV_NVDLA_CBUF.h,
        // NVDLA_CC_ATOMC_DIV_ATOMK).
        rule(
            "mac_atomic_c",
            self.mac_atomic_c,
            Rule::OnceTwiceOrFourTimes("mac_atomic_k", self.mac_atomic_k),
        )?;
        rule("cbuf_bank_depth", self.cbuf_bank_depth, Rule::PowerOfTwo(16, 1 << 14))?;
        for (parameter, enabled, throughput) in [
            ("sdp_bs_throughput", self.sdp_bs, self.sdp_bs_throughput),
            ("sdp_bn_throughput", self.sdp_bn, self.sdp_bn_throughput),
            ("sdp_ew_throughput", self.sdp_ew, self.sdp_ew_throughput),
            ("pdp_throughput", self.pdp, self.pdp_throughput),
            ("cdp_throughput", self.cdp, self.cdp_throughput),
        ] {
            if enabled {
                rule(parameter, throughput, Rule::PowerOfTwo(1, self.memory_atom))?;
            }
        }
        if self.pdp {
            rule("pdp_line_buffer_width", self.pdp_line_buffer_width, Rule::Between(1, 1 << 13))?;
            rule("pdp_line_buffer_depth", self.pdp_line_buffer_depth, Rule::Between(1, 1 << 13))?;
        }
        if self.batch {
            rule("max_batch", self.max_batch, Rule::Between(1, 32))?;
        }
        // The pins' `arlen` and `awlen` have four bits.
        let bursts = Rule::PowerOfTwo(1, 16);
        rule("primary_width", self.primary_width, Rule::PowerOfTwo(32, 512))?;
        rule("primary_max_burst", self.primary_max_burst, bursts)?;
        rule("primary_latency", self.primary_latency, Rule::Between(0, 1 << 20))?;
        if self.secondary_memory {
            rule("secondary_width", self.secondary_width, Rule::PowerOfTwo(32, 512))?;
            rule("secondary_max_burst", self.secondary_max_burst, bursts)?;
            rule("secondary_latency", self.secondary_latency, Rule::Between(0, 1 << 20))?;
        }
        rule("address_bits", self.address_bits, Rule::Between(32, 64))?;
        rule("dma_read_clients", self.dma_read_clients, Rule::Between(1, 16))?;
        rule("dma_write_clients", self.dma_write_clients, Rule::Between(1, 16))
    }

    /// Returns true if the hardware has this unit. The register map may have slots for more units; such slots read 0.
    pub fn has_unit(&self, unit: Unit) -> bool {
        let is_enabled = match unit {
            Unit::Cvif => self.secondary_memory,
            Unit::Bdma => self.bdma,
            Unit::Rbk => self.rubik,
            Unit::PdpRdma | Unit::Pdp => self.pdp,
            Unit::CdpRdma | Unit::Cdp => self.cdp,
            _ => true,
        };
        is_enabled && self.register_map.base(unit).is_some()
    }

    /// Bits of an address on its memory ports.
    pub fn address_bits(&self) -> u32 {
        self.address_bits
    }

    /// The field layouts of its registers.
    pub fn family(&self) -> Family {
        self.register_map.family()
    }

    /// Returns true if input and output may have that format.
    pub fn has_feature_type(&self, data_type: DataType) -> bool {
        self.feature_types.contains(&data_type)
    }

    /// Returns true if weights may have that format.
    pub fn has_weight_type(&self, data_type: DataType) -> bool {
        self.weight_types.contains(&data_type)
    }

    /// The primary memory port.
    pub fn primary(&self) -> MemoryInterface {
        MemoryInterface {
            width_bytes: self.primary_width / 8,
            max_burst: self.primary_max_burst,
            latency: self.primary_latency,
        }
    }

    /// Data bits of the primary memory port in the vendor's specification of this configuration, if this one's are others.
    pub fn specified_primary_width(&self) -> Option<u32> {
        let specified = Config::named(&self.name).ok()?.primary_width;
        (specified != self.primary_width).then_some(specified)
    }

    /// The secondary memory port, where there is one.
    pub fn secondary(&self) -> Option<MemoryInterface> {
        self.secondary_memory.then_some(MemoryInterface {
            width_bytes: self.secondary_width / 8,
            max_burst: self.secondary_max_burst,
            latency: self.secondary_latency,
        })
    }

    /// Cubes that a convolution takes at once: `D_BATCH_NUMBER` says no more than 32.
    pub fn cubes_at_once(&self) -> u32 {
        if self.batch { self.max_batch.clamp(1, 32) } else { 1 }
    }

    /// Elements of a memory atom.
    pub fn lanes(&self, precision: Precision) -> u32 {
        self.memory_atom / precision.bytes() as u32
    }

    /// Kernels that are multiplied at once.
    pub fn kernels_at_once(&self, precision: Precision) -> u32 {
        self.mac_atomic_k / precision.bytes() as u32
    }

    /// Returns true if the hardware convolves in that format.
    pub fn computes(&self, precision: Precision) -> bool {
        let has = |types: &[DataType]| types.iter().any(|format| Precision::from(*format) == precision);
        has(&self.feature_types) && has(&self.weight_types)
    }

    /// INT8 multipliers.
    pub fn macs(&self) -> u32 {
        self.mac_atomic_c * self.mac_atomic_k
    }

    /// Products of a format that the MAC array makes in a cycle: of 16 bits half as many as of 8 (numerics of CMAC).
    pub fn macs_a_cycle(&self, precision: Precision) -> u64 {
        u64::from(self.macs()) / precision.bytes() as u64
    }

    /// Bits of one MAC cell's sum of INT8 products.
    pub fn mac_result_bits(&self) -> u32 {
        16 + self.mac_atomic_c.ilog2()
    }

    /// Size of the convolution buffer.
    pub fn cbuf_bytes(&self) -> u32 {
        self.cbuf_banks * self.cbuf_bank_width * self.cbuf_bank_depth
    }

    /// Bytes of one buffer entry, the unit of `D_ENTRY_PER_SLICE`. In the full family an entry is two rows.
    pub fn cbuf_entry_bytes(&self) -> u32 {
        match self.family() {
            Family::Full => 2 * self.cbuf_bank_width,
            Family::Small => self.cbuf_bank_width,
        }
    }

    /// Entries of one bank.
    pub fn cbuf_entries_per_bank(&self) -> u32 {
        self.cbuf_bank_width * self.cbuf_bank_depth / self.cbuf_entry_bytes()
    }

    /// Bytes an engine moves to or from the memory interface in a cycle: one atom.
    pub fn internal_dma_bytes(&self) -> u32 {
        self.memory_atom
    }

    /// Elements per cycle of SDP's fastest stage.
    pub fn sdp_max_throughput(&self) -> u32 {
        let stages = [
            (self.sdp_bs, self.sdp_bs_throughput),
            (self.sdp_bn, self.sdp_bn_throughput),
            (self.sdp_ew, self.sdp_ew_throughput),
        ];
        stages.into_iter().filter(|stage| stage.0).map(|stage| stage.1).max().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Config, ConfigError, Rule};
    use crate::nvdla::registers::{RegisterMap, Unit};

    fn refused(description: &str) -> String {
        toml::from_str::<Config>(description).unwrap_err().message().to_owned()
    }

    #[test]
    fn a_description_overrides_single_parameters_of_its_base() {
        let config: Config =
            toml::from_str("base = 'nv_large'\nname = 'slow'\nprimary_latency = 4000").unwrap();
        let expected =
            Config { name: "slow".into(), primary_latency: 4000, ..Config::named("nv_large").unwrap() };
        assert_eq!(config, expected);
    }

    #[test]
    fn every_configuration_reads_back_as_written() {
        for name in Config::NAMES {
            let config = Config::named(name).unwrap();
            assert_eq!(toml::from_str::<Config>(&toml::to_string(&config).unwrap()), Ok(config));
        }
    }

    #[test]
    fn a_description_without_base_must_say_everything() {
        assert!(refused("name = 'mine'").starts_with("parameter `register_map` is missing"));
    }

    #[test]
    fn unknown_parameters_and_bases_are_refused_by_name() {
        assert!(refused("base = 'nv_small'\nprimary_latensy = 1").contains("primary_latensy"));
        assert!(refused("base = 'nv_smal'").contains("nearest: nv_small"));
    }

    #[test]
    fn an_impossible_parameter_is_refused_with_what_would_be_right() {
        assert_eq!(
            refused("base = 'nv_small'\nmac_atomic_c = 12"),
            "mac_atomic_c = 12 is impossible: must be a power of two, 4 to 256"
        );
        assert_eq!(
            refused("base = 'nv_small'\nmemory_atom = 32\nprimary_width = 256"),
            "mac_atomic_c = 8 is impossible: must be a multiple of memory_atom (32)"
        );
        assert_eq!(
            refused("base = 'nv_full'\ncbuf_banks = 32"),
            "cbuf_banks = 32 is impossible: must be a power of two, 2 to 16"
        );
        assert_eq!(
            refused("base = 'nv_small'\ncbuf_banks = 24"),
            "cbuf_banks = 24 is impossible: must be a power of two, 2 to 32"
        );
        assert_eq!(
            refused("base = 'nv_small'\nsdp_ew = true"),
            "sdp_ew_throughput = 0 is impossible: must be a power of two, 1 to 8"
        );
        // The two examples of the architecture's text.
        assert_eq!(
            refused("base = 'nv_small'\nmac_atomic_c = 16\nmac_atomic_k = 4"),
            "mac_atomic_k = 4 is impossible: must be as large as memory_atom (8)"
        );
        assert_eq!(
            refused("base = 'nv_large'\nfeature_types = ['int16']\nmac_atomic_k = 16"),
            "mac_atomic_k = 16 is impossible: must be as large as memory_atom (32)"
        );
        assert_eq!(
            refused("base = 'nv_small'\nmac_atomic_c = 16"),
            "cbuf_bank_width = 8 is impossible: must be as large as mac_atomic_c (16)"
        );
        assert_eq!(
            refused("base = 'nv_small'\nmac_atomic_c = 64\ncbuf_bank_width = 64"),
            "mac_atomic_c = 64 is impossible: must be as large as mac_atomic_k (8), or twice or four times as large"
        );
        assert_eq!(refused("base = 'nv_small'\nsdp_lut = true"), "sdp_lut needs sdp_ew");
        assert_eq!(
            refused("base = 'nv_small'\nfeature_types = []"),
            "feature_types is empty; name at least one of int8, int16, fp16"
        );
    }

    #[test]
    fn a_part_without_a_slot_in_the_map_is_refused() {
        let config = Config { bdma: true, ..Config::named("nv_small").unwrap() };
        let error = ConfigError::NoSlot { parameter: "bdma", unit: Unit::Bdma, map: RegisterMap::Small };
        assert_eq!(config.check(), Err(error));
    }

    #[test]
    fn a_slot_in_the_map_does_not_make_a_unit() {
        let master = Config::named("nv_large_master").unwrap();
        assert!(!master.has_unit(Unit::Bdma) && !master.has_unit(Unit::Rbk) && master.has_unit(Unit::Cvif));
        assert!(Config::named("nv_large").unwrap().has_unit(Unit::Bdma));
        assert!(!Config::named("nv_full").unwrap().has_unit(Unit::Cfgrom));
    }

    #[test]
    fn memory_ports_are_in_bytes_and_beats() {
        let small = Config::named("nv_small").unwrap();
        assert_eq!((small.primary().width_bytes, small.primary().latency, small.secondary()), (8, 50, None));
        let full = Config::named("nv_full").unwrap();
        assert_eq!(full.secondary().map(|port| (port.width_bytes, port.max_burst)), Some((64, 4)));
    }

    proptest! {
        /// Whatever passes the check can be asked everything: nothing overflows or divides by 0.
        #[test]
        fn what_passes_the_check_can_be_computed_with(
            base in prop::sample::select(&Config::NAMES[..]),
            sizes in prop::array::uniform8(
                prop_oneof![any::<u32>(), 0..10u32, (0..32u32).prop_map(|it| 1 << it)],
            ),
            which in any::<u8>(),
        ) {
            let mut config = Config::named(base).unwrap();
            let places = [
                &mut config.mac_atomic_c, &mut config.mac_atomic_k, &mut config.memory_atom,
                &mut config.cbuf_banks, &mut config.cbuf_bank_width, &mut config.cbuf_bank_depth,
                &mut config.primary_width, &mut config.sdp_bs_throughput,
            ];
            for (index, (place, size)) in places.into_iter().zip(sizes).enumerate() {
                if which >> index & 1 == 1 { *place = size; }
            }
            if config.check().is_ok() {
                prop_assert!(config.macs() > 0 && config.cbuf_entries_per_bank() > 0);
                prop_assert!(config.sdp_max_throughput() > 0 && config.mac_result_bits() < 32);
                let bank_bytes = config.cbuf_entries_per_bank() * config.cbuf_entry_bytes();
                prop_assert_eq!(bank_bytes * config.cbuf_banks, config.cbuf_bytes());
            }
        }
    }

    #[test]
    fn rules_admit_what_they_say() {
        assert!(Rule::Between(2, 4).admits(4) && !Rule::Between(2, 4).admits(5));
        assert!(
            Rule::PowerOfTwo(2, 8).admits(8)
                && !Rule::PowerOfTwo(2, 8).admits(6)
                && !Rule::PowerOfTwo(2, 8).admits(0)
        );
        assert!(Rule::MultipleOf("x", 8).admits(16) && !Rule::MultipleOf("x", 0).admits(16));
    }
}
