//! Errors of running a network.

use super::description::{Network, Shape};
use crate::{DriverError, Warning};
use vp_models::nvdla::config::Config;
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::refused::Refused;
use vp_models::platform::DescriptionError;
use vp_models::units::grouped;
use vp_tensors::GraphError;

/// Reason for which a network cannot run on a hardware configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The convolution buffer is too small for a layer.
    #[error(
        "layer `{layer}` does not fit into the convolution buffer: the input of one line of its output takes {data} \
         banks and one group of its kernels {weights}, and there are {banks}; cutting layers by columns or by \
         channels is not done yet"
    )]
    ConvolutionBuffer {
        /// The layer.
        layer: String,
        /// Banks that the input of one output line takes.
        data: u32,
        /// Banks that the weights of one group of kernels take.
        weights: u32,
        /// Banks that there are.
        banks: u32,
    },
    /// A slice ends beyond its source.
    #[error(
        "layer `{layer}`: {shape} from column {}, line {} and channel {} on are not within {source_shape}",
        from[0], from[1], from[2]
    )]
    Slice {
        /// The layer.
        layer: String,
        /// First column, line and channel.
        from: [u32; 3],
        /// Size of the slice.
        shape: Shape,
        /// Size of what it is a part of.
        source_shape: Shape,
    },
    /// NVDLA has no operation for a layer, on no configuration.
    #[error("layer `{layer}`: NVDLA has no {what}; {instead}")]
    NoOperation {
        /// The layer.
        layer: String,
        /// Feature that NVDLA lacks.
        what: &'static str,
        /// Way that would be right.
        instead: &'static str,
    },
    /// The graph of a layer of the CPU's is none between its cubes.
    #[error(
        "layer `{layer}`: {why}; the graph has a tensor of floats for each source and one output, each a cube's"
    )]
    Program {
        /// The layer.
        layer: String,
        /// Reason for which it does not fit.
        why: String,
    },
    /// An output is of a layer that the network does not have.
    #[error("output {output}: the network has the layers 0 to {}", layers.saturating_sub(1))]
    Output {
        /// Place of the layer.
        output: usize,
        /// Number of layers.
        layers: usize,
    },
    /// A pooling's windows are larger than PDP's.
    #[error(
        "layer `{layer}`: a pooling of {columns}x{rows}: PDP's windows have 1 to {most} columns and rows; pool in steps, \
         such as 4x4 behind 4x4"
    )]
    PoolingWindow {
        /// The layer.
        layer: String,
        /// Columns of a window.
        columns: u32,
        /// Rows of a window.
        rows: u32,
        /// Largest number of columns, and of rows.
        most: u32,
    },
    /// No registers can say what a layer needs, or the hardware would refuse it.
    #[error("layer `{layer}`: {}{refused}", key_of(refused))]
    Register {
        /// The layer.
        layer: String,
        /// The field, and why.
        refused: Refused,
    },
    /// The memory is full.
    #[error("`{what}` takes {} bytes of memory, and {} are left", grouped(bytes), grouped(left))]
    Memory {
        /// Tensor or constant that is to be placed.
        what: String,
        /// Bytes it takes.
        bytes: u64,
        /// Bytes that are left.
        left: u64,
    },
    /// Something is to be in SRAM, and there is none.
    #[error(
        "{asked}: the configuration {config} has no SRAMIF (secondary_memory = false){}",
        having("secondary_memory")
    )]
    NoSram {
        /// The configuration.
        config: String,
        /// Party that asks for it.
        asked: String,
        /// The line of the network's file that does.
        line: Option<usize>,
    },
    /// Something is to be copied, and nothing does that.
    #[error(
        "copies = \"auto\": the configuration {config} has no BDMA (bdma = false){}; or leave it out, or say \"never\"",
        having("bdma")
    )]
    NoBdma {
        /// The configuration.
        config: String,
    },
    /// A tensor that is to be in SRAM has no room there.
    #[error(
        "{asked}: it takes {} bytes, and of {} bytes of SRAM {} are left while it is needed",
        grouped(bytes),
        grouped(size),
        grouped(left)
    )]
    SramRoom {
        /// Party that asks for it.
        asked: String,
        /// Bytes it takes.
        bytes: u64,
        /// Bytes that are left.
        left: u64,
        /// Bytes of SRAM that may be used.
        size: u64,
        /// The line of the network's file that does.
        line: Option<usize>,
    },
    /// A tensor that is to be in SRAM is in no memory.
    #[error("{asked}: what it makes is in no memory, another layer takes it on the fly; say it of that one")]
    OnTheFly {
        /// Demand in the network's file.
        asked: String,
        /// The line that says so.
        line: Option<usize>,
    },
    /// A concatenation is to be in two memories.
    #[error("{one}, and {other}: what is concatenated lies in one memory")]
    Contradiction {
        /// Demand of one layer.
        one: String,
        /// Demand of the other.
        other: String,
        /// The line of the network's file with the first.
        line: Option<usize>,
    },
    /// The hardware does not take so many cubes at once.
    #[error("{frames} frames at once: the configuration {config} takes {most}")]
    Batch {
        /// The configuration.
        config: String,
        /// Frames.
        frames: u32,
        /// Number of frames that the configuration takes.
        most: u32,
    },
    /// The hardware was built without what a layer needs.
    #[error("layer `{layer}` needs {unit}, and the configuration {config} has none ({parameter} = false)")]
    NoUnit {
        /// The layer.
        layer: String,
        /// The unit, or stage of one.
        unit: &'static str,
        /// The configuration.
        config: String,
        /// Parameter of the configuration that leaves the unit out.
        parameter: &'static str,
    },
    /// The hardware computes in other formats.
    #[error(
        "precision = \"{precision}\": the configuration {config} does not compute it; built-in ones that do: {}",
        built_in(|config| config.computes(*precision))
    )]
    NoFormat {
        /// The configuration.
        config: String,
        /// The network's format.
        precision: Precision,
    },
}

impl PlanError {
    /// Returns the name of the layer that is refused for what it is.
    pub fn layer(&self) -> Option<&str> {
        match self {
            PlanError::ConvolutionBuffer { layer, .. }
            | PlanError::NoOperation { layer, .. }
            | PlanError::Program { layer, .. }
            | PlanError::PoolingWindow { layer, .. }
            | PlanError::Register { layer, .. }
            | PlanError::NoUnit { layer, .. } => Some(layer),
            _ => None,
        }
    }

    /// The line of the network's file that asks for what cannot be: of a key where one is to blame, else the layer's.
    pub fn line(&self, network: &Network) -> Option<usize> {
        match self {
            PlanError::NoSram { line, .. }
            | PlanError::SramRoom { line, .. }
            | PlanError::OnTheFly { line, .. }
            | PlanError::Contradiction { line, .. } => *line,
            PlanError::NoFormat { .. } => network.lines.precision,
            PlanError::ConvolutionBuffer { layer, .. }
            | PlanError::Slice { layer, .. }
            | PlanError::NoOperation { layer, .. }
            | PlanError::Program { layer, .. }
            | PlanError::PoolingWindow { layer, .. }
            | PlanError::Register { layer, .. }
            | PlanError::NoUnit { layer, .. } => network.line_of(layer),
            PlanError::Output { .. }
            | PlanError::Memory { .. }
            | PlanError::NoBdma { .. }
            | PlanError::Batch { .. } => None,
        }
    }
}

/// The key of a layer from which a register's field follows, as the beginning of a message.
fn key_of(refused: &Refused) -> &'static str {
    const KEYS: [(&[&str], &str); 7] = [
        (&["CONV_X_STRIDE", "CONV_Y_STRIDE", "KERNEL_STRIDE"], "stride: "),
        (&["KERNEL_WIDTH", "KERNEL_HEIGHT", "WEIGHT_WIDTH", "WEIGHT_HEIGHT"], "kernel: "),
        (&["X_DILATION", "Y_DILATION"], "dilation: "),
        (&["LUT_"], "look_up: "),
        (&["PAD_"], "padding: "),
        (&["CVT_", "DATOUT_"], "converter: "),
        (&["CLIP_TRUNCATE"], "truncate: "),
    ];
    let is_of = |fields: &[&str]| fields.iter().any(|field| refused.field.name.starts_with(field));
    KEYS.iter().find(|(fields, _)| is_of(fields)).map_or("", |(_, key)| key)
}

/// The names of the built-in configurations that have something.
fn built_in(has: impl Fn(&Config) -> bool) -> String {
    let of = |name: &&str| Config::named(name).is_ok_and(|config| has(&config));
    Config::NAMES.into_iter().filter(of).collect::<Vec<_>>().join(", ")
}

/// The end of a message about what a parameter leaves out: the built-in configurations that have it.
fn having(parameter: &str) -> String {
    let has = |config: &Config| {
        let parameters = toml::Table::try_from(config).unwrap_or_default();
        parameters.get(parameter).and_then(toml::Value::as_bool).unwrap_or(false)
    };
    format!("; built-in ones that have it: {}", built_in(has))
}

/// Reason for which there are no figures of a network on a platform.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeasureError {
    /// The platform cannot be built.
    #[error(transparent)]
    Platform(#[from] DescriptionError),
    /// The platform carries another device.
    #[error("the platform carries no NVDLA")]
    NoNvdla,
    /// The platform has no room for the network.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The network did not run to its end.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Reason for which a network did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The platform could not do what was asked, or raised an interrupt that no layer under way raises.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The platform warned, as it does when it refuses a layer.
    #[error("the platform warned: {0}")]
    Warned(Warning),
    /// A graph of tensors could not be evaluated.
    #[error("layer `{layer}`: {error}")]
    Evaluation {
        /// The layer.
        layer: String,
        /// Reason for which it could not.
        error: Box<GraphError>,
    },
    /// An input has another size than the network's.
    #[error("the input has {} elements instead of {}", grouped(found), grouped(expected))]
    Input {
        /// Elements it has.
        found: usize,
        /// Elements of the network's input.
        expected: usize,
    },
}
