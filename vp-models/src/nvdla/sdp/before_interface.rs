//! Atoms that have started and wait for the memory interface of nvdlav1, which takes longer for lines of few atoms than SDP does.
//!
//! ```text
//! CACC, main input → multiplexer → BS → BN → converter → lanes of the write DMA → pipes → interface
//! ```
//!
//! A beat of 16 elements begins when the one so many before it as the registers hold has left for the lanes. These are two banks, for a line's atoms in
//! turns, of four atoms each; the atoms of a beat of the bus leave them together, behind their line's header
//! (RTL, branch nvdlav1, `NV_NVDLA_SDP_cmux.v`, `_core.v`, `_CORE_x.v`, `_CORE_c.v`; `_WDMA_DAT_in.v`, `_DAT_out.v`, cmd_en, dat_en; `_WDMA_dmaif.v`).

use super::layer::SdpLayer;
use super::pipeline::{CONVERTER, Registers};
use super::timing;
use crate::nvdla::cube::Surface;
use crate::nvdla::timing::SdpTiming;
use crate::nvdla::write_interface::{Last, WriteInterface};
use std::collections::VecDeque;
use vp_core::Time;

/// The register between the converter and the lanes (`NV_NVDLA_SDP_core.v`, pipe_p11).
const TO_LANES: Registers = Registers { with_skid: 0, without: 1, caught: 0, catching: 0 };

/// Atoms that each bank of the write DMA's lanes holds (`NV_NVDLA_SDP_WDMA_DAT_in.v`, dfifo: a RAM of three and an output register).
const BANK: usize = 4;
/// Pipes between the lanes and the interface's cut of lines, each with a skid buffer: two of the write DMA's (`NV_NVDLA_SDP_WDMA_dmaif.v`, pipe_p1
/// and p3), and pipe_p1 and p2 of the interface.
const PIPES: usize = 4;
/// Cycles from the entry of a line's first beat into the lanes until its header leaves (seen at sdp2mcif_wr_req).
const TO_HEADER: u64 = 2;
/// Beats that are looked back to.
const BEATS: usize = 80;

/// The atoms between SDP's input and the memory interface.
pub(super) struct BeforeInterface {
    cycle: Time,
    /// Beats of an atom, and atoms of a beat of the bus.
    beats: u32,
    atoms: usize,
    atom: u32,
    all: Registers,
    /// Cycles at which the last beats have entered the lanes, the newest last.
    entered: VecDeque<u64>,
    /// Lines that are to come; bytes that are to come of the present one, and the atoms of its next beat of the bus.
    lines: Box<dyn Iterator<Item = (u64, u32)>>,
    left: u32,
    gathered: usize,
    /// Cycle at which the present line's header, or its last beat of the bus, has left the lanes.
    sent: Option<u64>,
    banks: [Last<BANK>; 2],
    interface: WriteInterface,
}

impl BeforeInterface {
    /// Returns none if SDP never waits: if the interface takes no longer for a line than SDP.
    pub(super) fn of(
        layer: &SdpLayer,
        surface: Surface,
        timing: &SdpTiming,
        cycle: Time,
    ) -> Option<BeforeInterface> {
        let gathering = timing.gathering?;
        if layer.ew.is_some() || layer.output.bytes() != layer.precision.bytes() {
            return None;
        }
        let (beats, atom) = (timing::pace(layer, timing).max(1), layer.atom as u32);
        let (_, bytes) = timing::writes(layer, surface).next()?;
        // A line that begins in the middle of a beat, and of a block: its header, a command of each block, and its beats.
        let on_bus = 2 + bytes.div_ceil(gathering.beat) + 1 + bytes.div_ceil(gathering.block);
        if on_bus <= beats * bytes.div_ceil(atom) {
            return None;
        }
        let all = Registers::before_elementwise(layer, timing).and(CONVERTER).and(TO_LANES);
        Some(BeforeInterface {
            cycle,
            beats,
            atoms: (gathering.beat / atom).max(1) as usize,
            atom,
            all,
            entered: VecDeque::new(),
            lines: timing::writes(layer, surface),
            left: 0,
            gathered: 0,
            sent: None,
            banks: [const { Last::new() }; 2],
            interface: WriteInterface::new(PIPES, Some(gathering)),
        })
    }

    /// Returns the time from which on the next atom can start.
    pub(super) fn room(&self) -> Time {
        let held = self.all.held() as usize;
        let begins = (0..self.beats as usize).filter_map(|beat| {
            let index = (self.entered.len() + beat).checked_sub(held)?;
            let left = *self.entered.get(index)?;
            Some((left + u64::from(self.all.backward())).saturating_sub(beat as u64))
        });
        self.cycle * begins.max().unwrap_or(0)
    }

    /// Returns the time from which on so many registers in front of the converter have room for the beat before the last, as if it were at SDP's input.
    pub(super) fn before_last_enters(&self, registers: Registers) -> Time {
        let rest = registers.and(CONVERTER).and(TO_LANES);
        let left = self.entered.len().checked_sub(2 + rest.held() as usize);
        let passed = self.all.forward() - rest.forward();
        let enters = |left: usize| self.entered[left] + u64::from(rest.backward());
        self.cycle * left.map_or(0, enters).saturating_sub(passed.into())
    }

    /// An atom starts.
    pub(super) fn start(&mut self, start: Time) {
        let start = start.cycles(self.cycle) + u64::from(self.all.forward());
        let bank = self.gathered % self.banks.len();
        // A bank takes an atom in the cycle in which one leaves it.
        let room = self.banks[bank].room().saturating_sub(1);
        let mut entered = 0;
        for beat in 0..u64::from(self.beats) {
            let behind = self.entered.back().map_or(0, |last| last + 1);
            entered = (start + beat).max(behind).max(room);
            self.entered.push_back(entered);
        }
        if self.left == 0 {
            let Some((address, bytes)) = self.lines.next() else { return };
            let first = entered + 1 - u64::from(self.beats);
            let from = self.sent.map_or(0, |sent| sent + 1).max(first + TO_HEADER);
            self.sent = Some(self.interface.line(from, address, bytes));
            self.left = bytes;
        }
        self.left = self.left.saturating_sub(self.atom);
        self.gathered += 1;
        if self.gathered == self.atoms || self.left == 0 {
            let from = self.sent.map_or(0, |sent| sent + 1).max(entered + 1);
            let (sent, _) = self.interface.data(from, self.gathered * self.atom as usize);
            self.sent = Some(sent);
            self.banks.iter_mut().take(self.gathered).for_each(|bank| bank.note(sent));
            self.gathered = 0;
        }
        while self.entered.len() > BEATS {
            self.entered.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::axi::WriteGathering;

    /// Returns the cycles at which atoms of two bytes an element start that are there in each cycle, and whose lines are these.
    fn starts(all: Registers, lines: Vec<(u64, u32)>, atoms: usize) -> Vec<u64> {
        let cycle = Time::ns(1);
        let mut leaving = BeforeInterface {
            cycle,
            beats: 1,
            atoms: 2,
            atom: 32,
            all,
            entered: VecDeque::new(),
            lines: Box::new(lines.into_iter()),
            left: 0,
            gathered: 0,
            sent: None,
            banks: [const { Last::new() }; 2],
            interface: WriteInterface::new(PIPES, Some(WriteGathering { beat: 64, block: 256 })),
        };
        let mut next = Time::ZERO;
        let start = |_| {
            let at = next.max(leaving.room());
            leaving.start(at);
            next = at + cycle;
            at.cycles(cycle)
        };
        (0..atoms).map(start).collect()
    }

    /// Returns runs of numbers that follow each other: the first and the last of each.
    fn runs(numbers: &[u64]) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for &number in numbers {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => runs.push((number, number)),
            }
        }
        runs
    }

    /// Eight lines of eight columns by Winograd's method, whose pairs of columns begin in the middle of a beat: sums were taken in these cycles.
    #[test]
    fn as_on_nv_full() {
        let line = |number: u64| {
            let (block, pair, line) = (number / 16, number / 4 % 4, number % 4);
            (0x10a0 + 0x100 * (4 * block + line) + 0x40 * pair, 64)
        };
        let multiplexers = Registers { with_skid: 2, ..Registers::default() };
        let all = CONVERTER.and(TO_LANES).and(multiplexers);
        let starts = starts(all, (0..32).map(line).collect(), 64);
        let pairs =
            [35, 39, 44, 49, 54, 59, 63, 67, 71, 75, 79, 83, 87, 91, 95].map(|first| (first, first + 1));
        let seen: Vec<(u64, u64)> = std::iter::once((0, 33)).chain(pairs).collect();
        assert_eq!(runs(&starts), seen);
    }
}
