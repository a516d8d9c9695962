//! Transactions at the ports of a part: what was driven there, edge by edge, put together again.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;

use vp_core::Time;
use vp_hub::{PinEvent, PortEvent, Role};
use vp_models::bus::axi::{AxiChannel, AxiEvent};
use vp_models::platform::{Port, PortKind};

use crate::cli::text::counted;

/// Place at which a platform is cut: one of its ports, and on which side of it the part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CutPoint {
    pub(super) port: &'static str,
    /// True if the part is the memory behind the port; else it is the device.
    pub(super) is_memory: bool,
}

/// Transactions that come one after the other: of different streams of a port each may be the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stream {
    pub(super) place: CutPoint,
    pub(super) kind: StreamKind,
}

/// Kind of what is transferred in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StreamKind {
    /// Accesses to registers.
    Access,
    /// Levels of an interrupt line.
    Level,
    /// Bursts of this id: AXI keeps their order, and no order between ids (IHI 0022, "Transaction ordering").
    Read(u16),
    Write(u16),
}

impl fmt::Display for StreamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamKind::Access => f.write_str("access"),
            StreamKind::Level => f.write_str("level"),
            StreamKind::Read(id) => write!(f, "read with id {id}"),
            StreamKind::Write(id) => write!(f, "write with id {id}"),
        }
    }
}

/// A part of a transaction that has come, and the edge at which it was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TransferStep {
    pub(super) at: Time,
    pub(super) content: Content,
}

/// Content that a step transfers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum Content {
    /// An access to a register: the word to be written, or `None` to read.
    Request { address: u32, write: Option<u32>, posted: bool },
    /// The value read; zero for a write.
    Answer(u32),
    /// The level of a line.
    Level(bool),
    /// AR or AW.
    Address { address: u64, beats: u16 },
    /// R or W.
    Beat { data: Vec<u8>, strobes: u64, last: bool, error: bool },
    /// B.
    Response { error: bool },
}

impl Content {
    /// Returns what an event transfers, if it does that.
    pub(in crate::cli) fn of(event: &PortEvent) -> Option<Content> {
        Some(match event {
            PortEvent::Axi(
                AxiEvent::ReadAddress { address, beats, .. } | AxiEvent::WriteAddress { address, beats, .. },
            ) => Content::Address { address: *address, beats: *beats },
            PortEvent::Axi(AxiEvent::ReadData { data, last, error, .. }) => {
                Content::Beat { data: data.to_vec(), strobes: u64::MAX, last: *last, error: *error }
            }
            PortEvent::Axi(AxiEvent::WriteData { data, strobes, last }) => {
                Content::Beat { data: data.to_vec(), strobes: *strobes, last: *last, error: false }
            }
            PortEvent::Axi(AxiEvent::WriteResponse { error, .. }) => Content::Response { error: *error },
            PortEvent::Register { address, write, posted } => {
                Content::Request { address: *address, write: *write, posted: *posted }
            }
            PortEvent::RegisterAnswer(value) => Content::Answer(*value),
            PortEvent::Level(level) => Content::Level(*level),
            PortEvent::Axi(AxiEvent::Ready { .. }) | PortEvent::RegisterReady(_) | PortEvent::Reset => {
                return None;
            }
        })
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::Request { address, write: None, .. } => write!(f, "reads {address:#06x}"),
            Content::Request { address, write: Some(value), posted } => {
                let how = if *posted { ", posted" } else { "" };
                write!(f, "writes {value:#010x} to {address:#06x}{how}")
            }
            Content::Answer(value) => write!(f, "answer {value:#010x}"),
            Content::Level(level) => f.write_str(if *level { "high" } else { "low" }),
            Content::Address { address, beats } => {
                write!(f, "{address:#x}, {}", counted(u64::from(*beats), "beat"))
            }
            Content::Beat { data, strobes, last, error } => {
                data.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                let all = u64::MAX >> (64 - data.len().clamp(1, 64));
                if strobes & all != all {
                    write!(f, ", strobes {:#x}", strobes & all)?;
                }
                f.write_str(if *last { ", last" } else { "" })?;
                f.write_str(if *error { ", error" } else { "" })
            }
            Content::Response { error } => f.write_str(if *error { "error" } else { "okay" }),
        }
    }
}

/// A transaction: its steps, as far as they have come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Transaction {
    pub(super) steps: Vec<TransferStep>,
}

impl Transaction {
    fn of(at: Time, content: Content) -> Transaction {
        Transaction { steps: vec![TransferStep { at, content }] }
    }

    fn push(&mut self, at: Time, content: Content) {
        self.steps.push(TransferStep { at, content });
    }

    /// Returns the time at which the transaction began.
    pub(super) fn start(&self) -> Time {
        self.steps.first().map_or(Time::ZERO, |step| step.at)
    }
}

/// All transactions of a run.
pub(super) type Streams = BTreeMap<Stream, Vec<Transaction>>;

/// A channel with a handshake: what was driven, and the receiver's ready.
struct Channel<T> {
    driven: Vec<(Time, T)>,
    ready: Vec<(Time, bool)>,
}

impl<T> Default for Channel<T> {
    fn default() -> Channel<T> {
        Channel { driven: Vec::new(), ready: Vec::new() }
    }
}

impl<T> Channel<T> {
    /// Returns what was taken, and when: at the first edge at which ready is high, one an edge, in order.
    fn taken(self, period: Time) -> impl Iterator<Item = (Time, T)> {
        let Channel { driven, ready } = self;
        let mut free = Time::ZERO;
        driven.into_iter().map_while(move |(at, transfer)| {
            let from = at.max(free);
            let later = ready.partition_point(|(since, _)| *since <= from);
            // Ready is high at the beginning.
            let is_ready = later.checked_sub(1).is_none_or(|last| ready[last].1);
            let edge = match is_ready {
                true => Some(from),
                false => ready[later..].iter().find(|(_, level)| *level).map(|(since, _)| *since),
            }?;
            free = edge + period;
            Some((edge, transfer))
        })
    }
}

/// Transfers that were driven at one place.
#[derive(Default)]
struct Driven {
    addresses: [Channel<(u16, Content)>; 2],
    read_data: Channel<(u16, Content)>,
    write_data: Channel<Content>,
    responses: Channel<(u16, Content)>,
    requests: Channel<Content>,
    answers: Vec<(Time, u32)>,
    levels: Vec<(Time, bool)>,
}

/// Puts together what was driven at these ports of a platform.
pub(super) fn of(events: Vec<PinEvent>, ports: &[Port], period: Time) -> Streams {
    let mut places: BTreeMap<CutPoint, Driven> = BTreeMap::new();
    for PinEvent { port, role, at, event } in events {
        let Some(&Port { name: port, kind, .. }) = ports.get(usize::from(port.0)) else { continue };
        let is_memory = role == Role::Target && kind == PortKind::Axi;
        places.entry(CutPoint { port, is_memory }).or_default().push(at, &event);
    }
    let mut streams = Streams::new();
    for (place, driven) in places {
        driven.into_streams(place, period, &mut streams);
    }
    streams
}

impl Driven {
    fn push(&mut self, at: Time, event: &PortEvent) {
        let [reads, writes] = &mut self.addresses;
        let Some(content) = Content::of(event) else { return self.push_ready(at, event) };
        match event {
            PortEvent::Axi(AxiEvent::ReadAddress { id, .. }) => reads.driven.push((at, (*id, content))),
            PortEvent::Axi(AxiEvent::WriteAddress { id, .. }) => writes.driven.push((at, (*id, content))),
            PortEvent::Axi(AxiEvent::ReadData { id, .. }) => self.read_data.driven.push((at, (*id, content))),
            PortEvent::Axi(AxiEvent::WriteResponse { id, .. }) => {
                self.responses.driven.push((at, (*id, content)));
            }
            PortEvent::Axi(_) => self.write_data.driven.push((at, content)),
            PortEvent::RegisterAnswer(value) => self.answers.push((at, *value)),
            PortEvent::Level(level) => self.levels.push((at, *level)),
            _ => self.requests.driven.push((at, content)),
        }
    }

    fn push_ready(&mut self, at: Time, event: &PortEvent) {
        let [reads, writes] = &mut self.addresses;
        match event {
            PortEvent::RegisterReady(ready) => self.requests.ready.push((at, *ready)),
            PortEvent::Axi(AxiEvent::Ready { channel, ready }) => {
                let readies = match channel {
                    AxiChannel::ReadAddress => &mut reads.ready,
                    AxiChannel::WriteAddress => &mut writes.ready,
                    AxiChannel::ReadData => &mut self.read_data.ready,
                    AxiChannel::WriteData => &mut self.write_data.ready,
                    AxiChannel::WriteResponse => &mut self.responses.ready,
                };
                readies.push((at, *ready));
            }
            // Nobody resets the platform of a program that runs once.
            _ => {}
        }
    }

    fn into_streams(self, place: CutPoint, period: Time, streams: &mut Streams) {
        let Driven {
            addresses: [reads, writes],
            read_data,
            write_data,
            responses,
            requests,
            answers,
            levels,
        } = self;
        let mut accesses: Vec<Transaction> =
            requests.taken(period).map(|(at, content)| Transaction::of(at, content)).collect();
        let is_answered = |access: &&mut Transaction| {
            !matches!(access.steps[0].content, Content::Request { posted: true, .. })
        };
        for (access, (at, value)) in accesses.iter_mut().filter(is_answered).zip(answers) {
            access.push(at, Content::Answer(value));
        }
        let levels =
            levels.into_iter().map(|(at, level)| Transaction::of(at, Content::Level(level))).collect();
        let mut put = |kind, transactions: Vec<Transaction>| {
            if !transactions.is_empty() {
                streams.insert(Stream { place, kind }, transactions);
            }
        };
        put(StreamKind::Access, accesses);
        put(StreamKind::Level, levels);
        let mut reads = Bursts::of(reads.taken(period));
        for (at, (id, content)) in read_data.taken(period) {
            reads.push(id, at, content, |_| true);
        }
        reads.into_ids().for_each(|(id, bursts)| put(StreamKind::Read(id), bursts));
        let mut writes = Bursts::of(writes.taken(period));
        // Data comes in the order of the addresses.
        let mut order: VecDeque<(usize, u16)> = writes.beats().collect();
        for (at, content) in write_data.taken(period) {
            let Some((burst, left)) = order.front_mut() else { break };
            writes.all[*burst].1.push(at, content);
            *left -= 1;
            if *left == 0 {
                order.pop_front();
            }
        }
        for (at, (id, content)) in responses.taken(period) {
            writes.push(id, at, content, |_| false);
        }
        writes.into_ids().for_each(|(id, bursts)| put(StreamKind::Write(id), bursts));
    }
}

/// Bursts in the order of their addresses.
struct Bursts {
    all: Vec<(u16, Transaction)>,
    /// Open transactions of each id, and steps that each is still to get.
    open: HashMap<u16, VecDeque<(usize, u16)>>,
}

impl Bursts {
    fn of(addresses: impl Iterator<Item = (Time, (u16, Content))>) -> Bursts {
        let mut bursts = Bursts { all: Vec::new(), open: HashMap::new() };
        for (at, (id, content)) in addresses {
            let beats = if let Content::Address { beats, .. } = content { beats } else { 0 };
            bursts.open.entry(id).or_default().push_back((bursts.all.len(), beats));
            bursts.all.push((id, Transaction::of(at, content)));
        }
        bursts
    }

    /// Beats of each.
    fn beats(&self) -> impl Iterator<Item = (usize, u16)> {
        let bursts = self.all.iter().enumerate();
        bursts.filter_map(|(index, (_, burst))| match burst.steps[0].content {
            Content::Address { beats: beats @ 1.., .. } => Some((index, beats)),
            _ => None,
        })
    }

    /// A step of the first open burst of an id; `is_beat`: one of as many as it has beats, or else its last.
    fn push(&mut self, id: u16, at: Time, content: Content, is_beat: impl Fn(&Content) -> bool) {
        let Some(open) = self.open.get_mut(&id) else { return };
        let Some((burst, left)) = open.front_mut() else { return };
        let burst = *burst;
        *left = if is_beat(&content) { left.saturating_sub(1) } else { 0 };
        if *left == 0 {
            open.pop_front();
        }
        self.all[burst].1.push(at, content);
    }

    fn into_ids(self) -> impl Iterator<Item = (u16, Vec<Transaction>)> {
        let mut ids: BTreeMap<u16, Vec<Transaction>> = BTreeMap::new();
        for (id, burst) in self.all {
            ids.entry(id).or_default().push(burst);
        }
        ids.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_hub::PortId;

    #[test]
    fn transfers_are_taken_one_an_edge_while_ready_is_high() {
        let ns = Time::ns;
        let driven = vec![(ns(3), 'a'), (ns(3), 'b'), (ns(9), 'c'), (ns(20), 'd')];
        let ready = vec![(ns(4), false), (ns(7), true), (ns(15), false)];
        let taken: Vec<_> = Channel { driven, ready }.taken(ns(1)).collect();
        assert_eq!(taken, [(ns(3), 'a'), (ns(7), 'b'), (ns(9), 'c')]);
    }

    #[test]
    fn data_and_responses_find_their_bursts() {
        let axi = |at, event| PinEvent {
            port: PortId(0),
            role: Role::Initiator,
            at: Time::ns(at),
            event: PortEvent::Axi(event),
        };
        let address = |id| AxiEvent::ReadAddress { id, address: u64::from(id) * 64, beats: 1 };
        let data =
            |id, byte: u8| AxiEvent::ReadData { id, data: vec![byte].into(), last: true, error: false };
        let beat = |byte: u8| AxiEvent::WriteData { data: vec![byte].into(), strobes: 1, last: true };
        let events = vec![
            axi(1, address(1)),
            axi(2, address(2)),
            axi(3, address(1)),
            axi(5, data(2, 20)),
            axi(6, data(1, 10)),
            axi(7, data(1, 11)),
            // Data of a write may come before its address.
            axi(8, beat(30)),
            axi(9, AxiEvent::WriteAddress { id: 7, address: 0, beats: 1 }),
            axi(11, AxiEvent::WriteResponse { id: 7, error: false }),
        ];
        let port = Port { name: "dbb0", kind: PortKind::Axi, base: 0, size: 64, width: 8 };
        let streams = of(events, &[port], Time::ns(1));
        let times = |kind| -> Vec<Vec<u64>> {
            let stream = Stream { place: CutPoint { port: "dbb0", is_memory: false }, kind };
            let of = |it: &Transaction| it.steps.iter().map(|step| step.at.as_ps() / 1_000).collect();
            streams[&stream].iter().map(of).collect()
        };
        assert_eq!(times(StreamKind::Read(1)), [[1, 6], [3, 7]]);
        assert_eq!(times(StreamKind::Read(2)), [[2, 5]]);
        assert_eq!(times(StreamKind::Write(7)), [[9, 8, 11]]);
    }
}
