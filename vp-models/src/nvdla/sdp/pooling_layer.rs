//! One layer that goes to PDP: when its atoms have room on the way, and when the layer ends.

use super::Sdp;
use super::layer::{Destination, SdpLayer};
use super::results::Results;
use super::timing;
use super::to_pooling::{LeftForPooling, ShutPooling, ToPooling};
use vp_core::Time;

/// The layer, as it goes to PDP.
pub(super) struct PoolingLayer<'a> {
    sdp: &'a Sdp,
    layer: &'a SdpLayer,
    /// Number among such layers.
    number: u64,
    /// Number of its atoms that have begun.
    begun: u64,
    /// Part that can begin before PDP does.
    shut: Option<ShutPooling>,
    /// End of the layer, where that is before PDP has taken all.
    left: Option<LeftForPooling>,
    /// True if an atom begins before all of it has room on the way ([`ToPooling`]).
    pub(super) is_split: bool,
    /// True if the next atom's way is free when the first half of one has left for PDP ([`ToPooling`]).
    pub(super) counts_by_first: bool,
}

impl<'a> PoolingLayer<'a> {
    /// Announces the layer to PDP; `None` if it goes to memory.
    pub(super) fn of(sdp: &'a Sdp, layer: &'a SdpLayer) -> Option<PoolingLayer<'a>> {
        let (common, timing) = (&sdp.common, &sdp.common.timing.sdp);
        if let Destination::Memory(_) = layer.destination {
            return None;
        }
        let ToPooling { depth, backward, is_split, counts_by_first } = ToPooling::of(layer, timing);
        sdp.pooling.atoms.set_depth(depth, common.cycles(backward));
        Some(PoolingLayer {
            sdp,
            layer,
            number: sdp.pooling.layers.announce(),
            begun: 0,
            shut: ShutPooling::of(layer, timing),
            left: LeftForPooling::of(layer, timing),
            is_split,
            counts_by_first,
        })
    }

    /// Returns the time between two atoms that the write DMA drops.
    pub(super) fn dropped_each(&self) -> Time {
        self.left.as_ref().map_or(Time::ZERO, |left| self.sdp.common.cycles(left.dropped_each))
    }

    /// Waits for room for the next atom; tells when it can begin by what PDP must have begun before.
    pub(super) async fn room(&mut self) -> Time {
        self.sdp.pooling.atoms.room().await;
        let shut = self.shut.take_if(|shut| shut.atoms == self.begun);
        self.begun += 1;
        let Some(shut) = shut else { return Time::ZERO };
        let begun = self.sdp.pooling.layers.begun(self.number).await;
        begun.map_or(Time::ZERO, |begun| begun + self.sdp.common.cycles(shut.backward))
    }

    /// Waits until the layer is over, all of whose results are on their way; tells when its last atom leaves.
    pub(super) async fn end(&self, results: &Results<'_>) -> Time {
        let common = &self.sdp.common;
        let Some(left) = &self.left else {
            self.sdp.pooling.atoms.left(0).await;
            return common.sim.now() + common.cycles(common.timing.sdp.taken_by_pdp);
        };
        let at_pdp = results.dropped + results.to_pdp + common.cycles(common.timing.sdp.to_pdp);
        let room = self.room_behind(left.atoms, left.behind_room).await;
        let end = room.max(at_pdp + common.cycles(left.behind_pdp));
        end.max(self.end_behind_begin(left).await)
    }

    /// Waits until PDP has begun, if the layer has a beat that waits for that; tells the end of the layer if all were there then.
    async fn end_behind_begin(&self, left: &LeftForPooling) -> Time {
        let common = &self.sdp.common;
        let beats = u64::from(timing::pace(self.layer, &common.timing.sdp).max(1));
        if self.begun * beats <= 1 {
            return Time::ZERO;
        }
        let Some(begun) = self.sdp.pooling.layers.begun(self.number).await else { return Time::ZERO };
        // The first has gone to the write DMA long before.
        let others = u64::from(left.dropped_each) * (self.begun * beats - 2) / beats;
        begun + common.cycles(left.behind_begin) + common.cycle * others
    }

    /// Waits until PDP has taken all atoms but the last `atoms`, all of which have begun; tells the time so many cycles after it has taken the one
    /// before them, if they follow that one.
    pub(super) async fn room_behind(&self, atoms: u32, cycles: u32) -> Time {
        let taken = self.sdp.pooling.atoms.left(atoms as usize).await;
        taken.map_or(Time::ZERO, |taken| taken + self.sdp.common.cycles(cycles))
    }
}
