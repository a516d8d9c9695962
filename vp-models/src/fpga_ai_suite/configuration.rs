//! A job's configuration: words that say a graph, as the host's software makes them and the IP reads them.
//!
//! A word has 64 bits, the lower 32 an instruction and the upper 32 its data. The vendor does not publish instructions: these
//! are our own (`docs/fpga-ai-suite.md` lists them). Decoding and encoding are each other's inverse.

use std::collections::BTreeMap;

use thiserror::Error;

use super::graph::{
    Activation, Converter, Graph, GraphError, GraphLayer, Operation, Pair, Pooling, Shape, Sums, Tensor,
    Window,
};

/// Configuration that a job is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Graph that it computes.
    pub graph: Graph,
    /// Offset of the filters: bytes behind the configuration, or in the scratchpad of a DDR-free IP.
    pub filters_at: u32,
    /// Offset of the output, in bytes behind the input.
    pub output_at: u32,
}

/// A configuration that says no graph.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("configuration word {word}: {why}")]
pub struct Refused {
    /// Position of the word, from 0.
    pub word: usize,
    /// Error of the word.
    pub why: WordError,
}

/// Error of a configuration word.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WordError {
    /// An instruction that does not exist.
    #[error("no instruction {0:#x}")]
    Instruction(u32),
    /// The instruction does not belong here.
    #[error("instruction {0:#x} does not belong here")]
    Place(u32),
    /// An instruction that has to come before.
    #[error("instruction {0:#x} has to come before")]
    Missing(u32),
    /// The data makes no sense.
    #[error("data {data:#x} of instruction {instruction:#x} makes no sense")]
    Data {
        /// The instruction.
        instruction: u32,
        /// Data of the instruction.
        data: u32,
    },
    /// The words end before the graph does.
    #[error("the end is missing")]
    End,
    /// The graph is none.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// The most words: more than any graph has.
pub const MOST_WORDS: u64 = 1 << 17;

/// The format that these instructions are.
const FORMAT_VERSION: u32 = 1;

/// The instructions' numbers.
mod code {
    pub(super) const FORMAT: u32 = 0x001;
    pub(super) const INPUT_HEIGHT: u32 = 0x010;
    pub(super) const INPUT_WIDTH: u32 = 0x011;
    pub(super) const INPUT_CHANNELS: u32 = 0x012;
    pub(super) const FILTERS_AT: u32 = 0x020;
    pub(super) const FILTER_BYTES: u32 = 0x021;
    pub(super) const OUTPUT_AT: u32 = 0x022;
    /// Begins a layer; the data is what it does.
    pub(super) const LAYER: u32 = 0x100;
    pub(super) const SOURCE: u32 = 0x101;
    pub(super) const OTHER: u32 = 0x102;
    pub(super) const CYCLES: u32 = 0x103;
    pub(super) const SIZE: u32 = 0x110;
    pub(super) const STRIDE: u32 = 0x111;
    pub(super) const BEFORE: u32 = 0x112;
    pub(super) const AFTER: u32 = 0x113;
    pub(super) const KERNELS: u32 = 0x120;
    pub(super) const WEIGHTS: u32 = 0x121;
    pub(super) const BIAS: u32 = 0x122;
    pub(super) const RELU: u32 = 0x123;
    pub(super) const OFFSET: u32 = 0x130;
    pub(super) const SCALE: u32 = 0x131;
    pub(super) const SHIFT: u32 = 0x132;
    pub(super) const METHOD: u32 = 0x140;
    pub(super) const LOW: u32 = 0x141;
    pub(super) const HIGH: u32 = 0x142;
    pub(super) const TABLE: u32 = 0x143;
    pub(super) const END_LAYER: u32 = 0x1ff;
    pub(super) const END: u32 = 0xfff;

    /// Instructions that may come before the first layer.
    pub(super) const HEAD: [u32; 7] =
        [FORMAT, INPUT_HEIGHT, INPUT_WIDTH, INPUT_CHANNELS, FILTERS_AT, FILTER_BYTES, OUTPUT_AT];
    /// Instructions that may come within a layer.
    pub(super) const BODY: [u32; 18] = [
        SOURCE, OTHER, CYCLES, SIZE, STRIDE, BEFORE, AFTER, KERNELS, WEIGHTS, BIAS, RELU, OFFSET, SCALE,
        SHIFT, METHOD, LOW, HIGH, TABLE,
    ];
}

/// The data of `LAYER`.
mod kind {
    pub(super) const CONVOLUTION: u32 = 0;
    pub(super) const FULLY_CONNECTED: u32 = 1;
    pub(super) const POOLING: u32 = 2;
    pub(super) const ELEMENTWISE: u32 = 3;
    pub(super) const ACTIVATION: u32 = 4;
}

const POOLINGS: [Pooling; 3] = [Pooling::Max, Pooling::Min, Pooling::Average];
const PAIRS: [Pair; 3] = [Pair::Add, Pair::Multiply, Pair::Maximum];
/// The methods of activations.
const RELU: u32 = 0;
const LEAKY: u32 = 1;
const CLAMP: u32 = 2;
const TABLE: u32 = 3;

/// Instructions and their data, each once.
#[derive(Default)]
struct Fields(BTreeMap<u32, u32>);

impl Fields {
    fn get(&self, instruction: u32) -> Result<u32, WordError> {
        self.0.get(&instruction).copied().ok_or(WordError::Missing(instruction))
    }

    fn or(&self, instruction: u32, otherwise: u32) -> u32 {
        self.0.get(&instruction).copied().unwrap_or(otherwise)
    }

    /// A number of so few bits with a sign.
    fn signed(&self, instruction: u32, bits: u32) -> Result<i32, WordError> {
        let data = self.get(instruction)?;
        let value = data as i32;
        let unused = 32 - bits;
        match value << unused >> unused == value {
            true => Ok(value),
            false => Err(WordError::Data { instruction, data }),
        }
    }

    fn one_of<T: Copy>(&self, instruction: u32, all: &[T]) -> Result<T, WordError> {
        let data = self.get(instruction)?;
        all.get(data as usize).copied().ok_or(WordError::Data { instruction, data })
    }

    /// Rows in the upper half, columns in the lower.
    fn pair(&self, instruction: u32, otherwise: u32) -> [u32; 2] {
        let data = self.or(instruction, otherwise);
        [data >> 16, data & 0xffff]
    }

    fn tensor(&self, instruction: u32) -> Result<Tensor, WordError> {
        let data = self.get(instruction)?;
        Ok(data.checked_sub(1).map_or(Tensor::Input, |layer| Tensor::Layer(layer as usize)))
    }

    fn window(&self) -> Result<Window, WordError> {
        self.get(code::SIZE)?;
        let pair = |instruction, otherwise| self.pair(instruction, otherwise);
        Ok(Window {
            size: pair(code::SIZE, 0),
            stride: pair(code::STRIDE, 0x1_0001),
            before: pair(code::BEFORE, 0),
            after: pair(code::AFTER, 0),
        })
    }

    fn converter(&self) -> Result<Converter, WordError> {
        let offset = self.or(code::OFFSET, 0) as i32;
        let scale = self.signed(code::SCALE, 16)? as i16;
        Ok(Converter { offset, scale, shift: self.get(code::SHIFT)? })
    }

    fn sums(&self) -> Result<Sums, WordError> {
        Ok(Sums {
            kernels: self.get(code::KERNELS)?,
            weights: self.get(code::WEIGHTS)?,
            bias: self.0.get(&code::BIAS).copied(),
            relu: self.or(code::RELU, 0) != 0,
            converter: self.converter()?,
        })
    }

    fn activation(&self) -> Result<Activation, WordError> {
        Ok(match self.get(code::METHOD)? {
            RELU => Activation::Relu,
            LEAKY => {
                let Converter { scale, shift, .. } = self.converter()?;
                Activation::Leaky { scale, shift }
            }
            CLAMP => Activation::Clamp {
                low: self.signed(code::LOW, 8)? as i8,
                high: self.signed(code::HIGH, 8)? as i8,
            },
            TABLE => Activation::Table { at: self.get(code::TABLE)? },
            data => return Err(WordError::Data { instruction: code::METHOD, data }),
        })
    }

    fn operation(&self) -> Result<Operation, WordError> {
        Ok(match self.get(code::LAYER)? {
            kind::CONVOLUTION => Operation::Convolution { window: self.window()?, sums: self.sums()? },
            kind::FULLY_CONNECTED => Operation::FullyConnected { sums: self.sums()? },
            kind::POOLING => {
                Operation::Pooling { window: self.window()?, method: self.one_of(code::METHOD, &POOLINGS)? }
            }
            kind::ELEMENTWISE => Operation::Elementwise {
                other: self.tensor(code::OTHER)?,
                method: self.one_of(code::METHOD, &PAIRS)?,
                converter: self.converter()?,
            },
            kind::ACTIVATION => Operation::Activation(self.activation()?),
            data => return Err(WordError::Data { instruction: code::LAYER, data }),
        })
    }
}

impl Configuration {
    /// Returns the configuration that the words say.
    ///
    /// # Errors
    /// Names the word that is wrong.
    pub fn decode(words: &[u64]) -> Result<Configuration, Refused> {
        let mut head = Fields::default();
        let mut graph: Option<Graph> = None;
        let mut layer: Option<Fields> = None;
        for (place, &word) in words.iter().enumerate() {
            let (instruction, data) = (word as u32, (word >> 32) as u32);
            let mut step = || -> Result<bool, WordError> {
                match (instruction, &mut layer) {
                    (code::LAYER, None) => {
                        if graph.is_none() {
                            graph = Some(begin(&head)?);
                        }
                        layer = Some(Fields(BTreeMap::from([(instruction, data)])));
                    }
                    (code::END_LAYER, Some(fields)) => {
                        let (source, operation) = (fields.tensor(code::SOURCE)?, fields.operation()?);
                        let cycles = fields.0.get(&code::CYCLES).copied();
                        let graph = graph.as_mut().ok_or(WordError::Place(instruction))?;
                        graph.add(source, operation, cycles)?;
                        layer = None;
                    }
                    (code::END, None) => return Ok(true),
                    (_, Some(fields)) if code::BODY.contains(&instruction) => {
                        if fields.0.insert(instruction, data).is_some() {
                            return Err(WordError::Place(instruction));
                        }
                    }
                    (_, None) if code::HEAD.contains(&instruction) && graph.is_none() => {
                        if head.0.insert(instruction, data).is_some() {
                            return Err(WordError::Place(instruction));
                        }
                    }
                    (code::LAYER | code::END_LAYER | code::END, _) => {
                        return Err(WordError::Place(instruction));
                    }
                    _ if code::HEAD.contains(&instruction) || code::BODY.contains(&instruction) => {
                        return Err(WordError::Place(instruction));
                    }
                    _ => return Err(WordError::Instruction(instruction)),
                }
                Ok(false)
            };
            let refuse = |why| Refused { word: place, why };
            if step().map_err(refuse)? {
                if let Some(behind) = words.get(place + 1) {
                    return Err(Refused { word: place + 1, why: WordError::Place(*behind as u32) });
                }
                let graph =
                    graph.ok_or(GraphError::Layers { layers: 0 }).map_err(|error| refuse(error.into()))?;
                let at = |instruction| head.get(instruction).map_err(refuse);
                let (filters_at, output_at) = (at(code::FILTERS_AT)?, at(code::OUTPUT_AT)?);
                let graph = graph.whole().map_err(|error| refuse(error.into()))?;
                return Ok(Configuration { graph, filters_at, output_at });
            }
        }
        Err(Refused { word: words.len(), why: WordError::End })
    }

    /// The words that say it.
    pub fn encode(&self) -> Vec<u64> {
        let input = self.graph.input();
        let mut words = Words(Vec::new());
        words.put(code::FORMAT, FORMAT_VERSION);
        words.put(code::INPUT_HEIGHT, input.height);
        words.put(code::INPUT_WIDTH, input.width);
        words.put(code::INPUT_CHANNELS, input.channels);
        words.put(code::FILTERS_AT, self.filters_at);
        words.put(code::FILTER_BYTES, self.graph.filter_bytes());
        words.put(code::OUTPUT_AT, self.output_at);
        self.graph.layers().iter().for_each(|layer| words.layer(layer));
        words.put(code::END, 0);
        words.0
    }
}

fn begin(head: &Fields) -> Result<Graph, WordError> {
    match head.get(code::FORMAT)? {
        FORMAT_VERSION => {}
        data => return Err(WordError::Data { instruction: code::FORMAT, data }),
    }
    let input = Shape {
        height: head.get(code::INPUT_HEIGHT)?,
        width: head.get(code::INPUT_WIDTH)?,
        channels: head.get(code::INPUT_CHANNELS)?,
    };
    Ok(Graph::new(input, head.get(code::FILTER_BYTES)?)?)
}

/// Words in the making.
struct Words(Vec<u64>);

impl Words {
    fn put(&mut self, instruction: u32, data: u32) {
        self.0.push(u64::from(instruction) | u64::from(data) << 32);
    }

    fn layer(&mut self, layer: &GraphLayer) {
        let tensor = |tensor: Tensor| match tensor {
            Tensor::Input => 0,
            Tensor::Layer(layer) => layer as u32 + 1,
        };
        let kind = match &layer.operation {
            Operation::Convolution { .. } => kind::CONVOLUTION,
            Operation::FullyConnected { .. } => kind::FULLY_CONNECTED,
            Operation::Pooling { .. } => kind::POOLING,
            Operation::Elementwise { .. } => kind::ELEMENTWISE,
            Operation::Activation(_) => kind::ACTIVATION,
        };
        self.put(code::LAYER, kind);
        self.put(code::SOURCE, tensor(layer.source));
        if let Some(cycles) = layer.cycles {
            self.put(code::CYCLES, cycles);
        }
        match &layer.operation {
            Operation::Convolution { window, sums } => {
                self.window(window);
                self.sums(sums);
            }
            Operation::FullyConnected { sums } => self.sums(sums),
            Operation::Pooling { window, method } => {
                self.window(window);
                self.put(code::METHOD, place(&POOLINGS, method));
            }
            Operation::Elementwise { other, method, converter } => {
                self.put(code::OTHER, tensor(*other));
                self.put(code::METHOD, place(&PAIRS, method));
                self.converter(converter);
            }
            Operation::Activation(activation) => self.activation(*activation),
        }
        self.put(code::END_LAYER, 0);
    }

    fn window(&mut self, window: &Window) {
        let pair = |[rows, columns]: [u32; 2]| rows << 16 | columns;
        self.put(code::SIZE, pair(window.size));
        self.put(code::STRIDE, pair(window.stride));
        self.put(code::BEFORE, pair(window.before));
        self.put(code::AFTER, pair(window.after));
    }

    fn sums(&mut self, sums: &Sums) {
        self.put(code::KERNELS, sums.kernels);
        self.put(code::WEIGHTS, sums.weights);
        if let Some(bias) = sums.bias {
            self.put(code::BIAS, bias);
        }
        self.put(code::RELU, sums.relu.into());
        self.converter(&sums.converter);
    }

    fn converter(&mut self, converter: &Converter) {
        self.put(code::OFFSET, converter.offset as u32);
        self.put(code::SCALE, i32::from(converter.scale) as u32);
        self.put(code::SHIFT, converter.shift);
    }

    fn activation(&mut self, activation: Activation) {
        match activation {
            Activation::Relu => self.put(code::METHOD, RELU),
            Activation::Leaky { scale, shift } => {
                self.put(code::METHOD, LEAKY);
                self.converter(&Converter { offset: 0, scale, shift });
            }
            Activation::Clamp { low, high } => {
                self.put(code::METHOD, CLAMP);
                self.put(code::LOW, i32::from(low) as u32);
                self.put(code::HIGH, i32::from(high) as u32);
            }
            Activation::Table { at } => {
                self.put(code::METHOD, TABLE);
                self.put(code::TABLE, at);
            }
        }
    }
}

fn place<T: PartialEq>(all: &[T], one: &T) -> u32 {
    all.iter().position(|it| it == one).unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sums() -> Sums {
        let converter = Converter { offset: -7, scale: -300, shift: 12 };
        Sums { kernels: 3, weights: 16, bias: Some(4), relu: true, converter }
    }

    /// A graph with every kind of layer.
    fn everything() -> Configuration {
        let mut graph = Graph::new(Shape { height: 6, width: 5, channels: 2 }, 1024).unwrap();
        let window = Window { size: [3, 2], stride: [1, 1], before: [1, 0], after: [1, 1] };
        let mut add = |source, operation, cycles| graph.add(source, operation, cycles).unwrap();
        add(Tensor::Input, Operation::Convolution { window, sums: sums() }, None);
        let converter = Converter { offset: 0, scale: 1, shift: 1 };
        let pair = Operation::Elementwise { other: Tensor::Layer(0), method: Pair::Maximum, converter };
        add(Tensor::Layer(0), pair, Some(99));
        add(Tensor::Layer(1), Operation::Pooling { window, method: Pooling::Average }, None);
        let activations = [
            Activation::Relu,
            Activation::Leaky { scale: -3, shift: 5 },
            Activation::Clamp { low: -9, high: 4 },
            Activation::Table { at: 512 },
        ];
        for (at, activation) in activations.into_iter().enumerate() {
            add(Tensor::Layer(2 + at), Operation::Activation(activation), None);
        }
        add(Tensor::Layer(6), Operation::FullyConnected { sums: Sums { bias: None, ..sums() } }, None);
        Configuration { graph: graph.whole().unwrap(), filters_at: 640, output_at: 64 }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let all = everything();
        assert_eq!(Configuration::decode(&all.encode()), Ok(all));
    }

    #[test]
    fn what_is_missing_or_in_the_wrong_place_is_named() {
        let words = everything().encode();
        for left_out in 0..words.len() {
            let mut fewer = words.clone();
            let word = fewer.remove(left_out) as u32;
            let has_default =
                [code::OFFSET, code::CYCLES, code::BIAS, code::RELU, code::STRIDE, code::BEFORE, code::AFTER];
            let decoded = Configuration::decode(&fewer);
            if !has_default.contains(&word) {
                assert!(decoded.is_err(), "without word {left_out}, {word:#x}");
            }
            assert!(Configuration::decode(&words[..left_out]).is_err(), "the first {left_out}");
        }
        let refusal = |words: &[u64]| Configuration::decode(words).unwrap_err().to_string();
        assert_eq!(refusal(&[0]), "configuration word 0: no instruction 0x0");
        assert_eq!(refusal(&[]), "configuration word 0: the end is missing");
        assert_eq!(refusal(&[code::END.into()]), "configuration word 0: 0 layers: 1 to 4096");
        let format = u64::from(code::FORMAT) | 2 << 32;
        let layer = u64::from(code::LAYER);
        assert!(refusal(&[format, layer]).contains("data 0x2 of instruction 0x1 makes no sense"));
        assert!(refusal(&[format, format]).contains("word 1: instruction 0x1 does not belong here"));
        let mut behind = words;
        behind.push(0);
        assert!(refusal(&behind).contains("does not belong here"));
    }

    proptest! {
        #[test]
        fn no_words_make_it_fail_otherwise(changes in prop::collection::vec((0usize..90, any::<u64>()), 1..4)) {
            let mut words = everything().encode();
            let count = words.len();
            for (place, bits) in changes {
                words[place % count] ^= bits & 0xffff_ffff_0000_01ff;
            }
            if let Ok(read) = Configuration::decode(&words) {
                prop_assert_eq!(Configuration::decode(&read.encode()), Ok(read));
            }
        }
    }
}
