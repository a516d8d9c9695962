//! The registers of SDP and SDP_RDMA that say a layer: the inverse of [`SdpLayer::decode`].

use super::fields::{BN, BS, DESTINATION, EW, SOURCE, ShiftFields, StageFields};
use super::layer::{
    AluOperation, Carries, Destination, Elementwise, ElementwiseOperand, ElementwiseOperation, Hardware,
    Operand, OperandStream, SdpLayer, SdpSource, Stage,
};
use super::lut;
use crate::nvdla::cube::{Packing, Ram, Surface};
use crate::nvdla::encode::{self, Encoded, Fields};
use crate::nvdla::numeric::Converter;
use crate::nvdla::order::Order;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{FieldRef, RegisterMap, Unit, sdp as reg, sdp_rdma as rdma_reg};

impl SdpLayer {
    /// Returns the layer's registers in groups, all but the enables; those of SDP_RDMA if it takes part. Its table is loaded before:
    /// [`lut::load`].
    pub fn fields(&self) -> Encoded {
        let rdma = match self.uses_rdma() {
            true => Encoded::of(Unit::SdpRdma, self.rdma_fields()),
            false => Encoded::default(),
        };
        rdma.and(Encoded::of(Unit::Sdp, self.sdp_fields()))
    }

    /// Returns the registers of [`SdpLayer::fields`], checked: with the table's settings the inverse of [`SdpLayer::decode`].
    ///
    /// # Errors
    /// When it cannot be said, or would be refused.
    pub fn encode(&self, map: RegisterMap, hardware: &Hardware) -> Result<Encoded, Refused> {
        let fields = self.fields();
        let rdma = fields.group(Unit::SdpRdma, map)?;
        let mut sdp = fields.group(Unit::Sdp, map)?;
        if let Some(settings) = self.ew.as_ref().and_then(|ew| ew.lut.as_ref()) {
            lut::fields(settings)
                .into_iter()
                .try_for_each(|(field, value)| encode::hold(&mut sdp, field, value))?;
        }
        let decoded = SdpLayer::decode(&sdp, &rdma, hardware);
        encode::check(self, decoded, (&sdp, reg::D_DATA_FORMAT::PROC_PRECISION))?;
        Ok(fields)
    }

    fn flies(&self) -> bool {
        self.source == SdpSource::Accumulator
    }

    fn rdma_fields(&self) -> Fields {
        use rdma_reg::{
            D_DATA_CUBE_CHANNEL::*, D_DATA_CUBE_HEIGHT::*, D_DATA_CUBE_WIDTH::*, D_FEATURE_MODE_CFG::*,
        };
        let mut fields: Fields = vec![(WIDTH, self.width), (HEIGHT, self.height), (CHANNEL, self.channels)];
        if let SdpSource::Memory(source) = &self.source {
            fields.extend(SOURCE.fields(source));
        }
        let streams = [
            (&BS.stage, self.bs.and_then(|stage| stage.operands)),
            (&BN.stage, self.bn.and_then(|stage| stage.operands)),
            (&EW, self.ew.and_then(|stage| stage.operands)),
        ];
        streams.iter().for_each(|(of, operands)| stream_fields(&mut fields, of, operands.as_ref()));
        fields.extend([
            (FLYING_MODE, self.flies().into()),
            (WINOGRAD, (self.order == Order::Tiles).into()),
            (IN_PRECISION, self.input.code()),
            (PROC_PRECISION, self.precision.code()),
            (OUT_PRECISION, self.output.code()),
            (BATCH_NUMBER, self.order.cubes()),
        ]);
        fields
    }

    fn sdp_fields(&self) -> Fields {
        use reg::{
            D_CVT_OFFSET::*, D_CVT_SCALE::*, D_CVT_SHIFT::*, D_DATA_CUBE_CHANNEL::*, D_DATA_CUBE_HEIGHT::*,
            D_DATA_CUBE_WIDTH::*, D_DATA_FORMAT::*, D_DST_BATCH_STRIDE::*, D_FEATURE_MODE_CFG::*,
        };
        const NOWHERE: Surface = Surface {
            ram: Ram::Primary,
            base: 0,
            line_stride: 0,
            surface_stride: 0,
            pixel: 0,
            atom: 0,
            packing: Packing::Strided,
        };
        let mut fields: Fields = vec![(WIDTH, self.width), (HEIGHT, self.height), (CHANNEL, self.channels)];
        fields.extend(DESTINATION.fields(match &self.destination {
            Destination::Memory(surface) => surface,
            Destination::Pooling => &NOWHERE,
        }));
        stage_fields(&mut fields, &BS, self.bs.as_ref());
        stage_fields(&mut fields, &BN, self.bn.as_ref());
        if self.order.cubes() > 1 || self.cube_stride > 0 {
            fields.push((DST_BATCH_STRIDE, self.cube_stride));
        }
        match &self.ew {
            Some(ew) => elementwise_fields(&mut fields, ew),
            None => fields.push((EW.bypass, 1)),
        }
        fields.extend([
            (FLYING_MODE, self.flies().into()),
            (OUTPUT_DST, (self.destination == Destination::Pooling).into()),
            (WINOGRAD, (self.order == Order::Tiles).into()),
            (NAN_TO_ZERO, self.nan_to_zero.into()),
            (BATCH_NUMBER, self.order.cubes()),
            (PROC_PRECISION, self.precision.code()),
            (OUT_PRECISION, self.output.code()),
            (CVT_OFFSET, self.converter.offset as u32),
            (CVT_SCALE, i32::from(self.converter.scale) as u32),
            (CVT_SHIFT, self.converter.shift.into()),
        ]);
        fields
    }
}

/// A stage's read DMA, switched off if it has nothing to read. Strides count where operands are not packed.
fn stream_fields(fields: &mut Fields, of: &StageFields, operands: Option<&OperandStream>) {
    use rdma_reg::D_BRDMA_CFG::BRDMA_DATA_USE;
    let Some(OperandStream { surface, carries, operand_bytes, per_element, .. }) = operands else {
        return fields.push((of.disable, 1));
    };
    let [low, high, line, plane, ram] = of.place.fields(surface);
    fields.extend([
        (of.disable, 0),
        (
            of.data_use,
            match carries {
                Carries::Multiplier => BRDMA_DATA_USE::MUL,
                Carries::Alu => BRDMA_DATA_USE::ALU,
                Carries::Both => BRDMA_DATA_USE::BOTH,
            },
        ),
        (of.data_size, *operand_bytes as u32 - 1),
        (of.data_mode, (*per_element).into()),
        ram,
        low,
        high,
    ]);
    if surface.packing == Packing::Strided || surface.line_stride | surface.surface_stride != 0 {
        fields.extend([line, plane]);
    }
}

const fn algorithm(operation: AluOperation) -> u32 {
    use reg::D_DP_BS_CFG::BS_ALU_ALGO;
    match operation {
        AluOperation::Max => BS_ALU_ALGO::MAX,
        AluOperation::Min => BS_ALU_ALGO::MIN,
        AluOperation::Sum => BS_ALU_ALGO::SUM,
    }
}

/// BS or BN. A stage that is bypassed also has its parts bypassed.
fn stage_fields(fields: &mut Fields, of: &ShiftFields, stage: Option<&Stage>) {
    let ShiftFields { stage: names, relu_bypass, alu_shift, mul_shift } = of;
    let alu = stage.and_then(|stage| stage.alu);
    let multiplier = stage.and_then(|stage| stage.multiplier);
    let from_memory = |operand: Option<Operand>| u32::from(operand == Some(Operand::Memory));
    let (addend, factor) = (alu.map(|alu| alu.operand), multiplier.map(|multiplier| multiplier.operand));
    fields.extend([
        (names.bypass, stage.is_none().into()),
        (names.alu_bypass, alu.is_none().into()),
        (names.alu_algo, algorithm(alu.map_or(AluOperation::Sum, |alu| alu.operation))),
        (names.mul_bypass, multiplier.is_none().into()),
        (names.mul_prelu, multiplier.is_some_and(|multiplier| multiplier.prelu).into()),
        (*relu_bypass, (!stage.is_some_and(|stage| stage.relu)).into()),
        (names.alu_source, from_memory(addend)),
        (*alu_shift, alu.map_or(0, |alu| alu.shift.into())),
    ]);
    if let Some(Operand::Register(value)) = addend {
        fields.push((names.alu_operand, i32::from(value) as u32));
    }
    let factor_value = if let Some(Operand::Register(value)) = factor { value } else { 0 };
    fields.extend([
        (names.mul_source, from_memory(factor)),
        // It shifts also where there is nothing to multiply.
        (*mul_shift, stage.map_or(0, |stage| stage.shift.into())),
        (names.mul_operand, i32::from(factor_value) as u32),
    ]);
}

fn elementwise_fields(fields: &mut Fields, stage: &Elementwise) {
    use reg::{
        D_DP_EW_ALU_CFG::EW_ALU_CVT_BYPASS, D_DP_EW_ALU_CVT_OFFSET_VALUE::*, D_DP_EW_ALU_CVT_SCALE_VALUE::*,
        D_DP_EW_ALU_CVT_TRUNCATE_VALUE::*, D_DP_EW_CFG::*, D_DP_EW_MUL_CFG::EW_MUL_CVT_BYPASS,
        D_DP_EW_MUL_CVT_OFFSET_VALUE::*, D_DP_EW_MUL_CVT_SCALE_VALUE::*, D_DP_EW_MUL_CVT_TRUNCATE_VALUE::*,
        D_DP_EW_TRUNCATE_VALUE::*,
    };
    let &Elementwise { multiplier, alu, ref lut, .. } = stage;
    let algorithm = match alu.map(|alu| alu.operation) {
        Some(ElementwiseOperation::Equal) => EW_ALU_ALGO::EQL,
        Some(ElementwiseOperation::Alu(operation)) => algorithm(operation),
        None => 0,
    };
    fields.extend([
        (EW.bypass, 0),
        (EW.alu_bypass, alu.is_none().into()),
        (EW.alu_algo, algorithm),
        (EW.mul_bypass, multiplier.is_none().into()),
        (EW.mul_prelu, multiplier.is_some_and(|multiplier| multiplier.prelu).into()),
        (EW_LUT_BYPASS, lut.is_none().into()),
    ]);
    let mut operand = |operand: Option<ElementwiseOperand>,
                       [source, bypass, value]: [FieldRef; 3],
                       converter: [FieldRef; 3]| {
        let (from_memory, register, used) = match operand {
            None => (false, 0, None),
            Some(ElementwiseOperand::Register(value)) => (false, value, None),
            Some(ElementwiseOperand::Memory(converter)) => (true, 0, converter),
        };
        let Converter { offset, scale, shift } = used.unwrap_or(Converter::IDENTITY);
        fields.extend([
            (source, from_memory.into()),
            (bypass, used.is_none().into()),
            (value, register as u32),
        ]);
        fields.extend(converter.into_iter().zip([offset as u32, i32::from(scale) as u32, shift.into()]));
    };
    operand(
        alu.map(|alu| alu.operand),
        [EW.alu_source, EW_ALU_CVT_BYPASS, EW.alu_operand],
        [EW_ALU_CVT_OFFSET, EW_ALU_CVT_SCALE, EW_ALU_CVT_TRUNCATE],
    );
    operand(
        multiplier.map(|multiplier| multiplier.operand),
        [EW.mul_source, EW_MUL_CVT_BYPASS, EW.mul_operand],
        [EW_MUL_CVT_OFFSET, EW_MUL_CVT_SCALE, EW_MUL_CVT_TRUNCATE],
    );
    fields.push((EW_TRUNCATE, multiplier.map_or(0, |multiplier| multiplier.shift.into())));
}

#[cfg(test)]
mod tests;
