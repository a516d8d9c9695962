//! Networks with soft-max, whose loadables run on a model.

use super::super::{CompileOptions, Compiled, SoftMaxBy, compile};
use crate::loadable::tests::host;
use crate::loadable::{Generation, Loadable, Processor, Tensor, run};
use crate::network::{Network, Plan, Runner};
use half::f16;
use vp_models::nvdla::config::Config;

/// Forty scores of a picture, of which a surface holds sixteen.
const SCORES: &str = "name = 'choice'\nseed = 3\nprecision = 'fp16'\ninput = { width = 6, height = 4, channels = 16 }\n\
    [[layer]]\nkind = 'normalisation'\nname = 'even'\nchannels = 5\nalpha = 1.0\nbeta = 0.75\nk = 1.0\nscale = 1\n\
    [[layer]]\nkind = 'fully-connected'\nname = 'scores'\nkernels = 40\n";
const SHARES: &str = "[[layer]]\nkind = 'soft-max'\nname = 'shares'\nscale = 1\n";
/// Layers of another task, with another table.
const MIXED: &str = "[[layer]]\nkind = 'fully-connected'\nname = 'mixed'\nkernels = 24\n\
    [[layer]]\nkind = 'normalisation'\nname = 'weighed'\nchannels = 3\nalpha = 2.0\nbeta = 0.5\nk = 2.0\nscale = 1\n";

fn network(parts: &[&str]) -> Network {
    Network::parse(&parts.concat(), &mut |_| unreachable!("weights are made up")).expect("a network")
}

fn compiled(network: &Network, generation: Generation, soft_max: SoftMaxBy) -> Result<Compiled, String> {
    let options = CompileOptions { generation, soft_max, ..CompileOptions::default() };
    let config = Config::named("nv_full").expect("a configuration");
    compile(network, &config, &options).map_err(|error| error.to_string())
}

/// The halves that a loadable makes of an input.
fn made(compiled: &Compiled, input: &[i8]) -> Vec<f32> {
    let loadable = Loadable::of(&compiled.contents).expect("whole");
    let packed = compiled.plan.input.pack(input);
    let execution = run(&loadable, &[packed], &mut host("nv_full")).expect("runs");
    let output = &execution.outputs[0];
    let elements = output.tensor.as_ref().and_then(|tensor: &Tensor| tensor.unpack(&output.bytes));
    elements
        .expect("its size")
        .chunks(2)
        .map(|half| f16::from_le_bytes([half[0], half[1]]).to_f32())
        .collect()
}

fn processors(compiled: &Compiled) -> Vec<Processor> {
    let loadable = Loadable::of(&compiled.contents).expect("whole");
    loadable.tasks().iter().map(|task| task.processor).collect()
}

#[test]
fn a_soft_max_at_the_end_is_the_applications_or_a_task_behind_the_accelerators() {
    let network = network(&[SCORES, SHARES]);
    for generation in Generation::ALL {
        let without = compiled(&network, generation, SoftMaxBy::Application).expect("compiles");
        assert_eq!(without.left, ["`shares` (soft-max)"]);
        let with = compiled(&network, generation, SoftMaxBy::Runtime).expect("compiles");
        assert_eq!((with.left.len(), with.on_cpu().collect::<Vec<_>>()), (0, vec!["shares"]));
        assert_eq!(processors(&with), [Processor::Accelerator, Processor::Cpu]);
        let input = network.example_input(1);
        let (scores, shares) = (made(&without, &input), made(&with, &input));
        let most = scores.iter().copied().fold(f32::MIN, f32::max);
        let sum: f32 = scores.iter().map(|score| (score - most).exp()).sum();
        for (score, share) in scores.iter().zip(&shares) {
            let expected = (score - most).exp() / sum;
            assert!((share - expected).abs() <= expected / 2048.0 + 1e-7, "{share} of {expected}");
        }
        assert!(shares.iter().any(|share| *share != shares[0]), "{shares:?}");
    }
}

#[test]
fn a_soft_max_between_layers_parts_the_accelerators_task() {
    let network = network(&[SCORES, SHARES, MIXED]);
    let config = Config::named("nv_full").expect("a configuration");
    let plan = Plan::new(&network, &config, 0x8000_0000..0x9000_0000).expect("a plan");
    for generation in Generation::ALL {
        let with = compiled(&network, generation, SoftMaxBy::Runtime).expect("compiles");
        assert_eq!(processors(&with), [Processor::Accelerator, Processor::Cpu, Processor::Accelerator]);
        for seed in [1, 2] {
            let input = network.example_input(seed);
            let mut expected = Vec::new();
            let mut platform = host("nv_full");
            let mut runner = Runner::new(&plan, &mut platform).expect("a platform");
            runner.run(&[&input], |_, inference| expected = inference.outputs[0].clone()).expect("runs");
            let bytes: Vec<u8> = expected.iter().map(|byte| byte.cast_unsigned()).collect();
            let expected = bytes.chunks(2).map(|half| f16::from_le_bytes([half[0], half[1]]).to_f32());
            let found = made(&with, &input);
            assert_eq!(found.len(), 24);
            // Shares may differ in their last bit.
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() <= expected.abs() / 256.0 + 1e-4, "{found} of {expected}");
            }
        }
    }
    let error = compiled(&network, Generation::Long, SoftMaxBy::Application).expect_err("no task");
    assert!(
        error.starts_with("the CPU does `shares` (soft-max), for which the runtime has no task"),
        "{error}"
    );
}

#[test]
fn a_soft_max_that_the_emulator_does_otherwise_is_refused() {
    let scaled = SHARES.replace("scale = 1", "scale = 0.5");
    let pixels = SCORES
        .replace("fully-connected", "convolution")
        .replace("kernels = 40", "kernels = 40\nkernel = [1, 1]");
    let int8 = SCORES.replace("fp16", "int8");
    let int8 = int8.split("[[layer]]\nkind = 'normalisation'").next().unwrap_or_default().to_owned()
        + "[[layer]]\nkind = 'fully-connected'\nname = 'scores'\nkernels = 40\n";
    for (parts, why) in [
        ([SCORES, &scaled], "with a scale, and the emulator has none for fp16"),
        ([&pixels, SHARES], "of several pixels, and the emulator does one"),
        ([&int8, SHARES], "of integers, whose shares the emulator truncates where the network rounds them"),
    ] {
        let error = compiled(&network(&parts), Generation::Long, SoftMaxBy::Runtime).expect_err(why);
        let told = format!(
            "the soft-max `shares` is not the runtime's: it is one {why}; leave it to the application"
        );
        assert_eq!(error, told);
    }
}
