//! Packets: the header, and what each command carries.
//!
//! ```text
//! 0         4        8        12        16        20
//! ├─────────┼────────┼────────┼─────────┼─────────┼───────────────────
//! │ command │ length │ id     │ flags   │ channel │ fields, data …
//! └─────────┴────────┴────────┴─────────┴─────────┴───────────────────
//!   u32 BE    behind the header
//! ```

use bytes::{Buf, BufMut, BytesMut};
use strum::{IntoStaticStr, VariantArray};

use super::access::{BASIC_FIELDS, Carries};
use super::hello::VERSION_FIELDS;
use super::{Access, HEADER, Hello, MAX_PACKET, MAX_SHORT, Malformed, Rule};

/// Bytes of fields behind the header.
mod fields {
    pub(super) const CFG: usize = 5;
    pub(super) const INTERRUPT: usize = 21;
    pub(super) const SYNC: usize = 8;
    pub(super) const ATS: usize = 68;
    /// Bits of [`ATS`] at its end, without meaning.
    pub(super) const ATS_RESERVED: usize = 32;
}

/// Kind of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[repr(u32)]
pub enum Command {
    /// Nothing; never sent.
    Nop,
    /// A side's version and capabilities.
    Hello,
    /// An option; never sent.
    Cfg,
    /// A read.
    Read,
    /// A write.
    Write,
    /// A change of a wire.
    Interrupt,
    /// A point in time.
    Sync,
    /// A request to translate an address.
    #[strum(serialize = "ats_req")]
    AtsRequest,
    /// Translations that are void.
    #[strum(serialize = "ats_inv")]
    AtsInvalidate,
}

impl Command {
    /// All, in order of their numbers.
    pub const ALL: [Self; 9] = *Self::VARIANTS.first_chunk().unwrap();

    /// The command of that number on the wire.
    pub fn new(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// Returns the command's name in the protocol's header files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    fn is_access(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }

    /// Fewest bytes behind the header.
    fn shortest(self) -> usize {
        match self {
            Self::Nop => 0,
            Self::Hello => VERSION_FIELDS,
            Self::Cfg => fields::CFG,
            Self::Read | Self::Write => BASIC_FIELDS - HEADER,
            Self::Interrupt => fields::INTERRUPT,
            Self::Sync => fields::SYNC,
            Self::AtsRequest | Self::AtsInvalidate => fields::ATS,
        }
    }

    /// Most bytes behind the header.
    fn longest(self) -> usize {
        if self.is_access() { MAX_PACKET - HEADER } else { MAX_SHORT }
    }
}

/// The flags of a header. Bits without a name are kept, and mean nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(u32);

bitflags::bitflags! {
    impl Flags: u32 {
        /// Never used.
        const OPTIONAL = 1;
        /// The answer to a request; the request's other flags are kept.
        const RESPONSE = 1 << 1;
        /// A request whose answer is not waited for.
        const POSTED = 1 << 2;
    }
}

impl Flags {
    /// A request that is answered.
    pub const NONE: Self = Self(0);
}

/// An option of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cfg {
    /// Number of the option; 0 is the quantum.
    pub option: u32,
    /// Value of the option.
    pub value: u8,
}

/// A wire has a new level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupt {
    /// Time in nanoseconds of the sender's virtual time.
    pub time: i64,
    /// Always 0 as sent.
    pub vector: u64,
    /// The wire of the channel.
    pub line: u32,
    /// True if the wire is high.
    pub level: bool,
}

/// A request to translate an address, its answer, or an invalidation of translations (PCI's Address Translation
/// Services).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ats {
    /// Time in nanoseconds of the sender's virtual time. In answers of QEMU its bytes are in the wrong order.
    pub time: i64,
    /// Rights wanted or granted: 1 execute, 2 read, 4 write.
    pub rights: u64,
    /// Virtual; in an answer physical.
    pub address: u64,
    /// Number of bytes from there; in an answer, those for which the translation is valid.
    pub length: u64,
    /// Result, in an answer 0: translated, 1: not.
    pub result: u32,
}

/// A request or its answer; the packet's flags say which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transaction {
    /// Reads.
    Read(Access),
    /// Writes.
    Write(Access),
    /// Sets a wire.
    Interrupt(Interrupt),
    /// Tells a time.
    Sync {
        /// Time in nanoseconds of the sender's virtual time. An answer's time may be before or after the request's.
        time: i64,
    },
    /// Asks a host for a translation.
    AtsRequest(Ats),
    /// Takes translations back from a device.
    AtsInvalidate(Ats),
}

impl Transaction {
    /// Returns the transaction's command.
    pub fn command(&self) -> Command {
        match self {
            Self::Read(_) => Command::Read,
            Self::Write(_) => Command::Write,
            Self::Interrupt(_) => Command::Interrupt,
            Self::Sync { .. } => Command::Sync,
            Self::AtsRequest(_) => Command::AtsRequest,
            Self::AtsInvalidate(_) => Command::AtsInvalidate,
        }
    }

    /// The sender's time, in nanoseconds.
    pub fn time(&self) -> i64 {
        match self {
            Self::Read(Access { time, .. })
            | Self::Write(Access { time, .. })
            | Self::Interrupt(Interrupt { time, .. })
            | Self::Sync { time }
            | Self::AtsRequest(Ats { time, .. })
            | Self::AtsInvalidate(Ats { time, .. }) => *time,
        }
    }
}

/// Content that a packet carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Nothing.
    Nop,
    /// The sender's hello.
    Hello(Hello),
    /// An option.
    Cfg(Cfg),
    /// A request or an answer.
    Transaction(Transaction),
}

impl Body {
    /// Returns the command of the content.
    pub fn command(&self) -> Command {
        match self {
            Self::Nop => Command::Nop,
            Self::Hello(_) => Command::Hello,
            Self::Cfg(_) => Command::Cfg,
            Self::Transaction(transaction) => transaction.command(),
        }
    }
}

/// A packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Chosen by the sender of the request; the answer repeats it.
    pub id: u32,
    /// Request or answer, posted or not.
    pub flags: Flags,
    /// The channel: `dev` in the protocol's header files. An answer has its request's.
    pub channel: u32,
    /// Content that the packet carries.
    pub body: Body,
}

/// Command and length of the packet at the front of `input`, if its header is there.
fn header(input: &[u8]) -> Result<Option<(Command, usize)>, Malformed> {
    let Some(mut header) = input.get(..HEADER) else { return Ok(None) };
    let (number, length) = (header.get_u32(), header.get_u32());
    let Some(command) = Command::new(number) else {
        return Err(Malformed::new(Rule::UnknownCommand, number));
    };
    if length as usize > command.longest() {
        return Err(Malformed::new(Rule::PacketTooLong, length));
    }
    if (length as usize) < command.shortest() {
        return Err(Malformed::new(Rule::PacketTooShort, length));
    }
    Ok(Some((command, HEADER + length as usize)))
}

/// The number of bytes that the packet at the front of `input` still lacks, by its header. 0 if it is complete,
/// or if its header is not there or wrong; then [`Packet::decode`] says so.
pub fn lacking(input: &[u8]) -> usize {
    match header(input) {
        Ok(Some((_, length))) => length.saturating_sub(input.len()),
        _ => 0,
    }
}

impl Packet {
    /// Takes one packet off the front of `input`. `Ok(None)` leaves the input unchanged and means that more
    /// bytes are needed.
    ///
    /// The length is checked as soon as the header is there. So a caller that reads on after every `Ok(None)`
    /// never stores more than [`MAX_PACKET`] bytes plus one read. Data share memory with `input`. Bytes after
    /// the last field of a packet that is not an access are skipped, as both known implementations do.
    ///
    /// # Errors
    /// [`Malformed`]; `input` is unchanged. The stream cannot be read any further.
    pub fn decode(input: &mut BytesMut) -> Result<Option<Self>, Malformed> {
        let Some((command, length)) = header(input)? else { return Ok(None) };
        let Some(packet) = input.get(..length) else { return Ok(None) };
        let mut rest = &packet[8..];
        let (id, flags, channel) = (rest.get_u32(), Flags(rest.get_u32()), rest.get_u32());
        let (mut data, mut byte_enables) = (0..0, 0..0);
        let mut body = match command {
            Command::Nop => Body::Nop,
            Command::Hello => Body::Hello(Hello::decode(rest)?),
            Command::Cfg => Body::Cfg(Cfg { option: rest.get_u32(), value: rest.get_u8() }),
            Command::Read | Command::Write => {
                let access;
                (access, data, byte_enables) = Access::decode(packet, carries(command, flags))?;
                Body::Transaction(match command {
                    Command::Read => Transaction::Read(access),
                    _ => Transaction::Write(access),
                })
            }
            Command::Interrupt => Body::Transaction(Transaction::Interrupt(Interrupt {
                time: rest.get_i64(),
                vector: rest.get_u64(),
                line: rest.get_u32(),
                level: rest.get_u8() != 0,
            })),
            Command::Sync => Body::Transaction(Transaction::Sync { time: rest.get_i64() }),
            Command::AtsRequest => Body::Transaction(Transaction::AtsRequest(decode_ats(rest))),
            Command::AtsInvalidate => Body::Transaction(Transaction::AtsInvalidate(decode_ats(rest))),
        };
        // A packet without data takes no share in the buffer, so the buffer stays free to be used again.
        match &mut body {
            Body::Transaction(Transaction::Read(access) | Transaction::Write(access))
                if !(data.is_empty() && byte_enables.is_empty()) =>
            {
                let whole = input.split_to(length).freeze();
                (access.data, access.byte_enables) = (whole.slice(data), whole.slice(byte_enables));
            }
            _ => input.advance(length),
        }
        Ok(Some(Self { id, flags, channel, body }))
    }

    /// Appends the packet to `out`.
    ///
    /// # Errors
    /// [`Malformed`]: the rule that it would break, and nothing was written.
    pub fn encode(&self, out: &mut BytesMut) -> Result<(), Malformed> {
        let start = out.len();
        let command = self.body.command();
        out.put_u32(command as u32);
        out.put_u32(0);
        out.put_u32(self.id);
        out.put_u32(self.flags.0);
        out.put_u32(self.channel);
        self.encode_body(out).inspect_err(|_| out.truncate(start))?;
        let length = (out.len() - start - HEADER) as u32;
        out[start + 4..start + 8].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }

    fn encode_body(&self, out: &mut BytesMut) -> Result<(), Malformed> {
        let transaction = match &self.body {
            Body::Nop => return Ok(()),
            Body::Hello(hello) => return hello.encode(out),
            Body::Cfg(cfg) => {
                out.put_u32(cfg.option);
                out.put_u8(cfg.value);
                return Ok(());
            }
            Body::Transaction(transaction) => transaction,
        };
        match transaction {
            Transaction::Read(access) | Transaction::Write(access) => {
                access.encode(carries(transaction.command(), self.flags), out)?;
            }
            Transaction::Interrupt(interrupt) => {
                out.put_i64(interrupt.time);
                out.put_u64(interrupt.vector);
                out.put_u32(interrupt.line);
                out.put_u8(interrupt.level.into());
            }
            Transaction::Sync { time } => out.put_i64(*time),
            Transaction::AtsRequest(ats) | Transaction::AtsInvalidate(ats) => {
                out.put_i64(ats.time);
                out.put_u64(ats.rights);
                out.put_u64(ats.address);
                out.put_u64(ats.length);
                out.put_u32(ats.result);
                out.put_bytes(0, fields::ATS_RESERVED);
            }
        }
        Ok(())
    }
}

fn carries(command: Command, flags: Flags) -> Carries {
    // A read's data are in its answer, a write's in its request.
    match (command == Command::Read) == flags.contains(Flags::RESPONSE) {
        true => Carries::Data,
        false => Carries::NoData,
    }
}

fn decode_ats(mut fields: &[u8]) -> Ats {
    Ats {
        time: fields.get_i64(),
        rights: fields.get_u64(),
        address: fields.get_u64(),
        length: fields.get_u64(),
        result: fields.get_u32(),
    }
}
