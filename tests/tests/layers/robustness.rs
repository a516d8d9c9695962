//! Register values come from outside: whatever they are, nothing panics, time stays bounded and so does memory, and a
//! layer that cannot be run ends with its interrupts and a warning that names register and field.

use proptest::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};
use vp_core::Time;
use vp_host::{Host as _, HostError};
use vp_models::nvdla::registers::{Unit, sdp};
use vp_tests::device::Device;
use vp_tests::effort::cases;
use vp_tests::layers::{
    CDP_0, CONV_0, INPUT, OPERANDS, OUTPUT, PDP_0, SDP_0, WEIGHTS, convolving, halving, image, normalising,
    small_buffer, squares,
};
use vp_tests::program::Program;
use vp_tests::progress::peak_memory;

/// All units that run layers.
const UNITS: [Unit; 11] = [
    Unit::Pdp,
    Unit::PdpRdma,
    Unit::SdpRdma,
    Unit::Sdp,
    Unit::CdpRdma,
    Unit::Cdp,
    Unit::Cacc,
    Unit::CmacA,
    Unit::CmacB,
    Unit::Csc,
    Unit::Cdma,
];

const PLATFORMS: [&str; 4] = ["nv_small", "nv_small_256_full", "nv_large", "nv_full"];

/// Simulated time that a case may take. The largest layer would take hours of it; what is still at work then is no
/// failure.
const PATIENCE: Time = Time::us(50);

/// Bytes that a case may add to the memory of this process: more than any legal layer needs at once.
const MOST_MEMORY: u64 = 512 << 20;

/// End of a run.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// All that was waited for came.
    Done,
    /// Still at work when patience ended, and this has not come.
    Working(u32),
    /// Nothing left to do, and something has not come.
    Stuck(u32),
}

/// Waits for the turn of a case: what it adds to the memory of the process can be told only while no other runs in it.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a program until these bits have come. None may come twice.
fn end(device: &mut Device, program: &Program, bits: u32) -> End {
    let before = peak_memory();
    device.host.set_limit(PATIENCE);
    device.run(program);
    let mut missing = bits;
    let end = loop {
        match device.try_interrupt() {
            Ok(status) => {
                assert_eq!(status & !missing, 0, "{status:#x} where {missing:#x} may come");
                missing &= !status;
                if missing == 0 {
                    break End::Done;
                }
            }
            Err(HostError::Idle { .. }) => break End::Stuck(missing),
            Err(HostError::Limit { .. }) => break End::Working(missing),
            Err(other) => panic!("{other}"),
        }
    };
    // The system's figure is approximate: a later one can be smaller.
    let more = peak_memory().saturating_sub(before);
    assert!(more < MOST_MEMORY, "{more} bytes more");
    end
}

/// The unit, register and field that each refusal names, which must exist, with that value.
fn refusals(warnings: &[String]) -> Vec<Unit> {
    let refused = warnings.iter().filter_map(|warning| warning.split_once("layer refused: "));
    refused
        .map(|(_, refusal)| {
            let (place, value) = refusal.split_once(" = 0x").unwrap_or_else(|| panic!("no value: {refusal}"));
            let [unit, register, field] = place.split('.').collect::<Vec<_>>()[..] else {
                panic!("{refusal}")
            };
            // The two halves of the array share one table, named CMAC.
            let is_named = |known: &Unit| known.name() == unit || unit == "CMAC" && *known == Unit::CmacA;
            let unit = UNITS.into_iter().find(is_named).unwrap_or_else(|| panic!("no unit: {refusal}"));
            let register = unit.register(register).unwrap_or_else(|| panic!("no register: {refusal}"));
            assert!(register.field(field).is_some(), "no field: {refusal}");
            assert!(value.split_once(": ").is_some_and(|(_, why)| !why.is_empty()), "no reason: {refusal}");
            unit
        })
        .collect()
}

/// Words to change: which write, what is flipped in it.
type Wrong = Vec<(prop::sample::Index, u32, u32)>;

fn wrong() -> impl Strategy<Value = Wrong> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<u32>(), 0u32..32), 1..5)
}

/// Changes words of these units' layers.
fn spoil(program: &mut Program, units: &[Unit], wrong: &Wrong) {
    let of_layers: Vec<usize> = (0..program.writes.len())
        .filter(|&at| {
            let write = program.writes[at];
            write.register.name.starts_with("D_") && units.contains(&write.unit)
        })
        .collect();
    for (place, word, shift) in wrong {
        program.writes[*place.get(&of_layers)].value ^= word >> shift;
    }
}

/// A convolution, SDP and PDP on the fly, up to the enables.
fn chain(program: &mut Program) {
    let mut layer = convolving(8, 8, INPUT, OUTPUT);
    layer.sdp.destination = None;
    program.pdp(&halving(8, 8, None, OUTPUT), 0);
    program.convolution(&layer, &small_buffer(&layer), 0);
}

fn enable_chain(program: &mut Program) {
    let mut layer = convolving(8, 8, INPUT, OUTPUT);
    layer.sdp.destination = None;
    program.enable_pdp(&halving(8, 8, None, OUTPUT), 0);
    program.enable_convolution(&layer, 0, true);
}

fn memory() -> vp_tests::reference::Image {
    image(&[(INPUT, 0x1000), (WEIGHTS, 0x1000), (OPERANDS, 0x1000)], &[(OUTPUT, 0x1000)])
}

const CONVOLUTION: [Unit; 5] = [Unit::Cacc, Unit::CmacA, Unit::CmacB, Unit::Csc, Unit::Cdma];

/// SDP has asked for pixels at its pace when it finds that they are not its own, and drops the rest. Their room must come
/// back in order, or CSC waits for a time that has passed, for ever.
#[test]
fn a_layer_of_sdp_of_another_size_than_the_convolution_in_front_of_it_ends_and_says_so() {
    for (register, size) in [
        (sdp::D_DATA_CUBE_WIDTH, 0),
        (sdp::D_DATA_CUBE_WIDTH, 0x2000),
        (sdp::D_DATA_CUBE_HEIGHT, 0),
        (sdp::D_DATA_CUBE_HEIGHT, 0x2000),
    ] {
        let mut device = Device::named("nv_small");
        device.load(&memory());
        let layer = convolving(7, 5, INPUT, OUTPUT);
        let mut program = device.program();
        program.convolution(&layer, &small_buffer(&layer), 0);
        program.word(Unit::Sdp, register, size);
        program.enable_convolution(&layer, 0, true);
        assert_eq!(end(&mut device, &program, CONV_0 | SDP_0), End::Done);
        let warnings = device.warnings();
        assert!(warnings.iter().any(|text| text.contains("output has another size")), "{warnings:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    /// Any word in any register of all units, all of them enabled at once.
    #[test]
    fn any_contents_of_all_registers_are_survived(
        platform in prop::sample::select(PLATFORMS.to_vec()),
        words in prop::collection::vec(any::<u32>(), 50..400),
        small: bool,
        order in Just(UNITS.to_vec()).prop_shuffle(),
    ) {
        let _turn = turn();
        let mut device = Device::named(platform);
        let mut words = words.into_iter().cycle();
        let mut program = device.program();
        for unit in UNITS {
            for register in unit.registers() {
                let word = words.next().unwrap_or_default();
                if register.name != "S_POINTER" && register.name != "D_OP_ENABLE" {
                    program.word(unit, register, if small { word >> (word % 29) } else { word });
                }
            }
        }
        for unit in order {
            program.word(unit, unit.op_enable().expect("a unit with groups"), 1);
        }
        let all = CONV_0 | SDP_0 | PDP_0 | CDP_0;
        end(&mut device, &program, all);
        refusals(&device.warnings());
    }

    /// CDP ends its layer whatever is in its registers and those of its RDMA.
    #[test]
    fn a_layer_of_cdp_with_wrong_words_ends(wrong in wrong()) {
        let _turn = turn();
        let mut device = Device::named("nv_small");
        device.load(&memory());
        device.run_new(|program| program.cdp_lut(&squares()));
        let mut program = device.program();
        program.cdp(&normalising(8, 8, INPUT, OUTPUT), 0);
        spoil(&mut program, &[Unit::Cdp, Unit::CdpRdma], &wrong);
        program.enable_cdp(0);
        let end = end(&mut device, &program, CDP_0);
        let warnings = device.warnings();
        prop_assert!(!matches!(end, End::Stuck(_)), "{:?}: {:?}", end, warnings);
        if !refusals(&warnings).is_empty() {
            prop_assert_eq!(end, End::Done, "{:?}", warnings);
        }
    }

    /// All units of a chain end a layer that one of the convolution's refuses; what none refuses may be at odds with
    /// SDP's and PDP's sizes, and then waits, as hardware would.
    #[test]
    fn a_chain_that_a_unit_of_the_convolution_refuses_ends(wrong in wrong()) {
        let _turn = turn();
        let mut device = Device::named("nv_small");
        device.load(&memory());
        let mut program = device.program();
        chain(&mut program);
        spoil(&mut program, &CONVOLUTION, &wrong);
        enable_chain(&mut program);
        let end = end(&mut device, &program, CONV_0 | SDP_0 | PDP_0);
        let warnings = device.warnings();
        let refused = refusals(&warnings);
        // CDMA may still be reading what nobody wants. No unit of the convolution ever waits for another; CDMA waits for room
        // if it brings more weights than are read, and says so.
        let lacks_room = warnings.iter().any(|text| text.contains("waits for ever"));
        if let End::Stuck(missing) = end && !lacks_room {
            prop_assert!(refused.is_empty() && missing & CONV_0 == 0, "{:#x} missing: {:?}", missing, warnings);
        }
    }

    /// Each engine of a chain, SDP or PDP, that refuses its layer ends it.
    #[test]
    fn an_engine_behind_a_convolution_that_refuses_its_layer_ends_it(
        wrong in wrong(),
        of_pdp: bool,
    ) {
        let _turn = turn();
        let mut device = Device::named("nv_small");
        device.load(&memory());
        let mut program = device.program();
        chain(&mut program);
        let units: &[Unit] = if of_pdp { &[Unit::Pdp] } else { &[Unit::Sdp, Unit::SdpRdma] };
        spoil(&mut program, units, &wrong);
        enable_chain(&mut program);
        let all = CONV_0 | SDP_0 | PDP_0;
        let end = end(&mut device, &program, all);
        let warnings = device.warnings();
        for unit in refusals(&warnings) {
            let bit = match unit {
                Unit::Sdp | Unit::SdpRdma => SDP_0,
                Unit::Pdp | Unit::PdpRdma => PDP_0,
                _ => CONV_0,
            };
            if let End::Stuck(missing) = end {
                prop_assert_eq!(missing & bit, 0, "{:?}", warnings);
            }
        }
    }
}
