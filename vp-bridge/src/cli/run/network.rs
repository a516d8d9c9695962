//! `vp run` of a network: layer by layer as a driver would, and where its time went.

use super::energy::Estimate;
use super::model_answers::BroughtModel;
use super::named::Named;
use super::{Args, MOST_INPUT, methods, warnings};
use crate::cli::hosts::OpenedHost;
use crate::cli::out;
use crate::cli::platform_args::{NETWORK_PLATFORM, nvdla};
use crate::cli::text::{self, counted, grouped, styled};
use crate::cli::{Failure, Verdict, memory, standard};
use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use vp_core::Time;
use vp_host::network::{
    LayerFigures, Measured, Memories, MemoryAddress, Network, Plan, PlanError, PlanOptions,
};
use vp_host::{Bounds, Memory};
use vp_models::platform::{Arithmetic, Description};
use vp_models::toml_text::TextError;
use vp_onnx::samples::npy::is_npy;
use vp_study::energy::Coefficients;

/// The port of SRAM.
const SRAM: &str = Memory::Secondary.port();

/// `320x240`: columns and lines.
pub(super) fn size(text: &str) -> Result<[u32; 2], String> {
    let numbers = text.split_once('x').map(|(width, height)| (width.parse(), height.parse()));
    match numbers {
        Some((Ok(width), Ok(height))) => Ok([width, height]),
        _ => Err("write columns and lines, such as 64x64".to_owned()),
    }
}

pub(super) fn main(named: &Named, args: &Args) -> Result<Verdict, Failure> {
    if args.model.is_given() {
        return Err(only_for_models());
    }
    // A name that says another format than the bytes would have.
    if let Some(file) = &args.output
        && file.extension().is_some_and(|extension| extension == "npy" || extension == "npz")
    {
        let why = "a network's output is its elements alone, no array of NumPy";
        return Err(Failure::new(format!("{}: {why}", file.display()))
            .hint("name it otherwise, and read it with numpy.fromfile"));
    }
    let network = named.load(&args.reading.options())?;
    let prepare = |_: &Description| {
        let input = input(&network, &args.input)?;
        Ok(Prepared { network: Cow::Borrowed(&network), input, model: None })
    };
    run((&network.name, named), &prepare, args)
}

/// Refuses what only a model has.
pub(super) fn only_for_models() -> Failure {
    Failure::new(
        "--shape, --preprocess, --calibrate, --save-calibration, --ranges, --scales, --labels, --boxes and --distance are for ONNX models",
    )
}

/// Plans a network for a platform.
pub(super) fn plan(
    named: (&Named, &Network),
    description: &Description,
    options: &PlanOptions,
) -> Result<Plan, Failure> {
    let (config, memories) = (&nvdla(description)?.config, Memories::of(description));
    Plan::with(named.1, config, &memories, options).map_err(|error| unplanned(named, description, &error))
}

/// A network with its input in codes, and the model that it is made of, if there is one.
pub(super) struct Prepared<'a> {
    pub(super) network: Cow<'a, Network>,
    pub(super) input: Vec<i8>,
    pub(super) model: Option<BroughtModel>,
}

/// Makes a network for a platform.
pub(super) type Prepare<'a> = dyn Fn(&Description) -> Result<Prepared<'a>, Failure> + 'a;

/// Runs what is prepared for the platform that is asked for.
pub(super) fn run(
    (name, named): (&str, &Named),
    prepare: &Prepare<'_>,
    args: &Args,
) -> Result<Verdict, Failure> {
    let ran = run_prepared(named, prepare, args);
    if let Err(failure) = &ran {
        let platform = args.host.platform.description(NETWORK_PLATFORM).map(|description| description.name);
        args.results.tell_failure(name, &platform.unwrap_or_default(), failure)?;
    }
    ran
}

fn run_prepared(named: &Named, prepare: &Prepare<'_>, args: &Args) -> Result<Verdict, Failure> {
    let began = Instant::now();
    let coefficients = args.energy.as_deref().map(coefficients).transpose()?;
    if coefficients.is_some() && args.host.connect.is_some() {
        return Err(Failure::new(
            "--energy counts what a platform does inside, which is not seen of a server's: leave out --connect",
        ));
    }
    let mut host = args.host.clone();
    if args.timed {
        if host.connect.is_some() {
            return Err(Failure::new("--timed is the server's to say when --connect is given")
                .hint("start the server with it: vp serve --set arithmetic=skipped …"));
        }
        host.platform.also("arithmetic=skipped");
    }
    let batch = args.batch.unwrap_or(1);
    let plan = |network: &Network, description: &Description| {
        self::plan((named, network), description, &args.placement.options(batch))
    };
    // A platform of this process is known before it begins: what looks on there knows the layers' names, and what is wrong is told at
    // once.
    let planned = match host.connect {
        None => {
            let description = host.platform.description(NETWORK_PLATFORM)?;
            let prepared = prepare(&description)?;
            let plan = plan(&prepared.network, &description)?;
            if host.observing.first_given().is_some() {
                host.observing.name_layers(&plan);
            }
            Some((prepared, plan))
        }
        Some(_) => None,
    };
    let OpenedHost { parts: _parts, mut host, description, headline, observed: _observed } =
        host.open_watched(NETWORK_PLATFORM)?;
    args.faults.arm(host.as_mut())?;
    let description = match description {
        Some(description) => description,
        None => crate::cli::hosts::described(host.as_mut())?,
    };
    let (prepared, plan) = match planned {
        Some(planned) => planned,
        None => {
            let prepared = prepare(&description)?;
            let plan = plan(&prepared.network, &description)?;
            (prepared, plan)
        }
    };
    let Prepared { network, input, model } = prepared;
    let network = network.as_ref();
    let inputs = vec![input.as_slice(); args.frames.unwrap_or(1).next_multiple_of(batch) as usize];
    let bar = super::progress(inputs.len());
    bar.set_message(text::one_line(&network.name));
    host.running(&network.name);
    let measured = Measured::on(network, &plan, host.as_mut(), description.period, &inputs, || bar.inc(1));
    bar.finish_and_clear();
    let mut measured =
        measured.map_err(|error| Failure::new(warnings::with_warnings(&error, None, host.as_mut())))?;
    if let Some(model) = &args.cpu {
        measured.estimate_cpu(&plan, model);
    }
    let answered = match (&model, description.arithmetic) {
        (Some(model), Arithmetic::Computed) => Some(model.answered(&measured, &input)?),
        _ => None,
    };
    match (&args.output, &answered) {
        (Some(file), Some(answered)) => answered.write(file)?,
        (Some(file), None) => {
            let bytes: Vec<u8> = measured.outputs.iter().flatten().map(|element| *element as u8).collect();
            standard::write(file, bytes)?;
        }
        (None, _) => {}
    }
    let took = began.elapsed();
    let estimate = coefficients.map(|known| Estimate::of(&measured, &plan, &description, known));
    let results = (model.as_ref(), answered.as_ref());
    let told = args.results.tell_network(
        (network, &plan),
        &description,
        (&measured, took),
        estimate.as_ref(),
        results,
    )?;
    if !told && !args.takes_standard_output()? {
        show(&headline, (network, &plan), &description, &measured, estimate.as_ref())?;
        if let Some(model) = &model {
            model.show(answered.as_ref(), &args.model, (&measured, args.cpu.unwrap_or_default()))?;
        }
    }
    Ok(Verdict::Right)
}

/// The coefficients of a file, or the built-in ones.
fn coefficients(path: &Path) -> Result<Coefficients, Failure> {
    let coefficients = match standard::is_standard(path) {
        true => standard::read_text("--energy", path, MOST_INPUT)
            .map_err(|error| TextError::unreadable(path, error))
            .and_then(|text| Coefficients::parse(&text).map_err(|error| error.in_file(path))),
        false => Coefficients::load(path),
    };
    coefficients.map_err(Failure::new)
}

/// Says why a network has no plan, with the line of its file that asks for what cannot be.
fn unplanned((named, network): (&Named, &Network), description: &Description, error: &PlanError) -> Failure {
    let place = match (named, error.line(network)) {
        (Named::File(path), Some(line)) => format!("{}:{line}: ", path.display()),
        (Named::File(path), None) => format!("{}: ", path.display()),
        (Named::BuiltIn(_), _) => String::new(),
    };
    let failure =
        Failure::new(format!("{place}{} cannot run on {}: {error}", network.name, description.name));
    match error {
        PlanError::SramRoom { .. } => failure.hint("--set sram0.size=BYTES makes the SRAM larger"),
        _ => failure,
    }
}

/// Returns what a file gives, or any bytes.
pub(in crate::cli) fn input(network: &Network, files: &[PathBuf]) -> Result<Vec<i8>, Failure> {
    let [file] = files else {
        return match files.len() {
            0 => Ok(network.example_input(1)),
            more => Err(Failure::new(format!("{more} inputs are given, and a network takes one"))),
        };
    };
    let wrong = |why: String| Failure::new(format!("{}: {why}", file.display()));
    let expected = network.input_bytes();
    let bytes = standard::read("--input", file, MOST_INPUT).map_err(|error| wrong(error.to_string()))?;
    if is_npy(&bytes) {
        let why = "an array of NumPy, where a network takes its elements alone, ordered by line, column and channel";
        return Err(
            wrong(why.to_owned()).hint("array.tofile(FILE) writes those; a model (.onnx) takes arrays")
        );
    }
    if bytes.len() != expected {
        let [found, expected] = [bytes.len(), expected].map(grouped);
        let why = format!("{found} bytes; {} of {} takes {expected}", network.name, network.input);
        let hint = format!("elements are {}, ordered by line, column and channel", network.precision);
        return Err(wrong(why).hint(hint));
    }
    Ok(bytes.into_iter().map(|byte| byte as i8).collect())
}

/// FNV-1a of an output.
pub(super) fn sum(output: &[i8]) -> u64 {
    output.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &element| {
        (hash ^ u64::from(element as u8)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A part of a whole, in percent.
fn percent(part: f64, whole: f64) -> String {
    format!("{:.0} %", 100.0 * part / whole.max(1.0))
}

/// Returns what bounds, largest first, without what is less than a twentieth.
pub(in crate::cli) fn bound(bounds: &Bounds) -> String {
    let total = bounds.total().as_ps() as f64;
    let mut parts = bounds.parts();
    parts.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    let shown = parts.iter().filter(|(_, time)| time.as_ps() as f64 >= total / 20.0 && *time > Time::ZERO);
    let texts: Vec<String> =
        shown.map(|(bound, time)| format!("{bound} {}", percent(time.as_ps() as f64, total))).collect();
    texts.join(", ")
}

/// A network and its plan in a line.
pub(in crate::cli) fn network_line(network: &Network, plan: &Plan, hardware_layers: usize) -> String {
    format!(
        "{} · {} · {} · {} · {} bytes of weights and biases",
        network.name,
        network.input,
        counted(network.layers.len() as u64, "layer"),
        counted(hardware_layers as u64, "hardware layer"),
        grouped(plan.constant_bytes()),
    )
}

fn show(
    headline: &str,
    (network, plan): (&Network, &Plan),
    description: &Description,
    measured: &Measured,
    estimate: Option<&Estimate>,
) -> Result<(), Failure> {
    let mut out = out::stdout();
    let period = measured.period;
    writeln!(out, "{headline}")?;
    writeln!(out, "{}\n", network_line(network, plan, plan.steps.len()))?;
    if description.arithmetic == Arithmetic::Skipped {
        writeln!(
            out,
            "{} without arithmetic: what comes out is zeros\n",
            styled(text::YELLOW, "cycles only,")
        )?;
    }
    layers(&mut out, plan, measured)?;
    methods::show_legend(&mut out, (network, plan), &measured.layers)?;
    if let Some(estimate) = estimate {
        estimate.show_layers(&mut out, measured)?;
    }
    let cycles = measured.cycles();
    let frames = measured.frames as f64 * 1e12 / measured.time.as_ps().max(1) as f64;
    let each = match measured.frames {
        1 => String::new(),
        count => format!(
            ", {} a frame of {}",
            grouped((cycles as f64 / count as f64).round() as u64),
            grouped(count as u64)
        ),
    };
    writeln!(
        out,
        "{:<10} {}{each} ({} at {}), {} frames/s",
        "time",
        counted(cycles, "cycle"),
        period * cycles,
        text::frequency(period),
        grouped(format_args!("{frames:.1}"))
    )?;
    let whole = measured.bounds();
    if measured.layers.iter().any(|layer| !layer.moved.is_empty()) {
        writeln!(out, "{:<10} {}", "bound by", bound(&whole))?;
    }
    if let Some(estimate) = estimate {
        writeln!(out, "{:<10} {}", "energy", estimate.sentence(measured))?;
        estimate.show_memories(&mut out)?;
    }
    if let Some(time) = measured.cpu_time() {
        let on_cpu: Vec<&str> =
            measured.layers.iter().filter(|layer| layer.is_cpu).map(|layer| layer.name.as_str()).collect();
        writeln!(
            out,
            "{:<10} {}: in no simulated time; estimated {}, {:.1} % of the device's time",
            "by the CPU",
            on_cpu.join(", "),
            counted(time.cycles(period), "cycle"),
            100.0 * time.as_ps() as f64 / measured.time.as_ps().max(1) as f64
        )?;
    }
    writeln!(out, "{:<10} {} bytes", "memory", grouped(plan.bytes))?;
    if plan.sram_bytes > 0 {
        sram(&mut out, plan, measured)?;
    }
    memory::show(&mut out, &measured.statistics)?;
    if description.arithmetic == Arithmetic::Computed {
        let outputs = measured.outputs.iter().zip(&network.outputs);
        for (at, (output, &layer)) in outputs.enumerate() {
            let name = match measured.outputs.len() {
                1 => String::new(),
                _ => format!("{}: ", network.layers[layer].name),
            };
            writeln!(
                out,
                "{:<10} {name}{} elements, FNV-1a {:016x}",
                if at == 0 { "output" } else { "" },
                grouped((output.len() / network.precision.bytes()) as u64),
                sum(output)
            )?;
        }
    }
    writeln!(out, "{:<10} {}", "event hash", measured.statistics.text("events.hash").unwrap_or("-"))?;
    warnings::show_faults(&mut out, &measured.statistics)
}

/// Shows what is in SRAM, and what goes over its interface.
fn sram(out: &mut impl Write, plan: &Plan, measured: &Measured) -> Result<(), Failure> {
    let is_there = |place: MemoryAddress| place.memory == Memory::Secondary;
    let tensors = plan.tensors.iter().filter(|tensor| is_there(tensor.place)).count() as u64;
    let constants = plan.constants.iter().filter(|constant| is_there(constant.place)).count() as u64;
    let mut parts = Vec::new();
    if tensors > 0 {
        parts.push(counted(tensors, "activation"));
    }
    if constants > 0 {
        parts.push(counted(constants, "constant"));
    }
    if !plan.copies.is_empty() {
        let bytes: u64 = measured.layers.iter().map(|layer| layer.copied).sum();
        let copies = match plan.copies.len() {
            1 => "1 copy".to_owned(),
            count => format!("{} copies", grouped(count as u64)),
        };
        parts.push(format!("{copies} ({} bytes by BDMA)", grouped(bytes)));
    }
    let [mut read, mut written] = [0, 0];
    for layer in &measured.layers {
        let (of_reads, of_writes) = layer.bytes_at(SRAM);
        (read, written) = (read + of_reads, written + of_writes);
    }
    let moved = match measured.layers.iter().any(|layer| !layer.moved.is_empty()) {
        true => format!("; {} bytes read, {} written over sram0", grouped(read), grouped(written)),
        false => String::new(),
    };
    writeln!(out, "{:<10} {} bytes: {}{moved}", "SRAM", grouped(plan.sram_bytes), parts.join(", "))?;
    Ok(())
}

/// Shows where the time went, layer by layer.
fn layers(out: &mut impl Write, plan: &Plan, measured: &Measured) -> Result<(), Failure> {
    let macs_a_cycle = plan.macs_a_cycle as f64;
    let period = measured.period;
    let has_sram = measured.layers.iter().any(|layer| layer.bytes_at(SRAM) != (0, 0));
    let mut header =
        vec!["layer", "cycles", "share", "MACs", "used", "busy", "bytes read", "written", "bound by"];
    if has_sram {
        header.splice(8..8, ["sram0 read", "written"]);
    }
    let has_copies = measured.layers.iter().any(|layer| layer.copied > 0);
    if has_copies {
        header.insert(header.len() - 1, "copied");
    }
    let mut right: Vec<usize> = (1..header.len() - 1).collect();
    let has_marks = methods::are_marked(&measured.layers);
    if has_marks {
        header.insert(1, "by");
        right = (2..header.len() - 1).collect();
    }
    let mut table = text::table(&header, &right);
    let whole = measured.cycles() as f64;
    for layer in &measured.layers {
        let LayerFigures { name, steps, within, cpu, macs, mac_cycles, bounds, .. } = layer;
        let mut cells = vec![name.clone()];
        cells.extend(has_marks.then(|| methods::marks(&layer.method)));
        if let Some(within) = within {
            cells.push(format!("with {within}"));
            table.add_row(cells);
            continue;
        }
        if let Some(cpu) = cpu {
            let mut cells = match steps {
                0 => cells.clone(),
                _ => std::iter::once(format!("{name}: part")).chain(has_marks.then(String::new)).collect(),
            };
            let cycles = cpu.time.cycles(period);
            cells.extend([format!("~{}", grouped(cycles)), format!("~{}", percent(cycles as f64, whole))]);
            cells.resize(header.len() - 1, "-".to_owned());
            cells.push("CPU".to_owned());
            table.add_row(cells);
        }
        if *steps == 0 {
            if cpu.is_none() {
                cells.push("-".to_owned());
                table.add_row(cells);
            }
            continue;
        }
        let cycles = layer.time().cycles(period);
        let (read, written) = layer.bytes();
        let or_dash = |number: u64, text: String| if number > 0 { text } else { "-".to_owned() };
        cells.extend([
            grouped(cycles),
            percent(cycles as f64, whole),
            or_dash(*macs, grouped(*macs)),
            or_dash(*macs, percent(layer.products() as f64, cycles as f64 * macs_a_cycle)),
            or_dash(*macs, percent(*mac_cycles as f64, cycles as f64)),
            or_dash(read, grouped(read)),
            or_dash(written, grouped(written)),
        ]);
        if has_sram {
            let (read, written) = layer.bytes_at(SRAM);
            cells.extend([read, written].map(|bytes| or_dash(bytes, grouped(bytes))));
        }
        cells.extend(has_copies.then(|| or_dash(layer.copied, grouped(layer.copied))));
        cells.push(if layer.moved.is_empty() { "-".to_owned() } else { bound(bounds) });
        table.add_row(cells);
    }
    let sum = |of: fn(&LayerFigures) -> u64| measured.layers.iter().map(of).sum::<u64>();
    let is_watched = measured.layers.iter().any(|layer| !layer.moved.is_empty());
    let watched = |text: String| if is_watched { text } else { "-".to_owned() };
    let (products, busy) = (sum(LayerFigures::products), sum(|layer| layer.mac_cycles));
    let mut all = vec!["all".to_owned()];
    all.extend(has_marks.then(String::new));
    all.extend([
        grouped(measured.cycles()),
        percent(whole, whole),
        grouped(sum(|layer| layer.macs)),
        percent(products as f64, whole * macs_a_cycle),
        percent(busy as f64, whole),
        watched(grouped(sum(|layer| layer.bytes().0))),
        watched(grouped(sum(|layer| layer.bytes().1))),
    ]);
    if has_sram {
        let of_sram = [sum(|layer| layer.bytes_at(SRAM).0), sum(|layer| layer.bytes_at(SRAM).1)];
        all.extend(of_sram.map(grouped));
    }
    all.extend(has_copies.then(|| grouped(sum(|layer| layer.copied))));
    all.push(watched(bound(&measured.bounds())));
    table.add_row(all);
    writeln!(out, "{}\n", table.trim_fmt())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_host::Bound;

    #[test]
    fn sizes_are_columns_and_lines() {
        assert_eq!(size("64x48"), Ok([64, 48]));
        assert!(size("64").is_err());
    }

    #[test]
    fn what_bounds_is_told_largest_first() {
        let parts = [(Bound::MacArray, 40), (Bound::Sdp, 30), (Bound::ReadLatency, 1), (Bound::Csb, 29)];
        let bounds = parts.into_iter().map(|(bound, time)| (bound, Time::ns(time))).collect();
        assert_eq!(bound(&bounds), "MAC array 40 %, SDP 30 %, CSB 29 %");
    }
}
