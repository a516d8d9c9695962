use super::*;
use crate::samples::{Picture, Preprocess, Preset, ResizeMode};
use proptest::prelude::*;
use std::path::Path;
use vp_tensors::{ElementType, Value};

fn output(name: &str, shape: &[usize]) -> Value {
    Value { name: name.to_owned(), shape: shape.to_vec(), element_type: ElementType::Float }
}

/// Boxes that a detector finds in outputs of its form, named `0`, `1` and so on, for an input of 64 x 32; or the error.
fn sought(text: &str, outputs: &[Tensor]) -> Result<Vec<Detection>, DetectorError> {
    let named = outputs.iter().enumerate();
    let values: Vec<Value> = named.map(|(at, tensor)| output(&at.to_string(), &tensor.shape)).collect();
    let values: Vec<&Value> = values.iter().collect();
    Detector::parse(text).unwrap().of_model(&values, [64, 32])?.boxes(outputs, None)
}

fn found(text: &str, outputs: &[Tensor]) -> Vec<Detection> {
    sought(text, outputs).unwrap()
}

fn edges(detection: &Detection) -> [f64; 4] {
    let Rectangle { left, top, right, bottom } = detection.rectangle;
    [left, top, right, bottom]
}

fn assert_near(found: [f64; 4], expected: [f64; 4]) {
    let is_near = found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-4);
    assert!(is_near, "{found:?}, expected {expected:?}");
}

/// The inverse of a sigmoid.
fn logit(share: f32) -> f32 {
    (share / (1.0 - share)).ln()
}

#[test]
fn rows_and_columns_tell_the_same_boxes() {
    let rows =
        [[20.0, 16.0, 8.0, 4.0, 0.9, 0.2], [40.0, 8.0, 4.0, 4.0, 0.1, 0.6], [1.0, 1.0, 9.0, 9.0, 0.2, 0.1]];
    let columns: Vec<f32> = (0..6).flat_map(|column| rows.map(|row| row[column])).collect();
    let yolov8 = found("form = \"yolov8\"\nclasses = 2", &[Tensor::floats([1, 6, 3], columns)]);
    assert_eq!(yolov8.iter().map(|one| (one.class, one.score)).collect::<Vec<_>>(), [(0, 0.9), (1, 0.6)]);
    assert_near(edges(&yolov8[0]), [16.0, 14.0, 24.0, 18.0]);
    assert_near(edges(&yolov8[1]), [38.0, 6.0, 42.0, 10.0]);
    let with_thing = rows.map(|[x, y, w, h, one, other]| [x, y, w, h, 0.5, 2.0 * one, 2.0 * other]).concat();
    let yolov5 = found("form = \"yolov5\"\nclasses = 2", &[Tensor::floats([1, 3, 7], with_thing)]);
    assert_eq!(yolov5, yolov8);
}

#[test]
fn columns_behind_the_classes_are_passed_over() {
    // A pose: one class, and key points in pixels.
    let row = [20.0, 16.0, 8.0, 4.0, 0.9, 30.0, 20.0];
    let columns = Tensor::floats([1, 7, 1], row.to_vec());
    let named = "form = \"yolov8\"\noutputs = [\"0\"]\n";
    assert_eq!(found(&format!("{named}classes = 1"), std::slice::from_ref(&columns))[0].class, 0);
    let error = sought(named, &[columns]).unwrap_err().to_string();
    assert!(
        error.starts_with("boxes of form yolov8: a score of 30, and probabilities are at most 1"),
        "{error}"
    );
}

#[test]
fn rows_that_the_model_has_suppressed_stay_as_they_are() {
    let rows =
        [[4.0, 2.0, 20.0, 10.0, 0.5, 7.0], [4.0, 2.0, 20.0, 10.0, 0.9, 7.0], [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]];
    let seen = found("form = \"yolov10\"", &[Tensor::floats([1, 3, 6], rows.concat())]);
    assert_eq!(seen.iter().map(|one| (one.class, one.score)).collect::<Vec<_>>(), [(7, 0.9), (7, 0.5)]);
    assert_near(edges(&seen[0]), [4.0, 2.0, 20.0, 10.0]);
    let wrong = Tensor::floats([1, 1, 6], vec![4.0, 2.0, 20.0, 10.0, 0.5, 0.25]);
    let error = sought("form = \"yolov10\"", &[wrong]).unwrap_err().to_string();
    assert_eq!(error, "boxes of form yolov10: class 0.25, which is no whole number from 0 on");
}

/// A box that shows nothing of the picture takes no place of another.
#[test]
fn boxes_beside_the_picture_count_for_nothing() {
    let rows = [
        [200.0, 200.0, 10.0, 10.0, 0.95, 1.0],
        [30.0, 20.0, 0.0, 10.0, 0.92, 1.0],
        [30.0, 20.0, 10.0, 10.0, 0.9, 1.0],
    ];
    let seen = found("form = \"yolov5\"\nclasses = 1\nmost = 1", &[Tensor::floats([1, 3, 6], rows.concat())]);
    assert_eq!(seen.iter().map(|one| one.score).collect::<Vec<_>>(), [0.9]);
}

#[test]
fn numbers_of_another_form_are_refused() {
    let boxes = Tensor::floats([1, 2, 4], vec![10.0, 10.0, 30.0, 30.0, 0.0, 0.0, 1.0, 1.0]);
    let scores = |numbers: [f32; 2]| Tensor::floats([1, 2, 1], numbers.to_vec());
    let of = |text: &str, numbers: [f32; 2]| {
        sought(&format!("form = \"corners\"\n{text}"), &[boxes.clone(), scores(numbers)])
    };
    let error = of("", [0.9, 0.1]).unwrap_err().to_string();
    assert!(error.contains("corners up to 30") && error.contains("units = \"pixels\""), "{error}");
    // One class is no background.
    assert_eq!(of("units = \"pixels\"", [0.9, 0.1]).unwrap().len(), 1);
    for score in [3.0, f32::INFINITY] {
        assert!(
            matches!(of("units = \"pixels\"", [score, 0.1]), Err(DetectorError::Score { .. })),
            "{score}"
        );
    }
    let error = of("background = 1", [0.9, 0.1]).unwrap_err().to_string();
    assert_eq!(
        error,
        "boxes: background = 1, and the classes are 0 to 0; `background = false` if all are things"
    );
}

#[test]
fn corners_are_shares_or_pixels_and_the_background_is_left_out() {
    let scores = Tensor::floats([1, 2, 3], vec![0.9, 0.05, 0.05, 0.1, 0.3, 0.6]);
    let shares = Tensor::floats([1, 2, 4], vec![0.0, 0.0, 1.0, 1.0, 0.25, 0.5, 0.5, 2.0]);
    let seen = found("form = \"corners\"", &[scores.clone(), shares.clone()]);
    assert_eq!(seen.iter().map(|one| (one.class, one.score)).collect::<Vec<_>>(), [(2, 0.6)]);
    // Clipped to the input.
    assert_near(edges(&seen[0]), [16.0, 16.0, 32.0, 32.0]);
    let all = found("form = \"corners\"\nbackground = false\nunits = \"pixels\"", &[shares, scores]);
    assert_eq!(all.len(), 2);
    assert_near(edges(&all[0]), [0.0, 0.0, 1.0, 1.0]);
}

/// One cell of 2 x 4 and one anchor of two tell of a box; the middle of cell (3, 1) is at (56, 24).
#[test]
fn anchors_are_in_cells_or_in_pixels() {
    let (planes, cells, cell) = (5 + 2, 8, 7);
    let mut numbers = vec![-20.0; 2 * planes * cells];
    let mut set = |plane: usize, number: f32| numbers[(planes + plane) * cells + cell] = number;
    let softmaxed = [0.75_f32.ln(), 0.25_f32.ln()];
    for (plane, number) in
        [0.0, 0.0, 2_f32.ln(), 0.5_f32.ln(), logit(0.8), softmaxed[0], softmaxed[1]].into_iter().enumerate()
    {
        set(plane, number);
    }
    let tensor = Tensor::floats([1, 2 * planes, 2, 4], numbers.clone());
    let of_cells = found("form = \"yolov2\"\nanchors = [[9, 9], [0.5, 0.25]]", &[tensor]);
    assert_eq!((of_cells.len(), of_cells[0].class), (1, 0));
    assert!((of_cells[0].score - 0.6).abs() < 1e-6);
    assert_near(edges(&of_cells[0]), [48.0, 23.0, 64.0, 25.0]);

    numbers[(planes + 5) * cells + cell] = logit(0.5);
    numbers[(planes + 6) * cells + cell] = logit(0.75);
    let tensors =
        [Tensor::floats([1, 14, 2, 4], numbers.clone()), Tensor::floats([1, 14, 2, 4], vec![-20.0; 112])];
    let text = "form = \"yolov3\"\nanchors = [[[9, 9], [8, 4]], [[9, 9], [9, 9]]]";
    let of_pixels = found(text, &tensors);
    assert_eq!((of_pixels.len(), of_pixels[0].class), (1, 1));
    assert!((of_pixels[0].score - 0.6).abs() < 1e-6);
    assert_near(edges(&of_pixels[0]), [48.0, 23.0, 64.0, 25.0]);
}

#[test]
fn cells_of_strides_follow_each_other() {
    // 4 x 2 cells of 16 and 2 x 1 of 32: the last has a box around (32 + 16, 16).
    let mut numbers = vec![0.0; 10 * 6];
    numbers[9 * 6..].copy_from_slice(&[0.5, 0.5, 0.5_f32.ln(), 0.25_f32.ln(), 0.8, 0.5]);
    let seen = found("form = \"yolox\"\nstrides = [16, 32]", &[Tensor::floats([1, 10, 6], numbers)]);
    assert_eq!(seen.len(), 1);
    assert_near(edges(&seen[0]), [40.0, 12.0, 56.0, 20.0]);
}

#[test]
fn distances_are_means_of_distributions() {
    let mut scores = vec![vec![0.0; 8 * 2], vec![0.0; 2 * 2]];
    // Cell (2, 1) of stride 16, both classes; its middle is (40, 24).
    scores[0][6 * 2] = 0.7;
    scores[0][6 * 2 + 1] = 0.6;
    let mut distances = vec![vec![0.0; 8 * 12], vec![0.0; 2 * 12]];
    let sure = |step: usize| (0..3).map(move |at| if at == step { 60.0 } else { 0.0 });
    // Left 1, top even between 0, 1 and 2, right 0, bottom half way to 1.
    let cell = &mut distances[0][6 * 12..7 * 12];
    cell[..3].copy_from_slice(&sure(1).collect::<Vec<_>>());
    cell[6..9].copy_from_slice(&sure(0).collect::<Vec<_>>());
    cell[9..].copy_from_slice(&[5.0, 5.0, -90.0]);
    let sizes = [8, 2];
    let tensors: Vec<Tensor> = [(&scores, 2), (&distances, 12)]
        .into_iter()
        .flat_map(|(all, columns)| {
            all.iter()
                .zip(sizes)
                .map(move |(numbers, cells)| Tensor::floats([1, cells, columns], numbers.clone()))
        })
        .collect();
    let seen = found("form = \"picodet\"\nstrides = [16, 32]", &tensors);
    assert_eq!(seen.iter().map(|one| (one.class, one.score)).collect::<Vec<_>>(), [(0, 0.7), (1, 0.6)]);
    assert_near(edges(&seen[0]), [24.0, 8.0, 40.0, 32.0]);
}

/// Islands by flooding from each pixel, in the order of their first pixels.
fn flooded(mask: &[bool], width: usize) -> Vec<[usize; 4]> {
    let mut left = mask.to_vec();
    let mut islands = Vec::new();
    while let Some(first) = left.iter().position(|is_set| *is_set) {
        let (mut open, mut pixels) = (vec![first], Vec::new());
        left[first] = false;
        while let Some(pixel) = open.pop() {
            pixels.push(pixel);
            let near = |one: usize, other: usize| one.abs_diff(other) <= 1;
            for (other, is_set) in left.iter_mut().enumerate() {
                let is_near = near(pixel % width, other % width) && near(pixel / width, other / width);
                if is_near && std::mem::take(is_set) {
                    open.push(other);
                }
            }
        }
        let of = |axis: fn(usize, usize) -> usize| {
            pixels.iter().map(|pixel| axis(*pixel, width)).collect::<Vec<_>>()
        };
        let (columns, lines) = (of(|pixel, width| pixel % width), of(|pixel, width| pixel / width));
        let ends = |all: &[usize]| (*all.iter().min().unwrap(), *all.iter().max().unwrap() + 1);
        let ((left, right), (top, bottom)) = (ends(&columns), ends(&lines));
        islands.push([left, top, right, bottom]);
    }
    islands
}

proptest! {
    #[test]
    fn islands_are_those_of_a_flood(width in 1_usize..12, bits in prop::collection::vec(any::<bool>(), 1..120)) {
        let height = bits.len().div_ceil(width);
        let mut mask = bits;
        mask.resize(width * height, false);
        let numbers: Vec<f32> = mask.iter().map(|is_set| if *is_set { 0.9 } else { 0.1 }).collect();
        let text = "form = \"mask\"\ngrow = 0\nthreshold = 0\nmost = 10000";
        let value = output("out", &[1, 1, height, width]);
        let detector = Detector::parse(text).unwrap().of_model(&[&value], [width, height]).unwrap();
        let mut seen: Vec<[f64; 4]> =
            detector.boxes(&[Tensor::floats([1, 1, height, width], numbers)], None).unwrap().iter().map(edges).collect();
        let wide = |[left, top, right, bottom]: &[usize; 4]| right - left >= 3 && bottom - top >= 3;
        let mut expected: Vec<[f64; 4]> =
            flooded(&mask, width).iter().filter(|island| wide(island)).map(|island| island.map(|at| at as f64)).collect();
        let key = |one: &[f64; 4], other: &[f64; 4]| one.partial_cmp(other).unwrap();
        seen.sort_by(key);
        expected.sort_by(key);
        prop_assert_eq!(seen, expected);
    }

    /// Each kept box is the best of what is left once all that the ones before it cover is gone.
    #[test]
    fn the_best_of_boxes_that_cover_each_other_stays(
        given in prop::collection::vec((0_usize..2, 0_u32..20, 0_u32..20, 1_u32..12, 1_u32..12, 0_u32..9), 0..40),
    ) {
        let mut candidates = Candidates::new(0.2, &Some);
        let mut left = Vec::new();
        for (class, x, y, width, height, score) in given {
            let [x, y, width, height] = [x, y, width, height].map(f64::from);
            let rectangle = Rectangle { left: x, top: y, right: x + width, bottom: y + height };
            let detection = Detection { class, score: score as f32 / 8.0, rectangle };
            candidates.offer(class, detection.score, || rectangle);
            left.extend((detection.score >= 0.2).then_some(detection));
        }
        let mut expected: Vec<Detection> = Vec::new();
        while !left.is_empty() {
            let best = left.iter().map(|one| one.score).fold(0.0, f32::max);
            let best = left.remove(left.iter().position(|one| one.score == best).unwrap());
            left.retain(|one| one.class != best.class || one.rectangle.overlap(&best.rectangle) <= 0.3);
            expected.push(best);
        }
        prop_assert_eq!(candidates.kept(0.3, 1000), expected);
    }
}

#[test]
fn many_boxes_are_bounded_and_the_best_stay() {
    let mut candidates = Candidates::new(0.0, &Some);
    for at in 0..100_000_u32 {
        let left = f64::from(at);
        let rectangle = Rectangle { left, top: 0.0, right: left + 1.0, bottom: 1.0 };
        candidates.offer(0, (at * 7919 % 100_003) as f32, || rectangle);
    }
    candidates.offer(0, f32::NAN, || Rectangle::around([0.0; 2], [1.0; 2]));
    candidates.offer(0, 1e9, || Rectangle::around([0.0; 2], [f64::INFINITY; 2]));
    let kept = candidates.kept(0.5, 3);
    assert_eq!(kept.iter().map(|one| one.score).collect::<Vec<_>>(), [100_002.0, 100_001.0, 100_000.0]);
}

#[test]
fn boxes_come_back_to_the_picture() {
    // 40 x 80 pixels, with a mark from (10, 40) to (20, 60).
    let inside = |x: usize, y: usize| (10..20).contains(&x) && (40..60).contains(&y);
    let pixels = (0..80).flat_map(|y| (0..40).map(move |x| if inside(x, y) { 255 } else { 0 }));
    let file = [b"P5 40 80 255 ".to_vec(), pixels.collect()].concat();
    let picture = Picture::decode(&file).unwrap().unwrap();
    for resize in [ResizeMode::Stretch, ResizeMode::Letterbox, ResizeMode::ShorterSide] {
        let preprocess = Preprocess { resize, ..Preset::Unit.into() };
        let shape = [1, 1, 160, 160];
        let tensor = preprocess.tensor_of(&picture, &shape).unwrap();
        let placement = preprocess.placement([40, 80], &shape).unwrap();
        let detector = Detector::parse("form = \"mask\"\ncore = 0.5\ngrow = 0").unwrap();
        let detector = detector.of_model(&[&output("mask", &shape)], [160, 160]).unwrap();
        let seen = detector.boxes(&[tensor], Some(&placement)).unwrap();
        assert_eq!(seen.len(), 1, "{resize:?}");
        assert_near(edges(&seen[0]), [10.0, 40.0, 20.0, 60.0]);
    }
}

/// Places of the outputs that are read of these shapes; or the error.
fn read(text: &str, shapes: &[(&str, &[usize])]) -> Result<Vec<usize>, String> {
    let values: Vec<Value> = shapes.iter().map(|(name, shape)| output(name, shape)).collect();
    let all: Vec<&Value> = values.iter().collect();
    let detector = Detector::parse(text).unwrap().of_model(&all, [64, 32]);
    detector.map(|detector| detector.read).map_err(|error| error.to_string())
}

#[test]
fn outputs_are_found_by_their_shapes_or_named() {
    let shapes: [(&str, &[usize]); 4] =
        [("a", &[1, 10]), ("b", &[1, 5, 3]), ("c", &[1, 5, 4]), ("d", &[1, 99, 7])];
    assert_eq!(read("form = \"corners\"", &shapes), Ok(vec![2, 1]));
    assert_eq!(read("form = \"corners\"\noutputs = [\"c\", \"b\"]", &shapes), Ok(vec![2, 1]));
    assert_eq!(read("form = \"yolov5\"", &shapes), Ok(vec![3]));
    assert_eq!(read("form = \"yolov5\"\noutputs = [\"a\"]", &shapes), Ok(vec![0]));
    // Rows of one form are columns of the other.
    assert!(read("form = \"yolov8\"", &shapes[3..]).is_err());
    // Others may lie between those of a stride.
    let cells: [(&str, &[usize]); 5] =
        [("s", &[1, 8, 3]), ("x", &[1, 5]), ("t", &[1, 2, 3]), ("p", &[1, 8, 12]), ("q", &[1, 2, 12])];
    assert_eq!(read("form = \"picodet\"\nstrides = [16, 32]", &cells), Ok(vec![0, 2, 3, 4]));
}

#[test]
fn outputs_of_other_shapes_are_refused_with_those_of_the_form() {
    let shapes: [(&str, &[usize]); 3] = [("a", &[1, 10]), ("b", &[1, 5, 4]), ("c", &[1, 5, 3])];
    assert_eq!(
        read("form = \"picodet\"", &shapes).unwrap_err(),
        "boxes of form picodet need outputs of 1xCELLSxCLASSES, then of 1xCELLSx(4 x DISTANCES), with 32, 8, 2, 1 cells each; `outputs` names them; \
         the outputs are `a` of 1x10, `b` of 1x5x4, `c` of 1x5x3"
    );
    let named = |names: &str| read(&format!("form = \"yolov5\"\noutputs = {names}"), &shapes).unwrap_err();
    assert_eq!(named("[\"d\"]"), "boxes: the model has no output `d`; it has a, b, c");
    assert_eq!(named("[\"a\", \"a\"]"), "boxes: `outputs` names `a` twice");
    assert!(named("[\"a\", \"b\"]").contains("need one output"));
    for form in ["yolov8", "yolov10", "yolox", "mask", "yolov2\"\nanchors = [[1, 1]]\n#"] {
        assert!(read(&format!("form = \"{form}\""), &shapes).unwrap_err().contains(" need "), "{form}");
    }
    // Both may be boxes, or scores of four classes.
    assert!(read("form = \"corners\"", &[("a", &[1, 5, 4]), ("b", &[1, 5, 4])]).is_err());
    // Cells that are no squares, and other numbers of classes.
    assert!(read("form = \"yolov2\"\nanchors = [[1, 1], [2, 2]]", &[("a", &[1, 14, 8, 4])]).is_err());
    let of_strides: [(&str, &[usize]); 2] = [("a", &[1, 7, 2, 4]), ("b", &[1, 8, 1, 2])];
    assert!(read("form = \"yolov3\"\nanchors = [[[1, 1]], [[2, 2]]]", &of_strides).is_err());
}

#[test]
fn files_are_refused_by_line_and_key() {
    let refused = |text: &str| Detector::parse(text).unwrap_err().to_string();
    assert_eq!(refused("form = \"yolov5\"\ngrow = 2"), "line 2: grow: form yolov5 has none");
    assert_eq!(refused("form = \"mask\"\noverlap = 0.5"), "line 2: overlap: form mask has none");
    assert_eq!(
        refused("form = \"yolov5\"\n\nthreshold = 1.5"),
        "line 3: threshold: expected a number from 0 to 1"
    );
    assert!(refused("form = \"yolov4\"").contains("yolov3"), "{}", refused("form = \"yolov4\""));
    assert!(refused("form = \"yolov3\"").starts_with("anchors are missing"));
    assert!(
        refused("form = \"yolov3\"\nanchors = [[1, 2]]").starts_with("line 2: anchors: expected [[[width")
    );
    assert!(
        refused("form = \"yolov2\"\nanchors = [[0, 2]]").starts_with("line 2: anchors: expected [[width")
    );
    assert!(refused("form = \"yolox\"\nstrides = []").starts_with("line 2: strides: expected at most 64"));
    assert!(
        refused("form = \"corners\"\nbackground = true").starts_with("line 2: background: expected a class")
    );
    assert!(refused("form = \"corners\"\nmost = 0").starts_with("line 2: most: expected a number of boxes"));
    let named = Detector::load(Path::new("yolov8")).unwrap();
    assert_eq!(
        (named.form, named.threshold, named.overlap),
        (DetectorForm::Yolov8 { classes: None }, 0.25, 0.7)
    );
    let error = Detector::load(Path::new("yolo8")).unwrap_err().to_string();
    assert!(error.ends_with("nearest: yolov8"), "{error}");
    let error = Detector::load(Path::new("yolov3")).unwrap_err().to_string();
    assert!(error.starts_with("boxes of form yolov3: anchors are missing"), "{error}");
}
