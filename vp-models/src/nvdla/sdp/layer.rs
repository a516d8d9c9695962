//! One SDP layer: what a register group of SDP, and the one of SDP_RDMA beside it, say.
//!
//! [`Layer::decode`] checks everything once; [`super::compute`] and the timing rely on it. All fields are plain data:
//! tests build layers by hand.

use crate::nvdla::config::Config;
use crate::nvdla::cube::{self, Packing, Ram, Surface};
use crate::nvdla::formats::Formats;
use crate::nvdla::numeric::{Converter, Precision};
use crate::nvdla::order::Order;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{FieldRef, Group, sdp as reg, sdp_rdma as rdma_reg};

use super::lut;

/// What an SDP consists of, by hardware configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hardware {
    /// Bytes of a memory atom: 8, 16 or 32.
    pub atom: usize,
    /// Has the first stage (BS, X1).
    pub bs: bool,
    /// Has the second stage (BN, X2).
    pub bn: bool,
    /// Has the element-wise stage (EW, Y).
    pub ew: bool,
    /// The element-wise stage has its lookup table.
    pub lut: bool,
    /// What it computes besides int8.
    pub formats: Formats,
    /// Takes the order of Winograd's method.
    pub winograd: bool,
    /// Cubes that one layer takes at most.
    pub batches: u32,
}

impl From<&Config> for Hardware {
    fn from(config: &Config) -> Self {
        Hardware {
            atom: config.memory_atom as usize,
            bs: config.sdp_bs,
            bn: config.sdp_bn,
            ew: config.sdp_ew,
            lut: config.sdp_lut,
            formats: Formats::of_features(config),
            winograd: config.winograd,
            batches: if config.batch { config.max_batch } else { 1 },
        }
    }
}

/// One hardware layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Bytes of a memory atom.
    pub atom: usize,
    /// Pixels in a line.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// Channels; the last surface may be partly used.
    pub channels: u32,
    /// Format of processing.
    pub precision: Precision,
    /// Format of input from memory: that of processing, or int16 where int8 is processed.
    pub input: Precision,
    /// Format of output: int8 becomes any other, int16 and fp16 each other.
    pub output: Precision,
    /// In fp16, inputs and operands in memory that are not numbers count as 0.
    pub nan_to_zero: bool,
    /// In which order pixels pass: another than line after line only from the accumulator to memory.
    pub order: Order,
    /// Bytes from the output of a cube to that of the next.
    pub cube_stride: u32,
    /// Where input comes from.
    pub source: Source,
    /// First stage, unless bypassed or absent.
    pub bs: Option<Stage>,
    /// Second stage, unless bypassed or absent.
    pub bn: Option<Stage>,
    /// Element-wise stage, unless bypassed or absent.
    pub ew: Option<Elementwise>,
    /// Output converter of integers; the result saturates to the output format.
    pub converter: Converter,
    /// Where output goes.
    pub destination: Destination,
}

/// Where the input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// On the fly from the convolution accumulator, 32 bits an element.
    Accumulator,
    /// From memory.
    Memory(Surface),
}

/// Where the output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// On the fly to PDP.
    Pooling,
    /// To memory.
    Memory(Surface),
}

/// Where one operand of BS or BN comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The same for every element.
    Register(i16),
    /// From the stage's [`OperandStream`].
    Memory,
}

/// Stage BS or BN: ALU, multiplier, shift, ReLU, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// ALU, unless bypassed.
    pub alu: Option<StageAlu>,
    /// Multiplier, unless bypassed.
    pub multiplier: Option<StageMultiplier>,
    /// Right shift behind the multiplier, 0 to 63; applied also when the multiplier is bypassed.
    pub shift: u8,
    /// Negative results become 0.
    pub relu: bool,
    /// Memory operands; `Some` exactly when one of them is [`Operand::Memory`].
    pub operands: Option<OperandStream>,
}

/// ALU of BS or BN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageAlu {
    /// What it does.
    pub operation: AluOperation,
    /// Second operand.
    pub operand: Operand,
    /// Left shift of the operand, 0 to 63; the result saturates to 32 bits.
    pub shift: u8,
}

/// Multiplier of BS or BN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageMultiplier {
    /// Factor.
    pub operand: Operand,
    /// Parametric ReLU: only negative values are multiplied (and shifted).
    pub prelu: bool,
}

/// What an ALU does with data and operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AluOperation {
    /// The larger.
    Max,
    /// The smaller.
    Min,
    /// The sum.
    Sum,
}

/// What the ALU of the element-wise stage does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementwiseOperation {
    /// As in BS and BN.
    Alu(AluOperation),
    /// Compares with the operand: nothing is written, `D_STATUS` tells whether any element differs.
    Equal,
}

/// Where one operand of the element-wise stage comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementwiseOperand {
    /// The same for every element, not converted.
    Register(i32),
    /// From the stage's [`OperandStream`], through its converter unless bypassed.
    Memory(Option<Converter>),
}

/// The element-wise stage: multiplier, ALU, lookup table, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elementwise {
    /// Multiplier, unless bypassed.
    pub multiplier: Option<ElementwiseMultiplier>,
    /// ALU, unless bypassed.
    pub alu: Option<ElementwiseAlu>,
    /// Lookup table, unless bypassed or absent.
    pub lut: Option<lut::Settings>,
    /// Memory operands; `Some` exactly when one of them is [`ElementwiseOperand::Memory`].
    pub operands: Option<OperandStream>,
}

/// Multiplier of the element-wise stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementwiseMultiplier {
    /// Factor.
    pub operand: ElementwiseOperand,
    /// Right shift of the product, 0 to 1023. Not applied to values PReLU passes.
    pub shift: u16,
    /// Parametric ReLU: only negative values are multiplied.
    pub prelu: bool,
}

/// ALU of the element-wise stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementwiseAlu {
    /// What it does.
    pub operation: ElementwiseOperation,
    /// Second operand.
    pub operand: ElementwiseOperand,
}

/// Which operands a stream carries for each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carries {
    /// The factor.
    Multiplier,
    /// The ALU operand.
    Alu,
    /// First the ALU operand, then the factor.
    Both,
}

/// Operands of one stage in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandStream {
    /// Where they lie. A "pixel" holds the operands of one atom's lanes; packed when there is one value a channel.
    pub surface: Surface,
    /// Which operands.
    pub carries: Carries,
    /// Bytes of one operand: 1 (sign-extended) or 2 (little endian).
    pub operand_bytes: usize,
    /// One set of operands an element (`true`) or a channel (`false`).
    pub per_element: bool,
}

impl OperandStream {
    /// Bytes of operands of one element, or of one channel.
    pub const fn element_bytes(&self) -> usize {
        match self.carries {
            Carries::Multiplier | Carries::Alu => self.operand_bytes,
            Carries::Both => 2 * self.operand_bytes,
        }
    }

    /// Bytes of operands of one atom's `lanes`.
    pub const fn group_bytes(&self, lanes: usize) -> usize {
        lanes * self.element_bytes()
    }

    /// Where in an element's operands the ALU's begins, in bytes.
    pub const fn alu_offset(&self) -> usize {
        0
    }

    /// Where in an element's operands the factor begins, in bytes.
    pub const fn multiplier_offset(&self) -> usize {
        match self.carries {
            Carries::Multiplier | Carries::Alu => 0,
            Carries::Both => self.operand_bytes,
        }
    }
}

impl Layer {
    /// Elements in an atom.
    pub const fn lanes(&self) -> usize {
        self.atom / self.precision.bytes()
    }

    /// Atoms of input from memory that are processed together, each of another surface.
    pub const fn input_atoms(&self) -> u32 {
        (self.input.bytes() / self.precision.bytes()) as u32
    }

    /// Atoms of output that come of one step, each of another surface.
    pub const fn output_atoms(&self) -> u32 {
        (self.output.bytes() / self.precision.bytes()) as u32
    }

    /// Surfaces as they are processed; of a wider format in memory there are two for each.
    pub const fn surfaces(&self) -> u32 {
        cube::surfaces(self.channels, self.lanes())
    }

    /// Steps of each surface: its pixels, those of all cubes.
    pub const fn steps(&self) -> u64 {
        self.order.cubes() as u64 * self.width as u64 * self.height as u64
    }

    /// Whether results are written or passed on; a comparison (`EQL`) does neither.
    pub fn has_output(&self) -> bool {
        !matches!(
            self.ew,
            Some(Elementwise {
                alu: Some(ElementwiseAlu { operation: ElementwiseOperation::Equal, .. }),
                ..
            })
        )
    }

    /// Whether SDP_RDMA takes part: input or an operand comes from memory.
    pub fn uses_rdma(&self) -> bool {
        matches!(self.source, Source::Memory(_))
            || self.bs.is_some_and(|stage| stage.operands.is_some())
            || self.bn.is_some_and(|stage| stage.operands.is_some())
            || self.ew.is_some_and(|stage| stage.operands.is_some())
    }

    /// Whether a layer that these SDP registers describe needs SDP_RDMA: [`Layer::uses_rdma`] before decoding, to
    /// know whether to wait for the RDMA's own enable bit.
    pub fn needs_rdma(sdp: &Group, hardware: &Hardware) -> bool {
        let memory_operand = |present: bool, stage: &StageFields| {
            present
                && !sdp.flag(stage.bypass)
                && ((!sdp.flag(stage.alu_bypass) && sdp.flag(stage.alu_source))
                    || (!sdp.flag(stage.mul_bypass) && sdp.flag(stage.mul_source)))
        };
        !sdp.flag(reg::d_feature_mode_cfg::FLYING_MODE)
            || memory_operand(hardware.bs, &BS)
            || memory_operand(hardware.bn, &BN)
            || memory_operand(hardware.ew, &EW)
    }

    /// Decodes and checks a group of SDP and, if the layer reads memory, of SDP_RDMA (not looked at otherwise).
    ///
    /// Stages the hardware lacks are bypassed whatever their registers say, as their logic is.
    pub fn decode(sdp: &Group, rdma: &Group, hardware: &Hardware) -> Result<Layer, Refused> {
        let precision = hardware.formats.decode(sdp, reg::d_data_format::PROC_PRECISION)?;
        Decoder { sdp, rdma, hardware, precision }.layer()
    }
}

/// The fields that the three stages have in common, under different names.
struct StageFields {
    name: &'static str,
    bypass: FieldRef,
    alu_bypass: FieldRef,
    alu_algo: FieldRef,
    mul_bypass: FieldRef,
    mul_prelu: FieldRef,
    alu_source: FieldRef,
    mul_source: FieldRef,
    alu_operand: FieldRef,
    mul_operand: FieldRef,
    // Of SDP_RDMA:
    disable: FieldRef,
    data_use: FieldRef,
    data_size: FieldRef,
    data_mode: FieldRef,
    ram_type: FieldRef,
    base_low: FieldRef,
    base_high: FieldRef,
    line_stride: FieldRef,
    surface_stride: FieldRef,
}

const BS: StageFields = StageFields {
    name: "BS",
    bypass: reg::d_dp_bs_cfg::BS_BYPASS,
    alu_bypass: reg::d_dp_bs_cfg::BS_ALU_BYPASS,
    alu_algo: reg::d_dp_bs_cfg::BS_ALU_ALGO,
    mul_bypass: reg::d_dp_bs_cfg::BS_MUL_BYPASS,
    mul_prelu: reg::d_dp_bs_cfg::BS_MUL_PRELU,
    alu_source: reg::d_dp_bs_alu_cfg::BS_ALU_SRC,
    mul_source: reg::d_dp_bs_mul_cfg::BS_MUL_SRC,
    alu_operand: reg::d_dp_bs_alu_src_value::BS_ALU_OPERAND,
    mul_operand: reg::d_dp_bs_mul_src_value::BS_MUL_OPERAND,
    disable: rdma_reg::d_brdma_cfg::BRDMA_DISABLE,
    data_use: rdma_reg::d_brdma_cfg::BRDMA_DATA_USE,
    data_size: rdma_reg::d_brdma_cfg::BRDMA_DATA_SIZE,
    data_mode: rdma_reg::d_brdma_cfg::BRDMA_DATA_MODE,
    ram_type: rdma_reg::d_brdma_cfg::BRDMA_RAM_TYPE,
    base_low: rdma_reg::d_bs_base_addr_low::BS_BASE_ADDR_LOW,
    base_high: rdma_reg::d_bs_base_addr_high::BS_BASE_ADDR_HIGH,
    line_stride: rdma_reg::d_bs_line_stride::BS_LINE_STRIDE,
    surface_stride: rdma_reg::d_bs_surface_stride::BS_SURFACE_STRIDE,
};

const BN: StageFields = StageFields {
    name: "BN",
    bypass: reg::d_dp_bn_cfg::BN_BYPASS,
    alu_bypass: reg::d_dp_bn_cfg::BN_ALU_BYPASS,
    alu_algo: reg::d_dp_bn_cfg::BN_ALU_ALGO,
    mul_bypass: reg::d_dp_bn_cfg::BN_MUL_BYPASS,
    mul_prelu: reg::d_dp_bn_cfg::BN_MUL_PRELU,
    alu_source: reg::d_dp_bn_alu_cfg::BN_ALU_SRC,
    mul_source: reg::d_dp_bn_mul_cfg::BN_MUL_SRC,
    alu_operand: reg::d_dp_bn_alu_src_value::BN_ALU_OPERAND,
    mul_operand: reg::d_dp_bn_mul_src_value::BN_MUL_OPERAND,
    disable: rdma_reg::d_nrdma_cfg::NRDMA_DISABLE,
    data_use: rdma_reg::d_nrdma_cfg::NRDMA_DATA_USE,
    data_size: rdma_reg::d_nrdma_cfg::NRDMA_DATA_SIZE,
    data_mode: rdma_reg::d_nrdma_cfg::NRDMA_DATA_MODE,
    ram_type: rdma_reg::d_nrdma_cfg::NRDMA_RAM_TYPE,
    base_low: rdma_reg::d_bn_base_addr_low::BN_BASE_ADDR_LOW,
    base_high: rdma_reg::d_bn_base_addr_high::BN_BASE_ADDR_HIGH,
    line_stride: rdma_reg::d_bn_line_stride::BN_LINE_STRIDE,
    surface_stride: rdma_reg::d_bn_surface_stride::BN_SURFACE_STRIDE,
};

const EW: StageFields = StageFields {
    name: "EW",
    bypass: reg::d_dp_ew_cfg::EW_BYPASS,
    alu_bypass: reg::d_dp_ew_cfg::EW_ALU_BYPASS,
    alu_algo: reg::d_dp_ew_cfg::EW_ALU_ALGO,
    mul_bypass: reg::d_dp_ew_cfg::EW_MUL_BYPASS,
    mul_prelu: reg::d_dp_ew_cfg::EW_MUL_PRELU,
    alu_source: reg::d_dp_ew_alu_cfg::EW_ALU_SRC,
    mul_source: reg::d_dp_ew_mul_cfg::EW_MUL_SRC,
    alu_operand: reg::d_dp_ew_alu_src_value::EW_ALU_OPERAND,
    mul_operand: reg::d_dp_ew_mul_src_value::EW_MUL_OPERAND,
    disable: rdma_reg::d_erdma_cfg::ERDMA_DISABLE,
    data_use: rdma_reg::d_erdma_cfg::ERDMA_DATA_USE,
    data_size: rdma_reg::d_erdma_cfg::ERDMA_DATA_SIZE,
    data_mode: rdma_reg::d_erdma_cfg::ERDMA_DATA_MODE,
    ram_type: rdma_reg::d_erdma_cfg::ERDMA_RAM_TYPE,
    base_low: rdma_reg::d_ew_base_addr_low::EW_BASE_ADDR_LOW,
    base_high: rdma_reg::d_ew_base_addr_high::EW_BASE_ADDR_HIGH,
    line_stride: rdma_reg::d_ew_line_stride::EW_LINE_STRIDE,
    surface_stride: rdma_reg::d_ew_surface_stride::EW_SURFACE_STRIDE,
};

struct Decoder<'a> {
    sdp: &'a Group,
    rdma: &'a Group,
    hardware: &'a Hardware,
    precision: Precision,
}

impl Decoder<'_> {
    fn layer(&self) -> Result<Layer, Refused> {
        use reg::d_data_format::OUT_PRECISION;
        use reg::d_feature_mode_cfg::{FLYING_MODE, NAN_TO_ZERO, OUTPUT_DST};
        let sdp = self.sdp;
        let order = self.order()?;
        let layer = Layer {
            atom: self.hardware.atom,
            width: sdp.actual(reg::d_data_cube_width::WIDTH),
            height: sdp.actual(reg::d_data_cube_height::HEIGHT),
            channels: sdp.actual(reg::d_data_cube_channel::CHANNEL),
            precision: self.precision,
            input: if sdp.flag(FLYING_MODE) { self.precision } else { self.input()? },
            output: self.output(order)?,
            nan_to_zero: sdp.flag(NAN_TO_ZERO),
            order,
            cube_stride: sdp.actual(reg::d_dst_batch_stride::DST_BATCH_STRIDE),
            source: if sdp.flag(FLYING_MODE) { Source::Accumulator } else { Source::Memory(self.source()) },
            bs: if self.hardware.bs { self.stage(&BS)? } else { None },
            bn: if self.hardware.bn { self.stage(&BN)? } else { None },
            ew: if self.hardware.ew { self.elementwise()? } else { None },
            converter: Converter {
                offset: sdp.get_signed(reg::d_cvt_offset::CVT_OFFSET),
                scale: sdp.get_signed(reg::d_cvt_scale::CVT_SCALE) as i16,
                shift: sdp.get(reg::d_cvt_shift::CVT_SHIFT) as u8,
            },
            destination: if sdp.flag(OUTPUT_DST) {
                Destination::Pooling
            } else {
                Destination::Memory(Surface {
                    ram: Ram::from_field(sdp.get(reg::d_dst_dma_cfg::DST_RAM_TYPE)),
                    base: sdp.address(
                        reg::d_dst_base_addr_low::DST_BASE_ADDR_LOW,
                        reg::d_dst_base_addr_high::DST_BASE_ADDR_HIGH,
                    ),
                    line_stride: sdp.actual(reg::d_dst_line_stride::DST_LINE_STRIDE),
                    surface_stride: sdp.actual(reg::d_dst_surface_stride::DST_SURFACE_STRIDE),
                    pixel: self.hardware.atom as u32,
                    // Of several cubes not even a single pixel is packed (RTL, branch nvdlav1,
                    // `NV_NVDLA_SDP_WDMA_cmd.v`, `cfg_mode_1x1_nbatch`).
                    packing: if order.cubes() > 1 { Packing::Strided } else { self.packing() },
                })
            },
        };
        if !layer.has_output() && layer.destination == Destination::Pooling {
            return Err(Refused::new(sdp, OUTPUT_DST, "a comparison (EQL) passes nothing on to PDP"));
        }
        if layer.output_atoms() > 1 && layer.destination == Destination::Pooling {
            // Two surfaces come pixel by pixel in turns; PDP takes one after the other.
            return Err(Refused::new(
                sdp,
                OUT_PRECISION,
                "PDP takes no format wider than that of processing",
            ));
        }
        if layer.uses_rdma() {
            self.check_rdma_agrees()?;
        }
        Ok(layer)
    }

    /// Winograd's order and batches go with a convolution, and to memory.
    fn order(&self) -> Result<Order, Refused> {
        use reg::d_feature_mode_cfg::{BATCH_NUMBER, FLYING_MODE, OUTPUT_DST, WINOGRAD};
        let refuse = |field, why| Err(Refused::new(self.sdp, field, why));
        let cubes = self.sdp.actual(BATCH_NUMBER);
        let (field, order) = match (self.sdp.flag(WINOGRAD), cubes) {
            (false, 1) => return Ok(Order::Lines),
            (false, _) => (BATCH_NUMBER, Order::Cubes(cubes)),
            (true, 1) => (WINOGRAD, Order::Tiles),
            (true, _) => return refuse(BATCH_NUMBER, "with Winograd there is one cube (0)"),
        };
        if order == Order::Tiles && !self.hardware.winograd {
            return refuse(field, "this configuration has no Winograd");
        }
        if cubes > self.hardware.batches {
            return refuse(field, "this configuration does not take so many cubes at once");
        }
        if !self.sdp.flag(FLYING_MODE) {
            return refuse(field, "only a convolution makes it, so that input comes from there");
        }
        if self.sdp.flag(OUTPUT_DST) {
            return refuse(field, "PDP takes one cube, line after line");
        }
        let [width, height] = [reg::d_data_cube_width::WIDTH, reg::d_data_cube_height::HEIGHT];
        for size in [width, height] {
            if order == Order::Tiles && !self.sdp.actual(size).is_multiple_of(4) {
                return refuse(size, "Winograd makes a multiple of four");
            }
        }
        Ok(order)
    }

    /// Cubes of one pixel are packed, here and in SDP_RDMA.
    fn packing(&self) -> Packing {
        let one_pixel = self.sdp.actual(reg::d_data_cube_width::WIDTH) == 1
            && self.sdp.actual(reg::d_data_cube_height::HEIGHT) == 1;
        if one_pixel { Packing::Packed } else { Packing::Strided }
    }

    /// SDP_RDMA must deliver what SDP expects: hardware would wait for the rest for ever.
    fn check_rdma_agrees(&self) -> Result<(), Refused> {
        use rdma_reg::d_feature_mode_cfg as mode;
        let pairs = [
            (reg::d_data_cube_width::WIDTH, rdma_reg::d_data_cube_width::WIDTH),
            (reg::d_data_cube_height::HEIGHT, rdma_reg::d_data_cube_height::HEIGHT),
            (reg::d_data_cube_channel::CHANNEL, rdma_reg::d_data_cube_channel::CHANNEL),
            (reg::d_feature_mode_cfg::FLYING_MODE, mode::FLYING_MODE),
            (reg::d_feature_mode_cfg::WINOGRAD, mode::WINOGRAD),
            (reg::d_feature_mode_cfg::BATCH_NUMBER, mode::BATCH_NUMBER),
            (reg::d_data_format::PROC_PRECISION, mode::PROC_PRECISION),
        ];
        for (of_sdp, of_rdma) in pairs {
            let expected = self.sdp.get(of_sdp);
            if self.rdma.get(of_rdma) != expected {
                return Err(Refused::new(self.rdma, of_rdma, format!("SDP.{of_sdp} is {expected:#x}")));
            }
        }
        Ok(())
    }

    /// SDP_RDMA takes two surfaces of int16 for one that is processed as int8; it converts nothing else.
    fn input(&self) -> Result<Precision, Refused> {
        use rdma_reg::d_feature_mode_cfg::IN_PRECISION;
        let input = self.hardware.formats.decode(self.rdma, IN_PRECISION)?;
        match (self.precision, input) {
            (Precision::Int8, Precision::Int16) => Ok(input),
            (processing, input) if processing == input => Ok(input),
            _ => {
                Err(Refused::new(self.rdma, IN_PRECISION, "only int8 processing reads another format, int16"))
            }
        }
    }

    /// The output converter makes no int8 of wider elements: there are not enough of them for an atom.
    fn output(&self, order: Order) -> Result<Precision, Refused> {
        use reg::d_data_format::OUT_PRECISION;
        let output = self.hardware.formats.decode(self.sdp, OUT_PRECISION)?;
        if output == Precision::Int8 && self.precision != Precision::Int8 {
            return Err(Refused::new(self.sdp, OUT_PRECISION, "only int8 processing gives int8"));
        }
        if output.bytes() > self.precision.bytes() && order != Order::Lines {
            let why = "with Winograd or batches the output is no wider than what is processed";
            return Err(Refused::new(self.sdp, OUT_PRECISION, why));
        }
        Ok(output)
    }

    fn source(&self) -> Surface {
        Surface {
            ram: Ram::from_field(self.rdma.get(rdma_reg::d_src_dma_cfg::SRC_RAM_TYPE)),
            base: self.rdma.address(
                rdma_reg::d_src_base_addr_low::SRC_BASE_ADDR_LOW,
                rdma_reg::d_src_base_addr_high::SRC_BASE_ADDR_HIGH,
            ),
            line_stride: self.rdma.actual(rdma_reg::d_src_line_stride::SRC_LINE_STRIDE),
            surface_stride: self.rdma.actual(rdma_reg::d_src_surface_stride::SRC_SURFACE_STRIDE),
            pixel: self.hardware.atom as u32,
            packing: self.packing(),
        }
    }

    fn stage(&self, fields: &StageFields) -> Result<Option<Stage>, Refused> {
        let sdp = self.sdp;
        if sdp.flag(fields.bypass) {
            return Ok(None);
        }
        let (relu_bypass, alu_shift, mul_shift) = match fields.name {
            "BS" => (
                reg::d_dp_bs_cfg::BS_RELU_BYPASS,
                reg::d_dp_bs_alu_cfg::BS_ALU_SHIFT_VALUE,
                reg::d_dp_bs_mul_cfg::BS_MUL_SHIFT_VALUE,
            ),
            _ => (
                reg::d_dp_bn_cfg::BN_RELU_BYPASS,
                reg::d_dp_bn_alu_cfg::BN_ALU_SHIFT_VALUE,
                reg::d_dp_bn_mul_cfg::BN_MUL_SHIFT_VALUE,
            ),
        };
        let operand = |source, value| match sdp.flag(source) {
            false => Operand::Register(sdp.sign_extended(value) as i16),
            true => Operand::Memory,
        };
        let alu = (!sdp.flag(fields.alu_bypass)).then(|| StageAlu {
            operation: alu_operation(sdp.get(fields.alu_algo)),
            operand: operand(fields.alu_source, fields.alu_operand),
            shift: sdp.get(alu_shift) as u8,
        });
        let multiplier = (!sdp.flag(fields.mul_bypass)).then(|| StageMultiplier {
            operand: operand(fields.mul_source, fields.mul_operand),
            prelu: sdp.flag(fields.mul_prelu),
        });
        let alu_from_memory = alu.is_some_and(|alu| alu.operand == Operand::Memory);
        let mul_from_memory = multiplier.is_some_and(|multiplier| multiplier.operand == Operand::Memory);
        Ok(Some(Stage {
            alu,
            multiplier,
            // The register has eight bits, the shifter looks at six.
            shift: (sdp.get(mul_shift) & 0x3f) as u8,
            relu: !sdp.flag(relu_bypass),
            operands: self.operands(fields, alu_from_memory, mul_from_memory)?,
        }))
    }

    fn elementwise(&self) -> Result<Option<Elementwise>, Refused> {
        use reg::{
            d_dp_ew_alu_cfg::EW_ALU_CVT_BYPASS, d_dp_ew_alu_cvt_offset_value::EW_ALU_CVT_OFFSET,
            d_dp_ew_alu_cvt_scale_value::EW_ALU_CVT_SCALE,
            d_dp_ew_alu_cvt_truncate_value::EW_ALU_CVT_TRUNCATE, d_dp_ew_cfg::EW_LUT_BYPASS,
            d_dp_ew_mul_cfg::EW_MUL_CVT_BYPASS, d_dp_ew_mul_cvt_offset_value::EW_MUL_CVT_OFFSET,
            d_dp_ew_mul_cvt_scale_value::EW_MUL_CVT_SCALE,
            d_dp_ew_mul_cvt_truncate_value::EW_MUL_CVT_TRUNCATE, d_dp_ew_truncate_value::EW_TRUNCATE,
        };
        let sdp = self.sdp;
        if sdp.flag(EW.bypass) {
            return Ok(None);
        }
        let operand = |source, value, bypass, [offset, scale, shift]: [FieldRef; 3]| {
            if !sdp.flag(source) {
                return ElementwiseOperand::Register(sdp.get_signed(value));
            }
            ElementwiseOperand::Memory((!sdp.flag(bypass)).then(|| Converter {
                offset: sdp.get_signed(offset),
                scale: sdp.get_signed(scale) as i16,
                shift: sdp.get(shift) as u8,
            }))
        };
        let multiplier = (!sdp.flag(EW.mul_bypass)).then(|| ElementwiseMultiplier {
            operand: operand(
                EW.mul_source,
                EW.mul_operand,
                EW_MUL_CVT_BYPASS,
                [EW_MUL_CVT_OFFSET, EW_MUL_CVT_SCALE, EW_MUL_CVT_TRUNCATE],
            ),
            shift: sdp.get(EW_TRUNCATE) as u16,
            prelu: sdp.flag(EW.mul_prelu),
        });
        let alu = (!sdp.flag(EW.alu_bypass)).then(|| ElementwiseAlu {
            operation: match sdp.get(EW.alu_algo) {
                reg::d_dp_ew_cfg::EW_ALU_ALGO::EQL => ElementwiseOperation::Equal,
                algo => ElementwiseOperation::Alu(alu_operation(algo)),
            },
            operand: operand(
                EW.alu_source,
                EW.alu_operand,
                EW_ALU_CVT_BYPASS,
                [EW_ALU_CVT_OFFSET, EW_ALU_CVT_SCALE, EW_ALU_CVT_TRUNCATE],
            ),
        });
        let from_memory = |operand| matches!(operand, ElementwiseOperand::Memory(_));
        let alu_from_memory = alu.is_some_and(|alu| from_memory(alu.operand));
        let mul_from_memory = multiplier.is_some_and(|multiplier| from_memory(multiplier.operand));
        Ok(Some(Elementwise {
            multiplier,
            alu,
            lut: (self.hardware.lut && !sdp.flag(EW_LUT_BYPASS)).then(|| lut::decode(sdp)),
            operands: self.operands(&EW, alu_from_memory, mul_from_memory)?,
        }))
    }

    /// The stage's stream, when it takes an operand from memory.
    fn operands(
        &self,
        fields: &StageFields,
        alu: bool,
        multiplier: bool,
    ) -> Result<Option<OperandStream>, Refused> {
        let rdma = self.rdma;
        if !alu && !multiplier {
            return Ok(None);
        }
        if rdma.flag(fields.disable) {
            return Err(Refused::new(
                rdma,
                fields.disable,
                format!("{} takes operands from memory", fields.name),
            ));
        }
        let carries = match rdma.get(fields.data_use) {
            0 => Carries::Multiplier,
            1 => Carries::Alu,
            2 => Carries::Both,
            _ => return Err(Refused::new(rdma, fields.data_use, "there are 0 (MUL), 1 (ALU) and 2 (BOTH)")),
        };
        if (alu && carries == Carries::Multiplier) || (multiplier && carries == Carries::Alu) {
            let missing = if carries == Carries::Alu { "multiplier" } else { "ALU" };
            let why = format!("the {} {missing} takes its operand from memory", fields.name);
            return Err(Refused::new(rdma, fields.data_use, why));
        }
        let operand_bytes = if rdma.flag(fields.data_size) { 2 } else { 1 };
        if operand_bytes == 1 && self.precision != Precision::Int8 {
            return Err(Refused::new(
                rdma,
                fields.data_size,
                "one-byte operands go with int8 processing only",
            ));
        }
        let per_element = rdma.flag(fields.data_mode);
        let mut stream = OperandStream {
            surface: Surface {
                ram: Ram::from_field(rdma.get(fields.ram_type)),
                base: rdma.address(fields.base_low, fields.base_high),
                line_stride: rdma.actual(fields.line_stride),
                surface_stride: rdma.actual(fields.surface_stride),
                pixel: 0,
                packing: if per_element { self.packing() } else { Packing::Packed },
            },
            carries,
            operand_bytes,
            per_element,
        };
        stream.surface.pixel = stream.group_bytes(self.hardware.atom / self.precision.bytes()) as u32;
        Ok(Some(stream))
    }
}

/// Code 3 is not in the manual; the adder is what the multiplexer falls back to.
fn alu_operation(algo: u32) -> AluOperation {
    match algo {
        reg::d_dp_bs_cfg::BS_ALU_ALGO::MAX => AluOperation::Max,
        reg::d_dp_bs_cfg::BS_ALU_ALGO::MIN => AluOperation::Min,
        _ => AluOperation::Sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvdla::registers::{RegisterMap, Unit};

    const SMALL: Hardware = Hardware {
        atom: 8,
        bs: true,
        bn: true,
        ew: false,
        lut: false,
        formats: Formats::INT8,
        winograd: false,
        batches: 1,
    };
    const WITH_EW: Hardware = Hardware { ew: true, lut: true, ..SMALL };

    /// A cube of 5 x 4 x 21 from memory to memory, all stages bypassed.
    fn groups() -> (Group, Group) {
        let mut sdp = Group::new(Unit::Sdp, RegisterMap::Small);
        let mut rdma = Group::new(Unit::SdpRdma, RegisterMap::Small);
        sdp.set_actual(reg::d_data_cube_width::WIDTH, 5);
        sdp.set_actual(reg::d_data_cube_height::HEIGHT, 4);
        sdp.set_actual(reg::d_data_cube_channel::CHANNEL, 21);
        sdp.set(reg::d_dst_base_addr_low::DST_BASE_ADDR_LOW, 0x8040_0000);
        sdp.set(reg::d_dst_line_stride::DST_LINE_STRIDE, 0x28);
        sdp.set(reg::d_dst_surface_stride::DST_SURFACE_STRIDE, 0xa0);
        sdp.set(reg::d_cvt_scale::CVT_SCALE, 1);
        rdma.set_actual(rdma_reg::d_data_cube_width::WIDTH, 5);
        rdma.set_actual(rdma_reg::d_data_cube_height::HEIGHT, 4);
        rdma.set_actual(rdma_reg::d_data_cube_channel::CHANNEL, 21);
        rdma.set_word(rdma_reg::D_FEATURE_MODE_CFG, 0);
        rdma.set(rdma_reg::d_src_base_addr_low::SRC_BASE_ADDR_LOW, 0x8000_0000);
        rdma.set(rdma_reg::d_src_dma_cfg::SRC_RAM_TYPE, 1);
        (sdp, rdma)
    }

    /// The groups, with BN taking both operands, two bytes each, from memory.
    fn with_bn_operands(per_element: bool) -> (Group, Group) {
        let (mut sdp, mut rdma) = groups();
        sdp.set_word(reg::D_DP_BN_CFG, 0);
        sdp.set(reg::d_dp_bn_alu_cfg::BN_ALU_SRC, 1);
        sdp.set(reg::d_dp_bn_mul_cfg::BN_MUL_SRC, 1);
        rdma.set_word(rdma_reg::D_NRDMA_CFG, 0x2c | u32::from(per_element) << 4);
        rdma.set(rdma_reg::d_bn_base_addr_low::BN_BASE_ADDR_LOW, 0x8060_0000);
        rdma.set(rdma_reg::d_bn_line_stride::BN_LINE_STRIDE, 0xa0);
        rdma.set(rdma_reg::d_bn_surface_stride::BN_SURFACE_STRIDE, 0x280);
        (sdp, rdma)
    }

    fn refusal(sdp: &Group, rdma: &Group) -> String {
        Layer::decode(sdp, rdma, &SMALL).expect_err("refused").to_string()
    }

    #[test]
    fn reads_a_copy_from_the_registers() {
        let (sdp, rdma) = groups();
        let layer = Layer::decode(&sdp, &rdma, &SMALL).unwrap();
        assert_eq!((layer.width, layer.height, layer.surfaces(), layer.lanes()), (5, 4, 3, 8));
        assert_eq!((layer.bs, layer.bn, layer.ew), (None, None, None));
        let Source::Memory(source) = layer.source else { panic!("{:?}", layer.source) };
        let Destination::Memory(destination) = layer.destination else { panic!("{:?}", layer.destination) };
        assert_eq!((source.ram, source.base), (Ram::Primary, 0x8000_0000));
        assert_eq!(destination.address(2, 3, 1), 0x8040_0000 + 2 * 0xa0 + 0x28 + 3 * 8);
    }

    #[test]
    fn operands_of_an_element_lie_together() {
        let (sdp, rdma) = with_bn_operands(true);
        let stream = Layer::decode(&sdp, &rdma, &SMALL).unwrap().bn.unwrap().operands.unwrap();
        assert_eq!((stream.element_bytes(), stream.group_bytes(8)), (4, 32));
        assert_eq!(stream.surface.address(1, 2, 3), 0x8060_0000 + 0x280 + 3 * 0xa0 + 2 * 32);
    }

    #[test]
    fn operands_of_channels_are_packed() {
        let (sdp, rdma) = with_bn_operands(false);
        let stream = Layer::decode(&sdp, &rdma, &SMALL).unwrap().bn.unwrap().operands.unwrap();
        assert_eq!(stream.surface.address(2, 4, 3), 0x8060_0000 + 2 * 32);
    }

    #[test]
    fn cubes_of_one_pixel_are_packed() {
        let (mut sdp, mut rdma) = groups();
        for (group, width, height) in [
            (&mut sdp, reg::d_data_cube_width::WIDTH, reg::d_data_cube_height::HEIGHT),
            (&mut rdma, rdma_reg::d_data_cube_width::WIDTH, rdma_reg::d_data_cube_height::HEIGHT),
        ] {
            group.set_actual(width, 1);
            group.set_actual(height, 1);
        }
        let layer = Layer::decode(&sdp, &rdma, &SMALL).unwrap();
        let Destination::Memory(destination) = layer.destination else { panic!("{:?}", layer.destination) };
        assert_eq!(destination.address(2, 0, 0), 0x8040_0000 + 16);
    }

    #[test]
    fn stages_the_hardware_lacks_are_bypassed() {
        let (mut sdp, rdma) = groups();
        // Would need operands that ERDMA, disabled, does not fetch.
        sdp.set_word(reg::D_DP_EW_CFG, 0);
        sdp.set(reg::d_dp_ew_alu_cfg::EW_ALU_SRC, 1);
        assert_eq!(Layer::decode(&sdp, &rdma, &SMALL).unwrap().ew, None);
        assert!(Layer::decode(&sdp, &rdma, &WITH_EW).is_err());
    }

    #[test]
    fn a_fused_layer_without_operands_does_not_look_at_the_rdma() {
        let (mut sdp, _) = groups();
        sdp.set(reg::d_feature_mode_cfg::FLYING_MODE, 1);
        let untouched = Group::new(Unit::SdpRdma, RegisterMap::Small);
        let layer = Layer::decode(&sdp, &untouched, &SMALL).unwrap();
        assert_eq!((layer.source, layer.uses_rdma()), (Source::Accumulator, false));
        assert!(!Layer::needs_rdma(&sdp, &SMALL));
    }

    #[test]
    fn refuses_an_rdma_that_reads_another_cube() {
        let (sdp, mut rdma) = groups();
        rdma.set_actual(rdma_reg::d_data_cube_height::HEIGHT, 5);
        assert_eq!(
            refusal(&sdp, &rdma),
            "SDP_RDMA.D_DATA_CUBE_HEIGHT.HEIGHT = 0x4: SDP.D_DATA_CUBE_HEIGHT.HEIGHT is 0x3"
        );
    }

    #[test]
    fn refuses_operands_that_nobody_fetches() {
        let (sdp, mut rdma) = with_bn_operands(true);
        rdma.set(rdma_reg::d_nrdma_cfg::NRDMA_DATA_USE, rdma_reg::d_nrdma_cfg::NRDMA_DATA_USE::ALU);
        assert_eq!(
            refusal(&sdp, &rdma),
            "SDP_RDMA.D_NRDMA_CFG.NRDMA_DATA_USE = 0x1 (ALU): the BN multiplier takes its operand from memory"
        );
        rdma.set(rdma_reg::d_nrdma_cfg::NRDMA_DISABLE, 1);
        assert_eq!(
            refusal(&sdp, &rdma),
            "SDP_RDMA.D_NRDMA_CFG.NRDMA_DISABLE = 0x1 (YES): BN takes operands from memory"
        );
    }

    #[test]
    fn refuses_formats_the_hardware_lacks() {
        let (mut sdp, rdma) = groups();
        sdp.set(reg::d_data_format::PROC_PRECISION, 1);
        assert_eq!(
            refusal(&sdp, &rdma),
            "SDP.D_DATA_FORMAT.PROC_PRECISION = 0x1 (INT16): this configuration does not compute int16"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_register_contents_are_decoded_or_refused(words in proptest::collection::vec(proptest::num::u32::ANY, 99)) {
            let mut words = words.into_iter().cycle();
            let mut group = |unit: Unit| {
                let mut group = Group::new(unit, RegisterMap::Large);
                for register in unit.registers() {
                    group.set_word(register, words.next().unwrap_or(0));
                }
                group
            };
            let (mut sdp, rdma) = (group(Unit::Sdp), group(Unit::SdpRdma));
            sdp.set(reg::d_feature_mode_cfg::BATCH_NUMBER, 0);
            sdp.set(reg::d_feature_mode_cfg::WINOGRAD, 0);
            sdp.set_word(reg::D_DATA_FORMAT, 0);
            if let Ok(layer) = Layer::decode(&sdp, &rdma, &WITH_EW) {
                proptest::prop_assert_eq!(layer.uses_rdma(), Layer::needs_rdma(&sdp, &WITH_EW));
            }
        }
    }
}
