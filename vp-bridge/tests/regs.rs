//! `vp regs` shows the registers of a platform as they are served.

use std::process::Command;

use vp_models::host::Host as _;
use vp_models::local::LocalHost;
use vp_models::platform::{Description, Platform};

fn vp(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_vp")).args(arguments).output().unwrap();
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
