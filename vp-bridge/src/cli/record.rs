//! Results for other programs: records of named values, which are an object in JSON and a line in CSV.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde_json::Value;
use vp_models::counters::{Counter, CounterValue};
use vp_models::printable;

use super::{Failure, standard, text};
use crate::cli::out;

/// Named values, in their order. Names are a part of the interface (`docs/commands.md`).
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Record(Vec<(String, Value)>);

impl Record {
    /// Adds a value; one that is not known is `null`, and nothing in CSV.
    pub(super) fn put(&mut self, name: impl Into<String>, value: impl Serialize) {
        self.0.push((name.into(), serde_json::json!(value)));
    }

    /// Returns the record, with a value added.
    #[must_use]
    pub(super) fn with(mut self, name: impl Into<String>, value: impl Serialize) -> Record {
        self.put(name, value);
        self
    }

    /// Returns the record, with the values of another behind its own.
    #[must_use]
    pub(super) fn and(mut self, other: Record) -> Record {
        self.0.extend(other.0);
        self
    }
}

impl Serialize for Record {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Counters by their names.
pub(super) fn counters(counters: &[Counter]) -> Value {
    let entry = |counter: &Counter| {
        let value: Value = match &counter.value {
            CounterValue::Count(count) => (*count).into(),
            CounterValue::Real(real) => (*real).into(),
            CounterValue::Text(text) => text.as_str().into(),
        };
        (counter.name.clone(), value)
    };
    counters.iter().map(entry).collect()
}

/// True if a value has been printed.
static IS_PRINTED: AtomicBool = AtomicBool::new(false);

/// Prints why a command could not do its work as JSON, if JSON is asked for and nothing has been printed that says so.
pub(super) fn print_failure(failure: &Failure) {
    let has = |word: &str| std::env::args_os().any(|argument| argument == word);
    let asks = has("--json");
    // There it is a file's name.
    let is_check = has("check-peer");
    if asks && !is_check && !IS_PRINTED.load(Ordering::Relaxed) {
        let Failure { what, hint, is_connection, .. } = failure;
        // The same stands on standard error.
        let _ = print(&serde_json::json!({ "error": what, "hint": hint, "is_connection": is_connection }));
    }
}

/// Prints a value as JSON.
pub(super) fn print(value: &impl Serialize) -> Result<(), Failure> {
    IS_PRINTED.store(true, Ordering::Relaxed);
    let text = serde_json::to_string_pretty(value).map_err(Failure::new)?;
    Ok(writeln!(out::stdout(), "{}", printable::json(&text))?)
}

/// Writes records to a CSV file. The columns are the names of all, in the order in which they come first.
pub(super) fn write_csv(path: &Path, records: &[Record]) -> Result<(), Failure> {
    let wrong = |error: csv::Error| Failure::new(format!("cannot write {}: {error}", path.display()));
    let mut columns: Vec<&str> = Vec::new();
    for (name, _) in records.iter().flat_map(|record| &record.0) {
        if !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns.iter().map(|column| text::one_line(column))).map_err(wrong)?;
    for Record(values) in records {
        let cell = |column: &&str| {
            let value = values.iter().find(|(name, _)| name == column);
            value.map_or_else(String::new, |(_, value)| in_cell(value))
        };
        writer.write_record(columns.iter().map(cell)).map_err(wrong)?;
    }
    standard::write(path, writer.into_inner().map_err(|error| wrong(error.into_error().into()))?)
}

fn in_cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => printable::lines(text).into_owned(),
        Value::Array(values) => values.iter().map(in_cell).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_columns_of_all_its_records_and_nothing_where_one_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        let records = [
            Record::default().with("name", "a, b").with("cycles", None::<u64>),
            Record::default().with("name", "c").with("failures", ["one", "two"]).with("cycles", 7),
        ];
        assert!(write_csv(&path, &records).is_ok());
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "name,cycles,failures\n\"a, b\",,\nc,7,one; two\n");
        let json = serde_json::to_value(&records[1]).unwrap();
        assert_eq!(json, serde_json::json!({ "name": "c", "failures": ["one", "two"], "cycles": 7 }));
    }
}
