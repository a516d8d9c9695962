//! Files about a platform's run: what looks on and writes them.
//!
//! [`Files`] says which. [`Files::attach`] puts observers beside a platform that has not run, and [`Observers::finish`] ends them: a
//! file has its name only when it is whole ([`WholeFile`]).
//!
//! Observers look on: a run with them has the events, and the event hash, of one without.

mod error;
mod event;
mod files;
mod layers;
mod observers;
mod registers;
mod threaded;
mod timeline;
mod trigger;
mod waves;
mod whole_file;

pub use error::ObserveError;
pub use files::{Files, TraceFile, numbered};
pub use layers::LayerNames;
pub use observers::{Finished, Observers};
pub use timeline::proto as perfetto;
pub use whole_file::{WholeFile, write_whole};
