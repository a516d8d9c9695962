//! SDP's timing: how long the stages of a layer take, and which reads it makes.

use super::before_elementwise::Registers;
use super::feed::Shape;
use super::layer::{Carries, Elementwise, OperandStream, SdpLayer, SdpSource, Stage};
use crate::bus::axi::Begin;
use crate::nvdla::cube::{Packing, Surface};
use crate::nvdla::dma::Lines;
use crate::nvdla::order::{Order, Run};
use crate::nvdla::timing::SdpTiming;

/// From the start of an atom to its write address, with the stages that take part.
pub(super) fn output_latency(layer: &SdpLayer, timing: &SdpTiming) -> u32 {
    // The elements of an atom come one after the other; of wider ones there are fewer.
    let fewer = timing.cycles_per_atom - per_atom(layer, timing.cycles_per_atom);
    timing.output - fewer + stages(layer, timing)
}

/// Cycles that the stages add to the way of an atom's last elements.
fn stages(layer: &SdpLayer, timing: &SdpTiming) -> u32 {
    let slower = cycles_per_atom(layer, timing) - pace(layer, timing);
    registers_passed(layer, timing) + if layer.ew.is_some() { slower } else { 0 }
}

/// Cycles that the stages add to the way of an atom into PDP, which takes its beats in parts: behind EW each comes as many cycles after the one
/// before as EW takes, and the atom counts from where its parts, one a cycle, end with the last.
pub(super) fn stages_to_pooling(layer: &SdpLayer, timing: &SdpTiming) -> u32 {
    let beats = pace(layer, timing).max(1);
    let of_beat = cycles_per_atom(layer, timing) / beats;
    let parts = parts_of_beat(layer, timing);
    let between = (beats - 1) * of_beat.saturating_sub(parts);
    registers_passed(layer, timing) + if layer.ew.is_some() { of_beat - 1 + between } else { 0 }
}

/// Registers of the stages that data passes.
fn registers_passed(layer: &SdpLayer, timing: &SdpTiming) -> u32 {
    let ew = layer.ew.as_ref().map_or(0, |ew| passed_elementwise(ew, timing));
    passed(&layer.bs, timing) + passed(&layer.bn, timing) + ew
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

/// What an atom takes from SDP's input to PDP on nvdlav1, from memory, stages not counted.
const TO_PDP: u32 = 9;
/// Registers on nvdlav1 of EW, where it stands, with the beats in `u_dppack` and `u_dpunpack` (`NV_NVDLA_SDP_CORE_y.v`; seen); of the
/// converter, with the one in front of it (`NV_NVDLA_SDP_core.v`, pipe_p9, `u_c`).
const ELEMENTWISE: Registers = Registers { with_skid: 0, without: 6, caught: 0, catching: 5 };
const CONVERTER: Registers = Registers { with_skid: 1, without: 4, caught: 1, catching: 1 };
/// Registers between the converter and PDP's datapath on nvdlav1: one of SDP's (`NV_NVDLA_SDP_core.v`, pipe_p11), one of PDP's with a skid
/// buffer, and for each part of a beat a FIFO of four and its output register, whose place is free a cycle after it is left
/// (`NV_NVDLA_PDP_CORE_preproc.v`, `u_ro_fifo_*`).
const INTO_PDP: Registers = Registers { with_skid: 1, without: 1 + 4 + 1, caught: 0, catching: 1 };

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

/// Returns the bound on an atom's start by those before it on their way to the write DMA: the registers of the datapath hold an element, or a
/// few, each, most two with a skid buffer; what gathers them to an atom holds one (`NV_NVDLA_SDP_cmux`, `NV_NVDLA_SDP_HLS_C_int`,
/// `NV_NVDLA_SDP_CORE_unpack`). An atom begins when the element that many before its first has left the last of them.
pub(super) fn begin(layer: &SdpLayer, timing: &SdpTiming) -> Begin {
    let beats = pace(layer, timing).max(1);
    let stages = layer.bs.iter().chain(&layer.bn).count() as u32 + u32::from(layer.ew.is_some());
    let of_stages = registers(&layer.bs) + registers(&layer.bn) + layer.ew.as_ref().map_or(0, elementwise);
    let forward = 5 + u32::from(layer.source == SdpSource::Accumulator) + of_stages;
    let with_skid = forward - 2 * stages;
    let capacity = 2 * with_skid + 2 * stages;
    let atoms = capacity.div_ceil(beats);
    Begin::Whole { before: atoms + 1, cycles: atoms * beats - capacity + with_skid + forward + beats }
}

/// Registers of BS or BN: one before and one behind (`NV_NVDLA_SDP_core`, `u_bs_dppack`, `u_bs_dpunpack`), one each for truncation and
/// ReLU, which are not bypassed; two for the ALU and one for the multiplier if these are not (`NV_NVDLA_SDP_HLS_x1_int`, `X_int_alu`,
/// `X_int_mul`, `X_int_trt`, `X_int_relu`).
pub(super) fn registers(stage: &Option<Stage>) -> u32 {
    stage.map_or(0, |stage| 4 + 2 * u32::from(stage.alu.is_some()) + u32::from(stage.multiplier.is_some()))
}

/// Registers that data passes in BS or BN.
fn passed(stage: &Option<Stage>, timing: &SdpTiming) -> u32 {
    match (stage, timing.stage_registers) {
        (Some(_), Some(registers)) => registers,
        _ => registers(stage),
    }
}

/// Registers that data passes in EW: of nvdlav1, whose operators work on fp16 too, as many whatever is bypassed, seen.
fn passed_elementwise(ew: &Elementwise, timing: &SdpTiming) -> u32 {
    match timing.stage_registers {
        Some(_) => 11,
        None => elementwise(ew),
    }
}

/// Registers of EW: one before and one behind, two each for multiplier and ALU if they are not bypassed (`NV_NVDLA_SDP_HLS_Y_int_mul`,
/// `Y_int_alu`), and ten from the index to the interpolated value of the table, seen.
fn elementwise(ew: &Elementwise) -> u32 {
    2 + 2 * u32::from(ew.multiplier.is_some())
        + 2 * u32::from(ew.alu.is_some())
        + if ew.lut.is_some() { 10 } else { 0 }
}

/// Registers of the ALU of BS and of BN on nvdlav1 (`NV_NVDLA_SDP_CORE_x.v`, `X_alu`), in front of the multiplier.
pub(super) const NVDLAV1_ALU: u32 = 5;

/// Cycles by which operands of EW on nvdlav1 may come later than the data, of ALU and multiplier (seen at the inputs of
/// `NV_NVDLA_SDP_core.v`: ew_data_in, ew_alu_in, ew_mul_in).
const NVDLAV1_EW_ALU: i32 = 3;
const NVDLAV1_EW_MULTIPLIER: i32 = -1;

/// Returns the cycles by which the operands of each stage, of BS, BN and EW, may come later than the atom's own data: the registers that
/// data passes before it meets them, less those of the operands (`NV_NVDLA_SDP_core`: data `u_dpin_pack`, `NV_NVDLA_SDP_cmux` and the
/// stage's `dppack`, operands `u_bs_alu_pack`; each stage waits for both in `NV_NVDLA_SDP_HLS_sync2data`).
pub(super) fn operands_later(layer: &SdpLayer, timing: &SdpTiming) -> [i32; 3] {
    match timing.stage_registers {
        Some(registers) => operands_later_by_stage(layer, registers as i32, i32::min),
        None => registers_before_operands(layer).map(|registers| registers as i32),
    }
}

/// Returns the same for nvdlav1, whose stages have `registers` each, whatever they bypass. In BS and BN the multiplier is behind the five
/// registers of the ALU (RTL, `NV_NVDLA_SDP_CORE_x.v`), in EW it is in front of the ALU, and its operand, which is converted, must be there
/// a cycle before the data (seen at the inputs of `NV_NVDLA_SDP_core.v`: bs_data_in, bs_alu_in, bs_mul_in, and of bn and ew). Of a stage with
/// operands of both it is one of these, by `of_both`.
fn operands_later_by_stage(layer: &SdpLayer, registers: i32, of_both: fn(i32, i32) -> i32) -> [i32; 3] {
    let point =
        |operands: Option<OperandStream>, alu: i32, multiplier: i32| match operands.map(|it| it.carries) {
            Some(Carries::Multiplier) => multiplier,
            Some(Carries::Alu) | None => alu,
            Some(Carries::Both) => of_both(alu, multiplier),
        };
    let before_bn = registers * i32::from(layer.bs.is_some());
    let before_ew = before_bn + registers * i32::from(layer.bn.is_some());
    let of_stage =
        |stage: &Option<Stage>| point(stage.and_then(|stage| stage.operands), 2, 2 + NVDLAV1_ALU as i32);
    let ew = point(layer.ew.and_then(|ew| ew.operands), NVDLAV1_EW_ALU, NVDLAV1_EW_MULTIPLIER);
    [of_stage(&layer.bs), before_bn + of_stage(&layer.bn), before_ew + ew]
}

/// Cycles by which the ALU of EW takes its operands later than the multiplier, of layers that have both: each from registers of its own.
pub(super) fn elementwise_later_place(layer: &SdpLayer, timing: &SdpTiming) -> u32 {
    let both = layer.ew.and_then(|ew| ew.operands).is_some_and(|operands| operands.carries == Carries::Both);
    if both && timing.stage_registers.is_some() { (NVDLAV1_EW_ALU - NVDLAV1_EW_MULTIPLIER) as u32 } else { 0 }
}

/// Returns the cycles from an atom's start, if nothing could wait in front of EW, until a beat of its operands of EW has left the register in
/// which EW gathers it, the last elements with the data's (RTL, branch nvdlav1, `NV_NVDLA_SDP_CORE_y.v`, `u_alu_dmapack`, `u_mul_dmapack`).
pub(super) fn elementwise_operands_leave(layer: &SdpLayer, timing: &SdpTiming) -> u32 {
    let [.., met] = operands_later(layer, timing);
    let of_beat = cycles_per_atom(layer, timing) / pace(layer, timing).max(1);
    ((met + of_beat as i32).max(0) as u32) + elementwise_later_place(layer, timing)
}

/// Returns the registers that data passes before it meets the operands of BS, BN and EW, less those of the operands, on `master` and
/// `nv_small`.
fn registers_before_operands(layer: &SdpLayer) -> [u32; 3] {
    let before_ew = registers(&layer.bs) + registers(&layer.bn);
    let behind_alu = |stage: &Option<Stage>| {
        let alone =
            |stage: &Stage| stage.operands.is_some_and(|operands| operands.carries == Carries::Multiplier);
        let stage = stage.filter(|stage| alone(stage) && stage.alu.is_some());
        if stage.is_some() { 2 } else { 0 }
    };
    let [bs, bn] = [2 + behind_alu(&layer.bs), 2 + registers(&layer.bs) + behind_alu(&layer.bn)];
    // Operands of EW pass one register more at least, its converter's (`NV_NVDLA_SDP_HLS_Y_int_cvt`).
    [bs, bn, 1 + before_ew]
}

/// From the start of a layer's last atom until the read DMA's first address of the next layer: it is done when the last of what it has
/// read is taken, a cycle later where that is operands (RTL, `NV_NVDLA_SDP_MRDMA_EG_dout`, eg_done; `NV_NVDLA_SDP_RDMA_eg`,
/// alu_layer_done).
pub(super) fn next_read(layer: &SdpLayer, timing: &SdpTiming) -> u32 {
    let of_accumulator = u32::from(layer.source == SdpSource::Accumulator);
    if timing.stage_registers.is_some() {
        return timing.next_read - of_accumulator;
    }
    let stages = [
        layer.bs.and_then(|it| it.operands),
        layer.bn.and_then(|it| it.operands),
        layer.ew.and_then(|it| it.operands),
    ];
    let taken =
        stages.iter().zip(registers_before_operands(layer)).filter(|(operands, _)| operands.is_some());
    let later = taken.map(|(_, later)| later + 1).max().unwrap_or(0);
    // What comes from the accumulator starts a cycle later here than what is read.
    timing.next_read + later - of_accumulator
}

/// Number of atoms that the registers hold in front of the first operands, of layers with any; what waits for these is among them. Looked at on
/// nvdlav1 alone; elsewhere an atom has more beats than they hold, or about as many.
pub(super) fn atoms_before_operands(layer: &SdpLayer, timing: &SdpTiming) -> u32 {
    match reads_operands(layer) && timing.stage_registers.is_some() {
        true => Registers::held_before_operands(layer, timing) / pace(layer, timing).max(1),
        false => 0,
    }
}

/// Returns the cycles from the start of a layer's last atom until its operands have left their lanes on nvdlav1, which is when the beat before
/// meets its own, as the end counts for the last atom's start; `None` if it has none.
pub(super) fn operands_leave(layer: &SdpLayer, registers: u32, timing: &SdpTiming) -> Option<u32> {
    let [bs, bn, ew] = operands_later_by_stage(layer, registers as i32, i32::max);
    let stages = [
        layer.bs.and_then(|it| it.operands),
        layer.bn.and_then(|it| it.operands),
        layer.ew.and_then(|it| it.operands),
    ];
    let of_accumulator = i32::from(layer.source == SdpSource::Accumulator);
    let met = stages.iter().zip([bs, bn, ew - 1]).filter(|(operands, _)| operands.is_some());
    let last = met.map(|(_, later)| later).max()?;
    Some((last + 1 + pace(layer, timing) as i32 + of_accumulator).max(0) as u32)
}

/// End on nvdlav1 of the reads of one stage's operands: the last is taken when the beat before has met its own
/// (`NV_NVDLA_SDP_core.v`, pipe_p1 to p6 have one place).
pub(super) struct OperandsEnd {
    /// Cycles from the meeting of the beat before the last, as if its atom were at its start, to the end as it counts for the last atom's start.
    pub(super) later: u32,
    /// Atoms and cycles as in [`LeftForPooling`].
    pub(super) atoms: u32,
    pub(super) behind_room: u32,
}

impl OperandsEnd {
    /// Of BS, BN and EW, of those that have some.
    pub(super) fn of(layer: &SdpLayer, timing: &SdpTiming) -> [Option<OperandsEnd>; 3] {
        let behind = Registers::default().and(CONVERTER).and(INTO_PDP);
        let ew = if layer.ew.is_some() { ELEMENTWISE.and(behind) } else { behind };
        let bn = Registers::of(&layer.bn, timing).and(ew);
        let ways = [
            Registers::behind_operands(&layer.bs, timing).map(|way| way.and(bn)),
            Registers::behind_operands(&layer.bn, timing).map(|way| way.and(ew)),
            layer.ew.and_then(|stage| stage.operands).map(|_| ew),
        ];
        let mut later = operands_later(layer, timing).into_iter();
        ways.map(|way| {
            let later = (later.next().unwrap_or(0) + 2).max(0) as u32;
            let way = way?;
            let (atoms, left) = last_behind(way.held() + 1, layer, timing);
            // In cycles of the start of an atom, which counts 12 before its way into PDP and the read DMA's address 22 behind it.
            Some(OperandsEnd { later, atoms, behind_room: left + way.backward() + 5 })
        })
    }
}

/// Cycles between the starts of two atoms.
pub(super) fn cycles_per_atom(layer: &SdpLayer, timing: &SdpTiming) -> u32 {
    let cycles = if layer.ew.is_some() { timing.cycles_per_atom_elementwise } else { timing.cycles_per_atom };
    per_atom(layer, cycles)
}

/// Cycles between the starts of two atoms, if the element-wise stage is bypassed.
pub(super) fn pace(layer: &SdpLayer, timing: &SdpTiming) -> u32 {
    per_atom(layer, timing.cycles_per_atom)
}

/// The cycles of an atom of int8 elements, for the format of a layer: its throughput is in elements.
fn per_atom(layer: &SdpLayer, int8: u32) -> u32 {
    int8.div_ceil(layer.precision.bytes() as u32)
}

/// The lines of a surface that has the layer's shape, `together` surfaces for each that is processed: their lines
/// take turns. (How hardware mixes them is not known; it changes when bytes move, not which.)
fn lines(layer: &SdpLayer, surface: Surface, together: u32) -> Lines {
    let SdpLayer { width, height, .. } = *layer;
    Lines { surface, first_column: 0, width, height, surfaces: layer.surfaces() * together, together }
}

/// Number of runs in which a surface is taken, and of the pixels of a run: one run, or where surfaces take turns each line.
pub(super) fn runs(layer: &SdpLayer) -> (u64, u64) {
    let (width, height) = (u64::from(layer.width), u64::from(layer.height));
    if layer.input_atoms().max(layer.output_atoms()) > 1 { (height, width) } else { (1, layer.steps()) }
}

/// Address and bytes of what is written, in order.
pub(super) fn writes(layer: &SdpLayer, surface: Surface) -> Box<dyn Iterator<Item = (u64, u32)>> {
    match layer.order {
        Order::Lines => Box::new(lines(layer, surface, layer.output_atoms()).requests()),
        _ => Box::new(in_order(layer, surface, layer.cube_stride)),
    }
}

/// The runs of a surface in the layer's order.
fn in_order(
    layer: &SdpLayer,
    surface: Surface,
    cube_stride: u32,
) -> impl Iterator<Item = (u64, u32)> + use<> {
    let (order, pairs, width, height) = (layer.order, layer.pairs(), layer.width, layer.height);
    (0..layer.surfaces()).flat_map(move |plane| {
        let runs: Box<dyn Iterator<Item = Run>> = match pairs {
            Some(pairs) => Box::new(pairs.runs(plane)),
            None => Box::new(order.runs(width, height)),
        };
        runs.map(move |run| {
            let cube = u64::from(run.cube).wrapping_mul(cube_stride.into());
            (surface.address(plane, run.x, run.y).wrapping_add(cube), run.count * surface.pixel)
        })
    })
}

/// Returns what SDP_RDMA reads for the main input.
pub(super) fn main_reads(layer: &SdpLayer) -> Option<Lines> {
    match layer.source {
        SdpSource::Accumulator => None,
        SdpSource::Memory(surface) => Some(lines(layer, surface, layer.input_atoms())),
    }
}

/// Reads of one input of SDP: address and bytes in order, and how they lie in lines.
pub(super) struct Reads {
    pub(super) shape: Shape,
    pub(super) requests: Box<dyn Iterator<Item = (u64, u32)>>,
}

impl Reads {
    pub(super) fn of(lines: Lines, atom: usize, together: usize) -> Reads {
        Reads { shape: shape(&lines, atom, together), requests: Box::new(lines.requests()) }
    }

    /// Of a stage's operands. Of several cubes they are the same, and are read once.
    pub(super) fn operands(layer: &SdpLayer, operands: &OperandStream) -> Reads {
        let surface = operands.surface;
        let together = operands.group_bytes(layer.lanes()) / layer.atom;
        let repeats = if operands.per_element { 1 } else { u64::from(layer.width) * u64::from(layer.height) };
        let untaken = operands.is_half_taken.then_some(repeats);
        // Of several cubes each entry is written whole, to twice as many lanes (RTL, branch nvdlav1, `NV_NVDLA_SDP_ERDMA_eg.v`, need_extra_rod).
        let words = if layer.order.cubes() > 1 { 1 } else { layer.lanes().div_ceil(Shape::WORD) };
        if layer.order != Order::Tiles || !operands.per_element {
            let mut reads = Reads::of(lines(layer, surface, 1), layer.atom, together);
            reads.shape = Shape { words, untaken, ..reads.shape };
            return reads;
        }
        let requests = Box::new(in_order(layer, surface, 0));
        let per_surface = layer.order.runs(layer.width, layer.height).count() as u64;
        let runs = u64::from(layer.surfaces()) * per_surface;
        let atoms = layer.steps() / per_surface.max(1) * u64::from(surface.pixel) / layer.atom as u64;
        Reads { shape: Shape { ram: surface.ram, lines: runs, atoms, together, words, untaken }, requests }
    }
}

/// Returns true if any stage has operands in memory.
pub(super) fn reads_operands(layer: &SdpLayer) -> bool {
    let stages = [
        layer.bs.and_then(|it| it.operands),
        layer.bn.and_then(|it| it.operands),
        layer.ew.and_then(|it| it.operands),
    ];
    stages.iter().any(Option::is_some)
}

/// Returns the shape in lines of the atoms of some reads, if so many are used together.
pub(super) fn shape(lines: &Lines, atom: usize, together: usize) -> Shape {
    let packed = lines.surface.packing == Packing::Packed;
    let per_pixel = u64::from(lines.surface.pixel) / atom as u64;
    let (count, pixels) = if packed {
        (1, u64::from(lines.surfaces))
    } else {
        (u64::from(lines.surfaces) * u64::from(lines.height), u64::from(lines.width))
    };
    Shape {
        ram: lines.surface.ram,
        lines: count,
        atoms: pixels * per_pixel,
        together,
        words: 1,
        untaken: None,
    }
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
