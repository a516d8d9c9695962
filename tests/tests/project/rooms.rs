//! Crates that each crate may know: the arrows of ARCHITECTURE.md, held to what the crates' manifests say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Each crate of the project, where it is, and whom of the others it may depend on.
const ROOMS: [(&str, &str, &[&str]); 25] = [
    // All depend on it, and it has no code.
    ("workspace-hack", "workspace-hack", &[]),
    ("vp-core", "vp-core", &[]),
    ("vp-types", "vp-types", &["vp-core"]),
    ("vp-protocols", "protocols", &["vp-core", "vp-types"]),
    ("vp-models", "vp-models", &["vp-core", "vp-types"]),
    ("vp-hub", "vp-models/hub", &["vp-core", "vp-models", "vp-types"]),
    ("vp-tensors", "vp-models/tensors", &[]),
    ("vp-host", "vp-models/host", &["vp-core", "vp-hub", "vp-models", "vp-tensors"]),
    ("vp-onnx", "vp-models/onnx", &["vp-host", "vp-models", "vp-tensors"]),
    ("vp-shm", "vp-bridge/shm", &[]),
    ("vp-transport", "vp-bridge/transport", &["vp-shm"]),
    ("vp-client", "clients/rust", &["vp-protocols", "vp-shm", "vp-transport"]),
    ("vp-qemu", "qemu-glue", &["vp-client", "vp-shm"]),
    ("vp-native-values", "vp-bridge/native-values", &["vp-hub", "vp-models", "vp-protocols"]),
    ("vp-partner", "vp-bridge/partner", &["vp-client", "vp-core", "vp-hub", "vp-models", "vp-native-values"]),
    ("vp-observers", "vp-bridge/observers", &["vp-core", "vp-host", "vp-hub", "vp-models"]),
    ("vp-recordings", "vp-bridge/recordings", &["vp-core", "vp-hub", "vp-models", "vp-observers"]),
    (
        "vp-server",
        "vp-bridge/server",
        &["vp-core", "vp-hub", "vp-models", "vp-native-values", "vp-protocols", "vp-shm", "vp-transport"],
    ),
    ("vp-remote", "vp-bridge/remote", &["vp-client", "vp-core", "vp-host", "vp-models", "vp-shm"]),
    (
        "vp-check",
        "vp-bridge/check",
        &["vp-hub", "vp-models", "vp-native-values", "vp-protocols", "vp-transport"],
    ),
    ("vp-study", "vp-bridge/study", &["vp-core", "vp-host", "vp-models", "vp-observers", "vp-onnx"]),
    ("vp-c", "clients/c", &["vp-client", "vp-hub", "vp-models", "vp-partner"]),
    (
        "vp-python",
        "clients/python",
        &[
            "vp-client",
            "vp-core",
            "vp-host",
            "vp-hub",
            "vp-models",
            "vp-observers",
            "vp-onnx",
            "vp-partner",
            "vp-recordings",
            "vp-remote",
            "vp-study",
            "vp-tensors",
        ],
    ),
    (
        "vp-bridge",
        "vp-bridge",
        &[
            "vp-check",
            "vp-client",
            "vp-core",
            "vp-host",
            "vp-hub",
            "vp-models",
            "vp-observers",
            "vp-onnx",
            "vp-partner",
            "vp-protocols",
            "vp-recordings",
            "vp-remote",
            "vp-server",
            "vp-study",
            "vp-tensors",
            "vp-transport",
        ],
    ),
    (
        "vp-tests",
        "tests",
        &[
            "vp-core",
            "vp-host",
            "vp-hub",
            "vp-models",
            "vp-onnx",
            "vp-protocols",
            "vp-recordings",
            "vp-remote",
            "vp-server",
            "vp-shm",
            "vp-study",
            "vp-tensors",
            "vp-transport",
        ],
    ),
];

/// Crates that have no async runtime.
const BLOCKING: [&str; 19] = [
    "vp-c",
    "vp-check",
    "vp-core",
    "vp-protocols",
    "vp-shm",
    "vp-models",
    "vp-hub",
    "vp-host",
    "vp-transport",
    "vp-client",
    "vp-native-values",
    "vp-observers",
    "vp-partner",
    "vp-python",
    "vp-qemu",
    "vp-recordings",
    "vp-onnx",
    "vp-tensors",
    "vp-types",
];

fn manifest(folder: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).join("Cargo.toml");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names in a manifest's tables of dependencies, without those of its tests.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut is_wanted = false;
    let mut names = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            is_wanted = line.ends_with("dependencies]") && !line.contains("dev-");
        } else if let Some((name, _)) = line.split_once(['.', '=', ' ']).filter(|_| is_wanted) {
            names.insert(name.to_owned());
        }
    }
    names
}

#[test]
fn every_crate_of_the_project_has_its_place() {
    let text = manifest("");
    let members = text.split_once("members = [").and_then(|(_, rest)| rest.split_once(']')).unwrap().0;
    let members: BTreeSet<&str> =
        members.split('"').skip(1).step_by(2).filter(|member| !member.is_empty()).collect();
    let known: BTreeSet<&str> = ROOMS.iter().map(|(_, folder, _)| *folder).collect();
    assert_eq!(members, known, "the members of the workspace and those in this test");
}

#[test]
fn the_table_of_crates_says_the_same() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md");
    let text = std::fs::read_to_string(path).unwrap();
    for (name, folder, may) in ROOMS {
        let row = text.lines().find_map(|line| line.strip_prefix(&format!("| `{folder}` |")));
        let row = row.unwrap_or_else(|| panic!("ARCHITECTURE.md has no row for {name}"));
        let others = row.trim_end().trim_end_matches('|').rsplit_once('|').unwrap().1;
        if others.contains("all ") {
            continue;
        }
        let others: BTreeSet<&str> = others.split('`').skip(1).step_by(2).collect();
        let short = |name: &&'static str| match *name {
            "vp-core" | "vp-models" | "vp-types" => *name,
            name => name.trim_start_matches("vp-"),
        };
        assert_eq!(others, may.iter().map(short).collect(), "{name}");
    }
}

#[test]
fn arrows_run_downward_only() {
    let rooms: BTreeMap<&str, &[&str]> = ROOMS.iter().map(|(name, _, may)| (*name, *may)).collect();
    for (name, folder, may) in ROOMS {
        let known = dependencies(&manifest(folder));
        let others = known.iter().map(String::as_str).filter(|other| rooms.contains_key(other));
        let others = others.filter(|other| *other != "workspace-hack");
        let forbidden: Vec<&str> = others.filter(|other| !may.contains(other)).collect();
        assert!(forbidden.is_empty(), "{name} must not depend on {forbidden:?}");
    }
}

#[test]
fn kernel_models_protocols_and_clients_have_no_async_runtime() {
    for (name, folder, _) in ROOMS.iter().filter(|(name, ..)| BLOCKING.contains(name)) {
        let known = dependencies(&manifest(folder));
        assert!(!known.is_empty(), "{name} has dependencies of some kind");
        assert!(
            !known.iter().any(|it| it.starts_with("tokio")),
            "{name} must not depend on an async runtime"
        );
    }
}
