//! Connects to a server and shows its ports and what is at the beginning of its device's registers.
//!
//! ```text
//! vp serve --platform nv_small --listen tcp:127.0.0.1:7700
//! cargo run -p vp-client --example registers -- tcp:127.0.0.1:7700
//! ```
#![expect(clippy::print_stdout, reason = "an example")]

use std::error::Error;

use vp_client::native::{PortKind, Role};
use vp_client::{Client, Options};

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "tcp:127.0.0.1:7700".to_owned()).parse()?;
    let mut client = Client::connect(&address, &Options::new("registers 1.0"), ())?;
    println!("platform {}", client.welcome().platform);
    for (_, port) in client.ports() {
        println!("{:8} {:?} at 0x{:x}, 0x{:x} bytes", port.name, port.kind, port.base, port.size);
    }
    let registers = client.first(PortKind::Csb).ok_or("the platform has no device")?;
    client.attach(registers, Role::Initiator, None)?;
    let base = client.port(registers).map_or(0, |port| port.base);
    for address in (base..base + 16).step_by(4) {
        println!("0x{address:04x}  0x{:08x}", client.read_register(registers, address)?);
    }
    client.close("done")?;
    Ok(())
}
