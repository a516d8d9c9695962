//! Every public name of the kernel is used in an example that is compiled: beside it in the same file, or in
//! the guide.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the files that a folder of the sources holds, without its folders.
fn sources(folder: &str, ending: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(folder).expect("a readable folder");
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == ending))
        .collect();
    found.sort();
    found
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
}

/// The words of the Rust examples in a text of documentation.
fn examples<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    let (mut inside, mut compiled, mut used) = (false, false, BTreeSet::new());
    for line in lines {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            inside = !inside;
            compiled = inside && matches!(language.trim(), "" | "no_run" | "should_panic");
        } else if compiled {
            used.extend(words(line));
        }
    }
    used
}

/// The documentation of a source file, without its comment marks.
fn documentation(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
    })
}

/// The name of the public function, type or constant that a line declares.
fn declared(line: &str) -> Option<&str> {
    let mut words = line.trim_start().strip_prefix("pub ")?.split_whitespace();
    let mut word = words.next()?;
    while matches!(word, "const" | "async") {
        let next = words.next()?;
        // A constant's name follows at once.
        if next.ends_with(':') {
            return Some(next.trim_end_matches(':'));
        }
        word = next;
    }
    let name = matches!(word, "fn" | "struct" | "enum" | "trait" | "type").then(|| words.next())??;
    name.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
}

#[test]
fn every_public_name_is_used_in_an_example() {
    let read = |file: &PathBuf| fs::read_to_string(file).expect("a readable file");
    let guide: Vec<String> = sources("src/guide", "md").iter().map(read).collect();
    let guide = examples(guide.iter().flat_map(|chapter| chapter.lines()));
    let mut missing = Vec::new();
    for file in sources("src", "rs") {
        let source = read(&file);
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        let used = examples(documentation(source));
        for name in source.lines().filter_map(declared) {
            if !used.contains(name) && !guide.contains(name) {
                missing.push(format!("{}: {name}", file.display()));
            }
        }
    }
    assert!(missing.is_empty(), "without an example:\n{}", missing.join("\n"));
}

#[test]
fn declarations_are_found() {
    assert_eq!(declared("pub struct Clock {"), Some("Clock"));
    assert_eq!(declared("    pub const fn ns(n: u64) -> Time {"), Some("ns"));
    assert_eq!(declared("    pub const MAX: Time = Time(u64::MAX);"), Some("MAX"));
    assert_eq!(declared("pub async fn join<A: Future>(a: A) {"), Some("join"));
    assert_eq!(declared("    pub(crate) fn inner() {"), None);
    assert_eq!(declared("pub use clock::Clock;"), None);
    assert_eq!(
        examples("```\nlet a = b();\n```\nc\n```text\nd\n```".lines()),
        BTreeSet::from(["", "a", "b", "let"])
    );
}
