//! Texts of files and arguments reach the terminal, tables and pages as text, and as nothing else.

use crate::common::process::Ended as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;
use vp_models::printable::is_unfit;

/// Sets a colour that this program does not use, names the window, moves the cursor in one character, turns the line round, and begins another one.
const HOSTILE: &str = "x\u{1b}[35m\u{1b}]0;owned\u{7}\u{9b}3A\u{202e}\u{2066}\u{2028}y";
/// As it is shown.
const SHOWN: &str = "x?[35m?]0;owned??3A???y";
/// As TOML and JSON have it.
const ESCAPED: &str = "x\\u001b[35m\\u001b]0;owned\\u0007\\u009b3A\\u202e\\u2066\\u2028y";

/// A folder with files that have such texts in them.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "net.toml",
        &format!(
            "name = \"{ESCAPED}\"\nseed = 1\ninput = {{ width = 4, height = 4, channels = 8 }}\n[[layer]]\n\
             kind = 'convolution'\nname = \"{ESCAPED}\"\nkernels = 8\nkernel = [1, 1]\n"
        ),
    );
    write("wrong.toml", &format!("name = 'x'\n\"{ESCAPED}\" = 1\n"));
    write("platform.toml", &format!("name = \"{ESCAPED}\"\n[nvdla]\nbase = 'nv_small'\n"));
    write("base.toml", &format!("name = 'x'\n[nvdla]\nbase = \"{ESCAPED}\"\n"));
    let columns = "layer,in_channels,in_height,in_width,out_channels,kernel_height,kernel_width,stride_y,stride_x,\
                   out_height,out_width,pool";
    // A line end of Unicode is none of a sheet.
    write("sheet.csv", &format!("{columns}\n{HOSTILE},8,4,4,8,1,1,1,1,4,4,False\n"));
    write("wrong.csv", &format!("{columns}\na,{HOSTILE},4,4,8,1,1,1,1,4,4,False\n"));
    write("script.cfg", &format!("reg_write({HOSTILE}, 0x1);\n"));
    write("script.txn", &format!("write_reg {HOSTILE} 0x1\n"));
    write(
        "study.toml",
        &format!(
            "name = \"{ESCAPED}\"\nabout = \"{ESCAPED}\"\n[sweep]\nplatform = 'nv_small'\nnetwork = ['net.toml', \"{ESCAPED}\"]\n"
        ),
    );
    folder
}

fn vp(folder: &Path, arguments: &[&str]) -> Output {
    // As on a terminal, with colours.
    Command::new(env!("CARGO_BIN_EXE_vp"))
        .current_dir(folder)
        .env("CLICOLOR_FORCE", "1")
        .args(arguments)
        .ended()
}

/// A text without the colours of this program.
fn without_colours(text: &str) -> String {
    let mut text = text.to_owned();
    for colour in ["0", "1", "2", "4", "31", "32", "33", "36"] {
        text = text.replace(&format!("\u{1b}[{colour}m"), "");
    }
    text
}

fn check(what: &str, text: &str) {
    let text = without_colours(text);
    let unfit = text.char_indices().find(|(_, c)| is_unfit(*c) && !matches!(c, '\n' | '\t'));
    if let Some((at, c)) = unfit {
        let from = text[..at].rfind('\n').map_or(0, |line| line + 1);
        panic!("{what} shows {c:?}: {:?}", text[from..].lines().next());
    }
}

/// Runs a command, checks that what it shows is fit, and returns it.
fn shows(folder: &Path, arguments: &[&str]) -> String {
    let output = vp(folder, arguments);
    let mut all = String::new();
    for (stream, bytes) in [("standard output", &output.stdout), ("standard error", &output.stderr)] {
        let text = String::from_utf8(bytes.clone()).unwrap();
        check(&format!("{arguments:?}: {stream}"), &text);
        all += &text;
    }
    all
}

#[test]
fn texts_of_files_move_no_cursor_and_turn_no_line() {
    let folder = folder();
    for arguments in [
        &["run", "net.toml", "--timed"][..],
        &["run", "sheet.csv", "--timed"],
        &["run", "wrong.csv"],
        &["run", "net.toml", "--platform", "base.toml"],
        &["platform", "print", "base.toml"],
        &["run", "net.toml", "--timed", "--csv", "-"],
    ] {
        let all = without_colours(&shows(folder.path(), arguments));
        assert!(all.contains("owned"), "{arguments:?} says nothing of it: {all}");
        assert!(!all.contains("[35m\u{1b}"), "{all}");
    }
    for arguments in [
        &["run", "wrong.toml"][..],
        &["run", "script.cfg"],
        &["run", "script.txn"],
        &["run", "net.toml", "--platform", "platform.toml"],
        &["serve", "--platform", "platform.toml"],
    ] {
        shows(folder.path(), arguments);
    }
}

#[test]
fn arguments_move_no_cursor_and_turn_no_line() {
    let folder = folder();
    let option = format!("--{HOSTILE}");
    let hidden = format!("{HOSTILE}.toml");
    for arguments in [
        &[HOSTILE][..],
        &["run", &option],
        &["run", &hidden],
        &["run", "net.toml", "--platform", HOSTILE],
        &["run", "net.toml", "--frames", HOSTILE],
        &["serve", "--listen", HOSTILE],
        &["study", &hidden],
        &["replay", &hidden],
    ] {
        let all = shows(folder.path(), arguments);
        assert!(all.contains(SHOWN), "{arguments:?}: {all}");
    }
}

#[test]
fn tables_have_texts_that_are_fit_and_json_has_them_escaped() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    shows(folder.path(), &["run", "net.toml", "--timed", "--csv", "net.csv"]);
    let table = read(path("net.csv"));
    check("net.csv", &table);
    assert!(table.contains(SHOWN), "{table}");

    let json = shows(folder.path(), &["run", "net.toml", "--timed", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(value.to_string().contains(&serde_json::to_string(HOSTILE).unwrap()), "the text itself: {json}");
}

#[test]
fn a_studys_tables_and_its_page_have_texts_that_are_fit() {
    let folder = folder();
    let all = shows(folder.path(), &["study", "study.toml", "--keep-going"]);
    assert!(all.contains("2 points, 1 failed"), "{all}");
    let results = folder.path().join("study.results");
    for name in ["results.csv", "layers.csv"] {
        let table = fs::read_to_string(results.join(name)).unwrap();
        check(name, &table);
        assert!(table.contains(SHOWN), "{name}: {table}");
    }
    let page = fs::read_to_string(results.join("report.html")).unwrap();
    check("report.html", &page);
    assert!(page.contains(SHOWN), "no {SHOWN}");
    check("points.jsonl", &fs::read_to_string(results.join("points.jsonl")).unwrap());
}
