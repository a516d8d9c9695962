//! Times when nothing moves although there is work, and what is waited for then.
//!
//! As in [`vp_host::Bounds`]: a time at which no datapath is at work and no data moves is attributed to
//! what is outstanding, reads before writes. A time without any layer is attributed to the driver.

use vp_core::Time;
use vp_core::observe::Transfer;
use vp_models::occupancy::{Datapath, Spans};
use vp_models::platform::{Platform, PortActivity};

/// Reason for which nothing moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    ReadLatency,
    Write,
    Driver,
}

impl Reason {
    pub(super) const ALL: [Reason; 3] = [Reason::ReadLatency, Reason::Write, Reason::Driver];

    pub(super) fn name(self) -> &'static str {
        match self {
            Reason::ReadLatency => "read latency",
            Reason::Write => "write",
            Reason::Driver => "driver",
        }
    }
}

/// Activity of units and memory interfaces that has not been looked at.
pub(super) struct Stalls {
    ports: Vec<(u32, PortActivity)>,
    datapaths: [Spans; Datapath::ALL.len()],
    /// Times at which there were layers.
    layers: Spans,
    /// Layers that have not ended, and since when there are any.
    open: u64,
    since: Time,
    /// Time up to which it was looked at.
    until: Time,
}

impl Stalls {
    pub(super) fn new(platform: &Platform) -> Stalls {
        let ports = platform.memories().iter().map(|memory| {
            let interconnect = memory.interconnect();
            let source = interconnect.source();
            (source.index() as u32, PortActivity::new(memory.name(), source, interconnect.config()))
        });
        Stalls {
            ports: ports.collect(),
            datapaths: Default::default(),
            layers: Spans::default(),
            open: 0,
            since: Time::ZERO,
            until: platform.simulation().now(),
        }
    }

    pub(super) fn transfer(&self, source: u32, time: Time, transfer: &Transfer) {
        let port = self.ports.iter().find(|(of, _)| *of == source);
        port.iter().for_each(|(_, port)| port.see(time, transfer));
    }

    pub(super) fn busy(&mut self, datapath: usize, from: Time, until: Time) {
        if let Some(spans) = self.datapaths.get_mut(datapath) {
            spans.add(from, until);
        }
    }

    pub(super) fn layer_begins(&mut self, time: Time) {
        if self.open == 0 {
            self.since = time;
        }
        self.open += 1;
    }

    pub(super) fn layer_ends(&mut self, time: Time) {
        self.open = self.open.saturating_sub(1);
        if self.open == 0 {
            self.layers.add(self.since, time);
        }
    }

    /// The platform was reset: nothing is under way.
    pub(super) fn reset(&mut self, time: Time) {
        self.ports.iter().for_each(|(_, port)| port.restart());
        self.datapaths = Default::default();
        self.open = self.open.min(1);
        self.layer_ends(time);
    }

    /// Time up to which it was looked at.
    pub(super) fn looked_at_until(&self) -> Time {
        self.until
    }

    /// The spans since the last look, up to `until`, in which each of [`Reason::ALL`] was what was waited for; and how long the array
    /// was at work.
    pub(super) fn take(&mut self, until: Time) -> ([Spans; 3], Time) {
        if self.open > 0 && self.since < until {
            self.layers.add(self.since, until);
            self.since = until;
        }
        let whole = Spans::from(self.until..until);
        self.until = until;
        let [mut moving, mut reading, mut writing] = [(); 3].map(|()| Spans::default());
        for (_, port) in &self.ports {
            let [reads, writes] = port.take(until);
            moving = moving.joined(&reads.moving).joined(&writes.moving);
            reading = reading.joined(&reads.pending);
            writing = writing.joined(&writes.pending);
        }
        let at_work = self.datapaths.iter().fold(moving, |all, spans| all.joined(spans));
        let array = whole.split(&self.datapaths[Datapath::Array as usize]).0.length();
        let (_, rest) = whole.split(&at_work);
        let (read_latency, rest) = rest.split(&reading);
        let (write, rest) = rest.split(&writing);
        let (_, driver) = rest.split(&self.layers);
        self.datapaths.iter_mut().for_each(|spans| spans.forget(until));
        self.layers.forget(until);
        ([read_latency, write, driver], array)
    }
}
