//! Tests of resampling, beside what Pillow 11.3 and OpenCV 5.0 make of the same picture:
//!
//! ```text
//! i = np.arange(7 * 5 * 3, dtype=np.int64)
//! a = ((37 * i * i + 11 * i) % 256).astype(np.uint8).reshape(5, 7, 3)
//! np.asarray(Image.fromarray(a).resize((width, height), Image.Resampling.BILINEAR)).flatten()
//! cv2.resize(a, (width, height), interpolation=cv2.INTER_AREA).flatten()
//! ```

use super::super::picture::Pixels;
use super::*;

fn picture() -> Picture {
    let samples = (0..7 * 5 * 3).map(|i| ((37 * i * i + 11 * i) % 256) as u8);
    Picture::of_bytes([7, 5], 3, samples.collect()).unwrap()
}

/// A part of the picture made of such a size.
fn part(picture: &Picture, interpolation: Interpolation, spans: [Span; 2]) -> Vec<u16> {
    let mut samples = Vec::new();
    let mut expected = spans[1].inside();
    lines(picture, Channels::Rgb, interpolation, spans, |at, line| {
        assert_eq!(Some(at), expected.next());
        samples.extend(line);
    });
    assert_eq!(expected.next(), None);
    samples
}

fn resized(picture: &Picture, interpolation: Interpolation, size: [usize; 2]) -> Vec<u16> {
    let whole = |length| Span { resized: length, start: 0, length };
    part(picture, interpolation, size.map(whole))
}

#[test]
fn filters_are_those_of_pillow_to_the_bit() {
    for (interpolation, size, expected) in PILLOW {
        assert_eq!(resized(&picture(), *interpolation, *size), *expected, "{interpolation:?} {size:?}");
    }
}

#[test]
fn linear_and_area_are_those_of_opencv_within_a_step() {
    for (interpolation, size, expected) in OPENCV {
        let ours = resized(&picture(), *interpolation, *size);
        assert_eq!(ours.len(), expected.len());
        let furthest = ours.iter().zip(*expected).map(|(ours, theirs)| ours.abs_diff(*theirs)).max();
        assert!(furthest <= Some(1), "{interpolation:?} {size:?}: {ours:?}");
    }
}

#[test]
fn the_same_size_is_the_same_picture() {
    use Interpolation::{Area, Bicubic, Bilinear, Lanczos, Linear, Nearest};
    let words = Picture::of([2, 2], 3, Pixels::Words((0..12).map(|i| i * 5957).collect())).unwrap();
    for interpolation in [Nearest, Linear, Bilinear, Bicubic, Lanczos, Area] {
        let same = resized(&picture(), interpolation, [7, 5]);
        let expected: Vec<u16> = (0..5).flat_map(|y| picture().line_in(y, Channels::Rgb)).collect();
        assert_eq!(same, expected, "{interpolation:?}");
        let deep = resized(&words, interpolation, [2, 2]);
        assert_eq!(deep, (0..12).map(|i| i * 5957).collect::<Vec<u16>>(), "{interpolation:?}");
    }
}

#[test]
fn a_part_is_cut_out_of_the_whole() {
    let whole = resized(&picture(), Interpolation::Bilinear, [9, 3]);
    let [across, down] =
        [Span { resized: 9, start: 4, length: 3 }, Span { resized: 3, start: -1, length: 5 }];
    assert_eq!((across.inside(), down.inside()), (0..3, 1..4));
    let expected: Vec<u16> = (0..3).flat_map(|y| whole[(y * 9 + 4) * 3..(y * 9 + 7) * 3].to_vec()).collect();
    assert_eq!(part(&picture(), Interpolation::Bilinear, [across, down]), expected);
    let beside = Span { resized: 3, start: 4, length: 2 };
    assert_eq!(
        (beside.inside(), part(&picture(), Interpolation::Bilinear, [across, beside])),
        (0..0, vec![])
    );
}

/// A line of 65 535 pixels, made a pixel, and a part of what a pixel would be if it were as long.
#[test]
fn extreme_sizes_are_made() {
    let line = Picture::of_bytes([65_535, 1], 1, vec![77; 65_535]).unwrap();
    let pixel = Picture::of_bytes([1, 1], 1, vec![77]).unwrap();
    for interpolation in [Interpolation::Lanczos, Interpolation::Area, Interpolation::Linear] {
        assert_eq!(resized(&line, interpolation, [1, 1]), [77; 3]);
        let long = Span { resized: 1 << 32, start: 1 << 31, length: 2 };
        assert_eq!(part(&pixel, interpolation, [long; 2]), [77; 12]);
    }
}

/// Sizes, and what Pillow makes of them.
#[rustfmt::skip]
const PILLOW: &[(Interpolation, [usize; 2], &[u16])] = &[
    (Interpolation::Bilinear, [3, 2], &[
        107, 123, 162, 96, 121, 155, 141, 176, 141, 117, 134, 123, 73, 72, 117, 133, 119, 120,
    ]),
    (Interpolation::Bilinear, [9, 3], &[
        70, 126, 146, 86, 119, 189, 108, 114, 194, 109, 122, 176, 54, 154, 182, 119, 192, 194, 127, 174,
        149, 127, 184, 133, 144, 251, 177, 164, 106, 150, 139, 153, 117, 90, 124, 122, 46, 55, 137, 57, 39,
        95, 144, 99, 129, 126, 134, 137, 127, 144, 120, 198, 135, 89, 100, 213, 143, 132, 123, 128, 123,
        104, 116, 81, 119, 115, 45, 55, 139, 43, 26, 84, 126, 83, 114, 160, 140, 144, 95, 149, 132,
    ]),
    (Interpolation::Bilinear, [4, 8], &[
        53, 83, 187, 90, 139, 190, 59, 230, 218, 103, 220, 156, 84, 122, 175, 99, 125, 183, 111, 178, 174,
        133, 205, 149, 126, 167, 157, 106, 103, 170, 174, 111, 119, 170, 183, 138, 155, 123, 140, 67, 75,
        121, 133, 114, 133, 145, 154, 121, 146, 125, 120, 51, 69, 111, 105, 97, 127, 146, 126, 103, 99,
        173, 95, 56, 86, 139, 90, 60, 102, 175, 97, 85, 120, 152, 131, 89, 102, 120, 73, 52, 105, 135, 136,
        136, 140, 132, 162, 115, 113, 103, 61, 48, 109, 101, 169, 177,
    ]),
    (Interpolation::Bicubic, [3, 2], &[
        104, 119, 164, 96, 123, 161, 142, 183, 140, 121, 138, 122, 67, 61, 112, 135, 117, 119,
    ]),
    (Interpolation::Bicubic, [4, 8], &[
        48, 70, 188, 92, 144, 193, 44, 243, 230, 101, 221, 152, 78, 120, 177, 101, 127, 191, 108, 183, 177,
        135, 211, 149, 128, 176, 159, 102, 96, 174, 183, 102, 110, 175, 190, 140, 172, 123, 144, 57, 64,
        110, 135, 110, 134, 144, 161, 122, 158, 125, 117, 37, 60, 101, 98, 97, 134, 147, 125, 98, 97, 182,
        88, 50, 82, 145, 86, 55, 102, 184, 94, 79, 121, 158, 133, 89, 101, 120, 66, 42, 101, 140, 143, 140,
        149, 130, 172, 116, 111, 96, 54, 39, 105, 101, 184, 188,
    ]),
    (Interpolation::Lanczos, [3, 2], &[
        101, 117, 162, 95, 123, 163, 145, 186, 139, 123, 142, 122, 66, 55, 108, 139, 115, 118,
    ]),
    (Interpolation::Lanczos, [9, 3], &[
        75, 127, 142, 80, 115, 200, 125, 108, 211, 116, 123, 167, 52, 154, 180, 125, 206, 210, 138, 168,
        143, 120, 184, 126, 140, 255, 192, 178, 103, 149, 151, 175, 102, 73, 142, 122, 28, 26, 150, 65, 30,
        86, 173, 92, 119, 128, 140, 146, 125, 138, 111, 219, 124, 76, 89, 217, 146, 136, 118, 129, 136, 92,
        100, 73, 132, 115, 42, 58, 145, 13, 8, 73, 131, 77, 109, 172, 153, 156, 87, 141, 124,
    ]),
    (Interpolation::Nearest, [9, 3], &[
        0, 48, 170, 110, 124, 212, 110, 124, 212, 118, 98, 152, 24, 226, 246, 84, 252, 238, 42, 176, 128,
        42, 176, 128, 154, 254, 172, 194, 22, 180, 156, 206, 74, 156, 206, 74, 16, 32, 122, 30, 12, 68,
        198, 146, 168, 8, 178, 166, 8, 178, 166, 228, 108, 62, 108, 228, 166, 178, 8, 168, 178, 8, 168,
        146, 198, 68, 12, 30, 122, 32, 16, 74, 206, 156, 180, 206, 156, 180, 22, 194, 184,
    ]),
    (Interpolation::Nearest, [3, 2], &[
        72, 104, 210, 94, 58, 96, 220, 116, 86, 106, 174, 60, 88, 88, 162, 174, 106, 112,
    ]),
];

/// Sizes, and what OpenCV makes of them.
#[rustfmt::skip]
const OPENCV: &[(Interpolation, [usize; 2], &[u16])] = &[
    (Interpolation::Linear, [3, 2], &[
        95, 134, 183, 77, 100, 134, 162, 171, 125, 114, 155, 100, 69, 74, 152, 171, 117, 117,
    ]),
    (Interpolation::Linear, [9, 8], &[
        0, 48, 170, 73, 98, 198, 114, 112, 185, 97, 126, 173, 24, 226, 246, 70, 246, 240, 61, 210, 177, 79,
        202, 143, 154, 254, 172, 72, 128, 145, 86, 119, 189, 107, 114, 195, 109, 122, 176, 55, 152, 180,
        119, 191, 192, 128, 173, 148, 128, 184, 132, 143, 251, 177, 166, 217, 118, 107, 146, 174, 99, 117,
        200, 118, 110, 176, 90, 55, 94, 181, 120, 133, 207, 128, 114, 183, 160, 119, 136, 239, 176, 185,
        87, 159, 148, 145, 131, 95, 125, 130, 52, 55, 132, 50, 26, 77, 167, 117, 141, 131, 152, 149, 115,
        156, 127, 197, 152, 100, 161, 75, 159, 147, 156, 99, 85, 126, 98, 24, 38, 126, 48, 36, 97, 129, 91,
        126, 101, 134, 142, 112, 138, 120, 217, 102, 62, 96, 181, 116, 105, 178, 79, 69, 121, 104, 34, 59,
        159, 84, 83, 156, 68, 40, 86, 119, 74, 94, 174, 104, 97, 194, 91, 62, 100, 212, 142, 131, 125, 128,
        122, 105, 116, 81, 117, 116, 45, 55, 139, 42, 26, 84, 125, 82, 114, 160, 139, 143, 96, 148, 131,
        108, 228, 166, 154, 81, 167, 164, 92, 123, 116, 161, 80, 12, 30, 122, 27, 19, 85, 129, 94, 133,
        145, 169, 181, 22, 194, 184,
    ]),
    (Interpolation::Area, [3, 2], &[
        104, 120, 167, 97, 131, 165, 136, 187, 144, 123, 138, 125, 61, 64, 113, 133, 124, 124,
    ]),
    (Interpolation::Area, [5, 4], &[
        53, 95, 174, 113, 111, 183, 60, 185, 209, 95, 201, 176, 129, 227, 159, 156, 146, 145, 95, 115, 165,
        90, 62, 107, 175, 141, 138, 159, 177, 130, 130, 142, 118, 65, 106, 112, 65, 58, 124, 110, 98, 116,
        178, 108, 82, 121, 169, 153, 139, 114, 112, 42, 56, 115, 106, 72, 112, 97, 165, 162,
    ]),
];
