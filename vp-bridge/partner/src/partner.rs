//! Edges and promises.
//!
//! An edge is computed in three steps: the pins of this side are sampled, as the platform sees them at that edge; all that
//! the platform drives to be seen there is waited for; its pins are given. Where the outputs of this side depend on
//! inputs of the same edge ([`Reaction::SameEdge`]) the last step comes first.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use vp_core::Time;
use vp_hub::{Clock, PortEvent, PortId, Promise, Reaction, Role};
use vp_models::memory::{MemoryBudget, Ram, usual_limit};
use vp_models::platform::PortKind;

use crate::link::DebugAccess;
use crate::pins::{AnyHandle, AnyPort, Attached, Handle, PinState, Ports, Subordinate};
use crate::{FromPlatform, PartnerError, PlatformLink};

/// Events of the platform at a port that may wait for their edges, at most (docs/protocol.md, "What breaks it").
const MOST_PENDING: usize = 65_536;

/// Warnings that are kept for whoever takes them, at most: the latest.
const MOST_WARNINGS: usize = 64;

/// Edges without a message after which a promise is made nevertheless: the platform may have work besides.
const EDGES_IN_SILENCE: u64 = 4096;

/// Options of a partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartnerOptions {
    /// Clock that says when the partner's outputs follow its inputs, and how much later than they are driven things are seen.
    pub clock: Clock,
    /// Edges for which it is in reset when the platform is put back: at least 1.
    pub reset_edges: u64,
    /// Most bytes of this host's memory that the memories which it is take together, where they are in [`Partner::memory`]: a write of
    /// the platform that needs more is refused. Half of what this process can have unless it is set: the platform decides how
    /// large a port is, and what is written.
    pub memory_limit: u64,
}

impl Default for PartnerOptions {
    fn default() -> Self {
        Self { clock: Clock::default(), reset_edges: 16, memory_limit: usual_limit() }
    }
}

/// The bytes behind a memory port, for accesses of loaders and debuggers: at once, in no simulated time.
pub trait DebugTarget {
    /// Reads bytes.
    ///
    /// # Errors
    /// Why they cannot be read; it is told to whoever asked.
    fn debug_read(&self, address: u64, into: &mut [u8]) -> Result<(), String>;

    /// Writes bytes.
    ///
    /// # Errors
    /// Why they cannot be written; it is told to whoever asked.
    fn debug_write(&self, address: u64, bytes: &[u8]) -> Result<(), String>;
}

impl DebugTarget for Ram {
    fn debug_read(&self, address: u64, into: &mut [u8]) -> Result<(), String> {
        self.read(address, into).map_err(|error| error.to_string())
    }

    fn debug_write(&self, address: u64, bytes: &[u8]) -> Result<(), String> {
        self.write(address, bytes).map_err(|error| error.to_string())
    }
}

/// A memory that this side is.
struct OwnMemory {
    port: PortId,
    ram: Rc<Ram>,
    /// Target in which loaders and debuggers find the memory's bytes: in `ram`, unless somebody keeps them elsewhere.
    debug: Rc<dyn DebugTarget>,
}

/// A partner of a platform, with the pins of its ports.
pub struct Partner {
    link: Box<dyn PlatformLink>,
    options: PartnerOptions,
    period: Time,
    /// The first edge.
    first: Time,
    ports: Ports,
    /// The memories that it is: loaders and debuggers go round their pins.
    memories: Vec<OwnMemory>,
    /// Bytes that the memories may take.
    budget: Arc<MemoryBudget>,
    /// The last edge of which all that the platform drives is there, counted from 1.
    edge: u64,
    /// Value of `edge` when the partner last spoke.
    spoke: u64,
    /// The next edge at which something is seen that was not.
    due: Time,
    inbox: VecDeque<FromPlatform>,
    /// Number of events that have come.
    heard: u64,
    /// Number of events that were driven here, and when the platform may react to each that it has not heard.
    sent: u64,
    reactions: VecDeque<Time>,
    /// Time that the platform has promised.
    next: Time,
    told: Promise,
    told_events: Vec<PortEvent>,
    warnings: VecDeque<(Time, String)>,
    /// Reason for which the partner cannot go on.
    ended: Option<PartnerError>,
}

impl Partner {
    /// Becomes a partner of the platform at the other end.
    ///
    /// # Errors
    /// [`PartnerError`].
    pub fn new(mut link: Box<dyn PlatformLink>, options: PartnerOptions) -> Result<Partner, PartnerError> {
        let period = link.counter("period")?.map(Time::ps).filter(|period| *period > Time::ZERO);
        let period = period.ok_or_else(|| {
            PartnerError::Refused("the platform does not say how long a cycle of its clock is".to_owned())
        })?;
        let now = link.declare(options.clock)?;
        let first = now.as_ps().checked_next_multiple_of(period.as_ps()).map(Time::ps).ok_or_else(|| {
            PartnerError::Refused(format!("the platform is at {now}, after which no clock edge comes"))
        })?;
        Ok(Partner {
            link,
            options: PartnerOptions { reset_edges: options.reset_edges.max(1), ..options },
            period,
            first,
            ports: Ports::default(),
            memories: Vec::new(),
            budget: Arc::new(MemoryBudget::new(options.memory_limit)),
            edge: 0,
            spoke: 0,
            due: Time::MAX,
            inbox: VecDeque::new(),
            heard: 0,
            sent: 0,
            reactions: VecDeque::new(),
            next: now,
            told: Promise { heard: 0, next: now },
            told_events: Vec::new(),
            warnings: VecDeque::new(),
            ended: None,
        })
    }

    /// The length of a clock cycle of the platform.
    #[must_use]
    pub fn period(&self) -> Time {
        self.period
    }

    /// The simulated time of the edge whose pins were given last.
    #[must_use]
    pub fn now(&self) -> Time {
        self.time_of(self.edge.max(1))
    }

    /// The way to the platform.
    #[must_use]
    pub fn link(&self) -> &dyn PlatformLink {
        &*self.link
    }

    /// One of the platform's counters, if it has one of that name.
    ///
    /// # Errors
    /// The platform is gone.
    pub fn counter(&mut self, name: &str) -> Result<Option<u64>, PartnerError> {
        self.link.counter(name)
    }

    /// The first of the platform's warnings that was not taken, and its time. The latest 64 are kept.
    pub fn next_warning(&mut self) -> Option<(Time, String)> {
        self.warnings.pop_front()
    }

    /// Takes a port of that name, as an `S`. All ports are attached before the first edge.
    ///
    /// # Errors
    /// [`PartnerError::NoPort`], [`PartnerError::Port`], or the platform refuses.
    pub fn attach<S: PinState>(&mut self, name: &str) -> Result<Handle<S>, PartnerError> {
        let ports = self.link.ports();
        let Some(index) = ports.iter().position(|port| port.name == name) else {
            let names: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
            return Err(PartnerError::NoPort { name: name.to_owned(), ports: names.join(", ") });
        };
        let port = ports[index].clone();
        if port.kind != S::KIND {
            let what =
                format!("it is a port of kind {:?}, and was to be one of kind {:?}", port.kind, S::KIND);
            return Err(PartnerError::Port { port: name.to_owned(), what });
        }
        let index = PortId(index as u16);
        self.link.attach(index, S::ROLE)?;
        if S::KIND == PortKind::Axi && S::ROLE == Role::Target {
            let range = port.base..port.base.saturating_add(port.size);
            let ram = Rc::new(Ram::within(range, self.budget.clone()));
            self.memories.push(OwnMemory { port: index, ram: ram.clone(), debug: ram });
        }
        let list = S::list(&mut self.ports);
        list.push(Attached::new(index, port.name, (port.width / 8) as usize));
        Ok(Handle::new(list.len() - 1))
    }

    /// The bytes of a memory that this side is. Loaders and debuggers of the platform read and write them, beside the pins.
    #[must_use]
    pub fn memory(&mut self, handle: Handle<Subordinate>) -> Option<Rc<Ram>> {
        let port = self.port(handle).ok()?.port;
        self.memories.iter().find(|memory| memory.port == port).map(|memory| memory.ram.clone())
    }

    /// Keeps the bytes of a memory that this side is elsewhere than in [`memory`](Partner::memory): loaders and debuggers of the
    /// platform reach them there, in the middle of [`seen`](Partner::seen).
    ///
    /// # Errors
    /// [`PartnerError::Refused`]: it is no port of this partner's.
    pub fn set_debug_target(
        &mut self,
        handle: Handle<Subordinate>,
        target: Rc<dyn DebugTarget>,
    ) -> Result<(), PartnerError> {
        let port = self.port(handle)?.port;
        if let Some(memory) = self.memories.iter_mut().find(|memory| memory.port == port) {
            memory.debug = target;
        }
        Ok(())
    }

    fn port<S: PinState>(&mut self, handle: Handle<S>) -> Result<&mut Attached<S>, PartnerError> {
        S::list(&mut self.ports).get_mut(handle.index).ok_or_else(not_attached)
    }

    /// The bytes that a port's data has.
    ///
    /// # Errors
    /// [`PartnerError::Refused`]: it is no port of this partner's.
    pub fn width<S: PinState>(&mut self, handle: Handle<S>) -> Result<usize, PartnerError> {
        self.port(handle).map(|port| port.width)
    }

    fn time_of(&self, edge: u64) -> Time {
        self.first + self.period * (edge - 1)
    }

    fn edges(&self, number: u64) -> Time {
        self.period * number
    }

    /// Returns true if this side is to be in reset from the edge whose pins were [given](Partner::seen) last to the next one, because the
    /// platform was put back. It says so for as many edges as a reset has; at the one behind them the pins count again.
    #[must_use]
    pub fn is_in_reset(&mut self, handle: impl Into<AnyHandle>) -> bool {
        handle.into().port(&mut self.ports).is_some_and(|port| port.is_in_reset())
    }

    /// The pins that this side drives at a port are like this at the next edge; or, where outputs depend on inputs of the same edge, at
    /// the edge whose pins were [given](Partner::seen).
    ///
    /// # Errors
    /// [`PartnerError::Pins`], or the platform is gone.
    pub fn sample<S: PinState>(&mut self, handle: Handle<S>, pins: &S::Driven) -> Result<(), PartnerError> {
        self.check()?;
        let result = self.sample_pins(handle, pins);
        self.end_on_error(result)
    }

    fn sample_pins<S: PinState>(&mut self, handle: Handle<S>, pins: &S::Driven) -> Result<(), PartnerError> {
        let is_same = self.is_same_edge();
        let attached = self.port(handle)?;
        let edge = attached.sampled + 1;
        if is_same != (attached.seen == edge) {
            let name = attached.name.clone();
            return Err(order(name));
        }
        attached.sampled = edge;
        let now = self.time_of(edge);
        let mut told = std::mem::take(&mut self.told_events);
        let attached = self.port(handle)?;
        match attached.reset_until {
            Some(until) if edge <= until => {}
            reset => {
                if reset.is_some() {
                    attached.reset_until = None;
                    told.push(PortEvent::Reset);
                }
                if let Err((channel, rule)) = attached.state.sample(now, pins, &mut told) {
                    return Err(broken(attached.name.clone(), channel, now, rule));
                }
            }
        }
        if is_same && attached.reset_until.is_none() {
            attached.state.finish(now);
        }
        if !told.is_empty() {
            let port = attached.port;
            let is_at_once = S::IS_ANSWERED_AT_ONCE;
            let quantum = u64::from(self.options.clock.quantum);
            let at = now + self.edges(quantum);
            let reaction = at + self.edges(quantum + u64::from(!is_at_once));
            for event in told.drain(..) {
                self.sent += 1;
                self.reactions.push_back(reaction);
                self.link.drive(port, at, event)?;
            }
        }
        self.told_events = told;
        Ok(())
    }

    /// Ends this partner for a rule that the pins of a port break at the edge at which they are to be sampled, and that whoever looks at them
    /// sees: `sample` has 0 and 1 only. Why it has ended.
    pub fn violate(&mut self, handle: impl Into<AnyHandle>, channel: &str, rule: &str) -> PartnerError {
        if let Some(ended) = &self.ended {
            return ended.clone();
        }
        let port =
            handle.into().port(&mut self.ports).map(|port| (port.name().to_owned(), port.sampled() + 1));
        let error = match port {
            Some((name, edge)) => broken(name, channel, self.time_of(edge), rule.to_owned()),
            None => not_attached(),
        };
        self.ended = Some(error.clone());
        error
    }

    /// The pins that the platform drives at a port, as they are seen at the next edge. Waits for the platform, if it must.
    ///
    /// # Errors
    /// The platform is gone, or breaks the contract of time.
    pub fn seen<S: PinState>(&mut self, handle: Handle<S>) -> Result<S::Observed, PartnerError> {
        self.check()?;
        let result = self.seen_pins(handle);
        self.end_on_error(result)
    }

    fn seen_pins<S: PinState>(&mut self, handle: Handle<S>) -> Result<S::Observed, PartnerError> {
        let is_same = self.is_same_edge();
        let attached = self.port(handle)?;
        let edge = attached.seen + 1;
        if attached.sampled != edge - u64::from(is_same) {
            return Err(order(attached.name.clone()));
        }
        attached.seen = edge;
        let now = self.time_of(edge);
        if self.edge < edge {
            self.settle(edge, now)?;
        }
        let attached = self.port(handle)?;
        if attached.reset_until.is_some_and(|until| edge <= until) {
            // What the platform drives behind its reset waits until hardware can take it.
            return Ok(S::Observed::default());
        }
        let seen = attached.state.seen(now);
        if !is_same {
            attached.state.finish(now);
        }
        Ok(seen)
    }

    fn is_same_edge(&self) -> bool {
        self.options.clock.reaction == Reaction::SameEdge
    }

    fn check(&self) -> Result<(), PartnerError> {
        self.ended.clone().map_or(Ok(()), Err)
    }

    fn end_on_error<T>(&mut self, result: Result<T, PartnerError>) -> Result<T, PartnerError> {
        if let Err(error) = &result {
            self.ended = Some(error.clone());
        }
        result
    }

    /// The edge before which the platform drives nothing more to be seen.
    fn horizon(&self) -> Time {
        // Each is later than those before it, or at the same edge.
        self.reactions.iter().copied().min().unwrap_or(Time::MAX).min(self.next)
    }

    /// Waits until all is there that is seen at an edge.
    fn settle(&mut self, edge: u64, now: Time) -> Result<(), PartnerError> {
        if self.horizon() <= now || edge - self.spoke >= EDGES_IN_SILENCE {
            let is_same = self.is_same_edge();
            let is_late = |port: &dyn AnyPort| port.sampled() < edge - u64::from(is_same);
            if let Some(late) = self.ports.all().find(|port| is_late(*port)) {
                return Err(order(late.name().to_owned()));
            }
            self.speak(edge, now)?;
            let mut wait = self.horizon() <= now;
            loop {
                self.link.receive(wait, &mut self.inbox)?;
                self.hear()?;
                wait = self.horizon() <= now;
                if !wait {
                    break;
                }
                // What has come may be all that was waited for on the other side, too.
                self.speak(edge, now)?;
            }
        }
        if self.due <= now {
            let reset_edges = self.options.reset_edges;
            self.due = Time::MAX;
            for port in self.ports.all() {
                if let Err(what) = port.see(now, edge, reset_edges) {
                    return Err(PartnerError::Platform { port: port.name().to_owned(), time: now, what });
                }
                self.due = self.due.min(port.due());
            }
        }
        self.edge = edge;
        Ok(())
    }

    /// Promises that nothing more is driven here before what follows the edge.
    fn speak(&mut self, edge: u64, now: Time) -> Result<(), PartnerError> {
        self.spoke = edge;
        let quantum = u64::from(self.options.clock.quantum);
        let ahead = quantum + u64::from(!self.is_same_edge());
        let promise = Promise { heard: self.heard, next: now + self.edges(ahead) };
        if promise != self.told {
            self.told = promise;
            self.link.promise(promise)?;
        }
        Ok(())
    }

    fn hear(&mut self) -> Result<(), PartnerError> {
        while let Some(told) = self.inbox.pop_front() {
            match told {
                FromPlatform::Driven { port, at, event } => {
                    let horizon = self.horizon();
                    self.heard += 1;
                    let Some(attached) = self.ports.all().find(|attached| attached.port() == port) else {
                        continue;
                    };
                    if at < horizon {
                        let what = format!("{event:?}, having promised nothing before {horizon}");
                        return Err(PartnerError::Platform {
                            port: attached.name().to_owned(),
                            time: at,
                            what,
                        });
                    }
                    attached.push(at, event);
                    if attached.pending() > MOST_PENDING {
                        let what = format!("more than {MOST_PENDING} events that are not seen yet");
                        return Err(PartnerError::Platform {
                            port: attached.name().to_owned(),
                            time: at,
                            what,
                        });
                    }
                    self.due = self.due.min(at);
                }
                FromPlatform::Promised(Promise { heard, next }) => {
                    self.next = next;
                    let open = self.sent.saturating_sub(heard) as usize;
                    while self.reactions.len() > open {
                        self.reactions.pop_front();
                    }
                }
                FromPlatform::Debug { request, port, address, access } => {
                    let result = self.access(port, address, access);
                    self.link.answer(request, result)?;
                }
                FromPlatform::Warning(time, text) => {
                    if self.warnings.len() == MOST_WARNINGS {
                        self.warnings.pop_front();
                    }
                    self.warnings.push_back((time, text));
                }
            }
        }
        Ok(())
    }

    /// Carries out an access beside the pins.
    fn access(&self, port: PortId, address: u64, access: DebugAccess) -> Result<Bytes, String> {
        let memory = self.memories.iter().find(|memory| memory.port == port);
        let target = &memory.ok_or("this partner is no memory")?.debug;
        match access {
            DebugAccess::Read(length) => {
                let mut bytes = vec![0; length as usize];
                target.debug_read(address, &mut bytes)?;
                Ok(bytes.into())
            }
            DebugAccess::Write(data, strobes) => {
                let is_written = |at: usize| {
                    strobes.as_ref().is_none_or(|strobes| {
                        strobes.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1)
                    })
                };
                let mut at = 0;
                while at < data.len() {
                    let run = (at..data.len()).take_while(|&at| is_written(at)).count();
                    let to = address.wrapping_add(at as u64);
                    target.debug_write(to, &data[at..at + run])?;
                    at += run + 1;
                }
                Ok(Bytes::new())
            }
        }
    }
}

/// A rule that the pins of this side break.
fn broken(port: String, channel: &str, time: Time, rule: String) -> PartnerError {
    PartnerError::Pins { port, channel: channel.to_owned(), time, rule }
}

fn not_attached() -> PartnerError {
    PartnerError::Refused("a port that this partner has not attached".to_owned())
}

/// A port whose pins were not taken and given in turn.
fn order(port: String) -> PartnerError {
    let what = "its pins have to be sampled and given once an edge, those of all ports before the next edge";
    PartnerError::Port { port, what: what.to_owned() }
}
