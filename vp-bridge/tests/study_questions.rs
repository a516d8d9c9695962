//! Studies about energy and about designs: the files in `studies/`, run small, and what is refused before anything runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A folder for a study.
struct Studied(TempDir);

impl Studied {
    fn new(text: &str) -> Studied {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("study.toml"), text).unwrap();
        Studied(folder)
    }

    /// One of the repository's, with some of its text changed.
    fn shipped(name: &str, changes: &[(&str, &str)]) -> Studied {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../studies").join(name);
        let mut text = fs::read_to_string(path).unwrap();
        for (from, to) in changes {
            assert!(text.contains(from), "{name} has no `{from}`");
            text = text.replace(from, to);
        }
        Studied::new(&text)
    }

    fn vp(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vp"));
        command.current_dir(self.0.path()).args(arguments).output().unwrap()
    }

    fn shown(&self) -> String {
        let output = self.vp(&["study", "study.toml"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What a run that is refused says.
    fn told(&self, arguments: &[&str]) -> String {
        let output = self.vp(arguments);
        assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("study.results").join(name)
    }

    /// A column of numbers of a table; what is empty is none.
    fn numbers(&self, table: &str, name: &str) -> Vec<Option<f64>> {
        let mut reader = csv::Reader::from_path(self.path(table)).unwrap();
        let column = reader.headers().unwrap().iter().position(|column| column == name);
        let column = column.unwrap_or_else(|| panic!("{table} has no {name}"));
        reader.records().map(|row| row.unwrap()[column].parse().ok()).collect()
    }

    fn all(&self, table: &str, name: &str) -> Vec<f64> {
        self.numbers(table, name).into_iter().map(Option::unwrap).collect()
    }
}

const PARTS: [&str; 7] = ["macs", "idle_macs", "cbuf", "units", "sram", "dram", "cycles"];

#[test]
fn a_study_estimates_energy_of_layers_and_frames() {
    let study =
        Studied::shipped("energy.toml", &[("\"resnet50\", \"googlenet\", \"mobilenet_v1\"", "\"lenet\"")]);
    let shown = study.shown();
    assert!(shown.contains("8 points, 0 failed"), "{shown}");
    let whole = study.all("results.csv", "energy_uj");
    for table in ["results.csv", "layers.csv"] {
        let parts = PARTS.map(|part| study.all(table, &format!("energy.{part}_uj")));
        for (row, all) in study.all(table, "energy_uj").into_iter().enumerate() {
            let sum: f64 = parts.iter().map(|part| part[row]).sum();
            assert!((sum - all).abs() <= 1e-9 * all, "{table} {row}: {sum} {all}");
        }
    }
    let (points, of_layers) = (study.all("layers.csv", "point"), study.all("layers.csv", "energy_uj"));
    for (point, all) in (1..).zip(&whole) {
        let sum: f64 =
            points.iter().zip(&of_layers).filter(|(of, _)| **of == f64::from(point)).map(|it| it.1).sum();
        assert!((sum - all).abs() <= 1e-9 * all, "{point}: {sum} {all}");
    }
    // Time costs nothing, and latency moves no bytes.
    assert_eq!(
        study.all("results.csv", "energy_per_frame_uj")[0],
        study.all("results.csv", "energy_per_frame_uj")[3]
    );
    assert!(study.all("results.csv", "power_mw")[0] > study.all("results.csv", "power_mw")[3]);
    let page = fs::read_to_string(study.path("report.html")).unwrap();
    assert!(page.contains("Energy, an estimate") && page.contains("45 nm, 0.9 V"));
}

#[test]
fn energy_follows_the_coefficients_and_runs_nothing_again() {
    let text = "name = 's'\n[energy]\nbase = 'default'\nmac.int8 = 1.0\n[sweep]\nnetwork = 'lenet'\nplatform = 'nv_small'\n";
    let study = Studied::new(text);
    study.shown();
    let kept = fs::read(study.path("points.jsonl")).unwrap();
    let (macs, before) = (study.all("results.csv", "macs"), study.all("results.csv", "energy.macs_uj"));
    assert_eq!(before[0], macs[0] / 1e6);
    fs::write(study.0.path().join("study.toml"), text.replace("1.0", "2.0")).unwrap();
    study.shown();
    assert_eq!(study.all("results.csv", "energy.macs_uj")[0], 2.0 * before[0]);
    assert_eq!(fs::read(study.path("points.jsonl")).unwrap(), kept);
}

#[test]
fn coefficients_that_are_wrong_are_refused_before_anything_runs() {
    let text = |energy: &str| format!("name = 's'\n{energy}\n[sweep]\nnetwork = 'digits'\n");
    let told = |energy: &str| {
        let study = Studied::new(&text(energy));
        fs::write(study.0.path().join("mine.toml"), "base = 'default'\n\n[cbuf]\nraed = 1\n").unwrap();
        let told = study.told(&["study", "study.toml"]);
        assert!(!study.path("points.jsonl").exists(), "{told}");
        told
    };
    assert!(told("energy = 'mine.toml'").contains("mine.toml:4: [cbuf] has no `raed`; nearest: read"));
    assert!(told("energy = 'none.toml'").contains("study.toml:2: energy = \"none.toml\": cannot read: "));
    assert!(told("[energy.mac]\nint8 = 1").contains("[energy.mac] int16 is missing"));
    let study = Studied::new(&text(""));
    fs::write(study.0.path().join("mine.toml"), "base = 'default'\n[memory]\ndram = -1\n").unwrap();
    let told = study.told(&["run", "digits", "--energy", "mine.toml"]);
    assert!(told.contains("mine.toml:3: [memory] dram = -1: picojoules, from 0 to 1e9"), "{told}");
    assert!(study.told(&["run", "--energy", "default"]).contains("--energy"));
}

#[test]
fn the_built_in_coefficients_are_written_and_read_again() {
    let study = Studied::new("");
    let written = study.vp(&["study", "energy", "mine.toml"]);
    assert!(written.status.success());
    let run = |coefficients: &str| {
        let output = study.vp(&["run", "lenet", "--timed", "--json", "--energy", coefficients]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let (mine, built_in) = (run("mine.toml"), run("default"));
    assert_eq!(mine, built_in);
    assert!(mine["energy_per_frame_uj"].as_f64().unwrap() > 0.0 && mine["power_mw"].as_f64().unwrap() > 0.0);
    let layers = mine["layers"].as_array().unwrap();
    let sum: f64 = layers.iter().map(|layer| layer["energy_uj"].as_f64().unwrap()).sum();
    assert!((sum - mine["energy_uj"].as_f64().unwrap()).abs() < 1e-9 * sum);
    let text = study.vp(&["run", "lenet", "--timed", "--energy", "default"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("an estimate, 45 nm, 0.9 V"), "{text}");
}

#[test]
fn designs_are_compared_by_their_area() {
    let changes = [
        ("\"mobilenet_v1\", \"resnet50\"", "\"lenet\""),
        ("[1, 2, 4, 8]", "[1, 8]"),
        ("    [32, 32, 16, 16],\n    [32, 32, 32, 32],\n", ""),
    ];
    let study = Studied::shipped("design_space.toml", &changes);
    let shown = study.shown();
    assert!(
        shown.contains("16 points, 0 failed") && shown.contains("the Pareto front over area.macs"),
        "{shown}"
    );
    let (macs, cbuf) = (study.all("results.csv", "area.macs"), study.all("results.csv", "area.cbuf_bytes"));
    assert_eq!((macs[0], macs[15]), (64.0, 2048.0));
    // Sixteen banks and 32 of them, 512 rows of eight bytes each.
    assert_eq!((cbuf[0], cbuf[2]), (65_536.0, 131_072.0));
    let frames = study.all("results.csv", "frames_per_second");
    assert!(frames[15] > frames[0], "{frames:?}");
    let page = fs::read_to_string(study.path("report.html")).unwrap();
    assert!(page.contains("Pareto front") && page.contains("The front: lenet"));
}

#[test]
fn a_design_that_the_rtl_cannot_be_is_refused_by_name() {
    let told = |parameters: &str| {
        let text = format!("name = 's'\n[sweep]\nnetwork = 'digits'\nplatform = 'nv_small'\n{parameters}\n");
        let study = Studied::new(&text);
        let told = study.told(&["study", "study.toml"]);
        assert!(!study.path("points.jsonl").exists(), "{told}");
        told
    };
    let names = "'nvdla.mac_atomic_c, nvdla.cbuf_bank_width'";
    assert!(
        told("'nvdla.mac_atomic_c' = [16, 32]")
            .contains("cbuf_bank_width = 8 is impossible: must be as large as mac_atomic_c (16)")
    );
    assert!(
        told(&format!("{names} = [64]"))
            .contains("mac_atomic_c = 64 is impossible: must be as large as mac_atomic_k (8), or twice")
    );
    assert!(
        told("'nvdla.mac_atomic_k' = 4")
            .contains("mac_atomic_k = 4 is impossible: must be as large as memory_atom (8)")
    );
    assert!(told("'nvdla.cbuf_banks' = 64").contains("cbuf_banks = 64 is impossible: must be 2 to 32"));
    assert!(
        told("'nvdla.primary_width' = 96")
            .contains("primary_width = 96 is impossible: must be a power of two")
    );
}
