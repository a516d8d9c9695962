//! The devices and controllers whose commands are judged.

use super::standards::GRADES;

/// Kinds of controllers: keys of `dbb0.dram`. `ranks=2` and `refresh=bank` are left out where a standard has neither.
const CONTROLLERS: [&[&str]; 6] = [
    &["ranks=2", "refresh=all", "page=open"],
    &["ranks=2", "refresh=bank", "page=closed", "merge=false"],
    &["refresh=all", "page=timer", "page_timer=60", "power_down=40", "self_refresh=15_000"],
    &["ranks=2", "refresh=bank", "page=open", "power_down=200", "self_refresh=40_000", "scheduler=fcfs"],
    &["refresh=false", "page=closed", "overtake=2", "age_limit=500", "power_down=60"],
    &["ranks=2", "refresh=all", "page=closed", "power_down=30", "self_refresh=9_000", "read_queue=8"],
];

/// Returns the settings of a standard's devices and controllers.
pub fn of(standard: &str) -> Vec<Vec<String>> {
    let (_, grades) = GRADES.iter().find(|(name, _)| *name == standard).expect("a standard");
    let has_ranks = matches!(standard, "DDR4" | "DDR5" | "LPDDR4" | "LPDDR5");
    let has_pseudo_channels = matches!(standard, "HBM2" | "HBM3");
    let setting = |setting: &&str| match *setting {
        // Pseudo channels rest together, which the model refuses.
        rest if has_pseudo_channels
            && (rest.starts_with("power_down") || rest.starts_with("self_refresh")) =>
        {
            None
        }
        "ranks=2" if !has_ranks => None,
        "refresh=bank" if standard == "DDR4" => Some("refresh=all".to_owned()),
        other => Some(other.to_owned()),
    };
    let of_grade = |grade: &&str| {
        let grade = format!("standard={grade}");
        let of_controller = move |settings: &&[&str]| {
            std::iter::once(grade.clone()).chain(settings.iter().filter_map(setting)).collect()
        };
        CONTROLLERS.iter().map(of_controller).collect::<Vec<_>>()
    };
    grades.iter().flat_map(of_grade).collect()
}
