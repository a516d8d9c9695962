//! Recordings of what the real Linux driver wrote and read while it ran the regression loadables: they are played to the model, and the
//! player of recordings notices what is wrong.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use vp_host::Host as _;
use vp_host::trace::player::{self, Outcome, PlayOptions};
use vp_host::trace::recording::{Golden, POOL};
use vp_host::trace::{Body, Trace};
use vp_host::trace::{Language, configuration_of_name};
use vp_models::nvdla::registers::{RegisterMap, Unit, sdp, sdp_rdma};
use vp_models::platform::Description;
use vp_tests::conformance::{HostConnection, local};
use vp_tests::device::Device;
use vp_tests::layers::{convolving, doubling, image, start_convolution};
use vp_tests::program::Program;
use vp_tests::reference::{self, Converter, CubePlace, Format, SdpLayer, float};
use vp_tests::shared;

fn configuration(name: &str) -> &'static str {
    configuration_of_name(name, Language::Recording)
}

/// Plays a recording on its configuration every way; gives what came of it, which must be the same each time.
fn played(script: &Path) -> Outcome {
    let trace = Trace::load(script).unwrap_or_else(|error| panic!("{error}"));
    let description = Description::named(configuration(trace.name())).expect("a built-in platform");
    let mut first: Option<(Outcome, String)> = None;
    for way in HostConnection::ALL {
        let mut host = (way.connect)(&description);
        let map = host.map();
        let outcome = player::play(&trace, host.as_mut(), &map, &PlayOptions::default());
        let outcome = outcome.unwrap_or_else(|error| panic!("{}: {error}", way.name));
        let hash = host.statistics().expect("statistics").text("events.hash").expect("a hash").to_owned();
        assert_eq!(host.warnings(), Vec::new(), "{}", way.name);
        let seen = (outcome, hash);
        let first = first.get_or_insert_with(|| seen.clone());
        assert_eq!(*first, seen, "{}", way.name);
    }
    first.expect("some way").0
}

fn recording(name: &str) -> Option<PathBuf> {
    let folder = shared::folder(&format!("driver recording {name}"), "nvdla/driver-recordings")?;
    Some(folder.join(format!("{name}.trace")))
}

fn leaves_the_golden(name: &str, elements: usize) {
    let Some(script) = recording(name) else { return };
    let outcome = played(&script);
    assert_eq!(outcome.failures, [], "{name}");
    assert_eq!(outcome.result.expect("a golden").elements, elements, "{name}");
}

#[test]
fn relu_of_int8() {
    leaves_the_golden("SDP_X1_L0_0_large", 2048);
}

#[test]
fn relu_of_int16() {
    leaves_the_golden("SDP_X1_L0_0", 2048);
}

#[test]
fn pooling_on_nv_large() {
    leaves_the_golden("PDP_L0_0_large", 2048);
}

#[test]
fn pooling_on_nv_full() {
    leaves_the_golden("PDP_L0_0", 2048);
}

#[test]
fn normalisation_on_nv_small() {
    leaves_the_golden("CDP_L0_0_small", 2048);
}

#[test]
fn normalisation_of_int16_on_nv_full() {
    leaves_the_golden("CDP_L0_0", 2048);
}

#[test]
fn convolution_on_nv_small() {
    leaves_the_golden("CONV_D_L0_0_small", 2048);
}

#[test]
fn copy_by_the_bridge_dma() {
    leaves_the_golden("BDMA_L0_0", 1);
}

#[test]
fn contraction_on_nv_full() {
    leaves_the_golden("RBK_L0_0", 80 * 32 * 16);
}

/// Four convolutions and two poolings, with layers in both groups all the time.
#[test]
fn a_network_sees_the_seven() {
    let Some(script) = recording("LENET_I8_small-inv_seven") else { return };
    let outcome = played(&script);
    assert_eq!(outcome.failures, []);
    let logits = [-16, 7, 41, 43, -50, -34, -68, 84, 5, -17];
    assert_eq!(outcome.result.expect("a golden").values, logits.map(Some));
}

/// A driver for another register map than the device's waits for ever, as on hardware. It is said why, once, before it
/// waits for its first interrupt; a driver for the device's map, or for one that has all of its registers, is told nothing.
#[test]
fn a_driver_for_another_register_map_is_told_which_map_its_accesses_fit() {
    let Some(folder) = shared::folder("driver recordings", "nvdla/driver-recordings") else { return };
    let scripts = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let scripts = scripts.filter(|path| path.extension().is_some_and(|extension| extension == "trace"));
    let mut heard = 0;
    for script in scripts {
        let name = script.file_stem().unwrap().to_str().unwrap().to_owned();
        let driver = local(&Description::named(configuration(&name)).unwrap()).map();
        for platform in ["nv_full", "nv_small", "nv_large"] {
            let mut host = local(&Description::named(platform).unwrap());
            for line in fs::read_to_string(&script).unwrap().lines() {
                let words: Vec<&str> = line.split_whitespace().collect();
                let number = |place: usize| u32::from_str_radix(words[place], 16).unwrap();
                match words[0] {
                    "W" => host.write_acknowledged(number(1), number(2)).unwrap(),
                    "R" => _ = host.read(number(1)).unwrap(),
                    _ => break,
                }
            }
            let hints: Vec<String> = host.warnings().into_iter().map(|warning| warning.text).collect();
            let hints: Vec<&String> =
                hints.iter().filter(|text| text.contains("the register map of ")).collect();
            if driver.family() == host.map().family() {
                assert_eq!(hints, Vec::<&String>::new(), "{name} on {platform}");
                continue;
            }
            let [hint] = hints[..] else { panic!("{name} on {platform}: {hints:?}") };
            let (fits, needs) = match driver {
                RegisterMap::Full => ("nv_full (", "-DDLA_2_CONFIG"),
                _ => ("nv_small (", "without a switch"),
            };
            assert!(hint.contains(&format!("the register map of {fits}")), "{name} on {platform}: {hint}");
            assert!(hint.contains(needs) && hint.starts_with("nvdla: "), "{name} on {platform}: {hint}");
            heard += 1;
        }
    }
    assert!(heard >= 12, "{heard} recordings of another map");
}

/// The network in fp16 finds the digit, too. The logits that it must come close to are those of the table.
#[test]
fn a_network_in_fp16_sees_the_seven() {
    let Some(script) = recording("LENET_F16-inv_seven") else { return };
    let outcome = played(&script);
    assert_eq!(outcome.failures, []);
    let values = outcome.result.expect("a golden").values;
    let largest = values.iter().max().expect("logits");
    assert_eq!(values.iter().position(|logit| logit == largest), Some(7), "{values:?}");
}

const WEIGHTS: u64 = POOL + 0x1000;
const OUTPUT: u64 = POOL + 0x2000;

/// A recording of our own: a convolution of 8 x 8 x 8, as the driver would start it, and what it must leave.
struct Own {
    lines: Vec<String>,
    left: Vec<u8>,
    memory: Vec<u8>,
}

impl Own {
    fn new() -> Own {
        let layer = reference::ConvLayer { weights: WEIGHTS, ..convolving(8, 8, POOL, OUTPUT) };
        let before = image(&[(POOL, 0x1000), (WEIGHTS, 0x1000)], &[(OUTPUT, 0x200)]);
        let mut after = before.clone();
        reference::run_convolution(&layer, &mut after);
        let mut program = Program::new(RegisterMap::Small);
        start_convolution(&layer, 0)(&mut program);
        // CACC's pointer, then the buffer, then the status of CDMA; at the end CACC has turned.
        let mut lines =
            ["R 07004 00000000", "R 0300c 00000001", "R 03000 00000000"].map(str::to_owned).to_vec();
        for write in &program.writes {
            let address = RegisterMap::Small.address(write.unit, write.register).expect("a unit of the map");
            lines.push(format!("W {address:05x} {:08x}", write.value));
        }
        lines.extend(["I 00150000", "I 00000001", "W 0100c 00150001", "R 07004 00010000"].map(str::to_owned));
        let regions = |image: &reference::Image| {
            image.regions().iter().map(|(_, bytes)| bytes.clone()).collect::<Vec<_>>()
        };
        Own { lines, left: regions(&after)[2].clone(), memory: regions(&before).concat() }
    }

    /// Puts it into a folder.
    fn save(&self, folder: &Path, name: &str) -> PathBuf {
        let script = folder.join(format!("{name}.trace"));
        fs::write(&script, self.lines.join("\n")).expect("written");
        let pool = fs::File::create(folder.join(format!("{name}.pool.gz"))).expect("created");
        let mut pool = GzEncoder::new(pool, Compression::default());
        pool.write_all(&self.memory).and_then(|()| pool.finish()).expect("written");
        script
    }

    /// The image of what it must leave: eight of 32 channels, so that places are the same with atoms of 32 bytes.
    fn golden(&self) -> Vec<u8> {
        let words = [0, 40, 2, 1, 8, 32 * 2, 64, 0x200].map(u32::to_le_bytes).concat();
        let places = (0..8).flat_map(|channel| (0..2).map(move |x| 32 * x + channel));
        let elements: Vec<u8> = places.map(|at| self.left[at]).collect();
        assert!(elements.iter().filter(|element| **element > 0).count() > 3, "{elements:?} show little");
        [&b"DIMG"[..], &words, &elements].concat()
    }
}

#[test]
fn an_own_recording_plays_with_its_golden_beside_it() {
    let (folder, own) = (tempfile::tempdir().unwrap(), Own::new());
    let script = own.save(folder.path(), "OWN_small");
    fs::write(folder.path().join("OWN_small.dimg"), own.golden()).unwrap();
    let outcome = played(&script);
    assert_eq!(outcome.failures, []);
    assert_eq!((outcome.result.expect("a golden").elements, outcome.interrupts.len()), (16, 4));
}

#[test]
fn an_own_recording_plays_with_its_golden_in_a_table() {
    let (folder, own) = (tempfile::tempdir().unwrap(), Own::new());
    let script = own.save(folder.path(), "OWN_small-again");
    let values: Vec<i64> = own.left[..6].iter().map(|byte| byte.cast_signed().into()).collect();
    let text: Vec<String> = values.iter().map(i64::to_string).collect();
    fs::write(folder.path().join("FORMAT.md"), format!("| OWN_small-again (int8) | {} | |", text.join(" ")))
        .unwrap();
    let Body::Recording { golden: Some(Golden::Values { element, .. }), .. } =
        Trace::load(&script).unwrap().body().clone()
    else {
        panic!("no golden");
    };
    assert_eq!(element.bytes(), 1);
    let outcome = played(&script);
    assert_eq!(outcome.failures, []);
    assert_eq!(outcome.result.expect("a golden").values, values.into_iter().map(Some).collect::<Vec<_>>());
}

/// A recording of our own for nv_full: SDP makes fp16 of two pixels of 32 int8 channels. With what it must leave.
fn in_fp16() -> (Own, Vec<u16>) {
    let place = |base| CubePlace { base, line: 64, surface: 64 };
    let layer = SdpLayer {
        format: Format { atom: 32, element: 1 },
        channels: 32,
        source: place(POOL),
        destination: Some(place(OUTPUT)),
        converter: Converter { offset: 0, scale: 3, shift: 0 },
        ..doubling(2, 1, POOL, OUTPUT)
    };
    let mut program = Program::new(RegisterMap::Full);
    program.sdp(&layer, 0);
    // The registers as a whole: int8 comes and is processed, fp16 goes.
    use sdp::D_DATA_FORMAT as format;
    use sdp_rdma::D_FEATURE_MODE_CFG as mode;
    let precisions = [(mode::IN_PRECISION, 0), (mode::PROC_PRECISION, 0), (mode::OUT_PRECISION, 2)];
    program.fields(Unit::SdpRdma, &precisions);
    program.fields(Unit::Sdp, &[(format::PROC_PRECISION, 0), (format::OUT_PRECISION, 2)]);
    program.enable_sdp(0);
    let mut lines: Vec<String> = Vec::new();
    for write in &program.writes {
        let address = RegisterMap::Full.address(write.unit, write.register).expect("a unit of the map");
        lines.push(format!("W {address:05x} {:08x}", write.value));
    }
    lines.extend(["I 00000001", "W 0000c 00000001"].map(str::to_owned));
    let memory: Vec<u8> = (0..64).map(|at: u8| at.wrapping_mul(37).wrapping_sub(111)).collect();
    // Elements by channel and column; in memory 16 channels lie side by side.
    let inputs = (0..32).flat_map(|channel| (0..2).map(move |x| 32 * x + channel));
    let halves = inputs.map(|at| float::from_integer(3 * i32::from(memory[at].cast_signed())) as u16);
    let halves = halves.collect();
    (Own { lines, left: Vec::new(), memory }, halves)
}

/// The runtime numbered fp16 images 42, and 43 later.
#[test]
fn an_own_recording_in_fp16_is_judged() {
    for format in [42, 43] {
        let (folder, (own, mut halves)) = (tempfile::tempdir().unwrap(), in_fp16());
        let script = own.save(folder.path(), "OWN");
        let words = [0, format, 2, 1, 32, 64, 64, 128].map(u32::to_le_bytes).concat();
        let mut judged = |change: u16| {
            halves[5] ^= change;
            let elements: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
            fs::write(folder.path().join("OWN.dimg"), [&b"DIMG"[..], &words, &elements].concat()).unwrap();
            played(&script)
        };
        let right = judged(0);
        assert_eq!((right.failures, right.result.expect("a golden").elements), (vec![], 64), "{format}");
        // The third channel of the second pixel.
        let wrong = judged(1).failures;
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        let (text, place) = (wrong[0].kind.to_string(), format!("{:#x}", OUTPUT + 32 + 2 * 2));
        assert!(text.contains("`OWN.dimg` in 1 ") && text.contains(&place), "{text}");
    }
}

/// Failures of the recording, changed as `change` says.
fn failures(change: impl FnOnce(&mut Own)) -> Vec<String> {
    let (folder, mut own) = (tempfile::tempdir().unwrap(), Own::new());
    fs::write(folder.path().join("OWN_small.dimg"), own.golden()).unwrap();
    change(&mut own);
    let trace = Trace::load(&own.save(folder.path(), "OWN_small")).unwrap();
    let mut device = Device::named("nv_small");
    let map = device.host.map();
    let outcome = player::play(&trace, &mut device.host, &map, &PlayOptions::default()).unwrap();
    outcome.failures.iter().map(|failure| failure.kind.to_string()).collect()
}

#[test]
fn a_recording_that_goes_otherwise_fails_and_says_where() {
    let last = |own: &mut Own, line: &str| *own.lines.last_mut().unwrap() = line.to_owned();
    assert_eq!(failures(|_| ()), Vec::<String>::new());

    let wrong_input = failures(|own| own.memory[..0x200].fill(0));
    assert!(
        wrong_input[0].starts_with("primary memory differs from `OWN_small.dimg` in "),
        "{wrong_input:?}"
    );

    let pointer = failures(|own| last(own, "R 07004 00000000"));
    assert_eq!(
        pointer,
        [
            "CACC.S_POINTER after 1 reads: expected == 0x0 under mask 0xffffffff, found 0x10000 (CONSUMER 0x1 and not 0x0)"
        ]
    );

    let never = failures(|own| last(own, "I 00000010"));
    assert!(never[0].starts_with("PDP_0 never came: nothing left to simulate at "), "{never:?}");
    assert_eq!(never[1], "run ended here: 1 checks not made");

    let nobody = failures(|own| own.lines.retain(|line| line != "I 00150000"));
    let began = |at: usize, text: &str| assert!(nobody[at].starts_with(text), "{nobody:?}");
    began(0, "unexpected interrupt CDMA_DAT_0 at ");
    began(1, "unexpected interrupt CDMA_WT_0 at ");
    began(2, "unexpected interrupt CACC_0 at ");
    assert_eq!(nobody.len(), 3);
}
