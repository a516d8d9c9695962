//! Layers on nv_full leave the bytes that the vendor's RTL leaves (branch nvdlav1), and take its cycles, or about.
//!
//! `data/rtl-nv-full.csv` names layers by the seed of their draw, without stages of SDP. Its cycles are those of a simulation of the RTL, from the
//! first enable to the interrupt, behind memories that answer reads after 50 cycles; its sums, CRC-32 of what the RTL has left in place of the output. `data/rtl-nv-full-layers.csv`
//! has single layers of `Draw::sequence` behind the same memories, of the whole RTL.

use std::path::Path;

use vp_host::trace::player::{self, PlayOptions};
use vp_host::{Host, LocalHost};
use vp_models::bus::axi::Latency;
use vp_models::nvdla::registers::{Unit, glb};
use vp_models::platform::{Description, Platform};
use vp_tests::device::Device;
use vp_tests::program::Program;
use vp_tests::random::{ConvolutionKind, Draw, Leaves};
use vp_tests::reference::ConvInput;
use vp_tests::shared;

const PLATFORM: &str = "nv_full";
/// Done bits of SDP, CDMA data, CDMA weights and CACC.
const CONVOLUTION_0: u32 = 0x15_0001;
const ALL_BUT_SDP_0: u32 = 0x3f_03fe;
/// Cycles in which the buffer is cleared after reset, and more.
const CLEARED: u64 = 5000;

/// A draw of that kind and seed, and its program.
fn drawn(kind: &str, seed: u64) -> (Draw, impl FnOnce(&mut Program), u64) {
    let (floats, kind) = match kind.strip_prefix("fp16_") {
        Some(kind) => (true, kind),
        None => (false, kind),
    };
    let mut draw = if floats { Draw::floats(PLATFORM, seed, 2000) } else { Draw::new(PLATFORM, seed) };
    let (compressed, kind) = match kind.strip_prefix("compressed_") {
        Some(kind) => (true, kind),
        None => (false, kind),
    };
    let kind = match kind {
        "direct" => ConvolutionKind::Feature,
        "image" => ConvolutionKind::Image,
        "batch" => ConvolutionKind::Batches,
        "winograd" => ConvolutionKind::Winograd,
        other => panic!("no kind `{other}`"),
    };
    let (mut layer, buffer) = draw.convolution_of(kind, compressed);
    (layer.sdp.bs, layer.sdp.bn, layer.sdp.ew) = (None, None, None);
    if floats {
        layer.floats_in_memory = match &layer.input {
            ConvInput::Feature(_) => true,
            ConvInput::Pixels(pixels) => pixels.floats,
        };
        layer.padding = if layer.padding > 0 { 0x3400 + layer.padding } else { 0 };
    }
    let output = layer.sdp.destination.expect("a layer that writes memory").base;
    let program = move |program: &mut Program| {
        // As in the measured runs, whose writes come in groups from the first on.
        program.word(Unit::Glb, glb::S_INTR_MASK, ALL_BUT_SDP_0);
        program.convolution(&layer, &buffer, 0);
        if floats {
            program.as_floats();
            if layer.floats_in_memory {
                program.convolve_floats();
            }
        }
        program.enable_convolution(&layer, 0, true);
    };
    (draw, program, output)
}

#[test]
fn convolutions_of_nv_full_leave_the_rtls_bytes_in_about_its_cycles() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/rtl-nv-full.csv");
    let rows = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut errors = Vec::new();
    for row in rows.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let &[kind, seed, rtl, sum] = &cells[..] else { panic!("four cells: {row}") };
        let number = |cell: &str| cell.parse::<u64>().unwrap_or_else(|error| panic!("{row}: {error}"));
        let (draw, program, output) = drawn(kind, number(seed));
        let mut description = draw.description().clone();
        for memory in [&mut description.dbb0, &mut description.sram0] {
            memory.read_latency = Some(Latency::Fixed(50));
            memory.write_latency = Latency::Fixed(1);
            memory.read_outstanding = 256;
        }
        let mut device = Device::new(&description);
        let image = draw.image();
        device.load(&image);
        device.idle(CLEARED);
        device.run_new(program);
        device.interrupts(CONVOLUTION_0);
        assert_eq!(device.warnings(), Vec::<String>::new(), "{row}");
        let (_, before) = image.regions().iter().find(|(base, _)| *base == output).expect("its output");
        let left = device.fetch(output, before.len());
        assert_eq!(format!("{:08x}", crc32fast::hash(&left)), sum, "{row}: bytes of the output");
        let (rtl, model) = (number(rtl), device.count("nvdla.cycles"));
        errors.push((model.abs_diff(rtl) * 1000 / rtl, format!("{row}: {model} here")));
    }
    errors.sort_unstable();
    let exact = errors.iter().filter(|(error, _)| *error == 0).count();
    shared::say(&format!(
        "convolutions of nv_full: {exact} of {} rows within 0.1 % of the RTL's cycles",
        errors.len()
    ));
    let far: Vec<&String> = errors.iter().filter(|(error, _)| *error > 50).map(|(_, row)| row).collect();
    assert!(far.len() * 10 <= errors.len(), "off by more than 5 %: {far:#?}");
}

/// Layers of all engines, each a sequence of one: drawn when most of the mechanisms were there that are measured here, the second hundred when all were.
#[test]
fn layers_of_nv_full_take_the_cycles_of_its_rtl() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/rtl-nv-full-layers.csv");
    let rows = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut exact, mut near, mut all) = (0, 0, 0);
    for row in rows.lines().skip(1) {
        let (seed, rtl) = row.split_once(',').unwrap_or_else(|| panic!("two cells: {row}"));
        let [seed, rtl] = [seed, rtl].map(|cell| cell.parse::<u64>().unwrap_or_else(|_| panic!("{row}")));
        let mut description = Description::named(PLATFORM).unwrap();
        for memory in [&mut description.dbb0, &mut description.sram0] {
            memory.read_latency = Some(Latency::Fixed(50));
            memory.write_latency = Latency::Fixed(1);
            memory.read_outstanding = 256;
        }
        let mut host = LocalHost::new(Platform::build(&description).unwrap());
        let map = host.map();
        let name = format!("layer_{PLATFORM}_{seed}");
        let layer = Draw::new(PLATFORM, seed).sequence(&name, 1, Leaves::WhatIsTaken);
        let outcome = player::play(&layer.trace, &mut host, &map, &PlayOptions::default()).unwrap();
        assert!(outcome.passed(), "{seed}: {:?}", outcome.failures);
        assert_eq!(host.warnings(), [], "{seed}");
        let model = host.statistics().unwrap().get("nvdla.cycles").unwrap();
        all += 1;
        exact += usize::from(model == rtl);
        near += usize::from(model.abs_diff(rtl) * 100 <= rtl);
    }
    shared::say(&format!("layers of nv_full: {exact} of {all} take the RTL's cycles, {near} are within 1 %"));
    // As many as were measured: a change that loses one looks for its reason.
    assert!(exact >= 198 && near >= 200, "{exact} take the RTL's cycles, {near} are within 1 %");
}
