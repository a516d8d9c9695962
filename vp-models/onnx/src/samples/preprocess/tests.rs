//! Tests of preprocessing, beside Pillow 13.0 and NumPy 2.4.

use super::*;
use proptest::prelude::*;

/// `i = np.arange(9 * 6 * 3, dtype=np.int64); ((37 * i * i + 11 * i) % 256).astype(np.uint8).reshape(6, 9, 3)`
fn picture() -> Picture {
    let samples = (0..9 * 6 * 3).map(|i| ((37 * i * i + 11 * i) % 256) as u8);
    Picture::of_bytes([9, 6], 3, samples.collect()).unwrap()
}

fn floats(preprocess: &Preprocess, shape: &[usize]) -> Vec<f32> {
    preprocess.tensor_of(&picture(), shape).unwrap().to_floats()
}

/// ```text
/// scaled = im.resize((int(5 * 9 / 6), 5), Image.Resampling.BILINEAR)
/// left, top = round((7 - 4) / 2), round((5 - 4) / 2)
/// np.asarray(scaled.crop((left, top, left + 4, top + 4))).transpose(2, 0, 1)
/// ```
const CROPPED: [u8; 48] = [
    92, 86, 104, 142, 189, 131, 132, 76, 149, 63, 70, 88, 124, 95, 188, 173, 167, 227, 179, 213, 137, 180,
    81, 90, 145, 106, 67, 114, 123, 81, 127, 123, 189, 210, 143, 131, 102, 138, 149, 102, 99, 95, 138, 144,
    171, 127, 141, 186,
];

#[test]
fn imagenet_is_what_torchvision_computes() {
    let tensor = Preprocess::from(Preset::Imagenet).tensor_of(&picture(), &[1, 3, 4, 4]).unwrap();
    assert_eq!(tensor.shape, [1, 3, 4, 4]);
    let elements = tensor.to_floats();
    let normalised = |at: usize, sample: u8| {
        let (mean, std) = [(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)][at / 16];
        ((f64::from(sample) / 255.0 - mean) / std) as f32
    };
    let expected: Vec<f32> = CROPPED.iter().enumerate().map(|(at, sample)| normalised(at, *sample)).collect();
    elements.iter().zip(&expected).for_each(|(ours, theirs)| assert!((ours - theirs).abs() < 1e-6));
    // Of the same in NumPy.
    for (at, expected) in [(0, -0.5424266), (17, 1.9383754), (47, 1.4373857)] {
        assert!((elements[at] - expected).abs() < 1e-6, "{at}: {}", elements[at]);
    }
}

#[test]
fn caffes_is_the_same_part_blue_first() {
    let expected: Vec<f32> = CROPPED
        .chunks(16)
        .rev()
        .zip([104.0, 117.0, 123.0])
        .flat_map(|(plane, mean)| plane.iter().map(move |sample| f32::from(*sample) - mean))
        .collect();
    assert_eq!(floats(&Preset::ImagenetBgrCaffe.into(), &[1, 3, 4, 4]), expected);
}

#[test]
fn the_other_presets_scale() {
    let raw = floats(&Preset::Raw.into(), &[3, 6, 9]);
    let planes: Vec<f32> = (0..3)
        .flat_map(|channel| {
            picture()
                .in_channels(3)
                .unwrap()
                .into_iter()
                .skip(channel)
                .step_by(3)
                .map(f32::from)
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(raw, planes);
    let unit = floats(&Preset::Unit.into(), &[3, 6, 9]);
    let signed = floats(&Preset::Signed.into(), &[3, 6, 9]);
    for ((raw, unit), signed) in raw.iter().zip(unit).zip(signed) {
        assert_eq!(unit, (f64::from(*raw) / 255.0) as f32);
        assert_eq!(signed, ((f64::from(*raw) - 127.5) / 127.5) as f32);
    }
}

#[test]
fn the_shape_says_the_layout() {
    let raw = Preprocess::from(Preset::Raw);
    let rows: Vec<f32> = picture().in_channels(3).unwrap().into_iter().map(f32::from).collect();
    assert_eq!(floats(&raw, &[1, 6, 9, 3]), rows);
    assert_eq!(floats(&Preprocess { layout: Some(Layout::Nhwc), ..raw.clone() }, &[6, 9, 3]), rows);
    assert_eq!(floats(&raw, &[1, 1, 6, 9]).len(), 54);
    // Of 3 lines, or of 3 channels: channels come first.
    assert_eq!(
        floats(&raw, &[3, 6, 3])[0..3],
        floats(&Preprocess { layout: Some(Layout::Nchw), ..raw }, &[3, 6, 3])[0..3]
    );
}

/// `np.asarray(im.convert("L").resize((6, 4), Image.Resampling.BILINEAR))`, in the middle of 6 x 6, and left and top of 6 x 7.
#[test]
fn a_letterbox_keeps_the_ratio_and_is_filled_up() {
    let grey: [f32; 24] = [
        93_u8, 125, 170, 154, 170, 99, 138, 132, 150, 101, 96, 78, 155, 126, 119, 86, 142, 140, 134, 116, 73,
        147, 128, 144,
    ]
    .map(f32::from);
    let grey = grey.as_slice();
    let letterbox = Preprocess {
        resize: ResizeMode::Letterbox,
        fill: vec![114.0],
        channels: Some(Channels::Grey),
        ..Preset::Raw.into()
    };
    assert_eq!(floats(&letterbox, &[1, 1, 6, 6]), [&[114.0; 6][..], grey, &[114.0; 6]].concat());
    let start = Preprocess { position: Position::Start, ..letterbox };
    assert_eq!(floats(&start, &[1, 1, 7, 6]), [grey, &[114.0; 18]].concat());
}

#[test]
fn samples_of_16_bits_count_to_255_as_well() {
    let deep = Picture::decode(b"P5 2 1 65535 \x80\x80\xff\xff").unwrap().unwrap();
    let tensor = Preprocess::from(Preset::Raw).tensor_of(&deep, &[1, 1, 1, 2]).unwrap();
    assert_eq!(tensor.to_floats(), [128.0, 255.0]);
    let fine = Picture::decode(b"P5 1 1 65535 \x00\x01").unwrap().unwrap();
    let tensor = Preprocess::from(Preset::Raw).tensor_of(&fine, &[1, 1, 1]).unwrap();
    assert_eq!(tensor.to_floats(), [(255.0_f64 / 65_535.0) as f32]);
}

#[test]
fn what_does_not_fit_is_said() {
    let raw = Preprocess::from(Preset::Raw);
    let error = |preprocess: &Preprocess, shape: &[usize]| {
        preprocess.tensor_of(&picture(), shape).unwrap_err().to_string()
    };
    assert!(
        error(&raw, &[1, 1000]).starts_with("an input of shape [1, 1000] takes no picture: one of 3 or 4")
    );
    assert!(error(&raw, &[1, 7, 6, 9]).starts_with("an input of shape [1, 7, 6, 9] takes no picture"));
    assert!(error(&raw, &[1, 3, 0, 9]).starts_with("an input of shape [1, 3, 0, 9] takes no picture"));
    assert_eq!(error(&raw, &[2, 3, 6, 9]), "an input of 2 pictures; one picture is given");
    let imagenet = Preprocess::from(Preset::Imagenet);
    assert_eq!(error(&imagenet, &[1, 1, 28, 28]), "`channels` are 3; an input of shape [1, 1, 28, 28] has 1");
    let means = Preprocess { mean: vec![1.0; 3], ..raw.clone() };
    assert_eq!(
        error(&means, &[1, 1, 6, 9]),
        "`mean` has 3 values; one is possible, or one for each of 1 channels"
    );
    let cropped = Preprocess { crop: Some(Crop::Size([224, 224])), ..raw.clone() };
    assert_eq!(error(&cropped, &[3, 299, 299]), "`crop` makes 224 x 224 pixels; the input has 299 x 299");
    let sized = Preprocess { size: Some([8, 8]), ..raw.clone() };
    assert_eq!(error(&sized, &[3, 6, 9]), "`size` makes 8 x 8 pixels; the input has 9 x 6");
    let share = Preprocess { size: Some([8, 8]), ..imagenet };
    assert_eq!(error(&share, &[3, 8, 8]), "`crop` makes 7 x 7 pixels; the input has 8 x 8");
    let huge = "an input of 100000 x 100000 pixels; at most 16777216 are made of a picture";
    assert_eq!(error(&raw, &[3, 100_000, 100_000]), huge);
    assert!(error(&raw, &[3, usize::MAX, usize::MAX]).contains("at most"));
}

#[test]
fn sides_are_rounded_as_torchvision_and_letterboxes_do() {
    let shorter = ResizeMode::ShorterSide;
    assert_eq!(shorter.applied([500, 375], [256, 256]), [341, 256]);
    assert_eq!(shorter.applied([375, 500], [256, 256]), [256, 341]);
    assert_eq!(shorter.applied([100, 100], [20, 10]), [20, 20]);
    assert_eq!(ResizeMode::Letterbox.applied([500, 375], [640, 640]), [640, 480]);
    assert_eq!(ResizeMode::Letterbox.applied([65_535, 1], [640, 640]), [640, 1]);
    assert_eq!(shorter.applied([65_535, 1], [65_535, 65_535]), [65_535 * 65_535, 65_535]);
}

proptest! {
    #[test]
    fn every_combination_fills_the_input(
        [width, height, input_width, input_height] in prop::array::uniform4(1..20_usize),
        resize in prop::sample::select(&[ResizeMode::Stretch, ResizeMode::ShorterSide, ResizeMode::Letterbox][..]),
        interpolation in prop::sample::select(&[
            Interpolation::Nearest, Interpolation::Linear, Interpolation::Bilinear, Interpolation::Bicubic,
            Interpolation::Lanczos, Interpolation::Area,
        ][..]),
        position in prop::sample::select(&[Position::Centre, Position::Start][..]),
    ) {
        let picture = Picture::of_bytes([width, height], 1, vec![77; width * height]).unwrap();
        let fill = if resize == ResizeMode::Letterbox { vec![77.0] } else { Vec::new() };
        let preprocess = Preprocess { resize, interpolation, position, fill, ..Preset::Raw.into() };
        let tensor = preprocess.tensor_of(&picture, &[1, input_height, input_width]).unwrap();
        prop_assert_eq!(tensor.to_floats(), vec![77.0; input_width * input_height]);
    }
}
