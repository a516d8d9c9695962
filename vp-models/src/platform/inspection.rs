//! How things stand at a platform, in the form of counters: for people who look in while it runs or stands.

use super::assembly::Platform;
use super::observers::{LayerRecord, RegisterRecord};
use crate::counters::Statistics;

impl Platform {
    /// What units do, the line, and what is unfinished. Whoever asks changes nothing.
    pub fn inspect(&self) -> Statistics {
        let mut seen = Statistics::default();
        seen.count("time", self.simulation().now().as_ps(), "ps");
        seen.count("period", self.description().period.as_ps(), "ps");
        seen.count("line.irq0", self.irq().level().into(), "");
        seen.count("irq.since", self.irq().since().as_ps(), "ps");
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
