//! The guest's session with a platform: register accesses of any thread, while interrupts and memory requests are served.
//!
//! With a server of the same host registers are accessed through a [`ring`], and the guest's memory is the platform's to
//! reach by itself. Otherwise who waits for a register's value reads the socket itself: for a moment, since the answer is
//! mostly under way, then it sleeps at the socket. One access at a time has the session, and other vCPUs wait for
//! their turn; a thread that listens serves the platform while nobody waits. A server that is gone means errors, never
//! waiting: the first access after its end fails, later ones look for a new server, at most once a second.
//!
//! Where the guest's time is the platform's, `coupled` says when each access is made.
//!
//! The session comes before QEMU's big lock: whoever has the session may wait for that lock, because memory behind an IOMMU is accessed
//! with it. So a vCPU gives the lock up before it waits here; a reset, and whoever has the platform's state, give it up until the session
//! is free (`lock_making_way`); a Step, which cannot, does without a session that others have (`coupled`).
//!
//! Levels of the interrupt are noted in the order of the stream, and the line is brought to the newest one before the guest has its value:
//! a guest reads no status before it is told of the interrupt. Levels that come while no access waits are applied by QEMU's main thread.

mod budget;
mod coupled;
mod ring;
mod state;
mod timeline;
mod wire;

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use coupled::Timed;
use parking_lot::{FairMutex, FairMutexGuard};
pub(crate) use state::MOST as MOST_STATE;
use thiserror::Error;
use vp_client::native::{Posted, Reply, Request, RequestId};
use vp_client::{Address, Credentials, Readiness, SilenceLimit};
use vp_shm::AdaptiveSpin;

use crate::report::say;
use budget::WaitBudget;
use ring::{RegisterRing, RingAccess};
use wire::{Broken, Wire};

/// Time for which a waiter looks before it sleeps.
const LOOK: Duration = Duration::from_micros(50);
/// Time for which the thread that listens leaves the stream to whoever waits for a register, at first and at most: as long again as that
/// has gone on.
const PAUSES: (Duration, Duration) = (Duration::from_micros(100), Duration::from_millis(1));
/// Looks at a server's silence within the longest that is borne.
const LOOKS_AT_SILENCE: u32 = 8;
/// Interval at which a server that is gone is looked for.
const AGAIN: Duration = Duration::from_secs(1);

/// Parts of the guest that a session needs. Called by whichever thread moves the session on, which holds the session: so it
/// must not wait for anybody who may wait for a register. For QEMU's big lock it may wait.
pub(crate) trait Guest: Send + Sync {
    /// Fills `into` from guest memory.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), NoAccess>;
    /// Stores into guest memory.
    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), NoAccess>;
    /// The interrupt line has this level now.
    fn line(&self, level: bool);
    /// The memory that a server of the same host can map; none where it must not.
    fn shared_memory(&self) -> Option<Vec<SharedMemory>> {
        None
    }
    /// Lets others have for a moment what the caller has of the guest: QEMU's big lock.
    fn make_way(&self) {
        thread::yield_now();
    }
    /// Runs a thread's whole work, with what its memory accesses need around it.
    fn thread(&self, work: &mut dyn FnMut());
}

/// Reason for which the device does not reach guest memory at some addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum NoAccess {
    /// The machine has no RAM there, or not for all of the access.
    #[error("the guest has no memory there")]
    NoMemory,
    /// RAM exists that the user has not given to the server.
    #[error("ranges= does not let the device access the guest's memory there")]
    OutsideRanges,
    /// A PCI function whose driver has not set the bus master bit.
    #[error("the guest's driver has not made the device a bus master")]
    NotBusMaster,
    /// The guest's IOMMU refuses the access of a PCI function, or what it leads to is nothing. The IOMMU tells the guest of the first.
    #[error("the guest's IOMMU does not let the device access that address")]
    Untranslated,
    /// A PCI function behind an IOMMU, whose addresses `ranges=` says nothing of.
    #[error(
        "ranges= has guest addresses, and the device's are those of the guest's IOMMU: leave ranges= out"
    )]
    BehindIommu,
    /// A PCI function that has left the machine.
    #[error("the device is not in the machine any more")]
    Gone,
}

/// Guest memory that lies in a file.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    /// Guest-physical addresses.
    pub(crate) range: Range<u64>,
    /// The file.
    pub(crate) file: OwnedFd,
    /// Offset of the first byte in the file.
    pub(crate) offset: u64,
}

/// Server of the platform, and what is shown there to be let in.
#[derive(Debug)]
pub(crate) struct Server {
    /// The server.
    pub(crate) address: Address,
    /// The server's shared platform of that name; a fresh one without.
    pub(crate) platform: Option<String>,
    /// Credentials that the server is shown, and authority to trust.
    pub(crate) credentials: Credentials,
}

/// Platform behind the session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Platform {
    /// Name of the platform.
    pub(crate) name: String,
    /// Names by which drivers find its device, with `+` between.
    pub(crate) compatible: String,
    /// Bytes of the register window.
    pub(crate) size: u64,
    /// The addresses that its memory interfaces reach.
    pub(crate) memory: Vec<Range<u64>>,
    /// Mode in which the platform's simulated time moves, for people.
    pub(crate) time_mode: String,
}

/// Reason for which there is no session, for people.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct ConnectError(String);

/// An access that the device did not answer, or answered with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AccessError;

/// Times for which a server is waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// By an access, for its answer; and for the session to open.
    pub(crate) timeout: Duration,
    /// While it says nothing and answers no Ping.
    pub(crate) heartbeat: SilenceLimit,
}

/// A device in use.
pub(crate) struct Session {
    shared: Arc<SharedState>,
}

/// State that the threads share.
struct SharedState {
    server: Server,
    guest: Arc<dyn Guest>,
    /// True if the guest's time is the platform's.
    is_coupled: bool,
    /// Time for which an access waits for its answer.
    timeout: Duration,
    /// For waits with QEMU's big lock.
    budget: Mutex<WaitBudget>,
    /// Held by an access until its answer is there. Fair: a vCPU that polls a register leaves others their turns.
    state: FairMutex<SessionState>,
    /// The ring of the present session, or of one that is over. Locked after the state, if both are.
    ring: Mutex<Option<RegisterRing>>,
    /// Number of accesses that have begun and read the stream.
    begun: AtomicU64,
    /// True if something may be shared with the server.
    may_share: bool,
    heartbeat: SilenceLimit,
    /// True if the user has been told what is not shared.
    has_told: AtomicBool,
}

struct SessionState {
    link: Link,
    /// Number of this session; an answer of an earlier one never comes.
    generation: u64,
}

enum Link {
    Up(Box<Wire>),
    Down {
        /// True if an access has failed since: the guest must not take a new device for the old one.
        told: bool,
        /// Time at which a server was last looked for.
        tried: Option<Instant>,
    },
}

impl SharedState {
    fn lock(&self) -> FairMutexGuard<'_, SessionState> {
        self.state.lock()
    }

    /// Opens a session and starts the thread that listens to it.
    fn open(self: &Arc<Self>, generation: u64, timeout: Duration) -> Result<Box<Wire>, ConnectError> {
        let guest = self.guest.clone();
        let patience = Patience { timeout, heartbeat: self.heartbeat };
        let mut wire = Wire::open(&self.server, guest, self.is_coupled, self.may_share, patience)?;
        if let Some(why) = wire.unshared.take()
            && !self.has_told.swap(true, Ordering::Relaxed)
        {
            say(why);
        }
        let (base, guest) = (wire.base, self.guest.clone());
        let ring = wire.client.take_ring().map(|ring| RegisterRing { ring, generation, base, guest });
        *self.ring.lock().unwrap_or_else(PoisonError::into_inner) = ring;
        let listener = wire.client.watch().map_err(|error| ConnectError(error.to_string()))?;
        let shared = Arc::downgrade(self);
        let guest = self.guest.clone();
        let nap = self.heartbeat.duration().map(|limit| limit / LOOKS_AT_SILENCE);
        let listen = move || {
            guest.thread(&mut || {
                let (mut seen, mut pause, mut spin) = (0, PAUSES.0, AdaptiveSpin::default());
                loop {
                    // Waking for answers that others wait for would cost them dearly: while accesses go on this thread only
                    // looks in now and then.
                    let begun = {
                        let Some(shared) = shared.upgrade() else { return };
                        shared.begun()
                    };
                    match std::mem::replace(&mut seen, begun) == begun {
                        true => {
                            pause = PAUSES.0;
                            listener.wait(Readiness::Bytes, nap);
                        }
                        false => {
                            thread::sleep(pause);
                            pause = PAUSES.1.min(pause * 2);
                        }
                    }
                    let Some(shared) = shared.upgrade() else { return };
                    if !shared.listen(generation, begun, &mut spin) {
                        return;
                    }
                }
            });
        };
        let thread = thread::Builder::new().name("vp-session".into()).spawn(listen);
        thread.map_err(|error| ConnectError(error.to_string()))?;
        Ok(Box::new(wire))
    }

    fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Deals with what has come: until nothing more seems to follow, or only once if more accesses than those `seen` have
    /// begun. `false`: the session is over.
    fn listen(&self, generation: u64, seen: u64, spin: &mut AdaptiveSpin) -> bool {
        // What has come mostly has a successor under way: bursts of the device come one after the other.
        let mut began = Instant::now();
        spin.begin();
        loop {
            let mut state = match self.state.try_lock() {
                Some(state) => state,
                // Who waits for a register takes in all that comes.
                None if self.begun() != seen => return true,
                None => self.lock(),
            };
            if state.generation != generation {
                return false;
            }
            let Link::Up(wire) = &mut state.link else { return false };
            // An access may be waiting for its turn.
            wire.begin(self.timeout);
            let served = wire.client.serve();
            match served.and_then(|moved| wire.client.check_heartbeat().map(|_| moved)) {
                Ok(true) => began = Instant::now(),
                Ok(false) => {}
                Err(error) => {
                    self.end(&mut state, &error.into());
                    return false;
                }
            }
            drop(state);
            if self.begun() != seen {
                return true;
            }
            if began.elapsed() >= LOOK {
                // Nothing has followed: it may be the server that needs this core.
                spin.give_up();
                return true;
            }
            spin.yield_core();
        }
    }

    fn end(&self, state: &mut SessionState, Broken(why): &Broken) {
        say(format_args!("{}: {why}; the device answers with errors from now on", self.server.address));
        if let Link::Up(wire) = &mut state.link {
            // Nothing more is said to such a server.
            wire.client.end(why.as_str());
        }
        state.link = Link::Down { told: false, tried: Some(Instant::now()) };
        self.guest.line(false);
    }
}

impl Session {
    /// Opens the session. `is_coupled` says whether the guest says at which moment of its own time each access is.
    ///
    /// # Errors
    /// [`ConnectError`]: nobody is there, or nobody fit.
    pub(crate) fn connect(
        server: Server,
        guest: Arc<dyn Guest>,
        is_coupled: bool,
        may_share: bool,
        Patience { timeout, heartbeat }: Patience,
    ) -> Result<(Self, Platform), ConnectError> {
        let down = Link::Down { told: true, tried: Some(Instant::now()) };
        let state = FairMutex::new(SessionState { link: down, generation: 0 });
        let shared = Arc::new(SharedState {
            server,
            guest,
            is_coupled,
            timeout,
            budget: Mutex::new(WaitBudget::new(timeout)),
            state,
            ring: Mutex::new(None),
            begun: AtomicU64::new(0),
            may_share,
            heartbeat,
            has_told: AtomicBool::new(false),
        });
        // Nobody else knows the state yet: the listener waits for the lock if anything comes at once.
        let mut locked = shared.lock();
        let wire = shared.open(0, timeout)?;
        let platform = wire.platform.clone();
        locked.link = Link::Up(wire);
        drop(locked);
        Ok((Self { shared }, platform))
    }

    /// Reads a register of the window.
    ///
    /// # Errors
    /// [`AccessError`].
    pub(crate) fn read(&self, offset: u64) -> Result<u32, AccessError> {
        if let Some(value) = self.through_ring(offset, RingAccess::Value) {
            return value;
        }
        match self.ask(|wire| wire.read_register(offset))? {
            Reply::Value { value } => Ok(value),
            _ => Err(AccessError),
        }
    }

    /// Writes a register of the window.
    ///
    /// While the line is high it is seen to its end: the write may be the one that lowers the line, and the guest would
    /// take its interrupt twice. Otherwise it is posted; what follows on the same port comes after it.
    ///
    /// # Errors
    /// [`AccessError`].
    pub(crate) fn write(&self, offset: u64, value: u32) -> Result<(), AccessError> {
        if let Some(written) = self.through_ring(offset, RingAccess::Store(value)) {
            return written.map(|_| ());
        }
        let mut state = self.up()?;
        let Link::Up(wire) = &mut state.link else { return Err(AccessError) };
        wire.begin(self.shared.timeout);
        if wire.level() {
            drop(state);
            return match self.ask(|wire| wire.write_register(offset, value))? {
                Reply::Done => Ok(()),
                _ => Err(AccessError),
            };
        }
        let posted = wire.post(Posted::RegisterWrite(wire.register_write(offset, value)));
        posted.map_err(|broken| self.broken(&mut state, &broken))
    }

    /// Returns true if something may be shared with the server.
    pub(crate) fn may_share(&self) -> bool {
        self.shared.may_share
    }

    /// Puts the platform back to power-on, as the guest itself is. With QEMU's big lock, which is given up until the session is free.
    ///
    /// # Errors
    /// [`AccessError`].
    pub(crate) fn reset(&self) -> Result<(), AccessError> {
        let answer = self.holding_up(|limit| {
            let mut state = self.lock_making_way(limit).ok_or(AccessError)?;
            // A guest that starts anew may have a new device at once.
            if let Link::Down { told, tried } = &mut state.link {
                (*told, *tried) = (true, None);
            }
            self.exchange_in(state, limit, |wire| {
                let reset = wire.request(Request::Reset)?;
                wire.answer(reset, limit)
            })
        })?;
        match answer.reply {
            Reply::Done => Ok(()),
            _ => Err(AccessError),
        }
    }

    /// Says goodbye, if nobody is in the middle of anything. Accesses fail from then on.
    pub(crate) fn close(&self) {
        let Some(mut state) = self.shared.state.try_lock() else { return };
        let down = Link::Down { told: true, tried: Some(Instant::now()) };
        if let Link::Up(mut wire) = std::mem::replace(&mut state.link, down) {
            // Whether it arrives or not, the session is over.
            _ = wire.client.close("QEMU ends");
        }
    }

    fn broken(&self, state: &mut SessionState, broken: &Broken) -> AccessError {
        self.shared.end(state, broken);
        AccessError
    }

    /// Returns true if there is a session, as far as is known.
    #[cfg(test)]
    fn is_up(&self) -> bool {
        matches!(self.shared.lock().link, Link::Up(_))
    }

    /// The state, with a session that works.
    fn up(&self) -> Result<FairMutexGuard<'_, SessionState>, AccessError> {
        self.up_in(self.shared.lock())
    }

    /// The state, with a session that works, as [`Self::up`] gives it.
    fn up_in<'a>(
        &'a self,
        mut state: FairMutexGuard<'a, SessionState>,
    ) -> Result<FairMutexGuard<'a, SessionState>, AccessError> {
        let Link::Down { told, tried } = &mut state.link else { return Ok(state) };
        if !std::mem::replace(told, true) || tried.is_some_and(|tried| tried.elapsed() < AGAIN) {
            return Err(AccessError);
        }
        let generation = state.generation + 1;
        match self.shared.open(generation, AGAIN) {
            Ok(wire) => {
                say(format_args!(
                    "{}: a new session; the device is as after power-on",
                    self.shared.server.address
                ));
                state.link = Link::Up(wire);
                state.generation = generation;
                Ok(state)
            }
            Err(_) => {
                state.link = Link::Down { told: true, tried: Some(Instant::now()) };
                Err(AccessError)
            }
        }
    }

    /// Sends a request and waits for its answer, at most for the time-out.
    fn ask(
        &self,
        request: impl FnOnce(&mut Wire) -> Result<RequestId, Broken>,
    ) -> Result<Reply, AccessError> {
        self.exchange(|wire| {
            let id = request(wire)?;
            wire.answer(id, self.shared.timeout)
        })
        .map(|answer| answer.reply)
    }

    /// Has the session for a while: nobody else reads the stream.
    fn exchange<T>(&self, words: impl FnOnce(&mut Wire) -> Result<T, Broken>) -> Result<T, AccessError> {
        self.make_room();
        self.exchange_in(self.shared.lock(), self.shared.timeout, words)
    }

    /// Has the session as [`Self::exchange`] does; what the server does not read within this time ends the session.
    fn exchange_in<'a, T>(
        &'a self,
        state: FairMutexGuard<'a, SessionState>,
        limit: Duration,
        words: impl FnOnce(&mut Wire) -> Result<T, Broken>,
    ) -> Result<T, AccessError> {
        let mut state = self.up_in(state)?;
        let Link::Up(wire) = &mut state.link else { return Err(AccessError) };
        wire.begin(limit);
        words(wire).map_err(|broken| self.broken(&mut state, &broken))
    }

    /// Has the thread that listens leave the session to whoever comes now.
    fn make_room(&self) {
        self.shared.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// The state, for a caller with QEMU's big lock, within this time. Whoever has the session before may need that lock, to access memory
    /// behind an IOMMU, so it is given up until the session is free.
    fn lock_making_way(&self, limit: Duration) -> Option<FairMutexGuard<'_, SessionState>> {
        let until = Instant::now() + limit;
        self.make_room();
        loop {
            match self.shared.state.try_lock() {
                Some(state) => return Some(state),
                None if Instant::now() >= until => return None,
                None => self.shared.guest.make_way(),
            }
        }
    }

    /// A wait with QEMU's big lock, which gets the time that it may take.
    fn holding_up<T>(&self, wait: impl FnOnce(Duration) -> T) -> T {
        let budget = || self.shared.budget.lock().unwrap_or_else(PoisonError::into_inner);
        let began = Instant::now();
        let limit = budget().begin(began);
        let waited_for = wait(limit);
        budget().end(began, Instant::now());
        waited_for
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests;
