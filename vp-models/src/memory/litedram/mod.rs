//! LiteDRAM's controller in front of a DRAM, and its port for each master.
//!
//! A port has no queue: an address stands on AR or AW until the [`controller`] takes it, as at the pins of the RTL.

mod config;
mod controller;
#[cfg(test)]
mod tests;

pub use config::LiteDramConfig;

use crate::bus::axi::{AxiConfig, Burst, Served, TimedPort};
use crate::checkpoint::{Checkpoint, CheckpointError};
use controller::{Controller, Driven, PortBurst, PortOutputs};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use vp_core::{Event, Sim, Time};

/// Pins of a master: an address of each direction, and beats of data, until they are taken.
#[derive(Default)]
struct Pins {
    read: Option<PortBurst>,
    write: Option<PortBurst>,
    data: VecDeque<bool>,
    /// True if the master was told of the beat on R, and the cycle in which it takes it.
    is_told: bool,
    taken: u64,
}

struct State {
    controller: Controller,
    pins: Vec<Pins>,
    driven: Vec<Driven>,
    /// The cycle whose outputs were told.
    told: Option<u64>,
}

/// The controller at work.
pub(crate) struct LiteDram {
    sim: Sim,
    period: Time,
    base: u64,
    word: u64,
    state: RefCell<State>,
    ports: RefCell<Vec<Rc<LiteDramPort>>>,
    asked: Event,
}

/// A master's port.
pub(crate) struct LiteDramPort {
    system: Weak<LiteDram>,
    number: usize,
    room: [Event; 2],
    served: RefCell<[Option<Served>; 2]>,
    /// Directions in which there was no room when it was looked for.
    waits: [Cell<bool>; 2],
}

impl LiteDram {
    pub(crate) fn new(
        sim: &Sim,
        name: &str,
        base: u64,
        axi: &AxiConfig,
        config: &LiteDramConfig,
        ports: usize,
    ) -> Rc<LiteDram> {
        let controller = Controller::new(config.figures(), ports);
        let system = Rc::new(LiteDram {
            sim: sim.clone(),
            period: axi.period,
            base,
            word: u64::from(axi.beat_bytes),
            state: RefCell::new(State {
                controller,
                pins: (0..ports).map(|_| Pins::default()).collect(),
                driven: vec![Driven::default(); ports],
                told: None,
            }),
            ports: RefCell::default(),
            asked: sim.work_event(format!("{name}.litedram.asked")),
        });
        let port = |number: usize| {
            let room = |what: &str| sim.event(format!("{name}.litedram.{what}{number}_room"));
            Rc::new(LiteDramPort {
                system: Rc::downgrade(&system),
                number,
                room: [room("read"), room("write")],
                served: RefCell::default(),
                waits: Default::default(),
            })
        };
        *system.ports.borrow_mut() = (0..ports).map(port).collect();
        sim.server(format!("{name}.litedram"), system.clone().run());
        system
    }

    pub(crate) fn port(&self, number: usize) -> Rc<LiteDramPort> {
        self.ports.borrow()[number].clone()
    }

    async fn run(self: Rc<Self>) {
        loop {
            self.advance();
            self.tell();
            if self.state.borrow().is_idle() {
                self.asked.wait().await;
                continue;
            }
            let edge = self.period * (self.cycle() + 1);
            self.sim.wait_until(edge).await;
        }
    }

    /// The controller's cycle at present.
    fn cycle(&self) -> u64 {
        self.sim.now().as_ps() / self.period.as_ps()
    }

    /// Steps through all cycles before the present.
    fn advance(&self) {
        let state = &mut *self.state.borrow_mut();
        let cycle = self.cycle();
        while state.controller.now() < cycle {
            if state.is_idle() {
                state.controller.rest(cycle, |_| {});
            } else {
                state.step();
            }
        }
    }

    /// Tells the masters what there is for them in the present cycle, once.
    fn tell(&self) {
        let cycle = self.cycle();
        if self.state.borrow_mut().told.replace(cycle) == Some(cycle) {
            return;
        }
        let ports = self.ports.borrow();
        for port in &*ports {
            let (outputs, room) = {
                let state = self.state.borrow();
                let pins = &state.pins[port.number];
                let outputs: PortOutputs = state.controller.port(port.number);
                (outputs, [pins.read.is_none(), pins.write.is_none() && pins.data.is_empty()])
            };
            if let Some((tag, last)) = outputs.data
                && !std::mem::replace(&mut self.state.borrow_mut().pins[port.number].is_told, true)
                && last
            {
                port.tell(false, tag);
            }
            if let Some(tag) = outputs.written {
                port.tell(true, tag);
            }
            for write in [0, 1] {
                if room[write] && port.waits[write].take() {
                    port.room[write].notify_delta();
                }
            }
        }
    }
}

impl LiteDram {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let state = &mut *self.state.borrow_mut();
        at.part("controller")?;
        at.at_rest(state.is_idle(), "bursts wait for the controller")?;
        state.told = None;
        state.controller.checkpoint(at)
    }
}

impl State {
    fn is_idle(&self) -> bool {
        let is_empty = |pins: &Pins| pins.read.is_none() && pins.write.is_none() && pins.data.is_empty();
        self.controller.is_idle() && self.pins.iter().all(is_empty)
    }

    fn step(&mut self) {
        for (at, (pins, driven)) in self.pins.iter_mut().zip(&mut self.driven).enumerate() {
            let outputs = self.controller.port(at);
            let holds_data = pins.is_told && self.controller.now() < pins.taken;
            let data = pins.data.front().copied();
            *driven = Driven { read: pins.read, write: pins.write, data, holds_data };
            pins.is_told &= holds_data;
            if outputs.takes_read {
                pins.read = None;
            }
            if outputs.takes_write {
                pins.write = None;
            }
            if outputs.takes_data {
                pins.data.pop_front();
            }
        }
        self.controller.step(&self.driven, |_| {});
    }
}

impl LiteDramPort {
    fn tell(&self, write: bool, tag: u64) {
        let served = self.served.borrow()[usize::from(write)].clone();
        if let Some(served) = served {
            served(tag);
        }
    }
}

impl TimedPort for LiteDramPort {
    fn has_room(&self, write: bool) -> bool {
        let Some(system) = self.system.upgrade() else { return false };
        system.advance();
        let state = system.state.borrow();
        let pins = &state.pins[self.number];
        let has_room = if write { pins.write.is_none() && pins.data.is_empty() } else { pins.read.is_none() };
        self.waits[usize::from(write)].set(!has_room);
        has_room
    }

    fn room(&self, write: bool) -> &Event {
        &self.room[usize::from(write)]
    }

    fn request(&self, write: bool, tag: u64, burst: &Burst) {
        let Some(system) = self.system.upgrade() else { return };
        system.advance();
        let word = burst.address.wrapping_sub(system.base) / system.word;
        let asked = PortBurst { word, beats: burst.beats, tag };
        let state = &mut *system.state.borrow_mut();
        let pins = &mut state.pins[self.number];
        if write {
            pins.write = Some(asked);
            pins.data.extend((1..=burst.beats).map(|beat| beat == burst.beats));
        } else {
            pins.read = Some(asked);
        }
        system.asked.notify_delta();
    }

    fn taken(&self, at: Time) {
        let Some(system) = self.system.upgrade() else { return };
        let cycle = at.as_ps() / system.period.as_ps();
        system.state.borrow_mut().pins[self.number].taken = cycle;
    }

    fn on_served(&self, write: bool, served: Served) {
        self.served.borrow_mut()[usize::from(write)] = Some(served);
    }
}
