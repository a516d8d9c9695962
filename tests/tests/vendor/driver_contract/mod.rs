//! Statements that the Linux driver relies on, one by one; the sections are those of the driver contract.
//!
//! Statements that need a convolution are in [`convolution`].

mod convolution;

use vp_host::Host as _;
use vp_models::nvdla::registers::{
    RegisterMap, RegisterRef, Unit, bdma, cdma, cdp, cdp_rdma, glb, mcif, pdp, pdp_rdma, sdp, sdp_rdma,
};
use vp_tests::device::Device;
use vp_tests::layers::{
    CDP_0, CDP_1, INPUT, OPERANDS, OUTPUT, PDP_0, PDP_1, SDP_0, SDP_1, doubling, halving, image, normalising,
    squares, start_cdp, start_pdp, start_sdp,
};
use vp_tests::program::Program;
use vp_tests::reference::{self, Image, Lut};

const PLATFORMS: [&str; 4] = ["nv_small", "nv_small_256_full", "nv_large", "nv_full"];
const CONSUMER: u32 = 0x0001_0000;

/// An engine with groups: its units, and a layer of 8 x 4 pixels from one place to another.
struct Engine {
    units: [Unit; 2],
    status: [RegisterRef; 2],
    pointer: [RegisterRef; 2],
    done: [u32; 2],
    start: fn(u64, u64, u32, &mut Program),
    run: fn(u64, u64, &mut Image),
}

const ENGINES: [Engine; 3] = [
    Engine {
        units: [Unit::Sdp, Unit::SdpRdma],
        status: [sdp::S_STATUS, sdp_rdma::S_STATUS],
        pointer: [sdp::S_POINTER, sdp_rdma::S_POINTER],
        done: [SDP_0, SDP_1],
        start: |from, to, group, program| start_sdp(&doubling(8, 4, from, to), group)(program),
        run: |from, to, image| reference::run_sdp(&doubling(8, 4, from, to), &Lut::default(), image),
    },
    Engine {
        units: [Unit::Pdp, Unit::PdpRdma],
        status: [pdp::S_STATUS, pdp_rdma::S_STATUS],
        pointer: [pdp::S_POINTER, pdp_rdma::S_POINTER],
        done: [PDP_0, PDP_1],
        start: |from, to, group, program| start_pdp(&halving(8, 4, Some(from), to), group)(program),
        run: |from, to, image| reference::run_pdp(&halving(8, 4, Some(from), to), image),
    },
    Engine {
        units: [Unit::Cdp, Unit::CdpRdma],
        status: [cdp::S_STATUS, cdp_rdma::S_STATUS],
        pointer: [cdp::S_POINTER, cdp_rdma::S_POINTER],
        done: [CDP_0, CDP_1],
        start: |from, to, group, program| start_cdp(&normalising(8, 4, from, to), group)(program),
        run: |from, to, image| reference::run_cdp(&normalising(8, 4, from, to), &squares(), image),
    },
];

/// A device whose CDP has tables.
fn nv_small() -> Device {
    let mut device = Device::named("nv_small");
    device.run_new(|program| program.cdp_lut(&squares()));
    device
}

/// Section 1: two register maps.
#[test]
fn blocks_and_their_first_registers_lie_where_the_driver_looks() {
    use Unit::*;
    let full = [
        (Glb, 0x0000),
        (Mcif, 0x2000),
        (Cvif, 0x3000),
        (Bdma, 0x4000),
        (Cdma, 0x5000),
        (Csc, 0x6000),
        (CmacA, 0x7000),
        (CmacB, 0x8000),
        (Cacc, 0x9000),
        (SdpRdma, 0xa000),
        (Sdp, 0xb000),
        (PdpRdma, 0xc000),
        (Pdp, 0xd000),
        (CdpRdma, 0xe000),
        (Cdp, 0xf000),
        (Rbk, 0x10000),
    ];
    let small = [
        (Glb, 0x1000),
        (Mcif, 0x2000),
        (Cdma, 0x3000),
        (Csc, 0x4000),
        (CmacA, 0x5000),
        (CmacB, 0x6000),
        (Cacc, 0x7000),
        (SdpRdma, 0x8000),
        (Sdp, 0x9000),
        (PdpRdma, 0xa000),
        (Pdp, 0xb000),
        (CdpRdma, 0xc000),
        (Cdp, 0xd000),
    ];
    let enables = [(Cdma, 0x10), (Sdp, 0x38), (Cdp, 0x48)];
    for (map, bases) in [(RegisterMap::Full, &full[..]), (RegisterMap::Small, &small[..])] {
        for &(unit, base) in bases {
            assert_eq!(map.base(unit), Some(base), "{unit}");
            let Some(enable) = unit.op_enable() else { continue };
            let offset = enables.iter().find(|(of, _)| *of == unit).map_or(8, |(_, offset)| *offset);
            for (name, offset) in [("S_STATUS", 0), ("S_POINTER", 4), (enable.name, offset)] {
                let register = unit.register(name).unwrap();
                assert_eq!(map.address(unit, register), Some(base + offset), "{register}");
            }
        }
        let glb = map.base(Glb).unwrap();
        for (register, offset) in [
            (glb::S_NVDLA_HW_VERSION, 0),
            (glb::S_INTR_MASK, 4),
            (glb::S_INTR_SET, 8),
            (glb::S_INTR_STATUS, 12),
        ] {
            assert_eq!(map.address(Glb, register), Some(glb + offset), "{register}");
        }
    }
}

/// Section 3: no register is touched at probe.
#[test]
fn after_reset_no_interrupt_is_masked_or_pending() {
    for name in ["nv_small", "nv_small_256_full", "nv_large", "nv_full"] {
        let mut device = Device::named(name);
        assert_eq!(device.read(Unit::Glb, glb::S_INTR_MASK), 0, "{name}");
        assert_eq!(device.read(Unit::Glb, glb::S_INTR_STATUS), 0, "{name}");
        assert!(!device.host.platform().irq().level(), "{name}");
    }
}

/// Section 3.
#[test]
fn the_convolution_buffer_says_by_itself_when_it_is_flushed() {
    let mut device = Device::named("nv_small");
    assert_eq!(device.read(Unit::Cdma, cdma::S_CBUF_FLUSH_STATUS), 0);
    let polls = (0..1000).find(|_| device.read(Unit::Cdma, cdma::S_CBUF_FLUSH_STATUS) == 1);
    assert!(polls.is_some());
}

#[test]
fn the_capability_rom_describes_the_configuration() {
    for name in ["nv_small", "nv_small_256", "nv_small_256_full", "nv_large"] {
        let mut device = Device::named(name);
        let nvdla = device.host.platform().description().nvdla().unwrap().clone();
        let words = nvdla.config.capability_words(nvdla.capability_rom);
        assert!(!words.is_empty());
        for (word, address) in words.iter().zip((0..).step_by(4)) {
            let (what, value) = (word.name, word.value);
            assert_eq!(device.host.read(address), Ok(value), "{name}: {what} at {address:#x}");
        }
        device.host.write(0, 0).unwrap();
        assert_eq!(device.host.read(0), Ok(words[0].value), "{name}: it is a ROM");
    }
}

/// The RTL's arbiter passes over who has no weight (run on nv_small's), and goes on when it has one.
#[test]
fn a_client_without_a_weight_waits_until_it_has_one() {
    for (register, initially) in [(mcif::CFG_RD_WEIGHT_0, 0x0101_0101), (mcif::CFG_WR_WEIGHT_0, 0x0101_0101)]
    {
        let mut device = Device::named("nv_small");
        assert_eq!(device.read(Unit::Mcif, register), initially);
        device.write(Unit::Mcif, register, 0x0101_0001);
        device.run_new(start_sdp(&doubling(4, 4, INPUT, OUTPUT), 0));
        device.idle(5000);
        assert_eq!(device.read(Unit::Glb, glb::S_INTR_STATUS), 0);
        let warnings: Vec<String> = device.host.warnings().into_iter().map(|warning| warning.text).collect();
        assert!(warnings.len() == 1 && warnings[0].contains("with id 1 have weight 0"), "{warnings:?}");
        device.write(Unit::Mcif, register, initially);
        assert_eq!(device.interrupt(), SDP_0);
    }
}

/// Section 4: status bits come masked or not, the line follows the unmasked ones.
#[test]
fn a_masked_interrupt_is_recorded_and_unmasking_raises_the_line() {
    let mut device = Device::named("nv_small");
    device.write(Unit::Glb, glb::S_INTR_MASK, SDP_0);
    device.run_new(start_sdp(&doubling(4, 4, INPUT, OUTPUT), 0));
    device.idle(5000);
    assert_eq!(device.read(Unit::Glb, glb::S_INTR_STATUS), SDP_0);
    device.write(Unit::Glb, glb::S_INTR_MASK, 0);
    assert_eq!(device.interrupt(), SDP_0);
}

/// Section 4: a bit not written back stays, and keeps the line high.
#[test]
fn clearing_one_interrupt_keeps_the_other() {
    let mut device = Device::named("nv_small");
    device.run_new(start_sdp(&doubling(4, 4, INPUT, OUTPUT), 0));
    device.run_new(start_pdp(&halving(4, 4, Some(INPUT), OUTPUT + 0x1000), 0));
    while device.read(Unit::Glb, glb::S_INTR_STATUS) != SDP_0 | PDP_0 {}
    device.write(Unit::Glb, glb::S_INTR_STATUS, SDP_0);
    assert!(device.host.platform().irq().level());
    assert_eq!(device.interrupt(), PDP_0);
    assert!(!device.host.platform().irq().level());
}

/// Section 7: what is not written keeps its value from the layer before in the same group.
#[test]
fn registers_keep_their_values_from_layer_to_layer() {
    let layer = doubling(6, 2, INPUT, OUTPUT);
    let before = image(&[(INPUT, 96)], &[(OUTPUT, 96)]);
    let mut expected = before.clone();
    reference::run_sdp(&layer, &Lut::default(), &mut expected);
    let mut device = Device::named("nv_small");
    for group in [0, 1] {
        device.run_new(start_sdp(&layer, group));
        device.interrupt();
    }
    device.load(&before);
    device.run_new(|program| program.enable_sdp(0));
    assert_eq!(device.interrupt(), SDP_0);
    assert_eq!(device.difference(&expected), None);
}

/// Section 7: the driver leaves PDP_RDMA's D_FLYING_MODE at its reset value, "on flying".
#[test]
fn the_pooling_rdma_reads_memory_whatever_its_flying_mode_says() {
    let layer = halving(4, 4, Some(INPUT), OUTPUT);
    let before = image(&[(INPUT, 128)], &[(OUTPUT, 32)]);
    let mut expected = before.clone();
    reference::run_pdp(&layer, &mut expected);
    let mut device = Device::named("nv_small");
    device.load(&before);
    device.run_new(|program| {
        program.pdp(&layer, 0);
        program.writes.retain(|write| write.register != pdp_rdma::D_FLYING_MODE);
        program.enable_pdp(&layer, 0);
    });
    assert_eq!(device.interrupt(), PDP_0);
    assert_eq!(device.difference(&expected), None);
}

/// Section 3.
#[test]
fn after_reset_the_bridge_dma_is_idle_and_has_free_slots() {
    for name in ["nv_large", "nv_full"] {
        let mut device = Device::named(name);
        let status = device.read(Unit::Bdma, bdma::STATUS);
        assert_eq!((status & 0xff, status & 0x700), (20, 0x100), "{name}: {status:#x}");
    }
}

/// Section 4: the handler's sequence; a bit is never raised twice.
#[test]
fn the_line_drops_with_the_last_bit_and_stays_low() {
    for engine in ENGINES {
        let mut device = nv_small();
        device.run_new(|program| (engine.start)(INPUT, OUTPUT, 0, program));
        device.host.wait_interrupt().unwrap();
        device.read(Unit::Glb, glb::S_INTR_MASK);
        let status = device.read(Unit::Glb, glb::S_INTR_STATUS);
        assert_eq!(status, engine.done[0]);
        device.write(Unit::Glb, glb::S_INTR_STATUS, status);
        assert!(!device.host.platform().irq().level());
        assert_eq!(device.read(Unit::Glb, glb::S_INTR_STATUS), 0);
        device.idle(20_000);
    }
}

/// Section 4: an event between reading and clearing is not lost, and clearing 0 clears nothing.
#[test]
fn only_written_ones_clear() {
    let mut device = nv_small();
    device.write(Unit::Glb, glb::S_INTR_SET, CDP_1 | PDP_0 | SDP_0);
    device.write(Unit::Glb, glb::S_INTR_STATUS, 0);
    assert_eq!(device.read(Unit::Glb, glb::S_INTR_STATUS), CDP_1 | PDP_0 | SDP_0);
    device.write(Unit::Glb, glb::S_INTR_STATUS, PDP_0);
    assert_eq!(device.read(Unit::Glb, glb::S_INTR_STATUS), CDP_1 | SDP_0);
}

/// Section 4: several engines' bits pile up and come in any mix.
#[test]
fn all_engines_may_be_done_at_once() {
    let mut device = nv_small();
    device.write(Unit::Glb, glb::S_INTR_MASK, SDP_0 | PDP_0 | CDP_0);
    for (engine, to) in ENGINES.iter().zip((OUTPUT..).step_by(0x1000)) {
        device.run_new(|program| (engine.start)(INPUT, to, 0, program));
    }
    device.idle(20_000);
    device.write(Unit::Glb, glb::S_INTR_MASK, 0);
    assert_eq!(device.interrupt(), SDP_0 | PDP_0 | CDP_0);
}

/// Section 5: the bit is the group's, the consumer has turned by then, and the output is in memory (section 8).
#[test]
fn at_the_interrupt_the_pointer_has_turned_and_memory_holds_the_output() {
    for engine in ENGINES {
        let before = image(&[(INPUT, 256)], &[(OUTPUT, 256)]);
        let mut device = nv_small();
        for group in [0, 1, 0] {
            let mut expected = before.clone();
            (engine.run)(INPUT, OUTPUT, &mut expected);
            device.load(&before);
            device.run_new(|program| (engine.start)(INPUT, OUTPUT, group, program));
            device.host.wait_interrupt().unwrap();
            assert_eq!(device.difference(&expected), None);
            for (unit, pointer) in engine.units.into_iter().zip(engine.pointer) {
                assert_eq!(device.read(unit, pointer), (1 - group) << 16 | group, "{unit}");
            }
            assert_eq!(device.interrupt(), engine.done[group as usize]);
        }
    }
}

/// Section 5.
#[test]
fn the_consumer_cannot_be_written() {
    for engine in ENGINES {
        let mut device = nv_small();
        for (unit, pointer) in engine.units.into_iter().zip(engine.pointer) {
            device.write(unit, pointer, CONSUMER | 1);
            assert_eq!(device.read(unit, pointer), 1, "{unit}");
            device.write(unit, pointer, 0);
            assert_eq!(device.read(unit, pointer), 0, "{unit}");
        }
    }
}

/// Section 5: each group has registers of its own.
#[test]
fn the_producer_selects_the_group_that_is_written_and_read() {
    let mut device = nv_small();
    for (unit, pointer, register) in [
        (Unit::Sdp, sdp::S_POINTER, sdp::D_DST_LINE_STRIDE),
        (Unit::Pdp, pdp::S_POINTER, pdp::D_DST_LINE_STRIDE),
        (Unit::Cdp, cdp::S_POINTER, cdp::D_DST_LINE_STRIDE),
        (Unit::CdpRdma, cdp_rdma::S_POINTER, cdp_rdma::D_SRC_LINE_STRIDE),
    ] {
        for group in [0, 1] {
            device.write(unit, pointer, group);
            device.write(unit, register, 0x100 << group);
        }
        for group in [0, 1] {
            device.write(unit, pointer, group);
            assert_eq!(device.read(unit, register), 0x100 << group, "{unit}");
        }
    }
}

/// Section 5: 1 runs, 2 waits; the second group is programmed while the first runs.
#[test]
fn the_status_tells_who_runs_and_who_waits() {
    for engine in ENGINES {
        let mut device = nv_small();
        device.run_new(|program| (engine.start)(INPUT, OUTPUT, 0, program));
        device.run_new(|program| (engine.start)(OPERANDS, OUTPUT + 0x1000, 1, program));
        for (unit, status) in engine.units.into_iter().zip(engine.status) {
            assert_eq!(device.read(unit, status), 0x0002_0001, "{unit}");
        }
        device.interrupts(engine.done[0] | engine.done[1]);
        for (unit, status) in engine.units.into_iter().zip(engine.status) {
            assert_eq!(device.read(unit, status), 0, "{unit}");
        }
    }
}

/// Section 6: the driver enables the RDMA first; hardware takes both orders.
#[test]
fn rdma_and_engine_are_enabled_in_either_order() {
    for engine in ENGINES {
        let before = image(&[(INPUT, 256)], &[(OUTPUT, 256)]);
        let mut expected = before.clone();
        (engine.run)(INPUT, OUTPUT, &mut expected);
        let mut device = nv_small();
        device.load(&before);
        device.run_new(|program| {
            (engine.start)(INPUT, OUTPUT, 0, program);
            let last = program.writes.len() - 1;
            assert_eq!(
                [program.writes[last - 1].unit, program.writes[last].unit],
                [engine.units[1], engine.units[0]]
            );
            program.writes.swap(last - 1, last);
        });
        assert_eq!(device.interrupt(), engine.done[0]);
        assert_eq!(device.difference(&expected), None);
    }
}

/// Section 6: a layer is enabled when its dependencies are met, which may be long after it was programmed.
#[test]
fn a_programmed_layer_waits_for_its_enable_with_another_one_between() {
    for engine in ENGINES {
        let before = image(&[(INPUT, 256), (OPERANDS, 256)], &[(OUTPUT, 256), (OUTPUT + 0x1000, 256)]);
        let mut expected = before.clone();
        (engine.run)(INPUT, OUTPUT, &mut expected);
        (engine.run)(OPERANDS, OUTPUT + 0x1000, &mut expected);
        let mut device = nv_small();
        device.load(&before);
        let mut second = device.program();
        (engine.start)(OPERANDS, OUTPUT + 0x1000, 1, &mut second);
        let settings = second.writes.len() - 4;
        let enables = second.writes.split_off(settings);
        device.run(&second);
        device.run_new(|program| (engine.start)(INPUT, OUTPUT, 0, program));
        assert_eq!(device.interrupt(), engine.done[0]);
        device.idle(5000);
        device.run_new(|program| program.writes.extend(enables));
        assert_eq!(device.interrupt(), engine.done[1]);
        assert_eq!(device.difference(&expected), None);
    }
}

/// Section 6: 65 entries of LE, 257 of LO, the address counts by itself; the tables belong to no group.
#[test]
fn tables_are_filled_in_order_whichever_group_is_selected() {
    let entry = |table: u32, index: u32| (table * 1000 + index * 7) & 0xffff;
    for (name, unit, pointer, access, data) in [
        ("nv_small_256_full", Unit::Sdp, sdp::S_POINTER, sdp::S_LUT_ACCESS_CFG, sdp::S_LUT_ACCESS_DATA),
        ("nv_small", Unit::Cdp, cdp::S_POINTER, cdp::S_LUT_ACCESS_CFG, cdp::S_LUT_ACCESS_DATA),
    ] {
        let mut device = Device::named(name);
        device.write(unit, pointer, 1);
        for (table, config, entries) in [(1, 0x20000, 65), (2, 0x30000, 257)] {
            device.write(unit, access, config);
            for index in 0..entries {
                device.write(unit, data, entry(table, index));
            }
        }
        device.write(unit, pointer, 0);
        for (table, config, entries) in [(1, 0x00000, 65), (2, 0x10000, 257)] {
            device.write(unit, access, config);
            for index in 0..entries {
                assert_eq!(
                    device.read(unit, data),
                    entry(table, index),
                    "{unit} table {table} entry {index}"
                );
            }
        }
    }
}

/// Section 7: what the driver never writes must be right after reset.
#[test]
fn registers_that_are_never_written_have_useful_reset_values() {
    for name in PLATFORMS {
        let mut device = Device::named(name);
        for (unit, register, reset) in [
            (Unit::SdpRdma, sdp_rdma::D_BS_BATCH_STRIDE, 0),
            (Unit::SdpRdma, sdp_rdma::D_BN_BATCH_STRIDE, 0),
            (Unit::Sdp, sdp::D_DST_BATCH_STRIDE, 0),
            (Unit::PdpRdma, pdp_rdma::D_FLYING_MODE, 0),
            (Unit::Pdp, pdp::D_NAN_FLUSH_TO_ZERO, 0),
            (Unit::CdpRdma, cdp_rdma::D_OPERATION_MODE, 0),
            (Unit::CdpRdma, cdp_rdma::D_SRC_COMPRESSION_EN, 0),
            (Unit::Cdp, cdp::D_DST_COMPRESSION_EN, 0),
            (Unit::Cdp, cdp::D_NAN_FLUSH_TO_ZERO, 0),
        ] {
            assert_eq!(device.read(unit, register), reset, "{name}: {register}");
        }
    }
}

/// Section 8: the pool lies at 0xc000_0000; bit 31 is no sign, and neighbours keep their bytes.
#[test]
fn the_drivers_pool_is_reached_and_nothing_outside_the_surface_is_written() {
    const POOL: u64 = 0xc000_0000;
    for engine in ENGINES {
        let output = POOL + 0x10_0000;
        let before = image(&[(POOL, 256)], &[(output - 0x400, 0xc00)]);
        let mut expected = before.clone();
        (engine.run)(POOL, output, &mut expected);
        let mut device = nv_small();
        device.load(&before);
        device.run_new(|program| (engine.start)(POOL, output, 0, program));
        assert_eq!(device.interrupt(), engine.done[0]);
        assert_eq!(device.difference(&expected), None);
        assert_eq!(device.warnings(), Vec::<String>::new());
    }
}
