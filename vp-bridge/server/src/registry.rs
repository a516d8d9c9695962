//! Which platforms there are, by name, and how many sessions each has.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use vp_models::platform::{Description, DeviceDescription};
use vp_protocols::native::TimeMode;

use super::Listeners;
use super::instance::{Instance, Patience, PlatformCommand};

/// All platforms of a server.
pub(super) struct Registry {
    description: Description,
    patience: Patience,
    /// Whether all sessions have one platform.
    is_one: bool,
    listeners: Listeners,
    shared: Mutex<HashMap<String, Shared>>,
}

struct Shared {
    instance: Instance,
    sessions: usize,
}

impl Registry {
    pub(super) fn new(
        description: Description,
        patience: Patience,
        one_platform: bool,
        listeners: Listeners,
    ) -> Self {
        let is_outside = matches!(description.device, DeviceDescription::Outside(_));
        let is_one = one_platform || is_outside;
        Self { description, patience, is_one, listeners, shared: Mutex::default() }
    }

    pub(super) fn description(&self) -> &Description {
        &self.description
    }

    fn shared(&self) -> MutexGuard<'_, HashMap<String, Shared>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A platform for one more session: a fresh one without a name, else that of the name, made when it is not there.
    pub(super) fn enter(&self, name: Option<&str>, mode: TimeMode) -> std::io::Result<Instance> {
        let start = |name| {
            Instance::start(name, self.description.clone(), mode, self.patience, self.listeners.clone())
        };
        let Some(name) = self.shared_name(name) else { return start(&self.description.name) };
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
        name.or_else(|| self.is_one.then_some(self.description.name.as_str()))
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
