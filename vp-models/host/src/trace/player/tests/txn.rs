//! Sequences, one command after the other.

use super::*;
use crate::trace::Body;

/// A `.txn` from text; `in.dat` holds [`DATA`].
fn txn(text: &str, plusargs: &str) -> Trace {
    let mut read = |_: &str| Ok(Some(crate::trace::surface::emit_dump(&DATA)));
    let plusargs = Some((Path::new("plusargs.txt"), plusargs));
    Trace::assemble("t", Path::new("t.txn"), Language::Txn, text, plusargs, &mut read).unwrap()
}

fn full(bits: &[u32]) -> Copier {
    Copier { map: RegisterMap::Full, ..Copier::raising(bits) }
}

/// SOURCE, DESTINATION, SIZE, ENABLE and STATUS as word addresses.
const TXN: &str = "load_mem 0x80000000 8 in.dat\nwrite_reg 0xffff2400 0x80000000 # SOURCE\n\
                   write_reg 0xffff2401 0x80001000\nwrite_reg 0xffff2402 8\nread_reg 0xffff2402 0xf 0x8\n\
                   write_reg 0xffff2403 1\nwait\nwrite_reg 0xffff0403 0xffffffff\n\
                   read_reg 0xffff0403 0xffffffff 0\ndump_mem 0x80001000 8 in.dat\n";

#[test]
fn a_sequence_passes_step_by_step() {
    let outcome = run(&txn(TXN, ""), &mut full(&[1]));
    assert!(outcome.passed(), "{:?}", failures(&outcome));
    assert_eq!(outcome.checks_passed, 3);
    // Only the read before the wait takes time: writes are posted.
    assert_eq!(outcome.interrupts, [SeenInterrupt { interrupt: None, time: Time::ps(1010) }]);
}

#[test]
fn interrupts_are_taken_one_by_one_until_all_have_come() {
    let text = "fill_mem 0x80001000 8 0x5a\nload_mem 0x80000000 8 in.dat\nwrite_reg 0xffff2400 0x80000000\n\
                write_reg 0xffff2401 0x80001000\nwrite_reg 0xffff2402 8\ndump_mem 0x80001000 8 fill.dat\n\
                write_reg 0xffff2403 1\nwait_intr 0x2\nwait_intr 0x10\ndump_mem 0x80001000 8 in.dat\n";
    let mut read = |file: &str| {
        let bytes = if file == "in.dat" { DATA } else { [0x5a; 8] };
        Ok(Some(crate::trace::surface::emit_dump(&bytes)))
    };
    let path = Path::new("t.txn");
    let trace = Trace::assemble("t", path, Language::Txn, text, None, &mut read).unwrap();
    let mut device = full(&[0x10, 0x2]);
    let outcome = run(&trace, &mut device);
    assert!(outcome.passed(), "{:?}", failures(&outcome));
    assert_eq!(outcome.checks_passed, 2);
    assert_eq!(device.registers.get(&STATUS).copied().unwrap_or_default(), 0);
}

#[test]
fn a_sequence_is_played_on_any_nvdla_and_on_nothing_else() {
    for map in RegisterMap::ALL {
        let outcome = run(&txn(TXN, ""), &mut Copier { map, ..Copier::raising(&[1]) });
        assert!(outcome.passed(), "{map}: {:?}", failures(&outcome));
    }
    let mut foreign = Copier { map: RegisterMap::Foreign, ..Copier::raising(&[1]) };
    let error = play(&txn(TXN, ""), &mut foreign, &names, &PlayOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "t.txn: written for an NVDLA, which the platform's device is not");
}

#[test]
fn a_wrong_value_is_told_by_its_register_and_its_fields() {
    let mut device = Copier::raising(&[]);
    device.registers.insert(MASK, 0b11);
    let expected = "GLB.S_INTR_MASK (byte address 0x1004, word address 0xffff0401) after 1 reads: expected == 0x5 under mask 0xffffffff, \
                    found 0x3 (SDP_DONE_MASK1 0x1 and not 0x0, CDP_DONE_MASK0 0x0 and not 0x1)";
    let wrong = failures(&run(&txn("read_reg 0x1004 0xffffffff == 5 0", ""), &mut device));
    assert_eq!(wrong, [format!("t.txn:1: {expected}")]);
}

#[test]
fn until_waits_for_all_of_its_bits_and_clears_none() {
    let text =
        "write_reg 0xffff2402 8\nwrite_reg 0xffff2403 1\nuntil 0xffff0403 0x5\nread_reg 0xffff0403 0xf 0x7\n";
    // Another is there already, and those waited for come one after the other, the first without the line.
    let mut device = Copier::raising(&[1, 4]);
    device.registers.extend([(STATUS, 2), (MASK, 3)]);
    let outcome = run(&txn(text, ""), &mut device);
    assert!(outcome.passed(), "{:?}", failures(&outcome));
}

#[test]
fn until_is_satisfied_by_an_interrupt_that_is_masked() {
    let mut device = Copier::raising(&[]);
    device.registers.extend([(STATUS, 1), (MASK, 1)]);
    assert!(run(&txn("until 0xffff0403 0x1", ""), &mut device).passed());
}

#[test]
fn until_ends_where_no_layer_runs_and_the_line_is_high() {
    let mut device = Copier::raising(&[]);
    device.registers.insert(STATUS, 2);
    let outcome = run(&txn("until 0xffff0403 0x1", ""), &mut device);
    assert!(failures(&outcome)[0].contains("after 65537 reads: expected == 0x1 under mask 0x1, found 0x2"));
}

#[test]
fn until_ends_when_nothing_is_left_to_come() {
    let text = "write_reg 0xffff2403 1\nuntil 0xffff0403 0x3\nread_reg 0xffff2402 0xff 0\n";
    let mut device = Copier { map: RegisterMap::Small, ..Copier::raising(&[]) };
    let register = "GLB.S_INTR_STATUS (byte address 0x100c, word address 0xffff0403)";
    assert_eq!(
        failures(&run(&txn(text, ""), &mut device)),
        [
            format!(
                "t.txn:2: {register} after 2 reads: expected == 0x3 under mask 0x3, found 0x0 \
                 (SDP_DONE_STATUS0 0x0 and not 0x1, SDP_DONE_STATUS1 0x0 and not 0x1)"
            ),
            "t.txn:2: run ended here: 1 checks not made".to_owned(),
        ]
    );
}

#[test]
fn an_interrupt_that_is_there_already_does_not_fail_a_script_with_until() {
    let read = "read_reg 0xffff0403 0xffffffff 0x0\n";
    let with = |before: &str| {
        let mut device = Copier::raising(&[]);
        device.registers.insert(STATUS, 0x5);
        run(&txn(&format!("{before}{read}"), ""), &mut device)
    };
    assert!(with("until 0xffff0403 0x1\n").passed());
    // Of the vendor's own scripts it is a check.
    assert_eq!(with("").failures.len(), 1);
}

#[test]
fn a_memory_command_goes_to_the_memory_that_has_its_bytes() {
    let text = "load_mem 0xc0000000 8 in.dat\nfill_mem 0x50000000 4 0xee\ndump_mem 0xc0000000 8 in.dat\n";
    let mut device = Copier { secondary: Some(0x5000_0000..0x5000_0100), ..Copier::raising(&[]) };
    assert!(run(&txn(text, ""), &mut device).passed());
    assert_eq!(device.memory.get(&(Memory::Secondary, 0x5000_0003)), Some(&0xee));
    assert_eq!(device.memory.get(&(Memory::Primary, 0xc000_0007)), Some(&8));
}

#[test]
fn a_memory_command_for_no_memory_is_told_before_anything_is_touched() {
    let text = "write_reg 0xffff2402 8\nfill_mem 0xffffffff 2 0xee\n";
    let mut device = Copier { secondary: Some(0x5000_0000..0x5000_0100), ..Copier::raising(&[]) };
    let error = play(&txn(text, ""), &mut device, &names, &PlayOptions::default()).unwrap_err();
    let expected = "t.txn:2: 0x2 bytes at 0xffffffff are in no memory: primary: it ends at 0xffffffff; \
                    secondary: it spans 0x50000000 to 0x500000ff";
    assert_eq!(error.to_string(), expected);
    assert!(device.writes.is_empty());
}

#[test]
fn a_layer_whose_end_was_polled_is_waited_for_at_the_end_of_the_script() {
    let mut device = Copier { layers: 1, ..Copier::raising(&[1 << 16, 1]) };
    let outcome = run(&txn("write_reg 0xffff2403 1\nread_reg 0xffff2402 0xff 0\n", ""), &mut device);
    assert!(outcome.passed());
    assert!(device.pending.is_empty());
    // Without a layer that runs, nothing is waited for.
    let mut device = Copier { layers: 0, ..Copier::raising(&[1]) };
    assert!(run(&txn("write_reg 0xffff2403 1\nread_reg 0xffff2402 0xff 0\n", ""), &mut device).passed());
    assert_eq!(device.pending.len(), 1);
}

#[test]
fn a_mismatch_ends_the_sequence_unless_it_is_told_to_go_on() {
    const ENABLE: &str = "CACC.D_OP_ENABLE (byte address 0x9008, word address 0xffff2402)";
    const FIELD: &str = " (OP_EN 0x0 and not 0x1)";
    let wrong =
        "read_reg 0xffff2402 0xff <= 0x5\nread_reg 0xffff2402 0xf0 0x1\nread_reg 0xffff2402 0xff >= 0x9 2\n";
    let mut device = full(&[]);
    device.registers.insert(SIZE, 0x8);
    assert_eq!(
        failures(&run(&txn(wrong, ""), &mut device)),
        [
            format!("t.txn:1: {ENABLE} after 101 reads: expected <= 0x5 under mask 0xff, found 0x8{FIELD}"),
            "t.txn:1: run ended here: 2 checks not made".to_owned(),
        ]
    );
    let outcome = run(&txn(wrong, "+read_reg_poll_retries=0 +continue_on_fail"), &mut device);
    assert_eq!(outcome.checks_passed, 1);
    assert_eq!(
        failures(&outcome),
        [
            format!("t.txn:1: {ENABLE} after 1 reads: expected <= 0x5 under mask 0xff, found 0x8{FIELD}"),
            format!("t.txn:3: {ENABLE} after 3 reads: expected >= 0x9 under mask 0xff, found 0x8{FIELD}"),
        ]
    );
}

#[test]
fn a_wait_in_vain_ends_the_sequence() {
    assert_eq!(
        failures(&run(&txn(TXN, "+continue_on_fail"), &mut full(&[]))),
        [
            "t.txn:7: the interrupt never came: nothing left to simulate at 10 ps: SDP idle",
            "t.txn:7: run ended here: 2 checks not made",
        ]
    );
}

#[test]
fn a_wrong_dump_tells_the_first_byte() {
    let mut device = Copier { copies: false, ..full(&[1]) };
    assert_eq!(
        failures(&run(&txn(TXN, ""), &mut device)),
        [
            "t.txn:10: primary memory differs from `in.dat` in 8 bytes, first at 0x80001000: expected 0x01, found 0x00"
        ]
    );
}

#[test]
fn what_no_value_can_fail_compares_nothing() {
    let compares = |text: &str| txn(text, "").compares();
    for nothing in [
        "read_reg 0xffff2402 0 0x8",
        "read_reg 0xffff2402 0 <= 0x8",
        "read_reg 0xffff2402 0xff >= 0xf00",
        "read_reg 0xffff2402 0xff <= 0xff",
        "until 0xffff0403 0x1",
        // gem5-NVDLA's player passes over its value.
        "until 0xffff0403 0x1\nread_reg 0xffff0403 0xffffffff 0",
        "until 0xffff0003 0x1\nread_reg 0xffff0003 0xffffffff 0",
    ] {
        assert!(!compares(&format!("write_reg 0xffff2402 8\n{nothing}\n")), "{nothing}");
        if nothing.contains("0xffff0003") {
            // The device of these tests has S_INTR_STATUS elsewhere.
            continue;
        }
        let mut device = Copier::raising(&[]);
        device.registers.extend([(STATUS, 1), (MASK, 1)]);
        let outcome = run(&txn(nothing, ""), &mut device);
        assert!(outcome.passed(), "{nothing}: {:?}", failures(&outcome));
    }
    for something in [
        "read_reg 0xffff2402 0x1 0",
        "read_reg 0xffff2402 0xff >= 1",
        "read_reg 0xffff2402 0xff <= 0xfe",
        "read_reg 0xffff0403 0xffffffff 0",
        "until 0xffff0403 0x1\nread_reg 0xffff2402 0xff 0",
        "wait",
        "until 0xffff0403 0x1\nwait_intr 1",
        "until 0xffff0403 0x1\ndump_mem 0x80000000 8 in.dat",
    ] {
        assert!(compares(something), "{something}");
    }
}

#[test]
fn addresses_that_could_be_bytes_or_words_are_in_doubt() {
    let doubtful = |text: &str| match txn(text, "").body {
        Body::Txn { doubtful, .. } => doubtful,
        _ => None,
    };
    assert_eq!(doubtful("write_reg 0x1004 1\nwrite_reg 0x3008 1"), Some(0x1004));
    for certain in [
        // Some unit of every map is there as a byte address alone, or an address is on a bus.
        "write_reg 0x1004 1\nwrite_reg 0x9008 1",
        "write_reg 0x10201004 1",
        "write_reg 0x1004 1\nwrite_reg 0x1405 1",
        "write_reg 0xffff0401 1",
        "wait",
    ] {
        assert_eq!(doubtful(certain), None, "{certain}");
    }
}
