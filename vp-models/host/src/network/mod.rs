//! Networks run layer by layer, as a driver would.
//!
//! Three steps, each of which can be looked at: a [`Network`] says what the layers are (TOML and tensors); a [`Plan`]
//! says where everything lies in memory and which registers each layer takes, for one hardware configuration; a
//! [`Runner`] makes the register writes at any [`Host`](super::Host), programs a layer while the one before runs, and
//! takes the interrupts.
//!
//! ```
//! use vp_host::network::{Plan, Runner, digits};
//! use vp_host::LocalHost;
//! use vp_models::platform::{Description, Platform};
//!
//! let description = Description::named("nv_small").unwrap();
//! let plan = Plan::new(&digits::network(), &description.nvdla().unwrap().config, description.dbb0.range()).unwrap();
//! let mut host = LocalHost::new(Platform::build(&description).unwrap());
//! let samples = digits::samples();
//! Runner::new(&plan, &mut host)
//!     .unwrap()
//!     .run(&[&samples[0].pixels], |_, inference| {
//!         assert_eq!(digits::answer(&inference.outputs[0]), samples[0].label);
//!     })
//!     .unwrap();
//! ```
//!
//! A network is for either device: a [`Plan`] is NVDLA's, and [`Model::of_network`](super::fpga_ai_suite::Model::of_network) plans it for an FPGA AI
//! Suite IP.
//!
//! Layers are int8, int16 or fp16, by the network's precision: convolutions with bias, sum, activation and converter in SDP; poolings,
//! sums, products, maxima, relu and leaky; concatenations, interleaving and normalisations; soft-max and graphs of tensors are the CPU's.
//! Convolutions whose input the convolution buffer does not hold whole are cut; those it cannot hold even so are refused by name. [`Measured`] says what bounds each layer.
//!
//! # Where to add a kind of layer
//!
//! [`Operation`] has it, its text `description/written.rs` with `written/reader.rs`. The plan takes it in `plan/operations.rs`, `values.rs`
//! and `steps.rs`, with its engine's `registers` or `cpu.rs`. An FPGA AI Suite IP has it or refuses it (`fpga_ai_suite/plan.rs`); studies have
//! `vp-bridge/study/src/networks.rs`, tests their reference in `tests/src/reference/network.rs`, people `networks/README.md`. The compiler names
//! the other `match`es.

mod compressed;
mod cpu;
mod cut;
mod description;
pub mod digits;
mod error;
mod layout;
mod measured;
mod plan;
mod registers;
mod run;
mod shipped;
mod winograd;

pub use cpu::{Cpu, CpuEstimate, CpuModel, CpuWork, NoCpuModel};
pub use description::{
    Activation, Bias, ChannelProduct, Choices, Compression, Converter, Convolution, CpuProgram, CubeAxes,
    Demand, Demanded, Elementwise, Encoding, Function, Interleaving, Lines, LookUp, Method, Network,
    NetworkLayer, NoShare, Normalisation, Operation, Options, PairMethod, Pooling, ReadTensor, Scales,
    Scaling, Shape, Share, Slice, Slope, SoftMax, Sum, Window, Winograd, example_input,
};
pub use error::{MeasureError, PlanError, RunError};
pub(crate) use layout::entries_of_atoms;
pub use layout::{Channels, Form, MemoryAddress, Run, Tensor};
pub use measured::{LayerFigures, Measured};
pub use plan::{
    Constant, ConvolutionMethod, Copies, CutOutline, Memories, PlacedCopy, PlacedTensor, Placement, Plan,
    PlanOptions, PlanStep, StepOutline, Work,
};
pub use run::{Inference, Runner, Span};
pub use winograd::NoWinograd;
