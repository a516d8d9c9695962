//! Sessions of other protocols, from their first connection to the last.

use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::oneshot;
use tokio::time::timeout;
use vp_protocols::native::{SessionId, TimeMode};

use super::ServerContext;
use super::instance::{JoiningAdapter, PlatformCommand};
use super::session::{broken_early, read_hello};
use crate::adapters::Adapter;
use crate::joined_session::JoinedSession;
use crate::registry::PlatformRequest;
use crate::session_end::{SHUTDOWN, SessionOutcome};
use crate::stream::Stream;

/// A peer that comes to a platform: its adapter, the mode of time that it asks for, the streams, and the bytes
/// that have come on the first of them.
pub(super) struct ConnectedAdapter {
    pub(super) adapter: Box<dyn Adapter>,
    pub(super) time_mode: TimeMode,
    pub(super) streams: Vec<Stream>,
    pub(super) input: BytesMut,
}

/// Waits until a connection shows itself to be a peer, and then serves it. The result is noted in the log.
pub(super) async fn receive(
    context: &ServerContext,
    mut stream: Stream,
    (mut adapter, time_mode): (Box<dyn Adapter>, TimeMode),
    (id, name): (SessionId, &str),
) {
    let waited = context.options.handshake_timeout;
    let greeted = tokio::select! {
        biased;
        () = context.shutdown.cancelled() => Err(SessionOutcome::Fine(SHUTDOWN.to_owned())),
        greeted = timeout(waited, greet(&mut stream, &mut *adapter)) => greeted.unwrap_or_else(|_| {
            Err(SessionOutcome::Wrong(format!("no hello within {} s", waited.as_secs_f64())))
        }),
    };
    let input = match greeted {
        Ok(input) => input,
        Err(end) => return context.strangers.add(&end.line(name)),
    };
    run(context, ConnectedAdapter { adapter, time_mode, streams: vec![stream], input }, id, name).await;
}

/// Greets a newcomer, and gives what it says.
async fn greet(stream: &mut Stream, adapter: &mut dyn Adapter) -> Result<BytesMut, SessionOutcome> {
    while let Some((_, output)) = adapter.next_output() {
        stream.write_all_buf(output).await.map_err(|error| broken_early(&error))?;
    }
    let mut input = BytesMut::new();
    while !adapter.is_greeted(&input) {
        read_hello(stream, &mut input).await?;
    }
    Ok(input)
}

/// Serves a peer to the end of its session, which is noted in the log. It joins the platform of all sessions
/// that name none.
pub(super) async fn run(
    context: &ServerContext,
    arrival: ConnectedAdapter,
    id: SessionId,
    name: &str,
) -> SessionOutcome {
    let end = serve(context, arrival, id, name).await;
    end.log(name);
    end
}

async fn serve(
    context: &ServerContext,
    arrival: ConnectedAdapter,
    id: SessionId,
    name: &str,
) -> SessionOutcome {
    let ConnectedAdapter { adapter, time_mode, streams, input } = arrival;
    let request = PlatformRequest { session: id, holder: None, memory: None, platform: None };
    let instance = match context.registry.enter(request, time_mode) {
        Ok(instance) => instance,
        Err(error) => return SessionOutcome::Wrong(error.to_string()),
    };
    let socket = |stream: Stream| stream.into_socket(context.options.heartbeat).map(Arc::new);
    let sockets: std::io::Result<Vec<_>> = streams.into_iter().map(socket).collect();
    let sockets = match sockets {
        Ok(sockets) => sockets,
        Err(error) => {
            context.registry.leave(request, &instance);
            return SessionOutcome::Wrong(error.to_string());
        }
    };
    let (ended, has_ended) = oneshot::channel();
    let mut joined = JoinedSession {
        context,
        request: Some(request),
        instance: &instance,
        id,
        sockets: &sockets,
        is_over: false,
    };
    let (name_of, sockets) = (name.to_owned(), sockets.clone());
    let joining = JoiningAdapter { id, name: name_of, time_mode, sockets, input, adapter, ended };
    // If the platform's thread has ended the session is dropped, as it is when the thread ends later.
    let _ = instance.inbox().send(PlatformCommand::JoinAdapted(Box::new(joining)));
    joined.wait(has_ended).await.unwrap_or_else(SessionOutcome::Wrong)
}
