//! The rules of a session by number, as `docs/protocol.md` and checks of peers name them.

use super::{Breach, FrameRule, Violation};
use crate::rule_table::rule_table;

const FRAMES: &str = "docs/protocol.md, Frames";
const HEADER: &str = "docs/protocol.md, Encoding of the header";
const MALFORMED: &str = "docs/protocol.md, What is malformed";
const SESSION: &str = "docs/protocol.md, A session";
const HELLO: &str = "docs/protocol.md, Hello and Welcome";
const LIMITS: &str = "docs/protocol.md, Ids, limits and back-pressure";
const ORDER: &str = "docs/protocol.md, Order";
const REPLIES: &str = "docs/protocol.md, Replies";
const AUTHENTICATION: &str = "docs/protocol.md, Authentication";
const CONTRACT: &str = "docs/protocol.md, What breaks it";
const CODES: &str = "docs/protocol.md, Error codes";

rule_table! {
    /// A rule of a session. From NP-18 on no single message shows that a rule is broken: a check of a peer
    /// does.
    Flags: "NP-01", "the flags of a frame are 0", FRAMES;
    HeaderLength: "NP-02", "a header has at most 4 096 bytes, that of a hello 512", FRAMES;
    PayloadLimit: "NP-03", "a payload is no longer than agreed; before the welcome there is none", FRAMES;
    HeaderIsOneMessage: "NP-04", "a header holds one message: all of its fields, and nothing behind them", MALFORMED;
    KnownNumbers: "NP-05", "messages and variants have numbers that the protocol knows", HEADER;
    OneEncoding: "NP-06", "fields are encoded in their one form: shortest numbers, 0 or 1, UTF-8", HEADER;
    PayloadFits: "NP-07", "a payload is there, and as long, as its header calls for", MALFORMED;
    HelloFirst: "NP-08", "the first message is a hello with the bytes VPNP, and the first answer a welcome or a refusal", SESSION;
    Versions: "NP-09", "the version of a session is one that both sides speak", HELLO;
    AgreedLimits: "NP-10", "a welcome's limits and capabilities are within those of the hello, and its limits can be worked with", HELLO;
    MomentAndSide: "NP-11", "a message comes from the side that sends it, in an open session", SESSION;
    FreshId: "NP-12", "a request's id is not that of another one in flight", LIMITS;
    InFlight: "NP-13", "no more requests are in flight than agreed", LIMITS;
    ReplyToRequest: "NP-14", "a reply has the id of a request in flight", LIMITS;
    ReplyFits: "NP-15", "a reply is of the kind its request asks for, with as many bytes, or failed", REPLIES;
    RegisterOrder: "NP-16", "replies to register accesses of one port come in the order of the accesses", ORDER;
    Granted: "NP-17", "capabilities that were not granted are not used", HELLO;
    Answered: "NP-18", "every request is answered", LIMITS;
    TimeGoesOn: "NP-19", "times of replies to one session's register accesses never go back", ORDER;
    NoSuchPort: "NP-20", "a request for a port that the welcome does not list fails with code 32, and the session goes on", CODES;
    AttachFirst: "NP-21", "an access at a port that is not attached fails with code 34, and the session goes on", CODES;
    ByeOnViolation: "NP-22", "who receives a malformed frame says Bye with code 16 and closes the stream", SESSION;
    StrangersAreCutOff: "NP-23", "a stream that does not begin with a hello is closed", SESSION;
    PortsAreDistinct: "NP-24", "a welcome lists each port once: no name stands twice", HELLO;
    RefusesVersion: "NP-25", "a hello without a version in common is refused with code 1", HELLO;
    MemoryKeeps: "NP-26", "a memory gives back what was written to it, and leaves bytes without a strobe alone", REPLIES;
    WhoFirst: "NP-27", "a server that wants to know who comes answers all but Ping and Authenticate with code 28 until it knows", AUTHENTICATION;
    DrivenBySide: "NP-28", "a partner that drives an event of another kind of port or of another role gets Bye with code 27", CONTRACT;
}

impl FrameRule {
    /// Returns the rule by its number.
    pub fn number(self) -> Rule {
        match self {
            Self::FlagsNotZero { .. } => Rule::Flags,
            Self::HeaderTooLong { .. } => Rule::HeaderLength,
            Self::PayloadTooLong { .. } => Rule::PayloadLimit,
            Self::HeaderTruncated | Self::TrailingBytes { .. } => Rule::HeaderIsOneMessage,
            Self::NotHello { .. } | Self::BadMagic => Rule::HelloFirst,
            Self::UnknownMessage { .. } | Self::UnknownVariant => Rule::KnownNumbers,
            Self::BadBool | Self::BadOption | Self::BadText | Self::BadNumber | Self::NotShortest => {
                Rule::OneEncoding
            }
            Self::UnexpectedPayload { .. }
            | Self::PayloadLength { .. }
            | Self::ZeroLength
            | Self::LengthBeyondLimit { .. }
            | Self::BeatLength { .. }
            | Self::StrobesBeyondData
            | Self::BadCounters => Rule::PayloadFits,
        }
    }
}

impl Violation {
    /// The rule that was broken, by number.
    pub fn rule(&self) -> Rule {
        match self {
            Self::Malformed(malformed) => malformed.rule.number(),
            Self::Version { .. } => Rule::Versions,
            Self::Limit { .. } => Rule::AgreedLimits,
            Self::Unexpected { moment, .. } if moment.starts_with("before") => Rule::HelloFirst,
            Self::Unexpected { .. } => Rule::MomentAndSide,
            Self::NotGranted { .. } => Rule::Granted,
            Self::Breach(breach) => match breach {
                Breach::DuplicateId { .. } => Rule::FreshId,
                Breach::TooManyInFlight { .. } => Rule::InFlight,
                Breach::UnknownId { .. } => Rule::ReplyToRequest,
                Breach::WrongReply { .. } | Breach::WrongLength { .. } => Rule::ReplyFits,
                Breach::OutOfOrder { .. } => Rule::RegisterOrder,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rule;

    /// Implementers in other languages read the page: it has all of them, with these words.
    #[test]
    fn the_protocols_page_has_every_rule() {
        let page = include_str!("../../../docs/protocol.md");
        for (place, rule) in Rule::ALL.iter().enumerate() {
            assert_eq!(rule.name(), format!("NP-{:02}", place + 1));
            let section = rule.source().rsplit_once(", ").map(|(_, section)| section);
            let row = format!("| {} | {} |", rule.name(), rule.text());
            assert!(page.contains(&row), "docs/protocol.md lacks: {row}");
            let heading = section.is_some_and(|section| {
                page.lines().any(|line| {
                    line.starts_with('#') && line.contains(section.split(" and ").next().unwrap_or(section))
                })
            });
            assert!(heading, "docs/protocol.md has no section {section:?}");
        }
    }
}
