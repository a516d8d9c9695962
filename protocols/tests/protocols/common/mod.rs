//! Helpers that several tests of this crate need.

// Each test is a program of its own, and needs a part of it.
#![allow(dead_code)]

use std::io::Write;
use std::path::Path;

/// Returns the number of cases that a property is tried on: as many as usual, or `VP_TEST_EFFORT` times as many.
pub(crate) fn cases(usual: u32) -> u32 {
    let effort = std::env::var("VP_TEST_EFFORT").map_or(1, |effort| {
        effort
            .parse()
            .unwrap_or_else(|_| panic!("VP_TEST_EFFORT: {effort:?} is no number of times, such as 50"))
    });
    usual.saturating_mul(effort)
}

/// A file of bytes that other implementations sent, from the folder `protocols` of the conformance data: a folder `shared` beside
/// the repository or above, or where `VP_SHARED` says. Without it, says what is skipped.
pub(crate) fn conformance_file(name: &str) -> Option<String> {
    let found = match std::env::var_os("VP_SHARED") {
        Some(named) => Some(Path::new(&named).to_owned()),
        None => {
            let here = Path::new(env!("CARGO_MANIFEST_DIR"));
            here.ancestors()
                .map(|above| above.join("shared"))
                .find(|folder| folder.join("protocols").is_dir())
        }
    };
    let file = found.map(|root| root.join("protocols").join(name)).filter(|file| file.is_file());
    if file.is_none() {
        say(&format!("skipped: {name}: no conformance data"));
    }
    file.map(|file| {
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    })
}

/// One line of a test's findings, past the test harness, which keeps what passing tests print.
pub(crate) fn say(line: &str) {
    // Nothing is left to be done if standard error is closed.
    _ = writeln!(std::io::stderr(), "{line}");
}

/// The bytes of hexadecimal digits, spaces between them or not.
pub(crate) fn bytes(digits: &str) -> Vec<u8> {
    let digits: String = digits.split_whitespace().collect();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("two hexadecimal digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// The entries of one of our files of vectors: name, what it means, its bytes.
pub(crate) fn own_vectors(file: &str) -> Vec<(&str, &str, Vec<u8>)> {
    let lines: Vec<&str> = file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(!lines.is_empty() && lines.len().is_multiple_of(3), "name, means, bytes");
    lines
        .chunks(3)
        .map(|lines| {
            let part = |line: usize, key| {
                lines[line].strip_prefix(key).unwrap_or_else(|| panic!("{}: no line `{key}`", lines[0]))
            };
            (lines[0], part(1, "means: "), bytes(part(2, "bytes: ")))
        })
        .collect()
}

/// Hexadecimal digits, two a byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
