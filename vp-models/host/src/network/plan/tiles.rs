//! Parts of a convolution by Winograd's method, and whether they are preferred to the direct ones.

use super::parts::ConvolutionPart;
use super::task::Task;
use super::values::Values;
use crate::network::cut::{self, Work};
use crate::network::description::{Convolution, Network, NetworkLayer, Scales, Winograd};
use crate::network::layout::{Form, WeightShape};
use crate::network::winograd::{self, NoWinograd, Scaling};
use vp_models::nvdla::config::Config;

/// The parts of a convolution by Winograd's method, or the reason why the direct one stays.
pub(super) fn by_winograd(
    network: &Network,
    values: &Values,
    (layer, direct): (&NetworkLayer, &Task),
    convolution: &Convolution,
    config: &Config,
) -> Result<Vec<ConvolutionPart>, NoWinograd> {
    let chosen = network.choices.winograd;
    if let Some(obstacle) = winograd::obstacle(layer, convolution, config) {
        return Err(obstacle);
    }
    if !matches!(values.of_source(layer.sources[0]).tensor.form, Form::Features { .. }) {
        return Err(NoWinograd::Image);
    }
    if direct.cubes > 1 {
        return Err(NoWinograd::Batch);
    }
    // A pooling cannot take tiles on the fly. As a layer of its own it reads all of them from memory again, at a latency that a plan does
    // not know: that is given away only where the network's file asks for it.
    if chosen == Winograd::Auto && direct.pooling.is_some() {
        return Err(NoWinograd::Pooling);
    }
    let part = |direct: &ConvolutionPart| tiles_part(network, layer, convolution, direct, config);
    let parts = direct.parts.iter().map(part).collect::<Option<Vec<_>>>();
    let mut parts = parts.ok_or(NoWinograd::Buffer)?;
    let [tiles, lines] =
        [&parts, &direct.parts].map(|parts| parts.iter().map(|part| part.cycles(layer, config)).sum::<u64>());
    if !chosen.prefers(tiles, lines) {
        return Err(NoWinograd::Slower);
    }
    // All kernels are transformed for it: only of what is chosen.
    let scaling = Scaling::of(convolution, network.precision);
    if let Some(Scales { shift, .. }) = convolution.scales
        && shift < scaling.missing
    {
        return Err(NoWinograd::Scales { shift, missing: scaling.missing });
    }
    parts.iter_mut().for_each(|part| part.winograd = Some(scaling));
    Ok(parts)
}

/// A part by Winograd's method, if the convolution buffer holds it; how its sums are is not known yet.
fn tiles_part(
    network: &Network,
    layer: &NetworkLayer,
    convolution: &Convolution,
    direct: &ConvolutionPart,
    config: &Config,
) -> Option<ConvolutionPart> {
    let (precision, element) = (network.precision, network.precision.bytes() as u32);
    // Whole atoms, which there are in memory.
    let count = (direct.channels.len() as u32).next_multiple_of(config.lanes(precision));
    let channels = direct.channels.start..direct.channels.start + count;
    let places = winograd::PLACES as u32;
    let weights =
        WeightShape { rows: places, columns: 1, channels: count, rows_at_once: places, ..direct.weights };
    let [columns, outputs] = winograd::room(layer.output);
    let line = (columns + winograd::MORE) * count * element;
    let entries = line.div_ceil(config.cbuf_entry_bytes());
    let work = Work {
        height: layer.input.height,
        entries,
        line_bytes: u64::from(count * element) * u64::from(layer.input.width),
        window: convolution.window,
        outputs,
        weights,
        // Few transformed weights are zero.
        kept: None,
        tiles: true,
        least_lines: winograd::MULTIPLE,
    };
    let cuts = cut::cuts(&work, config).ok()?;
    let kernels = direct.kernels.clone();
    Some(ConvolutionPart {
        channels,
        kernels,
        pixels: None,
        entries,
        weights,
        cuts,
        winograd: Some(Scaling::default()),
    })
}

#[cfg(test)]
mod tests {
    use crate::network::{Network, Plan, PlanStep, Work};
    use vp_models::nvdla::config::Config;
    use vp_models::nvdla::registers::Unit;

    /// Thirteen columns and lines, in cubes of 32 channels: one surface each.
    const LAYERS: &str = "name = 'n'\nseed = 3\nwinograd = 'always'\ninput = { width = 13, height = 13, channels = 32 }\n\
        [[layer]]\nname = 'tiles'\nkind = 'convolution'\nkernels = 32\nkernel = [3, 3]\npadding = [1, 1]\n\
        [[layer]]\nname = 'direct'\nkind = 'convolution'\nkernels = 32\nkernel = [1, 1]\n\
        [[layer]]\nname = 'sum'\nkind = 'convolution'\nkernels = 32\nkernel = [3, 3]\npadding = [1, 1]\n\
        input = 'tiles'\nadd = { layer = 'direct' }\n\
        [[layer]]\nname = 'mean'\nkind = 'pooling'\nmethod = 'average'\nkernel = [3, 3]\nstride = [1, 1]\npadding = [1, 1]\n\
        [[layer]]\nname = 'beside'\nkind = 'convolution'\nkernels = 32\nkernel = [3, 3]\npadding = [1, 1]\ninput = 'sum'\n\
        [[layer]]\nname = 'both'\nkind = 'concatenation'\ninputs = ['mean', 'beside']\n\
        [[layer]]\nname = 'last'\nkind = 'convolution'\nkernels = 32\nkernel = [1, 1]\n";

    fn register(plan: &Plan, layer: &str, unit: Unit, register: &str) -> u32 {
        let of_layer = |step: &&PlanStep| step.name == layer;
        let Some(PlanStep { work: Work::Hardware { program, .. }, .. }) = plan.steps.iter().find(of_layer)
        else {
            panic!("{layer} is no hardware's")
        };
        let is_it = |write: &&crate::program::Write| write.unit == unit && write.register.name == register;
        program.writes.iter().find(is_it).unwrap_or_else(|| panic!("{layer}: {register}")).value
    }

    #[test]
    fn whoever_meets_a_cube_with_room_for_whole_tiles_goes_by_its_strides() {
        let network = Network::parse(LAYERS, &mut |_| Err("none".to_owned())).unwrap();
        let plan = Plan::new(&network, &Config::named("nv_full").unwrap(), 0x8000_0000..0x9000_0000).unwrap();
        let strides = |layer: &str, unit: Unit, prefix: &str| {
            ["LINE_STRIDE", "SURF_STRIDE"].map(|of| register(&plan, layer, unit, &format!("{prefix}{of}")))
        };
        let [own, room] = [13, 16].map(|size| [size * 32, size * size * 32]);
        // The network's input is nobody's tiles; what is added comes in whole tiles, too.
        for (layer, read, written) in [
            ("tiles", own, room),
            ("direct", room, room),
            ("sum", room, room),
            ("beside", room, room),
            ("last", room, own),
        ] {
            assert_eq!(strides(layer, Unit::Cdma, "D_"), read, "{layer} reads");
            let of_sdp = ["LINE", "SURFACE"]
                .map(|of| register(&plan, layer, Unit::Sdp, &format!("D_DST_{of}_STRIDE")));
            assert_eq!(of_sdp, written, "{layer} writes");
        }
        let of = |unit: Unit, layer: &str, prefix: &str| {
            ["LINE", "SURFACE"].map(|of| register(&plan, layer, unit, &format!("{prefix}_{of}_STRIDE")))
        };
        assert_eq!(of(Unit::SdpRdma, "sum", "D_BN"), room);
        // A part that is no convolution's lies as the whole does.
        assert_eq!([of(Unit::PdpRdma, "mean", "D_SRC"), of(Unit::Pdp, "mean", "D_DST")], [room; 2]);
        let bytes = |name: &str| plan.tensors.iter().find(|tensor| tensor.name == name).unwrap().bytes;
        assert_eq!(["input", "tiles", "direct", "both", "last"].map(bytes), [5408, 8192, 8192, 16384, 5408]);
        // What SDP makes, and what is multiplied: whole tiles.
        assert_eq!(register(&plan, "tiles", Unit::Sdp, "D_DATA_CUBE_WIDTH"), 15);
        assert_eq!(register(&plan, "direct", Unit::Sdp, "D_DATA_CUBE_WIDTH"), 12);
        let products = |layer: &str| plan.steps.iter().find(|step| step.name == layer).unwrap().mac_cycles;
        assert_eq!(products("tiles"), 16 * 16 / 4 * 16 * 32 / 64);
    }

    #[test]
    fn without_the_method_no_cube_has_room() {
        let network =
            Network::parse(&LAYERS.replace("always", "never"), &mut |_| Err(String::new())).unwrap();
        let plan = Plan::new(&network, &Config::named("nv_full").unwrap(), 0x8000_0000..0x9000_0000).unwrap();
        let atoms = |name: &str| plan.tensors.iter().find(|tensor| tensor.name == name).unwrap().bytes / 32;
        assert_eq!(
            ["input", "tiles", "direct", "sum", "both", "last"].map(atoms),
            [169, 169, 169, 169, 338, 169]
        );
    }
}
