//! The indirect port through which software fills and reads the lookup tables of SDP and CDP.
//!
//! Software writes `S_LUT_ACCESS_CFG` (index, table, direction) and then moves entries through
//! `S_LUT_ACCESS_DATA`. The two units advance the index by different rules ([`LutRules`]). The register file
//! owns a port and drives it; models read the tables.

use crate::checkpoint::{Checkpoint, CheckpointError};
use serde::{Deserialize, Serialize};

/// Unit whose rules the port obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LutRules {
    /// SDP: every data access advances a 10-bit index that wraps; software reads back the index it wrote.
    Sdp,
    /// CDP: an access against the direction does not advance, the index stops at the table's last entry, and
    /// software reads back the live index.
    Cdp,
}

/// The two tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Table {
    /// The exponential or coarse table, 65 entries.
    Le,
    /// The linear or dense table, 257 entries.
    Lo,
}

/// Direction that software announced for the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// Data writes are ignored.
    Read,
    /// Data writes store.
    Write,
}

/// The tables and the port's state. Both tables are 0 after reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LutPort {
    rules: LutRules,
    table: Table,
    direction: Direction,
    written_index: u16,
    index: u16,
    le: [i16; Self::LE_ENTRIES],
    lo: [i16; Self::LO_ENTRIES],
}

impl LutPort {
    /// Entries of the LE table.
    pub const LE_ENTRIES: usize = 65;
    /// Entries of the LO table.
    pub const LO_ENTRIES: usize = 257;
    /// `LUT_ADDR` has 10 bits.
    const INDEX_MASK: u16 = 0x3ff;

    /// A port at reset: reading LE from entry 0.
    pub fn new(rules: LutRules) -> Self {
        Self {
            rules,
            table: Table::Le,
            direction: Direction::Read,
            written_index: 0,
            index: 0,
            le: [0; Self::LE_ENTRIES],
            lo: [0; Self::LO_ENTRIES],
        }
    }

    /// The LE table.
    pub fn le(&self) -> &[i16; Self::LE_ENTRIES] {
        &self.le
    }

    /// The LO table.
    pub fn lo(&self) -> &[i16; Self::LO_ENTRIES] {
        &self.lo
    }

    /// A write to `S_LUT_ACCESS_CFG`. Bits of `index` above the tenth are not there.
    pub fn configure(&mut self, index: u16, table: Table, direction: Direction) {
        self.written_index = index & Self::INDEX_MASK;
        self.index = self.written_index;
        self.table = table;
        self.direction = direction;
    }

    /// Returns the value that `LUT_ADDR` reads as.
    pub fn visible_index(&self) -> u16 {
        match self.rules {
            LutRules::Sdp => self.written_index,
            LutRules::Cdp => self.index,
        }
    }

    /// A write to `S_LUT_ACCESS_DATA`. Entries behind the table's end take nothing.
    pub fn write(&mut self, entry: i16) {
        let index = usize::from(self.index);
        if self.direction == Direction::Write
            && let Some(place) = self.entries_mut().get_mut(index)
        {
            *place = entry;
        }
        self.advance(Direction::Write);
    }

    /// A read of `S_LUT_ACCESS_DATA`: [`LutPort::peek`], then the index advances as the unit's rules say.
    pub fn read(&mut self) -> i16 {
        let entry = self.peek();
        self.advance(Direction::Read);
        entry
    }

    /// The entry the index points at; 0 behind the table's end.
    pub fn peek(&self) -> i16 {
        self.entries().get(usize::from(self.index)).copied().unwrap_or(0)
    }

    fn advance(&mut self, access: Direction) {
        match self.rules {
            LutRules::Sdp => self.index = (self.index + 1) & Self::INDEX_MASK,
            LutRules::Cdp => {
                let is_before_last = usize::from(self.index) + 1 < self.entries().len();
                if access == self.direction && is_before_last {
                    self.index += 1;
                }
            }
        }
    }

    fn entries(&self) -> &[i16] {
        match self.table {
            Table::Le => &self.le,
            Table::Lo => &self.lo,
        }
    }

    fn entries_mut(&mut self) -> &mut [i16] {
        match self.table {
            Table::Le => &mut self.le,
            Table::Lo => &mut self.lo,
        }
    }
}

impl LutPort {
    pub(crate) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let LutPort { rules: _, table, direction, written_index, index, le, lo } = self;
        at.value(table)?;
        at.value(direction)?;
        at.value(written_index)?;
        at.value(index)?;
        at.check(*index <= Self::INDEX_MASK && *written_index <= Self::INDEX_MASK, "no such entry")?;
        at.fixed(le)?;
        at.fixed(lo)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Direction, LutPort, LutRules, Table};

    #[test]
    fn a_driver_fills_a_table_from_entry_0_in_order() {
        for rules in [LutRules::Sdp, LutRules::Cdp] {
            let mut port = LutPort::new(rules);
            port.configure(0, Table::Lo, Direction::Write);
            (0..257).for_each(|entry| port.write(entry - 128));
            assert_eq!(port.lo()[0], -128);
            assert_eq!(port.lo()[256], 128);
            assert_eq!(port.le(), &[0; 65]);
        }
    }

    #[test]
    fn a_table_reads_back_what_was_written() {
        for rules in [LutRules::Sdp, LutRules::Cdp] {
            let mut port = LutPort::new(rules);
            port.configure(0, Table::Le, Direction::Write);
            (0..65).for_each(|entry| port.write(entry * 3));
            port.configure(10, Table::Le, Direction::Read);
            assert_eq!((port.read(), port.read()), (30, 33));
        }
    }

    #[test]
    fn writes_in_read_mode_store_nothing() {
        for rules in [LutRules::Sdp, LutRules::Cdp] {
            let mut port = LutPort::new(rules);
            port.configure(0, Table::Le, Direction::Read);
            port.write(7);
            assert_eq!(port.le()[0], 0);
        }
    }

    #[test]
    fn sdp_advances_on_every_access_and_shows_the_written_index() {
        let mut port = LutPort::new(LutRules::Sdp);
        port.configure(5, Table::Le, Direction::Write);
        port.read();
        port.write(9);
        assert_eq!(port.le()[6], 9);
        assert_eq!(port.visible_index(), 5);
    }

    #[test]
    fn cdp_advances_with_its_direction_only_and_shows_the_live_index() {
        let mut port = LutPort::new(LutRules::Cdp);
        port.configure(5, Table::Le, Direction::Write);
        port.read();
        port.write(9);
        assert_eq!(port.le()[5], 9);
        assert_eq!(port.visible_index(), 6);
    }

    #[test]
    fn cdp_stops_at_the_last_entry_where_sdp_runs_off() {
        let mut cdp = LutPort::new(LutRules::Cdp);
        let mut sdp = LutPort::new(LutRules::Sdp);
        for port in [&mut cdp, &mut sdp] {
            port.configure(64, Table::Le, Direction::Write);
            port.write(1);
            port.write(2);
        }
        assert_eq!((cdp.le()[64], sdp.le()[64]), (2, 1));
    }

    #[test]
    fn the_sdp_index_wraps_after_1024_accesses() {
        let mut port = LutPort::new(LutRules::Sdp);
        port.configure(1023, Table::Le, Direction::Write);
        port.write(1);
        port.write(2);
        assert_eq!(port.le()[0], 2);
    }

    proptest! {
        /// The rules again, on a flat list of 1024 places of which only the table's are kept.
        #[test]
        fn port_equals_the_rules_on_a_flat_list(
            sdp: bool,
            accesses in prop::collection::vec((0..3u8, any::<u16>(), any::<bool>(), any::<bool>()), 0..400),
        ) {
            let rules = if sdp { LutRules::Sdp } else { LutRules::Cdp };
            let mut port = LutPort::new(rules);
            let mut flat = [[0i16; 1024]; 2];
            let (mut index, mut table, mut writes) = (0usize, 0usize, false);
            for (kind, value, lo, write) in accesses {
                let size = if table == 0 { 65 } else { 257 };
                let advance = |with_direction: bool, index: usize| {
                    if sdp { (index + 1) % 1024 }
                    else if with_direction && index + 1 < size { index + 1 }
                    else { index }
                };
                match kind {
                    0 => {
                        // Mostly small, so that the ends of both tables are met.
                        let start = value % 300;
                        let direction = if write { Direction::Write } else { Direction::Read };
                        port.configure(start, if lo { Table::Lo } else { Table::Le }, direction);
                        (index, table, writes) = (usize::from(start), usize::from(lo), write);
                    }
                    1 => {
                        port.write(value as i16);
                        if writes && index < size { flat[table][index] = value as i16; }
                        index = advance(writes, index);
                    }
                    _ => {
                        prop_assert_eq!(port.read(), flat[table][index]);
                        index = advance(!writes, index);
                    }
                }
                if !sdp { prop_assert_eq!(usize::from(port.visible_index()), index); }
            }
            prop_assert_eq!(&port.le()[..], &flat[0][..65]);
            prop_assert_eq!(&port.lo()[..], &flat[1][..257]);
        }
    }
}
