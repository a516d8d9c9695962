//! Blocks: what a recording is made of, each with its length and a checksum.

/// Bytes that every recording begins with, before its version.
pub(crate) const MAGIC: [u8; 8] = *b"VPREC\r\n\x1a";
/// The version of the format that is written, and the newest that is read.
pub(crate) const VERSION: u16 = 1;

/// Bytes of entries in one block, at most.
pub(crate) const MOST: usize = 1 << 16;
/// Bytes that one block has in the file, at most: what DEFLATE cannot make smaller it makes a little larger.
pub(crate) const MOST_STORED: u64 = MOST as u64 + 4096;
/// Bytes that a header has in the file, at most.
pub(crate) const MOST_HEADER: u64 = 1 << 20;
/// Bytes of one entry, and of a saved platform, at most.
pub(crate) const MOST_ENTRY: u64 = 1 << 30;

/// Bytes that each DEFLATE block of a flushed stream ends with, which are left out (RFC 7692, 7.2.1).
pub(crate) const FLUSHED: [u8; 4] = [0, 0, 0xff, 0xff];

/// The kinds of blocks.
pub(crate) mod kind {
    /// The header, in TOML.
    pub(crate) const HEADER: u8 = b'H';
    /// Entries, compressed: a part of one DEFLATE stream.
    pub(crate) const DEFLATED: u8 = b'D';
    /// Entries as they are.
    pub(crate) const PLAIN: u8 = b'P';
    /// A part of a saved platform, from which the run goes on.
    pub(crate) const SAVED: u8 = b'S';
    /// The end, and why it comes before that of the run, if it does.
    pub(crate) const END: u8 = b'E';
}

/// Appends a block.
pub(crate) fn put(kind: u8, stored: &[u8], file: &mut Vec<u8>) {
    let begin = file.len();
    file.push(kind);
    put_length(stored.len() as u64, file);
    file.extend_from_slice(stored);
    let checksum = crc32fast::hash(&file[begin..]);
    file.extend_from_slice(&checksum.to_le_bytes());
}

/// Appends a length: 7 bits a byte, lowest first, the top bit set on all but the last byte.
pub(crate) fn put_length(mut length: u64, into: &mut Vec<u8>) {
    while length >= 0x80 {
        into.push(length as u8 | 0x80);
        length >>= 7;
    }
    into.push(length as u8);
}

/// A length that comes byte by byte.
#[derive(Debug, Default)]
pub(crate) struct Length {
    value: u64,
    bits: u32,
}

impl Length {
    /// Takes the next byte. `Some`: that was the last; an error, if it is none of a length.
    pub(crate) fn take(&mut self, byte: u8) -> Option<Result<u64, ()>> {
        if self.bits > 35 {
            return Some(Err(()));
        }
        self.value |= u64::from(byte & 0x7f) << self.bits;
        self.bits += 7;
        (byte & 0x80 == 0).then_some(Ok(self.value))
    }
}
