//! Loadables whose cubes contradict themselves, each other, or the memory and the tensors that they are.

use super::super::super::shape::{Access, Direction};
use super::super::super::tests::{Pooling, host};
use super::super::super::{Tensor, run};
use super::*;

/// Fields of a data cube, by their offsets in one of 28 bytes.
const ADDRESS: usize = 2;
const SIZE: usize = 4;
const LINE_STRIDE: usize = 16;
const SURFACE_STRIDE: usize = 20;

const SOURCE: usize = 0;
const RESULT: usize = 1;

/// Memories of the loadable.
const SURFACES: usize = 2;
const INPUT: usize = 4;
const OUTPUT: usize = 5;

/// Max pooling of 4 x 4 x 32 to 2 x 2 x 32, in four surfaces.
fn pooling() -> Loadable {
    Pooling { atom: 8, ..Pooling::USUAL }.parsed()
}

fn set(loadable: &mut Loadable, cube: usize, field: usize, bytes: &[u8]) {
    let at = cube * 28 + field;
    loadable.memories[SURFACES].image[at..at + bytes.len()].copy_from_slice(bytes);
}

fn with(fields: &[(usize, usize, u32)]) -> Loadable {
    let mut loadable = pooling();
    fields.iter().for_each(|(cube, field, value)| set(&mut loadable, *cube, *field, &value.to_le_bytes()));
    loadable
}

/// The reason for which it is not run, anywhere.
fn refusal(loadable: &Loadable) -> String {
    let told = run(loadable, &[], &mut host("nv_small")).expect_err("a contradiction").to_string();
    for platform in ["nv_medium_512", "nv_full"] {
        let again = run(loadable, &[], &mut host(platform)).expect_err("a contradiction");
        assert_eq!(again.to_string(), told, "{platform}");
    }
    assert_eq!(choose(loadable, &[]).expect_err("no platform").to_string(), told);
    told
}

#[test]
fn a_loadable_without_contradictions_runs() {
    assert_eq!(fitting(&pooling()).unwrap(), ["nv_small", "nv_small_256", "nv_small_256_full"]);
    run(&pooling(), &[], &mut host("nv_small")).expect("it runs");
}

#[test]
fn a_source_and_a_destination_of_two_atoms_are_refused() {
    let mut loadable = with(&[(RESULT, LINE_STRIDE, 32), (RESULT, SURFACE_STRIDE, 64)]);
    assert_eq!(
        refusal(&loadable),
        "its cubes contradict each other: operation 0 (PDP), source, 4 x 4 x 32 with lines of 32 and surfaces of 128 bytes, consists of \
         memory atoms of 8 bytes, and operation 0 (PDP), destination, 2 x 2 x 32 with lines of 32 and surfaces of 64 bytes, of 16; all cubes \
         of a loadable have the same"
    );
    // Room for four surfaces of 8-byte atoms with as much between their lines does not make it one of these.
    loadable.memories[OUTPUT].image.resize(256, 0);
    assert!(refusal(&loadable).starts_with("its cubes contradict each other"));
}

#[test]
fn a_line_stride_shorter_than_a_line_is_refused() {
    assert_eq!(
        refusal(&with(&[(SOURCE, LINE_STRIDE, 24)])),
        "operation 0 (PDP), source: a line stride of 24 bytes is shorter than a line of 4 pixels of 8 bytes, which takes 32"
    );
    assert_eq!(
        refusal(&with(&[(RESULT, LINE_STRIDE, 8)])),
        "operation 0 (PDP), destination: a line stride of 8 bytes is shorter than a line of 2 pixels of 8 bytes, which takes 16"
    );
}

#[test]
fn a_surface_stride_shorter_than_its_lines_is_refused() {
    assert_eq!(
        refusal(&with(&[(SOURCE, SURFACE_STRIDE, 64)])),
        "operation 0 (PDP), source: a surface stride of 64 bytes is shorter than a surface of 4 lines, which takes 128"
    );
    assert_eq!(
        refusal(&with(&[(RESULT, SURFACE_STRIDE, 24)])),
        "operation 0 (PDP), destination: a surface stride of 24 bytes is shorter than a surface of 2 lines, which takes 32"
    );
}

#[test]
fn strides_with_bits_that_the_bus_drops_are_refused() {
    assert_eq!(
        refusal(&with(&[(RESULT, LINE_STRIDE, 20), (RESULT, SURFACE_STRIDE, 40)])),
        "operation 0 (PDP), destination: a line stride of 20 bytes is no multiple of 8"
    );
}

#[test]
fn a_cube_that_reaches_beyond_its_address_entry_or_its_memory_is_refused() {
    let told = "operation 0 (PDP), destination: it takes 128 bytes, and its memory has 120 from there on";
    let mut loadable = pooling();
    loadable.memories[OUTPUT].image.truncate(120);
    assert_eq!(refusal(&loadable), told);
    let mut loadable = pooling();
    loadable.addresses.get_mut(&(OUTPUT as u16)).unwrap().size = Some(120);
    assert_eq!(refusal(&loadable), told);
    let mut loadable = pooling();
    loadable.addresses.get_mut(&(OUTPUT as u16)).unwrap().offset = 8;
    assert_eq!(refusal(&loadable), told);
    // ONNC's entries have the size of the whole memory, whatever their offset is: what is beyond its end does not count.
    let mut loadable = pooling();
    loadable.memories[OUTPUT].image.resize(192, 0);
    *loadable.addresses.get_mut(&(OUTPUT as u16)).unwrap() =
        super::super::super::AddressEntry { memory: OUTPUT as u16, offset: 64, size: Some(192) };
    run(&loadable, &[], &mut host("nv_small")).expect("it is there");
}

/// ONNC's `Sum` leaves it at 0, and no unit is told it.
#[test]
fn the_size_of_a_cube_counts_for_nothing() {
    for place in [SOURCE, RESULT] {
        run(&with(&[(place, SIZE, 0)]), &[], &mut host("nv_small")).expect("it is where it was");
    }
}

/// Two operations that write one place, and nothing else of the output.
#[test]
fn bytes_that_are_written_twice_count_once() {
    let mut written = super::super::tensors::Written::default();
    let entry = super::super::super::AddressEntry { memory: 0, offset: 0, size: None };
    for operation in 0..2 {
        let place = String::new();
        written.add(&Access { operation, place, direction: Direction::Write, entry, extent: 64, pixels: 64 });
    }
    written.merge();
    assert_eq!(
        (written.covered((0, 128)), written.covered((32, 128)), written.covered((64, 64))),
        (64, 32, 0)
    );
}

/// ONNC cuts convolutions so: lines of the part, surfaces of the whole, and the size of the part.
#[test]
fn a_part_of_a_larger_cube_has_room_between_its_surfaces() {
    let mut loadable = with(&[(RESULT, SURFACE_STRIDE, 64)]);
    loadable.memories[OUTPUT].image.resize(256, 0);
    run(&loadable, &[], &mut host("nv_small")).expect("it runs");
}

#[test]
fn an_output_that_no_operation_writes_is_refused() {
    let redirected = |to: usize| {
        let mut loadable = pooling();
        set(&mut loadable, RESULT, ADDRESS, &(to as i16).to_le_bytes());
        loadable
    };
    let told = "the output in memory 5: no operation writes it";
    assert_eq!(refusal(&redirected(INPUT)), told);
    assert_eq!(refusal(&redirected(SURFACES)), told);
    // To an address of its own, behind the output.
    let mut behind = pooling();
    behind.memories[OUTPUT].image.resize(256, 0);
    behind.memories[OUTPUT].tensor = 9;
    behind.tensors.insert(OUTPUT as u16, tensor([2, 2, 32], [16, 32]));
    behind.addresses.get_mut(&(OUTPUT as u16)).unwrap().offset = 128;
    assert_eq!(refusal(&behind), "the output `out` (memory 5): no operation writes it");
}

fn tensor(size: [usize; 3], [line_stride, surface_stride]: [usize; 2]) -> Tensor {
    let bytes = size.iter().product::<usize>() as u64;
    let name = "out".to_owned();
    Tensor {
        name,
        size,
        element_bytes: Some(1),
        is_half: false,
        line_stride,
        surface_stride,
        offset: 0,
        bytes,
        widest_atom: 64,
        pixel_bytes: None,
    }
}

fn described(output: Tensor) -> Loadable {
    let mut loadable = pooling();
    loadable.memories[OUTPUT].tensor = 9;
    loadable.tensors.insert(OUTPUT as u16, output);
    loadable
}

#[test]
fn an_output_that_is_written_in_parts_is_refused() {
    let mut loadable = described(tensor([2, 3, 32], [16, 48]));
    loadable.memories[OUTPUT].image.resize(192, 0);
    let told = "the output `out` (memory 5): its elements have 192 bytes, and operations write 128";
    assert_eq!(refusal(&loadable), told);
}

#[test]
fn a_cube_with_other_strides_than_its_tensor_is_refused() {
    run(&described(tensor([2, 2, 32], [16, 32])), &[], &mut host("nv_small")).expect("the same");
    assert_eq!(
        refusal(&described(tensor([2, 2, 32], [32, 64]))),
        "operation 0 (PDP), destination: lines of 16 and surfaces of 32 bytes, and the tensor `out` (memory 5) has 32 and 64"
    );
}

#[test]
fn a_cube_that_is_read_where_nothing_is_is_refused() {
    let mut loadable = pooling();
    (loadable.memories[INPUT].is_input, loadable.memories[INPUT].is_filled) = (false, false);
    assert_eq!(
        refusal(&loadable),
        "operation 0 (PDP), source: nothing is in memory 4 there: it is no input, the loadable does not fill it, and no other operation writes it"
    );
    // Its own result does not count.
    let mut loadable = pooling();
    set(&mut loadable, SOURCE, ADDRESS, &(OUTPUT as i16).to_le_bytes());
    loadable.memories[OUTPUT].image.resize(512, 0);
    loadable.addresses.get_mut(&(OUTPUT as u16)).unwrap().size = None;
    assert!(refusal(&loadable).starts_with("operation 0 (PDP), source: nothing is in memory 5 there"));
}

#[test]
fn a_cube_without_an_address_is_refused() {
    for (cube, name) in [(SOURCE, "source"), (RESULT, "destination")] {
        let mut loadable = pooling();
        set(&mut loadable, cube, ADDRESS, &(-1i16).to_le_bytes());
        let told = format!("operation 0 (PDP), {name}: it has no address, and this unit has it in memory");
        assert_eq!(refusal(&loadable), told);
    }
}

mod parameters {
    use super::super::super::cubes::Accesses;
    use super::super::{convolution, operation, operation_of_sdp};
    use super::*;
    use crate::loadable::AddressEntry;
    use crate::loadable::network::Copy;

    /// The memory of the loadable's input, which has 512 bytes.
    fn place(offset: u64) -> TensorPlace {
        TensorPlace::Memory(entry(offset))
    }

    fn entry(offset: u64) -> AddressEntry {
        AddressEntry { memory: INPUT as u16, offset, size: None }
    }

    /// The first reason against an operation, with atoms of 8 bytes.
    fn told(operation: &Operation) -> Option<String> {
        let accesses = match Accesses::of(&pooling(), (0, "it"), operation) {
            Err(error) => return Some(error.to_string()),
            Ok(accesses) => accesses,
        };
        let fault = |features: &cubes::Features| Some(format!("{}: {}", features.place, features.fault(8)?));
        accesses.features.iter().find_map(fault)
    }

    fn cube(size: [u32; 3], strides: [u32; 2], bytes: u32, offset: u64) -> Cube {
        let ([width, height, channels], [line_stride, surface_stride]) = (size, strides);
        let (place, plane_stride) = (place(offset), 0);
        Cube { place, size: bytes, width, height, channels, line_stride, surface_stride, plane_stride }
    }

    /// A convolution of 8 x 8 x 8, whose weights have so many bytes.
    fn with_weights(source: Cube, bytes: u32, format: u8) -> Operation {
        let OperationWork::Convolution { mut descriptor, mut cubes, .. } = convolution(8, 8).what else {
            panic!()
        };
        descriptor.data_format = format;
        cubes[cube::CONV_SOURCE] = source;
        cubes[cube::WEIGHTS] = cube([1, 1, 8], [0, 0], bytes, 256);
        let what = OperationWork::Convolution { descriptor, cubes, offset_u: 256, uv_line_stride: 16 };
        operation(OperationKind::Convolution, what)
    }

    #[test]
    fn weights_beyond_their_memory_are_refused() {
        let source = cube([8, 8, 8], [64, 512], 512, 0);
        assert_eq!(told(&with_weights(source, 256, cubes::FEATURES)), None);
        assert_eq!(
            told(&with_weights(source, 384, cubes::FEATURES)).as_deref(),
            Some("it, weights: it takes 384 bytes, and its memory has 256 from there on")
        );
    }

    #[test]
    fn images_are_lines_of_pixels_in_one_or_two_planes() {
        /// Codes of one byte a pixel, and of a byte with two more in a second plane.
        const R8: u8 = 0;
        const Y8_U8V8: u8 = 28;
        let of = |line: u32, bytes| cube([8, 8, 1], [line, 0], bytes, 0);
        assert_eq!(told(&with_weights(of(8, 64), 8, R8)), None);
        assert_eq!(
            told(&with_weights(of(7, 64), 8, R8)).as_deref(),
            Some(
                "it, source: a line stride of 7 bytes is shorter than a line of 8 pixels of 1 bytes, which takes 8"
            )
        );
        assert_eq!(
            told(&with_weights(of(80, 640), 8, R8)).as_deref(),
            Some("it, source: it takes 568 bytes, and its memory has 512 from there on")
        );
        // The second plane has 8 lines of 16 bytes, from 256 on.
        assert_eq!(told(&with_weights(of(8, 64), 8, Y8_U8V8)), None);
        let late = cube([8, 8, 1], [8, 0], 64, 136);
        assert_eq!(
            told(&with_weights(late, 8, Y8_U8V8)).as_deref(),
            Some("it, second plane of the source: it takes 128 bytes, and its memory has 120 from there on")
        );
    }

    /// Stage X1 over 4 x 4 x 16, on the fly, into memory: its operation, its mode, its precision, and its operands.
    fn with_operands([operation, mode, precision]: [u8; 3], operands: Cube) -> Operation {
        let mut descriptor: layout::Sdp = layout::read(&[0; 116]).expect("as many bytes");
        let stage = &mut descriptor.stages[0];
        (stage.enable, stage.operation, stage.mode, stage.precision) = (1, operation, mode, precision);
        let source = Cube { place: TensorPlace::OnTheFly, ..cube([4, 4, 16], [0, 0], 0, 0) };
        let result = cube([4, 4, 16], [32, 128], 256, 0);
        operation_of_sdp(descriptor, [source, operands, operands, operands, result])
    }

    #[test]
    fn operands_are_as_many_as_channels_or_elements_take() {
        let [add, both] = [2, 3];
        let [per_channel, per_element] = [1, 2];
        let row = |bytes: u32| cube([1, 1, 16], [32, 32], bytes, 256);
        assert_eq!(told(&with_operands([add, per_channel, 1], row(32))), None);
        assert_eq!(told(&with_operands([both, per_channel, 1], row(64))), None);
        let end = cube([1, 1, 16], [32, 32], 32, 504);
        assert_eq!(
            told(&with_operands([add, per_channel, 1], end)).as_deref(),
            Some("it, operands of stage X1: it takes 32 bytes, and its memory has 8 from there on")
        );
        // A pixel of eight operands of two bytes each.
        let each = |line: u32, surface, bytes| cube([4, 4, 16], [line, surface], bytes, 0);
        assert_eq!(told(&with_operands([add, per_element, 1], each(64, 256, 512))), None);
        assert_eq!(
            told(&with_operands([add, per_element, 1], each(32, 128, 256))).as_deref(),
            Some(
                "it, operands of stage X1: a line stride of 32 bytes is shorter than a line of 4 pixels of 16 bytes, which takes 64"
            )
        );
    }

    #[test]
    fn a_result_of_sdp_has_the_extents_of_what_comes_in() {
        let mut operation = with_operands([0, 0, 0], cube([1, 1, 16], [0, 0], 0, 0));
        let OperationWork::Sdp { cubes, .. } = &mut operation.what else { panic!("it is SDP's") };
        (cubes[cube::SDP_DESTINATION].width, cubes[cube::SDP_DESTINATION].line_stride) = (2, 16);
        assert_eq!(
            told(&operation).as_deref(),
            Some(
                "it, destination: a line stride of 16 bytes is shorter than a line of 4 pixels of 8 bytes, which takes 32"
            )
        );
        // Of a single pixel surfaces lie back to back, whatever the strides are.
        let OperationWork::Sdp { cubes, .. } = &mut operation.what else { panic!("it is SDP's") };
        (cubes[cube::SDP_SOURCE].width, cubes[cube::SDP_SOURCE].height) = (1, 1);
        cubes[cube::SDP_DESTINATION] = cube([1, 1, 16], [0, 0], 16, 496);
        assert_eq!(told(&operation), None);
    }

    #[test]
    fn every_cube_of_a_batch_is_in_memory() {
        let batch = |cubes: u8, stride: u32| {
            let mut operation = with_operands([0, 0, 0], cube([1, 1, 16], [0, 0], 0, 0));
            let OperationWork::Sdp { descriptor, .. } = &mut operation.what else { panic!("it is SDP's") };
            (descriptor.batch, descriptor.batch_stride) = (cubes, stride.into());
            told(&operation)
        };
        assert_eq!(batch(2, 256), None);
        let expected = "it, destination: it takes 520 bytes, and its memory has 512 from there on";
        assert_eq!(batch(2, 264).as_deref(), Some(expected));
    }

    fn copying([line, lines, surfaces]: [u32; 3], strides: [u32; 4]) -> Option<String> {
        let mut shape: layout::Transfer = layout::read(&[0; 32]).expect("as many bytes");
        (shape.line_size, shape.line_repeat, shape.surface_repeat) =
            (line.into(), lines.into(), surfaces.into());
        (shape.source_line, shape.source_surface) = (strides[0].into(), strides[1].into());
        (shape.destination_line, shape.destination_surface) = (strides[2].into(), strides[3].into());
        let copy = Copy { source: entry(0), destination: entry(256), shape };
        told(&operation(OperationKind::Bdma, OperationWork::Bdma(vec![copy])))
    }

    #[test]
    fn copies_are_of_whole_lines_that_lie_apart_in_memory() {
        assert_eq!(copying([64, 4, 1], [128, 0, 64, 0]), None);
        for (counts, strides, expected) in [
            ([64, 4, 1], [32, 0, 64, 0], "it, source: a line stride of 32 bytes is shorter"),
            ([64, 2, 2], [64, 128, 64, 96], "it, destination: a surface stride of 96 bytes is shorter"),
            ([64, 4, 1], [64, 0, 96, 0], "it, destination: it takes 352 bytes, and its memory has 256"),
            ([40, 4, 1], [64, 0, 64, 0], "it, transfer: a line of 40 bytes is no multiple of 32"),
            ([64, 0, 1], [64, 0, 64, 0], "it, transfer: it has no line or no surface"),
        ] {
            let told = copying(counts, strides).expect("a contradiction");
            assert!(told.starts_with(expected), "{told}");
        }
    }

    /// 2 x 2 pixels of 8 bytes, each of which becomes as many of them.
    fn contracting(source: u32, line_stride: u32) -> Option<String> {
        let descriptor = layout::Rubik { mode: 0, precision: 0, stride_x: 2, stride_y: 1 };
        let cubes = [cube([2, 2, source], [64, 128], 512, 0), cube([4, 2, 32], [line_stride, 256], 256, 256)];
        let operation = operation(OperationKind::Rubik, OperationWork::Rubik { descriptor, cubes });
        let accesses = Accesses::of(&pooling(), (0, "it"), &operation).expect("in memory");
        let fault = |features: &cubes::Features| Some(format!("{}: {}", features.place, features.fault(32)?));
        accesses.features.iter().find_map(fault)
    }

    #[test]
    fn a_contraction_reads_a_block_of_channels_for_each_pixel_that_it_writes() {
        assert_eq!(contracting(64, 128), None);
        let told = contracting(64, 96).expect("4 pixels take 128 bytes");
        assert!(told.starts_with("it, destination: a line stride of 96 bytes is shorter"), "{told}");
    }
    /// Four channels of 8 x 2, each to a plane of its own.
    fn splitting(plane_stride: u32) -> Option<String> {
        let descriptor = layout::Rubik { mode: 1, precision: 0, stride_x: 1, stride_y: 1 };
        let source = cube([8, 2, 4], [64, 128], 512, 0);
        let planes = Cube { plane_stride, ..cube([8, 2, 4], [32, 0], 256, 256) };
        told(&operation(OperationKind::Rubik, OperationWork::Rubik { descriptor, cubes: [source, planes] }))
    }

    #[test]
    fn planes_lie_by_their_own_stride() {
        assert_eq!(splitting(64), None);
        assert_eq!(
            splitting(32).as_deref(),
            Some(
                "it, destination: a surface stride of 32 bytes is shorter than a surface of 2 lines, which takes 40"
            )
        );
    }
}
