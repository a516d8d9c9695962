//! Sums that a layer takes from CACC, and what is wrong with them.

use super::Sdp;
use super::layer::{Destination, SdpLayer};
use super::timing;
use crate::occupancy::Datapath as Busy;
use vp_core::Time;

/// The sums of one layer.
pub(super) struct Sums<'a> {
    sdp: &'a Sdp,
    layer: &'a SdpLayer,
    /// True if an atom begins before all of it has room on the way to PDP; then the one that has begun: when, and if it is the last.
    is_split: bool,
    entering: Option<(Time, bool)>,
}

impl<'a> Sums<'a> {
    pub(super) fn new(sdp: &'a Sdp, layer: &'a SdpLayer, is_split: bool) -> Sums<'a> {
        Sums { sdp, layer, is_split, entering: None }
    }

    /// Waits until the next atom's sums are there; tells since when they have been.
    pub(super) async fn ready(&self) -> Time {
        self.sdp.accumulator.ready().await;
        self.sdp.accumulator.since()
    }

    /// Waits until the last element of the atom that has begun has entered; tells the earliest start of the next one by that. CACC has its room, and
    /// can hand over the next one's first element two cycles later (RTL, `NV_NVDLA_CACC_delivery_buffer`).
    pub(super) async fn enter_whole(&mut self) -> Time {
        let Some((mut start, last)) = self.entering.take() else { return Time::ZERO };
        let common = &self.sdp.common;
        let waits = common.sim.now();
        self.sdp.pooling.atoms.room().await;
        let room = common.sim.now();
        let mut next = Time::ZERO;
        if room > waits {
            common.occupancy.held(Busy::Sdp, waits, room);
            let beats = timing::pace(self.layer, &common.timing.sdp);
            start = start.max(room.since(common.cycles(beats)));
            next = room + common.cycle;
        }
        self.sdp.accumulator.leave(start, last);
        next
    }

    /// Takes sums of up to `most` atoms, from `start` on one each `pace`, after those of `before`. `None`: the layer cannot go on, and
    /// nothing of it is left to take.
    pub(super) async fn take(
        &mut self,
        most: usize,
        (start, pace): (Time, Time),
        before: u64,
    ) -> Option<Vec<i32>> {
        let layer = self.layer;
        if before == 0 {
            self.warn_of_place();
        }
        let taken = match self.is_split {
            true => self.sdp.accumulator.take_one(),
            false => self.sdp.accumulator.take(most, start, pace),
        };
        if self.is_split && !taken.abandoned {
            self.entering = Some((start, taken.last));
        }
        let all = u64::from(layer.surfaces()) * layer.steps();
        let last = before + (taken.sums.len() / layer.lanes()) as u64 == all;
        let wrong = if taken.abandoned {
            "the convolution that should feed it was refused"
        } else if taken.lanes != layer.lanes() {
            "the convolution computes another format"
        } else if taken.last != last {
            "the convolution's output has another size"
        } else {
            return Some(taken.sums);
        };
        if let Some((start, last)) = self.entering.take() {
            self.sdp.accumulator.leave(start, last);
        }
        self.sdp.common.control.warn(format_args!("layer ended early: {wrong}"));
        if !taken.last {
            self.sdp.accumulator.drain().await;
        }
        None
    }

    /// Says that CACC knows another place of several cubes: it pairs their pixels by that.
    fn warn_of_place(&self) {
        let Destination::Memory(surface) = self.layer.destination else { return };
        if self.layer.order.cubes() == 1 || self.layer.width == 1 {
            return;
        }
        let odd = |bytes: u32| bytes / surface.atom % 2 == 1;
        let here = [surface.base as u32, surface.line_stride, surface.surface_stride];
        if self.sdp.accumulator.place().map(odd) != here.map(odd) {
            self.sdp.common.control.warn(format_args!(
                "CACC's D_DATAOUT_ADDR, D_LINE_STRIDE or D_SURF_STRIDE is an odd number of atoms where SDP's D_DST_* is an even one, or the \
                 other way round: CACC hands over two pixels of each cube in turns by its own, and SDP writes them to each other's places \
                 (NV_NVDLA_CACC_delivery_ctrl, is_push_skip; NV_NVDLA_SDP_WDMA_cmd, is_beg_addr_odd)"
            ));
        }
    }
}
