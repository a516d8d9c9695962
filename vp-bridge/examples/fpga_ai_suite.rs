//! A small host program for the FPGA AI Suite's inference IP: classifies handwritten digits.
//!
//! In this process, or on a platform of a server (`vp serve --platform fpga-ai-suite`):
//!
//! ```text
//! cargo run --release --example fpga_ai_suite
//! cargo run --release --example fpga_ai_suite tcp:127.0.0.1:7700
//! ```
//!
//! The same steps from a QEMU guest, through `uio_pdrv_genirq`, are `fpga_ai_suite_guest/inference.c` beside this file. It has
//! its model and its inputs from a file that `--bundle FILE` writes here.

use std::error::Error;

use vp_host::Host;
use vp_host::LocalHost;
use vp_host::fpga_ai_suite::{Driver, Model, bundle};
use vp_host::network::digits;
use vp_models::fpga_ai_suite::Architecture;
use vp_models::platform::{Description, DeviceDescription, Platform};
use vp_remote::{RemoteHost, RemoteOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let model = Model::of_network(&digits::network())?;
    let samples = digits::samples();
    let inputs: Vec<&[i8]> = samples.iter().take(20).map(|sample| sample.pixels.as_slice()).collect();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [option, path] = arguments.as_slice()
        && option == "--bundle"
    {
        return Ok(std::fs::write(path, bundle(&Architecture::default(), &model, &inputs)?)?);
    }
    let mut host: Box<dyn Host> = match arguments.first() {
        Some(address) => Box::new(RemoteHost::connect(&address.parse()?, RemoteOptions::default())?),
        None => Box::new(LocalHost::new(Platform::build(&Description::named("fpga-ai-suite")?)?)),
    };

    // What the platform carries: a program for one architecture would bring its description with it.
    let statistics = host.statistics()?;
    let description = Description::parse(statistics.text("platform.description").unwrap_or_default())?;
    let DeviceDescription::FpgaAiSuite(architecture) = &description.device else {
        return Err(format!("{} carries another device", description.name).into());
    };

    let mut driver = Driver::open(host.as_mut(), architecture, &model, description.dbb0.range())?;
    let inferences = driver.infer(&inputs)?;
    let counters = driver.counters()?;

    let answers = inferences.iter().map(|inference| digits::answer(&inference.output));
    let right = answers.zip(&samples).filter(|(answer, sample)| *answer == sample.label).count();
    #[expect(clippy::print_stdout, reason = "what the program is for")]
    {
        println!("{right} of {} digits, in {} clocks", inputs.len(), counters.active_clocks);
    }
    Ok(())
}
