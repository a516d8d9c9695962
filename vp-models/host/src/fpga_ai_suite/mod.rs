//! Host software for the FPGA AI Suite's inference IP: networks planned for it, laid out in memory, and run.
//!
//! A [`Model`] is what the device runs of a [`Network`](super::network::Network), a graph with its filters; a [`Layout`] says where everything lies for one architecture; a [`Driver`] does what
//! a runtime does at any [`Host`](super::Host): refuses an IP whose hash differs, loads the model, queues descriptors, and
//! takes interrupts.
//!
//! ```
//! use vp_models::fpga_ai_suite::Architecture;
//! use vp_host::fpga_ai_suite::{Driver, Model};
//! use vp_host::network::digits;
//! use vp_host::LocalHost;
//! use vp_models::platform::{Description, Platform};
//!
//! let description = Description::named("fpga-ai-suite").unwrap();
//! let mut host = LocalHost::new(Platform::build(&description).unwrap());
//! let model = Model::of_network(&digits::network()).unwrap();
//! let samples = digits::samples();
//! let mut driver =
//!     Driver::open(&mut host, &Architecture::default(), &model, description.dbb0.range()).unwrap();
//! let answers = driver.infer(&[&samples[0].pixels]).unwrap();
//! assert_eq!(digits::answer(&answers[0].output), samples[0].label);
//! ```

mod bundle;
mod driver;
mod error;
mod job;
mod layout;
mod model;
mod plan;

pub use bundle::bundle;
pub use driver::{Counters, Driver, DriverError, Inference};
pub use error::{LayerError, PlanError};
pub use job::Job;
pub use layout::{Layout, LayoutError};
pub use model::Model;
