//! From a network to what a driver does with it: where everything lies, and which registers each layer takes.

use super::cut::{self, TooLarge};
use super::description::{Convolution, Layer, Network, Operation, Pooling, Shape, Window};
use super::error::PlanError;
use super::layout::{ALIGNMENT, Surface, pack_operands, pack_weights};
use super::registers::{self, Constants, Part};
use crate::host::program::Program;
use crate::host::trace::Source;
use crate::nvdla::config::{Config, DataType};
use crate::nvdla::registers::Unit;
use std::ops::Range;

/// A network laid out for one hardware configuration and one memory. It says nothing of time: one plan runs on
/// platforms with any memory behind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What must lie in memory before the first layer: address and bytes.
    pub constants: Vec<(u64, Vec<u8>)>,
    /// Where the input goes.
    pub input: Surface,
    /// Where the output comes.
    pub output: Surface,
    /// Hardware layers, in the order in which they run.
    pub steps: Vec<Step>,
    /// Bytes of memory that it uses, from the start of the range it was given.
    pub bytes: u64,
}

/// One hardware layer: a layer of the network, or some of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The layer's place in the network.
    pub layer: usize,
    /// The layer's name.
    pub name: String,
    /// The units that take part, in the order in which they are enabled: consumers before who feeds them.
    pub units: Vec<Unit>,
    /// Its registers, whatever the group.
    pub program: Program,
    /// The interrupts that say that it is done.
    pub done: Vec<(Source, Unit)>,
    /// Cycles for which its products keep the whole MAC array busy; none where the array takes no part.
    pub mac_cycles: u64,
}

impl Plan {
    /// Plans a network for a configuration, with all that it needs in this range of the primary memory.
    ///
    /// # Errors
    /// When the configuration, its buffer, its registers or the memory have no room for a layer.
    pub fn new(network: &Network, config: &Config, memory: Range<u64>) -> Result<Plan, PlanError> {
        if !(config.has_feature_type(DataType::Int8) && config.has_weight_type(DataType::Int8)) {
            return Err(PlanError::NoInt8 { config: config.name.clone() });
        }
        let mut planner = Planner {
            config,
            memory: Memory { start: memory.start, next: memory.start, end: memory.end },
            constants: Vec::new(),
        };
        let input = planner.surface("input", network.input)?;
        let (mut outputs, mut steps) = (Vec::new(), Vec::new());
        for (place, layer) in network.layers.iter().enumerate() {
            let source = layer.source.map_or(input, |source| outputs[source]);
            let destination = planner.surface(&layer.name, layer.output)?;
            let parts = match &layer.operation {
                Operation::Convolution(convolution) => {
                    planner.convolution(layer, convolution, source, destination)?
                }
                Operation::Pooling(pooling) => vec![planner.pooling(layer, pooling, source, destination)?],
            };
            steps.extend(parts.into_iter().map(|step| Step { layer: place, ..step }));
            outputs.push(destination);
        }
        let Planner { memory, constants, .. } = planner;
        let output = outputs.last().copied().unwrap_or(input);
        Ok(Plan { constants, input, output, steps, bytes: memory.next - memory.start })
    }

    /// Bytes of weights and biases.
    pub fn constant_bytes(&self) -> u64 {
        self.constants.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }
}

struct Planner<'a> {
    config: &'a Config,
    memory: Memory,
    constants: Vec<(u64, Vec<u8>)>,
}

impl Planner<'_> {
    fn surface(&mut self, what: &str, shape: Shape) -> Result<Surface, PlanError> {
        let surface = Surface { base: 0, shape, atom: self.config.memory_atom };
        Ok(Surface { base: self.memory.take(what, surface.bytes())?, ..surface })
    }

    fn constant(&mut self, what: &str, bytes: Vec<u8>) -> Result<u64, PlanError> {
        let base = self.memory.take(what, bytes.len() as u64)?;
        self.constants.push((base, bytes));
        Ok(base)
    }

    /// The hardware layers of a convolution.
    fn convolution(
        &mut self,
        layer: &Layer,
        convolution: &Convolution,
        source: Surface,
        destination: Surface,
    ) -> Result<Vec<Step>, PlanError> {
        let (name, config) = (&layer.name, self.config);
        let cuts = cut::cuts(layer, convolution, config).map_err(|TooLarge { data, weights }| {
            PlanError::ConvolutionBuffer { layer: name.clone(), data, weights, banks: config.cbuf_banks }
        })?;
        let Convolution { kernels, window, weights, bias, .. } = convolution;
        let weights = pack_weights(weights, *kernels, window.size, layer.input.channels, config);
        let weights = self.constant(&format!("{name} weights"), weights)?;
        let operands = bias.as_ref().map(|bias| pack_operands(&bias.values, config));
        let bias = operands.map(|operands| self.constant(&format!("{name} bias"), operands)).transpose()?;
        let units: Vec<Unit> = bias.map(|_| Unit::SdpRdma).into_iter().chain(CONVOLUTION).collect();
        let step = |cut: cut::Cut| {
            let (inputs, outputs) = (cut.inputs, cut.outputs);
            let part = Part {
                input: Shape { height: inputs.len() as u32, ..layer.input },
                output: Shape { height: outputs.len() as u32, ..layer.output },
                window: Window {
                    before: [window.before[0], cut.before],
                    after: [window.after[0], cut.after],
                    ..*window
                },
                source: source.at_line(inputs.start),
                destination: destination.at_line(outputs.start),
            };
            let constants = Constants { weights, bias, buffer: cut.buffer };
            let mut program = Program::new(config.register_map);
            registers::convolution(&mut program, &part, convolution, &constants, config)
                .map_err(|overflow| PlanError::Register { layer: name.clone(), overflow })?;
            Ok(Step {
                layer: 0,
                name: name.clone(),
                units: units.clone(),
                program,
                done: CONVOLUTION_DONE.to_vec(),
                mac_cycles: self.mac_cycles(&part),
            })
        };
        cuts.into_iter().map(step).collect()
    }

    /// The hardware layer of a pooling.
    fn pooling(
        &self,
        layer: &Layer,
        pooling: &Pooling,
        source: Surface,
        destination: Surface,
    ) -> Result<Step, PlanError> {
        let &Layer { input, output, .. } = layer;
        let (source, destination) = (source.at_line(0), destination.at_line(0));
        let part = Part { input, output, window: pooling.window, source, destination };
        let mut program = Program::new(self.config.register_map);
        registers::pooling(&mut program, &part, pooling)
            .map_err(|overflow| PlanError::Register { layer: layer.name.clone(), overflow })?;
        Ok(Step {
            layer: 0,
            name: layer.name.clone(),
            units: vec![Unit::PdpRdma, Unit::Pdp],
            program,
            done: vec![(Source::Pdp, Unit::Pdp)],
            mac_cycles: 0,
        })
    }

    /// In a cycle the array multiplies one block of channels at one output position with a group of kernels.
    fn mac_cycles(&self, part: &Part) -> u64 {
        let Part { input, output, window, .. } = part;
        let blocks = input.channels.div_ceil(self.config.mac_atomic_c);
        let groups = output.channels.div_ceil(self.config.mac_atomic_k);
        let factors = [output.width, output.height, window.size[0], window.size[1], blocks, groups];
        factors.into_iter().map(u64::from).product()
    }
}

/// Consumers first (the driver's contract): SDP, then against the stream of data.
const CONVOLUTION: [Unit; 6] = [Unit::Sdp, Unit::Cacc, Unit::CmacA, Unit::CmacB, Unit::Csc, Unit::Cdma];

/// What a convolution with SDP behind it raises, and whose group each bit counts.
const CONVOLUTION_DONE: [(Source, Unit); 4] = [
    (Source::CdmaDat, Unit::Cdma),
    (Source::CdmaWt, Unit::Cdma),
    (Source::Cacc, Unit::Cacc),
    (Source::Sdp, Unit::Sdp),
];

/// Memory that is given out from its start.
struct Memory {
    start: u64,
    next: u64,
    end: u64,
}

impl Memory {
    fn take(&mut self, what: &str, bytes: u64) -> Result<u64, PlanError> {
        let base = self.next.checked_next_multiple_of(ALIGNMENT);
        let end = base.and_then(|base| base.checked_add(bytes)).filter(|&end| end <= self.end);
        let (Some(base), Some(end)) = (base, end) else {
            let left = self.end.saturating_sub(self.next);
            return Err(PlanError::Memory { what: what.to_owned(), bytes, left });
        };
        self.next = end;
        Ok(base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::network::{Shape, digits};

    const MEMORY: Range<u64> = 0x8000_0000..0x9000_0000;

    fn plan(network: &Network, config: &str) -> Result<Plan, PlanError> {
        Plan::new(network, &Config::named(config).unwrap(), MEMORY)
    }

    fn convolution(input: Shape, kernels: u32, size: u32) -> Network {
        let Shape { width, height, channels } = input;
        let text = format!(
            "name = 'one'\ninput = {{ width = {width}, height = {height}, channels = {channels} }}\n[[layer]]\n\
             kind = 'convolution'\nname = 'large'\nkernels = {kernels}\nkernel = [{size}, {size}]\nweights = 'w'\n\
             converter = {{ scale = 1, shift = 0 }}"
        );
        let weights = vec![1; (kernels * size * size * channels) as usize];
        Network::parse(&text, &mut |_| Ok(weights.clone())).unwrap()
    }

    #[test]
    fn nothing_that_is_placed_overlaps() {
        let plan = plan(&digits::network(), "nv_small").unwrap();
        let mut places: Vec<(u64, u64)> =
            plan.constants.iter().map(|(base, bytes)| (*base, bytes.len() as u64)).collect();
        places.extend([plan.input, plan.output].map(|surface| (surface.base, surface.bytes())));
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{places:x?}");
        assert!(places.iter().all(|(base, _)| base % ALIGNMENT == 0));
    }

    #[test]
    fn a_layer_that_the_buffer_does_not_hold_whole_is_cut_by_lines() {
        let network = convolution(Shape { width: 56, height: 56, channels: 64 }, 8, 3);
        let [small, full] = ["nv_small", "nv_full"].map(|config| plan(&network, config).unwrap());
        // A line takes 448 entries, a bank 512; two of 32 banks are for the 4608 bytes of weights: 34 lines at a time.
        assert_eq!((small.steps.len(), full.steps.len()), (2, 1));
        assert!(small.steps.iter().all(|step| step.layer == 0 && step.name == "large"));
    }

    #[test]
    fn a_layer_whose_windows_the_buffer_does_not_hold_is_refused_by_name() {
        let network = convolution(Shape { width: 100, height: 100, channels: 200 }, 8, 7);
        let error = plan(&network, "nv_small").unwrap_err();
        assert_eq!(
            error.to_string(),
            "layer `large` does not fit into the convolution buffer: the input of one line of its output takes 35 \
             banks and one group of its kernels 20, and there are 32; cutting layers by columns or by channels is not \
             done yet"
        );
    }

    #[test]
    fn what_a_register_cannot_say_is_refused_by_name() {
        let mut network = convolution(Shape { width: 9, height: 1, channels: 1 }, 1, 1);
        let Operation::Convolution(convolution) = &mut network.layers[0].operation else { unreachable!() };
        convolution.window.stride = [9, 9];
        let error = plan(&network, "nv_small").unwrap_err();
        assert_eq!(
            error.to_string(),
            "layer `large`: CSC.D_CONV_STRIDE_EXT.CONV_X_STRIDE_EXT has no room for 0x9"
        );
    }

    #[test]
    fn a_full_memory_is_told() {
        let config = Config::named("nv_small").unwrap();
        let error = Plan::new(&digits::network(), &config, 0x8000_0000..0x8000_1000).unwrap_err();
        assert!(matches!(&error, PlanError::Memory { what, .. } if what == "conv2 weights"), "{error}");
    }

    #[test]
    fn weights_that_do_not_all_fit_come_group_by_group() {
        // 1 x 1 x 4096: a bank of input, and of 64 kernels the buffer holds 31 banks, half of what they take.
        let network = convolution(Shape { width: 1, height: 1, channels: 4096 }, 64, 1);
        let config = Config::named("nv_small").unwrap();
        let Operation::Convolution(convolution) = &network.layers[0].operation else { unreachable!() };
        let cuts = cut::cuts(&network.layers[0], convolution, &config).unwrap();
        assert_eq!((cuts[0].buffer.data_banks, cuts[0].buffer.weight_banks), (1, 31));
        assert!(plan(&network, "nv_small").is_ok());
    }
}
