//! Name of the commit that the program is of, for `vp --version`.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Builds for development would be made again with each commit, for nothing.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = if is_release { commit() } else { None };
    println!("cargo::rustc-env=VP_COMMIT={}", commit.unwrap_or_default());
}

/// The commit's short name, where this is a repository and git is here.
fn commit() -> Option<String> {
    let folder = git(&["rev-parse", "--absolute-git-dir"])?;
    // HEAD says which branch is checked out, and its log grows with each commit.
    for file in ["HEAD", "logs/HEAD"] {
        let file = Path::new(&folder).join(file);
        if file.exists() {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
