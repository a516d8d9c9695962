//! The beats of a write client that the interface gathers by aligned blocks; all beats of a block request the arbiter at once.
//!
//! A line is cut at the boundaries of blocks. A block's command goes first and its beats behind it, one a cycle; they request the arbiter when all
//! are there, and are granted in a row. Beats of the bus are aligned and those of the engine count from the line's first byte, so that a line that
//! begins in the middle of a beat needs a beat of the bus more. The header of a line enters pipe_p3 when the line before has gone, and its data
//! comes behind it (RTL, branch nvdlav1, `NV_NVDLA_MCIF_WRITE_IG_bpt.v`, cmd_en, dat_en, in_cmd_rdy, is_swizzle; `_arb.v`, src_cmd0_camp_vld,
//! sticky; `NV_NVDLA_CVIF_WRITE_IG_bpt.v`, `_arb.v` the same).
//!
//! Times are those of the arbiter's grant, from where a beat takes the same time to its address on the bus: a single beat, of which nothing
//! holds back, requests it when it is due. Nothing waits in this code: the times follow from those of the puts and of the grants, as far as
//! these are known.

use crate::checkpoint::{Checkpoint, CheckpointError};
use std::collections::VecDeque;
use vp_core::Time;

/// Beats in front of the arbiter (`_arb.v`, dfifo).
const BEATS: usize = 4;

/// Cycles from the entry of a line's header into pipe_p3 to the earliest one in which its first beat leaves the dfifo: the data leaves pipe_p2
/// a cycle behind the header, and the dfifo takes two.
const HEADER_TO_DATA: u64 = 3;

/// Commands in front of the arbiter (`_arb.v`, pipe_p1 with its skid register).
const COMMANDS: usize = 2;

/// Size of the blocks whose beats an interface gathers, and of a beat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteGathering {
    /// Bytes of a beat.
    pub beat: u32,
    /// Bytes of a block.
    pub block: u32,
}

impl WriteGathering {
    /// Returns the gathering of eight atoms, aligned, in beats of so many bytes (RTL, branch nvdlav1, `NV_NVDLA_MCIF_WRITE_IG_bpt.v`, ftran_size);
    /// none on a narrower bus than the RTL's of 512 bits, of which a block has more beats than there are places in front of the arbiter.
    pub(crate) fn of_atoms(beat: u32, atom: u32) -> Option<WriteGathering> {
        let gathering = WriteGathering { beat, block: 8 * atom };
        (gathering.block.div_ceil(beat) as usize <= BEATS).then_some(gathering)
    }
}

/// A line that is not put whole: its address, its bytes, and how many are put.
struct Line {
    address: u64,
    bytes: u64,
    put: u64,
    /// Bytes of the line that beats of the bus have been made of.
    made: u64,
}

/// A beat of the bus that waits for its place in front of the arbiter.
#[derive(Clone, Copy)]
struct Beat {
    /// Time at which the engine's beat that completes it can leave the dfifo, if nothing holds it back; and number of that one.
    due: Time,
    item: u64,
    begins_line: bool,
    begins_block: bool,
    ends_block: bool,
    ends_line: bool,
}

/// A block whose beats are all in front of the arbiter.
struct Block {
    /// Time from which it requests the arbiter.
    requests: Time,
    beats: u32,
    granted: u32,
}

/// The beats of a client on their way to the arbiter.
pub(crate) struct WriteGatherer {
    config: WriteGathering,
    period: Time,
    lines: VecDeque<Line>,
    /// Number of the engine's beats so far.
    items: u64,
    waiting: VecDeque<Beat>,
    /// Number and time of the last of the engine's beats that has left the dfifo.
    left: (u64, Time),
    /// Time of the last beat that has come in front of the arbiter, and of the last one of the line before.
    accepted: Time,
    line_gone: Time,
    /// Time at which the present block's command came in front of the arbiter, and its beats so far.
    command: Time,
    in_block: u32,
    /// Number of beats in front of the arbiter and granted, and of blocks; the last grants, of beats and of blocks.
    beats: [usize; 2],
    blocks: [usize; 2],
    granted_beats: [Time; BEATS],
    granted_blocks: [Time; COMMANDS],
    /// Blocks that request the arbiter.
    requesting: VecDeque<Block>,
    stalled: Time,
}

impl WriteGatherer {
    pub(crate) fn new(period: Time, config: WriteGathering) -> WriteGatherer {
        WriteGatherer {
            config,
            period,
            lines: VecDeque::new(),
            items: 0,
            waiting: VecDeque::new(),
            left: (0, Time::ZERO),
            accepted: Time::ZERO,
            line_gone: Time::ZERO,
            command: Time::ZERO,
            in_block: 0,
            beats: [0; 2],
            blocks: [0; 2],
            granted_beats: [Time::ZERO; BEATS],
            granted_blocks: [Time::ZERO; COMMANDS],
            requesting: VecDeque::new(),
            stalled: Time::ZERO,
        }
    }

    /// Begins a line.
    pub(crate) fn begin_line(&mut self, address: u64, bytes: u32) {
        if bytes > 0 {
            self.lines.push_back(Line { address, bytes: bytes.into(), put: 0, made: 0 });
        }
    }

    /// Puts so many bytes, which would be at the arbiter at `due`.
    pub(crate) fn put(&mut self, due: Time, bytes: usize) {
        let (beat, block) = (u64::from(self.config.beat), u64::from(self.config.block));
        let mut left = bytes as u64;
        while left > 0
            && let Some(line) = self.lines.front_mut()
        {
            let to_beat = (beat - line.put % beat).min(line.bytes - line.put);
            let taken = left.min(to_beat);
            line.put += taken;
            left -= taken;
            if taken < to_beat {
                break;
            }
            // The engine's beat is whole: so are the bus's that end in it.
            self.items += 1;
            let is_whole = line.put == line.bytes;
            while line.made < line.put {
                let at = line.address.wrapping_add(line.made);
                let end = (line.made + beat - at % beat).min(line.bytes);
                if end > line.put {
                    break;
                }
                let behind = line.address.wrapping_add(end);
                let ends_line = end == line.bytes;
                self.waiting.push_back(Beat {
                    due: due.since(self.period),
                    item: self.items,
                    begins_line: line.made == 0,
                    begins_block: line.made == 0 || at.is_multiple_of(block),
                    ends_block: ends_line || behind.is_multiple_of(block),
                    ends_line,
                });
                line.made = end;
            }
            if is_whole {
                self.lines.pop_front();
            }
        }
        self.advance();
    }

    /// Brings beats in front of the arbiter as far as that is known.
    fn advance(&mut self) {
        let period = self.period;
        while let Some(&beat) = self.waiting.front() {
            if self.beats[0] - self.beats[1] >= BEATS {
                break;
            }
            if beat.begins_block && self.blocks[0] - self.blocks[1] >= COMMANDS {
                break;
            }
            let mut leaves = beat.due;
            if beat.begins_line {
                let header = beat.due.since(period * HEADER_TO_DATA).max(self.line_gone);
                leaves = leaves.max(header + period * HEADER_TO_DATA);
                self.command = header + period;
            } else if beat.begins_block {
                self.command = self.accepted + period;
            }
            if beat.begins_block && self.blocks[0] >= COMMANDS {
                self.command = self.command.max(self.granted_blocks[self.blocks[0] % COMMANDS] + period);
            }
            if beat.item > self.left.0 {
                if !beat.begins_line {
                    leaves = leaves.max(self.left.1 + period);
                }
                self.left = (beat.item, leaves);
            }
            let mut accepted = leaves.max(self.accepted + period).max(self.command + period);
            if self.beats[0] >= BEATS {
                accepted = accepted.max(self.granted_beats[self.beats[0] % BEATS] + period);
            }
            self.accepted = accepted;
            self.beats[0] += 1;
            self.in_block += 1;
            if beat.ends_block {
                self.requesting.push_back(Block {
                    requests: accepted + period,
                    beats: self.in_block,
                    granted: 0,
                });
                self.in_block = 0;
                self.blocks[0] += 1;
            }
            if beat.ends_line {
                self.line_gone = accepted;
            }
            self.waiting.pop_front();
        }
    }

    /// Returns the time from which the first burst that is not granted requests the arbiter, if that is known.
    #[inline]
    pub(crate) fn request_time(&self) -> Option<Time> {
        let block = self.requesting.front()?;
        let last = match self.blocks[1].checked_sub(1) {
            Some(number) => self.granted_blocks[number % COMMANDS] + self.period,
            None => Time::ZERO,
        };
        if block.granted > 0 {
            let number = self.beats[1] - 1;
            return Some(self.granted_beats[number % BEATS] + self.period);
        }
        Some(block.requests.max(last))
    }

    /// Notes that the arbiter has granted the first burst that requests it, of so many beats.
    pub(crate) fn granted(&mut self, at: Time, beats: u32) {
        if let Some(requests) = self.request_time() {
            self.stalled += at.since(requests);
        }
        let Some(block) = self.requesting.front_mut() else { return };
        let mut last = at;
        for beat in 0..beats {
            last = at + self.period * u64::from(beat);
            self.granted_beats[self.beats[1] % BEATS] = last;
            self.beats[1] += 1;
        }
        block.granted += beats;
        if block.granted >= block.beats {
            self.granted_blocks[self.blocks[1] % COMMANDS] = last;
            self.blocks[1] += 1;
            self.requesting.pop_front();
        }
        self.advance();
    }

    /// Returns the bytes of a beat of the bus.
    pub(crate) fn beat(&self) -> u64 {
        self.config.beat.into()
    }

    /// Returns the time at which the last beat of the bus came in front of the arbiter.
    pub(crate) fn accepted(&self) -> Time {
        self.accepted
    }

    /// Returns the time at which the last beat of the last line that has gone came in front of the arbiter.
    pub(crate) fn line_gone(&self) -> Time {
        self.line_gone
    }

    /// Drops what was announced and not put whole, and beats behind the so many that are of whole bursts. A block ends with these.
    pub(in crate::bus::axi) fn abandon(&mut self, whole: usize) {
        self.lines.clear();
        let mut dropped = (self.beats[0] - self.beats[1] + self.waiting.len()).saturating_sub(whole);
        while dropped > 0 && self.waiting.pop_back().is_some() {
            dropped -= 1;
        }
        let dropped = dropped.min(self.in_block as usize);
        self.in_block -= dropped as u32;
        self.beats[0] -= dropped;
        if let Some(last) = self.waiting.back_mut() {
            (last.ends_block, last.ends_line) = (true, true);
        } else if self.in_block > 0 {
            let requests = self.accepted + self.period;
            self.requesting.push_back(Block { requests, beats: self.in_block, granted: 0 });
            self.in_block = 0;
            self.blocks[0] += 1;
            self.line_gone = self.accepted;
        }
        self.advance();
    }

    /// Takes the time for which bursts that request have waited for the arbiter.
    pub(in crate::bus::axi) fn take_stalled(&mut self) -> Time {
        std::mem::take(&mut self.stalled)
    }

    pub(in crate::bus::axi) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        at.at_rest(self.requesting.is_empty() && self.waiting.is_empty(), "a write waits for the arbiter")?;
        // The times are past.
        at.value(&mut self.stalled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CYCLE: Time = Time::ns(1);
    const NVDLAV1: WriteGathering = WriteGathering { beat: 64, block: 256 };

    /// Returns the cycles at which beats are granted of lines at these addresses, of so many bytes each, whose atoms of 32 bytes come two
    /// a cycle from cycle 100 on, if the arbiter is always free.
    fn granted(lines: &[(u64, u32)]) -> Vec<u64> {
        let mut gatherer = WriteGatherer::new(CYCLE, NVDLAV1);
        let (mut granted, mut at) = (Vec::new(), 200);
        for &(address, bytes) in lines {
            gatherer.begin_line(address, bytes);
            for atom in 0..bytes / 32 {
                gatherer.put(CYCLE * (at / 2), 32);
                at += if atom + 1 == bytes / 32 { 2 - at % 2 } else { 1 };
                while let Some(requests) = gatherer.request_time() {
                    gatherer.granted(requests, 1);
                    granted.push(requests.cycles(CYCLE));
                }
            }
        }
        granted
    }

    #[test]
    fn a_single_beat_requests_when_it_is_due() {
        assert_eq!(granted(&[(0, 64)]), [100]);
        assert_eq!(granted(&[(0, 32)]), [100]);
    }

    #[test]
    fn the_beats_of_a_block_ask_when_all_are_there() {
        assert_eq!(granted(&[(0, 256)]), [103, 104, 105, 106]);
        assert_eq!(granted(&[(128, 256)]), [101, 102, 104, 105]);
    }

    #[test]
    fn a_block_takes_a_cycle_more_than_its_beats() {
        let grants = granted(&[(0, 1024)]);
        assert_eq!(grants[4] - grants[0], 5);
        assert_eq!(grants[12] - grants[8], 5);
    }

    /// BDMA on the RTL: four beats of each line in a row, the next line's six cycles behind.
    #[test]
    fn the_next_line_comes_behind_its_header() {
        let grants = granted(&[(0, 256), (0x1000, 256), (0x2000, 256)]);
        assert_eq!((grants[4] - grants[0], grants[8] - grants[4]), (6, 6));
    }

    /// RUBIK on the RTL: of two lines of 64 bytes the second begins in the middle of a beat; both take seven cycles.
    #[test]
    fn a_line_that_begins_in_a_beat_takes_one_more() {
        let grants = granted(&[(0, 64), (0x1020, 64), (0x2000, 64), (0x3020, 64), (0x4000, 64)]);
        let steps: Vec<u64> = grants.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(steps, [4, 1, 2, 4, 1, 2]);
    }
}
