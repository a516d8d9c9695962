//! Atoms of a layer's main input from memory, as they come to the datapath.

use super::Sdp;
use super::layer::SdpLayer;
use crate::nvdla::dma::{Atom, MAX_ATOM};
use std::collections::VecDeque;
use vp_core::Time;

/// The main input of one layer.
pub(super) struct MainInput<'a> {
    sdp: &'a Sdp,
    /// For lines whose surfaces take turns: atoms of the first surface.
    first: VecDeque<Atom>,
    has_turns: bool,
}

impl<'a> MainInput<'a> {
    pub(super) fn new(sdp: &'a Sdp, layer: &SdpLayer) -> MainInput<'a> {
        MainInput { sdp, first: VecDeque::new(), has_turns: layer.input_atoms() > 1 }
    }

    /// Waits until the next atom is there; tells since when it has been.
    pub(super) async fn ready(&self) -> Time {
        let ahead = self.sdp.ahead.borrow().front().map(|&(since, _)| since);
        match ahead {
            Some(since) => since,
            None => {
                self.sdp.main.feed.ready().await;
                self.sdp.main.feed.since()
            }
        }
    }

    /// Takes a line of so many atoms of the first surface, if the second one's come behind it.
    pub(super) async fn take_first(&mut self, atoms: u64) {
        if !self.has_turns {
            return;
        }
        for _ in 0..atoms {
            self.ready().await;
            let atom = self.next();
            self.first.push_back(atom);
        }
    }

    /// Takes the next atom, or one of each surface.
    pub(super) fn take(&mut self) -> [u8; 2 * MAX_ATOM] {
        let atom = self.sdp.hardware.atom;
        let input = [self.first.pop_front(), Some(self.next())];
        let mut bytes = [0; 2 * MAX_ATOM];
        for (place, input) in bytes.chunks_exact_mut(atom).zip(input.into_iter().flatten()) {
            place.copy_from_slice(&input[..atom]);
        }
        bytes
    }

    fn next(&self) -> Atom {
        let ahead = self.sdp.ahead.borrow_mut().pop_front();
        ahead.map_or_else(|| self.sdp.main.feed.take(), |(_, atom)| atom)
    }
}
