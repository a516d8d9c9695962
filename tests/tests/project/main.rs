//! What the project says of itself.

mod builds;
mod documents;
mod rooms;
