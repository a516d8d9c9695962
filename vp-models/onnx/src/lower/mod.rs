//! From a graph to a network: which unit does what, and the numbers in the hardware's codes.
//!
//! `planar` makes windows over one axis windows over lines of one, `floats` takes quantisation out of the nodes, `patterns` joins nodes that are one operation, and `transposed` parts transposed
//! convolutions, `shuffle` orders kernels whose channels become pixels, `channels` has convolutions shuffle channels, `equalised` gives channels like ranges, `ranges` notes what values occur in samples, and `calibration` keeps that in a file, `drafter` with `nodes`, `moves`, `convolution` and `windows` decides what each node becomes, `codes` gives each cube its
//! scale, `coded` makes the network's operations. What lies before the first unit and behind the last one stays in floats.

mod by_cpu;
mod calibration;
mod channels;
mod code;
mod coded;
mod coded_convolution;
mod codes;
mod convolution;
mod draft;
mod drafter;
mod edges;
mod equalised;
mod error;
mod fit;
mod floats;
mod function;
mod lowered;
mod moves;
mod nodes;
mod options;
mod pairs;
mod patterns;
mod planar;
mod ranges;
mod refused;
mod shuffle;
mod transposed;
mod uses;
mod view;
mod windows;

use self::coded::Coded;
use self::draft::{Draft, DraftKind, Source};
use self::drafter::{Drafts, NoNetwork, Reason, draft, is_heavy};
use self::edges::Edges;
use self::equalised::{ChannelRanges, Factors, equalise_by};
use self::floats::{FloatGraph, floats};
use self::ranges::{Ranges, note};
use self::refused::RefusedLayer;
use self::view::View;
use std::collections::{BTreeMap, HashMap, HashSet};
use vp_host::network::{Choices, Lines, Network, NetworkLayer, Plan, Shape};
use vp_models::nvdla::config::Config;
use vp_models::nvdla::numeric::Precision;
use vp_tensors::{Graph, Node, Operator, Tensor, ValueId, shape_text};

pub use self::calibration::{CalibrationError, CalibrationFault, CalibrationTable};
pub(crate) use self::code::Code;
pub use self::error::{EncodeError, LowerError, NoNumbers};
pub use self::lowered::{CodedTensor, LayerOrigin, Lowered, TailInput, TailSource};
pub use self::moves::{MOVED, MOVES};
pub use self::options::{LowerOptions, WeightScales};
pub use self::ranges::RangeMethod;

/// Properties of a configuration that decide what becomes of nodes.
#[derive(Clone, Debug)]
pub(crate) struct Hardware {
    pub(crate) name: String,
    pub(crate) is_integer: bool,
    pub(crate) has_table: bool,
    pub(crate) weight_scales: WeightScales,
}

/// Samples for calibration: each the tensors of the model's inputs.
pub type Samples<'a> = &'a mut dyn Iterator<Item = Result<Vec<Tensor>, String>>;

/// Source of the ranges by which a float model is quantised.
pub enum Calibration<'a> {
    /// Numbers that occur in samples.
    Samples(Samples<'a>),
    /// A table.
    Table(&'a CalibrationTable),
}

/// Makes a network of a graph for a configuration.
///
/// # Errors
/// As [`LowerError`] says.
pub fn lower(
    graph: &Graph,
    config: &Config,
    options: &LowerOptions,
    calibration: Calibration<'_>,
) -> Result<Lowered, LowerError> {
    check_input(graph)?;
    let mut floats = patterns::joined(floats(&planar::planar(graph)));
    let is_quantised = !floats.codes.is_empty();
    let hardware = hardware(config, options, is_quantised)?;
    let mut factors = Factors::new();
    let (ranges, method) = match calibration {
        _ if !hardware.is_integer => (Ranges::new(), options.method),
        Calibration::Table(table) => {
            if !is_quantised {
                factors = table.factors();
                equalise_by(&mut floats, &factors).map_err(LowerError::Factors)?;
            }
            (table.ranges(&floats.graph), RangeMethod::MinMax)
        }
        Calibration::Samples(samples) if is_quantised => {
            (observed(&as_written(&floats), options.method, samples)?, options.method)
        }
        Calibration::Samples(samples) => {
            let first: Vec<_> = samples.take(EQUALISING_SAMPLES).collect();
            factors = equalised(&mut floats, &first)?;
            let mut all = first.into_iter().chain(samples);
            (observed(&floats.graph, options.method, &mut all)?, options.method)
        }
    };
    let options = &LowerOptions { method, ..*options };
    let mut refused = BTreeMap::new();
    // Each turn gives one layer more to the CPU.
    loop {
        let drafts = draft(&floats, &hardware, &refused).map_err(|error| match error {
            NoNetwork::SeveralStarts => nothing(&floats, config, &refused),
            NoNetwork::NoCube { node, operator, shape } => {
                let batch = one_frame(graph, &shape);
                LowerError::NoCube { node, operator: operator.to_owned(), shape, batch }
            }
        })?;
        match assembled(&floats, drafts, &hardware, (&ranges, options), (config, refused.is_empty()))? {
            Assembled::Right(mut lowered) => {
                let made = moves_of_none(graph, &floats.graph);
                lowered.on_cpu.retain(|(name, _)| !made.contains(name.as_str()));
                lowered.calibration = CalibrationTable::of(&floats.graph, &ranges, method, &factors);
                return Ok(*lowered);
            }
            Assembled::Refused(layers) => {
                let before = refused.len();
                for RefusedLayer { nodes, why, .. } in &layers {
                    refused.extend(nodes.iter().map(|node| (*node, why.clone())));
                }
                let first = layers.into_iter().next();
                if let Some(RefusedLayer { layer, why, .. }) = first.filter(|_| refused.len() == before) {
                    return Err(LowerError::Layer { layer, why });
                }
            }
        }
    }
}

/// Names of nodes that are none of the model's and move no element: they stand for axes that were put in.
fn moves_of_none<'a>(model: &Graph, made: &'a Graph) -> HashSet<&'a str> {
    let own: HashSet<&str> = model.nodes.iter().map(|node| node.name.as_str()).collect();
    let moves = made.nodes.iter().filter(|node| {
        matches!(node.operator, Operator::Squeeze { .. } | Operator::Unsqueeze { .. } | Operator::Identity)
    });
    moves.map(|node| node.name.as_str()).filter(|name| !own.contains(name)).collect()
}

/// Refuses graphs that have not one input.
pub(crate) fn check_input(graph: &Graph) -> Result<(), LowerError> {
    match &graph.inputs[..] {
        [_] => Ok(()),
        inputs => Err(LowerError::Inputs(inputs.iter().map(|id| graph.value(*id).name.clone()).collect())),
    }
}

/// Option that takes a batch as 1, for a tensor with the batch of the input.
fn one_frame(graph: &Graph, shape: &[usize]) -> Option<String> {
    let input = graph.value(*graph.inputs.first()?);
    let (batch, frame) = input.shape.split_first()?;
    let is_batch = *batch > 1 && shape.first() == Some(batch) && !frame.is_empty();
    let one: Vec<usize> = [1].into_iter().chain(frame.iter().copied()).collect();
    is_batch.then(|| format!("--shape {}={}", input.name.escape_debug(), shape_text(&one)))
}

/// The reason of the first node that a unit could have begun with, else of the first one.
fn nothing(floats: &FloatGraph, config: &Config, on_cpu: &BTreeMap<usize, Reason>) -> LowerError {
    let nodes = &floats.graph.nodes;
    let first = on_cpu.keys().find(|at| is_heavy(&nodes[**at], floats)).or(on_cpu.keys().next());
    let why = match first.copied().or((!nodes.is_empty()).then_some(0)) {
        None => "it has none".to_owned(),
        Some(at) => {
            let (Node { name, operator, .. }, why) =
                (&nodes[at], on_cpu.get(&at).map_or("it reads no cube", String::as_str));
            format!("`{name}` ({}): {why}", operator.name())
        }
    };
    LowerError::NothingToRun { config: config.name.clone(), why }
}

fn hardware(config: &Config, options: &LowerOptions, is_quantised: bool) -> Result<Hardware, LowerError> {
    let has_fp16 = config.computes(Precision::Fp16);
    let precision = options.precision.unwrap_or(match has_fp16 && !is_quantised {
        true => Precision::Fp16,
        false => Precision::Int8,
    });
    let wrong = |why: String| Err(LowerError::Precision { precision, why });
    match precision {
        Precision::Fp16 if !has_fp16 => {
            return wrong(format!("{} computes int8; nv_full has fp16", config.name));
        }
        Precision::Fp16 if is_quantised => {
            return wrong(
                "the model is quantised, and its codes limit numbers as fp16 would not; int8 has them"
                    .to_owned(),
            );
        }
        Precision::Int16 => return wrong("models are run in int8 or fp16".to_owned()),
        _ => {}
    }
    Ok(Hardware {
        name: config.name.clone(),
        is_integer: precision == Precision::Int8,
        has_table: config.sdp_lut && config.sdp_ew,
        weight_scales: options.weights,
    })
}

/// Samples from which channels' ranges follow, at most: factors need only be near.
const EQUALISING_SAMPLES: usize = 8;

/// Gives channels like ranges by the numbers that occur in samples.
fn equalised(
    floats: &mut FloatGraph,
    samples: &[Result<Vec<Tensor>, String>],
) -> Result<Factors, LowerError> {
    let mut channels = ChannelRanges::of(floats);
    for (at, sample) in samples.iter().enumerate() {
        // What is wrong with a sample is told when all are run.
        let Ok(sample) = sample else { break };
        let ran = channels.note(&floats.graph, sample);
        ran.map_err(|error| LowerError::Sample { number: at + 1, error: Box::new(error) })?;
    }
    Ok(channels.equalise(floats))
}

/// Numbers that occur in samples.
fn observed(graph: &Graph, method: RangeMethod, samples: Samples<'_>) -> Result<Ranges, LowerError> {
    let mut ranges = Ranges::new();
    for (at, sample) in samples.enumerate() {
        let sample = sample.map_err(LowerError::NoSample)?;
        for (value, tensor) in graph.inputs.iter().zip(&sample) {
            let checked = NoNumbers::check(&graph.value(*value).name, tensor);
            checked.map_err(|error| LowerError::SampleNumbers { number: at + 1, error })?;
            note(&mut ranges, method, *value, tensor);
        }
        let ran = graph.run_each(&sample, &mut |value, tensor| note(&mut ranges, method, value, tensor));
        ran.map_err(|error| LowerError::Sample { number: at + 1, error: Box::new(error) })?;
    }
    Ok(ranges)
}

/// Network as far as it came.
enum Assembled {
    Right(Box<Lowered>),
    /// Layers that no unit can do.
    Refused(Vec<RefusedLayer>),
}

fn assembled(
    floats: &FloatGraph,
    drafts: Drafts,
    hardware: &Hardware,
    (ranges, options): (&Ranges, &LowerOptions),
    (config, is_first): (&Config, bool),
) -> Result<Assembled, LowerError> {
    let Drafts { mut drafts, mut order, start, input, head, tail, tail_inputs, on_cpu } = drafts;
    if order.is_empty() {
        return Err(nothing(floats, config, &on_cpu));
    }
    let mut tail_places: Vec<Source> = tail_inputs.iter().map(|placed| placed.source).collect();
    if hardware.is_integer {
        let before = drafts.len();
        codes::requantise(&mut drafts, &mut order, (floats, ranges, options.method), (start, &tail_places));
        for new in (before..drafts.len()).filter(|new| drafts[*new].value.is_some()) {
            let of = drafts[new].sources[0];
            tail_places.iter_mut().filter(|place| **place == of).for_each(|place| *place = Some(new));
        }
    }
    let codes = codes::codes(&drafts, (start, floats), hardware, (ranges, options.method));
    let mut codes = codes.map_err(|values| {
        let names = values.into_iter().map(|value| floats.graph.value(value).name.clone());
        LowerError::NoRange(names.collect())
    })?;
    if hardware.is_integer {
        let before = drafts.len();
        codes::limit(&mut drafts, &mut order, &mut codes);
        // What a limit stands behind is read there.
        for (new, limit) in drafts.iter().enumerate().skip(before) {
            let of = limit.sources[0];
            tail_places.iter_mut().filter(|place| **place == of).for_each(|place| *place = Some(new));
        }
    }
    let layer_of: HashMap<usize, usize> = order.iter().enumerate().map(|(layer, at)| (*at, layer)).collect();
    let place = |source: &Source| source.map(|at| layer_of[&at]);
    let mut network = Network {
        name: floats.graph.name.clone(),
        input: input.cube,
        is_image: is_image(&drafts, &order, input.cube),
        precision: hardware.precision(),
        choices: Choices { winograd: options.winograd.unwrap_or_default(), ..Choices::default() },
        layers: Vec::with_capacity(order.len()),
        outputs: Vec::new(),
        demands: Vec::new(),
        lines: Lines::default(),
    };
    let mut names = Names::default();
    let mut layers = Vec::with_capacity(order.len());
    let mut refused = Vec::new();
    for &at in &order {
        let draft = &drafts[at];
        let operation = match Coded::of(draft, at, &codes, (hardware, ranges)).operation() {
            Ok(operation) => operation,
            Err(why) => {
                refused.push(RefusedLayer::of(draft, why));
                continue;
            }
        };
        network.layers.push(NetworkLayer {
            name: names.one(&draft.name),
            sources: draft.sources.iter().map(place).collect(),
            input: draft.input,
            output: draft.output,
            operation,
            cycles: None,
        });
        layers.push(origin(draft, floats, codes.of(Some(at))));
    }
    if !refused.is_empty() {
        return Ok(Assembled::Refused(refused));
    }
    let mut of_tail = Vec::with_capacity(tail_places.len());
    for (placed, &source) in tail_inputs.iter().zip(&tail_places) {
        let tensor = CodedTensor::of(&placed.view, codes.of(source));
        let source = match place(&source) {
            None => TailSource::Input,
            Some(layer) => {
                let known = network.outputs.iter().position(|&output| output == layer);
                TailSource::Output(known.unwrap_or_else(|| {
                    network.outputs.push(layer);
                    network.outputs.len() - 1
                }))
            }
        };
        of_tail.push(TailInput { source, tensor });
    }
    if network.outputs.is_empty() {
        return Err(nothing(floats, config, &on_cpu));
    }
    if let Err(error) = Plan::new(&network, config, PLANNED) {
        let drafts: Vec<&Draft> = order.iter().map(|at| &drafts[*at]).collect();
        return refused::refused(&network, &drafts, (config, error, is_first)).map(Assembled::Refused);
    }
    let name = |at: &usize| floats.graph.nodes[*at].name.clone();
    Ok(Assembled::Right(Box::new(Lowered {
        head,
        network,
        input: CodedTensor::of(&input, codes.of(None)),
        tail,
        tail_inputs: of_tail,
        layers,
        start,
        on_cpu: on_cpu.iter().map(|(at, why)| (name(at), why.clone())).collect(),
        is_quantised: !floats.codes.is_empty(),
        calibration: CalibrationTable::default(),
        floats: as_written(floats),
    })))
}

/// The graph of the numbers that the model itself gives: those that it quantises are rounded and limited to their codes.
fn as_written(floats: &FloatGraph) -> Graph {
    let mut graph = floats.graph.clone();
    let codes: BTreeMap<ValueId, Code> = floats.codes.iter().map(|(value, code)| (*value, *code)).collect();
    graph.quantise(&codes.into_iter().collect::<Vec<_>>());
    graph
}

/// Memory in which a network is planned to see if it can be.
const PLANNED: std::ops::Range<u64> = 0x8000_0000..0x1_0000_0000;

fn origin(draft: &Draft, floats: &FloatGraph, code: Code) -> LayerOrigin {
    let view = draft.view.clone().unwrap_or_else(|| View::of_cube(draft.output));
    LayerOrigin {
        nodes: draft.nodes.iter().map(|at| floats.graph.nodes[*at].name.clone()).collect(),
        value: draft.value,
        output: CodedTensor::of(&view, code),
        on_cpu: match &draft.kind {
            DraftKind::Cpu(on_cpu) => Some(on_cpu.reason.clone()),
            _ => None,
        },
    }
}

/// Returns true if the input can lie in memory as pixels: convolutions alone read it, and windows without gaps.
fn is_image(drafts: &[Draft], order: &[usize], input: Shape) -> bool {
    let mut readers = order.iter().map(|at| &drafts[*at]).filter(|draft| draft.sources.contains(&None));
    input.channels <= 4
        && input.channels != 2
        && readers.all(|draft| match &draft.kind {
            DraftKind::Convolution(kernels) => {
                kernels.groups == 1 && !kernels.adds && kernels.window.dilation == [1, 1]
            }
            _ => false,
        })
}

/// Names of layers, of which no two are the same, and the last number behind each.
#[derive(Default)]
struct Names(HashMap<String, u64>);

impl Names {
    fn one(&mut self, wanted: &str) -> String {
        // A name may be anything; it stands in tables.
        let wanted = wanted.replace(char::is_control, " ");
        let wanted = if wanted.is_empty() || wanted == "input" { "layer" } else { &wanted };
        let mut name = wanted.to_owned();
        while self.0.contains_key(&name) {
            let last = self.0.entry(wanted.to_owned()).or_insert(1);
            *last += 1;
            name = format!("{wanted} {last}");
        }
        self.0.insert(name.clone(), 1);
        name
    }
}
