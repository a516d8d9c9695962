//! Estimates of energy, and coefficients.

use crate::studied::{Studied, text};
use std::fs;

const PARTS: [&str; 7] = ["macs", "idle_macs", "cbuf", "units", "sram", "dram", "cycles"];

#[test]
fn a_study_estimates_energy_of_layers_and_frames() {
    let study =
        Studied::shipped("energy.toml", &[("\"resnet50\", \"googlenet\", \"mobilenet_v1\"", "\"lenet\"")]);
    let shown = study.shown(&["study.toml"]);
    assert!(shown.contains("8 points, 0 failed"), "{shown}");
    let whole = study.numbers("results.csv", "energy_uj");
    for table in ["results.csv", "layers.csv"] {
        let parts = PARTS.map(|part| study.numbers(table, &format!("energy.{part}_uj")));
        for (row, all) in study.numbers(table, "energy_uj").into_iter().enumerate() {
            let sum: f64 = parts.iter().map(|part| part[row]).sum();
            assert!((sum - all).abs() <= 1e-9 * all, "{table} {row}: {sum} {all}");
        }
    }
    let (points, of_layers) =
        (study.numbers("layers.csv", "point"), study.numbers("layers.csv", "energy_uj"));
    for (point, all) in (1..).zip(&whole) {
        let sum: f64 =
            points.iter().zip(&of_layers).filter(|(of, _)| **of == f64::from(point)).map(|it| it.1).sum();
        assert!((sum - all).abs() <= 1e-9 * all, "{point}: {sum} {all}");
    }
    // Time costs nothing, and latency moves no bytes.
    assert_eq!(
        study.numbers("results.csv", "energy_per_frame_uj")[0],
        study.numbers("results.csv", "energy_per_frame_uj")[3]
    );
    assert!(study.numbers("results.csv", "power_mw")[0] > study.numbers("results.csv", "power_mw")[3]);
    let page = fs::read_to_string(study.file("report.html")).unwrap();
    assert!(page.contains("Energy, an estimate") && page.contains("45 nm, 0.9 V"));
    // Who asks for energy is answered about energy first.
    let answers = page.split_once("class=\"answers\"").unwrap().1;
    let first = answers.split_once("</li>").unwrap().0;
    assert!(
        first.contains("lenet on nv_small: ") && first.contains("J a frame, ") && first.contains(" of it "),
        "{first}"
    );
}

#[test]
fn energy_follows_the_coefficients_and_runs_nothing_again() {
    let written = "name = 's'\n[energy]\nbase = 'default'\nmac.int8 = 1.0\n[sweep]\nnetwork = 'lenet'\nplatform = 'nv_small'\n";
    let study = Studied::new(written);
    study.shown(&["study.toml"]);
    let kept = fs::read(study.file("points.jsonl")).unwrap();
    let (macs, before) =
        (study.numbers("results.csv", "macs"), study.numbers("results.csv", "energy.macs_uj"));
    assert_eq!(before[0], macs[0] / 1e6);
    fs::write(study.folder.path().join("study.toml"), written.replace("1.0", "2.0")).unwrap();
    study.shown(&["study.toml"]);
    assert_eq!(study.numbers("results.csv", "energy.macs_uj")[0], 2.0 * before[0]);
    assert_eq!(fs::read(study.file("points.jsonl")).unwrap(), kept);
}

#[test]
fn a_drams_energy_is_that_of_its_commands_by_the_table_of_whoever_asks() {
    let written = "name = 's'\n[energy]\nbase = 'default'\n# more\n[sweep]\nnetwork = 'digits'\nplatform = 'nv_small'\n\"dbb0.dram.standard\" = ['DDR4-2400R', 'LPDDR5-6400']\n";
    let study = Studied::new(written);
    study.shown(&["study.toml"]);
    let kept = fs::read(study.file("points.jsonl")).unwrap();
    let before = study.numbers("results.csv", "energy.dram_uj");
    let page = fs::read_to_string(study.file("report.html")).unwrap();
    for basis in
        ["commands and background of DDR4 (Micron MT40A1G8", "commands and background of LPDDR5 (Micron Y52P"]
    {
        assert!(page.contains(basis), "{basis}");
    }
    let with = |more: &str| {
        fs::write(study.folder.path().join("study.toml"), written.replace("# more", more)).unwrap();
        study.shown(&["study.toml"]);
        assert_eq!(fs::read(study.file("points.jsonl")).unwrap(), kept);
        study.numbers("results.csv", "energy.dram_uj")
    };
    // Of one grade twice the reads' energy and more; of the other nothing changes.
    let read = with("dram.'DDR4-2400R' = { base = 'DDR4', source = 'mine', RD = 6000 }");
    assert!(read[0] > before[0] && read[1] == before[1], "{read:?} {before:?}");
    let bytes =
        study.numbers("results.csv", "read_bytes")[0] + study.numbers("results.csv", "written_bytes")[0];
    let by_bytes = with("memory.dram = 10");
    assert!((by_bytes[0] - bytes * 10.0 / 1e6).abs() < 1e-9 * by_bytes[0], "{by_bytes:?}");
    fs::write(
        study.folder.path().join("study.toml"),
        written.replace("# more", "dram.DDR4 = { base = 'DDR4', VDD = { IDD4R = 1 } }"),
    )
    .unwrap();
    let told = study.told(&["study.toml"]);
    assert!(
        told.contains("study.toml:4: [energy.dram.DDR4.VDD] IDD4R = 1: it is at least IDD3N = 43 of VDD"),
        "{told}"
    );
}

#[test]
fn the_built_in_coefficients_are_written_and_read_again() {
    let study = Studied::new("");
    let written = study.vp(&["energy", "mine.toml"]);
    assert!(written.status.success());
    let run = |coefficients: &str| {
        let output = study.other(&["run", "lenet", "--timed", "--json", "--energy", coefficients]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let (mine, built_in) = (run("mine.toml"), run("default"));
    assert_eq!(mine, built_in);
    assert!(mine["energy_per_frame_uj"].as_f64().unwrap() > 0.0 && mine["power_mw"].as_f64().unwrap() > 0.0);
    let layers = mine["layers"].as_array().unwrap();
    let sum: f64 = layers.iter().map(|layer| layer["energy_uj"].as_f64().unwrap()).sum();
    assert!((sum - mine["energy_uj"].as_f64().unwrap()).abs() < 1e-9 * sum);
    let shown = text(&study.other(&["run", "lenet", "--timed", "--energy", "default"]).stdout);
    assert!(shown.contains("an estimate, 45 nm, 0.9 V"), "{shown}");
    assert!(shown.contains("J, 20.3 pJ a bit; from 162.5 pJ a byte\n"), "{shown}");
    let dram = ["run", "lenet", "--timed", "--dram", "DDR4-2400R", "--energy", "default"];
    let shown = text(&study.other(&dram).stdout);
    assert!(
        shown.contains(" pJ a bit: RD ") && shown.contains("; from commands and background of DDR4 ("),
        "{shown}"
    );
}

#[test]
fn coefficients_that_are_wrong_are_refused_before_anything_runs() {
    let study_of = |energy: &str| format!("name = 's'\n{energy}\n[sweep]\nnetwork = 'digits'\n");
    let told = |energy: &str| {
        let study = Studied::new(&study_of(energy));
        fs::write(study.folder.path().join("mine.toml"), "base = 'default'\n\n[cbuf]\nraed = 1\n").unwrap();
        let told = study.told(&["study.toml"]);
        assert!(!study.file("points.jsonl").exists(), "{told}");
        told
    };
    assert!(told("energy = 'mine.toml'").contains("mine.toml:4: [cbuf] has no `raed`; nearest: read"));
    assert!(told("energy = 'none.toml'").contains("study.toml:2: energy = \"none.toml\": cannot read: "));
    assert!(told("[energy.mac]\nint8 = 1").contains("[energy.mac] int16 is missing"));
    let study = Studied::new(&study_of(""));
    fs::write(study.folder.path().join("mine.toml"), "base = 'default'\n[memory]\ndram = -1\n").unwrap();
    let run = |arguments: &[&str]| {
        let output = study.other(arguments);
        assert!(!output.status.success());
        text(&output.stderr)
    };
    let told = run(&["run", "digits", "--energy", "mine.toml"]);
    assert!(told.contains("mine.toml:3: [memory] dram = -1: picojoules, from 0 to 1e9"), "{told}");
    assert!(run(&["run", "--energy", "default"]).contains("--energy"));
}
