//! First difference between the transactions of two runs.

use vp_core::Time;

use super::transactions::{Content, CutPoint, Stream, StreamKind, Streams, Transaction, TransferStep};
use crate::cli::sequences;

/// A run whose transactions are known.
pub(super) struct Recorded {
    pub(super) streams: Streams,
    /// True if the program came to its end.
    pub(super) has_ended: bool,
}

impl Recorded {
    /// The stream's transactions.
    fn of(&self, stream: &Stream) -> &[Transaction] {
        self.streams.get(stream).map_or(&[], Vec::as_slice)
    }

    /// Returns the time at which the interrupt line rose last.
    fn last_rise(&self) -> Option<Time> {
        let levels = self.streams.iter().filter(|(stream, _)| stream.kind == StreamKind::Level);
        let steps = levels.flat_map(|(_, levels)| levels).flat_map(|level| &level.steps);
        steps.filter(|step| step.content == Content::Level(true)).map(|step| step.at).max()
    }
}

/// The first place at which two runs differ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Difference<'a> {
    pub(super) stream: Stream,
    /// Number of the transaction in the stream, from 0.
    pub(super) index: usize,
    /// Number of the step in the transaction.
    pub(super) step: usize,
    pub(super) model: Option<&'a Transaction>,
    pub(super) outside: Option<&'a Transaction>,
}

impl Difference<'_> {
    fn steps(&self) -> [Option<&TransferStep>; 2] {
        [self.model, self.outside].map(|transaction| transaction?.steps.get(self.step))
    }

    /// Returns the time at which the difference is seen: in the run in which it comes first.
    pub(super) fn time(&self) -> Time {
        self.steps().into_iter().flatten().map(|step| step.at).min().unwrap_or(Time::MAX)
    }
}

/// The transaction of each run at one place of a stream, if it is there.
fn pairs<'a>(
    model: &'a Recorded,
    outside: &'a Recorded,
    stream: &Stream,
) -> impl Iterator<Item = (usize, Option<&'a Transaction>, Option<&'a Transaction>)> + use<'a> {
    let pairs = sequences::pairs(model.of(stream), outside.of(stream));
    pairs.enumerate().map(|(index, (model, outside))| (index, model, outside))
}

fn streams<'a>(model: &'a Recorded, outside: &'a Recorded) -> impl Iterator<Item = Stream> + use<'a> {
    let new = outside.streams.keys().filter(|stream| !model.streams.contains_key(stream));
    model.streams.keys().chain(new).copied()
}

/// Returns what [`pairs`] gives of all streams.
pub(super) fn pairs_of_all<'a>(
    model: &'a Recorded,
    outside: &'a Recorded,
) -> impl Iterator<Item = (Stream, usize, Option<&'a Transaction>, Option<&'a Transaction>)> + use<'a> {
    let all = |stream: Stream| {
        pairs(model, outside, &stream).map(move |(index, model, outside)| (stream, index, model, outside))
    };
    streams(model, outside).flat_map(all)
}

/// The first difference in what is transferred, whenever that is: of each stream the order and the contents. Of all streams the
/// difference that is seen first is the one that no other has caused.
///
/// What follows the last interrupt of both runs may be missing in one of them: the program has ended, and time stands.
pub(super) fn contents<'a>(model: &'a Recorded, outside: &'a Recorded) -> Option<Difference<'a>> {
    let both_ended = model.has_ended && outside.has_ended;
    let ends = [model, outside].map(|run| run.last_rise().filter(|_| both_ended).unwrap_or(Time::MAX));
    let first = |stream: Stream| {
        pairs(model, outside, &stream).find_map(|(index, model, outside)| {
            let step = differs([model, outside], ends)?;
            Some(Difference { stream, index, step, model, outside })
        })
    };
    streams(model, outside).filter_map(first).min_by_key(Difference::time)
}

/// The first step that differs.
fn differs(transactions: [Option<&Transaction>; 2], ends: [Time; 2]) -> Option<usize> {
    let [model, outside] = transactions.map(|it| it.map_or(&[][..], |it| it.steps.as_slice()));
    sequences::pairs(model, outside).position(|steps| match steps {
        (Some(model), Some(outside)) => model.content != outside.content,
        (Some(step), None) => step.at <= ends[0],
        (None, Some(step)) => step.at <= ends[1],
        (None, None) => false,
    })
}

/// Distance in time of transactions that are in both runs.
#[derive(Default)]
pub(super) struct Apart<'a> {
    /// The first that comes at another time.
    pub(super) first: Option<Difference<'a>>,
    /// Transactions of which a step comes at another time.
    pub(super) count: u64,
    /// The most that a step is earlier, or later.
    pub(super) most: Time,
}

/// Measures how far what is before the first difference in contents is apart in time.
pub(super) fn times<'a>(model: &'a Recorded, outside: &'a Recorded) -> Apart<'a> {
    let mut apart = Apart::default();
    for stream in streams(model, outside) {
        for (index, model, outside) in pairs(model, outside, &stream) {
            let (Some(one), Some(other)) = (model, outside) else { break };
            let mut steps = one.steps.iter().zip(&other.steps);
            if steps.clone().any(|(one, other)| one.content != other.content) {
                break;
            }
            let gap =
                |(one, other): (&TransferStep, &TransferStep)| one.at.max(other.at) - one.at.min(other.at);
            apart.most = steps.clone().map(gap).max().unwrap_or_default().max(apart.most);
            let Some(step) = steps.position(|(one, other)| one.at != other.at) else { continue };
            apart.count += 1;
            let found = Difference { stream, index, step, model, outside };
            if apart.first.is_none_or(|first| found.time() < first.time()) {
                apart.first = Some(found);
            }
        }
    }
    apart
}

/// The first place at which bursts of several ids come in another order: AXI has none between them.
pub(super) fn reordered(model: &Recorded, outside: &Recorded) -> Option<(CutPoint, usize)> {
    let order = |run: &Recorded, place: CutPoint, is_write: bool| {
        let of = |kind| match kind {
            StreamKind::Read(id) if !is_write => Some(id),
            StreamKind::Write(id) if is_write => Some(id),
            _ => None,
        };
        let streams = run.streams.iter().filter(|(stream, _)| stream.place == place);
        let streams = streams.filter_map(|(stream, bursts)| Some((of(stream.kind)?, bursts)));
        let mut all: Vec<(Time, u16)> =
            streams.flat_map(|(id, bursts)| bursts.iter().map(move |burst| (burst.start(), id))).collect();
        all.sort_unstable();
        all
    };
    let mut places: Vec<CutPoint> = model.streams.keys().map(|stream| stream.place).collect();
    places.dedup();
    places.into_iter().find_map(|place| {
        [false, true].into_iter().find_map(|is_write| {
            let (model, outside) = (order(model, place, is_write), order(outside, place, is_write));
            let index = model.iter().zip(&outside).position(|(one, other)| one.1 != other.1)?;
            Some((place, index))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: CutPoint = CutPoint { port: "dbb0", is_memory: false };

    fn read(at: u64, address: u64, byte: u8) -> Transaction {
        let beat = Content::Beat { data: vec![byte], strobes: 1, last: true, error: false };
        let step = |at, content| TransferStep { at: Time::ns(at), content };
        Transaction { steps: vec![step(at, Content::Address { address, beats: 1 }), step(at + 5, beat)] }
    }

    fn level(at: u64) -> (Stream, Vec<Transaction>) {
        let place = CutPoint { port: "irq0", is_memory: false };
        let step = TransferStep { at: Time::ns(at), content: Content::Level(true) };
        (Stream { place, kind: StreamKind::Level }, vec![Transaction { steps: vec![step] }])
    }

    fn run(bursts: &[(u16, Vec<Transaction>)], rise: u64) -> Recorded {
        let stream = |id: &u16| Stream { place: PLACE, kind: StreamKind::Read(*id) };
        let streams = bursts.iter().map(|(id, bursts)| (stream(id), bursts.clone())).chain([level(rise)]);
        Recorded { streams: streams.collect(), has_ended: true }
    }

    #[test]
    fn the_difference_that_is_seen_first_is_named_whatever_the_stream() {
        let model = run(&[(1, vec![read(10, 0, 1), read(30, 8, 2)]), (2, vec![read(20, 0, 3)])], 90);
        let outside = run(&[(1, vec![read(11, 0, 1), read(31, 16, 2)]), (2, vec![read(21, 0, 9)])], 95);
        let found = contents(&model, &outside).unwrap();
        assert_eq!((found.stream.kind, found.index, found.step), (StreamKind::Read(2), 0, 1));
        assert_eq!(found.time(), Time::ns(25));
        // Data of the first burst and its address came an edge later, as did the other's address.
        let apart = times(&model, &outside);
        assert_eq!((apart.count, apart.most), (2, Time::ns(5)));
        assert_eq!(apart.first.unwrap().time(), Time::ns(10));
    }

    #[test]
    fn what_is_missing_differs_unless_it_is_behind_the_end_of_the_program() {
        let model = run(&[(1, vec![read(10, 0, 1), read(30, 8, 2)])], 90);
        let less = run(&[(1, vec![read(10, 0, 1)])], 90);
        let found = contents(&model, &less).unwrap();
        assert!(found.outside.is_none() && found.index == 1 && found.step == 0);
        assert_eq!(contents(&less, &model).unwrap().time(), Time::ns(30));
        let late = run(&[(1, vec![read(10, 0, 1), read(91, 8, 2)])], 90);
        assert!(contents(&late, &less).is_none() && contents(&less, &late).is_none());
        let hung = Recorded { has_ended: false, ..less };
        assert!(contents(&late, &hung).is_some());
    }

    #[test]
    fn another_order_of_ids_is_no_difference_of_contents() {
        let model = run(&[(1, vec![read(10, 0, 1)]), (2, vec![read(11, 0, 1)])], 90);
        let outside = run(&[(1, vec![read(11, 0, 1)]), (2, vec![read(10, 0, 1)])], 90);
        assert!(contents(&model, &outside).is_none());
        assert_eq!(reordered(&model, &outside), Some((PLACE, 0)));
        assert_eq!(reordered(&model, &model), None);
    }
}
