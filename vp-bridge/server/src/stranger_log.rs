//! The log of connections that have not been let in.
//!
//! Whoever can connect can cause any number of these lines, and would fill the disk that the log is on. So there is a line a second of each
//! kind at most; those between are counted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::sleep_until;

use crate::session_end::End;

/// From one line of a kind to the next.
const PERIOD: Duration = Duration::from_secs(1);

/// Log of what strangers do at a server. Clones are the same log.
#[derive(Debug, Clone)]
pub(crate) struct StrangerLog {
    turned_away: RepeatedLine,
    wrong_tokens: RepeatedLine,
    ended: RepeatedLine,
    failed: RepeatedLine,
    not_taken: RepeatedLine,
}

impl StrangerLog {
    pub(crate) fn new() -> StrangerLog {
        StrangerLog {
            turned_away: RepeatedLine::new(Severity::Warning),
            wrong_tokens: RepeatedLine::new(Severity::Warning),
            ended: RepeatedLine::new(Severity::Note),
            failed: RepeatedLine::new(Severity::Warning),
            not_taken: RepeatedLine::new(Severity::Warning),
        }
    }

    /// A connection gets no place.
    pub(crate) fn turned_away(&self, name: &str, reason: &str) {
        self.turned_away.add(format!("{name}: {reason}; turned away"));
    }

    /// A newcomer has shown a token that is not right.
    pub(crate) fn wrong_token(&self, name: &str, reason: &str) {
        self.wrong_tokens.add(format!("{name}: {reason}"));
    }

    /// A newcomer becomes no session.
    pub(crate) fn ended(&self, name: &str, end: &End) {
        let kind = match end {
            End::Fine(_) => &self.ended,
            End::Wrong(_) => &self.failed,
        };
        kind.add(end.line(name));
    }

    /// A connection could not be accepted.
    pub(crate) fn not_taken(&self, address: &vp_transport::Address, error: &std::io::Error) {
        self.not_taken.add(format!("{address}: cannot take a connection: {error}"));
    }

    /// Logs what has been counted, when the server ends.
    pub(crate) fn sum_up(&self) {
        let StrangerLog { turned_away, wrong_tokens, ended, failed, not_taken } = self;
        for kind in [turned_away, wrong_tokens, ended, failed, not_taken] {
            kind.sum_up();
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Severity {
    Note,
    Warning,
}

/// Lines of one kind.
#[derive(Debug, Clone)]
struct RepeatedLine {
    severity: Severity,
    repeats: Arc<Mutex<Repeats>>,
}

impl RepeatedLine {
    fn new(severity: Severity) -> RepeatedLine {
        RepeatedLine { severity, repeats: Arc::default() }
    }

    fn repeats(&self) -> MutexGuard<'_, Repeats> {
        self.repeats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, line: String) {
        let added = self.repeats().add(line, Instant::now());
        match added {
            Added::Due(line) => self.log(&line),
            Added::KeptUntil(time) => {
                let kind = self.clone();
                tokio::spawn(async move {
                    sleep_until(time.into()).await;
                    kind.sum_up();
                });
            }
            Added::Counted => {}
        }
    }

    fn sum_up(&self) {
        let summary = self.repeats().sum_up(Instant::now());
        if let Some(line) = summary {
            self.log(&line);
        }
    }

    fn log(&self, line: &str) {
        match self.severity {
            Severity::Note => tracing::info!("{line}"),
            Severity::Warning => tracing::warn!("{line}"),
        }
    }
}

/// Times at which lines of one kind are logged.
#[derive(Debug, Default)]
struct Repeats {
    /// Time at which the next line may be logged.
    next: Option<Instant>,
    /// The newest that has not been, and how many there are.
    kept: Option<(String, u64)>,
}

/// Fate of a line.
#[derive(Debug, PartialEq, Eq)]
enum Added {
    /// The line is logged now.
    Due(String),
    /// The line is the first of those that are summed up at that time.
    KeptUntil(Instant),
    /// The line is summed up with others.
    Counted,
}

impl Repeats {
    fn add(&mut self, line: String, now: Instant) -> Added {
        match (&mut self.kept, self.next) {
            (Some((newest, count)), _) => {
                *newest = line;
                *count += 1;
                Added::Counted
            }
            (None, Some(next)) if now < next => {
                self.kept = Some((line, 1));
                Added::KeptUntil(next)
            }
            (None, _) => {
                self.next = Some(now + PERIOD);
                Added::Due(line)
            }
        }
    }

    /// One line for those that have not been logged.
    fn sum_up(&mut self, now: Instant) -> Option<String> {
        let (newest, count) = self.kept.take()?;
        self.next = Some(now + PERIOD);
        Some(match count {
            1 => newest,
            _ => format!("{newest}; and {} more like it", count - 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_logged_at_once_and_those_of_the_next_second_are_one_with_their_number() {
        let (mut repeats, began) = (Repeats::default(), Instant::now());
        let after = |millis| began + Duration::from_millis(millis);
        assert_eq!(repeats.add("1".to_owned(), began), Added::Due("1".to_owned()));
        assert_eq!(repeats.add("2".to_owned(), after(1)), Added::KeptUntil(after(1000)));
        for line in ["3", "4"] {
            assert_eq!(repeats.add(line.to_owned(), after(999)), Added::Counted);
        }
        assert_eq!(repeats.sum_up(after(1000)).as_deref(), Some("4; and 2 more like it"));
        assert_eq!(repeats.sum_up(after(1000)), None);
        // From there on it is a second again.
        assert_eq!(repeats.add("5".to_owned(), after(1999)), Added::KeptUntil(after(2000)));
        assert_eq!(repeats.sum_up(after(2000)).as_deref(), Some("5"));
        assert_eq!(repeats.add("6".to_owned(), after(3000)), Added::Due("6".to_owned()));
    }

    #[test]
    fn a_line_that_comes_before_the_summary_of_others_is_in_it() {
        let (mut repeats, began) = (Repeats::default(), Instant::now());
        repeats.add("1".to_owned(), began);
        repeats.add("2".to_owned(), began);
        assert_eq!(repeats.add("3".to_owned(), began + 2 * PERIOD), Added::Counted);
        assert_eq!(repeats.sum_up(began + 2 * PERIOD).as_deref(), Some("3; and 1 more like it"));
    }
}
