//! What a platform keeps of what it sees: layers that ran, warnings, the hash of everything.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use vp_core::observe::{Observation, Observer, Source, What};
use vp_core::{Name, Sim, Time};

/// How many layers and warnings are kept; older ones are forgotten and still counted.
const KEPT: usize = 4096;

/// A hardware layer that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerRecord {
    /// The unit, such as `sdp`.
    pub unit: Name,
    /// The register group.
    pub group: u64,
    /// Width, height and channels of its input.
    pub shape: String,
    /// When it began.
    pub begin: Time,
    /// When its interrupt came; `None` while it runs.
    pub end: Option<Time>,
}

/// Something a person should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warned {
    /// When.
    pub time: Time,
    /// Who says it.
    pub source: Name,
    /// What.
    pub text: String,
}

/// Keeps layers and warnings.
pub(super) struct Chronicle {
    sim: Sim,
    layers: RefCell<VecDeque<(Source, LayerRecord)>>,
    warnings: RefCell<VecDeque<Warned>>,
    warned: Cell<u64>,
}

impl Chronicle {
    pub(super) fn new(sim: &Sim) -> Chronicle {
        Chronicle {
            sim: sim.clone(),
            layers: RefCell::default(),
            warnings: RefCell::default(),
            warned: Cell::new(0),
        }
    }

    pub(super) fn layers(&self) -> Vec<LayerRecord> {
        self.layers.borrow().iter().map(|(_, layer)| layer.clone()).collect()
    }

    /// Warnings not taken yet.
    pub(super) fn take_warnings(&self) -> Vec<Warned> {
        self.warnings.take().into()
    }

    pub(super) fn warned(&self) -> u64 {
        self.warned.get()
    }
}

impl Observer for Chronicle {
    fn observe(&self, observation: &Observation<'_>) {
        let &Observation { time, source, what, .. } = observation;
        match what {
            What::Begin { label, id } => {
                let name = self.sim.source_name(source);
                let unit = name.rsplit('.').next().unwrap_or_default().into();
                let layer = LayerRecord { unit, group: id, shape: label.to_owned(), begin: time, end: None };
                keep(&mut self.layers.borrow_mut(), (source, layer));
            }
            What::End { id, .. } => {
                let mut layers = self.layers.borrow_mut();
                let open = layers.iter_mut().rev().find(|(of, layer)| *of == source && layer.group == id);
                if let Some((_, layer)) = open {
                    layer.end = Some(time);
                }
            }
            What::Warning(text) => {
                self.warned.set(self.warned.get() + 1);
                let warned = Warned { time, source: self.sim.source_name(source), text: text.to_owned() };
                keep(&mut self.warnings.borrow_mut(), warned);
            }
            _ => {}
        }
    }
}

fn keep<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() == KEPT {
        list.pop_front();
    }
    list.push_back(item);
}
