//! A session's stream with all that belongs to it, moved on by whoever comes first: the session's task or its platform.
//!
//! The platform's thread writes its answers to the socket itself. While it is idle it polls the socket too, and the
//! session's task does not watch it, so that no second thread wakes for every frame. Before the platform's thread is busy for
//! long, the task watches the socket again.

mod inside;
mod watched;

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use vp_protocols::native::{Connection, ErrorCode, Offer, SendError, SessionId, Welcome};

use super::House;
use super::instance::{Command, Inbox, Permits, ToSession};
pub(super) use inside::End;
use inside::{Core, Wants};
use vp_transport::Socket;
use watched::{Watched, What, ready, rung};

/// A session's link.
pub(super) struct Link {
    socket: Socket,
    core: Mutex<Core>,
    mail: Mutex<Mail>,
    /// Whether there may be mail; a hint for who looks without the lock.
    has_mail: AtomicBool,
    /// For the task: look.
    look: Notify,
    /// Whether the platform's thread polls the socket, and the task does not watch it.
    is_polled_by_platform: AtomicBool,
    /// What the client rings when it has asked in its ring.
    bell: OnceLock<OwnedFd>,
}

/// From the platform, while nobody could take it.
#[derive(Default)]
struct Mail {
    messages: Vec<ToSession>,
    /// Nothing more comes.
    hung_up: bool,
}

/// A new session: what a link begins with.
pub(super) struct Newcomer {
    pub(super) id: SessionId,
    pub(super) connection: Connection,
    pub(super) input: BytesMut,
    pub(super) inbox: Arc<Inbox>,
    pub(super) permits: Arc<Permits>,
    pub(super) max_payload: u32,
}

#[cfg(test)]
impl Newcomer {
    /// One that has not said hello.
    pub(super) fn silent(id: SessionId, inbox: &Arc<Inbox>) -> Self {
        let connection = Connection::server(vp_protocols::native::Terms::default());
        let (inbox, permits) = (inbox.clone(), Arc::default());
        Self { id, connection, input: BytesMut::new(), inbox, permits, max_payload: 0 }
    }
}

impl Link {
    pub(super) fn new(socket: Socket, newcomer: Newcomer) -> Arc<Self> {
        Arc::new(Self {
            socket,
            core: Mutex::new(Core::new(newcomer)),
            mail: Mutex::default(),
            has_mail: AtomicBool::new(false),
            look: Notify::new(),
            is_polled_by_platform: AtomicBool::new(false),
            bell: OnceLock::new(),
        })
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mail(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the session.
    pub(super) fn accept(&self, offer: Offer) -> Result<Welcome, SendError> {
        self.core().connection.accept(offer)
    }

    /// There will be no session, by the server's own fault.
    pub(super) fn refuse(&self, reason: &str) -> End {
        self.core().connection.refuse(ErrorCode::Internal, reason);
        End::Wrong(format!("turned away: {reason}"))
    }

    /// The protocol's state and the socket, when the session is over.
    pub(super) fn close(&self, house: &House) -> (Connection, &Socket) {
        let mut core = self.core();
        core.over = true;
        (std::mem::replace(&mut core.connection, Connection::server(house.options.terms)), &self.socket)
    }

    /// Ends the stream at once.
    pub(super) fn cut(&self) {
        self.core().over = true;
        self.socket.shut_down();
    }

    // The task's side.

    /// Serves the session to its end.
    pub(super) async fn serve(self: &Arc<Self>, house: &House) -> End {
        let permits = self.core().permits.clone();
        let (mut socket, mut bell) = (None, None);
        loop {
            let wants = {
                let mut core = self.core();
                match core.end.take().map_or_else(|| core.pump(self, None), Err) {
                    Ok(wants) => wants,
                    Err(end) => return end,
                }
            };
            if wants.turn {
                tokio::task::yield_now().await;
                continue;
            }
            if !wants.is_plain() {
                // The platform waits for input only.
                self.is_polled_by_platform.store(false, Ordering::Release);
            }
            match self.is_polled_by_platform.load(Ordering::Acquire) {
                true => (socket, bell) = (None, None),
                false => {
                    if let Err(error) = self.watch(&mut socket, &mut bell) {
                        return End::Wrong(format!("the socket cannot be watched: {error}"));
                    }
                }
            }
            tokio::select! {
                biased;
                () = self.look.notified() => {}
                () = rung(bell.as_ref()) => {
                    let _ = self.core().inbox.send(&mut vec![Command::Look]);
                }
                () = ready(socket.as_ref(), wants) => {}
                () = permits.is_put_out() => return self.core().last_words(self),
                () = permits.released(), if !wants.input => {}
                () = house.shutdown.cancelled() => {
                    let why = "the server shuts down";
                    self.core().connection.bye(Some(ErrorCode::ShuttingDown), why);
                    return End::Fine(why.to_owned());
                }
            }
        }
    }

    fn watch(
        self: &Arc<Self>,
        socket: &mut Option<AsyncFd<Watched>>,
        bell: &mut Option<AsyncFd<Watched>>,
    ) -> std::io::Result<()> {
        if socket.is_none() {
            // What is there to be read already is told as well.
            *socket = Some(Watched(self.clone(), What::Socket).register()?);
        }
        if bell.is_none() && self.bell.get().is_some() {
            *bell = Some(Watched(self.clone(), What::Bell).register()?);
        }
        Ok(())
    }

    // The platform's side.

    /// Hands on messages, and writes what can be written; leaves `messages` empty.
    fn tell(&self, messages: &mut Vec<ToSession>) {
        let Ok(mut core) = self.core.try_lock() else {
            // The task is at it: it looks again.
            self.post(messages);
            return self.look.notify_one();
        };
        if !core.connection.is_open() && !core.over {
            // The session has joined and has not been welcomed: its task says it after that.
            self.post(messages);
            return self.look.notify_one();
        }
        // What waits was said before.
        if self.has_mail.load(Ordering::Acquire) {
            self.post(messages);
        }
        let done = core.push(self, messages);
        let is_stuck = !core.connection.output().is_empty() || !core.undelivered.is_empty();
        if !core.note(done) || is_stuck {
            self.look.notify_one();
        }
    }

    fn post(&self, messages: &mut Vec<ToSession>) {
        let mut mail = self.mail();
        mail.messages.append(messages);
        self.has_mail.store(true, Ordering::Release);
    }

    /// The platform's thread polls the socket from now on.
    pub(super) fn poll_by_platform(&self) {
        // Mostly it does already.
        if !self.is_polled_by_platform.load(Ordering::Acquire)
            && !self.is_polled_by_platform.swap(true, Ordering::AcqRel)
        {
            self.look.notify_one();
        }
    }

    /// The task watches the socket from now on.
    pub(super) fn poll_by_task(&self) {
        if self.is_polled_by_platform.swap(false, Ordering::AcqRel) {
            self.look.notify_one();
        }
    }

    /// Reads, does and writes what there is, if the platform's thread polls the socket. What the peer wants is for the
    /// caller to carry out.
    pub(super) fn poll_socket(&self, commands: &mut Vec<Command>) {
        if !self.is_polled_by_platform.load(Ordering::Relaxed) {
            return;
        }
        let mut core = match self.core.try_lock() {
            Ok(core) => core,
            Err(TryLockError::Poisoned(_)) => return self.poll_by_task(),
            Err(TryLockError::WouldBlock) => return,
        };
        if !core.connection.is_open() && !core.over {
            return;
        }
        // What has been read is dealt with before anybody sleeps. A peer that sends on and on is held back after a while.
        let wants = loop {
            match core.pump(self, Some(commands)) {
                Ok(Wants { turn: true, .. }) => {}
                wants => break wants,
            }
        };
        let is_plain = wants.as_ref().is_ok_and(|wants| wants.is_plain());
        core.note(wants.map(|_| ()));
        drop(core);
        if !is_plain {
            self.poll_by_task();
        }
    }

    /// What becomes readable when the peer has sent something, while the platform's thread polls it.
    pub(super) fn polled_socket(&self) -> Option<BorrowedFd<'_>> {
        self.is_polled_by_platform.load(Ordering::Relaxed).then(|| self.socket.as_fd())
    }

    /// Whether the peer has gone: its session ends as soon as what it has sent is read. A peer that has only sent all it has to
    /// say, and does not read either, is there.
    pub(super) fn is_deserted(&self) -> bool {
        let is_closed = || vp_shm::wait(&[], &[self.socket.as_fd()], Some(Duration::ZERO));
        let is_heard = || self.core.try_lock().map_or(true, |mut core| core.connection.output().is_empty());
        is_closed() || (vp_shm::stream::has_sent_all(&self.socket) && is_heard())
    }

    #[cfg(test)]
    pub(super) fn is_hung_up(&self) -> bool {
        self.mail().hung_up
    }

    /// The client has a ring now, and rings this. `false`: it has had one; there is one in a session's life.
    pub(super) fn set_bell(&self, bell: OwnedFd) -> bool {
        let is_first = self.bell.set(bell).is_ok();
        self.look.notify_one();
        is_first
    }
}

/// The platform's handle of a link. When it is dropped the link is told that nothing more comes.
pub(super) struct Outlet(Arc<Link>);

impl Outlet {
    pub(super) fn new(link: &Arc<Link>) -> Self {
        Self(link.clone())
    }

    /// Hands messages on; leaves `messages` empty.
    pub(super) fn tell(&self, messages: &mut Vec<ToSession>) {
        self.0.tell(messages);
    }

    /// The link.
    pub(super) fn link(&self) -> &Link {
        &self.0
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.0.mail().hung_up = true;
        self.0.has_mail.store(true, Ordering::Release);
        self.0.is_polled_by_platform.store(false, Ordering::Release);
        self.0.look.notify_one();
    }
}

/// What a stranger calls itself, fit for a line of a log.
pub(super) fn printable(agent: &str) -> String {
    agent.chars().take(64).map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::instance::{Instance, Patience};
    use super::*;
    use vp_models::platform::Description;
    use vp_protocols::native::{Notice, Time, TimeMode};

    /// A platform warns all its sessions, also one that has just joined.
    #[tokio::test]
    async fn what_is_said_before_the_welcome_waits_for_it() {
        let description = Description::named("nv_small").unwrap();
        let (mode, patience) = (TimeMode::Lockstep, Patience::default());
        let instance = Instance::start("p", description, mode, patience, None).unwrap();
        let (near, _far) = tokio::net::UnixStream::pair().unwrap();
        let newcomer = Newcomer::silent(SessionId(1), instance.inbox());
        let link = Link::new(crate::stream::Stream::Unix(near).into_socket().unwrap(), newcomer);
        let outlet = Outlet::new(&link);
        let warning = Notice::Warning { time: Time(1), text: "a layer is refused".into() };
        outlet.tell(&mut vec![ToSession::Notice(warning)]);
        let core = link.core();
        assert!(core.end.is_none() && !core.over && core.undelivered.is_empty());
        assert_eq!(link.mail().messages.len(), 1);
    }
}
