//! Steps of a plan: register writes, and who must wait for whom.

use super::access::Access;
use super::batch::Batch;
use super::hazards::{self, Touched, Touches};
use super::operands::{OfKernels, Operands};
use super::outline::{self, Flow};
use super::parts::ConvolutionPart;
use super::placement::{Copied, Places, Unplaced};
use super::stages::{Channelwise, converter, look_up, stages_of_elements};
use super::task::Task;
use super::traffic::line_bytes;
use super::values::{Value, Values};
use super::{ConvolutionMethod, CutOutline, PlanStep, StepOutline, Work};
use crate as host;
use crate::network::Cpu;
use crate::network::cut::Cut;
use crate::network::description::{
    Convolution, Network, NetworkLayer, Normalisation, Operation, Pooling, Shape, Slice, Window,
};
use crate::network::error::PlanError;
use crate::network::layout::{Cube, CubePlace, Form, MemoryAddress, Tensor, WeightShape};
use crate::network::registers::{self, Convolve, Cubes, PlacedWeights, Pool, Process};
use crate::program::Program;
use std::collections::HashMap;
use std::ops::Range;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::encode::Encoded;
use vp_models::nvdla::glb::InterruptSource;
use vp_models::nvdla::refused::Refused;
use vp_models::nvdla::registers::Unit;
use vp_models::nvdla::{cdp, sdp};

/// A step and what it touches.
pub(super) struct Planned {
    pub(super) step: PlanStep,
    pub(super) reads: Vec<Access>,
    pub(super) writes: Vec<Access>,
}

/// Makes steps of tasks.
pub(super) struct Planner<'a> {
    pub(super) network: &'a Network,
    pub(super) config: &'a Config,
    /// Places of each frame's cubes.
    settled: &'a [Values],
    pub(super) places: &'a Places,
    pub(super) constants: &'a [Unplaced],
    batch: &'a Batch,
    /// The frame whose steps are made, or the first of those that run together.
    frame: u32,
    /// The task's place.
    pub(super) at: usize,
    /// Number of frames that run together.
    cubes: u32,
    /// The copies that are begun before each task, and the copy of a tensor that a task reads.
    pub(super) begun: HashMap<usize, Vec<usize>>,
    pub(super) copy_of_reader: HashMap<(usize, Copied), usize>,
    pub(super) planned: Vec<Planned>,
    tables: Vec<Program>,
}

/// Consumers first (the driver's contract): then against the stream of data.
const CONVOLUTION: [Unit; 5] = [Unit::Cacc, Unit::CmacA, Unit::CmacB, Unit::Csc, Unit::Cdma];

/// Interrupts that a convolution raises.
const CONVOLUTION_DONE: [InterruptSource; 3] =
    [InterruptSource::CdmaData, InterruptSource::CdmaWeight, InterruptSource::Cacc];

impl<'a> Planner<'a> {
    pub(super) fn new(
        network: &'a Network,
        config: &'a Config,
        settled: &'a [Values],
        (places, constants): (&'a Places, &'a [Unplaced]),
        batch: &'a Batch,
    ) -> Planner<'a> {
        let (planned, tables) = (Vec::new(), Vec::new());
        let mut begun: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut copy_of_reader = HashMap::new();
        for (at, copy) in places.copies.iter().enumerate() {
            begun.entry(copy.begin).or_default().push(at);
            for &reader in &copy.readers {
                copy_of_reader.entry((reader, copy.of)).or_insert(at);
            }
        }
        Planner {
            network,
            config,
            settled,
            places,
            constants,
            batch,
            frame: 0,
            at: 0,
            cubes: 1,
            begun,
            copy_of_reader,
            planned,
            tables,
        }
    }

    /// From here on it is a task's turn for a frame, or from one on.
    fn at(&mut self, frame: u32, task: usize) {
        (self.frame, self.at) = (frame, task);
    }

    pub(super) fn values(&self) -> &'a Values {
        &self.settled[self.frame as usize]
    }

    /// The steps of all tasks, and the tables that they load: frame after frame, and then what runs for several frames at once.
    pub(super) fn steps(
        mut self,
        tasks: &[Task],
        operands: &[Operands],
    ) -> Result<(Vec<PlanStep>, Vec<Program>), PlanError> {
        let (last, each): (Vec<_>, Vec<_>) =
            (0..tasks.len()).partition(|&at| self.batch.is_last(tasks[at].layer));
        for frame in 0..self.batch.frames {
            for &at in &each {
                self.at(frame, at);
                self.copy(tasks)?;
                self.task(&tasks[at], &operands[at])?;
            }
        }
        for at in last {
            for frame in (0..self.batch.frames).step_by(tasks[at].cubes as usize) {
                self.at(frame, at);
                if frame == 0 {
                    self.copy(tasks)?;
                }
                self.task(&tasks[at], &operands[at])?;
            }
        }
        Ok(self.finish())
    }

    /// The steps of a task whose turn it is.
    fn task(&mut self, task: &Task, operands: &Operands) -> Result<(), PlanError> {
        self.cubes = task.cubes.min(self.batch.frames - self.frame);
        let layer = &self.network.layers[task.layer];
        let named = |refused| PlanError::Register { layer: layer.name.clone(), refused };
        if let Some(cpu) = &task.cpu {
            self.cpu(task, cpu.clone());
            return Ok(());
        }
        match &layer.operation {
            Operation::Convolution(convolution) => {
                for (part, operands) in task.parts.iter().zip(&operands.parts) {
                    for cut in &part.cuts {
                        self.convolution(task, layer, convolution, (part, cut), operands).map_err(named)?;
                    }
                }
                Ok(())
            }
            Operation::Pooling(pooling) => self.pooling(task, layer, pooling).map_err(named),
            Operation::Sum(_)
            | Operation::Elementwise(_)
            | Operation::Activation(_)
            | Operation::Scaling(_)
            | Operation::ChannelProduct(_)
            | Operation::Slice(_) => self.element_by_element(task, layer, operands.constants).map_err(named),
            Operation::Normalisation(normalisation) => {
                self.normalisation(task, layer, normalisation).map_err(named)
            }
            Operation::Interleaving(along) => self.interleaving(task, layer, *along).map_err(named),
            operation => {
                debug_assert!(super::is_silent(operation));
                Ok(())
            }
        }
    }

    fn cpu(&mut self, task: &Task, cpu: Cpu) {
        let sources = &self.network.layers[task.layer].sources;
        let from = sources.iter().map(|source| self.values().of_source(*source).tensor.clone()).collect();
        let to = self.values().of_layer(task.layer).tensor.clone();
        self.push(task, Work::Cpu { task: cpu, from, to });
    }

    /// Returns the tensor that a source gives, where the task finds it.
    fn tensor(&self, source: Option<usize>) -> Tensor {
        let tensor = self.values().of_source(source).tensor.clone();
        match self.copy_of(&Copied::Cube(source)) {
            Some(copy) => Tensor { place: self.places.copies[copy].place, ..tensor },
            None => tensor,
        }
    }

    pub(super) fn cube(&self, source: Option<usize>) -> Cube {
        self.tensor(source).cube()
    }

    /// Returns the place at which the task finds a constant.
    fn constant(&self, constant: usize) -> MemoryAddress {
        match self.copy_of(&Copied::Constant(constant)) {
            Some(copy) => self.places.copies[copy].place,
            None => self.places.constants[constant],
        }
    }

    fn access(&self, source: Option<usize>, channels: Range<u32>, lines: Range<u32>) -> Access {
        match self.copy_of(&Copied::Cube(source)) {
            Some(copy) => self.copy_access(copy),
            None => self.own_access(source, channels, lines),
        }
    }

    /// Returns the access to some channels and lines of a cube, where the task reads no copy of it.
    fn own_access(&self, source: Option<usize>, channels: Range<u32>, lines: Range<u32>) -> Access {
        let Value { storage, first_surface, before: [_, first_line], .. } = *self.values().of_source(source);
        let lanes = self.config.lanes(self.network.precision);
        let surfaces = first_surface + channels.start / lanes..first_surface + channels.end.div_ceil(lanes);
        let lines = first_line + lines.start..first_line + lines.end;
        let copies = self.batch.copies(storage, self.frame, self.cubes);
        Access { storage, copies, surfaces, lines }
    }

    /// The cubes that run together, as they lie in memory.
    fn cubes(&self, source: Option<usize>) -> Cubes {
        match self.cubes {
            1 => Cubes::ONE,
            count => {
                let storage = self.values().of_source(source).storage;
                Cubes { count, stride: self.batch.stride(self.values(), storage) as u32 }
            }
        }
    }

    /// The part of a cube from a column, a line and a channel on, which begins an atom.
    fn box_at(&self, source: Option<usize>, [x, y, channel]: [u32; 3]) -> CubePlace {
        let cube = self.cube(source);
        let first = self.values().of_source(source).tensor.channels().each().nth(channel as usize);
        let CubePlace { place, .. } = cube.channels(first.unwrap_or(0), cube.shape.channels).at_line(y);
        CubePlace { place: place.plus(u64::from(x * cube.atom)), ..cube.at_line(y) }
    }

    /// All of a cube, where the task finds it.
    pub(super) fn whole(&self, source: Option<usize>) -> Access {
        match self.copy_of(&Copied::Cube(source)) {
            Some(copy) => self.copy_access(copy),
            None => self.own_whole(source),
        }
    }

    /// All of a cube, where it is made.
    pub(super) fn own_whole(&self, source: Option<usize>) -> Access {
        let Tensor { shape, form, .. } = &self.values().of_source(source).tensor;
        let channels = match form {
            Form::Features { channels, .. } => channels.places(),
            Form::Pixels { .. } => 1,
        };
        self.own_access(source, 0..channels, 0..shape.height)
    }

    /// A step that reads and writes whole cubes.
    fn push(&mut self, task: &Task, work: Work) {
        let reads =
            self.network.layers[task.layer].sources.iter().map(|source| self.whole(*source)).collect();
        let writes = self.whole(Some(task.pooling.unwrap_or(task.layer)));
        let outline = self.outline_of_whole(task, &work);
        self.push_part(task, work, reads, writes);
        self.outline(outline);
    }

    /// The figures of a step that reads and writes whole cubes.
    fn outline_of_whole(&self, task: &Task, work: &Work) -> StepOutline {
        let layer = &self.network.layers[task.layer];
        let tensor = |source: Option<usize>| &self.values().of_source(source).tensor;
        let made = self.values().of_layer(task.layer);
        let outline = StepOutline {
            // Of a slice only what is taken.
            input_bytes: match &layer.operation {
                Operation::Slice(_) => made.tensor.bytes_moved(),
                _ => layer.sources.iter().map(|source| tensor(*source).bytes_moved()).sum(),
            },
            output_bytes: made.tensor.bytes_moved(),
            output: Some(made.tensor.place),
            ..StepOutline::default()
        };
        let elements = layer.output.elements() as u64;
        let flow = match &layer.operation {
            Operation::Pooling(_) => Flow { pdp: layer.input.elements() as u64, ..Flow::default() },
            Operation::Normalisation(_) => Flow { cdp: elements, ..Flow::default() },
            _ => Flow { sdp: elements, ..Flow::default() },
        };
        let cycles = match work {
            Work::Hardware { .. } => outline::cycles(&outline, flow, self.config),
            Work::Copy { .. } | Work::Cpu { .. } => 0,
        };
        StepOutline { cycles, ..outline }
    }

    /// Gives the last step its figures.
    pub(super) fn outline(&mut self, outline: StepOutline) {
        if let Some(Planned { step, .. }) = self.planned.last_mut() {
            step.outline = outline;
        }
    }

    /// The figures of a part of a convolution, which makes products for so many cycles.
    fn outline_of_cut(
        &self,
        task: &Task,
        (part, cut): (&ConvolutionPart, &Cut),
        mac_cycles: u64,
    ) -> StepOutline {
        let layer = &self.network.layers[task.layer];
        let made = task.pooling.unwrap_or(task.layer);
        let source = &self.values().of_source(layer.sources[0]).tensor;
        let read = line_bytes(part, source) * cut.inputs.len() as u64;
        let element = self.network.precision.bytes() as u64;
        let made_elements = |shape: Shape, lines: u64| {
            u64::from(shape.width) * lines * cut.kernels.len() as u64 * u64::from(self.cubes)
        };
        let sums = made_elements(layer.output, cut.outputs.len() as u64);
        let written = match task.pooling {
            None => sums,
            Some(pooling) => {
                let shape = self.network.layers[pooling].output;
                made_elements(shape, shape.height.into())
            }
        };
        let added = u64::from(layer.sources.len() > 1) * sums * element;
        let outline = StepOutline {
            cut: Some(CutOutline {
                lines: cut.outputs.clone(),
                kernels: part.kernels.start + cut.kernels.start..part.kernels.start + cut.kernels.end,
                input_lines: cut.inputs.clone(),
                data_banks: cut.buffer.data_banks,
                weight_banks: cut.buffer.weight_banks,
                weights_are_there: cut.buffer.weights_are_there,
            }),
            input_bytes: read * u64::from(self.cubes) + added,
            weight_bytes: cut.read.saturating_sub(read * u64::from(task.cubes)),
            output_bytes: written * element,
            output: Some(self.values().of_layer(made).tensor.place),
            cycles: 0,
        };
        let pdp = if task.pooling.is_some() { sums } else { 0 };
        let cycles = outline::cycles(&outline, Flow { mac_cycles, sdp: sums, pdp, cdp: 0 }, self.config);
        StepOutline { cycles, ..outline }
    }

    /// Adds a step of an engine and its read DMA, which work alone, as [`push`](Self::push) does.
    pub(super) fn push_alone(
        &mut self,
        task: &Task,
        (source, units): (InterruptSource, [Unit; 2]),
        encoded: &Encoded,
        table: Option<usize>,
    ) {
        let mut program = Program::new(self.config.register_map);
        program.encoded(encoded);
        let done = vec![source];
        self.push(task, Work::Hardware { units: units.into(), program, done, table });
    }

    /// A step; a convolution adds what the MAC array does in it.
    pub(super) fn push_part(&mut self, task: &Task, work: Work, reads: Vec<Access>, writes: Access) {
        let name = self.network.layers[task.layer].name.clone();
        let method = ConvolutionMethod::default();
        let outline = StepOutline::default();
        let step =
            PlanStep { layer: task.layer, name, after: Vec::new(), work, mac_cycles: 0, method, outline };
        self.planned.push(Planned { step, reads, writes: vec![writes] });
    }

    fn convolution(
        &mut self,
        task: &Task,
        layer: &NetworkLayer,
        convolution: &Convolution,
        (part, cut): (&ConvolutionPart, &Cut),
        operands: &[OfKernels],
    ) -> Result<(), Refused> {
        let found = operands.iter().find(|of| of.kernels == cut.kernels);
        let Some(of_kernels) = found else { return Ok(()) };
        let OfKernels { weights, constants, .. } = of_kernels;
        let weights = weights.placed(|constant| self.constant(constant));
        let constants = constants.map(|constant| constant.map(|constant| self.constant(constant)));
        let (inputs, outputs) = (cut.inputs.clone(), cut.outputs.clone());
        let kernels = part.kernels.start + cut.kernels.start..part.kernels.start + cut.kernels.end;
        let count = kernels.len() as u32;
        let convolve = self.convolve(layer, convolution, (part, cut), weights);
        let output = convolve.output;
        let made = task.pooling.unwrap_or(task.layer);
        let destination = self.cube(Some(made)).channels(kernels.start, count);
        let added = convolution
            .added
            .map(|_| self.cube(layer.sources[1]).channels(kernels.start, count).at_line(outputs.start));
        let missing = part.winograd.map_or(0, |scaling| scaling.missing);
        let precision = self.network.precision;
        let stages = Channelwise::of_convolution(convolution, missing, precision).stages(constants, added);
        let (settings, table) = self.look_up(&layer.operation).unzip();
        let process = Process {
            precision,
            output,
            source: None,
            stages,
            table: settings,
            converter: convolution.converter,
            destination: task.pooling.is_none().then(|| destination.at_line(outputs.start)),
            cubes: self.cubes(Some(made)),
            tiles: part.winograd.is_some(),
        };
        let mut program = Program::new(self.config.register_map);
        let (mut units, mut done) = (Vec::new(), CONVOLUTION_DONE.to_vec());
        if let Some(pooling) = task.pooling {
            let NetworkLayer {
                operation: Operation::Pooling(Pooling { method, window }),
                output: pooled,
                ..
            } = self.network.layers[pooling]
            else {
                unreachable!("a pooling was found behind the convolution")
            };
            let pool = Pool {
                precision: self.network.precision,
                input: output,
                output: Shape { channels: count, ..pooled },
                method,
                window: window.ending(output).0,
                source: None,
                destination: destination.at_line(0),
            };
            program.encoded(&self.pooling_registers(&pool)?);
            units.push(Unit::Pdp);
            done.push(InterruptSource::Pdp);
        }
        let process = process.layer(self.config.memory_atom);
        program.encoded(&process.encode(self.config.register_map, &self.config.into())?);
        program.encoded(&convolve.encode(self.config)?);
        units.extend(process.uses_rdma().then_some(Unit::SdpRdma));
        units.extend([Unit::Sdp].into_iter().chain(CONVOLUTION));
        done.push(InterruptSource::Sdp);
        let positions = u64::from(output.width) * u64::from(output.height) * u64::from(self.cubes);
        let mac_cycles = part.mac_cycles(positions, count, self.config);
        let method = ConvolutionMethod {
            winograd_products: part.winograd_products(positions, count),
            is_compressed: cut.buffer.compressed,
        };
        let seen = if part.pixels.is_some() { 0..1 } else { part.channels.clone() };
        let mut reads = vec![self.access(layer.sources[0], seen, inputs)];
        if let (Some(_), Some(added)) = (convolution.added, layer.sources.get(1)) {
            reads.push(self.access(*added, kernels.clone(), outputs.clone()));
        }
        let copied = of_kernels.constants().filter_map(|at| self.copy_of(&Copied::Constant(at)));
        reads.extend(copied.map(|copy| self.copy_access(copy)));
        let lines = if task.pooling.is_some() { 0..self.network.layers[made].output.height } else { outputs };
        let writes = self.access(Some(made), kernels, lines);
        let work = Work::Hardware { units, program, done, table };
        self.push_part(task, work, reads, writes);
        let outline = self.outline_of_cut(task, (part, cut), mac_cycles);
        self.outline(outline);
        if let Some(Planned { step, .. }) = self.planned.last_mut() {
            (step.mac_cycles, step.method) = (mac_cycles, method);
        }
        Ok(())
    }

    /// Returns one hardware layer of a convolution, up to its sums.
    fn convolve(
        &self,
        layer: &NetworkLayer,
        convolution: &Convolution,
        (part, cut): (&ConvolutionPart, &Cut),
        weights: PlacedWeights,
    ) -> Convolve {
        let first = cut.inputs.start;
        let source = self.tensor(layer.sources[0]);
        let (place, channels) = match source.form {
            Form::Pixels { line_stride, .. } => {
                let place = source.place.plus(u64::from(first) * u64::from(line_stride));
                (CubePlace { place, line_stride, surface_stride: 0 }, part.channels.end)
            }
            Form::Features { .. } => {
                let channels = part.channels.len() as u32;
                (source.cube().channels(part.channels.start, channels).at_line(first), channels)
            }
        };
        let (window, kernels) = (convolution.window, cut.kernels.len() as u32);
        Convolve {
            input: Shape { height: cut.inputs.len() as u32, channels, ..layer.input },
            output: Shape { width: part.columns(layer), height: cut.outputs.len() as u32, channels: kernels },
            window: Window {
                before: [window.before[0], cut.before],
                after: [window.after[0], cut.after],
                ..window
            },
            source: place,
            padding: convolution.padding,
            pixels: part.pixels,
            entries: part.entries,
            weights,
            weight_shape: WeightShape { kernels, ..part.weights },
            truncate: part.winograd.map_or(convolution.truncate, |scaling| scaling.sums),
            winograd: part.winograd.map(|scaling| scaling.features),
            buffer: cut.buffer,
            cubes: self.cubes(layer.sources[0]),
        }
    }

    /// A normalisation from memory to memory.
    fn normalisation(
        &mut self,
        task: &Task,
        layer: &NetworkLayer,
        normalisation: &Normalisation,
    ) -> Result<(), Refused> {
        let (map, hardware) = (self.config.register_map, cdp::layer::Hardware::from(self.config));
        let (source, made) = (self.cube(layer.sources[0]), self.cube(Some(task.layer)));
        let places = [source, made].map(|cube| cube.at_line(0));
        let cdp = registers::normalisation(
            source.shape,
            normalisation,
            places,
            (self.network.precision, self.config.memory_atom),
        );
        let encoded = cdp.encode(map, &hardware)?;
        let table = self.table(&cdp::lut::load(&cdp.lut, &registers::tables(normalisation)));
        self.push_alone(task, (InterruptSource::Cdp, [Unit::CdpRdma, Unit::Cdp]), &encoded, Some(table));
        Ok(())
    }

    /// Returns the place of a table in the list.
    fn table(&mut self, load: &Encoded) -> usize {
        let mut table = Program::new(self.config.register_map);
        table.encoded(load);
        let number = self.tables.iter().position(|known| *known == table);
        number.unwrap_or_else(|| {
            self.tables.push(table);
            self.tables.len() - 1
        })
    }

    /// Returns the settings of the table that a layer has in SDP, and the table's place in the list.
    fn look_up(&mut self, operation: &Operation) -> Option<(sdp::lut::Settings, usize)> {
        let table = look_up(operation)?;
        let settings = registers::settings(&table, self.network.precision);
        let number = self.table(&sdp::lut::load(&settings, &registers::entries(&table)));
        Some((settings, number))
    }

    /// One cube or two through SDP, from memory to memory, and what BS and BN read for each channel.
    fn element_by_element(
        &mut self,
        task: &Task,
        layer: &NetworkLayer,
        constants: [Option<usize>; 2],
    ) -> Result<(), Refused> {
        let first = |(at, source): (usize, &Option<usize>)| match &layer.operation {
            Operation::Slice(Slice { from }) if at == 0 => self.box_at(*source, *from),
            _ => self.cube(*source).at_line(0),
        };
        let sources: Vec<CubePlace> = layer.sources.iter().enumerate().map(first).collect();
        let made = self.cube(Some(task.layer));
        let precision = self.network.precision;
        let second = sources.get(1).copied();
        let (stages, converter) = match Channelwise::of_elements(&layer.operation, precision) {
            Some(channelwise) => {
                let places = constants.map(|constant| constant.map(|constant| self.constant(constant)));
                (channelwise.stages(places, second), converter(&layer.operation))
            }
            None => stages_of_elements(&layer.operation, second, precision),
        };
        let (settings, table) = self.look_up(&layer.operation).unzip();
        let process = Process {
            precision,
            output: made.shape,
            source: sources.first().copied(),
            stages,
            table: settings,
            converter,
            destination: Some(made.at_line(0)),
            cubes: Cubes::ONE,
            tiles: false,
        };
        let process = process.layer(self.config.memory_atom);
        let encoded = process.encode(self.config.register_map, &self.config.into())?;
        self.push_alone(task, (InterruptSource::Sdp, [Unit::SdpRdma, Unit::Sdp]), &encoded, table);
        let copies = constants.into_iter().flatten().filter_map(|at| self.copy_of(&Copied::Constant(at)));
        let copies: Vec<Access> = copies.map(|copy| self.copy_access(copy)).collect();
        let weight_bytes =
            constants.into_iter().flatten().map(|at| self.constants[at].bytes.len() as u64).sum();
        if let Some(planned) = self.planned.last_mut() {
            planned.reads.extend(copies);
            planned.step.outline.weight_bytes = weight_bytes;
        }
        Ok(())
    }

    /// The steps, each with those that it waits for, and the tables.
    fn finish(self) -> (Vec<PlanStep>, Vec<Program>) {
        let values = self.values();
        let Planner { batch, mut planned, places, tables, .. } = self;
        let copies_from = values.storages.len();
        let place = |storage: usize| match storage.checked_sub(copies_from) {
            Some(copy) => places.copies[copy].place,
            None => places.storages[storage],
        };
        let memory_of = |&Access { storage, ref copies, .. }: &Access| {
            let MemoryAddress { address, .. } = place(storage);
            if let Some(copy) = storage.checked_sub(copies_from) {
                return address..address + places.copies[copy].bytes;
            }
            let copy = |copy: u32| address + u64::from(copy) * batch.stride(values, storage);
            copy(copies.start)..copy(copies.end - 1) + values.storages[storage].bytes
        };
        let touched = |accesses: &[Access]| -> Vec<Touched> {
            let one = |access: &Access| {
                let memory = usize::from(place(access.storage).memory == host::Memory::Secondary);
                Touched { access: access.clone(), memory, addresses: memory_of(access) }
            };
            accesses.iter().map(one).collect()
        };
        let touches: Vec<Touches> = planned
            .iter()
            .map(|Planned { reads, writes, .. }| Touches { reads: touched(reads), writes: touched(writes) })
            .collect();
        let after = hazards::after(&touches);
        for (planned, after) in planned.iter_mut().zip(after) {
            planned.step.after = after;
        }
        (planned.into_iter().map(|planned| planned.step).collect(), tables)
    }
}
