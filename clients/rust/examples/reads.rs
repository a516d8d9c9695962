//! Reads a register of a server's platform again and again, and says how long a read takes: what clients in other languages are measured by.
//!
//! ```text
//! cargo run --release -p vp-client --example reads -- tcp:127.0.0.1:7700 100000
//! ```
#![expect(clippy::print_stdout, reason = "an example")]

use std::error::Error;
use std::time::Instant;

use vp_client::native::{PortKind, Role};
use vp_client::{Client, Options};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "tcp:127.0.0.1:7700".to_owned()).parse()?;
    let count: u32 = arguments.next().map_or(Ok(10_000), |count| count.parse())?;
    let mut client = Client::connect(&address, &Options::new("reads 1.0"), ())?;
    let registers = client.first(PortKind::Csb).ok_or("the platform has no device")?;
    client.attach(registers, Role::Initiator, None)?;
    let base = client.port(registers).map_or(0, |port| port.base);
    let began = Instant::now();
    for _ in 0..count {
        client.read_register(registers, base)?;
    }
    println!("{:.3} us a read", began.elapsed().as_secs_f64() * 1e6 / f64::from(count.max(1)));
    client.close("done")?;
    Ok(())
}
