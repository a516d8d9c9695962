//! Results that are kept of studies that are stopped, killed, changed, or run in shards.

use crate::studied::{SMALL, Studied, lines, section, text};
use std::collections::HashSet;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

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
    assert!(time.contains("read latency 1\u{202f}000\u{a0}cycles"), "another point's");
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
