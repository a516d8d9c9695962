//! Precision fields where int8 is all there is: of most units nothing reads them, so a layer is the same whatever they say.

use std::fs;
use std::path::Path;

use vp_core::Time;
use vp_host::Host as _;
use vp_host::LocalHost;
use vp_host::trace::player::{self, PlayOptions};
use vp_host::trace::{Trace, discover};
use vp_models::nvdla::registers::{
    FieldRef, Unit, cacc, cdma, cdp, cdp_rdma, cmac, csc, pdp, pdp_rdma, sdp_rdma,
};
use vp_models::platform::{Description, Platform};
use vp_tests::device::Device;
use vp_tests::layers::{CDP_0, CONV_0, INPUT, OPERANDS, OUTPUT, PDP_0, SDP_0, doubling, with_operands};
use vp_tests::program::Program;
use vp_tests::random::{ConvolutionKind, Draw};
use vp_tests::reference::{self, Image};
use vp_tests::{shared, traces};

/// A precision field.
type Field = (Unit, FieldRef);

/// Precision fields of a convolution, which nothing reads without Winograd's method and CDMA's converter.
const OF_CONVOLUTION: [Field; 7] = [
    (Unit::Cdma, cdma::D_MISC_CFG::IN_PRECISION),
    (Unit::Cdma, cdma::D_MISC_CFG::PROC_PRECISION),
    (Unit::Csc, csc::D_MISC_CFG::IN_PRECISION),
    (Unit::Csc, csc::D_MISC_CFG::PROC_PRECISION),
    (Unit::CmacA, cmac::D_MISC_CFG::PROC_PRECISION),
    (Unit::CmacB, cmac::D_MISC_CFG::PROC_PRECISION),
    (Unit::Cacc, cacc::D_MISC_CFG::PROC_PRECISION),
];

const OF_PDP: [Field; 2] =
    [(Unit::Pdp, pdp::D_DATA_FORMAT::INPUT_DATA), (Unit::PdpRdma, pdp_rdma::D_DATA_FORMAT::INPUT_DATA)];

const OF_CDP: [Field; 2] =
    [(Unit::Cdp, cdp::D_DATA_FORMAT::INPUT_DATA_TYPE), (Unit::CdpRdma, cdp_rdma::D_DATA_FORMAT::INPUT_DATA)];

const INT8_PLATFORMS: [&str; 6] =
    ["nv_small", "nv_small_256", "nv_medium_512", "nv_medium_1024_full", "nv_large_master", "nv_large"];

/// A layer with memory before and behind it.
struct Layer {
    platform: &'static str,
    memory: Image,
    expected: Image,
    /// Makes its writes up to the enables.
    write: Box<dyn Fn(&mut Program)>,
    enable: Box<dyn Fn(&mut Program)>,
    /// Bits with which it ends.
    interrupts: u32,
}

impl Layer {
    fn convolution(platform: &'static str, seed: u64, kind: ConvolutionKind) -> Layer {
        let mut draw = Draw::new(platform, seed);
        let (layer, buffer) = draw.convolution_of(kind, false);
        // The converter is tested by itself.
        let layer = reference::ConvLayer { converter: None, ..layer };
        let mut expected = draw.image();
        reference::run_convolution(&layer, &mut expected);
        let written = layer.clone();
        Layer {
            platform,
            memory: draw.image(),
            expected,
            write: Box::new(move |program| program.convolution(&written, &buffer, 0)),
            enable: Box::new(move |program| program.enable_convolution(&layer, 0, true)),
            interrupts: CONV_0 | SDP_0,
        }
    }

    fn pooling(platform: &'static str, seed: u64) -> Layer {
        let mut draw = Draw::new(platform, seed);
        let layer = draw.pdp();
        let mut expected = draw.image();
        reference::run_pdp(&layer, &mut expected);
        let written = layer.clone();
        Layer {
            platform,
            memory: draw.image(),
            expected,
            write: Box::new(move |program| program.pdp(&written, 0)),
            enable: Box::new(move |program| program.enable_pdp(&layer, 0)),
            interrupts: PDP_0,
        }
    }

    fn normalisation(platform: &'static str, seed: u64) -> Layer {
        let mut draw = Draw::new(platform, seed);
        let (layer, lut) = (draw.cdp(), draw.lut());
        let mut expected = draw.image();
        reference::run_cdp(&layer, &lut, &mut expected);
        Layer {
            platform,
            memory: draw.image(),
            expected,
            write: Box::new(move |program| {
                program.cdp_lut(&lut);
                program.cdp(&layer, 0);
            }),
            enable: Box::new(|program| program.enable_cdp(0)),
            interrupts: CDP_0,
        }
    }

    /// Runs it with these fields; it must leave its bytes. Gives when it ended, and the warnings.
    fn run(&self, fields: &[Field], code: u32) -> (Time, Vec<String>) {
        let mut device = Device::named(self.platform);
        device.load(&self.memory);
        device.run_new(|program| {
            (self.write)(program);
            fields.iter().for_each(|&(unit, field)| program.change(unit, field, code));
            (self.enable)(program);
        });
        device.interrupts(self.interrupts);
        let what = (self.platform, fields, code);
        assert_eq!(device.difference(&self.expected), None, "(address, found, expected) of {what:?}");
        (device.host.now().expect("time"), device.warnings())
    }

    /// Runs it with each of the fields, and with all, at each code.
    fn is_the_same_whatever_these_say(&self, fields: &[Field]) {
        let (end, warnings) = self.run(&[], 0);
        assert_eq!(warnings, Vec::<String>::new(), "{}", self.platform);
        for changed in fields.chunks(1).chain([fields]) {
            for code in 1..=3 {
                let (ended, _) = self.run(changed, code);
                assert_eq!(ended, end, "{} {changed:?} {code}", self.platform);
            }
        }
    }
}

#[test]
fn a_convolution_is_the_same_whatever_its_precisions_say() {
    for platform in INT8_PLATFORMS {
        Layer::convolution(platform, 3, ConvolutionKind::Feature)
            .is_the_same_whatever_these_say(&OF_CONVOLUTION);
    }
}

#[test]
fn pooling_is_the_same_whatever_its_precisions_say() {
    for platform in INT8_PLATFORMS {
        Layer::pooling(platform, 4).is_the_same_whatever_these_say(&OF_PDP);
    }
}

#[test]
fn normalisation_is_the_same_whatever_its_precisions_say() {
    for platform in INT8_PLATFORMS {
        Layer::normalisation(platform, 5).is_the_same_whatever_these_say(&OF_CDP);
    }
}

/// Winograd's method transforms the input by CSC's field, if that is int16.
#[test]
fn with_winograds_method_csc_refuses_int16_alone() {
    let others: Vec<Field> =
        OF_CONVOLUTION.into_iter().filter(|it| it.1 != csc::D_MISC_CFG::PROC_PRECISION).collect();
    let layer = Layer::convolution("nv_large", 3, ConvolutionKind::Winograd);
    layer.is_the_same_whatever_these_say(&others);
    let of_csc = (Unit::Csc, csc::D_MISC_CFG::PROC_PRECISION);
    for code in [2, 3] {
        layer.run(&[of_csc], code);
    }
    let mut device = Device::named("nv_large");
    device.run_new(|program| {
        (layer.write)(program);
        program.change(of_csc.0, of_csc.1, 1);
        (layer.enable)(program);
    });
    device.interrupts(layer.interrupts);
    let warnings = device.warnings();
    let refused = "layer refused: CSC.D_MISC_CFG.PROC_PRECISION = 0x1 (INT16): this configuration does not compute int16";
    assert!(warnings.iter().any(|text| text == refused), "{warnings:?}");
}

/// Warnings of a layer with this `SDP_RDMA.D_FEATURE_MODE_CFG.PROC_PRECISION`, and true if it leaves the bytes of int8.
fn processed_by_rdma(layer: &reference::SdpLayer, code: u32) -> (Vec<String>, bool) {
    let memory = Image::new([INPUT, OPERANDS, OUTPUT].map(|base| (base, (0..64).collect())).to_vec());
    let mut expected = memory.clone();
    reference::run_sdp(layer, &reference::Lut::default(), &mut expected);
    let mut device = Device::named("nv_small");
    device.load(&memory);
    device.run_new(|program| {
        program.sdp(layer, 0);
        program.change(Unit::SdpRdma, sdp_rdma::D_FEATURE_MODE_CFG::PROC_PRECISION, code);
        program.enable_sdp(0);
    });
    device.interrupts(SDP_0);
    (device.warnings(), device.difference(&expected).is_none())
}

/// As on the RTL (nv_small, `master`), where with operands other bytes come out.
#[test]
fn the_read_dma_of_sdp_processes_operands_alone_by_its_precision() {
    let plain = doubling(4, 2, INPUT, OUTPUT);
    for code in 0..=3 {
        assert_eq!(processed_by_rdma(&plain, code), (Vec::new(), true), "{code}");
        let (warnings, is_right) = processed_by_rdma(&with_operands(&plain), code);
        let refused = warnings.iter().any(|text| text.contains("SDP_RDMA.D_FEATURE_MODE_CFG.PROC_PRECISION"));
        assert_eq!((refused, is_right), (code != 0, code == 0), "{code}: {warnings:?}");
    }
}

/// A trace's failures and warnings with other values in registers, and another CRC to come out.
fn played(script: &Path, registers: &[(&str, u32)], crc: Option<u32>) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    for file in fs::read_dir(script.parent().unwrap()).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    let mut text = fs::read_to_string(script).unwrap();
    for (register, value) in registers {
        let start = format!("reg_write(NVDLA_{register}_0, ");
        let at = text.find(&start).unwrap_or_else(|| panic!("{register}")) + start.len();
        let end = at + text[at..].find(')').unwrap();
        text.replace_range(at..end, &format!("{value:#x}"));
    }
    if let Some(crc) = crc {
        let at = text.rfind(", 0x").unwrap();
        text.replace_range(at.., &format!(", {crc:#x});\n"));
    }
    let script = folder.path().join(script.file_name().unwrap());
    fs::write(&script, text).unwrap();
    let mut host = LocalHost::new(Platform::build(&Description::named("nv_small").unwrap()).unwrap());
    let map = host.map();
    let outcome =
        player::play(&Trace::load(&script).unwrap(), &mut host, &map, &PlayOptions::default()).unwrap();
    let failures = outcome.failures.iter().map(ToString::to_string).collect();
    (failures, host.warnings().into_iter().map(|warning| warning.text).collect())
}

const INT16: u32 = 0x1100;
const FP16: u32 = 0x2200;

/// CRCs are those that the RTL (nv_small, `master`) left. Inputs saturate in all layers but the first.
#[test]
fn a_converter_hands_on_the_low_byte_of_int16_as_the_rtl_does() {
    const CONNECTED: &str = "conv_fully_connected_4x4x16x40";
    const IMAGE: &str = "conv_image_a8b8g8r8_5x5_s2_22x18x16";
    for (name, scale, of_int8, of_int16) in [
        (CONNECTED, 0x3, 0x4935_9c36, 0x4935_9c36),
        (CONNECTED, 0x40, 0xb2d1_5651, 0xf16e_6527),
        (IMAGE, 0x1, 0x0833_004b, 0x1aa9_dc82),
        (IMAGE, 0x55, 0xdf46_6c16, 0x9616_b655),
    ] {
        let script = traces::folder().join("nv_small").join(name).join(format!("{name}.cfg"));
        for (codes, crc) in [(0, of_int8), (INT16, of_int16), (FP16, of_int8), (0x3300, of_int8)] {
            let registers = [("CDMA.D_CVT_SCALE", scale), ("CDMA.D_MISC_CFG", codes)];
            let (failures, _) = played(&script, &registers, Some(crc));
            assert_eq!(failures, Vec::<String>::new(), "{name} {scale:#x} {codes:#x}");
        }
    }
}

/// Drivers leave resets as they are.
#[test]
fn a_format_that_nothing_reads_is_told_unless_it_is_the_resets() {
    let name = "conv_3x3_bias_relu_9x7x12x20";
    let script = traces::folder().join("nv_small").join(name).join(format!("{name}.cfg"));
    let registers = ["CDMA", "CSC", "CMAC_A", "CMAC_B", "CACC"].map(|unit| format!("{unit}.D_MISC_CFG"));
    let warnings = |codes| {
        let (failures, warnings) = played(&script, &registers.each_ref().map(|it| (&**it, codes)), None);
        assert_eq!(failures, Vec::<String>::new());
        warnings
    };
    assert_eq!(warnings(INT16), Vec::<String>::new());
    let told = warnings(FP16);
    let fields = ["CDMA.D_MISC_CFG.IN", "CDMA.D_MISC_CFG.PROC", "CSC.D_MISC_CFG.IN", "CSC.D_MISC_CFG.PROC"];
    for field in fields.into_iter().chain(["CACC.D_MISC_CFG.PROC"]) {
        let count = told.iter().filter(|text| text.contains(field)).count();
        assert_eq!(count, 1, "{field}: {told:?}");
    }
    assert_eq!(told.iter().filter(|text| text.contains("CMAC.D_MISC_CFG.PROC")).count(), 2, "{told:?}");
}

#[test]
fn fields_that_people_leave_at_the_reset_or_set_in_vain_do_no_harm() {
    let Some(folder) = shared::folder("precision fields in the field", "field-cases/int8-precision-fields")
    else {
        return;
    };
    let sources = discover(&folder).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(sources.len(), 2);
    for script in sources.into_iter().map(|source| source.script) {
        assert_eq!(played(&script, &[], None).0, Vec::<String>::new(), "{}", script.display());
    }
}
