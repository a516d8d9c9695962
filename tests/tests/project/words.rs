//! First words of doc comments: each says what its item is, and stands alone.

use std::path::{Path, PathBuf};

/// Words with which a doc comment asks, or leans on the line before.
const OPENINGS: [&str; 14] = [
    "What", "Whether", "How", "When", "Which", "Who", "Where", "Why", "It", "They", "Those", "Its",
    "The same", "Of what",
];

/// Files of which some doc comments are texts that a program shows: options' help, registers' descriptions, the C header, Python's
/// documentation, and the page of platform files.
const SHOWN: [&str; 35] = [
    "clients/c/src/debugger.rs",
    "clients/c/src/lib.rs",
    "clients/c/src/memory.rs",
    "clients/c/src/pins.rs",
    "clients/c/src/ports.rs",
    "clients/python/src/host.rs",
    "clients/python/src/partner.rs",
    "tests/src/bin/soak/main.rs",
    "vp-bridge/src/cli/attach_device.rs",
    "vp-bridge/src/cli/check_peer.rs",
    "vp-bridge/src/cli/hosts.rs",
    "vp-bridge/src/cli/live/memory.rs",
    "vp-bridge/src/cli/live/mod.rs",
    "vp-bridge/src/cli/observing.rs",
    "vp-bridge/src/cli/parts/mod.rs",
    "vp-bridge/src/cli/platform.rs",
    "vp-bridge/src/cli/qemu.rs",
    "vp-bridge/src/cli/regs/formats.rs",
    "vp-bridge/src/cli/regs/mod.rs",
    "vp-bridge/src/cli/run/mod.rs",
    "vp-bridge/src/cli/save.rs",
    "vp-bridge/src/cli/serve.rs",
    "vp-bridge/src/cli/study/merge.rs",
    "vp-bridge/src/cli/study/mod.rs",
    "vp-bridge/src/cli/study/published.rs",
    "vp-bridge/src/cli/terminal.rs",
    "vp-models/src/fpga_ai_suite/architecture.rs",
    "vp-models/src/fpga_ai_suite/registers.rs",
    "vp-models/src/memory/cache.rs",
    "vp-models/src/memory/dram/mod.rs",
    "vp-models/src/memory/traffic.rs",
    "vp-models/src/nvdla/registers/pdp.rs",
    "vp-models/src/nvdla/registers/sdp_rdma.rs",
    "vp-models/src/outside_device/description.rs",
    "vp-models/src/platform/description.rs",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            // What cargo builds into has this mark.
            if !name.starts_with('.') && !path.join("CACHEDIR.TAG").exists() {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

fn doc(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
}

/// Lines of a file that begin a doc comment so.
fn leaning(text: &str) -> Vec<(usize, &str)> {
    let mut was_doc = false;
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let said = doc(line);
        if let Some(said) = said.filter(|_| !was_doc) {
            let opens = |opening: &&str| {
                said.trim_start()
                    .strip_prefix(*opening)
                    .is_some_and(|rest| rest.starts_with([' ', ',', '\'']))
            };
            if OPENINGS.iter().any(opens) {
                found.push((at + 1, line.trim()));
            }
        }
        was_doc = said.is_some();
    }
    found
}

#[test]
fn doc_comments_begin_with_what_the_thing_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 500, "{} files", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).unwrap();
        let lines = leaning(&text);
        if SHOWN.contains(&name.as_str()) {
            assert!(!lines.is_empty(), "{name} has none any more: strike it from the list");
            continue;
        }
        wrong.extend(lines.into_iter().map(|(line, said)| format!("{name}:{line}: {said}")));
    }
    assert!(wrong.is_empty(), "{} doc comments say no thing:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn only_the_first_line_of_a_doc_comment_counts() {
    let text =
        "/// Number of reads.\n/// It may be zero.\nfn a() {}\n/// Whether it reads.\nfn b() {}\n/// Item.\n";
    assert_eq!(leaning(text), [(4, "/// Whether it reads.")]);
}
