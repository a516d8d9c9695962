//! CMAC_A and CMAC_B, the MAC arrays: each multiplies half of the kernels of a group.
//!
//! They have registers of their own, and nothing to decide: what they compute for which positions the sequence
//! says. How, `sums` knows.

use super::hardware::Hardware;
use crate::nvdla::control::Control;
use crate::nvdla::numeric::Precision;
use crate::nvdla::order::Order;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{Group, cmac as reg};
use std::rc::Rc;

/// The registers of both arrays.
pub(super) struct Arrays {
    pub(super) a: Rc<Control>,
    pub(super) b: Rc<Control>,
}

impl Arrays {
    /// Waits until both have a layer.
    pub(super) async fn turn(&self) -> [Group; 2] {
        [self.a.turn().await.0, self.b.turn().await.0]
    }

    /// Both have done their layer.
    pub(super) fn finish(&self) {
        self.a.finish();
        self.b.finish();
    }

    /// Both must take what the sequence sends: tells whose register says otherwise, and what.
    pub(super) fn check(
        &self,
        groups: &[Group; 2],
        (precision, order): (Precision, Order),
        hardware: &Hardware,
    ) -> Result<(), (&Control, Refused)> {
        for (control, group) in [&*self.a, &*self.b].into_iter().zip(groups) {
            let refuse = |field, why| Err((control, Refused::new(group, field, why)));
            let winograd = group.flag(reg::d_misc_cfg::CONV_MODE);
            if winograd && !hardware.winograd {
                return refuse(reg::d_misc_cfg::CONV_MODE, "this configuration has no Winograd");
            }
            if winograd != (order == Order::Tiles) {
                return refuse(reg::d_misc_cfg::CONV_MODE, "CSC has another mode");
            }
            let field = reg::d_misc_cfg::PROC_PRECISION;
            if hardware.precision(group, field).map_err(|refused| (control, refused))? != precision {
                return refuse(field, "CSC sends another format");
            }
        }
        Ok(())
    }
}
