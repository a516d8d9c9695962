//! The egress: beats on their way from R to the clients (RTL, `NV_NVDLA_NOCIF_DRAM_READ_eg.v`, `NV_NVDLA_MCIF_READ_eg.v`).
//!
//! ```text
//! R → pipe: 2 beats, in order → FIFO of each client: 4 beats → arbiter, one beat a cycle → what the client has behind it
//! ```
//!
//! A client asks the arbiter while what it has behind it takes a beat (`ro*_wr_rdy`), so it holds up nobody there; but its full FIFO holds up
//! the pipe, and with it R. The arbiter stays with a client as long as that asks (`wt*`, 255), so after R has stood still a client's beats may
//! wait for many of another's. When a beat is granted then depends on beats that come to R after it.
//!
//! While nothing waits a beat takes a cycle for each of the two places, and [`Egress::pass`] is all that is done for it. Else a beat waits here
//! until it is known what can come before its turn: of the reads that are not asked for yet nothing is on R sooner than the memory's latency.

use crate::bus::axi::read_client::ReadClient;
use crate::bus::axi::turn::{Clients, WeightedRoundRobin};
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::Time;

/// Cycles from R to a client's turn, if nothing waits.
pub(super) const CYCLES: u64 = 2;

/// Beats in a client's FIFO (`lat_fifo`), at most.
const FIFO: usize = 4;

/// Beats in a row that a client is granted, at most (`wt*`).
const WEIGHT: u32 = 255;

/// A beat that has moved on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// The next beat for R is there at `at`.
    OnBus { beat: Beat, at: Time },
    /// A beat is handed to its client at `at`.
    Granted { beat: Beat, at: Time },
}

/// A beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beat {
    /// Number of its client.
    pub(super) client: usize,
    /// Number of its read, if that is known by one.
    pub(super) read: Option<u64>,
    pub(super) bytes: u32,
}

/// FIFO of a client.
#[derive(Default)]
struct Fifo {
    /// Beats in it, with the times from which on they can be granted.
    beats: VecDeque<(Time, Beat)>,
    /// Times at which the last beats were granted, the newest first.
    granted: [Time; FIFO],
}

/// The places between R and the clients of an interface.
pub(super) struct Egress {
    period: Time,
    /// Beats that are not on R, with the times from which on they can be.
    waiting: VecDeque<(Time, Beat)>,
    /// FIFOs of the clients, by number.
    fifos: Vec<Fifo>,
    /// Clients whose FIFOs have beats.
    held: Clients,
    /// Time at which the last beat was on R.
    on_bus: Time,
    /// Times at which the last two beats left the pipe, the newest first.
    left_pipe: [Time; 2],
    turn: WeightedRoundRobin,
    granted: Time,
}

impl Egress {
    pub(super) fn new(period: Time) -> Egress {
        Egress {
            period,
            waiting: VecDeque::new(),
            fifos: Vec::new(),
            held: 0,
            on_bus: Time::ZERO,
            left_pipe: [Time::ZERO; 2],
            turn: WeightedRoundRobin::default(),
            granted: Time::ZERO,
        }
    }

    /// Returns true if no beat waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.held == 0 && self.waiting.is_empty()
    }

    /// Returns true if beats wait for R: when it is free is not known.
    #[inline]
    pub(super) fn holds_bus(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns true if a beat that is on R at `at` waits for no other.
    #[inline]
    pub(super) fn is_free(&self, at: Time) -> bool {
        self.is_empty() && self.granted < at + self.period * CYCLES
    }

    /// Passes beats of a client on of which none waits, and of which the last is on R at `last`.
    #[inline]
    pub(super) fn pass(&mut self, client: usize, last: Time) {
        self.granted = last + self.period * CYCLES;
        _ = self.turn.next(1 << client, |_| WEIGHT);
    }

    /// Adds a beat that can be on R from `from` on, behind all others.
    pub(super) fn push(&mut self, beat: Beat, from: Time) {
        if self.fifos.len() <= beat.client {
            self.fifos.resize_with(beat.client + 1, Fifo::default);
        }
        self.waiting.push_back((from, beat));
    }

    /// Returns what moves next, if it is known while nothing else comes to R before `horizon`.
    pub(super) fn next(&mut self, horizon: Time, clients: &[Rc<ReadClient>]) -> Option<Moved> {
        if let Some(&(from, beat)) = self.waiting.front()
            && self.fifos[beat.client].beats.len() < FIFO
        {
            self.waiting.pop_front();
            return Some(Moved::OnBus { beat, at: self.enter(beat, from) });
        }
        let (at, requesting) = self.next_grant(clients)?;
        if at >= self.known_until(horizon) {
            return None;
        }
        let client = self.turn.next(requesting, |_| WEIGHT)?;
        let fifo = &mut self.fifos[client];
        let (_, beat) = fifo.beats.pop_front()?;
        fifo.granted.rotate_right(1);
        fifo.granted[0] = at;
        if fifo.beats.is_empty() {
            self.held &= !(1 << client);
        }
        self.granted = at;
        Some(Moved::Granted { beat, at })
    }

    /// Puts a beat on R, and through the pipe into its client's FIFO, which has room once a beat has left it; returns when it is on R.
    fn enter(&mut self, beat: Beat, from: Time) -> Time {
        let (period, fifo) = (self.period, &mut self.fifos[beat.client]);
        let at = from.max(self.on_bus + period).max(self.left_pipe[1] + period);
        let room = fifo.granted[FIFO - 1 - fifo.beats.len()] + period;
        let left = (at.max(self.left_pipe[0]) + period).max(room);
        fifo.beats.push_back((left + period, beat));
        (self.on_bus, self.left_pipe) = (at, [left, self.left_pipe[0]]);
        self.held |= 1 << beat.client;
        at
    }

    /// Returns when the next beat is granted, and the clients that ask then.
    fn next_grant(&self, clients: &[Rc<ReadClient>]) -> Option<(Time, Clients)> {
        let (mut left, mut first, mut asking) = (self.held, Time::MAX, 0);
        while left != 0 {
            let client = left.trailing_zeros() as usize;
            left &= left - 1;
            let (from, _) = *self.fifos[client].beats.front()?;
            let at = clients[client].takes_at(from.max(self.granted + self.period));
            if at <= first {
                asking = 1 << client | if at < first { 0 } else { asking };
                first = at;
            }
        }
        (asking != 0).then_some((first, asking))
    }

    /// Time before which no beat can ask of which nothing is known. One that waits for R asks after another of its client was granted.
    fn known_until(&self, horizon: Time) -> Time {
        match self.holds_bus() {
            true => Time::MAX,
            false => horizon.max(self.on_bus + self.period) + self.period * CYCLES,
        }
    }

    /// Returns the time from which on the next step is known, if what comes to R comes `ahead` of time and later.
    pub(super) fn due(&self, ahead: Time, clients: &[Rc<ReadClient>]) -> Time {
        let Some((at, _)) = self.next_grant(clients) else { return Time::MAX };
        at.since((ahead + self.period * (CYCLES - 1)).min(at))
    }

    /// Returns the time from which on the next beat can be on R, if none waits for it.
    pub(super) fn bus_free(&self) -> Time {
        (self.on_bus + self.period).max(self.left_pipe[1] + self.period)
    }
}

impl Egress {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        at.at_rest(self.is_empty(), "reads are in flight")?;
        // Times of grants and on R are past.
        let Egress { period: _, waiting: _, fifos: _, held: _, on_bus: _, left_pipe: _, turn, granted: _ } =
            self;
        turn.checkpoint(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::axi::IntakeStage;
    use crate::bus::axi::intake::Intake;
    use crate::bus::axi::intake::tests::Slow;
    use crate::bus::axi::interconnect::tests::config;
    use crate::bus::axi::read_client::ReadKind;
    use proptest::prelude::*;
    use std::cell::Cell;
    use vp_core::Simulation;

    const CYCLE: Time = Time::ns(1);

    /// Clients that take a beat every so many cycles, through a place for one; with 0 at once.
    fn clients(pauses: &[u64]) -> Vec<Rc<ReadClient>> {
        let simulation = Simulation::new();
        let client = |&pause: &u64| {
            let places: &[IntakeStage] = if pause > 0 { &[IntakeStage::Fifo(1)] } else { &[] };
            let mut intake = Intake::new(CYCLE, None, places);
            intake.set_taker(Some(Rc::new(Slow { pause, free: Cell::default() })));
            let [done, arrived] = ["done", "arrived"].map(|name| simulation.sim().event(name));
            Rc::new(ReadClient::new("client", 0, &config(1), arrived, ReadKind::direct(done, intake)))
        };
        pauses.iter().map(client).collect()
    }

    /// Beat as it was on R and was granted: its client, and the cycles.
    type Passed = (usize, u64, u64);

    /// Passes beats, each the client and the cycle from which on it can be on R, of which is known what can come `ahead` cycles later.
    fn passed(pauses: &[u64], beats: &[(usize, u64)], ahead: u64) -> Vec<Passed> {
        let (clients, mut egress) = (clients(pauses), Egress::new(CYCLE));
        let mut beats = beats.iter().copied().peekable();
        let (mut clients_on_bus, mut on_bus, mut granted) = (VecDeque::new(), Vec::new(), Vec::new());
        for now in 0.. {
            while let Some((client, from)) = beats.next_if(|(_, from)| *from <= now + ahead) {
                clients_on_bus.push_back(client);
                egress.push(Beat { client, read: None, bytes: 1 }, CYCLE * from);
            }
            while let Some(moved) = egress.next(CYCLE * (now + ahead), &clients) {
                match moved {
                    Moved::OnBus { at, .. } => {
                        on_bus.push((clients_on_bus.pop_front().unwrap(), at.cycles(CYCLE)));
                    }
                    Moved::Granted { beat: Beat { client, bytes, .. }, at } => {
                        clients[client].take_beat(at, at, bytes);
                        granted.push((client, at.cycles(CYCLE)));
                    }
                }
            }
            assert!(egress.due(CYCLE * ahead, &clients) > CYCLE * now);
            if egress.is_empty() && beats.peek().is_none() {
                break;
            }
        }
        let grant = |(client, at)| {
            let place = granted.iter().position(|(of, _)| *of == client).unwrap();
            (client, at, granted.remove(place).1)
        };
        on_bus.into_iter().map(grant).collect()
    }

    /// Returns what [`passed`] does, cycle by cycle: what is in a place since an earlier cycle can leave it, and its room is there a cycle later.
    fn passed_by_cycles(pauses: &[u64], beats: &[(usize, u64)]) -> Vec<Passed> {
        let mut waiting: VecDeque<(usize, u64)> = beats.iter().copied().collect();
        let mut pipe: VecDeque<(usize, u64)> = VecDeque::new();
        let mut fifos: Vec<VecDeque<(usize, u64)>> = vec![VecDeque::new(); pauses.len()];
        // Cycle in which the place behind a FIFO is empty again, and that in which its consumer takes the next.
        let (mut empty, mut free) = (vec![0; pauses.len()], vec![0; pauses.len()]);
        let (mut turn, mut passed) = (WeightedRoundRobin::default(), Vec::<Passed>::new());
        for now in 0.. {
            let (in_pipe, in_fifos): (usize, Vec<usize>) =
                (pipe.len(), fifos.iter().map(VecDeque::len).collect());
            let asks = |client: &usize| {
                let has_beat = fifos[*client].front().is_some_and(|(_, since)| *since < now);
                has_beat && (pauses[*client] == 0 || empty[*client] <= now)
            };
            let asking = (0..pauses.len()).filter(asks).fold(0, |of, client| of | 1 << client);
            if let Some(client) = turn.next(asking, |_| WEIGHT) {
                let (beat, _) = fifos[client].pop_front().unwrap();
                passed[beat].2 = now;
                let taken = free[client].max(now + 1);
                (empty[client], free[client]) = (taken + 1, taken + pauses[client]);
            }
            if let Some(&(beat, since)) = pipe.front()
                && since < now
                && in_fifos[passed[beat].0] < FIFO
            {
                pipe.pop_front();
                fifos[passed[beat].0].push_back((beat, now));
            }
            if let Some(&(client, from)) = waiting.front()
                && from <= now
                && in_pipe < 2
            {
                waiting.pop_front();
                pipe.push_back((passed.len(), now));
                passed.push((client, now, 0));
            }
            if waiting.is_empty() && pipe.is_empty() && fifos.iter().all(VecDeque::is_empty) {
                break;
            }
        }
        passed
    }

    proptest! {
        #[test]
        fn beats_pass_as_they_do_cycle_by_cycle(
            pauses in prop::collection::vec(0u64..5, 1..4),
            beats in prop::collection::vec((0usize..3, prop_oneof![4 => Just(1u64), 1 => 2u64..20]), 1..80),
            ahead in 0u64..30,
        ) {
            let mut from = 0;
            let beats: Vec<(usize, u64)> = beats
                .into_iter()
                .map(|(client, gap)| {
                    from += gap;
                    (client % pauses.len(), from)
                })
                .collect();
            prop_assert_eq!(passed(&pauses, &beats, ahead), passed_by_cycles(&pauses, &beats));
        }
    }

    #[test]
    fn a_beat_waits_behind_those_of_a_client_that_has_been_slow() {
        // The first client takes a beat every third cycle, so its FIFO is full when the others come.
        let mut beats: Vec<(usize, u64)> = (1..9).map(|at| (0, at)).collect();
        beats.extend([(0, 9), (1, 10), (0, 11), (1, 12), (0, 13), (1, 14)]);
        let passed = passed(&[3, 0], &beats, 0);
        let second: Vec<Passed> = passed.into_iter().filter(|(client, ..)| *client == 1).collect();
        assert_eq!(second, [(1, 13, 18), (1, 17, 20), (1, 20, 24)]);
    }
}
