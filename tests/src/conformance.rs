//! The vendor's conformance tests: which there are, and how one is judged.
//!
//! A [`HostConnection`] is how a test's host reaches a platform: in this process, or over a socket. A test that passes one
//! way must pass every way, so all ways go through [`Test::run_every_way`].

use std::path::{Path, PathBuf};

use vp_host::Host;
use vp_host::LocalHost;
use vp_host::trace::Trace;
use vp_host::trace::player::{self, FailureKind, Outcome, PlayOptions};
use vp_models::platform::{Description, Platform};
use vp_remote::MemoryPlace;

use crate::served::ServedHost;
use crate::shared;

/// A way from a host to a platform.
#[derive(Clone, Copy)]
pub struct HostConnection {
    /// Name of the way in failures.
    pub name: &'static str,
    /// Builds the platform and connects to it.
    pub connect: fn(&Description) -> Box<dyn Host>,
}

impl HostConnection {
    /// Host and platform in one process and one thread.
    pub const IN_PROCESS: HostConnection =
        HostConnection { name: "in process", connect: |it| Box::new(local(it)) };

    /// The host is a client over TCP; the RAM is the platform's.
    pub const TCP: HostConnection =
        HostConnection { name: "over TCP", connect: |it| Box::new(ServedHost::new(it, MemoryPlace::Inside)) };

    /// The host is a client over TCP and owns the RAM: the device's DMA crosses the connection.
    pub const TCP_OWN_MEMORY: HostConnection = HostConnection {
        name: "over TCP with the client's memory",
        connect: |it| Box::new(ServedHost::new(it, MemoryPlace::Client)),
    };

    /// Every way.
    pub const ALL: [HostConnection; 3] =
        [HostConnection::IN_PROCESS, HostConnection::TCP, HostConnection::TCP_OWN_MEMORY];
}

/// A platform of this description with a host at it.
///
/// # Panics
/// When the description cannot be built.
pub fn local(description: &Description) -> LocalHost {
    LocalHost::new(Platform::build(description).unwrap_or_else(|error| panic!("{error}")))
}

/// One of the vendor's tests.
#[derive(Clone, Debug)]
pub struct Test {
    /// The hardware configuration it was written for.
    pub config: String,
    /// Name of the test.
    pub name: String,
    /// `SDP`, `PDP`, `CDP`, `CONV`, `BDMA`.
    pub engines: Vec<String>,
    /// `cfg` or `txn`.
    pub language: String,
    /// Path of the test's script.
    pub script: PathBuf,
    /// True if the test programs a stage the configuration lacks: its golden is that of another configuration.
    pub needs_absent_hardware: bool,
}

impl Test {
    /// Every test of the index in `folder`.
    ///
    /// # Panics
    /// When the index is not as its description says.
    pub fn all(folder: &Path) -> Vec<Test> {
        let index = shared::index(folder);
        let text = |value: &serde_json::Value| value.as_str().expect("text in INDEX.json").to_owned();
        let tests = index["tests"].as_array().expect("tests in INDEX.json").iter();
        tests
            .map(|test| Test {
                config: text(&test["config"]),
                name: text(&test["test"]),
                engines: test["engines"].as_array().into_iter().flatten().map(text).collect(),
                language: text(&test["language"]),
                script: folder.join(text(&test["files"]["@trace"]["path"])),
                needs_absent_hardware: !test["flags"]["needs_hardware_absent_in_config"].is_null(),
            })
            .collect()
    }

    /// Returns true if no other engines than these take part.
    pub fn uses_only(&self, engines: &[&str]) -> bool {
        self.engines.iter().all(|engine| engines.contains(&engine.as_str()))
    }

    /// Reads the test's script and files.
    ///
    /// # Panics
    /// When they cannot be read.
    pub fn trace(&self) -> Trace {
        Trace::load(&self.script).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Plays the test every way, each on a fresh platform of its own configuration. All must judge alike and
    /// go the same way, event for event. Says what is wrong, if anything is.
    pub fn run_every_way(&self) -> Result<(), String> {
        let description = Description::named(&self.config).map_err(|error| error.to_string())?;
        let mut first = None;
        for way in HostConnection::ALL {
            let wrong = |what: &str| format!("{} {}: {what}", self.name, way.name);
            let mut host = (way.connect)(&description);
            self.run_on(host.as_mut()).map_err(|why| wrong(&why))?;
            let statistics = host.statistics().map_err(|error| wrong(&error.to_string()))?;
            let seen = (statistics.get("nvdla.cycles"), statistics.text("events.hash").map(str::to_owned));
            let first = first.get_or_insert_with(|| seen.clone());
            if *first != seen {
                return Err(wrong(&format!("cycles and event hash {seen:?}, and {first:?} in process")));
            }
        }
        Ok(())
    }

    /// Plays the test at a host, which is fresh from reset.
    pub fn run_on(&self, host: &mut dyn Host) -> Result<Outcome, String> {
        let map = host.map();
        let played = player::play(&self.trace(), host, &map, &PlayOptions::default());
        let outcome = played.map_err(|error| error.to_string())?;
        self.judge(&outcome)?;
        Ok(outcome)
    }

    /// A test must pass; one of absent hardware must run to its interrupt and leave other bytes.
    fn judge(&self, outcome: &Outcome) -> Result<(), String> {
        let failures: Vec<String> = outcome.failures.iter().map(ToString::to_string).collect();
        match self.needs_absent_hardware {
            false if failures.is_empty() => Ok(()),
            false => Err(failures.join("\n")),
            true => match &outcome.failures[..] {
                [only] if matches!(only.kind, FailureKind::Crc { .. }) => Ok(()),
                [] => Err(format!("{}: passes without the stage it needs", self.script.display())),
                _ => Err(failures.join("\n")),
            },
        }
    }
}
