//! The common part of the lookup tables of SDP and CDP: registers, contents, indexing, and which of the two
//! tables gives the result.
//!
//! Table LE (65 entries) is indexed linearly or by the logarithm, table LO (257 entries) linearly. Every input
//! is looked up in both; priorities choose the result. The two units differ in the width of their inputs, here
//! `B`, and of their fractions, and in how they interpolate and count: see [`super::sdp::lut`] and
//! [`super::cdp::lut`].

pub(crate) mod float;

use super::encode::{Encoded, Fields};
use super::registers::{FieldRef, Group, LutPort, Table, Unit};

/// Intervals between the entries of LE.
pub(crate) const LE_INTERVALS: u64 = 64;
/// Intervals between the entries of LO.
pub(crate) const LO_INTERVALS: u64 = 256;

/// The table contents. One set per unit, shared by both register groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Table LE.
    pub le: [i16; LutPort::LE_ENTRIES],
    /// Table LO.
    pub lo: [i16; LutPort::LO_ENTRIES],
}

impl Tables {
    /// The entries of one table.
    pub(crate) fn of(&self, table: Table) -> &[i16] {
        match table {
            Table::Le => &self.le,
            Table::Lo => &self.lo,
        }
    }
}

impl Default for Tables {
    fn default() -> Self {
        Tables { le: [0; LutPort::LE_ENTRIES], lo: [0; LutPort::LO_ENTRIES] }
    }
}

impl From<&LutPort> for Tables {
    fn from(port: &LutPort) -> Self {
        Tables { le: *port.le(), lo: *port.lo() }
    }
}

/// Range of one table and what lies outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Range<B> {
    /// Inputs up to here underflow.
    pub start: B,
    /// Start of the overflow slope. It does not decide whether an input overflows; the index does.
    pub end: B,
    /// Slope below `start`.
    pub underflow: Slope,
    /// Slope above `end`.
    pub overflow: Slope,
}

/// The `S_LUT_*` registers but for the access port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings<B> {
    /// Indexing of LE.
    pub le_index: LeIndex,
    /// LO index: `(x - start) >> select`; negative shifts left.
    pub lo_select: i8,
    /// Range of LE.
    pub le: Range<B>,
    /// Range of LO.
    pub lo: Range<B>,
    /// Tables that answer where one alone does not hit.
    pub priorities: Priorities,
}

/// The fields of one unit's `S_LUT_*` registers that both units have, but for the bounds of the ranges.
pub(crate) struct LutFields {
    pub(crate) unit: Unit,
    /// The access port: entry, table, direction, data.
    pub(crate) port: [FieldRef; 4],
    pub(crate) le_function: FieldRef,
    /// Value of `le_function` for a logarithmic LE; 1 makes it linear.
    pub(crate) exponent: u32,
    pub(crate) le_index_offset: FieldRef,
    pub(crate) le_index_select: FieldRef,
    pub(crate) lo_index_select: FieldRef,
    /// Scale and shift below LE, above it, below LO, above it.
    pub(crate) slopes: [[FieldRef; 2]; 4],
    /// Underflow, overflow, hybrid.
    pub(crate) priorities: [FieldRef; 3],
}

/// The [`LutFields`] of a unit, from its table of registers.
macro_rules! lut_fields {
    ($unit:ident, $registers:ident) => {{
        use $crate::nvdla::registers::$registers::{
            S_LUT_ACCESS_CFG::*, S_LUT_ACCESS_DATA::*, S_LUT_CFG::*, S_LUT_INFO::*, S_LUT_LE_SLOPE_SCALE::*,
            S_LUT_LE_SLOPE_SHIFT::*, S_LUT_LO_SLOPE_SCALE::*, S_LUT_LO_SLOPE_SHIFT::*,
        };
        $crate::nvdla::lut::LutFields {
            unit: $crate::nvdla::registers::Unit::$unit,
            port: [LUT_ADDR, LUT_TABLE_ID, LUT_ACCESS_TYPE, LUT_DATA],
            le_function: LUT_LE_FUNCTION,
            exponent: LUT_LE_FUNCTION::EXPONENT,
            le_index_offset: LUT_LE_INDEX_OFFSET,
            le_index_select: LUT_LE_INDEX_SELECT,
            lo_index_select: LUT_LO_INDEX_SELECT,
            slopes: [
                [LUT_LE_SLOPE_UFLOW_SCALE, LUT_LE_SLOPE_UFLOW_SHIFT],
                [LUT_LE_SLOPE_OFLOW_SCALE, LUT_LE_SLOPE_OFLOW_SHIFT],
                [LUT_LO_SLOPE_UFLOW_SCALE, LUT_LO_SLOPE_UFLOW_SHIFT],
                [LUT_LO_SLOPE_OFLOW_SCALE, LUT_LO_SLOPE_OFLOW_SHIFT],
            ],
            priorities: [LUT_UFLOW_PRIORITY, LUT_OFLOW_PRIORITY, LUT_HYBRID_PRIORITY],
        }
    }};
}
pub(crate) use lut_fields;

impl LutFields {
    /// Reads a group. Every combination is legal. `bounds` are start and end of LE, then of LO.
    pub(crate) fn settings<B>(&self, group: &Group, [le, lo]: [[B; 2]; 2]) -> Settings<B> {
        let [le_below, le_above, lo_below, lo_above] = self.slopes.map(|[scale, shift]| Slope {
            scale: group.get_signed(scale) as i16,
            shift: group.get_signed(shift) as i8,
        });
        let range = |[start, end]: [B; 2], underflow, overflow| Range { start, end, underflow, overflow };
        let [underflow, overflow, hybrid] =
            self.priorities.map(|field| if group.flag(field) { Table::Lo } else { Table::Le });
        Settings {
            le_index: if group.get(self.le_function) == self.exponent {
                LeIndex::Exponent { offset: group.get_signed(self.le_index_offset) as i8 }
            } else {
                LeIndex::Linear { select: group.get_signed(self.le_index_select) as i8 }
            },
            lo_select: group.get_signed(self.lo_index_select) as i8,
            le: range(le, le_below, le_above),
            lo: range(lo, lo_below, lo_above),
            priorities: Priorities { underflow, overflow, hybrid },
        }
    }

    /// The inverse, with the fields of the bounds.
    pub(crate) fn fields<B>(
        &self,
        settings: &Settings<B>,
        bounds: impl IntoIterator<Item = (FieldRef, u32)>,
    ) -> Fields {
        let signed = |value: i8| i32::from(value) as u32;
        let (function, offset, select) = match settings.le_index {
            LeIndex::Exponent { offset } => (self.exponent, offset, 0),
            LeIndex::Linear { select } => (1 - self.exponent, 0, select),
        };
        let Priorities { underflow, overflow, hybrid } = settings.priorities;
        let of_lo = [underflow, overflow, hybrid].map(|table| u32::from(table == Table::Lo));
        let mut fields = vec![(self.le_function, function)];
        fields.extend(self.priorities.into_iter().zip(of_lo));
        fields.extend([
            (self.le_index_offset, signed(offset)),
            (self.le_index_select, signed(select)),
            (self.lo_index_select, signed(settings.lo_select)),
        ]);
        fields.extend(bounds);
        let (le, lo) = (&settings.le, &settings.lo);
        let slopes = [[le.underflow, le.overflow], [lo.underflow, lo.overflow]];
        for (of_table, slopes) in self.slopes.chunks(2).zip(slopes) {
            let scale = |slope: Slope| i32::from(slope.scale) as u32;
            fields.extend(of_table.iter().zip(slopes).map(|(fields, slope)| (fields[0], scale(slope))));
            fields
                .extend(of_table.iter().zip(slopes).map(|(fields, slope)| (fields[1], signed(slope.shift))));
        }
        fields
    }

    /// The writes that fill the tables, entry after entry.
    pub(crate) fn contents(&self, tables: &Tables) -> Encoded {
        let [address, table, access, data] = self.port;
        let mut writes = Encoded::default();
        for (number, entries) in [(0, &tables.le[..]), (1, &tables.lo[..])] {
            writes = writes.and(Encoded::of(self.unit, [(address, 0), (table, number), (access, 1)]));
            for &entry in entries {
                writes = writes.and(Encoded::of(self.unit, [(data, i32::from(entry) as u32)]));
            }
        }
        writes
    }
}

/// The table as a function: settings and contents.
#[derive(Clone, Copy, Debug)]
pub struct Lut<'a, B> {
    /// Ranges, slopes and priorities.
    pub settings: &'a Settings<B>,
    /// Contents.
    pub tables: &'a Tables,
}

impl<'a, B> Lut<'a, B> {
    /// The table that answers for an input that lies so in both.
    pub(crate) fn choose(&self, le: RangePosition, lo: RangePosition) -> Chosen<'a, B> {
        let table = self.settings.priorities.choose(le, lo);
        let (place, range) = match table {
            Table::Le => (le, &self.settings.le),
            Table::Lo => (lo, &self.settings.lo),
        };
        Chosen { table, place, range, entries: self.tables.of(table) }
    }
}

/// The table that answers.
pub(crate) struct Chosen<'a, B> {
    pub(crate) table: Table,
    /// Place of the input in the table.
    pub(crate) place: RangePosition,
    pub(crate) range: &'a Range<B>,
    pub(crate) entries: &'a [i16],
}

/// The statistics registers `D_PERF_LUT_*`, in elements. The two units do not count the same events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Below a table, or both.
    pub underflow: u64,
    /// Above a table, or both.
    pub overflow: u64,
    /// Elsewhere.
    pub hybrid: u64,
    /// Inside LE.
    pub le_hit: u64,
    /// Inside LO.
    pub lo_hit: u64,
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.underflow += other.underflow;
        self.overflow += other.overflow;
        self.hybrid += other.hybrid;
        self.le_hit += other.le_hit;
        self.lo_hit += other.lo_hit;
    }
}

/// Indexing of LE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeIndex {
    /// `floor(log2(x - start)) - offset`.
    Exponent {
        /// `LUT_LE_INDEX_OFFSET`.
        offset: i8,
    },
    /// `(x - start) >> select`.
    Linear {
        /// `LUT_LE_INDEX_SELECT`; negative shifts left.
        select: i8,
    },
}

impl LeIndex {
    /// Returns the place of an input in LE that is `distance` above its start.
    pub(crate) fn place(self, distance: u64, fraction_bits: u32) -> RangePosition {
        match self {
            LeIndex::Exponent { offset } => exponential(distance, offset, fraction_bits),
            LeIndex::Linear { select } => linear(distance, select, LE_INTERVALS, fraction_bits),
        }
    }
}

/// Straight line outside a table: `entry + round_shift((x - bound) * scale, shift)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Slope {
    /// Multiplier.
    pub scale: i16,
    /// Right shift, -16 to 15; negative shifts left.
    pub shift: i8,
}

/// Tables that answer where one alone does not hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priorities {
    /// Answers when both underflow.
    pub underflow: Table,
    /// Answers when both overflow.
    pub overflow: Table,
    /// Answers when both hit, or both miss on different sides.
    pub hybrid: Table,
}

impl Priorities {
    /// The table that answers for an input that lies so in LE and LO.
    pub(crate) fn choose(self, le: RangePosition, lo: RangePosition) -> Table {
        use RangePosition::{Above, Below, Inside};
        match (le, lo) {
            (Below, Below) => self.underflow,
            (Above, Above) => self.overflow,
            (Inside { .. }, Below | Above) => Table::Le,
            (Below | Above, Inside { .. }) => Table::Lo,
            (Inside { .. }, Inside { .. }) | (Below, Above) | (Above, Below) => self.hybrid,
        }
    }
}

/// Place of an input in one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RangePosition {
    Below,
    /// Between entries `index` and `index + 1`; the fraction has the bits that were asked for.
    Inside {
        index: usize,
        fraction: u64,
    },
    Above,
}

impl RangePosition {
    pub(crate) fn hits(self) -> bool {
        matches!(self, RangePosition::Inside { .. })
    }
}

/// Linear position of `distance` (over the table's start, not 0) in a table of `intervals`.
pub(crate) fn linear(distance: u64, select: i8, intervals: u64, fraction_bits: u32) -> RangePosition {
    let (index, fraction) = match u32::try_from(select) {
        Ok(select) => {
            let scaled = (u128::from(distance) << fraction_bits) >> select;
            ((scaled >> fraction_bits) as u64, scaled as u64 & ((1 << fraction_bits) - 1))
        }
        // 9 places already leave every table.
        Err(_) => (distance << select.unsigned_abs().min(9), 0),
    };
    if index >= intervals {
        RangePosition::Above
    } else {
        RangePosition::Inside { index: index as usize, fraction }
    }
}

/// Logarithmic position of `distance` (over the table's start, not 0) in LE.
fn exponential(distance: u64, offset: i8, fraction_bits: u32) -> RangePosition {
    let exponent = distance.ilog2();
    let Ok(index) = u64::try_from(i64::from(exponent) - i64::from(offset)) else {
        return RangePosition::Below;
    };
    if index >= LE_INTERVALS {
        return RangePosition::Above;
    }
    let below_leading_one = distance ^ (1 << exponent);
    let fraction = ((u128::from(below_leading_one) << fraction_bits) >> exponent) as u64;
    RangePosition::Inside { index: index as usize, fraction }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_table_is_left_at_its_last_entry() {
        assert_eq!(
            linear(255 << 4 | 8, 4, LO_INTERVALS, 16),
            RangePosition::Inside { index: 255, fraction: 0x8000 }
        );
        assert_eq!(linear(256 << 4, 4, LO_INTERVALS, 16), RangePosition::Above);
        assert_eq!(linear(1, -6, LE_INTERVALS, 16), RangePosition::Above);
        assert_eq!(linear(1, -5, LE_INTERVALS, 16), RangePosition::Inside { index: 32, fraction: 0 });
    }

    #[test]
    fn a_logarithmic_table_is_indexed_by_the_leading_one() {
        assert_eq!(exponential(12, 3, 16), RangePosition::Inside { index: 0, fraction: 0x8000 });
        assert_eq!(exponential(7, 3, 16), RangePosition::Below);
        assert_eq!(exponential(1, -63, 16), RangePosition::Inside { index: 63, fraction: 0 });
        assert_eq!(exponential(2, -63, 16), RangePosition::Above);
    }

    #[test]
    fn fractions_are_cut_and_not_rounded() {
        assert_eq!(
            linear(0x1ffff, 17, LE_INTERVALS, 16),
            RangePosition::Inside { index: 0, fraction: 0xffff }
        );
        let long = (1 << 30) | 1;
        assert_eq!(exponential(long, 30, 16), RangePosition::Inside { index: 0, fraction: 0 });
        assert_eq!(exponential(long, 30, 35), RangePosition::Inside { index: 0, fraction: 1 << 5 });
    }

    #[test]
    fn one_hit_answers_and_priorities_settle_the_rest() {
        use RangePosition::{Above, Below};
        let hit = RangePosition::Inside { index: 0, fraction: 0 };
        let priorities = Priorities { underflow: Table::Lo, overflow: Table::Le, hybrid: Table::Lo };
        for (le, lo, answers) in [
            (Below, Below, Table::Lo),
            (Above, Above, Table::Le),
            (Below, Above, Table::Lo),
            (hit, hit, Table::Lo),
            (hit, Below, Table::Le),
            (Above, hit, Table::Lo),
        ] {
            assert_eq!(priorities.choose(le, lo), answers, "{le:?} {lo:?}");
        }
    }
}
