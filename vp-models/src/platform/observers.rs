//! Records of what a platform sees: layers that ran, times that units were at work, warnings, the hash of
//! everything.

use super::warnings::Warnings;
use crate::checkpoint::{Checkpoint, CheckpointError};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::VecDeque;
use vp_core::observe::{Kinds, Observation, Observer, Source, SourceInfo, SourceKind, What};
use vp_core::{Name, Sim, Time};

/// Number of layers that are kept; older ones are forgotten.
const KEPT: usize = 4096;
/// Number of register accesses that are kept.
const KEPT_ACCESSES: usize = 16;

/// A hardware layer that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerRecord {
    /// The unit, such as `sdp`.
    pub unit: Name,
    /// The register group.
    pub group: u64,
    /// Width, height and channels of its input.
    pub shape: String,
    /// Time at which it began.
    pub begin: Time,
    /// Time at which its interrupt came; `None` while it runs.
    pub end: Option<Time>,
}

/// A register access over the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterRecord {
    /// Time at which it took effect.
    pub time: Time,
    /// True if it was a write.
    pub write: bool,
    /// Byte address.
    pub address: u32,
    /// The value read or written.
    pub value: u32,
}

/// Work of a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UnitRecord {
    /// The unit, such as `sdp`.
    pub(super) unit: Name,
    /// Layers that it began.
    pub(super) layers: u64,
    /// Time for which it had a layer.
    pub(super) busy: Time,
    /// Layers that it has not ended.
    open: u32,
    /// Time since which it has one.
    since: Time,
}

/// Keeps layers and warnings.
pub(super) struct LayerRecorder {
    sim: Sim,
    layers: RefCell<VecDeque<(Source, LayerRecord)>>,
    units: RefCell<Vec<(Source, UnitRecord)>>,
    known_units: RefCell<Vec<Name>>,
    warnings: RefCell<Warnings>,
    accesses: RefCell<VecDeque<RegisterRecord>>,
}

impl LayerRecorder {
    pub(super) fn new(sim: &Sim) -> LayerRecorder {
        LayerRecorder {
            sim: sim.clone(),
            layers: RefCell::default(),
            units: RefCell::default(),
            known_units: RefCell::default(),
            warnings: RefCell::default(),
            accesses: RefCell::default(),
        }
    }

    /// Forgets layers and units, and gives what had begun and not ended. Warnings that are to be told stay.
    pub(super) fn restart(&self) -> Vec<(Source, LayerRecord)> {
        self.units.take();
        self.warnings.borrow_mut().restart_count();
        let layers = self.layers.take();
        layers.into_iter().filter(|(_, layer)| layer.end.is_none()).collect()
    }

    pub(super) fn layers(&self) -> Vec<LayerRecord> {
        self.layers.borrow().iter().map(|(_, layer)| layer.clone()).collect()
    }

    /// Units that began layers, with the time up to now of those that are at work; in the order of their names.
    pub(super) fn units(&self) -> Vec<UnitRecord> {
        let now = self.sim.now();
        let mut units: Vec<UnitRecord> = self.units.borrow().iter().map(|(_, unit)| unit.clone()).collect();
        for unit in units.iter_mut().filter(|unit| unit.open > 0) {
            unit.busy += now - unit.since;
        }
        units.sort_by(|a, b| a.unit.cmp(&b.unit));
        units
    }

    /// The units that report layers.
    pub(super) fn known_units(&self) -> Vec<Name> {
        self.known_units.borrow().clone()
    }

    /// The last register accesses, oldest first.
    pub(super) fn accesses(&self) -> Vec<RegisterRecord> {
        self.accesses.borrow().iter().copied().collect()
    }

    /// A layer begins.
    fn begin(&self, source: Source, unit: &Name, time: Time) {
        let mut units = self.units.borrow_mut();
        let place = units.iter().position(|(of, _)| *of == source).unwrap_or_else(|| {
            let unit = unit.clone();
            units.push((source, UnitRecord { unit, layers: 0, busy: Time::ZERO, open: 0, since: time }));
            units.len() - 1
        });
        let (_, record) = &mut units[place];
        if record.open == 0 {
            record.since = time;
        }
        (record.open, record.layers) = (record.open + 1, record.layers + 1);
    }

    /// A layer that began is over.
    fn end(&self, source: Source, time: Time) {
        let mut units = self.units.borrow_mut();
        let Some((_, record)) = units.iter_mut().find(|(of, unit)| *of == source && unit.open > 0) else {
            return;
        };
        record.open -= 1;
        if record.open == 0 {
            record.busy += time - record.since;
        }
    }

    /// Returns the warnings that are to be told to people.
    pub(super) fn warnings(&self) -> &RefCell<Warnings> {
        &self.warnings
    }
}

impl Observer for LayerRecorder {
    fn wants(&self) -> Kinds {
        Kinds::WORK | Kinds::WARNINGS | Kinds::REGISTERS
    }

    fn announced(&self, _: Source, info: &SourceInfo) {
        if info.kind == SourceKind::Work {
            self.known_units.borrow_mut().push(unit(&info.name));
        }
    }

    fn observe(&self, observation: &Observation<'_>) {
        let &Observation { time, source, what, .. } = observation;
        match what {
            What::Begin { label, id } => {
                let name = self.sim.source_name(source);
                let unit = unit(&name);
                self.begin(source, &unit, time);
                let layer = LayerRecord { unit, group: id, shape: label.to_owned(), begin: time, end: None };
                keep(&mut self.layers.borrow_mut(), (source, layer));
            }
            What::End { id, .. } => {
                self.end(source, time);
                self.warnings.borrow_mut().ended(time, &self.sim.source_name(source));
                let mut layers = self.layers.borrow_mut();
                let open = layers.iter_mut().rev().find(|(of, layer)| *of == source && layer.group == id);
                if let Some((_, layer)) = open {
                    layer.end = Some(time);
                }
            }
            What::Register { write, address, value } => {
                let mut accesses = self.accesses.borrow_mut();
                if accesses.len() == KEPT_ACCESSES {
                    accesses.pop_front();
                }
                accesses.push_back(RegisterRecord { time, write, address, value });
            }
            What::Warning(warning) => {
                self.warnings.borrow_mut().add(time, &self.sim.source_name(source), &warning);
            }
            _ => {}
        }
    }
}

/// `sdp` of `nvdla.sdp`.
fn unit(source: &str) -> Name {
    source.rsplit('.').next().unwrap_or_default().into()
}

fn keep<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() == KEPT {
        list.pop_front();
    }
    list.push_back(item);
}

impl LayerRecorder {
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let LayerRecorder { sim: _, layers, units, known_units: _, warnings, accesses } = self;
        at.place(layers)?;
        at.place(units)?;
        at.place(accesses)?;
        warnings.borrow_mut().checkpoint(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use vp_core::Simulation;
    use vp_core::observe::SourceKind;

    #[test]
    fn of_the_layers_that_ran_the_last_ones_are_kept_and_all_are_counted() {
        let sim = Simulation::new().sim();
        let chronicle = Rc::new(LayerRecorder::new(&sim));
        let _subscription = sim.observe(chronicle.clone());
        let source = sim.source("nvdla.sdp", SourceKind::Work);
        let all = 3 * KEPT as u64;
        for id in 0..all {
            sim.report(source, What::Begin { label: "1 x 1 x 1", id });
            sim.report(source, What::End { label: "1 x 1 x 1", id });
        }
        let layers = chronicle.layers();
        assert_eq!((layers.len(), layers[0].group), (KEPT, all - KEPT as u64));
        assert_eq!(chronicle.units()[0].layers, all);
    }
}
