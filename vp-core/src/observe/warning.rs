//! Warnings of models for people.

/// A warning for people. A model reports it each time that it occurs. Observers decide how often people are
/// told.
///
/// ```
/// use vp_core::Simulation;
/// use vp_core::observe::{SourceKind, Warning, What};
/// let sim = Simulation::new().sim();
/// let engine = sim.source("engine", SourceKind::Work);
/// sim.report(engine, What::Warning(Warning::Once("layer refused: a line of no pixels")));
/// for left in [3, 2] {
///     let text = format!("command lost, {left} entries are left");
///     sim.report(engine, What::Warning(Warning::Repeated { cause: "command lost", text: &text }));
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Warning<'a> {
    /// Happens at most once in a piece of work, such as a layer.
    Once(&'a str),
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
