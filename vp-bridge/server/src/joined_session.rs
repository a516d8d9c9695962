//! A session at its platform, as its task sees it.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::timeout;
use vp_protocols::native::{ErrorCode, SessionId};
use vp_transport::Socket;

use crate::ServerContext;
use crate::instance::{Instance, PlatformCommand};
use crate::registry::PlatformRequest;
use crate::session_end::SHUTDOWN;

/// A session that has joined its platform. However it ends, the platform learns of it.
pub(crate) struct JoinedSession<'a> {
    pub(crate) context: &'a ServerContext,
    /// Request with which it has joined; an observer has none.
    pub(crate) request: Option<PlatformRequest<'a>>,
    pub(crate) instance: &'a Instance,
    pub(crate) id: SessionId,
    pub(crate) sockets: &'a [Arc<Socket>],
    /// True if the platform's thread has ended the session; not so when the task is given up in the middle.
    pub(crate) is_over: bool,
}

impl JoinedSession<'_> {
    /// Waits until the platform's thread gives the session back.
    ///
    /// # Errors
    /// It does not; why.
    pub(crate) async fn wait<T>(&mut self, mut has_ended: oneshot::Receiver<T>) -> Result<T, String> {
        let ended = tokio::select! {
            ended = &mut has_ended => ended,
            () = self.context.shutdown.cancelled() => {
                self.dismiss(SHUTDOWN);
                match timeout(self.context.options.farewell_timeout, has_ended).await {
                    Ok(ended) => ended,
                    Err(_) => {
                        // It is in the middle of one long step of a model.
                        self.shut_down();
                        self.is_over = true;
                        return Err(format!("{SHUTDOWN}, and the platform is busy"));
                    }
                }
            }
        };
        self.is_over = true;
        // It has ended itself without having taken the session in.
        ended.map_err(|_| "turned away: the platform failed".to_owned())
    }

    fn shut_down(&self) {
        self.sockets.iter().for_each(|socket| socket.shut_down());
    }

    fn dismiss(&self, reason: &'static str) {
        let (session, code) = (self.id, ErrorCode::ShuttingDown);
        // A closed inbox: the session has ended with the thread.
        let _ = self.instance.inbox().send(PlatformCommand::Dismiss { session, code, reason });
    }
}

impl Drop for JoinedSession<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            // Nobody says goodbye any more.
            self.shut_down();
            self.dismiss("its task was given up");
        }
        if let Some(request) = self.request {
            self.context.registry.leave(request, self.instance);
        }
    }
}
