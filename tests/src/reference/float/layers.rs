//! Layers in fp16.

use vp_models::nvdla::conv::compute::float::{FloatConvolution, FloatWeights, FloatWindow, Steps};
use vp_models::nvdla::conv::compute::{Axes, Geometry, Kernel, MacArray, Path};

use super::Real::{self, Nan, Number};
use super::lut::{Unit, look_up};
use super::{FP17, FP32, from_integer, pick, store};
use crate::reference::winograd::places;
use crate::reference::{
    Alu, CdpLayer, ConvInput, ConvLayer, Cube, Elementwise, ElementwiseOperand, Image, Lut, Operand,
    PdpLayer, PoolingMethod, SdpLayer, Stage, Winograd, saturate,
};

/// An operand of 16 bits.
fn widen(code: i32, nan_to_zero: bool) -> Real {
    FP32.widen(code, nan_to_zero)
}

fn alu(operation: Alu, data: Real, operand: Real) -> Real {
    match operation {
        Alu::Max => pick(true, data, operand),
        Alu::Min => pick(false, data, operand),
        Alu::Sum => FP32.add(data, operand),
    }
}

pub(super) fn is_negative(value: Real) -> bool {
    match value {
        Nan(negative, _) => negative,
        Number(value) => value.is_sign_negative(),
    }
}

/// One layer of SDP.
struct Sdp<'a> {
    layer: &'a SdpLayer,
    image: &'a Image,
    lut: &'a Lut,
    nan_to_zero: bool,
}

impl Sdp<'_> {
    fn stage(&self, stage: &Stage, at: [u32; 3], data: Real) -> Real {
        let operands = || stage.operands.expect("operands in memory");
        let mut value = data;
        if let Some(it) = stage.alu {
            let code = match it.operand {
                Operand::Register(code) => code.into(),
                Operand::Memory => operands().alu(self.layer, self.image, at),
            };
            value = alu(it.operation, value, widen(code, self.nan_to_zero));
        }
        if let Some(it) = stage.multiplier
            && (!it.prelu || is_negative(value))
        {
            let code = match it.operand {
                Operand::Register(code) => code.into(),
                Operand::Memory => operands().multiplier(self.layer, self.image, at),
            };
            value = FP32.multiply(value, widen(code, self.nan_to_zero));
        }
        match value {
            Number(number) if stage.relu && number.is_sign_negative() => Number(0.0),
            other => other,
        }
    }

    fn elementwise(&self, ew: &Elementwise, at: [u32; 3], data: Real) -> Real {
        let operands = || ew.operands.expect("operands in memory");
        let operand = |operand: ElementwiseOperand, memory: &dyn Fn() -> i32| match operand {
            ElementwiseOperand::Register(code) => FP32.decode(code as u32),
            ElementwiseOperand::Memory(_) => widen(memory(), self.nan_to_zero),
        };
        let mut value = data;
        if let Some(it) = ew.multiplier
            && (!it.prelu || is_negative(value))
        {
            let factor = operand(it.operand, &|| operands().multiplier(self.layer, self.image, at));
            value = FP32.multiply(value, factor);
        }
        if let Some(it) = ew.alu {
            let other = operand(it.operand, &|| operands().alu(self.layer, self.image, at));
            value = alu(it.operation, value, other);
        }
        if ew.lut { look_up(self.lut, value, Unit::Sdp) } else { value }
    }

    /// Code in binary32 that is written for an input.
    fn result(&self, at: [u32; 3], input: Real) -> i32 {
        let mut value = match input {
            Nan(..) if self.nan_to_zero => Number(0.0),
            other => other,
        };
        for stage in [self.layer.bs, self.layer.bn].into_iter().flatten() {
            value = self.stage(&stage, at, value);
        }
        if let Some(ew) = self.layer.ew {
            value = self.elementwise(&ew, at, value);
        }
        store(value)
    }
}

/// Codes that a layer of SDP makes of its input in memory.
fn sdp_results(layer: &SdpLayer, lut: &Lut, nan_to_zero: bool, image: &Image) -> Cube {
    let single = layer.width == 1 && layer.height == 1;
    let source = layer.source.packed_if(single, layer.format.atom);
    let sdp = Sdp { layer, image, lut, nan_to_zero };
    Cube::of(layer.width, layer.height, layer.format.whole(layer.channels), |channel, y, x| {
        let code = image.element(source.address(layer.format, channel, y, x), 2);
        sdp.result([channel, y, x], widen(code, nan_to_zero))
    })
}

/// Runs a layer of SDP from memory to memory.
pub fn run_sdp(layer: &SdpLayer, lut: &Lut, nan_to_zero: bool, image: &mut Image) {
    let results = sdp_results(layer, lut, nan_to_zero, image);
    let (place, single) = (layer.destination, layer.width == 1 && layer.height == 1);
    let place = place.expect("a layer that writes memory").packed_if(single, layer.format.atom);
    results.store(image, layer.format, place);
}

/// Runs a layer of SDP whose output goes to a layer of PDP on the fly; neither flushes.
pub fn run_sdp_to_pdp(sdp: &SdpLayer, pdp: &PdpLayer, average: &FloatAverage, image: &mut Image) {
    let between = sdp_results(sdp, &Lut::default(), false, image);
    let results = pdp_results(pdp, average, false, |channel, y, x| between.at(channel, y, x));
    results.store(image, pdp.format, pdp.destination);
}

/// Registers of an average in fp16: codes of 17 bits.
#[derive(Clone, Copy, Debug)]
pub struct FloatAverage {
    /// Codes that 1 to 7 missing pixels add.
    pub padding: [u32; 7],
    /// One over the window's width, and its height.
    pub reciprocal: [u32; 2],
}

/// Runs a layer of PDP from memory to memory.
pub fn run_pdp(layer: &PdpLayer, average: &FloatAverage, nan_to_zero: bool, image: &mut Image) {
    let (source, format) = (layer.source.expect("a layer that reads memory"), layer.format);
    let read = |channel, y, x| image.element(source.address(format, channel, y, x), 2);
    let results = pdp_results(layer, average, nan_to_zero, read);
    results.store(image, format, layer.destination);
}

/// Codes that a layer of PDP makes of codes by channel, line and column.
pub(super) fn pdp_results(
    layer: &PdpLayer,
    average: &FloatAverage,
    nan_to_zero: bool,
    input: impl Fn(u32, u32, u32) -> i32,
) -> Cube {
    let window = |axis: usize, out: u32, size: u32| {
        let start = i64::from(out * layer.stride[axis]) - i64::from(layer.before[axis]);
        let all = start..start + i64::from(layer.kernel[axis]);
        all.filter(|at| (0..i64::from(size)).contains(at)).map(|at| at as u32).collect::<Vec<_>>()
    };
    let missing = |axis: usize, inside: usize| {
        let count = layer.kernel[axis] as usize - inside;
        count.checked_sub(1).map(|index| FP17.decode(average.padding[index]))
    };
    let channels = layer.format.whole(layer.channels);
    Cube::of(layer.out_width(), layer.out_height(), channels, |channel, y, x| {
        let (columns, lines) = (window(0, x, layer.width), window(1, y, layer.height));
        let element = |line: u32, column: u32| input(channel, line, column);
        if let PoolingMethod::Max | PoolingMethod::Min = layer.method {
            let larger = layer.method == PoolingMethod::Max;
            // Codes stay what they are: infinity is the largest of all.
            let code = |line, column| {
                let code = element(line, column);
                let real = super::FP16.decode(code as u32 & 0xffff);
                if matches!(real, Nan(..)) && nan_to_zero { Number(0.0) } else { real }
            };
            let row = |line: &u32| {
                let codes = columns.iter().map(|&column| code(*line, column));
                codes.reduce(|a, b| pick(larger, a, b)).expect("a pixel")
            };
            let picked = lines.iter().map(row).reduce(|above, row| pick(larger, row, above));
            return super::FP16.encode(picked.expect("a line")) as i32;
        }
        let row = |line: &u32| {
            let wide = columns.iter().map(|&column| FP17.widen(element(*line, column), nan_to_zero));
            let sum = wide.reduce(|sum, element| FP17.add(sum, element)).expect("a pixel");
            missing(0, columns.len()).map_or(sum, |padding| FP17.add(sum, padding))
        };
        let sum = lines.iter().map(row).reduce(|above, row| FP17.add(row, above)).expect("a line");
        let whole_rows = missing(1, lines.len());
        let sum = whole_rows
            .map_or(sum, |padding| FP17.add(sum, FP17.multiply(padding, Number(layer.kernel[0].into()))));
        let [width, height] = average.reciprocal.map(|code| FP17.decode(code));
        store(FP17.multiply(FP17.multiply(sum, width), height))
    })
}

/// Runs a layer of CDP.
pub fn run_cdp(layer: &CdpLayer, lut: &Lut, nan_to_zero: bool, image: &mut Image) {
    let format = layer.format;
    let results = Cube::of(layer.width, layer.height, format.whole(layer.channels), |channel, y, x| {
        let element = |distance: i64| match u32::try_from(i64::from(channel) + distance) {
            Ok(channel) if channel < layer.channels => {
                FP17.widen(image.element(layer.source.address(format, channel, y, x), 2), nan_to_zero)
            }
            _ => Number(0.0),
        };
        let centre = element(0);
        let square = |distance| FP32.multiply(element(distance), element(distance));
        let mut sum = centre;
        if !layer.plain {
            sum = FP32.add(FP32.add(square(-1), square(1)), square(0));
            for distance in 2..=i64::from(layer.window / 2) {
                sum = FP32.add(sum, FP32.add(square(-distance), square(distance)));
            }
        }
        let factor = look_up(lut, sum, Unit::Cdp);
        store(match (layer.unscaled, centre) {
            (false, _) => FP17.multiply(centre, factor),
            (true, Nan(..)) => centre,
            (true, _) => factor,
        })
    });
    results.store(image, format, layer.destination);
}

/// Runs a convolution and the layer of SDP behind it. The array's arithmetic is the models' own, whose plain form
/// follows the description part by part; which numbers meet, and in which order, is found here.
pub fn run_convolution(layer: &ConvLayer, nan_to_zero: bool, image: &mut Image) {
    for layer in &layer.each_cube() {
        let [width, height] = layer.output_size();
        let tiles = layer.mode.winograd.map(|winograd| tiles(layer, winograd, image, nan_to_zero));
        let sdp = Sdp { layer: &layer.sdp, image, lut: &Lut::default(), nan_to_zero: false };
        let results = Cube::of(width, height, layer.format.whole(layer.kernels), |kernel, y, x| {
            let sum = match &tiles {
                _ if kernel >= layer.kernels => 0,
                Some(tiles) => {
                    let tile = (y / 2 * (width / 2) + x / 2) * layer.kernels + kernel;
                    tiles[tile as usize][(y % 2 * 2 + x % 2) as usize]
                }
                None => sum(layer, image, kernel, [x, y], nan_to_zero),
            };
            sdp.result([kernel, y, x], FP32.decode(sum))
        });
        results.store(image, layer.format, layer.destination());
    }
}

/// Four sums of each tile and kernel.
fn tiles(layer: &ConvLayer, winograd: Winograd, image: &Image, nan_to_zero: bool) -> Vec<[u32; 4]> {
    let weight =
        |kernel, place: u32, channel| layer.weight(image, kernel, [place % 4, place / 4], channel) as u16;
    let element = |channel, y, x| {
        let (channel, y, x) = layer.in_memory(winograd, channel, y, x);
        activation(layer, image, channel, [x, y], nan_to_zero)
    };
    tile_sums(layer.output_size(), [layer.seen_channels(), layer.kernels], weight, element)
}

/// Four sums of each tile and kernel, by the models' plain form of the arithmetic: of weights by kernel, place and channel, and of
/// elements by channel, line and column of the padded input.
pub(super) fn tile_sums(
    [width, height]: [u32; 2],
    [channels, kernels]: [u32; 2],
    weight: impl Fn(u32, u32, u32) -> u16,
    element: impl Fn(u32, i64, i64) -> u16,
) -> Vec<[u32; 4]> {
    let mut steps = Steps::default();
    for first in (0..channels).step_by(4) {
        steps.push((0..64).map(|product| {
            let at = (product / 4 * channels + first + product % 4) as usize;
            (at, at)
        }));
    }
    let all = (0..kernels).flat_map(|kernel| {
        (0..16).flat_map(move |place| (0..channels).map(move |channel| (kernel, place, channel)))
    });
    let weights: Vec<u16> = all.map(|(kernel, place, channel)| weight(kernel, place, channel)).collect();
    let mut codes = Vec::new();
    for (ty, tx) in (0..height / 2).flat_map(|y| (0..width / 2).map(move |x| (y, x))) {
        let transformed: Vec<Vec<Real>> = (0..channels)
            .map(|channel| {
                let element = |y: i64, x: i64| {
                    let code = element(channel, i64::from(2 * ty) + y, i64::from(2 * tx) + x);
                    FP17.widen(code.into(), false)
                };
                places(element, |a, b| FP17.add(a, b), |a, b| FP17.subtract(a, b))
            })
            .collect();
        for place in 0..16 {
            codes.extend(transformed.iter().map(|places| store(places[place]) as u16));
        }
    }
    let count = (width * height / 4) as usize;
    let taps = 16 * channels as usize;
    let shape = Kernel { height: 1, width: 1, channels: taps, dilation: Axes::ONE };
    let geometry = Geometry { kernel: shape, stride: Axes::ONE, output_width: count };
    let window = FloatWindow::new(&codes, codes.len());
    let kernels = kernels as usize;
    let weights = FloatWeights::pack(steps, kernels, &weights).expect("weights of that kernel");
    let convolution = FloatConvolution::new(geometry, &window, &weights).expect("what belongs together");
    let mut sums = vec![[0; 4]; count * kernels];
    let array = MacArray::by(Path::PLAIN);
    array.accumulate_float_tiles(&convolution, 0..count, 0..kernels, &mut sums).expect("all is there");
    sums
}

/// Sum of one kernel at one place, as a code of binary32.
fn sum(layer: &ConvLayer, image: &Image, kernel: u32, [x, y]: [u32; 2], nan_to_zero: bool) -> u32 {
    let (mut activations, mut weights, mut steps) = (Vec::new(), Vec::new(), Steps::default());
    // An image's kernel row is one run of channels, of which rows at once share the array's.
    let (columns, run) = if layer.is_image() {
        (1, layer.kernel[0] * layer.channels)
    } else {
        (layer.kernel[0], layer.channels)
    };
    let (rows, at_once) = (layer.kernel[1], layer.rows_at_once);
    let block = layer.order.block / at_once;
    for first_channel in (0..run).step_by(block as usize) {
        for first_row in (0..rows).step_by(at_once as usize) {
            for column in 0..columns {
                let begin = activations.len();
                for row in first_row..rows.min(first_row + at_once) {
                    for merged in first_channel..run.min(first_channel + block) {
                        let (s, channel) = match layer.is_image() {
                            true => (merged / layer.channels, merged % layer.channels),
                            false => (column, merged),
                        };
                        let at = |out: u32, tap: u32, axis: usize| {
                            i64::from(out * layer.stride[axis] + tap * layer.dilation[axis])
                                - i64::from(layer.before[axis])
                        };
                        let place = [at(x, s, 0), at(y, row, 1)];
                        activations.push(activation(layer, image, channel, place, nan_to_zero));
                        weights.push(layer.weight(image, kernel, [s, row], channel) as u16);
                    }
                }
                steps.push((begin..activations.len()).map(|index| (index, index)));
            }
        }
    }
    added_up(&activations, &weights, steps)
}

/// Sum that the array makes of these products in these steps, by the models' plain form: a code of binary32.
pub(super) fn added_up(activations: &[u16], weights: &[u16], steps: Steps) -> u32 {
    let taps = activations.len();
    let shape = Kernel { height: 1, width: 1, channels: taps, dilation: Axes::ONE };
    let geometry = Geometry { kernel: shape, stride: Axes::ONE, output_width: 1 };
    let window = FloatWindow::new(activations, taps);
    let weights = FloatWeights::pack(steps, 1, weights).expect("weights of that kernel");
    let convolution = FloatConvolution::new(geometry, &window, &weights).expect("what belongs together");
    let mut sums = [0];
    MacArray::by(Path::PLAIN).accumulate_float(&convolution, 0..1, 0..1, &mut sums).expect("all is there");
    sums[0]
}

/// The code that the array gets.
fn activation(layer: &ConvLayer, image: &Image, channel: u32, [x, y]: [i64; 2], nan_to_zero: bool) -> u16 {
    let inside = |at: i64, axis: usize| at >= 0 && at < i64::from(layer.size[axis]);
    if !inside(x, 0) || !inside(y, 1) {
        return layer.padding as u16;
    }
    let (x, y) = (x as u32, y as u32);
    let element = match &layer.input {
        ConvInput::Feature(place) => image.element(place.address(layer.format, channel, y, x), 2),
        ConvInput::Pixels(pixels) => pixels.component(image, channel, y, x),
    };
    match &layer.converter {
        Some(converters) if !layer.floats_in_memory => {
            let converted = converters[channel as usize % 4].apply(element);
            from_integer(saturate(converted, 17) as i32) as u16
        }
        _ if layer.floats_in_memory && nan_to_zero && element & 0x7fff > 0x7c00 => 0,
        _ => element as u16,
    }
}
