//! Limit of this machine's memory that the RAM of platforms may take.

use super::text;
use vp_models::memory::MemoryBudget;
pub(super) use vp_models::memory::usual_limit as usual;
pub(super) use vp_models::units::parse_size as bytes;

/// The option that says it.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct MemoryArgs {
    /// Limit of this machine's memory that the RAM of all platforms together may take, such as 2G; a write that needs more is refused
    /// [default: half of the memory that this process may use]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Platform")]
    memory_limit: Option<u64>,
}

impl MemoryArgs {
    /// Returns the limit, in bytes.
    pub(super) fn limit(&self) -> u64 {
        self.memory_limit.unwrap_or_else(usual)
    }

    /// Budget of one platform.
    pub(super) fn budget(&self) -> MemoryBudget {
        MemoryBudget::new(self.limit())
    }

    pub(super) fn is_given(&self) -> bool {
        self.memory_limit.is_some()
    }
}

/// The size of a platform's memory as people write it.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let size = bytes(text).map_err(|error| error.to_string())?;
    match size < LEAST {
        true => Err(format!("a platform needs {} at least", text::size(LEAST))),
        false => Ok(size),
    }
}

/// Memory that a platform takes from a server when it begins, in bytes.
const LEAST: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let sizes = ["1048576", "2M", "2 MiB", "3g", "1_048_576 bytes", "1T"].map(size);
        let expected = [1 << 20, 2 << 20, 2 << 20, 3 << 30, 1 << 20, 1 << 40].map(Ok);
        assert_eq!(sizes, expected);
        for wrong in ["", "G", "2 GB", "1.5G", "99999999999999999999", "17179869184T", "-1"] {
            assert!(size(wrong).unwrap_err().contains("such as 2G"), "{wrong}");
        }
        assert_eq!(size("4K").unwrap_err(), "a platform needs 1 MiB at least");
    }

    #[test]
    fn the_usual_limit_has_room_for_a_platform() {
        assert!(usual() >= LEAST);
    }
}
