use super::*;
use crate::loadable::tests::{Pooling, host};
use crate::loadable::{Loadable, run_from};
use crate::trace::player::{self, PlayOptions};
use crate::trace::{Body, cfg::CfgCommand};

/// DRAM where benches have it.
const DRAM: u64 = 0x8000_0000;

fn recorded(script: Script) -> Trace {
    let source: Vec<u8> = (0..512).map(|at| (at * 73 % 251) as u8).collect();
    let loadable = Loadable::parse(&Pooling::USUAL.bytes(&source)).expect("whole");
    let mut host = host("nv_large");
    let mut recorder = Recorder::new(&mut host);
    run_from(DRAM, &loadable, &[], 1, &mut recorder).expect("runs");
    recorder.trace("pooling", script).expect("can be said")
}

fn failures(trace: &Trace) -> usize {
    let mut host = host("nv_large");
    let map = host.map();
    let outcome = player::play(trace, &mut host, &map, &PlayOptions::default()).expect("plays");
    outcome.failures.len()
}

#[test]
fn a_recorded_layer_passes_in_both_languages_from_its_files() {
    for script in [Script::Cfg, Script::Txn] {
        let trace = recorded(script);
        assert_eq!(failures(&trace), 0, "{}", trace.emit());
        assert!(trace.compares() && trace.summary().memory_checks == 1, "{:?}", trace.summary());
        let folder = tempfile::tempdir().expect("a folder");
        let read = Trace::load(&trace.save(folder.path()).expect("written")).expect("a trace");
        assert_eq!((read.body(), read.surfaces()), (trace.body(), trace.surfaces()));
    }
}

#[test]
fn another_result_fails() {
    for script in [Script::Cfg, Script::Txn] {
        let mut trace = recorded(script);
        // The largest surface is the input, which decides the result.
        let surfaces = trace.surfaces.values_mut().filter(|surface| surface.len() == 512);
        surfaces.for_each(|surface| *surface = super::super::Surface::from_bytes([0x7f; 512]));
        assert!(failures(&trace) > 0);
    }
}

#[test]
fn nothing_is_written_before_the_interrupt_that_came_before_it() {
    let mut host = host("nv_large");
    let address = |name| RegisterMap::Large.find(name).expect("a register").address;
    let enable = address("PDP_RDMA.D_OP_ENABLE");
    let mut recorder = Recorder::new(&mut host);
    for bits in [0x10, 0x10020] {
        recorder.steps.push(Step::Write { address: address("GLB.S_INTR_SET"), value: 1 });
        recorder.steps.push(Step::Write { address: enable, value: 1 });
        recorder.steps.push(Step::Taken { bits });
    }
    recorder.steps.push(Step::Write { address: enable, value: 0 });
    let text = recorder.trace("waits", Script::Cfg).expect("can be said").emit();
    let found: Vec<&str> = text.lines().collect();
    assert_eq!(
        found,
        [
            "reg_write(NVDLA_PDP_RDMA.D_OP_ENABLE_0, 0x1);",
            "intr_notify(PDP_0, event_0);",
            "sync_wait(NVDLA_PDP_RDMA, event_0);",
            "reg_write(NVDLA_PDP_RDMA.D_OP_ENABLE_0, 0x1);",
            "intr_notify(PDP_1, event_1);",
            "intr_notify(CDMA_DAT_0, event_2);",
            "sync_wait(NVDLA_PDP_RDMA, event_1);",
            "sync_wait(NVDLA_PDP_RDMA, event_2);",
            "reg_write(NVDLA_PDP_RDMA.D_OP_ENABLE_0, 0x0);",
            "sync_notify(NVDLA_PDP_RDMA, end);",
        ]
    );
}

#[test]
fn a_strict_sequence_waits_on_only_when_the_interrupt_is_cleared() {
    let mut host = host("nv_large");
    let mut recorder = Recorder::new(&mut host);
    recorder.steps = vec![Step::Write { address: 0xc008, value: 1 }, Step::Taken { bits: 0x10020 }];
    let text = recorder.trace("cleared", Script::Txn).expect("can be said").emit();
    assert_eq!(
        text.lines().skip(1).collect::<Vec<_>>(),
        [
            "wait",
            "read_reg 0xffff0403 0x00010020 0x00010020",
            "write_reg 0xffff0403 0x10020",
            "read_reg 0xffff0403 0x00010020 0x00000000",
        ]
    );
}

#[test]
fn work_of_the_cpu_between_layers_needs_a_strict_sequence() {
    let around = [Vec::new(), Vec::new()];
    let bytes =
        |address| Bytes { memory: Memory::Primary, address, bytes: vec![1; 8], around: around.clone() };
    let steps = [
        Step::Load(bytes(DRAM)),
        Step::Write { address: 0xc008, value: 1 },
        Step::Load(bytes(DRAM + 64)),
        Step::Write { address: 0xc008, value: 0 },
        Step::Fetch(bytes(DRAM + 64)),
    ];
    let made = |steps: &[Step], script| {
        let mut host = host("nv_large");
        let mut recorder = Recorder::new(&mut host);
        recorder.steps = steps.to_vec();
        recorder.trace("between", script)
    };
    let error = made(&steps, Script::Cfg).expect_err("when?");
    assert_eq!(error, MadeError::Between { address: DRAM + 64 });
    let trace = made(&steps, Script::Txn).expect("in order");
    assert!(trace.emit().contains("dump_mem 0x80000040 0x8 "), "{}", trace.emit());
    // Behind the last layer what the CPU made is no result of the hardware, and what it read is.
    let behind = [&steps[..2], &[Step::Fetch(bytes(DRAM)), steps[2].clone(), steps[4].clone()]].concat();
    let trace = made(&behind, Script::Cfg).expect("behind all");
    let Body::Cfg(lines) = trace.body() else { panic!("a script") };
    let checked = lines.iter().filter_map(|line| match &line.command {
        CfgCommand::CheckCrc { base, .. } => Some(*base),
        _ => None,
    });
    assert_eq!(checked.collect::<Vec<_>>(), [DRAM]);
    assert_eq!(made(&[steps[0].clone()], Script::Txn).expect_err("no write"), MadeError::Nothing);
}

#[test]
fn a_load_that_another_covers_is_left_out() {
    let mut host = host("nv_large");
    let mut recorder = Recorder::new(&mut host);
    recorder.load(Memory::Primary, DRAM, &[1; 32]).expect("memory");
    recorder.load(Memory::Primary, DRAM, &[2; 32]).expect("memory");
    recorder.write(0xc008, 0).expect("a register");
    let trace = recorder.trace("twice", Script::Txn).expect("can be said");
    assert_eq!(trace.surfaces().len(), 1);
}

#[test]
fn surface_files_of_a_strict_sequence_have_whole_lines_of_what_is_there() {
    let mut host = host("nv_large");
    let mut recorder = Recorder::new(&mut host);
    let mut bytes = [0; 5];
    recorder.load(Memory::Primary, DRAM + 32, &[1; 8]).expect("memory");
    recorder.load(Memory::Primary, DRAM + 40, &[2; 30]).expect("memory");
    recorder.write(0xc008, 0).expect("a register");
    recorder.fetch(Memory::Primary, DRAM + 37, &mut bytes).expect("memory");
    let trace = recorder.trace("lines", Script::Txn).expect("can be said");
    assert_eq!(
        trace.emit().lines().collect::<Vec<_>>(),
        [
            "load_mem 0x80000020 0x20 load_0.dat",
            "load_mem 0x80000020 0x40 load_1.dat",
            "write_reg 0xffff3002 0x0",
            "dump_mem 0x80000020 0x20 left_2.dat",
        ]
    );
    let both = [[1; 8].as_slice(), &[2; 30], &[0; 26]].concat();
    assert_eq!(trace.surfaces()["load_1.dat"].prefix(64), Some(&both[..]));
    assert_eq!(trace.surfaces()["left_2.dat"].prefix(32), Some(&both[..32]));
}
