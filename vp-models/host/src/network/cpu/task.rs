//! Tasks of the CPU.

use crate::network::description::CpuProgram;

/// Task of the CPU: what it makes of tensors.
#[derive(Clone, Debug, PartialEq)]
pub enum Cpu {
    /// Soft-max over channels; what a step of the input means, in 1/65536ths.
    SoftMax(u32),
    /// An answer for each of the 256 elements of int8, the first one's for -128.
    Table(Vec<i8>),
    /// A part of a cube, from this column, line and channel on.
    Slice([u32; 3]),
    /// A graph of tensors.
    Program(CpuProgram),
}
