//! Clocks (`sc_clock`).

use crate::event::Event;
use crate::kernel::Sim;
use crate::name::Name;
use crate::process::Trigger;
use crate::signal::Signal;
use crate::time::Time;

/// A line that rises every period (`sc_clock`), first at time zero, high for half of it.
///
/// A simulation with a clock always has something to do: bound such runs with `run_until`. For models that only
/// count cycles, a period and [`Sim::wait`] are faster.
///
/// ```
/// use vp_core::{Clock, Simulation, Time};
/// let mut simulation = Simulation::new();
/// let clock = Clock::new(&simulation.sim(), "clk", Time::ns(10));
/// let rises = clock.posedge();
/// simulation.run_until(Time::ns(95));
/// assert_eq!(rises.fired(), 10);
/// ```
#[derive(Clone)]
pub struct Clock {
    line: Signal<bool>,
    period: Time,
}

impl Clock {
    /// A clock of the given period.
    ///
    /// # Panics
    /// If the period is shorter than two picoseconds: it could not have two edges.
    pub fn new(sim: &Sim, name: impl Into<Name>, period: Time) -> Clock {
        let name = name.into();
        assert!(period >= Time::ps(2), "clock {name} needs a period of at least 2 ps");
        let line = Signal::line(sim, &name, false);
        // Of an odd number of picoseconds the high phase gets one more, as with `sc_clock`.
        let high = period - period / 2;
        let (driver, mut level) = (line.clone(), false);
        sim.method(name).run(move |sim| {
            level = !level;
            driver.write(level);
            sim.next_trigger(Trigger::After(if level { high } else { period - high }));
        });
        Clock { line, period }
    }

    /// The clock's line.
    ///
    /// ```
    /// use vp_core::{Clock, Simulation, Time};
    /// let mut simulation = Simulation::new();
    /// let clock = Clock::new(&simulation.sim(), "clk", Time::ns(10));
    /// simulation.run_until(Time::ns(7));
    /// assert!(!clock.signal().read(), "low in the second half");
    /// ```
    pub fn signal(&self) -> &Signal<bool> {
        &self.line
    }

    /// Fires at each rising edge.
    pub fn posedge(&self) -> &Event {
        self.line.posedge()
    }

    /// Fires at each falling edge.
    pub fn negedge(&self) -> &Event {
        self.line.negedge()
    }

    /// The time from one rising edge to the next.
    ///
    /// ```
    /// use vp_core::{Clock, Simulation, Time};
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// let clock = Clock::new(&sim, "clk", Time::ns(10));
    /// let watched = clock.clone();
    /// sim.clone().process("watcher", async move {
    ///     watched.negedge().wait().await;
    ///     assert_eq!(sim.now(), watched.period() / 2);
    /// });
    /// simulation.run_until(Time::ns(5));
    /// assert!(!simulation.idle_report().is_deadlock());
    /// ```
    pub fn period(&self) -> Time {
        self.period
    }
}
