//! The mapping between channels and the platform's ports, in both directions.

use vp_hub::PortId;
use vp_models::platform::{Port, PortKind};

use super::{Channels, PortChannel, SessionEnd};

/// A port and its channel.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) port: PortId,
    pub(super) kind: PortKind,
    pub(super) place: PortChannel,
}

/// The ports that have a channel.
#[derive(Debug, Default)]
pub(super) struct Routes(Vec<Route>);

impl Routes {
    /// Finds the ports.
    pub(super) fn new(channels: &Channels, ports: &[Port]) -> Result<Routes, SessionEnd> {
        let route = |place: &PortChannel| {
            let index = ports.iter().position(|port| port.name == place.port);
            let Some(index) = index.filter(|&index| ports[index].kind != PortKind::Stream) else {
                let names = ports.iter().filter(|port| port.kind != PortKind::Stream).map(|port| port.name);
                let names: Vec<&str> = names.collect();
                return Err(SessionEnd::Wrong(format!(
                    "the platform has no port {} for a channel of Remote-Port: it has {}",
                    place.port,
                    names.join(", ")
                )));
            };
            Ok(Route { port: PortId(index as u16), kind: ports[index].kind, place: place.clone() })
        };
        channels.iter().map(route).collect::<Result<_, _>>().map(Routes)
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Route> {
        self.0.iter()
    }

    /// The port of that kind on a channel.
    pub(super) fn on(&self, channel: u32, kind: PortKind) -> Option<&Route> {
        self.0.iter().find(|route| route.place.channel == channel && route.kind == kind)
    }

    /// The channel of a port.
    pub(super) fn of(&self, port: PortId) -> Option<&Route> {
        self.0.iter().find(|route| route.port == port)
    }
}
