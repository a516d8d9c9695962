//! Tracks of units with their layers, and of the memory traffic of each client.

use std::collections::BTreeMap;
use std::io;

use vp_core::Time;
use vp_models::nvdla::nocif::{read_id, write_id};

use super::packets::{Packets, Track, begin, number, text};
use crate::event::Layer;

/// A unit: a slice for each layer.
pub(super) struct Unit {
    name: String,
    parent: Track,
    /// Layers that overlap have a track each.
    lanes: Vec<Lane>,
    begun: u64,
}

struct Lane {
    track: Track,
    /// The layer that it has: its id and its flow.
    open: Option<(u64, u64)>,
}

impl Unit {
    pub(super) fn new(name: &str, parent: Track) -> Unit {
        Unit { name: name.to_owned(), parent, lanes: Vec::new(), begun: 0 }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The flow of the layer that began last and has not ended.
    pub(super) fn flow(&self) -> Option<u64> {
        self.lanes.iter().filter_map(|lane| lane.open).map(|(_, flow)| flow).max()
    }

    /// A layer begins; arrows of that number leave from it, and of the number after it.
    pub(super) fn begin(
        &mut self,
        (time, id, layer): (Time, u64, &Layer),
        flow: u64,
        packets: &mut Packets,
    ) -> io::Result<()> {
        let place = match self.lanes.iter().position(|lane| lane.open.is_none()) {
            Some(place) => place,
            None => {
                let track = packets.track(&self.name, Some(self.parent))?;
                self.lanes.push(Lane { track, open: None });
                self.lanes.len() - 1
            }
        };
        self.begun += 1;
        let lane = &mut self.lanes[place];
        lane.open = Some((id, flow));
        let mut event = begin(lane.track, layer.title(), vec![flow, flow + 1]);
        event.debug_annotations =
            vec![text("shape", &layer.shape), number("group", id), number("layer", self.begun)];
        packets.event(time, event);
        Ok(())
    }

    /// A layer has ended: gives its flow.
    pub(super) fn end(&mut self, time: Time, id: u64, packets: &mut Packets) -> Option<u64> {
        let of = |lane: &&mut Lane| lane.open.is_some_and(|(open, _)| open == id);
        let lane = self.lanes.iter_mut().find(of)?;
        packets.end(time, lane.track, Vec::new());
        lane.open.take().map(|(_, flow)| flow)
    }

    /// Ends all that is open.
    pub(super) fn reset(&mut self, time: Time, packets: &mut Packets) {
        for lane in &mut self.lanes {
            if lane.open.take().is_some() {
                packets.end(time, lane.track, Vec::new());
            }
        }
    }
}

/// Reads, or writes, of one client of a memory interface: a slice for as long as they go on without a pause.
pub(super) struct Client {
    track: Track,
    /// The units whose layers it works for.
    pub(super) units: &'static [&'static str],
    in_flight: u64,
    /// Time of the last burst that is over.
    last: Time,
    is_open: bool,
    bursts: u64,
    bytes: u64,
}

/// The clients of an interface, by direction and transaction id.
pub(super) type Clients = BTreeMap<(bool, u32), Client>;

/// The name of an NVDLA's client, and the units whose layers it works for.
fn nvdla_client(write: bool, id: u32) -> Option<(&'static str, &'static [&'static str])> {
    Some(match (write, id) {
        (false, read_id::BDMA) => ("BDMA reads", &["bdma"]),
        (false, read_id::SDP) => ("SDP_RDMA reads", &["sdp_rdma", "sdp"]),
        (false, read_id::PDP) => ("PDP_RDMA reads", &["pdp_rdma", "pdp"]),
        (false, read_id::CDP) => ("CDP_RDMA reads", &["cdp_rdma", "cdp"]),
        (false, read_id::RUBIK) => ("RUBIK reads", &["rbk"]),
        (false, read_id::SDP_BS) => ("SDP_RDMA reads BS", &["sdp_rdma", "sdp"]),
        (false, read_id::SDP_BN) => ("SDP_RDMA reads BN", &["sdp_rdma", "sdp"]),
        (false, read_id::SDP_EW) => ("SDP_RDMA reads EW", &["sdp_rdma", "sdp"]),
        (false, read_id::CDMA_DATA) => ("CDMA reads data", &["cdma"]),
        (false, read_id::CDMA_WEIGHT) => ("CDMA reads weights", &["cdma"]),
        (true, write_id::BDMA) => ("BDMA writes", &["bdma"]),
        (true, write_id::SDP) => ("SDP writes", &["sdp"]),
        (true, write_id::PDP) => ("PDP writes", &["pdp"]),
        (true, write_id::CDP) => ("CDP writes", &["cdp"]),
        (true, write_id::RUBIK) => ("RUBIK writes", &["rbk"]),
        _ => return None,
    })
}

impl Client {
    pub(super) fn new(
        (write, id): (bool, u32),
        is_nvdla: bool,
        parent: Track,
        packets: &mut Packets,
    ) -> io::Result<Client> {
        let does = if write { "writes" } else { "reads" };
        let known = nvdla_client(write, id).filter(|_| is_nvdla);
        let (name, units) = known
            .map_or_else(|| (format!("id {id} {does}"), &[][..]), |(name, units)| (name.to_owned(), units));
        let track = packets.track(&name, Some(parent))?;
        Ok(Client { track, units, in_flight: 0, last: Time::ZERO, is_open: false, bursts: 0, bytes: 0 })
    }

    /// A burst is asked for. Its slice begins with it, if there is a pause before; `flow` then says which layer it is for.
    pub(super) fn request(
        &mut self,
        (time, pause): (Time, Time),
        bytes: u32,
        flow: impl FnOnce(&[&str]) -> Option<u64>,
        packets: &mut Packets,
    ) {
        if self.is_open && self.in_flight == 0 && self.last + pause < time {
            self.close(self.last, packets);
        }
        if !self.is_open {
            self.is_open = true;
            let flows = flow(self.units).into_iter().collect();
            packets.event(time, begin(self.track, "DMA", flows));
        }
        self.in_flight += 1;
        self.bursts += 1;
        self.bytes += u64::from(bytes);
    }

    /// A burst is over.
    pub(super) fn response(&mut self, time: Time) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.last = time;
    }

    /// Ends the slice if there was no request for so long.
    pub(super) fn rest(&mut self, (time, pause): (Time, Time), packets: &mut Packets) {
        if self.is_open && self.in_flight == 0 && self.last + pause < time {
            self.close(self.last, packets);
        }
    }

    /// Ends the slice.
    pub(super) fn close(&mut self, time: Time, packets: &mut Packets) {
        if std::mem::take(&mut self.is_open) {
            self.in_flight = 0;
            let (bursts, bytes) = (std::mem::take(&mut self.bursts), std::mem::take(&mut self.bytes));
            packets.end(time, self.track, vec![number("bursts", bursts), number("bytes", bytes)]);
        }
    }
}
