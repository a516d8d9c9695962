//! Statements that the driver relies on where a convolution takes part.

use vp_host::Host as _;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::registers::{RegisterRef, Unit, cacc, cdma, csc, glb, sdp, sdp_rdma};
use vp_tests::device::Device;
use vp_tests::layers::{
    CACC_0, CDMA_DAT_0, CDMA_WT_0, CONV_0, INPUT, OPERANDS, OUTPUT, SDP_0, SDP_1, WEIGHTS, convolving,
    doubling, image, packed, small_buffer, start_convolution, start_sdp,
};
use vp_tests::program::{BufferUse, Program};
use vp_tests::reference::{
    self, ConvInput, ConvLayer, Converter, CubePlace, Format, Image, Lut, SdpLayer, WeightOrder,
};

/// In the order in which the driver enables them.
const UNITS: [Unit; 5] = [Unit::Cacc, Unit::CmacA, Unit::CmacB, Unit::Csc, Unit::Cdma];

fn register(unit: Unit, name: &str) -> RegisterRef {
    unit.register(name).expect("a unit with groups")
}

fn status(device: &mut Device, unit: Unit, group: u32) -> u32 {
    device.read(unit, register(unit, "S_STATUS")) >> (16 * group) & 3
}

fn consumer(device: &mut Device, unit: Unit) -> u32 {
    device.read(unit, register(unit, "S_POINTER")) >> 16
}

/// The driver polls this before it enables anything.
fn flushed(device: &mut Device) {
    let polls = (0..1000).find(|_| device.read(Unit::Cdma, cdma::S_CBUF_FLUSH_STATUS) == 1);
    assert!(polls.is_some());
}

/// Input, weights and room for two outputs of 16 x 16 pixels.
fn memory() -> Image {
    image(
        &[(INPUT, 0x800), (OPERANDS, 0x800), (WEIGHTS, 0x280)],
        &[(OUTPUT, 0x800), (OUTPUT + 0x1000, 0x800)],
    )
}

fn expected(layers: &[&ConvLayer]) -> Image {
    let mut image = memory();
    layers.iter().for_each(|layer| reference::run_convolution(layer, &mut image));
    image
}

/// A device that has flushed its buffer, with that memory.
fn ready() -> Device {
    let mut device = Device::named("nv_small");
    device.load(&memory());
    flushed(&mut device);
    device
}

fn first() -> ConvLayer {
    convolving(16, 16, INPUT, OUTPUT)
}

fn second() -> ConvLayer {
    convolving(16, 16, OPERANDS, OUTPUT + 0x1000)
}

/// Waits until these bits have come, each once, and gives those that had come by the end of each wait.
fn each_once(device: &mut Device, bits: u32) -> Vec<u32> {
    let (mut come, mut waits) = (0, Vec::new());
    while come != bits {
        let status = device.interrupt();
        assert_eq!(status & (come | !bits), 0, "{status:#x} after {come:#x}, of {bits:#x}");
        come |= status;
        waits.push(come);
    }
    waits
}

/// Section 3: nothing that the driver polls stands in the way of a first layer.
#[test]
fn a_convolution_runs_as_soon_as_the_buffer_is_flushed() {
    let mut device = ready();
    device.run_new(start_convolution(&first(), 0));
    each_once(&mut device, CONV_0 | SDP_0);
    assert_eq!(device.difference(&expected(&[&first()])), None);
    assert_eq!(device.warnings(), Vec::<String>::new());
}

/// Section 3: the driver never unmasks these.
#[test]
fn a_convolutions_interrupts_need_no_unmasking() {
    let mut device = ready();
    assert_eq!(device.read(Unit::Glb, glb::S_INTR_MASK) & (CONV_0 | CONV_0 << 1), 0);
    device.run_new(start_convolution(&first(), 0));
    each_once(&mut device, CONV_0 | SDP_0);
}

/// Section 4: the bits of the group, each once; the data and the weights are read before the sums are done, and
/// those before SDP has written them.
#[test]
fn data_and_weights_are_done_before_the_sums_and_those_before_their_output() {
    for group in [0, 1] {
        let mut device = ready();
        if group == 1 {
            device.run_new(start_convolution(&first(), 0));
            each_once(&mut device, CONV_0 | SDP_0);
        }
        device.run_new(start_convolution(&first(), group));
        let [read, sums, output] = [CDMA_DAT_0 | CDMA_WT_0, CACC_0, SDP_0].map(|bits| bits << group);
        for come in each_once(&mut device, read | sums | output) {
            assert!(come & sums == 0 || come & read == read, "{come:#x}");
            assert!(come & output == 0 || come & sums == sums, "{come:#x}");
        }
        device.idle(20_000);
        assert!(!device.host.platform().irq().level());
    }
}

/// Sections 2 and 5: the driver refuses to program a group that any unit does not call idle; it is idle, and the
/// other group's turn, when CACC's interrupt is seen.
#[test]
fn at_the_interrupt_of_the_sums_every_unit_is_idle_and_has_turned() {
    let mut device = ready();
    for group in [0, 1, 0] {
        for unit in UNITS {
            assert_eq!((status(&mut device, unit, group), consumer(&mut device, unit)), (0, group), "{unit}");
        }
        device.run_new(start_convolution(&first(), group));
        let mut come = 0;
        while come & CACC_0 << group == 0 {
            come |= device.interrupt();
        }
        for unit in UNITS {
            assert_eq!(
                (status(&mut device, unit, group), consumer(&mut device, unit)),
                (0, 1 - group),
                "{unit}"
            );
        }
        each_once(&mut device, (CONV_0 | SDP_0) << group & !come);
    }
}

/// Section 5: 1 runs, 2 waits; the second group is programmed and enabled while the first runs.
#[test]
fn two_convolutions_take_turns() {
    let mut device = ready();
    device.run_new(start_convolution(&first(), 0));
    device.run_new(start_convolution(&second(), 1));
    for unit in UNITS {
        let status = device.read(unit, register(unit, "S_STATUS"));
        // CDMA may have read all of the first layer, and is at the second then.
        let ahead = unit == Unit::Cdma && status == 0x0001_0000;
        assert!(status == 0x0002_0001 || ahead, "{unit}: {status:#x}");
    }
    each_once(&mut device, (CONV_0 | SDP_0) | (CONV_0 | SDP_0) << 1);
    for unit in UNITS {
        assert_eq!(device.read(unit, register(unit, "S_STATUS")), 0, "{unit}");
        assert_eq!(consumer(&mut device, unit), 0, "{unit}");
    }
    assert_eq!(device.difference(&expected(&[&first(), &second()])), None);
    assert_eq!(device.warnings(), Vec::<String>::new());
}

/// Section 5: a group is taken again as soon as its layer is done, while the other one runs.
#[test]
fn a_queue_of_convolutions_keeps_both_groups_busy() {
    let mut device = ready();
    let place = |index: u64| 0x8030_0000 + 0x1000 * index;
    let layers: Vec<ConvLayer> = (0..6).map(|index| convolving(16, 16, INPUT, place(index))).collect();
    for (layer, group) in layers.iter().zip([0, 1]) {
        device.run_new(start_convolution(layer, group));
    }
    for index in 0..layers.len() {
        let group = index as u32 % 2;
        let mut missing = (CONV_0 | SDP_0) << group;
        while missing != 0 {
            // The other layer's bits come in between, and stay for its own turn.
            let status = device.read(Unit::Glb, glb::S_INTR_STATUS) & missing;
            device.write(Unit::Glb, glb::S_INTR_STATUS, status);
            missing &= !status;
        }
        if let Some(layer) = layers.get(index + 2) {
            device.run_new(start_convolution(layer, group));
        }
    }
    let mut expected = memory();
    for (layer, index) in layers.iter().zip(0..) {
        let mut one = Image::new(vec![
            (INPUT, region(&expected, INPUT)),
            (WEIGHTS, region(&expected, WEIGHTS)),
            (place(index), vec![0; 0x800]),
        ]);
        reference::run_convolution(layer, &mut one);
        assert_eq!(device.difference(&one), None, "layer {index}");
    }
    expected = memory();
    assert_eq!(device.difference(&expected), None, "nothing else is written");
}

fn region(image: &Image, base: u64) -> Vec<u8> {
    image.regions().iter().find(|(of, _)| *of == base).expect("a region").1.clone()
}

/// Section 5: each group has registers of its own.
#[test]
fn each_unit_of_the_convolution_has_two_groups_of_registers() {
    let mut device = Device::named("nv_small");
    for (unit, register) in [
        (Unit::Cdma, cdma::D_LINE_STRIDE),
        (Unit::Csc, csc::D_ATOMICS),
        (Unit::CmacA, register(Unit::CmacA, "D_MISC_CFG")),
        (Unit::CmacB, register(Unit::CmacB, "D_MISC_CFG")),
        (Unit::Cacc, cacc::D_CLIP_CFG),
    ] {
        let pointer = self::register(unit, "S_POINTER");
        let value = |group: u32| if unit == Unit::Cacc { 8 << group } else { 0x1000 << group };
        for group in [0, 1] {
            device.write(unit, pointer, 0x1_0000 | group);
            assert_eq!(device.read(unit, pointer), group, "{unit}: CONSUMER cannot be written");
            device.write(unit, register, value(group));
        }
        for group in [0, 1] {
            device.write(unit, pointer, group);
            assert_eq!(device.read(unit, register), value(group), "{unit}");
        }
    }
}

/// Section 6: SDP is enabled first, and waits however long the convolution takes to come.
#[test]
fn sdp_waits_for_a_convolution_that_is_enabled_much_later() {
    let layer = first();
    let mut device = ready();
    let mut program = device.program();
    program.convolution(&layer, &small_buffer(&layer), 0);
    let mut start = device.program();
    start.enable_convolution(&layer, 0, true);
    let enable_sdp = start.writes.iter().position(|write| write.unit == Unit::Sdp && write.value == 1);
    let later = start.writes.split_off(enable_sdp.expect("SDP is enabled") + 1);
    device.run(&program);
    device.run(&start);
    device.idle(50_000);
    assert_eq!(status(&mut device, Unit::Sdp, 0), 1);
    device.run_new(|program| program.writes.extend(later));
    each_once(&mut device, CONV_0 | SDP_0);
    assert_eq!(device.difference(&expected(&[&layer])), None);
}

/// Section 6: the driver enables consumers before producers; every other order is right as well.
#[test]
fn the_units_of_a_convolution_are_enabled_in_any_order() {
    let layer = first();
    let expected = expected(&[&layer]);
    for rotated in 0..UNITS.len() {
        for reversed in [false, true] {
            let mut device = ready();
            let mut program = device.program();
            program.convolution(&layer, &small_buffer(&layer), 0);
            program.enable_convolution(&layer, 0, rotated % 2 == 0);
            let enables: Vec<usize> = (0..program.writes.len())
                .filter(|&at| UNITS.contains(&program.writes[at].unit))
                .filter(|&at| program.writes[at].register.name == "D_OP_ENABLE")
                .collect();
            let mut in_order: Vec<_> = enables.iter().map(|&at| program.writes[at]).collect();
            assert_eq!(in_order.iter().map(|write| write.unit).collect::<Vec<_>>(), UNITS);
            in_order.rotate_left(rotated);
            if reversed {
                in_order.reverse();
            }
            enables.into_iter().zip(in_order).for_each(|(at, write)| program.writes[at] = write);
            device.run(&program);
            each_once(&mut device, CONV_0 | SDP_0);
            assert_eq!(device.difference(&expected), None, "rotated by {rotated}, reversed: {reversed}");
        }
    }
}

/// Section 6: SDP's group 1 takes the sums while its group 0 still works on something else, and long before its
/// convolution, which has group 0, is enabled: what belongs together is a matter of order.
#[test]
fn a_convolution_and_its_sdp_are_matched_by_order_and_not_by_group() {
    let (other, layer) = (doubling(16, 16, OPERANDS, OUTPUT + 0x1000), first());
    let mut device = ready();
    let mut program = device.program();
    program.convolution(&layer, &small_buffer(&layer), 0);
    program.enable_convolution(&layer, 0, true);
    let (mut of_sdp, of_convolution): (Vec<_>, Vec<_>) = std::mem::take(&mut program.writes)
        .into_iter()
        .partition(|write| [Unit::Sdp, Unit::SdpRdma].contains(&write.unit));
    for write in &mut of_sdp {
        if [sdp::S_POINTER, sdp_rdma::S_POINTER].contains(&write.register) {
            write.value = 1;
        }
    }
    device.run_new(start_sdp(&other, 0));
    device.run_new(|program| program.writes.extend(of_sdp));
    assert_eq!(device.read(Unit::Sdp, sdp::S_STATUS), 0x0002_0001);
    device.interrupts(SDP_0);
    device.idle(20_000);
    device.run_new(|program| program.writes.extend(of_convolution));
    each_once(&mut device, CONV_0 | SDP_1);
    let mut expected = expected(&[&layer]);
    reference::run_sdp(&other, &Lut::default(), &mut expected);
    assert_eq!(device.difference(&expected), None);
}

/// Section 5: without operands from memory SDP_RDMA is not enabled, and its pointer stays behind SDP's.
#[test]
fn a_layer_without_operands_does_not_turn_the_sdp_rdma() {
    let mut device = ready();
    device.run_new(start_convolution(&first(), 0));
    each_once(&mut device, CONV_0 | SDP_0);
    assert_eq!(consumer(&mut device, Unit::Sdp), 1);
    assert_eq!(consumer(&mut device, Unit::SdpRdma), 0);
}

/// Section 7: what the driver never writes must be right after reset, in both groups.
#[test]
fn registers_that_are_never_written_reset_to_what_the_driver_means() {
    for name in super::PLATFORMS {
        let mut device = Device::named(name);
        assert_eq!(device.read(Unit::Cdma, cdma::S_ARBITER), 0x3_000f, "{name}");
        for group in [0, 1] {
            device.write(Unit::Cdma, cdma::S_POINTER, group);
            device.write(Unit::Cacc, cacc::S_POINTER, group);
            for register in [
                cdma::D_PIXEL_OFFSET,
                cdma::D_RESERVED_X_CFG,
                cdma::D_RESERVED_Y_CFG,
                cdma::D_NAN_FLUSH_TO_ZERO,
                cdma::D_MEAN_GLOBAL_0,
                cdma::D_MEAN_GLOBAL_1,
                cdma::D_CVT_OFFSET,
            ] {
                assert_eq!(device.read(Unit::Cdma, register), 0, "{name}: {register}");
            }
            assert_eq!(device.read(Unit::Cacc, cacc::D_DATAOUT_ADDR), 0, "{name}");
        }
    }
}

/// Section 7: registers that the next layer in the same group does not need keep an earlier layer's values, which
/// must not matter.
#[test]
fn stale_registers_of_a_group_do_not_touch_the_next_layer() {
    let stale = [
        (Unit::Cdma, cdma::D_CVT_OFFSET, 77),
        (Unit::Cdma, cdma::D_CVT_SCALE, 3),
        (Unit::Cdma, cdma::D_MEAN_GLOBAL_0, 0x0012_0034),
        (Unit::Cdma, cdma::D_MEAN_GLOBAL_1, 0x0056_0078),
        (Unit::Cdma, cdma::D_WGS_ADDR_LOW, 0x8bad_0000),
        (Unit::Cdma, cdma::D_WMB_ADDR_LOW, 0x8bad_0000),
        (Unit::Cdma, cdma::D_WMB_BYTES, 0x1000),
        (Unit::Cacc, cacc::D_DATAOUT_ADDR, 0x8bad_0000),
    ];
    let layer = first();
    let mut device = ready();
    device.run_new(|program| {
        program.convolution(&layer, &small_buffer(&layer), 0);
        stale.into_iter().for_each(|(unit, register, value)| program.word(unit, register, value));
        program.enable_convolution(&layer, 0, true);
    });
    each_once(&mut device, CONV_0 | SDP_0);
    assert_eq!(device.difference(&expected(&[&layer])), None);
    assert_eq!(device.warnings(), Vec::<String>::new());
}

/// Section 8: the pool lies at 0xc000_0000, the output is in memory at SDP's interrupt, and its neighbours keep
/// their bytes.
#[test]
fn the_drivers_pool_is_reached_and_nothing_outside_the_output_is_written() {
    const POOL: u64 = 0xc000_0000;
    let mut layer = convolving(16, 16, POOL, POOL + 0x10_0400);
    layer.weights = POOL + 0x8_0000;
    let before = image(&[(POOL, 0x800), (POOL + 0x8_0000, 0x280)], &[(POOL + 0x10_0000, 0x1000)]);
    let mut expected = before.clone();
    reference::run_convolution(&layer, &mut expected);
    let mut device = Device::named("nv_small");
    device.load(&before);
    flushed(&mut device);
    device.run_new(start_convolution(&layer, 0));
    let mut come = 0;
    while come & SDP_0 == 0 {
        device.host.wait_interrupt().expect("an interrupt");
        // Looked at before anything is cleared.
        if device.read(Unit::Glb, glb::S_INTR_STATUS) & SDP_0 != 0 {
            assert_eq!(device.difference(&expected), None);
        }
        come |= device.interrupt();
    }
    assert_eq!(device.warnings(), Vec::<String>::new());
}

/// Section 12: CACC shifts, saturates to 32 bits and counts that; SDP gets what came of it.
#[test]
fn sums_saturate_to_32_bits() {
    let format = Format { atom: 32, element: 2 };
    let nowhere = CubePlace { base: 0, line: 0, surface: 0 };
    let place = |base| CubePlace { base, line: 32 * 4, surface: 32 * 4 };
    let config = Config::named("nv_full").unwrap();
    for (weight, truncate) in [(0x7fff_u16, 0), (0x8000, 0), (0x7fff, 1), (0x8000, 1), (0x8000, 4)] {
        let layer = ConvLayer {
            format,
            input: ConvInput::Feature(place(INPUT)),
            size: [4, 1],
            channels: 16,
            kernel: [1, 1],
            before: [0, 0],
            after: [0, 0],
            kernels: 16,
            order: WeightOrder { group: 16, block: config.mac_atomic_c, unit: 128 },
            truncate,
            sdp: SdpLayer {
                format,
                width: 4,
                height: 1,
                channels: 16,
                source: nowhere,
                bs: None,
                converter: Converter { offset: 0, scale: 1, shift: 17 },
                destination: Some(place(OUTPUT)),
                ..doubling(4, 1, INPUT, OUTPUT)
            },
            ..convolving(4, 1, INPUT, OUTPUT)
        };
        let pixels = [0x7fff_u16, 0x8000, 0x1234, 1];
        let input = pixels.map(|word| [word; 16]).concat();
        let bytes = |words: Vec<u16>| words.into_iter().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let before = Image::new(vec![
            (INPUT, bytes(input)),
            (WEIGHTS, bytes(vec![weight; 256])),
            (OUTPUT, vec![0xa5; 128]),
        ]);
        let mut expected = before.clone();
        reference::run_convolution(&layer, &mut expected);
        let mut device = Device::named("nv_full");
        device.load(&before);
        flushed(&mut device);
        device.run_new(|program: &mut Program| {
            program.convolution(&layer, &BufferUse::least(&config, &layer), 0);
            program.enable_convolution(&layer, 0, true);
        });
        each_once(&mut device, CONV_0 | SDP_0);
        assert_eq!(device.difference(&expected), None, "weight {weight:#x}, shifted by {truncate}");
        let sum = |pixel: u16| 16 * i64::from(pixel.cast_signed()) * i64::from(weight.cast_signed());
        let beyond = |pixel: &&u16| i32::try_from(sum(**pixel) >> truncate).is_err();
        let saturated = 16 * pixels.iter().filter(beyond).count() as u32;
        assert_eq!(device.read(Unit::Cacc, cacc::D_OUT_SATURATION), saturated, "shifted by {truncate}");
    }
}

/// Section 12: kernels in groups, channels in blocks of which the last is shorter and not padded; columns before
/// rows, channels innermost. An order of ours would show, as no two weights are alike.
#[test]
fn weights_lie_in_groups_of_kernels_and_blocks_of_channels() {
    let (width, height, channels, kernels) = (5, 4, 19, 21);
    let surface = 8 * width * height;
    let layer = ConvLayer {
        input: ConvInput::Feature(CubePlace { base: INPUT, line: 8 * width, surface }),
        channels,
        kernels,
        kernel: [3, 2],
        before: [1, 0],
        after: [1, 1],
        truncate: 6,
        sdp: SdpLayer { channels: kernels, ..convolving(width, height, INPUT, OUTPUT).sdp },
        ..convolving(width, height, INPUT, OUTPUT)
    };
    let weights = kernels * layer.kernel_bytes();
    let pattern = |count: u32| (0..count).map(|at| (at * 37 + at / 256 * 11) as u8).collect::<Vec<u8>>();
    let before = Image::new(vec![
        (INPUT, pattern(3 * surface)),
        (WEIGHTS, pattern(weights.next_multiple_of(128))),
        (OUTPUT, vec![0; 3 * surface as usize]),
    ]);
    let mut expected = before.clone();
    reference::run_convolution(&layer, &mut expected);
    let mut device = Device::named("nv_small");
    device.load(&before);
    device.run_new(start_convolution(&layer, 0));
    each_once(&mut device, CONV_0 | SDP_0);
    assert_eq!(device.difference(&expected), None);
    assert_eq!(packed(INPUT, width, height).surface, surface);
}
