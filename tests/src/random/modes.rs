//! Convolutions in the modes that only the larger configurations have.

use super::Draw;
use crate::compression::{Streams, compress};
use crate::program::BufferUse;
use crate::reference::{
    Batches, Compressed, ConvInput, ConvLayer, CubePlace, Mode, SdpLayer, WeightOrder, Winograd,
};

/// Kinds of convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvolutionKind {
    /// Of a feature cube.
    Feature,
    /// Of an image.
    Image,
    /// Of several cubes.
    Batches,
    /// By Winograd's method.
    Winograd,
}

impl Draw {
    /// A convolution of some kind, or a plain one where the configuration lacks that; its weights compressed if it has that
    /// and they may.
    pub fn convolution_of(&mut self, kind: ConvolutionKind, compresses: bool) -> (ConvLayer, BufferUse) {
        self.finding_room(|draw| draw.any_convolution_of(kind, compresses))
    }

    fn any_convolution_of(&mut self, kind: ConvolutionKind, compresses: bool) -> (ConvLayer, BufferUse) {
        let config = self.description().nvdla().unwrap().config.clone();
        let (layer, buffer) = match kind {
            ConvolutionKind::Image => self.any_convolution(true),
            ConvolutionKind::Batches if config.batch => self.any_batches(),
            ConvolutionKind::Winograd if config.winograd => self.any_winograd(),
            _ => self.any_convolution(false),
        };
        let compressed = (compresses && config.weight_compression).then(|| self.compressed(&layer, &buffer));
        (compressed.flatten().unwrap_or(layer), buffer)
    }

    /// Places for so many cubes like one, with the bytes from one to the next.
    fn cubes(&mut self, place: CubePlace, count: u32, surfaces: u32, atom: u32) -> (CubePlace, u32) {
        let stride = place.surface * surfaces + atom * self.any(0..4);
        let memory = usize::from(place.base >= 0x8000_0000);
        (
            CubePlace { base: self.region_in(memory, atom, u64::from(stride) * u64::from(count)), ..place },
            stride,
        )
    }

    /// A convolution of as many cubes as fit the buffer, up to what the configuration takes.
    pub fn batches(&mut self) -> (ConvLayer, BufferUse) {
        self.finding_room(Draw::any_batches)
    }

    fn any_batches(&mut self) -> (ConvLayer, BufferUse) {
        let (mut layer, mut buffer) = self.any_convolution(false);
        let config = self.description().nvdla().unwrap().config.clone();
        let room = (config.cbuf_banks - buffer.banks[1]) * config.cbuf_entries_per_bank();
        let most = (room / (buffer.entries * layer.size[1])).min(config.max_batch);
        if most < 2 {
            return (layer, buffer);
        }
        let count = if self.one_in(12) { most } else { self.any(2..most.min(5) + 1) };
        let ConvInput::Feature(place) = layer.input else { return (layer, buffer) };
        let (format, destination) =
            (layer.format, layer.sdp.destination.expect("a layer that writes memory"));
        let surfaces = |channels: u32| channels.div_ceil(format.lanes());
        let (source, input) = self.cubes(place, count, surfaces(layer.channels), format.atom);
        let (results, output) = self.cubes(destination, count, surfaces(layer.kernels), format.atom);
        layer.input = ConvInput::Feature(source);
        layer.sdp = SdpLayer { destination: Some(results), ..layer.sdp };
        layer.mode.batches = Some(Batches { count, input, output });
        let least = BufferUse::least(&config, &layer);
        buffer.banks[0] = least.banks[0];
        (Draw::with_own_operands(layer), buffer)
    }

    /// Returns the layer with operands of each channel where the RTL gives pixels of several cubes the operands of others, or waits for ever
    /// (docs/timing.md).
    pub(super) fn with_own_operands(mut layer: ConvLayer) -> ConvLayer {
        let (Some(_), Some(place)) = (layer.mode.batches, layer.sdp.destination) else { return layer };
        let entry = 2 * u64::from(layer.format.atom);
        let is_aligned = [place.base, place.line.into(), place.surface.into()].map(|it| it % entry == 0);
        let own = match [layer.sdp.width, layer.sdp.height] {
            [1, 1] => layer.kernels <= layer.format.lanes(),
            [1, _] => true,
            _ => is_aligned == [true; 3],
        };
        if !own {
            let stages = [&mut layer.sdp.bs, &mut layer.sdp.bn].into_iter().flatten();
            let operands = stages.map(|stage| &mut stage.operands);
            let all = operands.chain(layer.sdp.ew.iter_mut().map(|ew| &mut ew.operands));
            all.flatten().for_each(|operands| operands.per_element = false);
        }
        layer
    }

    /// A convolution by Winograd's method.
    pub fn winograd(&mut self) -> (ConvLayer, BufferUse) {
        self.finding_room(Draw::any_winograd)
    }

    fn any_winograd(&mut self) -> (ConvLayer, BufferUse) {
        let (format, config) = (self.format(), self.description().nvdla().unwrap().config.clone());
        let step = if self.one_in(2) { [1, 1] } else { [self.any(1..4), self.any(1..4)] };
        let most = if step == [1, 1] { 4 } else { 2 };
        let channels = format.lanes() * self.any(1..most);
        let [horizontal, vertical] = step.map(|step| {
            let all = step * 4 * self.any(2..5);
            let before = self.any(0..4u32);
            let after = self.any(0..(all - before).min(20));
            [before, all - before - after, after]
        });
        let [before, size, after] = [0, 1, 2].map(|of| [horizontal[of], vertical[of]]);
        let input = self.cube(format, [size[0], size[1], channels]);
        let group = config.mac_atomic_k / format.element;
        let kernels = self.any(1..2 * group + 5);
        let kernel_bytes = 16 * channels * step[0] * step[1] * format.element;
        let weights = self.region(format.atom, u64::from((kernels * kernel_bytes).next_multiple_of(128)));
        let winograd = Winograd { truncate: self.any(0..4), step };
        let mut layer = ConvLayer {
            format,
            input: ConvInput::Feature(input),
            size,
            channels,
            kernel: [4, 4],
            stride: [1, 1],
            dilation: [1, 1],
            before,
            after,
            padding: self.any(-200..200),
            mode: Mode { winograd: Some(winograd), ..Mode::default() },
            floats_in_memory: false,
            converter: self.input_converter(format, false),
            kernels,
            weights,
            order: WeightOrder { group, block: 4, unit: WeightOrder::unit(&config) },
            rows_at_once: 1,
            truncate: self.any(0..9),
            sdp: self.sdp(true),
        };
        layer.sdp = self.behind(&layer);
        let buffer = self.buffer_use(&config, &layer, false);
        (layer, buffer)
    }

    /// Returns the layer with weights of which some are zero, and compressed. `None` where the masks' bank is taken.
    pub fn compressed(&mut self, layer: &ConvLayer, buffer: &BufferUse) -> Option<ConvLayer> {
        let mut layer = layer.clone();
        let config = self.description().nvdla().unwrap().config.clone();
        if buffer.banks.iter().sum::<u32>() >= config.cbuf_banks {
            return None;
        }
        let (kept, element) = (self.any(0..11), layer.format.element as usize);
        let kernel = layer.kernel_bytes() as usize;
        let index = self.regions.iter().position(|(base, _)| *base == layer.weights).expect("its weights");
        let mut bytes = std::mem::take(&mut self.regions[index].1);
        for weight in bytes.chunks_exact_mut(element) {
            if self.any(0..10) >= kept {
                weight.fill(0);
            }
        }
        let kernels = &bytes[..kernel * layer.kernels as usize];
        let group = kernel * layer.order.group as usize;
        let Streams { weights, mask, sizes } = compress(kernels, element, group, || self.one_in(9));
        self.regions[index].1 = bytes;
        // One interface brings all three.
        let memory = usize::from(layer.weights >= 0x8000_0000);
        let atom = layer.format.atom;
        let mut part = |bytes: Vec<u8>| {
            let base = self.region_in(memory, atom, bytes.len() as u64);
            let size = bytes.len() as u32;
            if let Some(region) = self.regions.last_mut() {
                region.1 = bytes;
            }
            (base, size)
        };
        let compressed = Compressed { weights: part(weights), mask: part(mask), sizes: part(sizes).0 };
        layer.mode.compressed = Some(compressed);
        Some(layer)
    }
}
