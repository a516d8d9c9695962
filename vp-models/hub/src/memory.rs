//! Accesses of parties to memories and streams, at their turn.

use std::ops::Range;

use bytes::Bytes;

use super::Hub;
use super::access::{Access, Operation};
use super::ids::Tag;
use super::output::{Completion, Failure, FailureKind, MemoryAccess};
use super::outside::{AnswerReceiver, Requests};
use vp_models::memory::{OutOfRange, WriteError};
use vp_types::{AccessKind, PartyId};

impl Hub {
    /// Carries out an access to memory or a stream now.
    pub(super) fn access_memory(&mut self, party: PartyId, tag: Option<Tag>, access: Access) {
        match self.try_access_memory(party, tag, access) {
            Ok(Some(completion)) => {
                if let Some(tag) = tag {
                    self.complete(party, tag, Ok(completion));
                }
            }
            Ok(None) => {}
            Err(failure) => self.fail(party, tag, failure),
        }
    }

    /// `None`: the access was passed on, and is completed later.
    fn try_access_memory(
        &mut self,
        party: PartyId,
        tag: Option<Tag>,
        access: Access,
    ) -> Result<Option<Completion>, Failure> {
        let Access { port, operation, .. } = access;
        if let Operation::StreamSend { data, .. } = &operation {
            let Some(stream) = self.stream(port) else {
                return Err(Failure::new(FailureKind::NoSuchPort, "no such stream"));
            };
            return match stream.send(data) {
                Ok(()) => Ok(Some(Completion::Done)),
                Err(error) => Err(Failure::new(FailureKind::NotAccepted, error.to_string())),
            };
        }
        let (address, length) = match &operation {
            Operation::MemoryRead { address, length, .. } => (*address, *length),
            Operation::MemoryWrite { address, data, .. } => {
                (*address, u32::try_from(data.len()).unwrap_or(u32::MAX))
            }
            _ => return Err(Failure::new(FailureKind::Internal, "a register access is none to memory")),
        };
        if let Some(owner) = self.owner(port, address, length)? {
            let Some(tag) = tag else {
                let reason = format!(
                    "{} owns that memory, and only requests are passed on: write with a request",
                    self.parties.name(owner)
                );
                return Err(Failure::new(FailureKind::Unsupported, reason));
            };
            let write = match operation {
                Operation::MemoryWrite { data, strobes, .. } => Some((data, strobes)),
                _ => None,
            };
            let waits = AnswerReceiver::Party(party, tag, write.is_none());
            let access =
                MemoryAccess { address, length, write, kind: AccessKind::Debug, axi_id: 0, at: None };
            self.requests.borrow_mut().ask((owner, port), None, waits, access);
            return Ok(None);
        }
        let Some(memory) = self.memory(port) else {
            return Err(Failure::new(FailureKind::NoSuchPort, "no such memory"));
        };
        match &operation {
            Operation::MemoryWrite { data, strobes, .. } => {
                let data = match strobes {
                    None => data.clone(),
                    Some(strobes) => {
                        // As a whole, lest a part of it be refused.
                        let mut bytes = memory.peeked(address, data.len())?;
                        for run in strobed_runs(strobes, data.len()) {
                            bytes[run.clone()].copy_from_slice(&data[run]);
                        }
                        Bytes::from(bytes)
                    }
                };
                memory.poke(address, &data)?;
                self.log.loaded(memory.name(), address, &data);
                Ok(Some(Completion::Done))
            }
            _ => {
                let data = memory.peeked(address, length as usize)?;
                Ok(Some(Completion::Data(Bytes::from(data))))
            }
        }
    }

    /// The owner of a port's memory answers no more; says how many bursts failed.
    pub(super) fn abandon(&mut self, owner: PartyId, port: super::PortId, why: &str) -> usize {
        let (news, bursts) = Requests::abandon(&self.requests, owner, port, why);
        news.into_iter().for_each(|news| self.deliver(news));
        bursts
    }
}

impl From<OutOfRange> for Failure {
    fn from(error: OutOfRange) -> Failure {
        Failure::new(FailureKind::BadRange, error.to_string())
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Failure {
        match error {
            WriteError::OutOfRange(error) => error.into(),
            WriteError::OutOfMemory { .. } => Failure::new(FailureKind::OutOfMemory, error.to_string()),
        }
    }
}

/// The runs of bytes that strobes select: byte *i* by bit *i* mod 8 of strobe byte ⌊*i*/8⌋.
fn strobed_runs(strobes: &[u8], length: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let is_set =
        move |at: usize| at < length && strobes.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = (at..length).find(|&at| is_set(at))?;
        let end = (start..length).find(|&at| !is_set(at)).unwrap_or(length);
        at = end;
        Some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use super::strobed_runs;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_cover_exactly_the_bytes_whose_strobe_is_set(
            strobes in proptest::collection::vec(any::<u8>(), 0..6), short in 0usize..8,
        ) {
            let length = (strobes.len() * 8).saturating_sub(short);
            let mut covered = vec![false; length];
            for run in strobed_runs(&strobes, length) {
                prop_assert!(!run.is_empty());
                covered[run].fill(true);
            }
            for (at, covered) in covered.into_iter().enumerate() {
                prop_assert_eq!(covered, strobes[at / 8] >> (at % 8) & 1 == 1);
            }
        }
    }
}
