//! Any legal layer leaves the reference's bytes, whatever the memory's speed; anything else does no harm.

use proptest::prelude::*;
use vp_core::Time;
use vp_models::host::{Host as _, HostError};
use vp_models::nvdla::registers::Unit;
use vp_tests::device::Device;
use vp_tests::effort::cases;
use vp_tests::program::Program;
use vp_tests::random::Draw;
use vp_tests::reference::{self, Image, Lut, PdpLayer, SdpLayer};

const SDP_0: u32 = 0x1;
const CDP_0: u32 = 0x4;
const CDP_1: u32 = 0x8;
const PDP_0: u32 = 0x10;

fn platforms() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["nv_small", "nv_small_256_full", "nv_full"])
}

/// Runs a program over memory as the draw left it; it must end with these interrupts and leave `expected`.
fn leaves(draw: &Draw, program: impl FnOnce(&mut Program), interrupts: u32, expected: &Image, what: &str) {
    let mut device = Device::new(draw.description());
    device.load(&draw.image());
    device.run_new(program);
    device.interrupts(interrupts);
    assert_eq!(device.warnings(), Vec::<String>::new(), "{what}");
    assert_eq!(device.difference(expected), None, "(address, found, expected) of {what}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    #[test]
    fn sdp_leaves_the_references_bytes(platform in platforms(), seed: u64) {
        let mut draw = Draw::new(platform, seed);
        let layer = draw.sdp(true);
        let lut = if layer.ew.is_some_and(|ew| ew.lut) { draw.lut() } else { Lut::default() };
        let mut expected = draw.image();
        reference::run_sdp(&layer, &lut, &mut expected);
        let write = |program: &mut Program| {
            if layer.ew.is_some_and(|ew| ew.lut) {
                program.sdp_lut(&lut);
            }
            program.sdp(&layer, 0);
            program.enable_sdp(0);
        };
        leaves(&draw, write, SDP_0, &expected, &format!("{platform}: {layer:?}"));
    }

    #[test]
    fn pdp_leaves_the_references_bytes(platform in platforms(), seed: u64) {
        let mut draw = Draw::new(platform, seed);
        let layer = draw.pdp();
        let mut expected = draw.image();
        reference::run_pdp(&layer, &mut expected);
        let write = |program: &mut Program| {
            program.pdp(&layer, 0);
            program.enable_pdp(&layer, 0);
        };
        leaves(&draw, write, PDP_0, &expected, &format!("{platform}: {layer:?}"));
    }

    #[test]
    fn cdp_leaves_the_references_bytes(platform in platforms(), seed: u64) {
        let mut draw = Draw::new(platform, seed);
        let (layer, lut) = (draw.cdp(), draw.lut());
        let mut expected = draw.image();
        reference::run_cdp(&layer, &lut, &mut expected);
        let write = |program: &mut Program| {
            program.cdp_lut(&lut);
            program.cdp(&layer, 0);
            program.enable_cdp(0);
        };
        leaves(&draw, write, CDP_0, &expected, &format!("{platform}: {layer:?} {lut:?}"));
    }

    /// Both share the tables; the second is programmed while the first runs.
    #[test]
    fn cdp_runs_two_layers_in_turn(platform in platforms(), seed: u64) {
        let mut draw = Draw::new(platform, seed);
        let (first, second, lut) = (draw.cdp(), draw.cdp(), draw.lut());
        let mut expected = draw.image();
        reference::run_cdp(&first, &lut, &mut expected);
        reference::run_cdp(&second, &lut, &mut expected);
        let write = |program: &mut Program| {
            program.cdp_lut(&lut);
            program.cdp(&first, 0);
            program.enable_cdp(0);
            program.cdp(&second, 1);
            program.enable_cdp(1);
        };
        leaves(&draw, write, CDP_0 | CDP_1, &expected, &format!("{platform}: {first:?} {second:?}"));
    }

    #[test]
    fn sdp_into_pdp_leaves_the_references_bytes(platform in platforms(), seed: u64, pdp_first: bool) {
        let mut draw = Draw::new(platform, seed);
        let mut sdp = draw.sdp(false);
        // The tables are tested with SDP alone.
        sdp.ew = sdp.ew.map(|ew| reference::Elementwise { lut: false, ..ew });
        let pdp = draw.pdp_behind(&sdp);
        let mut expected = draw.image();
        reference::run_sdp_to_pdp(&sdp, &pdp, &mut expected);
        let write = |program: &mut Program| {
            program.sdp(&sdp, 0);
            program.pdp(&pdp, 0);
            if pdp_first {
                program.enable_pdp(&pdp, 0);
                program.enable_sdp(0);
            } else {
                program.enable_sdp(0);
                program.enable_pdp(&pdp, 0);
            }
        };
        leaves(&draw, write, SDP_0 | PDP_0, &expected, &format!("{platform}: {sdp:?} {pdp:?}"));
    }
}

/// One of several layers.
enum Job {
    Sdp(SdpLayer),
    Pdp(PdpLayer),
    /// SDP, with PDP behind it.
    Both(SdpLayer, PdpLayer),
}

impl Job {
    /// The lookup tables, which both groups share, take no part.
    fn drawn(draw: &mut Draw, kind: u8) -> Job {
        let without_lut = |layer: SdpLayer| {
            let ew = layer.ew.map(|ew| reference::Elementwise { lut: false, ..ew });
            SdpLayer { ew, ..layer }
        };
        match kind {
            0 => Job::Sdp(without_lut(draw.sdp(true))),
            1 => Job::Pdp(draw.pdp()),
            _ => {
                let sdp = without_lut(draw.sdp(false));
                let pdp = draw.pdp_behind(&sdp);
                Job::Both(sdp, pdp)
            }
        }
    }

    /// How many groups of SDP and of PDP it takes.
    fn takes(&self) -> [u32; 2] {
        match self {
            Job::Sdp(_) => [1, 0],
            Job::Pdp(_) => [0, 1],
            Job::Both(..) => [1, 1],
        }
    }

    fn run(&self, image: &mut Image) {
        match self {
            Job::Sdp(layer) => reference::run_sdp(layer, &Lut::default(), image),
            Job::Pdp(layer) => reference::run_pdp(layer, image),
            Job::Both(sdp, pdp) => reference::run_sdp_to_pdp(sdp, pdp, image),
        }
    }

    /// Programs it into these groups of SDP, PDP and PDP_RDMA; the consumer is started first.
    fn start(&self, [sdp_group, pdp_group, pdp_rdma_group]: [u32; 3], program: &mut Program) {
        if let Job::Pdp(layer) | Job::Both(_, layer) = self {
            program.pdp(layer, pdp_group);
            program.enable_pdp(layer, pdp_group);
            program.select_pdp_rdma(pdp_rdma_group);
        }
        if let Job::Sdp(layer) | Job::Both(layer, _) = self {
            program.sdp(layer, sdp_group);
            program.enable_sdp(sdp_group);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]

    /// Both engines work at the same time, each with up to two layers programmed.
    #[test]
    fn any_sequence_of_layers_in_both_groups_leaves_the_references_bytes(
        platform in platforms(),
        seed: u64,
        kinds in prop::collection::vec(0u8..3, 2..9),
    ) {
        let mut draw = Draw::new(platform, seed);
        let jobs: Vec<Job> = kinds.into_iter().map(|kind| Job::drawn(&mut draw, kind)).collect();
        let mut expected = draw.image();
        jobs.iter().for_each(|job| job.run(&mut expected));
        let mut device = Device::new(draw.description());
        device.load(&draw.image());
        // Layers of SDP and PDP in flight, and the layers of SDP, PDP and PDP_RDMA started so far, whose parity
        // is the group.
        let (mut flying, mut started) = ([0, 0], [0, 0, 0]);
        let mut jobs = jobs.iter().peekable();
        while jobs.peek().is_some() || flying != [0, 0] {
            let fits = |job: &&Job| (0..2).all(|unit| flying[unit] + job.takes()[unit] <= 2);
            if let Some(job) = jobs.next_if(|job| fits(job)) {
                device.run_new(|program| job.start(started.map(|layers| layers % 2), program));
                for unit in 0..2 {
                    flying[unit] += job.takes()[unit];
                    started[unit] += job.takes()[unit];
                }
                started[2] += u32::from(matches!(job, Job::Pdp(_)));
                continue;
            }
            let status = device.interrupt();
            let done = [status & 0x3, status & 0x30].map(u32::count_ones);
            prop_assert!(status & !0x33 == 0 && done[0] <= flying[0] && done[1] <= flying[1], "{:#x}", status);
            flying = [flying[0] - done[0], flying[1] - done[1]];
        }
        // Pooling windows may leave input unread, and the next layer begin before SDP has sent that.
        let mut warnings = device.warnings();
        warnings.retain(|warning| !warning.contains("which no window of that one reads"));
        prop_assert_eq!(warnings, Vec::<String>::new());
        prop_assert_eq!(device.difference(&expected), None, "(address, found, expected)");
    }
}

const ENGINES: [Unit; 6] = [Unit::SdpRdma, Unit::Sdp, Unit::PdpRdma, Unit::Pdp, Unit::CdpRdma, Unit::Cdp];

/// Long enough for any layer drawn here to end.
const PATIENCE: Time = Time::us(200);

/// Starts whatever the registers hold and waits: for the interrupts, for everything to stand still, or for the
/// limit. Only what the host itself does wrong is an error.
fn is_survived(device: &mut Device, program: &Program) {
    device.host.set_limit(PATIENCE);
    device.run(program);
    loop {
        match device.try_interrupt() {
            Ok(_) => {}
            Err(HostError::Idle { .. } | HostError::Limit { .. }) => break,
            Err(other) => panic!("{other}"),
        }
    }
    device.host.statistics().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    #[test]
    fn any_register_contents_are_survived(
        platform in platforms(),
        words in prop::collection::vec(any::<u32>(), 1..200),
        sparse: bool,
    ) {
        let mut device = Device::named(platform);
        let mut words = words.into_iter().cycle();
        let mut program = device.program();
        for unit in ENGINES {
            for register in unit.registers() {
                let word = words.next().unwrap_or_default();
                let shared = register.name.starts_with("S_POINTER") || register.name == "D_OP_ENABLE";
                if !shared && (!sparse || word % 4 == 0) {
                    program.word(unit, register, if sparse { word >> (word % 29) } else { word });
                }
            }
        }
        for unit in ENGINES {
            program.word(unit, unit.op_enable().unwrap(), 1);
        }
        is_survived(&mut device, &program);
    }

    #[test]
    fn a_legal_layer_with_a_few_wrong_words_is_survived(
        platform in platforms(),
        seed: u64,
        wrong in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>(), 0u32..32), 1..4),
    ) {
        let mut draw = Draw::new(platform, seed);
        let (sdp, pdp, cdp) = (draw.sdp(true), draw.pdp(), draw.cdp());
        let mut device = Device::new(draw.description());
        device.load(&draw.image());
        let mut program = device.program();
        program.sdp(&sdp, 0);
        program.pdp(&pdp, 0);
        program.cdp(&cdp, 0);
        for (place, word, shift) in wrong {
            let count = program.writes.len();
            program.writes[place.index(count)].value ^= word >> shift;
        }
        program.enable_sdp(0);
        program.enable_pdp(&pdp, 0);
        program.enable_cdp(0);
        is_survived(&mut device, &program);
    }
}
