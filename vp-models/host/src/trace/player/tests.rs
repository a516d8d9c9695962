use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use proptest::prelude::*;
use vp_core::Time;

use super::*;
use crate::Statistics;
use crate::trace::cfg::{CfgCommand, Extent, Pattern};
use crate::trace::{Language, TraceBuilder, UnknownRegister};

mod txn;

const STATUS: u32 = 0x100c;
const MASK: u32 = 0x1004;
const SOURCE: u32 = 0x9000;
const DESTINATION: u32 = 0x9004;
const SIZE: u32 = 0x9008;
const ENABLE: u32 = 0x900c;
const FLUSH: u32 = 0x3004;

fn names(register: &str) -> Result<u32, UnknownRegister> {
    Ok(match register {
        "GLB.S_INTR_STATUS" => STATUS,
        "GLB.S_INTR_MASK" => MASK,
        "SDP.SOURCE" => SOURCE,
        "SDP.DESTINATION" => DESTINATION,
        "SDP.SIZE" => SIZE,
        "SDP.ENABLE" => ENABLE,
        "CDMA.FLUSH" => FLUSH,
        _ => return Err(UnknownRegister { message: format!("no register `{register}`; nearest: SDP.SIZE") }),
    })
}

/// A device whose enable register copies memory and raises interrupts, some of them later.
struct Copier {
    registers: BTreeMap<u32, u32>,
    memory: BTreeMap<(Memory, u64), u8>,
    /// Interrupts that enabling raises, one entry an interrupt to wait for.
    raises: VecDeque<u32>,
    pending: VecDeque<u32>,
    /// Reads of FLUSH until it is 1.
    flush: u32,
    writes: Vec<(u32, u32)>,
    time: u64,
    map: RegisterMap,
    broken: bool,
    copies: bool,
    /// Addresses of the secondary memory, if there is one.
    secondary: Option<Range<u64>>,
    /// Layers that run until no interrupt is left to come.
    layers: usize,
}

impl Copier {
    fn raising(bits: &[u32]) -> Self {
        Self {
            registers: BTreeMap::new(),
            memory: BTreeMap::new(),
            raises: bits.iter().copied().collect(),
            pending: VecDeque::new(),
            flush: 3,
            writes: Vec::new(),
            time: 0,
            map: RegisterMap::Small,
            broken: false,
            copies: true,
            secondary: None,
            layers: 0,
        }
    }

    fn check_range(&self, memory: Memory, address: u64, size: u64) -> Result<(), HostError> {
        let holds = match (memory, &self.secondary) {
            (Memory::Primary, _) if address + size <= 1 << 32 => return Ok(()),
            (Memory::Primary, _) => "it ends at 0xffffffff".to_owned(),
            (Memory::Secondary, None) => "the platform has none".to_owned(),
            (Memory::Secondary, Some(range)) if range.start <= address && address + size <= range.end => {
                return Ok(());
            }
            (Memory::Secondary, Some(range)) => {
                format!("it spans {:#x} to {:#x}", range.start, range.end - 1)
            }
        };
        Err(HostError::MemoryRange { memory, address, size, holds })
    }

    fn register(&self, address: u32) -> u32 {
        self.registers.get(&address).copied().unwrap_or(0)
    }

    fn high(&self) -> bool {
        self.register(STATUS) & !self.register(MASK) != 0
    }

    fn bytes(&mut self, address: u64, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        self.fetch(Memory::Primary, address, &mut bytes).unwrap();
        bytes
    }
}

impl Host for Copier {
    fn write(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        if self.broken {
            return Err(HostError::Transport("peer vanished".into()));
        }
        self.writes.push((address, value));
        match address {
            STATUS => {
                let left = self.register(STATUS) & !value;
                self.registers.insert(STATUS, left);
            }
            ENABLE => {
                let (from, to) = (u64::from(self.register(SOURCE)), u64::from(self.register(DESTINATION)));
                if self.copies {
                    let bytes = self.bytes(from, self.register(SIZE) as usize);
                    self.load(Memory::Primary, to, &bytes)?;
                }
                self.pending.append(&mut self.raises);
            }
            _ => drop(self.registers.insert(address, value)),
        }
        Ok(())
    }

    fn write_acknowledged(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.time += 10;
        self.write(address, value)
    }

    fn read(&mut self, address: u32) -> Result<u32, HostError> {
        self.time += 10;
        if address == FLUSH {
            self.flush = self.flush.saturating_sub(1);
            return Ok(u32::from(self.flush == 0));
        }
        Ok(self.register(address))
    }

    fn wait_interrupt(&mut self) -> Result<Time, HostError> {
        while !self.high() {
            let Some(bits) = self.pending.pop_front() else {
                return Err(HostError::Idle { time: Time::ps(self.time), report: "SDP idle".into() });
            };
            self.time += 1000;
            let status = self.register(STATUS) | bits;
            self.registers.insert(STATUS, status);
        }
        Ok(Time::ps(self.time))
    }

    fn now(&mut self) -> Result<Time, HostError> {
        Ok(Time::ps(self.time))
    }

    fn load(&mut self, memory: Memory, address: u64, bytes: &[u8]) -> Result<(), HostError> {
        self.check_range(memory, address, bytes.len() as u64)?;
        self.memory.extend((address..).zip(bytes).map(|(address, byte)| ((memory, address), *byte)));
        Ok(())
    }

    fn fetch(&mut self, memory: Memory, address: u64, bytes: &mut [u8]) -> Result<(), HostError> {
        self.check_range(memory, address, bytes.len() as u64)?;
        for (byte, address) in bytes.iter_mut().zip(address..) {
            *byte = self.memory.get(&(memory, address)).copied().unwrap_or(0);
        }
        Ok(())
    }

    fn map(&self) -> RegisterMap {
        self.map
    }

    fn device(&self) -> &str {
        "nvdla"
    }

    fn set_limit(&mut self, _: Time) {}

    fn statistics(&mut self) -> Result<Statistics, HostError> {
        let mut statistics = Statistics::default();
        for layer in 0..self.layers {
            statistics.note(format!("layer.{layer}"), "sdp 1x1x8, group 0");
            if self.pending.is_empty() {
                statistics.count(format!("layer.{layer}.end"), 1, "ps");
            }
        }
        Ok(statistics)
    }
}

const DATA: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

fn copy() -> TraceBuilder {
    TraceBuilder::new("copy")
        .place(Memory::Primary, 0x1000, "in.dat", &DATA)
        .write("SDP.SOURCE", 0x1000)
        .write("SDP.DESTINATION", 0x2000)
        .write("SDP.SIZE", 8)
        .write("SDP.ENABLE", 1)
        .interrupt(sdp(0), "done")
        .check("done", Memory::Primary, 0x2000, &DATA)
}

fn sdp(group: u8) -> Interrupt {
    Interrupt::parse(&format!("SDP_{group}")).unwrap()
}

fn run(trace: &Trace, device: &mut Copier) -> Outcome {
    play(trace, device, &names, &PlayOptions::default()).unwrap()
}

fn failures(outcome: &Outcome) -> Vec<String> {
    outcome.failures.iter().map(ToString::to_string).collect()
}

/// A `.cfg` from text; `in.dat` holds [`DATA`].
fn cfg(text: &str) -> Trace {
    let surface = crate::trace::Surface::from_bytes(DATA).emit_entries();
    let mut read = |_: &str| Ok(Some(surface.clone()));
    Trace::assemble("t", Path::new("t.cfg"), Language::Cfg, text, None, &mut read).unwrap()
}

#[test]
fn a_device_that_does_its_work_passes() {
    let mut device = Copier::raising(&[1]);
    let outcome = run(&copy().build().unwrap(), &mut device);
    assert!(outcome.passed(), "{:?}", failures(&outcome));
    assert_eq!(outcome.checks_passed, 1);
    assert_eq!(outcome.interrupts, [SeenInterrupt { interrupt: Some(sdp(0)), time: Time::ps(1000) }]);
    assert_eq!((outcome.register_writes, outcome.register_reads), (5, 3));
    assert_eq!((outcome.start, outcome.finish), (Time::ZERO, Time::ps(1030)));
    assert!(!device.high());
}

#[test]
fn a_wrong_crc_is_a_failure_that_gives_both() {
    let mut device = Copier { copies: false, ..Copier::raising(&[1]) };
    let outcome = run(&copy().build().unwrap(), &mut device);
    let (expected, zero) = (crc32fast::hash(&DATA), crc32fast::hash(&[0; 8]));
    assert_eq!(
        failures(&outcome),
        [format!(
            "copy.cfg:7: CRC of primary memory 0x2000, 0x8 bytes: expected {expected:#010x}, found {zero:#010x}"
        )]
    );
}

#[test]
fn an_interrupt_that_never_comes_is_a_failure_and_so_is_its_check() {
    let outcome = run(&copy().build().unwrap(), &mut Copier::raising(&[]));
    assert_eq!(
        failures(&outcome),
        [
            "copy.cfg:6: SDP_0 never came: nothing left to simulate at 0 s: SDP idle",
            "copy.cfg:7: not checked: event `done` did not happen",
        ]
    );
}

#[test]
fn an_interrupt_nobody_declared_is_a_failure() {
    // Together with the right one, before it, and on a bit without a source.
    for (raised, name) in
        [(vec![0b101], "CDP_0"), (vec![0b10, 1], "SDP_1"), (vec![1 << 30, 1], "of status bit 30")]
    {
        let outcome = run(&copy().build().unwrap(), &mut Copier::raising(&raised));
        assert_eq!(failures(&outcome), [format!("copy.cfg: unexpected interrupt {name} at 1 ns")]);
        assert_eq!(outcome.checks_passed, 1);
    }
}

#[test]
fn a_device_that_never_stops_interrupting_does_not_hold_the_player() {
    let outcome = run(&copy().build().unwrap(), &mut Copier::raising(&[2; 1000]));
    assert!(outcome.failures.len() <= 40);
    assert!(outcome.interrupts.len() <= 32);
}

#[test]
fn a_masked_interrupt_is_left_alone() {
    let trace = cfg("reg_write(NVDLA_GLB.S_INTR_MASK_0, 0x3f03fc);\nreg_write(NVDLA_SDP.ENABLE_0, 1);\n\
                     intr_notify(SDP_0, e);\ncheck_nothing(e);");
    let mut device = Copier::raising(&[1 << 16, 1]);
    let outcome = run(&trace, &mut device);
    assert!(outcome.passed(), "{:?}", failures(&outcome));
    assert_eq!(device.register(STATUS), 1 << 16);
}

#[test]
fn the_groups_of_a_block_may_come_in_either_order() {
    let trace = cfg("reg_write(NVDLA_SDP.ENABLE_0, 1);\nintr_notify(sdp_0, a);\nintr_notify(sdp_1, b);\n\
                     check_nothing(a);\ncheck_nothing(b);");
    for raised in [[1, 2].as_slice(), &[2, 1], &[3]] {
        let outcome = run(&trace, &mut Copier::raising(raised));
        assert!(outcome.passed(), "{:?}", failures(&outcome));
        assert_eq!(outcome.checks_passed, 2);
    }
}

#[test]
fn an_event_that_fires_twice_is_a_failure() {
    let trace = cfg(
        "reg_write(NVDLA_SDP.ENABLE_0, 1);\nintr_notify(SDP_0, e);\nintr_notify(SDP_1, e);\ncheck_nothing(e);",
    );
    let outcome = run(&trace, &mut Copier::raising(&[1, 2]));
    assert_eq!(failures(&outcome), ["t.cfg:3: event `e` fires twice"]);
}

#[test]
fn a_poll_reads_until_it_fits_and_no_further_than_its_limit() {
    let trace = cfg("poll_reg_equal(NVDLA_CDMA.FLUSH_0, 1);\nsync_notify(NVDLA_CDMA, e);\ncheck_nothing(e);");
    let outcome = run(&trace, &mut Copier::raising(&[]));
    assert!(outcome.passed());
    assert_eq!(outcome.register_reads, 3);

    let options = PlayOptions { poll_reads: 2, ..PlayOptions::default() };
    let outcome = play(&trace, &mut Copier::raising(&[]), &names, &options).unwrap();
    assert_eq!(
        failures(&outcome),
        [
            "t.cfg:1: CDMA.FLUSH after 2 reads: expected == 0x1 under mask 0xffffffff, found 0x0 (PRODUCER 0x0 and not 0x1)"
        ]
    );
}

#[test]
fn memory_comes_first_and_what_waits_for_an_event_comes_after_it() {
    let trace = cfg("reg_write(NVDLA_SDP.SOURCE_0, 0x1000);\nreg_write(NVDLA_SDP.DESTINATION_0, 0x2000);\n\
                     reg_write(NVDLA_SDP.SIZE_0, 8);\nreg_write(NVDLA_SDP.ENABLE_0, 1);\n\
                     mem_load(pri_mem, 0x1000, \"in.dat\");\nmem_init(pri_mem, 0x1000, \"in.dat\", ONES, done);\n\
                     intr_notify(SDP_0, done);\ncheck_file(done, pri_mem, 0x2000, 8, \"in.dat\");\n\
                     check_file(done, pri_mem, 0x1000, 8, \"in.dat\");");
    let outcome = run(&trace, &mut Copier::raising(&[1]));
    assert_eq!(outcome.checks_passed, 1);
    assert_eq!(
        failures(&outcome),
        [
            "t.cfg:9: primary memory differs from `in.dat` in 8 bytes, first at 0x1000: expected 0x01, found 0xff"
        ]
    );
}

#[test]
fn a_held_stream_lets_the_others_pass() {
    let trace = cfg(
        "sync_wait(NVDLA_SDP, flushed);\nreg_write(NVDLA_SDP.SIZE_0, 1);\nreg_write(NVDLA_CDMA.FLUSH_0, 2);\n\
                     sync_notify(NVDLA_CDMA, flushed);\nreg_write(NVDLA_CDMA.FLUSH_0, 3);\ncheck_nothing(flushed);",
    );
    let mut device = Copier::raising(&[]);
    let outcome = run(&trace, &mut device);
    assert!(outcome.passed(), "{:?}", failures(&outcome));
    assert_eq!(device.writes, [(FLUSH, 2), (SIZE, 1), (FLUSH, 3)]);
}

#[test]
fn streams_that_wait_for_each_other_are_told() {
    let trace = cfg("sync_wait(NVDLA_SDP, a);\nsync_notify(NVDLA_SDP, b);\nsync_wait(NVDLA_CDP, b);\n\
                     sync_notify(NVDLA_CDP, a);\ncheck_nothing(a);");
    assert_eq!(
        failures(&run(&trace, &mut Copier::raising(&[]))),
        [
            "t.cfg:1: the stream of SDP still waits for event `a`",
            "t.cfg:3: the stream of CDP still waits for event `b`",
            "t.cfg:5: not checked: event `a` did not happen",
        ]
    );
}

#[test]
fn a_stream_held_by_an_interrupt_goes_on_after_it() {
    let trace = cfg(
        "reg_write(NVDLA_SDP.ENABLE_0, 1);\nsync_wait(NVDLA_SDP, e);\nreg_write(NVDLA_SDP.SIZE_0, 5);\n\
                     reg_read_check(NVDLA_SDP.SIZE_0, 6);\nreg_read(NVDLA_SDP.SIZE_0, x);\nintr_notify(SDP_0, e);",
    );
    let mut device = Copier::raising(&[1]);
    let outcome = run(&trace, &mut device);
    assert_eq!(device.writes, [(ENABLE, 1), (STATUS, 1), (SIZE, 5)]);
    assert_eq!(
        failures(&outcome),
        [
            "t.cfg:4: SDP.SIZE after 1 reads: expected == 0x6 under mask 0xffffffff, found 0x5 (LUT_ADDR 0x5 and not 0x6)"
        ]
    );
}

#[test]
fn an_unknown_register_is_told_before_anything_is_touched() {
    let trace = copy().write("SDP.SIEZ", 1).build().unwrap();
    let mut device = Copier::raising(&[]);
    let error = play(&trace, &mut device, &names, &PlayOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "copy.cfg:8: no register `SDP.SIEZ`; nearest: SDP.SIZE");
    assert!(device.writes.is_empty() && device.memory.is_empty());
}

#[test]
fn what_the_platform_refuses_is_told_with_the_line() {
    let mut device = Copier { broken: true, ..Copier::raising(&[]) };
    let play = |trace: &Trace, device: &mut Copier| play(trace, device, &names, &PlayOptions::default());
    assert_eq!(
        play(&copy().build().unwrap(), &mut device).unwrap_err().to_string(),
        "copy.cfg:2: connection to the platform lost: peer vanished"
    );
    let secondary = copy().fill(Memory::Secondary, 0x10, 4, Pattern::Ones).build().unwrap();
    assert_eq!(
        play(&secondary, &mut Copier::raising(&[])).unwrap_err().to_string(),
        "copy.cfg:8: 0x4 bytes at 0x10 are not in secondary memory: the platform has none"
    );
}

#[test]
fn patterns_fill_what_they_say() {
    let filled = |pattern, seed| {
        let trace = copy()
            .command(CfgCommand::MemInit {
                memory: Memory::Primary,
                base: 0x30fe,
                extent: Extent::Bytes(4),
                pattern,
                after: None,
            })
            .build()
            .unwrap();
        let mut device = Copier::raising(&[1]);
        play(&trace, &mut device, &names, &PlayOptions { seed, ..PlayOptions::default() }).unwrap();
        device.bytes(0x30fd, 6)
    };
    for (pattern, bytes) in [
        (Pattern::AllZero, [0; 4]),
        (Pattern::Ones, [0xff; 4]),
        (Pattern::Afive, [0xa5; 4]),
        (Pattern::Fivea, [0x5a; 4]),
        (Pattern::Addr, [0xfe, 0xff, 0x00, 0x01]),
    ] {
        let expected: Vec<u8> = [&[0], bytes.as_slice(), &[0]].concat();
        assert_eq!(filled(pattern, 1), expected, "{pattern:?}");
    }
    assert_eq!(filled(Pattern::Random, 1), filled(Pattern::Random, 1));
    assert_ne!(filled(Pattern::Random, 1), filled(Pattern::Random, 2));
}

#[test]
fn large_regions_are_filled_and_summed_whole() {
    let bytes: Vec<u8> = (0..200_000u32).map(|index| (index / 3) as u8).collect();
    let mut device = Copier::raising(&[]);
    let surface = crate::trace::Surface::from_bytes(bytes.as_slice());
    memory::place(&mut device, Memory::Primary, 0x77, &surface).unwrap();
    assert_eq!(memory::crc(&mut device, Memory::Primary, 0x77, 200_000).unwrap(), crc32fast::hash(&bytes));
    device.memory.insert((Memory::Primary, 0x77 + 150_000), 0);
    device.memory.insert((Memory::Primary, 0x77 + 199_999), 0);
    let verdict = memory::compare(&mut device, Memory::Primary, 0x77, 200_000, ("f", &surface)).unwrap();
    assert!(matches!(verdict, Err(FailureKind::Bytes { differing: 2, address: 0x24a67, .. })), "{verdict:?}");
    memory::fill(&mut device, Memory::Primary, 0, 200_000, Pattern::Ones, (1, 1)).unwrap();
    assert_eq!(device.bytes(0, 200_001)[199_998..], [0xff, 0xff, ((200_000 - 0x77) / 3) as u8]);
}

#[test]
fn a_script_that_only_polls_comes_to_its_end() {
    let outcome = run(&cfg("poll_reg_equal(NVDLA_CDMA.FLUSH_0, 1);"), &mut Copier::raising(&[]));
    assert!(outcome.passed() && outcome.checks_passed == 0);
}

#[test]
fn the_vendors_one_by_one_pooling_passes_on_a_device_that_copies() {
    let Some(folder) = crate::trace::tests::vendor_traces() else { return };
    let trace =
        Trace::load(&folder.join("nv_small/pdp_8x8x32_1x1_int8_1/pdp_8x8x32_1x1_int8_1.cfg")).unwrap();
    let pooling = |register: &str| {
        Ok(match register {
            "GLB.S_INTR_STATUS" => STATUS,
            "GLB.S_INTR_MASK" => MASK,
            "PDP_RDMA.D_SRC_BASE_ADDR_LOW" => SOURCE,
            "PDP.D_DST_BASE_ADDR_LOW" => DESTINATION,
            "PDP.D_OP_ENABLE" => ENABLE,
            _ => 0xf000,
        })
    };
    for (copies, failures) in [(true, 0), (false, 1)] {
        let mut device = Copier { copies, ..Copier::raising(&[1 << 4]) };
        device.registers.insert(SIZE, 0x800);
        let outcome = play(&trace, &mut device, &pooling, &PlayOptions::default()).unwrap();
        assert_eq!(outcome.failures.len(), failures, "{:?}", outcome.failures);
        assert_eq!(outcome.interrupts[0].interrupt, Interrupt::parse("PDP_0"));
    }
}

/// Lines that fit together often enough to be played: few blocks, few events.
fn any_line() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "reg_write(NVDLA_SDP.ENABLE_0, 1);",
        "reg_write(NVDLA_GLB.S_INTR_MASK_0, 1);",
        "poll_reg_equal(NVDLA_CDMA.FLUSH_0, 1);",
        "reg_read_check(NVDLA_SDP.SIZE_0, 0);",
        "sync_notify(NVDLA_SDP, a);",
        "sync_wait(NVDLA_SDP, b);",
        "sync_notify(NVDLA_CDMA, b);",
        "sync_wait(NVDLA_CDMA, a);",
        "sync_wait(NVDLA_GLB, c);",
        "intr_notify(SDP_0, c);",
        "intr_notify(SDP_1, a);",
        "mem_load(pri_mem, 0x1000, \"in.dat\", c);",
        "check_file(a, pri_mem, 0x1000, 8, \"in.dat\");",
        "check_nothing(c);",
    ])
}

proptest! {
    #[test]
    fn any_script_on_any_device_ends_with_every_check_made_or_told(
        lines in prop::collection::vec(any_line(), 1..20),
        raised in prop::collection::vec(0..8u32, 0..4),
    ) {
        let surface = crate::trace::Surface::from_bytes(DATA).emit_entries();
        let mut read = |_: &str| Ok(Some(surface.clone()));
        let script = Path::new("t.cfg");
        if let Ok(trace) = Trace::assemble("t", script, Language::Cfg, &lines.join("\n"), None, &mut read) {
            let options = PlayOptions { poll_reads: 2, ..PlayOptions::default() };
            let outcome = play(&trace, &mut Copier::raising(&raised), &names, &options).unwrap();
            let checks = lines.iter().filter(|line| line.starts_with("check") || line.starts_with("reg_read")).count();
            let lines_told = outcome.failures.iter().filter_map(|failure| failure.line).count();
            let held_behind = outcome.failures.iter().any(|failure| matches!(failure.kind, FailureKind::Held { .. }));
            prop_assert!(outcome.checks_passed + lines_told >= checks || held_behind);
        }
    }
}
