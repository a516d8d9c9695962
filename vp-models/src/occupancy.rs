//! Times at which the datapaths had work, and fill of the convolution buffer and of FIFOs: kept, or told, only while somebody asks for it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use vp_core::Time;

use crate::fifos::Fifos;

/// Spans of time that do not overlap, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans(VecDeque<(Time, Time)>);

impl Spans {
    /// Adds a span. It begins no earlier than those before did; what they cover already counts once.
    pub fn add(&mut self, from: Time, until: Time) {
        match self.0.back_mut() {
            Some((_, end)) if from <= *end => *end = until.max(*end),
            _ if from < until => self.0.push_back((from, until)),
            _ => {}
        }
    }

    /// Returns the length of all spans together.
    pub fn length(&self) -> Time {
        self.0.iter().fold(Time::ZERO, |sum, &(from, until)| sum + (until - from))
    }

    /// Returns the length of the parts of all spans that lie in another one.
    pub fn length_within(&self, span: &Range<Time>) -> Time {
        let inside = |&(from, until): &(Time, Time)| until.min(span.end).since(from.max(span.start));
        self.0.iter().map(inside).fold(Time::ZERO, |sum, length| sum + length)
    }

    /// Each of them, from one time to another.
    pub fn iter(&self) -> impl Iterator<Item = (Time, Time)> {
        self.0.iter().copied()
    }

    /// Returns the end of the last span that ends by then.
    pub fn last_end_by(&self, time: Time) -> Option<Time> {
        let ended = self.0.partition_point(|&(_, until)| until <= time);
        ended.checked_sub(1).map(|at| self.0[at].1)
    }

    /// Returns the beginning of the first span that begins from then on.
    pub fn first_from(&self, time: Time) -> Option<Time> {
        self.0.get(self.0.partition_point(|&(from, _)| from < time)).map(|&(from, _)| from)
    }

    /// Returns the end of the last span.
    pub fn end(&self) -> Option<Time> {
        self.0.back().map(|&(_, until)| until)
    }

    /// Returns true if there are no spans.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the beginning of the first span.
    pub fn start(&self) -> Option<Time> {
        self.0.front().map(|&(from, _)| from)
    }

    /// The part of these that lies in the other, and the rest.
    pub fn split(&self, other: &Spans) -> (Spans, Spans) {
        let (mut inside, mut outside) = (Spans::default(), Spans::default());
        let mut others = other.0.iter().copied().peekable();
        for &(mut from, until) in &self.0 {
            while from < until {
                match others.peek() {
                    Some(&(_, end)) if end <= from => {
                        others.next();
                    }
                    Some(&(start, end)) if start < until => {
                        if from < start {
                            outside.add(from, start);
                        }
                        let (start, end) = (start.max(from), end.min(until));
                        inside.add(start, end);
                        from = end;
                    }
                    _ => {
                        outside.add(from, until);
                        from = until;
                    }
                }
            }
        }
        (inside, outside)
    }

    /// Returns these spans and the other ones.
    #[must_use]
    pub fn joined(&self, other: &Spans) -> Spans {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => return other.clone(),
            (_, true) => return self.clone(),
            _ => {}
        }
        let mut joined = Spans::default();
        let (mut one, mut two) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let Some(&(from, until)) = match (one.peek(), two.peek()) {
            (Some(a), Some(b)) if b.0 < a.0 => two.next(),
            (Some(_), _) => one.next(),
            _ => two.next(),
        } {
            joined.add(from, until);
        }
        joined
    }

    /// Forgets what lies before.
    pub fn forget(&mut self, before: Time) {
        while let Some((from, until)) = self.0.front_mut() {
            if *until > before {
                *from = before.max(*from);
                return;
            }
            self.0.pop_front();
        }
    }
}

impl From<Range<Time>> for Spans {
    fn from(range: Range<Time>) -> Spans {
        let mut spans = Spans::default();
        spans.add(range.start, range.end);
        spans
    }
}

/// A datapath that has a pace of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datapath {
    /// The MAC array.
    Array,
    /// SDP.
    Sdp,
    /// PDP.
    Pdp,
    /// CDP.
    Cdp,
    /// RUBIK.
    Rubik,
}

impl Datapath {
    /// Number of datapaths.
    pub const COUNT: usize = 5;

    /// All of them.
    pub const ALL: [Datapath; Self::COUNT] = [Self::Array, Self::Sdp, Self::Pdp, Self::Cdp, Self::Rubik];
}

/// Kind of a device's work that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Bytes that CSC has read from the convolution buffer.
    BufferRead,
    /// Bytes that CDMA has been given room for in it.
    BufferWritten,
    /// Elements that went through SDP.
    Sdp,
    /// Elements that went into PDP.
    Pdp,
    /// Elements that went through CDP.
    Cdp,
    /// Bytes that went through RUBIK.
    Rubik,
}

impl Work {
    /// Number of kinds.
    pub const COUNT: usize = 6;

    /// All of them.
    pub const ALL: [Work; Work::COUNT] =
        [Work::BufferRead, Work::BufferWritten, Work::Sdp, Work::Pdp, Work::Cdp, Work::Rubik];

    /// As programs are told it, in names of columns and of values in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Work::BufferRead => "cbuf_read_bytes",
            Work::BufferWritten => "cbuf_written_bytes",
            Work::Sdp => "sdp_elements",
            Work::Pdp => "pdp_elements",
            Work::Cdp => "cdp_elements",
            Work::Rubik => "rubik_bytes",
        }
    }
}

/// Amount of each kind of work: in the order of [`Work::ALL`].
pub type WorkCounts = [u64; Work::COUNT];

/// Fill of the convolution buffer, room that is promised to reads under way included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferFill {
    /// Bytes of input.
    pub data: u64,
    /// Bytes of weights.
    pub weights: u64,
}

/// Listener that is told how full the buffer is, and from when on.
type OnBuffer = Box<dyn Fn(Time, BufferFill)>;

/// Listener that is told that a datapath has work from one time to another.
type OnBusy = Box<dyn Fn(Datapath, Time, Time)>;

/// Times at which each datapath had work, and listeners that are told of it, of the buffer and of FIFOs.
#[derive(Default)]
pub struct Occupancy {
    /// True if somebody wants to know when the datapaths have work.
    watched: Cell<bool>,
    /// True if that is kept.
    kept: Cell<bool>,
    busy: RefCell<[Spans; Datapath::COUNT]>,
    held: RefCell<[Spans; Datapath::COUNT]>,
    /// Listeners that are told when the datapaths have work.
    on_busy: RefCell<Vec<OnBusy>>,
    /// Amount of work done since the last look.
    work: [Cell<u64>; Work::COUNT],
    buffer_watched: Cell<bool>,
    on_buffer: RefCell<Vec<OnBuffer>>,
    fifos: Rc<Fifos>,
}

impl Occupancy {
    /// Keeps what it is told from now on.
    pub fn watch(&self) {
        self.watched.set(true);
        self.kept.set(true);
    }

    /// A datapath has work from one time to another. Each tells its own in order.
    #[inline]
    pub(crate) fn busy(&self, datapath: Datapath, from: Time, until: Time) {
        if self.watched.get() {
            self.take_busy(datapath, from, until);
        }
    }

    fn take_busy(&self, datapath: Datapath, from: Time, until: Time) {
        if self.kept.get() {
            self.busy.borrow_mut()[datapath as usize].add(from, until);
        }
        self.on_busy.borrow().iter().for_each(|told| told(datapath, from, until));
    }

    /// A datapath was done with something at one time, and waited up to another until the datapath behind it had room for that. Each tells
    /// its own in order.
    #[inline]
    pub(crate) fn held(&self, datapath: Datapath, from: Time, until: Time) {
        if from < until && self.kept.get() {
            self.held.borrow_mut()[datapath as usize].add(from, until);
        }
    }

    /// Counts so much work as done.
    #[inline]
    pub(crate) fn count(&self, work: Work, amount: u64) {
        let count = &self.work[work as usize];
        count.set(count.get() + amount);
    }

    /// Returns the amount of work done since the last call.
    pub fn take_work(&self) -> WorkCounts {
        Work::ALL.map(|work| self.work[work as usize].take())
    }

    /// Tells this, from now on, when a datapath has work: from one time to another, each of them its own in order.
    pub fn on_busy(&self, told: impl Fn(Datapath, Time, Time) + 'static) {
        self.on_busy.borrow_mut().push(Box::new(told));
        self.watched.set(true);
    }

    /// Tells this, from now on, whenever the buffer's fill changes.
    pub fn on_buffer(&self, told: impl Fn(Time, BufferFill) + 'static) {
        self.on_buffer.borrow_mut().push(Box::new(told));
        self.buffer_watched.set(true);
    }

    /// The buffer's fill has changed.
    #[inline]
    pub(crate) fn buffer(&self, now: impl FnOnce() -> (Time, BufferFill)) {
        if self.buffer_watched.get() {
            let (time, fill) = now();
            self.on_buffer.borrow().iter().for_each(|told| told(time, fill));
        }
    }

    /// The FIFOs of the device.
    pub fn fifos(&self) -> &Rc<Fifos> {
        &self.fifos
    }

    /// Begins anew, for a device that was reset; who watches goes on.
    pub fn restart(&self) {
        self.busy.take();
        self.held.take();
        self.take_work();
    }

    /// Returns the spans in which each of them had work.
    pub fn spans(&self) -> std::cell::Ref<'_, [Spans; Datapath::COUNT]> {
        self.busy.borrow()
    }

    /// Returns the spans in which each of them waited for room behind it.
    pub fn waits(&self) -> std::cell::Ref<'_, [Spans; Datapath::COUNT]> {
        self.held.borrow()
    }

    /// Forgets what lies before.
    pub fn forget(&self, before: Time) {
        for all in [&self.busy, &self.held] {
            all.borrow_mut().iter_mut().for_each(|spans| spans.forget(before));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spans(pairs: &[(u64, u64)]) -> Spans {
        let mut spans = Spans::default();
        pairs.iter().for_each(|&(from, until)| spans.add(Time::ns(from), Time::ns(until)));
        spans
    }

    #[test]
    fn spans_that_touch_are_one() {
        assert_eq!(spans(&[(1, 3), (3, 5), (4, 6), (8, 8), (9, 10)]), spans(&[(1, 6), (9, 10)]));
    }

    #[test]
    fn what_is_next_to_a_time_is_found() {
        let all = spans(&[(1, 3), (5, 9)]);
        let ends = [0, 2, 3, 8, 9, 20].map(|time| all.last_end_by(Time::ns(time)).map(Time::as_ps));
        assert_eq!(ends, [None, None, Some(3000), Some(3000), Some(9000), Some(9000)]);
        let begins = [0, 1, 2, 5, 6].map(|time| all.first_from(Time::ns(time)).map(Time::as_ps));
        assert_eq!(begins, [Some(1000), Some(1000), Some(5000), Some(5000), None]);
        assert_eq!((all.end(), Spans::default().end()), (Some(Time::ns(9)), None));
    }

    #[test]
    fn what_lies_before_is_forgotten() {
        let mut kept = spans(&[(1, 3), (5, 9), (10, 12)]);
        kept.forget(Time::ns(6));
        assert_eq!(kept, spans(&[(6, 9), (10, 12)]));
    }

    proptest! {
        #[test]
        fn a_split_covers_each_moment_once(
            one in prop::collection::vec((0u64..60, 1u64..6), 0..8),
            other in prop::collection::vec((0u64..60, 1u64..6), 0..8),
        ) {
            let ordered = |mut pairs: Vec<(u64, u64)>| {
                pairs.sort_unstable();
                pairs.into_iter().map(|(from, length)| (from, from + length)).collect::<Vec<_>>()
            };
            let (one, other) = (ordered(one), ordered(other));
            let (inside, outside) = spans(&one).split(&spans(&other));
            let (within, _) = spans(&one).split(&spans(&[(9, 40)]));
            prop_assert_eq!(spans(&one).length_within(&(Time::ns(9)..Time::ns(40))), within.length());
            for moment in 0..70 {
                let is_in = |spans: &Spans| {
                    spans.0.iter().any(|&(from, until)| from <= Time::ns(moment) && Time::ns(moment) < until)
                };
                let (a, b) = (is_in(&spans(&one)), is_in(&spans(&other)));
                prop_assert_eq!((is_in(&inside), is_in(&outside)), (a && b, a && !b));
            }
        }
    }
}
