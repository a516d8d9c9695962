//! `vp study`, as it is called, and what it writes.

use crate::common::process::Ended as _;
use crate::studied::{SMALL, Studied, commands_run_again, section, text};
use std::fs;
use std::path::Path;
use std::process::Command;
use vp_host::Bound;

#[test]
fn every_combination_is_a_row_with_all_parameters_and_a_picture() {
    let study = Studied::new(SMALL);
    let shown = study.shown(&["study.toml"]);
    assert!(shown.contains("12 points, 0 failed"), "{shown}");
    assert_eq!(study.columns("dbb0.read_latency").len(), 12);
    assert!(study.columns("nvdla.cbuf_banks").iter().all(|banks| !banks.is_empty()));
    let frames: Vec<f64> =
        study.columns("frames_per_second").iter().map(|cell| cell.parse().unwrap()).collect();
    // Of a pair the second may have more reads under way; the last pair's memory is the slowest.
    assert!(frames.chunks(2).all(|pair| pair[0] <= pair[1]) && frames[0] > frames[4]);
    let layers = fs::read_to_string(study.file("layers.csv")).unwrap();
    assert_eq!(layers.lines().count(), 1 + 12 * 6);
    for parquet in ["results.parquet", "layers.parquet"] {
        assert!(fs::read(study.file(parquet)).unwrap().starts_with(b"PAR1"));
    }
    let report = study.read("report.html");
    for section in ["throughput", "bounds", "roofline", "latency", "time", "points"] {
        assert!(report.contains(&format!("<section id=\"{section}\">")), "no {section}");
    }
    for elsewhere in ["http://", "https://", "src=", "@import", "url(", "import("] {
        let fetched = report.replace("http://www.w3.org/2000/svg", "");
        assert!(!fetched.contains(elsewhere), "{elsewhere}");
    }
}

#[test]
fn layers_times_are_the_sum_of_what_bounds_them() {
    let study = Studied::new(SMALL);
    study.shown(&["study.toml"]);
    let parts = Bound::ALL.map(|bound| study.columns(&format!("bound.{}_cycles", bound.key())));
    for (row, cycles) in study.columns("cycles").iter().enumerate() {
        let sum: u64 = parts.iter().map(|part| part[row].parse::<u64>().unwrap()).sum();
        assert_eq!(sum, cycles.parse::<u64>().unwrap());
    }
}

#[test]
fn a_point_that_fails_is_told_with_its_reason_and_the_rest_goes_on() {
    let study = Studied::new(&SMALL.replace("[2, 64]", "[2, 300]"));
    let output = study.vp(&["study.toml", "--keep-going"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("and 5 others failed: [dbb0] read_outstanding = 300"), "{shown}");
    let status = study.columns("status");
    assert_eq!(status.iter().filter(|status| *status == "failed").count(), 6);
    assert!(study.columns("failure")[1].contains("read_outstanding = 300"));
    assert!(study.read("report.html").contains("Points that failed"));
}

#[test]
fn knees_are_told_against_the_ideal_that_the_study_names_and_against_each_curves_own_first() {
    let text =
        SMALL.replace("[10, 100, 1000]", "[50, 400]") + "[report]\nideal = { 'dbb0.read_latency' = 1 }\n";
    let study = Studied::new(&text);
    let shown = study.shown(&["study.toml"]);
    assert!(shown.contains("12 points, 0 failed"), "{shown}");
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["frames/s of the ideal, 1 cycle with 64 outstanding", "up to ", "nowhere"] {
        assert!(words.contains(part), "no `{part}` in {shown}");
    }
    // All fits a terminal of 80 columns: headers are in several lines.
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let table = shown.split_once("\n\n").unwrap().1.split_once("\nover dbb0.read_latency").unwrap().0;
    for part in ["90 % of the", "90 % of", "its own", "first"] {
        assert!(table.contains(part), "no `{part}` in {table}");
    }
    // It is run, and stands on no curve.
    assert_eq!(study.columns("dbb0.read_latency")[8..], ["1", "1", "1", "1"]);
    let report = study.read("report.html");
    let numbers =
        section(&report, "throughput").split_once("<tbody>").unwrap().1.split_once("</tbody>").unwrap().0;
    assert_eq!(numbers.matches("<tr>").count(), 2, "{numbers}");
}

#[test]
fn latencies_and_rates_have_units_in_a_study() {
    let study = Studied::new(
        "name = 'units'\n[fixed]\nnetwork = 'digits'\nplatform = 'nv_large'\nperiod = '2 ns'\n[sweep]\n\
         'dbb0.read_latency' = { from = '50 ns', to = '200 ns', points = 3, scale = 'log' }\n'dbb0.bandwidth' = ['1 GB/s', 2_000_000_000]\n",
    );
    study.shown(&["study.toml"]);
    assert_eq!(study.columns("dbb0.read_latency"), ["25", "25", "50", "50", "100", "100"]);
    assert_eq!(study.columns("dbb0.bandwidth")[..2], ["1000000000", "2000000000"]);
    commands_run_again(&study);
}

#[test]
fn what_moved_between_two_studies_is_told_by_layer_with_its_cause() {
    let (fast, slow) = (
        Studied::new(SMALL),
        Studied::new(&SMALL.replace("[sweep]", "[fixed]\n'dbb0.bandwidth' = '100 MB/s'\n[sweep]")),
    );
    fast.shown(&["study.toml"]);
    slow.shown(&["study.toml"]);
    let folder = |study: &Studied| study.folder.path().join("study.results").display().to_string();
    let (a, b) = (folder(&fast), folder(&slow));
    let again = Studied::new(SMALL);
    again.shown(&["study.toml"]);
    let same = fast.shown(&["diff", &a, &folder(&again)]);
    assert!(same.contains("12 points in both, 0 moved by more than 0 %"), "{same}");
    let output = fast.vp(&["diff", &a, &b]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    for part in ["12 points in both, 12 moved", "conv1", "read bandwidth +"] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    // Faster is no reason to fail, if that is said; and what is within the threshold has not moved.
    assert!(fast.vp(&["diff", &b, &a, "--allow-faster"]).status.success());
    assert!(fast.vp(&["diff", &a, &b, "--threshold", "100000%"]).status.success());
    let output = fast.vp(&["diff", &a, &b, "--json", "--csv", "moved.csv"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((json["points"].as_u64(), json["moved"].as_array().unwrap().len()), (Some(12), 12));
    let first = &json["moved"][0];
    assert!(
        first["change"].as_f64().unwrap() > 0.0
            && !first["layers"][0]["causes"].as_array().unwrap().is_empty()
    );
    let csv = fs::read_to_string(fast.folder.path().join("moved.csv")).unwrap();
    assert!(csv.starts_with("point,name,cycles_per_frame_a,cycles_per_frame_b,causes\n"), "{csv}");
    assert!(fast.told(&["diff", &a, "nowhere"]).contains("nowhere"));
    // In one folder two builds are compared.
    assert!(fast.told(&["diff", &a, &a]).contains("one build of vp has run points there"));
}

#[test]
fn two_studies_that_were_run_with_other_values_say_so_on_top() {
    let start = "name = 'fixed'\n[fixed]\nnetwork = 'digits'\n[sweep]\n'dbb0.read_outstanding' = [2, 64]\n";
    let run = |text: &str| {
        let study = Studied::new(text);
        study.shown(&["study.toml"]);
        study
    };
    let folder = |study: &Studied| study.folder.path().join("study.results").display().to_string();
    let first = run(start);
    let second =
        run(&start.replace("'digits'\n", "'digits'\nplatform = 'nv_large'\n'dbb0.bandwidth' = '1 GB/s'\n"));
    let (a, b) = (folder(&first), folder(&second));
    let output = first.vp(&["diff", &a, &b]);
    let shown = text(&output.stdout);
    let words: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0], ["run", "with", "other", "values", "A", "B", "points"], "{shown}");
    assert_eq!(words[1], ["dbb0.bandwidth", "-", "1000000000", "2"], "{shown}");
    assert_eq!(words[2], ["platform", "nv_small", "nv_large", "2"], "{shown}");
    let json = first.vp(&["diff", &a, &b, "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let expected = serde_json::json!({ "key": "dbb0.bandwidth", "a": null, "b": "1000000000", "points": 2 });
    assert_eq!(json["inputs"][0], expected);
    let same = first.vp(&["diff", &a, &a.replace("study.results", "study.results/points.jsonl")]);
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stdout));
}

#[test]
fn what_cannot_be_compared_is_trouble_and_no_difference() {
    let text = |network: &str, place: &str| {
        format!("name = 's'\n[{place}]\nnetwork = '{network}'\n[[sweep]]\n'dbb0.read_latency' = 50\n")
    };
    let run = |network: &str| {
        let study = Studied::new(&text(network, "fixed"));
        study.shown(&["study.toml"]);
        study
    };
    let (digits, lenet) = (run("digits"), run("lenet"));
    let folder = |study: &Studied| study.folder.path().join("study.results").display().to_string();
    let (a, b) = (folder(&digits), folder(&lenet));
    let trouble = |args: &[&str]| {
        let output = digits.vp(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let told = trouble(&["diff", &a, &b]);
    assert!(told.contains("study.results has run digits, and ") && told.contains(" has run lenet"), "{told}");
    let told = trouble(&["diff", &a, "nowhere"]);
    assert!(told.contains("nowhere"), "{told}");
    assert!(trouble(&["diff", &a, &a]).contains("one build of vp has run points there"));
    trouble(&["diff", &a, &b, "--threshold", "some"]);
}

#[test]
fn a_point_that_takes_too_long_has_failed() {
    let study = Studied::new(&SMALL.replace("name = 'small'", "name = 'small'\nlimit = '30 us'"));
    let output = study.vp(&["study.toml"]);
    assert_eq!(output.status.code(), Some(1));
    let (status, why) = (study.columns("status"), study.columns("failure"));
    // At 1000 cycles of latency two outstanding reads take longer, and at 10 none do.
    assert_eq!((status[0].as_str(), status[4].as_str()), ("ran", "failed"));
    assert!(why[4].contains("limit of"), "{}", why[4]);
}

#[test]
fn the_same_seed_gives_the_same_numbers_on_any_number_of_cores() {
    let drawn = "name = 'drawn'\nseed = 5\n[sweep]\nnetwork = 'digits'\n\
                 'dbb0.read_latency' = [{ distribution = 'uniform', min = 10, max = 200 }, 50]\n";
    let table = |text: &str, jobs: &str| {
        let study = Studied::new(text);
        study.shown(&["study.toml", "--jobs", jobs]);
        study.read("results.csv")
    };
    assert_eq!(table(drawn, "1"), table(drawn, "4"));
    assert_ne!(table(drawn, "1"), table(&drawn.replace("seed = 5", "seed = 6"), "1"));
}

#[test]
fn networks_and_memories_are_varied_as_platforms_are() {
    let study = Studied::new(
        "name = 'all'\n[report]\ncurves = 'dbb0.dram.standard'\n[fixed]\nplatform = 'nv_large'\n[[sweep]]\n\
         network = 'mobilenet_v1'\n'network.input.width, network.input.height' = [32, 64]\n\
         [[sweep]]\nnetwork = 'digits'\n'dbb0.dram.standard' = ['DDR4-2400R', 'LPDDR4-3200']\n\
         'dbb0.cache.sets' = [1, 256]\n",
    );
    let shown = study.shown(&["study.toml"]);
    assert!(shown.contains("6 points, 0 failed"), "{shown}");
    let macs: Vec<u64> = study.columns("macs").iter().map(|it| it.parse().unwrap()).collect();
    assert!(macs[1] > 3 * macs[0], "{macs:?}");
    let cycles = study.columns("cycles");
    assert!(cycles[2] != cycles[4] && cycles[2] != cycles[3], "{cycles:?}");
    assert_eq!(study.columns("dbb0.dram.standard")[4], "LPDDR4-3200");
}

#[test]
fn two_sweeps_have_axes_of_their_own_and_a_sentence_for_each_chart() {
    let study = Studied::new(
        "name = 'two'\n[fixed]\nplatform = 'nv_large'\n[[sweep]]\nnetwork = ['digits', 'lenet']\n'dbb0.read_latency' = [50, 200, 800]\n\
         [[sweep]]\nnetwork = ['digits', 'lenet']\n'dbb0.bandwidth' = ['1 GB/s', '4 GB/s', '16 GB/s']\n",
    );
    let shown = study.shown(&["study.toml"]);
    let heads = [
        "200 cycles: digits on nv_large keeps ",
        "200 cycles: lenet on nv_large keeps ",
        "4 GB/s: digits on nv_large comes to ",
        "4 GB/s: lenet on nv_large comes to ",
    ];
    for head in heads {
        assert_eq!(shown.lines().filter(|line| line.starts_with(head)).count(), 1, "{head}: {shown}");
    }
    for over in ["over dbb0.read_latency", "over dbb0.bandwidth"] {
        assert!(shown.contains(over), "{shown}");
    }
    assert!(!shown.contains("as it is"), "{shown}");
    let report = study.read("report.html");
    let throughput = section(&report, "throughput");
    assert!(throughput.contains("Over read latency, cycles") && throughput.contains("Over bandwidth"));
    for picture in ["digits-nv_large.svg", "digits-nv_large-over-dbb0.bandwidth.svg"] {
        assert!(study.file(picture).exists(), "{picture}");
    }
}

#[test]
fn three_sweeps_and_a_point_that_varies_nothing_are_shown() {
    let study = Studied::new(
        "name = 'more'\n[fixed]\nnetwork = 'digits'\nplatform = 'nv_large'\n[[sweep]]\n'dbb0.read_latency' = [50, 400]\n\
         [[sweep]]\n'dbb0.bandwidth' = ['1 GB/s', '4 GB/s']\n[[sweep]]\n'dbb0.read_outstanding' = [4, 64]\n[[sweep]]\n",
    );
    let shown = study.shown(&["study.toml"]);
    assert!(shown.contains("7 points, 0 failed") && !shown.contains("as it is"), "{shown}");
    for over in ["over dbb0.read_latency", "over dbb0.bandwidth", "over dbb0.read_outstanding"] {
        assert!(shown.contains(over), "no {over} in {shown}");
    }
    let report = study.read("report.html");
    assert!(section(&report, "throughput").contains("Over network"));
}

#[test]
fn words_are_compared_by_a_sentence_for_each_chart() {
    let study = Studied::new(
        "name = 'two'\n[[sweep]]\nnetwork = ['digits', 'lenet']\nplatform = ['nv_large', 'nv_small']\n\
         [[sweep]]\nnetwork = 'lenet'\nplatform = 'nv_large'\nplacement = ['activations', 'all']\n",
    );
    let shown = study.shown(&["study.toml"]);
    let heads: Vec<&str> = shown.lines().filter(|line| line.starts_with("nv_")).take(2).collect();
    assert!(
        heads[0].starts_with("nv_large: digits: ") && heads[1].starts_with("nv_small: digits: "),
        "{shown}"
    );
}

#[test]
fn a_new_study_is_one_that_runs() {
    let study = Studied::new("");
    study.shown(&["new", "mine.toml"]);
    assert!(study.told(&["new", "mine.toml"]).contains("mine.toml"), "it was overwritten");
    let printed = study.shown(&["new"]);
    assert_eq!(printed, fs::read_to_string(study.folder.path().join("mine.toml")).unwrap());
    let shown = study.shown(&["mine.toml"]);
    assert!(shown.contains("54 points, 0 failed"), "{shown}");
    assert!(study.folder.path().join("mine.results/report.html").exists());
}

#[test]
fn a_point_alone_shows_its_layers_and_its_hash() {
    let study = Studied::new(SMALL);
    study.shown(&["study.toml"]);
    let shown = study.shown(&["study.toml", "--point", "5"]);
    for part in ["dbb0.read_latency=1000 dbb0.read_outstanding=2", "conv3", "read bandwidth"] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    assert!(shown.contains(&study.columns("event_hash")[4]));
    assert!(study.told(&["study.toml", "--point", "13"]).contains("the study has 12 points"));
}

#[test]
fn a_points_command_runs_it_again() {
    let study = Studied::new(
        "name = 'drawn'\nseed = 5\n[sweep]\nnetwork = ['digits', 'lenet']\nplatform = 'nv_large'\n\
         'dbb0.read_latency' = [{ distribution = 'uniform', min = 10, max = 200 }, '50 ns']\n",
    );
    study.shown(&["study.toml"]);
    commands_run_again(&study);
}

#[test]
fn a_points_command_has_its_frames_and_its_files() {
    let study = Studied::new("");
    let folder = study.folder.path().join("my studies/parts");
    fs::create_dir_all(&folder).unwrap();
    let lenet = Path::new(env!("CARGO_MANIFEST_DIR")).join("../networks/lenet/network.toml");
    fs::copy(lenet, folder.join("mine.toml")).unwrap();
    let platform = Command::new(env!("CARGO_BIN_EXE_vp")).args(["platform", "print", "nv_large"]).ended();
    fs::write(folder.join("platform.toml"), platform.stdout).unwrap();
    let text = "name = 'files'\nframes = 3\n[sweep]\nnetwork = ['parts/mine.toml', 'digits']\n\
                platform = ['parts/platform.toml', 'nv_small']\n";
    fs::write(study.folder.path().join("my studies/study.toml"), text).unwrap();
    study.shown(&["my studies/study.toml", "--output", "study.results"]);
    let commands = study.columns("command");
    assert!(commands[0].contains("'my studies/parts/mine.toml' --platform 'my studies/parts/platform.toml'"));
    assert!(commands[3].starts_with("vp run digits --platform nv_small --frames 3 "), "{}", commands[3]);
    commands_run_again(&study);
}

#[test]
fn frames_at_once_are_a_parameter_as_any_other() {
    let study = Studied::new(
        "name = 'batches'\nframes = 3\n[fixed]\nnetwork = 'lenet'\nplatform = 'nv_large'\n[sweep]\nbatch = [1, 4, 33]\n",
    );
    let output = study.vp(&["study.toml", "--keep-going"]);
    assert!(text(&output.stdout).contains("3 points, 1 failed"), "{}", text(&output.stdout));
    assert!(
        study.columns("failure")[2]
            .contains("batch = 33: 33 frames at once: the configuration nv_large takes 32")
    );
    // Whole batches run.
    assert_eq!(study.columns("frames")[..2], ["3", "4"]);
    let frames: Vec<f64> =
        study.columns("frames_per_second")[..2].iter().map(|it| it.parse().unwrap()).collect();
    assert!(frames[1] > 1.5 * frames[0], "{frames:?}");
    let commands = study.columns("command");
    assert!(commands[1].contains(" --batch 4 --frames 4 ") && commands[0].contains(" --frames 3 "));
    fs::write(
        study.folder.path().join("study.toml"),
        fs::read_to_string(study.folder.path().join("study.toml")).unwrap().replace(", 33", ""),
    )
    .unwrap();
    study.shown(&["study.toml"]);
    commands_run_again(&study);
}

#[test]
fn a_point_with_a_changed_network_is_run_again_from_its_study() {
    let study = Studied::new(
        "name = 'changed'\n[sweep]\nnetwork = 'mobilenet_v1'\nplatform = 'nv_large'\n\
         'network.input.width, network.input.height' = [32]\n",
    );
    study.shown(&["study.toml"]);
    assert_eq!(study.columns("command"), ["vp study study.toml --point 1"]);
    commands_run_again(&study);
}

#[test]
fn platforms_and_networks_are_words_along_the_axis() {
    let study = Studied::new(
        "name = 'words'\n[sweep]\nnetwork = ['digits', 'lenet']\nplatform = ['nv_small', 'nv_large', 'nv_full']\n",
    );
    let shown = study.shown(&["study.toml"]);
    assert!(shown.contains("over platform") && !shown.contains("lost at"), "{shown}");
    assert!(shown.lines().any(|line| line.contains("digits") && line.contains("nv_small")), "{shown}");
    let report = study.read("report.html");
    let throughput = section(&report, "throughput");
    for word in ["nv_small", "nv_large", "nv_full"] {
        let drawn = throughput.lines().filter(|line| *line == word).count();
        assert_eq!(drawn, 1, "{word} below the axis");
    }
    assert!(throughput.contains("Most and least") && !throughput.contains("knee"), "a knee of words");
}

#[test]
fn a_study_that_asks_for_it_has_the_curves_of_its_memories() {
    let folder = tempfile::tempdir().unwrap();
    let text = "name = 'banks'\n[sweep]\nnetwork = 'digits'\n'dbb0.sram.banks' = 2\n";
    fs::write(folder.path().join("plain.toml"), text).unwrap();
    fs::write(folder.path().join("curves.toml"), format!("{text}[report]\nmemory_curve = true\n")).unwrap();
    let page = |name: &str| {
        let mut vp = Command::new(env!("CARGO_BIN_EXE_vp"));
        let ended = vp.current_dir(folder.path()).args(["study", &format!("{name}.toml")]).ended();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        fs::read_to_string(folder.path().join(format!("{name}.results/report.html"))).unwrap()
    };
    assert!(!page("plain").contains("Memories alone"));
    let curves = page("curves");
    for part in ["Memories alone", "dbb0: SRAM of 2 banks"] {
        assert!(curves.contains(part), "no `{part}`");
    }
}
