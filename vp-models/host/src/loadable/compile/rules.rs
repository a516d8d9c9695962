//! Rules of the vendor's runtime and driver that a plan can break. What registers they cannot write, [`check`](super::check) finds.

use super::error::CompileError;
use super::groups::Groups;
use crate::Memory;
use crate::network::{Plan, PlanStep, Work};
use vp_models::nvdla::config::Config;
use vp_models::nvdla::registers::{RegisterMap, Unit, cdma, pdp};
use vp_models::nvdla::sdp::layer::{Operand, SdpLayer, Stage};

/// Most steps from window to window that the driver passes to PDP (`pdp.c`, `validate_pdp_configs`).
const MOST_POOLING_STRIDE: u32 = 8;

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
    plan.steps.iter().try_for_each(|step| {
        of_step(step, config)?;
        of_stages(step, config)
    })
}

fn of_step(step: &PlanStep, config: &Config) -> Result<(), CompileError> {
    // The driver knows two kinds of hardware: that with nv_full's registers has BDMA and compressed weights, all other has neither.
    let is_full = config.register_map == RegisterMap::Full;
    match &step.work {
        Work::Copy { .. } if !is_full => {
            rule(&step.name, "the driver copies by BDMA with nv_full's map of registers alone")
        }
        Work::Hardware { program, .. } => {
            for write in &program.writes {
                let field = |field: vp_models::nvdla::registers::FieldRef| {
                    field.bits(config.register_map.family()).extract(write.value)
                };
                let is = |unit, register: vp_models::nvdla::registers::RegisterRef| {
                    write.unit == unit && write.register == register
                };
                if is(Unit::Cdma, cdma::D_WEIGHT_FORMAT) && write.value != 0 && !is_full {
                    let why = "the driver takes compressed weights with nv_full's map of registers alone";
                    return rule(&step.name, why);
                }
                if is(Unit::Pdp, pdp::D_POOLING_KERNEL_CFG) {
                    use pdp::D_POOLING_KERNEL_CFG::{KERNEL_STRIDE_HEIGHT, KERNEL_STRIDE_WIDTH};
                    let strides = [KERNEL_STRIDE_WIDTH, KERNEL_STRIDE_HEIGHT].map(|it| field(it) + 1);
                    if strides.into_iter().any(|stride| stride > MOST_POOLING_STRIDE) {
                        return rule(&step.name, "the driver takes poolings with strides of 1 to 8");
                    }
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Refuses a stage of SDP with one operand in memory and one in a register: its descriptor has one mode for both.
fn of_stages(step: &PlanStep, config: &Config) -> Result<(), CompileError> {
    let Work::Hardware { units, program, .. } = &step.work else { return Ok(()) };
    if !units.contains(&Unit::Sdp) {
        return Ok(());
    }
    let groups = Groups::after(config.register_map, program);
    let layer = SdpLayer::decode(groups.of(Unit::Sdp), groups.of(Unit::SdpRdma), &config.into());
    let refused = |refused| CompileError::Refused { layer: step.name.clone(), refused };
    let SdpLayer { bs, bn, .. } = layer.map_err(refused)?;
    let is_mixed = |stage: &Stage| match (stage.alu, stage.multiplier) {
        (Some(alu), Some(multiplier)) => {
            (alu.operand == Operand::Memory) != (multiplier.operand == Operand::Memory)
        }
        _ => false,
    };
    match [bs, bn].iter().flatten().any(is_mixed) {
        true => rule(
            &step.name,
            "a stage of SDP would add what is in memory and multiply by a register, as for a leaky activation behind an added cube; the \
             driver takes both operands of a stage from one source",
        ),
        false => Ok(()),
    }
}

fn rule<T>(layer: &str, rule: &str) -> Result<T, CompileError> {
    Err(CompileError::Rule { layer: layer.to_owned(), rule: rule.to_owned() })
}
