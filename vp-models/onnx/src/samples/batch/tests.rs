//! Tests of files of samples.

use super::super::preprocess::Preset;
use super::*;

/// An input of floats.
pub(in super::super) fn input<const N: usize>(shape: [usize; N]) -> Value {
    Value { name: "x".to_owned(), shape: shape.to_vec(), element_type: ElementType::Float }
}

fn read(bytes: &[u8], inputs: &[&Value]) -> Result<Vec<Sample>, String> {
    let preprocess = Preset::Raw.into();
    let batch = Batch::of_bytes(Path::new("f"), bytes, inputs, Some(&preprocess));
    batch.and_then(Iterator::collect).map_err(|error: SampleError| error.to_string())
}

/// The one tensor of a file for one input.
fn one(bytes: &[u8], input: &Value) -> Result<Tensor, String> {
    let samples = read(bytes, &[input])?;
    assert_eq!((samples.len(), samples[0].name.as_str(), samples[0].tensors.len()), (1, "f", 1));
    Ok(samples[0].tensors[0].clone())
}

#[test]
fn a_picture_needs_a_way_to_become_numbers() {
    let input = input([1, 1, 1, 2]);
    let expected = Tensor::floats([1, 1, 1, 2], vec![7.0, 8.0]);
    assert_eq!(one(b"P5 2 1 255 \x07\x08", &input), Ok(expected));
    let error = Batch::of_bytes(Path::new("f"), b"P5 2 1 255 \x07\x08", &[&input], None).unwrap_err();
    assert!(
        error.to_string().starts_with("f: nobody says how a picture becomes numbers: --preprocess"),
        "{error}"
    );
    assert_eq!(one(b"P5 2 1 255 \x07", &input), Err("f: 1 samples of 2".to_owned()));
}

#[test]
fn an_array_may_have_more_or_fewer_ones_in_front() {
    let array = |shape: &[usize]| npy::written(&Tensor::floats(shape, vec![1.0; 6]));
    for shape in [&[1, 2, 3][..], &[2, 3], &[1, 1, 2, 3]] {
        assert_eq!(one(&array(shape), &input([1, 2, 3])), Ok(Tensor::floats([1, 2, 3], vec![1.0; 6])));
    }
    let error = one(&array(&[3, 2]), &input([1, 2, 3])).unwrap_err();
    assert_eq!(error, "f: an array of shape [3, 2]; input `x` has [1, 2, 3]");
}

#[test]
fn an_array_of_several_samples_is_given_one_by_one() {
    let array = npy::written(&Tensor::of([2, 2], Elements::Uint8(vec![1, 2, 3, 4])));
    let samples = read(&array, &[&input([1, 2])]).unwrap();
    let expected = |name: &str, elements: [f32; 2]| Sample {
        name: name.to_owned(),
        tensors: vec![Tensor::floats([1, 2], elements.to_vec())],
        placement: None,
    };
    assert_eq!(samples, [expected("f[0]", [1.0, 2.0]), expected("f[1]", [3.0, 4.0])]);
}

#[test]
fn a_run_takes_one_sample() {
    let only = |shape: &[usize]| {
        let array = npy::written(&Tensor::floats(shape, vec![1.0; shape.iter().product()]));
        let batch = Batch::of_bytes(Path::new("f.npy"), &array, &[&input([1, 3, 2])], None).unwrap();
        batch.only().map(|sample| sample.tensors[0].shape.clone()).map_err(|error| error.to_string())
    };
    assert_eq!(only(&[3, 2]), Ok(vec![1, 3, 2]));
    let told = only(&[2, 3, 2]).unwrap_err();
    assert!(told.starts_with("f.npy: 2 samples of 1x3x2; a run takes one: "), "{told}");
}

#[test]
fn an_archive_has_each_input_by_name() {
    let ids = Value { name: "ids".to_owned(), shape: vec![2], element_type: ElementType::Int64 };
    let floats = Tensor::floats([1, 1], vec![0.5]);
    let integers = Tensor::of([2], Elements::Int64(vec![3, 4]));
    let file = npz::written(&[("ids", &integers), ("x", &floats), ("unused", &floats)]).unwrap();
    let samples = read(&file, &[&input([1, 1]), &ids]).unwrap();
    assert_eq!(
        samples,
        [Sample { name: "f".to_owned(), tensors: vec![floats.clone(), integers], placement: None }]
    );
    let file = npz::written(&[("y", &floats)]).unwrap();
    assert_eq!(one(&file, &input([1, 1])), Ok(floats.clone()));
    assert_eq!(read(&file, &[&input([1, 1]), &ids]).unwrap_err(), "f: no array `x`; it has `y`");
    let array = npy::written(&floats);
    let error = read(&array, &[&input([1, 1]), &ids]).unwrap_err();
    assert_eq!(error, "f: one tensor; the network takes `x`, `ids`: an NPZ file has them by name");
}

#[test]
fn archives_have_as_many_samples_of_each_input() {
    let second = Value { name: "y".to_owned(), ..input([1, 1]) };
    let [two, three] = [2, 3].map(|count| Tensor::floats([count, 1], vec![0.5; count]));
    let file = npz::written(&[("x", &two), ("y", &two)]).unwrap();
    assert_eq!(read(&file, &[&input([1, 1]), &second]).unwrap().len(), 2);
    let file = npz::written(&[("x", &two), ("y", &three)]).unwrap();
    assert_eq!(read(&file, &[&input([1, 1]), &second]).unwrap_err(), "f: arrays of 2 and of 3 samples");
}

#[test]
fn other_bytes_are_elements() {
    let floats = input([1, 2]);
    let bytes = [0.5_f32, 2.0].map(f32::to_le_bytes).concat();
    assert_eq!(one(&bytes, &floats), Ok(Tensor::floats([1, 2], vec![0.5, 2.0])));
    assert_eq!(one(&[7, 255], &floats), Ok(Tensor::floats([1, 2], vec![7.0, 255.0])));
    let signed = Value { element_type: ElementType::Int8, ..input([2]) };
    assert_eq!(one(&[7, 255], &signed), Ok(Tensor::of([2], Elements::Int8(vec![7, -1]))));
    let error = one(&[1, 2, 3], &floats).unwrap_err();
    let expected = "f: no picture (PNG, JPEG, PGM, PPM), NPY or NPZ, and 3 bytes; as elements input `x` of float has 8 or 2";
    assert_eq!(error, expected);
    let huge = input([usize::MAX, 2]);
    assert!(one(&[1, 2, 3], &huge).unwrap_err().contains("no picture"));
}

#[test]
fn elements_are_converted_if_nothing_is_lost() {
    let of = |elements: Elements, element_type| {
        let array = npy::written(&Tensor::of([1], elements));
        one(&array, &Value { element_type, ..input([1]) }).map(|tensor| tensor.elements)
    };
    assert_eq!(of(Elements::Int64(vec![-5]), ElementType::Int8), Ok(Elements::Int8(vec![-5])));
    assert_eq!(of(Elements::Int64(vec![300]), ElementType::Int32), Ok(Elements::Int32(vec![300])));
    assert_eq!(of(Elements::Float(vec![255.0]), ElementType::Uint8), Ok(Elements::Uint8(vec![255])));
    assert_eq!(of(Elements::Bool(vec![true]), ElementType::Float), Ok(Elements::Float(vec![1.0])));
    assert_eq!(of(Elements::Int8(vec![1]), ElementType::Bool), Ok(Elements::Bool(vec![true])));
    let error = of(Elements::Int64(vec![128]), ElementType::Int8).unwrap_err();
    assert_eq!(error, "f: an element is 128, which input `x` of int8 does not have");
    for float in [0.5, f32::NAN, f32::INFINITY, 1e30] {
        assert!(of(Elements::Float(vec![float]), ElementType::Int64).is_err(), "{float}");
    }
    assert!(of(Elements::Int8(vec![2]), ElementType::Bool).is_err());
}
