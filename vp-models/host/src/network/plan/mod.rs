//! From a network to what a driver does with it: where everything lies, and which registers each hardware layer takes.
//!
//! `operations` says what runs as one, `order` in which order, `parts` and `tiles` how convolutions are cut, `batch` what runs once for several
//! frames, `values` what shares memory, `operands` how weights and biases are packed, `stages` what SDP does with them, `traffic` how much each is read and written,
//! `placement` where it is, `copies` what BDMA copies into SRAM; in `steps` it becomes register writes: each a `step`;
//! `hazards` says who must wait for whom.

mod access;
mod adapted;
mod batch;
mod copies;
mod hazards;
mod interleaving;
mod memory;
mod operands;
mod operations;
mod order;
mod outline;
mod parts;
mod placement;
mod pooling;
mod stages;
mod step;
mod steps;
mod task;
mod tiles;
mod traffic;
mod values;

use self::adapted::Adapted;
use self::batch::Batch;
use self::operands::Operands;
use self::operations::{in_tiles, tasks};
use self::placement::{Copied, Places, Placing, Unplaced};
use self::traffic::{Usage, reads, usages};
use self::values::Values;
use super::cpu::CpuWork;
use super::description::{Network, Operation, Winograd};
use super::error::PlanError;
use super::layout::{MemoryAddress, Tensor};
use super::winograd::NoWinograd;
use crate::program::Program;
use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};
use vp_models::nvdla::config::Config;
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::registers::Unit;

pub use self::copies::Copies;
pub use self::outline::{CutOutline, StepOutline};
pub use self::placement::{Memories, Placement};
pub use self::step::{ConvolutionMethod, PlanStep, Work};

/// A network laid out for one hardware configuration and one memory. It says nothing of time: one plan runs on
/// platforms with any memory behind them.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Constants that must lie in memory before the first layer.
    pub constants: Vec<Constant>,
    /// Place of the input: of several frames the first one's.
    pub input: Tensor,
    /// Places of the outputs: of several frames the first one's.
    pub outputs: Vec<Tensor>,
    /// Frames that it takes at once.
    pub frames: usize,
    /// Bytes from a frame's input to the next one's, and the same of each output.
    strides: (u64, Vec<u64>),
    /// Steps, in the order in which they are begun.
    pub steps: Vec<PlanStep>,
    /// Lookup tables that steps need, which are loaded while their unit is idle.
    pub tables: Vec<Program>,
    /// Of each layer that another one's hardware layers do with it, that one.
    pub within: Vec<Option<usize>>,
    /// Convolutions for which Winograd's method was asked and that are computed directly: their layers, and the reasons.
    pub without_winograd: Vec<(usize, NoWinograd)>,
    /// Of each layer whether it runs when all frames have come so far: once for several of them.
    pub together: Vec<bool>,
    /// Places of the network's input and of what layers make. What is concatenated is one, by the whole's name.
    pub tensors: Vec<PlacedTensor>,
    /// Copies that BDMA makes into SRAM, from where they are read.
    pub copies: Vec<PlacedCopy>,
    /// Bytes of the primary memory that it uses, from the start of the range it was given.
    pub bytes: u64,
    /// Bytes of SRAM that it uses, from the start of the range it was given.
    pub sram_bytes: u64,
    /// The format of its features and weights.
    pub precision: Precision,
    /// Products of that format that the MAC array makes in a cycle ([`Config::macs_a_cycle`]).
    pub macs_a_cycle: u64,
}

/// Weights, biases, and what else lies in memory before the first layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Name of the constant.
    pub what: String,
    /// Start of the constant.
    pub place: MemoryAddress,
    /// Bytes of the constant.
    pub bytes: Vec<u8>,
}

/// Memory of a cube, or of several that are concatenated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedTensor {
    /// The layer that makes it, or `input`.
    pub name: String,
    /// Start of the memory.
    pub place: MemoryAddress,
    /// Size in bytes, with all copies for frames that run together.
    pub bytes: u64,
    /// Time for which it is needed, in layers as they run one after the other, both ends included; of a constant always.
    pub life: Option<RangeInclusive<usize>>,
}

/// A copy in SRAM of what lies in DRAM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedCopy {
    /// Name of what is copied: `input`, the layer that makes it, or the name of the constant.
    pub name: String,
    /// Start of the copy.
    pub place: MemoryAddress,
    /// Size in bytes.
    pub bytes: u64,
    /// Time for which it is needed, in layers as they run one after the other, both ends included.
    pub life: RangeInclusive<usize>,
}

/// Options for planning a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlanOptions {
    /// Frames that run at once: fully connected layers at the network's end run once for all of them, and read their weights once. All
    /// else runs frame after frame.
    pub frames: u32,
    /// Choice of what is kept in SRAM beside what the network's file demands there.
    pub placement: Placement,
    /// Bytes of SRAM that may be used at most; as many as there are if absent.
    pub sram_limit: Option<u64>,
    /// Choice of copies into SRAM of what stays in DRAM and is read several times. If absent it is where the placement keeps
    /// something in SRAM and the configuration has BDMA.
    pub copies: Option<Copies>,
    /// Input and outputs have memory that nothing else has at any time, as where a runtime binds them.
    pub ends_apart: bool,
}

impl PlanOptions {
    /// Checks that a configuration has what these options need.
    ///
    /// # Errors
    /// When they need SRAM or BDMA, and the configuration has none.
    pub fn check(&self, config: &Config) -> Result<(), PlanError> {
        self.placement.check(config)?;
        self.copies(config).map(|_| ())
    }

    /// Returns the choice of copies on a configuration.
    ///
    /// # Errors
    /// When BDMA or SRAM is needed, and the configuration has none.
    pub fn copies(&self, config: &Config) -> Result<Copies, PlanError> {
        match self.copies {
            Some(copies) => copies.check(config).map(|()| copies),
            None if self.placement != Placement::Dram && config.bdma => Ok(Copies::Auto),
            None => Ok(Copies::Never),
        }
    }
}

impl Default for PlanOptions {
    fn default() -> PlanOptions {
        PlanOptions {
            frames: 1,
            placement: Placement::default(),
            sram_limit: None,
            copies: None,
            ends_apart: false,
        }
    }
}

impl Plan {
    /// Plans a network for a configuration, with all that it needs in this range of the primary memory.
    ///
    /// # Errors
    /// When the configuration, its buffer, its registers or the memory have no room for a layer.
    pub fn new(network: &Network, config: &Config, memory: Range<u64>) -> Result<Plan, PlanError> {
        Plan::batched(network, config, memory, 1)
    }

    /// Plans as [`Plan::new`] does, for so many frames at once ([`PlanOptions::frames`]).
    ///
    /// # Errors
    /// As [`Plan::new`], and when the configuration does not take so many cubes at once.
    pub fn batched(
        network: &Network,
        config: &Config,
        memory: Range<u64>,
        frames: u32,
    ) -> Result<Plan, PlanError> {
        let memories = Memories { primary: memory, secondary: 0..0 };
        Plan::with(network, config, &memories, &PlanOptions { frames, ..PlanOptions::default() })
    }

    /// Plans a network for a configuration and both its memories.
    ///
    /// # Errors
    /// As [`Plan::batched`], and when what is to be in SRAM has no room there, or the configuration has no SRAMIF.
    pub fn with(
        network: &Network,
        config: &Config,
        memories: &Memories,
        options: &PlanOptions,
    ) -> Result<Plan, PlanError> {
        Plan::check_operations(network)?;
        if !config.computes(network.precision) {
            return Err(PlanError::NoFormat { config: config.name.clone(), precision: network.precision });
        }
        let frames = options.frames;
        let count = network.layers.len();
        let Adapted { network, origins, ways } = Adapted::of(network, config);
        let network = network.as_ref();
        let mut values = Values::of(network, &ways, config);
        let batch = Batch::of(network, &values, frames, config)?;
        let tasks = tasks((network, &ways), &values, &batch, config)?;
        values.make_room(&in_tiles(network, &tasks));
        let mut constants = Vec::new();
        let operands = Operands::of(network, &values, &tasks, &batch, config, &mut constants);
        let reads = reads(network, &values, &tasks);
        let usages = usages(network, &values, &tasks, &reads, &batch);
        constants.extend(own_constants(network, &values, &usages));
        let placing = Placing {
            network,
            values: &values,
            batch: &batch,
            usages: &usages,
            reads: &reads,
            constants: &constants,
            tasks: &tasks,
            ends_apart: options.ends_apart,
        };
        let places = placing.places(config, memories, options)?;
        let (tensors, copies) = (tensors(&placing, &places), copies(&placing, &places));
        let of_frame = |frame: u32| {
            let place = |(at, place): (usize, &MemoryAddress)| {
                place.plus(u64::from(frame) * batch.stride(&values, at))
            };
            let mut settled = values.clone();
            settled.settle_at(&places.storages.iter().enumerate().map(place).collect::<Vec<_>>());
            settled
        };
        let settled: Vec<Values> = (0..frames).map(of_frame).collect();
        let planner = steps::Planner::new(network, config, &settled, (&places, &constants), &batch);
        let (mut steps, tables) = planner.steps(&tasks, &operands)?;
        steps.iter_mut().for_each(|step| step.layer = origins[step.layer]);
        let mut within = vec![None; count];
        for task in &tasks {
            if let Some(pooling) = task.pooling {
                within[origins[pooling]] = Some(origins[task.layer]);
            }
        }
        let direct = tasks.iter().filter_map(|task| Some((origins[task.layer], task.no_winograd.clone()?)));
        let without_winograd = direct.collect();
        let mut together = vec![false; count];
        (0..origins.len()).for_each(|layer| together[origins[layer]] = frames > 1 && batch.is_last(layer));
        let input = settled[0].of_source(None);
        let outputs = network.outputs.iter().map(|&layer| settled[0].of_layer(layer));
        let stride = |value: &values::Value| batch.stride(&values, value.storage);
        let strides = (stride(input), outputs.clone().map(stride).collect());
        let (input, outputs) = (input.tensor.clone(), outputs.map(|value| value.tensor.clone()).collect());
        let (frames, [bytes, sram_bytes]) = (frames as usize, places.used);
        let precision = network.precision;
        let macs_a_cycle = config.macs_a_cycle(precision);
        let constants = constants.into_iter().zip(places.constants);
        let constants =
            constants.map(|(Unplaced { what, bytes, .. }, place)| Constant { what, place, bytes });
        Ok(Plan {
            constants: constants.collect(),
            input,
            outputs,
            frames,
            strides,
            steps,
            tables,
            within,
            without_winograd,
            together,
            tensors,
            copies,
            bytes,
            sram_bytes,
            precision,
            macs_a_cycle,
        })
    }

    /// Refuses a network with layers that NVDLA has no operation for, on no configuration.
    ///
    /// # Errors
    /// [`PlanError::NoOperation`].
    pub fn check_operations(network: &Network) -> Result<(), PlanError> {
        operations::check(network)
    }

    /// Returns the place of a frame's input.
    pub fn input_of(&self, frame: usize) -> Tensor {
        of_frame(&self.input, frame, self.strides.0)
    }

    /// Returns the places of a frame's outputs.
    pub fn outputs_of(&self, frame: usize) -> impl Iterator<Item = Tensor> + '_ {
        let outputs = self.outputs.iter().zip(&self.strides.1);
        outputs.map(move |(output, &stride)| of_frame(output, frame, stride))
    }

    /// The unit that a table is loaded into.
    pub(super) fn unit_of(&self, table: usize) -> Option<Unit> {
        self.tables[table].writes.first().map(|write| write.unit)
    }

    /// Work of the CPU for each layer, of all of the plan's frames; none where hardware does all of it.
    pub fn cpu_works(&self) -> Vec<Option<CpuWork>> {
        let mut works = vec![None; self.within.len()];
        for step in &self.steps {
            if let Some(work) = step.cpu_work() {
                works[step.layer] = Some(works[step.layer].unwrap_or_default() + work);
            }
        }
        works
    }

    /// Bytes of weights and biases.
    pub fn constant_bytes(&self) -> u64 {
        self.constants.iter().map(|constant| constant.bytes.len() as u64).sum()
    }
}

/// Returns a frame's tensor, that of the first one and the bytes to the next one given.
fn of_frame(first: &Tensor, frame: usize, stride: u64) -> Tensor {
    Tensor { place: first.place.plus(frame as u64 * stride), ..first.clone() }
}

/// Returns the constants of the network itself, behind the operands.
fn own_constants(network: &Network, values: &Values, usages: &[Usage]) -> Vec<Unplaced> {
    let mut layers: HashMap<&str, usize> = HashMap::new();
    for (at, layer) in network.layers.iter().enumerate() {
        layers.entry(&layer.name).or_insert(at);
    }
    let own = values.storages.iter().zip(usages).filter_map(|(storage, usage)| {
        let bytes = storage.constant.clone()?;
        let layer = layers.get(storage.name.as_str()).copied().unwrap_or(0);
        Some(Unplaced { what: storage.name.clone(), bytes, layer, traffic: usage.traffic })
    });
    own.collect()
}

/// Returns the places of the cubes' memories that are used.
fn tensors(placing: &Placing<'_>, places: &Places) -> Vec<PlacedTensor> {
    let tensor = |(at, storage): (usize, &values::Storage)| {
        let life = placing.life(at)?;
        let (name, place) = (storage.name.clone(), places.storages[at]);
        let life = storage.constant.is_none().then_some(life);
        Some(PlacedTensor { name, place, bytes: placing.batch.bytes(placing.values, at), life })
    };
    placing.values.storages.iter().enumerate().filter_map(tensor).collect()
}

/// Returns the places of copies.
fn copies(placing: &Placing<'_>, places: &Places) -> Vec<PlacedCopy> {
    let copy = |copy: &placement::Copy| {
        let name = match copy.of {
            Copied::Constant(constant) => placing.constants[constant].what.clone(),
            Copied::Cube(source) => placing.values.of_source(source).name.clone(),
        };
        let last = copy.readers.last().copied().unwrap_or(copy.begin);
        PlacedCopy { name, place: copy.place, bytes: copy.bytes, life: copy.begin..=last }
    };
    places.copies.iter().map(copy).collect()
}

/// Returns true if a layer makes nothing by itself.
fn is_silent(operation: &Operation) -> bool {
    matches!(operation, Operation::Concatenation | Operation::Slice(_) | Operation::Constant(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::layout::ALIGNMENT;
    use crate::network::{Shape, digits};

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
            plan.constants.iter().map(|it| (it.place.address, it.bytes.len() as u64)).collect();
        let ends = plan.outputs.iter().chain([&plan.input]);
        places.extend(ends.map(|tensor| (tensor.place.address, tensor.bytes())));
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
            "layer `large`: stride: CSC.D_CONV_STRIDE_EXT.CONV_X_STRIDE_EXT = 0x9: the register holds 1 to 8"
        );
    }

    /// A convolution, a pooling and two fully connected layers.
    const CONNECTED: &str = "name = 'n'\nseed = 3\ninput = { width = 12, height = 10, channels = 3 }\n\
        [[layer]]\nname = 'conv'\nkind = 'convolution'\nkernels = 40\nkernel = [3, 3]\nrelu = true\n\
        [[layer]]\nname = 'pool'\nkind = 'pooling'\nmethod = 'max'\nkernel = [2, 2]\nstride = [2, 2]\n\
        [[layer]]\nname = 'fc1'\nkind = 'fully-connected'\nkernels = 70\nrelu = true\n\
        [[layer]]\nname = 'fc2'\nkind = 'fully-connected'\nkernels = 10\n\
        [[layer]]\nname = 'soft'\nkind = 'soft-max'\nscale = 0.1\n";

    fn connected(config: &str, frames: u32) -> Result<Plan, PlanError> {
        let network = Network::parse(CONNECTED, &mut |_| Err("none".to_owned())).unwrap();
        Plan::batched(&network, &Config::named(config).unwrap(), MEMORY, frames)
    }

    #[test]
    fn fully_connected_layers_run_once_for_all_frames() {
        let plan = connected("nv_large", 3).unwrap();
        let count = |name: &str| plan.steps.iter().filter(|step| step.name == name).count();
        assert_eq!(["conv", "fc1", "fc2", "soft"].map(count), [3, 1, 1, 3]);
        // The first of them waits for each frame's convolution.
        let fc1 = plan.steps.iter().find(|step| step.name == "fc1").unwrap();
        assert_eq!(fc1.after.iter().filter(|&&before| plan.steps[before].name == "conv").count(), 3);
        let ends = |frame| [plan.input_of(frame), plan.outputs_of(frame).next().unwrap()];
        let places: Vec<[u64; 2]> =
            (0..3).map(|frame| ends(frame).map(|tensor| tensor.place.address)).collect();
        for at in 0..2 {
            let bytes = ends(0)[at].bytes();
            assert!(places.windows(2).all(|pair| pair[0][at] + bytes <= pair[1][at]), "{places:x?}");
        }
    }

    #[test]
    fn frames_that_the_buffer_does_not_hold_together_run_in_groups() {
        // A bank of input each, and eight of weights: of 16 banks eight are left.
        let text = "name = 'n'\nseed = 3\ninput = { width = 16, height = 16, channels = 128 }\n\
                    [[layer]]\nname = 'fc'\nkind = 'fully-connected'\nkernels = 8";
        let network = Network::parse(text, &mut |_| Err("none".to_owned())).unwrap();
        let config = Config::named("nv_large").unwrap();
        let groups = |frames| Plan::batched(&network, &config, MEMORY, frames).unwrap().steps.len();
        assert_eq!([1, 4, 7, 32].map(groups), [1, 1, 1, 4]);
    }

    #[test]
    fn one_frame_is_planned_as_ever() {
        let network = Network::parse(CONNECTED, &mut |_| Err("none".to_owned())).unwrap();
        assert_eq!(connected("nv_large", 1), plan(&network, "nv_large"));
    }

    #[test]
    fn more_frames_than_the_hardware_takes_are_refused() {
        let told = |config: &str, frames| connected(config, frames).unwrap_err().to_string();
        assert_eq!(told("nv_small", 2), "2 frames at once: the configuration nv_small takes 1");
        assert_eq!(told("nv_large", 33), "33 frames at once: the configuration nv_large takes 32");
        assert!(connected("nv_large", 0).is_err());
    }

    #[test]
    fn a_full_memory_is_told() {
        let config = Config::named("nv_small").unwrap();
        let error = Plan::new(&digits::network(), &config, 0x8000_0000..0x8000_1000).unwrap_err();
        assert!(matches!(&error, PlanError::Memory { what, .. } if what == "conv3 weights"), "{error}");
    }

    #[test]
    fn weights_that_do_not_all_fit_come_group_by_group() {
        // 1 x 1 x 4096: a bank of input, and of 64 kernels the buffer holds 31 banks, half of what they take.
        let network = convolution(Shape { width: 1, height: 1, channels: 4096 }, 64, 1);
        let plan = plan(&network, "nv_small").unwrap();
        let [PlanStep { work: Work::Hardware { program, .. }, .. }] = plan.steps.as_slice() else {
            panic!("{} steps", plan.steps.len())
        };
        let bank =
            program.writes.iter().find(|write| write.unit == Unit::Cdma && write.register.name == "D_BANK");
        assert_eq!(bank.map(|write| write.value), Some(30 << 16));
    }
}
