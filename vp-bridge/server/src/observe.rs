//! Who looks on at a server's platforms, such as to write files about their runs.

use std::fmt;

use vp_models::hub::Hub;

/// Somebody who looks on at each platform of a server.
pub trait ObservePlatforms: fmt::Debug + Send + Sync {
    /// Called in a platform's thread when the platform has been built and has not run. `name` is the one that its sessions have for it, or
    /// its description's. What this gives lives in that thread until the platform ends.
    ///
    /// # Errors
    /// In one line, why nobody looks on at this platform. It is logged, and the platform's sessions are warned.
    fn begin(&self, name: &str, hub: &mut Hub) -> Result<Box<dyn PlatformObserver>, String>;
}

/// Somebody who looks on at one platform.
pub trait PlatformObserver {
    /// Called before the platform's sessions are told what has come of their inputs: what is kept by now is kept whatever kills the
    /// server after an answer.
    ///
    /// # Errors
    /// In one line, what is not kept any more. It is logged, and the platform's sessions are warned.
    fn before_answers(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// The platform has ended: with its last session, or with the server.
    ///
    /// # Errors
    /// In one line, what could not be kept. It is logged.
    fn finish(self: Box<Self>) -> Result<(), String>;
}
