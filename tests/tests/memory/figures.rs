//! The checker's figures, in the clocks that data sheets and published descriptions give for them: from the first clock of a command to
//! the first clock of another.

use Place::{Group, Other, Same};
use vp_models::memory::dram::CommandKind::{self, *};
use vp_tests::dram_legality::rules::Scope;
use vp_tests::dram_legality::standards::sheet;

/// Place of a command beside another's: the bank, one of its group, or one of another group.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Same,
    Group,
    Other,
}

/// A pair of commands, with the clocks between them in each grade.
type Pair<const N: usize> = (CommandKind, CommandKind, Place, [i64; N]);

fn apart(grade: &str, bank_by_bank: bool, earlier: CommandKind, later: CommandKind, place: Place) -> i64 {
    let sheet = sheet(grade, bank_by_bank).unwrap();
    let holds = |scope: Scope| match scope {
        Scope::Bank => place == Same,
        Scope::OtherBank => place != Same,
        Scope::Group => place != Other,
        Scope::Rank => true,
    };
    let rules = sheet.rules.between(earlier, later).iter().filter(|rule| holds(rule.scope));
    rules.map(|rule| rule.clocks).max().unwrap()
}

fn are_apart<const N: usize>(grades: [&str; N], pairs: &[Pair<N>]) {
    for &(earlier, later, place, clocks) in pairs {
        let found = grades.map(|grade| apart(grade, false, earlier, later, place));
        assert_eq!(found, clocks, "{earlier:?} to {later:?}, {place:?}, of {grades:?}");
    }
}

// Speed bins and "Timing parameters by speed bin"; tXP to tXSDLL as shipped controllers have them.
#[test]
fn ddr4_has_the_clocks_of_its_speed_bins() {
    are_apart(
        ["DDR4-1600K", "DDR4-2400R", "DDR4-3200AA"],
        &[
            (Activate, Read, Same, [11, 16, 22]),
            (Precharge, Activate, Same, [11, 16, 22]),
            (PrechargeAll, Refresh, Same, [11, 16, 22]),
            (Activate, Precharge, Same, [28, 39, 52]),
            (Activate, Activate, Same, [39, 55, 74]),
            (Activate, Activate, Other, [4, 4, 4]),
            (Activate, Activate, Group, [5, 6, 8]),
            (Read, Read, Other, [4, 4, 4]),
            (Read, Read, Group, [5, 6, 8]),
            (Write, Write, Same, [5, 6, 8]),
            (Read, Write, Other, [8, 10, 12]),
            (Write, Read, Other, [9 + 4 + 2, 12 + 4 + 3, 16 + 4 + 4]),
            (Write, Read, Group, [9 + 4 + 6, 12 + 4 + 9, 16 + 4 + 12]),
            (Read, Precharge, Same, [6, 9, 12]),
            (Write, Precharge, Same, [9 + 4 + 12, 12 + 4 + 18, 16 + 4 + 24]),
            (ReadPrecharge, Activate, Same, [17, 25, 34]),
            (Refresh, Activate, Same, [280, 421, 560]),
            (PowerDownExit, Activate, Same, [5, 8, 10]),
            (PowerDownEntry, PowerDownExit, Same, [4, 6, 8]),
            (SelfRefreshEntry, SelfRefreshExit, Same, [5, 7, 9]),
            (SelfRefreshExit, Activate, Same, [288, 433, 576]),
            (SelfRefreshExit, Read, Same, [597, 768, 1024]),
        ],
    );
    let windows =
        ["DDR4-1600K", "DDR4-2400R", "DDR4-3200AA"].map(|it| sheet(it, false).unwrap().four_activates);
    assert_eq!(windows, [20, 26, 34]);
}

// "Timing parameters by speed grade"; a command of two clocks counts from its second.
#[test]
fn ddr5_has_the_clocks_of_its_speed_bins() {
    are_apart(
        ["DDR5-4800B", "DDR5-5600B", "DDR5-6400B"],
        &[
            (Activate, Read, Same, [39, 45, 52]),
            (Precharge, Activate, Same, [39 - 1, 45 - 1, 52 - 1]),
            (PrechargeAll, Refresh, Same, [39, 45, 52]),
            (Activate, Precharge, Same, [77 + 1, 90 + 1, 103 + 1]),
            (Activate, Activate, Same, [116, 135, 155]),
            (Activate, Activate, Other, [8, 8, 8]),
            (Activate, Activate, Group, [12, 14, 16]),
            (Read, Read, Other, [8, 8, 8]),
            (Read, Read, Group, [12, 14, 16]),
            (Write, Write, Other, [8, 8, 8]),
            (Write, Write, Group, [24, 28, 32]),
            (Read, Write, Same, [14, 14, 14]),
            (Write, Read, Other, [52, 59, 66]),
            (Write, Read, Group, [70, 80, 90]),
            (Write, ReadPrecharge, Same, [100, 115, 130]),
            (Read, Precharge, Same, [18 + 1, 21 + 1, 24 + 1]),
            (Write, Precharge, Same, [38 + 8 + 72 + 1, 44 + 8 + 84 + 1, 50 + 8 + 96 + 1]),
            (Precharge, PrechargeAll, Other, [2, 2, 2]),
            (Refresh, Activate, Same, [708 - 1, 824 - 1, 943 - 1]),
            (RefreshBank, Activate, Same, [312 - 1, 364 - 1, 416 - 1]),
            (RefreshBank, RefreshBank, Other, [312, 364, 416]),
            (RefreshBank, Activate, Other, [72 - 1, 84 - 1, 96 - 1]),
            (PowerDownExit, Activate, Same, [18, 21, 24]),
            (PowerDownEntry, PowerDownExit, Same, [18, 21, 24]),
            (SelfRefreshEntry, SelfRefreshExit, Same, [24, 28, 32]),
            (SelfRefreshExit, Refresh, Same, [708, 824, 943]),
            (SelfRefreshExit, Read, Same, [1536 - 1, 1792 - 1, 2048 - 1]),
        ],
    );
    // In the mode of fine granularity.
    assert_eq!(apart("DDR5-4800B", true, SelfRefreshExit, Refresh, Same), 384);
}

// "Core timing". The offsets are those of the checker of DRAMSys, from first clock to first clock.
#[test]
fn lpddr4_counts_from_the_last_of_four_clocks() {
    are_apart(
        ["LPDDR4-1600", "LPDDR4-3200", "LPDDR4-4266"],
        &[
            (Activate, Read, Same, [15, 29, 39]),
            (Activate, Precharge, Same, [34 + 2, 68 + 2, 90 + 2]),
            (Activate, Activate, Same, [49, 97, 129]),
            (Activate, RefreshBank, Same, [49 + 2, 97 + 2, 129 + 2]),
            (Activate, RefreshBank, Other, [8 + 2, 16 + 2, 16 + 2]),
            (Precharge, Activate, Same, [15 - 2, 29 - 2, 39 - 2]),
            (PrechargeAll, Activate, Same, [17 - 2, 34 - 2, 45 - 2]),
            (PrechargeAll, Refresh, Same, [17, 34, 45]),
            (Precharge, Precharge, Other, [4, 4, 4]),
            (Read, Read, Other, [8, 8, 8]),
            (Read, Precharge, Same, [8 + 2, 12 + 2, 16 + 2]),
            (Write, Precharge, Same, [8 + 1 + 8 + 15 + 2, 14 + 1 + 8 + 29 + 2, 18 + 1 + 8 + 39 + 2]),
            (ReadPrecharge, Activate, Same, [8 + 15, 12 + 29, 16 + 39]),
            (Write, Read, Other, [8 + 1 + 8 + 8, 14 + 1 + 8 + 16, 18 + 1 + 8 + 22]),
            (Read, Write, Other, [14 + 3 + 8 - 8 + 2, 28 + 6 + 8 - 14 + 2, 36 + 8 + 8 - 18 + 2]),
            (Refresh, Activate, Same, [224 - 2, 448 - 2, 598 - 2]),
            (Refresh, Refresh, Same, [224, 448, 598]),
            (RefreshBank, Activate, Same, [112 - 2, 224 - 2, 299 - 2]),
            (RefreshBank, RefreshBank, Other, [72, 144, 192]),
            (RefreshBank, Activate, Other, [8 - 2, 16 - 2, 16 - 2]),
            (Precharge, PowerDownEntry, Same, [1 + 3, 1 + 3, 1 + 4]),
            (Activate, PowerDownEntry, Same, [3 + 3, 3 + 3, 3 + 4]),
            (PowerDownExit, Activate, Same, [6, 12, 16]),
            (PowerDownEntry, PowerDownExit, Same, [6, 12, 16]),
            (SelfRefreshEntry, SelfRefreshExit, Same, [12, 24, 32]),
            (SelfRefreshExit, Activate, Same, [230 - 2, 460 - 2, 614 - 2]),
        ],
    );
}

// "Core timing", tables of effective latencies; an ACT counts from whichever of its two clocks asks for less.
#[test]
fn lpddr5_has_the_clocks_of_its_modes() {
    are_apart(
        ["LPDDR5-6400", "LPDDR5-6400-8B", "LPDDR5-3200-16B", "LPDDR5X-8533"],
        &[
            (Activate, Read, Same, [15, 15, 8, 20]),
            (Activate, Precharge, Same, [34, 34, 17, 45]),
            (Activate, Activate, Same, [49, 49, 25, 65]),
            (Activate, Activate, Other, [4, 8, 2, 4]),
            (Precharge, Activate, Same, [15 - 1, 15 - 1, 8 - 1, 20 - 1]),
            (PrechargeAll, Refresh, Same, [17, 17, 9, 23]),
            (Precharge, Precharge, Other, [2, 2, 2, 2]),
            (Read, Read, Other, [2, 4, 2, 2]),
            (Read, Read, Group, [4, 4, 2, 4]),
            (Write, Read, Other, [16, 9 + 4 + 10, 5 + 2 + 5, 21]),
            (Write, Read, Group, [23, 9 + 4 + 10, 5 + 2 + 5, 29]),
            (Read, Write, Other, [12, 14, 9 + 2 + 1 - 5, 25 + 2 + 2 - 12]),
            (Read, Write, Group, [14, 14, 9 + 2 + 1 - 5, 25 + 4 + 2 - 12]),
            (Read, Precharge, Same, [6, 8, 3, 8]),
            (Write, Precharge, Same, [40, 42, 5 + 2 + 1 + 14, 52]),
            (Refresh, Refresh, Same, [224, 224, 112, 299]),
            (RefreshBank, RefreshBank, Same, [112, 112, 56, 150]),
            (RefreshBank, RefreshBank, Other, [72, 72, 36, 96]),
            (RefreshBank, Activate, Other, [6 - 1, 6 - 1, 3 - 1, 8 - 1]),
            (PowerDownExit, Refresh, Same, [6, 6, 3, 8]),
            (PowerDownEntry, PowerDownExit, Same, [9, 9, 5, 12]),
            (SelfRefreshEntry, SelfRefreshExit, Same, [12, 12, 6, 16]),
            (SelfRefreshExit, Refresh, Same, [230, 230, 115, 307]),
        ],
    );
    let window = |grade: &str| sheet(grade, false).unwrap().four_activates;
    let modes = ["LPDDR5-6400", "LPDDR5-6400-8B", "LPDDR5-3200-16B", "LPDDR5X-8533"];
    assert_eq!(modes.map(window), [16, 32, 8, 16]);
}

// The offsets are those of the checker of DRAMSys, from first clock to first clock.
#[test]
fn hbm2_counts_from_the_second_clock_of_an_act() {
    are_apart(
        ["HBM2E-3200"],
        &[
            (Activate, Read, Same, [23 + 1]),
            (Activate, Write, Same, [16 + 1]),
            (Activate, Precharge, Same, [53 + 1]),
            (Activate, Activate, Same, [76]),
            (Activate, Refresh, Same, [76 + 1]),
            (Activate, Activate, Other, [7]),
            (Activate, Activate, Group, [10]),
            (Activate, RefreshBank, Other, [7 + 1]),
            (Precharge, Activate, Same, [23 - 1]),
            (Read, Read, Other, [2]),
            (Read, Read, Group, [5]),
            (Read, Write, Other, [27]),
            (Write, Read, Other, [22]),
            (Write, Read, Group, [30]),
            (Read, Precharge, Same, [8]),
            (Write, Precharge, Same, [13 + 2 + 26]),
            (Refresh, Activate, Same, [560 - 1]),
            (RefreshBank, Activate, Same, [256 - 1]),
            (RefreshBank, Activate, Other, [13 - 1]),
            (RefreshBank, RefreshBank, Other, [13]),
            (PowerDownExit, Activate, Same, [12 - 1]),
            (SelfRefreshExit, Refresh, Same, [576]),
        ],
    );
}

#[test]
fn hbm3_has_the_clocks_of_its_published_description() {
    are_apart(
        ["HBM3-6400"],
        &[
            (Activate, Read, Same, [31 + 1]),
            (Activate, Write, Same, [15 + 1]),
            (Precharge, Activate, Same, [26 - 1]),
            (Activate, Precharge, Same, [45 + 1]),
            (Activate, Activate, Same, [71]),
            (Activate, Activate, Other, [4]),
            (Activate, Activate, Group, [5]),
            (Read, Read, Other, [2]),
            (Read, Read, Group, [4]),
            (Read, Write, Other, [17]),
            (Write, Read, Other, [10 + 2 + 7]),
            (Write, Read, Group, [10 + 2 + 10]),
            (Refresh, Activate, Same, [416 - 1]),
            (RefreshBank, Activate, Same, [320 - 1]),
            (RefreshBank, RefreshBank, Other, [13]),
            (SelfRefreshExit, Refresh, Same, [432]),
        ],
    );
}

// The data sheet's clocks at 14 Gb/s.
#[test]
fn gddr6_has_the_clocks_of_its_data_sheet() {
    are_apart(
        ["GDDR6-14000", "GDDR6-16000"],
        &[
            (Activate, Read, Same, [27, 30]),
            (Activate, Write, Same, [16, 18]),
            (Precharge, Activate, Same, [27, 30]),
            (Activate, Precharge, Same, [53, 60]),
            (Activate, Activate, Same, [79, 90]),
            (Activate, Activate, Other, [8, 9]),
            (Read, Read, Other, [2, 2]),
            (Read, Read, Group, [4, 4]),
            (Read, Write, Other, [22, 22]),
            (Write, Read, Other, [6 + 2 + 10, 6 + 2 + 11]),
            (Write, Read, Group, [6 + 2 + 12, 6 + 2 + 14]),
            (Read, Precharge, Same, [4, 4]),
            (Write, Precharge, Same, [6 + 2 + 27, 6 + 2 + 30]),
            (Refresh, Activate, Same, [210, 240]),
            (RefreshBank, Activate, Same, [105, 120]),
            (RefreshBank, Activate, Other, [15, 17]),
        ],
    );
    assert_eq!(["GDDR6-14000", "GDDR6-16000"].map(|it| sheet(it, false).unwrap().four_activates), [29, 33]);
}
