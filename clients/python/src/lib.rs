//! The native part of the Python package `vp`: a platform in this process, or a session with a server, as one object.
//!
//! Here is what needs speed and what only Rust can say; the shape of the interface is Python's (`python/vp`). Times are picoseconds at this
//! border, and errors are exceptions of `vp._errors`. Nothing here panics on what Python passes; a panic of the code below would be
//! `vp.InternalError` ([`calls`]).

#![expect(clippy::needless_pass_by_value, reason = "what Python passes to a function is the function's own")]

mod callable;
mod calls;
mod control;
mod errors;
mod host;
mod models;
mod native_registers;
mod observe;
mod open;
mod outside;
mod owned;
mod partner;
mod programs;
mod session;
mod study;

use pyo3::prelude::*;

/// Name and version of this program, as servers' logs and recordings show them.
const AGENT: &str = concat!("vp for Python ", env!("CARGO_PKG_VERSION"));

/// The native part of `vp`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::host::{Host, Interrupter};
    #[pymodule_export]
    use super::models::run_model;
    #[pymodule_export]
    use super::open::{all_registers, build, connect, forked, platform_names, replay};
    #[pymodule_export]
    use super::outside::{serve_device, serve_memory};
    #[pymodule_export]
    use super::partner::Partner;
    #[pymodule_export]
    use super::programs::{digits_samples, network_names, platform_of_trace, run_network, run_trace};
    #[pymodule_export]
    use super::study::study;
}
