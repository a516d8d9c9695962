//! Builds, documents and crates of the project, held to what is said of them.

mod builds;
mod documents;
mod rooms;
mod words;
