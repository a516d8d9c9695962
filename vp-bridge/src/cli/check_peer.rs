//! `vp check-peer`: plays the other side of a protocol against a program.

use std::path::PathBuf;
use std::time::Duration;

use vp_check::{PeerRole, Report, native, remote_port, renode, vfio_user};
use vp_client::Credentials;
use vp_models::printable;
use vp_protocols::remote_port::Capabilities;
use vp_transport::{Address, MeetingPlace};

use super::{Failure, Verdict};
use crate::cli::out;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Address at which the peer is met: tcp:HOST:PORT or unix:PATH. A server of the native protocol listens there; its clients, and
    /// peripherals of Renode, connect there. With Remote-Port either side may listen; `listen:` or `connect:` in front chooses one
    #[arg(value_name = "ADDR")]
    place: MeetingPlace,

    /// Protocol that the peer speaks
    #[arg(long)]
    protocol: Protocol,

    /// Role of the peer in a platform
    #[arg(long = "as", value_name = "ROLE", default_value = "device")]
    role: Role,

    /// Address to access: of a device, a register that can be read, and written with the value read; of a memory at Remote-Port, 64
    /// bytes that can be overwritten
    #[arg(long, value_name = "ADDRESS", default_value = "0", value_parser = number)]
    address: u64,

    /// Remote-Port channel of a device's registers or of a memory [default: 9 or 0, as on QEMU's board virt-cosim]
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<u32>,

    /// Announce no capabilities to a peer at Remote-Port, which then uses the basic layout and no byte enables
    #[arg(long)]
    announce_nothing: bool,

    /// Address to which a peripheral of Renode connects for its own requests [default: the port after ADDR's]
    #[arg(long = "async", value_name = "ADDR")]
    asynchronous: Option<Address>,

    /// Allow listening where other hosts can connect: the first to connect is checked
    #[arg(long)]
    insecure: bool,

    /// Seconds to wait for the peer, and for each answer
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds)]
    timeout: Duration,

    /// Write the findings as JSON to a file, or with `-` to standard output in place of the text
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Protocol {
    /// The platform's own protocol (docs/protocol.md)
    Native,
    /// The protocol of Xilinx's QEMU and SystemC library
    RemotePort,
    /// The protocol of Renode's co-simulated peripherals
    Renode,
    /// The protocol of hypervisors, whose guests have the device as a PCI function
    VfioUser,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Role {
    /// Accesses registers; with the native protocol, a client
    Cpu,
    /// Answers memory accesses; with the native protocol, a client that attaches as a memory
    Memory,
    /// Answers register accesses; with the native protocol, a server
    Device,
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let parsed = digits.map_or_else(|| text.parse(), |digits| u64::from_str_radix(digits, 16));
    parsed.map_err(|_| "write a number, such as 0x1000".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let bounded = seconds.filter(|seconds| !seconds.is_zero() && seconds.as_secs() <= 86_400);
    bounded.ok_or_else(|| "write seconds, more than 0 and at most a day, such as 3 or 0.5".to_owned())
}

/// The port behind that of main, as both were given to one Renode.
fn next_port(main: &Address) -> Result<Address, Failure> {
    match main {
        Address::Tcp { host, port } if (1..u16::MAX).contains(port) => {
            Ok(Address::Tcp { host: host.clone(), port: port + 1 })
        }
        _ => Err(Failure::new(format!("{main} has no port behind it for the second socket"))
            .hint("name it: --async tcp:127.0.0.1:5001")),
    }
}

impl Args {
    fn check(&self) -> Result<Report, Failure> {
        let (place, timeout, address) = (self.place.clone(), self.timeout, self.address);
        let insecure = self.insecure;
        let peer = match self.role {
            Role::Cpu => PeerRole::Cpu,
            Role::Memory => PeerRole::Memory,
            Role::Device => PeerRole::Device,
        };
        let report = match self.protocol {
            Protocol::Native => {
                let Credentials { token, tls } = Credentials::from_environment().map_err(Failure::new)?;
                native::Check { place, peer, address, token, tls, insecure, timeout }.run()
            }
            Protocol::RemotePort => {
                let channel = self.channel.unwrap_or(if peer == PeerRole::Device { 9 } else { 0 });
                let announced =
                    if self.announce_nothing { Capabilities::NONE } else { Capabilities::PLATFORM };
                remote_port::Check { place, peer, channel, address, announced, insecure, timeout }.run()
            }
            Protocol::Renode if peer != PeerRole::Device => {
                return Err(Failure::new("a peer at Renode's protocol is a peripheral")
                    .hint("leave --as out, or write --as device"));
            }
            Protocol::VfioUser if peer != PeerRole::Device => {
                return Err(Failure::new("a peer at vfio-user is a server, which has a device")
                    .hint("leave --as out, or write --as device"));
            }
            Protocol::VfioUser => {
                vfio_user::Check { address: place.address, register: address, timeout }.run()
            }
            Protocol::Renode => {
                let asynchronous = match &self.asynchronous {
                    Some(address) => address.clone(),
                    None => next_port(&place.address)?,
                };
                renode::Check { main: place.address, asynchronous, address, insecure, timeout }.run()
            }
        };
        report.map_err(Failure::connection)
    }
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let report = args.check()?;
    let json = || {
        let json = serde_json::to_string_pretty(&report).map_err(Failure::new)?;
        Ok::<_, Failure>(printable::json(&json).into_owned())
    };
    match args.json.as_deref() {
        Some(path) if path.as_os_str() == "-" => out::println!("{}", json()?),
        Some(path) => {
            vp_observers::write_whole(path, json()? + "\n").map_err(|error| {
                Failure::new(format!("cannot write the findings to {}: {error}", path.display()))
            })?;
            out::println!("{report}");
        }
        None => out::println!("{report}"),
    }
    Ok(if report.passed { Verdict::Right } else { Verdict::Wrong })
}
