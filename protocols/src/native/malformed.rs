//! Malformed frames: the rule that the bytes break, and where.

use thiserror::Error;

use super::MAX_BEAT;

/// Bytes that are not a frame. Their stream cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("malformed frame: byte {offset}: {rule}")]
pub struct Malformed {
    /// Place, in bytes from the start of the frame: the field that broke the rule, or the last byte read of it.
    pub offset: usize,
    /// Rule that was broken.
    pub rule: FrameRule,
}

/// A rule about the bytes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FrameRule {
    /// The prefix's flags are not 0.
    #[error("flags are {flags:#06x}; version 1 has none")]
    FlagsNotZero {
        /// Flags that were found.
        flags: u16,
    },
    /// The header is longer than this phase of a session allows.
    #[error("header of {length} bytes; at most {limit} here")]
    HeaderTooLong {
        /// Length in bytes.
        length: usize,
        /// Limit in bytes.
        limit: usize,
    },
    /// The payload is longer than this phase of a session allows.
    #[error("payload of {length} bytes; at most {limit} here")]
    PayloadTooLong {
        /// Length in bytes.
        length: u64,
        /// Limit in bytes.
        limit: u32,
    },
    /// The header ends inside a field, or is empty.
    #[error("header ends inside a field")]
    HeaderTruncated,
    /// The header has bytes after its last field.
    #[error("{count} bytes behind the last field of the header")]
    TrailingBytes {
        /// Number of those bytes.
        count: usize,
    },
    /// The first message of a stream is not a hello.
    #[error("message {number} before the hello")]
    NotHello {
        /// The message's number.
        number: u32,
    },
    /// A hello without the magic bytes.
    #[error("hello without the bytes \"VPNP\"")]
    BadMagic,
    /// No message has this number.
    #[error("no message has the number {number}")]
    UnknownMessage {
        /// Number that was found.
        number: u32,
    },
    /// An enum inside a message has an unknown number.
    #[error("no such variant")]
    UnknownVariant,
    /// A bool is neither 0 nor 1.
    #[error("a bool is 0 or 1")]
    BadBool,
    /// An option's first byte is neither 0 nor 1.
    #[error("an option starts with 0 or 1")]
    BadOption,
    /// A string is not UTF-8.
    #[error("text is not UTF-8")]
    BadText,
    /// A number does not fit its type.
    #[error("number too large for its field")]
    BadNumber,
    /// A number is written with more bytes than it needs.
    #[error("number not in its shortest form")]
    NotShortest,
    /// The message carries no payload.
    #[error("payload of {length} bytes on a message without one")]
    UnexpectedPayload {
        /// Length in bytes.
        length: u64,
    },
    /// The header gives another length than the payload has.
    #[error("payload of {length} bytes; the header calls for {expected}")]
    PayloadLength {
        /// Length in bytes.
        length: u64,
        /// Expected length in bytes.
        expected: u64,
    },
    /// A memory access of no bytes.
    #[error("memory access of 0 bytes")]
    ZeroLength,
    /// A memory access that is larger than any payload.
    #[error("memory access of {length} bytes; at most {limit} here")]
    LengthBeyondLimit {
        /// Length in bytes.
        length: u32,
        /// Limit in bytes.
        limit: u32,
    },
    /// A beat of a width that no bus has.
    #[error("beat of {length} bytes; a beat has 1 to {MAX_BEAT}")]
    BeatLength {
        /// Length in bytes.
        length: u64,
    },
    /// A strobe bit for a byte that is not there.
    #[error("strobe set behind the last data byte")]
    StrobesBeyondData,
    /// The bytes do not match the header's number of counters.
    #[error("payload does not hold the counters the header tells of")]
    BadCounters,
}

impl From<postcard::Error> for FrameRule {
    fn from(error: postcard::Error) -> Self {
        use postcard::Error as E;
        match error {
            E::DeserializeUnexpectedEnd => Self::HeaderTruncated,
            E::DeserializeBadVarint => Self::BadNumber,
            E::DeserializeBadBool => Self::BadBool,
            E::DeserializeBadOption => Self::BadOption,
            E::DeserializeBadUtf8 => Self::BadText,
            // The only errors of serde's own that our types can cause are unknown variants.
            _ => Self::UnknownVariant,
        }
    }
}
