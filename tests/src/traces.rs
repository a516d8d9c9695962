//! The project's own traces: small layers in NVIDIA's script language that need nothing from outside.
//!
//! Inputs are drawn from a seed that the trace's name gives, what must come out is the plain
//! [`reference`](mod@crate::reference)'s. They are committed under `traces/<configuration>/<name>/`;
//! `cargo run -p vp-tests --bin make-traces` writes them again, and a test compares.

mod conv;
mod modes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use vp_host::Memory;
use vp_host::trace::cfg::{CfgCommand, Extent, Pattern};
use vp_host::trace::{RegisterName, Surface};
use vp_models::nvdla::config::Config;
use vp_models::nvdla::glb::Interrupt;
use vp_models::nvdla::registers::RegisterMap;

use crate::program::Program;
use crate::reference::{
    self, Alu, Carries, CdpLayer, Converter, CubePlace, Elementwise, ElementwiseAlu, ElementwiseMultiplier,
    ElementwiseOperand, Format, Image, Lut, LutTable, Operand, Operands, PdpLayer, PoolingMethod, SdpLayer,
    Stage, StageAlu, StageMultiplier,
};

const SMALL: Format = Format { atom: 8, element: 1 };

const INPUT: u64 = 0x8000_0000;
const OPERANDS: u64 = 0x8001_0000;
const OUTPUT: u64 = 0x8002_0000;

/// One trace, as the files it consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnTrace {
    /// The hardware configuration it is written for.
    pub config: &'static str,
    /// Name of the trace: the folder's and the script's.
    pub name: &'static str,
    /// Names and texts, the script's first.
    pub files: Vec<(String, String)>,
}

/// The folder of the committed traces.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces")
}

impl OwnTrace {
    /// The folder it lies in.
    pub fn folder(&self) -> PathBuf {
        folder().join(self.config).join(self.name)
    }
}

/// Every trace, made anew.
pub fn all() -> Vec<OwnTrace> {
    let others = [
        sdp_bias_scale_relu(),
        sdp_prelu_of_odd_channels(),
        sdp_residual_sum(),
        pdp_max(),
        pdp_average(),
        sdp_pdp(),
        sdp_elementwise_lut(),
        cdp_lrn(),
    ];
    others.into_iter().chain(conv::all()).chain(modes::all()).collect()
}

/// A cube of that many bytes a line, packed.
fn packed(base: u64, format: Format, width: u32, height: u32) -> CubePlace {
    CubePlace { base, line: width * format.atom, surface: width * format.atom * height }
}

fn bytes(place: CubePlace, format: Format, channels: u32) -> u64 {
    u64::from(place.surface) * u64::from(channels.div_ceil(format.lanes()))
}

/// Two-byte operands of each channel, the ALU's before the multiplier's.
fn pairs(operands: impl Iterator<Item = (i16, i16)>) -> Vec<u8> {
    operands.flat_map(|(alu, multiplier)| [alu.to_le_bytes(), multiplier.to_le_bytes()].concat()).collect()
}

/// A trace in the making: its lines, its files, and the memory as it stands before the layer.
struct Script {
    config: &'static str,
    name: &'static str,
    map: RegisterMap,
    text: String,
    files: BTreeMap<String, String>,
    regions: Vec<(u64, Vec<u8>)>,
    random: ChaCha8Rng,
}

impl Script {
    fn new(config: &'static str, name: &'static str, about: &[&str]) -> Script {
        let seed = name.bytes().fold(0, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
        let map = Config::named(config).expect("a built-in configuration").register_map;
        let random = ChaCha8Rng::seed_from_u64(seed);
        let (files, regions) = (BTreeMap::new(), Vec::new());
        let mut script = Script { config, name, map, text: String::new(), files, regions, random };
        script.comment(&format!("{name}, for {config}"));
        script.comment("");
        about.iter().for_each(|line| script.comment(line));
        script.comment("");
        script.comment("Made by `cargo run -p vp-tests --bin make-traces`; not to be edited by hand.");
        script
    }

    fn comment(&mut self, text: &str) {
        self.text.push_str(format!("// {text}").trim_end());
        self.text.push('\n');
    }

    fn section(&mut self, title: &str) {
        self.text.push('\n');
        self.comment(title);
    }

    fn command(&mut self, command: &CfgCommand) {
        self.text.push_str(&format!("{command}\n"));
    }

    fn random_bytes(&mut self, count: u64) -> Vec<u8> {
        (0..count).map(|_| self.random.random()).collect()
    }

    fn load(&mut self, what: &str, base: u64, file: &str, bytes: Vec<u8>) {
        self.section(what);
        self.files.insert(file.to_owned(), Surface::from_bytes(bytes.as_slice()).emit_entries());
        let file = file.to_owned();
        self.command(&CfgCommand::MemLoad { memory: Memory::Primary, base, file, after: None });
        self.regions.push((base, bytes));
    }

    /// Has the reference find bytes that the script does not load.
    fn remember(&mut self, base: u64, bytes: Vec<u8>) {
        self.regions.push((base, bytes));
    }

    fn clear(&mut self, what: &str, base: u64, size: u64) {
        self.section(what);
        let (memory, extent, pattern) = (Memory::Primary, Extent::Bytes(size), Pattern::AllZero);
        self.command(&CfgCommand::MemInit { memory, base, extent, pattern, after: None });
        self.regions.push((base, vec![0; size as usize]));
    }

    fn program(&mut self, what: &str, write: impl FnOnce(&mut Program)) {
        self.section(what);
        let mut program = Program::new(self.map);
        write(&mut program);
        for write in &program.writes {
            let name = format!("{}.{}", write.unit, write.register);
            let register = RegisterName::parse(&name).expect("a register's name");
            self.command(&CfgCommand::RegWrite { register, value: write.value });
        }
    }

    /// Ends the trace: these interrupts come, the last region holds what `layer` leaves there after the last.
    fn finish(mut self, interrupts: &[&str], layer: impl FnOnce(&mut Image)) -> OwnTrace {
        let mut image = Image::new(std::mem::take(&mut self.regions));
        layer(&mut image);
        self.section("What must come of it");
        let mut event = String::new();
        for name in interrupts {
            event = format!("{}_done", name.to_lowercase());
            let interrupt = Interrupt::parse(name).expect("an interrupt's name");
            self.command(&CfgCommand::IntrNotify { interrupt, event: event.clone() });
        }
        let (base, left) = image.regions().last().expect("an output");
        let values: BTreeSet<&u8> = left.iter().collect();
        assert!(values.len() > 16, "{}: {} values in the output show little", self.name, values.len());
        let crc = crc32(left);
        let (memory, base, size) = (Memory::Primary, *base, left.len() as u64);
        self.command(&CfgCommand::CheckCrc { event, memory, base, size, crc });
        let script = (format!("{}.cfg", self.name), self.text);
        let files = std::iter::once(script).chain(self.files).collect();
        OwnTrace { config: self.config, name: self.name, files }
    }
}

/// CRC-32 as in zlib.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn plain_stage() -> Stage {
    Stage { alu: None, multiplier: None, shift: 0, relu: false, operands: None }
}

fn sum_with_memory() -> Option<StageAlu> {
    Some(StageAlu { operation: Alu::Sum, operand: Operand::Memory, shift: 0 })
}

/// Memory to memory, packed, nothing done.
fn plain_sdp(width: u32, height: u32, channels: u32) -> SdpLayer {
    SdpLayer {
        format: SMALL,
        width,
        height,
        channels,
        source: packed(INPUT, SMALL, width, height),
        bs: None,
        bn: None,
        ew: None,
        converter: Converter::NONE,
        destination: Some(packed(OUTPUT, SMALL, width, height)),
    }
}

fn one_sdp_layer(mut script: Script, layer: &SdpLayer, lut: &Lut) -> OwnTrace {
    let output = layer.destination.expect("to memory");
    script.clear("Output", output.base, bytes(output, layer.format, layer.channels));
    if layer.ew.is_some_and(|ew| ew.lut) {
        script.program("Lookup tables", |program| program.sdp_lut(lut));
    }
    script.program("The layer", |program| program.sdp(layer, 0));
    script.program("Start", |program| program.enable_sdp(0));
    script.finish(&["SDP_0"], |image| reference::run_sdp(layer, lut, image))
}

fn sdp_bias_scale_relu() -> OwnTrace {
    let (width, height, channels) = (12, 10, 24);
    let mut script = Script::new(
        "nv_small",
        "sdp_bias_scale_relu_12x10x24",
        &[
            "SDP from memory to memory. BS: a bias and a scale of each channel, both from memory with two bytes,",
            "then ReLU. Output converter: times 51, shifted right by 6.",
        ],
    );
    let operands = Operands {
        carries: Carries::Both,
        bytes: 2,
        per_element: false,
        place: CubePlace { base: OPERANDS, line: 0, surface: 0 },
    };
    let layer = SdpLayer {
        bs: Some(Stage {
            alu: sum_with_memory(),
            multiplier: Some(StageMultiplier { operand: Operand::Memory, prelu: false }),
            shift: 8,
            relu: true,
            operands: Some(operands),
        }),
        converter: Converter { offset: 3, scale: 51, shift: 6 },
        ..plain_sdp(width, height, channels)
    };
    let input = script.random_bytes(bytes(layer.source, SMALL, channels));
    script.load("Input, 12 x 10 x 24", INPUT, "input.dat", input);
    let random = &mut script.random;
    let operands = pairs((0..channels).map(|_| (random.random_range(-60..60), random.random_range(64..700))));
    script.load("Bias and scale of each channel", OPERANDS, "bs_operands.dat", operands);
    one_sdp_layer(script, &layer, &Lut::default())
}

fn sdp_prelu_of_odd_channels() -> OwnTrace {
    let (width, height, channels) = (5, 7, 13);
    let mut script = Script::new(
        "nv_small",
        "sdp_prelu_5x7x13",
        &[
            "SDP from memory to memory, 13 channels: the last atom of each pixel is partly used, and written whole.",
            "BS: the register's bias. BN: parametric ReLU, negative values times a slope of each channel (one byte,",
            "from memory), shifted right by 5. Lines and surfaces lie apart.",
        ],
    );
    let operands = Operands {
        carries: Carries::Multiplier,
        bytes: 1,
        per_element: false,
        place: CubePlace { base: OPERANDS, line: 0, surface: 0 },
    };
    let layer = SdpLayer {
        source: CubePlace { base: INPUT, line: 0x40, surface: 0x200 },
        bs: Some(Stage {
            alu: Some(StageAlu { operation: Alu::Sum, operand: Operand::Register(-9), shift: 1 }),
            ..plain_stage()
        }),
        bn: Some(Stage {
            multiplier: Some(StageMultiplier { operand: Operand::Memory, prelu: true }),
            shift: 5,
            operands: Some(operands),
            ..plain_stage()
        }),
        destination: Some(CubePlace { base: OUTPUT, line: 0x30, surface: 0x180 }),
        ..plain_sdp(width, height, channels)
    };
    let input = script.random_bytes(bytes(layer.source, SMALL, channels));
    script.load("Input, 5 x 7 x 13", INPUT, "input.dat", input);
    let slopes = script.random_bytes(16);
    script.load("Slope of each channel", OPERANDS, "bn_operands.dat", slopes);
    one_sdp_layer(script, &layer, &Lut::default())
}

fn sdp_residual_sum() -> OwnTrace {
    let (width, height, channels) = (8, 8, 16);
    let mut script = Script::new(
        "nv_small",
        "sdp_residual_sum_8x8x16",
        &[
            "SDP from memory to memory. BS: adds a second cube, element by element, as a residual connection does.",
            "BN: ReLU. The sum is halved by the output converter.",
        ],
    );
    let operands = Operands {
        carries: Carries::Alu,
        bytes: 1,
        per_element: true,
        place: packed(OPERANDS, SMALL, width, height),
    };
    let layer = SdpLayer {
        bs: Some(Stage { alu: sum_with_memory(), operands: Some(operands), ..plain_stage() }),
        bn: Some(Stage { relu: true, ..plain_stage() }),
        converter: Converter { offset: 0, scale: 1, shift: 1 },
        ..plain_sdp(width, height, channels)
    };
    let input = script.random_bytes(bytes(layer.source, SMALL, channels));
    script.load("Input, 8 x 8 x 16", INPUT, "input.dat", input);
    let other = script.random_bytes(bytes(operands.place, SMALL, channels));
    script.load("The cube that is added", OPERANDS, "bs_operands.dat", other);
    one_sdp_layer(script, &layer, &Lut::default())
}

fn one_pdp_layer(mut script: Script, layer: &PdpLayer) -> OwnTrace {
    let source = layer.source.expect("from memory");
    let input = script.random_bytes(bytes(source, layer.format, layer.channels));
    let size = format!("Input, {} x {} x {}", layer.width, layer.height, layer.channels);
    script.load(&size, source.base, "input.dat", input);
    let output = layer.destination;
    script.clear("Output", output.base, bytes(output, layer.format, layer.channels));
    script.program("The layer", |program| program.pdp(layer, 0));
    script.program("Start", |program| program.enable_pdp(layer, 0));
    script.finish(&["PDP_0"], |image| reference::run_pdp(layer, image))
}

fn pdp_max() -> OwnTrace {
    let script = Script::new(
        "nv_small",
        "pdp_max_3x3_s2_16x16x16",
        &[
            "PDP from memory to memory: max pooling, windows of 3 x 3 every 2 pixels, one pixel of padding all",
            "around. Padding does not take part in a maximum.",
        ],
    );
    let layer = PdpLayer {
        format: SMALL,
        width: 16,
        height: 16,
        channels: 16,
        method: PoolingMethod::Max,
        kernel: [3, 3],
        stride: [2, 2],
        before: [1, 1],
        after: [1, 1],
        source: Some(packed(INPUT, SMALL, 16, 16)),
        destination: packed(OUTPUT, SMALL, 8, 8),
        strips: Vec::new(),
    };
    one_pdp_layer(script, &layer)
}

fn pdp_average() -> OwnTrace {
    let script = Script::new(
        "nv_small",
        "pdp_average_2x2_s2_13x11x16",
        &[
            "PDP from memory to memory: average pooling, windows of 2 x 2 every 2 pixels. Width and height are odd:",
            "the last windows hang over the edge, where elements count as -7.",
        ],
    );
    let layer = PdpLayer {
        format: SMALL,
        width: 13,
        height: 11,
        channels: 16,
        method: PoolingMethod::Average { padding: -7 },
        kernel: [2, 2],
        stride: [2, 2],
        before: [0, 0],
        after: [1, 1],
        source: Some(packed(INPUT, SMALL, 13, 11)),
        destination: packed(OUTPUT, SMALL, 7, 6),
        strips: Vec::new(),
    };
    one_pdp_layer(script, &layer)
}

fn sdp_pdp() -> OwnTrace {
    let (width, height, channels) = (16, 16, 16);
    let mut script = Script::new(
        "nv_small",
        "sdp_pdp_batchnorm_relu_maxpool_16x16x16",
        &[
            "The tail of a convolution layer as networks have it: batch normalisation, ReLU and max pooling of a",
            "16 x 16 x 16 feature map, in one go. SDP reads the map and normalises it (BN: minus the channel's mean,",
            "times its scale, both with two bytes from memory; shifted right by 8, then ReLU) and hands each pixel",
            "to PDP, which takes the maximum of 2 x 2 windows and writes 8 x 8 x 16. PDP is started first, as a",
            "driver does, and waits for SDP.",
        ],
    );
    let operands = Operands {
        carries: Carries::Both,
        bytes: 2,
        per_element: false,
        place: CubePlace { base: OPERANDS, line: 0, surface: 0 },
    };
    let sdp = SdpLayer {
        bn: Some(Stage {
            alu: sum_with_memory(),
            multiplier: Some(StageMultiplier { operand: Operand::Memory, prelu: false }),
            shift: 8,
            relu: true,
            operands: Some(operands),
        }),
        destination: None,
        ..plain_sdp(width, height, channels)
    };
    let pdp = PdpLayer {
        format: SMALL,
        width,
        height,
        channels,
        method: PoolingMethod::Max,
        kernel: [2, 2],
        stride: [2, 2],
        before: [0, 0],
        after: [0, 0],
        source: None,
        destination: packed(OUTPUT, SMALL, width / 2, height / 2),
        strips: Vec::new(),
    };
    let random = &mut script.random;
    let means: Vec<i16> = (0..channels).map(|_| random.random_range(-30..30)).collect();
    // Each channel is a slanted plane around its mean, with noise.
    let mut map = vec![0; bytes(sdp.source, SMALL, channels) as usize];
    for channel in 0..channels {
        let slant = [random.random_range(-4..=4), random.random_range(-4..=4)];
        for y in 0..height {
            for x in 0..width {
                let plane = slant[0] * (x as i32 - 8) + slant[1] * (y as i32 - 8);
                let value = i32::from(means[channel as usize]) + plane + random.random_range(-20..=20);
                let at = sdp.source.address(SMALL, channel, y, x) - sdp.source.base;
                map[at as usize] = value.clamp(-128, 127) as i8 as u8;
            }
        }
    }
    let operands = pairs(means.iter().map(|mean| (-mean, random.random_range(200..600))));
    script.load("Input: the feature map, 16 x 16 x 16", INPUT, "input.dat", map);
    script.load("Minus mean and scale of each channel", OPERANDS, "bn_operands.dat", operands);
    script.clear("Output, 8 x 8 x 16", OUTPUT, bytes(pdp.destination, SMALL, channels));
    script.program("Pooling: 2 x 2 windows, every 2 pixels, input from SDP", |program| program.pdp(&pdp, 0));
    script.program("Start of PDP", |program| program.enable_pdp(&pdp, 0));
    script.program("Normalisation and ReLU, output to PDP", |program| program.sdp(&sdp, 0));
    script.program("Start of SDP", |program| program.enable_sdp(0));
    script.finish(&["SDP_0", "PDP_0"], |image| reference::run_sdp_to_pdp(&sdp, &pdp, image))
}

fn sdp_elementwise_lut() -> OwnTrace {
    let (width, height, channels) = (9, 6, 16);
    let mut script = Script::new(
        "nv_small_256_full",
        "sdp_elementwise_sigmoid_9x6x16",
        &[
            "SDP from memory to memory. EW: times a factor, plus a second cube (converted: minus 2, times 3), then a",
            "sigmoid through the lookup tables: LO covers -512 to 512 closely, LE -16384 to 16384 coarsely.",
        ],
    );
    let operands = Operands {
        carries: Carries::Alu,
        bytes: 1,
        per_element: true,
        place: packed(OPERANDS, SMALL, width, height),
    };
    let layer = SdpLayer {
        ew: Some(Elementwise {
            multiplier: Some(ElementwiseMultiplier {
                operand: ElementwiseOperand::Register(45),
                shift: 3,
                prelu: false,
            }),
            alu: Some(ElementwiseAlu {
                operation: Alu::Sum,
                operand: ElementwiseOperand::Memory(Some(Converter { offset: 2, scale: 3, shift: 0 })),
            }),
            lut: true,
            operands: Some(operands),
        }),
        converter: Converter { offset: 0, scale: 1, shift: 8 },
        ..plain_sdp(width, height, channels)
    };
    let input = script.random_bytes(bytes(layer.source, SMALL, channels));
    script.load("Input, 9 x 6 x 16", INPUT, "input.dat", input);
    let other = script.random_bytes(bytes(operands.place, SMALL, channels));
    script.load("The cube that is added", OPERANDS, "ew_operands.dat", other);
    one_sdp_layer(script, &layer, &sigmoid())
}

/// x / (1 + |x|), a sigmoid that integers can say: 32767 for the largest, half of it at 256.
fn sigmoid() -> Lut {
    let at = |x: i32| (32767 * x / (256 + x.abs())) as i16;
    let table = |entries: i32, select: i32| {
        let half = ((entries - 1) / 2) << select;
        LutTable {
            entries: (0..entries).map(|index| at((index << select) - half)).collect(),
            start: -half,
            end: half,
            select,
            below: (1, 4),
            above: (1, 4),
        }
    };
    Lut { le: table(65, 9), lo: table(257, 2), exponent: None, lo_first: [false, false, true] }
}

fn cdp_lrn() -> OwnTrace {
    let (width, height, channels) = (7, 5, 20);
    let mut script = Script::new(
        "nv_small",
        "cdp_lrn5_7x5x20",
        &[
            "CDP from memory to memory: each element is divided by a term that grows with the square sum of five",
            "channels around it. 20 channels fill no atom. LO covers all sums that there can be, LE twice as much.",
        ],
    );
    let layer = CdpLayer {
        format: SMALL,
        width,
        height,
        channels,
        window: 5,
        plain: false,
        unscaled: false,
        input: Converter::NONE,
        output: Converter { offset: 0, scale: 1, shift: 14 },
        source: packed(INPUT, SMALL, width, height),
        destination: packed(OUTPUT, SMALL, width, height),
    };
    let input = script.random_bytes(bytes(layer.source, SMALL, channels));
    script.load("Input, 7 x 5 x 20", INPUT, "input.dat", input);
    script.clear("Output", OUTPUT, bytes(layer.destination, SMALL, channels));
    let lut = reciprocal();
    script.program("Lookup tables", |program| program.cdp_lut(&lut));
    script.program("The layer", |program| program.cdp(&layer, 0));
    script.program("Start", |program| program.enable_cdp(0));
    script.finish(&["CDP_0"], |image| reference::run_cdp(&layer, &lut, image))
}

/// 32767 for 0, half of it at 16384.
fn reciprocal() -> Lut {
    let table = |entries: i32, select: i32| LutTable {
        entries: (0..entries).map(|index| (32767 * 128 / (128 + (index << select >> 7))) as i16).collect(),
        start: 0,
        end: (entries - 1) << select,
        select,
        below: (0, 0),
        above: (0, 0),
    };
    Lut { le: table(65, 12), lo: table(257, 9), exponent: None, lo_first: [true, false, true] }
}
