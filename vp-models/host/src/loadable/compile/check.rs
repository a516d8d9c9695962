//! Proof that the driver programs what the plan has: of each operation's descriptor, as it stands in the loadable, come the registers that
//! the driver writes, and these must be the same layer.
//!
//! Layers are compared, not registers: a unit does not look at all of them. Registers that the driver leaves alone hold what an operation
//! before has written to the same group, so each layer is decoded among what the one before the last has left.

use super::error::CompileError;
use super::groups::Groups;
use crate::loadable::network::Operation;
use crate::loadable::places::Places;
use crate::loadable::registers;
use crate::program::{Program, Write};
use std::collections::HashMap;
use vp_models::nvdla::cdp::layer::CdpLayer;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::conv::cacc::layer::CaccLayer;
use vp_models::nvdla::conv::cdma::feature::Feature;
use vp_models::nvdla::conv::cdma::layer::{CdmaLayer, Input};
use vp_models::nvdla::conv::cmac::CmacLayer;
use vp_models::nvdla::conv::csc::layer::CscLayer;
use vp_models::nvdla::cube::Packing;
use vp_models::nvdla::pdp::layer::PdpLayer;
use vp_models::nvdla::refused::Refused;
use vp_models::nvdla::registers::Unit;
use vp_models::nvdla::sdp::layer::SdpLayer;
use vp_models::nvdla::{cdp, conv, pdp, sdp};

/// A unit's layer.
#[derive(Debug, PartialEq)]
enum UnitLayer {
    Cdma(CdmaLayer),
    Csc(CscLayer),
    Cmac(CmacLayer),
    Cacc(CaccLayer),
    Sdp(SdpLayer),
    Pdp(PdpLayer),
    Cdp(CdpLayer),
}

/// Registers of both groups of each unit, as the driver leaves them.
pub(super) struct Driven<'a> {
    config: &'a Config,
    /// For each unit the group that is written next, and both.
    groups: HashMap<Unit, (usize, [Program; 2])>,
}

impl<'a> Driven<'a> {
    pub(super) fn new(config: &'a Config) -> Driven<'a> {
        Driven { config, groups: HashMap::new() }
    }

    /// Checks a hardware layer: its operations as the loadable has them, against the plan's writes.
    ///
    /// # Errors
    /// When the driver would program another layer.
    pub(super) fn check(
        &mut self,
        layer: &str,
        operations: &[&Operation],
        places: &Places,
        (program, table): (&Program, Option<&Program>),
    ) -> Result<(), CompileError> {
        let map = self.config.register_map;
        let mut wanted = Groups::new(map);
        let mut driven = Groups::new(map);
        let mut written = Program::new(map);
        if let Some(table) = table {
            wanted.write(table);
        }
        for operation in operations {
            if let Some((lut, precision)) = operation.lut() {
                driven.write(&registers::load_lut(map, operation.kind.unit(), &lut.table, precision));
            }
            written.writes.extend(registers::of(operation, places).program.writes);
        }
        wanted.write(program);
        for unit in map.units().map(|slot| slot.unit) {
            let own: Vec<_> = written.writes.iter().filter(|write| write.unit == unit).copied().collect();
            if own.is_empty() {
                continue;
            }
            let empty = || (0, [Program::new(map), Program::new(map)]);
            let (next, groups) = self.groups.entry(unit).or_insert_with(empty);
            groups[*next].writes.retain(|old| !own.iter().any(|new| new.register == old.register));
            groups[*next].writes.extend(own);
            driven.write(&groups[*next]);
            *next = 1 - *next;
        }
        let named = |refused| CompileError::Refused { layer: layer.to_owned(), refused };
        for operation in operations {
            let units = layers_of(operation);
            for &unit in units {
                let decode = |groups: &Groups| layer_of(unit, groups, self.config);
                if decode(&driven).ok() != Some(decode(&wanted).map_err(named)?) {
                    let differences = differences(unit, program, &driven, self.config);
                    return Err(CompileError::Registers { layer: layer.to_owned(), differences });
                }
            }
        }
        Ok(())
    }
}

/// Units of an operation that have a layer.
fn layers_of(operation: &Operation) -> &'static [Unit] {
    use crate::loadable::network::OperationKind as Kind;
    match operation.kind {
        Kind::Convolution => &[Unit::Cdma, Unit::Csc, Unit::CmacA, Unit::CmacB, Unit::Cacc],
        Kind::Sdp => &[Unit::Sdp],
        Kind::Pdp => &[Unit::Pdp],
        Kind::Cdp => &[Unit::Cdp],
        Kind::Bdma | Kind::Rubik => &[],
    }
}

/// The layer that a unit's registers say.
fn layer_of(unit: Unit, groups: &Groups, config: &Config) -> Result<UnitLayer, Refused> {
    let convolution = conv::hardware::Hardware::from(config);
    let group = |unit| groups.of(unit);
    Ok(match unit {
        Unit::Cdma => UnitLayer::Cdma(back_to_back(CdmaLayer::decode(group(unit), &convolution)?)),
        Unit::Csc => UnitLayer::Csc(CscLayer::decode(group(unit), &convolution)?),
        Unit::CmacA | Unit::CmacB => UnitLayer::Cmac(CmacLayer::decode(group(unit), &convolution)?),
        Unit::Cacc => UnitLayer::Cacc(CaccLayer::decode(group(unit), &convolution)?),
        Unit::Pdp => {
            let hardware = pdp::layer::Hardware::from(config);
            UnitLayer::Pdp(PdpLayer::decode(group(unit), group(Unit::PdpRdma), &hardware)?)
        }
        Unit::Cdp => {
            let hardware = cdp::layer::Hardware::from(config);
            UnitLayer::Cdp(CdpLayer::decode(group(unit), group(Unit::CdpRdma), &hardware)?)
        }
        _ => {
            let hardware = sdp::layer::Hardware::from(config);
            UnitLayer::Sdp(SdpLayer::decode(group(Unit::Sdp), group(Unit::SdpRdma), &hardware)?)
        }
    })
}

/// A layer whose pixels are packed if its surfaces lie back to back: the driver says so always, and the bytes are the same.
fn back_to_back(mut layer: CdmaLayer) -> CdmaLayer {
    if let Input::Feature(Feature { surface, width: 1, height: 1, .. }) = &mut layer.input
        && surface.surface_stride == layer.atom
    {
        surface.packing = Packing::Packed;
    }
    layer
}

/// Registers that the driver would write otherwise, and that matter to a unit: with the plan's value its layer would be another.
fn differences(unit: Unit, program: &Program, driven: &Groups, config: &Config) -> Vec<String> {
    let wanted = Groups::after(program.map(), program);
    let mut told: Vec<String> = Vec::new();
    for write in &program.writes {
        let mut changed = driven.clone();
        let value = wanted.of(write.unit).word(write.register);
        changed.write(&Program::of(program.map(), vec![Write { value, ..*write }]));
        if layer_of(unit, &changed, config) != layer_of(unit, driven, config) {
            let found = driven.of(write.unit).word(write.register);
            let text =
                format!("{}.{} would be {found:#x}, and not {value:#x}", write.unit, write.register.name);
            if !told.contains(&text) {
                told.push(text);
            }
        }
    }
    told
}
