//! From a network to what a driver does with it: where everything lies, and which registers each layer takes.

use super::description::{Layer, Network, Operation};
use super::error::PlanError;
use super::layout::{ALIGNMENT, Surface, pack_operands, pack_weights};
use super::registers::{self, Banks, Places};
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

/// One hardware layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
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
        for layer in &network.layers {
            let source = layer.source.map_or(input, |source| outputs[source]);
            let (step, output) = planner.step(layer, source)?;
            outputs.push(output);
            steps.push(step);
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
    fn surface(&mut self, what: &str, shape: super::Shape) -> Result<Surface, PlanError> {
        let surface = Surface { base: 0, shape, atom: self.config.memory_atom };
        Ok(Surface { base: self.memory.take(what, surface.bytes())?, ..surface })
    }

    fn constant(&mut self, what: &str, bytes: Vec<u8>) -> Result<u64, PlanError> {
        let base = self.memory.take(what, bytes.len() as u64)?;
        self.constants.push((base, bytes));
        Ok(base)
    }

    /// A layer's registers, and where its output lies.
    fn step(&mut self, layer: &Layer, source: Surface) -> Result<(Step, Surface), PlanError> {
        let name = layer.name.clone();
        let destination = self.surface(&name, layer.output)?;
        let mut program = Program::new(self.config.register_map);
        let mut places = Places { source, destination, weights: 0, bias: None };
        let (units, done, mac_cycles, written) = match &layer.operation {
            Operation::Convolution(convolution) => {
                self.check_buffer(layer, convolution)?;
                let (kernels, size) = (convolution.kernels, convolution.window.size);
                let channels = layer.input.channels;
                let weights = pack_weights(&convolution.weights, kernels, size, channels, self.config);
                places.weights = self.constant(&format!("{name} weights"), weights)?;
                if let Some(bias) = &convolution.bias {
                    let operands = pack_operands(&bias.values, self.config);
                    places.bias = Some(self.constant(&format!("{name} bias"), operands)?);
                }
                let written = registers::convolution(&mut program, layer, convolution, &places, self.config);
                let rdma = places.bias.map(|_| Unit::SdpRdma);
                let units = rdma.into_iter().chain(CONVOLUTION).collect();
                (units, CONVOLUTION_DONE.to_vec(), self.mac_cycles(layer, size), written)
            }
            Operation::Pooling(pooling) => {
                let written = registers::pooling(&mut program, layer, pooling, &places);
                (vec![Unit::PdpRdma, Unit::Pdp], vec![(Source::Pdp, Unit::Pdp)], 0, written)
            }
        };
        written.map_err(|overflow| PlanError::Register { layer: name.clone(), overflow })?;
        Ok((Step { name, units, program, done, mac_cycles }, destination))
    }

    fn check_buffer(
        &self,
        layer: &Layer,
        convolution: &super::description::Convolution,
    ) -> Result<(), PlanError> {
        let Banks { data, weights } = Banks::of(layer, convolution, self.config);
        let banks = self.config.cbuf_banks;
        if data.saturating_add(weights) <= banks {
            return Ok(());
        }
        Err(PlanError::ConvolutionBuffer { layer: layer.name.clone(), data, weights, banks })
    }

    /// In a cycle the array multiplies one block of channels at one output position with a group of kernels.
    fn mac_cycles(&self, layer: &Layer, [columns, rows]: [u32; 2]) -> u64 {
        let positions = u64::from(layer.output.width) * u64::from(layer.output.height);
        let blocks = layer.input.channels.div_ceil(self.config.mac_atomic_c);
        let groups = layer.output.channels.div_ceil(self.config.mac_atomic_k);
        [columns, rows, blocks, groups].into_iter().fold(positions, |cycles, by| cycles * u64::from(by))
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
    fn a_layer_that_the_buffer_does_not_hold_is_refused_by_name() {
        let network = convolution(Shape { width: 56, height: 56, channels: 64 }, 8, 3);
        let error = plan(&network, "nv_small").unwrap_err();
        assert_eq!(
            error.to_string(),
            "layer `large` does not fit into the convolution buffer: its input takes 49 banks and its weights 2, and \
             there are 32; cutting layers by height or by kernels is not done yet"
        );
        assert!(plan(&network, "nv_full").is_ok());
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
        let banks = Banks::of(&network.layers[0], convolution, &config);
        assert_eq!((banks.data, banks.weights), (1, 31));
        assert!(plan(&network, "nv_small").is_ok());
    }
}
