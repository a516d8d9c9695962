//! Room for weights in their banks: how much must be there at once, and what waits for it for ever.
//!
//! CSC gives back the entries of a group of kernels when it has used all of them, so those of a group must fit together. CDMA reads
//! them in blocks of eight atoms, and asks for one when all of it has room.

use super::layer::CdmaLayer;
use super::{Cdma, READ_ATOMS};
use crate::nvdla::conv::hardware::Hardware;
use crate::nvdla::registers::{FieldRef, cdma as reg};
use std::future::pending;
use std::ops::Range;

/// Returns the end of the block that holds the byte before `end`, counted from `base` as that is: eight atoms, from a multiple of as many on.
pub(super) fn block_end(base: u64, end: u64, atom: u32) -> u64 {
    let block = u64::from(READ_ATOMS * atom);
    let before = base % block;
    (before + end).next_multiple_of(block) - before
}

/// Weights, or masks, that lie in memory one behind the other.
#[derive(Clone, Copy)]
pub(super) struct StoredBytes {
    pub(super) base: u64,
    pub(super) bytes: u32,
}

impl StoredBytes {
    /// Bytes that stand in the banks when those of a group have come, which needs the ones in `range`.
    pub(super) fn at_once(self, range: Range<u64>, hardware: &Hardware) -> u64 {
        let entry = u64::from(hardware.entry_bytes);
        let end = block_end(self.base, range.end, hardware.atom).min(self.bytes.into());
        // The entry that two groups share goes with the first: CSC keeps its rest (RTL, `NV_NVDLA_CSC_wl.v`, wt_rls_cnt).
        end.saturating_sub(range.start.next_multiple_of(entry))
    }
}

impl CdmaLayer {
    /// The last group of kernels.
    pub(super) fn last_group(&self, hardware: &Hardware) -> u32 {
        self.weights.kernels.div_ceil(hardware.group_kernels(self.precision)) - 1
    }

    /// Bytes of weights that must be there for CSC to use a group of kernels: whole entries, and for the last group all that are read (RTL,
    /// `NV_NVDLA_CDMA_wt.v`, `wt_required_bytes_w`).
    pub(super) fn weights_needed(&self, group: u32, hardware: &Hardware) -> u64 {
        let (all, entry) = (u64::from(self.weights.bytes), u64::from(hardware.entry_bytes));
        let end = self.weights.group_end(group, hardware.group_kernels(self.precision));
        if group >= self.last_group(hardware) { all } else { end.next_multiple_of(entry).min(all) }
    }
}

impl Cdma {
    /// Says so as soon as it is known that the weights of a layer will not all find room, which may be when the layer before ends; ends never.
    pub(super) async fn watch_for_lack_of_room(&self, layer: &CdmaLayer, number: u64) {
        while !self.warn_of_lack_of_room(layer, number) {
            self.buffer.freed().await;
        }
        pending::<()>().await;
    }

    /// Says that the weights of a layer will not all find room, and tells if it has. CSC reads none that lie behind the kernels, and gives back only
    /// what it reads (RTL, `NV_NVDLA_CSC_wl.v`, `wt_rls_cnt`).
    fn warn_of_lack_of_room(&self, layer: &CdmaLayer, number: u64) -> bool {
        let (hardware, weights) = (&self.hardware, &layer.weights);
        let entry = u64::from(hardware.entry_bytes);
        let (bytes, room) = (u64::from(weights.bytes), layer.banks.weight * hardware.bank_bytes());
        let surplus = bytes.saturating_sub(weights.group_end(0, weights.kernels).next_multiple_of(entry));
        let [lost, in_front] = self.buffer.weights_lost(number);
        let (together, last) = (hardware.group_kernels(layer.precision), layer.last_group(hardware));
        let needed = |group: u32| {
            let start = group.checked_sub(1).map_or(0, |before| weights.group_end(before, together));
            start..layer.weights_needed(group, hardware)
        };
        let most = |of: &dyn Fn(Range<u64>) -> u64| match layer.reuse.keep_weight {
            // None is given back.
            true => bytes,
            false => (0..=last).map(|group| of(needed(group))).max().unwrap_or(0),
        };
        // The entry that two groups share is given back with the first.
        let at_once = most(&|range| range.end.saturating_sub(range.start.next_multiple_of(entry)));
        let stored = StoredBytes { base: weights.base, bytes: weights.bytes };
        let in_blocks = most(&|range| stored.at_once(range, hardware));
        let register = reg::D_WEIGHT_BYTES::WEIGHT_BYTES;
        let unusable = lost + in_front;
        if surplus > room.into() {
            self.control.warn(format_args!(
                "CDMA.{register} is {bytes:#x}, {surplus} bytes more than the kernels have, rounded up to an entry of {entry} bytes: \
                 CSC does not read them and gives no room back for them, and {room} bytes of banks do not hold them, so that CDMA \
                 waits for ever"
            ));
        } else if unusable > 0 && at_once + unusable > room.into() {
            self.control.warn(format_args!(
                "CDMA.{register} is {bytes:#x}: kernels that are needed together take {at_once} of {room} bytes of banks, of which {unusable} \
                 are lost until reset, as convolutions before have brought so many behind their kernels and CSC gives back only \
                 what it reads (NV_NVDLA_CDMA_wt, wt_wr_dmatx_cnt), so that CDMA waits for ever"
            ));
        } else if at_once > room.into()
            || in_blocks + in_front > hardware.weight_room(layer.banks.weight).into()
        {
            self.warn_of_blocks(reg::D_WEIGHT_ADDR_LOW::WEIGHT_ADDR_LOW, in_blocks, layer.banks.weight);
        } else {
            return false;
        }
        true
    }

    /// Says that the blocks in which weights, or masks, that are needed together are read have no room.
    pub(super) fn warn_of_blocks(&self, place: FieldRef, in_blocks: u64, banks: u32) {
        let (hardware, block) = (&self.hardware, READ_ATOMS * self.hardware.atom);
        self.control.warn(format_args!(
            "CDMA.{place}: for kernels that are needed together CDMA reads {in_blocks} bytes, in blocks up to a multiple of {block}, for the last \
             of them all there is to read, and {} bytes of banks do not hold the last block. CDMA asks for none that has not room as a \
             whole, and writes none beyond the banks (NV_NVDLA_CDMA_wt, wt_req_overflow, wt_wr_dmatx_cnt), so that it waits for ever. Let \
             what is read begin at a multiple of {block}, and end with the kernels, or give it a bank more",
            banks * hardware.bank_bytes()
        ));
    }
}
