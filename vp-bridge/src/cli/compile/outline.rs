//! Outline of a compiled network, as text and as JSON.

use super::Args;
use super::outside::{ModelEnd, OutsideLoadable, UnmadeOutput};
use crate::cli::Failure;
use crate::cli::record::Record;
use crate::cli::text::{counted, grouped};
use serde_json::{Value, json};
use std::io::Write;
use vp_host::loadable::Generation;
use vp_host::loadable::compile::Compiled;
use vp_host::network::{Encoding, Form, Tensor};
use vp_models::nvdla::numeric::Precision;

/// Outline of a compiled network.
pub(super) struct Outline<'a> {
    pub(super) args: &'a Args,
    pub(super) compiled: &'a Compiled,
    pub(super) model: Option<&'a OutsideLoadable>,
    /// Size of the loadable in bytes.
    pub(super) bytes: usize,
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

    pub(super) fn show(&self, out: &mut impl Write) -> Result<(), Failure> {
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

    pub(super) fn record(&self, platform: &str) -> Record {
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
