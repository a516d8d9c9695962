//! A plan layer by layer.

use super::registers;
use crate::cli::Failure;
use crate::cli::record::Record;
use crate::cli::run::ModelNodes;
use crate::cli::text::{self, counted, grouped};
use std::io::Write;
use vp_core::Time;
use vp_host::Memory;
use vp_host::network::{
    CpuEstimate, CpuModel, CutOutline, MemoryAddress, Network, NetworkLayer, Plan, PlanStep,
};
use vp_models::nvdla::registers::Unit;
use vp_models::platform::Description;

/// Outline of a network on a platform.
pub(super) struct Outline<'a> {
    network: &'a Network,
    plan: &'a Plan,
    layers: Vec<LayerOutline<'a>>,
    period: Time,
}

/// Outline of a layer.
struct LayerOutline<'a> {
    layer: &'a NetworkLayer,
    /// The layer whose hardware layers do this one too.
    within: Option<&'a str>,
    /// Steps of hardware and of the CPU.
    steps: Vec<&'a PlanStep>,
    /// Bytes that BDMA copies for it.
    copied: u64,
    cpu: Option<CpuEstimate>,
}

impl<'a> Outline<'a> {
    pub(super) fn of(network: &'a Network, plan: &'a Plan, cpu: &CpuModel, period: Time) -> Outline<'a> {
        let works = plan.cpu_works();
        let mut layers: Vec<LayerOutline<'a>> = network
            .layers
            .iter()
            .zip(&plan.within)
            .zip(works)
            .map(|((layer, within), work)| LayerOutline {
                layer,
                within: within.map(|within| network.layers[within].name.as_str()),
                steps: Vec::new(),
                copied: 0,
                cpu: work.map(|work| cpu.estimate(work)),
            })
            .collect();
        for step in &plan.steps {
            let layer = &mut layers[step.layer];
            match step.copied() {
                Some(bytes) => layer.copied += bytes,
                None => layer.steps.push(step),
            }
        }
        Outline { network, plan, layers, period }
    }

    pub(super) fn cycles(&self) -> u64 {
        self.layers.iter().map(LayerOutline::cycles).sum()
    }

    fn cpu_time(&self) -> Option<Time> {
        self.layers.iter().filter_map(|layer| layer.cpu.map(|cpu| cpu.time)).reduce(|sum, time| sum + time)
    }

    pub(super) fn show(&self, out: &mut impl Write) -> Result<(), Failure> {
        let header = [
            "layer",
            "unit",
            "parts",
            "lines x kernels",
            "banks",
            "input",
            "weights",
            "output",
            "at",
            "cycles",
        ];
        let mut table = text::table(&header, &[2, 3, 4, 5, 6, 7, 8, 9]);
        let or_dash = |number: u64| if number > 0 { grouped(number) } else { "-".to_owned() };
        for layer in &self.layers {
            let name = layer.layer.name.clone();
            if let Some(within) = layer.within {
                table.add_row([name, format!("with {within}")]);
                continue;
            }
            if layer.steps.is_empty() {
                table.add_row([name, "-".to_owned()]);
                continue;
            }
            let hardware = layer.hardware().count();
            let cut = layer.largest_cut();
            let banks = cut.as_ref().map(|cut| format!("{}+{}", cut.data_banks, cut.weight_banks));
            let cut = cut.map(|cut| format!("{} x {}", cut.lines.len(), cut.kernels.len()));
            let cpu = layer.cpu.map(|cpu| format!("~{}", grouped(cpu.time.cycles(self.period))));
            let device = (hardware > 0).then(|| grouped(layer.cycles()));
            let sum = |of: fn(&PlanStep) -> u64| layer.steps.iter().map(|step| of(step)).sum::<u64>();
            table.add_row([
                name,
                layer.units(),
                or_dash(hardware as u64),
                cut.unwrap_or_else(|| "-".to_owned()),
                banks.unwrap_or_else(|| "-".to_owned()),
                or_dash(sum(|step| step.outline.input_bytes)),
                or_dash(sum(|step| step.outline.weight_bytes)),
                or_dash(sum(|step| step.outline.output_bytes)),
                layer.output().map_or("-".to_owned(), place),
                device.into_iter().chain(cpu).collect::<Vec<_>>().join(" + "),
            ]);
        }
        writeln!(out, "{}\n", table.trim_fmt())?;
        writeln!(out, "{:<10} {}, an estimate", "cycles", grouped(self.cycles()))?;
        if let Some(time) = self.cpu_time() {
            let cycles = counted(time.cycles(self.period), "cycle");
            writeln!(out, "{:<10} {cycles} more of the device's clock, an estimate", "by the CPU")?;
        }
        let copied: u64 = self.layers.iter().map(|layer| layer.copied).sum();
        if copied > 0 {
            writeln!(out, "{:<10} {} bytes into SRAM, while layers run", "copied", grouped(copied))?;
        }
        writeln!(out, "{:<10} {} bytes", "memory", grouped(self.plan.bytes))?;
        if self.plan.sram_bytes > 0 {
            writeln!(out, "{:<10} {} bytes", "SRAM", grouped(self.plan.sram_bytes))?;
        }
        Ok(())
    }

    /// Shows the hardware layers of convolutions one by one.
    pub(super) fn show_cuts(&self, out: &mut impl Write) -> Result<(), Failure> {
        let header = [
            "part",
            "output lines",
            "kernels",
            "input lines",
            "banks",
            "input",
            "weights",
            "output",
            "cycles",
        ];
        let mut table = text::table(&header, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
        let steps = self.layers.iter().flat_map(|layer| &layer.steps);
        for (at, (step, cut)) in steps.filter_map(|step| Some((step, step.outline.cut.as_ref()?))).enumerate()
        {
            let outline = &step.outline;
            let range = |range: &std::ops::Range<u32>| format!("{} to {}", range.start, range.end - 1);
            table.add_row([
                (at + 1).to_string(),
                range(&cut.lines),
                range(&cut.kernels),
                range(&cut.input_lines),
                format!("{}+{}", cut.data_banks, cut.weight_banks),
                grouped(outline.input_bytes),
                if cut.weights_are_there { "there".to_owned() } else { grouped(outline.weight_bytes) },
                grouped(outline.output_bytes),
                grouped(outline.cycles),
            ]);
        }
        writeln!(out, "\n{}", table.trim_fmt())?;
        Ok(())
    }

    /// For other programs; with registers if a platform is given for them, and with the nodes of a model.
    pub(super) fn record(
        &self,
        description: &Description,
        with_registers: Option<&Description>,
        model: Option<&ModelNodes<'_>>,
    ) -> Record {
        let layer = |(at, layer): (usize, &LayerOutline<'_>)| {
            let record = layer.record(self.period, with_registers);
            match model {
                Some(model) => record.with("nodes", &model.lowered.layers[at].nodes),
                None => record,
            }
        };
        let layers: Vec<Record> = self.layers.iter().enumerate().map(layer).collect();
        Record::default()
            .with("network", &self.network.name)
            .with("platform", &description.name)
            .with("precision", self.network.precision.to_string())
            .with("cycles", self.cycles())
            .with("cpu_cycles", self.cpu_time().map(|time| time.cycles(self.period)))
            .with("memory_bytes", self.plan.bytes)
            .with("sram_bytes", self.plan.sram_bytes)
            .with("weight_bytes", self.plan.constant_bytes())
            .with("layers", layers)
    }
}

/// Address with its memory, if that is SRAM.
fn place(MemoryAddress { memory, address }: MemoryAddress) -> String {
    match memory {
        Memory::Primary => format!("{address:#x}"),
        Memory::Secondary => format!("sram0 {address:#x}"),
    }
}

impl LayerOutline<'_> {
    fn hardware(&self) -> impl Iterator<Item = &&PlanStep> {
        self.steps.iter().filter(|step| !step.units().is_empty())
    }

    fn cycles(&self) -> u64 {
        self.steps.iter().map(|step| step.outline.cycles).sum()
    }

    fn output(&self) -> Option<MemoryAddress> {
        self.steps.last().and_then(|step| step.outline.output)
    }

    /// Units that take part, in the order of data, and the CPU.
    fn units(&self) -> String {
        let has = |unit: Unit| self.steps.iter().any(|step| step.units().contains(&unit));
        let known = [
            (has(Unit::Cdma), "conv"),
            (has(Unit::Sdp), "SDP"),
            (has(Unit::Pdp), "PDP"),
            (has(Unit::Cdp), "CDP"),
            (self.cpu.is_some(), "CPU"),
        ];
        let units: Vec<&str> = known.into_iter().filter_map(|(has, unit)| has.then_some(unit)).collect();
        units.join("+")
    }

    /// The most lines and kernels that a hardware layer makes, with the banks that it has.
    fn largest_cut(&self) -> Option<CutOutline> {
        let cuts = self.steps.iter().filter_map(|step| step.outline.cut.clone());
        cuts.max_by_key(|cut| cut.lines.len() * cut.kernels.len())
    }

    fn record(&self, period: Time, with_registers: Option<&Description>) -> Record {
        let step = |step: &&PlanStep| {
            let outline = &step.outline;
            let units: Vec<String> = step.units().iter().map(ToString::to_string).collect();
            let mut record = Record::default()
                .with("name", &step.name)
                .with("units", units)
                .with("input_bytes", outline.input_bytes)
                .with("weight_bytes", outline.weight_bytes)
                .with("output_bytes", outline.output_bytes)
                .with("cycles", outline.cycles);
            if let Some(cut) = &outline.cut {
                for (name, range) in
                    [("lines", &cut.lines), ("kernels", &cut.kernels), ("input_lines", &cut.input_lines)]
                {
                    record.put(format!("first_of_{name}"), range.start);
                    record.put(name, range.len());
                }
                record.put("data_banks", cut.data_banks);
                record.put("weight_banks", cut.weight_banks);
                record.put("weights_are_there", cut.weights_are_there);
            }
            if let Some(description) = with_registers {
                record.put("registers", registers::records(step, description));
            }
            record
        };
        let output = self.output();
        Record::default()
            .with("name", &self.layer.name)
            .with("within", self.within)
            .with("unit", self.units())
            .with("parts", self.hardware().count())
            .with("macs", self.layer.macs())
            .with("address", output.map(|place| place.address))
            .with("memory", output.map(|place| place.memory.port()))
            .with("copied_bytes", self.copied)
            .with("cycles", self.cycles())
            .with("cpu_cycles", self.cpu.map(|cpu| cpu.time.cycles(period)))
            .with("steps", self.steps.iter().map(step).collect::<Vec<_>>())
    }
}
