//! The packets of a file, in the order of their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write as _};

use prost::Message as _;
use vp_core::Time;

use super::proto::{
    CounterDescriptor, Data, DebugAnnotation, EventType, INCREMENTAL_STATE_CLEARED, Ordering, TracePacket,
    TrackDescriptor, TrackEvent,
};
use crate::WholeFile;

/// `packet` of a `Trace`: field 1, with a length.
const PACKET: u8 = 1 << 3 | 2;
/// The one sequence.
const SEQUENCE: u32 = 1;
/// Bytes that are written at once.
const BLOCK: usize = 1 << 18;

/// A track, by its number.
pub(super) type Track = u64;

/// Writes packets. Some are known late only: those up to a while ago wait for them.
pub(super) struct Packets {
    file: WholeFile,
    block: Vec<u8>,
    /// By time, and within one time in the order of the reports.
    waiting: BinaryHeap<Reverse<(Time, u64, Vec<u8>)>>,
    number: u64,
    tracks: u64,
}

impl Packets {
    pub(super) fn new(file: WholeFile) -> Packets {
        let (block, waiting) = (Vec::with_capacity(BLOCK), BinaryHeap::new());
        Packets { file, block, waiting, number: 0, tracks: 0 }
    }

    /// A new track below another.
    pub(super) fn track(&mut self, name: &str, parent: Option<Track>) -> io::Result<Track> {
        self.described(name, parent, None, None)
    }

    /// Adds a track as [`track`](Packets::track) does, for numbers of a unit.
    pub(super) fn counter(&mut self, name: &str, unit: &str, parent: Track) -> io::Result<Track> {
        let counter = CounterDescriptor { unit_name: Some(unit.to_owned()) };
        self.described(name, Some(parent), Some(counter), None)
    }

    /// Adds a track as [`track`](Packets::track) does, below which tracks stand in the order of their numbers.
    pub(super) fn group(&mut self, name: &str, parent: Option<Track>) -> io::Result<Track> {
        self.described(name, parent, None, Some(Ordering::Explicit.into()))
    }

    fn described(
        &mut self,
        name: &str,
        parent_uuid: Option<Track>,
        counter: Option<CounterDescriptor>,
        child_ordering: Option<i32>,
    ) -> io::Result<Track> {
        self.tracks += 1;
        let descriptor = TrackDescriptor {
            uuid: Some(self.tracks),
            name: Some(name.to_owned()),
            parent_uuid,
            counter,
            child_ordering,
            sibling_order_rank: Some(self.tracks as i32),
        };
        let is_first = self.tracks == 1;
        self.write(&packet(None, Data::TrackDescriptor(descriptor), is_first))?;
        Ok(self.tracks)
    }

    /// Something happens on a track.
    pub(super) fn event(&mut self, time: Time, event: TrackEvent) {
        self.number += 1;
        let packet = packet(Some(time), Data::TrackEvent(event), false);
        self.waiting.push(Reverse((time, self.number, packet)));
    }

    /// A counter has a value from then on.
    pub(super) fn count(&mut self, time: Time, track: Track, value: i64) {
        let counter_value = Some(value);
        self.event(time, TrackEvent { counter_value, ..event(track, EventType::Counter) });
    }

    /// A slice ends. Its annotations are written here.
    pub(super) fn end(&mut self, time: Time, track: Track, debug_annotations: Vec<DebugAnnotation>) {
        self.event(time, TrackEvent { debug_annotations, ..event(track, EventType::SliceEnd) });
    }

    /// Nothing earlier than `until` comes any more.
    pub(super) fn complete_until(&mut self, until: Time) -> io::Result<()> {
        while let Some(Reverse((time, ..))) = self.waiting.peek()
            && *time < until
        {
            let Some(Reverse((_, _, packet))) = self.waiting.pop() else { break };
            self.write(&packet)?;
        }
        Ok(())
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<()> {
        self.block.extend_from_slice(packet);
        if self.block.len() >= BLOCK {
            self.file.write_all(&self.block)?;
            self.block.clear();
        }
        Ok(())
    }

    /// Ends the file, and gives it its name.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.complete_until(Time::MAX)?;
        self.file.write_all(&self.block)?;
        self.file.keep()
    }
}

/// A packet as it stands in the file.
fn packet(time: Option<Time>, data: Data, is_first: bool) -> Vec<u8> {
    let packet = TracePacket {
        timestamp: time.map(|time| time.as_ps() / 1000),
        trusted_packet_sequence_id: Some(SEQUENCE),
        sequence_flags: is_first.then_some(INCREMENTAL_STATE_CLEARED),
        data: Some(data),
    };
    let mut bytes = vec![PACKET];
    // There is always room in a vector.
    let _ = packet.encode_length_delimited(&mut bytes);
    bytes
}

/// An event of a kind on a track.
pub(super) fn event(track: Track, kind: EventType) -> TrackEvent {
    TrackEvent { r#type: Some(kind.into()), track_uuid: Some(track), ..TrackEvent::default() }
}

/// The beginning of a slice.
pub(super) fn begin(track: Track, name: &str, flow_ids: Vec<u64>) -> TrackEvent {
    TrackEvent { name: Some(name.to_owned()), flow_ids, ..event(track, EventType::SliceBegin) }
}

/// A number beside an event.
pub(super) fn number(name: &str, value: u64) -> DebugAnnotation {
    DebugAnnotation { name: Some(name.to_owned()), uint_value: Some(value), string_value: None }
}

/// A text beside an event.
pub(super) fn text(name: &str, value: &str) -> DebugAnnotation {
    DebugAnnotation { name: Some(name.to_owned()), uint_value: None, string_value: Some(value.to_owned()) }
}
