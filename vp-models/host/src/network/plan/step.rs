//! Steps of a plan: hardware layers, copies and tasks of the CPU.

use super::outline::StepOutline;
use crate::network::cpu::{Cpu, CpuWork};
use crate::network::layout::Tensor;
use crate::program::Program;
use std::ops::AddAssign;
use vp_models::nvdla::glb::InterruptSource;
use vp_models::nvdla::registers::Unit;

/// One hardware layer, or a task of the CPU: a layer of the network, or some of its lines or channels.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanStep {
    /// The layer's place in the network; of several the first.
    pub layer: usize,
    /// Name of the layer.
    pub name: String,
    /// Steps that must be done before this one begins: they make what it reads, or use the memory that it writes. Steps for which
    /// these wait may be left out.
    pub after: Vec<usize>,
    /// Work that is done.
    pub work: Work,
    /// Cycles for which its products keep the whole MAC array busy; none where the array takes no part.
    pub mac_cycles: u64,
    /// Method of convolution, if it convolves.
    pub method: ConvolutionMethod,
    /// Figures that are known before it runs.
    pub outline: StepOutline,
}

/// Method of a convolution, where hardware can do the same in several ways. By default directly, with weights as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConvolutionMethod {
    /// By Winograd's method: the products of transformed features and kernels, 16 for four outputs, a channel and a kernel. Those of outputs
    /// beside the layer's own and of channels up to a whole memory atom are among them, as the array makes them, too.
    pub winograd_products: Option<u64>,
    /// Weights lie in memory without their zeros.
    pub is_compressed: bool,
}

impl ConvolutionMethod {
    /// Returns true if the method is Winograd's.
    pub fn is_winograd(&self) -> bool {
        self.winograd_products.is_some()
    }
}

impl AddAssign for ConvolutionMethod {
    /// Of several hardware layers together: compressed if one of them has such weights.
    fn add_assign(&mut self, other: ConvolutionMethod) {
        if let Some(products) = other.winograd_products {
            *self.winograd_products.get_or_insert(0) += products;
        }
        self.is_compressed |= other.is_compressed;
    }
}

/// Work of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Hardware does it.
    Hardware {
        /// The units that take part, in the order in which they are enabled: consumers before who feeds them.
        units: Vec<Unit>,
        /// Registers and their values, whatever the group.
        program: Program,
        /// The interrupts that say that it is done.
        done: Vec<InterruptSource>,
        /// The lookup table that it needs, by its place in the plan's list.
        table: Option<usize>,
    },
    /// BDMA copies into SRAM what later steps read from there.
    Copy {
        /// Registers and their values; each command ends with its `CFG_OP`.
        program: Program,
        /// Bytes that it copies.
        bytes: u64,
    },
    /// The CPU does it: no simulated time passes.
    Cpu {
        /// Task that it does.
        task: Cpu,
        /// Tensors that it reads.
        from: Vec<Tensor>,
        /// Tensor that it makes.
        to: Tensor,
    },
}

impl PlanStep {
    /// The units that take part.
    pub fn units(&self) -> &[Unit] {
        match &self.work {
            Work::Hardware { units, .. } => units,
            Work::Copy { .. } => &[Unit::Bdma],
            Work::Cpu { .. } => &[],
        }
    }

    /// Work of the CPU in it; none where hardware does it.
    pub fn cpu_work(&self) -> Option<CpuWork> {
        match &self.work {
            Work::Cpu { task, from, to } => Some(CpuWork::of(task, from, to)),
            Work::Hardware { .. } | Work::Copy { .. } => None,
        }
    }

    /// Bytes that BDMA copies in it; none where it is no copy.
    pub fn copied(&self) -> Option<u64> {
        match self.work {
            Work::Copy { bytes, .. } => Some(bytes),
            Work::Hardware { .. } | Work::Cpu { .. } => None,
        }
    }
}
