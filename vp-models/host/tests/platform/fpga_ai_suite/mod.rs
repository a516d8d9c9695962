//! The FPGA AI Suite IP as a driver meets it: on a platform, over its register bus, its memory and its interrupt line.

mod errors;
mod graphs;
mod jobs;
mod stream;

use std::ops::Range;

use proptest::prelude::ProptestConfig;
use vp_host::LocalHost;
use vp_host::fpga_ai_suite::{Driver, Layout, Model};
use vp_host::{Host, Memory};
use vp_models::fpga_ai_suite::Architecture;
use vp_models::fpga_ai_suite::graph::{Activation, Converter, Graph, Operation, Shape, Sums, Tensor, Window};
use vp_models::platform::{Description, DeviceDescription, Platform};

/// Addresses of the CSR block, as the register map has them.
const ICR: u32 = 0x200;
const IMR: u32 = 0x204;
const CONFIG_BASE: u32 = 0x210;
const CONFIG_WORDS: u32 = 0x214;
const IO_BASE: u32 = 0x218;
const DIAGNOSTICS: u32 = 0x21c;
const INTERMEDIATE_BASE: u32 = 0x220;
const COMPLETION_COUNT: u32 = 0x224;
const IP_RESET: u32 = 0x228;
const STREAMING: u32 = 0x22c;

const ERROR: u32 = 1;
const COMPLETE: u32 = 2;

fn description(architecture: &Architecture) -> Description {
    let mut description = Description::named("fpga-ai-suite").unwrap();
    description.device = DeviceDescription::FpgaAiSuite(Box::new(architecture.clone()));
    description.dbb0.size = memory().end - memory().start;
    description.check().unwrap();
    description
}

fn host(architecture: &Architecture) -> LocalHost {
    LocalHost::new(Platform::build(&description(architecture)).unwrap())
}

/// Number of cases, `usual` or what `PROPTEST_CASES` says.
fn cases(usual: u32) -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(usual),
    }
}

fn memory() -> Range<u64> {
    0x8000_0000..0x9000_0000
}

/// A fully connected layer of 64 inputs and 32 outputs.
fn small() -> Model {
    taking(None)
}

/// A fully connected layer of 64 inputs and 32 outputs that takes so many cycles.
fn taking(cycles: Option<u32>) -> Model {
    let filters: Vec<u8> = (0..64 * 32u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut graph = Graph::new(Shape { height: 2, width: 8, channels: 4 }, filters.len() as u32).unwrap();
    let converter = Converter { offset: 0, scale: 1, shift: 9 };
    let sums = Sums { kernels: 32, weights: 0, bias: None, relu: false, converter };
    graph.add(Tensor::Input, Operation::FullyConnected { sums }, cycles).unwrap();
    Model { name: "small".into(), graph: graph.whole().unwrap(), filters }
}

/// Returns the small model, its input halved before.
fn halves() -> Model {
    let Model { name, filters, .. } = small();
    let mut graph = Graph::new(Shape { height: 2, width: 8, channels: 4 }, filters.len() as u32).unwrap();
    let half = Operation::Activation(Activation::Leaky { scale: 1, shift: 1 });
    graph.add(Tensor::Input, half, None).unwrap();
    graph.add(Tensor::Layer(0), small().graph.layers()[0].operation.clone(), None).unwrap();
    Model { name, graph: graph.whole().unwrap(), filters }
}

/// Inputs that differ from each other.
fn inputs(count: usize) -> Vec<Vec<i8>> {
    let input = |seed: usize| (0..64).map(|at| ((at * 37 + seed * 101) % 251) as u8 as i8).collect();
    (0..count).map(input).collect()
}

/// Memory as a driver has prepared it, for tests that write registers by hand.
struct Prepared {
    host: LocalHost,
    layout: Layout,
    model: Model,
}

impl Prepared {
    fn new(architecture: &Architecture) -> Prepared {
        Prepared::of(architecture, small())
    }

    fn of(architecture: &Architecture, model: Model) -> Prepared {
        let mut host = host(architecture);
        let layout = Driver::open(&mut host, architecture, &model, memory()).unwrap().layout().clone();
        host.write(IMR, 0).unwrap();
        Prepared { host, layout, model }
    }

    fn read(&mut self, address: u32) -> u32 {
        self.host.read(address).unwrap()
    }

    fn write(&mut self, address: u32, value: u32) {
        self.host.write_acknowledged(address, value).unwrap();
    }

    /// Queues a request with an input in one of the places.
    fn request(&mut self, place: usize, input: &[i8]) {
        self.request_at(self.layout.io_bases[place], input);
    }

    fn request_at(&mut self, at: u32, input: &[i8]) {
        let bytes: Vec<u8> = input.iter().map(|value| *value as u8).collect();
        self.host.load(Memory::Primary, at.into(), &bytes).unwrap();
        self.write(CONFIG_BASE, self.layout.config_base);
        self.write(CONFIG_WORDS, self.layout.words.len() as u32 - 2);
        self.write(IO_BASE, at);
    }

    fn output(&mut self, place: usize) -> Vec<i8> {
        let mut output = vec![0; 32];
        let at = u64::from(self.layout.io_bases[place] + self.layout.output_at);
        self.host.fetch(Memory::Primary, at, &mut output).unwrap();
        output.into_iter().map(|byte| byte as i8).collect()
    }

    /// Reads a register until it has a value; each read takes some cycles.
    fn poll(&mut self, address: u32, value: u32) {
        let found = (0..100_000).find(|_| self.read(address) == value);
        assert!(found.is_some(), "0x{address:x} does not become {value}");
    }

    /// The platform's warnings.
    fn told(&mut self) -> String {
        self.host.warnings().into_iter().map(|warning| warning.text).collect::<Vec<_>>().join("\n")
    }
}
