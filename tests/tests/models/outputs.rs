//! Outputs of a model beside those of its network: their order, their names, and cubes that several of them are.

use super::{GraphDraw, lowered, ran};
use crate::graphs::spatial;
use vp_models::nvdla::numeric::Precision;
use vp_tensors::{Graph, Operator, Tensor, ValueId};

/// A model with two ends, the second of which is an output as a cube and as a row.
fn of_two_ends(is_reversed: bool) -> (Graph, Tensor) {
    let mut draw = GraphDraw::new(11, [1, 3, 6, 6]);
    let input = draw.input();
    let start = draw.graph.inputs[0];
    let made = draw.convolution(start, 8, &spatial(3, 1, 1, 1));
    let first = draw.convolution(made, 4, &spatial(1, 1, 0, 1));
    let second = draw.convolution(made, 5, &spatial(1, 1, 0, 1));
    let row = draw.node(Operator::Flatten { axis: 1 }, &[second], &[1, 180]);
    let mut outputs = vec![(first, "first"), (second, "second"), (row, "row")];
    for (output, name) in &outputs {
        draw.graph.values[output.0].name = (*name).to_owned();
    }
    if is_reversed {
        outputs.reverse();
    }
    let outputs: Vec<ValueId> = outputs.into_iter().map(|(output, _)| output).collect();
    (draw.finish(&outputs), input)
}

#[test]
fn outputs_have_the_models_order_and_names_and_each_cube_is_one() {
    for is_reversed in [false, true] {
        let (graph, input) = of_two_ends(is_reversed);
        let lowered = lowered(&graph, "nv_full", Precision::Fp16, &input).unwrap();
        let channels: Vec<u32> = lowered
            .network
            .outputs
            .iter()
            .map(|&output| lowered.network.layers[output].output.channels)
            .collect();
        assert_eq!(channels, if is_reversed { [5, 4] } else { [4, 5] });
        let names = [0, 1].map(|output| lowered.output(output).unwrap().0);
        assert_eq!(names, if is_reversed { ["row", "first"] } else { ["first", "second"] });
        assert!(lowered.output(2).is_none());
        let expected = graph.run(std::slice::from_ref(&input)).unwrap();
        for (found, expected) in ran(&lowered, "nv_full", &input).iter().zip(&expected) {
            assert_eq!(found.shape, expected.shape);
            let far = found.to_floats().iter().zip(expected.to_floats()).any(|(f, e)| (f - e).abs() > 0.02);
            assert!(!far, "{found:?}\n{expected:?}");
        }
    }
}
