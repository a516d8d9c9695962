//! Tasks of the CPU: soft-max and power, over halves in memory.
//!
//! Results are computed in single precision and [rounded](rounding) to halves, as the vendor's runtime does.

mod rounding;

use super::error::{LoadableError, RunError};
use super::layout::CPU_BUFFER;
use super::places::Places;
use super::shape::{Access, CubeFault, Direction, Shape};
use super::{AddressEntry, Generation, Loadable, Task};
use crate::bus::Bus;
use crate::softmax::softmax;
use half::f16;
use vp_models::nvdla::cube::Surface;

/// Bytes of a half.
const HALF: usize = 2;
/// `type` of a soft-max; below it there is the power.
pub(super) const SOFTMAX: u8 = 1;
/// Most bytes of a buffer.
const MAX_BYTES: usize = 64 << 20;

/// Operation of the CPU.
pub(super) enum Operation {
    Power { power: f32, scale: f32, shift: f32 },
    Softmax,
}

/// A cube of halves.
pub(super) struct Buffer {
    pub(super) place: AddressEntry,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) channels: usize,
    pub(super) line_stride: usize,
    pub(super) surface_stride: usize,
}

impl Buffer {
    /// Halves in an atom: lines are packed, and tell it.
    fn lanes(&self) -> usize {
        (self.line_stride / self.width.max(1) / HALF).max(1)
    }

    /// The first byte of an element.
    fn at(&self, x: usize, y: usize, channel: usize) -> usize {
        let pixel = self.lanes() * HALF;
        let [line_stride, surface_stride, pixel, x, y, channel] =
            [self.line_stride, self.surface_stride, pixel, x, y, channel].map(|size| size as u32);
        Surface::within(line_stride, surface_stride, pixel).element([x, y, channel], HALF as u32) as usize
    }

    fn shape(&self) -> Shape {
        let lanes = self.lanes();
        let pixel = (lanes * HALF) as u64;
        let counts = [self.width, self.height, self.channels.div_ceil(lanes)].map(|count| count as u64);
        let strides = [self.line_stride, self.surface_stride].map(|stride| stride as u64);
        Shape { pixel, last_pixel: pixel, counts, strides, atom: 1 }
    }

    /// Bytes from the first to the last.
    pub(super) fn bytes(&self) -> usize {
        self.shape().extent() as usize
    }

    fn access(&self, (operation, place): (usize, String), direction: Direction) -> Access {
        let elements = self.width * self.height * self.channels;
        Access {
            operation,
            place,
            direction,
            entry: self.place,
            extent: self.shape().extent(),
            pixels: (elements * HALF) as u64,
        }
    }
}

/// Returns the buffers of a task's operations, of which the first has this number.
///
/// # Errors
/// If one of them means nothing, or a buffer of it is not in its memory.
pub(super) fn accesses(loadable: &Loadable, task: &Task, first: usize) -> Result<Vec<Access>, LoadableError> {
    let operations = operations(loadable, task)?.into_iter().enumerate();
    let both = operations.flat_map(|(at, (_, source, destination))| {
        let place = |name| (first + at, format!("CPU operation {at} of task {}, {name}", task.id));
        [
            source.access(place("source"), Direction::Read),
            destination.access(place("destination"), Direction::Write),
        ]
    });
    Ok(both.collect())
}

pub(super) fn run(
    bus: &mut Bus<'_>,
    places: &Places,
    loadable: &Loadable,
    task: &Task,
) -> Result<(), RunError> {
    for (at, (operation, source, destination)) in operations(loadable, task)?.into_iter().enumerate() {
        bus.at(&format!("CPU operation {at} of task {}", task.id));
        let (from, _) = places.address(source.place);
        let (to, _) = places.address(destination.place);
        let mut read = vec![0; source.bytes()];
        bus.fetch(places.memory(source.place), from, &mut read)?;
        let mut written = vec![0; destination.bytes()];
        bus.fetch(places.memory(destination.place), to, &mut written)?;
        compute(&operation, (&source, &read), (&destination, &mut written));
        bus.load(places.memory(destination.place), to, &written)?;
    }
    Ok(())
}

fn compute(
    operation: &Operation,
    (source, read): (&Buffer, &[u8]),
    (destination, written): (&Buffer, &mut [u8]),
) {
    let value = |x, y, c| {
        let at = source.at(x, y, c);
        f16::from_le_bytes([read[at], read[at + 1]]).to_f32()
    };
    for y in 0..source.height {
        for x in 0..source.width {
            let values: Vec<f32> = (0..source.channels).map(|c| value(x, y, c)).collect();
            let results: Vec<f32> = match *operation {
                Operation::Power { power, scale, shift } => {
                    values.iter().map(|value| (shift + scale * value).powf(power)).collect()
                }
                Operation::Softmax => softmax(&values),
            };
            for (channel, result) in results.into_iter().enumerate() {
                let at = destination.at(x, y, channel);
                written[at..at + HALF].copy_from_slice(&rounding::half(result).to_le_bytes());
            }
        }
    }
}

/// Lists of a task.
pub(super) struct Lists<'a> {
    pub(super) operations: &'a [u8],
    pub(super) buffers: &'a [u8],
    /// Number of operations.
    pub(super) count: usize,
    /// Numbers of the addresses of both lists.
    pub(super) places: [i16; 2],
}

/// `format` of a buffer of halves.
pub(super) const fn halves(generation: Generation) -> u16 {
    match generation {
        Generation::Short => 2,
        Generation::Long => 3,
    }
}

/// An entry in the list of operations.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// Bytes from an entry to the next.
    pub(super) bytes: usize,
    /// Offset of the parameters behind the type, and behind two scale factors, aligned to words, if there are.
    pub(super) parameters: usize,
}

impl Entry {
    pub(super) const fn of(generation: Generation) -> Entry {
        match generation {
            Generation::Short => Entry { bytes: 16, parameters: 1 },
            Generation::Long => Entry { bytes: 24, parameters: 12 },
        }
    }
}

pub(super) fn lists<'a>(loadable: &'a Loadable, task: &Task) -> Result<Lists<'a>, LoadableError> {
    let (head, list, buffers) = ("the CPU's network descriptor", "the CPU's operations", "the CPU's buffers");
    let block = loadable.list(task, 0, head)?;
    let word = |at: usize| field::<2>(block, at, head).map(u16::from_le_bytes);
    let places = [word(0)?.cast_signed(), word(2)?.cast_signed()];
    Ok(Lists {
        operations: loadable.list(task, places[0], list)?,
        buffers: loadable.list(task, places[1], buffers)?,
        count: word(4)?.into(),
        places,
    })
}

/// Number of operations, at most `most`, and of those buffers of theirs that can be what they are if they have this form.
pub(super) fn likely_buffers(
    loadable: &Loadable,
    task: &Task,
    generation: Generation,
    most: usize,
) -> (usize, usize) {
    let Ok(lists) = lists(loadable, task) else { return (0, 0) };
    let count = lists.count.min(most);
    let places =
        (0..count).flat_map(|number| [0, CPU_BUFFER / 2].map(|at| (number, number * CPU_BUFFER + at)));
    let is_likely = |&(number, at): &(usize, usize)| {
        let found = buffer((loadable, generation), task, lists.buffers, at, number);
        found.is_ok_and(|buffer| buffer.width * buffer.height * buffer.channels > 0)
    };
    (count, places.filter(is_likely).count())
}

/// The operations of a task, each with its source and its destination.
///
/// # Errors
/// As of [`accesses`].
pub(super) fn operations(
    loadable: &Loadable,
    task: &Task,
) -> Result<Vec<(Operation, Buffer, Buffer)>, LoadableError> {
    let list = "the CPU's operations";
    let Lists { operations, buffers: buffers_list, count, .. } = lists(loadable, task)?;
    let Entry { bytes: entry, parameters } = Entry::of(loadable.generation());
    (0..count)
        .map(|number| {
            let at = number * entry;
            let float =
                |offset| field::<4>(operations, at + parameters + offset, list).map(f32::from_le_bytes);
            let operation = match field::<1>(operations, at, list)?[0] {
                0 => Operation::Power { power: float(0)?, scale: float(4)?, shift: float(8)? },
                SOFTMAX => Operation::Softmax,
                other => {
                    let place = format!("CPU operation {number}");
                    return Err(LoadableError::NotModelled {
                        place,
                        what: format!("operation type {other}"),
                    });
                }
            };
            let buffer = |at| buffer((loadable, loadable.generation()), task, buffers_list, at, number);
            let source = buffer(number * CPU_BUFFER)?;
            let destination = buffer(number * CPU_BUFFER + CPU_BUFFER / 2)?;
            let shape = |buffer: &Buffer| [buffer.width, buffer.height, buffer.channels];
            if shape(&source) != shape(&destination) {
                let place = format!("CPU operation {number}");
                return Err(LoadableError::NotModelled {
                    place,
                    what: "a result of another shape".to_owned(),
                });
            }
            Ok((operation, source, destination))
        })
        .collect()
}

pub(super) fn field<const N: usize>(bytes: &[u8], at: usize, what: &str) -> Result<[u8; N], LoadableError> {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk::<N>());
    found.copied().ok_or_else(|| LoadableError::Outside {
        what: what.to_owned(),
        offset: at as u64,
        bytes: N as u64,
        size: bytes.len() as u64,
    })
}

fn buffer(
    (loadable, generation): (&Loadable, Generation),
    task: &Task,
    list: &[u8],
    at: usize,
    operation: usize,
) -> Result<Buffer, LoadableError> {
    let what = "the CPU's buffers";
    let half_word = |at| field::<2>(list, at, what).map(u16::from_le_bytes);
    let word = |at| field::<4>(list, at, what).map(u32::from_le_bytes);
    let index = half_word(at)?.cast_signed();
    // Newer ones have an offset behind the address.
    let (offset, rest) = match generation {
        Generation::Short => (0, at + 2),
        Generation::Long => (u64::from(word(at + 2)?), at + 6),
    };
    let place = format!("CPU operation {operation}");
    let (format, known) = (half_word(rest + 4)?, halves(generation));
    if format != known {
        let what = format!("a buffer of format {format}, and {known} is fp16");
        return Err(LoadableError::NotModelled { place, what });
    }
    let missing = LoadableError::Descriptor {
        place: place.clone(),
        field: "address",
        value: index.into(),
        expected: "and a buffer needs one",
    };
    let entry = loadable.address(task, index, "task")?.ok_or(missing)?;
    let buffer = Buffer {
        place: entry.from(offset),
        width: half_word(rest + 6)?.into(),
        height: half_word(rest + 8)?.into(),
        channels: half_word(rest + 10)?.into(),
        line_stride: word(rest + 12)? as usize,
        surface_stride: word(rest + 16)? as usize,
    };
    let (shape, room) = (buffer.shape(), loadable.room(buffer.place));
    let refused = |fault| LoadableError::Cube { place: format!("{place}, a buffer"), fault };
    let [line, stride] = [shape.line(), shape.strides[0]];
    // Pixels of a single line, too, lie by what its stride tells.
    if line > stride {
        let (width, pixel) = (shape.counts[0], shape.pixel);
        return Err(refused(CubeFault::Lines { stride, width, pixel }));
    }
    if let Some(fault) = shape.fault(buffer.place.offset, room) {
        return Err(refused(fault));
    }
    if buffer.bytes() > MAX_BYTES {
        let what = format!("a buffer of more than {MAX_BYTES} bytes");
        return Err(LoadableError::NotModelled { place, what });
    }
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_goes_element_by_element_through_its_strides() {
        let place = AddressEntry { memory: 0, offset: 0, size: None };
        let cube = |line_stride, surface_stride| Buffer {
            place,
            width: 2,
            height: 1,
            channels: 3,
            line_stride,
            surface_stride,
        };
        // Atoms of two lanes, and of four.
        let (source, destination) = (cube(8, 8), cube(16, 16));
        let read: Vec<u8> = [1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 6.0, 0.0]
            .iter()
            .flat_map(|&value| f16::from_f32(value).to_le_bytes())
            .collect();
        let mut written = vec![0; destination.bytes()];
        let square = Operation::Power { power: 2.0, scale: 2.0, shift: 1.0 };
        compute(&square, (&source, &read), (&destination, &mut written));
        let values: Vec<f32> =
            written.chunks(2).map(|half| f16::from_le_bytes([half[0], half[1]]).to_f32()).collect();
        assert_eq!(values, [9.0, 25.0, 121.0, 0.0, 49.0, 81.0, 169.0, 0.0]);
    }
    #[test]
    fn a_result_midway_between_two_halves_is_the_larger_one() {
        let place = AddressEntry { memory: 0, offset: 0, size: None };
        let cube = || Buffer { place, width: 1, height: 1, channels: 1, line_stride: 32, surface_stride: 32 };
        let add = Operation::Power { power: 1.0, scale: 1.0, shift: 1.0 / 2048.0 };
        let mut written = vec![0; 32];
        compute(&add, (&cube(), &f16::ONE.to_le_bytes()), (&cube(), &mut written));
        // To the even one it would be 1.
        assert_eq!(written[..2], f16::from_bits(0x3c01).to_le_bytes());
    }
}
