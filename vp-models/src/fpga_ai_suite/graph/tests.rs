//! Shapes that follow from layers, and what is refused.

use super::*;

const SHAPE: Shape = Shape { height: 4, width: 6, channels: 2 };

fn window(size: [u32; 2], before: [u32; 2]) -> Window {
    Window { size, stride: [1, 2], before, after: [0, 0] }
}

fn sums(weights: u32, bias: Option<u32>) -> Sums {
    let converter = Converter { offset: 0, scale: 1, shift: 0 };
    Sums { kernels: 3, weights, bias, relu: false, converter }
}

#[test]
fn shapes_follow_from_layers() {
    let mut graph = Graph::new(SHAPE, 1000).unwrap();
    let convolution = Operation::Convolution { window: window([3, 3], [1, 0]), sums: sums(0, Some(54)) };
    let convolved = graph.add(Tensor::Input, convolution, None).unwrap();
    assert_eq!(convolved, Shape { height: 3, width: 2, channels: 3 });
    let pooling = Operation::Pooling { window: window([2, 2], [0, 0]), method: Pooling::Max };
    assert_eq!(graph.add(Tensor::Layer(0), pooling, None).unwrap().to_string(), "2x1x3");
    let connected = Operation::FullyConnected { sums: sums(0, None) };
    assert_eq!(graph.add(Tensor::Layer(1), connected, None).unwrap().to_string(), "1x1x3");
    assert_eq!(graph.whole().unwrap().output_shape().elements(), 3);
}

#[test]
fn what_does_not_fit_is_refused() {
    let refusal = |operation| {
        let mut graph = Graph::new(SHAPE, 60).unwrap();
        let relu = Operation::Activation(Activation::Relu);
        graph
            .add(
                Tensor::Input,
                Operation::Pooling { window: window([2, 2], [0, 0]), method: Pooling::Max },
                None,
            )
            .unwrap();
        assert_eq!(graph.add(Tensor::Layer(1), relu, None), Err(GraphError::Order { layer: 1 }));
        graph.add(Tensor::Input, operation, None).unwrap_err().to_string()
    };
    let convolution = |window, sums| Operation::Convolution { window, sums };
    assert_eq!(refusal(convolution(window([3, 3], [0, 0]), sums(7, None))), "filters 7 to 61 of 60 bytes");
    assert_eq!(
        refusal(convolution(window([3, 3], [0, 0]), sums(0, Some(54)))),
        "filters 54 to 66 of 60 bytes"
    );
    let wide = refusal(convolution(window([5, 1], [0, 0]), sums(0, None)));
    assert_eq!(wide, "a window of 5 rows and 1 columns does not lie over 4x6x2 everywhere");
    assert!(refusal(convolution(window([1, 1], [1, 0]), sums(0, None))).contains("does not lie over"));
    let none = Window { stride: [0, 1], ..window([1, 1], [0, 0]) };
    assert!(refusal(Operation::Pooling { window: none, method: Pooling::Max }).contains("does not lie over"));
    let converter = Converter { offset: 0, scale: 1, shift: 63 };
    let pair = |other, converter| Operation::Elementwise { other, method: Pair::Add, converter };
    assert_eq!(refusal(pair(Tensor::Input, converter)), "a right shift of 63: at most 62");
    let converter = Converter { shift: 0, ..converter };
    assert_eq!(refusal(pair(Tensor::Layer(0), converter)), "4x6x2 and 3x3x2 are not the same shape");
    let clamp = Activation::Clamp { low: 2, high: 1 };
    assert_eq!(refusal(Operation::Activation(clamp)), "nothing lies between 2 and 1");
    assert!(refusal(Operation::Activation(Activation::Table { at: 0 })).contains("filters 0 to 256"));
    assert!(Graph::new(SHAPE, 0).unwrap().whole().is_err());
    assert!(Graph::new(Shape { height: 8192, width: 8192, channels: 1 }, 0).is_err());
}

#[test]
fn filters_have_a_limit() {
    let shape = Shape { height: 1, width: 1, channels: 1 };
    assert!(Graph::new(shape, Graph::MOST_FILTERS).is_ok());
    let refused = Graph::new(shape, Graph::MOST_FILTERS + 1).unwrap_err();
    assert!(refused.to_string().contains("268435457 bytes of filters"), "{refused}");
}
