//! Peers of other protocols: those that are met again and again, and those that are there already.

use std::sync::Arc;

use bytes::BytesMut;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;
use vp_protocols::native::TimeMode;

use super::ServerContext;
use crate::adapted::{self, ConnectedAdapter};
use crate::adapters::Adapter;
use crate::meeting::Meeting;
use crate::session_end::SessionOutcome;
use crate::stream::Stream;

/// A peer of another protocol.
pub(super) struct OtherPeer {
    pub(super) protocol: &'static str,
    pub(super) meeting: Meeting,
    pub(super) adapter: Box<dyn Fn() -> Box<dyn Adapter> + Send + Sync>,
    pub(super) time_mode: TimeMode,
}

impl OtherPeer {
    /// Serves one such peer after the other, or as many at a time as connect.
    pub(super) async fn serve(mut self, context: Arc<ServerContext>, tasks: TaskTracker) {
        loop {
            let (stream, origin) = tokio::select! {
                biased;
                () = context.shutdown.cancelled() => return,
                met = self.meeting.next() => met,
            };
            let id = context.next_session();
            let who = origin.map_or_else(|| self.meeting.address().to_string(), |origin| origin.to_string());
            let name = format!("session {} ({}, {who})", id.0, self.protocol);
            let (adapter, time_mode) = ((self.adapter)(), self.time_mode);
            let place = match context.place() {
                Ok(place) => place,
                Err(why) => {
                    context.strangers.add(&format!("{name}: {why}; turned away"));
                    continue;
                }
            };
            if origin.is_some() {
                let context = context.clone();
                tasks.spawn(async move {
                    adapted::receive(&context, stream, (adapter, time_mode), (id, &name)).await;
                    drop(place);
                });
                continue;
            }
            let arrival =
                ConnectedAdapter { adapter, time_mode, streams: vec![stream], input: BytesMut::new() };
            adapted::run(&context, arrival, id, &name).await;
        }
    }
}

/// A peer of another protocol that is there already, and comes once.
pub(super) struct ConnectedPeer {
    pub(super) name: &'static str,
    pub(super) streams: Vec<Stream>,
    pub(super) adapter: Box<dyn Adapter>,
    pub(super) time_mode: TimeMode,
    pub(super) ended: oneshot::Sender<Result<String, String>>,
}

impl ConnectedPeer {
    pub(super) async fn serve(self, context: Arc<ServerContext>) {
        let ConnectedPeer { name, streams, adapter, time_mode, ended } = self;
        let id = context.next_session();
        let name = format!("session {} ({name})", id.0);
        let arrival = ConnectedAdapter { adapter, time_mode, streams, input: BytesMut::new() };
        let end = match adapted::run(&context, arrival, id, &name).await {
            SessionOutcome::Fine(why) => Ok(why),
            SessionOutcome::Wrong(why) => Err(why),
        };
        // Who does not wait for it is gone.
        let _ = ended.send(end);
    }
}
