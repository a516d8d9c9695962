//! Error codes: stable numbers for programs, beside the message for people.

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        /// The reason of a refusal. On the wire a `u16`; numbers are never reused.
        ///
        /// New numbers may appear without a new protocol version, therefore [`Other`](ErrorCode::Other): a receiver
        /// treats a number it does not know as a failure of unknown kind and shows the reason that came with it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(from = "u16", into = "u16")]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
            /// A number that this version of the crate has no name for. Made by `From<u16>` only.
            Other(u16),
        }

        impl From<u16> for ErrorCode {
            fn from(number: u16) -> Self {
                match number { $($number => Self::$name,)* other => Self::Other(other) }
            }
        }

        impl From<ErrorCode> for u16 {
            fn from(code: ErrorCode) -> u16 {
                match code { $(ErrorCode::$name => $number,)* ErrorCode::Other(other) => other }
            }
        }

        impl ErrorCode {
            /// Every named code, in order of its number.
            pub const ALL: &[ErrorCode] = &[$(Self::$name),*];
        }

        impl std::fmt::Display for ErrorCode {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self { $(Self::$name => f.write_str($text),)* Self::Other(number) => write!(f, "error {number}") }
            }
        }
    };
}

codes! {
    // 1..: the session was not opened.
    /// No version is spoken by both sides.
    UnsupportedVersion = 1, "no common protocol version";
    /// An offered limit is below what the protocol needs.
    BadLimits = 2, "unusable limits";
    /// The requested time mode is not supported by this platform.
    TimeModeUnavailable = 3, "time mode unavailable";
    /// The platform with that name does not exist and cannot be created, or may not be joined.
    PlatformUnavailable = 4, "platform unavailable";
    /// The server has its maximum number of sessions.
    ServerFull = 5, "server full";

    // 16..: the session is closed, because the peer broke a rule.
    /// Bytes that are not a frame of the protocol.
    Malformed = 16, "malformed frame";
    /// A well-formed message at the wrong moment or in the wrong direction.
    UnexpectedMessage = 17, "unexpected message";
    /// A request with the id of another one that is still unanswered.
    DuplicateId = 18, "request id already in flight";
    /// A reply to no request.
    UnknownId = 19, "reply to an unknown request";
    /// More unanswered requests than agreed.
    TooManyInFlight = 20, "too many requests in flight";
    /// A reply of another kind, or with more or fewer bytes, than the request requires.
    ReplyMismatch = 21, "reply does not fit its request";
    /// A register reply that overtook an earlier one of the same port.
    ReplyOutOfOrder = 22, "register reply out of order";
    /// Use of a capability that was not granted.
    NotGranted = 23, "capability not granted";
    /// A request of the server was not answered in time.
    NotAnswered = 24, "request left unanswered";
    /// Fewer files beside the stream than a request needs, or files that no request needs.
    WrongFiles = 25, "wrong files beside the stream";
    /// An invalid entry in the register ring.
    BadEntry = 26, "bad entry in the register ring";
    /// A partner does not keep the contract of time, or the rules of its port. Also for one request: the port
    /// already has a partner with which this one cannot share it.
    ContractBroken = 27, "contract of time broken";
    /// The peer has not authenticated, or is not known here. Also for one request: it comes before
    /// [`Authenticate`](super::Request::Authenticate), or the token is not known.
    NotAuthenticated = 28, "not authenticated";
    /// The session was idle for longer than the server lets it be.
    Idle = 29, "session idle";

    // 32..: one request failed, the session goes on.
    /// The port number is not in the list of the welcome.
    NoSuchPort = 32, "no such port";
    /// Another session holds that role at the port; the reason names it.
    PortBusy = 33, "port busy";
    /// The request needs an attached port.
    NotAttached = 34, "port not attached";
    /// The port does not have that role, or the request does not fit the attached role.
    WrongRole = 35, "wrong role";
    /// The address range is empty, overflows, or lies outside the port's window.
    BadRange = 36, "bad address range";
    /// The request has no meaning in the session's time mode.
    WrongTimeMode = 37, "wrong time mode";
    /// The request is understood, but this platform or port cannot do it.
    Unsupported = 38, "unsupported";
    /// The request was cancelled: by a reset, or because the other end of the port went away.
    Cancelled = 39, "cancelled";
    /// Simulated time does not move, however much the platform does. Only a reset helps; the reason names the
    /// processes that run.
    Livelock = 40, "simulated time stands still";
    /// The session lacks the right to do that; the reason names it.
    NotPermitted = 41, "not permitted";
    /// The request would exceed what a session, or all sessions together, may use of the server.
    QuotaExceeded = 42, "quota exceeded";
    /// The memory limit of the platform, or of all platforms of the server, is reached; the reason names the
    /// limit.
    OutOfMemory = 44, "out of memory";

    /// The platform has work in progress; the reason names it. Try again when it is over.
    NotAtRest = 60, "not at rest";
    /// The bytes are no saved platform, or one of another description or form; the reason says which.
    WrongState = 61, "not a state of this platform";

    // 64..: the simulated bus answered with an error.
    /// Nothing answers at that address (AXI DECERR).
    DecodeError = 64, "decode error";
    /// The target refused the access (AXI SLVERR).
    SlaveError = 65, "slave error";
    /// The address or length is not one that the bus can carry.
    Misaligned = 66, "misaligned access";

    // 96..: the server.
    /// The server or platform is going away.
    ShuttingDown = 96, "shutting down";
    /// The server failed, by its own fault.
    Internal = 97, "internal error";
}

#[cfg(test)]
mod tests {
    use super::ErrorCode;

    #[test]
    fn every_number_has_one_code_and_every_code_one_number() {
        for number in 0..=u16::MAX {
            assert_eq!(u16::from(ErrorCode::from(number)), number);
        }
        assert!(ErrorCode::ALL.windows(2).all(|pair| u16::from(pair[0]) < u16::from(pair[1])));
    }
}
