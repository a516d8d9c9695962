//! Kernels that fill their banks: CDMA reads weights in blocks of eight atoms, and waits for ever for the last one where that has no room as a whole.

use proptest::prelude::*;
use vp_core::Time;
use vp_host::{Host as _, HostError};
use vp_tests::compression::{Streams, compress};
use vp_tests::device::Device;
use vp_tests::effort::cases;
use vp_tests::program::BufferUse;
use vp_tests::random::Draw;
use vp_tests::reference::{Compressed, ConvInput, ConvLayer, CubePlace, Image, Mode, WeightOrder};

/// Done bits of SDP, CDMA data, CDMA weights and CACC of group 0.
const DONE: u32 = 0x15_0001;

/// Place of the input, the weights, what lies beside them, and the output.
const PLACES: [u64; 5] = [0x8000_0000, 0x8010_0000, 0x8020_0000, 0x8030_0000, 0x8040_0000];

/// A convolution of one pixel whose groups of kernels have `less` elements a kernel less than fill `banks`; its weights begin `atoms` atoms behind a
/// block.
fn filling(draw: &Draw, (groups, banks): (u32, u32), less: u32, atoms: u32) -> (ConvLayer, BufferUse) {
    let config = &draw.description().nvdla().expect("NVDLA").config;
    let (layer, _) = Draw::new("nv_small", 3).convolution(false);
    let mut layer = Draw::without_operands(&layer);
    let format = layer.format;
    layer.format.atom = config.memory_atom;
    let group = config.mac_atomic_k / format.element;
    layer.order = WeightOrder { group, block: config.mac_atomic_c, unit: WeightOrder::unit(config) };
    let bank = config.cbuf_entry_bytes() * config.cbuf_entries_per_bank();
    layer.channels = banks * bank / layer.order.group / format.element - less;
    layer.kernels = groups * layer.order.group;
    layer.input = ConvInput::Feature(CubePlace {
        base: PLACES[0],
        line: layer.format.atom,
        surface: layer.format.atom,
    });
    layer.weights = PLACES[1] + u64::from(atoms * layer.format.atom);
    layer.mode = Mode::default();
    (layer.size, layer.kernel, layer.stride, layer.dilation) = ([1; 2], [1; 2], [1; 2], [1; 2]);
    (layer.before, layer.after) = ([0; 2], [0; 2]);
    let place = CubePlace { base: PLACES[4], line: layer.format.atom, surface: layer.format.atom };
    layer.sdp.format = layer.format;
    (layer.sdp.width, layer.sdp.height, layer.sdp.channels) = (1, 1, layer.kernels);
    layer.sdp.destination = Some(place);
    let buffer = BufferUse::least(config, &layer);
    (layer, buffer)
}

/// Runs a layer. Tells if it waits for ever, and the warnings.
fn waits(device: &mut Device, layer: &ConvLayer, buffer: &BufferUse) -> (bool, Vec<String>) {
    device.host.set_limit(Time::us(500));
    device.run_new(|program| {
        program.convolution(layer, buffer, 0);
        program.enable_convolution(layer, 0, true);
    });
    let mut missing = DONE;
    while missing != 0 {
        match device.try_interrupt() {
            Ok(status) => missing &= !status,
            Err(HostError::Idle { .. }) => return (true, device.warnings()),
            Err(other) => panic!("{other}: {layer:?} {buffer:?}"),
        }
    }
    (false, device.warnings())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    #[test]
    fn blocks_of_weights_without_room_are_waited_for_with_a_warning(
        platform in prop::sample::select(vec!["nv_small", "nv_small_256_full", "nv_medium_512", "nv_large", "nv_full"]),
        (groups, banks) in (1u32..4, 1u32..3),
        less in 0u32..12,
        atoms in 0u32..9,
        keeps: bool,
        surplus in 0u32..3,
    ) {
        let draw = Draw::new(platform, 0);
        let (mut layer, buffer) = filling(&draw, (groups, banks), less, atoms);
        // Bytes are read behind the kernels, too.
        layer.order.unit <<= 3 * surplus;
        let buffer = BufferUse { keep: [false, keeps && groups == 1], ..buffer };
        let config = &draw.description().nvdla().expect("NVDLA").config;
        let (waits, warnings) = waits(&mut Device::new(draw.description()), &layer, &buffer);
        prop_assert_eq!(waits, !buffer.holds_blocks(config, &layer, None), "{:?} {:?} {:?}", layer, buffer, warnings);
        let words = warnings.iter().filter(|text| text.contains("waits for ever")).count();
        prop_assert_eq!((words, warnings.len()), (usize::from(waits), usize::from(waits)), "{:?}", warnings);
    }

    #[test]
    fn blocks_of_compressed_weights_without_room_are_waited_for_with_a_warning(
        groups in 1u32..4,
        less in 0u32..5,
        atoms in 0u32..9,
    ) {
        let draw = Draw::new("nv_full", 0);
        let (mut layer, buffer) = filling(&draw, (groups, 1), less, atoms);
        let bytes = (layer.kernels * layer.kernel_bytes()) as usize;
        let group = (layer.order.group * layer.kernel_bytes()) as usize;
        let Streams { weights, mask, sizes } = compress(&vec![1; bytes], layer.format.element as usize, group, || false);
        let place = |base: u64, bytes: &[u8]| (base, bytes.len() as u32);
        layer.mode.compressed = Some(Compressed {
            weights: place(layer.weights, &weights),
            mask: place(PLACES[2], &mask),
            sizes: PLACES[3],
        });
        let config = &draw.description().nvdla().expect("NVDLA").config;
        let bytes: Vec<u64> =
            sizes.as_chunks().0.iter().take(groups as usize).map(|size| u32::from_le_bytes(*size).into()).collect();
        let has_room = buffer.holds_blocks(config, &layer, Some(&bytes));
        let mut device = Device::new(draw.description());
        device.load(&Image::new(vec![(layer.weights, weights), (PLACES[2], mask), (PLACES[3], sizes)]));
        let (waits, warnings) = waits(&mut device, &layer, &buffer);
        prop_assert_eq!(waits, !has_room, "{:?} {:?} {:?}", layer, buffer, warnings);
        let words = warnings.iter().filter(|text| text.contains("waits for ever")).count();
        prop_assert_eq!((words, warnings.len()), (usize::from(waits), usize::from(waits)), "{:?}", warnings);
    }
}
