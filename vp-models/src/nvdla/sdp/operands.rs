//! The operands of a stage that come from memory.

use super::Input;
use super::feed::Feed;
use super::layer::{OperandStream, SdpLayer};
use crate::nvdla::dma::MAX_ATOM;
use crate::nvdla::order::{Order, PAIR};
use vp_core::Time;

/// The most atoms that hold the operands of one atom: two operands of two bytes for each lane.
const MAX_OPERAND_ATOMS: usize = 4;

/// The memory operands of one stage while a layer runs.
pub(super) struct StageOperands<'a> {
    feed: &'a Feed,
    /// Time by which operands may come later than the data that they are for.
    later: Time,
    /// Atoms that hold the operands of one atom; none if the stage reads nothing.
    atoms: usize,
    atom: usize,
    per_element: bool,
    order: Order,
    width: u32,
    /// Operands of a step; where cubes take turns, of both pixels.
    buffers: [[u8; MAX_OPERAND_ATOMS * MAX_ATOM]; PAIR as usize],
}

impl<'a> StageOperands<'a> {
    pub(super) fn of(
        input: &'a Input,
        stream: Option<OperandStream>,
        layer: &SdpLayer,
        later: Time,
    ) -> StageOperands<'a> {
        let atoms = stream.map_or(0, |stream| stream.group_bytes(layer.lanes()) / layer.atom);
        StageOperands {
            feed: &input.feed,
            later,
            atoms: atoms.min(MAX_OPERAND_ATOMS),
            atom: layer.atom,
            per_element: stream.is_some_and(|stream| stream.per_element),
            order: layer.order,
            width: layer.width,
            buffers: [[0; MAX_OPERAND_ATOMS * MAX_ATOM]; PAIR as usize],
        }
    }

    /// Returns true if the operands of a step are those of the next as well.
    pub(super) fn lasts(&self) -> bool {
        self.atoms == 0 || !self.per_element
    }

    /// Returns true if new operands are due at this step of a surface: not where the same pixel of another cube has had them.
    fn due(&self, step: u64) -> bool {
        self.atoms > 0 && if self.per_element { self.order.turn(self.width, step).0 == 0 } else { step == 0 }
    }

    /// Returns the index of the buffer that holds a step's operands.
    fn slot(&self, step: u64) -> usize {
        if self.per_element { self.order.turn(self.width, step).1 } else { 0 }
    }

    /// Waits until the operands of the next atom are there. Tells when data must have come lest
    /// it waits for them longer than that.
    pub(super) async fn gather(&mut self, step: u64) -> Time {
        if self.due(step) {
            self.feed.ready().await;
            return self.feed.since().since(self.later);
        }
        Time::ZERO
    }

    /// Takes them as the datapath starts.
    pub(super) fn take(&mut self, step: u64) {
        if !self.due(step) {
            return;
        }
        let slot = self.slot(step);
        for (index, place) in self.buffers[slot].chunks_exact_mut(self.atom).take(self.atoms).enumerate() {
            let atom = if index == 0 { self.feed.take() } else { self.feed.take_other() };
            place.copy_from_slice(&atom[..self.atom]);
        }
    }

    pub(super) fn bytes(&self, step: u64) -> &[u8] {
        &self.buffers[self.slot(step)][..self.atoms * self.atom]
    }
}
