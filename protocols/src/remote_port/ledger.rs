//! Requests of ours that wait for a response, and what the response must be.

use std::collections::BTreeMap;

use super::{Access, Command, MAX_IN_FLIGHT, Malformed, Rule, Transaction};

/// Parts of a request that are needed to judge its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Expected {
    command: Command,
    /// Fields of an access that its response repeats.
    echo: Option<Echo>,
}

/// Fields that the response to an access repeats. The basic layout and known peers carry 16 bits of the master id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Echo {
    address: u64,
    length: u32,
    stream_width: u32,
    master: u16,
}

impl From<&Access> for Echo {
    fn from(access: &Access) -> Self {
        Self {
            address: access.address,
            length: access.length,
            stream_width: access.stream_width,
            master: access.master as u16,
        }
    }
}

impl Expected {
    pub(super) fn of(transaction: &Transaction) -> Self {
        let echo = match transaction {
            Transaction::Read(access) | Transaction::Write(access) => Some(access.into()),
            _ => None,
        };
        Self { command: transaction.command(), echo }
    }
}

/// The requests that wait, by channel and id.
#[derive(Debug, Default)]
pub(super) struct Ledger(BTreeMap<(u32, u32), Expected>);

impl Ledger {
    pub(super) fn in_flight(&self) -> usize {
        self.0.len()
    }

    pub(super) fn has_room(&self, channel: u32) -> bool {
        self.0.range((channel, 0)..=(channel, u32::MAX)).count() < MAX_IN_FLIGHT
    }

    pub(super) fn contains(&self, channel: u32, id: u32) -> bool {
        self.0.contains_key(&(channel, id))
    }

    pub(super) fn open(&mut self, channel: u32, id: u32, expected: Expected) {
        self.0.insert((channel, id), expected);
    }

    /// Judges a response. If it is right, its request waits no more.
    pub(super) fn close(&mut self, channel: u32, id: u32, response: &Transaction) -> Result<(), Malformed> {
        let Some(expected) = self.0.get(&(channel, id)) else {
            return Err(Malformed::new(Rule::UnexpectedResponse, id));
        };
        let found = Expected::of(response);
        if found.command != expected.command {
            return Err(Malformed::new(Rule::ResponseCommand, found.command as u32));
        }
        if let (Some(expected), Some(found)) = (expected.echo, found.echo)
            && expected != found
        {
            let differs = if expected.address != found.address {
                found.address
            } else if expected.length != found.length {
                found.length.into()
            } else if expected.stream_width != found.stream_width {
                found.stream_width.into()
            } else {
                found.master.into()
            };
            return Err(Malformed::new(Rule::ResponseEcho, differs));
        }
        self.0.remove(&(channel, id));
        Ok(())
    }
}
