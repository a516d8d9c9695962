//! The descriptor queue: requests that wait for the engine.

use crate::checkpoint::{Checkpoint, CheckpointError};
use std::collections::VecDeque;

use thiserror::Error;

use super::architecture::Architecture;
use super::registers::DIAGNOSTICS as bit;

/// A request: what a job is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Address of its configuration, with its filters behind.
    pub config_base: u32,
    /// Words of its configuration.
    pub config_words: u64,
    /// Address of its input, with its output behind.
    pub io_base: u32,
    /// Address for features that the IP has no room for.
    pub intermediate_base: u32,
}

/// Reason for which a request is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// An address that is no memory word's.
    #[error("CSR.{register} = {address:#x} is no multiple of {word} bytes")]
    Alignment {
        /// The register.
        register: &'static str,
        /// Address that the register holds.
        address: u32,
        /// Bytes of a memory word.
        word: u32,
    },
    /// No place is left.
    #[error("CSR.IO_BASE: the queue of {depth} descriptors is full, the request is lost")]
    Overflow {
        /// Number of descriptors that the queue holds.
        depth: u32,
    },
    /// An unlicensed IP has done what it does.
    #[error("CSR.IO_BASE: the IP is not licensed and has taken {limit} requests: it takes no more")]
    Limit {
        /// Number of requests that the IP takes.
        limit: u64,
    },
}

impl Refusal {
    /// Returns what requests that are refused alike have in common.
    pub(super) fn cause(&self) -> &'static str {
        match self {
            Refusal::Alignment { register, .. } => register,
            Refusal::Overflow { .. } => "queue full",
            Refusal::Limit { .. } => "not licensed",
        }
    }
}

/// The queue, and how many requests an unlicensed IP has taken.
#[derive(Clone, Debug)]
pub struct Queue {
    depth: u32,
    almost_full: u32,
    word: u32,
    limit: Option<u64>,
    /// Since power-on: a reset of the IP does not make more of them.
    taken: u64,
    overflow: bool,
    waiting: VecDeque<Descriptor>,
}

impl Queue {
    /// An empty queue.
    pub fn new(architecture: &Architecture) -> Queue {
        Queue {
            depth: architecture.queue_depth,
            almost_full: architecture.almost_full,
            word: architecture.memory_word,
            limit: (!architecture.licensed).then_some(architecture.inference_limit),
            taken: 0,
            overflow: false,
            waiting: VecDeque::new(),
        }
    }

    /// Puts a request behind the others.
    ///
    /// # Errors
    /// Why it is not taken; the queue remembers an overflow.
    pub fn push(&mut self, descriptor: Descriptor) -> Result<(), Refusal> {
        let Descriptor { config_base, io_base, intermediate_base, .. } = descriptor;
        let bases =
            [("CONFIG_BASE", config_base), ("IO_BASE", io_base), ("INTERMEDIATE_BASE", intermediate_base)];
        for (register, address) in bases {
            if !address.is_multiple_of(self.word) {
                return Err(Refusal::Alignment { register, address, word: self.word });
            }
        }
        if let Some(limit) = self.limit
            && self.taken >= limit
        {
            return Err(Refusal::Limit { limit });
        }
        if self.waiting.len() >= self.depth as usize {
            self.overflow = true;
            return Err(Refusal::Overflow { depth: self.depth });
        }
        self.taken += 1;
        self.waiting.push_back(descriptor);
        Ok(())
    }

    /// The next request.
    pub fn pop(&mut self) -> Option<Descriptor> {
        self.waiting.pop_front()
    }

    /// Requests that wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns true if no request waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Requests taken since power-on.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the value of the diagnostics register.
    pub fn diagnostics(&self) -> u32 {
        let is_almost_full = self.waiting.len() + self.almost_full as usize >= self.depth as usize;
        let is_at_limit = self.limit.is_some_and(|limit| self.taken >= limit);
        let bits =
            [(bit::OVERFLOW, self.overflow), (bit::ALMOST_FULL, is_almost_full), (bit::LIMIT, is_at_limit)];
        bits.iter().fold(0, |word, (field, is)| field.only_bits().insert(word, u32::from(*is)))
    }

    /// The IP is reset: nothing waits any more.
    pub fn reset(&mut self) {
        self.waiting.clear();
        self.overflow = false;
    }
}

impl Queue {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Queue { depth: _, almost_full: _, word: _, limit: _, taken, overflow, waiting } = self;
        at.at_rest(waiting.is_empty(), "descriptors wait")?;
        at.value(taken)?;
        at.value(overflow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Descriptor =
        Descriptor { config_base: 0x8000_0000, config_words: 9, io_base: 0x8001_0000, intermediate_base: 0 };

    fn queue(change: impl FnOnce(&mut Architecture)) -> Queue {
        let mut architecture = Architecture { queue_depth: 3, ..Architecture::default() };
        change(&mut architecture);
        Queue::new(&architecture)
    }

    #[test]
    fn an_overflow_is_remembered_until_reset() {
        let mut queue = queue(|_| {});
        let shown: Vec<u32> = (0..4)
            .map(|_| {
                _ = queue.push(ONE);
                queue.diagnostics()
            })
            .collect();
        assert_eq!(shown, [0, 0b10, 0b10, 0b11], "almost full with one place left");
        assert_eq!(queue.push(ONE), Err(Refusal::Overflow { depth: 3 }));
        assert_eq!((queue.pop(), queue.pop(), queue.diagnostics()), (Some(ONE), Some(ONE), 1));
        queue.reset();
        assert_eq!((queue.diagnostics(), queue.pop()), (0, None));
    }

    #[test]
    fn an_unlicensed_ip_takes_no_more_than_its_limit_whatever_is_reset() {
        let mut queue = queue(|it| (it.licensed, it.inference_limit) = (false, 2));
        assert_eq!((queue.push(ONE), queue.diagnostics()), (Ok(()), 0));
        assert_eq!((queue.push(ONE), queue.diagnostics()), (Ok(()), 0b110));
        queue.reset();
        assert_eq!((queue.push(ONE), queue.diagnostics()), (Err(Refusal::Limit { limit: 2 }), 0b100));
    }

    #[test]
    fn addresses_are_those_of_memory_words() {
        let mut queue = queue(|it| it.memory_word = 64);
        let wrong = [
            Descriptor { config_base: 0x8000_0020, ..ONE },
            Descriptor { io_base: 4, ..ONE },
            Descriptor { intermediate_base: 63, ..ONE },
        ];
        let refusals = wrong.map(|descriptor| queue.push(descriptor).unwrap_err().to_string());
        assert_eq!(refusals[0], "CSR.CONFIG_BASE = 0x80000020 is no multiple of 64 bytes");
        assert!(refusals[1].contains("IO_BASE") && refusals[2].contains("INTERMEDIATE_BASE"));
        assert!(queue.is_empty() && queue.taken() == 0);
    }
}
