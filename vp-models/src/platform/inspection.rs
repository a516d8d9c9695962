//! State of a platform, in the form of counters: for people who look in while it runs or stands.

use super::assembly::Platform;
use super::observers::{LayerRecord, RegisterRecord};
use crate::counters::Statistics;
use crate::device::PendingInterrupt;

impl Platform {
    /// Returns what the CPU has to do before anything more happens, if it is its turn: `to take the interrupt (SDP_DONE_STATUS0)`, `to
    /// enable SDP`.
    pub fn awaits_cpu(&self) -> Option<String> {
        if self.simulation().next_time().is_some() {
            return None;
        }
        let pending = self.device().pending();
        let unmasked: Vec<&str> =
            pending.iter().filter(|interrupt| !interrupt.is_masked).map(|interrupt| interrupt.name).collect();
        let masked: Vec<&str> =
            pending.iter().filter(|interrupt| interrupt.is_masked).map(|interrupt| interrupt.name).collect();
        let awaited = self.with_open_work(|device, open| device.awaited(open));
        let named =
            |names: &[&str]| if names.is_empty() { "its interrupt".to_owned() } else { names.join(", ") };
        let mut parts = Vec::new();
        match (self.irq().driven(), self.irq().fault()) {
            (true, None) => parts.push(format!("to take the interrupt ({})", named(&unmasked))),
            (true, Some(fault)) => {
                parts.push(format!("to clear {}, of which it is not told: {fault}", named(&unmasked)));
            }
            (false, _) if !masked.is_empty() && !self.unfinished_work().is_empty() => {
                parts.push(format!("to clear {}, which is masked", named(&masked)));
            }
            (false, _) => {}
        }
        if !awaited.is_empty() {
            parts.push(format!("to enable {}", awaited.join(", ")));
        }
        (!parts.is_empty()).then(|| parts.join(", and "))
    }

    /// Returns what units do, the line, and what is unfinished. Whoever asks changes nothing.
    pub fn inspect(&self) -> Statistics {
        let mut seen = Statistics::default();
        seen.count("time", self.simulation().now().as_ps(), "ps");
        seen.count("period", self.description().period.as_ps(), "ps");
        seen.count("line.irq0", self.irq().level().into(), "");
        seen.count("irq.since", self.irq().since().as_ps(), "ps");
        let pending = self.device().pending();
        let pending = pending.iter().map(|PendingInterrupt { name, is_masked }| match is_masked {
            true => format!("{name} (masked)"),
            false => (*name).to_owned(),
        });
        let pending = pending.collect::<Vec<_>>().join(", ");
        if !pending.is_empty() {
            seen.note("irq.pending", pending);
        }
        if let Some(fault) = self.irq().fault() {
            seen.note("irq.fault", fault);
        }
        if let Some(awaits) = self.awaits_cpu() {
            seen.note("awaits", format!("the CPU {awaits}"));
        }
        // The last ones, oldest first: for whoever asks what the driver waits for.
        for (index, RegisterRecord { time, write, address, value }) in self.accesses().iter().enumerate() {
            let how = if *write { "write" } else { "read" };
            seen.note(format!("access.{index}"), format!("{} {how} {address:#x} {value:#x}", time.as_ps()));
        }
        let layers = self.layers();
        for (unit, begun) in self.begun() {
            let open = layers.iter().rev().find(|layer| layer.unit == unit && layer.end.is_none());
            let state = match open {
                None => format!("idle, {begun} begun and ended"),
                Some(LayerRecord { group, shape, begin, .. }) => {
                    format!(
                        "busy with {shape}, {} {group}, number {begun}, since {begin}",
                        self.device().numbering()
                    )
                }
            };
            seen.note(format!("unit.{unit}"), state);
        }
        // Who waits for what tells something only where nothing goes on by itself.
        let unfinished = match self.simulation().next_time() {
            Some(_) => Some(self.unfinished_work().join("; ")).filter(|work| !work.is_empty()),
            None => self.unfinished(),
        };
        if let Some(unfinished) = unfinished {
            seen.note("unfinished", unfinished);
        }
        seen
    }
}
