//! The registers of CSC that say a layer: the inverse of [`CscLayer::decode`].

use super::layer::CscLayer;
use crate::nvdla::conv::cdma::layer::{CdmaLayer, Input};
use crate::nvdla::conv::hardware::Hardware;
use crate::nvdla::encode::{self, Encoded, Fields};
use crate::nvdla::order::Order as Passing;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{RegisterMap, Unit, csc as reg};

impl CscLayer {
    /// Returns the layer's registers in groups, all but the enable. Values that both units have, the use of the buffer and the
    /// size of the weights are the same as CDMA's.
    pub fn fields(&self, cdma: &CdmaLayer) -> Encoded {
        use reg::{
            D_ATOMICS::*, D_BANK::*, D_BATCH_NUMBER::*, D_CONV_STRIDE_EXT::*, D_DATAIN_FORMAT::*,
            D_DATAIN_SIZE_EXT_0::*, D_DATAIN_SIZE_EXT_1::*, D_DATAOUT_SIZE_0::*, D_DATAOUT_SIZE_1::*,
            D_DILATION_EXT::*, D_ENTRY_PER_SLICE::*, D_MISC_CFG::*, D_POST_Y_EXTENSION::*, D_PRA_CFG::*,
            D_RELEASE::*, D_WEIGHT_BYTES::*, D_WEIGHT_FORMAT::*, D_WEIGHT_SIZE_EXT_0::*,
            D_WEIGHT_SIZE_EXT_1::*, D_WMB_BYTES::*, D_ZERO_PADDING::*, D_ZERO_PADDING_VALUE::*,
        };
        let (kernel, stride, reuse) = (self.geometry.kernel, self.geometry.stride, self.reuse);
        let [rows, columns, channels] = [kernel.height, kernel.width, kernel.channels].map(|it| it as u32);
        let tiles = self.passing == Passing::Tiles;
        let rows_at_once = if self.is_image { self.order.row_group as u32 } else { 1 };
        // As they come: transformed ones are larger, and an image's rows are channels.
        let [weight_columns, weight_rows, weight_channels] = match (tiles, self.is_image) {
            (true, _) => [4, 4, channels],
            (_, true) => [1, rows, columns.wrapping_mul(channels)],
            (_, false) => [columns, rows, channels],
        };
        let left = match &cdma.input {
            Input::Image(image) => image.left,
            _ => self.frame.before.x as u32,
        };
        let width = self.geometry.output_width as u32;
        let mut fields: Fields = vec![
            (CONV_MODE, tiles.into()),
            (IN_PRECISION, self.precision.code()),
            (PROC_PRECISION, self.precision.code()),
            (DATA_REUSE, reuse.data.into()),
            (WEIGHT_REUSE, reuse.weight.into()),
            (SKIP_DATA_RLS, reuse.keep_data.into()),
            (SKIP_WEIGHT_RLS, reuse.keep_weight.into()),
            (DATAIN_FORMAT, self.is_image.into()),
            (DATAIN_WIDTH_EXT, self.frame.width as u32),
            (DATAIN_HEIGHT_EXT, self.lines),
            (DATAIN_CHANNEL_EXT, channels),
            (BATCHES, self.passing.cubes()),
            (Y_EXTENSION, rows_at_once.max(1).ilog2()),
            (ENTRIES, cdma.entries / self.passing.cubes().max(1)),
            (WEIGHT_FORMAT, self.compressed.into()),
            (WEIGHT_WIDTH_EXT, weight_columns),
            (WEIGHT_HEIGHT_EXT, weight_rows),
            (WEIGHT_CHANNEL_EXT, weight_channels),
            (WEIGHT_KERNEL, self.kernels),
            (WEIGHT_BYTES, cdma.weights.bytes),
        ];
        if let Some(compressed) = cdma.weights.compressed {
            fields.push((WMB_BYTES, compressed.mask_bytes));
        }
        fields.extend([
            (DATAOUT_WIDTH, width),
            (DATAOUT_HEIGHT, self.output_height),
            (DATAOUT_CHANNEL, self.kernels),
            (ATOMICS, width.wrapping_mul(self.output_height)),
            (RLS_SLICES, self.released),
            (CONV_X_STRIDE_EXT, stride.x as u32),
            (CONV_Y_STRIDE_EXT, stride.y as u32),
            (X_DILATION_EXT, kernel.dilation.x as u32),
            (Y_DILATION_EXT, kernel.dilation.y as u32),
            (PAD_LEFT, left),
            (PAD_TOP, self.frame.before.y as u32),
            (PAD_VALUE, i32::from(self.frame.padding) as u32),
            (DATA_BANK, cdma.banks.data),
            (WEIGHT_BANK, cdma.banks.weight),
        ]);
        if tiles || self.truncate > 0 {
            fields.push((PRA_TRUNCATE, self.truncate));
        }
        Encoded::of(Unit::Csc, fields)
    }

    /// Returns the registers of [`CscLayer::fields`], checked: the inverse of [`CscLayer::decode`].
    ///
    /// # Errors
    /// When it cannot be said, or would be refused.
    pub fn encode(
        &self,
        cdma: &CdmaLayer,
        map: RegisterMap,
        hardware: &Hardware,
    ) -> Result<Encoded, Refused> {
        let fields = self.fields(cdma);
        let group = fields.group(Unit::Csc, map)?;
        let decoded = CscLayer::decode(&group, hardware);
        encode::check(self, decoded, (&group, reg::D_MISC_CFG::PROC_PRECISION))?;
        Ok(fields)
    }
}

#[cfg(test)]
mod tests;
