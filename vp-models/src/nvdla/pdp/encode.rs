//! The registers of PDP and PDP_RDMA that say a layer: the inverse of [`PdpLayer::decode`].

use super::decode::{DESTINATION, HORIZONTAL, PADDING, PARTIAL_IN, PARTIAL_OUT, SOURCE, VERTICAL};
use super::layer::{Average, Hardware, Method, PdpLayer, PdpSource};
use crate::nvdla::cube::Surface;
use crate::nvdla::encode::{self, Encoded, Fields};
use crate::nvdla::numeric::Precision;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{RegisterMap, Unit, pdp as reg, pdp_rdma as rdma_reg};

impl PdpLayer {
    /// Returns the layer's registers, all but the enables. Registers that a maximum or minimum ignores are 0.
    pub fn fields(&self) -> Encoded {
        let rdma = match self.source {
            PdpSource::Memory(source) => Encoded::of(Unit::PdpRdma, self.rdma_fields(&source)),
            PdpSource::Sdp => Encoded::default(),
        };
        rdma.and(Encoded::of(Unit::Pdp, self.pdp_fields()))
    }

    fn rdma_fields(&self, source: &Surface) -> Fields {
        use rdma_reg::{
            D_DATA_CUBE_IN_CHANNEL::*, D_DATA_CUBE_IN_HEIGHT::*, D_DATA_CUBE_IN_WIDTH::*, D_DATA_FORMAT::*,
            D_FLYING_MODE::*, D_OPERATION_MODE_CFG::*, D_PARTIAL_WIDTH_IN::*, D_POOLING_KERNEL_CFG::*,
            D_POOLING_PADDING_CFG::*,
        };
        let mut fields: Fields = vec![
            (CUBE_IN_WIDTH, self.horizontal.input),
            (CUBE_IN_HEIGHT, self.vertical.input),
            (CUBE_IN_CHANNEL, self.channels),
            (FLYING_MODE, FLYING_MODE::OFF_FLYING),
        ];
        let [low, high, line, surface, ram] = SOURCE.fields(source);
        fields.extend([low, high, line, surface, (INPUT_DATA, self.precision.code()), ram]);
        fields.extend([
            (SPLIT_NUM, self.strips.count),
            (KERNEL_WIDTH, self.horizontal.kernel),
            (KERNEL_STRIDE_WIDTH, self.horizontal.stride),
            (PAD_WIDTH, self.horizontal.padding),
        ]);
        if !self.strips.is_whole() {
            let widths = [PARTIAL_WIDTH_IN_FIRST, PARTIAL_WIDTH_IN_MID, PARTIAL_WIDTH_IN_LAST];
            fields.extend(widths.into_iter().zip(self.strips.input));
        }
        fields
    }

    fn pdp_fields(&self) -> Fields {
        use reg::{
            D_DATA_CUBE_IN_CHANNEL::*, D_DATA_CUBE_OUT_CHANNEL::*, D_DATA_FORMAT::*, D_NAN_FLUSH_TO_ZERO::*,
            D_OPERATION_MODE_CFG::*, D_RECIP_KERNEL_HEIGHT::*, D_RECIP_KERNEL_WIDTH::*,
        };
        let (method, average) = match self.method {
            Method::Average(average) => (POOLING_METHOD::POOLING_METHOD_AVERAGE, average),
            Method::Max => (POOLING_METHOD::POOLING_METHOD_MAX, Average::NONE),
            Method::Min => (POOLING_METHOD::POOLING_METHOD_MIN, Average::NONE),
        };
        let flying = match self.source {
            PdpSource::Memory(_) => FLYING_MODE::OFF_FLYING,
            PdpSource::Sdp => FLYING_MODE::ON_FLYING,
        };
        let (axes, strips) = ([(&HORIZONTAL, &self.horizontal), (&VERTICAL, &self.vertical)], &self.strips);
        let mut fields = Fields::with_capacity(46);
        fields.extend(axes.map(|(fields, axis)| (fields.input, axis.input)));
        fields.push((CUBE_IN_CHANNEL, self.channels));
        fields.extend(axes.map(|(fields, axis)| (fields.output, axis.output)));
        fields.extend([
            (CUBE_OUT_CHANNEL, self.channels),
            (POOLING_METHOD, method),
            (FLYING_MODE, flying),
            (SPLIT_NUM, strips.count),
        ]);
        if !strips.is_whole() {
            fields.extend(PARTIAL_IN.into_iter().zip(strips.input));
            fields.extend(PARTIAL_OUT.into_iter().zip(strips.output));
        }
        fields.extend(axes.map(|(fields, axis)| (fields.kernel, axis.kernel)));
        fields.extend(axes.map(|(fields, axis)| (fields.stride, axis.stride)));
        fields.extend([
            (RECIP_KERNEL_WIDTH, average.reciprocal_width),
            (RECIP_KERNEL_HEIGHT, average.reciprocal_height),
        ]);
        fields.extend(axes.map(|(fields, axis)| (fields.padding, axis.padding)));
        fields.extend(axes.map(|(fields, axis)| (fields.padding_after, axis.padding_after)));
        fields.extend(PADDING.into_iter().zip(average.padding.map(i32::cast_unsigned)));
        fields.extend(DESTINATION.fields(&self.destination));
        fields.push((INPUT_DATA, self.precision.code()));
        // It counts in fp16 only.
        if self.nan_to_zero || self.precision == Precision::Fp16 {
            fields.push((NAN_TO_ZERO, self.nan_to_zero.into()));
        }
        fields
    }

    /// Returns the registers of [`PdpLayer::fields`], checked: the inverse of [`PdpLayer::decode`].
    ///
    /// # Errors
    /// When it cannot be said, or would be refused.
    pub fn encode(&self, map: RegisterMap, hardware: &Hardware) -> Result<Encoded, Refused> {
        let fields = self.fields();
        let (pdp, rdma) = (fields.group(Unit::Pdp, map)?, fields.group(Unit::PdpRdma, map)?);
        let decoded = PdpLayer::decode(&pdp, &rdma, hardware);
        encode::check(self, decoded, (&pdp, reg::D_OPERATION_MODE_CFG::POOLING_METHOD))?;
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::super::layer::{Axis, Strips};
    use super::*;
    use crate::nvdla::cube::{Packing, Ram};
    use crate::nvdla::formats::Formats;
    use proptest::prelude::*;

    const FULL: Hardware = Hardware { atom: 32, formats: Formats::ALL };

    fn surface() -> impl Strategy<Value = Surface> {
        let strides = (0u32..1 << 27, 0u32..1 << 27);
        (any::<bool>(), 0u64..1 << 40, strides).prop_map(|(ram, base, (line, surface))| Surface {
            ram: if ram { Ram::Primary } else { Ram::Secondary },
            base: base / 32 * 32,
            line_stride: 32 * line,
            surface_stride: 32 * surface,
            pixel: 32,
            atom: 32,
            packing: Packing::Strided,
        })
    }

    /// Axes, also with more padding than a window has, and with an output of another size.
    fn axis() -> impl Strategy<Value = Axis> {
        (1u32..400, 1u32..=9, 1u32..=16, 0u32..8, 0u32..8, 0u32..24).prop_map(
            |(input, kernel, stride, padding, padding_after, more)| {
                let (padding, padding_after) = (padding.min(kernel), padding_after.min(kernel));
                let windows = (padding + input + padding_after).saturating_sub(kernel) / stride + 1;
                Axis { input, output: windows + more / 23, kernel, stride, padding, padding_after }
            },
        )
    }

    prop_compose! {
        fn layer()(
            channels in 1u32..=8192,
            (code, method) in (0u32..3, 0..3usize),
            nan_to_zero: bool,
            padding in prop::array::uniform7(-128i32..128),
            (horizontal, vertical) in (axis(), axis()),
            (source, destination) in (prop::option::of(surface()), surface()),
            whole in prop::bool::weighted(0.1),
        ) -> PdpLayer {
            let precision = Precision::of_code(code).unwrap();
            let reciprocal = |axis: &Axis| Average::reciprocal(axis.kernel, precision);
            let average = Average { reciprocal_width: reciprocal(&horizontal), reciprocal_height: reciprocal(&vertical), padding };
            PdpLayer {
                atom: 32,
                channels,
                precision,
                nan_to_zero: nan_to_zero && source.is_some(),
                method: [Method::Max, Method::Min, Method::Average(average)][method],
                horizontal,
                vertical,
                source: source.map_or(PdpSource::Sdp, PdpSource::Memory),
                destination,
                strips: if whole { Strips::whole(&horizontal) } else { Strips::fitting(&horizontal, &vertical) },
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_and_what_is_refused_is_refused_alike(layer in layer()) {
            let written = layer.fields();
            let groups = [Unit::Pdp, Unit::PdpRdma].map(|unit| written.group(unit, RegisterMap::Full));
            let encoded = layer.encode(RegisterMap::Full, &FULL);
            match groups {
                [Ok(pdp), Ok(rdma)] => {
                    let decoded = PdpLayer::decode(&pdp, &rdma, &FULL);
                    prop_assert_eq!(encoded.as_ref().err(), decoded.as_ref().err());
                    if let Ok(decoded) = decoded {
                        prop_assert_eq!(decoded, layer);
                    }
                }
                [pdp, rdma] => prop_assert_eq!(encoded.err(), pdp.err().or(rdma.err())),
            }
        }
    }

    proptest! {
        /// Whatever the line buffer holds at once.
        #[test]
        fn strips_that_fit_make_a_legal_layer(
            layer in layer(),
            (outputs, kernel, stride) in (1u32..300, 1u32..=8, 1u32..=8),
        ) {
            let horizontal = Axis { input: (outputs - 1) * stride + kernel, output: outputs, kernel, stride, padding: 0, padding_after: 0 };
            let vertical = Axis { input: kernel, output: 1, ..horizontal };
            let strips = Strips::fitting(&horizontal, &vertical);
            let layer = PdpLayer { horizontal, vertical, strips, source: PdpSource::Memory(layer.destination), ..layer };
            prop_assert_eq!(layer.encode(RegisterMap::Full, &FULL).err(), None);
        }
    }
}
