//! CDP's lookup table: a window's square sum in, its normalising factor out.
//!
//! As SDP's (see [`crate::nvdla::lut`]), with inputs of 38 bits, fractions of 16 bits, answers of 16 bits, and a form
//! of interpolation of its own. Used by [`super::compute`]; software fills the tables through the registers' access
//! port.

mod float;

pub use crate::nvdla::lut::{Counters, LeIndex, Priorities, Slope, Tables};

use crate::nvdla::encode::{Encoded, Fields};
use crate::nvdla::lut::{self, Chosen, LO_INTERVALS, LutFields, RangePosition, linear, lut_fields};
use crate::nvdla::numeric::{Precision, round_shift, round_shift_either, saturate, wrap};
use crate::nvdla::registers::{
    FieldRef, Group, Table, Unit,
    cdp::{
        S_LUT_LE_END_HIGH::*, S_LUT_LE_END_LOW::*, S_LUT_LE_START_HIGH::*, S_LUT_LE_START_LOW::*,
        S_LUT_LO_END_HIGH::*, S_LUT_LO_END_LOW::*, S_LUT_LO_START_HIGH::*, S_LUT_LO_START_LOW::*,
    },
};

const FRACTION_BITS: u32 = 16;

/// Range of one table and what lies outside; bounds have 38 bits, signed.
pub type Range = lut::Range<i64>;
/// The `S_LUT_*` registers but for the access port.
pub type Settings = lut::Settings<i64>;
/// The table as a function: settings and contents.
pub type Lut<'a> = lut::Lut<'a, i64>;

const FIELDS: LutFields = lut_fields!(Cdp, cdp);

/// Low and high words.
const BOUNDS: [[[FieldRef; 2]; 2]; 2] = [
    [[LUT_LE_START_LOW, LUT_LE_START_HIGH], [LUT_LE_END_LOW, LUT_LE_END_HIGH]],
    [[LUT_LO_START_LOW, LUT_LO_START_HIGH], [LUT_LO_END_LOW, LUT_LO_END_HIGH]],
];

/// Reads the `S_LUT_*` registers of a CDP group. Every combination is legal.
pub fn decode(cdp: &Group) -> Settings {
    let bound = |[low, high]: [FieldRef; 2]| i64::from(cdp.get_signed(high)) << 32 | i64::from(cdp.get(low));
    FIELDS.settings(cdp, BOUNDS.map(|range| range.map(bound)))
}

/// The fields that say so.
pub fn fields(settings: &Settings) -> Fields {
    let Settings { le, lo, .. } = settings;
    let words = |bound: i64| [bound as u32, (bound >> 32) as u32];
    let values = [le.start, le.end, lo.start, lo.end].map(words);
    FIELDS.fields(settings, BOUNDS.into_iter().flatten().flatten().zip(values.into_iter().flatten()))
}

/// The writes that load a table: its contents, then its settings. They are not in groups: CDP must be idle.
pub fn load(settings: &Settings, tables: &Tables) -> Encoded {
    FIELDS.contents(tables).and(Encoded::of(Unit::Cdp, fields(settings)))
}

/// Numbers of register bits that reach the units that find an input's place in the tables. The units for the
/// slopes get all bits. RTL: `NV_NVDLA_CDP_DP_LUT_CTRL_unit.v`, the same in all trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexBits {
    /// The low bits of a start, signed (`reg2dp_X_offset[21:0]`, `[37:0]`).
    start: u32,
    /// The low bits of an index shift, signed (`shift_bits[5:0]`, `[6:0]`).
    select: u32,
}

impl IndexBits {
    /// With elements of 8 bits.
    pub const INT8: IndexBits = IndexBits { start: 22, select: 6 };
    /// With elements of 16 bits.
    pub const INT16: IndexBits = IndexBits { start: 38, select: 7 };

    /// With integers of that precision.
    pub fn of(precision: Precision) -> IndexBits {
        if precision == Precision::Int8 { IndexBits::INT8 } else { IndexBits::INT16 }
    }

    fn start(self, register: i64) -> i64 {
        wrap(register, self.start)
    }

    fn le_index(self, index: LeIndex) -> LeIndex {
        match index {
            LeIndex::Linear { select } => LeIndex::Linear { select: wrap(select.into(), self.select) as i8 },
            LeIndex::Exponent { .. } => index,
        }
    }

    /// The most negative one has no positive counterpart in as many bits, and does not shift (`Y_shift_bits_int8_abs[4:0]`).
    fn lo_select(self, register: i8) -> i8 {
        let select = wrap(register.into(), self.select);
        if select == -(1 << (self.select - 1)) { 0 } else { select as i8 }
    }
}

impl Settings {
    /// The first register of a start of which the index sees another value, with both values.
    pub(super) fn start_beyond_index(&self, precision: Precision) -> Option<(FieldRef, [i64; 2])> {
        let starts = [(LUT_LE_START_LOW, self.le.start), (LUT_LO_START_LOW, self.lo.start)];
        let seen = starts.map(|(field, start)| (field, [start, IndexBits::of(precision).start(start)]));
        seen.into_iter().find(|(_, [start, seen])| precision != Precision::Fp16 && start != seen)
    }
}

impl Lut<'_> {
    /// Looks up one input of at most 38 bits, and counts it.
    pub fn lookup(&self, x: i64, bits: IndexBits, counters: &mut Counters) -> i16 {
        let Settings { le_index, lo_select, le, lo, .. } = self.settings;
        let le_place = distance(x, bits.start(le.start))
            .map_or(RangePosition::Below, |distance| bits.le_index(*le_index).place(distance, FRACTION_BITS));
        let lo_place = distance(x, bits.start(lo.start)).map_or(RangePosition::Below, |distance| {
            linear(distance, bits.lo_select(*lo_select), LO_INTERVALS, FRACTION_BITS)
        });
        let Chosen { table, place, range, entries } = self.chosen(le_place, lo_place, counters);
        match place {
            RangePosition::Inside { index, fraction } => {
                interpolate(entries[index], entries[index + 1], fraction)
            }
            RangePosition::Below => {
                let bias = if table == Table::Le { le_underflow_bias(*le_index) } else { 0 };
                extrapolate(entries[0], x - wrap(range.start + bias, 39), range.underflow)
            }
            RangePosition::Above => extrapolate(entries[entries.len() - 1], x - range.end, range.overflow),
        }
    }

    /// The table that answers. Counts the input once, by how it lies in both.
    fn chosen(
        &self,
        le_place: RangePosition,
        lo_place: RangePosition,
        counters: &mut Counters,
    ) -> Chosen<'_, i64> {
        *match (le_place, lo_place) {
            (RangePosition::Below, RangePosition::Below) => &mut counters.underflow,
            (RangePosition::Above, RangePosition::Above) => &mut counters.overflow,
            (RangePosition::Inside { .. }, RangePosition::Below | RangePosition::Above) => {
                &mut counters.le_hit
            }
            (RangePosition::Below | RangePosition::Above, RangePosition::Inside { .. }) => {
                &mut counters.lo_hit
            }
            _ => &mut counters.hybrid,
        } += 1;
        self.choose(le_place, lo_place)
    }
}

/// Returns the distance above its start at which a logarithmic LE begins: 2^offset, of which the sum with the start has 39 bits (RTL,
/// `NV_NVDLA_CDP_DP_intp.v`, `lut_le_min_int`).
fn le_underflow_bias(index: LeIndex) -> i64 {
    match index {
        LeIndex::Exponent { offset: offset @ 0..39 } => 1 << offset,
        LeIndex::Exponent { .. } | LeIndex::Linear { .. } => 0,
    }
}

/// `x - start`, unless that underflows the table.
fn distance(x: i64, start: i64) -> Option<u64> {
    (x > start).then(|| x.abs_diff(start))
}

fn interpolate(here: i16, next: i16, fraction: u64) -> i16 {
    let rise = (i64::from(next) - i64::from(here)) * fraction as i64;
    saturate(i64::from(here) + round_shift(rise, FRACTION_BITS), 16) as i16
}

fn extrapolate(entry: i16, distance: i64, slope: Slope) -> i16 {
    let rise = round_shift_either(distance * i64::from(slope.scale), i32::from(slope.shift));
    saturate(i64::from(entry) + saturate(rise, 56), 16) as i16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BITS: IndexBits = IndexBits::INT16;

    fn look_up(settings: &Settings, tables: &Tables, x: i64) -> (i16, Counters) {
        let mut counters = Counters::default();
        (Lut { settings, tables }.lookup(x, BITS, &mut counters), counters)
    }

    /// LE: linear from 0, 16 a step, entries 100 i. LO: from 512, 4 a step, entries 10 i.
    fn example() -> (Settings, Tables) {
        let settings = Settings {
            le_index: LeIndex::Linear { select: 4 },
            lo_select: 2,
            le: Range {
                start: 0,
                end: 1024,
                underflow: Slope { scale: 3, shift: 1 },
                overflow: Slope { scale: -5, shift: -1 },
            },
            lo: Range { start: 512, end: 1536, ..Range::default() },
            priorities: Priorities { underflow: Table::Le, overflow: Table::Le, hybrid: Table::Lo },
        };
        let tables = Tables {
            le: std::array::from_fn(|index| 100 * index as i16),
            lo: std::array::from_fn(|index| 10 * index as i16),
        };
        (settings, tables)
    }

    #[test]
    fn answers_inside_and_outside() {
        let (settings, tables) = example();
        let one = |x| look_up(&settings, &tables, x).0;
        assert_eq!(one(24), 150);
        assert_eq!(one(514), 5);
        assert_eq!(one(1030), 1295);
        // Below both: 0 + round(-5 * 3 / 2), away from zero.
        assert_eq!(one(-5), -8);
        assert_eq!(one(1540), 6400 + (1540 - 1024) * -10);
    }

    #[test]
    fn every_input_is_counted_once() {
        let (settings, tables) = example();
        let one = |x| look_up(&settings, &tables, x).1;
        assert_eq!(one(24), Counters { le_hit: 1, ..Counters::default() });
        assert_eq!(one(514), Counters { hybrid: 1, ..Counters::default() });
        assert_eq!(one(1030), Counters { lo_hit: 1, ..Counters::default() });
        assert_eq!(one(0), Counters { underflow: 1, ..Counters::default() });
        assert_eq!(one(1536), Counters { overflow: 1, ..Counters::default() });
    }

    #[test]
    fn a_bound_has_38_bits_in_two_registers() {
        use crate::nvdla::registers::{RegisterMap, Unit};
        let mut cdp = Group::new(Unit::Cdp, RegisterMap::Small);
        cdp.set(LUT_LE_START_LOW, 0xffff_fff2);
        cdp.set(LUT_LE_START_HIGH, 0x3f);
        cdp.set(LUT_LO_END_LOW, 0x8000_0000);
        let settings = decode(&cdp);
        assert_eq!((settings.le.start, settings.lo.end), (-14, 0x8000_0000));
    }

    /// A start's bits above the 22nd, and an index shift's above the 6th, do not exist for elements of 8 bits where an input is
    /// looked for; they do where a slope begins.
    #[test]
    fn with_8_bits_an_index_sees_the_low_bits_of_its_registers() {
        let (settings, tables) = example();
        let one = |settings: &Settings, x| {
            Lut { settings, tables: &tables }.lookup(x, IndexBits::INT8, &mut Counters::default())
        };
        let start = 5 << 22;
        let far = Settings { le: Range { start, ..settings.le }, lo_select: 2 | 0x40, ..settings };
        assert_eq!([24, 514, 1030].map(|x| one(&far, x)), [150, 5, 1295]);
        assert_eq!(i64::from(one(&far, -5)), saturate(-(3 * (start + 5)) / 2, 16));
        let plain = Settings { lo_select: -32, ..settings };
        assert_eq!((one(&plain, 514), look_up(&plain, &tables, 514).0), (20, 3213));
    }

    /// Computes the answer of `look_up` by exact fractions, step by step as the arithmetic notes say it.
    fn obvious(settings: &Settings, tables: &Tables, x: i64) -> i128 {
        const ONE: i128 = 1 << 16;
        let divide = |value: i128, divisor: i128| {
            let (quotient, rest) = (value.abs() / divisor, value.abs() % divisor);
            value.signum() * (quotient + i128::from(2 * rest >= divisor))
        };
        let clamp = |value: i128, bits: u32| value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1);
        let x = i128::from(x);
        // The registers have 8 bits, of which the index takes 7.
        let seven = |select: i8| (i32::from(select) + 64).rem_euclid(128) as i8 - 64;
        // Positions in units of 1 / ONE entry, cut; -1 below, i128::MAX above.
        let linear = |start: i64, select: i8, intervals: i128| match x - i128::from(start) {
            ..=0 => -1,
            over => {
                let position =
                    if select >= 0 { (over * ONE) >> select } else { (over << -select.max(-50)) * ONE };
                if position >= intervals * ONE { i128::MAX } else { position }
            }
        };
        let le_position = match (settings.le_index, x - i128::from(settings.le.start)) {
            (_, ..=0) => -1,
            (LeIndex::Linear { select }, _) => linear(settings.le.start, seven(select), 64),
            (LeIndex::Exponent { offset }, over) => {
                let exponent = (0..64).rev().find(|&exponent| over >> exponent == 1).unwrap();
                match exponent - i128::from(offset) {
                    ..0 => -1,
                    64.. => i128::MAX,
                    index => index * ONE + (((over - (1 << exponent)) * ONE) >> exponent),
                }
            }
        };
        let lo_select = match seven(settings.lo_select) {
            -64 => 0,
            select => select,
        };
        let lo_position = linear(settings.lo.start, lo_select, 256);
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
        let entry = |index: usize| i128::from(entries[index]);
        if hits(position) {
            let (index, fraction) = ((position / ONE) as usize, position % ONE);
            return clamp(entry(index) + divide((entry(index + 1) - entry(index)) * fraction, ONE), 16);
        }
        let (entry, mut base, slope) = match position {
            -1 => (entry(0), i128::from(range.start), range.underflow),
            _ => (entry(entries.len() - 1), i128::from(range.end), range.overflow),
        };
        if let (Table::Le, -1, LeIndex::Exponent { offset: offset @ 0.. }) =
            (table, position, settings.le_index)
        {
            base += 1 << offset.min(100);
            base = (base + (1 << 38)).rem_euclid(1 << 39) - (1 << 38);
        }
        let rise = (x - base) * i128::from(slope.scale);
        let rise = if slope.shift < 0 { rise << -slope.shift } else { divide(rise, 1 << slope.shift) };
        clamp(entry + clamp(rise, 56), 16)
    }

    fn range() -> impl Strategy<Value = Range> {
        let bound = || prop_oneof![-5000i64..5000, -(1i64 << 37)..(1 << 37)];
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
            any::<i8>().prop_map(|offset| LeIndex::Exponent { offset }),
            any::<i8>().prop_map(|select| LeIndex::Linear { select }),
            (0i8..30).prop_map(|select| LeIndex::Linear { select }),
        ];
        let table = || prop_oneof![Just(Table::Le), Just(Table::Lo)];
        let priorities = (table(), table(), table()).prop_map(|(underflow, overflow, hybrid)| Priorities {
            underflow,
            overflow,
            hybrid,
        });
        (le_index, prop_oneof![0i8..26, any::<i8>()], range(), range(), priorities).prop_map(
            |(le_index, lo_select, le, lo, priorities)| Settings { le_index, lo_select, le, lo, priorities },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn every_answer_is_what_the_arithmetic_notes_say(
            settings in settings(),
            seed: u64,
            xs in proptest::collection::vec(prop_oneof![-6000i64..6000, -(1i64 << 37)..(1 << 37)], 20),
        ) {
            use rand::{Rng, SeedableRng};
            let mut random = rand::rngs::SmallRng::seed_from_u64(seed);
            let tables = Tables {
                le: std::array::from_fn(|_| random.random()),
                lo: std::array::from_fn(|_| random.random()),
            };
            let near_starts = (0..4).flat_map(|near| [settings.le.start + near, settings.lo.start + near]);
            for x in xs.into_iter().chain(near_starts) {
                let (answer, _) = look_up(&settings, &tables, x);
                prop_assert_eq!(i128::from(answer), obvious(&settings, &tables, x), "x = {}", x);
            }
        }
    }
}
