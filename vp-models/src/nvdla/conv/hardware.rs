//! What a convolution pipeline consists of, by hardware configuration.

use crate::nvdla::config::{Config, DataType};
use crate::nvdla::numeric::Precision;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{Family, FieldRef, Group};

/// The sizes that the units of the pipeline share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// Bytes of a memory atom.
    pub atom: u32,
    /// Channels that a MAC cell multiplies in one step: weights and sums come in blocks of them.
    pub block_channels: u32,
    /// int8 kernels that are multiplied at once; half as many int16 ones.
    pub int8_kernels: u32,
    /// Computes int16 besides int8.
    pub int16: bool,
    /// Banks of the convolution buffer.
    pub banks: u32,
    /// Entries of a bank.
    pub bank_entries: u32,
    /// Bytes of an entry.
    pub entry_bytes: u32,
    /// Surfaces that CDMA reads in turns, eight atoms of each: as many as its DMA moves atoms a cycle.
    pub surfaces_at_once: u32,
    /// Output positions of a stripe, unless fewer are left: between these two, see
    /// [`stripes`](super::csc::stripes::stripes).
    pub stripe: (u32, u32),
    /// The same for images.
    pub image_stripe: u32,
}

impl From<&Config> for Hardware {
    fn from(config: &Config) -> Self {
        let kernels = config.mac_atomic_k;
        let full = config.family() == Family::Full;
        let (stripe, image_stripe) = match (full, config.mac_atomic_c / kernels.max(1)) {
            // nv_full multiplies 16 kernels of two bytes at once, or two times as many of one.
            (true, _) => ((kernels / 2, kernels), kernels),
            // A stripe of an image must begin with an entry of the buffer, which holds four times as many
            // elements as there are kernels (RTL, branch master, `NV_NVDLA_CSC.h`).
            (false, 4..) => ((kernels, 2 * kernels), 4 * kernels),
            (false, _) => ((kernels, 2 * kernels), 2 * kernels),
        };
        Hardware {
            atom: config.memory_atom,
            block_channels: config.mac_atomic_c,
            int8_kernels: kernels,
            int16: config.has_feature_type(DataType::Int16) && config.has_weight_type(DataType::Int16),
            banks: config.cbuf_banks,
            bank_entries: config.cbuf_entries_per_bank(),
            entry_bytes: config.cbuf_entry_bytes(),
            surfaces_at_once: if full { 2 } else { 1 },
            stripe,
            image_stripe,
        }
    }
}

impl Hardware {
    /// Kernels that are multiplied at once.
    pub const fn group_kernels(&self, precision: Precision) -> u32 {
        self.int8_kernels / precision.bytes() as u32
    }

    /// Elements of an atom.
    pub const fn lanes(&self, precision: Precision) -> u32 {
        self.atom / precision.bytes() as u32
    }

    /// Bytes of a bank.
    pub const fn bank_bytes(&self) -> u32 {
        self.bank_entries * self.entry_bytes
    }

    /// The format that a field names, if this hardware has it.
    pub fn precision(&self, group: &Group, field: FieldRef) -> Result<Precision, Refused> {
        match group.get(field) {
            0 => Ok(Precision::Int8),
            1 if self.int16 => Ok(Precision::Int16),
            1 => Err(Refused::new(group, field, "this configuration computes int8 only")),
            2 => Err(Refused::new(group, field, "fp16 is not modelled")),
            _ => Err(Refused::new(group, field, "there are formats 0 (int8), 1 (int16) and 2 (fp16)")),
        }
    }
}
