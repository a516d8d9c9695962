//! A platform behind a server.

use std::collections::VecDeque;

use bytes::Bytes;
use vp_client::native::{self, Driven, ErrorCode, Promised, Reply, Request, RequestId};
use vp_client::{
    Address, Answered, Client, Credentials, Error, Handler, Options, Refusal, SilenceLimit, is_memory,
    serve_memory,
};
use vp_core::Time;
use vp_hub::{Clock, PortEvent, PortId, Promise, Role};
use vp_models::platform::PortKind;
use vp_native_values::partner_event;

use crate::link::DebugAccess;
use crate::{FromPlatform, LinkPort, PartnerError, PlatformLink};

/// Messages that the server has sent, in its order.
#[derive(Default)]
struct ServerMessages {
    said: VecDeque<FromPlatform>,
    /// Something that this program does not know.
    unknown: Option<String>,
}

impl Handler for ServerMessages {
    fn request(&mut self, id: RequestId, request: &Request, payload: &Bytes) -> Answered {
        let (port, address, access) = match request {
            Request::MemoryRead(read) => (read.port, read.address, DebugAccess::Read(read.length)),
            Request::MemoryWrite(write) => {
                let (data, strobes) = write.split(payload);
                (write.port, write.address, DebugAccess::Write(data, strobes))
            }
            _ => return serve_memory(self, request, payload),
        };
        self.said.push_back(FromPlatform::Debug { request: id.0.into(), port, address, access });
        Answered::Later
    }

    fn driven(&mut self, driven: Driven, data: &Bytes) {
        let Driven { port, at, event } = driven;
        match partner_event::from_event(event, data.clone()) {
            Ok(event) => self.said.push_back(FromPlatform::Driven { port, at, event }),
            Err(reason) => self.unknown = Some(reason),
        }
    }

    fn promised(&mut self, Promised { heard, next }: Promised) {
        self.said.push_back(FromPlatform::Promised(Promise { heard, next: next.unwrap_or(Time::MAX) }));
    }

    fn warning(&mut self, time: Time, text: String) {
        self.said.push_back(FromPlatform::Warning(time, text));
    }
}

/// A session with a server.
pub struct RemoteLink {
    client: Client<ServerMessages>,
    ports: Vec<LinkPort>,
}

impl RemoteLink {
    /// Opens a session: with the server's one platform, or with the shared one of that name. `agent` is this program and its
    /// version, as the server's log shows them. How long the server may be silent while it is waited for, and what it is shown if it
    /// wants that, are in the environment ([`SilenceLimit::VARIABLE`], [`Credentials::from_environment`]).
    ///
    /// # Errors
    /// [`PartnerError::Connect`].
    pub fn connect(
        address: &Address,
        platform: Option<&str>,
        agent: &str,
    ) -> Result<RemoteLink, PartnerError> {
        let credentials =
            Credentials::from_environment().map_err(|error| PartnerError::Connect(error.to_string()))?;
        let options = Options {
            platform: platform.map(str::to_owned),
            share: false,
            credentials,
            heartbeat: SilenceLimit::from_environment().map_err(PartnerError::Connect)?,
            ..Options::new(agent)
        };
        RemoteLink::open(address, &options)
    }

    /// Opens a session of that kind.
    ///
    /// # Errors
    /// [`PartnerError::Connect`].
    pub fn open(address: &Address, options: &Options) -> Result<RemoteLink, PartnerError> {
        let client = Client::connect(address, options, ServerMessages::default())
            .map_err(|error| PartnerError::Connect(error.to_string()))?;
        let ports = client.ports().map(|(_, port)| link_port(port)).collect();
        Ok(RemoteLink { client, ports })
    }

    /// Asks, while the platform is waited for, whether that goes on ([`Client::ask_whether`]).
    pub fn ask_whether(&mut self, goes_on: impl FnMut() -> bool + Send + 'static) {
        self.client.ask_whether(goes_on);
    }

    /// Returns the error for what became of the session.
    fn ended(&self, error: &Error) -> PartnerError {
        match (error, self.client.bye()) {
            (Error::Ended(_), Some(bye)) if matches!(bye.code, None | Some(ErrorCode::ShuttingDown)) => {
                PartnerError::Over(bye.reason.clone())
            }
            (Error::Ended(why), _) => PartnerError::Ended(why.clone()),
            (error, _) => PartnerError::Refused(error.to_string()),
        }
    }

    fn done<T>(&self, result: Result<T, Error>) -> Result<T, PartnerError> {
        result.map_err(|error| self.ended(&error))
    }
}

fn link_port(port: &native::Port) -> LinkPort {
    let kind = match port.kind {
        native::PortKind::Csb => PortKind::Registers,
        native::PortKind::Irq => PortKind::Irq,
        native::PortKind::Axi if is_memory(port) => PortKind::Axi,
        native::PortKind::Axi => PortKind::Stream,
    };
    let native::Port { name, base, size, width, .. } = port.clone();
    LinkPort { name, kind, base, size, width: width.into() }
}

impl PlatformLink for RemoteLink {
    fn ports(&self) -> &[LinkPort] {
        &self.ports
    }

    fn counter(&mut self, name: &str) -> Result<Option<u64>, PartnerError> {
        let counters = self.client.counters(name);
        let counters = self.done(counters)?;
        Ok(native::counters::count(&counters, name))
    }

    fn declare(&mut self, Clock { reaction, quantum }: Clock) -> Result<Time, PartnerError> {
        let declared = self.client.clock(reaction, quantum);
        self.done(declared)?;
        Ok(self.client.time())
    }

    fn attach(&mut self, port: PortId, role: Role) -> Result<(), PartnerError> {
        let attached = self.client.attach(port, role, None);
        self.done(attached)
    }

    fn drive(&mut self, port: PortId, at: Time, event: PortEvent) -> Result<(), PartnerError> {
        let (event, data) = partner_event::to_event(event);
        let driven = self.client.drive(port, at, event, &data[..]);
        self.done(driven)
    }

    fn promise(&mut self, Promise { heard, next }: Promise) -> Result<(), PartnerError> {
        let next = Some(next).filter(|next| *next < Time::MAX);
        let promised = self.client.promise(heard, next);
        self.done(promised)
    }

    fn answer(&mut self, request: u64, result: Result<Bytes, String>) -> Result<(), PartnerError> {
        let answer = match result {
            Ok(data) if data.is_empty() => Answered::now(Reply::Done, Bytes::new()),
            Ok(data) => Answered::now(Reply::Data, data),
            Err(reason) => Refusal::new(ErrorCode::SlaveError, reason).into(),
        };
        let Answered::Now { time, reply, payload } = answer else { return Ok(()) };
        let answered = self.client.reply(RequestId(request as u32), time, reply, payload);
        self.done(answered)
    }

    fn receive(&mut self, wait: bool, into: &mut VecDeque<FromPlatform>) -> Result<(), PartnerError> {
        let served = if wait {
            let is_there = |client: &mut Client<ServerMessages>| {
                let heard = client.handler();
                (!heard.said.is_empty() || heard.unknown.is_some()).then_some(())
            };
            self.client.wait(None, is_there).map(drop)
        } else {
            self.client.serve().map(drop)
        };
        // What was said before the end comes before the end.
        let heard = self.client.handler_mut();
        let has_said = !heard.said.is_empty();
        into.append(&mut heard.said);
        if let Some(unknown) = &heard.unknown {
            return Err(PartnerError::Ended(format!(
                "the server drives what this program does not know: {unknown}"
            )));
        }
        if has_said { Ok(()) } else { self.done(served) }
    }
}
