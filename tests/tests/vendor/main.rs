//! Inputs of the vendor's with known results: traces, layers of its C-model, loadables, what its driver wrote, cycles of its RTL.

mod cmodel;
mod conformance;
mod driver_contract;
mod driver_recordings;
mod loadables;
mod own_traces;
mod proven;
mod rtl;
mod rtl_random;
mod write_limits;
