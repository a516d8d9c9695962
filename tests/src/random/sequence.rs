//! Sequences of layers of all engines, drawn from a seed, as traces that program two layers at a time.

use std::collections::{BTreeMap, BTreeSet};

use vp_host::Memory;
use vp_host::trace::cfg::CfgCommand;
use vp_host::trace::{RegisterName, Trace, TraceBuilder};
use vp_models::nvdla::glb::Interrupt;
use vp_models::nvdla::registers::RegisterMap;

use super::{ConvolutionKind, Draw};
use crate::program::{BufferUse, Program};
use crate::reference::{
    self, CdpLayer, ConvInput, ConvLayer, Elementwise, Image, Lut, PdpLayer, SdpLayer, WeightOrder,
};

/// A layer of one engine, or of several that feed each other.
#[derive(Clone, Debug)]
pub enum Layer {
    /// The convolution core, with SDP behind it.
    Convolution(Box<ConvLayer>, BufferUse),
    /// PDP behind those.
    ConvolutionToPdp(Box<ConvLayer>, BufferUse, PdpLayer),
    /// SDP from memory to memory.
    Sdp(SdpLayer),
    /// SDP from memory, PDP behind it.
    SdpToPdp(SdpLayer, PdpLayer),
    /// PDP from memory to memory.
    Pdp(PdpLayer),
    /// CDP.
    Cdp(CdpLayer),
}

const CONVOLUTION: [&str; 3] = ["CACC", "CDMA_DAT", "CDMA_WT"];

impl Layer {
    /// Returns the layer's register writes into group 0, enables included.
    fn program(&self, map: RegisterMap) -> Program {
        let mut program = Program::new(map);
        match self {
            Layer::Convolution(layer, buffer) => {
                program.convolution(layer, buffer, 0);
                program.enable_convolution(layer, 0, true);
            }
            Layer::ConvolutionToPdp(layer, buffer, pdp) => {
                program.convolution(layer, buffer, 0);
                program.pdp(pdp, 0);
                program.enable_pdp(pdp, 0);
                program.enable_convolution(layer, 0, true);
            }
            Layer::Sdp(layer) => {
                program.sdp(layer, 0);
                program.enable_sdp(0);
            }
            Layer::SdpToPdp(layer, pdp) => {
                program.sdp(layer, 0);
                program.pdp(pdp, 0);
                program.enable_pdp(pdp, 0);
                program.enable_sdp(0);
            }
            Layer::Pdp(layer) => {
                program.pdp(layer, 0);
                program.enable_pdp(layer, 0);
            }
            Layer::Cdp(layer) => {
                program.cdp(layer, 0);
                program.enable_cdp(0);
            }
        }
        program
    }

    /// The units that interrupt, the last one last.
    fn interrupts(&self) -> Vec<&'static str> {
        let last: &[&str] = match self {
            Layer::Convolution(..) | Layer::Sdp(_) => &["SDP"],
            Layer::ConvolutionToPdp(..) | Layer::SdpToPdp(..) => &["SDP", "PDP"],
            Layer::Pdp(_) => &["PDP"],
            Layer::Cdp(_) => &["CDP"],
        };
        let convolves = matches!(self, Layer::Convolution(..) | Layer::ConvolutionToPdp(..));
        CONVOLUTION.iter().take(if convolves { 3 } else { 0 }).chain(last).copied().collect()
    }

    fn output(&self) -> u64 {
        let place = match self {
            Layer::Convolution(layer, _) => layer.sdp.destination,
            Layer::Sdp(layer) => layer.destination,
            Layer::ConvolutionToPdp(_, _, pdp) | Layer::SdpToPdp(_, pdp) | Layer::Pdp(pdp) => {
                Some(pdp.destination)
            }
            Layer::Cdp(layer) => Some(layer.destination),
        };
        place.expect("a layer that writes memory").base
    }

    /// Writes what must come out.
    fn run(&self, lut: &Lut, image: &mut Image) {
        match self {
            Layer::Convolution(layer, _) => reference::run_convolution(layer, image),
            Layer::ConvolutionToPdp(layer, _, pdp) => {
                reference::run_convolution_to_pdp(layer, pdp, image);
            }
            Layer::Sdp(layer) => reference::run_sdp(layer, lut, image),
            Layer::SdpToPdp(layer, pdp) => reference::run_sdp_to_pdp(layer, pdp, image),
            Layer::Pdp(layer) => reference::run_pdp(layer, image),
            Layer::Cdp(layer) => reference::run_cdp(layer, lut, image),
        }
    }
}

/// State that a layer may leave behind for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// State that the next layer takes, and no other: the references' bytes come out.
    WhatIsTaken,
    /// Any state, with weights in units of 128 bytes, and input and weights that are kept for nobody: what comes out is the hardware's.
    Anything,
}

/// Layers in turns of the register groups.
pub struct Sequence {
    /// The layers, in order.
    pub layers: Vec<Layer>,
    /// The program, memory, and checks of what each layer leaves by the references.
    pub trace: Trace,
}

impl Draw {
    /// Draws `count` layers or one more, of any engine the configuration has.
    ///
    /// # Panics
    /// When they make no trace, which is a mistake in here.
    pub fn sequence(&mut self, name: &str, count: usize, leaves: Leaves) -> Sequence {
        let config = self.config();
        let lut = self.lut();
        let mut layers = Vec::new();
        let mut last = None;
        while layers.len() < count {
            let kind = self.any(0..12);
            let layer = match kind {
                6 | 7 if config.pdp => Layer::Pdp(self.whole_input(Draw::pdp)),
                8 if config.pdp => {
                    let sdp = self.sdp(false);
                    let sdp = SdpLayer { ew: without_lut(sdp.ew), ..sdp };
                    let pdp = self.whole_input(|draw| draw.pdp_behind(&sdp));
                    Layer::SdpToPdp(sdp, pdp)
                }
                9 => {
                    let sdp = self.sdp(true);
                    Layer::Sdp(SdpLayer { ew: without_lut(sdp.ew), ..sdp })
                }
                10 if config.cdp => Layer::Cdp(self.cdp()),
                11 if config.pdp => {
                    let (layer, buffer) = self.convolution(false);
                    let mut layer = self.taking_operands(layer);
                    layer.sdp.destination = None;
                    let pdp = self.whole_input(|draw| draw.pdp_behind(&layer.sdp));
                    Layer::ConvolutionToPdp(Box::new(layer), buffer, pdp)
                }
                _ => {
                    let pair = self.convolution_of_sequence(leaves);
                    let chained = self.one_in(3) && count > 1;
                    if let Some(next) = chained.then(|| self.reusing(&pair)).flatten() {
                        let (first, second) = next;
                        layers.push(Layer::Convolution(Box::new(first.0), first.1));
                        Layer::Convolution(Box::new(second.0), second.1)
                    } else {
                        Layer::Convolution(Box::new(pair.0), pair.1)
                    }
                }
            };
            // Banks stay as they were now and then: what the layer before left is in front.
            let layer = match (layer, last) {
                (Layer::Convolution(layer, buffer), Some(banks))
                    if self.one_in(2) && buffer.reuse == [false; 2] =>
                {
                    let fits = buffer.banks.iter().zip(banks).all(|(least, there)| *least <= there);
                    let banks = if fits { banks } else { buffer.banks };
                    Layer::Convolution(layer, BufferUse { banks, ..buffer })
                }
                (layer, _) => layer,
            };
            if let Layer::Convolution(_, buffer) | Layer::ConvolutionToPdp(_, buffer, _) = &layer {
                last = Some(buffer.banks);
            }
            layers.push(layer);
        }
        let trace = self.trace(name, &layers, &lut);
        Sequence { layers, trace }
    }

    fn convolution_of_sequence(&mut self, leaves: Leaves) -> (ConvLayer, BufferUse) {
        let kind = [
            ConvolutionKind::Feature,
            ConvolutionKind::Feature,
            ConvolutionKind::Image,
            ConvolutionKind::Batches,
            ConvolutionKind::Winograd,
        ][self.any(0..5)];
        let compresses = self.one_in(3);
        let (layer, mut buffer) = self.convolution_of(kind, compresses);
        let mut layer = self.taking_operands(layer);
        if leaves == Leaves::Anything {
            if layer.mode.compressed.is_none() && self.one_in(2) {
                layer.order = WeightOrder { unit: 128, ..layer.order };
            }
            if self.one_in(3) {
                buffer.keep = [self.one_in(2), self.one_in(2)];
            }
        }
        (layer, buffer)
    }

    /// Every other one without operands in memory.
    fn taking_operands(&mut self, layer: ConvLayer) -> ConvLayer {
        if self.one_in(2) { layer } else { Draw::without_operands(&layer) }
    }

    /// A layer that keeps input, weights or both, and one that takes them.
    fn reusing(
        &mut self,
        (layer, buffer): &(ConvLayer, BufferUse),
    ) -> Option<((ConvLayer, BufferUse), (ConvLayer, BufferUse))> {
        let buffer = self.with_room_for_all_weights(layer, *buffer)?;
        let config = self.config();
        let bank = config.cbuf_entries_per_bank() * config.cbuf_entry_bytes();
        if layer.mode.compressed.as_ref().is_some_and(|it| it.mask.1 > bank) {
            return None;
        }
        let reuse = [[true, false], [false, true], [true, true]][self.any(0..3)];
        let destination = self.output_of(layer);
        let sdp = SdpLayer { destination: Some(destination), ..layer.sdp.clone() };
        let mut second = ConvLayer { sdp, truncate: 9 - layer.truncate, ..layer.clone() };
        if !reuse[1] && layer.mode.compressed.is_none() {
            second.weights = self.region(layer.format.atom, u64::from(layer.weight_bytes()));
        }
        let own_input = !reuse[0] && layer.mode.batches.is_none() && self.one_in(2);
        if let (ConvInput::Feature(_), true) = (&layer.input, own_input) {
            let place = self.cube(layer.format, [layer.size[0], layer.size[1], layer.channels]);
            second.input = ConvInput::Feature(place);
        }
        let grain = buffer.grain.filter(|_| !own_input);
        let second = Draw::with_own_operands(second);
        let first_use = BufferUse { keep: reuse, reuse: [false; 2], ..buffer };
        let second_use = BufferUse { reuse, keep: [false; 2], grain, ..buffer };
        let has_room = second_use.reuse[1] || self.finds_room(&second, &second_use);
        has_room.then(|| ((layer.clone(), first_use), (second, second_use)))
    }

    /// A layer of PDP whose last windows end where padding and input do: anything else stops the RTL, or the next layer on it
    /// (docs/programming.md).
    fn whole_input(&mut self, mut draw: impl FnMut(&mut Draw) -> PdpLayer) -> PdpLayer {
        loop {
            let layer = draw(self);
            let out = [layer.out_width(), layer.out_height()];
            let size = [layer.width, layer.height];
            if (0..2).all(|axis| {
                let end = (out[axis] - 1) * layer.stride[axis] + layer.kernel[axis];
                end == layer.before[axis] + size[axis] + layer.after[axis]
            }) {
                return layer;
            }
        }
    }

    fn trace(&self, name: &str, layers: &[Layer], lut: &Lut) -> Trace {
        let map = self.config().register_map;
        let programs: Vec<Program> = layers.iter().map(|layer| layer.program(map)).collect();
        // What was drawn and not taken stays out.
        let written = programs.iter().flat_map(|program| &program.writes);
        let addresses = written.filter(|write| write.register.name.contains("ADDR_LOW"));
        let used: BTreeSet<u64> = addresses.map(|write| write.value.into()).collect();
        let all = self.image();
        let regions = all.regions().iter();
        let taken: Vec<_> = regions
            .filter(|(base, bytes)| used.range(*base..base + bytes.len() as u64).next().is_some())
            .cloned()
            .collect();
        let mut expected = self.image();
        layers.iter().for_each(|layer| layer.run(lut, &mut expected));

        let mut builder = TraceBuilder::new(name);
        for (index, (base, bytes)) in taken.iter().enumerate() {
            builder = builder.place(memory(*base), *base, &format!("{name}_{index}.dat"), bytes);
        }
        let flushed = RegisterName::parse("CDMA.S_CBUF_FLUSH_STATUS").expect("a register");
        builder = builder.command(CfgCommand::PollRegEqual { register: flushed, value: 1 });
        let mut tables = Program::new(map);
        if layers.iter().any(|layer| matches!(layer, Layer::Cdp(_))) {
            tables.cdp_lut(lut);
        }
        for write in &tables.writes {
            builder = builder.write(&format!("{}.{}", write.unit, write.register.name), write.value);
        }
        let mut turns = Turns::default();
        for (index, (layer, program)) in layers.iter().zip(&programs).enumerate() {
            builder = turns.add(builder, index, layers, program);
            let last = layer.interrupts().last().copied().expect("an interrupt");
            let (base, bytes) = region(&expected, layer.output());
            builder = builder.check(&event(index, last), memory(base), base, &whole_words(bytes));
        }
        builder.build().unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

/// Layers that each unit's groups hold, and those that each unit's register stream has waited for.
#[derive(Default)]
struct Turns {
    taken: BTreeMap<String, u32>,
    holders: BTreeMap<(String, u32), usize>,
    awaited: BTreeSet<usize>,
    seen: BTreeMap<String, BTreeSet<usize>>,
}

impl Turns {
    /// A layer is programmed when those that have had its groups are over, and all that layers before it waited for.
    fn add(
        &mut self,
        mut builder: TraceBuilder,
        index: usize,
        layers: &[Layer],
        program: &Program,
    ) -> TraceBuilder {
        let enables = program.writes.iter().filter(|write| write.register.name == "D_OP_ENABLE");
        let units: BTreeSet<String> = enables.map(|write| write.unit.to_string()).collect();
        let groups: BTreeMap<&String, u32> =
            units.iter().map(|unit| (unit, self.taken.get(unit).copied().unwrap_or(0) % 2)).collect();
        for (unit, group) in &groups {
            self.awaited.extend(self.holders.get(&((*unit).clone(), *group)));
        }
        for unit in &units {
            let seen = self.seen.entry(unit.clone()).or_default();
            for before in &self.awaited {
                if seen.insert(*before) {
                    for interrupt in layers[*before].interrupts() {
                        let event = event(*before, interrupt);
                        builder = builder.command(CfgCommand::SyncWait { block: unit.clone(), event });
                    }
                }
            }
        }
        for write in &program.writes {
            let unit = write.unit.to_string();
            let Some(group) = groups.get(&unit) else { continue };
            let value = if write.register.name == "S_POINTER" { *group } else { write.value };
            builder = builder.write(&format!("{unit}.{}", write.register.name), value);
        }
        for interrupt in layers[index].interrupts() {
            let unit = if interrupt.starts_with("CDMA") { "CDMA" } else { interrupt };
            let source = Interrupt::parse(&format!("{interrupt}_{}", groups[&unit.to_owned()]));
            builder = builder.interrupt(source.expect("an interrupt"), &event(index, interrupt));
        }
        for (unit, group) in groups {
            self.holders.insert((unit.clone(), group), index);
            *self.taken.entry(unit.clone()).or_default() += 1;
        }
        builder
    }
}

fn event(layer: usize, interrupt: &str) -> String {
    format!("layer{}_{}", layer + 1, interrupt.to_lowercase())
}

fn memory(address: u64) -> Memory {
    if address < 0x8000_0000 { Memory::Secondary } else { Memory::Primary }
}

fn region(image: &Image, at: u64) -> (u64, &[u8]) {
    let holds = |(base, bytes): &&(u64, Vec<u8>)| (*base..base + bytes.len() as u64).contains(&at);
    let (base, bytes) = image.regions().iter().find(holds).expect("a region of the draw");
    (*base, bytes)
}

/// Checks are made of words; regions are of atoms.
fn whole_words(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len() / 4 * 4].to_vec()
}

fn without_lut(ew: Option<Elementwise>) -> Option<Elementwise> {
    ew.map(|ew| Elementwise { lut: false, ..ew })
}
