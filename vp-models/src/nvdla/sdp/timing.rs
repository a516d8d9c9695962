//! SDP's timing: how long the stages of a layer take, and which reads it makes.

use super::feed::Shape;
use super::layer::{Carries, Elementwise, OperandStream, SdpLayer, SdpSource, Stage};
use super::pipeline::{Operator, Registers, operators};
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

/// Registers of the stages that data passes.
pub(super) fn registers_passed(layer: &SdpLayer, timing: &SdpTiming) -> u32 {
    let ew = layer.ew.as_ref().map_or(0, |ew| passed_elementwise(ew, timing));
    passed(&layer.bs, timing) + passed(&layer.bn, timing) + ew
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
pub(super) fn elementwise(ew: &Elementwise) -> u32 {
    2 + 2 * u32::from(ew.multiplier.is_some())
        + 2 * u32::from(ew.alu.is_some())
        + if ew.lut.is_some() { 10 } else { 0 }
}

/// Registers of the ALU of BS and of BN on nvdlav1 (`NV_NVDLA_SDP_CORE_x.v`, `X_alu`), in front of the multiplier.
pub(super) const NVDLAV1_ALU: u32 = 5;

/// Cycles from an atom's start, later by those that its operands may come later, until the first word of the multiplier's in BS or BN on nvdlav1, of
/// a stage that takes the ALU's too, has left the registers in front (seen at sdp_nrdma2dp_alu_valid and sdp_nrdma2dp_mul_ready).
pub(super) const NVDLAV1_MULTIPLIER_LEAVES: u32 = NVDLAV1_ALU + 1;

/// Cycles by which operands of EW on nvdlav1 may come later than the data, of ALU and multiplier (seen at the inputs of
/// `NV_NVDLA_SDP_core.v`: ew_data_in, ew_alu_in, ew_mul_in).
const NVDLAV1_EW_ALU: i32 = 3;
const NVDLAV1_EW_MULTIPLIER: i32 = -1;

/// Returns the cycles by which the operands of each stage, of BS, BN and EW, may come later than the atom's own data: the registers that
/// data passes before it meets them, less those of the operands (`NV_NVDLA_SDP_core`: data `u_dpin_pack`, `NV_NVDLA_SDP_cmux` and the
/// stage's `dppack`, operands `u_bs_alu_pack`; each stage waits for both in `NV_NVDLA_SDP_HLS_sync2data`).
pub(super) fn operands_later(layer: &SdpLayer, timing: &SdpTiming) -> [i32; 3] {
    let Some(registers) = timing.stage_registers else {
        return registers_before_operands(layer).map(|registers| registers as i32);
    };
    let stages = [
        layer.bs.and_then(|stage| stage.operands),
        layer.bn.and_then(|stage| stage.operands),
        layer.ew.and_then(|stage| stage.operands),
    ];
    let later = later_of_operators(layer, registers);
    std::array::from_fn(|stage| {
        // Of a stage without operands nothing waits.
        let operators = stages[stage].map_or(&[Operator::Alu][..], operators);
        let of_operators = operators.iter().map(|&operator| later[stage][operator as usize]);
        of_operators.min().unwrap_or(0)
    })
}

/// Returns the cycles by which operands of ALU and multiplier of each stage of nvdlav1 may come to their register later than data to SDP's input. Its
/// stages have `registers` each, whatever they bypass. In BS and BN the
/// multiplier is behind the five registers of the ALU (RTL, `NV_NVDLA_SDP_CORE_x.v`), in EW it is in front of the ALU, and its operand, which is
/// converted, must be there a cycle before the data (seen at the inputs of `NV_NVDLA_SDP_core.v`: bs_data_in, bs_alu_in, bs_mul_in, and of bn and ew).
pub(super) fn later_of_operators(layer: &SdpLayer, registers: u32) -> [[i32; 2]; 3] {
    let of_stage = |before: u32| [before + 2, before + 2 + NVDLAV1_ALU].map(|later| later as i32);
    let before_bn = registers * u32::from(layer.bs.is_some());
    let before_ew = before_bn + registers * u32::from(layer.bn.is_some());
    let of_ew = [NVDLAV1_EW_ALU, NVDLAV1_EW_MULTIPLIER].map(|later| before_ew as i32 + later);
    [of_stage(0), of_stage(before_bn), of_ew]
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
    if timing.stage_registers.is_some() {
        return timing.next_read;
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
    let of_accumulator = u32::from(layer.source == SdpSource::Accumulator);
    timing.next_read + later - of_accumulator
}

/// Numbers of atoms that the registers hold in front of the operands of BS, BN and EW, of layers with any; what waits for these is among them.
/// Looked at on nvdlav1 alone; elsewhere an atom has more beats than they hold, or about as many.
pub(super) fn atoms_before_operands(layer: &SdpLayer, timing: &SdpTiming) -> [u32; 3] {
    match reads_operands(layer) && timing.stage_registers.is_some() {
        true => {
            let beats = pace(layer, timing).max(1);
            Registers::held_before_operands(layer, timing).map(|held| held / beats)
        }
        false => [0; 3],
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
    pub(super) fn operands(layer: &SdpLayer, operands: &OperandStream, timing: &SdpTiming) -> Reads {
        let surface = operands.surface;
        let together = operands.group_bytes(layer.lanes()) / layer.atom;
        let repeats = if operands.per_element { 1 } else { u64::from(layer.width) * u64::from(layer.height) };
        let untaken = operands.is_half_taken.then_some(repeats);
        // Of several cubes each entry is written whole, to twice as many lanes (RTL, branch nvdlav1, `NV_NVDLA_SDP_ERDMA_eg.v`, need_extra_rod).
        let words = if layer.order.cubes() > 1 { 1 } else { layer.lanes().div_ceil(Shape::WORD) };
        let leaves_later = leaves_later(layer, operands, timing);
        if layer.order != Order::Tiles || !operands.per_element {
            let mut reads = Reads::of(lines(layer, surface, 1), layer.atom, together);
            reads.shape = Shape { words, untaken, leaves_later, ..reads.shape };
            return reads;
        }
        let requests = Box::new(in_order(layer, surface, 0));
        let per_surface = layer.order.runs(layer.width, layer.height).count() as u64;
        let runs = u64::from(layer.surfaces()) * per_surface;
        let atoms = layer.steps() / per_surface.max(1) * u64::from(surface.pixel) / layer.atom as u64;
        let shape = Shape { ram: surface.ram, lines: runs, atoms, together, words, untaken, leaves_later };
        Reads { shape, requests }
    }
}

/// Returns true if a stage takes operands of ALU and multiplier, new ones for each atom. (Of several cubes they go to more lanes.) Not of BN where
/// BS has new ones for each atom, too: of both stages the same number comes, and it is BS that holds up the other.
pub(super) fn takes_both(layer: &SdpLayer, operands: &OperandStream) -> bool {
    let OperandStream { carries, per_element, is_half_taken, .. } = *operands;
    let of_bs = layer.bs.and_then(|stage| stage.operands);
    let is_behind_bs = of_bs.is_some_and(|of_bs| of_bs.per_element && of_bs != *operands);
    carries == Carries::Both && per_element && !is_half_taken && !is_behind_bs && layer.order.cubes() == 1
}

/// Returns true if atoms wait in front of EW, which takes longer for one than the stages in front.
pub(super) fn waits_for_elementwise(layer: &SdpLayer, timing: &SdpTiming) -> bool {
    layer.ew.is_some() && cycles_per_atom(layer, timing) / pace(layer, timing).max(1) > 1
}

/// Returns the operator, the last that takes them, whose operands leave their places later than the atom starts for which they are, if that shows: those
/// of BS and BN that are new for each atom, of a stage with both operators, or where atoms wait in front of EW.
pub(super) fn leaves_later(
    layer: &SdpLayer,
    operands: &OperandStream,
    timing: &SdpTiming,
) -> Option<Operator> {
    if is_met_behind(layer, operands, timing) {
        return operators(*operands).last().copied();
    }
    takes_both(layer, operands).then_some(Operator::Multiplier)
}

/// Returns true if operands of BS or BN leave when an atom meets them that may have waited in front of EW. (Of several cubes they go to more lanes.)
pub(super) fn is_met_behind(layer: &SdpLayer, operands: &OperandStream, timing: &SdpTiming) -> bool {
    let is_new = operands.per_element && !operands.is_half_taken && layer.order.cubes() == 1;
    is_new && timing.stage_registers.is_some() && waits_for_elementwise(layer, timing)
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
        leaves_later: None,
    }
}
