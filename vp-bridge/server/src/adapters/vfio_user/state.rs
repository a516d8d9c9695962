//! State of the device, which a client stops, reads, and has another server's device take up.
//!
//! ```text
//! "VPVU"   form, 2 bytes   configuration, 256 bytes   table of MSI-X, 16 bytes   the platform, saved
//! ```
//!
//! The guest's memory is not in it: the client has that. While the device is not running, accesses to its registers fail.

use bytes::{BufMut as _, Bytes, BytesMut};
use vp_hub::{Completion, Failure, PartyCommand};
use vp_models::platform::SaveError;
use vp_protocols::vfio_user::{Errno, Feature, MAX_DATA, Reply, Token};

use super::function::{FUNCTION_STATE, Function};
use super::tasks::Then;
use super::{Purpose, VfioUser};

const MAGIC: [u8; 4] = *b"VPVU";
/// Of the form.
const FORM: u16 = 1;
/// Bytes in front of the saved platform.
const HEADER: usize = MAGIC.len() + 2 + FUNCTION_STATE;
/// Bytes that a device takes up at most.
const MOST: usize = 64 << 20;

/// Device state of VFIO: `enum vfio_device_mig_state`, <linux/vfio.h>. There are more, which this device has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Stop = 1,
    Running = 2,
    StopCopy = 3,
    Resuming = 4,
}

impl State {
    fn new(number: u32) -> Option<State> {
        [State::Stop, State::Running, State::StopCopy, State::Resuming]
            .into_iter()
            .find(|state| *state as u32 == number)
    }
}

/// Device state, and what is moved in it.
#[derive(Debug)]
pub(super) struct Migration {
    state: State,
    /// The state as it is to be read, and how much of it was.
    saved: Bytes,
    read: usize,
    /// The state as far as it has come.
    loading: BytesMut,
    /// The command that wants another device state, which is under way.
    goal: Option<(Token, Feature, State)>,
    is_saving: bool,
}

impl Default for Migration {
    fn default() -> Migration {
        Migration {
            state: State::Running,
            saved: Bytes::new(),
            read: 0,
            loading: BytesMut::new(),
            goal: None,
            is_saving: false,
        }
    }
}

impl Migration {
    pub(super) fn is_running(&self) -> bool {
        self.state == State::Running
    }

    /// Returns true while a command that wants another device state is carried out.
    pub(super) fn is_under_way(&self) -> bool {
        self.goal.is_some()
    }

    /// Returns true if the platform is to be saved for that.
    pub(super) fn is_saving(&self) -> bool {
        self.is_saving
    }

    /// Data of the feature.
    pub(super) fn data(&self) -> Vec<u8> {
        // Behind it would be the number of a file, which is of no use here.
        [self.state as u32, 0].map(u32::to_ne_bytes).concat()
    }

    /// Reads on.
    pub(super) fn read(&mut self, most: u32, count: u32) -> Result<Reply, Errno> {
        let count = count as usize;
        if self.state != State::StopCopy || count > MAX_DATA || (most as usize) < 8 + count {
            return Err(Errno::EINVAL);
        }
        let to = self.saved.len().min(self.read + count);
        let data = self.saved.slice(self.read..to);
        self.read = to;
        Ok(Reply::State(data))
    }

    /// More of the state has come.
    pub(super) fn write(&mut self, data: &[u8]) -> Result<Reply, Errno> {
        if self.state != State::Resuming || data.len() > MAX_DATA {
            return Err(Errno::EINVAL);
        }
        if self.loading.len() + data.len() > MOST {
            return Err(Errno::ENOSPC);
        }
        self.loading.extend_from_slice(data);
        Ok(Reply::Done)
    }
}

/// The state of a function, and of its platform.
fn written(function: &Function, platform: &[u8]) -> Bytes {
    let mut all = BytesMut::with_capacity(HEADER + platform.len());
    all.put_slice(&MAGIC);
    all.put_u16_le(FORM);
    all.put_slice(&function.state());
    all.put_slice(platform);
    all.freeze()
}

/// The platform in a state, and what it is of a function; or the reason for people for which it is none.
fn parse(all: &Bytes) -> Result<(&[u8; FUNCTION_STATE], Bytes), String> {
    let magic = all.len().min(MAGIC.len());
    if magic == 0 || all[..magic] != MAGIC[..magic] {
        return Err("it is none: it does not begin with the bytes `VPVU`".to_owned());
    }
    let cut_short = || "it is cut short".to_owned();
    let form = all.get(4..6).ok_or_else(cut_short)?;
    let form = u16::from_le_bytes([form[0], form[1]]);
    if form != FORM {
        return Err(format!("it was saved in form {form}, and this program reads form {FORM}"));
    }
    let function = all[6..].first_chunk().ok_or_else(cut_short)?;
    Ok((function, all.slice(HEADER..)))
}

impl VfioUser {
    /// Begins to bring the device into another state.
    pub(super) fn set_state(&mut self, token: Token, feature: Feature) {
        let number = feature.data.first_chunk().map(|number| u32::from_ne_bytes(*number));
        let Some(goal) = number.and_then(State::new).filter(|_| feature.data.len() == 8) else {
            return self.connection.fail(token, Errno::EINVAL);
        };
        self.migration.goal = Some((token, feature, goal));
        self.go_on();
    }

    /// Goes from state to state until the goal is reached, or something has to be waited for.
    pub(super) fn go_on(&mut self) {
        while let Some((token, feature, goal)) = self.migration.goal.take() {
            if self.migration.state == goal {
                let reply = Reply::Feature { flags: feature.flags, data: feature.data };
                return self.connection.reply(token, &reply);
            }
            self.migration.goal = Some((token, feature, goal));
            self.migration.state = match (self.migration.state, goal) {
                (State::Running, _) => {
                    self.migration.is_saving = true;
                    return;
                }
                (State::Resuming, _) => return self.load(),
                (State::StopCopy, _) => State::Stop,
                (State::Stop, State::StopCopy) => {
                    self.migration.read = 0;
                    State::StopCopy
                }
                (State::Stop, other) => {
                    self.migration.saved = Bytes::new();
                    other
                }
            };
        }
    }

    /// The platform has come to rest, or comes to none.
    pub(super) fn stopped(&mut self, result: Result<Bytes, SaveError>) {
        self.migration.is_saving = false;
        match result {
            Ok(platform) => {
                self.migration.saved = written(&self.function, &platform);
                self.migration.state = State::Stop;
                self.go_on();
            }
            Err(error) => {
                let errno = match error {
                    SaveError::Busy(_) | SaveError::Settling(_) => Errno::EBUSY,
                    SaveError::Unsupported(_) => Errno::ENOTSUP,
                    SaveError::Io(_) => Errno::EIO,
                };
                self.refuse_state(&format!("the device does not stop: {error}"), errno);
            }
        }
        self.progress();
    }

    /// Has the platform take up what has come.
    fn load(&mut self) {
        let all = self.migration.loading.split().freeze();
        match parse(&all) {
            Ok((_, saved)) => self.hub.command(PartyCommand::Restore { saved }, Purpose::Restored(all)),
            Err(why) => self.refuse_state(&format!("the device's state is refused: {why}"), Errno::EINVAL),
        }
    }

    /// The platform has taken it up, or has refused it.
    pub(super) fn loaded(&mut self, all: Bytes, result: Result<Completion, Failure>) {
        match (result, parse(&all)) {
            (Ok(_), Ok((function, _))) => {
                self.function.take_up(function);
                self.migration.saved = all;
                self.migration.state = State::Stop;
                if let Some((token, ..)) = self.migration.goal {
                    self.share_then(token, Then::GoOn);
                }
            }
            (Err(Failure { reason, .. }), _) | (_, Err(reason)) => {
                self.refuse_state(&format!("the device's state is refused: {reason}"), Errno::EINVAL);
            }
        }
    }

    /// Fails the command that wanted another device state. The device stays as it is.
    pub(super) fn refuse_state(&mut self, why: &str, error: Errno) {
        tracing::warn!("{why}");
        if let Some((token, ..)) = self.migration.goal.take() {
            self.connection.fail(token, error);
        }
    }
}
