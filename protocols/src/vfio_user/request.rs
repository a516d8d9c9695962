//! Commands of a client.

use bytes::{Buf, BufMut as _, Bytes, BytesMut};

use super::{Command, MAX_DATA, Rule};

/// Of the flags of VFIO_USER_DMA_MAP: the device may read, and write.
const READABLE: u32 = 1;
const WRITEABLE: u32 = 1 << 1;
/// Of the flags of VFIO_USER_DMA_UNMAP, as QEMU sends it: `VFIO_DMA_UNMAP_FLAG_ALL`.
const UNMAP_ALL: u32 = 1 << 1;
/// Bytes of one write among several, and of its data.
const WRITE: usize = 24;
const WRITE_DATA: usize = 8;

/// Memory that the device may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DmaMap {
    /// True if the device may read it.
    pub is_readable: bool,
    /// True if the device may write it.
    pub is_writeable: bool,
    /// Offset of its first byte in the file that comes with it.
    pub offset: u64,
    /// Address of its first byte for the device.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
}

/// Memory that the device may reach no more: what was mapped by one command, or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DmaUnmap {
    /// True if all is meant, whatever the numbers are.
    pub is_all: bool,
    /// Address of its first byte for the device.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
}

/// Action on interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IrqAction {
    /// Mask; with an eventfd: when it is signalled.
    Mask,
    /// Unmask; with an eventfd: when it is signalled.
    Unmask,
    /// Trigger; with an eventfd: that is signalled when the device interrupts.
    Trigger,
}

/// Choice of the interrupts that are meant, and what comes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IrqData {
    /// All in the range; all of the type if the range is empty.
    None,
    /// The interrupts whose byte is not 0.
    Bool(Vec<bool>),
    /// All, each with the eventfd that comes with the message; without files those that they had are taken away.
    Eventfd,
}

/// Interrupts of one type: a range, and what is to be done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetIrqs {
    /// Number of the type, as of `VFIO_PCI_MSI_IRQ_INDEX`.
    pub index: u32,
    /// The first.
    pub start: u32,
    /// Number of interrupts.
    pub count: u32,
    /// Action on them.
    pub action: IrqAction,
    /// Choice among them.
    pub data: IrqData,
}

/// Write of a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Number of the region.
    pub region: u32,
    /// Offset of the first byte in it.
    pub offset: u64,
    /// The bytes.
    pub data: Bytes,
}

/// A feature of the device, and what is to be done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// Bytes of the reply's payload at most.
    pub most: u32,
    /// Number of the feature in the lower 16 bits; above them [`Feature::GET`], [`Feature::SET`] and [`Feature::PROBE`].
    pub flags: u32,
    /// Data that the feature needs, or is set to.
    pub data: Bytes,
}

impl Feature {
    /// Flag: the feature's data is wanted.
    pub const GET: u32 = 1 << 16;
    /// Flag: the feature is to be set.
    pub const SET: u32 = 1 << 17;
    /// Flag: the device is asked whether it has the feature, with the other flags' methods.
    pub const PROBE: u32 = 1 << 18;
    /// Number: what can be done with the device's state.
    pub const MIGRATION: u16 = 1;
    /// Number: the state in which the device is, as to that.
    pub const DEVICE_STATE: u16 = 2;
    /// Number: begins to log what the device writes.
    pub const LOGGING_START: u16 = 6;
    /// Number: ends it.
    pub const LOGGING_STOP: u16 = 7;
    /// Number: the pages that the device has written since the last report.
    pub const LOGGING_REPORT: u16 = 8;

    /// Number of the feature.
    pub fn number(&self) -> u16 {
        (self.flags & 0xffff) as u16
    }
}

/// Command of a client, behind the first one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Maps memory.
    DmaMap(DmaMap),
    /// Takes memory away.
    DmaUnmap(DmaUnmap),
    /// Asks for the numbers of regions and interrupts.
    DeviceInfo,
    /// Asks for a region.
    RegionInfo {
        /// Number of the region.
        index: u32,
    },
    /// Asks for a type of interrupts.
    IrqInfo {
        /// Number of the type.
        index: u32,
    },
    /// Sets interrupts.
    SetIrqs(SetIrqs),
    /// Reads a region.
    RegionRead {
        /// Number of the region.
        region: u32,
        /// Offset of the first byte in it.
        offset: u64,
        /// Bytes to read.
        count: u32,
    },
    /// Writes a region.
    RegionWrite(Write),
    /// Writes regions, one after the other.
    RegionWriteMulti(Vec<Write>),
    /// Resets the device.
    Reset,
    /// Gets, sets or probes a feature.
    Feature(Feature),
    /// Reads on in the state of the device, which is stopped.
    MigrationRead {
        /// Bytes of the reply's payload at most.
        most: u32,
        /// Bytes to read.
        count: u32,
    },
    /// Writes more of the state that the device is to take up.
    MigrationWrite(Bytes),
    /// A command that is of no use here. It is to fail.
    Other {
        /// Number of the command.
        command: u16,
        /// Payload of the command.
        payload: Bytes,
    },
}

/// Splits so many bytes off.
fn fixed(payload: &mut Bytes, length: usize) -> Result<Bytes, Rule> {
    if payload.len() < length {
        return Err(Rule::Length);
    }
    Ok(payload.split_to(length))
}

/// One write: its head, and its data.
fn write(payload: &mut Bytes) -> Result<(Write, usize), Rule> {
    let mut head = fixed(payload, 16)?;
    let (offset, region, count) = (head.get_u64_ne(), head.get_u32_ne(), head.get_u32_ne() as usize);
    if count > MAX_DATA {
        return Err(Rule::Transfer);
    }
    Ok((Write { region, offset, data: Bytes::new() }, count))
}

impl Request {
    /// Reads a command.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn parse(command: u16, mut payload: Bytes) -> Result<Self, Rule> {
        let request = match Command::new(command) {
            Some(Command::DmaMap) => {
                let mut fields = fixed(&mut payload, 32)?;
                let (_argsz, flags) = (fields.get_u32_ne(), fields.get_u32_ne());
                Self::DmaMap(DmaMap {
                    is_readable: flags & READABLE != 0,
                    is_writeable: flags & WRITEABLE != 0,
                    offset: fields.get_u64_ne(),
                    address: fields.get_u64_ne(),
                    size: fields.get_u64_ne(),
                })
            }
            Some(Command::DmaUnmap) => {
                let mut fields = fixed(&mut payload, 24)?;
                let (_argsz, flags) = (fields.get_u32_ne(), fields.get_u32_ne());
                let (address, size) = (fields.get_u64_ne(), fields.get_u64_ne());
                Self::DmaUnmap(DmaUnmap { is_all: flags & UNMAP_ALL != 0, address, size })
            }
            Some(Command::DeviceInfo) => {
                fixed(&mut payload, 16)?;
                Self::DeviceInfo
            }
            Some(Command::RegionInfo) => Self::RegionInfo { index: third(fixed(&mut payload, 32)?) },
            Some(Command::IrqInfo) => Self::IrqInfo { index: third(fixed(&mut payload, 16)?) },
            Some(Command::SetIrqs) => Self::SetIrqs(SetIrqs::parse(&mut payload)?),
            Some(Command::RegionRead) => {
                let (Write { region, offset, .. }, count) = write(&mut payload)?;
                Self::RegionRead { region, offset, count: count as u32 }
            }
            Some(Command::RegionWrite) => {
                let (write, count) = write(&mut payload)?;
                Self::RegionWrite(Write { data: fixed(&mut payload, count)?, ..write })
            }
            Some(Command::RegionWriteMulti) => {
                let count = fixed(&mut payload, 8)?.get_u64_ne();
                if count.checked_mul(WRITE as u64) != Some(payload.len() as u64) {
                    return Err(Rule::Length);
                }
                Self::RegionWriteMulti((0..count).map(|_| several(&mut payload)).collect::<Result<_, _>>()?)
            }
            Some(Command::Reset) => Self::Reset,
            Some(Command::Feature) => {
                let mut fields = fixed(&mut payload, 8)?;
                let (most, flags) = (fields.get_u32_ne(), fields.get_u32_ne());
                Self::Feature(Feature { most, flags, data: std::mem::take(&mut payload) })
            }
            Some(Command::MigrationRead) => {
                let mut fields = fixed(&mut payload, 8)?;
                Self::MigrationRead { most: fields.get_u32_ne(), count: fields.get_u32_ne() }
            }
            Some(Command::MigrationWrite) => {
                let mut fields = fixed(&mut payload, 8)?;
                let (_argsz, count) = (fields.get_u32_ne(), fields.get_u32_ne() as usize);
                Self::MigrationWrite(fixed(&mut payload, count)?)
            }
            Some(Command::Version) => return Err(Rule::VersionFirst),
            Some(Command::DmaRead | Command::DmaWrite) => return Err(Rule::Direction),
            _ => return Ok(Self::Other { command, payload }),
        };
        if payload.is_empty() { Ok(request) } else { Err(Rule::Length) }
    }

    /// Number of the command.
    pub fn command(&self) -> u16 {
        let command = match self {
            Self::DmaMap(_) => Command::DmaMap,
            Self::DmaUnmap(_) => Command::DmaUnmap,
            Self::DeviceInfo => Command::DeviceInfo,
            Self::RegionInfo { .. } => Command::RegionInfo,
            Self::IrqInfo { .. } => Command::IrqInfo,
            Self::SetIrqs(_) => Command::SetIrqs,
            Self::RegionRead { .. } => Command::RegionRead,
            Self::RegionWrite(_) => Command::RegionWrite,
            Self::RegionWriteMulti(_) => Command::RegionWriteMulti,
            Self::Reset => Command::Reset,
            Self::Feature(_) => Command::Feature,
            Self::MigrationRead { .. } => Command::MigrationRead,
            Self::MigrationWrite(_) => Command::MigrationWrite,
            Self::Other { command, .. } => return *command,
        };
        command as u16
    }

    /// Returns the most files that may come with the command.
    pub(super) fn files(&self) -> usize {
        match self {
            Self::DmaMap(_) | Self::SetIrqs(SetIrqs { data: IrqData::Eventfd, .. }) => super::MAX_FILES,
            _ => 0,
        }
    }

    /// Writes the payload.
    pub fn emit(&self, out: &mut BytesMut) {
        match self {
            Self::DmaMap(map) => {
                let flag = |is: bool, flag| if is { flag } else { 0 };
                out.put_u32_ne(32);
                out.put_u32_ne(flag(map.is_readable, READABLE) | flag(map.is_writeable, WRITEABLE));
                [map.offset, map.address, map.size].into_iter().for_each(|field| out.put_u64_ne(field));
            }
            Self::DmaUnmap(unmap) => unmap.emit(out),
            Self::DeviceInfo => [16, 0, 0, 0].into_iter().for_each(|field| out.put_u32_ne(field)),
            Self::RegionInfo { index } => {
                [32, 0, *index, 0, 0, 0, 0, 0].into_iter().for_each(|field| out.put_u32_ne(field));
            }
            Self::IrqInfo { index } => {
                [16, 0, *index, 0].into_iter().for_each(|field| out.put_u32_ne(field));
            }
            Self::SetIrqs(set) => set.emit(out),
            Self::RegionRead { region, offset, count } => head(out, *region, *offset, *count),
            Self::RegionWrite(Write { region, offset, data }) => {
                head(out, *region, *offset, data.len() as u32);
                out.put_slice(data);
            }
            Self::RegionWriteMulti(writes) => {
                out.put_u64_ne(writes.len() as u64);
                for Write { region, offset, data } in writes {
                    let data = &data[..data.len().min(WRITE_DATA)];
                    head(out, *region, *offset, data.len() as u32);
                    out.put_slice(data);
                    out.put_bytes(0, WRITE_DATA - data.len());
                }
            }
            Self::Reset => {}
            Self::Feature(Feature { most, flags, data }) => {
                out.put_u32_ne(*most);
                out.put_u32_ne(*flags);
                out.put_slice(data);
            }
            Self::MigrationRead { most, count } => {
                out.put_u32_ne(*most);
                out.put_u32_ne(*count);
            }
            Self::MigrationWrite(data) => emit_state(out, data),
            Self::Other { payload, .. } => out.put_slice(payload),
        }
    }
}

/// The third word.
fn third(mut fields: Bytes) -> u32 {
    fields.advance(8);
    fields.get_u32_ne()
}

/// One write among several.
fn several(payload: &mut Bytes) -> Result<Write, Rule> {
    let (write, count) = write(payload)?;
    let mut data = fixed(payload, WRITE_DATA)?;
    if count > WRITE_DATA {
        return Err(Rule::Length);
    }
    data.truncate(count);
    Ok(Write { data, ..write })
}

/// Head of an access to a region.
pub(super) fn head(out: &mut BytesMut, region: u32, offset: u64, count: u32) {
    out.put_u64_ne(offset);
    out.put_u32_ne(region);
    out.put_u32_ne(count);
}

/// Writes bytes of a device's state, with their number.
pub(super) fn emit_state(out: &mut BytesMut, data: &[u8]) {
    out.put_u32_ne(8 + data.len() as u32);
    out.put_u32_ne(data.len() as u32);
    out.put_slice(data);
}

impl DmaUnmap {
    /// Writes the payload, which is also that of the reply.
    pub(super) fn emit(&self, out: &mut BytesMut) {
        out.put_u32_ne(24);
        out.put_u32_ne(if self.is_all { UNMAP_ALL } else { 0 });
        out.put_u64_ne(self.address);
        out.put_u64_ne(self.size);
    }
}

impl SetIrqs {
    fn parse(payload: &mut Bytes) -> Result<Self, Rule> {
        let mut fields = fixed(payload, 20)?;
        let (_argsz, flags) = (fields.get_u32_ne(), fields.get_u32_ne());
        let (index, start, count) = (fields.get_u32_ne(), fields.get_u32_ne(), fields.get_u32_ne());
        let data = match flags & 0b111 {
            0b001 => IrqData::None,
            0b010 => {
                let data = fixed(payload, count as usize)?;
                IrqData::Bool(data.iter().map(|byte| *byte != 0).collect())
            }
            0b100 => IrqData::Eventfd,
            _ => return Err(Rule::Length),
        };
        let action = match flags >> 3 & 0b111 {
            0b001 => IrqAction::Mask,
            0b010 => IrqAction::Unmask,
            0b100 => IrqAction::Trigger,
            _ => return Err(Rule::Length),
        };
        Ok(Self { index, start, count, action, data })
    }

    fn emit(&self, out: &mut BytesMut) {
        let (kind, data): (u32, &[bool]) = match &self.data {
            IrqData::None => (0b001, &[]),
            IrqData::Bool(data) => (0b010, data),
            IrqData::Eventfd => (0b100, &[]),
        };
        let action = match self.action {
            IrqAction::Mask => 0b001,
            IrqAction::Unmask => 0b010,
            IrqAction::Trigger => 0b100,
        };
        let argsz = 20 + data.len() as u32;
        for field in [argsz, kind | action << 3, self.index, self.start, self.count] {
            out.put_u32_ne(field);
        }
        data.iter().for_each(|is_meant| out.put_u8(u8::from(*is_meant)));
    }
}
