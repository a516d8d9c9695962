//! `platform`.
