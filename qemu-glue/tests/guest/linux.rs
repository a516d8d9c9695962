//! Debian's kernels and their first program, as far as they are here.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::machine::{self, Kind};

/// Files that a guest of a kind needs beside QEMU.
struct Needs {
    /// Folder in which `guest/kernel.sh` has put the kernel: `test.sh` calls it.
    folder: &'static str,
    architecture: &'static str,
    /// The drivers' modules.
    modules: &'static [&'static str],
    /// The C library, at one of these places.
    library: &'static [&'static str],
    /// Source of the program that knows the driver.
    source: &'static str,
}

const NODE: Needs = Needs {
    folder: "guest-kernel",
    architecture: "arm64",
    modules: &["uio.ko", "uio_pdrv_genirq.ko"],
    library: &["/usr/aarch64-linux-gnu/lib/libc.a"],
    source: "linux_node.c",
};

const FUNCTION: Needs = Needs {
    folder: "guest-kernel-amd64",
    architecture: "amd64",
    modules: &["uio.ko", "uio_pci_generic.ko"],
    library: &["/usr/lib/x86_64-linux-gnu/libc.a", "/usr/x86_64-linux-gnu/lib/libc.a"],
    source: "linux_pci.c",
};

/// By a module that makes a node of a PCI function.
const MADE: Needs = Needs { modules: &["uio.ko", "pci_node.ko", "uio_pdrv_genirq.ko"], ..NODE };

/// By vfio-pci; not each kernel has a module `vfio_virqfd`.
const GROUP: Needs = Needs {
    modules: &[
        "irqbypass.ko",
        "vfio.ko",
        "vfio_iommu_type1.ko",
        "vfio-pci-core.ko",
        "vfio-pci.ko",
        "vfio_virqfd.ko",
    ],
    source: "linux_vfio.c",
    ..FUNCTION
};

const ARM: Needs = Needs { modules: FUNCTION.modules, source: FUNCTION.source, ..NODE };

const RISCV: Needs = Needs {
    folder: "guest-kernel-riscv64",
    architecture: "riscv64",
    library: &["/usr/riscv64-linux-gnu/lib/libc.a"],
    ..FUNCTION
};

impl Kind {
    fn needs(self) -> &'static Needs {
        match self {
            Kind::Node => &NODE,
            Kind::Function => &FUNCTION,
            Kind::Group => &GROUP,
            Kind::RiscV => &RISCV,
            Kind::Arm => &ARM,
            Kind::MadeNode => &MADE,
        }
    }

    fn folder(self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").join(self.needs().folder)
    }

    /// The kernel.
    pub(crate) fn kernel(self) -> PathBuf {
        self.folder().join("vmlinuz")
    }

    /// The guest's first program, built once; none where there is no C library for the guest.
    fn program(self) -> Option<&'static [u8]> {
        static BUILT: [OnceLock<Option<Vec<u8>>>; 6] = [const { OnceLock::new() }; 6];
        let needs = self.needs();
        let built = BUILT[self as usize].get_or_init(|| {
            if !needs.library.iter().any(|library| Path::new(library).exists()) {
                return None;
            }
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("init");
            let built = Command::new(self.compiler())
                .args([
                    "-Wall",
                    "-Wextra",
                    "-Werror",
                    "-O1",
                    "-static",
                    "linux.c",
                    needs.source,
                    "script.c",
                    "-o",
                ])
                .arg(&path)
                .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("guest"))
                .status();
            assert!(built.expect("the compiler runs").success());
            Some(std::fs::read(path).expect("the program"))
        });
        built.as_deref()
    }

    /// The guest's files, for a script.
    pub(crate) fn initramfs(self, script: &[u8]) -> Vec<u8> {
        self.archive(&[("script", 0o100_644, script)])
    }

    /// The guest's files, for a program and what it reads.
    pub(crate) fn initramfs_of(self, program: &[u8], input: &[u8]) -> Vec<u8> {
        self.archive(&[("program", 0o100_755, program), ("input", 0o100_644, input)])
    }

    fn archive(self, files: &[(&str, usize, &[u8])]) -> Vec<u8> {
        let mut archive = Vec::new();
        member(&mut archive, "init", 0o100_755, self.program().expect("a program"));
        files.iter().for_each(|&(name, mode, data)| member(&mut archive, name, mode, data));
        for module in self.needs().modules {
            // Some kernels have one in another: the program loads those that are there.
            if let Ok(bytes) = std::fs::read(self.folder().join(module)) {
                member(&mut archive, module, 0o100_644, &bytes);
            }
        }
        member(&mut archive, "TRAILER!!!", 0, &[]);
        archive
    }
}

/// Returns true if the test can run; says so if not.
pub(crate) fn can_run(kind: Kind, test: &str) -> bool {
    machine::can_run_on(kind, test) && is_here(kind, test)
}

/// Returns true if the kernel and its program are there, whatever is to run them; says so if not.
pub(crate) fn is_here(kind: Kind, test: &str) -> bool {
    let Needs { modules, folder, architecture, .. } = kind.needs();
    let is_here = kind.folder().join(modules[1]).exists() && kind.program().is_some();
    if !is_here {
        machine::say(&format!(
            "skipped: {test}: no Debian kernel for QEMU (./test.sh gets it: a static C library for {architecture}, \
             qemu-glue/guest/kernel.sh target/{folder} {architecture})"
        ));
    }
    is_here
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
