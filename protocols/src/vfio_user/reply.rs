//! Replies of a server.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use super::request::{DmaUnmap, Feature, Request, emit_state, head};
use super::{Command, Rule};

/// Of a device's flags: it can be reset, and is a PCI function.
const RESET: u32 = 1;
const PCI: u32 = 1 << 1;
/// Of a region's flags: it can be read, and written.
const READ: u32 = 1;
const WRITE: u32 = 1 << 1;
/// Of the flags of a type of interrupts: by eventfd, with masks, masked by itself.
const EVENTFD: u32 = 1;
const MASKABLE: u32 = 1 << 1;
const AUTOMASKED: u32 = 1 << 2;

/// Numbers of a device, a PCI function that can be reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Number of regions.
    pub regions: u32,
    /// Number of types of interrupts.
    pub irqs: u32,
}

/// A region; one without bytes is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionInfo {
    /// Number of the region.
    pub index: u32,
    /// Size in bytes, which can be read and written.
    pub size: u64,
}

/// A type of interrupts, each signalled by an eventfd; none are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IrqInfo {
    /// Number of the type.
    pub index: u32,
    /// Number of its interrupts.
    pub count: u32,
    /// True if one is masked when it has been signalled, until it is unmasked: a level.
    pub is_level: bool,
}

/// Reply to a command that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A header alone.
    Done,
    /// Memory was taken away.
    Unmapped(DmaUnmap),
    /// The device.
    Device(DeviceInfo),
    /// A region.
    Region(RegionInfo),
    /// A type of interrupts.
    Irq(IrqInfo),
    /// Bytes of a region.
    Data {
        /// Number of the region.
        region: u32,
        /// Offset of the first byte in it.
        offset: u64,
        /// The bytes.
        data: Bytes,
    },
    /// A region was written.
    Written {
        /// Number of the region.
        region: u32,
        /// Offset of the first byte in it.
        offset: u64,
        /// Number of bytes.
        count: u32,
    },
    /// Regions were written so often.
    WrittenMulti {
        /// Number of writes.
        count: u64,
    },
    /// A feature: as it was asked for, with its data if that was wanted.
    Feature {
        /// The flags of the command.
        flags: u32,
        /// Data of the feature; of one that was set or probed, the command's.
        data: Bytes,
    },
    /// Bytes of the device's state. Fewer than were asked for: no more follow.
    State(Bytes),
}

impl Reply {
    /// Writes the payload.
    pub fn emit(&self, out: &mut BytesMut) {
        let mut words = |words: &[u32]| words.iter().for_each(|word| out.put_u32_ne(*word));
        match self {
            Self::Done => {}
            Self::Unmapped(unmap) => unmap.emit(out),
            Self::Device(DeviceInfo { regions, irqs }) => words(&[16, RESET | PCI, *regions, *irqs]),
            Self::Region(RegionInfo { index, size }) => {
                words(&[32, if *size > 0 { READ | WRITE } else { 0 }, *index, 0]);
                out.put_u64_ne(*size);
                // Offset for mmap(2): the region has no file.
                out.put_u64_ne(0);
            }
            Self::Irq(IrqInfo { index, count, is_level }) => {
                let flags = match (count, is_level) {
                    (0, _) => 0,
                    (_, true) => EVENTFD | MASKABLE | AUTOMASKED,
                    (_, false) => EVENTFD,
                };
                words(&[16, flags, *index, *count]);
            }
            Self::Data { region, offset, data } => {
                head(out, *region, *offset, data.len() as u32);
                out.put_slice(data);
            }
            Self::Written { region, offset, count } => head(out, *region, *offset, *count),
            Self::WrittenMulti { count } => out.put_u64_ne(*count),
            Self::Feature { flags, data } => {
                words(&[8 + data.len() as u32, *flags]);
                out.put_slice(data);
            }
            Self::State(data) => emit_state(out, data),
        }
    }

    /// Reads the reply to a command.
    ///
    /// # Errors
    /// [`Rule::ReplyLength`].
    pub fn parse(request: &Request, mut payload: Bytes) -> Result<Self, Rule> {
        let is_data = matches!(
            request,
            Request::RegionRead { .. } | Request::Feature(_) | Request::MigrationRead { .. }
        );
        let length = match Command::new(request.command()) {
            Some(Command::DmaUnmap) => 24,
            Some(Command::RegionInfo) => 32,
            Some(Command::DeviceInfo | Command::IrqInfo | Command::RegionRead | Command::RegionWrite) => 16,
            Some(Command::RegionWriteMulti | Command::Feature | Command::MigrationRead) => 8,
            _ => 0,
        };
        if payload.len() < length || payload.len() > length && !is_data {
            return Err(Rule::ReplyLength);
        }
        let mut word = || payload.get_u32_ne();
        Ok(match request {
            Request::DmaUnmap(unmap) => Self::Unmapped(*unmap),
            Request::DeviceInfo => {
                let [_, _, regions, irqs] = [word(), word(), word(), word()];
                Self::Device(DeviceInfo { regions, irqs })
            }
            Request::RegionInfo { .. } => {
                let [_, _, index, _] = [word(), word(), word(), word()];
                Self::Region(RegionInfo { index, size: payload.get_u64_ne() })
            }
            Request::IrqInfo { .. } => {
                let [_, flags, index, count] = [word(), word(), word(), word()];
                Self::Irq(IrqInfo { index, count, is_level: flags & AUTOMASKED != 0 })
            }
            Request::RegionRead { .. } | Request::RegionWrite(_) => {
                let (offset, region, count) =
                    (payload.get_u64_ne(), payload.get_u32_ne(), payload.get_u32_ne());
                match request {
                    Request::RegionRead { count: asked, .. }
                        if count != *asked || payload.len() != count as usize =>
                    {
                        return Err(Rule::ReplyLength);
                    }
                    Request::RegionRead { .. } => Self::Data { region, offset, data: payload },
                    _ => Self::Written { region, offset, count },
                }
            }
            Request::RegionWriteMulti(_) => Self::WrittenMulti { count: payload.get_u64_ne() },
            Request::Feature(asked) => {
                let [_, flags] = [word(), word()];
                let is_same = asked.flags & Feature::GET == 0 || asked.flags & Feature::PROBE != 0;
                if is_same && payload.len() != asked.data.len() {
                    return Err(Rule::ReplyLength);
                }
                Self::Feature { flags, data: payload }
            }
            Request::MigrationRead { count: most, .. } => {
                let [_, count] = [word(), word()];
                if count > *most || payload.len() != count as usize {
                    return Err(Rule::ReplyLength);
                }
                Self::State(payload)
            }
            _ => Self::Done,
        })
    }
}
