//! Cycles of the Verilog that LiteDRAM's generator writes, in a simulation with the same accesses.

use super::LiteDramConfig;
use super::controller::{Controller, ControllerCommand, Driven, PortBurst};
use std::collections::VecDeque;

/// Words of 8 bytes from one bank to the next, and from one row of a bank to the next.
const BANK: u64 = 256;
const ROW: u64 = 8 * BANK;

/// Returns the cycles from the address of each access, which comes in that cycle or later, to its answer.
fn latencies(accesses: &[(u64, bool, u64)]) -> Vec<u64> {
    let mut controller = Controller::new(LiteDramConfig::default().figures(), 1);
    let mut waiting: VecDeque<_> = accesses.iter().copied().enumerate().collect();
    let (mut taken, mut answered) = (vec![0; accesses.len()], vec![None; accesses.len()]);
    let mut data = false;
    while answered.contains(&None) {
        let now = controller.now();
        let next = waiting.front().copied().filter(|&(_, (at, ..))| at <= now);
        let burst =
            next.map(|(tag, (_, write, word))| (write, PortBurst { word, beats: 1, tag: tag as u64 }));
        let of = |write: bool| burst.filter(|(it, _)| *it == write).map(|(_, burst)| burst);
        let outputs = controller.port(0);
        let is_taken =
            (of(false).is_some() && outputs.takes_read) || (of(true).is_some() && outputs.takes_write);
        if let (true, Some((tag, _))) = (is_taken, next) {
            taken[tag] = now;
            waiting.pop_front();
            data = of(true).is_some();
        }
        if let Some((tag, _)) = outputs.data {
            answered[tag as usize] = Some(now - taken[tag as usize]);
        }
        if let Some(tag) = outputs.written {
            answered[tag as usize] = Some(now + 1 - taken[tag as usize]);
        }
        let beat = std::mem::take(&mut data).then_some(true);
        controller
            .step(&[Driven { read: of(false), write: of(true), data: beat, holds_data: false }], |_| {});
    }
    answered.into_iter().flatten().collect()
}

#[test]
fn a_read_takes_15_cycles_in_an_open_row_21_in_a_closed_bank_and_24_in_a_bank_with_another_row() {
    assert_eq!(latencies(&[(100, false, 0), (300, false, 1), (500, false, ROW)]), [21, 15, 24]);
}

#[test]
fn choosers_take_a_cycle_to_come_to_another_bank() {
    let accesses = [(100, false, 0), (300, false, 3 * BANK), (500, false, 1)];
    assert_eq!(latencies(&accesses), [21, 22, 16]);
}

#[test]
fn a_write_waits_until_reads_have_left_the_bus_and_a_read_until_the_multiplexer_turns() {
    let accesses = [(100, false, 0), (300, true, 1), (500, true, 2), (700, false, 3)];
    assert_eq!(latencies(&accesses), [21, 16, 6, 18]);
}

#[test]
fn a_port_has_accesses_in_one_bank_at_a_time() {
    let accesses = [(100, false, 0), (200, false, BANK), (300, false, 1), (300, false, BANK + 1)];
    assert_eq!(latencies(&accesses)[2..], [16, 19]);
}

#[test]
fn a_row_is_closed_with_its_last_access_if_one_to_another_row_waits() {
    let mut commands = Vec::new();
    let mut controller = Controller::new(LiteDramConfig::default().figures(), 1);
    let read =
        |word: u64| Driven { read: Some(PortBurst { word, beats: 1, tag: word }), ..Driven::default() };
    controller.rest(100, |_| {});
    controller.step(&[read(0)], |command| commands.push(command));
    controller.step(&[Driven::default()], |command| commands.push(command));
    controller.step(&[read(ROW)], |command| commands.push(command));
    controller.rest(200, |command| commands.push(command));
    let expected = [
        ControllerCommand::Activate { bank: 0, row: 0 },
        ControllerCommand::Read { bank: 0, close: true },
        ControllerCommand::Activate { bank: 0, row: 1 },
        ControllerCommand::Read { bank: 0, close: false },
    ];
    assert_eq!(commands, expected);
}

#[test]
fn a_controller_that_rests_is_as_one_that_is_stepped() {
    for until in [1559, 1560, 1600, 1700, 50_000, 1_000_000] {
        let mut twins = [0, 1].map(|_| Controller::new(LiteDramConfig::default().figures(), 1));
        let read = Driven { read: Some(PortBurst { word: 9, beats: 1, tag: 0 }), ..Driven::default() };
        for twin in &mut twins {
            twin.step(&[read], |_| {});
            (0..40).for_each(|_| twin.step(&[Driven::default()], |_| {}));
        }
        let [stepped, rests] = &mut twins;
        while stepped.now() < until {
            stepped.step(&[Driven::default()], |_| {});
        }
        rests.rest(until, |_| {});
        let mut after = [Vec::new(), Vec::new()];
        for (twin, commands) in twins.iter_mut().zip(&mut after) {
            twin.step(&[read], |_| {});
            for _ in 0..2000 {
                let now = twin.now();
                twin.step(&[Driven::default()], |command| commands.push((now, command)));
            }
        }
        assert_eq!(after[0], after[1], "until {until}");
    }
}
