//! Legal layers drawn from a seed: all modes of convolution, SDP, PDP and CDP, odd sizes, parts of atoms, gaps between
//! lines; and networks of them.

mod conv;
mod modes;
mod network;
mod pixels;
mod sequence;

pub use modes::ConvolutionKind;
pub use network::{NetworkDraw, network_of};
pub use sequence::{Layer, Leaves, Sequence};

use rand::{Rng, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use vp_models::bus::axi::{Drawn, Latency};
use vp_models::platform::Description;

use crate::reference::{
    Alu, Carries, CdpLayer, Converter, CubePlace, Elementwise, ElementwiseAlu, ElementwiseMultiplier,
    ElementwiseOperand, Format, Image, Lut, LutTable, Operand, Operands, PdpLayer, PoolingMethod, SdpLayer,
    Stage, StageAlu, StageMultiplier,
};

/// Draws layers, and the memory they work on.
pub struct Draw {
    random: ChaCha8Rng,
    description: Description,
    regions: Vec<(u64, Vec<u8>)>,
    /// The next free addresses of the secondary and the primary memory.
    free: [u64; 2],
    /// Memory holds codes of fp16, one in so many of which is no finite number.
    floats: Option<u32>,
}

impl Draw {
    /// Draws for a built-in platform, whose memories get a random speed.
    ///
    /// # Panics
    /// When there is none of that name.
    pub fn new(platform: &str, seed: u64) -> Draw {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut description = Description::named(platform).unwrap_or_else(|error| panic!("{error}"));
        for memory in [&mut description.dbb0, &mut description.sram0] {
            let min = random.random_range(0..10);
            let max = min + random.random_range(0..40);
            memory.read_latency = Some(Latency::Drawn(Drawn::Uniform { min, max }));
            memory.write_latency = Latency::Fixed(random.random_range(0..20));
            memory.read_outstanding = random.random_range(1..20);
            memory.write_outstanding = random.random_range(1..5);
            memory.seed = random.random();
        }
        Draw { random, description, regions: Vec::new(), free: [0x5000_0000, 0x8000_0000], floats: None }
    }

    /// Draws layers with elements of two bytes, over memory of fp16; one element in `special` is no finite number.
    ///
    /// # Panics
    /// When there is no such platform.
    pub fn floats(platform: &str, seed: u64, special: u32) -> Draw {
        Draw { floats: Some(special), ..Draw::new(platform, seed) }
    }

    /// A code of fp16: mostly of numbers around 1, now and then of any, of zero, or of none.
    fn code(&mut self, special: u32) -> u16 {
        let sign = self.any(0..2) << 15;
        sign | match self.any(0..20) {
            _ if self.one_in(special) => 0x7c00 + if self.one_in(2) { 0 } else { self.any(1..0x400) },
            0 => 0,
            1..4 => self.any(0..0x7c00),
            _ => self.any(0x2000..0x5000),
        }
    }

    /// The platform.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Memory as it stands before the layers run: random in every surface, outputs included.
    pub fn image(&self) -> Image {
        Image::new(self.regions.clone())
    }

    fn any<R: rand::distr::uniform::SampleRange<T>, T: rand::distr::uniform::SampleUniform>(
        &mut self,
        range: R,
    ) -> T {
        self.random.random_range(range)
    }

    /// True one time in `of`.
    fn one_in(&mut self, of: u32) -> bool {
        self.random.random_range(0..of) == 0
    }

    fn maybe<T>(&mut self, draw: impl FnOnce(&mut Draw) -> T) -> Option<T> {
        if self.one_in(2) { Some(draw(self)) } else { None }
    }

    /// A format that the platform computes in.
    pub fn format(&mut self) -> Format {
        let atom = self.description.nvdla().unwrap().config.memory_atom;
        let int16 = self
            .description
            .nvdla()
            .unwrap()
            .config
            .has_feature_type(vp_models::nvdla::config::DataType::Int16);
        let wide = self.floats.is_some() || int16 && self.one_in(2);
        Format { atom, element: if wide { 2 } else { 1 } }
    }

    /// Random bytes with a gap before them.
    fn region(&mut self, atom: u32, bytes: u64) -> u64 {
        let memory = usize::from(!self.one_in(3));
        self.region_in(memory, atom, bytes)
    }

    /// Random bytes with a gap before them in the secondary memory (0), if there is one, or in the primary.
    fn region_in(&mut self, memory: usize, atom: u32, bytes: u64) -> u64 {
        let memory = if self.description.nvdla().unwrap().config.secondary().is_some() { memory } else { 1 };
        let base = self.free[memory] + u64::from(atom) * self.any(0..9);
        self.free[memory] = base + bytes;
        let contents = match self.floats {
            None => (0..bytes).map(|_| self.random.random()).collect(),
            Some(special) => {
                let codes = (0..bytes.div_ceil(2)).flat_map(|_| self.code(special).to_le_bytes());
                codes.take(bytes as usize).collect()
            }
        };
        self.regions.push((base, contents));
        base
    }

    /// A place for a cube of such pixels, packed or with gaps.
    fn place(&mut self, atom: u32, pixel: u32, [width, height, surfaces]: [u32; 3]) -> CubePlace {
        let gap = |draw: &mut Draw| if draw.one_in(2) { 0 } else { atom * draw.any(0..4) };
        let line = width * pixel + gap(self);
        let surface = line * height + gap(self);
        CubePlace { base: self.region(atom, u64::from(surface) * u64::from(surfaces)), line, surface }
    }

    fn cube(&mut self, format: Format, [width, height, channels]: [u32; 3]) -> CubePlace {
        self.place(format.atom, format.atom, [width, height, channels.div_ceil(format.lanes())])
    }

    /// Width, height and channels; sometimes a single pixel or a line.
    pub fn size(&mut self) -> [u32; 3] {
        let width = if self.one_in(5) { 1 } else { self.any(1..14) };
        let height = if self.one_in(5) { 1 } else { self.any(1..9) };
        [width, height, self.any(1..70)]
    }

    fn shift(&mut self) -> u32 {
        if self.one_in(6) { self.any(0..64) } else { self.any(0..10) }
    }

    fn converter(&mut self) -> Converter {
        let offset = if self.one_in(6) { self.random.random() } else { self.any(-100..100) };
        Converter { offset, scale: self.random.random(), shift: self.any(0..64) }
    }

    /// Useful more often than not: results within the output's range.
    fn output_converter(&mut self) -> Converter {
        if self.one_in(4) {
            return self.converter();
        }
        Converter { offset: self.any(-20..20), scale: self.any(-40..40), shift: self.any(0..9) }
    }

    fn alu(&mut self) -> Alu {
        [Alu::Max, Alu::Min, Alu::Sum][self.any(0..3)]
    }

    /// Operands in memory, for whichever of ALU and multiplier takes them from there.
    fn operands(&mut self, format: Format, size: [u32; 3], alu: bool, multiplier: bool) -> Option<Operands> {
        let carries = match (alu, multiplier) {
            (false, false) => return None,
            // Both of which one is taken waits for ever.
            (true, true) => Carries::Both,
            (true, false) => Carries::Alu,
            (false, true) => Carries::Multiplier,
        };
        let bytes = if format.element == 2 { 2 } else { self.any(1..3) };
        let per_element = self.one_in(2);
        let nowhere = CubePlace { base: 0, line: 0, surface: 0 };
        let mut operands = Operands { carries, bytes, per_element, place: nowhere };
        let pixel = format.lanes() * operands.set_bytes();
        let surfaces = size[2].div_ceil(format.lanes());
        let extent = if per_element { [size[0], size[1], surfaces] } else { [1, 1, surfaces] };
        operands.place = self.place(format.atom, pixel, extent);
        Some(operands)
    }

    fn operand(&mut self) -> Operand {
        if self.one_in(2) { Operand::Memory } else { Operand::Register(self.random.random()) }
    }

    fn stage(&mut self, format: Format, size: [u32; 3]) -> Stage {
        let alu = self.maybe(|draw| StageAlu {
            operation: draw.alu(),
            operand: draw.operand(),
            shift: draw.shift(),
        });
        let multiplier =
            self.maybe(|draw| StageMultiplier { operand: draw.operand(), prelu: draw.one_in(3) });
        let from_memory = [alu.map(|alu| alu.operand), multiplier.map(|multiplier| multiplier.operand)]
            .map(|operand| operand == Some(Operand::Memory));
        let operands = self.operands(format, size, from_memory[0], from_memory[1]);
        Stage { alu, multiplier, shift: self.shift(), relu: self.one_in(3), operands }
    }

    fn elementwise_operand(&mut self) -> ElementwiseOperand {
        match self.one_in(2) {
            true => ElementwiseOperand::Memory(self.maybe(Draw::converter)),
            false if self.one_in(4) => ElementwiseOperand::Register(self.random.random()),
            false => ElementwiseOperand::Register(self.any(-300..300)),
        }
    }

    fn elementwise(&mut self, format: Format, size: [u32; 3]) -> Elementwise {
        let multiplier = self.maybe(|draw| ElementwiseMultiplier {
            operand: draw.elementwise_operand(),
            shift: if draw.one_in(8) { draw.any(0..1024) } else { draw.any(0..12) },
            prelu: draw.one_in(3),
        });
        let alu =
            self.maybe(|draw| ElementwiseAlu { operation: draw.alu(), operand: draw.elementwise_operand() });
        let from_memory = [alu.map(|alu| alu.operand), multiplier.map(|multiplier| multiplier.operand)]
            .map(|operand| matches!(operand, Some(ElementwiseOperand::Memory(_))));
        let operands = self.operands(format, size, from_memory[0], from_memory[1]);
        let lut = self.description.nvdla().unwrap().config.sdp_lut && self.one_in(2);
        Elementwise { multiplier, alu, lut, operands }
    }

    /// Lookup tables of random entries.
    pub fn lut(&mut self) -> Lut {
        let mut table = |entries: usize| {
            // What CDP sees of it with elements of 8 bits.
            let start = if self.one_in(5) { self.random.random::<i32>() >> 10 } else { self.any(-3000..200) };
            LutTable {
                entries: (0..entries).map(|_| self.random.random()).collect(),
                start,
                end: if self.one_in(2) { self.random.random() } else { self.any(-100..3000) },
                select: self.any(-4..12),
                below: (self.random.random(), self.any(-16..16)),
                above: (self.random.random(), self.any(-16..16)),
            }
        };
        let (le, lo) = (table(65), table(257));
        let exponent = self.maybe(|draw| draw.any(-40..20));
        Lut { le, lo, exponent, lo_first: self.random.random() }
    }

    /// A layer of SDP, to memory or to PDP.
    pub fn sdp(&mut self, to_memory: bool) -> SdpLayer {
        let (format, size) = (self.format(), self.size());
        let source = self.cube(format, size);
        let ew = self.description.nvdla().unwrap().config.sdp_ew && self.one_in(2);
        let [width, height, channels] = size;
        SdpLayer {
            format,
            width,
            height,
            channels,
            source,
            bs: self.maybe(|draw| draw.stage(format, size)),
            bn: self.maybe(|draw| draw.stage(format, size)),
            ew: ew.then(|| self.elementwise(format, size)),
            converter: self.output_converter(),
            destination: to_memory.then(|| self.cube(format, size)),
        }
    }

    /// A layer of CDP; some are wider than the blocks in which it works.
    pub fn cdp(&mut self) -> CdpLayer {
        let (format, mut size) = (self.format(), self.size());
        size[0] += if self.one_in(2) { self.any(0..14) } else { 0 };
        let int8 = format.element == 1;
        let input = if self.one_in(3) {
            Converter { offset: self.any(-100..100), scale: self.random.random(), shift: self.any(0..32) }
        } else {
            Converter { offset: self.any(-20..20), scale: self.any(-3..4), shift: self.any(0..3) }
        };
        let mut output = self.output_converter();
        output.shift += if self.one_in(2) && output.shift < 40 { 12 } else { 0 };
        if int8 {
            // Its adder has 25 bits.
            output.offset = output.offset << 7 >> 7;
        }
        let [width, height, channels] = size;
        CdpLayer {
            format,
            width,
            height,
            channels,
            window: [3, 5, 7, 9][self.any(0..4)],
            plain: self.one_in(4),
            unscaled: self.one_in(4),
            input,
            output,
            source: self.cube(format, size),
            destination: self.cube(format, size),
        }
    }

    /// A layer of PDP that reads memory, perhaps cut into strips.
    pub fn pdp(&mut self) -> PdpLayer {
        let (format, mut size) = (self.format(), self.size());
        size[0] += self.any(0..14);
        let source = self.cube(format, size);
        let mut layer = self.windows(format, size, Some(source));
        layer.strips = self.strips(&layer);
        layer
    }

    /// A layer of PDP behind a layer of SDP.
    pub fn pdp_behind(&mut self, sdp: &SdpLayer) -> PdpLayer {
        self.windows(sdp.format, [sdp.width, sdp.height, sdp.channels], None)
    }

    /// Window, step and padding along an axis of that size: windows of the input alone, at least in part, and no padding behind
    /// the last one by which the RTL would make another (docs/programming.md).
    fn axis(&mut self, size: u32) -> [u32; 4] {
        loop {
            let (kernel, stride) =
                (self.any(1..9), if self.one_in(4) { self.any(1..17) } else { self.any(1..4) });
            let (before, after) = (self.any(0..kernel), self.any(0..kernel));
            let Some(room) = (before + size + after).checked_sub(kernel) else { continue };
            let ends_with_padding = after < stride || room.is_multiple_of(stride);
            if room / stride * stride < before + size && ends_with_padding {
                return [kernel, stride, before, after];
            }
        }
    }

    fn windows(
        &mut self,
        format: Format,
        [width, height, channels]: [u32; 3],
        source: Option<CubePlace>,
    ) -> PdpLayer {
        let (horizontal, vertical) = loop {
            let (horizontal, vertical) = (self.axis(width), self.axis(height));
            let [kernel, stride, before, after] = horizontal;
            // What the line buffer holds: 128 columns of one line, 16 of eight.
            let lines = vertical[0].div_ceil(vertical[1]).next_power_of_two();
            if (before + width + after - kernel) / stride < 128 / lines {
                break (horizontal, vertical);
            }
        };
        let [kernel, stride, before, after] = [0, 1, 2, 3].map(|of| [horizontal[of], vertical[of]]);
        let limit = if format.element == 1 { 128 } else { 32768 };
        let method = match self.any(0..3) {
            0 => PoolingMethod::Max,
            1 => PoolingMethod::Min,
            _ => PoolingMethod::Average { padding: self.any(-limit..limit) },
        };
        let nowhere = CubePlace { base: 0, line: 0, surface: 0 };
        let mut layer = PdpLayer {
            format,
            width,
            height,
            channels,
            method,
            kernel,
            stride,
            before,
            after,
            source,
            destination: nowhere,
            strips: Vec::new(),
        };
        layer.destination = self.cube(format, [layer.out_width(), layer.out_height(), channels]);
        layer
    }

    /// Two or three strips where the layer can be cut so: windows touch, and those of the second strip begin
    /// behind the padding.
    fn strips(&mut self, layer: &PdpLayer) -> Vec<u32> {
        let width = layer.out_width();
        if layer.kernel[0] < layer.stride[0] || width < 3 || self.one_in(2) {
            return Vec::new();
        }
        let first = self.any(1..width - 1).max(layer.before[0].div_ceil(layer.stride[0]));
        if first + 2 > width {
            return Vec::new();
        }
        let left = width - first;
        let strips = match self.maybe(|draw| draw.any(1..left)) {
            Some(middle) => vec![first, middle, left - middle],
            None => vec![first, left],
        };
        // The last strip must have new columns to read.
        let before_the_last = width - strips[strips.len() - 1];
        let read = (before_the_last - 1) * layer.stride[0] + layer.kernel[0] - layer.before[0];
        if read < layer.width { strips } else { Vec::new() }
    }
}
