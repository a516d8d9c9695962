//! CDP and CDP_RDMA.

use crate::network::description::{Normalisation, Shape};
use crate::network::layout::CubePlace;
use vp_models::nvdla::cdp::layer::CdpLayer;
use vp_models::nvdla::cdp::lut::{LeIndex, Priorities, Range, Settings, Slope, Tables};
use vp_models::nvdla::numeric::{Converter, Precision};
use vp_models::nvdla::registers::Table;

/// A normalisation from memory to memory.
pub(in super::super) fn normalisation(
    shape: Shape,
    layer: &Normalisation,
    [source, destination]: [CubePlace; 2],
    (precision, atom): (Precision, u32),
) -> CdpLayer {
    CdpLayer {
        atom: atom as usize,
        width: shape.width,
        height: shape.height,
        channels: shape.channels,
        precision,
        nan_to_zero: false,
        reach: layer.channels / 2,
        square_sum: true,
        multiply: true,
        input: Converter::IDENTITY,
        output: layer.converter.of_hardware(),
        lut: settings(layer, precision),
        source: source.surface(atom),
        destination: destination.surface(atom),
    }
}

/// LE holds the near answers and counts where both do; LO the far ones, and counts beyond.
fn settings(layer: &Normalisation, precision: Precision) -> Settings {
    let select = |step: u32| i8::try_from(step).unwrap_or(i8::MAX);
    let range = |intervals: i64, step: u32| Range {
        start: 0,
        end: match precision {
            // A code of binary32, as the sums are.
            Precision::Fp16 => (intervals as f32 * (step as f32).exp2()).to_bits().into(),
            _ => intervals.checked_shl(step).unwrap_or(i64::MAX),
        },
        underflow: Slope::default(),
        overflow: Slope::default(),
    };
    Settings {
        le_index: LeIndex::Linear { select: select(layer.near_step) },
        lo_select: select(layer.far_step),
        le: range(64, layer.near_step),
        lo: range(256, layer.far_step),
        priorities: Priorities { underflow: Table::Le, overflow: Table::Lo, hybrid: Table::Le },
    }
}

/// The answers.
pub(in super::super) fn tables(layer: &Normalisation) -> Tables {
    let mut tables = Tables::default();
    tables.le.iter_mut().zip(&layer.near).for_each(|(entry, value)| *entry = *value);
    tables.lo.iter_mut().zip(&layer.far).for_each(|(entry, value)| *entry = *value);
    tables
}
