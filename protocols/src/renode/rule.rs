//! The rules of the protocol, and the messages about a peer that broke one.

use std::fmt;

use thiserror::Error;

use super::{Action, MAX_LOG, MESSAGE, Socket};
use crate::rule_table::rule_table;

const ACTIONS: &str = "Renode, CoSimulationPlugin/IntegrationLibrary/src/renode_action_enumerators.txt";
const RENODE: &str = "Renode, CoSimulationPlugin/Connection/CoSimulationConnection.cs";
const SOCKETS: &str = "Renode, CoSimulationPlugin/Connection/SocketCoSimulationConnection.cs";
const BUS: &str = "Renode, CoSimulationPlugin/IntegrationLibrary/src/renode_bus.cpp";
const OURS: &str = "a bound of this implementation";

rule_table! {
    /// A rule. Rules up to RN-13 are about messages, and [`Connection`](super::Connection) and
    /// [`Emulator`](super::Emulator) check them. For the others no single message shows that a rule is broken:
    /// a check of a peer does.
    UnknownAction: "RN-01", "an action is one of 0 to 31, or 100", ACTIONS;
    NotForPeripheral: "RN-02", "Renode asks a peripheral that is no CPU for ticks, reads, writes, inputs, reset and end", BUS;
    Handshake: "RN-03", "the first message of each side on the main socket is a handshake, and no other is", SOCKETS;
    SilentAsync: "RN-04", "Renode sends nothing on the async socket", SOCKETS;
    OneRequest: "RN-05", "Renode asks again on the main socket when it has its answer", RENODE;
    OneTick: "RN-06", "Renode ticks again when the last tick is done", RENODE;
    UnexpectedAnswer: "RN-07", "an answer follows a request", RENODE;
    WrongAnswer: "RN-08", "a get is answered by 2, a push by 31, a read by 3 or 8, a write and an input by 9 or 8", RENODE;
    MainAnswersOnly: "RN-09", "on the main socket a peripheral only answers", RENODE;
    NotForRenode: "RN-10", "a peripheral that is no CPU sends interrupts, gets, pushes, ends of ticks, logs and errors on the async socket", RENODE;
    OneBusAccess: "RN-11", "a peripheral gets or pushes again when it has its answer", BUS;
    TickUnasked: "RN-12", "the end of a tick follows a tick", RENODE;
    LogTooLong: "RN-13", "the text of a log message has at most 1 048 576 bytes", OURS;
    Answered: "RN-14", "a peripheral answers every request but a reset, within Renode's timeout", RENODE;
    OneSend: "RN-15", "a message is sent by one call: Renode takes what one receive gives", SOCKETS;
    LevelsChange: "RN-16", "a level of an interrupt line is told when it changes", BUS;
    BothSockets: "RN-17", "a peripheral connects to main, then to async", SOCKETS;
}

impl Rule {
    /// The rules that one message can break: the codec checks them.
    pub const OF_MESSAGES: &'static [Self] = Self::ALL.split_at(13).0;
}

/// The longest text of a log message that is taken, in bytes.
pub(super) const MAX_LOG_TAKEN: u64 = 1 << 20;
const _: () = assert!(MAX_LOG as u64 <= MAX_LOG_TAKEN);

/// A rule that the peer broke, and the message that did. The session is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// Socket on which the message came.
    pub socket: Socket,
    /// The message's place in the stream of that socket, from 1.
    pub message: u64,
    /// The message; on a socket that should be silent, its first bytes, then zeros.
    pub bytes: [u8; MESSAGE],
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, socket, message, bytes } = self;
        let [a, b, c, d, ..] = *bytes;
        let action = i32::from_le_bytes([a, b, c, d]);
        let name = Action::new(action).map_or("unknown", Action::name);
        write!(f, "{rule}; message {message} on {socket}, action {action} ({name}):")?;
        bytes.chunks(4).try_for_each(|word| {
            f.write_str(" ")?;
            word.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
        })
    }
}

/// The message cannot be sent. Nothing was sent; the session is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SendError {
    /// A message before the handshake, or after the end.
    #[error("there is no session")]
    NoSession,
    /// One request is unanswered at a time.
    #[error("a request is unanswered: one at a time")]
    Busy,
    /// Nothing of this kind was asked for.
    #[error("{what} was not asked for")]
    Unasked {
        /// Message that was to be sent.
        what: &'static str,
    },
}
