//! Tests of arrays as files, beside what NumPy 2.4 writes.

use super::*;
use proptest::prelude::*;

/// A file of version 1.0 with this header, and elements.
fn file(header: &str, elements: &[u8]) -> Vec<u8> {
    let length = (header.len() as u16).to_le_bytes();
    [MAGIC, &[1, 0], &length, header.as_bytes(), elements].concat()
}

fn of(kind: &str, elements: &[u8]) -> Result<Tensor, NpyError> {
    let width: usize = kind[2..].parse().unwrap();
    let count = elements.len() / width;
    read(&file(&format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({count},), }}"), elements))
}

/// `numpy.save` of `numpy.arange(6, dtype=numpy.float32).reshape(2, 3)`.
#[test]
fn a_file_is_as_numpy_writes_it() {
    let tensor = Tensor::floats([2, 3], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let header = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    let mut expected = header.to_vec();
    expected.resize(127, b' ');
    expected.push(b'\n');
    (0..6_u8).for_each(|element| expected.extend(f32::from(element).to_le_bytes()));
    assert_eq!(written(&tensor), expected);
    assert_eq!(read(&expected), Ok(tensor));
}

#[test]
fn all_versions_are_read() {
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n";
    let expected = Tensor::of([2], Elements::Uint8(vec![7, 8]));
    assert_eq!(read(&file(header, &[7, 8])), Ok(expected.clone()));
    for major in [2, 3] {
        let length = (header.len() as u32).to_le_bytes();
        let file = [MAGIC, &[major, 0], &length, header.as_bytes(), &[7, 8]].concat();
        assert_eq!(read(&file), Ok(expected.clone()), "version {major}");
    }
    assert_eq!(read(&[MAGIC, &[4, 0, 1, 0]].concat()), Err(NpyError::Version(4, 0)));
}

#[test]
fn every_type_gets_the_narrowest_that_holds_it() {
    let elements = |kind: &str, bytes: &[u8]| of(kind, bytes).unwrap().elements;
    assert_eq!(elements("|b1", &[0, 1, 2]), Elements::Bool(vec![false, true, true]));
    assert_eq!(elements("|i1", &[0xff, 2]), Elements::Int8(vec![-1, 2]));
    assert_eq!(elements("|u1", &[0xff, 2]), Elements::Uint8(vec![255, 2]));
    assert_eq!(elements("<i2", &[0xfe, 0xff]), Elements::Int32(vec![-2]));
    assert_eq!(elements(">u2", &[0xff, 0xfe]), Elements::Int32(vec![0xfffe]));
    assert_eq!(elements(">i4", &[0xff, 0xff, 0xff, 0xfe]), Elements::Int32(vec![-2]));
    assert_eq!(elements("<u4", &[0xff; 4]), Elements::Int64(vec![0xffff_ffff]));
    assert_eq!(elements(">i8", &(-3_i64).to_be_bytes()), Elements::Int64(vec![-3]));
    assert_eq!(elements("<u8", &3_u64.to_le_bytes()), Elements::Int64(vec![3]));
    assert_eq!(elements("<f2", &[0x00, 0x3e]), Elements::Float(vec![1.5]));
    assert_eq!(elements(">f4", &1.5_f32.to_be_bytes()), Elements::Float(vec![1.5]));
    assert_eq!(elements("<f8", &0.1_f64.to_le_bytes()), Elements::Float(vec![0.1]));
}

#[test]
fn an_array_whose_first_axis_is_fastest_is_turned() {
    let header = "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3, 2), }";
    // `numpy.asfortranarray(numpy.arange(12, dtype="<i2").reshape(2, 3, 2))`
    let words = [0_i16, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let expected = Tensor::of([2, 3, 2], Elements::Int32((0..12).collect()));
    assert_eq!(read(&file(header, &bytes)), Ok(expected));
}

#[test]
fn what_is_wrong_is_said() {
    let error = |header: &str, elements: &[u8]| read(&file(header, elements)).unwrap_err().to_string();
    let shaped = |shape: &str| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    assert_eq!(error(&shaped("(2,)"), &[0; 7]), "7 bytes of elements; shape [2] of `<f4` takes 8");
    // 100 GB, and more than there is.
    let large = "0 bytes of elements; shape [25000000000] of `<f4` takes 100000000000";
    assert_eq!(error(&shaped("(25000000000,)"), &[]), large);
    let overflow = error(&shaped("(9999999999, 9999999999, 0)"), &[]);
    assert!(overflow.ends_with("takes more than there is"), "{overflow}");
    assert_eq!(error(&shaped(&format!("({})", "1,".repeat(65))), &[0; 4]), "65 axes; at most 64 are read");
    let complex = error("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", &[0; 8]);
    assert!(complex.starts_with("elements of type `<c8`; booleans, integers and floats"), "{complex}");
    assert_eq!(of("<u8", &[0xff; 8]), Err(NpyError::Range(u64::MAX)));
    assert_eq!(read(b"\x93NUMPY\x01"), Err(NpyError::Magic));
    let cut = read(b"\x93NUMPY\x01\x00\x40\x00{").unwrap_err().to_string();
    assert_eq!(cut, "the header of 64 bytes: it is cut off");
    let long = read(b"\x93NUMPY\x02\x00\x00\x00\x00\x40{").unwrap_err().to_string();
    assert_eq!(long, "the header of 1073741824 bytes: at most 65536 are read");
}

/// Tensors of all types.
pub(in super::super) fn tensors() -> impl Strategy<Value = Tensor> {
    let shape = prop::collection::vec(0..4_usize, 0..5);
    (shape, 0..6, any::<u64>()).prop_map(|(shape, kind, seed)| {
        let count = shape.iter().product();
        let number =
            |at: usize| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(at as u32).cast_signed();
        let numbers = (0..count).map(number);
        let elements = match kind {
            0 => Elements::Float(numbers.map(|number| number as f32 / 3.0).collect()),
            1 => Elements::Int64(numbers.collect()),
            2 => Elements::Int32(numbers.map(|number| number as i32).collect()),
            3 => Elements::Int8(numbers.map(|number| number as i8).collect()),
            4 => Elements::Uint8(numbers.map(|number| number as u8).collect()),
            _ => Elements::Bool(numbers.map(|number| number & 1 == 1).collect()),
        };
        Tensor::of(shape, elements)
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(tensor in tensors()) {
        let file = written(&tensor);
        prop_assert_eq!(read(&file), Ok(tensor));
        let elements = file.len() - file.iter().position(|byte| *byte == b'\n').unwrap() - 1;
        prop_assert_eq!((file.len() - elements) % 64, 0);
    }

    #[test]
    fn no_change_of_a_file_makes_the_reader_panic(tensor in tensors(), at in 0..200_usize, byte: u8, cut in 0..400_usize) {
        let mut file = written(&tensor);
        let at = at % file.len();
        file[at] = byte;
        file.truncate(cut);
        let _ = read(&file);
    }
}
