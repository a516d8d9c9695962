//! Kinds of observations, and sets of them that are wanted.

/// A set of kinds of observations: those that an observer wants ([`crate::observe::Observer::wants`]), or those
/// that a model is about to report ([`crate::Sim::is_observed`]).
///
/// ```
/// use vp_core::observe::Kinds;
/// let wanted = Kinds::WORK | Kinds::WARNINGS;
/// assert!(wanted.intersects(Kinds::WARNINGS) && !wanted.intersects(Kinds::TRANSFERS));
/// assert!(Kinds::ALL.intersects(Kinds::LEVELS | Kinds::REGISTERS | Kinds::COUNTS));
/// // Watermarks and promptness are no observations: who wants them says so.
/// assert!(!Kinds::ALL.intersects(Kinds::WATERMARKS | Kinds::PROMPT) && !Kinds::NONE.intersects(Kinds::ALL));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Kinds(u8);

bitflags::bitflags! {
    impl Kinds: u8 {
        /// [`crate::observe::What::Level`].
        const LEVELS = 1;
        /// [`crate::observe::What::Register`].
        const REGISTERS = 1 << 1;
        /// [`crate::observe::What::Transfer`].
        const TRANSFERS = 1 << 2;
        /// [`crate::observe::What::Begin`] and [`crate::observe::What::End`].
        const WORK = 1 << 3;
        /// [`crate::observe::What::Count`].
        const COUNTS = 1 << 4;
        /// [`crate::observe::What::Warning`].
        const WARNINGS = 1 << 5;
        /// Times up to which observations are complete ([`crate::observe::Observer::complete_until`]).
        const WATERMARKS = 1 << 6;
        /// Transfers as soon as they have happened, before another process runs. Without it, or [`Kinds::WATERMARKS`], a memory
        /// interface reports many together.
        const PROMPT = 1 << 7;
    }
}

impl Kinds {
    /// None of them.
    pub const NONE: Kinds = Kinds(0);
    /// All observations.
    pub const ALL: Kinds = Kinds((1 << 6) - 1);
}
