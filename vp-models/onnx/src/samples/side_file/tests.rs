//! Tests of files that say how pictures are preprocessed.

use super::*;

fn error(text: &str) -> String {
    Preprocess::parse(text).unwrap_err().in_file(Path::new("m.preprocess.toml")).to_string()
}

#[test]
fn all_keys_are_read() {
    let text = "channels = 'bgr'\nresize = 'letterbox'\nsize = [640, 480]\ncrop = 224\ninterpolation = 'area'\n\
                position = 'start'\nfill = 114\nscale = '1/255'\nmean = [1, 2.5, 3]\nstd = 2\nlayout = 'nhwc'\n";
    let expected = Preprocess {
        channels: Some(Channels::Bgr),
        resize: ResizeMode::Letterbox,
        size: Some([640, 480]),
        interpolation: Interpolation::Area,
        crop: Some(Crop::Size([224, 224])),
        position: Position::Start,
        fill: vec![114.0],
        scale: 1.0 / 255.0,
        mean: vec![1.0, 2.5, 3.0],
        std: vec![2.0],
        layout: Some(Layout::Nhwc),
    };
    assert_eq!(Preprocess::parse(text), Ok(expected));
}

#[test]
fn what_is_not_said_is_that_of_the_preset() {
    assert_eq!(Preprocess::parse(""), Ok(Preset::Raw.into()));
    for name in Preset::VARIANTS {
        let preset = Preprocess::load(Path::new(name)).unwrap();
        assert_eq!(Preprocess::parse(&format!("preset = '{name}'")), Ok(preset));
    }
    let blue_first = Preprocess { channels: Some(Channels::Bgr), ..Preset::Imagenet.into() };
    assert_eq!(Preprocess::parse("preset = 'imagenet'\nchannels = 'bgr'"), Ok(blue_first));
}

#[test]
fn what_is_wrong_is_said_with_file_line_and_key() {
    for (text, expected) in [
        (
            "\nchannels = 'rbg'",
            "2: channels: found `rbg`, expected one of `rgb`, `bgr`, `grey`; nearest: rgb",
        ),
        ("sise = 3", "1: unknown field `sise`"),
        ("size = 0", "1: size: expected a side from 1 to 65535, or [width, height]"),
        ("size = [1, 2, 3]", "1: size: expected a side"),
        ("crop = 1.5", "1: crop: expected a share from 0.01 to 1.0, a side, or [width, height]"),
        ("crop = [0, 1]", "1: crop: expected a side"),
        ("scale = '1/0'", "1: scale: expected a number other than 0, or a quotient such as \"1/255\""),
        ("scale = nan", "1: scale: expected"),
        ("mean = [1, 2]", "1: mean: expected a number, or a list of 3, one for each channel"),
        ("channels = 'grey'\nfill = [1, 2, 3]", "2: fill: expected a number"),
        ("fill = inf", "1: fill: expected"),
        ("std = [1, 0, 1]", "1: std: 0, by which nothing is divided"),
        ("mean = 'x'", "1: mean: expected"),
        ("size = ", "1: "),
    ] {
        let error = error(text);
        assert!(error.starts_with(&format!("m.preprocess.toml:{expected}")), "{text}: {error}");
    }
    // Only the file knows of its preset's channels.
    assert!(error("preset = 'imagenet'\nchannels = 'grey'\nmean = [1, 2, 3]").contains(":3: mean"));
}

#[test]
fn a_model_may_have_a_file_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("net.v2.onnx");
    assert_eq!(Preprocess::beside(&model), Ok(None));
    std::fs::write(folder.path().join("net.v2.preprocess.toml"), "preset = 'unit'").unwrap();
    assert_eq!(Preprocess::beside(&model), Ok(Some(Preset::Unit.into())));
    std::fs::write(folder.path().join("net.v2.preprocess.toml"), "preset = 'units'").unwrap();
    assert!(Preprocess::beside(&model).unwrap_err().to_string().contains("preprocess.toml:1: preset: found"));
}

#[test]
fn a_name_that_is_none_is_told_the_names() {
    let error = Preprocess::load(Path::new("imagenett")).unwrap_err().to_string();
    assert!(error.starts_with("imagenett: cannot read: "), "{error}");
    let names = "and it is none of imagenet, imagenet-bgr-caffe, unit, signed, raw; nearest: imagenet";
    assert!(error.ends_with(names), "{error}");
}
