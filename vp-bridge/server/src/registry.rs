//! Which platforms there are, by name, and how many sessions each has.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;
use tokio::sync::Notify;
use vp_models::memory::{MemoryBudget, MemoryPool, OutOfMemory};
use vp_models::platform::{Description, DeviceDescription};
use vp_protocols::native::{ErrorCode, TimeMode};

use super::instance::{Instance, Patience, PlatformCommand, Start};
use super::{Listeners, files};

/// All platforms of a server.
pub(super) struct Registry {
    start: Start,
    patience: Patience,
    /// Whether all sessions have one platform.
    is_one: bool,
    memory: PlatformMemory,
    listeners: Listeners,
    shared: Mutex<HashMap<String, Shared>>,
}

/// What the RAM of platforms may take of the host's memory: of all together, and of each.
pub(super) struct PlatformMemory {
    pub(super) pool: Arc<MemoryPool>,
    pub(super) limit: u64,
}

/// Why there is no platform for a newcomer.
#[derive(Debug, Error)]
pub(super) enum EnterError {
    #[error("no thread for the platform: {0}")]
    Thread(#[from] std::io::Error),
    #[error("no memory for the platform: {0}")]
    Memory(#[from] OutOfMemory),
}

impl EnterError {
    pub(super) fn code(&self) -> ErrorCode {
        match self {
            Self::Thread(error) if !files::are_used_up(error) => ErrorCode::Internal,
            Self::Thread(_) | Self::Memory(_) => ErrorCode::ServerFull,
        }
    }
}

struct Shared {
    instance: Instance,
    sessions: usize,
}

impl Registry {
    pub(super) fn new(
        start: Start,
        patience: Patience,
        one_platform: bool,
        memory: PlatformMemory,
        listeners: Listeners,
    ) -> Self {
        let is_outside = matches!(start.description.device, DeviceDescription::Outside(_));
        let is_one = one_platform || is_outside;
        Self { start, patience, is_one, memory, listeners, shared: Mutex::default() }
    }

    pub(super) fn description(&self) -> &Description {
        &self.start.description
    }

    /// Notified when a platform has ended and its memory is free.
    pub(super) fn freed(&self) -> Arc<Notify> {
        self.listeners.freed.clone()
    }

    fn shared(&self) -> MutexGuard<'_, HashMap<String, Shared>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A platform for one more session: a fresh one without a name, else that of the name, made when it is not there.
    pub(super) fn enter(&self, name: Option<&str>, mode: TimeMode) -> Result<Instance, EnterError> {
        let start = |name| {
            let budget = MemoryBudget::within(&self.memory.pool, self.memory.limit)?;
            let (begins, listeners) = (self.start.clone(), self.listeners.clone());
            Ok(Instance::start(name, begins, budget, mode, self.patience, listeners)?)
        };
        let Some(name) = self.shared_name(name) else { return start(&self.description().name) };
        let mut shared = self.shared();
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

    /// The name of the platform that a session is for; none if that is its own. One whose device is outside is for all who name
    /// no other: the device is a session, too.
    fn shared_name<'a>(&'a self, name: Option<&'a str>) -> Option<&'a str> {
        name.or_else(|| self.is_one.then_some(self.description().name.as_str()))
    }

    /// The platform that a session would share, if it is there.
    pub(super) fn find(&self, name: Option<&str>) -> Option<Instance> {
        self.shared().get(self.shared_name(name)?).map(|found| found.instance.clone())
    }

    /// A session has left; with its last session a platform ends.
    pub(super) fn leave(&self, name: Option<&str>, instance: &Instance) {
        if let Some(name) = self.shared_name(name) {
            let mut shared = self.shared();
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
        }
        // A closed inbox: the thread has ended already.
        let _ = instance.inbox().send(PlatformCommand::End);
    }
}
