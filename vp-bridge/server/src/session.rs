//! One session from the first byte to the last: the greeting, a platform, and the farewell. What is between is [`Link`]'s.

use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;
use tokio::time::timeout;
use vp_protocols::native::{
    Capabilities, Connection, ErrorCode, Event, Hello, Offer, SessionId, Terms, TimeMode,
};

use super::House;
use super::instance::{Command, Instance, Join, Joined, Permits};
use super::link::{End, Link, Newcomer, Outlet, printable};
use crate::stream::Stream;

/// Serves a connection to its end.
pub(super) async fn run(house: &House, mut stream: Stream, id: SessionId, name: &str) {
    let mut connection = Connection::server(terms(house, &stream));
    let mut input = BytesMut::new();
    match greet(house, &mut stream, &mut connection, &mut input).await {
        Ok(hello) => enter(house, stream, connection, input, id, name, hello).await,
        Err(end) => part(house, stream, connection, name, &end).await,
    }
}

/// What the server can bear on such a stream.
fn terms(house: &House, stream: &Stream) -> Terms {
    let Terms { capabilities, max_payload, max_in_flight } = house.options.terms;
    let capabilities = match stream {
        Stream::Unix(_) => capabilities,
        Stream::Tcp(_) => capabilities.without(Capabilities::LOCAL),
    };
    Terms { capabilities, max_payload, max_in_flight }
}

/// Notes how a session ended, and lets the peer read it.
async fn part(house: &House, stream: Stream, connection: Connection, name: &str, end: &End) {
    match end {
        End::Fine(why) => tracing::info!("{name}: {why}; session closed"),
        End::Wrong(why) => tracing::warn!("{name}: {why}; session closed"),
    }
    farewell(house, stream, connection).await;
}

/// Tells a newcomer why there is no place for it.
pub(super) async fn turn_away(house: &House, stream: Stream, code: ErrorCode, reason: String) {
    let mut connection = Connection::server(house.options.terms);
    connection.refuse(code, reason);
    farewell(house, stream, connection).await;
}

/// Writes what is left to be said. What the peer still sends is read and thrown away, lest the system takes back our last
/// words together with the stream.
async fn farewell(house: &House, mut stream: Stream, mut connection: Connection) {
    let polite = async {
        while !connection.output().is_empty() {
            stream.write_buf(connection.output()).await?;
        }
        stream.shutdown().await?;
        let mut rest = [0; 4096];
        while stream.read(&mut rest).await? > 0 {}
        std::io::Result::Ok(())
    };
    // A peer that is gone, or does not listen: nothing more to be done.
    let _ = timeout(house.options.farewell_timeout, polite).await;
}

/// Waits for the hello.
async fn greet(
    house: &House,
    stream: &mut Stream,
    connection: &mut Connection,
    input: &mut BytesMut,
) -> Result<Hello, End> {
    let hello = async {
        loop {
            match connection.receive(input)? {
                Some(Event::Hello(hello)) => return Ok(*hello),
                Some(_) => return Err(End::Wrong("something else than a hello".to_owned())),
                None => {}
            }
            match stream.read_buf(input).await {
                Ok(0) if input.is_empty() => return Err(End::Fine("left without a word".to_owned())),
                Ok(0) => return Err(End::Wrong("vanished in the middle of its hello".to_owned())),
                Ok(_) => {}
                Err(error) => return Err(End::Wrong(format!("stream broken before the hello: {error}"))),
            }
        }
    };
    let waited = house.options.handshake_timeout;
    let greeted = tokio::select! {
        biased;
        () = house.shutdown.cancelled() => Err(None),
        greeted = timeout(waited, hello) => greeted.map_err(|_| Some(())),
    };
    match greeted {
        Ok(greeted) => greeted,
        Err(None) => {
            connection.refuse(ErrorCode::ShuttingDown, "the server shuts down");
            Err(End::Fine("the server shuts down".to_owned()))
        }
        Err(Some(())) => {
            let reason = format!("no hello within {} s", waited.as_secs_f64());
            connection.refuse(ErrorCode::UnexpectedMessage, reason.clone());
            Err(End::Wrong(reason))
        }
    }
}

/// Gives the session its platform, and serves it.
async fn enter(
    house: &House,
    stream: Stream,
    mut connection: Connection,
    input: BytesMut,
    id: SessionId,
    name: &str,
    hello: Hello,
) {
    let mut refuse = |code, reason: &str| {
        connection.refuse(code, reason);
        End::Wrong(format!("turned away: {reason}"))
    };
    let platform = hello.platform.as_deref();
    let entered = match unfit(&hello) {
        Some((code, reason)) => Err(refuse(code, reason)),
        None => house
            .registry
            .enter(platform, hello.time_mode)
            .map_err(|error| refuse(ErrorCode::Internal, &format!("no thread for the platform: {error}"))),
    };
    let instance = match entered {
        Ok(instance) => instance,
        Err(end) => return part(house, stream, connection, name, &end).await,
    };
    let terms = terms(house, &stream);
    let socket = match stream.into_socket() {
        Ok(socket) => socket,
        Err(error) => {
            tracing::warn!("{name}: {error}; session closed");
            return house.registry.leave(platform, &instance);
        }
    };
    let Terms { capabilities, max_payload, max_in_flight } = terms.agreed(&hello);
    let permits = Arc::new(Permits::default());
    let inbox = instance.inbox().clone();
    let link =
        Link::new(socket, Newcomer { id, connection, input, inbox, permits: permits.clone(), max_payload });
    let mut stay = Stay { house, platform, instance: &instance, id, link: &link, end: None };
    let (joined, answer) = oneshot::channel();
    let to = Outlet::new(&link);
    let join =
        Join { session: id, time_mode: hello.time_mode, capabilities, max_in_flight, permits, to, joined };
    let _ = instance.inbox().send(&mut vec![Command::Join(join)]);

    let end = match answer.await {
        Err(_) => link.refuse("the platform failed"),
        Ok(Joined { time, time_mode, ports, device }) => {
            let called = platform.unwrap_or(&house.registry.description().name).to_owned();
            let offer = Offer {
                agent: house.options.agent.clone(),
                time_mode,
                time,
                platform: called.clone(),
                session: id,
                ports,
                device: Some(device),
            };
            match link.accept(offer) {
                Err(error) => link.refuse(&error.to_string()),
                Ok(_) => {
                    tracing::info!("{name}: {} on platform {called}", printable(&hello.agent));
                    link.serve(house).await
                }
            }
        }
    };
    let (End::Fine(why) | End::Wrong(why)) = &end;
    stay.end = Some(why.clone());
    drop(stay);
    let (connection, socket) = link.close(house);
    match Stream::of(socket) {
        Ok(stream) => part(house, stream, connection, name, &end).await,
        Err(error) => tracing::warn!("{name}: {error}; session closed"),
    }
}

/// A session's stay at its platform. However it ends, the platform learns of it.
struct Stay<'a> {
    house: &'a House,
    platform: Option<&'a str>,
    instance: &'a Instance,
    id: SessionId,
    link: &'a Link,
    /// Why it ends; none when the task is given up in the middle.
    end: Option<String>,
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        let why = self.end.take().unwrap_or_else(|| {
            // Nobody says goodbye any more.
            self.link.cut();
            "its task was given up".to_owned()
        });
        let _ = self.instance.inbox().send(&mut vec![Command::Leave { session: self.id, why }]);
        self.house.registry.leave(self.platform, self.instance);
    }
}

/// Why such a session cannot be had, if it cannot.
fn unfit(hello: &Hello) -> Option<(ErrorCode, &'static str)> {
    if let TimeMode::Paced { picoseconds_per_nanosecond: 0 } = hello.time_mode {
        return Some((
            ErrorCode::TimeModeUnavailable,
            "a pace of 0 would stop time: 1000 ps/ns is real time",
        ));
    }
    let name = hello.platform.as_deref()?;
    let is_name = !name.is_empty() && name.len() <= 64 && !name.chars().any(char::is_control);
    let reason = "a platform's name has 1 to 64 bytes and no control characters";
    (!is_name).then_some((ErrorCode::PlatformUnavailable, reason))
}
