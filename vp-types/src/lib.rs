//! Types that the hardware and its hub have in common with the wire protocols: parties and ports, how time moves, what a
//! debugger waits for, counters, and the text that may be shown.
//!
//! Both recordings and the native protocol have these values in postcard's form: the order of the variants of every enum, and
//! of the fields of every struct, is their number in both. New variants go to the end, none is ever removed.

pub mod counters;
mod debugger;
mod party;
mod pins;
pub mod printable;
mod time;

pub use counters::{Counter, CounterValue};
pub use debugger::{
    Accesses, BreakOn, Breakpoint, DebugEvent, Hit, SetBreakpoint, StepBy, StopReport, StopWhy,
};
pub use party::{AccessKind, PartyId, PortId, Role};
pub use pins::{AxiChannel, Reaction};
pub use time::{Activity, Until, Why};
