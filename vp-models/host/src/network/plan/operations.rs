//! Layers that a hardware layer does together, and the order in which they run.

use super::adapted::SliceWay;
use super::batch::Batch;
use super::order::{in_order, readers};
use super::parts::parts;
use super::pooling::has_empty_windows;
use super::stages::{Channelwise, look_up};
use super::task::Task;
use super::tiles::by_winograd;
use super::values::Values;
use crate::network::Cpu;
use crate::network::description::{
    Activation, Bias, ChannelProduct, Convolution, Function, LookUp, Network, NetworkLayer, Operation,
    Pooling, Scales, Scaling, Shape, Slice, SoftMax, Sum, Window, Winograd,
};
use crate::network::error::PlanError;
use crate::network::registers::is_whole;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::pdp::layer::Axis;

/// Refuses layers that NVDLA has no operation for, on no configuration.
pub(super) fn check(network: &Network) -> Result<(), PlanError> {
    let layers = network.layers.len();
    if let Some(&output) = network.outputs.iter().find(|output| **output >= layers) {
        return Err(PlanError::Output { output, layers });
    }
    for layer in &network.layers {
        if let Operation::Pooling(Pooling { window: Window { size: [columns, rows], .. }, .. }) =
            layer.operation
            && columns.max(rows) > Axis::MOST_KERNEL
        {
            let (layer, most) = (layer.name.clone(), Axis::MOST_KERNEL);
            return Err(PlanError::PoolingWindow { layer, columns, rows, most });
        }
        if let Operation::Cpu(program) = &layer.operation {
            let inputs: Vec<Shape> = layer.sources.iter().map(|source| network.shape(*source)).collect();
            let wrong = |why| PlanError::Program { layer: layer.name.clone(), why };
            program.check(&inputs, layer.output).map_err(wrong)?;
        }
        if let Operation::Slice(Slice { from: [x, y, channel] }) = layer.operation {
            let Shape { width, height, channels } = layer.output;
            let sides = [(x, width, layer.input.width), (y, height, layer.input.height)];
            let all = sides.into_iter().chain([(channel, channels, layer.input.channels)]);
            if all.into_iter().any(|(from, size, of)| from.checked_add(size).is_none_or(|end| end > of)) {
                let (layer, from, shape, source_shape) =
                    (layer.name.clone(), [x, y, channel], layer.output, layer.input);
                return Err(PlanError::Slice { layer, from, shape, source_shape });
            }
        }
        let refused = match &layer.operation {
            Operation::Activation(Function::Table(answers)) if answers.len() != 256 => {
                Some(("table of other than 256 answers", "give it one for each element from -128 on"))
            }
            Operation::Activation(Function::Table(_)) if network.precision != Precision::Int8 => Some((
                "table of answers to int8 in another format",
                "give a layer of the kind \"scaling\" a `look_up`",
            )),
            Operation::Convolution(convolution) => refused(convolution, network.precision),
            Operation::Pooling(pooling)
                if pooling.leaves_padding_out() && has_empty_windows(pooling, layer) =>
            {
                Some(("means of windows that lie in padding alone", "give it less padding"))
            }
            Operation::Sum(Sum { activation: Activation::PRelu(_), .. }) => {
                Some(("PReLU of a sum", PRELU_ALONE))
            }
            Operation::Scaling(Scaling { bias, scales, activation, look_up, .. }) => {
                let constants = Constants { bias: bias.as_ref(), scales: scales.as_ref(), activation };
                constants
                    .refused(layer.output.channels)
                    .or(look_up.as_ref().and_then(|table| refused_table(table, network.precision)))
            }
            Operation::ChannelProduct(ChannelProduct { activation, .. }) => {
                Constants { bias: None, scales: None, activation }.refused(layer.output.channels)
            }
            _ => None,
        };
        let timed = ("layers of given `cycles`", "leave them out: they follow from the hardware");
        let refused = refused.or(layer.cycles.map(|_| timed));
        if let Some((what, instead)) = refused {
            return Err(PlanError::NoOperation { layer: layer.name.clone(), what, instead });
        }
    }
    Ok(())
}

/// Feature that NVDLA lacks, and the way that would be right.
type Lacking = Option<(&'static str, &'static str)>;

const PRELU_ALONE: &str = "put it into a layer of its own, of the kind \"scaling\"";

/// Constants for each channel.
struct Constants<'a> {
    bias: Option<&'a Bias>,
    scales: Option<&'a Scales>,
    activation: &'a Activation,
}

impl Constants<'_> {
    fn refused(&self, channels: u32) -> Lacking {
        let slopes = match self.activation {
            Activation::PRelu(slopes) => Some(slopes),
            _ => None,
        };
        let values = [self.scales, slopes].into_iter().flatten().map(|scales| scales.values.len());
        let mut counts = self.bias.map(|bias| bias.values.len()).into_iter().chain(values);
        if counts.any(|count| count != channels as usize) {
            return Some((
                "biases, scales or slopes of other channels",
                "give one for each channel it makes",
            ));
        }
        let is_wide = |bias: &&Bias| bias.values.iter().any(|&value| i16::try_from(value).is_err());
        let wide = ("biases beyond 16 bits", "write them as int16 with a `shift`");
        self.bias.filter(is_wide).map(|_| wide)
    }
}

/// Feature of a convolution that no configuration has.
fn refused(convolution: &Convolution, precision: Precision) -> Lacking {
    let Convolution { kernels, bias, scales, activation, added, padding, look_up, .. } = convolution;
    let constants = Constants { bias: bias.as_ref(), scales: scales.as_ref(), activation };
    let refused =
        constants.refused(*kernels).or(look_up.as_ref().and_then(|table| refused_table(table, precision)));
    if refused.is_some() {
        return refused;
    }
    if matches!(activation, Activation::PRelu(_)) && added.is_some() {
        return Some(("PReLU behind a cube that is added", PRELU_ALONE));
    }
    let is_wide = precision == Precision::Int8 && i8::try_from(*padding).is_err();
    is_wide.then_some(("padding beyond 8 bits in int8", "pad with a code of the input's format"))
}

fn refused_table(table: &LookUp, precision: Precision) -> Lacking {
    if table.values.len() != LookUp::ENTRIES {
        return Some(("tables of other than 257 entries", "give it 257"));
    }
    let is_far = match precision {
        // The bits of a number.
        Precision::Fp16 => u32::try_from(table.start).is_err(),
        _ => i32::try_from(table.start).is_err(),
    };
    is_far.then_some(("tables that begin beyond 32 bits", "convert the values before"))
}

/// Returns the tasks, in the order in which they run.
pub(super) fn tasks(
    (network, ways): (&Network, &[Option<SliceWay>]),
    values: &Values,
    batch: &Batch,
    config: &Config,
) -> Result<Vec<Task>, PlanError> {
    let by_cpu: Vec<Option<Cpu>> =
        network.layers.iter().zip(ways).map(|(layer, way)| by_cpu(layer, *way, network, config)).collect();
    let by_unit = network.layers.iter().zip(&by_cpu).filter(|(_, cpu)| cpu.is_none());
    for (layer, _) in by_unit {
        if let Some((unit, parameter)) = lacking(&layer.operation, config) {
            let (layer, config) = (layer.name.clone(), config.name.clone());
            return Err(PlanError::NoUnit { layer, unit, config, parameter });
        }
    }
    let readers = readers(network);
    let mut tasks: Vec<Task> = Vec::new();
    let mut done = vec![false; network.layers.len()];
    for (place, layer) in network.layers.iter().enumerate() {
        let is_there = matches!(layer.operation, Operation::Concatenation | Operation::Constant(_))
            || ways[place] == Some(SliceWay::View);
        if done[place] || is_there {
            continue;
        }
        let mut task = Task {
            layer: place,
            pooling: None,
            parts: Vec::new(),
            cubes: 1,
            cpu: by_cpu[place].clone(),
            no_winograd: None,
        };
        if let Operation::Convolution(convolution) = &layer.operation {
            task.cubes = batch.cubes(place);
            // As many as the convolution buffer holds.
            task.parts = loop {
                match parts(network, values, (layer, task.cubes), convolution, config) {
                    Err(PlanError::ConvolutionBuffer { .. }) if task.cubes > 1 => {
                        task.cubes = task.cubes.div_ceil(2);
                    }
                    parts => break parts?,
                }
            };
            // What comes out of the network lies in memory.
            task.pooling = match network.outputs.contains(&place) {
                true => None,
                false => pooling_behind(network, &readers[place], &task),
            };
            if network.choices.winograd != Winograd::Never {
                match by_winograd(network, values, (layer, &task), convolution, config) {
                    // PDP takes lines as they come, and these come four at once.
                    Ok(parts) => (task.parts, task.pooling) = (parts, None),
                    Err(reason) => task.no_winograd = Some(reason),
                }
            }
        }
        if let Some(pooling) = task.pooling {
            done[pooling] = true;
        }
        tasks.push(task);
    }
    Ok(in_order(tasks, (network, ways), &readers))
}

/// The task of the CPU that a layer is: because no unit does it, or because the configuration was built without that, and the CPU has an
/// exact way.
fn by_cpu(layer: &NetworkLayer, way: Option<SliceWay>, network: &Network, config: &Config) -> Option<Cpu> {
    let is_int8 = network.precision == Precision::Int8;
    match &layer.operation {
        Operation::SoftMax(SoftMax { scale }) => Some(Cpu::SoftMax(*scale)),
        Operation::Cpu(program) => Some(Cpu::Program(program.clone())),
        Operation::Slice(Slice { from }) if way == Some(SliceWay::Cpu) => Some(Cpu::Slice(*from)),
        Operation::Activation(function) if is_int8 && lacking(&layer.operation, config).is_some() => {
            match function {
                Function::Table(answers) => Some(Cpu::Table(answers.clone())),
                &Function::Clamp { low, high } if low <= high => {
                    Some(Cpu::Table((i8::MIN..=i8::MAX).map(|element| element.clamp(low, high)).collect()))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The cubes that SDP goes over in whole tiles: what convolutions by Winograd's method make, and what is added to it.
pub(super) fn in_tiles(network: &Network, tasks: &[Task]) -> Vec<Option<usize>> {
    let by_winograd = tasks.iter().filter(|task| task.makes_tiles());
    let cubes = by_winograd.flat_map(|task| {
        let added = network.layers[task.layer].sources.get(1).copied();
        std::iter::once(Some(task.layer)).chain(added)
    });
    cubes.collect()
}

/// The unit, or stage of SDP, that an operation needs and the configuration was built without; and the parameter that says so.
fn lacking(operation: &Operation, config: &Config) -> Option<(&'static str, &'static str)> {
    let of_elements = Channelwise::of_elements(operation, Precision::Int8);
    let (bs, bn) = match operation {
        Operation::Convolution(convolution) => {
            Channelwise::of_convolution(convolution, 0, Precision::Int8).needs().into()
        }
        Operation::Sum(sum) => (sum.scale != 1 || matches!(sum.activation, Activation::Leaky { .. }), true),
        Operation::Elementwise(_) => (false, true),
        Operation::Activation(Function::Clamp { .. }) => (true, true),
        Operation::Activation(Function::Table(_)) => (false, false),
        Operation::Activation(_) => (true, false),
        _ => of_elements.map_or((false, false), |channelwise| channelwise.needs().into()),
    };
    let table = look_up(operation).is_some();
    let (pdp, cdp) =
        (matches!(operation, Operation::Pooling(_)), matches!(operation, Operation::Normalisation(_)));
    [
        (bs && !config.sdp_bs, "SDP's stage BS", "sdp_bs"),
        (bn && !config.sdp_bn, "SDP's stage BN", "sdp_bn"),
        (table && !config.sdp_lut, "SDP's lookup table", "sdp_lut"),
        (table && !config.sdp_ew, "SDP's stage EW", "sdp_ew"),
        (pdp && !config.pdp, "PDP", "pdp"),
        (cdp && !config.cdp, "CDP", "cdp"),
    ]
    .into_iter()
    .find_map(|(is_lacking, unit, parameter)| is_lacking.then_some((unit, parameter)))
}

/// The pooling that can take what a convolution makes as it comes: nobody else wants that, it comes line after line of
/// the whole cube, windows read all of it, and the line buffer holds it.
fn pooling_behind(network: &Network, readers: &[usize], task: &Task) -> Option<usize> {
    let &[reader] = readers else { return None };
    let NetworkLayer { operation: Operation::Pooling(pooling), input, output, .. } = &network.layers[reader]
    else {
        return None;
    };
    let [part] = task.parts.as_slice() else { return None };
    let lines = part.cuts.iter().all(|cut| cut.outputs.len() as u32 == input.height);
    let (_, read) = pooling.window.ending(*input);
    let is_one_layer = !pooling.leaves_padding_out() && is_whole(&pooling.window, *input, *output);
    (lines && read == *input && is_one_layer).then_some(reader)
}
