//! What the whole-system tests share; nothing outside the tests uses it.
//!
//! [`shared`] finds the conformance data that lies outside the repository, [`conformance`] plays the vendor's
//! traces over any [`Way`](conformance::Way) to a platform, [`rtl`] reads what was measured on the RTL.

pub mod conformance;
pub mod rtl;
pub mod shared;
