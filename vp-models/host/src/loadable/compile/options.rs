//! Options for compiling a network.

use crate::loadable::Generation;
use crate::network::PlanOptions;
use std::fmt;
use std::str::FromStr;

/// Options for compiling a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileOptions {
    /// Options of the plan, but that a loadable takes one frame, and its input and outputs have memory of their own.
    pub plan: PlanOptions,
    /// Form of the descriptors, which the driver must know.
    pub generation: Generation,
    /// Software that does soft-max.
    pub soft_max: SoftMaxBy,
}

impl Default for CompileOptions {
    fn default() -> CompileOptions {
        CompileOptions {
            plan: PlanOptions::default(),
            generation: Generation::Long,
            soft_max: SoftMaxBy::default(),
        }
    }
}

/// Software that does soft-max.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SoftMaxBy {
    /// The application, behind the loadable.
    #[default]
    Application,
    /// The vendor's runtime, whose emulator does it for halves. It rounds what is midway between two to the one farther from zero, and
    /// its exponential is the system's: the last bit may be another than this crate's.
    Runtime,
}

/// Text as of the variant: `application`, `runtime`.
impl fmt::Display for SoftMaxBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SoftMaxBy::Application => "application",
            SoftMaxBy::Runtime => "runtime",
        })
    }
}

impl FromStr for SoftMaxBy {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<SoftMaxBy, &'static str> {
        let found =
            [SoftMaxBy::Application, SoftMaxBy::Runtime].into_iter().find(|by| by.to_string() == text);
        found.ok_or("expected application or runtime")
    }
}
