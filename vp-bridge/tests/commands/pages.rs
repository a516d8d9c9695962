//! The sessions that pages show are what a terminal shows.

use crate::common::process::Ended as _;
use std::path::Path;
use std::process::Command;

/// Words of commands that need other programs, or minutes: tests of their own hold what they show (`attach.rs`, `live.rs`, `saved.rs`, and
/// QEMU's).
const ELSEWHERE: [&str; 6] = ["resnet50", "vp qemu", "--connect", "vp serve", "vp attach", "vp where"];

/// A command of the page, and what it shows there.
struct Step<'a> {
    command: &'a str,
    shown: Vec<&'a str>,
}

fn steps(block: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::<Step<'_>>::new();
    for line in block.trim_start_matches('\n').lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command, shown: Vec::new() }),
            (None, Some(step)) => step.shown.push(line),
            (None, None) => {}
        }
    }
    for step in &mut steps {
        while step.shown.last().is_some_and(|line| line.is_empty()) {
            step.shown.pop();
        }
    }
    steps
}

/// Returns true if lines are those of the page, which leaves some out where it has `…`.
fn is_shown(lines: &[&str], shown: &[&str]) -> bool {
    match (shown, lines) {
        ([], lines) => lines.is_empty(),
        (["…", rest @ ..], lines) => (0..=lines.len()).any(|from| is_shown(&lines[from..], rest)),
        ([one, rest @ ..], [line, more @ ..]) => one == line && is_shown(more, rest),
        (_, []) => false,
    }
}

/// Runs what a page shows, block by block, and gives the commands. `goes_on`: each block goes on in the folder of the one before.
fn commands_of(page: &str, goes_on: bool) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let page = std::fs::read_to_string(root.join(page)).unwrap();
    let folders = || {
        let folder = tempfile::tempdir().unwrap();
        for data in ["traces", "networks"] {
            std::os::unix::fs::symlink(root.join(data), folder.path().join(data)).unwrap();
        }
        folder
    };
    let mut folder = folders();
    let programs = Path::new(env!("CARGO_BIN_EXE_vp")).parent().unwrap().display();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let mut commands = Vec::new();
    for block in page.split("```").skip(1).step_by(2).filter(|block| block.starts_with("\n$ ")) {
        if ELSEWHERE.iter().any(|word| block.contains(word)) {
            continue;
        }
        if !goes_on {
            folder = folders();
        }
        for Step { command, shown } in steps(block) {
            if let Some(file) = command.strip_prefix("cat ").map(|file| folder.path().join(file))
                && !file.exists()
            {
                // What a user has written.
                std::fs::write(&file, shown.join("\n") + "\n").unwrap();
            }
            let mut shell = Command::new("bash");
            shell.args(["-c", &format!("({command}) 2>&1")]).current_dir(folder.path()).env("PATH", &path);
            let output = shell.ended();
            let text = String::from_utf8(output.stdout).unwrap();
            let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
            assert!(is_shown(&lines, &shown), "{command} shows\n{text}\nand the page\n{}", shown.join("\n"));
            commands.push(command.to_owned());
        }
    }
    commands
}

#[test]
fn tutorials_show_what_a_terminal_does() {
    for (page, wanted) in [
        ("docs/tutorials/first-layer.md", "vp run wide.cfg"),
        ("docs/tutorials/network.md", "vp run digits.nvdla --platform nv_small --input digit.bin"),
        ("docs/tutorials/study.md", "vp study small.toml"),
    ] {
        let commands = commands_of(page, true);
        assert!(commands.iter().any(|ran| ran == wanted), "{page}: {commands:?}");
    }
}

#[test]
fn a_terminal_shows_what_the_page_about_seeing_inside_does() {
    let commands = commands_of("docs/inside.md", false);
    for command in
        ["vp run", "vp replay", "vp diff", "head ", "vp run traces/nv_small/pdp_max_3x3_s2_16x16x16 --faults"]
    {
        assert!(
            commands.iter().any(|ran| ran.starts_with(command)),
            "{command} is not on the page: {commands:?}"
        );
    }
}
