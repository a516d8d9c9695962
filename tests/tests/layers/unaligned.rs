//! Addresses and strides that are no multiple of an atom leave what they leave on the vendor's RTL, and are warned of.

use std::fs;

use vp_host::Host as _;
use vp_host::LocalHost;
use vp_host::trace::Trace;
use vp_host::trace::player::{self, PlayOptions};
use vp_models::platform::Platform;
use vp_tests::random::{Draw, Leaves};

/// Plays the drawn layer with so much added to a register; tells of the failures, and the warnings.
fn played(platform: &str, seed: u64, register: &str, more: u32) -> (Vec<String>, Vec<String>) {
    let mut draw = Draw::new(platform, seed);
    let folder = tempfile::tempdir().unwrap();
    let script = draw.sequence("layer", 1, Leaves::WhatIsTaken).trace.save(folder.path()).unwrap();
    let (start, mut changed) = (format!("reg_write(NVDLA_{register}_0, 0x"), 0);
    let lines = fs::read_to_string(&script).unwrap();
    let lines: Vec<String> = lines
        .lines()
        .map(|line| match line.strip_prefix(&start).and_then(|rest| rest.strip_suffix(");")) {
            Some(value) => {
                changed += 1;
                format!("{start}{:x});", u32::from_str_radix(value, 16).unwrap() + more)
            }
            None => line.to_owned(),
        })
        .collect();
    assert_eq!(changed, 1, "{register}");
    fs::write(&script, lines.join("\n")).unwrap();
    let mut host = LocalHost::new(Platform::build(draw.description()).unwrap());
    let map = host.map();
    let options = PlayOptions::default();
    let outcome = player::play(&Trace::load(&script).unwrap(), &mut host, &map, &options).unwrap();
    let failures = outcome.failures.iter().map(ToString::to_string).collect();
    (failures, host.warnings().into_iter().map(|warning| warning.text).collect())
}

/// Each was run on the RTL (branch nv_small, and master's nv_large): it left the bytes of the layer without the addition.
#[test]
fn what_has_no_lower_bits_is_taken_without_them() {
    for (platform, seed, register, more) in [
        ("nv_small", 11, "SDP.D_DST_BASE_ADDR_LOW", 7),
        ("nv_small", 11, "SDP.D_DST_SURFACE_STRIDE", 7),
        ("nv_small", 11, "SDP_RDMA.D_SRC_BASE_ADDR_LOW", 7),
        ("nv_small", 11, "SDP_RDMA.D_BS_BASE_ADDR_LOW", 3),
        ("nv_small", 12, "PDP.D_DST_BASE_ADDR_LOW", 7),
        ("nv_small", 12, "PDP_RDMA.D_SRC_BASE_ADDR_LOW", 3),
        ("nv_small", 31, "CDP.D_DST_BASE_ADDR_LOW", 7),
        ("nv_small", 13, "CDMA.D_DAIN_ADDR_LOW_0", 7),
        ("nv_small", 13, "CDMA.D_WEIGHT_ADDR_LOW", 7),
        ("nv_small", 13, "CDMA.D_LINE_STRIDE", 7),
        ("nv_small", 13, "CDMA.D_SURF_STRIDE", 3),
        ("nv_small", 32, "CDMA.D_DAIN_ADDR_LOW_0", 5),
        ("nv_large_master", 11, "SDP.D_DST_BASE_ADDR_LOW", 17),
        ("nv_large_master", 12, "PDP_RDMA.D_SRC_BASE_ADDR_LOW", 17),
        ("nv_large_master", 4, "CDP.D_DST_BASE_ADDR_LOW", 17),
        ("nv_large_master", 13, "CDMA.D_SURF_STRIDE", 17),
    ] {
        let (failures, warnings) = played(platform, seed, register, more);
        assert_eq!(failures, Vec::<String>::new(), "{platform} {seed} {register}");
        let atom = if platform == "nv_small" { 8 } else { 32 };
        let rule = format!("no multiple of the atom's {atom} bytes");
        let told: Vec<&String> = warnings
            .iter()
            .filter(|text| text.contains(&format!("{register} is")) && text.contains(&rule))
            .collect();
        assert_eq!((told.len(), warnings.len()), (1, 1), "{platform} {seed} {register}: {warnings:?}");
    }
}

/// An address ends where the address pins do: of nv_small at 32 bits (run on its RTL).
#[test]
fn what_is_above_the_address_pins_is_not_on_the_bus() {
    for (seed, register) in [
        (11, "SDP.D_DST_BASE_ADDR_HIGH"),
        (11, "SDP_RDMA.D_SRC_BASE_ADDR_HIGH"),
        (12, "PDP.D_DST_BASE_ADDR_HIGH"),
        (13, "CDMA.D_DAIN_ADDR_HIGH_0"),
        (13, "CDMA.D_WEIGHT_ADDR_HIGH"),
    ] {
        assert_eq!(played("nv_small", seed, register, 1).0, Vec::<String>::new(), "{register}");
        let wide = played("nv_large", seed, register, 1).1;
        assert!(wide.iter().any(|text| text.contains("0x1")), "{register}: {wide:?}");
    }
}

/// PDP and CDP add strides up as they are: the checksums are the RTL's.
#[test]
fn strides_of_pdp_and_cdp_are_added_up_with_their_lower_bits() {
    for (platform, seed, register, more, crc) in [
        ("nv_small", 12, "PDP.D_DST_LINE_STRIDE", 7, "0xfa3248b7"),
        ("nv_small", 12, "PDP.D_DST_LINE_STRIDE", 3, "0xeadbdd5f"),
        ("nv_small", 12, "PDP.D_DST_SURFACE_STRIDE", 7, "0x14645654"),
        ("nv_small", 12, "PDP_RDMA.D_SRC_SURFACE_STRIDE", 7, "0x8febd3e1"),
        ("nv_small", 2, "PDP_RDMA.D_SRC_LINE_STRIDE", 7, "0x7bd1c228"),
        ("nv_small", 31, "CDP.D_DST_LINE_STRIDE", 7, "0xd367aad7"),
        ("nv_large_master", 12, "PDP.D_DST_LINE_STRIDE", 17, "0x06804f90"),
    ] {
        let (failures, warnings) = played(platform, seed, register, more);
        let found = format!("found {crc}");
        assert!(
            failures.len() == 1 && failures[0].contains(&found),
            "{platform} {seed} {register}: {failures:?}"
        );
        assert!(warnings[0].contains("each address loses its lower bits on the bus"), "{warnings:?}");
    }
}
