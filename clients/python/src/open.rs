//! Opening of a platform: built in this process, behind a socket, or from a recording.

use std::fs::File;
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use send_wrapper::SendWrapper;
use vp_client::native::{TimeMode, Token};
use vp_client::{Address, Credentials, SilenceLimit, tls};
use vp_core::Time;
use vp_host::LocalHost;
use vp_hub::Hub;
use vp_models::bounded_file::read_description;
use vp_models::memory::{CommandForm, MemoryBudget, RequestForm, usual_limit};
use vp_models::platform::{Description, DeviceRegisters, Platform};
use vp_observers::{CommandFile, Files, LayerNames, RequestFile, TraceFile};
use vp_recordings::{PlayError, Player, Recording, RecordingEnd, ReplayStep};
use vp_remote::{MemoryPlace, OwnBytes, RemoteHost, RemoteOptions};

use crate::callable::CallableMemory;
use crate::control::Control;
use crate::errors;
use crate::host::Host;
use crate::session::{PlatformHost, Session};
use crate::{native_registers, owned};

/// Interval at which Python is asked for signals while a server is waited for.
const LOOK: Duration = Duration::from_millis(20);

/// The platform of that name, or of that TOML file, with changes as `--set` takes them.
pub(crate) fn description(named: &str, changes: &[String]) -> PyResult<Description> {
    let is_file = named.ends_with(".toml") || named.contains('/');
    let description = match is_file {
        true => {
            let path = Path::new(named);
            let text = read_description(path).map_err(|error| errors::file(path, &error))?;
            Description::parse(&text).map_err(|error| errors::description(error.in_file(path)))?
        }
        false => Description::named(named).map_err(errors::description)?,
    };
    description.with(changes.iter().map(String::as_str)).map_err(errors::description)
}

/// The waveform, from when and to when it goes, the timeline, the logs of registers and of a DRAM's commands, and the trace of DBBIF's bursts.
type FileNames = (
    Option<PathBuf>,
    Option<String>,
    Option<String>,
    Option<PathBuf>,
    Option<PathBuf>,
    Option<PathBuf>,
    Option<PathBuf>,
);

/// A platform in this process; `files` are as [`FileNames`] says.
#[pyfunction]
#[pyo3(signature = (named, changes, memory_limit=None, record=None, files=(None, None, None, None, None, None, None)))]
pub(crate) fn build(
    named: &str,
    changes: Vec<String>,
    memory_limit: Option<u64>,
    record: Option<PathBuf>,
    files: FileNames,
) -> PyResult<Host> {
    let description = description(named, &changes)?;
    let budget = memory_limit.map_or_else(MemoryBudget::unlimited, MemoryBudget::new);
    let platform = Platform::build_within(&description, budget).map_err(errors::description)?;
    let mut hub = Hub::new(platform, vp_hub::TimeMode::Lockstep);
    let recording = record
        .map(|path| Recording::begin(&path, &mut hub, crate::AGENT, None))
        .transpose()
        .map_err(|error| errors::of("RecordingError", error.to_string()))?;
    let (trace, start, stop, timeline, registers, commands, requests) = files;
    let trace = trace.map(|path| TraceFile { path, start, stop });
    let commands = commands.map(|path| CommandFile { path, form: CommandForm::Vp });
    let requests =
        requests.map(|path| RequestFile { path, form: RequestForm::Vp, memory: "dbb0".to_owned() });
    let files = Files { trace, timeline, registers, commands, requests, layers: LayerNames::default() };
    let files = match files.is_empty() {
        true => None,
        false => Some(files.attach(&mut hub).map_err(errors::description)?),
    };
    let (mut host, control) = (LocalHost::at(hub), Control::new());
    let asked = control.clone();
    host.ask_whether(move |now| asked.goes_on(now));
    let mut session = Session::new(PlatformHost::Local(Box::new(host)), control);
    (session.recording, session.files) = (recording, files);
    Ok(Host::new(session))
}

/// Credentials that a server is shown: those given here, else those of the environment.
#[derive(FromPyObject)]
pub(crate) struct Shown {
    #[pyo3(item)]
    token: Option<String>,
    #[pyo3(item)]
    token_file: Option<PathBuf>,
    #[pyo3(item)]
    ca: Option<PathBuf>,
    #[pyo3(item)]
    certificate: Option<PathBuf>,
    #[pyo3(item)]
    key: Option<PathBuf>,
}

impl Shown {
    pub(crate) fn credentials(self) -> PyResult<Credentials> {
        let refused = |error: &dyn std::fmt::Display| errors::of("ConnectError", error.to_string());
        let mut shown = Credentials::with(self.token_file.as_deref(), self.ca.as_deref())
            .map_err(|error| refused(&error))?;
        if let Some(token) = self.token {
            shown.token = Some(Token::new(token));
        }
        if self.certificate.is_some() || self.key.is_some() {
            let (Some(ca), Some(certificate), Some(key)) = (&self.ca, &self.certificate, &self.key) else {
                return Err(refused(
                    &"a certificate goes with its key, and with the authority that is trusted: ca, certificate and key",
                ));
            };
            shown.tls =
                Some(tls::Client::new(ca, Some((certificate, key))).map_err(|error| refused(&error))?);
        }
        Ok(shown)
    }
}

/// Kind of session that is wanted.
#[derive(FromPyObject)]
pub(crate) struct SessionOptions {
    #[pyo3(item)]
    pub(crate) platform: Option<String>,
    #[pyo3(item)]
    time_mode: String,
    #[pyo3(item)]
    memory_limit: Option<u64>,
    #[pyo3(item)]
    timeout: f64,
    #[pyo3(item)]
    heartbeat: Option<f64>,
    #[pyo3(item)]
    share: bool,
}

impl SessionOptions {
    pub(crate) fn time_mode(&self) -> PyResult<TimeMode> {
        match self.time_mode.as_str() {
            "lockstep" => Ok(TimeMode::Lockstep),
            "free" => Ok(TimeMode::Free),
            other => Err(errors::of("ConnectError", format!("`{other}` is no time mode: lockstep or free"))),
        }
    }

    pub(crate) fn timeout(&self) -> PyResult<Duration> {
        seconds(self.timeout)
    }

    pub(crate) fn heartbeat(&self) -> PyResult<SilenceLimit> {
        match self.heartbeat {
            None => SilenceLimit::from_environment().map_err(|why| errors::of("ConnectError", why)),
            Some(0.0) => Ok(SilenceLimit::NONE),
            Some(limit) => seconds(limit).map(SilenceLimit::of),
        }
    }
}

/// Tells a thread of its own, when it is dropped, that nobody waits for it any more.
#[derive(Default)]
pub(crate) struct GivenUp(Arc<AtomicBool>);

impl GivenUp {
    /// Returns the flag that the thread looks at.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does something in a thread of its own, as long as no signal comes to this one.
pub(crate) fn wait_for<T: Send + 'static>(
    py: Python<'_>,
    task: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (send, receive) = channel();
    let task = move || {
        let done = catch_unwind(AssertUnwindSafe(task)).map_err(|panic| errors::panicked(&*panic));
        send.send(done)
    };
    let spawned = thread::Builder::new().spawn(task);
    spawned.map_err(|error| errors::of("InternalError", format!("there is no thread to be had: {error}")))?;
    loop {
        let waiting = SendWrapper::new(&receive);
        match py.detach(move || waiting.recv_timeout(LOOK)) {
            Ok(done) => return done,
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(errors::of("InternalError", "a fault of vp: a thread of its own has ended"));
            }
        }
    }
}

pub(crate) fn address(text: &str) -> PyResult<Address> {
    text.parse().map_err(|error: vp_client::AddressError| errors::of("ConnectError", error.to_string()))
}

/// Seconds that may be waited.
fn seconds(seconds: f64) -> PyResult<Duration> {
    let refused = |_| {
        errors::of("ConnectError", format!("{seconds} seconds: a time to wait is not negative, and ends"))
    };
    Duration::try_from_secs_f64(seconds).map_err(refused)
}

/// A session with a server, as the CPU of its platform. The memory is on this side if `own_memory` is given: behind these ports callables, else RAM.
#[pyfunction]
#[pyo3(signature = (to, shown, wanted, own_memory=None))]
pub(crate) fn connect(
    py: Python<'_>,
    to: &str,
    shown: Shown,
    wanted: SessionOptions,
    own_memory: Option<Vec<(String, Py<PyAny>)>>,
) -> PyResult<Host> {
    let address = address(to)?;
    let is_fresh = wanted.platform.is_none();
    let options = RemoteOptions {
        memory: if own_memory.is_some() { MemoryPlace::Client } else { MemoryPlace::Inside },
        memory_limit: wanted.memory_limit.unwrap_or_else(usual_limit),
        time_mode: wanted.time_mode()?,
        timeout: wanted.timeout()?,
        heartbeat: wanted.heartbeat()?,
        credentials: shown.credentials()?,
        share: wanted.share,
        platform: wanted.platform,
        agent: crate::AGENT.to_owned(),
        ..RemoteOptions::default()
    };
    let control = Control::new();
    let own = own_memory.into_iter().flatten().map(|(port, call)| {
        let own: Box<dyn OwnBytes> = Box::new(CallableMemory::new(call, control.clone()));
        (port, own)
    });
    let own = own.collect();
    let connected = wait_for(py, move || {
        let mut host = RemoteHost::connect_with(&address, options, own)?;
        if is_fresh && host.welcome().time > Time::ZERO {
            // A server's one platform, which others have used before: a program begins at power-on.
            let setup = |source| vp_remote::ConnectError::Setup { address: address.clone(), source };
            host.reset().map_err(setup)?;
        }
        Ok::<_, vp_remote::ConnectError>(host)
    })?;
    let mut host = connected.map_err(|error| errors::of("ConnectError", error.to_string()))?;
    let asked = control.clone();
    host.ask_whether(move || asked.sleeps_on());
    Ok(Host::new(Session::new(PlatformHost::Remote(Box::new(host)), control)))
}

/// Result of a recording that ran again: the end's time and event hash, entries, and how it ends.
type Replayed = (u64, String, u64, &'static str);

/// Runs a recording again, and checks that it goes as it went.
#[pyfunction]
#[pyo3(signature = (path, until=None))]
pub(crate) fn replay(py: Python<'_>, path: PathBuf, until: Option<u64>) -> PyResult<Replayed> {
    let until = until.map_or(Time::MAX, Time::ps);
    let given_up = GivenUp::default();
    let is_over = given_up.flag();
    wait_for(py, move || play(&path, until, &is_over))?
}

fn play(path: &Path, until: Time, is_over: &AtomicBool) -> PyResult<Replayed> {
    let wrong = |error: PlayError| errors::of("RecordingError", format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(|error| errors::file(path, &error))?;
    let mut player = Player::new(BufReader::new(file)).map_err(wrong)?;
    let mut entries = 0;
    let how = loop {
        if is_over.load(Ordering::Relaxed) {
            break "stopped";
        }
        match player.step(until, &mut |_| ()).map_err(wrong)? {
            ReplayStep::Done(_) => entries += 1,
            ReplayStep::Stopped => break "stopped",
            ReplayStep::Ended(RecordingEnd::Whole) => break "whole",
            ReplayStep::Ended(RecordingEnd::Early { .. }) => break "early",
            ReplayStep::Ended(RecordingEnd::CutOff { .. }) => break "cut off",
        }
    };
    let hash = format!("{:016x}", player.hub().platform().event_hash());
    Ok((player.hub().now().as_ps(), hash, entries, how))
}

/// The names of the built-in platforms.
#[pyfunction]
pub(crate) fn platform_names() -> Vec<&'static str> {
    Description::NAMES.iter().chain(Description::OTHER_NAMES).copied().collect()
}

/// A unit's name, and its registers.
type UnitRegisters<'py> = (&'static str, Vec<Bound<'py, PyTuple>>);

/// The registers of a built-in platform, unit by unit.
#[pyfunction]
pub(crate) fn all_registers<'py>(py: Python<'py>, platform: &str) -> PyResult<Vec<UnitRegisters<'py>>> {
    let registers = DeviceRegisters::of(&description(platform, &[])?);
    let units = native_registers::units(&registers).into_iter();
    units.map(|unit| Ok((unit, native_registers::of_unit(py, &registers, unit)?))).collect()
}

/// Notes that this process is the child of a fork.
#[pyfunction]
pub(crate) fn forked() {
    owned::count_fork();
}
