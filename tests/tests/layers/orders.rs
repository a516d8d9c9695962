//! The order in which the modes of convolution read and write memory.

use std::cell::RefCell;
use std::rc::Rc;

use proptest::prelude::*;
use vp_core::observe::{Observation, Observer, Stage, What};
use vp_models::nvdla::nocif::{read_id, write_id};
use vp_models::nvdla::registers::{Unit, cdma};
use vp_tests::device::Device;
use vp_tests::effort::cases;
use vp_tests::program::BufferUse;
use vp_tests::random::{ConvolutionKind, Draw};
use vp_tests::reference::{ConvInput, ConvLayer};

/// First addresses of bursts, in the order in which they were asked for: reads of one client, writes of another.
struct Asked {
    ids: (u32, u32),
    reads: RefCell<Vec<u64>>,
    writes: RefCell<Vec<u64>>,
}

impl Observer for Asked {
    fn observe(&self, observation: &Observation<'_>) {
        let What::Transfer(transfer) = observation.what else { return };
        if transfer.stage == Stage::Request && transfer.write && transfer.id == self.ids.1 {
            self.writes.borrow_mut().push(transfer.address);
        }
        if transfer.stage == Stage::Request && !transfer.write && transfer.id == self.ids.0 {
            self.reads.borrow_mut().push(transfer.address);
        }
    }
}

/// Addresses that a layer reads by that client, and those that SDP writes.
fn asked(
    draw: &Draw,
    layer: &ConvLayer,
    buffer: &BufferUse,
    read: u32,
    arbiter: [u32; 2],
) -> (Vec<u64>, Vec<u64>) {
    let mut device = Device::new(draw.description());
    device.load(&draw.image());
    let asked =
        Rc::new(Asked { ids: (read, write_id::SDP), reads: RefCell::default(), writes: RefCell::default() });
    device.host.platform().sim().observe(asked.clone());
    device.run_new(|program| {
        use cdma::S_ARBITER::{ARB_WEIGHT, ARB_WMB};
        program.fields(Unit::Cdma, &[(ARB_WEIGHT, arbiter[0] - 1), (ARB_WMB, arbiter[1] - 1)]);
        program.convolution(layer, buffer, 0);
        program.enable_convolution(layer, 0, true);
    });
    device.interrupts(0x15_0001);
    assert_eq!(device.warnings(), Vec::<String>::new());
    (asked.reads.take(), asked.writes.take())
}

/// Cube, surface, line and column of each address of a cube that begins there.
fn places(
    addresses: &[u64],
    base: u64,
    [cube, surface, line, pixel]: [u32; 4],
) -> impl Iterator<Item = [u64; 4]> {
    addresses.iter().map(move |address| {
        let left = address - base;
        let (of_cube, left) = (left / u64::from(cube), left % u64::from(cube));
        let (plane, left) = (left / u64::from(surface), left % u64::from(surface));
        [of_cube, plane, left / u64::from(line), left % u64::from(line) / u64::from(pixel)]
    })
}

fn is_sorted<T: Ord + std::fmt::Debug>(keys: impl Iterator<Item = T>) -> Result<(), TestCaseError> {
    let keys: Vec<T> = keys.collect();
    prop_assert!(keys.is_sorted(), "{:?}", keys);
    Ok(())
}

/// Far away.
const ALONE: u32 = 1 << 30;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(30)))]

    #[test]
    fn lines_of_each_cube_are_read_in_turns_and_pairs_of_pixels_written(seed: u64) {
        let mut draw = Draw::new("nv_full", seed);
        let (layer, buffer) = draw.convolution_of(ConvolutionKind::Batches, false);
        let (Some(batches), ConvInput::Feature(input)) = (layer.mode.batches, &layer.input) else { return Ok(()) };
        let (reads, writes) = asked(&draw, &layer, &buffer, read_id::CDMA_DATA, [1, 1]);
        let (atom, grain) = (layer.format.atom, u64::from(buffer.grain.unwrap_or(1)));
        is_sorted(places(&reads, input.base, [batches.input, input.surface, input.line, atom])
            .map(|[cube, _, line, _]| (line / grain, cube)))?;
        let output = layer.sdp.destination.expect("to memory");
        is_sorted(places(&writes, output.base, [batches.output, output.surface, output.line, atom])
            .map(|[cube, plane, line, column]| {
                // Pixels pair up where they share an entry of the bus.
                let before = output.base + u64::from(output.surface) * plane + u64::from(output.line) * line;
                (plane, line, (column + before / u64::from(atom) % 2) / 2, cube, column)
            }))?;
    }

    #[test]
    fn winograd_reads_four_lines_of_a_surface_and_writes_two_columns_of_four(seed: u64) {
        let mut draw = Draw::new("nv_full", seed);
        let (layer, buffer) = draw.convolution_of(ConvolutionKind::Winograd, false);
        let (Some(winograd), ConvInput::Feature(input)) = (layer.mode.winograd, &layer.input) else { return Ok(()) };
        let (reads, writes) = asked(&draw, &layer, &buffer, read_id::CDMA_DATA, [1, 1]);
        let (atom, step, top) =
            (layer.format.atom, u64::from(winograd.step[1]), u64::from(layer.before[1]));
        is_sorted(places(&reads, input.base, [ALONE, input.surface, input.line, atom])
            .map(|[_, plane, line, _]| ((line + top) / (4 * step), plane, (line + top) % step)))?;
        let output = layer.sdp.destination.expect("to memory");
        is_sorted(places(&writes, output.base, [ALONE, output.surface, output.line, atom])
            .map(|[_, plane, line, column]| (plane, line / 4, column / 2, line % 4, column)))?;
    }

    /// As many reads of masks in a row, then of weights, as the register says, while both have some left.
    #[test]
    fn sizes_come_first_and_masks_and_weights_take_turns(seed: u64, arbiter in [1u32..5, 1u32..5]) {
        let mut draw = Draw::new("nv_full", seed);
        let (layer, buffer) = draw.convolution_of(ConvolutionKind::Feature, false);
        let layer = Draw::without_operands(&layer);
        let Some(buffer) = draw.with_room_for_all_weights(&layer, buffer) else { return Ok(()) };
        let Some(layer) = draw.compressed(&layer, &buffer) else { return Ok(()) };
        let parts = layer.mode.compressed.expect("compressed");
        let (reads, _) = asked(&draw, &layer, &buffer, read_id::CDMA_WEIGHT, arbiter);
        let is_in = |address: u64, (base, bytes): (u64, u32)| (base..base + u64::from(bytes)).contains(&address);
        let sizes = reads.iter().take_while(|address| is_in(**address, (parts.sizes, 32))).count();
        prop_assert_eq!(sizes, 1);
        // A read goes up to the next multiple of eight atoms, in bursts.
        let read_of = |&address: &u64| (is_in(address, parts.mask), address / 256);
        let mut order: Vec<(bool, u64)> = reads[1..].iter().map(read_of).collect();
        order.dedup();
        let all = |masks: bool| order.iter().filter(|(is_mask, _)| *is_mask == masks).count();
        let (masks, weights) = (all(true), all(false));
        prop_assert!(masks > 0 && weights > 0);
        let mut expected = Vec::new();
        let mut left = [masks, weights];
        while left != [0, 0] {
            for (stream, turns) in [(0, arbiter[1]), (1, arbiter[0])] {
                let count = left[stream].min(if left[1 - stream] == 0 { usize::MAX } else { turns as usize });
                expected.extend(std::iter::repeat_n(stream == 0, count));
                left[stream] -= count;
            }
        }
        prop_assert_eq!(order.into_iter().map(|(is_mask, _)| is_mask).collect::<Vec<_>>(), expected);
    }
}
