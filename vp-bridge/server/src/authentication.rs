//! Authentication of a new connection: after its welcome and before it joins a platform.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use vp_protocols::native::{
    Capabilities, Connection, ErrorCode, Event, Hello, Offer, Reply, Request, SessionId, Time, Token,
};

use super::ServerContext;
use super::instance::PlatformCommand;
use crate::access::{SessionIdentity, TokenHolder, TokenUse};
use crate::session_end::{SHUTDOWN, SessionOutcome};
use crate::stream::Stream;

/// Tokens that a connection may show.
const TRIES: u32 = 3;
/// Time for which a wrong token is left without an answer. Of a connection nothing else is read meanwhile, so it guesses once in this
/// time; and there are only so many connections.
const WRONG_TOKEN_PAUSE: Duration = Duration::from_secs(1);

/// A new connection.
pub(crate) struct PendingConnection<'a> {
    pub(crate) id: SessionId,
    /// Name for the log.
    pub(crate) name: &'a str,
    pub(crate) hello: &'a Hello,
    /// True if the connection would only look at a platform.
    pub(crate) is_observer: bool,
}

impl PendingConnection<'_> {
    /// The shared platform that it would join. What an observer may look at is decided after its
    /// authentication.
    fn joins(&self) -> Option<&str> {
        self.hello.platform.as_deref().filter(|_| !self.is_observer)
    }
}

/// Lets in a connection that is known already.
///
/// # Errors
/// There is no room for it, or it may not join that platform. It has been told so.
pub(crate) fn enter(
    newcomer: &PendingConnection<'_>,
    holder: &Arc<TokenHolder>,
    connection: &mut Connection,
) -> Result<SessionIdentity, SessionOutcome> {
    match holder.enter(newcomer.joins()) {
        Ok(presence) => {
            Ok(SessionIdentity { rights: holder.rights, presence: Some(presence), welcome: None })
        }
        Err(reason) => {
            connection.refuse(ErrorCode::PlatformUnavailable, reason.clone());
            Err(SessionOutcome::Wrong(format!("turned away: {reason}")))
        }
    }
}

/// Welcomes a new connection and waits for its authentication.
///
/// # Errors
/// It does not authenticate in time. It has been told so.
pub(crate) async fn identify(
    context: &ServerContext,
    newcomer: &PendingConnection<'_>,
    stream: &mut Stream,
    connection: &mut Connection,
    input: &mut BytesMut,
) -> Result<SessionIdentity, SessionOutcome> {
    if !newcomer.hello.capabilities.contains(Capabilities::AUTHENTICATION) {
        connection.refuse(ErrorCode::NotAuthenticated, context.options.access.wanted());
        return Err(SessionOutcome::Wrong("turned away: it has no token".to_owned()));
    }
    let waited = context.options.handshake_timeout;
    let asked = tokio::select! {
        biased;
        () = context.shutdown.cancelled() => Err((ErrorCode::ShuttingDown, SHUTDOWN.to_owned())),
        asked = timeout(waited, ask(context, newcomer, stream, connection, input)) => asked.map_err(|_| {
            (ErrorCode::NotAuthenticated, format!("no right token within {} s", waited.as_secs_f64()))
        }),
    };
    asked.unwrap_or_else(|(code, reason)| {
        connection.bye(Some(code), reason.clone());
        Err(SessionOutcome::Wrong(reason))
    })
}

async fn ask(
    context: &ServerContext,
    newcomer: &PendingConnection<'_>,
    stream: &mut Stream,
    connection: &mut Connection,
    input: &mut BytesMut,
) -> Result<SessionIdentity, SessionOutcome> {
    let PendingConnection { id, hello, .. } = newcomer;
    let offer = Offer { session: *id, time_mode: time_mode(context, hello).await, ..context.offer.clone() };
    let platform = hello.platform.clone().unwrap_or(offer.platform);
    let accepted = connection.accept(Offer { platform, ..offer });
    let welcome = accepted.map_err(|error| SessionOutcome::Wrong(format!("turned away: {error}")))?;
    let mut tries = 0;
    loop {
        let event = connection.receive(input)?;
        let (id, reply) = match event {
            Some(Event::Request { id, request: Request::Ping, .. }) => (id, Reply::Pong),
            Some(Event::Request { id, request: Request::Authenticate { token }, .. }) => {
                match check(context, newcomer, &token) {
                    Ok(presence) => {
                        connection.let_in();
                        let rights = presence.holder().rights;
                        return Ok(SessionIdentity {
                            rights,
                            presence: Some(presence),
                            welcome: Some((id, welcome)),
                        });
                    }
                    Err((code, reason)) => {
                        tries += 1;
                        // However the connection ends, and whatever others do that is logged.
                        context.refused_tokens.add(&format!("{}: {reason}", newcomer.name));
                        if code == ErrorCode::NotAuthenticated {
                            sleep(WRONG_TOKEN_PAUSE).await;
                        }
                        (id, Reply::Failed { code, reason })
                    }
                }
            }
            Some(Event::Request { id, request, .. }) => {
                let reason = format!("{} comes before Authenticate", request.name());
                (id, Reply::Failed { code: ErrorCode::NotAuthenticated, reason })
            }
            Some(Event::Bye(_)) => return Err(left()),
            // What needs no answer is lost.
            Some(_) => continue,
            None => {
                stream.write_all_buf(connection.output()).await.map_err(|error| broken(&error))?;
                match stream.read_buf(input).await {
                    Ok(0) => return Err(left()),
                    Ok(_) => continue,
                    Err(error) => return Err(broken(&error)),
                }
            }
        };
        let answered = connection.reply(id, Time::ZERO, reply, &[]);
        answered.map_err(|error| SessionOutcome::Wrong(format!("cannot answer: {error}")))?;
        if tries == TRIES {
            let reason = format!("{TRIES} tokens were refused");
            connection.bye(Some(ErrorCode::NotAuthenticated), reason.clone());
            return Err(SessionOutcome::Wrong(reason));
        }
        if connection.is_backlogged() {
            stream.write_all_buf(connection.output()).await.map_err(|error| broken(&error))?;
        }
    }
}

/// End of a connection that has left by itself.
fn left() -> SessionOutcome {
    SessionOutcome::Fine("left without saying who it is".to_owned())
}

fn broken(error: &std::io::Error) -> SessionOutcome {
    SessionOutcome::Wrong(format!("stream broken before it has said who it is: {error}"))
}

/// The mode of time that a session would have.
async fn time_mode(context: &ServerContext, hello: &Hello) -> vp_protocols::native::TimeMode {
    let wanted = hello.time_mode;
    let Some(instance) = context.registry.find(hello.platform.as_deref()) else { return wanted };
    let (tell, told) = oneshot::channel();
    // A closed inbox, or one that closes now: there will be another platform.
    let _ = instance.inbox().send(PlatformCommand::TellMode { wanted, tell });
    told.await.unwrap_or(wanted)
}

/// The holder of a token, if there is room for its session.
fn check(
    context: &ServerContext,
    newcomer: &PendingConnection<'_>,
    token: &Token,
) -> Result<TokenUse, (ErrorCode, String)> {
    let holder = context.options.access.tokens.holder_of(token);
    let holder = holder.ok_or((ErrorCode::NotAuthenticated, "the token is not known".to_owned()))?;
    holder.enter(newcomer.joins()).map_err(|reason| (ErrorCode::NotPermitted, reason))
}
