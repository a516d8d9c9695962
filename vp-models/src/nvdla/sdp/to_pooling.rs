//! The way of SDP's atoms into PDP: how many there are on it, and what a layer's end waits for.

use super::layer::{SdpLayer, SdpSource};
use super::pipeline::{CONVERTER, ELEMENTWISE, INTO_PDP, Registers};
use super::timing::{cycles_per_atom, elementwise, pace, registers, registers_passed};
use crate::nvdla::timing::SdpTiming;

/// Cycles that the stages add to the way of an atom into PDP, which takes its beats in parts: behind EW each comes as many cycles after the one
/// before as EW takes, and the atom counts from where its parts, one a cycle, end with the last.
pub(super) fn stages_to_pooling(layer: &SdpLayer, timing: &SdpTiming) -> u32 {
    let beats = pace(layer, timing).max(1);
    let of_beat = cycles_per_atom(layer, timing) / beats;
    let parts = parts_of_beat(layer, timing);
    let between = (beats - 1) * of_beat.saturating_sub(parts);
    registers_passed(layer, timing) + if layer.ew.is_some() { of_beat - 1 + between } else { 0 }
}

/// The way of atoms from the datapath's beginning into PDP, as registers that hold an element, or a few, each.
///
/// Most have a skid buffer: they hold two where PDP takes nothing, and where it goes on, this comes to the one before a cycle later. A
/// multiplexer, the converter's four, the output's and PDP's (`NV_NVDLA_SDP_cmux` pipe_p2, `NV_NVDLA_SDP_HLS_C_int`,
/// `NV_NVDLA_SDP_CORE_pipe_p11`, `NV_NVDLA_PDP_CORE_preproc`), one more in PDP (seen: 18 elements of CACC's where PDP stands still), another one of
/// the multiplexer where data is CACC's (pipe_p1), and those of the stages.
pub(super) struct ToPooling {
    /// Atoms that have begun, where PDP takes nothing.
    pub(super) depth: usize,
    /// From PDP's taking an atom until the one so many behind it can begin.
    pub(super) backward: u32,
    /// True if an atom of CACC's begins before there is room for its last element. That enters a cycle before the next atom can begin.
    pub(super) is_split: bool,
    /// True if the next atom's way is free when the first half of one has left for PDP, not the other.
    pub(super) counts_by_first: bool,
}

impl ToPooling {
    pub(super) fn of(layer: &SdpLayer, timing: &SdpTiming) -> ToPooling {
        if timing.stage_registers.is_some() {
            return ToPooling::on_nvdlav1(layer, timing);
        }
        // What an atom takes to PDP, stages not counted.
        const FORWARD: u32 = 9;
        let beats = pace(layer, timing).max(1);
        let stages = layer.bs.iter().chain(&layer.bn).count() as u32 + u32::from(layer.ew.is_some());
        let is_memory = matches!(layer.source, SdpSource::Memory(_));
        let of_stages =
            registers(&layer.bs) + registers(&layer.bn) + layer.ew.as_ref().map_or(0, elementwise);
        let with_skid = 8 + u32::from(!is_memory) + of_stages - 2 * stages;
        let capacity = 2 * with_skid + 2 * stages;
        let (whole, part) = (capacity / beats, capacity % beats);
        let taken = (FORWARD + with_skid).saturating_sub(timing.to_pdp);
        if timing.beat_in_pdp > 1 {
            return ToPooling::behind_fifo(capacity, beats, taken, timing.beat_in_pdp);
        }
        match is_memory {
            // The next atom begins when the last of the one before it leaves the register that holds it.
            true => {
                let backward = taken + beats - 1 - part;
                ToPooling { depth: whole as usize + 1, backward, is_split: false, counts_by_first: false }
            }
            false if part == 0 => {
                ToPooling { depth: whole as usize, backward: taken, is_split: false, counts_by_first: false }
            }
            false => ToPooling {
                depth: whole as usize + 1,
                backward: taken + beats - part,
                is_split: true,
                counts_by_first: false,
            },
        }
    }

    /// Returns the way where a beat of SDP's is several of PDP's: each part of it waits in a FIFO of four entries and an output register,
    /// takes a cycle more, and the place is free a cycle after it is left (`NV_NVDLA_PDP_CORE_preproc`, `u_ro_fifo_*`).
    fn behind_fifo(capacity: u32, beats: u32, taken: u32, parts: u32) -> ToPooling {
        const PLACES: u32 = 5;
        // An atom's last beat enters when the one so many before it has left for PDP, part by part.
        let before = capacity + PLACES - (beats - 1);
        let atoms = before.div_ceil(beats);
        let left = (atoms * beats - before) * parts + parts - 1;
        ToPooling {
            depth: atoms as usize,
            backward: taken + 2 + left - (beats - 1),
            is_split: false,
            counts_by_first: false,
        }
    }

    /// Returns the way on nvdlav1, where a beat's parts wait in FIFOs too, and other registers are in front of them.
    fn on_nvdlav1(layer: &SdpLayer, timing: &SdpTiming) -> ToPooling {
        let beats = pace(layer, timing).max(1);
        let elementwise = layer.ew.as_ref().map_or(Registers::default(), |_| ELEMENTWISE);
        let way = Registers::before_elementwise(layer, timing).and(elementwise).and(CONVERTER).and(INTO_PDP);
        let (atoms, left) = last_behind(way.held(), layer, timing);
        // From an atom's start until its last beat passes SDP's input.
        let passes = timing.to_pdp + beats - 1;
        let forward = TO_PDP + u32::from(layer.source == SdpSource::Accumulator);
        let backward = left + way.backward() + forward - passes;
        let counts_by_first = left + 1 < beats * parts_of_beat(layer, timing);
        ToPooling { depth: atoms as usize, backward, is_split: false, counts_by_first }
    }
}

/// Cycles from SDP's input to PDP on nvdlav1, of data from memory, stages not counted.
const TO_PDP: u32 = 9;
/// Way of a layer's first atoms on nvdlav1 while PDP has not begun with it: a beat waits in the register in front of PDP, the others behind it
/// (`NV_NVDLA_PDP_CORE_preproc.v`, waiting_for_op_en).
pub(super) struct ShutPooling {
    /// Number of atoms that begin; cycles from PDP's beginning to the earliest start of the next one.
    pub(super) atoms: u64,
    pub(super) backward: u32,
}

impl ShutPooling {
    /// `None` on other trees.
    pub(super) fn of(layer: &SdpLayer, timing: &SdpTiming) -> Option<ShutPooling> {
        timing.stage_registers?;
        let beats = pace(layer, timing).max(1);
        let elementwise = layer.ew.as_ref().map_or(Registers::default(), |_| ELEMENTWISE);
        let way = Registers::before_elementwise(layer, timing).and(elementwise).and(CONVERTER);
        // That many and the one in front of PDP; of the next atom, beats that find room when the first of them goes to PDP.
        let atoms = (way.held() + 1) / beats;
        let others = (atoms + 1) * beats - 1 - way.held();
        let of_accumulator = u32::from(layer.source == SdpSource::Accumulator);
        let backward = (2 + others + way.backward() + of_accumulator).saturating_sub(beats - 1);
        Some(ShutPooling { atoms: atoms.into(), backward })
    }
}

/// Returns for the last beat of an atom, and the beat that is so many before it, how many atoms before it that one's is, and the cycles from
/// PDP's taking that atom until the last part of the beat has left for its datapath.
fn last_behind(beats_before: u32, layer: &SdpLayer, timing: &SdpTiming) -> (u32, u32) {
    let beats = pace(layer, timing).max(1);
    let parts = parts_of_beat(layer, timing);
    let before = beats_before - (beats - 1);
    let atoms = before.div_ceil(beats);
    (atoms, (atoms * beats - before) * parts + parts - 1)
}

/// Number of parts in which PDP takes a beat of SDP's.
fn parts_of_beat(layer: &SdpLayer, timing: &SdpTiming) -> u32 {
    timing.beat_in_pdp * layer.precision.bytes() as u32
}

/// End on nvdlav1 of a layer that goes to PDP: SDP is done when the last beat has left the converter, from where it goes to the write DMA as
/// well, which drops it (`NV_NVDLA_SDP_core.v`, core2wdma_vld; `NV_NVDLA_SDP_WDMA_DAT_out.v`, layer_done).
pub(super) struct LeftForPooling {
    /// Cycles from the earliest start of PDP with the last atom to the end.
    pub(super) behind_pdp: u32,
    /// Number of atoms behind the one of which PDP must have taken a beat to have room for the last; cycles from its taking that atom to the
    /// end.
    pub(super) atoms: u32,
    pub(super) behind_room: u32,
    /// Cycles from PDP's beginning to the end, if the layer's second beat is the last: it waits for the first to go into PDP.
    pub(super) behind_begin: u32,
    /// Cycles that the write DMA takes for an atom: in lines of one, each has a cycle for its command (`NV_NVDLA_SDP_WDMA_DAT_out.v`, cmd_en).
    pub(super) dropped_each: u32,
}

impl LeftForPooling {
    /// `None` on other trees.
    pub(super) fn of(layer: &SdpLayer, timing: &SdpTiming) -> Option<LeftForPooling> {
        timing.stage_registers?;
        // From the converter's output to PDP's datapath. The end, as it counts here, is so much behind that output.
        const FORWARD: u32 = 3;
        const LATER: u32 = 7;
        let (atoms, left) = last_behind(INTO_PDP.held(), layer, timing);
        let beats = pace(layer, timing).max(1);
        let others = (beats - 1) * parts_of_beat(layer, timing);
        let behind_room = left + INTO_PDP.backward() + LATER;
        let dropped_each = if layer.width == 1 && layer.height > 1 { beats.max(2) } else { beats };
        Some(LeftForPooling {
            behind_pdp: others + LATER - FORWARD,
            atoms,
            behind_room,
            behind_begin: 6,
            dropped_each,
        })
    }
}

/// Returns for the beat before a layer's last on nvdlav1, and a place with so many registers between it and EW or the converter, the number of atoms
/// behind the one that PDP must have taken for that beat to have room; and the cycles from PDP's taking that atom until the beat is at the place.
pub(super) fn before_last_in_front_of_pdp(
    behind: Registers,
    layer: &SdpLayer,
    timing: &SdpTiming,
) -> (u32, u32) {
    // SDP's starts count so many cycles later than those of PDP.
    const LATER: u32 = 4;
    let elementwise = layer.ew.as_ref().map_or(Registers::default(), |_| ELEMENTWISE);
    let way = behind.and(elementwise).and(CONVERTER).and(INTO_PDP);
    let (atoms, left) = last_behind(way.held() + 1, layer, timing);
    (atoms, left + way.backward() + LATER)
}

#[cfg(test)]
mod tests {
    use super::super::layer::Hardware;
    use super::*;
    use crate::nvdla::config::Config;
    use crate::nvdla::registers::{Group, RegisterMap, Unit, sdp as reg};
    use crate::nvdla::rtl_tree::RtlTree;
    use crate::nvdla::timing::Timing;

    /// Returns a layer of CACC's whose output goes to PDP, with or without the ALU of BS.
    fn to_pooling(bs_alu: bool) -> SdpLayer {
        use reg::D_FEATURE_MODE_CFG::{FLYING_MODE, OUTPUT_DST};
        let mut sdp = Group::new(Unit::Sdp, RegisterMap::Small);
        sdp.set(OUTPUT_DST, OUTPUT_DST::PDP);
        sdp.set(FLYING_MODE, 1);
        sdp.set(reg::D_DP_BS_CFG::BS_BYPASS, u32::from(!bs_alu));
        sdp.set(reg::D_DP_BS_CFG::BS_ALU_BYPASS, 0);
        sdp.set(reg::D_DP_BS_CFG::BS_MUL_BYPASS, 1);
        sdp.set(reg::D_DP_BN_CFG::BN_BYPASS, 1);
        sdp.set(reg::D_DP_EW_CFG::EW_BYPASS, 1);
        let rdma = Group::new(Unit::SdpRdma, RegisterMap::Small);
        let config = Config::named("nv_small").unwrap();
        SdpLayer::decode(&sdp, &rdma, &Hardware::from(&config)).unwrap()
    }

    #[test]
    fn where_pdp_stands_an_atom_of_caccs_enters_in_part() {
        let timing = Timing::of(&Config::named("nv_small").unwrap(), RtlTree::NvSmall).sdp;
        // The RTL: PDP takes an atom from cycle 1752 on, 3 behind its start as it counts here; the first four elements of the third one behind
        // enter from 1756 on, the others up to 1769, and the next one's first could in 1770.
        let ToPooling { depth, backward, is_split, .. } = ToPooling::of(&to_pooling(true), &timing);
        assert_eq!((depth, 1752 - 3 + backward, is_split), (4, 1770, true));
        // Nine registers with a skid buffer hold two atoms and two elements.
        let bypassed = ToPooling::of(&to_pooling(false), &timing);
        assert_eq!((bypassed.depth, bypassed.is_split), (3, true));
    }

    #[test]
    fn on_nvdlav1_beats_wait_in_sdp_and_in_front_of_pdp() {
        let timing = Timing::of(&Config::named("nv_full").unwrap(), RtlTree::Nvdlav1).sdp;
        // The RTL: beat 29 of CACC's, the last one of atom 14, enters 6 cycles after the second part of beat 10, the first one of atom 5, has left for
        // PDP's datapath. BS holds 21 beats more, five cycles longer.
        let bypassed = ToPooling::of(&to_pooling(false), &timing);
        assert_eq!((bypassed.depth, bypassed.backward, bypassed.counts_by_first), (9, 1 + 6 + 5 - 1, true));
        let bs = ToPooling::of(&to_pooling(true), &timing);
        assert_eq!((bs.depth, bs.backward, bs.counts_by_first), (20, 3 + 11 + 5 - 1, false));
        // The last beat leaves the converter two cycles after the one eight before it has gone to PDP's datapath.
        let end = LeftForPooling::of(&to_pooling(true), &timing).unwrap();
        assert_eq!((end.atoms, end.behind_room), (4, 3 + 2 + 7));
    }
}
