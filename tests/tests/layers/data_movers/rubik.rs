//! RUBIK: contraction, splitting and merging.

use proptest::prelude::*;
use vp_models::nvdla::registers::{Unit, rbk as reg};
use vp_models::nvdla::rubik::layer::{self as engine, RubikLayer, RubikSurface};
use vp_tests::device::Device;
use vp_tests::effort::cases;
use vp_tests::program::Program;
use vp_tests::random::Draw;
use vp_tests::reference::{CubePlace, Format, Image};

use super::{ATOM, Operations, duration, ram};

const RUBIK_0: u32 = 0x100;
const RUBIK_1: u32 = 0x200;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Contract { x: u32, y: u32, block: u32 },
    Split,
    Merge,
}

#[derive(Clone, Copy, Debug)]
struct Layer {
    mode: Mode,
    /// Value of `IN_PRECISION`: 0 is one byte an element, 1 and 2 are two.
    precision: u32,
    width: u32,
    height: u32,
    channels: u32,
    /// The feature cube that is read, or written by a merge.
    input: CubePlace,
    /// Place of the result. Planes have a `surface` too: from channel to channel.
    output: CubePlace,
}

impl Layer {
    fn format(&self) -> Format {
        Format { atom: ATOM, element: if self.precision == 0 { 1 } else { 2 } }
    }
}

/// Address of an element in planes.
fn in_plane(place: CubePlace, format: Format, channel: u32, y: u32, x: u32) -> u64 {
    place.base
        + u64::from(channel) * u64::from(place.surface)
        + u64::from(y) * u64::from(place.line)
        + u64::from(x * format.element)
}

/// The layer a second time, element by element.
fn reshape(layer: &Layer, memory: &mut Image) {
    let (format, bytes) = (layer.format(), layer.format().element);
    let Layer { input, output, .. } = *layer;
    for y in 0..layer.height {
        for x in 0..layer.width {
            for channel in 0..format.whole(layer.channels) {
                let used = channel < layer.channels;
                match layer.mode {
                    Mode::Contract { x: dx, y: dy, block } => {
                        for (j, i) in (0..dy).flat_map(|j| (0..dx).map(move |i| (j, i))) {
                            let offset = u64::from(j * dx + i) * u64::from(block);
                            let value = memory.element(input.address(format, channel, y, x) + offset, bytes);
                            let to = output.address(format, channel, y * dy + j, x * dx + i);
                            memory.store(to, bytes, value);
                        }
                    }
                    Mode::Split if used => {
                        let value = memory.element(input.address(format, channel, y, x), bytes);
                        memory.store(in_plane(output, format, channel, y, x), bytes, value);
                    }
                    Mode::Split => {}
                    Mode::Merge => {
                        let from = in_plane(input, format, channel, y, x);
                        let value = if used { memory.element(from, bytes) } else { 0 };
                        memory.store(output.address(format, channel, y, x), bytes, value);
                    }
                }
            }
        }
        // A plane's line is written in whole atoms.
        if layer.mode == Mode::Split {
            let end = (layer.width * bytes).next_multiple_of(ATOM) / bytes;
            for (channel, x) in (0..layer.channels).flat_map(|c| (layer.width..end).map(move |x| (c, x))) {
                memory.store(in_plane(output, format, channel, y, x), bytes, 0);
            }
        }
    }
}

fn program(layer: &Layer, group: u32, program: &mut Program) {
    let &Layer { precision, width, height, channels, input, output, .. } = layer;
    let mode = match layer.mode {
        Mode::Contract { x, y, block } => engine::Mode::Contract { x, y, block_stride: block },
        Mode::Split => engine::Mode::Split,
        Mode::Merge => engine::Mode::Merge,
    };
    let surface = |place: CubePlace| RubikSurface {
        ram: ram(place.base),
        base: place.base,
        line_stride: place.line,
        surface_stride: place.surface,
    };
    let (element, source, destination) = (layer.format().element as usize, surface(input), surface(output));
    let encoded =
        RubikLayer { atom: ATOM as usize, mode, element, width, height, channels, source, destination };
    let mut encoded = encoded.fields();
    encoded.set(Unit::Rbk, reg::D_MISC_CFG::IN_PRECISION, precision);
    program.word(Unit::Rbk, reg::S_POINTER, group);
    program.encoded(&encoded);
    program.word(Unit::Rbk, reg::D_OP_ENABLE, 1);
}

fn place(operations: &mut Operations, line: u32, lines: u32, surfaces: u32) -> CubePlace {
    let line = operations.stride(line);
    let surface = operations.stride(line * lines);
    CubePlace { base: operations.region(surface * surfaces), line, surface }
}

fn any_layer(operations: &mut Operations) -> Layer {
    let precision = operations.any(0..3);
    let format = Format { atom: ATOM, element: if precision == 0 { 1 } else { 2 } };
    let (width, height, channels) = (operations.any(1..24), operations.any(1..4), operations.any(1..70));
    let surfaces = channels.div_ceil(format.lanes());
    // Planes are in tiles of 64 pixels.
    let wide = width * operations.any(1..8);
    match operations.any(0..3) {
        0 => {
            let (x, y) = (operations.any(1..20), operations.any(1..4));
            let line = operations.stride(width * ATOM);
            let surface = operations.stride(line * height);
            let block = operations.stride(surface * surfaces);
            let input = CubePlace { base: operations.region(block * x * y), line, surface };
            let output = place(operations, width * x * ATOM, height * y, surfaces);
            let mode = Mode::Contract { x, y, block };
            Layer { mode, precision, width, height, channels, input, output }
        }
        split => {
            let cube = place(operations, wide * ATOM, height, surfaces);
            let planes = place(operations, wide * format.element, height, channels);
            let (mode, input, output) =
                if split == 1 { (Mode::Split, cube, planes) } else { (Mode::Merge, planes, cube) };
            Layer { mode, precision, width: wide, height, channels, input, output }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    /// The second is programmed while the first runs.
    #[test]
    fn layers_in_both_groups_leave_the_references_bytes(seed: u64) {
        let mut operations = Operations::new(seed);
        let layers = [any_layer(&mut operations), any_layer(&mut operations)];
        let mut expected = operations.image();
        layers.iter().for_each(|layer| reshape(layer, &mut expected));
        let write = |to: &mut Program| {
            (0..).zip(&layers).for_each(|(group, layer)| program(layer, group, to));
        };
        operations.leave(write, RUBIK_0 | RUBIK_1, &expected, &format!("{layers:?}"));
    }

    /// Nothing reads `IN_PRECISION` where int8 is all there is (RTL, `NV_NVDLA_rubik`, reg2dp_in_precision).
    #[test]
    fn elements_are_bytes_where_int8_is_all_there_is(seed: u64, precision in 0u32..4) {
        let mut operations = Operations::new(seed);
        let layer = Layer { precision: 0, ..any_layer(&mut operations) };
        let mut expected = operations.image();
        reshape(&layer, &mut expected);
        let mut device = Device::new(Draw::new("nv_large", seed).description());
        device.load(&operations.image());
        device.run_new(|to| program(&Layer { precision, ..layer }, 0, to));
        device.interrupts(RUBIK_0);
        prop_assert_eq!(device.difference(&expected), None, "{:?}", layer);
    }

    /// Whatever modes, strides and addresses: it ends with its interrupt, and nothing panics.
    #[test]
    fn any_register_values_end_with_the_interrupt(values: [u32; 14]) {
        let mut device = Device::named("nv_full");
        let [misc, from, size, channel, high, low, line, surface, plane, to, steps, block, next, out] = values;
        for (register, value) in [
            (reg::D_MISC_CFG, misc),
            (reg::D_DAIN_RAM_TYPE, from),
            (reg::D_DATAIN_SIZE_0, size & 0x3_001f),
            (reg::D_DATAIN_SIZE_1, channel & 0x3f),
            (reg::D_DAIN_ADDR_HIGH, high),
            (reg::D_DAIN_ADDR_LOW, low),
            (reg::D_DAIN_LINE_STRIDE, line),
            (reg::D_DAIN_SURF_STRIDE, surface),
            (reg::D_DAIN_PLANAR_STRIDE, plane),
            (reg::D_DAOUT_RAM_TYPE, to),
            (reg::D_DECONV_STRIDE, steps & 0x3_001f),
            (reg::D_CONTRACT_STRIDE_0, block),
            (reg::D_CONTRACT_STRIDE_1, next),
            (reg::D_DATAOUT_SIZE_1, out & 0x3f),
            (reg::D_OP_ENABLE, 1),
        ] {
            device.write(Unit::Rbk, register, value);
        }
        device.interrupts(RUBIK_0);
    }
}

/// A small layer to change.
fn layer(mode: Mode) -> Layer {
    let at = |base| CubePlace { base, line: 0x400, surface: 0x1000 };
    let (input, output) = (at(0x8000_0000), at(0x8010_0000));
    Layer { mode, precision: 0, width: 8, height: 2, channels: 4, input, output }
}

#[test]
fn a_refused_layer_is_named_and_ends_and_the_next_one_runs() {
    let mut device = Device::named("nv_full");
    device.run_new(|to| {
        program(&Layer { precision: 3, ..layer(Mode::Split) }, 0, to);
        program(&layer(Mode::Split), 1, to);
    });
    device.interrupts(RUBIK_0 | RUBIK_1);
    let text = "layer refused: RBK.D_MISC_CFG.IN_PRECISION = 0x3: \
                there are formats 0 (int8), 1 (int16) and 2 (fp16)";
    assert_eq!(device.warnings(), [text]);
    assert_eq!(device.count("unit.rbk.layers"), 1);
}

#[test]
fn the_consumer_turns_with_the_interrupt() {
    let mut device = Device::named("nv_full");
    for (group, bit) in [(0, RUBIK_0), (1, RUBIK_1), (0, RUBIK_0)] {
        assert_eq!(device.read(Unit::Rbk, reg::S_POINTER) >> 16, group);
        device.run_new(|to| program(&layer(Mode::Merge), group, to));
        device.interrupts(bit);
    }
}

#[test]
fn stalls_are_counted_when_they_are_asked_for() {
    let counted = |enable| {
        let mut device = Device::named("nv_full");
        device.write(Unit::Rbk, reg::D_PERF_ENABLE, enable);
        device.run_new(|to| program(&layer(Mode::Merge), 0, to));
        device.interrupts(RUBIK_0);
        device.read(Unit::Rbk, reg::D_PERF_READ_STALL)
    };
    // Four planes of two lines: each request is counted once, none has to wait.
    assert_eq!((counted(0), counted(1)), (0, 8));
}

/// 64 pixels are 32 beats. RUBIK sends them in 33 cycles, which the memory interface of nv_full takes as they come: a line takes
/// longer than that, and less than if its buffer were filled and emptied in turn.
#[test]
fn a_merge_is_not_held_up_by_the_buffer_at_the_memory_interface() {
    let description = vp_models::platform::Description::named("nv_full").expect("built in");
    let time = |height| {
        let merge = Layer { width: 64, height, ..layer(Mode::Merge) };
        let lines = CubePlace { line: 0x800, surface: 0x10_0000, ..merge.output };
        duration(&description, |to| program(&Layer { output: lines, ..merge }, 0, to))
    };
    let lines = (time(60) - time(40)).cycles(vp_core::Time::ns(1));
    assert!((20 * 33..20 * 2 * 32).contains(&lines), "20 lines in {lines} cycles");
}
