//! What the project says of itself.

mod documents;
mod rooms;
