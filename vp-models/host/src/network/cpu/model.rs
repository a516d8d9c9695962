//! Estimated time of what the CPU does: no simulated time passes for it, and it is not free.

use super::task::Cpu;
use crate::network::layout::Tensor;
use std::iter::Sum;
use std::ops::Add;
use std::str::FromStr;
use vp_core::Time;
use vp_tensors::{ElementType, FUNCTION_OPERATIONS, Graph, ValueId};

/// A CPU, as far as its time for a network's layers is estimated.
///
/// A layer takes as long as its arithmetic or its memory, whichever is longer, and then as long as reading and writing the cubes takes,
/// whose elements lie in atoms: `max(operations / rate, bytes / rate) + packed bytes / rate`. Caches, dependencies and threads are
/// not in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuModel {
    /// Clock.
    pub clock_hz: f64,
    /// Arithmetic operations in a cycle; a multiplication with an addition is two.
    pub operations_per_cycle: f64,
    /// Bytes in a cycle that are read or written.
    pub bytes_per_cycle: f64,
}

impl Default for CpuModel {
    /// One core that takes instructions in order, at 1 GHz, with four operations on floats and four bytes a cycle.
    fn default() -> CpuModel {
        CpuModel { clock_hz: 1e9, operations_per_cycle: 4.0, bytes_per_cycle: 4.0 }
    }
}

impl CpuModel {
    /// The time of some work.
    pub fn time(&self, work: CpuWork) -> Time {
        let cycles = (work.operations as f64 / self.operations_per_cycle)
            .max(work.bytes as f64 / self.bytes_per_cycle)
            + work.packed_bytes as f64 / self.bytes_per_cycle;
        Time::ps((cycles / self.clock_hz * 1e12).ceil() as u64)
    }

    /// The estimate for some work.
    pub fn estimate(&self, work: CpuWork) -> CpuEstimate {
        CpuEstimate { work, time: self.time(work) }
    }
}

/// A text that is no model of a CPU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no CPU: write its clock, arithmetic operations in a cycle, and bytes in a cycle, each above zero, such as `1GHz,4,4`"
)]
pub struct NoCpuModel(String);

impl FromStr for CpuModel {
    type Err = NoCpuModel;

    /// Reads a clock with its unit, operations in a cycle and bytes in a cycle, with commas between.
    fn from_str(text: &str) -> Result<CpuModel, NoCpuModel> {
        let none = || NoCpuModel(text.to_owned());
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let &[clock, operations, bytes] = parts.as_slice() else { return Err(none()) };
        let units = [("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)];
        let with = |(unit, scale): (&str, f64)| Some((clock.strip_suffix(unit)?, scale));
        let (clock, scale) = units.into_iter().find_map(with).ok_or_else(none)?;
        let number = |text: &str| {
            let number = text.trim().parse::<f64>().ok();
            number.filter(|number| (1e-3..=1e12).contains(number)).ok_or_else(none)
        };
        let (clock_hz, operations_per_cycle, bytes_per_cycle) =
            (number(clock)? * scale, number(operations)?, number(bytes)?);
        Ok(CpuModel { clock_hz, operations_per_cycle, bytes_per_cycle })
    }
}

/// Amount of work of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuWork {
    /// Arithmetic operations, those between codes and floats among them.
    pub operations: u64,
    /// Bytes of tensors that operators read and write.
    pub bytes: u64,
    /// Bytes of cubes in the device's memory that are read and written.
    pub packed_bytes: u64,
}

impl Add for CpuWork {
    type Output = CpuWork;

    fn add(self, other: CpuWork) -> CpuWork {
        CpuWork {
            operations: self.operations.saturating_add(other.operations),
            bytes: self.bytes.saturating_add(other.bytes),
            packed_bytes: self.packed_bytes.saturating_add(other.packed_bytes),
        }
    }
}

impl Sum for CpuWork {
    fn sum<I: Iterator<Item = CpuWork>>(all: I) -> CpuWork {
        all.fold(CpuWork::default(), Add::add)
    }
}

impl CpuWork {
    /// The work of so many runs.
    #[must_use]
    pub fn times(self, runs: u64) -> CpuWork {
        CpuWork {
            operations: self.operations.saturating_mul(runs),
            bytes: self.bytes.saturating_mul(runs),
            packed_bytes: self.packed_bytes.saturating_mul(runs),
        }
    }

    /// The work of a graph of tensors, from floats to floats.
    pub fn of_graph(graph: &Graph) -> CpuWork {
        let bytes = |id: &ValueId| {
            let value = graph.value(*id);
            let elements = value.shape.iter().fold(1_u64, |all, &size| all.saturating_mul(size as u64));
            elements.saturating_mul(element_bytes(value.element_type))
        };
        let of_node = |node: &vp_tensors::Node| CpuWork {
            operations: graph.operations(node),
            bytes: node.inputs.iter().flatten().chain(&node.outputs).map(bytes).fold(0, u64::saturating_add),
            packed_bytes: 0,
        };
        graph.nodes.iter().map(of_node).sum()
    }

    /// The work of a task between these tensors.
    pub(in crate::network) fn of(task: &Cpu, from: &[Tensor], to: &Tensor) -> CpuWork {
        let elements = |tensor: &Tensor| tensor.shape.elements() as u64;
        let (read, made) = (from.iter().map(elements).sum::<u64>(), elements(to));
        let element = to.precision.bytes() as u64;
        let packed_bytes = from.iter().map(Tensor::bytes_moved).sum::<u64>() + to.bytes_moved();
        let moved = CpuWork { operations: 0, bytes: (read + made) * element, packed_bytes };
        match task {
            // Only what is taken.
            Cpu::Slice(_) => {
                CpuWork { bytes: 2 * made * element, packed_bytes: 2 * to.bytes_moved(), ..moved }
            }
            Cpu::Table(_) => CpuWork { operations: made, ..moved },
            Cpu::SoftMax(_) => CpuWork { operations: made * (FUNCTION_OPERATIONS + 4), ..moved },
            Cpu::Program(program) => {
                // A code becomes a float by two operations, and a float a code by three; both are read and written.
                let coded = CpuWork {
                    operations: 2 * read + 3 * made,
                    bytes: (read + made) * (element + 4),
                    packed_bytes,
                };
                CpuWork::of_graph(&program.graph) + coded
            }
        }
    }
}

fn element_bytes(element: ElementType) -> u64 {
    match element {
        ElementType::Int64 => 8,
        ElementType::Float | ElementType::Int32 => 4,
        ElementType::Int8 | ElementType::Uint8 | ElementType::Bool => 1,
    }
}

/// Estimate of what the CPU takes for a layer, beside the device's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuEstimate {
    /// Amount of work.
    pub work: CpuWork,
    /// Time of it.
    pub time: Time,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_or_memory_bounds_and_packing_comes_on_top() {
        let model = CpuModel { clock_hz: 2e9, operations_per_cycle: 8.0, bytes_per_cycle: 4.0 };
        let work = CpuWork { operations: 800, bytes: 200, packed_bytes: 40 };
        // A hundred cycles of arithmetic, fifty of memory, and ten of packing.
        assert_eq!(model.time(work), Time::ps(55_000));
        assert_eq!(model.time(CpuWork { bytes: 2000, ..work }), Time::ps(255_000));
        assert_eq!(model.estimate(work.times(2)).time, Time::ps(110_000));
        assert_eq!(model.time(CpuWork::default()), Time::ZERO);
    }

    #[test]
    fn a_cpu_is_read_or_told_to_be_none() {
        let model = CpuModel { clock_hz: 1.5e9, operations_per_cycle: 8.0, bytes_per_cycle: 0.5 };
        assert_eq!("1.5GHz, 8, 0.5".parse(), Ok(model));
        assert_eq!("1GHz,4,4".parse(), Ok(CpuModel::default()));
        for text in ["", "1GHz", "1,4,4", "0GHz,4,4", "1GHz,-4,4", "1GHz,4,nan", "1GHz,4,4,4", "1 Gz,1,1"] {
            let error = text.parse::<CpuModel>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` is no CPU: ")), "{error}");
        }
    }
}
