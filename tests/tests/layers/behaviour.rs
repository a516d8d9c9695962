//! Promises of a platform to its users beyond the right bytes: time that answers to the memory's parameters, runs
//! that repeat, register groups that take turns, and mistakes that are told instead of hanging.

use std::cell::RefCell;
use std::rc::Rc;

use vp_core::Time;
use vp_core::observe::{self, Observation, Observer, What};
use vp_host::{Host as _, HostError};
use vp_models::bus::axi::{Drawn, Latency};
use vp_models::nvdla::nocif::read_id;
use vp_models::nvdla::registers::{RegisterRef, Unit, mcif, pdp, pdp_rdma, sdp, sdp_rdma};
use vp_models::platform::Description;
use vp_tests::device::Device;
use vp_tests::layers::{
    INPUT, OPERANDS, OUTPUT, PDP_0, PDP_1, SDP_0, SDP_1, doubling, halving, image, start_pdp, start_sdp,
    with_operands,
};
use vp_tests::program::Program;
use vp_tests::reference::{self, Image, Lut, SdpLayer};

fn nv_small(change: impl FnOnce(&mut Description)) -> Description {
    let mut description = Description::named("nv_small").unwrap();
    change(&mut description);
    description
}

fn latency(cycles: u32) -> impl FnOnce(&mut Description) {
    move |description| description.dbb0.read_latency = Some(Latency::Fixed(cycles))
}

/// A layer run to its end on such a platform.
fn ran(description: &Description, layer: &SdpLayer) -> Device {
    let mut device = Device::new(description);
    device.run_new(start_sdp(layer, 0));
    assert_eq!(device.interrupt(), SDP_0);
    device
}

fn cycles(description: &Description) -> u64 {
    ran(description, &doubling(32, 16, INPUT, OUTPUT)).count("nvdla.cycles")
}

fn event_hash(description: &Description) -> u64 {
    ran(description, &doubling(16, 4, INPUT, OUTPUT)).host.platform().event_hash()
}

mod time {
    use super::*;

    #[test]
    fn cycles_rise_with_the_memorys_latency() {
        let taken = [1, 50, 100, 400, 1000, 2000].map(|cycles_of| cycles(&nv_small(latency(cycles_of))));
        assert!(taken.is_sorted_by(|a, b| a < b), "{taken:?}");
        // A single round trip more where all reads fit in flight; many where they do not.
        assert_eq!(taken[1] - taken[0], 49);
        assert!(taken[5] - taken[4] > 3000, "{taken:?}");
    }

    #[test]
    fn throughput_is_what_is_outstanding_over_the_latency() {
        let limited = |reads: u32| {
            cycles(&nv_small(|description| {
                latency(200)(description);
                description.dbb0.read_outstanding = reads;
            }))
        };
        let [one, four, sixteen] = [1, 4, 16].map(limited);
        assert!((39..=41).contains(&(one * 10 / four)), "1: {one} cycles, 4: {four}");
        assert!((37..=41).contains(&(four * 10 / sixteen)), "4: {four} cycles, 16: {sixteen}");
    }

    #[test]
    fn the_devices_own_limit_holds_reads_back_as_the_memorys_does() {
        let layer = doubling(32, 16, INPUT, OUTPUT);
        let limited = nv_small(|description| {
            latency(200)(description);
            description.dbb0.read_outstanding = 4;
        });
        let mut device = Device::new(&nv_small(latency(200)));
        device.write(Unit::Mcif, mcif::CFG_OUTSTANDING_CNT, 0xff03);
        device.run_new(start_sdp(&layer, 0));
        device.interrupt();
        assert_eq!(device.count("dbb0.read.most_outstanding"), 4);
        // Two cycles longer a round trip: the device counts what it has registered.
        let rounds = 32 * 16 / 4;
        let longer = device.count("nvdla.cycles") - cycles(&limited);
        assert!((2 * rounds - 4..=2 * rounds).contains(&longer), "{longer} cycles longer");
    }

    /// A burst of nv_small_256_full has four beats.
    #[test]
    fn bursts_of_more_beats_than_may_be_under_way_are_waited_for_with_a_warning() {
        let description = Description::named("nv_small_256_full").unwrap();
        for limits in [[256, 4], [4, 256], [256, 3], [3, 256]] {
            let mut device = Device::new(&description);
            let [writes, reads] = limits.map(|limit| limit - 1);
            device.write(Unit::Mcif, mcif::CFG_OUTSTANDING_CNT, writes << 8 | reads);
            device.run_new(start_sdp(&doubling(32, 16, INPUT, OUTPUT), 0));
            let waits = limits.contains(&3);
            match device.try_interrupt() {
                Ok(status) => assert!(status == SDP_0 && !waits, "{limits:?}"),
                Err(error) => {
                    assert!(matches!(error, HostError::Idle { .. }) && waits, "{limits:?}: {error}");
                }
            }
            let warnings = device.warnings();
            assert_eq!(warnings.iter().any(|text| text.contains("lets 3 beats")), waits, "{warnings:?}");
        }
    }

    #[test]
    fn a_memory_of_half_the_bandwidth_takes_twice_as_long() {
        let at = |bytes: u64| cycles(&nv_small(|description| description.dbb0.bandwidth = Some(bytes)));
        // The layer moves 8 KiB, half of them each way.
        let [one, half, quarter] = [1_000_000_000, 500_000_000, 250_000_000].map(at);
        for (slow, fast) in [(half, one), (quarter, half)] {
            let percent = slow * 100 / fast;
            assert!((195..=202).contains(&percent), "{slow} cycles are {percent} % of {fast}");
        }
        assert!(quarter > 8192 * 4, "{quarter} cycles for 8192 bytes at 4 cycles each");
    }

    /// Read clients that asked, in order.
    #[derive(Default)]
    struct Asked(RefCell<Vec<u32>>);

    impl Observer for Asked {
        fn observe(&self, observation: &Observation<'_>) {
            if let What::Transfer(transfer) = observation.what
                && transfer.stage == observe::Stage::Request
                && !transfer.write
            {
                self.0.borrow_mut().push(transfer.id);
            }
        }
    }

    #[test]
    fn weights_share_the_memory_between_read_clients() {
        let asked = |main: u32, operand: u32| {
            let mut device = Device::new(&nv_small(|description| {
                latency(30)(description);
                description.dbb0.read_outstanding = 1;
            }));
            let program = &mut device.program();
            program.fields(
                Unit::Mcif,
                &[
                    (mcif::CFG_RD_WEIGHT_0::RD_WEIGHT_SDP, main),
                    (mcif::CFG_RD_WEIGHT_1::RD_WEIGHT_SDP_B, operand),
                ],
            );
            device.run(program);
            let asked = Rc::new(Asked::default());
            device.host.platform().sim().observe(asked.clone());
            device.run_new(start_sdp(&with_operands(&doubling(16, 16, INPUT, OUTPUT)), 0));
            device.interrupt();
            // The first requests come before both clients have one waiting.
            asked.0.take()[10..50].iter().filter(|id| **id == read_id::SDP).count()
        };
        assert_eq!([asked(1, 1), asked(3, 1), asked(1, 3)], [20, 30, 10], "of 40 requests");
    }
}

mod repetition {
    use super::*;

    #[test]
    fn two_runs_go_the_same_way_event_for_event() {
        let hash = event_hash(&nv_small(latency(77)));
        assert_eq!(event_hash(&nv_small(latency(77))), hash);
        assert_ne!(event_hash(&nv_small(latency(78))), hash);
    }

    #[test]
    fn drawn_latencies_repeat_with_their_seed() {
        let drawn = |seed| {
            nv_small(|description| {
                let spread = Drawn::Normal { mean: 80.0, deviation: 20.0, min: 10 };
                description.dbb0.read_latency = Some(Latency::Drawn(spread));
                description.dbb0.seed = seed;
            })
        };
        assert_eq!(event_hash(&drawn(5)), event_hash(&drawn(5)));
        assert_ne!(event_hash(&drawn(5)), event_hash(&drawn(6)));
    }
}

mod groups {
    use super::*;

    const IDLE: u32 = 0;
    /// `S_STATUS` by group: 1 runs, 2 waits for its turn.
    const FIRST_RUNS_SECOND_WAITS: u32 = 0x0002_0001;
    const SECOND_RUNS: u32 = 0x0001_0000;
    const CONSUMER: u32 = 0x0001_0000;

    /// Two layers in both groups: the second is programmed while the first runs.
    fn take_turns(
        unit: Unit,
        [first, second]: [&dyn Fn(&mut Program); 2],
        [status, pointer]: [RegisterRef; 2],
        [bit_0, bit_1]: [u32; 2],
        expected: &Image,
        before: &Image,
    ) {
        let mut device = Device::new(&nv_small(latency(400)));
        device.load(before);
        device.run_new(first);
        device.run_new(second);
        assert_eq!(device.read(unit, status), FIRST_RUNS_SECOND_WAITS);
        assert_eq!(device.read(unit, pointer) & CONSUMER, 0);
        assert_eq!(device.interrupt(), bit_0);
        assert_eq!(device.read(unit, status), SECOND_RUNS);
        assert_eq!(device.read(unit, pointer) & CONSUMER, CONSUMER);
        assert_eq!(device.interrupt(), bit_1);
        assert_eq!(device.read(unit, status), IDLE);
        assert_eq!(device.read(unit, pointer) & CONSUMER, 0);
        device.idle(10_000);
        assert_eq!(device.difference(expected), None);
    }

    #[test]
    fn two_layers_of_sdp_take_turns() {
        let (first, second) = (doubling(16, 8, INPUT, OUTPUT), doubling(8, 8, OPERANDS, OUTPUT + 0x1000));
        let before = image(&[(INPUT, 1024), (OPERANDS, 512)], &[(OUTPUT, 1024), (OUTPUT + 0x1000, 512)]);
        let mut expected = before.clone();
        reference::run_sdp(&first, &Lut::default(), &mut expected);
        reference::run_sdp(&second, &Lut::default(), &mut expected);
        let programs: [&dyn Fn(&mut Program); 2] = [&start_sdp(&first, 0), &start_sdp(&second, 1)];
        take_turns(Unit::Sdp, programs, [sdp::S_STATUS, sdp::S_POINTER], [SDP_0, SDP_1], &expected, &before);
    }

    #[test]
    fn two_layers_of_pdp_take_turns() {
        let first = halving(16, 8, Some(INPUT), OUTPUT);
        let second = halving(8, 8, Some(OPERANDS), OUTPUT + 0x1000);
        let before = image(&[(INPUT, 1024), (OPERANDS, 512)], &[(OUTPUT, 256), (OUTPUT + 0x1000, 128)]);
        let mut expected = before.clone();
        reference::run_pdp(&first, &mut expected);
        reference::run_pdp(&second, &mut expected);
        let programs: [&dyn Fn(&mut Program); 2] = [&start_pdp(&first, 0), &start_pdp(&second, 1)];
        take_turns(Unit::Pdp, programs, [pdp::S_STATUS, pdp::S_POINTER], [PDP_0, PDP_1], &expected, &before);
    }

    /// Each layer reads what the one before has written.
    #[test]
    fn a_chain_of_layers_goes_through_both_groups() {
        let place = |index: u64| INPUT + 0x1000 * index;
        let layers: Vec<SdpLayer> =
            (0..7).map(|index| doubling(5, 3, place(index), place(index + 1))).collect();
        let outputs: Vec<_> = (1..8).map(|index| (place(index), 120)).collect();
        let before = image(&[(INPUT, 120)], &outputs);
        let mut expected = before.clone();
        let mut device = Device::named("nv_small");
        device.load(&before);
        for (index, layer) in layers.iter().enumerate() {
            let group = index as u32 % 2;
            reference::run_sdp(layer, &Lut::default(), &mut expected);
            device.run_new(start_sdp(layer, group));
            assert_eq!(device.interrupt(), SDP_0 << group);
            let consumer = 1 - group;
            assert_eq!(device.read(Unit::Sdp, sdp::S_POINTER), consumer << 16 | group);
        }
        assert_eq!(device.difference(&expected), None);
    }

    #[test]
    fn a_group_enabled_out_of_turn_waits_for_the_other() {
        let mut device = Device::named("nv_small");
        device.run_new(start_sdp(&doubling(4, 4, INPUT, OUTPUT), 1));
        assert_eq!(device.read(Unit::Sdp, sdp::S_STATUS), 0x0002_0000);
        device.idle(5000);
        device.run_new(start_sdp(&doubling(4, 4, INPUT, OUTPUT), 0));
        device.interrupts(SDP_0 | SDP_1);
    }

    #[test]
    fn a_write_to_an_enabled_group_is_dropped() {
        let mut device = Device::new(&nv_small(latency(500)));
        device.run_new(start_sdp(&doubling(4, 4, INPUT, OUTPUT), 0));
        device.write(Unit::Sdp, sdp::D_DATA_CUBE_WIDTH, 99);
        assert_eq!(device.read(Unit::Sdp, sdp::D_DATA_CUBE_WIDTH), 3);
        assert_eq!(device.read(Unit::Sdp, sdp::D_OP_ENABLE), 1);
        device.interrupt();
        assert_eq!(device.read(Unit::Sdp, sdp::D_OP_ENABLE), 0);
        device.write(Unit::Sdp, sdp::D_DATA_CUBE_WIDTH, 99);
        assert_eq!(device.read(Unit::Sdp, sdp::D_DATA_CUBE_WIDTH), 99);
    }

    /// Driver contract, section 5.
    #[test]
    fn the_rdmas_pointer_stays_when_the_rdma_takes_no_part() {
        let mut device = Device::named("nv_small");
        let sdp = SdpLayer { destination: None, ..doubling(4, 4, INPUT, OUTPUT) };
        device.run_new(start_pdp(&halving(4, 4, None, OUTPUT), 0));
        device.run_new(start_sdp(&sdp, 0));
        device.interrupts(SDP_0 | PDP_0);
        assert_eq!(device.read(Unit::Pdp, pdp::S_POINTER), CONSUMER);
        assert_eq!(device.read(Unit::PdpRdma, pdp_rdma::S_POINTER), 0);
        assert_eq!(device.read(Unit::SdpRdma, sdp_rdma::S_POINTER), CONSUMER);
        // The next layer of PDP, in group 1, finds its RDMA's group 0.
        let layer = halving(4, 4, Some(INPUT), OUTPUT);
        device.run_new(|program| {
            program.pdp(&layer, 1);
            program.enable_pdp(&layer, 1);
            program.select_pdp_rdma(0);
        });
        assert_eq!(device.interrupt(), PDP_1);
    }
}

mod chain {
    use super::*;

    #[test]
    fn pooling_enabled_long_before_waits_for_its_input() {
        let sdp = SdpLayer { destination: None, ..doubling(8, 8, INPUT, OUTPUT) };
        let pdp = halving(8, 8, None, OUTPUT);
        let before = image(&[(INPUT, 512)], &[(OUTPUT, 128)]);
        let mut expected = before.clone();
        reference::run_sdp_to_pdp(&sdp, &pdp, &mut expected);
        let mut device = Device::named("nv_small");
        device.load(&before);
        device.run_new(start_pdp(&pdp, 0));
        device.idle(20_000);
        device.run_new(start_sdp(&sdp, 0));
        device.interrupts(SDP_0 | PDP_0);
        assert_eq!(device.difference(&expected), None);
    }

    /// Whichever end of a chain is refused, both engines end, and the next chain is a whole one.
    fn a_refused_end_of_a_chain(spoil: impl Fn(&mut Program)) {
        let sdp = SdpLayer { destination: None, ..doubling(8, 8, INPUT, OUTPUT) };
        let pdp = halving(8, 8, None, OUTPUT);
        let before = image(&[(INPUT, 512)], &[(OUTPUT, 128)]);
        let mut expected = before.clone();
        reference::run_sdp_to_pdp(&sdp, &pdp, &mut expected);
        let mut device = Device::named("nv_small");
        device.load(&before);
        device.run_new(|program| {
            program.pdp(&pdp, 0);
            program.sdp(&sdp, 0);
            spoil(program);
            program.enable_pdp(&pdp, 0);
            program.enable_sdp(0);
        });
        device.interrupts(SDP_0 | PDP_0);
        assert!(device.warnings()[0].contains("refused"));
        device.run_new(start_pdp(&pdp, 1));
        device.run_new(start_sdp(&sdp, 1));
        device.interrupts(SDP_1 | PDP_1);
        assert_eq!(device.difference(&expected), None);
    }

    #[test]
    fn a_refused_consumer_takes_what_its_producer_sends() {
        a_refused_end_of_a_chain(|program| program.word(Unit::Pdp, pdp::D_DATA_CUBE_OUT_WIDTH, 9));
    }

    #[test]
    fn a_refused_producer_lets_its_consumer_end() {
        a_refused_end_of_a_chain(|program| program.word(Unit::Sdp, sdp::D_DATA_FORMAT, 0b1010));
    }

    #[test]
    fn slow_writes_hold_the_reads_back() {
        let layer = doubling(64, 64, INPUT, OUTPUT);
        let slow = nv_small(|description| {
            description.dbb0.write_latency = Latency::Fixed(1000);
            description.dbb0.write_outstanding = 1;
        });
        let mut device = Device::new(&slow);
        device.run_new(start_sdp(&layer, 0));
        device.idle(20_000);
        // 4096 atoms, 20 written by now: the reads are ahead by what lies in buffers, not by the layer.
        let (read, written) = (device.count("dbb0.read.bursts"), device.count("dbb0.write.bursts"));
        assert!((15..25).contains(&written) && read < 1000, "{read} read, {written} written");
    }

    #[test]
    fn two_chains_in_both_groups_run_once_each() {
        let chain = |source, destination| {
            let sdp = SdpLayer { destination: None, ..doubling(8, 8, source, OUTPUT) };
            (sdp, halving(8, 8, None, destination))
        };
        let chains = [chain(INPUT, OUTPUT), chain(OPERANDS, OUTPUT + 0x1000)];
        let before = image(&[(INPUT, 512), (OPERANDS, 512)], &[(OUTPUT, 128), (OUTPUT + 0x1000, 128)]);
        let mut expected = before.clone();
        let mut device = Device::named("nv_small");
        device.load(&before);
        for ((sdp, pdp), group) in chains.iter().zip(0..) {
            reference::run_sdp_to_pdp(sdp, pdp, &mut expected);
            device.run_new(start_pdp(pdp, group));
            device.run_new(start_sdp(sdp, group));
        }
        device.interrupts(SDP_0 | SDP_1 | PDP_0 | PDP_1);
        device.idle(20_000);
        assert_eq!(device.host.platform().layers().len(), 4);
        assert_eq!(device.difference(&expected), None);
    }

    #[test]
    fn a_producer_without_its_consumer_waits_and_the_host_is_told_who() {
        let mut device = Device::named("nv_small");
        let sdp = SdpLayer { destination: None, ..doubling(8, 8, INPUT, OUTPUT) };
        device.run_new(start_sdp(&sdp, 0));
        match device.try_interrupt() {
            Err(HostError::Idle { report, .. }) => assert!(report.contains("sdp"), "{report}"),
            other => panic!("{other:?}"),
        }
    }
}

mod mistakes {
    use super::*;

    #[test]
    fn a_refused_layer_of_sdp_ends_with_its_interrupt_and_names_register_and_field() {
        let mut device = Device::named("nv_small");
        device.run_new(|program| {
            program.sdp(&doubling(4, 4, INPUT, OUTPUT), 0);
            program.word(Unit::Sdp, sdp::D_DATA_FORMAT, 0b1010);
            program.enable_sdp(0);
        });
        assert_eq!(device.interrupt(), SDP_0);
        let warnings = device.warnings();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("SDP.D_DATA_FORMAT.PROC_PRECISION"), "{warnings:?}");
        // The next layer runs as if nothing had been.
        device.run_new(start_sdp(&doubling(4, 4, INPUT, OUTPUT), 1));
        assert_eq!(device.interrupt(), SDP_1);
        assert_eq!(device.warnings(), Vec::<String>::new());
    }

    #[test]
    fn a_refused_layer_of_pdp_ends_with_its_interrupt_and_names_register_and_field() {
        let mut device = Device::named("nv_small");
        let layer = halving(4, 4, Some(INPUT), OUTPUT);
        device.run_new(|program| {
            program.pdp(&layer, 0);
            program.word(Unit::Pdp, pdp::D_DATA_CUBE_OUT_WIDTH, 9);
            program.enable_pdp(&layer, 0);
        });
        assert_eq!(device.interrupt(), PDP_0);
        let warnings = device.warnings();
        assert!(warnings[0].contains("PDP.D_DATA_CUBE_OUT_WIDTH.CUBE_OUT_WIDTH"), "{warnings:?}");
        device.run_new(start_pdp(&layer, 1));
        assert_eq!(device.interrupt(), PDP_1);
    }

    #[test]
    fn a_layer_outside_memory_ends_and_says_where() {
        let mut device = Device::named("nv_small");
        device.run_new(start_sdp(&doubling(1, 2, 0x1000, 0x2000), 0));
        // Below 0x8000_0000 the program asks for the secondary memory, which nv_small does not have.
        assert_eq!(device.interrupt(), SDP_0);
        let warnings = device.warnings();
        assert!(warnings.iter().any(|text| text.contains("0x1000")), "{warnings:?}");
        assert!(warnings.iter().any(|text| text.contains("0x2000")), "{warnings:?}");
    }

    /// No limit of time would end it: time does not come to the limit.
    #[test]
    fn a_model_that_lets_no_time_pass_ends_the_run_with_its_name() {
        let mut device = Device::named("nv_small");
        device.host.set_limit(Time::us(1));
        let sim = device.host.platform().sim();
        sim.clone().process("spins", async move {
            sim.wait(Time::ns(5)).await;
            loop {
                sim.wait(Time::ZERO).await;
            }
        });
        let error = device.try_interrupt().unwrap_err();
        assert!(matches!(&error, HostError::Livelock { .. }), "{error:?}");
        let told = "the run was ended: time stands still at 5 ns while spins runs again and again";
        assert_eq!(error.to_string(), told);
    }

    #[test]
    fn a_layer_that_nobody_enabled_is_an_idle_platform_not_a_hang() {
        let mut device = Device::named("nv_small");
        device.run_new(|program| program.sdp(&doubling(4, 4, INPUT, OUTPUT), 0));
        assert!(matches!(device.try_interrupt(), Err(HostError::Idle { .. })));
    }
}
