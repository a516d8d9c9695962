//! Counters: what a device, a memory interface or a platform has done, by name. [`EXPLANATIONS`] says what each counts.

mod explanations;

pub use explanations::{EXPLANATIONS, Explanation, explanation, page};

/// Counters of a platform, in the platform's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// One entry a counter; names are unique.
    pub counters: Vec<Counter>,
}

impl Statistics {
    /// The number counted under that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        match self.find(name)?.value {
            Value::Count(count) => Some(count),
            Value::Text(_) => None,
        }
    }

    /// The text kept under that name.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.find(name)?.value {
            Value::Count(_) => None,
            Value::Text(text) => Some(text),
        }
    }

    /// Adds a number.
    pub fn count(&mut self, name: impl Into<String>, value: u64, unit: &str) {
        self.counters.push(Counter { name: name.into(), value: Value::Count(value), unit: unit.to_owned() });
    }

    /// Adds a text.
    pub fn note(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.counters.push(Counter {
            name: name.into(),
            value: Value::Text(text.into()),
            unit: String::new(),
        });
    }

    fn find(&self, name: &str) -> Option<&Counter> {
        self.counters.iter().find(|counter| counter.name == name)
    }
}

/// One counter: what was counted, how much, of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Dotted name, such as `dbb0.read.bytes`.
    pub name: String,
    /// The count since the start of the simulation, or what is said.
    pub value: Value,
    /// Unit of the value: `bytes`, `cycles`, `bursts`, `ps`; empty for texts.
    pub unit: String,
}

/// Value of a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Count(u64),
    /// A text.
    Text(String),
}
