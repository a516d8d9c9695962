//! The values of all signals; while recording, their changes go to the file.

use std::io;

use vp_core::Time;

use super::{Format, Shape, Variable};

/// A signal, by its number.
pub(super) type Signal = usize;

/// Keeps what each signal is, and writes what changes.
pub(super) struct Recorder {
    variables: Vec<Variable>,
    bits: Vec<Option<u64>>,
    texts: Vec<Option<String>>,
    pulses: Vec<Pulse>,
    /// No pulse ends before.
    next_end: Time,
    /// The file, while it is recorded.
    file: Option<Box<dyn Format>>,
    /// The time that the file is at.
    stamped: Option<Time>,
    now: Time,
}

/// A signal that is high until a time which may be put off.
struct Pulse {
    signal: Signal,
    until: Time,
    is_high: bool,
}

impl Recorder {
    pub(super) fn new() -> Recorder {
        Recorder {
            variables: Vec::new(),
            bits: Vec::new(),
            texts: Vec::new(),
            pulses: Vec::new(),
            next_end: Time::MAX,
            file: None,
            stamped: None,
            now: Time::ZERO,
        }
    }

    /// The signals that there are.
    pub(super) fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Adds a signal, whose value is not known.
    pub(super) fn add(&mut self, path: Vec<String>, shape: Shape) -> Signal {
        self.variables.push(Variable { path, shape });
        self.bits.push(None);
        self.texts.push(None);
        self.variables.len() - 1
    }

    /// Adds a signal that is low, and high for a while now and then: a pulse's number.
    pub(super) fn add_pulse(&mut self, path: Vec<String>) -> usize {
        let signal = self.add(path, Shape::Bits(1));
        self.bits[signal] = Some(0);
        self.pulses.push(Pulse { signal, until: Time::ZERO, is_high: false });
        self.pulses.len() - 1
    }

    /// Sets the number that a signal has from now on.
    #[inline]
    pub(super) fn set(&mut self, signal: Signal, value: u64) -> io::Result<()> {
        if self.bits[signal] == Some(value) {
            return Ok(());
        }
        self.bits[signal] = Some(value);
        if self.file.is_some() { self.write_bits(signal, value) } else { Ok(()) }
    }

    /// A signal, which is a number, is so much more from now on, or less.
    pub(super) fn change(&mut self, signal: Signal, by: i64) -> io::Result<()> {
        self.set(signal, self.bits[signal].unwrap_or(0).saturating_add_signed(by))
    }

    fn write_bits(&mut self, signal: Signal, value: u64) -> io::Result<()> {
        self.stamp()?;
        self.file.as_mut().map_or(Ok(()), |file| file.bits(signal, value))
    }

    /// Sets the text that a signal has from now on. What is longer than the signal is cut.
    pub(super) fn set_text(&mut self, signal: Signal, text: &str) -> io::Result<()> {
        let Shape::Text(most) = self.variables[signal].shape else { return Ok(()) };
        let mut end = text.len().min(most as usize - 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text[..end];
        if self.texts[signal].as_deref() == Some(text) {
            return Ok(());
        }
        self.texts[signal] = Some(text.to_owned());
        if self.file.is_none() {
            return Ok(());
        }
        self.stamp()?;
        self.file.as_mut().map_or(Ok(()), |file| file.text(signal, text))
    }

    /// A pulse is high from now on, until then.
    #[inline]
    pub(super) fn raise(&mut self, pulse: usize, until: Time) -> io::Result<()> {
        let Pulse { signal, until: end, is_high } = &mut self.pulses[pulse];
        let signal = *signal;
        *end = until;
        self.next_end = self.next_end.min(until);
        if std::mem::replace(is_high, true) {
            return Ok(());
        }
        self.set(signal, 1)
    }

    /// A pulse is low from now on.
    pub(super) fn lower(&mut self, pulse: usize) -> io::Result<()> {
        self.pulses[pulse].is_high = false;
        self.set(self.pulses[pulse].signal, 0)
    }

    /// Moves on to a time: pulses that end before have ended.
    #[inline]
    pub(super) fn move_to(&mut self, time: Time) -> io::Result<()> {
        while self.next_end < time {
            self.end_pulses(self.next_end)?;
        }
        self.now = self.now.max(time);
        Ok(())
    }

    fn end_pulses(&mut self, time: Time) -> io::Result<()> {
        self.now = self.now.max(time);
        for pulse in 0..self.pulses.len() {
            let Pulse { signal, until, is_high } = &mut self.pulses[pulse];
            if *is_high && *until <= time {
                *is_high = false;
                let signal = *signal;
                self.set(signal, 0)?;
            }
        }
        let ends = self.pulses.iter().filter(|pulse| pulse.is_high).map(|pulse| pulse.until);
        self.next_end = ends.min().unwrap_or(Time::MAX);
        Ok(())
    }

    /// Returns the time up to which the recorder has come.
    pub(super) fn now(&self) -> Time {
        self.now
    }

    fn stamp(&mut self) -> io::Result<()> {
        if self.stamped != Some(self.now) {
            self.stamped = Some(self.now);
            if let Some(file) = &mut self.file {
                file.time(self.now.as_ps())?;
            }
        }
        Ok(())
    }

    /// Records from now on: the file begins with what all signals are.
    pub(super) fn record(&mut self, file: Box<dyn Format>) -> io::Result<()> {
        self.file = Some(file);
        self.stamp()?;
        let Recorder { bits, texts, file: Some(file), .. } = self else { return Ok(()) };
        for (signal, value) in bits.iter().enumerate() {
            value.map_or(Ok(()), |value| file.bits(signal, value))?;
        }
        for (signal, text) in texts.iter().enumerate() {
            text.as_deref().map_or(Ok(()), |text| file.text(signal, text))?;
        }
        Ok(())
    }

    /// Completes the file, which ends here.
    pub(super) fn end(&mut self) -> io::Result<()> {
        let now = self.now.as_ps();
        self.file.take().map_or(Ok(()), |file| file.finish(now))
    }
}
