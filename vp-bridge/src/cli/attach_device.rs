//! `vp attach-device`: is a part of a platform that a server offers, in a process of its own.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use vp_client::native::{self, Driven, PortId, Promised, Reply, Request, RequestId, Time as WireTime};
use vp_client::{Answered, Client, Handler, Options, Refusal, serve_memory};
use vp_core::Time;
use vp_models::hub::{
    self, AccessKind, Failure as HubFailure, Hub, Input, LinkedHub, LinkedPort, MemoryAccess, Output,
    PartyId, PortIndex, Promise, Role, TimeMode,
};
use vp_models::outside_device::OutsideDescription;
use vp_models::platform::{DeviceDescription, Platform};
use vp_server::partner_event;
use vp_transport::Address;

use super::parts::CONNECT;
use super::platform_args::{PlatformArgs, headline};
use super::{Failure, Verdict, serve};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where the platform is: tcp:HOST:PORT or unix:PATH
    #[arg(value_name = "ADDR", env = CONNECT)]
    address: Address,

    /// Which part: `device`, all of it but the memories, or `memory:dbb0`, `memory:sram0`, one memory with its times
    #[arg(long = "as", value_name = "PART", default_value = "device")]
    part: Part,

    #[command(flatten)]
    platform: PlatformArgs,

    /// The shared platform of that name. Left out where its device is outside: then all sessions have one
    #[arg(long, value_name = "NAME")]
    shared: Option<String>,

    /// Clock edges by which all that crosses the ports is seen later, each way: fewer messages, but more cycles
    #[arg(long, value_name = "N", default_value_t = 0)]
    quantum: u32,
}

/// A part of a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Device,
    Memory(String),
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Part, String> {
        match text.split_once(':') {
            None if text == "device" => Ok(Part::Device),
            Some(("memory", name @ ("dbb0" | "sram0"))) => Ok(Part::Memory(name.to_owned())),
            _ => Err("write `device`, `memory:dbb0` or `memory:sram0`".to_owned()),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Device => f.write_str("device"),
            Part::Memory(name) => write!(f, "memory:{name}"),
        }
    }
}

/// What the server has said, in its order.
#[derive(Default)]
struct Heard {
    outputs: Vec<Output>,
    /// What this program does not understand.
    odd: Option<String>,
}

/// Whatever is heard is for the one party that this process is.
const PARTY: PartyId = PartyId(0);

impl Handler for Heard {
    fn request(&mut self, id: RequestId, request: &Request, payload: &Bytes) -> Answered {
        let (port, address, length, write) = match request {
            Request::MemoryRead(read) => (read.port, read.address, read.length, None),
            Request::MemoryWrite(write) => {
                (write.port, write.address, write.length, Some(write.split(payload)))
            }
            _ => return serve_memory(self, request, payload),
        };
        let (kind, axi_id, at) = (AccessKind::Debug, 0, None);
        let access = MemoryAccess { address, length, write, kind, axi_id, at };
        let request = hub::RequestId(id.0.into());
        self.outputs.push(Output::Request { party: PARTY, request, port: PortIndex(port.0), access });
        Answered::Later
    }

    fn driven(&mut self, driven: Driven, data: &Bytes) {
        let Driven { port, at, event } = driven;
        match partner_event::from_event(event, data.clone()) {
            Ok(event) => {
                let (port, at) = (PortIndex(port.0), Time::ps(at.0));
                self.outputs.push(Output::Driven { party: PARTY, port, at, event });
            }
            Err(reason) => self.odd = Some(reason),
        }
    }

    fn promised(&mut self, promised: Promised) {
        let next = promised.next.map_or(Time::MAX, |next| Time::ps(next.0));
        let promise = Promise { heard: promised.heard, next };
        self.outputs.push(Output::Promised { party: PARTY, promise });
    }

    fn warning(&mut self, time: WireTime, text: String) {
        tracing::warn!("{}: {text}", Time::ps(time.0));
    }
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    serve::start_log("info");
    let mut description = args.platform.description("nv_small")?;
    if let Part::Memory(_) = args.part {
        // Nobody else uses the memory.
        let outside = OutsideDescription::in_place_of(&description.device);
        description.device = DeviceDescription::Outside(Box::new(outside));
    } else if let DeviceDescription::Outside(_) = description.device {
        return Err(Failure::new("the device of this platform is outside, too: name one that has it inside"));
    }
    let platform = Platform::build(&description).map_err(Failure::new)?;
    let options = Options {
        platform: args.shared.clone(),
        share: false,
        ..Options::new(concat!("vp attach-device ", env!("CARGO_PKG_VERSION")))
    };
    let mut client = Client::connect(&args.address, &options, Heard::default())
        .map_err(|error| Failure::new(format!("{}: {error}", args.address)))?;
    let ports = links(&args.part, &client, &platform)?;
    client.clock(native::Reaction::NextEdge, args.quantum).map_err(Failure::new)?;
    for port in &ports {
        client.attach(PortId(port.there.0), role(port.role), None).map_err(Failure::new)?;
    }
    let mut hub = Hub::new(platform, TimeMode::Free);
    hub.start_at(Time::ps(client.time().0));
    let linked = LinkedHub::to_elsewhere(hub, PARTY, args.quantum, ports).map_err(Failure::new)?;
    let delays = match args.quantum {
        0 => String::new(),
        1 => "; delays what crosses by 1 edge each way".to_owned(),
        quantum => format!("; delays what crosses by {quantum} edges each way"),
    };
    anstream::println!("attached to {} as {}{delays}", args.address, args.part);
    tracing::info!("{}", headline(&description));
    serve_part(&mut client, linked)
}

/// The ports that a part has, here and there.
fn links(part: &Part, client: &Client<Heard>, platform: &Platform) -> Result<Vec<LinkedPort>, Failure> {
    let here = platform.ports();
    let wanted: Vec<(&str, Role)> = match part {
        Part::Memory(name) => vec![(name.as_str(), Role::Target)],
        Part::Device => here
            .iter()
            .filter_map(|port| match port.kind {
                vp_models::platform::PortKind::Registers => Some((port.name, Role::Target)),
                vp_models::platform::PortKind::Irq => Some((port.name, Role::Source)),
                vp_models::platform::PortKind::Axi => Some((port.name, Role::Initiator)),
                vp_models::platform::PortKind::Stream => None,
            })
            .collect(),
    };
    let link = |(name, role): (&str, Role)| {
        let missing = |whose: &str| Failure::new(format!("{whose} has no port {name}"));
        let (there, port) = client
            .ports()
            .find(|(_, port)| port.name == name)
            .ok_or_else(|| missing("the server's platform"))?;
        let index = here.iter().position(|port| port.name == name);
        let index = index.ok_or_else(|| missing("the platform here"))?;
        let width = here[index].width;
        if u32::from(port.width) != width {
            return Err(Failure::new(format!(
                "{name} is {} bits wide there and {width} here: name the same platform on both sides",
                port.width
            )));
        }
        Ok(LinkedPort { there: PortIndex(there.0), role, here: PortIndex(index as u16) })
    };
    wanted.into_iter().map(link).collect()
}

fn role(role: Role) -> native::Role {
    match role {
        Role::Initiator => native::Role::Initiator,
        Role::Target => native::Role::Target,
        Role::Source => native::Role::Source,
        Role::Sink => native::Role::Sink,
    }
}

/// Goes on as far as is known, says what came of it, and waits for more.
fn serve_part(client: &mut Client<Heard>, mut linked: LinkedHub) -> Result<Verdict, Failure> {
    loop {
        for input in linked.run() {
            tell(client, input).map_err(Failure::new)?;
        }
        client.flush().map_err(Failure::new)?;
        if let Some(broken) = linked.broken() {
            return Err(Failure::new(format!("the server does not keep the contract of time: {broken}")));
        }
        let heard = client.wait(None, |client| {
            let heard = client.handler_mut();
            (!heard.outputs.is_empty() || heard.odd.is_some()).then(|| std::mem::take(heard))
        });
        match heard {
            Ok(Some(Heard { odd: Some(reason), .. })) => {
                return Err(Failure::new(format!(
                    "the server drives what this program does not know: {reason}"
                )));
            }
            Ok(heard) => {
                heard.into_iter().flat_map(|heard| heard.outputs).for_each(|output| linked.take(output));
            }
            // So ends every platform, and its parts with it.
            Err(_) if is_regular_end(client) => return Ok(Verdict::Right),
            Err(vp_client::Error::Ended(reason)) => {
                return Err(Failure::new(format!("the server has ended the session: {reason}")));
            }
            Err(error) => return Err(Failure::new(error)),
        }
    }
}

/// Whether the server has ended the session because its platform has ended.
fn is_regular_end(client: &Client<Heard>) -> bool {
    client.bye().is_some_and(|bye| matches!(bye.code, None | Some(native::ErrorCode::ShuttingDown)))
}

fn tell(client: &mut Client<Heard>, input: Input) -> Result<(), vp_client::Error> {
    match input {
        Input::Driven { port, at, event, .. } => {
            let (event, data) = partner_event::to_event(event);
            client.drive(PortId(port.0), WireTime(at.as_ps()), event, &data[..])
        }
        Input::Promised { promise: Promise { heard, next }, .. } => {
            let next = Some(next).filter(|next| *next < Time::MAX);
            client.promise(heard, next.map(|next| WireTime(next.as_ps())))
        }
        Input::Answer { request, result, .. } => {
            let answer = match result {
                Ok(data) if data.is_empty() => Answered::now(Reply::Done, Bytes::new()),
                Ok(data) => Answered::now(Reply::Data, data),
                Err(HubFailure { reason, .. }) => Refusal::new(native::ErrorCode::SlaveError, reason).into(),
            };
            let Answered::Now { time, reply, payload } = answer else { return Ok(()) };
            client.reply(RequestId(request.0 as u32), time, reply, payload)
        }
        _ => Ok(()),
    }
}
