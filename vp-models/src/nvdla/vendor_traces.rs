//! The vendor's conformance traces of SDP and PDP, and layers its C-model ran, through `decode` and `compute` alone: no
//! kernel, no time.
//!
//! They live outside the repository, in `shared/nvdla` of a folder above it; without them the tests say so and pass.
//! The readers understand just what these files use.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::config::Config;
use super::cube::{Cube, Ram, Surface};
use super::refused::Refused;
use super::registers::{
    Direction, Group, Located, LutPort, LutRules, RegisterMap, Table, Unit, sdp as sdp_registers,
};
use super::sdp::lut::Tables;
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
    lut: LutPort,
    memory: Memory,
    enabled: Vec<Unit>,
}

impl Programmed {
    fn new(map: RegisterMap) -> Self {
        let units = [Unit::Sdp, Unit::SdpRdma, Unit::Pdp, Unit::PdpRdma];
        Programmed {
            groups: units.map(|unit| (unit, Group::new(unit, map))).into(),
            lut: LutPort::new(LutRules::Sdp),
            memory: Memory::default(),
            enabled: Vec::new(),
        }
    }

    fn write(&mut self, located: &Located, value: u32) {
        use sdp_registers::s_lut_access_cfg::{LUT_ACCESS_TYPE, LUT_ADDR, LUT_TABLE_ID};
        let Some(group) = self.groups.get_mut(&located.unit) else { return };
        group.set_word(located.register, value);
        match located.register.name {
            "S_LUT_ACCESS_DATA" => self.lut.write(value as i16),
            "S_LUT_ACCESS_CFG" => {
                let table = if group.flag(LUT_TABLE_ID) { Table::Lo } else { Table::Le };
                let direction = if group.flag(LUT_ACCESS_TYPE) { Direction::Write } else { Direction::Read };
                self.lut.configure(group.get(LUT_ADDR) as u16, table, direction);
            }
            "D_OP_ENABLE" => self.enabled.push(located.unit),
            _ => {}
        }
    }
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

/// A `.cfg` trace, and the region it checks: address, size, CRC.
fn read(trace: &Path, map: RegisterMap) -> (Programmed, (u64, u64, u32)) {
    let mut state = Programmed::new(map);
    let mut check = (0, 0, 0);
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
                state.write(&located, number(arguments[1]) as u32);
            }
            "check_crc" => check = (number(arguments[2]), number(arguments[3]), number(arguments[4]) as u32),
            "intr_notify" | "sync_notify" | "sync_wait" | "check_nothing" => {}
            other => panic!("{}: command `{other}`", trace.display()),
        }
    }
    (state, check)
}

/// The bytes of a C-model file.
fn dump(path: &Path) -> Vec<u8> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).map(|byte| number(byte) as u8).collect()
}

impl Programmed {
    /// Runs SDP, then PDP, as far as they are enabled. Returns what SDP counted.
    fn run(&mut self, config: &Config) -> Result<sdp::compute::Counters, Refused> {
        let mut counters = sdp::compute::Counters::default();
        let hardware = &config.into();
        let mut on_the_fly = None;
        if self.enabled.contains(&Unit::Sdp) {
            let (sdp, rdma) = (&self.groups[&Unit::Sdp], &self.groups[&Unit::SdpRdma]);
            let layer = sdp::layer::Layer::decode(sdp, rdma, hardware)?;
            assert_eq!(sdp::layer::Layer::needs_rdma(sdp, hardware), layer.uses_rdma());
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
            let (output, counted) = sdp::compute::run(&layer, &Tables::from(&self.lut), input, &operands);
            counters = counted;
            match layer.destination {
                _ if !layer.has_output() => {}
                sdp::layer::Destination::Memory(destination) => self.memory.scatter(&destination, &output),
                sdp::layer::Destination::Pooling => on_the_fly = Some(output),
            }
        }
        if self.enabled.contains(&Unit::Pdp) {
            let (pdp, rdma) = (&self.groups[&Unit::Pdp], &self.groups[&Unit::PdpRdma]);
            let layer = pdp::layer::Layer::decode(pdp, rdma, &config.into())?;
            let input = match layer.source {
                pdp::layer::Source::Sdp => on_the_fly.expect("output of SDP"),
                pdp::layer::Source::Memory(source) => {
                    let (width, height) = (layer.horizontal.input, layer.vertical.input);
                    self.memory.gather(&source, Cube::new(width, height, layer.surfaces(), layer.atom))
                }
            };
            self.memory.scatter(&layer.destination, &pdp::compute::run(&layer, &input));
        }
        Ok(counters)
    }
}

/// A folder of `shared/nvdla` and its index, if there is one above this crate.
fn shared(folder: &str) -> Option<(PathBuf, serde_json::Value)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here
        .ancestors()
        .map(|above| above.join("shared/nvdla").join(folder))
        .find(|folder| folder.is_dir())?;
    let index = std::fs::read_to_string(folder.join("INDEX.json")).expect("INDEX.json");
    Some((folder, serde_json::from_str(&index).expect("INDEX.json")))
}

#[allow(clippy::print_stderr, reason = "says what it found")]
fn say(what: &str) {
    eprintln!("{what}");
}

#[test]
fn every_open_sdp_and_pdp_trace_leaves_the_vendors_bytes() {
    let Some((traces, index)) = shared("traces") else {
        return say("skipped: no shared/nvdla/traces above this crate");
    };
    let (mut passed, mut absent, mut wrong) = (0, 0, Vec::new());
    for test in index["tests"].as_array().expect("tests") {
        let mut engines = test["engines"].as_array().expect("engines").iter();
        if test["language"] != "cfg" || !engines.all(|engine| engine == "SDP" || engine == "PDP") {
            continue;
        }
        let config =
            Config::named(test["config"].as_str().expect("config")).expect("a built-in configuration");
        let trace = traces.join(test["files"]["@trace"]["path"].as_str().expect("path"));
        let (mut state, (address, size, crc)) = read(&trace, config.register_map);
        state.run(&config).unwrap_or_else(|refused| panic!("{}: {refused}", trace.display()));
        let same = crc32fast::hash(&state.memory.get(Ram::Primary, address, size)) == crc;
        // Traces of a stage the configuration lacks expect what hardware with it would write.
        match (same, test["flags"]["needs_hardware_absent_in_config"].is_null()) {
            (true, true) => passed += 1,
            (false, false) => absent += 1,
            _ => wrong.push(format!("{}/{}", config.name, test["test"])),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(passed > 0);
    say(&format!(
        "{passed} traces leave the vendor's bytes; {absent} of absent hardware leave others, as they must"
    ));
}

#[test]
fn layers_the_c_model_ran_leave_its_bytes_and_counts() {
    let Some((folder, index)) = shared("cmod-golden") else {
        return say("skipped: no shared/nvdla/cmod-golden above this crate");
    };
    let (mut passed, mut refused) = (0, Vec::new());
    for case in index["cases"].as_array().expect("cases") {
        let name = case["name"].as_str().expect("name");
        if !["sdp", "pdp", "sdp+pdp"].iter().any(|operation| case["op"] == *operation) {
            continue;
        }
        let config = if name.starts_with("small_") { "nv_small" } else { "nv_full" };
        let config = Config::named(config).expect("a built-in configuration");
        let mut state = Programmed::new(config.register_map);
        let mut result = None;
        let text = std::fs::read_to_string(folder.join(name).join("input.txn")).expect("input.txn");
        for line in text.lines() {
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            let at =
                |word: &str| config.register_map.at(((number(word) & 0xffff) * 4) as u32).expect("register");
            match words[..] {
                ["load_mem", address, _, file] => {
                    state.memory.put(Ram::Primary, number(address), &dump(&folder.join(name).join(file)));
                }
                ["fill_mem", address, size, byte] => {
                    let bytes = vec![number(byte) as u8; number(size) as usize];
                    state.memory.put(Ram::Primary, number(address), &bytes);
                }
                ["write_reg", register, value] => state.write(&at(register), number(value) as u32),
                ["wait_intr", _] => match state.run(&config) {
                    Ok(counters) => result = Some(counters),
                    Err(why) => {
                        refused.push(format!("{name}: {why}"));
                        break;
                    }
                },
                ["dump_mem", address, size, file] => {
                    let left = state.memory.get(Ram::Primary, number(address), number(size));
                    assert!(left == dump(&folder.join(name).join(file)), "{name}: {file}");
                }
                ["read_reg", register, _, value] => {
                    let counters = result.expect("the layer ran");
                    let counted = match at(register).register.name {
                        "D_STATUS" => counters.unequal.into(),
                        "D_PERF_LUT_UFLOW" => counters.lut.underflow,
                        "D_PERF_LUT_OFLOW" => counters.lut.overflow,
                        "D_PERF_LUT_HYBRID" => counters.lut.hybrid,
                        "D_PERF_LUT_LE_HIT" => counters.lut.le_hit,
                        "D_PERF_LUT_LO_HIT" => counters.lut.lo_hit,
                        "D_PERF_OUT_SATURATION" => counters.out_saturation,
                        other => panic!("{name}: {other}"),
                    };
                    assert_eq!(counted, number(value), "{name}: {}", at(register));
                }
                [] => {}
                _ => panic!("{name}: {line}"),
            }
        }
        passed += usize::from(result.is_some());
    }
    assert!(passed > 0);
    // Not modelled yet: fp16, int16 pooling, conversions between formats.
    say(&format!("{passed} layers leave the C-model's bytes; refused:\n{}", refused.join("\n")));
}
