//! Models of files, with the samples that are given them.

use super::{graph, integers, model, node, value};
use crate::messages::{AttributeProto, GraphProto};
use crate::samples::{FloatWidth, npy, npz};
use crate::{InputShape, OpenedModel, PrepareError, PrepareOptions};
use prost::Message;
use std::path::PathBuf;
use tempfile::TempDir;
use vp_models::nvdla::config::Config;
use vp_tensors::Tensor;

fn opened(folder: &TempDir, graph: GraphProto, shapes: &[&str]) -> Result<OpenedModel, PrepareError> {
    let path = folder.path().join("m.onnx");
    std::fs::write(&path, model(13, graph).encode_to_vec()).unwrap();
    let shapes: Vec<InputShape> = shapes.iter().map(|shape| shape.parse().unwrap()).collect();
    OpenedModel::open(&path, &PrepareOptions { shapes, ..PrepareOptions::default() })
}

fn file(folder: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn zeros(shape: &[usize]) -> Tensor {
    Tensor::floats(shape, vec![0.0; shape.iter().product()])
}

fn relu() -> GraphProto {
    graph(&[1, 4], vec![node("Relu", &["x"], "y", vec![])], vec![])
}

#[test]
fn inputs_that_nothing_reads_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let mut graph = relu();
    graph.input.push(value("k", &[-1, 7, -1]));
    // What reads this one makes nothing that an output needs.
    graph.input.push(value("dead", &[1, 2]));
    graph.node.push(node("Relu", &["dead"], "nobody's", vec![]));
    let opened = opened(&folder, graph, &[]).unwrap();
    assert_eq!(opened.inputs().iter().map(|input| input.name.as_str()).collect::<Vec<_>>(), ["x"]);
    assert_eq!(opened.notes, ["input `dead`: nothing that an output needs reads it"]);
    let alone = file(&folder, "x.npy", &npy::written(&zeros(&[1, 4])));
    assert_eq!(opened.sample(&alone).unwrap().tensors, [zeros(&[1, 4])]);
    let archive = npz::written(&[("k", &zeros(&[1, 2])), ("x", &zeros(&[1, 4]))]).unwrap();
    let both = file(&folder, "both.npz", &archive);
    assert_eq!(opened.sample(&both).unwrap().tensors, [zeros(&[1, 4])]);
}

#[test]
fn a_model_of_two_inputs_is_refused_alike_for_every_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut graph = graph(&[1, 4], vec![node("Add", &["x", "k"], "y", vec![])], vec![]);
    graph.input.push(value("k", &[1, 4]));
    let opened = opened(&folder, graph, &[]).unwrap();
    let archive = npz::written(&[("k", &zeros(&[1, 4])), ("x", &zeros(&[1, 4]))]).unwrap();
    for (name, bytes) in [("x.npy", npy::written(&zeros(&[1, 4]))), ("x.npz", archive)] {
        let told = opened.sample(&file(&folder, name, &bytes)).unwrap_err().to_string();
        assert!(told.contains("the model has 2 inputs (`x`, `k`), and a network has one"), "{told}");
    }
}

#[test]
fn a_run_takes_no_array_of_several_samples() {
    let folder = tempfile::tempdir().unwrap();
    let opened = opened(&folder, relu(), &[]).unwrap();
    let bytes = npy::written(&zeros(&[2, 4]));
    let path = file(&folder, "two.npy", &bytes);
    let told = opened.sample(&path).unwrap_err().to_string();
    assert!(told.contains("two.npy: 2 samples of 1x4; a run takes one"), "{told}");
    assert_eq!(opened.sample_of_bytes(&path, &bytes).unwrap_err().to_string(), told);
}

#[test]
fn a_calibration_tells_of_each_sample_that_it_reads() {
    let folder = tempfile::tempdir().unwrap();
    let four = graph(&[1, 1, 2, 2], vec![node("Relu", &["x"], "y", vec![])], vec![]);
    let mut opened = opened(&folder, four, &[]).unwrap();
    let samples = folder.path().join("samples");
    std::fs::create_dir(&samples).unwrap();
    std::fs::write(samples.join("a.npy"), npy::written(&zeros(&[2, 1, 2, 2]))).unwrap();
    std::fs::write(samples.join("b.npy"), npy::written(&zeros(&[1, 1, 2, 2]))).unwrap();
    let options = PrepareOptions { calibration: Some(samples), ..PrepareOptions::default() };
    let (mut told, input) = (Vec::new(), opened.example(1));
    let config = Config::named("nv_small").unwrap();
    opened
        .lower(&config, &options, &input, &mut |progress| told.push((progress.samples, progress.files)))
        .unwrap();
    assert_eq!(told, [(1, 2), (2, 2), (3, 2)]);
}

#[test]
fn a_fixed_batch_is_taken_as_one_if_that_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let four = || graph(&[4, 3], vec![node("Relu", &["x"], "y", vec![])], vec![]);
    let one = opened(&folder, four(), &["x=1x3"]).unwrap();
    assert_eq!(one.inputs()[0].shape, [1, 3]);
    assert_eq!(one.notes, ["input `x`: its batch is taken as 1 of 4x3"]);
    let told = opened(&folder, four(), &["x=2x3"]).unwrap_err().to_string();
    assert!(told.contains("shape 2x3 is given, but the model has 4x3"), "{told}");
    // A node that insists on the batch is told by its own shapes.
    let shape = integers("sizes", &[4, 3]);
    let fixed = graph(&[4, 3], vec![node("Reshape", &["x", "sizes"], "y", vec![])], vec![shape]);
    let told = opened(&folder, fixed, &["x=1x3"]).unwrap_err().to_string();
    assert!(told.contains("Reshape `y`"), "{told}");
}

#[test]
fn outputs_keep_the_width_of_the_models_floats() {
    let folder = tempfile::tempdir().unwrap();
    let widths = [(1, FloatWidth::Single), (10, FloatWidth::Half), (11, FloatWidth::Double)];
    for (elem_type, width) in widths {
        let mut graph = relu();
        for output in &mut graph.output {
            let tensor = output.r#type.as_mut().and_then(|of| of.tensor_type.as_mut()).unwrap();
            tensor.elem_type = Some(elem_type);
        }
        assert_eq!(opened(&folder, graph, &[]).unwrap().output_floats, [width]);
    }
}

#[test]
fn rests_and_signs_of_constants_are_constants() {
    let folder = tempfile::tempdir().unwrap();
    let truncated =
        AttributeProto { name: Some("fmod".into()), i: Some(1), kind: Some(2), ..AttributeProto::default() };
    let nodes = vec![
        node("Mod", &["seven", "three"], "floored", vec![]),
        node("Mod", &["seven", "three"], "cut off", vec![truncated]),
        node("Sub", &["floored", "cut off"], "difference", vec![]),
        node("Sign", &["difference"], "sizes", vec![]),
        node("Reshape", &["x", "sizes"], "y", vec![]),
    ];
    // -7 modulo 3 is 2, or -1; the difference's sign is 1.
    let constants = vec![integers("seven", &[-7, -7]), integers("three", &[3, 3])];
    let opened = opened(&folder, graph(&[1, 1, 1], nodes, constants), &[]).unwrap();
    assert_eq!(opened.graph.value(opened.graph.outputs[0]).shape, [1, 1]);
}
