//! The payload of a transaction: a command, an address, data, and the response (`tlm_generic_payload`).

use super::{DirectError, DirectMemory};
use std::any::Any;

/// What is to be done (`tlm_command`).
///
/// ```
/// use vp_core::tlm::{Command, Payload};
/// assert_eq!(Payload::write(0, &[1]).command, Command::Write);
/// assert_eq!(Payload::default().command, Command::Ignore);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Command {
    /// Copy from the target to the payload's data.
    Read,
    /// Copy from the payload's data to the target.
    Write,
    /// Neither: only extensions matter. Reaches the target as the others do.
    #[default]
    Ignore,
}

/// How it went (`tlm_response_status`).
///
/// ```
/// use vp_core::tlm::{Payload, Response, Storage};
/// let mut payload = Payload::read(12, 8);
/// assert_eq!(payload.response, Response::Incomplete);
/// assert_eq!(payload.access(&Storage::new(16)), Response::AddressError);
/// assert_eq!(payload.access(&Storage::new(20)), Response::Ok);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Response {
    /// No target has answered yet.
    #[default]
    Incomplete,
    /// Done.
    Ok,
    /// The access failed for a reason that no other value describes.
    GenericError,
    /// There is nothing at this address, or fewer bytes than requested.
    AddressError,
    /// The target does not do this command here.
    CommandError,
    /// The target cannot do this length or streaming width.
    BurstError,
    /// The target cannot do byte enables, or not these.
    ByteEnableError,
}

impl Response {
    /// Whether it was done.
    ///
    /// ```
    /// use vp_core::tlm::Response;
    /// assert!(Response::Ok.is_ok() && !Response::Incomplete.is_ok());
    /// ```
    pub fn is_ok(self) -> bool {
        self == Response::Ok
    }
}

/// A read or write on its way (`tlm_generic_payload`).
///
/// Fill it, send it through a socket, check [`Payload::response`]. It can be used again and keeps its storage:
/// [`Payload::set_read`] and [`Payload::set_write`] allocate only when the data grows.
///
/// ```
/// use vp_core::tlm::{Command, Payload, Response};
/// let mut payload = Payload::write(0x100, &[1, 2, 3, 4]);
/// assert_eq!((payload.command, payload.response), (Command::Write, Response::Incomplete));
/// payload.set_read(0x200, 64);
/// assert_eq!((payload.address, payload.data.len()), (0x200, 64));
/// ```
#[derive(Debug, Default)]
pub struct Payload {
    /// What is to be done.
    pub command: Command,
    /// Byte address of the first byte, in the address space of the party that reads it. Routers rebase it in
    /// place, so an initiator sets it again for each transaction.
    pub address: u64,
    /// The bytes to write, or room for the bytes to read.
    pub data: Vec<u8>,
    /// One byte for each byte of data, 0xff to transfer it and 0x00 to leave it, repeated if shorter.
    /// `None` transfers all.
    pub byte_enable: Option<Vec<u8>>,
    /// Number of bytes after which the address starts over, as at the data register of a FIFO. If it never
    /// starts over, the length of the data, or more.
    pub streaming_width: usize,
    /// How it went.
    pub response: Response,
    /// Set by a target that would also grant direct access here, so that asking for it is worthwhile.
    pub direct_allowed: bool,
    extensions: Vec<Box<dyn Any>>,
}

impl Payload {
    /// A read of `len` bytes.
    ///
    /// ```
    /// use vp_core::tlm::Payload;
    /// let payload = Payload::read(0x40, 8);
    /// assert_eq!((payload.address, payload.data.len(), payload.streaming_width), (0x40, 8, 8));
    /// ```
    pub fn read(address: u64, len: usize) -> Payload {
        let mut payload = Payload::default();
        payload.set_read(address, len);
        payload
    }

    /// A write of `data`.
    ///
    /// ```
    /// use vp_core::tlm::Payload;
    /// assert_eq!(Payload::write(0x40, &[1, 2]).data, [1, 2]);
    /// ```
    pub fn write(address: u64, data: &[u8]) -> Payload {
        let mut payload = Payload::default();
        payload.set_write(address, data);
        payload
    }

    /// Makes it a read of `len` bytes, without byte enables, not yet answered.
    ///
    /// Old bytes stay until a target overwrites them. They are valid only if the response is [`Response::Ok`].
    ///
    /// ```
    /// use vp_core::tlm::Payload;
    /// let mut payload = Payload::write(0, &[1, 2]);
    /// payload.set_read(8, 3);
    /// assert_eq!((payload.is_read(), payload.data), (true, vec![1, 2, 0]));
    /// ```
    #[inline]
    pub fn set_read(&mut self, address: u64, len: usize) {
        self.data.resize(len, 0);
        self.set(Command::Read, address);
    }

    /// Makes it a write of `data`, without byte enables, not yet answered.
    ///
    /// ```
    /// use vp_core::tlm::{Payload, Response};
    /// let mut payload = Payload::read(0, 64);
    /// payload.set_write(8, &[1, 2]);
    /// assert_eq!((payload.is_write(), payload.data, payload.response), (true, vec![1, 2], Response::Incomplete));
    /// ```
    #[inline]
    pub fn set_write(&mut self, address: u64, data: &[u8]) {
        self.data.clear();
        self.data.extend_from_slice(data);
        self.set(Command::Write, address);
    }

    #[inline]
    fn set(&mut self, command: Command, address: u64) {
        self.command = command;
        self.address = address;
        self.byte_enable = None;
        self.streaming_width = self.data.len();
        self.response = Response::Incomplete;
        self.direct_allowed = false;
    }

    /// Resets it to a new payload, but keeps its storage.
    ///
    /// ```
    /// use vp_core::tlm::{Command, Payload};
    /// let mut payload = Payload::write(8, &[1; 64]);
    /// payload.reset();
    /// assert_eq!((payload.command, payload.data.len()), (Command::Ignore, 0));
    /// assert!(payload.data.capacity() >= 64);
    /// ```
    pub fn reset(&mut self) {
        self.data.clear();
        self.set(Command::Ignore, 0);
        self.drop_extensions();
    }

    #[inline]
    pub(super) fn drop_extensions(&mut self) {
        if !self.extensions.is_empty() {
            self.extensions.clear();
        }
    }

    /// Whether it reads.
    ///
    /// ```
    /// assert!(vp_core::tlm::Payload::read(0, 1).is_read());
    /// ```
    pub fn is_read(&self) -> bool {
        self.command == Command::Read
    }

    /// Whether it writes.
    ///
    /// ```
    /// assert!(!vp_core::tlm::Payload::read(0, 1).is_write());
    /// ```
    pub fn is_write(&self) -> bool {
        self.command == Command::Write
    }

    /// Whether the byte at `index` of the data is to be transferred.
    ///
    /// ```
    /// use vp_core::tlm::Payload;
    /// let mut payload = Payload::read(0, 4);
    /// payload.byte_enable = Some(vec![0xff, 0x00]);
    /// assert_eq!([0, 1, 2, 3].map(|index| payload.is_enabled(index)), [true, false, true, false]);
    /// ```
    pub fn is_enabled(&self, index: usize) -> bool {
        match self.byte_enable.as_deref() {
            None => true,
            Some([]) => false,
            Some(enable) => enable[index % enable.len()] != 0,
        }
    }

    /// The number of bytes of the target's address space that the access touches.
    ///
    /// ```
    /// use vp_core::tlm::Payload;
    /// let mut payload = Payload::read(0, 64);
    /// payload.streaming_width = 4; // a FIFO's data register
    /// assert_eq!(payload.span(), 4);
    /// ```
    pub fn span(&self) -> u64 {
        self.data.len().min(self.streaming_width) as u64
    }

    /// Carries out the access on a memory whose first byte has address 0, and sets the response: all that a
    /// plain memory does, with byte enables and streaming. Returns the response as well.
    ///
    /// ```
    /// use vp_core::tlm::{Payload, Response, Storage};
    /// let memory = Storage::new(16);
    /// let mut payload = Payload::write(4, &[1, 2, 3, 4]);
    /// payload.byte_enable = Some(vec![0xff, 0x00]);
    /// assert_eq!(payload.access(&memory), Response::Ok);
    /// assert_eq!([4, 5, 6, 7].map(|at| memory[at].get()), [1, 0, 3, 0]);
    /// assert_eq!(Payload::read(14, 4).access(&memory), Response::AddressError);
    /// ```
    #[inline(always)]
    pub fn access(&mut self, memory: &(impl DirectMemory + ?Sized)) -> Response {
        let whole = self.byte_enable.is_none() && self.streaming_width >= self.data.len();
        let done = match self.command {
            Command::Read if whole => memory.read(self.address, &mut self.data),
            Command::Write if whole => memory.write(self.address, &self.data),
            _ => {
                self.response = self.access_in_parts(memory);
                return self.response;
            }
        };
        self.response = match done {
            Ok(()) => Response::Ok,
            Err(DirectError::Full { .. }) => Response::GenericError,
            Err(_) => Response::AddressError,
        };
        self.response
    }

    /// Byte enables and streaming: each run of enabled bytes by itself.
    #[cold]
    fn access_in_parts(&mut self, memory: &(impl DirectMemory + ?Sized)) -> Response {
        if self.command == Command::Ignore || self.data.is_empty() {
            return Response::Ok;
        }
        if self.streaming_width == 0 {
            return Response::BurstError;
        }
        if self.byte_enable.as_ref().is_some_and(Vec::is_empty) {
            return Response::ByteEnableError;
        }
        // All or nothing: an access that does not fit transfers no byte, enabled or not.
        if self.address.checked_add(self.span()).is_none_or(|end| end > memory.size()) {
            return Response::AddressError;
        }
        let mut from = 0;
        while from < self.data.len() {
            let beat_end = ((from / self.streaming_width + 1) * self.streaming_width).min(self.data.len());
            let enabled = self.is_enabled(from);
            let to = (from + 1..beat_end).find(|&at| self.is_enabled(at) != enabled).unwrap_or(beat_end);
            if enabled {
                let offset = self.address + (from % self.streaming_width) as u64;
                let done = match self.command {
                    Command::Read => memory.read(offset, &mut self.data[from..to]),
                    _ => memory.write(offset, &self.data[from..to]),
                };
                if done.is_err() {
                    return Response::AddressError;
                }
            }
            from = to;
        }
        Response::Ok
    }

    /// Attaches what a protocol adds (an AXI identifier, say), in place of an earlier one of the same type.
    ///
    /// ```
    /// use vp_core::tlm::Payload;
    /// #[derive(Debug, PartialEq)]
    /// struct AxiId(u8);
    /// let mut payload = Payload::read(0, 4);
    /// payload.set_extension(AxiId(3));
    /// assert_eq!(payload.extension::<AxiId>(), Some(&AxiId(3)));
    /// ```
    pub fn set_extension<T: 'static>(&mut self, extension: T) {
        match self.extension_mut::<T>() {
            Some(place) => *place = extension,
            None => self.extensions.push(Box::new(extension)),
        }
    }

    /// The extension of a type.
    ///
    /// ```
    /// assert_eq!(vp_core::tlm::Payload::read(0, 4).extension::<u8>(), None);
    /// ```
    pub fn extension<T: 'static>(&self) -> Option<&T> {
        self.extensions.iter().find_map(|extension| extension.downcast_ref())
    }

    /// The extension of a type, to change.
    ///
    /// ```
    /// use vp_core::tlm::Payload;
    /// let mut payload = Payload::read(0, 4);
    /// payload.set_extension(3u8);
    /// *payload.extension_mut().expect("it was set") = 4u8;
    /// assert_eq!(payload.extension(), Some(&4u8));
    /// ```
    pub fn extension_mut<T: 'static>(&mut self) -> Option<&mut T> {
        self.extensions.iter_mut().find_map(|extension| extension.downcast_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    fn memory(bytes: &[u8]) -> Box<[Cell<u8>]> {
        bytes.iter().copied().map(Cell::new).collect()
    }

    fn bytes(memory: &[Cell<u8>]) -> Vec<u8> {
        memory.iter().map(Cell::get).collect()
    }

    #[test]
    fn streaming_sends_every_beat_to_the_same_address() {
        let memory = memory(&[0; 8]);
        let mut payload = Payload::write(4, &[1, 2, 3, 4, 5]);
        payload.streaming_width = 2;
        assert_eq!(payload.access(&memory), Response::Ok);
        assert_eq!(bytes(&memory), [0, 0, 0, 0, 5, 4, 0, 0]);
    }

    #[test]
    fn what_cannot_be_done_is_answered_and_changes_nothing() {
        let memory = memory(&[7; 8]);
        let mut payload = Payload::write(6, &[1, 2, 3]);
        assert_eq!(payload.access(&memory), Response::AddressError);
        payload.byte_enable = Some(vec![0xff, 0xff, 0]);
        assert_eq!(payload.access(&memory), Response::AddressError);
        payload.byte_enable = Some(Vec::new());
        assert_eq!(payload.access(&memory), Response::ByteEnableError);
        payload.streaming_width = 0;
        assert_eq!(payload.access(&memory), Response::BurstError);
        assert_eq!(Payload::read(u64::MAX, 2).access(&memory), Response::AddressError);
        assert_eq!(bytes(&memory), [7; 8]);
    }

    proptest! {
        /// The obvious reference: byte after byte.
        #[test]
        fn byte_enables_and_streaming_equal_the_byte_by_byte_reference(
            write in any::<bool>(),
            address in 0u64..24,
            data in prop::collection::vec(any::<u8>(), 0..24),
            enable in prop::option::of(prop::collection::vec(prop_oneof![Just(0u8), Just(0xff)], 1..9)),
            width in 1usize..32,
        ) {
            let before: Vec<u8> = (100..132).collect();
            let memory = memory(&before);
            let mut payload = Payload::write(address, &data);
            if !write { payload.command = Command::Read; }
            payload.byte_enable = enable;
            payload.streaming_width = width;
            let (mut expected_memory, mut expected_data) = (before.clone(), data.clone());
            let fits = address + payload.span() <= 32;
            if fits {
                for index in 0..data.len() {
                    let at = address as usize + index % width;
                    if payload.is_enabled(index) {
                        if write { expected_memory[at] = data[index] } else { expected_data[index] = before[at] }
                    }
                }
            }
            let response = payload.access(&memory);
            prop_assert_eq!(response, if fits { Response::Ok } else { Response::AddressError });
            prop_assert_eq!(bytes(&memory), expected_memory);
            prop_assert_eq!(payload.data, expected_data);
        }
    }
}
