//! Fuzz targets: each takes any bytes as a case of what peers, files and programs may give us, and panics where a promise
//! does not hold. `tests/tests/fuzz.rs` runs some cases of each, the program `fuzz` as many as one likes, and `fuzz/` has
//! libFuzzer look for them.
//!
//! A small corpus for each lies in `tests/data/fuzz`; [`corpus`] makes it.

mod choices;
pub mod corpus;
pub mod files;
pub mod hub;
mod mutate;
pub mod native_frames;
pub mod onnx;
mod recordings;
pub mod registers;
pub mod remote_port;
pub mod renode;
pub mod ring;
mod samples;
pub mod session;
pub mod vfio_user;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use choices::{Choices, put_piece};
pub use mutate::{Form, case};

/// A target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Name of the target, and of its corpus.
    pub name: &'static str,
    /// Runs a case; tells how many of `unit` it had.
    pub run: fn(&[u8]) -> u64,
    /// Name, in the plural, of what a case has many of.
    pub unit: &'static str,
    /// Form of the target's cases.
    pub form: Form,
}

/// All of them.
pub const TARGETS: [Target; 10] = [
    Target { name: "native-frames", run: native_frames::run, unit: "frames", form: native_frames::FORM },
    Target { name: "remote-port", run: remote_port::run, unit: "packets", form: remote_port::FORM },
    Target { name: "renode", run: renode::run, unit: "messages", form: renode::FORM },
    Target { name: "vfio-user", run: vfio_user::run, unit: "messages", form: vfio_user::FORM },
    Target { name: "session", run: session::run, unit: "bytes of answers", form: session::FORM },
    Target { name: "ring", run: ring::run, unit: "accesses", form: ring::FORM },
    Target { name: "files", run: files::run, unit: "files", form: files::FORM },
    Target { name: "registers", run: registers::run, unit: "writes", form: registers::FORM },
    Target { name: "hub", run: hub::run, unit: "inputs", form: hub::FORM },
    Target { name: "onnx", run: onnx::run, unit: "nodes", form: onnx::FORM },
];

impl Target {
    /// The target of that name.
    pub fn named(name: &str) -> Option<Target> {
        TARGETS.into_iter().find(|target| target.name == name)
    }

    /// The folder of its corpus.
    pub fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("data/fuzz").join(self.name)
    }

    /// The cases of its corpus, in the order of their files' names.
    ///
    /// # Errors
    /// When the folder or a file cannot be read.
    pub fn corpus(&self) -> std::io::Result<Vec<Vec<u8>>> {
        let entries: std::io::Result<Vec<_>> = std::fs::read_dir(self.folder())?.collect();
        let mut files: Vec<PathBuf> = entries?.iter().map(std::fs::DirEntry::path).collect();
        files.sort();
        files.iter().map(std::fs::read).collect()
    }
}

/// Counts of what the cases of a protocol came to.
#[derive(Debug, Default)]
pub struct FuzzCounts {
    /// Number of events that were understood.
    pub events: u64,
    /// Number of times that a peer has broken a rule.
    pub violations: u64,
    /// Rules that were broken.
    pub rules: BTreeSet<String>,
}

impl FuzzCounts {
    fn violation(&mut self, rule: String) {
        self.violations += 1;
        self.rules.insert(rule);
    }
}
