//! The platforms by name, and the number of sessions of each.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;
use tokio_util::task::TaskTracker;
use vp_models::memory::{MemoryBudget, MemoryPool, OutOfMemory};
use vp_models::platform::{Description, DeviceDescription};
use vp_protocols::native::{SessionId, TimeMode};

use super::Listeners;
use super::instance::{Instance, PlatformCommand, Start, TimeLimits};
use crate::access::Right;
use crate::access::SessionIdentity;

/// All platforms of a server.
pub(super) struct Registry {
    start: Start,
    patience: TimeLimits,
    /// True if all sessions have one platform.
    is_one: bool,
    memory: PlatformMemory,
    /// Text of the faults that are injected at each platform.
    faults: Option<Arc<str>>,
    listeners: Listeners,
    platforms: Mutex<Platforms>,
}

#[derive(Default)]
struct Platforms {
    shared: HashMap<String, Shared>,
    /// Platforms that are one session's own.
    own: BTreeMap<SessionId, PrivatePlatform>,
}

struct PrivatePlatform {
    instance: Instance,
    /// The holder of the session's token, if the server asks.
    holder: Option<String>,
}

/// A session that has, or wants, a platform.
#[derive(Clone, Copy)]
pub(super) struct PlatformRequest<'a> {
    pub(super) session: SessionId,
    /// The holder of the session's token, if the server asks.
    pub(super) holder: Option<&'a str>,
    /// Memory that the platforms that the token's holder begins may take together.
    pub(super) memory: Option<&'a Arc<MemoryPool>>,
    /// The shared platform that it wants; none: one of its own.
    pub(super) platform: Option<&'a str>,
}

/// A platform as observers know it.
pub(super) struct Listed {
    /// Name that an observer has for the platform.
    pub(super) name: String,
    pub(super) is_shared: bool,
}

/// Memory of the host that the RAM of platforms may take: of all together, and of each.
pub(super) struct PlatformMemory {
    pub(super) pool: Arc<MemoryPool>,
    pub(super) limit: u64,
}

/// Reason for which there is no platform for a newcomer.
#[derive(Debug, Error)]
pub(super) enum EnterError {
    #[error("no thread for the platform: {0}")]
    Thread(#[from] std::io::Error),
    #[error("no memory for the platform: {0}")]
    Memory(#[from] OutOfMemory),
}

struct Shared {
    instance: Instance,
    sessions: usize,
}

impl Registry {
    pub(super) fn new(
        start: Start,
        patience: TimeLimits,
        one_platform: bool,
        memory: PlatformMemory,
        faults: Option<Arc<str>>,
        listeners: Listeners,
    ) -> Self {
        let is_outside = matches!(start.description.device, DeviceDescription::Outside(_));
        let is_one = one_platform || is_outside;
        Self { start, patience, is_one, memory, faults, listeners, platforms: Mutex::default() }
    }

    pub(super) fn description(&self) -> &Description {
        &self.start.description
    }

    /// The platforms' threads that run.
    pub(super) fn running(&self) -> &TaskTracker {
        &self.listeners.running
    }

    fn platforms(&self) -> MutexGuard<'_, Platforms> {
        self.platforms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A platform for one more session: a new one without a name, otherwise the one of that name, made if it
    /// does not exist.
    pub(super) fn enter(&self, request: PlatformRequest<'_>, mode: TimeMode) -> Result<Instance, EnterError> {
        let start = |name| -> Result<Instance, EnterError> {
            let mut budget = MemoryBudget::within(&self.memory.pool, self.memory.limit)?;
            if let Some(pool) = request.memory {
                budget = budget.and_within(pool)?;
            }
            let (begins, listeners) = (self.start.clone(), self.listeners.clone());
            let faults = self.faults.clone();
            Ok(Instance::start(name, begins, budget, mode, self.patience, faults, listeners)?)
        };
        let Some(name) = self.shared_name(request.platform) else {
            let instance = start(&self.description().name)?;
            let own =
                PrivatePlatform { instance: instance.clone(), holder: request.holder.map(str::to_owned) };
            self.platforms().own.insert(request.session, own);
            return Ok(instance);
        };
        let shared = &mut self.platforms().shared;
        if let Some(found) = shared.get_mut(name)
            && found.instance.inbox().is_open()
        {
            found.sessions += 1;
            return Ok(found.instance.clone());
        }
        // None of that name, or one that failed: its sessions are on their way out.
        let instance = start(name)?;
        shared.insert(name.to_owned(), Shared { instance: instance.clone(), sessions: 1 });
        Ok(instance)
    }

    /// The name of the platform for a session; none if the platform is the session's own. A platform whose
    /// device is outside is for all sessions that name no other: the device is a session, too.
    fn shared_name<'a>(&'a self, name: Option<&'a str>) -> Option<&'a str> {
        name.or_else(|| self.is_one.then_some(self.description().name.as_str()))
    }

    /// The platform that a session would share, if it is there.
    pub(super) fn find(&self, name: Option<&str>) -> Option<Instance> {
        self.platforms().shared.get(self.shared_name(name)?).map(|found| found.instance.clone())
    }

    /// The platform that an observer names: a shared one by its name, one that is a session's own by `#` and the session's number.
    ///
    /// # Errors
    /// There is none, or it may not look at that one; the two cases look the same.
    pub(super) fn observed(&self, name: &str, observer: &SessionIdentity) -> Result<Instance, String> {
        let platforms = self.platforms();
        let shared = platforms.shared.get(name).filter(|_| observer.may_join(name));
        let own = || {
            let session = name.strip_prefix('#')?.parse().ok()?;
            platforms.own.get(&SessionId(session)).filter(|own| may_see(observer, own))
        };
        let found = shared.map(|shared| &shared.instance).or_else(|| own().map(|own| &own.instance));
        let open = found.filter(|instance| instance.inbox().is_open()).cloned();
        open.ok_or_else(|| {
            format!("no platform `{name}` is there to be looked at: `vp status` lists those that are")
        })
    }

    /// The platforms that an observer may look at: shared ones by name, then those of sessions.
    pub(super) fn list(&self, observer: &SessionIdentity) -> Vec<Listed> {
        let platforms = self.platforms();
        let shared = platforms.shared.keys().filter(|name| observer.may_join(name));
        let mut shared: Vec<String> = shared.cloned().collect();
        shared.sort_unstable();
        let own = platforms.own.iter().filter(|(_, own)| may_see(observer, own));
        let own = own.map(|(session, _)| Listed { name: format!("#{}", session.0), is_shared: false });
        shared.into_iter().map(|name| Listed { name, is_shared: true }).chain(own).collect()
    }

    /// A session has left; with its last session a platform ends.
    pub(super) fn leave(&self, request: PlatformRequest<'_>, instance: &Instance) {
        if let Some(name) = self.shared_name(request.platform) {
            let shared = &mut self.platforms().shared;
            if let Some(found) = shared.get_mut(name)
                && found.instance.is(instance)
            {
                found.sessions -= 1;
                if found.sessions > 0 {
                    return;
                }
                shared.remove(name);
            } else {
                // It failed and another has its name: its thread has ended by itself.
                return;
            }
        } else {
            self.platforms().own.remove(&request.session);
        }
        // A closed inbox: the thread has ended already.
        let _ = instance.inbox().send(PlatformCommand::End);
    }
}

fn may_see(observer: &SessionIdentity, own: &PrivatePlatform) -> bool {
    let is_theirs = observer.holder().is_some_and(|holder| own.holder.as_deref() == Some(holder));
    is_theirs || observer.rights.contains(Right::PrivatePlatforms)
}
