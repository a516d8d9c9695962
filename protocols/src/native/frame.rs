//! Frames: a fixed prefix, a postcard header, raw payload bytes.
//!
//! ```text
//! 0        2        4                 8                8 + header_len       … + payload_len
//! ├────────┼────────┼─────────────────┼────────────────┼────────────────────┤
//! │ header │ flags  │   payload_len   │ header         │ payload            │
//! │ _len   │ (0)    │                 │ (postcard)     │ (raw)              │
//! └────────┴────────┴─────────────────┴────────────────┴────────────────────┘
//!   u16 LE   u16 LE   u32 LE
//! ```
//!
//! Parsing and emitting are each other's inverse: a message has exactly one encoding, and all other bytes are
//! malformed.

use std::cell::Cell;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use postcard::{de_flavors, ser_flavors};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{
    FrameRule, HARD_MAX_PAYLOAD, MAGIC, MAX_HEADER, MAX_HELLO, MIN_MAX_PAYLOAD, Malformed, Message, PREFIX,
};

/// Offsets within the prefix.
mod field {
    pub(super) const FLAGS: usize = 2;
    pub(super) const PAYLOAD_LEN: usize = 4;
}

/// Room for prefix and header of the most frequent messages.
const SHORT: usize = 64;

/// Content of a frame: its message and the payload behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The header.
    pub message: Message,
    /// Shares memory with the buffer the frame was read from.
    pub payload: Bytes,
}

/// The phase of a stream, which decides what its next frame may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A server before the hello: a short header, no payload, and nothing but a hello.
    Hello,
    /// A client before the welcome: no payload.
    Welcome,
    /// A server in an open session, before the client has authenticated: a short payload, because nothing is done
    /// with it. Requests for more bytes, such as long reads, are frames as in [`Phase::Session`].
    Authentication {
        /// The agreed payload limit, in bytes.
        max_payload: u32,
    },
    /// An open session.
    Session {
        /// The agreed payload limit, in bytes.
        max_payload: u32,
    },
}

impl Phase {
    fn max_header(self) -> usize {
        match self {
            Self::Hello => MAX_HELLO,
            Self::Welcome | Self::Authentication { .. } | Self::Session { .. } => MAX_HEADER,
        }
    }

    /// The longest payload of a frame.
    fn max_payload(self) -> u32 {
        match self {
            Self::Authentication { .. } => self.max_length().min(MIN_MAX_PAYLOAD),
            Self::Hello | Self::Welcome | Self::Session { .. } => self.max_length(),
        }
    }

    /// The largest number of bytes that a message may be about.
    fn max_length(self) -> u32 {
        match self {
            Self::Hello | Self::Welcome => 0,
            Self::Authentication { max_payload } | Self::Session { max_payload } => {
                max_payload.min(HARD_MAX_PAYLOAD)
            }
        }
    }
}

/// Takes frames out of a byte stream.
#[derive(Debug, Clone)]
pub struct Decoder {
    phase: Phase,
    broken: Option<Malformed>,
}

impl Decoder {
    /// A decoder for a stream in this phase.
    pub fn new(phase: Phase) -> Self {
        Self { phase, broken: None }
    }

    /// Sets the phase; it applies from the next frame on.
    pub fn set_phase(&mut self, phase: Phase) {
        self.phase = phase;
    }

    /// Takes one frame off the front of `input`. `Ok(None)` leaves the input unchanged and means that more
    /// bytes are needed.
    ///
    /// Lengths are checked as soon as the prefix is there. So a caller that reads on after every `Ok(None)`
    /// never stores more than one frame of the phase's limits plus one read.
    ///
    /// # Errors
    /// [`Malformed`], and again for every later call: a stream cannot be resynchronised.
    pub fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Frame>, Malformed> {
        if let Some(broken) = self.broken {
            return Err(broken);
        }
        let result = self.try_decode(input);
        self.broken = result.as_ref().err().copied();
        result
    }

    /// The number of bytes that the frame at the front of `input` still lacks, by its prefix. 0 if it is
    /// complete, or if its lengths are not known or wrong; then [`decode`](Self::decode) says so.
    pub fn lacking(&self, input: &[u8]) -> usize {
        let Some(mut prefix) = input.get(..PREFIX) else { return 0 };
        let header_length = usize::from(prefix.get_u16_le());
        prefix.advance(field::PAYLOAD_LEN - field::FLAGS);
        let payload_length = prefix.get_u32_le();
        let is_within =
            header_length <= self.phase.max_header() && payload_length <= self.phase.max_payload();
        match is_within {
            true => (PREFIX + header_length + payload_length as usize).saturating_sub(input.len()),
            false => 0,
        }
    }

    fn try_decode(&self, input: &mut BytesMut) -> Result<Option<Frame>, Malformed> {
        let Some(mut prefix) = input.get(..PREFIX) else { return Ok(None) };
        let header_length = usize::from(prefix.get_u16_le());
        let flags = prefix.get_u16_le();
        let payload_length = prefix.get_u32_le();

        let refuse = |offset, rule| Err(Malformed { offset, rule });
        let limit = self.phase.max_header();
        if header_length > limit {
            return refuse(0, FrameRule::HeaderTooLong { length: header_length, limit });
        }
        if flags != 0 {
            return refuse(field::FLAGS, FrameRule::FlagsNotZero { flags });
        }
        let limit = self.phase.max_payload();
        if payload_length > limit {
            return refuse(
                field::PAYLOAD_LEN,
                FrameRule::PayloadTooLong { length: u64::from(payload_length), limit },
            );
        }
        let length = PREFIX + header_length + payload_length as usize;
        if input.len() < length {
            return Ok(None);
        }

        let message = parse_header(&input[PREFIX..PREFIX + header_length], self.phase)?;
        let payload = &input[PREFIX + header_length..length];
        // Before a session no message has a length to be judged by the limit, so 0 does no harm there.
        message.check(payload, self.phase.max_length()).map_err(|rule| Malformed {
            offset: match rule {
                FrameRule::UnexpectedPayload { .. }
                | FrameRule::PayloadLength { .. }
                | FrameRule::BeatLength { .. } => field::PAYLOAD_LEN,
                FrameRule::StrobesBeyondData => length - 1,
                _ => PREFIX,
            },
            rule,
        })?;

        // A frame without payload takes no share in the buffer, so the buffer stays free to be used again.
        let payload = if payload.is_empty() {
            input.advance(length);
            Bytes::new()
        } else {
            input.advance(PREFIX + header_length);
            input.split_to(payload_length as usize).freeze()
        };
        Ok(Some(Frame { message, payload }))
    }
}

fn parse_header(header: &[u8], phase: Phase) -> Result<Message, Malformed> {
    let at = Cell::new(0);
    let refuse = |offset, rule| Malformed { offset: PREFIX + offset, rule };

    // The number first: unlike postcard we tell an unknown message from a broken one, and a stranger from a client.
    let number = match header.first() {
        // Mostly its one byte says it.
        Some(&byte) if u32::from(byte) < Message::COUNT => {
            at.set(1);
            u32::from(byte)
        }
        _ => take(header, &at).map_err(|rule| refuse(at.get().saturating_sub(1), rule))?,
    };
    if number >= Message::COUNT {
        return Err(refuse(0, FrameRule::UnknownMessage { number }));
    }
    if phase == Phase::Hello && number != 0 {
        return Err(refuse(0, FrameRule::NotHello { number }));
    }
    if number == 0 && header.get(at.get()..at.get() + MAGIC.len()).is_some_and(|magic| magic != MAGIC) {
        return Err(refuse(at.get(), FrameRule::BadMagic));
    }

    at.set(0);
    let message: Message = take(header, &at).map_err(|rule| {
        let past = if rule == FrameRule::HeaderTruncated { header.len() } else { at.get().saturating_sub(1) };
        refuse(past, rule)
    })?;
    let count = header.len() - at.get();
    if count > 0 {
        return Err(refuse(at.get(), FrameRule::TrailingBytes { count }));
    }
    // Padding a number is the only freedom postcard leaves; with it gone, a message has one image.
    if may_be_padded(header) && postcard::experimental::serialized_size(&message) != Ok(header.len()) {
        return Err(refuse(0, FrameRule::NotShortest));
    }
    Ok(message)
}

/// Returns true if a number might be longer than needed: then its last byte is 0, and the one before says that another follows. Texts
/// and measured values can look so too.
fn may_be_padded(header: &[u8]) -> bool {
    header.windows(2).any(|pair| pair[0] >= 0x80 && pair[1] == 0)
}

/// Reads a value from `bytes` starting at `at`, and moves `at` behind what was read, also on failure.
fn take<'a, T: Deserialize<'a>>(bytes: &'a [u8], at: &'a Cell<usize>) -> Result<T, FrameRule> {
    let mut deserializer = postcard::Deserializer::from_flavor(Cursor { bytes, at });
    Ok(T::deserialize(&mut deserializer)?)
}

/// postcard's view of a slice, with a position that outlives an error.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: &'a Cell<usize>,
}

impl<'a> de_flavors::Flavor<'a> for Cursor<'a> {
    type Remainder = ();
    type Source = &'a [u8];

    fn pop(&mut self) -> postcard::Result<u8> {
        let byte = self.bytes.get(self.at.get()).ok_or(postcard::Error::DeserializeUnexpectedEnd)?;
        self.at.set(self.at.get() + 1);
        Ok(*byte)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.bytes.len() - self.at.get())
    }

    fn try_take_n(&mut self, count: usize) -> postcard::Result<&'a [u8]> {
        let rest = &self.bytes[self.at.get()..];
        let taken = rest.get(..count).ok_or(postcard::Error::DeserializeUnexpectedEnd)?;
        self.at.set(self.at.get() + count);
        Ok(taken)
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// A message that cannot be put into a frame. Nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("cannot send {message}: {rule}")]
pub struct EmitError {
    /// Name of the message.
    pub message: &'static str,
    /// The rule that the frame would break.
    pub rule: FrameRule,
}

/// Appends a frame to `out`.
///
/// # Errors
/// [`EmitError`] when the frame would be malformed for every receiver: texts or lists too long for the header,
/// or a payload of another length than the message requires. [`Connection`](super::Connection) checks the
/// agreed payload limit.
pub fn emit(message: &Message, payload: &[u8], out: &mut BytesMut) -> Result<(), EmitError> {
    let refuse = |rule| EmitError { message: message.name(), rule };
    message.check(payload, HARD_MAX_PAYLOAD).map_err(refuse)?;
    out.reserve(SHORT + payload.len());
    emit_header(message, payload.len(), out)?;
    if !payload.is_empty() {
        out.extend_from_slice(payload);
    }
    Ok(())
}

/// Appends only prefix and header, for a caller that writes the payload itself, without a copy.
///
/// # Errors
/// [`EmitError`] when header or payload are too long. The caller has to make sure that the payload fits the
/// message.
pub fn emit_header(message: &Message, payload_length: usize, out: &mut BytesMut) -> Result<(), EmitError> {
    let refuse = |rule| EmitError { message: message.name(), rule };
    let payload = match u32::try_from(payload_length) {
        Ok(length) if length <= HARD_MAX_PAYLOAD => length,
        _ => {
            return Err(refuse(FrameRule::PayloadTooLong {
                length: payload_length as u64,
                limit: HARD_MAX_PAYLOAD,
            }));
        }
    };
    let limit = if matches!(message, Message::Hello(_)) { MAX_HELLO } else { MAX_HEADER };
    let start = out.len();
    out.reserve(SHORT);
    out.put_bytes(0, field::PAYLOAD_LEN);
    out.put_u32_le(payload);
    append(message, out);
    let length = out.len() - start - PREFIX;
    match u16::try_from(length) {
        Ok(header) if length <= limit => {
            out[start..start + field::FLAGS].copy_from_slice(&header.to_le_bytes());
        }
        _ => {
            out.truncate(start);
            return Err(refuse(FrameRule::HeaderTooLong { length, limit }));
        }
    }
    Ok(())
}

/// Appends the postcard image of a value.
pub(super) fn append<T: Serialize>(value: &T, out: &mut BytesMut) {
    let done = postcard::serialize_with_flavor(value, Tail(out));
    debug_assert!(done.is_ok(), "our types and this sink give postcard nothing to fail on");
}

/// The end of a growing buffer, as postcard wants to see it.
struct Tail<'a>(&'a mut BytesMut);

impl ser_flavors::Flavor for Tail<'_> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.put_u8(byte);
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}
