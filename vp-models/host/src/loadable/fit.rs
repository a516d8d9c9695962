//! Platforms that a loadable fits. It names none, but its contents tell: the strides of its cubes the memory atom, the convolution
//! buffer's entries the blocks of its weights, its operations their units, formats and memories. What a unit would refuse, its own decoder
//! says.
//!
//! Decoders are asked for the registers as the loadable has them written. So an int16 pooling is refused where int8 is all there is, though
//! hardware would not look at the format and pool bytes: the loadable means elements of two.
//!
//! A loadable whose cubes contradict themselves or each other fits no hardware ([`LoadableError`]): `cubes` says what each operation reads
//! and writes in memory, `atoms` how that goes together, `tensors` that what is taken from it has been written.
//!
//! One check serves both: [`misfits`] refuses a run, and [`choose`] finds a platform for one.

mod atoms;
mod cubes;
mod layers;
mod tensors;

pub use super::misfit::Misfit;

use super::cpu;
use super::misfit::list;
use super::network::{Operation, OperationWork, cube, operations};
use super::places::Places;
use super::{Domain, Loadable, LoadableError, Processor, layout};
use crate::network::entries_of_atoms;
use atoms::Atoms;
use cubes::Accesses;
use vp_models::nvdla::config::{Config, DataType};
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::registers::Unit;
use vp_models::platform::Description;

/// Returns all reasons for which a loadable does not fit a configuration; none if it fits.
///
/// # Errors
/// [`LoadableError`] if a descriptor fits no hardware.
pub fn misfits(loadable: &Loadable, config: &Config) -> Result<Vec<Misfit>, LoadableError> {
    Ok(Contents::of(loadable)?.misfits(config)?.collect())
}

/// The built-in platforms that a loadable fits, in their order.
///
/// # Errors
/// [`LoadableError`] if a descriptor fits no hardware.
pub fn fitting(loadable: &Loadable) -> Result<Vec<&'static str>, LoadableError> {
    Contents::of(loadable)?.fitting()
}

/// Reason for which a loadable's cubes do not consist of these memory atoms, where no more is known of the hardware.
///
/// # Errors
/// [`LoadableError`] if a descriptor fits no hardware.
pub(super) fn other_atom(loadable: &Loadable, atom: u32) -> Result<Option<Misfit>, LoadableError> {
    Ok(Contents::of(loadable)?.atoms.misfit(atom))
}

/// A platform for a loadable, and why this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Name of the platform.
    pub platform: &'static str,
    /// A sentence.
    pub why: String,
}

/// Platform that something beside a loadable's contents speaks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint<'a> {
    /// Name of the platform.
    pub platform: &'a str,
    /// Reason, behind "chosen": "by folder".
    pub reason: &'a str,
}

/// Chooses the platform for a loadable: the first of `hints` that it fits, or else the smallest one. If it fits no built-in platform, the
/// one with the fewest reasons against it.
///
/// # Errors
/// [`LoadableError`] if a descriptor fits no hardware.
pub fn choose(loadable: &Loadable, hints: &[Hint<'_>]) -> Result<Choice, LoadableError> {
    let contents = Contents::of(loadable)?;
    let fitting = contents.fitting()?;
    let named = |hint: &Hint<'_>| {
        let platform = fitting.iter().copied().find(|platform| *platform == hint.platform)?;
        Some((platform, hint.reason.to_owned()))
    };
    let hinted = hints.iter().find_map(named);
    let smallest = || Some((*fitting.first()?, "by size, as the smallest".to_owned()));
    let Some((platform, reason)) = hinted.or_else(smallest) else { return contents.nearest(hints) };
    let others: Vec<&str> = fitting.iter().copied().filter(|other| *other != platform).collect();
    let needs = contents.needs();
    let needs = if needs.is_empty() { String::new() } else { format!(" ({})", list(&needs)) };
    let why = if others.is_empty() {
        format!("chosen by the loadable's contents{needs}: no other built-in platform fits")
    } else {
        format!("chosen {reason}: by its contents{needs} the loadable fits {}, too", list(&others))
    };
    Ok(Choice { platform, why })
}

/// Most operations of all tasks: as many as one task can have.
pub(super) const MAX_OPERATIONS: usize = 1 << 16;

/// Operations and memories of a loadable, read once.
struct Contents<'a> {
    loadable: &'a Loadable,
    operations: Vec<(String, Operation)>,
    atoms: Atoms,
}

impl<'a> Contents<'a> {
    fn of(loadable: &'a Loadable) -> Result<Contents<'a>, LoadableError> {
        let accelerators = loadable.tasks().iter().filter(|task| task.processor == Processor::Accelerator);
        let several = accelerators.clone().count() > 1;
        let mut all = Vec::new();
        for task in accelerators {
            for (at, operation) in operations(loadable, task)?.into_iter().enumerate() {
                let of = if several { format!(" of task {}", task.id) } else { String::new() };
                all.push((format!("operation {at} ({}){of}", operation.kind), operation));
            }
            if all.len() > MAX_OPERATIONS {
                return Err(LoadableError::TooManyOperations { limit: MAX_OPERATIONS });
            }
        }
        let atoms = checked_atoms(loadable, &all)?;
        Ok(Contents { loadable, operations: all, atoms })
    }

    fn fitting(&self) -> Result<Vec<&'static str>, LoadableError> {
        let mut fitting = Vec::new();
        for &name in Description::NAMES {
            let Ok(config) = Config::named(name) else { continue };
            if self.misfits(&config)?.next().is_none() {
                fitting.push(name);
            }
        }
        Ok(fitting)
    }

    /// The platform with the fewest reasons against it; of several the first hint, or else the smallest.
    fn nearest(&self, hints: &[Hint<'_>]) -> Result<Choice, LoadableError> {
        let hinted =
            hints.iter().filter_map(|hint| Description::NAMES.iter().find(|name| **name == hint.platform));
        let mut nearest = (usize::MAX, Description::NAMES[0]);
        for name in hinted.chain(Description::NAMES) {
            let Ok(config) = Config::named(name) else { continue };
            let reasons = self.misfits(&config)?.count();
            if reasons < nearest.0 {
                nearest = (reasons, name);
            }
        }
        let why = "chosen as the nearest: the loadable fits no built-in platform".to_owned();
        Ok(Choice { platform: nearest.1, why })
    }

    fn misfits(&self, config: &Config) -> Result<impl Iterator<Item = Misfit>, LoadableError> {
        let atom = self.atoms.misfit(config.memory_atom);
        let sram = (!config.secondary_memory && self.has_sram()).then(|| Misfit::Missing {
            place: "its memory".to_owned(),
            what: "second memory interface (SRAM)",
        });
        let places = Places::allot(self.loadable, config.register_map, config.memory_atom)?;
        let of_operations = self.operations.iter().flat_map(move |(place, operation)| {
            let missing = missing(operation, config);
            let refused = match missing {
                Some(_) => None,
                None => layers::refusal(operation, &places, config),
            };
            let missing = missing.map(|what| Misfit::Missing { place: place.clone(), what });
            let refused = refused.map(|refused| Misfit::Layer { place: place.clone(), refused });
            missing.into_iter().chain(refused).chain(other_blocks(place, operation, config))
        });
        Ok(atom.into_iter().chain(sram).chain(of_operations))
    }

    fn has_sram(&self) -> bool {
        self.loadable
            .memories()
            .iter()
            .any(|memory| memory.domain == Domain::Sram && !memory.image.is_empty())
    }

    /// Needs of this loadable that not every platform meets.
    fn needs(&self) -> Vec<String> {
        let mut needs: Vec<String> = Vec::new();
        let mut need = |what: String| {
            if !needs.contains(&what) {
                needs.push(what);
            }
        };
        if let Some(atom) = self.atoms.only() {
            need(format!("memory atoms of {atom} bytes"));
        }
        // What the smallest configuration lacks.
        let least = Config::named(Config::NAMES[0]).ok();
        for (_, operation) in &self.operations {
            formats(operation).into_iter().for_each(|format| need(format.to_string()));
            if let Some(what) = least.as_ref().and_then(|config| missing(operation, config)) {
                need(what.to_owned());
            }
        }
        if self.has_sram() {
            need("SRAM".to_owned());
        }
        needs
    }
}

/// Atoms of a loadable's cubes, each of which can be where it is, and which together write all that is taken from them.
fn checked_atoms(loadable: &Loadable, operations: &[(String, Operation)]) -> Result<Atoms, LoadableError> {
    let (mut features, mut accesses) = (Vec::new(), Vec::new());
    for (number, (place, operation)) in operations.iter().enumerate() {
        let Accesses { features: cubes, others } = Accesses::of(loadable, (number, place), operation)?;
        features.extend(cubes);
        accesses.extend(others);
    }
    let described = loadable.memories().iter().filter(|memory| memory.is_input || memory.is_output);
    let of_tensors = described.filter_map(|memory| {
        let line = loadable.tensor_of(memory)?.line_stride;
        Some((memory.id, u32::try_from(line).ok()?))
    });
    let atoms = Atoms::of(features, &of_tensors.collect())?;
    let atom = atoms.largest();
    accesses.extend(atoms.cubes().map(|cube| cube.access(atom)));
    let mut count = operations.len();
    for task in loadable.tasks().iter().filter(|task| task.processor == Processor::Cpu) {
        let of_task = cpu::accesses(loadable, task, count)?;
        count += of_task.len();
        // Of each a source and a destination.
        if count > 2 * MAX_OPERATIONS {
            return Err(LoadableError::TooManyOperations { limit: MAX_OPERATIONS });
        }
        accesses.extend(of_task);
    }
    tensors::check_strides(loadable, atoms.cubes(), atom)?;
    tensors::check_written(loadable, &accesses)?;
    Ok(atoms)
}

/// Unit or stage that an operation needs and a configuration lacks.
fn missing(operation: &Operation, config: &Config) -> Option<&'static str> {
    let is_mapped = |unit: Unit| config.register_map.base(unit).is_some();
    match &operation.what {
        OperationWork::Bdma(_) => (!config.bdma || !is_mapped(Unit::Bdma)).then_some("BDMA"),
        OperationWork::Rubik { .. } => (!config.rubik || !is_mapped(Unit::Rbk)).then_some("RUBIK"),
        OperationWork::Pdp { .. } => (!config.pdp).then_some("PDP"),
        OperationWork::Cdp { .. } => (!config.cdp).then_some("CDP"),
        OperationWork::Sdp { descriptor: sdp, .. } => {
            let has = [(config.sdp_bs, "stage X1"), (config.sdp_bn, "stage X2"), (config.sdp_ew, "stage Y")];
            let lacking =
                sdp.stages.iter().zip(has).find(|(stage, (has, _))| stage.changes_anything() && !has);
            let lut = (sdp.stages[2].looks_up() && !config.sdp_lut).then_some("lookup table in SDP");
            lacking.map(|(_, (_, name))| name).or(lut)
        }
        OperationWork::Convolution { .. } => None,
    }
}

/// The formats of an operation beside int8.
fn formats(operation: &Operation) -> Vec<Precision> {
    let codes = match &operation.what {
        OperationWork::Bdma(_) => Vec::new(),
        OperationWork::Convolution { descriptor, .. } => {
            vec![descriptor.in_precision, descriptor.proc_precision]
        }
        OperationWork::Sdp { descriptor, .. } => vec![descriptor.src_precision, descriptor.dst_precision],
        OperationWork::Pdp { descriptor, .. } => vec![descriptor.precision],
        OperationWork::Cdp { descriptor, .. } => vec![descriptor.in_precision],
        OperationWork::Rubik { .. } => Vec::new(),
    };
    let formats = codes.into_iter().filter_map(|code| Precision::of_code(code.into()));
    formats.filter(|format| DataType::from(*format) != DataType::Int8).collect()
}

/// Reports weights that were made for a MAC array with other blocks of channels. The blocks themselves cannot be seen, but the entries
/// of the convolution buffer that a line of the input takes are a compiler's own figure, and an entry is as wide as a block (nv_full: two).
fn other_blocks(place: &str, operation: &Operation, config: &Config) -> Option<Misfit> {
    /// Bytes of the entries that there may be.
    const ENTRY_BYTES: [u32; 6] = [8, 16, 32, 64, 128, 256];
    const DIRECT: u8 = 0;
    let OperationWork::Convolution { descriptor, cubes, .. } = &operation.what else { return None };
    let layout::Convolution { mode, data_format, entries_per_slice, in_precision, kernel_channels, .. } =
        **descriptor;
    if mode != DIRECT || data_format != cubes::FEATURES {
        return None;
    }
    let (source, has) = (&cubes[cube::CONV_SOURCE], config.mac_atomic_c);
    let lanes = config.lanes(Precision::of_code(in_precision.into())?).max(1);
    let entries = u32::from(entries_per_slice.get());
    let is_for = |bytes: u32| {
        let held = bytes / config.memory_atom.max(1);
        held > 0 && entries_of_atoms(source.channels.div_ceil(lanes), source.width, held) == entries
    };
    let fitting: Vec<u32> = ENTRY_BYTES.into_iter().filter(|bytes| is_for(*bytes)).collect();
    let is_of = |bytes: u32| bytes == has || bytes == 2 * has;
    // Kernels that have no more channels than a block are the same in either.
    let most = fitting.iter().copied().max()?.min(has);
    if is_for(config.cbuf_entry_bytes()) || fitting.iter().any(|bytes| is_of(*bytes)) {
        return None;
    }
    (u32::from(kernel_channels.get()) > most).then(|| Misfit::Weights {
        place: place.to_owned(),
        entries,
        blocks: fitting,
        has,
    })
}

#[cfg(test)]
mod tests;
