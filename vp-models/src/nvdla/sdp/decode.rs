//! Decoding of the registers of SDP and SDP_RDMA into a layer, and contradictions between them.

use super::fields::{BN, BS, DESTINATION, EW, SOURCE, ShiftFields, StageFields};
use super::layer::{
    AluOperation, Carries, Destination, Elementwise, ElementwiseAlu, ElementwiseMultiplier,
    ElementwiseOperand, ElementwiseOperation, Hardware, Operand, OperandStream, SdpLayer, SdpSource, Stage,
    StageAlu, StageMultiplier,
};
use super::lut;
use crate::nvdla::cube::{Packing, Surface};
use crate::nvdla::formats::Formats;
use crate::nvdla::numeric::{Converter, Precision};
use crate::nvdla::order::Order;
use crate::nvdla::place::{self, LowBits, PlaceFields};
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{FieldRef, Group, sdp as reg, sdp_rdma as rdma_reg};

#[cfg(test)]
mod tests;

impl SdpLayer {
    /// Returns true if a layer that these SDP registers describe needs SDP_RDMA: [`SdpLayer::uses_rdma`] before decoding, to
    /// know whether to wait for the RDMA's own enable bit.
    pub fn needs_rdma(sdp: &Group, hardware: &Hardware) -> bool {
        let memory_operand = |present: bool, stage: &StageFields| {
            present
                && !sdp.flag(stage.bypass)
                && ((!sdp.flag(stage.alu_bypass) && sdp.flag(stage.alu_source))
                    || (!sdp.flag(stage.mul_bypass) && sdp.flag(stage.mul_source)))
        };
        !sdp.flag(reg::D_FEATURE_MODE_CFG::FLYING_MODE)
            || memory_operand(hardware.bs, &BS.stage)
            || memory_operand(hardware.bn, &BN.stage)
            || memory_operand(hardware.ew, &EW)
    }

    /// Decodes and checks a group of SDP and, if the layer reads memory, of SDP_RDMA (not looked at otherwise).
    ///
    /// Stages that the hardware lacks are bypassed, whatever their registers say.
    pub fn decode(sdp: &Group, rdma: &Group, hardware: &Hardware) -> Result<SdpLayer, Refused> {
        let precision = hardware.formats.decode(sdp, reg::D_DATA_FORMAT::PROC_PRECISION)?;
        Decoder { sdp, rdma, hardware, precision }.layer()
    }

    /// Returns the errors in the registers that place the layer's cubes, each as a sentence.
    pub(super) fn unaligned(&self, sdp: &Group, rdma: &Group) -> Vec<String> {
        let size = (self.height, self.surfaces());
        let operands = [
            (&BS.stage, self.bs.and_then(|it| it.operands)),
            (&BN.stage, self.bn.and_then(|it| it.operands)),
        ];
        let operands = operands.into_iter().chain([(&EW, self.ew.and_then(|it| it.operands))]);
        let mut places: Vec<_> = operands
            .filter_map(|(fields, operands)| Some((rdma, &fields.place, operands?.surface)))
            .collect();
        if let SdpSource::Memory(surface) = self.source {
            places.push((rdma, &SOURCE, surface));
        }
        if let (Destination::Memory(surface), true) = (self.destination, self.has_output()) {
            places.push((sdp, &DESTINATION, surface));
        }
        let all = places.into_iter();
        let mut all: Vec<String> = all
            .flat_map(|(group, place, surface)| place.unaligned(group, &surface, size, LowBits::OfRegisters))
            .collect();
        if self.order.cubes() > 1 {
            let stride = reg::D_DST_BATCH_STRIDE::DST_BATCH_STRIDE;
            all.extend(place::unaligned(sdp, stride, self.atom as u32, LowBits::OfRegisters));
        }
        all
    }
}

struct Decoder<'a> {
    sdp: &'a Group,
    rdma: &'a Group,
    hardware: &'a Hardware,
    precision: Precision,
}

impl Decoder<'_> {
    fn layer(&self) -> Result<SdpLayer, Refused> {
        use reg::D_DATA_FORMAT::OUT_PRECISION;
        use reg::D_FEATURE_MODE_CFG::{FLYING_MODE, NAN_TO_ZERO, OUTPUT_DST};
        let sdp = self.sdp;
        let order = self.order()?;
        let layer = SdpLayer {
            atom: self.hardware.atom,
            width: sdp.actual(reg::D_DATA_CUBE_WIDTH::WIDTH),
            height: sdp.actual(reg::D_DATA_CUBE_HEIGHT::HEIGHT),
            channels: sdp.actual(reg::D_DATA_CUBE_CHANNEL::CHANNEL),
            precision: self.precision,
            input: if sdp.flag(FLYING_MODE) { self.precision } else { self.input()? },
            output: self.output(order)?,
            nan_to_zero: sdp.flag(NAN_TO_ZERO),
            order,
            cube_stride: sdp.actual(reg::D_DST_BATCH_STRIDE::DST_BATCH_STRIDE)
                & !(self.hardware.atom as u32 - 1),
            source: if sdp.flag(FLYING_MODE) {
                SdpSource::Accumulator
            } else {
                SdpSource::Memory(self.surface(self.rdma, &SOURCE, self.packing()))
            },
            bs: if self.hardware.bs { self.stage(&BS)? } else { None },
            bn: if self.hardware.bn { self.stage(&BN)? } else { None },
            ew: if self.hardware.ew { self.elementwise()? } else { None },
            converter: Converter {
                offset: sdp.get_signed(reg::D_CVT_OFFSET::CVT_OFFSET),
                scale: sdp.get_signed(reg::D_CVT_SCALE::CVT_SCALE) as i16,
                shift: sdp.get(reg::D_CVT_SHIFT::CVT_SHIFT) as u8,
            },
            destination: if sdp.flag(OUTPUT_DST) {
                Destination::Pooling
            } else {
                // Of several cubes not even a single pixel is packed (RTL, branch nvdlav1,
                // `NV_NVDLA_SDP_WDMA_cmd.v`, `cfg_mode_1x1_nbatch`).
                let packing = if order.cubes() > 1 { Packing::Strided } else { self.packing() };
                Destination::Memory(self.surface(sdp, &DESTINATION, packing))
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
            self.check_rdma_agrees(&layer)?;
        }
        Ok(layer)
    }

    /// Winograd's order and batches go with a convolution, and to memory.
    fn order(&self) -> Result<Order, Refused> {
        use reg::D_FEATURE_MODE_CFG::{BATCH_NUMBER, FLYING_MODE, OUTPUT_DST, WINOGRAD};
        let refuse = |field, why| Err(Refused::new(self.sdp, field, why));
        let lacks = |field, why| Err(Refused::lacking(self.sdp, field, why));
        let cubes = self.sdp.actual(BATCH_NUMBER);
        let (field, order) = match (self.sdp.flag(WINOGRAD), cubes) {
            (false, 1) => return Ok(Order::Lines),
            (false, _) => (BATCH_NUMBER, Order::Cubes(cubes)),
            (true, 1) => (WINOGRAD, Order::Tiles),
            (true, _) => return refuse(BATCH_NUMBER, "with Winograd there is one cube (0)"),
        };
        if order == Order::Tiles && !self.hardware.winograd {
            return lacks(field, "this configuration has no Winograd");
        }
        if cubes > self.hardware.batches {
            return lacks(field, "this configuration does not take so many cubes at once");
        }
        if !self.sdp.flag(FLYING_MODE) {
            return refuse(field, "only a convolution makes it, so that input comes from there");
        }
        if self.sdp.flag(OUTPUT_DST) {
            return refuse(field, "PDP takes one cube, line after line");
        }
        let [width, height] = [reg::D_DATA_CUBE_WIDTH::WIDTH, reg::D_DATA_CUBE_HEIGHT::HEIGHT];
        for size in [width, height] {
            if order == Order::Tiles && !self.sdp.actual(size).is_multiple_of(4) {
                return refuse(size, "Winograd makes a multiple of four");
            }
        }
        Ok(order)
    }

    /// Cubes of one pixel are packed, here and in SDP_RDMA.
    fn packing(&self) -> Packing {
        let one_pixel = self.sdp.actual(reg::D_DATA_CUBE_WIDTH::WIDTH) == 1
            && self.sdp.actual(reg::D_DATA_CUBE_HEIGHT::HEIGHT) == 1;
        if one_pixel { Packing::Packed } else { Packing::Strided }
    }

    /// SDP_RDMA must deliver what SDP expects: hardware would wait for the rest for ever.
    fn check_rdma_agrees(&self, layer: &SdpLayer) -> Result<(), Refused> {
        use rdma_reg::D_FEATURE_MODE_CFG as mode;
        let mut pairs = vec![
            (reg::D_DATA_CUBE_WIDTH::WIDTH, rdma_reg::D_DATA_CUBE_WIDTH::WIDTH),
            (reg::D_DATA_CUBE_HEIGHT::HEIGHT, rdma_reg::D_DATA_CUBE_HEIGHT::HEIGHT),
            (reg::D_DATA_CUBE_CHANNEL::CHANNEL, rdma_reg::D_DATA_CUBE_CHANNEL::CHANNEL),
            (reg::D_FEATURE_MODE_CFG::FLYING_MODE, mode::FLYING_MODE),
            (reg::D_FEATURE_MODE_CFG::WINOGRAD, mode::WINOGRAD),
            (reg::D_FEATURE_MODE_CFG::BATCH_NUMBER, mode::BATCH_NUMBER),
        ];
        // Where int8 is all there is, only what reads operands looks at it (RTL, branches `nv_small` and `master`,
        // `NV_NVDLA_SDP_RDMA_ig`, cfg_proc_int8; in `NV_NVDLA_SDP_MRDMA_ig` and its `_EG_` files cfg_do_int8 has no load).
        if self.hardware.formats != Formats::INT8 || layer.reads_operands() {
            pairs.push((reg::D_DATA_FORMAT::PROC_PRECISION, mode::PROC_PRECISION));
        }
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
        use rdma_reg::D_FEATURE_MODE_CFG::IN_PRECISION;
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
        use reg::D_DATA_FORMAT::OUT_PRECISION;
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

    fn surface(&self, group: &Group, place: &PlaceFields, packing: Packing) -> Surface {
        let atom = self.hardware.atom as u32;
        place.surface(group, (atom, atom), packing, LowBits::OfRegisters)
    }

    fn stage(&self, shifts: &ShiftFields) -> Result<Option<Stage>, Refused> {
        let (sdp, fields) = (self.sdp, &shifts.stage);
        if sdp.flag(fields.bypass) {
            return Ok(None);
        }
        let operand = |source, value| match sdp.flag(source) {
            false => Operand::Register(sdp.sign_extended(value) as i16),
            true => Operand::Memory,
        };
        let alu = (!sdp.flag(fields.alu_bypass)).then(|| StageAlu {
            operation: alu_operation(sdp.get(fields.alu_algo)),
            operand: operand(fields.alu_source, fields.alu_operand),
            shift: sdp.get(shifts.alu_shift) as u8,
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
            shift: (sdp.get(shifts.mul_shift) & 0x3f) as u8,
            relu: !sdp.flag(shifts.relu_bypass),
            operands: self.operands(fields, alu_from_memory, mul_from_memory)?,
        }))
    }

    fn elementwise(&self) -> Result<Option<Elementwise>, Refused> {
        use reg::{
            D_DP_EW_ALU_CFG::EW_ALU_CVT_BYPASS, D_DP_EW_ALU_CVT_OFFSET_VALUE::EW_ALU_CVT_OFFSET,
            D_DP_EW_ALU_CVT_SCALE_VALUE::EW_ALU_CVT_SCALE,
            D_DP_EW_ALU_CVT_TRUNCATE_VALUE::EW_ALU_CVT_TRUNCATE, D_DP_EW_CFG::EW_LUT_BYPASS,
            D_DP_EW_MUL_CFG::EW_MUL_CVT_BYPASS, D_DP_EW_MUL_CVT_OFFSET_VALUE::EW_MUL_CVT_OFFSET,
            D_DP_EW_MUL_CVT_SCALE_VALUE::EW_MUL_CVT_SCALE,
            D_DP_EW_MUL_CVT_TRUNCATE_VALUE::EW_MUL_CVT_TRUNCATE, D_DP_EW_TRUNCATE_VALUE::EW_TRUNCATE,
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
                reg::D_DP_EW_CFG::EW_ALU_ALGO::EQL => ElementwiseOperation::Equal,
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
            surface: self.surface(
                rdma,
                &fields.place,
                if per_element { self.packing() } else { Packing::Packed },
            ),
            carries,
            operand_bytes,
            per_element,
            is_half_taken: carries == Carries::Both && alu != multiplier,
        };
        stream.surface.pixel = stream.group_bytes(self.hardware.atom / self.precision.bytes()) as u32;
        Ok(Some(stream))
    }
}

/// Code 3 is not in the manual; the adder is what the multiplexer falls back to.
fn alu_operation(algo: u32) -> AluOperation {
    match algo {
        reg::D_DP_BS_CFG::BS_ALU_ALGO::MAX => AluOperation::Max,
        reg::D_DP_BS_CFG::BS_ALU_ALGO::MIN => AluOperation::Min,
        _ => AluOperation::Sum,
    }
}
