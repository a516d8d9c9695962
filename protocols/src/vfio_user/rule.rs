//! The rules of the protocol, and the messages about a peer that broke one.

use std::fmt;

use thiserror::Error;

use super::frame::{Command, HEADER, Header};
use crate::rule_table::rule_table;

const HEADERS: &str = "vfio-user, Header";
const VERSION: &str = "vfio-user, VFIO_USER_VERSION";
const COMMANDS: &str = "vfio-user, Commands";
const MAP: &str = "vfio-user, VFIO_USER_DMA_MAP";
const UNMAP: &str = "vfio-user, VFIO_USER_DMA_UNMAP";
const TRANSFERS: &str = "vfio-user, Read and Write Operations";

rule_table! {
    /// A rule. Rules up to VU-13 are about messages, and [`Connection`](super::Connection) and [`Client`](super::Client) check them. For
    /// the others no single message shows that a rule is broken: a check of a server does.
    Size: "VU-01", "a message has 16 bytes or more, and at most 1 MiB of data", HEADERS;
    Type: "VU-02", "a message is a command (0) or a reply (1)", HEADERS;
    VersionFirst: "VU-03", "the first command of a client is VFIO_USER_VERSION, and no other is", VERSION;
    VersionData: "VU-04", "the data of a version is a JSON object in UTF-8, with a zero behind it", VERSION;
    Major: "VU-05", "the major version is 0", VERSION;
    Length: "VU-06", "the payload of a command has the command's length", COMMANDS;
    Answers: "VU-07", "a reply has the id and the command of a command that waits for one", HEADERS;
    ReplyLength: "VU-08", "the payload of a reply has the command's length, and as much data as was asked for", TRANSFERS;
    Files: "VU-09", "a file comes with VFIO_USER_DMA_MAP or with eventfds of VFIO_USER_DEVICE_SET_IRQS, one at most", COMMANDS;
    Transfer: "VU-10", "an access moves at most max_data_xfer_size bytes", TRANSFERS;
    Direction: "VU-11", "only a server sends VFIO_USER_DMA_READ and VFIO_USER_DMA_WRITE, and nothing else", COMMANDS;
    LowerVersion: "VU-12", "the version of a reply is at most the proposed one, and its capabilities are among the proposed ones", VERSION;
    Errors: "VU-13", "a reply that tells of an error is a header alone", HEADERS;
    Answered: "VU-14", "a server answers each command that wants a reply", HEADERS;
    Unknown: "VU-15", "a command that there is not fails", COMMANDS;
    MappedOnce: "VU-16", "memory over memory that is mapped fails with EEXIST", MAP;
    Unmapped: "VU-17", "memory that was mapped can be unmapped, and the reply has its address and size", UNMAP;
}

impl Rule {
    /// The rules that one message can break: the codec checks them.
    pub const OF_MESSAGES: &'static [Self] = Self::ALL.split_at(13).0;
}

/// A rule that the peer broke, and the message that did. The session is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The message's place in the stream, from 1.
    pub message: u64,
    /// Header of the message.
    pub header: [u8; HEADER],
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, message, header } = self;
        let name = Command::new(Header::parse(header).command).map_or("unknown", Command::name);
        write!(f, "{rule}; message {message} ({name}), header")?;
        header.chunks(4).try_for_each(|word| {
            f.write_str(" ")?;
            word.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
        })
    }
}
