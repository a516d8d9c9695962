//! Rules of the vendor's runtime and driver that a plan can break. What registers they cannot write, [`check`](super::check) finds.

use super::error::CompileError;
use super::groups::Groups;
use crate::Memory;
use crate::network::{Plan, Work};
use vp_models::nvdla::config::Config;
use vp_models::nvdla::registers::{RegisterMap, Unit, cdma, pdp};
use vp_models::nvdla::sdp::layer::{Operand, SdpLayer, Stage};

/// Most steps from window to window that the driver passes to PDP (`pdp.c`, `validate_pdp_configs`).
const MOST_POOLING_STRIDE: u32 = 8;

/// Most strips of a pooling (`pdp.c`, `validate_pdp_configs`).
const MOST_STRIPS: u32 = 64;

/// Refuses a plan that breaks a rule.
///
/// # Errors
/// [`CompileError::Rule`] with the first.
pub(super) fn check(plan: &Plan, config: &Config) -> Result<(), CompileError> {
    let in_sram = |name: &str, memory: Memory| match memory {
        Memory::Secondary => {
            rule(name, "it would be in SRAM, of which the runtime allots nothing; place it in DRAM")
        }
        Memory::Primary => Ok(()),
    };
    plan.tensors.iter().try_for_each(|tensor| in_sram(&tensor.name, tensor.place.memory))?;
    plan.constants.iter().try_for_each(|constant| in_sram(&constant.what, constant.place.memory))?;
    plan.copies.iter().try_for_each(|copy| in_sram(&copy.name, copy.place.memory))?;
    plan.steps.iter().try_for_each(|step| match &step.work {
        Work::Hardware { units, program, .. } => {
            let groups = Groups::after(config.register_map, program);
            of_layer(&step.name, units, &groups, config)
        }
        Work::Copy { .. } | Work::Cpu { .. } => Ok(()),
    })
}

fn of_layer(layer: &str, units: &[Unit], groups: &Groups, config: &Config) -> Result<(), CompileError> {
    let is_compressed = || groups.of(Unit::Cdma).flag(cdma::D_WEIGHT_FORMAT::WEIGHT_FORMAT);
    if units.contains(&Unit::Cdma) && config.register_map != RegisterMap::Full && is_compressed() {
        return rule(layer, "the driver takes compressed weights with nv_full's map of registers alone");
    }
    if units.contains(&Unit::Pdp) {
        use pdp::D_POOLING_KERNEL_CFG::{KERNEL_STRIDE_HEIGHT, KERNEL_STRIDE_WIDTH};
        let strides = [KERNEL_STRIDE_WIDTH, KERNEL_STRIDE_HEIGHT].map(|it| groups.of(Unit::Pdp).actual(it));
        if groups.of(Unit::Pdp).actual(pdp::D_OPERATION_MODE_CFG::SPLIT_NUM) > MOST_STRIPS {
            return rule(layer, "the driver takes poolings of 1 to 64 strips");
        }
        if strides.into_iter().any(|stride| stride > MOST_POOLING_STRIDE) {
            return rule(layer, "the driver takes poolings with strides of 1 to 8");
        }
    }
    if units.contains(&Unit::Sdp) {
        let decoded = SdpLayer::decode(groups.of(Unit::Sdp), groups.of(Unit::SdpRdma), &config.into());
        let refused = |refused| CompileError::Refused { layer: layer.to_owned(), refused };
        let SdpLayer { bs, bn, .. } = decoded.map_err(refused)?;
        if [bs, bn].iter().flatten().any(has_two_sources) {
            return rule(
                layer,
                "a stage of SDP would add what is in memory and multiply by a register, as for a leaky activation behind an added cube; \
                 the driver takes both operands of a stage from one source",
            );
        }
    }
    Ok(())
}

/// Returns true if a stage has one operand in memory and one in a register. Its descriptor has one mode for both.
fn has_two_sources(stage: &Stage) -> bool {
    match (stage.alu, stage.multiplier) {
        (Some(alu), Some(multiplier)) => {
            (alu.operand == Operand::Memory) != (multiplier.operand == Operand::Memory)
        }
        _ => false,
    }
}

fn rule<T>(layer: &str, rule: &str) -> Result<T, CompileError> {
    Err(CompileError::Rule { layer: layer.to_owned(), rule: rule.to_owned() })
}
