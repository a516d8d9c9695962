//! The second device behind a socket: the same run as in process, its stream, and its own terms in the welcome.

use crate::common::process::Ended as _;
use crate::common::tools;
use std::process::Command;

use crate::common::Served;
use crate::common::tools::skipped;
use vp_host::LocalHost;
use vp_host::fpga_ai_suite::{Driver, Model, bundle};
use vp_host::network::digits;
use vp_host::{Host, Memory, Statistics};
use vp_models::fpga_ai_suite::graph::{Converter, Graph, Operation, Shape, Sums, Tensor, Window};
use vp_models::fpga_ai_suite::{Architecture, registers as reg};
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::{Description, Platform};
use vp_models::registers::RegisterRef;
use vp_protocols::native::{PortKind, Role, TimeMode};
use vp_remote::{MemoryPlace, RemoteHost, RemoteOptions, SessionPart};
use vp_server::Options;

fn served(address: &str, platform: &str) -> Served {
    Served::with(address, Options::default(), Description::named(platform).unwrap())
}

/// The answers to some samples, and what the platform counted.
fn digits_at(host: &mut dyn Host, platform: &str) -> (Vec<Vec<i8>>, Statistics) {
    let architecture = Architecture::named(platform).unwrap();
    let model = Model::of_network(&digits::network()).unwrap();
    let samples = digits::samples();
    let inputs: Vec<&[i8]> = samples.iter().take(8).map(|sample| &sample.pixels[..]).collect();
    let memory = Description::named(platform).unwrap().dbb0.range();
    let inferred = Driver::open(host, &architecture, &model, memory).unwrap().infer(&inputs).unwrap();
    let outputs: Vec<Vec<i8>> = inferred.into_iter().map(|inference| inference.output).collect();
    assert!(outputs.iter().zip(&inputs).all(|(output, input)| output == &model.infer(input)));
    (outputs, host.statistics().unwrap())
}

fn is_the_same_run_over(address: &str, platform: &str) {
    let described = Description::named(platform).unwrap();
    let mut local = LocalHost::new(Platform::build(&described).unwrap());
    let (outputs, statistics) = digits_at(&mut local, platform);
    assert_eq!(statistics.get("fpga_ai_suite.complete"), Some(8));
    let served = served(address, platform);
    for memory in [MemoryPlace::Inside, MemoryPlace::Client] {
        let (remote_outputs, remote) = digits_at(&mut served.host(memory), platform);
        assert_eq!(remote_outputs, outputs, "{memory:?}");
        assert_eq!(remote.text("events.hash"), statistics.text("events.hash"), "{memory:?}");
        assert_eq!(remote.get("fpga_ai_suite.active"), statistics.get("fpga_ai_suite.active"), "{memory:?}");
    }
}

#[test]
fn inferences_over_tcp_are_the_same_run_as_in_process_wherever_the_memory_is() {
    is_the_same_run_over("tcp:127.0.0.1:0", "fpga-ai-suite");
}

#[test]
fn inferences_through_a_ring_are_the_same_run_too() {
    let folder = tempfile::tempdir().unwrap();
    is_the_same_run_over(&format!("unix:{}", folder.path().join("vp.sock").display()), "fpga-ai-suite");
}

#[test]
fn a_stream_is_fed_over_tcp() {
    is_the_same_run_over("tcp:127.0.0.1:0", "fpga-ai-suite-streaming");
    is_the_same_run_over("tcp:127.0.0.1:0", "fpga-ai-suite-ddr-free");
}

#[test]
fn a_platform_that_runs_by_itself_answers_as_well() {
    let served = served("tcp:127.0.0.1:0", "fpga-ai-suite-streaming");
    let mut host = served.join(RemoteOptions { time_mode: TimeMode::Free, ..RemoteOptions::default() });
    digits_at(&mut host, "fpga-ai-suite-streaming");
}

#[test]
fn the_welcome_says_the_devices_window_and_its_stream() {
    let served = served("tcp:127.0.0.1:0", "fpga-ai-suite-streaming");
    let mut host: RemoteHost = served.host(MemoryPlace::Inside);
    let ports = &host.welcome().ports;
    let of = |name: &str| ports.iter().find(|port| port.name == name).unwrap();
    assert_eq!((of("csr0").size, of("csr0").kind), (2048, PortKind::Csb));
    let stream = of("stream0");
    assert!(stream.roles.contains(Role::Initiator) && !stream.roles.contains(Role::Target));
    assert_eq!((stream.kind, stream.size, stream.width), (PortKind::Axi, 1 << 20, 256));
    assert_eq!(host.map(), RegisterMap::Foreign);
    let beyond = host.read(2048).unwrap_err().to_string();
    assert!(beyond.contains("below 0x800"), "{beyond}");
    let off = host.stream(&[1, 2]).unwrap_err().to_string();
    assert!(off.contains("the device does not listen to stream0"), "{off}");
    let long = host.stream(&vec![0; 2 << 20]).unwrap_err().to_string();
    assert!(long.contains("the session takes"), "{long}");
}

#[test]
fn another_session_feeds_the_stream_of_a_shared_platform() {
    let name = "fpga-ai-suite-streaming";
    let served = served("tcp:127.0.0.1:0", name);
    let shared = || RemoteOptions { platform: Some("cell".into()), ..RemoteOptions::default() };
    let mut cpu = served.join(shared());
    let mut sender = served.join(RemoteOptions { seat: SessionPart::Sender, ..shared() });
    let model = Model::of_network(&digits::network()).unwrap();
    let memory = Description::named(name).unwrap().dbb0.range();
    let architecture = Architecture::named(name).unwrap();
    let layout = Driver::open(&mut cpu, &architecture, &model, memory).unwrap().layout().clone();
    for (place, sample) in digits::samples().iter().take(3).enumerate() {
        let write = |cpu: &mut RemoteHost, register: RegisterRef, value| {
            cpu.write_acknowledged(register.offset.into(), value).unwrap();
        };
        write(&mut cpu, reg::CONFIG_BASE, layout.config_base);
        write(&mut cpu, reg::CONFIG_WORDS, layout.words.len() as u32 - 2);
        write(&mut cpu, reg::IO_BASE, layout.io_bases[place]);
        let input: Vec<u8> = sample.pixels.iter().map(|pixel| *pixel as u8).collect();
        sender.stream(&input).unwrap();
        cpu.wait_interrupt().unwrap();
        write(&mut cpu, reg::INTERRUPT_CONTROL, 0b11);
        assert_eq!(cpu.read(reg::COMPLETION_COUNT.offset.into()), Ok(place as u32 + 1));
        let mut output = vec![0; 10];
        cpu.fetch(Memory::Primary, layout.io_bases[place].into(), &mut output).unwrap();
        assert!(output.iter().map(|byte| *byte as i8).eq(model.infer(&sample.pixels)));
    }
    let refused = sender.read(0).unwrap_err().to_string();
    assert!(refused.contains("csr0 is not attached"), "{refused}");
    let plain = served_nothing_streams();
    assert!(plain.contains("the platform has no input stream"), "{plain}");
}

fn served_nothing_streams() -> String {
    let served = served("tcp:127.0.0.1:0", "fpga-ai-suite");
    let options = RemoteOptions { seat: SessionPart::Sender, ..RemoteOptions::default() };
    RemoteHost::connect(&served.address, options).err().unwrap().to_string()
}

fn vp(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_vp")).args(arguments).ended();
    let text =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    (output.status.success(), text)
}

fn digits_folder() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../networks/digits").to_owned()
}

#[test]
fn vp_run_runs_jobs_and_graphs() {
    let (is_right, text) = vp(&["run", "--platform", "fpga-ai-suite"]);
    assert!(is_right && text.contains("accuracy    98.9 %: 356 of 360"), "{text}");
    let (is_right, same) = vp(&["run", &format!("{}/job.toml", digits_folder())]);
    assert!(is_right, "{same}");
    let accuracy = |text: &str| text.lines().last().map(str::to_owned);
    assert_eq!(accuracy(&same), accuracy(&text));

    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.i8").display().to_string();
    let network = format!("{}/network.toml", digits_folder());
    let samples = format!("{}/samples.i8", digits_folder());
    let (is_right, text) =
        vp(&["run", &network, "--platform", "fpga-ai-suite", "--input", &samples, "--output", &out]);
    assert!(is_right && !text.contains("accuracy"), "{text}");
    let outputs = std::fs::read(&out).unwrap();
    assert_eq!(outputs.len(), 3600);
    std::fs::write(
        folder.path().join("job.toml"),
        format!("graph = '{network}'\ninputs = '{samples}'\noutputs = 'out.i8'\n"),
    )
    .unwrap();
    let job = folder.path().join("job.toml").display().to_string();
    let (is_right, text) = vp(&["run", &job]);
    assert!(is_right && text.contains("PASS as expected"), "{text}");
    let mut changed = outputs;
    changed[25] ^= 1;
    std::fs::write(&out, changed).unwrap();
    let (is_right, text) = vp(&["run", &job]);
    assert!(!is_right && text.contains("FAIL: that of input 2 is not as expected"), "{text}");

    let (is_right, text) = vp(&["run", &network, "--platform", "fpga-ai-suite"]);
    assert!(!is_right && text.contains("digits has no inputs"), "{text}");
    // Folders and built-in networks are for either device.
    for network in [digits_folder(), "digits".to_owned()] {
        let (is_right, text) = vp(&["run", &network, "--platform", "fpga-ai-suite", "--input", &samples]);
        assert!(is_right && text.contains("inferences  360"), "{text}");
    }
    let (is_right, text) = vp(&["run", "resnet50", "--platform", "fpga-ai-suite"]);
    assert!(!is_right && text.contains("this device has no convolution that adds a layer"), "{text}");
    let (is_right, text) = vp(&["run", &job, "--platform", "nv_small"]);
    assert!(!is_right && text.contains("nv_small carries another device"), "{text}");
    let (is_right, text) = vp(&["demo", "--platform", "fpga-ai-suite"]);
    assert!(!is_right && text.contains("fpga-ai-suite carries no NVDLA"), "{text}");
}

#[test]
fn vp_run_runs_a_job_on_a_server() {
    let served = served("tcp:127.0.0.1:0", "fpga-ai-suite-streaming");
    let (is_right, text) = vp(&["run", "--connect", &served.address.to_string()]);
    assert!(is_right && text.contains("356 of 360"), "{text}");
}

#[test]
fn registers_and_platforms_of_the_device_are_shown() {
    let (is_right, text) = vp(&["regs", "--platform", "fpga-ai-suite", "interrupt"]);
    assert!(is_right && text.contains("CSR.INTERRUPT_CONTROL") && text.contains("w1c"), "{text}");
    let (is_right, text) = vp(&["regs", "--platform", "fpga-ai-suite", "0x21c"]);
    assert!(is_right && text.contains("DIAGNOSTICS") && !text.contains("IO_BASE"), "{text}");
    let (is_right, text) = vp(&["platform", "describe", "fpga-ai-suite-streaming"]);
    assert!(is_right && text.contains("input stream") && text.contains("stream0"), "{text}");
    let (is_right, text) =
        vp(&["platform", "check", "fpga-ai-suite-ddr-free", "--set", "fpga_ai_suite.burst=3"]);
    assert!(!is_right && text.contains("[fpga_ai_suite] burst = 3: a power of two"), "{text}");
}

/// The host program in `examples/`, as cargo has built it beside the tests.
#[test]
fn the_example_says_the_same_in_process_and_over_tcp() {
    let tests = std::env::current_exe().unwrap();
    let example = tests.ancestors().nth(2).unwrap().join("examples").join("fpga_ai_suite");
    if !example.is_file() {
        return skipped(
            "the_example_says_the_same_in_process_and_over_tcp",
            "cargo has not built the examples",
        );
    }
    let said = |arguments: &[&str]| {
        let output = Command::new(&example).args(arguments).ended();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let here = said(&[]);
    assert!(here.starts_with("20 of 20 digits, in "), "{here}");
    let served = served("tcp:127.0.0.1:0", "fpga-ai-suite");
    assert_eq!(said(&[&served.address.to_string()]), here);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bundle");
    said(&["--bundle", file.to_str().unwrap()]);
    assert!(std::fs::read(file).unwrap().starts_with(b"VPIB"));
}

#[test]
fn vp_run_streams_inputs_that_the_stream_cannot_hold() {
    // An input has 64 bytes.
    let small = ["--platform", "fpga-ai-suite-streaming", "--set", "fpga_ai_suite.stream_buffer=40"];
    let (is_right, text) = vp(&[&["run"], &small[..]].concat());
    assert!(is_right && text.contains("356 of 360"), "{text}");
}

/// The guest's program before it opens a device: no bundle makes it read or write beyond it.
#[test]
fn the_guests_program_refuses_bundles_that_are_cut_or_lie() {
    let test = "the_guests_program_refuses_bundles_that_are_cut_or_lie";
    let Some(compiler) = tools::command(&["cc", "gcc", "clang"]) else {
        return skipped(test, "no C compiler");
    };
    let folder = tempfile::tempdir().unwrap();
    let (program, file) = (folder.path().join("inference"), folder.path().join("bundle"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/fpga_ai_suite_guest/inference.c");
    let built =
        Command::new(compiler).args(["-Wall", "-Wextra", "-Werror", source, "-o"]).arg(&program).status();
    assert!(built.unwrap().success());
    let model = Model::of_network(&digits::network()).unwrap();
    let samples = digits::samples();
    let right = bundle(&Architecture::default(), &model, &[&samples[0].pixels, &samples[1].pixels]).unwrap();
    let said = |bytes: &[u8], address: &str| {
        std::fs::write(&file, bytes).unwrap();
        let output = Command::new(&program).arg("/nonexistent").arg(&file).arg(address).ended();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stdout).unwrap()
    };
    let with = |word: usize, value: u32| {
        let mut bytes = right.clone();
        bytes[4 * word..4 * word + 4].copy_from_slice(&value.to_le_bytes());
        said(&bytes, "0x80000000")
    };
    assert!(said(&right, "0x80000000").starts_with("FAIL: the device or memory"), "what is right is taken");
    assert_eq!(said(&right[..55], "0x80000000"), "FAIL: the bundle is shorter than its header\n");
    let length = "FAIL: the bundle is not as long as its header says\n";
    assert_eq!(said(&right[..right.len() - 1], "0x80000000"), length);
    assert_eq!(said(&[&right[..], &[0]].concat(), "0x80000000"), length);
    assert_eq!(with(0, 0), "FAIL: no bundle\n");
    assert_eq!(with(5, 24), "FAIL: the bundle's header makes no sense\n");
    assert_eq!(with(6, 1), "FAIL: the bundle's header makes no sense\n");
    for word in [6, 8, 10, 12, 13] {
        assert_eq!(with(word, u32::MAX), length, "{word}");
    }
    assert_eq!(with(13, 0), length);
    assert_eq!(with(7, 32), "FAIL: parts of the bundle overlap in memory\n");
    assert_eq!(with(11, 32), "FAIL: parts of the bundle overlap in memory\n");
    assert_eq!(with(11, 65), "FAIL: parts of the bundle are at no multiple of a memory word\n");
    let address = "FAIL: ADDRESS: a page below 4 GiB, with room for the bundle's model behind it\n";
    assert_eq!(with(9, 0x7fff_ffe0), address);
    for wrong in ["0x80000010", "0xfffff000", "0x100000000", "", "here"] {
        assert_eq!(said(&right, wrong), address, "{wrong}");
    }
}

/// Runs a job whose input is nowhere; returns what a session learns of it.
fn lost_at(host: &mut dyn Host, platform: &str) -> (u32, u32, Statistics) {
    let architecture = Architecture::named(platform).unwrap();
    let model = Model::of_network(&digits::network()).unwrap();
    let memory = Description::named(platform).unwrap().dbb0.range();
    let layout = Driver::open(host, &architecture, &model, memory).unwrap().layout().clone();
    host.write(reg::CONFIG_BASE.offset.into(), layout.config_base).unwrap();
    host.write(reg::CONFIG_WORDS.offset.into(), layout.words.len() as u32 - 2).unwrap();
    host.write(reg::IO_BASE.offset.into(), 0x2000).unwrap();
    host.wait_interrupt().unwrap();
    let shown =
        [reg::INTERRUPT_CONTROL, reg::COMPLETION_COUNT].map(|at| host.read(at.offset.into()).unwrap());
    let statistics = host.statistics().unwrap();
    let told: String = host.warnings().iter().map(ToString::to_string).collect();
    assert!(told.contains("job 0 is refused: input: no access to 0x2000 ("), "{told}");
    (shown[0], shown[1], statistics)
}

#[test]
fn a_job_whose_input_is_in_no_memory_ends_the_same_wherever_the_memory_is() {
    let platform = "fpga-ai-suite";
    let mut local = LocalHost::new(Platform::build(&Description::named(platform).unwrap()).unwrap());
    let (status, complete, statistics) = lost_at(&mut local, platform);
    assert_eq!((status, complete), (1, 0));
    let served = served("tcp:127.0.0.1:0", platform);
    for memory in [MemoryPlace::Inside, MemoryPlace::Client] {
        let (status, complete, remote) = lost_at(&mut served.host(memory), platform);
        assert_eq!((status, complete), (1, 0), "{memory:?}");
        assert_eq!(remote.text("events.hash"), statistics.text("events.hash"), "{memory:?}");
    }
}

#[test]
fn other_sessions_are_answered_while_a_large_layer_is_computed() {
    let name = "fpga-ai-suite-streaming";
    let served = served("tcp:127.0.0.1:0", name);
    let shared = || RemoteOptions { platform: Some("cell".into()), ..RemoteOptions::default() };
    let mut cpu = served.join(shared());
    let mut other = served.join(RemoteOptions { seat: SessionPart::Sender, ..shared() });
    // Two to the 32 products.
    let mut graph = Graph::new(Shape { height: 256, width: 256, channels: 1 }, 16 * 128 * 128).unwrap();
    let window = Window { size: [128; 2], stride: [1; 2], before: [0; 2], after: [0; 2] };
    let converter = Converter { offset: 0, scale: 1, shift: 0 };
    let sums = Sums { kernels: 16, weights: 0, bias: None, relu: false, converter };
    graph.add(Tensor::Input, Operation::Convolution { window, sums }, None).unwrap();
    let (graph, filters) = (graph.whole().unwrap(), vec![1; 16 * 128 * 128]);
    let model = Model { name: "large".into(), graph, filters };
    let memory = Description::named(name).unwrap().dbb0.range();
    let runs = std::thread::spawn(move || {
        let architecture = Architecture::named(name).unwrap();
        let input = vec![1; 256 * 256];
        Driver::open(&mut cpu, &architecture, &model, memory).unwrap().infer(&[&input]).unwrap();
    });
    let mut answers = 0;
    loop {
        let statistics = other.statistics().unwrap();
        let get = |name: &str| statistics.get(name).unwrap();
        if get("fpga_ai_suite.complete") == 1 || runs.is_finished() {
            break;
        }
        // Its input has been read.
        answers += u32::from(get("fpga_ai_suite.input") == 256 * 256 / 32);
    }
    runs.join().unwrap();
    assert!(answers > 10, "{answers} answers");
}
