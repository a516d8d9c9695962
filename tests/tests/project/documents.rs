//! The documents: what they link to is there, down to the heading.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A document's headings, as links name them, and its links to files here.
#[derive(Default)]
struct Document {
    anchors: Vec<String>,
    links: Vec<String>,
}

impl Document {
    fn read(path: &Path) -> Document {
        let text =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (mut document, mut heading) = (Document::default(), None::<String>);
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    document.anchors.extend(heading.take().map(|it| anchor(&it)));
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. })
                    if !dest_url.contains("://") =>
                {
                    document.links.push(dest_url.to_string());
                }
                _ => {}
            }
        }
        document
    }
}

/// Name of a heading in a link: in small letters, without punctuation, with hyphens for spaces.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
}

/// The Markdown files of these folders, without what is below them.
fn documents(root: &Path) -> Vec<PathBuf> {
    let folders = [
        ".",
        "docs",
        "docs/tutorials",
        "networks",
        "networks/digits",
        "tests/bench",
        "tests/data/systemc-orders",
    ];
    let files = folders.iter().flat_map(|folder| {
        let folder = root.join(folder);
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    });
    let files = files.map(|file| file.expect("a file").path());
    files.filter(|file| file.extension().is_some_and(|extension| extension == "md")).collect()
}

#[test]
fn what_documents_link_to_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = documents(&root);
    assert!(files.len() > 20, "{} documents", files.len());
    let mut read: BTreeMap<PathBuf, Document> = BTreeMap::new();
    let (mut wrong, mut links) = (Vec::new(), 0);
    for file in &files {
        for link in Document::read(file).links {
            links += 1;
            let (path, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => file.clone(),
                path => file.with_file_name("").join(path),
            };
            let is_there = target.exists()
                && (heading.is_empty()
                    || read
                        .entry(target.clone())
                        .or_insert_with(|| Document::read(&target))
                        .anchors
                        .iter()
                        .any(|anchor| anchor == heading));
            if !is_there {
                wrong.push(format!("{}: {link}", file.display()));
            }
        }
    }
    assert!(links > 100, "{links} links");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A reader comes to each page from the README or from another page.
#[test]
fn each_page_is_linked_to() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = documents(&root);
    let linked: Vec<String> = files.iter().flat_map(|file| Document::read(file).links).collect();
    for file in files.iter().filter(|file| file.parent().is_some_and(|folder| folder.ends_with("docs"))) {
        let name = file.file_name().expect("a name").to_string_lossy();
        let is_linked = linked
            .iter()
            .any(|link| link.split('#').next().is_some_and(|path| path.rsplit('/').next() == Some(&*name)));
        assert!(is_linked, "nothing links to {name}");
    }
}

#[test]
fn the_page_about_platform_files_is_what_the_types_say() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/platform-file.md");
    let written = std::fs::read_to_string(file).expect("docs/platform-file.md");
    assert!(
        written == vp_tests::platform_file::page(),
        "cargo run -p vp-tests --bin make-platform-file docs/platform-file.md"
    );
}

#[test]
fn the_readme_is_short() {
    let readme = include_str!("../../../README.md");
    assert!(readme.lines().count() <= 130, "{} lines", readme.lines().count());
}

#[test]
fn the_site_has_every_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let listed = Document::read(&root.join("docs/book/SUMMARY.md")).links;
    let pages = documents(&root).into_iter().map(|page| {
        let page = page.strip_prefix(&root).expect("a file of the project").display().to_string();
        page.trim_start_matches("./").to_owned()
    });
    let is_of_docs = |page: &String| page.starts_with("docs/") || !page.contains('/');
    let mut missing: Vec<String> = pages.filter(is_of_docs).filter(|page| !listed.contains(page)).collect();
    missing.sort();
    assert!(missing.is_empty(), "not in docs/book/SUMMARY.md: {missing:?}");
    for page in &listed {
        assert!(root.join(page).exists(), "docs/book/SUMMARY.md: there is no {page}");
    }
}
