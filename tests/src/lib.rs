//! Modules that the whole-system tests share; nothing outside the tests uses them.
//!
//! [`shared`] finds the conformance data that lies outside the repository, [`conformance`] plays the vendor's
//! traces over any [`HostConnection`](conformance::HostConnection) to a platform.
//! [`reference`](mod@reference) computes layers the slow and obvious way, [`program`] writes them into registers
//! as a driver would, [`random`] draws them, [`layers`] has a few plain ones, [`compression`] compresses their weights,
//! [`device`] runs them, [`mutation`] runs what is near them, and [`traces`] makes the project's own traces. [`stage`] has
//! parties at a hub, [`fuzz`] takes any bytes. [`effort`] says how long to search. [`dram_legality`]
//! judges the commands of a DRAM by the standards' tables. [`platform_file`] makes a page of the documentation from the types.

pub mod compression;
pub mod conformance;
pub mod device;
pub mod dram_legality;
pub mod effort;
pub mod fuzz;
pub mod layers;
pub mod mutation;
pub mod platform_file;
pub mod program;
pub mod progress;
pub mod proven;
pub mod random;
pub mod reference;
pub mod served;
pub mod shared;
pub mod stage;

pub mod traces;
