//! Servers, and what they take of the machine.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use vp_protocols::native::Token;
use vp_remote::{RemoteHost, RemoteOptions};
use vp_transport::tls;

use crate::process::{self, PATIENCE, text};
use crate::tally::Party;
use crate::{Around, remote_port};

/// Life of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lives {
    /// As long as all of it.
    #[default]
    ToTheEnd,
    /// Killed again and again, and another one takes its place.
    Shortly,
}

/// Certificates and a token, as `vp serve --make-certificates` makes them.
pub(crate) struct Lab(PathBuf);

impl Lab {
    pub(crate) fn make(mut vp: Command, folder: &Path) -> Result<Lab, String> {
        let lab = Lab(folder.join("lab"));
        vp.args(["serve", "--listen", "tls:127.0.0.1:0", "--make-certificates"]).arg(&lab.0);
        process::output(&mut vp)?;
        Ok(lab)
    }

    /// Environment of a client: the token that it shows, and the authority that it trusts.
    pub(crate) fn of_client(&self) -> [(&'static str, PathBuf); 2] {
        [("VP_TOKEN_FILE", self.0.join("token")), ("VP_CA", self.0.join("ca.pem"))]
    }

    /// Command that starts a server with TLS, which lets in who shows the token.
    pub(crate) fn serve(&self, mut vp: Command) -> Command {
        vp.env("VP_TOKEN_FILE", self.0.join("token"));
        vp.args(["serve", "--listen", "tls:127.0.0.1:0"]);
        vp.arg("--certificate").arg(self.0.join("server.pem"));
        vp.arg("--key").arg(self.0.join("server.key"));
        vp
    }
}

/// Place where a server is, or has been, and for whom.
#[derive(Default)]
pub(crate) struct ServerPlace {
    pub(crate) address: String,
    /// Socket at which peers with Remote-Port are met.
    pub(crate) remote_port: Option<PathBuf>,
    /// True if guests of QEMU are there, and no clients.
    pub(crate) is_for_guests: bool,
    lives: Lives,
    /// Number of times that a server has come or gone here: odd while there is none.
    era: AtomicU64,
}

impl ServerPlace {
    /// For clients.
    pub(crate) fn new(lives: Lives) -> ServerPlace {
        ServerPlace { lives, ..ServerPlace::default() }
    }

    /// For guests of QEMU.
    pub(crate) fn for_guests() -> ServerPlace {
        ServerPlace { is_for_guests: true, ..ServerPlace::default() }
    }

    /// Adds a socket for peers with Remote-Port.
    pub(crate) fn meeting(mut self, socket: PathBuf) -> ServerPlace {
        self.remote_port = Some(socket);
        self
    }

    /// Number that changes when the server is killed; none while there is no server.
    pub(crate) fn era(&self) -> Option<u64> {
        Some(self.era.load(Ordering::SeqCst)).filter(|era| era.is_multiple_of(2))
    }

    /// Returns true if there has been one server all the time since then.
    pub(crate) fn has_been_there_since(&self, era: Option<u64>) -> bool {
        era.is_some() && self.era() == era
    }

    pub(crate) fn is_steady(&self) -> bool {
        self.lives == Lives::ToTheEnd
    }

    /// Returns true if CPUs within this program are here, each with another party beside it.
    pub(crate) fn has_cpus(&self) -> bool {
        self.is_steady() && !self.is_for_guests
    }

    /// The sessions that stay here to the end, by whether each shares memory with the server.
    pub(crate) fn witnesses(&self) -> &'static [bool] {
        match self.transport() {
            "unix" if self.is_steady() => &[true, false],
            "tcp" | "tls" if self.is_steady() => &[false],
            _ => &[],
        }
    }

    /// Returns true if there is always a platform.
    pub(crate) fn has_witness(&self) -> bool {
        !self.witnesses().is_empty()
    }

    /// `tcp`, `tls` or `unix`.
    pub(crate) fn transport(&self) -> &str {
        self.address.split_once(':').map_or("", |(transport, _)| transport)
    }

    /// Name of the transport, or `guests`.
    pub(crate) fn name(&self) -> &str {
        if self.is_for_guests { "guests" } else { self.transport() }
    }

    /// Opens a session within this program, which shows what the server asks for.
    pub(crate) fn connect(&self, lab: &Lab, mut options: RemoteOptions) -> Result<RemoteHost, String> {
        let [token, authority] = lab.of_client().map(|(_, file)| file);
        let token = std::fs::read_to_string(token).map_err(text)?;
        options.credentials.token = Some(Token::new(token.trim()));
        options.credentials.tls = Some(tls::Client::new(&authority, None).map_err(text)?);
        let host = RemoteHost::connect(&self.parsed()?, options);
        host.map_err(|error| format!("{}: {error}", self.address))
    }

    pub(crate) fn parsed(&self) -> Result<vp_transport::Address, String> {
        self.address.parse().map_err(|error| format!("{}: {error}", self.address))
    }
}

/// A running `vp serve`.
pub(crate) struct Server {
    pub(crate) place: Arc<ServerPlace>,
    command: Command,
    child: Child,
}

/// Resources that a process takes.
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
    /// Starts a server there.
    pub(crate) fn start(mut command: Command, mut place: ServerPlace) -> Result<Server, String> {
        if let Some(socket) = &place.remote_port {
            command.args(["--remote-port", &remote_port::place(socket)]);
        }
        let (child, address) = spawn(&mut command)?;
        place.address = address;
        Ok(Server { place: Arc::new(place), command, child })
    }

    /// Is killed and comes again at the same address until the round is over.
    pub(crate) fn die_again_and_again(&mut self, seed: u64, around: &Around<'_>) -> Result<(), String> {
        let mut random = SmallRng::seed_from_u64(seed);
        loop {
            let life = Duration::from_millis(random.random_range(300..2500));
            let left = around.until.saturating_duration_since(Instant::now());
            std::thread::sleep(life.min(left));
            if left.is_zero() {
                return Ok(());
            }
            self.place.era.fetch_add(1, Ordering::SeqCst);
            process::end(&mut self.child);
            around.tally.killed(Party::Server);
            around.tally.begun(Party::Server);
            self.child = spawn(&mut self.command)?.0;
            self.place.era.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// The number of its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Fails if the server does not run any longer.
    pub(crate) fn check(&mut self) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("the server at {} has ended: {status}", self.place.address)),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Resources that it takes when its clients have gone, and it has noticed: no more than before, as soon as that is so.
    pub(crate) fn quiet(&self, before: Option<&Figures>) -> Result<Figures, String> {
        let started = Instant::now();
        let mut last = self.figures()?;
        while started.elapsed() < PATIENCE {
            let is_enough = match before {
                Some(before) => last.leak_since(before).is_none(),
                // Memory of platforms is given back a second after their end, and idle threads end as late.
                None => started.elapsed() > Duration::from_secs(3),
            };
            if is_enough {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
            last = self.figures()?;
        }
        Ok(last)
    }

    fn figures(&self) -> Result<Figures, String> {
        let folder = format!("/proc/{}", self.child.id());
        let gone = |error: std::io::Error| format!("the server at {}: {error}", self.place.address);
        let status = std::fs::read_to_string(format!("{folder}/status")).map_err(gone)?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().next()?.parse().ok())
                .ok_or_else(|| format!("the server at {} has ended", self.place.address))
        };
        let descriptors = std::fs::read_dir(format!("{folder}/fd")).map_err(gone)?.count();
        Ok(Figures { memory: field("VmRSS:")?, descriptors, threads: field("Threads:")? })
    }
}

/// Starts it, and hears where it listens.
fn spawn(command: &mut Command) -> Result<(Child, String), String> {
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = started.map_err(|error| format!("{command:?}: {error}"))?;
    let mut line = String::new();
    let said = child.stdout.take().map(|said| BufReader::new(said).read_line(&mut line));
    match line.trim().strip_prefix("listening on ") {
        Some(address) => Ok((child, address.to_owned())),
        None => {
            process::end(&mut child);
            Err(format!("{command:?} says {line:?}, not where it listens: {said:?}"))
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        process::end(&mut self.child);
    }
}

impl Figures {
    /// Returns the figures of before and now as text if there is more of something than before.
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
