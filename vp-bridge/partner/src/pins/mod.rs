//! The pins of a port at one edge.
//!
//! Names are the field's: in AXI a *manager* sends bursts and a *subordinate* answers them. Each port has two sets of pins:
//! those that this side drives, sampled at the edge, and those that the platform drives, seen at the edge.

mod axi;
mod lines;
mod registers;

use std::any::TypeId;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

use vp_core::Time;
use vp_hub::{PortEvent, PortId, Role};
use vp_models::platform::PortKind;

pub use axi::{Address, Beat, Manager, ManagerPins, Response, Subordinate, SubordinatePins, WriteBeat};
pub use lines::{LineSink, LineSource};
pub use registers::{InitiatorPins, RegisterAccess, RegisterInitiator, RegisterTarget, TargetPins};

/// A rule that pins on this side break: on which channel, and which.
pub type Violation = (&'static str, String);

/// Role of this side at a port, with the state of the port's pins.
pub trait PinState: Default + 'static {
    /// The pins that this side drives.
    type Driven;
    /// The pins that the platform drives. They are the default ones in reset.
    type Observed: Default;
    /// The kind of port.
    const KIND: PortKind;
    /// Role of this side at the port.
    const ROLE: Role;
    /// True if a CPU of the platform may react to what is driven here at the same edge.
    const IS_ANSWERED_AT_ONCE: bool = false;

    /// Takes the width of the port's data, in bytes.
    fn set_width(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// The pins that this side drives are like this at an edge. Gives what the platform has to be told.
    ///
    /// # Errors
    /// The rule that they break.
    fn sample(&mut self, now: Time, pins: &Self::Driven, told: &mut Vec<PortEvent>) -> Result<(), Violation>;

    /// The pins that the platform drives, as they are seen at an edge.
    fn seen(&mut self, now: Time) -> Self::Observed;

    /// The edge is over: transfers whose valid and ready were high there are taken.
    fn finish(&mut self, now: Time);

    /// The platform drives something, seen from that edge on.
    ///
    /// # Errors
    /// What it is, if it has no place here.
    fn take(&mut self, at: Time, event: PortEvent) -> Result<(), String>;

    #[doc(hidden)]
    fn list(ports: &mut Ports) -> &mut Vec<Attached<Self>>;
}

/// A port that a [`Partner`](crate::Partner) has attached, as an `S`.
pub struct Handle<S> {
    pub(crate) index: usize,
    kind: PhantomData<fn() -> S>,
}

impl<S> Clone for Handle<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Handle<S> {}

impl<S> fmt::Debug for Handle<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Handle").field(&self.index).finish()
    }
}

impl<S> Handle<S> {
    pub(crate) fn new(index: usize) -> Self {
        Self { index, kind: PhantomData }
    }
}

/// A port that a [`Partner`](crate::Partner) has attached, as anything.
#[derive(Clone, Copy)]
pub struct AnyHandle {
    index: usize,
    state: TypeId,
    port: fn(&mut Ports, usize) -> Option<&mut dyn AnyPort>,
}

impl<S: PinState> From<Handle<S>> for AnyHandle {
    fn from(handle: Handle<S>) -> AnyHandle {
        fn port<S: PinState>(ports: &mut Ports, index: usize) -> Option<&mut dyn AnyPort> {
            S::list(ports).get_mut(index).map(|port| port as &mut dyn AnyPort)
        }
        AnyHandle { index: handle.index, state: TypeId::of::<S>(), port: port::<S> }
    }
}

impl AnyHandle {
    /// The handle, if the port is attached as an `S`.
    #[must_use]
    pub fn of<S: PinState>(self) -> Option<Handle<S>> {
        (self.state == TypeId::of::<S>()).then(|| Handle::new(self.index))
    }

    pub(crate) fn port(self, ports: &mut Ports) -> Option<&mut dyn AnyPort> {
        (self.port)(ports, self.index)
    }
}

/// A port and its pins.
#[doc(hidden)]
pub struct Attached<S> {
    pub(crate) port: PortId,
    pub(crate) name: String,
    pub(crate) width: usize,
    /// The last edge at which this side's pins were sampled, and at which the platform's were seen, counted from the first one.
    pub(crate) sampled: u64,
    pub(crate) seen: u64,
    /// Events that the platform has driven and that are not seen yet, in the order of the edges.
    pending: VecDeque<(Time, PortEvent)>,
    /// The edge up to which this side is in reset, after the platform was.
    pub(crate) reset_until: Option<u64>,
    pub(crate) state: S,
}

impl<S: PinState> Attached<S> {
    pub(crate) fn new(port: PortId, name: String, width: usize) -> Self {
        let pending = VecDeque::new();
        let state = S::default();
        let mut attached = Self { port, name, width, sampled: 0, seen: 0, pending, reset_until: None, state };
        attached.state.set_width(width);
        attached
    }
}

/// All ports of a partner.
#[doc(hidden)]
#[derive(Default)]
pub struct Ports {
    subordinates: Vec<Attached<Subordinate>>,
    managers: Vec<Attached<Manager>>,
    targets: Vec<Attached<RegisterTarget>>,
    initiators: Vec<Attached<RegisterInitiator>>,
    sources: Vec<Attached<LineSource>>,
    sinks: Vec<Attached<LineSink>>,
}

/// A port of any kind.
pub(crate) trait AnyPort {
    fn port(&self) -> PortId;
    fn name(&self) -> &str;
    /// The last edge at which its pins were sampled.
    fn sampled(&self) -> u64;

    /// Returns true if this side is in reset from the edge on at which the platform's pins were seen last.
    fn is_in_reset(&self) -> bool;

    /// The platform drives something, to be seen at an edge.
    fn push(&mut self, at: Time, event: PortEvent);

    /// Returns the number of the platform's events that are not seen yet.
    fn pending(&self) -> usize;

    /// The next edge at which something is seen that was not.
    fn due(&self) -> Time;

    /// Lets the pins have what is seen by now, at an edge of that number; a reset lasts for so many edges.
    ///
    /// # Errors
    /// What it is, if the port has no pins for it.
    fn see(&mut self, now: Time, edge: u64, reset_edges: u64) -> Result<(), String>;
}

impl<S: PinState> AnyPort for Attached<S> {
    fn port(&self) -> PortId {
        self.port
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn sampled(&self) -> u64 {
        self.sampled
    }

    fn is_in_reset(&self) -> bool {
        self.reset_until.is_some_and(|until| self.seen < until)
    }

    fn push(&mut self, at: Time, event: PortEvent) {
        if event == PortEvent::Reset {
            // What was driven before, to be seen later, never is.
            self.pending.retain(|(of, _)| *of < at);
        }
        // Beats that follow an address are driven ahead of what comes meanwhile on other channels.
        let place = self.pending.partition_point(|(before, _)| *before <= at);
        self.pending.insert(place, (at, event));
    }

    fn pending(&self) -> usize {
        self.pending.len()
    }

    fn due(&self) -> Time {
        self.pending.front().map_or(Time::MAX, |(at, _)| *at)
    }

    fn see(&mut self, now: Time, edge: u64, reset_edges: u64) -> Result<(), String> {
        while self.due() <= now
            && let Some((at, event)) = self.pending.pop_front()
        {
            if event == PortEvent::Reset {
                self.state = S::default();
                self.state.set_width(self.width);
                self.reset_until = Some(edge + reset_edges);
            } else {
                self.state.take(at, event)?;
            }
        }
        Ok(())
    }
}

impl Ports {
    pub(crate) fn all(&mut self) -> impl Iterator<Item = &mut dyn AnyPort> {
        fn any<S: PinState>(port: &mut Attached<S>) -> &mut dyn AnyPort {
            port
        }
        let Ports { subordinates, managers, targets, initiators, sources, sinks } = self;
        (subordinates.iter_mut().map(any))
            .chain(managers.iter_mut().map(any))
            .chain(targets.iter_mut().map(any))
            .chain(initiators.iter_mut().map(any))
            .chain(sources.iter_mut().map(any))
            .chain(sinks.iter_mut().map(any))
    }
}
