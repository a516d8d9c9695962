//! The layers of a loadable, decoded as the units of a configuration decode them.

use super::super::network::{Operation, OperationKind, OperationWork};
use super::super::places::Places;
use super::super::registers;
use crate::program::Program;
use vp_models::nvdla::bdma::layer::BdmaTransfer;
use vp_models::nvdla::cdp::layer::CdpLayer;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::conv;
use vp_models::nvdla::conv::cacc::layer::CaccLayer;
use vp_models::nvdla::conv::cdma::layer::CdmaLayer;
use vp_models::nvdla::conv::cmac::CmacLayer;
use vp_models::nvdla::conv::csc::layer::CscLayer;
use vp_models::nvdla::pdp::layer::PdpLayer;
use vp_models::nvdla::refused::Refused;
use vp_models::nvdla::registers::{Group, RegisterMap, Unit};
use vp_models::nvdla::rubik::layer::RubikLayer;
use vp_models::nvdla::sdp::layer::SdpLayer;

/// Refusal of an operation, whose memory lies there, by a unit of a configuration.
pub(super) fn refusal(operation: &Operation, places: &Places, config: &Config) -> Option<Refused> {
    decode(operation, places, config).err()
}

fn decode(operation: &Operation, places: &Places, config: &Config) -> Result<(), Refused> {
    if let OperationWork::Bdma(copies) = &operation.what {
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
        OperationKind::Bdma => Ok(()),
        OperationKind::Convolution => {
            let hardware = conv::hardware::Hardware::from(config);
            CdmaLayer::decode(&of(Unit::Cdma), &hardware)?;
            CscLayer::decode(&of(Unit::Csc), &hardware)?;
            CmacLayer::decode(&of(Unit::CmacA), &hardware)?;
            CaccLayer::decode(&of(Unit::Cacc), &hardware).map(drop)
        }
        OperationKind::Sdp => SdpLayer::decode(&of(Unit::Sdp), &of(Unit::SdpRdma), &config.into()).map(drop),
        OperationKind::Pdp => PdpLayer::decode(&of(Unit::Pdp), &of(Unit::PdpRdma), &config.into()).map(drop),
        OperationKind::Cdp => CdpLayer::decode(&of(Unit::Cdp), &of(Unit::CdpRdma), &config.into()).map(drop),
        OperationKind::Rubik => RubikLayer::decode(&of(Unit::Rbk), &config.into()).map(drop),
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
