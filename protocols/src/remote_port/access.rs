//! Reads and writes: fields, data, byte enables, in both layouts.

use std::ops::Range;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::{HEADER, MAX_DATA, Malformed, Rule};

/// Bytes of header and fields in the basic layout.
pub(super) const BASIC_FIELDS: usize = 58;
/// Bytes of header and fields in the extended layout.
pub(super) const EXTENDED_FIELDS: usize = 80;

/// The positions of the fields in an access. A packet says itself which layout it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// 58 bytes of header and fields; the low 16 bits of the master id, no byte enables.
    Basic,
    /// 80 bytes of header and fields.
    Extended,
}

impl Layout {
    /// Bytes of header and fields.
    pub fn fields(self) -> usize {
        match self {
            Self::Basic => BASIC_FIELDS,
            Self::Extended => EXTENDED_FIELDS,
        }
    }
}

/// The result of an access, in its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseCode {
    /// The access was done.
    Ok,
    /// 1: a bus error.
    Error,
    /// 2: there is nothing at that address.
    AddressError,
    /// 3 to 15: reserved.
    Reserved(u8),
}

impl ResponseCode {
    fn number(self) -> u64 {
        match self {
            Self::Ok => 0,
            Self::Error => 1,
            Self::AddressError => 2,
            Self::Reserved(number) => u64::from(number & 15),
        }
    }
}

/// Attributes of an access: a set of bits, and the response code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attributes(u64);

bitflags::bitflags! {
    impl Attributes: u64 {
        /// The end of a packet, on streams.
        const END_OF_PACKET = 1;
        /// A secure access.
        const SECURE = 1 << 1;
        /// The [extended layout](Layout::Extended). [`Connection`](super::Connection) sets it if its peer supports
        /// it.
        const EXTENDED = 1 << 2;
        /// The address was translated by an ATS request.
        const TRANSLATED = 1 << 3;
        /// An access to x86's I/O space.
        const IO = 1 << 4;
    }
}

impl Attributes {
    /// None, and the code [`ResponseCode::Ok`].
    pub const NONE: Self = Self(0);

    const CODE_SHIFT: u32 = 8;
    const CODE: u64 = 15 << Self::CODE_SHIFT;

    /// The response code; requests have [`ResponseCode::Ok`].
    pub fn code(self) -> ResponseCode {
        match (self.0 & Self::CODE) >> Self::CODE_SHIFT {
            0 => ResponseCode::Ok,
            1 => ResponseCode::Error,
            2 => ResponseCode::AddressError,
            number => ResponseCode::Reserved(number as u8),
        }
    }

    /// Returns these attributes with another response code.
    #[must_use]
    pub fn with_code(self, code: ResponseCode) -> Self {
        Self(self.0 & !Self::CODE | code.number() << Self::CODE_SHIFT)
    }

    /// Returns these attributes for another layout.
    #[must_use]
    pub fn with_layout(self, layout: Layout) -> Self {
        match layout {
            Layout::Basic => Self(self.0 & !Self::EXTENDED.0),
            Layout::Extended => self.union(Self::EXTENDED),
        }
    }
}

/// A read or a write, or the response to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Time in nanoseconds of the sender's virtual time. An answer of QEMU repeats the request's.
    pub time: i64,
    /// Attributes of the access; in a response also its result.
    pub attributes: Attributes,
    /// Address of the first byte, in the address space of the channel.
    pub address: u64,
    /// Length in bytes, at most [`MAX_DATA`].
    pub length: u32,
    /// The number of bytes after which the address starts again; [`length`](Self::length) for an ordinary
    /// access. At least 1.
    pub stream_width: u32,
    /// The master that makes the access. The basic layout carries the low 16 bits.
    pub master: u64,
    /// The bytes of a write request or of a read response, as many as `length`, in the order of their
    /// addresses; otherwise empty.
    pub data: Bytes,
    /// One byte for each data byte: 0 leaves it unchanged. Repeated if there are fewer; empty: all bytes are
    /// transferred.
    pub byte_enables: Bytes,
}

/// Presence of data in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carries {
    Data,
    NoData,
}

impl Access {
    /// An ordinary read.
    pub fn read(time: i64, address: u64, length: u32) -> Self {
        Self {
            time,
            attributes: Attributes::NONE,
            address,
            length,
            stream_width: length,
            master: 0,
            data: Bytes::new(),
            byte_enables: Bytes::new(),
        }
    }

    /// An ordinary write. If the length of the data does not fit a `u32`, it cannot be sent.
    pub fn write(time: i64, address: u64, data: impl Into<Bytes>) -> Self {
        let data = data.into();
        let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
        Self { data, ..Self::read(time, address, length) }
    }

    /// The layout its attributes say.
    pub fn layout(&self) -> Layout {
        match self.attributes.contains(Attributes::EXTENDED) {
            true => Layout::Extended,
            false => Layout::Basic,
        }
    }

    /// Returns true if the byte at that index of the data counts.
    pub fn is_enabled(&self, index: usize) -> bool {
        self.byte_enables.is_empty() || self.byte_enables[index % self.byte_enables.len()] != 0
    }

    /// Of a whole packet, its data and byte enables aside: gives where they are.
    pub(super) fn decode(
        packet: &[u8],
        carries: Carries,
    ) -> Result<(Self, Range<usize>, Range<usize>), Malformed> {
        let refuse = |rule, found: u64| Err(Malformed { rule, found });
        let mut fields = &packet[HEADER..];
        let time = fields.get_i64();
        let attributes = Attributes::from_bits_retain(fields.get_u64());
        let address = fields.get_u64();
        let length = fields.get_u32();
        let width = fields.get_u32();
        let stream_width = fields.get_u32();
        let mut access = Self { time, attributes, stream_width, ..Self::read(time, address, length) };
        access.master = u64::from(fields.get_u16());
        if length as usize > MAX_DATA {
            return refuse(Rule::AccessTooLong, length.into());
        }
        if width != 0 {
            return refuse(Rule::Width, width.into());
        }
        if stream_width == 0 && length > 0 {
            return refuse(Rule::StreamWidth, 0);
        }

        let start = access.layout().fields();
        if packet.len() < start {
            return refuse(Rule::PacketTooShort, packet.len() as u64);
        }
        let data_length = if carries == Carries::Data { length as usize } else { 0 };
        let (mut data, mut byte_enables) = (start..start + data_length, start..start);
        if access.layout() == Layout::Extended {
            access.master |= u64::from(fields.get_u16()) << 16;
            access.master |= u64::from(fields.get_u32()) << 32;
            let data_offset = fields.get_u32() as usize;
            let next_offset = fields.get_u32();
            let enables_offset = fields.get_u32() as usize;
            let enables_length = fields.get_u32() as usize;
            if next_offset != 0 {
                return refuse(Rule::NextOffset, next_offset.into());
            }
            // Where there are none the offset says nothing.
            if data_length > 0 {
                data = data_offset..data_offset + data_length;
            }
            if enables_length > 0 {
                byte_enables = enables_offset..enables_offset.saturating_add(enables_length);
            }
        }
        if data.start < start || data.end > packet.len() {
            return refuse(Rule::DataOutside, data.end as u64);
        }
        if byte_enables.start < start || byte_enables.end > packet.len() {
            return refuse(Rule::ByteEnablesOutside, byte_enables.end as u64);
        }
        if packet.len() > data.end.max(byte_enables.end) {
            return refuse(Rule::SurplusBytes, packet.len() as u64);
        }
        Ok((access, data, byte_enables))
    }

    pub(super) fn encode(&self, carries: Carries, out: &mut BytesMut) -> Result<(), Malformed> {
        self.check(carries)?;
        out.reserve(EXTENDED_FIELDS + self.data.len() + self.byte_enables.len());
        out.put_i64(self.time);
        out.put_u64(self.attributes.bits());
        out.put_u64(self.address);
        out.put_u32(self.length);
        out.put_u32(0);
        out.put_u32(self.stream_width);
        out.put_u16(self.master as u16);
        if self.layout() == Layout::Extended {
            out.put_u16((self.master >> 16) as u16);
            out.put_u32((self.master >> 32) as u32);
            out.put_u32(EXTENDED_FIELDS as u32);
            out.put_u32(0);
            out.put_u32((EXTENDED_FIELDS + self.data.len()) as u32);
            out.put_u32(self.byte_enables.len() as u32);
        }
        out.put_slice(&self.data);
        out.put_slice(&self.byte_enables);
        Ok(())
    }

    /// Checks that the access can be sent: what [`decode`](Self::decode) would refuse is refused.
    fn check(&self, carries: Carries) -> Result<(), Malformed> {
        let refuse = |rule, found: usize| Err(Malformed::new(rule, found as u64));
        let expected = if carries == Carries::Data { self.length as usize } else { 0 };
        if self.length as usize > MAX_DATA {
            return refuse(Rule::AccessTooLong, self.length as usize);
        }
        if self.stream_width == 0 && self.length > 0 {
            return refuse(Rule::StreamWidth, 0);
        }
        match self.data.len() {
            length if length < expected => return refuse(Rule::DataOutside, length),
            length if length > expected => return refuse(Rule::SurplusBytes, length),
            _ => {}
        }
        match self.byte_enables.len() {
            length if length > MAX_DATA => refuse(Rule::PacketTooLong, length),
            length if length > 0 && self.layout() == Layout::Basic => refuse(Rule::SurplusBytes, length),
            _ => Ok(()),
        }
    }
}
