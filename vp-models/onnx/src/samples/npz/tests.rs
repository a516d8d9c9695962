//! Tests of archives.

use super::*;
use crate::samples::npy::tests::tensors;
use data_encoding::BASE64;
use proptest::prelude::*;
use vp_tensors::Elements;

fn two() -> [(&'static str, Tensor); 2] {
    [
        ("input", Tensor::floats([2, 2], vec![0.0, 0.5, 1.0, 1.5])),
        ("ids/1", Tensor::of([3], Elements::Int64(vec![1, 2, 3]))),
    ]
}

fn file() -> Vec<u8> {
    let two = two();
    written(&two.each_ref().map(|(name, tensor)| (*name, tensor))).unwrap()
}

#[test]
fn what_numpy_packs_is_read() {
    let expected = two().map(|(name, tensor)| (name.to_owned(), tensor));
    for file in [STORED, PACKED] {
        let file = BASE64.decode(file.replace(char::is_whitespace, "").as_bytes()).unwrap();
        assert_eq!(read(&file).unwrap(), expected);
    }
}

#[test]
fn what_is_written_is_a_zip_in_every_byte() {
    let name = "a.npy";
    let tensor = Tensor::of([1], Elements::Uint8(vec![7]));
    let array = npy::written(&tensor);
    let file = written(&[("a", &tensor)]).unwrap();
    assert_eq!(read(&file).unwrap(), [("a".to_owned(), tensor)]);
    let directory = MEMBER_BYTES + name.len() + array.len();
    assert_eq!(&file[directory..directory + 4], ENTRY);
    assert_eq!(file.len(), directory + ENTRY_BYTES + name.len() + END_BYTES);
    assert_eq!(read(&written(&[]).unwrap()), Ok(vec![]));
}

#[test]
fn what_is_wrong_is_said() {
    let whole = file();
    let error = |file: &[u8]| read(file).unwrap_err().to_string();
    assert_eq!(error(b"PK\x03\x04"), "no ZIP file: it has no end");
    let directory = whole.windows(4).position(|bytes| bytes == ENTRY).unwrap();
    let changed = |at: usize, bytes: &[u8]| {
        let mut file = whole.clone();
        file[directory + at..directory + at + bytes.len()].copy_from_slice(bytes);
        error(&file)
    };
    assert_eq!(changed(8, &[1]), "`input.npy`: it is encrypted");
    assert!(changed(10, &[12]).starts_with("`input.npy`: it is packed in another way"));
    let sum = "`input.npy`: its bytes are not those whose length and sum the directory has";
    assert_eq!(changed(16, &[0; 4]), sum);
    assert_eq!(changed(20, &[0xff; 4]), "`input.npy`: it is cut off");
    assert_eq!(changed(24, &[0xff; 4]), "`input.npy`: more than 1073741824 bytes unpacked");
    assert_eq!(changed(42, &[1, 0]), "`input.npy`: the directory does not say where it is");
    assert_eq!(changed(46, b"input.txt"), "`input.txt`: no array: its name does not end with .npy");
    assert_eq!(changed(28, &[0xff; 2]), "no ZIP file: its directory is broken");
    let data = MEMBER_BYTES + "input.npy".len();
    let mut file = whole.clone();
    file[data] = b'x';
    assert_eq!(error(&file), sum);
    let tensor = Tensor::floats([1], vec![0.0]);
    let twice = written(&[("a", &tensor), ("a", &tensor)]).unwrap();
    assert_eq!(error(&twice), "`a.npy`: two members have this name");
}

/// Of 1 MiB of zeros, whose directory says that they are a byte.
#[test]
fn a_member_is_not_unpacked_beyond_its_length() {
    let mut packer = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut packer, &vec![0; 1 << 20]).unwrap();
    let packed = packer.finish().unwrap();
    let entry = Entry {
        name: "a.npy".to_owned(),
        flags: 0,
        method: 8,
        sum: 0,
        packed: packed.len(),
        unpacked: 1,
        at: 0,
    };
    let member = [MEMBER, &[0; MEMBER_BYTES - 4], &packed].concat();
    assert!(entry.unpack(&member).unwrap_err().starts_with("its bytes are not those"));
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(arrays in prop::collection::vec(("[a-z/é]{0,8}", tensors()), 0..4)) {
        let named: Vec<(String, Tensor)> =
            arrays.into_iter().enumerate().map(|(at, (name, tensor))| (format!("{name}{at}"), tensor)).collect();
        let borrowed: Vec<(&str, &Tensor)> = named.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        prop_assert_eq!(read(&written(&borrowed).unwrap()), Ok(named));
    }

    #[test]
    fn no_change_of_a_file_makes_the_reader_panic(at in 0..1000_usize, bytes: [u8; 2], cut in 0..1200_usize) {
        let mut file = file();
        let at = at % (file.len() - 1);
        file[at..at + 2].copy_from_slice(&bytes);
        let _ = read(&file);
        file.drain(..cut.min(file.len()));
        let _ = read(&file);
    }
}

/// `numpy.savez(f, **{"input": numpy.array([[0, .5], [1, 1.5]], numpy.float32), "ids/1": numpy.array([1, 2, 3])})`, in base 64.
const STORED: &str = "\
    UEsDBC0AAAAAAAAAIQCwaumj//////////8JABQAaW5wdXQubnB5AQAQAJAAAAAAAAAAkAAAAAAAAACTTlVNUFkBAHYAeydkZXNj
    cic6ICc8ZjQnLCAnZm9ydHJhbl9vcmRlcic6IEZhbHNlLCAnc2hhcGUnOiAoMiwgMiksIH0gICAgICAgICAgICAgICAgICAgICAg
    ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgCgAAAAAAAAA/AACAPwAAwD9QSwMELQAAAAAAAAAhALyRVY7/////
    /////wkAFABpZHMvMS5ucHkBABAAmAAAAAAAAACYAAAAAAAAAJNOVU1QWQEAdgB7J2Rlc2NyJzogJzxpOCcsICdmb3J0cmFuX29y
    ZGVyJzogRmFsc2UsICdzaGFwZSc6ICgzLCksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg
    ICAgICAgICAgICAgICAKAQAAAAAAAAACAAAAAAAAAAMAAAAAAAAAUEsBAi0DLQAAAAAAAAAhALBq6aOQAAAAkAAAAAkAAAAAAAAA
    AAAAAIABAAAAAGlucHV0Lm5weVBLAQItAy0AAAAAAAAAIQC8kVWOmAAAAJgAAAAJAAAAAAAAAAAAAACAAcsAAABpZHMvMS5ucHlQ
    SwUGAAAAAAIAAgBuAAAAngEAAAAA";

/// `numpy.savez_compressed(f, **{"input": numpy.array([[0, .5], [1, 1.5]], numpy.float32), "ids/1": numpy.array([1, 2, 3])})`, in base 64.
const PACKED: &str = "\
    UEsDBC0AAAAIAAAAIQCwaumj//////////8JABQAaW5wdXQubnB5AQAQAJAAAAAAAAAAUAAAAAAAAACb7BfqGxDJyFDGUK2eklqc
    XKRupaBuk2airqOgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RpGOgpGmjoKtQpkAy4GCLBnYGgA4gP2AFBLAwQtAAAACAAA
    ACEAvJFVjv//////////CQAUAGlkcy8xLm5weQEAEACYAAAAAAAAAE0AAAAAAAAAm+wX6hsQychQxlCtnpJanFykbqWgbpNpoa6j
    oJ6WX1RSlJgXn1+UkgoSd0vMKU4FihdnJBakAvkaxjqaOgq1ChQALkYGCGCC0sxQGgBQSwECLQMtAAAACAAAACEAsGrpo1AAAACQ
    AAAACQAAAAAAAAAAAAAAgAEAAAAAaW5wdXQubnB5UEsBAi0DLQAAAAgAAAAhALyRVY5NAAAAmAAAAAkAAAAAAAAAAAAAAIABiwAA
    AGlkcy8xLm5weVBLBQYAAAAAAgACAG4AAAATAQAAAAA=";
