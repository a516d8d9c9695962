//! The layers of a loadable, decoded as the units of a configuration decode them.

use super::super::network::{Kind, Operation, What};
use super::super::places::Places;
use super::super::registers;
use crate::host::program::Program;
use crate::nvdla::bdma::layer::BdmaTransfer;
use crate::nvdla::cdp::layer::CdpLayer;
use crate::nvdla::config::Config;
use crate::nvdla::conv;
use crate::nvdla::conv::cacc::layer::CaccLayer;
use crate::nvdla::conv::cdma::layer::CdmaLayer;
use crate::nvdla::conv::cmac::CmacLayer;
use crate::nvdla::conv::csc::layer::CscLayer;
use crate::nvdla::pdp::layer::PdpLayer;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{Group, RegisterMap, Unit};
use crate::nvdla::rubik::layer::RubikLayer;
use crate::nvdla::sdp::layer::SdpLayer;

/// Refusal of an operation, whose memory lies there, by a unit of a configuration.
pub(super) fn refusal(operation: &Operation, places: &Places, config: &Config) -> Option<Refused> {
    decode(operation, places, config).err()
}

fn decode(operation: &Operation, places: &Places, config: &Config) -> Result<(), Refused> {
    if let What::Bdma(copies) = &operation.what {
        return copies.iter().try_for_each(|copy| {
            let written = Written(places.map, registers::transfer(copy, places));
            BdmaTransfer::decode(&written.group(Unit::Bdma)).map(drop)
        });
    }
    let mut program = Program::new(places.map);
    if let Some((lut, precision)) = operation.lut() {
        let load = registers::load_lut(places.map, operation.kind.unit(), &lut.table, precision);
        program.writes.extend(load.writes);
    }
    program.writes.extend(registers::of(operation, places).program.writes);
    let written = Written(places.map, program);
    let of = |unit| written.group(unit);
    match operation.kind {
        Kind::Bdma => Ok(()),
        Kind::Convolution => {
            let hardware = conv::hardware::Hardware::from(config);
            CdmaLayer::decode(&of(Unit::Cdma), &hardware)?;
            CscLayer::decode(&of(Unit::Csc), &hardware)?;
            CmacLayer::decode(&of(Unit::CmacA), &hardware)?;
            CaccLayer::decode(&of(Unit::Cacc), &hardware).map(drop)
        }
        Kind::Sdp => SdpLayer::decode(&of(Unit::Sdp), &of(Unit::SdpRdma), &config.into()).map(drop),
        Kind::Pdp => PdpLayer::decode(&of(Unit::Pdp), &of(Unit::PdpRdma), &config.into()).map(drop),
        Kind::Cdp => CdpLayer::decode(&of(Unit::Cdp), &of(Unit::CdpRdma), &config.into()).map(drop),
        Kind::Rubik => RubikLayer::decode(&of(Unit::Rbk), &config.into()).map(drop),
    }
}

/// Registers as they are after these writes.
struct Written(RegisterMap, Program);

impl Written {
    fn group(&self, unit: Unit) -> Group {
        let mut group = Group::new(unit, self.0);
        let writes = self.1.writes.iter().filter(|write| write.unit == unit);
        writes.for_each(|write| group.set_word(write.register, write.value));
        group
    }
}
