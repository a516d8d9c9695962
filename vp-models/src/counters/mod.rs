//! Counters: what a device, a memory interface or a platform has done, by name. [`EXPLANATIONS`] says what each counts.

mod explanations;
mod tally;

pub use vp_types::{Counter, CounterValue};

pub use explanations::{EXPLANATIONS, Explanation, explanation, page};
pub(crate) use tally::Tally;

/// Counters of a platform, in the platform's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// One entry a counter; names are unique.
    pub counters: Vec<Counter>,
}

impl Statistics {
    /// The number counted under that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        vp_types::counters::count(&self.counters, name)
    }

    /// The text kept under that name.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        vp_types::counters::text(&self.counters, name)
    }

    /// Adds a number.
    pub fn count(&mut self, name: impl Into<String>, value: u64, unit: &str) {
        self.counters.push(Counter::count(name, unit, value));
    }

    /// Adds a text.
    pub fn note(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.counters.push(Counter::text(name, text));
    }
}
