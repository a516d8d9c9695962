//! The operands of a layer's stages that come from memory.

use super::atom::{AtomOperands, AtomPosition};
use super::feed::Feed;
use super::layer::{OperandStream, SdpLayer, SdpSource};
use super::timing;
use super::{Input, Sdp};
use crate::nvdla::dma::MAX_ATOM;
use crate::nvdla::order::{PAIR, Pairs};
use crate::nvdla::timing::SdpTiming;
use vp_core::Time;

/// The most atoms that hold the operands of one atom: two operands of two bytes for each lane.
const MAX_OPERAND_ATOMS: usize = 4;

/// The memory operands of BS, BN and EW while a layer runs; not of EW where atoms wait in front of that.
pub(super) struct LayerOperands<'a> {
    sdp: &'a Sdp,
    stages: [StageOperands<'a>; 3],
    /// Atoms of the main input that go on to each stage while it waits for operands.
    ahead: [u64; 3],
}

impl<'a> LayerOperands<'a> {
    pub(super) fn of(sdp: &'a Sdp, layer: &SdpLayer, has_elementwise: bool) -> LayerOperands<'a> {
        let timing = &sdp.common.timing.sdp;
        let [bs, bn, ew] = timing::operands_later(layer, timing);
        let of = |input, stream, later| {
            StageOperands::of(input, stream, layer, (later, 0, sdp.common.cycle), timing)
        };
        let of_ew = layer.ew.filter(|_| has_elementwise);
        let stages = [
            of(&sdp.bs, layer.bs.and_then(|stage| stage.operands), bs),
            of(&sdp.bn, layer.bn.and_then(|stage| stage.operands), bn),
            of(&sdp.ew, of_ew.and_then(|stage| stage.operands), ew),
        ];
        let ahead = match layer.source {
            SdpSource::Memory(_) if layer.input_atoms() == 1 => timing::atoms_before_operands(layer, timing),
            _ => [0; 3],
        };
        LayerOperands { sdp, stages, ahead: ahead.map(u64::from) }
    }

    /// Waits until those of the next atom are there. Tells when data must have come lest it waits for them longer than that. Meanwhile atoms of the
    /// main input go on to where they meet them, or those of a stage in front: of the so many that are left, of the surface and of the layer.
    pub(super) async fn gather(&mut self, step: AtomPosition, of_surface: u64, of_layer: u64) -> Time {
        let (mut there, mut most) = (Time::ZERO, of_layer);
        for (operands, ahead) in self.stages.iter_mut().zip(self.ahead) {
            let gather = operands.gather(step.in_surface());
            there = there.max(self.sdp.going_on(ahead.min(most), gather).await);
            // Behind it go those that need no others of this stage.
            most = most.min(operands.atoms_alike(of_surface).saturating_add(ahead));
        }
        there
    }

    /// Takes those of an atom that starts then.
    pub(super) fn take(&mut self, step: AtomPosition, start: Time) {
        for operands in &mut self.stages {
            operands.leave_multiplier(step.in_surface(), start);
            operands.take(step.in_surface(), Time::ZERO);
        }
    }

    pub(super) fn bytes(&self, step: AtomPosition) -> AtomOperands<'_> {
        let [bs, bn, ew] = self.stages.each_ref().map(|operands| operands.bytes(step.in_surface()));
        AtomOperands { bs, bn, ew }
    }

    /// Returns true if the operands of a step are those of the next as well.
    pub(super) fn last(&self) -> bool {
        self.stages.iter().all(StageOperands::lasts)
    }

    /// Returns when data must have come lest it waited for the last ones of each stage.
    pub(super) fn there(&self) -> [Time; 3] {
        self.stages.each_ref().map(|operands| operands.there)
    }
}

/// The memory operands of one stage while a layer runs.
pub(super) struct StageOperands<'a> {
    feed: &'a Feed,
    /// Cycles by which operands may come later than the data that they are for; negative if they must be there before it. Those of multiplier
    /// and ALU may have places of their own: the later ones of both then keep theirs for so much longer.
    later: i32,
    later_place: u32,
    cycle: Time,
    /// Atoms that hold the operands of one atom; none if the stage reads nothing.
    atoms: usize,
    atom: usize,
    per_element: bool,
    /// True if they are of ALU and multiplier, new ones for each atom, and none waits in front of EW.
    of_both: bool,
    /// Time by which the last ones that were gathered let data start.
    there: Time,
    /// Order in which pixels of several cubes pass.
    pairs: Option<Pairs>,
    /// Operands of a step; where cubes take turns, of both pixels.
    buffers: [[u8; MAX_OPERAND_ATOMS * MAX_ATOM]; PAIR as usize],
}

impl<'a> StageOperands<'a> {
    /// Returns those of EW where atoms wait in front of it, and none elsewhere.
    pub(super) fn of_elementwise(sdp: &'a Sdp, layer: &SdpLayer, waits: bool) -> StageOperands<'a> {
        let timing = &sdp.common.timing.sdp;
        let [.., later] = timing::operands_later(layer, timing);
        let later_place = timing::elementwise_later_place(layer, timing);
        let stream = layer.ew.filter(|_| waits).and_then(|stage| stage.operands);
        StageOperands::of(&sdp.ew, stream, layer, (later, later_place, sdp.common.cycle), timing)
    }

    fn of(
        input: &'a Input,
        stream: Option<OperandStream>,
        layer: &SdpLayer,
        (later, later_place, cycle): (i32, u32, Time),
        timing: &SdpTiming,
    ) -> StageOperands<'a> {
        let atoms = stream.map_or(0, |stream| stream.group_bytes(layer.lanes()) / layer.atom);
        StageOperands {
            feed: &input.feed,
            later,
            later_place,
            cycle,
            atoms: atoms.min(MAX_OPERAND_ATOMS),
            atom: layer.atom,
            per_element: stream.is_some_and(|stream| stream.per_element),
            of_both: stream.is_some_and(|stream| {
                timing::takes_both(layer, &stream) && !timing::is_met_behind(layer, &stream, timing)
            }),
            there: Time::ZERO,
            pairs: layer.pairs(),
            buffers: [[0; MAX_OPERAND_ATOMS * MAX_ATOM]; PAIR as usize],
        }
    }

    /// Returns true if the operands of a step are those of the next as well.
    fn lasts(&self) -> bool {
        self.atoms == 0 || !self.per_element
    }

    /// Returns the number of atoms of the main input, from one on behind which are so many of its surface, that need no operands but its own.
    fn atoms_alike(&self, left: u64) -> u64 {
        match (self.atoms, self.per_element) {
            (0, _) => u64::MAX,
            (_, true) => 1,
            (_, false) => left,
        }
    }

    /// Returns the cube of a step of a surface, and the buffer that holds its operands. Each pixel has its own, also where the RTL takes those of
    /// others (`Sdp::warn_of_others_operands`).
    fn turn(&self, (surface, step): (u32, u64)) -> (u32, usize) {
        match (&self.pairs, self.per_element) {
            (Some(pairs), true) => pairs.turn(surface, step),
            _ => (0, 0),
        }
    }

    /// Returns true if new operands are due at this step of a surface: not where the same pixel of another cube has had them.
    fn due(&self, step: (u32, u64)) -> bool {
        self.atoms > 0 && if self.per_element { self.turn(step).0 == 0 } else { step.1 == 0 }
    }

    /// Waits until the operands of the next atom are there. Tells when data must have come lest
    /// it waits for them longer than that.
    pub(super) async fn gather(&mut self, step: (u32, u64)) -> Time {
        if self.due(step) {
            self.feed.ready().await;
            let by_place = self.feed.since().since(self.cycle * u64::from(self.later_place));
            let (since, difference) =
                (self.feed.came().max(by_place), self.cycle * u64::from(self.later.unsigned_abs()));
            self.there = if self.later < 0 { since + difference } else { since.since(difference) };
            return self.there;
        }
        Time::ZERO
    }

    /// Notes when those of a multiplier that takes them later than the ALU leave their places, of an atom that starts then.
    fn leave_multiplier(&self, step: (u32, u64), start: Time) {
        if self.due(step) && self.of_both {
            let cycles = self.later.unsigned_abs() + timing::NVDLAV1_MULTIPLIER_LEAVES;
            self.feed.leave(start + self.cycle * u64::from(cycles));
        }
    }

    /// Takes them as the datapath starts; they leave their place so much later.
    pub(super) fn take(&mut self, step: (u32, u64), later: Time) {
        if !self.due(step) {
            return;
        }
        let slot = self.turn(step).1;
        for (index, place) in self.buffers[slot].chunks_exact_mut(self.atom).take(self.atoms).enumerate() {
            let atom = if index == 0 { self.feed.take_leaving(later) } else { self.feed.take_other() };
            place.copy_from_slice(&atom[..self.atom]);
        }
    }

    pub(super) fn bytes(&self, step: (u32, u64)) -> &[u8] {
        &self.buffers[self.turn(step).1][..self.atoms * self.atom]
    }
}
