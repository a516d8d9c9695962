//! The statistics registers: they count what they say, when they are told to, for the group whose layer it was.

use proptest::prelude::*;
use vp_models::bus::axi::Latency;
use vp_models::nvdla::registers::{
    FieldRef, Group, RegisterMap, RegisterRef, Unit, cdp, cdp_rdma, pdp, pdp_rdma, sdp, sdp_rdma,
};
use vp_models::platform::Description;
use vp_tests::device::Device;
use vp_tests::effort::cases;
use vp_tests::layers::{
    CDP_0, INPUT, OPERANDS, OUTPUT, PDP_0, SDP_0, doubling, halving, image, normalising, packed, squares,
    start_cdp, start_pdp, start_sdp, with_operands,
};
use vp_tests::program::Program;
use vp_tests::reference::{
    Alu, Carries, Elementwise, ElementwiseAlu, ElementwiseOperand, Image, Operands, SdpLayer,
};

/// A memory that answers late, and few at a time.
fn slow() -> Device {
    let mut description = Description::named("nv_small").unwrap();
    description.dbb0.read_latency = Some(Latency::Fixed(300));
    description.dbb0.write_latency = Latency::Fixed(40);
    description.dbb0.write_outstanding = 1;
    let mut device = Device::new(&description);
    device.run_new(|program| program.cdp_lut(&squares()));
    device
}

/// Runs a layer in group 0 with these counters switched on or off.
fn run(device: &mut Device, start: &dyn Fn(&mut Program), enables: &[(Unit, FieldRef)], on: bool, done: u32) {
    let mut program = device.program();
    for &(unit, enable) in enables {
        program.fields(unit, &[(enable, on.into())]);
    }
    start(&mut program);
    device.run(&program);
    assert_eq!(device.interrupt(), done);
}

/// An engine's layer, its interrupt, and its stall counters with what switches them on.
struct Case<'a> {
    start: &'a dyn Fn(&mut Program),
    done: u32,
    stalls: &'a [(Unit, FieldRef, RegisterRef)],
}

#[test]
fn dma_stalls_are_counted_when_asked_for() {
    let sdp_layer = with_operands(&doubling(32, 16, INPUT, OUTPUT));
    let pdp_layer = halving(32, 16, Some(INPUT), OUTPUT);
    let cdp_layer = normalising(32, 16, INPUT, OUTPUT);
    let engines: [Case<'_>; 3] = [
        Case {
            start: &start_sdp(&sdp_layer, 0),
            done: SDP_0,
            stalls: &[
                (Unit::Sdp, sdp::D_PERF_ENABLE::PERF_DMA_EN, sdp::D_PERF_WDMA_WRITE_STALL),
                (Unit::SdpRdma, sdp_rdma::D_PERF_ENABLE::PERF_DMA_EN, sdp_rdma::D_PERF_MRDMA_READ_STALL),
                (Unit::SdpRdma, sdp_rdma::D_PERF_ENABLE::PERF_DMA_EN, sdp_rdma::D_PERF_BRDMA_READ_STALL),
            ],
        },
        Case {
            start: &start_pdp(&pdp_layer, 0),
            done: PDP_0,
            stalls: &[
                (Unit::Pdp, pdp::D_PERF_ENABLE::DMA_EN, pdp::D_PERF_WRITE_STALL),
                (Unit::PdpRdma, pdp_rdma::D_PERF_ENABLE::DMA_EN, pdp_rdma::D_PERF_READ_STALL),
            ],
        },
        Case {
            start: &start_cdp(&cdp_layer, 0),
            done: CDP_0,
            stalls: &[
                (Unit::Cdp, cdp::D_PERF_ENABLE::DMA_EN, cdp::D_PERF_WRITE_STALL),
                (Unit::CdpRdma, cdp_rdma::D_PERF_ENABLE::DMA_EN, cdp_rdma::D_PERF_READ_STALL),
            ],
        },
    ];
    for Case { start, done, stalls } in engines {
        let enables: Vec<_> = stalls.iter().map(|(unit, enable, _)| (*unit, *enable)).collect();
        for on in [true, false] {
            let mut device = slow();
            run(&mut device, start, &enables, on, done);
            let cycles = device.count("nvdla.cycles") as u32;
            for &(unit, _, register) in stalls {
                let stalled = device.read(unit, register);
                assert_eq!(stalled > 0, on, "{register}: {stalled}");
                assert!(stalled < cycles, "{register}: {stalled} of {cycles} cycles");
            }
        }
    }
}

/// A memory that has one read under way takes a line of 32 atoms, each a burst of `nv_small`, in 32 * 401 cycles. The read DMA makes a line's request
/// when that of six lines before is split into bursts: so its `valid` waits for ten of sixteen lines to be split. Eight bursts are ahead of
/// the memory then: one under way, five chosen by the arbiter, two in front of it. (What is left is the cycle in which each request is
/// taken, and the registers on the way.)
#[test]
fn requests_wait_for_ready_while_a_slow_bus_takes_the_lines_before() {
    let mut description = Description::named("nv_small").unwrap();
    description.dbb0.read_latency = Some(Latency::Fixed(400));
    description.dbb0.read_outstanding = 1;
    let mut device = Device::new(&description);
    let enables = [(Unit::SdpRdma, sdp_rdma::D_PERF_ENABLE::PERF_DMA_EN)];
    run(&mut device, &start_sdp(&doubling(32, 16, INPUT, OUTPUT), 0), &enables, true, SDP_0);
    let stalled = u64::from(device.read(Unit::SdpRdma, sdp_rdma::D_PERF_MRDMA_READ_STALL));
    let split: u64 = (10 * 32 - 8) * 401;
    assert!(
        stalled.abs_diff(split) <= 16,
        "{stalled} of {} cycles, not {split}",
        device.count("nvdla.cycles")
    );
}

#[test]
fn an_unhindered_layer_stalls_nowhere() {
    let mut description = Description::named("nv_small").unwrap();
    description.dbb0.read_latency = Some(Latency::Fixed(1));
    let mut device = Device::new(&description);
    let enables = [(Unit::Pdp, pdp::D_PERF_ENABLE::DMA_EN), (Unit::PdpRdma, pdp_rdma::D_PERF_ENABLE::DMA_EN)];
    run(&mut device, &start_pdp(&halving(4, 4, Some(INPUT), OUTPUT), 0), &enables, true, PDP_0);
    assert_eq!(device.read(Unit::Pdp, pdp::D_PERF_WRITE_STALL), 0);
    assert_eq!(device.read(Unit::PdpRdma, pdp_rdma::D_PERF_READ_STALL), 0);
}

const LUT_COUNTERS: [RegisterRef; 5] = [
    cdp::D_PERF_LUT_UFLOW,
    cdp::D_PERF_LUT_OFLOW,
    cdp::D_PERF_LUT_HYBRID,
    cdp::D_PERF_LUT_LE_HIT,
    cdp::D_PERF_LUT_LO_HIT,
];

#[test]
fn each_element_of_cdp_is_counted_once_in_its_groups_registers() {
    let mut device = slow();
    device.load(&image(&[(INPUT, 8 * 9 * 5)], &[]));
    let enables = [(Unit::Cdp, cdp::D_PERF_ENABLE::LUT_EN)];
    run(&mut device, &start_cdp(&normalising(9, 5, INPUT, OUTPUT), 0), &enables, true, CDP_0);
    let counted = LUT_COUNTERS.map(|register| device.read(Unit::Cdp, register));
    assert_eq!(counted.iter().sum::<u32>(), 8 * 9 * 5, "{counted:?}");
    // Sums of 0 are below both tables, others up to 256 inside both.
    assert!(counted[2] > 0 && counted[1] == 0, "{counted:?}");
    device.write(Unit::Cdp, cdp::S_POINTER, 1);
    assert_eq!(LUT_COUNTERS.map(|register| device.read(Unit::Cdp, register)), [0; 5]);
    // Each layer counts from 0, whatever LUT_EN says, which nothing reads (RTL, `NV_NVDLA_cdp.v`).
    device.write(Unit::Cdp, cdp::S_POINTER, 0);
    device.run_new(start_cdp(&normalising(9, 5, INPUT, OUTPUT), 1));
    device.interrupt();
    device.write(Unit::Cdp, cdp::S_POINTER, 0);
    run(&mut device, &start_cdp(&normalising(1, 1, INPUT, OUTPUT), 0), &enables, false, CDP_0);
    let counted = LUT_COUNTERS.map(|register| device.read(Unit::Cdp, register));
    assert_eq!(counted.iter().sum::<u32>(), 8, "{counted:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]

    /// EQL mode: nothing is written; the status tells whether any element differs from its operand.
    #[test]
    fn sdp_tells_whether_two_cubes_are_equal(
        (width, height) in (1u32..12, 1u32..6),
        differ in prop::option::of((any::<prop::sample::Index>(), 1u8..=255)),
    ) {
        let bytes = (8 * width * height) as usize;
        let mut first: Vec<u8> = (0..bytes).map(|at| (at * 7) as u8).collect();
        let second = first.clone();
        if let Some((at, other)) = differ {
            let at = at.index(bytes);
            first[at] = first[at].wrapping_add(other);
        }
        let output = vec![0xa5; bytes];
        let before = Image::new(vec![(INPUT, first), (OPERANDS, second), (OUTPUT, output)]);
        let operands =
            Operands { carries: Carries::Alu, bytes: 1, per_element: true, place: packed(OPERANDS, width, height) };
        let alu = ElementwiseAlu { operation: Alu::Sum, operand: ElementwiseOperand::Memory(None) };
        let ew = Elementwise { multiplier: None, alu: Some(alu), lut: false, operands: Some(operands) };
        let layer = SdpLayer { ew: Some(ew), ..doubling(width, height, INPUT, OUTPUT) };
        let mut device = Device::named("nv_small_256_full");
        device.load(&before);
        device.run_new(|program| {
            use sdp::D_DP_EW_CFG::EW_ALU_ALGO;
            program.sdp(&layer, 0);
            let config = program.writes.iter_mut().rfind(|write| write.register == sdp::D_DP_EW_CFG).unwrap();
            let mut group = Group::new(Unit::Sdp, RegisterMap::Large);
            group.set_word(sdp::D_DP_EW_CFG, config.value);
            group.set(EW_ALU_ALGO, EW_ALU_ALGO::EQL);
            config.value = group.word(sdp::D_DP_EW_CFG);
            program.fields(Unit::Sdp, &[(sdp::D_CVT_SCALE::CVT_SCALE, 1)]);
            program.enable_sdp(0);
        });
        prop_assert_eq!(device.interrupt(), SDP_0);
        prop_assert_eq!(device.warnings(), Vec::<String>::new());
        prop_assert_eq!(device.read(Unit::Sdp, sdp::D_STATUS), u32::from(differ.is_some()));
        prop_assert_eq!(device.difference(&before), None);
    }
}
