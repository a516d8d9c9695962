//! An interrupt line: this side drives it, or sees it.

use std::collections::VecDeque;

use vp_core::Time;
use vp_hub::{PortEvent, Role};
use vp_models::platform::PortKind;

use super::{Attached, PinState, Ports, Violation};

/// Source of a line, on this side.
#[derive(Default)]
pub struct LineSource {
    level: bool,
}

impl PinState for LineSource {
    type Driven = bool;
    type Observed = ();
    const KIND: PortKind = PortKind::Irq;
    const ROLE: Role = Role::Source;
    const IS_ANSWERED_AT_ONCE: bool = true;

    fn sample(&mut self, _: Time, level: &bool, told: &mut Vec<PortEvent>) -> Result<(), Violation> {
        if std::mem::replace(&mut self.level, *level) != *level {
            told.push(PortEvent::Level(*level));
        }
        Ok(())
    }

    fn seen(&mut self, _: Time) {}

    fn finish(&mut self, _: Time) {}

    fn take(&mut self, _: Time, event: PortEvent) -> Result<(), String> {
        Err(format!("{event:?} at a line that this side drives"))
    }

    fn list(ports: &mut Ports) -> &mut Vec<Attached<Self>> {
        &mut ports.sources
    }
}

/// Sink of a line, on this side.
#[derive(Default)]
pub struct LineSink {
    level: bool,
    levels: VecDeque<(Time, bool)>,
}

impl PinState for LineSink {
    type Driven = ();
    type Observed = bool;
    const KIND: PortKind = PortKind::Irq;
    const ROLE: Role = Role::Sink;

    fn sample(&mut self, _: Time, (): &(), _: &mut Vec<PortEvent>) -> Result<(), Violation> {
        Ok(())
    }

    fn seen(&mut self, now: Time) -> bool {
        while self.levels.front().is_some_and(|(at, _)| *at <= now)
            && let Some((_, level)) = self.levels.pop_front()
        {
            self.level = level;
        }
        self.level
    }

    fn finish(&mut self, _: Time) {}

    fn take(&mut self, at: Time, event: PortEvent) -> Result<(), String> {
        match event {
            PortEvent::Level(level) => {
                self.levels.push_back((at, level));
                Ok(())
            }
            other => Err(format!("{other:?} at a line")),
        }
    }

    fn list(ports: &mut Ports) -> &mut Vec<Attached<Self>> {
        &mut ports.sinks
    }
}
