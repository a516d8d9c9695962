//! `package.sh`: what it makes of the programs that were built, as it is on another machine.

use crate::common::process::Ended as _;
use crate::common::tools;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder_of_programs() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_vp")).parent().unwrap()
}

fn package(arguments: &[&OsStr], target: &Path) -> Output {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    Command::new(project.join("package.sh")).args(arguments).env("CARGO_TARGET_DIR", target).ended()
}

/// Makes a package; nothing, said aloud, where QEMU's library or the tool was not built here.
fn made(kind: &str, tool: &str, target: &Path) -> Option<PathBuf> {
    let library = folder_of_programs().join("deps/libvp_qemu.so");
    if !library.exists() || Command::new(tool).arg("--version").output().is_err() {
        tools::skipped(
            &format!("package.sh {kind}"),
            &format!("no {tool}, or no libvp_qemu.so (cargo build -p vp-qemu)"),
        );
        return None;
    }
    // Programs that are not optimised take minutes at the level of what is given away.
    let level: [&OsStr; 2] = ["--level".as_ref(), "0".as_ref()];
    let from = [kind.as_ref(), "--from".as_ref(), folder_of_programs().as_os_str()];
    let output = package(&[&from[..], &level[..]].concat(), target);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()))
}

fn unpack(command: &mut Command) {
    let output = command.ended();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The program runs where it was unpacked, and finds QEMU's library; what else belongs to it is there.
fn is_whole(root: &Path, page: &str) {
    let vp = |arguments: &[&str]| {
        Command::new(root.join("bin/vp")).args(arguments).current_dir(root.join("share/vp")).ended()
    };
    let run = vp(&["run", "traces/nv_small/sdp_prelu_5x7x13"]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    // No such QEMU: the library was found before.
    let qemu = vp(&["qemu", "--qemu", "/no/such/qemu"]);
    let said = String::from_utf8_lossy(&qemu.stderr).into_owned();
    assert!(said.contains("/no/such/qemu") && !said.contains("libvp_qemu.so"), "{said}");
    for file in [
        page,
        "share/man/man1",
        "share/bash-completion/completions/vp",
        "share/zsh/vendor-completions/_vp",
        "share/doc/vp/LICENSE-MIT",
        "share/doc/vp/docs/commands.md",
        "include/vp.h",
        "lib/libvp.so",
    ] {
        assert!(root.join(file).exists(), "{file}");
    }
}

#[test]
fn an_archive_is_whole_wherever_it_is_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let Some(archive) = made("archive", "xz", folder.path()) else { return };
    let there = folder.path().join("there");
    fs::create_dir(&there).unwrap();
    unpack(Command::new("tar").arg("xf").arg(&archive).arg("-C").arg(&there));
    let root = there.read_dir().unwrap().next().unwrap().unwrap().path();
    is_whole(&root, "share/man/man1/vp-run.1");
}

#[test]
fn a_debian_package_has_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let Some(package) = made("deb", "dpkg-deb", folder.path()) else { return };
    let there = folder.path().join("there");
    unpack(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&there));
    is_whole(&there.join("usr"), "share/man/man1/vp-run.1.gz");
    let fields = Command::new("dpkg-deb").arg("-f").arg(&package).ended();
    let fields = String::from_utf8(fields.stdout).unwrap();
    let version = format!("Version: {}\n", env!("CARGO_PKG_VERSION"));
    assert!(fields.contains("Package: vp\n") && fields.contains(&version), "{fields}");
    assert!(fields.contains("Depends: libc6 (>= 2."), "{fields}");
}

/// In an environment of its own, and without a package index.
#[test]
fn a_wheel_brings_the_program_and_the_libraries() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder_of_programs().join("deps/libvp_native.so");
    let environment = folder.path().join("environment");
    let has_toml = Command::new("python3").args(["-c", "import tomllib"]).output();
    let python = Command::new("python3").args(["-m", "venv"]).arg(&environment).output();
    if !library.exists()
        || ![has_toml, python].iter().all(|it| it.as_ref().is_ok_and(|it| it.status.success()))
    {
        return tools::skipped(
            "package.sh wheel",
            "no Python 3.11 with venv, or no libvp_native.so (cargo build -p vp-python)",
        );
    }
    let Some(wheel) = made("wheel", "python3", folder.path()) else { return };
    let name = wheel.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("nvdla_vp-") && name.contains("-cp311-abi3-manylinux_2_"), "{name}");
    let install = ["install", "--quiet", "--no-index", "--no-deps"];
    unpack(Command::new(environment.join("bin/pip")).args(install).arg(&wheel));
    let vp = |arguments: &[&str]| Command::new(environment.join("bin/vp")).args(arguments).ended();
    let demo = String::from_utf8(vp(&["demo"]).stdout).unwrap();
    assert!(demo.contains("356 of 360 images"), "{demo}");
    let qemu = vp(&["qemu", "--qemu", "/no/such/qemu"]);
    let said = String::from_utf8_lossy(&qemu.stderr).into_owned();
    assert!(said.contains("/no/such/qemu") && !said.contains("libvp_qemu.so"), "{said}");
    let check = "import importlib.metadata as it; files = {str(file) for file in it.files('nvdla-vp')}; \
                 assert 'vp/_native.abi3.so' in files and 'vp/py.typed' in files, files; print(it.version('nvdla-vp'))";
    let version = Command::new(environment.join("bin/python")).args(["-c", check]).ended();
    assert_eq!(String::from_utf8_lossy(&version.stdout).trim(), env!("CARGO_PKG_VERSION"));
}

#[test]
fn what_was_not_built_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let output = package(&["archive".as_ref(), "--from".as_ref(), folder.path().as_os_str()], folder.path());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains(&format!("error: there is no {}/vp: cargo build", folder.path().display())),
        "{said}"
    );
    for wrong in [&["rpm"][..], &["--level", "10"], &["deb", "--from"]] {
        let arguments: Vec<&OsStr> = wrong.iter().map(OsStr::new).collect();
        assert_eq!(package(&arguments, folder.path()).status.code(), Some(2), "{wrong:?}");
    }
}
