//! The messages of Perfetto's trace format that a timeline uses, with their numbers.
//!
//! From `protos/perfetto/trace/` of Perfetto: `trace_packet.proto` and, below `track_event/`, `track_event.proto`,
//! `track_descriptor.proto`, `counter_descriptor.proto`, `debug_annotation.proto`.

use prost::{Enumeration, Message, Oneof};

/// A file. Written packet by packet: a field of a message may be written on its own.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// All of it.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// One packet of the trace.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// In nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// The writer of the packet.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// [`INCREMENTAL_STATE_CLEARED`] in the first.
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// Content of the packet.
    #[prost(oneof = "Data", tags = "11, 60")]
    pub data: Option<Data>,
}

/// Content of a packet.
#[derive(Clone, PartialEq, Oneof)]
pub enum Data {
    /// Something that happens on a track.
    #[prost(message, tag = "11")]
    TrackEvent(TrackEvent),
    /// A track.
    #[prost(message, tag = "60")]
    TrackDescriptor(TrackDescriptor),
}

/// Earlier incremental state is not valid any more.
pub const INCREMENTAL_STATE_CLEARED: u32 = 1;

/// A line of the timeline.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Number by which others name it.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Name of the track.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The one that it stands below.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// Descriptor of the track's values, where they are numbers.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    /// Order of the tracks below the track.
    #[prost(enumeration = "Ordering", optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// Rank of the track among its siblings: the lowest comes first.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// Order of the tracks below a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum Ordering {
    /// As the viewer likes.
    Unknown = 0,
    /// Order of the names.
    Lexicographic = 1,
    /// Order of their first events.
    Chronological = 2,
    /// Order of their ranks.
    Explicit = 3,
}

/// Description of the values of a track.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// Name of the unit, such as `bytes/s`.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}

/// Something that happens on a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// Kind of the event.
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Track of the event.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// Name of the event.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// A counter's value.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    /// Arrows that come here and go on.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// Arrows that end here.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
    /// Additional annotations.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum EventType {
    /// None.
    Unspecified = 0,
    /// A slice begins.
    SliceBegin = 1,
    /// The slice that began last ends.
    SliceEnd = 2,
    /// Something of no length.
    Instant = 3,
    /// A counter has a value.
    Counter = 4,
}

/// A name and a value beside an event.
#[derive(Clone, PartialEq, Message)]
pub struct DebugAnnotation {
    /// Name of the annotation.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
    /// Value, if it is a number.
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
    /// Value, if it is a text.
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
}
