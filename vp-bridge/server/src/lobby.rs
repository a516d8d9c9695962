//! Observers without a platform: they ask the server which platforms there are.

use std::io;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use vp_protocols::native::statistics::emit_counters;
use vp_protocols::native::{
    Connection, Counter, ErrorCode, Event, Hello, Offer, Reply, Request, SessionId, Time,
};

use super::ServerContext;
use crate::access::Right;
use crate::access::SessionIdentity;
use crate::session_end::{SHUTDOWN, SessionOutcome};
use crate::stream::Stream;

/// Serves such a session until it leaves, or asks nothing for as long as a newcomer may be silent.
pub(super) async fn serve(
    context: &ServerContext,
    stream: &mut Stream,
    connection: &mut Connection,
    mut input: BytesMut,
    (id, hello): (SessionId, &Hello),
    mut identity: SessionIdentity,
) -> SessionOutcome {
    let begun = match identity.welcome.take() {
        Some((request, _)) => {
            connection.reply(request, Time::ZERO, Reply::Done, &[]).map_err(|error| error.to_string())
        }
        None => {
            let offer = Offer { session: id, time_mode: hello.time_mode, ..context.offer.clone() };
            connection.accept(offer).map(drop).map_err(|error| error.to_string())
        }
    };
    if let Err(error) = begun {
        return SessionOutcome::Wrong(format!("turned away: {error}"));
    }
    let waited = context.options.handshake_timeout;
    loop {
        let is_all = match answer_all(context, connection, &mut input, &identity) {
            Ok(is_all) => is_all,
            Err(end) => return end,
        };
        let has_left = async {
            stream.write_all_buf(connection.output()).await?;
            Ok(is_all && stream.read_buf(&mut input).await? == 0)
        };
        let has_left = tokio::select! {
            biased;
            () = context.shutdown.cancelled() => {
                connection.bye(Some(ErrorCode::ShuttingDown), SHUTDOWN);
                return SessionOutcome::Fine(SHUTDOWN.to_owned());
            }
            has_left = timeout(waited, has_left) => has_left,
        };
        match has_left {
            Ok(Ok(true)) => return SessionOutcome::Fine("left".to_owned()),
            Ok(Ok(false)) => {}
            Ok(Err(error)) => return broken(&error),
            Err(_) => {
                let reason = format!("asked nothing for {} s", waited.as_secs_f64());
                connection.bye(Some(ErrorCode::Idle), reason.clone());
                return SessionOutcome::Fine(reason);
            }
        }
    }
}

/// Answers what has come. `false`: not all of it, for answers wait to be written.
fn answer_all(
    context: &ServerContext,
    connection: &mut Connection,
    input: &mut BytesMut,
    identity: &SessionIdentity,
) -> Result<bool, SessionOutcome> {
    while !connection.is_backlogged() {
        let Some(event) = connection.receive(input)? else { return Ok(true) };
        let (id, request) = match event {
            Event::Request { id, request, .. } => (id, request),
            Event::Bye(bye) => return Err(SessionOutcome::Fine(bye.reason)),
            // What needs no answer is lost.
            _ => continue,
        };
        let failed = |code, reason| (Reply::Failed { code, reason }, BytesMut::new());
        let (reply, payload) = match request {
            Request::Ping => (Reply::Pong, BytesMut::new()),
            Request::Inspect { first } if identity.rights.contains(Right::Statistics) => {
                let counters = platforms(context, identity);
                let total = u32::try_from(counters.len()).unwrap_or(u32::MAX);
                let limit = connection.max_payload() as usize;
                let (payload, count) = emit_counters(counters.iter().skip(first as usize), limit);
                (Reply::Statistics { total, count }, payload)
            }
            Request::Inspect { .. } => {
                let reason = format!("`{}` lacks the right {}", identity.name(), Right::Statistics);
                failed(ErrorCode::NotPermitted, reason)
            }
            request => {
                let reason = format!("{}: this session looks at no platform; name one", request.name());
                failed(ErrorCode::Unsupported, reason)
            }
        };
        let answered = connection.reply(id, Time::ZERO, reply, payload.freeze());
        answered.map_err(|error| SessionOutcome::Wrong(format!("cannot answer: {error}")))?;
    }
    Ok(false)
}

/// The platforms that it may look at, a counter each: 1 if it is shared.
fn platforms(context: &ServerContext, identity: &SessionIdentity) -> Vec<Counter> {
    let listed = context.registry.list(identity).into_iter();
    let counter = |name| format!("platform.{name}");
    listed.map(|listed| Counter::count(counter(listed.name), "shared", listed.is_shared.into())).collect()
}

fn broken(error: &io::Error) -> SessionOutcome {
    SessionOutcome::Wrong(format!("stream broken: {error}"))
}
