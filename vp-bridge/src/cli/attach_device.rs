//! `vp attach-device`: connects an outside device or memory, in a process of its own, to a served platform.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use tracing::level_filters::LevelFilter;
use vp_hub::{
    AccessKind, Clock, Hub, Input, LinkedHub, LinkedPort, MemoryAccess, Output, PartyId, PortId, Reaction,
    RequestId, Role, TimeMode,
};
use vp_models::platform::{DeviceDescription, Platform, Port, PortKind};
use vp_partner::{DebugAccess, FromPlatform, LinkPort, PartnerError, PlatformLink as _, RemoteLink};
use vp_transport::Address;

use super::memory_limit::MemoryArgs;
use super::parts::CONNECT;
use super::platform_args::{PlatformArgs, headline};
use super::terminal::start_log;
use super::{Failure, Verdict};
use crate::cli::out;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Address of the server: tcp:HOST:PORT, tls:HOST:PORT or unix:PATH
    #[arg(value_name = "ADDR", env = CONNECT)]
    address: Address,

    /// Part to connect: `device`, which is everything but the memories, or one memory with its timing, `memory:dbb0` or `memory:sram0`
    #[arg(long = "as", value_name = "PART", default_value = "device")]
    part: AttachedPart,

    #[command(flatten)]
    platform: PlatformArgs,

    #[command(flatten)]
    memory: MemoryArgs,

    /// Name of the shared platform [default: the server's only one, where its device is outside]
    #[arg(long, value_name = "NAME")]
    shared: Option<String>,

    /// Clock cycles by which everything that crosses the ports is delayed, each way: more cycles, but fewer messages
    #[arg(long, value_name = "N", default_value_t = 0)]
    quantum: u32,
}

/// A part of a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AttachedPart {
    Device,
    Memory(String),
}

impl FromStr for AttachedPart {
    type Err = String;

    fn from_str(text: &str) -> Result<AttachedPart, String> {
        match text.split_once(':') {
            None if text == "device" => Ok(AttachedPart::Device),
            Some(("memory", name @ ("dbb0" | "sram0"))) => Ok(AttachedPart::Memory(name.to_owned())),
            _ => Err("write `device`, `memory:dbb0` or `memory:sram0`".to_owned()),
        }
    }
}

impl fmt::Display for AttachedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttachedPart::Device => f.write_str("device"),
            AttachedPart::Memory(name) => write!(f, "memory:{name}"),
        }
    }
}

/// Whatever is heard is for the one party that this process is.
const PARTY: PartyId = PartyId(0);

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    start_log(LevelFilter::INFO, &[]);
    let mut description = args.platform.description("nv_small")?;
    if let AttachedPart::Memory(_) = args.part {
        // Nobody else uses the memory.
        let outside = description.device.outside();
        description.device = DeviceDescription::Outside(Box::new(outside));
    } else if let DeviceDescription::Outside(_) = description.device {
        return Err(Failure::new("the device of this platform is outside, too: name one that has it inside"));
    }
    let platform = Platform::build_within(&description, args.memory.budget()).map_err(Failure::new)?;
    let agent = concat!("vp attach-device ", env!("CARGO_PKG_VERSION"));
    let mut link =
        RemoteLink::connect(&args.address, args.shared.as_deref(), agent).map_err(Failure::connection)?;
    let ports = links(&args.part, link.ports(), &platform)?;
    let clock = Clock { reaction: Reaction::NextEdge, quantum: args.quantum };
    let now = link.declare(clock).map_err(Failure::new)?;
    for port in &ports {
        link.attach(port.there, port.role).map_err(Failure::new)?;
    }
    let mut hub = Hub::new(platform, TimeMode::Free);
    hub.start_at(now);
    let linked = LinkedHub::to_elsewhere(hub, PARTY, args.quantum, ports).map_err(Failure::new)?;
    let delays = match args.quantum {
        0 => String::new(),
        1 => "; delays what crosses by 1 edge each way".to_owned(),
        quantum => format!("; delays what crosses by {quantum} edges each way"),
    };
    out::println!("attached to {} as {}{delays}", args.address, args.part);
    tracing::info!("{}", headline(&description));
    serve_part(&mut link, linked)
}

/// Returns what a device is to a port of its platform: the port's name and the role.
pub(super) fn device_end(port: &Port) -> Option<(&'static str, Role)> {
    match port.kind {
        PortKind::Registers => Some((port.name, Role::Target)),
        PortKind::Irq => Some((port.name, Role::Source)),
        PortKind::Axi => Some((port.name, Role::Initiator)),
        PortKind::Stream => None,
    }
}

/// The ports that a part has, here and there.
fn links(part: &AttachedPart, there: &[LinkPort], platform: &Platform) -> Result<Vec<LinkedPort>, Failure> {
    let here = platform.ports();
    let wanted: Vec<(&str, Role)> = match part {
        AttachedPart::Memory(name) => vec![(name.as_str(), Role::Target)],
        AttachedPart::Device => here.iter().filter_map(device_end).collect(),
    };
    let link = |(name, role): (&str, Role)| {
        let missing = |whose: &str| Failure::new(format!("{whose} has no port {name}"));
        let found = there.iter().position(|port| port.name == name);
        let found = found.ok_or_else(|| missing("the server's platform"))?;
        let index = here.iter().position(|port| port.name == name);
        let index = index.ok_or_else(|| missing("the platform here"))?;
        let (width_there, width) = (there[found].width, here[index].width);
        if width_there != width {
            return Err(Failure::new(format!(
                "{name} is {width_there} bits wide there and {width} here: name the same platform on both sides"
            )));
        }
        Ok(LinkedPort { there: PortId(found as u16), role, here: PortId(index as u16) })
    };
    wanted.into_iter().map(link).collect()
}

/// Goes on as far as is known, says what came of it, and waits for more.
fn serve_part(link: &mut RemoteLink, mut linked: LinkedHub) -> Result<Verdict, Failure> {
    let mut heard = VecDeque::new();
    loop {
        let told = linked.run().into_iter().try_for_each(|input| tell(link, input));
        if let Some(broken) = linked.broken() {
            return Err(Failure::new(format!("the server does not keep the contract of time: {broken}")));
        }
        match told.and_then(|()| link.receive(true, &mut heard)) {
            Ok(()) => heard.drain(..).filter_map(output).for_each(|output| linked.take(output)),
            // So ends every platform, and its parts with it.
            Err(PartnerError::Over(_)) => return Ok(Verdict::Right),
            Err(error) => return Err(Failure::new(error)),
        }
    }
}

/// Returns what the other side has told, as the hub there has told it.
fn output(told: FromPlatform) -> Option<Output> {
    let party = PARTY;
    match told {
        FromPlatform::Driven { port, at, event } => Some(Output::Driven { party, port, at, event }),
        FromPlatform::Promised(promise) => Some(Output::Promised { party, promise }),
        FromPlatform::Debug { request, port, address, access } => {
            let (length, write) = match access {
                DebugAccess::Read(length) => (length, None),
                DebugAccess::Write(data, strobes) => (data.len() as u32, Some((data, strobes))),
            };
            let (kind, axi_id, at) = (AccessKind::Debug, 0, None);
            let access = MemoryAccess { address, length, write, kind, axi_id, at };
            Some(Output::Request { party, request: RequestId(request), port, access })
        }
        FromPlatform::Warning(time, text) => {
            tracing::warn!("{time}: {text}");
            None
        }
    }
}

fn tell(link: &mut RemoteLink, input: Input) -> Result<(), PartnerError> {
    match input {
        Input::Driven { port, at, event, .. } => link.drive(port, at, event),
        Input::Promised { promise, .. } => link.promise(promise),
        Input::Answer { request, result, .. } => {
            link.answer(request.0, result.map_err(|failure| failure.reason))
        }
        _ => Ok(()),
    }
}
