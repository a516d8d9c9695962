//! The first packet of each side: its version and its capabilities.

use bytes::{Buf, BufMut, BytesMut};

use super::{HEADER, MAX_SHORT, Malformed, Rule};

/// Bytes of the version: all that the oldest hellos have.
pub(super) const VERSION_FIELDS: usize = 4;
/// Bytes of version and of where the capabilities are.
const FIELDS: usize = 12;

/// Major and minor version of the protocol. Peers of another major version cannot be talked to.
pub const VERSION: (u16, u16) = (4, 3);

/// A set of capabilities. A peer announces what may be sent *to* it; there is no negotiation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities(u8);

bitflags::bitflags! {
    impl Capabilities: u8 {
        /// Number 1: it reads the [extended layout](super::Layout::Extended).
        const EXTENDED_LAYOUT = 1 << 1;
        /// Number 2: it supports byte enables.
        const BYTE_ENABLES = 1 << 2;
        /// Number 3: it answers interrupts that are not posted.
        const INTERRUPT_RESPONSES = 1 << 3;
        /// Number 4: it translates addresses.
        const ATS = 1 << 4;
        /// Capabilities that a platform without address translation announces.
        const PLATFORM = 0b1110;
    }
}

impl Capabilities {
    /// Nothing.
    pub const NONE: Self = Self(0);

    /// The known ones of these numbers.
    pub fn from_numbers(numbers: &[u32]) -> Self {
        let bits = numbers.iter().filter(|number| (1..=4).contains(*number)).map(|number| 1 << number);
        bits.map(Self::from_bits_retain).collect()
    }

    /// Returns the capabilities' numbers, in order.
    pub fn numbers(self) -> Vec<u32> {
        (1..=4).filter(|number| self.0 & 1 << number != 0).collect()
    }
}

/// A side's version and capabilities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// Major version.
    pub major: u16,
    /// Minor version. It changes nothing.
    pub minor: u16,
    /// Numbers of capabilities, unknown ones among them. `None`: the oldest hello, which has no list.
    pub capabilities: Option<Vec<u32>>,
}

impl Hello {
    /// The hello of this version.
    pub fn new(capabilities: Capabilities) -> Self {
        let (major, minor) = VERSION;
        Self { major, minor, capabilities: Some(capabilities.numbers()) }
    }

    /// The announced capabilities that are known.
    pub fn announced(&self) -> Capabilities {
        Capabilities::from_numbers(self.capabilities.as_deref().unwrap_or_default())
    }

    /// Decodes what is behind the header. What goes beyond the known fields is not looked at.
    pub(super) fn decode(mut fields: &[u8]) -> Result<Self, Malformed> {
        let end = HEADER + fields.len();
        let whole = fields;
        let (major, minor) = (fields.get_u16(), fields.get_u16());
        if whole.len() < FIELDS {
            return Ok(Self { major, minor, capabilities: None });
        }
        let offset = fields.get_u32() as usize;
        let count = usize::from(fields.get_u16());
        if count == 0 {
            return Ok(Self { major, minor, capabilities: Some(Vec::new()) });
        }
        let list_end = offset.saturating_add(4 * count);
        if offset < HEADER + FIELDS || list_end > end {
            return Err(Malformed::new(Rule::CapabilitiesOutside, list_end as u64));
        }
        let list = whole[offset - HEADER..list_end - HEADER].chunks_exact(4);
        Ok(Self { major, minor, capabilities: Some(list.map(|mut number| number.get_u32()).collect()) })
    }

    pub(super) fn encode(&self, out: &mut BytesMut) -> Result<(), Malformed> {
        out.put_u16(self.major);
        out.put_u16(self.minor);
        let Some(numbers) = &self.capabilities else { return Ok(()) };
        let length = FIELDS + 4 * numbers.len();
        if length > MAX_SHORT {
            return Err(Malformed::new(Rule::PacketTooLong, length as u64));
        }
        out.put_u32((HEADER + FIELDS) as u32);
        out.put_u16(numbers.len() as u16);
        out.put_u16(0);
        numbers.iter().for_each(|number| out.put_u32(*number));
        Ok(())
    }
}
