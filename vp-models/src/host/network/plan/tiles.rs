//! Parts of a convolution by Winograd's method, and whether they are preferred to the direct ones.

use super::operations::Task;
use super::parts::Part;
use super::values::Values;
use crate::host::network::cut::{self, Work};
use crate::host::network::description::{Convolution, Network, NetworkLayer, Winograd};
use crate::host::network::layout::{Form, WeightShape};
use crate::host::network::winograd::{self, Scaling};
use crate::nvdla::config::Config;

/// The parts of a convolution by Winograd's method, if it is preferred to the direct one.
pub(super) fn by_winograd(
    network: &Network,
    values: &Values,
    (layer, direct): (&NetworkLayer, &Task),
    convolution: &Convolution,
    config: &Config,
) -> Option<Vec<Part>> {
    let chosen = network.choices.winograd;
    let features = matches!(values.of_source(layer.sources[0]).tensor.form, Form::Features { .. });
    let right = features && direct.cubes == 1 && winograd::is_possible(layer, convolution, config);
    // A pooling cannot take tiles on the fly. As a layer of its own it reads all of them from memory again, at a latency that a plan does
    // not know: that is given away only where the network's file asks for it.
    let keeps_pooling = chosen == Winograd::Auto && direct.pooling.is_some();
    if chosen == Winograd::Never || !right || keeps_pooling {
        return None;
    }
    let scaling = Scaling::of(convolution, network.precision);
    let part = |direct: &Part| tiles_part(network, layer, convolution, direct, scaling, config);
    let parts = direct.parts.iter().map(part).collect::<Option<Vec<_>>>()?;
    let [tiles, lines] =
        [&parts, &direct.parts].map(|parts| parts.iter().map(|part| part.cycles(layer, config)).sum::<u64>());
    chosen.prefers(tiles, lines).then_some(parts)
}

/// A part by Winograd's method, if the convolution buffer holds it.
fn tiles_part(
    network: &Network,
    layer: &NetworkLayer,
    convolution: &Convolution,
    direct: &Part,
    scaling: Scaling,
    config: &Config,
) -> Option<Part> {
    let (precision, element) = (network.precision, network.precision.bytes() as u32);
    // Whole atoms, which there are in memory.
    let count = (direct.channels.len() as u32).next_multiple_of(config.lanes(precision));
    let channels = direct.channels.start..direct.channels.start + count;
    let places = winograd::PLACES as u32;
    let weights =
        WeightShape { rows: places, columns: 1, channels: count, rows_at_once: places, ..direct.weights };
    let line = (layer.output.width + winograd::MORE) * count * element;
    let entries = line.div_ceil(config.cbuf_entry_bytes());
    let work = Work {
        height: layer.input.height,
        entries,
        line_bytes: u64::from(count * element) * u64::from(layer.input.width),
        window: convolution.window,
        outputs: layer.output.height,
        weights,
        // Few transformed weights are zero.
        kept: None,
        tiles: true,
        least_lines: winograd::MULTIPLE,
    };
    let cuts = cut::cuts(&work, config).ok()?;
    let kernels = direct.kernels.clone();
    Some(Part { channels, kernels, pixels: None, entries, weights, cuts, winograd: Some(scaling) })
}
