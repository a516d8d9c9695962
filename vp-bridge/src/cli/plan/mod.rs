//! `vp plan`: what becomes of a network's layers on a platform, or of one convolution, without running anything.

mod convolution;
mod layers;
mod registers;

use self::convolution::ConvolutionArgs;
use super::platform_args::{self, NETWORK_PLATFORM, PlatformArgs, nvdla};
use super::run::{ModelArgs, ModelNodes, PlacementArgs, Planned, ReadingArgs, network_line, planned};
use super::{Failure, Verdict, out, record};
use std::io::Write;
use std::path::{Path, PathBuf};
use vp_host::network::{CpuModel, Memories, Plan};

/// The name by which one convolution is asked for.
const ONE: &str = "conv";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Network or ONNX model, as `vp run` takes it; or `conv` for one convolution, given by --input, --kernels and --kernel
    #[arg(value_name = "NETWORK|conv")]
    network: PathBuf,

    #[command(flatten)]
    convolution: ConvolutionArgs,

    /// Show the register writes of each hardware layer, by unit
    #[arg(long)]
    registers: bool,

    /// CPU that does what no unit does: its clock, and arithmetic operations and bytes in a cycle [default: 1GHz,4,4]
    #[arg(long, value_name = "CLOCK,OPERATIONS,BYTES")]
    cpu: Option<CpuModel>,

    /// Print the plan as JSON in place of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    platform: PlatformArgs,

    #[command(flatten)]
    reading: ReadingArgs,

    #[command(flatten)]
    placement: PlacementArgs,

    #[command(flatten)]
    model: ModelArgs,
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let description = args.platform.description(NETWORK_PLATFORM)?;
    let is_one = args.network == Path::new(ONE) && !args.network.exists();
    let Planned { network, plan, model } = match is_one {
        true => {
            let network = args.convolution.network(args.reading.options())?;
            let (config, memories) = (&nvdla(&description)?.config, Memories::of(&description));
            let plan = Plan::with(&network, config, &memories, &args.placement.options(1));
            Planned { plan: plan.map_err(Failure::new)?, network, model: None }
        }
        false if args.convolution.is_given() => {
            return Err(Failure::new("--input, --kernels, --kernel, --stride, --padding, --groups and --dilation give one convolution")
                .hint("vp plan conv --input 56x56x64 --kernels 64 --kernel 3x3"));
        }
        false => planned(&args.network, &description, (args.reading, &args.model, args.placement))?,
    };
    let cpu = args.cpu.unwrap_or_default();
    let layers = layers::Outline::of(&network, &plan, &cpu, description.period);
    let nodes = model.as_ref().map(|(lowered, notes)| ModelNodes { lowered, notes });
    if args.json {
        let registers = args.registers.then_some(&description);
        let mut record = layers.record(&description, registers, nodes.as_ref());
        nodes.iter().for_each(|nodes| nodes.put(&mut record));
        record::print(&record)?;
        return Ok(Verdict::Right);
    }
    let mut out = out::stdout();
    writeln!(out, "{}", platform_args::headline(&description))?;
    let steps = plan.steps.iter().filter(|step| !step.units().is_empty() && step.copied().is_none());
    writeln!(out, "{}\n", network_line(&network, &plan, steps.count()))?;
    layers.show(&mut out)?;
    if let Some(nodes) = &nodes {
        nodes.show(&mut out, (cpu, description.period), (1, description.period * layers.cycles()))?;
    }
    if is_one {
        layers.show_cuts(&mut out)?;
    }
    if args.registers {
        registers::show(&mut out, &plan, &description)?;
    }
    Ok(Verdict::Right)
}
