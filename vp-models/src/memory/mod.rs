//! `memory`.
