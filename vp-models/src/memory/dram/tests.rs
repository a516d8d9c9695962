//! Short access sequences, with the commands and clocks that the standards' figures give by hand.

use super::standard::Standard;
use super::{Dram, DramConfig, PagePolicy, Scheduler};
use crate::memory::level::{Level, TransferPart};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use vp_core::observe::{Observation, Observer, What};
use vp_core::{Sim, Simulation, Time};

/// Action of a controller: clock, what, and of which bank.
type Entry = (u64, String, u64);
type Log = Vec<Entry>;

struct Recorder {
    sim: Sim,
    clock: Time,
    seen: RefCell<Vec<(String, Entry)>>,
}

impl Observer for Recorder {
    fn observe(&self, observation: &Observation<'_>) {
        if let What::Count { label, value } = observation.what {
            let source = self.sim.source_name(observation.source).to_string();
            let clock = observation.time.cycles(self.clock);
            self.seen.borrow_mut().push((source, (clock, label.to_owned(), value & 0xffff_ffff)));
        }
    }
}

/// An access: the clock at which it comes, whether it writes, and its address.
type Access = (u64, bool, u64);

struct Ran {
    seen: Vec<(String, Entry)>,
    /// The clock at which each access was answered, in the order in which they were given.
    answered: Vec<u64>,
}

impl Ran {
    /// The commands of a channel.
    fn commands(&self, channel: u32) -> Log {
        let of = format!("memory.dram{channel}");
        let is_command = |label: &str| label.chars().all(|it| it.is_ascii_uppercase());
        let log = self.seen.iter().filter(|(source, (_, label, _))| *source == of && is_command(label));
        log.map(|(_, entry)| entry.clone()).collect()
    }

    fn count(&self, wanted: &str) -> usize {
        self.seen.iter().filter(|(_, (_, label, _))| label == wanted).count()
    }
}

fn run(config: &DramConfig, accesses: &[Access]) -> Ran {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let clock = Time::ps(config.timing_in_force().tCK);
    let recorder = Rc::new(Recorder { sim: sim.clone(), clock, seen: RefCell::default() });
    sim.observe(recorder.clone());
    let dram = Rc::new(Dram::new(&sim, "memory", config).unwrap());
    let answered: Rc<RefCell<HashMap<u64, u64>>> = Rc::default();
    let (told, now) = (answered.clone(), sim.clone());
    dram.on_done(Box::new(move |owner| {
        let again = told.borrow_mut().insert(owner, now.now().cycles(clock));
        assert_eq!(again, None, "answered twice");
    }));
    let (given, count) = (accesses.to_vec(), accesses.len() as u64);
    sim.clone().process("accesses", async move {
        for (owner, (at, write, address)) in (0..).zip(given) {
            sim.wait_until(clock * at).await;
            while !dram.offer(TransferPart { owner, write, address, bytes: dram.granule() }) {
                dram.room().wait().await;
            }
        }
    });
    simulation.run();
    let answered = answered.borrow();
    let answered = (0..count).map(|owner| answered[&owner]).collect();
    Ran { seen: recorder.seen.take(), answered }
}

/// Without refresh, and with a controller that takes no time.
fn bare(standard: Standard) -> DramConfig {
    DramConfig { refresh: false, latency: Time::ZERO, ..DramConfig::of(standard) }
}

fn ddr4() -> DramConfig {
    bare(Standard::Ddr4_2400R)
}

fn log(entries: &[(u64, &str, u64)]) -> Log {
    entries.iter().map(|&(at, name, bank)| (at, name.to_owned(), bank)).collect()
}

const READ: bool = false;
const WRITE: bool = true;

// DDR4-2400R: CL 16, CWL 12, tRCD 16, tRP 16, tRAS 39, tRRD 4 and 6, tFAW 26, tCCD 4 and 6, tWTR 3 and 9, tRTP 9, tWR 18,
// a burst of 4 clocks. Address bits by the usual mapping: group 6 and 7, column 8 to 14, bank 15 and 16, row 17 and up; banks
// are numbered through, four to a group.
const COLUMN: u64 = 1 << 8;
const GROUP: u64 = 1 << 6;
const BANK: u64 = 1 << 15;
const ROW: u64 = 1 << 17;

#[test]
fn a_read_opens_its_row_and_comes_after_the_latency() {
    let ran = run(&ddr4(), &[(0, READ, 0)]);
    // tRCD; data after CL and the burst.
    assert_eq!(ran.commands(0), log(&[(0, "ACT", 0), (16, "RD", 0)]));
    assert_eq!(ran.answered, [16 + 16 + 4]);
}

#[test]
fn reads_of_one_group_are_farther_apart_than_those_of_two() {
    let ran = run(&ddr4(), &[(0, READ, 0), (0, READ, COLUMN), (0, READ, GROUP)]);
    // The other group's ACT after tRRD_S; its read 4 behind the first; the first group's next read could be at 22 (tCCD_L),
    // but the one between moves it to 24 (tCCD_S).
    let commands = log(&[(0, "ACT", 0), (4, "ACT", 4), (16, "RD", 0), (20, "RD", 4), (24, "RD", 0)]);
    assert_eq!(ran.commands(0), commands);
    assert_eq!(ran.answered, [36, 44, 40]);
    let ran = run(&ddr4(), &[(0, READ, 0), (0, READ, COLUMN)]);
    assert_eq!(ran.commands(0), log(&[(0, "ACT", 0), (16, "RD", 0), (22, "RD", 0)]));
}

#[test]
fn another_row_waits_until_the_first_may_be_closed() {
    let ran = run(&ddr4(), &[(0, READ, 0), (0, READ, ROW)]);
    // tRAS 39 is later than 16 + tRTP; then tRP and tRCD.
    let commands = [(0, "ACT", 0), (16, "RD", 0), (39, "PRE", 0), (55, "ACT", 0), (71, "RD", 0)];
    assert_eq!(ran.commands(0), log(&commands));
    assert_eq!([ran.count("row_hit"), ran.count("row_miss"), ran.count("row_conflict")], [0, 1, 1]);
}

#[test]
fn a_hit_overtakes_an_older_access_to_another_row() {
    let accesses = [(0, READ, 0), (0, READ, ROW), (0, READ, COLUMN)];
    let ran = run(&ddr4(), &accesses);
    let commands =
        [(0, "ACT", 0), (16, "RD", 0), (22, "RD", 0), (39, "PRE", 0), (55, "ACT", 0), (71, "RD", 0)];
    assert_eq!(ran.commands(0), log(&commands));
    assert_eq!(ran.answered, [36, 91, 42]);
    assert_eq!(ran.count("row_hit"), 1);
    // In order: the second row's tRAS ends at 55 + 39.
    let ran = run(&DramConfig { scheduler: Scheduler::Fcfs, ..ddr4() }, &accesses);
    let commands = [
        (0, "ACT", 0),
        (16, "RD", 0),
        (39, "PRE", 0),
        (55, "ACT", 0),
        (71, "RD", 0),
        (94, "PRE", 0),
        (110, "ACT", 0),
        (126, "RD", 0),
    ];
    assert_eq!(ran.commands(0), log(&commands));
}

#[test]
fn hits_overtake_only_so_often() {
    let mut accesses = vec![(0, READ, 0), (0, READ, ROW)];
    accesses.extend((1..6).map(|column| (0, READ, column * COLUMN)));
    let ran = run(&DramConfig { overtake: 2, ..ddr4() }, &accesses);
    // The first is the oldest itself; two overtake; then the other row has its turn.
    let reads_before =
        ran.commands(0).iter().take_while(|(_, name, _)| name != "PRE").filter(|it| it.1 == "RD").count();
    assert_eq!(reads_before, 3);
}

#[test]
fn a_read_after_a_write_waits_for_the_turn_of_the_bus() {
    // The write's data ends at 16 + 12 + 4; tWTR_L later the same group may read.
    let ran = run(&ddr4(), &[(0, WRITE, 0), (17, READ, COLUMN)]);
    assert_eq!(ran.commands(0), log(&[(0, "ACT", 0), (16, "WR", 0), (41, "RD", 0)]));
    assert_eq!(ran.answered, [0, 61], "a write is posted");
    // The read comes first where it is there before the write is given; CL - CWL + 4 + 2 later the write.
    let ran = run(&ddr4(), &[(0, WRITE, 0), (10, READ, COLUMN)]);
    assert_eq!(ran.commands(0), log(&[(0, "ACT", 0), (16, "RD", 0), (26, "WR", 0)]));
}

#[test]
fn a_row_is_closed_after_the_recovery_of_a_write() {
    let ran = run(&ddr4(), &[(0, WRITE, 0), (0, WRITE, ROW)]);
    // 16 + CWL + 4 + tWR.
    let commands = [(0, "ACT", 0), (16, "WR", 0), (50, "PRE", 0), (66, "ACT", 0), (82, "WR", 0)];
    assert_eq!(ran.commands(0), log(&commands));
}

#[test]
fn four_rows_at_most_are_opened_in_a_window() {
    let accesses =
        [(0, READ, 0), (0, READ, GROUP), (0, READ, 2 * GROUP), (0, READ, 3 * GROUP), (0, READ, BANK)];
    let commands = [
        (0, "ACT", 0),
        (4, "ACT", 4),
        (8, "ACT", 8),
        (12, "ACT", 12),
        (16, "RD", 0),
        (20, "RD", 4),
        (24, "RD", 8),
        // tFAW after the first.
        (26, "ACT", 1),
        (28, "RD", 12),
        (42, "RD", 1),
    ];
    assert_eq!(run(&ddr4(), &accesses).commands(0), log(&commands));
}

#[test]
fn a_closed_page_is_closed_with_its_last_access() {
    let config = DramConfig { page: PagePolicy::Closed, ..ddr4() };
    let ran = run(&config, &[(0, READ, 0), (0, READ, COLUMN), (0, READ, ROW)]);
    // Closed at 39 by itself, open again tRP later.
    let commands = [(0, "ACT", 0), (16, "RD", 0), (22, "RDA", 0), (55, "ACT", 0), (71, "RDA", 0)];
    assert_eq!(ran.commands(0), log(&commands));
}

#[test]
fn a_refresh_closes_all_rows_and_holds_up_the_channel() {
    let config = DramConfig { refresh: true, ..ddr4() };
    let ran = run(&config, &[(0, READ, 0), (9360, READ, 0), (9362, READ, ROW)]);
    // Due at 7.8 µs, 9363 clocks; the row may be closed 9 after its last read; REF tRP later, ACT 350 ns (421) after that.
    let commands = [
        (0, "ACT", 0),
        (16, "RD", 0),
        (9360, "RD", 0),
        (9369, "PREA", 0),
        (9385, "REF", 0),
        (9806, "ACT", 0),
        (9822, "RD", 0),
    ];
    assert_eq!(ran.commands(0), log(&commands));
}

#[test]
fn refreshes_go_on_while_nothing_is_asked_for() {
    let config = DramConfig { refresh: true, ..ddr4() };
    let ran = run(&config, &[(0, READ, 0), (5 * 9363 + 2000, READ, 0), (6 * 9363 + 100, READ, 0)]);
    assert_eq!(ran.count("REF"), 6);
    let last: Vec<_> = ran.commands(0).into_iter().rev().take(2).rev().collect();
    // PREA at the sixth, REF 16 later, 421 until the row may be opened.
    assert_eq!(last, log(&[(6 * 9363 + 437, "ACT", 0), (6 * 9363 + 453, "RD", 0)]));
    assert_eq!(ran.answered[1], 5 * 9363 + 2000 + 36, "far from any refresh");
}

/// Time may have gone on by days.
#[test]
fn a_memory_that_was_idle_for_long_is_caught_up_with_a_second_of_refreshes_at_most() {
    let config = DramConfig { refresh: true, ..ddr4() };
    let at = 400_000 * 9363 + 2000;
    let ran = run(&config, &[(0, READ, 0), (at, READ, 0)]);
    assert_eq!(ran.count("REF"), (1 << 17) + 1);
    assert_eq!(ran.answered[1], at + 36, "the row was closed, and no refresh is near");
}

#[test]
fn a_read_of_what_waits_to_be_written_is_answered_from_the_queue() {
    let config = DramConfig { latency: Time::ns(20), ..ddr4() };
    let ran = run(&config, &[(0, WRITE, 0), (1, READ, 0)]);
    assert_eq!(ran.commands(0), log(&[(0, "ACT", 0), (16, "WR", 0)]));
    // 20 ns are 24 clocks and a fraction.
    assert_eq!((ran.answered[1], ran.count("forwarded")), (25, 1));
}

// LPDDR4-3200: RL 28, tDQSCK 6, WL 14, tRCD 29, tRP 29, tRAS 68, tRRD 16, tCCD 8, tRTP 12, tWR 29, a burst of 8 clocks.
// Bit 5 is the channel, 6 to 11 the column, 12 to 14 the bank.
#[test]
fn lpddr4_serves_two_channels_at_once() {
    let config = bare(Standard::Lpddr4_3200);
    let ran = run(&config, &[(0, READ, 0), (0, READ, 1 << 5), (0, READ, 1 << 6), (0, READ, 1 << 12)]);
    let commands = [(0, "ACT", 0), (16, "ACT", 1), (29, "RD", 0), (37, "RD", 0), (45, "RD", 1)];
    assert_eq!(ran.commands(0), log(&commands));
    assert_eq!(ran.commands(1), log(&[(0, "ACT", 0), (29, "RD", 0)]));
    assert_eq!(ran.answered, [29 + 28 + 6 + 8, 71, 79, 87]);
}

#[test]
fn lpddr4_closes_a_row_after_a_write() {
    let ran = run(&bare(Standard::Lpddr4_3200), &[(0, WRITE, 0), (0, WRITE, 1 << 15)]);
    // 29 + WL + tDQSS + 8 + tWR = 81; tRP later ACT.
    let commands = [(0, "ACT", 0), (29, "WR", 0), (81, "PRE", 0), (110, "ACT", 0), (139, "WR", 0)];
    assert_eq!(ran.commands(0), log(&commands));
}

#[test]
fn a_figure_given_replaces_the_grades() {
    let timing = toml::from_str("tRCD = 20").unwrap();
    let ran = run(&DramConfig { timing, ..ddr4() }, &[(0, READ, 0)]);
    assert_eq!(ran.commands(0), log(&[(0, "ACT", 0), (20, "RD", 0)]));
    let refusal = |text: &str| {
        let config = DramConfig { timing: toml::from_str(text).unwrap(), ..ddr4() };
        config.check().unwrap_err().to_string()
    };
    assert!(
        refusal("tRDC = 20").starts_with("timing.tRDC: figures of the timing are tCK, CL"),
        "{}",
        refusal("tRDC = 20")
    );
    assert_eq!(refusal("tCK = 0"), "timing.tCK = 0: it is at least 1");
}
