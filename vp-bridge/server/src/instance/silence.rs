//! Silent sessions: which get a Ping, which are told that the server is there, and which are disconnected.
//!
//! Silence alone is not an error, because a client may compute for minutes between two calls. It is an error
//! for a session that has promised to answer Pings at any time, and for every session where the server's user
//! sets a limit for idle ones.

use std::time::{Duration, Instant};

use vp_protocols::native::ErrorCode;

use super::session_stream::SessionStream;
use super::{PlatformThread, TimeLimits};
use crate::session_end::SessionOutcome;

/// Looks at a session within the longest silence. What passes while this process is stopped counts as one of them.
const LOOKS: u32 = 4;
/// Interval at which a session that is not read is told that the server is there: a quarter of what a client
/// accepts by default (docs/protocol.md, "Silence").
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// Times at which the sessions of a platform are looked at for their silence.
pub(super) struct Watch {
    interval: Duration,
    next: Instant,
}

impl Watch {
    pub(super) fn new(patience: &TimeLimits) -> Watch {
        let limits = [patience.heartbeat, patience.idle_timeout].into_iter().flatten();
        let interval = limits.map(|limit| limit / LOOKS).chain([SIGN_OF_LIFE]).min().unwrap_or(SIGN_OF_LIFE);
        Watch { interval, next: Instant::now() + interval }
    }
}

/// Time for which a session has been silent, as of the last look.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// Nothing has come for so long.
    unheard: Duration,
    /// Nothing but Pings has passed for so long.
    idle: Duration,
}

/// Action that is to be taken about a session.
enum SilenceAction {
    Fine,
    Ping,
    Disconnect(ErrorCode, SessionOutcome),
}

impl Silence {
    /// Judges a session after a look at its stream, so long after the last one.
    fn judge(
        &mut self,
        interval: Duration,
        patience: &TimeLimits,
        stream: &mut SessionStream,
    ) -> SilenceAction {
        let signs = stream.take_signs();
        self.unheard = if signs.is_heard { Duration::ZERO } else { self.unheard + interval };
        self.idle = if signs.is_busy { Duration::ZERO } else { self.idle + interval };
        let promised = patience.heartbeat.filter(|_| stream.has_promised_pongs());
        let is_over = |limit: &Duration| self.unheard >= *limit && stream.pings() > 0;
        if let Some(limit) = promised.filter(is_over) {
            let limit = limit.as_secs_f64();
            let why = format!("nothing has come for {limit} s, and no answer to a Ping, which was promised");
            return SilenceAction::Disconnect(ErrorCode::NotAnswered, SessionOutcome::Wrong(why));
        }
        if let Some(limit) = patience.idle_timeout.filter(|limit| self.idle >= *limit) {
            return SilenceAction::Disconnect(ErrorCode::Idle, idle(limit));
        }
        let is_asked = promised.is_some_and(|limit| self.unheard >= limit / LOOKS && stream.pings() == 0);
        if is_asked || stream.is_held_back() { SilenceAction::Ping } else { SilenceAction::Fine }
    }
}

/// The end of a session that was idle for so long.
fn idle(limit: Duration) -> SessionOutcome {
    SessionOutcome::Fine(format!(
        "idle for {} s, as long as this server lets a session be",
        limit.as_secs_f64()
    ))
}

impl PlatformThread {
    /// Returns the time at which the sessions are to be looked at next, if any has to be.
    pub(super) fn silence_wake(&mut self) -> Option<Instant> {
        let TimeLimits { heartbeat, idle_timeout, .. } = self.patience;
        let is_watched = idle_timeout.is_some()
            || self.members.values_mut().any(|member| {
                let stream = &mut member.stream;
                stream.is_held_back() || (heartbeat.is_some() && stream.has_promised_pongs())
            });
        is_watched.then_some(self.watch.next)
    }

    /// Looks at the sessions, behind a look at their streams, if that is due.
    pub(super) fn check_heartbeat(&mut self) {
        let now = Instant::now();
        if now < self.watch.next {
            return;
        }
        let interval = self.watch.interval;
        self.watch.next = now + interval;
        let (mut asked, mut silent) = (Vec::new(), Vec::new());
        let is_stopped = self.hub.stopped().is_some();
        for (session, member) in &mut self.members {
            let member = &mut **member;
            if is_stopped {
                // Who waits for nothing but time is not idle while a debugger has it stand.
                member.silence.idle = Duration::ZERO;
            }
            match member.silence.judge(interval, &self.patience, &mut member.stream) {
                SilenceAction::Fine => {}
                SilenceAction::Ping => asked.push(*session),
                SilenceAction::Disconnect(code, end) => silent.push((*session, code, end)),
            }
        }
        for session in asked {
            if let Some(member) = self.members.get_mut(&session) {
                member.stream.ping();
            }
        }
        if is_stopped {
            self.adapted.keep_active();
        } else if let Some(limit) = self.patience.idle_timeout {
            // Of the other protocols none has a Ping.
            let idle_ones = self.adapted.idle(interval, limit).into_iter();
            silent.extend(idle_ones.map(|session| (session, ErrorCode::Idle, idle(limit))));
        }
        for (session, code, end) in silent {
            self.close(session, code, end);
        }
    }
}
