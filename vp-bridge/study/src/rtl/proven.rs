//! Evidence that the models were held to: how many runs of the RTL, and how many goldens, each mode of a configuration has.
//!
//! The table beside this file is made from the tests' own tables (`make-proven` of the tests), and a test holds it to them.

use super::modes::Mode;
use std::collections::BTreeMap;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::rtl_tree::RtlTree;
use vp_models::platform::Description;

/// A configuration as an RTL tree builds it: what platform models it, and the tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hardware {
    /// The built-in platform.
    pub platform: String,
    /// The branch of the vendor's RTL.
    pub branch: String,
}

impl Hardware {
    /// Returns the hardware that a platform models.
    #[must_use]
    pub fn new(platform: &str, tree: RtlTree) -> Hardware {
        let branch = match tree {
            RtlTree::NvSmall => "nv_small",
            RtlTree::Nvdlav1 => "nvdlav1",
            RtlTree::Master => "master",
        };
        Hardware { platform: platform.to_owned(), branch: branch.to_owned() }
    }
}

/// Evidence that a mode was held to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The vendor's traces, and layers that its C-model ran, whose golden memory the model leaves.
    pub goldens: usize,
    /// Runs of the RTL whose cycles were measured: a trace under a memory.
    pub rows: usize,
    /// Number of runs for which the model takes the same cycles.
    pub exact: usize,
    /// The largest difference, in parts per million of the RTL's cycles.
    pub largest: u64,
}

impl Evidence {
    /// Counts a run of the RTL and the model's.
    pub fn count(&mut self, model: u64, rtl: u64) {
        self.rows += 1;
        self.exact += usize::from(model == rtl);
        self.largest = self.largest.max(super::distribution::error_ppm(model, rtl));
    }
}

/// Evidence that all modes of all configurations were held to. There is an entry only where there is something.
pub type Map = BTreeMap<(Hardware, Mode), Evidence>;

const KEPT: &str = include_str!("proven.csv");
const HEADER: &str = "platform,branch,mode,goldens,rows,exact,largest_ppm";

/// The map as it is kept.
///
/// # Panics
/// When the file that is built in is not as [`text`] writes it, which a test sees.
#[must_use]
pub fn kept() -> Map {
    let entry = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let [platform, branch, mode, goldens, rows, exact, largest] = cells[..] else { return None };
        let hardware = Hardware { platform: platform.to_owned(), branch: branch.to_owned() };
        let evidence = Evidence {
            goldens: goldens.parse().ok()?,
            rows: rows.parse().ok()?,
            exact: exact.parse().ok()?,
            largest: largest.parse().ok()?,
        };
        Some(((hardware, Mode::named(mode)?), evidence))
    };
    let lines = KEPT.lines().skip(1);
    lines.map(|line| entry(line).unwrap_or_else(|| panic!("proven.csv: {line}"))).collect()
}

/// The map as the file has it.
#[must_use]
pub fn text(map: &Map) -> String {
    let mut text = format!("{HEADER}\n");
    for ((Hardware { platform, branch }, mode), it) in map {
        let Evidence { goldens, rows, exact, largest } = it;
        text += &format!("{platform},{branch},{mode},{goldens},{rows},{exact},{largest}\n");
    }
    text
}

/// Returns what each mode of a platform was held to; none for a platform that is not an NVDLA.
#[must_use]
pub fn of(description: &Description) -> Option<Vec<(Mode, Evidence)>> {
    let nvdla = description.nvdla()?;
    let hardware = Hardware::new(&nvdla.config.name, nvdla.rtl);
    // A user's own configuration was held to nothing, whatever its name.
    let is_known = Config::named(&nvdla.config.name).is_ok_and(|config| config == nvdla.config);
    let map = if is_known { kept() } else { Map::new() };
    let modes = Mode::ALL.into_iter().filter(|mode| mode.is_in(&nvdla.config));
    Some(modes.map(|mode| (mode, map.get(&(hardware.clone(), mode)).copied().unwrap_or_default())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_and_written_alike() {
        let map = kept();
        assert_eq!(text(&map), KEPT);
        assert!(!map.is_empty());
    }

    #[test]
    fn a_platform_has_its_modes_and_no_others() {
        let of_platform = |name: &str| of(&Description::named(name).unwrap()).unwrap();
        let small = of_platform("nv_small");
        assert!(small.iter().all(|(mode, _)| *mode != Mode::Winograd && *mode != Mode::Int16));
        let features = small.iter().find(|(mode, _)| *mode == Mode::Features).unwrap().1;
        assert!(features.rows > 0 && features.exact <= features.rows && features.goldens > 0);
        let mut own = Description::named("nv_small").unwrap();
        own.nvdla_mut().unwrap().config.mac_atomic_c = 16;
        assert!(of(&own).unwrap().iter().all(|(_, evidence)| *evidence == Evidence::default()));
        let full = of_platform("nv_full");
        assert!(full.iter().any(|(mode, evidence)| *mode == Mode::Winograd && evidence.rows == 0));
    }
}
