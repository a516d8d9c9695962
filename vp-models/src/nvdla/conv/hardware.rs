//! Properties of a convolution pipeline, by hardware configuration.

use super::csc::stripes::StripeLength;
use crate::nvdla::config::Config;
use crate::nvdla::formats::Formats;
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
    /// int8 kernels that are multiplied at once; half as many of two bytes.
    pub int8_kernels: u32,
    /// Formats that the pipeline computes besides int8.
    pub formats: Formats,
    /// Banks of the convolution buffer.
    pub banks: u32,
    /// Entries of a bank.
    pub bank_entries: u32,
    /// Bytes of an entry.
    pub entry_bytes: u32,
    /// Bytes of weights that are asked for beyond their banks at most.
    pub weights_beyond_banks: u32,
    /// Surfaces that CDMA reads in turns, eight atoms of each: as many as the atoms that its DMA moves a cycle.
    pub surfaces_at_once: u32,
    /// Output positions of a stripe.
    pub stripe: StripeLength,
    /// Cycles of a package, at least.
    pub shortest_package: u32,
    /// Number of int8 kernels whose weights are loaded in a cycle; of two bytes it is one.
    pub int8_kernels_loaded: u32,
    /// True if the weights of the next kernels are loaded with the last package of those before, which their own then do not make longer.
    pub loads_next_with_last: bool,
    /// True if the pace of input behind the bus is known where a beat is two atoms.
    pub paces_wide_input: bool,
    /// Output positions of a stripe of an image, unless fewer are left.
    pub image_stripe: u32,
    /// Weights may be compressed.
    pub compression: bool,
    /// Kernels of 3 x 3 may be computed by Winograd's method.
    pub winograd: bool,
    /// Cubes that one layer takes at most.
    pub batches: u32,
}

impl From<&Config> for Hardware {
    fn from(config: &Config) -> Self {
        let kernels = config.mac_atomic_k;
        let full = config.family() == Family::Full;
        let ((shortest, longest), image_stripe) = match (full, config.mac_atomic_c / kernels.max(1)) {
            // nv_full multiplies 16 kernels of two bytes at once, or two times as many of one (RTL, branch nvdlav1,
            // `NV_NVDLA_CSC_sg.v:2931`, lower_limit_w, `:2945`, upper_limit_w).
            (true, _) => ((kernels / 2, kernels), 2 * kernels),
            // A stripe of an image must begin with an entry of the buffer, which holds four times as many
            // elements as there are kernels (RTL, branch master, `NV_NVDLA_CSC.h`).
            (false, 4..) => ((kernels, 2 * kernels), 4 * kernels),
            (false, _) => ((kernels, 2 * kernels), 2 * kernels),
        };
        Hardware {
            atom: config.memory_atom,
            block_channels: config.mac_atomic_c,
            int8_kernels: kernels,
            formats: Formats::of_convolutions(config),
            banks: config.cbuf_banks,
            bank_entries: config.cbuf_entries_per_bank(),
            entry_bytes: config.cbuf_entry_bytes(),
            // RTL, `NV_NVDLA_CDMA_wt.v`, wt_req_overflow: branches nv_small and master add eight memory atoms over a MAC atom, in atoms.
            weights_beyond_banks: match full {
                true => 0,
                false => 8 * config.memory_atom / config.mac_atomic_c.max(1) * config.memory_atom,
            },
            surfaces_at_once: if full { 2 } else { 1 },
            stripe: StripeLength { shortest, longest, is_long_first: !full },
            // RTL, branch nvdlav1, `NV_NVDLA_CSC_sg.v:7243`, dat_max_cycles; elsewhere `CSC_MIN_STRIPE`.
            shortest_package: if full { 10 } else { shortest },
            // RTL, branch nvdlav1, `NV_NVDLA_CSC_sg.v:7252`, wt_cycles; `NV_NVDLA_CSC_wl.v:4017`, stripe_length.
            int8_kernels_loaded: if full { 2 } else { 1 },
            // Both of branch nvdlav1 alone, beside whose RTL they were put: `NV_NVDLA_CSC_sg.v`, wt_max_cycles; `NV_NVDLA_CDMA_dc.v`.
            loads_next_with_last: full,
            paces_wide_input: full,
            image_stripe,
            compression: config.weight_compression,
            winograd: config.winograd,
            batches: if config.batch { config.max_batch } else { 1 },
        }
    }
}

impl Hardware {
    /// Kernels that are multiplied at once.
    pub const fn group_kernels(&self, precision: Precision) -> u32 {
        self.int8_kernels / precision.bytes() as u32
    }

    /// Cycles in which the weights of so many kernels are loaded.
    pub const fn loading(&self, precision: Precision, kernels: u32) -> u32 {
        if precision.bytes() == 1 { kernels.div_ceil(self.int8_kernels_loaded) } else { kernels }
    }

    /// Elements of an atom.
    pub const fn lanes(&self, precision: Precision) -> u32 {
        self.atom / precision.bytes() as u32
    }

    /// Bytes of a bank.
    pub const fn bank_bytes(&self) -> u32 {
        self.bank_entries * self.entry_bytes
    }

    /// Bytes of weights that are asked for at most while none are given back, of so many banks.
    pub const fn weight_room(&self, banks: u32) -> u32 {
        banks * self.bank_bytes() + self.weights_beyond_banks
    }

    /// The format that a field names, if this hardware has it.
    pub fn precision(&self, group: &Group, field: FieldRef) -> Result<Precision, Refused> {
        self.formats.decode(group, field)
    }
}
