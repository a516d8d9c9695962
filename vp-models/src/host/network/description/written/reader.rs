//! From what is written to layers, each checked against those before it.

use super::{
    Leaky, ReadTensor, Rounding, Tensor, WrittenBias, WrittenConvolution, WrittenKind, WrittenLayer,
    WrittenNormalisation, WrittenPooling, WrittenSoftMax, WrittenUpsampling,
};
use crate::host::network::description::synthetic::{self, GrantedWrite, Maker};
use crate::host::network::description::{
    Activation, Bias, Converter, Convolution, Network, NetworkLayer, Operation, Pooling, Shape, SoftMax, Sum,
    Window,
};
use crate::nvdla::numeric::Precision;
use crate::suggestion::hint;
use crate::toml_text::KeyError;

fn wrong(key: &'static str, what: impl Into<String>) -> KeyError {
    KeyError::new(key, what)
}

fn unlike(one: Shape, other: Shape) -> KeyError {
    wrong("inputs", format!("{one} and {other} do not go together"))
}

fn no_window(window: Window, input: Shape) -> KeyError {
    let [columns, rows] = window.size;
    wrong("kernel", format!("a window of {columns}x{rows} does not fit on {input} and its padding"))
}

/// A network as far as it is read.
pub(super) struct Reader<'a, 'b> {
    pub(super) network: Network,
    pub(super) maker: Maker,
    pub(super) read: &'a mut ReadTensor<'b>,
}

impl Reader<'_, '_> {
    pub(super) fn layer(&mut self, written: WrittenLayer) -> Result<(), KeyError> {
        let WrittenLayer { name, kind, .. } = written;
        let layers = &self.network.layers;
        if layers.iter().any(|layer| layer.name == name) {
            return Err(wrong("name", "another layer has this name"));
        }
        let source = |input: Option<&str>| match input {
            None => Ok(layers.len().checked_sub(1)),
            Some("input") => Ok(None),
            Some(input) => match layers.iter().position(|layer| layer.name == input) {
                None => {
                    let nearest = hint(input, layers.iter().map(|layer| layer.name.as_str()));
                    let what = format!("it reads `{input}`: no layer before it has that name{nearest}");
                    Err(wrong("input", what))
                }
                place => Ok(place),
            },
        };
        let sources = kind.inputs().into_iter().map(source).collect::<Result<Vec<_>, _>>()?;
        let Some(&first) = sources.first() else {
            return Err(wrong("inputs", "it reads nothing"));
        };
        let input = self.network.shape(first);
        let shapes: Vec<Shape> = sources.iter().map(|&source| self.network.shape(source)).collect();
        let (operation, output) = self.operation(kind, &sources, &shapes)?;
        let output = output.check().map_err(|why| wrong("", why))?;
        self.maker.made(&operation, &sources, &shapes);
        self.network.layers.push(NetworkLayer { name, sources, input, output, operation });
        Ok(())
    }

    fn operation(
        &mut self,
        kind: WrittenKind,
        sources: &[Option<usize>],
        shapes: &[Shape],
    ) -> Result<(Operation, Shape), KeyError> {
        let input = shapes[0];
        Ok(match kind {
            WrittenKind::Convolution(written) => {
                let kernel = written.kernel.ok_or_else(|| wrong("", "`kernel` is missing"))?;
                let window =
                    window(kernel, written.stride.unwrap_or([1; 2]), written.padding, written.padding_after);
                self.convolution(written, window, sources, shapes)?
            }
            WrittenKind::FullyConnected(written) => {
                if written.kernel.is_some() || written.stride.is_some() || written.padding.is_some() {
                    return Err(wrong("kernel", "a fully connected layer's kernel is its input"));
                }
                let window = window([input.width, input.height], [1; 2], None, None);
                self.convolution(written, window, sources, shapes)?
            }
            WrittenKind::Pooling(written) => {
                let whole = [input.width, input.height];
                let kernel = match (written.kernel, written.global) {
                    (Some(kernel), false) => kernel,
                    (None, true) => whole,
                    _ => {
                        return Err(wrong(
                            "kernel",
                            "either `kernel` or `global = true` says what is pooled",
                        ));
                    }
                };
                let WrittenPooling { method, stride, padding, padding_after, rounding, .. } = written;
                // As frameworks have it, windows do not overlap if nothing else is said.
                let mut window = window(kernel, stride.unwrap_or(kernel), padding, padding_after);
                if rounding == Rounding::Ceil {
                    window = window.rounded_up(input);
                }
                let output = under(window, input, input.channels)?;
                (Operation::Pooling(Pooling { method, window }), output)
            }
            WrittenKind::Sum(written) => {
                if shapes[1] != input {
                    return Err(unlike(input, shapes[1]));
                }
                let activation = activation(written.relu, written.leaky);
                self.refuse_in_fp16([
                    ("shift", written.shift.is_some()),
                    ("converter", written.converter.is_some()),
                ])?;
                let (shift, scale) = (written.shift.unwrap_or(0), written.scale.unwrap_or(1));
                let converter = match written.converter {
                    Some(converter) => converter,
                    None => self.maker.sum_converter(sources, scale, shift),
                };
                (Operation::Sum(Sum { scale, shift, activation, converter }), input)
            }
            WrittenKind::Concatenation(_) => {
                let alike = |shape: &Shape| (shape.width, shape.height) == (input.width, input.height);
                if let Some(&other) = shapes.iter().find(|shape| !alike(shape)) {
                    return Err(unlike(input, other));
                }
                let channels = shapes.iter().map(|shape| shape.channels).sum();
                (Operation::Concatenation, Shape { channels, ..input })
            }
            WrittenKind::Normalisation(written) => {
                let WrittenNormalisation { channels, alpha, beta, k, scale, converter, .. } = written;
                if !matches!(channels, 3 | 5 | 7 | 9) {
                    return Err(wrong(
                        "channels",
                        format!("channels = {channels}: normalisation is over 3, 5, 7 or 9"),
                    ));
                }
                self.refuse_in_fp16([("converter", converter.is_some())])?;
                let precision = self.network.precision;
                let made = synthetic::normalisation(channels, [alpha, beta, k, scale], precision, converter);
                (
                    Operation::Normalisation(made.ok_or_else(|| wrong("", "its factors are no numbers"))?),
                    input,
                )
            }
            WrittenKind::Upsampling(WrittenUpsampling { factor, .. }) => {
                if !(1..=16).contains(&factor) {
                    return Err(wrong("factor", format!("factor = {factor}: upsampling is by 1 to 16")));
                }
                let Shape { width, height, channels } = input;
                let output = Shape { width: width * factor, height: height * factor, channels };
                (Operation::Upsampling(factor), output)
            }
            WrittenKind::SoftMax(WrittenSoftMax { scale, .. }) => {
                if !(0.0..=4096.0).contains(&scale) {
                    return Err(wrong("scale", format!("scale = {scale}: that of a soft-max is 0 to 4096")));
                }
                (Operation::SoftMax(SoftMax { scale: (scale * 65536.0).round() as u32 }), input)
            }
        })
    }

    fn convolution(
        &mut self,
        written: WrittenConvolution,
        window: Window,
        sources: &[Option<usize>],
        shapes: &[Shape],
    ) -> Result<(Operation, Shape), KeyError> {
        let WrittenConvolution { relu, leaky, truncate, converter, add, .. } = written;
        let input = shapes[0];
        let kernels = match (written.kernels, written.depthwise) {
            (Some(kernels), _) => kernels,
            (None, true) => input.channels,
            (None, false) => return Err(wrong("", "`kernels` is missing")),
        };
        let groups = if written.depthwise { input.channels } else { written.groups.unwrap_or(1) };
        if groups == 0 || !input.channels.is_multiple_of(groups) || !kernels.is_multiple_of(groups) {
            return Err(wrong("groups", "channels and kernels are no multiples of the groups"));
        }
        let output = under(window, input, kernels)?.check().map_err(|why| wrong("", why))?;
        let taps = [window.size[0], window.size[1], input.channels / groups, kernels].map(u64::from);
        let count = taps.iter().try_fold(1u64, |count, &by| count.checked_mul(by));
        let Some(count) = count.filter(|&count| count < 1 << 32) else {
            return Err(no_window(window, input));
        };
        if let Some(&other) = shapes.get(1).filter(|other| **other != output) {
            return Err(wrong("add", format!("{output} and {other} do not go together")));
        }
        let bias_shift = written.bias.as_ref().is_some_and(|bias| bias.shift > 0);
        self.refuse_in_fp16([
            ("bias.shift", bias_shift),
            ("add.shift", add.as_ref().is_some_and(|added| added.shift.is_some())),
            ("truncate", truncate.is_some()),
            ("converter", converter.is_some()),
        ])?;
        let activation = activation(relu, leaky);
        let element = self.network.precision.bytes() as u64;
        let mut convolution = Convolution {
            kernels,
            groups,
            window,
            weights: Vec::new(),
            bias: None,
            truncate: truncate.unwrap_or(0),
            added: add.as_ref().map(|added| added.shift.unwrap_or(0)),
            activation,
            converter: converter.unwrap_or(Converter::NONE),
        };
        let seed = match &written.weights {
            Some(Tensor::File(file)) => {
                let bytes = self.tensor("weights", file, count, element)?;
                convolution.weights = bytes.into_iter().map(|byte| byte as i8).collect();
                if converter.is_none() && self.network.precision != Precision::Fp16 {
                    return Err(wrong("", "`converter` is missing: the weights are in a file"));
                }
                None
            }
            Some(Tensor::Seeded { seed }) => Some(*seed),
            None => Some(self.maker.seed().ok_or_else(|| {
                wrong("", "`weights` are missing: name a file, or give the network a `seed` to make them up")
            })?),
        };
        if let Some(seed) = seed {
            let sizes = [window.size[0], window.size[1], input.channels / groups, kernels];
            self.maker.take(&sizes).map_err(|why| wrong("", why))?;
            let given =
                GrantedWrite { truncate, shift: add.as_ref().and_then(|added| added.shift), converter };
            self.maker.convolution(&mut convolution, seed, count as usize, sources, given);
        }
        if let Some(WrittenBias { values, shift }) = written.bias {
            let bytes = self.tensor("bias", &values, kernels.into(), 2)?;
            let values = bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
            convolution.bias = Some(Bias { values, shift });
        }
        Ok((Operation::Convolution(convolution), output))
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

    fn tensor(
        &mut self,
        key: &'static str,
        file: &str,
        elements: u64,
        element: u64,
    ) -> Result<Vec<u8>, KeyError> {
        let wrong = |why: String| wrong(key, format!("{file}: {why}"));
        let bytes = (self.read)(file).map_err(wrong)?;
        if bytes.len() as u64 != elements * element {
            return Err(wrong(format!("it has {} bytes instead of {}", bytes.len(), elements * element)));
        }
        Ok(bytes)
    }
}

fn activation(relu: bool, leaky: Option<Leaky>) -> Activation {
    match leaky {
        Some(Leaky { scale, shift }) => Activation::Leaky { scale, shift },
        None if relu => Activation::Relu,
        None => Activation::None,
    }
}

fn window(
    size: [u32; 2],
    stride: [u32; 2],
    padding: Option<[u32; 2]>,
    padding_after: Option<[u32; 2]>,
) -> Window {
    let before = padding.unwrap_or_default();
    Window { size, stride, before, after: padding_after.unwrap_or(before) }
}

/// The size of what windows over an input make.
fn under(window: Window, input: Shape, channels: u32) -> Result<Shape, KeyError> {
    let Some([width, height]) = window.outputs(input) else {
        return Err(no_window(window, input));
    };
    Ok(Shape { width, height, channels })
}
