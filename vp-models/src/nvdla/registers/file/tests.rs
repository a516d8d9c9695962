//! Tests of what a register file promises, and random accesses beside a plain model of it.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Dropped, RegisterFile, Written};
use crate::nvdla::registers::{
    Access, Grouping, RegisterMap, RegisterRef, Unit, bdma, cdma, cdp, glb, mcif, pdp, sdp,
};

fn at(register: RegisterRef) -> u32 {
    u32::from(register.offset)
}

fn pdp() -> RegisterFile {
    RegisterFile::new(Unit::Pdp, RegisterMap::Small)
}

#[test]
fn writes_reach_the_group_the_producer_selects() {
    let mut file = pdp();
    file.write(at(pdp::S_POINTER), 1);
    file.write(at(pdp::D_DATA_CUBE_IN_WIDTH), 7);
    assert_eq!(file.read(at(pdp::D_DATA_CUBE_IN_WIDTH)), 7);
    file.write(at(pdp::S_POINTER), 0);
    assert_eq!(file.read(at(pdp::D_DATA_CUBE_IN_WIDTH)), 0);
    assert_eq!(file.group(1).actual(pdp::D_DATA_CUBE_IN_WIDTH::CUBE_IN_WIDTH), 8);
}

#[test]
fn an_enabled_group_keeps_its_values_until_its_layer_ends() {
    let mut file = pdp();
    assert_eq!(file.write(at(pdp::D_OP_ENABLE), 1), Written::Enabled { group: 0 });
    let dropped = Dropped::GroupEnabled { register: pdp::D_DATA_CUBE_IN_WIDTH, group: 0 };
    assert_eq!(file.write(at(pdp::D_DATA_CUBE_IN_WIDTH), 7), Written::Dropped(dropped));
    file.finish();
    assert_eq!(file.write(at(pdp::D_DATA_CUBE_IN_WIDTH), 7), Written::Stored(pdp::D_DATA_CUBE_IN_WIDTH));
}

#[test]
fn software_cannot_take_an_enable_back_nor_give_it_twice() {
    let mut file = pdp();
    file.write(at(pdp::D_OP_ENABLE), 1);
    for value in [0, 1] {
        assert!(matches!(file.write(at(pdp::D_OP_ENABLE), value), Written::Dropped(_)));
    }
    assert_eq!(file.read(at(pdp::D_OP_ENABLE)), 1);
}

#[test]
fn status_tells_idle_running_and_pending() {
    let mut file = pdp();
    assert_eq!(file.read(at(pdp::S_STATUS)), 0);
    file.write(at(pdp::S_POINTER), 1);
    file.write(at(pdp::D_OP_ENABLE), 1);
    assert_eq!(file.read(at(pdp::S_STATUS)), 0x0002_0000);
    assert_eq!(file.enabled_group(), None, "a group enabled out of turn waits");
    file.write(at(pdp::S_POINTER), 0);
    file.write(at(pdp::D_OP_ENABLE), 1);
    assert_eq!(file.read(at(pdp::S_STATUS)), 0x0002_0001);
    assert_eq!(file.finish(), Some(0));
    assert_eq!(file.read(at(pdp::S_STATUS)), 0x0001_0000);
}

#[test]
fn the_consumer_turns_on_every_layer_end() {
    let mut file = pdp();
    for (group, pointer) in [(0, 0x1_0000), (1, 0x0_0001)] {
        file.write(at(pdp::S_POINTER), group);
        file.write(at(pdp::D_OP_ENABLE), 1);
        assert_eq!(file.finish(), Some(group as usize));
        assert_eq!(file.read(at(pdp::S_POINTER)), pointer);
    }
    assert_eq!(file.finish(), None, "no layer runs");
}

#[test]
fn software_does_not_move_the_consumer() {
    let mut file = pdp();
    file.write(at(pdp::S_POINTER), 0x1_0001);
    assert_eq!((file.producer(), file.consumer()), (1, 0));
    assert_eq!(file.read(at(pdp::S_POINTER)), 1);
}

#[test]
fn single_registers_stay_writable_while_a_layer_runs() {
    let mut file = RegisterFile::new(Unit::Sdp, RegisterMap::Large);
    file.write(at(sdp::D_OP_ENABLE), 1);
    assert_eq!(file.write(at(sdp::S_LUT_CFG), 0x70), Written::Stored(sdp::S_LUT_CFG));
    assert!(file.group(0).flag(sdp::S_LUT_CFG::LUT_UFLOW_PRIORITY));
    assert!(file.group(1).flag(sdp::S_LUT_CFG::LUT_UFLOW_PRIORITY));
}

#[test]
fn read_only_registers_and_holes_drop_writes() {
    let mut file = pdp();
    let dropped = Dropped::ReadOnly { register: pdp::D_PERF_WRITE_STALL };
    assert_eq!(file.write(at(pdp::D_PERF_WRITE_STALL), 5), Written::Dropped(dropped));
    let hole = Dropped::NoRegister { unit: Unit::Pdp, offset: 0xffc };
    assert_eq!(file.write(0xffc, 5), Written::Dropped(hole));
    assert_eq!((file.read(0xffc), file.read(2)), (0, 0));
    assert_eq!(hole.to_string(), "PDP has no register at offset 0xffc");
}

#[test]
fn bits_outside_the_fields_do_not_exist() {
    let mut file = RegisterFile::new(Unit::Sdp, RegisterMap::Full);
    file.write(at(sdp::D_DST_LINE_STRIDE), u32::MAX);
    assert_eq!(file.read(at(sdp::D_DST_LINE_STRIDE)), 0xffff_ffe0);
}

#[test]
fn hardware_sets_what_software_may_only_read() {
    let mut file = RegisterFile::new(Unit::Cdma, RegisterMap::Small);
    assert_eq!(file.read(at(cdma::S_CBUF_FLUSH_STATUS)), 0);
    file.set_field(0, cdma::S_CBUF_FLUSH_STATUS::FLUSH_DONE, 1);
    file.set(1, cdma::D_PERF_DAT_READ_STALL, 99);
    assert_eq!(file.read(at(cdma::S_CBUF_FLUSH_STATUS)), 1);
    assert_eq!(file.read(at(cdma::D_PERF_DAT_READ_STALL)), 0);
    file.write(at(cdma::S_POINTER), 1);
    assert_eq!(file.read(at(cdma::D_PERF_DAT_READ_STALL)), 99);
    assert_eq!(file.read(at(cdma::S_CBUF_FLUSH_STATUS)), 1);
}

#[test]
fn counters_are_cleared_when_their_group_is_enabled_again() {
    let mut file = RegisterFile::new(Unit::Sdp, RegisterMap::Small);
    file.set(0, sdp::D_PERF_WDMA_WRITE_STALL, 99);
    file.set(1, sdp::D_PERF_WDMA_WRITE_STALL, 77);
    file.write(at(sdp::D_OP_ENABLE), 1);
    assert_eq!(file.read(at(sdp::D_PERF_WDMA_WRITE_STALL)), 0);
    assert_eq!(file.group(1).word(sdp::D_PERF_WDMA_WRITE_STALL), 77);
}

#[test]
fn counters_that_the_datapath_keeps_are_not_cleared() {
    let mut file = pdp();
    file.set(0, pdp::D_PERF_WRITE_STALL, 99);
    file.write(at(pdp::D_OP_ENABLE), 1);
    assert_eq!(file.read(at(pdp::D_PERF_WRITE_STALL)), 99);
}

#[test]
fn units_without_groups_are_plain_files() {
    let mut file = RegisterFile::new(Unit::Mcif, RegisterMap::Small);
    assert_eq!(file.read(at(mcif::CFG_OUTSTANDING_CNT)), 0xffff);
    // Bit 0 of the second register must not be taken for a producer.
    file.write(at(mcif::CFG_RD_WEIGHT_1), 0x0403_0201);
    file.write(at(mcif::CFG_RD_WEIGHT_2), 1);
    assert_eq!(file.read(at(mcif::CFG_RD_WEIGHT_1)), 0x0403_0201);
    assert_eq!((file.producer(), file.enabled_group(), file.finish()), (0, None, None));
}

#[test]
fn bdma_command_words_stay_readable() {
    let mut file = RegisterFile::new(Unit::Bdma, RegisterMap::Full);
    assert_eq!(file.write(at(bdma::CFG_OP), 1), Written::Stored(bdma::CFG_OP));
    assert_eq!(file.read(at(bdma::CFG_OP)), 1);
    assert_eq!(file.read(at(bdma::STATUS)), 0x114);
}

#[test]
fn write_only_reads_0_and_write_one_clears() {
    let mut file = RegisterFile::new(Unit::Glb, RegisterMap::Small);
    file.write(at(glb::S_INTR_SET), 1);
    assert_eq!(file.read(at(glb::S_INTR_SET)), 0);
    file.set(0, glb::S_INTR_STATUS, 0b11);
    file.write(at(glb::S_INTR_STATUS), 0b01);
    assert_eq!(file.read(at(glb::S_INTR_STATUS)), 0b10);
}

#[test]
fn a_driver_loads_the_tables_through_the_port() {
    for (unit, cfg, data) in [
        (Unit::Sdp, sdp::S_LUT_ACCESS_CFG, sdp::S_LUT_ACCESS_DATA),
        (Unit::Cdp, cdp::S_LUT_ACCESS_CFG, cdp::S_LUT_ACCESS_DATA),
    ] {
        let mut file = RegisterFile::new(unit, RegisterMap::Large);
        file.write(at(cfg), 0x3_0000);
        (0..257).for_each(|entry| {
            file.write(at(data), 0xff00 + entry);
        });
        let lut = file.lut().unwrap();
        assert_eq!((lut.lo()[0], lut.lo()[255], lut.lo()[256]), (-256, -1, 0));
        file.write(at(cfg), 0x1_0002);
        assert_eq!(file.peek(at(data), None), 0xff02);
        assert_eq!((file.read(at(data)), file.read(at(data))), (0xff02, 0xff03));
        let index = if unit == Unit::Sdp { 2 } else { 4 };
        assert_eq!(file.read(at(cfg)), 0x1_0000 + index);
    }
}

#[test]
fn shared_registers_lie_where_the_file_looks_for_them() {
    for unit in Unit::ALL.into_iter().filter(|unit| unit.is_ping_pong()) {
        for name in ["S_STATUS", "S_POINTER"] {
            assert_eq!(unit.register(name).map(|it| it.offset), Unit::Sdp.register(name).map(|it| it.offset));
        }
    }
    for (ours, theirs) in
        [(cdp::S_LUT_ACCESS_CFG, sdp::S_LUT_ACCESS_CFG), (cdp::S_LUT_ACCESS_DATA, sdp::S_LUT_ACCESS_DATA)]
    {
        assert_eq!((ours.name, ours.offset), (theirs.name, theirs.offset));
    }
}

/// Counters of the datapaths of PDP and CDP.
fn keeps(unit: Unit, name: &str) -> bool {
    matches!(unit, Unit::Pdp | Unit::PdpRdma | Unit::Cdp | Unit::CdpRdma) && name.starts_with("D_PERF_")
}

/// The rules once more, slowly: one cell a register and group, each rule asked by name at every access.
struct Naive {
    unit: Unit,
    map: RegisterMap,
    cells: BTreeMap<(usize, &'static str), u32>,
    producer: usize,
    consumer: usize,
    op_en: [bool; 2],
}

impl Naive {
    fn new(unit: Unit, map: RegisterMap) -> Self {
        Self { unit, map, cells: BTreeMap::new(), producer: 0, consumer: 0, op_en: [false; 2] }
    }

    fn group_of(&self, register: RegisterRef) -> usize {
        if register.grouping == Grouping::Single { 0 } else { self.producer }
    }

    fn read(&self, offset: u32) -> u32 {
        let Some(register) = self.unit.registers().iter().find(|it| at(it) == offset) else { return 0 };
        match register.name {
            "S_POINTER" => self.producer as u32 | (self.consumer as u32) << 16,
            "S_STATUS" => [0, 1]
                .into_iter()
                .filter(|&group| self.op_en[group])
                .map(|group| if group == self.consumer { 1 << (16 * group) } else { 2 << (16 * group) })
                .sum(),
            "D_OP_ENABLE" => self.op_en[self.producer].into(),
            name => {
                let reset = register.reset(self.map.family());
                self.cells.get(&(self.group_of(register), name)).copied().unwrap_or(reset)
            }
        }
    }

    fn write(&mut self, offset: u32, value: u32) {
        let Some(register) = self.unit.registers().iter().find(|it| at(it) == offset) else { return };
        let is_taken = register.grouping == Grouping::Duplicated && self.op_en[self.producer];
        if is_taken || register.access == Access::ReadOnly {
            return;
        }
        match register.name {
            "S_POINTER" => self.producer = value as usize & 1,
            "D_OP_ENABLE" => {
                self.op_en[self.producer] = value & 1 == 1;
                if value & 1 == 1 {
                    let producer = self.producer;
                    self.cells.retain(|(group, name), _| {
                        *group != producer
                            || self.unit.register(name).unwrap().access != Access::ReadOnly
                            || name.starts_with("S_")
                            || keeps(self.unit, name)
                    });
                }
            }
            name => {
                let fields = register.mask(self.map.family(), |_| true);
                self.cells.insert((self.group_of(register), name), value & fields);
            }
        }
    }

    fn set_counter(&mut self, group: usize, register: RegisterRef, value: u32) {
        let fields = register.mask(self.map.family(), |_| true);
        self.cells.insert((group, register.name), value & fields);
    }

    fn finish(&mut self) -> Option<usize> {
        let group = self.consumer;
        if !self.op_en[group] {
            return None;
        }
        self.op_en[group] = false;
        self.consumer ^= 1;
        Some(group)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Write(u32, u32),
    Read(u32),
    Count(usize, u32, u32),
    Finish,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Offsets a little beyond the largest unit; the pointer and enable registers often.
    let offset = prop_oneof![4 => (0..72u32).prop_map(|word| word * 4), 1 => Just(4u32), 1 => 0..300u32];
    let step = prop_oneof![
        4 => (offset.clone(), any::<u32>()).prop_map(|(offset, value)| Step::Write(offset, value)),
        2 => (0..2u32).prop_map(|value| Step::Write(4, value)),
        3 => prop::sample::select(vec![0x08, 0x10, 0x38, 0x48]).prop_map(|it| Step::Write(it, 1)),
        4 => offset.clone().prop_map(Step::Read),
        1 => (0..2usize, offset, any::<u32>()).prop_map(|(group, offset, it)| Step::Count(group, offset, it)),
        2 => Just(Step::Finish),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    #[test]
    fn every_access_sequence_ends_as_the_rules_say(
        unit in prop::sample::select(&Unit::ALL[1..]),
        map in prop::sample::select(&RegisterMap::ALL[..]),
        steps in steps(),
    ) {
        // GLB's rights and the table port have their own tests.
        prop_assume!(unit != Unit::Glb);
        let is_port = |offset| matches!(unit, Unit::Sdp | Unit::Cdp) && matches!(offset, 8 | 12);
        let mut file = RegisterFile::new(unit, map);
        let mut naive = Naive::new(unit, map);
        for step in steps {
            match step {
                Step::Write(offset, _) | Step::Read(offset) if is_port(offset) => {}
                Step::Write(offset, value) => {
                    let before = naive.op_en;
                    naive.write(offset, value);
                    let written = file.write(offset, value);
                    let started = (0..2).find(|&group| naive.op_en[group] && !before[group]);
                    match written {
                        Written::Enabled { group } => prop_assert_eq!(Some(group), started),
                        _ => prop_assert_eq!(None, started),
                    }
                }
                Step::Read(offset) => prop_assert_eq!(file.read(offset), naive.read(offset)),
                Step::Count(group, offset, value) => {
                    let register = unit.register_at(offset);
                    if let Some(register) = register.filter(|it| {
                        it.grouping == Grouping::Duplicated && it.access == Access::ReadOnly
                    }) {
                        file.set(group, register, value);
                        naive.set_counter(group, register, value);
                    }
                }
                Step::Finish => prop_assert_eq!(file.finish(), naive.finish()),
            }
            prop_assert_eq!(file.enabled_group(), Some(naive.consumer).filter(|&it| naive.op_en[it]));
        }
        for word in 0..72 {
            if !is_port(4 * word) {
                prop_assert_eq!(file.read(4 * word), naive.read(4 * word), "offset {:#x}", 4 * word);
            }
        }
    }
}
