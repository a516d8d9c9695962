//! CMAC_A and CMAC_B, the MAC arrays: each multiplies half of the kernels of a group.
//!
//! They have registers of their own, and nothing to decide: what they compute for which positions the sequence
//! says. The sums are computed for a run of positions at once, when the first of them is due.

use super::elements::Elements;
use super::hardware::Hardware;
use super::plain::{self, Geometry, Window};
use crate::nvdla::control::Control;
use crate::nvdla::numeric::Precision;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::{Group, cmac as reg};
use std::ops::Range;
use std::rc::Rc;

/// Positions whose sums are computed at once, at least.
const RUN: usize = 512;

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
        precision: Precision,
        hardware: &Hardware,
    ) -> Result<(), (&Control, Refused)> {
        for (control, group) in [&*self.a, &*self.b].into_iter().zip(groups) {
            let refuse = |field, why| Err((control, Refused::new(group, field, why)));
            if group.flag(reg::d_misc_cfg::CONV_MODE) {
                return refuse(reg::d_misc_cfg::CONV_MODE, "Winograd is not modelled");
            }
            let field = reg::d_misc_cfg::PROC_PRECISION;
            if hardware.precision(group, field).map_err(|refused| (control, refused))? != precision {
                return refuse(field, "CSC sends another format");
            }
        }
        Ok(())
    }
}

/// The sums of one group of kernels over a layer's window.
pub(super) struct Sums<'a> {
    geometry: Geometry,
    window: &'a Elements,
    pitch: usize,
    weights: Elements,
    kernels: usize,
    positions: usize,
    /// Positions computed, and their sums `[position][kernel]`.
    computed: Range<usize>,
    sums: Vec<i64>,
}

impl<'a> Sums<'a> {
    /// Of `kernels` kernels with their weights `[kernel][row][column][channel]`.
    pub(super) fn new(
        geometry: Geometry,
        (window, pitch): (&'a Elements, usize),
        weights: Elements,
        kernels: usize,
        positions: usize,
    ) -> Sums<'a> {
        Sums { geometry, window, pitch, weights, kernels, positions, computed: 0..0, sums: Vec::new() }
    }

    /// The sums of some positions. Positions are asked for in order.
    pub(super) fn of(&mut self, positions: Range<usize>) -> &[i64] {
        if positions.end > self.computed.end {
            let end = (positions.start + RUN).max(positions.end).min(self.positions);
            self.computed = positions.start..end;
            self.compute();
        }
        let at = |position: usize| (position - self.computed.start) * self.kernels;
        &self.sums[at(positions.start)..at(positions.end)]
    }

    fn compute(&mut self) {
        let (geometry, run, sums) = (&self.geometry, self.computed.clone(), &mut self.sums);
        match (self.window, &self.weights) {
            (Elements::Int8(window), Elements::Int8(weights)) => {
                plain::sums(geometry, Window { elements: window, pitch: self.pitch }, weights, run, sums);
            }
            (Elements::Int16(window), Elements::Int16(weights)) => {
                plain::sums(geometry, Window { elements: window, pitch: self.pitch }, weights, run, sums);
            }
            _ => unreachable!("weights and activations of one layer have one format"),
        }
    }
}
