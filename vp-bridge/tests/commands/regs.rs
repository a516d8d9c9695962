//! `vp regs` shows the registers of a platform as they are served.

use crate::common::process::Ended as _;
use crate::common::tools;
use std::path::Path;
use std::process::Command;

use vp_host::Host as _;
use vp_host::LocalHost;
use vp_models::platform::{Description, DeviceRegisters, NamedRegister, Platform};

fn vp(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_vp")).args(arguments).ended();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

/// Address and reset of each line.
fn shown(text: &str) -> Vec<(u32, u32)> {
    let number = |text: &str| text.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let lines = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let reset = words.iter().position(|word| *word == "reset")?;
        Some((number(words[0])?, number(words[reset + 1])?))
    });
    lines.collect()
}

#[test]
fn the_capability_rom_is_shown_as_it_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.toml");
    let own = "name = \"own\"\n[nvdla]\nbase = \"nv_large\"\npdp = false\nrubik = false\nrubik_contract = false\nrubik_reshape = false\n";
    std::fs::write(&file, own).unwrap();
    let own = file.to_str().unwrap();
    for platform in ["nv_small", "nv_small_256", "nv_medium_512", "nv_large", own] {
        let (is_right, text) = vp(&["regs", "CFGROM", "--brief", "--platform", platform]);
        assert!(is_right, "{text}");
        let description = match platform == own {
            true => Description::parse(&std::fs::read_to_string(&file).unwrap()).unwrap(),
            false => Description::named(platform).unwrap(),
        };
        let mut host = LocalHost::new(Platform::build(&description).unwrap());
        let shown = shown(&text);
        assert!(shown.len() > 80, "{platform}: {text}");
        for (address, value) in shown {
            assert_eq!(host.read(address), Ok(value), "{platform} {address:#x}");
        }
    }
    let (is_right, text) = vp(&["regs", "PDP", "--platform", own]);
    assert!(!is_right && text.contains("the platform has no PDP: what is there reads zero"), "{text}");
    let (is_right, text) = vp(&["regs", "0xb048", "--platform", own]);
    assert!(!is_right && text.contains("has no PDP"), "{text}");
    let (_, text) = vp(&["regs", "POOLING", "--brief", "--platform", "nv_small"]);
    assert!(text.contains("PDP.D_POOLING_PADDING_CFG"), "{text}");
}

#[test]
fn bursts_are_no_longer_than_the_pins_can_say() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.toml");
    std::fs::write(&file, "name = \"own\"\n[nvdla]\nbase = \"nv_large\"\nprimary_max_burst = 32\n").unwrap();
    let (is_right, text) = vp(&["platform", "check", file.to_str().unwrap()]);
    assert!(!is_right && text.contains("primary_max_burst") && text.contains("1 to 16"), "{text}");
}

/// The header compiles, and a C compiler finds the table's numbers in it.
#[test]
fn the_c_header_compiles_and_says_what_the_table_says() {
    let folder = tempfile::tempdir().unwrap();
    for platform in ["nv_small", "nv_large", "nv_full", "fpga-ai-suite"] {
        let (is_right, header) = vp(&["regs", "--format", "c-header", "--platform", platform]);
        assert!(is_right, "{header}");
        std::fs::write(folder.path().join("registers.h"), &header).unwrap();
        let description = Description::named(platform).unwrap();
        let registers = DeviceRegisters::of(&description);
        let prefix = if description.nvdla().is_some() { "NVDLA_" } else { "" };
        let mut checks = "#include \"registers.h\"\n".to_owned();
        let mut count = 0;
        for register in registers.all().iter().filter(|register| register.unit != "CFGROM") {
            let name = format!("{prefix}{}_{}", register.unit, register.name);
            checks += &format!("_Static_assert({name} == {}u, \"\");\n", register.address);
            checks +=
                &format!("_Static_assert({name}_RESET == {}u, \"\");\n", register.reset(registers.family()));
            for field in register.fields() {
                let bits = field.bits(registers.family());
                checks += &format!("_Static_assert({name}_{}_MASK == {}u, \"\");\n", field.name, bits.mask());
                checks += &format!("_Static_assert({name}_{}_SHIFT == {}u, \"\");\n", field.name, bits.lsb);
                count += 1;
            }
        }
        assert!(count > 50, "{platform}: {count} fields");
        let file = folder.path().join("checks.c");
        std::fs::write(&file, checks).unwrap();
        let compiled =
            Command::new("cc").args(["-std=c11", "-Wall", "-Werror", "-fsyntax-only"]).arg(&file).output();
        let compiled = compiled.unwrap();
        assert!(compiled.status.success(), "{platform}: {}", String::from_utf8_lossy(&compiled.stderr));
    }
}

#[test]
fn the_json_has_each_register_and_field() {
    let (is_right, text) = vp(&["regs", "--format", "json", "--platform", "nv_large"]);
    assert!(is_right, "{text}");
    let map: serde_json::Value = serde_json::from_str(&text).unwrap();
    let registers = DeviceRegisters::of(&Description::named("nv_large").unwrap());
    let written = map["registers"].as_array().unwrap();
    assert_eq!((map["map"].as_str(), written.len()), (Some(registers.map()), registers.all().len()));
    for (written, register) in written.iter().zip(registers.all()) {
        assert_eq!(
            (written["unit"].as_str(), written["address"].as_u64()),
            (Some(register.unit), Some(register.address.into()))
        );
        assert_eq!(written["fields"].as_array().map(Vec::len), Some(register.fields().len()));
    }
}

/// Read by SystemRDL's compiler, of Python's packages.
#[test]
fn systemrdl_is_read_by_its_compiler() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/perfetto/bin/python3");
    let has_it =
        Command::new(&python).args(["-c", "import systemrdl"]).output().is_ok_and(|it| it.status.success());
    if !has_it {
        tools::skipped("systemrdl_is_read_by_its_compiler", "no Python with systemrdl (test.sh installs it)");
        return;
    }
    const READ: &str = "
import sys
from systemrdl import RDLCompiler
from systemrdl.node import FieldNode, RegNode
compiler = RDLCompiler()
compiler.compile_file(sys.argv[1])
nodes = list(compiler.elaborate().descendants())
registers = [node for node in nodes if isinstance(node, RegNode)]
fields = [node for node in nodes if isinstance(node, FieldNode)]
print(len(registers), sum(node.absolute_address for node in registers), sum(node.low for node in fields), sum(node.high for node in fields))
";
    let folder = tempfile::tempdir().unwrap();
    for platform in ["nv_small", "nv_large", "nv_full", "fpga-ai-suite"] {
        let (is_right, rdl) = vp(&["regs", "--format", "systemrdl", "--platform", platform]);
        assert!(is_right, "{rdl}");
        let file = folder.path().join("map.rdl");
        std::fs::write(&file, rdl).unwrap();
        let read = Command::new(&python).args(["-c", READ]).arg(&file).ended();
        assert!(read.status.success(), "{platform}: {}", String::from_utf8_lossy(&read.stderr));
        let registers = DeviceRegisters::of(&Description::named(platform).unwrap());
        let bits = |register: &NamedRegister| match register.fields() {
            [] => vec![(0, 31)],
            fields => fields
                .iter()
                .map(|field| field.bits(registers.family()))
                .map(|bits| (bits.lsb.into(), bits.msb.into()))
                .collect::<Vec<(u64, u64)>>(),
        };
        let all = registers.all();
        let fields: Vec<(u64, u64)> = all.iter().flat_map(bits).collect();
        let expected = format!(
            "{} {} {} {}",
            all.len(),
            all.iter().map(|register| u64::from(register.address)).sum::<u64>(),
            fields.iter().map(|field| field.0).sum::<u64>(),
            fields.iter().map(|field| field.1).sum::<u64>()
        );
        assert_eq!(String::from_utf8(read.stdout).unwrap().trim(), expected, "{platform}");
    }
}

#[test]
fn an_address_finds_its_register_in_bytes_or_in_words_in_whichever_map_has_it() {
    for (arguments, wanted) in [
        (
            &["regs", "0xffff0401"][..],
            &["GLB.S_INTR_MASK", "0xffff0401 is a word address: 0x1004 in bytes"][..],
        ),
        (&["regs", "0xffff1405", "--platform", "nv_full"], &["CDMA.D_MISC_CFG"]),
        (&["regs", "0x1405", "--platform", "nv_full"], &["CDMA.D_MISC_CFG", "0x5014 in bytes"]),
        (
            &["regs", "0xffff1405"],
            &["CDMA.D_MISC_CFG", "in the nv_full map; that of nv_small has nothing there"],
        ),
        (&["regs", "0x1405"], &["CDMA.D_MISC_CFG"]),
        (
            &["regs", "0x10201004"],
            &["GLB.S_INTR_MASK", "0x10201004 is 0x1004 in a register window at 0x10200000"],
        ),
        (&["regs", "0x1004"], &["GLB.S_INTR_MASK", "as a word address it is CSC.D_DATAIN_FORMAT, at 0x4010"]),
    ] {
        let (is_right, text) = vp(arguments);
        assert!(is_right && wanted.iter().all(|part| text.contains(part)), "{arguments:?}: {text}");
    }
    let (is_right, text) = vp(&["regs", "0xffff1405", "--platform", "nv_small"]);
    assert!(!is_right && text.contains("which is 0x5014 in bytes"), "{text}");
}
