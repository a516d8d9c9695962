//! One layer's registers of CDMA: which input and weights it brings to the convolution buffer, and how it
//! converts input on the way. `decode` has the registers of each kind of input, [`CdmaLayer::encode`] is the
//! inverse.

use super::feature::Feature;
use super::image::Image;
use super::read::Read;
use super::winograd::Winograd;
use crate::nvdla::conv::buffer::{Banks, Reuse};
use crate::nvdla::conv::elements::Elements;
use crate::nvdla::conv::hardware::Hardware;
use crate::nvdla::cube::Ram;
use crate::nvdla::float::SpecialCounts;
use crate::nvdla::numeric::Precision;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{Group, cdma as reg};

/// One hardware layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CdmaLayer {
    /// Bytes of a memory atom.
    pub atom: u32,
    /// Format in the buffer.
    pub precision: Precision,
    /// Format to which the converter saturates; where it is wider than the buffer's, the low bytes go there.
    pub converted: Precision,
    /// Input.
    pub input: Input,
    /// Entries of the buffer that a line takes.
    pub entries: u32,
    /// Weights.
    pub weights: Weights,
    /// The buffer's split.
    pub banks: Banks,
    /// Input and weights that are in the buffer already, and those that stay.
    pub reuse: Reuse,
}

/// Input of a layer, by its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A feature data cube.
    Feature(Feature),
    /// An image.
    Image(Image),
    /// A feature data cube for Winograd's method.
    Winograd(Winograd),
}

/// Weights in memory, in the order in which the buffer holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Interface they are reached by.
    pub ram: Ram,
    /// Byte address.
    pub base: u64,
    /// Bytes to read.
    pub bytes: u32,
    /// Bytes of one kernel.
    pub kernel_bytes: u32,
    /// Kernels.
    pub kernels: u32,
    /// Data that belongs to the weights if they are compressed.
    pub compressed: Option<Compressed>,
}

/// Data that lies in memory beside compressed weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compressed {
    /// Byte address of the masks (WMB): a bit for each element of the kernels.
    pub mask_base: u64,
    /// Bytes to read of them.
    pub mask_bytes: u32,
    /// Byte address of the sizes (WGS): four bytes for each group of kernels that are multiplied together.
    pub sizes_base: u64,
    /// Reads of weights, and of masks, that are made in a row while the other stream waits.
    pub turns: [u32; 2],
}

impl Compressed {
    /// The turns of weights and of masks after a reset.
    pub const TURNS: [u32; 2] = [16, 4];
}

impl Weights {
    /// Returns the end of the kernels that are multiplied together, in bytes from the first.
    pub fn group_end(&self, group: u32, group_kernels: u32) -> u64 {
        let kernels = (group + 1).saturating_mul(group_kernels).min(self.kernels);
        u64::from(kernels) * u64::from(self.kernel_bytes)
    }
}

impl Input {
    /// Lines.
    pub fn height(&self) -> u32 {
        match self {
            Input::Feature(feature) => feature.height,
            Input::Image(image) => image.height,
            Input::Winograd(extended) => extended.height(),
        }
    }

    /// Interface it is reached by.
    pub fn ram(&self) -> Ram {
        match self {
            Input::Feature(feature) => feature.surface.ram,
            Input::Image(image) => image.ram,
            Input::Winograd(extended) => extended.feature.surface.ram,
        }
    }

    /// Returns true if the input is an image.
    pub fn is_image(&self) -> bool {
        matches!(self, Input::Image(_))
    }

    /// Elements of a line in the buffer.
    pub fn line_elements(&self) -> usize {
        match self {
            Input::Feature(feature) => (feature.width * feature.channels * feature.cubes) as usize,
            Input::Image(image) => image.stored_width() as usize * image.format.channels() as usize,
            Input::Winograd(extended) => (extended.width() * extended.channels()) as usize,
        }
    }

    /// Bytes of a line in the buffer: of features, all lanes.
    fn line_bytes(&self, precision: Precision) -> usize {
        match self {
            Input::Feature(feature) => feature.bytes(1),
            Input::Image(_) | Input::Winograd(_) => self.line_elements() * precision.bytes(),
        }
    }

    /// Lines that are read together.
    pub fn lines_at_once(&self) -> u32 {
        match self {
            Input::Feature(feature) => feature.grain,
            Input::Image(_) => 1,
            Input::Winograd(_) => Winograd::LINES,
        }
    }

    /// Bytes of so many lines, from `first` on.
    pub fn bytes(&self, first: u32, lines: u32) -> usize {
        match self {
            Input::Feature(feature) => feature.bytes(lines),
            Input::Image(image) => image.bytes(),
            Input::Winograd(extended) => extended.bytes(first, lines),
        }
    }

    /// The reads of `lines` lines from `first` on, in order.
    pub fn reads(&self, first: u32, lines: u32) -> Vec<Read> {
        match self {
            Input::Feature(feature) => feature.reads(first, lines),
            Input::Image(image) => image.reads(first),
            Input::Winograd(extended) => extended.reads(first, lines),
        }
    }

    /// Cycles in which these reads, those of some lines, are made; after that the next lines follow.
    pub fn request_cycles(&self, reads: &[Read]) -> u64 {
        match self {
            Input::Feature(feature) => feature.request_cycles(reads),
            Input::Image(image) => image.request_cycles(),
            Input::Winograd(extended) => extended.request_cycles(),
        }
    }

    /// The number of elements in the read data that are not finite numbers; lanes beyond the channels count
    /// like all others.
    pub fn specials(&self, bytes: &[u8]) -> SpecialCounts {
        match self {
            Input::Feature(feature) | Input::Winograd(Winograd { feature, .. }) => match feature.format {
                Precision::Fp16 => SpecialCounts::of(bytes),
                _ => SpecialCounts::default(),
            },
            Input::Image(image) => image.specials(bytes),
        }
    }

    /// The data of these reads, as lines of this format, the first of which is `first`.
    fn lines(&self, precision: Precision, first: u32, lines: u32, bytes: &[u8]) -> Vec<Elements> {
        match self {
            Input::Feature(feature) => {
                (0..lines).map(|line| feature.line(precision, line, lines, bytes)).collect()
            }
            Input::Image(image) => vec![image.line(precision, bytes)],
            Input::Winograd(extended) => extended.lines(precision, first, lines, bytes),
        }
    }
}

impl CdmaLayer {
    /// The data of these reads, as lines for the buffer, the first of which is `first`.
    pub fn lines(&self, first: u32, lines: u32, bytes: &[u8]) -> Vec<Elements> {
        let lines = self.input.lines(self.converted, first, lines, bytes);
        match self.converted == self.precision {
            true => lines,
            false => lines.into_iter().map(Elements::low_bytes).collect(),
        }
    }

    /// Returns what the RTL reads otherwise: pixels of another size than what is computed, if they are not converted.
    pub(super) fn unconverted(&self) -> Option<String> {
        let Input::Image(image) = &self.input else { return None };
        let [pixels, computed] = [image.format.element_bytes() as usize, self.precision.bytes()];
        (image.converters.is_none() && pixels != computed).then(|| {
            format!(
                "D_CVT_CFG.CVT_EN is 0 for components of {pixels} bytes where {computed} are computed with: the RTL takes the bytes as they are (NV_NVDLA_CDMA_cvt, cfg_cvt_en), and here they have their value"
            )
        })
    }

    /// CSC begins with a layer when all its lines are there, and with a group of kernels when that is: what never
    /// fits would never begin (RTL, `NV_NVDLA_CSC_sg.v`, `dat_cbuf_ready`, `wt_cbuf_ready`).
    pub(super) fn check_room(&self, group: &Group, hardware: &Hardware) -> Result<(), Refused> {
        let refuse = |field, why: String| Err(Refused::new(group, field, why));
        let CdmaLayer { banks, weights, entries, .. } = self;
        // The last bank is the masks'.
        let there = hardware.banks - u32::from(weights.compressed.is_some());
        if banks.data + banks.weight > there {
            let why = format!("with {} data banks there are more than {there}", banks.data);
            return refuse(reg::D_BANK::WEIGHT_BANK, why);
        }
        let line = self.input.line_bytes(self.precision);
        if line > *entries as usize * hardware.entry_bytes as usize {
            return refuse(reg::D_ENTRY_PER_SLICE::ENTRIES, format!("a line has {line} bytes"));
        }
        let (needed, there) =
            (u64::from(self.input.height()) * u64::from(*entries), banks.data * hardware.bank_entries);
        if needed > u64::from(there) {
            return refuse(reg::D_BANK::DATA_BANK, format!("the input takes {needed} entries of {there}"));
        }
        let kernels = u64::from(weights.kernel_bytes) * u64::from(weights.kernels);
        let together = hardware.group_kernels(self.precision).min(weights.kernels);
        let held = if self.reuse.keep_weight { weights.kernels } else { together };
        let at_once = u64::from(held) * u64::from(weights.kernel_bytes);
        let there = banks.weight * hardware.bank_bytes();
        if let Some(Compressed { mask_bytes, .. }) = weights.compressed {
            let element = self.precision.bytes() as u64;
            if !u64::from(weights.kernel_bytes).is_multiple_of(element) {
                let why = "kernels have elements of two bytes".into();
                return refuse(reg::D_WEIGHT_SIZE_0::BYTE_PER_KERNEL, why);
            }
            let bits = kernels / element;
            if bits > 8 * u64::from(mask_bytes) {
                return refuse(reg::D_WMB_BYTES::WMB_BYTES, format!("the kernels have {bits} elements"));
            }
            let (bytes, bank) = ((at_once / element).div_ceil(8), hardware.bank_bytes());
            if bytes > u64::from(bank) {
                let why = format!("masks that are needed at once take {bytes} bytes of {bank}");
                return refuse(reg::D_WEIGHT_SIZE_1::WEIGHT_KERNEL, why);
            }
            // How much of the weights is needed at once, only the sizes say.
            if self.reuse.keep_weight && weights.bytes > there {
                let why = format!("weights that stay take {} bytes", weights.bytes);
                return refuse(reg::D_BANK::WEIGHT_BANK, why);
            }
            return Ok(());
        }
        if kernels > u64::from(weights.bytes) {
            return refuse(reg::D_WEIGHT_BYTES::WEIGHT_BYTES, format!("the kernels have {kernels} bytes"));
        }
        if at_once > u64::from(there) {
            let why = format!("{held} kernels that are needed at once take {at_once} bytes of {there}");
            return refuse(reg::D_BANK::WEIGHT_BANK, why);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::config::Config;
    use crate::nvdla::registers::{FieldRef, RegisterMap, Unit};
    use proptest::prelude::*;

    fn hardware(name: &str) -> Hardware {
        Hardware::from(&Config::named(name).unwrap())
    }

    /// Features of 6 x 4 x 20, kernels of 3 x 3, on nv_small.
    fn group() -> Group {
        let mut group = Group::new(Unit::Cdma, RegisterMap::Small);
        group.set_word(reg::D_MISC_CFG, 0);
        for (field, value) in [
            (reg::D_DATAIN_SIZE_0::DATAIN_WIDTH, 6),
            (reg::D_DATAIN_SIZE_0::DATAIN_HEIGHT, 4),
            (reg::D_DATAIN_SIZE_1::DATAIN_CHANNEL, 20),
            (reg::D_ENTRY_PER_SLICE::ENTRIES, 18),
            (reg::D_WEIGHT_SIZE_0::BYTE_PER_KERNEL, 180),
            (reg::D_WEIGHT_SIZE_1::WEIGHT_KERNEL, 10),
            (reg::D_WEIGHT_BYTES::WEIGHT_BYTES, 1920),
            (reg::D_BANK::DATA_BANK, 1),
            (reg::D_BANK::WEIGHT_BANK, 1),
        ] {
            group.set_actual(field, value);
        }
        group
    }

    fn refused(fields: &[(FieldRef, u32)]) -> Refused {
        let mut group = group();
        fields.iter().for_each(|&(field, value)| group.set_actual(field, value));
        CdmaLayer::decode(&group, &hardware("nv_small")).expect_err("refused")
    }

    fn refusal(field: FieldRef, value: u32) -> String {
        refused(&[(field, value)]).to_string()
    }

    #[test]
    fn what_another_configuration_has_is_marked_as_lacking() {
        use reg::D_DATAIN_FORMAT::{DATAIN_FORMAT, PIXEL_FORMAT};
        use reg::{D_BATCH_NUMBER::BATCHES, D_MISC_CFG::*, D_WEIGHT_FORMAT::WEIGHT_FORMAT};
        let pixels = |code| vec![(DATAIN_FORMAT, 1), (PIXEL_FORMAT, code)];
        for (fields, lacking) in [
            (vec![(PROC_PRECISION, 1)], true),
            (vec![(PROC_PRECISION, 3)], false),
            (vec![(CONV_MODE, 1)], true),
            (vec![(BATCHES, 2)], true),
            (vec![(WEIGHT_FORMAT, 1)], true),
            (pixels(PIXEL_FORMAT::T_R16), true),
            (pixels(63), false),
            (vec![(reg::D_DATAIN_SIZE_0::DATAIN_HEIGHT, 29)], false),
        ] {
            let refused = refused(&fields);
            assert_eq!(refused.lacking, lacking, "{refused}");
        }
    }

    #[test]
    fn reads_a_feature_cube_line_by_line_unless_lines_lie_back_to_back() {
        let mut group = group();
        group.set_actual(reg::D_FETCH_GRAIN::GRAINS, 3);
        let layer = CdmaLayer::decode(&group, &hardware("nv_small")).unwrap();
        assert_eq!((layer.input.lines_at_once(), layer.input.line_elements()), (1, 120));
        group.set(reg::D_DAIN_MAP::LINE_PACKED, 1);
        let layer = CdmaLayer::decode(&group, &hardware("nv_small")).unwrap();
        assert_eq!((layer.input.lines_at_once(), layer.input.bytes(0, 3)), (3, 3 * 3 * 6 * 8));
        assert_eq!([0, 1].map(|group| layer.weights.group_end(group, 8)), [1440, 1800]);
    }

    /// As run on the RTL (nv_small, `master`): of int16 the low byte goes on, of all else int8.
    #[test]
    fn a_converter_that_saturates_to_int16_hands_on_the_low_byte() {
        let converted = |code| {
            let mut group = group();
            group.set(reg::D_MISC_CFG::PROC_PRECISION, code);
            group.set(reg::D_CVT_CFG::CVT_EN, 1);
            group.set(reg::D_CVT_SCALE::CVT_SCALE, 100);
            let layer = CdmaLayer::decode(&group, &hardware("nv_small")).unwrap();
            let bytes: Vec<u8> = (0..layer.input.bytes(0, 1)).map(|at| at as u8).collect();
            layer.lines(0, 1, &bytes)[0].clone().int8().unwrap()[..4].to_vec()
        };
        assert_eq!([0, 1].map(converted), [[0, 100, 127, 127], [0, 100, -56, 44]]);
    }

    #[test]
    fn without_a_converter_int16_is_nothing_that_int8_hardware_computes() {
        let refused = refusal(reg::D_MISC_CFG::PROC_PRECISION, 1);
        let why = "this configuration does not compute int16";
        assert_eq!(refused, format!("CDMA.D_MISC_CFG.PROC_PRECISION = 0x1 (INT16): {why}"));
    }

    #[test]
    fn refuses_what_never_fits_the_buffer() {
        assert_eq!(
            refusal(reg::D_DATAIN_SIZE_0::DATAIN_HEIGHT, 29),
            "CDMA.D_BANK.DATA_BANK = 0x0: the input takes 522 entries of 512"
        );
        assert_eq!(
            refusal(reg::D_ENTRY_PER_SLICE::ENTRIES, 17),
            "CDMA.D_ENTRY_PER_SLICE.ENTRIES = 0x10: a line has 144 bytes"
        );
        assert_eq!(
            refusal(reg::D_BANK::DATA_BANK, 32),
            "CDMA.D_BANK.WEIGHT_BANK = 0x0: with 32 data banks there are more than 32"
        );
        assert_eq!(
            refusal(reg::D_WEIGHT_BYTES::WEIGHT_BYTES, 1664),
            "CDMA.D_WEIGHT_BYTES.WEIGHT_BYTES = 0x680: the kernels have 1800 bytes"
        );
    }

    #[test]
    fn weights_that_stay_must_fit_all_at_once() {
        let mut group = group();
        group.set_actual(reg::D_WEIGHT_SIZE_1::WEIGHT_KERNEL, 30);
        group.set_actual(reg::D_WEIGHT_BYTES::WEIGHT_BYTES, 5504);
        assert!(CdmaLayer::decode(&group, &hardware("nv_small")).is_ok());
        group.set(reg::D_MISC_CFG::SKIP_WEIGHT_RLS, 1);
        let refused = CdmaLayer::decode(&group, &hardware("nv_small")).expect_err("refused").to_string();
        let why = "30 kernels that are needed at once take 5400 bytes of 4096";
        assert_eq!(refused, format!("CDMA.D_BANK.WEIGHT_BANK = 0x0: {why}"));
    }

    #[test]
    fn refuses_what_the_configuration_lacks_by_name() {
        assert_eq!(
            refusal(reg::D_MISC_CFG::CONV_MODE, 1),
            "CDMA.D_MISC_CFG.CONV_MODE = 0x1 (WINOGRAD): this configuration has no Winograd"
        );
        assert_eq!(
            refusal(reg::D_BATCH_NUMBER::BATCHES, 2),
            "CDMA.D_BATCH_NUMBER.BATCHES = 0x1: this configuration does not take so many cubes at once"
        );
        assert_eq!(
            refusal(reg::D_WEIGHT_FORMAT::WEIGHT_FORMAT, 1),
            "CDMA.D_WEIGHT_FORMAT.WEIGHT_FORMAT = 0x1 (COMPRESSED): this configuration has no weight compression"
        );
    }

    proptest! {
        #[test]
        fn what_is_decoded_of_any_contents_fits_the_buffer(
            name in prop::sample::select(vec!["nv_small", "nv_large", "nv_full"]),
            words in prop::collection::vec(any::<u32>(), 60),
            small in prop::collection::vec(0u32..30, 60),
            winograd: bool,
            batches in 1u32..4,
        ) {
            let config = Config::named(name).unwrap();
            let hardware = Hardware::from(&config);
            let mut group = Group::new(Unit::Cdma, config.register_map);
            for (register, (word, shift)) in Unit::Cdma.registers().iter().zip(words.iter().zip(small)) {
                group.set_word(register, word >> shift);
            }
            group.set_word(reg::D_MISC_CFG, winograd.into());
            group.set_word(reg::D_BATCH_NUMBER, batches - 1);
            if let Ok(layer) = CdmaLayer::decode(&group, &hardware) {
                let held = hardware.banks as usize * hardware.bank_bytes() as usize;
                let elements = layer.input.line_elements() * layer.input.height() as usize;
                prop_assert!(elements * layer.precision.bytes() <= held);
            }
        }
    }
}
