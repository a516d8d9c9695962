//! SDP's shape in time: how long the stages of a layer take, and which reads it makes.

use super::feed::Shape;
use super::layer::{Elementwise, OperandStream, SdpLayer, SdpSource, Stage};
use crate::nvdla::cube::{Packing, Surface};
use crate::nvdla::dma::Lines;
use crate::nvdla::order::Order;
use crate::nvdla::timing::SdpTiming;

/// From the start of an atom to its write address, with the stages that take part.
///
/// BS and BN take three cycles each, two more for the ALU and for the multiplier, and one for an operand
/// from memory where an element passes a cycle; ReLU and PReLU are free. EW takes ten, or sixteen with its table.
pub(super) fn output_latency(layer: &SdpLayer, timing: &SdpTiming) -> u32 {
    let stage = |stage: &Option<Stage>| {
        stage.map_or(0, |stage| {
            3 + 2 * u32::from(stage.alu.is_some())
                + 2 * u32::from(stage.multiplier.is_some())
                + if stage.operands.is_some() { timing.operand } else { 0 }
        })
    };
    let elementwise = |ew: &Option<Elementwise>| ew.map_or(0, |ew| if ew.lut.is_some() { 16 } else { 10 });
    // The elements of an atom come one after the other; of wider ones there are fewer.
    let fewer = timing.cycles_per_atom - per_atom(layer, timing.cycles_per_atom);
    timing.output - fewer + stage(&layer.bs) + stage(&layer.bn) + elementwise(&layer.ew)
}

/// Cycles between the starts of two atoms.
pub(super) fn cycles_per_atom(layer: &SdpLayer, timing: &SdpTiming) -> u32 {
    let cycles = if layer.ew.is_some() { timing.cycles_per_atom_elementwise } else { timing.cycles_per_atom };
    per_atom(layer, cycles)
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

/// How many runs of how many pixels a surface is taken in: one, or where surfaces take turns each line.
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
    let (order, width, height) = (layer.order, layer.width, layer.height);
    (0..layer.surfaces()).flat_map(move |plane| {
        order.runs(width, height).map(move |run| {
            let cube = u64::from(run.cube).wrapping_mul(cube_stride.into());
            (surface.address(plane, run.x, run.y).wrapping_add(cube), run.count * surface.pixel)
        })
    })
}

/// What SDP_RDMA reads for the main input.
pub(super) fn main_reads(layer: &SdpLayer) -> Option<Lines> {
    match layer.source {
        SdpSource::Accumulator => None,
        SdpSource::Memory(surface) => Some(lines(layer, surface, layer.input_atoms())),
    }
}

/// What one input of SDP reads: address and bytes in order, and how they lie in lines.
pub(super) struct Reads {
    pub(super) shape: Shape,
    pub(super) requests: Box<dyn Iterator<Item = (u64, u32)>>,
}

impl Reads {
    pub(super) fn of(lines: Lines, atom: usize) -> Reads {
        Reads { shape: shape(&lines, atom), requests: Box::new(lines.requests()) }
    }

    /// Of a stage's operands. Of several cubes they are the same, and are read once.
    pub(super) fn operands(layer: &SdpLayer, operands: &OperandStream) -> Reads {
        let surface = operands.surface;
        if layer.order != Order::Tiles || !operands.per_element {
            return Reads::of(lines(layer, surface, 1), layer.atom);
        }
        let requests = Box::new(in_order(layer, surface, 0));
        let per_surface = layer.order.runs(layer.width, layer.height).count() as u64;
        let runs = u64::from(layer.surfaces()) * per_surface;
        let atoms = layer.steps() / per_surface.max(1) * u64::from(surface.pixel) / layer.atom as u64;
        Reads { shape: Shape { ram: surface.ram, lines: runs, atoms }, requests }
    }
}

/// Whether any stage has operands in memory.
pub(super) fn reads_operands(layer: &SdpLayer) -> bool {
    let stages = [
        layer.bs.and_then(|it| it.operands),
        layer.bn.and_then(|it| it.operands),
        layer.ew.and_then(|it| it.operands),
    ];
    stages.iter().any(Option::is_some)
}

/// How the atoms of some reads lie in lines.
pub(super) fn shape(lines: &Lines, atom: usize) -> Shape {
    let packed = lines.surface.packing == Packing::Packed;
    let per_pixel = u64::from(lines.surface.pixel) / atom as u64;
    let (count, pixels) = if packed {
        (1, u64::from(lines.surfaces))
    } else {
        (u64::from(lines.surfaces) * u64::from(lines.height), u64::from(lines.width))
    };
    Shape { ram: lines.surface.ram, lines: count, atoms: pixels * per_pixel }
}
