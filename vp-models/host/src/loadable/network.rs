//! A task of the accelerator: operations, what each does, and who waits for whom.

use super::layout::{self, read};
use super::{AddressEntry, Generation, Loadable, LoadableError, Task};
use crate::driver::Event;
use std::fmt;
use strum::VariantArray;
use vp_models::nvdla::registers::Unit;

/// Kinds of operations, in the order in which the format counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, VariantArray)]
pub enum OperationKind {
    /// Copies between the memories.
    Bdma,
    /// Convolution: CDMA, CSC, CMAC and CACC.
    Convolution,
    /// SDP.
    Sdp,
    /// PDP.
    Pdp,
    /// CDP.
    Cdp,
    /// RUBIK.
    Rubik,
}

impl OperationKind {
    /// All of them.
    pub const ALL: [OperationKind; 6] = *Self::VARIANTS.first_chunk().unwrap();

    /// The unit whose pointer and interrupt tell how an operation stands.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            OperationKind::Bdma => Unit::Bdma,
            OperationKind::Convolution => Unit::Cacc,
            OperationKind::Sdp => Unit::Sdp,
            OperationKind::Pdp => Unit::Pdp,
            OperationKind::Cdp => Unit::Cdp,
            OperationKind::Rubik => Unit::Rbk,
        }
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OperationKind::Bdma => "BDMA",
            OperationKind::Convolution => "convolution",
            OperationKind::Sdp => "SDP",
            OperationKind::Pdp => "PDP",
            OperationKind::Cdp => "CDP",
            OperationKind::Rubik => "RUBIK",
        })
    }
}

/// The event that the format counts so.
fn event(code: u8) -> Option<Event> {
    Some(match code {
        1 => Event::Completed,
        2 => Event::Programmed,
        3 => Event::Enabled,
        4 => Event::WeightsFetched,
        5 => Event::DataFetched,
        _ => return None,
    })
}

/// A cube of data, or a row of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cube {
    pub(super) place: TensorPlace,
    pub(super) size: u32,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) channels: u32,
    pub(super) line_stride: u32,
    pub(super) surface_stride: u32,
    /// Of planes, which only RUBIK has: bytes from each to the next.
    pub(super) plane_stride: u32,
}

impl Cube {
    /// Returns this cube with the extents of another one: those of a source are all that SDP and CDP are told.
    pub(super) fn of_extents(&self, other: &Cube) -> Cube {
        Cube { width: other.width, height: other.height, channels: other.channels, ..*self }
    }
}

/// Place of a cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TensorPlace {
    /// Nowhere: it passes from one unit to the next.
    OnTheFly,
    /// From this byte of that address on.
    Memory(AddressEntry),
    /// The cube has no place.
    None,
}

/// Work of an operation: its descriptor and its cubes.
#[derive(Clone, Debug)]
pub(super) enum OperationWork {
    Bdma(Vec<Copy>),
    Convolution { descriptor: Box<layout::Convolution>, cubes: [Cube; 5], offset_u: i64, uv_line_stride: u32 },
    Sdp { descriptor: Box<layout::Sdp>, cubes: [Cube; 5], lut: Option<Lut> },
    Pdp { descriptor: Box<layout::Pdp>, cubes: [Cube; 2] },
    Cdp { descriptor: layout::Cdp, cubes: [Cube; 2], lut: Option<Lut> },
    Rubik { descriptor: layout::Rubik, cubes: [Cube; 2] },
}

impl OperationWork {
    /// The cubes of data that it takes and makes, as their surfaces name them.
    pub(super) fn data(&self) -> Vec<(&'static str, &Cube)> {
        let (source, destination) = match self {
            OperationWork::Bdma(_) => return Vec::new(),
            OperationWork::Convolution { cubes, .. } => {
                (&cubes[cube::CONV_SOURCE], Some(&cubes[cube::CONV_DESTINATION]))
            }
            OperationWork::Sdp { cubes, .. } => {
                let destination = &cubes[cube::SDP_DESTINATION];
                (
                    &cubes[cube::SDP_SOURCE],
                    Some(destination).filter(|cube| cube.place != TensorPlace::OnTheFly),
                )
            }
            OperationWork::Pdp { cubes: [source, destination], .. }
            | OperationWork::Cdp { cubes: [source, destination], .. }
            | OperationWork::Rubik { cubes: [source, destination], .. } => (source, Some(destination)),
        };
        let destination = destination.map(|cube| ("destination", cube));
        [("source", source)].into_iter().chain(destination).collect()
    }

    /// The cubes in the order of their surface.
    pub(super) fn cubes(&self) -> &[Cube] {
        match self {
            OperationWork::Bdma(_) => &[],
            OperationWork::Convolution { cubes, .. } | OperationWork::Sdp { cubes, .. } => cubes,
            OperationWork::Pdp { cubes, .. }
            | OperationWork::Cdp { cubes, .. }
            | OperationWork::Rubik { cubes, .. } => cubes,
        }
    }

    /// Cubes in the order of their surface: true for those that the operation reads or writes.
    pub(super) fn used_cubes(&self) -> Vec<bool> {
        match self {
            OperationWork::Convolution { descriptor, .. } => {
                let has_masks = descriptor.weight_format != 0;
                vec![true, has_masks, has_masks, true, true]
            }
            OperationWork::Sdp { descriptor, .. } => {
                let [x1, x2, y] = descriptor.stages.map(|stage| stage.reads_memory());
                vec![true, x1, x2, y, true]
            }
            _ => vec![true; self.cubes().len()],
        }
    }

    /// The cubes of parameters that it reads from memory.
    pub(super) fn parameters(&self) -> Vec<&Cube> {
        match self {
            OperationWork::Convolution { descriptor, cubes, .. } => {
                let is_compressed = descriptor.weight_format != 0;
                let of_masks = [&cubes[cube::WMB], &cubes[cube::WGS]].into_iter().filter(|_| is_compressed);
                [&cubes[cube::WEIGHTS]].into_iter().chain(of_masks).collect()
            }
            OperationWork::Sdp { descriptor, cubes, .. } => {
                let stages = descriptor.stages.iter().zip(&cubes[cube::X1..]);
                stages.filter(|(stage, _)| stage.reads_memory()).map(|(_, cube)| cube).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// A transfer of BDMA: from where to where, and of what shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub(super) source: AddressEntry,
    pub(super) destination: AddressEntry,
    pub(super) shape: layout::Transfer,
}

/// A table, and its number, by which two operations know that they share it.
#[derive(Clone, Debug)]
pub(super) struct Lut {
    pub(super) index: i16,
    pub(super) table: Box<layout::Lut>,
}

#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) kind: OperationKind,
    /// Events that must come before it is enabled.
    pub(super) dependencies: u8,
    /// Operations that are told, and of which of its events.
    pub(super) consumers: Vec<(usize, Event)>,
    /// Operation that is told that this one is enabled, of those before it in the pipeline.
    pub(super) fused_parent: Option<(usize, Event)>,
    pub(super) what: OperationWork,
}

impl Operation {
    /// Table of the operation, if there is one, and the operation's precision.
    pub(super) fn lut(&self) -> Option<(&Lut, u8)> {
        match &self.what {
            OperationWork::Sdp { lut: Some(lut), descriptor, .. } => Some((lut, descriptor.src_precision)),
            OperationWork::Cdp { lut: Some(lut), descriptor, .. } => Some((lut, descriptor.in_precision)),
            _ => None,
        }
    }
}

/// Cubes of a convolution, of SDP, and of the others, in the order of their surfaces.
pub(super) mod cube {
    pub(in super::super) const WEIGHTS: usize = 0;
    pub(in super::super) const WMB: usize = 1;
    pub(in super::super) const WGS: usize = 2;
    pub(in super::super) const CONV_SOURCE: usize = 3;
    pub(in super::super) const CONV_DESTINATION: usize = 4;
    pub(in super::super) const SDP_SOURCE: usize = 0;
    pub(in super::super) const X1: usize = 1;
    pub(in super::super) const SDP_DESTINATION: usize = 4;
    pub(in super::super) const SOURCE: usize = 0;
}

/// The lists of a task, to read its operations from.
pub(super) struct Lists<'a> {
    loadable: &'a Loadable,
    generation: Generation,
    task: &'a Task,
    operations: &'a [u8],
    surfaces: &'a [u8],
    surface_index: i16,
    dependencies: &'a [u8],
    luts: Option<&'a [u8]>,
    num_luts: u16,
    count: usize,
}

/// The operations of a task.
///
/// # Errors
/// When a descriptor is not there, or means nothing.
pub(super) fn operations(loadable: &Loadable, task: &Task) -> Result<Vec<Operation>, LoadableError> {
    let lists = lists(loadable, task, loadable.generation())?;
    let checked = |at| {
        let operation = lists.operation(at)?;
        check_extents(at, &operation)?;
        Ok(operation)
    };
    (0..lists.count).map(checked).collect()
}

/// The lists of a task whose data cubes are of this form.
pub(super) fn lists<'a>(
    loadable: &'a Loadable,
    task: &'a Task,
    generation: Generation,
) -> Result<Lists<'a>, LoadableError> {
    let part = "the network descriptor";
    let bytes = loadable.list(task, 0, part)?;
    let network: layout::Network =
        read(bytes).ok_or_else(|| short(part, 0, size_of::<layout::Network>(), bytes))?;
    if network.dynamic_roi != 0 {
        return Err(LoadableError::NotModelled {
            place: part.to_owned(),
            what: "a dynamic region of interest".into(),
        });
    }
    let luts = loadable.bytes(task, network.luts.get(), "the list of tables")?;
    Ok(Lists {
        loadable,
        generation,
        task,
        operations: loadable.list(task, network.operations.get(), "the list of operations")?,
        surfaces: loadable.list(task, network.surfaces.get(), "the list of surfaces")?,
        surface_index: network.surfaces.get(),
        dependencies: loadable.list(task, network.dependencies.get(), "the list of dependencies")?,
        luts,
        num_luts: network.num_luts.get(),
        count: network.num_operations.get().into(),
    })
}

/// Largest width, height and number of channels of a cube, which are what the registers hold. The vendor's driver asks the same of poolings (`validate_data_cube`).
pub(super) const MAX_EXTENT: u32 = 8192;

/// Refuses cubes without a width, height or channels, and those with more than registers hold: a register that counts from one less
/// would have another number. Of parameters only the size in bytes counts, and of SDP's result on its way to PDP nothing.
fn check_extents(at: usize, operation: &Operation) -> Result<(), LoadableError> {
    for (name, cube) in operation.what.data() {
        for (field, value) in [("width", cube.width), ("height", cube.height), ("channels", cube.channels)] {
            if !(1..=MAX_EXTENT).contains(&value) {
                return Err(LoadableError::Descriptor {
                    place: format!("operation {at} ({}), {name} cube", operation.kind),
                    field,
                    value: value.into(),
                    expected: "and a cube has 1 to 8192",
                });
            }
        }
    }
    Ok(())
}

fn short(what: impl Into<String>, offset: usize, bytes: usize, of: &[u8]) -> LoadableError {
    let (offset, bytes, size) = (offset as u64, bytes as u64, of.len() as u64);
    LoadableError::Outside { what: what.into(), offset, bytes, size }
}

impl<'a> Lists<'a> {
    /// The surfaces of all operations, to the end of their memory.
    pub(super) fn surfaces(&self) -> &'a [u8] {
        self.surfaces
    }

    /// Number of the address of the surfaces.
    pub(super) fn surface_index(&self) -> i16 {
        self.surface_index
    }

    /// The structure at an offset of a list's entry.
    fn at<T>(&self, list: &[u8], what: &str, operation: usize, offset: usize) -> Result<T, LoadableError>
    where
        T: zerocopy::FromBytes + zerocopy::Immutable + zerocopy::KnownLayout + std::marker::Copy,
    {
        let found = list.get(offset..).and_then(read);
        found.ok_or_else(|| {
            short(format!("the {what} of operation {operation}"), offset, size_of::<T>(), list)
        })
    }

    /// Number of operations.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The operation of this number, as it lies there.
    pub(super) fn operation(&self, at: usize) -> Result<Operation, LoadableError> {
        let count = self.count;
        let dependency: layout::Dependency =
            self.at(self.dependencies, "dependencies", at, at * layout::DEPENDENCY)?;
        let place = || format!("operation {at}");
        let kind = *OperationKind::ALL.get(usize::from(dependency.kind)).ok_or_else(|| {
            LoadableError::Descriptor {
                place: place(),
                field: "type",
                value: dependency.kind.into(),
                expected: "and there are 0 to 5 (BDMA, convolution, SDP, PDP, CDP, RUBIK)",
            }
        })?;
        let other = |consumer: layout::Consumer| match usize::try_from(consumer.index.get()) {
            Err(_) => Ok(None),
            Ok(index) if index >= count => Err(LoadableError::Descriptor {
                place: place(),
                field: "consumer",
                value: consumer.index.get().into(),
                expected: "and there are fewer operations",
            }),
            Ok(index) => Ok(event(consumer.event).map(|event| (index, event))),
        };
        let consumers = dependency.consumers.iter().map(|&consumer| other(consumer));
        let consumers: Result<Vec<_>, _> = consumers.filter_map(Result::transpose).collect();
        Ok(Operation {
            kind,
            dependencies: dependency.count,
            consumers: consumers?,
            fused_parent: other(dependency.fused_parent)?,
            what: self.what(at, kind)?,
        })
    }

    fn what(&self, at: usize, kind: OperationKind) -> Result<OperationWork, LoadableError> {
        let entry = at * layout::OPERATION;
        Ok(match kind {
            OperationKind::Bdma => OperationWork::Bdma(self.copies(at)?),
            OperationKind::Convolution => {
                let behind = at * layout::SURFACE + 5 * self.generation.cube_bytes();
                OperationWork::Convolution {
                    descriptor: Box::new(self.at(self.operations, "descriptor", at, entry)?),
                    cubes: self.cubes(at)?,
                    offset_u: self
                        .at::<zerocopy::little_endian::I64>(self.surfaces, "surface", at, behind)?
                        .get(),
                    uv_line_stride: self
                        .at::<zerocopy::little_endian::U32>(self.surfaces, "surface", at, behind + 8)?
                        .get(),
                }
            }
            OperationKind::Sdp => {
                let descriptor: layout::Sdp = self.at(self.operations, "descriptor", at, entry)?;
                let lut = self.lut(at, descriptor.lut.get())?;
                OperationWork::Sdp { descriptor: Box::new(descriptor), cubes: self.cubes(at)?, lut }
            }
            OperationKind::Pdp => OperationWork::Pdp {
                descriptor: Box::new(self.at(self.operations, "descriptor", at, entry)?),
                cubes: self.cubes(at)?,
            },
            OperationKind::Cdp => {
                let descriptor: layout::Cdp = self.at(self.operations, "descriptor", at, entry)?;
                let lut = self.lut(at, descriptor.lut.get())?;
                OperationWork::Cdp { descriptor, cubes: self.cubes(at)?, lut }
            }
            OperationKind::Rubik => OperationWork::Rubik {
                descriptor: self.at(self.operations, "descriptor", at, entry)?,
                cubes: self.cubes(at)?,
            },
        })
    }

    fn cubes<const N: usize>(&self, at: usize) -> Result<[Cube; N], LoadableError> {
        let mut cubes = [None; N];
        for (number, cube) in cubes.iter_mut().enumerate() {
            *cube = Some(self.cube(at, number)?);
        }
        Ok(cubes.map(|cube| cube.expect("each was read")))
    }

    fn cube(&self, at: usize, number: usize) -> Result<Cube, LoadableError> {
        let generation = self.generation;
        let offset = at * layout::SURFACE + number * generation.cube_bytes();
        let (memory, address, from, raw) = match generation {
            Generation::Short => {
                let cube: layout::ShortCube = self.at(self.surfaces, "surface", at, offset)?;
                (cube.memory.get(), cube.address.get(), 0, cube.extents)
            }
            Generation::Long => {
                let cube: layout::LongCube = self.at(self.surfaces, "surface", at, offset)?;
                (cube.memory.get(), cube.address.get(), cube.offset.get().into(), cube.extents)
            }
        };
        let place = match (memory, self.loadable.address(self.task, address, "operation")?) {
            (2, _) => TensorPlace::OnTheFly,
            (_, None) => TensorPlace::None,
            (_, Some(entry)) => TensorPlace::Memory(entry.from(from)),
        };
        Ok(Cube {
            place,
            size: raw.size.get(),
            width: raw.width.get().into(),
            height: raw.height.get().into(),
            channels: raw.channels.get().into(),
            line_stride: raw.line_stride.get(),
            surface_stride: raw.surface_stride.get(),
            plane_stride: raw.plane_stride.get(),
        })
    }

    fn lut(&self, at: usize, index: i16) -> Result<Option<Lut>, LoadableError> {
        let Ok(number) = usize::try_from(index) else { return Ok(None) };
        let missing = || LoadableError::Descriptor {
            place: format!("operation {at}"),
            field: "lut_index",
            value: index.into(),
            expected: "and there are fewer tables",
        };
        let list = self.luts.filter(|_| number < usize::from(self.num_luts)).ok_or_else(missing)?;
        let table = Box::new(self.at(list, "table", at, number * layout::LUT)?);
        Ok(Some(Lut { index, table }))
    }

    fn copies(&self, at: usize) -> Result<Vec<Copy>, LoadableError> {
        const MOST: u16 = 20;
        let start = at * layout::SURFACE;
        let head: layout::Transfers = self.at(self.surfaces, "surface", at, start)?;
        let bad = |field, value, expected| LoadableError::Descriptor {
            place: format!("operation {at}"),
            field,
            value,
            expected,
        };
        let count = head.count.get();
        if count > MOST {
            return Err(bad("num_transfers", count.into(), "and a surface has room for 20"));
        }
        (0..usize::from(count))
            .map(|number| {
                let offset = start + size_of::<layout::Transfers>() + number * size_of::<layout::Transfer>();
                let shape: layout::Transfer = self.at(self.surfaces, "surface", at, offset)?;
                let end = |index: i16| {
                    let found = self.loadable.address(self.task, index, "operation")?;
                    found.ok_or_else(|| bad("transfer's address", index.into(), "and a transfer needs one"))
                };
                Ok(Copy {
                    source: end(shape.source.get())?,
                    destination: end(shape.destination.get())?,
                    shape,
                })
            })
            .collect()
    }
}
