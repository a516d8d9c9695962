//! The log of connections that have not been let in.
//!
//! Whoever can connect can cause any number of these lines, and would fill the disk that the log is on. So there is
//! one a second at most; those between are counted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// From one line to the next, at least.
const PERIOD: Duration = Duration::from_secs(1);

/// Log of what strangers do at a server. Clones are the same log.
#[derive(Debug, Clone, Default)]
pub(crate) struct StrangerLog(Arc<Mutex<Written>>);

/// Lines that have been written, and those that have not.
#[derive(Debug, Default)]
struct Written {
    last: Option<Instant>,
    left_out: u64,
}

impl StrangerLog {
    /// Logs a line, unless there was one within the last second.
    pub(crate) fn add(&self, line: &str) {
        if let Some(line) = self.due(line, Instant::now()) {
            tracing::warn!("{line}");
        }
    }

    /// Logs how many lines have been left out since the last one, when the server ends.
    pub(crate) fn sum_up(&self) {
        let left_out = std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).left_out);
        if left_out > 0 {
            tracing::warn!("{left_out} more lines about connections that were not let in");
        }
    }

    /// Returns the line as it is to be logged, if it is.
    fn due(&self, line: &str, now: Instant) -> Option<String> {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if written.last.is_some_and(|last| now < last + PERIOD) {
            written.left_out += 1;
            return None;
        }
        written.last = Some(now);
        Some(match std::mem::take(&mut written.left_out) {
            0 => line.to_owned(),
            left_out => format!("{line}; {left_out} more lines like this were left out before it"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_line_a_second_with_the_number_of_those_between() {
        let (log, began) = (StrangerLog::default(), Instant::now());
        let due = |line, millis| log.due(line, began + Duration::from_millis(millis));
        assert_eq!(due("1", 0).as_deref(), Some("1"));
        assert_eq!((due("2", 1), due("3", 999)), (None, None));
        assert_eq!(due("4", 1000).as_deref(), Some("4; 2 more lines like this were left out before it"));
        assert_eq!(due("5", 1999), None);
        assert_eq!(due("6", 3000).as_deref(), Some("6; 1 more lines like this were left out before it"));
        assert_eq!(due("7", 4000).as_deref(), Some("7"));
    }
}
