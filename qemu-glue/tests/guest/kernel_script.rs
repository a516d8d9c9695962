//! `guest/kernel.sh` on a machine whose package lists are older than the kernel, with apt and a repository of its own.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::machine;
use crate::process::Ended as _;

/// Programs of Debian that the script needs.
const TOOLS: [&str; 4] = ["apt-get", "dpkg-deb", "make", "xz"];
const OLD: &str = "6.1.0-1-arm64";
const NEW: &str = "6.1.0-2-arm64";

fn ended(command: &mut Command) -> String {
    let output = command.ended();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{command:?}: {text}");
    text
}

/// A machine with apt's files and a package repository of its own.
struct Debian {
    folder: tempfile::TempDir,
}

impl Debian {
    fn new() -> Debian {
        let folder = tempfile::tempdir().unwrap();
        let debian = Debian { folder };
        for part in ["lists/partial", "archives/partial", "sources", "repository"] {
            std::fs::create_dir_all(debian.path(part)).unwrap();
        }
        let source = format!("deb [trusted=yes] file:{} ./\n", debian.path("repository").display());
        std::fs::write(debian.path("sources.list"), source).unwrap();
        std::fs::write(debian.path("status"), "").unwrap();
        let folder = debian.folder.path().display();
        // Packed, lists are copies; else those of a `file:` source are links to what it has now.
        let settings = format!(
            "Dir::Etc::SourceList \"{folder}/sources.list\";\nDir::Etc::SourceParts \"{folder}/sources\";\n\
             Dir::State::Lists \"{folder}/lists\";\nDir::State::Status \"{folder}/status\";\nDir::Cache \"{folder}\";\n\
             Dir::Cache::Archives \"{folder}/archives\";\nAPT::Sandbox::User \"root\";\n\
             Acquire::GzipIndexes \"true\";\n"
        );
        std::fs::write(debian.path("apt.conf"), settings).unwrap();
        debian
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("APT_CONFIG", self.path("apt.conf")).current_dir(self.folder.path());
        command
    }

    /// Has the repository offer these kernels, and nothing else.
    fn publish(&self, releases: &[&str]) {
        let repository = self.path("repository");
        std::fs::remove_dir_all(&repository).unwrap();
        std::fs::create_dir_all(&repository).unwrap();
        let mut index = String::new();
        for (at, release) in releases.iter().enumerate() {
            let is_newest = at + 1 == releases.len();
            for package in packages(release, is_newest) {
                index += &package.build(&repository);
            }
        }
        std::fs::write(repository.join("Packages"), index).unwrap();
    }
}

/// A package, with files of these contents.
struct Package {
    name: String,
    architecture: String,
    version: String,
    depends: String,
    files: Vec<(String, Vec<u8>)>,
}

impl Package {
    /// Puts it into a folder, and gives its paragraph of the index.
    fn build(&self, folder: &Path) -> String {
        let Package { name, architecture, version, depends, files } = self;
        let tree = tempfile::tempdir().unwrap();
        let mut control = format!(
            "Package: {name}\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: a test <nobody@example.org>\n\
             Description: of a test\n"
        );
        if !depends.is_empty() {
            writeln!(control, "Depends: {depends}").unwrap();
        }
        let write = |path: &str, bytes: &[u8]| {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        write("DEBIAN/control", control.as_bytes());
        files.iter().for_each(|(path, bytes)| write(path, bytes));
        let file = format!("{name}_{version}_{architecture}.deb");
        let path = folder.join(&file);
        ended(
            Command::new("dpkg-deb")
                .args(["-Znone", "--root-owner-group", "--build"])
                .arg(tree.path())
                .arg(&path),
        );
        let size = std::fs::metadata(&path).unwrap().len();
        let sum = ended(Command::new("sha256sum").arg(&path));
        let sum = sum.split(' ').next().unwrap();
        format!("{control}Filename: ./{file}\nSize: {size}\nSHA256: {sum}\n\n")
    }
}

/// Debian's packages of a kernel. What is in them says which kernel it is of.
fn packages(release: &str, is_newest: bool) -> Vec<Package> {
    let number = release.split('-').nth(1).unwrap();
    let version = format!("6.1.{number}-1");
    let common = format!("linux-headers-{}-common", release.trim_end_matches("-arm64"));
    let package = |name: &str, architecture: &str, depends: &str, files: &[(&str, &[u8])]| Package {
        name: name.to_owned(),
        architecture: architecture.to_owned(),
        version: version.clone(),
        depends: depends.to_owned(),
        files: files.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect(),
    };
    let (image, headers) = (format!("linux-image-{release}"), format!("linux-headers-{release}"));
    let host = ended(Command::new("dpkg").arg("--print-architecture"));
    let (usr, kbuild) = (format!("usr/src/{headers}"), "usr/lib/linux-kbuild-6.1/version");
    // What a kernel's own makefile does for a module: it needs headers, kbuild and source, and here shows which they are.
    let makefile = format!(
        "include /usr/src/{common}/Makefile\nmodules:\n\tcat $(M)/uio_pdrv_genirq.c {kbuild} > $(M)/uio_pdrv_genirq.ko\n\
         \techo $(COMMON) {release} >> $(M)/uio_pdrv_genirq.ko\n\tcp $(M)/pci_node.c $(M)/pci_node.ko\n",
        kbuild = format_args!("../../../{kbuild}"),
    );
    let mut all = vec![
        package(
            &image,
            "arm64",
            "",
            &[
                (&format!("boot/vmlinuz-{release}"), release.as_bytes()),
                (&format!("lib/modules/{release}/kernel/drivers/uio/uio.ko"), release.as_bytes()),
            ],
        ),
        package(
            &headers,
            "arm64",
            &format!("{common}, linux-kbuild-6.1"),
            &[(&format!("{usr}/Makefile"), makefile.as_bytes())],
        ),
        package(
            &common,
            "all",
            "",
            &[(&format!("usr/src/{common}/Makefile"), format!("COMMON := {common}\n").as_bytes())],
        ),
        package("linux-kbuild-6.1", host.trim(), "", &[(kbuild, format!("kbuild {version}\n").as_bytes())]),
        package("linux-source-6.1", "all", "", &[("usr/src/linux-source-6.1.tar.xz", &source(&version))]),
    ];
    if is_newest {
        all.push(package("linux-image-arm64", "arm64", &image, &[]));
    }
    all
}

/// A kernel's source, with the one file that is taken from it.
fn source(version: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let drivers = folder.path().join("linux-source-6.1/drivers/uio");
    std::fs::create_dir_all(&drivers).unwrap();
    std::fs::write(drivers.join("uio_pdrv_genirq.c"), format!("source {version}\n")).unwrap();
    let archive = folder.path().join("archive");
    ended(Command::new("tar").arg("-cJf").arg(&archive).arg("-C").arg(folder.path()).arg("linux-source-6.1"));
    std::fs::read(archive).unwrap()
}

fn can_run(test: &str) -> bool {
    let missing = TOOLS.into_iter().find(|tool| !machine::is_there(tool));
    if let Some(tool) = missing {
        machine::say(&format!("skipped: {test}: no {tool} for Debian's kernel of QEMU's guests"));
    }
    missing.is_none()
}

#[test]
fn kernel_headers_and_kbuild_are_of_one_version_where_the_machines_package_lists_are_older() {
    let test = "kernel_headers_and_kbuild_are_of_one_version_where_the_machines_package_lists_are_older";
    if !can_run(test) {
        return;
    }
    let debian = Debian::new();
    debian.publish(&[OLD]);
    ended(debian.command("apt-get").args(["-q", "update"]));
    debian.publish(&[NEW]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest/kernel.sh");
    let said = ended(debian.command(script).args(["kernel", "arm64"]));
    let left = |name: &str| {
        std::fs::read_to_string(debian.path("kernel").join(name)).unwrap_or_else(|_| panic!("{name}: {said}"))
    };
    assert_eq!([left("release").trim(), &left("vmlinuz"), &left("uio.ko")], [NEW; 3], "{said}");
    let module = left("uio_pdrv_genirq.ko");
    assert_eq!(
        module, "source 6.1.2-1\nkbuild 6.1.2-1\nlinux-headers-6.1.0-2-common 6.1.0-2-arm64\n",
        "{said}"
    );
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/pci-node/pci_node.c");
    assert_eq!(left("pci_node.ko"), std::fs::read_to_string(example).unwrap());
    // The machine's own lists are as they were.
    let known = ended(debian.command("apt-cache").args([
        "-o",
        "APT::Architectures=arm64",
        "pkgnames",
        "linux-headers",
    ]));
    assert!(!known.contains("6.1.0-2"), "{known}");
}

#[test]
fn an_architecture_without_a_kernel_is_told() {
    if !can_run("an_architecture_without_a_kernel_is_told") {
        return;
    }
    let debian = Debian::new();
    debian.publish(&[NEW]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest/kernel.sh");
    let output = debian.command(script).args(["kernel", "riscv64"]).ended();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{told}");
    assert!(
        told.ends_with("error: no package source of this machine has Debian's kernel for riscv64\n"),
        "{told}"
    );
    assert!(!debian.path("kernel/release").exists());
}
