//! Short access sequences, with the commands and clocks that the standards' figures give by hand.

use super::{Dram, DramConfig, PagePolicy, Refresh, Scheduler};
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
            self.seen.borrow_mut().push((source, (clock, label.to_owned(), value & 0xffff)));
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
        let of = format!("memory.dram{channel}.command");
        let log = self.seen.iter().filter(|(source, _)| *source == of);
        log.map(|(_, entry)| entry.clone()).collect()
    }

    fn count(&self, wanted: &str) -> usize {
        self.seen.iter().filter(|(_, (_, label, _))| label == wanted).count()
    }
}

fn run(config: &DramConfig, accesses: &[Access]) -> Ran {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let clock = Time::ps(config.timing().unwrap().tCK);
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
            while !dram.offer(TransferPart { owner, write, address, bytes: dram.granule(), priority: 0 }) {
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
fn bare(grade: &str) -> DramConfig {
    DramConfig { refresh: Refresh::Off, latency: Time::ZERO, ..DramConfig::of(grade.parse().unwrap()) }
}

fn ddr4() -> DramConfig {
    bare("DDR4-2400R")
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
    // The row was opened for the write, so the write comes first.
    let ran = run(&ddr4(), &[(0, WRITE, 0), (10, READ, COLUMN)]);
    assert_eq!(ran.commands(0), log(&[(0, "ACT", 0), (16, "WR", 0), (41, "RD", 0)]));
    // Behind a read, CL - CWL + 4 + 2.
    let ran = run(&ddr4(), &[(0, READ, 0), (1, WRITE, COLUMN)]);
    assert_eq!(ran.commands(0), log(&[(0, "ACT", 0), (16, "RD", 0), (26, "WR", 0)]));
}

#[test]
fn a_row_stays_open_until_the_access_that_it_was_opened_for() {
    // The read turns the direction before the write is given, and wants another row of the bank.
    let ran = run(&ddr4(), &[(0, WRITE, 0), (5, READ, ROW)]);
    let commands = [(0, "ACT", 0), (16, "WR", 0), (50, "PRE", 0), (66, "ACT", 0), (82, "RD", 0)];
    assert_eq!(ran.commands(0), log(&commands));
}

#[test]
fn accesses_to_one_burst_are_merged_while_they_wait() {
    let eight: Vec<_> = (0..8).map(|at| (at, READ, 0)).collect();
    let ran = run(&ddr4(), &eight);
    assert_eq!(ran.commands(0), log(&[(0, "ACT", 0), (16, "RD", 0)]));
    assert_eq!((ran.answered.clone(), ran.count("merged")), (vec![36; 8], 7));
    let apart = DramConfig { merge: false, ..ddr4() };
    assert_eq!(run(&apart, &eight).count("RD"), 8);
    // The write between them keeps the reads apart; the second is answered from it.
    let ran = run(&ddr4(), &[(0, READ, 0), (1, WRITE, 0), (2, READ, 0)]);
    assert_eq!((ran.count("RD"), ran.count("WR"), ran.count("forwarded")), (1, 1, 1));
    assert_eq!(run(&ddr4(), &[(0, WRITE, 0), (1, WRITE, 0)]).count("WR"), 1);
}

#[test]
fn two_ranks_share_the_buses_alone() {
    // Bit 17 is the rank: ACTs without tRRD, data of 4 clocks with 2 between.
    let two = DramConfig { ranks: Some(2), ..ddr4() };
    let ran = run(&two, &[(0, READ, 0), (0, READ, ROW), (0, READ, GROUP)]);
    let commands =
        [(0, "ACT", 0), (1, "ACT", 16), (4, "ACT", 4), (16, "RD", 0), (20, "RD", 4), (26, "RD", 16)];
    assert_eq!(ran.commands(0), log(&commands));
    // One is refreshed half an interval behind the other, which goes on.
    let two = DramConfig { refresh: Refresh::All, ..two };
    let ran = run(&two, &[(0, READ, 0), (9370, READ, ROW), (14_040, READ, 0), (14_100, READ, ROW)]);
    assert_eq!(ran.answered[1..], [9370 + 36, 14_040 + 36, 14_060 + 421 + 36]);
}

#[test]
fn an_access_that_is_too_old_goes_first() {
    // Writes up to the mark keep a read waiting, and hits its row.
    let mut accesses: Vec<_> = (0..32).map(|at| (0, WRITE, at * COLUMN)).collect();
    accesses.push((20, READ, ROW));
    accesses.extend((0..200).map(|at| (21, WRITE, (at % 100 + 32) * COLUMN)));
    let served = |age_limit| run(&DramConfig { age_limit, overtake: 1000, ..ddr4() }, &accesses).answered[32];
    let [never, soon] = [None, Some(100)].map(served);
    assert!(soon < 300 && never > 2 * soon, "{soon} {never}");
}

#[test]
fn a_row_is_closed_by_its_timer() {
    let config = DramConfig { page: PagePolicy::Timer, page_timer: 30, ..ddr4() };
    let ran = run(&config, &[(0, READ, 0), (40, READ, COLUMN), (200, READ, ROW)]);
    let commands =
        [(0, "ACT", 0), (16, "RD", 0), (40, "RD", 0), (70, "PRE", 0), (200, "ACT", 0), (216, "RD", 0)];
    assert_eq!(ran.commands(0), log(&commands));
    assert_eq!(ran.count("row_conflict"), 0);
}

#[test]
fn an_idle_rank_is_in_power_down_until_it_is_wanted() {
    // tXP 8 clocks; power-down after the data of the read, CL + 4 + 1.
    let config = DramConfig { power_down: Some(10), ..ddr4() };
    let ran = run(&config, &[(0, READ, 0), (100, READ, COLUMN)]);
    let commands = [(0, "ACT", 0), (16, "RD", 0), (37, "PDE", 0), (100, "PDX", 0), (108, "RD", 0)];
    assert_eq!(ran.commands(0)[..5], log(&commands));
    // It leaves it to be refreshed: PREA behind tXP, REF behind tRP.
    let config = DramConfig { refresh: Refresh::All, ..config };
    let ran = run(&config, &[(0, READ, 0), (9900, READ, 0)]);
    let commands = [
        (37, "PDE", 0),
        (9363, "PDX", 0),
        (9371, "PREA", 0),
        (9387, "REF", 0),
        (9388, "PDE", 0),
        (9900, "PDX", 0),
        (9908, "ACT", 0),
    ];
    assert_eq!(ran.commands(0)[2..9], log(&commands));
}

#[test]
fn a_rank_that_is_idle_for_long_refreshes_itself() {
    // tXS of 360 ns: 433 clocks.
    let config = DramConfig { refresh: Refresh::All, self_refresh: Some(1000), ..ddr4() };
    let ran = run(&config, &[(0, READ, 0), (50_000, READ, 0)]);
    let commands = [(1016, "PREA", 0), (1032, "SRE", 0), (50_000, "SRX", 0), (50_433, "ACT", 0)];
    assert_eq!(ran.commands(0)[2..6], log(&commands));
}

#[test]
fn banks_are_refreshed_one_after_the_other_while_others_work() {
    // LPDDR4-3200: 8 banks, tREFI 6246 clocks, so one every 780; tRFCpb 224. Bank 0 is busy, so that 1 goes first, behind the read's
    // four clocks.
    let config = DramConfig { refresh: Refresh::Bank, ..bare("LPDDR4-3200") };
    let mut accesses = vec![(0, READ, 0)];
    accesses.extend((0..4).map(|at| (778, READ, (at + 1) << 6)));
    let ran = run(&config, &accesses);
    let refreshes: Vec<_> =
        ran.commands(0).into_iter().filter(|(_, name, _)| name.as_str() == "REFB").collect();
    assert_eq!(refreshes[..1], log(&[(782, "REFB", 1)]));
    assert!(ran.answered.iter().all(|at| *at < 900), "{:?}", ran.answered);
    let config = DramConfig { refresh: Refresh::Bank, ..bare("DDR5-4800B") };
    let ran = run(&config, &[(0, READ, 0), (5 * 2343, READ, 0)]);
    let banks: Vec<_> = ran.commands(0).into_iter().filter(|(_, name, _)| name.as_str() == "REFB").collect();
    // Bank by bank of each group, each once a round; the first has its row open. Twice as often as tREFI has it: JESD79-5, fine granularity.
    assert_eq!(banks.iter().map(|(_, _, bank)| *bank).collect::<Vec<_>>(), [1, 2, 3, 0, 0, 1, 2, 3, 0, 1]);
}

// DDR5-4800B: CL 40, tRCD 39, tCCD_L 12, tRRD_S 8, bursts of 8 clocks; ACT and RD take two clocks.
#[test]
fn ddr5_counts_from_the_second_clock_of_its_commands() {
    let ran = run(&bare("DDR5-4800B"), &[(0, READ, 0), (0, READ, 1 << 7)]);
    // Bit 6 is the channel, 7 to 9 the group.
    assert_eq!(ran.commands(0), log(&[(0, "ACT", 0), (8, "ACT", 4), (39, "RD", 0), (47, "RD", 4)]));
    assert_eq!(ran.answered, [39 + 1 + 40 + 8, 47 + 1 + 40 + 8]);
}

// HBM2E-3200: CL 32, tRCD 23, tRRD_S 7, bursts of two clocks; bits 5 to 7 are the channel, 8 the pseudo channel.
#[test]
fn pseudo_channels_share_commands_and_have_banks_and_data_of_their_own() {
    let ran = run(&bare("HBM2E-3200"), &[(0, READ, 0), (0, READ, 1 << 8), (0, READ, 1 << 9)]);
    // The second ACT behind the two clocks of the first; a read and an ACT may share a clock.
    let commands =
        [(0, "ACT", 0), (2, "ACT", 16), (7, "ACT", 4), (24, "RD", 0), (26, "RD", 16), (31, "RD", 4)];
    assert_eq!(ran.commands(0), log(&commands));
    assert_eq!(ran.answered, [24 + 34, 26 + 34, 31 + 34]);
}

// LPDDR5-6400: RL 17 and tDQSCK 2, tRCD 15, tWCKPST 1, bursts of two clocks of CK.
#[test]
fn lpddr5_starts_wck_before_a_burst_unless_it_runs() {
    let ran = run(&bare("LPDDR5-6400"), &[(0, READ, 0), (20, READ, 1 << 9), (100, READ, 1 << 9)]);
    // Bits 5 and 6 are the channel, 7 and 8 the group. ACT takes two clocks, RD one.
    let commands =
        [(0, "ACT", 0), (15, "CAS", 0), (16, "RD", 0), (20, "RD", 0), (100, "CAS", 0), (101, "RD", 0)];
    assert_eq!(ran.commands(0), log(&commands));
    assert_eq!(ran.answered, [16 + 21, 20 + 21, 101 + 21]);
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
    let config = DramConfig { refresh: Refresh::All, ..ddr4() };
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
    let config = DramConfig { refresh: Refresh::All, ..ddr4() };
    let ran = run(&config, &[(0, READ, 0), (5 * 9363 + 2000, READ, 0), (6 * 9363 + 100, READ, 0)]);
    assert_eq!(ran.count("REF"), 6);
    let refreshes: Vec<_> = ran.commands(0).into_iter().filter(|(_, name, _)| name == "REF").collect();
    // Each when it was due, the first and the last behind PREA.
    let due = [9363 + 16, 2 * 9363, 3 * 9363, 4 * 9363, 5 * 9363, 6 * 9363 + 16].map(|at| (at, "REF", 0));
    assert_eq!(refreshes, log(&due));
    let last: Vec<_> = ran.commands(0).into_iter().rev().take(2).rev().collect();
    // PREA at the sixth, REF 16 later, 421 until the row may be opened.
    assert_eq!(last, log(&[(6 * 9363 + 437, "ACT", 0), (6 * 9363 + 453, "RD", 0)]));
    assert_eq!(ran.answered[1], 5 * 9363 + 2000 + 36, "far from any refresh");
}

/// Time may have gone on by days.
#[test]
fn a_memory_that_was_idle_for_long_is_caught_up_with_a_second_of_refreshes_at_most() {
    let config = DramConfig { refresh: Refresh::All, ..ddr4() };
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

// Commands take four clocks, PRE two; figures are from last to last clock.
// LPDDR4-3200: RL 28, tDQSCK 6, WL 14, tRCD 29, tRP 29, tRAS 68, tRRD 16, tCCD 8, tRTP 12, tWR 29, a burst of 8 clocks.
// Bit 5 is the channel, 6 to 11 the column, 12 to 14 the bank.
#[test]
fn lpddr4_serves_two_channels_at_once() {
    let config = bare("LPDDR4-3200");
    let ran = run(&config, &[(0, READ, 0), (0, READ, 1 << 5), (0, READ, 1 << 6), (0, READ, 1 << 12)]);
    let commands = [(0, "ACT", 0), (16, "ACT", 1), (29, "RD", 0), (37, "RD", 0), (45, "RD", 1)];
    assert_eq!(ran.commands(0), log(&commands));
    assert_eq!(ran.commands(1), log(&[(0, "ACT", 0), (29, "RD", 0)]));
    assert_eq!(ran.answered, [29 + 3 + 28 + 6 + 8, 74, 82, 90]);
}

#[test]
fn lpddr4_closes_a_row_after_a_write() {
    let ran = run(&bare("LPDDR4-3200"), &[(0, WRITE, 0), (0, WRITE, 1 << 15)]);
    // 29 + 3 + WL + tDQSS + 8 + tWR - 1 = 83; ACT tRP later, but for the two clocks that it takes more.
    let commands = [(0, "ACT", 0), (29, "WR", 0), (83, "PRE", 0), (110, "ACT", 0), (139, "WR", 0)];
    assert_eq!(ran.commands(0), log(&commands));
}

#[test]
fn a_figure_given_replaces_the_grades() {
    let timing = toml::from_str("tRCD = 20").unwrap();
    let ran = run(&DramConfig { timing, ..ddr4() }, &[(0, READ, 0)]);
    assert_eq!(ran.commands(0), log(&[(0, "ACT", 0), (20, "RD", 0)]));
    let timing = toml::from_str("tRCD = '13.75 ns'").unwrap();
    let ran = run(&DramConfig { timing, ..ddr4() }, &[(0, READ, 0)]);
    assert_eq!(ran.commands(0), log(&[(0, "ACT", 0), (17, "RD", 0)]));
}

/// The tables of the standards in clocks, where they give them, or the quotients by hand.
#[test]
fn figures_in_clocks_are_those_of_the_standards() {
    let of = |grade: &str, names: &[&str]| {
        let timing = toml::Table::try_from(DramConfig::of(grade.parse().unwrap()).timing().unwrap()).unwrap();
        names.iter().map(|name| timing[*name].as_integer().unwrap()).collect::<Vec<_>>()
    };
    let ddr4 = [
        "tRCD", "tRAS", "tRC", "tRRD_S", "tRRD_L", "tFAW", "tCCD_L", "tWTR_S", "tWTR_L", "tRTP", "tWR",
        "tRFC", "tREFI",
    ];
    assert_eq!(of("DDR4-2400R", &ddr4), [16, 39, 55, 4, 6, 26, 6, 3, 9, 9, 18, 421, 9363]);
    assert_eq!(of("DDR4-3200AA", &ddr4), [22, 52, 74, 4, 8, 34, 8, 4, 12, 12, 24, 560, 12_480]);
    let lpddr4 =
        ["tRCD", "tRPab", "tRAS", "tRRD_S", "tFAW", "tWTR_S", "tWR", "tRFC", "tRFCpb", "tDQSCK", "tXP"];
    assert_eq!(of("LPDDR4-3200", &lpddr4), [29, 34, 68, 16, 64, 16, 29, 448, 224, 6, 12]);
    let ddr5 = [
        "tRCD",
        "tRAS",
        "tRC",
        "tRRD_L",
        "tFAW",
        "tCCD_L",
        "tCCD_L_WR",
        "tWTR_L",
        "tRTP",
        "tWR",
        "tRFC",
        "tRFCpb",
        "tREFI",
    ];
    assert_eq!(of("DDR5-4800B", &ddr5), [39, 77, 116, 12, 32, 12, 24, 24, 18, 72, 708, 312, 9375]);
    assert_eq!(of("DDR5-6400B", &ddr5), [52, 103, 155, 16, 32, 16, 32, 32, 24, 96, 943, 416, 12_500]);
    let lpddr5 = ["tRCD", "tRAS", "tRRD_S", "tFAW", "tBURST", "tWTR_S", "tRFC", "tREFI", "tpbR2pbR"];
    assert_eq!(of("LPDDR5-6400", &lpddr5), [15, 34, 4, 16, 2, 5, 224, 3124, 72]);
    assert_eq!(of("LPDDR5X-8533", &lpddr5), [20, 45, 4, 16, 2, 7, 299, 4164, 96]);
    let stacked = ["CL", "tRCD", "tRCDWR", "tRC", "tBURST", "tCCD_L", "tRFC", "tREFI"];
    assert_eq!(of("HBM2E-3200", &stacked), [32, 23, 16, 76, 2, 5, 560, 6240]);
    assert_eq!(of("HBM3-6400", &stacked), [20, 31, 15, 71, 2, 4, 416, 6240]);
    assert_eq!(of("GDDR6-14000", &stacked), [24, 27, 16, 80, 2, 4, 211, 3327]);
}

#[test]
fn a_channel_holds_what_its_devices_hold() {
    let of = |grade: &str| {
        let organisation = DramConfig::of(grade.parse().unwrap()).organisation().unwrap();
        (organisation.bytes() >> 20, organisation.burst_bytes())
    };
    let all =
        ["DDR4-2400R", "LPDDR4-3200", "DDR5-4800B", "LPDDR5-6400", "HBM2E-3200", "HBM3-6400", "GDDR6-14000"];
    let expected = [(8192, 64), (2048, 32), (16_384, 64), (8192, 32), (8192, 32), (8192, 32), (1024, 32)];
    assert_eq!(all.map(of), expected);
}
