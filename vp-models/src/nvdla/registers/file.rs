//! The register file of one unit: what software may read and write, and when.
//!
//! A pure state machine. The unit's model owns one, hands it every register access of its slot, starts the
//! layer of [`RegisterFile::enabled_group`] and reports its end with [`RegisterFile::finish`]. It never waits
//! and never computes.
//!
//! Rules (RTL): a unit with two groups writes and reads its `D_` registers in the group `S_POINTER.PRODUCER`
//! selects and runs layers from the group `CONSUMER` selects. Setting `D_OP_ENABLE.OP_EN` hands a group over
//! to the hardware: until the layer ends, every write to it is dropped without an error. Undefined offsets
//! read 0 and ignore writes.

use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::registers::Rights;

use super::{
    Access, Direction, FieldRef, Group, Grouping, LutPort, LutRules, RegisterMap, RegisterRef, Table, Unit,
    cdp, cdp_rdma, pdp, pdp_rdma,
    sdp::{D_OP_ENABLE, S_LUT_ACCESS_CFG, S_LUT_ACCESS_DATA, S_POINTER, S_STATUS},
};

/// Counters of a layer that stay until the end of the group's next one: they have no part in the clearing of results at an enable, which is
/// done where a unit's registers are (RTL, `dp2reg_d0_clr`), because the unit's datapath keeps them (`NV_NVDLA_PDP_wdma.v`, `_RDMA_ig.v`,
/// `NV_NVDLA_CDP_wdma.v`, `_RDMA_ig.v`, `_DP_intp.v`).
const KEPT: [RegisterRef; 9] = [
    pdp::D_PERF_WRITE_STALL,
    pdp_rdma::D_PERF_READ_STALL,
    cdp::D_PERF_WRITE_STALL,
    cdp_rdma::D_PERF_READ_STALL,
    cdp::D_PERF_LUT_UFLOW,
    cdp::D_PERF_LUT_OFLOW,
    cdp::D_PERF_LUT_HYBRID,
    cdp::D_PERF_LUT_LE_HIT,
    cdp::D_PERF_LUT_LO_HIT,
];

/// Outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Stored, as far as the register's access rights go.
    Stored(RegisterRef),
    /// `D_OP_ENABLE` of this group went from 0 to 1: a layer starts when the group's turn comes.
    Enabled {
        /// The group.
        group: usize,
    },
    /// Had no effect. Hardware does not say so; a model may want to report it.
    Dropped(Dropped),
}

/// Reason for which a write had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Dropped {
    /// The group is the hardware's until its layer ends.
    #[error("group {group} is enabled: {register} keeps its value until the layer ends")]
    GroupEnabled {
        /// The register written to.
        register: RegisterRef,
        /// Group of the register.
        group: usize,
    },
    /// Nothing in the register is writable.
    #[error("{register} is read-only")]
    ReadOnly {
        /// The register written to.
        register: RegisterRef,
    },
    /// The unit has no register there.
    #[error("{unit} has no register at offset {offset:#x}")]
    NoRegister {
        /// The unit.
        unit: Unit,
        /// Byte offset in the unit.
        offset: u32,
    },
}

/// The registers of one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterFile {
    // Single registers are in both groups, so that each is all a layer sees.
    groups: [Group; 2],
    rights: Box<[Rights]>,
    op_enable: Option<RegisterRef>,
    producer: usize,
    consumer: usize,
    enabled: [bool; 2],
    lut: Option<LutPort>,
}

impl RegisterFile {
    /// The unit's registers at reset.
    pub fn new(unit: Unit, map: RegisterMap) -> Self {
        let family = map.family();
        let rights = unit.registers().iter().map(|register| Rights::of(register, family));
        let lut = match unit {
            Unit::Sdp => Some(LutPort::new(LutRules::Sdp)),
            Unit::Cdp => Some(LutPort::new(LutRules::Cdp)),
            _ => None,
        };
        Self {
            groups: [Group::new(unit, map), Group::new(unit, map)],
            rights: rights.collect(),
            op_enable: unit.op_enable(),
            producer: 0,
            consumer: 0,
            enabled: [false; 2],
            lut,
        }
    }

    /// Unit of these registers.
    pub fn unit(&self) -> Unit {
        self.groups[0].unit()
    }

    /// A software write of a whole word at a byte offset in the unit.
    pub fn write(&mut self, offset: u32, value: u32) -> Written {
        let unit = self.unit();
        let Some(register) = unit.register_at(offset) else {
            return Written::Dropped(Dropped::NoRegister { unit, offset });
        };
        let group = self.producer;
        let is_duplicated = register.grouping == Grouping::Duplicated;
        if is_duplicated && self.enabled[group] {
            return Written::Dropped(Dropped::GroupEnabled { register, group });
        }
        let rights = &self.rights[register.index()];
        if rights.is_read_only() {
            return Written::Dropped(Dropped::ReadOnly { register });
        }
        let word = rights.write(self.groups[group].word(register), value);
        self.set(group, register, word);
        self.after_write(register)
    }

    /// A software read of a word. Reading a lookup table's data port moves its index.
    pub fn read(&mut self, offset: u32) -> u32 {
        let value = self.peek(offset, None);
        if self.is_lut_register(offset, S_LUT_ACCESS_DATA::LUT_DATA) {
            if let Some(lut) = &mut self.lut {
                lut.read();
            }
            self.show_lut_index();
        }
        value
    }

    /// Returns what a read would return, without its side effects: for debuggers. Of that group, or else of the one that software's
    /// accesses reach.
    ///
    /// # Panics
    ///
    /// When `group` is neither 0 nor 1.
    pub fn peek(&self, offset: u32, group: Option<usize>) -> u32 {
        if self.is_lut_register(offset, S_LUT_ACCESS_DATA::LUT_DATA)
            && let Some(lut) = &self.lut
        {
            return u32::from(lut.peek() as u16);
        }
        let Some(register) = self.unit().register_at(offset) else { return 0 };
        self.rights[register.index()].read(self.groups[group.unwrap_or(self.producer)].word(register))
    }

    /// All registers a layer of that group sees.
    ///
    /// # Panics
    ///
    /// When `group` is neither 0 nor 1.
    pub fn group(&self, group: usize) -> &Group {
        &self.groups[group]
    }

    /// Sets a register from the hardware's side, whatever software's rights: counters, status bits. A single
    /// register has one value, whichever group is named. Pointers and enable bits are the file's own and not
    /// to be set.
    ///
    /// # Panics
    ///
    /// When `group` is neither 0 nor 1.
    pub fn set(&mut self, group: usize, register: RegisterRef, word: u32) {
        match register.grouping {
            Grouping::Single => self.groups.iter_mut().for_each(|group| group.set_word(register, word)),
            Grouping::Duplicated => self.groups[group].set_word(register, word),
        }
    }

    /// Inverts bits of a register at a byte offset in the unit, whoever's it is.
    ///
    /// # Panics
    ///
    /// When `group` is neither 0 nor 1.
    pub fn flip(&mut self, group: usize, offset: u32, mask: u32) {
        if let Some(register) = self.unit().register_at(offset) {
            self.set(group, register, self.groups[group].word(register) ^ mask);
        }
    }

    /// Sets one field from the hardware's side; see [`RegisterFile::set`].
    pub fn set_field(&mut self, group: usize, field: FieldRef, value: u32) {
        if let Some(register) = self.unit().register_at(u32::from(field.offset)) {
            let bits = field.bits(self.groups[group].family());
            self.set(group, register, bits.insert(self.groups[group].word(register), value));
        }
    }

    /// The group whose layer is to run: the consumer's, once it is enabled.
    pub fn enabled_group(&self) -> Option<usize> {
        self.enabled[self.consumer].then_some(self.consumer)
    }

    /// Returns true if a group is the hardware's, running or waiting for its turn.
    pub fn is_enabled(&self, group: usize) -> bool {
        self.enabled[group]
    }

    /// The groups that are enabled.
    pub fn enabled_groups(&self) -> impl Iterator<Item = usize> {
        (0..2).filter(|group| self.is_enabled(*group))
    }

    /// The group software's accesses reach.
    pub fn producer(&self) -> usize {
        self.producer
    }

    /// The group whose layer runs, or runs next.
    pub fn consumer(&self) -> usize {
        self.consumer
    }

    /// Ends the running layer: gives its group back to software, turns to the other one, and returns the
    /// group that ended. Set counters first. `None`, and nothing happens, when no layer runs.
    pub fn finish(&mut self) -> Option<usize> {
        let finished = self.enabled_group()?;
        self.enabled[finished] = false;
        self.consumer = 1 - finished;
        self.show_pointers();
        Some(finished)
    }

    /// The lookup tables of SDP and CDP; `None` in other units.
    pub fn lut(&self) -> Option<&LutPort> {
        self.lut.as_ref()
    }

    fn after_write(&mut self, register: RegisterRef) -> Written {
        let group = self.producer;
        if self.op_enable.is_some() {
            if register.offset == S_POINTER::PRODUCER.offset {
                self.producer = usize::from(self.groups[0].word(register) & 1 != 0);
            } else if Some(register) == self.op_enable
                && self.groups[group].word(register) & D_OP_ENABLE::OP_EN.bits(self.groups[0].family()).mask()
                    != 0
            {
                self.enabled[group] = true;
                self.clear_results(group);
                self.show_pointers();
                return Written::Enabled { group };
            }
        }
        if self.is_lut_register(u32::from(register.offset), S_LUT_ACCESS_CFG::LUT_ADDR) {
            self.configure_lut(register);
        } else if self.is_lut_register(u32::from(register.offset), S_LUT_ACCESS_DATA::LUT_DATA) {
            let entry = self.groups[0].word(register) as u16 as i16;
            if let Some(lut) = &mut self.lut {
                lut.write(entry);
            }
            self.show_lut_index();
        }
        Written::Stored(register)
    }

    /// Counters of a group's last layer are cleared when the next one is enabled, but for those that no enable reaches.
    fn clear_results(&mut self, group: usize) {
        let family = self.groups[group].family();
        for register in self.unit().registers() {
            let is_result = register.grouping == Grouping::Duplicated && register.access == Access::ReadOnly;
            if is_result && !KEPT.contains(register) {
                self.groups[group].set_word(register, register.reset(family));
            }
        }
    }

    /// Mirrors pointers and enable bits into the registers that show them.
    fn show_pointers(&mut self) {
        let Some(op_enable) = self.op_enable else { return };
        for group in [0, 1] {
            self.groups[group].set_word(op_enable, u32::from(self.enabled[group]));
        }
        let status = [0, 1].map(|group| match (self.enabled[group], self.consumer == group) {
            (false, _) => S_STATUS::STATUS_0::IDLE,
            (true, true) => S_STATUS::STATUS_0::RUNNING,
            (true, false) => S_STATUS::STATUS_0::PENDING,
        });
        let family = self.groups[0].family();
        let status = S_STATUS::STATUS_0.bits(family).insert(0, status[0])
            | S_STATUS::STATUS_1.bits(family).insert(0, status[1]);
        let pointer = S_POINTER::PRODUCER.bits(family).insert(0, self.producer as u32)
            | S_POINTER::CONSUMER.bits(family).insert(0, self.consumer as u32);
        for (field, word) in [(S_STATUS::STATUS_0, status), (S_POINTER::PRODUCER, pointer)] {
            if let Some(register) = self.unit().register_at(u32::from(field.offset)) {
                self.set(0, register, word);
            }
        }
    }

    /// Returns true if an offset is a field's in the lookup tables' port. Both units with tables have the port's registers where SDP has them; a test holds the table to it.
    fn is_lut_register(&self, offset: u32, field: FieldRef) -> bool {
        self.lut.is_some() && offset == u32::from(field.offset)
    }

    fn configure_lut(&mut self, register: RegisterRef) {
        let word = self.groups[0].word(register);
        let family = self.groups[0].family();
        let get = |field: FieldRef| field.bits(family).extract(word);
        let table = if get(S_LUT_ACCESS_CFG::LUT_TABLE_ID) == S_LUT_ACCESS_CFG::LUT_TABLE_ID::LO {
            Table::Lo
        } else {
            Table::Le
        };
        let direction = if get(S_LUT_ACCESS_CFG::LUT_ACCESS_TYPE) == S_LUT_ACCESS_CFG::LUT_ACCESS_TYPE::WRITE
        {
            Direction::Write
        } else {
            Direction::Read
        };
        if let Some(lut) = &mut self.lut {
            lut.configure(get(S_LUT_ACCESS_CFG::LUT_ADDR) as u16, table, direction);
        }
    }

    fn show_lut_index(&mut self) {
        if let (Some(lut), Some(register)) =
            (&self.lut, self.unit().register_at(u32::from(S_LUT_ACCESS_CFG::LUT_ADDR.offset)))
        {
            let index = u32::from(lut.visible_index());
            let bits = S_LUT_ACCESS_CFG::LUT_ADDR.bits(self.groups[0].family());
            self.set(0, register, bits.insert(self.groups[0].word(register), index));
        }
    }
}

impl RegisterFile {
    pub(crate) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let RegisterFile { groups, rights: _, op_enable: _, producer, consumer, enabled, lut } = self;
        at.at_rest(*enabled == [false; 2], "a group is enabled")?;
        let [first, second] = groups;
        first.checkpoint(at)?;
        second.checkpoint(at)?;
        at.index(producer, 2)?;
        at.index(consumer, 2)?;
        match lut {
            Some(lut) => lut.checkpoint(at),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
