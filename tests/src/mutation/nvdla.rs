//! NVDLA: layers of all units in both groups, alone and behind each other.

use rand::Rng as _;
use vp_host::Host as _;
use vp_host::program::address;
use vp_models::nvdla::registers::{Unit, glb};

use super::{Mutator, PATIENCE, step_to_interrupt};
use crate::device::Device;
use crate::program::Program;
use crate::progress::Progress;
use crate::random::{ConvolutionKind, Draw};
use crate::reference::ConvInput;

/// Units whose programs have no maker here: they are random words, small ones mostly, and addresses in memory.
const WITHOUT_MAKER: [Unit; 5] = [Unit::Bdma, Unit::Rbk, Unit::Mcif, Unit::Cvif, Unit::Glb];

const KINDS: [ConvolutionKind; 4] =
    [ConvolutionKind::Feature, ConvolutionKind::Image, ConvolutionKind::Batches, ConvolutionKind::Winograd];

pub(super) fn run(platform: &str, seed: u64, progress: &Progress) -> u64 {
    let mut mutator = Mutator::new(seed);
    let mut draw = Draw::new(platform, seed);
    let mut device = Device::new(draw.description());
    let mut programs = Vec::new();
    for round in 0..mutator.random.random_range(1..4) {
        let mut program = device.program();
        write(&mut program, &mut mutator, &mut draw, round % 2);
        programs.push(program);
    }
    device.load(&draw.image());
    let map = device.host.map();
    let mut writes = 0;
    let all = PATIENCE * programs.len() as u64;
    for program in &programs {
        for write in &program.writes {
            // Not every map has every unit.
            let Ok(address) = address(map, write.unit, write.register) else { continue };
            if mutator.one_in(200) {
                continue;
            }
            device.host.write(address, mutator.word(write.value)).expect("written");
            writes += 1;
        }
        if mutator.one_in(3) {
            // The next is written while this one runs.
            continue;
        }
        serve(&mut device, all, progress);
    }
    serve(&mut device, all, progress);
    device.host.statistics().expect("statistics");
    writes
}

/// Clears interrupts until there are no more.
fn serve(device: &mut Device, until: vp_core::Time, progress: &Progress) {
    while step_to_interrupt(&mut device.host, until, progress) {
        device.host.set_limit(vp_core::Time::MAX);
        let status = device.read(Unit::Glb, glb::S_INTR_STATUS);
        device.write(Unit::Glb, glb::S_INTR_STATUS, status);
        // An interrupt that is set by hand, masked and unmasked may be there for ever.
        if status == 0 || device.host.now().expect("time") >= until {
            return;
        }
    }
}

/// Some layers, and their enables.
fn write(program: &mut Program, mutator: &mut Mutator, draw: &mut Draw, group: u32) {
    let mut enables = Program::new(vp_models::nvdla::registers::RegisterMap::Full);
    if mutator.one_in(2) {
        let kind = KINDS[mutator.random.random_range(0..KINDS.len())];
        let (mut layer, buffer) = draw.convolution_of(kind, true);
        let alone = matches!(layer.input, ConvInput::Feature(_)) && layer.mode.batches.is_none();
        if layer.sdp.ew.is_some_and(|ew| ew.lut) {
            program.sdp_lut(&draw.lut());
        }
        if alone && layer.mode.winograd.is_none() && mutator.one_in(3) {
            layer.sdp.destination = None;
            let pdp = draw.pdp_behind(&layer.sdp);
            program.pdp(&pdp, group);
            enables.enable_pdp(&pdp, group);
        }
        program.convolution(&layer, &buffer, group);
        let sdp_first = mutator.one_in(2);
        enables.enable_convolution(&layer, group, sdp_first);
    } else {
        let behind = mutator.one_in(3);
        let layer = draw.sdp(!behind);
        if layer.ew.is_some_and(|ew| ew.lut) {
            program.sdp_lut(&draw.lut());
        }
        let pdp = if behind { draw.pdp_behind(&layer) } else { draw.pdp() };
        program.pdp(&pdp, group);
        enables.enable_pdp(&pdp, group);
        program.sdp(&layer, group);
        enables.enable_sdp(group);
    }
    if mutator.one_in(2) {
        program.cdp_lut(&draw.lut());
        program.cdp(&draw.cdp(), group);
        enables.enable_cdp(group);
    }
    for unit in WITHOUT_MAKER {
        if mutator.one_in(4) {
            for register in unit.registers() {
                let shift = mutator.random.random_range(12..32);
                let word = mutator.random.random::<u32>() >> shift;
                let word = if register.name.contains("ADDR_LOW") { 0x8000_0000 | word << 5 } else { word };
                let word = if register.name.contains("ADDR_HIGH") { 0 } else { word };
                program.word(unit, register, word);
            }
        }
    }
    program.writes.extend(enables.writes.iter().copied());
}
