//! Samples of networks as files: pictures, arrays, archives of them, and how pictures are preprocessed.

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use std::io::Write as _;
use vp_onnx::samples::{Channels, Interpolation, Picture, Preprocess, Preset, ResizeMode, npy, npz};
use vp_tensors::{Elements, Tensor};

/// A picture of any format, which each way of resizing makes a small input.
pub(super) fn picture(bytes: &[u8]) -> bool {
    let Some(Ok(picture)) = Picture::decode(bytes) else { return false };
    let [width, height] = picture.size();
    let resize = [ResizeMode::Stretch, ResizeMode::ShorterSide, ResizeMode::Letterbox][width % 3];
    let interpolation = [Interpolation::Linear, Interpolation::Area, Interpolation::Lanczos][height % 3];
    let channels = Some(Channels::Bgr);
    let preprocess = Preprocess { resize, interpolation, channels, ..Preset::Imagenet.into() };
    let tensor = preprocess.tensor_of(&picture, &[1, 3, 4, 6]).unwrap_or_else(|error| panic!("{error}"));
    assert!(tensor.to_floats().iter().all(|element| element.is_finite()));
    true
}

/// An array, which is written as what reads back. Floats are compared by their bits: they may be no numbers.
pub(super) fn array(bytes: &[u8]) -> bool {
    let Ok(array) = npy::read(bytes) else { return false };
    let written = npy::written(&array);
    let again = npy::read(&written).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((&again.shape, npy::written(&again)), (&array.shape, written));
    true
}

/// An archive, likewise.
pub(super) fn archive(bytes: &[u8]) -> bool {
    let Ok(arrays) = npz::read(bytes) else { return false };
    let arrays: Vec<(&str, &Tensor)> = arrays.iter().map(|(name, array)| (name.as_str(), array)).collect();
    let written = npz::written(&arrays).unwrap_or_else(|error| panic!("{error}"));
    let again = npz::read(&written).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.len(), arrays.len());
    true
}

/// A description of preprocessing, with which some pictures become an input, or are refused.
pub(super) fn preprocess(bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(bytes).map(Preprocess::parse);
    let Ok(Ok(preprocess)) = text else { return false };
    let picture = Picture::of_bytes([3, 2], 3, (0..18).collect()).expect("a picture");
    for shape in [&[1, 3, 4, 6][..], &[5, 5, 1], &[1, 3, 224, 224]] {
        let _ = preprocess.tensor_of(&picture, shape);
    }
    true
}

/// Files of the corpus, by format.
pub(super) fn corpus() -> Vec<(&'static str, Vec<u8>)> {
    let floats = Tensor::floats([2, 3], vec![0.0, 0.5, 1.0, 1.5, 2.0, -1.0]);
    let bytes = Tensor::of([4], Elements::Uint8(vec![1, 2, 3, 4]));
    let fortran =
        b"\x93NUMPY\x02\0\x3f\0\0\0{'descr': '>i2', 'fortran_order': True, 'shape': (2, 1, 2), } \n";
    let archive = npz::written(&[("input", &floats), ("ids", &bytes)]).expect("a small archive");
    vec![
        ("picture", png()),
        ("picture", jpeg()),
        ("picture", b"P6 # colours\n2 1 255\n\x01\x02\x03\x04\x05\x06".to_vec()),
        ("picture", b"P2 2 2 1023\n0 1 1022 1023\n".to_vec()),
        ("npy", npy::written(&floats)),
        ("npy", [&fortran[..], &[0, 1, 0, 2, 0, 3, 0, 4]].concat()),
        ("npz", archive),
        (
            "preprocess",
            "preset = 'imagenet'\nchannels = 'bgr'\nsize = [256, 256]\ncrop = 224\nscale = '1/255'\nstd = 1\n".into(),
        ),
        (
            "preprocess",
            "resize = 'letterbox'\ninterpolation = 'area'\nposition = 'start'\nfill = [1, 2, 3]\nlayout = 'nchw'\n"
                .into(),
        ),
    ]
}

/// A PNG of 2 x 2 pixels of 16 bits, turned by its EXIF.
fn png() -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |kind: &[u8; 4], data: &[u8]| {
        let mut sum = Crc::new();
        sum.update(&[kind, data].concat());
        file.extend([&(data.len() as u32).to_be_bytes(), &kind[..], data, &sum.sum().to_be_bytes()].concat());
    };
    chunk(b"IHDR", &[0, 0, 0, 2, 0, 0, 0, 2, 16, 2, 0, 0, 0]);
    chunk(b"eXIf", b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0");
    let line = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&[line, line].concat()).expect("memory takes all");
    chunk(b"IDAT", &packer.finish().expect("memory takes all"));
    chunk(b"IEND", &[]);
    file
}

/// A grey JPEG of one block whose coefficients are all zero.
fn jpeg() -> Vec<u8> {
    let table = |class: u8| {
        let mut lengths = [0; 16];
        lengths[0] = 1;
        [&[0xff, 0xc4, 0, 20, class][..], &lengths, &[0]].concat()
    };
    let quantisation = [&[0xff, 0xdb, 0, 67, 0][..], &[1; 64]].concat();
    let frame = [0xff, 0xc0, 0, 11, 8, 0, 8, 0, 7, 1, 1, 0x11, 0];
    let scan = [0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0b0011_1111];
    [&[0xff, 0xd8][..], &quantisation, &frame, &table(0), &table(0x10), &scan, &[0xff, 0xd9]].concat()
}
