//! The guide: how to build models with this crate, one chapter a page, to be read in this order.
//!
//! 1. [A first model](first_model), in thirty lines.
//! 2. [The life of a simulation](life_cycle): built, run, looked at, run on, dropped.
//! 3. [Time and delta cycles](time): what happens in which order, and why.
//! 4. [Connecting models](connections): events, signals, FIFOs, sockets.
//! 5. [Observing](observing): what a run reports, and how to find out why nothing happens any more.
//! 6. [The outside](outside): how other threads reach a simulation.
//! 7. [For SystemC users](systemc): every name, what it is called here, and what differs.
//!
//! There is no code here: all examples are run as tests.

#[doc = include_str!("guide/first_model.md")]
pub mod first_model {}

#[doc = include_str!("guide/life_cycle.md")]
pub mod life_cycle {}

#[doc = include_str!("guide/time.md")]
pub mod time {}

#[doc = include_str!("guide/connections.md")]
pub mod connections {}

#[doc = include_str!("guide/observing.md")]
pub mod observing {}

#[doc = include_str!("guide/outside.md")]
pub mod outside {}

#[doc = include_str!("guide/systemc.md")]
pub mod systemc {}
