//! The architecture description: which build of the IP it is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::device::MemoryInterface;

/// A build of the IP. What a description leaves out is as in the built-in platform `fpga-ai-suite`.
///
/// ```
/// use vp_models::platform::Description;
/// let text = r#"
///     name = "wide"
///     [fpga_ai_suite]
///     memory_word = 64
///     parallel_kernels = 32
///     licensed = false
///     inference_limit = 100
/// "#;
/// assert!(Description::parse(text).is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Architecture {
    /// The hash of the architecture file, which the discovery ROM shows; made of all the other parameters if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<Hash>,
    /// The version string in the discovery ROM: at most 32 bytes of ASCII.
    pub version: String,
    /// Bytes of a word of memory: 4 to 64, a power of two. It is also the width of the memory interface.
    #[serde(deserialize_with = "crate::units::size")]
    pub memory_word: u32,
    /// Longest burst in memory words: a power of two, and at most 4 KiB.
    pub burst: u32,
    /// Memory's read latency in cycles, if the platform says no other.
    pub memory_latency: u32,
    /// Bytes that a read DMA has room for: asked for and not taken.
    #[serde(deserialize_with = "crate::units::size")]
    pub read_buffer: u32,
    /// Input channels that are multiplied in a cycle.
    pub parallel_channels: u32,
    /// Kernels that are computed side by side.
    pub parallel_kernels: u32,
    /// Elements of pooling, element-wise layers and activations in a cycle.
    pub parallel_elements: u32,
    /// Cycles that a layer takes beside its elements.
    pub layer_overhead: u32,
    /// Bytes of a layer's output that stay on the chip; larger outputs go through the intermediate buffer.
    #[serde(deserialize_with = "crate::units::size")]
    pub feature_buffer: u32,
    /// Descriptors that wait at most.
    pub queue_depth: u32,
    /// With so many places left the queue is almost full.
    pub almost_full: u32,
    /// Jobs that are active at the same time at most.
    pub jobs_in_flight: u32,
    /// Cycles after which the debug network answers.
    pub debug_latency: u32,
    /// True if inputs come over the input stream.
    pub streaming: bool,
    /// Bytes that the input stream's FIFO holds.
    #[serde(deserialize_with = "crate::units::size")]
    pub stream_buffer: u32,
    /// True if the model is on the chip, loaded through the model update registers.
    pub ddr_free: bool,
    /// DDR-free: words of 64 bits in the configuration memory.
    pub configuration_words: u32,
    /// DDR-free: memory words in the scratchpad, which holds filters and biases.
    pub scratchpad_words: u32,
    /// True if the IP is licensed.
    pub licensed: bool,
    /// Requests that an unlicensed IP takes.
    pub inference_limit: u64,
}

impl Default for Architecture {
    fn default() -> Architecture {
        Architecture {
            hash: None,
            version: "FPGA AI Suite, model".to_owned(),
            memory_word: 32,
            burst: 16,
            memory_latency: 50,
            read_buffer: 8192,
            parallel_channels: 16,
            parallel_kernels: 16,
            parallel_elements: 16,
            layer_overhead: 32,
            feature_buffer: 1 << 20,
            queue_depth: 16,
            almost_full: 1,
            jobs_in_flight: 3,
            debug_latency: 16,
            streaming: false,
            stream_buffer: 1 << 20,
            ddr_free: false,
            configuration_words: 4096,
            scratchpad_words: 1 << 15,
            licensed: true,
            inference_limit: 10_000,
        }
    }
}

/// 16 bytes that name an architecture, written as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hash(pub [u8; 16]);

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Hash {
    type Err = ArchitectureError;

    fn from_str(text: &str) -> Result<Hash, ArchitectureError> {
        let refuse = || ArchitectureError::Hash { text: text.to_owned() };
        let is_right = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = u128::from_str_radix(text, 16).ok().filter(|_| is_right).ok_or_else(refuse)?;
        Ok(Hash(value.to_be_bytes()))
    }
}

impl TryFrom<String> for Hash {
    type Error = ArchitectureError;

    fn try_from(text: String) -> Result<Hash, ArchitectureError> {
        text.parse()
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> String {
        hash.to_string()
    }
}

/// An architecture that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ArchitectureError {
    /// A parameter beyond what there can be.
    #[error("{parameter} = {value}: {right}")]
    Parameter {
        /// Name of the parameter.
        parameter: &'static str,
        /// Value that was given.
        value: u64,
        /// Description of the right values.
        right: &'static str,
    },
    /// A hash that is none.
    #[error("hash = \"{text}\": write 32 hexadecimal digits")]
    Hash {
        /// Text that was given.
        text: String,
    },
    /// A version that does not fit.
    #[error("version = \"{text}\": at most 32 characters of ASCII")]
    Version {
        /// Text that was given.
        text: String,
    },
}

impl Architecture {
    /// The built-in platforms with this device.
    pub const NAMES: [&'static str; 3] =
        ["fpga-ai-suite", "fpga-ai-suite-streaming", "fpga-ai-suite-ddr-free"];

    /// Returns the architecture of a built-in platform.
    pub fn named(name: &str) -> Option<Architecture> {
        let plain = Architecture::default();
        match name {
            "fpga-ai-suite" => Some(plain),
            "fpga-ai-suite-streaming" => Some(Architecture { streaming: true, ..plain }),
            "fpga-ai-suite-ddr-free" => Some(Architecture { streaming: true, ddr_free: true, ..plain }),
            _ => None,
        }
    }

    /// Refuses what cannot be built.
    pub fn check(&self) -> Result<(), ArchitectureError> {
        let refuse =
            |parameter, value: u64, right| Err(ArchitectureError::Parameter { parameter, value, right });
        let word = u64::from(self.memory_word);
        if !(4..=64).contains(&word) || !word.is_power_of_two() {
            return refuse("memory_word", word, "a power of two from 4 to 64 bytes");
        }
        let burst = u64::from(self.burst);
        if !burst.is_power_of_two() || burst * word > 4096 {
            return refuse("burst", burst, "a power of two, and at most 4096 bytes in all");
        }
        let buffer = u64::from(self.read_buffer);
        if buffer % (2 * burst * word) != 0 || buffer == 0 {
            return refuse("read_buffer", buffer, "a multiple of two bursts");
        }
        if u64::from(self.stream_buffer) < word {
            return refuse("stream_buffer", self.stream_buffer.into(), "at least a memory word");
        }
        let counts = [
            ("parallel_channels", self.parallel_channels),
            ("parallel_kernels", self.parallel_kernels),
            ("parallel_elements", self.parallel_elements),
            ("queue_depth", self.queue_depth),
            ("jobs_in_flight", self.jobs_in_flight),
            ("debug_latency", self.debug_latency),
        ];
        for (parameter, value) in counts {
            if !(1..=4096).contains(&value) {
                return refuse(parameter, value.into(), "from 1 to 4096");
            }
        }
        let memories =
            [("configuration_words", self.configuration_words), ("scratchpad_words", self.scratchpad_words)];
        for (parameter, value) in memories {
            if !(1..=1 << 24).contains(&value) {
                return refuse(parameter, value.into(), "from 1 to 2^24");
            }
        }
        if self.almost_full > self.queue_depth {
            return refuse("almost_full", self.almost_full.into(), "at most queue_depth");
        }
        if self.version.len() > 32 || !self.version.is_ascii() {
            return Err(ArchitectureError::Version { text: self.version.clone() });
        }
        Ok(())
    }

    /// Returns what the discovery ROM shows as the hash: as given, or FNV-1a (128 bits) of all the parameters.
    pub fn hash(&self) -> Hash {
        const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        self.hash.unwrap_or_else(|| {
            let text = toml::to_string(self).unwrap_or_default();
            let hash = text.bytes().fold(OFFSET, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
            Hash(hash.to_be_bytes())
        })
    }

    /// Bytes rounded up to whole memory words.
    pub fn whole_words(&self, bytes: u64) -> u64 {
        bytes.next_multiple_of(u64::from(self.memory_word.max(1)))
    }

    /// Returns the device's memory port.
    pub(crate) fn memory_interface(&self) -> MemoryInterface {
        MemoryInterface { width_bytes: self.memory_word, max_burst: self.burst, latency: self.memory_latency }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_architecture_can_be_built_and_has_its_own_hash() {
        let all = Architecture::NAMES.map(|name| Architecture::named(name).unwrap());
        all.iter().for_each(|architecture| architecture.check().unwrap());
        assert!(all[0].hash() != all[1].hash() && all[1].hash() != all[2].hash());
    }

    #[test]
    fn a_hash_is_written_as_digits() {
        let hash: Hash = "000102030405060708090a0b0c0d0e0f".parse().unwrap();
        assert_eq!(hash.0, std::array::from_fn(|at| at as u8));
        assert_eq!(hash.to_string().parse(), Ok(hash));
        for wrong in ["", "0001", "+00102030405060708090a0b0c0d0e0f", "g00102030405060708090a0b0c0d0e0f"] {
            assert!(wrong.parse::<Hash>().is_err(), "{wrong}");
        }
        let given = Architecture { hash: Some(hash), ..Architecture::default() };
        assert_eq!(given.hash(), hash);
    }

    #[test]
    fn refusals_name_the_parameter() {
        let refusal = |architecture: Architecture| architecture.check().unwrap_err().to_string();
        let plain = Architecture::default;
        assert!(
            refusal(Architecture { memory_word: 24, ..plain() }).starts_with("memory_word = 24: a power")
        );
        assert!(refusal(Architecture { burst: 256, ..plain() }).starts_with("burst = 256"));
        assert!(refusal(Architecture { read_buffer: 1, ..plain() }).starts_with("read_buffer = 1"));
        assert!(refusal(Architecture { queue_depth: 0, ..plain() }).starts_with("queue_depth = 0"));
        assert!(refusal(Architecture { almost_full: 99, ..plain() }).starts_with("almost_full = 99"));
        assert!(refusal(Architecture { version: "x".repeat(33), ..plain() }).starts_with("version = "));
    }
}
