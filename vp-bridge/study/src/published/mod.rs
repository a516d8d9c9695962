//! NVIDIA's estimates of AlexNet, GoogLeNet and ResNet-50, and how far ours are from them, layer by layer.
//!
//! The figures are facts of the performance workbook in the public nvdla/hw repository
//! (`perf/NVDLA_OpenSource_Performance.xlsx`): int8, 2048 MACs, 512 KiB of buffer, 1 GHz, 10 GB/s that reads
//! and writes share, fully connected layers sixteen frames at a time; pooling, scaling and sums cost nothing, and start-up,
//! latency and software are left out. Once without SRAM ([`Case::Dram`]), and once with 4 MiB of it, 25 GB/s for reads and as much for
//! writes ([`Case::Sram`]). `docs/published.md` explains the differences.

mod cause;
mod compared;
mod figure;

use vp_models::bus::axi::Latency;
use vp_models::platform::Description;

pub use cause::Cause;
pub use compared::{Compared, WinogradUse, compare, could_use_winograd};
pub use figure::{Figure, figures, frame};

/// The networks that there are figures of.
pub const NETWORKS: [&str; 3] = ["alexnet", "googlenet", "resnet50"];

/// The platform that the figures are of, if nothing else is asked for.
pub const PLATFORM: &str = "nv_large";

/// Returns the number of frames that share what fully connected layers read: the workbook counts so for AlexNet alone.
#[must_use]
pub fn batch(network: &str) -> u32 {
    if network == "alexnet" { 16 } else { 1 }
}

/// Bytes a second over DBBIF.
const RATE: u64 = 10_000_000_000;

/// Bytes of SRAM, and bytes a second over SRAMIF, of reads and as many of writes.
const SRAM: (u64, u64) = (4 << 20, 25_000_000_000);

/// One of the workbook's two cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// All lies in DRAM.
    Dram,
    /// An SRAM beside the DRAM.
    Sram,
}

impl Case {
    /// Both cases.
    pub const ALL: [Case; 2] = [Case::Dram, Case::Sram];
}

/// Gives a platform the memories that the figures count on, unless it says something else.
pub fn assume(description: &mut Description) {
    let (bytes, rate) = SRAM;
    for (memory, rate, duplex) in [(&mut description.dbb0, RATE, false), (&mut description.sram0, rate, true)]
    {
        if !memory.model.has_own_time() {
            memory.duplex |= duplex && memory.bandwidth.is_none();
            memory.bandwidth.get_or_insert(rate);
            // Latency is left out.
            memory.read_latency.get_or_insert(Latency::Fixed(1));
        }
    }
    let own = Description::named(PLATFORM).map(|platform| platform.sram0.size);
    if own == Ok(description.sram0.size) {
        description.sram0.size = bytes;
    }
}
