//! Silence of the server while a call waits: how long it is accepted, and when the server gets a Ping.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use vp_protocols::native::RequestId;

/// Parts of the longest silence: after the first one the server is asked, after the last one given up. A program that was stopped
/// itself, in a debugger or with its whole machine, finds one part gone and not all of them.
const PARTS: u32 = 4;

/// Longest silence of a peer, in wall-clock time: a whole number of seconds, or `none` for no limit, for
/// example for a program in a debugger.
///
/// ```
/// use vp_client::SilenceLimit;
/// assert_eq!(SilenceLimit::default().to_string(), "20");
/// assert_eq!("none".parse::<SilenceLimit>()?.duration(), None);
/// assert!("0".parse::<SilenceLimit>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SilenceLimit(Option<Duration>);

impl SilenceLimit {
    /// The environment variable for programs that have no option for it.
    pub const VARIABLE: &str = "VP_HEARTBEAT";
    /// No limit.
    pub const NONE: Self = Self(None);

    /// Limit of this length.
    pub const fn of(limit: Duration) -> Self {
        Self(Some(limit))
    }

    /// Returns the longest silence; `None`: for ever.
    pub fn duration(self) -> Option<Duration> {
        self.0
    }

    /// The value from the environment, or the default if it is not set.
    ///
    /// # Errors
    /// The error in the variable's value, for people.
    pub fn from_environment() -> Result<Self, String> {
        match std::env::var(Self::VARIABLE) {
            Ok(text) => text.parse().map_err(|why| format!("{} is `{text}`: {why}", Self::VARIABLE)),
            Err(_) => Ok(Self::default()),
        }
    }
}

impl Default for SilenceLimit {
    /// 20 s. A server looks at its sessions more than once a second.
    fn default() -> Self {
        Self::of(Duration::from_secs(20))
    }
}

impl FromStr for SilenceLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(seconds @ 1..) => Ok(Self::of(Duration::from_secs(seconds))),
            _ if text == "none" => Ok(Self::NONE),
            _ => Err("write a whole number of seconds, 1 or more, or `none`".to_owned()),
        }
    }
}

impl fmt::Display for SilenceLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(limit) => write!(f, "{}", limit.as_secs_f64()),
            None => f.write_str("none"),
        }
    }
}

/// A limit in words: `5 s`, and less than a second as `80 ms`.
pub fn limit_in_words(limit: Duration) -> String {
    match limit.as_millis() {
        milliseconds @ ..1_000 => format!("{milliseconds} ms"),
        _ => format!("{} s", limit.as_secs_f64()),
    }
}

/// Action that is due about a silence.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SilenceAction {
    /// Nothing, for so long.
    Wait(Duration),
    /// Send a Ping now, unless one is unanswered.
    Ask,
    /// Taking the server for gone.
    GiveUp,
}

/// A server's silence. Without a limit it is not looked at.
#[derive(Debug)]
pub(crate) struct Silence {
    limit: SilenceLimit,
    /// Time at which the present part began.
    since: Option<Instant>,
    /// Parts that are over.
    parts: u32,
    /// The Ping that is not answered.
    pub(crate) ping: Option<RequestId>,
}

impl Silence {
    pub(crate) fn new(limit: SilenceLimit) -> Self {
        Self { limit, since: None, parts: 0, ping: None }
    }

    pub(crate) fn limit(&self) -> Option<Duration> {
        self.limit.duration()
    }

    /// Something has come, or no Ping can be sent.
    pub(crate) fn end(&mut self) {
        (self.since, self.parts) = (None, 0);
    }

    /// Returns what is due, after the stream was read and nothing was there. None: whatever the silence, nothing.
    pub(crate) fn look(&mut self, now: Instant) -> Option<SilenceAction> {
        let part = self.limit()? / PARTS;
        let since = *self.since.get_or_insert(now);
        if let Some(left) = part.checked_sub(now - since).filter(|left| !left.is_zero()) {
            return Some(SilenceAction::Wait(left));
        }
        self.since = Some(now);
        self.parts += 1;
        Some(if self.parts < PARTS { SilenceAction::Ask } else { SilenceAction::GiveUp })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_silent_server_is_asked_after_a_quarter_of_the_limit_and_given_up_at_its_end() {
        let mut silence = Silence::new(SilenceLimit::of(4 * SECOND));
        let began = Instant::now();
        let mut look = |at: Duration| silence.look(began + at).unwrap();
        assert_eq!(look(Duration::ZERO), SilenceAction::Wait(SECOND));
        assert_eq!(look(SECOND / 2), SilenceAction::Wait(SECOND / 2));
        for at in 1..4 {
            assert_eq!(look(at * SECOND), SilenceAction::Ask);
        }
        assert_eq!(look(4 * SECOND), SilenceAction::GiveUp);
    }

    #[test]
    fn limits_under_a_second_are_told_in_milliseconds() {
        assert_eq!(
            [80, 1_500, 5_000].map(Duration::from_millis).map(limit_in_words),
            ["80 ms", "1.5 s", "5 s"]
        );
        let ring = crate::RingError::NoAnswer(Duration::from_millis(80));
        assert_eq!(ring.to_string(), "no answer for 80 ms");
    }

    #[test]
    fn what_comes_ends_a_silence() {
        let mut silence = Silence::new(SilenceLimit::of(4 * SECOND));
        let began = Instant::now();
        for at in 0..100 {
            assert_ne!(silence.look(began + at * SECOND), Some(SilenceAction::GiveUp));
            if at % 3 == 0 {
                silence.end();
            }
        }
    }

    #[test]
    fn time_in_which_this_program_was_stopped_counts_as_one_part() {
        let mut silence = Silence::new(SilenceLimit::of(4 * SECOND));
        let began = Instant::now();
        silence.look(began);
        assert_eq!(silence.look(began + 1000 * SECOND), Some(SilenceAction::Ask));
        assert_eq!(silence.look(began + 1000 * SECOND), Some(SilenceAction::Wait(SECOND)));
    }

    #[test]
    fn without_a_limit_nothing_is_ever_due() {
        let mut silence = Silence::new(SilenceLimit::NONE);
        assert_eq!(silence.look(Instant::now()), None);
    }
}
