//! A job, as it is handed from process to process.

use super::configuration::Configuration;
use super::queue::Descriptor;

/// A job on its way.
pub(super) struct Job {
    pub(super) number: u64,
    /// Number of times that the IP had been reset when the job began.
    pub(super) resets: u64,
    pub(super) descriptor: Descriptor,
    pub(super) configuration: Configuration,
    pub(super) filters: Vec<u8>,
    pub(super) input: Vec<i8>,
    pub(super) output: Vec<i8>,
}
