//! `vp study`.

mod commands;
mod energy;
mod kept;
mod parts;
mod refused;
mod search;
mod shipped;
mod studied;
