//! From a latency FIFO to SDP's datapath: atoms are packed, written to several lanes at once, and leave through
//! one output register, each cycle those that belong to one atom of data (`NV_NVDLA_SDP_RDMA_unpack`,
//! `NV_NVDLA_SDP_RDMA_EG_ro`). [`Packing`] says how many are packed, how deep a lane is, and how many come in a
//! cycle.
//!
//! The packing decides when room in the latency FIFO comes back: in groups, not atom by atom. As seen on the
//! RTL: with 100 cycles of latency, credits return four at a time every four atoms.

use super::pipeline::Operator;
use crate::bus::Handoff;
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::nvdla::cube::Ram;
use crate::nvdla::dma::{Atom, MAX_ATOM, ReadDma};
use crate::nvdla::timing::Packing;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Event, Sim, Time};

/// Most atoms packed into one group, and lanes they are written to.
const MAX_LANES: usize = 4;

/// The atoms of one layer: how many lines of how many atoms; a group never crosses the end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) ram: Ram,
    pub(super) lines: u64,
    pub(super) atoms: u64,
    /// Atoms that are used together.
    pub(super) together: usize,
    /// Words of [`Shape::WORD`] elements that a set of them has, if they are operands.
    pub(super) words: usize,
    /// Besides them come as many that nobody takes: for so many atoms of data each.
    pub(super) untaken: Option<u64>,
    /// Operator whose operands leave their places later than the atom of data starts for which they are, if that shows.
    pub(super) leaves_later: Option<Operator>,
}

impl Shape {
    /// Elements of a word.
    pub(super) const WORD: usize = 16;

    /// Number of sets of atoms that are used together.
    pub(super) fn sets(&self) -> u64 {
        self.lines * self.atoms.div_ceil(self.together.max(1) as u64)
    }
}

/// Operands that nobody takes, of a read DMA that brings both and whose stage takes one of them: those stop these.
///
/// Both go through lanes, and a group is written to all of its lanes or to none (RTL, `NV_NVDLA_SDP_RDMA_eg`, `alu_rod_vld`,
/// `mul_rod_vld`). A lane holds one set of them, if the next comes later; behind are two registers, and where the same set is for several
/// atoms, a skid buffer, which holds the set once more (`NV_NVDLA_SDP_RDMA_EG_ro`, `NV_NVDLA_SDP_core`, `u_bs_alu_pack`).
struct PartialGroup {
    /// Sets that leave the lanes.
    leave: u64,
    /// Sets in front of the group that was written last, and its own.
    last: Option<(u64, u64)>,
}

impl PartialGroup {
    fn new(repeats: u64) -> PartialGroup {
        let behind = if repeats == 1 { 2 } else { 3 };
        PartialGroup { leave: behind / repeats.max(1), last: None }
    }

    /// Returns true if the lanes have room for the next group, of so many sets.
    fn has_room(&mut self, sets: u64) -> bool {
        let (before, last) = self.last.unwrap_or_default();
        self.last = Some((before + last, sets));
        self.leave >= before + last.min(sets)
    }
}

/// Words of operands behind the lanes of a multiplier that waits for data (seen on nvdlav1 at sdp_nrdma2dp_mul_ready).
const BEHIND_MULTIPLIER: usize = 2;

/// One operand of the datapath, as a queue of atoms.
pub(super) struct Feed {
    sim: Sim,
    cycle: Time,
    atom: usize,
    /// Atoms that come in a cycle.
    at_once: usize,
    /// Atoms of a lane, or words, and the words that the registers behind the lanes hold, if lanes are of words.
    depth: usize,
    words_behind: Option<usize>,
    dma: Rc<ReadDma>,
    layers: RefCell<VecDeque<Shape>>,
    layer_added: Event,
    lanes: Vec<Handoff<Atom>>,
    /// Number of atoms of each group, and number of these that are used together.
    groups: RefCell<VecDeque<(usize, usize)>>,
    group_entered: Event,
    /// The first of the atoms that are used together, and the time since which all have been in front of this register.
    output: Handoff<(Time, Atom)>,
    /// The others of the atoms that are used together.
    others: RefCell<VecDeque<Atom>>,
    /// The first of the atoms that are used together, while the others are missing.
    first: Cell<Option<Atom>>,
    /// Words that the lanes and the registers behind them hold of operands that leave later than their atom starts: true if one is the last of its
    /// set. Of the multiplier, if a stage takes both: a word is written to the lanes of both or of none (RTL, branch nvdlav1,
    /// `NV_NVDLA_SDP_NRDMA_eg.v`, both_rod_rdy).
    leaving: Option<Handoff<bool>>,
    /// Somebody takes operands that nobody does: never.
    untaken: Event,
}

impl Feed {
    /// With the way from the latency FIFO of `dma`.
    pub(super) fn new(
        sim: &Sim,
        name: &str,
        cycle: Time,
        atom: usize,
        (packing, may_leave_later): (Packing, bool),
        dma: Rc<ReadDma>,
    ) -> Rc<Feed> {
        let depth = packing.depth as usize;
        let words = packing.lanes as usize * depth + BEHIND_MULTIPLIER;
        let leaving = || Handoff::new(sim, format!("{name}.leaving"), words, cycle, cycle);
        let lane = |lane| Handoff::new(sim, format!("{name}.lane{lane}"), depth, cycle, cycle);
        let feed = Rc::new(Feed {
            sim: sim.clone(),
            cycle,
            atom,
            at_once: packing.atoms_per_cycle.max(1) as usize,
            depth,
            words_behind: packing.words_behind.map(|words| words as usize),
            dma,
            layers: RefCell::default(),
            layer_added: sim.work_event(format!("{name}.layer")),
            lanes: (0..packing.lanes.clamp(1, MAX_LANES as u32)).map(lane).collect(),
            groups: RefCell::default(),
            group_entered: sim.work_event(format!("{name}.group")),
            output: Handoff::new(sim, format!("{name}.output"), 2, cycle, cycle),
            others: RefCell::default(),
            first: Cell::new(None),
            leaving: (may_leave_later && packing.words_behind.is_some()).then(leaving),
            untaken: sim.event(format!("{name}.operands_nobody_takes")),
        });
        sim.server(format!("{name}.pack"), feed.clone().pack());
        sim.server(format!("{name}.spread"), feed.clone().spread());
        feed
    }

    /// Announces a layer's atoms; they come once they are asked for.
    pub(super) fn start(&self, shape: Shape) {
        self.layers.borrow_mut().push_back(shape);
        self.layer_added.notify_delta();
    }

    /// Never comes back: for a layer with operands that nobody takes.
    pub(super) async fn stand(&self) {
        loop {
            self.untaken.wait().await;
        }
    }

    /// Waits for the next atoms that are used together.
    pub(super) async fn ready(&self) {
        self.output.ready().await;
    }

    /// Time since which they have been ready.
    pub(super) fn since(&self) -> Time {
        self.output.since().unwrap_or(self.sim.now())
    }

    /// Time since which they would have been ready if there had been room for them.
    pub(super) fn came(&self) -> Time {
        self.output.first(|&(came, _)| came + self.cycle).unwrap_or(self.sim.now())
    }

    /// Takes the first of the atoms that are ready.
    pub(super) fn take(&self) -> Atom {
        self.take_leaving(Time::ZERO)
    }

    /// Takes the first of the atoms that are ready and leave their place so much later.
    pub(super) fn take_leaving(&self, later: Time) -> Atom {
        let now = self.sim.now();
        self.output.take_as_of(|_| (now + later, now)).map_or([0; MAX_ATOM], |(_, atom)| atom)
    }

    /// Takes the next of those that are used together with one that was taken.
    pub(super) fn take_other(&self) -> Atom {
        self.others.borrow_mut().pop_front().unwrap_or([0; MAX_ATOM])
    }

    /// Notes that the words of the next set leave their places from `first` on, of operands that do so later than their atom starts.
    pub(super) fn leave(&self, first: Time) {
        let Some(leaving) = &self.leaving else { return };
        let mut leaves = first;
        while leaving.take_as_of(|_| (leaves, self.sim.now())) == Some(false) {
            leaves += self.cycle;
        }
    }

    /// Takes sets of atoms, which go nowhere; of operands that leave later than their atom starts, or of others.
    pub(super) async fn drop_sets(&self, (sets, leave_later): (u64, bool)) {
        for _ in 0..sets {
            self.ready().await;
            if leave_later {
                self.leave(self.sim.now());
            }
            self.take();
            self.others.borrow_mut().clear();
        }
    }

    /// Fits the places to a layer whose operands are written as words: returns the atoms that are written together, those of a word for
    /// each lane. Where a set takes several such writes, each goes to words of its own (RTL, branch nvdlav1, `NV_NVDLA_SDP_ERDMA_eg.v`,
    /// mode_1bytex1_cnt, mode_2bytex2_mask).
    fn fit_words(&self, shape: &Shape, words_behind: usize) -> usize {
        let (lanes, together, words) = (self.lanes.len(), shape.together.max(1), shape.words.max(1));
        let writes = together.div_ceil(lanes);
        self.lanes.iter().for_each(|lane| lane.set_depth(self.depth * writes, self.cycle));
        self.output.set_depth(words_behind / words, self.cycle);
        if let (Some(operator), Some(leaving)) = (shape.leaves_later, &self.leaving) {
            let behind = match operator {
                Operator::Alu => words_behind / words * words,
                Operator::Multiplier => BEHIND_MULTIPLIER,
            };
            leaving.set_depth(lanes * self.depth + behind, self.cycle);
        }
        (lanes * together).div_ceil(words).min(lanes)
    }

    async fn pack(self: Rc<Self>) {
        // Time from which on the next atoms can be packed, or be written to lanes.
        let mut next = Time::ZERO;
        loop {
            let layer = self.layers.borrow_mut().pop_front();
            let Some(shape) = layer else {
                self.layer_added.wait().await;
                continue;
            };
            let Shape { ram, lines, atoms, together, words, untaken, leaves_later } = shape;
            let leaving = self.leaving.as_ref().filter(|_| leaves_later.is_some());
            let mut written = 0;
            let most = self.words_behind.map_or(self.lanes.len(), |words| self.fit_words(&shape, words));
            let stream = self.dma.stream(ram);
            let mut untaken = untaken.map(PartialGroup::new);
            for _ in 0..lines {
                let mut left = atoms;
                while left > 0 {
                    let count = left.min(most as u64) as usize;
                    if let Some(leaving) = leaving {
                        for _ in 0..(count * words).div_ceil(together.max(1)) {
                            written += 1;
                            leaving.room_from(next).await;
                            leaving.put(written % words == 0);
                        }
                    }
                    if self.words_behind.is_some() {
                        self.lanes_have_room(count, next).await;
                    }
                    let mut group = [[0; MAX_ATOM]; MAX_LANES];
                    for together in group[..count].chunks_mut(self.at_once) {
                        self.sim.wait_until(next).await;
                        for place in together {
                            stream.take(&mut place[..self.atom]).await;
                        }
                        next = self.sim.now() + self.cycle;
                    }
                    let sets = count.div_ceil(together.max(1)) as u64;
                    if untaken.as_mut().is_some_and(|untaken| !untaken.has_room(sets)) {
                        self.sim.wait_until(next).await;
                        self.stand().await;
                    }
                    // The whole group is written at once, when every lane it uses is free.
                    self.lanes_have_room(count, next).await;
                    for (lane, &place) in self.lanes.iter().zip(&group[..count]) {
                        lane.put(place);
                    }
                    self.groups.borrow_mut().push_back((count, together));
                    self.group_entered.notify_delta();
                    left -= count as u64;
                }
            }
        }
    }

    /// Waits until so many lanes have room, and until `earliest`.
    async fn lanes_have_room(&self, count: usize, earliest: Time) {
        for lane in &self.lanes[..count] {
            lane.room_from(earliest).await;
        }
    }

    async fn spread(self: Rc<Self>) {
        // How many of the atoms that are used together are missing, and from when on the next can leave their lanes.
        let (mut missing, mut next, mut came) = (0, Time::ZERO, Time::ZERO);
        loop {
            let group = self.groups.borrow_mut().pop_front();
            let Some((count, together)) = group else {
                self.group_entered.wait().await;
                continue;
            };
            let mut lanes = &self.lanes[..count];
            while !lanes.is_empty() {
                if self.first.get().is_none() {
                    missing = together.max(1);
                    came = Time::ZERO;
                    self.output.room_from(next).await;
                } else {
                    self.sim.wait_until(next).await;
                }
                let (taken, left) = lanes.split_at(missing.min(lanes.len()));
                taken[0].ready().await;
                came = came.max(taken[0].since().unwrap_or_default());
                for atom in taken.iter().filter_map(Handoff::take) {
                    match self.first.get() {
                        None => self.first.set(Some(atom)),
                        Some(_) => self.others.borrow_mut().push_back(atom),
                    }
                }
                (lanes, missing) = (left, missing - taken.len());
                if missing == 0
                    && let Some(first) = self.first.take()
                {
                    self.output.put((came, first));
                }
                next = self.sim.now() + self.cycle;
            }
        }
    }
}

impl Feed {
    pub(super) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Feed {
            sim: _,
            cycle: _,
            atom: _,
            at_once: _,
            depth: _,
            words_behind: _,
            dma,
            layers,
            layer_added: _,
            lanes,
            groups,
            group_entered: _,
            output,
            others,
            first,
            leaving,
            untaken: _,
        } = self;
        dma.checkpoint(at)?;
        let is_empty = layers.borrow().is_empty() && groups.borrow().is_empty() && others.borrow().is_empty();
        at.at_rest(is_empty && first.get().is_none(), "atoms are on their way to SDP")?;
        lanes.iter().try_for_each(|lane| lane.checkpoint(at))?;
        leaving.iter().try_for_each(|words| words.checkpoint(at))?;
        output.checkpoint(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of sets that come, in groups of so many, before the lanes have no room.
    fn come(repeats: u64, groups: &[u64]) -> u64 {
        let mut untaken = PartialGroup::new(repeats);
        groups.iter().take_while(|sets| untaken.has_room(**sets)).sum()
    }

    /// Seen on the RTL of nv_small: which sizes of a layer end, and which wait for ever.
    #[test]
    fn operands_that_nobody_takes_have_the_rtls_room() {
        assert_eq!(come(1, &[1; 9]), 3);
        assert_eq!(come(1, &[2, 2, 1]), 4);
        assert_eq!([2, 3, 4, 42].map(|repeats| come(repeats, &[1; 9])), [2, 2, 1, 1]);
        assert_eq!([come(42, &[2, 1]), come(2, &[2, 1])], [2, 3]);
    }
}
