//! Tests of pictures.

use super::super::orientation::tests::tiff;
use super::super::picture::Channels;
use super::*;

fn of(file: &[u8]) -> Result<Picture, PictureError> {
    Picture::decode(file).expect("a picture")
}

/// A PNG of two pixels.
pub(in super::super) fn written(color: png::ColorType, depth: png::BitDepth, samples: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 2, 1);
    encoder.set_color(color);
    encoder.set_depth(depth);
    encoder.write_header().and_then(|mut writer| writer.write_image_data(samples)).expect("memory");
    file
}

#[test]
fn a_png_has_its_samples() {
    let rgb = of(&written(png::ColorType::Rgb, png::BitDepth::Eight, &[1, 2, 3, 4, 5, 6])).unwrap();
    assert_eq!(rgb, Picture::of_bytes([2, 1], 3, vec![1, 2, 3, 4, 5, 6]).unwrap());
    assert_eq!(rgb.in_channels(4), Some(vec![1, 2, 3, 0xff, 4, 5, 6, 0xff]));
    assert_eq!(rgb.line_in(0, Channels::Bgr), [3, 2, 1, 6, 5, 4]);
    let grey = of(&written(png::ColorType::GrayscaleAlpha, png::BitDepth::Eight, &[7, 9, 8, 9])).unwrap();
    assert_eq!(grey.in_channels(3), Some(vec![7, 7, 7, 8, 8, 8]));
    assert_eq!(grey.in_channels(1), Some(vec![7, 8]));
    assert_eq!(grey.in_channels(2), None);
    let bits = of(&written(png::ColorType::Grayscale, png::BitDepth::One, &[0b0100_0000])).unwrap();
    assert_eq!(bits.in_channels(1), Some(vec![0, 255]));
}

#[test]
fn a_png_of_16_bits_keeps_them() {
    let deep = of(&written(png::ColorType::Grayscale, png::BitDepth::Sixteen, &[0x12, 0x34, 0xff, 0xff]));
    let deep = deep.unwrap();
    assert_eq!((deep.most(), deep.line_in(0, Channels::Grey)), (65_535, vec![0x1234, 0xffff]));
    assert_eq!(deep.in_channels(1), Some(vec![0x12, 0xff]));
}

/// `Image.fromarray(np.array([[[255,0,0],[0,255,0],[0,0,255],[10,200,77]]], np.uint8)).convert("L")` of Pillow 13.0.
#[test]
fn luma_is_that_of_pillow() {
    let picture = Picture::of_bytes([4, 1], 3, vec![255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 200, 77]).unwrap();
    assert_eq!(picture.in_channels(1), Some(vec![76, 150, 29, 129]));
    let white = Picture::of([1, 1], 3, Pixels::Words(vec![0xffff; 3])).unwrap();
    assert_eq!(white.line_in(0, Channels::Grey), [0xffff]);
}

#[test]
fn a_broken_picture_is_refused() {
    let whole = written(png::ColorType::Rgb, png::BitDepth::Eight, &[1, 2, 3, 4, 5, 6]);
    assert!(matches!(of(&whole[..whole.len() - 20]), Err(PictureError::Png(_))));
    assert!(matches!(of(&[0xff, 0xd8, 0xff, 0xe0, 0, 0]), Err(PictureError::Jpeg(_))));
    let short = of(&[0xff, 0xd8, 0xff, 0xdb, 0, 0x43, 0, 1, 2]).unwrap_err().to_string();
    assert!(short.starts_with("JPEG: ") && short.trim_end() == short && !short.contains('\n'), "{short:?}");
    assert!(Picture::decode(b"\x01\x02\x03").is_none());
    assert_eq!(Picture::of_bytes([2, 1], 3, vec![0; 5]), None);
    assert_eq!(Picture::of_bytes([0, 1], 3, vec![]), None);
    assert_eq!(Picture::of_bytes([1, 1], 5, vec![0; 5]), None);
}

/// A PNG and a JPEG whose headers say another size than their data have.
fn claiming(size: [u32; 2]) -> [Vec<u8>; 2] {
    let mut png = written(png::ColorType::Rgb, png::BitDepth::Eight, &[1, 2, 3, 4, 5, 6]);
    png[16..20].copy_from_slice(&size[0].to_be_bytes());
    png[20..24].copy_from_slice(&size[1].to_be_bytes());
    let checksum = crc32(&png[12..29]);
    png[29..33].copy_from_slice(&checksum.to_be_bytes());
    let mut jpeg = grey_jpeg();
    let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).expect("a frame");
    let [width, height] = size.map(|side| (side as u16).to_be_bytes());
    jpeg[frame + 5..frame + 9].copy_from_slice(&[height, width].concat());
    [png, jpeg]
}

/// Of a header alone, which names more than any machine has.
#[test]
fn a_picture_of_another_size_takes_no_memory() {
    let wrong = |file: &[u8], found: &str| {
        let error = Picture::decode_of_size(file, [2, 1]).expect("a picture").unwrap_err();
        assert_eq!(error.to_string(), format!("{found} pixels; the input has 2 x 1"));
    };
    wrong(b"P6 99999999999 99999999999 255 ", "99999999999 x 99999999999");
    wrong(&claiming([0xff_ffff, 0x7fff_ffff])[0], "16777215 x 2147483647");
    wrong(&claiming([0x3fff, 0x3fff])[1], "16383 x 16383");
}

#[test]
fn a_picture_beyond_the_bounds_takes_no_memory() {
    let wrong = |file: &[u8], found: [usize; 2]| assert_eq!(of(file), Err(PictureError::Bounds(found)));
    wrong(b"P6 8193 8192 255 ", [8193, 8192]);
    wrong(b"P6 65536 1 255 ", [65_536, 1]);
    wrong(b"P6 0 1 255 ", [0, 1]);
    let [png, jpeg] = claiming([65_535, 65_535]);
    wrong(&png, [65_535, 65_535]);
    wrong(&jpeg, [65_535, 65_535]);
    assert_eq!(
        of(b"P6 8192 8193 255 ").unwrap_err().to_string(),
        "8192 x 8193 pixels; 1 to 65535 a side and 67108864 in all are decoded"
    );
}

/// CRC-32 as PNG has it: ISO/IEC 15948, annex D.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}

/// A grey JPEG of one block of 8 x 8 pixels, whose coefficients are all zero: mid grey. Its tables have one code each.
pub(in super::super) fn grey_jpeg() -> Vec<u8> {
    let table = |class: u8| {
        let mut lengths = [0; 16];
        lengths[0] = 1;
        [&[0xff, 0xc4, 0, 20, class][..], &lengths, &[0]].concat()
    };
    let quantisation = [&[0xff, 0xdb, 0, 67, 0][..], &[1; 64]].concat();
    let frame = [0xff, 0xc0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0];
    let scan = [0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0b0011_1111];
    [&[0xff, 0xd8][..], &quantisation, &frame, &table(0), &table(0x10), &scan, &[0xff, 0xd9]].concat()
}

#[test]
fn a_jpeg_has_its_samples() {
    let picture = Picture::decode_of_size(&grey_jpeg(), [8, 8]).expect("a picture").unwrap();
    assert_eq!((picture.channels(), picture.in_channels(1)), (1, Some(vec![128; 64])));
}

// An interrupted download leaves such a file.
#[test]
fn a_jpeg_whose_data_ends_before_its_last_row_is_refused() {
    let mut jpeg = grey_jpeg();
    let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).expect("a frame");
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0, 64, 0, 64]);
    assert!(matches!(of(&jpeg[..jpeg.len() - 2]), Err(PictureError::Jpeg(_))));
    assert!(matches!(of(&jpeg), Err(PictureError::Jpeg(_))));
}

/// A block of which 5 columns of 8 belong to the picture, which the camera held upright.
#[test]
fn a_jpeg_is_turned_as_exif_says() {
    let mut jpeg = grey_jpeg();
    let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).expect("a frame");
    jpeg[frame + 7..frame + 9].copy_from_slice(&[0, 5]);
    let exif = [b"Exif\0\0", &tiff(true, 6)[..]].concat();
    let length = (exif.len() as u16 + 2).to_be_bytes();
    jpeg.splice(2..2, [&[0xff, 0xe1][..], &length, &exif].concat());
    let error = Picture::decode_of_size(&jpeg, [5, 8]).expect("a picture").unwrap_err();
    assert_eq!(error, PictureError::Size { found: [8, 5], wanted: [5, 8] });
    assert_eq!(of(&jpeg).unwrap().size(), [8, 5]);
}

#[test]
fn a_png_is_turned_as_exif_says() {
    let mut file = Vec::new();
    let mut info = png::Info::with_size(2, 1);
    info.color_type = png::ColorType::Grayscale;
    info.exif_metadata = Some(tiff(false, 8).into());
    let encoder = png::Encoder::with_info(&mut file, info).expect("a size");
    encoder.write_header().and_then(|mut writer| writer.write_image_data(&[1, 2])).expect("memory");
    let picture = of(&file).unwrap();
    assert_eq!((picture.size(), picture.in_channels(1)), ([1, 2], Some(vec![2, 1])));
}
