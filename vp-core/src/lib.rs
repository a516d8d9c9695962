//! The discrete-event kernel: time, processes, events and channels.
//!
//! SystemC's semantics in Rust's idiom. At each point in time a simulation repeats three phases: *evaluate*
//! (run every runnable process), *update* (channels take their new values), and *delta notification* (processes
//! that wait for a change become runnable, at the same time). When nothing is left at this time, the earliest
//! *timed notification* moves time on. One thread runs everything, ordered by time, then delta cycle, then
//! order of notification: the same inputs give the same run, event for event.
//!
//! The kernel has no hardware, no sockets, no files and no wall clock. Input from outside comes only through
//! the [`Injector`]; reports leave only through [`observe::Observer`].
//!
//! # A first model
//!
//! ```
//! use vp_core::{Fifo, Simulation, Time};
//!
//! let mut simulation = Simulation::new();
//! let sim = simulation.sim();
//! let requests = Fifo::new(&sim, "requests", 4);
//!
//! // A process is an async block: it runs until it awaits, and then others do.
//! let (clock, port) = (sim.clone(), requests.clone());
//! sim.process("cpu", async move {
//!     for address in [0x100u32, 0x104, 0x108] {
//!         port.put(address).await;
//!         clock.wait(Time::ns(2)).await;
//!     }
//! });
//!
//! // A server waits for work for ever; that it still waits at the end is no deadlock.
//! let clock = sim.clone();
//! sim.server("memory", async move {
//!     loop {
//!         let _address = requests.get().await;
//!         clock.wait(Time::ns(50)).await;
//!     }
//! });
//!
//! simulation.run();
//! assert_eq!(simulation.now(), Time::ns(150));
//! ```
//!
//! # Where to go on
//!
//! The [`guide`] says how models are built: the life of a simulation, time and delta cycles, connections,
//! observing, the outside. SystemC users find their names in [its table](guide::systemc):
//!
//! | SystemC | here |
//! | --- | --- |
//! | `sc_start(t)`, `sc_pause` | [`Simulation::run_for`], [`Sim::stop`] |
//! | `SC_THREAD`, `SC_METHOD` | [`Sim::process`], [`Sim::method`] |
//! | `wait(t)`, `wait(e)`, `wait(t, e)` | [`Sim::wait`], [`Event::wait`], [`Sim::timeout`] |
//! | `sc_event`, `sc_signal`, `sc_fifo`, `sc_semaphore`, `sc_clock` | [`Event`], [`Signal`], [`Fifo`], [`Semaphore`], [`Clock`] |

mod body;
mod clock;
mod combine;
mod event;
mod fifo;
pub mod guide;
mod inject;
mod kernel;
mod name;
pub mod observe;
mod prefetch;
mod process;
mod queue;
mod report;
mod schedule;
mod semaphore;
mod signal;
mod time;

pub use clock::Clock;
pub use combine::{Either, join, select, wait_all, wait_any};
pub use event::{Event, EventWait};
pub use fifo::Fifo;
pub use inject::{Bell, Injector};
pub use kernel::{Busy, Hold, Rest, ResumeError, Sim, Simulation, Stop};
pub use name::Name;
pub use process::{MethodBuilder, Process, Trigger, Wait};
pub use report::{Blocked, IdleReport, Livelock};
pub use semaphore::Semaphore;
pub use signal::Signal;
pub use time::{ParseTimeError, Time};
