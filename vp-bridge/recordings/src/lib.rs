//! Recordings of a platform's inputs as files (`.vprec`), and running them again.
//!
//! A [`Recording`] takes what a [`Hub`](vp_hub::Hub) tells its [`Recorder`](vp_hub::Recorder), and has it in the
//! file before outputs that follow from it leave the hub. A [`Reader`] gives the entries back one by one, and a [`Player`] runs them on a
//! platform as the recorded one was. What the file looks like: `docs/recording.md`.

mod accesses;
mod block;
mod entered;
mod header;
mod numbers;
mod player;
mod reader;
mod recording;
mod writer;

pub use entered::entered;
pub use header::Header;
pub use player::{PlayError, Player, ReplayStep};
pub use reader::{ReadError, Reader, RecordingEnd};
pub use recording::{RecordError, Recording};
pub use writer::Writer;
