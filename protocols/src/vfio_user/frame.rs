//! The header of a message.
//!
//! ```text
//! 0     2         4      8       12      16
//! ├─────┼─────────┼──────┼───────┼───────┤
//! │ id  │ command │ size │ flags │ error │ payload
//! └─────┴─────────┴──────┴───────┴───────┘
//! ```

use bytes::{Buf as _, BufMut as _, BytesMut};

/// Bytes of a header.
pub const HEADER: usize = 16;

/// Bits of `flags` that tell a command from a reply.
const TYPE: u32 = 0xf;
const REPLY: u32 = 1;
/// Nobody waits for a reply to the command.
const NO_REPLY: u32 = 1 << 4;
/// The reply tells of an error.
const ERROR: u32 = 1 << 5;

macro_rules! commands {
    ($($(#[$about:meta])* $command:ident = $number:literal, $name:literal;)+) => {
        /// Number of a command.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Command {
            $($(#[$about])* $command = $number,)+
        }

        impl Command {
            /// All, in order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$command),+];

            /// The command of that number.
            pub fn new(number: u16) -> Option<Self> {
                match number {
                    $($number => Some(Self::$command),)+
                    _ => None,
                }
            }

            /// Returns the specification's name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$command => $name),+ }
            }
        }
    };
}

commands! {
    /// Versions and capabilities.
    Version = 1, "VFIO_USER_VERSION";
    /// Memory that the device may reach.
    DmaMap = 2, "VFIO_USER_DMA_MAP";
    /// Memory that it may reach no more.
    DmaUnmap = 3, "VFIO_USER_DMA_UNMAP";
    /// Numbers of regions and interrupts.
    DeviceInfo = 4, "VFIO_USER_DEVICE_GET_INFO";
    /// Size and rights of a region.
    RegionInfo = 5, "VFIO_USER_DEVICE_GET_REGION_INFO";
    /// Files for the accesses of a region.
    RegionIoFds = 6, "VFIO_USER_DEVICE_GET_REGION_IO_FDS";
    /// Number and kind of a type's interrupts.
    IrqInfo = 7, "VFIO_USER_DEVICE_GET_IRQ_INFO";
    /// Eventfds of interrupts, and masks.
    SetIrqs = 8, "VFIO_USER_DEVICE_SET_IRQS";
    /// Read of a region.
    RegionRead = 9, "VFIO_USER_REGION_READ";
    /// Write of a region.
    RegionWrite = 10, "VFIO_USER_REGION_WRITE";
    /// Read of the client's memory.
    DmaRead = 11, "VFIO_USER_DMA_READ";
    /// Write of the client's memory.
    DmaWrite = 12, "VFIO_USER_DMA_WRITE";
    /// Reset of the device.
    Reset = 13, "VFIO_USER_DEVICE_RESET";
    /// Several writes of regions.
    RegionWriteMulti = 15, "VFIO_USER_REGION_WRITE_MULTI";
    /// Features, above all migration.
    Feature = 16, "VFIO_USER_DEVICE_FEATURE";
    /// State of the device, read.
    MigrationRead = 17, "VFIO_USER_MIG_DATA_READ";
    /// State of the device, written.
    MigrationWrite = 18, "VFIO_USER_MIG_DATA_WRITE";
}

/// Reason of a failure: a number of Linux's `errno`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(pub u32);

impl Errno {
    /// Nothing is there.
    pub const ENOENT: Self = Self(2);
    /// The access failed.
    pub const EIO: Self = Self(5);
    /// The device is in the middle of something.
    pub const EBUSY: Self = Self(16);
    /// Something is there already.
    pub const EEXIST: Self = Self(17);
    /// The values do not fit.
    pub const EINVAL: Self = Self(22);
    /// The device has no such feature.
    pub const ENOTTY: Self = Self(25);
    /// No room for more.
    pub const ENOSPC: Self = Self(28);
    /// No such command.
    pub const ENOSYS: Self = Self(38);
    /// The device does not do that.
    pub const ENOTSUP: Self = Self(95);
}

/// Kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A command.
    Command {
        /// True if it is to be answered.
        wants_reply: bool,
    },
    /// A reply: done, or failed.
    Reply(Result<(), Errno>),
}

/// Header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The sender's number of a command; that of the command in a reply.
    pub id: u16,
    /// Number of the command.
    pub command: u16,
    /// Bytes of the message with its header.
    pub size: u32,
    /// Flags; unknown ones are not heeded.
    pub flags: u32,
    /// The `errno` of a reply that tells of an error.
    pub error: u32,
}

impl Header {
    /// A header in front of so many bytes.
    pub fn new(id: u16, command: u16, kind: Kind, payload: usize) -> Self {
        let (flags, error) = match kind {
            Kind::Command { wants_reply: true } => (0, 0),
            Kind::Command { wants_reply: false } => (NO_REPLY, 0),
            Kind::Reply(Ok(())) => (REPLY, 0),
            Kind::Reply(Err(Errno(error))) => (REPLY | ERROR, error),
        };
        let size = u32::try_from(HEADER + payload).unwrap_or(u32::MAX);
        Self { id, command, size, flags, error }
    }

    /// Reads a header.
    pub fn parse(bytes: &[u8; HEADER]) -> Self {
        let mut bytes = &bytes[..];
        Self {
            id: bytes.get_u16_ne(),
            command: bytes.get_u16_ne(),
            size: bytes.get_u32_ne(),
            flags: bytes.get_u32_ne(),
            error: bytes.get_u32_ne(),
        }
    }

    /// Writes the header.
    pub fn emit(&self, out: &mut BytesMut) {
        out.put_u16_ne(self.id);
        out.put_u16_ne(self.command);
        out.put_u32_ne(self.size);
        out.put_u32_ne(self.flags);
        out.put_u32_ne(self.error);
    }

    /// Kind of the message; `None`: neither a command nor a reply.
    pub fn kind(&self) -> Option<Kind> {
        match self.flags & TYPE {
            0 => Some(Kind::Command { wants_reply: self.flags & NO_REPLY == 0 }),
            REPLY if self.flags & ERROR == 0 => Some(Kind::Reply(Ok(()))),
            REPLY => Some(Kind::Reply(Err(Errno(self.error)))),
            _ => None,
        }
    }
}

/// Writes a message, whose payload is what `payload` appends.
pub(super) fn emit(
    out: &mut BytesMut,
    (id, command, kind): (u16, u16, Kind),
    payload: impl FnOnce(&mut BytesMut),
) {
    let begin = out.len();
    Header::new(id, command, kind, 0).emit(out);
    payload(out);
    let size = Header::new(id, command, kind, out.len() - begin - HEADER).size;
    out[begin + 4..begin + 8].copy_from_slice(&size.to_ne_bytes());
}
