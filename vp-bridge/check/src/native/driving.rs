//! A server's ports, driven by partners that may not drive them so: each event at each kind of port and in each role
//! that is not its own, by the table that the hub obeys ([`PortEvent::driver`]).

use std::time::Instant;

use vp_hub::{PortEvent, PortSide};
use vp_models::platform;
use vp_native_values::partner_event::to_event;
use vp_protocols::native::statistics::parse_counters;
use vp_protocols::native::{
    Attach, Capabilities, Connection, Driven, ErrorCode, Event, Port, PortId, PortKind, Promised, Reaction,
    Reply, Request, Role, Rule, Time, Until, counters,
};

use super::{Check, Session};
use crate::report::Tally;
use crate::{MeetError, Over};

/// A port of the server, and what the check is to it.
#[derive(Clone, Copy)]
struct CheckedPort {
    port: PortId,
    role: Role,
    side: PortSide,
}

impl Check {
    /// Drives what is not a partner's to drive: each event in a session of its own, for the first one ends it.
    pub(super) fn check_driving(&self, tally: &mut Tally<Rule>) -> Result<(), MeetError> {
        let Ok(places) = self.as_partner(&mut Tally::new(), |session, ports| session.places(&ports))? else {
            return Ok(());
        };
        let foreign = PortEvent::one_of_each(8).into_iter().flat_map(|event| {
            let driver = event.driver();
            let places = places.iter().filter(move |place| driver.is_some_and(|driver| driver != place.side));
            places.map(move |place| (event.clone(), *place))
        });
        for (event, place) in foreign {
            let drive = |session: &mut Session, ports: Vec<Port>| session.drive(ports, place, event);
            if self.as_partner(tally, drive)?.is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Runs a script in a session that may become a partner, and returns what it finds; [`Over`] where the server grants none.
    fn as_partner<T>(
        &self,
        tally: &mut Tally<Rule>,
        script: impl FnOnce(&mut Session, Vec<Port>) -> Result<T, Over>,
    ) -> Result<Result<T, Over>, MeetError> {
        let mut hello = self.hello();
        hello.capabilities = hello.capabilities.union(Capabilities::PARTNERS);
        let wire = self.connect()?;
        let Ok(connection) = Connection::client(hello) else { return Ok(Err(Over)) };
        let mut session = self.session(wire, connection, tally);
        let found = session.welcome().and_then(|ports| {
            let is_granted = session.connection.capabilities().contains(Capabilities::PARTNERS);
            if is_granted { script(&mut session, ports) } else { Err(Over) }
        });
        *tally = session.tally;
        Ok(found)
    }
}

impl Session {
    /// The ports and roles that a partner may have, one of each kind.
    fn places(&mut self, ports: &[Port]) -> Result<Vec<CheckedPort>, Over> {
        self.declare_clock()?;
        let mut places: Vec<CheckedPort> = Vec::new();
        for place in all_places(ports) {
            let CheckedPort { port, role, side } = place;
            if places.iter().any(|found| found.side == side) {
                continue;
            }
            let (reply, _) = self.ask(Request::Attach(Attach { port, role, range: None }), &[])?;
            if !matches!(reply, Reply::Failed { .. }) {
                places.push(place);
                self.ask(Request::Detach { port }, &[])?;
            }
        }
        Ok(places)
    }

    /// Becomes a partner; tells the time from which on it may drive.
    fn declare_clock(&mut self) -> Result<Time, Over> {
        let clock = Request::Clock { reaction: Reaction::NextEdge, quantum: 0 };
        let id = self.send(clock, &[])?;
        let until = self.until();
        loop {
            match self.event(until)? {
                Some(Event::Reply { id: of, reply: Reply::Done, time, .. }) if of == id => return Ok(time),
                Some(Event::Reply { id: of, .. }) if of == id => return Err(Over),
                Some(_) => {}
                None => return Err(Over),
            }
        }
    }

    /// Reads the length of a cycle of the platform's clock, in picoseconds.
    fn period(&mut self) -> Result<u64, Over> {
        let statistics = Request::Statistics { prefix: "period".to_owned(), first: 0 };
        let (Reply::Statistics { count, .. }, payload) = self.ask(statistics, &[])? else { return Err(Over) };
        let counters = parse_counters(&payload, count).map_err(|_| Over)?;
        counters::count(&counters, "period").filter(|period| *period > 0).ok_or(Over)
    }

    /// Drives an event that is not this side's, and judges what comes of it.
    fn drive(&mut self, _: Vec<Port>, place: CheckedPort, event: PortEvent) -> Result<(), Over> {
        let CheckedPort { port, role, side } = place;
        let now = self.declare_clock()?;
        let period = self.period()?;
        let (reply, _) = self.ask(Request::Attach(Attach { port, role, range: None }), &[])?;
        if matches!(reply, Reply::Failed { .. }) {
            return Ok(());
        }
        let at = Time::ps(now.as_ps().checked_next_multiple_of(period).ok_or(Over)?);
        let name = event.name();
        let (event, data) = to_event(event);
        let driven = Driven { port, at, event };
        self.connection.drive(driven, &data[..]).map_err(|_| Over)?;
        self.connection.promise(Promised { heard: 0, next: None }).map_err(|_| Over)?;
        // In lockstep time moves for requests only.
        let limit = at + Time::ps(4 * period);
        self.send(Request::Advance { until: Until::Time(limit) }, &[])?;
        let code = self.parting_code()?;
        let what = match code {
            Some(code) => format!("{name} as {side} is answered with Bye, code {}", u16::from(code)),
            None => format!("{name} as {side} is answered with no Bye with a code"),
        };
        let is_right = code == Some(ErrorCode::ContractBroken);
        self.tally.judge(Rule::DrivenBySide, is_right, what, &self.wire);
        if is_right { Ok(()) } else { Err(Over) }
    }

    /// The code of the Bye by which the peer ends the session, if it does so in time.
    fn parting_code(&mut self) -> Result<Option<ErrorCode>, Over> {
        let until = self.until();
        while Instant::now() < until {
            match self.event(until) {
                Ok(Some(Event::Bye(bye))) => return Ok(bye.code),
                Ok(Some(_)) => {}
                // Another rule, which is another finding.
                Err(Over) if !self.is_closed => return Err(Over),
                Ok(None) | Err(Over) => return Ok(None),
            }
        }
        Ok(None)
    }
}

fn all_places(ports: &[Port]) -> Vec<CheckedPort> {
    let roles = [Role::Initiator, Role::Target, Role::Source, Role::Sink];
    let at_port = |(index, port): (usize, &Port)| {
        let kind = match port.kind {
            PortKind::Csb => platform::PortKind::Registers,
            PortKind::Irq => platform::PortKind::Irq,
            PortKind::Axi if port.roles.contains(Role::Target) => platform::PortKind::Axi,
            PortKind::Axi => platform::PortKind::Stream,
        };
        let port_id = PortId(u16::try_from(index).ok()?);
        let has = port.roles;
        Some(roles.into_iter().filter(move |role| has.contains(*role)).map(move |role| {
            let side = PortSide { kind, role: hub_role(role) };
            CheckedPort { port: port_id, role, side }
        }))
    };
    ports.iter().enumerate().filter_map(at_port).flatten().collect()
}

fn hub_role(role: Role) -> vp_hub::Role {
    match role {
        Role::Initiator => vp_hub::Role::Initiator,
        Role::Target => vp_hub::Role::Target,
        Role::Source => vp_hub::Role::Source,
        Role::Sink => vp_hub::Role::Sink,
    }
}
