//! Observers of a server's platforms, for example to write files about their runs.

use std::fmt;

use vp_hub::Hub;

/// Adds observers to each platform of a server.
pub trait ObservePlatforms: fmt::Debug + Send + Sync {
    /// Called in a platform's thread when the platform has been built and has not run. `name` is the one that
    /// its sessions use, or that of its description. The returned object stays in that thread until the
    /// platform ends.
    ///
    /// # Errors
    /// In one line, why this platform has no observer. It is logged, and the platform's sessions are warned.
    fn begin(&self, name: &str, hub: &mut Hub) -> Result<Box<dyn PlatformObserver>, String>;
}

/// An observer of one platform.
pub trait PlatformObserver {
    /// Called before the platform's sessions are told the results of their inputs: what is stored by then
    /// survives whatever kills the server after an answer.
    ///
    /// # Errors
    /// In one line, what is no longer stored. It is logged, and the platform's sessions are warned.
    fn before_answers(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// The platform has ended: with its last session, or with the server.
    ///
    /// # Errors
    /// In one line, what could not be stored. It is logged.
    fn finish(self: Box<Self>) -> Result<(), String>;
}
