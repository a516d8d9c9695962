//! Convolutions drawn from a seed.

use vp_models::nvdla::config::{Config, DataType};

use super::Draw;
use super::pixels::{PIXELS_8, PIXELS_16, PIXELS_FLOAT, PixelFormat};
use crate::program::BufferUse;
use crate::reference::{
    self, ConvInput, ConvLayer, Converter, CubePlace, Elementwise, Format, Mode, Pixels, SdpLayer,
    WeightOrder,
};

fn config_has_int16(config: &Config) -> bool {
    config.has_feature_type(DataType::Int16)
}

impl Draw {
    pub(super) fn config(&self) -> Config {
        self.description().nvdla().unwrap().config.clone()
    }

    /// Kernel, stride, dilation, padding before and behind along an axis of that size.
    fn taps(&mut self, size: u32, dilated: bool) -> [u32; 5] {
        loop {
            let (kernel, stride) =
                (self.any(1..6), if self.one_in(5) { self.any(1..9) } else { self.any(1..3) });
            let dilation = if dilated && kernel > 1 && self.one_in(3) { self.any(1..5) } else { 1 };
            let (before, after) = (self.any(0..kernel + 1), self.any(0..kernel + 1));
            if before + size + after > (kernel - 1) * dilation {
                return [kernel, stride, dilation, before, after];
            }
        }
    }

    /// A convolution of a feature cube or of an image, with how it uses the buffer.
    pub fn convolution(&mut self, is_image: bool) -> (ConvLayer, BufferUse) {
        self.finding_room(|draw| draw.any_convolution(is_image))
    }

    /// A convolution whose kernels find room: for others hardware waits for ever (docs/programming.md).
    pub(super) fn finding_room(
        &mut self,
        draw: impl Fn(&mut Draw) -> (ConvLayer, BufferUse),
    ) -> (ConvLayer, BufferUse) {
        loop {
            let (layer, buffer) = draw(self);
            if self.finds_room(&layer, &buffer) {
                return (layer, buffer);
            }
        }
    }

    /// Returns true if the layer's kernels find room.
    pub(super) fn finds_room(&self, layer: &ConvLayer, buffer: &BufferUse) -> bool {
        let sizes = layer.mode.compressed.as_ref().map(|compressed| {
            let (_, sizes) = self.regions.iter().find(|it| it.0 == compressed.sizes).expect("its sizes");
            let groups = layer.kernels.div_ceil(layer.order.group) as usize;
            let sizes = sizes.as_chunks().0.iter().take(groups);
            sizes.map(|size| u64::from(u32::from_le_bytes(*size))).collect::<Vec<u64>>()
        });
        buffer.holds_blocks(&self.config(), layer, sizes.as_deref())
    }

    /// A convolution of a feature cube or of an image, with or without room for its kernels.
    pub(super) fn any_convolution(&mut self, is_image: bool) -> (ConvLayer, BufferUse) {
        let (format, config) = (self.format(), self.config());
        let [mut width, height, channels] = self.size();
        let lines_packed = !is_image && self.one_in(2);
        if is_image {
            width += self.any(0..30);
        }
        let (horizontal, vertical) = (self.taps(width, !is_image), self.taps(height, !is_image));
        let [kernel, stride, dilation, before, after] =
            [0, 1, 2, 3, 4].map(|of| [horizontal[of], vertical[of]]);
        let mut is_widened = false;
        let (input, channels) = if is_image {
            let pixels = self.pixels(&config, [width, height]);
            let channels = pixels.channels.len() as u32;
            is_widened = pixels.element != format.element;
            (ConvInput::Pixels(pixels), channels)
        } else {
            let mut place = self.cube(format, [width, height, channels]);
            if lines_packed {
                // The cube shrinks: lines lie back to back.
                place.line = width * format.atom;
            }
            (ConvInput::Feature(place), channels)
        };
        let group = config.mac_atomic_k / format.element;
        let kernels = self.any(1..2 * group + 5);
        let kernel_bytes = kernel[0] * kernel[1] * channels * format.element;
        let weights = self.region(format.atom, u64::from((kernels * kernel_bytes).next_multiple_of(128)));
        // Where a kernel's merged row has room in a block, and what lies between two kernels has, rows can be merged.
        let step = stride[0] * channels * format.element;
        let fits = |rows: u32| {
            kernel[0] * channels <= config.mac_atomic_c / rows && step * rows <= config.cbuf_entry_bytes()
        };
        let rows_at_once = if is_image && fits(4) { 1 << self.any(0..3) } else { 1 };
        let mut layer = ConvLayer {
            format,
            input,
            size: [width, height],
            channels,
            kernel,
            stride,
            dilation,
            before,
            after,
            padding: self.any(-200..200),
            mode: Mode::default(),
            floats_in_memory: false,
            // Components of another size must be converted.
            converter: self.input_converter(format, is_image).or(is_widened.then_some([Converter::NONE; 4])),
            kernels,
            weights,
            order: WeightOrder { group, block: config.mac_atomic_c, unit: WeightOrder::unit(&config) },
            rows_at_once,
            truncate: self.any(0..9),
            sdp: self.sdp(true),
        };
        layer.sdp = self.behind(&layer);
        let buffer = self.buffer_use(&config, &layer, lines_packed);
        (layer, buffer)
    }

    /// A layer of SDP behind a convolution; no table, which is tested with SDP alone.
    pub(super) fn behind(&mut self, layer: &ConvLayer) -> SdpLayer {
        let [width, height] = layer.output_size();
        let (format, size) = (layer.format, [width, height, layer.kernels]);
        let ew = self.description().nvdla().unwrap().config.sdp_ew && self.one_in(2);
        SdpLayer {
            format,
            width,
            height,
            channels: layer.kernels,
            source: CubePlace { base: 0, line: 0, surface: 0 },
            bs: self.maybe(|draw| draw.stage(format, size)),
            bn: self.maybe(|draw| draw.stage(format, size)),
            ew: ew.then(|| Elementwise { lut: false, ..self.elementwise(format, size) }),
            converter: Converter {
                offset: self.any(-20..20),
                scale: self.any(-40..40),
                shift: self.any(0..16),
            },
            destination: Some(self.cube(format, size)),
        }
    }

    /// Returns the layer with nothing of SDP's in memory but its output.
    pub fn without_operands(layer: &ConvLayer) -> ConvLayer {
        let kept = |stage: Option<reference::Stage>| stage.filter(|stage| stage.operands.is_none());
        let ew = layer.sdp.ew.filter(|ew| ew.operands.is_none());
        let sdp = SdpLayer { bs: kept(layer.sdp.bs), bn: kept(layer.sdp.bn), ew, ..layer.sdp.clone() };
        ConvLayer { sdp, ..layer.clone() }
    }

    pub(super) fn input_converter(&mut self, format: Format, is_image: bool) -> Option<[Converter; 4]> {
        if self.one_in(2) {
            return None;
        }
        let limit = 100 * format.element as i32 * format.element as i32;
        let (scale, shift) = (self.any(-100..100), self.any(0..9));
        let offset = self.any(-limit..limit);
        let mut channel =
            || Converter { offset: if is_image { self.any(-limit..limit) } else { offset }, scale, shift };
        Some([channel(), channel(), channel(), channel()])
    }

    fn pixels(&mut self, config: &Config, [width, height]: [u32; 2]) -> Pixels {
        let formats: Vec<PixelFormat> = match (self.floats.is_some(), config_has_int16(config)) {
            (true, _) => PIXELS_8.into_iter().chain(PIXELS_16).chain(PIXELS_FLOAT).collect(),
            (false, true) => PIXELS_8.into_iter().chain(PIXELS_16).collect(),
            (false, false) => PIXELS_8.to_vec(),
        };
        let PixelFormat { code, element, components, channels, packed } = formats[self.any(0..formats.len())];
        let atom = config.memory_atom;
        // Offsets count in an atom, those of the second plane in one of its own.
        let most = (atom / (components.into_iter().max().unwrap_or(1) * element)).min(32);
        let offset = if self.one_in(2) { 0 } else { self.any(0..most) };
        let memory = self.any(0..2);
        let mut planes = [(0, 0); 2];
        for (plane, count) in planes.iter_mut().zip(components).filter(|(_, count)| *count > 0) {
            let line = ((offset + width) * count * element).next_multiple_of(atom) + atom * self.any(0..3);
            *plane = (self.region_in(memory, atom, u64::from(line) * u64::from(height)), line);
        }
        Pixels {
            code,
            element,
            components,
            channels: channels.to_vec(),
            packed,
            floats: PIXELS_FLOAT.iter().any(|format| format.code == code),
            planes,
            offset,
            signed: self.one_in(2),
        }
    }

    pub(super) fn buffer_use(&mut self, config: &Config, layer: &ConvLayer, lines_packed: bool) -> BufferUse {
        let least = BufferUse::least(config, layer);
        let [data, weight] = least.banks;
        let spare = config.cbuf_banks - data - weight;
        let more = self.any(0..spare.min(3) + 1);
        BufferUse {
            banks: [data + more, weight + self.any(0..spare.min(3) - more + 1)],
            grain: lines_packed.then(|| self.any(1..layer.size[1] + 3)),
            ..least
        }
    }

    /// Banks for all weights of the layer, if there are as many: so that they can stay for the next one.
    pub fn with_room_for_all_weights(&self, layer: &ConvLayer, buffer: BufferUse) -> Option<BufferUse> {
        let config = self.config();
        let bank = config.cbuf_entry_bytes() * config.cbuf_entries_per_bank();
        let weight = (layer.kernels * layer.kernel_bytes()).div_ceil(bank);
        let all = BufferUse { banks: [buffer.banks[0], weight], keep: [false, true], ..buffer };
        let has_room = buffer.banks[0] + weight <= config.cbuf_banks && self.finds_room(layer, &all);
        has_room.then_some(BufferUse { keep: buffer.keep, ..all })
    }

    /// Another place for a layer's output.
    pub fn output_of(&mut self, layer: &ConvLayer) -> CubePlace {
        let [width, height] = layer.output_size();
        let place = self.cube(layer.format, [width, height, layer.kernels]);
        let Some(batches) = layer.mode.batches else { return place };
        // As far apart as before.
        let old = layer.sdp.destination.expect("a layer that writes memory");
        let bytes = u64::from(batches.output) * u64::from(batches.count);
        let memory = usize::from(place.base >= 0x8000_0000);
        CubePlace { base: self.region_in(memory, layer.format.atom, bytes), ..old }
    }
}
