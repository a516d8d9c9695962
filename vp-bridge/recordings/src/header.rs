//! Header of a recording: all that a run depends on besides the inputs.

use std::io::Cursor;

use serde::{Deserialize, Serialize};
use vp_hub::{Hub, TimeMode};
use vp_models::memory::MemoryBudget;
use vp_models::platform::{Description, DescriptionError, Platform, RestoreError};

/// State of a recorded hub at its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The program that made the recording, with its version.
    pub program: String,
    /// Build of the program, if that is known: two that say the same make the same event hash of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Mode of time: who lets it move.
    mode: Mode,
    /// Delta cycles of one instant after which a run ends.
    pub delta_limit: u64,
    /// Bytes of the host's memory that the platform's own may take; none: as many as there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<u64>,
    /// The platform's description, in TOML.
    pub platform: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Lockstep,
    Free,
}

impl Header {
    /// The header of a recording that begins with a new hub.
    #[must_use]
    pub fn of(hub: &Hub, program: &str, build: Option<String>) -> Header {
        let writable = |number: u64| i64::try_from(number).is_ok();
        Header {
            program: program.to_owned(),
            build,
            mode: match hub.mode() {
                TimeMode::Lockstep => Mode::Lockstep,
                TimeMode::Free => Mode::Free,
            },
            // TOML has no larger numbers, and no run comes to so many.
            delta_limit: hub.delta_limit().min(i64::MAX as u64),
            memory_limit: Some(hub.platform().memory_limit()).filter(|limit| writable(*limit)),
            platform: hub.platform().description().to_toml(),
        }
    }

    /// Header of a reader which has not read it yet.
    pub(crate) fn none() -> Header {
        let (program, platform) = (String::new(), String::new());
        Header { program, build: None, mode: Mode::Lockstep, delta_limit: 0, memory_limit: None, platform }
    }

    /// The mode of time at the beginning.
    #[must_use]
    pub fn mode(&self) -> TimeMode {
        match self.mode {
            Mode::Lockstep => TimeMode::Lockstep,
            Mode::Free => TimeMode::Free,
        }
    }

    /// The platform's description.
    ///
    /// # Errors
    /// This build does not know such a platform.
    pub fn description(&self) -> Result<Description, DescriptionError> {
        Description::parse(&self.platform)
    }

    /// A hub as the recorded one was at its beginning, at power-on.
    ///
    /// # Errors
    /// The platform cannot be built.
    pub fn hub(&self) -> Result<Hub, DescriptionError> {
        Ok(self.around(Platform::build_within(&self.description()?, self.budget())?))
    }

    /// Returns a hub as [`hub`](Header::hub) does, where a platform stood that was saved.
    pub(crate) fn hub_from(&self, saved: &[u8]) -> Result<Hub, RestoreError> {
        let description = self.description()?;
        Ok(self.around(Platform::restore(&mut Cursor::new(saved), Some(&description), self.budget())?))
    }

    fn budget(&self) -> MemoryBudget {
        MemoryBudget::new(self.memory_limit.unwrap_or(u64::MAX))
    }

    fn around(&self, platform: Platform) -> Hub {
        let mut hub = Hub::new(platform, self.mode());
        hub.set_delta_limit(self.delta_limit);
        hub
    }
}
