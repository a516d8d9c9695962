//! Tests of what holds for the tables of all units.

use super::{Access, Bits, Encoding, Family, Grouping, Unit, sdp};

#[test]
fn bits_extract_what_they_insert_and_touch_nothing_else() {
    let bits = Bits { msb: 20, lsb: 16 };
    assert_eq!(bits.mask(), 0x001f_0000);
    assert_eq!(bits.insert(u32::MAX, 0), !bits.mask());
    assert_eq!(bits.extract(bits.insert(0, 0x2a)), 0x0a);
    assert_eq!(Bits { msb: 31, lsb: 0 }.mask(), u32::MAX);
}

#[test]
fn families_differ_where_the_table_says_so() {
    let bypass = sdp::D_DP_BS_CFG::BS_BYPASS;
    assert_eq!((bypass.reset(Family::Full), bypass.reset(Family::Small)), (0, 1));
    assert_eq!(sdp::D_DP_BS_CFG.reset(Family::Small), 0x73);
    let stride = sdp::D_DST_LINE_STRIDE::DST_LINE_STRIDE;
    assert_eq!(stride.bits(Family::Full).to_string(), "31:5");
    assert_eq!(stride.bits(Family::Small).to_string(), "31:0");
}

#[test]
fn named_values_are_constants_and_words() {
    assert_eq!(sdp::D_DP_BS_CFG::BS_ALU_ALGO::SUM, 2);
    assert_eq!(sdp::D_DP_BS_CFG::BS_ALU_ALGO.value_name(2), Some("SUM"));
    assert_eq!(sdp::D_DP_BS_CFG::BS_ALU_ALGO.value_name(3), None);
    assert_eq!(sdp::D_DP_BS_CFG::BS_ALU_ALGO.to_string(), "D_DP_BS_CFG.BS_ALU_ALGO");
}

#[test]
fn tables_have_no_holes_and_no_overlapping_fields() {
    for unit in Unit::ALL {
        for (index, register) in unit.registers().iter().enumerate() {
            assert_eq!(usize::from(register.offset), 4 * index, "{unit}.{register}");
            for family in [Family::Full, Family::Small] {
                let mut taken = 0;
                for field in register.fields {
                    let mask = field.bits(family).mask();
                    assert_eq!(taken & mask, 0, "{unit}.{field}");
                    assert!(field.reset(family) <= mask >> field.bits(family).lsb, "{unit}.{field}");
                    taken |= mask;
                }
            }
        }
    }
}

#[test]
fn every_entry_has_a_sentence() {
    for register in Unit::ALL.iter().flat_map(|unit| unit.registers()) {
        let sentences = register.fields.iter().map(|field| field.doc).chain([register.doc]);
        for sentence in sentences {
            assert!(sentence.ends_with('.') && !sentence.starts_with(' '), "{register}: {sentence:?}");
        }
    }
}

#[test]
fn duplicated_registers_begin_with_op_enable() {
    for unit in Unit::ALL {
        let first = unit.registers().iter().find(|register| register.grouping == Grouping::Duplicated);
        assert_eq!(first.copied(), unit.op_enable(), "{unit}");
        let after = first.map_or(usize::MAX, |register| register.index());
        for register in unit.registers() {
            assert_eq!(
                register.grouping == Grouping::Duplicated,
                register.index() >= after,
                "{unit}.{register}"
            );
        }
    }
}

#[test]
fn only_read_only_or_storage_fields_are_narrower_than_their_registers_right() {
    for register in Unit::ALL.iter().flat_map(|unit| unit.registers()) {
        for field in register.fields {
            let consumer = field.name == "CONSUMER" && field.access == Access::ReadOnly;
            assert!(field.access == register.access || consumer, "{field}");
        }
    }
}

#[test]
fn minus_one_fields_leave_room_for_the_one() {
    for register in Unit::ALL.iter().flat_map(|unit| unit.registers()) {
        for field in register.fields.iter().filter(|field| field.encoding == Encoding::MinusOne) {
            assert!(field.bits(Family::Small).width() < 32, "{field}");
        }
    }
}
