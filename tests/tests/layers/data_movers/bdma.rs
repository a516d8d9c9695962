//! BDMA: copies, their queue and their groups.

use proptest::prelude::*;
use vp_core::Time;
use vp_models::bus::axi::Latency;
use vp_models::nvdla::bdma::layer::BdmaTransfer;
use vp_models::nvdla::registers::{Unit, bdma as reg};
use vp_models::platform::Description;
use vp_tests::device::Device;
use vp_tests::effort::cases;
use vp_tests::program::Program;
use vp_tests::reference::Image;

use super::{ATOM, Operations, duration, ram};

const BDMA_0: u32 = 0x40;
const BDMA_1: u32 = 0x80;
const IDLE: u32 = 1 << 8;
const GRP0_BUSY: u32 = 1 << 9;
const GRP1_BUSY: u32 = 1 << 10;

const DRAM: u64 = 0x8000_0000;
const SRAM: u64 = 0x5000_0000;

#[derive(Clone, Copy, Debug)]
struct End {
    base: u64,
    line: u32,
    surface: u32,
}

#[derive(Clone, Copy, Debug)]
struct Copy {
    bytes: u32,
    lines: u32,
    surfaces: u32,
    from: End,
    to: End,
}

/// A single line.
fn line(from: u64, to: u64, bytes: u32) -> Copy {
    let end = |base| End { base, line: 0, surface: 0 };
    Copy { bytes, lines: 1, surfaces: 1, from: end(from), to: end(to) }
}

/// The copy a second time, byte by byte.
fn copy(copy: &Copy, memory: &mut Image) {
    for surface in 0..copy.surfaces {
        for line in 0..copy.lines {
            for byte in 0..copy.bytes {
                let at = |end: End| {
                    end.base + u64::from(surface * end.surface) + u64::from(line * end.line) + u64::from(byte)
                };
                memory.store(at(copy.to), 1, memory.element(at(copy.from), 1));
            }
        }
    }
}

fn enqueue(copy: &Copy, program: &mut Program) {
    let place = |end: End| BdmaTransfer::place(ram(end.base), end.base, [end.line, end.surface]);
    let &Copy { bytes: line, lines, surfaces, from, to } = copy;
    let transfer = BdmaTransfer { line, lines, surfaces, source: place(from), destination: place(to) };
    program.encoded(&transfer.fields());
    program.word(Unit::Bdma, reg::CFG_OP, 1);
}

fn launch(group: usize, program: &mut Program) {
    program.word(Unit::Bdma, [reg::CFG_LAUNCH0, reg::CFG_LAUNCH1][group], 1);
}

fn end(operations: &mut Operations, bytes: u32, lines: u32, surfaces: u32) -> End {
    let line = operations.stride(bytes);
    let surface = operations.stride(line * lines);
    End { base: operations.region(surface * surfaces), line, surface }
}

fn any_copy(operations: &mut Operations) -> Copy {
    let bytes = ATOM * operations.any(1..24);
    let (lines, surfaces) = (operations.any(1..6), operations.any(1..4));
    let from = end(operations, bytes, lines, surfaces);
    let to = end(operations, bytes, lines, surfaces);
    Copy { bytes, lines, surfaces, from, to }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]

    #[test]
    fn copies_leave_the_references_bytes(seed: u64) {
        let mut operations = Operations::new(seed);
        let groups = operations.any(1..3);
        let groups: Vec<Vec<Copy>> = (0..groups)
            .map(|_| (0..operations.any(1..6)).map(|_| any_copy(&mut operations)).collect())
            .collect();
        let mut expected = operations.image();
        groups.iter().flatten().for_each(|it| copy(it, &mut expected));
        let write = |program: &mut Program| {
            for (group, copies) in groups.iter().enumerate() {
                copies.iter().for_each(|copy| enqueue(copy, program));
                launch(group, program);
            }
        };
        let interrupts = [BDMA_0, BDMA_0 | BDMA_1][groups.len() - 1];
        operations.leave(write, interrupts, &expected, &format!("{groups:?}"));
    }

    /// Nothing but the registers' widths is kept: no panic, and each launch ends with its interrupt.
    #[test]
    fn any_register_values_end_with_the_interrupt(values: [u32; 11]) {
        let mut device = Device::named("nv_full");
        let [low, high, to_low, to_high, cmd, repeat, from, to, surfaces, from_surface, to_surface] = values;
        for (register, value) in [
            (reg::CFG_SRC_ADDR_LOW, low),
            (reg::CFG_SRC_ADDR_HIGH, high),
            (reg::CFG_DST_ADDR_LOW, to_low),
            (reg::CFG_DST_ADDR_HIGH, to_high),
            (reg::CFG_LINE, values[0] & 0xff),
            (reg::CFG_CMD, cmd),
            // Few, or too many.
            (reg::CFG_LINE_REPEAT, if repeat & 1 == 0 { repeat & 0xf } else { repeat | 0x2000 }),
            (reg::CFG_SRC_LINE, from),
            (reg::CFG_DST_LINE, to),
            (reg::CFG_SURF_REPEAT, if surfaces & 1 == 0 { surfaces & 0x7 } else { surfaces | 0x2000 }),
            (reg::CFG_SRC_SURF, from_surface),
            (reg::CFG_DST_SURF, to_surface),
        ] {
            device.write(Unit::Bdma, register, value);
        }
        device.write(Unit::Bdma, reg::CFG_OP, 1);
        device.write(Unit::Bdma, reg::CFG_LAUNCH1, 1);
        device.interrupts(BDMA_1);
    }
}

#[test]
fn slots_are_taken_by_commands_and_given_back_when_they_are_loaded() {
    let mut device = Device::named("nv_full");
    let copies = [line(DRAM, SRAM, 4096), line(DRAM, SRAM + 4096, 4096)];
    device.run_new(|program| copies.iter().for_each(|copy| enqueue(copy, program)));
    assert_eq!(device.read(Unit::Bdma, reg::STATUS), 18);
    device.idle(1000);
    assert_eq!(device.read(Unit::Bdma, reg::STATUS), 18, "nothing runs before the launch");
    device.run_new(|program| launch(1, program));
    assert_eq!(device.read(Unit::Bdma, reg::STATUS) & (IDLE | GRP0_BUSY | GRP1_BUSY), GRP1_BUSY);
    device.interrupts(BDMA_1);
    assert_eq!(device.read(Unit::Bdma, reg::STATUS), 20 | IDLE);
}

#[test]
fn a_command_without_a_slot_is_lost_and_said_so() {
    let mut device = Device::named("nv_full");
    let to = |index: u64| SRAM + 32 * index;
    let before = Image::new(vec![(DRAM, vec![7; 32]), (SRAM, vec![0; 32 * 21])]);
    device.load(&before);
    device.run_new(|program| (0..21).for_each(|index| enqueue(&line(DRAM, to(index), 32), program)));
    assert_eq!(device.read(Unit::Bdma, reg::STATUS) & 0xff, 0);
    assert_eq!(device.warnings(), ["BDMA.CFG_OP.EN: command lost, BDMA.STATUS.FREE_SLOT was 0"]);
    device.run_new(|program| launch(0, program));
    device.interrupts(BDMA_0);
    let mut expected = before;
    (0..20).for_each(|index| copy(&line(DRAM, to(index), 32), &mut expected));
    assert_eq!(device.difference(&expected), None);
}

#[test]
fn commands_that_are_lost_are_counted_when_their_group_ends() {
    let mut device = Device::named("nv_full");
    device.load(&Image::new(vec![(DRAM, vec![7; 32]), (SRAM, vec![0; 32])]));
    device.run_new(|program| (0..120).for_each(|_| enqueue(&line(DRAM, SRAM, 32), program)));
    device.run_new(|program| launch(0, program));
    device.interrupts(BDMA_0);
    let lost = "BDMA.CFG_OP.EN: command lost, BDMA.STATUS.FREE_SLOT was 0";
    let [first, summary] = &device.warnings()[..] else { panic!("not two warnings") };
    assert_eq!(first, lost);
    assert!(summary.starts_with(&format!("{lost} (100 times, from ")), "{summary}");
}

#[test]
fn a_refused_command_is_named_and_the_rest_of_its_group_runs() {
    let mut device = Device::named("nv_full");
    let before = Image::new(vec![(DRAM, (0..64).collect()), (SRAM, vec![0; 64])]);
    device.load(&before);
    let good = line(DRAM, SRAM, 64);
    device.run_new(|program| {
        enqueue(&Copy { lines: 8193, ..good }, program);
        enqueue(&good, program);
        launch(0, program);
    });
    device.interrupts(BDMA_0);
    let text = "command refused, its group ends without it: \
                BDMA.CFG_LINE_REPEAT.NUMBER = 0x2000: the unit that stores counts to 8192";
    assert_eq!(device.warnings(), [text]);
    let mut expected = before;
    copy(&good, &mut expected);
    assert_eq!(device.difference(&expected), None);
}

#[test]
fn a_launch_of_nothing_ends_at_once_and_is_said_so() {
    let mut device = Device::named("nv_full");
    device.run_new(|program| launch(1, program));
    device.interrupts(BDMA_1);
    let text = "BDMA.CFG_LAUNCH1.GRP1_LAUNCH: nothing was queued, the group ends at once";
    assert_eq!(device.warnings(), [text]);
}

#[test]
fn groups_end_in_the_order_of_their_launches() {
    let mut device = Device::named("nv_full");
    device.run_new(|program| {
        enqueue(&line(DRAM, SRAM, 8192), program);
        launch(1, program);
        enqueue(&line(DRAM, SRAM + 8192, 32), program);
        launch(0, program);
    });
    assert_eq!(device.interrupt(), BDMA_1);
    device.interrupts(BDMA_0);
}

/// Memories as fast as they can be, but for what `change` says.
fn memories(change: impl FnOnce(&mut Description)) -> Description {
    let mut description = Description::named("nv_full").expect("built in");
    for memory in [&mut description.dbb0, &mut description.sram0] {
        memory.read_latency = Some(Latency::Fixed(10));
        memory.write_latency = Latency::Fixed(10);
    }
    change(&mut description);
    description
}

#[test]
fn each_end_has_its_own_latency() {
    let time = |from, to, change: fn(&mut Description)| {
        duration(&memories(change), |program| {
            enqueue(&line(from, to, 256), program);
            launch(0, program);
        })
    };
    let slow_read = |description: &mut Description| description.dbb0.read_latency = Some(Latency::Fixed(110));
    let slow_write = |description: &mut Description| description.sram0.write_latency = Latency::Fixed(110);
    let (base, hundred) = (time(DRAM, SRAM, |_| ()), Time::ns(100));
    assert_eq!(time(DRAM, SRAM, slow_read), base + hundred);
    assert_eq!(time(DRAM, SRAM, slow_write), base + hundred);
    let back = time(SRAM, DRAM, |_| ());
    assert_eq!((time(SRAM, DRAM, slow_read), time(SRAM, DRAM, slow_write)), (back, back));
}

/// The last command's memory answers at once, the one before is slow: both are waited for.
#[test]
fn the_interrupt_waits_for_both_memories() {
    let time = |change: fn(&mut Description)| {
        duration(&memories(change), |program| {
            enqueue(&line(DRAM, SRAM, 32), program);
            enqueue(&line(DRAM, DRAM + 4096, 32), program);
            launch(0, program);
        })
    };
    let slow = time(|description| description.sram0.write_latency = Latency::Fixed(500));
    assert!(slow > time(|_| ()) + Time::ns(400));
}

/// BDMA sends a beat of 64 bytes a cycle; the memory interface of nv_full gathers four of them, and takes a cycle more for their
/// command: five cycles for 256 bytes of a line (RTL, branch nvdlav1, `NV_NVDLA_MCIF_WRITE_IG_bpt.v`, cmd_en, dat_en).
#[test]
fn a_long_line_is_bound_by_the_buffer_at_the_memory_interface() {
    let time = |bytes| {
        duration(&memories(|_| ()), |program| {
            enqueue(&line(DRAM, SRAM, bytes), program);
            launch(0, program);
        })
    };
    assert_eq!(time(128 * 1024), time(64 * 1024) + Time::ns(5 * 256));
}

#[test]
fn stalls_are_counted_when_they_are_asked_for() {
    let slow = memories(|description| {
        description.dbb0.read_latency = Some(Latency::Fixed(2000));
        description.sram0.write_outstanding = 1;
        description.sram0.write_latency = Latency::Fixed(300);
    });
    let counted = |enable| {
        let mut device = Device::new(&slow);
        device.run_new(|program| {
            program.word(Unit::Bdma, reg::CFG_STATUS, enable);
            let lines = End { base: DRAM, line: 2048, surface: 0 };
            let to = End { base: SRAM, ..lines };
            enqueue(&Copy { bytes: 2048, lines: 16, surfaces: 1, from: lines, to }, program);
            launch(1, program);
        });
        device.interrupts(BDMA_1);
        let registers = [reg::STATUS_GRP1_READ_STALL, reg::STATUS_GRP1_WRITE_STALL];
        let other = [reg::STATUS_GRP0_READ_STALL, reg::STATUS_GRP0_WRITE_STALL];
        assert_eq!(other.map(|register| device.read(Unit::Bdma, register)), [0, 0]);
        registers.map(|register| device.read(Unit::Bdma, register))
    };
    assert_eq!(counted(0), [0, 0]);
    let [read, write] = counted(1);
    // Seven lines of 2048 bytes have room among 245 beats of 64, and six requests wait behind them in registers: the other three
    // wait for the first data, 2000 cycles.
    assert!((1500..30_000).contains(&read), "{read}");
    assert!(write > 300, "{write}");
}
