//! Accesses of the client to registers.

use bytes::Bytes;
use vp_hub::{Access, Completion, Failure, Operation, PartyCommand};
use vp_protocols::vfio_user::{Errno, Reply, Token};

use super::{Purpose, REGISTERS, VfioUser};

/// Bytes of one access to registers. A CPU's have 8 at most.
const MOST_REGISTER_BYTES: usize = 4096;

/// An access of the client to registers.
pub(super) struct RegisterAccess {
    pub(super) token: Token,
    pub(super) offset: u64,
    /// Bytes before the first one that was asked for, in its word.
    pub(super) skipped: usize,
    pub(super) count: usize,
    pub(super) is_read: bool,
    pub(super) data: Vec<u8>,
    /// Words that are not done, and that are.
    pub(super) words: usize,
    pub(super) done: usize,
    pub(super) failure: Option<Failure>,
}

impl VfioUser {
    /// Begins an access to registers: as many accesses of the platform as it has words.
    pub(super) fn access_registers(
        &mut self,
        token: Token,
        offset: u64,
        count: usize,
        written: Option<&[u8]>,
    ) {
        let is_whole = written.is_none() || offset.is_multiple_of(4) && count.is_multiple_of(4);
        let end = offset.checked_add(count as u64).filter(|end| *end <= self.function.window());
        if count == 0 || count > MOST_REGISTER_BYTES || !is_whole || end.is_none() {
            return self.connection.fail(token, Errno::EINVAL);
        }
        if !self.migration.is_running() {
            return self.connection.fail(token, Errno::EBUSY);
        }
        let skipped = (offset % 4) as usize;
        let words = (skipped + count).div_ceil(4);
        let access = RegisterAccess {
            token,
            offset,
            skipped,
            count,
            is_read: written.is_none(),
            data: vec![0; if written.is_none() { 4 * words } else { 0 }],
            words,
            done: 0,
            failure: None,
        };
        let number = self.next_access;
        self.next_access += 1;
        self.registers_under_way.insert(number, access);
        self.words += words;
        let (port, base) = self.registers;
        for word in 0..words {
            let address = base + offset - skipped as u64 + 4 * word as u64;
            let operation = match written.and_then(|data| data[4 * word..].first_chunk::<4>()) {
                Some(value) => Operation::RegisterWrite { address, value: u32::from_le_bytes(*value) },
                None => Operation::RegisterRead { address },
            };
            let access = Access { port, at: None, operation };
            self.hub.command(PartyCommand::Access(access), Purpose::Word(number));
        }
    }

    pub(super) fn word_done(&mut self, number: u64, result: Result<Completion, Failure>) {
        let Some(access) = self.registers_under_way.get_mut(&number) else { return };
        match result {
            Ok(Completion::Value(value)) => {
                // The hub does a party's accesses in their order.
                if let Some(place) = access.data.get_mut(4 * access.done..4 * access.done + 4) {
                    place.copy_from_slice(&value.to_le_bytes());
                }
            }
            Ok(_) => {}
            Err(failure) => access.failure = Some(failure),
        }
        access.done += 1;
        self.words -= 1;
        if access.done < access.words {
            return;
        }
        let Some(access) = self.registers_under_way.remove(&number) else { return };
        let RegisterAccess { token, offset, skipped, count, is_read, mut data, failure, .. } = access;
        if failure.is_some() {
            return self.connection.fail(token, Errno::EIO);
        }
        if is_read {
            data.truncate(skipped + count);
            let data = Bytes::from(data).slice(skipped..);
            return self.connection.reply(token, &Reply::Data { region: REGISTERS, offset, data });
        }
        let due = self.interrupts.written();
        self.ring(due);
        self.connection.reply(token, &Reply::Written { region: REGISTERS, offset, count: count as u32 });
    }
}
