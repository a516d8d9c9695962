//! Legality of a DRAM's commands, by the standards' tables alone.
//!
//! A [`Checker`] reads the commands of one channel in the order of their clocks, and says in words which of them come too early, find a
//! bank in the wrong state, meet another one on a bus, or come too late (refreshes). It shares nothing with the model that it judges:
//! [`standards`] has figures of its own, as the standards write them, [`rules`] the edges between which they count, and the checking is
//! the slow and obvious one, of each command with all before it that it may be too close to.
//!
//! Where the text of a standard is in doubt, the weaker requirement is checked; the table says so. [`streams`] draws requests,
//! [`run`] plays them into a model, and [`configurations`] says which.

pub mod checker;
pub mod configurations;
mod refresh;
pub mod rules;
pub mod run;
pub mod sheet;
pub mod standards;
pub mod streams;

pub use checker::{Checker, Violation};
pub use run::{Judged, judge};
pub use sheet::Sheet;
