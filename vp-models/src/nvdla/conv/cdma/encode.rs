//! The registers of CDMA that say a layer: the inverse of [`CdmaLayer::decode`].

use super::feature::Feature;
use super::image::Image;
use super::layer::{CdmaLayer, Compressed, Input};
use super::winograd::Winograd;
use crate::nvdla::conv::hardware::Hardware;
use crate::nvdla::cube::{Packing, Ram};
use crate::nvdla::encode::{self, Encoded, Fields};
use crate::nvdla::numeric::{Converter, Precision};
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{RegisterMap, Unit, cdma as reg};

/// Values that each kind of input gives to the registers that all kinds share.
#[derive(Default)]
struct InputFields {
    format: Precision,
    /// Pixels in a line, lines, channels.
    size: [u32; 3],
    ram: Ram,
    base: u64,
    line_stride: u32,
    surface_stride: u32,
    /// Lines, and surfaces, lie back to back.
    packed: [bool; 2],
    cubes: u32,
    grain: u32,
    converter: Option<Converter>,
    step: [u32; 2],
    /// Left, above, right, below.
    padding: [u32; 4],
    padding_value: i16,
    nan_to_zero: bool,
}

impl CdmaLayer {
    /// Returns the layer's registers in groups, all but the enable. Steps and padding of features belong to CSC: here they are
    /// 1 and none, and nothing reads them.
    pub fn fields(&self) -> Encoded {
        let mut all = Encoded::of(Unit::Cdma, self.common());
        if let Some(batches) = self.batches() {
            all = all.and(Encoded::of(Unit::Cdma, batches));
        }
        if let Input::Image(image) = &self.input {
            all = all.and(Encoded::of(Unit::Cdma, pixels(image)));
        }
        match &self.weights.compressed {
            Some(compressed) => all.and(Encoded::of(Unit::Cdma, beside_weights(compressed))),
            None => all,
        }
    }

    /// Returns the registers of [`CdmaLayer::fields`], checked: the inverse of [`CdmaLayer::decode`].
    ///
    /// # Errors
    /// When it cannot be said, or would be refused.
    pub fn encode(&self, map: RegisterMap, hardware: &Hardware) -> Result<Encoded, Refused> {
        let fields = self.fields();
        let group = fields.group(Unit::Cdma, map)?;
        if self.precision != Precision::Int8 {
            hardware.precision(&group, reg::D_MISC_CFG::PROC_PRECISION)?;
        }
        let decoded = CdmaLayer::decode(&group, hardware);
        encode::check(self, decoded, (&group, reg::D_MISC_CFG::PROC_PRECISION))?;
        Ok(fields)
    }

    fn common(&self) -> Fields {
        use reg::{
            D_BANK::*, D_BATCH_NUMBER::*, D_CONV_STRIDE::*, D_CVT_CFG::*, D_CVT_OFFSET::*, D_CVT_SCALE::*,
            D_DAIN_ADDR_HIGH_0::*, D_DAIN_ADDR_LOW_0::*, D_DAIN_MAP::*, D_DAIN_RAM_TYPE::*,
            D_DATAIN_FORMAT::*, D_DATAIN_SIZE_0::*, D_DATAIN_SIZE_1::*, D_ENTRY_PER_SLICE::*,
            D_FETCH_GRAIN::*, D_LINE_STRIDE::*, D_MISC_CFG::*, D_NAN_FLUSH_TO_ZERO::*, D_SURF_STRIDE::*,
            D_WEIGHT_ADDR_HIGH::*, D_WEIGHT_ADDR_LOW::*, D_WEIGHT_BYTES::*, D_WEIGHT_FORMAT::*,
            D_WEIGHT_RAM_TYPE::*, D_WEIGHT_SIZE_0::*, D_WEIGHT_SIZE_1::*, D_ZERO_PADDING::*,
            D_ZERO_PADDING_VALUE::*,
        };
        let (input, weights) = (self.input.fields(), &self.weights);
        let ([width, height, channels], [left, top, right, bottom]) = (input.size, input.padding);
        let mut fields: Fields = vec![
            (CONV_MODE, matches!(self.input, Input::Winograd(_)).into()),
            (IN_PRECISION, input.format.code()),
            (PROC_PRECISION, self.converted.code()),
            (DATA_REUSE, self.reuse.data.into()),
            (WEIGHT_REUSE, self.reuse.weight.into()),
            (SKIP_DATA_RLS, self.reuse.keep_data.into()),
            (SKIP_WEIGHT_RLS, self.reuse.keep_weight.into()),
            (DATAIN_FORMAT, self.input.is_image().into()),
            (DATAIN_WIDTH, width),
            (DATAIN_HEIGHT, height),
            (DATAIN_CHANNEL, channels),
            (DATAIN_RAM_TYPE, input.ram.field()),
            (DATAIN_ADDR_LOW_0, input.base as u32),
            (DATAIN_ADDR_HIGH_0, (input.base >> 32) as u32),
            (LINE_STRIDE, input.line_stride),
            (SURF_STRIDE, input.surface_stride),
            (LINE_PACKED, input.packed[0].into()),
            (SURF_PACKED, input.packed[1].into()),
            (BATCHES, input.cubes),
            (ENTRIES, self.entries / input.cubes.max(1)),
            (GRAINS, input.grain),
            (WEIGHT_FORMAT, weights.compressed.is_some().into()),
            (BYTE_PER_KERNEL, weights.kernel_bytes),
            (WEIGHT_KERNEL, weights.kernels),
            (WEIGHT_RAM_TYPE, weights.ram.field()),
            (WEIGHT_ADDR_LOW, weights.base as u32),
            (WEIGHT_ADDR_HIGH, (weights.base >> 32) as u32),
            (WEIGHT_BYTES, weights.bytes),
            (CVT_EN, input.converter.is_some().into()),
        ];
        if let Some(Converter { offset, scale, shift }) = input.converter {
            fields.extend([
                (CVT_TRUNCATE, shift.into()),
                (CVT_OFFSET, offset as u32),
                (CVT_SCALE, i32::from(scale) as u32),
            ]);
        }
        fields.extend([
            (CONV_X_STRIDE, input.step[0]),
            (CONV_Y_STRIDE, input.step[1]),
            (PAD_LEFT, left),
            (PAD_TOP, top),
            (PAD_RIGHT, right),
            (PAD_BOTTOM, bottom),
            (PAD_VALUE, i32::from(input.padding_value) as u32),
            (DATA_BANK, self.banks.data),
            (WEIGHT_BANK, self.banks.weight),
        ]);
        if let Input::Winograd(extended) = &self.input {
            use reg::D_DATAIN_SIZE_EXT_0::{DATAIN_HEIGHT_EXT, DATAIN_WIDTH_EXT};
            fields.extend([(DATAIN_WIDTH_EXT, extended.width()), (DATAIN_HEIGHT_EXT, extended.height())]);
        }
        // It counts in fp16 only.
        if input.nan_to_zero || self.precision == Precision::Fp16 {
            fields.push((NAN_TO_ZERO, input.nan_to_zero.into()));
        }
        fields
    }

    /// Returns the register of the distance from cube to cube, if there are several.
    fn batches(&self) -> Option<Fields> {
        let Input::Feature(Feature { cubes, cube_stride, .. }) = self.input else { return None };
        (cubes > 1 || cube_stride > 0).then(|| vec![(reg::D_BATCH_STRIDE::BATCH_STRIDE, cube_stride)])
    }
}

impl Input {
    fn fields(&self) -> InputFields {
        match self {
            Input::Feature(feature) => feature_fields(feature),
            Input::Winograd(extended) => {
                let &Winograd { ref feature, left, right, top, bottom, padding, step } = extended;
                InputFields {
                    step,
                    padding: [left, top, right, bottom],
                    padding_value: padding,
                    ..feature_fields(feature)
                }
            }
            Input::Image(image) => InputFields {
                format: match (image.format.is_float(), image.format.element_bytes()) {
                    (true, _) => Precision::Fp16,
                    (false, 1) => Precision::Int8,
                    (false, _) => Precision::Int16,
                },
                size: [image.width, image.height, image.format.channels()],
                ram: image.ram,
                base: image.bases[0],
                line_stride: image.strides[0],
                cubes: 1,
                grain: 1,
                converter: image.converters.map(|of_channels| match is_mean(&of_channels) {
                    true => Converter { offset: 0, ..of_channels[0] },
                    false => of_channels[0],
                }),
                step: [1, 1],
                padding: [image.left, 0, image.right, 0],
                padding_value: image.padding,
                nan_to_zero: image.nan_to_zero,
                ..InputFields::default()
            },
        }
    }
}

fn feature_fields(feature: &Feature) -> InputFields {
    let surface = &feature.surface;
    let back_to_back = surface.line_stride == feature.width.wrapping_mul(surface.pixel);
    InputFields {
        format: feature.format,
        size: [feature.width, feature.height, feature.channels],
        ram: surface.ram,
        base: surface.base,
        line_stride: surface.line_stride,
        surface_stride: surface.surface_stride,
        packed: [back_to_back || feature.grain > 1, surface.packing == Packing::Packed],
        cubes: feature.cubes,
        grain: feature.grain,
        converter: feature.converter,
        step: [1, 1],
        nan_to_zero: feature.nan_to_zero,
        ..InputFields::default()
    }
}

/// Returns true if channels have offsets of their own, which are the mean's registers.
fn is_mean(of_channels: &[Converter; 4]) -> bool {
    of_channels.iter().any(|converter| converter.offset != of_channels[0].offset)
}

/// Returns the registers of an image's pixels. A register is written as a whole, so what it shares with the common fields comes once more.
fn pixels(image: &Image) -> Fields {
    use reg::{
        D_DAIN_ADDR_HIGH_1::*, D_DAIN_ADDR_LOW_1::*, D_DATAIN_FORMAT::*, D_LINE_UV_STRIDE::*,
        D_MEAN_FORMAT::*, D_MEAN_GLOBAL_0::*, D_MEAN_GLOBAL_1::*, D_PIXEL_OFFSET::*,
    };
    let mean = image.converters.filter(is_mean);
    let mut fields: Fields = vec![
        (DATAIN_FORMAT, 1),
        (PIXEL_FORMAT, image.format.code()),
        (PIXEL_MAPPING, 0),
        (PIXEL_SIGN_OVERRIDE, image.signed.into()),
        (PIXEL_X_OFFSET, image.x_offset),
        (MEAN_FORMAT, mean.is_some().into()),
    ];
    if let Some(of_channels) = mean {
        let offsets = of_channels.map(|converter| u32::from(converter.offset as u16));
        fields.extend([MEAN_RY, MEAN_GU, MEAN_BV, MEAN_AX].into_iter().zip(offsets));
    }
    // The second plane's, if there is one.
    let (base, stride) = (image.bases[1], image.strides[1]);
    if base > 0 || stride > 0 || image.format.pixel_bytes()[1] > 0 {
        fields.extend([
            (DATAIN_ADDR_LOW_1, base as u32),
            (DATAIN_ADDR_HIGH_1, (base >> 32) as u32),
            (UV_LINE_STRIDE, stride),
        ]);
    }
    fields
}

/// Returns the registers that place what lies beside compressed weights. The arbiter's shares are no layer's own: they are written where
/// they are not those after a reset.
fn beside_weights(compressed: &Compressed) -> Fields {
    use reg::{
        D_WGS_ADDR_HIGH::*, D_WGS_ADDR_LOW::*, D_WMB_ADDR_HIGH::*, D_WMB_ADDR_LOW::*, D_WMB_BYTES::*,
        S_ARBITER::*,
    };
    let &Compressed { mask_base, mask_bytes, sizes_base, turns } = compressed;
    let mut fields: Fields = vec![
        (WMB_ADDR_LOW, mask_base as u32),
        (WMB_ADDR_HIGH, (mask_base >> 32) as u32),
        (WMB_BYTES, mask_bytes),
        (WGS_ADDR_LOW, sizes_base as u32),
        (WGS_ADDR_HIGH, (sizes_base >> 32) as u32),
    ];
    if turns != Compressed::TURNS {
        fields.extend([ARB_WEIGHT, ARB_WMB].into_iter().zip(turns.map(|turns| turns.wrapping_sub(1))));
    }
    fields
}

#[cfg(test)]
mod tests;
