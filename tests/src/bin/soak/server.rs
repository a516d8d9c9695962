//! Servers, and what they take of the machine.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Around;
use crate::process::{self, Ended, PATIENCE};

/// How long a server lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lives {
    /// As long as all of it.
    ToTheEnd,
    /// It is killed in each round, and another one takes its place.
    ARound,
}

/// Certificates and a token, as `vp serve --make-certificates` makes them.
pub(crate) struct Lab(PathBuf);

impl Lab {
    pub(crate) fn make(vp: &Path, folder: &Path) -> Result<Lab, String> {
        let lab = Lab(folder.join("lab"));
        let mut command = Command::new(vp);
        command.args(["serve", "--listen", "tls:127.0.0.1:0", "--make-certificates"]).arg(&lab.0);
        match process::run(&mut command, None)? {
            Ended::Itself { is_good: true, .. } => Ok(lab),
            Ended::Itself { printed, .. } => Err(format!("{command:?}: {printed}")),
            _ => Err(format!("{command:?} does not end")),
        }
    }

    /// What a client shows and trusts, for its environment.
    pub(crate) fn of_client(&self) -> [(&'static str, PathBuf); 2] {
        [("VP_TOKEN_FILE", self.0.join("token")), ("VP_CA", self.0.join("ca.pem"))]
    }
}

/// A running `vp serve`.
pub(crate) struct Server {
    pub(crate) lives: Lives,
    pub(crate) address: String,
    child: Child,
}

/// What a process takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    /// Resident memory in kB.
    memory: u64,
    descriptors: usize,
    threads: u64,
}

/// Memory that a server may take more than after the first rounds, in kB: its allocator keeps some of what sessions had.
const MORE_MEMORY: u64 = 32 << 10;

impl Server {
    pub(crate) fn start(vp: &Path, address: &str, lives: Lives) -> Result<Server, String> {
        Server::start_with(vp, address, lives, |command| command)
    }

    /// One that speaks TLS, and lets in who shows the lab's token.
    pub(crate) fn start_tls(vp: &Path, lab: &Lab) -> Result<Server, String> {
        Server::start_with(vp, "tls:127.0.0.1:0", Lives::ToTheEnd, |command| {
            command.env("VP_TOKEN_FILE", lab.0.join("token"));
            command
                .arg("--certificate")
                .arg(lab.0.join("server.pem"))
                .arg("--key")
                .arg(lab.0.join("server.key"))
        })
    }

    fn start_with(
        vp: &Path,
        address: &str,
        lives: Lives,
        more: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Server, String> {
        let mut command = Command::new(vp);
        more(command.args(["serve", "--listen", address]).env("RUST_LOG", "error"));
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{command:?}: {error}"))?;
        let mut line = String::new();
        let mut printed = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        printed.read_line(&mut line).map_err(|error| format!("{command:?}: {error}"))?;
        let Some(address) = line.trim().strip_prefix("listening on ") else {
            process::end(&mut child);
            return Err(format!("{command:?} says {line:?}, not where it listens"));
        };
        Ok(Server { lives, address: address.to_owned(), child })
    }

    /// Kills it after some time.
    pub(crate) fn die(&mut self, after: Duration, around: &Around<'_>) {
        std::thread::sleep(after.min(around.until.saturating_duration_since(Instant::now())));
        process::end(&mut self.child);
        around.count(|tally| tally.servers_killed += 1);
    }

    /// Another one at the same address, if it was killed.
    pub(crate) fn revive(&mut self, vp: &Path) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(_)) if self.lives == Lives::ARound => {
                *self = Server::start(vp, &self.address, self.lives)?;
                Ok(())
            }
            Ok(Some(status)) => Err(format!("the server at {} has ended: {status}", self.address)),
            Err(error) => Err(error.to_string()),
        }
    }

    /// What it takes when its clients have gone, and it has noticed: of descriptors and threads no more than before, as soon as that is so.
    pub(crate) fn quiet(&self, before: Option<&[Figures]>) -> Result<Figures, String> {
        let started = Instant::now();
        let mut least = self.figures()?;
        let is_enough = |figures: &Figures| {
            before.is_some_and(|all| {
                all.iter().any(|it| figures.descriptors <= it.descriptors && figures.threads <= it.threads)
            })
        };
        // Silent peers are sent away after 10 s (docs/protocol.md, "A session").
        while !is_enough(&least) && started.elapsed() < PATIENCE.min(Duration::from_secs(15)) {
            std::thread::sleep(Duration::from_millis(100));
            let now = self.figures()?;
            if before.is_none() && now == least && started.elapsed() > Duration::from_secs(3) {
                break;
            }
            least = now;
        }
        Ok(least)
    }

    fn figures(&self) -> Result<Figures, String> {
        let folder = format!("/proc/{}", self.child.id());
        let gone = |error: std::io::Error| format!("the server at {}: {error}", self.address);
        let status = std::fs::read_to_string(format!("{folder}/status")).map_err(gone)?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().next()?.parse().ok())
                .ok_or_else(|| format!("the server at {} has ended", self.address))
        };
        let descriptors = std::fs::read_dir(format!("{folder}/fd")).map_err(gone)?.count();
        Ok(Figures { memory: field("VmRSS:")?, descriptors, threads: field("Threads:")? })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        process::end(&mut self.child);
    }
}

impl Figures {
    /// What there is more of than before.
    pub(crate) fn leak_since(&self, before: &Figures) -> Option<String> {
        let Figures { memory, descriptors, threads } = *before;
        (self.descriptors > descriptors || self.threads > threads || self.memory > memory + MORE_MEMORY)
            .then(|| before.to_text(self))
    }

    /// `41 → 42 MB, 14 → 14 descriptors, 5 → 5 threads`
    pub(crate) fn to_text(self, later: &Figures) -> String {
        format!(
            "{} → {} MB, {} → {} descriptors, {} → {} threads",
            self.memory / 1024,
            later.memory / 1024,
            self.descriptors,
            later.descriptors,
            self.threads,
            later.threads
        )
    }
}
