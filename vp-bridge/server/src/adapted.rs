//! Sessions of other protocols, from their first connection to the last.

use std::sync::Arc;

use tokio::sync::oneshot;
use vp_protocols::native::{SessionId, TimeMode};

use super::House;
use super::instance::{AdaptedNewcomer, PlatformCommand};
use crate::adapters::Adapter;
use crate::registry::Tenant;
use crate::session::{End, Stay};
use crate::stream::Stream;

/// Serves connections to the end of their session, which is noted in the log. It is at the platform of all who name none.
pub(super) async fn run(
    house: &House,
    streams: Vec<Stream>,
    (adapter, time_mode): (Box<dyn Adapter>, TimeMode),
    id: SessionId,
    name: &str,
) -> End {
    let end = stay(house, streams, (adapter, time_mode), id, name).await;
    end.log(name);
    end
}

async fn stay(
    house: &House,
    streams: Vec<Stream>,
    (adapter, time_mode): (Box<dyn Adapter>, TimeMode),
    id: SessionId,
    name: &str,
) -> End {
    let tenant = Tenant { session: id, holder: None, platform: None };
    let instance = match house.registry.enter(tenant, time_mode) {
        Ok(instance) => instance,
        Err(error) => return End::Wrong(error.to_string()),
    };
    let socket = |stream: Stream| stream.into_socket(house.options.heartbeat).map(Arc::new);
    let sockets: std::io::Result<Vec<_>> = streams.into_iter().map(socket).collect();
    let sockets = match sockets {
        Ok(sockets) => sockets,
        Err(error) => {
            house.registry.leave(tenant, &instance);
            return End::Wrong(error.to_string());
        }
    };
    let (ended, has_ended) = oneshot::channel();
    let mut stay =
        Stay { house, tenant: Some(tenant), instance: &instance, id, sockets: &sockets, is_over: false };
    let (name_of, sockets) = (name.to_owned(), sockets.clone());
    let newcomer = AdaptedNewcomer { id, name: name_of, time_mode, sockets, adapter, ended };
    // If the platform's thread has ended the newcomer is dropped, as it is when the thread ends later.
    let _ = instance.inbox().send(PlatformCommand::JoinAdapted(Box::new(newcomer)));
    stay.wait(has_ended).await.unwrap_or_else(End::Wrong)
}
