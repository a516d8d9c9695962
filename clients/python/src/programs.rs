//! Programs of a CPU that are made in Rust: networks, the vendor's traces, and loadables.

use std::path::{Path, PathBuf};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use vp_host::network::{
    Copies, LayerFigures, Measured, Memories, Network, NetworkLayer, Options, Placement, Plan, PlanOptions,
    RunError, digits,
};
use vp_host::trace::player::{self, Outcome, PlayError, PlayOptions};
use vp_host::trace::{Body, Trace, TraceSource, discover, platform_of};
use vp_host::{DriverError, Host as _, Memory};
use vp_models::occupancy::Work;
use vp_models::platform::{Arithmetic, Description};

use crate::calls::CallError;
use crate::errors;
use crate::host::Host;
use crate::session::{PlatformHost, Session};

/// The network of that name, or in that file.
fn network(named: &str, input_size: Option<[u32; 2]>) -> PyResult<Network> {
    let options = Options { input_size, ..Options::default() };
    if let Some(network) = Network::named(named, &options).map_err(errors::description)? {
        return Ok(network);
    }
    let mut path = PathBuf::from(named);
    if path.join("network.toml").is_file() {
        path.push("network.toml");
    }
    if !path.is_file() {
        let names = Network::NAMES.join(", ");
        return Err(errors::description(format!(
            "there is no network `{named}`: {names}, a folder with a network.toml, such a file, a sheet of layers (.csv), or an ONNX \
             model (.onnx)"
        )));
    }
    Network::load(&path, &options).map_err(errors::description)
}

fn not_run(error: &RunError) -> CallError {
    let text = error.to_string();
    CallError::Python(match error {
        RunError::Driver(DriverError::Host { error, .. }) => errors::host_as(error, &text),
        _ => errors::of("ProgramError", text),
    })
}

fn not_played(error: &PlayError) -> CallError {
    let text = error.to_string();
    CallError::Python(match error {
        PlayError::Host { source, .. } => errors::host_as(source, &text),
        PlayError::Trace(_) => errors::description(text),
        PlayError::NoNvdla { .. } => errors::of("ProgramError", text),
    })
}

/// A network that has run, and on what.
pub(crate) struct Done {
    pub(crate) network: Network,
    pub(crate) measured: Measured,
    pub(crate) description: Description,
    macs: u64,
    hardware_layers: usize,
    bytes: u64,
    sram_bytes: u64,
}

/// Runs a network on inputs, one behind the other.
pub(crate) fn measure(
    session: &mut Session,
    network: Network,
    inputs: Option<Vec<i8>>,
    (frames, options): (u32, PlanOptions),
) -> Result<Done, CallError> {
    let description = session.description()?.0.clone();
    let config = match description.nvdla() {
        Some(nvdla) => &nvdla.config,
        None => return Err(errors::of("ProgramError", "the platform carries no NVDLA").into()),
    };
    let plan = Plan::with(&network, config, &Memories::of(&description), &options).map_err(|error| {
        let line = error.line(&network).map_or_else(String::new, |line| format!("line {line}: "));
        errors::description(format!("{line}{} cannot run on {}: {error}", network.name, description.name))
    })?;
    let elements = network.input_bytes();
    let given = inputs.unwrap_or_else(|| network.example_input(1));
    if given.is_empty() || !given.len().is_multiple_of(elements) {
        let text = format!(
            "{} bytes; {} of {} in {} takes {elements}",
            given.len(),
            network.name,
            network.input,
            network.precision
        );
        return Err(errors::of("ProgramError", text).into());
    }
    let each: Vec<&[i8]> = given.chunks(elements).collect();
    let number = (frames as usize).max(each.len()).next_multiple_of(options.frames.max(1) as usize);
    let inputs: Vec<&[i8]> = each.iter().copied().cycle().take(number).collect();
    if let PlatformHost::Local(host) = &session.way {
        host.watch();
    }
    let measured = Measured::on(&network, &plan, session, description.period, &inputs, || ())
        .map_err(|error| not_run(&error))?;
    let (macs, hardware_layers) = (u64::from(config.macs()), plan.steps.len());
    let Plan { bytes, sram_bytes, .. } = plan;
    Ok(Done { network, measured, macs, hardware_layers, bytes, sram_bytes, description })
}

/// The figures of a layer: times in cycles.
fn layer<'py>(py: Python<'py>, layer: &LayerFigures, period: vp_core::Time) -> PyResult<Bound<'py, PyDict>> {
    let (row, (read, written)) = (PyDict::new(py), layer.bytes());
    let cycles = layer.time().cycles(period);
    row.set_item("name", &layer.name)?;
    row.set_item("cycles", cycles)?;
    row.set_item("begin", layer.begin.cycles(period))?;
    row.set_item("end", layer.end.cycles(period))?;
    row.set_item("steps", layer.steps)?;
    row.set_item("within", &layer.within)?;
    row.set_item("cpu", layer.is_cpu)?;
    row.set_item("cpu_cycles", layer.cpu.map(|cpu| cpu.time.cycles(period)))?;
    row.set_item("macs", layer.macs)?;
    row.set_item("products", layer.products())?;
    row.set_item("winograd", layer.method.is_winograd())?;
    row.set_item("compressed", layer.method.is_compressed)?;
    row.set_item("mac_cycles", layer.mac_cycles)?;
    row.set_item("bytes_read", read)?;
    row.set_item("bytes_written", written)?;
    let (read, written) = layer.bytes_at(Memory::Secondary.port());
    row.set_item("sram_bytes_read", read)?;
    row.set_item("sram_bytes_written", written)?;
    row.set_item("bytes_copied", layer.copied)?;
    let is_watched = !layer.moved.is_empty();
    row.set_item("bound_by", is_watched.then(|| layer.bounds.largest().name()))?;
    for (bound, time) in layer.bounds.parts() {
        row.set_item(format!("{}_cycles", bound.key()), is_watched.then(|| time.cycles(period)))?;
    }
    for (work, done) in Work::ALL.into_iter().zip(layer.work) {
        row.set_item(work.key(), is_watched.then_some(done))?;
    }
    Ok(row)
}

fn outcome<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("name", &outcome.name)?;
    told.set_item("passed", outcome.passed())?;
    told.set_item("checks_passed", outcome.checks_passed)?;
    let failures: Vec<String> = outcome.failures.iter().map(ToString::to_string).collect();
    told.set_item("failures", failures)?;
    told.set_item("register_writes", outcome.register_writes)?;
    told.set_item("register_reads", outcome.register_reads)?;
    told.set_item("start", outcome.start.as_ps())?;
    told.set_item("finish", outcome.finish.as_ps())?;
    let interrupts = outcome.interrupts.iter().map(|seen| {
        let name = seen.interrupt.map(|interrupt| interrupt.to_string());
        (name, seen.time.as_ps())
    });
    told.set_item("interrupts", interrupts.collect::<Vec<_>>())?;
    let outputs = PyList::empty(py);
    for output in outcome.execution.iter().flat_map(|execution| &execution.outputs) {
        let tensor = output.tensor.as_ref();
        let elements = tensor.and_then(|tensor| tensor.unpack(&output.bytes));
        let shape = tensor.map(|tensor| tensor.size);
        let size = tensor.and_then(|tensor| tensor.element_bytes);
        let is_half = tensor.is_some_and(|tensor| tensor.is_half);
        let bytes = PyBytes::new(py, elements.as_ref().unwrap_or(&output.bytes));
        outputs.append((bytes, elements.is_some(), shape, size, is_half))?;
    }
    told.set_item("outputs", outputs)?;
    Ok(told)
}

/// Runs a network on inputs, one behind the other; what came of it.
#[pyfunction]
#[pyo3(signature = (host, named, inputs=None, frames=1, batch=1, input_size=None, placement="dram", placement_limit=None, copies=None))]
#[expect(clippy::too_many_arguments, reason = "Python's keywords")]
pub(crate) fn run_network<'py>(
    host: &Host,
    py: Python<'py>,
    named: &str,
    inputs: Option<(PyReadonlyArray1<'_, i8>, String)>,
    frames: u32,
    batch: u32,
    input_size: Option<[u32; 2]>,
    placement: &str,
    placement_limit: Option<u64>,
    copies: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let network = network(named, input_size)?;
    let options = plan_options(batch, placement, placement_limit, copies)?;
    let wanted = network.precision.to_string();
    let bytes = |(inputs, given): (PyReadonlyArray1<'_, i8>, String)| match given == wanted {
        true => inputs.as_slice().map(<[i8]>::to_vec).map_err(errors::description),
        false => {
            let text = format!("the input has elements of {given}; {} takes {wanted}", network.name);
            Err(errors::of("ProgramError", text))
        }
    };
    let inputs = inputs.map(bytes).transpose()?;
    let done = host.run(py, |session| measure(session, network, inputs, (frames, options)))?;
    let told = told(py, &done)?;
    let Done { network, measured, description, .. } = &done;
    let is_computed = description.arithmetic == Arithmetic::Computed;
    let outputs = measured.outputs.iter().zip(&network.outputs).map(|(output, &layer)| {
        let NetworkLayer { name, output: shape, .. } = &network.layers[layer];
        (name, (shape.height, shape.width, shape.channels), PyArray1::from_slice(py, output))
    });
    told.set_item("outputs", is_computed.then(|| outputs.collect::<Vec<_>>()))?;
    Ok(told)
}

/// The choices for a plan.
pub(crate) fn plan_options(
    batch: u32,
    placement: &str,
    sram_limit: Option<u64>,
    copies: Option<&str>,
) -> PyResult<PlanOptions> {
    let placement: Placement = placement.parse().map_err(errors::description)?;
    let copies: Option<Copies> = copies.map(str::parse).transpose().map_err(errors::description)?;
    Ok(PlanOptions { frames: batch, placement, sram_limit, copies, ends_apart: false })
}

/// Facts of a run, but for its outputs.
pub(crate) fn told<'py>(py: Python<'py>, done: &Done) -> PyResult<Bound<'py, PyDict>> {
    let Done { network, measured, description, macs, hardware_layers, bytes, sram_bytes } = done;
    let told = PyDict::new(py);
    told.set_item("network", &network.name)?;
    told.set_item("platform", &description.name)?;
    told.set_item("period", measured.period.as_ps())?;
    told.set_item("time", measured.time.as_ps())?;
    told.set_item("cycles", measured.cycles())?;
    told.set_item("frames", measured.frames)?;
    told.set_item("macs_per_cycle", macs)?;
    told.set_item("hardware_layers", hardware_layers)?;
    told.set_item("precision", network.precision.to_string())?;
    told.set_item("memory_bytes", bytes)?;
    told.set_item("sram_bytes", sram_bytes)?;
    told.set_item("event_hash", measured.statistics.text("events.hash"))?;
    let layers: PyResult<Vec<_>> =
        measured.layers.iter().map(|one| layer(py, one, measured.period)).collect();
    told.set_item("layers", layers?)?;
    Ok(told)
}

/// Plays a trace, or runs a loadable on inputs as they lie in memory or as elements; what came of it.
#[pyfunction]
#[pyo3(signature = (host, path, inputs=None))]
pub(crate) fn run_trace<'py>(
    host: &Host,
    py: Python<'py>,
    path: PathBuf,
    inputs: Option<Vec<Vec<u8>>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut trace = Trace::load(&only_source(&path)?.script).map_err(errors::description)?;
    if let Some(inputs) = inputs {
        give(&mut trace, inputs)?;
    }
    let done = host.run(py, |session| {
        let map = session.map();
        player::play(&trace, session, &map, &PlayOptions::default()).map_err(|error| not_played(&error))
    })?;
    outcome(py, &done)
}

/// The trace of a file, or of a folder that has one.
fn only_source(path: &Path) -> PyResult<TraceSource> {
    if !path.exists() {
        return Err(errors::file(path, &std::io::ErrorKind::NotFound.into()));
    }
    let mut sources = discover(path).map_err(errors::description)?;
    match sources.len() {
        1 => Ok(sources.remove(0)),
        several => {
            let why = format!("{}: {several} traces are there, and one is played", path.display());
            Err(errors::of("DescriptionError", why))
        }
    }
}

/// The built-in platform of a trace or a loadable, as `vp run` chooses it.
#[pyfunction]
pub(crate) fn platform_of_trace(path: PathBuf) -> PyResult<String> {
    let source = only_source(&path)?;
    let trace = Trace::load(&source.script).map_err(errors::description)?;
    Ok(platform_of(&source, &trace).platform)
}

/// Gives a loadable its inputs.
fn give(trace: &mut Trace, inputs: Vec<Vec<u8>>) -> PyResult<()> {
    let wrong = |text: String| errors::of("ProgramError", text);
    let Body::Loadable { loadable, .. } = trace.body() else {
        return Err(wrong("inputs are for loadables".to_owned()));
    };
    let taken = loadable.inputs();
    if inputs.len() > taken.len() {
        return Err(wrong(format!(
            "{} inputs are given, and the loadable takes {}",
            inputs.len(),
            taken.len()
        )));
    }
    let given = inputs.into_iter().zip(taken).map(|(bytes, memory)| {
        let size = memory.image.len();
        if bytes.len() == size {
            return Ok(bytes);
        }
        let tensor = loadable.tensor_of(memory);
        let dense = tensor.and_then(|tensor| Some(tensor.element_bytes? * tensor.elements()));
        let packed =
            tensor.filter(|_| dense == Some(bytes.len())).and_then(|tensor| tensor.pack(&bytes, size));
        packed.ok_or_else(|| {
            let dense = dense.map_or_else(String::new, |dense| format!(", or {dense} as elements"));
            wrong(format!("{} bytes; the input takes {size} as memory{dense}", bytes.len()))
        })
    });
    let given = given.collect::<PyResult<Vec<_>>>()?;
    trace.give(given);
    Ok(())
}

/// The names of the built-in networks, small to large.
#[pyfunction]
pub(crate) fn network_names() -> Vec<&'static str> {
    Network::NAMES.to_vec()
}

/// The samples of the digits network: pixels of all, and what each shows.
#[pyfunction]
pub(crate) fn digits_samples(py: Python<'_>) -> (Bound<'_, PyArray1<i8>>, Bound<'_, PyArray1<u8>>) {
    let samples = digits::samples();
    let pixels: Vec<i8> = samples.iter().flat_map(|sample| sample.pixels.iter().copied()).collect();
    let labels: Vec<u8> = samples.iter().map(|sample| sample.label).collect();
    (PyArray1::from_vec(py, pixels), PyArray1::from_vec(py, labels))
}
