//! The arithmetic beside the slow and obvious one, and its corners.

use super::*;
use crate::nvdla::cube::{Packing, Ram, Surface};
use crate::nvdla::numeric::Converter;
use crate::nvdla::order::Order;
use crate::nvdla::sdp::layer::{
    Carries, Destination, ElementwiseAlu, ElementwiseMultiplier, SdpSource, StageAlu, StageMultiplier,
};
use proptest::prelude::*;

/// Addresses mean nothing here.
const NOWHERE: Surface = Surface {
    ram: Ram::Primary,
    base: 0,
    line_stride: 0,
    surface_stride: 0,
    pixel: 0,
    atom: 8,
    packing: Packing::Strided,
};

fn plain(width: u32, height: u32, channels: u32) -> SdpLayer {
    SdpLayer {
        atom: 8,
        width,
        height,
        channels,
        precision: Precision::Int8,
        input: Precision::Int8,
        output: Precision::Int8,
        nan_to_zero: false,
        order: Order::Lines,
        cube_stride: 0,
        source: SdpSource::Memory(NOWHERE),
        bs: None,
        bn: None,
        ew: None,
        converter: Converter::IDENTITY,
        destination: Destination::Memory(NOWHERE),
    }
}

/// One layer's elements computed one by one, in numbers too wide to overflow, as the arithmetic notes say it.
mod obvious {
    use super::*;

    fn clamp(value: i128, bits: u32) -> i128 {
        value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    }

    fn shifted(value: i128, shift: u32) -> i128 {
        let (magnitude, divisor) = (value.abs(), 1i128 << shift.min(100));
        let rounded = magnitude / divisor + i128::from(2 * (magnitude % divisor) >= divisor);
        value.signum() * rounded
    }

    fn alu(operation: AluOperation, data: i128, operand: i128) -> i128 {
        match operation {
            AluOperation::Max => data.max(operand),
            AluOperation::Min => data.min(operand),
            AluOperation::Sum => data + operand,
        }
    }

    /// The ALU operand and the factor of one lane, if the stream carries them.
    pub(super) fn operands(stream: Option<OperandStream>, group: &[u8], lane: usize) -> (i128, i128) {
        let Some(stream) = stream else { return (0, 0) };
        let element: Vec<i128> = group
            .chunks(stream.operand_bytes)
            .map(|bytes| match bytes {
                [byte] => i128::from(*byte as i8),
                [low, high] => i128::from(i16::from_le_bytes([*low, *high])),
                _ => unreachable!(),
            })
            .collect();
        match stream.carries {
            Carries::Alu => (element[lane], 0),
            Carries::Multiplier => (0, element[lane]),
            Carries::Both => (element[2 * lane], element[2 * lane + 1]),
        }
    }

    pub(super) fn stage(stage: &Stage, data: i128, (alu_operand, factor): (i128, i128)) -> i128 {
        let mut value = data;
        if let Some(it) = stage.alu {
            let operand = match it.operand {
                Operand::Register(value) => value.into(),
                Operand::Memory => alu_operand,
            };
            value = alu(it.operation, value, clamp(operand << it.shift, 32));
        }
        value = match stage.multiplier {
            Some(it) if it.prelu && value >= 0 => i128::from(value as i32),
            Some(it) => {
                let factor = match it.operand {
                    Operand::Register(value) => value.into(),
                    Operand::Memory => factor,
                };
                clamp(shifted(value * factor, stage.shift.into()), 32)
            }
            None => clamp(shifted(value, stage.shift.into()), 32),
        };
        if stage.relu { value.max(0) } else { value }
    }

    fn converted(operand: ElementwiseOperand, memory: i128) -> i128 {
        match operand {
            ElementwiseOperand::Register(value) => value.into(),
            ElementwiseOperand::Memory(None) => memory,
            ElementwiseOperand::Memory(Some(it)) => {
                clamp(shifted((memory - i128::from(it.offset)) * i128::from(it.scale), it.shift.into()), 32)
            }
        }
    }

    pub(super) fn elementwise(it: &Elementwise, data: i128, (alu_operand, factor): (i128, i128)) -> i128 {
        let mut value = data;
        if let Some(it) = it.multiplier
            && !(it.prelu && value >= 0)
        {
            value = clamp(shifted(value * converted(it.operand, factor), it.shift.into()), 32);
        }
        if let Some(it) = it.alu {
            let operand = converted(it.operand, alu_operand);
            let ElementwiseOperation::Alu(operation) = it.operation else { unreachable!() };
            value = clamp(alu(operation, value, operand), 32);
        }
        value
    }

    /// Returns what is written, and whether it counts as saturated: 17 bits change it by more than one.
    pub(super) fn output(it: Converter, data: i128, bits: u32) -> (i128, bool) {
        let value = shifted((data - i128::from(it.offset)) * i128::from(it.scale), it.shift.into());
        (clamp(value, bits), (value - clamp(value, 17)).abs() > 1)
    }
}

fn alu_operation() -> impl Strategy<Value = AluOperation> {
    prop_oneof![Just(AluOperation::Max), Just(AluOperation::Min), Just(AluOperation::Sum)]
}

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![any::<i16>().prop_map(Operand::Register), Just(Operand::Memory)]
}

/// Mostly the shifts networks use, sometimes any.
fn shift(bits: u32) -> impl Strategy<Value = u16> {
    prop_oneof![3 => 0u16..12, 1 => 0u16..1 << bits]
}

fn converter() -> impl Strategy<Value = Converter> {
    let offset = prop_oneof![-300i32..300, any::<i32>()];
    (offset, any::<i16>(), shift(6)).prop_map(|(offset, scale, shift)| Converter {
        offset,
        scale,
        shift: shift as u8,
    })
}

/// A stream for the operands that come from memory, if any.
fn stream(alu: bool, factor: bool, both: bool, two_bytes: bool, per_element: bool) -> Option<OperandStream> {
    let carries = match (alu, factor) {
        (false, false) => return None,
        (true, false) if !both => Carries::Alu,
        (false, true) if !both => Carries::Multiplier,
        _ => Carries::Both,
    };
    Some(OperandStream {
        surface: NOWHERE,
        carries,
        operand_bytes: 1 + usize::from(two_bytes),
        per_element,
        is_half_taken: false,
    })
}

fn stage() -> impl Strategy<Value = Stage> {
    let alu = proptest::option::of((alu_operation(), operand(), shift(6)));
    let multiplier = proptest::option::of((operand(), any::<bool>()));
    (alu, multiplier, shift(6), any::<[bool; 4]>()).prop_map(|(alu, multiplier, shift, flags)| {
        let alu = alu.map(|(operation, operand, shift)| StageAlu { operation, operand, shift: shift as u8 });
        let multiplier = multiplier.map(|(operand, prelu)| StageMultiplier { operand, prelu });
        let [relu, both, two_bytes, per_element] = flags;
        let alu_memory = alu.is_some_and(|it| it.operand == Operand::Memory);
        let factor_memory = multiplier.is_some_and(|it| it.operand == Operand::Memory);
        let operands = stream(alu_memory, factor_memory, both, two_bytes, per_element);
        Stage { alu, multiplier, shift: shift as u8, relu, operands }
    })
}

fn elementwise() -> impl Strategy<Value = Elementwise> {
    let operand = || {
        prop_oneof![
            any::<i32>().prop_map(ElementwiseOperand::Register),
            proptest::option::of(converter()).prop_map(ElementwiseOperand::Memory),
        ]
    };
    let alu = proptest::option::of((alu_operation().prop_map(ElementwiseOperation::Alu), operand()));
    let multiplier = proptest::option::of((operand(), shift(10), any::<bool>()));
    (alu, multiplier, any::<[bool; 3]>()).prop_map(|(alu, multiplier, flags)| {
        let alu = alu.map(|(operation, operand)| ElementwiseAlu { operation, operand });
        let multiplier =
            multiplier.map(|(operand, shift, prelu)| ElementwiseMultiplier { operand, shift, prelu });
        let [both, two_bytes, per_element] = flags;
        let memory = |operand| matches!(operand, ElementwiseOperand::Memory(_));
        let alu_memory = alu.is_some_and(|it| memory(it.operand));
        let factor_memory = multiplier.is_some_and(|it| memory(it.operand));
        let operands = stream(alu_memory, factor_memory, both, two_bytes, per_element);
        Elementwise { multiplier, alu, lut: None, operands }
    })
}

/// Of processing, input and output.
fn formats() -> impl Strategy<Value = (Precision, Precision, Precision)> {
    use Precision::{Int8, Int16};
    prop_oneof![
        3 => Just((Int8, Int8, Int8)),
        1 => Just((Int16, Int16, Int16)),
        1 => Just((Int8, Int16, Int8)),
        1 => Just((Int8, Int8, Int16)),
    ]
}

prop_compose! {
    fn layer()(
        atom in prop_oneof![Just(8usize), Just(16), Just(32)],
        (width, height, channels) in (1u32..6, 1u32..5, 1u32..70),
        (precision, input, output) in formats(),
        bs in proptest::option::of(stage()),
        bn in proptest::option::of(stage()),
        ew in proptest::option::of(elementwise()),
        converter in prop_oneof![Just(Converter::IDENTITY), converter()],
    ) -> SdpLayer {
        SdpLayer { atom, precision, input, output, bs, bn, ew, converter, ..plain(width, height, channels) }
    }
}

/// A cube of pseudo-random bytes.
fn noise(width: u32, height: u32, surfaces: u32, atom: usize, seed: u64) -> Cube {
    use rand::{RngCore, SeedableRng};
    let mut cube = Cube::new(width, height, surfaces, atom);
    rand::rngs::SmallRng::seed_from_u64(seed).fill_bytes(cube.as_bytes_mut());
    cube
}

fn operand_noise(layer: &SdpLayer, stream: Option<OperandStream>, seed: u64) -> Option<Cube> {
    let stream = stream?;
    let (width, height) = if stream.per_element { (layer.width, layer.height) } else { (1, 1) };
    Some(noise(width, height, layer.surfaces(), stream.group_bytes(layer.lanes()), seed))
}

fn lanes_of(format: Precision, atom: &[u8]) -> Vec<i32> {
    match format {
        Precision::Int8 => atom.iter().map(|&byte| (byte as i8).into()).collect(),
        _ => atom.chunks(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]]).into()).collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_lane_is_what_the_arithmetic_notes_say(layer in layer(), seed: u64) {
        let bytes = layer.lanes() * layer.input.bytes();
        let input = noise(layer.width, layer.height, layer.surfaces(), bytes, seed);
        let streams = [
            layer.bs.and_then(|it| it.operands),
            layer.bn.and_then(|it| it.operands),
            layer.ew.and_then(|it| it.operands),
        ];
        let cubes: Vec<_> =
            (1..).zip(streams).map(|(salt, stream)| operand_noise(&layer, stream, seed ^ salt)).collect();
        let operands = OperandCubes { bs: cubes[0].as_ref(), bn: cubes[1].as_ref(), ew: cubes[2].as_ref() };
        let (output, counters) = run(&layer, &Tables::default(), Input::Memory(&input), &operands);

        let mut saturated = 0;
        for (surface, x, y) in output.coordinates() {
            let results = lanes_of(layer.output, output.atom(surface, x, y));
            for (lane, &element) in lanes_of(layer.input, input.atom(surface, x, y)).iter().enumerate() {
                let operands = |index: usize| {
                    let group = group_of(cubes[index].as_ref(), streams[index], (surface, x, y));
                    obvious::operands(streams[index], group, lane)
                };
                let mut value = i128::from(element);
                value = layer.bs.map_or(value, |it| obvious::stage(&it, value, operands(0)));
                value = layer.bn.map_or(value, |it| obvious::stage(&it, value, operands(1)));
                value = layer.ew.map_or(value, |it| obvious::elementwise(&it, value, operands(2)));
                let bits = 8 * layer.output.bytes() as u32;
                let (expected, counts) = obvious::output(layer.converter, value, bits);
                saturated += u64::from(counts);
                prop_assert_eq!(i128::from(results[lane]), expected, "({}, {}, {}) lane {}", surface, x, y, lane);
            }
        }

        prop_assert_eq!(counters.out_saturation, saturated);

        let values: Vec<i32> =
            input.as_bytes().chunks(bytes).flat_map(|atom| lanes_of(layer.input, atom)).collect();
        let from_accumulator = run(&layer, &Tables::default(), Input::Accumulator(&values), &operands);
        prop_assert_eq!(from_accumulator, (output, counters));
    }
}

fn one(layer: &SdpLayer, value: i32) -> (i8, AtomCounters) {
    let mut output = [0; 8];
    let tables = Tables::default();
    let mut input = [value, 0, 0, 0, 0, 0, 0, 0];
    let counters =
        Datapath::new(layer, &tables).accumulator_atoms(&mut input, &AtomOperands::default(), &mut output);
    (output[0] as i8, counters)
}

#[test]
fn a_bypassed_multiplier_still_shifts() {
    let alu = StageAlu { operation: AluOperation::Sum, operand: Operand::Register(5), shift: 0 };
    let stage = Stage { alu: Some(alu), multiplier: None, shift: 2, relu: false, operands: None };
    assert_eq!(one(&SdpLayer { bs: Some(stage), ..plain(1, 1, 8) }, 10).0, 4);
}

#[test]
fn prelu_leaves_positive_values_unshifted() {
    let alu = StageAlu { operation: AluOperation::Sum, operand: Operand::Register(5), shift: 0 };
    let multiplier = StageMultiplier { operand: Operand::Register(3), prelu: true };
    let stage = Stage { alu: Some(alu), multiplier: Some(multiplier), shift: 2, relu: false, operands: None };
    let layer = SdpLayer { bs: Some(stage), ..plain(1, 1, 8) };
    assert_eq!(one(&layer, 10).0, 15);
    assert_eq!(one(&layer, -19).0, -11);
}

#[test]
fn saturation_counts_the_17_bit_clamp_only() {
    let counted = |value| one(&plain(1, 1, 8), value).1.out_saturation;
    let values = [127, 128, 65535, 65536, 65537, -65536, -65537, -65538];
    assert_eq!(values.map(counted), [0, 0, 0, 0, 1, 0, 0, 1]);
    // Rounded before.
    let quartered = SdpLayer { converter: Converter { offset: 0, scale: 1, shift: 2 }, ..plain(1, 1, 8) };
    let counted = |value| one(&quartered, value).1.out_saturation;
    assert_eq!([65537 * 4 - 3, 65537 * 4 - 2, -65538 * 4 + 2, -65538 * 4 + 3].map(counted), [0, 1, 1, 0]);
}

#[test]
fn a_comparison_reports_differences_and_writes_nothing() {
    let alu =
        ElementwiseAlu { operation: ElementwiseOperation::Equal, operand: ElementwiseOperand::Memory(None) };
    let operands = stream(true, false, false, false, true);
    let ew = Elementwise { multiplier: None, alu: Some(alu), lut: None, operands };
    let layer = SdpLayer { ew: Some(ew), ..plain(1, 1, 8) };
    let tables = Tables::default();
    let datapath = Datapath::new(&layer, &tables);
    let mut output = [0x55; 8];
    let input = [1, 2, 3, 4, 5, 6, 7, 0xff];
    let same =
        datapath.memory_atom(&input, &AtomOperands { ew: &input, ..AtomOperands::default() }, &mut output);
    let other =
        datapath.memory_atom(&input, &AtomOperands { ew: &[0; 8], ..AtomOperands::default() }, &mut output);
    assert_eq!((same.unequal, other.unequal, output), (false, true, [0x55; 8]));
}

/// RTL, `NV_NVDLA_SDP_WDMA_DAT_out.v`: the status is not of comparisons alone.
#[test]
fn the_status_tells_of_any_byte_for_the_write_dma_that_is_not_0() {
    let memory = plain(1, 1, 8);
    let tables = Tables::default();
    let unequal = |layer: &SdpLayer, input: [u8; 8]| {
        let mut output = [0; 8];
        Datapath::new(layer, &tables).memory_atom(&input, &AtomOperands::default(), &mut output).unequal
    };
    assert!(!unequal(&memory, [0; 8]));
    assert!(unequal(&memory, [0, 0, 0, 0, 0, 0, 0, 1]));
    let to_pdp = SdpLayer { destination: Destination::Pooling, ..memory.clone() };
    assert!(!unequal(&to_pdp, [1; 8]));
}
