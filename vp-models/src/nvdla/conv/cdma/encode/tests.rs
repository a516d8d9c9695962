//! Tests that what is encoded is decoded, and that what is refused is refused alike.

use super::*;
use crate::nvdla::config::Config;
use crate::nvdla::conv::buffer::{Banks, Reuse};
use crate::nvdla::conv::cdma::layer::Weights;
use crate::nvdla::conv::cdma::pixel::Format;
use crate::nvdla::cube::Surface;
use proptest::prelude::*;

fn full() -> Hardware {
    Hardware::from(&Config::named("nv_full").unwrap())
}

fn ram() -> impl Strategy<Value = Ram> + Clone {
    any::<bool>().prop_map(|primary| if primary { Ram::Primary } else { Ram::Secondary })
}

fn precision() -> impl Strategy<Value = Precision> {
    prop_oneof![2 => Just(Precision::Int8), 1 => Just(Precision::Int16), 1 => Just(Precision::Fp16)]
}

fn converter() -> impl Strategy<Value = Converter> {
    (any::<i16>(), any::<i16>(), 0u8..64).prop_map(|(offset, scale, shift)| Converter {
        offset: offset.into(),
        scale,
        shift,
    })
}

/// Feature layers, also of another format than that of processing, and lines that are read together though they lie apart.
fn feature(precision: Precision) -> impl Strategy<Value = Feature> {
    let size = (1u32..=40, 1u32..=40, 1u32..=200);
    let strides = (0u32..1 << 18, 0u32..1 << 18, any::<bool>());
    let format = prop_oneof![8 => Just(precision), 1 => Just(Precision::Int16)];
    let cubes = prop_oneof![4 => Just((1u32, 0u32)), 1 => (2u32..40, 0u32..1 << 18)];
    (
        size,
        strides,
        (ram(), 0u64..1 << 40, 1u32..50),
        format,
        prop::option::of(converter()),
        cubes,
        any::<bool>(),
    )
        .prop_map(move |(size, strides, (ram, base, grain), format, converter, (cubes, apart), flag)| {
            let ((width, height, channels), (line, surface, dense)) = (size, strides);
            let lanes = full().lanes(precision);
            Feature {
                surface: Surface {
                    ram,
                    base: base / 32 * 32,
                    line_stride: 32 * if dense { width } else { line },
                    surface_stride: 32 * surface,
                    pixel: 32,
                    atom: 32,
                    packing: if flag && width * height == 1 { Packing::Packed } else { Packing::Strided },
                },
                width,
                height,
                channels,
                lanes,
                surfaces_at_once: 2,
                grain: grain.min(height),
                cubes,
                cube_stride: 32 * apart,
                format,
                nan_to_zero: flag && format == Precision::Fp16,
                converter: converter.filter(|_| format != Precision::Fp16),
            }
        })
}

fn image() -> impl Strategy<Value = Image> {
    let plane = || (0u64..1 << 40, 0u32..1 << 18).prop_map(|(base, stride)| (base / 32 * 32, 32 * stride));
    let size = (1u32..=60, 1u32..=40, 0u32..32, 0u32..32, 0u32..64);
    let offsets = prop_oneof![any::<i16>().prop_map(|one| [one; 4]), any::<[i16; 4]>()];
    (
        (plane(), plane(), ram()),
        size,
        0u32..36,
        (any::<bool>(), any::<i16>()),
        prop::option::of((converter(), offsets)),
    )
        .prop_map(|((first, second, ram), size, code, (signed, padding), converter)| {
            let format = Format::named(code).unwrap_or(Format::named(0).unwrap());
            let (width, height, x_offset, left, right) = size;
            let of_channels = |(converter, offsets): (Converter, [i16; 4])| {
                offsets.map(|offset| Converter { offset: offset.into(), ..converter })
            };
            let two = format.pixel_bytes()[1] > 0;
            Image {
                ram,
                bases: [first.0, if two { second.0 } else { 0 }],
                strides: [first.1, if two { second.1 } else { 0 }],
                atom: 32,
                width,
                height,
                format,
                signed,
                x_offset,
                left,
                right,
                padding,
                nan_to_zero: false,
                converters: converter.filter(|_| !format.is_float()).map(of_channels),
            }
        })
}

fn winograd(precision: Precision) -> impl Strategy<Value = Winograd> {
    (feature(precision), (0u32..8, 0u32..8, 0u32..8, 0u32..8), any::<i16>(), [1u32..3, 1u32..3]).prop_map(
        |(feature, (left, right, top, bottom), padding, step)| {
            let surface = Surface { packing: Packing::Strided, ..feature.surface };
            // Mostly a legal one.
            let channels = match left {
                7 => feature.channels,
                _ => feature.channels.next_multiple_of(feature.lanes),
            };
            let whole = |size: u32, before: u32, step: u32| match before {
                7 => 1,
                _ => (before + size).next_multiple_of(4 * step) - before - size,
            };
            Winograd {
                right: if right == 7 { 7 } else { whole(feature.width, left, step[0]) },
                bottom: if bottom == 7 { 7 } else { whole(feature.height, top, step[1]) },
                left,
                top,
                padding,
                step,
                feature: Feature { grain: 1, surface, channels, ..feature },
            }
        },
    )
}

fn layer() -> impl Strategy<Value = CdmaLayer> {
    let input = |precision| {
        prop_oneof![
            2 => feature(precision).prop_map(Input::Feature),
            1 => image().prop_map(Input::Image),
            1 => winograd(precision).prop_map(Input::Winograd),
        ]
    };
    let compressed = (0u64..1 << 40, 0u32..2000, 0u64..1 << 40, prop::option::of([1u32..17, 1u32..17]));
    let compressed = compressed.prop_map(|(mask, bytes, sizes, turns)| Compressed {
        mask_base: mask / 32 * 32,
        mask_bytes: 128 * bytes,
        sizes_base: sizes / 32 * 32,
        turns: turns.unwrap_or(Compressed::TURNS),
    });
    let weights = (ram(), 0u64..1 << 40, 1u32..8000, 1u32..2000, 1u32..200, prop::option::of(compressed));
    let rest = (weights, (1u32..16, 1u32..8), any::<[bool; 4]>(), 1u32..400);
    precision().prop_flat_map(move |precision| (Just(precision), input(precision), rest.clone())).prop_map(
        |(precision, input, ((ram, base, units, kernel_bytes, kernels, compressed), banks, flags, more))| {
            let cubes = if let Input::Feature(Feature { cubes, .. }) = input { cubes } else { 1 };
            let line = 2 * input.line_elements() as u32 / cubes + 32 * 60;
            let needed = line.div_ceil(128);
            let held = (128 * units).min(1 << 20);
            // Mostly so many that they have room.
            let bytes = held.max((kernels * kernel_bytes).next_multiple_of(128));
            CdmaLayer {
                atom: 32,
                precision,
                converted: precision,
                // Mostly as many as a line takes.
                entries: cubes * if more > 100 { needed } else { more },
                input,
                weights: Weights { ram, base: base / 32 * 32, bytes, kernel_bytes, kernels, compressed },
                banks: Banks { data: banks.0, weight: banks.1 },
                reuse: Reuse { data: flags[0], weight: flags[1], keep_data: flags[2], keep_weight: flags[3] },
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_encoded_is_decoded_and_what_is_refused_is_refused_alike(layer in layer()) {
        let encoded = layer.encode(RegisterMap::Full, &full());
        match layer.fields().group(Unit::Cdma, RegisterMap::Full) {
            Ok(group) => {
                let decoded = CdmaLayer::decode(&group, &full());
                prop_assert_eq!(encoded.as_ref().err(), decoded.as_ref().err());
                if let Ok(decoded) = decoded {
                    prop_assert_eq!(decoded, layer);
                }
            }
            Err(refused) => prop_assert_eq!(encoded.err(), Some(refused)),
        }
    }
}

/// The layers that are drawn are of all kinds, and not mostly refused.
#[test]
fn many_of_the_layers_that_are_drawn_are_legal() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut legal = [0; 3];
    for _ in 0..1000 {
        let layer = layer().new_tree(&mut runner).unwrap().current();
        let kind = match layer.input {
            Input::Feature(_) => 0,
            Input::Image(_) => 1,
            Input::Winograd(_) => 2,
        };
        legal[kind] += usize::from(layer.encode(RegisterMap::Full, &full()).is_ok());
    }
    assert!(legal.into_iter().all(|count| count > 10), "{legal:?}");
}
