//! The vendor's conformance traces of SDP and PDP, run through `decode` and `compute` alone: no kernel, no time.
//!
//! The traces live outside the repository, in `shared/nvdla/traces` of a folder above it; without them the test says
//! so and passes. The reader understands just what these traces use.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::cube::{Cube, Ram, Surface};
use super::registers::{Group, RegisterMap, Unit, sdp as sdp_registers};
use super::sdp::lut::{Table, Tables};
use super::{pdp, sdp};

const PAGE: u64 = 4096;

/// Pages by interface and number; what was never written reads 0.
#[derive(Default)]
struct Memory(HashMap<(Ram, u64), Vec<u8>>);

impl Memory {
    fn put(&mut self, ram: Ram, address: u64, bytes: &[u8]) {
        for (&byte, at) in bytes.iter().zip(address..) {
            self.0.entry((ram, at / PAGE)).or_insert_with(|| vec![0; PAGE as usize])[(at % PAGE) as usize] =
                byte;
        }
    }

    fn get(&self, ram: Ram, address: u64, size: u64) -> Vec<u8> {
        let byte = |at| self.0.get(&(ram, at / PAGE)).map_or(0, |page: &Vec<u8>| page[(at % PAGE) as usize]);
        (address..address + size).map(byte).collect()
    }

    fn gather(&self, from: &Surface, mut cube: Cube) -> Cube {
        for (surface, x, y) in cube.coordinates() {
            let bytes = self.get(from.ram, from.address(surface, x, y), u64::from(from.pixel));
            cube.atom_mut(surface, x, y).copy_from_slice(&bytes);
        }
        cube
    }

    fn scatter(&mut self, to: &Surface, cube: &Cube) {
        for (surface, x, y) in cube.coordinates() {
            self.put(to.ram, to.address(surface, x, y), cube.atom(surface, x, y));
        }
    }
}

/// Groups 0 of the four units, the tables and the memory, once a trace has been read to its end.
struct Programmed {
    groups: BTreeMap<Unit, Group>,
    tables: Tables,
    memory: Memory,
    enabled: Vec<Unit>,
    check: (u64, u64, u32),
}

fn number(text: &str) -> u64 {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |hex| (hex, 16));
    u64::from_str_radix(digits, radix).unwrap_or_else(|_| panic!("number `{text}`"))
}

/// The bytes of a surface file, with their offsets.
fn surface_file(path: &Path) -> Vec<(u64, Vec<u8>)> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let entries = text.split("{offset:").skip(1);
    let entry = |entry: &str| {
        let (offset, rest) = entry.split_once(',').expect("offset");
        let (payload, _) =
            rest.split_once("payload:").expect("payload").1.split_once('}').expect("closing brace");
        (number(offset.trim()), payload.split_whitespace().map(|byte| number(byte) as u8).collect())
    };
    entries.map(entry).collect()
}

fn read(trace: &Path, map: RegisterMap) -> Programmed {
    let units = [Unit::Sdp, Unit::SdpRdma, Unit::Pdp, Unit::PdpRdma];
    let mut state = Programmed {
        groups: units.map(|unit| (unit, Group::new(unit, map))).into(),
        tables: Tables::default(),
        memory: Memory::default(),
        enabled: Vec::new(),
        check: (0, 0, 0),
    };
    let mut lut_access = 0;
    for line in std::fs::read_to_string(trace).expect("trace").lines() {
        let line = line.trim();
        let Some((command, rest)) = line.split_once('(').filter(|_| !line.starts_with("//")) else {
            continue;
        };
        let arguments: Vec<&str> = rest.split_once(')').expect("call").0.split(',').map(str::trim).collect();
        let ram = || if arguments[0] == "sec_mem" { Ram::Secondary } else { Ram::Primary };
        match command {
            "mem_init" => {
                let zeros = vec![0; number(arguments[2]) as usize];
                state.memory.put(ram(), number(arguments[1]), &zeros);
            }
            "mem_load" => {
                let file = trace.with_file_name(arguments[2].trim_matches('"'));
                for (offset, bytes) in surface_file(&file) {
                    state.memory.put(ram(), number(arguments[1]) + offset, &bytes);
                }
            }
            "reg_write" => {
                let located = map.find(arguments[0]).unwrap_or_else(|error| panic!("{error}"));
                let value = number(arguments[1]) as u32;
                match state.groups.get_mut(&located.unit) {
                    Some(group) if located.register.name == "S_LUT_ACCESS_DATA" => {
                        use sdp_registers::s_lut_access_cfg::{LUT_ACCESS_TYPE, LUT_ADDR, LUT_TABLE_ID};
                        if group.flag(LUT_ACCESS_TYPE) {
                            let table = Table::from_field(group.get(LUT_TABLE_ID));
                            state.tables.set_entry(table, group.get(LUT_ADDR) + lut_access, value as i16);
                            lut_access += 1;
                        }
                    }
                    Some(group) => {
                        if located.register.name == "S_LUT_ACCESS_CFG" {
                            lut_access = 0;
                        }
                        if located.register.name == "D_OP_ENABLE" {
                            state.enabled.push(located.unit);
                        }
                        group.set_word(located.register, value);
                    }
                    None => {}
                }
            }
            "check_crc" => {
                state.check = (number(arguments[2]), number(arguments[3]), number(arguments[4]) as u32);
            }
            "intr_notify" | "sync_notify" | "sync_wait" | "check_nothing" => {}
            other => panic!("{}: command `{other}`", trace.display()),
        }
    }
    state
}

impl Programmed {
    /// Runs SDP, then PDP, as far as they are enabled.
    fn run(&mut self, hardware: &sdp::layer::Hardware) {
        let mut on_the_fly = None;
        if self.enabled.contains(&Unit::Sdp) {
            let layer =
                sdp::layer::Layer::decode(&self.groups[&Unit::Sdp], &self.groups[&Unit::SdpRdma], hardware)
                    .unwrap_or_else(|refused| panic!("{refused}"));
            let needs = sdp::layer::Layer::needs_rdma(&self.groups[&Unit::Sdp], hardware);
            assert_eq!(needs, layer.uses_rdma());
            let sdp::layer::Source::Memory(source) = layer.source else { panic!("no convolution here") };
            let input = Cube::new(layer.width, layer.height, layer.surfaces(), layer.atom);
            let input = self.memory.gather(&source, input);
            let operands = |stream: Option<sdp::layer::OperandStream>| {
                stream.map(|stream| {
                    let (width, height) =
                        if stream.per_element { (layer.width, layer.height) } else { (1, 1) };
                    let atom = stream.group_bytes(layer.lanes());
                    self.memory.gather(&stream.surface, Cube::new(width, height, layer.surfaces(), atom))
                })
            };
            let bs = operands(layer.bs.and_then(|stage| stage.operands));
            let bn = operands(layer.bn.and_then(|stage| stage.operands));
            let ew = operands(layer.ew.and_then(|stage| stage.operands));
            let operands = sdp::compute::OperandCubes { bs: bs.as_ref(), bn: bn.as_ref(), ew: ew.as_ref() };
            let input = sdp::compute::Input::Memory(&input);
            let (output, _) = sdp::compute::run(&layer, &self.tables, input, &operands);
            match layer.destination {
                sdp::layer::Destination::Memory(destination) => self.memory.scatter(&destination, &output),
                sdp::layer::Destination::Pooling => on_the_fly = Some(output),
            }
        }
        if self.enabled.contains(&Unit::Pdp) {
            let hardware = pdp::layer::Hardware { atom: hardware.atom };
            let layer =
                pdp::layer::Layer::decode(&self.groups[&Unit::Pdp], &self.groups[&Unit::PdpRdma], &hardware)
                    .unwrap_or_else(|refused| panic!("{refused}"));
            let input = match layer.source {
                pdp::layer::Source::Sdp => on_the_fly.expect("output of SDP"),
                pdp::layer::Source::Memory(source) => {
                    let (width, height) = (layer.horizontal.input, layer.vertical.input);
                    self.memory.gather(&source, Cube::new(width, height, layer.surfaces(), layer.atom))
                }
            };
            self.memory.scatter(&layer.destination, &pdp::compute::run(&layer, &input));
        }
    }

    fn crc(&self) -> u32 {
        let (address, size, _) = self.check;
        crc32fast::hash(&self.memory.get(Ram::Primary, address, size))
    }
}

fn traces() -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().map(|folder| folder.join("shared/nvdla/traces")).find(|folder| folder.is_dir())
}

#[test]
#[allow(clippy::print_stderr, reason = "says that it was skipped")]
fn every_open_sdp_and_pdp_trace_leaves_the_vendors_bytes() {
    let Some(traces) = traces() else {
        eprintln!("skipped: no shared/nvdla/traces above {}", env!("CARGO_MANIFEST_DIR"));
        return;
    };
    let index = std::fs::read_to_string(traces.join("INDEX.json")).expect("INDEX.json");
    let index: serde_json::Value = serde_json::from_str(&index).expect("INDEX.json");
    let (mut passed, mut absent, mut wrong) = (0, 0, Vec::new());
    for test in index["tests"].as_array().expect("tests") {
        let engines: Vec<_> =
            test["engines"].as_array().expect("engines").iter().filter_map(|it| it.as_str()).collect();
        if test["language"] != "cfg" || !engines.iter().all(|engine| ["SDP", "PDP"].contains(engine)) {
            continue;
        }
        let config = test["config"].as_str().expect("config");
        let (map, atom, ew) = match config {
            "nv_small" | "nv_small_256" => (RegisterMap::Small, 8, false),
            "nv_small_256_full" => (RegisterMap::Large, 8, true),
            "nv_medium_512" => (RegisterMap::Small, 16, false),
            "nv_medium_1024_full" | "nv_large" => (RegisterMap::Large, 32, true),
            other => panic!("configuration {other}"),
        };
        let trace = traces.join(test["files"]["@trace"]["path"].as_str().expect("path"));
        let hardware = sdp::layer::Hardware { atom, bs: true, bn: true, ew, lut: ew, int16: false };
        let mut state = read(&trace, map);
        state.run(&hardware);
        // Traces of a stage the configuration lacks expect what hardware with it would write.
        let expect_equal = test["flags"]["needs_hardware_absent_in_config"].is_null();
        match ((state.crc() == state.check.2), expect_equal) {
            (true, true) => passed += 1,
            (false, false) => absent += 1,
            (_, _) => wrong.push(format!("{config}/{}", test["test"])),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    eprintln!(
        "{passed} traces leave the vendor's bytes; {absent} for absent hardware leave others, as they must"
    );
    assert!(passed > 0);
}
