//! Tests that what is encoded is decoded, and that what is refused is refused alike.

use super::*;
use crate::nvdla::formats::Formats;
use crate::nvdla::numeric::Precision;
use crate::nvdla::registers::Table;
use crate::nvdla::sdp::layer::{ElementwiseAlu, ElementwiseMultiplier, StageAlu, StageMultiplier};
use proptest::prelude::*;

const ATOM: u32 = 32;
const FULL: Hardware = Hardware {
    atom: ATOM as usize,
    bs: true,
    bn: true,
    ew: true,
    lut: true,
    formats: Formats::ALL,
    winograd: true,
    batches: 32,
};

fn surface() -> impl Strategy<Value = Surface> {
    let strides = (0u32..1 << 27, 0u32..1 << 27);
    (any::<bool>(), 0u64..1 << 40, strides).prop_map(|(ram, base, (line, surface))| Surface {
        ram: if ram { Ram::Primary } else { Ram::Secondary },
        base: base / 32 * 32,
        line_stride: 32 * line,
        surface_stride: 32 * surface,
        pixel: ATOM,
        atom: ATOM,
        packing: Packing::Strided,
    })
}

fn operation() -> impl Strategy<Value = AluOperation> {
    prop_oneof![Just(AluOperation::Max), Just(AluOperation::Min), Just(AluOperation::Sum)]
}

fn converter() -> impl Strategy<Value = Converter> {
    (any::<i32>(), any::<i16>(), 0u8..64).prop_map(|(offset, scale, shift)| Converter {
        offset,
        scale,
        shift,
    })
}

/// A stream, as the layer will have it once it is said which operands it carries.
fn stream() -> impl Strategy<Value = OperandStream> {
    let carries =
        prop_oneof![1 => Just(Carries::Multiplier), 1 => Just(Carries::Alu), 4 => Just(Carries::Both)];
    (surface(), carries, 1usize..=2, any::<bool>()).prop_map(
        |(surface, carries, operand_bytes, per_element)| OperandStream {
            surface,
            carries,
            operand_bytes,
            per_element,
            is_half_taken: false,
        },
    )
}

/// The stream of a stage that takes these operands from memory, if it takes any.
fn taken(mut stream: OperandStream, [alu, multiplier]: [bool; 2], layer: &SdpLayer) -> Option<OperandStream> {
    stream.is_half_taken = stream.carries == Carries::Both && alu != multiplier;
    stream.surface.packing = match stream.per_element {
        true if layer.width * layer.height > 1 => Packing::Strided,
        _ => Packing::Packed,
    };
    stream.surface.pixel = stream.group_bytes(layer.lanes()) as u32;
    (alu || multiplier).then_some(stream)
}

fn stage() -> impl Strategy<Value = Option<Stage>> {
    let operand = || prop_oneof![any::<i16>().prop_map(Operand::Register), Just(Operand::Memory)];
    let alu = (operation(), operand(), 0u8..64).prop_map(|(operation, operand, shift)| StageAlu {
        operation,
        operand,
        shift,
    });
    let multiplier =
        (operand(), any::<bool>()).prop_map(|(operand, prelu)| StageMultiplier { operand, prelu });
    let parts = (prop::option::of(alu), prop::option::of(multiplier), 0u8..64, any::<bool>(), stream());
    prop::option::of(parts.prop_map(|(alu, multiplier, shift, relu, stream)| Stage {
        alu,
        multiplier,
        shift,
        relu,
        operands: Some(stream),
    }))
}

fn settings() -> impl Strategy<Value = lut::Settings> {
    let slope = || (any::<i16>(), -16i8..16).prop_map(|(scale, shift)| lut::Slope { scale, shift });
    let range = || {
        (any::<i32>(), any::<i32>(), slope(), slope())
            .prop_map(|(start, end, underflow, overflow)| lut::Range { start, end, underflow, overflow })
    };
    let index = prop_oneof![
        any::<i8>().prop_map(|offset| lut::LeIndex::Exponent { offset }),
        any::<i8>().prop_map(|select| lut::LeIndex::Linear { select }),
    ];
    let table = || any::<bool>().prop_map(|lo| if lo { Table::Lo } else { Table::Le });
    (index, any::<i8>(), range(), range(), [table(), table(), table()]).prop_map(
        |(le_index, lo_select, le, lo, [underflow, overflow, hybrid])| lut::Settings {
            le_index,
            lo_select,
            le,
            lo,
            priorities: lut::Priorities { underflow, overflow, hybrid },
        },
    )
}

fn elementwise() -> impl Strategy<Value = Option<Elementwise>> {
    let operand = || {
        prop_oneof![
            any::<i32>().prop_map(ElementwiseOperand::Register),
            prop::option::of(converter()).prop_map(ElementwiseOperand::Memory),
        ]
    };
    let operation = prop_oneof![4 => operation().prop_map(ElementwiseOperation::Alu), 1 => Just(ElementwiseOperation::Equal)];
    let alu = (operation, operand()).prop_map(|(operation, operand)| ElementwiseAlu { operation, operand });
    let multiplier = (operand(), 0u16..1024, any::<bool>())
        .prop_map(|(operand, shift, prelu)| ElementwiseMultiplier { operand, shift, prelu });
    let parts = (prop::option::of(multiplier), prop::option::of(alu), prop::option::of(settings()), stream());
    prop::option::of(parts.prop_map(|(multiplier, alu, lut, stream)| Elementwise {
        multiplier,
        alu,
        lut,
        operands: Some(stream),
    }))
}

fn precision() -> impl Strategy<Value = Precision> {
    prop_oneof![4 => Just(Precision::Int8), 1 => Just(Precision::Int16), 1 => Just(Precision::Fp16)]
}

prop_compose! {
    fn layer()(
        (width, height, channels) in (prop_oneof![Just(1u32), 1u32..=8192], prop_oneof![Just(1u32), 1u32..=8192], 1u32..=8192),
        (precision, input, output) in (precision(), precision(), precision()),
        nan_to_zero: bool,
        order in prop_oneof![6 => Just(Order::Lines), 1 => Just(Order::Tiles), 1 => (2u32..34).prop_map(Order::Cubes)],
        cube_stride in 0u32..1 << 27,
        (source, destination) in (prop::option::of(surface()), prop::option::weighted(0.8, surface())),
        (bs, bn, ew) in (stage(), stage(), elementwise()),
        converter in converter(),
    ) -> SdpLayer {
        let packing = if width * height == 1 { Packing::Packed } else { Packing::Strided };
        let written = if order.cubes() > 1 { Packing::Strided } else { packing };
        let source = source.map_or(SdpSource::Accumulator, |surface| SdpSource::Memory(Surface { packing, ..surface }));
        let mut layer = SdpLayer {
            atom: ATOM as usize,
            width,
            height,
            channels,
            precision,
            input: if source == SdpSource::Accumulator { precision } else { input },
            output,
            nan_to_zero,
            order,
            cube_stride: 32 * cube_stride,
            source,
            bs,
            bn,
            ew,
            converter,
            destination: destination
                .map_or(Destination::Pooling, |surface| Destination::Memory(Surface { packing: written, ..surface })),
        };
        let shape = layer.clone();
        let memory = |operand: Option<Operand>| operand == Some(Operand::Memory);
        for stage in [&mut layer.bs, &mut layer.bn].into_iter().flatten() {
            let taken_operands = [memory(stage.alu.map(|it| it.operand)), memory(stage.multiplier.map(|it| it.operand))];
            stage.operands = stage.operands.and_then(|stream| taken(stream, taken_operands, &shape));
        }
        if let Some(stage) = &mut layer.ew {
            let memory = |operand: Option<ElementwiseOperand>| matches!(operand, Some(ElementwiseOperand::Memory(_)));
            let taken_operands = [memory(stage.alu.map(|it| it.operand)), memory(stage.multiplier.map(|it| it.operand))];
            stage.operands = stage.operands.and_then(|stream| taken(stream, taken_operands, &shape));
        }
        layer
    }
}

/// Decodes what the registers that are written say.
fn decoded(layer: &SdpLayer, hardware: &Hardware) -> Result<SdpLayer, Refused> {
    let mut written = layer.fields();
    if let Some(settings) = layer.ew.and_then(|ew| ew.lut) {
        written = written.and(Encoded::of(Unit::Sdp, lut::fields(&settings)));
    }
    let rdma = written.group(Unit::SdpRdma, RegisterMap::Full)?;
    SdpLayer::decode(&written.group(Unit::Sdp, RegisterMap::Full)?, &rdma, hardware)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_is_encoded_is_decoded_and_what_is_refused_is_refused_alike(layer in layer()) {
        let decoded = decoded(&layer, &FULL);
        prop_assert_eq!(layer.encode(RegisterMap::Full, &FULL).err(), decoded.as_ref().err().cloned());
        if let Ok(decoded) = decoded {
            prop_assert_eq!(decoded, layer);
        }
    }
}

#[test]
fn what_the_hardware_lacks_cannot_be_said() {
    let copy = SdpLayer {
        atom: ATOM as usize,
        width: 4,
        height: 4,
        channels: 32,
        precision: Precision::Int8,
        input: Precision::Int8,
        output: Precision::Int8,
        nan_to_zero: false,
        order: Order::Lines,
        cube_stride: 0,
        source: SdpSource::Accumulator,
        bs: None,
        bn: Some(Stage { alu: None, multiplier: None, shift: 0, relu: true, operands: None }),
        ew: None,
        converter: Converter::IDENTITY,
        destination: Destination::Pooling,
    };
    let encode =
        |hardware| copy.encode(RegisterMap::Full, &hardware).map(|_| ()).map_err(|it| it.to_string());
    assert_eq!(encode(FULL), Ok(()));
    let refused = encode(Hardware { bn: false, ..FULL }).unwrap_err();
    assert!(refused.contains("registers cannot say"), "{refused}");
}
