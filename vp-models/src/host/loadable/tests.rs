//! A loadable of our own, in both generations: a pooling, and a power by the CPU behind it.

mod builder;

use super::*;
use crate::local::LocalHost;
use crate::platform::{Description, Platform};
use builder::{Piece, container};
use half::f16;
use proptest::prelude::*;
use vp_core::Time;

fn words(values: &[i16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

const WIDTH: usize = 4;
const ATOM: usize = 32;

/// Places of the loadable's addresses.
const SOURCE: i16 = 4;
const RESULT: i16 = 5;

/// A cube of 32 bytes a position, `offset` into its memory.
fn cube(generation: Generation, address: i16, width: u16, offset: u32) -> Vec<u8> {
    let mut cube = words(&[0, address]);
    if generation == Generation::Long {
        cube.extend(offset.to_le_bytes());
    }
    let line = u32::from(width) * ATOM as u32;
    cube.extend((line * u32::from(width)).to_le_bytes());
    cube.extend([width, width, ATOM as u16, 0].iter().flat_map(|value| value.to_le_bytes()));
    cube.extend([line, line * u32::from(width), 0].iter().flat_map(|value| value.to_le_bytes()));
    cube
}

/// Bytes that the newer generation's source begins after.
const OFFSET: usize = 64;

/// Max pooling of 2 x 2 over 4 x 4 x 32, int8.
fn pooling(generation: Generation, source: &[u8]) -> Vec<u8> {
    let (version, offset) = match generation {
        Generation::Short => ([0, 11, 0], 0),
        Generation::Long => ([0, 12, 0], OFFSET),
    };
    // Operations, surfaces, dependencies; no tables, regions, statistics; heads; one region, one operation.
    let mut network = words(&[1, 2, 3, -1, -1, -1, -1, 0, -1, -1, -1, 0, -1, -1, 1, 1, 0, 6, 0]);
    network.extend([0, 0]);
    let mut operation = words(&[0; 6]);
    // One split; max; kernel and stride of two; no padding; int8.
    operation.extend([1, 1, 1, 1, 2, 2, 0, 0, 0, 0, 0, 0]);
    operation.resize(116, 0);
    let mut surface = cube(generation, SOURCE, WIDTH as u16, offset as u32);
    surface.extend(cube(generation, RESULT, WIDTH as u16 / 2, 0));
    surface.resize(644, 0);
    let mut dependency = words(&[0]);
    // A pooling that waits for nobody, and for which nobody waits.
    dependency.extend([0, 3, 0, 0, 0, 0]);
    dependency.extend([[0xff, 0xff, 0, 0]; 7].concat());
    let mut bytes = vec![0; offset];
    bytes.extend(source);
    let set = |bytes: Vec<u8>| Piece { size: bytes.len(), bytes, flags: 3 };
    let mut pieces: Vec<Piece> = [network, operation, surface, dependency].into_iter().map(set).collect();
    pieces.push(Piece { size: bytes.len(), bytes, flags: 3 | flags::INPUT });
    pieces.push(Piece { bytes: Vec::new(), size: WIDTH / 2 * WIDTH / 2 * ATOM, flags: 1 | flags::OUTPUT });
    container(&pieces, version, &[(1, &[0, 1, 2, 3, 4, 5])])
}

fn host(platform: &str) -> LocalHost {
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

#[test]
fn an_input_takes_the_place_of_what_the_loadable_has() {
    let loadable = Loadable::parse(&pooling(Generation::Short, &[7; WIDTH * WIDTH * ATOM])).expect("whole");
    let input: Vec<u8> = (0..WIDTH * WIDTH * ATOM).map(|at| (at * 91 % 253) as u8).collect();
    let execution = run(&loadable, std::slice::from_ref(&input), &mut host("nv_large")).expect("runs");
    assert_eq!(execution.outputs[0].bytes, pooled(&input));
}

#[test]
fn the_cpu_does_its_task_behind_the_accelerators() {
    let halves = |values: &[f32]| {
        values.iter().flat_map(|&value| f16::from_f32(value).to_le_bytes()).collect::<Vec<u8>>()
    };
    // The lists of operations and of buffers, and one operation.
    let mut block = words(&[1, 2, 1]);
    block.resize(256, 0);
    let mut operation = vec![0];
    operation.extend([2.0f32, 1.0, 0.5].iter().flat_map(|value| value.to_le_bytes()));
    operation.resize(16, 0);
    let buffer = |address: i16| {
        let mut buffer = words(&[address]);
        buffer.extend(64u32.to_le_bytes());
        buffer.extend(words(&[2, 2, 1, 3]));
        buffer.extend([64u32, 64].iter().flat_map(|stride| stride.to_le_bytes()));
        buffer.resize(256, 0);
        buffer
    };
    let buffers = [buffer(3), buffer(4)].concat();
    let mut source = halves(&[1.0, -2.0, 3.5]);
    source.resize(32, 0);
    source.extend(halves(&[0.0, 4.0, 8.0]));
    source.resize(64, 0);
    let set = |bytes: Vec<u8>| Piece { size: bytes.len(), bytes, flags: 3 };
    let mut pieces: Vec<Piece> = [block, operation, buffers, source].into_iter().map(set).collect();
    pieces.push(Piece { bytes: Vec::new(), size: 64, flags: 1 | flags::OUTPUT });
    let bytes = container(&pieces, [0, 11, 0], &[(2, &[0, 1, 2, 3, 4])]);
    let execution = run(&Loadable::parse(&bytes).expect("whole"), &[], &mut host("nv_full")).expect("runs");
    let left = &execution.outputs[0].bytes;
    assert_eq!(left[..6], halves(&[2.25, 2.25, 16.0])[..]);
    assert_eq!(left[32..38], halves(&[0.25, 20.25, 72.25])[..]);
    assert_eq!(execution.time, Time::ZERO, "the CPU's work takes no simulated time");
}

#[test]
fn what_does_not_fit_is_told_with_its_place() {
    let source = vec![0; WIDTH * WIDTH * ATOM];
    let whole = pooling(Generation::Short, &source);
    let error = Loadable::parse(&whole[..40]).expect_err("cut off");
    assert!(matches!(error, LoadableError::Container(_)), "{error}");
    let set = |bytes: Vec<u8>| Piece { size: bytes.len(), bytes, flags: 3 };
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
    };
    assert_eq!((huge.pack(&[], 64), huge.unpack(&[0; 64])), (None, None));
    let output = Output { tensor: Some(huge), base: 0, bytes: vec![0; 64] };
    assert_eq!(output.dimg(), None);
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
            crate::host::Host::set_limit(&mut host, Time::us(50));
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
    };
    assert_eq!((empty.pack(&[], 64), empty.unpack(&[0; 64])), (Some(vec![0; 64]), Some(Vec::new())));
}
