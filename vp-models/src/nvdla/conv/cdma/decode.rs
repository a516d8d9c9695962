//! Decoding of CDMA's registers into a layer, by the kind of input: features, images, cubes for Winograd's method; and the additional
//! data of compressed weights.

use super::feature::Feature;
use super::image::Image;
use super::layer::{CdmaLayer, Compressed, Input, Weights};
use super::pixel::Format;
use super::winograd::Winograd;
use crate::nvdla::conv::buffer::{Banks, Reuse};
use crate::nvdla::conv::hardware::Hardware;
use crate::nvdla::cube::{Packing, Ram};
use crate::nvdla::formats::Formats;
use crate::nvdla::numeric::{Converter, Precision};
use crate::nvdla::place::{self, LowBits, PlaceFields};
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{Group, cdma as reg};

impl CdmaLayer {
    /// Decodes and checks a group.
    pub fn decode(group: &Group, hardware: &Hardware) -> Result<CdmaLayer, Refused> {
        use reg::D_MISC_CFG as misc;
        let refuse = |field, why: String| Err(Refused::new(group, field, why));
        let lacks = |field, why| Err(Refused::lacking(group, field, why));
        let (precision, converted) = precisions(group, hardware)?;
        let is_image = group.flag(reg::D_DATAIN_FORMAT::DATAIN_FORMAT);
        let (winograd, cubes) = (group.flag(misc::CONV_MODE), group.actual(reg::D_BATCH_NUMBER::BATCHES));
        if winograd && !hardware.winograd {
            return lacks(misc::CONV_MODE, "this configuration has no Winograd");
        }
        if cubes > hardware.batches {
            let why = "this configuration does not take so many cubes at once";
            return lacks(reg::D_BATCH_NUMBER::BATCHES, why);
        }
        if cubes > 1 && (winograd || is_image) {
            let why = "images, and with Winograd cubes, come one at a time (0)";
            return refuse(reg::D_BATCH_NUMBER::BATCHES, why.into());
        }
        if winograd && is_image {
            let why = "Winograd takes features (0)";
            return refuse(reg::D_DATAIN_FORMAT::DATAIN_FORMAT, why.into());
        }
        let layer = CdmaLayer {
            atom: hardware.atom,
            precision,
            converted,
            input: if winograd {
                Input::Winograd(extended(group, hardware, precision)?)
            } else if is_image {
                Input::Image(image(group, hardware, precision)?)
            } else {
                Input::Feature(feature(group, hardware, precision)?)
            },
            entries: group.actual(reg::D_ENTRY_PER_SLICE::ENTRIES) * cubes,
            weights: Weights {
                ram: Ram::from_field(group.get(reg::D_WEIGHT_RAM_TYPE::WEIGHT_RAM_TYPE)),
                base: group.address(
                    reg::D_WEIGHT_ADDR_LOW::WEIGHT_ADDR_LOW,
                    reg::D_WEIGHT_ADDR_HIGH::WEIGHT_ADDR_HIGH,
                ) & !(u64::from(hardware.atom) - 1),
                bytes: group.actual(reg::D_WEIGHT_BYTES::WEIGHT_BYTES),
                kernel_bytes: group.actual(reg::D_WEIGHT_SIZE_0::BYTE_PER_KERNEL),
                kernels: group.actual(reg::D_WEIGHT_SIZE_1::WEIGHT_KERNEL),
                compressed: compressed(group, hardware)?,
            },
            banks: Banks {
                data: group.actual(reg::D_BANK::DATA_BANK),
                weight: group.actual(reg::D_BANK::WEIGHT_BANK),
            },
            reuse: Reuse {
                data: group.flag(misc::DATA_REUSE),
                weight: group.flag(misc::WEIGHT_REUSE),
                keep_data: group.flag(misc::SKIP_DATA_RLS),
                keep_weight: group.flag(misc::SKIP_WEIGHT_RLS),
            },
        };
        layer.check_room(group, hardware)?;
        Ok(layer)
    }

    /// Returns the errors in the registers that place input and weights, each as a sentence, as far as these are read.
    pub(super) fn unaligned(&self, group: &Group, [reads_data, reads_weights]: [bool; 2]) -> Vec<String> {
        let mut all = match &self.input {
            _ if !reads_data => Vec::new(),
            Input::Feature(feature) | Input::Winograd(Winograd { feature, .. }) => {
                unaligned_feature(group, feature)
            }
            Input::Image(image) => unaligned_image(group, image),
        };
        if reads_weights {
            all.extend(unaligned_weights(group, self.atom, self.weights.compressed.is_some()));
        }
        all
    }
}

/// The formats in the buffer, and behind the converter. A converter of builds with int8 alone still saturates to int16, and of
/// that the low byte is taken (RTL, `NV_NVDLA_CDMA_CVT_cell`, `chn_dout`; `NV_NVDLA_CDMA_cvt`, `cvt_data_cell`).
fn precisions(group: &Group, hardware: &Hardware) -> Result<(Precision, Precision), Refused> {
    let field = reg::D_MISC_CFG::PROC_PRECISION;
    let to_int16 = group.flag(reg::D_CVT_CFG::CVT_EN) && group.get(field) == Precision::Int16.code();
    if hardware.formats == Formats::INT8 && to_int16 {
        return Ok((Precision::Int8, Precision::Int16));
    }
    let precision = hardware.precision(group, field)?;
    Ok((precision, precision))
}

/// Decodes what is read beside the weights, if they are compressed.
fn compressed(group: &Group, hardware: &Hardware) -> Result<Option<Compressed>, Refused> {
    use reg::{D_WEIGHT_FORMAT::WEIGHT_FORMAT, S_ARBITER};
    if !group.flag(WEIGHT_FORMAT) {
        return Ok(None);
    }
    if !hardware.compression {
        return Err(Refused::lacking(group, WEIGHT_FORMAT, "this configuration has no weight compression"));
    }
    let atoms = !(u64::from(hardware.atom) - 1);
    Ok(Some(Compressed {
        mask_base: group.address(reg::D_WMB_ADDR_LOW::WMB_ADDR_LOW, reg::D_WMB_ADDR_HIGH::WMB_ADDR_HIGH)
            & atoms,
        mask_bytes: group.actual(reg::D_WMB_BYTES::WMB_BYTES),
        sizes_base: group.address(reg::D_WGS_ADDR_LOW::WGS_ADDR_LOW, reg::D_WGS_ADDR_HIGH::WGS_ADDR_HIGH)
            & atoms,
        turns: [S_ARBITER::ARB_WEIGHT, S_ARBITER::ARB_WMB].map(|field| group.get(field) + 1),
    }))
}

const FEATURE: PlaceFields = PlaceFields {
    ram: reg::D_DAIN_RAM_TYPE::DATAIN_RAM_TYPE,
    base: [reg::D_DAIN_ADDR_LOW_0::DATAIN_ADDR_LOW_0, reg::D_DAIN_ADDR_HIGH_0::DATAIN_ADDR_HIGH_0],
    line_stride: reg::D_LINE_STRIDE::LINE_STRIDE,
    surface_stride: reg::D_SURF_STRIDE::SURF_STRIDE,
};

/// Returns the errors in the registers that place a cube, each as a sentence.
fn unaligned_feature(group: &Group, feature: &Feature) -> Vec<String> {
    let surfaces = feature.channels.div_ceil(feature.lanes.max(1));
    let low_bits = LowBits::OfRegisters;
    let mut all = FEATURE.unaligned(group, &feature.surface, (feature.height, surfaces), low_bits);
    if feature.cubes > 1 {
        let stride = reg::D_BATCH_STRIDE::BATCH_STRIDE;
        all.extend(place::unaligned(group, stride, feature.surface.atom, low_bits));
    }
    all
}

/// Returns the errors in the registers that place an image and its first pixel, each as a sentence.
fn unaligned_image(group: &Group, image: &Image) -> Vec<String> {
    let first = [reg::D_DAIN_ADDR_LOW_0::DATAIN_ADDR_LOW_0, reg::D_LINE_STRIDE::LINE_STRIDE];
    let second = [reg::D_DAIN_ADDR_LOW_1::DATAIN_ADDR_LOW_1, reg::D_LINE_UV_STRIDE::UV_LINE_STRIDE];
    let planes = [first, second].into_iter().zip(image.format.pixel_bytes());
    let fields = planes
        .filter(|(_, bytes)| *bytes > 0)
        .flat_map(|([base, stride], _)| [base].into_iter().chain((image.height > 1).then_some(stride)));
    let unaligned = fields.filter_map(|field| place::unaligned(group, field, image.atom, LowBits::OfSums));
    let (field, offset) =
        (reg::D_PIXEL_OFFSET::PIXEL_Y_OFFSET, group.get(reg::D_PIXEL_OFFSET::PIXEL_Y_OFFSET));
    let of_lines = (offset > 0).then(|| {
        format!(
            "CDMA.{field} is {offset}, and nothing reads it (NV_NVDLA_CDMA_IMG_sg): lines are taken from D_DAIN_ADDR_LOW_0 on. Let this \
             point to the first one"
        )
    });
    unaligned.chain(of_lines).collect()
}

/// Returns the errors in the registers that place weights, and what lies beside them if they are compressed, each as a sentence.
fn unaligned_weights(group: &Group, atom: u32, compressed: bool) -> impl Iterator<Item = String> {
    let fields = [
        (reg::D_WEIGHT_ADDR_LOW::WEIGHT_ADDR_LOW, true),
        (reg::D_WMB_ADDR_LOW::WMB_ADDR_LOW, compressed),
        (reg::D_WGS_ADDR_LOW::WGS_ADDR_LOW, compressed),
    ];
    let read = fields.into_iter().filter(|it| it.1);
    read.filter_map(move |(field, _)| place::unaligned(group, field, atom, LowBits::OfRegisters))
}

/// A feature data cube.
fn feature(group: &Group, hardware: &Hardware, precision: Precision) -> Result<Feature, Refused> {
    use reg::{D_CVT_CFG::CVT_EN, D_MISC_CFG::IN_PRECISION};
    let format = hardware.precision(group, IN_PRECISION)?;
    let converts = group.flag(CVT_EN);
    // Elements keep their size, so the converter can but make fp16 of int16.
    if format != precision && !(converts && (format, precision) == (Precision::Int16, Precision::Fp16)) {
        let why = "features have the format of processing, or are converted from int16 to fp16";
        return Err(Refused::new(group, IN_PRECISION, why));
    }
    let (width, height) = size(group);
    let channels = group.actual(reg::D_DATAIN_SIZE_1::DATAIN_CHANNEL);
    // A cube of one pixel with its surfaces back to back is read as one line of atoms.
    let packed = width == 1 && height == 1 && group.flag(reg::D_DAIN_MAP::SURF_PACKED);
    let lines_packed = group.flag(reg::D_DAIN_MAP::LINE_PACKED);
    Ok(Feature {
        surface: FEATURE.surface(
            group,
            (hardware.atom, hardware.atom),
            if packed { Packing::Packed } else { Packing::Strided },
            LowBits::OfRegisters,
        ),
        width,
        height,
        channels,
        lanes: hardware.lanes(precision),
        surfaces_at_once: hardware.surfaces_at_once,
        grain: if lines_packed { group.actual(reg::D_FETCH_GRAIN::GRAINS).min(height) } else { 1 },
        cubes: group.actual(reg::D_BATCH_NUMBER::BATCHES),
        cube_stride: group.actual(reg::D_BATCH_STRIDE::BATCH_STRIDE) & !(hardware.atom - 1),
        format,
        nan_to_zero: nan_to_zero(group, format),
        // fp16 goes around it.
        converter: (converts && format != Precision::Fp16).then(|| converter(group)),
    })
}

/// A cube for Winograd's method: padded here, and spread by steps so that kernels move pixel by pixel.
fn extended(group: &Group, hardware: &Hardware, precision: Precision) -> Result<Winograd, Refused> {
    use reg::{D_CONV_STRIDE as stride, D_ZERO_PADDING as padding};
    let refuse = |field, why| Err(Refused::new(group, field, why));
    let mut feature = feature(group, hardware, precision)?;
    feature.grain = 1;
    // Surfaces count, not whether they are packed.
    feature.surface.packing = Packing::Strided;
    let lanes = hardware.lanes(precision);
    if !feature.channels.is_multiple_of(lanes) {
        let why = format!("Winograd takes a multiple of {lanes}");
        return refuse(reg::D_DATAIN_SIZE_1::DATAIN_CHANNEL, why);
    }
    let extended = Winograd {
        left: group.get(padding::PAD_LEFT),
        right: group.get(padding::PAD_RIGHT),
        top: group.get(padding::PAD_TOP),
        bottom: group.get(padding::PAD_BOTTOM),
        padding: group.get_signed(reg::D_ZERO_PADDING_VALUE::PAD_VALUE) as i16,
        step: [stride::CONV_X_STRIDE, stride::CONV_Y_STRIDE].map(|field| group.actual(field)),
        feature,
    };
    let [columns, lines] = extended.padded();
    let sides = [(padding::PAD_RIGHT, columns, 0), (padding::PAD_BOTTOM, lines, 1)];
    for (field, size, axis) in sides {
        let multiple = 4 * extended.step[axis];
        if !size.is_multiple_of(multiple) {
            return refuse(field, format!("with padding there are {size}, no multiple of {multiple}"));
        }
    }
    // CDMA counts its lines and columns by these, four at a time (RTL, branch nvdlav1, `NV_NVDLA_CDMA_wg.v`, height_ext_total,
    // width_ext_total), and CSC waits for ever for lines beyond them.
    use reg::D_DATAIN_SIZE_EXT_0::{DATAIN_HEIGHT_EXT, DATAIN_WIDTH_EXT};
    for (field, size) in [(DATAIN_WIDTH_EXT, extended.width()), (DATAIN_HEIGHT_EXT, extended.height())] {
        if group.actual(field).next_multiple_of(4) != size {
            return refuse(field, format!("with padding, and in steps of the kernels, there are {size}"));
        }
    }
    Ok(extended)
}

/// An image.
fn image(group: &Group, hardware: &Hardware, precision: Precision) -> Result<Image, Refused> {
    use reg::D_DATAIN_FORMAT::{PIXEL_FORMAT, PIXEL_MAPPING, PIXEL_SIGN_OVERRIDE};
    let format = Format::named(group.get(PIXEL_FORMAT))
        .ok_or_else(|| Refused::new(group, PIXEL_FORMAT, "there is no such format"))?;
    if !format.is_read(hardware.formats) {
        return Err(Refused::lacking(group, PIXEL_FORMAT, "this configuration does not read such pixels"));
    }
    if format.is_float() && precision != Precision::Fp16 {
        return Err(Refused::new(group, PIXEL_FORMAT, "floating-point pixels go with fp16 processing only"));
    }
    if group.flag(PIXEL_MAPPING) {
        return Err(Refused::new(group, PIXEL_MAPPING, "images are pitch-linear (0)"));
    }
    let channel = reg::D_DATAIN_SIZE_1::DATAIN_CHANNEL;
    if group.actual(channel) != format.channels() {
        return Err(Refused::new(
            group,
            channel,
            format!("pixels of this format have {}", format.channels()),
        ));
    }
    let (width, height) = size(group);
    let mean = group.flag(reg::D_MEAN_FORMAT::MEAN_FORMAT);
    let offsets = if mean {
        use reg::{D_MEAN_GLOBAL_0 as first, D_MEAN_GLOBAL_1 as second};
        [first::MEAN_RY, first::MEAN_GU, second::MEAN_BV, second::MEAN_AX]
            .map(|field| group.sign_extended(field))
    } else {
        [group.get_signed(reg::D_CVT_OFFSET::CVT_OFFSET); 4]
    };
    // Nobody looks at the second plane of formats that have one.
    let of_second = |value: u64| if format.pixel_bytes()[1] == 0 { 0 } else { value };
    Ok(Image {
        ram: Ram::from_field(group.get(reg::D_DAIN_RAM_TYPE::DATAIN_RAM_TYPE)),
        bases: [
            group.address(
                reg::D_DAIN_ADDR_LOW_0::DATAIN_ADDR_LOW_0,
                reg::D_DAIN_ADDR_HIGH_0::DATAIN_ADDR_HIGH_0,
            ),
            of_second(group.address(
                reg::D_DAIN_ADDR_LOW_1::DATAIN_ADDR_LOW_1,
                reg::D_DAIN_ADDR_HIGH_1::DATAIN_ADDR_HIGH_1,
            )),
        ],
        strides: [
            group.actual(reg::D_LINE_STRIDE::LINE_STRIDE),
            of_second(group.actual(reg::D_LINE_UV_STRIDE::UV_LINE_STRIDE).into()) as u32,
        ],
        atom: hardware.atom,
        width,
        height,
        format,
        signed: group.flag(PIXEL_SIGN_OVERRIDE),
        x_offset: group.get(reg::D_PIXEL_OFFSET::PIXEL_X_OFFSET),
        left: group.get(reg::D_ZERO_PADDING::PAD_LEFT),
        right: group.get(reg::D_ZERO_PADDING::PAD_RIGHT),
        padding: group.get_signed(reg::D_ZERO_PADDING_VALUE::PAD_VALUE) as i16,
        nan_to_zero: nan_to_zero(group, precision),
        converters: (group.flag(reg::D_CVT_CFG::CVT_EN) && !format.is_float())
            .then(|| offsets.map(|offset| Converter { offset, ..converter(group) })),
    })
}

/// Returns true if what is not a number is brought as 0.
fn nan_to_zero(group: &Group, format: Precision) -> bool {
    format == Precision::Fp16 && group.flag(reg::D_NAN_FLUSH_TO_ZERO::NAN_TO_ZERO)
}

fn size(group: &Group) -> (u32, u32) {
    (group.actual(reg::D_DATAIN_SIZE_0::DATAIN_WIDTH), group.actual(reg::D_DATAIN_SIZE_0::DATAIN_HEIGHT))
}

fn converter(group: &Group) -> Converter {
    Converter {
        offset: group.get_signed(reg::D_CVT_OFFSET::CVT_OFFSET),
        scale: group.get_signed(reg::D_CVT_SCALE::CVT_SCALE) as i16,
        shift: group.get(reg::D_CVT_CFG::CVT_TRUNCATE) as u8,
    }
}
