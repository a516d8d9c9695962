//! First words of doc comments: each says what its item is, and stands alone.

use std::path::{Path, PathBuf};

/// Words that ask, also behind a preposition.
const QUESTIONS: [&str; 10] =
    ["what", "whether", "how", "when", "which", "who", "whose", "whom", "where", "why"];
#[rustfmt::skip]
const PREPOSITIONS: [&str; 16] = [
    "after", "at", "behind", "by", "for", "from", "in", "into", "of", "on", "since", "to", "until", "up to", "with", "under",
];
/// Words that go on from the line before.
#[rustfmt::skip]
const CONTINUATIONS: [&str; 30] = [
    "it", "its", "they", "their", "theirs", "that", "those", "these", "there", "here", "he", "she", "we", "you", "i",
    "and", "but", "or", "nor", "so", "also", "then", "too", "such", "same", "the same", "neither", "otherwise", "instead", "…",
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

/// The rest of a text in lower case that begins with one of the words.
fn behind<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().find_map(|word| {
        let rest = text.strip_prefix(word)?;
        (*word == "…" || !rest.starts_with(char::is_alphanumeric)).then_some(rest.trim_start())
    })
}

fn is_leaning(said: &str) -> bool {
    let said = said.trim_start().to_lowercase();
    let asks = |text: &str| behind(text, &QUESTIONS).is_some();
    asks(&said) || behind(&said, &CONTINUATIONS).is_some() || behind(&said, &PREPOSITIONS).is_some_and(asks)
}

/// First lines of a file's doc comments that ask, or go on from the line before.
fn leaning(text: &str) -> Vec<(usize, &str)> {
    let mut was_doc = false;
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let said = doc(line);
        if said.is_some_and(|said| !was_doc && is_leaning(said)) {
            found.push((at + 1, line.trim()));
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
        wrong.extend(leaning(&text).into_iter().map(|(line, said)| format!("{name}:{line}: {said}")));
    }
    assert!(wrong.is_empty(), "{} doc comments say no thing:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn only_the_first_line_of_a_doc_comment_counts() {
    let text =
        "/// Number of reads.\n/// It may be zero.\nfn a() {}\n/// Whether it reads.\nfn b() {}\n/// Item.\n";
    assert_eq!(leaning(text), [(4, "/// Whether it reads.")]);
}

#[test]
fn questions_and_continuations_are_found_with_whatever_follows_them() {
    for said in [
        "Why.",
        "Its place.",
        "It's one.",
        "…and the rest.",
        "Of what.",
        "Up to when it goes.",
        "The same of it.",
    ] {
        assert!(is_leaning(said), "{said}");
    }
    for said in ["Iterator of places.", "Number of reads.", "Orders reads.", "Whole file.", "In-order queue."]
    {
        assert!(!is_leaning(said), "{said}");
    }
}
