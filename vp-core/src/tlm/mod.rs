//! Transactions: reads and writes between initiators and targets, at the speed of a function call.
//!
//! TLM-2.0's ideas in Rust's idiom. An initiator (a CPU, a DMA engine) owns an [`InitiatorSocket`], bound to a
//! [`Target`] (a memory, a device) or to a [`Router`] that finds the target by address. A transaction carries a
//! [`Payload`]. This module has no particular bus.
//!
//! | style | call | for |
//! | --- | --- | --- |
//! | blocking | [`InitiatorSocket::b_transport`] | loosely timed models: one call a transaction |
//! | non-blocking | [`InitiatorSocket::nb_transport_fw`], [`TargetSocket::nb_transport_bw`] | phases, many transactions outstanding |
//! | debug | [`InitiatorSocket::transport_dbg`] | looking, without time or side effects |
//! | direct | [`InitiatorSocket::direct`], [`DirectMap`] | plain memory, without a transaction at all |
//!
//! ```
//! use std::rc::Rc;
//! use vp_core::tlm::{Flow, InitiatorSocket, Payload, Response, Storage, Target};
//! use vp_core::{Simulation, Time};
//!
//! struct Ram(Storage);
//!
//! impl Target for Ram {
//!     fn b_transport<'a>(&'a self, payload: &'a mut Payload, delay: &'a mut Time) -> Flow<'a> {
//!         payload.access(&self.0);
//!         *delay += Time::ns(50); // annotated: the initiator decides when to let it pass
//!         Flow::Done
//!     }
//! }
//!
//! let mut simulation = Simulation::new();
//! let sim = simulation.sim();
//! let socket = InitiatorSocket::new("cpu");
//! socket.bind(Rc::new(Ram(Storage::new(4096))))?;
//! sim.clone().process("cpu", async move {
//!     let mut delay = Time::ZERO;
//!     let mut store = Payload::write(0x40, &[1, 2, 3, 4]);
//!     socket.b_transport(&mut store, &mut delay).await;
//!     let mut load = Payload::read(0x42, 2);
//!     socket.b_transport(&mut load, &mut delay).await;
//!     assert_eq!((load.response, &load.data[..]), (Response::Ok, &[3, 4][..]));
//!     sim.wait(delay).await;
//! });
//! simulation.run();
//! assert_eq!(simulation.now(), Time::ns(100));
//! # Ok::<(), vp_core::tlm::BindError>(())
//! ```

mod decode;
mod direct;
mod direct_map;
mod nonblocking;
mod payload;
mod quantum;
mod router;
mod socket;
mod storage;
mod target;

pub use direct::{DirectAccess, DirectError, DirectRegion};
pub use direct_map::DirectMap;
pub use nonblocking::{PayloadEventQueue, Phase, Pool, Sync, Transaction};
pub use payload::{Command, Payload, Response};
pub use quantum::{Quantum, QuantumKeeper};
pub use router::{MapError, Router, RouterBuilder, RouterPort};
pub use socket::{BindError, InitiatorSocket, TargetSocket};
pub use storage::{DirectMemory, Storage};
pub use target::{Flow, Initiator, Target};
