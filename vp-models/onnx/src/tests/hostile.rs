//! Files that are made to do harm: each is told in a line, within bounded time and memory.

use super::{graph, integers, made, model, node, problems, read};
use crate::messages::{StringStringEntryProto, TensorProto};
use crate::{Model, Options, ReadError};
use prost::Message;
use std::fs;

#[test]
fn a_tensor_of_100_gigabytes_is_refused() {
    let mut huge = integers("c", &[]);
    huge.dims = vec![100_000, 1_000_000];
    let told = problems(13, graph(&[1, 4], vec![node("Add", &["x", "c"], "y", vec![])], vec![huge]));
    let expected = "initializer `c`: a tensor of int64 100000x1000000 is larger than what is computed, 2^29 elements in 2 GiB";
    assert_eq!(told, [expected]);
}

#[test]
fn sizes_whose_product_has_no_room_are_refused() {
    let mut huge = integers("c", &[]);
    huge.dims = vec![0, i64::MAX, i64::MAX];
    let told = problems(13, graph(&[1, 4], vec![node("Add", &["x", "c"], "y", vec![])], vec![huge]));
    assert!(told[0].contains("is larger than what is computed"), "{told:?}");
}

#[test]
fn constants_do_not_grow_beyond_the_memory_that_folding_has() {
    // Each of these is half a megabyte.
    let mut nodes: Vec<_> =
        (0..10).map(|at| node("ConstantOfShape", &["r"], &format!("t{at}"), vec![])).collect();
    nodes.push(node("Max", &["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9", "x"], "y", vec![]));
    let model = model(13, graph(&[1], nodes, vec![integers("r", &[1 << 17])]));
    let options = Options { memory: 1 << 20, ..Options::default() };
    let graph = read(&model).unwrap().graph(&options).unwrap().graph;
    let bytes: usize = graph.constants.values().map(|constant| constant.elements.len() * 4).sum();
    assert!(bytes <= (1 << 20) + 8, "{bytes}");
    assert_eq!(graph.nodes.len(), 9, "eight are made when the model runs");
}

#[test]
fn a_chain_of_100_000_nodes_takes_no_stack() {
    let name = |at: usize| if at == 0 { "x".to_owned() } else { format!("v{at}") };
    let mut nodes: Vec<_> =
        (0..100_000).map(|at| node("Relu", &[&name(at)], &name(at + 1), vec![])).collect();
    nodes.push(node("Neg", &["v100000"], "y", vec![]));
    let imported = made(&model(13, graph(&[1, 4], nodes.clone(), vec![]))).unwrap();
    assert_eq!(imported.graph.nodes.len(), 100_001);
    nodes.reverse();
    assert_eq!(made(&model(13, graph(&[1, 4], nodes, vec![]))).unwrap().graph.nodes.len(), 100_001);
}

#[test]
fn more_than_a_million_nodes_are_refused_before_they_are_decoded() {
    // An empty node takes two bytes of the graph.
    let graph: Vec<u8> = [0x0a, 0x00].repeat(1_000_001);
    let mut file = vec![0x08, 0x08, 0x3a];
    prost::encode_length_delimiter(graph.len(), &mut file).unwrap();
    file.extend(graph);
    assert!(matches!(parsed(&file), Err(ReadError::Limit { what: "nodes", .. })));
}

#[test]
fn deep_nesting_is_refused() {
    // A graph in an attribute of a node of a graph, and so on.
    let mut bytes = Vec::new();
    for _ in 0..100_000 {
        for tag in [0x32, 0x2a, 0x0a] {
            let mut outer = vec![tag];
            prost::encode_length_delimiter(bytes.len(), &mut outer).unwrap();
            outer.append(&mut bytes);
            bytes = outer;
        }
        if bytes.len() > 20_000 {
            break;
        }
    }
    let mut file = vec![0x08, 0x08, 0x3a];
    prost::encode_length_delimiter(bytes.len(), &mut file).unwrap();
    file.extend(bytes);
    assert!(matches!(parsed(&file), Err(ReadError::Limit { what: "levels of messages in messages", .. })));
}

#[test]
fn parts_of_a_model_are_told_from_models() {
    let whole = model(13, graph(&[1, 4], vec![node("Relu", &["x"], "y", vec![])], vec![])).encode_to_vec();
    assert!(parsed(&whole).is_ok());
    for end in 0..whole.len() {
        if let Ok(model) = parsed(&whole[..end]) {
            assert!(model.graph(&Options::default()).is_err());
        }
    }
    let text = parsed(b"this is a text, not a model").unwrap_err().to_string();
    assert!(text.contains("not an ONNX model"), "{text}");
}

fn parsed(bytes: &[u8]) -> Result<Model, ReadError> {
    Model::read(bytes, &mut |_, _, _| Err("no files".into()))
}

#[test]
fn files_that_stand_in_a_models_place_are_told() {
    let told = |bytes: &[u8]| parsed(bytes).unwrap_err().to_string();
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4665\nsize 1\n";
    assert!(told(pointer).contains("`git lfs pull`"), "{}", told(pointer));
    for page in ["<!DOCTYPE html><html>", "\n <HTML lang=en>"] {
        assert!(told(page.as_bytes()).contains("a web page (HTML)"), "{}", told(page.as_bytes()));
    }
    #[cfg(unix)]
    {
        let error = Model::load(std::path::Path::new("/dev/null")).unwrap_err().to_string();
        assert!(error.ends_with("not a regular file"), "{error}");
    }
}

#[test]
fn external_data_comes_from_the_models_own_folder_only() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("models");
    fs::create_dir(&inside).unwrap();
    for path in [folder.path().join("secret"), inside.join("data")] {
        fs::write(path, [1_u8; 64]).unwrap();
    }
    std::os::unix::fs::symlink(folder.path().join("secret"), inside.join("link")).unwrap();
    let load = |location: &str, offset: &str| {
        let entry = |key: &str, value: &str| StringStringEntryProto {
            key: Some(key.into()),
            value: Some(value.into()),
        };
        let tensor = TensorProto {
            external_data: vec![entry("location", location), entry("offset", offset)],
            data_location: Some(1),
            data_type: Some(2),
            ..integers("c", &[0; 60])
        };
        let graph = graph(
            &[60],
            vec![node("Identity", &["c"], "y", vec![])],
            vec![TensorProto { int64_data: vec![], ..tensor }],
        );
        let path = inside.join("m.onnx");
        fs::write(&path, model(13, graph).encode_to_vec()).unwrap();
        let made = Model::load(&path).unwrap().graph(&Options::default());
        made.map(|_| ()).map_err(|problems| problems.to_string())
    };
    assert_eq!(load("data", "4"), Ok(()));
    let outside = "initializer `c`: external data `PLACE`: not a place within the model's folder";
    let absolute = folder.path().join("secret").display().to_string();
    for location in ["../secret", "link", "./../secret", &absolute] {
        assert_eq!(load(location, "0"), Err(outside.replace("PLACE", location)));
    }
    assert_eq!(
        load("data", "5"),
        Err("initializer `c`: external data `data`: its 64 bytes end before 60 bytes at 5".into())
    );
    assert!(load("data", "18446744073709551615").is_err());
    assert!(load("nothing", "0").is_err());
}

#[test]
fn names_do_not_reach_a_terminal_as_they_are() {
    let told = problems(
        13,
        graph(&[1, 4], vec![node("\x1b[31mRelu", &["x"], &"y".repeat(100_000), vec![])], vec![]),
    );
    assert!(told.iter().all(|line| !line.contains('\x1b') && line.len() < 2000), "{told:?}");
    let _ = read(&model(13, graph(&[1, 4], vec![], vec![])));
}
