//! An input stream (AXI4-Stream): bytes in order, a beat a cycle, held back while the device takes none.
//!
//! The sender does not depend on time: the port keeps the bytes until the device takes them, as a FIFO in front
//! of the device does, and refuses bytes that it has no room for. A device turns its stream on and off
//! (`InputStream::listen`).

use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use thiserror::Error;
use vp_core::observe::{LevelUnit, Source, SourceKind, What};
use vp_core::{Event, Sim, Time};

/// Bytes that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StreamError {
    /// The device does not listen.
    #[error("the device does not listen to {name}")]
    Off {
        /// The stream.
        name: String,
    },
    /// No room is left.
    #[error("{name} has room for {room} bytes more, and not for {bytes}: let time pass")]
    Full {
        /// The stream.
        name: String,
        /// Bytes that there is room for.
        room: usize,
        /// Bytes that were sent.
        bytes: usize,
    },
}

/// A stream between whoever sends and one device.
pub struct InputStream {
    sim: Sim,
    source: Source,
    name: &'static str,
    cycle: Time,
    beat_bytes: u32,
    capacity: usize,
    waiting: RefCell<VecDeque<u8>>,
    is_on: Cell<bool>,
    /// Number of times that the stream was turned off: the reader may not look in between.
    turned_off: Cell<u64>,
    /// Bytes came, or the stream was turned off.
    changed: Event,
}

impl InputStream {
    /// A stream, turned off, with beats of `beat_bytes`, that keeps up to `capacity` bytes.
    pub fn new(
        sim: &Sim,
        name: &'static str,
        cycle: Time,
        beat_bytes: u32,
        capacity: usize,
    ) -> Rc<InputStream> {
        let bits = usize::BITS - capacity.leading_zeros();
        Rc::new(InputStream {
            sim: sim.clone(),
            source: sim.source(name, SourceKind::Level { bits: bits.max(1), unit: LevelUnit::Bytes }),
            name,
            cycle,
            beat_bytes: beat_bytes.max(1),
            capacity,
            waiting: RefCell::default(),
            is_on: Cell::new(false),
            turned_off: Cell::new(0),
            changed: sim.event(format!("{name}.changed")),
        })
    }

    /// The port's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Width of its data in bytes.
    pub fn beat_bytes(&self) -> u32 {
        self.beat_bytes
    }

    /// Bytes that it keeps at most.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes that were sent and not taken.
    pub fn waiting(&self) -> usize {
        self.waiting.borrow().len()
    }

    /// Sends bytes: all of them, or none.
    ///
    /// # Errors
    /// When the device does not listen, or there is no room.
    pub fn send(&self, bytes: &[u8]) -> Result<(), StreamError> {
        if !self.is_on.get() {
            return Err(StreamError::Off { name: self.name.to_owned() });
        }
        let room = self.capacity - self.waiting();
        if bytes.len() > room {
            return Err(StreamError::Full { name: self.name.to_owned(), room, bytes: bytes.len() });
        }
        self.waiting.borrow_mut().extend(bytes);
        self.sim.report(self.source, What::Level(self.waiting() as u64));
        self.changed.notify_delta();
        Ok(())
    }

    /// Turns the stream on, or off: what waits is lost then.
    pub(crate) fn listen(&self, is_on: bool) {
        if self.is_on.replace(is_on) && !is_on {
            self.waiting.borrow_mut().clear();
            self.turned_off.set(self.turned_off.get() + 1);
            self.changed.notify_delta();
        }
    }

    /// Takes so many bytes, a beat a cycle as they come; `None` if the stream is, or was turned, off before all have come.
    pub(crate) async fn take(&self, bytes: usize) -> Option<Vec<u8>> {
        let turned_off = self.turned_off.get();
        let mut taken = Vec::with_capacity(bytes);
        while taken.len() < bytes {
            if !self.is_on.get() || self.turned_off.get() != turned_off {
                return None;
            }
            // A beat is whole, unless it is the last one.
            let beat = (self.beat_bytes as usize).min(bytes - taken.len());
            let beats = (self.waiting() / beat).min((bytes - taken.len()) / beat);
            if beats == 0 {
                self.changed.wait().await;
                continue;
            }
            taken.extend(self.waiting.borrow_mut().drain(..beats * beat));
            self.sim.report(self.source, What::Level(self.waiting() as u64));
            self.sim.wait(self.cycle * beats as u64).await;
        }
        if self.turned_off.get() != turned_off {
            return None;
        }
        Some(taken)
    }
}

impl InputStream {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let InputStream {
            sim: _,
            source: _,
            name,
            cycle: _,
            beat_bytes: _,
            capacity,
            waiting,
            is_on,
            turned_off,
            changed: _,
        } = self;
        at.part(name)?;
        at.place(waiting)?;
        at.check(waiting.borrow().len() <= *capacity, "more bytes than it keeps")?;
        at.cell(is_on)?;
        at.cell(turned_off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_core::Simulation;

    fn stream(simulation: &Simulation) -> Rc<InputStream> {
        InputStream::new(&simulation.sim(), "stream0", Time::ns(1), 4, 16)
    }

    #[test]
    fn bytes_are_taken_in_order_a_beat_a_cycle() {
        let mut simulation = Simulation::new();
        let stream = stream(&simulation);
        stream.listen(true);
        stream.send(&[1, 2, 3, 4, 5]).unwrap();
        let (sim, taken) = (simulation.sim(), Rc::new(Cell::new(None)));
        let (place, from) = (taken.clone(), stream.clone());
        simulation.sim().process("take", async move {
            let bytes = from.take(10).await;
            place.set(Some((bytes, sim.now())));
        });
        simulation.run();
        assert_eq!((stream.waiting(), taken.take()), (1, None), "the second beat is not whole");
        stream.send(&[6, 7, 8, 9, 10, 11]).unwrap();
        simulation.run();
        assert_eq!(taken.take(), Some((Some((1..=10).collect()), Time::ns(3))));
        assert_eq!(stream.waiting(), 1);
    }

    #[test]
    fn what_has_no_room_is_refused_as_a_whole() {
        let simulation = Simulation::new();
        let stream = stream(&simulation);
        assert_eq!(stream.send(&[1]), Err(StreamError::Off { name: "stream0".into() }));
        stream.listen(true);
        stream.send(&[0; 15]).unwrap();
        let full = StreamError::Full { name: "stream0".into(), room: 1, bytes: 2 };
        assert_eq!((stream.send(&[0; 2]), stream.waiting()), (Err(full), 15));
        stream.listen(false);
        assert_eq!(stream.waiting(), 0, "what waited is lost");
    }

    #[test]
    fn what_is_taken_is_not_mixed_over_a_stop() {
        let mut simulation = Simulation::new();
        let stream = stream(&simulation);
        stream.listen(true);
        stream.send(&[1; 12]).unwrap();
        let ended = Rc::new(Cell::new(None));
        let (place, from) = (ended.clone(), stream.clone());
        simulation.sim().process("take", async move { place.set(Some(from.take(16).await)) });
        simulation.run_until(Time::ns(1));
        // Off and on again, while three beats are on their way.
        stream.listen(false);
        stream.listen(true);
        stream.send(&[2; 12]).unwrap();
        simulation.run();
        assert_eq!((ended.take(), stream.waiting()), (Some(None), 12));
    }

    #[test]
    fn who_waits_is_told_that_the_stream_is_off() {
        let mut simulation = Simulation::new();
        let stream = stream(&simulation);
        stream.listen(true);
        let ended = Rc::new(Cell::new(false));
        let (place, from) = (ended.clone(), stream.clone());
        simulation.sim().process("take", async move { place.set(from.take(4).await.is_none()) });
        simulation.run();
        stream.listen(false);
        simulation.run();
        assert!(ended.get());
    }
}
