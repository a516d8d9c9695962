//! `vp study`, as it is called: points that fail, programs that are killed, shards, and what is written.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use vp_models::host::Bound;

/// A folder with a study in it.
struct Studied {
    folder: TempDir,
}

impl Studied {
    fn new(text: &str) -> Studied {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("study.toml"), text).unwrap();
        Studied { folder }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vp"));
        command.current_dir(self.folder.path()).arg("study").args(arguments);
        command
    }

    fn vp(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What it prints; it must end well.
    fn shown(&self, arguments: &[&str]) -> String {
        let output = self.vp(arguments);
        let (shown, errors) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {shown}{errors}");
        shown
    }

    fn told(&self, arguments: &[&str]) -> String {
        let output = self.vp(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        text(&output.stderr)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("study.results").join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    fn columns(&self, name: &str) -> Vec<String> {
        let mut table = csv::Reader::from_path(self.file("results.csv")).unwrap();
        let at = table.headers().unwrap().iter().position(|it| it == name);
        let at = at.unwrap_or_else(|| panic!("no column {name}"));
        table.records().map(|row| row.unwrap()[at].to_owned()).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

const SMALL: &str = "name = 'small'\n[sweep]\nnetwork = 'digits'\nplatform = ['nv_small', 'nv_large']\n\
                     'dbb0.read_latency' = [10, 100, 1000]\n'dbb0.read_outstanding' = [2, 64]\n";

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
fn values_are_checked_before_anything_runs() {
    let wrong = SMALL.replace("'nv_large'", "'nv_lareg'").replace("[2, 64]", "[2,\n 300]");
    let study = Studied::new(&wrong);
    let told = study.told(&["study.toml"]);
    for part in [
        "study.toml: values are wrong",
        "line 7: dbb0.read_outstanding = 300: [dbb0] read_outstanding = 300",
        "(3 points)",
        "line 4: platform = nv_lareg: ",
        "nothing has been run; --keep-going runs the points that can",
    ] {
        assert!(told.contains(part), "no `{part}` in {told}");
    }
    assert!(!study.file("points.jsonl").exists());
    // A value that is wrong only for a plan.
    let text = "name = 'batches'\n[sweep]\nnetwork = 'lenet'\nplatform = 'nv_large'\nbatch = [1, 33]\n";
    let study = Studied::new(text);
    let told = study.told(&["study.toml"]);
    assert!(told.contains("line 5: batch = 33: ") && !study.file("points.jsonl").exists(), "{told}");
}

#[test]
fn who_interrupts_a_study_is_told_what_is_kept_and_how_to_go_on() {
    let study = Studied::new(&long());
    let mut running =
        study.command(&["study.toml", "--fresh", "--jobs", "2"]).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while lines(&study.file("points.jsonl")) < 3 {
        assert!(started.elapsed() < Duration::from_secs(120) && running.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    let pid = nix::unistd::Pid::from_raw(running.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = running.wait_with_output().unwrap();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{told}");
    let kept = lines(&study.file("points.jsonl"));
    let said = "of 150 points are kept, those that were under way are not; go on with `vp study study.toml --jobs 2`";
    assert!(told.contains("interrupted: ") && told.contains(said), "{told}");
    // A line may have come onto the disk since it was counted.
    let counted: usize =
        told.split_once("interrupted: ").unwrap().1.split(' ').next().unwrap().parse().unwrap();
    assert!(counted <= kept && kept <= counted + 1, "{counted} said, {kept} kept");
    study.shown(&["study.toml"]);
    assert_eq!(lines(&study.file("points.jsonl")), 150);
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

const SEARCH: &str = "name = 'search'\n[fixed]\nplatform = 'nv_large'\n'dbb0.read_latency' = 400\n\
                      [sweep]\nnetwork = ['digits', 'lenet']\n[search]\n\
                      least = 'dbb0.read_outstanding, dbb0.write_outstanding'\nfrom = 1\nto = 256\nshare = 0.95\n";

#[test]
fn a_search_finds_what_a_grid_finds_with_few_points() {
    let study = Studied::new(SEARCH);
    let shown = study.shown(&["study.toml"]);
    let found: Vec<usize> = shown
        .lines()
        .filter_map(|line| {
            line.split_once("for 95 % of the frames/s at 256: ")?.1.trim_end_matches('.').parse().ok()
        })
        .collect();
    assert_eq!(found.len(), 2, "{shown}");
    assert!(shown.contains("assumed: frames/s rise with dbb0.read_outstanding"), "{shown}");
    let points = study.columns("point").len();
    assert!(points <= 2 * 10, "{points} points");
    // The value itself has the share, and the one below it has not.
    for (network, found) in ["digits", "lenet"].into_iter().zip(found) {
        let grid = Studied::new(&format!(
            "name = 'grid'\n[fixed]\nnetwork = '{network}'\nplatform = 'nv_large'\n'dbb0.read_latency' = 400\n[sweep]\n\
             'dbb0.read_outstanding, dbb0.write_outstanding' = [{}, {found}, 256]\n",
            found - 1
        ));
        grid.shown(&["study.toml"]);
        let frames: Vec<f64> =
            grid.columns("frames_per_second").iter().map(|it| it.parse().unwrap()).collect();
        assert!(
            frames[0] < 0.95 * frames[2] && frames[1] >= 0.95 * frames[2],
            "{network}: {found}, {frames:?}"
        );
    }
    let report = study.read("report.html");
    assert!(section(&report, "search").contains("bisection"));
    // What it has run it has kept.
    let kept = study.read("points.jsonl");
    assert_eq!(study.shown(&["study.toml"]), shown);
    assert_eq!(study.read("points.jsonl"), kept);
    commands_run_again(&study);
}

#[test]
fn a_goal_that_no_point_reaches_is_told() {
    // Before anything runs where the MAC array alone says so, else as the result.
    let goal = |frames: u32| SEARCH.replace("share = 0.95", &format!("frames_per_second = {frames}"));
    let study = Studied::new(&goal(2_000_000_000));
    let told = study.told(&["study.toml"]);
    assert!(
        told.contains("line 11: [search] frames_per_second = 2000000000: digits on nv_large has at most"),
        "{told}"
    );
    assert!(!study.file("points.jsonl").exists());
    let study = Studied::new(&goal(1_000_000));
    let output = study.vp(&["study.toml"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output.stdout);
    assert!(shown.contains("no value reaches 1000000.0 frames/s, the best has"), "{shown}");
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
fn a_study_that_cannot_run_is_refused_before_it_begins() {
    let study = Studied::new(&SMALL.replace("dbb0.read_latency", "dbb0.raed_latency"));
    let told = study.told(&["study.toml"]);
    assert!(told.contains("no point can run") && told.contains("raed_latency"), "{told}");
    assert!(!study.file("points.jsonl").exists());
    assert!(study.told(&["nowhere.toml"]).contains("nowhere.toml: cannot read: "));
    assert!(study.told(&[]).contains("<FILE>"));
}

#[test]
fn what_is_done_is_not_done_again() {
    let study = Studied::new(SMALL);
    study.shown(&["study.toml"]);
    let (points, table) = (study.read("points.jsonl"), study.read("results.csv"));
    study.shown(&["study.toml"]);
    assert_eq!(study.read("points.jsonl"), points);
    assert_eq!(study.read("results.csv"), table);
    // Another latency is as many points more, and no other is run.
    fs::write(study.folder.path().join("study.toml"), SMALL.replace("[10,", "[20, 10,")).unwrap();
    study.shown(&["study.toml"]);
    assert!(study.read("points.jsonl").starts_with(&points));
    assert_eq!(lines(&study.file("points.jsonl")), 12 + 4);
    assert_eq!(study.columns("point").len(), 16);
}

/// A study of some seconds.
fn long() -> String {
    "name = 'long'\nframes = 3\n[sweep]\nnetwork = 'digits'\n\
     'dbb0.read_latency' = { from = 10, to = 400, points = 150 }\n"
        .to_owned()
}

#[test]
fn a_killed_study_loses_nothing_and_does_nothing_twice() {
    let whole = Studied::new(&long());
    whole.shown(&["study.toml"]);
    let study = Studied::new(&long());
    let points = study.file("points.jsonl");
    let mut kills = 0;
    for wanted in [5, 40, 80] {
        let mut running = study
            .command(&["study.toml", "--jobs", "2"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        while lines(&points) < wanted && running.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < Duration::from_secs(120));
            std::thread::yield_now();
        }
        // SIGKILL.
        running.kill().unwrap();
        kills += usize::from(!running.wait().unwrap().success());
    }
    assert!(kills > 0, "it was always done before it could be killed");
    let before = fs::read(&points).unwrap();
    study.shown(&["study.toml"]);
    // What was whole is still there, and each point once.
    let kept = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let after = fs::read(&points).unwrap();
    assert_eq!(after[..kept], before[..kept]);
    let lines: Vec<String> = text(&after).lines().map(str::to_owned).collect();
    assert_eq!((lines.len(), lines.iter().collect::<HashSet<_>>().len()), (150, 150));
    for table in ["results.csv", "layers.csv"] {
        assert_eq!(study.read(table), whole.read(table));
    }
    for table in ["results.parquet", "layers.parquet"] {
        assert_eq!(fs::read(study.file(table)).unwrap(), fs::read(whole.file(table)).unwrap());
    }
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
fn shards_make_the_same_whole() {
    let whole = Studied::new(SMALL);
    whole.shown(&["study.toml"]);
    let study = Studied::new(SMALL);
    for shard in ["1/3", "3/3"] {
        let shown = study.shown(&["study.toml", "--shard", shard]);
        assert!(shown.contains("4 points, 0 failed"), "{shown}");
    }
    let told = study.told(&["merge", "study.toml"]);
    assert!(told.contains("4 points of the study in no shard, the first is 2"), "{told}");
    study.shown(&["study.toml", "--shard", "2/3"]);
    study.shown(&["merge", "study.toml"]);
    assert_eq!(study.read("results.csv"), whole.read("results.csv"));
    assert_eq!(study.read("layers.csv"), whole.read("layers.csv"));
    // Merging again adds nothing.
    let merged = study.read("points.jsonl");
    study.shown(&["merge", "study.toml"]);
    assert_eq!(study.read("points.jsonl"), merged);
    assert!(study.told(&["study.toml", "--shard", "4/3"]).contains("a shard is I/N"));
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

/// Runs each point's command where the study was called, and compares hash and cycles with its row.
fn commands_run_again(study: &Studied) {
    let path = Path::new(env!("CARGO_BIN_EXE_vp")).parent().unwrap().to_str().unwrap();
    let columns = ["command", "event_hash", "cycles"].map(|name| study.columns(name));
    assert!(!columns[0].is_empty());
    for (at, command) in columns[0].iter().enumerate() {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).env("PATH", path).current_dir(study.folder.path());
        let ran = shell.output().unwrap();
        let shown = text(&ran.stdout);
        assert!(shown.contains(&columns[1][at]), "{command}: {shown}{}", text(&ran.stderr));
        let digits: String = shown.chars().filter(|it| it.is_ascii_alphanumeric() || *it == '\n').collect();
        let cycles = &columns[2][at];
        let told = [format!("time{cycles}cycles"), format!("{cycles}cyclesaframe")];
        let is_told = digits.lines().any(|line| told.iter().any(|told| line.starts_with(told)));
        assert!(is_told, "{command}: not {cycles} cycles in {shown}");
    }
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
    let platform = Command::new(env!("CARGO_BIN_EXE_vp")).args(["platform", "print", "nv_large"]).output();
    fs::write(folder.join("platform.toml"), platform.unwrap().stdout).unwrap();
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

/// A section of a report.
fn section<'a>(report: &'a str, name: &str) -> &'a str {
    let (_, rest) = report.split_once(&format!("<section id=\"{name}\">")).unwrap();
    rest.split_once("</section>").unwrap().0
}

#[test]
fn merging_takes_what_a_shard_has_learned_since() {
    let text = |chosen: u32| format!("{SMALL}[report]\nchosen = {{ 'dbb0.read_latency' = {chosen} }}\n");
    let study = Studied::new(&text(10));
    let shards = |study: &Studied| {
        for shard in ["1/2", "2/2"] {
            study.shown(&["study.toml", "--shard", shard]);
        }
        study.shown(&["merge", "study.toml"]);
    };
    shards(&study);
    // Another point is looked at closely: its shard runs it again, and that counts.
    fs::write(study.folder.path().join("study.toml"), text(1000)).unwrap();
    shards(&study);
    let report = study.read("report.html");
    let time = section(&report, "time");
    assert_eq!(time.matches("<svg").count(), 2);
    assert!(time.contains("read latency 1000 cycles"), "another point's");
}

#[test]
fn the_newest_reason_of_a_failure_is_told() {
    let study =
        Studied::new("name = 'failing'\n[sweep]\nnetwork = 'digits'\nplatform = ['nv_small', 'mine.toml']\n");
    let platform = study.folder.path().join("mine.toml");
    let told = |study: &Studied, arguments: &[&str]| {
        let shown = text(&study.vp(arguments).stdout);
        assert!(shown.contains("2 points, 1 failed"), "{shown}");
        study.columns("failure")[1].clone()
    };
    let first = told(&study, &["study.toml", "--keep-going"]);
    fs::write(&platform, "name = 'mine'\nbase = 7\n").unwrap();
    let second = told(&study, &["study.toml", "--keep-going"]);
    assert!(first != second && second.contains("base"), "{first} and {second}");
    // Through shards the newest wins too.
    for (platform_is, shards) in [("base = 8", ["1/2", "2/2"]), ("basis = 9", ["1/2", "2/2"])] {
        fs::write(&platform, format!("name = 'mine'\n{platform_is}\n")).unwrap();
        for shard in shards {
            study.vp(&["study.toml", "--keep-going", "--shard", shard]);
        }
        let why = told(&study, &["merge", "study.toml"]);
        assert!(why.contains(platform_is.split(' ').next().unwrap()), "{why}");
    }
    let kept = study.read("points.jsonl");
    told(&study, &["merge", "study.toml"]);
    assert_eq!(study.read("points.jsonl"), kept);
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

/// Its numbers are those of the study whose picture it shows.
#[test]
fn the_readme_tells_what_the_study_finds() {
    let readme = include_str!("../../README.md");
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
    assert!(shown.points.len() == 216 && points.into_iter().all(has));
}

/// A study of the repository, with other networks: small ones, or few values.
fn in_small(name: &str, changes: &[(&str, &str)]) -> Studied {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../studies").join(name);
    let mut text = fs::read_to_string(file).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{name} has no {from}");
        text = text.replace(from, to);
    }
    Studied::new(&text)
}

fn numbers(study: &Studied, column: &str) -> Vec<f64> {
    study.columns(column).iter().map(|cell| cell.parse().unwrap()).collect()
}

#[test]
fn more_sram_gives_more_frames_and_the_page_draws_them_over_its_bytes() {
    let study = in_small(
        "sram.toml",
        &[
            (r#"["resnet50", "googlenet", "mobilenet_v1", "alexnet"]"#, r#"["lenet"]"#),
            ("from = 65536, to = 16777216, step = 2", "from = 4096, to = 1048576, step = 16"),
        ],
    );
    study.shown(&["study.toml"]);
    let placements = study.columns("placement");
    assert_eq!(placements.len(), 9);
    let [frames, used, size] =
        ["frames_per_second", "sram_bytes", "sram0.size"].map(|it| numbers(&study, it));
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
    let throughput = study.read("report.html");
    let throughput = section(&throughput, "throughput");
    assert!(throughput.contains("SRAM, bytes") && throughput.contains("activations"), "{throughput:.3000}");
    commands_run_again(&study);
}

#[test]
fn an_srams_speed_is_swept_as_any_memorys() {
    let study = in_small(
        "sram-speed.toml",
        &[
            (r#"["resnet50", "googlenet", "mobilenet_v1"]"#, r#"["lenet"]"#),
            ("8_000_000_000, 12_000_000_000, 16_000_000_000, ", ""),
            ("40_000_000_000, ", ""),
            ("[10, 50, 250]", "[10, 250]"),
        ],
    );
    study.shown(&["study.toml"]);
    let frames = numbers(&study, "frames_per_second");
    // The latency changes fastest.
    assert!(frames.chunks(2).all(|pair| pair[0] > pair[1]), "{frames:?}");
    assert!(frames[0] < frames[2] && frames[2] <= frames[4], "{frames:?}");
}

#[test]
fn what_cannot_be_in_sram_is_refused_before_anything_runs() {
    let start = "name = 'refused'\n[sweep]\nnetwork = 'lenet'\n";
    let told = |rest: &str| Studied::new(&format!("{start}{rest}")).told(&["study.toml"]);
    let word = told("platform = 'nv_large'\nplacement = ['dram', 'sram']\n");
    let expected = "line 5: placement = sram: placement: `sram` is no placement: dram, activations or all; nearest: dram";
    assert!(word.contains(expected), "{word}");
    let lacks = told("platform = ['nv_small']\nplacement = 'all'\n");
    assert!(lacks.contains("placement = \"all\": the configuration nv_small has no SRAMIF"), "{lacks}");
    let nothing = told("platform = 'nv_large'\n'network.layer.conv9.memory' = 'sram'\n");
    assert!(nothing.contains("network.layer.conv9.memory: there is nothing of that name"), "{nothing}");
    // What a network's file demands, with its line.
    let study = Studied::new(
        "name = 'small'\n[sweep]\nnetwork = 'mine.toml'\nplatform = 'nv_large'\n'sram0.size' = [512]\n",
    );
    let network = "name = 'mine'\nseed = 1\ninput = { width = 8, height = 8, channels = 8 }\n\n[[layer]]\n\
                   kind = 'convolution'\nname = 'first'\nkernels = 8\nkernel = [1, 1]\nmemory = 'sram'\n";
    fs::write(study.folder.path().join("mine.toml"), network).unwrap();
    let told = study.told(&["study.toml"]);
    let expected =
        "mine.toml:10: layer `first`: memory = \"sram\": it takes 2048 bytes, and of 512 bytes of SRAM 512";
    assert!(told.contains(expected), "{told}");
}

/// Four points that take little time.
const FOUR: &str = "name = 'four'\n[fixed]\nnetwork = 'digits'\n[sweep]\n'dbb0.read_latency' = [10, 60]\n\
                    'dbb0.read_outstanding' = [8, 256]\n";

/// `vp`, which is a part with the model in it.
const PART: &str = env!("CARGO_BIN_EXE_vp");

#[test]
fn each_point_starts_the_programs_that_are_parts_of_its_platform() {
    let study = Studied::new(FOUR);
    study.shown(&["study.toml"]);
    let inside = study.columns("cycles");
    let device = format!("{PART} attach-device --platform nv_small");
    let outside = ["study.toml", "--jobs", "2", "--device-command", &device];
    study.shown(&outside);
    assert_eq!(study.columns("cycles"), inside);
    // What goes on inside is not seen.
    assert_eq!(study.columns("bound.mac_array_cycles"), ["", "", "", ""]);
    assert!(study.columns("command")[0].ends_with(&format!("--device-command '{device}'")));
    // What is kept is kept of these parts.
    let kept = lines(&study.file("points.jsonl"));
    study.shown(&outside);
    assert_eq!(lines(&study.file("points.jsonl")), kept);
}

#[test]
fn a_part_that_cannot_run_fails_its_point_and_says_which() {
    let study = Studied::new(FOUR);
    let output = study.vp(&["study.toml", "--device-command", "sh -c 'exit 3'"]);
    assert!(!output.status.success());
    let failures = study.columns("failure");
    for (at, failure) in failures.iter().enumerate() {
        let point =
            format!("point {}: the device: `sh -c 'exit 3'` has ended before it was attached", at + 1);
        assert!(failure.starts_with(&point), "{failure}");
    }
    assert_eq!(failures.len(), 4);
    let said = text(&output.stderr);
    assert!(said.contains("point 4: the device: "), "{said}");
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
    let (bandwidths, shares) = (study.columns("dbb0.bandwidth"), numbers(&study, "network.zeros"));
    let frames = numbers(&study, "frames_per_second");
    let slowest: Vec<(f64, f64)> = (0..frames.len())
        .filter(|&at| bandwidths[at] == "4000000000")
        .map(|at| (shares[at], frames[at]))
        .collect();
    assert!(
        slowest.len() == 6 && slowest.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1),
        "{slowest:?}"
    );
    assert!(slowest[5].1 > 1.2 * slowest[0].1, "{slowest:?}");
}

#[test]
fn the_study_of_precisions_finds_that_16_bits_take_longer_than_8() {
    let study = on_square("precision.toml");
    let (precisions, frames) = (study.columns("network.precision"), numbers(&study, "frames_per_second"));
    assert_eq!(precisions, ["int8", "int16", "fp16"]);
    assert!(frames[0] > 1.3 * frames[1] && frames[0] > 1.3 * frames[2], "{frames:?}");
}

#[test]
fn the_study_of_winograd_finds_layers_that_are_faster() {
    let study = on_square("winograd.toml");
    let (choices, frames) = (study.columns("network.winograd"), numbers(&study, "frames_per_second"));
    assert_eq!(choices, ["never", "auto", "never", "auto", "never", "auto"]);
    assert!(frames.chunks(2).all(|pair| pair[1] >= pair[0]), "{frames:?}");
    assert!(frames[3] > 1.05 * frames[2] && frames[5] > 1.05 * frames[4], "{frames:?}");
}

#[test]
fn a_share_of_zeros_that_is_none_is_refused_by_file_line_and_key() {
    let study = Studied::new("name = 's'\n[sweep]\nnetwork = 'lenet'\n'network.zeros' = [0.5, 1.5]\n");
    let told = study.told(&["study.toml"]);
    assert!(told.contains("line 4: network.zeros = 1.5: ") && told.contains("share"), "{told}");
    assert!(!study.file("points.jsonl").exists());
}
