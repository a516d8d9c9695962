//! A small host program for the FPGA AI Suite's inference IP: classifies handwritten digits.
//!
//! In this process, or on a platform of a server (`vp serve --platform fpga-ai-suite`):
//!
//! ```text
//! cargo run --release --example fpga_ai_suite
//! cargo run --release --example fpga_ai_suite tcp:127.0.0.1:7700
//! ```
//!
//! The same steps from a QEMU guest, through `uio_pdrv_genirq`, are `examples/fpga-ai-suite-guest` in C.

use std::error::Error;

use vp_bridge::client::{RemoteHost, RemoteOptions};
use vp_models::host::Host;
use vp_models::host::fpga_ai_suite::{Driver, Model};
use vp_models::host::network::digits;
use vp_models::platform::{Description, DeviceDescription, LocalHost, Platform};

fn main() -> Result<(), Box<dyn Error>> {
    let mut host: Box<dyn Host> = match std::env::args().nth(1) {
        Some(address) => Box::new(RemoteHost::connect(&address.parse()?, RemoteOptions::default())?),
        None => Box::new(LocalHost::new(Platform::build(&Description::named("fpga-ai-suite")?)?)),
    };

    // What the platform carries: a program for one architecture would bring its description with it.
    let statistics = host.statistics()?;
    let description = Description::parse(statistics.text("platform.description").unwrap_or_default())?;
    let DeviceDescription::FpgaAiSuite(architecture) = &description.device else {
        return Err(format!("{} carries another device", description.name).into());
    };

    let model = Model::of_network(&digits::network())?;
    let samples = digits::samples();
    let inputs: Vec<&[i8]> = samples.iter().take(20).map(|sample| sample.pixels.as_slice()).collect();

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
