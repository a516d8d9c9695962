//! A loadable of our own, in both generations: a pooling, and a power by the CPU behind it.

pub(super) mod builder;

use super::*;
use crate::LocalHost;
use builder::{Piece, container};
use half::f16;
use proptest::prelude::*;
use vp_core::Time;
use vp_models::platform::{Description, Platform};

fn words(values: &[i16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

const WIDTH: usize = 4;
const ATOM: usize = 32;

/// Places of the loadable's addresses.
const SOURCE: i16 = 4;
const RESULT: i16 = 5;

/// Max pooling of 2 x 2 over 4 x 4 x 32, int8.
#[derive(Clone, Copy)]
pub(crate) struct Pooling {
    /// The form of its cubes.
    pub(crate) generation: Generation,
    /// Version of its interface.
    pub(crate) version: [u8; 3],
    /// Bytes of an atom: 32 channels are one or several surfaces.
    pub(crate) atom: usize,
    /// Columns, lines and channels, as the cubes say them.
    pub(crate) source: [u16; 3],
    pub(crate) result: [u16; 3],
    /// int8, int16, fp16.
    pub(crate) precision: u8,
    /// Pixels of a window in each direction.
    pub(crate) kernel: u8,
    /// Memory of the result: 0 DRAM, 1 SRAM.
    pub(crate) domain: u8,
}

impl Pooling {
    pub(crate) const USUAL: Pooling = Pooling {
        generation: Generation::Short,
        version: [0, 11, 0],
        atom: ATOM,
        source: [WIDTH as u16, WIDTH as u16, ATOM as u16],
        result: [WIDTH as u16 / 2, WIDTH as u16 / 2, ATOM as u16],
        precision: 0,
        kernel: 2,
        domain: 0,
    };

    /// Bytes that the newer generation's source begins after.
    const OFFSET: usize = 64;

    fn cube(&self, address: i16, extents: [u16; 3], offset: u32) -> Vec<u8> {
        let mut cube = words(&[0, address]);
        if self.generation == Generation::Long {
            cube.extend(offset.to_le_bytes());
        }
        cube.extend((self.size(extents) as u32).to_le_bytes());
        let [width, height, channels] = extents;
        cube.extend([width, height, channels, 0].iter().flat_map(|value| value.to_le_bytes()));
        let line = u32::from(width) * self.atom as u32;
        cube.extend([line, u32::from(height) * line, 0].iter().flat_map(|value| value.to_le_bytes()));
        cube
    }

    /// Bytes of a cube.
    fn size(&self, [width, height, channels]: [u16; 3]) -> usize {
        let element = if self.precision == 0 { 1 } else { 2 };
        let surfaces = (usize::from(channels) * element).div_ceil(self.atom);
        usize::from(width) * usize::from(height) * surfaces * self.atom
    }

    pub(crate) fn bytes(&self, source: &[u8]) -> Vec<u8> {
        let offset = if self.generation == Generation::Long { Pooling::OFFSET } else { 0 };
        // Operations, surfaces, dependencies; no tables, regions, statistics; heads; one region, one operation.
        let mut network = words(&[1, 2, 3, -1, -1, -1, -1, 0, -1, -1, -1, 0, -1, -1, 1, 1, 0, 6, 0]);
        network.extend([0, 0]);
        let mut operation = words(&[0; 6]);
        // One split; max; stride of two; no padding.
        let kernel = self.kernel - 1;
        operation.extend([1, 1, kernel, kernel, 2, 2, 0, 0, 0, 0, self.precision, 0]);
        operation.resize(116, 0);
        let mut surface = self.cube(SOURCE, self.source, offset as u32);
        surface.extend(self.cube(RESULT, self.result, 0));
        // What is behind is nothing's.
        surface.resize(644, 0xa5);
        let mut dependency = words(&[0]);
        // A pooling that waits for nobody, and for which nobody waits.
        dependency.extend([0, 3, 0, 0, 0, 0]);
        dependency.extend([[0xff, 0xff, 0, 0]; 7].concat());
        let mut bytes = vec![0; offset];
        bytes.extend(source);
        let set = |bytes: Vec<u8>| Piece { size: bytes.len(), bytes, flags: 3, domain: 0 };
        let mut pieces: Vec<Piece> = [network, operation, surface, dependency].into_iter().map(set).collect();
        pieces.push(Piece { size: bytes.len(), bytes, flags: 3 | MemoryTable::INPUT, domain: 0 });
        let size = self.size(self.result).max(1);
        pieces.push(Piece { bytes: Vec::new(), size, flags: 1 | MemoryTable::OUTPUT, domain: self.domain });
        container(&pieces, self.version, &[(1, &[0, 1, 2, 3, 4, 5])])
    }

    /// Loadable with zeros as its input.
    pub(super) fn parsed(&self) -> Loadable {
        Loadable::parse(&self.bytes(&vec![0; self.size(self.source)])).expect("whole")
    }
}

fn pooling(generation: Generation, source: &[u8]) -> Vec<u8> {
    let version = if generation == Generation::Short { [0, 11, 0] } else { [0, 12, 0] };
    Pooling { generation, version, ..Pooling::USUAL }.bytes(source)
}

pub(crate) fn host(platform: &str) -> LocalHost {
    let description = Description::named(platform).expect("a built-in platform");
    LocalHost::new(Platform::build(&description).expect("a platform"))
}

fn pooled(source: &[u8]) -> Vec<u8> {
    let at = |x: usize, y: usize, c: usize| source[(y * WIDTH + x) * ATOM + c].cast_signed();
    let half = WIDTH / 2;
    let places = (0..half).flat_map(|y| (0..half).flat_map(move |x| (0..ATOM).map(move |c| (x, y, c))));
    let most = |(x, y, c): (usize, usize, usize)| {
        let window = [(0, 0), (1, 0), (0, 1), (1, 1)];
        window.into_iter().map(|(dx, dy)| at(2 * x + dx, 2 * y + dy, c)).max().expect("four")
    };
    places.map(|place| most(place).cast_unsigned()).collect()
}

#[test]
fn a_pooling_runs_in_both_generations() {
    let source: Vec<u8> = (0..WIDTH * WIDTH * ATOM).map(|at| (at * 73 % 251) as u8).collect();
    for generation in [Generation::Short, Generation::Long] {
        let loadable = Loadable::parse(&pooling(generation, &source)).expect("whole");
        assert_eq!(loadable.generation(), generation);
        let execution = run(&loadable, &[], &mut host("nv_large")).expect("runs");
        assert_eq!(execution.outputs[0].bytes, pooled(&source), "{generation:?}");
        let [span] = execution.spans[..] else { panic!("one operation: {:?}", execution.spans) };
        assert!(span.programmed < span.enabled && span.enabled < span.completed, "{span:?}");
        assert!(execution.bus < execution.time && execution.bus > Time::ZERO, "{execution:?}");
    }
}

/// Compilers count their own versions, such as ONNC, which stamps 1.2.0 on cubes of 28 bytes.
#[test]
fn the_form_of_cubes_is_told_by_their_sizes_and_by_no_version() {
    for generation in Generation::ALL {
        for version in [[0, 7, 0], [0, 11, 0], [0, 12, 0], [1, 2, 0], [9, 9, 9]] {
            let it = Pooling { generation, version, ..Pooling::USUAL };
            assert_eq!(it.parsed().generation(), generation, "{version:?}");
            // Even where a cube says that it is larger than its memory, or has no width.
            let it = Pooling { result: [0, 2, 32], ..it };
            assert_eq!(it.parsed().generation(), generation, "{version:?}");
        }
    }
}

#[test]
fn a_cube_without_an_extent_or_with_more_than_registers_hold_is_refused() {
    let [good, bad] = [Pooling::USUAL.source, [4, 0, 32]];
    for (source, result, told) in [
        (bad, Pooling::USUAL.result, "operation 0 (PDP), source cube: height is 0, and a cube has 1 to 8192"),
        (good, [0, 2, 32], "operation 0 (PDP), destination cube: width is 0, and a cube has 1 to 8192"),
        (
            good,
            [2, 2, 8193],
            "operation 0 (PDP), destination cube: channels is 8193, and a cube has 1 to 8192",
        ),
    ] {
        let loadable = Pooling { source, result, ..Pooling::USUAL }.parsed();
        let error = run(&loadable, &[], &mut host("nv_large")).expect_err("no such cube");
        assert_eq!(error.to_string(), told);
    }
}

#[test]
fn frames_follow_each_other_without_a_reset_and_leave_the_same() {
    let source: Vec<u8> = (0..WIDTH * WIDTH * ATOM).map(|at| (at * 73 % 251) as u8).collect();
    let loadable = Loadable::parse(&pooling(Generation::Short, &source)).expect("whole");
    let execution = run_frames(&loadable, &[], 3, &mut host("nv_large")).expect("runs");
    assert_eq!((execution.frames.len(), execution.spans.len(), execution.interrupts), (3, 3, 3));
    assert_eq!((execution.outputs[0].bytes.clone(), execution.differs), (pooled(&source), None));
    // Each begins when the one before has ended.
    assert!(execution.spans.windows(2).all(|two| two[0].completed < two[1].programmed));
    assert_eq!(execution.frames.iter().copied().fold(Time::ZERO, |sum, time| sum + time), execution.time);
}

#[test]
fn an_input_takes_the_place_of_what_the_loadable_has() {
    let loadable = Loadable::parse(&pooling(Generation::Short, &[7; WIDTH * WIDTH * ATOM])).expect("whole");
    let input: Vec<u8> = (0..WIDTH * WIDTH * ATOM).map(|at| (at * 91 % 253) as u8).collect();
    let execution = run(&loadable, std::slice::from_ref(&input), &mut host("nv_large")).expect("runs");
    assert_eq!(execution.outputs[0].bytes, pooled(&input));
}

fn halves(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|&value| f16::from_f32(value).to_le_bytes()).collect()
}

/// A task of the CPU alone: (0.5 + x)² of two pixels of three halves.
pub(super) fn power(generation: Generation) -> Vec<u8> {
    // The lists of operations and of buffers, and one operation.
    let mut block = words(&[1, 2, 1]);
    block.resize(256, 0);
    let is_long = generation == Generation::Long;
    let mut operation = vec![0];
    if is_long {
        operation.resize(4, 0);
        operation.extend([1.0f32, 1.0].iter().flat_map(|value| value.to_le_bytes()));
    }
    operation.extend([2.0f32, 1.0, 0.5].iter().flat_map(|value| value.to_le_bytes()));
    operation.resize(if is_long { 24 } else { 16 }, 0);
    let buffer = |address: i16| {
        let mut buffer = words(&[address]);
        if is_long {
            buffer.extend([0; 4]);
        }
        buffer.extend(64u32.to_le_bytes());
        buffer.extend(words(&[if is_long { 3 } else { 2 }, 2, 1, 3]));
        buffer.extend([64u32, 64].iter().flat_map(|stride| stride.to_le_bytes()));
        buffer.resize(256, 0);
        buffer
    };
    let buffers = [buffer(3), buffer(4)].concat();
    let mut source = halves(&[1.0, -2.0, 3.5]);
    source.resize(32, 0);
    source.extend(halves(&[0.0, 4.0, 8.0]));
    source.resize(64, 0);
    let set = |bytes: Vec<u8>| Piece { size: bytes.len(), bytes, flags: 3, domain: 0 };
    let mut pieces: Vec<Piece> = [block, operation, buffers, source].into_iter().map(set).collect();
    pieces.push(Piece { bytes: Vec::new(), size: 64, flags: 1 | MemoryTable::OUTPUT, domain: 0 });
    let version = if is_long { [0, 12, 0] } else { [0, 11, 0] };
    container(&pieces, version, &[(2, &[0, 1, 2, 3, 4])])
}

#[test]
fn the_cpu_does_its_task_behind_the_accelerators() {
    for generation in Generation::ALL {
        let loadable = Loadable::parse(&power(generation)).expect("whole");
        let execution = run(&loadable, &[], &mut host("nv_full")).expect("runs");
        let left = &execution.outputs[0].bytes;
        assert_eq!(left[..6], halves(&[2.25, 2.25, 16.0])[..], "{generation}");
        assert_eq!(left[32..38], halves(&[0.25, 20.25, 72.25])[..], "{generation}");
        assert_eq!(execution.time, Time::ZERO, "the CPU's work takes no simulated time");
    }
}

#[test]
fn what_does_not_fit_is_told_with_its_place() {
    let source = vec![0; WIDTH * WIDTH * ATOM];
    let whole = pooling(Generation::Short, &source);
    let error = Loadable::parse(&whole[..40]).expect_err("cut off");
    assert!(matches!(error, LoadableError::Container(_)), "{error}");
    let set = |bytes: Vec<u8>| Piece { size: bytes.len(), bytes, flags: 3, domain: 0 };
    let lone = container(&[set(vec![0; 39])], [0, 11, 0], &[(1, &[0])]);
    let loadable = Loadable::parse(&lone).expect("whole");
    let error = run(&loadable, &[], &mut host("nv_large")).expect_err("too short");
    let expected = "the network descriptor: 40 bytes at offset 0 are not in its 39";
    assert_eq!(error.to_string(), expected);
    let missing = container(&[set(vec![0; 40])], [0, 11, 0], &[(1, &[7])]);
    let error = Loadable::parse(&missing).expect_err("no such address");
    assert_eq!(error.to_string(), "task 0 names address 7, which the loadable does not have");
    let loadable = Loadable::parse(&whole).expect("whole");
    let error = run(&loadable, &[vec![1]], &mut host("nv_large")).expect_err("too short an input");
    assert!(error.to_string().starts_with("input of 1 bytes"), "{error}");
}

/// A header may say anything: no more is done than its memory holds.
#[test]
fn a_tensor_is_not_larger_than_its_memory() {
    let huge = Tensor {
        name: String::new(),
        size: [usize::MAX / 2, 3, 1 << 31],
        element_bytes: Some(2),
        is_half: false,
        line_stride: 0,
        surface_stride: 0,
        offset: 0,
        bytes: 64,
        widest_atom: 64,
        pixel_bytes: None,
    };
    assert_eq!((huge.pack(&[], 64), huge.unpack(&[0; 64])), (None, None));
    let output = Output { tensor: Some(huge), memory: crate::Memory::Primary, base: 0, bytes: vec![0; 64] };
    assert_eq!(output.dimg(), None);
}

/// 3 pixels of 8 bytes in lines that are rounded up to 32.
#[test]
fn a_tensor_with_room_between_its_lines_is_found_in_them() {
    let tensor = Tensor {
        name: String::new(),
        size: [3, 2, 8],
        element_bytes: Some(1),
        is_half: false,
        line_stride: 32,
        surface_stride: 64,
        offset: 0,
        bytes: 64,
        widest_atom: 64,
        pixel_bytes: None,
    };
    let memory: Vec<u8> = (0..64).collect();
    let elements = tensor.unpack(&memory).expect("in its memory");
    assert_eq!(elements[..6], [0, 8, 16, 32, 40, 48], "the first channel");
    assert_eq!(elements[42..], [7, 15, 23, 39, 47, 55], "the last one");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Bytes from anywhere: refused, or run to an end.
    #[test]
    fn damage_is_refused_or_harmless(hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = pooling(Generation::Short, &vec![1; WIDTH * WIDTH * ATOM]);
        for (at, value) in hits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(loadable) = Loadable::parse(&bytes) {
            let mut host = host("nv_large");
            crate::Host::set_limit(&mut host, Time::us(50));
            let _ = run(&loadable, &[], &mut host);
        }
    }
}

#[test]
fn an_empty_tensor_has_no_elements_to_look_for() {
    let empty = Tensor {
        name: String::new(),
        size: [0, 1 << 31, 1 << 31],
        element_bytes: Some(1),
        is_half: false,
        line_stride: 0,
        surface_stride: 0,
        offset: 0,
        bytes: 64,
        widest_atom: 64,
        pixel_bytes: None,
    };
    assert_eq!((empty.pack(&[], 64), empty.unpack(&[0; 64])), (Some(vec![0; 64]), Some(Vec::new())));
}
