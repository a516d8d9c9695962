//! Numbers of entries as differences to those before, which are small.

use vp_core::Time;
use vp_hub::{Access, Input, PartyCommand, Position, Recorded, RequestId, Tag, Until};

/// The numbers that differences are to.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    time: u64,
    stops: u64,
    outputs: u64,
    driven: u64,
    begun: u64,
    tag: u64,
    request: u64,
    heard: u64,
}

/// Puts a difference in the place of a number, or the other way round; the second is what it is to.
type Convert = fn(u64, u64) -> u64;

fn difference(number: u64, to: u64) -> u64 {
    let difference = number.wrapping_sub(to).cast_signed();
    // Small ones of both signs are small (ZigZag).
    ((difference << 1) ^ (difference >> 63)).cast_unsigned()
}

fn number(difference: u64, to: u64) -> u64 {
    to.wrapping_add((difference >> 1) ^ (difference & 1).wrapping_neg())
}

impl Numbers {
    /// Puts differences in the places of numbers.
    pub(crate) fn make_differences(&mut self, entry: &mut Recorded) {
        self.convert(entry, difference, |number, _| number);
    }

    /// Puts the numbers back.
    pub(crate) fn make_numbers(&mut self, entry: &mut Recorded) {
        self.convert(entry, number, |_, number| number);
    }

    /// `kept` says which of both, what was there or what comes there, is the number.
    fn convert(&mut self, entry: &mut Recorded, convert: Convert, kept: Convert) {
        let follow = |value: &mut u64, last: &mut u64| {
            let was = *value;
            *value = convert(was, *last);
            *last = kept(was, *value);
        };
        let now = self.time;
        let timed = |time: &mut Time| *time = Time::ps(convert(time.as_ps(), now));
        let access = |access: &mut Access| access.at.iter_mut().for_each(timed);
        match entry {
            Recorded::Ran(Position { time, stops, outputs, driven, begun, .. }) => {
                let mut ps = time.as_ps();
                follow(&mut ps, &mut self.time);
                *time = Time::ps(ps);
                follow(stops, &mut self.stops);
                follow(outputs, &mut self.outputs);
                follow(driven, &mut self.driven);
                follow(begun, &mut self.begun);
            }
            Recorded::Input(Input::Command { tag: Tag(tag), command, .. }) => {
                follow(tag, &mut self.tag);
                match command {
                    PartyCommand::Access(of) => access(of),
                    PartyCommand::Advance(Until::Time(time))
                    | PartyCommand::Advance(Until::Interrupt { limit: Some(time), .. })
                    | PartyCommand::Step { to: time } => timed(time),
                    _ => {}
                }
            }
            Recorded::Input(Input::Posted { access: of, .. }) => access(of),
            Recorded::Input(Input::Answer { request: RequestId(request), .. }) => {
                follow(request, &mut self.request);
            }
            Recorded::Input(Input::Driven { at, .. }) => timed(at),
            Recorded::Input(Input::Promised { promise, .. }) => {
                follow(&mut promise.heard, &mut self.heard);
                timed(&mut promise.next);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_difference_gives_its_number_back_and_is_small_if_they_are_close(a: u64, b: u64, near in -60_i64..60) {
            prop_assert_eq!(number(difference(a, b), b), a);
            prop_assert!(difference(a.wrapping_add_signed(near), a) < 128);
        }
    }
}
