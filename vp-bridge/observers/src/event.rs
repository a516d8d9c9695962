//! Observations, in the form in which they go to the thread that writes a file.

use vp_core::Time;
use vp_core::observe::{SourceKind, Stage};

/// Something that was seen, with when and where.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) time: Time,
    /// Number of the event's source.
    pub(crate) source: u32,
    pub(crate) seen: Observed,
}

/// Thing that was seen: [`vp_core::observe::What`], and what a platform tells besides.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Observed {
    Level(u64),
    /// A level has changed by this amount.
    Change(i64),
    Register {
        write: bool,
        address: u32,
        value: u32,
    },
    Transfer {
        stage: Stage,
        write: bool,
        id: u32,
        bytes: u32,
        address: u64,
    },
    Begin {
        id: u64,
        layer: Box<Layer>,
    },
    End {
        id: u64,
    },
    Count {
        /// The label's number.
        label: u32,
        value: u64,
    },
    Warning(Box<str>),
    /// A datapath has work from the event's time on.
    Busy {
        until: Time,
    },
    /// Open transfers have ended.
    Reset,
}

/// A layer that a unit begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layer {
    /// The network's layer that it is, where a network runs.
    pub(crate) name: Option<String>,
    /// Shape of the layer as the model says it: width, height and channels of its input.
    pub(crate) shape: String,
}

impl Layer {
    /// Returns the layer's name, or otherwise its shape.
    pub(crate) fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.shape)
    }
}

/// A source, as it is announced to the thread before it reports.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Announced {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) kind: SourceKind,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_small() {
        // A run has millions of them.
        assert_eq!(size_of::<Event>(), 40);
    }
}
