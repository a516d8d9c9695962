//! One CDP layer: the contents of a register group of CDP and of the group of CDP_RDMA beside it.
//!
//! [`CdpLayer::decode`] checks everything once; [`super::compute`] and the timing rely on it. All fields are plain data:
//! tests build layers by hand.

use super::lut;
use crate::nvdla::config::Config;
use crate::nvdla::cube::{self, Packing, Surface};
use crate::nvdla::encode::{self, Encoded, Fields};
use crate::nvdla::formats::Formats;
use crate::nvdla::numeric::{Converter, Precision, wrap};
use crate::nvdla::place::{LowBits, PlaceFields, destination_place, source_place};
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{FieldRef, Group, RegisterMap, Unit, cdp as reg, cdp_rdma as rdma_reg};

/// Properties of a CDP, by hardware configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hardware {
    /// Bytes of a memory atom: 8, 16 or 32.
    pub atom: usize,
    /// Formats that CDP normalises besides int8.
    pub formats: Formats,
    /// `D_OUT_SATURATION` counts; in the RTL of the scalable configurations it is tied to 0.
    pub counts_saturation: bool,
}

impl From<&Config> for Hardware {
    fn from(config: &Config) -> Self {
        Hardware {
            atom: config.memory_atom as usize,
            formats: Formats::of_features(config),
            counts_saturation: config.register_map == RegisterMap::Full,
        }
    }
}

/// One hardware layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CdpLayer {
    /// Bytes of a memory atom.
    pub atom: usize,
    /// Pixels in a line.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// Channels; the last surface may be partly used.
    pub channels: u32,
    /// Element format.
    pub precision: Precision,
    /// In fp16, inputs that are not numbers count as 0.
    pub nan_to_zero: bool,
    /// Channels of a window on either side of its centre: 1 to 4.
    pub reach: u32,
    /// The window is squared and summed; otherwise its centre is looked up.
    pub square_sum: bool,
    /// The result of the table is multiplied with the centre; otherwise it is the result of the layer.
    pub multiply: bool,
    /// Of each integer input, first of all.
    pub input: Converter,
    /// Of each integer result, last of all.
    pub output: Converter,
    /// Ranges, slopes and priorities of the table.
    pub lut: lut::Settings,
    /// Surface from which input comes.
    pub source: Surface,
    /// Surface to which output goes.
    pub destination: Surface,
}

/// Registers of the place that CDP reads.
const SOURCE: PlaceFields = source_place!(rdma_reg, D_SRC_DMA_CFG);

/// Registers of the place that CDP writes.
const DESTINATION: PlaceFields = destination_place!(reg, D_DST_DMA_CFG);

impl CdpLayer {
    /// Returns the errors in the registers that place the layer's cubes, each as a sentence.
    pub(super) fn unaligned(&self, cdp: &Group, rdma: &Group) -> Vec<String> {
        let size = (self.height, self.surfaces());
        let mut all = SOURCE.unaligned(rdma, &self.source, size, LowBits::OfSums);
        all.extend(DESTINATION.unaligned(cdp, &self.destination, size, LowBits::OfSums));
        all
    }

    /// Elements in an atom.
    pub const fn lanes(&self) -> usize {
        self.atom / self.precision.bytes()
    }

    /// Surfaces of input and output.
    pub const fn surfaces(&self) -> u32 {
        cube::surfaces(self.channels, self.lanes())
    }

    /// Returns the layer's registers in groups, all but the enables. Its table is loaded separately, before: [`lut::load`].
    pub fn fields(&self) -> Encoded {
        let mut rdma: Fields = vec![
            (rdma_reg::D_DATA_CUBE_WIDTH::WIDTH, self.width),
            (rdma_reg::D_DATA_CUBE_HEIGHT::HEIGHT, self.height),
            (rdma_reg::D_DATA_CUBE_CHANNEL::CHANNEL, self.channels),
        ];
        rdma.extend(SOURCE.fields(&self.source));
        rdma.push((rdma_reg::D_DATA_FORMAT::INPUT_DATA, self.precision.code()));
        let mut cdp: Fields = DESTINATION.fields(&self.destination).into();
        cdp.extend([
            (reg::D_DATA_FORMAT::INPUT_DATA_TYPE, self.precision.code()),
            (reg::D_LRN_CFG::NORMALZ_LEN, self.reach.wrapping_sub(1)),
            (reg::D_DATIN_OFFSET::DATIN_OFFSET, self.input.offset as u32),
            (reg::D_DATIN_SCALE::DATIN_SCALE, i32::from(self.input.scale) as u32),
            (reg::D_DATIN_SHIFTER::DATIN_SHIFTER, self.input.shift.into()),
            (reg::D_DATOUT_OFFSET::DATOUT_OFFSET, self.output.offset as u32),
            (reg::D_DATOUT_SCALE::DATOUT_SCALE, i32::from(self.output.scale) as u32),
            (reg::D_DATOUT_SHIFTER::DATOUT_SHIFTER, self.output.shift.into()),
            (reg::D_FUNC_BYPASS::SQSUM_BYPASS, (!self.square_sum).into()),
            (reg::D_FUNC_BYPASS::MUL_BYPASS, (!self.multiply).into()),
        ]);
        // It counts in fp16 only.
        if self.nan_to_zero || self.precision == Precision::Fp16 {
            cdp.push((reg::D_NAN_FLUSH_TO_ZERO::NAN_TO_ZERO, self.nan_to_zero.into()));
        }
        Encoded::of(Unit::CdpRdma, rdma).and(Encoded::of(Unit::Cdp, cdp))
    }

    /// Returns the registers of [`CdpLayer::fields`], checked: with the table's settings the inverse of [`CdpLayer::decode`].
    ///
    /// # Errors
    /// When it cannot be said, or would be refused.
    pub fn encode(&self, map: RegisterMap, hardware: &Hardware) -> Result<Encoded, Refused> {
        let fields = self.fields();
        let rdma = fields.group(Unit::CdpRdma, map)?;
        let cdp = fields.clone().and(Encoded::of(Unit::Cdp, lut::fields(&self.lut))).group(Unit::Cdp, map)?;
        let decoded = CdpLayer::decode(&cdp, &rdma, hardware);
        encode::check(self, decoded, (&cdp, reg::D_DATA_FORMAT::INPUT_DATA_TYPE))?;
        Ok(fields)
    }

    /// Decodes and checks a group of CDP and of CDP_RDMA.
    pub fn decode(cdp: &Group, rdma: &Group, hardware: &Hardware) -> Result<CdpLayer, Refused> {
        use reg::D_DATA_FORMAT::INPUT_DATA_TYPE;
        let precision = hardware.formats.decode(cdp, INPUT_DATA_TYPE)?;
        // CDP_RDMA must deliver what CDP expects.
        let read_as = rdma_reg::D_DATA_FORMAT::INPUT_DATA;
        if rdma.get(read_as) != cdp.get(INPUT_DATA_TYPE) {
            let why = format!("CDP.{INPUT_DATA_TYPE} is {:#x}", cdp.get(INPUT_DATA_TYPE));
            return Err(Refused::new(rdma, read_as, why));
        }
        let signed = |field: FieldRef| cdp.get_signed(field);
        let (input_offset, output_offset) =
            (signed(reg::D_DATIN_OFFSET::DATIN_OFFSET), signed(reg::D_DATOUT_OFFSET::DATOUT_OFFSET));
        // In int8 the converters' adders are narrower.
        let narrow = precision == Precision::Int8;
        let cut = |offset: i32, bits: u32| if narrow { wrap(offset.into(), bits) as i32 } else { offset };
        let pixel = hardware.atom as u32;
        Ok(CdpLayer {
            atom: hardware.atom,
            width: rdma.actual(rdma_reg::D_DATA_CUBE_WIDTH::WIDTH),
            height: rdma.actual(rdma_reg::D_DATA_CUBE_HEIGHT::HEIGHT),
            channels: rdma.actual(rdma_reg::D_DATA_CUBE_CHANNEL::CHANNEL),
            precision,
            nan_to_zero: cdp.flag(reg::D_NAN_FLUSH_TO_ZERO::NAN_TO_ZERO),
            reach: cdp.get(reg::D_LRN_CFG::NORMALZ_LEN) + 1,
            square_sum: !cdp.flag(reg::D_FUNC_BYPASS::SQSUM_BYPASS),
            multiply: !cdp.flag(reg::D_FUNC_BYPASS::MUL_BYPASS),
            input: Converter {
                offset: cut(input_offset, 8),
                scale: signed(reg::D_DATIN_SCALE::DATIN_SCALE) as i16,
                shift: cdp.get(reg::D_DATIN_SHIFTER::DATIN_SHIFTER) as u8,
            },
            output: Converter {
                offset: cut(output_offset, 25),
                scale: signed(reg::D_DATOUT_SCALE::DATOUT_SCALE) as i16,
                shift: cdp.get(reg::D_DATOUT_SHIFTER::DATOUT_SHIFTER) as u8,
            },
            lut: lut::decode(cdp),
            source: SOURCE.surface(rdma, (pixel, pixel), Packing::Strided, LowBits::OfSums),
            destination: DESTINATION.surface(cdp, (pixel, pixel), Packing::Strided, LowBits::OfSums),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::cube::Ram;
    use crate::nvdla::registers::Table;
    use proptest::prelude::*;

    const SMALL: Hardware = Hardware { atom: 8, formats: Formats::INT8, counts_saturation: false };
    const FULL: Hardware = Hardware { atom: 32, formats: Formats::ALL, counts_saturation: true };

    fn groups() -> (Group, Group) {
        let (mut cdp, mut rdma) =
            (Group::new(Unit::Cdp, RegisterMap::Small), Group::new(Unit::CdpRdma, RegisterMap::Small));
        cdp.set(reg::D_DATA_FORMAT::INPUT_DATA_TYPE, 0);
        rdma.set_actual(rdma_reg::D_DATA_CUBE_WIDTH::WIDTH, 9);
        rdma.set_actual(rdma_reg::D_DATA_CUBE_CHANNEL::CHANNEL, 17);
        (cdp, rdma)
    }

    #[test]
    fn the_cube_is_the_rdmas() {
        let (mut cdp, rdma) = groups();
        cdp.set(reg::D_LRN_CFG::NORMALZ_LEN, 3);
        let layer = CdpLayer::decode(&cdp, &rdma, &SMALL).unwrap();
        assert_eq!((layer.width, layer.height, layer.channels, layer.surfaces()), (9, 1, 17, 3));
        assert_eq!((layer.reach, layer.square_sum, layer.multiply), (4, true, true));
    }

    #[test]
    fn offsets_are_narrower_in_int8() {
        let (mut cdp, mut rdma) = groups();
        cdp.set(reg::D_DATIN_OFFSET::DATIN_OFFSET, 0x180);
        cdp.set(reg::D_DATOUT_OFFSET::DATOUT_OFFSET, 0xff03_ca09);
        let layer = CdpLayer::decode(&cdp, &rdma, &FULL).unwrap();
        assert_eq!((layer.input.offset, layer.output.offset), (-128, -0xfc_35f7));
        cdp.set(reg::D_DATA_FORMAT::INPUT_DATA_TYPE, 1);
        rdma.set(rdma_reg::D_DATA_FORMAT::INPUT_DATA, 1);
        let layer = CdpLayer::decode(&cdp, &rdma, &FULL).unwrap();
        assert_eq!((layer.input.offset, layer.output.offset), (0x180, -0xfc_35f7));
        cdp.set(reg::D_DATOUT_OFFSET::DATOUT_OFFSET, 0x0103_0000);
        assert_eq!(CdpLayer::decode(&cdp, &rdma, &FULL).unwrap().output.offset, 0x0103_0000);
    }

    #[test]
    fn refuses_formats_it_has_not() {
        let (mut cdp, rdma) = groups();
        for (format, why) in [
            (1, "= 0x1 (INT16): this configuration does not compute int16"),
            (2, "= 0x2 (FP16): this configuration does not compute fp16"),
            (3, "= 0x3: there are formats 0 (int8), 1 (int16) and 2 (fp16)"),
        ] {
            cdp.set(reg::D_DATA_FORMAT::INPUT_DATA_TYPE, format);
            let refused = CdpLayer::decode(&cdp, &rdma, &SMALL).unwrap_err().to_string();
            assert_eq!(refused, format!("CDP.D_DATA_FORMAT.INPUT_DATA_TYPE {why}"));
        }
    }

    #[test]
    fn refuses_an_rdma_that_reads_another_format() {
        let (cdp, mut rdma) = groups();
        rdma.set(rdma_reg::D_DATA_FORMAT::INPUT_DATA, 1);
        let refused = CdpLayer::decode(&cdp, &rdma, &FULL).unwrap_err().to_string();
        assert!(refused.starts_with("CDP_RDMA.D_DATA_FORMAT.INPUT_DATA = 0x1 (INT16): CDP."), "{refused}");
    }

    fn surface(atom: u32) -> impl Strategy<Value = Surface> {
        let strides = (0u32..1 << 27, 0u32..1 << 27);
        (any::<bool>(), 0u64..1 << 40, strides).prop_map(move |(ram, base, (line, surface))| Surface {
            ram: if ram { Ram::Primary } else { Ram::Secondary },
            base: base / 32 * 32,
            line_stride: 32 * line,
            surface_stride: 32 * surface,
            pixel: atom,
            atom,
            packing: Packing::Strided,
        })
    }

    fn slopes() -> impl Strategy<Value = [lut::Slope; 2]> {
        [(any::<i16>(), -16i8..16), (any::<i16>(), -16i8..16)]
            .prop_map(|slopes| slopes.map(|(scale, shift)| lut::Slope { scale, shift }))
    }

    fn settings() -> impl Strategy<Value = lut::Settings> {
        let bound = || -1i64 << 37..1 << 37;
        let table = || any::<bool>().prop_map(|lo| if lo { Table::Lo } else { Table::Le });
        let range = || {
            (bound(), bound(), slopes()).prop_map(|(start, end, [underflow, overflow])| lut::Range {
                start,
                end,
                underflow,
                overflow,
            })
        };
        let index = prop_oneof![
            any::<i8>().prop_map(|offset| lut::LeIndex::Exponent { offset }),
            any::<i8>().prop_map(|select| lut::LeIndex::Linear { select }),
        ];
        (index, any::<i8>(), range(), range(), [table(), table(), table()]).prop_map(
            |(le_index, lo_select, le, lo, [underflow, overflow, hybrid])| {
                let priorities = lut::Priorities { underflow, overflow, hybrid };
                lut::Settings { le_index, lo_select, le, lo, priorities }
            },
        )
    }

    fn layer() -> impl Strategy<Value = CdpLayer> {
        let precision = prop_oneof![Just(Precision::Int8), Just(Precision::Int16), Just(Precision::Fp16)];
        let converter = || {
            (any::<i16>(), any::<i16>(), 0u8..32).prop_map(|(offset, scale, shift)| Converter {
                offset: offset.into(),
                scale,
                shift,
            })
        };
        let sizes = (1u32..=8192, 1u32..=8192, 1u32..=8192);
        let places = (surface(32), surface(32));
        let flags = any::<[bool; 3]>();
        (sizes, precision, flags, 1u32..=4, converter(), converter(), settings(), places).prop_map(
            |(
                sizes,
                precision,
                [square_sum, multiply, nan_to_zero],
                reach,
                mut input,
                output,
                lut,
                places,
            )| {
                if precision == Precision::Int8 {
                    input.offset = i32::from(input.offset as i8);
                }
                CdpLayer {
                    atom: 32,
                    width: sizes.0,
                    height: sizes.1,
                    channels: sizes.2,
                    precision,
                    nan_to_zero,
                    reach,
                    square_sum,
                    multiply,
                    input,
                    output,
                    lut,
                    source: places.0,
                    destination: places.1,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(layer in layer()) {
            for map in [RegisterMap::Full, RegisterMap::Large] {
                let written = layer.encode(map, &FULL).unwrap().and(Encoded::of(Unit::Cdp, lut::fields(&layer.lut)));
                let [cdp, rdma] = [Unit::Cdp, Unit::CdpRdma].map(|unit| written.group(unit, map).unwrap());
                prop_assert_eq!(&CdpLayer::decode(&cdp, &rdma, &FULL).unwrap(), &layer);
            }
        }

        #[test]
        fn what_is_refused_is_refused_alike(layer in layer()) {
            let layer = CdpLayer { atom: 8, ..layer };
            let written = layer.fields();
            let [cdp, rdma] = [Unit::Cdp, Unit::CdpRdma].map(|unit| written.group(unit, RegisterMap::Small).unwrap());
            if let Err(refused) = CdpLayer::decode(&cdp, &rdma, &SMALL) {
                prop_assert_eq!(layer.encode(RegisterMap::Small, &SMALL).unwrap_err(), refused);
            }
        }
    }

    #[test]
    fn an_encoder_refuses_what_registers_cannot_say() {
        let (cdp, rdma) = groups();
        let layer = CdpLayer::decode(&cdp, &rdma, &SMALL).unwrap();
        let refused = |layer: CdpLayer| layer.encode(RegisterMap::Small, &SMALL).unwrap_err().to_string();
        assert_eq!(
            refused(CdpLayer { width: 8193, ..layer.clone() }),
            "CDP_RDMA.D_DATA_CUBE_WIDTH.WIDTH = 0x2001: the register holds 1 to 8192"
        );
        // In int8 the adder has eight bits.
        let input = Converter { offset: 0x180, ..layer.input };
        assert!(refused(CdpLayer { input, ..layer }).contains("registers cannot say"));
    }

    proptest! {
        #[test]
        fn any_register_contents_are_decoded_or_refused(words in proptest::collection::vec(proptest::num::u32::ANY, 70)) {
            let mut words = words.into_iter();
            let (mut cdp, mut rdma) = groups();
            for register in Unit::Cdp.registers() {
                cdp.set_word(register, words.next().unwrap_or(0));
            }
            for register in Unit::CdpRdma.registers() {
                rdma.set_word(register, words.next().unwrap_or(0));
            }
            rdma.set(rdma_reg::D_DATA_FORMAT::INPUT_DATA, cdp.get(reg::D_DATA_FORMAT::INPUT_DATA_TYPE));
            let _ = CdpLayer::decode(&cdp, &rdma, &FULL);
        }
    }
}
