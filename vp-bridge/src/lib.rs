//! Platforms behind sockets: who listens, who connects, how simulated time goes with both, and the command line.
//!
//! * [`address`]: where a server is: `tcp:HOST:PORT` or `unix:PATH`.
//! * [`server`]: hosts platforms for any number of sessions.
//! * [`rtl`]: measurements of the vendor's RTL, and how far the model is from them.
//! * [`study`]: questions asked at many points, and the report that answers them.
//! * [`client`]: a CPU-side program's way to a platform of a server, as if it were in its own process.
//!
//! The wire format is `vp_protocols`' business, the hardware `vp_models`'; here are sockets, threads and the wall clock,
//! and they are nowhere else.

pub mod address;
pub mod client;
pub mod rtl;
pub mod server;
pub mod study;
