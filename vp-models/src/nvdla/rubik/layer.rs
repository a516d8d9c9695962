//! One RUBIK layer: the contents of a register group.
//!
//! [`RubikLayer::decode`] checks everything once; `compute` and the timing rely on it. All fields are plain data:
//! tests build layers by hand.

use crate::nvdla::config::Config;
use crate::nvdla::cube::{self, Ram};
use crate::nvdla::encode::{self, Encoded, Fields};
use crate::nvdla::place::PlaceFields;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{FieldRef, Group, RegisterMap, Unit, rbk as reg};

/// Properties of a RUBIK, by hardware configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hardware {
    /// Bytes of a memory atom.
    pub atom: usize,
    /// Contracts.
    pub contract: bool,
    /// Splits and merges.
    pub reshape: bool,
}

impl From<&Config> for Hardware {
    fn from(config: &Config) -> Self {
        Hardware {
            atom: config.memory_atom as usize,
            contract: config.rubik_contract,
            reshape: config.rubik_reshape,
        }
    }
}

/// Pixels, and channel blocks, of a tile in contraction.
pub(super) const STEPS: u32 = 8;

/// Way in which data is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Channel blocks become neighbouring pixels: the last step of a deconvolution.
    Contract {
        /// Output pixels that an input pixel becomes in its line.
        x: u32,
        /// Output lines that an input line becomes.
        y: u32,
        /// Bytes from an input channel block to the next.
        block_stride: u32,
    },
    /// A feature cube becomes planes, one a channel.
    Split,
    /// Planes become a feature cube.
    Merge,
}

/// One end of a layer: a feature cube, or planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RubikSurface {
    /// Interface it is reached by.
    pub ram: Ram,
    /// First byte address.
    pub base: u64,
    /// Bytes from line to line.
    pub line_stride: u32,
    /// Bytes from surface to surface of a cube, or from channel to channel of planes.
    pub surface_stride: u32,
}

impl RubikSurface {
    fn decode(group: &Group, place: &PlaceFields) -> RubikSurface {
        let [low, high] = place.base;
        RubikSurface {
            ram: Ram::from_field(group.get(place.ram)),
            base: group.address(low, high),
            line_stride: group.actual(place.line_stride),
            surface_stride: group.actual(place.surface_stride),
        }
    }

    fn address(&self, place: &PlaceFields) -> [(FieldRef, u32); 2] {
        let [low, high] = place.base;
        [(low, self.base as u32), (high, (self.base >> 32) as u32)]
    }
}

/// Returns the registers of the place that RUBIK reads: a merge reads planes.
const fn source(mode: Mode) -> PlaceFields {
    PlaceFields {
        ram: reg::D_DAIN_RAM_TYPE::DATAIN_RAM_TYPE,
        base: [reg::D_DAIN_ADDR_LOW::DAIN_ADDR_LOW, reg::D_DAIN_ADDR_HIGH::DAIN_ADDR_HIGH],
        line_stride: reg::D_DAIN_LINE_STRIDE::DAIN_LINE_STRIDE,
        surface_stride: match mode {
            Mode::Merge => reg::D_DAIN_PLANAR_STRIDE::DAIN_PLANAR_STRIDE,
            Mode::Contract { .. } | Mode::Split => reg::D_DAIN_SURF_STRIDE::DAIN_SURF_STRIDE,
        },
    }
}

/// Returns the registers of the place that RUBIK writes: a split writes planes.
const fn destination(mode: Mode) -> PlaceFields {
    PlaceFields {
        ram: reg::D_DAOUT_RAM_TYPE::DATAOUT_RAM_TYPE,
        base: [reg::D_DAOUT_ADDR_LOW::DAOUT_ADDR_LOW, reg::D_DAOUT_ADDR_HIGH::DAOUT_ADDR_HIGH],
        line_stride: reg::D_DAOUT_LINE_STRIDE::DAOUT_LINE_STRIDE,
        surface_stride: match mode {
            Mode::Split => reg::D_DAOUT_PLANAR_STRIDE::DAOUT_PLANAR_STRIDE,
            Mode::Contract { .. } | Mode::Merge => reg::D_DAOUT_SURF_STRIDE::DAOUT_SURF_STRIDE,
        },
    }
}

/// One hardware layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RubikLayer {
    /// Bytes of a memory atom.
    pub atom: usize,
    /// Way in which data is moved.
    pub mode: Mode,
    /// Bytes of an element: 1 or 2.
    pub element: usize,
    /// Input pixels in a line.
    pub width: u32,
    /// Input lines.
    pub height: u32,
    /// Channels of the output, and of the input too unless contracting.
    pub channels: u32,
    /// Place from which input comes.
    pub source: RubikSurface,
    /// Place to which output goes.
    pub destination: RubikSurface,
}

/// Pixels of an output line that is written as one. The RTL has 13 bits for one less than that.
const MAX_LINE: u32 = 1 << 13;

/// Channels that a register can say.
const MAX_CHANNELS: u32 = 1 << 13;

impl RubikLayer {
    /// Elements in an atom.
    pub const fn lanes(&self) -> usize {
        self.atom / self.element
    }

    /// Surfaces of the output, and of the input too unless contracting.
    pub const fn surfaces(&self) -> u32 {
        cube::surfaces(self.channels, self.lanes())
    }

    /// Decodes and checks a group.
    pub fn decode(group: &Group, hardware: &Hardware) -> Result<RubikLayer, Refused> {
        use reg::D_MISC_CFG::{IN_PRECISION, RUBIK_MODE};
        let refuse = |field: FieldRef, why: String| Err(Refused::new(group, field, why));
        let element = match group.get(IN_PRECISION) {
            0 => 1,
            1 | 2 => 2,
            _ => return refuse(IN_PRECISION, "there are formats 0 (int8), 1 (int16) and 2 (fp16)".into()),
        };
        let width = group.actual(reg::D_DATAIN_SIZE_0::DATAIN_WIDTH);
        let output = group.actual(reg::D_DATAOUT_SIZE_1::DATAOUT_CHANNEL);
        let (mode, has_it) = match group.get(RUBIK_MODE) {
            0 => (RubikLayer::contract(group, width)?, hardware.contract),
            1 => (Mode::Split, hardware.reshape),
            2 => (Mode::Merge, hardware.reshape),
            _ => return refuse(RUBIK_MODE, "there are 0 (contract), 1 (split) and 2 (merge)".into()),
        };
        if !has_it {
            return Err(Refused::lacking(group, RUBIK_MODE, "this configuration's RUBIK does not do that"));
        }
        // Reads count the channels of the input and writes those of the output, by surfaces.
        let input = group.actual(reg::D_DATAIN_SIZE_1::DATAIN_CHANNEL);
        let surfaces = |channels| cube::surfaces(channels, hardware.atom / element);
        let reshapes = matches!(mode, Mode::Split | Mode::Merge);
        if reshapes && surfaces(input) != surfaces(output) {
            let why = format!("RBK.{} is {input}", reg::D_DATAIN_SIZE_1::DATAIN_CHANNEL);
            return refuse(reg::D_DATAOUT_SIZE_1::DATAOUT_CHANNEL, why);
        }
        Ok(RubikLayer {
            atom: hardware.atom,
            mode,
            element,
            width,
            height: group.actual(reg::D_DATAIN_SIZE_0::DATAIN_HEIGHT),
            channels: if reshapes { input } else { output },
            source: RubikSurface::decode(group, &source(mode)),
            destination: RubikSurface::decode(group, &destination(mode)),
        })
    }

    /// Returns the layer's registers, all but the enable. No register says whether two-byte elements are integers: they are
    /// taken as integers.
    pub fn fields(&self) -> Encoded {
        use reg::D_MISC_CFG::{IN_PRECISION, RUBIK_MODE};
        let RubikLayer { mode, width, height, channels, .. } = *self;
        let (from, to) = (source(mode), destination(mode));
        let (code, input) = match mode {
            // Nothing counts them; there are as many as the register can say.
            Mode::Contract { x, y, .. } => {
                let blocks = (self.surfaces() * self.lanes() as u32).saturating_mul(x * y);
                (RUBIK_MODE::CONTRACT, blocks.min(MAX_CHANNELS))
            }
            Mode::Split => (RUBIK_MODE::SPLIT, channels),
            Mode::Merge => (RUBIK_MODE::MERGE, channels),
        };
        let mut fields: Fields = vec![
            (RUBIK_MODE, code),
            (IN_PRECISION, self.element as u32 - 1),
            (from.ram, self.source.ram.field()),
            (reg::D_DATAIN_SIZE_0::DATAIN_WIDTH, width),
            (reg::D_DATAIN_SIZE_0::DATAIN_HEIGHT, height),
            (reg::D_DATAIN_SIZE_1::DATAIN_CHANNEL, input),
        ];
        fields.extend(self.source.address(&from));
        fields.extend([
            (from.surface_stride, self.source.surface_stride),
            (from.line_stride, self.source.line_stride),
            (to.ram, self.destination.ram.field()),
            (reg::D_DATAOUT_SIZE_1::DATAOUT_CHANNEL, channels),
        ]);
        fields.extend(self.destination.address(&to));
        fields.extend([
            (to.line_stride, self.destination.line_stride),
            (to.surface_stride, self.destination.surface_stride),
        ]);
        if let Mode::Contract { x, y, block_stride } = mode {
            fields.extend([
                (reg::D_CONTRACT_STRIDE_0::CONTRACT_STRIDE_0, block_stride),
                (reg::D_CONTRACT_STRIDE_1::CONTRACT_STRIDE_1, y.wrapping_mul(self.destination.line_stride)),
                (reg::D_DECONV_STRIDE::DECONV_X_STRIDE, x),
                (reg::D_DECONV_STRIDE::DECONV_Y_STRIDE, y),
            ]);
        }
        Encoded::of(Unit::Rbk, fields)
    }

    /// Returns the registers of [`RubikLayer::fields`], checked: the inverse of [`RubikLayer::decode`].
    ///
    /// # Errors
    /// When it cannot be said, or would be refused.
    pub fn encode(&self, map: RegisterMap, hardware: &Hardware) -> Result<Encoded, Refused> {
        let fields = self.fields();
        let group = fields.group(Unit::Rbk, map)?;
        let decoded = RubikLayer::decode(&group, hardware);
        encode::check(self, decoded, (&group, reg::D_MISC_CFG::RUBIK_MODE))?;
        Ok(fields)
    }

    /// `D_CONTRACT_STRIDE_1` has no part in it: the RTL finds the next output line by the line stride alone.
    fn contract(group: &Group, width: u32) -> Result<Mode, Refused> {
        let x = group.actual(reg::D_DECONV_STRIDE::DECONV_X_STRIDE);
        if x <= STEPS && width * x > MAX_LINE {
            let why = format!("{width} pixels become {}, a line can have {MAX_LINE}", width * x);
            return Err(Refused::new(group, reg::D_DECONV_STRIDE::DECONV_X_STRIDE, why));
        }
        Ok(Mode::Contract {
            x,
            y: group.actual(reg::D_DECONV_STRIDE::DECONV_Y_STRIDE),
            block_stride: group.actual(reg::D_CONTRACT_STRIDE_0::CONTRACT_STRIDE_0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HARDWARE: Hardware = Hardware { atom: 32, contract: true, reshape: true };

    fn refusal(settings: &[(FieldRef, u32)], hardware: &Hardware) -> Refused {
        let mut group = Group::new(Unit::Rbk, RegisterMap::Full);
        for &(field, value) in settings {
            group.set(field, value);
        }
        RubikLayer::decode(&group, hardware).unwrap_err()
    }

    fn refused(settings: &[(FieldRef, u32)], hardware: &Hardware) -> String {
        refusal(settings, hardware).to_string()
    }

    #[test]
    fn a_mode_that_another_configuration_has_is_marked_as_lacking() {
        let [contracting, reshaping] =
            [Hardware { reshape: false, ..HARDWARE }, Hardware { contract: false, ..HARDWARE }];
        for (mode, hardware, lacking) in
            [(0, reshaping, true), (1, contracting, true), (2, contracting, true), (3, contracting, false)]
        {
            let refused = refusal(&[(reg::D_MISC_CFG::RUBIK_MODE, mode)], &hardware);
            assert_eq!(refused.lacking, lacking, "{refused}");
        }
    }

    #[test]
    fn refuses_by_register_and_field() {
        use reg::D_MISC_CFG::{IN_PRECISION, RUBIK_MODE};
        assert_eq!(
            refused(&[(IN_PRECISION, 3)], &HARDWARE),
            "RBK.D_MISC_CFG.IN_PRECISION = 0x3: there are formats 0 (int8), 1 (int16) and 2 (fp16)"
        );
        assert_eq!(
            refused(&[(RUBIK_MODE, 3)], &HARDWARE),
            "RBK.D_MISC_CFG.RUBIK_MODE = 0x3: there are 0 (contract), 1 (split) and 2 (merge)"
        );
        assert_eq!(
            refused(&[(RUBIK_MODE, 2)], &Hardware { reshape: false, ..HARDWARE }),
            "RBK.D_MISC_CFG.RUBIK_MODE = 0x2 (MERGE): this configuration's RUBIK does not do that"
        );
    }

    #[test]
    fn refuses_planes_that_reads_and_writes_count_differently() {
        let channels = [
            (reg::D_MISC_CFG::RUBIK_MODE, 1),
            (reg::D_DATAIN_SIZE_1::DATAIN_CHANNEL, 16),
            (reg::D_DATAOUT_SIZE_1::DATAOUT_CHANNEL, 15),
        ];
        assert_eq!(
            refused(&channels, &HARDWARE),
            "RBK.D_DATAOUT_SIZE_1.DATAOUT_CHANNEL = 0xf: RBK.D_DATAIN_SIZE_1.DATAIN_CHANNEL is 17"
        );
    }

    #[test]
    fn refuses_a_line_that_one_write_cannot_hold() {
        let line = |width: u32, x: u32| {
            [(reg::D_DATAIN_SIZE_0::DATAIN_WIDTH, width - 1), (reg::D_DECONV_STRIDE::DECONV_X_STRIDE, x - 1)]
        };
        assert_eq!(
            refused(&line(4097, 2), &HARDWARE),
            "RBK.D_DECONV_STRIDE.DECONV_X_STRIDE = 0x1: 4097 pixels become 8194, a line can have 8192"
        );
        // Larger steps are written piece by piece.
        let mut group = Group::new(Unit::Rbk, RegisterMap::Full);
        line(4097, 9).into_iter().for_each(|(field, value)| group.set(field, value));
        assert!(RubikLayer::decode(&group, &HARDWARE).is_ok());
    }

    fn surface() -> impl Strategy<Value = RubikSurface> {
        (any::<bool>(), 0u64..1 << 40, 0u32..1 << 27, 0u32..1 << 27).prop_map(|(ram, base, line, surface)| {
            RubikSurface {
                ram: if ram { Ram::Primary } else { Ram::Secondary },
                base: base / 32 * 32,
                line_stride: 32 * line,
                surface_stride: 32 * surface,
            }
        })
    }

    fn mode() -> impl Strategy<Value = Mode> {
        let contract = (1u32..=32, 1u32..=32, 0u32..1 << 27).prop_map(|(x, y, block)| Mode::Contract {
            x,
            y,
            block_stride: 32 * block,
        });
        prop_oneof![2 => contract, 1 => Just(Mode::Split), 1 => Just(Mode::Merge)]
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_and_what_is_refused_is_refused_alike(
            mode in mode(),
            element in 1usize..=2,
            (width, height, channels) in (1u32..=8192, 1u32..=8192, 1u32..=8192),
            (source, destination) in (surface(), surface()),
            hardware in (any::<bool>(), any::<bool>()),
        ) {
            let hardware = Hardware { atom: 32, contract: hardware.0, reshape: hardware.1 };
            let layer = RubikLayer { atom: 32, mode, element, width, height, channels, source, destination };
            let written = layer.fields().group(Unit::Rbk, RegisterMap::Full).unwrap();
            let decoded = RubikLayer::decode(&written, &hardware);
            prop_assert_eq!(layer.encode(RegisterMap::Full, &hardware).err(), decoded.as_ref().err().cloned());
            if let Ok(decoded) = decoded {
                prop_assert_eq!(decoded, layer);
            }
        }
    }
}
