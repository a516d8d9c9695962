//! Options about files that are written while a platform runs, and what came of the files.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use vp_host::network::Plan;
use vp_hub::Hub;
use vp_models::memory::{CommandForm, RequestForm};
use vp_models::platform::Description;
use vp_observers::{
    CommandFile, Files, Finished, LayerNames, ObserveError, Observers, RequestFile, TraceFile,
};
use vp_server::{ObservePlatforms, PlatformObserver};

use super::recording::RecordArgs;
use super::{Failure, Verdict, standard, text};
use crate::cli::out;

/// Options that say which files are written about what a platform does.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Observing")]
pub(super) struct ObserveArgs {
    #[command(flatten)]
    recording: RecordArgs,
    /// Write a waveform of buses, units, lines and buffers, for GTKWave or Surfer: an .fst or .vcd file. With several platforms each
    /// has its own file: run.fst, run-2.fst, …
    #[arg(long, value_name = "FILE", value_parser = super::standard::named())]
    trace: Option<PathBuf>,

    /// Start the waveform at a time such as `10 us`, or at the first register:NAME[=VALUE] (access), interrupt, address:HEX[..HEX]
    /// (burst), layer:N, layer:UNIT.N (counted from 1) or layer:NAME (of a network)
    #[arg(long, value_name = "WHEN", requires = "trace")]
    trace_start: Option<String>,

    /// Stop the waveform at a time or event, written as for --trace-start; with a layer, at its end
    #[arg(long, value_name = "WHEN", requires = "trace")]
    trace_stop: Option<String>,

    /// Write a timeline for Perfetto (ui.perfetto.dev): units and their layers, stalls, memory traffic, interrupts, register accesses.
    /// With several platforms each has its own file
    #[arg(long, value_name = "FILE", value_parser = super::standard::named())]
    timeline: Option<PathBuf>,

    /// The layers of the network that is run.
    #[arg(skip)]
    layers: Arc<OnceLock<LayerNames>>,

    /// Write each register access to a file, with time, name, fields and session: as JSON (.jsonl), which `vp run FILE.jsonl` can run,
    /// or as text (.txt, .log)
    #[arg(long, value_name = "FILE", value_parser = super::standard::named())]
    registers: Option<PathBuf>,

    /// Write each command that a DRAM is given, with its clock and place, in the form of --dram-commands-form
    #[arg(long, value_name = "FILE", value_parser = super::standard::named())]
    dram_commands: Option<PathBuf>,

    /// Form of --dram-commands: vp (CSV), ramulator (as its CmdTraceRecorder writes it) or dramsim3 (as its command trace)
    #[arg(long, value_name = "FORM", default_value_t, value_parser = command_form, requires = "dram_commands")]
    dram_commands_form: CommandForm,

    /// Write the bursts that a memory is asked for, as a trace that `vp memory replay` plays, in the form of --memory-requests-form
    #[arg(long, value_name = "FILE", value_parser = super::standard::named())]
    memory_requests: Option<PathBuf>,

    /// Form of --memory-requests: vp (clock, direction, address, bytes), ramulator (a load/store trace) or dramsim3
    #[arg(long, value_name = "FORM", default_value_t, value_parser = request_form, requires = "memory_requests")]
    memory_requests_form: RequestForm,

    /// Memory of --memory-requests: dbb0 or sram0
    #[arg(long, value_name = "MEMORY", default_value = "dbb0", requires = "memory_requests")]
    memory_requests_of: String,

    /// Outcome of writing the files of all platforms.
    #[arg(skip)]
    outcome: Arc<Outcome>,
}

/// Reads the form of a log of commands.
pub(super) fn command_form(text: &str) -> Result<CommandForm, String> {
    text.parse().map_err(|_| "forms are `vp`, `ramulator` and `dramsim3`".to_owned())
}

fn request_form(text: &str) -> Result<RequestForm, String> {
    let form = text.parse().ok().filter(|form| *form != RequestForm::RamulatorPlaces);
    form.ok_or_else(|| "forms are `vp`, `ramulator` and `dramsim3`".to_owned())
}

/// Outcome of the files of a command's platforms.
#[derive(Debug, Default)]
struct Outcome {
    /// Number of platforms that have begun.
    platforms: AtomicUsize,
    finished: Mutex<Finished>,
    /// True if a server has no file of what it was to write, which its log has said.
    is_lacking: AtomicBool,
}

impl Outcome {
    /// Errors of a server in one line, if there are any.
    fn of_server(&self, errors: &[ObserveError]) -> Result<(), String> {
        if errors.is_empty() {
            return Ok(());
        }
        self.is_lacking.store(true, Ordering::Relaxed);
        Err(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    }

    fn add(&self, finished: Finished) {
        let mut all = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        all.notes.extend(finished.notes);
        all.errors.extend(finished.errors);
    }

    fn take(&self) -> Finished {
        std::mem::take(&mut self.finished.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ObserveArgs {
    /// The first of these options that is given.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        let trace = self.trace.is_some().then_some("--trace");
        let registers = self.registers.is_some().then_some("--registers");
        let timeline = self.timeline.is_some().then_some("--timeline");
        let commands = self.dram_commands.is_some().then_some("--dram-commands");
        let requests = self.memory_requests.is_some().then_some("--memory-requests");
        let recording = self.recording.is_given().then_some("--record");
        recording.or(trace).or(timeline).or(registers).or(commands).or(requests)
    }

    /// A network is run, and this is how its layers are called.
    pub(super) fn name_layers(&self, plan: &Plan) {
        self.layers.get_or_init(|| LayerNames::of(plan));
    }

    /// Returns true if a recording is to be made.
    pub(super) fn records(&self) -> bool {
        self.recording.is_given()
    }

    fn check_names(&self) -> Result<(), Failure> {
        self.check_names_beside([])
    }

    /// Checks that each of these files, and of `others`, has a name of its own: of two of one name, only one would be there in the
    /// end.
    pub(super) fn check_names_beside<'a>(
        &'a self,
        others: impl IntoIterator<Item = (&'a str, &'a Path)>,
    ) -> Result<(), Failure> {
        let ObserveArgs { trace, timeline, registers, dram_commands, memory_requests, .. } = self;
        let written = [
            ("--record", self.recording.path()),
            ("--trace", trace.as_deref()),
            ("--timeline", timeline.as_deref()),
            ("--registers", registers.as_deref()),
            ("--dram-commands", dram_commands.as_deref()),
            ("--memory-requests", memory_requests.as_deref()),
        ];
        let written = written.into_iter().filter_map(|(option, path)| Some((option, path?)));
        standard::check_apart(others.into_iter().chain(written))
    }

    fn files(&self) -> Files {
        let ObserveArgs { trace, trace_start, trace_stop, timeline, registers, layers, .. } = self.clone();
        let trace = trace.map(|path| TraceFile { path, start: trace_start, stop: trace_stop });
        let command_file = |path| CommandFile { path, form: self.dram_commands_form };
        let commands = self.dram_commands.clone().map(command_file);
        let request_file = |path| {
            let memory = self.memory_requests_of.clone();
            RequestFile { path, form: self.memory_requests_form, memory }
        };
        let requests = self.memory_requests.clone().map(request_file);
        Files {
            trace,
            timeline,
            registers,
            commands,
            requests,
            layers: layers.get().cloned().unwrap_or_default(),
        }
    }

    /// Puts observers beside a platform of this process that nobody has used.
    pub(super) fn attach(&self, hub: &mut Hub) -> Result<Observed, Failure> {
        self.check_names()?;
        self.recording.begin(hub).map_err(Failure::new)?;
        let (files, outcome) = (self.files(), self.outcome.clone());
        if files.is_empty() {
            return Ok(Observed { observers: None, outcome });
        }
        let number = outcome.platforms.fetch_add(1, Ordering::Relaxed);
        let observers = files.of_platform(number).attach(hub).map_err(Failure::new)?;
        Ok(Observed { observers: Some(observers), outcome })
    }

    /// Returns what looks on at each platform of a server, if anything does.
    pub(super) fn of_server(
        &self,
        description: &Description,
    ) -> Result<Option<Arc<dyn ObservePlatforms>>, Failure> {
        let files = self.files();
        if files.is_empty() && !self.recording.is_given() {
            return Ok(None);
        }
        self.check_names()?;
        self.recording.check()?;
        files.check(description).map_err(Failure::new)?;
        Ok(Some(Arc::new(OnServer(self.clone()))))
    }

    /// Returns the verdict on a command: wrong if a file was not written. Tells what a person should know of the files.
    pub(super) fn conclude(&self, verdict: Result<Verdict, Failure>) -> Result<Verdict, Failure> {
        let Finished { notes, errors } = self.outcome.take();
        for note in notes {
            out::eprintln!("{} {note}", text::styled(text::YELLOW, "note:"));
        }
        let errors: Vec<_> = errors.iter().map(ToString::to_string).chain(self.not_recorded()).collect();
        wrong_with(&errors, verdict)
    }

    /// Returns the verdict on a server: wrong if something is not recorded, or a file was not written, which its log has said.
    pub(super) fn conclude_server(&self, verdict: Result<Verdict, Failure>) -> Result<Verdict, Failure> {
        let verdict = wrong_with(&self.not_recorded().collect::<Vec<_>>(), verdict)?;
        Ok(if self.outcome.is_lacking.load(Ordering::Relaxed) { Verdict::Wrong } else { verdict })
    }

    fn not_recorded(&self) -> impl Iterator<Item = String> + use<> {
        self.recording.failures().into_iter().map(|failure| failure.to_string())
    }
}

/// A verdict, or these errors.
fn wrong_with(errors: &[String], verdict: Result<Verdict, Failure>) -> Result<Verdict, Failure> {
    match verdict {
        verdict if errors.is_empty() => verdict,
        Ok(_) => Err(Failure { what: errors.join("\n"), ..Failure::new("") }),
        Err(failure) => {
            errors.iter().for_each(|error| out::eprintln!("{} {error}", text::styled(text::RED, "error:")));
            Err(failure)
        }
    }
}

/// The observers of a platform of this process. When it is dropped they end, and their files have their names.
pub(super) struct Observed {
    observers: Option<Observers>,
    outcome: Arc<Outcome>,
}

impl Drop for Observed {
    fn drop(&mut self) {
        if let Some(observers) = self.observers.take() {
            self.outcome.add(observers.finish());
        }
    }
}

/// Observers of a server's platforms.
#[derive(Debug)]
struct OnServer(ObserveArgs);

impl ObservePlatforms for OnServer {
    fn begin(&self, _: &str, hub: &mut Hub) -> Result<Box<dyn PlatformObserver>, String> {
        match self.0.attach(hub) {
            Ok(observed) => Ok(Box::new(observed)),
            Err(failure) => {
                self.0.outcome.is_lacking.store(true, Ordering::Relaxed);
                Err(failure.to_string())
            }
        }
    }
}

impl PlatformObserver for Observed {
    fn before_answers(&mut self) -> Result<(), String> {
        let failed = self.observers.as_mut().map(Observers::take_failures).unwrap_or_default();
        self.outcome.of_server(&failed)
    }

    fn finish(mut self: Box<Self>) -> Result<(), String> {
        let Some(observers) = self.observers.take() else { return Ok(()) };
        let Finished { notes, errors } = observers.finish();
        notes.iter().for_each(|note| tracing::warn!("{note}"));
        self.outcome.of_server(&errors)
    }
}
