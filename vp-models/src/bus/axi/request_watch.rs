//! Counts that an engine makes of its requests and of their data: a client's without a latency FIFO.
//!
//! CDMA counts the cycles in which a request waits for `ready`, and those in which a request was made whose data it has not all taken (RTL,
//! `NV_NVDLA_CDMA_dc.v`, `_IMG_sg.v`, `_wg.v`, `_wt.v`: `rd_stall_inc`, `rd_latency_inc`, `_dec`). The requests stand in the registers of
//! [`RequestRegisters`].

use super::AxiConfig;
use super::burst::{Cut, Run};
use super::request_registers::{EarliestRequest, RequestPlaces, RequestRegisters};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::Time;

/// The counts of one layer.
pub struct RequestWatch {
    cut: Cut,
    beat_bytes: u32,
    /// True if the client's beats begin with the first byte of each request.
    is_realigned: bool,
    /// Time from a request's `ready` to its address, and from a beat at the engine's end of the intake to its being counted, together.
    around: Time,
    state: RefCell<State>,
}

struct State {
    registers: RequestRegisters,
    /// Beats of each request whose data is not all taken; of the first those that are not.
    beats: VecDeque<u32>,
    /// Time at which the last of the data before was taken.
    done: Time,
    outstanding: Time,
}

impl RequestWatch {
    pub(super) fn new(axi: &AxiConfig, places: RequestPlaces, around: Time) -> Rc<RequestWatch> {
        let registers = RequestRegisters::new(axi.period, axi.request_registers, places);
        let state = State { registers, beats: VecDeque::new(), done: Time::ZERO, outstanding: Time::ZERO };
        Rc::new(RequestWatch {
            cut: Cut::new(axi, axi.transaction_beats),
            beat_bytes: axi.beat_bytes,
            is_realigned: axi.realigns_reads,
            around,
            state: RefCell::new(state),
        })
    }

    /// Notes the next request.
    pub fn request(&self, address: u64, bytes: u32, possible: EarliestRequest) {
        let mut state = self.state.borrow_mut();
        let first = match self.is_realigned {
            true => 0,
            false => (address % u64::from(self.beat_bytes)) as u32,
        };
        state.beats.push_back((first + bytes).div_ceil(self.beat_bytes));
        state.registers.request(possible, self.cut.count(Run { address, bytes }), 0);
    }

    /// Notes that the arbiter has taken a burst.
    pub(super) fn granted(&self, at: Time) {
        self.state.borrow_mut().registers.granted(at);
    }

    /// Notes that the engine takes the next beat.
    pub fn taken(&self, at: Time) {
        let State { registers, beats, done, outstanding } = &mut *self.state.borrow_mut();
        let Some(left) = beats.front_mut() else { return };
        *left -= 1;
        if *left == 0 {
            beats.pop_front();
            let at = at + self.around;
            if let Some(made) = registers.done(at) {
                *outstanding += at.since(made.max(*done));
                *done = at;
            }
        }
    }

    /// Returns the time for which requests have waited for `ready`.
    pub fn stalled(&self) -> Time {
        *self.state.borrow_mut().registers.stalled(0)
    }

    /// Returns the time for which a request was outstanding.
    pub fn outstanding(&self) -> Time {
        self.state.borrow().outstanding
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::axi::EarliestRequest;
    use crate::bus::axi::interconnect::tests::config;

    const CYCLE: Time = Time::ns(1);

    /// With beats of 8 bytes and as many cycles around a request and its data as on nv_small's RTL: 8.
    fn watch() -> Rc<RequestWatch> {
        RequestWatch::new(&config(1), RequestPlaces { registers: 2, under_way: Some(128) }, CYCLE * 8)
    }

    fn request(watch: &RequestWatch, at: u64, beats: u32) {
        watch.request(0, beats * 8, EarliestRequest { at: CYCLE * at, ..EarliestRequest::default() });
        (0..beats).for_each(|beat| watch.granted(CYCLE * (at + u64::from(beat))));
    }

    fn take(watch: &RequestWatch, times: impl IntoIterator<Item = u64>) {
        times.into_iter().for_each(|time| watch.taken(CYCLE * time));
    }

    /// On the RTL 483 cycles from the first address to the last beat of a layer's input, without a gap, are 491.
    #[test]
    fn requests_in_flight_together_are_one_time() {
        let watch = watch();
        request(&watch, 0, 2);
        request(&watch, 2, 1);
        take(&watch, [50, 51, 483]);
        assert_eq!(watch.outstanding(), CYCLE * 491);
    }

    #[test]
    fn each_time_with_a_request_in_flight_counts_what_is_around_it() {
        let watch = watch();
        request(&watch, 0, 1);
        take(&watch, [50]);
        request(&watch, 100, 1);
        take(&watch, [150]);
        assert_eq!(watch.outstanding(), CYCLE * (58 + 58));
    }

    #[test]
    fn a_request_is_in_flight_until_its_last_beat() {
        let watch = watch();
        request(&watch, 0, 3);
        take(&watch, [50, 51]);
        assert_eq!(watch.outstanding(), Time::ZERO);
        take(&watch, [90]);
        assert_eq!(watch.outstanding(), CYCLE * 98);
    }
}
