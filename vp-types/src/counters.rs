//! Counters by name, and how one is looked up among them.

use serde::{Deserialize, Serialize};

/// One counter: what was counted, how much, of what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// Dotted name, such as `dbb0.read.bytes`.
    pub name: String,
    /// Unit of the value: `bytes`, `cycles`, `bursts`, `ps`; empty for texts.
    pub unit: String,
    /// The value.
    pub value: CounterValue,
}

/// Value that a counter holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum CounterValue {
    /// A count of something, since the start of the simulation.
    Count(u64),
    /// A measure or ratio.
    Real(f64),
    /// A value that is not a number: a state, a name.
    Text(String),
}

impl Counter {
    /// A counter that is a count.
    pub fn count(name: impl Into<String>, unit: &str, value: u64) -> Counter {
        Counter { name: name.into(), unit: unit.to_owned(), value: CounterValue::Count(value) }
    }

    /// A counter that is a measure.
    pub fn real(name: impl Into<String>, unit: &str, value: f64) -> Counter {
        Counter { name: name.into(), unit: unit.to_owned(), value: CounterValue::Real(value) }
    }

    /// A counter that is a text.
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Counter {
        Counter { name: name.into(), unit: String::new(), value: CounterValue::Text(text.into()) }
    }
}

fn find<'a>(counters: &'a [Counter], name: &str) -> Option<&'a CounterValue> {
    counters.iter().find(|counter| counter.name == name).map(|counter| &counter.value)
}

/// The number counted under a name.
#[must_use]
pub fn count(counters: &[Counter], name: &str) -> Option<u64> {
    if let CounterValue::Count(count) = find(counters, name)? { Some(*count) } else { None }
}

/// The measure kept under a name.
#[must_use]
pub fn real(counters: &[Counter], name: &str) -> Option<f64> {
    if let CounterValue::Real(real) = find(counters, name)? { Some(*real) } else { None }
}

/// The text kept under a name.
#[must_use]
pub fn text<'a>(counters: &'a [Counter], name: &str) -> Option<&'a str> {
    if let CounterValue::Text(text) = find(counters, name)? { Some(text) } else { None }
}
