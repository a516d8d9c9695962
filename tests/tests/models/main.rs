//! ONNX models brought to NVDLA: what the device gives, beside the model in plain arithmetic.

mod calibration;
mod channels;
mod codes;
mod equalised;
mod floats;
mod functions;
mod graphs;
mod means;
mod outputs;
mod pixels;
mod quantised;
mod refused;
mod windows;

use graphs::GraphDraw;
use vp_host::LocalHost;
use vp_host::network::{Measured, Memories, Plan, PlanOptions};
use vp_models::nvdla::numeric::Precision;
use vp_models::platform::{Description, Platform};
use vp_onnx::lower::{Calibration, LowerError, LowerOptions, Lowered, lower};
use vp_tensors::{Graph, Tensor};
use vp_tests::reference::run_outputs;

/// A graph made a network for a platform, with the input alone for its ranges.
fn lowered(
    graph: &Graph,
    platform: &str,
    precision: Precision,
    input: &Tensor,
) -> Result<Lowered, LowerError> {
    let description = Description::named(platform).unwrap();
    let options = LowerOptions { precision: Some(precision), ..LowerOptions::default() };
    let mut samples = std::iter::once(Ok(vec![input.clone()]));
    lower(graph, &description.nvdla().unwrap().config, &options, Calibration::Samples(&mut samples))
}

/// The model's outputs as the device gives them; what the network gives is held to the slow reference, code by code.
fn ran(lowered: &Lowered, platform: &str, input: &Tensor) -> Vec<Tensor> {
    let description = Description::named(platform).unwrap();
    let (config, memories) = (&description.nvdla().unwrap().config, Memories::of(&description));
    let plan = Plan::with(&lowered.network, config, &memories, &PlanOptions::default()).unwrap();
    let codes = lowered.encode(std::slice::from_ref(input)).unwrap();
    let mut host = LocalHost::new(Platform::build(&description).unwrap());
    let measured =
        Measured::on(&lowered.network, &plan, &mut host, description.period, &[&codes], || ()).unwrap();
    // fp16's sums depend on their order, which is that of pixels and of cuts by groups: the reference does not know these.
    if lowered.network.precision == Precision::Int8 {
        let expected = run_outputs(&lowered.network, &codes);
        assert!(measured.outputs == expected, "{platform}: the device differs from the reference");
    }
    lowered.decode(&codes, &measured.outputs).unwrap()
}
