//! The lookup table of the element-wise stage: two tables over different ranges, interpolated, with slopes outside.
//!
//! Table LE (65 entries) is indexed linearly or by the logarithm, table LO (257 entries) linearly. Every input
//! is looked up in both; priorities choose the result. Used by [`super::compute`]; software fills the tables
//! through the registers' [`LutPort`](crate::nvdla::registers::LutPort). In fp16 the same registers hold codes:
//! see `float`.

mod float;

pub use crate::nvdla::lut::{Counters, LeIndex, Priorities, Slope, Tables};

use crate::nvdla::encode::{Encoded, Fields};
use crate::nvdla::lut::{self, Chosen, LO_INTERVALS, LutFields, RangePosition, linear, lut_fields};
use crate::nvdla::numeric::{round_shift, round_shift_either, saturate_32};
use crate::nvdla::registers::{
    FieldRef, Group, Table, Unit,
    sdp::{S_LUT_LE_END::*, S_LUT_LE_START::*, S_LUT_LO_END::*, S_LUT_LO_START::*},
};

/// Range of one table and what lies outside.
pub type Range = lut::Range<i32>;
/// The `S_LUT_*` registers but for the access port.
pub type Settings = lut::Settings<i32>;
/// The table as a function: settings and contents.
pub type Lut<'a> = lut::Lut<'a, i32>;

const FIELDS: LutFields = lut_fields!(Sdp, sdp);

const BOUNDS: [[FieldRef; 2]; 2] = [[LUT_LE_START, LUT_LE_END], [LUT_LO_START, LUT_LO_END]];

/// Reads the `S_LUT_*` registers of an SDP group. Every combination is legal.
pub fn decode(sdp: &Group) -> Settings {
    FIELDS.settings(sdp, BOUNDS.map(|range| range.map(|field| sdp.get_signed(field))))
}

/// The fields that say so.
pub fn fields(settings: &Settings) -> Fields {
    let Settings { le, lo, .. } = settings;
    let values = [le.start, le.end, lo.start, lo.end].map(i32::cast_unsigned);
    FIELDS.fields(settings, BOUNDS.into_iter().flatten().zip(values))
}

/// The writes that load a table: its contents, then its settings. They are not in groups: SDP must be idle.
pub fn load(settings: &Settings, tables: &Tables) -> Encoded {
    FIELDS.contents(tables).and(Encoded::of(Unit::Sdp, fields(settings)))
}

const FRACTION_BITS: u32 = 35;

impl Lut<'_> {
    /// Looks up one element, and counts it.
    pub fn lookup(&self, x: i32, counters: &mut Counters) -> i32 {
        let Settings { le, lo, .. } = self.settings;
        let le_place = distance(x, le.start)
            .map_or(RangePosition::Below, |distance| self.settings.le_index.place(distance, FRACTION_BITS));
        let lo_place = distance(x, lo.start).map_or(RangePosition::Below, |distance| {
            linear(distance, self.settings.lo_select, LO_INTERVALS, FRACTION_BITS)
        });
        let Chosen { table, place, range, entries } = self.chosen(le_place, lo_place, counters);
        match place {
            RangePosition::Inside { index, fraction } => {
                interpolate(entries[index], entries[index + 1], fraction)
            }
            RangePosition::Below => {
                let bias = match table {
                    Table::Le => self.le_underflow_bias(),
                    Table::Lo => 0,
                };
                extrapolate(entries[0], i64::from(x) - i64::from(range.start) - bias, range.underflow)
            }
            RangePosition::Above => {
                extrapolate(entries[entries.len() - 1], i64::from(x) - i64::from(range.end), range.overflow)
            }
        }
    }

    /// The table that answers. Counts where the input lies in it, and whether it is inside each, chosen or not.
    fn chosen(
        &self,
        le_place: RangePosition,
        lo_place: RangePosition,
        counters: &mut Counters,
    ) -> Chosen<'_, i32> {
        let chosen = self.choose(le_place, lo_place);
        counters.le_hit += u64::from(le_place.hits());
        counters.lo_hit += u64::from(lo_place.hits());
        *match chosen.place {
            RangePosition::Below => &mut counters.underflow,
            RangePosition::Inside { .. } => &mut counters.hybrid,
            RangePosition::Above => &mut counters.overflow,
        } += 1;
        chosen
    }

    /// Returns the distance above its start at which a logarithmic LE begins: 2^offset, as a 32-bit shifter gives it.
    fn le_underflow_bias(&self) -> i64 {
        match self.settings.le_index {
            LeIndex::Exponent { offset: offset @ 0..32 } => 1 << offset,
            LeIndex::Exponent { .. } | LeIndex::Linear { .. } => 0,
        }
    }
}

/// `x - start`, unless that underflows the table.
fn distance(x: i32, start: i32) -> Option<u64> {
    (x > start).then(|| u64::from(x.abs_diff(start)))
}

fn interpolate(here: i16, next: i16, fraction: u64) -> i32 {
    let fraction = fraction as i64;
    let sum = i64::from(here) * ((1 << FRACTION_BITS) - fraction) + i64::from(next) * fraction;
    saturate_32(round_shift(sum, FRACTION_BITS))
}

fn extrapolate(entry: i16, distance: i64, slope: Slope) -> i32 {
    let rise = saturate_32(round_shift_either(distance * i64::from(slope.scale), i32::from(slope.shift)));
    saturate_32(i64::from(entry) + i64::from(rise))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// LO: start -8192, 64 a step, entries i*i - 20000. LE: linear, start -32768, 1024 a step, entries 100 i.
    fn example() -> (Settings, Tables) {
        let mut tables = Tables::default();
        for index in 0i32..257 {
            tables.lo[index as usize] = (index * index - 20000) as i16;
        }
        tables.le = std::array::from_fn(|index| 100 * index as i16);
        let settings = Settings {
            le_index: LeIndex::Linear { select: 10 },
            lo_select: 6,
            le: Range {
                start: -32768,
                end: 32768,
                underflow: Slope { scale: 3, shift: 2 },
                overflow: Slope { scale: -5, shift: 3 },
            },
            lo: Range { start: -8192, end: 8192, ..Range::default() },
            priorities: Priorities { underflow: Table::Le, overflow: Table::Le, hybrid: Table::Lo },
        };
        (settings, tables)
    }

    fn look_up(settings: &Settings, tables: &Tables, x: i32) -> (i32, Counters) {
        let mut counters = Counters::default();
        (Lut { settings, tables }.lookup(x, &mut counters), counters)
    }

    #[test]
    fn answers_as_the_reference_does() {
        let (settings, tables) = example();
        for (x, answer) in [(100, -3213), (9000, 4079), (-40000, -5424), (40000, 1880)] {
            assert_eq!(look_up(&settings, &tables, x).0, answer, "x = {x}");
        }
    }

    #[test]
    fn counts_the_chosen_table_and_both_hits() {
        let (settings, tables) = example();
        let one = |x| look_up(&settings, &tables, x).1;
        assert_eq!(one(100), Counters { hybrid: 1, le_hit: 1, lo_hit: 1, ..Counters::default() });
        assert_eq!(one(9000), Counters { hybrid: 1, le_hit: 1, ..Counters::default() });
        assert_eq!(one(-40000), Counters { underflow: 1, ..Counters::default() });
        assert_eq!(one(40000), Counters { overflow: 1, ..Counters::default() });
    }

    #[test]
    fn the_start_itself_underflows_and_the_end_register_decides_nothing() {
        let (mut settings, tables) = example();
        settings.lo.end = -9000;
        let one = |x| look_up(&settings, &tables, x).1;
        assert_eq!(one(-32768).underflow, 1);
        assert_eq!(one(-32767).le_hit, 1);
        assert_eq!(one(8191).lo_hit, 1);
        assert_eq!(one(8192).lo_hit, 0);
    }

    #[test]
    fn the_logarithmic_table_takes_its_index_from_the_leading_one() {
        let (mut settings, tables) = example();
        settings.le_index = LeIndex::Exponent { offset: 3 };
        settings.le.start = 0;
        settings.priorities.hybrid = Table::Le;
        // 8 * (1 + 1/2): halfway between entries 0 and 1.
        assert_eq!(look_up(&settings, &tables, 12).0, 50);
        assert_eq!(look_up(&settings, &tables, 16).0, 100);
        // Below 8 the slope starts from 8: 0 + round(-1 * 3 / 4).
        settings.lo.start = 1000;
        assert_eq!(look_up(&settings, &tables, 7).0, -1);
    }

    #[test]
    fn every_shift_and_every_input_has_an_answer() {
        let (mut settings, tables) = example();
        for select in i8::MIN..=i8::MAX {
            for le_index in [LeIndex::Exponent { offset: select }, LeIndex::Linear { select }] {
                settings.le_index = le_index;
                settings.lo_select = select;
                settings.le.underflow = Slope { scale: i16::MIN, shift: select % 16 };
                for x in [i32::MIN, -40000, -32767, -8191, 0, 1, 40000, i32::MAX] {
                    look_up(&settings, &tables, x);
                }
            }
        }
    }

    /// Computes the answer of `look_up` by exact fractions, step by step as the arithmetic notes say it.
    fn obvious(settings: &Settings, tables: &Tables, x: i32) -> i128 {
        const ONE: i128 = 1 << 35;
        let clamp = |value: i128| value.clamp(i32::MIN.into(), i32::MAX.into());
        let divide = |value: i128, divisor: i128| {
            let (quotient, rest) = (value.abs() / divisor, value.abs() % divisor);
            value.signum() * (quotient + i128::from(2 * rest >= divisor))
        };
        let x = i128::from(x);
        // Positions in units of 1 / ONE entry; -1 below, i128::MAX above.
        let linear = |start: i32, select: i8, intervals: i128| match x - i128::from(start) {
            ..=0 => -1,
            over => {
                let position = if select >= 0 { (over * ONE) >> select } else { (over * ONE) << -select };
                if position >= intervals * ONE { i128::MAX } else { position }
            }
        };
        let le_position = match (settings.le_index, x - i128::from(settings.le.start)) {
            (_, ..=0) => -1,
            (LeIndex::Linear { select }, _) => linear(settings.le.start, select, 64),
            (LeIndex::Exponent { offset }, over) => {
                let exponent = (0..32).rev().find(|&exponent| over >> exponent == 1).unwrap();
                let position =
                    (exponent - i128::from(offset)) * ONE + (over - (1 << exponent)) * ONE / (1 << exponent);
                if position < 0 {
                    -1
                } else if position >= 64 * ONE {
                    i128::MAX
                } else {
                    position
                }
            }
        };
        let lo_position = linear(settings.lo.start, settings.lo_select, 256);
        let hits = |position: i128| (0..i128::MAX).contains(&position);
        let table = match (hits(le_position), hits(lo_position)) {
            (true, false) => Table::Le,
            (false, true) => Table::Lo,
            (false, false) if le_position == -1 && lo_position == -1 => settings.priorities.underflow,
            (false, false) if le_position == lo_position => settings.priorities.overflow,
            _ => settings.priorities.hybrid,
        };
        let (position, range, entries): (_, _, &[i16]) = match table {
            Table::Le => (le_position, settings.le, &tables.le),
            Table::Lo => (lo_position, settings.lo, &tables.lo),
        };
        if hits(position) {
            let (index, fraction) = ((position / ONE) as usize, position % ONE);
            let weighted =
                i128::from(entries[index]) * (ONE - fraction) + i128::from(entries[index + 1]) * fraction;
            return clamp(divide(weighted, ONE));
        }
        let (entry, bound, slope) = match position {
            -1 => (entries[0], range.start, range.underflow),
            _ => (entries[entries.len() - 1], range.end, range.overflow),
        };
        let mut distance = x - i128::from(bound);
        if let (Table::Le, -1, LeIndex::Exponent { offset: offset @ 0..=31 }) =
            (table, position, settings.le_index)
        {
            distance -= 1 << offset;
        }
        let rise = distance * i128::from(slope.scale);
        let rise = if slope.shift < 0 { rise << -slope.shift } else { divide(rise, 1 << slope.shift) };
        clamp(i128::from(entry) + clamp(rise))
    }

    fn table() -> impl Strategy<Value = Table> {
        prop_oneof![Just(Table::Le), Just(Table::Lo)]
    }

    fn range() -> impl Strategy<Value = Range> {
        let bound = || prop_oneof![-5000i32..5000, any::<i32>()];
        let slope = || (any::<i16>(), -16i8..16).prop_map(|(scale, shift)| Slope { scale, shift });
        (bound(), bound(), slope(), slope()).prop_map(|(start, end, underflow, overflow)| Range {
            start,
            end,
            underflow,
            overflow,
        })
    }

    fn settings() -> impl Strategy<Value = Settings> {
        let le_index = prop_oneof![
            (-20i8..40).prop_map(|offset| LeIndex::Exponent { offset }),
            (-12i8..50).prop_map(|select| LeIndex::Linear { select }),
        ];
        let lo_select = prop_oneof![0i8..26, -12i8..50];
        (le_index, lo_select, range(), range(), table(), table(), table()).prop_map(
            |(le_index, lo_select, le, lo, underflow, overflow, hybrid)| Settings {
                le_index,
                lo_select,
                le,
                lo,
                priorities: Priorities { underflow, overflow, hybrid },
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn every_answer_is_what_the_arithmetic_notes_say(
            settings in settings(),
            seed: u64,
            xs in proptest::collection::vec(prop_oneof![-6000i32..6000, any::<i32>()], 20),
        ) {
            use rand::{Rng, SeedableRng};
            let mut random = rand::rngs::SmallRng::seed_from_u64(seed);
            let tables = Tables {
                le: std::array::from_fn(|_| random.random()),
                lo: std::array::from_fn(|_| random.random()),
            };
            let near_starts = (0..4).flat_map(|near| [settings.le.start, settings.lo.start].map(|it| it.wrapping_add(near)));
            for x in xs.into_iter().chain(near_starts) {
                let (answer, counters) = look_up(&settings, &tables, x);
                prop_assert_eq!(i128::from(answer), obvious(&settings, &tables, x), "x = {}", x);
                prop_assert_eq!(counters.underflow + counters.overflow + counters.hybrid, 1);
            }
        }
    }
}
