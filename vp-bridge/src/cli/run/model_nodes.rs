//! Nodes of a model that the CPU does, for people and for other programs.

use crate::cli::record::Record;
use crate::cli::text::{self, counted, styled};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{self, Write};
use vp_core::Time;
use vp_host::network::{CpuEstimate, CpuModel, CpuWork};
use vp_onnx::lower::Lowered;
use vp_tensors::Graph;

/// A model made a network, and notes about what was taken for granted.
pub(in crate::cli) struct ModelNodes<'a> {
    pub(in crate::cli) lowered: &'a Lowered,
    pub(in crate::cli) notes: &'a [String],
}

impl ModelNodes<'_> {
    /// Work of the CPU for the nodes before and behind the network.
    fn outside(&self) -> CpuWork {
        CpuWork::of_graph(&self.lowered.head) + CpuWork::of_graph(&self.lowered.tail)
    }

    /// Numbers of the model's nodes that are the CPU's before the network, within it, and behind it. What else the CPU does there, such
    /// as bringing elements into the model's order, is none of the model's.
    fn places(&self) -> [usize; 3] {
        let Lowered { head, tail, on_cpu, .. } = self.lowered;
        let names = |graph: &Graph| graph.nodes.iter().map(|node| node.name.clone()).collect::<HashSet<_>>();
        let (head, tail) = (names(head), names(tail));
        let mut places = [0; 3];
        for (node, _) in on_cpu {
            places[match (head.contains(node), tail.contains(node)) {
                (true, _) => 0,
                (false, true) => 2,
                (false, false) => 1,
            }] += 1;
        }
        places
    }

    /// Shows the CPU's nodes with their reasons, beside so many frames of a run of that time.
    pub(in crate::cli) fn show(
        &self,
        out: &mut impl Write,
        (cpu, period): (CpuModel, Time),
        (frames, run): (u64, Time),
    ) -> io::Result<()> {
        let on_cpu = &self.lowered.on_cpu;
        let [before, within, behind] = self.places();
        writeln!(
            out,
            "\n{:<10} {} of the model: {before} before the network, {within} in codes within it, {behind} behind it",
            "the CPU's",
            counted(on_cpu.len() as u64, "node"),
        )?;
        let CpuEstimate { time, .. } = cpu.estimate(self.outside().times(frames));
        writeln!(
            out,
            "{:<10} before and behind it, with layouts and codes, estimated {}, {:.1} % of the device's time",
            "",
            counted(time.cycles(period), "cycle"),
            100.0 * time.as_ps() as f64 / run.as_ps().max(1) as f64
        )?;
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for (node, why) in on_cpu {
            match reasons.iter_mut().find(|(known, _)| known == why) {
                Some((_, nodes)) => nodes.push(node),
                None => reasons.push((why, vec![node])),
            }
        }
        for (why, nodes) in reasons {
            let shown = nodes.iter().take(3).map(|node| text::one_line(node)).collect::<Vec<_>>().join(", ");
            let more = if nodes.len() > 3 { format!(" and {} more", nodes.len() - 3) } else { String::new() };
            writeln!(out, "{:<10} {shown}{more}: {}", "", text::one_line(why))?;
        }
        for note in self.notes {
            writeln!(out, "{} {note}", styled(text::YELLOW, format_args!("{:<10}", "note")))?;
        }
        Ok(())
    }

    /// Puts the CPU's nodes, their work before and behind the network, and the notes.
    pub(in crate::cli) fn put(&self, record: &mut Record) {
        let CpuWork { operations, bytes, .. } = self.outside();
        record.put("model_cpu_operations", operations);
        record.put("model_cpu_bytes", bytes);
        let on_cpu: Vec<Value> =
            self.lowered.on_cpu.iter().map(|(node, why)| json!({ "node": node, "why": why })).collect();
        record.put("model_nodes_on_cpu", on_cpu);
        record.put("model_notes", self.notes);
    }
}
