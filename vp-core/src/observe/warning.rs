//! Warnings of models: a text for people, and marks for programs.

use serde::{Deserialize, Serialize};

/// A warning for people. A model reports it each time that it occurs. Observers decide how often people are
/// told.
///
/// ```
/// use vp_core::Simulation;
/// use vp_core::observe::{SourceKind, Warning, WarningMarks, What};
/// let sim = Simulation::new().sim();
/// let engine = sim.source("engine", SourceKind::Work);
/// sim.report(engine, What::Warning(Warning::Once("the line ends in the middle of a burst")));
/// let marks = WarningMarks { refused: true, lacking: false };
/// sim.report(engine, What::Warning(Warning::Marked { marks, text: "layer refused: a line of no pixels" }));
/// for left in [3, 2] {
///     let text = format!("command lost, {left} entries are left");
///     sim.report(engine, What::Warning(Warning::Repeated { cause: "command lost", text: &text }));
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Warning<'a> {
    /// Happens at most once in a piece of work, such as a layer.
    Once(&'a str),
    /// Happens at most once in a piece of work, like [`Warning::Once`]. Programs read the marks.
    Marked {
        /// Marks that hold for the warning.
        marks: WarningMarks,
        /// Text of the warning.
        text: &'a str,
    },
    /// May happen many times in one piece of work of its source.
    Repeated {
        /// Part of the warning that is the same each time.
        cause: &'a str,
        /// Text of what happened this time.
        text: &'a str,
    },
    /// Memory did not serve a burst. A unit that makes one such burst mostly makes many.
    Access {
        /// The client that made the burst; empty if that is not known.
        client: &'a str,
        /// True if the burst was a write.
        write: bool,
        /// Byte address.
        address: u64,
        /// Length in bytes.
        bytes: u32,
        /// Reason for which the burst was not served, and what happened to it.
        text: &'a str,
    },
}

/// Marks of a warning, by which a program judges a run. A warning without marks is for people only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WarningMarks {
    /// The piece of work was refused: it ends, and nothing was computed.
    pub refused: bool,
    /// The model as configured lacks what was asked of it. Another configuration may have it.
    pub lacking: bool,
}

impl WarningMarks {
    /// No mark.
    pub const NONE: WarningMarks = WarningMarks { refused: false, lacking: false };
}
