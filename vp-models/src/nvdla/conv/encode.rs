//! One hardware layer of a convolution, as the registers of all five units say it together.

use super::cacc::layer::CaccLayer;
use super::cdma::layer::CdmaLayer;
use super::cmac::CmacLayer;
use super::csc::layer::CscLayer;
use super::hardware::Hardware;
use crate::nvdla::encode::Encoded;
use crate::nvdla::order::Order;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::RegisterMap;

/// Layer as the work of each unit. The arrays follow from the sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvolutionLayer {
    /// Data that is brought.
    pub cdma: CdmaLayer,
    /// Order in which it is multiplied.
    pub csc: CscLayer,
    /// Treatment of the sums.
    pub cacc: CaccLayer,
}

impl ConvolutionLayer {
    fn cmac(&self) -> CmacLayer {
        CmacLayer { precision: self.csc.precision, winograd: self.csc.passing == Order::Tiles }
    }

    /// The registers of all units in groups, all but the enables: each consumer before its producer.
    pub fn fields(&self) -> Encoded {
        let arrays = self.cacc.fields().and(self.cmac().fields());
        arrays.and(self.csc.fields(&self.cdma)).and(self.cdma.fields())
    }

    /// Returns the registers of [`ConvolutionLayer::fields`], each unit's checked.
    ///
    /// # Errors
    /// When a unit's registers cannot say it, or the unit would refuse it.
    pub fn encode(&self, map: RegisterMap, hardware: &Hardware) -> Result<Encoded, Refused> {
        let arrays = self.cacc.encode(map, hardware)?.and(self.cmac().encode(map, hardware)?);
        let sequence = self.csc.encode(&self.cdma, map, hardware)?;
        Ok(arrays.and(sequence).and(self.cdma.encode(map, hardware)?))
    }
}
