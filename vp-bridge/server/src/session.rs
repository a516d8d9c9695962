//! One session from the first byte to the last: the greeting, a platform, and the goodbye. In between the
//! platform's thread has the socket, and the session's task waits for it.

use std::io::{self, ErrorKind};
use std::slice;
use std::sync::Arc;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;
use tokio::time::timeout;
use vp_protocols::native::{Capabilities, Connection, ErrorCode, Event, Hello, SessionId, Terms, TimeMode};

use super::instance::{Instance, JoiningSession, PlatformCommand};
use super::{ServerContext, lobby};
use crate::access::{Known, Origin, SessionIdentity};
use crate::authentication;
use crate::joined_session::JoinedSession;
use crate::names;
use crate::registry::PlatformRequest;
use crate::session_end::{Ended, SHUTDOWN, SessionOutcome, printable};
use crate::stream::Stream;

/// First bytes of a TLS client (RFC 8446, 5.1): as a frame it would have too long a header.
const TLS: [u8; 2] = [0x16, 0x03];

/// Serves a connection to its end.
pub(super) async fn run(
    context: &ServerContext,
    mut stream: Stream,
    (id, name): (SessionId, &str),
    origin: Origin,
) {
    let mut connection = Connection::server(context.options.terms);
    if let Err(end) = begin(context, &mut stream, &mut connection).await {
        return dismiss(context, stream, connection, name, &end).await;
    }
    let known = context.options.access.known(origin, stream.tls());
    let mut connection = Connection::server(terms(context, &stream, known.is_none()));
    let mut input = BytesMut::new();
    let arrived = async {
        let hello = greet(context, &mut stream, &mut connection, &mut input).await?;
        let is_observer = is_observer(context, &hello);
        let newcomer = authentication::PendingConnection { id, name, hello: &hello, is_observer };
        if let Some((code, reason)) = unfit(&hello, is_observer) {
            connection.refuse(code, reason);
            return Err(SessionOutcome::Wrong(format!("turned away: {reason}")));
        }
        let identity = match known {
            Some(Known::TokenHolder(holder)) => authentication::enter(&newcomer, &holder, &mut connection)?,
            Some(Known::Anybody) => SessionIdentity::default(),
            None => {
                authentication::identify(context, &newcomer, &mut stream, &mut connection, &mut input).await?
            }
        };
        Ok((hello, identity))
    };
    match arrived.await {
        Ok((hello, identity)) => {
            enter(context, stream, connection, input, (id, name), hello, identity).await;
        }
        Err(end) => dismiss(context, stream, connection, name, &end).await,
    }
}

/// Notes why a connection does not become a session, and lets the peer read it.
async fn dismiss(
    context: &ServerContext,
    stream: Stream,
    connection: Connection,
    name: &str,
    end: &SessionOutcome,
) {
    context.strangers.add(&end.line(name));
    farewell(context, stream, connection).await;
}

/// Waits for TLS to be agreed upon, where it is spoken.
async fn begin(
    context: &ServerContext,
    stream: &mut Stream,
    connection: &mut Connection,
) -> Result<(), SessionOutcome> {
    let waited = context.options.handshake_timeout;
    let begun = tokio::select! {
        biased;
        () = context.shutdown.cancelled() => return Err(SessionOutcome::Fine(SHUTDOWN.to_owned())),
        begun = timeout(waited, stream.begin()) => begun,
    };
    match begun {
        Ok(Ok(())) => Ok(()),
        // It may well understand this.
        Ok(Err(error)) if error.kind() == ErrorKind::Unsupported => {
            let plain = stream.without_tls();
            *stream = plain.map_err(|error| SessionOutcome::Wrong(format!("speaks no TLS; {error}")))?;
            let reason = "this port speaks TLS: write tls: in place of tcp:";
            connection.refuse(ErrorCode::UnexpectedMessage, reason);
            Err(SessionOutcome::Wrong("turned away: it speaks no TLS".to_owned()))
        }
        // It has been told as far as it would understand.
        Ok(Err(error)) => Err(SessionOutcome::Wrong(format!("no TLS is agreed upon: {error}"))),
        Err(_) => {
            Err(SessionOutcome::Wrong(format!("no TLS is agreed upon within {} s", waited.as_secs_f64())))
        }
    }
}

/// The server's limits on such a stream, for a peer that is asked for authentication or not.
fn terms(context: &ServerContext, stream: &Stream, asks: bool) -> Terms {
    let Terms { mut capabilities, max_payload, max_in_flight } = context.options.terms;
    if !matches!(stream, Stream::Unix(_)) {
        capabilities = capabilities.difference(Capabilities::LOCAL);
    }
    if asks {
        capabilities = capabilities.union(Capabilities::AUTHENTICATION);
    }
    Terms { capabilities, max_payload, max_in_flight }
}

/// Notes how a session ended, and lets the peer read it.
async fn part(
    context: &ServerContext,
    stream: Stream,
    connection: Connection,
    name: &str,
    end: &SessionOutcome,
) {
    end.log(name);
    farewell(context, stream, connection).await;
}

/// Tells a new connection why it is not let in, without waiting: what the system does not take at once is lost. With TLS that is all of
/// it, because there has been no handshake.
pub(super) fn turn_away(context: &ServerContext, stream: &Stream, code: ErrorCode, reason: String) {
    let mut connection = Connection::server(context.options.terms);
    connection.refuse(code, reason);
    // A peer that is gone: nothing more to be done.
    let _ = stream.send_at_once(connection.output().chunk());
}

/// Writes the remaining messages. What the peer still sends is read and discarded, because otherwise the system
/// would discard our last messages together with the stream.
async fn farewell(context: &ServerContext, mut stream: Stream, mut connection: Connection) {
    let polite = async {
        while !connection.output().is_empty() {
            stream.write_buf(connection.output()).await?;
        }
        stream.shutdown().await?;
        let mut rest = [0; 4096];
        while stream.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    // A peer that is gone, or does not listen: nothing more to be done.
    let _ = timeout(context.options.farewell_timeout, polite).await;
}

/// Waits for the hello.
async fn greet(
    context: &ServerContext,
    stream: &mut Stream,
    connection: &mut Connection,
    input: &mut BytesMut,
) -> Result<Hello, SessionOutcome> {
    let hello = async {
        loop {
            if input.starts_with(&TLS) {
                let reason = "this port speaks no TLS: write tcp: in place of tls:";
                connection.refuse(ErrorCode::Malformed, reason);
                return Err(SessionOutcome::Wrong(
                    "turned away: it speaks TLS at a port without it".to_owned(),
                ));
            }
            match connection.receive(input)? {
                Some(Event::Hello(hello)) => return Ok(*hello),
                Some(_) => return Err(SessionOutcome::Wrong("something else than a hello".to_owned())),
                None => {}
            }
            read_hello(stream, input).await?;
        }
    };
    let waited = context.options.handshake_timeout;
    let greeted = tokio::select! {
        biased;
        () = context.shutdown.cancelled() => Err(None),
        greeted = timeout(waited, hello) => greeted.map_err(|_| Some(())),
    };
    match greeted {
        Ok(greeted) => greeted,
        Err(None) => {
            connection.refuse(ErrorCode::ShuttingDown, SHUTDOWN);
            Err(SessionOutcome::Fine(SHUTDOWN.to_owned()))
        }
        Err(Some(())) => {
            let reason = format!("no hello within {} s", waited.as_secs_f64());
            connection.refuse(ErrorCode::UnexpectedMessage, reason.clone());
            Err(SessionOutcome::Wrong(reason))
        }
    }
}

/// Reads more of a peer's hello.
pub(super) async fn read_hello(stream: &mut Stream, input: &mut BytesMut) -> Result<(), SessionOutcome> {
    match stream.read_buf(input).await.map_err(|error| broken_early(&error))? {
        0 if input.is_empty() => Err(SessionOutcome::Fine("left without a word".to_owned())),
        0 => Err(SessionOutcome::Wrong("vanished in the middle of its hello".to_owned())),
        _ => Ok(()),
    }
}

/// Outcome of a session whose stream has failed before its hello.
pub(super) fn broken_early(error: &io::Error) -> SessionOutcome {
    SessionOutcome::Wrong(format!("stream broken before the hello: {error}"))
}

/// Gives the session its platform, and serves it.
async fn enter(
    context: &ServerContext,
    mut stream: Stream,
    mut connection: Connection,
    input: BytesMut,
    (id, name): (SessionId, &str),
    hello: Hello,
    identity: SessionIdentity,
) {
    let platform = hello.platform.as_deref();
    let holder = identity.holder().map(str::to_owned);
    let memory = identity.memory().cloned();
    let request =
        PlatformRequest { session: id, holder: holder.as_deref(), memory: memory.as_ref(), platform };
    let is_observer = is_observer(context, &hello);
    if is_observer && platform.is_none() {
        let end = lobby::serve(context, &mut stream, &mut connection, input, (id, &hello), identity).await;
        return part(context, stream, connection, name, &end).await;
    }
    let observer = Some(&identity).filter(|_| is_observer);
    let instance = match instance_for(context, request, hello.time_mode, observer) {
        Ok(instance) => instance,
        Err((code, reason)) => {
            match connection.is_open() {
                true => connection.bye(Some(code), reason.clone()),
                false => connection.refuse(code, reason.clone()),
            }
            context.strangers.add(&format!("{name}: {reason}; turned away"));
            return farewell(context, stream, connection).await;
        }
    };
    let request = Some(request).filter(|_| !is_observer);
    let socket = match stream.into_socket(context.options.heartbeat) {
        Ok(socket) => Arc::new(socket),
        Err(error) => {
            tracing::warn!("{name}: {error}; session closed");
            if let Some(request) = request {
                context.registry.leave(request, &instance);
            }
            return;
        }
    };
    let (ended, has_ended) = oneshot::channel();
    let joining = JoiningSession {
        id,
        name: name.to_owned(),
        agent: printable(&hello.agent),
        time_mode: hello.time_mode,
        is_observer,
        socket: socket.clone(),
        connection,
        input,
        server: context.options.agent.clone(),
        platform: platform.unwrap_or(&context.registry.description().name).to_owned(),
        identity,
        ended,
    };
    let ended = joined(context, (&instance, request), joining, has_ended).await;
    match Stream::of(&socket) {
        Ok(stream) => part(context, stream, ended.connection, name, &ended.end).await,
        Err(error) => tracing::warn!("{name}: {error}; session closed"),
    }
}

/// The platform that a session joins, or that an observer looks at.
fn instance_for(
    context: &ServerContext,
    request: PlatformRequest<'_>,
    time_mode: TimeMode,
    observer: Option<&SessionIdentity>,
) -> Result<Instance, (ErrorCode, String)> {
    match (observer, request.platform) {
        (Some(observer), Some(platform)) => context
            .registry
            .observed(platform, observer)
            .map_err(|reason| (ErrorCode::PlatformUnavailable, reason)),
        _ => context
            .registry
            .enter(request, time_mode)
            .map_err(|error| (ErrorCode::ServerFull, error.to_string())),
    }
}

/// Has a session served by its platform's thread until it ends.
async fn joined(
    context: &ServerContext,
    (instance, request): (&Instance, Option<PlatformRequest<'_>>),
    joining: JoiningSession,
    has_ended: oneshot::Receiver<Ended>,
) -> Ended {
    let socket = joining.socket.clone();
    let mut joined = JoinedSession {
        context,
        request,
        instance,
        id: joining.id,
        sockets: slice::from_ref(&socket),
        is_over: false,
    };
    // If the platform's thread has ended the session is dropped, as it is when the thread ends later.
    let _ = instance.inbox().send(PlatformCommand::Join(Box::new(joining)));
    let ended = joined.wait(has_ended).await;
    drop(joined);
    ended.unwrap_or_else(|why| {
        // Its state does not come back.
        let mut connection = Connection::server(context.options.terms);
        connection.refuse(ErrorCode::Internal, why.clone());
        Ended { connection, end: SessionOutcome::Wrong(why) }
    })
}

/// Returns true if the session is to look only: it asks for that, and the server grants it.
fn is_observer(context: &ServerContext, hello: &Hello) -> bool {
    let granted = context.options.terms.capabilities.intersection(hello.capabilities);
    granted.contains(Capabilities::OBSERVER)
}

/// Returns the reason for which such a session cannot be had, if it cannot.
fn unfit(hello: &Hello, is_observer: bool) -> Option<(ErrorCode, &'static str)> {
    if let TimeMode::Paced { picoseconds_per_nanosecond: 0 } = hello.time_mode {
        return Some((
            ErrorCode::TimeModeUnavailable,
            "a pace of 0 would stop time: 1000 ps/ns is real time",
        ));
    }
    let name = hello.platform.as_deref()?;
    // An observer names a session's own platform so, too.
    let check = if is_observer { names::check } else { names::check_platform };
    check(name).err().map(|reason| (ErrorCode::PlatformUnavailable, reason))
}
