//! Reader that makes layers of the file, each checked against those before it.

mod constants;

use super::{
    Leaky, NamedInput, ReadTensor, Rounding, Tensor, WrittenBias, WrittenConvolution, WrittenElementwise,
    WrittenFunction, WrittenInterleaving, WrittenKind, WrittenLayer, WrittenNormalisation, WrittenPair,
    WrittenPooling, WrittenSoftMax, WrittenSum, WrittenUpsampling,
};
use crate::network::description::synthetic::{self, GivenParameters, Maker};
use crate::network::description::{
    Activation, Bias, Converter, Convolution, Elementwise, Function, Network, NetworkLayer, Operation,
    PairMethod, Pooling, Shape, SoftMax, Sum, Window,
};
use std::collections::HashMap;
use vp_models::nvdla::numeric::Precision;
use vp_models::suggestion::hint;
use vp_models::toml_text::KeyError;
use vp_models::units::grouped;

fn wrong(key: &'static str, what: impl Into<String>) -> KeyError {
    KeyError::new(key, what)
}

/// Returns the error of a missing key, with an example for who has left it out.
fn missing(key: &str, example: &str) -> KeyError {
    wrong("", format!("`{key}` is missing: write it, such as {example}"))
}

const CONVERTER: &str = "converter = { scale = 1, shift = 7 }";

fn no_window(window: Window, input: Shape) -> KeyError {
    let [columns, rows] = window.extent();
    wrong("kernel", format!("a window of {columns}x{rows} does not fit on {input} and its padding"))
}

/// A network as far as it is read.
pub(super) struct Reader<'a, 'b> {
    pub(super) network: Network,
    pub(super) maker: Maker,
    pub(super) read: &'a mut ReadTensor<'b>,
    /// The layers by name.
    pub(super) places: HashMap<String, usize>,
}

/// Operation of a layer, and the shape of its output.
type Read = Result<(Operation, Shape), KeyError>;

impl Reader<'_, '_> {
    pub(super) fn layer(&mut self, written: WrittenLayer) -> Result<(), KeyError> {
        self.check_name(&written.name)?;
        let inputs = written.inputs()?;
        let sources = inputs.into_iter().map(|input| self.source(input)).collect::<Result<Vec<_>, _>>()?;
        let WrittenLayer { name, cycles, kind, .. } = written;
        let Some(&first) = sources.first() else {
            return Err(wrong("inputs", "it reads nothing"));
        };
        let input = self.network.shape(first);
        let shapes: Vec<Shape> = sources.iter().map(|&source| self.network.shape(source)).collect();
        let (operation, output) = self.operation(kind, &sources, &shapes)?;
        let output = output.check().map_err(|why| wrong("", why))?;
        self.maker.made(&operation, &sources, &shapes);
        self.places.insert(name.clone(), self.network.layers.len());
        self.network.layers.push(NetworkLayer { name, sources, input, output, operation, cycles });
        Ok(())
    }

    fn check_name(&self, name: &str) -> Result<(), KeyError> {
        if name == "input" {
            return Err(wrong("name", "that is the name of the network's input"));
        }
        match self.places.contains_key(name) {
            true => Err(wrong("name", "another layer has this name")),
            false => Ok(()),
        }
    }

    /// Returns the place in the list of what a key names; none for the network's input.
    fn source(&self, (key, input): NamedInput<'_>) -> Result<Option<usize>, KeyError> {
        let layers = &self.network.layers;
        match input {
            None => Ok(layers.len().checked_sub(1)),
            Some("input") => Ok(None),
            Some(input) => match self.places.get(input).copied() {
                None => {
                    let nearest = hint(input, layers.iter().map(|layer| layer.name.as_str()));
                    let what = format!("it reads `{input}`: no layer before it has that name{nearest}");
                    Err(wrong(key, what))
                }
                place => Ok(place),
            },
        }
    }

    fn operation(&mut self, kind: WrittenKind, sources: &[Option<usize>], shapes: &[Shape]) -> Read {
        let input = shapes[0];
        match kind {
            WrittenKind::Convolution(written) => {
                let kernel = written.kernel.ok_or_else(|| missing("kernel", "kernel = [3, 3]"))?;
                let stride = written.stride.unwrap_or([1; 2]);
                let mut window = window(kernel, stride, written.padding, written.padding_after)?;
                window.dilation = written.dilation.unwrap_or([1; 2]);
                if let [columns @ 0, rows] | [columns, rows @ 0] = window.dilation {
                    return Err(wrong("dilation", format!("dilation = [{columns}, {rows}]: at least 1")));
                }
                self.convolution(&written, window, sources, shapes)
            }
            WrittenKind::FullyConnected(written) => {
                let WrittenConvolution { kernel, stride, padding, padding_after, dilation, .. } = written;
                if [kernel, stride, padding, padding_after, dilation].iter().any(Option::is_some) {
                    return Err(wrong("kernel", "a fully connected layer's kernel is its input"));
                }
                let window = window([input.width, input.height], [1; 2], None, None)?;
                self.convolution(&written, window, sources, shapes)
            }
            WrittenKind::Pooling(written) => pooling(&written, input),
            WrittenKind::Sum(written) => self.sum(&written, sources, shapes),
            WrittenKind::Elementwise(written) => self.elementwise(&written, shapes),
            WrittenKind::Scaling(written) => self.scaling(&written, input),
            WrittenKind::ChannelProduct(written) => self.channel_product(&written, shapes),
            WrittenKind::Activation(written) => Ok((Operation::Activation(self.function(written)?), input)),
            WrittenKind::Concatenation(_) => {
                let alike = |shape: &Shape| (shape.width, shape.height) == (input.width, input.height);
                if let Some(&other) = shapes.iter().find(|shape| !alike(shape)) {
                    return Err(unlike("inputs", input, other));
                }
                let channels = shapes.iter().map(|shape| shape.channels).sum();
                Ok((Operation::Concatenation, Shape { channels, ..input }))
            }
            WrittenKind::Normalisation(written) => self.normalisation(&written, input),
            WrittenKind::Upsampling(WrittenUpsampling { factor }) => {
                if !(1..=16).contains(&factor) {
                    return Err(wrong("factor", format!("factor = {factor}: upsampling is by 1 to 16")));
                }
                let Shape { width, height, channels } = input;
                let output = Shape { width: width * factor, height: height * factor, channels };
                Ok((Operation::Upsampling(factor), output))
            }
            WrittenKind::Interleaving(WrittenInterleaving { inputs, along }) => {
                if let Some(&other) = shapes.iter().find(|shape| **shape != input) {
                    return Err(unlike("inputs", input, other));
                }
                if !(2..=16).contains(&inputs.len()) {
                    let found = format!("{} inputs: 2 to 16 cubes are interleaved", inputs.len());
                    return Err(wrong("inputs", found));
                }
                Ok((Operation::Interleaving(along), along.of(input, inputs.len() as u32)))
            }
            WrittenKind::SoftMax(WrittenSoftMax { scale }) => {
                if !(0.0..=4096.0).contains(&scale) {
                    return Err(wrong("scale", format!("scale = {scale}: that of a soft-max is 0 to 4096")));
                }
                Ok((Operation::SoftMax(SoftMax { scale: (scale * 65536.0).round() as u32 }), input))
            }
        }
    }

    fn sum(&mut self, written: &WrittenSum, sources: &[Option<usize>], shapes: &[Shape]) -> Read {
        let &WrittenSum { scale, shift, relu, leaky, converter, .. } = written;
        let input = alike("inputs", shapes)?;
        self.refuse_in_fp16([("shift", shift.is_some()), ("converter", converter.is_some())])?;
        let (shift, scale) = (shift.unwrap_or(0), scale.unwrap_or(1));
        let converter = converter.unwrap_or_else(|| self.maker.sum_converter(sources, scale, shift));
        let activation = activation(relu, leaky);
        Ok((Operation::Sum(Sum { scale, shift, activation, converter }), input))
    }

    fn elementwise(&mut self, written: &WrittenElementwise, shapes: &[Shape]) -> Read {
        let input = alike("other", shapes)?;
        let converter = self.converter(written.converter)?;
        let pair = |method| Operation::Elementwise(Elementwise { method, converter });
        let operation = match written.method {
            WrittenPair::Add => {
                Operation::Sum(Sum { scale: 1, shift: 0, activation: Activation::None, converter })
            }
            WrittenPair::Multiply => pair(PairMethod::Multiply),
            WrittenPair::Maximum => pair(PairMethod::Maximum),
            WrittenPair::Minimum => pair(PairMethod::Minimum),
        };
        Ok((operation, input))
    }

    /// The converter of a layer that integers must have one for.
    fn converter(&self, written: Option<Converter>) -> Result<Converter, KeyError> {
        self.refuse_in_fp16([("converter", written.is_some())])?;
        match written {
            None if self.network.precision == Precision::Fp16 => Ok(Converter::NONE),
            None => Err(missing("converter", CONVERTER)),
            Some(converter) => Ok(converter),
        }
    }

    fn function(&mut self, written: WrittenFunction) -> Result<Function, KeyError> {
        Ok(match written {
            WrittenFunction::Relu {} => Function::Relu,
            WrittenFunction::Leaky { converter: Converter { offset: 0, scale, shift } } => {
                Function::Leaky { scale, shift }
            }
            WrittenFunction::Leaky { converter: Converter { offset, .. } } => {
                let what = format!("converter.offset = {offset}: a leaky activation takes nothing off");
                return Err(wrong("converter.offset", what));
            }
            WrittenFunction::Clamp { low, high } if low > high => {
                return Err(wrong("low", format!("nothing lies between {low} and {high}")));
            }
            WrittenFunction::Clamp { low, high } => Function::Clamp { low, high },
            WrittenFunction::Table { table } => {
                let answers = self.tensor("table", &table, [256])?;
                Function::Table(answers.into_iter().map(u8::cast_signed).collect())
            }
        })
    }

    fn normalisation(&mut self, written: &WrittenNormalisation, input: Shape) -> Read {
        let &WrittenNormalisation { channels, alpha, beta, k, scale, converter } = written;
        if !matches!(channels, 3 | 5 | 7 | 9) {
            let what = format!("channels = {channels}: normalisation is over 3, 5, 7 or 9");
            return Err(wrong("channels", what));
        }
        self.refuse_in_fp16([("converter", converter.is_some())])?;
        let precision = self.network.precision;
        let made = synthetic::normalisation(channels, [alpha, beta, k, scale], precision, converter);
        let made = made.ok_or_else(|| wrong("", "its factors are no numbers"))?;
        Ok((Operation::Normalisation(made), input))
    }

    fn convolution(
        &mut self,
        written: &WrittenConvolution,
        window: Window,
        sources: &[Option<usize>],
        shapes: &[Shape],
    ) -> Read {
        let &WrittenConvolution { truncate, converter, ref add, .. } = written;
        let input = shapes[0];
        let kernels = match (written.kernels, written.depthwise) {
            (Some(kernels), _) => kernels,
            (None, true) => input.channels,
            (None, false) => return Err(missing("kernels", "kernels = 16")),
        };
        let groups = if written.depthwise { input.channels } else { written.groups.unwrap_or(1) };
        if groups == 0 || !input.channels.is_multiple_of(groups) || !kernels.is_multiple_of(groups) {
            return Err(wrong("groups", "channels and kernels are no multiples of the groups"));
        }
        if let Some(more @ 32..) = truncate {
            return Err(wrong("truncate", format!("truncate: found {more}, expected 0 to 31")));
        }
        let output = under(window, input, kernels)?.check().map_err(|why| wrong("", why))?;
        if let Some(&other) = shapes.get(1).filter(|other| **other != output) {
            return Err(unlike("add", output, other));
        }
        let bias_shift = written.bias.as_ref().is_some_and(|bias| bias.shift > 0);
        self.refuse_in_fp16([
            ("bias.shift", bias_shift),
            ("add.shift", add.as_ref().is_some_and(|added| added.shift.is_some())),
            ("truncate", truncate.is_some()),
            ("converter", converter.is_some()),
        ])?;
        if written.scales.is_some() && converter.is_none() && self.network.precision != Precision::Fp16 {
            return Err(missing("converter", CONVERTER));
        }
        let mut convolution = Convolution {
            kernels,
            groups,
            window,
            padding: self.padding_value(written.padding_value)?,
            weights: Vec::new(),
            bias: None,
            look_up: written.look_up.as_ref().map(|table| self.look_up(table)).transpose()?,
            scales: written
                .scales
                .as_ref()
                .map(|scales| self.scales("scales", scales, kernels))
                .transpose()?,
            truncate: truncate.unwrap_or(0),
            added: add.as_ref().map(|added| added.shift.unwrap_or(0)),
            activation: self.activation((written.relu, written.leaky), written.prelu.as_ref(), kernels)?,
            converter: converter.unwrap_or(Converter::NONE),
        };
        self.weights(&mut convolution, written, sources, input.channels / groups)?;
        if let Some(bias) = &written.bias {
            convolution.bias = Some(self.bias(bias, kernels)?);
        }
        Ok((Operation::Convolution(convolution), output))
    }

    /// Reads a convolution's weights, or makes them up with what belongs to them; each kernel sees so many channels.
    fn weights(
        &mut self,
        convolution: &mut Convolution,
        written: &WrittenConvolution,
        sources: &[Option<usize>],
        seen: u32,
    ) -> Result<(), KeyError> {
        let Convolution { window, kernels, .. } = *convolution;
        let sizes = [window.size[0], window.size[1], seen, kernels];
        let count = sizes.iter().try_fold(1u64, |count, &by| count.checked_mul(by.into()));
        let Some(count) = count.filter(|&count| count < 1 << 32) else {
            return Err(no_window(window, self.network.shape(sources[0])));
        };
        let seed = match &written.weights {
            Some(Tensor::File(file)) => {
                let element = self.network.precision.bytes() as u64;
                let bytes = self.tensor("weights", file, [count * element])?;
                convolution.weights = bytes.into_iter().map(u8::cast_signed).collect();
                if written.converter.is_none() && self.network.precision != Precision::Fp16 {
                    let what = format!(
                        "`converter` is missing, as the weights are in a file: write one, such as {CONVERTER}"
                    );
                    return Err(wrong("", what));
                }
                return Ok(());
            }
            Some(Tensor::Seeded { seed }) => *seed,
            None => self.maker.seed().ok_or_else(|| {
                wrong("", "`weights` are missing: name a file, or give the network a `seed` to make them up")
            })?,
        };
        self.maker.take(&sizes).map_err(|why| wrong("", why))?;
        let &WrittenConvolution { truncate, converter, ref add, .. } = written;
        let shift = add.as_ref().and_then(|added| added.shift);
        let given = GivenParameters { truncate, shift, converter };
        self.maker.convolution(convolution, seed, count as usize, sources, given);
        Ok(())
    }

    /// Biases are int16 or int32, which their file's length tells; in fp16 they are fp16.
    fn bias(&mut self, written: &WrittenBias, kernels: u32) -> Result<Bias, KeyError> {
        let &WrittenBias { values: ref file, shift } = written;
        let kernels = u64::from(kernels);
        let bytes = match self.network.precision {
            Precision::Fp16 => self.tensor("bias", file, [2 * kernels])?,
            _ => self.tensor("bias", file, [2 * kernels, 4 * kernels])?,
        };
        let values = match bytes.len() as u64 == 4 * kernels {
            true => bytes.as_chunks().0.iter().map(|word| i32::from_le_bytes(*word)).collect(),
            false => bytes.as_chunks().0.iter().map(|pair| i16::from_le_bytes(*pair).into()).collect(),
        };
        Ok(Bias { values, shift })
    }

    /// Refuses what only integers have, if it is given.
    fn refuse_in_fp16<const N: usize>(&self, keys: [(&'static str, bool); N]) -> Result<(), KeyError> {
        let given = keys.into_iter().find(|(_, is_given)| *is_given);
        match given {
            Some((key, _)) if self.network.precision == Precision::Fp16 => {
                let what = format!("`{key}` is of integers: in fp16 nothing is shifted or converted");
                Err(wrong(key, what))
            }
            _ => Ok(()),
        }
    }

    /// The bytes of a file that has one of these lengths.
    fn tensor<const N: usize>(
        &mut self,
        key: &'static str,
        file: &str,
        lengths: [u64; N],
    ) -> Result<Vec<u8>, KeyError> {
        let bytes = (self.read)(file).map_err(|why| wrong(key, format!("{key}: {why}")))?;
        if !lengths.contains(&(bytes.len() as u64)) {
            let right = lengths.map(grouped).join(" or ");
            return Err(wrong(
                key,
                format!("{key}: {file} has {} bytes instead of {right}", grouped(bytes.len())),
            ));
        }
        Ok(bytes)
    }
}

fn pooling(written: &WrittenPooling, input: Shape) -> Read {
    let &WrittenPooling { method, kernel, global, stride, padding, padding_after, rounding } = written;
    let kernel = match (kernel, global) {
        (Some(kernel), false) => kernel,
        (None, true) => [input.width, input.height],
        _ => return Err(wrong("kernel", "either `kernel` or `global = true` says what is pooled")),
    };
    // As frameworks have it, windows do not overlap if nothing else is said.
    let mut window = window(kernel, stride.unwrap_or(kernel), padding, padding_after)?;
    if rounding == Rounding::Ceil {
        window = window.rounded_up(input);
    }
    let output = under(window, input, input.channels)?;
    Ok((Operation::Pooling(Pooling { method, window }), output))
}

fn activation(relu: bool, leaky: Option<Leaky>) -> Activation {
    match leaky {
        Some(Leaky { scale, shift }) => Activation::Leaky { scale, shift },
        None if relu => Activation::Relu,
        None => Activation::None,
    }
}

/// The size of two cubes that are to have the same.
fn alike(key: &'static str, shapes: &[Shape]) -> Result<Shape, KeyError> {
    match *shapes {
        [one, other] if one == other => Ok(one),
        [one, other] => Err(unlike(key, one, other)),
        _ => Err(wrong(key, "two inputs go together")),
    }
}

fn unlike(key: &'static str, one: Shape, other: Shape) -> KeyError {
    wrong(key, format!("{one} and {other} do not go together"))
}

fn window(
    size: [u32; 2],
    stride: [u32; 2],
    padding: Option<[u32; 2]>,
    padding_after: Option<[u32; 2]>,
) -> Result<Window, KeyError> {
    for (key, [columns, rows]) in [("kernel", size), ("stride", stride)] {
        if columns == 0 || rows == 0 {
            return Err(wrong(key, format!("{key} = [{columns}, {rows}]: at least 1")));
        }
    }
    let before = padding.unwrap_or_default();
    Ok(Window { size, stride, dilation: [1; 2], before, after: padding_after.unwrap_or(before) })
}

/// The size of what windows over an input make.
fn under(window: Window, input: Shape, channels: u32) -> Result<Shape, KeyError> {
    let Some([width, height]) = window.outputs(input) else {
        return Err(no_window(window, input));
    };
    Ok(Shape { width, height, channels })
}
