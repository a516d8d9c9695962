//! Output: whole messages, in one order for both sockets.

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;

use super::Message;

/// One of the two connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Socket {
    /// Renode's requests and all answers but those to ticks.
    Main,
    /// The peripheral's requests and what it tells.
    Async,
}

impl fmt::Display for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Main => "main",
            Self::Async => "async",
        })
    }
}

/// Bytes to be written.
#[derive(Debug, Default)]
pub struct Output(VecDeque<(Socket, Bytes)>);

impl Output {
    /// The next message, or the text of a log message. Write it by one call, before later ones: the receiver
    /// takes it by one call, and the order between the sockets matters.
    pub fn next_write(&mut self) -> Option<(Socket, Bytes)> {
        self.0.pop_front()
    }

    /// Returns true if nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, socket: Socket, message: Message) {
        self.0.push_back((socket, Bytes::copy_from_slice(&message.emit())));
    }

    pub(super) fn push_text(&mut self, text: Bytes) {
        self.0.push_back((Socket::Async, text));
    }
}
