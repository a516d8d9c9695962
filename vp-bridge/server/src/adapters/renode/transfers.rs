//! Bursts of the platform as accesses to Renode's bus: one at a time, of 1, 2, 4 or 8 bytes, each at a multiple of its width.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use vp_hub::{MemoryAccess, RequestId};
use vp_protocols::renode::Width;

/// The next access to Renode's bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transfer {
    pub(super) width: Width,
    pub(super) address: u64,
    /// Value that is written there; none for a read.
    pub(super) written: Option<u64>,
}

/// The platform's requests that Renode's bus has not answered.
#[derive(Debug, Default)]
pub(super) struct Transfers(VecDeque<Burst>);

/// One request of the platform.
#[derive(Debug)]
struct Burst {
    request: RequestId,
    address: u64,
    /// Data that is written, or has been read.
    data: BytesMut,
    is_write: bool,
    /// Strobes of the bytes that are written, as the hub has them; `None`: all.
    strobes: Option<Bytes>,
    /// Number of bytes that are done.
    done: usize,
}

impl Burst {
    fn is_strobed(&self, byte: usize) -> bool {
        let Some(strobes) = &self.strobes else { return true };
        strobes.get(byte / 8).is_some_and(|bits| bits >> (byte % 8) & 1 == 1)
    }

    fn skip_bytes_that_stay(&mut self) {
        while self.done < self.data.len() && !self.is_strobed(self.done) {
            self.done += 1;
        }
    }

    /// The widest transfer that begins where the burst is.
    fn transfer(&self) -> Option<Transfer> {
        let address = self.address.wrapping_add(self.done as u64);
        let fits = |width: &Width| {
            let bytes = width.bytes() as usize;
            address.is_multiple_of(bytes as u64)
                && self.done + bytes <= self.data.len()
                && (self.done..self.done + bytes).all(|byte| self.is_strobed(byte))
        };
        let width = Width::ALL.into_iter().rev().find(fits)?;
        let bytes = &self.data[self.done..self.done + width.bytes() as usize];
        let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
        Some(Transfer { width, address, written: self.is_write.then_some(value) })
    }
}

impl Transfers {
    /// Takes a request of the platform in.
    pub(super) fn push(&mut self, request: RequestId, access: MemoryAccess) {
        let MemoryAccess { address, length, write, .. } = access;
        let is_write = write.is_some();
        let (data, strobes) = match write {
            Some((data, strobes)) => (BytesMut::from(data), strobes),
            None => (BytesMut::zeroed(length as usize), None),
        };
        let mut burst = Burst { request, address, data, is_write, strobes, done: 0 };
        burst.skip_bytes_that_stay();
        self.0.push_back(burst);
    }

    /// Returns the next access to be done on the bus.
    pub(super) fn next(&self) -> Option<Transfer> {
        self.0.front()?.transfer()
    }

    /// The transfer that is next has been done; of a read, with that value.
    pub(super) fn done(&mut self, value: u64) {
        let Some(burst) = self.0.front_mut() else { return };
        let Some(Transfer { width, written, .. }) = burst.transfer() else { return };
        let bytes = width.bytes() as usize;
        if written.is_none() {
            burst.data[burst.done..burst.done + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
        burst.done += bytes;
        burst.skip_bytes_that_stay();
    }

    /// The oldest request, if all of it is done: it is taken out, with what was read.
    pub(super) fn take_finished(&mut self) -> Option<(RequestId, Bytes)> {
        self.0.front().filter(|burst| burst.done == burst.data.len())?;
        let burst = self.0.pop_front()?;
        let read = if burst.is_write { Bytes::new() } else { burst.data.freeze() };
        Some((burst.request, read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use vp_hub::AccessKind;

    fn access(address: u64, length: u32, write: Option<(Bytes, Option<Bytes>)>) -> MemoryAccess {
        MemoryAccess { address, length, write, kind: AccessKind::Timed, axi_id: 0, at: None }
    }

    #[test]
    fn a_transfer_is_as_wide_as_its_address_length_and_strobes_allow() {
        let mut transfers = Transfers::default();
        transfers.push(RequestId(1), access(0x1003, 14, None));
        let mut widths = Vec::new();
        while let Some(Transfer { width, .. }) = transfers.next() {
            widths.push(width.bytes());
            transfers.done(0);
        }
        assert_eq!(widths, [1, 4, 8, 1]);
    }

    proptest! {
        /// As a memory byte by byte has it.
        #[test]
        fn transfers_leave_and_give_the_bytes_of_the_burst(
            address in 0x100_u64..0x140,
            data in prop::collection::vec(any::<u8>(), 0..80),
            strobes in prop::option::of(prop::collection::vec(any::<u8>(), 10)),
            is_write in any::<bool>(),
        ) {
            let mut memory: Vec<u8> = (0..0x200_u32).map(|byte| (byte * 7) as u8).collect();
            let mut expected = memory.clone();
            let (at, length) = (address as usize, data.len());
            let is_written = |byte: usize| strobes.as_ref().is_none_or(|bits| bits[byte / 8] >> (byte % 8) & 1 == 1);
            if is_write {
                for (byte, value) in data.iter().enumerate().filter(|(byte, _)| is_written(*byte)) {
                    expected[at + byte] = *value;
                }
            }
            let write = is_write.then(|| (data.clone().into(), strobes.clone().map(Bytes::from)));
            let mut transfers = Transfers::default();
            transfers.push(RequestId(9), access(address, length as u32, write));
            while let Some(Transfer { width, address, written }) = transfers.next() {
                let bytes = width.bytes() as usize;
                prop_assert!(address.is_multiple_of(bytes as u64));
                let place = &mut memory[address as usize..address as usize + bytes];
                let mut value = [0; 8];
                value[..bytes].copy_from_slice(place);
                if let Some(written) = written {
                    place.copy_from_slice(&written.to_le_bytes()[..bytes]);
                }
                transfers.done(u64::from_le_bytes(value));
            }
            let (request, read) = transfers.take_finished().unwrap();
            prop_assert_eq!(request, RequestId(9));
            prop_assert_eq!(&memory, &expected);
            prop_assert_eq!(&read[..], if is_write { &[] } else { &expected[at..at + length] });
        }
    }
}
