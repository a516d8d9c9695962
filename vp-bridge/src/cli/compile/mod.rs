//! `vp compile`: a loadable of a network, for NVIDIA's runtime and driver.

mod brought;
mod outline;
mod outside;

use self::brought::{Brought, brought};
use self::outline::Outline;
use self::outside::OutsideLoadable;
use super::platform_args::{self, NETWORK_PLATFORM, PlatformArgs, nvdla};
use super::record;
use super::run::{ModelArgs, ReadingArgs};
use super::{Failure, Verdict, out, standard};
use std::io::Write;
use std::path::PathBuf;
use vp_host::loadable::Generation;
use vp_host::loadable::compile::{CompileError, CompileOptions, CpuLayer, CpuWork, SoftMaxBy, compile};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Network or ONNX model, as `vp run` takes it
    #[arg(value_name = "NETWORK")]
    network: PathBuf,

    /// File for the loadable
    #[arg(long, short, value_name = "FILE", value_parser = standard::named())]
    output: PathBuf,

    /// Firmware interface of the driver: 0.12 (since April 2019) or 0.11 (before)
    #[arg(long, value_name = "VERSION", default_value = "0.12")]
    interface: Generation,

    /// Software that does a network's layer of soft-max: the application behind the loadable, or the runtime, which has one for fp16 and a
    /// pixel; its last bit may be another than `vp run`'s of the network. An ONNX model's is the application's
    #[arg(long, value_name = "SOFTWARE", default_value = "application")]
    soft_max: SoftMaxBy,

    /// Input of the network, as `vp run` takes it, for --write-input; an int8 network of a float model without --calibrate is quantised by
    /// its ranges
    #[arg(long, value_name = "FILE")]
    input: Vec<PathBuf>,

    /// File for the input as the loadable takes it: the bytes of its memory, for `vp run LOADABLE --input`
    #[arg(long, value_name = "FILE", requires = "input", value_parser = standard::named())]
    write_input: Option<PathBuf>,

    /// Put the input into the loadable, in place of a tensor that the application binds. NVIDIA's nvdla_runtime, which binds one output, then
    /// runs it as it is
    #[arg(long, requires = "input")]
    fix_input: bool,

    /// Print what was compiled as JSON in place of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    platform: PlatformArgs,

    #[command(flatten)]
    reading: ReadingArgs,

    #[command(flatten)]
    model: ModelArgs,
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let written = [("--output", Some(&args.output)), ("--write-input", args.write_input.as_ref())];
    let written = written.into_iter().filter_map(|(option, path)| Some((option, path?.as_path())));
    for read in
        [("NETWORK", &args.network)].into_iter().chain(args.input.iter().map(|path| ("--input", path)))
    {
        standard::check_apart([(read.0, read.1.as_path())].into_iter().chain(written.clone()))?;
    }
    let description = args.platform.description(NETWORK_PLATFORM)?;
    let config = &nvdla(&description)?.config;
    let Brought { network, input, model } =
        brought(&args.network, &args.input, config, (args.reading, &args.model))?;
    let options =
        CompileOptions { generation: args.interface, soft_max: args.soft_max, ..CompileOptions::default() };
    if model.is_some() && args.soft_max == SoftMaxBy::Runtime {
        return Err(Failure::new(
            "--soft-max runtime is for a network's layer of that kind: an ONNX model's is the application's",
        ));
    }
    let mut compiled =
        compile(&network, config, &options).map_err(|error| refused(&error, model.as_ref()))?;
    if let Some(model) = &model {
        for end in 0..compiled.contents.tensors.len() {
            let name = model.end(&compiled.network, end).map(|end| end.name.as_str());
            name.into_iter().for_each(|name| compiled.name_end(end, name));
        }
    }
    let memory = input.map(|input| compiled.plan.input.pack(&input));
    if let (true, Some(memory)) = (args.fix_input, &memory) {
        compiled.fix_input(memory.clone());
    }
    let bytes = compiled.contents.write();
    standard::write(&args.output, &bytes)?;
    if let (Some(path), Some(memory)) = (&args.write_input, &memory) {
        standard::write(path, memory)?;
    }
    let outline = Outline { args, compiled: &compiled, model: model.as_ref(), bytes: bytes.len() };
    if args.json {
        record::print(&outline.record(&description.name))?;
    } else {
        let mut out = out::stdout();
        writeln!(out, "{}", platform_args::headline(&description))?;
        outline.show(&mut out)?;
    }
    Ok(Verdict::Right)
}

/// The reason for which a network does not become a loadable, in the model's words where it is one's.
fn refused(error: &CompileError, model: Option<&OutsideLoadable>) -> Failure {
    /// Reasons that are told, at most.
    const TOLD: usize = 8;
    let (CompileError::Cpu { layers }, Some(model)) = (error, model) else { return Failure::new(error) };
    let graphs = layers.iter().any(|layer| layer.work == CpuWork::Graph);
    let mut reasons = if graphs { model.reasons.clone() } else { Vec::new() };
    let mut advice = Vec::new();
    for CpuLayer { name, work } in layers.iter().filter(|layer| layer.work != CpuWork::Graph) {
        let node = model.nodes_of.get(name).unwrap_or(name);
        let reason = format!("`{node}`: {work}");
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
        if !advice.contains(&work.instead()) {
            advice.push(work.instead());
        }
    }
    if graphs {
        advice.push("a configuration with the unit may do what no unit does");
    }
    let mut told = reasons.iter().take(TOLD).cloned().collect::<Vec<_>>().join("\n");
    if reasons.len() > TOLD {
        told += &format!("\nand {} more", reasons.len() - TOLD);
    }
    Failure::new(format!(
        "between hardware layers the CPU has work, for which the runtime has no task\n{told}"
    ))
    .hint(format!("vp plan shows all that is the CPU's; cut the model there ({})", advice.join("; ")))
}
