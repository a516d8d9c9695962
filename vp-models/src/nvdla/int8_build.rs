//! Precision fields of builds that have int8 alone. Their registers hold what is written, and almost nothing reads them.
//!
//! `Control` gives out a unit's registers as its datapath has them: such a field says int8, whatever it holds. Fields of SDP and
//! its read DMA are not here: these units use theirs, and their decoder says when.
//!
//! Sources: RTL, branches `nv_small` and `master` (the same in both), each field with its file; nv_small (`master`) was run with
//! each field but RUBIK's at each value.

use super::config::Config;
use super::formats::Formats;
use super::numeric::Precision;
use super::refused::Refused;
use super::registers::{FieldRef, Group, Unit, cacc, cdma, cdp, cdp_rdma, cmac, csc, pdp, pdp_rdma, rbk};

/// A precision field, and the flag with which the build still compares it with int16, if there is one.
type Field = (FieldRef, Option<FieldRef>);

/// All such fields, each with where its wires end.
const FIELDS: [Field; 11] = [
    // `NV_NVDLA_CDMA_CVT_cell`: `cfg_in_precision` has no load; `cfg_out_precision` is compared with int16 behind the converter.
    (cdma::D_MISC_CFG::IN_PRECISION, None),
    (cdma::D_MISC_CFG::PROC_PRECISION, Some(cdma::D_CVT_CFG::CVT_EN)),
    // `NV_NVDLA_CSC_dl`: `pra_precision` goes to `NV_NVDLA_CSC_pra_cell`, of Winograd's method; the rest observes.
    (csc::D_MISC_CFG::IN_PRECISION, None),
    (csc::D_MISC_CFG::PROC_PRECISION, Some(csc::D_MISC_CFG::CONV_MODE)),
    // `NV_NVDLA_cmac`: `reg2dp_proc_precision_NC`.
    (cmac::D_MISC_CFG::PROC_PRECISION, None),
    // `NV_NVDLA_CACC_assembly_ctrl`, `_delivery_ctrl`: `is_int8` has no load.
    (cacc::D_MISC_CFG::PROC_PRECISION, None),
    // `NV_NVDLA_pdp`: `.reg2dp_input_data ()`; `NV_NVDLA_PDP_rdma`: the wire has no load.
    (pdp::D_DATA_FORMAT::INPUT_DATA, None),
    (pdp_rdma::D_DATA_FORMAT::INPUT_DATA, None),
    // `NV_NVDLA_cdp`: `.reg2dp_input_data_type ()`; `NV_NVDLA_CDP_RDMA_ig`, `_eg`: the input has no load.
    (cdp::D_DATA_FORMAT::INPUT_DATA_TYPE, None),
    (cdp_rdma::D_DATA_FORMAT::INPUT_DATA, None),
    // `NV_NVDLA_rubik`: `reg2dp_in_precision = 2'b0`.
    (rbk::D_MISC_CFG::IN_PRECISION, None),
];

/// One unit's precision fields that nothing reads.
pub(super) struct Unread {
    fields: Vec<Field>,
    /// The unit's registers after a reset.
    reset: Group,
}

impl Unread {
    /// The fields of a configuration's unit; none where there are other formats.
    pub(super) fn of(unit: Unit, config: &Config) -> Unread {
        let (reset, table) = (Group::new(unit, config.register_map), unit.registers()[0].unit);
        let int8_alone = Formats::of_features(config) == Formats::INT8;
        let fields = FIELDS.into_iter().filter(|(field, _)| int8_alone && field.unit == table).collect();
        Unread { fields, reset }
    }

    /// Registers as the unit's datapath has them.
    pub(super) fn cut(&self, registers: &Group) -> Group {
        let mut cut = registers.clone();
        for field in self.ignored(registers) {
            cut.set(field, Precision::Int8.code());
        }
        cut
    }

    /// Sentences about values that a program has written to such fields in vain. A reset's value is none of these: drivers leave it.
    pub(super) fn warnings(&self, registers: &Group) -> Vec<String> {
        let written = self.ignored(registers).filter(|&field| registers.get(field) != self.reset.get(field));
        let why = "int8 is all that this hardware has: elements are taken as int8";
        written.map(|field| Refused::new(registers, field, why).to_string()).collect()
    }

    /// The fields that say another format than int8 and are not read.
    fn ignored(&self, registers: &Group) -> impl Iterator<Item = FieldRef> {
        let is_read = |(field, flag): &Field| {
            flag.is_some_and(|flag| registers.flag(flag)) && registers.get(field) == Precision::Int16.code()
        };
        let says_int8 = |(field, _): &Field| registers.get(field) == Precision::Int8.code();
        self.fields.iter().filter(move |field| !says_int8(field) && !is_read(field)).map(|(field, _)| *field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(name: &str) -> Config {
        Config::named(name).unwrap()
    }

    /// The code that the datapath has of a field that says `code`, where its flag is 0 and where it is 1.
    fn seen(config: &Config, unit: Unit, (field, flag): Field, code: u32) -> [u32; 2] {
        [0, 1].map(|is_set| {
            let mut group = Group::new(unit, config.register_map);
            if let Some(flag) = flag {
                group.set(flag, is_set);
            }
            group.set(field, code);
            Unread::of(unit, config).cut(&group).get(field)
        })
    }

    #[test]
    fn a_field_says_int8_where_int8_is_all_there_is() {
        for config in Config::NAMES.map(config) {
            for unit in Unit::ALL {
                let of_unit = FIELDS.into_iter().filter(|(field, _)| field.unit == unit.registers()[0].unit);
                for (field, code) in of_unit.flat_map(|field| (0..4).map(move |code| (field, code))) {
                    let expected = match (config.name.as_str(), field.1, code) {
                        ("nv_full", ..) => [code; 2],
                        // The flag has it compared with int16.
                        (_, Some(_), 1) => [0, 1],
                        _ => [0; 2],
                    };
                    assert_eq!(seen(&config, unit, field, code), expected, "{} {}", config.name, field.0);
                }
            }
        }
    }

    #[test]
    fn what_is_written_in_vain_is_told_but_for_the_resets_value() {
        let config = config("nv_small");
        let warnings = |unit, field, code| {
            let mut group = Group::new(unit, config.register_map);
            group.set(field, code);
            Unread::of(unit, &config).warnings(&group)
        };
        let cmac = |code| warnings(Unit::CmacA, cmac::D_MISC_CFG::PROC_PRECISION, code);
        assert_eq!([0, 1].map(cmac), [const { Vec::<String>::new() }; 2]);
        let why = "int8 is all that this hardware has: elements are taken as int8";
        assert_eq!(cmac(2), [format!("CMAC.D_MISC_CFG.PROC_PRECISION = 0x2 (FP16): {why}")]);
        let pdp = |code| warnings(Unit::Pdp, pdp::D_DATA_FORMAT::INPUT_DATA, code);
        assert_eq!(pdp(1), [format!("PDP.D_DATA_FORMAT.INPUT_DATA = 0x1 (INT16): {why}")]);
    }
}
