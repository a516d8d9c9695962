//! Which kinds of observations are wanted.

use std::ops::{BitOr, BitOrAssign};

/// A set of kinds of observations: what an observer wants to be told ([`crate::observe::Observer::wants`]), or what a model
/// is about to report ([`crate::Sim::is_observed`]).
///
/// ```
/// use vp_core::observe::Kinds;
/// let wanted = Kinds::WORK | Kinds::WARNINGS;
/// assert!(wanted.intersects(Kinds::WARNINGS) && !wanted.intersects(Kinds::TRANSFERS));
/// assert!(Kinds::ALL.intersects(Kinds::LEVELS | Kinds::REGISTERS | Kinds::COUNTS));
/// // Watermarks are no observations: who wants them says so.
/// assert!(!Kinds::ALL.intersects(Kinds::WATERMARKS) && !Kinds::NONE.intersects(Kinds::ALL));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Kinds(u8);

impl Kinds {
    /// None of them.
    pub const NONE: Kinds = Kinds(0);
    /// [`crate::observe::What::Level`].
    pub const LEVELS: Kinds = Kinds(1);
    /// [`crate::observe::What::Register`].
    pub const REGISTERS: Kinds = Kinds(1 << 1);
    /// [`crate::observe::What::Transfer`].
    pub const TRANSFERS: Kinds = Kinds(1 << 2);
    /// [`crate::observe::What::Begin`] and [`crate::observe::What::End`].
    pub const WORK: Kinds = Kinds(1 << 3);
    /// [`crate::observe::What::Count`].
    pub const COUNTS: Kinds = Kinds(1 << 4);
    /// [`crate::observe::What::Warning`].
    pub const WARNINGS: Kinds = Kinds(1 << 5);
    /// All observations.
    pub const ALL: Kinds = Kinds((1 << 6) - 1);
    /// Up to when observations are complete ([`crate::observe::Observer::complete_until`]).
    pub const WATERMARKS: Kinds = Kinds(1 << 6);

    /// Whether the sets have anything in common.
    #[inline]
    pub const fn intersects(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Kinds {
    type Output = Kinds;

    fn bitor(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }
}

impl BitOrAssign for Kinds {
    fn bitor_assign(&mut self, other: Kinds) {
        *self = *self | other;
    }
}
