//! Searches in place of grids.

use crate::studied::{Studied, commands_run_again, section, text};

const SEARCH: &str = "name = 'search'\n[fixed]\nplatform = 'nv_large'\n'dbb0.read_latency' = 400\n\
                      [sweep]\nnetwork = ['digits', 'lenet']\n[search]\n\
                      least = 'dbb0.read_outstanding, dbb0.write_outstanding'\nfrom = 1\nto = 256\nshare = 0.95\n";

#[test]
fn a_search_finds_what_a_grid_finds_with_few_points() {
    let study = Studied::new(SEARCH);
    let shown = study.shown(&["study.toml"]);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let found = words.split("for 95 % of the frames/s at 256: ").skip(1);
    let found: Vec<usize> =
        found.filter_map(|rest| rest.split(' ').next().and_then(|value| value.parse().ok())).collect();
    assert_eq!(found.len(), 2, "{shown}");
    assert!(words.contains("assumed: frames/s rise with dbb0.read_outstanding"), "{shown}");
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
    // What is searched together is one curve over its axis.
    let knees = section(&report, "throughput").split_once("Knees").unwrap().1;
    assert_eq!(knees.matches("<tr>").count(), 1 + 2, "{knees}");
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
        told.contains(
            "study.toml:11: [search] frames_per_second = 2000000000: digits on nv_large has at most"
        ),
        "{told}"
    );
    assert!(!study.file("points.jsonl").exists());
    let study = Studied::new(&goal(1_000_000));
    let output = study.vp(&["study.toml"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output.stdout);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("no value reaches 1 000 000.0 frames/s, the best has"), "{shown}");
}

#[test]
fn what_is_searched_without_an_effect_is_told() {
    let text = "name = 's'\n[fixed]\nnetwork = 'digits'\nplatform = 'nv_large'\n[search]\n\
                least = 'sram0.size'\nfrom = 65536\nto = 131072\nstep = 4096\nshare = 0.95\n";
    let study = Studied::new(text);
    let shown = study.shown(&["study.toml"]);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["frames/s at 128 KiB: 64 KiB, where the range ends", "sram0.size changes nothing"] {
        assert!(words.contains(part), "no `{part}` in {shown}");
    }
    let told = Studied::new(&text.replace("[search]", "[sweep]\n'sram0.size' = [65536]\n[search]"))
        .told(&["study.toml"]);
    assert!(told.contains("study.toml:8: [search] searches sram0.size, which [sweep] varies"), "{told}");
}
