//! The two ends of a channel with a handshake, an edge at a time (AMBA AXI specification, "Handshake process").

use std::collections::VecDeque;

use vp_core::Time;

/// Transfers that may wait to be taken, at most.
const MOST_UNTAKEN: usize = 65_536;

/// A channel on which the platform sends: what it has driven stands on the pins until the pins' ready takes it.
#[derive(Debug)]
pub(crate) struct Incoming<T> {
    /// With the edge from which on each is seen; the first one is on the pins, when that has come.
    queue: VecDeque<(Time, T)>,
    /// The ready on this side, as the platform was told last. It is high at the beginning.
    ready: bool,
}

impl<T> Default for Incoming<T> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), ready: true }
    }
}

impl<T> Incoming<T> {
    /// Something is on the pins from an edge on, behind what is there.
    ///
    /// # Errors
    /// More than the platform may drive ahead.
    pub(crate) fn push(&mut self, at: Time, payload: T) -> Result<(), String> {
        if self.queue.len() >= MOST_UNTAKEN {
            return Err(format!("more than {MOST_UNTAKEN} transfers that were not taken"));
        }
        self.queue.push_back((at, payload));
        Ok(())
    }

    /// Returns what is on the pins at an edge.
    pub(crate) fn pins(&self, now: Time) -> Option<&T> {
        self.queue.front().filter(|(at, _)| *at <= now).map(|(_, payload)| payload)
    }

    /// The ready at an edge, if it is not what it was.
    pub(crate) fn change(&mut self, ready: bool) -> Option<bool> {
        (std::mem::replace(&mut self.ready, ready) != ready).then_some(ready)
    }

    /// Takes what is accepted at an edge.
    pub(crate) fn finish(&mut self, now: Time) -> Option<T> {
        if !self.ready || self.pins(now).is_none() {
            return None;
        }
        self.queue.pop_front().map(|(_, payload)| payload)
    }
}

/// A channel on which the pins of this side send: the platform drives its ready.
#[derive(Debug)]
pub(crate) struct Outgoing<T> {
    /// Payload that is on the pins and was not taken.
    open: Option<T>,
    ready: bool,
    /// Levels of ready that are still to be seen.
    levels: VecDeque<(Time, bool)>,
}

impl<T> Default for Outgoing<T> {
    fn default() -> Self {
        Self { open: None, ready: true, levels: VecDeque::new() }
    }
}

impl<T: Clone + PartialEq> Outgoing<T> {
    pub(crate) fn push_ready(&mut self, at: Time, ready: bool) {
        self.levels.push_back((at, ready));
    }

    /// The ready at an edge.
    pub(crate) fn ready(&mut self, now: Time) -> bool {
        while self.levels.front().is_some_and(|(at, _)| *at <= now)
            && let Some((_, ready)) = self.levels.pop_front()
        {
            self.ready = ready;
        }
        self.ready
    }

    /// Takes what is on the pins at an edge, and gives what is new there.
    ///
    /// # Errors
    /// The rule that the pins break.
    pub(crate) fn sample(&mut self, payload: Option<T>) -> Result<Option<T>, &'static str> {
        match (&self.open, payload) {
            (None, new) => {
                self.open.clone_from(&new);
                Ok(new)
            }
            (Some(_), None) => Err("valid has to stay high until ready takes the transfer"),
            (Some(open), Some(same)) if *open == same => Ok(None),
            (Some(_), Some(_)) => Err("the payload has to stay as it is until ready takes the transfer"),
        }
    }

    /// Takes what is accepted at an edge.
    pub(crate) fn finish(&mut self, now: Time) -> Option<T> {
        if self.ready(now) { self.open.take() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(time: u64) -> Time {
        Time::ns(time)
    }

    #[test]
    fn what_comes_stands_until_it_is_taken_one_an_edge() {
        let mut channel = Incoming::default();
        (0..2).for_each(|number| channel.push(ns(5), number).unwrap());
        assert_eq!(channel.pins(ns(4)), None);
        assert_eq!(channel.change(false), Some(false));
        assert_eq!((channel.pins(ns(5)).copied(), channel.finish(ns(5))), (Some(0), None));
        assert_eq!((channel.change(true), channel.change(true)), (Some(true), None));
        assert_eq!(
            (channel.finish(ns(6)), channel.finish(ns(7)), channel.finish(ns(8))),
            (Some(0), Some(1), None)
        );
    }

    #[test]
    fn no_more_is_kept_than_may_be_driven_ahead() {
        let mut channel = Incoming::default();
        (0..MOST_UNTAKEN).for_each(|number| channel.push(ns(5), number).unwrap());
        assert!(channel.push(ns(5), 0).unwrap_err().contains("65536 transfers"));
    }

    #[test]
    fn what_is_sent_is_new_once_and_must_not_change_before_it_is_taken() {
        let mut channel = Outgoing::default();
        channel.push_ready(ns(3), false);
        channel.push_ready(ns(6), true);
        assert_eq!((channel.sample(Some(1)), channel.finish(ns(2))), (Ok(Some(1)), Some(1)));
        assert_eq!((channel.sample(Some(2)), channel.finish(ns(3))), (Ok(Some(2)), None));
        assert_eq!((channel.sample(Some(2)), channel.finish(ns(4))), (Ok(None), None));
        assert!(channel.sample(Some(3)).unwrap_err().contains("payload"));
        assert!(channel.sample(None).unwrap_err().contains("valid"));
        assert_eq!(channel.finish(ns(6)), Some(2));
        assert_eq!(channel.sample(None), Ok(None));
    }
}
