//! Files of users, of every format: what is none is refused, and what is one can be used.
//!
//! A case: a byte for the format, then the file.

use std::fs::Permissions;
use std::io::{Cursor, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use flate2::bufread::DeflateDecoder;
use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};
use vp_core::Time;
use vp_host::fpga_ai_suite::{Job, Model};
use vp_host::loadable::contents::Contents;
use vp_host::loadable::convert::convert;
use vp_host::loadable::describe::describe;
use vp_host::loadable::differences::differences;
use vp_host::loadable::{Generation, Loadable};
use vp_host::network::{Network, Options, Plan};
use vp_host::trace::recording::Dimg;
use vp_host::trace::{Language, Trace};
use vp_models::memory::MemoryBudget;
use vp_models::platform::{Description, Platform};
use vp_server::Tokens;
use vp_study::energy::Coefficients;
use vp_study::rtl::{distribution, log, table::Table};
use vp_study::{Store, Study};
use vp_transport::tls;

use super::{Choices, Form, recordings, samples};

/// Form of the target's cases.
pub const FORM: Form = Form::Bytes;

/// Reads a file of its format; whether it is one.
type Read = fn(&[u8]) -> bool;

/// The formats, by name. A case's first byte is a position here: new ones come at the end.
pub const FORMATS: [(&str, Read); 30] = [
    ("platform", platform),
    ("network", network),
    ("sheet", |bytes| {
        text(bytes)
            .is_some_and(|text| Network::of_sheet("sheet", text).is_ok_and(|network| planned(&network)))
    }),
    ("study", study),
    ("cfg", |bytes| trace(bytes, Language::Cfg)),
    ("txn", |bytes| trace(bytes, Language::Txn)),
    ("recording", |bytes| trace(bytes, Language::Recording)),
    ("loadable", loadable),
    ("image", |bytes| Dimg::parse(bytes, Path::new("golden.dimg")).is_ok()),
    ("graph", |bytes| text(bytes).is_some_and(|text| Model::parse(text, &mut tensor).is_ok())),
    ("job", |bytes| in_file(bytes, "job.toml", job)),
    ("rtl-table", |bytes| in_file(bytes, "nv_small.csv", |path| Table::read(path).is_ok())),
    ("rtl-log", |bytes| in_file(&packed(bytes), "log.csv.gz", |path| log::read(path).is_ok())),
    ("rtl-distribution", |bytes| in_file(bytes, "kept.csv", |path| distribution::read(path).is_ok())),
    ("points", |bytes| in_file(bytes, "points.jsonl", |path| Store::open(path).is_ok())),
    ("inputs", recordings::is_replayed),
    ("inputs-in-blocks", |bytes| recordings::is_replayed(&recordings::in_blocks(bytes))),
    ("faults", faults),
    ("saved", |bytes| saved(&sealed(bytes))),
    ("tokens", |bytes| in_file(bytes, "tokens.toml", |path| Tokens::read(path).is_ok())),
    ("coefficients", |bytes| text(bytes).is_some_and(|text| Coefficients::parse(text).is_ok())),
    ("register-log", |bytes| in_file(bytes, "log.jsonl", |path| Trace::load(path).is_ok())),
    ("certificates", |bytes| in_file(bytes, "ca.pem", |path| tls::Client::new(path, None).is_ok())),
    ("key", |bytes| in_file(bytes, "server.key", key)),
    ("tensor", |bytes| in_file(bytes, "weights.bin", weights)),
    ("sc-log", |bytes| in_file(bytes, "sc.log", |path| Trace::load(path).is_ok())),
    ("picture", samples::picture),
    ("npy", samples::array),
    ("npz", samples::archive),
    ("preprocess", samples::preprocess),
];

/// Runs a case; one file.
///
/// # Panics
/// When what reads it does.
pub fn run(case: &[u8]) -> u64 {
    feed(case);
    1
}

/// Runs a case; the format's name, and whether the file is one of it.
pub fn feed(case: &[u8]) -> (&'static str, bool) {
    let mut choices = Choices::new(case);
    let (name, read) = FORMATS[usize::from(choices.byte()) % FORMATS.len()];
    (name, read(choices.rest()))
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// A loadable: its tables read back as they are written, and as they are, it is described, compared with itself and converted.
fn loadable(bytes: &[u8]) -> bool {
    if let Ok(contents) = Contents::read(bytes) {
        assert_eq!(Contents::read(&contents.write()).as_ref(), Ok(&contents));
        let _ = describe(&contents);
        assert_eq!(differences(&contents, &contents), []);
        for form in Generation::ALL {
            if let Ok(converted) = convert(&contents, form) {
                let there = Loadable::of(&converted).expect("as whole as before");
                assert_eq!(there.generation(), form);
            }
        }
    }
    Loadable::parse(bytes).is_ok()
}

/// A tensor of some other file: there is one, and it has the wrong length mostly.
fn tensor(name: &str) -> Result<Vec<u8>, String> {
    match name.len() {
        0 => Err("no such file".to_owned()),
        length => Ok(vec![1; (length % 7) * 36]),
    }
}

/// A graph, which jobs may name as `graph.toml`.
pub(super) const GRAPH: &str = "name = \"g\"\ninput = { height = 4, width = 4, channels = 2 }\n[[layer]]\nname = \"a\"\n\
                                kind = \"activation\"\nfunction = \"relu\"\n[[layer]]\nname = \"p\"\nkind = \"pooling\"\n\
                                method = \"max\"\nkernel = [2, 2]\nstride = [2, 2]\n";

/// A network with constants for each channel, in files as [`tensor`] gives them.
pub(super) const CONSTANTS: &str = "name = \"c\"\ninput = { height = 6, width = 4, channels = 2 }\n[[layer]]\nname = \"a\"\n\
                                    kind = \"convolution\"\nkernels = 18\nkernel = [1, 2]\ndilation = [1, 2]\npadding = [0, 1]\n\
                                    padding_value = -7\nweights = \"ww\"\nscales = { values = \"s\", shift = 8 }\n\
                                    prelu = { values = \"s\", shift = 7 }\nconverter = { scale = 3, shift = 2 }\n[[layer]]\nname = \"m\"\n\
                                    kind = \"pooling\"\nmethod = \"max\"\nglobal = true\n[[layer]]\nname = \"p\"\n\
                                    kind = \"channel-product\"\ninput = \"a\"\nfactors = \"m\"\nrelu = true\n\
                                    converter = { scale = 1, shift = 7 }\n[[layer]]\nname = \"s\"\nkind = \"scaling\"\n\
                                    bias = { values = \"b\", shift = 2 }\nleaky = { scale = 3, shift = 2 }\n\
                                    converter = { scale = 1, shift = 1 }\n";

/// A job, beside a graph and an input for it.
fn job(path: &Path) -> bool {
    for (name, contents) in [("graph.toml", GRAPH.as_bytes()), ("in", &[3; 32])] {
        std::fs::write(path.with_file_name(name), contents).expect("a file can be written");
    }
    Job::load(path).is_ok()
}

/// The key of a certificate that is there for this only, beside that.
fn key(path: &Path) -> bool {
    let certificate = path.with_file_name("server.pem");
    std::fs::write(&certificate, include_bytes!("../../data/tls/certificate.pem"))
        .expect("a file can be written");
    tls::Server::new(&certificate, path, None).is_ok()
}

/// The weights of a convolution, for one of 1 x 3 x 3 and two kernels.
fn weights(path: &Path) -> bool {
    let text = "name = \"w\"\ninput = { height = 4, width = 4, channels = 1 }\n[[layer]]\nname = \"c\"\n\
                kind = \"convolution\"\nkernels = 2\nkernel = [3, 3]\n\
                weights = \"weights.bin\"\nconverter = { scale = 30228, shift = 20 }\n";
    Network::of_file(&path.with_file_name("network.toml"), text, &Options::default()).is_ok()
}

/// A description that can be built is written down as what reads back.
fn platform(bytes: &[u8]) -> bool {
    let Some(Ok(description)) = text(bytes).map(Description::parse) else { return false };
    if description.check().is_err() {
        return false;
    }
    let again = Description::parse(&description.to_toml()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.to_toml(), description.to_toml());
    true
}

/// Faults, which say again what they are when they are armed.
fn faults(bytes: &[u8]) -> bool {
    let description = Description::named("nv_small").unwrap_or_else(|error| panic!("{error}"));
    let platform = Platform::build(&description).unwrap_or_else(|error| panic!("{error}"));
    let is_armed = text(bytes).is_some_and(|text| platform.arm(text).is_ok());
    assert!(is_armed || platform.faults().report().is_empty());
    is_armed
}

fn network(bytes: &[u8]) -> bool {
    text(bytes).is_some_and(|text| Network::parse(text, &mut tensor).is_ok_and(|network| planned(&network)))
}

/// Returns true if a network can be run on a small device.
fn planned(network: &Network) -> bool {
    let description = Description::named("nv_small").expect("a built-in platform");
    let config = &description.nvdla().expect("an NVDLA").config;
    Plan::new(network, config, description.dbb0.range()).is_ok()
}

fn study(bytes: &[u8]) -> bool {
    let folder = Path::new("no-such-folder");
    let Some(Ok(study)) = text(bytes).map(|text| Study::parse(text, folder)) else { return false };
    assert!(!study.points.is_empty());
    true
}

fn trace(bytes: &[u8], language: Language) -> bool {
    let (Some(text), script) = (text(bytes), Path::new("no-such-folder/input")) else { return false };
    // The first half is the script, and the rest the file beside it, if there is such a mark.
    let (text, beside) = text.split_once("\n---\n").unwrap_or((text, "{offset:0x0, size:1, payload:0x01}\n"));
    let read = &mut |_: &str| Ok(Some(beside.to_owned()));
    Trace::assemble("fuzz", script, language, text, None, read).is_ok()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).and_then(|()| packer.finish()).expect("memory takes all")
}

/// A saved platform with that state, whatever it is: its sum is right, so that it is read.
fn sealed(state: &[u8]) -> Vec<u8> {
    let mut packer = DeflateEncoder::new(b"VPSV\x07\0".to_vec(), Compression::fast());
    let mut file = packer.write_all(state).and_then(|()| packer.finish()).expect("memory takes all");
    let mut sum = Crc::new();
    sum.update(&file);
    file.extend(sum.sum().to_le_bytes());
    file
}

/// The state of a saved platform.
pub(super) fn state_of(saved: &[u8]) -> Vec<u8> {
    let mut state = Vec::new();
    DeflateDecoder::new(&saved[6..saved.len() - 4]).read_to_end(&mut state).expect("it was deflated");
    state
}

/// A platform that goes on from a file can be run, and saved again.
fn saved(bytes: &[u8]) -> bool {
    let budget = MemoryBudget::new(64 << 20);
    let Ok(mut platform) = Platform::restore(&mut Cursor::new(bytes), None, budget) else { return false };
    let end = platform.settled_from() + Time::us(10);
    platform.simulation_mut().run_until(end);
    platform.save(&mut Vec::new()).is_ok()
}

/// Reads what is read from files only, in a folder of this thread.
fn in_file(bytes: &[u8], name: &str, read: impl FnOnce(&Path) -> bool) -> bool {
    thread_local!(static FOLDER: tempfile::TempDir = tempfile::tempdir().expect("a folder"));
    FOLDER.with(|folder| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("a file can be written");
        // Some are secrets, which not everybody may read.
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("it is ours");
        read(&path)
    })
}
