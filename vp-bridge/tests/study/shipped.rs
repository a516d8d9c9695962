//! The studies of the repository, run small.

use crate::studied::{Studied, commands_run_again, section};
use std::fs;
use std::path::Path;

/// The README's numbers are those of the study whose picture it shows.
#[test]
fn the_readme_tells_what_the_study_finds() {
    let readme = include_str!("../../../README.md");
    let (_, rest) = readme.split_once("At 1 GHz and without latency").unwrap();
    let (said, _) = rest.split_once("rings").unwrap();
    let said: Vec<u32> =
        said.split(|it: char| !it.is_ascii_digit()).filter_map(|it| it.parse().ok()).collect();
    let points = [(25, 256), (400, 16), (400, 64), (400, 256)];
    let study = Studied::new(&format!(
        "name = 'readme'\n[sweep]\nnetwork = 'resnet50'\nplatform = 'nv_large'\n\
         'dbb0.read_latency, dbb0.read_outstanding, dbb0.write_outstanding' = [{}]",
        points.map(|(latency, limit)| format!("[{latency}, {limit}, {limit}]")).join(", ")
    ));
    study.shown(&["study.toml"]);
    let frames: Vec<f64> = study.columns("frames_per_second").iter().map(|it| it.parse().unwrap()).collect();
    let whole: Vec<u32> = frames.iter().map(|frames| frames.round() as u32).collect();
    // As it is written: the best; the latency, then each limit behind what it leaves.
    assert_eq!(said, [whole[0], 400, whole[1], 16, whole[2], 64, whole[3], 256], "{frames:?}");
    // And that study has these points.
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../studies/latency.toml");
    let shown = vp_study::Study::load(&file).unwrap();
    let has = |(latency, limit): (i64, i64)| {
        let of = |point: &vp_study::Point, name: &str| point.get(name).and_then(toml::Value::as_integer);
        shown.points.iter().any(|point| {
            (of(point, "dbb0.read_latency"), of(point, "dbb0.read_outstanding"))
                == (Some(latency), Some(limit))
        })
    };
    // 216, and those with the ideal latency of a cycle.
    assert!(shown.points.len() == 216 + 18 && points.into_iter().all(has));
    assert!(shown.points[216..].iter().all(|point| point.get("dbb0.read_latency") == Some(&1.into())));
}

#[test]
fn more_sram_gives_more_frames_and_the_page_draws_them_over_its_bytes() {
    let study = Studied::shipped(
        "sram.toml",
        &[
            (r#"["resnet50", "googlenet", "mobilenet_v1", "alexnet"]"#, r#"["lenet"]"#),
            ("from = 65536, to = 16777216, step = 2", "from = 4096, to = 1048576, step = 16"),
        ],
    );
    let shown = study.shown(&["study.toml"]);
    // More is better here: a knee is the least that has enough, and no place between two sizes that were run.
    assert!(shown.contains("with placement all: lenet on nv_large comes to"), "{shown}");
    // The terminal's table has its headers in several lines.
    assert!(shown.contains("its own") && shown.contains("best") && shown.contains("from 1 MiB"), "{shown}");
    let placements = study.columns("placement");
    assert_eq!(placements.len(), 9);
    let [frames, used, size] =
        ["frames_per_second", "sram_bytes", "sram0.size"].map(|it| study.numbers("results.csv", it));
    let bytes = |name: &str| -> Vec<f64> {
        study.columns(name).iter().map(|cell| cell.parse().unwrap_or(0.0)).collect()
    };
    let moved = bytes("sram0.read.bytes");
    for at in 0..9 {
        assert!(used[at] <= size[at] && (used[at] > 0.0) == (moved[at] > 0.0), "{used:?} {moved:?}");
        assert_eq!(used[at] == 0.0, placements[at] == "dram");
    }
    // A placement a curve, with three sizes each: without one they are alike, with all in SRAM it is fastest.
    assert!(frames[0] == frames[1] && frames[1] == frames[2]);
    assert!(frames[8] > frames[5] && frames[5] > frames[2], "{frames:?}");
    // Layers add up to the whole.
    let mut layers = csv::Reader::from_path(study.file("layers.csv")).unwrap();
    let header = layers.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|it| it == name).unwrap();
    let (point, read) = (column("point"), column("sram0.read_bytes"));
    let of_last = layers.records().map(Result::unwrap).filter(|row| &row[point] == "9");
    let sum: f64 = of_last.map(|row| row[read].parse::<f64>().unwrap()).sum();
    assert_eq!(sum, moved[8]);
    let page = study.read("report.html");
    let facts = section(&page, "facts");
    assert!(facts.contains("placement") && facts.contains("dram, activations or all"), "{facts}");
    // How long reads from SRAM took is told as of DRAM.
    let latency = section(&page, "latency");
    assert!(
        latency.contains("lenet · nv_large · DBBIF") && latency.contains("lenet · nv_large · SRAMIF"),
        "{latency:.3000}"
    );
    let throughput = section(&page, "throughput");
    assert!(
        throughput.contains("64 KiB")
            && throughput.contains("SRAM (log scale)")
            && throughput.contains("activations"),
        "{throughput:.3000}"
    );
    commands_run_again(&study);
}

#[test]
fn an_srams_speed_is_swept_as_any_memorys() {
    let study = Studied::shipped(
        "sram-speed.toml",
        &[
            (r#"["resnet50", "googlenet", "mobilenet_v1"]"#, r#"["lenet"]"#),
            ("8_000_000_000, 12_000_000_000, 16_000_000_000, ", ""),
            ("40_000_000_000, ", ""),
            ("[10, 50, 250]", "[10, 250]"),
        ],
    );
    study.shown(&["study.toml"]);
    let frames = study.numbers("results.csv", "frames_per_second");
    // The latency changes fastest.
    assert!(frames.chunks(2).all(|pair| pair[0] > pair[1]), "{frames:?}");
    assert!(frames[0] < frames[2] && frames[2] <= frames[4], "{frames:?}");
}

#[test]
fn designs_are_compared_by_their_area() {
    let changes = [
        ("\"mobilenet_v1\", \"resnet50\"", "\"lenet\""),
        ("[1, 2, 4, 8]", "[1, 8]"),
        ("    [32, 32, 16, 16],\n    [32, 32, 32, 32],\n", ""),
    ];
    let study = Studied::shipped("design_space.toml", &changes);
    let shown = study.shown(&["study.toml"]);
    assert!(
        shown.contains("16 points, 0 failed") && shown.contains("the Pareto front over area.macs"),
        "{shown}"
    );
    let (macs, cbuf) =
        (study.numbers("results.csv", "area.macs"), study.numbers("results.csv", "area.cbuf_bytes"));
    assert_eq!((macs[0], macs[15]), (64.0, 2048.0));
    // Sixteen banks and 32 of them, 512 rows of eight bytes each.
    assert_eq!((cbuf[0], cbuf[2]), (65_536.0, 131_072.0));
    let frames = study.numbers("results.csv", "frames_per_second");
    assert!(frames[15] > frames[0], "{frames:?}");
    let page = fs::read_to_string(study.file("report.html")).unwrap();
    assert!(page.contains("The front: lenet"));
    let throughput = section(&page, "throughput");
    // The chart can be asked, and knows its designs.
    let live = throughput.split_once("<script class=\"chart\"").unwrap().1;
    assert!(
        live.contains("Pareto front")
            && live.contains("2\u{202f}048 MACs")
            && live.contains("nvdla.mac_atomic_c 64"),
        "{live:.2000}"
    );
    assert!(
        shown.contains("lenet: ") && shown.contains("MACs are the least for 90 % of the most frames/s"),
        "{shown}"
    );
    // Of designs with the same area one bar: no share is beyond the whole.
    let bounds = section(&page, "bounds");
    let bars = bounds.split_once("<tbody>").unwrap().1.split_once("</tbody>").unwrap().0;
    assert!(bars.matches("<tr>").count() <= 4, "{bars}");
}

/// A network that takes little time, with something for each study of the repository.
const SQUARE: &str = "name = 'square'\nseed = 4\ninput = { width = 32, height = 32, channels = 64 }\n\
    [[layer]]\nname = 'conv1'\nkind = 'convolution'\nkernels = 64\nkernel = [3, 3]\npadding = [1, 1]\nrelu = true\n\
    [[layer]]\nname = 'conv2'\nkind = 'convolution'\nkernels = 64\nkernel = [3, 3]\npadding = [1, 1]\nrelu = true\n\
    [[layer]]\nname = 'pool'\nkind = 'pooling'\nmethod = 'max'\nkernel = [8, 8]\n\
    [[layer]]\nname = 'fc'\nkind = 'fully-connected'\nkernels = 256\n";

/// A study of the repository with that network in place of its own.
fn on_square(file: &str) -> Studied {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../studies").join(file);
    let study = fs::read_to_string(path).unwrap();
    let network = |line: &str| if line.starts_with("network = ") { "network = 'square.toml'\n" } else { "" };
    let lines = study.lines().map(|line| match network(line) {
        "" => format!("{line}\n"),
        square => square.to_owned(),
    });
    let studied = Studied::new(&lines.collect::<String>());
    fs::write(studied.folder.path().join("square.toml"), SQUARE).unwrap();
    let shown = studied.shown(&["study.toml"]);
    assert!(shown.contains(" 0 failed"), "{shown}");
    assert!(studied.read("report.html").contains("<svg"));
    studied
}

#[test]
fn the_study_of_zeros_finds_that_a_slow_memory_is_helped_by_them() {
    let study = on_square("zeros.toml");
    let (bandwidths, shares) =
        (study.columns("dbb0.bandwidth"), study.numbers("results.csv", "network.zeros"));
    let frames = study.numbers("results.csv", "frames_per_second");
    let slowest: Vec<(f64, f64)> = (0..frames.len())
        .filter(|&at| bandwidths[at] == "4000000000")
        .map(|at| (shares[at], frames[at]))
        .collect();
    assert!(
        slowest.len() == 6 && slowest.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1),
        "{slowest:?}"
    );
    assert!(slowest[5].1 > 1.2 * slowest[0].1, "{slowest:?}");
    let page = study.read("report.html");
    let facts = section(&page, "facts");
    assert!(facts.contains("0 to 95 %") && !facts.contains("Winograd"), "{facts}");
}

#[test]
fn the_study_of_precisions_finds_that_16_bits_take_longer_than_8() {
    let study = on_square("precision.toml");
    let (precisions, frames) =
        (study.columns("network.precision"), study.numbers("results.csv", "frames_per_second"));
    assert_eq!(precisions, ["int8", "int16", "fp16"]);
    assert!(frames[0] > 1.3 * frames[1] && frames[0] > 1.3 * frames[2], "{frames:?}");
    // Formats are held against each other, and no network against another.
    let page = study.read("report.html");
    let answers = page.split_once("class=\"answers\"").unwrap().1.split_once("</ul>").unwrap().0;
    assert!(answers.contains("nv_full, precision beside int8: square.toml int16 "), "{answers}");
    assert!(section(&page, "throughput").contains("Beside each other"));
}

#[test]
fn the_study_of_winograd_finds_layers_that_are_faster() {
    let study = on_square("winograd.toml");
    let (choices, frames) =
        (study.columns("network.winograd"), study.numbers("results.csv", "frames_per_second"));
    assert_eq!(choices, ["never", "auto", "never", "auto", "never", "auto"]);
    assert!(frames.chunks(2).all(|pair| pair[1] >= pair[0]), "{frames:?}");
    assert!(frames[3] > 1.05 * frames[2] && frames[5] > 1.05 * frames[4], "{frames:?}");
    let page = study.read("report.html");
    assert!(page.contains("square.toml on nv_full, Winograd auto beside never: int8 "));
    let facts = section(&page, "facts");
    for part in [
        "int8, int16 or fp16",
        "never or where it is estimated to be faster",
        "measured against the direct method",
    ] {
        assert!(facts.contains(part), "no `{part}` in {facts}");
    }
    // By how much, as the page of networks has it from measurements.
    let readme =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../networks/README.md")).unwrap();
    for precision in ["int8", "int16", "fp16"] {
        let row = readme
            .lines()
            .find(|line| line.starts_with(&format!("| {precision} | ")) && line.contains(" % |"));
        let figure = row.unwrap().split('|').nth(2).unwrap().trim();
        assert!(facts.contains(&format!("{precision} {figure}")), "no `{precision} {figure}` in {facts}");
    }
}

#[test]
fn the_study_of_latency_finds_what_more_outstanding_reads_hide() {
    let study =
        Studied::shipped("latency.toml", &[(r#"["resnet50", "googlenet", "mobilenet_v1"]"#, r#"["lenet"]"#)]);
    let shown = study.shown(&["study.toml"]);
    assert!(shown.contains(" 0 failed") && shown.contains("90 % of the"), "{shown}");
}

#[test]
fn the_study_that_searches_finds_fewer_reads_than_the_most() {
    let study = Studied::shipped("search.toml", &[(r#"["resnet50", "mobilenet_v1"]"#, r#"["lenet"]"#)]);
    let shown = study.shown(&["study.toml"]);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, found) = words.split_once("for 95 % of the frames/s at 256: ").unwrap();
    let found: u32 = found.split(' ').next().unwrap().parse().unwrap();
    assert!((2..256).contains(&found), "{shown}");
    assert!(words.contains("points run; assumed: frames/s rise with dbb0.read_outstanding"), "{shown}");
}
