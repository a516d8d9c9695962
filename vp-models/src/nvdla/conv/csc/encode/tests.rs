//! Tests that what is encoded is decoded, and that what is refused is refused alike.

use super::*;
use crate::nvdla::config::Config;
use crate::nvdla::conv::buffer::{Banks, Reuse};
use crate::nvdla::conv::cdma::feature::Feature;
use crate::nvdla::conv::cdma::layer::Weights;
use crate::nvdla::conv::compute::{Axes, Kernel};
use crate::nvdla::conv::csc::layer::CscParameters;
use crate::nvdla::cube::{Ram, Surface};
use crate::nvdla::numeric::Precision;
use proptest::prelude::*;

fn full() -> Hardware {
    Hardware::from(&Config::named("nv_full").unwrap())
}

/// Returns what is said to both units, and not looked at here.
fn cdma(cubes: u32) -> CdmaLayer {
    let surface = Surface::within(32, 32, 32);
    CdmaLayer {
        atom: 32,
        precision: Precision::Int8,
        converted: Precision::Int8,
        input: Input::Feature(Feature {
            surface,
            width: 1,
            height: 1,
            channels: 32,
            lanes: 32,
            surfaces_at_once: 2,
            grain: 1,
            cubes,
            cube_stride: 0,
            format: Precision::Int8,
            nan_to_zero: false,
            converter: None,
        }),
        entries: 8 * cubes,
        weights: Weights {
            ram: Ram::Primary,
            base: 0,
            bytes: 1280,
            kernel_bytes: 1,
            kernels: 1,
            compressed: None,
        },
        banks: Banks { data: 7, weight: 8 },
        reuse: Reuse { data: false, weight: false, keep_data: false, keep_weight: false },
    }
}

prop_compose! {
    /// Mostly one that is legal in its mode.
    fn parameters()(
        code in 0u32..3,
        mode in 0usize..4,
        strays in prop::bool::weighted(0.2),
        kernel in (1usize..=32, 1usize..=32, 1usize..=200, (1usize..=34, 1usize..=34)),
        rows_at_once in 0u32..3,
        stride in (1usize..=9, 1usize..=9),
        output in (1u32..=60, 1u32..=60),
        input in (1u32..=100, 1u32..=100),
        before in (0usize..=31, 0usize..=31),
        padding: i16,
        kernels in 1u32..=100,
        flags: [bool; 5],
        cubes in 2u32..=33,
        (released, truncate) in (1u32..=100, 0u32..3),
    ) -> CscParameters {
        let (is_image, passing) = match mode {
            0 => (true, Passing::Lines),
            1 => (false, Passing::Tiles),
            2 => (false, Passing::Cubes(cubes)),
            _ => (false, Passing::Lines),
        };
        let precision = Precision::of_code(code).unwrap();
        let (height, width, channels, dilation) = kernel;
        let axes = |(x, y)| Axes { x, y };
        let legal = CscParameters {
            precision,
            is_image,
            kernel: Kernel {
                height,
                width,
                channels,
                dilation: Axes {
                    x: if width == 1 || is_image { 1 } else { dilation.0 },
                    y: if height == 1 || is_image { 1 } else { dilation.1 },
                },
            },
            rows_at_once: if is_image { 1 << rows_at_once } else { 1 },
            stride: axes(stride),
            output: [output.0, output.1],
            input: [input.0, input.1],
            before: Axes { x: if is_image { 0 } else { before.0 }, y: before.1 },
            padding,
            kernels,
            reuse: Reuse { data: flags[0], weight: flags[1], keep_data: flags[2], keep_weight: flags[3] },
            released: released.min(input.1),
            compressed: flags[4],
            passing,
            truncate,
        };
        if strays {
            return legal;
        }
        if passing != Passing::Tiles {
            // As much input as the kernels reach.
            let reach = CscLayer::of(&legal, &full()).frame.extent;
            let input = [(reach.x, legal.before.x), (reach.y, legal.before.y)]
                .map(|(reach, before)| reach.saturating_sub(before).max(1) as u32);
            return CscParameters { input, released: released.min(input[1]), ..legal };
        }
        let output = legal.output.map(|size| size.next_multiple_of(4));
        CscParameters {
            kernel: Kernel { height: 3, width: 3, channels: channels.next_multiple_of(32), dilation: Axes::ONE },
            stride: Axes::ONE,
            input: output.map(|size| size + 4),
            output,
            before: Axes { x: 0, y: 0 },
            ..legal
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_encoded_is_decoded_and_what_is_refused_is_refused_alike(parameters in parameters()) {
        let layer = CscLayer::of(&parameters, &full());
        let cdma = cdma(layer.passing.cubes());
        let encoded = layer.encode(&cdma, RegisterMap::Full, &full());
        match layer.fields(&cdma).group(Unit::Csc, RegisterMap::Full) {
            Ok(group) => match CscLayer::decode(&group, &full()) {
                Ok(decoded) if decoded == layer => prop_assert_eq!(encoded.err(), None),
                // Of Winograd's method no registers say another kernel than that of 3 x 3.
                Ok(_) => {
                    prop_assert_eq!(layer.passing, Passing::Tiles);
                    prop_assert!(encoded.unwrap_err().to_string().contains("registers cannot say"));
                }
                Err(refused) => prop_assert_eq!(encoded.err(), Some(refused)),
            },
            Err(refused) => prop_assert_eq!(encoded.err(), Some(refused)),
        }
    }
}

/// The layers that are drawn are of all kinds, and not mostly refused.
#[test]
fn many_of_the_layers_that_are_drawn_are_legal() {
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut legal = [0; 4];
    for _ in 0..1000 {
        let layer = CscLayer::of(&parameters().new_tree(&mut runner).unwrap().current(), &full());
        let kind = match layer.passing {
            _ if layer.is_image => 0,
            Passing::Lines => 1,
            Passing::Tiles => 2,
            Passing::Cubes(_) => 3,
        };
        let cdma = cdma(layer.passing.cubes());
        legal[kind] += usize::from(layer.encode(&cdma, RegisterMap::Full, &full()).is_ok());
    }
    assert!(legal.into_iter().all(|count| count > 10), "{legal:?}");
}
