//! `vp compile`: a loadable of a network, for NVIDIA's runtime and driver.

use super::platform_args::{self, NETWORK_PLATFORM, PlatformArgs, nvdla};
use super::record::{self, Record};
use super::run::{Brought, ModelArgs, ReadingArgs, brought};
use super::text::{counted, grouped};
use super::{Failure, Verdict, out, standard};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use vp_host::loadable::Generation;
use vp_host::loadable::compile::{
    CompileError, CompileOptions, Compiled, CpuLayer, CpuWork, SoftMaxBy, compile,
};
use vp_host::network::{CubeAxes, Encoding, Form, Network, Tensor};
use vp_models::nvdla::numeric::Precision;
use vp_onnx::lower::CodedTensor;

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

/// Part of an ONNX model that is the application's.
pub(super) struct OutsideLoadable {
    /// Notes about what was taken for granted.
    pub(super) notes: Vec<String>,
    /// Reasons for which the CPU does something between hardware layers.
    pub(super) reasons: Vec<String>,
    /// Nodes of layers, by the layers' names.
    pub(super) nodes_of: HashMap<String, String>,
    /// Nodes before the loadable and behind it.
    pub(super) nodes: [Vec<String>; 2],
    /// Outputs of the model that neither a layer nor a node makes.
    pub(super) unmade: Vec<UnmadeOutput>,
    /// The model's tensor that is the network's input.
    pub(super) input: ModelEnd,
    /// The model's tensors that the network's layers make, by the layers' names.
    pub(super) layers: HashMap<String, ModelEnd>,
}

impl OutsideLoadable {
    /// The model's tensor at the input (0) or an output of a network with layers of the model's.
    fn end(&self, network: &Network, end: usize) -> Option<&ModelEnd> {
        match end.checked_sub(1) {
            None => Some(&self.input),
            Some(output) => self.layers.get(&network.layers[*network.outputs.get(output)?].name),
        }
    }
}

/// An output of an ONNX model that nothing makes.
pub(super) struct UnmadeOutput {
    pub(super) name: String,
    /// Tensor that it is: the input, a constant, or another output.
    pub(super) is: String,
}

/// A tensor of an ONNX model at which the loadable begins or ends.
pub(super) struct ModelEnd {
    pub(super) name: String,
    pub(super) tensor: CodedTensor,
}

impl ModelEnd {
    /// The cube's axes that the tensor has, in its order.
    fn axes(&self) -> Vec<&'static str> {
        let CubeAxes { channels, height, width } = self.tensor.encoding.axes;
        let mut axes: Vec<_> = [(channels, "channels"), (height, "height"), (width, "width")]
            .into_iter()
            .filter_map(|(place, axis)| Some((place?, axis)))
            .collect();
        axes.sort_unstable();
        axes.into_iter().map(|(_, axis)| axis).collect()
    }
}

/// Outline of a compiled network.
struct Outline<'a> {
    args: &'a Args,
    compiled: &'a Compiled,
    model: Option<&'a OutsideLoadable>,
    bytes: usize,
}

impl Outline<'_> {
    /// Input and outputs: their names and tensors.
    fn ends(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        let Compiled { contents, plan, .. } = self.compiled;
        let names = contents.tensors.iter().map(|tensor| tensor.name.as_str());
        names.zip([&plan.input].into_iter().chain(&plan.outputs))
    }

    /// Number of steps that are no work of the CPU.
    fn hardware_layers(&self) -> usize {
        self.compiled.plan.steps.len() - self.compiled.on_cpu().count()
    }

    /// The model's tensor at an end, if it is a model's.
    fn model_end(&self, end: usize) -> Option<&ModelEnd> {
        self.model?.end(&self.compiled.network, end)
    }

    /// Meaning of the codes of an end, where a model says it.
    fn codes(&self, end: usize) -> Option<&Encoding> {
        // Codes of halves are the numbers themselves.
        let has_codes = self.compiled.network.precision != Precision::Fp16;
        self.model_end(end).filter(|_| has_codes).map(|end| &end.tensor.encoding)
    }

    /// Outputs of the model that nothing makes.
    fn unmade(&self) -> &[UnmadeOutput] {
        self.model.map_or(&[], |model| &model.unmade)
    }

    /// Notes about what may surprise.
    fn notes(&self) -> Vec<String> {
        let mut notes = self.model.map_or_else(Vec::new, |model| model.notes.clone());
        let Compiled { network, plan, .. } = self.compiled;
        if self.args.fix_input && plan.outputs.len() > 1 {
            notes.push(format!(
                "nvdla_runtime binds one output, and ends with a segmentation fault at {}: bind them with its library",
                plan.outputs.len()
            ));
        }
        if self.args.fix_input
            && self.args.interface == Generation::Short
            && network.precision != Precision::Fp16
        {
            notes.push(format!(
                "nvdla_runtime of before April 2019 writes outputs of fp16 alone, and this one's are {}: use its library",
                network.precision
            ));
        }
        notes
    }

    fn show(&self, out: &mut impl Write) -> Result<(), Failure> {
        let Compiled { network, plan, left, .. } = self.compiled;
        writeln!(
            out,
            "{} · {} · {} · {} bytes of weights and biases",
            network.name,
            network.input,
            counted(self.hardware_layers() as u64, "hardware layer"),
            grouped(plan.constant_bytes()),
        )?;
        let path = self.args.output.display();
        writeln!(
            out,
            "{:<10} {path}, {} bytes, interface {}\n",
            "loadable",
            grouped(self.bytes),
            self.args.interface
        )?;
        for (end, (name, tensor)) in self.ends().enumerate() {
            let what = match end {
                0 if self.args.fix_input => "put in",
                0 => "input",
                _ => "output",
            };
            let pixels = match tensor.form {
                Form::Pixels { bytes, .. } => format!("pixels of {}", counted(u64::from(bytes), "byte")),
                Form::Features { atom, .. } => format!("features in atoms of {atom} bytes"),
            };
            let codes = match self.codes(end) {
                Some(Encoding { scale, zero, .. }) => {
                    format!(", a step of its codes is {scale:e}, zero is code {zero}")
                }
                None => String::new(),
            };
            // A cube's elements are the tensor's in their order but where the model has moved its axes.
            let axes = self.model_end(end).map(ModelEnd::axes).unwrap_or_default();
            let axes = match axes.is_sorted() {
                true => String::new(),
                false => format!(", the model's axes are {}", axes.join(", ")),
            };
            writeln!(
                out,
                "{what:<10} {name}: {} {}, {pixels}, {} bytes{codes}{axes}",
                tensor.precision,
                tensor.shape,
                grouped(tensor.bytes())
            )?;
        }
        let of_runtime: Vec<&str> = self.compiled.on_cpu().collect();
        if !of_runtime.is_empty() {
            writeln!(out, "{:<10} the runtime does the soft-max of {}", "CPU", of_runtime.join(", "))?;
        }
        let before = self.model.map_or(&[][..], |model| &model.nodes[0]);
        let behind = self.model.map_or(&[][..], |model| &model.nodes[1]);
        for (where_, nodes) in [("before", before), ("behind", left), ("behind", behind)] {
            if !nodes.is_empty() {
                writeln!(out, "{where_:<10} the application does {}", nodes.join(", "))?;
            }
        }
        for UnmadeOutput { name, is } in self.unmade() {
            writeln!(out, "{:<10} the application gives {name}, which is {is}", "behind")?;
        }
        for note in self.notes() {
            writeln!(out, "{:<10} {note}", "note")?;
        }
        Ok(())
    }

    fn record(&self, platform: &str) -> Record {
        let Compiled { network, left, .. } = self.compiled;
        let ends: Vec<Value> = self
            .ends()
            .enumerate()
            .map(|(end, (name, tensor))| {
                let codes = self.codes(end);
                json!({
                    "name": name,
                    "precision": tensor.precision.to_string(),
                    "width": tensor.shape.width,
                    "height": tensor.shape.height,
                    "channels": tensor.shape.channels,
                    "bytes": tensor.bytes(),
                    "scale": codes.map(|codes| codes.scale),
                    "zero": codes.map(|codes| codes.zero),
                    "axes": self.model_end(end).map(ModelEnd::axes),
                })
            })
            .collect();
        let (input, outputs) = ends.split_first().map_or((&Value::Null, &[][..]), |both| both);
        let nodes = |at: usize| self.model.map_or(&[][..], |model| &model.nodes[at]);
        Record::default()
            .with("network", &network.name)
            .with("platform", platform)
            .with("loadable", self.args.output.display().to_string())
            .with("bytes", self.bytes)
            .with("interface", self.args.interface.to_string())
            .with("hardware_layers", self.hardware_layers())
            .with("runtime_soft_max", self.compiled.on_cpu().collect::<Vec<_>>())
            .with("input", input)
            .with("is_input_fixed", self.args.fix_input)
            .with("notes", self.notes())
            .with("outputs", outputs)
            .with("application_before", nodes(0))
            .with("application_behind", left.iter().chain(nodes(1)).collect::<Vec<_>>())
            .with(
                "application_outputs",
                self.unmade()
                    .iter()
                    .map(|UnmadeOutput { name, is }| json!({ "name": name, "is": is }))
                    .collect::<Vec<_>>(),
            )
    }
}
