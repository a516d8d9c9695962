//! `host`.
