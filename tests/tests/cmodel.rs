//! Layers that NVIDIA's C-model ran, programmed through registers: the memory and counters it left must come out.
//!
//! Each is a folder with `input.txn`, a list of commands executed top to bottom, and the bytes it loads and
//! compares. Layers in formats that are not modelled yet must end with their interrupt and a warning.

use std::path::Path;

use vp_models::host::{Host, Memory};
use vp_models::nvdla::registers::{Unit, glb};
use vp_models::platform::{Description, LocalHost};
use vp_tests::{conformance, shared};

fn number(text: &str) -> u64 {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |hex| (hex, 16));
    u64::from_str_radix(digits, radix).unwrap_or_else(|_| panic!("number `{text}`"))
}

/// The bytes of a file beside the commands.
fn bytes(path: &Path) -> Vec<u8> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).map(|byte| number(byte) as u8).collect()
}

/// The memory behind a bus address.
fn memory(address: u64) -> Memory {
    if address < 0x8000_0000 { Memory::Secondary } else { Memory::Primary }
}

enum Ended {
    /// Everything compared was equal.
    Equal,
    /// The layer was refused, with this warning.
    Refused(String),
}

/// Runs the commands of a folder.
fn run(folder: &Path, host: &mut LocalHost) -> Ended {
    let status = host.map().address(Unit::Glb, glb::S_INTR_STATUS).expect("GLB");
    let text = std::fs::read_to_string(folder.join("input.txn")).expect("input.txn");
    let name = folder.display();
    for line in text.lines() {
        let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        let register = |word: &str| ((number(word) & 0xffff) * 4) as u32;
        match words[..] {
            [] => {}
            ["load_mem", address, _, file] => {
                let address = number(address);
                host.load(memory(address), address, &bytes(&folder.join(file))).expect("in memory");
            }
            ["fill_mem", address, size, byte] => {
                let (address, fill) = (number(address), vec![number(byte) as u8; number(size) as usize]);
                host.load(memory(address), address, &fill).expect("in memory");
            }
            ["write_reg", at, value] => host.write(register(at), number(value) as u32).expect("written"),
            ["wait_intr", mask] => {
                let mut missing = number(mask) as u32;
                while missing != 0 {
                    host.wait_interrupt().unwrap_or_else(|error| panic!("{name}: {error}"));
                    let seen = host.read(status).expect("read");
                    host.write_acknowledged(status, seen).expect("written");
                    missing &= !seen;
                }
                if let Some(warned) = host.platform().take_warnings().first() {
                    return Ended::Refused(warned.text.clone());
                }
            }
            ["dump_mem", address, size, file] => {
                let (address, mut left) = (number(address), vec![0; number(size) as usize]);
                host.fetch(memory(address), address, &mut left).expect("in memory");
                assert!(left == bytes(&folder.join(file)), "{name}: {file}");
            }
            ["read_reg", at, mask, value] => {
                let (mask, value) = (number(mask) as u32, number(value) as u32);
                let read = host.read(register(at)).expect("read");
                let located = host.map().at(register(at)).expect("a register");
                assert_eq!(read & mask, value, "{name}: {located}");
            }
            _ => panic!("{name}: {line}"),
        }
    }
    Ended::Equal
}

#[test]
fn layers_the_c_model_ran_leave_its_bytes_and_counts() {
    let Some(folder) = shared::folder("layers of the C-model", "nvdla/cmod-golden") else { return };
    let index = shared::index(&folder);
    let (mut equal, mut refused) = (0, Vec::new());
    for case in index["cases"].as_array().expect("cases") {
        let name = case["name"].as_str().expect("name");
        if !["sdp", "pdp", "sdp+pdp", "cdp", "conv", "two_layers", "bdma", "rubik"]
            .iter()
            .any(|engines| case["op"] == *engines)
        {
            continue;
        }
        let config = if name.starts_with("small_") { "nv_small" } else { "nv_full" };
        let mut host = conformance::local(&Description::named(config).expect("built in"));
        match run(&folder.join(name), &mut host) {
            Ended::Equal => equal += 1,
            Ended::Refused(why) => refused.push(format!("{name}: {why}")),
        }
    }
    assert!(equal > 0);
    let wrongly = refused.iter().filter(|why| !why.contains("not modelled"));
    assert_eq!(wrongly.collect::<Vec<_>>(), Vec::<&String>::new());
    shared::say(&format!("{equal} layers leave the C-model's bytes; refused:\n{}", refused.join("\n")));
}
