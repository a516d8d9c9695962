//! New connections for which there is no place: they are told so, as long as that costs little.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;
use vp_protocols::native::ErrorCode;

use crate::files::{self, ReserveFile};
use crate::listener::Listener;
use crate::stream::Stream;
use crate::{ServerContext, session};

/// Newcomers that are being turned away and may take their time to read why. More are told what the system takes at once.
const AT_ONCE: usize = 64;
/// Time for which a connection that cannot be taken is left alone before the next try.
const PAUSE: Duration = Duration::from_millis(50);
/// Time that one may take to read why, while no other is taken.
const WORDS: Duration = Duration::from_millis(200);

/// Connections that get no session: each is told why, a few at a time.
pub(crate) struct RefusedConnections {
    places: Arc<Semaphore>,
    spare: ReserveFile,
    /// True if the last connection could not be accepted: logged once.
    pub(crate) is_stuck: bool,
}

impl RefusedConnections {
    pub(crate) fn new() -> RefusedConnections {
        RefusedConnections {
            places: Arc::new(Semaphore::new(AT_ONCE)),
            spare: ReserveFile::new(),
            is_stuck: false,
        }
    }

    /// Tells a newcomer why it is not let in.
    pub(crate) fn refuse(
        &self,
        context: &Arc<ServerContext>,
        tasks: &TaskTracker,
        (stream, name): (Stream, &str),
        (code, reason): (ErrorCode, String),
    ) {
        context.strangers.turned_away(name, &reason);
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            return session::turn_away_at_once(context, &stream, code, reason);
        };
        let context = context.clone();
        tasks.spawn(async move {
            session::turn_away(&context, stream, code, reason).await;
            drop(place);
        });
    }

    /// A connection could not be taken. Where no more files can be opened, the one that is kept for that makes room to say so.
    pub(crate) async fn accept_failed(
        &mut self,
        listener: &Listener,
        context: &ServerContext,
        error: &io::Error,
    ) {
        if !std::mem::replace(&mut self.is_stuck, true) {
            context.strangers.not_taken(listener.local_address(), error);
        }
        if files::are_used_up(error) {
            self.spare.release();
            if let Ok(Ok((stream, _))) = timeout(PAUSE, listener.accept()).await {
                let reason = format!("the server can open no more files: {error}");
                let told = session::turn_away(context, stream, ErrorCode::ServerFull, reason);
                let _ = timeout(WORDS, told).await;
                return self.spare.keep();
            }
            self.spare.keep();
        }
        sleep(PAUSE).await;
    }
}
