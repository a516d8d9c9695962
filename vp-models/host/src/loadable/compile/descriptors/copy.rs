//! Commands of BDMA.

use vp_models::nvdla::bdma::layer::BdmaTransfer;
use vp_models::nvdla::refused::Refused;
use vp_models::nvdla::registers::{Group, RegisterMap, Unit, bdma};

use crate::program::Program;

/// Returns the transfers that a program puts into BDMA's queue.
pub(in super::super) fn of(map: RegisterMap, program: &Program) -> Result<Vec<BdmaTransfer>, Refused> {
    let mut group = Group::new(Unit::Bdma, map);
    let mut transfers = Vec::new();
    for write in &program.writes {
        match write.register.name == bdma::CFG_OP.name {
            true => transfers.push(BdmaTransfer::decode(&group)?),
            false => group.set_word(write.register, write.value),
        }
    }
    Ok(transfers)
}
