//! The platform of an object: in this process, or behind a socket.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

use vp_client::native;
use vp_core::Time;
use vp_core::observe::Subscription;
use vp_host::{Host, HostError, LocalHost, forward_host};
use vp_hub::{Until, Why};
use vp_models::platform::{Description, DeviceRegisters, NOTHING_RUNS};
use vp_observers::Observers;
use vp_recordings::Recording;
use vp_remote::RemoteHost;

use crate::calls::CallError;
use crate::control::Control;
use crate::errors;

/// Time that one request for time to pass should take a server: signals are looked for in between.
const REQUEST: Duration = Duration::from_millis(10);

/// Place of the platform.
pub(crate) enum PlatformHost {
    /// Platform in this process.
    Local(Box<LocalHost>),
    /// Platform behind a socket.
    Remote(Box<RemoteHost>),
}

impl Deref for PlatformHost {
    type Target = dyn Host;

    fn deref(&self) -> &Self::Target {
        match self {
            PlatformHost::Local(host) => &**host,
            PlatformHost::Remote(host) => &**host,
        }
    }
}

impl DerefMut for PlatformHost {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            PlatformHost::Local(host) => &mut **host,
            PlatformHost::Remote(host) => &mut **host,
        }
    }
}

/// Goal up to which time is to pass.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    /// A time.
    Time(Time),
    /// The interrupt, at once if the line is high.
    Interrupt,
    /// The end of all work.
    Idle,
}

/// A platform and what belongs to it.
pub(crate) struct Session {
    pub(crate) subscriptions: Vec<(u64, Subscription)>,
    /// Observers that write files about the platform.
    pub(crate) files: Option<Observers>,
    pub(crate) way: PlatformHost,
    pub(crate) control: Arc<Control>,
    pub(crate) recording: Option<Recording>,
    /// Description of the platform and its registers; a server is asked for it once.
    description: Option<(Description, DeviceRegisters)>,
    limit: Time,
    /// Simulated time of one request to a server.
    slice: Time,
}

impl Session {
    pub(crate) fn new(way: PlatformHost, control: Arc<Control>) -> Session {
        Session {
            subscriptions: Vec::new(),
            files: None,
            way,
            control,
            recording: None,
            description: None,
            limit: Time::MAX,
            slice: Time::us(64),
        }
    }

    /// The platform.
    pub(crate) fn host(&mut self) -> &mut dyn Host {
        &mut *self.way
    }

    /// The platform, if it is in this process.
    pub(crate) fn local(&mut self) -> Result<&mut LocalHost, HostError> {
        match &mut self.way {
            PlatformHost::Local(host) => Ok(host),
            PlatformHost::Remote(_) => Err(HostError::Refused(
                "that is for platforms in this process: this one is a server's".to_owned(),
            )),
        }
    }

    /// Returns the description of the platform, and its registers.
    pub(crate) fn description(&mut self) -> Result<&(Description, DeviceRegisters), HostError> {
        if self.description.is_none() {
            let description = match &mut self.way {
                PlatformHost::Local(host) => host.platform().description().clone(),
                PlatformHost::Remote(host) => {
                    vp_remote::described(&host.statistics()?.counters).map_err(HostError::Refused)?
                }
            };
            let registers = DeviceRegisters::of(&description);
            self.description = Some((description, registers));
        }
        self.description.as_ref().ok_or_else(|| HostError::Refused("there is no description".to_owned()))
    }

    /// Lets time pass, and says why it stopped.
    pub(crate) fn advance(&mut self, goal: Goal) -> Result<Why, HostError> {
        let slice = self.slice;
        let (host, control) = match &mut self.way {
            PlatformHost::Local(host) => {
                let until = match goal {
                    Goal::Time(time) => Until::Time(time),
                    Goal::Interrupt => return host.wait_interrupt().map(|_| Why::Interrupt),
                    Goal::Idle => Until::Idle,
                };
                return host.advance(until);
            }
            PlatformHost::Remote(host) => (host, &self.control),
        };
        if host.welcome().time_mode != native::TimeMode::Lockstep {
            return match goal {
                Goal::Interrupt => host.wait_interrupt().map(|_| Why::Interrupt),
                _ => Err(HostError::Refused(
                    "time moves by itself here: only in lockstep does a client let it pass".to_owned(),
                )),
            };
        }
        if let Goal::Idle = goal {
            return host.advance(Until::Idle);
        }
        let mut slice = slice;
        let why = loop {
            let now = host.now()?;
            if control.has_failed() {
                return Err(HostError::Cancelled { time: now });
            }
            let limit = self.limit;
            let end = (now + slice).min(limit);
            let began = Instant::now();
            let (until, end) = match goal {
                Goal::Time(time) => (Until::Time(end.min(time)), end.min(time)),
                _ => (Until::Interrupt { port: host.line(), limit: Some(end) }, end),
            };
            let why = host.advance(until)?;
            let took = began.elapsed();
            slice = if took < REQUEST / 2 {
                slice * 2
            } else if took > REQUEST * 2 {
                slice.max(Time::us(2)) / 2
            } else {
                slice
            };
            slice = slice.min(Time::s(1));
            let is_there = matches!(goal, Goal::Time(time) if end >= time);
            if why != Why::Time || is_there {
                break why;
            }
            if end >= limit {
                return Err(HostError::Limit { time: host.now()?, limit: limit.to_string() });
            }
            control.sleeps_on();
        };
        self.slice = slice;
        Ok(why)
    }
}

/// A program runs on whichever it is; its waits can be ended.
impl Host for Session {
    forward_host!(
        way: write, write_acknowledged, read, now, load, fetch, stream, map, device, inject_faults, statistics, activity, warnings
    );

    fn wait_interrupt(&mut self) -> Result<Time, HostError> {
        let why = self.advance(Goal::Interrupt)?;
        let time = self.way.now()?;
        match why {
            Why::Interrupt => Ok(time),
            Why::Deadlock { report } => Err(HostError::Idle { time, report }),
            _ => Err(HostError::Idle { time, report: NOTHING_RUNS.to_owned() }),
        }
    }

    fn set_limit(&mut self, limit: Time) {
        self.limit = limit;
        self.way.set_limit(limit);
    }
}

impl Session {
    /// Ends the files about the run and the recording, and says goodbye; what a person should know of the files.
    pub(crate) fn close(mut self) -> Result<Vec<String>, CallError> {
        self.subscriptions.drain(..).for_each(|(_, subscription)| subscription.cancel());
        let finished = self.files.take().map(Observers::finish).unwrap_or_default();
        if let PlatformHost::Remote(host) = self.way {
            host.close()?;
        } else {
            drop(self.way);
        }
        if let Some(recording) = self.recording {
            recording.finish().map_err(|error| errors::of("RecordingError", error.to_string()))?;
        }
        match finished.errors.first() {
            Some(error) => Err(errors::of("RecordingError", error.to_string()).into()),
            None => Ok(finished.notes),
        }
    }
}
