//! For tests: the published register and configuration facts, where the folder with them lies beside the
//! project.

use std::path::PathBuf;

use serde_json::Value;

use crate::conformance_data;

/// The path of `nvdla/{name}` in the nearest ancestor's `shared` folder. `None`, after saying so, when there
/// is none: a clone on its own has no such folder.
pub(in crate::nvdla) fn published_path(name: &str) -> Option<PathBuf> {
    conformance_data::find(name, name)
}

/// Reads the JSON file `nvdla/{name}`, as [`published_path`] finds it.
pub(in crate::nvdla) fn published(name: &str) -> Option<Value> {
    let path = published_path(name)?;
    let text = std::fs::read_to_string(&path).expect("the file can be read");
    Some(serde_json::from_str(&text).expect("the file is JSON"))
}

mod tests {
    use serde_json::Value;

    use super::{published, published_path};
    use crate::nvdla::registers::{Access, Encoding, FieldRef, Grouping, RegisterMap};

    fn access(name: &Value) -> Access {
        match name.as_str() {
            Some("ro") => Access::ReadOnly,
            Some("rw") => Access::ReadWrite,
            Some("wo") => Access::WriteOnly,
            Some("w1c") => Access::WriteOneToClear,
            other => panic!("access {other:?}"),
        }
    }

    fn list(value: &Value) -> &[Value] {
        value.as_array().expect("a list")
    }

    fn check_field(map: RegisterMap, field: FieldRef, fact: &Value) {
        let family = map.family();
        assert_eq!(field.name, fact["name"], "{map} {field}");
        assert_eq!(u64::from(field.bits(family).msb), fact["msb"], "{map} {field}");
        assert_eq!(u64::from(field.bits(family).lsb), fact["lsb"], "{map} {field}");
        assert_eq!(field.access, access(&fact["access"]), "{map} {field}");
        assert_eq!(u64::from(field.reset(family)), fact["reset"], "{map} {field}");
        let encoding = match field.encoding {
            // In-place byte values are told apart by us alone.
            Encoding::Plain | Encoding::Bytes => None,
            Encoding::MinusOne => Some("minus1"),
            Encoding::Signed => Some("signed"),
        };
        assert_eq!(encoding, fact.get("encoding").and_then(Value::as_str), "{map} {field}");
        let values = fact.get("enums").and_then(Value::as_object);
        assert_eq!(field.values.len(), values.map_or(0, serde_json::Map::len), "{map} {field}");
        for (name, value) in values.into_iter().flatten() {
            assert_eq!(field.value_named(name).map(u64::from), value.as_u64(), "{map} {field} {name}");
        }
    }

    #[test]
    fn every_register_and_field_of_every_map_is_as_published() {
        for map in RegisterMap::ALL {
            let Some(facts) = published(&format!("registers/{map}.json")) else { return };
            let units = list(&facts["units"]);
            assert_eq!(map.units().count(), units.len(), "{map}");
            for (slot, fact) in map.units().zip(units) {
                assert_eq!(slot.unit.name(), fact["name"], "{map}");
                assert_eq!(u64::from(slot.base), fact["base"], "{map} {}", slot.unit);
                assert_eq!(slot.unit.is_ping_pong(), fact["ping_pong"], "{map} {}", slot.unit);
                let registers = list(&fact["registers"]);
                assert_eq!(slot.unit.registers().len(), registers.len(), "{map} {}", slot.unit);
                for (register, fact) in slot.unit.registers().iter().zip(registers) {
                    assert_eq!(register.name, fact["name"], "{map} {}", slot.unit);
                    assert_eq!(
                        u64::from(slot.base) + u64::from(register.offset),
                        fact["offset"],
                        "{map} {register}"
                    );
                    assert_eq!(register.access, access(&fact["access"]), "{map} {register}");
                    assert_eq!(u64::from(register.reset(map.family())), fact["reset"], "{map} {register}");
                    let grouping =
                        if fact["group"] == "single" { Grouping::Single } else { Grouping::Duplicated };
                    assert_eq!(register.grouping, grouping, "{map} {register}");
                    let fields = list(&fact["fields"]);
                    assert_eq!(register.fields.len(), fields.len(), "{map} {register}");
                    for (field, fact) in register.fields.iter().zip(fields) {
                        check_field(map, field, fact);
                    }
                }
            }
        }
    }

    #[test]
    fn every_unit_sits_where_the_published_layout_puts_it() {
        let Some(facts) = published("registers/layouts.json") else { return };
        for map in RegisterMap::ALL {
            let layout = facts["config_layout"][map.name()].as_str().expect("a layout's name");
            for slot in map.units() {
                let base = format!("{:#07x}", slot.base);
                assert_eq!(facts["layouts"][layout]["units"][slot.unit.name()], base, "{map} {}", slot.unit);
            }
        }
    }

    #[test]
    fn every_register_the_vendors_traces_name_is_found() {
        let Some(traces) = published_path("traces") else { return };
        for (configuration, map) in [
            ("nv_small", RegisterMap::Small),
            ("nv_small_256", RegisterMap::Small),
            ("nv_small_256_full", RegisterMap::Large),
            ("nv_medium_512", RegisterMap::Small),
            ("nv_medium_1024_full", RegisterMap::Large),
            ("nv_large", RegisterMap::Large),
        ] {
            let mut names = 0;
            for trace in std::fs::read_dir(traces.join(configuration)).expect("traces") {
                for file in std::fs::read_dir(trace.expect("a trace").path()).expect("a folder") {
                    let path = file.expect("a file").path();
                    if path.extension().is_none_or(|extension| extension != "cfg") {
                        continue;
                    }
                    let script = std::fs::read_to_string(&path).expect("a script");
                    for line in script.lines().filter(|line| line.trim_start().starts_with("reg_write")) {
                        let name = line.split(['(', ',', ')']).nth(1).expect("an argument").trim();
                        assert_eq!(
                            map.find(name).map_err(|it| it.to_string()).err(),
                            None,
                            "{}",
                            path.display()
                        );
                        names += 1;
                    }
                }
            }
            assert!(names > 100, "{configuration}: {names}");
        }
    }
}
