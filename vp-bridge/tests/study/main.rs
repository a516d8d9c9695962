//! `vp study`.

#[path = "../common/mod.rs"]
mod common;

mod commands;
mod energy;
mod kept;
mod parts;
mod refused;
mod report;
mod search;
mod shipped;
mod slurm;
mod studied;
