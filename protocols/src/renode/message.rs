//! Messages of 24 bytes.
//!
//! ```text
//! 0        4                 12                20       24
//! ├────────┼─────────────────┼─────────────────┼────────┤
//! │ action │ address         │ data            │ index  │
//! └────────┴─────────────────┴─────────────────┴────────┘
//!   i32 LE   u64 LE            u64 LE            i32 LE
//! ```

use bytes::{Buf, BufMut};

use super::Rule;

/// Bytes of a message.
pub const MESSAGE: usize = 24;
/// The index of a message that is for no peripheral in particular.
pub const NO_INDEX: i32 = -1;

/// Width of the data that an access moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Width {
    /// 8 bits.
    Byte,
    /// 16 bits.
    Word,
    /// 32 bits.
    DoubleWord,
    /// 64 bits.
    QuadWord,
}

impl Width {
    /// All, narrowest first.
    pub const ALL: [Self; 4] = [Self::Byte, Self::Word, Self::DoubleWord, Self::QuadWord];

    /// Width in bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Byte => 1,
            Self::Word => 2,
            Self::DoubleWord => 4,
            Self::QuadWord => 8,
        }
    }

    /// The bits of data that an access of this width moves. The others mean nothing.
    pub fn of(self, data: u64) -> u64 {
        data & u64::MAX >> (64 - 8 * self.bytes())
    }
}

macro_rules! actions {
    ($($(#[$about:meta])* $action:ident = $number:literal, $name:literal;)+) => {
        /// The kind of a message. Renode's authors add numbers at the end.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum Action {
            $($(#[$about])* $action = $number,)+
        }

        impl Action {
            /// All, in order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$action),+];

            /// The action of that number.
            pub fn new(number: i32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$action),)+
                    _ => None,
                }
            }

            /// Returns the action's name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$action => $name),+ }
            }
        }
    };
}

actions! {
    /// Nothing: ignored.
    Invalid = 0, "invalid";
    /// Passage of so much time, from Renode. Back: it is done.
    TickClock = 1, "tick clock";
    /// Answer to a get, from Renode. In old versions: a write of 32 bits.
    WriteToBus = 2, "write to bus";
    /// The answer to a read. In old versions, from Renode: a read of 32 bits.
    ReadFromBus = 3, "read from bus";
    /// Reset, from Renode, without an answer.
    ResetPeripheral = 4, "reset peripheral";
    /// A text follows: address is its length, data its level.
    LogMessage = 5, "log message";
    /// A level of a line: address is its number. From Renode: an input.
    Interrupt = 6, "interrupt";
    /// End, from Renode.
    Disconnect = 7, "disconnect";
    /// Failure, on main of a request; on async the peripheral gives up.
    Error = 8, "error";
    /// The answer to writes, inputs and the end.
    Ok = 9, "ok";
    /// First of all, and its answer.
    Handshake = 10, "handshake";
    /// Writes 32 bits to Renode's bus.
    PushDoubleWord = 11, "push double word";
    /// Reads 32 bits from Renode's bus.
    GetDoubleWord = 12, "get double word";
    /// Writes 16 bits to Renode's bus.
    PushWord = 13, "push word";
    /// Reads 16 bits from Renode's bus.
    GetWord = 14, "get word";
    /// Writes 8 bits to Renode's bus.
    PushByte = 15, "push byte";
    /// Reads 8 bits from Renode's bus.
    GetByte = 16, "get byte";
    /// Halt state of a CPU.
    IsHalted = 17, "is halted";
    /// Register read of a CPU.
    RegisterGet = 18, "register get";
    /// Register write of a CPU.
    RegisterSet = 19, "register set";
    /// Single-step mode of a CPU.
    SingleStepMode = 20, "single step mode";
    /// Reads 8 bits.
    ReadByte = 21, "read byte";
    /// Reads 16 bits.
    ReadWord = 22, "read word";
    /// Reads 32 bits.
    ReadDoubleWord = 23, "read double word";
    /// Reads 64 bits.
    ReadQuadWord = 24, "read quad word";
    /// Writes 8 bits.
    WriteByte = 25, "write byte";
    /// Writes 16 bits.
    WriteWord = 26, "write word";
    /// Writes 32 bits.
    WriteDoubleWord = 27, "write double word";
    /// Writes 64 bits.
    WriteQuadWord = 28, "write quad word";
    /// Writes 64 bits to Renode's bus.
    PushQuadWord = 29, "push quad word";
    /// Reads 64 bits from Renode's bus.
    GetQuadWord = 30, "get quad word";
    /// Answer to a push, from Renode.
    PushConfirmation = 31, "push confirmation";
    /// Step of a CPU.
    Step = 100, "step";
}

impl Action {
    /// The read of that width.
    pub fn read(width: Width) -> Self {
        match width {
            Width::Byte => Self::ReadByte,
            Width::Word => Self::ReadWord,
            Width::DoubleWord => Self::ReadDoubleWord,
            Width::QuadWord => Self::ReadQuadWord,
        }
    }

    /// The write of that width.
    pub fn write(width: Width) -> Self {
        match width {
            Width::Byte => Self::WriteByte,
            Width::Word => Self::WriteWord,
            Width::DoubleWord => Self::WriteDoubleWord,
            Width::QuadWord => Self::WriteQuadWord,
        }
    }

    /// The read from Renode's bus of that width.
    pub fn get(width: Width) -> Self {
        match width {
            Width::Byte => Self::GetByte,
            Width::Word => Self::GetWord,
            Width::DoubleWord => Self::GetDoubleWord,
            Width::QuadWord => Self::GetQuadWord,
        }
    }

    /// The write to Renode's bus of that width.
    pub fn push(width: Width) -> Self {
        match width {
            Width::Byte => Self::PushByte,
            Width::Word => Self::PushWord,
            Width::DoubleWord => Self::PushDoubleWord,
            Width::QuadWord => Self::PushQuadWord,
        }
    }

    /// The width of which `of` gives this action.
    pub(super) fn width(self, of: fn(Width) -> Self) -> Option<Width> {
        Width::ALL.into_iter().find(|width| of(*width) == self)
    }
}

/// Level of a log message: how much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i8)]
pub enum LogLevel {
    /// -1.
    Noisy = -1,
    /// 0.
    Debug = 0,
    /// 1.
    Info = 1,
    /// 2.
    Warning = 2,
    /// 3.
    Error = 3,
}

/// A message. The action defines the meaning of address and data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Action that the message is for.
    pub action: Action,
    /// Offset in the peripheral's window, or on Renode's bus, for an access. Otherwise a line, a length, or
    /// 0.
    pub address: u64,
    /// Value of an access. Otherwise ticks, a level, or 0.
    pub data: u64,
    /// Index of one of the connection's peripherals; [`NO_INDEX`]: none in particular.
    pub index: i32,
}

impl Message {
    /// Message for no peripheral in particular, and with no numbers.
    pub fn plain(action: Action) -> Self {
        Self { action, address: 0, data: 0, index: NO_INDEX }
    }

    /// Returns the bytes of the message.
    pub fn emit(&self) -> [u8; MESSAGE] {
        let mut bytes = [0; MESSAGE];
        let mut out = &mut bytes[..];
        out.put_i32_le(self.action as i32);
        out.put_u64_le(self.address);
        out.put_u64_le(self.data);
        out.put_i32_le(self.index);
        bytes
    }

    /// Returns the message that the bytes mean.
    ///
    /// # Errors
    /// [`Rule::UnknownAction`].
    pub fn parse(bytes: &[u8; MESSAGE]) -> Result<Self, Rule> {
        let mut rest = &bytes[..];
        let action = Action::new(rest.get_i32_le()).ok_or(Rule::UnknownAction)?;
        let (address, data) = (rest.get_u64_le(), rest.get_u64_le());
        Ok(Self { action, address, data, index: rest.get_i32_le() })
    }
}
