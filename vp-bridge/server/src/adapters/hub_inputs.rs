//! Inputs of an adapter for its hub, in their order.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use vp_hub::{Failure, Input, PartyCommand, PartyId, RequestId, Tag};

/// Inputs on their way to the hub, and commands that it has not completed, each with its purpose.
pub(super) struct HubInputs<P> {
    pub(super) party: PartyId,
    inputs: VecDeque<Input>,
    next_tag: u64,
    pub(super) commands: BTreeMap<Tag, P>,
}

impl<P> HubInputs<P> {
    pub(super) fn new() -> HubInputs<P> {
        HubInputs { party: PartyId(0), inputs: VecDeque::new(), next_tag: 0, commands: BTreeMap::new() }
    }

    /// Tag of the next command.
    pub(super) fn next_tag(&self) -> Tag {
        Tag(self.next_tag)
    }

    pub(super) fn command(&mut self, command: PartyCommand, purpose: P) {
        let tag = self.next_tag();
        self.next_tag += 1;
        self.commands.insert(tag, purpose);
        self.push(Input::Command { party: self.party, tag, command });
    }

    /// Answers a request of the platform to a memory of the peer.
    pub(super) fn answer(&mut self, request: RequestId, result: Result<Bytes, Failure>) {
        self.push(Input::Answer { party: self.party, request, result });
    }

    pub(super) fn push(&mut self, input: Input) {
        self.inputs.push_back(input);
    }

    pub(super) fn next(&mut self) -> Option<Input> {
        self.inputs.pop_front()
    }
}
