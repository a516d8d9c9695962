//! Debian's kernel and its first program, as far as they are here.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::machine::{self, COMPILER};

/// Where `guest/kernel.sh` has put the kernel: `test.sh` calls it.
pub(crate) fn kernel_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/guest-kernel")
}

/// Whether the test can run; says so if not.
pub(crate) fn can_run(test: &str) -> bool {
    if !machine::can_run(test) {
        return false;
    }
    let is_here = kernel_folder().join("uio_pdrv_genirq.ko").exists() && program().is_some();
    if !is_here {
        machine::say(&format!(
            "skipped: {test}: no Debian kernel for QEMU (./test.sh gets it: apt-get install libc6-dev-arm64-cross make xz-utils, \
             qemu-glue/guest/kernel.sh target/guest-kernel)"
        ));
    }
    is_here
}

/// The guest's first program, built once; none where there is no C library for the guest.
fn program() -> Option<&'static [u8]> {
    static BUILT: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        if !Path::new("/usr/aarch64-linux-gnu/lib/libc.a").exists() {
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("init");
        let built = Command::new(COMPILER)
            .args(["-Wall", "-Wextra", "-Werror", "-O1", "-static", "linux.c", "script.c", "-o"])
            .arg(&path)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("guest"))
            .status();
        assert!(built.expect("the compiler runs").success());
        Some(std::fs::read(path).expect("the program"))
    });
    built.as_deref()
}

/// The guest's files.
pub(crate) fn initramfs(script: &[u8]) -> Vec<u8> {
    let kernel = kernel_folder();
    let read = |name: &str| std::fs::read(kernel.join(name)).expect("a file of the kernel's");
    let mut archive = Vec::new();
    member(&mut archive, "init", 0o100_755, program().expect("a program"));
    member(&mut archive, "script", 0o100_644, script);
    for module in ["uio.ko", "uio_pdrv_genirq.ko"] {
        member(&mut archive, module, 0o100_644, &read(module));
    }
    member(&mut archive, "TRAILER!!!", 0, &[]);
    archive
}

/// One file of a cpio archive in the "newc" format: Documentation/driver-api/early-userspace/buffer-format.rst.
fn member(archive: &mut Vec<u8>, name: &str, mode: usize, data: &[u8]) {
    let number = archive.len();
    let fields = [number, mode, 0, 0, 1, 0, data.len(), 0, 0, 0, 0, name.len() + 1, 0];
    archive.extend(b"070701");
    fields.iter().for_each(|field| archive.extend(format!("{field:08X}").bytes()));
    archive.extend(name.bytes().chain([0]));
    archive.resize(archive.len().next_multiple_of(4), 0);
    archive.extend(data);
    archive.resize(archive.len().next_multiple_of(4), 0);
}
