//! The form of a loadable's data cubes, told by their own sizes.
//!
//! Versions do not tell: each compiler counts its own. (ONNC stamps 1.2.0 on cubes of 28 bytes, which NVIDIA had up to 0.11.)
//! Descriptors read in the wrong form have places and sizes that cannot be; so the form is taken in which more of them can.

use super::cpu;
use super::network::{self, Cube, MAX_EXTENT, OperationWork, TensorPlace};
use super::{Generation, Loadable, Processor, Version};

/// Most operations that are looked at: more tell nothing new.
const MOST_OPERATIONS: usize = 4096;

/// The form of a loadable's descriptors. Where they do not tell it (there are none, such as with BDMA alone), it is by their version
/// that of NVIDIA's compiler.
pub(super) fn of(loadable: &Loadable) -> Generation {
    let [short, long] = Generation::ALL.map(|generation| likely_parts(loadable, generation));
    match short.cmp(&long) {
        std::cmp::Ordering::Greater => Generation::Short,
        std::cmp::Ordering::Less => Generation::Long,
        std::cmp::Ordering::Equal => match loadable.interface {
            Some(version) if version >= Version(0, 12, 0) => Generation::Long,
            _ => Generation::Short,
        },
    }
}

/// Number of cubes and CPU buffers that can be what they are when they are read in this form.
fn likely_parts(loadable: &Loadable, generation: Generation) -> usize {
    let mut left = MOST_OPERATIONS;
    let mut likely = 0;
    for task in loadable.tasks() {
        if left == 0 {
            break;
        }
        match task.processor {
            Processor::Accelerator => {
                let Ok(lists) = network::lists(loadable, task, generation) else { continue };
                let count = lists.count().min(left);
                let operations = (0..count).filter_map(|at| lists.operation(at).ok());
                likely += operations.map(|operation| likely_cubes(loadable, &operation.what)).sum::<usize>();
                left -= count.max(1);
            }
            Processor::Cpu => {
                let (count, good) = cpu::likely_buffers(loadable, task, generation, left);
                likely += good;
                left -= count.clamp(1, left);
            }
        }
    }
    likely
}

fn likely_cubes(loadable: &Loadable, what: &OperationWork) -> usize {
    let data = what.data().into_iter().filter(|(_, cube)| has_extents(cube) && is_placed(loadable, cube));
    let parameters = what.parameters().into_iter().filter(|cube| is_placed(loadable, cube));
    data.count() + parameters.count()
}

fn has_extents(cube: &Cube) -> bool {
    [cube.width, cube.height, cube.channels].iter().all(|extent| (1..=MAX_EXTENT).contains(extent))
}

/// Returns true if a cube is on the fly, or lies as a whole, strides too, in the memory that it names.
fn is_placed(loadable: &Loadable, cube: &Cube) -> bool {
    match cube.place {
        TensorPlace::OnTheFly => true,
        TensorPlace::None => false,
        TensorPlace::Memory(entry) => {
            let bytes = loadable.memory(entry.memory).image.len() as u64;
            let is_there = |size: u32| entry.offset.saturating_add(size.into()) <= bytes;
            cube.size > 0 && [cube.size, cube.line_stride, cube.surface_stride].into_iter().all(is_there)
        }
    }
}
