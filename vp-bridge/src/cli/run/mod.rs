//! `vp run`: plays traces and shows what came of them.

mod boxes;
mod energy;
mod kind;
mod methods;
mod model;
mod model_answers;
mod model_args;
mod model_nodes;
mod named;
mod network;
mod outputs;
mod planned;
pub(super) mod report;
mod results;
mod suite;
mod tensors;
pub(super) mod warnings;

use self::kind::{Device, InputKind};
pub(super) use self::model_args::{LoweredModel, ModelArgs};
pub(super) use self::model_nodes::ModelNodes;
pub(super) use self::named::Named;
pub(super) use self::network::{bound, input as network_input, network_line};
pub(super) use self::planned::{Planned, ReadNetwork, planned, read_network};
pub(super) use self::tensors::inputs;
use super::fault_args::FaultArgs;
use super::hosts::{HostArgs, OpenedHost};
use super::memory_limit;
use super::platform_args::{DEFAULT_PLATFORM, nvdla};
use super::rtl::RtlTable;
use super::text;
use super::{Failure, Verdict, out, standard, terminal};
use indicatif::ProgressBar;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use vp_host::fpga_ai_suite::Job;
use vp_host::network::{Copies, CpuModel, Options, Placement, PlanOptions, Share, Winograd};
use vp_host::trace::cfg::CfgCommand;
use vp_host::trace::player::{self, FailureKind, Outcome, PlayError, PlayOptions};
use vp_host::trace::{Body, Language, Trace, TracePlatform, platform_of, platform_of_folder};
use vp_host::{Statistics, Warning};
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::{Description, DeviceDescription};

/// Bytes of a file with an input, or of one that describes a layer or a network, at most.
const MOST_INPUT: u64 = 1 << 30;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Traces, loadables, networks or jobs to run [default: a built-in layer; on an FPGA AI Suite IP, and an NVDLA of other atoms, the digits
    /// network]
    ///
    /// Traces: scripts (.cfg, .txn), recordings of a driver (.trace), register logs (.jsonl, or sc.log of the vendor's virtual
    /// platform), and folders with them at any depth. Loadables of the vendor's compiler (.nvdla, …_fbuf): without --platform each runs
    /// on a platform that it fits. A network: built-in (digits, lenet, alexnet, googlenet, resnet50, mobilenet_v1, yolov3_tiny), a
    /// folder with a network.toml, such a file, or a sheet of layers (.csv). An ONNX model (.onnx). A job (.toml)
    /// for an FPGA AI Suite IP.
    ///
    /// The exit status is 0 if something passed and nothing failed. A test that needs something the platform does not have neither
    /// passes nor fails, and is counted on its own. A script that compares nothing has an exit status of 0 when it comes to its end.
    #[arg(value_name = "TRACE")]
    traces: Vec<PathBuf>,

    #[command(flatten)]
    host: HostArgs,

    #[command(flatten)]
    faults: FaultArgs,

    /// Table of RTL cycles to compare with [default: found in `rtl-golden` beside a folder named `traces`]
    #[arg(long, value_name = "CSV")]
    rtl_table: Option<PathBuf>,

    /// Input of a loadable: an image (PGM, PPM, PNG, JPEG) of the tensor's size, its elements ordered by channel, line and column, or
    /// its memory as it is [default: zeros]. On an FPGA AI Suite IP: inputs one after the other, ordered by row, column and channel
    #[arg(long, value_name = "FILE")]
    input: Vec<PathBuf>,

    /// File for a loadable's output: .dimg as the vendor's runtime writes it, .npy or (of all outputs) .npz, else its elements ordered by
    /// channel, line and column;
    /// for a network's output: its elements ordered by line, column and channel, frame after frame
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Run a network without its arithmetic, for its cycles only; its output is zeros
    #[arg(long)]
    timed: bool,

    #[command(flatten)]
    reading: ReadingArgs,

    #[command(flatten)]
    model: ModelArgs,

    /// Number of frames for which a network or a loadable runs on its input, one after the other without a reset; results are of all
    /// together [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    frames: Option<u32>,

    /// Number of frames that a network takes at once: fully connected layers at its end run once for all of them, and read their
    /// weights once. --frames is rounded up to a multiple [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=32))]
    batch: Option<u32>,

    /// Estimate a network's energy from a file of coefficients, or `default`; `vp study energy` prints the default file, with its
    /// sources
    #[arg(long, value_name = "FILE")]
    energy: Option<PathBuf>,

    /// CPU that does what no unit does of a network: its clock, and arithmetic operations and bytes in a cycle. Its time is an estimate
    /// beside the device's [default: 1GHz,4,4]
    #[arg(long, value_name = "CLOCK,OPERATIONS,BYTES")]
    cpu: Option<CpuModel>,

    #[command(flatten)]
    placement: PlacementArgs,

    #[command(flatten)]
    results: results::ResultArgs,
}

/// Options that change a network from what its file says.
#[derive(Debug, Clone, Copy, Default, PartialEq, clap::Args)]
pub(super) struct ReadingArgs {
    /// Columns and lines of a network's input, in place of its own
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = network::size)]
    input_size: Option<[u32; 2]>,

    /// Format of a network's features and weights, in place of its own: int8, int16 or fp16. Tensors in files must have it
    #[arg(long, value_name = "FORMAT")]
    precision: Option<Precision>,

    /// Share of zeros in a network's made-up weights, from 0 to 1, in place of its own. Weights are stored compressed, without their
    /// zeros, where that moves fewer bytes
    #[arg(long, value_name = "SHARE")]
    zeros: Option<Share>,

    /// Use of Winograd's method for a network's 3x3 convolutions, in place of its own: never, auto (where it is estimated to be faster)
    /// or always (wherever possible). Results differ from those of the direct method
    #[arg(long, value_name = "WHEN")]
    winograd: Option<Winograd>,
}

impl ReadingArgs {
    fn is_given(&self) -> bool {
        *self != ReadingArgs::default()
    }

    /// Returns the options for reading a network.
    pub(super) fn options(&self) -> Options {
        let ReadingArgs { input_size, precision, zeros, winograd } = *self;
        Options { input_size, precision, zeros, winograd }
    }
}

/// Options about the data that a network keeps in SRAM.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(super) struct PlacementArgs {
    /// Data that a network keeps in SRAM (`sram0`), besides data that its file demands there: dram (nothing), activations (layers'
    /// outputs, by the traffic saved) or all (weights too, in the room that is left) [default: dram]
    #[arg(long, value_name = "WHAT")]
    placement: Option<Placement>,

    /// Bytes of SRAM that a network may use, such as 512K [default: all of `sram0`]
    #[arg(long, value_name = "SIZE", value_parser = memory_limit::bytes)]
    placement_limit: Option<u64>,

    /// Use of BDMA to copy data into SRAM that a network's layers read several times from DRAM: auto (where that moves fewer bytes over
    /// DBBIF) or never [default: auto where something is placed in SRAM and the platform has BDMA]
    #[arg(long, value_name = "WHEN")]
    copies: Option<Copies>,
}

impl Args {
    /// Returns true if a file's option has standard output.
    fn takes_standard_output(&self) -> Result<bool, Failure> {
        let files = self.results.files().map(|(_, path)| path);
        standard::takes_output(self.output.as_deref().into_iter().chain(files), self.results.json)
    }
}

impl PlacementArgs {
    fn is_given(&self) -> bool {
        self.placement.is_some() || self.placement_limit.is_some() || self.copies.is_some()
    }

    /// Returns the options for planning a network with so many frames at once.
    pub(super) fn options(&self, frames: u32) -> PlanOptions {
        PlanOptions {
            frames,
            placement: self.placement.unwrap_or_default(),
            sram_limit: self.placement_limit,
            copies: self.copies,
            ends_apart: false,
        }
    }
}

/// The layer that is run when none is named: batch normalisation and ReLU, then 2x2 max pooling on the fly.
pub(super) const BUILT_IN: &str = "sdp_pdp_batchnorm_relu_maxpool_16x16x16";

/// Bytes of a memory atom for which the built-in layer is.
const BUILT_IN_ATOM: u32 = 8;

/// Text of a file of the built-in layer, as it lies in the repository.
macro_rules! built_in_file {
    ($name:literal) => {
        include_str!(concat!("../../../../traces/nv_small/sdp_pdp_batchnorm_relu_maxpool_16x16x16/", $name))
    };
}

/// A trace that was played.
pub(super) struct PlayedTrace {
    outcome: Outcome,
    statistics: Statistics,
    /// Warnings of the device.
    warnings: Vec<Warning>,
    /// The platform it ran on.
    platform: String,
    headline: String,
    /// Description of a loadable, in one line.
    loadable: Option<String>,
    /// Cycles of the vendor's RTL on the same trace with the same memory.
    rtl: Option<u64>,
    /// True if the trace compares something.
    compares: bool,
}

impl PlayedTrace {
    /// Judges whether what came of the trace is right.
    fn verdict(&self) -> Judged {
        let failures = &self.outcome.failures;
        // A layer that the device could not run ends nevertheless, unless its whole engine is missing.
        let excused = failures.iter().all(|it| it.kind.is_of_memory());
        let is_unfit = failures.iter().any(|it| it.kind.is_of_platform());
        match is_unfit || excused && self.warnings.iter().any(|warning| warning.marks.lacking) {
            true => Judged::Unsupported,
            false if !failures.is_empty() => Judged::Failed,
            false if self.compares => Judged::Passed,
            // Nothing else says that its cycles are of no layer.
            false if self.warnings.iter().any(|warning| warning.marks.refused) => Judged::Failed,
            false => Judged::NotCompared,
        }
    }
}

/// Judgement on how a trace came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judged {
    /// All is as it should be.
    Passed,
    /// Something is not.
    Failed,
    /// The trace came to its end, and nothing in it was compared with what it should be.
    NotCompared,
    /// The platform has not all that the trace needs: nothing is proven.
    Unsupported,
}

impl Run {
    fn verdict(&self) -> Judged {
        match &self.result {
            Ok(ran) => ran.verdict(),
            Err(failure) if failure.is_lack => Judged::Unsupported,
            Err(_) => Judged::Failed,
        }
    }
}

/// A trace and what came of it.
struct Run {
    name: String,
    configuration: String,
    result: Result<PlayedTrace, Failure>,
    /// Time that the run took here.
    took: Duration,
}

impl Run {
    /// Plays a trace on the platform of its configuration.
    fn of(name: &str, configuration: &str, play: impl FnOnce() -> Result<PlayedTrace, Failure>) -> Run {
        let began = Instant::now();
        let result = play();
        Run { name: name.to_owned(), configuration: configuration.to_owned(), result, took: began.elapsed() }
    }
}

/// Refuses what only a network's run knows, and frames if it is not a loadable's.
fn only_for_networks(args: &Args, are_loadables: bool) -> Result<(), Failure> {
    let given = args.timed || args.reading.is_given() || args.batch.is_some();
    if given || args.placement.is_given() || args.energy.is_some() || args.cpu.is_some() {
        return Err(Failure::new(
            "--timed, --input-size, --precision, --zeros, --winograd, --batch, --placement, --copies, --energy and --cpu are for networks on \
             NVDLA",
        ));
    }
    match args.frames.is_some() && !are_loadables {
        true => Err(Failure::new("--frames is for networks on NVDLA, and for loadables")),
        false => Ok(()),
    }
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    args.host.check()?;
    let read = args.traces.iter().map(|path| ("TRACE", path.as_path()));
    let given = args.input.iter().map(|path| ("--input", path.as_path()));
    let output = args.output.iter().map(|path| ("--output", path.as_path()));
    let written = output.chain(args.results.files()).collect::<Vec<_>>();
    args.takes_standard_output()?;
    // What is read several times is no mistake, and standard input no file that is written.
    for file in read.chain(given).filter(|(_, path)| !standard::is_standard(path)) {
        args.host.observing.check_names_beside(written.iter().copied().chain([file]))?;
    }
    args.host.observing.check_names_beside(written)?;
    args.host.observing.conclude(run(args))
}

fn run(args: &Args) -> Result<Verdict, Failure> {
    let mut sources = Vec::new();
    for path in &args.traces {
        let alone =
            |what: &str| match args.traces.len() {
                1 => Ok(()),
                _ => Err(Failure::new(format!("{what} runs alone"))
                    .hint("name it without other networks or traces")),
            };
        match kind::of(path, || asked(args))? {
            InputKind::Traces(found) => sources.extend(found),
            InputKind::Network(named) => {
                alone("a network")?;
                // A server is not asked: that would be a session more.
                if args.host.connect.is_none() && asked(args)? == Some(Device::Suite) {
                    only_for_networks(args, false)?;
                    return suite::main(suite::of_network(&named)?, args);
                }
                return network::main(&named, args);
            }
            InputKind::Model(path) => {
                alone("a model")?;
                return model::main(&path, args);
            }
            InputKind::Suite => {
                alone("a job or a network")?;
                only_for_networks(args, false)?;
                let job = match standard::is_standard(path) {
                    true => suite::of_network(&Named::File(path.clone()))?,
                    false => Job::load(path).map_err(Failure::new)?,
                };
                return suite::main(job, args);
            }
        }
    }
    let are_loadables = sources.iter().all(|source| source.language == Language::Loadable);
    only_for_networks(args, are_loadables && !sources.is_empty())?;
    if args.traces.is_empty() && asked(args)? == Some(Device::Suite) {
        return suite::main(suite::built_in()?, args);
    }
    if args.traces.is_empty() && !fits_built_in(args)? {
        return network::main(&Named::BuiltIn("digits".to_owned()), args);
    }
    let mut tables = Tables { given: args.rtl_table.clone(), read: HashMap::new() };
    if args.traces.is_empty() {
        let trace = built_in()?;
        let chosen = TracePlatform { platform: DEFAULT_PLATFORM.to_owned(), why: None, is_default: true };
        let run =
            Run::of(BUILT_IN, DEFAULT_PLATFORM, || play(&trace, &chosen, (args, &args.host), &mut tables));
        return one(run, args);
    }
    if let [source] = sources.as_slice() {
        let mut trace = Trace::load(&source.script).map_err(Failure::new)?;
        tensors::give(&mut trace, &args.input)?;
        tensors::check(&trace, args.output.as_deref())?;
        let chosen = platform_of(source, &trace);
        let play = || play(&trace, &chosen, (args, &args.host), &mut tables);
        let verdict = one(Run::of(&source.name, &chosen.platform, play), args)?;
        let is_default =
            chosen.is_default && args.host.platform.platform.is_none() && args.host.connect.is_none();
        if verdict == Verdict::Wrong && is_default && !args.results.json && !args.takes_standard_output()? {
            out::println!("       it ran on {}, the default: --platform names another", chosen.platform);
        }
        return Ok(verdict);
    }
    if !args.input.is_empty() || args.output.is_some() {
        return Err(Failure::new("--input and --output are for one loadable"));
    }
    let host = HostArgs { platform: args.host.platform.of_several(), ..args.host.clone() };
    let bar = progress(sources.len());
    let mut runs = Vec::new();
    for source in &sources {
        bar.set_message(text::one_line(&source.name));
        let trace = Trace::load(&source.script).map_err(Failure::new);
        let run = match trace {
            Ok(trace) => {
                let chosen = platform_of(source, &trace);
                Run::of(&source.name, &chosen.platform, || play(&trace, &chosen, (args, &host), &mut tables))
            }
            Err(failure) => Run::of(&source.name, platform_of_folder(source), || Err(failure)),
        };
        bar.inc(1);
        // Without the server, the rest would only fail in the same way.
        let lost = matches!(&run.result, Err(failure) if failure.is_connection);
        runs.push(run);
        if lost {
            break;
        }
    }
    let left_out = sources.len() - runs.len();
    bar.finish_and_clear();
    match args.results.tell_traces(&runs, left_out)? || args.takes_standard_output()? {
        true => Ok(report::verdict_of_all(&runs, left_out)),
        false => report::many(&runs, left_out),
    }
}

/// Shows what came of the only trace.
fn one(run: Run, args: &Args) -> Result<Verdict, Failure> {
    if let Ok(ran) = &run.result {
        tensors::take(&ran.outcome, args.output.as_deref())?;
    }
    let is_told = args.results.tell_traces(std::slice::from_ref(&run), 0)? || args.takes_standard_output()?;
    if is_told && run.result.is_ok() {
        return Ok(report::verdict_of_all(&[run], 0));
    }
    report::one(&run.name, &run.result?)
}

/// Returns the device that the platform carries, if a platform is asked for.
fn asked(args: &Args) -> Result<Option<Device>, Failure> {
    if args.host.connect.is_none() && args.host.platform.platform.is_none() {
        return Ok(None);
    }
    let is_suite = match args.host.connect {
        Some(_) => args.host.open_unobserved(DEFAULT_PLATFORM)?.host.device() == "fpga-ai-suite",
        None => {
            let description = args.host.platform.description(DEFAULT_PLATFORM)?;
            matches!(description.device, DeviceDescription::FpgaAiSuite(_))
        }
    };
    Ok(Some(if is_suite { Device::Suite } else { Device::Nvdla }))
}

/// Returns true if the platform has the atoms that the built-in layer is for; a network is planned for any.
fn fits_built_in(args: &Args) -> Result<bool, Failure> {
    if args.host.connect.is_some() {
        return Ok(true);
    }
    let description = args.host.platform.description(DEFAULT_PLATFORM)?;
    Ok(nvdla(&description)?.config.internal_dma_bytes() == BUILT_IN_ATOM)
}

pub(super) fn built_in() -> Result<Trace, Failure> {
    let script = built_in_file!("sdp_pdp_batchnorm_relu_maxpool_16x16x16.cfg");
    let mut read = |file: &str| {
        Ok(match file {
            "input.dat" => Some(built_in_file!("input.dat").to_owned()),
            "bn_operands.dat" => Some(built_in_file!("bn_operands.dat").to_owned()),
            _ => None,
        })
    };
    let place = Path::new("built-in").join(format!("{BUILT_IN}.cfg"));
    Trace::assemble(BUILT_IN, &place, Language::Cfg, script, None, &mut read).map_err(Failure::new)
}

fn play(
    trace: &Trace,
    chosen: &TracePlatform,
    (args, host): (&Args, &HostArgs),
    tables: &mut Tables,
) -> Result<PlayedTrace, Failure> {
    let default = chosen.platform.as_str();
    let OpenedHost { parts: _parts, mut host, description, mut headline, observed: _observed } =
        host.open(default)?;
    if let (Some(why), None, None) = (&chosen.why, &args.host.connect, &args.host.platform.platform) {
        headline.push_str(&format!("\n{default} is {why}"));
    }
    args.faults.arm(host.as_mut())?;
    host.running(trace.name());
    let map = host.map();
    let options = PlayOptions { frames: args.frames.unwrap_or(1), ..PlayOptions::default() };
    let played = player::play(trace, host.as_mut(), &map, &options);
    let mut outcome = played.map_err(|error| Failure {
        is_lack: is_lack(&error, trace, map),
        ..Failure::new(warnings::with_warnings(&error, Some(trace), host.as_mut()))
    })?;
    let statistics = host.statistics().map_err(Failure::new)?;
    let mut warnings = warnings::of_trace(trace, host.as_mut());
    let of_addresses = warnings::of_addresses(trace, map);
    warnings.extend(of_addresses.map(|text| Warning::new(outcome.start, text)));
    if matches!(trace.body(), Body::Loadable { .. }) {
        // Nobody else says so: the layer ends, and what is compared may not come of it.
        let refused = warnings.iter().find(|it| it.marks.refused && !it.marks.lacking);
        let kind = refused.map(|warning| FailureKind::Refused(warning.to_string()));
        let file = trace.script().to_owned();
        outcome.failures.extend(kind.map(|kind| player::Failure { file, line: None, kind }));
    }
    // A server's platform describes itself.
    let description =
        description.or_else(|| Description::parse(statistics.text("platform.description")?).ok());
    let platform =
        description.as_ref().map_or_else(|| default.to_owned(), |description| description.name.clone());
    if args.host.connect.is_some() && platform != default && !matches!(trace.body(), Body::Loadable { .. }) {
        let text =
            format!("{} is written for {default}, and the server's platform is {platform}", trace.name());
        warnings.push(Warning::new(outcome.finish, text));
    }
    let rtl =
        description.as_ref().map(|description| tables.cycles(trace, description)).transpose()?.flatten();
    let (loadable, compares) = (described(trace), trace.compares());
    Ok(PlayedTrace { outcome, statistics, warnings, platform, headline, loadable, rtl, compares })
}

/// Describes a loadable, in one line.
fn described(trace: &Trace) -> Option<String> {
    let Body::Loadable { loadable, .. } = trace.body() else { return None };
    let interface = loadable.interface.map_or_else(|| "?".to_owned(), |version| version.to_string());
    let cube = loadable.generation().cube_bytes();
    let tasks = text::counted(loadable.tasks().len() as u64, "task");
    Some(format!("firmware interface {interface}, data cubes of {cube} bytes, {tasks}"))
}

/// Returns true if a trace could not be played for want of units that another configuration has.
fn is_lack(error: &PlayError, trace: &Trace, map: RegisterMap) -> bool {
    match (error, trace.body()) {
        (PlayError::NoNvdla { .. }, _) => true,
        (PlayError::Trace(_), Body::Cfg(lines)) => {
            let registers = lines.iter().filter_map(|line| match &line.command {
                CfgCommand::RegWrite { register, .. }
                | CfgCommand::RegRead { register, .. }
                | CfgCommand::RegReadCheck { register, .. }
                | CfgCommand::PollRegEqual { register, .. } => Some(register.as_str()),
                _ => None,
            });
            let mut unknown = registers.filter(|register| map.find(register).is_err()).peekable();
            unknown.peek().is_some() && unknown.all(|register| RegisterMap::Large.find(register).is_ok())
        }
        _ => false,
    }
}

/// The tables of RTL cycles read so far.
struct Tables {
    given: Option<PathBuf>,
    read: HashMap<PathBuf, RtlTable>,
}

impl Tables {
    fn cycles(&mut self, trace: &Trace, description: &Description) -> Result<Option<u64>, Failure> {
        let path = self.given.clone().or_else(|| RtlTable::beside(trace.script(), description));
        let Some(path) = path else { return Ok(None) };
        if !self.read.contains_key(&path) {
            self.read.insert(path.clone(), RtlTable::read(&path)?);
        }
        Ok(self.read.get(&path).and_then(|table| table.cycles(trace.name(), description)))
    }
}

fn progress(parts: usize) -> ProgressBar {
    terminal::progress(parts, "{bar:28} {pos}/{len}  {elapsed}  {msg}")
}
