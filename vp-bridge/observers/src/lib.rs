//! Files about a platform's run: the observers that write them.
//!
//! [`Files`] says which files. [`Files::attach`] adds observers to a platform that has not run, and
//! [`Observers::finish`] ends them. A file gets its name only when it is complete ([`WholeFile`]).
//!
//! Observers do not change a run: it has the same events, and the same event hash, as one without them.

mod error;
mod event;
mod files;
mod layers;
mod memories;
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
pub use memories::{CommandFile, RequestFile};
pub use observers::{Finished, Observers};
pub use timeline::proto as perfetto;
pub use whole_file::{WholeFile, write_whole};
